"""The impulses of an impact: `resolve` on whitened contacts, `solve_impact` on a problem."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..friction import FrictionModel, Solved
from ..kernels import prepare
from ..kernels.families import families_of_law
from ..laws import Law, with_history
from ..problem.contacts import NOT_CONVERGED, RESOLVED, Contacts, Impulses, worse
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..settings import EXACT_TOLERANCE
from ..solvers.qp.cone import SWEEPS_TOLERANCE
from ..solvers.rows import Floats, Ints, island_work
from .batch import solve_batch
from .coupled import (
    EXACT_SHARE_CONTACTS,
    FEW_HALVINGS,
    HALVING_ITERATIONS,
    MANY_HALVINGS,
    WORK_ROUNDING,
    find_impulses,
    without_gain,
)
from .response import Response
from .restitution import normal_impulses, stepped_back, targeted_impulses
from .verify import RESOLVED_RESIDUAL, verified

Mask = NDArray[np.bool_]

# Iterations of a law in all repeats with friction, after which the repeats end.
LAW_ITERATIONS = 50_000


def solve_impact(
    problem: ImpactProblem,
    law: str | Law = "gr",
    *,
    restitution_model: str | None = None,
    friction_model: str | FrictionModel | None = None,
    history: bool = False,
) -> ImpactSolution:
    """The velocities after impact under `law`, a name or a configured law.

    The coefficients of restitution and friction are those of the problem. The two models say what the coefficients
    mean. By default the law's own models are used (see `carom laws`), and cone, Coulomb's law, for laws without
    friction of their own. With `history` the solution has the history of the impulses, from laws that have one.
    """
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    response = Response.of(with_history(law) if history else law, restitution_model, friction_model)
    name = None if response.friction_model is None else response.friction_model.name
    prepare(families_of_law(response.law, problem.frictional, name))
    return solve_batch([problem], response)[0] or _solve_scaled(problem, response)


def solve_impacts(
    problems: Iterable[ImpactProblem],
    law: str | Law = "gr",
    *,
    restitution_model: str | None = None,
    friction_model: str | FrictionModel | None = None,
    history: bool = False,
) -> list[ImpactSolution]:
    """`solve_impact` of every problem, with the same bits, in less time.

    Under `gr`, `qce` and `lcp` one loop resolves all problems of up to 48 contacts without friction that have one
    coefficient of restitution and a diagonal mass matrix. Several threads share it if there are many problems. Errors
    name the number of the problem.
    """
    every = list(problems)
    for number, problem in enumerate(every):
        if not isinstance(problem, ImpactProblem):
            raise ProblemError(f"problems[{number}]", type(problem).__name__, "an ImpactProblem")
    response = Response.of(with_history(law) if history else law, restitution_model, friction_model)
    name = None if response.friction_model is None else response.friction_model.name
    prepare(families_of_law(response.law, any(problem.frictional for problem in every), name))
    found = solve_batch(every, response)
    for number, problem in enumerate(every):
        if found[number] is None:
            try:
                found[number] = _solve_scaled(problem, response)
            except ProblemError as error:
                raise ProblemError(f"problems[{number}].{error.field}", error.value, error.expected) from None
    return found  # type: ignore[return-value]


def _solve_scaled(problem: ImpactProblem, response: Response) -> ImpactSolution:
    if problem.speed_exponent:
        # In units of its own speed, a power of two: thresholds and squares of speeds then neither over- nor underflow.
        scaled = _solve(problem.in_units(problem.speed_exponent), response)
        return scaled.in_units(-problem.speed_exponent, problem)
    return _solve(problem, response)


def _solve(problem: ImpactProblem, response: Response) -> ImpactSolution:
    result = _copied(resolve(problem.contacts, response), problem, response.law)
    return _solution(problem, response, *verified(problem, result, response))


def resolve(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """Normal and friction impulses of an impact.

    `tolerance` is the speed that each stage (law, inelastic part, friction) may leave of approach and slip; 0 asks for
    exact answers. The residual is relative to the fastest approach or slip before the impact.
    """
    found = find_impulses(contacts, response, tolerance) if contacts.tangent_count else None
    if isinstance(found, Impulses):
        return found
    friction = response.friction_model
    if friction is None or not contacts.frictional or not contacts.tangent_count:
        return _relative(normal_impulses(contacts, response, tolerance), contacts)
    if found is not None:
        stage, target = found.stage, found.target
    elif friction.coupled:
        stage, target = targeted_impulses(contacts, response, tolerance)
    else:
        stage, target = normal_impulses(contacts, response, tolerance), np.zeros(0)
    if not stage.normal.any():  # nothing approaches, or the law is `none`: nothing bounds friction
        return _relative(stage, contacts)
    still = np.zeros((contacts.count, contacts.tangent_count))
    start = Solved(stage.normal, still, contacts.velocity, 0.0, 0, True)
    if friction.coupled:
        return _joint(contacts, response, stage, target, start, tolerance, found and found.joint)
    if friction.repeats and tolerance > SWEEPS_TOLERANCE * contacts.fastest():
        return _stopped(contacts, friction, stage, start, tolerance)
    return _staggered(contacts, response, friction, stage, start, tolerance)


def _relative(result: Impulses, contacts: Contacts) -> Impulses:
    """The result of a law with its residual relative to the fastest approach or slip."""
    approach, scale = contacts.approach(), contacts.fastest()
    return result if approach == scale else replace(result, residual=result.residual * approach / scale)


def _staggered(
    contacts: Contacts, response: Response, friction: FrictionModel, stage: Impulses, found: Solved, tolerance: float
) -> Impulses:
    """Friction for the normal impulses `stage` of the law, and the law again, while friction drives contacts together.

    Normal impulses only grow, so the friction impulses of one repeat are within the bounds of the next, and kinetic
    energy falls in every friction stage. Where the two do not agree after all repeats, what they have found is the
    start of a solve in which friction and an inelastic stop hold together.
    """
    scale, first = contacts.fastest(), stage
    left = max(tolerance, response.tolerance * scale) if tolerance else EXACT_TOLERANCE * contacts.approach()
    approaches, worst = [contacts.approach()], stage.residual * contacts.approach()
    for repeat in range(friction.repeats + 1):
        found = friction.impulses(contacts, found.normal, found.tangent, tolerance)
        moving = contacts.moving(contacts.after(found.normal, found.tangent))
        approaches.append(moving.approach())
        solved = found.residual <= max(left, RESOLVED_RESIDUAL * scale)
        if friction.repeats == 0 or (solved and approaches[-1] <= left):
            break
        # Repeats of a friction problem that was not solved, or at this rate too many of them, are wasted work.
        hopeless = not solved or _too_slow(approaches, friction.repeats - repeat, left)
        if hopeless or repeat == friction.repeats or stage.status != RESOLVED or stage.iterations > LAW_ITERATIONS:
            return _stopped(contacts, friction, first, found, tolerance)
        more = normal_impulses(moving, response, tolerance)
        worst = max(worst, more.residual * approaches[-1])
        stage = replace(more, iterations=stage.iterations + more.iterations, messages=_joined(stage, more))
        found = found._replace(normal=found.normal + more.normal)
    if approaches[-1] > left:
        note = "friction drives contacts together, and the law is not applied again"
        stage = replace(stage, status=worse(stage.status, NOT_CONVERGED), messages=(*stage.messages, note))
    worst = max(worst, found.residual, approaches[-1] if tolerance and friction.repeats else 0.0)
    return Impulses(found.normal, found.tangent, stage.iterations, stage.status, worst / scale, stage.messages)


def _joined(stage: Impulses, more: Impulses) -> tuple[str, ...]:
    """The messages of both, without those of one kind again."""
    known = {message.split(":")[0] for message in stage.messages}
    return (*stage.messages, *(message for message in more.messages if message.split(":")[0] not in known))


def _stopped(contacts: Contacts, friction: FrictionModel, stage: Impulses, start: Solved, tolerance: float) -> Impulses:
    """The impulses of the law with friction, and with normal impulses that stop the approach which friction causes.

    Both hold together, and do not raise the energy that the law leaves.
    """
    found = friction.stopped(contacts, stage.normal, start, tolerance)
    scale, messages, status = contacts.fastest(), stage.messages, stage.status
    found = _judged(found, friction, scale, tolerance)
    if tolerance == 0.0:
        note = "friction and the law did not agree: the approach that friction causes was stopped inelastically"
        messages = (*messages, note)
    if not found.converged:
        status = worse(status, NOT_CONVERGED)
        note = f"normal and friction impulses together were solved to {found.residual / scale:.1e} only"
        messages = (*messages, note)
    worst = max(found.residual, stage.residual * contacts.approach())
    count = stage.iterations + found.iterations
    return Impulses(found.normal, found.tangent, count, status, worst / scale, messages)


def _judged(found: Solved, friction: FrictionModel, scale: float, tolerance: float) -> Solved:
    """Exact answers have converged up to RESOLVED_RESIDUAL, unless the model has a tolerance below its default."""
    enough = tolerance == 0.0 and friction.tolerance >= type(friction).tolerance
    return found._replace(converged=found.converged or (enough and found.residual <= RESOLVED_RESIDUAL * scale))


def _too_slow(approaches: list[float], repeats: int, left: float) -> bool:
    """Whether an approach that falls at the rate of the last four repeats stays above `left` for `repeats` more."""
    if len(approaches) < 6:
        return False
    rate = (approaches[-1] / approaches[-5]) ** 0.25
    return approaches[-1] * rate**repeats > left


def _joint(
    contacts: Contacts,
    response: Response,
    stage: Impulses,
    target: Floats,
    start: Solved,
    tolerance: float,
    known: Solved | None,
) -> Impulses:
    """Normal and friction impulses together, with the separation speeds that the law asks for without friction.

    `known` is the answer, if there is one already. Restitution that prescribes speeds can do work against friction.
    Where the kinetic energy of an island would rise, the target speeds are reduced by the largest factor with which it
    does not.
    """
    friction = response.friction_model
    assert friction is not None
    found = known or friction.joint(contacts, target, start, tolerance)
    found = _judged(found, friction, contacts.fastest(), tolerance)
    label, messages = contacts.island_labels(), stage.messages
    if found.converged and (gaining := _work(contacts, found, label) > _work_rounding(contacts)).any():
        exact = (tolerance == 0.0 or response.tolerance <= EXACT_TOLERANCE) and contacts.count <= EXACT_SHARE_CONTACTS
        halvings = MANY_HALVINGS if exact else FEW_HALVINGS
        limits = (tolerance, _work_rounding(contacts), halvings)
        reduced = without_gain(contacts, friction, target, found, gaining, limits)
        found, share = reduced or _without_gain(contacts, friction, target, found, gaining, limits)
        messages = (*messages, stepped_back(np.flatnonzero(gaining[label]), share))
    elif found.converged and tolerance == 0.0:
        found = friction.refined(contacts, target, found)
    if not found.converged:
        return _stopped(contacts, friction, stage, start._replace(tangent=found.tangent), tolerance)
    worst = max(found.residual, stage.residual * contacts.approach()) / contacts.fastest()
    return Impulses(found.normal, found.tangent, stage.iterations + found.iterations, stage.status, worst, messages)


def _without_gain(
    contacts: Contacts,
    friction: FrictionModel,
    target: Floats,
    found: Solved,
    gaining: Mask,
    limits: tuple[float, float, int],
) -> tuple[Solved, float]:
    """`without_gain` of `coupled.py` for all contacts, with the solves of a friction model one by one."""
    label, count, (tolerance, rounding, halvings) = contacts.island_labels(), found.iterations, limits
    low, high = np.where(gaining, 0.0, 1.0), np.ones(len(gaining))
    found = friction.joint(contacts, low[label] * target, found, tolerance)
    for number in range(halvings):
        if number >= FEW_HALVINGS and count > HALVING_ITERATIONS:
            break
        share = 0.5 * (low + high)
        other = friction.joint(contacts, share[label] * target, found, tolerance)
        gains = _work(contacts, other, label) > rounding if other.converged else gaining
        low, high = np.where(gains, low, share), np.where(gains, share, high)
        if not gains.all():  # Coulomb's law may have several solutions, so the one that was measured is kept
            kept = gains[label]
            normal = np.where(kept, found.normal, other.normal)
            tangent = np.where(kept[:, None], found.tangent, other.tangent)
            residual = max(found.residual, other.residual)
            found = Solved(normal, tangent, contacts.after(normal, tangent), residual, count, True)
        count += other.iterations
    return found._replace(iterations=count), float(low[gaining].min())


def _work(contacts: Contacts, found: Solved, label: Ints) -> Floats:
    """Work of the impulses on each island, `sum z (u + u+) / 2`."""
    return island_work(contacts.rows, contacts.velocity, found.velocity, found.normal, found.tangent, label)


def _work_rounding(contacts: Contacts) -> float:
    """Work of an island that is rounding error."""
    energy = 0.5 * float((contacts.velocity**2).sum())
    scale = max(energy, float((contacts.speeds() ** 2 / contacts.rows.diag).max()))  # boundaries may drive the impact
    return WORK_ROUNDING * scale


def _solution(problem: ImpactProblem, response: Response, result: Impulses, velocity: Floats | None) -> ImpactSolution:
    normal, tangent = result.normal, result.tangent
    return ImpactSolution(
        problem=problem,
        law=response.law.name,
        velocity=_read_only(problem.velocity_after(normal, tangent) if velocity is None else velocity),
        impulse=_read_only(normal),
        friction_impulse=None if tangent is None else _read_only(tangent),
        iterations=result.iterations,
        status=result.status,
        residual=result.residual,
        messages=result.messages,
        friction_model=response.friction_name if problem.frictional else None,
        history=result.history,
        response=response,
    )


def _copied(result: Impulses, problem: ImpactProblem, law: Law) -> Impulses:
    """The result with copies of its impulses, whose shapes are checked because a user may have written the law."""
    m, t = problem.contact_count, problem.tangent_count
    normal = np.array(result.normal, dtype=np.float64)
    tangent = None if result.tangent is None or t == 0 else np.array(result.tangent, dtype=np.float64)
    for kind, array, shape in (("normal", normal, (m,)), ("tangent", tangent, (m, t))):
        if array is not None and array.shape != shape:
            raise ProblemError(f"{kind} impulses of law {law.name!r}", f"shape {array.shape}", f"shape {shape}")
    return replace(result, normal=normal, tangent=tangent)


def _read_only(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
