"""Boundaries at an instant: where they are, and how fast they move in a step."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..solvers.rows import Floats
from ..world import SEGMENT, Boundaries, World


def boundaries_at(world: World, time: float, step: float) -> tuple[Boundaries, Boundaries]:
    """The boundaries at `time` and at `time + step`, both with the velocities that lead from one to the other.

    The velocity of a boundary in a step is its displacement over the step: it is where its motion says at the end.
    """
    if not any(motion.kind != "fixed" for motion in world.boundary_motions):
        return world.boundaries, world.boundaries
    moved = _moved_2d if world.dimension == 2 else _moved_3d
    start, pose0, turn0 = moved(world, time)
    end, pose1, turn1 = moved(world, time + step)
    velocity = np.zeros_like(world.boundaries.velocity)
    if step > 0.0:
        dim = world.dimension
        velocity[:, :dim] = (pose1 - pose0) / step
        velocity[:, dim:] = (turn1 - turn0 if dim == 2 else rotations.vector_between(turn0, turn1)) / step
    return start._replace(velocity=velocity), end._replace(velocity=velocity)


def _moved_2d(world: World, time: float) -> tuple[Boundaries, Floats, Floats]:
    home = world.boundaries
    pose = np.array([motion.pose(time) for motion in world.boundary_motions], dtype=np.float64).reshape(-1, 3)
    cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])

    def turned(vector: Floats) -> Floats:
        return np.stack([cos * vector[:, 0] - sin * vector[:, 1], sin * vector[:, 0] + cos * vector[:, 1]], axis=1)

    center = home.center + pose[:, :2]
    point = center + turned(home.point - home.center)
    segment = (home.kind == SEGMENT)[:, None]
    axis = np.where(segment, center + turned(home.axis - home.center), turned(home.axis))
    # The speed of a point is that of its secant: distances from the center are taken half way through the step.
    return Boundaries(home.kind, point, axis, home.radius, center, home.velocity), pose[:, :2], pose[:, 2:]


def _moved_3d(world: World, time: float) -> tuple[Boundaries, Floats, Floats]:
    home = world.boundaries
    pose = np.array([motion.pose(time, 3) for motion in world.boundary_motions], dtype=np.float64).reshape(-1, 6)
    turn = rotations.of_vector(np.ascontiguousarray(pose[:, 3:]))
    center = home.center + pose[:, :3]
    point = center + rotations.turned(turn, home.point - home.center)
    axis = rotations.turned(turn, home.axis)
    return Boundaries(home.kind, point, axis, home.radius, center, home.velocity), center, turn
