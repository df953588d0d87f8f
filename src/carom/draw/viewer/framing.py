"""What a page shows of its runs: one box in the run's own lengths, and the lengths of the page that it becomes.

The page's lengths are those in which its lights, shadows and clipping work: everything fits a sphere of radius 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contact.boundaries import boundaries_at
from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, SEGMENT
from ..camera import FIELD, level_axes, looking_at, upward
from ..containers import container_tops
from ..raycast.picture import extent
from .frames import Frames

SIZE = 2.0  # radius of the sphere, in lengths of the page
SAMPLES = 24  # frames that are looked at
OUTER = 0.02  # part of many bodies, at each side, that may leave the picture
GROWTH = 1.2  # how far the picture may grow beyond the start, in its size, for what flies away
FLAT_FIELD = 0.05  # tangent of half the angle of view on the plane: hardly any perspective
MARGIN = 1.08
ASPECT = 1.35  # of a window that has not told yet


@dataclass(frozen=True, eq=False)
class Box:
    """A part of the run's plane or space, with spheres (k, 3) and (k,) that must be seen."""

    dimension: int
    low: Floats  # (3,)
    high: Floats
    centers: Floats
    radii: Floats
    up: Floats  # (3,)

    @property
    def middle(self) -> Floats:
        return 0.5 * (self.low + self.high)

    @property
    def size(self) -> Floats:
        return self.high - self.low


@dataclass(frozen=True, eq=False)
class View:
    """Where a camera stands, in lengths of the page."""

    eye: Floats
    target: Floats
    up: Floats
    angle: float  # vertical angle of view, radians


def box_of(frames: Frames) -> Box:
    """All that happens in a run, within reason."""
    count = len(frames.times)
    chosen = np.unique(np.linspace(0, count - 1, min(SAMPLES, count)).round().astype(int)).tolist()
    return _box_of_space(frames, chosen) if frames.run.dimension == 3 else _box_of_plane(frames, chosen)


def united(boxes: list[Box]) -> Box:
    """One box for all of them, so that runs side by side are seen alike."""
    low, high = np.min([b.low for b in boxes], axis=0), np.max([b.high for b in boxes], axis=0)
    centers, radii = np.concatenate([b.centers for b in boxes]), np.concatenate([b.radii for b in boxes])
    return Box(boxes[0].dimension, low, high, centers, radii, boxes[0].up)


def outgrown(box: Box, by: Box) -> bool:
    """Whether another box reaches well beyond this one."""
    slack = 0.15 * float(box.size.max())
    return bool((by.low < box.low - slack).any() or (by.high > box.high + slack).any())


# ---- the plane


def _box_of_plane(frames: Frames, chosen: list[int]) -> Box:
    geometry = frames.run.geometry
    radius = geometry["radius"]
    low, high = _reach(frames.at(0).position, radius, all_of_them=True)
    grown = GROWTH * float((high - low).max())
    least, most = low - grown, high + grown
    for i in chosen[1:]:
        one, two = _reach(frames.at(i).position, radius)
        low, high = np.minimum(low, np.maximum(one, least)), np.maximum(high, np.minimum(two, most))
    walls = _wall_points(geometry, 0.5 * (low + high), float((high - low).max()))
    if len(walls):
        low, high = np.minimum(low, walls.min(axis=0)), np.maximum(high, walls.max(axis=0))
    flat = np.array([[*low, 0.0], [*high, 0.0]])
    return Box(2, flat[0], flat[1], flat, np.zeros(2), np.array([0.0, 1.0, 0.0]))


def _reach(position: Floats, radius: Floats, all_of_them: bool = False) -> tuple[Floats, Floats]:
    part = 0.0 if all_of_them or len(position) < 50 else OUTER
    low = np.quantile(position - radius[:, None], part, axis=0)
    return low, np.quantile(position + radius[:, None], 1.0 - part, axis=0)


def _wall_points(geometry: Any, middle: Floats, size: float) -> Floats:
    """Drums and segments, and planes that are near."""
    kind, a, b, radius = (geometry[f"boundary_{name}"] for name in ("kind", "a", "b", "radius"))
    points = [np.zeros((0, 2))]
    for k in range(len(kind)):
        if kind[k] == INSIDE:
            points += [a[k] + radius[k] * np.array([[-1.0, -1.0], [1.0, 1.0]])]
        elif kind[k] == SEGMENT:
            points += [np.stack([a[k], b[k]])]
        elif kind[k] == PLANE:
            apart = float((middle - a[k]) @ b[k])
            if 0.0 <= apart <= 2.0 * size:
                points += [(middle - apart * b[k])[None]]
    return np.concatenate(points)


# ---- space


def _box_of_space(frames: Frames, chosen: list[int]) -> Box:
    world, run = frames.run.world, frames.run
    found = []
    for i in chosen[:: max(1, len(chosen) // 8)]:
        state = run.frame(i)
        barriers = boundaries_at(world, state.time, 1e-6)[0]
        found.append(extent(world, state, barriers, container_tops(run.scene, state.time)))
    first = np.concatenate([found[0][0] - found[0][1][:, None], found[0][0] + found[0][1][:, None]])
    grown = GROWTH * float(np.ptp(first, axis=0).max())
    least, most = first.min(axis=0) - grown, first.max(axis=0) + grown
    centers = np.concatenate([c.clip(least, most) for c, _ in found])
    radii = np.concatenate([r for _, r in found])
    low, high = (centers - radii[:, None]).min(axis=0), (centers + radii[:, None]).max(axis=0)
    return Box(3, low, high, centers, radii, upward(world.gravity))


# ---- from the run to the page


@dataclass(frozen=True, eq=False)
class Layout:
    """Where runs stand on the page: `page = scale * (place - middle) + shift of the run`."""

    box: Box
    scale: float
    shifts: Floats  # (runs, 3)

    @classmethod
    def of(cls, box: Box, runs: int) -> Layout:
        """Side by side, along what is horizontal in the picture; wide ones of the plane below each other."""
        step = _apart(box)
        shifts = (np.arange(runs) - 0.5 * (runs - 1))[:, None] * step
        half = 0.5 * float(np.linalg.norm(box.size)) + 0.5 * (runs - 1) * float(np.linalg.norm(step))
        scale = SIZE / (half or 1.0)
        return cls(box, scale, scale * shifts)

    def placed(self, points: Floats, run: int, lift: float = 0.0) -> Floats:
        """Points (k, D) of a run on the page, (k, 3); `lift` moves those of the plane toward the viewer."""
        if points.shape[1] == 2:
            points = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
        out = self.scale * (points - self.box.middle) + self.shifts[run]
        if lift:
            out[:, 2] += lift
        return out

    @property
    def ground(self) -> Floats:
        """The middle of all runs, as the first one sees it, in its own lengths."""
        return np.asarray(self.box.middle + (self.shifts.mean(axis=0) - self.shifts[0]) / self.scale)

    def title(self, run: int) -> Floats:
        """Where the name of a run stands: above it."""
        up = self.box.up
        top = self.box.middle + 0.5 * abs(float(self.box.size @ up)) * up
        return np.asarray(self.placed(top[None], run)[0] + 0.03 * SIZE * up)

    def view(self, aspect: float | None = None) -> View:
        """A camera that sees all of it, in a window of that width over its height."""
        wide = ASPECT if aspect is None or not 0.05 < aspect < 20.0 else aspect
        runs = range(len(self.shifts))
        centers = np.concatenate([self.placed(self.box.centers, k) for k in runs])
        if len(runs) > 1:  # room for the titles
            titles = np.array([self.title(k) + 0.12 * SIZE * self.box.up for k in runs])
            centers = np.concatenate([centers, titles])
        if self.box.dimension == 2:
            return _front_view(centers, wide)
        radii = np.zeros(len(centers))
        radii[: len(runs) * len(self.box.radii)] = self.scale * np.tile(self.box.radii, len(runs))
        camera = looking_at(centers, radii, self.box.up, aspect=wide, azimuth=_azimuth(self.box))
        distance = float((centers.mean(axis=0) - camera.eye) @ camera.forward)
        target = camera.eye + distance * camera.forward
        return View(camera.eye, target, self.box.up, 2.0 * float(np.arctan(FIELD)))


def _apart(box: Box) -> Floats:
    """From one run to the next."""
    if box.dimension == 2:
        width, height = box.size[:2]
        if width > 1.6 * height:
            return np.array([0.0, -1.25 * height, 0.0])
        return np.array([1.12 * width, 0.0, 0.0])
    camera = looking_at(box.centers, box.radii, box.up, azimuth=_azimuth(box))
    across = box.centers @ camera.right
    return camera.right * 1.15 * float((across + box.radii).max() - (across - box.radii).min())


def _azimuth(box: Box) -> float:
    """The one that suits a single run also holds for several."""
    forward = looking_at(box.centers, box.radii, box.up).forward
    across, ahead, _ = level_axes(box.up)
    return float(np.degrees(np.arctan2(-forward @ ahead, -forward @ across)))


def _front_view(points: Floats, aspect: float) -> View:
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    distance = MARGIN * max(float(half[1]), float(half[0]) / aspect, 1e-6) / FLAT_FIELD
    up = np.array([0.0, 1.0, 0.0])
    return View(middle + distance * np.array([0.0, 0.0, 1.0]), middle, up, 2.0 * float(np.arctan(FLAT_FIELD)))
