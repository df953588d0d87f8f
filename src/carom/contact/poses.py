"""Poses of parts in the frame of the world at the start and at the end of a step, for the narrow phase in 3D.

A pose is a row of 12 numbers: the origin of a frame, and its rotation matrix row by row. All poses are in one array,
which keeps calls of kernels cheap: Numba counts references for every array that it passes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints


class Poses(NamedTuple):
    """Poses of all bodies, then of their periodic images: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 3)
    turn0: Floats  # (rows, 3, 3) from the body's frame to the world's
    position1: Floats  # (rows, 3)
    turn1: Floats  # (rows, 3, 3)


class Placed(NamedTuple):
    """Poses of the parts of all rows of `Poses` that some pair needs.

    They are in one array: rows 0 to k - 1 at the start of the step, k to 2 k - 1 after free flight, and two more for a
    time between them, see `midway`.
    """

    ptr: Ints  # (rows + 1,) row r owns parts ptr[r]:ptr[r+1]
    part: Ints  # (k,) index into the parts of Shapes3D
    pose: Floats  # (2 k + 2, 12)
    pose0: Floats  # (k, 12) the first rows of `pose`
    pose1: Floats  # (k, 12) and the next
    chord: Floats  # (rows,) 2 sin(angle / 2) of the rotation in the step: largest displacement at distance 1


@kernel
def put_pose(position, turn, r, place, part_turn, part, out, k):
    """Writes row k of `out`: the pose of a part, from that of the body in row r."""
    x, y, z = place[part, 0], place[part, 1], place[part, 2]
    for i in range(3):
        a, b, c = turn[r, i, 0], turn[r, i, 1], turn[r, i, 2]
        out[k, i] = position[r, i] + (a * x + b * y + c * z)
        for j in range(3):
            out[k, 3 + 3 * i + j] = a * part_turn[part, 0, j] + b * part_turn[part, 1, j] + c * part_turn[part, 2, j]


@kernel
def placed_parts(shapes, poses, needed):
    """The poses of all parts of the rows that `needed` (rows,) marks."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + (shapes.part_ptr[body + 1] - shapes.part_ptr[body] if needed[r] else 0)
    total = ptr[rows]
    pose = np.empty((2 * total + 2, 12))
    placed = Placed(ptr, np.empty(total, np.int64), pose, pose[:total], pose[total : 2 * total], np.zeros(rows))
    for r in range(rows):
        if not needed[r]:
            continue
        square = 0.0
        for i in range(3):
            for j in range(3):
                square += (poses.turn1[r, i, j] - poses.turn0[r, i, j]) ** 2
        placed.chord[r] = np.sqrt(0.5 * square)
        for k in range(ptr[r], ptr[r + 1]):
            part = shapes.part_ptr[poses.owner[r]] + k - ptr[r]
            placed.part[k] = part
            put_pose(poses.position0, poses.turn0, r, shapes.place, shapes.turn, part, pose, k)
            put_pose(poses.position1, poses.turn1, r, shapes.place, shapes.turn, part, pose, total + k)
    return placed


@kernel
def needed_rows(rows, first, second):
    """Which rows occur in a list of pairs."""
    out = np.zeros(rows, np.bool_)
    for k in range(len(first)):
        out[first[k]] = True
        out[second[k]] = True
    return out


@kernel
def midway(pose, before, after, time, out):
    """Writes row `out` of `pose`: the pose of a part at a time (0 to 1) between rows `before` and `after`.

    Its origin moves on a straight line; its axes are the weighted mean of both, made orthonormal.
    """
    for i in range(12):
        pose[out, i] = (1.0 - time) * pose[before, i] + time * pose[after, i]
    ax, ay, az = pose[out, 3], pose[out, 6], pose[out, 9]
    scale = 1.0 / np.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = scale * ax, scale * ay, scale * az
    bx, by, bz = pose[out, 4], pose[out, 7], pose[out, 10]
    along = ax * bx + ay * by + az * bz
    bx, by, bz = bx - along * ax, by - along * ay, bz - along * az
    scale = 1.0 / np.sqrt(bx * bx + by * by + bz * bz)
    bx, by, bz = scale * bx, scale * by, scale * bz
    pose[out, 3], pose[out, 4], pose[out, 5] = ax, bx, ay * bz - az * by
    pose[out, 6], pose[out, 7], pose[out, 8] = ay, by, az * bx - ax * bz
    pose[out, 9], pose[out, 10], pose[out, 11] = az, bz, ax * by - ay * bx


@kernel
def to_local(pose, k, x, y, z):
    """A direction, given in the frame of the world, in the frame of pose k."""
    return (
        pose[k, 3] * x + pose[k, 6] * y + pose[k, 9] * z,
        pose[k, 4] * x + pose[k, 7] * y + pose[k, 10] * z,
        pose[k, 5] * x + pose[k, 8] * y + pose[k, 11] * z,
    )


@kernel
def to_world(pose, k, x, y, z):
    """A direction, given in the frame of pose k, in the frame of the world."""
    return (
        pose[k, 3] * x + pose[k, 4] * y + pose[k, 5] * z,
        pose[k, 6] * x + pose[k, 7] * y + pose[k, 8] * z,
        pose[k, 9] * x + pose[k, 10] * y + pose[k, 11] * z,
    )


@kernel
def point_local(pose, k, x, y, z):
    """A point, given in the frame of the world, in the frame of pose k."""
    return to_local(pose, k, x - pose[k, 0], y - pose[k, 1], z - pose[k, 2])


@kernel
def point_world(pose, k, x, y, z):
    """A point, given in the frame of pose k, in the frame of the world."""
    x, y, z = to_world(pose, k, x, y, z)
    return pose[k, 0] + x, pose[k, 1] + y, pose[k, 2] + z


@kernel
def put_motion(pose, k, m, motion, i, w):
    """Writes motion (i, w), 12 numbers (o, D): the map x -> D x + o that carries a part from pose k to pose m."""
    for row in range(3):
        shift = pose[m, row]
        for column in range(3):
            d = 0.0
            for j in range(3):
                d += pose[m, 3 + 3 * row + j] * pose[k, 3 + 3 * column + j]
            motion[i, w, 3 + 3 * row + column] = d
            shift -= d * pose[k, column]
        motion[i, w, row] = shift


@kernel
def moved(motion, i, w, x, y, z):
    """A point carried by a motion."""
    return (
        motion[i, w, 0] + (motion[i, w, 3] * x + motion[i, w, 4] * y + motion[i, w, 5] * z),
        motion[i, w, 1] + (motion[i, w, 6] * x + motion[i, w, 7] * y + motion[i, w, 8] * z),
        motion[i, w, 2] + (motion[i, w, 9] * x + motion[i, w, 10] * y + motion[i, w, 11] * z),
    )


@kernel
def swung(motion, i, w, x, y, z):
    """A direction carried by a motion."""
    return (
        motion[i, w, 3] * x + motion[i, w, 4] * y + motion[i, w, 5] * z,
        motion[i, w, 6] * x + motion[i, w, 7] * y + motion[i, w, 8] * z,
        motion[i, w, 9] * x + motion[i, w, 10] * y + motion[i, w, 11] * z,
    )


@kernel
def relative(pose, k, other, out):
    """The map from the frame of pose k to that of pose `other`: out[:9] a matrix, out[9:] a shift."""
    p, q = pose[k], pose[other]
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = q[3 + i] * p[3 + j] + q[6 + i] * p[6 + j] + q[9 + i] * p[9 + j]
        out[9 + i] = q[3 + i] * dx + q[6 + i] * dy + q[9 + i] * dz


@kernel
def mapped(m, x, y, z):
    return (
        m[0] * x + m[1] * y + m[2] * z + m[9],
        m[3] * x + m[4] * y + m[5] * z + m[10],
        m[6] * x + m[7] * y + m[8] * z + m[11],
    )


@kernel
def outward_of(point, outward, s, m):
    """The outward direction at point s, mapped by m; for vertices, which have none, the direction from the origin."""
    x, y, z = outward[s, 0], outward[s, 1], outward[s, 2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        length = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / length, y / length, z / length
    x, y, z = mapped(m, x, y, z)
    return x - m[9], y - m[10], z - m[11]
