// Drawing in space with WebGL 2: spheres and flat faces, a floor with a grid, shadows on it. Drag to look around.

const BODY = [`#version 300 es
uniform mat4 view; uniform vec3 place; uniform vec4 turn; uniform float size;
uniform vec3 lamp; uniform vec4 ground; uniform float flatten;
in vec3 corner; in vec3 normal; out vec3 facing; out vec3 spot;
vec3 turned(vec3 v) { return v + 2.0 * cross(turn.yzw, cross(turn.yzw, v) + turn.x * v); }
void main() {
  spot = place + turned(size * corner);
  facing = turned(normal);
  if (flatten > 0.0) spot -= lamp * (dot(spot, ground.xyz) - ground.w) / dot(lamp, ground.xyz);
  gl_Position = view * vec4(spot, 1.0);
}`, `#version 300 es
precision highp float;
uniform vec4 color; uniform vec3 lamp; uniform vec3 eye; uniform float flatten;
in vec3 facing; in vec3 spot; out vec4 pixel;
void main() {
  if (flatten > 0.0) { pixel = color; return; }
  vec3 n = normalize(facing), toEye = normalize(eye - spot);
  if (dot(n, toEye) < 0.0) n = -n;
  float light = 0.58 + 0.46 * max(dot(n, lamp), 0.0) + 0.12 * max(dot(n, toEye), 0.0);
  float shine = 0.22 * pow(max(dot(reflect(-lamp, n), toEye), 0.0), 24.0);
  pixel = vec4(color.rgb * light + shine, color.a);
}`];

const FLOOR = [`#version 300 es
uniform mat4 view; uniform vec3 place; uniform vec3 across; uniform vec3 along; uniform float reach;
in vec2 corner; out vec2 at;
void main() { at = reach * corner; gl_Position = view * vec4(place + at.x * across + at.y * along, 1.0); }`,
`#version 300 es
precision highp float;
uniform vec4 color; uniform vec4 line; uniform float spacing; uniform float reach;
in vec2 at; out vec4 pixel;
void main() {
  vec2 cell = at / spacing, width = fwidth(cell);
  vec2 near = abs(fract(cell - 0.5) - 0.5) / max(width, 1e-6);
  float grid = (1.0 - min(min(near.x, near.y), 1.0)) * (1.0 - smoothstep(0.2, 0.6, max(width.x, width.y)));
  float fade = 1.0 - smoothstep(0.35, 1.0, length(at) / reach);
  pixel = vec4(mix(color.rgb, line.rgb, grid), fade);
}`];

const LINES = [`#version 300 es
uniform mat4 view; in vec3 corner; void main() { gl_Position = view * vec4(corner, 1.0); }`,
`#version 300 es
precision highp float; uniform vec4 color; out vec4 pixel; void main() { pixel = color; }`];

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const plus = (a, b, s = 1) => a.map((v, i) => v + s * b[i]);
const unit = (a) => a.map((v) => v / (Math.hypot(...a) || 1));

export class SpacePainter {
  constructor(canvas, data, index, redraw) {
    Object.assign(this, { canvas, data, result: data.results[index], picture: data.picture, count: data.bodies });
    this.gl = canvas.getContext("webgl2", { alpha: false, antialias: true, stencil: true, preserveDrawingBuffer: true });
    if (!this.gl) return;
    const { camera } = this.picture;
    const middle = camera.low.map((v, i) => 0.5 * (v + camera.high[i]));
    this.middle = plus(camera.eye, camera.forward, dot(plus(middle, camera.eye, -1), camera.forward));
    this.size = Math.hypot(...plus(camera.high, camera.low, -1));
    this.look = { turn: 0, tilt: 0, zoom: 1 };
    this.prepare();
    this.listen(redraw);
  }

  prepare() {
    const gl = this.gl;
    this.body = program(gl, ...BODY);
    this.floor = program(gl, ...FLOOR);
    this.lines = program(gl, ...LINES);
    this.meshes = this.picture.meshes.map((mesh) => {
      const points = mesh.sphere === undefined ? [mesh.triangles, mesh.normals] : sphere();
      return { size: mesh.sphere ?? 1, count: points[0].length / 3, arrays: vertexArray(gl, this.body, { corner: [points[0], 3], normal: [points[1], 3] }) };
    });
    this.square = vertexArray(gl, this.floor, { corner: [[-1, -1, 1, -1, -1, 1, 1, 1], 2] });
    this.edges = this.picture.edges.map((line) => ({ count: line.length, arrays: vertexArray(gl, this.lines, { corner: [line.flat(), 3] }) }));
  }

  listen(redraw) {
    const canvas = this.canvas;
    let last = null;
    canvas.addEventListener("pointerdown", (event) => { last = event; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { last = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      this.look.turn -= 0.008 * (event.clientX - last.clientX);
      this.look.tilt = Math.max(-0.35, Math.min(1.1, this.look.tilt + 0.006 * (event.clientY - last.clientY)));
      last = event;
      redraw();
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.look.zoom = Math.max(0.2, Math.min(3, this.look.zoom * Math.exp(0.001 * event.deltaY)));
      redraw();
    }, { passive: false });
  }

  // Eye and axes after dragging: turned about the upright axis of the scene, then tilted.
  camera() {
    const { camera, floors } = this.picture;
    const upright = floors.length ? floors[0].normal : unit(plus(camera.up, camera.forward, -dot(camera.up, camera.forward)));
    const about = (v, axis, angle) => plus(plus(v.map((x) => x * Math.cos(angle)), cross(axis, v), Math.sin(angle)), axis, dot(axis, v) * (1 - Math.cos(angle)));
    const right = about(camera.right, upright, this.look.turn);
    const turned = (v) => about(about(v, upright, this.look.turn), right, -this.look.tilt);
    const arm = turned(plus(camera.eye, this.middle, -1)).map((v) => v * this.look.zoom);
    return { eye: plus(this.middle, arm), right, up: turned(camera.up), forward: turned(camera.forward) };
  }

  draw(k, f) {
    const gl = this.gl;
    if (!gl) return "this browser has no WebGL 2: numbers only";
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(this.canvas.clientWidth * ratio), Math.round(this.canvas.clientHeight * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) [this.canvas.width, this.canvas.height] = [wide, high];
    gl.viewport(0, 0, wide, high);
    gl.clearColor(...rgb("stage"), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const camera = this.camera();
    const view = this.matrix(camera, wide / Math.max(high, 1));
    const upright = this.picture.floors[0]?.normal ?? camera.up;
    const lamp = unit(plus(plus(upright.map((v) => 1.0 * v), camera.right, -0.45), camera.forward, -0.45));
    const bodies = this.bodies(k, f);
    this.drawFloors(view);
    this.drawLines(view);
    gl.useProgram(this.body.program);
    const set = this.body.uniforms;
    gl.uniformMatrix4fv(set.view, false, view);
    gl.uniform3fv(set.lamp, lamp);
    gl.uniform3fv(set.eye, camera.eye);
    for (const floor of this.picture.floors.slice(0, 1)) this.drawShadows(bodies, floor);
    gl.enable(gl.DEPTH_TEST);
    gl.uniform1f(set.flatten, 0);
    const glass = new Set(this.picture.glass);
    for (const b of bodies) if (!glass.has(b.i)) this.drawBody(b, [...b.color, 1]);
    gl.depthMask(false);
    for (const b of bodies) if (glass.has(b.i)) this.drawBody(b, [...b.color, 0.3]);
    gl.depthMask(true);
    return k === 0 && f === 0 ? "drag to look around" : "";
  }

  bodies(k, f) {
    const { result, count, picture } = this;
    const next = Math.min(k + 1, result.time.length - 1);
    const mixed = (array, size, i) => Array.from({ length: size }, (_, c) => {
      const [a, b] = [array[(k * count + i) * size + c], array[(next * count + i) * size + c]];
      return a + f * (b - a);
    });
    return Array.from({ length: count }, (_, i) => ({
      i,
      place: mixed(result.position, 3, i),
      turn: unit(mixed(result.turn, 4, i)),
      mesh: this.meshes[picture.mesh[i]],
      color: (picture.free[i] ? this.data.colors.map[result.color[k * count + i]] : [200, 204, 211]).map((v) => v / 255),
    }));
  }

  drawBody(b, color) {
    const { gl, body: { uniforms: set } } = this;
    gl.uniform3fv(set.place, b.place);
    gl.uniform4fv(set.turn, b.turn);
    gl.uniform1f(set.size, b.mesh.size);
    gl.uniform4fv(set.color, color);
    gl.bindVertexArray(b.mesh.arrays);
    gl.drawArrays(gl.TRIANGLES, 0, b.mesh.count);
  }

  // Bodies pressed flat onto the floor, away from the lamp. The stencil lets each pixel darken only once.
  drawShadows(bodies, floor) {
    const { gl, body: { uniforms: set } } = this;
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.uniform1f(set.flatten, 1);
    gl.uniform4fv(set.ground, [...floor.normal, dot(floor.normal, floor.point)]);
    for (const b of bodies) this.drawBody(b, [0, 0, 0, 0.2]);
    gl.disable(gl.STENCIL_TEST);
  }

  drawFloors(view) {
    const { gl, floor: { program: used, uniforms: set } } = this;
    gl.disable(gl.DEPTH_TEST);
    gl.useProgram(used);
    gl.bindVertexArray(this.square);
    for (const { point, normal } of this.picture.floors) {
      const across = unit(cross(normal, Math.abs(normal[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
      const place = plus(this.middle, normal, dot(plus(point, this.middle, -1), normal));
      gl.uniformMatrix4fv(set.view, false, view);
      gl.uniform3fv(set.place, place);
      gl.uniform3fv(set.across, across);
      gl.uniform3fv(set.along, cross(normal, across));
      gl.uniform1f(set.reach, 1.6 * this.size);
      gl.uniform1f(set.spacing, 10 ** Math.round(Math.log10(0.12 * this.size)));
      gl.uniform4fv(set.color, [...rgb("ground"), 1]);
      gl.uniform4fv(set.line, [...rgb("line"), 1]);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  drawLines(view) {
    const { gl, lines: { program: used, uniforms: set } } = this;
    gl.useProgram(used);
    gl.uniformMatrix4fv(set.view, false, view);
    gl.uniform4fv(set.color, [...rgb("wall"), 1]);
    for (const { arrays, count } of this.edges) {
      gl.bindVertexArray(arrays);
      gl.drawArrays(gl.LINE_STRIP, 0, count);
    }
  }

  // Column-major. The camera was made for its own shape of picture; a narrower one sees as much across.
  matrix({ eye, right, up, forward }, aspect) {
    const { field, aspect: made } = this.picture.camera;
    const tall = aspect < made ? (field * made) / aspect : field;
    const depth = Math.hypot(...plus(eye, this.middle, -1));
    const [near, far] = [0.05 * depth, depth + 8 * this.size];
    const a = (far + near) / (far - near), b = (-2 * far * near) / (far - near);
    const rows = [right.map((v) => v / (tall * aspect)), up.map((v) => v / tall), forward];
    const shift = rows.map((row) => -dot(row, eye));
    return new Float32Array([0, 1, 2].flatMap((c) => [rows[0][c], rows[1][c], a * forward[c], forward[c]]).concat([shift[0], shift[1], a * shift[2] + b, shift[2]]));
  }
}

function rgb(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
}

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  const uniforms = {};
  for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
    const { name } = gl.getActiveUniform(made, k);
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { program: made, uniforms };
}

function vertexArray(gl, { program: used }, attributes) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  for (const [name, [values, size]] of Object.entries(attributes)) {
    const place = gl.getAttribLocation(used, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
    if (place < 0) continue;
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
  }
  return array;
}

// A unit sphere of triangles; its corners are its normals.
function sphere(rings = 20, slices = 36) {
  const at = (i, j) => {
    const [a, b] = [(Math.PI * i) / rings, (2 * Math.PI * j) / slices];
    return [Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)];
  };
  const points = [];
  for (let i = 0; i < rings; i++) {
    for (let j = 0; j < slices; j++) points.push(...at(i, j), ...at(i + 1, j), ...at(i + 1, j + 1), ...at(i, j), ...at(i + 1, j + 1), ...at(i, j + 1));
  }
  return [points, points];
}
