"""Clamps: contacts that no velocity can separate, where reflections never end.

If `J^T y = 0` for some y >= 0, y != 0, then `sum y_i u_i = 0`, and the contacts with y_i > 0 can neither approach nor
separate: a ball between two fixed planes is reflected forever. Such contacts act as a rigid joint. The velocity along
them is lost, and the law resolves the rest of the island among the motions that the joint allows (compare Vouga,
Smith, Kaufman, Tamstorf, Grinspun 2017 on finite termination).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..laws import Law
from ..solvers.islands import island_labels
from ..solvers.rows import Floats, Ints, make_rows
from ..solvers.thresholds import CLAMP_CONTACTS
from .contacts import FINISHED_INELASTICALLY, Contacts, Impulses

if TYPE_CHECKING:
    from .response import Response


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
        found = _clamp(contacts, mine) if 2 <= len(mine) <= CLAMP_CONTACTS else None
        if found is None:
            continue
        normal[mine], inner_residual, clean = _resolve_clamped(law, contacts, mine, *found)
        residual = max(residual, inner_residual)
        unclamped = unclamped or not clean
        clamps.append(f"contacts {mine[found[0]][:8].tolist()} clamp a body: their motion was resolved inelastically")
    if not clamps:
        return result
    kept = tuple(result.messages) if unclamped else ()
    return replace(result, normal=normal, residual=residual, messages=(*kept, *clamps))


def _clamp(contacts: Contacts, mine: Ints) -> tuple[Ints, Floats] | None:
    """The contacts, as numbers within the island, with y_i > 0 in some `G^T y = 0, y >= 0`, and such a y."""
    if np.abs(contacts.boundary_speed[mine]).max() > 0.0:
        return None  # the joint would have to move with the boundary: left to the inelastic finish
    from scipy.optimize import linprog  # slow to import, and clamps are rare

    g = contacts.matrix()[mine]
    g = g[:, np.unique(g.indices)].toarray()
    g /= np.linalg.norm(g, axis=1)[:, None]
    k = len(mine)
    # Largest number of contacts with y_i >= 1: maximize sum t, t <= y, 0 <= t <= 1.
    balance = np.hstack([g.T, np.zeros((g.shape[1], k))])
    below = np.hstack([-np.eye(k), np.eye(k)])
    answer = linprog(
        np.concatenate([np.zeros(k), -np.ones(k)]),
        A_ub=below,
        b_ub=np.zeros(k),
        A_eq=balance,
        b_eq=np.zeros(g.shape[1]),
        bounds=[(0, None)] * k + [(0, 1)] * k,
        method="highs",
    )
    if answer.status != 0:
        return None
    y = answer.x[:k]
    held = np.flatnonzero(y > 0.5)
    if len(held) == 0 or np.abs(g.T @ y).max() > 1e-7 * y.max():
        return None
    return held, y


def _resolve_clamped(law: Law, contacts: Contacts, mine: Ints, held: Ints, y: Floats) -> tuple[Floats, float, bool]:
    """Impulses of the island with its held contacts as a rigid joint, the residual of the law on the other contacts,
    and whether the law ended there without reaching its bound."""
    g = contacts.matrix()[mine]
    columns = np.unique(g.indices)
    g = g[:, columns].toarray()
    before = contacts.velocity.ravel()[columns]
    u, s, _ = np.linalg.svd(g[held].T, full_matrices=False)
    joint = u[:, s > 1e-10 * s[0]]
    x = before - joint @ (joint.T @ before)
    length = np.linalg.norm(g, axis=1)
    allowed = g - (g @ joint) @ joint.T
    rest = np.setdiff1d(np.flatnonzero(np.linalg.norm(allowed, axis=1) > 1e-9 * length), held)
    lam = np.zeros(len(mine))
    residual, clean = 0.0, True
    if len(rest):
        sub = _flat(contacts, mine[rest], allowed[rest], x)
        inner = law.impulses(sub)
        lam[rest] = inner.normal
        residual, clean = inner.residual, inner.status != FINISHED_INELASTICALLY
        x = x + allowed[rest].T @ inner.normal
    # The impulses of the joint balance the rest of the change of velocity, and are made non-negative along y.
    need = x - before - g.T @ lam
    hold = np.linalg.lstsq(g[held].T, need, rcond=None)[0]
    weight = y[held] / length[held]
    lam[held] = hold + max(0.0, float((-hold / weight).max())) * weight
    return lam, residual, clean


def _flat(contacts: Contacts, which: Ints, matrix: Floats, x: Floats) -> Contacts:
    """Some contacts as a separate impact over plain components."""
    k, n = matrix.shape
    rows = make_rows(np.arange(k + 1) * n, np.tile(np.arange(n), k), matrix.reshape(-1, 1), n)
    return Contacts(
        rows=rows,
        velocity=np.ascontiguousarray(x[:, None]),
        boundary_speed=contacts.boundary_speed[which],
        restitution=contacts.restitution[which],
        friction=np.zeros(k),
    )
