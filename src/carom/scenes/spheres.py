"""Spheres: the cradle, the rack, and a packing in a box."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Container, Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Sphere
from ..scene.symmetry import Symmetry
from . import checks


def cradle_3d(*, balls: int = 5, striking: int = 1, speed: float = 1.0, restitution: float = 1.0) -> Scene:
    """Newton's cradle of spheres along x: `striking` balls come in, as many must leave."""
    balls, striking = checks.whole("balls", balls, 2), checks.whole("striking", striking, 1)
    if striking >= balls:
        raise ProblemError("striking", striking, f"fewer than balls = {balls}")
    speed = checks.positive("speed", speed)
    place, velocity = np.zeros((balls, 3)), np.zeros((balls, 3))
    place[:, 0] = np.arange(balls)
    place[:striking, 0] -= 0.5
    velocity[:striking, 0] = speed
    return Scene(
        name="cradle_3d",
        bodies=[Bodies(Sphere(0.5), place, velocity, mass=1.0, name="balls")],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        step=0.01,
        duration=2.0 / speed,
        stepper="synchronous",
        description=f"{striking} of {balls} balls strike the others, which touch.",
        symmetries=[_mirror_y()],
        parameters={"balls": balls, "striking": striking, "speed": speed, "restitution": restitution},
    )


def pool_break_3d(*, rows: int = 5, speed: float = 5.0, distance: float = 6.0, restitution: float = 1.0) -> Scene:
    """A cue ball breaks a rack of 15 balls on a smooth table, under gravity.

    distance: from the cue ball to the foot of the rack, center to center, in radii. Balls have unit mass and radius
    1/2; balls on the two sides of the axis y = 0 have bitwise opposite y.
    """
    rows, speed = checks.whole("rows", rows, 1), checks.positive("speed", speed)
    distance = checks.at_least("distance", distance, 2.0)
    place = [(-0.5 * distance, 0.0, 0.5)]
    for row in range(rows):
        place += [(row * float(np.sqrt(0.75)), (2 * k - row) / 2, 0.5) for k in range(row + 1)]
    velocity = np.zeros((len(place), 3))
    velocity[0, 0] = speed
    return Scene(
        name="pool_break_3d",
        bodies=[Bodies(Sphere(0.5), np.array(place), velocity, mass=1.0, name="balls")],
        boundaries=[Plane()],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        gravity=(0.0, 0.0, -10.0),
        step=0.01,
        duration=5.0,
        stepper="drift_safe",
        description=f"A cue ball breaks a rack of {len(place) - 1} balls on a table.",
        symmetries=[_mirror_y()],
        parameters={"rows": rows, "speed": speed, "distance": distance, "restitution": restitution},
    )


def sphere_packing(
    *, count: int = 540, restitution: float = 0.3, friction: float = 0.3, side: float = 12.0, seed: int = 0
) -> Scene:
    """Spheres of diameter 1 fall into a box and come to rest (Tang 2014, s. 7.4).

    They start on a loose lattice, with speeds drawn from `seed` that break its symmetry.
    """
    count, side = checks.whole("count", count, 1), checks.at_least("side", side, 2.0)
    across = int(side / 1.2)
    k = np.arange(count)
    pitch = side / across
    place = np.stack([k % across, k // across % across, k // across**2], axis=1) * np.array([pitch, pitch, 1.2])
    place += np.array([0.5 * pitch - 0.5 * side, 0.5 * pitch - 0.5 * side, 1.0])
    chance = np.random.default_rng(checks.whole("seed", seed, 0))
    velocity = chance.uniform(-1.0, 1.0, (count, 3))
    top = float(place[:, 2].max()) + side
    friction = checks.at_least("friction", friction, 0.0)
    return Scene(
        name="sphere_packing",
        bodies=[Bodies(Sphere(0.5), place, velocity, mass=1.0, name="spheres")],
        boundaries=[Container((-0.5 * side, -0.5 * side, 0.0), (0.5 * side, 0.5 * side, top), open_top=True)],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0), friction)},
        gravity=(0.0, 0.0, -9.81),
        step=1.0 / 600.0,
        duration=4.0,
        stepper="drift_safe",
        law="qce",
        description=f"{count} spheres fall into a box and come to rest.",
        parameters={"count": count, "restitution": restitution, "friction": friction, "side": side, "seed": seed},
    )


def _mirror_y() -> Symmetry:
    return Symmetry(((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0), "mirror y")
