"""The large islands of a box problem: a kernel of its own, compiled when the first one turns up."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .sparse import solve_sparse


@kernel
def large_islands(rows, subset, order, ptr, large, c, lo, hi, y, warm, local):
    """Islands numbered in `large`; returns the largest residual in units of speed.

    `local` is scratch with one integer a body: islands share none.
    """
    worst = 0.0
    for s in large:
        mine = order[ptr[s] : ptr[s + 1]]
        k = len(mine)
        contacts = np.empty(k, np.int64)
        ci, li, ui, yi = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
        for p in range(k):
            j = mine[p]
            contacts[p] = subset[j]
            ci[p], li[p], ui[p], yi[p] = c[j], lo[j], hi[j], y[j]
        worst = max(worst, solve_sparse(rows, contacts, ci, li, ui, yi, warm, local))
        for p in range(k):
            y[mine[p]] = yi[p]
    return worst
