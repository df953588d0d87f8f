"""Whitened rows of contacts in 2D and 3D: normal rows, tangent rows, and the speeds of what cannot be pushed.

In 3D spins are about the bodies' own axes: an arm r and a direction e give the entry `R^T (r x e)`.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, lean
from ..solvers.rows import Floats


@kernel
def tangents_of(nx, ny, nz):
    """Two unit vectors orthogonal to a unit normal that form a right-handed frame with it (Duff et al. 2017)."""
    sign = 1.0 if nz >= 0.0 else -1.0
    a = -1.0 / (sign + nz)
    b = nx * ny * a
    return 1.0 + sign * nx * nx * a, sign * b, -sign * nx, b, sign + ny * ny * a, -ny


@kernel
def along_tangents(normal, tangent):
    """Vectors (m, 3) with the given components (m, 2) along the two tangents of each normal."""
    out = np.empty((len(normal), 3))
    for i in range(len(normal)):
        sx, sy, sz, tx, ty, tz = tangents_of(normal[i, 0], normal[i, 1], normal[i, 2])
        a, b = tangent[i, 0], tangent[i, 1]
        out[i, 0], out[i, 1], out[i, 2] = a * sx + b * tx, a * sy + b * ty, a * sz + b * tz
    return out


def friction_in_world(normal: Floats, tangent: Floats) -> Floats:
    """Friction impulses with components (m, t) along the tangents, independent of the choice of tangents.

    In 2D they are numbers (m,), along the normal rotated by 90 degrees counterclockwise; in 3D vectors (m, 3).
    """
    return tangent[:, 0] if tangent.shape[1] == 1 else along_tangents(normal, np.ascontiguousarray(tangent))


@kernel
def contact_bodies(first, second, free):
    """Bodies (m, 2) that impulses move; -1 for boundaries and bodies that are not free."""
    body = np.empty((len(first), 2), np.int64)
    for i in range(len(first)):
        body[i, 0] = first[i] if free[first[i]] else -1
        body[i, 1] = second[i] if second[i] >= 0 and free[second[i]] else -1
    return body


@lean
def blocks_2d(
    first, second, normal, point, offset, drift, position, velocity, root, center, boundary_velocity, body, val, base
):
    """Adds the entries of the rows of each contact to `val`, and the speeds that no impulse can change to `base`.

    Both must be zero before, of shapes (m, 2, rows, d) and (m, rows). The rows are the normal, the tangent (the normal
    rotated by 90 degrees counterclockwise), and relative rotation; the first `rows` of them are made. `root` (n, d) is
    the inverse square root of the mass; `offset` and `drift` (m, 2) are those of the ContactSet, or have one row if no
    body has periodic images.
    """
    (m, rows), d = base.shape, velocity.shape[1]
    imaged = len(offset) == m
    for i in range(m):
        nx, ny = normal[i, 0], normal[i, 1]
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = first[i] if side == 0 else second[i]
            vx = vy = spin = 0.0
            if b >= 0:
                rx, ry = point[i, 0] - position[b, 0], point[i, 1] - position[b, 1]
                if side == 1 and imaged:
                    rx, ry = rx - offset[i, 0], ry - offset[i, 1]
                    vx, vy = drift[i, 0], drift[i, 1]
                if body[i, side] >= 0:
                    _entries_2d(val[i, side], sign, nx, ny, rx, ry, root[b])
                else:
                    spin = velocity[b, 2] if d == 3 else 0.0
                    vx, vy = vx + velocity[b, 0] - spin * ry, vy + velocity[b, 1] + spin * rx
            else:
                k = -1 - b
                rx, ry = point[i, 0] - center[k, 0], point[i, 1] - center[k, 1]
                spin = boundary_velocity[k, 2]
                vx, vy = boundary_velocity[k, 0] - spin * ry, boundary_velocity[k, 1] + spin * rx
            base[i, 0] += sign * (nx * vx + ny * vy)
            if rows > 1:
                base[i, 1] += sign * (-ny * vx + nx * vy)
            if rows > 2:
                base[i, 2] += sign * spin


@kernel
def _entries_2d(val, sign, nx, ny, rx, ry, root):
    """Writes the entries (rows, d) of one body at the arm (rx, ry)."""
    d = val.shape[1]
    val[0, 0], val[0, 1] = sign * nx * root[0], sign * ny * root[1]
    if d == 3:
        val[0, 2] = sign * (rx * ny - ry * nx) * root[2]
    if len(val) > 1:
        val[1, 0], val[1, 1] = -sign * ny * root[0], sign * nx * root[1]
        if d == 3:
            val[1, 2] = sign * (rx * nx + ry * ny) * root[2]
    if len(val) > 2:
        val[2, 2] = sign * root[2]


@kernel(inline="always")
def _entry(val, sign, ex, ey, ez, rx, ry, rz, turn, root):
    """Writes the entry (d,) of one body in the row of the direction (ex, ey, ez) at the arm (rx, ry, rz)."""
    val[0], val[1], val[2] = sign * ex * root[0], sign * ey * root[1], sign * ez * root[2]
    if len(root) == 6:
        _turning(val, sign, ry * ez - rz * ey, rz * ex - rx * ez, rx * ey - ry * ex, turn, root)


@kernel(inline="always")
def _turning(val, sign, x, y, z, turn, root):
    """Writes the angular part of an entry (6,), the torque (x, y, z) in the world frame."""
    for k in range(3):
        val[3 + k] = sign * (turn[0, k] * x + turn[1, k] * y + turn[2, k] * z) * root[3 + k]


@kernel
def _spin_in_world(velocity, turn):
    """Angular velocity of a body in the world frame; zero if bodies do not rotate."""
    if len(velocity) < 6:
        return 0.0, 0.0, 0.0
    a, b, c = velocity[3], velocity[4], velocity[5]
    return (
        turn[0, 0] * a + turn[0, 1] * b + turn[0, 2] * c,
        turn[1, 0] * a + turn[1, 1] * b + turn[1, 2] * c,
        turn[2, 0] * a + turn[2, 1] * b + turn[2, 2] * c,
    )


@lean
def blocks_3d(
    first,
    second,
    normal,
    point,
    offset,
    drift,
    position,
    velocity,
    turn,
    root,
    center,
    boundary_velocity,
    body,
    val,
    base,
):
    """As `blocks_2d`, with rotation matrices `turn` (n, 3, 3) from body to world.

    The rows are the normal, two tangents, relative rotation about both tangents, and about the normal.
    """
    m, rows = base.shape
    imaged = len(offset) == m
    for i in range(m):
        nx, ny, nz = normal[i, 0], normal[i, 1], normal[i, 2]
        sx, sy, sz, tx, ty, tz = tangents_of(nx, ny, nz)
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = first[i] if side == 0 else second[i]
            vx = vy = vz = ox = oy = oz = 0.0
            if b >= 0:
                rx, ry, rz = point[i, 0] - position[b, 0], point[i, 1] - position[b, 1], point[i, 2] - position[b, 2]
                if side == 1 and imaged:
                    rx, ry, rz = rx - offset[i, 0], ry - offset[i, 1], rz - offset[i, 2]
                    vx, vy, vz = drift[i, 0], drift[i, 1], drift[i, 2]
                if body[i, side] >= 0:
                    out = val[i, side]
                    _entry(out[0], sign, nx, ny, nz, rx, ry, rz, turn[b], root[b])
                    if rows > 1:
                        _entry(out[1], sign, sx, sy, sz, rx, ry, rz, turn[b], root[b])
                        _entry(out[2], sign, tx, ty, tz, rx, ry, rz, turn[b], root[b])
                    if rows > 3:
                        _turning(out[3], sign, sx, sy, sz, turn[b], root[b])
                        _turning(out[4], sign, tx, ty, tz, turn[b], root[b])
                        _turning(out[5], sign, nx, ny, nz, turn[b], root[b])
                else:
                    ox, oy, oz = _spin_in_world(velocity[b], turn[b])
                    vx, vy, vz = vx + velocity[b, 0], vy + velocity[b, 1], vz + velocity[b, 2]
                    vx, vy, vz = vx + oy * rz - oz * ry, vy + oz * rx - ox * rz, vz + ox * ry - oy * rx
            else:
                k = -1 - b
                rx, ry, rz = point[i, 0] - center[k, 0], point[i, 1] - center[k, 1], point[i, 2] - center[k, 2]
                v = boundary_velocity[k]
                ox, oy, oz = v[3], v[4], v[5]
                vx, vy, vz = v[0] + oy * rz - oz * ry, v[1] + oz * rx - ox * rz, v[2] + ox * ry - oy * rx
            base[i, 0] += sign * (nx * vx + ny * vy + nz * vz)
            if rows > 1:
                base[i, 1] += sign * (sx * vx + sy * vy + sz * vz)
                base[i, 2] += sign * (tx * vx + ty * vy + tz * vz)
            if rows > 3:
                base[i, 3] += sign * (sx * ox + sy * oy + sz * oz)
                base[i, 4] += sign * (tx * ox + ty * oy + tz * oz)
                base[i, 5] += sign * (nx * ox + ny * oy + nz * oz)
