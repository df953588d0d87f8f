"""The cone problem `min 1/2 y^T A y + c^T y`, `y >= 0`, with `A = G G^T` of normal rows.

It is the problem of inelastic impact, of the Newton-law LCP and of every GR iteration. It separates into islands, and
each is solved by the cheapest exact method for its size: a closed form for one contact, dense pivoting for small
islands (`dense.py`), sparse methods for large ones (`sparse.py`). Large numbers of contacts are solved by several
threads; results are bitwise identical for any number of threads.

The kernels for large islands take most of the compile time; they are compiled when the first large island appears.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..islands import islands
from ..rows import Floats, Ints, Rows, body_count, row_speed
from ..threads import on_threads, thread_count
from ..thresholds import DENSE_QP_CONTACTS, DENSE_WIDE_QP_CONTACTS, RELAXED_QP_CONTACTS, THREADED_QP_CONTACTS
from .dense import DENSE_VECTORS, inside_solution, solve_dense_in
from .relax import relaxed_islands
from .sparse import large_islands

# Tolerance, relative to the largest |c|, above which relaxation is tried first. Below it exact methods are faster.
SWEEPS_TOLERANCE = 1e-6


class Cone(NamedTuple):
    """A cone problem over k contacts."""

    c: Floats  # (k,)
    y: Floats  # (k,) receives the solution
    warm: bool  # whether y is a first guess, whose values determine which contacts are free


def cone(c: Floats) -> Cone:
    """The cone problem, from nothing."""
    return Cone(np.require(c, np.float64, ["C", "W"]), np.zeros(len(c)), False)


class Work(NamedTuple):
    """Scratch for any number of solves over the same bodies."""

    parent: Ints  # (n,)
    label: Ints  # (n,)
    velocity: Floats  # (n, d) zeros


def work_of(rows: Rows) -> Work:
    """Scratch for the bodies of the rows."""
    n = body_count(rows)
    return Work(np.empty(n, np.int64), np.empty(n, np.int64), np.zeros((n, rows.val.shape[3])))


def solve_cone(rows: Rows, c: Floats, tolerance: float = 0.0, conserve: bool = False) -> tuple[Floats, float]:
    """`argmin_{y >= 0} 1/2 y^T A y + c^T y` over all contacts, and its residual: see `solve_chosen`."""
    if len(c) <= DENSE_QP_CONTACTS:
        return few_cones(rows, np.require(c, np.float64, ["C", "W"]))
    given = cone(c)
    return given.y, solve_chosen(rows, np.arange(len(c)), given, work_of(rows), tolerance, conserve)


def solve_chosen(
    rows: Rows, chosen: Ints, given: Cone, work: Work, tolerance: float = 0.0, conserve: bool = False
) -> float:
    """Solves over the contacts `chosen`, to which the numbers given belong, and writes the solution to `given.y`.

    Returns the residual, the largest |y - P(y - gradient)| in units of speed. With a `tolerance`, a speed, large
    islands are relaxed first (`relax.py`, also for `conserve`), and solved exactly where that does not reach the
    tolerance; 0 asks for rounding error.
    """
    size = np.abs(given.c).max(initial=0.0)
    if size == 0.0:
        given.y[:] = 0.0
        return 0.0
    found = islands(rows.body, chosen, work.parent, work.label)
    ptr = found.ptr
    parts = thread_count() if len(chosen) >= THREADED_QP_CONTACTS else 1
    cuts = np.searchsorted(ptr, np.linspace(0, len(chosen), 4 * parts + 1 if parts > 1 else 2))
    cuts[0], cuts[-1] = 0, len(ptr) - 1
    coarse = tolerance > SWEEPS_TOLERANCE * size
    most = RELAXED_QP_CONTACTS if coarse and not conserve else DENSE_QP_CONTACTS
    if rows.body.shape[1] > 2:  # such rows are not relaxed
        most = DENSE_WIDE_QP_CONTACTS
    width = np.diff(ptr)
    large, worst = np.flatnonzero(width > most), 0.0
    if len(large) < len(width):
        pieces = [(rows, found, int(a), int(b), given, work.velocity, most) for a, b in pairwise(cuts)]
        worst = on_threads(_small, pieces)
    if len(large):
        # Distributed in order of size, so that all threads are busy for about the same time.
        large = large[np.argsort(-width[large], kind="stable")]
        if coarse:
            missed = np.zeros(len(width), np.bool_)
            goal = (given, work.parent, tolerance, conserve, missed)
            worst = max(
                worst, on_threads(relaxed_islands, [(rows, found, hand, *goal) for hand in _dealt(large, parts)])
            )
            large, given = large[missed[large]], given._replace(warm=True)
        if len(large):
            rest = [(rows, found, hand, given, work.parent) for hand in _dealt(large, parts)]
            worst = max(worst, on_threads(large_islands, rest))
    return float(worst)


def _dealt(items: Ints, parts: int) -> list[Ints]:
    """The items, dealt out to at most `parts` threads."""
    return [items[k::parts] for k in range(min(parts, len(items)))]


@kernel
def few_cones(rows, c):
    """`solve_cone` over at most DENSE_QP_CONTACTS contacts, in one kernel."""
    n, m = len(rows.touch_ptr) - 1, len(c)
    problem = Cone(c, np.zeros(m), False)
    if np.all(c == 0.0):
        return problem.y, 0.0
    found = islands(rows.body, np.arange(m), np.empty(n, np.int64), np.empty(n, np.int64))
    scratch = np.zeros((n, rows.val.shape[3]))
    residual = _small(rows, found, 0, len(found.ptr) - 1, problem, scratch, DENSE_QP_CONTACTS)
    return problem.y, residual


@kernel
def moderate_cones(rows, c, tolerance):
    """`solve_cone` in one kernel; the residual is infinite if an island needs the methods for large ones."""
    n, m = len(rows.touch_ptr) - 1, len(c)
    size = np.abs(c).max()
    if m <= DENSE_QP_CONTACTS or size == 0.0:
        return few_cones(rows, c)
    problem, coarse = Cone(c, np.zeros(m), False), tolerance > SWEEPS_TOLERANCE * size
    most = RELAXED_QP_CONTACTS if coarse else DENSE_QP_CONTACTS
    found = islands(rows.body, np.arange(m), np.empty(n, np.int64), np.empty(n, np.int64))
    width = found.ptr[1:] - found.ptr[:-1]
    large, missed = np.flatnonzero(width > most), np.zeros(len(width), np.bool_)
    if len(large) and not coarse:
        return problem.y, np.inf
    worst = _small(rows, found, 0, len(width), problem, np.zeros((n, rows.val.shape[3])), most)
    if len(large):
        rest = relaxed_islands(rows, found, large, problem, np.empty(n, np.int64), tolerance, False, missed)
        worst = max(worst, rest)
    return problem.y, np.inf if np.any(missed) else worst


@kernel
def _small(rows, found, first, last, problem, scratch, most):
    """Solves islands first..last-1 of at most `most` contacts; returns the largest residual."""
    worst, ptr = 0.0, found.ptr
    size = max(most, DENSE_QP_CONTACTS)
    a, given = np.empty((size, size)), np.empty((2, size))
    work, index = np.empty((size + DENSE_VECTORS, size)), np.empty((2, size), np.int64)
    for s in _by_size(ptr, first, last, most):
        k = ptr[s + 1] - ptr[s]
        if k == 1:
            j = found.order[ptr[s]]
            problem.y[j] = max(-problem.c[j] / rows.diag[found.chosen[j]], 0.0)
        else:
            mine = found.order[ptr[s] : ptr[s + 1]]
            for p in range(k):
                j = mine[p]
                given[0, p], given[1, p] = problem.c[j], problem.y[j]
            _delassus(rows, found.chosen, mine, a, scratch)
            residual = inside_solution(a, given, k, work)
            if residual < 0.0:
                for p in range(k):
                    given[1, p] = problem.y[mine[p]]
                residual, _ = solve_dense_in(a, given, problem.warm, k, work, index)
            worst = max(worst, residual)
            for p in range(k):
                problem.y[mine[p]] = given[1, p]
    return worst


@kernel(inline="always")
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


@kernel(inline="always")
def _delassus(rows, chosen, mine, a, scratch):
    """`A = G G^T` of one island into the corner of a; `scratch` is zero before and after."""
    body, val = rows.body, rows.val
    w, d = body.shape[1], val.shape[3]
    for p in range(len(mine)):
        i = chosen[mine[p]]
        a[p, p] = rows.diag[i]
        if w == 2:
            for q in range(p):
                j = chosen[mine[q]]
                total = 0.0
                for e in range(2):
                    for f in range(2):
                        if body[i, e] == body[j, f] and body[i, e] >= 0:
                            for c in range(d):
                                total += val[i, e, 0, c] * val[j, f, 0, c]
                a[p, q] = total
                a[q, p] = total
            continue
        # Rows over many components, as with general mass matrices: expand one, and multiply the others by it.
        for e in range(w):
            if body[i, e] >= 0:
                for c in range(d):
                    scratch[body[i, e], c] = val[i, e, 0, c]
        for q in range(p):
            a[p, q] = row_speed(rows, scratch, chosen[mine[q]], 0)
            a[q, p] = a[p, q]
        for e in range(w):
            if body[i, e] >= 0:
                for c in range(d):
                    scratch[body[i, e], c] = 0.0
