"""Frictional contact by Gauss-Seidel sweeps over the contacts of bodies that still move, on the rows as they are.

A visit gives a contact the normal impulse that stops its approach, then the friction impulse that stops its slip within
its bound, both over-relaxed. A contact is visited again only after a body of it has moved. At an impact the law has
already found the normal impulses; friction changes them at few contacts, and to pack an island into records would cost
more than these visits. In a pile at rest all contacts change in every sweep: the methods of `contact.py` start there
from scratch.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, lean
from .contact_island import BOUND, FIXED, GIVEN, MIXED, NORMAL, WEIGHT, projected
from .rows import LOOSE_SUMS

# Over-relaxation with the fewest visits on the vibrated layer, for friction along one fixed direction and else. A
# contact alone needs more visits the larger it is.
OVER_RELAXATION_FIXED, OVER_RELAXATION = 1.3, 1.5
OVER_RELAXED_CHANGE = 2.0  # in tolerances: a larger change is over-relaxed; the last ones are exact for their contact
ROUNDED_BOUND = 1.0 + 1e-13  # times its bound, a friction impulse that was put on it
# With more than one body in SCANNED_PER_BODY moved, all contacts are looked at: the order of memory is faster.
SCANNED_PER_BODY = 8


@kernel
def sweep_front(lay, whole, touching, tolerance, visits):
    """Sweeps in place of the impulses and velocities of all contacts; returns the number of sweeps.

    `touching` are the pointers and contacts of each body (`Rows`). A contact is visited at most `visits` times on
    average. Where the sweeps end before that, no impulse is farther than `tolerance`, a speed, from its projected step.
    """
    m, n = len(whole.z), len(whole.x)
    moved, seen = np.ones(n, np.int64), np.zeros(m, np.int64)
    every, some, bodies = np.arange(m), np.empty(m, np.int64), np.empty(n, np.int64)
    now, left, chosen, sweeps = m + 1, visits * m, every, 0
    while len(chosen) > 0 and left > 0:
        done, active = _sweep(lay, whole, chosen, (moved, seen, bodies), now, tolerance)
        chosen = every
        if SCANNED_PER_BODY * active <= n:
            chosen = some[: _contacts_of(touching, bodies[:active], seen, now + m, some)]
        now += 2 * m
        left -= done
        sweeps += 1
    return sweeps


@lean(fastmath=LOOSE_SUMS, slp=True)
def _sweep(lay, whole, chosen, marks, now, tolerance):
    """One sweep over those of the contacts `chosen` with a body that has moved since they were seen.

    `marks` are the times at which bodies have moved (n,) and contacts were seen (m,), and room for the bodies that the
    sweep moves. Returns the number of visits and of these bodies.
    """
    (moved, seen, bodies), done, active = marks, 0, 0
    for j in range(len(chosen)):
        p = chosen[j]
        still = True
        for side in range(len(lay.sides)):
            b = whole.body[p, side]
            if b >= 0 and moved[b] > seen[p]:
                still = False
        if still:
            continue
        done += 1
        seen[p] = now + j
        if not _visit(lay, whole, p, tolerance):
            continue
        seen[p] -= 1  # its rows may couple, and steps may be too long: it is visited again
        for side in range(len(lay.sides)):
            b = whole.body[p, side]
            if b < 0:
                continue
            if moved[b] < now:
                bodies[active] = b
                active += 1
            moved[b] = now + j
    return done, active


@lean(inline="always")
def _contacts_of(touching, bodies, stamp, limit, out):
    """Writes the contacts of `bodies` to `out`, each once; returns their number. `stamp` (m,) is below `limit`."""
    (pointer, contacts), k = touching, 0
    for b in bodies:
        for e in range(pointer[b], pointer[b + 1]):
            p = contacts[e]
            if stamp[p] < limit:
                out[k] = p
                k += 1
                stamp[p] += limit
    for p in out[:k]:
        stamp[p] -= limit
    return k


@kernel(fastmath=LOOSE_SUMS, inline="always")
def _visit(lay, whole, p, tolerance):
    """Changes the impulses of contact p where they are off by more than the tolerance; returns whether it did.

    All speeds are computed at once, with the effect of the normal impulse on the slip from the products of the rows,
    and what is chosen from them without branches, which would be mispredicted at most contacts.
    """
    z, weight, last = whole.z, whole.weight, len(lay.tangents)
    longer = OVER_RELAXATION_FIXED if whole.projection == FIXED else OVER_RELAXATION
    u, slip, cross = _speeds(lay, whole, p)
    w, old = weight[p, NORMAL], z[p, 0]
    off = abs(max(old - u * w, 0.0) - old)
    step = longer if off > OVER_RELAXED_CHANGE * tolerance * w else (1.0 if off > tolerance * w else 0.0)
    normal = max(old - step * u * w, 0.0) if step > 0.0 else old
    push, acts = normal - old, step > 0.0
    w, bound = weight[p, WEIGHT], weight[p, BOUND] * (normal + weight[p, GIVEN])
    one, two = z[p, 1], z[p, last] if last == 2 else 0.0
    slip, cross = (slip + weight[p, MIXED] * push) * w, (cross + weight[p, MIXED + 1] * push) * w
    new, other = projected(whole.projection, bound, one - slip, two - cross)
    off = (new - one) ** 2 + (other - two) ** 2
    far, other_far = projected(whole.projection, bound, one - longer * slip, two - longer * cross)
    within = projected(whole.projection, ROUNDED_BOUND * bound, one, two) == (one, two)
    if off > (OVER_RELAXED_CHANGE * tolerance * w) ** 2:
        new, other = far, other_far
    if w == 0.0 or (off <= (tolerance * w) ** 2 and within):
        new, other = one, two
    else:
        acts = True
    if acts:
        z[p, 0], z[p, 1] = normal, new
        if last == 2:
            z[p, last] = other
        _push(lay, whole, p, push, new - one, other - two)
    return acts


@kernel(fastmath=LOOSE_SUMS, inline="always")
def _speeds(lay, whole, p):
    """Speeds of contact p along its normal and its tangents; 0 for a tangent that it does not have."""
    i, last = whole.contacts[p], len(lay.tangents)
    u, slip, cross = whole.base[i, 0], whole.base[i, 1], whole.base[i, last] if last == 2 else 0.0
    for side in range(len(lay.sides)):
        b = whole.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                u += whole.val[i, side, 0, c] * whole.x[b, c]
                slip += whole.val[i, side, 1, c] * whole.x[b, c]
                if last == 2:
                    cross += whole.val[i, side, last, c] * whole.x[b, c]
    return u, slip, cross


@kernel(fastmath=LOOSE_SUMS, inline="always")
def _push(lay, whole, p, push, one, two):
    """Applies impulses along the normal and the tangents of contact p."""
    i, last = whole.contacts[p], len(lay.tangents)
    for side in range(len(lay.sides)):
        b = whole.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                change = whole.val[i, side, 0, c] * push + whole.val[i, side, 1, c] * one
                if last == 2:
                    change += whole.val[i, side, last, c] * two
                whole.x[b, c] += change
