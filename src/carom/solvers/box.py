"""The one subproblem under almost everything: `min 1/2 y^T A y + c^T y`, `lo <= y <= hi`, with `A = G G^T`.

With lo = 0 and hi = infinity it is the cone problem of inelastic impact, of the Newton-law LCP and of every GR
step; with finite bounds it is friction. The problem falls apart into islands; each gets the cheapest exact
method for its size: a closed form for one contact, dense pivoting for small ones, sparse factorisation in
velocity space for large ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .dense import solve_dense
from .islands import islands
from .rows import speed
from .sparse import solve_sparse

DENSE_LIMIT = 24


@njit(cache=True)
def solve_box(rows, subset, c, lo, hi, y, warm, parent, label, scratch):
    """Solves over the contacts in `subset`; c, lo, hi and y have one entry for each of them, in their order.

    y is overwritten (and read first if `warm`). `parent`, `label` (one integer a body) and `scratch` (zeros,
    like the velocity) are work space. Returns the certificate: the largest |y - P(y - gradient)| in units of
    speed, over the largest |c|.
    """
    k = len(subset)
    size = 0.0
    for j in range(k):
        size = max(size, abs(c[j]))
    if size == 0.0:
        for j in range(k):
            y[j] = min(max(0.0, lo[j]), hi[j])
        return 0.0
    order, ptr = islands(rows, subset, parent, label)
    worst = 0.0
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        worst = max(worst, _solve_island(rows, subset, mine, c, lo, hi, y, warm, scratch, parent))
    return worst / size


@njit(cache=True)
def _solve_island(rows, subset, mine, c, lo, hi, y, warm, scratch, local):
    """One island by the method that fits its size; returns its residual in units of speed."""
    if len(mine) == 1:
        j = mine[0]
        y[j] = min(max(-c[j] / rows.diag[subset[j]], lo[j]), hi[j])
        return 0.0
    if len(mine) <= DENSE_LIMIT:
        return _island_dense(rows, subset, mine, c, lo, hi, y, warm, scratch)
    return _island_sparse(rows, subset, mine, c, lo, hi, y, warm, local)


@njit(cache=True)
def _island_dense(rows, subset, mine, c, lo, hi, y, warm, scratch):
    k = len(mine)
    a = np.empty((k, k))
    for p in range(k):
        i = subset[mine[p]]
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            for t in range(rows.val.shape[1]):
                scratch[rows.body[e], t] = rows.val[e, t]
        for q in range(p + 1):
            a[p, q] = speed(rows, subset[mine[q]], scratch)
            a[q, p] = a[p, q]
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            for t in range(rows.val.shape[1]):
                scratch[rows.body[e], t] = 0.0
    ci, li, hi_, yi = c[mine], lo[mine], hi[mine], y[mine]
    size = 0.0
    for p in range(k):
        size = max(size, abs(ci[p]))
    residual = solve_dense(a, ci, li, hi_, yi, warm)
    for p in range(k):
        y[mine[p]] = yi[p]
    return residual * size


@njit(cache=True)
def _island_sparse(rows, subset, mine, c, lo, hi, y, warm, local):
    ci, yi = c[mine], y[mine]
    size = 0.0
    for p in range(len(mine)):
        size = max(size, abs(ci[p]))
    residual = solve_sparse(rows, subset[mine], ci, lo[mine], hi[mine], yi, warm, local)
    for p in range(len(mine)):
        y[mine[p]] = yi[p]
    return residual * size
