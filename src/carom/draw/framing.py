"""What a picture shows: the extent of a world over some frames, and the window or camera that shows it.

One rule serves stills, films, figures, the viewer and the play page. A picture shows all free bodies, except a few that
have flown much farther than the others, and the boundaries near them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at
from ..scene.boundaries import Periodic
from ..scene.model import Scene
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, Boundaries, State, World
from .camera import FIELD, Camera, CameraOption3D, level_axes, looking_at, upward
from .colors import Floats
from .timeline import Timeline
from .world3d import container_tops, edges

# Distances from the median position, in units of the distance that nine of ten bodies do not exceed.
STRAY, FEW_STRAY = 4.0, 6.0  # if the farthest body is beyond this, the far ones are left out and counted
KEPT = 1.3  # then bodies up to here are kept
EVERYTHING = np.inf
MANY = 10  # with fewer bodies every one counts, and FEW_STRAY holds

SAMPLES_2D, SAMPLES_3D = 80, 24  # frames that are examined
TRAIL_SAMPLES = 400  # the same for pictures with trails, which must not leave the picture between two samples
BOUNDARY_TIMES = 5  # instants at which moving boundaries are examined
MARGIN, MARGIN_3D = 0.05, 0.04  # relative to the size of the picture
BELOW = 0.16  # of the height of a 2D picture: what is shown below the ground where there is room to spare
NEAR_PLANE = 1.0  # 2D planes within this many sizes of the bodies are shown
NEAR_ROUND = 3.0  # circles, segments and 3D boundaries within this many sizes are shown
SMOOTH = 0.05  # of the length of a run, to both sides: over this a moving camera is averaged


@dataclass(frozen=True, eq=False)
class Extent:
    """Spheres (circles in 2D) that a picture must show: centers (k, D) and radii (k,)."""

    centers: Floats
    radii: Floats

    @property
    def low(self) -> Floats:
        return np.asarray((self.centers - self.radii[:, None]).min(axis=0))

    @property
    def high(self) -> Floats:
        return np.asarray((self.centers + self.radii[:, None]).max(axis=0))

    @property
    def size(self) -> Floats:
        return self.high - self.low

    @property
    def middle(self) -> Floats:
        return 0.5 * (self.low + self.high)


def united(extents: Sequence[Extent]) -> Extent:
    return Extent(np.concatenate([e.centers for e in extents]), np.concatenate([e.radii for e in extents]))


def together(places: Floats, bodies: int, aspect: float = 1.0, stray: float = STRAY) -> NDArray[np.bool_]:
    """Which places (k, D), of `bodies` bodies at several instants, belong into a picture of this aspect ratio.

    All of them, unless the farthest are `stray` times farther out than nine of ten: a body that flies away would make
    the others too small to see.
    """
    arms = np.abs(places - np.median(places, axis=0))
    if arms.shape[1] == 2:
        arms[:, 0] /= aspect
    far = arms.max(axis=1)
    usual = float(np.quantile(far, 0.9, method="higher"))
    if far.max() <= (stray if bodies >= MANY else max(stray, FEW_STRAY)) * usual or stray == EVERYTHING:
        return np.ones(len(places), bool)
    return far <= KEPT * usual


def free_or_all(free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The free bodies; if none is free, all."""
    return free if free.any() else np.ones(len(free), bool)


# ---- extents


def extent_2d(
    places: Floats,
    radius: Floats,
    boundaries: Iterable[Boundaries],
    periodic: Periodic | None = None,
    aspect: float = 1.0,
    stray: float = STRAY,
) -> Extent:
    """The extent of bodies at places (k, m, 2) at k instants, with radii (m,), and of the boundaries near them."""
    flat, reach = places.reshape(-1, 2), np.tile(radius, len(places))
    finite = np.isfinite(flat).all(axis=1)
    flat, reach = flat[finite], reach[finite]
    kept = together(flat, len(radius), aspect, stray)
    low, high = (flat - reach[:, None])[kept].min(axis=0), (flat + reach[:, None])[kept].max(axis=0)
    for found in boundaries:
        for point in _boundary_points(found, low, high):
            low, high = np.minimum(low, point), np.maximum(high, point)
    for axis, side in enumerate(periodic.sides[:2] if periodic is not None else ()):
        if side is not None:
            low[axis], high[axis] = min(low[axis], side[0]), max(high[axis], side[1])
    return Extent(np.stack([low, high]), np.zeros(2))


def with_anchors(extent: Extent, world: World) -> Extent:
    """The extent with the points to which joints are fixed: the bar of a cradle belongs into its picture."""
    if world.joints is None:
        return extent
    points = world.joints.fixed_points(world.dimension)
    return Extent(np.concatenate([extent.centers, points]), np.concatenate([extent.radii, np.zeros(len(points))]))


def _boundary_points(boundaries: Boundaries, low: Floats, high: Floats) -> list[Floats]:
    """Points of 2D boundaries that belong into a picture of the rectangle from `low` to `high`."""
    middle, size = 0.5 * (low + high), float((high - low).max())
    out: list[Floats] = []
    for k, kind in enumerate(boundaries.kind):
        a, b, r = boundaries.point[k], boundaries.axis[k], boundaries.radius[k]
        if kind in (INSIDE, OUTSIDE):
            if r <= NEAR_ROUND * size:
                out += [a - r, a + r]
        elif kind == SEGMENT:
            if min(np.abs(a - middle).max(), np.abs(b - middle).max()) <= NEAR_ROUND * size:
                out += [a, b]
        elif kind == PLANE:
            apart = float((middle - a) @ b)
            if abs(apart) <= (0.5 + NEAR_PLANE) * size:
                out.append(middle - apart * b)
    return out


def visible_places(states: Sequence[State]) -> Floats:
    """Positions (k, n, D) in some states; absent bodies are at the center of those that are present."""
    places = np.stack([state.position for state in states])
    there = np.stack([state.present for state in states])
    if there.all() or not there.any():
        return places
    usual = places[there].mean(axis=0)
    for place, mask in zip(places, there):
        place[~mask] = place[mask].mean(axis=0) if mask.any() else usual
    return places


def extent_3d(world: World, states: Sequence[State], scene: Scene | None = None, stray: float = STRAY) -> Extent:
    """The extent of bodies and near boundaries in some states of a 3D world; `scene` tells the tops of containers."""
    states = [s for s in states if np.isfinite(s.position).all()] or list(states[:1])
    states = [replace(state, position=place) for state, place in zip(states, visible_places(states))]
    free = free_or_all(world.free)
    kept = np.ones((len(states), world.count), bool)
    near = together(np.concatenate([s.position[free] for s in states]), int(free.sum()), stray=stray)
    kept[:, free] = near.reshape(len(states), -1)
    kept[~kept.any(axis=1)] = True  # a state in which no body is near
    return with_anchors(united([_extent_at(world, state, mask, scene) for state, mask in zip(states, kept)]), world)


def _extent_at(world: World, state: State, kept: NDArray[np.bool_], scene: Scene | None) -> Extent:
    boundaries = boundaries_at(world, state.time, 1e-6)[0]
    place, radius = state.position[kept], world.shapes.radius[kept]
    low, high = (place - radius[:, None]).min(axis=0), (place + radius[:, None]).max(axis=0)
    size, up = 0.5 * float(np.linalg.norm(high - low)), upward(world.gravity)
    points = np.concatenate(
        [_room_points(boundaries, low, high, up, container_tops(scene, state.time)), _below(boundaries, low, high, up)]
    )
    shells = (boundaries.kind == INSIDE) & (boundaries.radius <= NEAR_ROUND * size)
    centers = np.concatenate([place, points, boundaries.point[shells]])
    return Extent(centers, np.concatenate([radius, np.zeros(len(points)), boundaries.radius[shells]]))


def _below(boundaries: Boundaries, low: Floats, high: Floats, up: Floats) -> Floats:
    """Projections (k, 3) of the corners of the box around the bodies onto a ground near them, where shadows lie."""
    corners = np.array([[v[k] for k, v in zip(range(3), pick)] for pick in itertools.product((low, high), repeat=3)])
    found = [np.zeros((0, 3))]
    for k in np.flatnonzero((boundaries.kind == PLANE) & (boundaries.axis @ up > 0.5)):
        apart = (corners - boundaries.point[k]) @ boundaries.axis[k] / float(boundaries.axis[k] @ up)
        if apart.max() >= 0.0 and apart.min() <= 0.6 * float(np.linalg.norm(high - low)):
            found.append(corners - apart[:, None] * up)
    return np.concatenate(found)


def _room_points(boundaries: Boundaries, low: Floats, high: Floats, up: Floats, tops: Floats) -> Floats:
    """Points (k, 3) of edges, tubes and container tops that are near the box from `low` to `high`."""
    middle, size = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    found = edges(boundaries, middle - 1e3 * size, middle + 1e3 * size, up)
    for k in np.flatnonzero(boundaries.kind == TUBE):
        axis, r = boundaries.axis[k], float(boundaries.radius[k])
        at = boundaries.point[k] + ((middle - boundaries.point[k]) @ axis) * axis
        across, ahead, _ = level_axes(axis)
        found += [at + r * np.array([across, -across, ahead, -ahead])]
    points = np.concatenate([np.zeros((0, 3)), *found, tops])
    return points[np.linalg.norm(points - middle, axis=1) <= NEAR_ROUND * size]


# ---- windows: 2D


@dataclass(frozen=True)
class Area:
    """The rectangle of a page, in pixels, that the picture fills; the caption lies outside it."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Window:
    """A map from points to pixels: the point `center` is at pixel `middle`; `scale` is in pixels per length unit."""

    center: tuple[float, float]
    middle: tuple[float, float]
    scale: float

    def pixels(self, places: Floats) -> Floats:
        """Points (..., 2) as pixels, y downward."""
        out = np.empty(np.shape(places))
        out[..., 0] = self.middle[0] + self.scale * (places[..., 0] - self.center[0])
        out[..., 1] = self.middle[1] - self.scale * (places[..., 1] - self.center[1])
        return out

    def places(self, pixels: Floats) -> Floats:
        """Pixels (..., 2) as points, the inverse of `pixels`."""
        out = np.empty(np.shape(pixels))
        out[..., 0] = self.center[0] + (pixels[..., 0] - self.middle[0]) / self.scale
        out[..., 1] = self.center[1] - (pixels[..., 1] - self.middle[1]) / self.scale
        return out


def window_on(area: Area, center: tuple[float, float], wide: float, tall: float) -> Window:
    """The largest window within an area that shows a rectangle of `wide` x `tall` about `center`."""
    scale = min(area.width / wide, area.height / tall)
    return Window(center, (area.left + 0.5 * area.width, area.top + 0.5 * area.height), scale)


def fitted(
    timeline: Timeline, area: Area, start: float, stop: float, everything: bool = False, samples: int = SAMPLES_2D
) -> Window:
    """The window that shows what happens from `start` to `stop`, without stray bodies unless `everything`."""
    world = timeline.run.world
    free = free_or_all(world.free)
    places = visible_places(_sampled(timeline, start, stop, samples))[:, free]
    boundaries = [boundaries_at(world, float(t), 1e-6)[0] for t in np.linspace(start, stop, BOUNDARY_TIMES)]
    stray = EVERYTHING if everything else STRAY
    aspect = area.width / area.height
    extent = with_anchors(
        extent_2d(places, world.shapes.radius[free], boundaries, world.periodic, aspect, stray), world
    )
    low, high = extent.low, extent.high
    edge = MARGIN * float((high - low).max())
    wide, tall = (high - low + 2.0 * edge).tolist()
    x, y = extent.middle.tolist()
    window = window_on(area, (x, y), wide or 1.0, tall or 1.0)
    shown = area.height / window.scale
    ground = _ground_height(world, boundaries[-1], low, high)
    if ground is not None and shown > tall:  # room to spare goes above the ground, not below
        y = max(y, ground + (0.5 - BELOW) * shown)
    return Window((x, y), window.middle, window.scale)


def _ground_height(world: World, boundaries: Boundaries, low: Floats, high: Floats) -> float | None:
    """The height of the ground, if gravity acts downward and the ground is in the picture."""
    if not world.gravity[1] < 0.0:
        return None
    level = (boundaries.kind == PLANE) & (boundaries.axis[:, 1] > 0.99)
    heights = boundaries.point[level, 1]
    heights = heights[(heights >= low[1] - 1e-9) & (heights <= high[1])]
    return float(heights.max()) if len(heights) else None


def _sampled(timeline: Timeline, start: float, stop: float, count: int) -> list[State]:
    """At most `count` recorded states from `start` to `stop`."""
    times = np.linspace(start, stop, count if stop > start else 1)
    return [timeline.frame(k) for k in np.unique([timeline.nearest(t) for t in times]).tolist()]


@dataclass(frozen=True, eq=False)
class MovingWindow:
    """A window that moves: its centers (k, 2) and sizes (k, 2) at times (k,), interpolated linearly."""

    times: Floats
    center: Floats
    size: Floats
    area: Area

    def at(self, time: float) -> Window:
        x, y, wide, tall = (float(np.interp(time, self.times, column)) for column in (*self.center.T, *self.size.T))
        return window_on(self.area, (x, y), wide, tall)


def following(timeline: Timeline, area: Area, body: int | None) -> MovingWindow:
    """A window of constant size that follows one body, or the median position of all free bodies."""
    world, times = timeline.run.world, timeline.times
    free = free_or_all(world.free)
    positions = list(visible_places([timeline.frame(k) for k in range(len(times))]))
    path = np.stack([p[body] if body is not None else np.median(p[free], axis=0) for p in positions])
    chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES_2D).round().astype(int))
    if body is not None:
        arms = np.concatenate([positions[k][free] - path[k] for k in chosen])
        usual = max(24.0 * float(world.shapes.radius[body]), 2.0 * float(np.quantile(np.abs(arms), 0.25)))
        return MovingWindow(times, path, np.full((len(times), 2), usual), area)
    path = _smoothed(path)
    arms = np.concatenate([positions[k][free] - path[k] for k in chosen])
    kept = together(arms, int(free.sum()), area.width / area.height)
    reach = np.abs(arms[kept]).max(axis=0) + float(world.shapes.radius[free].max())
    return MovingWindow(times, path, np.tile((2.0 + 4.0 * MARGIN) * reach, (len(times), 1)), area)


def zooming(timeline: Timeline, area: Area, start: float, stop: float) -> MovingWindow:
    """A window that shows all bodies at each instant. Its scale never grows."""
    times = np.linspace(start, stop, SAMPLES_2D if stop > start else 1)
    windows = [fitted(timeline, area, float(t), float(t), everything=True) for t in times]
    scale = np.minimum.accumulate([w.scale for w in windows])
    center = _smoothed(np.array([w.center for w in windows]))
    size = np.array([area.width, area.height]) / _smoothed(scale[:, None])
    return MovingWindow(times, center, size, area)


def _smoothed(path: Floats) -> Floats:
    """The moving average of rows over SMOOTH of the length to both sides, symmetric at the ends."""
    count = max(1, int(SMOOTH * len(path)))
    out = np.empty_like(path)
    for k in range(len(path)):
        reach = min(count, k, len(path) - 1 - k)
        out[k] = path[k - reach : k + reach + 1].mean(axis=0)
    return out


# ---- cameras: 3D


@dataclass(frozen=True, eq=False)
class Shot:
    """The camera of a film: at rest, or turning about the upward axis through `target`."""

    camera: Camera
    target: Floats  # (3,)
    up: Floats  # (3,)
    turn: float  # radians per unit of time
    start: float

    def at(self, time: float) -> Camera:
        if not self.turn:
            return self.camera
        return _turned(self.camera, self.target, self.up, self.turn * (time - self.start))


def shot(
    timeline: Timeline,
    asked: CameraOption3D,
    aspect: float,
    span: tuple[float, float],
    speed: float,
    samples: int = SAMPLES_3D,
) -> Shot:
    """A camera that sees what happens in a span of time; `speed` is in units of time per second of the film."""
    world = timeline.run.world
    up = upward(world.gravity)
    stray = EVERYTHING if asked.everything else STRAY
    extent = extent_3d(world, _sampled(timeline, *span, samples), timeline.run.scene, stray)
    camera = looking_at(extent.centers, extent.radii, up, asked.azimuth, asked.elevation, aspect, MARGIN_3D)
    target = extent.middle if asked.target is None else np.array(asked.target)
    if asked.distance is not None or asked.target is not None:
        camera = _placed(camera, target, asked.distance, extent)
    if asked.turn and asked.distance is None:
        camera = _wide_enough(camera, target, extent, up)
    return Shot(camera, target, up, np.radians(asked.turn) / speed, span[0])


def _placed(camera: Camera, target: Floats, distance: float | None, extent: Extent) -> Camera:
    """The camera at a distance from a target; by default at the least distance from which everything is seen."""
    if distance is None:
        arm = extent.centers - target
        across = np.hypot(arm @ camera.right / camera.aspect, arm @ camera.up) + extent.radii
        distance = float((across / FIELD - arm @ camera.forward).max())
    return replace(camera, eye=target - distance * camera.forward)


def _wide_enough(camera: Camera, target: Floats, extent: Extent, up: Floats) -> Camera:
    """The camera moved back until everything is seen from every side."""
    arm = extent.centers - target
    height = arm @ up
    level = np.linalg.norm(arm - height[:, None] * up, axis=1) + extent.radii
    tilt = abs(float(camera.forward @ up))
    tall = np.abs(height) * np.sqrt(1.0 - tilt * tilt) + level * tilt + extent.radii
    far = max(float((level / (FIELD * camera.aspect)).max()), float((tall / FIELD).max())) + float(level.max())
    return replace(camera, eye=target - far * camera.forward)


def _turned(camera: Camera, target: Floats, up: Floats, angle: float) -> Camera:
    basis = np.stack(level_axes(up))
    cos, sin = np.cos(angle), np.sin(angle)
    turn = basis.T @ np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ basis
    eye = target + turn @ (camera.eye - target)
    return replace(camera, eye=eye, right=turn @ camera.right, up=turn @ camera.up, forward=turn @ camera.forward)
