"""Contacts of the frictional contact solver, packed in the order of their islands, and what all its methods need.

Rows of rolling and spinning are scaled by a length so that a unit impulse changes their speed as much as that of the
normal: then all speeds of a contact compare. The law for the impulses z of one contact and its speeds u is

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each group g of rows: sliding, rolling, spinning. Sizes are the lengths of tuples in `Layout`, known at compile
time, so that loops are unrolled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .blocks import FRICTION, Blocks
from .rows import Floats, Ints

NORMAL, MIXED, WEIGHT, BOUND, SCALE = 0, 1, 3, 4, 8  # columns of `Packed.local`; WEIGHT and BOUND + 2 g for group g


class Layout(NamedTuple):
    """Compile-time sizes: lengths of tuples. With more than two bodies per contact, `sides` is an array."""

    sides: tuple[int, ...] | Ints  # w
    rows: tuple[int, ...]  # r
    axes: tuple[int, ...]  # d
    tangents: tuple[int, ...]  # t


class Packed(NamedTuple):
    """k contacts. A body that a contact lacks is a number from n up; its rows are zero."""

    body: Ints  # (k, w)
    row: Floats  # (k, w, r, d)
    base: Floats  # (k, r)
    local: Floats  # (k, 1, 5 or 11): 1/A_nn; A_tn; 1/stiffness and bound of each group; scale of rolling, spinning


def layout_of(blocks: Blocks) -> Layout:
    """The sizes of a problem."""
    _, w, r, d = blocks.val.shape
    sides = (0, 1) if w == 2 else np.arange(w)
    t = blocks.tangents if blocks.tangents else (2 if r == 6 or (r == 3 and d != 3) else 1)
    return Layout(sides, tuple(range(r)), tuple(range(d)), tuple(range(t)))


@kernel(inline="always")
def group_count(lay):
    """Number of groups of friction rows."""
    r, t = len(lay.rows), len(lay.tangents)
    return 0 if r == 1 else (1 if r == 1 + t else 1 + t)


@kernel(inline="always")
def group_rows(lay, g):
    """First row of group g, and the row after its last."""
    t = len(lay.tangents)
    return 1 + g * t, min(1 + g * t + t, len(lay.rows))


@kernel
def grouped(lay, body, chosen, n):
    """The chosen contacts by island: (order, pointers); islands by their first contact, contacts in the given order."""
    k, w = len(chosen), body.shape[1]
    parent, label = np.empty(n, np.int64), np.empty(n, np.int64)
    for b in range(n):
        parent[b] = b
        label[b] = -1
    for i in chosen:
        first = -1
        for side in range(w):
            b = body[i, side]
            if b < 0:
                continue
            root = _root(parent, b)
            if first < 0:
                first = root
            elif root != first:
                if root < first:
                    first, root = root, first
                parent[root] = first
    count = 0
    island = np.empty(k, np.int64)
    for j in range(k):
        island[j] = -1
        for side in range(w):
            b = body[chosen[j], side]
            if b >= 0:
                root = _root(parent, b)
                if label[root] < 0:
                    label[root] = count
                    count += 1
                island[j] = label[root]
                break
        if island[j] < 0:
            island[j] = count
            count += 1
    ptr = np.zeros(count + 1, np.int64)
    for j in range(k):
        ptr[island[j] + 1] += 1
    for s in range(count):
        ptr[s + 1] += ptr[s]
    fill, order = ptr[:-1].copy(), np.empty(k, np.int64)
    for j in range(k):
        order[fill[island[j]]] = chosen[j]
        fill[island[j]] += 1
    return order, ptr


@kernel(inline="always")
def _root(parent, b):
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b


@kernel
def room(lay, k):
    """Arrays for k contacts, and their impulses (k, r)."""
    w, r, d = len(lay.sides), len(lay.rows), len(lay.axes)
    groups = group_count(lay)
    columns = 1 if groups == 0 else (5 if groups == 1 else 11)
    packed = Packed(np.empty((k, w), np.int64), np.empty((k, w, r, d)), np.empty((k, r)), np.empty((k, columns)))
    return packed, np.empty((k, r))


@kernel
def pack(lay, blocks, order, nobody, impulse, packed, z, first, last):
    """Packs the contacts `order[first:last]`; `nobody` is the number of a missing body."""
    for p in range(first, last):
        i = order[p]
        for side in range(len(lay.sides)):
            b = blocks.body[i, side]
            packed.body[p, side] = b if b >= 0 else nobody
            for s in range(len(lay.rows)):
                for c in range(len(lay.axes)):
                    packed.row[p, side, s, c] = blocks.val[i, side, s, c]
        for s in range(len(lay.rows)):
            packed.base[p, s] = blocks.base[i, s]
            z[p, s] = impulse[i, s]
        _pack_local(lay, packed, z, p, blocks.bound[i])


@kernel
def _pack_local(lay, packed, z, p, bound):
    local = packed.local[p]
    normal = _product(lay, packed.row, p, 0, 0)
    local[NORMAL] = 1.0 / normal if normal > 0.0 else 0.0
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        one = _product(lay, packed.row, p, first, first)
        stiff, scale = one, 1.0
        if last - first == 2:  # a step with the larger eigenvalue never overshoots
            two = _product(lay, packed.row, p, first + 1, first + 1)
            off = _product(lay, packed.row, p, first, first + 1)
            stiff = 0.5 * (one + two) + np.sqrt(0.25 * (one - two) ** 2 + off * off)
        if g == FRICTION:
            local[MIXED] = _product(lay, packed.row, p, 0, first)
            local[MIXED + 1] = _product(lay, packed.row, p, 0, last - 1)
        else:
            scale = np.sqrt(normal / stiff) if stiff > 0.0 and normal > 0.0 else 1.0
            local[SCALE + g] = scale
            stiff *= scale * scale
            for s in range(first, last):
                packed.base[p, s] *= scale
                z[p, s] /= scale
                for side in range(len(lay.sides)):
                    for c in range(len(lay.axes)):
                        packed.row[p, side, s, c] *= scale
        movable = stiff > 0.0
        local[WEIGHT + 2 * g] = 1.0 / stiff if movable else 0.0
        local[BOUND + 2 * g] = bound[g] / scale if movable else 0.0


@kernel
def unpack(lay, packed, z, order, impulse):
    """Writes the impulses back to `impulse` at the contacts `order`."""
    for p in range(len(order)):
        for s in range(len(lay.rows)):
            impulse[order[p], s] = z[p, s]
        for g in range(1, group_count(lay)):
            first, last = group_rows(lay, g)
            for s in range(first, last):
                impulse[order[p], s] *= packed.local[p, SCALE + g]


@kernel(inline="always")
def _product(lay, row, p, s, t):
    total = 0.0
    for side in range(len(lay.sides)):
        for c in range(len(lay.axes)):
            total += row[p, side, s, c] * row[p, side, t, c]
    return total


@kernel(inline="always")
def row_speed(lay, packed, x, p, s):
    """Speed of row s of contact p."""
    total = packed.base[p, s]
    for side in range(len(lay.sides)):
        b = packed.body[p, side]
        for c in range(len(lay.axes)):
            total += packed.row[p, side, s, c] * x[b, c]
    return total


@kernel(inline="always")
def push_row(lay, packed, x, p, s, impulse):
    """`x += G_s^T impulse` for row s of contact p."""
    for side in range(len(lay.sides)):
        b = packed.body[p, side]
        for c in range(len(lay.axes)):
            x[b, c] += packed.row[p, side, s, c] * impulse


@kernel
def push_all(lay, packed, z, x, first, last):
    """`x += G^T z` over contacts first to last."""
    for p in range(first, last):
        for s in range(len(lay.rows)):
            if z[p, s] != 0.0:
                push_row(lay, packed, x, p, s, z[p, s])


@kernel
def work_of(lay, packed, z, x, first, last):
    """`z . u` over contacts first to last."""
    work = 0.0
    for p in range(first, last):
        for s in range(len(lay.rows)):
            if z[p, s] != 0.0:
                work += z[p, s] * row_speed(lay, packed, x, p, s)
    return work


@kernel
def residual_of(lay, packed, z, x, first, last):
    """Largest distance of z to its projected step over contacts first to last, as a speed."""
    worst = 0.0
    for p in range(first, last):
        worst = max(worst, _distance(lay, packed, z, x, p))
    return worst


@kernel
def _distance(lay, packed, z, x, p):
    local = packed.local[p]
    u = row_speed(lay, packed, x, p, 0)
    weight = local[NORMAL]
    worst = abs(min(u, z[p, 0] / weight)) if weight > 0.0 else max(-u, 0.0)
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        weight, bound = local[WEIGHT + 2 * g], local[BOUND + 2 * g] * max(z[p, 0], 0.0)
        if weight == 0.0:
            continue
        one = z[p, first] - row_speed(lay, packed, x, p, first) * weight
        two = now = 0.0
        if last - first == 2:
            now = z[p, first + 1]
            two = now - row_speed(lay, packed, x, p, first + 1) * weight
        size = np.sqrt(one * one + two * two)
        share = bound / size if size > bound else 1.0
        worst = max(worst, np.sqrt((z[p, first] - share * one) ** 2 + (now - share * two) ** 2) / weight)
    return worst
