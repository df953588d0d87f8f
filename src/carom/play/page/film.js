// The player of a page that `carom export run.h5 -o page.html` writes: one run, without a server.

import { RunPainter, frameAt } from "/drawing2d.js";
import { Painter3D } from "/drawing3d.js";

const element = (id) => document.getElementById(id);
const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// Numbers of `low` to `high` as 16-bit differences from frame to frame: `width` numbers per frame.
function numbers({ low, high, width, data }) {
  const steps = new Uint16Array(decoded(data).buffer);
  const out = new Float32Array(steps.length);
  const sum = new Uint16Array(width); // wraps around as the differences do
  for (let k = 0; k < steps.length; k++) {
    sum[k % width] += steps[k];
    const axis = k % low.length;
    out[k] = low[axis] + (sum[k % width] * (high[axis] - low[axis])) / 65535;
  }
  return out;
}

class Player {
  constructor(data) {
    const result = data.results[0];
    for (const name of ["position", "turn", "boundaries"]) result[name] = result[name] === null ? [] : numbers(result[name]);
    result.color = new Uint16Array(decoded(result.color).buffer);
    // The painters draw nothing at places that are no numbers.
    result.lives = result.lives && decoded(result.lives);
    result.lives?.forEach((life, k) => { if (!life) result.position.fill(NaN, k * data.dimension, (k + 1) * data.dimension); });
    Object.assign(this, { data, result, time: 0, end: result.time[result.time.length - 1], begin: result.time[0] });
    const Painter = data.dimension === 3 ? Painter3D : RunPainter;
    this.painter = new Painter(element("canvas"), data, 0, () => this.draw());
    element("title").textContent = data.scene;
    element("law").textContent = `law ${result.law} · ${data.bodies} ${data.bodies === 1 ? "body" : "bodies"}`;
    element("made").textContent = `Carom ${data.version}`;
    this.legend(data.colors);
    [element("scrub").min, element("scrub").max] = [this.begin, this.end];
    element("play").addEventListener("click", () => this.setPlaying(!this.playing));
    element("scrub").addEventListener("input", (event) => { this.setPlaying(false); this.seek(Number(event.target.value)); });
    element("theme").addEventListener("click", () => this.theme());
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(element("canvas"));
    this.seek(this.begin);
  }

  legend({ title, low, high, stops }) {
    element("legend").textContent = stops.length ? `${title} ${low} ` : `colors: ${title}`;
    if (!stops.length) return;
    const bar = document.createElement("i");
    bar.style.background = `linear-gradient(to right, ${stops.map((rgb) => `rgb(${rgb.join(",")})`).join(",")})`;
    element("legend").append(bar, ` ${high}`);
  }

  theme() {
    const { dataset } = document.documentElement;
    dataset.theme = dataset.theme === "dark" ? "light" : "dark";
    this.draw();
  }

  // One unit of time takes a second, but a run at least 4 and at most 20.
  get rate() {
    const span = this.end - this.begin;
    return span / Math.min(20, Math.max(4, span));
  }

  setPlaying(on) {
    if (on && this.time >= this.end - 1e-9) this.seek(this.begin);
    this.playing = on;
    element("play").textContent = on ? "❚❚" : "▶";
    element("play").setAttribute("aria-label", on ? "Pause" : "Play");
    cancelAnimationFrame(this.frame);
    if (!on) return;
    let last = performance.now();
    const tick = (now) => {
      const gone = Math.min(0.1, Math.max(0, now - last) / 1000);
      last = now;
      const time = this.time + gone * this.rate * Number(element("pace").value);
      this.seek(Math.min(time, this.end));
      if (time >= this.end) this.setPlaying(false);
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  seek(time) {
    this.time = time;
    element("scrub").value = time;
    this.draw();
  }

  draw() {
    element("remark").textContent = this.painter.draw(...frameAt(this.result.time, this.time));
    element("clock").textContent = `time ${this.time.toFixed(this.end < 1 ? 4 : 2)}`;
  }

  key(event) {
    if (event.target.matches("select, button, input")) return;
    const step = (this.end - this.begin) / 120;
    if (event.key === " ") this.setPlaying(!this.playing);
    else if (event.key === "ArrowRight") this.seek(Math.min(this.end, this.time + step));
    else if (event.key === "ArrowLeft") this.seek(Math.max(this.begin, this.time - step));
    else return;
    event.preventDefault();
  }
}

window.carom = new Player(JSON.parse(await text("data")));
