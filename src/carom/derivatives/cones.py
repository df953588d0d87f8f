"""Cone problems one after the other, in one stage: the replay of gr and both products run in kernels.

Iteration r reflects the velocity x in the cone of its violators. On its active contacts, with the rows G,

    G G^T y = -(1 + e) u,     u = G x + base,     x' = x + G^T y,

which is differentiated by the implicit function theorem as in `implicit`. Where gr with Newton's restitution collapses
it takes hundreds of iterations of a few contacts each: a stage of the tape for each would cost ten times more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.islands import islands
from ..solvers.qp.cone import Cone, _small
from ..solvers.rows import Floats, Ints, push, speed
from ..solvers.thresholds import DENSE_QP_CONTACTS
from .skyline import VANISHED_PIVOT, Skyline, factorized, profile, solved
from .tape import Slopes, System, doubled, picked_pairs

ROOM = 1024  # first room of a record in active contacts and in iterations, which is doubled when it is full


class Iterations(NamedTuple):
    """The active contacts of each iteration."""

    ptr: Ints  # (iterations + 1,)
    active: Ints
    y: Floats  # their impulses
    u: Floats  # their speeds before it
    order: Ints  # of the factor of each iteration, as in `Skyline`
    row: Ints  # (active + iterations,) places of the rows of the factors in `value`
    value: Floats


class Decisions(NamedTuple):
    """Smallest margins (m,) of the decisions about each contact, as speeds; infinity where there was none."""

    idle: Floats  # not taking part, while the others drive it together
    chosen: Floats  # taking part
    pushing: Floats
    not_pushing: Floats  # of a violator


class Limits(NamedTuple):
    """Thresholds of the replay."""

    tol: float  # approach that counts as none
    bound: int  # iterations
    active: float  # share of the largest speed of a cone problem from which on an impulse counts
    small: float  # speeds up to this size are a kink
    still: float  # changes of a speed up to this size are none


@kernel(inline="always")
def _room(made, count, m):
    """The record with room for one more iteration of m contacts."""
    ptr, active, y, u, order, row, value = made
    if count + 2 > len(ptr):
        ptr = doubled(ptr)
    if ptr[count] + count + m + 1 > len(active):
        active, y, u = doubled(active), doubled(y), doubled(u)
        order, row = doubled(order), doubled(row)
    return Iterations(ptr, active, y, u, order, row, value)


@kernel(inline="always")
def _with_factor(made, count, factor):
    """The record with the factor of an iteration; its rows follow those of the one before."""
    first, value, k = made.ptr[count] + count, made.value, len(factor.order)
    start = made.row[first - 1] if count > 0 else 0
    while start + len(factor.value) > len(value):
        value = doubled(value)
    for r in range(k):
        made.order[made.ptr[count] + r] = factor.order[r]
    for r in range(k + 1):
        made.row[first + r] = start + factor.ptr[r]
    for q in range(len(factor.value)):
        value[start + q] = factor.value[q]
    return Iterations(made.ptr, made.active, made.y, made.u, made.order, made.row, value)


@kernel(inline="always")
def _kept_factor(made, r):
    """The factor of iteration r."""
    first, last = made.ptr[r], made.ptr[r + 1]
    return Skyline(made.order[first:last], made.row[first + r : last + r + 1], made.value, made.order[:0])


@kernel
def _factor(pairs, active):
    """The factor of `G G^T` of some contacts."""
    own = picked_pairs(pairs, active)
    order, place, ptr, _ = profile(own)
    return factorized(own, order, place, ptr)


@kernel
def _spanned(pairs, factor, active, i):
    """Whether the row of contact i is a combination of those of the active contacts."""
    right, own, found = np.zeros((len(active), 1)), 0.0, False
    for q in range(pairs.ptr[i], pairs.ptr[i + 1]):
        if pairs.other[q] == i:
            own = pairs.value[q]
        for j in range(len(active)):
            if active[j] == pairs.other[q]:
                right[j, 0], found = pairs.value[q], True
    if not found:
        return False
    return own - np.sum(right * solved(factor, right)) <= VANISHED_PIVOT * own


@kernel
def reflected(rows, pairs, velocity, restitution, limits, resting):
    """Iterations of `laws.gr` from a velocity, as long as they are plain. Returns their record, margins and velocity.

    An iteration is left to the general replay, and ends the record, if an island is too large for the dense method, or
    if contacts depend on each other: active ones, or a violator that is at its target without a push. `resting` (m,)
    are the contacts that were stopped and have not been moved since; it is brought up to date.
    """
    m, n, x, e = len(rows.body), len(velocity), velocity.copy(), restitution
    made = Iterations(
        np.zeros(ROOM, np.int64),
        np.empty(ROOM + m, np.int64),
        np.empty(ROOM + m),
        np.empty(ROOM + m),
        np.empty(ROOM + m, np.int64),
        np.empty(ROOM + m, np.int64),
        np.empty(ROOM + m),
    )
    idle, taking, pushing, quiet = np.full(m, np.inf), np.full(m, np.inf), np.full(m, np.inf), np.full(m, np.inf)
    parent, label, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros((n, velocity.shape[1]))
    u, after, violators, count = np.empty(m), np.empty(m), np.empty(m, np.int64), 0
    sides, struck = rows.body.shape[1], np.empty(n + 1, np.bool_)  # the last entry serves the world, body -1
    for i in range(m):
        u[i] = speed(rows, i, x)
    while count <= limits.bound:
        made, k, size = _room(made, count, m), 0, 0.0
        ptr, active, y, before = made.ptr, made.active, made.y, made.u
        for i in range(m):
            if u[i] < -limits.tol:
                violators[k], k = i, k + 1
                size = max(size, -(1.0 + e[i]) * u[i])
        if k == 0:
            break
        chosen = violators[:k].copy()
        found = islands(rows.body, chosen, parent, label)
        largest = 0
        for s in range(len(found.ptr) - 1):
            largest = max(largest, found.ptr[s + 1] - found.ptr[s])
        if largest > DENSE_QP_CONTACTS:
            break
        given, end = Cone((1.0 + e[chosen]) * u[chosen], np.zeros(k), False), ptr[count]
        _small(rows, found, 0, len(found.ptr) - 1, given, scratch, DENSE_QP_CONTACTS)
        for j in range(k):
            if rows.diag[chosen[j]] * given.y[j] > limits.active * size:
                active[end], y[end], before[end], end = chosen[j], given.y[j], u[chosen[j]], end + 1
        mine = active[ptr[count] : end].copy()
        factor, plain = _factor(pairs, mine), True
        if len(factor.null) > 0:
            break
        moved = x.copy()
        for q in range(ptr[count], end):
            push(rows, active[q], y[q], moved)
        struck[:] = False
        for i in mine:
            for side in range(sides):
                struck[rows.body[i, side]] = True
        for i in range(m):
            after[i] = u[i]
            for side in range(sides):
                if rows.body[i, side] >= 0 and struck[rows.body[i, side]]:
                    after[i] = speed(rows, i, moved)
                    break
        for j in range(k):
            i = chosen[j]
            if not rows.diag[i] * given.y[j] > limits.active * size and abs(after[i] + e[i] * u[i]) <= limits.small:
                plain = plain and not _spanned(pairs, factor, mine, i)
        if not plain:
            break
        made = _with_factor(made, count, factor)
        for j in range(k):
            i = chosen[j]
            if rows.diag[i] * given.y[j] > limits.active * size:
                pushing[i] = min(pushing[i], rows.diag[i] * given.y[j])
                taking[i] = min(taking[i], -u[i])
            else:
                quiet[i] = min(quiet[i], after[i] + e[i] * u[i])
        for i in range(m):
            if u[i] >= -limits.tol and not resting[i] and after[i] <= u[i]:
                idle[i] = min(idle[i], abs(u[i]))
            resting[i] = resting[i] and abs(after[i] - u[i]) <= limits.still
        for q in range(ptr[count], end):
            if e[active[q]] == 0.0:
                resting[active[q]] = True
        x, u, after, count = moved, after, u, count + 1
        ptr[count] = end
    made = Iterations(made.ptr[: count + 1].copy(), made.active[: made.ptr[count]].copy(), *made[2:])
    return made, Decisions(idle, taking, pushing, quiet), x


@dataclass(frozen=True, eq=False)
class Cones:
    """Iterations, one after the other."""

    system: System
    made: Iterations
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    restitution: Floats  # (m,) e
    own: bool  # whether e are the coefficients of the problem, rather than 1
    register: str
    impulses: str

    @property
    def _tables(self) -> tuple[np.ndarray, ...]:
        rows = self.system.rows
        return rows.indptr, rows.indices, rows.data, self.restitution

    def jvp(self, d: Slopes) -> None:
        dx = d.registers[self.register].copy()
        pushes = d.of(self.impulses, self.system.row_count)
        rows = np.empty((0, dx.shape[1])) if d.rows is None else d.rows
        slopes = (dx, pushes, d.base, d.restitution, rows)
        _forwards(self._tables, self.made, self.before.copy(), slopes, self.own)
        d.registers[self.register] = dx

    def vjp(self, bar: Slopes) -> None:
        out = bar.of(self.register, self.system.rows.shape[1]).copy()
        pushes = bar.of(self.impulses, self.system.row_count)
        rows = np.empty((0, out.shape[1])) if bar.rows is None else bar.rows
        slopes = (out, pushes, bar.base, bar.restitution, rows)
        _backwards(self._tables, self.made, self.after.copy(), slopes, self.own)
        bar.registers[self.register] = out


@kernel
def _forwards(tables, made, x, slopes, own):
    """Tangents after all iterations, in place; x is the velocity before them, and is changed."""
    ptr, columns, data, restitution = tables
    dx, pushes, base, de, rows = slopes
    turned = len(rows) > 0
    for r in range(len(made.ptr) - 1):
        first, active = made.ptr[r], made.active[made.ptr[r] : made.ptr[r + 1]].copy()
        right = np.zeros((len(active), dx.shape[1]))
        for j in range(len(active)):  # -e d(G x + base), at the velocity before
            i = active[j]
            for k in range(dx.shape[1]):
                total = base[i, k]
                for q in range(ptr[i], ptr[i + 1]):
                    total += data[q] * dx[columns[q], k] + (rows[q, k] * x[columns[q]] if turned else 0.0)
                right[j, k] = -restitution[i] * total - (made.u[first + j] * de[i, k] if own else 0.0)
        for j in range(len(active)):
            for q in range(ptr[active[j]], ptr[active[j] + 1]):
                x[columns[q]] += data[q] * made.y[first + j]
                if turned:
                    for k in range(dx.shape[1]):
                        dx[columns[q], k] += rows[q, k] * made.y[first + j]
        for j in range(len(active)):  # -d(G x' + base) without the change of y, at the velocity after
            i = active[j]
            for k in range(dx.shape[1]):
                total = base[i, k]
                for q in range(ptr[i], ptr[i + 1]):
                    total += data[q] * dx[columns[q], k] + (rows[q, k] * x[columns[q]] if turned else 0.0)
                right[j, k] -= total
        dy = solved(_kept_factor(made, r), right)
        for j in range(len(active)):
            for k in range(dx.shape[1]):
                pushes[active[j], k] += dy[j, k]
                for q in range(ptr[active[j]], ptr[active[j] + 1]):
                    dx[columns[q], k] += data[q] * dy[j, k]


@kernel
def _backwards(tables, made, x, slopes, own):
    """Adjoints before all iterations, in place; x is the velocity after them, and is changed."""
    ptr, columns, data, restitution = tables
    out, pushes, base, de, rows = slopes
    turned = len(rows) > 0
    for r in range(len(made.ptr) - 2, -1, -1):
        first, active = made.ptr[r], made.active[made.ptr[r] : made.ptr[r + 1]].copy()
        right = np.empty((len(active), out.shape[1]))
        for j in range(len(active)):
            for k in range(out.shape[1]):
                right[j, k] = pushes[active[j], k]
                for q in range(ptr[active[j]], ptr[active[j] + 1]):
                    right[j, k] += data[q] * out[columns[q], k]
        s = solved(_kept_factor(made, r), right)
        for j in range(len(active)):
            i = active[j]
            for k in range(out.shape[1]):
                base[i, k] -= (1.0 + restitution[i]) * s[j, k]
                de[i, k] -= made.u[first + j] * s[j, k] if own else 0.0
                for q in range(ptr[i], ptr[i + 1]):
                    out[columns[q], k] -= data[q] * s[j, k]
                    if turned:
                        rows[q, k] -= s[j, k] * x[columns[q]]
        for j in range(len(active)):
            for q in range(ptr[active[j]], ptr[active[j] + 1]):
                x[columns[q]] -= data[q] * made.y[first + j]
                if turned:
                    for k in range(out.shape[1]):
                        rows[q, k] += made.y[first + j] * out[columns[q], k]
        for j in range(len(active)):
            i = active[j]
            for k in range(out.shape[1]):
                for q in range(ptr[i], ptr[i + 1]):
                    if turned:
                        rows[q, k] -= restitution[i] * s[j, k] * x[columns[q]]
                    out[columns[q], k] -= restitution[i] * data[q] * s[j, k]
