"""Restitution models: how an elastic law becomes one that loses energy; and clamps, where reflections never end.

Clamps are contacts that no velocity can separate. If `J^T y = 0` for some y >= 0, y != 0, then `sum y_i u_i = 0`, and
the contacts with y_i > 0 can neither approach nor separate: a ball between two fixed planes is reflected forever. Such
contacts act as a rigid joint. The velocity along them is lost, and the law resolves the rest of the island among the
motions that the joint allows (compare Vouga, Smith, Kaufman, Tamstorf, Grinspun 2017 on finite termination). Moving
boundaries carry the joint along if some velocity has `u = 0` at all of its contacts. Otherwise they open, and there is
no clamp, or close in, and there is no answer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..late import sparse as sp
from ..laws import Law, impulses_of
from ..laws.inelastic import FEASIBLE_RESIDUAL, inelastic
from ..problem.contacts import FINISHED_INELASTICALLY, INFEASIBLE, RESOLVED, Contacts, Impulses, worse
from ..solvers.qp.cone import cone, solve_chosen, solve_cone, work_of
from ..solvers.rows import Floats, Ints, rows_from_csr, taken
from ..solvers.threads import beside
from ..solvers.thresholds import CLAMP_CONTACTS, HELD_CONTACTS
from .verify import ENERGY_GAIN, relative_gain

if TYPE_CHECKING:
    from .response import Response

MODELS = {
    "energetic": "lam = (1 - c) lam_inelastic + c lam_elastic (Smith 2012, section 5); with different c in one island "
    "0 <= lam perp A lam + u - (1 - c) u_inelastic+ - c u_elastic+ >= 0, limited so that the energy does not rise",
    "qce_lcp": "0 <= lam perp A lam + u - c u_elastic+ >= 0 (Zhang 2015, eq. 19), limited so that the energy does not "
    "rise",
    "newton": "u+ = -e u at each contact inside the iteration; can collapse inelastically",
    "stronge": "each contact gives back e^2 of the energy that it stored",
}
ISLAND_WORK_ROUNDING = 1e-12  # work of an island, relative to the largest work of its impulses, that is rounding error
# Singular values of rows of length 1 below this share of the largest are zero: for the test whether contacts are a
# clamp, for the directions that it holds, and for its impulses.
CLAMP_RANK = 1e-10


def normal_impulses(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """Impulses of the law with the coefficients of restitution of `contacts`.

    `tolerance` is the speed of approach that may be left; 0 asks for an exact answer. The residual is relative to the
    fastest approach.
    """
    return _answer(contacts, response, tolerance)[0]


def targeted_impulses(contacts: Contacts, response: Response, tolerance: float = 0.0) -> tuple[Impulses, Floats]:
    """`normal_impulses`, and the separation speeds (m,) that restitution asks for, which are not negative.

    Where friction changes the normal impulses too, contacts still have to separate that fast. Under `qce_lcp` it is
    `c u_elastic+` (Zhang 2015, eq. 21), under the other models the speed after the impact without friction, where that
    has a normal impulse, and 0 elsewhere.
    """
    result, target = _answer(contacts, response, tolerance)
    if target is None:
        after = contacts.speeds(contacts.after(result.normal))
        target = np.where(result.normal > 0.0, np.maximum(after, 0.0), 0.0)
    return result, target


def _answer(contacts: Contacts, response: Response, tolerance: float) -> tuple[Impulses, Floats | None]:
    """`normal_impulses`, and the target speeds of `qce_lcp`."""
    model, c = response.restitution_model, contacts.restitution
    if response.friction_model is not None:
        contacts = contacts.without_friction()
    approach = contacts.approach()
    if approach <= tolerance:  # nothing approaches: no impulse, under every law and model
        own = response.friction_model is None and contacts.tangent_count > 0
        tangent = np.zeros((contacts.count, contacts.tangent_count)) if own else None
        return Impulses(np.zeros(contacts.count), tangent, residual=approach and 1.0), None
    relative = tolerance / approach
    if model in ("newton", "stronge"):
        return run_law(contacts, response, relative), None
    if (c == 0.0).all():
        return inelastic(contacts, tolerance), None
    if model == "energetic":
        return _energetic(contacts, response, tolerance, relative), None
    elastic = run_law(contacts.with_restitution(1.0), response, relative)
    target = c * np.maximum(contacts.speeds(contacts.after(elastic.normal)), 0.0)
    return (elastic if (c == 1.0).all() else _complementary(contacts, elastic, target, tolerance)), target


def _energetic(contacts: Contacts, response: Response, tolerance: float, relative: float) -> Impulses:
    """The interpolation between the inelastic and the elastic answer, also for coefficients that differ.

    `relative` is the tolerance over the fastest approach.
    """
    c, perfect = contacts.restitution, contacts.with_restitution(1.0)
    if (c == 1.0).all():
        return run_law(perfect, response, relative)
    elastic, loss = partial(run_law, perfect, response, relative), partial(inelastic, contacts, tolerance)
    high, low = beside(contacts.count, elastic, loss)
    result = replace(
        high,
        normal=(1.0 - c) * low.normal + c * high.normal,
        status=worse(low.status, high.status),
        residual=max(low.residual, high.residual),
        messages=(*low.messages, *high.messages),
    )
    mixed = np.zeros(0, np.int64) if (c == c[0]).all() else _mixed(contacts)
    return _per_contact(contacts, low, high, result, mixed, tolerance) if len(mixed) else result


def _mixed(contacts: Contacts) -> Ints:
    """The contacts of the islands in which coefficients of restitution differ."""
    c, label = contacts.restitution, contacts.island_labels()
    high, low = np.full(label.max() + 1, -1.0), np.full(label.max() + 1, 2.0)
    np.maximum.at(high, label, c)
    np.minimum.at(low, label, c)
    return np.flatnonzero((high > low)[label])


def _per_contact(
    contacts: Contacts, low: Impulses, high: Impulses, result: Impulses, mixed: Ints, tolerance: float
) -> Impulses:
    """`0 <= lam perp A lam + u - t >= 0`, `t = (1 - c) u_inelastic+ + c u_elastic+`, on the islands of `mixed`.

    With one coefficient the interpolation solves it, since its speeds are t. Boundaries that open on both sides of a
    body can make different targets contradict each other; such islands take the smallest of their coefficients.
    """
    c, u = contacts.restitution, contacts.speeds()
    slow, fast = (contacts.speeds(contacts.after(end.normal)) for end in (low, high))
    # u - t as a sum of changes, which are exactly zero in islands in which nothing approaches.
    wanted = ((1.0 - c) * (u - slow) + c * (u - fast))[mixed]
    problem = cone(wanted)
    speed = solve_chosen(contacts.rows, mixed, problem, work_of(contacts.rows), tolerance)
    normal = result.normal.copy()
    if speed > max(FEASIBLE_RESIDUAL * np.abs(wanted).max(), tolerance):
        least = c[mixed].min()
        normal[mixed] = ((1.0 - least) * low.normal + least * high.normal)[mixed]
        note = f"boundaries do not admit different restitutions at contacts {_some(mixed)}: {least:g} for all of them"
        return replace(result, normal=normal, messages=(*result.messages, note))
    normal[mixed] = problem.y
    residual = max(result.residual, speed / contacts.approach())
    return _limited(contacts, low.normal, replace(result, normal=normal, residual=residual))


def _complementary(contacts: Contacts, elastic: Impulses, target: Floats, tolerance: float) -> Impulses:
    """`0 <= lam perp A lam + u - target >= 0`, with `target = c u_elastic+` (Zhang 2015, eq. 19)."""
    wanted = contacts.speeds() - target
    lam, speed = solve_cone(contacts.rows, wanted, tolerance=tolerance)
    solved = speed <= max(FEASIBLE_RESIDUAL * np.abs(wanted).max(), tolerance)
    approach = contacts.approach()
    result = replace(
        elastic,
        normal=lam,
        status=worse(elastic.status, RESOLVED if solved else INFEASIBLE),
        residual=max(speed / approach if approach > 0.0 else 0.0, elastic.residual),
    )
    if not _gaining(contacts, lam, contacts.island_labels()).any():
        return result
    return _limited(contacts, inelastic(contacts, tolerance).normal, result)


def _gaining(contacts: Contacts, lam: Floats, label: Ints) -> Floats:
    """The work `sum lam (u + u+) / 2` of the impulses on each island where it is positive, else 0."""
    u, after = contacts.speeds(), contacts.speeds(contacts.after(lam))
    work, size = (np.bincount(label, 0.5 * lam * part) for part in (u + after, np.abs(u) + np.abs(after)))
    return np.where(work > ISLAND_WORK_ROUNDING * size, work, 0.0)


def _limited(contacts: Contacts, low: Floats, result: Impulses) -> Impulses:
    """The result, or on islands where it raises the energy the largest step towards it from `low` that does not.

    `low` are the inelastic impulses. The work of `low + s (lam - low)` is `w0 + w1 s + w2 s^2` with w0 <= 0, because
    `low . u+ = 0` there, w1 = lam . u_low+ >= 0 and w2 >= 0: one root is positive. See docs/restitution.md.
    """
    label = contacts.island_labels()
    gaining = _gaining(contacts, result.normal, label) > 0.0
    if not gaining.any():
        return result
    step = result.normal - low
    u, slow, fast = contacts.speeds(), *(contacts.speeds(contacts.after(lam)) for lam in (low, result.normal))
    w0 = np.minimum(np.bincount(label, 0.5 * low * (u + slow)), 0.0)
    w1 = np.maximum(np.bincount(label, step * slow), 0.0)
    w2 = np.maximum(np.bincount(label, 0.5 * step * (fast - slow)), 0.0)
    below = w1 + np.sqrt(w1 * w1 - 4.0 * w2 * w0)
    share = np.divide(-2.0 * w0, below, out=np.zeros_like(below), where=below > 0.0)
    share = np.where(gaining, np.minimum(share, 1.0), 1.0)
    note = stepped_back(np.flatnonzero(gaining[label]), share[gaining].min())
    return replace(result, normal=low + share[label] * step, messages=(*result.messages, note))


def stepped_back(contacts: Ints, share: float) -> str:
    """The message about contacts whose restitution was reduced."""
    reduced = f"at least {share:.3g} of what their coefficients ask for"
    return f"restitution would raise the kinetic energy at contacts {_some(contacts)}; they got {reduced}"


def _some(contacts: Ints) -> str:
    return f"{contacts[:8].tolist()}" + (f" and {len(contacts) - 8} more" if len(contacts) > 8 else "")


# ---- clamps


def run_law(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """The impulses of the law; islands with a clamp are resolved again if the law has reached its bound.

    `tolerance` is the approach that the law may leave, relative to the fastest one; 0 asks for its own tolerance.
    A friction model adds friction to impulses of the law without it. Friction of the law itself is tied to every single
    impulse, and no clamps are searched for there.
    """
    if response.friction_model is None and contacts.frictional:
        return impulses_of(response.law, contacts, tolerance)
    contacts = contacts.without_friction()
    result = impulses_of(response.law, contacts, tolerance)
    if result.tangent is not None:
        result = replace(result, tangent=None)
    if result.status != FINISHED_INELASTICALLY:
        return result
    label = contacts.island_labels()
    normal, residual = result.normal.copy(), result.residual
    clamps: list[str] = []
    unclamped, free = False, np.ones(contacts.count, np.bool_)
    for island in range(label.max() + 1):
        mine = np.flatnonzero(label == island)
        clamp = _clamp(contacts, mine) if 2 <= len(mine) <= CLAMP_CONTACTS else None
        found = None if clamp is None else _resolve_clamped(response.law, contacts, clamp, tolerance)
        if clamp is None or found is None:
            continue
        normal[mine], inner_residual, clean = found
        residual = max(residual, inner_residual)
        unclamped, free[mine] = unclamped or not clean, False
        held = mine[clamp.held][:8].tolist()
        clamps.append(f"contacts {held} clamp a body: their motion was resolved inelastically")
    if not clamps:
        return result
    if free.any():  # the reflections of a clamp use up the bound that all islands share
        others = np.flatnonzero(free)
        weights = None if contacts.weights is None else contacts.weights[others]
        apart = Contacts(taken(contacts.rows, others), contacts.velocity, contacts.restitution[others], weights)
        again = impulses_of(response.law, apart, tolerance)
        normal[others], residual = again.normal, max(residual, again.residual)
        unclamped = unclamped or again.status == FINISHED_INELASTICALLY
    kept = tuple(result.messages) if unclamped else ()
    return replace(result, normal=normal, residual=residual, messages=(*kept, *clamps))


class _Clamp(NamedTuple):
    """An island with contacts that clamp a body."""

    mine: Ints  # contacts of the island
    held: Ints  # contacts of the clamp, as numbers within the island
    columns: Ints  # velocity components of the island
    g: sp.csr_matrix  # (contacts of the island, components) rows
    joint: sp.csr_matrix  # (components, rank) orthonormal directions along which the clamp allows no velocity
    balance: Floats  # (held,) y > 0 with G^T y = 0
    carried: Floats  # (components,) velocity of the joint with its boundaries, in the span of `joint`


def _clamp(contacts: Contacts, mine: Ints) -> _Clamp | None:
    """The largest set of contacts of an island with y_i > 0 in some `G^T y = 0, y >= 0`, if there is one."""
    g = contacts.matrix()[mine]
    columns, places = np.unique(g.indices, return_inverse=True)
    g = sp.csr_matrix((g.data, places, g.indptr), shape=(len(mine), len(columns)))
    length = _lengths(g)
    y = _balance(sp.diags(1.0 / length) @ g)
    held = np.flatnonzero(y > 0.5) if y is not None else np.zeros(0, np.int64)
    if y is None or not 0 < len(held) <= HELD_CONTACTS:
        return None
    touched = np.unique(g[held].indices)
    unit = g[held][:, touched].toarray() / length[held, None]
    u, s, vt = np.linalg.svd(unit.T)
    rank = int((s > CLAMP_RANK * s[0]).sum())
    # The linear program is accurate to 1e-7 only: its y is projected on the null space, which must not change it much.
    exact = vt[rank:].T @ (vt[rank:] @ y[held])
    if (exact < 0.25 * y[held]).any():
        return None
    w = contacts.boundary_speed[mine[held]] / length[held]
    carried = np.zeros(len(columns))
    carried[touched] = -u[:, :rank] @ ((vt[:rank] @ w) / s[:rank])
    # Relative to the speeds of the contacts: those of boundaries may be the rounding of what joints prescribe.
    speed = contacts.speeds()[mine[held]] / length[held]
    if np.abs(unit @ carried[touched] + w).max() > CLAMP_RANK * max(np.abs(w).max(), np.abs(speed).max()):
        return None
    spread = sp.csr_matrix((np.ones(len(touched)), (touched, np.arange(len(touched)))), (len(columns), len(touched)))
    joint = sp.csr_matrix(spread @ sp.csr_matrix(u[:, :rank]))
    return _Clamp(mine, held, columns, g, joint, exact / length[held], carried)


def _lengths(g: sp.csr_matrix) -> Floats:
    """The length of each row."""
    return np.sqrt(np.asarray(g.multiply(g).sum(axis=1)).ravel())


def _balance(g: sp.csr_matrix) -> Floats | None:
    """y >= 0 with `g^T y = 0` and y_i >= 1 for as many rows as possible."""
    from scipy.optimize import linprog  # slow to import, and clamps are rare

    k, n = g.shape
    one = sp.identity(k, format="csr")
    # Largest number of contacts with y_i >= 1: maximize sum t, t <= y, 0 <= t <= 1.
    answer = linprog(
        np.concatenate([np.zeros(k), -np.ones(k)]),
        A_ub=sp.hstack([-one, one], format="csr"),
        b_ub=np.zeros(k),
        A_eq=sp.hstack([g.T, sp.csr_matrix((n, k))], format="csr"),
        b_eq=np.zeros(n),
        bounds=[(0, None)] * k + [(0, 1)] * k,
        method="highs",
    )
    return answer.x[:k] if answer.status == 0 else None


def _resolve_clamped(
    law: Law, contacts: Contacts, clamp: _Clamp, tolerance: float
) -> tuple[Floats, float, bool] | None:
    """Impulses of the island with its held contacts as a rigid joint, the residual of the law on the other contacts,
    and whether the law ended there without reaching its bound. None if that would raise the energy."""
    g, held, joint = clamp.g, clamp.held, clamp.joint
    before = contacts.velocity.ravel()[clamp.columns]
    x = before - joint @ (joint.T @ before) + clamp.carried
    length = _lengths(g)
    allowed = sp.csr_matrix(g - (g @ joint) @ joint.T)
    rest = np.setdiff1d(np.flatnonzero(_lengths(allowed) > CLAMP_RANK * length), held)
    lam = np.zeros(len(clamp.mine))
    residual, clean = 0.0, True
    if len(rest):
        moved = _flat(contacts, clamp.mine[rest], allowed[rest], x)
        carried = moved.rows.base + (g[rest] @ clamp.carried)[:, None]
        inner = impulses_of(law, replace(moved, rows=moved.rows._replace(base=carried)), tolerance)
        lam[rest] = inner.normal
        residual, clean = inner.residual, inner.status != FINISHED_INELASTICALLY
        x = x + allowed[rest].T @ inner.normal
    # The impulses of the joint balance the rest of the change of velocity, and are made non-negative along y.
    need = x - before - g.T @ lam
    touched = np.unique(g[held].indices)
    unit = g[held][:, touched].toarray() / length[held, None]
    hold = np.linalg.lstsq(unit.T, need[touched], rcond=CLAMP_RANK)[0] / length[held]
    lam[held] = hold + max(0.0, float((-hold / clamp.balance).max())) * clamp.balance
    alone = _flat(contacts, clamp.mine, g, before)
    return (lam, residual, clean) if np.isfinite(lam).all() and relative_gain(alone, lam) <= ENERGY_GAIN else None


def _flat(contacts: Contacts, which: Ints, matrix: sp.csr_matrix, x: Floats) -> Contacts:
    """Some contacts as a separate impact over plain components."""
    k, n = matrix.shape
    top = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    row = np.repeat(np.arange(k), np.diff(matrix.indptr))
    kept = np.abs(matrix.data) > np.finfo(float).eps * top[row]
    ptr = np.searchsorted(row[kept], np.arange(k + 1))
    rows = rows_from_csr(ptr, matrix.indices[kept], matrix.data[kept][:, None], n)
    base = contacts.boundary_speed[which][:, None]
    weights = None if contacts.weights is None else contacts.weights[which]
    return Contacts(rows._replace(base=base), np.ascontiguousarray(x[:, None]), contacts.restitution[which], weights)
