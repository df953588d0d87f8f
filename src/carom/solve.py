"""solve_impact: one problem, one law, one solution."""

from __future__ import annotations

from .errors import ProblemError
from .impact.contacts import Contacts, Impulses
from .impact.problem import ImpactProblem
from .impact.solution import ImpactSolution
from .laws import Law, make
from .restitution import model_of, normal_impulses


def solve_impact(
    problem: ImpactProblem,
    law: str | Law = "gr",
    *,
    restitution_model: str | None = None,
) -> ImpactSolution:
    """The velocities after impact under `law`, a name or a configured law.

    The coefficients of restitution and friction are the problem's. `restitution_model` says what they mean:
    the law's own default if left out (see `carom laws`).
    """
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    chosen = make(law)
    result = resolve(problem.contacts, chosen, restitution_model)
    return _solution(problem, chosen, result)


def resolve(contacts: Contacts, law: Law, restitution_model: str | None = None) -> Impulses:
    """The same on whitened arrays: what a time stepper calls."""
    return normal_impulses(contacts, law, model_of(law, restitution_model))


def _solution(problem: ImpactProblem, law: Law, result: Impulses) -> ImpactSolution:
    momentum = problem.rows.transpose_times(result.normal, problem.block[0])
    if result.tangent is not None and problem.tangents is not None:
        momentum += problem.tangents.transpose_times(result.tangent.ravel(), problem.block[0])
    velocity = problem.block_velocity + problem.mass.solve(momentum)
    return ImpactSolution(
        problem=problem,
        law=law.name,
        velocity=velocity.reshape(problem.velocity.shape),
        impulse=result.normal,
        friction_impulse=result.tangent,
        iterations=result.iterations,
        status=result.status,
        certificate=result.certificate,
        messages=result.messages,
    )
