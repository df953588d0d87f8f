"""Single impacts for the play page: lessons, which make problems from sliders, and the solutions as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import laws
from ..analysis.desiderata import defect
from ..analysis.outcome_plane import plane_of
from ..analysis.outcomes import outcomes
from ..catalogue import mirror, spatial_symmetry
from ..errors import ProblemError
from ..problem.problem import ImpactProblem, Symmetry
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from .sliders import FRICTION, RESTITUTION, Slider, checked, chosen_laws, mass, whole
from .ticks import ticks_of

RADIUS = 0.5
DIGITS = 4  # decimal places of the printed velocities, energies and momenta
BEFORE, AFTER = 1.5, 3.0  # time before and after the impact that the film shows
SAMPLED_OUTCOMES = 200  # of outcome sets: half a second for the largest rack without friction
MOST_DRAWN = 600  # points of each kind that the page draws
SYMMETRIC = 1e-9  # relative defect up to which the mirror image counts as a symmetry


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem and its picture: positions (n, 2), radii (n,) and masses (n,) of the bodies."""

    problem: ImpactProblem
    positions: Floats
    radii: Floats
    masses: Floats


@dataclass(frozen=True)
class Lesson:
    """A family of impact problems with sliders. `laws` are selected at first: those whose solutions differ."""

    name: str
    title: str
    note: str
    sliders: tuple[Slider, ...]
    make: Callable[[Mapping[str, Any]], Setup]
    laws: tuple[str, ...] = ("gr", "lcp")


def in_plane(problem: ImpactProblem, velocity: Floats) -> Floats:
    """Velocities of a problem as (n, 3): x, y and angular velocity, zero where the problem has no such component."""
    v = np.reshape(velocity, problem.block)
    out = np.zeros((len(v), 3))
    out[:, : v.shape[1]] = v
    return out


# ---- balls in a row


def _row(masses: Any, velocities: Any, restitution: float, name: str) -> Setup:
    """A chain of touching balls; heavier balls are drawn larger."""
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


# ---- discs


def _discs(places: Any, masses: Any, speed: float, p: Mapping[str, Any], name: str) -> Setup:
    """Touching discs of equal radius; the first one moves along x. They can rotate if there is friction."""
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
            "Some balls strike others at rest. In a real cradle as many leave as arrive.",
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
            "The middle ball is at rest, the outer two approach it. Ideally they exchange their velocities.",
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
            "One ball strikes two touching balls at the same instant. Are their velocities mirror images?",
            (RESTITUTION, FRICTION, mass("striking_mass", "mass, striking ball")),
            _bernoulli,
            ("gr", "gauss_seidel"),
        ),
        Lesson(
            "rack",
            "Pool rack",
            "A cue ball strikes a rack, in which every ball touches several others. Is the symmetry preserved?",
            (whole("rows", "rows", 1, 6, 4), RESTITUTION, FRICTION, mass("striking_mass", "mass, cue ball")),
            _rack,
            ("gr", "gauss_seidel"),
        ),
        Lesson(
            "ladder",
            "Ladder of masses",
            "The masses form a geometric sequence. Light balls at the end become fast.",
            (
                whole("balls", "balls", 2, 9, 5),
                Slider("ratio", "ratio of masses", 0.25, 4.0, 0.5, 0.01, logarithmic=True),
                RESTITUTION,
            ),
            _ladder,
        ),
    )
}


# ---- solutions


def impact_answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request {"scene": ..., "laws": [...], "parameters": {...}}."""
    lesson = _lesson(request.get("scene"))
    names = chosen_laws(request.get("laws"), laws.names())
    values = checked(lesson.sliders, request.get("parameters", {}))
    setup = lesson.make(values)
    problem = setup.problem
    return {
        "kind": "impact",
        "scene": lesson.name,
        "title": lesson.title,
        "parameters": values,
        "components": ["x", "y", "spin"][: problem.block[1]],
        "bodies": {
            "position": setup.positions.tolist(),
            "radius": setup.radii.tolist(),
            "mass": setup.masses.tolist(),
        },
        "before": _motion(setup, problem.velocity),
        "film": {"start": -BEFORE, "end": AFTER},
        "results": [_result(setup, name) for name in names],
    }


def outcomes_answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome set of an impact, for a request as that of `impact_answer`, over the two velocities most open."""
    lesson = _lesson(request.get("scene"))
    names = chosen_laws(request.get("laws"), laws.names())
    problem = lesson.make(checked(lesson.sliders, request.get("parameters", {}))).problem
    found = outcomes(problem, laws=[name for name in names if name != "none"], samples=SAMPLED_OUTCOMES)
    plane = plane_of(found)
    at = list(plane.components)
    d = problem.block[1]
    directions = ["along x", "along y", "spin"] if d > 1 else ["velocity"]
    return {
        "size": found.size,
        "exact": found.dimension <= 1 and len(found.corners) > 0,
        "elastic": found.elastic,
        "kind": plane.kind,
        "axes": [f"ball {c // d + 1}, {directions[c % d]}" for c in at],
        "points": plane.points[:MOST_DRAWN].tolist(),
        "corners": plane.corners[:MOST_DRAWN].tolist(),
        "orders": plane.orders[:MOST_DRAWN].tolist(),
        "laws": [
            {"law": name, "at": found.laws[name][at].tolist(), "broken": list(found.broken[name])}
            if name in found.laws
            else {"law": name, "at": None, "broken": []}
            for name in names
        ],
    }


def _lesson(name: Any) -> Lesson:
    if not isinstance(name, str) or name not in LESSONS:
        raise ProblemError.unknown("lesson", name, LESSONS)
    return LESSONS[name]


def _result(setup: Setup, name: str) -> dict[str, Any]:
    """One column of the tables: the solution of a law, or the reason why it refuses the problem."""
    law = laws.make(name)
    head = {"law": name, "title": law.title, "paper": law.paper.key}
    try:
        solution = solve_impact(setup.problem, law)
        ticks = ticks_of(solution, law)
    except ProblemError as refusal:
        return {**head, "refusal": str(refusal)}
    return {
        **head,
        **_motion(setup, solution.velocity),
        "until": next_touch(setup, solution),
        "status": solution.status,
        "iterations": solution.iterations,
        "impulse": solution.impulse.tolist(),
        "ticks": [tick.to_dict() for tick in ticks],
    }


def _motion(setup: Setup, velocity: Floats) -> dict[str, Any]:
    """Velocities with their energy and momentum, as numbers and as text."""
    problem = setup.problem
    flat = in_plane(problem, velocity)
    energy, before = problem.energy_of(velocity), problem.kinetic_energy
    momentum = (setup.masses[:, None] * flat[:, :2]).sum(axis=0)
    parts = problem.block[1]
    return {
        "velocity": flat.tolist(),
        "shown": [[shown(x) for x in row[:parts]] for row in flat],
        "energy": energy,
        "energy_shown": shown(energy),
        "energy_share": energy / before if before else 1.0,
        "momentum": momentum.tolist(),
        "momentum_shown": [shown(x) for x in momentum[: min(parts, 2)]],
    }


def shown(value: float) -> str:
    """DIGITS decimals without the sign of a zero. The rounding is done here because browsers round ties differently."""
    text = f"{value:.{DIGITS}f}"
    return text.lstrip("-") if float(text) == 0.0 else text


def next_touch(setup: Setup, solution: ImpactSolution) -> float | None:
    """Time of the next impact, of two bodies that do not touch now, at which the film ends; None if after AFTER.

    It solves |p + w t| = r for the relative position p and velocity w of each pair.
    """
    velocity = in_plane(setup.problem, solution.velocity)[:, :2]
    i, j = np.triu_indices(len(velocity), 1)
    p, w = setup.positions[j] - setup.positions[i], velocity[j] - velocity[i]
    reach = setup.radii[i] + setup.radii[j]
    a, b = (w**2).sum(axis=1), (p * w).sum(axis=1)
    c = (p**2).sum(axis=1) - reach**2
    inside = b**2 - a * c
    meets = (c > 1e-6 * reach**2) & (b < 0.0) & (inside > 0.0)
    if not meets.any():
        return None
    time = c[meets] / (-b[meets] + np.sqrt(inside[meets]))
    return float(time.min()) if time.min() < AFTER else None
