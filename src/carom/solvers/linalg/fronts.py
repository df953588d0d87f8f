"""Dense operations on fronts: lower triangles with front[c, r] = H[r, c], so that a column of H is contiguous.

Entries above the diagonal are arbitrary.
"""

from __future__ import annotations

import numpy as np

from ...kernels import lean

BLOCK = 32  # columns that are eliminated before the rest of the front is updated
CHUNK = 128  # rows updated at a time: with BLOCK columns they fit into the first-level cache


@lean
def eliminate_columns(front, columns):
    """Cholesky factor of the first columns, in place, and the Schur complement in the others."""
    size = len(front)
    for a in range(0, columns, BLOCK):
        b = min(a + BLOCK, columns)
        for k in range(a, b):
            _subtract(front, k, a, k, k, size)
            # H >= I, so a pivot below one is a rounding error.
            pivot = np.sqrt(max(front[k, k], 1e-3))
            front[k, k] = pivot
            column, share = front[k], 1.0 / pivot
            for r in range(k + 1, size):
                column[r] *= share
        for low in range(b, size, CHUNK):
            high = min(low + CHUNK, size)
            c = b
            while c + 4 <= high:
                _subtract_four(front, c, a, b, max(c, low), high)
                c += 4
            while c < high:
                _subtract(front, c, a, b, max(c, low), high)
                c += 1


@lean(fastmath={"contract"})
def _subtract(front, c, a, b, low, high):
    """Rows low:high of column c, minus those of columns a:b times their entries in row c.

    Eight columns at a time: each entry of column c is read and written once for eight products. The slices start at the
    rows, so that LLVM sees indices that cannot be negative and uses vector instructions.
    """
    out, n, q = front[c, low:high], high - low, a
    while q + 8 <= b:
        f0, f1, f2, f3 = front[q, c], front[q + 1, c], front[q + 2, c], front[q + 3, c]
        f4, f5, f6, f7 = front[q + 4, c], front[q + 5, c], front[q + 6, c], front[q + 7, c]
        c0, c1, c2, c3 = front[q, low:], front[q + 1, low:], front[q + 2, low:], front[q + 3, low:]
        c4, c5, c6, c7 = front[q + 4, low:], front[q + 5, low:], front[q + 6, low:], front[q + 7, low:]
        for r in range(n):
            out[r] -= (
                (c0[r] * f0 + c1[r] * f1 + c2[r] * f2 + c3[r] * f3)
                + (c4[r] * f4 + c5[r] * f5 + c6[r] * f6 + c7[r] * f7)
            )  # fmt: skip
        q += 8
    if q + 4 <= b:
        f0, f1, f2, f3 = front[q, c], front[q + 1, c], front[q + 2, c], front[q + 3, c]
        c0, c1, c2, c3 = front[q, low:], front[q + 1, low:], front[q + 2, low:], front[q + 3, low:]
        for r in range(n):
            out[r] -= c0[r] * f0 + c1[r] * f1 + c2[r] * f2 + c3[r] * f3
        q += 4
    while q < b:
        f0, c0 = front[q, c], front[q, low:]
        for r in range(n):
            out[r] -= c0[r] * f0
        q += 1


@lean(fastmath={"contract"})
def _subtract_four(front, c, a, b, low, high):
    """`_subtract` for columns c to c + 3: four entries of columns a:b that are read serve for sixteen products.

    It also changes entries of these columns above the diagonal, which have no meaning.
    """
    o0, o1, o2, o3 = front[c, low:high], front[c + 1, low:high], front[c + 2, low:high], front[c + 3, low:high]
    n, q = high - low, a
    while q + 4 <= b:
        f0, f1, f2, f3 = front[q, c], front[q + 1, c], front[q + 2, c], front[q + 3, c]
        g0, g1, g2, g3 = front[q, c + 1], front[q + 1, c + 1], front[q + 2, c + 1], front[q + 3, c + 1]
        h0, h1, h2, h3 = front[q, c + 2], front[q + 1, c + 2], front[q + 2, c + 2], front[q + 3, c + 2]
        e0, e1, e2, e3 = front[q, c + 3], front[q + 1, c + 3], front[q + 2, c + 3], front[q + 3, c + 3]
        c0, c1, c2, c3 = front[q, low:], front[q + 1, low:], front[q + 2, low:], front[q + 3, low:]
        for r in range(n):
            x0, x1, x2, x3 = c0[r], c1[r], c2[r], c3[r]
            o0[r] -= x0 * f0 + x1 * f1 + x2 * f2 + x3 * f3
            o1[r] -= x0 * g0 + x1 * g1 + x2 * g2 + x3 * g3
            o2[r] -= x0 * h0 + x1 * h1 + x2 * h2 + x3 * h3
            o3[r] -= x0 * e0 + x1 * e1 + x2 * e2 + x3 * e3
        q += 4
    if q + 2 <= b:
        f0, g0, h0, e0 = front[q, c], front[q, c + 1], front[q, c + 2], front[q, c + 3]
        f1, g1, h1, e1 = front[q + 1, c], front[q + 1, c + 1], front[q + 1, c + 2], front[q + 1, c + 3]
        c0, c1 = front[q, low:], front[q + 1, low:]
        for r in range(n):
            x0, x1 = c0[r], c1[r]
            o0[r] -= x0 * f0 + x1 * f1
            o1[r] -= x0 * g0 + x1 * g1
            o2[r] -= x0 * h0 + x1 * h1
            o3[r] -= x0 * e0 + x1 * e1
        q += 2
    while q < b:
        c0 = front[q, low:]
        f0, g0, h0, e0 = front[q, c], front[q, c + 1], front[q, c + 2], front[q, c + 3]
        for r in range(n):
            x0 = c0[r]
            o0[r] -= x0 * f0
            o1[r] -= x0 * g0
            o2[r] -= x0 * h0
            o3[r] -= x0 * e0
        q += 1


@lean
def add_front(front, child, place, d):
    """Adds the Schur complement of a child, whose last len(place) blocks have these places in the front.

    Blocks with consecutive places are added at once.
    """
    own, low = len(child) - len(place) * d, 0
    while low < len(place):
        high = low + 1
        while high < len(place) and place[high] == place[high - 1] + 1:
            high += 1
        for p in range(high):
            first = max(low, p)
            for s in range(d):
                source = child[own + p * d + s, own + first * d : own + high * d]
                target = front[place[p] * d + s, place[first] * d :]
                for r in range(len(source)):
                    target[r] += source[r]
        low = high


@lean
def subtract_below(panel, x, y):
    """Forward substitution: x <- L^-1 x for the columns of a panel, and y = -(rows below) x."""
    columns, size = panel.shape
    rows = size - columns
    for r in range(rows):
        y[r] = 0.0
    for c in range(columns):
        column = panel[c]
        x[c] /= column[c]
        value = x[c]
        for r in range(c + 1, columns):
            x[r] -= column[r] * value
        below = panel[c, columns:]
        for r in range(rows):
            y[r] -= below[r] * value


@lean
def product_below(panel, x, y):
    """Back substitution: x <- L^-T (x - (rows below)^T y) for the columns of a panel."""
    columns, size = panel.shape
    for c in range(columns - 1, -1, -1):
        column = panel[c]
        total = x[c] - _dot(panel[c, columns:], y, size - columns)
        for r in range(c + 1, columns):
            total -= column[r] * x[r]
        x[c] = total / column[c]


@lean(fastmath={"reassoc"})
def _dot(a, b, n):
    total = 0.0
    for r in range(n):
        total += a[r] * b[r]
    return total
