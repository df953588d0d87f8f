"""Clamps: contacts that no velocity can separate, where reflections never end.

If `J^T y = 0` for some y >= 0, y != 0, then `sum y_i u_i = 0`, and the contacts with y_i > 0 can neither approach nor
separate: a ball between two fixed planes is reflected forever. Such contacts act as a rigid joint. The velocity along
them is lost, and the law resolves the rest of the island among the motions that the joint allows (compare Vouga,
Smith, Kaufman, Tamstorf, Grinspun 2017 on finite termination).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..laws import Law
from ..solvers.islands import island_labels
from ..solvers.rows import Floats, Ints, make_rows
from ..solvers.thresholds import CLAMP_CONTACTS
from .contacts import FINISHED_INELASTICALLY, Contacts, Impulses
from .verify import GAIN, relative_gain

if TYPE_CHECKING:
    from .response import Response

RANK = 1e-10
"""Singular values of rows of length 1 below this share of the largest are zero: for the test whether contacts are a
clamp, for the directions that it holds, and for its impulses. Contacts that are opposite to less than this are none."""


def run_law(contacts: Contacts, response: Response) -> Impulses:
    """The impulses of the law; islands with a clamp are resolved again if the law has reached its bound.

    Clamps are only searched for without friction. If a friction model replaces the law's own friction, the law runs
    without it.
    """
    law = response.law
    if contacts.friction.any():
        if not response.replaces_friction:
            return law.impulses(contacts)
        bare = law.impulses(replace(contacts, friction=np.zeros(contacts.count)))
        return replace(bare, tangent=None)
    result = law.impulses(contacts)
    if result.status != FINISHED_INELASTICALLY:
        return result
    label = island_labels(contacts.rows)
    normal, residual = result.normal.copy(), result.residual
    clamps: list[str] = []
    unclamped = False
    for island in range(label.max() + 1):
        mine = np.flatnonzero(label == island)
        clamp = _clamp(contacts, mine) if 2 <= len(mine) <= CLAMP_CONTACTS else None
        found = None if clamp is None else _resolve_clamped(law, contacts, clamp)
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
    g: Floats  # (contacts of the island, components) rows
    joint: Floats  # (components, rank) orthonormal directions along which the clamp allows no velocity
    balance: Floats  # (held,) y > 0 with G^T y = 0


def _clamp(contacts: Contacts, mine: Ints) -> _Clamp | None:
    """The largest set of contacts of an island with y_i > 0 in some `G^T y = 0, y >= 0`, if there is one."""
    if np.abs(contacts.boundary_speed[mine]).max() > 0.0:
        return None  # the joint would have to move with the boundary: left to the inelastic finish
    g = contacts.matrix()[mine]
    columns = np.unique(g.indices)
    g = g[:, columns].toarray()
    length = np.linalg.norm(g, axis=1)
    y = _balance(g / length[:, None])
    if y is None or not (y > 0.5).any():
        return None
    held = np.flatnonzero(y > 0.5)
    u, s, vt = np.linalg.svd((g[held] / length[held, None]).T)
    rank = int((s > RANK * s[0]).sum())
    # The linear program is accurate to 1e-7 only: its y is projected on the null space, which must not change it much.
    exact = vt[rank:].T @ (vt[rank:] @ y[held])
    if (exact < 0.25 * y[held]).any():
        return None
    return _Clamp(mine, held, columns, g, u[:, :rank], exact / length[held])


def _balance(g: Floats) -> Floats | None:
    """y >= 0 with `g^T y = 0` and y_i >= 1 for as many rows as possible."""
    from scipy.optimize import linprog  # slow to import, and clamps are rare

    k, n = g.shape
    # Largest number of contacts with y_i >= 1: maximize sum t, t <= y, 0 <= t <= 1.
    answer = linprog(
        np.concatenate([np.zeros(k), -np.ones(k)]),
        A_ub=np.hstack([-np.eye(k), np.eye(k)]),
        b_ub=np.zeros(k),
        A_eq=np.hstack([g.T, np.zeros((n, k))]),
        b_eq=np.zeros(n),
        bounds=[(0, None)] * k + [(0, 1)] * k,
        method="highs",
    )
    return answer.x[:k] if answer.status == 0 else None


def _resolve_clamped(law: Law, contacts: Contacts, clamp: _Clamp) -> tuple[Floats, float, bool] | None:
    """Impulses of the island with its held contacts as a rigid joint, the residual of the law on the other contacts,
    and whether the law ended there without reaching its bound. None if that would raise the energy."""
    g, held, joint = clamp.g, clamp.held, clamp.joint
    before = contacts.velocity.ravel()[clamp.columns]
    x = before - joint @ (joint.T @ before)
    length = np.linalg.norm(g, axis=1)
    allowed = g - (g @ joint) @ joint.T
    rest = np.setdiff1d(np.flatnonzero(np.linalg.norm(allowed, axis=1) > RANK * length), held)
    lam = np.zeros(len(clamp.mine))
    residual, clean = 0.0, True
    if len(rest):
        inner = law.impulses(_flat(contacts, clamp.mine[rest], allowed[rest], x))
        lam[rest] = inner.normal
        residual, clean = inner.residual, inner.status != FINISHED_INELASTICALLY
        x = x + allowed[rest].T @ inner.normal
    # The impulses of the joint balance the rest of the change of velocity, and are made non-negative along y.
    need = x - before - g.T @ lam
    unit = g[held] / length[held, None]
    hold = np.linalg.lstsq(unit.T, need, rcond=RANK)[0] / length[held]
    lam[held] = hold + max(0.0, float((-hold / clamp.balance).max())) * clamp.balance
    alone = _flat(contacts, clamp.mine, g, before)
    return (lam, residual, clean) if np.isfinite(lam).all() and relative_gain(alone, lam) <= GAIN else None


def _flat(contacts: Contacts, which: Ints, matrix: Floats, x: Floats) -> Contacts:
    """Some contacts as a separate impact over plain components."""
    k, n = matrix.shape
    row, column = np.nonzero(np.abs(matrix) > np.finfo(float).eps * np.abs(matrix).max(axis=1, keepdims=True))
    ptr = np.searchsorted(row, np.arange(k + 1))
    rows = make_rows(ptr, column, matrix[row, column][:, None], n)
    return Contacts(
        rows=rows,
        velocity=np.ascontiguousarray(x[:, None]),
        boundary_speed=contacts.boundary_speed[which],
        restitution=contacts.restitution[which],
        friction=np.zeros(k),
    )
