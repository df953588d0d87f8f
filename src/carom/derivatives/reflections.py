"""Stages of laws that treat contacts one by one or pass by pass: reflections, and the passes of qce."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..late import sparse as sp
from ..solvers.rows import Floats, Ints
from .tape import Part, Slopes

TURNS_CONTACTS = 300  # of a pass up to which energies that nearly return before their end are searched for


@dataclass(frozen=True, eq=False)
class Reflected:
    """Impulses `p_i = -(1 + e_i) u_i / A_ii` of contacts, each as if it were alone, and `x' = x + G^T p`."""

    part: Part  # normal rows of the contacts
    before: Floats  # (N,) velocity x
    speeds: Floats  # (k,) u
    diagonal: Floats  # (k,) A_ii
    restitution: Floats  # (k,) e
    own: bool  # whether e are the coefficients of the problem, rather than 1
    register: str
    impulses: str

    @property
    def p(self) -> Floats:
        """The impulses (k,)."""
        return -(1.0 + self.restitution) * self.speeds / self.diagonal

    def jvp(self, d: Slopes) -> None:
        part, p, dx = self.part, self.p, d.registers[self.register]
        dp = -(1.0 + self.restitution)[:, None] * part.speed_tangent(d, dx, self.before)
        if self.own:
            dp -= self.speeds[:, None] * d.restitution[part.chosen]
        if d.rows is not None:
            twice = 2.0 * part.matrix.data[:, None] * d.rows[part.entries]
            dp -= p[:, None] * np.add.reduceat(twice, part.ptr[:-1], axis=0)
        dp /= self.diagonal[:, None]
        d.registers[self.register] = dx + part.transposed @ dp + part.push_tangent(d, p)
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def vjp(self, bar: Slopes) -> None:
        part, p = self.part, self.p
        out = bar.of(self.register, part.matrix.shape[1])
        shares = (part.matrix @ out + bar.of(self.impulses, part.system.row_count)[part.chosen]) / self.diagonal[
            :, None
        ]
        part.add_rows(bar, p, out)
        if bar.rows is not None:
            bar.rows[part.entries] -= 2.0 * part.matrix.data[:, None] * (p[:, None] * shares)[part.row]
        if self.own:
            bar.restitution[part.chosen] -= self.speeds[:, None] * shares
        speed = -(1.0 + self.restitution)[:, None] * shares
        bar.registers[self.register] = out + part.speed_adjoint(bar, speed, self.before)


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass of qce: impulses `P_i = s_i F_i`, `F_i = -w_i u_i`, each until its stored energy is zero again.

    The speed of contact i is `u_i + sum_j A_ij F_j min(s, s_j)` at s, and its energy is zero at s_i where

        u_i s_i + sum_j A_ij F_j phi(s_i, s_j) = 0,   phi(a, b) = int_0^a min(s, b) ds.

    These are all equations of a pass, whatever the order of the ends. phi has a continuous derivative at a = b, so a
    tie of two ends is not a kink. Contacts whose energy never returns end with the last of the others.
    """

    part: Part  # normal rows of the front
    before: Floats  # (N,) velocity x
    speeds: Floats  # (k,) u
    weights: Floats  # (k,) w
    ends: Floats  # (k,) s
    factor: float  # that makes the work of the pass zero in rounded arithmetic
    register: str
    impulses: str

    @property
    def rate(self) -> Floats:
        """F (k,)."""
        return -self.weights * self.speeds

    @cached_property
    def coupling(self) -> sp.csr_matrix:
        """A (k, k)."""
        return sp.csr_matrix(self.part.matrix @ self.part.transposed)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        """Pairs of contacts that share a component: the entries of A, also where A is zero and its change is not."""
        part = self.part
        pattern = sp.csr_matrix((np.ones(len(part.columns)), part.columns, part.ptr), shape=part.matrix.shape)
        pairs = (pattern @ pattern.T).tocoo()
        return pairs.row, pairs.col

    def over_pairs(self, values: Any) -> sp.csr_matrix:
        """The matrix of `values(i, j)` at the entries of A."""
        k, (row, column) = len(self.ends), self._pairs
        return sp.csr_matrix((values(row, column), (row, column)), shape=(k, k))

    @cached_property
    def area(self) -> sp.csr_matrix:
        """`F_j phi(s_i, s_j)` at the entries of A."""
        s, rate = self.ends, self.rate

        def value(i: Ints, j: Ints) -> Floats:
            low = np.minimum(s[i], s[j])
            return rate[j] * (s[i] * low - 0.5 * low * low)

        return self.over_pairs(value)

    @cached_property
    def after(self) -> Floats:
        """Speed of each contact (k,) at its own end: the slope of its energy, over F."""
        s, rate = self.ends, self.rate
        lengths = self.over_pairs(lambda i, j: rate[j] * np.minimum(s[i], s[j]))
        return self.speeds + np.asarray(self.coupling.multiply(lengths).sum(axis=1)).ravel()

    @cached_property
    def balance(self) -> Floats:
        """`u_i s_i + sum_j A_ij F_j phi`, zero where the energy of a contact has returned."""
        return self.speeds * self.ends + np.asarray(self.coupling.multiply(self.area).sum(axis=1)).ravel()

    @cached_property
    def unended(self) -> Ints:
        """Contacts whose energy has not returned when the others end."""
        size = np.abs(self.speeds) * self.ends
        return np.flatnonzero(np.abs(self.balance) > 1e-7 * np.maximum(size, size.max(initial=0.0) * 1e-3))

    @cached_property
    def earlier_turn(self) -> Floats:
        """How far the energy of a contact stays from returning before its end, as a speed; infinity if it only falls.

        A change of the speed of a contact by v changes `int u ds` by v s, so the distance is that integral over s where
        the speed passes zero downwards.
        """
        k = len(self.ends)
        out = np.full(k, np.inf)
        if k > TURNS_CONTACTS:
            return out
        a, s, rate = self.coupling.toarray(), self.ends, self.rate
        for i in range(k):
            stops = np.sort(s[(a[i] != 0.0) & (s < s[i])])
            if len(stops) == 0:
                continue
            stops = np.append(stops, s[i])
            u = self.speeds[i] + np.minimum(stops[:, None], s) @ (a[i] * rate)
            for q in np.flatnonzero((u[:-1] > 0.0) & (u[1:] < 0.0)):
                at = stops[q] + (stops[q + 1] - stops[q]) * u[q] / (u[q] - u[q + 1])
                low = np.minimum(at, s)
                stored = self.speeds[i] * at + (at * low - 0.5 * low * low) @ (a[i] * rate)
                out[i] = min(out[i], abs(stored) / at)
        return out

    @cached_property
    def _solver(self) -> Any:
        from scipy.sparse.linalg import splu  # slow to import

        s, rate = self.ends, self.rate
        slopes = self.coupling.multiply(self.over_pairs(lambda i, j: rate[j] * np.maximum(s[i] - s[j], 0.0))).tolil()
        slopes.setdiag(self.after)
        for k in self.unended:
            ended = np.setdiff1d(np.arange(len(s)), self.unended)
            slopes[k] = 0.0
            slopes[k, k] = 1.0
            if len(ended):
                slopes[k, ended[np.argmax(s[ended])]] = -1.0
        return splu(sp.csc_matrix(slopes))

    def jvp(self, d: Slopes) -> None:
        part, dx, s = self.part, d.registers[self.register], self.ends
        du = part.speed_tangent(d, dx, self.before)
        change = s[:, None] * du + self.coupling.multiply(self._phi) @ (-self.weights[:, None] * du)
        if d.rows is not None:
            for b in range(du.shape[1]):
                turned = sp.csr_matrix((d.rows[part.entries, b], part.columns, part.ptr), shape=part.matrix.shape)
                cross = turned @ part.transposed
                change[:, b] += np.asarray((cross + cross.T).multiply(self.area).sum(axis=1)).ravel()
        change[self.unended] = 0.0
        ds = -self._solver.solve(change)
        dp = self.factor * (-(self.weights * s)[:, None] * du + self.rate[:, None] * ds)
        pushed = part.push_tangent(d, self.factor * self.rate * s)
        d.registers[self.register] = dx + part.transposed @ dp + pushed
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def vjp(self, bar: Slopes) -> None:
        part, s = self.part, self.ends
        out = bar.of(self.register, part.matrix.shape[1])
        p = self.factor * (part.matrix @ out + bar.of(self.impulses, part.system.row_count)[part.chosen])
        part.add_rows(bar, self.factor * self.rate * s, out)
        change = -self._solver.solve(np.ascontiguousarray(self.rate[:, None] * p), trans="T")
        change[self.unended] = 0.0
        du = -(self.weights * s)[:, None] * p + s[:, None] * change
        du -= self.weights[:, None] * (self.coupling.multiply(self._phi).T @ change)
        if bar.rows is not None:
            for b in range(p.shape[1]):
                weighted = sp.diags(change[:, b]) @ self.area
                rows = sp.csr_matrix((weighted + weighted.T) @ part.matrix)
                bar.rows[part.entries, b] += np.asarray(rows[part.row, part.columns]).ravel()
        bar.registers[self.register] = out + part.speed_adjoint(bar, du, self.before)

    @cached_property
    def _phi(self) -> sp.csr_matrix:
        """`phi(s_i, s_j)` at the entries of A."""
        s = self.ends
        return self.over_pairs(lambda i, j: s[i] * np.minimum(s[i], s[j]) - 0.5 * np.minimum(s[i], s[j]) ** 2)
