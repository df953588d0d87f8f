"""Sparse block LU factorization of `I + G^T Q G`, with one 3 x 3 block Q per contact, not symmetric.

The pattern is that of the contacts, and the elimination order is that of minimum degree, as in `factor.py`. There is no
pivoting between blocks, only within diagonal blocks: the matrix is the identity plus the terms of the contacts, which
are positive definite except for the dependence of friction on the normal impulses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..rows import Ints
from .elimination import factor_columns, renumbered
from .factor import neighbors
from .ordering import minimum_degree

WIDTH = 6  # velocity components of a body in 3D: the size of a block


class Pattern(NamedTuple):
    """Bodies in order of elimination, and the blocks below the diagonal; those above it have the transposed pattern."""

    place: Ints  # (n,) place of each body in the order of elimination
    col_ptr: Ints  # (n + 1,)
    col_row: Ints  # rows of each column, ascending
    pair: Ints  # (k,) block of the two bodies of each contact, -1 for contacts of one body


@kernel
def pattern_of(body, n):
    """The pattern for contacts of the given bodies (k, 2), -1 for none."""
    k = len(body)
    ptr, flat = np.zeros(k + 1, np.int64), np.empty(2 * k, np.int64)
    used = 0
    for p in range(k):
        for side in range(2):
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
    col_ptr, col_row = factor_columns(adj_ptr, adj)
    pair = np.full(k, -1, np.int64)
    for p in range(k):
        if body[p, 0] >= 0 and body[p, 1] >= 0:
            low, high = place[body[p, 0]], place[body[p, 1]]
            if low > high:
                low, high = high, low
            at = col_ptr[low]
            while col_row[at] != high:
                at += 1
            pair[p] = at
    return Pattern(place, col_ptr, col_row, pair)


@kernel
def multiplications(pattern):
    """Number of multiplications of one factorization."""
    total = 0.0
    for j in range(len(pattern.place)):
        c = pattern.col_ptr[j + 1] - pattern.col_ptr[j]
        total += (c + 1.0) ** 2
    return total * WIDTH**3


@kernel
def assemble_blocks(blocks, pattern, q, diagonal, low, up):
    """`I + G^T q G`, q (k, 3, 3): blocks on the diagonal, below it by column, and above it by row."""
    for b in range(len(diagonal)):
        for r in range(WIDTH):
            for c in range(WIDTH):
                diagonal[b, r, c] = 1.0 if r == c else 0.0
    for b in range(len(low)):
        for r in range(WIDTH):
            for c in range(WIDTH):
                low[b, r, c] = up[b, r, c] = 0.0
    part = np.empty((3, WIDTH))
    for p in range(len(q)):
        if q[p, 0, 0] == 0.0:
            continue
        for j in range(2):
            if blocks.body[p, j] < 0:
                continue
            for s in range(3):
                for c in range(WIDTH):
                    part[s, c] = (
                        q[p, s, 0] * blocks.val[p, j, 0, c]
                        + q[p, s, 1] * blocks.val[p, j, 1, c]
                        + q[p, s, 2] * blocks.val[p, j, 2, c]
                    )
            column = pattern.place[blocks.body[p, j]]
            for i in range(2):
                if blocks.body[p, i] < 0:
                    continue
                row = pattern.place[blocks.body[p, i]]
                if row == column:
                    _add(diagonal[row], blocks.val[p, i], part)
                elif row > column:
                    _add(low[pattern.pair[p]], blocks.val[p, i], part)
                else:
                    _add(up[pattern.pair[p]], blocks.val[p, i], part)


@kernel
def _add(out, rows, part):
    """out += rows^T part"""
    for r in range(WIDTH):
        for c in range(WIDTH):
            out[r, c] += rows[0, r] * part[0, c] + rows[1, r] * part[1, c] + rows[2, r] * part[2, c]


@kernel
def eliminate(pattern, diagonal, low, up):
    """Factors in place: inverses of the pivots, `L` with unit pivots below them, `U` above them."""
    n = len(diagonal)
    slot = np.empty(n, np.int64)
    scratch = np.empty((WIDTH, 2 * WIDTH))
    for j in range(n):
        _invert(diagonal[j], scratch)
        first, last = pattern.col_ptr[j], pattern.col_ptr[j + 1]
        for a in range(first, last):
            _times(low[a], diagonal[j], scratch)
        for a in range(first, last):
            s = pattern.col_row[a]
            _subtract(diagonal[s], low[a], up[a])
            for e in range(pattern.col_ptr[s], pattern.col_ptr[s + 1]):
                slot[pattern.col_row[e]] = e
            for b in range(a + 1, last):
                e = slot[pattern.col_row[b]]
                _subtract(low[e], low[b], up[a])
                _subtract(up[e], low[a], up[b])


@kernel
def _subtract(out, a, b):
    """out -= a b"""
    for r in range(WIDTH):
        a0, a1, a2, a3, a4, a5 = a[r, 0], a[r, 1], a[r, 2], a[r, 3], a[r, 4], a[r, 5]
        for c in range(WIDTH):
            out[r, c] -= a0 * b[0, c] + a1 * b[1, c] + a2 * b[2, c] + a3 * b[3, c] + a4 * b[4, c] + a5 * b[5, c]


@kernel
def _times(a, b, scratch):
    """a <- a b"""
    for r in range(WIDTH):
        for c in range(WIDTH):
            total = 0.0
            for e in range(WIDTH):
                total += a[r, e] * b[e, c]
            scratch[r, c] = total
    for r in range(WIDTH):
        for c in range(WIDTH):
            a[r, c] = scratch[r, c]


@kernel
def _invert(a, work):
    """Inverts a in place, by Gauss-Jordan elimination with row exchanges."""
    for r in range(WIDTH):
        for c in range(WIDTH):
            work[r, c], work[r, WIDTH + c] = a[r, c], (1.0 if r == c else 0.0)
    for j in range(WIDTH):
        best = j
        for r in range(j + 1, WIDTH):
            if abs(work[r, j]) > abs(work[best, j]):
                best = r
        for c in range(2 * WIDTH):
            work[j, c], work[best, c] = work[best, c], work[j, c]
        pivot = work[j, j] if work[j, j] != 0.0 else 1e-300  # the solution will be useless, which the caller detects
        for c in range(2 * WIDTH):
            work[j, c] /= pivot
        for r in range(WIDTH):
            if r != j:
                f = work[r, j]
                for c in range(2 * WIDTH):
                    work[r, c] -= f * work[j, c]
    for r in range(WIDTH):
        for c in range(WIDTH):
            a[r, c] = work[r, WIDTH + c]


@kernel
def solve_eliminated(pattern, diagonal, low, up, right, x):
    """Solves for `right` (n, WIDTH), in the order of bodies, in place of x; `right` is overwritten."""
    n = len(diagonal)
    order = np.empty(n, np.int64)
    for b in range(n):
        order[pattern.place[b]] = b
    for j in range(n):
        for a in range(pattern.col_ptr[j], pattern.col_ptr[j + 1]):
            i = order[pattern.col_row[a]]
            for r in range(WIDTH):
                for c in range(WIDTH):
                    right[i, r] -= low[a, r, c] * right[order[j], c]
    for j in range(n - 1, -1, -1):
        b = order[j]
        for a in range(pattern.col_ptr[j], pattern.col_ptr[j + 1]):
            i = order[pattern.col_row[a]]
            for r in range(WIDTH):
                for c in range(WIDTH):
                    right[b, r] -= up[a, r, c] * x[i, c]
        for r in range(WIDTH):
            x[b, r] = 0.0
            for c in range(WIDTH):
                x[b, r] += diagonal[j, r, c] * right[b, c]
