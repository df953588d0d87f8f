"""Reflections of contacts with friction of their own (sqm), in one stage: the replay and both products run in kernels.

The impulse of a reflection is a function of eleven numbers of its contact: speeds (u, s1, s2), collision matrix K (six
entries), friction, restitution. It is written here once more for complex numbers: with `z + i s` in place of z the
imaginary part is s times the derivative, up to `s^3`. Decisions are those of the real parts, and the differences that
were compared tell how close each of them was. The replay has to end at the velocity of the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..kernels import kernel, lean
from ..laws.contact_points import slip
from ..laws.heap import heap_add, heap_pop
from ..laws.stick_slip import SLIDING_FLOOR, STICKING_FLOOR
from ..laws.worst_first import most_entries, next_worst, requeue, with_room, worst_first
from ..solvers.rows import Floats, Ints, row_push, speed
from .dual import EQUAL
from .tape import Slopes, System, doubled, doubled_rows

NUMBERS, SPEEDS, INERTIAS = 11, 3, 9  # numbers of a contact; the first are speeds, those from there on entries of K
FRICTION, RESTITUTION = 9, 10  # places of the others
UPPER = np.array([[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]])  # entries of K in these numbers
COMPARED = 8  # comparisons of one reflection, at most
STEP = 1e-30  # imaginary step


@lean
def _impulse(v, t, gaps, row, sizes):
    """The impulse (pn, p1, p2) of `laws.sqm._reflection` for the numbers v (11,), and the number of comparisons.

    Writes the differences that were compared into a row of `gaps`, and the absolute values of their left sides.
    """
    u, s1, s2, nn, n1, n2, a, b, c, mu = v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]
    du, count = -(1.0 + v[RESTITUTION]) * u, 0
    if t == 0 or mu.real <= 0.0:
        return count, du / nn, 0.0 * du, 0.0 * du
    trace, det, schur = a + c, a * c - b * b, nn
    i11, i12, i22 = 0.0 * a, 0.0 * a, 0.0 * a
    if trace.real > 0.0:
        if det.real > 1e-12 * trace.real * trace.real:
            whole = 1.0 / det  # complex divisions are slow
            i11, i12, i22 = c * whole, -b * whole, a * whole
        else:
            whole = 1.0 / (trace * trace)
            i11, i12, i22 = a * whole, b * whole, c * whole
        schur = nn - (i11 * n1 * n1 + 2.0 * i12 * n1 * n2 + i22 * n2 * n2)
    can_stick = schur.real > STICKING_FLOOR * nn.real
    if can_stick:
        pn = (du + n1 * (i11 * s1 + i12 * s2) + n2 * (i12 * s1 + i22 * s2)) / schur
        r1, r2 = -(s1 + n1 * pn), -(s2 + n2 * pn)
        p1, p2 = i11 * r1 + i12 * r2, i12 * r1 + i22 * r2
        half1 = s1 + 0.5 * (n1 * pn + a * p1 + b * p2)
        half2 = s2 + 0.5 * (n2 * pn + b * p1 + c * p2)
        work = pn * (u + 0.5 * du) + p1 * half1 + p2 * half2
        square = p1 * p1 + p2 * p2
        gaps[row, 0], sizes[0], count = pn, abs(pn.real), 1
        if pn.real > 0.0:
            gaps[row, 1], sizes[1], count = square - mu * mu * pn * pn, square.real, 2
            if gaps[row, 1].real <= 0.0:
                gaps[row, 2], sizes[2], count = work, abs(work.real), 3
                if work.real <= 0.0:
                    return count, pn, p1, p2
    size = np.sqrt(s1 * s1 + s2 * s2)
    gaps[row, count], sizes[count], count = size - 1e-12 * du, size.real, count + 1
    if size.real > 1e-12 * du.real:
        whole = -1.0 / size
        q1, q2 = s1 * whole, s2 * whole
    else:
        size, pn = 0.0 * du, du / schur if can_stick else -1.0 + 0.0 * du
        r1, r2 = (-n1 * pn, -n2 * pn) if can_stick else (0.0 * du, 0.0 * du)
        q1, q2 = i11 * r1 + i12 * r2, i12 * r1 + i22 * r2
        length = np.sqrt(q1 * q1 + q2 * q2)
        if length.real == 0.0:
            return count, du / nn, 0.0 * du, 0.0 * du
        q1, q2 = q1 / length, q2 / length
    cross, along, share = n1 * q1 + n2 * q2, a * q1 * q1 + 2.0 * b * q1 * q2 + c * q2 * q2, mu
    slope, room = du * along - size * cross, size * nn - du * cross
    gaps[row, count], sizes[count], count = share * slope - room, abs((share * slope).real), count + 1
    if (share * slope).real > room.real:
        gaps[row, count], sizes[count], count = slope, abs(slope.real), count + 1
        share = room / slope if slope.real > 0.0 and (room / slope).real > 0.0 else 0.0 * mu
    left = nn + share * cross
    gaps[row, count], sizes[count], count = left - SLIDING_FLOOR * nn, abs(left.real), count + 1
    if left.real < SLIDING_FLOOR * nn.real:
        share = (SLIDING_FLOOR - 1.0) * nn / cross
    pn = du / (nn + share * (n1 * q1 + n2 * q2))
    return count, pn, share * q1 * pn, share * q2 * pn


@lean
def _columns(v, t, first, last, moved, gaps, other, slopes):
    """Writes the derivatives of an impulse, `slopes` (3, 11), and of its comparisons with respect to some numbers."""
    for k in range(first, last):
        slopes[0, k], slopes[1, k], slopes[2, k] = 0.0, 0.0, 0.0
        if t < 2 and (k == 2 or k == 5 or k == 7 or k == 8):  # of a second tangent
            for g in range(COMPARED):
                gaps[k, g] = 0.0
            continue
        for j in range(NUMBERS):
            moved[j] = v[j]
        moved[k] = complex(v[k], STEP)
        _, one, two, three = _impulse(moved, t, gaps, k, other)
        slopes[0, k], slopes[1, k], slopes[2, k] = one.imag / STEP, two.imag / STEP, three.imag / STEP


@lean
def _linear(v, t, moved, gaps, tables, slopes):
    """Writes the derivatives (3, 11) of an impulse but those of K; returns it, the margin of its comparisons, and ties.

    The margin is the least change of the speeds that turns a comparison; a tie is one of equal numbers that depend on
    inertia in different ways.
    """
    real, sizes, other = tables
    count, pn, p1, p2 = _impulse(v, t, real, 0, sizes)
    _columns(v, t, 0, SPEEDS, moved, gaps, other, slopes)
    _columns(v, t, FRICTION, RESTITUTION, moved, gaps, other, slopes)
    for r in range(3):  # both change `(1 + e) u`, and nothing else of the impulse
        slopes[r, RESTITUTION] = slopes[r, 0] * v[0] / (1.0 + v[RESTITUTION])
    margin, tie = np.inf, False
    for g in range(count):
        difference, rate = abs(real[0, g]), 0.0
        for k in range(SPEEDS):
            rate += abs(gaps[k, g].imag / STEP)
        if rate > 0.0:
            margin = min(margin, difference / rate)
        if difference <= EQUAL * sizes[g] and not tie:
            _columns(v, t, SPEEDS, INERTIAS, moved, gaps, other, slopes)
            for k in range(SPEEDS, INERTIAS):
                tie = tie or abs(gaps[k, g].imag / STEP) > EQUAL
    return pn, p1, p2, margin, tie


@kernel
def _with_inertias(numbers, t, slopes):
    """The derivatives (k, 33) with those with respect to K, which only changes of rows and masses need."""
    out, moved, other = slopes.copy(), np.empty(NUMBERS, np.complex128), np.empty(COMPARED)
    gaps = np.empty((NUMBERS, COMPARED), np.complex128)
    for s in range(len(out)):
        _columns(numbers[s], t, SPEEDS, INERTIAS, moved, gaps, other, out[s].reshape(3, NUMBERS))
    return out


@kernel
def rough_reflections(points, velocity, restitution, tol, tiny, bound):
    """The reflections of `laws.sqm` with friction, and the margins of its decisions.

    Returns contacts (k,), impulses (k, 3), numbers (k, 11), derivatives (k, 33, without K), velocity and impulses at
    the end, and for each contact the smallest margin of five decisions: approaching at the end, being reflected, being
    the fastest, sticking or sliding, and 0 for a tie of inertias. Margins of sticking below `tiny` are those of equal
    numbers. `bound` is that of the number of reflections; there is one more if it was reached.
    """
    rows, m = points.rows, len(points.rows.body)
    x, lam, margins = velocity.copy(), np.zeros((m, 3)), np.full((5, m), np.inf)
    most, count = 8 * m + 64, 0
    which, impulse, slopes = np.empty(most, np.int64), np.empty((most, 3)), np.empty((most, 3 * NUMBERS))
    numbers, moved = np.empty((most, NUMBERS)), np.empty(NUMBERS, np.complex128)
    tables = (np.empty((1, COMPARED)), np.empty(COMPARED), np.empty(COMPARED))
    gaps = np.zeros((NUMBERS, COMPARED), np.complex128)
    heap, size = worst_first(points, x, np.full(m, tol))
    while True:
        i, u, size = next_worst(points, x, heap, size)
        if i < 0:
            break
        while size > 0:  # the next valid entry is the rival, and stays
            rival, j = heap.keys[0], heap.items[0]
            slower = speed(rows, j, x)
            if rival == heap.queued[j] and slower == rival:
                margins[2, i] = min(margins[2, i], rival - u)
                break
            _, _, size = heap_pop(heap.keys, heap.items, size)
            if rival == heap.queued[j]:
                heap.queued[j] = np.inf
                if slower < -tol:
                    size, heap.queued[j] = heap_add(heap.keys, heap.items, size, slower, j), slower
        while size + most_entries(points, i) > len(heap.keys):
            heap = with_room(heap, size)
        margins[1, i] = min(margins[1, i], -u)
        if count > bound:
            break
        if count == len(which):
            which, impulse, slopes = doubled(which), doubled_rows(impulse), doubled_rows(slopes)
            numbers = doubled_rows(numbers)
        v = numbers[count]
        v[0], v[FRICTION], v[RESTITUTION] = u, points.friction[i], restitution[i]
        v[1], v[2] = slip(points, i, x)
        for k in range(6):
            v[3 + k] = points.table[i, k]
        pn, p1, p2, margin, tie = _linear(v, points.t, moved, gaps, tables, slopes[count].reshape(3, NUMBERS))
        if margin > tiny:
            margins[3, i] = min(margins[3, i], margin)
        if tie:
            margins[4, i] = 0.0
        which[count], impulse[count, 0], impulse[count, 1], impulse[count, 2] = i, pn, p1, p2
        for row in range(1 + points.t):
            lam[i, row] += impulse[count, row]
            row_push(rows, x, i, row, impulse[count, row])
        count += 1
        size = requeue(points, i, x, heap, size)
    for i in range(m):
        margins[0, i] = abs(speed(rows, i, x))
    return which[:count], impulse[:count], numbers[:count], slopes[:count], x, lam, margins


@dataclass(frozen=True, eq=False)
class RoughSequence:
    """Reflections with friction, one after the other."""

    system: System
    which: Ints  # (k,) contacts
    impulse: Floats  # (k, 3)
    numbers: Floats  # (k, 11) of the contacts
    slopes: Floats  # (k, 33) derivatives of the impulse with respect to these, without those with respect to K
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    register: str
    impulses: str

    @cached_property
    def _whole(self) -> Floats:
        return np.asarray(_with_inertias(self.numbers, self.system.tangent_count, self.slopes))

    def _tables(self, turned: bool) -> tuple[object, ...]:
        s, rows = self.system, self.system.rows
        own = (self.which, self.impulse, self._whole if turned else self.slopes, s.count, s.tangent_count)
        return rows.indptr, rows.indices, rows.data, *own

    def jvp(self, d: Slopes) -> None:
        dx = d.registers[self.register].copy()
        push = d.of(self.impulses, self.system.row_count)
        rows = np.empty((0, dx.shape[1])) if d.rows is None else d.rows
        _forwards(self._tables(len(rows) > 0), self.before.copy(), (dx, push, d.base, d.friction, d.restitution, rows))
        d.registers[self.register] = dx

    def vjp(self, bar: Slopes) -> None:
        out = bar.of(self.register, self.system.rows.shape[1]).copy()
        push = bar.of(self.impulses, self.system.row_count)
        rows = np.empty((0, out.shape[1])) if bar.rows is None else bar.rows
        _backwards(
            self._tables(len(rows) > 0), self.after.copy(), (out, push, bar.base, bar.friction, bar.restitution, rows)
        )
        bar.registers[self.register] = out


@kernel(inline="always")
def _row(i, r, count, tangents):
    """The number of row r of contact i."""
    return i if r == 0 else count + i * tangents + r - 1


@kernel
def _spread(tables, i, dense):
    """Writes the rows of contact i into `dense` (3, N), which is zero elsewhere."""
    ptr, columns, data, _, _, _, count, t = tables
    for r in range(1 + t):
        row = _row(i, r, count, t)
        for e in range(ptr[row], ptr[row + 1]):
            dense[r, columns[e]] = data[e]


@kernel
def _clear(tables, i, dense):
    """Undoes `_spread`."""
    ptr, columns, _, _, _, _, count, t = tables
    for r in range(1 + t):
        row = _row(i, r, count, t)
        for e in range(ptr[row], ptr[row + 1]):
            dense[r, columns[e]] = 0.0


@kernel
def _forwards(tables, x, tangents):
    """Tangents after all reflections, in place; x is the velocity before them, and is changed."""
    ptr, columns, data, which, impulse, slopes, count, t = tables
    dx, push, base, friction, restitution, rows = tangents
    turned, given, change, dense = len(rows) > 0, np.empty(NUMBERS), np.empty(3), np.zeros((3, len(x)))
    for s in range(len(which)):
        i, slope = which[s], slopes[s].reshape(3, NUMBERS)
        if turned:
            _spread(tables, i, dense)
        for k in range(dx.shape[1]):
            given[:] = 0.0
            given[FRICTION], given[RESTITUTION] = friction[i, k], restitution[i, k]
            for r in range(1 + t):
                row = _row(i, r, count, t)
                given[r] = base[row, k]
                for e in range(ptr[row], ptr[row + 1]):
                    given[r] += data[e] * dx[columns[e], k]
                    if turned:
                        given[r] += rows[e, k] * x[columns[e]]
                for place in range(6 if turned else 0):
                    for end in range(2):  # d(R_a . R_b) has the change of either row
                        if UPPER[place, end] == r:
                            for e in range(ptr[row], ptr[row + 1]):
                                given[3 + place] += rows[e, k] * dense[UPPER[place, 1 - end], columns[e]]
            for r in range(1 + t):
                change[r] = 0.0
                for j in range(NUMBERS):
                    if turned or j < SPEEDS or j >= INERTIAS:
                        change[r] += slope[r, j] * given[j]
            for r in range(1 + t):
                row = _row(i, r, count, t)
                push[row, k] += change[r]
                for e in range(ptr[row], ptr[row + 1]):
                    dx[columns[e], k] += data[e] * change[r]
                    if turned:
                        dx[columns[e], k] += rows[e, k] * impulse[s, r]
        if turned:
            _clear(tables, i, dense)
        for r in range(1 + t):
            row = _row(i, r, count, t)
            for e in range(ptr[row], ptr[row + 1]):
                x[columns[e]] += data[e] * impulse[s, r]


@kernel
def _backwards(tables, x, adjoints):
    """Adjoints before all reflections, in place; x is the velocity after them, and is changed."""
    ptr, columns, data, which, impulse, slopes, count, t = tables
    out, push, base, friction, restitution, rows = adjoints
    turned, given, share, dense = len(rows) > 0, np.empty(NUMBERS), np.empty(3), np.zeros((3, len(x)))
    for s in range(len(which) - 1, -1, -1):
        i, slope = which[s], slopes[s].reshape(3, NUMBERS)
        if turned:
            _spread(tables, i, dense)
        for r in range(1 + t):
            row = _row(i, r, count, t)
            for e in range(ptr[row], ptr[row + 1]):
                x[columns[e]] -= data[e] * impulse[s, r]
        for k in range(out.shape[1]):
            for r in range(1 + t):
                row = _row(i, r, count, t)
                share[r] = push[row, k]
                for e in range(ptr[row], ptr[row + 1]):
                    share[r] += data[e] * out[columns[e], k]
            for j in range(NUMBERS):
                given[j] = 0.0
                for r in range(1 + t if turned or j < SPEEDS or j >= INERTIAS else 0):
                    given[j] += slope[r, j] * share[r]
            friction[i, k] += given[FRICTION]
            restitution[i, k] += given[RESTITUTION]
            if turned:
                for r in range(1 + t):
                    row = _row(i, r, count, t)
                    for e in range(ptr[row], ptr[row + 1]):
                        rows[e, k] += impulse[s, r] * out[columns[e], k] + given[r] * x[columns[e]]
                        for place in range(6):
                            for end in range(2):
                                if UPPER[place, end] == r:
                                    rows[e, k] += dense[UPPER[place, 1 - end], columns[e]] * given[3 + place]
            for r in range(1 + t):
                row = _row(i, r, count, t)
                base[row, k] += given[r]
                for e in range(ptr[row], ptr[row + 1]):
                    out[columns[e], k] += data[e] * given[r]
        if turned:
            _clear(tables, i, dense)
