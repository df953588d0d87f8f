"""The passes of qce: impulses that grow together, each until its stored energy is zero again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .tape import Pairs, Part, Slopes, pairs_of

TURNS_CONTACTS = 300  # of a pass up to which energies that nearly return before their end are searched for
RETURNED = 1e-7  # energy left at the end of a contact, relative to the largest of its pass, that counts as returned


class Fields(NamedTuple):
    """What a pass is, for kernels: rows of its contacts, their pairs, speeds, weights, ends, order of ends."""

    ptr: Ints  # rows
    columns: Ints
    data: Floats
    pairs: Pairs
    rate: Floats  # F = -w u
    weights: Floats  # w
    ends: Floats  # s
    after: Floats  # speed of each contact at its own end
    order: Ints  # of the ends; contacts that have not ended last
    unended: np.ndarray  # (k,)
    factor: float


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass of qce: impulses `P_i = s_i F_i`, `F_i = -w_i u_i`, each until its stored energy is zero again.

    The speed of contact i is `u_i + sum_j A_ij F_j min(s, s_j)` at s, and its energy is zero at s_i where

        u_i s_i + sum_j A_ij F_j phi(s_i, s_j) = 0,   phi(a, b) = int_0^a min(s, b) ds.

    These are all equations of a pass, whatever the order of the ends. phi has a continuous derivative at a = b, so a
    tie of two ends is not a kink. Its derivative with respect to b is `max(a - b, 0)`: an end depends on earlier ends
    only, and the linear system is triangular in the order of the ends. Contacts whose energy never returns end with the
    last of the others.
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
    def _rows(self) -> tuple[Ints, Ints, Floats]:
        return self.part.ptr, self.part.columns, self.part.data

    @cached_property
    def pairs(self) -> Pairs:
        """The entries of A."""
        return pairs_of(*self._rows, self.part.width_all)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        return sums(self.pairs, self.speeds, self.rate, self.ends)

    @property
    def after(self) -> Floats:
        """Speed of each contact (k,) at its own end: the slope of its energy, over F."""
        return self._sums[0]

    @property
    def balance(self) -> Floats:
        """`u_i s_i + sum_j A_ij F_j phi`, zero where the energy of a contact has returned."""
        return self._sums[1]

    @cached_property
    def unended(self) -> Ints:
        """Contacts whose energy has not returned when the others end."""
        size = np.abs(self.speeds) * self.ends
        return np.flatnonzero(np.abs(self.balance) > RETURNED * np.maximum(size, size.max(initial=0.0) * 1e-3))

    @cached_property
    def earlier_turn(self) -> Floats:
        """How far the energy of a contact stays from returning before its end, as a speed; infinity if it only falls.

        A change of the speed of a contact by v changes `int u ds` by v s, so the distance is that integral over s where
        the speed passes zero downwards.
        """
        if len(self.ends) > TURNS_CONTACTS:
            return np.full(len(self.ends), np.inf)
        return earlier_turns(self.pairs, self.speeds, self.rate, self.ends)

    @cached_property
    def _fields(self) -> Fields:
        late = np.zeros(len(self.ends), bool)
        late[self.unended] = True
        order = np.lexsort((self.ends, late))
        return Fields(*self._rows, self.pairs, self.rate, self.weights, self.ends, self.after, order, late, self.factor)

    def jvp(self, d: Slopes) -> None:
        part, dx, f = self.part, d.registers[self.register], self._fields
        du = part.speed_tangent(d, dx, self.before)
        rows = np.empty((0, du.shape[1])) if d.rows is None else d.rows[part.entries]
        dp = impulse_tangents(f, du, rows, self.part.width_all)
        pushed = part.push_tangent(d, self.factor * self.rate * self.ends)
        d.registers[self.register] = dx + part.pushes(dp) + pushed
        d.of(self.impulses, part.system.row_count)[part.chosen] += dp

    def vjp(self, bar: Slopes) -> None:
        part, f = self.part, self._fields
        out = bar.of(self.register, part.width_all)
        p = self.factor * (part.times(out) + bar.of(self.impulses, part.system.row_count)[part.chosen])
        part.add_rows(bar, self.factor * self.rate * self.ends, out)
        rows = np.empty((0, p.shape[1])) if bar.rows is None else np.zeros((len(part.entries), p.shape[1]))
        du = speed_adjoints(f, p, rows, part.width_all)
        if bar.rows is not None:
            bar.rows[part.entries] += rows
        bar.registers[self.register] = out + part.speed_adjoint(bar, du, self.before)


@kernel(inline="always")
def _phi(a, b):
    """`int_0^a min(s, b) ds`."""
    low = min(a, b)
    return a * low - 0.5 * low * low


@kernel
def sums(pairs, speeds, rate, ends):
    """Speeds at the ends of the contacts, and their balance."""
    after, balance = speeds.copy(), speeds * ends
    for i in range(len(ends)):
        for q in range(pairs.ptr[i], pairs.ptr[i + 1]):
            j, a = pairs.other[q], pairs.value[q]
            after[i] += a * rate[j] * min(ends[i], ends[j])
            balance[i] += a * rate[j] * _phi(ends[i], ends[j])
    return after, balance


@kernel
def earlier_turns(pairs, speeds, rate, ends):
    """The array of `Pass.earlier_turn`."""
    out = np.full(len(ends), np.inf)
    for i in range(len(ends)):
        first, last = pairs.ptr[i], pairs.ptr[i + 1]
        stops, count = np.empty(last - first + 1), 0
        for q in range(first, last):
            if pairs.value[q] != 0.0 and ends[pairs.other[q]] < ends[i]:
                stops[count] = ends[pairs.other[q]]
                count += 1
        if count == 0:
            continue
        stops[count] = ends[i]
        stops = np.sort(stops[: count + 1])
        before, at_before = 0.0, 0.0
        for k in range(count + 1):
            u = speeds[i]
            for q in range(first, last):
                u += pairs.value[q] * rate[pairs.other[q]] * min(stops[k], ends[pairs.other[q]])
            if k > 0 and before > 0.0 and u < 0.0:
                at = at_before + (stops[k] - at_before) * before / (before - u)
                stored = speeds[i] * at
                for q in range(first, last):
                    stored += pairs.value[q] * rate[pairs.other[q]] * _phi(at, ends[pairs.other[q]])
                out[i] = min(out[i], abs(stored) / at)
            before, at_before = u, stops[k]
    return out


@kernel
def impulse_tangents(f, du, rows, n):
    """Changes (k, directions) of the impulses for changes du of the speeds and of the rows (entries, directions)."""
    k, count, s, last = len(f.ends), du.shape[1], f.ends, -1
    dp, ds = np.empty((k, count)), np.zeros((k, count))
    own, turned = np.zeros(n), np.zeros(n)
    for p in range(count):
        for i in f.order:
            if f.unended[i]:
                ds[i, p] = ds[last, p] if last >= 0 else 0.0
                continue
            if len(rows):
                for e in range(f.ptr[i], f.ptr[i + 1]):
                    own[f.columns[e]], turned[f.columns[e]] = f.data[e], rows[e, p]
            change = s[i] * du[i, p]
            for q in range(f.pairs.ptr[i], f.pairs.ptr[i + 1]):
                j, a = f.pairs.other[q], f.pairs.value[q]
                phi = _phi(s[i], s[j])
                change -= a * phi * f.weights[j] * du[j, p]
                if j != i and s[j] < s[i]:
                    change += a * f.rate[j] * (s[i] - s[j]) * ds[j, p]
                if len(rows):
                    cross = 0.0
                    for e in range(f.ptr[j], f.ptr[j + 1]):
                        cross += turned[f.columns[e]] * f.data[e] + own[f.columns[e]] * rows[e, p]
                    change += cross * f.rate[j] * phi
            ds[i, p] = -change / f.after[i]
            last = i
            if len(rows):
                for e in range(f.ptr[i], f.ptr[i + 1]):
                    own[f.columns[e]], turned[f.columns[e]] = 0.0, 0.0
        last = -1
        for i in range(k):
            dp[i, p] = f.factor * (f.rate[i] * ds[i, p] - f.weights[i] * s[i] * du[i, p])
    return dp


@kernel
def speed_adjoints(f, p, rows, n):
    """Adjoints (k, directions) of the speeds from those of the impulses, p; adds those of the rows to `rows`."""
    k, count, s = len(f.ends), p.shape[1], f.ends
    du, left, change, own, last = np.empty((k, count)), np.empty(k), np.empty(k), np.zeros(n), -1
    for i in f.order:
        if not f.unended[i]:
            last = i
    for c in range(count):
        for i in range(k):
            left[i] = -f.rate[i] * p[i, c]
        for place in range(k - 1, -1, -1):
            i = f.order[place]
            if f.unended[i]:
                change[i] = 0.0
                if last >= 0:
                    left[last] += left[i]
                continue
            change[i] = left[i] / f.after[i]
            for q in range(f.pairs.ptr[i], f.pairs.ptr[i + 1]):
                j = f.pairs.other[q]
                if j != i and s[j] < s[i]:
                    left[j] -= f.pairs.value[q] * f.rate[j] * (s[i] - s[j]) * change[i]
        for i in range(k):
            total = (change[i] - f.weights[i] * p[i, c]) * s[i]
            for q in range(f.pairs.ptr[i], f.pairs.ptr[i + 1]):
                j = f.pairs.other[q]
                total -= f.weights[i] * f.pairs.value[q] * _phi(s[j], s[i]) * change[j]
                if len(rows):
                    both = change[i] * f.rate[j] * _phi(s[i], s[j]) + change[j] * f.rate[i] * _phi(s[j], s[i])
                    for e in range(f.ptr[j], f.ptr[j + 1]):
                        own[f.columns[e]] = both * f.data[e]
                    for e in range(f.ptr[i], f.ptr[i + 1]):
                        rows[e, c] += own[f.columns[e]]
                    for e in range(f.ptr[j], f.ptr[j + 1]):
                        own[f.columns[e]] = 0.0
            du[i, c] = total
    return du
