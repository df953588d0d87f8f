"""The replays of the impact laws without friction, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws.gauss_seidel import ORDERS, WORST, _sweep_keys
from ..laws.qce import ROUNDED_WORK, UNEVEN_WORK, one_pass
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints
from .increments import etm, sqm
from .passes import Pass
from .reflections import Reflected
from .replay import Ends, Replay
from .sequence import Sequence, reflections
from .smm import rough_smm
from .springs import lzb

MOST_STAGES = 200_000  # of one replay
APPROACHES = "is about to approach or to stop approaching"


def replayed(run: Replay, contacts: Contacts, register: str, own: bool) -> Ends:
    """The answer of the law without friction in a register. `own`: restitution is that of the problem."""
    name = run.response.law.name
    if run.response.friction_model is None and run.contacts.friction.any():
        return _rough(run, name, contacts, register, own)
    if name not in REPLAYS:
        raise ProblemError("law", name, f"a law with derivatives: {', '.join(REPLAYS)}")
    return REPLAYS[name](run, run.response.law, contacts, register, own)


def _rough(run: Replay, name: str, contacts: Contacts, register: str, own: bool) -> Ends:
    """The answer of a law with its own friction."""
    if name not in ROUGH:
        raise ProblemError("friction_model", "own", f"own friction of {' or '.join(ROUGH)}, or another model")
    return ROUGH[name](run, run.response.law, contacts, register, own)


def none(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """No impulse."""
    return run.begin(register)


def inelastic(run: Replay, register: str) -> Ends:
    """The cone problem `u+ >= 0` over all contacts."""
    at = run.begin(register)
    every = np.arange(run.system.count)
    return run.cone(at, every, np.zeros(len(every)), False)[0]


def lcp(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Cone problems over all contacts until nothing approaches."""
    at, tol = run.begin(register), law.approach_left(contacts, 0.0)
    every, count = np.arange(contacts.count), 0
    while True:
        u = run.speeds(at.velocity)
        moving = np.flatnonzero(~run.resting)
        if not u.min() < -tol or (count > 0 and not law.repeat):
            if law.repeat:
                run.margins.note(moving, u[moving], "is about to approach")
            return at
        worst = np.argmin(u)
        run.margins.note(np.array([worst]), u[[worst]], "is about to approach no more")
        at, count = run.cone(at, every, contacts.restitution, own)[0], count + 1
        _limit(run, count, law.max_iterations)


def gr(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Cone problems over the violators until nothing approaches."""
    at, tol, count = run.begin(register), law.approach_left(contacts, 0.0), 0
    while True:
        u = run.speeds(at.velocity)
        chosen = np.flatnonzero(u < -tol)
        others = np.flatnonzero((u >= -tol) & ~run.resting)
        if len(chosen) == 0:
            run.margins.note(others, u[others], "is about to approach")
            return at
        at, active, _ = run.cone(at, chosen, contacts.restitution, own)
        count += 1
        _limit(run, count, law.max_iterations or 1000 + int(100 * np.sqrt(contacts.count)))
        run.margins.note(active, u[active], "is about to approach no more")
        # A contact that begins to approach changes the stage only where the others would drive it together.
        driven = others[run.speeds(at.velocity)[others] <= u[others]]
        run.margins.note(driven, u[driven], "is about to approach")


def smm(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Linear systems over the violators until nothing approaches."""
    at, tol, count = run.begin(register), law.approach_left(contacts, 0.0), 0
    while True:
        u = run.speeds(at.velocity)
        chosen = np.flatnonzero(u < -tol)
        others = np.flatnonzero((u >= -tol) & ~run.resting)
        run.margins.note(others, u[others], "is about to approach")
        if len(chosen) == 0:
            return at
        run.margins.note(chosen, u[chosen], "is about to approach no more")
        at, count = run.system_of(at, chosen, contacts.restitution, own), count + 1
        _limit(run, count, law.max_reflections or 300 + 100 * contacts.count)


def jacobi(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """All violators reflected at once, each as if it were alone."""
    at, tol, count = run.begin(register), law.approach_left(contacts, 0.0), 0
    while True:
        u = run.speeds(at.velocity)
        chosen, others = np.flatnonzero(u < -tol), np.flatnonzero(u >= -tol)
        run.margins.note(others, u[others], "is about to approach")
        if len(chosen) == 0:
            return at
        run.margins.note(chosen, u[chosen], "is about to approach no more")
        at, count = _reflect(run, at, contacts, chosen, u[chosen], own), count + 1
        _limit(run, count, law.max_iterations)


def gauss_seidel(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Single reflections in the order of the law."""
    return _sequence(run, law, contacts, register, own, law.order, law.seed)


def worst_first(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Single reflections, the fastest approach first: sqm without friction."""
    return _sequence(run, law, contacts, register, own, ORDERS[WORST], 0)


def _sequence(run: Replay, law: Any, contacts: Contacts, register: str, own: bool, order: str, seed: int) -> Ends:
    """Single reflections, found again by the kernel that notes their margins."""
    at, tol, m = run.begin(register), law.approach_left(contacts, 0.0), contacts.count
    keys, rows, e = _sweep_keys(m, order, seed), run.plain.rows, contacts.restitution
    start = at.velocity.reshape(contacts.velocity.shape)
    which, speeds, x, lam, margins = reflections(rows, start, e, keys, ORDERS.index(order), tol, MOST_STAGES)
    _limit(run, len(which), MOST_STAGES)
    for margin, reason in zip(margins, ("is about to approach", APPROACHES, "is no longer the fastest approach")):
        noted = np.flatnonzero(np.isfinite(margin))
        run.margins.note(noted, margin[noted], reason)
    after = x.ravel()
    given = (which, speeds, at.velocity, after, e, rows.diag, own, at.register, at.impulses)
    run.stages.append(Sequence(run.system, *given))
    return Ends(at.register, at.impulses, after, lam)


def qce(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Passes until nothing approaches; the kernel of the law finds the ends of each."""
    if own:
        raise ProblemError("restitution_model", "stronge", "energetic or qce_lcp for derivatives of qce")
    at, tol, count = run.begin(register), law.approach_left(contacts, 0.0), 0
    weights = contacts.shares / contacts.shares.max()
    rows, slot = run.plain.rows, np.full(len(contacts.velocity), -1, np.int64)
    while True:
        u = run.speeds(at.velocity)
        front, others = np.flatnonzero(u < -tol), np.flatnonzero(u >= -tol)
        run.margins.note(others, u[others], "is about to approach")
        if len(front) == 0:
            return at
        run.margins.note(front, u[front], "is about to approach no more")
        ends = one_pass(rows, front, u[front], -u[front] * weights[front], slot)
        part = run.system.part(front)
        stage = Pass(part, at.velocity, u[front], weights[front], ends, 1.0, at.register, at.impulses)
        stage = _even(run, stage)
        run.stages.append(stage)
        p = stage.factor * stage.rate * ends
        at = run.pushed(at, part.moved(at.velocity, p), front, p)
        ended = np.ones(len(front), bool)
        ended[stage.unended] = False
        run.margins.note(front[ended], stage.after[ended], "is about to end elsewhere")
        run.margins.note(front, stage.earlier_turn, "is about to end earlier")
        count += 1
        _limit(run, count, law.max_iterations or 1000 + int(100 * np.sqrt(contacts.count)))


def _even(run: Replay, stage: Pass) -> Pass:
    """The pass with the factor by which the law removes the rounding error of its work."""
    p = stage.rate * stage.ends
    after = stage.part.speeds(stage.part.moved(stage.before, p))
    work, stored = 0.5 * float(p @ (stage.speeds + after)), -0.5 * float(p @ stage.speeds)
    scale = max(0.5 * float(run.system.velocity @ run.system.velocity), stored)
    if not UNEVEN_WORK * scale < abs(work) < ROUNDED_WORK * stored:
        return stage
    more = 2.0 * stored / (2.0 * stored + work)
    given = (stage.part, stage.before, stage.speeds, stage.weights, stage.ends)
    return Pass(*given, more, stage.register, stage.impulses)


def _reflect(run: Replay, at: Ends, contacts: Contacts, chosen: Ints, u: Floats, own: bool) -> Ends:
    """The contacts `chosen` reflected, each as if it were alone."""
    part, diagonal = run.system.part(chosen), run.plain.rows.diag[chosen]
    e = contacts.restitution[chosen]
    stage = Reflected(part, at.velocity, u, diagonal, e, own, at.register, at.impulses)
    run.stages.append(stage)
    return run.pushed(at, at.velocity + part.transposed @ stage.p, chosen, stage.p)


def _limit(run: Replay, count: int, bound: int) -> None:
    if count > bound or len(run.stages) > MOST_STAGES:
        reason = f"more than {min(count, bound)} stages of {run.response.law.name}"
        raise ProblemError("solution", reason, "an impact that the law resolves before its bound")


REPLAYS: dict[str, Callable[[Replay, Any, Contacts, str, bool], Ends]] = {
    "none": none,
    "lcp": lcp,
    "gr": gr,
    "smm": smm,
    "sqm": worst_first,
    "gauss_seidel": gauss_seidel,
    "jacobi": jacobi,
    "qce": qce,
    "lzb": lzb,
    "etm": etm,
}
ROUGH = {"sqm": sqm, "etm": etm, "smm": rough_smm}
