"""Coulomb friction along one direction per contact, opposite to the slip before impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels import kernel
from ..laws.law import SMITH_2012
from ..problem.contacts import Contacts
from ..solvers.contact_island import FIXED
from ..solvers.rows import Floats, Rows
from .model import FrictionModel

SLIP_ROUNDING = 1e-12  # slip below this share of the fastest speed at any contact counts as none


@dataclass(frozen=True)
class FixedDirection(FrictionModel):
    """`min 1/2 z^T B z + z^T D v` over `0 <= z <= mu lam`, D opposite to the slip before impact (Smith 2012, alg. 3).

    The printed objective lacks the 1/2 that makes it kinetic energy. Contacts that do not slip before the impact
    get no friction.
    """

    name: ClassVar[str] = "coulomb_fixed_direction"
    title: ClassVar[str] = "Coulomb, one fixed direction per contact"
    paper: ClassVar = SMITH_2012
    projection: ClassVar[int] = FIXED

    def rows(self, contacts: Contacts) -> tuple[Rows, Floats | None]:
        """Rows whose first tangent is the direction of friction, and whose second one, in 3D, is zero."""
        rows, _ = super().rows(contacts)
        # A slip of the size of rounding has no direction; with one, the answer would depend on the frame of reference.
        least = SLIP_ROUNDING * max(contacts.fastest(), float(np.abs(contacts.speeds()).max()))
        val, base, direction = _directed(rows, contacts.velocity, contacts.tangent_count, least)
        return rows._replace(val=val, base=base), direction


@dataclass(frozen=True)
class SinglePass(FixedDirection):
    """Friction along fixed directions once after the law, as in Smith 2012, algorithm 4.

    Friction may drive contacts together, and nothing stops that approach; the status is then "not_converged".
    """

    name: ClassVar[str] = "coulomb_single_pass"
    title: ClassVar[str] = "Coulomb, one fixed direction, a single pass after the law"

    repeats: int = 0


@kernel
def _directed(rows, x, t, least):
    """Entries (m, w, 1 + t, d) and prescribed speeds (m, 1 + t) along normals and directions (m, t) of friction.

    A direction is opposite to the slip at the velocity x; it is zero where the slip is at most `least`.
    """
    m, w, _, d = rows.val.shape
    val, base, direction = np.empty((m, w, 1 + t, d)), np.zeros((m, 1 + t)), np.empty((m, t))
    if w == 2 and t == 2 and d == 6:
        _direct(rows, x, least, (val, base, direction), 2, 2, 6)  # loops of a known length take half the time
    else:
        _direct(rows, x, least, (val, base, direction), w, t, d)
    return val, base, direction


@kernel(inline="always")
def _direct(rows, x, least, out, w, t, d):
    """Writes `_directed` for the sizes w, t and d."""
    val, base, direction = out
    for i in range(len(val)):
        size = 0.0
        for s in range(t):
            slip = 0.0
            for side in range(w):
                b = rows.body[i, side]
                if b >= 0:
                    for c in range(d):
                        slip += rows.val[i, side, 1 + s, c] * x[b, c]
            direction[i, s] = -(slip + rows.base[i, 1 + s])
            size += direction[i, s] * direction[i, s]
        share = 1.0 / np.sqrt(size) if size > least * least else 0.0
        base[i, 0] = rows.base[i, 0]
        for s in range(t):
            direction[i, s] *= share
            base[i, 1] += direction[i, s] * rows.base[i, 1 + s]
        one, two = direction[i, 0], direction[i, t - 1] if t == 2 else 0.0
        for side in range(w):
            for c in range(d):
                val[i, side, 0, c] = rows.val[i, side, 0, c]
                val[i, side, 1, c] = one * rows.val[i, side, 1, c]
            if t == 2:
                for c in range(d):
                    val[i, side, 1, c] += two * rows.val[i, side, t, c]
                    val[i, side, t, c] = 0.0
