"""A few balls: cradles, the three-ball chain, Bernoulli's problem, and the pool break, in 2D and 3D."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc, Sphere
from ..scene.symmetry import mirror, mirror_plane
from . import checks

RADIUS = 0.5  # so that balls in a row stand at whole numbers and touch exactly


@checks.recorded
def newtons_cradle(
    *, balls: int = 5, striking: int = 1, speed: float = 1.0, distance: float = 1.0, restitution: float = 1.0
) -> Scene:
    """Newton's cradle: balls in a row, struck by some of them; as many leave as came in.

    Of `balls` balls `striking` ones come from the left at `speed`, starting `distance` radii away from the others.
    """
    balls, striking = checks.whole("balls", balls, 2), checks.whole("striking", striking, 1)
    if striking >= balls:
        raise ProblemError("striking", striking, f"fewer than balls = {balls}")
    speed, distance = checks.positive("speed", speed), checks.at_least("distance", distance, 0.0)
    x = np.arange(balls, dtype=np.float64)
    x[:striking] -= distance * RADIUS
    v = np.zeros((balls, 2))
    v[:striking, 0] = speed
    return Scene(
        name="newtons_cradle",
        bodies=[_balls(np.column_stack([x, np.zeros(balls)]), v)],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        step=0.01,
        duration=5.0 / speed,
        stepper="synchronous",
        description=f"Newton's cradle without strings: {striking} of {balls} balls strike the others at rest.",
        symmetries=[mirror((1.0, 0.0))],
    )


@checks.recorded
def newtons_cradle_disturbed(
    *, balls: int = 5, speed: float = 1.0, gap: float = 0.0, offset: float = 1e-3, seed: int = 0
) -> Scene:
    """An imperfect cradle: gaps between the balls, and balls off the line.

    gap: distance between neighbors in radii. offset: each ball is up to this many radii off the line, at random.
    """
    balls, gap = checks.whole("balls", balls, 2), checks.at_least("gap", gap, 0.0)
    speed, offset = checks.positive("speed", speed), checks.between("offset", offset, 0.0, 0.5)
    chance = np.random.default_rng(checks.whole("seed", seed, 0))
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


@checks.recorded
def cradle_3d(*, balls: int = 5, striking: int = 1, speed: float = 1.0, restitution: float = 1.0) -> Scene:
    """Newton's cradle of spheres along x: `striking` balls come in, and as many must leave."""
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
        symmetries=[mirror_plane((0.0, 1.0, 0.0))],
    )


@checks.recorded
def three_ball_chain(*, va: float = 0.5, restitution: float = 1.0) -> Scene:
    """Three touching balls with velocities (va, 0, -1): ideally the outer two exchange theirs (Zhang 2015, fig. 2)."""
    va = checks.between("va", va, 0.0, 1.0)
    return Scene(
        name="three_ball_chain",
        bodies=[
            _balls(np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[va, 0.0], [0.0, 0.0], [-1.0, 0.0]]))
        ],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        step=0.01,
        duration=2.0,
        stepper="synchronous",
        description="Three touching balls; the outer two approach at va and 1. The laws differ between va = 0 and 1.",
        symmetries=[mirror((1.0, 0.0))],
    )


@checks.recorded
def bernoulli(*, speed: float = 2.0, distance: float = 1.0, restitution: float = 1.0) -> Scene:
    """Bernoulli's problem: a ball strikes two touching balls at the same time.

    Elastic solution for equal balls: -1/5 of the speed for the striking ball, (3, +-sqrt 3) / 5 of it for the others.
    """
    speed, distance = checks.positive("speed", speed), checks.at_least("distance", distance, 0.0)
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
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        step=step,
        duration=4.0 * 2.0 / speed,
        stepper="synchronous",
        description="Bernoulli's problem: one ball strikes two touching ones at the same moment.",
        symmetries=[mirror((1.0, 0.0))],
    )


@checks.recorded
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
    )


@checks.recorded
def pool_break_3d(*, rows: int = 5, speed: float = 5.0, distance: float = 6.0, restitution: float = 1.0) -> Scene:
    """A cue ball breaks a rack of `rows` rows on a plane without friction, under gravity.

    distance: from the cue ball to the foot of the rack, center to center, in radii. Balls have unit mass and
    radius 1/2; balls on the two sides of the axis y = 0 have bitwise opposite y.
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
        symmetries=[mirror_plane((0.0, 1.0, 0.0))],
    )


def _balls(position: np.ndarray, velocity: np.ndarray) -> Bodies:
    return Bodies(shape=Disc(RADIUS), position=position, velocity=velocity, mass=1.0, rotates=False)
