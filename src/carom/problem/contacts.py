"""Contacts, the input of a law, and Impulses, its output."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..solvers.rows import Floats, Rows, fastest_slip, pushed, speeds

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

    m contacts among n bodies with d velocity components each. Separation speeds are `u = rows x + boundary_speed`, in
    m/s; negative means approaching. Impulses act along the rows: `x+ = x + rows^T lam`, lam in N s. There are t tangent
    rows per contact: contact k owns rows k*t to k*t + t - 1.
    """

    rows: Rows  # whitened normal rows
    velocity: Floats  # (n, d) whitened velocity before the impact
    boundary_speed: Floats  # (m,) prescribed normal speed of the boundary
    restitution: Floats  # (m,) from 0 to 1
    friction: Floats  # (m,) coefficient mu, not negative
    tangents: Rows | None = None  # whitened tangent rows
    tangent_boundary_speed: Floats | None = None  # (m * t,) prescribed speed of the boundary along the tangents
    _speeds: Floats | None = field(default=None, init=False, repr=False)  # before the impact, once computed
    _fastest: float | None = field(default=None, init=False, repr=False)

    @property
    def count(self) -> int:
        """Number of contacts m."""
        return len(self.boundary_speed)

    def speeds(self, velocity: Floats | None = None) -> Floats:
        """Separation speed of every contact, (m,), at a whitened velocity; by default at that before the impact."""
        if velocity is not None:
            return speeds(self.rows, velocity, self.boundary_speed)
        if self._speeds is None:
            object.__setattr__(self, "_speeds", speeds(self.rows, self.velocity, self.boundary_speed))
        return self._speeds.copy()  # type: ignore[union-attr]

    def approach(self) -> float:
        """Fastest approach before the impact, a speed that is not negative; 0 if nothing approaches."""
        return max(float(-self.speeds().min(initial=0.0)), 0.0)

    def fastest(self) -> float:
        """Fastest approach, or slip where there is friction, before the impact; the scale of residuals."""
        if self._fastest is None:
            top, slip = self.approach(), self.tangent_boundary_speed
            if self.tangents is not None and slip is not None and self.friction.any():
                top = max(top, float(fastest_slip(self.tangents, self.velocity, slip, self.friction)))
            object.__setattr__(self, "_fastest", top)
        return self._fastest  # type: ignore[return-value]

    def tangent_speeds(self, velocity: Floats | None = None) -> Floats:
        """Slip speed along every tangent row, (m, t), at a whitened velocity; by default at that before the impact."""
        if self.tangents is None or self.tangent_boundary_speed is None:
            return np.zeros((self.count, 0))
        x = self.velocity if velocity is None else velocity
        return speeds(self.tangents, x, self.tangent_boundary_speed).reshape(self.count, -1)

    def after(self, normal: Floats, tangent: Floats | None = None) -> Floats:
        """Whitened velocity (n, d) after normal impulses (m,) and tangential impulses (m, t)."""
        x = pushed(self.rows, normal, self.velocity)
        if tangent is not None and self.tangents is not None:
            x = pushed(self.tangents, np.ascontiguousarray(tangent).ravel(), x)
        return x

    def delassus(self) -> sp.csr_matrix:
        """The Delassus matrix `A = J M^-1 J^T`, (m, m), sparse."""
        g = self.matrix()
        return sp.csr_matrix(g @ g.T)

    def matrix(self) -> sp.csr_matrix:
        """The whitened rows as a scipy matrix, (m, n*d)."""
        return as_matrix(self.rows)

    def with_restitution(self, value: float | Floats) -> Contacts:
        """The same impact with other coefficients of restitution."""
        return self._with(restitution=np.broadcast_to(float_array(value), (self.count,)).copy())

    def without_friction(self) -> Contacts:
        """The same impact with coefficients of friction of zero."""
        return self._with(friction=np.zeros(self.count))

    def _with(self, **coefficients: Any) -> Contacts:
        """The same rows and velocities, and so the same speeds, with other coefficients."""
        other = replace(self, **coefficients)
        object.__setattr__(other, "_speeds", self._speeds)
        return other

    def moving(self, velocity: Floats) -> Contacts:
        """The same contacts with another whitened velocity before the impact."""
        return replace(self, velocity=velocity)


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


def as_matrix(rows: Rows) -> sp.csr_matrix:
    """Rows as a scipy CSR matrix over n*d columns."""
    d = rows.val.shape[1]
    columns = (rows.body[:, None] * d + np.arange(d)).ravel()
    shape = (len(rows.ptr) - 1, (len(rows.touch_ptr) - 1) * d)
    return sp.csr_matrix((rows.val.ravel(), columns, rows.ptr * d), shape=shape)


def float_array(value: float | Floats) -> Floats:
    """A number or an array as an array of floats."""
    return np.asarray(value, dtype=np.float64)
