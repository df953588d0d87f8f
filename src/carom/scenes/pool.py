"""The pool break: a rack in the shape of a triangle, and a cue ball along its axis (Smith 2012, fig. 5)."""

from __future__ import annotations

import numpy as np

from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc
from ..scene.symmetry import mirror
from . import checks

RADIUS = 0.5


def pool_break(*, rows: int = 10, speed: float = 5.0, distance: float = 6.0, restitution: float = 1.0) -> Scene:
    """A cue ball breaks a rack of `rows` rows; ten make 55 + 1 balls.

    distance: from the cue ball to the foot of the rack, center to center, in radii. Balls have unit mass and radius
    1/2. The axis of the rack is y = 0, and balls on its two sides have bitwise opposite y.
    """
    rows, speed = checks.whole("rows", rows, 1), checks.positive("speed", speed)
    distance = checks.at_least("distance", distance, 2.0)
    ball = 2.0 * RADIUS
    place = [(-distance * RADIUS, 0.0)]
    for row in range(rows):
        x = row * ball * np.sqrt(0.75)
        place += [(x, ball * (2 * k - row) / 2) for k in range(row + 1)]
    velocity = np.zeros((len(place), 2))
    velocity[0, 0] = speed
    return Scene(
        name="pool_break",
        bodies=[Bodies(Disc(RADIUS), np.array(place), velocity, mass=1.0, rotates=False, name="balls")],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        step=0.01,
        duration=10.0,
        stepper="synchronous",
        description=f"A cue ball breaks a rack of {len(place) - 1} balls along its axis, with mirror symmetry.",
        symmetries=[mirror((1.0, 0.0))],
        parameters={"rows": rows, "speed": speed, "distance": distance, "restitution": restitution},
    )
