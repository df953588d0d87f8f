"""The room round the bodies: where rays leave it, and the lines along which its walls meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, TUBE, Boundaries
from ..camera import Rays

ROUND = 96  # straight pieces of a circle
PARALLEL = 1e-9


class Backdrop(NamedTuple):
    """Where the rays leave the room."""

    depth: NDArray[np.float32]  # (rows, columns), infinite where the room is open
    wall: NDArray[np.int32]  # the boundary behind, -1 for none


def backdrop(rays: Rays, walls: Boundaries) -> Backdrop:
    """The boundary that each pixel sees behind the bodies. Boundaries that the eye is behind are seen through."""
    depth = np.full((rays.rows, rays.columns), np.inf, np.float32)
    wall = np.full((rays.rows, rays.columns), -1, np.int32)
    if len(walls.kind):
        _leave(rays, walls.kind, walls.point, walls.axis, walls.radius, depth, wall)
    return Backdrop(depth, wall)


@kernel
def _leave(
    rays: Rays,
    kind: NDArray[np.int8],
    point: Floats,
    axis: Floats,
    radius: Floats,
    depth: NDArray[np.float32],
    wall: NDArray[np.int32],
) -> None:
    """The room is convex: a ray is in it from the last entry to the first exit, if that comes later."""
    eye = rays.eye
    for i in range(rays.rows):
        b = (0.5 * rays.rows - i - 0.5) / rays.scale
        for j in range(rays.columns):
            a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
            dx = rays.forward[0] + a * rays.right[0] + b * rays.up[0]
            dy = rays.forward[1] + a * rays.right[1] + b * rays.up[1]
            dz = rays.forward[2] + a * rays.right[2] + b * rays.up[2]
            enter, leave, by = 0.0, np.inf, -1
            for k in range(len(kind)):
                ax, ay, az = eye[0] - point[k, 0], eye[1] - point[k, 1], eye[2] - point[k, 2]
                nx, ny, nz = axis[k, 0], axis[k, 1], axis[k, 2]
                apart, speed = ax * nx + ay * ny + az * nz, dx * nx + dy * ny + dz * nz
                if kind[k] == PLANE:
                    if speed < 0.0:
                        one, two = 0.0, apart / -speed
                    elif speed > 0.0:
                        one, two = -apart / speed, np.inf
                    else:
                        one, two = 0.0, np.inf if apart >= 0.0 else -1.0
                else:
                    if kind[k] == INSIDE:
                        apart = speed = 0.0
                    ex, ey, ez = ax - apart * nx, ay - apart * ny, az - apart * nz
                    fx, fy, fz = dx - speed * nx, dy - speed * ny, dz - speed * nz
                    aa, bb = fx * fx + fy * fy + fz * fz, ex * fx + ey * fy + ez * fz
                    disc = bb * bb - aa * (ex * ex + ey * ey + ez * ez - radius[k] * radius[k])
                    one, two = 0.0, -1.0
                    if disc >= 0.0 and aa > 0.0:
                        one, two = (-bb - np.sqrt(disc)) / aa, (-bb + np.sqrt(disc)) / aa
                enter = max(enter, one)
                if two < leave:
                    leave, by = two, k
            if leave > enter and leave < np.inf:
                depth[i, j], wall[i, j] = leave, by


def edges(walls: Boundaries, low: Floats, high: Floats, up: Floats) -> list[Floats]:
    """Lines (k, 3) along which walls meet each other, within the box from `low` to `high`, which cuts endless ones.

    Where a tube or a wall runs out of that box, the line of the cut is there too: the rim of an open box.
    """
    cuts = _planes(walls, low, high)
    flat = np.flatnonzero(walls.kind == PLANE)
    out = []
    for i in range(len(cuts)):
        for j in range(i + 1, len(cuts)):
            if i < len(flat) and (j < len(flat) or _rim(cuts[i], cuts[j], up)):
                out += _meeting(i, j, cuts, walls)
    for k in np.flatnonzero(walls.kind == TUBE):
        out += _rings(walls, int(k), cuts, len(flat))
    return out


def shell_outlines(walls: Boundaries, eye: Floats) -> list[Floats]:
    """Circles round which the shells are seen."""
    out = []
    for k in np.flatnonzero(walls.kind == INSIDE):
        arm = eye - walls.point[k]
        far = float(np.linalg.norm(arm))
        r = float(walls.radius[k])
        if far > r:
            center = walls.point[k] + arm * (r * r / (far * far))
            out.append(_circle(center, arm / far, r * np.sqrt(1.0 - (r / far) ** 2)))
    return out


def tube_outlines(walls: Boundaries, eye: Floats, low: Floats, high: Floats) -> list[Floats]:
    """The two lines along each tube beyond which it turns away."""
    out = []
    cuts = _planes(walls, low, high)
    for k in np.flatnonzero(walls.kind == TUBE):
        axis, r = walls.axis[k], float(walls.radius[k])
        arm = eye - walls.point[k]
        arm = arm - (arm @ axis) * axis
        far = float(np.linalg.norm(arm))
        if far <= r:
            continue
        ahead, side = arm / far, np.cross(axis, arm / far)
        for sign in (-1.0, 1.0):
            start = walls.point[k] + r * (r / far * ahead + sign * np.sqrt(1.0 - (r / far) ** 2) * side)
            out += _clipped(start, axis, cuts, ())
    return out


def _planes(walls: Boundaries, low: Floats, high: Floats) -> list[tuple[Floats, float]]:
    """Flat walls, then the sides of the box, as (normal, offset): inside is normal . x >= offset."""
    flat = walls.kind == PLANE
    out = [(n, float(n @ p)) for n, p in zip(walls.axis[flat], walls.point[flat])]
    for axis in range(3):
        unit = np.eye(3)[axis]
        out += [(unit, float(low[axis])), (-unit, float(-high[axis]))]
    return out


def _rim(wall: tuple[Floats, float], cut: tuple[Floats, float], up: Floats) -> bool:
    """Whether a side of the box cuts a wall at its top; the far ends of a floor get no line."""
    return bool(cut[0] @ up == -1.0 and abs(wall[0] @ up) < 0.5)


def _meeting(i: int, j: int, cuts: list[tuple[Floats, float]], walls: Boundaries) -> list[Floats]:
    (n, p), (m, q) = cuts[i], cuts[j]
    along = np.cross(n, m)
    square = float(along @ along)
    if square < PARALLEL:
        return []
    start = np.cross(p * m - q * n, along) / square
    return _clipped(start, along / np.sqrt(square), cuts, (i, j), walls)


def _clipped(
    start: Floats,
    along: Floats,
    cuts: list[tuple[Floats, float]],
    own: tuple[int, ...],
    walls: Boundaries | None = None,
) -> list[Floats]:
    """The piece of a line within all planes, and within tubes and shells."""
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
    if walls is None:
        return [np.stack([start + enter * along, start + leave * along])] if enter < leave else []
    for k in np.flatnonzero(walls.kind != PLANE).tolist():
        arm, way = start - walls.point[k], along
        if walls.kind[k] == TUBE:
            arm, way = arm - (arm @ walls.axis[k]) * walls.axis[k], way - (way @ walls.axis[k]) * walls.axis[k]
        a, b, c = float(way @ way), float(arm @ way), float(arm @ arm) - float(walls.radius[k]) ** 2
        if a < PARALLEL or b * b < a * c:
            return []
        root = np.sqrt(b * b - a * c)
        enter, leave = max(enter, (-b - root) / a), min(leave, (-b + root) / a)
    return [np.stack([start + enter * along, start + leave * along])] if enter < leave else []


def _rings(walls: Boundaries, k: int, cuts: list[tuple[Floats, float]], flat: int) -> list[Floats]:
    """Where a tube meets the planes across it, or the ends of the box: the nearest on either side."""
    axis, point, r = walls.axis[k], walls.point[k], float(walls.radius[k])
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
            # Slid along the axis into the plane.
            lift = ((point + best[0] * axis - ring) @ best[1]) / float(best[1] @ axis)
            out.append(ring + lift[:, None] * axis)
    return out


def _circle(center: Floats, axis: Floats, radius: float) -> Floats:
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, other)
    u /= np.linalg.norm(u)
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    return center + radius * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * np.cross(axis, u))
