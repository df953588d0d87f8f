"""The replays of the impact laws without friction, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws.contact_points import points
from ..laws.gauss_seidel import ORDERS, WORST, _sweep_keys
from ..problem.contacts import Contacts
from ..solvers.rows import Floats, Ints
from .cones import Cones, Limits, reflected
from .increments import TIE, etm
from .kinks import GEOMETRY, MASSES
from .passes import Passes, Record, replayed_passes
from .replay import ACTIVE, STILL, Ends, Replay
from .rough_sequence import RoughSequence, rough_reflections
from .sequence import Sequence, reflections, simultaneous_reflections
from .smm import rough_smm

MOST_STAGES = 200_000  # of one replay
Reflections = tuple[Ints, Floats, Ints, Floats, Floats, Floats]  # the first fields of `Sequence`, after the system
PASS_MARGINS = (
    "is about to approach",
    "is about to approach no more",
    "is about to end elsewhere",
    "is about to end earlier",
)
CONE_MARGINS = (
    "is about to approach",
    "is about to approach no more",
    "is about to push no more",
    "is about to push",
)
ROUGH_MARGINS = (
    "is about to approach",
    "is about to approach no more",
    "is no longer the fastest approach",
    "is about to stick or slide otherwise",
)
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
    """Cone problems over the violators until nothing approaches; plain ones are found again by a kernel."""
    at, tol, count, e = run.begin(register), law.approach_left(contacts, 0.0), 0, contacts.restitution
    bound = law.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
    still = STILL * run.margins.scale
    while True:
        at, made = _plain(run, at, e, Limits(tol, bound - count, ACTIVE, run.small, still), own)
        count += made
        u = run.speeds(at.velocity)
        chosen = np.flatnonzero(u < -tol)
        others = np.flatnonzero((u >= -tol) & ~run.resting)
        if len(chosen) == 0:
            run.margins.note(others, u[others], "is about to approach")
            return at
        at, active, _ = run.cone(at, chosen, e, own)
        count += 1
        _limit(run, count, bound)
        run.margins.note(active, u[active], "is about to approach no more")
        # A contact that begins to approach changes the stage only where the others would drive it together.
        driven = others[run.speeds(at.velocity)[others] <= u[others]]
        run.margins.note(driven, u[driven], "is about to approach")


def _plain(run: Replay, at: Ends, e: Floats, limits: Limits, own: bool) -> tuple[Ends, int]:
    """The answer after the plain iterations of gr that come next, and their number."""
    start = at.velocity.reshape(run.contacts.velocity.shape)
    made, margins, x = reflected(run.plain.rows, run.system.pairs, start, e, limits, run.resting)
    count = len(made.ptr) - 1
    if count == 0:
        return at, 0
    _note(run, margins, CONE_MARGINS)
    run.stages.append(Cones(run.system, made, at.velocity, x.ravel(), e, own, at.register, at.impulses))
    normal = at.normal + np.bincount(made.active, made.y[: len(made.active)], len(at.normal))
    return Ends(at.register, at.impulses, x.ravel(), normal), count


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
    at, tol, e = run.begin(register), law.approach_left(contacts, 0.0), contacts.restitution
    start, bound = at.velocity.reshape(contacts.velocity.shape), law.max_iterations
    which, speeds, ptr, x, lam, margins = simultaneous_reflections(run.plain.rows, start, e, tol, bound)
    _limit(run, len(ptr) - 1, bound)
    _note(run, margins, ("is about to approach", "is about to approach no more"))
    return _reflected(run, at, (which, speeds, ptr, at.velocity, x.ravel(), e), lam, own)


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
    _note(run, margins, ("is about to approach", APPROACHES, "is no longer the fastest approach"))
    return _reflected(run, at, (which, speeds, np.arange(len(which) + 1), at.velocity, x.ravel(), e), lam, own)


def rough_worst_first(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Single reflections with friction, the fastest approach first: sqm."""
    at, tol, start = run.begin(register), law.approach_left(contacts, 0.0), contacts.velocity
    given = points(run.contacts), start, contacts.restitution, tol, TIE * run.margins.scale, MOST_STAGES
    which, impulse, numbers, slopes, x, lam, margins = rough_reflections(*given)
    _limit(run, len(which), MOST_STAGES)
    _note(run, margins[:4], ROUGH_MARGINS)
    tied = np.flatnonzero(margins[4] == 0.0)
    run.margins.note(tied, np.zeros(len(tied)), "has an impulse with two equal limits", GEOMETRY | MASSES)
    after = x.ravel()
    made = (which, impulse, numbers, slopes)
    run.stages.append(RoughSequence(run.system, *made, at.velocity, after, at.register, at.impulses))
    return Ends(at.register, at.impulses, after, lam[:, 0].copy())


def _reflected(run: Replay, at: Ends, given: Reflections, impulses: Floats, own: bool) -> Ends:
    """The stage of reflections, and the answer after it."""
    run.stages.append(Sequence(run.system, *given, run.plain.rows.diag, own, at.register, at.impulses))
    return Ends(at.register, at.impulses, given[4], impulses)


def _note(run: Replay, margins: Iterable[Floats], reasons: Iterable[str]) -> None:
    """Notes the margins (m,) of decisions about each contact; infinity where there was none."""
    for margin, reason in zip(margins, reasons):
        noted = np.flatnonzero(np.isfinite(margin))
        run.margins.note(noted, margin[noted], reason)


def qce(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """Passes until nothing approaches; the kernel of the law finds the ends of each."""
    if own:
        raise ProblemError("restitution_model", "stronge", "energetic or qce_lcp for derivatives of qce")
    at, tol = run.begin(register), law.approach_left(contacts, 0.0)
    weights = contacts.shares / contacts.shares.max()
    bound = law.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
    start = at.velocity.reshape(contacts.velocity.shape)
    record, x, lam, margins = replayed_passes(run.plain.rows, run.system.pairs, start, weights, tol, bound)
    _limit(run, len(record.factor), bound)
    _note(run, margins, PASS_MARGINS)
    after = x.ravel()
    run.stages.append(Passes(run.system, Record(*record), at.velocity, after, at.register, at.impulses))
    return Ends(at.register, at.impulses, after, lam)


def lzb(run: Replay, law: Any, contacts: Contacts, register: str, own: bool) -> Ends:
    """The steps of the springs of every island."""
    from .springs import relaxed  # scipy.integrate takes half a second to import

    return relaxed(run, law, contacts, register)


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
ROUGH = {"sqm": rough_worst_first, "etm": etm, "smm": rough_smm}
