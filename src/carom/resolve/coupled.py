"""Impacts with coupled friction in one kernel: law, inelastic answer, restitution, friction, and the work that they do.

These are the stages of `impulses.py` for the model energetic under `gr` and `qce`, with the kernels that these call, so
that answers have the same bits. Called one by one from Python the stages of 20 contacts take ten times as long as their
work. The kernel ends before the first stage that needs more than it has (an island that is too large for it, a law at
its bound, a gain of energy), and returns what it has found so far, with which `resolve` goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..friction import FrictionModel, Solved
from ..friction.model import CONVERGED_TOLERANCES, FRONT_VISITS
from ..kernels import kernel, lean
from ..laws import GR, QCE
from ..laws.gr import ELASTIC_STRETCH, few_reflections
from ..laws.inelastic import FEASIBLE_RESIDUAL
from ..laws.qce import passes
from ..problem.contacts import Contacts, Impulses
from ..solvers.contact import FINE_WORK, Accuracy, solve_small_islands
from ..solvers.contact_island import Problem, layout
from ..solvers.islands import all_islands
from ..solvers.qp.cone import SWEEPS_TOLERANCE, moderate_cones
from ..solvers.rows import FRICTION, Floats, fastest_slip, island_work, pushed, speed, speeds
from ..solvers.thresholds import THREADED_QP_CONTACTS
from .verify import RESOLVED_RESIDUAL

if TYPE_CHECKING:
    from .response import Response

LAW_NUMBERS = {GR: 0, QCE: 1}  # laws that the kernel knows; a subclass may define other impulses, and is none of them
WORK_ROUNDING = 2e-13  # work, relative to the energy before, that is within the residual of exact joint answers
# Halvings of the interval for the share of the restitution that does not raise the energy under coupled friction: the
# share is accurate to 1e-9 in exact answers and exact runs with few contacts, else or after many iterations to 1e-2.
MANY_HALVINGS, FEW_HALVINGS, HALVING_ITERATIONS, EXACT_SHARE_CONTACTS = 30, 7, 10_000, 50

# Shapes of the rows of a contact with friction that the kernel is compiled for, in 2D and 3D, and their layouts.
FRICTIONAL_SHAPES = {(2, 2, 3): layout(2, 2, 3, 1), (2, 3, 6): layout(2, 3, 6, 2)}
NO_WEIGHTS = np.empty(0)

# How far the kernel has got: not through the law; through law and restitution; through friction as well, with work to
# be looked at; to the end; to the end without friction.
LAW_OPEN, FRICTION_OPEN, WORK_OPEN, DONE, DONE_ALONE = range(5)


class Asked(NamedTuple):
    """What is asked of the answer to an impact."""

    law: int  # number of the law
    law_tolerance: float  # that of the law itself, relative to the fastest approach
    most: int  # bound on the iterations of the law; 0 for its own
    projection: int  # of the friction model
    friction_tolerance: float  # of exact answers of the friction model, relative to the fastest speed
    exact: bool  # whether RESOLVED_RESIDUAL is enough for an exact answer


class Found(NamedTuple):
    """What the kernel has found where it has not got to the end."""

    stage: Impulses  # of law and restitution model
    target: Floats  # (m,) separation speeds that they ask for
    joint: Solved | None  # with friction


def asked_of(response: Response) -> Asked | None:
    """What a response asks of the kernel; None if it has a stage that the kernel does not have."""
    law, friction = response.law, response.friction_model
    if type(law) not in LAW_NUMBERS or response.restitution_model != "energetic":
        return None
    if friction is None or not friction.coupled or type(friction).rows is not FrictionModel.rows:
        return None
    exact = friction.tolerance >= type(friction).tolerance
    of_law = (LAW_NUMBERS[type(law)], float(law.tolerance), int(law.max_iterations))  # type: ignore[attr-defined]
    return Asked(*of_law, friction.projection, float(friction.tolerance), bool(exact))


def find_impulses(contacts: Contacts, response: Response, tolerance: float) -> Impulses | Found | None:
    """The impulses of an impact, or what the kernel has found of them; None if it has found nothing.

    `tolerance` is the speed that each stage may leave; 0 asks for exact answers.
    """
    asked, rows, shape, m = response.asked, contacts.rows, contacts.rows.val.shape, len(contacts.restitution)
    if asked is None or shape[1:] not in FRICTIONAL_SHAPES or m >= THREADED_QP_CONTACTS:
        return None
    weights = NO_WEIGHTS if contacts.weights is None else contacts.weights
    lay, out, tangent = FRICTIONAL_SHAPES[shape[1:]], np.empty((3, m)), np.empty((m, shape[2] - 1))
    progress, numbers, x = coupled_impulses(
        lay, rows, (contacts.velocity, contacts.restitution, weights), asked, float(tolerance), out, tangent
    )
    count, residual, more, reached, worst, fastest = numbers
    if progress >= DONE:
        friction = tangent if progress == DONE else None
        return Impulses(out[2], friction, count + more, residual=worst / fastest if fastest > 0.0 else 0.0)
    if progress == LAW_OPEN:
        return None
    joint = Solved(out[2], tangent, x, reached, more, True) if progress == WORK_OPEN else None
    return Found(Impulses(out[0], None, count, residual=residual), out[1], joint)


@kernel
def coupled_impulses(lay, rows, given, asked, tolerance, out, tangent):
    """How far it gets, numbers, and the velocity (n, d) with friction; the steps of `resolve`.

    `given` are velocity (n, d), restitution (m,), and weights of contacts, (m,) or empty for equal ones. `out` (3, m)
    receives the impulses of the law, the separation speeds that it asks for, and normal impulses with friction;
    `tangent` (m, t) friction impulses. The numbers are iterations and residual of law and restitution, iterations and
    residual of friction, the residual of all, a speed, and the fastest approach or slip, to which it is relative.
    """
    (velocity, restitution, weights), (lam, target, normal) = given, out
    u, m = speeds(rows, velocity), len(restitution)
    approach = max(-u.min(), 0.0)
    frictional = rows.val.shape[2] == len(lay.rows) and np.any(rows.bound[:, FRICTION])
    fastest = max(approach, fastest_slip(rows, velocity)) if frictional else approach
    tangent[:] = 0.0
    if approach <= tolerance:
        out[:] = 0.0
        return DONE_ALONE, (0, 1.0 if approach > 0.0 else 0.0, 0, 0.0, approach, fastest), velocity
    solved, count, residual = _restituted(rows, velocity, u, restitution, weights, asked, tolerance, lam)
    if not solved:
        return LAW_OPEN, (0, 0.0, 0, 0.0, 0.0, fastest), velocity
    worst = residual * approach
    if not frictional or not np.any(lam):
        normal[:] = lam
        return DONE_ALONE, (count, residual, 0, 0.0, worst, fastest), velocity
    after = pushed(rows, lam, velocity)
    for i in range(m):
        target[i] = max(speed(rows, i, after), 0.0) if lam[i] > 0.0 else 0.0
    z = np.zeros_like(rows.base)
    for i in range(m):
        z[i, 0] = max(lam[i], 0.0)
    model = (asked.projection, asked.friction_tolerance)
    x, more, reached, solved, left = _with_friction(lay, rows, velocity, target, z, model, tolerance, fastest)
    enough = solved or (tolerance == 0.0 and asked.exact and reached <= RESOLVED_RESIDUAL * fastest)
    if left or not enough:
        return FRICTION_OPEN, (count, residual, 0, 0.0, worst, fastest), velocity
    for i in range(m):
        normal[i] = z[i, 0]
        for row in range(tangent.shape[1]):
            tangent[i, row] = z[i, 1 + row]
    done = DONE if _no_gain(rows, velocity, x, u, normal, tangent) else WORK_OPEN
    return done, (count, residual, more, reached, max(reached, worst), fastest), x


@kernel
def _restituted(rows, velocity, u, restitution, weights, asked, tolerance, lam):
    """Whether law and restitution were solved, the iterations, and the residual. Writes their impulses (m,)."""
    approach, c, m = -u.min(), restitution[0], len(u)
    for i in range(m):
        if restitution[i] != c:
            return False, 0, 0.0
    count, residual = 1, 0.0
    if c < 1.0:
        low, left_speed = moderate_cones(rows, u, tolerance)
        if left_speed > max(FEASIBLE_RESIDUAL * np.abs(u).max(), tolerance):
            return False, 0, 0.0
        lam[:] = low
        residual = left_speed / approach
    if c > 0.0:
        tol = max(asked.law_tolerance, tolerance / approach) * approach
        most = asked.most if asked.most > 0 else 1000 + int(100 * np.sqrt(m))
        if asked.law == 0:
            high, _, end = few_reflections(rows, velocity, np.full(m, ELASTIC_STRETCH), tol, most)
            count, left, worst = end.iterations, end.violators, end.worst / approach
        else:
            shares = weights / weights.max() if len(weights) else np.ones(m)
            high, _, count, left, worst = passes(rows, velocity, shares, tol, most)
        if left:
            return False, 0, 0.0
        residual = max(residual, worst)
        for i in range(m):
            lam[i] = high[i] if c == 1.0 else (1.0 - c) * lam[i] + c * high[i]
    return True, count, residual


@kernel
def _with_friction(lay, rows, velocity, target, z, model, tolerance, fastest):
    """One joint solve from a warm start z (m, 1 + t), in its place; `FrictionModel.joint`.

    Returns the velocity (n, d), iterations and residual, whether this is small enough, and whether islands are left.
    `target` (m,) are the separation speeds asked for, `model` projection and tolerance of the friction model.
    """
    m, scale, (projection, relative) = len(target), max(fastest, target.max()), model
    base = rows.base.copy()
    for i in range(m):
        base[i, 0] -= target[i]
        z[i, 0] = max(z[i, 0], 0.0)
    aim = max(tolerance, relative * scale)
    coarse = tolerance > SWEEPS_TOLERANCE * scale
    accuracy = Accuracy(aim, aim, 0.0 if coarse else FINE_WORK, FRONT_VISITS if coarse else 0, np.inf)
    problem = Problem(rows.body, rows.val, base, rows.bound, np.zeros(m))
    touching = (rows.touch_ptr, rows.touch)
    x, residual, (count, _), left, _ = solve_small_islands(
        lay, problem, touching, np.arange(m), velocity, z, projection, accuracy
    )
    return x, count, residual, residual <= CONVERGED_TOLERANCES * aim, len(left) > 0


@kernel
def _no_gain(rows, before, after, u, normal, tangent):
    """Whether the impulses do no work on any island, within rounding."""
    label, energy = all_islands(rows.body, len(before)).label, 0.5 * np.sum(before * before)
    for i in range(len(u)):
        energy = max(energy, u[i] * u[i] / rows.diag[i])  # boundaries may drive the impact
    return not np.any(island_work(rows, before, after, normal, tangent, label) > WORK_ROUNDING * energy)


# ---- the share of the restitution that does not raise the energy


def without_gain(
    contacts: Contacts,
    friction: FrictionModel,
    target: Floats,
    found: Solved,
    gaining: NDArray[np.bool_],
    limits: tuple[float, float, int],
) -> tuple[Solved, float] | None:
    """The joint answer whose target speeds on the islands `gaining` are reduced until their energy does not rise.

    Also returns the smallest share of the target speeds that is left. `found` is the answer to all of them, `limits`
    are the tolerance, the work that is rounding, and the number of halvings. None where the kernel does not serve.
    """
    rows, shape = contacts.rows, contacts.rows.val.shape
    if type(friction).rows is not FrictionModel.rows or shape[1:] not in FRICTIONAL_SHAPES:
        return None
    if contacts.count >= THREADED_QP_CONTACTS or friction.rows(contacts)[0] is not rows:
        return None
    normal, tangent, label = found.normal.copy(), np.ascontiguousarray(found.tangent).copy(), contacts.island_labels()
    tolerance, rounding, halvings = limits
    numbers = (float(tolerance), contacts.fastest(), float(rounding), int(halvings), int(found.iterations))
    model, given = (friction.projection, float(friction.tolerance)), (contacts.velocity, target, gaining, label)
    done, share, count, residual, solved = largest_share(
        FRICTIONAL_SHAPES[shape[1:]], rows, given, model, numbers, normal, tangent
    )
    if not done:
        return None
    return Solved(normal, tangent, contacts.after(normal, tangent), residual, count, solved), share


@kernel
def largest_share(lay, rows, given, model, numbers, normal, tangent):
    """Halves the interval of the share, with the impulses of `without_gain` in place of those that are given.

    Returns whether it has come to the end, the smallest share, the iterations, the residual, and whether it is small
    enough. Ends early where an island is too large for the kernel.
    """
    (velocity, target, gaining, label), (tolerance, fastest, rounding, halvings, count) = given, numbers
    low, high, z = np.where(gaining, 0.0, 1.0), np.ones(len(gaining)), np.empty_like(rows.base)
    _put_start(z, normal, tangent)
    _, _, residual, solved, left = _with_friction(
        lay, rows, velocity, low[label] * target, z, model, tolerance, fastest
    )
    _keep(z, normal, tangent, label, np.zeros(len(gaining), np.bool_))
    for number in range(0 if left else halvings):
        if number >= FEW_HALVINGS and count > HALVING_ITERATIONS:
            break
        share = 0.5 * (low + high)
        _put_start(z, normal, tangent)
        x, more, reached, good, left = _with_friction(
            lay, rows, velocity, share[label] * target, z, model, tolerance, fastest
        )
        if left:
            break
        gains = island_work(rows, velocity, x, z[:, 0].copy(), z[:, 1:].copy(), label) > rounding if good else gaining
        for s in range(len(gains)):
            if gains[s]:
                high[s] = share[s]
            else:
                low[s] = share[s]
        if not np.all(gains):  # Coulomb's law may have several solutions, so the one that was measured is kept
            _keep(z, normal, tangent, label, gains)
            residual, solved = max(residual, reached), True
        count += more
    return not left, low[gaining].min(), count, residual, solved


@lean
def _put_start(z, normal, tangent):
    """Writes impulses as a warm start z (m, 1 + t)."""
    for i in range(len(z)):
        z[i, 0] = normal[i]
        for row in range(tangent.shape[1]):
            z[i, 1 + row] = tangent[i, row]


@lean
def _keep(z, normal, tangent, label, gains):
    """Writes the impulses z of the contacts of all islands but those that gain."""
    for i in range(len(z)):
        if not gains[label[i]]:
            normal[i] = z[i, 0]
            for row in range(tangent.shape[1]):
                tangent[i, row] = z[i, 1 + row]
