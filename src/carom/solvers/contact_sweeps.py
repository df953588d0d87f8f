"""Frictional contact of large islands by Gauss-Seidel sweeps over compact records.

A sweep gives each contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within its bound, then those of rolling and spinning. Between sweeps impulses and velocities are extrapolated along
their last change, by Nesterov's rule with a bound, unless the last change went back; in piles this halves the number of
sweeps. The bound is lowered where sweeps do not make progress.

Sweeps compute a correction: the velocity of the records starts at zero, and they hold the speeds at the start. Single
precision is therefore enough unless the tolerance is tiny, and takes half the memory, which bounds the speed.
Velocities and residual are computed in double precision afterwards.

Tried, for piles of spheres, boxes and discs: nonlinear conjugate gradients around sweeps (Silcowitz-Hansen, Niebe,
Erleben 2010) need half as many sweeps again, and sweeps in alternating directions twice as many. Sweeps over only the
contacts of bodies that still move push the error to their rim: 20 to 60 percent more work. Sweeps around the contacts
that are off pay once these are very few (`_sweep_locally`): in settling boxes the last of some thousand contacts took
most of the sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import kernel, tuple_setitem
from .contact_island import (
    BOUND,
    CONE,
    FIXED,
    GIVEN,
    LENGTH,
    MIXED,
    NORMAL,
    WEIGHT,
    group_count,
    group_rows,
    projected,
    settled,
    speeds_of,
)
from .rows import LOOSE_SUMS

MOST_SWEEPS = 400  # bound on the sweeps over an island
EXACT_SWEEPS = 40  # the same, for a tolerance that single precision does not reach
SINGLE_TOLERANCE = 1e-5  # tolerance, relative to the speeds that impulses cause, from which single precision is enough
VERIFIED_CHANGE = 1.3  # change of a speed in a sweep, as a share of the tolerance, at which the residual is verified
NORMAL_RELAXATION = 0.7  # share of a step of the normal impulses: sweeps with whole steps cycle in some piles of discs
MOST_EXTRAPOLATION = 0.6  # bound on the extrapolation, as a share of the last change
SWEEPS_PATIENCE = 25  # sweeps without fewer contacts that are off, after which the bound on the extrapolation is halved
CONTACTS_PER_CHANGE = 300  # with fewer than one contact in this many that changes, sweeps go around these, ...
NEAR_BY, LOCAL_SWEEPS = 4, 20  # ... if these are fewer than one in NEAR_BY; the second number bounds these sweeps
SINGLE_TINY, SINGLE_ZERO, SINGLE_ONE = np.float32(1e-30), np.float32(0.0), np.float32(1.0)

# Columns of `Records.data`: inverse stiffness and stiffness of the normal, products of normal and tangents, given
# normal impulse; for each group, from GROUP on, inverse stiffness, stiffness times length, and bound; then speeds at
# the start.
INVERSE, STIFF, PRODUCT, ACTING, GROUP = 0, 1, 2, 4, 5
WORST, BUSY, BACK = 0, 1, 2  # columns of the report of a sweep over a slab
PACE, SHARE, LIMIT, LEAST, SINCE = 0, 1, 2, 3, 4  # entries of the state of the acceleration: see `paced`


class Records(NamedTuple):
    """k contacts in the order of the sweep. A body that a contact lacks is a number from n up; its rows are zero."""

    projection: int
    body: Any  # (k, 2) int32
    row: Any  # (k, 2, r, d) float32, like the following
    data: Any  # (k, 5 + 3 groups + r)
    z: Any  # (k, r) impulses
    last: Any  # (k, r) impulses before the last sweep
    x: Any  # (bodies, d) change of velocity
    last_x: Any  # (bodies, d) before the last sweep


@kernel
def records_of(lay, island, cuts):
    """Records for the contacts of an island, with their rows and weights, for slabs that begin at `cuts` (2, s + 1)."""
    k, n, r, d, f = len(island.z), len(island.x), len(lay.rows), len(lay.axes), np.float32
    slabs, width = cuts.shape[1] - 1, GROUP + 3 * group_count(lay) + r
    body, row, data = np.empty((k, 2), np.int32), np.empty((k, 2, r, d), f), np.zeros((k, width), f)
    bodies = n + 2 * slabs
    for slab in range(slabs):
        for p in range(cuts[0, slab], cuts[0, slab + 1]):
            i, weight = island.contacts[p], island.weight[p]
            for side in range(2):
                body[p, side] = island.body[p, side] if island.body[p, side] >= 0 else n + 2 * slab
                for s in range(r):
                    for c in range(d):
                        row[p, side, s, c] = island.val[i, side, s, c]
            data[p, INVERSE], data[p, ACTING] = NORMAL_RELAXATION * weight[NORMAL], weight[GIVEN]
            data[p, STIFF] = 1.0 / (NORMAL_RELAXATION * weight[NORMAL]) if weight[NORMAL] > 0.0 else 0.0
            data[p, PRODUCT], data[p, PRODUCT + 1] = weight[MIXED], weight[MIXED + 1]
            for g in range(group_count(lay)):
                at, w = GROUP + 3 * g, weight[WEIGHT + 3 * g]
                data[p, at], data[p, at + 2] = w, weight[BOUND + 3 * g]
                data[p, at + 1] = weight[LENGTH + 3 * g] / w if w > 0.0 else 0.0
    z, last = np.empty((k, r), f), np.empty((k, r), f)
    return Records(island.projection, body, row, data, z, last, np.zeros((bodies, d), f), np.zeros((bodies, d), f))


@kernel
def start(lay, island, records):
    """Writes the impulses and speeds of an island to its records."""
    r = len(lay.rows)
    at, u = records.data.shape[1] - r, np.empty(r)
    for p in range(len(island.z)):
        speeds_of(lay, island, island.x, p, u)
        for s in range(r):
            records.data[p, at + s] = u[s]
            records.z[p, s] = records.last[p, s] = island.z[p, s]
    records.x[:] = SINGLE_ZERO
    records.last_x[:] = SINGLE_ZERO


@kernel
def accept(lay, island, records):
    """Impulses and velocities of an island from its records, in double precision; returns the residual.

    Friction is put within its bounds, which single precision misses by rounding.
    """
    z, last = island.z, len(lay.tangents)
    for p in range(len(z)):
        for s in range(len(lay.rows)):
            z[p, s] = records.z[p, s]
        bound = island.weight[p, BOUND] * (z[p, 0] + island.weight[p, GIVEN])
        one, two = projected(island.projection, bound, z[p, 1], z[p, last] if last == 2 else 0.0)
        z[p, 1] = one
        if last == 2:
            z[p, last] = two
    return settled(lay, island)


@kernel
def relax(lay, island, cuts, tolerance, most):
    """At most `most` sweeps over an island, in place of its impulses and velocities; returns the residual and sweeps.

    `cuts` (2, slabs + 1) tell where slabs begin in contacts and bodies (`contact_slabs.py`).
    """
    records, state = records_of(lay, island, cuts), first_state()
    done, target, residual = 0, VERIFIED_CHANGE * tolerance, np.inf
    while done < most and residual > tolerance:
        start(lay, island, records)
        done += _sweeps(lay, records, cuts, state, tolerance, target, most - done)
        residual = accept(lay, island, records)
        target *= 0.7
    return residual, done


@kernel
def _sweeps(lay, records, cuts, state, busy, target, most):
    """Sweeps until no speed changes by more than `target`, `most` at most; returns their number.

    Slabs are swept in the order in which threads would sweep them: even ones, then odd ones. Where there is only one,
    and few contacts change by more than `busy`, sweeps go around these.
    """
    k, count = len(records.body), cuts.shape[1] - 1
    reports = np.zeros((count, 3))
    for done in range(most):
        for parity in range(2):
            for s in range(parity, count, 2):
                sweep(lay, records, cuts[0, s], cuts[0, s + 1], state[SHARE], busy, reports[s])
        few = count == 1 and reports[0, WORST] > target and reports[0, BUSY] * CONTACTS_PER_CHANGE <= k
        if few and _sweep_locally(lay, records, state, busy, target):
            continue
        if paced(reports, state, target):
            return done + 1
        extrapolate(records, state[SHARE], 0, len(records.x))
    return most


@kernel
def _sweep_locally(lay, records, state, busy, target):
    """Sweeps over the contacts of the bodies whose contacts the last sweep has changed by more than `busy`.

    Then the acceleration starts again. Returns False, and does nothing, if there are none or many.
    """
    body, z, last, data = records.body, records.z, records.last, records.data
    r, k = z.shape[1], len(body)
    near = np.zeros(len(records.x), np.bool_)
    for p in range(k):
        change = abs(z[p, 0] - last[p, 0]) * data[p, STIFF]
        for s in range(1, 1 + len(lay.tangents)):
            change = max(change, abs(z[p, s] - last[p, s]) * data[p, GROUP + 1])
        if change > busy:
            near[body[p, 0]] = near[body[p, 1]] = True
    near[len(near) - 2 :] = False  # no bodies
    chosen, count = np.empty(k, np.int64), 0
    for p in range(k):
        if near[body[p, 0]] or near[body[p, 1]]:
            chosen[count] = p
            count += 1
    if count == 0 or count * NEAR_BY > k:
        return False
    chosen = chosen[:count]
    row, own_z = records.row[chosen], z[chosen]
    own = Records(records.projection, body[chosen], row, data[chosen], own_z, own_z.copy(), records.x, records.last_x)
    records.last_x[:] = records.x
    mine, reports = first_state(), np.zeros((1, 3))
    for _ in range(min(LOCAL_SWEEPS, k // count)):  # no more work than in one sweep over all
        sweep(lay, own, 0, count, mine[SHARE], busy, reports[0])
        if paced(reports, mine, 0.5 * target):
            break
        extrapolate(own, mine[SHARE], 0, len(records.x))
    for j in range(count):
        for s in range(r):
            z[chosen[j], s] = own.z[j, s]
    last[:] = z
    records.last_x[:] = records.x
    state[PACE], state[SHARE] = 1.0, 0.0
    return True


# ---- acceleration


@kernel
def first_state():
    """State of the acceleration before the first sweep: pace, extrapolation, its bound, fewest busy contacts, since."""
    return np.array([1.0, 0.0, MOST_EXTRAPOLATION, np.inf, 0.0])


@kernel
def paced(reports, state, target):
    """Chooses the next extrapolation from the `reports` (slabs, 3) of a sweep.

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
    elif state[SINCE] >= SWEEPS_PATIENCE:
        state[LIMIT] *= 0.5
        state[LEAST], state[SINCE] = busy, 0.0
    pace = 1.0 if back > 0.0 else state[PACE]
    state[PACE] = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
    state[SHARE] = min((pace - 1.0) / state[PACE], state[LIMIT])
    return False


@kernel
def extrapolate(records, share, first, last):
    """Extrapolates the velocities of bodies first to last by a share of their last change."""
    x, last_x = records.x, records.last_x
    for b in range(first, last):
        for c in range(x.shape[1]):
            now = x[b, c]
            x[b, c] += share * (now - last_x[b, c])
            last_x[b, c] = now


# ---- one sweep


@kernel(inline="always")
def _load(axes, x, b):
    out = axes
    for c in range(len(axes)):
        out = tuple_setitem(out, c, x[b, c])
    return out


@kernel(inline="always")
def _dot(axes, row, p, s, xa, xb, start):
    total = start
    for c in range(len(axes)):
        total += row[p, 0, s, c] * xa[c] + row[p, 1, s, c] * xb[c]
    return total


@kernel(inline="always")
def _plus(axes, row, p, side, s, x, push):
    out = x
    for c in range(len(axes)):
        out = tuple_setitem(out, c, x[c] + row[p, side, s, c] * push)
    return out


@kernel(fastmath=LOOSE_SUMS, slp=True)
def sweep(lay, records, first, last, share, busy, report):
    """One sweep over contacts first to last, extrapolated by a share of the last change.

    Writes the largest change of a speed, the number of contacts that changed by more than `busy`, and the product of
    this change with the last one to `report` (3,).
    """
    r, t, axes = len(lay.rows), len(lay.tangents), lay.axes
    body, row, data, z, before, x = records.body, records.row, records.data, records.z, records.last, records.x
    cone, low = records.projection == CONE, SINGLE_ZERO if records.projection == FIXED else -SINGLE_ONE
    at, ahead, much = data.shape[1] - r, np.float32(share), np.float32(busy)
    worst, back, count = SINGLE_ZERO, 0.0, 0
    for p in range(np.uint64(first), np.uint64(last)):  # an index that may be negative costs a test for each array
        a, b = np.uint64(body[p, 0]), np.uint64(body[p, 1])
        xa, xb = _load(axes, x, a), _load(axes, x, b)
        old = z[p, 0]
        start = old + ahead * (old - before[p, 0])
        lam = max(start - _dot(axes, row, p, 0, xa, xb, data[p, at]) * data[p, INVERSE], SINGLE_ZERO)
        push = lam - start
        change, product = abs(push) * data[p, STIFF], push * (lam - old)
        before[p, 0], z[p, 0] = old, lam
        full = lam + data[p, ACTING]
        if data[p, GROUP + 2] > SINGLE_ZERO:
            bound = data[p, GROUP + 2] * full
            old_s = z[p, 1]
            start_s = old_s + ahead * (old_s - before[p, 1])
            s = _dot(axes, row, p, 1, xa, xb, data[p, at + 1]) + data[p, PRODUCT] * push
            new_s = start_s - s * data[p, GROUP]
            if t == 1:
                new_s = min(max(new_s, low * bound), bound)
            else:
                old_t = z[p, 2]
                start_t = old_t + ahead * (old_t - before[p, 2])
                s = _dot(axes, row, p, 2, xa, xb, data[p, at + 2]) + data[p, PRODUCT + 1] * push
                new_t = start_t - s * data[p, GROUP]
                if cone:
                    part = min(bound / np.sqrt(new_s * new_s + new_t * new_t + SINGLE_TINY), SINGLE_ONE)
                    new_s *= part
                    new_t *= part
                else:
                    new_s, new_t = min(max(new_s, low * bound), bound), min(max(new_t, -bound), bound)
                product += (new_t - start_t) * (new_t - old_t)
                change = max(change, abs(new_t - start_t) * data[p, GROUP + 1])
            product += (new_s - start_s) * (new_s - old_s)
            change = max(change, abs(new_s - start_s) * data[p, GROUP + 1])
            before[p, 1], z[p, 1] = old_s, new_s
            new_s -= start_s
            xa, xb = _plus(axes, row, p, 0, 1, xa, new_s), _plus(axes, row, p, 1, 1, xb, new_s)
            if t == 2:
                before[p, 2], z[p, 2] = old_t, new_t
                new_t -= start_t
                xa, xb = _plus(axes, row, p, 0, 2, xa, new_t), _plus(axes, row, p, 1, 2, xb, new_t)
        xa, xb = _plus(axes, row, p, 0, 0, xa, push), _plus(axes, row, p, 1, 0, xb, push)
        if r > 1 + t:
            for g in range(1, group_count(lay)):  # rolling and spinning
                f, e = group_rows(lay, g)
                e, at_g = e - 1, GROUP + 3 * g
                old_s, old_t = z[p, f], z[p, e]
                start_s = old_s + ahead * (old_s - before[p, f])
                start_t = old_t + ahead * (old_t - before[p, e])
                new_s = start_s - _dot(axes, row, p, f, xa, xb, data[p, at + f]) * data[p, at_g]
                new_t = start_t - _dot(axes, row, p, e, xa, xb, data[p, at + e]) * data[p, at_g]
                square = new_s * new_s + SINGLE_TINY if e == f else new_s * new_s + new_t * new_t + SINGLE_TINY
                part = min(data[p, at_g + 2] * full / np.sqrt(square), SINGLE_ONE)
                push_s, push_t = part * new_s - start_s, part * new_t - start_t
                change = max(change, abs(push_s) * data[p, at_g + 1], abs(push_t) * data[p, at_g + 1])
                before[p, e], z[p, e] = old_t, part * new_t
                before[p, f], z[p, f] = old_s, part * new_s
                xa, xb = _plus(axes, row, p, 0, f, xa, push_s), _plus(axes, row, p, 1, f, xb, push_s)
                if e != f:
                    xa, xb = _plus(axes, row, p, 0, e, xa, push_t), _plus(axes, row, p, 1, e, xb, push_t)
        for c in range(len(axes)):
            x[a, c] = xa[c]
        for c in range(len(axes)):
            x[b, c] = xb[c]
        back -= product
        worst = max(worst, change)
        count += 1 if change > much else 0
    report[WORST], report[BUSY], report[BACK] = worst, count, back
