"""Coulomb's law in 3D for large islands: accelerated Gauss-Seidel sweeps, in slabs for threads.

A sweep gives each contact the normal impulse that stops its approach, then the friction impulse that stops its slip,
within the disk of radius mu times the normal impulse. Where normal and tangential motion do not couple (spheres), that
is the exact answer for one contact. Between sweeps impulses and velocities are extrapolated along their last change, by
Nesterov's rule with a bound, unless the last change went back: in piles this halves the error of 20 sweeps. Sweeps in
alternating directions were tried, and are worse; the order of contacts makes no difference.

Sweeps end before convergence, and then impulses might do work. They are reduced by one factor until they do not; at
convergence the factor is one.

Slabs: bodies are assigned to levels by their distance, in contacts, from a body at one end of the island. A contact
joins bodies of one level or of two consecutive levels. Whole levels make a slab, and a contact belongs to the lower
slab of its bodies: it moves bodies of that slab and the next, so that all even slabs may be swept at the same time,
then all odd ones. The slabs depend on the contacts alone, so that results are bitwise identical for any number of
threads.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..linalg.block_lu import WIDTH
from ..threads import on_threads, thread_count
from ..thresholds import THREADED_SWEEPS_CONTACTS

SPEED, NORMAL, TANGENT, MIXED, FRICTION, PACKED = 36, 39, 40, 41, 43, 44  # offsets in the record of a contact
LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order: faster, and the same result in every run
BOLD = 0.7  # bound on the extrapolation, as a share of the last change
SLABS = 8  # slabs of a large island


def sweeps(rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance, max_sweeps):
    """At most `max_sweeps` sweeps over the contacts `mine`, in place of the impulses; returns (residual, sweeps).

    They end when a sweep changes no speed by more than `tolerance` times the fastest speed before.
    """
    n = len(velocity)
    order, cuts = slabs(
        _pairs(rows, mine, np.array([0, len(mine)]), n), n, SLABS if len(mine) >= THREADED_SWEEPS_CONTACTS else 1
    )
    mine = mine[order]
    pair = _pairs(rows, mine, cuts, n)
    record, z = _packed(rows, tangents, boundary, slip, friction, normal, tangent, mine)
    x = np.zeros((n + 2 * SLABS, WIDTH))
    x[:n, : velocity.shape[1]] = velocity
    before = x.copy()
    top = _fastest(pair, record, x)
    if top == 0.0:
        normal[mine], tangent[mine] = 0.0, 0.0
        return 0.0, 0
    _push(pair, record, z, x)
    phases = [[(pair, record, z, x, cuts, hand) for hand in hands] for hands in _dealt(len(cuts) - 1)]
    count, pace = 0, 1.0
    last_z, last_x, tried = z.copy(), x.copy(), z.copy()
    while count < max_sweeps:
        pace = _go_on(z, last_z, tried, x, last_x, pace)
        change = max(on_threads(_sweep, pieces) for pieces in phases)
        count += 1
        if change <= tolerance * top:
            break
    _no_work(pair, record, z, x, before)
    normal[mine], tangent[mine] = z[:, 0], z[:, 1:]
    return _distance(pair, record, z, x) / top, count


def _dealt(count):
    """Even slabs, then odd ones, distributed over the threads."""
    phases = [np.arange(parity, count, 2) for parity in range(min(count, 2))]
    return [[part for part in np.array_split(phase, thread_count()) if len(part)] for phase in phases]


@kernel
def _pairs(rows, mine, cuts, n):
    """Bodies (k, 2) of the contacts. The world has a number from n up per slab, so that threads share no memory."""
    pair = np.empty((len(mine), 2), np.int32)
    for s in range(len(cuts) - 1):
        for p in range(cuts[s], cuts[s + 1]):
            start = rows.ptr[mine[p]]
            pair[p, 0] = rows.body[start]
            pair[p, 1] = rows.body[start + 1] if rows.ptr[mine[p] + 1] > start + 1 else n + 2 * s
    return pair


@kernel
def _packed(rows, tangents, boundary, slip, friction, normal, tangent, mine):
    """Records (k, PACKED): three rows, speeds, inverse diagonals, coupling, friction; and impulses (k, 3)."""
    k, d = len(mine), rows.val.shape[1]
    record, z = np.zeros((k, PACKED)), np.empty((k, 3))
    for p in range(k):
        i, r = mine[p], record[p]
        e, one, two = rows.ptr[i], tangents.ptr[2 * i], tangents.ptr[2 * i + 1]
        for side in range(rows.ptr[i + 1] - e):
            for c in range(d):
                r[WIDTH * side + c] = rows.val[e + side, c]
                r[12 + WIDTH * side + c] = tangents.val[one + side, c]
                r[24 + WIDTH * side + c] = tangents.val[two + side, c]
        off = 0.0
        for c in range(12):
            r[MIXED] += r[c] * r[12 + c]
            r[MIXED + 1] += r[c] * r[24 + c]
            off += r[12 + c] * r[24 + c]
        r[SPEED], r[SPEED + 1], r[SPEED + 2] = boundary[i], slip[2 * i], slip[2 * i + 1]
        r[NORMAL] = 1.0 / rows.diag[i]
        # A step with the larger eigenvalue of the tangential block never overshoots.
        a, b = tangents.diag[2 * i], tangents.diag[2 * i + 1]
        stiff = 0.5 * (a + b) + np.sqrt(0.25 * (a - b) ** 2 + off * off)
        if stiff > 0.0:
            r[TANGENT], r[FRICTION] = 1.0 / stiff, friction[i]
        z[p, 0], z[p, 1], z[p, 2] = normal[i], tangent[i, 0], tangent[i, 1]
    return record, z


@kernel
def _go_on(z, last_z, tried, x, last_x, pace):
    """Extrapolates z and x by part of their change in the last sweep, which began at `tried`; returns the next pace."""
    back = 0.0
    for p in range(len(z)):
        for s in range(3):
            back += (tried[p, s] - z[p, s]) * (z[p, s] - last_z[p, s])
    pace = 1.0 if back > 0.0 else pace
    following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
    bold = min((pace - 1.0) / following, BOLD)
    for p in range(len(z)):
        for s in range(3):
            now = z[p, s]
            z[p, s] += bold * (now - last_z[p, s])
            last_z[p, s], tried[p, s] = now, z[p, s]
    for b in range(len(x)):
        for c in range(WIDTH):
            now = x[b, c]
            x[b, c] += bold * (now - last_x[b, c])
            last_x[b, c] = now
    return following


@kernel
def _no_work(pair, record, z, x, before):
    """Reduces all impulses by one factor if they do work, `z . u > 0`; u is linear in the factor."""
    work = size = 0.0
    for p in range(len(z)):
        for row in range(3):
            work += z[p, row] * _row_speed(pair, record, x, p, row)
    for b in range(len(x)):
        for c in range(WIDTH):
            size += (x[b, c] - before[b, c]) ** 2
    if work <= 0.0 or size == 0.0:
        return
    factor = max(1.0 - work / size, 0.0)
    for p in range(len(z)):
        for row in range(3):
            z[p, row] *= factor
    for b in range(len(x)):
        for c in range(WIDTH):
            x[b, c] = before[b, c] + factor * (x[b, c] - before[b, c])


@kernel(fastmath=LOOSE)
def _sweep(pair, record, z, x, cuts, hand):
    """One sweep over the contacts of the given slabs; returns the largest change of a speed."""
    worst = 0.0
    for slab in hand:
        worst = max(worst, _slab(pair, record, z, x, cuts[slab], cuts[slab + 1]))
    return worst


@kernel(fastmath=LOOSE)
def _slab(pair, record, z, x, first, last):
    worst = 0.0
    for p in range(first, last):
        a, b = pair[p, 0], pair[p, 1]
        u, s, t = record[p, 36], record[p, 37], record[p, 38]
        for c in range(6):
            u += record[p, c] * x[a, c] + record[p, 6 + c] * x[b, c]
            s += record[p, 12 + c] * x[a, c] + record[p, 18 + c] * x[b, c]
            t += record[p, 24 + c] * x[a, c] + record[p, 30 + c] * x[b, c]
        weight, weight_t = record[p, 39], record[p, 40]
        lam = max(z[p, 0] - u * weight, 0.0)
        push = lam - z[p, 0]
        one = z[p, 1] - (s + record[p, 41] * push) * weight_t
        two = z[p, 2] - (t + record[p, 42] * push) * weight_t
        bound, square = record[p, 43] * lam, one * one + two * two
        if square > bound * bound:
            share = bound / np.sqrt(square)
            one *= share
            two *= share
        push_s, push_t = one - z[p, 1], two - z[p, 2]
        worst = max(worst, abs(push) / weight)
        if weight_t > 0.0:
            worst = max(worst, max(abs(push_s), abs(push_t)) / weight_t)
        z[p, 0], z[p, 1], z[p, 2] = lam, one, two
        for c in range(6):
            x[a, c] += record[p, c] * push + record[p, 12 + c] * push_s + record[p, 24 + c] * push_t
            x[b, c] += record[p, 6 + c] * push + record[p, 18 + c] * push_s + record[p, 30 + c] * push_t
    return worst


@kernel
def _push(pair, record, z, x):
    """`x += G^T z`."""
    for p in range(len(z)):
        for side in range(2):
            b = pair[p, side]
            for c in range(WIDTH):
                e = WIDTH * side + c
                x[b, c] += record[p, e] * z[p, 0] + record[p, 12 + e] * z[p, 1] + record[p, 24 + e] * z[p, 2]


@kernel
def _row_speed(pair, record, x, p, row):
    total = record[p, SPEED + row]
    for side in range(2):
        for c in range(WIDTH):
            total += record[p, 12 * row + WIDTH * side + c] * x[pair[p, side], c]
    return total


@kernel
def _fastest(pair, record, x):
    top = 0.0
    for p in range(len(pair)):
        for row in range(3):
            top = max(top, abs(_row_speed(pair, record, x, p, row)))
    return top


@kernel
def _distance(pair, record, z, x):
    """Largest distance of z to its projected step, as a speed: what `contact_blocks.distance` measures."""
    worst = 0.0
    for p in range(len(pair)):
        u = _row_speed(pair, record, x, p, 0)
        worst = max(worst, abs(min(u, z[p, 0] / record[p, NORMAL])))
        weight, bound = record[p, TANGENT], record[p, FRICTION] * z[p, 0]
        if weight > 0.0:
            one = z[p, 1] - _row_speed(pair, record, x, p, 1) * weight
            two = z[p, 2] - _row_speed(pair, record, x, p, 2) * weight
            size = np.sqrt(one * one + two * two)
            share = bound / size if size > bound else 1.0
            worst = max(worst, np.sqrt((z[p, 1] - share * one) ** 2 + (z[p, 2] - share * two) ** 2) / weight)
    return worst


@kernel
def slabs(pair, bodies, wanted):
    """Order of contacts by slab, and slab pointers, for at most `wanted` slabs of a connected island.

    `pair` (k, 2) are the bodies of the contacts; the world is number `bodies`.
    """
    k = len(pair)
    ptr, touch = _touching(pair, bodies)
    level, queue = np.full(bodies, -1, np.int64), np.empty(bodies, np.int64)
    start = pair[0, 0] if pair[0, 0] < bodies else pair[0, 1]
    count = _levels(pair, ptr, touch, bodies, start, level, queue)
    count = _levels(pair, ptr, touch, bodies, queue[count - 1], level, queue)
    depth = level[queue[count - 1]] + 1
    first, share = np.empty(k, np.int64), np.zeros(depth, np.int64)
    for p in range(k):
        a, b = pair[p, 0], pair[p, 1]
        first[p] = min(level[a] if a < bodies else depth, level[b] if b < bodies else depth)
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
def _touching(pair, bodies):
    """Contacts of each body: pointers and contacts."""
    ptr = np.zeros(bodies + 1, np.int64)
    for p in range(len(pair)):
        for side in range(2):
            if pair[p, side] < bodies:
                ptr[pair[p, side] + 1] += 1
    for b in range(bodies):
        ptr[b + 1] += ptr[b]
    fill, touch = ptr.copy(), np.empty(ptr[bodies], np.int64)
    for p in range(len(pair)):
        for side in range(2):
            b = pair[p, side]
            if b < bodies:
                touch[fill[b]] = p
                fill[b] += 1
    return ptr, touch


@kernel
def _levels(pair, ptr, touch, bodies, start, level, queue):
    """Writes distances from `start` to `level` and bodies in that order to `queue`; returns their number."""
    for b in range(bodies):
        level[b] = -1
    level[start] = 0
    queue[0] = start
    head, count = 0, 1
    while head < count:
        b = queue[head]
        head += 1
        for e in range(ptr[b], ptr[b + 1]):
            for side in range(2):
                other = pair[touch[e], side]
                if other < bodies and level[other] < 0:
                    level[other] = level[b] + 1
                    queue[count] = other
                    count += 1
    return count
