"""Trails of bodies and arrows of impulses, as layers over or under a picture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..stepping.report import ContactImpulses
from ..trajectory import Trajectory
from .colors import Bytes, Floats
from .layers import RGB, Discs, Layer, Lines, Polygons, repeated
from .timeline import Timeline

Project = Callable[[Floats], Floats]  # places (..., D) to pixels (..., 2)
ARROW: RGB = (178, 34, 52)
POINTS = 60  # of a trail at most, in a film
LONG_POINTS = 400  # in a still, which shows the whole way
LONGEST = 0.11  # of the page's height: an arrow that only one in fifty exceeds
LEAST = 0.01  # of that: smaller ones are left out
LINGER = 0.16  # seconds that an arrow stays on the screen


Tracks = tuple[Floats, Floats]  # times (k,) and places (k, n, D), with gaps that are not numbers


def trails(
    tracks: Tracks | None, free: NDArray[np.bool_], colors: Bytes, project: Project, width: float
) -> list[Layer]:
    """The ways of all free bodies, in their colors, fading out toward the past."""
    if tracks is None:
        return []
    times, places = tracks
    pixels = project(places[:, free])  # (k, n, 2)
    begin, end = pixels[:-1].reshape(-1, 2), pixels[1:].reshape(-1, 2)
    age = (times[:-1] - times[0]) / (times[-1] - times[0])
    alpha = np.repeat(0.1 + 0.7 * age, int(free.sum()))
    color = np.tile(colors[free], (len(pixels) - 1, 1))
    # Ways shorter than a hair are left out: a pile of bodies at rest has a hundred thousand of them.
    keep = np.abs(end - begin).max(axis=1, initial=0.0) > 0.02  # false for what is not a number
    return [Lines(begin[keep], end[keep], color[keep], width, alpha[keep])]


def trail_width(radius: float, height: int) -> float:
    """For bodies of a radius, on a page of a height; all in pixels."""
    unit = height / 1080.0
    return float(np.clip(0.3 * radius, min(1.2, 1.6 * unit), 7.0 * unit))


class Impulses:
    """Impulses of a run as arrows. A length unit of the page means the same in all pictures of a film."""

    def __init__(self, run: Trajectory, frames: range) -> None:
        if run.impulses(0) is None:
            wanted = "a run with impulses: run it again with `carom run ... --impulses`"
            raise ProblemError("--impulses", str(run.path), wanted, f"--impulses: {run.path} has none; {wanted[20:]}")
        self.run = run
        self.largest = self._usual(frames)

    def _usual(self, frames: range) -> float:
        chosen = np.unique(np.linspace(frames.start, frames.stop - 1, 200).round().astype(int)).tolist()
        found = [self.run.impulses(i) for i in chosen]
        sizes = np.concatenate([np.zeros(1), *(np.abs(f.normal_impulse) for f in found if f is not None)])
        sizes = sizes[sizes > 1e-9 * sizes.max()]
        return float(np.quantile(sizes, 0.98)) if len(sizes) else 1.0

    def read(self, frames: list[tuple[int, float]]) -> list[tuple[ContactImpulses, float]]:
        """The impulses of frames, each with the strength from 0 to 1 in which it is drawn."""
        found = ((self.run.impulses(frame), strength) for frame, strength in frames)
        return [(f, strength) for f, strength in found if f is not None and len(f.first)]

    def arrows(self, pushes: list[tuple[ContactImpulses, float]], project: Project, height: int) -> list[Layer]:
        """Each contact has a dot and one arrow: the impulse on `second`, along its direction.

        Lengths go with the root of the impulses: they differ by so much that the small ones would not be seen.
        """
        out: list[Layer] = []
        unit = height / 1080.0
        for found, strength in pushes:
            vector = found.normal_impulse[:, None] * found.normal + _tangent(found.normal, found.tangent_impulse)
            size = np.linalg.norm(vector, axis=1)
            keep = size > LEAST * self.largest
            if not keep.any():
                continue
            point, vector, size = found.point[keep], vector[keep], size[keep]
            start = project(point)
            toward = project(point + 1e-4 * vector / size[:, None]) - start
            away = np.linalg.norm(toward, axis=1)
            # Seen from its end an arrow is short, in space: its length on the page is by its angle.
            most = float(away.max()) or 1.0
            length = LONGEST * height * np.minimum(np.sqrt(size / self.largest), 1.6) * away / most
            unit_vector = toward / np.maximum(away, 1e-300)[:, None]
            out += arrow_layers(start, start + length[:, None] * unit_vector, unit, strength)
        return out


def _tangent(normal: Floats, tangent: Floats) -> Floats:
    """Friction as vectors: in the plane it is a number along the normal turned by 90 degrees anticlockwise."""
    if tangent.ndim == 2:
        return tangent
    return tangent[:, None] * np.stack([-normal[:, 1], normal[:, 0]], axis=1)


def arrow_layers(start: Floats, tip: Floats, unit: float, strength: float) -> list[Layer]:
    """Arrows (n, 2), with heads that shrink when they are short, and a dot where they start."""
    along = tip - start
    length = np.linalg.norm(along, axis=1)
    way = along / np.maximum(length, 1e-9)[:, None]
    side = np.stack([-way[:, 1], way[:, 0]], axis=1)
    head = np.minimum(17.0 * unit, 0.6 * length)[:, None]
    neck = tip - head * way
    corners = np.stack([tip, neck + 0.38 * head * side, neck - 0.38 * head * side], axis=1)
    count = len(start)
    fill = repeated(ARROW, count)
    heads = Polygons(np.arange(0, 3 * count + 1, 3), corners.reshape(-1, 2), fill, alpha=strength)
    dots = Discs(start, np.full(count, 3.4 * unit), fill, alpha=strength)
    return [Lines(start, neck, fill, max(1.0, 2.6 * unit), strength), heads, dots]


def lingering(timeline: Timeline, time: float, before: float, seconds: float, speed: float) -> list[tuple[int, float]]:
    """Recorded frames whose impulses are seen at a time, the oldest first, with their strength.

    All frames since the film's last picture count, so that none is missed, and earlier ones fade away.
    """
    tail = max(seconds * speed, time - before)
    chosen = np.flatnonzero((timeline.times > time - tail - 1e-12) & (timeline.times <= time + 1e-12))
    out = []
    for k in chosen[-12:].tolist():
        age = time - float(timeline.times[k])
        out.append((k, 1.0 if age <= time - before else max(0.15, 1.0 - age / tail)))
    return out
