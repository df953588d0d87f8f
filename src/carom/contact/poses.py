"""Poses of parts in the frame of the world at the start and at the end of a step, for the narrow phase in 3D.

Kernels compute with `Pose` values. In tables a pose is a row of 12 numbers: the origin of a frame, and its rotation
matrix row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Mat3, Pose, Vec3, cross, dot, norm, row3, times, to_local, to_world, transposed
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
    """Poses of the parts of all rows of `Poses` that some pair needs."""

    poses: Poses  # of the rows
    ptr: Ints  # (rows + 1,) row r owns parts ptr[r]:ptr[r+1]
    part: Ints  # (k,) index into the parts of Shapes3D
    pose0: Floats  # (k, 12) at the start of the step
    pose1: Floats  # (k, 12) after free flight
    chord: Floats  # (rows,) 2 sin(angle / 2) of the rotation in the step: largest displacement at distance 1


class StepPoses(NamedTuple):
    """Poses of a part at the start and at the end of the step, and when its features are determined."""

    start: Pose
    end: Pose
    now: Pose


@kernel(inline="always")
def pose_at(table, k):
    """The pose in row k of a table (m, 12)."""
    x = Vec3(table[k, 3], table[k, 4], table[k, 5])
    y = Vec3(table[k, 6], table[k, 7], table[k, 8])
    return Pose(row3(table, k), Mat3(x, y, Vec3(table[k, 9], table[k, 10], table[k, 11])))


@kernel(inline="always")
def put_pose(table, k, pose):
    """Writes a pose to row k of a table."""
    for i in range(3):
        table[k, i] = pose.position[i]
        for j in range(3):
            table[k, 3 + 3 * i + j] = pose.turn[i][j]


@kernel(inline="always")
def matrix_at(table, k):
    """The matrix k of a table (m, 3, 3)."""
    return Mat3(row3(table[k], 0), row3(table[k], 1), row3(table[k], 2))


@kernel(inline="always")
def world_point(pose, a):
    """A point, given in the frame of a pose, in the frame of the world."""
    return pose.position + to_world(pose.turn, a)


@kernel(inline="always")
def local_point(pose, a):
    """A point, given in the frame of the world, in the frame of a pose."""
    return to_local(pose.turn, a - pose.position)


@kernel
def relative_pose(pose, other):
    """A pose in the frame of another one: what maps points of its frame to the other frame."""
    axes = transposed(other.turn)
    turn = Mat3(to_local(pose.turn, axes.x), to_local(pose.turn, axes.y), to_local(pose.turn, axes.z))
    return Pose(local_point(other, pose.position), turn)


@kernel
def part_pose(body, shapes, part):
    """The pose of a part, from that of its body."""
    return Pose(world_point(body, row3(shapes.place, part)), times(body.turn, matrix_at(shapes.turn, part)))


@kernel(inline="always")
def midway(before, after, time):
    """The pose of a part at a time (0 to 1) between two poses.

    Its origin moves on a straight line; its axes are the weighted mean of both, made orthonormal.
    """
    old, new = transposed(before.turn), transposed(after.turn)
    a = (1.0 - time) * old.x + time * new.x
    a = (1.0 / norm(a)) * a
    b = (1.0 - time) * old.y + time * new.y
    b = b - dot(a, b) * a
    b = (1.0 / norm(b)) * b
    return Pose((1.0 - time) * before.position + time * after.position, transposed(Mat3(a, b, cross(a, b))))


@kernel
def motion_between(before, after):
    """The motion x -> D x + o that carries a part from one pose to another, as the pose (o, D)."""
    p, old, new = before.position, before.turn, after.turn
    d = Mat3(to_world(old, new.x), to_world(old, new.y), to_world(old, new.z))
    return Pose(
        Vec3(
            after.position.x - d.x.x * p.x - d.x.y * p.y - d.x.z * p.z,
            after.position.y - d.y.x * p.x - d.y.y * p.y - d.y.z * p.z,
            after.position.z - d.z.x * p.x - d.z.y * p.y - d.z.z * p.z,
        ),
        d,
    )


@kernel
def placed_parts(shapes, poses, needed):
    """The poses of all parts of the rows that `needed` (rows,) marks."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + (shapes.part_ptr[body + 1] - shapes.part_ptr[body] if needed[r] else 0)
    total = ptr[rows]
    placed = Placed(poses, ptr, np.empty(total, np.int64), np.empty((total, 12)), np.empty((total, 12)), np.zeros(rows))
    for r in range(rows):
        if not needed[r]:
            continue
        square = 0.0
        for i in range(3):
            for j in range(3):
                square += (poses.turn1[r, i, j] - poses.turn0[r, i, j]) ** 2
        placed.chord[r] = np.sqrt(0.5 * square)
        start = Pose(row3(poses.position0, r), matrix_at(poses.turn0, r))
        end = Pose(row3(poses.position1, r), matrix_at(poses.turn1, r))
        for k in range(ptr[r], ptr[r + 1]):
            part = shapes.part_ptr[poses.owner[r]] + k - ptr[r]
            placed.part[k] = part
            put_pose(placed.pose0, k, part_pose(start, shapes, part))
            put_pose(placed.pose1, k, part_pose(end, shapes, part))
    return placed


@kernel
def most_parts(shapes):
    """The largest number of parts of a body."""
    most = 1
    for i in range(len(shapes.part_ptr) - 1):
        most = max(most, shapes.part_ptr[i + 1] - shapes.part_ptr[i])
    return most


@kernel
def needed_rows(rows, first, second):
    """Which rows occur in a list of pairs."""
    out = np.zeros(rows, np.bool_)
    for k in range(len(first)):
        out[first[k]] = True
        out[second[k]] = True
    return out
