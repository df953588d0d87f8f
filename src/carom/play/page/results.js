// Results below the film: tables, ticks and charts.

const make = (name, className = "", text = null) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  return element;
};
const minus = (text) => String(text).replace(/^-/, "−");

function card(title, remark = "") {
  const box = make("div", "card");
  const head = make("h2", "", title);
  if (remark) head.append(" ", make("small", "", remark));
  box.append(head);
  return box;
}

function heads(row, results, className = "") {
  results.forEach((result, k) => {
    const cell = make("th", `law${k} ${className}`);
    cell.append(...result.law.split("_").flatMap((word, i) => (i ? ["_", make("wbr"), word] : [word]))); // may break there
    cell.title = `${result.title} (${result.paper})`;
    row.append(cell);
  });
}

// ---- one impact: velocities, energy, momentum

export function velocityCard(data) {
  const box = card("Velocities", "before the impact, and after it");
  const table = make("table");
  table.id = "velocities";
  if (data.components.length > 1) table.className = "plane";
  const head = table.createTHead().insertRow();
  for (const text of ["ball", ...(data.components.length > 1 ? [""] : []), "before"]) head.append(make("th", "", text));
  heads(head, data.results);
  const body = table.createTBody();
  const unequal = data.bodies.mass.some((m) => m !== data.bodies.mass[0]);
  data.before.shown.forEach((before, i) => {
    const row = body.insertRow();
    const ball = make("td", "ball", i + 1);
    if (unequal) ball.append(" ", make("small", "", `mass ${Number(data.bodies.mass[i].toPrecision(3))}`));
    row.append(ball, ...names(data.components), valueCell(before));
    data.results.forEach((result) => row.append(result.refusal ? make("td", "zero", "–") : valueCell(result.shown[i])));
  });
  sumRow(body, "energy", data, (motion) => [motion.energy_shown], data.components.length > 1 ? [" ", ""] : []);
  sumRow(body, "momentum", data, (motion) => motion.momentum_shown, data.components.slice(0, 2));
  box.append(table);
  return box;
}

// The components of one velocity, each on its own line.
function valueCell(parts) {
  const cell = make("td", `value${parts.every((text) => Number(text) === 0) ? " zero" : ""}`);
  cell.append(...parts.map((text) => make("div", "number", minus(text))));
  return cell;
}

// A cell with the names of those lines, where there are several.
function names(components) {
  if (components.length < 2) return [];
  const cell = make("td", "value names");
  cell.append(...components.map((name) => make("div", "", name)));
  return [cell];
}

function sumRow(body, title, data, parts, components) {
  const row = body.insertRow();
  row.className = "sum";
  row.append(make("td", "", title), ...names(components), valueCell(parts(data.before)));
  for (const result of data.results) row.append(result.refusal ? make("td", "zero", "–") : valueCell(parts(result)));
}

// ---- outcome set

const SIDE = 300, EDGE = 64; // of the panel, and of its left and lower margin

// What mechanics allows after this impact, over the two velocities that it leaves open most, with the laws in it.
export function outcomeCard() {
  const box = card("What mechanics leaves open", "velocities that energy, momentum and contacts allow");
  box.id = "outcomes";
  box.append(make("p", "sentence", "…"));
  return box;
}

export function fillOutcomes(box, data) {
  const at = data.laws.filter((law) => law.at).map((law) => law.at);
  const all = [...data.points, ...data.corners, ...data.orders, ...at];
  const spans = [0, 1].map((c) => spanOf(all.map((p) => p[c])));
  const x = (v) => EDGE + ((SIDE * 1.5 - EDGE - 12) * (v - spans[0][0])) / (spans[0][1] - spans[0][0]);
  const y = (v) => SIDE - EDGE - ((SIDE - EDGE - 12) * (v - spans[1][0])) / (spans[1][1] - spans[1][0]);
  const svg = svgOf("svg", { viewBox: `0 0 ${SIDE * 1.5} ${SIDE}`, role: "img", "aria-label": "Outcome set" });
  for (const v of ticks(...spans[0], 5)) svg.append(svgOf("text", { x: x(v), y: SIDE - EDGE + 17, "text-anchor": "middle" }, minus(short(v))));
  for (const v of ticks(...spans[1], 4)) {
    svg.append(svgOf("line", { class: "axis", x1: EDGE, x2: SIDE * 1.5 - 12, y1: y(v), y2: y(v) }));
    svg.append(svgOf("text", { x: EDGE - 7, y: y(v) + 5, "text-anchor": "end" }, minus(short(v))));
  }
  svg.append(svgOf("text", { x: (EDGE + SIDE * 1.5) / 2, y: SIDE - 6, "text-anchor": "middle" }, data.axes[0]));
  svg.append(svgOf("text", { x: 12, y: (SIDE - EDGE) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(SIDE - EDGE) / 2})` }, data.axes[1]));
  const line = data.points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join("");
  if (data.kind === "cloud") for (const p of data.points) svg.append(svgOf("circle", { class: "allowed dot", cx: x(p[0]), cy: y(p[1]), r: 2 }));
  else svg.append(svgOf("path", { class: `allowed ${data.kind}`, d: data.kind === "area" ? `${line}Z` : line }));
  for (const p of data.orders) svg.append(svgOf("circle", { class: "order", cx: x(p[0]), cy: y(p[1]), r: 2.2 }));
  data.laws.forEach((law, k) => {
    if (law.at) svg.append(svgOf("circle", { class: `answer law${k}${law.broken.length ? " outside" : ""}`, cx: x(law.at[0]), cy: y(law.at[1]), r: 9 - 2.5 * k }));
  });
  const bound = data.exact ? "" : "at least ";
  const sentence = make("p", "sentence");
  sentence.append("Size ", make("b", "", `${bound}${data.size.toFixed(2)}`), " of 1: 0 where mechanics alone decides. ",
    data.elastic ? "Energy is conserved. " : "Energy may be lost. ", ...data.laws.flatMap((law, k) => [make("b", `law${k}`, law.law), ` ${standing(law)}${k < data.laws.length - 1 ? ", " : "."}`]));
  const keys = make("p", "keys");
  keys.append(make("span", "", "pale: allowed"), make("span", "", "small dots: pairwise impacts one after another"), make("span", "", "large dots: laws"));
  box.replaceChildren(box.querySelector("h2"), sentence, svg, keys);
}

const standing = (law) => (!law.at ? "has no answer" : law.broken.length ? `is outside (${law.broken.join(", ")})` : "is inside");

function spanOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = Math.max(0.08 * (high - low), 1e-3 * Math.max(1, Math.abs(high)));
  return [low - pad, high + pad];
}

// ---- ticks

// Two marks per law and desideratum: whether it holds here, and whether the law guarantees it for every impact.
export function tickCard(data, meanings) {
  const here = data.kind === "impact" ? "this impact" : "this run";
  const box = card("Desiderata", `here: ${here} · always: every impact`);
  const table = make("table");
  table.id = "ticks";
  const [laws, columns] = [table.createTHead().insertRow(), table.tHead.insertRow()];
  laws.append(make("th"));
  columns.append(make("th"));
  heads(laws, data.results, "mark");
  for (const cell of laws.querySelectorAll(".mark")) {
    cell.colSpan = 2;
    columns.append(make("th", "mark here", "here"), make("th", "mark", "always"));
  }
  const body = table.createTBody();
  const sentence = make("p", "sentence");
  for (const { key, mark, title, meaning } of meanings) {
    const row = body.insertRow();
    const what = make("td", "what");
    const name = make("b", "", title[0].toUpperCase() + title.slice(1));
    what.append(name, mark ? ` ${mark}` : "", make("small", "", meaning));
    row.append(what);
    data.results.forEach((result, k) => row.append(...markCells(result, k, { key, title, here }, sentence)));
  }
  explain(data, meanings, here, sentence);
  box.append(sentence, table);
  return box;
}

const MARKS = new Map([[true, ["✓", "yes"]], [false, ["✗", "no"]], [null, ["–", "none"]]]);

function markCells(result, k, about, sentence) {
  const tick = result.ticks?.find((t) => t.name === about.key);
  if (!tick) return [make("td", "mark here none", "–"), make("td", "always none", "–")];
  const [mark, className] = MARKS.get(tick.passed);
  const [general, generalClass] = MARKS.get(tick.always);
  const here = make("td", `mark here ${className}`);
  here.append(make("b", "", mark), " ", make("small", "", minus(tick.short)));
  here.dataset.passed = String(tick.passed);
  const always = make("td", `always ${generalClass}`);
  always.append(make("b", "", general));
  always.dataset.always = String(tick.always);
  for (const cell of [here, always]) {
    cell.tabIndex = 0;
    const tell = () => tellTick(sentence, result, k, about, tick);
    cell.addEventListener("mouseenter", tell);
    cell.addEventListener("focus", tell);
  }
  return [here, always];
}

function tellTick(sentence, result, k, { title, here }, tick) {
  const name = make("b", `law${k}`, result.law);
  const law = tick.law_text ? ` In general: ${tick.law_text}.` : "";
  sentence.replaceChildren(name, `, ${title}. On ${here}: ${tick.text}.${law}`);
}

// At first the sentence explains a mark that differs from what the law does in general, or else one that fails.
function explain(data, meanings, here, sentence) {
  const all = data.results.flatMap((result, k) => (result.ticks ?? []).map((tick) => ({ result, k, tick })));
  const chosen = all.find(({ tick }) => tick.name === "WAV" && tick.passed && !tick.always) ?? all.find(({ tick }) => tick.passed === false)
    ?? all.find(({ tick }) => tick.passed && tick.always === false);
  if (!chosen) { sentence.textContent = "Point at a mark for what was measured and what the law guarantees."; return; }
  const { title } = meanings.find(({ key }) => key === chosen.tick.name);
  tellTick(sentence, chosen.result, chosen.k, { title, here }, chosen.tick);
}

// ---- charts of a run

const WIDE = 460, HIGH = 128, LEFT = 50, RIGHT = 14, TOP = 8, BOTTOM = 36;
const WIDTHS = [6, 3.2, 1.5]; // of curves of the first, second and third law: curves that coincide stay visible
const AXES = ["x", "y", "z"];
const DASHES = [null, [10, 6], [2, 5]]; // pixels

// Each curve has its own pair of color and dash, and an entry in the legend: colors are laws and dashes components, or,
// if there is one law only, both are components.
export function chartColumn(data) {
  const done = data.results.map((result, k) => ({ ...result, k })).filter((result) => !result.refusal);
  const single = done.length === 1;
  const heavy = done.some((r) => r.potential);
  const curve = (y, name, r, c) => ({ y, name, dash: DASHES[c], color: single ? `curve${c}` : `law${r.k}`, width: single ? 2.4 : WIDTHS[r.k] });
  const energy = done.flatMap((r) => {
    if (!single) return [{ ...curve(r.energy, r.law, r, 0), dash: DASHES[r.k] }];
    const total = curve(r.energy, heavy ? "total" : "kinetic", r, 0);
    return heavy ? [total, curve(r.kinetic, "kinetic", r, 1), curve(r.potential, "potential", r, 2)] : [total];
  });
  const momentum = done.flatMap((r) => r.momentum.map((y, c) => curve(y, single ? `along ${AXES[c]}` : `${r.law} ${AXES[c]}`, r, c)));
  const time = done[0].time;
  const column = make("div", "column");
  column.append(chartCard(heavy ? (single ? "Energy" : "Total energy") : "Kinetic energy", time, energy, true));
  column.append(chartCard("Momentum", time, momentum, false));
  return column;
}

function chartCard(title, time, curves, fromZero) {
  const box = card(title);
  box.classList.add("chart");
  box.querySelector("h2").append(legendOf(curves));
  const values = curves.flatMap((curve) => curve.y.filter((v) => v !== null));
  let [low, high] = [Math.min(...values, 0), Math.max(...values, fromZero ? 0 : -Infinity)];
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) [low, high] = [low - 1, high + 1];
  const x = (t) => LEFT + ((WIDE - LEFT - RIGHT) * t) / time[time.length - 1];
  const y = (v) => HIGH - BOTTOM - ((HIGH - TOP - BOTTOM) * (v - low)) / (high - low);
  const svg = svgOf("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title });
  for (const v of ticks(low, high, 3)) {
    svg.append(svgOf("line", { class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(v), y2: y(v) }));
    svg.append(svgOf("text", { x: LEFT - 7, y: y(v) + 5, "text-anchor": "end" }, minus(short(v))));
  }
  for (const t of ticks(0, time[time.length - 1], 5)) svg.append(svgOf("text", { x: x(t), y: HIGH - BOTTOM + 17, "text-anchor": "middle" }, short(t)));
  svg.append(svgOf("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 3, "text-anchor": "middle" }, "time"));
  for (const curve of curves) {
    const path = curve.y.map((v, i) => (v === null ? "" : `${i ? "L" : "M"}${x(time[i]).toFixed(1)} ${y(v).toFixed(1)}`)).join("");
    svg.append(strokeOf("path", { d: path }, curve));
  }
  const cursor = svgOf("line", { class: "cursor", x1: LEFT, x2: LEFT, y1: TOP - 6, y2: HIGH - BOTTOM });
  svg.append(cursor);
  box.append(svg);
  box.moveCursor = (t) => { cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t)); };
  return box;
}

function strokeOf(name, attributes, { color, dash, width }) {
  const shift = WIDTHS.indexOf(width) * 8; // dashes of laws that coincide alternate
  const dashes = dash ? { "stroke-dasharray": dash.join(" "), "stroke-dashoffset": Math.max(shift, 0) } : {};
  return svgOf(name, { class: `curve ${color}`, "stroke-width": width, ...dashes, ...attributes });
}

function legendOf(curves) {
  const legend = make("span", "keys");
  for (const curve of curves) {
    const entry = make("span");
    const sample = svgOf("svg", { viewBox: "0 0 30 8" });
    sample.append(strokeOf("line", { x1: 0, x2: 30, y1: 4, y2: 4 }, curve));
    entry.append(sample, curve.name);
    legend.append(entry);
  }
  return legend;
}

function svgOf(name, attributes, text = null) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

export function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => (high - low) / (m * power) <= count + 1e-9);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

export const short = (v) => (Math.abs(v) < 1e-12 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(1) : String(Number(v.toPrecision(4))));
