"""The cone problem of a large island to a given tolerance: over-relaxed Gauss-Seidel sweeps over moving contacts.

An update gives a contact the impulse that is exact while all others stay, or OVER_RELAXATION times that change, which
can only lower the energy. A contact is updated again only after a body of it has moved. In a large pile most contacts
are almost at rest, and a sweep costs little more than a look at the time stamps of their bodies. On the vibrated layer
this takes a quarter of the time of a queue of contacts with their neighbors; sweeps in alternating directions take more
updates.

The data of an island are copied side by side in the order of the sweep, with bodies numbered by first use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ..rows import Floats

MOST_UPDATES = 500  # average number of updates of a contact, at most; exact methods then take as long or less
OVER_RELAXATION = 1.5  # halves the updates in jammed layers of spheres; from 1.7 on they rise again
OVER_RELAXED_CHANGE = 2.0  # in tolerances: a larger change is over-relaxed; the last ones are exact for their contact
FINEST_SHARE = 1e-3  # share of the tolerance to which an island is relaxed at most, in steps of a tenth
RESIDUAL_ROUNDING = 1e-9  # relative error of a residual that equals the tolerance
NARROW_BODY, WIDE_BODY = 3, 6  # velocity components of a body in the copied data
NO_ENTRY = 1e-24  # squared entries below this share of the squared length of their row move nothing


class Gathered(NamedTuple):
    """The normal rows of k contacts in the order of the sweep, of w = NARROW_BODY or WIDE_BODY components a body."""

    pair: NDArray[np.int32]  # (k, 2) bodies, numbered by first use; the last number is the world
    entry: Floats  # (k, 2, w)
    given: Floats  # (k, 2) c, 1 / A_ii


@kernel
def gathered(rows, contacts, local):
    """The number of bodies, of which the last one is the world, bodies (k, 2) and entries (k, 2, w) of some rows.

    `local` is scratch of one integer per body of `rows`. The number of bodies is 0 if a row touches more than two.
    """
    k, d = len(contacts), rows.val.shape[3]
    pair = np.full((k, 2), -1, np.int32)
    if rows.body.shape[1] > 2 or d > WIDE_BODY:
        return 0, pair, np.empty((0, 2, NARROW_BODY))
    for i in contacts:
        for side in range(2):
            if rows.body[i, side] >= 0:
                local[rows.body[i, side]] = -1
    count, wide = 0, False
    for j in range(k):
        i, e = contacts[j], 0
        for side in range(2):
            b = rows.body[i, side]
            if b < 0:
                continue
            if local[b] < 0:
                local[b] = count
                count += 1
            pair[j, e] = local[b]
            e += 1
            for c in range(NARROW_BODY, d):
                wide = wide or rows.val[i, side, 0, c] ** 2 > NO_ENTRY * rows.diag[i]
    w = WIDE_BODY if wide else NARROW_BODY
    entry = np.zeros((k, 2, w))
    for j in range(k):
        e = 0
        for side in range(2):
            if rows.body[contacts[j], side] >= 0:
                for c in range(min(d, w)):
                    entry[j, e, c] = rows.val[contacts[j], side, 0, c]
                e += 1
        for side in range(e, 2):
            pair[j, side] = count
    return count + 1, pair, entry


@kernel
def relaxed_islands(rows, found, large, problem, local, tolerance, conserve, missed):
    """Relaxes the islands numbered in `large`; returns the largest residual of those that reach the tolerance.

    `missed` is true in the end for the others. `local` is scratch of one integer per body; islands share no body.
    """
    worst = 0.0
    for s in large:
        mine = found.order[found.ptr[s] : found.ptr[s + 1]]
        k = len(mine)
        contacts = np.empty(k, np.int64)
        given = np.empty((2, k))
        for p in range(k):
            j = mine[p]
            contacts[p] = found.chosen[j]
            given[0, p], given[1, p] = problem.c[j], problem.y[j]
        aim = 0.5 * tolerance if conserve else tolerance  # the factor of `conserve` adds to the residual
        residual = relax(rows, contacts, given, local, aim, MOST_UPDATES, conserve)
        while conserve and tolerance < residual < np.inf and aim > FINEST_SHARE * tolerance:
            aim *= 0.1
            residual = relax(rows, contacts, given, local, aim, MOST_UPDATES, conserve)
        for p in range(k):
            problem.y[mine[p]] = given[1, p]
        missed[s] = residual > tolerance * (1.0 + RESIDUAL_ROUNDING)
        if not missed[s]:
            worst = max(worst, residual)
    return worst


@kernel
def relax(rows, contacts, problem, local, tolerance, updates, conserve):
    """Solves the cone problem over k contacts, starting from the values of y; returns the residual, a speed.

    `problem` (2, k) holds the rows c and y; y is overwritten. With `conserve` y is multiplied by the factor that makes
    `c^T y + y^T A y` zero, as it is for the exact answer: with c = 2 u the velocity is then reflected along `G^T y`,
    and the energy is conserved for any tolerance. Returns infinity, and leaves y, if a row touches more than two
    bodies.
    """
    c, y = problem[0], problem[1]
    bodies, pair, entry = gathered(rows, contacts, local)
    if bodies == 0:
        return np.inf
    k, w = entry.shape[0], entry.shape[2]
    data = Gathered(pair, entry, np.empty((k, 2)))
    given, x = data.given, np.zeros((bodies, w))
    for j in range(k):
        given[j, 0], given[j, 1] = c[j], 1.0 / rows.diag[contacts[j]]
        if y[j] != 0.0:
            for side in range(2):
                for t in range(w):
                    x[pair[j, side], t] += entry[j, side, t] * y[j]
    moved, seen = np.ones(bodies, np.int64), np.zeros(k, np.int64)
    now, left, done = k + 1, updates * k, 1
    while done > 0 and left > 0:
        if w == NARROW_BODY:
            done = _sweep(data, y, x, moved, seen, now, tolerance, NARROW_BODY)
        else:
            done = _sweep(data, y, x, moved, seen, now, tolerance, WIDE_BODY)
        now += k
        left -= done
    if done > 0:
        return np.inf
    if conserve:
        _balance(c, y, x)
    worst = 0.0
    for j in range(k):
        change = _speed(pair, entry, x, j, w) + c[j]
        worst = max(worst, abs(min(change, rows.diag[contacts[j]] * y[j])))
    return worst


@kernel(inline="always")
def _sweep(data, y, x, moved, seen, now, tolerance, w):
    """One sweep over the contacts with a body that has moved since the contact was seen; returns their number."""
    pair, entry, given = data.pair, data.entry, data.given
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
        change = max(old - u * weight, 0.0) - old
        if abs(change) <= tolerance * weight:
            seen[p] = now + p
            continue
        seen[p] = now + p
        if abs(change) > OVER_RELAXED_CHANGE * tolerance * weight:
            change = max(old - OVER_RELAXATION * u * weight, 0.0) - old
            seen[p] -= 1  # this step is too long for the contact itself, which is to be visited again
        y[p] = old + change
        for t in range(w):
            x[a, t] += entry[p, 0, t] * change
            x[b, t] += entry[p, 1, t] * change
        moved[a] = now + p
        moved[b] = now + p
        moved[-1] = 0  # the world
    return done


@kernel(inline="always")
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
