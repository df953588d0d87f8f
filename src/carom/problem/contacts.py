"""Contacts, the input of a law, and Impulses, its output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..late import sparse as sp
from ..solvers.islands import all_islands
from ..solvers.rows import (
    FRICTION,
    Floats,
    Ints,
    Rows,
    body_count,
    fastest_speeds,
    normal_rows,
    pushed,
    pushed_along,
    slips,
    speeds,
    tangent_squares,
)

RESOLVED = "resolved"
FINISHED_INELASTICALLY = "finished_inelastically"
NOT_CONVERGED = "not_converged"
INFEASIBLE = "infeasible"
STATUSES = (RESOLVED, FINISHED_INELASTICALLY, NOT_CONVERGED, INFEASIBLE)  # of a single impact, by severity

# One impulse of a law that treats contacts one by one: the contact, the stage (1 compression, 3 release), its normal
# speed before and after, the work of its normal impulse, and the energy that the contact then has stored.
HISTORY = np.dtype(
    [("contact", np.int64), ("stage", np.int64)] + [(k, np.float64) for k in ("before", "after", "work", "stored")]
)


def worse(first: str, second: str) -> str:
    """The more severe of two statuses."""
    return max(first, second, key=STATUSES.index)


@dataclass(frozen=True, eq=False, slots=True)
class Contacts:
    """One impact in coordinates where the mass matrix is the identity.

    m contacts among n bodies with d velocity components each. Separation speeds are `u = G x + base`, in m/s; negative
    means approaching. Impulses act along the rows: `x+ = x + G^T lam`, lam in N s. There are t tangent rows per
    contact, 0 without friction.
    """

    rows: Rows  # whitened rows of all contacts
    velocity: Floats  # (n, d) whitened velocity before the impact
    restitution: Floats  # (m,) from 0 to 1
    weights: Floats | None = None  # (m,) share of a contact patch that each contact stands for; None: 1 each
    # Speeds before the impact, the fastest approach, and the fastest approach or slip, once computed.
    _speeds: Floats | None = field(default=None, init=False, repr=False)
    _approach: float | None = field(default=None, init=False, repr=False)
    _fastest: float | None = field(default=None, init=False, repr=False)
    _of_rows: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # what depends on the rows alone

    @property
    def count(self) -> int:
        """Number of contacts m."""
        return len(self.restitution)

    @property
    def tangent_count(self) -> int:
        """Number t of tangent rows of each contact."""
        return min(self.rows.tangents, self.rows.base.shape[1] - 1)

    @property
    def boundary_speed(self) -> Floats:
        """Prescribed normal speed of the boundary at each contact, (m,)."""
        return self.rows.base[:, 0].copy()

    @property
    def friction(self) -> Floats:
        """Coefficient of friction mu of each contact, (m,), not negative."""
        return self.rows.bound[:, FRICTION].copy()

    @property
    def frictional(self) -> bool:
        """Whether any coefficient of friction is positive."""
        return bool(self.rows.bound[:, FRICTION].any())

    @property
    def shares(self) -> Floats:
        """The weights of the contacts, (m,), positive; 1 each unless given."""
        return np.ones(self.count) if self.weights is None else self.weights.copy()

    @property
    def tangent_diag(self) -> Floats:
        """Squared length of each tangent row, (m, t)."""
        return tangent_squares(self.rows)

    def speeds(self, velocity: Floats | None = None) -> Floats:
        """Separation speed of every contact, (m,), at a whitened velocity; by default at that before the impact."""
        if velocity is not None:
            return speeds(self.rows, velocity)
        if self._speeds is None:
            object.__setattr__(self, "_speeds", speeds(self.rows, self.velocity))
        return self._speeds.copy()  # type: ignore[union-attr]

    def approach(self) -> float:
        """Fastest approach before the impact, a speed that is not negative; 0 if nothing approaches."""
        if self._approach is None:
            if self._speeds is None:
                self.speeds()
            object.__setattr__(self, "_approach", max(-float(self._speeds.min(initial=0.0)), 0.0))  # type: ignore[union-attr]
        return self._approach  # type: ignore[return-value]

    def fastest(self) -> float:
        """Fastest approach, or slip where there is friction, before the impact; the scale of residuals."""
        if self._fastest is None:
            approach, fastest = fastest_speeds(self.rows, self.velocity)
            object.__setattr__(self, "_approach", approach)
            object.__setattr__(self, "_fastest", fastest)
        return self._fastest  # type: ignore[return-value]

    def tangent_speeds(self, velocity: Floats | None = None) -> Floats:
        """Slip speed along every tangent row, (m, t), at a whitened velocity; by default at that before the impact."""
        return slips(self.rows, self.velocity if velocity is None else velocity)

    def after(self, normal: Floats, tangent: Floats | None = None) -> Floats:
        """Whitened velocity (n, d) after normal impulses (m,) and tangential impulses (m, t)."""
        x = pushed(self.rows, normal, self.velocity)
        if tangent is not None and self.tangent_count:
            x = pushed_along(self.rows, np.ascontiguousarray(tangent), x)
        return x

    def delassus(self) -> sp.csr_matrix:
        """The Delassus matrix `A = J M^-1 J^T`, (m, m), sparse."""
        g = self.matrix()
        return sp.csr_matrix(g @ g.T)

    def matrix(self) -> sp.csr_matrix:
        """The whitened normal rows as a scipy matrix, (m, n*d)."""
        return as_matrix(self.rows)

    def tangent_matrix(self) -> sp.csr_matrix:
        """The whitened tangent rows as a scipy matrix, (m*t, n*d), contact by contact."""
        return as_matrix(self.rows, 1, self.tangent_count)

    def island_labels(self) -> Ints:
        """Number of the island of every contact, (m,)."""
        if "label" not in self._of_rows:
            self._of_rows["label"] = all_islands(self.rows.body, len(self.velocity)).label
        return self._of_rows["label"]

    def with_restitution(self, value: float | Floats) -> Contacts:
        """The same impact with other coefficients of restitution."""
        restitution = np.empty(self.count)
        restitution[:] = value
        return self._with(self.rows, restitution)

    def without_friction(self) -> Contacts:
        """The same impact with normal rows only."""
        if self.rows.val.shape[2] == 1 and not self.rows.bound.any():
            return self
        if "normal" not in self._of_rows:
            self._of_rows["normal"] = normal_rows(self.rows)
        return self._with(self._of_rows["normal"], self.restitution)

    def moving(self, velocity: Floats) -> Contacts:
        """The same contacts with another whitened velocity before the impact."""
        other = Contacts(self.rows, velocity, self.restitution, self.weights)
        object.__setattr__(other, "_of_rows", self._of_rows)
        return other

    def _with(self, rows: Rows, restitution: Floats) -> Contacts:
        """The same bodies, normal rows and velocities, and so the same normal speeds."""
        other = Contacts(rows, self.velocity, restitution, self.weights)
        for known in ("_speeds", "_approach", "_of_rows"):
            object.__setattr__(other, known, getattr(self, known))
        return other


@dataclass(frozen=True, eq=False, slots=True)
class Impulses:
    """The impulses of an impact, the result of a law (see `Law.impulses`).

    `residual` is the largest residual of the equations that define the law: for laws built on the cone problem the
    speed `max |min(A_ii y_i, (A y + c)_i)|` over all their solves. It is relative to the fastest approach before the
    impact, in the result of `resolve` to the fastest approach or slip.
    """

    normal: Floats  # (m,) N s, positive pushes apart
    tangent: Floats | None = None  # (m, t) N s, along the tangent rows
    iterations: int = 0
    status: str = RESOLVED
    residual: float = 0.0
    messages: tuple[str, ...] = field(default=())
    history: NDArray[Any] | None = None  # HISTORY, from laws that have one, on request


def as_matrix(rows: Rows, first: int = 0, count: int = 1) -> sp.csr_matrix:
    """Rows first to first + count - 1 of each contact, one below the other, as a CSR matrix over n*d columns."""
    val = rows.val[:, :, first : first + count].transpose(0, 2, 1, 3)
    (m, _, w, d), used = val.shape, np.repeat(rows.body >= 0, count, axis=0)
    ptr = d * np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    columns = (np.repeat(rows.body, count, axis=0)[used][:, None] * d + np.arange(d)).ravel()
    data = val.reshape(m * count, w, d)[used].ravel()
    return sp.csr_matrix((data, columns, ptr), shape=(m * count, body_count(rows) * d))
