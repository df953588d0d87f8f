"""Floors and walls behind the bodies, with the light on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ...solvers.rows import Floats
from ...world import PLANE, TUBE, Boundaries
from ..camera import Rays
from .lattice import Lattice, empty, light, measure, note, point
from .light import Lights
from .room import Backdrop
from .visible import Buffers

Image = NDArray[np.float32]
FLOOR = 0.80  # brightness of the floor, linear
GRID = 0.86  # of grid lines on it, as a factor
AROUND = 8.0  # pixels round a grid line within which it is looked for; a pixel far away is longer than wide
WALL = 0.42  # how much of side walls is seen


class Ground(NamedTuple):
    """How floors look."""

    up: Floats  # (3,)
    across: Floats  # (3,) horizontal axes of the grid
    ahead: Floats
    spacing: float  # of the grid
    center: Floats  # (3,) beyond `fade` from it the floor is gone
    fade: float
    height: float  # walls end so far above and below the center


@kernel
def paint(
    rays: Rays,
    smooth: int,
    back: Backdrop,
    seen: Buffers,
    barriers: Boundaries,
    ground: Ground,
    lights: Lights,
    image: Image,
) -> None:
    """Paints floors, with their grid and shadows, and the inner sides of other boundaries, paler. White is behind."""
    lattice = _measured(rays, smooth, back, barriers, ground, lights)
    size = (rays.rows // smooth + 1, rays.columns // smooth + 1)
    # The rays of a pixel share what changes slowly: light, how much of the wall is seen, and whether a line is near.
    of, known, shown = np.full(size, -1, np.int32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    lined, level = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for i in range(rays.rows):
        for j in range(rays.columns):
            k = back.wall[i, j]
            if k < 0 or (seen.part[i, j] >= 0 and seen.depth[i, j] < back.depth[i, j]):
                continue
            t = back.depth[i, j]
            r, c = i // smooth, j // smooth
            if of[r, c] != k:
                x, y, z = point(rays, i, j, t)
                n = _inward(barriers, k, x, y, z)
                of[r, c], level[r, c] = k, _is_floor(ground, barriers.kind[k], n)
                shown[r, c] = _alpha(ground, x, y, z, level[r, c])
                lined[r, c] = level[r, c] and _off_grid(ground, x, y, z) < AROUND * smooth * t / rays.scale
                if shown[r, c] > 0.0:
                    known[r, c] = FLOOR * min(1.0, light(lattice, i, j, k, lights, x, y, z, n))
            alpha, value = shown[r, c], known[r, c]
            if alpha <= 0.0 or (not level[r, c] and seen.part[i, j] >= 0):  # what has left the room stays in sight
                continue
            if lined[r, c]:
                x, y, z = point(rays, i, j, t)
                if _off_grid(ground, x, y, z) < max(0.004 * ground.spacing, 0.7 * t / rays.scale):
                    value *= GRID
            for q in range(3):
                image[i, j, q] = 1.0 - alpha * (1.0 - value * (1.0 if q == 2 else 0.985))


@kernel
def _measured(rays: Rays, smooth: int, back: Backdrop, barriers: Boundaries, ground: Ground, lights: Lights) -> Lattice:
    """Light on the walls, behind bodies too: there it is dark, and the place where a body stands is seen."""
    lattice = empty(rays, smooth)
    for r in range(lattice.surface.shape[0]):
        i = min(r * lattice.step, rays.rows - 1)
        for c in range(lattice.surface.shape[1]):
            j = min(c * lattice.step, rays.columns - 1)
            k = back.wall[i, j]
            if k < 0:
                continue
            x, y, z = point(rays, i, j, back.depth[i, j])
            n = _inward(barriers, k, x, y, z)
            if _alpha(ground, x, y, z, _is_floor(ground, barriers.kind[k], n)) > 0.0:
                note(lattice, r, c, k, x, y, z, n)
    measure(lattice, lights)
    return lattice


@kernel
def _is_floor(ground: Ground, kind: int, n: tuple[float, float, float]) -> bool:
    return kind == PLANE and ground.up[0] * n[0] + ground.up[1] * n[1] + ground.up[2] * n[2] > 0.5


@kernel
def _inward(barriers: Boundaries, k: int, x: float, y: float, z: float) -> tuple[float, float, float]:
    u, v, w = barriers.axis[k, 0], barriers.axis[k, 1], barriers.axis[k, 2]
    if barriers.kind[k] == PLANE:
        return u, v, w
    ax, ay, az = barriers.point[k, 0] - x, barriers.point[k, 1] - y, barriers.point[k, 2] - z
    if barriers.kind[k] == TUBE:
        along = ax * u + ay * v + az * w
        ax, ay, az = ax - along * u, ay - along * v, az - along * w
    r = barriers.radius[k]
    return ax / r, ay / r, az / r


@kernel
def _off_grid(ground: Ground, x: float, y: float, z: float) -> float:
    """How far a point of the floor is from the next line of the grid."""
    u = (x * ground.across[0] + y * ground.across[1] + z * ground.across[2]) / ground.spacing
    v = (x * ground.ahead[0] + y * ground.ahead[1] + z * ground.ahead[2]) / ground.spacing
    return min(abs(u - np.floor(u + 0.5)), abs(v - np.floor(v + 0.5))) * ground.spacing


@kernel
def _alpha(ground: Ground, x: float, y: float, z: float, floor: bool) -> float:
    """How much of a wall is seen: floors fade out far away, others are pale and end where the scene ends."""
    ax, ay, az = x - ground.center[0], y - ground.center[1], z - ground.center[2]
    h = ax * ground.up[0] + ay * ground.up[1] + az * ground.up[2]
    if not floor and abs(h) > ground.height:
        return 0.0
    far = np.sqrt(max(ax * ax + ay * ay + az * az - h * h, 0.0)) / ground.fade
    s = min(max((1.0 - far) / 0.5, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s) * (1.0 if floor else WALL)
