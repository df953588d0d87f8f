// 2D drawing on a canvas: the film of one impact, and frames of a run. There is one painter per law.

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Resizes the canvas to the pixels of the screen; its context is scaled to CSS pixels.
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, wide, high);
  return [context, wide, high];
}

// The map from length units to pixels that centers `box` (left, right, bottom, top) below a strip for the name.
function view(box, wide, high, strip) {
  const fit = Math.min((wide - 16) / (box[1] - box[0]), (high - strip - 8) / (box[3] - box[2]));
  const scale = Math.max(fit, 1e-3); // a canvas may have no area yet
  const x0 = wide / 2 - (scale * (box[0] + box[1])) / 2;
  const y0 = strip + (high - strip) / 2 + (scale * (box[2] + box[3])) / 2;
  return { scale, x: (v) => x0 + scale * v, y: (v) => y0 - scale * v };
}

function ball(context, x, y, r, fill, outline, width) {
  const light = context.createRadialGradient(x - 0.35 * r, y - 0.4 * r, 0.1 * r, x, y, r);
  light.addColorStop(0, "rgba(255, 255, 255, 0.75)");
  light.addColorStop(0.45, fill);
  light.addColorStop(1, fill);
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  for (const style of [fill, light]) {
    context.fillStyle = style;
    context.fill();
  }
  context.lineWidth = width;
  context.strokeStyle = outline;
  context.stroke();
}

function arrow(context, x, y, dx, dy, width, style) {
  const length = Math.hypot(dx, dy);
  if (length < 3) return;
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(3.2 * width, 0.7 * length);
  context.strokeStyle = context.fillStyle = style;
  context.lineWidth = width;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx - head * ux, y + dy - head * uy);
  context.stroke();
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - head * ux - 0.55 * head * uy, y + dy - head * uy + 0.55 * head * ux);
  context.lineTo(x + dx - head * ux + 0.55 * head * uy, y + dy - head * uy - 0.55 * head * ux);
  context.fill();
}

// ---- one impact

const ROOM = { row: [1.7, 2.9], plane: [1.2, 1.7] }; // shown to the left and right of the bodies, in length units

// The rectangle (left, right, bottom, top) that the film of all laws needs; bodies that move far away leave it.
export function impactBox(data) {
  const { position, radius } = data.bodies;
  const row = position.every((p) => p[1] === position[0][1]);
  const ends = [Infinity, -Infinity, Infinity, -Infinity];
  const core = [Infinity, -Infinity, Infinity, -Infinity];
  const hold = (box, x, y, r) => {
    box[0] = Math.min(box[0], x - r); box[1] = Math.max(box[1], x + r);
    box[2] = Math.min(box[2], y - r); box[3] = Math.max(box[3], y + r);
  };
  position.forEach(([x, y], i) => {
    hold(core, x, y, radius[i]);
    hold(ends, x, y, radius[i]);
    const before = data.before.velocity[i];
    hold(ends, x + before[0] * data.film.start, y + before[1] * data.film.start, radius[i]);
    for (const result of data.results) {
      if (result.refusal) continue;
      const [vx, vy] = result.velocity[i];
      hold(ends, x + vx * data.film.end, y + vy * data.film.end, radius[i]);
    }
  });
  const room = row ? ROOM.row : ROOM.plane;
  const box = ends.map((v, k) => (k % 2 ? Math.min(v, core[k] + room[1]) : Math.max(v, core[k] - room[k ? 1 : 0])));
  const tallest = Math.max(...radius);
  return row ? [box[0], box[1], -tallest - 0.5, tallest + 0.3] : box;
}

export class ImpactPainter {
  constructor(canvas, data, index) {
    Object.assign(this, { canvas, data, index, result: data.results[index], box: impactBox(data) });
    this.row = data.components.length === 1;
    // All laws have one scale of arrows, which is smaller where balls are fast.
    const done = data.results.filter((result) => !result.refusal);
    const fastest = Math.max(...[data.before, ...done].flatMap((motion) => motion.velocity.map(([x, y]) => Math.hypot(x, y))));
    this.reach = 0.9 / Math.max(1, Math.min(fastest, 4) / 1.6);
  }

  draw(time) {
    const { data, result } = this;
    const [context, wide, high] = fitted(this.canvas);
    const at = view(this.box, wide, high, this.row ? 12 : 30);
    const after = time > 0;
    const reached = after && result.until !== null ? Math.min(time, result.until) : time;
    const velocity = after ? result.velocity : data.before.velocity;
    const { position, radius } = data.bodies;
    if (this.row) this.rail(context, at, Math.max(...radius), wide);
    const places = position.map(([x, y], i) => [x + velocity[i][0] * reached, y + velocity[i][1] * reached]);
    const fontSize = Math.min(24, 0.6 * at.scale * Math.min(...radius)); // so that labels of neighbors stay apart
    places.forEach(([x, y], i) => {
      const moving = Math.hypot(...data.before.velocity[i]) > 0;
      const r = at.scale * radius[i];
      ball(context, at.x(x), at.y(y), r, color(moving ? "strike" : "rest"), color("outline"), Math.max(1, 0.02 * at.scale));
      if (after && velocity[i][2]) this.spoke(context, at.x(x), at.y(y), r, velocity[i][2] * reached);
      if (r > 9) this.number(context, at.x(x), at.y(y), i + 1, Math.max(11, Math.min(24, 0.6 * r)));
    });
    const style = color(after ? `law${this.index}` : "arrow");
    places.forEach(([x, y], i) => {
      const [vx, vy] = velocity[i];
      // In a row the arrow is above the ball, in 2D it starts at the edge of the ball, where nothing hides it.
      const edge = this.row ? 0 : radius[i] / (Math.hypot(vx, vy) || 1);
      const lift = this.row ? at.scale * (radius[i] + 0.14) : 0;
      const [x0, y0] = [at.x(x + edge * vx), at.y(y + edge * vy) - lift];
      arrow(context, x0, y0, this.reach * at.scale * vx, -this.reach * at.scale * vy, Math.max(2.5, 0.055 * at.scale), style);
      if (this.row && fontSize > 10.5) this.speed(context, at, x, radius, vx, fontSize, style);
    });
    return after && result.until !== null && time >= result.until ? "the next impact follows here" : "";
  }

  rail(context, at, tallest, wide) {
    context.strokeStyle = color("rail");
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(0, at.y(-tallest) + 2);
    context.lineTo(wide, at.y(-tallest) + 2);
    context.stroke();
  }

  number(context, x, y, text, size) {
    context.fillStyle = "#10161d";
    context.font = `650 ${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, x, y + 1);
  }

  // The velocity below the rail with two digits; the table has all of them.
  speed(context, at, x, radius, value, size, style) {
    context.fillStyle = Math.abs(value) < 5e-3 ? color("soft") : style;
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillText((Math.abs(value) < 5e-3 ? 0 : value).toFixed(2).replace("-", "−"), at.x(x), at.y(-Math.max(...radius)) + 8);
  }

  spoke(context, x, y, r, angle) {
    context.strokeStyle = color("outline");
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x + 0.55 * r * Math.cos(angle), y - 0.55 * r * Math.sin(angle));
    context.lineTo(x + r * Math.cos(angle), y - r * Math.sin(angle));
    context.stroke();
  }
}

// ---- a run

// The frame at or before a time, and the fraction of the way to the next.
export function frameAt(times, time) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle; else high = middle - 1;
  }
  const span = (times[low + 1] ?? times[low]) - times[low];
  return [low, span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0];
}

// Whether a body that may appear and vanish is the same one at two places of the list of lives.
export function sameLife({ lives }, here, there) {
  return !lives || lives[here] === lives[there];
}

export class RunPainter {
  constructor(canvas, data, index) {
    const result = data.results[index];
    Object.assign(this, { canvas, data, result, picture: data.picture, count: data.bodies });
  }

  // Draws frame `k`, interpolated by the fraction `f` toward the next one.
  draw(k, f) {
    const { picture, result, count } = this;
    const [context, wide, high] = fitted(this.canvas);
    const at = view(picture.box, wide, high, 30);
    const next = Math.min(k + 1, result.time.length - 1);
    const between = (array, size, i, c) => {
      const [a, b] = [array[(k * count + i) * size + c], array[(next * count + i) * size + c]];
      return Math.abs(b - a) < this.jump && sameLife(result, k * count + i, next * count + i) ? a + f * (b - a) : a;
    };
    this.jump = 0.5 * Math.max(picture.box[1] - picture.box[0], picture.box[3] - picture.box[2]);
    this.boundaries(context, at, k, next, f, wide, high);
    const thin = Math.max(0.6, Math.min(1.8, 0.05 * at.scale * picture.radius[0]));
    for (let i = 0; i < count; i++) {
      const [x, y] = [at.x(between(result.position, 2, i, 0)), at.y(between(result.position, 2, i, 1))];
      const [r, g, b] = picture.free[i] ? this.data.colors.map[result.color[k * count + i]] : [200, 204, 211];
      context.fillStyle = `rgb(${r},${g},${b})`;
      context.strokeStyle = color("outline");
      context.lineWidth = thin;
      const angle = between(result.turn, 1, i, 0);
      context.beginPath();
      if (picture.corners[i] === null) this.disc(context, x, y, at.scale * picture.radius[i], angle);
      else this.polygon(context, x, y, at.scale, picture.corners[i], angle);
    }
    return "";
  }

  disc(context, x, y, r, angle) {
    context.arc(x, y, r, 0, 2 * Math.PI);
    context.fill();
    if (this.picture.turns) {
      context.moveTo(x, y);
      context.lineTo(x + r * Math.cos(angle), y - r * Math.sin(angle));
    }
    context.stroke();
  }

  polygon(context, x, y, scale, corners, angle) {
    const [c, s] = [scale * Math.cos(angle), scale * Math.sin(angle)];
    for (const [a, b] of corners) context.lineTo(x + c * a - s * b, y - s * a - c * b);
    context.closePath();
    context.fill();
    context.stroke();
  }

  boundaries(context, at, k, next, f, wide, high) {
    const { boundaries } = this.picture;
    boundaries.forEach((boundary, w) => {
      const pose = [0, 1, 2].map((c) => {
        const [a, b] = [k, next].map((frame) => this.result.boundaries[(frame * boundaries.length + w) * 3 + c] ?? 0);
        return a + f * (b - a);
      });
      this.boundary(context, at, boundary, pose);
    });
    context.setLineDash([8, 6]);
    context.strokeStyle = color("wall");
    context.lineWidth = 1.5;
    for (const x of this.picture.periodic?.x ?? []) strokeLine(context, at.x(x), 0, at.x(x), high);
    for (const y of this.picture.periodic?.y ?? []) strokeLine(context, 0, at.y(y), wide, at.y(y));
    context.setLineDash([]);
  }

  // A filled polygon, a line or a circle, moved by a pose (x, y, angle) about its pivot.
  boundary(context, at, { line, fill, center, radius, pivot }, pose) {
    const [cos, sin] = [Math.cos(pose[2]), Math.sin(pose[2])];
    const moved = ([x, y]) => {
      const [dx, dy] = [x - pivot[0], y - pivot[1]];
      return [at.x(pivot[0] + pose[0] + cos * dx - sin * dy), at.y(pivot[1] + pose[1] + sin * dx + cos * dy)];
    };
    const trace = (points) => {
      context.beginPath();
      for (const point of points) context.lineTo(...moved(point));
    };
    context.strokeStyle = color("wall");
    context.fillStyle = color("ground");
    context.lineCap = "round";
    context.lineWidth = 3;
    if (fill) {
      trace(fill);
      context.fill();
    }
    if (line) {
      trace(line);
      context.stroke();
    }
    if (center) {
      context.beginPath();
      context.arc(...moved(center), at.scale * radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }
}

function strokeLine(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
