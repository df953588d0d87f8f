"""The impulses of an impact: `resolve` on whitened contacts, `solve_impact` on a problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ProblemError
from ..friction import CoupledModel, FrictionModel
from ..kernels import prepare
from ..kernels.families import families_of_law
from ..laws import Law, with_history
from ..laws.inelastic import inelastic
from ..problem.contacts import INFEASIBLE, NOT_CONVERGED, RESOLVED, Contacts, Impulses, worse
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.qp.box import SWEEPS_TOLERANCE
from ..solvers.rows import Floats, Ints
from .response import EXACT, Response
from .restitution import normal_impulses, stepped_back, targeted_impulses
from .verify import RESOLVED_RESIDUAL, verified

# Tolerance of sweeps where an exact answer was asked for in vain, as a share of the tolerance of the run.
SETTLE_SHARE = 1e-2
ROUNDING = 1e-14  # residual, relative to the fastest speed, of an answer that is exact to rounding
# Iterations of a law in all repeats with friction, after which the inelastic law takes its place in further repeats.
LAW_ITERATIONS = 50_000
# Visits of a contact on average after which sweeps over normal and friction impulses give up.
EXACT_VISITS, MANY_VISITS, FEW_VISITS = 3000, 500, 20
# Halvings of the interval for the share of the restitution that does not raise the energy under coupled friction: the
# share is accurate to 1e-9 in exact answers of few contacts, else or after many iterations of all solves to 1e-2.
MANY_HALVINGS, FEW_HALVINGS, HALVING_ITERATIONS, EXACT_SHARE_CONTACTS = 30, 7, 10_000, 50
WORK_ROUNDING = 1e-11  # work, relative to the energy before, that is within the residual of exact joint answers


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
    mean. By default the law's own models are used (see `carom laws`), and coulomb_fixed_direction for laws without
    friction of their own. With `history` the solution has the history of the impulses, from laws that have one.
    """
    if not isinstance(problem, ImpactProblem):
        raise ProblemError("problem", type(problem).__name__, "an ImpactProblem")
    response = Response.of(with_history(law) if history else law, restitution_model, friction_model)
    name = None if response.friction_model is None else response.friction_model.name
    prepare(families_of_law(response.law, bool(problem.friction.any()), name))
    if problem.speed_exponent:
        # In units of its own speed, a power of two: thresholds and squares of speeds then neither over- nor underflow.
        scaled = _solve(problem.in_units(problem.speed_exponent), response)
        return scaled.in_units(-problem.speed_exponent, problem)
    return _solve(problem, response)


def _solve(problem: ImpactProblem, response: Response) -> ImpactSolution:
    result = _copied(resolve(problem.contacts, response), problem, response.law)
    return _solution(problem, response, verified(problem, result, response))


def resolve(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """Normal and friction impulses of an impact.

    `tolerance` is the speed that each stage (law, inelastic part, friction) may leave of approach and slip; 0 asks for
    exact answers. The residual is relative to the fastest approach or slip before the impact.
    """
    friction = response.friction_model
    if friction is None or not contacts.friction.any():
        return _relative(normal_impulses(contacts, response, tolerance), contacts)
    if isinstance(friction, CoupledModel) and friction.coupled and contacts.tangent_count:
        return _joint(contacts, response, friction, tolerance)
    stage = normal_impulses(contacts, response, tolerance)
    return _staggered(contacts, response, stage, friction, tolerance)


def _relative(result: Impulses, contacts: Contacts) -> Impulses:
    """The result of a law with its residual relative to the fastest approach or slip."""
    approach, scale = contacts.approach(), contacts.fastest()
    return result if approach == scale else replace(result, residual=result.residual * approach / scale)


def _staggered(
    contacts: Contacts, response: Response, stage: Impulses, friction: FrictionModel, tolerance: float
) -> Impulses:
    """Friction for the normal impulses `stage` of the law, and more of these where friction drives contacts together.

    To a coarse tolerance the latter two are found together by sweeps. For an exact answer law and friction alternate,
    which keeps symmetries, unless friction drives nothing together and few sweeps find it to rounding. Many sweeps
    follow where that misses the tolerance of the run.
    """
    if not stage.normal.any():
        return _relative(stage, contacts)  # nothing approaches, or the law is `none`: nothing bounds friction
    scale = contacts.fastest()
    if friction.repeats == 0:
        return _alternated(contacts, response, stage, friction, tolerance, scale)
    if tolerance == 0.0:
        other = _alternated(contacts, response, stage, friction, tolerance, scale)
        if other.residual <= EXACT or other.status == INFEASIBLE:
            return other
        settled = _settled(contacts, other, friction, EXACT * scale, scale, EXACT_VISITS)
        return other if settled is None or other.residual <= settled.residual else settled
    enough = max(tolerance / scale, response.tolerance)
    coarse = tolerance > SWEEPS_TOLERANCE * scale
    aim, visits = (tolerance, MANY_VISITS) if coarse else (ROUNDING * scale, FEW_VISITS)
    settled = _settled(contacts, stage, friction, aim, scale, visits)
    if settled is not None and coarse and settled.residual <= enough:
        return settled
    if settled is not None and settled.residual <= ROUNDING and np.array_equal(settled.normal, stage.normal):
        return settled
    other = _alternated(contacts, response, stage, friction, tolerance, scale)
    if other.residual <= enough:
        return other
    if not coarse:
        settled = _settled(contacts, other, friction, max(tolerance, SETTLE_SHARE * enough * scale), scale, MANY_VISITS)
    return other if settled is None or other.residual < settled.residual else settled


def _settled(
    contacts: Contacts, stage: Impulses, friction: FrictionModel, tolerance: float, scale: float, visits: int
) -> Impulses | None:
    """The impulses of `stage` with friction, and with normal impulses that stop the approach which friction causes.

    Every visit of a contact lowers the energy. None for rows that are not those of rigid bodies.
    """
    start = np.zeros((contacts.count, contacts.tangent_count)) if stage.tangent is None else stage.tangent
    found = friction.settled(contacts, stage.normal, start, tolerance, scale, visits)
    if found is None:
        return None
    normal, tangent, left = found
    law = 0.0 if stage.tangent is not None else stage.residual * contacts.approach()
    return replace(stage, normal=normal, tangent=tangent, residual=max(law, left) / scale)


def _alternated(
    contacts: Contacts, response: Response, stage: Impulses, friction: FrictionModel, tolerance: float, scale: float
) -> Impulses:
    """Friction for the normal impulses of the law, and the law again, while friction drives contacts together.

    Normal impulses only grow, so the friction impulses of one repeat are within the bounds of the next, and kinetic
    energy falls in every friction stage. After the last repeat the inelastic law stops every remaining approach,
    which lowers the energy too; it takes the place of a law that has reached its bound.
    """
    normal, tangent = stage.normal.copy(), np.zeros_like(contacts.tangent_speeds())
    approach = contacts.approach()
    left = max(tolerance, response.tolerance * scale) if tolerance else EXACT * approach
    status, worst = stage.status, stage.residual * approach
    iterations, messages, approaches = stage.iterations, stage.messages, [approach]
    for repeat in range(friction.repeats + 1):
        before = tangent
        tangent, slip = friction.impulses(contacts, normal, before, tolerance)
        if slip > RESOLVED_RESIDUAL * scale:
            tangent = _without_gain(contacts, normal, before, tangent)
        unsolved = slip > RESOLVED_RESIDUAL * scale
        moving = contacts.moving(contacts.after(normal, tangent))
        approach = moving.approach()
        if approach <= left:
            worst = max(worst, slip, approach if tolerance else 0.0)
            break
        if friction.repeats == 0:
            messages = (*messages, "friction drives contacts together, and the law is not applied again")
            status, worst = worse(status, NOT_CONVERGED), max(worst, slip)
            break
        approaches.append(approach)
        # Repeats of a friction problem that was not solved, or at this rate too many of them, are wasted work.
        hopeless = tolerance == 0.0 and (unsolved or _too_slow(approaches, friction.repeats - repeat, left))
        last = repeat == friction.repeats or hopeless or status == INFEASIBLE
        spent = status != RESOLVED or iterations > LAW_ITERATIONS
        stage = inelastic(moving, tolerance) if last or spent else normal_impulses(moving, response, tolerance)
        normal += stage.normal
        status, worst = worse(status, stage.status), max(worst, stage.residual * approach)
        iterations += stage.iterations
        known = {m.split(":")[0] for m in messages}
        messages = (*messages, *(m for m in stage.messages if m.split(":")[0] not in known))
        if last:
            slip = friction.residual(contacts, normal, tangent)
            worst = max(worst, slip)
            if slip > left:
                status = worse(status, NOT_CONVERGED)
                messages = (*messages, f"friction and impact still disagreed after {repeat} repeats")
            break
    return Impulses(normal, tangent, iterations, status, worst / scale, messages)


def _without_gain(contacts: Contacts, normal: Floats, before: Floats, tangent: Floats) -> Floats:
    """Friction impulses (m, t) of a problem that was not solved, or, if the change from `before` raises the energy, the
    point of the way from there at which the energy is least. The bounds are convex, and normal impulses only grow."""
    change = tangent - before
    slip, then = (contacts.tangent_speeds(contacts.after(normal, t)) for t in (before, tangent))
    first, last = float((change * slip).sum()), float((change * then).sum())  # slopes of the energy along the way
    if first + last <= 0.0:
        return tangent
    return before if first >= 0.0 else before - first / (last - first) * change


def _too_slow(approaches: list[float], repeats: int, left: float) -> bool:
    """Whether an approach that falls at the rate of the last four repeats stays above `left` for `repeats` more."""
    if len(approaches) < 6:
        return False
    rate = (approaches[-1] / approaches[-5]) ** 0.25
    return approaches[-1] * rate**repeats > left


def _joint(contacts: Contacts, response: Response, friction: CoupledModel, tolerance: float) -> Impulses:
    """Normal and friction impulses together, with the separation speeds that the law asks for without friction.

    Restitution that prescribes speeds can do work against friction. Where the kinetic energy of an island would rise,
    the target speeds are reduced by the largest factor with which it does not.
    """
    stage, target = targeted_impulses(contacts, response, tolerance)
    if not stage.normal.any():
        return _relative(stage, contacts)  # nothing approaches, or the law is `none`: nothing bounds friction
    z = np.column_stack([np.maximum(stage.normal, 0.0), np.zeros_like(contacts.tangent_speeds())])
    z, residual, count, solved = friction.joint(contacts, target, z, tolerance)
    label, messages = contacts.island_labels(), stage.messages
    if solved and (gaining := _work(contacts, z, label) > 0.0).any():
        low, high = np.where(gaining, 0.0, 1.0), np.ones(len(gaining))
        z, residual, _, solved = friction.joint(contacts, low[label] * target, z, tolerance)
        few = tolerance > 0.0 or contacts.count > EXACT_SHARE_CONTACTS
        for number in range(FEW_HALVINGS if few else MANY_HALVINGS):
            if number >= FEW_HALVINGS and count > HALVING_ITERATIONS:
                break
            share = 0.5 * (low + high)
            other, left, more, found = friction.joint(contacts, share[label] * target, z, tolerance)
            gains = _work(contacts, other, label) > 0.0 if found else gaining
            low, high = np.where(gains, low, share), np.where(gains, share, high)
            if not gains.all():  # Coulomb's law may have several solutions, so the one that was measured is kept
                z, residual = np.where(gains[label][:, None], z, other), max(residual, left)
            count += more
        messages = (*messages, stepped_back(np.flatnonzero(gaining[label]), low[gaining].min()))
    scale = contacts.fastest()
    if not solved:
        stage = _staggered(contacts, response, stage, friction, tolerance)
        note = f"normal and friction impulses together were solved to {residual / scale:.1e} only, and then alternated"
        return replace(stage, status=worse(stage.status, NOT_CONVERGED), messages=(*stage.messages, note))
    worst = max(residual, stage.residual * contacts.approach()) / scale
    return Impulses(z[:, 0].copy(), z[:, 1:].copy(), stage.iterations + count, stage.status, worst, messages)


def _work(contacts: Contacts, z: Floats, label: Ints) -> Floats:
    """Work of the impulses `z` (m, 1 + t) on each island, `sum z (u + u+) / 2`; 0 within rounding error."""
    ends = contacts.velocity, contacts.after(z[:, 0].copy(), z[:, 1:])
    before, after = (np.column_stack([contacts.speeds(x), contacts.tangent_speeds(x)]) for x in ends)
    work = np.bincount(label, 0.5 * (z * (before + after)).sum(axis=1))
    energy = 0.5 * float((contacts.velocity**2).sum())
    scale = max(energy, float((contacts.speeds() ** 2 / contacts.rows.diag).max()))  # boundaries may drive the impact
    return np.where(np.abs(work) > WORK_ROUNDING * scale, work, 0.0)


def _solution(problem: ImpactProblem, response: Response, result: Impulses) -> ImpactSolution:
    normal, tangent = result.normal, result.tangent
    return ImpactSolution(
        problem=problem,
        law=response.law.name,
        velocity=_read_only(problem.velocity_after(normal, tangent)),
        impulse=_read_only(normal),
        friction_impulse=None if tangent is None else _read_only(tangent),
        iterations=result.iterations,
        status=result.status,
        residual=result.residual,
        messages=result.messages,
        friction_model=response.friction_name if problem.friction.any() else None,
        history=result.history,
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
