// The controls at the left: scene, laws and sliders. They keep the choice and report changes of it.

const byId = (id) => document.getElementById(id);

export class Controls {
  constructor(start, changed) {
    this.start = start;
    this.changed = changed; // called with "scene", "laws" or "values"
    this.known = new Map();
    for (const group of start.groups) {
      const list = document.createElement("optgroup");
      list.label = group.title;
      for (const scene of group.scenes) {
        const key = `${group.kind}/${scene.name}`;
        this.known.set(key, { ...scene, kind: group.kind });
        list.append(new Option(scene.title, key));
      }
      byId("scene").append(list);
    }
    byId("scene").addEventListener("change", (event) => this.choose(event.target.value));
    byId("reset").addEventListener("click", () => this.choose(this.key));
  }

  get scene() { return this.known.get(this.key); }
  get request() { return { scene: this.scene.name, laws: this.laws, parameters: { ...this.values } }; }

  // Shows a scene, with the values and laws of a bookmark if there is one.
  choose(key, laws = null, values = {}) {
    this.key = this.known.has(key) ? key : this.known.keys().next().value;
    byId("scene").value = this.key;
    byId("note").textContent = this.scene.note;
    const names = this.start.laws.map((law) => law.name);
    const wanted = (laws ?? this.scene.laws).filter((name, i, all) => names.includes(name) && all.indexOf(name) === i);
    this.laws = (wanted.length ? wanted : this.scene.laws).slice(0, this.start.most_laws);
    this.values = {};
    for (const slider of this.scene.sliders) {
      const given = Number(values[slider.name]);
      this.values[slider.name] = values[slider.name] !== undefined && Number.isFinite(given) ? fitted(slider, given) : slider.value;
    }
    this.showSliders();
    this.showLaws();
    this.changed("scene");
  }

  showLaws() {
    byId("laws").replaceChildren(...this.start.laws.map((law) => {
      const button = document.createElement("button");
      const place = this.laws.indexOf(law.name);
      button.type = "button";
      button.textContent = law.name;
      button.title = `${law.title} (${law.paper})`;
      button.setAttribute("aria-pressed", String(place >= 0));
      if (place >= 0) button.className = `law${place}`;
      button.addEventListener("click", () => this.toggle(law.name));
      return button;
    }));
  }

  // Adds or removes a law; a fourth one replaces the last, and at least one remains.
  toggle(name) {
    if (this.laws.includes(name)) {
      if (this.laws.length === 1) return;
      this.laws = this.laws.filter((other) => other !== name);
    } else {
      if (this.laws.length === this.start.most_laws) this.laws.pop();
      this.laws.push(name);
    }
    this.showLaws();
    this.changed("laws");
  }

  showSliders() {
    this.rows = new Map();
    byId("sliders").replaceChildren(...this.scene.sliders.map((slider) => this.sliderRow(slider)));
    this.limit();
  }

  sliderRow(slider) {
    const row = document.createElement("label");
    row.className = "slider";
    row.innerHTML = '<span></span><input type="number" step="any"><input type="range">';
    const [title, number, range] = row.children;
    title.textContent = slider.title;
    number.name = `${slider.name}-number`;
    range.name = slider.name;
    range.setAttribute("aria-label", slider.title);
    number.setAttribute("aria-label", `${slider.title}, as a number`);
    [range.min, range.max] = [knob(slider, slider.low), knob(slider, slider.high)];
    range.step = slider.decades ? 1 : slider.logarithmic ? "any" : slider.step;
    range.addEventListener("input", () => this.set(slider, fromKnob(slider, Number(range.value)), range));
    range.addEventListener("dblclick", () => this.set(slider, slider.value));
    number.addEventListener("change", () => this.set(slider, fitted(slider, Number(number.value))));
    this.rows.set(slider.name, { slider, number, range });
    this.show(slider.name);
    return row;
  }

  show(name, except = null) {
    const { slider, number, range } = this.rows.get(name);
    number.value = written(slider, this.values[name]);
    if (range !== except) range.value = knob(slider, this.values[name]);
  }

  set(slider, value, from = null) {
    this.values[slider.name] = value;
    this.show(slider.name, from);
    this.limit();
    this.changed("values");
  }

  // The upper limit of a slider that must stay below another one follows it.
  limit() {
    for (const { slider, range } of this.rows.values()) {
      if (slider.below === null) continue;
      const most = Math.min(slider.high, this.values[slider.below] - 1);
      range.max = most;
      if (this.values[slider.name] > most) this.values[slider.name] = most;
      this.show(slider.name);
    }
  }

  // The bookmark: scene, laws, and the sliders that were moved.
  get bookmark() {
    const moved = this.scene.sliders.filter((s) => this.values[s.name] !== s.value);
    const parts = new URLSearchParams({ scene: this.key, laws: this.laws.join(",") });
    for (const slider of moved) parts.set(slider.name, this.values[slider.name]);
    return parts.toString();
  }

  read(bookmark) {
    const parts = Object.fromEntries(new URLSearchParams(bookmark));
    this.choose(parts.scene, parts.laws ? parts.laws.split(",") : null, parts);
  }
}

const knob = (slider, value) => (slider.logarithmic ? Math.log10(value) : value);

function fromKnob(slider, place) {
  if (!slider.logarithmic) return fitted(slider, place);
  if (slider.decades) return fitted(slider, Number(`1e${Math.round(place)}`));
  const middle = Math.log10(slider.value);
  const near = 0.015 * (Math.log10(slider.high) - Math.log10(slider.low));
  return Math.abs(place - middle) < near ? slider.value : fitted(slider, 10 ** place);
}

// A value within the limits, rounded to the digits that are shown.
function fitted(slider, value) {
  if (!Number.isFinite(value)) return slider.value;
  const fine = slider.whole ? Math.round(value) : Number(value.toPrecision(3));
  return Math.min(slider.high, Math.max(slider.low, fine));
}

const written = (slider, value) => (slider.whole ? String(value) : String(Number(value.toPrecision(3))));
