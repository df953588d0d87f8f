"""The times at which the devices of the scene `rube_goldberg` were triggered, measured from its trajectory."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scenes.rube_goldberg import LOWER, RADIUS
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .runs import members

MOVED = 0.1 * RADIUS  # distance from the start at which a ball or card has moved
TIPPED, FALLEN = np.radians(5.0), np.radians(45.0)  # angle from the start at which a body has tipped, or has fallen


def stages(run: Trajectory) -> dict[str, float]:
    """The time of each stage in the order of the machine: the first frame that shows it, infinite if none does."""
    if run.scene.name != "rube_goldberg":
        raise ProblemError("scene", run.scene.name, "a run of rube_goldberg")
    pillars = [group.name for group in run.scene.bodies if group.name.startswith("pillar")]
    height = np.asarray(run.positions)[:, members(run, "rack"), 2]
    shown = {
        "first ball": way(run, "first ball").max(axis=1) > MOVED,
        "cradle": way(run, "cradle")[:, -1] > MOVED,
        "card house": way(run, "cards").max(axis=1) > MOVED,
        "first domino": turn(run, "dominoes")[:, 0] > TIPPED,
        "last domino": turn(run, "dominoes")[:, -1] > TIPPED,
        "seesaw": turn(run, "seesaw")[:, 0] > TIPPED,
        "cue ball": way(run, "cue ball")[:, 0] > RADIUS,  # it lies at the gate, which opens while it starts to roll
        "rack": way(run, "rack").max(axis=1) > MOVED,
        "second spiral": height.min(axis=1) < LOWER + 0.5 * RADIUS,
        "first pillar": turn(run, pillars[0])[:, 0] > TIPPED,
        "last pillar": turn(run, pillars[-1])[:, 0] > FALLEN,
    }
    return {name: float(run.time[np.argmax(seen)]) if seen.any() else np.inf for name, seen in shown.items()}


def way(run: Trajectory, name: str) -> Floats:
    """Distance (frames, bodies) of each body of a group from its start."""
    position = np.asarray(run.positions)[:, members(run, name)]
    distance: Floats = np.linalg.norm(position - position[0], axis=2)
    return distance


def turn(run: Trajectory, name: str) -> Floats:
    """Angle (frames, bodies) between the orientation of each body of a group and its orientation at the start."""
    orientation = np.asarray(run.orientations)[:, members(run, name)]
    same = np.abs((orientation * orientation[0]).sum(axis=2))
    angle: Floats = 2.0 * np.arccos(np.minimum(same, 1.0))
    return angle
