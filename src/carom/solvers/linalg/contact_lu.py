"""Sparse block LU factorization of `I + G^T Q G`, with one r x r block Q per contact, not symmetric.

The pattern is that of the contacts, and the elimination order is that of minimum degree, as in `factor.py`. There is no
pivoting between blocks, only within diagonal blocks: the matrix is the identity plus the terms of the contacts, which
are positive definite except for the dependence of friction on the normal impulses.

`axes` is a tuple whose length d, known at compile time, is the size of a block. Blocks of one component (d = 1) are
those of joint space and of mechanisms, whose rows are long: there the matrix is one dense array, `Matrix.low[0]`,
without an order of elimination. To look up a block for each pair of components took ten times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel, lean
from ..rows import LOOSE_SUMS, Floats, Ints
from .ordering import factor_columns, minimum_degree, neighbors, renumbered


class Pattern(NamedTuple):
    """Bodies in order of elimination, and the blocks below the diagonal; those above it have the transposed pattern."""

    body: Ints  # (k, w) bodies of the contacts, -1 for none
    place: Ints  # (n,) place of each body in the order of elimination
    order: Ints  # (n,) body at each place
    col_ptr: Ints  # (n + 1,)
    col_row: Ints  # rows of each column, ascending
    slot: Ints  # (k, w, w) block below the diagonal of two bodies of a contact, -1 for one body


class Matrix(NamedTuple):
    """Blocks on the diagonal, below it by column, and above it by row; all of the matrix in `low[0]` if d = 1."""

    diagonal: Floats  # (n, d, d)
    low: Floats  # (blocks, d, d)
    up: Floats
    scratch: Floats
    slot: Ints  # (n,) scratch


@kernel
def pattern_of(axes, body, n):
    """The pattern for contacts of the given bodies (k, w); -1 for none."""
    k, w = body.shape
    if len(axes) == 1:
        every = np.arange(n)
        return Pattern(body, every, every, np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros((0, 0, 0), np.int64))
    ptr, flat = np.zeros(k + 1, np.int64), np.empty(w * k, np.int64)
    used = 0
    for p in range(k):
        for side in range(w):
            if body[p, side] >= 0:
                flat[used] = body[p, side]
                used += 1
        ptr[p + 1] = used
    adj_ptr, adj = neighbors(ptr, flat[:used], n)
    order = minimum_degree(adj_ptr, adj)
    place = np.empty(n, np.int64)
    for j in range(n):
        place[order[j]] = j
    adj_ptr, adj = renumbered(adj_ptr, adj, order)
    col_ptr, col_row, _ = factor_columns(adj_ptr, adj, np.arange(n))
    slot = np.full((k, w, w), -1, np.int64)
    for p in range(k):
        for i in range(w):
            for j in range(i):
                if body[p, i] >= 0 and body[p, j] >= 0:
                    low, high = place[body[p, i]], place[body[p, j]]
                    if low > high:
                        low, high = high, low
                    first, last = col_ptr[low], col_ptr[low + 1]
                    while last - first > 1:  # rows ascend
                        middle = (first + last) // 2
                        if col_row[middle] <= high:
                            first = middle
                        else:
                            last = middle
                    slot[p, i, j] = slot[p, j, i] = first
    return Pattern(body, place, order, col_ptr, col_row, slot)


@kernel(inline="always")
def multiplications(axes, pattern):
    """Number of multiplications of one factorization."""
    if len(axes) == 1:
        return len(pattern.place) ** 3 / 3.0
    total = 0.0
    for j in range(len(pattern.place)):
        c = pattern.col_ptr[j + 1] - pattern.col_ptr[j]
        total += (c + 1.0) ** 2
    return total * len(axes) ** 3


@kernel(inline="always")
def matrix_room(axes, rows, pattern):
    """Memory for a matrix of the given pattern, of contacts with as many rows as `rows` has items."""
    n, blocks, d, r, slot = len(pattern.place), len(pattern.col_row), len(axes), len(rows), np.empty(0, np.int64)
    if d == 1:
        none = np.empty((0, 1, 1))
        return Matrix(none, np.empty((1, n, n)), none, np.empty((r + 1, n)), slot)
    slot, scratch = np.empty(n, np.int64), np.empty((max(r, d), 2 * d))
    return Matrix(np.empty((n, d, d)), np.empty((blocks, d, d)), np.empty((blocks, d, d)), scratch, slot)


@lean
def assemble(axes, rows, pattern, contacts, val, q, matrix):
    """`I + G^T q G`, q (k, r, r), for the rows `val[contacts]` (k, w, r, d)."""
    d, r, n, body = len(axes), len(rows), len(pattern.place), pattern.body
    if d == 1:
        _assemble_dense(rows, body, contacts, val, q, matrix.low[0], matrix.scratch)
        return
    for a in range(len(matrix.low)):
        for s in range(d):
            for c in range(d):
                matrix.low[a, s, c] = matrix.up[a, s, c] = 0.0
    for b in range(n):
        for s in range(d):
            for c in range(d):
                matrix.diagonal[b, s, c] = 1.0 if s == c else 0.0
    part = matrix.scratch
    for p in range(len(q)):
        steep, row = 0.0, val[contacts[p]]
        for s in range(r):
            steep += q[p, s, s]
        if steep == 0.0:
            continue
        for j in range(body.shape[1]):
            if body[p, j] < 0:
                continue
            for s in range(r):
                for c in range(d):
                    total = 0.0
                    for e in range(r):
                        total += q[p, s, e] * row[j, e, c]
                    part[s, c] = total
            column = pattern.place[body[p, j]]
            for i in range(body.shape[1]):
                if body[p, i] < 0:
                    continue
                at, out = pattern.place[body[p, i]], matrix.diagonal[column]
                if at != column:
                    out = matrix.low[pattern.slot[p, i, j]] if at > column else matrix.up[pattern.slot[p, i, j]]
                _add(axes, rows, out, row[i], part)


@kernel(inline="always")
def _add(axes, rows, out, left, part):
    """out += left^T part"""
    for a in range(len(axes)):
        for c in range(len(axes)):
            total = out[a, c]
            for s in range(len(rows)):
                total += left[s, a] * part[s, c]
            out[a, c] = total


@lean
def eliminate(axes, pattern, matrix):
    """Factors in place: inverses of the pivots, `L` with unit pivots below them, `U` above them."""
    n, d = len(matrix.diagonal), len(axes)
    if d == 1:
        _eliminate_dense(matrix.low[0])
        return
    low, up, scratch, slot = matrix.low, matrix.up, matrix.scratch, matrix.slot
    for j in range(n):
        _invert(axes, matrix.diagonal[j], scratch)
        first, last = pattern.col_ptr[j], pattern.col_ptr[j + 1]
        for a in range(first, last):
            _times(axes, low[a], matrix.diagonal[j], scratch)
        for a in range(first, last):
            s = pattern.col_row[a]
            _subtract(axes, matrix.diagonal[s], low[a], up[a])
            for e in range(pattern.col_ptr[s], pattern.col_ptr[s + 1]):
                slot[pattern.col_row[e]] = e
            for b in range(a + 1, last):
                e = slot[pattern.col_row[b]]
                _subtract(axes, low[e], low[b], up[a])
                _subtract(axes, up[e], low[a], up[b])


@kernel(inline="always")
def _subtract(axes, out, a, b):
    """out -= a b"""
    for i in range(len(axes)):
        for c in range(len(axes)):
            total = 0.0
            for e in range(len(axes)):
                total += a[i, e] * b[e, c]
            out[i, c] -= total


@kernel(inline="always")
def _times(axes, a, b, scratch):
    """a <- a b"""
    for i in range(len(axes)):
        for c in range(len(axes)):
            total = 0.0
            for e in range(len(axes)):
                total += a[i, e] * b[e, c]
            scratch[i, c] = total
    for i in range(len(axes)):
        for c in range(len(axes)):
            a[i, c] = scratch[i, c]


@kernel(inline="always")
def _invert(axes, a, work):
    """Inverts a in place, by Gauss-Jordan elimination with row exchanges."""
    d = len(axes)
    for i in range(d):
        for c in range(d):
            work[i, c], work[i, d + c] = a[i, c], (1.0 if i == c else 0.0)
    for j in range(d):
        best = j
        for i in range(j + 1, d):
            if abs(work[i, j]) > abs(work[best, j]):
                best = i
        if best != j:
            for c in range(2 * d):
                work[j, c], work[best, c] = work[best, c], work[j, c]
        pivot = work[j, j] if work[j, j] != 0.0 else 1e-300  # the solution will be useless, which the caller detects
        for c in range(2 * d):
            work[j, c] /= pivot
        for i in range(d):
            if i != j:
                f = work[i, j]
                for c in range(2 * d):
                    work[i, c] -= f * work[j, c]
    for i in range(d):
        for c in range(d):
            a[i, c] = work[i, d + c]


@lean
def solve_eliminated(axes, pattern, matrix, right, x):
    """Solves for `right` (n, d), in the order of bodies, in place of x; `right` is overwritten."""
    n, order = len(matrix.diagonal), pattern.order
    if len(axes) == 1:
        _solve_dense(matrix.low[0], right, x)
        return
    for j in range(n):
        for a in range(pattern.col_ptr[j], pattern.col_ptr[j + 1]):
            i = order[pattern.col_row[a]]
            for s in range(len(axes)):
                for c in range(len(axes)):
                    right[i, s] -= matrix.low[a, s, c] * right[order[j], c]
    for j in range(n - 1, -1, -1):
        b = order[j]
        for a in range(pattern.col_ptr[j], pattern.col_ptr[j + 1]):
            i = order[pattern.col_row[a]]
            for s in range(len(axes)):
                for c in range(len(axes)):
                    right[b, s] -= matrix.up[a, s, c] * x[i, c]
        for s in range(len(axes)):
            x[b, s] = 0.0
            for c in range(len(axes)):
                x[b, s] += matrix.diagonal[j, s, c] * right[b, c]


# ---- one component per block: a dense matrix


@lean(fastmath=LOOSE_SUMS)
def _assemble_dense(rows, body, contacts, val, q, out, scratch):
    """Writes `I + G^T q G` (n, n)."""
    n, r = len(out), len(rows)
    dense, part = scratch[:r], scratch[r]
    for s in range(r):
        for i in range(n):
            dense[s, i] = 0.0
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for p in range(len(q)):
        for j in range(body.shape[1]):
            if body[p, j] >= 0:
                for s in range(r):
                    dense[s, body[p, j]] = val[contacts[p], j, s, 0]
        for s in range(r):
            acts = False
            for c in range(n):
                part[c] = 0.0
            for e in range(r):
                if q[p, s, e] != 0.0:
                    acts = True
                    for c in range(n):
                        part[c] += q[p, s, e] * dense[e, c]
            for i in range(n if acts else 0):
                own = dense[s, i]
                for c in range(n if own != 0.0 else 0):
                    out[i, c] += own * part[c]
        for j in range(body.shape[1]):
            if body[p, j] >= 0:
                for s in range(r):
                    dense[s, body[p, j]] = 0.0


@lean(fastmath=LOOSE_SUMS)
def _eliminate_dense(a):
    """Factors in place: unit L below the diagonal, U on and above it."""
    n = len(a)
    for j in range(n):
        pivot = a[j, j] if a[j, j] != 0.0 else 1e-300  # the solution will be useless, which the caller detects
        for i in range(j + 1, n):
            factor = a[i, j] / pivot
            a[i, j] = factor
            for c in range(j + 1, n if factor != 0.0 else 0):
                a[i, c] -= factor * a[j, c]


@lean(fastmath=LOOSE_SUMS)
def _solve_dense(a, right, x):
    """Solves for `right` (n, 1) in place of x; `right` is overwritten."""
    n = len(a)
    for i in range(n):
        total = right[i, 0]
        for c in range(i):
            total -= a[i, c] * right[c, 0]
        right[i, 0] = total
    for i in range(n - 1, -1, -1):
        total = right[i, 0]
        for c in range(i + 1, n):
            total -= a[i, c] * x[c, 0]
        x[i, 0] = total / (a[i, i] if a[i, i] != 0.0 else 1e-300)
