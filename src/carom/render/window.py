"""Which part of the plane a page shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..colouring import Floats
from ..contact.walls import walls_at
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, Walls, World
from .timeline import Timeline

SAMPLES = 80  # frames that are looked at
STRAY = 2.5  # what is farther out than so many times the distance of nine of ten is left out: it flew away
MARGIN = 0.05
NEAR = 1.0  # planes within so many sizes of the bodies are shown
SMOOTH = 0.08  # of the run's length: how slowly a camera that follows changes its way


@dataclass(frozen=True)
class Area:
    """The rectangle of a page, in pixels, in which the picture must fit; captions stand outside it."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Window:
    """The map from places to pixels: the point `centre` is at pixel `middle`, `scale` pixels are a length unit."""

    centre: tuple[float, float]
    middle: tuple[float, float]
    scale: float

    def pixels(self, places: Floats) -> Floats:
        """(..., 2) places as pixels, y downward."""
        out = np.empty(np.shape(places))
        out[..., 0] = self.middle[0] + self.scale * (places[..., 0] - self.centre[0])
        out[..., 1] = self.middle[1] - self.scale * (places[..., 1] - self.centre[1])
        return out

    def places(self, pixels: Floats) -> Floats:
        out = np.empty(np.shape(pixels))
        out[..., 0] = self.centre[0] + (pixels[..., 0] - self.middle[0]) / self.scale
        out[..., 1] = self.centre[1] - (pixels[..., 1] - self.middle[1]) / self.scale
        return out


def window_on(area: Area, centre: tuple[float, float], wide: float, tall: float) -> Window:
    """The largest picture within an area that shows a rectangle of the plane."""
    scale = min(area.width / wide, area.height / tall)
    return Window(centre, (area.left + 0.5 * area.width, area.top + 0.5 * area.height), scale)


def fitted(timeline: Timeline, area: Area, start: float, stop: float) -> Window:
    """What holds all that happens from start to stop; bodies that fly far away may leave the picture."""
    world = timeline.run.world
    places, radius = _samples(timeline, start, stop)
    flat, reach = places.reshape(-1, 2), np.tile(radius, len(places))
    kept = together(flat)
    low = (flat - reach[:, None])[kept].min(axis=0)
    high = (flat + reach[:, None])[kept].max(axis=0)
    for time in np.linspace(start, stop, 5):
        for point in _wall_points(walls_at(world, float(time), 1e-6)[0], low, high):
            low, high = np.minimum(low, point), np.maximum(high, point)
    if world.periodic is not None:
        for axis, side in enumerate(world.periodic.sides[:2]):
            if side is not None:
                low[axis], high[axis] = min(low[axis], side[0]), max(high[axis], side[1])
    return _framing(area, low, high)


def _framing(area: Area, low: Floats, high: Floats) -> Window:
    edge = MARGIN * float((high - low).max())
    wide, tall = (high - low + 2.0 * edge).tolist()
    centre = 0.5 * (low + high)
    return window_on(area, (float(centre[0]), float(centre[1])), wide or 1.0, tall or 1.0)


def together(places: Floats) -> NDArray[np.bool_]:
    """Which places (k, D) are not strays."""
    far = np.linalg.norm(places - np.median(places, axis=0), axis=1)
    return far <= STRAY * float(np.quantile(far, 0.9, method="higher"))


def _samples(timeline: Timeline, start: float, stop: float) -> tuple[Floats, Floats]:
    """Places (k, m, 2) of the free bodies, all if none is free, and their radii (m,)."""
    world = timeline.run.world
    free = world.free if world.free.any() else np.ones(world.count, bool)
    count = SAMPLES if stop > start else 1
    at = np.unique([timeline.nearest(t) for t in np.linspace(start, stop, count)])
    return np.stack([timeline.frame(int(k)).position[free] for k in at]), world.shapes.radius[free]


def _wall_points(walls: Walls, low: Floats, high: Floats) -> list[Floats]:
    """Points of boundaries that belong to the picture of what lies between low and high."""
    middle, size = 0.5 * (low + high), float((high - low).max())
    out: list[Floats] = []
    for k, kind in enumerate(walls.kind):
        a, b, r = walls.a[k], walls.b[k], walls.radius[k]
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
class Following:
    """A window that moves: smoothed places (k, 2) of what it follows, at times (k,)."""

    times: Floats
    way: Floats
    size: tuple[float, float]
    area: Area

    def at(self, time: float) -> Window:
        x, y = (float(np.interp(time, self.times, self.way[:, axis])) for axis in range(2))
        return window_on(self.area, (x, y), *self.size)


def following(timeline: Timeline, area: Area, body: int | None) -> Following:
    """A window of one size that follows a body, or the middle of all free bodies."""
    world, times = timeline.run.world, timeline.times
    free = world.free if world.free.any() else np.ones(world.count, bool)
    states = [timeline.frame(k).position for k in range(len(times))]
    way = np.stack([p[body] if body is not None else np.median(p[free], axis=0) for p in states])
    if body is None:
        way = _smoothed(way, times)
    chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
    arms = np.concatenate([states[k][free] - way[k] for k in chosen])
    if body is not None:
        size = max(24.0 * float(world.shapes.radius[body]), 2.0 * float(np.quantile(np.abs(arms), 0.25)))
        return Following(times, way, (size, size), area)
    kept = np.abs(arms[together(arms)]).max(axis=0) + float(world.shapes.radius[free].max())
    wide, tall = ((2.0 + 4.0 * MARGIN) * kept).tolist()
    return Following(times, way, (wide, tall), area)


def _smoothed(way: Floats, times: Floats) -> Floats:
    """Each point the mean of those within SMOOTH of the run's length, evenly to both sides."""
    count = max(1, int(SMOOTH * len(times)) // 2)
    out = np.empty_like(way)
    for k in range(len(way)):
        reach = min(count, k, len(way) - 1 - k)
        out[k] = way[k - reach : k + reach + 1].mean(axis=0)
    return out


def walls_of(world: World, time: float) -> Walls:
    """The boundaries of the plane at a time."""
    walls: Walls = walls_at(world, time, 1e-6)[0]
    return walls
