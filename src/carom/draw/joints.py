"""Joints of a world as lines and points, in the world's lengths: the same for all back ends, in 2D and 3D.

A rod is a line, a rope one that sags while it is slack, a spring a zigzag with a fixed number of turns, a slider a line
along its axis, a hinge a short line along its axis. Pins, ball joints and welds are points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..mechanism import NOT_DRAWN
from ..solvers.rows import Floats
from ..world import State, World

SAG_PIECES = 12  # straight pieces of a slack rope
BISECTIONS = 20  # of the search for its sag
TURNS = 8  # of a spring
SPRING_WIDTH = 0.5  # of a spring, in units of the length scale of the world
AXIS_LENGTH = 2.0  # of the line of a hinge or a slider to either side, in the same units


class DrawnJoints(NamedTuple):
    """What is drawn of the joints of a world."""

    lines: list[Floats]  # (k, D) polygonal lines
    points: Floats  # (m, D)


def drawn_joints(world: World, state: State) -> DrawnJoints:
    """The lines and points of all joints in a state; none for a world without joints."""
    joints, dim = world.joints, world.dimension
    if joints is None:
        return DrawnJoints([], np.empty((0, dim)))
    lines, points = [], []
    ends = joints.ends(state.position, state.orientation)
    down = np.zeros(3)
    size = float(np.linalg.norm(world.gravity))
    down[:dim] = world.gravity / size if size else 0.0
    for k, kind in enumerate(joints.kinds):
        if kind == NOT_DRAWN:
            continue
        p, q = ends[k]
        if kind == "rope":
            lines.append(_sagging(p, q, float(joints.length[k]), down))
        elif kind == "spring":
            lines.append(_zigzag(p, q, SPRING_WIDTH * world.length_scale))
        elif kind == "rod":
            lines.append(np.stack([p, q]))
        elif joints.axis[k].any():
            lines.append(_axis(world, state, k, p))
        if kind not in ("rope", "spring", "slider"):
            points += [p, q] if kind == "rod" else [p]
    return DrawnJoints([line[:, :dim] for line in lines], np.array(points).reshape(-1, 3)[:, :dim])


def _axis(world: World, state: State, k: int, point: Floats) -> Floats:
    """A line along the axis of joint k."""
    from ..mechanism import ends_of

    assert world.joints is not None
    reach = AXIS_LENGTH * world.length_scale * world.joints.axis[k] / np.linalg.norm(world.joints.axis[k])
    anchor = world.joints.anchor[k, 0]
    body = np.full((1, 2), world.joints.pairs[k, 0], np.int64)
    turn = state.orientation.reshape(world.count, -1)
    both = np.stack([anchor - reach, anchor + reach])[None]
    return np.asarray(ends_of(body, np.ascontiguousarray(both), state.position, turn)[0])


def _sagging(p: Floats, q: Floats, length: float, down: Floats) -> Floats:
    """A parabola of the given length between two points."""
    apart = float(np.linalg.norm(q - p))
    if length <= apart * (1.0 + 1e-9):
        return np.stack([p, q])
    t = np.linspace(0.0, 1.0, SAG_PIECES + 1)[:, None]
    low, high = 0.0, length  # of the sag, by bisection
    for _ in range(BISECTIONS):
        sag = 0.5 * (low + high)
        line = p + t * (q - p) + 4.0 * sag * t * (1.0 - t) * (down if down.any() else np.array([0.0, -1.0, 0.0]))
        short = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()) < length
        low, high = (sag, high) if short else (low, sag)
    return np.asarray(line)


def _zigzag(p: Floats, q: Floats, width: float) -> Floats:
    """A spring between two points, with straight ends."""
    along = q - p
    size = float(np.linalg.norm(along))
    if size == 0.0:
        return np.stack([p, q])
    side = np.array([-along[1], along[0], 0.0]) if abs(along[2]) < 0.9 * size else np.array([along[2], 0.0, -along[0]])
    side *= width / np.linalg.norm(side)
    t = np.concatenate([[0.0, 0.1], 0.1 + 0.8 * (np.arange(2 * TURNS) + 0.5) / (2 * TURNS), [0.9, 1.0]])
    sign = np.concatenate([[0.0, 0.0], np.tile([1.0, -1.0], TURNS), [0.0, 0.0]])
    return np.asarray(p + t[:, None] * along + sign[:, None] * side)
