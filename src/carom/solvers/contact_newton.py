"""Frictional contact of one island by Newton steps on the velocities of its bodies.

Contacts are mostly redundant, and then impulses are not unique. The law is therefore regularized by a proximal term, a
multiple of the change of the impulses, which vanishes where the iteration ends:

    z = P(c - u / (s k)),   u = G x + base

Impulses are a function of speeds: P projects on `z_0 >= 0` and each group of friction rows on the disk of radius b z_0,
c are the present impulses, k is the change of speed by a unit impulse, and s the strength of the term. The remaining
unknowns are the velocity components of the bodies, `x = v + G^T z(x)`, however many contacts there are; without
friction x is the minimum of a convex function (the augmented Lagrangian). One Newton step factors the sparse matrix
`I + G^T Q G` (`linalg/contact_lu.py`).

Other methods were tried before: Newton steps on the impulses without a line search cycle in one pile of three; a line
search for the smallest residual is worse, and so is friction bounded by the normal impulses of the last iteration.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .contact_pack import (
    BOUND,
    NORMAL,
    WEIGHT,
    Packed,
    group_count,
    group_rows,
    push_all,
    residual_of,
    row_speed,
)
from .linalg.contact_lu import assemble, eliminate, matrix_room, solve_eliminated

FIRST, LEAST, MOST = 1e-1, 1e-6, 1.0  # proximal term: first value and bounds
UP = 4.0  # factor of the proximal term after a solve that did not settle
ROUND = 12  # bound on the systems for one proximal term
FAILURES = 6  # consecutive solves that did not settle, after which the iteration ends
ALONG = 8  # bound on the trials of the line search


@kernel
def island_of(packed, first, last, velocity, label):
    """Contacts first to last with their bodies numbered from 0, those bodies (n,), and their velocity (n + 1, d).

    `label` is scratch, -1 for each body before and after.
    """
    body = packed.body[first:last].copy()
    members, count = np.empty(body.size, np.int64), 0
    none = len(label)
    for p in range(len(body)):
        for side in range(body.shape[1]):
            b = body[p, side]
            if b < none:
                if label[b] < 0:
                    label[b] = count
                    members[count] = b
                    count += 1
                body[p, side] = label[b]
            else:
                body[p, side] = -1
    v = np.zeros((count + 1, velocity.shape[1]))
    for b in range(count):
        label[members[b]] = -1
        for c in range(velocity.shape[1]):
            v[b, c] = velocity[members[b], c]
    for p in range(len(body)):
        for side in range(body.shape[1]):
            if body[p, side] < 0:
                body[p, side] = count
    return Packed(body, packed.row[first:last], packed.base[first:last], packed.local[first:last]), members[:count], v


@kernel
def newton(lay, island, pattern, v, z, tolerance, most):
    """Solves in place of z (k, r), from its values, with at most about `most` systems; returns (residual, systems).

    v (n + 1, d) is the velocity before the impulses; the tolerance and the residual are speeds.
    """
    k = len(z)
    x = v.copy()
    push_all(lay, island, z, x, 0, k)
    least, systems = residual_of(lay, island, z, x, 0, k), 0
    best, center = z.copy(), z.copy()
    shift, failures = FIRST, 0
    matrix = matrix_room(lay.axes, pattern)
    while least > tolerance and systems < most and failures < FAILURES:
        enough = max(0.03 * least, 0.1 * tolerance)
        count, settled = _settle(lay, island, pattern, matrix, v, center, shift, z, x, enough)
        systems += count
        x[:] = v
        push_all(lay, island, z, x, 0, k)
        residual = residual_of(lay, island, z, x, 0, k)
        if residual < least:
            best[:] = z
            least = residual
        if settled:
            failures = 0
            center[:] = z
            # Weaker after easy solves, stronger after hard ones. A bolder rule fails in one pile of seven.
            factor = 0.4 if count <= 3 else 0.7 if count <= 5 else 1.0 if count <= 7 else 2.0
            shift = min(max(shift * factor, LEAST), MOST)
        else:
            failures += 1
            shift = min(shift * UP, MOST)
            x[:] = v
            push_all(lay, island, center, x, 0, k)
    z[:] = best
    return least, systems


@kernel
def _settle(lay, island, pattern, matrix, v, center, shift, z, x, enough):
    """Newton steps for one proximal term, in place of x and z; returns the systems and whether it settled."""
    k, n, r = len(z), len(v) - 1, z.shape[1]
    u, off, step, start = np.empty((k, r)), np.empty_like(v), np.zeros_like(v), np.empty_like(v)
    q = np.empty((k, r, r))
    _answer(lay, island, v, center, shift, x, u, z, off)
    count = 0
    # The speeds after z differ from u by those of `off`.
    while _fastest(lay, island, off) > enough:
        if count == ROUND:
            return count, False
        _slopes(lay, island, center, shift, u, z, q)
        assemble(lay.axes, lay.rows, pattern, island.body, island.row, q, matrix)
        eliminate(lay.axes, pattern, matrix)
        start[:] = off
        solve_eliminated(lay.axes, pattern, matrix, start, step)
        start[:] = x
        slope = -_dot(off, step)
        # F(x + t step) . step rises from `slope`, and is zero where the step should end.
        low_t, high_t, at_low, at_high, t = 0.0, 1.0, slope, 0.0, 1.0
        for attempt in range(ALONG):
            for b in range(n):
                for c in range(len(lay.axes)):
                    x[b, c] = start[b, c] - t * step[b, c]
            _answer(lay, island, v, center, shift, x, u, z, off)
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


@kernel
def _dot(a, b):
    total = 0.0
    for i in range(len(a) - 1):
        for c in range(a.shape[1]):
            total += a[i, c] * b[i, c]
    return total


@kernel
def _fastest(lay, island, x):
    """Largest |G x|."""
    worst = 0.0
    for p in range(len(island.body)):
        for s in range(len(lay.rows)):
            worst = max(worst, abs(row_speed(lay, island, x, p, s) - island.base[p, s]))
    return worst


@kernel
def _answer(lay, island, v, center, shift, x, u, z, off):
    """Speeds u at x, the impulses z(u), and `off = x - v - G^T z`."""
    off[:] = v
    for p in range(len(z)):
        local = island.local[p]
        for s in range(len(lay.rows)):
            u[p, s] = row_speed(lay, island, x, p, s)
        z[p, 0] = max(center[p, 0] - u[p, 0] * local[NORMAL] / shift, 0.0)
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            weight, bound = local[WEIGHT + 2 * g] / shift, local[BOUND + 2 * g] * z[p, 0]
            size = 0.0
            for s in range(first, last):
                z[p, s] = center[p, s] - u[p, s] * weight if bound > 0.0 else 0.0
                size += z[p, s] * z[p, s]
            if size > bound * bound:
                for s in range(first, last):
                    z[p, s] *= bound / np.sqrt(size)
    push_all(lay, island, z, off, 0, len(z))
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            off[b, c] = x[b, c] - off[b, c]


@kernel
def _slopes(lay, island, center, shift, u, z, q):
    """`q = -dz/du`, (k, r, r)."""
    q[:] = 0.0
    for p in range(len(z)):
        if z[p, 0] <= 0.0:
            continue
        local = island.local[p]
        q[p, 0, 0] = local[NORMAL] / shift
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            weight, ratio = local[WEIGHT + 2 * g] / shift, local[BOUND + 2 * g]
            bound = ratio * z[p, 0]
            if bound <= 0.0:
                continue
            size = 0.0
            for s in range(first, last):
                size += (center[p, s] - u[p, s] * weight) ** 2
            size = np.sqrt(size)
            for s in range(first, last):
                if size <= bound:  # sticks
                    q[p, s, s] = weight
                    continue
                # Slips: the normal impulse scales friction, and slip across it changes its direction.
                a = (center[p, s] - u[p, s] * weight) / size
                q[p, s, 0] = ratio * a * q[p, 0, 0]
                for t in range(first, last):
                    b = (center[p, t] - u[p, t] * weight) / size
                    q[p, s, t] = bound / size * weight * ((1.0 if s == t else 0.0) - a * b)
