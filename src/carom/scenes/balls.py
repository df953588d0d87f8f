"""A few balls: cradles, the three-ball chain, Bernoulli's problem, and the pool break, in 2D and 3D."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc, Sphere
from ..scene.symmetry import mirror, mirror_plane
from .parameters import Count, NotNegative, Positive, Restitution, Seed, Several, at_least, between, declared

Apart = Annotated[float, at_least(2.0)]  # in radii
RADIUS = 0.5  # so that balls in a row stand at whole numbers and touch exactly


@declared
def newtons_cradle(
    *,
    balls: Several = 5,
    striking: Count = 1,
    speed: Positive = 1.0,
    distance: NotNegative = 1.0,
    restitution: Restitution = 1.0,
) -> Scene:
    """Newton's cradle: balls in a row, struck by some of them; as many leave as came in.

    Of `balls` balls `striking` ones come from the left at `speed`, starting `distance` radii away from the others.
    """
    if striking >= balls:
        raise ProblemError("striking", striking, f"fewer than balls = {balls}")
    x = np.arange(balls, dtype=np.float64)
    x[:striking] -= distance * RADIUS
    v = np.zeros((balls, 2))
    v[:striking, 0] = speed
    return Scene(
        name="newtons_cradle",
        bodies=[_balls(np.column_stack([x, np.zeros(balls)]), v)],
        materials={"default": Material(restitution)},
        step=0.01,
        duration=5.0 / speed,
        stepper="synchronous",
        description=f"Newton's cradle without strings: {striking} of {balls} balls strike the others at rest.",
        symmetries=[mirror((1.0, 0.0))],
    )


@declared
def newtons_cradle_disturbed(
    *,
    balls: Several = 5,
    speed: Positive = 1.0,
    gap: NotNegative = 0.0,
    offset: Annotated[float, between(0.0, 0.5)] = 1e-3,
    seed: Seed = 0,
) -> Scene:
    """An imperfect cradle: gaps between the balls, and balls off the line.

    gap: distance between neighbors in radii. offset: each ball is up to this many radii off the line, at random.
    """
    chance = np.random.default_rng(seed)
    y = RADIUS * offset * chance.uniform(-1.0, 1.0, balls)
    # Neighbors touch, or are `gap` apart, along the line that joins them.
    apart = 2.0 * RADIUS * (1.0 + 0.5 * gap)
    x = np.concatenate([[0.0], np.cumsum(np.sqrt(apart**2 - np.diff(y) ** 2))])
    x[0] -= RADIUS
    v = np.zeros((balls, 2))
    v[0, 0] = speed
    return Scene(
        name="newtons_cradle_disturbed",
        bodies=[_balls(np.column_stack([x, y]), v)],
        step=0.01,
        duration=5.0 / speed,
        stepper="synchronous",
        description="Newton's cradle with gaps between the balls and balls off the line.",
    )


@declared
def cradle_3d(
    *, balls: Several = 5, striking: Count = 1, speed: Positive = 1.0, restitution: Restitution = 1.0
) -> Scene:
    """Newton's cradle of spheres along x: `striking` balls come in, and as many must leave."""
    if striking >= balls:
        raise ProblemError("striking", striking, f"fewer than balls = {balls}")
    place, velocity = np.zeros((balls, 3)), np.zeros((balls, 3))
    place[:, 0] = np.arange(balls)
    place[:striking, 0] -= 0.5
    velocity[:striking, 0] = speed
    return Scene(
        name="cradle_3d",
        bodies=[Bodies(Sphere(0.5), place, velocity, mass=1.0, name="balls")],
        materials={"default": Material(restitution)},
        step=0.01,
        duration=2.0 / speed,
        stepper="synchronous",
        description=f"{striking} of {balls} balls strike the others, which touch.",
        symmetries=[mirror_plane((0.0, 1.0, 0.0))],
    )


@declared
def three_ball_chain(*, va: Annotated[float, between(0.0, 1.0)] = 0.5, restitution: Restitution = 1.0) -> Scene:
    """Three touching balls with velocities (va, 0, -1): ideally the outer two exchange theirs (Zhang 2015, fig. 2)."""
    return Scene(
        name="three_ball_chain",
        bodies=[
            _balls(np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[va, 0.0], [0.0, 0.0], [-1.0, 0.0]]))
        ],
        materials={"default": Material(restitution)},
        step=0.01,
        duration=2.0,
        stepper="synchronous",
        description="Three touching balls; the outer two approach at va and 1. The laws differ between va = 0 and 1.",
        symmetries=[mirror((1.0, 0.0))],
    )


@declared
def bernoulli(*, speed: Positive = 2.0, distance: NotNegative = 1.0, restitution: Restitution = 1.0) -> Scene:
    """Bernoulli's problem: a ball strikes two touching balls at the same time.

    Elastic solution for equal balls: -1/5 of the speed for the striking ball, (3, +-sqrt 3) / 5 of it for the others.
    """
    step = 0.01 * 2.0 / speed
    # The impact is resolved at the start of its step. After a whole number of steps, with a small excess against
    # rounding, the balls touch there.
    steps = round(distance * RADIUS / (step * speed))
    x = -np.sqrt(3.0) * RADIUS - steps * step * speed - 1e-7 * RADIUS
    position = np.array([[x, 0.0], [0.0, RADIUS], [0.0, -RADIUS]])
    velocity = np.array([[speed, 0.0], [0.0, 0.0], [0.0, 0.0]])
    return Scene(
        name="bernoulli",
        bodies=[_balls(position, velocity)],
        materials={"default": Material(restitution)},
        step=step,
        duration=4.0 * 2.0 / speed,
        stepper="synchronous",
        description="Bernoulli's problem: one ball strikes two touching ones at the same moment.",
        symmetries=[mirror((1.0, 0.0))],
    )


@declared
def pool_break(
    *, rows: Count = 10, speed: Positive = 5.0, distance: Apart = 6.0, restitution: Restitution = 1.0
) -> Scene:
    """A cue ball breaks a rack of `rows` rows; ten make 55 + 1 balls.

    distance: from the cue ball to the foot of the rack, center to center, in radii. Balls have unit mass and radius
    1/2. The axis of the rack is y = 0, and balls on its two sides have bitwise opposite y.
    """
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
        materials={"default": Material(restitution)},
        step=0.01,
        duration=10.0,
        stepper="synchronous",
        description=f"A cue ball breaks a rack of {len(place) - 1} balls along its axis, with mirror symmetry.",
        symmetries=[mirror((1.0, 0.0))],
    )


@declared
def pool_break_3d(
    *, rows: Count = 5, speed: Positive = 5.0, distance: Apart = 6.0, restitution: Restitution = 1.0
) -> Scene:
    """A cue ball breaks a rack of `rows` rows on a plane without friction, under gravity.

    distance: from the cue ball to the foot of the rack, center to center, in radii. Balls have unit mass and
    radius 1/2; balls on the two sides of the axis y = 0 have bitwise opposite y.
    """
    place = [(-0.5 * distance, 0.0, 0.5)]
    for row in range(rows):
        place += [(row * float(np.sqrt(0.75)), (2 * k - row) / 2, 0.5) for k in range(row + 1)]
    velocity = np.zeros((len(place), 3))
    velocity[0, 0] = speed
    return Scene(
        name="pool_break_3d",
        bodies=[Bodies(Sphere(0.5), np.array(place), velocity, mass=1.0, name="balls")],
        boundaries=[Plane()],
        materials={"default": Material(restitution)},
        gravity=(0.0, 0.0, -10.0),
        step=0.01,
        duration=5.0,
        stepper="drift_safe",
        description=f"A cue ball breaks a rack of {len(place) - 1} balls on a table.",
        symmetries=[mirror_plane((0.0, 1.0, 0.0))],
    )


def _balls(position: np.ndarray, velocity: np.ndarray) -> Bodies:
    return Bodies(shape=Disc(RADIUS), position=position, velocity=velocity, mass=1.0, rotates=False)
