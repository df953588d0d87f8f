"""Sparse block Cholesky factorization of `H = I + G^T D G`, the matrix of an island in velocity space.

H has one d x d block for each pair of bodies in contact and is positive definite for every D >= 0, although the
Delassus matrix `G G^T` of the same island is often singular. The pattern depends on the contacts alone: it is
analyzed once, then factored for each new D.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..rows import Floats, Ints
from .ordering import minimum_degree


class Island(NamedTuple):
    """The rows of an island, scaled, over its bodies numbered in order of elimination."""

    ptr: Ints  # (k + 1,) contact i owns entries ptr[i]:ptr[i+1]
    body: Ints  # (nnz,)
    val: Floats  # (nnz, d)
    bodies: int
    col_ptr: Ints  # (bodies + 1,) off-diagonal blocks of each factor column
    col_row: Ints  # their rows, ascending
    pair_ptr: Ints  # (k + 1,) contact i owns slots pair[pair_ptr[i]:pair_ptr[i+1]]
    pair: Ints  # factor slot of each pair of its entries (first < second in order of entries)


@kernel
def analyze(rows, contacts, scale, local):
    """The island of the given contacts, with rows multiplied by `scale` (k,); `local` is (n,) integer scratch."""
    k, d = len(contacts), rows.val.shape[1]
    ptr = np.zeros(k + 1, np.int64)
    for i in range(k):
        ptr[i + 1] = ptr[i] + rows.ptr[contacts[i] + 1] - rows.ptr[contacts[i]]
    body, val = np.empty(ptr[k], np.int64), np.empty((ptr[k], d))
    for i in contacts:
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            local[rows.body[e]] = -1
    n = 0
    for i in range(k):
        for e in range(rows.ptr[contacts[i]], rows.ptr[contacts[i] + 1]):
            b = rows.body[e]
            if local[b] < 0:
                local[b] = n
                n += 1
            at = ptr[i] + e - rows.ptr[contacts[i]]
            body[at] = local[b]
            for t in range(d):
                val[at, t] = rows.val[e, t] * scale[i]
    adj_ptr, adj = neighbors(ptr, body, n)
    order, col_ptr, col = minimum_degree(adj_ptr, adj)
    position = np.empty(n, np.int64)
    for p in range(n):
        position[order[p]] = p
    col_row = sorted_columns(n, col_ptr, col, position)
    for e in range(len(body)):
        body[e] = position[body[e]]
    pair_ptr, pair = _slots(ptr, body, col_ptr, col_row)
    return Island(ptr, body, val, n, col_ptr, col_row, pair_ptr, pair)


@kernel
def neighbors(ptr, body, n):
    """Neighbor lists (pointers, bodies) of bodies that share a contact, without duplicates."""
    count = np.zeros(n + 1, np.int64)
    for i in range(len(ptr) - 1):
        w = ptr[i + 1] - ptr[i]
        for e in range(ptr[i], ptr[i + 1]):
            count[body[e] + 1] += w - 1
    for b in range(n):
        count[b + 1] += count[b]
    fill = count[:-1].copy()
    raw = np.empty(count[n], np.int64)
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            for f in range(ptr[i], ptr[i + 1]):
                if e != f:
                    raw[fill[body[e]]] = body[f]
                    fill[body[e]] += 1
    adj_ptr, used = np.zeros(n + 1, np.int64), 0
    seen = np.full(n, -1, np.int64)
    for b in range(n):
        for q in range(count[b], count[b + 1]):
            if seen[raw[q]] != b:
                seen[raw[q]] = b
                raw[used] = raw[q]
                used += 1
        adj_ptr[b + 1] = used
    return adj_ptr, raw[:used].copy()


@kernel
def sorted_columns(n, col_ptr, col, position):
    """Rows of each column as positions, ascending: two transpositions sort in linear time."""
    count = np.zeros(n + 1, np.int64)
    for v in col:
        count[position[v] + 1] += 1
    for r in range(n):
        count[r + 1] += count[r]
    by_row = np.empty(len(col), np.int64)
    for c in range(n):
        for q in range(col_ptr[c], col_ptr[c + 1]):
            r = position[col[q]]
            by_row[count[r]] = c
            count[r] += 1
    out = np.empty(len(col), np.int64)
    fill = col_ptr[:-1].copy()
    at = 0
    for r in range(n):
        while at < count[r]:
            c = by_row[at]
            out[fill[c]] = r
            fill[c] += 1
            at += 1
    return out


@kernel
def _slots(ptr, body, col_ptr, col_row):
    k = len(ptr) - 1
    pair_ptr = np.zeros(k + 1, np.int64)
    for i in range(k):
        w = ptr[i + 1] - ptr[i]
        pair_ptr[i + 1] = pair_ptr[i] + w * (w - 1) // 2
    pair = np.empty(pair_ptr[k], np.int64)
    for i in range(k):
        at = pair_ptr[i]
        for e in range(ptr[i], ptr[i + 1]):
            for f in range(e + 1, ptr[i + 1]):
                low, high = min(body[e], body[f]), max(body[e], body[f])
                a, b = col_ptr[low], col_ptr[low + 1]
                while b - a > 1:
                    middle = (a + b) >> 1
                    if col_row[middle] <= high:
                        a = middle
                    else:
                        b = middle
                pair[at] = a
                at += 1
    return pair_ptr, pair


@kernel
def factorise(island, weight, diagonal, blocks):
    """Factor of `I + G^T diag(weight) G` into `diagonal` (n, d, d) and `blocks` (nnz, d, d)."""
    n, d = island.bodies, island.val.shape[1]
    _assemble(island, weight, diagonal, blocks)
    head, link = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    place = island.col_ptr[:-1].copy()  # of each finished column: the row that it updates next
    slot = np.empty(n, np.int64)
    for j in range(n):
        first, last = island.col_ptr[j], island.col_ptr[j + 1]
        for q in range(first, last):
            slot[island.col_row[q]] = q
        c = head[j]
        while c >= 0:
            following = link[c]
            p = place[c]
            _subtract(diagonal, j, blocks, p, blocks, p, d)
            for q in range(p + 1, island.col_ptr[c + 1]):
                _subtract(blocks, slot[island.col_row[q]], blocks, q, blocks, p, d)
            place[c] = p + 1
            if p + 1 < island.col_ptr[c + 1]:
                r = island.col_row[p + 1]
                link[c] = head[r]
                head[r] = c
            c = following
        _small_cholesky(diagonal, j, d)
        for q in range(first, last):
            _divide(blocks, q, diagonal, j, d)
        if first < last:
            r = island.col_row[first]
            link[j] = head[r]
            head[r] = j


@kernel
def _assemble(island, weight, diagonal, blocks):
    n, d = island.bodies, island.val.shape[1]
    diagonal[:] = 0.0
    blocks[:] = 0.0
    for b in range(n):
        for s in range(d):
            diagonal[b, s, s] = 1.0
    body, val = island.body, island.val
    for i in range(len(weight)):
        w = weight[i]
        if w == 0.0:
            continue
        at = island.pair_ptr[i]
        for e in range(island.ptr[i], island.ptr[i + 1]):
            for s in range(d):
                for t in range(s + 1):
                    diagonal[body[e], s, t] += w * val[e, s] * val[e, t]
            for f in range(e + 1, island.ptr[i + 1]):
                high, low = (e, f) if body[e] > body[f] else (f, e)
                for s in range(d):
                    for t in range(d):
                        blocks[island.pair[at], s, t] += w * val[high, s] * val[low, t]
                at += 1


@kernel(inline="always")
def _subtract(out, o, a, i, b, j, d):
    """out[o] -= a[i] b[j]^T"""
    if d == 2:
        a00, a01, a10, a11 = a[i, 0, 0], a[i, 0, 1], a[i, 1, 0], a[i, 1, 1]
        b00, b01, b10, b11 = b[j, 0, 0], b[j, 0, 1], b[j, 1, 0], b[j, 1, 1]
        out[o, 0, 0] -= a00 * b00 + a01 * b01
        out[o, 0, 1] -= a00 * b10 + a01 * b11
        out[o, 1, 0] -= a10 * b00 + a11 * b01
        out[o, 1, 1] -= a10 * b10 + a11 * b11
    elif d == 3:  # unrolled for rigid bodies in 2D: the loops below take twice the time
        for t in range(3):
            b0, b1, b2 = b[j, t, 0], b[j, t, 1], b[j, t, 2]
            out[o, 0, t] -= a[i, 0, 0] * b0 + a[i, 0, 1] * b1 + a[i, 0, 2] * b2
            out[o, 1, t] -= a[i, 1, 0] * b0 + a[i, 1, 1] * b1 + a[i, 1, 2] * b2
            out[o, 2, t] -= a[i, 2, 0] * b0 + a[i, 2, 1] * b1 + a[i, 2, 2] * b2
    else:
        for s in range(d):
            for t in range(d):
                total = 0.0
                for r in range(d):
                    total += a[i, s, r] * b[j, t, r]
                out[o, s, t] -= total


@kernel(inline="always")
def _small_cholesky(a, j, d):
    """Lower factor of a[j] in place; its upper part is left alone."""
    for s in range(d):
        for t in range(s + 1):
            total = a[j, s, t]
            for r in range(t):
                total -= a[j, s, r] * a[j, t, r]
            if s == t:
                # H >= I, so a pivot below one is a rounding error.
                a[j, s, s] = np.sqrt(max(total, 1e-3))
            else:
                a[j, s, t] = total / a[j, t, t]


@kernel(inline="always")
def _divide(blocks, q, diagonal, j, d):
    """blocks[q] <- blocks[q] L^-T with L = diagonal[j]"""
    for s in range(d):
        for t in range(d):
            total = blocks[q, s, t]
            for r in range(t):
                total -= blocks[q, s, r] * diagonal[j, t, r]
            blocks[q, s, t] = total / diagonal[j, t, t]


@kernel
def solve_factored(island, diagonal, blocks, x):
    """Solves `L L^T x = x` in place, x of shape (n, d)."""
    n, d = x.shape
    for j in range(n):
        for s in range(d):
            total = x[j, s]
            for r in range(s):
                total -= diagonal[j, s, r] * x[j, r]
            x[j, s] = total / diagonal[j, s, s]
        for q in range(island.col_ptr[j], island.col_ptr[j + 1]):
            r = island.col_row[q]
            for s in range(d):
                for t in range(d):
                    x[r, s] -= blocks[q, s, t] * x[j, t]
    for j in range(n - 1, -1, -1):
        for q in range(island.col_ptr[j], island.col_ptr[j + 1]):
            r = island.col_row[q]
            for t in range(d):
                for s in range(d):
                    x[j, t] -= blocks[q, s, t] * x[r, s]
        for s in range(d - 1, -1, -1):
            total = x[j, s]
            for r in range(s + 1, d):
                total -= diagonal[j, r, s] * x[j, r]
            x[j, s] = total / diagonal[j, s, s]


@kernel
def combine(island, z):
    """`x = G^T z`, of shape (bodies, d)."""
    x = np.zeros((island.bodies, island.val.shape[1]))
    for i in range(len(z)):
        if z[i] != 0.0:
            for e in range(island.ptr[i], island.ptr[i + 1]):
                for t in range(x.shape[1]):
                    x[island.body[e], t] += island.val[e, t] * z[i]
    return x


@kernel
def gradient(island, x, g0, out):
    """`out = G x + g0`."""
    for i in range(len(out)):
        total = g0[i]
        for e in range(island.ptr[i], island.ptr[i + 1]):
            for t in range(x.shape[1]):
                total += island.val[e, t] * x[island.body[e], t]
        out[i] = total
