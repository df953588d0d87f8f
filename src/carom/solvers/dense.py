"""Exact active-set solution of small box problems.

`min 1/2 y^T A y + c^T y` with `lo <= y <= hi`, A positive semidefinite and often singular. The problem is solved
as a short series of proximal steps, `A + eps I` about the answer so far: each is strictly convex, has one
solution whatever the order of contacts, and converges to an exact solution of the singular problem that is as
even as the contacts allow. Each step is a block principal pivoting (Portugal, Judice, Vicente 1994) with
Murty's single pivots as the safeguard that makes it finite.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PROXIMAL = 1e-9  # eps, for matrices scaled to a unit diagonal
TARGET = 1e-14
SLACK = 1e-15  # gradients below this are round-off, for gradients of size one


@njit(cache=True)
def solve_dense(a, c, lo, hi, y, warm):
    """Solves in place of y; returns the certificate. A must have a positive diagonal.

    With `warm`, y is the first guess of which bounds are active, and its values the first proximal centre.
    """
    k = len(c)
    size = 0.0
    scale = np.empty(k)
    for i in range(k):
        scale[i] = 1.0 / np.sqrt(a[i, i])
        size = max(size, abs(c[i]) * scale[i])
    if size == 0.0:
        for i in range(k):
            y[i] = min(max(0.0, lo[i]), hi[i])
        return 0.0
    # Unit diagonal and a gradient of size one: every number below is of order one.
    b, low, high, z, g0 = np.empty((k, k)), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for i in range(k):
        for j in range(k):
            b[i, j] = a[i, j] * scale[i] * scale[j]
        unit = scale[i] * size
        g0[i] = c[i] * scale[i] / size
        low[i], high[i] = lo[i] / unit, hi[i] / unit
        z[i] = min(max(y[i] / unit, low[i]), high[i]) if warm else 0.0
    free = np.ones(k, np.int8)  # 1 free, 0 at low, 2 at high
    if warm:
        for i in range(k):
            if z[i] <= low[i]:
                free[i] = 0
            elif z[i] >= high[i]:
                free[i] = 2
    best, best_z = np.inf, z.copy()
    for _ in range(8):
        _pivot(b, g0, low, high, z, free)
        residual = _residual(b, g0, low, high, z)
        if residual < best:
            better = residual < 0.25 * best
            best = residual
            best_z[:] = z
            if best <= TARGET or not better:
                break
        elif best <= 100 * TARGET:
            break
    for i in range(k):
        y[i] = min(max(best_z[i] * scale[i] * size, lo[i]), hi[i])
    return best


@njit(cache=True)
def _residual(b, g0, low, high, z):
    worst = 0.0
    for i in range(len(z)):
        g = g0[i]
        for j in range(len(z)):
            g += b[i, j] * z[j]
        # Distance of z to where a projected gradient step would take it: zero exactly at a solution.
        step = min(max(z[i] - g, low[i]), high[i]) - z[i]
        worst = max(worst, abs(step))
    return worst


@njit(cache=True)
def _pivot(b, g0, low, high, z, free):
    """One proximal step about z: the solution for `b + eps I` by principal pivoting, in place of z."""
    k = len(z)
    centre = z.copy()
    index = np.empty(k, np.int64)
    factor = np.empty((k, k))
    rhs = np.empty(k)
    fewest, patience = k + 1, 5
    for _ in range(50 + 10 * k):
        p = 0
        for i in range(k):
            if free[i] == 1:
                index[p] = i
                p += 1
            elif free[i] == 0:
                z[i] = low[i]
            else:
                z[i] = high[i]
        # Solve for the change from the centre, so that what the proximal term leaves is only round-off.
        for q in range(p):
            i = index[q]
            r = g0[i]
            for j in range(k):
                r += b[i, j] * (centre[j] if free[j] == 1 else z[j])
            rhs[q] = -r
        _cholesky_solve(b, index, p, factor, rhs)
        for q in range(p):
            z[index[q]] = centre[index[q]] + rhs[q]
        wrong, last = 0, -1
        for i in range(k):
            if _misplaced(b, g0, low, high, z, free, i) != free[i]:
                wrong += 1
                last = i
        if wrong == 0:
            return
        if wrong < fewest:
            fewest, patience = wrong, 5
        else:
            patience -= 1
        if patience >= 0:
            target = free.copy()
            for i in range(k):
                target[i] = _misplaced(b, g0, low, high, z, free, i)
            free[:] = target
        else:
            free[last] = _misplaced(b, g0, low, high, z, free, last)
    for i in range(k):
        z[i] = min(max(z[i], low[i]), high[i])


@njit(cache=True, inline="always")
def _misplaced(b, g0, low, high, z, free, i):
    """Where contact i ought to be: 0 at low, 1 free, 2 at high."""
    if free[i] == 1:
        if z[i] < low[i]:
            return 0
        if z[i] > high[i]:
            return 2
        return 1
    g = g0[i]
    for j in range(len(z)):
        g += b[i, j] * z[j]
    if free[i] == 0:
        return 1 if g < -SLACK and high[i] > low[i] else 0
    return 1 if g > SLACK and high[i] > low[i] else 2


@njit(cache=True)
def _cholesky_solve(b, index, p, factor, rhs):
    """Solves `(b_FF + eps I) t = rhs` in place of rhs."""
    for q in range(p):
        iq = index[q]
        for r in range(q + 1):
            s = b[iq, index[r]]
            if r == q:
                s += PROXIMAL
            for t in range(r):
                s -= factor[q, t] * factor[r, t]
            if r == q:
                factor[q, q] = np.sqrt(max(s, 0.1 * PROXIMAL))
            else:
                factor[q, r] = s / factor[r, r]
    for q in range(p):
        s = rhs[q]
        for t in range(q):
            s -= factor[q, t] * rhs[t]
        rhs[q] = s / factor[q, q]
    for q in range(p - 1, -1, -1):
        s = rhs[q]
        for t in range(q + 1, p):
            s -= factor[t, q] * rhs[t]
        rhs[q] = s / factor[q, q]
