"""Coulomb friction along one direction per contact, opposite to the slip before impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..laws.law import SMITH_2012
from ..problem.contacts import Contacts
from ..solvers.contact_island import FIXED, ZERO_ROW
from ..solvers.qp.box import box_residual, solve_bounds
from ..solvers.rows import Floats, Ints, Rows, body_count, make_rows, taken
from ..solvers.settle import ROUND_OFF
from .model import FrictionModel

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FixedDirection(FrictionModel):
    """`min 1/2 z^T B z + z^T D v` over `0 <= z <= mu lam`, D opposite to the slip before impact (Smith 2012, alg. 3).

    The printed objective lacks the 1/2 that makes it kinetic energy. Contacts that do not slip before the impact
    get no friction.
    """

    name: ClassVar[str] = "coulomb_fixed_direction"
    title: ClassVar[str] = "Coulomb, one fixed direction per contact"
    paper: ClassVar = SMITH_2012
    bounds: ClassVar[int] = FIXED

    def impulses(
        self, contacts: Contacts, normal: Floats, start: Floats, tolerance: float = 0.0
    ) -> tuple[Floats, float]:
        tangent = np.zeros((contacts.count, start.shape[1]))
        rows, used, direction = _directions(contacts, normal)
        if rows is None:
            return tangent, 0.0
        bound = contacts.friction[used] * normal[used]
        speed = (contacts.tangent_speeds(contacts.after(normal))[used] * direction).sum(axis=1)
        first = np.clip((start[used] * direction).sum(axis=1), 0.0, bound)
        z, residual = solve_bounds(rows, speed, np.zeros(len(used)), bound, first, tolerance)
        tangent[used] = z[:, None] * direction
        return tangent, residual

    def residual(self, contacts: Contacts, normal: Floats, tangent: Floats) -> float:
        rows, used, direction = _directions(contacts, normal)
        if rows is None:
            return 0.0
        bound = contacts.friction[used] * normal[used]
        x = contacts.after(normal, tangent)
        speed = (contacts.tangent_speeds(x)[used] * direction).sum(axis=1)
        z = (tangent[used] * direction).sum(axis=1)
        return box_residual(rows.diag, speed, np.zeros(len(used)), bound, z)


@dataclass(frozen=True)
class SinglePass(FixedDirection):
    """Friction along fixed directions once after the law, as in Smith 2012, algorithm 4.

    Friction may drive contacts together, and nothing stops that approach; the status is then "not_converged".
    """

    name: ClassVar[str] = "coulomb_single_pass"
    title: ClassVar[str] = "Coulomb, one fixed direction, a single pass after the law"

    repeats: int = 0


def _directions(contacts: Contacts, normal: Floats) -> tuple[Rows | None, Ints, Floats]:
    """The contacts with friction (k,), their directions (k, t) opposite to the slip before impact, and their rows."""
    slip = contacts.tangent_speeds()
    fast = np.linalg.norm(slip, axis=1)
    # A slip of the size of rounding has no direction; with one, the answer would depend on the frame of reference.
    still = ROUND_OFF * max(fast.max(), np.abs(contacts.speeds()).max())
    used = np.flatnonzero((fast > still) & (contacts.friction * normal > 0.0))
    direction = -slip[used] / fast[used, None]
    if len(used) == 0 or not contacts.tangent_count:
        return None, used, direction
    rows, kept = without_zero_rows(_along(contacts.rows, used, direction))
    return rows, used[kept], direction[kept]


def _along(rows: Rows, used: Ints, direction: Floats) -> Rows:
    """The tangent rows of the contacts `used`, combined along one direction (k, t) each, as normal rows."""
    val = direction[:, 0, None, None] * rows.val[used, :, 1]
    for s in range(1, direction.shape[1]):
        val += direction[:, s, None, None] * rows.val[used, :, 1 + s]
    return _as_normals(rows.body[used], val, rows)


def tangent_rows(contacts: Contacts) -> Rows:
    """The tangent rows as normal rows, t for each contact."""
    rows, t = contacts.rows, contacts.tangent_count
    val = rows.val[:, :, 1 : 1 + t].transpose(0, 2, 1, 3)
    return _as_normals(np.repeat(rows.body, t, axis=0), val.reshape(-1, *val.shape[2:]), rows)


def _as_normals(body: Ints, val: Floats, rows: Rows) -> Rows:
    """Rows with the entries (k, w, d), over the bodies of `rows`."""
    k = len(body)
    zeros = np.zeros((k, 1)), np.zeros((k, 3))
    return make_rows(body, np.ascontiguousarray(val[:, :, None]), *zeros, rows.tangents, body_count(rows))


def without_zero_rows(rows: Rows) -> tuple[Rows, Mask]:
    """The rows that move a body, and a mask of them."""
    moving = rows.diag > ZERO_ROW * rows.diag.max()
    return (rows if moving.all() else taken(rows, np.flatnonzero(moving))), moving
