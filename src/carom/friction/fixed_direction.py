"""Coulomb friction along one direction per contact, opposite to the slip before impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..laws.law import SMITH_2012
from ..problem.contacts import Contacts
from ..solvers.contact_island import FIXED, ZERO_ROW
from ..solvers.qp.box import box_residual, solve_bounds
from ..solvers.rows import Floats, Ints, Rows, make_rows
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
    if len(used) == 0 or contacts.tangents is None:
        return None, used, direction
    rows, kept = _along(contacts.tangents, used, direction)
    return rows, used[kept], direction[kept]


def _along(tangents: Rows, used: Ints, direction: Floats) -> tuple[Rows, Mask]:
    """The tangent rows of the contacts `used`, combined along one direction (k, t) each, and a mask of those that move
    a body."""
    same, ptr, body, val = directed(tangents.ptr, tangents.body, tangents.val, used, direction)
    if not same:
        return _along_general(tangents, used, direction)
    return without_zero_rows(ptr, body, val, len(tangents.touch_ptr) - 1)


def _along_general(tangents: Rows, used: Ints, direction: Floats) -> tuple[Rows, Mask]:
    """`_along` for tangent rows of one contact that touch different bodies, as with general mass matrices."""
    t, d = direction.shape[1], tangents.val.shape[1]
    ptr, body, val = [0], [], []
    for k, contact in enumerate(used):
        parts: dict[int, Floats] = {}
        for s in range(t):
            for e in range(tangents.ptr[contact * t + s], tangents.ptr[contact * t + s + 1]):
                b = int(tangents.body[e])
                parts[b] = parts.get(b, np.zeros(d)) + direction[k, s] * tangents.val[e]
        body += sorted(parts)
        val += [parts[b] for b in sorted(parts)]
        ptr.append(len(body))
    return without_zero_rows(
        np.array(ptr), np.array(body, np.int64), np.array(val).reshape(-1, d), len(tangents.touch_ptr) - 1
    )


def without_zero_rows(ptr: Ints, body: Ints, val: Floats, n: int) -> tuple[Rows, Mask]:
    """The rows that move a body, and a mask of them."""
    rows = make_rows(ptr, body, val, n)
    moving = rows.diag > ZERO_ROW * rows.diag.max()
    if moving.all():
        return rows, moving
    entry = np.repeat(moving, np.diff(ptr))
    ptr = np.concatenate([[0], np.cumsum(np.diff(ptr)[moving])])
    return make_rows(ptr, body[entry], val[entry], n), moving


@kernel
def directed(ptr, body, val, contacts, direction):
    """Rows (pointers, bodies, entries) `sum_s direction_s row_s` of the given contacts, which have t rows each.

    The first value returned is false, and the rows are not valid, if the rows of a contact touch different bodies.
    """
    k, t = direction.shape
    d = val.shape[1]
    out_ptr = np.zeros(k + 1, np.int64)
    for j in range(k):
        first = contacts[j] * t
        out_ptr[j + 1] = out_ptr[j] + ptr[first + 1] - ptr[first]
    out_body, out = np.empty(out_ptr[k], np.int64), np.empty((out_ptr[k], d))
    for j in range(k):
        first = contacts[j] * t
        width = out_ptr[j + 1] - out_ptr[j]
        for s in range(t):
            start = ptr[first + s]
            if ptr[first + s + 1] - start != width:
                return False, out_ptr, out_body, out
            for e in range(width):
                at = out_ptr[j] + e
                if s == 0:
                    out_body[at] = body[start + e]
                    for c in range(d):
                        out[at, c] = direction[j, 0] * val[start + e, c]
                elif body[start + e] != out_body[at]:
                    return False, out_ptr, out_body, out
                else:
                    for c in range(d):
                        out[at, c] += direction[j, s] * val[start + e, c]
    return True, out_ptr, out_body, out
