"""Outlines of the boundaries of a 3D world: where they meet, where they turn away from the eye, where they end.

The ray caster, the viewer and the play page draw these lines. A line is an array (k, 3) in the world's lengths.
"""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Container
from ..scene.model import Scene
from ..solvers.rows import Floats
from ..world import INSIDE, PLANE, TUBE, Boundaries

ROUND = 96  # straight pieces of a circle
PARALLEL = 1e-9  # sine of the angle below which a line and a plane, or two planes, count as parallel


def container_tops(scene: Scene | None, time: float) -> Floats:
    """Corners (k, 3) at the top of open containers. The planes of their sides are unbounded and do not show it."""
    out = []
    for b in scene.boundaries if scene is not None else ():
        if isinstance(b, Container) and b.open_top:
            shift = np.array(b.motion.pose(time, 3)[:3])
            (x0, y0, _), (x1, y1, top) = b.lower, b.upper
            out += [np.array([x, y, top]) + shift for x in (x0, x1) for y in (y0, y1)]
    return np.array(out, dtype=np.float64).reshape(-1, 3)


def edges(boundaries: Boundaries, low: Floats, high: Floats, up: Floats) -> list[Floats]:
    """Lines along which boundaries meet, within the box from `low` to `high`, which bounds unbounded ones.

    Where a tube or a side plane leaves that box, the line of the cut is included: the rim of an open container.
    """
    cuts = _planes(boundaries, low, high)
    flat = np.flatnonzero(boundaries.kind == PLANE)
    out = []
    for i in range(len(cuts)):
        for j in range(i + 1, len(cuts)):
            if i < len(flat) and (j < len(flat) or _is_rim(cuts[i], cuts[j], up)):
                out += _meeting(i, j, cuts, boundaries)
    for k in np.flatnonzero(boundaries.kind == TUBE):
        out += _rings(boundaries, int(k), cuts, len(flat))
    return out


def shell_outlines(boundaries: Boundaries, eye: Floats) -> list[Floats]:
    """Circles that are the contours of shells seen from `eye`; none for a shell that contains the eye."""
    out = []
    for k in np.flatnonzero(boundaries.kind == INSIDE):
        arm = eye - boundaries.point[k]
        far = float(np.linalg.norm(arm))
        r = float(boundaries.radius[k])
        if far > r:
            center = boundaries.point[k] + arm * (r * r / (far * far))
            out.append(_circle(center, arm / far, r * np.sqrt(1.0 - (r / far) ** 2)))
    return out


def tube_outlines(boundaries: Boundaries, eye: Floats, low: Floats, high: Floats) -> list[Floats]:
    """The two straight contour lines of each tube seen from `eye`, within the box from `low` to `high`."""
    out = []
    cuts = _planes(boundaries, low, high)
    for k in np.flatnonzero(boundaries.kind == TUBE):
        axis, r = boundaries.axis[k], float(boundaries.radius[k])
        arm = eye - boundaries.point[k]
        arm = arm - (arm @ axis) * axis
        far = float(np.linalg.norm(arm))
        if far <= r:
            continue
        ahead, side = arm / far, np.cross(axis, arm / far)
        for sign in (-1.0, 1.0):
            start = boundaries.point[k] + r * (r / far * ahead + sign * np.sqrt(1.0 - (r / far) ** 2) * side)
            out += _clipped(start, axis, cuts, ())
    return out


def _planes(boundaries: Boundaries, low: Floats, high: Floats) -> list[tuple[Floats, float]]:
    """Planes, then the sides of the box, as (normal, offset): the inside is normal . x >= offset."""
    flat = boundaries.kind == PLANE
    out = [(n, float(n @ p)) for n, p in zip(boundaries.axis[flat], boundaries.point[flat])]
    for axis in range(3):
        unit = np.eye(3)[axis]
        out += [(unit, float(low[axis])), (-unit, float(-high[axis]))]
    return out


def _is_rim(plane: tuple[Floats, float], cut: tuple[Floats, float], up: Floats) -> bool:
    """Whether a side of the box cuts a side plane at its top. The far ends of the ground get no line."""
    return bool(cut[0] @ up == -1.0 and abs(plane[0] @ up) < 0.5)


def _meeting(i: int, j: int, cuts: list[tuple[Floats, float]], boundaries: Boundaries) -> list[Floats]:
    """The line in which planes i and j meet, as far as it lies inside all boundaries."""
    (n, p), (m, q) = cuts[i], cuts[j]
    along = np.cross(n, m)
    square = float(along @ along)
    if square < PARALLEL:
        return []
    start = np.cross(p * m - q * n, along) / square
    return _clipped(start, along / np.sqrt(square), cuts, (i, j), boundaries)


def _clipped(
    start: Floats,
    along: Floats,
    cuts: list[tuple[Floats, float]],
    own: tuple[int, ...],
    boundaries: Boundaries | None = None,
) -> list[Floats]:
    """The part of the line start + t along that lies inside all planes, and inside tubes and shells if given."""
    enter, leave = -np.inf, np.inf
    for k, (normal, offset) in enumerate(cuts):
        if k in own:
            continue
        speed, apart = float(normal @ along), offset - float(normal @ start)
        if abs(speed) < PARALLEL:
            if apart > 1e-9 * (1.0 + abs(offset)):
                return []
        elif speed > 0.0:
            enter = max(enter, apart / speed)
        else:
            leave = min(leave, apart / speed)
    if boundaries is None:
        return [np.stack([start + enter * along, start + leave * along])] if enter < leave else []
    for k in np.flatnonzero(boundaries.kind != PLANE).tolist():
        arm, way, axis = start - boundaries.point[k], along, boundaries.axis[k]
        if boundaries.kind[k] == TUBE:
            arm, way = arm - (arm @ axis) * axis, way - (way @ axis) * axis
        a, b, c = float(way @ way), float(arm @ way), float(arm @ arm) - float(boundaries.radius[k]) ** 2
        if a < PARALLEL or b * b < a * c:
            return []
        root = np.sqrt(b * b - a * c)
        enter, leave = max(enter, (-b - root) / a), min(leave, (-b + root) / a)
    return [np.stack([start + enter * along, start + leave * along])] if enter < leave else []


def _rings(boundaries: Boundaries, k: int, cuts: list[tuple[Floats, float]], flat: int) -> list[Floats]:
    """The circles in which a tube meets the nearest plane, or end of the box, on either side."""
    axis, point, r = boundaries.axis[k], boundaries.point[k], float(boundaries.radius[k])
    out = []
    for side in (1.0, -1.0):
        best: tuple[float, Floats] | None = None
        for number, (normal, offset) in enumerate(cuts):
            speed = float(normal @ axis)
            if speed * side >= -0.3 or (number >= flat and abs(speed) < 0.99):
                continue
            at = (offset - float(normal @ point)) / speed
            if best is None or at * side < best[0] * side:
                best = (at, normal)
        if best is not None:
            ring = _circle(point + best[0] * axis, axis, r)
            # The circle is projected along the axis into the plane, where it is an ellipse.
            lift = ((point + best[0] * axis - ring) @ best[1]) / float(best[1] @ axis)
            out.append(ring + lift[:, None] * axis)
    return out


def _circle(center: Floats, axis: Floats, radius: float) -> Floats:
    """A closed circle (ROUND + 1, 3) about `center` in the plane normal to `axis`."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, other)
    u /= np.linalg.norm(u)
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    return center + radius * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * np.cross(axis, u))
