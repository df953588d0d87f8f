"""Fronts of a sparse Cholesky factor: supernodes of columns with nearly equal rows, and the dense operations on fronts.

Nodes are numbered in order of elimination throughout. The parent of a node is the first row below the diagonal of its
column, and the column without that row is part of the parent's column.

A front is a lower triangle with front[c, r] = H[r, c], so that a column of H is contiguous. Entries above the diagonal
are arbitrary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel, lean
from ..rows import Ints
from .ordering import elimination_tree, factor_columns, renumbered

# Consecutive supernodes, of which the second is the parent of the first, become one if the zeros that are stored then
# make up at most this share of it, for up to this number of scalar columns: narrow fronts cost more calls than work.
NARROW_FRONT, NARROW_ZEROS = 16, 0.5
MEDIUM_FRONT, MEDIUM_ZEROS = 48, 0.2
WIDE_ZEROS = 0.05
FRONT_BLOCK = 32  # columns that are eliminated before the rest of the front is updated
FRONT_CHUNK = 128  # rows updated at a time: with FRONT_BLOCK columns they fit into the first-level cache


# ---- supernodes


class Supernodes(NamedTuple):
    """Consecutive columns that share their rows below the last of them, in postorder of the tree."""

    first: Ints  # (s + 1,) supernode k owns columns first[k]:first[k+1]
    row_ptr: Ints  # (s + 1,)
    row: Ints  # rows below the columns, ascending
    parent: Ints  # (s,) supernode of the first row, -1 for none
    child: Ints  # (s,) first child, -1 for none
    sibling: Ints  # (s,) next child of the same parent, ascending, -1 for none
    place: Ints  # of each row: its place among the columns and then the rows of the parent, counted from 0


@kernel(inline="always")
def postorder(parent, count):
    """Nodes of the tree with children before parents and each subtree contiguous; the child with most rows last."""
    n = len(parent)
    first, following = np.full(n + 1, -1, np.int64), np.full(n, -1, np.int64)
    for k in range(n - 1, -1, -1):  # slot n: the roots
        p = parent[k] if parent[k] >= 0 else n
        following[k] = first[p]
        first[p] = k
    for p in range(n):
        largest, before, k, last = first[p], -1, first[p], -1
        ahead = -1
        while k >= 0:
            if count[k] > count[largest]:
                largest, before = k, ahead
            ahead = k
            last = k
            k = following[k]
        if largest != last:
            if before < 0:
                first[p] = following[largest]
            else:
                following[before] = following[largest]
            following[last] = largest
            following[largest] = -1
    order, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    done, root = 0, first[n]
    while root >= 0:
        stack[0], depth = root, 1
        while depth > 0:
            k = stack[depth - 1]
            if first[k] >= 0:
                stack[depth] = first[k]
                first[k] = following[first[k]]
                depth += 1
            else:
                order[done] = k
                done += 1
                depth -= 1
        root = following[root]
    return order


@kernel
def in_postorder(adj_ptr, adj, order):
    """(order, neighbor lists, parents, counts): the order changed to a postorder of its tree, and what is so numbered.

    The factor has the same entries. Children come right before their parents, which makes supernodes contiguous.
    """
    n = len(order)
    early_ptr, early = renumbered(adj_ptr, adj, order)
    parent, count = elimination_tree(early_ptr, early, np.arange(n))
    late = postorder(parent, count)
    position, up = np.empty(n, np.int64), np.full(n, -1, np.int64)
    for k in range(n):
        position[late[k]] = k
    for k in range(n):
        if parent[late[k]] >= 0:
            up[k] = position[parent[late[k]]]
    adj_ptr, adj = renumbered(early_ptr, early, late)
    return order[late], adj_ptr, adj, up, count[late]


@kernel
def supernodes(adj_ptr, adj, parent, count, d):
    """Supernodes of a pattern of d x d blocks with this elimination tree; the nodes must be in postorder."""
    first = _column_groups(parent, count, d)
    s, n = len(first) - 1, len(parent)
    owner = np.empty(n, np.int64)
    for k in range(s):
        owner[first[k] : first[k + 1]] = k
    row_ptr, row, above = factor_columns(adj_ptr, adj, owner)
    child, sibling = np.full(s, -1, np.int64), np.full(s, -1, np.int64)
    for k in range(s - 1, -1, -1):
        if above[k] >= 0:
            sibling[k] = child[above[k]]
            child[above[k]] = k
    place, where = np.empty(len(row), np.int64), np.empty(n, np.int64)
    for k in range(s):
        c = child[k]
        if c < 0:
            continue
        for r in range(first[k], first[k + 1]):
            where[r] = r - first[k]
        for q in range(row_ptr[k], row_ptr[k + 1]):
            where[row[q]] = first[k + 1] - first[k] + q - row_ptr[k]
        while c >= 0:
            for q in range(row_ptr[c], row_ptr[c + 1]):
                place[q] = where[row[q]]
            c = sibling[c]
    return Supernodes(first, row_ptr, row, above, child, sibling, place)


@kernel(inline="always")
def _column_groups(parent, count, d):
    """First column of each supernode, (s + 1,)."""
    n = len(parent)
    first, s = np.empty(n + 1, np.int64), 0
    for k in range(n):
        if k == 0 or parent[k - 1] != k or count[k - 1] != count[k] + 1:
            first[s] = k
            s += 1
    first[s] = n
    # From the last to the first, each is merged with the one after it where that is worth while.
    groups, kept = np.empty(s + 1, np.int64), s
    groups[s] = n
    width, height, zeros, end = 0, 0, 0.0, 0
    for k in range(s - 1, -1, -1):
        own, rows = first[k + 1] - first[k], count[first[k]] + 1
        up = parent[first[k + 1] - 1]
        missing = float(own) * (own + height - rows)
        both = own + width
        stored = 0.5 * both * (both + 1) + float(both) * (height - width)
        if up >= 0 and up < end and zeros + missing <= _zeros_allowed(both * d) * stored:
            width, height, zeros = both, own + height, zeros + missing
        else:
            kept -= 1
            width, height, zeros, end = own, rows, 0.0, first[k + 1]
        groups[kept] = first[k]
    return groups[kept:].copy()


@kernel(inline="always")
def _zeros_allowed(width):
    return NARROW_ZEROS if width <= NARROW_FRONT else (MEDIUM_ZEROS if width <= MEDIUM_FRONT else WIDE_ZEROS)


# ---- dense operations


@lean
def eliminate_columns(front, columns):
    """Cholesky factor of the first columns, in place, and the Schur complement in the others."""
    size = len(front)
    for a in range(0, columns, FRONT_BLOCK):
        b = min(a + FRONT_BLOCK, columns)
        for k in range(a, b):
            _subtract(front, k, a, k, k, size)
            # H >= I, so a pivot below one is a rounding error.
            pivot = np.sqrt(max(front[k, k], 1e-3))
            front[k, k] = pivot
            column, share = front[k], 1.0 / pivot
            for r in range(k + 1, size):
                column[r] *= share
        for low in range(b, size, FRONT_CHUNK):
            high = min(low + FRONT_CHUNK, size)
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
