"""Frictional contact of large islands by Gauss-Seidel sweeps over compact records.

A sweep gives each contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within the disk of radius mu times the normal impulse, then those of rolling and spinning. Between sweeps impulses and
velocities are extrapolated along their last change, by Nesterov's rule with a bound, unless the last change went back;
in piles this halves the number of sweeps. The bound is lowered where sweeps do not get ahead.

Tried, for piles of spheres, boxes and discs: nonlinear conjugate gradients around sweeps (Silcowitz-Hansen, Niebe,
Erleben 2010) need half as many sweeps again, and sweeps in alternating directions twice as many. Sweeps over only the
contacts of bodies that still move push the error to their rim: 20 to 60 percent more visits. Sweeps around the contacts
that are off pay once these are very few (`_local`): in settling boxes the last of some thousand contacts took most of
the sweeps.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, tuple_setitem
from .contact_pack import LOOSE, group_count
from .contact_records import GROUP, INVERSE, PRODUCT, STIFF, Records, arranged, finish, pack, restart
from .rows import Floats

TARGET = 1.3  # change of a speed in a sweep, as a share of the tolerance, at which the residual is verified
BOLD = 0.6  # bound on the extrapolation, as a share of the last change
FEW = 300  # with fewer than one contact in FEW that changes, sweeps go over the contacts around these, ...
NEAR_BY, LOCAL_SWEEPS = 4, 20  # ... if these are fewer than one in NEAR_BY; the second number bounds these sweeps
PATIENCE = 25  # sweeps without fewer contacts that are off, after which the bound on the extrapolation is halved

WORST, BUSY, BACK = 0, 1, 2  # columns of the report of a slab
PACE, BOLDNESS, LIMIT, LEAST, SINCE = 0, 1, 2, 3, 4  # entries of the state of the acceleration: see `advance`


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
    """State of the acceleration before the first sweep: pace, extrapolation, its bound, fewest busy contacts, since."""
    return np.array([1.0, 0.0, BOLD, np.inf, 0.0])


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
    elif state[SINCE] >= PATIENCE:
        state[LIMIT] *= 0.5
        state[LEAST], state[SINCE] = busy, 0.0
    pace = 1.0 if back > 0.0 else state[PACE]
    state[PACE] = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
    state[BOLDNESS] = min((pace - 1.0) / state[PACE], state[LIMIT])
    return False


@kernel
def extrapolate(records, bold, first, last):
    """Extrapolates the velocities of bodies first to last by `bold` times their last change."""
    x, last_x = records.x, records.last_x
    for b in range(first, last):
        for c in range(x.shape[1]):
            now = x[b, c]
            x[b, c] += bold * (now - last_x[b, c])
            last_x[b, c] = now


@kernel
def advance(records, reports, state, target):
    """`paced`, and `extrapolate` for all bodies; True if no speed changed by more than `target`."""
    if paced(reports, state, target):
        return True
    extrapolate(records, state[BOLDNESS], 0, len(records.x))
    return False


@kernel
def _sweeps_alone(lay, zeros, units, records, state, busy, target, most):
    """Sweeps until no speed changes by more than `target`, around the contacts that change where these are few.

    There are `most` at most; returns their number.
    """
    reports, k = np.zeros((1, 3)), len(records.body)
    for done in range(most):
        sweep(lay, zeros, units, records, 0, k, state[BOLDNESS], busy, reports[0])
        if reports[0, WORST] <= target:
            return done + 1
        if reports[0, BUSY] * FEW > k or not _local(lay, zeros, units, records, state, busy, target):
            advance(records, reports, state, target)
    return most


@kernel
def _local(lay, zeros, units, records, state, busy, target):
    """Sweeps over the contacts of the bodies whose contacts the last sweep has changed by more than `busy`.

    Then the acceleration starts again. Returns False, and does nothing, if there are none or many.
    """
    body, z, last, data = records.body, records.z, records.last, records.data
    r, k = z.shape[1], len(body)
    near = np.zeros(len(records.x), np.bool_)
    for p in range(k):
        change = abs(z[p, 0] - last[p, 0]) * data[p, STIFF]
        for s in range(1, min(r, 1 + len(lay.tangents))):
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
    own = Records(body[chosen], records.row[chosen], data[chosen], z[chosen], z[chosen], records.x, records.last_x)
    records.last_x[:] = records.x
    mine, reports = np.array([1.0, 0.0, BOLD, np.inf, 0.0]), np.zeros((1, 3))
    for _ in range(min(LOCAL_SWEEPS, k // count)):  # no more visits than in one sweep over all
        sweep(lay, zeros, units, own, 0, count, mine[BOLDNESS], busy, reports[0])
        if advance(own, reports, mine, 0.5 * target):
            break
    for j in range(count):
        for s in range(r):
            z[chosen[j], s] = own.z[j, s]
    last[:] = z
    records.last_x[:] = records.x
    state[PACE], state[BOLDNESS] = 1.0, 0.0
    return True


@kernel
def relax_alone(lay, zeros, units, blocks, weight, mine, velocity, impulse, x, label, tolerance, most):
    """What `contact_slabs.relax` does for an island of one slab, in single precision, in one kernel.

    `label` is scratch, -1 for each body before and after.
    """
    contacts, body, members, _ = arranged(blocks.body, mine, label, 1)
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
        done += _sweeps_alone(lay, zeros, units, records, state, tolerance, target, most - done)
        residual = finish(lay, blocks, weight, mine, contacts, members, velocity, records.z, impulse, x)
        target *= 0.7
    return residual, done
