"""The passes of qce in one stage: impulses that grow together, each until its stored energy is zero again.

In one pass contacts of the front have impulses `P_i = s_i F_i`, `F_i = -w_i u_i`. The speed of contact i is
`u_i + sum_j A_ij F_j min(s, s_j)` at s, and its energy is zero at s_i where

    u_i s_i + sum_j A_ij F_j phi(s_i, s_j) = 0,   phi(a, b) = int_0^a min(s, b) ds.

These are all equations of a pass, whatever the order of the ends. phi has a continuous derivative at a = b, so a tie of
two ends is not a kink. Its derivative with respect to b is `max(a - b, 0)`: an end depends on earlier ends only, and
the linear system is triangular in the order of the ends. Contacts whose energy never returns end with the last of the
others. A thousand contacts take some twenty passes: replay and both products run in kernels over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..laws.heap import heap_add, heap_pop
from ..laws.qce import ROUNDED_WORK, UNEVEN_WORK, one_pass
from ..solvers.rows import Floats, Ints, push, speed
from .tape import Slopes, System, doubled, doubled_rows

CONTACT, ORDER = 0, 1  # columns of the numbers of places
RATE, WEIGHT, END, AFTER = 0, 1, 2, 3  # and of their values, see `Record`
TURNS_CONTACTS = 300  # of a pass up to which energies that nearly return before their end are searched for
RETURNED = 1e-7  # energy left at the end of a contact, relative to the largest of its pass, that counts as returned


class Record(NamedTuple):
    """Passes one after the other; pass k owns the places ptr[k]:ptr[k + 1] of the arrays below it."""

    ptr: Ints
    factor: Floats  # of each pass, which makes its work zero in rounded arithmetic
    contact: Ints
    rate: Floats  # F = -w u
    weight: Floats  # w
    end: Floats  # s
    after: Floats  # speed of each contact at its own end: the slope of its energy, over F
    late: np.ndarray  # whether its energy has not returned when the others end
    order: Ints  # places within the pass in the order of the ends, late ones last


class Margins(NamedTuple):
    """Smallest margins (m,) of the decisions about each contact, as speeds; infinity where there was none."""

    idle: Floats  # not being part of a pass
    front: Floats  # being part of it
    elsewhere: Floats  # speed at the end: where it is zero the energy returns at another end
    earlier: Floats  # how far the energy stays from returning before the end


@kernel(inline="always")
def _phi(a, b):
    """`int_0^a min(s, b) ds`."""
    low = min(a, b)
    return a * low - 0.5 * low * low


@kernel
def replayed_passes(rows, pairs, velocity, weights, tol, bound):
    """The passes of `laws.qce.passes`: record, velocity and impulses at the end, margins.

    There is one more pass than `bound` if violators are left after them.
    """
    m, x, lam = len(weights), velocity.copy(), np.zeros(len(weights))
    u, place, slot = np.empty(m), np.full(m, -1, np.int64), np.full(len(x), -1, np.int64)
    margins = Margins(np.full(m, np.inf), np.full(m, np.inf), np.full(m, np.inf), np.full(m, np.inf))
    ptr, factor, count = np.zeros(8, np.int64), np.empty(8), 0
    whole, numbers, late = np.empty((4 * m + 8, 4)), np.empty((4 * m + 8, 2), np.int64), np.empty(4 * m + 8, np.bool_)
    energy = 0.5 * np.sum(x * x)
    while True:
        k = 0
        for i in range(m):
            u[i] = speed(rows, i, x)
            if u[i] < -tol:
                k += 1
                margins.front[i] = min(margins.front[i], -u[i])
            else:
                margins.idle[i] = min(margins.idle[i], abs(u[i]))
        if k == 0 or count > bound:
            break
        if count + 1 == len(ptr):
            ptr, factor = doubled(ptr), doubled(factor)
        at, end = ptr[count], ptr[count] + k
        if end > len(whole):
            whole, numbers, late = doubled_rows(whole), doubled_rows(numbers), doubled(late)
        front, before, rate, impulses, j = np.empty(k, np.int64), np.empty(k), np.empty(k), np.empty(k), 0
        for i in range(m):
            if u[i] < -tol:
                front[j], before[j], rate[j], place[i] = i, u[i], -u[i] * weights[i], j
                numbers[at + j, CONTACT], whole[at + j, RATE], whole[at + j, WEIGHT] = i, rate[j], weights[i]
                j += 1
        ends = one_pass(rows, front, before, rate, slot)
        for j in range(k):
            whole[at + j, END], impulses[j] = ends[j], rate[j] * ends[j]
        _ends(pairs, front, place, before, whole[at:end], late[at:end])
        _note_ends(pairs, front, place, before, whole[at:end], late[at:end], margins)
        _put_order(ends, late[at:end], numbers[at:end])
        for j in range(k):
            place[front[j]] = -1
        factor[count] = _pushed(rows, front, before, impulses, energy, x, lam)
        ptr[count + 1], count = end, count + 1
    n = ptr[count]
    record = Record(
        ptr[: count + 1].copy(), factor[:count].copy(), numbers[:n, CONTACT].copy(), whole[:n, RATE].copy(),
        whole[:n, WEIGHT].copy(), whole[:n, END].copy(), whole[:n, AFTER].copy(), late[:n].copy(),
        numbers[:n, ORDER].copy(),
    )  # fmt: skip
    return record, x, lam, margins


@kernel
def _put_order(ends, late, numbers):
    """The places of a pass in the order of the ends, late ones last."""
    keys, items, size = np.empty(len(ends)), np.empty(len(ends), np.int32), 0
    for j in range(len(ends)):
        size = heap_add(keys, items, size, np.inf if late[j] else ends[j], j)
    for j in range(len(ends)):
        _, numbers[j, ORDER], size = heap_pop(keys, items, size)


@kernel
def _pushed(rows, front, u, impulses, energy, x, lam):
    """Applies the impulses of a pass as the law does; returns the factor that makes their work zero."""
    for j in range(len(front)):
        lam[front[j]] += impulses[j]
        push(rows, front[j], impulses[j], x)
    work, stored = 0.0, 0.0
    for j in range(len(front)):
        work += 0.5 * (u[j] + speed(rows, front[j], x)) * impulses[j]
        stored -= 0.5 * u[j] * impulses[j]
    if not UNEVEN_WORK * max(energy, stored) < abs(work) < ROUNDED_WORK * stored:
        return 1.0
    more = 2.0 * stored / (2.0 * stored + work) - 1.0
    for j in range(len(front)):
        lam[front[j]] += more * impulses[j]
        push(rows, front[j], more * impulses[j], x)
    return 1.0 + more


@kernel
def _ends(pairs, front, place, u, whole, late):
    """Speeds of the contacts at their ends, into `whole`, and whether their energy has not returned there."""
    rate, ends, after = whole[:, RATE], whole[:, END], whole[:, AFTER]
    largest = 0.0
    for i in range(len(front)):
        largest = max(largest, abs(u[i]) * ends[i])
    for i in range(len(front)):
        after[i], balance = u[i], u[i] * ends[i]
        for q in range(pairs.ptr[front[i]], pairs.ptr[front[i] + 1]):
            j = place[pairs.other[q]]
            if j >= 0:
                after[i] += pairs.value[q] * rate[j] * min(ends[i], ends[j])
                balance += pairs.value[q] * rate[j] * _phi(ends[i], ends[j])
        late[i] = abs(balance) > RETURNED * max(abs(u[i]) * ends[i], 1e-3 * largest)


@kernel
def _note_ends(pairs, front, place, u, whole, late, margins):
    """Margins of the ends of a pass.

    A change of the speed of a contact by v changes `int u ds` by v s, so the distance from an earlier return of the
    energy is that integral over s where the speed passes zero downwards.
    """
    ends, after = whole[:, END], whole[:, AFTER]
    for i in range(len(front)):
        if not late[i]:
            margins.elsewhere[front[i]] = min(margins.elsewhere[front[i]], abs(after[i]))
    if len(front) > TURNS_CONTACTS:
        return
    for i in range(len(front)):
        first, last = pairs.ptr[front[i]], pairs.ptr[front[i] + 1]
        stops, none, count = np.empty(last - first + 1), np.empty(last - first + 1, np.int32), 0
        for q in range(first, last):
            j = place[pairs.other[q]]
            if j >= 0 and pairs.value[q] != 0.0 and ends[j] < ends[i]:
                count = heap_add(stops, none, count, ends[j], 0)
        if count > 0:
            turn = _turn(pairs, front[i], place, u[i], whole, (stops, none, heap_add(stops, none, count, ends[i], 0)))
            margins.earlier[front[i]] = min(margins.earlier[front[i]], turn)


@kernel
def _turn(pairs, contact, place, u, whole, stops):
    """How far the energy of a contact stays from returning at one of its turns, as a speed; `stops` is a heap of the
    ends up to its own."""
    rate, ends, out, before, at_before = whole[:, RATE], whole[:, END], np.inf, 0.0, 0.0
    keys, items, size = stops
    for k in range(size):
        now, (stop, _, size) = u, heap_pop(keys, items, size)
        for q in range(pairs.ptr[contact], pairs.ptr[contact + 1]):
            j = place[pairs.other[q]]
            if j >= 0:
                now += pairs.value[q] * rate[j] * min(stop, ends[j])
        if k > 0 and before > 0.0 and now < 0.0:
            at = at_before + (stop - at_before) * before / (before - now)
            stored = u * at
            for q in range(pairs.ptr[contact], pairs.ptr[contact + 1]):
                j = place[pairs.other[q]]
                if j >= 0:
                    stored += pairs.value[q] * rate[j] * _phi(at, ends[j])
            out = min(out, abs(stored) / at)
        before, at_before = now, stop
    return out


@dataclass(frozen=True, eq=False)
class Passes:
    """All passes of an answer."""

    system: System
    record: Record
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    register: str
    impulses: str

    @property
    def _tables(self) -> tuple[np.ndarray, ...]:
        rows = self.system.rows
        return rows.indptr, rows.indices, rows.data

    def jvp(self, d: Slopes) -> None:
        dx = d.registers[self.register].copy()
        push_ = d.of(self.impulses, self.system.row_count)
        rows = np.empty((0, dx.shape[1])) if d.rows is None else d.rows
        _forwards(self._tables, self.system.pairs, self.record, self.before.copy(), (dx, push_, d.base, rows))
        d.registers[self.register] = dx

    def vjp(self, bar: Slopes) -> None:
        out = bar.of(self.register, self.system.rows.shape[1]).copy()
        push_ = bar.of(self.impulses, self.system.row_count)
        rows = np.empty((0, out.shape[1])) if bar.rows is None else bar.rows
        _backwards(self._tables, self.system.pairs, self.record, self.after.copy(), (out, push_, bar.base, rows))
        bar.registers[self.register] = out


@kernel(inline="always")
def _pass(record, p):
    """Contacts, rates, weights, ends, speeds at the ends, flags, order and factor of pass p."""
    low, high = record.ptr[p], record.ptr[p + 1]
    return (
        record.contact[low:high], record.rate[low:high], record.weight[low:high], record.end[low:high],
        record.after[low:high], record.late[low:high], record.order[low:high], record.factor[p],
    )  # fmt: skip


@kernel
def _cross(tables, rows, i, j, k, own):
    """`d(G_i . G_j)` for changes `rows` of the entries in direction k; `own` is (2, N) scratch, zero everywhere."""
    ptr, columns, data = tables
    for e in range(ptr[i], ptr[i + 1]):
        own[0, columns[e]], own[1, columns[e]] = data[e], rows[e, k]
    total = 0.0
    for e in range(ptr[j], ptr[j + 1]):
        total += own[1, columns[e]] * data[e] + own[0, columns[e]] * rows[e, k]
    for e in range(ptr[i], ptr[i + 1]):
        own[0, columns[e]], own[1, columns[e]] = 0.0, 0.0
    return total


@kernel
def _forwards(tables, pairs, record, x, slopes):
    """Tangents after all passes, in place; x is the velocity before them, and is changed."""
    ptr, columns, data = tables
    dx, push_, base, rows = slopes
    turned, place, own = len(rows) > 0, np.full(len(pairs.ptr) - 1, -1, np.int64), np.zeros((2, len(x)))
    for p in range(len(record.factor)):
        contact, rate, weight, s, after, late, order, factor = _pass(record, p)
        n = len(contact)
        du, ds = np.empty(n), np.empty(n)
        for a in range(n):
            place[contact[a]] = a
        for k in range(dx.shape[1]):
            for a in range(n):
                du[a] = base[contact[a], k]
                for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                    du[a] += data[e] * dx[columns[e], k]
                    if turned:
                        du[a] += rows[e, k] * x[columns[e]]
            last = -1
            for a in order:
                if late[a]:
                    ds[a] = ds[last] if last >= 0 else 0.0
                    continue
                change, i = s[a] * du[a], contact[a]
                for q in range(pairs.ptr[i], pairs.ptr[i + 1]):
                    b = place[pairs.other[q]]
                    if b < 0:
                        continue
                    phi = _phi(s[a], s[b])
                    change -= pairs.value[q] * phi * weight[b] * du[b]
                    if b != a and s[b] < s[a]:
                        change += pairs.value[q] * rate[b] * (s[a] - s[b]) * ds[b]
                    if turned:
                        change += _cross(tables, rows, i, contact[b], k, own) * rate[b] * phi
                ds[a], last = -change / after[a], a
            for a in range(n):
                dp = factor * (rate[a] * ds[a] - weight[a] * s[a] * du[a])
                push_[contact[a], k] += dp
                for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                    dx[columns[e], k] += data[e] * dp
                    if turned:
                        dx[columns[e], k] += rows[e, k] * factor * rate[a] * s[a]
        for a in range(n):
            place[contact[a]] = -1
            for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                x[columns[e]] += data[e] * factor * rate[a] * s[a]


@kernel
def _backwards(tables, pairs, record, x, slopes):
    """Adjoints before all passes, in place; x is the velocity after them, and is changed."""
    ptr, columns, data = tables
    out, push_, base, rows = slopes
    turned, place, own = len(rows) > 0, np.full(len(pairs.ptr) - 1, -1, np.int64), np.zeros(len(x))
    for p in range(len(record.factor) - 1, -1, -1):
        contact, rate, weight, s, after, late, order, factor = _pass(record, p)
        n = len(contact)
        given, left, change, du = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        for a in range(n):
            place[contact[a]] = a
            for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                x[columns[e]] -= data[e] * factor * rate[a] * s[a]
        for k in range(out.shape[1]):
            for a in range(n):
                given[a] = push_[contact[a], k]
                for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                    given[a] += data[e] * out[columns[e], k]
                    if turned:
                        rows[e, k] += factor * rate[a] * s[a] * out[columns[e], k]
                given[a] *= factor
                left[a] = -rate[a] * given[a]
            _end_adjoints(pairs, contact, place, (rate, s, after, late, order), left, change)
            for a in range(n):
                i = contact[a]
                du[a] = (change[a] - weight[a] * given[a]) * s[a]
                for q in range(pairs.ptr[i], pairs.ptr[i + 1]):
                    b = place[pairs.other[q]]
                    if b < 0:
                        continue
                    du[a] -= weight[a] * pairs.value[q] * _phi(s[b], s[a]) * change[b]
                    if turned:
                        both = change[a] * rate[b] * _phi(s[a], s[b]) + change[b] * rate[a] * _phi(s[b], s[a])
                        _add_products(tables, contact[b], i, both, own, rows[:, k])
            for a in range(n):
                base[contact[a], k] += du[a]
                for e in range(ptr[contact[a]], ptr[contact[a] + 1]):
                    out[columns[e], k] += data[e] * du[a]
                    if turned:
                        rows[e, k] += du[a] * x[columns[e]]
        for a in range(n):
            place[contact[a]] = -1


@kernel
def _end_adjoints(pairs, contact, place, ends, left, change):
    """Adjoints `change` of the equations of a pass from those of the ends, `left`, which are changed."""
    rate, s, after, late, order = ends
    last = -1
    for a in order:
        if not late[a]:
            last = a
    for t in range(len(order) - 1, -1, -1):
        a = order[t]
        if late[a]:
            change[a] = 0.0
            if last >= 0:
                left[last] += left[a]
            continue
        change[a] = left[a] / after[a]
        for q in range(pairs.ptr[contact[a]], pairs.ptr[contact[a] + 1]):
            b = place[pairs.other[q]]
            if b >= 0 and b != a and s[b] < s[a]:
                left[b] -= pairs.value[q] * rate[b] * (s[a] - s[b]) * change[a]


@kernel
def _add_products(tables, source, target, share, own, rows):
    """Adds `share G_source` to the adjoints of row `target`; `own` is scratch, zero everywhere."""
    ptr, columns, data = tables
    for e in range(ptr[source], ptr[source + 1]):
        own[columns[e]] = share * data[e]
    for e in range(ptr[target], ptr[target + 1]):
        rows[e] += own[columns[e]]
    for e in range(ptr[source], ptr[source + 1]):
        own[columns[e]] = 0.0
