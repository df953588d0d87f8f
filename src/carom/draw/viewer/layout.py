"""The layout of the page: the box that contains a run, and its position and scale on the page.

Lights, shadows and clipping of the page assume that everything lies in a sphere of radius SIZE.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from ...world import Boundaries
from ..camera import FIELD, level_axes, looking_at, upward
from ..framing import Extent, extent_2d, extent_3d, free_or_all
from ..framing import united as united_extents
from .runs import Frames

SIZE = 2.0  # radius of that sphere, in lengths of the page
SAMPLES = {2: 24, 3: 8}  # frames that are examined
FLAT_FIELD = 0.05  # tangent of half the angle of view in 2D: hardly any perspective
MARGIN = 1.08  # relative to the size of a 2D picture
ASPECT = 1.35  # width over height of a window whose size is not known yet
GROWTH = 0.15  # a box has outgrown another if it extends beyond it by this part of its size


@dataclass(frozen=True, eq=False)
class Box(Extent):
    """The extent of a run in the run's own lengths, in 3D coordinates; 2D points have z = 0."""

    dimension: int
    up: Floats  # (3,)


@dataclass(frozen=True, eq=False)
class View:
    """A camera in lengths of the page."""

    eye: Floats
    target: Floats
    up: Floats
    angle: float  # vertical angle of view, radians


def boundaries_of(frames: Frames) -> Boundaries:
    """The boundaries of a run at time 0, from its arrays: the scene may not be readable."""
    geometry, dimension = frames.run.geometry, frames.run.dimension
    arrays = {name: np.asarray(geometry[f"boundary_{name}"]) for name in Boundaries._fields if name != "velocity"}
    return Boundaries(**arrays, velocity=np.zeros((len(arrays["kind"]), 3 * dimension - 3)))


def box_of(frames: Frames) -> Box:
    """The box of a whole run."""
    count, run = len(frames.times), frames.run
    samples = min(SAMPLES[run.dimension], count)
    chosen = np.unique(np.linspace(0, count - 1, samples).round().astype(int)).tolist()
    if run.dimension == 3:
        extent = extent_3d(run.world, [run.frame(i) for i in chosen], run.scene)
        return Box(extent.centers, extent.radii, 3, upward(run.world.gravity))
    free = free_or_all(np.asarray(run.geometry["free"], dtype=bool))
    places = np.stack([frames.at(i).position[free] for i in chosen])
    try:
        periodic = run.world.periodic
    except ProblemError:  # the scene contains a Python function, which a file does not store
        periodic = None
    extent = extent_2d(places, run.geometry["radius"][free], [boundaries_of(frames)], periodic)
    return Box(np.pad(extent.centers, ((0, 0), (0, 1))), extent.radii, 2, np.array([0.0, 1.0, 0.0]))


def united(boxes: list[Box]) -> Box:
    """One box for several runs, so that all have the same scale."""
    extent = united_extents(boxes)
    return Box(extent.centers, extent.radii, boxes[0].dimension, boxes[0].up)


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
        """Runs side by side; wide 2D runs below each other."""
        step = _apart(box)
        shifts = (np.arange(runs) - 0.5 * (runs - 1))[:, None] * step
        half = 0.5 * float(np.linalg.norm(box.size)) + 0.5 * (runs - 1) * float(np.linalg.norm(step))
        scale = SIZE / (half or 1.0)
        return cls(box, scale, scale * shifts)

    def placed(self, points: Floats, run: int, lift: float = 0.0) -> Floats:
        """Points (k, D) of a run on the page, (k, 3); `lift` moves 2D points toward the viewer."""
        if points.shape[1] == 2:
            points = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
        out = self.scale * (points - self.box.middle) + self.shifts[run]
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

    def view(self, aspect: float | None = None) -> View:
        """A camera that sees everything in a window of this aspect ratio."""
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
    """The shift (3,) from one run to the next."""
    if box.dimension == 2:
        width, height = box.size[:2]
        if width > 1.6 * height:
            return np.array([0.0, -1.25 * height, 0.0])
        return np.array([1.12 * width, 0.0, 0.0])
    camera = looking_at(box.centers, box.radii, box.up, azimuth=_azimuth(box))
    across = box.centers @ camera.right
    return camera.right * 1.15 * float((across + box.radii).max() - (across - box.radii).min())


def _azimuth(box: Box) -> float:
    """The default azimuth of a single run, which is used for several runs as well."""
    forward = looking_at(box.centers, box.radii, box.up).forward
    across, ahead, _ = level_axes(box.up)
    return float(np.degrees(np.arctan2(-forward @ ahead, -forward @ across)))


def _front_view(points: Floats, aspect: float) -> View:
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    distance = MARGIN * max(float(half[1]), float(half[0]) / aspect, 1e-6) / FLAT_FIELD
    up = np.array([0.0, 1.0, 0.0])
    return View(middle + distance * np.array([0.0, 0.0, 1.0]), middle, up, 2.0 * float(np.arctan(FLAT_FIELD)))
