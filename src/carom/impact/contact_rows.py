"""Whitened rows of contacts in 2D and 3D: normal rows, tangent rows, and the speeds of what cannot be pushed.

In 3D spins are about the bodies' own axes: an arm r and a direction e give the entry `R^T (r x e)`.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints


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


def friction_along_tangents(normal: Floats, friction: Floats) -> Floats:
    """The inverse of `friction_in_world`: components (m, t) along the tangents."""
    if friction.ndim == 1:
        return friction[:, None]
    out = np.empty((len(normal), 2))
    for s in range(2):
        one = np.zeros_like(out)
        one[:, s] = 1.0
        out[:, s] = np.einsum("ij,ij->i", along_tangents(normal, one), friction)
    return out


def tangent_pattern(ptr: Ints, body: Ints, t: int) -> tuple[Ints, Ints]:
    """Row pointers (t m + 1,) and bodies of t tangent rows per contact, from those of the normal rows."""
    return (ptr, body) if t == 1 else (tangent_pointers(ptr), tangent_bodies(body, ptr))


@kernel
def tangent_pointers(ptr):
    """Row pointers (2 m + 1,) of two tangent rows per contact."""
    m = len(ptr) - 1
    out = np.empty(2 * m + 1, np.int64)
    out[0] = 0
    for i in range(m):
        count = ptr[i + 1] - ptr[i]
        out[2 * i + 1] = out[2 * i] + count
        out[2 * i + 2] = out[2 * i] + 2 * count
    return out


@kernel
def tangent_bodies(body, ptr):
    """The bodies of the two tangent rows of each contact."""
    out = np.empty(2 * len(body), body.dtype)
    for i in range(len(ptr) - 1):
        begin, count = ptr[i], ptr[i + 1] - ptr[i]
        for e in range(count):
            out[2 * begin + e] = out[2 * begin + count + e] = body[begin + e]
    return out


@kernel
def row_pointers(first, second, free):
    """Row pointers (m + 1,): a row has one entry for each free body of its contact."""
    ptr = np.zeros(len(first) + 1, np.int64)
    for i in range(len(first)):
        ptr[i + 1] = ptr[i] + (1 if free[first[i]] else 0) + (1 if second[i] >= 0 and free[second[i]] else 0)
    return ptr


@kernel
def rows_2d(
    first, second, normal, point, offset, drift, position, velocity, free, root, center, boundary_velocity, ptr, rubs
):
    """Bodies and entries of the normal rows, entries of the tangent rows, and the speeds w that no impulse can change.

    The tangent is the normal rotated by 90 degrees counterclockwise. `root` (n, d) is the inverse square root of the
    mass; `offset` and `drift` (m, 2) are those of the ContactSet, or have one row if no body has periodic images.
    """
    m, d = len(first), velocity.shape[1]
    imaged = len(offset) == m
    body = np.empty(ptr[-1], np.int64)
    val = np.empty((ptr[-1], d))
    tangent = np.empty((ptr[-1] if rubs else 0, d))
    w, wt = np.zeros(m), np.zeros(m if rubs else 0)
    for i in range(m):
        nx, ny = normal[i, 0], normal[i, 1]
        e = ptr[i]
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = first[i] if side == 0 else second[i]
            if b < 0:
                k = -1 - b
                rx, ry = point[i, 0] - center[k, 0], point[i, 1] - center[k, 1]
                vx = boundary_velocity[k, 0] - boundary_velocity[k, 2] * ry
                vy = boundary_velocity[k, 1] + boundary_velocity[k, 2] * rx
                w[i] += sign * (nx * vx + ny * vy)
                if rubs:
                    wt[i] += sign * (-ny * vx + nx * vy)
                continue
            rx, ry = point[i, 0] - position[b, 0], point[i, 1] - position[b, 1]
            if side == 1 and imaged:
                rx -= offset[i, 0]
                ry -= offset[i, 1]
                w[i] += nx * drift[i, 0] + ny * drift[i, 1]
                if rubs:
                    wt[i] += -ny * drift[i, 0] + nx * drift[i, 1]
            if free[b]:
                body[e] = b
                val[e, 0], val[e, 1] = sign * nx * root[b, 0], sign * ny * root[b, 1]
                if d == 3:
                    val[e, 2] = sign * (rx * ny - ry * nx) * root[b, 2]
                if rubs:
                    tangent[e, 0], tangent[e, 1] = -sign * ny * root[b, 0], sign * nx * root[b, 1]
                    if d == 3:
                        tangent[e, 2] = sign * (rx * nx + ry * ny) * root[b, 2]
                e += 1
                continue
            spin = velocity[b, 2] if d == 3 else 0.0
            vx, vy = velocity[b, 0] - spin * ry, velocity[b, 1] + spin * rx
            w[i] += sign * (nx * vx + ny * vy)
            if rubs:
                wt[i] += sign * (-ny * vx + nx * vy)
    return body, val, tangent, w, wt


@kernel
def _entry(val, e, sign, ex, ey, ez, rx, ry, rz, turn, root):
    """Writes the entry of one body in the row of the direction (ex, ey, ez) at the arm (rx, ry, rz)."""
    val[e, 0], val[e, 1], val[e, 2] = sign * ex * root[0], sign * ey * root[1], sign * ez * root[2]
    if len(root) == 6:
        cx, cy, cz = ry * ez - rz * ey, rz * ex - rx * ez, rx * ey - ry * ex
        for k in range(3):
            val[e, 3 + k] = sign * (turn[0, k] * cx + turn[1, k] * cy + turn[2, k] * cz) * root[3 + k]


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


@kernel
def rows_3d(
    first,
    second,
    normal,
    point,
    offset,
    drift,
    position,
    velocity,
    turn,
    free,
    root,
    center,
    boundary_velocity,
    ptr,
    rubs,
):
    """As `rows_2d`, with two tangent rows per contact and rotation matrices `turn` (n, 3, 3) from body to world."""
    m, d = len(first), velocity.shape[1]
    imaged = len(offset) == m
    body, val = np.empty(ptr[-1], np.int64), np.empty((ptr[-1], d))
    tangent = np.empty((2 * ptr[-1] if rubs else 0, d))
    w, wt = np.zeros(m), np.zeros(2 * m if rubs else 0)
    for i in range(m):
        nx, ny, nz = normal[i, 0], normal[i, 1], normal[i, 2]
        sx, sy, sz, tx, ty, tz = tangents_of(nx, ny, nz)
        begin, count = ptr[i], ptr[i + 1] - ptr[i]
        e = begin
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = first[i] if side == 0 else second[i]
            vx = vy = vz = 0.0
            if b >= 0:
                rx, ry, rz = point[i, 0] - position[b, 0], point[i, 1] - position[b, 1], point[i, 2] - position[b, 2]
                if side == 1 and imaged:
                    rx, ry, rz = rx - offset[i, 0], ry - offset[i, 1], rz - offset[i, 2]
                    vx, vy, vz = drift[i, 0], drift[i, 1], drift[i, 2]
                if free[b]:
                    body[e] = b
                    _entry(val, e, sign, nx, ny, nz, rx, ry, rz, turn[b], root[b])
                    if rubs:
                        at = begin + e
                        _entry(tangent, at, sign, sx, sy, sz, rx, ry, rz, turn[b], root[b])
                        _entry(tangent, at + count, sign, tx, ty, tz, rx, ry, rz, turn[b], root[b])
                    e += 1
                else:
                    ox, oy, oz = _spin_in_world(velocity[b], turn[b])
                    vx, vy, vz = vx + velocity[b, 0], vy + velocity[b, 1], vz + velocity[b, 2]
                    vx, vy, vz = vx + oy * rz - oz * ry, vy + oz * rx - ox * rz, vz + ox * ry - oy * rx
            else:
                k = -1 - b
                rx, ry, rz = point[i, 0] - center[k, 0], point[i, 1] - center[k, 1], point[i, 2] - center[k, 2]
                v = boundary_velocity[k]
                vx, vy, vz = v[0] + v[4] * rz - v[5] * ry, v[1] + v[5] * rx - v[3] * rz, v[2] + v[3] * ry - v[4] * rx
            w[i] += sign * (nx * vx + ny * vy + nz * vz)
            if rubs:
                wt[2 * i] += sign * (sx * vx + sy * vy + sz * vz)
                wt[2 * i + 1] += sign * (tx * vx + ty * vy + tz * vz)
    return body, val, tangent, w, wt
