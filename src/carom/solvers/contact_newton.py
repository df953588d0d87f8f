"""Frictional contact of one island by Newton steps on the velocities of its bodies.

Contacts are mostly redundant, and then impulses are not unique. The law is therefore regularized by a proximal term, a
multiple of the change of the impulses, which vanishes where the iteration ends:

    z = P(c - u / (s k)),   u = G x + base

Impulses are a function of speeds: P projects on `z_0 >= 0` and each group of friction rows on its set (`projected`),
c are the present impulses, k is the change of speed by a unit impulse, and s the strength of the term. The remaining
unknowns are the velocity components of the bodies, `x = v + G^T z(x)`, however many contacts there are; without
friction x is the minimum of a convex function (the augmented Lagrangian). One Newton step factors the sparse matrix
`I + G^T Q G` (`linalg/contact_lu.py`).

Other methods were tried before: Newton steps on the impulses without a line search cycle in one pile of three; a line
search for the smallest residual is worse, and so is friction bounded by the normal impulses of the last iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel, lean
from .contact_island import (
    BOUND,
    CONE,
    FIXED,
    GIVEN,
    NORMAL,
    PYRAMID,
    WEIGHT,
    group_count,
    group_rows,
    measure,
    projected,
    push,
    speeds_of,
)
from .linalg.contact_lu import assemble, eliminate, matrix_room, solve_eliminated
from .rows import FRICTION, Floats

FIRST_PROXIMAL, LEAST_PROXIMAL, MOST_PROXIMAL = 1e-1, 1e-6, 1.0  # strength of the proximal term: first value and bounds
# Nearly opposite contacts, whose normals have the cosine -1 + c, converge at a rate of about 1 - c / LEAST_PROXIMAL:
# after STEADY_SOLVES at the lower bound with a residual of at most STEADY_RESIDUAL tolerances, the bound falls tenfold.
# With larger residuals a weaker term loses answers that are found without it.
STEADY_SOLVES, STEADY_RESIDUAL, SMALLEST_PROXIMAL = 20, 1e6, 1e-12
PROXIMAL_GROWTH = 4.0  # factor of the proximal term after a solve that did not settle
PROXIMAL_SYSTEMS = 12  # bound on the systems for one proximal term
FAILED_SOLVES = 6  # consecutive solves that did not settle, after which the iteration ends
LINE_SEARCH_TRIALS = 8  # bound on the trials of the line search


class Proximal(NamedTuple):
    """The proximal term: its center, impulses (k, r), and its strength."""

    center: Floats
    strength: float


class Room(NamedTuple):
    """Memory of Newton steps for k contacts of n bodies."""

    u: Floats  # (k, r) speeds
    q: Floats  # (k, r, r) slopes
    off: Floats  # (n, d), and the two below
    step: Floats
    start: Floats
    speed: Floats  # (r,) of one contact


@kernel
def newton(lay, island, pattern, tolerance, most):
    """Solves in place of the impulses, from their values, with about `most` systems at most; returns their number.

    The tolerance is a speed.
    """
    z, x, v = island.z, island.x, island.before
    x[:] = v
    push(lay, island, z, x)
    least, systems = measure(lay, island, z, x)[0], 0
    best, center = z.copy(), z.copy()
    strength, failures, floor, steady = FIRST_PROXIMAL, 0, LEAST_PROXIMAL, 0
    matrix, (k, r) = matrix_room(lay.axes, lay.rows, pattern), z.shape
    vectors = np.empty_like(x), np.zeros_like(x), np.empty_like(x)
    room = Room(np.empty((k, r)), np.empty((k, r, r)), *vectors, np.empty(r))
    while least > tolerance and systems < most and failures < FAILED_SOLVES:
        enough = max(0.03 * least, 0.1 * tolerance)
        count, found = _solve_proximal(lay, island, pattern, matrix, Proximal(center, strength), room, enough)
        systems += max(count, 1)  # where no velocity is feasible, impulses grow without a system
        x[:] = v
        push(lay, island, z, x)
        residual = measure(lay, island, z, x)[0]
        if residual < least:
            best[:] = z
            least = residual
        if found:
            failures = 0
            center[:] = z
            # Weaker after easy solves, stronger after hard ones. A faster rule fails in one pile of seven.
            factor = 0.4 if count <= 3 else 0.7 if count <= 5 else 1.0 if count <= 7 else 2.0
            steady = steady + 1 if strength == floor and least <= STEADY_RESIDUAL * tolerance else 0
            if steady > STEADY_SOLVES:
                floor, steady = max(0.1 * floor, SMALLEST_PROXIMAL), 0
            strength = min(max(strength * factor, floor), MOST_PROXIMAL)
        else:
            failures += 1
            steady = 0
            strength = min(strength * PROXIMAL_GROWTH, MOST_PROXIMAL)
            x[:] = v
            push(lay, island, center, x)
    z[:] = best
    return systems


@lean
def _solve_proximal(lay, island, pattern, matrix, term, room, enough):
    """Newton steps for one proximal term, in place of impulses and velocities; returns the systems and whether it
    converged."""
    x, (u, q, off, step, start, speed) = island.x, room
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            step[b, c] = 0.0
    _answer(lay, island, term, u, off)
    count = 0
    # The speeds after z differ from u by those of `off`.
    while _fastest(lay, island, off, speed) > enough:
        if count == PROXIMAL_SYSTEMS:
            return count, False
        _slopes(lay, island, term, u, q)
        assemble(lay.axes, lay.rows, pattern, island.contacts, island.val, q, matrix)
        eliminate(lay.axes, pattern, matrix)
        _copy(lay, off, start)
        solve_eliminated(lay.axes, pattern, matrix, start, step)
        _copy(lay, x, start)
        slope = -_dot(off, step)
        # F(x + t step) . step rises from `slope`, and is zero where the step should end.
        low_t, high_t, at_low, at_high, t = 0.0, 1.0, slope, 0.0, 1.0
        for attempt in range(LINE_SEARCH_TRIALS):
            for b in range(len(x)):
                for c in range(len(lay.axes)):
                    x[b, c] = start[b, c] - t * step[b, c]
            _answer(lay, island, term, u, off)
            now = -_dot(off, step)
            if abs(now) <= 0.1 * abs(slope) or slope >= 0.0 or (attempt == 0 and now < 0.0):
                break
            if now > 0.0:
                high_t, at_high = t, now
            else:
                low_t, at_low = t, now
            t = low_t + (high_t - low_t) * min(max(-at_low / (at_high - at_low), 0.1), 0.9)
        count += 1
    return count, True


@kernel(inline="always")
def _copy(lay, a, out):
    """Writes the velocities a (n, d)."""
    for b in range(len(a)):
        for c in range(len(lay.axes)):
            out[b, c] = a[b, c]


@kernel(inline="always")
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        for c in range(a.shape[1]):
            total += a[i, c] * b[i, c]
    return total


@kernel(inline="always")
def _fastest(lay, island, x, u):
    """Largest |G x|. `u` (r,) is scratch."""
    worst = 0.0
    for p in range(len(island.z)):
        speeds_of(lay, island, x, p, u)
        for s in range(len(lay.rows)):
            worst = max(worst, abs(u[s] - island.base[island.contacts[p], s]))
    return worst


@lean
def _answer(lay, island, term, u, off):
    """Speeds u (k, r) at x, the impulses z(u), and `off = x - v - G^T z` (n, d)."""
    z, x = island.z, island.x
    _copy(lay, island.before, off)
    for p in range(len(z)):
        weight, center = island.weight[p], term.center[p]
        speeds_of(lay, island, x, p, u[p])
        z[p, 0] = max(center[0] - u[p, 0] * weight[NORMAL] / term.strength, 0.0)
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            step, bound = weight[WEIGHT + 3 * g] / term.strength, weight[BOUND + 3 * g] * (z[p, 0] + weight[GIVEN])
            one, two = 0.0, 0.0
            if bound > 0.0:
                one = center[first] - u[p, first] * step
                if last - first == 2:
                    two = center[last - 1] - u[p, last - 1] * step
                one, two = projected(island.projection if g == FRICTION else CONE, bound, one, two)
            z[p, first] = one
            if last - first == 2:
                z[p, last - 1] = two
    push(lay, island, z, off)
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            off[b, c] = x[b, c] - off[b, c]


@kernel(inline="always")
def _slopes(lay, island, term, u, q):
    """`q = -dz/du`, (k, r, r)."""
    for p in range(len(q)):
        for s in range(len(lay.rows)):
            for t in range(len(lay.rows)):
                q[p, s, t] = 0.0
        weight, normal = island.weight[p], island.z[p, 0]
        if normal > 0.0:
            q[p, 0, 0] = weight[NORMAL] / term.strength
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            kind = island.projection if g == FRICTION else CONE
            step, ratio = weight[WEIGHT + 3 * g] / term.strength, weight[BOUND + 3 * g]
            bound = ratio * (normal + weight[GIVEN])
            if bound <= 0.0:
                continue
            size = 0.0
            for s in range(first, last):
                size += (term.center[p, s] - u[p, s] * step) ** 2
            size = np.sqrt(size)
            for s in range(first, last):
                trial = term.center[p, s] - u[p, s] * step
                if kind == CONE and size > bound:  # slips: the normal impulse scales friction, ...
                    q[p, s, 0] = ratio * trial / size * q[p, 0, 0]
                    for t in range(first, last):  # ... and slip across it changes its direction
                        across = trial / size * (term.center[p, t] - u[p, t] * step) / size
                        q[p, s, t] = bound / size * step * ((1.0 if s == t else 0.0) - across)
                elif kind == CONE or (trial <= bound and (trial > 0.0 if kind == FIXED else trial >= -bound)):  # sticks
                    q[p, s, s] = step
                elif trial > 0.0 or kind == PYRAMID:
                    q[p, s, 0] = np.sign(trial) * ratio * q[p, 0, 0]
