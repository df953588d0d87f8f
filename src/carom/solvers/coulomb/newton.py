"""Coulomb's law in 3D by Newton steps on the velocities of an island.

Contacts are mostly redundant, and then impulses are not unique. The law is therefore regularized by a proximal term, a
multiple of the change of the impulses, which vanishes where the iteration ends:

    z = P(c - u / (s r)),   u = G x + w

Impulses are a function of speeds: P projects on `lam >= 0` and the disk of radius mu lam, c are the present impulses,
r is the change of speed by a unit impulse, and s the strength of the term. The remaining unknowns are the velocity
components of the bodies, `x = v + G^T z(x)`, however many contacts there are; without friction x is the minimum of a
convex function (the augmented Lagrangian). One Newton step factors the sparse matrix `I + G^T Q G` (`block_lu.py`).

Other methods were tried before: Newton steps on the impulses without a line search cycle in one pile of three; a line
search for the smallest residual is worse, and so is friction bounded by the normal impulses of the last iteration.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..linalg.block_lu import WIDTH, assemble_blocks, eliminate, solve_eliminated
from .contact_blocks import distance, moved, speeds_at

FIRST, LEAST, MOST = 1e-1, 1e-6, 1.0  # proximal term: first value and bounds
UP = 4.0  # factor of the proximal term after a solve that did not settle
ROUND = 12  # bound on the systems for one proximal term
FAILURES = 6  # consecutive solves that did not settle, after which the iteration ends
ALONG = 8  # bound on the trials of the line search


@kernel
def solve_blocks(blocks, pattern, z, tolerance, most):
    """Solves in place of z (k, 3), from its values, with at most about `most` systems; returns (residual, systems)."""
    k, n = len(z), len(blocks.velocity)
    x, u = np.empty((n, WIDTH)), np.empty((k, 3))
    speeds_at(blocks, blocks.velocity, u)
    top = 0.0
    for p in range(k):
        top = max(top, abs(u[p, 0]), abs(u[p, 1]), abs(u[p, 2]))
    if top == 0.0:
        _copy(np.zeros((k, 3)), z)
        return 0.0, 0
    moved(blocks, z, x)
    speeds_at(blocks, x, u)
    least, systems = distance(blocks, z, u) / top, 0
    best, center = z.copy(), z.copy()
    shift, failures = FIRST, 0
    while least > tolerance and systems < most and failures < FAILURES:
        count, settled = _round(blocks, pattern, center, shift, z, x, top * max(0.03 * least, 0.1 * tolerance))
        systems += count
        moved(blocks, z, x)
        speeds_at(blocks, x, u)
        residual = distance(blocks, z, u) / top
        if residual < least:
            _copy(z, best)
            least = residual
        if settled:
            failures = 0
            _copy(z, center)
            # Weaker after easy solves, stronger after hard ones. A bolder rule fails in one pile of seven.
            factor = 0.4 if count <= 3 else 0.7 if count <= 5 else 1.0 if count <= 7 else 2.0
            shift = min(max(shift * factor, LEAST), MOST)
        else:
            failures += 1
            shift = min(shift * UP, MOST)
            moved(blocks, center, x)
    _copy(best, z)
    if least > tolerance:
        least = _without_work(blocks, z, x, u) / top
    return least, systems


@kernel
def _without_work(blocks, z, x, u):
    """Reduces all impulses by one factor if they do work, `z . u > 0`, which an unconverged answer might.

    u is linear in the factor. Returns the residual, a speed.
    """
    moved(blocks, z, x)
    speeds_at(blocks, x, u)
    work, size = _dot(z, u), 0.0
    for b in range(len(x)):
        for c in range(WIDTH):
            size += (x[b, c] - blocks.velocity[b, c]) ** 2
    if work > 0.0 and size > 0.0:
        factor = max(1.0 - work / size, 0.0)
        for p in range(len(z)):
            for s in range(3):
                z[p, s] *= factor
        moved(blocks, z, x)
        speeds_at(blocks, x, u)
    return distance(blocks, z, u)


@kernel
def _copy(source, target):
    for p in range(len(source)):
        for s in range(source.shape[1]):
            target[p, s] = source[p, s]


@kernel
def _round(blocks, pattern, center, shift, z, x, enough):
    """Newton steps for one proximal term, in place of x and z; returns the systems and whether it settled."""
    k, n = len(z), len(x)
    u, off, step, start = np.empty((k, 3)), np.empty((n, WIDTH)), np.empty((n, WIDTH)), np.empty((n, WIDTH))
    q, wrong = np.empty((k, 3, 3)), np.empty((k, 3))
    diagonal = np.empty((n, WIDTH, WIDTH))
    low, up = np.empty((len(pattern.col_row), WIDTH, WIDTH)), np.empty((len(pattern.col_row), WIDTH, WIDTH))
    _answer(blocks, center, shift, x, u, z, off)
    count = 0
    # The speeds after z differ from u by those of `off`.
    while speeds_at(blocks, off, wrong) > enough:
        if count == ROUND:
            return count, False
        _slopes(blocks, center, shift, u, z, q)
        assemble_blocks(blocks, pattern, q, diagonal, low, up)
        eliminate(pattern, diagonal, low, up)
        _copy(off, start)
        solve_eliminated(pattern, diagonal, low, up, start, step)
        _copy(x, start)
        first = -_dot(off, step)
        # F(x + t step) . step falls from `first`, and is zero where the step should end.
        low_t, high_t, at_low, t = 0.0, 1.0, first, 1.0
        at_high = 0.0
        for attempt in range(ALONG):
            for b in range(n):
                for c in range(WIDTH):
                    x[b, c] = start[b, c] - t * step[b, c]
            _answer(blocks, center, shift, x, u, z, off)
            now = -_dot(off, step)
            if abs(now) <= 0.1 * abs(first) or first >= 0.0 or (attempt == 0 and now < 0.0):
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
def _answer(blocks, center, shift, x, u, z, off):
    """Speeds u at x, the impulses z(u), and `off = x - v - G^T z`."""
    speeds_at(blocks, x, u)
    for p in range(len(z)):
        lam = max(center[p, 0] - u[p, 0] / (shift * blocks.unit[p, 0]), 0.0)
        bound = lam * blocks.friction[p]
        a = b = 0.0
        if bound > 0.0:
            r = shift * blocks.unit[p, 1]
            a, b = center[p, 1] - u[p, 1] / r, center[p, 2] - u[p, 2] / r
            size = np.sqrt(a * a + b * b)
            if size > bound:
                a, b = a * bound / size, b * bound / size
        z[p, 0], z[p, 1], z[p, 2] = lam, a, b
    moved(blocks, z, off)
    for b in range(len(x)):
        for c in range(WIDTH):
            off[b, c] = x[b, c] - off[b, c]


@kernel
def _slopes(blocks, center, shift, u, z, q):
    """`q = -dz/du`, (k, 3, 3)."""
    for p in range(len(z)):
        for s in range(3):
            q[p, s, 0] = q[p, s, 1] = q[p, s, 2] = 0.0
        if z[p, 0] <= 0.0:
            continue
        q[p, 0, 0] = 1.0 / (shift * blocks.unit[p, 0])
        mu, bound = blocks.friction[p], blocks.friction[p] * z[p, 0]
        if bound <= 0.0:
            continue
        r = shift * blocks.unit[p, 1]
        a, b = center[p, 1] - u[p, 1] / r, center[p, 2] - u[p, 2] / r
        size = np.sqrt(a * a + b * b)
        if size <= bound:  # sticks
            q[p, 1, 1] = q[p, 2, 2] = 1.0 / r
            continue
        # Slips: the normal impulse scales friction along (a, b), and slip across it changes its direction.
        a, b = a / size, b / size
        q[p, 1, 0], q[p, 2, 0] = mu * a * q[p, 0, 0], mu * b * q[p, 0, 0]
        turn = bound / (size * r)
        q[p, 1, 1], q[p, 2, 2] = turn * b * b, turn * a * a
        q[p, 1, 2] = q[p, 2, 1] = -turn * a * b
