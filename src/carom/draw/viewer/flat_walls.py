"""Boundaries of the plane as meshes: lines with a pale band behind them, drums, segments, periodic sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, SEGMENT
from .framing import Box
from .shape_meshes import Mesh, joined
from .wall import Wall

LINE = 0.006  # thickness of a wall, in the size of the picture
BAND = 0.03  # of the pale band behind it
DARK, PALE = (92, 99, 110), (226, 230, 236)
ROUND = 160  # straight pieces of a circle
SPOKES = 8  # marks on a drum that turns


def flat_walls(geometry: Mapping[str, Any], box: Box, moving: bool, periodic: Any) -> list[Wall]:
    """All boundaries of a run of the plane, in its own lengths, each about the point that it turns about."""
    kind, a, b, radius, center = (geometry[f"boundary_{name}"] for name in ("kind", "a", "b", "radius", "center"))
    size = float(box.size[:2].max())
    out: list[Wall] = []
    for k in range(len(kind)):
        if kind[k] == PLANE:
            out += _plane(k, a, b, kind, box, size, center[k])
        elif kind[k] == SEGMENT:
            along = (b[k] - a[k]) / np.linalg.norm(b[k] - a[k])
            side = 0.5 * LINE * size * np.array([-along[1], along[0]])
            points = np.array([a[k] - side, b[k] - side, b[k] + side, a[k] + side])
            out.append(Wall(k, _polygon(points - center[k], 0.0), DARK, _high(center[k])))
        else:
            out += _circle(k, kind[k] == INSIDE, a[k], float(radius[k]), center[k], size, moving)
    if periodic is not None:
        out += _periodic(periodic, box, size)
    return out


def _plane(k: int, a: Floats, b: Floats, kind: Any, box: Box, size: float, center: Floats) -> list[Wall]:
    """A line as far as the picture and the other planes let it, with a band on its far side."""
    normal = b[k]
    along = np.array([normal[1], -normal[0]])
    middle = box.middle[:2]
    foot = middle - float((middle - a[k]) @ normal) * normal
    reach = 0.5 * float(np.abs(along) @ box.size[:2]) + 2.0 * BAND * size
    low, high = -reach, reach
    for other in np.flatnonzero(kind == PLANE):
        speed, apart = float(b[other] @ along), float(b[other] @ (foot - a[other]))
        if other == k or abs(speed) < 1e-9:
            continue
        cut = -apart / speed
        if speed > 0.0:
            low = max(low, cut)
        else:
            high = min(high, cut)
    if low >= high:
        return []
    ends = [foot + low * along - center, foot + high * along - center]
    out = []
    for color, near, far in ((PALE, 0.0, BAND), (DARK, 0.0, LINE)):
        wider = far * size * along  # so that bands of walls that meet fill the corner
        one, two = ends[0] - (wider if low > -reach else 0.0), ends[1] + (wider if high < reach else 0.0)
        inner, outer = near * size * normal, far * size * normal
        corners = np.array([one - outer, two - outer, two - inner, one - inner])
        out.append(Wall(k, _polygon(corners, -0.002 * size if color is PALE else 0.0), color, _high(center)))
    return out


def _circle(k: int, inside: bool, at: Floats, r: float, center: Floats, size: float, moving: bool) -> list[Wall]:
    angle = 2.0 * np.pi * np.arange(ROUND) / ROUND
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    shift = at - center
    if not inside:
        return [Wall(k, _polygon(shift + r * ring, 0.0), PALE, _high(center))]
    out = [
        Wall(k, _ring(shift, ring, r, r + LINE * size, 0.0), DARK, _high(center)),
        Wall(k, _ring(shift, ring, r, r + BAND * size, -0.002 * size), PALE, _high(center)),
    ]
    if moving:
        marks = []
        for turn in 2.0 * np.pi * np.arange(SPOKES) / SPOKES:
            away = np.array([np.cos(turn), np.sin(turn)])
            side = 0.5 * LINE * size * np.array([-away[1], away[0]])
            one, two = shift + r * away, shift + (r + BAND * size) * away
            marks.append(_quad(np.array([one - side, two - side, two + side, one + side]), 0.0))
        out.append(Wall(k, joined(marks), DARK, _high(center)))
    return out


def _periodic(periodic: Any, box: Box, size: float) -> list[Wall]:
    """Dashed lines where the plane repeats."""
    dashes = []
    for axis, side in enumerate((periodic.x, periodic.y)):
        for place in side or ():
            other = 1 - axis
            low, high = float(box.low[other]), float(box.high[other])
            for start in np.arange(low, high, 0.03 * size):
                one, two = np.empty(2), np.empty(2)
                one[axis] = two[axis] = place
                one[other], two[other] = start, min(start + 0.018 * size, high)
                along = (two - one) / np.linalg.norm(two - one)
                wide = 0.25 * LINE * size * np.array([-along[1], along[0]])
                dashes.append(_quad(np.array([one - wide, two - wide, two + wide, one + wide]), 0.0))
    return [Wall(-1, joined(dashes), DARK, np.zeros(3))] if dashes else []


def _ring(shift: Floats, ring: Floats, inner: float, outer: float, z: float) -> Mesh:
    points = np.concatenate([shift + inner * ring, shift + outer * ring])
    k, after = np.arange(len(ring)), (np.arange(len(ring)) + 1) % len(ring)
    n = len(ring)
    faces = np.concatenate([np.stack([k, k + n, after + n], 1), np.stack([k, after + n, after], 1)])
    return joined([(_lifted(points, z), faces)])


def _polygon(points: Floats, z: float) -> Mesh:
    """A convex polygon, turned to face the viewer."""
    return joined([_quad(points, z)])


def _quad(points: Floats, z: float) -> tuple[Floats, Any]:
    x, y = points.T
    if float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) < 0.0:
        points = points[::-1]
    k = np.arange(1, len(points) - 1)
    return _lifted(points, z), np.stack([np.zeros_like(k), k, k + 1], axis=1)


def _lifted(points: Floats, z: float) -> Floats:
    return np.concatenate([points, np.full((len(points), 1), z)], axis=1)


def _high(point: Floats) -> Floats:
    return np.array([*point, 0.0])
