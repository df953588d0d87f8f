"""Sparse block Cholesky factorization of `H = I + G^T D G`, the matrix of an island in velocity space.

H has one d x d block for each pair of bodies in contact and is positive definite for every D >= 0, although the
Delassus matrix `G G^T` of the same island is often singular. The pattern depends on the contacts alone: it is
analyzed once, then factored for each new D.

The method is multifrontal (Duff and Reid 1983). Each supernode has a front: a dense matrix over its columns and the
rows below them. It receives the contacts whose first body it eliminates, and what is left of the fronts of its
children; then its columns are eliminated (`fronts.py`), and the rest waits for the parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel, lean
from ..rows import Floats, Ints, counting_sort
from .fronts import (
    Supernodes,
    add_front,
    eliminate_columns,
    in_postorder,
    product_below,
    subtract_below,
    supernodes,
)
from .ordering import minimum_degree, neighbors


class Island(NamedTuple):
    """The rows of an island, scaled, over its bodies numbered in order of elimination."""

    ptr: Ints  # (k + 1,) contact i owns entries ptr[i]:ptr[i+1]
    body: Ints  # (nnz,)
    val: Floats  # (nnz, d)
    bodies: int
    nodes: Supernodes
    contact_ptr: Ints  # (s + 1,) supernode k assembles contacts contact[contact_ptr[k]:contact_ptr[k+1]]
    contact: Ints  # (k,)
    seat: Ints  # (nnz,) place of each entry's body in the front to which its contact belongs
    panel_ptr: Ints  # (s + 1,) supernode k has factor[panel_ptr[k]:panel_ptr[k+1]], its scalar columns one by one
    front_ptr: Ints  # (s + 1,) where the front of each supernode lies in the work space; last, the size of the latter


@kernel
def analyze(rows, contacts, scale, local):
    """The island of the given contacts, with rows multiplied by `scale` (k,); `local` is (n,) integer scratch."""
    k, w, d = len(contacts), rows.body.shape[1], rows.val.shape[3]
    ptr = np.zeros(k + 1, np.int64)
    for i in range(k):
        ptr[i + 1] = ptr[i]
        for side in range(w):
            b = rows.body[contacts[i], side]
            if b >= 0:
                ptr[i + 1] += 1
                local[b] = -1
    body, val = np.empty(ptr[k], np.int64), np.empty((ptr[k], d))
    n, e = 0, 0
    for i in range(k):
        for side in range(w):
            b = rows.body[contacts[i], side]
            if b < 0:
                continue
            if local[b] < 0:
                local[b] = n
                n += 1
            body[e] = local[b]
            for t in range(d):
                val[e, t] = rows.val[contacts[i], side, 0, t] * scale[i]
            e += 1
    adj_ptr, adj = neighbors(ptr, body, n)
    order, adj_ptr, adj, parent, count = in_postorder(adj_ptr, adj, minimum_degree(adj_ptr, adj))
    position = np.empty(n, np.int64)
    for p in range(n):
        position[order[p]] = p
    for e in range(len(body)):
        body[e] = position[body[e]]
    nodes = supernodes(adj_ptr, adj, parent, count, d)
    contact_ptr, contact, seat = _seats(ptr, body, nodes, n)
    panel_ptr, front_ptr = _layout(nodes, d)
    return Island(ptr, body, val, n, nodes, contact_ptr, contact, seat, panel_ptr, front_ptr)


@kernel(inline="always")
def _seats(ptr, body, nodes, n):
    """Contacts by the supernode of their first body, and the places of their bodies in its front."""
    k, s = len(ptr) - 1, len(nodes.parent)
    owner, where = np.empty(n, np.int64), np.empty(n, np.int64)
    for p in range(s):
        owner[nodes.first[p] : nodes.first[p + 1]] = p
    home = np.zeros(k, np.int64)
    for i in range(k):
        if ptr[i] < ptr[i + 1]:
            low = body[ptr[i]]
            for e in range(ptr[i] + 1, ptr[i + 1]):
                low = min(low, body[e])
            home[i] = owner[low]
    contact, contact_ptr = counting_sort(home, s)
    seat = np.empty(len(body), np.int64)
    for p in range(s):
        own = nodes.first[p + 1] - nodes.first[p]
        for b in range(nodes.first[p], nodes.first[p + 1]):
            where[b] = b - nodes.first[p]
        for q in range(nodes.row_ptr[p], nodes.row_ptr[p + 1]):
            where[nodes.row[q]] = own + q - nodes.row_ptr[p]
        for q in range(contact_ptr[p], contact_ptr[p + 1]):
            for e in range(ptr[contact[q]], ptr[contact[q] + 1]):
                seat[e] = where[body[e]]
    return contact_ptr, contact, seat


@kernel(inline="always")
def _layout(nodes, d):
    """Where the panels of the factor and the fronts lie.

    Fronts of even and of odd depth in the tree form two stacks. The fronts of the children of a node are then the last
    ones of their stack, and that of the node itself goes to the other stack.
    """
    s = len(nodes.parent)
    panel_ptr, front_ptr = np.zeros(s + 1, np.int64), np.zeros(s + 1, np.int64)
    odd, below = np.zeros(s, np.int64), np.zeros(s, np.int64)  # below: total size of the fronts of the children
    for p in range(s - 1, -1, -1):
        if nodes.parent[p] >= 0:
            odd[p] = 1 - odd[nodes.parent[p]]
    top, room = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for p in range(s):
        columns = (nodes.first[p + 1] - nodes.first[p]) * d
        height = columns + (nodes.row_ptr[p + 1] - nodes.row_ptr[p]) * d
        panel_ptr[p + 1] = panel_ptr[p] + columns * height
        front_ptr[p] = top[odd[p]]
        room[odd[p]] = max(room[odd[p]], top[odd[p]] + height * height)
        top[1 - odd[p]] -= below[p]
        if nodes.parent[p] >= 0:
            top[odd[p]] += height * height
            below[nodes.parent[p]] += height * height
    for p in range(s):
        front_ptr[p] += odd[p] * room[0]
    front_ptr[s] = room[0] + room[1]
    return panel_ptr, front_ptr


@lean(inline="always")
def operations(island):
    """Number of multiplications and additions of one factorization."""
    total, d, nodes = 0.0, island.val.shape[1], island.nodes
    for p in range(len(nodes.parent)):
        columns, rows = nodes.first[p + 1] - nodes.first[p], nodes.row_ptr[p + 1] - nodes.row_ptr[p]
        for c in range(columns):
            total += (rows + c + 1.0) ** 2
    return total * d**3


@kernel(inline="always")
def new_factor(island):
    """Memory for the factor of an island, and behind it the work space for fronts, which each factorization uses again.

    Fresh memory would cost more than a tenth of a factorization.
    """
    return np.empty(island.panel_ptr[-1] + island.front_ptr[-1])


@lean
def factorise(island, weight, factor):
    """Factor of `I + G^T diag(weight) G` into `factor`, an array from `new_factor`."""
    space = factor[island.panel_ptr[-1] :]
    nodes, d = island.nodes, island.val.shape[1]
    for p in range(len(nodes.parent)):
        columns = (nodes.first[p + 1] - nodes.first[p]) * d
        height = columns + (nodes.row_ptr[p + 1] - nodes.row_ptr[p]) * d
        at = island.front_ptr[p]
        front = space[at : at + height * height].reshape(height, height)
        for c in range(height):
            front[c, c - c % d :] = 0.0
            front[c, c] = 1.0 if c < columns else 0.0
        _add_contacts(island, weight, p, front)
        c = nodes.child[p]
        while c >= 0:
            rows = nodes.row_ptr[c + 1] - nodes.row_ptr[c]
            size = (nodes.first[c + 1] - nodes.first[c] + rows) * d
            at = island.front_ptr[c]
            other = space[at : at + size * size].reshape(size, size)
            add_front(front, other, nodes.place[nodes.row_ptr[c] : nodes.row_ptr[c + 1]], d)
            c = nodes.sibling[c]
        eliminate_columns(front, columns)
        # A loop, because an assignment of a slice makes a temporary copy: Numba cannot know that they do not overlap.
        panel, source = factor[island.panel_ptr[p] :], front.reshape(-1)
        for q in range(columns * height):
            panel[q] = source[q]


@lean
def _add_contacts(island, weight, p, front):
    """Adds the contacts of supernode p to its front, which has its lower part in front[column, row]."""
    d, seat, val = island.val.shape[1], island.seat, island.val
    for q in range(island.contact_ptr[p], island.contact_ptr[p + 1]):
        i = island.contact[q]
        w = weight[i]
        if w == 0.0:
            continue
        for e in range(island.ptr[i], island.ptr[i + 1]):
            for f in range(island.ptr[i], island.ptr[i + 1]):
                if seat[e] <= seat[f]:
                    for s in range(d):
                        for t in range(d):
                            front[seat[e] * d + s, seat[f] * d + t] += w * val[e, s] * val[f, t]


@kernel
def solve_factored(island, factor, x):
    """Solves `L L^T x = x` in place, x of shape (n, d)."""
    _substitute(island, factor, x, x.reshape(-1), np.empty(x.size))


@lean
def _substitute(island, factor, x, flat, y):
    nodes, d = island.nodes, x.shape[1]
    s = len(nodes.parent)
    for p in range(s):
        columns = (nodes.first[p + 1] - nodes.first[p]) * d
        rows = nodes.row[nodes.row_ptr[p] : nodes.row_ptr[p + 1]]
        height = columns + len(rows) * d
        panel = factor[island.panel_ptr[p] : island.panel_ptr[p + 1]].reshape(columns, height)
        at = nodes.first[p] * d
        subtract_below(panel, flat[at : at + columns], y)
        for q in range(len(rows)):
            for t in range(d):
                x[rows[q], t] += y[q * d + t]
    for p in range(s - 1, -1, -1):
        columns = (nodes.first[p + 1] - nodes.first[p]) * d
        rows = nodes.row[nodes.row_ptr[p] : nodes.row_ptr[p + 1]]
        height = columns + len(rows) * d
        panel = factor[island.panel_ptr[p] : island.panel_ptr[p + 1]].reshape(columns, height)
        at = nodes.first[p] * d
        for q in range(len(rows)):
            for t in range(d):
                y[q * d + t] = x[rows[q], t]
        product_below(panel, flat[at : at + columns], y)


@kernel
def combine(island, z):
    """`x = G^T z`, of shape (bodies, d)."""
    x = np.zeros((island.bodies, island.val.shape[1]))
    _add_combined(island, z, x)
    return x


@kernel(inline="always")
def _add_combined(island, z, x):
    for i in range(len(z)):
        if z[i] != 0.0:
            for e in range(island.ptr[i], island.ptr[i + 1]):
                for t in range(x.shape[1]):
                    x[island.body[e], t] += island.val[e, t] * z[i]


@lean
def gradient(island, x, g0, out):
    """`out = G x + g0`."""
    for i in range(len(out)):
        total = g0[i]
        for e in range(island.ptr[i], island.ptr[i + 1]):
            for t in range(x.shape[1]):
                total += island.val[e, t] * x[island.body[e], t]
        out[i] = total
