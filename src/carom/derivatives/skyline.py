"""Cholesky factors of `K = G G^T` between the first entry and the diagonal of each row, and null vectors of K.

Rows are in the reversed order of Cuthill and McKee (1969), which puts neighbors close together and islands one after
the other: all islands of a stage are factorized in one go, each at its own small width. A pivot that vanishes belongs
to a row that depends on those before it. It is left out, and gives a null vector of K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints

VANISHED_PIVOT = 1e-12  # pivots up to this share of their diagonal entry are rounding error


class Skyline(NamedTuple):
    """Row r of the factor has the columns r + 1 - (ptr[r + 1] - ptr[r]) to r; the last entry is one over its pivot."""

    order: Ints  # (k,) rows of K in the order of the factor
    ptr: Ints  # (k + 1,)
    value: Floats
    null: Ints  # rows of the factor that depend on those before; one over their pivot is stored as 0


@kernel
def _breadth_first(pairs, start, order, first, seen, mark):
    """Writes the rows that are connected with `start` to `order` from the place `first` on; returns the end."""
    order[first], seen[start], at, end = start, mark, first, first + 1
    while at < end:
        i = order[at]
        at += 1
        for q in range(pairs.ptr[i], pairs.ptr[i + 1]):
            j = pairs.other[q]
            if seen[j] != mark:
                seen[j], order[end], end = mark, j, end + 1
    return end


@kernel
def profile(pairs):
    """Order of the rows, their places in the factor, and the work of a factorization in multiplications."""
    k = len(pairs.ptr) - 1
    order, seen, count = np.empty(k, np.int64), np.zeros(k, np.int8), 0
    for start in range(k):
        if seen[start] == 0:  # the search from the last row of another one is deep and narrow
            end = _breadth_first(pairs, start, order, count, seen, 1)
            count = _breadth_first(pairs, order[end - 1], order, count, seen, 2)
    order = order[::-1].copy()
    place, ptr, work = np.empty(k, np.int64), np.zeros(k + 1, np.int64), 0.0
    for r in range(k):
        place[order[r]] = r
    for r in range(k):
        low = r
        for q in range(pairs.ptr[order[r]], pairs.ptr[order[r] + 1]):
            low = min(low, place[pairs.other[q]])
        ptr[r + 1] = ptr[r] + r - low + 1
        work += 0.5 * (r - low) ** 2
    return order, place, ptr, work


@lean(fastmath={"reassoc"})
def _product(value, a, b, count):
    """`sum_t value[a + t] value[b + t]`, in partial sums."""
    total = 0.0
    for t in range(count):
        total += value[a + t] * value[b + t]
    return total


@kernel
def factorized(pairs, order, place, ptr):
    """The factor of the matrix `pairs`."""
    k = len(order)
    value, null, dependent = np.zeros(ptr[k]), np.empty(k, np.int64), 0
    for r in range(k):
        low, own = r + 1 - (ptr[r + 1] - ptr[r]), ptr[r]
        for q in range(pairs.ptr[order[r]], pairs.ptr[order[r] + 1]):
            if place[pairs.other[q]] <= r:
                value[own + place[pairs.other[q]] - low] = pairs.value[q]
        diagonal = value[own + r - low]
        for c in range(low, r):
            first, last = c + 1 - (ptr[c + 1] - ptr[c]), ptr[c + 1] - 1
            start = max(first, low)
            rest = value[own + c - low] - _product(value, own + start - low, ptr[c] + start - first, c - start)
            value[own + c - low] = rest * value[last]
        pivot = diagonal - _product(value, own, own, r - low)
        if pivot > VANISHED_PIVOT * diagonal:
            value[own + r - low] = 1.0 / np.sqrt(pivot)
        else:
            value[own + r - low] = 0.0
            null[dependent], dependent = r, dependent + 1
    return Skyline(order, ptr, value, null[:dependent])


@kernel(inline="always")
def _backwards(factor, x, last):
    """Solves `L^T x = x` over the rows up to `last`, in place."""
    for r in range(last, -1, -1):
        own, low = factor.ptr[r], r + 1 - (factor.ptr[r + 1] - factor.ptr[r])
        x[r] *= factor.value[own + r - low]
        for c in range(low, r):
            x[c] -= factor.value[own + c - low] * x[r]


@kernel
def solved(factor, b):
    """Solution (k, directions) of `K y = b` in which dependent rows have none; b must be in the range of K."""
    k, out, x = len(factor.order), np.empty(b.shape), np.empty(len(factor.order))
    for p in range(b.shape[1]):
        for r in range(k):
            own, low = factor.ptr[r], r + 1 - (factor.ptr[r + 1] - factor.ptr[r])
            total = b[factor.order[r], p]
            for c in range(low, r):
                total -= factor.value[own + c - low] * x[c]
            x[r] = total * factor.value[own + r - low]
        _backwards(factor, x, k - 1)
        for r in range(k):
            out[factor.order[r], p] = x[r]
    return out


@kernel
def null_vectors(factor):
    """Null vectors (k, nullity) of K, each from one row that depends on those before it."""
    k, x = len(factor.order), np.empty(len(factor.order))
    out = np.zeros((k, len(factor.null)))
    for p in range(len(factor.null)):
        row = factor.null[p]
        own, low = factor.ptr[row], row + 1 - (factor.ptr[row + 1] - factor.ptr[row])
        x[:] = 0.0
        for c in range(low, row):
            x[c] = -factor.value[own + c - low]
        _backwards(factor, x, row - 1)
        x[row] = 1.0
        for r in range(row + 1):
            out[factor.order[r], p] = x[r]
    return out
