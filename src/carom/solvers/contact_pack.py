"""What all methods of the frictional contact solver share: sizes, islands, weights, speeds, the residual.

The law for the impulses z of one contact and its speeds u is

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each group g of friction rows: sliding, rolling, spinning. Sizes are the lengths of tuples in `Layout`, known at
compile time, so that loops are unrolled.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .blocks import FRICTION, Blocks
from .islands import root_of
from .rows import Floats, Ints

LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order: faster, and the same result in every run
NORMAL, MIXED, WEIGHT, BOUND, LENGTH = 0, 1, 3, 4, 8  # columns of weights; WEIGHT, BOUND + 2 g for group g


class Layout(NamedTuple):
    """Compile-time sizes: lengths of tuples. With more than two bodies per contact, `sides` is an array."""

    sides: tuple[int, ...] | Ints  # w
    rows: tuple[int, ...]  # r
    axes: tuple[int, ...]  # d
    tangents: tuple[int, ...]  # t


def common_size(blocks: Blocks, velocity: Floats) -> tuple[Blocks, Floats]:
    """The same problem with one of the few numbers of velocity components for which kernels are compiled.

    Contacts of two bodies get 3 components, or 6 if there are more than 3 or two tangents; those that are added are
    zero. With more bodies per contact, each component becomes a body.
    """
    m, w, r, d = blocks.val.shape
    if w > 2:
        if d == 1:
            return blocks, velocity
        body = np.where(blocks.body[:, :, None] >= 0, blocks.body[:, :, None] * d + np.arange(d), -1)
        val = np.ascontiguousarray(blocks.val.transpose(0, 1, 3, 2)).reshape(m, w * d, r, 1)
        return blocks._replace(body=body.reshape(m, w * d), val=val), velocity.reshape(-1, 1)
    wide = 6 if d > 3 or (r > 1 and tangent_count(blocks) == 2) else 3
    if wide == d:
        return blocks, velocity
    val, v = np.zeros((m, w, r, wide)), np.zeros((len(velocity), wide))
    val[..., :d], v[:, :d] = blocks.val, velocity
    return blocks._replace(val=val, tangents=tangent_count(blocks)), v


def tangent_count(blocks: Blocks) -> int:
    """Number of tangents per contact; 1 without friction, where the dimension does not matter."""
    r, d = blocks.val.shape[2:]
    if r == 1:
        return 1
    return blocks.tangents or (2 if r == 6 or (r == 3 and d != 3) else 1)


def layout_of(blocks: Blocks) -> tuple[Layout, tuple[np.float32, ...]]:
    """The sizes of a problem, and as many zeros as a body has velocity components."""
    return _layout(*blocks.val.shape[1:], tangent_count(blocks))


@cache
def _layout(w: int, r: int, d: int, t: int) -> tuple[Layout, tuple[np.float32, ...]]:
    sides = (0, 1) if w == 2 else np.arange(w)
    return Layout(sides, tuple(range(r)), tuple(range(d)), tuple(range(t))), (np.float32(0.0),) * d


@kernel
def group_count(lay):
    """Number of groups of friction rows."""
    r, t = len(lay.rows), len(lay.tangents)
    return 0 if r == 1 else (1 if r == 1 + t else 1 + t)


@kernel
def group_rows(lay, g):
    """First row of group g, and the row after its last."""
    t = len(lay.tangents)
    return 1 + g * t, min(1 + g * t + t, len(lay.rows))


@kernel
def weight_columns(lay):
    """Number of columns of the weights."""
    groups = group_count(lay)
    return 1 if groups == 0 else (5 if groups == 1 else 11)


@kernel
def grouped(body, chosen, n):
    """The chosen contacts by island: order, pointers, and the island of each.

    Islands are in the order of their first contact, contacts of an island in the given order.
    """
    k, w = len(chosen), body.shape[1]
    parent, label = np.arange(n), np.full(n, -1, np.int64)
    for i in chosen:
        first = -1
        for side in range(w):
            b = body[i, side]
            if b < 0:
                continue
            root = root_of(parent, b)
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
                root = root_of(parent, b)
                if label[root] < 0:
                    label[root] = count
                    count += 1
                island[j] = label[root]
                break
        if island[j] < 0:  # a contact without a free body
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
    return order, ptr, island


@kernel(inline="always")
def weigh(lay, given, i, out):
    """Weights of contact i, in place of `out` (m, columns).

    1/A_nn; the products of the normal with the first and last tangent; for each group the inverse of the stiffness
    (the larger eigenvalue of its block: a step with it never overshoots) and the bound; for rolling and spinning the
    length that makes their speeds comparable with that of the normal. Zero where no impulse moves a body.
    """
    normal = _product(lay, given.val, i, 0, 0)
    out[i, NORMAL] = 1.0 / normal if normal > 0.0 else 0.0
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        one = _product(lay, given.val, i, first, first)
        stiff = one
        if last - first == 2:
            two, off = _product(lay, given.val, i, first + 1, first + 1), _product(lay, given.val, i, first, first + 1)
            stiff = 0.5 * (one + two) + np.sqrt(0.25 * (one - two) ** 2 + off * off)
        if g == FRICTION:
            out[i, MIXED] = _product(lay, given.val, i, 0, first)
            out[i, MIXED + 1] = _product(lay, given.val, i, 0, last - 1)
        else:
            out[i, LENGTH + g] = np.sqrt(normal / stiff) if stiff > 0.0 and normal > 0.0 else 1.0
        out[i, WEIGHT + 2 * g] = 1.0 / stiff if stiff > 0.0 else 0.0
        out[i, BOUND + 2 * g] = given.bound[i, g] if stiff > 0.0 else 0.0


@kernel(inline="always")
def _product(lay, val, i, s, t):
    total = 0.0
    for side in range(len(lay.sides)):
        for c in range(len(lay.axes)):
            total += val[i, side, s, c] * val[i, side, t, c]
    return total


@kernel(fastmath=LOOSE)
def push_all(lay, given, contacts, z, x):
    """`x += G^T z` over some contacts; bodies without a row in x are left out."""
    for i in contacts:
        for side in range(len(lay.sides)):
            b = given.body[i, side]
            if 0 <= b < len(x):
                for c in range(len(lay.axes)):
                    total = x[b, c]
                    for s in range(len(lay.rows)):
                        total += given.val[i, side, s, c] * z[i, s]
                    x[b, c] = total


@kernel(fastmath=LOOSE, inline="always")
def speeds_of(lay, given, x, i, u):
    """`u = G x + base` for contact i, in place of u (r,)."""
    for s in range(len(lay.rows)):
        u[s] = given.base[i, s]
    for side in range(len(lay.sides)):
        b = given.body[i, side]
        if 0 <= b < len(x):
            for s in range(len(lay.rows)):
                total = u[s]
                for c in range(len(lay.axes)):
                    total += given.val[i, side, s, c] * x[b, c]
                u[s] = total


@kernel(fastmath=LOOSE, inline="always")
def distance(lay, weight, z, u):
    """Distance of the impulses z (r,) of one contact with speeds u (r,) to their projected step, as a speed."""
    w = weight[NORMAL]
    worst = abs(min(u[0], z[0] / w)) if w > 0.0 else max(-u[0], 0.0)
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        w, bound = weight[WEIGHT + 2 * g], weight[BOUND + 2 * g] * max(z[0], 0.0)
        if w == 0.0:
            continue
        one = z[first] - u[first] * w
        two = z[last - 1] - u[last - 1] * w if last - first == 2 else 0.0
        size = one * one + two * two
        share = bound / np.sqrt(size) if size > bound * bound else 1.0
        away = (z[first] - share * one) ** 2
        if last - first == 2:
            away += (z[last - 1] - share * two) ** 2
        length = 1.0 if g == FRICTION else weight[LENGTH + g]
        worst = max(worst, length * np.sqrt(away) / w)
    return worst


@kernel(fastmath=LOOSE)
def measure(lay, given, weight, contacts, z, x):
    """The residual of some contacts, as a speed, and their work `z . u`, for impulses z and velocities x."""
    worst = work = 0.0
    u = np.empty(len(lay.rows))
    for i in contacts:
        speeds_of(lay, given, x, i, u)
        for s in range(len(lay.rows)):
            work += z[i, s] * u[s]
        worst = max(worst, distance(lay, weight[i], z[i], u))
    return worst, work


@kernel
def without_work(lay, weight, contacts, z, x, v, members, work):
    """Reduces the impulses of an island by one factor such that they do no work, if `work` = z . u > 0.

    u is linear in the factor. Returns whether there was work. `members` are the bodies of the island.
    """
    size = 0.0
    for b in members:
        for c in range(len(lay.axes)):
            size += (x[b, c] - v[b, c]) ** 2
    if work <= 0.0 or size == 0.0:
        return False
    factor = max(1.0 - work / size, 0.0)
    for i in contacts:
        for s in range(len(lay.rows)):
            if s > 0 or weight[i, NORMAL] > 0.0:  # else the normal impulse is given
                z[i, s] *= factor
    for b in members:
        for c in range(len(lay.axes)):
            x[b, c] = v[b, c] + factor * (x[b, c] - v[b, c])
    return True


@kernel
def slabs(body, n, wanted):
    """Order of contacts by slab, and slab pointers, for at most `wanted` slabs of a connected island.

    `body` (k, 2) are the bodies of the contacts; numbers that are not below n are none.
    """
    k = len(body)
    ptr, touch = _touching(body, n)
    level, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = _levels(body, ptr, touch, body[0, 0] if body[0, 0] < n else body[0, 1], level, queue)
    count = _levels(body, ptr, touch, queue[count - 1], level, queue)
    depth = level[queue[count - 1]] + 1
    first, share = np.empty(k, np.int64), np.zeros(depth, np.int64)
    for p in range(k):
        a, b = body[p, 0], body[p, 1]
        first[p] = min(level[a] if a < n else depth, level[b] if b < n else depth)
        share[first[p]] += 1
    slab, cuts, seen = np.empty(depth, np.int64), 0, 0
    for step in range(depth):
        if step > 0 and cuts < wanted - 1 and seen * wanted >= k * (cuts + 1):
            cuts += 1
        slab[step] = cuts
        seen += share[step]
    begin = np.zeros(cuts + 2, np.int64)
    for p in range(k):
        begin[slab[first[p]] + 1] += 1
    for s in range(cuts + 1):
        begin[s + 1] += begin[s]
    fill, order = begin.copy(), np.empty(k, np.int64)
    for p in range(k):
        s = slab[first[p]]
        order[fill[s]] = p
        fill[s] += 1
    return order, begin


@kernel
def _touching(body, n):
    """Contacts of each body: pointers and contacts."""
    ptr = np.zeros(n + 1, np.int64)
    for p in range(len(body)):
        for side in range(2):
            if body[p, side] < n:
                ptr[body[p, side] + 1] += 1
    for b in range(n):
        ptr[b + 1] += ptr[b]
    fill, touch = ptr.copy(), np.empty(ptr[n], np.int64)
    for p in range(len(body)):
        for side in range(2):
            b = body[p, side]
            if b < n:
                touch[fill[b]] = p
                fill[b] += 1
    return ptr, touch


@kernel
def _levels(body, ptr, touch, start, level, queue):
    """Writes distances from `start` to `level` and bodies in that order to `queue`; returns their number."""
    level[:] = -1
    level[start] = 0
    queue[0] = start
    head, count = 0, 1
    while head < count:
        b = queue[head]
        head += 1
        for e in range(ptr[b], ptr[b + 1]):
            for side in range(2):
                other = body[touch[e], side]
                if other < len(level) and level[other] < 0:
                    level[other] = level[b] + 1
                    queue[count] = other
                    count += 1
    return count
