"""Whitened rows of contacts in 2D and 3D: normal rows, tangent rows, and the speeds of what cannot be pushed.

In 3D spins are about the bodies' own axes: an arm r and a direction e give the entry `R^T (r x e)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.contact_set import DRIFT, FIRST, NORMAL, OFFSET, POINT, SECOND, WIDTH, vector
from ..geometry.vectors import Vec3, cross, dot, row3
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


class Motion(NamedTuple):
    """Where the bodies and boundaries of a world are, how they move, and how bodies resist."""

    position: Floats  # (n, D)
    velocity: Floats  # (n, d)
    turn: Floats  # (n, 3, 3) rotation matrices from body to world; not used in 2D
    root: Floats  # (n, d) inverse square root of the mass
    center: Floats  # (w, D) of boundaries
    boundary_velocity: Floats  # (w, 3 or 6)


@kernel
def contact_bodies(table, free):
    """Bodies (m, 2) that impulses move, of a table of contacts; -1 for boundaries and bodies that are not free."""
    body = np.empty((len(table), 2), np.int64)
    for i in range(len(table)):
        first, second = int(table[i, FIRST]), int(table[i, SECOND])
        body[i, 0] = first if free[first] else -1
        body[i, 1] = second if second >= 0 and free[second] else -1
    return body


@kernel(inline="always")
def _velocity_at(velocity, spin, arm):
    """The velocity of the point at an arm from a center: `v + spin x arm`."""
    return Vec3(
        velocity.x + spin.y * arm.z - spin.z * arm.y,
        velocity.y + spin.z * arm.x - spin.x * arm.z,
        velocity.z + spin.x * arm.y - spin.y * arm.x,
    )


@lean
def blocks_2d(table, motion, body, val, base):
    """Adds the entries of the rows of each contact to `val`, and the speeds that no impulse can change to `base`.

    Both must be zero before, of shapes (m, 2, rows, d) and (m, rows). The rows are the normal, the tangent (the normal
    rotated by 90 degrees counterclockwise), and relative rotation; the first `rows` of them are made. `body` (m, 2) is
    that of `contact_bodies`.
    """
    (m, rows), d = base.shape, motion.velocity.shape[1]
    imaged = table.shape[1] > WIDTH
    for i in range(m):
        normal, point = vector(table, i, NORMAL), vector(table, i, POINT)
        tangent = Vec3(-normal.y, normal.x, 0.0)
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = int(table[i, FIRST + side])
            v, spin = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
            if b >= 0:
                arm = point - Vec3(motion.position[b, 0], motion.position[b, 1], 0.0)
                if side == 1 and imaged:
                    arm, v = arm - vector(table, i, OFFSET), vector(table, i, DRIFT)
                if body[i, side] >= 0:
                    out, root = val[i, side], motion.root[b]
                    _entry_2d(out[0], sign, normal, arm, root)
                    if rows > 1:
                        _entry_2d(out[1], sign, tangent, arm, root)
                    if rows > 2:
                        out[2, 2] = sign * root[2]
                else:
                    spin = Vec3(0.0, 0.0, motion.velocity[b, 2] if d == 3 else 0.0)
                    v = _velocity_at(v + Vec3(motion.velocity[b, 0], motion.velocity[b, 1], 0.0), spin, arm)
            else:
                k = -1 - b
                arm = point - Vec3(motion.center[k, 0], motion.center[k, 1], 0.0)
                moving = motion.boundary_velocity[k]
                spin = Vec3(0.0, 0.0, moving[2])
                v = _velocity_at(Vec3(moving[0], moving[1], 0.0), spin, arm)
            base[i, 0] += sign * dot(normal, v)
            if rows > 1:
                base[i, 1] += sign * dot(tangent, v)
            if rows > 2:
                base[i, 2] += sign * spin.z


@kernel(inline="always")
def _entry_2d(val, sign, e, arm, root):
    """Writes the entry (d,) of one body in the row of the direction e at an arm."""
    val[0], val[1] = sign * e.x * root[0], sign * e.y * root[1]
    if len(val) == 3:
        val[2] = sign * (arm.x * e.y - arm.y * e.x) * root[2]


@kernel(inline="always")
def _entry(val, sign, e, arm, turn, root):
    """Writes the entry (d,) of one body in the row of the direction e at an arm."""
    val[0], val[1], val[2] = sign * e.x * root[0], sign * e.y * root[1], sign * e.z * root[2]
    if len(root) == 6:
        _turning(val, sign, cross(arm, e), turn, root)


@kernel(inline="always")
def _turning(val, sign, torque, turn, root):
    """Writes the angular part of an entry (6,), from the torque in the world frame."""
    for k in range(3):
        val[3 + k] = sign * (turn[0, k] * torque.x + turn[1, k] * torque.y + turn[2, k] * torque.z) * root[3 + k]


@kernel
def _spin_in_world(velocity, turn):
    """Angular velocity of a body in the world frame; zero if bodies do not rotate."""
    if len(velocity) < 6:
        return Vec3(0.0, 0.0, 0.0)
    spin = Vec3(velocity[3], velocity[4], velocity[5])
    return Vec3(dot(row3(turn, 0), spin), dot(row3(turn, 1), spin), dot(row3(turn, 2), spin))


@lean
def blocks_3d(table, motion, body, val, base):
    """As `blocks_2d`; the rows are the normal, two tangents, rotation about both tangents, and about the normal."""
    m, rows = base.shape
    imaged = table.shape[1] > WIDTH
    for i in range(m):
        normal, point = vector(table, i, NORMAL), vector(table, i, POINT)
        sx, sy, sz, tx, ty, tz = tangents_of(normal.x, normal.y, normal.z)
        s, t = Vec3(sx, sy, sz), Vec3(tx, ty, tz)
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            b = int(table[i, FIRST + side])
            v, spin = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
            if b >= 0:
                arm = point - row3(motion.position, b)
                if side == 1 and imaged:
                    arm, v = arm - vector(table, i, OFFSET), vector(table, i, DRIFT)
                turn = motion.turn[b]
                if body[i, side] >= 0:
                    out, root = val[i, side], motion.root[b]
                    _entry(out[0], sign, normal, arm, turn, root)
                    if rows > 1:
                        _entry(out[1], sign, s, arm, turn, root)
                        _entry(out[2], sign, t, arm, turn, root)
                    if rows > 3:
                        _turning(out[3], sign, s, turn, root)
                        _turning(out[4], sign, t, turn, root)
                        _turning(out[5], sign, normal, turn, root)
                else:
                    spin = _spin_in_world(motion.velocity[b], turn)
                    v = _velocity_at(v + row3(motion.velocity, b), spin, arm)
            else:
                k = -1 - b
                moving = motion.boundary_velocity[k]
                spin = Vec3(moving[3], moving[4], moving[5])
                v = _velocity_at(row3(motion.boundary_velocity, k), spin, point - row3(motion.center, k))
            base[i, 0] += sign * dot(normal, v)
            if rows > 1:
                base[i, 1] += sign * dot(s, v)
                base[i, 2] += sign * dot(t, v)
            if rows > 3:
                base[i, 3] += sign * dot(s, spin)
                base[i, 4] += sign * dot(t, spin)
                base[i, 5] += sign * dot(normal, spin)
