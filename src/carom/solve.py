"""solve_impact: one problem, one law, one solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import friction as frictions
from .errors import ProblemError
from .friction import FrictionModel
from .impact.contacts import Contacts, Impulses
from .impact.problem import ImpactProblem
from .impact.solution import ImpactSolution
from .kernels import prepare
from .kernels.families import families_of_law
from .laws import Law, make
from .restitution import model_of, normal_impulses
from .solvers.rows import Floats

DEFAULT_FRICTION = "coulomb_fixed_direction"


def solve_impact(
    problem: ImpactProblem,
    law: str | Law = "gr",
    *,
    restitution_model: str | None = None,
    friction_model: str | FrictionModel | None = None,
) -> ImpactSolution:
    """The velocities after impact under `law`, a name or a configured law.

    The coefficients of restitution and friction are the problem's. The two models say what they mean; left out,
    they are the law's own (see `carom laws`), and coulomb_fixed_direction for laws without friction of their own.
    """
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    chosen = make(law)
    prepare(families_of_law(chosen, bool(problem.friction.any()), friction_model))
    result = resolve(problem.contacts, chosen, restitution_model, friction_model)
    rubbing = friction_of(chosen, friction_model)
    name = (rubbing.name if rubbing else frictions.OWN) if problem.friction.any() else None
    return _solution(problem, chosen, result, name)


def resolve(
    contacts: Contacts,
    law: Law,
    restitution_model: str | None = None,
    friction_model: str | FrictionModel | None = None,
) -> Impulses:
    """The same on whitened arrays: what a time stepper calls."""
    restitution = model_of(law, restitution_model)
    chosen = friction_of(law, friction_model)
    if chosen is None or not contacts.friction.any():
        return normal_impulses(contacts, law, restitution)
    if law.own_friction:
        return _with_foreign_friction(contacts, law, restitution, chosen)
    return chosen.resolve(contacts, law, restitution)


def friction_of(law: Law, model: str | FrictionModel | None) -> FrictionModel | None:
    """The friction model to add, or None where the law brings its own."""
    if model is None:
        return None if law.own_friction else frictions.make(DEFAULT_FRICTION)
    if model == frictions.OWN:
        if not law.own_friction:
            raise ProblemError("friction_model", model, f"one of {', '.join(frictions.MODELS)} with law {law.name!r}")
        return None
    return frictions.make(model)


def _with_foreign_friction(contacts: Contacts, law: Law, restitution: str, chosen: FrictionModel) -> Impulses:
    """A law that has its own friction, run without it, and another model added."""

    class Frictionless(Law):
        name, own_friction, restitution_models = law.name, False, law.restitution_models

        def impulses(self, given: Contacts) -> Impulses:
            bare = law.impulses(replace(given, friction=np.zeros(given.count)))
            return replace(bare, tangent=None)

    return chosen.resolve(contacts, Frictionless(), restitution)


def _solution(problem: ImpactProblem, law: Law, result: Impulses, friction: str | None) -> ImpactSolution:
    m, t = problem.contact_count, problem.tangent_count
    normal = _copied(law, "normal", result.normal, (m,))
    tangent = None
    momentum = problem.rows.transpose_times(normal, problem.block[0])
    if result.tangent is not None and problem.tangents is not None:
        tangent = _copied(law, "tangent", result.tangent, (m, t))
        momentum += problem.tangents.transpose_times(tangent.ravel(), problem.block[0])
    velocity = problem.block_velocity + problem.mass.solve(momentum)
    return ImpactSolution(
        problem=problem,
        law=law.name,
        velocity=_read_only(velocity.reshape(problem.velocity.shape)),
        impulse=_read_only(normal),
        friction_impulse=None if tangent is None else _read_only(tangent),
        iterations=result.iterations,
        status=result.status,
        certificate=result.certificate,
        messages=result.messages,
        friction_model=friction,
    )


def _copied(law: Law, kind: str, impulses: Floats, shape: tuple[int, ...]) -> Floats:
    """A copy of a law's impulses, which may be of a user's making: checked, since kernels do not look."""
    array = np.array(impulses, dtype=np.float64)
    if array.shape != shape:
        raise ProblemError(f"{kind} impulses of law {law.name!r}", f"shape {array.shape}", f"shape {shape}")
    return array


def _read_only(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
