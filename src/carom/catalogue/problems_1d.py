"""Catalogue problems on a line: cradles, the three-ball sweep, extreme masses, a clamped ball."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..problem.problem import ImpactProblem
from .entry import Entry, answers_for, mirror, spatial_symmetry

# Three equal balls with v = (va, 0, -1): the quadratic-contact-energy answer, and the limit of stiff Hertz
# contacts (an integrated ODE). Both were computed independently of this library, to four decimals.
_SWEEP = {
    0.25: ((-1.0137, 0.1208, 0.1429), (-0.9971, -0.0139, 0.2610)),
    0.50: ((-1.0458, 0.2125, 0.3333), (-0.9992, -0.0023, 0.5015)),
    0.75: ((-1.0736, 0.2236, 0.6000), (-0.9999, -0.0002, 0.7501)),
}
_HERTZ = {
    (5, 1): (-0.0711, -0.0303, -0.0145, 0.1270, 0.9888),
    (5, 2): (-0.1126, -0.0420, 0.2145, 0.8004, 1.1397),
}
_OWN = "closed form; Hertz and quadratic-contact-energy figures from separate calculations, four decimals"


def entries_1d() -> list[Entry]:
    """All entries of this file."""
    entries = [cradle(n, arriving) for n in (3, 5, 9) for arriving in (1, 2)]
    entries += [falling_cradle(n, arriving) for n in (3, 5, 9) for arriving in (1, 2)]
    entries += [two_sided_chain()]
    entries += [sweep(va) for va in (0.0, 0.25, 0.5, 0.75, 1.0)]
    entries += [mass_ratio_chain(), pinched_light_ball(), galperin(), robot_arm(), clamped_ball()]
    return entries


def cradle(n: int, arriving: int) -> Entry:
    """Newton's cradle: equal balls, the first `arriving` of them at speed 1; as many leave at the other end."""
    v = np.zeros(n)
    v[:arriving] = 1.0
    mean = v.mean()
    # Under the Newton-law LCP every contact but the struck one stays at rest: two rigid parts that rebound.
    half = 2.0 * mean - v
    stuck = np.where(np.arange(n) < arriving, half[0], half[-1])
    answers = {**answers_for("gr qce gauss_seidel", v[::-1]), "lcp": stuck}
    if (n, arriving) in _HERTZ:
        answers["hertz"] = np.array(_HERTZ[n, arriving])
    return Entry(
        ImpactProblem.chain(np.ones(n), v, name=f"cradle_{n}_{arriving}"),
        f"Newton's cradle of {n} equal balls, {arriving} arriving",
        breaking=(n - 1 - arriving,),
        answers=answers,
        source=_OWN,
        sizes=0.5,
    )


def falling_cradle(n: int, arriving: int) -> Entry:
    """A cradle whose masses decrease from n to 1, so that every ball is faster than the one behind it."""
    masses = np.arange(n, 0, -1.0)
    v = np.zeros(n)
    v[:arriving] = 1.0
    answers = answers_for("gr qce gauss_seidel", _passed_on(masses, v)) if arriving == 1 else {}
    return Entry(
        ImpactProblem.chain(masses, v, name=f"cradle_falling_{n}_{arriving}"),
        f"a cradle with masses {n} to 1, {arriving} arriving",
        breaking=(n - 2,) if n > arriving + 1 else (0,),
        answers=answers,
        source="one head-on collision after another" if answers else "",
        sizes=0.5,
    )


def _passed_on(masses: Sequence[float] | np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Velocities if each ball hits the next one once, elastically: exact if no ball catches up again."""
    v = np.array(velocities, dtype=float)
    for i in range(len(v) - 1):
        a, b = masses[i], masses[i + 1]
        v[i], v[i + 1] = (
            ((a - b) * v[i] + 2 * b * v[i + 1]) / (a + b),
            ((b - a) * v[i + 1] + 2 * a * v[i]) / (a + b),
        )
    return v


def two_sided_chain() -> Entry:
    answers = {
        **answers_for("gr qce", (-1.18930, -0.99177, -0.16049, 0.44444)),
        "lcp": (-11 / 7, -4 / 7, -4 / 7, 3 / 7),
    }
    return Entry(
        ImpactProblem.chain([1, 2, 1, 3], [1, 0, 0, -1], name="two_sided_chain"),
        "masses 1, 2, 1, 3, struck at both ends",
        breaking=(1,),
        answers=answers,
        source="separate calculation, five decimals",
        sizes=0.5,
    )


def sweep(va: float) -> Entry:
    """Three equal balls with v = (va, 0, -1). Ideally the outer two exchange (Zhang 2015, fig. 4)."""
    both = (-(2 + va) / 3, -(2 - 2 * va) / 3, (1 + 2 * va) / 3)
    exchanged = (-1.0, 0.0, va)
    answers: dict[str, object] = {"lcp": both, "gr": exchanged if va == 0 else both, "gauss_seidel": exchanged}
    if va in _SWEEP:
        answers["qce"], answers["hertz"] = _SWEEP[va]
    else:
        answers["qce"] = exchanged
        answers["hertz"] = exchanged if va else (-0.9945, -0.0764, 0.0710)
    problem = ImpactProblem.chain([1, 1, 1], [va, 0, -1], name=f"sweep_{round(100 * va):03d}")
    if va == 1.0:
        flip = spatial_symmetry(problem.positions, mirror(0, 1), 1, "left and right")
        problem = problem.with_(symmetries=(flip,))
    return Entry(
        problem,
        f"three equal balls, v = ({va:g}, 0, -1)",
        breaking=(0,) if va == 0 else (),
        answers=answers,  # type: ignore[arg-type]
        source=_OWN,
        sizes=0.5,
    )


def mass_ratio_chain() -> Entry:
    masses = [1e4, 1e3, 1e2, 1e1, 1.0]
    v = np.array([1.0, 0, 0, 0, 0])
    return Entry(
        ImpactProblem.chain(masses, v, name="mass_ratio_chain"),
        "masses from 10000 to 1: the last ball leaves at nearly eleven times the speed",
        breaking=(3,),
        answers=answers_for("gr qce gauss_seidel", _passed_on(masses, v)),
        source="one head-on collision after another",
        sizes=0.5,
    )


def pinched_light_ball() -> Entry:
    problem = ImpactProblem.chain([1e4, 1.0, 1e4], [1, 0, -1], name="pinched_light_ball")
    flip = spatial_symmetry(problem.positions, mirror(0, 1), 1, "left and right")
    return Entry(
        problem.with_(symmetries=(flip,)),
        "a light ball at rest between two that are 10000 times heavier",
        answers=answers_for("gr lcp qce", (-1, 0, 1)),
        source="symmetry and energy leave one answer",
        sizes=0.5,
    )


def galperin(heavy: float = 1e4) -> Entry:
    """A wall, a ball of mass 1 at rest and a heavy ball that approaches.

    They collide about pi sqrt(heavy) times: 31 for mass 100, 314 for 10^4, the digits of pi. In whitened
    coordinates the contacts are the sides of a wedge of angle `arctan(1 / sqrt(heavy))`; unfolding the wedge
    turns the path into a straight line, which gives the final velocities (Galperin 2003).
    """
    wedge = math.atan(1 / math.sqrt(heavy))
    count = math.floor(math.pi / wedge - 1e-9)
    # A path along the wall leaves the unfolded wedge after `count` crossings; fold its direction back.
    left = math.pi - count * wedge
    angle = left if count % 2 == 0 else wedge - left
    final = [[math.sqrt(heavy) * math.sin(angle)], [math.cos(angle)]]
    problem = ImpactProblem.from_blocks(
        mass=[1.0, heavy],
        bodies=[[-1, 0], [0, 1]],
        rows=[[[0.0], [1.0]], [[-1.0], [1.0]]],
        velocity=[[0.0], [-1.0]],
        positions=[[0.0], [1.0]],
        name="galperin_billiard",
    )
    return Entry(
        problem,
        f"a wall, a light ball and one {heavy:g} times heavier: {count} collisions one after another",
        breaking=(0,),
        answers=answers_for("gauss_seidel gr qce", final),
        source="unfolding of the wedge (Galperin 2003)",
        sizes=0.5,
    )


def robot_arm() -> Entry:
    """Three joints with a full mass matrix, two finger contacts: rows have no bodies, only joint components."""
    problem = ImpactProblem.from_matrices(
        mass=[[3.0, 1.1, 0.3], [1.1, 1.5, 0.35], [0.3, 0.35, 0.4]],
        jacobian=[[0.2, 1.0, 0.4], [0.9, 0.1, 0.5], [0.5, 0.8, -0.2]],
        velocity=[-0.4, -0.9, 0.1],
        name="robot_arm",
    )
    return Entry(problem, "joint space with a full 3 x 3 mass matrix, three contacts")


def clamped_ball() -> Entry:
    problem = ImpactProblem.from_blocks(
        mass=[1.0],
        bodies=[[-1, 0], [-1, 0]],
        rows=[[[0.0], [1.0]], [[0.0], [-1.0]]],
        velocity=[[1.0]],
        positions=[[0.0]],
        name="clamped_ball",
    )
    laws = "lcp gr gauss_seidel qce"
    return Entry(
        problem,
        "a ball between two fixed walls without clearance: it can only stop",
        answers=answers_for(laws, [[0.0]]),
        source="no other velocity is feasible",
        sizes=0.5,
        degenerate=True,
    )
