"""The replays of the impact laws without friction, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws.gauss_seidel import ORDERS, _permuted, _sweep_keys
from ..laws.qce import ROUNDED_WORK, UNEVEN_WORK, one_pass
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints
from .increments import Track, etm, sqm
from .reflections import Pass, Reflected
from .replay import Ends, Replay
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
    """Single reflections in the order of the law, as `carom.laws.gauss_seidel` makes them."""
    if law.order == "worst":
        return worst_first(run, law, contacts, register, own)
    track, tol, m = Track(run, contacts, register), law.approach_left(contacts, 0.0), contacts.count
    keys, u = _sweep_keys(m, law.order, law.seed), track.u
    sweep = set(np.flatnonzero(u < -tol).tolist())
    waiting: set[int] = set()
    last, first = -1.0, True  # a contact that does not approach is passed over in the first sweep
    while sweep or waiting:
        if not sweep:
            if first:
                run.margins.note(np.flatnonzero(keys > last), u[keys > last], "is about to approach")
            keys = _permuted(keys) if law.order == ORDERS[1] else keys
            sweep, waiting, first = waiting, set(), False
        i = min(sweep, key=lambda j: keys[j])
        sweep.discard(i)
        if first:
            passed = np.flatnonzero((keys > last) & (keys < keys[i]))
            run.margins.note(passed, u[passed], "is about to approach")
            last = keys[i]
        run.margins.note(np.array([i]), u[[i]], APPROACHES)
        if u[i] >= -tol:
            continue
        changed = track.reflect(i, contacts.restitution[i], own)
        _limit(run, track.count, MOST_STAGES)
        for j in changed[u[changed] < -tol].tolist():
            if j not in sweep and j not in waiting:
                (sweep if keys[j] > keys[i] else waiting).add(j)
        run.margins.note(changed, u[changed], APPROACHES)
    run.margins.note(np.arange(m), u, "is about to approach")
    return track.ends()


def worst_first(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Single reflections, the fastest approach first: sqm without friction, and one order of gauss_seidel."""
    track, rest = Track(run, contacts, register), np.full(contacts.count, law.approach_left(contacts, 0.0))
    while (i := track.worst(rest)) >= 0:
        changed = track.reflect(i, contacts.restitution[i], own)
        _limit(run, track.count, MOST_STAGES)
        run.margins.note(changed, track.u[changed], APPROACHES)
    run.margins.note(np.arange(contacts.count), track.u, "is about to approach")
    return track.ends()


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
        at = run.pushed(at, at.velocity + part.transposed @ p, front, p)
        ended = np.setdiff1d(np.arange(len(front)), stage.unended)
        run.margins.note(front[ended], stage.after[ended], "is about to end elsewhere")
        run.margins.note(front, stage.earlier_turn, "is about to end earlier")
        count += 1
        _limit(run, count, law.max_iterations or 1000 + int(100 * np.sqrt(contacts.count)))


def _even(run: Replay, stage: Pass) -> Pass:
    """The pass with the factor by which the law removes the rounding error of its work."""
    p = stage.rate * stage.ends
    after = stage.part.speeds(stage.before + stage.part.transposed @ p)
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
