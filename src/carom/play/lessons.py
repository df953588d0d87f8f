"""Lessons of one impact: each makes an `ImpactProblem` from its sliders, and says how to draw the bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis.symmetry import defect
from ..catalogue import mirror, spatial_symmetry
from ..impact.problem import ImpactProblem, Symmetry
from ..solvers.rows import Floats
from .sliders import FRICTION, RESTITUTION, Slider, mass, whole

RADIUS = 0.5
SYMMETRIC = 1e-9  # defect up to which a mirror image counts as one


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem and how it looks: places (n, 2), radii (n,), and which bodies come in."""

    problem: ImpactProblem
    positions: Floats
    radii: Floats
    masses: Floats

    @property
    def plane_velocity(self) -> Floats:
        """(n, 3) x, y and spin before impact, whatever the problem has of them."""
        return in_plane(self.problem, self.problem.velocity)


@dataclass(frozen=True)
class Lesson:
    """One impact for the page. `laws` are the ones to begin with: those that the lesson tells apart."""

    name: str
    title: str
    note: str
    sliders: tuple[Slider, ...]
    make: Callable[[Mapping[str, Any]], Setup]
    laws: tuple[str, ...] = ("gr", "lcp")


def in_plane(problem: ImpactProblem, velocity: Floats) -> Floats:
    """Velocities of a problem as (n, 3): x, y, spin, zero where the problem has no such component."""
    v = np.reshape(velocity, problem.block)
    out = np.zeros((len(v), 3))
    out[:, : v.shape[1]] = v
    return out


# -- balls in a row ------------------------------------------------------------------------------------------


def _row(masses: Any, velocities: Any, restitution: float, name: str) -> Setup:
    """A chain; heavier balls are drawn larger, and all touch."""
    m = np.asarray(masses, dtype=float)
    problem = ImpactProblem.chain(m, velocities, restitution=restitution, name=name)
    radii = RADIUS * np.clip(np.cbrt(m), 0.5, 1.8)
    x = np.concatenate([[0.0], np.cumsum(radii[:-1] + radii[1:])])
    n = len(m)
    flip = Symmetry(np.arange(n)[::-1].copy(), np.array([[-1.0]]), "left and right")
    if defect(problem, flip) <= SYMMETRIC:
        problem = problem.with_(symmetries=(flip,))
    return Setup(problem, np.column_stack([x - x.mean(), np.zeros(n)]), radii, m)


def _cradle(p: Mapping[str, Any]) -> Setup:
    n, striking = p["balls"], p["striking"]
    masses, velocities = np.ones(n), np.zeros(n)
    masses[-1] = p["last_mass"]
    masses[:striking] = p["striking_mass"]
    velocities[:striking] = 1.0
    return _row(masses, velocities, p["restitution"], "cradle")


def _three(p: Mapping[str, Any]) -> Setup:
    return _row([p["left_mass"], p["middle_mass"], p["right_mass"]], [p["va"], 0.0, -1.0], p["restitution"], "three")


def _ladder(p: Mapping[str, Any]) -> Setup:
    n = p["balls"]
    return _row(p["ratio"] ** np.arange(n), np.eye(n)[0], p["restitution"], "ladder")


# -- discs in the plane --------------------------------------------------------------------------------------


def _discs(places: Any, masses: Any, speed: float, p: Mapping[str, Any], name: str) -> Setup:
    """Discs of one size; the first comes in along x. They turn as soon as there is friction to turn them."""
    place, m = np.asarray(places, dtype=float), np.asarray(masses, dtype=float)
    turning = p["friction"] > 0.0
    velocity = np.zeros((len(place), 3 if turning else 2))
    velocity[0, 0] = speed
    problem = ImpactProblem.from_discs(
        place,
        RADIUS,
        m,
        velocity,
        restitution=p["restitution"],
        friction=p["friction"] if turning else None,
        symmetries=(spatial_symmetry(place, mirror(1, 2), 3 if turning else 2, "up and down", center=[0.0, 0.0]),),
        name=name,
    )
    return Setup(problem, place, np.full(len(m), RADIUS), m)


def _bernoulli(p: Mapping[str, Any]) -> Setup:
    places = [[-math.sqrt(0.75), 0.0], [0.0, 0.5], [0.0, -0.5]]
    return _discs(places, [p["striking_mass"], 1.0, 1.0], 1.0, p, "bernoulli")


def _rack(p: Mapping[str, Any]) -> Setup:
    places = [[-1.0, 0.0]]
    for row in range(p["rows"]):
        places += [[row * math.sqrt(0.75), k - row / 2] for k in range(row + 1)]
    masses = np.ones(len(places))
    masses[0] = p["striking_mass"]
    return _discs(places, masses, 1.0, p, "rack")


LESSONS: dict[str, Lesson] = {
    lesson.name: lesson
    for lesson in (
        Lesson(
            "cradle",
            "Newton's cradle",
            "Some balls strike others at rest. On a desk as many leave as came.",
            (
                whole("balls", "balls", 2, 9, 5),
                whole("striking", "striking balls", 1, 8, 1, below="balls"),
                RESTITUTION,
                mass("striking_mass", "mass, striking ball"),
                mass("last_mass", "mass, last ball"),
            ),
            _cradle,
        ),
        Lesson(
            "three_balls",
            "Three balls",
            "The middle ball rests, the outer two come in. Ideally they exchange their velocities.",
            (
                Slider("va", "speed, left ball", 0.0, 1.0, 0.5),
                RESTITUTION,
                mass("left_mass", "mass, left ball"),
                mass("middle_mass", "mass, middle ball"),
                mass("right_mass", "mass, right ball"),
            ),
            _three,
            ("qce", "gr"),
        ),
        Lesson(
            "bernoulli",
            "Bernoulli's problem",
            "One ball strikes two touching ones at the same moment. Will their answers be mirror images?",
            (RESTITUTION, FRICTION, mass("striking_mass", "mass, striking ball")),
            _bernoulli,
            ("gr", "gauss_seidel"),
        ),
        Lesson(
            "rack",
            "Pool rack",
            "A cue ball strikes a rack: every ball touches several others. Symmetric in, symmetric out?",
            (whole("rows", "rows", 1, 6, 4), RESTITUTION, FRICTION, mass("striking_mass", "mass, cue ball")),
            _rack,
            ("gr", "gauss_seidel"),
        ),
        Lesson(
            "ladder",
            "Ladder of masses",
            "Each ball has a fixed share of the mass before it. Light balls at the end run fast.",
            (
                whole("balls", "balls", 2, 9, 5),
                Slider("ratio", "ratio of masses", 0.25, 4.0, 0.5, 0.01, logarithmic=True),
                RESTITUTION,
            ),
            _ladder,
        ),
    )
}
