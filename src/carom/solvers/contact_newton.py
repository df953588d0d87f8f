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
from .blocks import Blocks
from .contact_pack import BOUND, NORMAL, WEIGHT, group_count, group_rows, measure, push_all, speeds_of
from .linalg.contact_lu import assemble, eliminate, matrix_room, solve_eliminated

FIRST, LEAST, MOST = 1e-1, 1e-6, 1.0  # proximal term: first value and bounds
UP = 4.0  # factor of the proximal term after a solve that did not settle
ROUND = 12  # bound on the systems for one proximal term
FAILURES = 6  # consecutive solves that did not settle, after which the iteration ends
ALONG = 8  # bound on the trials of the line search


@kernel
def island_of(lay, blocks, weight, contacts, velocity, impulse, label):
    """The blocks of `contacts` with bodies numbered from 0; their weights, bodies, velocity (n, d), impulses (k, r).

    `label` is scratch, -1 for each body before and after.
    """
    k, w, r, d = len(contacts), len(lay.sides), len(lay.rows), len(lay.axes)
    body, members, count = np.full((k, w), -1, np.int64), np.empty(w * k, np.int64), 0
    val, base = np.empty((k, w, r, d)), np.empty((k, r))
    own, z = np.empty((k, weight.shape[1])), np.empty((k, r))
    for p in range(k):
        i = contacts[p]
        for side in range(w):
            b = blocks.body[i, side]
            if b >= 0:
                if label[b] < 0:
                    label[b] = count
                    members[count] = b
                    count += 1
                body[p, side] = label[b]
            for s in range(r):
                for c in range(d):
                    val[p, side, s, c] = blocks.val[i, side, s, c]
        for s in range(r):
            base[p, s], z[p, s] = blocks.base[i, s], impulse[i, s]
        for c in range(weight.shape[1]):
            own[p, c] = weight[i, c]
    v = np.empty((count, d))
    for b in range(count):
        label[members[b]] = -1
        for c in range(d):
            v[b, c] = velocity[members[b], c]
    return Blocks(body, val, base, blocks.bound, blocks.tangents), own, members[:count], v, z


@kernel
def newton(lay, island, weight, pattern, v, z, tolerance, most):
    """Solves in place of z (k, r), from its values, with at most about `most` systems; returns (residual, systems).

    v (n, d) is the velocity before the impulses; the tolerance and the residual are speeds.
    """
    all_of = np.arange(len(z))
    x = v.copy()
    push_all(lay, island, all_of, z, x)
    least, systems = measure(lay, island, weight, all_of, z, x)[0], 0
    best, center = z.copy(), z.copy()
    shift, failures = FIRST, 0
    matrix = matrix_room(lay.axes, pattern)
    while least > tolerance and systems < most and failures < FAILURES:
        enough = max(0.03 * least, 0.1 * tolerance)
        count, settled = _settle(lay, island, weight, pattern, matrix, v, center, shift, z, x, enough)
        systems += max(count, 1)  # where no velocity is feasible, impulses grow without a system
        x[:] = v
        push_all(lay, island, all_of, z, x)
        residual = measure(lay, island, weight, all_of, z, x)[0]
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
            push_all(lay, island, all_of, center, x)
    z[:] = best
    return least, systems


@kernel
def _settle(lay, island, weight, pattern, matrix, v, center, shift, z, x, enough):
    """Newton steps for one proximal term, in place of x and z; returns the systems and whether it settled."""
    k, n, r = len(z), len(v), z.shape[1]
    u, off, step, start = np.empty((k, r)), np.empty_like(v), np.zeros_like(v), np.empty_like(v)
    q = np.empty((k, r, r))
    _answer(lay, island, weight, v, center, shift, x, u, z, off)
    count = 0
    # The speeds after z differ from u by those of `off`.
    while _fastest(lay, island, off) > enough:
        if count == ROUND:
            return count, False
        _slopes(lay, island, weight, center, shift, u, z, q)
        assemble(lay.axes, lay.rows, pattern, island.body, island.val, q, matrix)
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
            _answer(lay, island, weight, v, center, shift, x, u, z, off)
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
    for i in range(len(a)):
        for c in range(a.shape[1]):
            total += a[i, c] * b[i, c]
    return total


@kernel
def _fastest(lay, island, x):
    """Largest |G x|."""
    worst = 0.0
    u = np.empty(len(lay.rows))
    for p in range(len(island.body)):
        speeds_of(lay, island, x, p, u)
        for s in range(len(lay.rows)):
            worst = max(worst, abs(u[s] - island.base[p, s]))
    return worst


@kernel
def _answer(lay, island, weight, v, center, shift, x, u, z, off):
    """Speeds u at x, the impulses z(u), and `off = x - v - G^T z`."""
    off[:] = v
    for p in range(len(z)):
        local = weight[p]
        speeds_of(lay, island, x, p, u[p])
        z[p, 0] = max(center[p, 0] - u[p, 0] * local[NORMAL] / shift, 0.0)
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            step, bound = local[WEIGHT + 2 * g] / shift, local[BOUND + 2 * g] * z[p, 0]
            size = 0.0
            for s in range(first, last):
                z[p, s] = center[p, s] - u[p, s] * step if bound > 0.0 else 0.0
                size += z[p, s] * z[p, s]
            if size > bound * bound:
                for s in range(first, last):
                    z[p, s] *= bound / np.sqrt(size)
    push_all(lay, island, np.arange(len(z)), z, off)
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            off[b, c] = x[b, c] - off[b, c]


@kernel
def _slopes(lay, island, weight, center, shift, u, z, q):
    """`q = -dz/du`, (k, r, r)."""
    q[:] = 0.0
    for p in range(len(z)):
        if z[p, 0] <= 0.0:
            continue
        local = weight[p]
        q[p, 0, 0] = local[NORMAL] / shift
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            step, ratio = local[WEIGHT + 2 * g] / shift, local[BOUND + 2 * g]
            bound = ratio * z[p, 0]
            if bound <= 0.0:
                continue
            size = 0.0
            for s in range(first, last):
                size += (center[p, s] - u[p, s] * step) ** 2
            size = np.sqrt(size)
            for s in range(first, last):
                if size <= bound:  # sticks
                    q[p, s, s] = step
                    continue
                # Slips: the normal impulse scales friction, and slip across it changes its direction.
                a = (center[p, s] - u[p, s] * step) / size
                q[p, s, 0] = ratio * a * q[p, 0, 0]
                for t in range(first, last):
                    b = (center[p, t] - u[p, t] * step) / size
                    q[p, s, t] = bound / size * step * ((1.0 if s == t else 0.0) - a * b)
