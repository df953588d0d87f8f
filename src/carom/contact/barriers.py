"""Boundaries of space: where they are at a time, and how fast they move in a step."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..solvers.rows import Floats
from ..world import Barriers, World


def barriers_at(world: World, time: float, step: float) -> tuple[Barriers, Barriers]:
    """The boundaries at `time` and at `time + step`, both with the velocities that lead from one to the other."""
    if not any(motion.kind != "fixed" for motion in world.wall_motions):
        return world.walls, world.walls
    start, turn0 = _moved(world, time)
    end, turn1 = _moved(world, time + step)
    velocity = np.zeros((len(turn0), 6))
    if step > 0.0:
        velocity[:, :3] = (end.centre - start.centre) / step
        velocity[:, 3:] = rotations.vector_between(turn0, turn1) / step
    return start._replace(velocity=velocity), end._replace(velocity=velocity)


def _moved(world: World, time: float) -> tuple[Barriers, Floats]:
    home: Barriers = world.walls
    pose = np.array([motion.pose(time, 3) for motion in world.wall_motions], dtype=np.float64).reshape(-1, 6)
    turn = rotations.of_vector(np.ascontiguousarray(pose[:, 3:]))
    centre = home.centre + pose[:, :3]
    point = centre + rotations.turned(turn, home.point - home.centre)
    return Barriers(home.kind, point, rotations.turned(turn, home.axis), home.radius, centre, home.velocity), turn
