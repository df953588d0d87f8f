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
from .blocks import Blocks
from .contact_pack import (
    BOUND,
    LENGTH,
    LOOSE,
    MIXED,
    NORMAL,
    WEIGHT,
    Layout,
    group_count,
    measure,
    push_all,
    slabs,
    speeds_of,
    without_work,
)
from .rows import Floats, Ints
from .threads import on_threads, thread_count
from .thresholds import THREADED_SWEEPS_CONTACTS

SWEEPS = 400  # bound on the sweeps over an island
EXACT_SWEEPS = 40  # the same, for a tolerance that sweeps hardly reach
SLABS = 8  # slabs of a large island
STRIDE = 4  # contacts that follow each other in a sweep were this far apart: the processor overlaps their visits
TARGET = 1.0  # change of a speed in a sweep, as a share of the tolerance, at which the residual is verified
SINGLE = 1e-5  # tolerance, relative to the speeds that impulses cause, from which single precision is enough
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


def relax(
    lay: Layout,
    blocks: Blocks,
    weight: Floats,
    mine: Ints,
    velocity: Floats,
    impulse: Floats,
    x: Floats,
    tolerance: float,
) -> tuple[float, int]:
    """Sweeps over one large island, on threads, in place of its impulses and velocities x; returns residual, sweeps."""
    label = np.full(len(velocity), -1, np.int64)
    contacts, body, members, cuts = _arranged(blocks.body, mine, label, SLABS)
    n, k, count = len(members), len(contacts), len(cuts) - 1
    dtype = np.float32 if tolerance > SINGLE * scale_of(lay, blocks, weight, mine, impulse, x) else np.float64
    records = room(lay, k, n + 2 * count, dtype)
    on_threads(_packs, [(lay, blocks, weight, contacts, body, n, cuts, part, records) for part in _dealt(count)])
    given = (lay, blocks, weight, mine, contacts, members, cuts, velocity, impulse, x, tolerance, records)
    return _relaxed(*given, EXACT_SWEEPS if dtype is np.float64 else SWEEPS)


def _relaxed(lay, blocks, weight, mine, contacts, members, cuts, velocity, impulse, x, tolerance, records, most):
    """At most `most` sweeps over a large island, in place of impulses and velocities x; returns residual, sweeps."""
    dtype, count = records.x.dtype.type, len(cuts) - 1
    zeros, units = (dtype(0.0),) * len(lay.axes), (dtype(1e-30), dtype(1.0))
    done, target, residual, state = 0, TARGET * tolerance, np.inf, first_state()
    run = sweeps if thread_count() == 1 or count == 1 else _threaded_sweeps
    while done < most and residual > tolerance:
        on_threads(_restarts, [(lay, blocks, contacts, impulse, x, cuts, part, records) for part in _dealt(count)])
        records.x[:], records.last_x[:] = 0.0, 0.0
        done += run(lay, zeros, units, records, cuts, state, tolerance, target, most - done)
        residual = _finish(lay, blocks, weight, mine, contacts, members, velocity, records.z, impulse, x)
        target *= 0.7
    return residual, done


def _dealt(count: int, parity: int = 0, step: int = 1) -> list[Ints]:
    """Slabs parity, parity + step, ... distributed over the threads."""
    return [part for part in np.array_split(np.arange(parity, count, step), thread_count()) if len(part)]


@kernel
def _packs(lay, blocks, weight, contacts, body, n, cuts, part, records):
    for s in part:
        pack(lay, blocks, weight, contacts, body, n + 2 * s, cuts[s], cuts[s + 1], records)
    return 0.0


@kernel
def _restarts(lay, blocks, contacts, impulse, x, cuts, part, records):
    for s in part:
        restart(lay, blocks, contacts, impulse, x, cuts[s], cuts[s + 1], records)
    return 0.0


def _threaded_sweeps(lay, zeros, units, records, cuts, state, busy, target, most):
    """What `contact_sweeps.sweeps` does, with the slabs of one parity at the same time."""
    count = len(cuts) - 1
    reports = np.zeros((count, 3))
    phases = [
        [(lay, zeros, units, records, cuts, part, state, busy, reports) for part in _dealt(count, parity, 2)]
        for parity in range(2)
    ]
    for done in range(most):
        for pieces in phases:
            on_threads(swept, pieces)
        if advance(records, reports, state, target):
            return done + 1
    return most


@kernel
def relax_alone(lay, zeros, units, blocks, weight, mine, velocity, impulse, x, label, tolerance, most):
    """What `relax` does for an island of one slab, in single precision, in one kernel.

    `label` is scratch, -1 for each body before and after.
    """
    contacts, body, members, cuts = _arranged(blocks.body, mine, label, 1)
    k, n, r, d = len(contacts), len(members), len(lay.rows), len(lay.axes)
    f = np.float32
    records = Records(
        np.empty((k, 2), np.int32),
        np.empty((k, 2, r, d), f),
        np.empty((k, GROUP + 3 * group_count(lay) + r), f),
        np.empty((k, r), f),
        np.empty((k, r), f),
        np.zeros((n + 2, d), f),
        np.zeros((n + 2, d), f),
    )
    pack(lay, blocks, weight, contacts, body, n, 0, k, records)
    done, target, residual = 0, TARGET * tolerance, np.inf
    state = np.array([1.0, 0.0, BOLD, np.inf, 0.0])
    while done < most and residual > tolerance:
        restart(lay, blocks, contacts, impulse, x, 0, k, records)
        records.x[:] = f(0.0)
        records.last_x[:] = f(0.0)
        done += sweeps(lay, zeros, units, records, cuts, state, tolerance, target, most - done)
        residual = _finish(lay, blocks, weight, mine, contacts, members, velocity, records.z, impulse, x)
        target *= 0.7
    return residual, done


@kernel
def _arranged(body, mine, label, wanted):
    """Contacts in the order of the sweep, their bodies within the island, those bodies, and pointers of slabs.

    `label` is scratch, -1 for each body before and after.
    """
    own = np.full((len(mine), 2), -1, np.int64)
    members, count = np.empty(2 * len(mine), np.int64), 0
    for p in range(len(mine)):
        for side in range(2):
            b = body[mine[p], side]
            if b >= 0:
                if label[b] < 0:
                    label[b] = count
                    members[count] = b
                    count += 1
                own[p, side] = label[b]
    for p in range(len(mine)):
        for side in range(2):
            if own[p, side] < 0:
                own[p, side] = count
    for b in members[:count]:
        label[b] = -1
    if wanted > 1 and len(mine) >= THREADED_SWEEPS_CONTACTS:
        order, cuts = slabs(own, count, wanted)
    else:
        order, cuts = np.arange(len(mine)), np.array([0, len(mine)])
    strided = np.empty_like(order)
    for s in range(len(cuts) - 1):
        at = cuts[s]
        for offset in range(STRIDE):
            for p in range(cuts[s] + offset, cuts[s + 1], STRIDE):
                strided[at] = order[p]
                at += 1
    return mine[strided], own[strided], members[:count].copy(), cuts


@kernel
def scale_of(lay, blocks, weight, mine, impulse, x):
    """Order of magnitude of the speeds that impulses cause or have to change."""
    top = 0.0
    u = np.empty(len(lay.rows))
    for i in mine:
        if weight[i, NORMAL] > 0.0:
            speeds_of(lay, blocks, x, i, u)
            top = max(top, abs(impulse[i, 0]) / weight[i, NORMAL], -u[0])
    return top


@kernel
def _finish(lay, blocks, weight, mine, contacts, members, velocity, z, impulse, x):
    """Impulses, velocities and residual of an island in double precision; impulses do no work."""
    for p in range(len(contacts)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in members:
        for c in range(len(lay.axes)):
            x[b, c] = velocity[b, c]
    push_all(lay, blocks, mine, impulse, x)
    residual, work = measure(lay, blocks, weight, mine, impulse, x)
    if without_work(lay, weight, mine, impulse, x, velocity, members, work):
        residual, work = measure(lay, blocks, weight, mine, impulse, x)
    return residual
