"""The impulses of an impact: `resolve` on whitened contacts, `solve_impact` on a problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ProblemError
from ..friction import FrictionModel
from ..kernels import prepare
from ..kernels.families import families_of_law
from ..laws import Law
from ..laws.inelastic import inelastic
from ..solvers.rows import Floats
from ..solvers.thresholds import COARSE_IMPACT_CONTACTS
from .contacts import Contacts, Impulses, worse
from .problem import ImpactProblem
from .response import Response
from .restitution import blended, check_islands, interpolated, normal_impulses
from .solution import ImpactSolution

# Largest share of the fastest approach that an impact may leave as slow: the impact itself must be resolved.
LARGEST_SLOW_SHARE = 0.9


def solve_impact(
    problem: ImpactProblem,
    law: str | Law = "gr",
    *,
    restitution_model: str | None = None,
    friction_model: str | FrictionModel | None = None,
) -> ImpactSolution:
    """The velocities after impact under `law`, a name or a configured law.

    The coefficients of restitution and friction are those of the problem. The two models say what the coefficients
    mean. By default the law's own models are used (see `carom laws`), and coulomb_fixed_direction for laws without
    friction of their own.
    """
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    response = Response.of(law, restitution_model, friction_model)
    name = None if response.friction_model is None else response.friction_model.name
    prepare(families_of_law(response.law, bool(problem.friction.any()), name))
    return _solution(problem, response, resolve(problem.contacts, response))


def resolve(contacts: Contacts, response: Response, slow: float = 0.0) -> Impulses:
    """Normal and friction impulses of an impact.

    `slow` is an approach speed below which a time stepper stops contacts itself. In impacts with friction and at
    least COARSE_IMPACT_CONTACTS contacts such speeds are left: an exact answer costs up to a thousand times the
    answer for the few contacts that matter.
    """
    if response.blends:
        contacts = blended(contacts)
    friction = response.friction_model
    if friction is None or not contacts.friction.any():
        return normal_impulses(contacts, response)
    left = _slow_speed(contacts, slow)
    lossy = response.restitution_model == "energetic" and not (contacts.restitution == 1.0).all()
    if friction.coupled and lossy and contacts.tangents is not None:
        return _coupled(contacts, response, friction, left)
    return _staggered(contacts, response, friction, left)


def _slow_speed(contacts: Contacts, slow: float) -> float:
    """The approach speed that this impact may leave; 0 for exact answers."""
    approach = contacts.approach()
    if contacts.count < COARSE_IMPACT_CONTACTS or approach == 0.0:
        return 0.0
    return min(slow / approach, LARGEST_SLOW_SHARE) * approach


def _staggered(contacts: Contacts, response: Response, friction: FrictionModel, slow: float) -> Impulses:
    """The law, then friction for its normal impulses, repeated while friction drives contacts together.

    Normal impulses only grow, so the friction impulses of one repeat are within the bounds of the next, and kinetic
    energy falls in every friction stage. After the last repeat the inelastic law stops every remaining approach,
    which lowers the energy too.
    """
    tolerance = max(response.tolerance * contacts.approach(), slow)
    repeats = response.repeats(contacts.count)
    stage = normal_impulses(contacts, response, slow)
    if not stage.normal.any():
        return stage  # nothing approaches, or the law is `none`: no normal impulse bounds friction
    normal, tangent = stage.normal.copy(), np.zeros_like(contacts.tangent_speeds())
    status, residual = stage.status, stage.residual
    iterations, messages = stage.iterations, stage.messages
    for repeat in range(repeats + 1):
        tangent, friction_residual = friction.impulses(contacts, normal, tangent, slow)
        residual = max(residual, friction_residual)
        x = contacts.after(normal, tangent)
        if contacts.speeds(x).min() >= -tolerance:
            break
        last = repeat == repeats
        moving = contacts.moving(x)
        stage = inelastic(moving, slow) if last else normal_impulses(moving, response, slow)
        normal += stage.normal
        status, residual = worse(status, stage.status), max(residual, stage.residual)
        iterations += stage.iterations
        messages = (*messages, *(m for m in stage.messages if m not in messages))
        if last:
            messages = (*messages, f"friction and impact still disagreed after {repeats} repeats")
    return Impulses(normal, tangent, iterations, status, residual, messages)


def _coupled(contacts: Contacts, response: Response, friction: FrictionModel, slow: float) -> Impulses:
    """Energetic restitution around a friction model that solves the inelastic impact with friction as one problem."""
    c = contacts.restitution
    check_islands(contacts, response.restitution_model)
    low, settled = friction.inelastic(contacts)
    if not settled:
        other = _staggered(contacts.with_restitution(0.0), response, friction, slow)
        note = f"coupled Coulomb sweeps stopped at {low.residual:.1e}; normal and friction impulses were alternated"
        low = replace(other, messages=(*other.messages, note))
    if (c == 0.0).all() or low.tangent is None:
        return low
    high = _staggered(contacts.with_restitution(1.0), response, friction, slow)
    if high.tangent is None:
        return high
    return replace(interpolated(low, high, c), iterations=low.iterations + high.iterations)


def _solution(problem: ImpactProblem, response: Response, result: Impulses) -> ImpactSolution:
    m, t = problem.contact_count, problem.tangent_count
    normal = _copied(response.law, "normal", result.normal, (m,))
    tangent = None
    momentum = problem.rows.transpose_times(normal, problem.block[0])
    if result.tangent is not None and problem.tangents is not None:
        tangent = _copied(response.law, "tangent", result.tangent, (m, t))
        momentum += problem.tangents.transpose_times(tangent.ravel(), problem.block[0])
    velocity = problem.block_velocity + problem.mass.solve(momentum)
    return ImpactSolution(
        problem=problem,
        law=response.law.name,
        velocity=_read_only(velocity.reshape(problem.velocity.shape)),
        impulse=_read_only(normal),
        friction_impulse=None if tangent is None else _read_only(tangent),
        iterations=result.iterations,
        status=result.status,
        residual=result.residual,
        messages=result.messages,
        friction_model=response.friction_name if problem.friction.any() else None,
    )


def _copied(law: Law, kind: str, impulses: Floats, shape: tuple[int, ...]) -> Floats:
    """A copy of the impulses of a law, whose shape is checked because a user may have written the law."""
    array = np.array(impulses, dtype=np.float64)
    if array.shape != shape:
        raise ProblemError(f"{kind} impulses of law {law.name!r}", f"shape {array.shape}", f"shape {shape}")
    return array


def _read_only(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
