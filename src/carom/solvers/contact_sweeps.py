"""Frictional contact of large islands by Gauss-Seidel sweeps over compact records, in slabs for threads.

A sweep gives each contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within the disk of radius mu times the normal impulse, then those of rolling and spinning. Between sweeps impulses and
velocities are extrapolated along their last change, by Nesterov's rule with a bound, unless the last change went back;
in piles this halves the number of sweeps. The bound is lowered where sweeps do not get ahead.

Sweeps compute a correction: the velocity x starts at zero, and the records hold the speeds at the start. Single
precision is therefore enough unless the tolerance is tiny, and takes half the memory, which bounds the speed.
Velocities and residual are computed in double precision afterwards.

Tried, for piles of spheres, boxes and discs: nonlinear conjugate gradients around sweeps (Silcowitz-Hansen, Niebe,
Erleben 2010) need half as many sweeps again, and sweeps in alternating directions twice as many. Sweeps over only the
contacts of bodies that still move, or around the contacts that are off, when these are few, push the error to their
rim: 20 to 60 percent more visits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel, tuple_setitem
from .contact_pack import BOUND, LENGTH, LOOSE, MIXED, NORMAL, WEIGHT, Layout, group_count
from .rows import Floats, Ints

RELAXED = 0.7  # share of a step of the normal impulses: sweeps with whole steps cycle in some piles of discs
BOLD = 0.7  # bound on the extrapolation, as a share of the last change
PATIENCE = 25  # sweeps without fewer contacts that are off, after which the bound on the extrapolation is halved

# Columns of `Records.data`: inverse stiffness and stiffness of the normal, products of normal and tangents; from GROUP
# on, inverse stiffness, stiffness times length, and bound of each group; then the speeds at the start.
INVERSE, STIFF, PRODUCT, GROUP = 0, 1, 2, 4
WORST, BUSY, BACK = 0, 1, 2  # columns of the report of a slab
PACE, BOLDNESS, LIMIT, LEAST, SINCE = 0, 1, 2, 3, 4  # entries of the state of the acceleration: see `advance`


class Records(NamedTuple):
    """k contacts in the order of the sweep. A body that a contact lacks is a number from n up; its rows are zero."""

    body: Ints  # (k, 2)
    row: Floats  # (k, 2, r, d)
    data: Floats  # (k, 4 + 3 groups + r)
    z: Floats  # (k, r) impulses
    last: Floats  # (k, r) impulses before the last sweep
    x: Floats  # (bodies, d) change of velocity
    last_x: Floats  # (bodies, d) before the last sweep


def room(lay: Layout, k: int, bodies: int, dtype: type) -> Records:
    """Records for k contacts."""
    r, d = len(lay.rows), len(lay.axes)
    columns = GROUP + 3 * group_count(lay) + r
    return Records(
        np.empty((k, 2), np.int32),
        np.empty((k, 2, r, d), dtype),
        np.empty((k, columns), dtype),
        np.empty((k, r), dtype),
        np.empty((k, r), dtype),
        np.zeros((bodies, d), dtype),
        np.zeros((bodies, d), dtype),
    )


@kernel
def pack(lay, blocks, weight, contacts, body, nobody, first, last, out):
    """Writes the rows and weights of contacts first to last, whose bodies within the island are `body`, to `out`; `nobody` for none."""
    for p in range(first, last):
        i = contacts[p]
        for side in range(2):
            out.body[p, side] = body[p, side] if blocks.body[i, side] >= 0 else nobody
            for s in range(len(lay.rows)):
                for c in range(len(lay.axes)):
                    out.row[p, side, s, c] = blocks.val[i, side, s, c]
        out.data[p, INVERSE] = RELAXED * weight[i, NORMAL]
        out.data[p, STIFF] = 1.0 / (RELAXED * weight[i, NORMAL]) if weight[i, NORMAL] > 0.0 else 0.0
        for g in range(group_count(lay)):
            at, w = GROUP + 3 * g, weight[i, WEIGHT + 2 * g]
            if g == 0:
                out.data[p, PRODUCT], out.data[p, PRODUCT + 1] = weight[i, MIXED], weight[i, MIXED + 1]
            length = 1.0 if g == 0 else weight[i, LENGTH + g]
            out.data[p, at] = w
            out.data[p, at + 1] = length / w if w > 0.0 else 0.0
            out.data[p, at + 2] = weight[i, BOUND + 2 * g]


@kernel(fastmath=LOOSE)
def restart(lay, blocks, contacts, impulse, x, first, last, out):
    """Writes the impulses and the speeds at velocity x of contacts first to last to `out`."""
    at = out.data.shape[1] - len(lay.rows)
    for p in range(first, last):
        i = contacts[p]
        for s in range(len(lay.rows)):
            u = blocks.base[i, s]
            for side in range(2):
                b = blocks.body[i, side]
                if b >= 0:
                    for c in range(len(lay.axes)):
                        u += blocks.val[i, side, s, c] * x[b, c]
            out.data[p, at + s] = u
            out.z[p, s] = out.last[p, s] = impulse[i, s]


@kernel(inline="always")
def _load(zeros, x, b):
    out = zeros
    for c in range(len(zeros)):
        out = tuple_setitem(out, c, x[b, c])
    return out


@kernel(inline="always")
def _dot(zeros, row, p, s, xa, xb, start):
    total = start
    for c in range(len(zeros)):
        total += row[p, 0, s, c] * xa[c] + row[p, 1, s, c] * xb[c]
    return total


@kernel(inline="always")
def _plus(zeros, row, p, side, s, x, push):
    out = x
    for c in range(len(zeros)):
        out = tuple_setitem(out, c, x[c] + row[p, side, s, c] * push)
    return out


@kernel(fastmath=LOOSE, slp=True)
def sweep(lay, zeros, units, records, first, last, bold, busy, report):
    """One sweep over contacts first to last, extrapolated by `bold`.

    `zeros` is a tuple of d zeros, `units` one of a tiny number and 1, of the type of the records. Writes the largest
    change of a speed, the number of contacts that changed by more than `busy`, and the product of this change with the
    last one to `report` (3,).
    """
    r, t, zero = len(lay.rows), len(lay.tangents), zeros[0]
    tiny, one = units
    at = records.data.shape[1] - r
    body, row, data, z, before, x = records.body, records.row, records.data, records.z, records.last, records.x
    bold, busy = one * bold, one * busy
    worst, back, count = zero, 0.0, 0
    for p in range(first, last):
        a, b = body[p, 0], body[p, 1]
        xa, xb = _load(zeros, x, a), _load(zeros, x, b)
        old = z[p, 0]
        start = old + bold * (old - before[p, 0])
        lam = max(start - _dot(zeros, row, p, 0, xa, xb, data[p, at]) * data[p, INVERSE], zero)
        push = lam - start
        change, product = abs(push) * data[p, STIFF], push * (lam - old)
        if r > 1:
            bound = data[p, GROUP + 2] * lam
            old_s = z[p, 1]
            start_s = old_s + bold * (old_s - before[p, 1])
            s = _dot(zeros, row, p, 1, xa, xb, data[p, at + 1]) + data[p, PRODUCT] * push
            new_s = start_s - s * data[p, GROUP]
            if t == 1:
                new_s = min(max(new_s, -bound), bound)
            else:
                old_t = z[p, 2]
                start_t = old_t + bold * (old_t - before[p, 2])
                s = _dot(zeros, row, p, 2, xa, xb, data[p, at + 2]) + data[p, PRODUCT + 1] * push
                new_t = start_t - s * data[p, GROUP]
                share = min(bound / np.sqrt(new_s * new_s + new_t * new_t + tiny), one)
                new_s *= share
                new_t *= share
                product += (new_t - start_t) * (new_t - old_t)
                change = max(change, abs(new_t - start_t) * data[p, GROUP + 1])
            product += (new_s - start_s) * (new_s - old_s)
            change = max(change, abs(new_s - start_s) * data[p, GROUP + 1])
        before[p, 0], z[p, 0] = old, lam
        if r > 1:
            before[p, 1], z[p, 1] = old_s, new_s
            new_s -= start_s
            xa, xb = _plus(zeros, row, p, 0, 1, xa, new_s), _plus(zeros, row, p, 1, 1, xb, new_s)
            if t == 2:
                before[p, 2], z[p, 2] = old_t, new_t
                new_t -= start_t
                xa, xb = _plus(zeros, row, p, 0, 2, xa, new_t), _plus(zeros, row, p, 1, 2, xb, new_t)
        xa, xb = _plus(zeros, row, p, 0, 0, xa, push), _plus(zeros, row, p, 1, 0, xb, push)
        if r > 1 + t:  # rolling and spinning
            for g in range(1, group_count(lay)):
                f, at_g = 1 + g * t, GROUP + 3 * g
                e = min(f + t, r) - 1
                old_s, old_t = z[p, f], z[p, e]
                start_s = old_s + bold * (old_s - before[p, f])
                start_t = old_t + bold * (old_t - before[p, e])
                new_s = start_s - _dot(zeros, row, p, f, xa, xb, data[p, at + f]) * data[p, at_g]
                new_t = start_t - _dot(zeros, row, p, e, xa, xb, data[p, at + e]) * data[p, at_g]
                square = new_s * new_s + tiny if e == f else new_s * new_s + new_t * new_t + tiny
                share = min(data[p, at_g + 2] * lam / np.sqrt(square), one)
                push_s, push_t = share * new_s - start_s, share * new_t - start_t
                change = max(change, abs(push_s) * data[p, at_g + 1], abs(push_t) * data[p, at_g + 1])
                before[p, e], z[p, e] = old_t, share * new_t
                before[p, f], z[p, f] = old_s, share * new_s
                xa, xb = _plus(zeros, row, p, 0, f, xa, push_s), _plus(zeros, row, p, 1, f, xb, push_s)
                if e != f:
                    xa, xb = _plus(zeros, row, p, 0, e, xa, push_t), _plus(zeros, row, p, 1, e, xb, push_t)
        for c in range(len(zeros)):
            x[a, c] = xa[c]
        for c in range(len(zeros)):
            x[b, c] = xb[c]
        back -= product
        worst = max(worst, change)
        count += change > busy
    report[WORST], report[BUSY], report[BACK] = worst, count, back


def first_state() -> Floats:
    """State of the acceleration before the first sweep: pace, extrapolation, its bound, least busy contacts, since when."""
    return np.array([1.0, 0.0, BOLD, np.inf, 0.0])


@kernel
def advance(records, reports, state, target):
    """Chooses the next extrapolation from the `reports` (slabs, 3) of a sweep, and extrapolates the velocities.

    Returns True, and leaves all as it is, if no speed changed by more than `target` in the sweep.
    """
    worst = busy = back = 0.0
    for s in range(len(reports)):
        worst = max(worst, reports[s, WORST])
        busy += reports[s, BUSY]
        back += reports[s, BACK]
    if worst <= target:
        return True
    state[SINCE] += 1.0
    if busy < state[LEAST]:
        state[LEAST], state[SINCE] = busy, 0.0
    elif state[SINCE] >= PATIENCE:
        state[LIMIT] *= 0.5
        state[LEAST], state[SINCE] = busy, 0.0
    pace = 1.0 if back > 0.0 else state[PACE]
    state[PACE] = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
    state[BOLDNESS] = bold = min((pace - 1.0) / state[PACE], state[LIMIT])
    x, last_x = records.x, records.last_x
    for b in range(len(x)):
        for c in range(x.shape[1]):
            now = x[b, c]
            x[b, c] += bold * (now - last_x[b, c])
            last_x[b, c] = now
    return False


@kernel
def swept(lay, zeros, units, records, cuts, part, state, busy, reports):
    """One sweep over the slabs `part`."""
    for s in part:
        sweep(lay, zeros, units, records, cuts[s], cuts[s + 1], state[BOLDNESS], busy, reports[s])
    return 0.0


@kernel
def sweeps(lay, zeros, units, records, cuts, state, busy, target, most):
    """Sweeps until no speed changes by more than `target`, `most` at most; returns their number.

    Slabs are swept in the order in which threads would sweep them: even ones, then odd ones.
    """
    count = len(cuts) - 1
    reports = np.zeros((count, 3))
    for done in range(most):
        for parity in range(2):
            swept(lay, zeros, units, records, cuts, np.arange(parity, count, 2), state, busy, reports)
        if advance(records, reports, state, target):
            return done + 1
    return most


@kernel
def slabs(body, n, wanted):
    """Order of contacts by slab, and slab pointers, for at most `wanted` slabs of a connected island.

    `body` (k, 2) are the bodies of the contacts; numbers that are not below n are none.
    """
    k = len(body)
    ptr, touch = _touching(body, n)
    level, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = _levels(body, ptr, touch, body[0, 0] if body[0, 0] < n else body[0, 1], level, queue)
    count = _levels(body, ptr, touch, queue[count - 1], level, queue)
    depth = level[queue[count - 1]] + 1
    first, share = np.empty(k, np.int64), np.zeros(depth, np.int64)
    for p in range(k):
        a, b = body[p, 0], body[p, 1]
        first[p] = min(level[a] if a < n else depth, level[b] if b < n else depth)
        share[first[p]] += 1
    slab, cuts, seen = np.empty(depth, np.int64), 0, 0
    for step in range(depth):
        if step > 0 and cuts < wanted - 1 and seen * wanted >= k * (cuts + 1):
            cuts += 1
        slab[step] = cuts
        seen += share[step]
    begin = np.zeros(cuts + 2, np.int64)
    for p in range(k):
        begin[slab[first[p]] + 1] += 1
    for s in range(cuts + 1):
        begin[s + 1] += begin[s]
    fill, order = begin.copy(), np.empty(k, np.int64)
    for p in range(k):
        s = slab[first[p]]
        order[fill[s]] = p
        fill[s] += 1
    return order, begin


@kernel
def _touching(body, n):
    """Contacts of each body: pointers and contacts."""
    ptr = np.zeros(n + 1, np.int64)
    for p in range(len(body)):
        for side in range(2):
            if body[p, side] < n:
                ptr[body[p, side] + 1] += 1
    for b in range(n):
        ptr[b + 1] += ptr[b]
    fill, touch = ptr.copy(), np.empty(ptr[n], np.int64)
    for p in range(len(body)):
        for side in range(2):
            b = body[p, side]
            if b < n:
                touch[fill[b]] = p
                fill[b] += 1
    return ptr, touch


@kernel
def _levels(body, ptr, touch, start, level, queue):
    """Writes distances from `start` to `level` and bodies in that order to `queue`; returns their number."""
    level[:] = -1
    level[start] = 0
    queue[0] = start
    head, count = 0, 1
    while head < count:
        b = queue[head]
        head += 1
        for e in range(ptr[b], ptr[b + 1]):
            for side in range(2):
                other = body[touch[e], side]
                if other < len(level) and level[other] < 0:
                    level[other] = level[b] + 1
                    queue[count] = other
                    count += 1
    return count
