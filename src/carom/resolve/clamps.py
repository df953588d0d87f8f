"""Clamps: contacts that no velocity can separate, where reflections never end.

If `J^T y = 0` for some y >= 0, y != 0, then `sum y_i u_i = 0`, and the contacts with y_i > 0 can neither approach nor
separate: a ball between two fixed planes is reflected forever. Such contacts act as a rigid joint. The velocity along
them is lost, and the law resolves the rest of the island among the motions that the joint allows (compare Vouga,
Smith, Kaufman, Tamstorf, Grinspun 2017 on finite termination). Moving boundaries carry the joint along if some velocity
has `u = 0` at all of its contacts. Otherwise they open, and there is no clamp, or close in, and there is no answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..laws import Law, impulses_of
from ..problem.contacts import FINISHED_INELASTICALLY, Contacts, Impulses
from ..solvers.rows import Floats, Ints, rows_from_csr
from ..solvers.thresholds import CLAMP_CONTACTS, HELD_CONTACTS
from .verify import GAIN, relative_gain

if TYPE_CHECKING:
    from .response import Response

RANK = 1e-10
"""Singular values of rows of length 1 below this share of the largest are zero: for the test whether contacts are a
clamp, for the directions that it holds, and for its impulses. Contacts that are opposite to less than this are none."""


def run_law(contacts: Contacts, response: Response, tolerance: float = 0.0) -> Impulses:
    """The impulses of the law; islands with a clamp are resolved again if the law has reached its bound.

    `tolerance` is the approach that the law may leave, relative to the fastest one; 0 asks for its own tolerance.
    A friction model adds friction to impulses of the law without it. Friction of the law itself is tied to every single
    impulse, and no clamps are searched for there.
    """
    if response.friction_model is None and contacts.friction.any():
        return impulses_of(response.law, contacts, tolerance)
    contacts = contacts.without_friction()
    result = replace(impulses_of(response.law, contacts, tolerance), tangent=None)
    if result.status != FINISHED_INELASTICALLY:
        return result
    label = contacts.island_labels()
    normal, residual = result.normal.copy(), result.residual
    clamps: list[str] = []
    unclamped = False
    for island in range(label.max() + 1):
        mine = np.flatnonzero(label == island)
        clamp = _clamp(contacts, mine) if 2 <= len(mine) <= CLAMP_CONTACTS else None
        found = None if clamp is None else _resolve_clamped(response.law, contacts, clamp, tolerance)
        if clamp is None or found is None:
            continue
        normal[mine], inner_residual, clean = found
        residual = max(residual, inner_residual)
        unclamped = unclamped or not clean
        held = mine[clamp.held][:8].tolist()
        clamps.append(f"contacts {held} clamp a body: their motion was resolved inelastically")
    if not clamps:
        return result
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
    rank = int((s > RANK * s[0]).sum())
    # The linear program is accurate to 1e-7 only: its y is projected on the null space, which must not change it much.
    exact = vt[rank:].T @ (vt[rank:] @ y[held])
    if (exact < 0.25 * y[held]).any():
        return None
    w = contacts.boundary_speed[mine[held]] / length[held]
    carried = np.zeros(len(columns))
    carried[touched] = -u[:, :rank] @ ((vt[:rank] @ w) / s[:rank])
    if np.abs(unit @ carried[touched] + w).max() > RANK * np.abs(w).max():
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
    rest = np.setdiff1d(np.flatnonzero(_lengths(allowed) > RANK * length), held)
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
    hold = np.linalg.lstsq(unit.T, need[touched], rcond=RANK)[0] / length[held]
    lam[held] = hold + max(0.0, float((-hold / clamp.balance).max())) * clamp.balance
    alone = _flat(contacts, clamp.mine, g, before)
    return (lam, residual, clean) if np.isfinite(lam).all() and relative_gain(alone, lam) <= GAIN else None


def _flat(contacts: Contacts, which: Ints, matrix: sp.csr_matrix, x: Floats) -> Contacts:
    """Some contacts as a separate impact over plain components."""
    k, n = matrix.shape
    top = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    row = np.repeat(np.arange(k), np.diff(matrix.indptr))
    kept = np.abs(matrix.data) > np.finfo(float).eps * top[row]
    ptr = np.searchsorted(row[kept], np.arange(k + 1))
    rows = rows_from_csr(ptr, matrix.indices[kept], matrix.data[kept][:, None], n)
    base = contacts.boundary_speed[which][:, None]
    return Contacts(rows._replace(base=base), np.ascontiguousarray(x[:, None]), contacts.restitution[which])
