"""The box QP `min 1/2 y^T A y + c^T y`, `lo <= y <= hi`, with `A = G G^T`.

With lo = 0 and hi = infinity it is the cone problem of inelastic impact, of the Newton-law LCP and of every GR
iteration; with finite bounds it is friction. The problem separates into islands, and each is solved by the cheapest
exact method for its size: a closed form for one contact, dense pivoting for small islands (`dense.py`), sparse methods
for large ones (`sparse.py`). Large numbers of contacts are solved by several threads; results are bitwise identical
for any number of threads.

The kernels for large islands take most of the compile time; they are compiled when the first large island appears.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...kernels import kernel
from ..islands import islands
from ..rows import Floats, Ints, Rows, speed
from ..threads import on_threads, thread_count
from ..thresholds import DENSE_QP_CONTACTS, RELAXED_QP_CONTACTS, THREADED_QP_CONTACTS
from .dense import VECTORS, inside_solution, solve_dense_in
from .relax import relaxed_islands
from .sparse import large_islands

# Tolerance, relative to the largest |c|, above which relaxation is tried first. Below it exact methods are faster.
SWEEPS_TOLERANCE = 1e-6


def solve_cone(
    rows: Rows, c: Floats, start: Floats | None = None, tolerance: float = 0.0, conserve: bool = False
) -> tuple[Floats, float]:
    """`argmin_{y >= 0} 1/2 y^T A y + c^T y` over all rows, and its residual: see `solve_bounds`."""
    return solve_bounds(rows, c, np.zeros(len(c)), np.full(len(c), np.inf), start, tolerance, conserve)


def solve_bounds(
    rows: Rows,
    c: Floats,
    low: Floats,
    high: Floats,
    start: Floats | None = None,
    tolerance: float = 0.0,
    conserve: bool = False,
) -> tuple[Floats, float]:
    """`argmin 1/2 y^T A y + c^T y` over `low <= y <= high` and all rows, and its residual.

    `start` is a warm start: its values are the first guess, and determine which bounds are active. Zero must lie within
    all bounds. `tolerance` is the residual that the answer may have; 0 asks for rounding error. The residual is the
    largest |y - P(y - gradient)| in units of speed. `conserve`: see `relax`.
    """
    n, d = len(rows.touch_ptr) - 1, rows.val.shape[1]
    warm = start is not None
    y = np.array(start, dtype=np.float64) if warm else np.zeros(len(c))
    c, low, high = (np.require(v, np.float64, ["C", "W"]) for v in (c, low, high))
    if len(c) <= DENSE_QP_CONTACTS:
        return y, float(_few(rows, c, low, high, y, warm))
    work = Work(np.empty(n, np.int64), np.empty(n, np.int64), np.zeros((n, d)))
    return y, solve_box(rows, np.arange(len(c)), c, low, high, y, warm, work, tolerance, conserve)


def box_residual(diag: Floats, gradient: Floats, low: Floats, high: Floats, y: Floats) -> float:
    """Largest |y - P(y - gradient)| in units of speed; `diag` is the diagonal of A, rows with 0 move nothing."""
    moving = diag > 0.0
    scale = diag[moving]
    step = np.clip(-gradient[moving], scale * (low - y)[moving], scale * (high - y)[moving])
    return float(np.abs(step).max(initial=0.0))


class Work:
    """Scratch for any number of solves over the same bodies: two (n,) arrays of integers and (n, d) zeros."""

    def __init__(self, parent: Ints, label: Ints, velocity: Floats) -> None:
        self.parent, self.label, self.velocity = parent, label, velocity


def solve_box(
    rows: Rows,
    subset: Ints,
    c: Floats,
    lo: Floats,
    hi: Floats,
    y: Floats,
    warm: bool,
    work: Work,
    tolerance: float = 0.0,
    conserve: bool = False,
) -> float:
    """Solves over the contacts in `subset`; c, lo, hi and y have one entry for each of them, in their order.

    y is overwritten (and is the warm start if `warm`). Returns the residual: the largest |y - P(y - gradient)| in units
    of speed. With a `tolerance`, a speed, large islands are relaxed first (`relax.py`, also for `conserve`), and solved
    exactly where that does not reach the tolerance.
    """
    size = np.abs(c).max(initial=0.0)
    if size == 0.0:
        y[:] = np.clip(0.0, lo, hi)
        return 0.0
    order, ptr = islands(rows, subset, work.parent, work.label)
    parts = thread_count() if len(subset) >= THREADED_QP_CONTACTS else 1
    cuts = np.searchsorted(ptr, np.linspace(0, len(subset), 4 * parts + 1 if parts > 1 else 2))
    cuts[0], cuts[-1] = 0, len(ptr) - 1
    coarse = tolerance > SWEEPS_TOLERANCE * size
    most = RELAXED_QP_CONTACTS if coarse and not conserve else DENSE_QP_CONTACTS
    given = (c, lo, hi, y, warm, work.velocity, most)
    pieces = [(rows, subset, order, ptr, int(a), int(b), *given) for a, b in pairwise(cuts)]
    width = np.diff(ptr)
    large = np.flatnonzero(width > most)
    worst = on_threads(_small, pieces) if len(large) < len(width) else 0.0
    if len(large):
        # Distributed in order of size, so that all threads are busy for about the same time.
        large = large[np.argsort(-width[large], kind="stable")]
        where = (rows, subset, order, ptr)
        if coarse:
            missed = np.zeros(len(width), np.bool_)
            rest = (c, lo, hi, y, work.parent, tolerance, conserve, missed)
            worst = max(worst, on_threads(relaxed_islands, [(*where, hand, *rest) for hand in _dealt(large, parts)]))
            large, warm = large[missed[large]], True
        if len(large):
            exact = (c, lo, hi, y, warm, work.parent)
            worst = max(worst, on_threads(large_islands, [(*where, hand, *exact) for hand in _dealt(large, parts)]))
    return float(worst)


def _dealt(items: Ints, parts: int) -> list[Ints]:
    """The items, dealt out to at most `parts` threads."""
    return [items[k::parts] for k in range(min(parts, len(items)))]


@kernel
def _few(rows, c, lo, hi, y, warm):
    """`solve_box` over all of at most DENSE_QP_CONTACTS contacts, in one kernel."""
    n, subset = len(rows.touch_ptr) - 1, np.arange(len(c))
    if np.all(c == 0.0):
        for j in subset:
            y[j] = min(max(0.0, lo[j]), hi[j])
        return 0.0
    order, ptr = islands(rows, subset, np.empty(n, np.int64), np.empty(n, np.int64))
    scratch = np.zeros((n, rows.val.shape[1]))
    return _small(rows, subset, order, ptr, 0, len(ptr) - 1, c, lo, hi, y, warm, scratch, DENSE_QP_CONTACTS)


@kernel
def _small(rows, subset, order, ptr, first, last, c, lo, hi, y, warm, scratch, most):
    """Solves islands first..last-1 of at most `most` <= DENSE_QP_CONTACTS contacts; returns the largest residual."""
    worst = 0.0
    a = np.empty((DENSE_QP_CONTACTS, DENSE_QP_CONTACTS))
    given = np.empty((4, DENSE_QP_CONTACTS))
    work, index = np.empty((DENSE_QP_CONTACTS + VECTORS, DENSE_QP_CONTACTS)), np.empty((2, DENSE_QP_CONTACTS), np.int64)
    for s in _by_size(ptr, first, last, most):
        k = ptr[s + 1] - ptr[s]
        if k == 1:
            j = order[ptr[s]]
            y[j] = min(max(-c[j] / rows.diag[subset[j]], lo[j]), hi[j])
        else:
            mine = order[ptr[s] : ptr[s + 1]]
            for p in range(k):
                j = mine[p]
                given[0, p], given[1, p], given[2, p], given[3, p] = c[j], lo[j], hi[j], y[j]
            _delassus(rows, subset, mine, a, scratch)
            residual = inside_solution(a, given, k, work)
            if residual < 0.0:
                for p in range(k):
                    given[3, p] = y[mine[p]]
                residual = solve_dense_in(a, given[0], given[1], given[2], given[3], warm, k, work, index)
            worst = max(worst, residual)
            for p in range(k):
                y[mine[p]] = given[3, p]
    return worst


@kernel
def _by_size(ptr, first, last, most):
    """Islands first..last-1 of at most `most` contacts by size, which helps branch prediction."""
    start = np.zeros(most + 2, np.int64)
    for s in range(first, last):
        k = ptr[s + 1] - ptr[s]
        if k <= most:
            start[k + 1] += 1
    for k in range(most + 1):
        start[k + 1] += start[k]
    sorted_ = np.empty(start[most + 1], np.int64)
    for s in range(first, last):
        k = ptr[s + 1] - ptr[s]
        if k <= most:
            sorted_[start[k]] = s
            start[k] += 1
    return sorted_


@kernel
def _delassus(rows, subset, mine, a, scratch):
    """`A = G G^T` of one island into the corner of a; `scratch` is zero before and after."""
    d = rows.val.shape[1]
    for p in range(len(mine)):
        i = subset[mine[p]]
        a[p, p] = rows.diag[i]
        if rows.ptr[i + 1] - rows.ptr[i] <= 2:
            for q in range(p):
                j = subset[mine[q]]
                total = 0.0
                for e in range(rows.ptr[i], rows.ptr[i + 1]):
                    for f in range(rows.ptr[j], rows.ptr[j + 1]):
                        if rows.body[e] == rows.body[f]:
                            for t in range(d):
                                total += rows.val[e, t] * rows.val[f, t]
                a[p, q] = total
                a[q, p] = total
            continue
        # Rows over many components, as with general mass matrices: expand one, and multiply the others by it.
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            for t in range(d):
                scratch[rows.body[e], t] = rows.val[e, t]
        for q in range(p):
            a[p, q] = speed(rows, subset[mine[q]], scratch)
            a[q, p] = a[p, q]
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            for t in range(d):
                scratch[rows.body[e], t] = 0.0
