"""Where solids are in a step, as tables that the kernels of the narrow phase read.

A pose is a row of 12 numbers, the place of a frame's origin and its rotation matrix row by row; a motion is a row of
15 numbers (p, D, q) that carries x to q + D (x - p). One array instead of many keeps the calls of kernels cheap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints


class Poses(NamedTuple):
    """Where all bodies are, and after them their periodic copies: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 3)
    turn0: Floats  # (rows, 3, 3) from the body's frame to the world's
    position1: Floats  # (rows, 3)
    turn1: Floats  # (rows, 3, 3)


class Placed(NamedTuple):
    """Parts of all rows of `Poses` in the world. Rows that no pair needs are left empty.

    The last two rows of `pose0`, and the last four of `motion`, are free for a moment between 0 and 1: see `midway`.
    """

    ptr: Ints  # (rows + 1,) row r owns parts ptr[r]:ptr[r+1]
    part: Ints  # (k,) index into the parts of Solids
    pose0: Floats  # (k + 2, 12) at the start of the step
    pose1: Floats  # (k, 12) after free flight
    motion: Floats  # (rows + 4, 15) from the start to the end of the step
    chord: Floats  # (rows,) 2 sin(angle / 2) of its turn in the step: farthest move of a point at distance 1


@njit(cache=True, nogil=True, error_model="numpy")
def _put_pose(position, turn, place, part_turn, out):
    """Pose of a part in the world, from that of the body."""
    for i in range(3):
        out[i] = position[i] + (turn[i, 0] * place[0] + turn[i, 1] * place[1] + turn[i, 2] * place[2])
        for j in range(3):
            out[3 + 3 * i + j] = (
                turn[i, 0] * part_turn[0, j] + turn[i, 1] * part_turn[1, j] + turn[i, 2] * part_turn[2, j]
            )


@njit(cache=True, nogil=True, error_model="numpy")
def _put_motion(p, turn_from, q, turn_to, out):
    """The motion from one pose of a body to another: D = turn_to turn_from^T."""
    for i in range(3):
        out[i] = p[i]
        out[12 + i] = q[i]
        for j in range(3):
            out[3 + 3 * i + j] = (
                turn_to[i, 0] * turn_from[j, 0] + turn_to[i, 1] * turn_from[j, 1] + turn_to[i, 2] * turn_from[j, 2]
            )


@njit(cache=True, nogil=True, error_model="numpy")
def placed_parts(solids, poses, needed):
    """The table of parts. `needed` (rows,) says which rows any pair needs."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + (solids.part_ptr[body + 1] - solids.part_ptr[body] if needed[r] else 0)
    total = ptr[rows]
    placed = Placed(
        ptr,
        np.empty(total, np.int64),
        np.empty((total + 2, 12)),
        np.empty((total, 12)),
        np.empty((rows + 4, 15)),
        np.zeros(rows),
    )
    for r in range(rows):
        if not needed[r]:
            continue
        body = poses.owner[r]
        p0, t0, p1, t1 = poses.position0[r], poses.turn0[r], poses.position1[r], poses.turn1[r]
        _put_motion(p0, t0, p1, t1, placed.motion[r])
        square = 0.0
        for i in range(3):
            for j in range(3):
                square += (t1[i, j] - t0[i, j]) ** 2
        placed.chord[r] = np.sqrt(0.5 * square)
        for k in range(ptr[r], ptr[r + 1]):
            part = solids.part_ptr[body] + k - ptr[r]
            placed.part[k] = part
            _put_pose(p0, t0, solids.place[part], solids.turn[part], placed.pose0[k])
            _put_pose(p1, t1, solids.place[part], solids.turn[part], placed.pose1[k])
    return placed


@njit(cache=True, nogil=True, error_model="numpy")
def needed_rows(rows, first, second):
    """Which rows occur in a list of pairs."""
    out = np.zeros(rows, np.bool_)
    for k in range(len(first)):
        out[first[k]] = True
        out[second[k]] = True
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _between(turn0, turn1, time, out):
    """A rotation between two: the mean of the matrices with its columns made orthonormal."""
    for i in range(3):
        for j in range(3):
            out[i, j] = (1.0 - time) * turn0[i, j] + time * turn1[i, j]
    for j in range(2):
        if j == 1:
            along = out[0, 0] * out[0, 1] + out[1, 0] * out[1, 1] + out[2, 0] * out[2, 1]
            for i in range(3):
                out[i, 1] -= along * out[i, 0]
        length = np.sqrt(out[0, j] ** 2 + out[1, j] ** 2 + out[2, j] ** 2)
        for i in range(3):
            out[i, j] /= length
    for i in range(3):
        m, n = (i + 1) % 3, (i + 2) % 3
        out[i, 2] = out[m, 0] * out[n, 1] - out[n, 0] * out[m, 1]


@njit(cache=True, nogil=True, error_model="numpy")
def midway(solids, poses, placed, row, k, side, time):
    """Puts part k of `row` where it is at `time` (0 to 1) of the step into the spare rows of side 0 or 1.

    Returns the rows: of the pose, of the motion to the end of the step, of the motion back to its start.
    """
    rows = len(poses.owner)
    turn, position = np.empty((3, 3)), np.empty(3)
    _between(poses.turn0[row], poses.turn1[row], time, turn)
    for i in range(3):
        position[i] = poses.position0[row, i] + time * (poses.position1[row, i] - poses.position0[row, i])
    pose, on, back = len(placed.part) + side, rows + side, rows + 2 + side
    part = placed.part[k]
    _put_pose(position, turn, solids.place[part], solids.turn[part], placed.pose0[pose])
    _put_motion(position, turn, poses.position1[row], poses.turn1[row], placed.motion[on])
    _put_motion(position, turn, poses.position0[row], poses.turn0[row], placed.motion[back])
    return pose, on, back


@njit(cache=True, nogil=True, error_model="numpy")
def moved(motion, row, x, y, z):
    """A point carried by a motion."""
    x, y, z = x - motion[row, 0], y - motion[row, 1], z - motion[row, 2]
    return (
        motion[row, 12] + (motion[row, 3] * x + motion[row, 4] * y + motion[row, 5] * z),
        motion[row, 13] + (motion[row, 6] * x + motion[row, 7] * y + motion[row, 8] * z),
        motion[row, 14] + (motion[row, 9] * x + motion[row, 10] * y + motion[row, 11] * z),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def swung(motion, row, x, y, z):
    """A direction carried by a motion."""
    return (
        motion[row, 3] * x + motion[row, 4] * y + motion[row, 5] * z,
        motion[row, 6] * x + motion[row, 7] * y + motion[row, 8] * z,
        motion[row, 9] * x + motion[row, 10] * y + motion[row, 11] * z,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def to_local(pose, k, x, y, z):
    """A direction of the world in the frame of pose k."""
    return (
        pose[k, 3] * x + pose[k, 6] * y + pose[k, 9] * z,
        pose[k, 4] * x + pose[k, 7] * y + pose[k, 10] * z,
        pose[k, 5] * x + pose[k, 8] * y + pose[k, 11] * z,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def to_world(pose, k, x, y, z):
    """A direction of the frame of pose k in the world."""
    return (
        pose[k, 3] * x + pose[k, 4] * y + pose[k, 5] * z,
        pose[k, 6] * x + pose[k, 7] * y + pose[k, 8] * z,
        pose[k, 9] * x + pose[k, 10] * y + pose[k, 11] * z,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def point_local(pose, k, x, y, z):
    """A point of the world in the frame of pose k."""
    return to_local(pose, k, x - pose[k, 0], y - pose[k, 1], z - pose[k, 2])


@njit(cache=True, nogil=True, error_model="numpy")
def point_world(pose, k, x, y, z):
    """A point of the frame of pose k in the world."""
    x, y, z = to_world(pose, k, x, y, z)
    return pose[k, 0] + x, pose[k, 1] + y, pose[k, 2] + z
