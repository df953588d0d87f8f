// The page: sends requests to the server, controls the time of the film, and updates controls, drawings and results.

import { Controls } from "/controls.js";
import { ImpactPainter, RunPainter, frameAt, impactBox } from "/drawing2d.js";
import { chartColumn, fillOutcomes, outcomeCard, short, tickCard, velocityCard } from "/results.js";
import { Painter3D } from "/drawing3d.js";

const byId = (id) => document.getElementById(id);
const WAIT = 140; // milliseconds after the last move of a slider
const POLL = 400; // milliseconds between questions about an impact that takes long

async function ask(path, body = null) {
  const options = body === null ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not respond. Was carom play stopped?");
  }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

class Page {
  constructor(start) {
    this.start = start;
    this.asked = 0; // number of the last request; answers to older ones are dropped
    this.data = null;
    this.painters = [];
    this.time = 0;
    this.playing = false;
    this.controls = new Controls(start, (what) => this.changed(what));
    byId("run").addEventListener("click", () => (this.job ? this.stop() : this.run(true)));
    window.addEventListener("pagehide", () => this.stop());
    byId("play").addEventListener("click", () => this.setPlaying(!this.playing));
    byId("scrub").addEventListener("input", (event) => { this.setPlaying(false); this.seek(Number(event.target.value)); });
    byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", this));
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.arrange()).observe(byId("stage"));
    window.addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.controls.bookmark) this.controls.read(location.hash.slice(1)); });
    this.controls.read(location.hash.slice(1));
  }

  // ---- requests

  changed(what) {
    history.replaceState(null, "", `#${this.controls.bookmark}`);
    this.say("");
    clearTimeout(this.timer);
    if (this.controls.scene.kind === "impact") {
      this.stop();
      this.timer = setTimeout(() => this.run(false), what === "values" ? WAIT : 0);
    } else if (what === "scene") {
      this.stop();
      this.show(null);
    } else {
      byId("results").classList.add("old");
    }
  }

  // An impact is answered at once; a run is followed until it is done.
  async run(play) {
    const number = ++this.asked;
    clearTimeout(this.timer);
    this.say("");
    const request = this.controls.request;
    const impact = this.controls.scene.kind === "impact";
    const watch = impact && setInterval(() => this.watch(number), POLL);
    this.waiting = true;
    try {
      const data = impact ? await ask("/api/impact", request) : await this.follow(await ask("/api/runs", request), number);
      if (number === this.asked && data) this.show(data, play);
      if (number === this.asked && impact) this.showOutcomes(request, number);
    } catch (error) {
      if (number === this.asked) this.say(error.message);
    } finally {
      clearInterval(watch);
      if (number === this.asked) { this.job = null; this.waiting = false; this.progress(); }
    }
  }

  // The outcome set of an impact takes longer than its answer, and comes after it.
  async showOutcomes(request, number) {
    const box = byId("outcomes");
    try {
      const data = await ask("/api/outcomes", request);
      if (number === this.asked) fillOutcomes(box, data);
    } catch (error) {
      if (number === this.asked) box.querySelector("p").textContent = error.message;
    }
  }

  async follow(job, number) {
    this.job = job.id;
    while (job.state === "waiting" || job.state === "running") {
      if (number !== this.asked) return null;
      if (!this.tellCompiling(job.compiling)) this.progress(job.share, job.text);
      await new Promise((done) => setTimeout(done, 150));
      job = await ask(`/api/runs/${job.id}`);
    }
    if (job.state === "failed") throw new Error(job.error);
    return job.state === "done" ? unpacked(await ask(`/api/runs/${job.id}/result`)) : null;
  }

  // Shows that an impact takes long: its kernels may have to be compiled.
  async watch(number) {
    const state = await ask("/api/compiling").catch(() => null);
    if (state && this.waiting && number === this.asked && !this.tellCompiling(state)) this.progress(null, "computing");
  }

  tellCompiling(state) {
    if (!state?.active) return false;
    const count = state.kernels > 1 ? `: ${state.done} of ${state.kernels}` : "";
    this.progress(count ? state.done / state.kernels : null, `compiling kernels${count} (only once on this machine)`);
    return true;
  }

  stop() {
    if (!this.job) return;
    ask(`/api/runs/${this.job}/stop`, {}).catch(() => {});
    if (this.controls.scene.kind === "impact") { this.asked++; this.job = null; this.progress(); }
  }

  progress(share = undefined, text = "") {
    byId("progress").hidden = share === undefined;
    byId("run").textContent = this.job ? "Stop" : "Run";
    byId("run").classList.toggle("stop", Boolean(this.job));
    const bar = byId("progress").firstElementChild;
    if (share === null) bar.removeAttribute("value"); else bar.value = share ?? 0;
    byId("progress").lastElementChild.textContent = text;
  }

  say(text) {
    byId("message").textContent = text;
    byId("message").hidden = !text;
  }

  // ---- display

  show(data, play = false) {
    const same = data && this.data && data.scene === this.data.scene && data.kind === this.data.kind;
    this.data = data;
    this.painters = [];
    byId("results").classList.remove("old");
    byId("transport").hidden = !data;
    byId("stage").classList.toggle("empty", !data);
    byId("stage").classList.toggle("tall", data?.kind === "run");
    byId("results").classList.toggle("three", data?.results.length === 3);
    byId("transport").querySelector(".legend")?.remove();
    if (!data) {
      this.setPlaying(false);
      byId("stage").replaceChildren("Press Run");
      byId("results").replaceChildren();
      return;
    }
    this.from = data.kind === "impact" ? data.film.start : 0;
    this.to = data.kind === "impact" ? data.film.end : Math.max(...data.results.map((r) => (r.refusal ? 0 : r.time[r.time.length - 1])));
    [byId("scrub").min, byId("scrub").max] = [this.from, this.to];
    byId("stage").replaceChildren(...data.results.map((result, k) => this.lane(result, k)));
    if (data.kind === "impact") {
      const column = document.createElement("div");
      column.className = "column";
      const [velocities, marks] = [velocityCard(data), tickCard(data, this.start.desiderata)];
      const low = data.before.shown.length * data.components.length <= 9; // the table of velocities leaves room below it
      column.append(low ? velocities : marks, outcomeCard());
      byId("results").replaceChildren(...(low ? [column, marks] : [velocities, column]));
    } else {
      this.legend(data.colors);
      byId("results").replaceChildren(chartColumn(data), tickCard(data, this.start.checks));
    }
    this.arrange();
    if (play || !same) this.seek(this.from);
    else this.seek(Math.min(this.to, Math.max(this.from, this.time)));
    if (play) this.setPlaying(true);
    else if (!same) this.setPlaying(false);
  }

  lane(result, k) {
    const lane = document.createElement("div");
    lane.className = this.data.components?.length === 1 ? "lane row" : "lane";
    lane.innerHTML = '<canvas></canvas><div class="name"></div><div class="remark"></div>';
    const name = lane.querySelector(".name");
    const full = document.createElement("small");
    full.textContent = result.title;
    name.append(result.law, full);
    name.classList.add(`law${k}`);
    lane.dataset.law = result.law;
    if (result.refusal) {
      const why = document.createElement("div");
      why.className = "refusal";
      why.textContent = `This law cannot solve the problem: ${result.refusal}`;
      lane.append(why);
      return lane;
    }
    const canvas = lane.querySelector("canvas");
    const Painter = this.data.kind === "impact" ? ImpactPainter : this.data.dimension === 3 ? Painter3D : RunPainter;
    const painter = new Painter(canvas, this.data, k, () => this.draw());
    this.painters.push({ painter, remark: lane.querySelector(".remark"), result });
    return lane;
  }

  legend(colors) {
    const legend = document.createElement("div");
    legend.className = "legend";
    legend.innerHTML = "<span></span><i></i><span></span>";
    legend.firstChild.textContent = colors.category ? `colors: ${colors.title}` : `${colors.title} ${short(Number(colors.low.toPrecision(2)))}`;
    byId("clock").after(legend);
    if (colors.category) return legend.querySelector("i").remove();
    legend.lastChild.textContent = short(Number(colors.high.toPrecision(2)));
    const stops = colors.map.filter((_, i) => i % 15 === 0).map((rgb) => `rgb(${rgb.join(",")})`);
    legend.querySelector("i").style.background = `linear-gradient(to right, ${stops.join(",")})`;
  }

  // Arranges the lanes in a row or in a column, whichever makes the bodies larger.
  arrange() {
    if (!this.data) return;
    const count = this.data.results.length;
    const box = this.data.kind === "impact" ? impactBox(this.data) : this.data.picture.box ?? [0, this.data.picture.camera.aspect, 0, 1];
    const stage = byId("stage");
    const scale = (columns, rows) => Math.min((stage.clientWidth / columns - 24) / (box[1] - box[0]), (stage.clientHeight / rows - 44) / (box[3] - box[2]));
    const row = this.data.kind === "impact" && this.data.components.length === 1;
    const beside = !row && scale(count, 1) > scale(1, count);
    stage.style.minHeight = row ? `${6.4 * count}rem` : "";
    stage.style.gridTemplateColumns = `repeat(${beside ? count : 1}, minmax(0, 1fr))`;
    stage.style.gridTemplateRows = `repeat(${beside ? 1 : count}, minmax(0, 1fr))`;
    this.draw();
  }

  // ---- time

  get rate() {
    // An impact plays at one unit of time per second; a run takes five to ten seconds.
    const span = this.to - this.from;
    return this.data.kind === "impact" ? 1 : span / Math.min(10, Math.max(5, span));
  }

  setPlaying(on) {
    if (on && this.time >= this.to - 1e-9) this.seek(this.from);
    this.playing = on && Boolean(this.data);
    byId("play").textContent = this.playing ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    cancelAnimationFrame(this.frame);
    if (!this.playing) return;
    let last = performance.now();
    const tick = (now) => {
      const gone = Math.min(0.1, (now - last) / 1000);
      last = now;
      const time = this.time + gone * this.rate * Number(byId("pace").value);
      this.seek(Math.min(time, this.to));
      if (time >= this.to) this.setPlaying(false);
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  seek(time) {
    this.time = time;
    byId("scrub").value = time;
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const impact = this.data.kind === "impact";
    for (const { painter, remark, result } of this.painters) {
      remark.textContent = impact ? painter.draw(this.time) : painter.draw(...frameAt(result.time, this.time));
    }
    for (const chart of document.querySelectorAll(".chart")) chart.moveCursor(this.time);
    byId("clock").textContent = impact ? impactClock(this.time) : `time ${this.time.toFixed(this.to < 1 ? 4 : 2)}`;
  }

  key(event) {
    if (event.target.matches("input[type=number], select, button, input[type=range]")) return;
    const step = (this.to - this.from) / 120;
    if (event.key === " ") this.setPlaying(!this.playing);
    else if (event.key === "ArrowRight") this.seek(Math.min(this.to, this.time + step));
    else if (event.key === "ArrowLeft") this.seek(Math.max(this.from, this.time - step));
    else return;
    event.preventDefault();
  }
}

const impactClock = (t) => (Math.abs(t) < 5e-3 ? "the impact" : t < 0 ? `${(-t).toFixed(2)} before impact` : `${t.toFixed(2)} after impact`);

// Decodes arrays, which are base64 of little-endian numbers.
function unpacked(data) {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  for (const result of data.results) {
    if (result.refusal) continue;
    for (const name of ["position", "turn", "boundaries"]) result[name] = new Float32Array(bytes(result[name]).buffer);
    result.lives = result.lives && bytes(result.lives);
    result.color = bytes(result.color);
  }
  return data;
}

function setTheme(name, page = null) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("carom-theme", name); } catch { /* no storage: the choice is not kept */ }
  page?.draw();
}

try { setTheme(localStorage.getItem("carom-theme") ?? "light"); } catch { setTheme("light"); }
ask("/api/start").then((start) => { window.carom = new Page(start); }, (error) => {
  byId("message").textContent = error.message;
  byId("message").hidden = false;
});
