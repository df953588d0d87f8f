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
from .contact_island import BOUND, FIXED, GIVEN, LOOSE, NORMAL, WEIGHT, projected

# Over-relaxation with the fewest visits on the vibrated layer, for friction along one fixed direction and else. A
# contact alone needs more visits the larger it is.
OVER_RELAXATION_FIXED, OVER_RELAXATION = 1.3, 1.5
NEAR = 2.0  # a change of more tolerances than this is over-relaxed; the last ones are exact for their contact
ROUNDED = 1.0 + 1e-13  # times its bound, a friction impulse that was put on it
SCAN = 8  # with more than one body in SCAN moved, all contacts are looked at: the order of memory is faster


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
        chosen = every if SCAN * active > n else some[: _contacts_of(touching, bodies[:active], seen, now + m, some)]
        now += 2 * m
        left -= done
        sweeps += 1
    return sweeps


@lean(fastmath=LOOSE, slp=True)
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


@lean
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


@kernel(fastmath=LOOSE, inline="always")
def _visit(lay, whole, p, tolerance):
    """Changes the impulses of contact p where they are off by more than the tolerance; returns whether it did."""
    z, weight = whole.z, whole.weight
    acts, w = False, weight[p, NORMAL]
    longer = OVER_RELAXATION_FIXED if whole.projection == FIXED else OVER_RELAXATION
    if w > 0.0:
        u, old = _speed(lay, whole, p, 0), z[p, 0]
        off = abs(max(old - u * w, 0.0) - old)
        if off > tolerance * w:
            z[p, 0] = max(old - (longer if off > NEAR * tolerance * w else 1.0) * u * w, 0.0)
            _push(lay, whole, p, 0, z[p, 0] - old)
            acts = True
    w, bound = weight[p, WEIGHT], weight[p, BOUND] * (z[p, 0] + weight[p, GIVEN])
    last = len(lay.tangents)
    if w == 0.0 or (bound == 0.0 and z[p, 1] == 0.0 and z[p, last] == 0.0):
        return acts
    one, two = z[p, 1], z[p, last] if last == 2 else 0.0
    slip, cross = _speed(lay, whole, p, 1) * w, _speed(lay, whole, p, last) * w if last == 2 else 0.0
    new, other = projected(whole.projection, bound, one - slip, two - cross)
    off = (new - one) ** 2 + (other - two) ** 2
    if off <= (tolerance * w) ** 2 and projected(whole.projection, ROUNDED * bound, one, two) == (one, two):
        return acts
    if off > (NEAR * tolerance * w) ** 2:
        new, other = projected(whole.projection, bound, one - longer * slip, two - longer * cross)
    z[p, 1] = new
    _push(lay, whole, p, 1, new - one)
    if last == 2:
        z[p, last] = other
        _push(lay, whole, p, last, other - two)
    return True


@kernel(fastmath=LOOSE, inline="always")
def _speed(lay, whole, p, s):
    """Speed of contact p along its row s."""
    i = whole.contacts[p]
    total = whole.base[i, s]
    for side in range(len(lay.sides)):
        b = whole.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                total += whole.val[i, side, s, c] * whole.x[b, c]
    return total


@kernel(fastmath=LOOSE, inline="always")
def _push(lay, whole, p, s, impulse):
    """Applies an impulse along row s of contact p."""
    i = whole.contacts[p]
    for side in range(len(lay.sides)):
        b = whole.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                whole.x[b, c] += whole.val[i, side, s, c] * impulse
