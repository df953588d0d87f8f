"""One impact under some laws, as plain data for the page: velocities, energies, momenta, ticks, and a film."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import laws
from ..errors import ProblemError
from ..impact.resolve import solve_impact
from ..impact.solution import ImpactSolution
from ..solvers.rows import Floats
from .lessons import LESSONS, Lesson, Setup, in_plane
from .sliders import checked, chosen_laws
from .ticks import ticks_of

DIGITS = 4  # of velocities, energies and momenta as they are shown
BEFORE, AFTER = 1.5, 3.0  # time before and after the impact that the film shows


def impact_answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to {"scene": .., "laws": [..], "parameters": {..}}."""
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


def _lesson(name: Any) -> Lesson:
    if not isinstance(name, str) or name not in LESSONS:
        raise ProblemError.unknown("lesson", name, LESSONS)
    return LESSONS[name]


def _result(setup: Setup, name: str) -> dict[str, Any]:
    """One column of the tables. A law that does not take the problem says why, and the others go on."""
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
    """Velocities with their energy and momentum, as numbers and as the page shows them."""
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
    """Four decimals, without the sign of a zero. Rounded here, once: a browser rounds ties another way."""
    text = f"{value:.{DIGITS}f}"
    return text.lstrip("-") if float(text) == 0.0 else text


def next_touch(setup: Setup, solution: ImpactSolution) -> float | None:
    """When the next impact would happen: the first time that two bodies meet that do not touch now.

    The film of one impact ends there. |p + w t| = r for relative place p and velocity w of each pair.
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
