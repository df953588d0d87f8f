"""From what each pixel sees to its colour. Colours are linear in light here; the last step makes them sRGB."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..solvers.rows import Floats
from ..world import FLAT, TUBE, Barriers
from .camera import Rays
from .light import Lights, shine
from .raster import Buffers
from .room import Backdrop

Image = NDArray[np.float32]
FLOOR = 0.80  # brightness of the floor, linear
GRID = 0.86  # of grid lines on it, as a factor
WALL = 0.42  # how much of side walls is seen
SMOOTH = 0.98  # cosine: faces that turn by less than 11 degrees have no line between them
GLASS = 0.26  # how much of a body that encloses others is seen
OUTLINE, CREASE = 0.22, 0.5  # brightness of lines round bodies and between their faces, as factors


class Ground(NamedTuple):
    """How floors look."""

    up: Floats  # (3,)
    across: Floats  # (3,) horizontal axes of the grid
    ahead: Floats
    spacing: float  # of the grid
    centre: Floats  # (3,) beyond `fade` from it the floor is gone
    fade: float
    height: float  # walls end so far above and below the centre


@njit(cache=True, nogil=True)
def bodies(
    rays: Rays, smooth: int, seen: Buffers, body: NDArray[np.int64], colour: Floats, lights: Lights, image: Image
) -> None:
    """Paints the bodies. Colours (n, 3). Rays of one pixel, of `smooth` x `smooth`, share light on the same face."""
    known = np.empty((rays.rows, rays.columns), np.float32)
    for i in range(rays.rows):
        b = (0.5 * rays.rows - i - 0.5) / rays.scale
        for j in range(rays.columns):
            p = seen.part[i, j]
            if p < 0:
                continue
            # Light changes slowly: the first ray of the pixel that hit this face has asked for it already.
            r, c = i - i % smooth, j - j % smooth
            light = -1.0
            for q in range((i - r) * smooth + j - c):
                u, v = r + q // smooth, c + q % smooth
                if seen.part[u, v] == p and seen.face[u, v] == seen.face[i, j]:
                    light = known[u, v]
                    break
            if light < 0.0:
                t = seen.depth[i, j]
                a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
                x = rays.eye[0] + t * (rays.forward[0] + a * rays.right[0] + b * rays.up[0])
                y = rays.eye[1] + t * (rays.forward[1] + a * rays.right[1] + b * rays.up[1])
                z = rays.eye[2] + t * (rays.forward[2] + a * rays.right[2] + b * rays.up[2])
                n = seen.normal[i, j]
                light = shine(lights, x, y, z, n[0], n[1], n[2])
            known[i, j] = light
            for k in range(3):
                image[i, j, k] = colour[body[p], k] * light


@njit(cache=True, nogil=True)
def outlines(seen: Buffers, body: NDArray[np.int64], radius: Floats, weight: Floats, image: Image) -> None:
    """Darkens the nearer side of every border: strongly between bodies, lightly between faces of one.

    A body that hides a part of itself has a border there, too: a step in depth by a fifth of its radius.
    """
    rows, columns = seen.part.shape
    for i in range(rows):
        for j in range(columns):
            p = seen.part[i, j]
            if p < 0:
                continue
            factor = 1.0
            for side in range(4):
                r = i + (1 if side == 0 else (-1 if side == 1 else 0))
                c = j + (1 if side == 2 else (-1 if side == 3 else 0))
                if r < 0 or c < 0 or r >= rows or c >= columns:
                    continue
                q = seen.part[r, c]
                if q < 0 or body[q] != body[p]:
                    if q < 0 or seen.depth[i, j] <= seen.depth[r, c]:
                        factor = min(factor, OUTLINE)
                elif seen.depth[r, c] - seen.depth[i, j] > 0.2 * radius[body[p]]:
                    factor = min(factor, OUTLINE)
                elif (q != p or seen.face[i, j] != seen.face[r, c]) and (side == 0 or side == 2):
                    n, m = seen.normal[i, j], seen.normal[r, c]
                    if n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < SMOOTH:
                        factor = min(factor, CREASE)
            if factor < 1.0:
                w = weight[body[p]]
                for k in range(3):
                    image[i, j, k] *= 1.0 - w * (1.0 - factor)


@njit(cache=True, nogil=True)
def glass(before: Buffers, behind: Buffers, layer: Image, image: Image) -> None:
    """Lays a picture of glass bodies over the image: their faces faintly, their lines (which are dark) more."""
    rows, columns = before.part.shape
    for i in range(rows):
        for j in range(columns):
            if before.part[i, j] < 0 or before.depth[i, j] >= behind.depth[i, j]:
                continue
            edge = 0.0
            for r, c in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= r < rows and 0 <= c < columns:
                    n, m = before.normal[i, j], before.normal[r, c]
                    if before.part[r, c] < 0 or n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < SMOOTH:
                        edge = 0.5
            alpha = GLASS + edge
            for k in range(3):
                image[i, j, k] = (1.0 - alpha) * image[i, j, k] + alpha * layer[i, j, k]


@njit(cache=True, nogil=True)
def walls(
    rays: Rays,
    smooth: int,
    back: Backdrop,
    seen: Buffers,
    barriers: Barriers,
    ground: Ground,
    lights: Lights,
    image: Image,
) -> None:
    """Paints floors, with their grid and shadows, and the inner sides of other boundaries, paler. White is behind."""
    known = np.full((rays.rows // smooth + 1, rays.columns // smooth + 1), -1.0, np.float32)
    of = np.full(known.shape, -1, np.int32)
    for i in range(rays.rows):
        b = (0.5 * rays.rows - i - 0.5) / rays.scale
        for j in range(rays.columns):
            k = back.wall[i, j]
            if k < 0 or (seen.part[i, j] >= 0 and seen.depth[i, j] < back.depth[i, j]):
                continue
            t = back.depth[i, j]
            a = (j + 0.5 - 0.5 * rays.columns) / rays.scale
            dx = rays.forward[0] + a * rays.right[0] + b * rays.up[0]
            dy = rays.forward[1] + a * rays.right[1] + b * rays.up[1]
            dz = rays.forward[2] + a * rays.right[2] + b * rays.up[2]
            x, y, z = rays.eye[0] + t * dx, rays.eye[1] + t * dy, rays.eye[2] + t * dz
            nx, ny, nz = _inward(barriers, k, x, y, z)
            floor = barriers.kind[k] == FLAT and ground.up[0] * nx + ground.up[1] * ny + ground.up[2] * nz > 0.5
            if not floor and seen.part[i, j] >= 0:  # what has left the room stays in sight
                continue
            alpha = _alpha(ground, x, y, z, floor)
            if alpha <= 0.0:
                continue
            r, c = i // smooth, j // smooth
            if of[r, c] != k:
                of[r, c], known[r, c] = k, shine(lights, x, y, z, nx, ny, nz)
            value = FLOOR * min(1.0, known[r, c])
            if floor:
                value *= _grid(ground, x, y, z, t / rays.scale)
            for q in range(3):
                image[i, j, q] = 1.0 - alpha * (1.0 - value * (1.0 if q == 2 else 0.985))


@njit(cache=True, nogil=True)
def _inward(barriers: Barriers, k: int, x: float, y: float, z: float) -> tuple[float, float, float]:
    axis = barriers.axis[k]
    if barriers.kind[k] == FLAT:
        return axis[0], axis[1], axis[2]
    ax, ay, az = barriers.point[k, 0] - x, barriers.point[k, 1] - y, barriers.point[k, 2] - z
    if barriers.kind[k] == TUBE:
        along = ax * axis[0] + ay * axis[1] + az * axis[2]
        ax, ay, az = ax - along * axis[0], ay - along * axis[1], az - along * axis[2]
    r = barriers.radius[k]
    return ax / r, ay / r, az / r


@njit(cache=True, nogil=True)
def _grid(ground: Ground, x: float, y: float, z: float, pixel: float) -> float:
    """A factor: GRID on the lines of the grid, which are at least a pixel wide."""
    factor = 1.0
    for k in range(2):
        g = ground.across if k == 0 else ground.ahead
        u = (x * g[0] + y * g[1] + z * g[2]) / ground.spacing
        off = abs(u - np.floor(u + 0.5)) * ground.spacing
        if off < max(0.004 * ground.spacing, 0.7 * pixel):
            factor = GRID
    return factor


@njit(cache=True, nogil=True)
def _alpha(ground: Ground, x: float, y: float, z: float, floor: bool) -> float:
    """How much of a wall is seen: floors fade out far away, others are pale and end where the scene ends."""
    ax, ay, az = x - ground.centre[0], y - ground.centre[1], z - ground.centre[2]
    h = ax * ground.up[0] + ay * ground.up[1] + az * ground.up[2]
    if not floor and abs(h) > ground.height:
        return 0.0
    far = np.sqrt(max(ax * ax + ay * ay + az * az - h * h, 0.0)) / ground.fade
    s = min(max((1.0 - far) / 0.5, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s) * (1.0 if floor else WALL)


def line(image: Image, depth: NDArray[np.float32], rays: Rays, points: Floats, dark: float, width: int) -> None:
    """Draws a line (k, 3) where nothing is before it."""
    arm = points - rays.eye
    z = arm @ rays.forward
    if not (z > 0.0).all():
        return
    column = 0.5 * rays.columns + arm @ rays.right / z * rays.scale
    row = 0.5 * rays.rows - arm @ rays.up / z * rays.scale
    _line(image, depth, np.stack([row, column, 1.0 / z], axis=1), dark, width)


@njit(cache=True, nogil=True)
def _line(image: Image, depth: NDArray[np.float32], points: Floats, dark: float, width: int) -> None:
    rows, columns = depth.shape
    for p in range(len(points) - 1):
        r0, c0, w0 = points[p, 0], points[p, 1], points[p, 2]
        dr, dc, dw = points[p + 1, 0] - r0, points[p + 1, 1] - c0, points[p + 1, 2] - w0
        steps = int(min(max(abs(dr), abs(dc)), 20000.0)) + 1
        steep = abs(dr) > abs(dc)
        for s in range(steps):
            u = s / steps
            inverse = w0 + u * dw  # 1 / depth is linear along a line in the picture
            for off in range(width):
                i = int(np.floor(r0 + u * dr + (0 if steep else off - 0.5 * (width - 1))))
                j = int(np.floor(c0 + u * dc + (off - 0.5 * (width - 1) if steep else 0)))
                if 0 <= i < rows and 0 <= j < columns and depth[i, j] * inverse >= 0.9999:
                    for k in range(3):
                        image[i, j, k] = min(image[i, j, k], dark)


def weights(radius: Floats, rays: Rays, place: Floats) -> Floats:
    """How strong the lines round each body are: bodies of a few pixels have none, or they would be all line."""
    z = np.maximum((place - rays.eye) @ rays.forward, 1e-9)
    return np.clip((radius / z * rays.scale - 4.0) / 16.0, 0.0, 1.0)
