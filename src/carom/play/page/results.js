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

// ---- ticks

export function tickCard(data, meanings) {
  const about = data.kind === "impact" ? "on this impact" : "on this run";
  const box = card("Desiderata", about);
  const table = make("table");
  table.id = "ticks";
  const head = table.createTHead().insertRow();
  head.append(make("th", "", ""));
  heads(head, data.results, "mark");
  const body = table.createTBody();
  const sentence = make("p", "sentence", "Point at a mark for the reason.");
  for (const { key, mark, title, meaning } of meanings) {
    const row = body.insertRow();
    const what = make("td", "what");
    const name = make("b", "", title[0].toUpperCase() + title.slice(1));
    what.append(name, mark ? ` ${mark}` : "", make("small", "", meaning));
    row.append(what);
    data.results.forEach((result) => row.append(markCell(result, key, sentence)));
  }
  box.append(table, sentence);
  return box;
}

const MARKS = new Map([[true, ["✓", "yes"]], [false, ["✗", "no"]], [null, ["–", "none"]]]);

function markCell(result, key, sentence) {
  const tick = result.ticks?.find((t) => t.name === key);
  if (!tick) return make("td", "mark none", "–");
  const [mark, className] = MARKS.get(tick.passed);
  const cell = make("td", `mark ${className}`);
  const lucky = tick.passed === true && tick.claimed === false;
  cell.append(make("b", "", mark), " ", make("small", "", minus(tick.short)));
  if (lucky) cell.append(make("small", "lucky", "not always"));
  cell.title = tick.text + (lucky ? "; the law does not promise it for all problems" : "");
  cell.dataset.passed = String(tick.passed);
  cell.tabIndex = 0;
  const tell = () => { sentence.textContent = `${result.law}, ${key}: ${cell.title}`; };
  cell.addEventListener("mouseenter", tell);
  cell.addEventListener("focus", tell);
  return cell;
}

// ---- charts of a run

const WIDE = 460, HIGH = 136, LEFT = 50, RIGHT = 104, TOP = 10, BOTTOM = 38;
const STROKES = [5.5, 3.6, 1.8]; // widths of the first, second and third law: lines that coincide stay visible
const AXES = ["x", "y", "z"];
const DASHES = { "": null, dash: [3, 2], dots: [0.8, 1.6] }; // in widths of the line
const STYLES = Object.keys(DASHES);

export function chartColumn(data) {
  const done = data.results.map((result, k) => ({ ...result, k })).filter((result) => !result.refusal);
  const single = done.length === 1;
  const energy = [];
  for (const r of done) {
    if (single && r.potential) {
      energy.push({ y: r.kinetic, k: 0, name: "kinetic", dash: "dash" }, { y: r.potential, k: 0, name: "potential", dash: "dots" });
    }
    energy.push({ y: r.energy, k: r.k, name: single ? (r.potential ? "total" : "kinetic") : r.law, dash: "" });
  }
  const momentum = done.flatMap((r) => r.momentum.map((y, c) => ({ y, k: r.k, name: r === done[0] ? `along ${AXES[c]}` : "", dash: STYLES[c] })));
  const time = done[0].time;
  const title = done.some((r) => r.potential) ? "Energy" : "Kinetic energy";
  const column = make("div", "column");
  column.append(chartCard(title, !single && done.some((r) => r.potential) ? "kinetic and potential" : "", time, energy, true));
  column.append(chartCard("Momentum", "", time, momentum, false));
  return column;
}

function chartCard(title, remark, time, lines, fromZero) {
  const box = card(title, remark);
  box.classList.add("chart");
  const values = lines.flatMap((line) => line.y.filter((v) => v !== null));
  let [low, high] = [Math.min(...values, 0), Math.max(...values, fromZero ? 0 : -Infinity)];
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) [low, high] = [low - 1, high + 1];
  const x = (t) => LEFT + ((WIDE - LEFT - RIGHT) * t) / time[time.length - 1];
  const y = (v) => HIGH - BOTTOM - ((HIGH - TOP - BOTTOM) * (v - low)) / (high - low);
  const svg = svgOf("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title });
  for (const v of ticks(low, high, 3)) {
    svg.append(svgOf("line", { class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: y(v), y2: y(v) }));
    svg.append(svgOf("text", { x: LEFT - 7, y: y(v) + 5, "text-anchor": "end" }, minus(short(v))));
  }
  for (const t of ticks(0, time[time.length - 1], 5)) svg.append(svgOf("text", { x: x(t), y: HIGH - BOTTOM + 18, "text-anchor": "middle" }, short(t)));
  svg.append(svgOf("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 3, "text-anchor": "middle" }, "time"));
  for (const line of lines) {
    const path = line.y.map((v, i) => (v === null ? "" : `${i ? "L" : "M"}${x(time[i]).toFixed(1)} ${y(v).toFixed(1)}`)).join("");
    const width = lines.some((other) => other.k !== line.k) ? STROKES[line.k] : 2.6;
    const dash = DASHES[line.dash] ? { "stroke-dasharray": DASHES[line.dash].map((d) => (d * width).toFixed(1)).join(" ") } : {};
    svg.append(svgOf("path", { class: `law${line.k}`, d: path, "stroke-width": width, ...dash }));
  }
  labels(svg, lines.filter((line) => line.name), y);
  const cursor = svgOf("line", { class: "cursor", x1: LEFT, x2: LEFT, y1: TOP - 6, y2: HIGH - BOTTOM });
  svg.append(cursor);
  box.append(svg);
  box.moveCursor = (t) => { cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t)); };
  return box;
}

// Names at the right ends of the lines, moved apart where they would overlap.
function labels(svg, lines, y) {
  const ends = lines.map((line) => ({ line, at: y(line.y[line.y.length - 1] ?? 0) })).sort((a, b) => a.at - b.at);
  let above = -Infinity;
  for (const end of ends) above = end.at = Math.max(end.at, above + 17);
  const over = above - (HIGH - BOTTOM - 2);
  if (over > 0) {
    let below = Infinity;
    for (const end of ends.reverse()) below = end.at = Math.min(end.at - (below === Infinity ? over : 0), below - 17);
  }
  for (const { line, at } of ends) svg.append(svgOf("text", { class: `own name law${line.k}`, x: WIDE - RIGHT + 7, y: at + 4.5 }, line.name));
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
