"""The box QP of a large island to a given tolerance: over-relaxed Gauss-Seidel sweeps over the contacts that move.

A visit gives a contact the impulse that is exact while all others stay, or OVER_RELAXATION times that change, which can
only lower the energy. A contact is visited again only after a body of it has moved. In a large pile most contacts are
almost at rest, and a sweep costs little more than a look at the time stamps of their bodies. On the vibrated layer this
takes a quarter of the time of a queue of contacts with their neighbors; sweeps in alternating directions take more
visits.

The data of an island are copied side by side in the order of the sweep, with bodies numbered by first use.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel

VISITS = 500  # average number of visits of a contact, at most; exact methods then take as long or less
OVER_RELAXATION = 1.5  # halves the visits in jammed layers of spheres; from 1.7 on they rise again
NEAR = 2.0  # a change of more tolerances than this is over-relaxed; the last ones are exact for their contact
FINEST = 1e-3  # share of the tolerance to which an island is relaxed at most, in steps of a tenth
ROUNDING = 1e-9  # relative error of a residual that equals the tolerance
NARROW, WIDE = 3, 6  # velocity components of a body in the copied data
NO_ENTRY = 1e-24  # squared entries below this share of the squared length of their row move nothing


@kernel
def gathered(rows, contacts, local):
    """The number of bodies, of which the last one is the world, bodies (k, 2) and entries (k, 2, w) of some rows.

    `local` is scratch of one integer per body of `rows`. The number of bodies is 0 if a row touches more than two.
    """
    k, d = len(contacts), rows.val.shape[1]
    for i in contacts:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            local[rows.body[e]] = -1
    pair = np.full((k, 2), -1, np.int32)
    count, wide, many = 0, False, False
    for j in range(k):
        i = contacts[j]
        first, last = rows.ptr[i], rows.ptr[i + 1]
        if last - first > 2:
            many = True
            break
        for e in range(first, last):
            b = rows.body[e]
            if local[b] < 0:
                local[b] = count
                count += 1
            pair[j, e - first] = local[b]
            for t in range(NARROW, d):
                wide = wide or rows.val[e, t] ** 2 > NO_ENTRY * rows.diag[i]
    if many or d > WIDE:
        return 0, pair, np.empty((0, 2, NARROW))
    w = WIDE if wide else NARROW
    entry = np.zeros((k, 2, w))
    for j in range(k):
        first = rows.ptr[contacts[j]]
        for e in range(first, rows.ptr[contacts[j] + 1]):
            for t in range(min(d, w)):
                entry[j, e - first, t] = rows.val[e, t]
        for side in range(2):
            if pair[j, side] < 0:
                pair[j, side] = count
    return count + 1, pair, entry


@kernel
def relaxed_islands(rows, subset, order, ptr, large, c, lo, hi, y, local, tolerance, conserve, missed):
    """Relaxes the islands numbered in `large`; returns the largest residual of those that reach the tolerance.

    `missed` is true in the end for the others. `local` is scratch of one integer per body; islands share no body.
    """
    worst = 0.0
    for s in large:
        mine = order[ptr[s] : ptr[s + 1]]
        k = len(mine)
        contacts = np.empty(k, np.int64)
        given = np.empty((4, k))
        for p in range(k):
            j = mine[p]
            contacts[p] = subset[j]
            given[0, p], given[1, p], given[2, p], given[3, p] = c[j], lo[j], hi[j], y[j]
        aim = 0.5 * tolerance if conserve else tolerance  # the factor of `conserve` adds to the residual
        residual = relax(rows, contacts, given[0], given[1], given[2], given[3], local, aim, VISITS, conserve)
        while conserve and tolerance < residual < np.inf and aim > FINEST * tolerance:
            aim *= 0.1
            residual = relax(rows, contacts, given[0], given[1], given[2], given[3], local, aim, VISITS, conserve)
        for p in range(k):
            y[mine[p]] = given[3, p]
        missed[s] = residual > tolerance * (1.0 + ROUNDING)
        if not missed[s]:
            worst = max(worst, residual)
    return worst


@kernel
def relax(rows, contacts, c, low, high, y, local, tolerance, visits, conserve):
    """Solves the box QP over `contacts` in place of y, starting from its values; returns the residual, a speed.

    c, low, high and y have one entry for each contact. With `conserve` y is multiplied by the factor that makes
    `c^T y + y^T A y` zero, as it is for the exact answer of a cone problem: with c = 2 u the velocity is then reflected
    along `G^T y`, and the energy is conserved for any tolerance. Returns infinity, and leaves y, if a row touches more
    than two bodies.
    """
    bodies, pair, entry = gathered(rows, contacts, local)
    if bodies == 0:
        return np.inf
    k, w = entry.shape[0], entry.shape[2]
    given = np.empty((k, 4))  # c, 1 / A_ii, low, high
    x = np.zeros((bodies, w))
    for j in range(k):
        given[j, 0], given[j, 1], given[j, 2], given[j, 3] = c[j], 1.0 / rows.diag[contacts[j]], low[j], high[j]
        if y[j] != 0.0:
            for side in range(2):
                for t in range(w):
                    x[pair[j, side], t] += entry[j, side, t] * y[j]
    moved, seen = np.ones(bodies, np.int64), np.zeros(k, np.int64)
    now, left, done = k + 1, visits * k, 1
    while done > 0 and left > 0:
        if w == NARROW:
            done = _sweep(pair, entry, given, y, x, moved, seen, now, tolerance, NARROW)
        else:
            done = _sweep(pair, entry, given, y, x, moved, seen, now, tolerance, WIDE)
        now += k
        left -= done
    if done > 0:
        return np.inf
    if conserve:
        _balance(c, y, x)
    worst = 0.0
    for j in range(k):
        change = _speed(pair, entry, x, j, w) + c[j]
        scale = rows.diag[contacts[j]]
        worst = max(worst, abs(min(max(-change, scale * (low[j] - y[j])), scale * (high[j] - y[j]))))
    return worst


@kernel(inline="always")
def _sweep(pair, entry, given, y, x, moved, seen, now, tolerance, w):
    """One sweep over the contacts with a body that has moved since the contact was seen; returns their number."""
    done = 0
    for p in range(len(pair)):
        a, b = pair[p, 0], pair[p, 1]
        if moved[a] <= seen[p] and moved[b] <= seen[p]:
            continue
        done += 1
        u = given[p, 0]
        for t in range(w):
            u += entry[p, 0, t] * x[a, t] + entry[p, 1, t] * x[b, t]
        weight, old = given[p, 1], y[p]
        change = min(max(old - u * weight, given[p, 2]), given[p, 3]) - old
        if abs(change) <= tolerance * weight:
            seen[p] = now + p
            continue
        seen[p] = now + p
        if abs(change) > NEAR * tolerance * weight:
            change = min(max(old - OVER_RELAXATION * u * weight, given[p, 2]), given[p, 3]) - old
            seen[p] -= 1  # this step is too long for the contact itself, which is to be visited again
        y[p] = old + change
        for t in range(w):
            x[a, t] += entry[p, 0, t] * change
            x[b, t] += entry[p, 1, t] * change
        moved[a] = now + p
        moved[b] = now + p
        moved[-1] = 0  # the world
    return done


@kernel
def _balance(c, y, x):
    """Multiplies y, and x = G^T y, by the factor with `c^T y + |x|^2 = 0`."""
    work, square = 0.0, 0.0
    for j in range(len(y)):
        work += c[j] * y[j]
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            square += x[b, t] * x[b, t]
    if work < 0.0 < square:
        for j in range(len(y)):
            y[j] *= -work / square
        for b in range(x.shape[0]):
            for t in range(x.shape[1]):
                x[b, t] *= -work / square


@kernel(inline="always")
def _speed(pair, entry, x, j, w):
    total = 0.0
    for side in range(2):
        for t in range(w):
            total += entry[j, side, t] * x[pair[j, side], t]
    return total
