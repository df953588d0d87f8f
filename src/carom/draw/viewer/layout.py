"""The layout of the page: the box that contains a run, and its position and scale on the page.

Lights, shadows and clipping of the page assume that everything lies in a sphere of radius SIZE.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...errors import ProblemError
from ...geometry import rotations
from ...solvers.rows import Floats
from ...world import PLANE, Boundaries
from ..camera import FIELD, level_axes, looking_at, upward
from ..framing import Extent, extent_2d, extent_3d, free_or_all, visible_places
from ..framing import united as united_extents
from .player import nice
from .runs import Frames

SIZE = 2.0  # radius of that sphere, in lengths of the page
SAMPLES = {2: 24, 3: 8}  # frames that are examined
FLAT_FIELD = 0.05  # tangent of half the angle of view in 2D: hardly any perspective
MARGIN = 1.08  # relative to the size of a 2D picture
ASPECT = 1.35  # width over height of a window whose size is not known yet
BAR = 0.22  # length of the scale bar relative to the width of a run, before it is rounded
BAR_APART = {2: (0.07, 0.0), 3: (0.0, 0.05)}  # its distance below and in front of the run, relative to the run's size
GROWTH = 0.15  # a box has outgrown another if it extends beyond it by this part of its size


@dataclass(frozen=True, eq=False)
class View:
    """A camera in lengths of the page."""

    eye: Floats
    target: Floats
    up: Floats
    angle: float  # vertical angle of view, radians

    def in_upper_part(self, share: float) -> View:
        """A camera at the same place that shows all of this view in the upper `share` of the window."""
        ahead = self.target - self.eye
        distance = float(np.linalg.norm(ahead))
        ahead = ahead / distance
        above = np.cross(np.cross(ahead, self.up), ahead)
        field = float(np.tan(0.5 * self.angle)) / share
        lower = ahead - (1.0 - share) * field * above / np.linalg.norm(above)
        target = self.eye + distance * lower / np.linalg.norm(lower)
        return View(self.eye, target, self.up, 2.0 * float(np.arctan(field)))


@dataclass(frozen=True, eq=False)
class ScaleBar:
    """A bar from `start` to `end`, in lengths of the page; `length` is a round number in the run's lengths."""

    start: Floats
    end: Floats
    length: float


@dataclass(frozen=True, eq=False)
class Box(Extent):
    """The extent of a run in the run's own lengths, in 3D coordinates; 2D points have z = 0."""

    dimension: ClassVar[int]
    up: Floats  # (3,)
    floor: float = -np.inf  # height of the highest level plane, along `up`

    def apart(self) -> Floats:
        """The shift (3,) from one run to the next, if the page shows several."""
        raise NotImplementedError

    def view(self, centers: Floats, radii: Floats, aspect: float) -> View:
        """A camera that sees spheres (k, 3), (k,) of the page in a window of this aspect ratio."""
        raise NotImplementedError


class Box2D(Box):
    """Seen from the front, with hardly any perspective. Wide runs are below each other."""

    dimension = 2

    def apart(self) -> Floats:
        width, height = self.size[:2]
        if width > 1.6 * height:
            return np.array([0.0, -1.25 * height, 0.0])
        return np.array([1.12 * width, 0.0, 0.0])

    def view(self, centers: Floats, radii: Floats, aspect: float) -> View:
        low, high = centers.min(axis=0), centers.max(axis=0)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        distance = MARGIN * max(float(half[1]), float(half[0]) / aspect, 1e-6) / FLAT_FIELD
        eye = middle + distance * np.array([0.0, 0.0, 1.0])
        return View(eye, middle, self.up, 2.0 * float(np.arctan(FLAT_FIELD)))


class Box3D(Box):
    """Seen by the camera that pictures have."""

    dimension = 3

    def apart(self) -> Floats:
        camera = looking_at(self.centers, self.radii, self.up, azimuth=self._azimuth())
        across = self.centers @ camera.right
        return camera.right * 1.15 * float((across + self.radii).max() - (across - self.radii).min())

    def view(self, centers: Floats, radii: Floats, aspect: float) -> View:
        camera = looking_at(centers, radii, self.up, aspect=aspect, azimuth=self._azimuth())
        distance = float((centers.mean(axis=0) - camera.eye) @ camera.forward)
        target = camera.eye + distance * camera.forward
        return View(camera.eye, target, self.up, 2.0 * float(np.arctan(FIELD)))

    def _azimuth(self) -> float:
        """The default azimuth of a single run, which is used for several runs as well."""
        forward = looking_at(self.centers, self.radii, self.up).forward
        across, ahead, _ = level_axes(self.up)
        return float(np.degrees(np.arctan2(-forward @ ahead, -forward @ across)))


def boundaries_of(frames: Frames) -> Boundaries:
    """The boundaries of a run at time 0, from its arrays: the scene may not be readable."""
    geometry, dimension = frames.run.geometry, frames.run.dimension
    arrays = {name: np.asarray(geometry[f"boundary_{name}"]) for name in Boundaries._fields if name != "velocity"}
    return Boundaries(**arrays, velocity=np.zeros((len(arrays["kind"]), rotations.velocity_components(dimension))))


def box_of(frames: Frames) -> Box:
    """The box of a whole run."""
    count, run = len(frames.times), frames.run
    samples = min(SAMPLES[run.dimension], count)
    chosen = np.unique(np.linspace(0, count - 1, samples).round().astype(int)).tolist()
    if run.dimension == 3:
        extent = extent_3d(run.world, [run.frame(i) for i in chosen], run.scene)
        up, found = upward(run.world.gravity), boundaries_of(frames)
        level = (found.kind == PLANE) & (found.axis @ up > 0.999)
        return Box3D(extent.centers, extent.radii, up, float((found.point[level] @ up).max(initial=-np.inf)))
    free = free_or_all(np.asarray(run.geometry["free"], dtype=bool))
    places = visible_places([run.frame(i) for i in chosen])[:, free]
    try:
        periodic = run.world.periodic
    except ProblemError:  # the scene contains a Python function, which a file does not store
        periodic = None
    extent = extent_2d(places, run.geometry["radius"][free], [boundaries_of(frames)], periodic)
    return Box2D(in_3d(extent.centers), extent.radii, np.array([0.0, 1.0, 0.0]))


def united(boxes: list[Box]) -> Box:
    """One box for several runs, so that all have the same scale."""
    extent = united_extents(boxes)
    return replace(boxes[0], centers=extent.centers, radii=extent.radii)


def outgrown(box: Box, by: Box) -> bool:
    """Whether another box extends well beyond this one."""
    slack = GROWTH * float(box.size.max())
    return bool((by.low < box.low - slack).any() or (by.high > box.high + slack).any())


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of runs on the page: `page = scale * (point - middle of the box) + shift of the run`."""

    box: Box
    scale: float
    shifts: Floats  # (runs, 3)

    @classmethod
    def of(cls, box: Box, runs: int) -> Layout:
        """Runs beside or below each other, at the distance `box.apart()`."""
        step = box.apart()
        shifts = (np.arange(runs) - 0.5 * (runs - 1))[:, None] * step
        half = 0.5 * float(np.linalg.norm(box.size)) + 0.5 * (runs - 1) * float(np.linalg.norm(step))
        scale = SIZE / (half or 1.0)
        return cls(box, scale, scale * shifts)

    def placed(self, points: Floats, run: int, lift: float = 0.0) -> Floats:
        """Points (k, D) of a run on the page, (k, 3); `lift` moves 2D points toward the viewer."""
        out = self.scale * (in_3d(points) - self.box.middle) + self.shifts[run]
        if lift:
            out[:, 2] += lift
        return out

    @property
    def ground(self) -> Floats:
        """The middle of all runs, in the coordinates of the first run."""
        return np.asarray(self.box.middle + (self.shifts.mean(axis=0) - self.shifts[0]) / self.scale)

    def title(self, run: int) -> Floats:
        """The position of the title of a run, above it."""
        up = self.box.up
        top = self.box.middle + 0.5 * abs(float(self.box.size @ up)) * up
        return np.asarray(self.placed(top[None], run)[0] + 0.03 * SIZE * up)

    @cached_property
    def scale_bar(self) -> ScaleBar:
        """The bar at the lower left of the first run."""
        box = self.box
        view = box.view(box.centers, box.radii, ASPECT)
        away = view.target - view.eye
        away = away - (away @ box.up) * box.up
        away = away / np.linalg.norm(away)
        right = np.cross(away, box.up)
        low = [float((box.centers @ axis - box.radii).min()) for axis in (right, box.up, away)]
        width = float((box.centers @ right + box.radii).max()) - low[0]
        below, before = (share * float(box.size.max()) for share in BAR_APART[box.dimension])
        length = nice(BAR * (width or 1.0))
        level = max(low[1], box.floor) - below
        start = low[0] * right + level * box.up + (low[2] - before) * away
        ends = self.placed(np.stack([start, start + length * right]), 0)
        return ScaleBar(ends[0], ends[1], length)

    def view(self, aspect: float | None = None) -> View:
        """A camera that sees everything in a window of this aspect ratio."""
        wide = ASPECT if aspect is None or not 0.05 < aspect < 20.0 else aspect
        runs = range(len(self.shifts))
        bar = np.array([self.scale_bar.start, self.scale_bar.end]) - 0.06 * SIZE * self.box.up  # room for its label
        centers = np.concatenate([*(self.placed(self.box.centers, k) for k in runs), bar])
        if len(runs) > 1:  # room for the titles
            titles = np.array([self.title(k) + 0.12 * SIZE * self.box.up for k in runs])
            centers = np.concatenate([centers, titles])
        radii = np.zeros(len(centers))
        radii[: len(runs) * len(self.box.radii)] = self.scale * np.tile(self.box.radii, len(runs))
        return self.box.view(centers, radii, wide)


def in_3d(points: Floats) -> Floats:
    """Points (k, D) as points (k, 3); 2D points have z = 0."""
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
