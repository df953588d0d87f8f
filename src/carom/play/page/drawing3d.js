// 3D drawing with three.js (version 0.170.0, license in three.LICENSE): bodies, the ground with its grid, shadows.
// Drag to rotate, use the wheel to zoom.

import { sameLife } from "/drawing2d.js";
import * as THREE from "/three.min.js";

const FIXED = [200, 204, 211]; // bodies that are not free
const GLASS = 0.3; // opacity of bodies that enclose others
const AMBIENT = 2.1, LAMP = 1.5; // intensities; pi is the light under which a surface has its own color
const FAR = 6; // radius of the ground, relative to the size of the scene
const CELL = 128; // pixels of the texture of one grid cell
const TILT = [-0.35, 1.1], ZOOM = [0.2, 3]; // limits of the view

const vector = (a) => new THREE.Vector3(...a);

export class Painter3D {
  constructor(canvas, data, index, redraw) {
    Object.assign(this, { canvas, data, result: data.results[index], picture: data.picture, count: data.bodies });
    try {
      this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    } catch {
      return; // no WebGL 2
    }
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.gl = this.renderer.getContext();
    const { eye, forward, low, high, upright } = this.picture.camera;
    this.upright = vector(upright);
    this.size = vector(high).sub(vector(low)).length();
    this.eye = vector(eye);
    const middle = vector(low).add(vector(high)).multiplyScalar(0.5);
    this.middle = this.eye.clone().addScaledVector(vector(forward), middle.sub(this.eye).dot(vector(forward)));
    this.look = { turn: 0, tilt: 0, zoom: 1 };
    this.scene = new THREE.Scene();
    this.scene.background = new THREE.Color();
    this.scene.fog = new THREE.Fog(0xffffff);
    this.camera = new THREE.PerspectiveCamera();
    this.addLights();
    this.addGround();
    this.addBodies();
    this.listen(redraw);
  }

  addLights() {
    const { right, forward } = this.picture.camera;
    const lamp = new THREE.DirectionalLight(0xffffff, LAMP);
    const toward = this.upright.clone().addScaledVector(vector(right), -0.45).addScaledVector(vector(forward), -0.45);
    lamp.position.copy(this.middle).addScaledVector(toward.normalize(), 2 * this.size);
    lamp.target.position.copy(this.middle);
    lamp.castShadow = true;
    lamp.shadow.mapSize.set(2048, 2048);
    lamp.shadow.radius = 3;
    const half = 0.7 * this.size;
    lamp.shadow.normalBias = 0.0006 * this.size; // about a pixel of the shadow map
    Object.assign(lamp.shadow.camera, { left: -half, right: half, bottom: -half, top: half, near: half, far: 4 * this.size });
    this.scene.add(lamp, lamp.target, new THREE.AmbientLight(0xffffff, AMBIENT));
  }

  addGround() {
    const { floors, edges } = this.picture;
    this.cell = new THREE.CanvasTexture(Object.assign(document.createElement("canvas"), { width: CELL, height: CELL }));
    this.cell.colorSpace = THREE.SRGBColorSpace;
    this.cell.wrapS = this.cell.wrapT = THREE.RepeatWrapping;
    this.cell.anisotropy = this.renderer.capabilities.getMaxAnisotropy();
    this.cell.repeat.setScalar((2 * FAR * this.size) / 10 ** Math.round(Math.log10(0.12 * this.size)));
    this.edges = new THREE.LineBasicMaterial();
    const ground = new THREE.MeshLambertMaterial({ map: this.cell });
    for (const { point, normal } of floors) {
      const disc = new THREE.Mesh(new THREE.CircleGeometry(FAR * this.size, 96), ground);
      disc.receiveShadow = true;
      disc.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vector(normal));
      const height = vector(point).sub(this.middle).dot(vector(normal));
      disc.position.copy(this.middle).addScaledVector(vector(normal), height);
      this.scene.add(disc);
    }
    for (const line of edges) this.scene.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(line.map(vector)), this.edges));
  }

  // One instanced mesh per shape; bodies that enclose others have a transparent one.
  addBodies() {
    const { meshes, mesh, glass } = this.picture;
    const transparent = new Set(glass);
    this.batches = [];
    meshes.forEach((shape, number) => {
      const geometry = shape.sphere === undefined ? surface(shape.triangles) : new THREE.SphereGeometry(shape.sphere, 40, 24);
      for (const clear of [false, true]) {
        const bodies = mesh.flatMap((m, i) => (m === number && transparent.has(i) === clear ? [i] : []));
        if (!bodies.length) continue;
        const look = clear ? { transparent: true, opacity: GLASS, depthWrite: false } : {};
        const batch = new THREE.InstancedMesh(geometry, new THREE.MeshPhongMaterial({ shininess: 24, specular: 0x222222, ...look }), bodies.length);
        batch.castShadow = !clear;
        batch.receiveShadow = !clear;
        batch.frustumCulled = false;
        this.batches.push({ batch, bodies });
        this.scene.add(batch);
      }
    });
  }

  listen(redraw) {
    const { canvas, look } = this;
    let last = null;
    canvas.addEventListener("pointerdown", (event) => { last = event; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { last = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return;
      look.turn -= 0.008 * (event.clientX - last.clientX);
      look.tilt = THREE.MathUtils.clamp(look.tilt + 0.006 * (event.clientY - last.clientY), ...TILT);
      last = event;
      redraw();
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      look.zoom = THREE.MathUtils.clamp(look.zoom * Math.exp(0.001 * event.deltaY), ...ZOOM);
      redraw();
    }, { passive: false });
  }

  // Draws frame `k`, interpolated by the fraction `f` toward the next one.
  draw(k, f) {
    if (!this.renderer) return "this browser has no WebGL 2: numbers only";
    this.moveCamera();
    this.moveBodies(k, f);
    this.useTheme();
    this.renderer.render(this.scene, this.camera);
    return k === 0 && f === 0 ? "drag to rotate" : "";
  }

  // The colors of the page, light or dark. One cell of the grid is a texture that repeats.
  useTheme() {
    const [stage, ground, line, wall] = ["stage", "ground", "line", "wall"].map(css);
    if (this.stage === stage) return;
    this.stage = stage;
    this.scene.background.set(stage);
    this.scene.fog.color.set(stage);
    this.edges.color.set(wall);
    const context = this.cell.image.getContext("2d");
    context.fillStyle = line;
    context.fillRect(0, 0, CELL, CELL);
    context.fillStyle = ground;
    context.fillRect(2, 2, CELL - 4, CELL - 4);
    this.cell.needsUpdate = true;
  }

  // The camera after dragging: turned about the upward axis, then tilted. A window narrower than the picture for which
  // the camera was made shows as much across.
  moveCamera() {
    const { camera, canvas, look, renderer, picture: { camera: { right, field, aspect: made } } } = this;
    const [wide, high] = [canvas.clientWidth, Math.max(canvas.clientHeight, 1)];
    renderer.setPixelRatio(window.devicePixelRatio || 1);
    renderer.setSize(wide, high, false);
    const arm = this.eye.clone().sub(this.middle).applyAxisAngle(this.upright, look.turn).multiplyScalar(look.zoom);
    arm.applyAxisAngle(vector(right).applyAxisAngle(this.upright, look.turn), -look.tilt);
    const far = arm.length();
    camera.aspect = wide / high;
    camera.fov = 2 * THREE.MathUtils.radToDeg(Math.atan(camera.aspect < made ? (field * made) / camera.aspect : field));
    [camera.near, camera.far] = [0.05 * far, far + 2 * FAR * this.size];
    [this.scene.fog.near, this.scene.fog.far] = [far + 0.5 * this.size, far + 2.5 * this.size];
    camera.up.copy(this.upright);
    camera.position.copy(this.middle).add(arm);
    camera.lookAt(this.middle);
    camera.updateProjectionMatrix();
  }

  moveBodies(k, f) {
    const { count, data, result, picture } = this;
    const next = Math.min(k + 1, result.time.length - 1);
    const mixed = (array, size, i) => Array.from({ length: size }, (_, c) => {
      const [a, b] = [array[(k * count + i) * size + c], array[(next * count + i) * size + c]];
      const near = Math.abs(b - a) < 0.5 * this.size; // across a periodic side bodies jump
      return near && sameLife(result, k * count + i, next * count + i) ? a + f * (b - a) : a;
    });
    const [matrix, color, one] = [new THREE.Matrix4(), new THREE.Color(), new THREE.Vector3(1, 1, 1)];
    for (const { batch, bodies } of this.batches) {
      bodies.forEach((i, n) => {
        const [w, x, y, z] = mixed(result.turn, 4, i);
        batch.setMatrixAt(n, matrix.compose(vector(mixed(result.position, 3, i)), new THREE.Quaternion(x, y, z, w).normalize(), one));
        const [r, g, b] = picture.free[i] ? data.colors.map[result.color[k * count + i]] : FIXED;
        batch.setColorAt(n, color.setRGB(r / 255, g / 255, b / 255, THREE.SRGBColorSpace));
      });
      batch.instanceMatrix.needsUpdate = batch.instanceColor.needsUpdate = true;
    }
  }
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Triangles that share no corners have flat faces.
function surface(triangles) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(triangles, 3));
  geometry.computeVertexNormals();
  return geometry;
}
