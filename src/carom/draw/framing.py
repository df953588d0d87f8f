"""Which part of the plane a page shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, Boundaries, World
from .colors import Floats
from .timeline import Timeline

SAMPLES = 80  # frames that are looked at
STRAY, FEW_STRAY = 1.6, 6.0  # if anything is farther out than so many times the distance of nine of ten,
KEPT = 1.3  # only what is within so many times that distance is kept in the picture
MANY = 10  # bodies: with fewer each one counts, and FEW_STRAY holds
MARGIN = 0.05
BELOW = 0.16  # of the picture's height: what is shown below the ground where there is room to spare
NEAR = 1.0  # planes within so many sizes of the bodies are shown
SMOOTH = 0.05  # of the run's length, to both sides: how slowly a camera that moves changes its way


@dataclass(frozen=True)
class Area:
    """The rectangle of a page, in pixels, in which the picture must fit; captions stand outside it."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Window:
    """The map from places to pixels: the point `center` is at pixel `middle`, `scale` pixels are a length unit."""

    center: tuple[float, float]
    middle: tuple[float, float]
    scale: float

    def pixels(self, places: Floats) -> Floats:
        """(..., 2) places as pixels, y downward."""
        out = np.empty(np.shape(places))
        out[..., 0] = self.middle[0] + self.scale * (places[..., 0] - self.center[0])
        out[..., 1] = self.middle[1] - self.scale * (places[..., 1] - self.center[1])
        return out

    def places(self, pixels: Floats) -> Floats:
        out = np.empty(np.shape(pixels))
        out[..., 0] = self.center[0] + (pixels[..., 0] - self.middle[0]) / self.scale
        out[..., 1] = self.center[1] - (pixels[..., 1] - self.middle[1]) / self.scale
        return out


def window_on(area: Area, center: tuple[float, float], wide: float, tall: float) -> Window:
    """The largest picture within an area that shows a rectangle of the plane."""
    scale = min(area.width / wide, area.height / tall)
    return Window(center, (area.left + 0.5 * area.width, area.top + 0.5 * area.height), scale)


def fitted(timeline: Timeline, area: Area, start: float, stop: float, everything: bool = False) -> Window:
    """What holds all that happens from start to stop; unless `everything`, bodies that fly away leave the picture."""
    world = timeline.run.world
    places, radius = _samples(timeline, start, stop)
    flat, reach = places.reshape(-1, 2), np.tile(radius, len(places))
    kept = np.ones(len(flat), bool) if everything else together(flat, len(radius), area.width / area.height)
    low = (flat - reach[:, None])[kept].min(axis=0)
    high = (flat + reach[:, None])[kept].max(axis=0)
    floor = None
    for time in np.linspace(start, stop, 5):
        walls = walls_of(world, float(time))
        for point in _wall_points(walls, low, high):
            low, high = np.minimum(low, point), np.maximum(high, point)
        floor = _floor(world, walls, low, high)
    if world.periodic is not None:
        for axis, side in enumerate(world.periodic.sides[:2]):
            if side is not None:
                low[axis], high[axis] = min(low[axis], side[0]), max(high[axis], side[1])
    return _framing(area, low, high, floor)


def _framing(area: Area, low: Floats, high: Floats, floor: float | None) -> Window:
    edge = MARGIN * float((high - low).max())
    wide, tall = (high - low + 2.0 * edge).tolist()
    x, y = (0.5 * (low + high)).tolist()
    window = window_on(area, (x, y), wide or 1.0, tall or 1.0)
    shown = area.height / window.scale
    if floor is not None and shown > tall:  # room to spare goes above the ground, not below
        y = max(y, floor + (0.5 - BELOW) * shown)
    return Window((x, y), window.middle, window.scale)


def _floor(world: World, walls: Boundaries, low: Floats, high: Floats) -> float | None:
    """The height of a level plane on which gravity pulls the bodies, if it is in the picture."""
    if not world.gravity[1] < 0.0:
        return None
    level = (walls.kind == PLANE) & (walls.axis[:, 1] > 0.99)
    heights = walls.point[level, 1]
    heights = heights[(heights >= low[1] - 1e-9) & (heights <= high[1])]
    return float(heights.max()) if len(heights) else None


def together(places: Floats, bodies: int, aspect: float = 1.0) -> NDArray[np.bool_]:
    """Which places (k, D), of so many bodies at several times, belong in the picture.

    All, unless the farthest are much farther out than nine of ten: what flew away would make the rest too small to
    see. With few bodies each one counts, and may go farther.
    """
    arms = np.abs(places - np.median(places, axis=0))
    if arms.shape[1] == 2:
        arms[:, 0] /= aspect
    far = arms.max(axis=1)
    usual = float(np.quantile(far, 0.9, method="higher"))
    if far.max() <= (STRAY if bodies >= MANY else FEW_STRAY) * usual:
        return np.ones(len(places), bool)
    return far <= KEPT * usual


def _samples(timeline: Timeline, start: float, stop: float) -> tuple[Floats, Floats]:
    """Places (k, m, 2) of the free bodies, all if none is free, and their radii (m,)."""
    world = timeline.run.world
    free = world.free if world.free.any() else np.ones(world.count, bool)
    count = SAMPLES if stop > start else 1
    at = np.unique([timeline.nearest(t) for t in np.linspace(start, stop, count)])
    return np.stack([timeline.frame(int(k)).position[free] for k in at]), world.shapes.radius[free]


def _wall_points(walls: Boundaries, low: Floats, high: Floats) -> list[Floats]:
    """Points of boundaries that belong to the picture of what lies between low and high."""
    middle, size = 0.5 * (low + high), float((high - low).max())
    out: list[Floats] = []
    for k, kind in enumerate(walls.kind):
        a, b, r = walls.point[k], walls.axis[k], walls.radius[k]
        if kind in (INSIDE, OUTSIDE):
            if r <= 3.0 * size:
                out += [a - r, a + r]
        elif kind == SEGMENT:
            if min(np.abs(a - middle).max(), np.abs(b - middle).max()) <= 3.0 * size:
                out += [a, b]
        elif kind == PLANE:
            apart = float((middle - a) @ b)
            if abs(apart) <= (0.5 + NEAR) * size:
                out.append(middle - apart * b)
    return out


@dataclass(frozen=True, eq=False)
class Moving:
    """A window that moves: its centers (k, 2) and sizes (k, 2) at times (k,)."""

    times: Floats
    center: Floats
    size: Floats
    area: Area

    def at(self, time: float) -> Window:
        x, y, wide, tall = (float(np.interp(time, self.times, column)) for column in (*self.center.T, *self.size.T))
        return window_on(self.area, (x, y), wide, tall)


def following(timeline: Timeline, area: Area, body: int | None) -> Moving:
    """A window of one size that follows a body, or the middle of all free bodies."""
    world, times = timeline.run.world, timeline.times
    free = world.free if world.free.any() else np.ones(world.count, bool)
    states = [timeline.frame(k).position for k in range(len(times))]
    way = np.stack([p[body] if body is not None else np.median(p[free], axis=0) for p in states])
    chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
    if body is not None:
        arms = np.concatenate([states[k][free] - way[k] for k in chosen])
        usual = max(24.0 * float(world.shapes.radius[body]), 2.0 * float(np.quantile(np.abs(arms), 0.25)))
        return Moving(times, way, np.full((len(times), 2), usual), area)
    way = _smoothed(way)
    arms = np.concatenate([states[k][free] - way[k] for k in chosen])
    kept = together(arms, int(free.sum()), area.width / area.height)
    reach = np.abs(arms[kept]).max(axis=0) + float(world.shapes.radius[free].max())
    return Moving(times, way, np.tile((2.0 + 4.0 * MARGIN) * reach, (len(times), 1)), area)


def zooming(timeline: Timeline, area: Area, start: float, stop: float) -> Moving:
    """A window that shows what holds the bodies at each time, and draws back as they spread; it never comes nearer."""
    times = np.linspace(start, stop, SAMPLES if stop > start else 1)
    windows = [fitted(timeline, area, float(t), float(t), everything=True) for t in times]
    scale = np.minimum.accumulate([w.scale for w in windows])
    center = _smoothed(np.array([w.center for w in windows]))
    size = np.array([area.width, area.height]) / _smoothed(scale[:, None])
    return Moving(times, center, size, area)


def _smoothed(way: Floats) -> Floats:
    """Each row the mean of those within SMOOTH of the whole length, evenly to both sides."""
    count = max(1, int(SMOOTH * len(way)))
    out = np.empty_like(way)
    for k in range(len(way)):
        reach = min(count, k, len(way) - 1 - k)
        out[k] = way[k - reach : k + reach + 1].mean(axis=0)
    return out


def walls_of(world: World, time: float) -> Boundaries:
    """The boundaries of the plane at a time."""
    walls: Boundaries = boundaries_at(world, time, 1e-6)[0]
    return walls
