"""Pattern of a Cholesky factor: elimination tree, columns, and supernodes of columns with nearly equal rows.

Nodes are numbered in order of elimination throughout. The parent of a node is the first row below the diagonal of its
column, and the column without that row is part of the parent's column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..rows import Ints

# Consecutive supernodes, of which the second is the parent of the first, become one if the zeros that are stored then
# make up at most this share of it, for up to this number of scalar columns: narrow fronts cost more calls than work.
NARROW, NARROW_ZEROS = 16, 0.5
MEDIUM, MEDIUM_ZEROS = 48, 0.2
WIDE_ZEROS = 0.05


class Supernodes(NamedTuple):
    """Consecutive columns that share their rows below the last of them, in postorder of the tree."""

    first: Ints  # (s + 1,) supernode k owns columns first[k]:first[k+1]
    row_ptr: Ints  # (s + 1,)
    row: Ints  # rows below the columns, ascending
    parent: Ints  # (s,) supernode of the first row, -1 for none
    child: Ints  # (s,) first child, -1 for none
    sibling: Ints  # (s,) next child of the same parent, ascending, -1 for none
    place: Ints  # of each row: its place among the columns and then the rows of the parent, counted from 0


@kernel
def renumbered(adj_ptr, adj, order):
    """Neighbor lists in which node k is the former node order[k]."""
    n = len(order)
    position = np.empty(n, np.int64)
    for k in range(n):
        position[order[k]] = k
    ptr, out = np.zeros(n + 1, np.int64), np.empty(len(adj), np.int64)
    for k in range(n):
        i = order[k]
        ptr[k + 1] = ptr[k] + adj_ptr[i + 1] - adj_ptr[i]
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            out[ptr[k] + q - adj_ptr[i]] = position[adj[q]]
    return ptr, out


@kernel
def elimination_tree(adj_ptr, adj):
    """Parent of each node, -1 for roots, and the number of rows below the diagonal of each column."""
    n = len(adj_ptr) - 1
    parent, count, met = np.full(n, -1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        # Row i of the factor: the paths in the tree from the neighbors that come before i, up to i.
        met[i] = i
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = adj[q]
            while k < i and met[k] != i:
                met[k] = i
                count[k] += 1
                if parent[k] < 0:
                    parent[k] = i
                k = parent[k]
    return parent, count


@kernel
def factor_columns(adj_ptr, adj):
    """(pointers, rows): the rows below the diagonal of each column of the factor, ascending."""
    parent, count = elimination_tree(adj_ptr, adj)
    n = len(parent)
    col_ptr, met = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    for k in range(n):
        col_ptr[k + 1] = col_ptr[k] + count[k]
    row, fill = np.empty(col_ptr[n], np.int64), col_ptr[:-1].copy()
    for i in range(n):
        met[i] = i
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = adj[q]
            while k < i and met[k] != i:
                met[k] = i
                row[fill[k]] = i
                fill[k] += 1
                k = parent[k]
    return col_ptr, row


@kernel
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
    parent, count = elimination_tree(early_ptr, early)
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
    row_ptr, row, above = _rows_below(adj_ptr, adj, first)
    s, n = len(first) - 1, len(parent)
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


@kernel
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
    return NARROW_ZEROS if width <= NARROW else (MEDIUM_ZEROS if width <= MEDIUM else WIDE_ZEROS)


@kernel
def _rows_below(adj_ptr, adj, first):
    """(pointers, rows, parents): the rows below the columns of each supernode, ascending; the parent owns the first."""
    s, n = len(first) - 1, len(adj_ptr) - 1
    owner, met = np.empty(n, np.int64), np.full(n, -1, np.int64)
    for k in range(s):
        owner[first[k] : first[k + 1]] = k
    count, parent = np.zeros(s + 1, np.int64), np.full(s, -1, np.int64)
    # As in `elimination_tree`, with supernodes in place of columns.
    for i in range(n):
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = owner[adj[q]]
            while k < owner[i] and met[k] != i:
                met[k] = i
                count[k + 1] += 1
                if parent[k] < 0:
                    parent[k] = owner[i]
                k = parent[k]
    for k in range(s):
        count[k + 1] += count[k]
    row, fill = np.empty(count[s], np.int64), count[:-1].copy()
    met[:] = -1
    for i in range(n):
        for q in range(adj_ptr[i], adj_ptr[i + 1]):
            k = owner[adj[q]]
            while k < owner[i] and met[k] != i:
                met[k] = i
                row[fill[k]] = i
                fill[k] += 1
                k = parent[k]
    return count, row, parent
