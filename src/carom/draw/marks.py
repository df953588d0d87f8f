"""Trails of bodies and arrows of impulses, as primitives over or under a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..stepping.report import ContactImpulses
from ..trajectory import Trajectory
from .camera import numbers
from .colors import Bytes, Floats
from .primitives import RGB, Discs, Lines, Polygons, Shape, repeated
from .timeline import Timeline, Traced

ALL = "all"  # in `traced_points`: the centers of all free bodies
Project = Callable[[Floats], Floats]  # from points (..., D) to pixels (..., 2)
Tracks = tuple[Floats, Floats]  # times (k,) and places (k, m, D) of the traced points, NaN in gaps
ARROW: RGB = (178, 34, 52)
POINTS, LONG_POINTS = 60, 400  # largest number of points of a trail in a film, and in a still, which shows all of it
PIECES = 200_000  # a still has more points per trail, as long as all its trails together have no more pieces than this
DARK, PALE = 0.7, 0.5  # brightness of a trail relative to its body, which it crosses; share of white at its start
UNDER = 0.65  # share of white in the colors of 2D bodies under trails
SHORTEST = 0.02  # pixels: shorter pieces of trails are left out; a pile at rest has a hundred thousand of them
LONGEST = 0.11  # length, relative to the height of the page, of an arrow that one in fifty impulses exceeds
LEAST = 0.01  # impulses below this fraction of that impulse are left out
LINGER = 0.16  # seconds that an arrow stays visible


def traced_points(texts: Sequence[str], free: NDArray[np.bool_], dimension: int) -> Traced:
    """The points whose paths are drawn: `all` (the centers of all free bodies), BODY (its center), or BODY:x,y,z."""
    body: list[int] = []
    offset: list[list[float]] = []
    for text in texts:
        number, colon, point = text.strip().partition(":")
        if number == ALL and not colon:
            found = np.flatnonzero(free).tolist()
        elif number.isdigit() and int(number) < len(free):
            found = [int(number)]
        else:
            wanted = f"{ALL}, BODY or BODY:{'x,y,z'[: 2 * dimension - 1]} with a BODY from 0 to {len(free) - 1}"
            raise ProblemError("--trail", text, wanted)
        body += found
        wanted = f"BODY:{'x,y,z'[: 2 * dimension - 1]} with {dimension} finite numbers"
        place = numbers("--trail", text, point.split(","), dimension, wanted) if colon else [0.0] * dimension
        offset += [place] * len(found)
    return Traced(np.array(body, dtype=np.int64), np.array(offset).reshape(-1, dimension))


def trails(tracks: Tracks | None, colors: Bytes, project: Project, width: float, scale: float = 1.0) -> list[Shape]:
    """The paths of traced points, darker than their bodies, paler toward the past. `colors` (m, 3) are of the bodies.

    `scale` is in pixels per unit of what `project` returns.
    """
    if tracks is None:
        return []
    times, places = tracks
    pixels = project(places)  # (k, m, 2)
    begin, end = pixels[:-1].reshape(-1, 2), pixels[1:].reshape(-1, 2)
    age = (times[:-1] - times[0]) / (times[-1] - times[0])
    # Mixed with white instead of transparent: the ends of transparent pieces overlap and would show as dots.
    white = PALE * (1.0 - age)[:, None, None]
    color = ((1.0 - white) * DARK * colors + white * 255.0).astype(np.uint8).reshape(-1, 3)
    keep = np.abs(end - begin).max(axis=1, initial=0.0) * scale > SHORTEST  # false for NaN
    return [Lines(begin[keep], end[keep], color[keep], width)]


def paler(colors: Bytes) -> Bytes:
    """The colors of 2D bodies that trails cross."""
    return (colors + UNDER * (255.0 - colors)).astype(np.uint8)


def trail_width(radius: float, height: int) -> float:
    """The width of trails of bodies of a radius on a page of a height, all in pixels."""
    unit = height / 1080.0
    return float(np.clip(0.3 * radius, min(1.2, 1.6 * unit), 3.5 * unit))


class Impulses:
    """Impulses of a run as arrows, on one scale for all pictures of a film."""

    def __init__(self, run: Trajectory, frames: range) -> None:
        if run.impulses(0) is None:
            wanted = "a run with events: run it again with `carom run ...`"
            raise ProblemError(
                "--impulses", str(run.path), wanted, f"--impulses: {run.path} has no events; {wanted[19:]}"
            )
        self.run = run
        self.largest = self._usual(frames)

    def _usual(self, frames: range) -> float:
        chosen = np.unique(np.linspace(frames.start, frames.stop - 1, 200).round().astype(int)).tolist()
        found = [self.run.impulses(i) for i in chosen]
        sizes = np.concatenate([np.zeros(1), *(np.abs(f.normal_impulse) for f in found if f is not None)])
        sizes = sizes[sizes > 1e-9 * sizes.max()]
        return float(np.quantile(sizes, 0.98)) if len(sizes) else 1.0

    def read(self, frames: list[tuple[int, float]]) -> list[tuple[ContactImpulses, float]]:
        """The impulses of frames, each with the opacity from 0 to 1 with which it is drawn."""
        found = ((self.run.impulses(frame), strength) for frame, strength in frames)
        return [(f, strength) for f, strength in found if f is not None and len(f.first)]

    def arrows(self, pushes: list[tuple[ContactImpulses, float]], project: Project, height: int) -> list[Shape]:
        """A dot at each contact and one arrow along the impulse on `second`.

        Lengths are proportional to the square root of the impulse; otherwise small impulses would not be visible.
        """
        out: list[Shape] = []
        unit = height / 1080.0
        for found, strength in pushes:
            vector = impulse_vectors(found)
            size = np.linalg.norm(vector, axis=1)
            keep = size > LEAST * self.largest
            if not keep.any():
                continue
            point, vector, size = found.point[keep], vector[keep], size[keep]
            start = project(point)
            toward = project(point + 1e-4 * vector / size[:, None]) - start
            away = np.linalg.norm(toward, axis=1)
            # In 3D an arrow that points toward the eye is foreshortened.
            most = float(away.max()) or 1.0
            length = LONGEST * height * np.minimum(np.sqrt(size / self.largest), 1.6) * away / most
            unit_vector = toward / np.maximum(away, 1e-300)[:, None]
            out += arrow_shapes(start, start + length[:, None] * unit_vector, unit, strength)
        return out


def impulse_vectors(found: ContactImpulses) -> Floats:
    """Impulses (m, D) on the second body, normal and tangential parts.

    In 2D the tangential impulse is a number along the normal rotated by 90 degrees counterclockwise.
    """
    tangent = found.tangent_impulse
    if tangent.ndim == 1:
        tangent = tangent[:, None] * np.stack([-found.normal[:, 1], found.normal[:, 0]], axis=1)
    return found.normal_impulse[:, None] * found.normal + tangent


def arrow_shapes(start: Floats, tip: Floats, unit: float, strength: float) -> list[Shape]:
    """Arrows (n, 2) with a dot at their start; the heads of short arrows are smaller."""
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
    """Recorded frames whose impulses are visible at a time, the oldest first, with their opacity.

    All frames since the last picture of the film are included, so that no impulse is missed; earlier ones fade out.
    """
    tail = max(seconds * speed, time - before)
    chosen = np.flatnonzero((timeline.times > time - tail - 1e-12) & (timeline.times <= time + 1e-12))
    out = []
    for k in chosen[-12:].tolist():
        age = time - float(timeline.times[k])
        out.append((k, 1.0 if age <= time - before else max(0.15, 1.0 - age / tail)))
    return out
