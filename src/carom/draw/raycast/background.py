"""The background of a picture: the ground with its grid and shadows, and the other boundaries, paler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel, lean
from ...solvers.rows import Floats
from ...world import INSIDE, PLANE, TUBE, Boundaries
from ..camera import Rays
from .light import Lattice, Lights, empty, light, measure, note, point
from .visible import Buffers

Image = NDArray[np.float32]
BRIGHTNESS = 0.80  # of the ground, linear
GRID = 0.86  # brightness of grid lines relative to the ground
AROUND = 8.0  # pixels around a grid line within which its rays are examined; a far pixel is longer than wide
OPACITY = 0.42  # of boundaries other than the ground


class Ground(NamedTuple):
    """The appearance of the ground."""

    up: Floats  # (3,)
    across: Floats  # (3,) horizontal axes of the grid
    ahead: Floats
    spacing: float  # of the grid, a length
    center: Floats  # (3,)
    fade: float  # distance from the center at which the ground has faded out
    height: float  # other boundaries end at this height above and below the center


class Backdrop(NamedTuple):
    """The boundaries behind the bodies, as far as bodies and light do not matter: pictures with one camera share it."""

    depth: NDArray[np.float32]  # (rows, columns), infinite where there is none
    boundary: NDArray[np.int32]  # index of the boundary, -1 for none
    alpha: NDArray[np.float32]  # opacity
    tone: NDArray[np.float32]  # brightness, which the grid reduces
    level: NDArray[np.bool_]  # whether it is the ground


def backdrop(rays: Rays, smooth: int, boundaries: Boundaries, ground: Ground) -> Backdrop:
    """The boundary at each ray behind the bodies. A boundary that lies between eye and bodies is transparent."""
    size = (rays.rows, rays.columns)
    back = Backdrop(
        np.full(size, np.inf, np.float32),
        np.full(size, -1, np.int32),
        np.zeros(size, np.float32),
        np.full(size, BRIGHTNESS, np.float32),
        np.zeros(size, np.bool_),
    )
    if len(boundaries.kind):
        b = boundaries
        _leave(rays, b.kind, b.point, b.axis, b.radius, back.depth, back.boundary)
        _tones(rays, smooth, b, ground, back)
    return back


@lean
def _leave(
    rays: Rays,
    kind: NDArray[np.int8],
    point: Floats,
    axis: Floats,
    radius: Floats,
    depth: NDArray[np.float32],
    boundary: NDArray[np.int32],
) -> None:
    """The free region is convex: a ray is inside from its last entry to its first exit, if that comes later."""
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
                depth[i, j], boundary[i, j] = leave, by


@kernel
def _tones(rays: Rays, smooth: int, boundaries: Boundaries, ground: Ground, back: Backdrop) -> None:
    """Opacity and grid. The rays of a pixel share what changes slowly: opacity, and whether a grid line is near."""
    size = (rays.rows // smooth + 1, rays.columns // smooth + 1)
    of, shown = np.full(size, -1, np.int32), np.zeros(size, np.float32)
    lined, level = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    for i in range(rays.rows):
        for j in range(rays.columns):
            k = back.boundary[i, j]
            if k < 0:
                continue
            t = back.depth[i, j]
            r, c = i // smooth, j // smooth
            if of[r, c] != k:
                x, y, z = point(rays, i, j, t)
                n = _inward(boundaries, k, x, y, z)
                of[r, c], level[r, c] = k, _is_ground(ground, boundaries.kind[k], n)
                shown[r, c] = _alpha(ground, x, y, z, level[r, c])
                lined[r, c] = level[r, c] and _off_grid(ground, x, y, z) < AROUND * smooth * t / rays.scale
            back.alpha[i, j], back.level[i, j] = shown[r, c], level[r, c]
            if lined[r, c]:
                x, y, z = point(rays, i, j, t)
                if _off_grid(ground, x, y, z) < max(0.004 * ground.spacing, 0.7 * t / rays.scale):
                    back.tone[i, j] *= GRID


@kernel
def paint(
    rays: Rays,
    smooth: int,
    back: Backdrop,
    seen: Buffers,
    boundaries: Boundaries,
    lights: Lights,
    image: Image,
) -> None:
    """Paints the ground with its grid and shadows and the inner sides of other boundaries, on white."""
    lattice = empty(rays, smooth)
    _measure(rays, lattice, back, boundaries, lights)
    columns = rays.columns // smooth + 1
    shared = Shared(smooth, np.full(columns, -1, np.int32), np.zeros(columns, np.float32))
    _paint(rays, shared, back, seen, boundaries, lights, lattice, image)


class Shared(NamedTuple):
    """The `smooth` x `smooth` rays of a pixel share its light: boundary and light for each column of pixels."""

    smooth: int
    of: NDArray[np.int32]
    known: NDArray[np.float32]


@lean
def _paint(
    rays: Rays,
    shared: Shared,
    back: Backdrop,
    seen: Buffers,
    boundaries: Boundaries,
    lights: Lights,
    lattice: Lattice,
    image: Image,
) -> None:
    smooth, of, known = shared
    for i in range(rays.rows):
        if i % smooth == 0:
            of[:] = -1
        for j in range(rays.columns):
            k, alpha = back.boundary[i, j], back.alpha[i, j]
            if alpha <= 0.0:
                continue
            if seen.part[i, j] >= 0 and (seen.depth[i, j] < back.depth[i, j] or not back.level[i, j]):
                continue  # a body outside the container stays visible
            c = j // smooth
            if of[c] != k:
                x, y, z = point(rays, i, j, back.depth[i, j])
                n = _inward(boundaries, k, x, y, z)
                of[c], known[c] = k, min(1.0, light(lattice, i, j, k, lights, (x, y, z), n))
            value = known[c] * back.tone[i, j]
            image[i, j, 0] = image[i, j, 1] = 1.0 - alpha * (1.0 - 0.985 * value)
            image[i, j, 2] = 1.0 - alpha * (1.0 - value)


@lean
def _measure(rays: Rays, lattice: Lattice, back: Backdrop, boundaries: Boundaries, lights: Lights) -> None:
    """Light on the boundaries, also behind bodies, where it is dark: interpolated light shows where a body stands."""
    for r in range(lattice.surface.shape[0]):
        i = min(r * lattice.step, rays.rows - 1)
        for c in range(lattice.surface.shape[1]):
            j = min(c * lattice.step, rays.columns - 1)
            k = back.boundary[i, j]
            if back.alpha[i, j] > 0.0:
                x, y, z = point(rays, i, j, back.depth[i, j])
                note(lattice, r, c, k, x, y, z, _inward(boundaries, k, x, y, z))
    measure(lattice, lights)


@lean
def _is_ground(ground: Ground, kind: int, n: tuple[float, float, float]) -> bool:
    return kind == PLANE and ground.up[0] * n[0] + ground.up[1] * n[1] + ground.up[2] * n[2] > 0.5


@lean
def _inward(boundaries: Boundaries, k: int, x: float, y: float, z: float) -> tuple[float, float, float]:
    u, v, w = boundaries.axis[k, 0], boundaries.axis[k, 1], boundaries.axis[k, 2]
    if boundaries.kind[k] == PLANE:
        return u, v, w
    ax, ay, az = boundaries.point[k, 0] - x, boundaries.point[k, 1] - y, boundaries.point[k, 2] - z
    if boundaries.kind[k] == TUBE:
        along = ax * u + ay * v + az * w
        ax, ay, az = ax - along * u, ay - along * v, az - along * w
    r = boundaries.radius[k]
    return ax / r, ay / r, az / r


@lean
def _off_grid(ground: Ground, x: float, y: float, z: float) -> float:
    """The distance of a point of the ground from the nearest grid line."""
    u = (x * ground.across[0] + y * ground.across[1] + z * ground.across[2]) / ground.spacing
    v = (x * ground.ahead[0] + y * ground.ahead[1] + z * ground.ahead[2]) / ground.spacing
    return min(abs(u - np.floor(u + 0.5)), abs(v - np.floor(v + 0.5))) * ground.spacing


@lean
def _alpha(ground: Ground, x: float, y: float, z: float, is_ground: bool) -> float:
    """The opacity of a boundary: the ground fades out, other boundaries are pale and end where the scene ends."""
    ax, ay, az = x - ground.center[0], y - ground.center[1], z - ground.center[2]
    h = ax * ground.up[0] + ay * ground.up[1] + az * ground.up[2]
    if not is_ground and abs(h) > ground.height:
        return 0.0
    far = np.sqrt(max(ax * ax + ay * ay + az * az - h * h, 0.0)) / ground.fade
    s = min(max((1.0 - far) / 0.5, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s) * (1.0 if is_ground else OPACITY)
