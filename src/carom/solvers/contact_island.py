"""What all methods of the frictional contact solver share: sizes, an island and its weights, speeds, residual and work.

The law for the impulses z of one contact and its speeds u is

    0 <= z_0 perp u_0 >= 0,   z_g in K_g(b_g (z_0 + given)),   z_g against u_g on the boundary of K_g

for each group g of friction rows: sliding, rolling, spinning. K_g(b) is a disk of radius b, or for sliding what its
`projection` says. `given` is a normal impulse that already acts. Sizes are the lengths of tuples in `Layout`, known at
compile time, so that loops are unrolled.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ..kernels import kernel, lean
from .rows import FRICTION, LOOSE_SUMS, Floats, Ints, Rows

# Where the sliding friction z of a contact may lie: |z| <= b (Coulomb's disk), |z_s| <= b along each tangent, or
# 0 <= z_1 <= b along the first tangent, if the second one is a row of zeros.
CONE, PYRAMID, FIXED = 0, 1, 2

ZERO_ROW = 1e-24  # rows whose |row|^2 is below this share of |normal row|^2 move nothing

# Columns of the weights of a contact: inverse stiffness of the normal, given normal impulse, products of the normal
# with the first and the last tangent; for each group of friction rows, 3 columns from WEIGHT on: inverse stiffness,
# bound, and the length that makes speeds of rolling and spinning comparable with that of the normal.
NORMAL, GIVEN, MIXED, WEIGHT, BOUND, LENGTH = 0, 1, 2, 4, 5, 6


class Layout(NamedTuple):
    """Compile-time sizes: lengths of tuples. With more than two bodies per contact, `sides` is an array."""

    sides: tuple[int, ...] | Ints  # w
    rows: tuple[int, ...]  # r
    axes: tuple[np.float32, ...]  # d zeros
    tangents: tuple[int, ...]  # t


class Problem(NamedTuple):
    """Rows of m contacts (`Rows`), and the normal impulses that act already."""

    body: Ints  # (m, w)
    val: Floats  # (m, w, r, d)
    base: Floats  # (m, r)
    bound: Floats  # (m, 3)
    given: Floats  # (m,)


class Island(NamedTuple):
    """k contacts and the n bodies that they touch, numbered from 0; the rows are those of all contacts."""

    projection: int  # CONE, PYRAMID or FIXED
    contacts: Ints  # (k,) where the contacts stand in `val` and `base`
    body: Ints  # (k, w) bodies of the contacts, -1 for none
    members: Ints  # (n,) bodies of the island among all bodies
    val: Floats  # (m, w, r, d) rows
    base: Floats  # (m, r) speeds that no impulse changes
    weight: Floats  # (k, columns)
    z: Floats  # (k, r) impulses
    before: Floats  # (n, d) velocity without the impulses
    x: Floats  # (n, d) velocity with the impulses


def common_size(blocks: Rows, velocity: Floats, impulse: Floats) -> tuple[Rows, Floats, Floats]:
    """The same problem in one of the few sizes for which kernels are compiled; what is added is zero.

    Contacts of two bodies have 3 velocity components and one tangent, or 6 and two. Contacts without friction have
    tangents whose bound is zero. With more bodies per contact, each component becomes a body.
    """
    m, w, r, d = blocks.val.shape
    t = tangent_count(blocks)
    if w > 2 and d > 1:
        body = np.where(blocks.body[:, :, None] >= 0, blocks.body[:, :, None] * d + np.arange(d), -1)
        val = np.ascontiguousarray(blocks.val.transpose(0, 1, 3, 2)).reshape(m, w * d, r, 1)
        blocks = blocks._replace(body=body.reshape(m, w * d), val=val)
        return common_size(blocks, velocity.reshape(-1, 1), impulse)
    wide = 1 if w > 2 else 6 if d > 3 or t == 2 else 3
    t = 1 if wide == 3 else 2
    tall = max(r, 1 + t)
    if (wide, tall) == (d, r):
        return (blocks if blocks.tangents == t else blocks._replace(tangents=t)), velocity, impulse
    val, base, v, z = padded(layout(w, tall, wide, t), blocks.val, blocks.base, velocity, impulse)
    return blocks._replace(val=val, base=base, tangents=t), v, z


@kernel
def padded(lay, val, base, velocity, impulse):
    """Rows, their constant speeds, velocities and impulses in the sizes of a layout; what is added is zero."""
    m, w, r, d = val.shape
    rows, speed, x = np.zeros((m, w, len(lay.rows), len(lay.axes))), np.zeros((m, len(lay.rows))), velocity
    z = np.zeros((m, len(lay.rows)))
    for i in range(m):
        for s in range(r):
            speed[i, s], z[i, s] = base[i, s], impulse[i, s]
            for side in range(w):
                for c in range(d):
                    rows[i, side, s, c] = val[i, side, s, c]
    if len(lay.axes) > d:
        x = np.zeros((len(velocity), len(lay.axes)))
        for b in range(len(velocity)):
            for c in range(d):
                x[b, c] = velocity[b, c]
    return rows, speed, x, z


def tangent_count(blocks: Rows) -> int:
    """Number of tangents per contact; 1 without friction, where the dimension does not matter."""
    r, d = blocks.val.shape[2:]
    if r == 1:
        return 1
    return blocks.tangents or (2 if r == 6 or (r == 3 and d != 3) else 1)


@cache
def layout(w: int, r: int, d: int, t: int) -> Layout:
    """The sizes of contacts of w bodies with r rows of d components, t of them tangents."""
    sides = (0, 1) if w == 2 else np.arange(w)
    return Layout(sides, tuple(range(r)), (np.float32(0.0),) * d, tuple(range(t)))


@kernel(inline="always")
def group_count(lay):
    """Number of groups of friction rows."""
    return 1 if len(lay.rows) == 1 + len(lay.tangents) else 1 + len(lay.tangents)


@kernel(inline="always")
def group_rows(lay, g):
    """First row of group g, and the row after its last."""
    t = len(lay.tangents)
    return 1 + g * t, min(1 + g * t + t, len(lay.rows))


@kernel
def part_of(lay, whole, mine, label):
    """The contacts `mine` (k,) of `whole`, in that order, as an island of their own.

    `label` is scratch, -1 for each body before and after.
    """
    k, w, r, d = len(mine), len(lay.sides), len(lay.rows), len(lay.axes)
    contacts, body, members, n = np.empty(k, np.int64), np.full((k, w), -1), np.empty(w * k, np.int64), 0
    weight, z = np.empty((k, whole.weight.shape[1])), np.empty((k, r))
    for p in range(k):
        i = mine[p]
        contacts[p] = whole.contacts[i]
        for side in range(w):
            b = whole.body[i, side]
            if b >= 0:
                if label[b] < 0:
                    label[b] = n
                    members[n] = b
                    n += 1
                body[p, side] = label[b]
        for s in range(r):
            z[p, s] = whole.z[i, s]
        for c in range(weight.shape[1]):
            weight[p, c] = whole.weight[i, c]
    before, x = np.empty((n, d)), np.empty((n, d))
    for b in range(n):
        label[members[b]] = -1
        for c in range(d):
            before[b, c], x[b, c] = whole.before[members[b], c], whole.x[members[b], c]
    return Island(whole.projection, contacts, body, members[:n], whole.val, whole.base, weight, z, before, x)


@kernel
def put_back(part, mine, whole):
    """Writes impulses and velocities of a part to the whole."""
    for p in range(len(mine)):
        for s in range(part.z.shape[1]):
            whole.z[mine[p], s] = part.z[p, s]
    for b in range(len(part.members)):
        for c in range(part.x.shape[1]):
            whole.x[part.members[b], c] = part.x[b, c]


@kernel(inline="always")
def weigh(lay, problem, i, out):
    """Weights of contact i, in place of `out` (columns,). Zero where no impulse moves a body or none is allowed.

    The stiffness of a group is the larger eigenvalue of its block: a step with its inverse never overshoots.
    """
    normal = _product(lay, problem.val, i, 0, 0)
    out[NORMAL], out[GIVEN] = 1.0 / normal if normal > 0.0 else 0.0, problem.given[i]
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        out[WEIGHT + 3 * g], out[BOUND + 3 * g], out[LENGTH + 3 * g] = 0.0, 0.0, 1.0
        if g == FRICTION:
            out[MIXED], out[MIXED + 1] = 0.0, 0.0
        if problem.bound[i, g] <= 0.0:
            continue
        one = _product(lay, problem.val, i, first, first)
        stiff = one
        if last - first == 2:
            two, off = _product(lay, problem.val, i, last - 1, last - 1), _product(lay, problem.val, i, first, last - 1)
            stiff = 0.5 * (one + two) + np.sqrt(0.25 * (one - two) ** 2 + off * off)
        if stiff <= ZERO_ROW * normal:
            continue
        out[WEIGHT + 3 * g], out[BOUND + 3 * g] = 1.0 / stiff, problem.bound[i, g]
        if g == FRICTION:
            out[MIXED] = _product(lay, problem.val, i, 0, first)
            out[MIXED + 1] = _product(lay, problem.val, i, 0, last - 1)
        elif normal > 0.0:
            out[LENGTH + 3 * g] = np.sqrt(normal / stiff)


@kernel(inline="always")
def _product(lay, val, i, s, t):
    total = 0.0
    for side in range(len(lay.sides)):
        for c in range(len(lay.axes)):
            total += val[i, side, s, c] * val[i, side, t, c]
    return total


@lean(fastmath=LOOSE_SUMS)
def push(lay, island, z, x):
    """`x += G^T z`"""
    for p in range(len(z)):
        i, acts = island.contacts[p], False
        for s in range(len(lay.rows)):
            acts |= z[p, s] != 0.0
        if not acts:  # its rows need not be read
            continue
        for side in range(len(lay.sides)):
            b = island.body[p, side]
            if b >= 0:
                for c in range(len(lay.axes)):
                    total = x[b, c]
                    for s in range(len(lay.rows)):
                        total += island.val[i, side, s, c] * z[p, s]
                    x[b, c] = total


@kernel(fastmath=LOOSE_SUMS, inline="always")
def speeds_of(lay, island, x, p, u):
    """`u = G x + base` for contact p, in place of u (r,)."""
    i = island.contacts[p]
    for s in range(len(lay.rows)):
        u[s] = island.base[i, s]
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for s in range(len(lay.rows)):
                total = u[s]
                for c in range(len(lay.axes)):
                    total += island.val[i, side, s, c] * x[b, c]
                u[s] = total


@kernel
def projected(kind, bound, one, two):
    """The friction impulses within their bound that are nearest to (one, two)."""
    if kind == CONE:
        square = one * one + two * two
        share = bound / np.sqrt(square) if square > bound * bound else 1.0
        return share * one, share * two
    return min(max(one, 0.0 if kind == FIXED else -bound), bound), min(max(two, -bound), bound)


@kernel(fastmath=LOOSE_SUMS, inline="always")
def distance(lay, projection, weight, z, u):
    """Distance of the impulses z (r,) of one contact with speeds u (r,) to their projected step, as a speed."""
    w = weight[NORMAL]
    worst = abs(min(u[0], z[0] / w)) if w > 0.0 else max(-u[0], 0.0)
    for g in range(group_count(lay)):
        first, last = group_rows(lay, g)
        w, bound = weight[WEIGHT + 3 * g], weight[BOUND + 3 * g] * (max(z[0], 0.0) + weight[GIVEN])
        if w == 0.0:
            continue
        one = z[first] - u[first] * w
        two = z[last - 1] - u[last - 1] * w if last - first == 2 else 0.0
        one, two = projected(projection if g == FRICTION else CONE, bound, one, two)
        away = (z[first] - one) ** 2
        if last - first == 2:
            away += (z[last - 1] - two) ** 2
        worst = max(worst, weight[LENGTH + 3 * g] * np.sqrt(away) / w)
    return worst


@kernel(inline="always")
def measure(lay, island, z, x):
    """The residual of an island, as a speed, and the work `z . u`, for impulses z and velocities x."""
    return _measure(lay, island, z, x, np.empty(len(lay.rows)))


@lean(fastmath=LOOSE_SUMS)
def _measure(lay, island, z, x, u):
    """What `measure` returns; `u` (r,) is scratch."""
    worst = work = 0.0
    for p in range(len(z)):
        speeds_of(lay, island, x, p, u)
        for s in range(len(lay.rows)):
            work += z[p, s] * u[s]
        worst = max(worst, distance(lay, island.projection, island.weight[p], z[p], u))
    return worst, work


@kernel(inline="always")
def speed_scale(lay, island):
    """Order of magnitude of the speeds that impulses cause or have to change."""
    top, u = 0.0, np.empty(len(lay.rows))
    for p in range(len(island.z)):
        if island.weight[p, NORMAL] > 0.0:
            speeds_of(lay, island, island.x, p, u)
            top = max(top, abs(island.z[p, 0]) / island.weight[p, NORMAL], -u[0])
    return top


@kernel
def settled(lay, island):
    """Velocities x after the impulses z, which are reduced by one factor such that they do no work; the residual.

    The work `z . u` is quadratic in the factor, since u is linear in it.
    """
    z, x, v = island.z, island.x, island.before
    x[:] = v
    push(lay, island, z, x)
    residual, work = measure(lay, island, z, x)
    size = 0.0
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            size += (x[b, c] - v[b, c]) ** 2
    if work <= 0.0 or size == 0.0:
        return residual
    factor = max(1.0 - work / size, 0.0)
    for p in range(len(z)):
        for s in range(len(lay.rows)):
            if s > 0 or island.weight[p, NORMAL] > 0.0:  # else the normal impulse is given
                z[p, s] *= factor
    for b in range(len(x)):
        for c in range(len(lay.axes)):
            x[b, c] = v[b, c] + factor * (x[b, c] - v[b, c])
    return measure(lay, island, z, x)[0]
