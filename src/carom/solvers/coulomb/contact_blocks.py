"""Contacts of one island in 3D, with all data of a contact side by side in memory.

A contact has three rows (normal, two tangents) over at most two bodies, of six components each; shorter rows are
padded with zeros. Impulses are `z` (k, 3), speeds `u = G x + w` (k, 3), whitened velocities `x = v + G^T z`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ..linalg.block_lu import WIDTH
from ..rows import Floats, Ints


class Blocks(NamedTuple):
    """k contacts among n bodies, which are numbered within the island."""

    body: Ints  # (k, 2) -1 for none
    val: Floats  # (k, 2, 3, WIDTH) the rows of both bodies
    base: Floats  # (k, 3) speeds of the boundary: normal, tangents
    friction: Floats  # (k,) coefficient mu; zero where no tangential impulse moves a body
    unit: Floats  # (k, 2) change of speed by a unit impulse: normal, mean of the tangents
    velocity: Floats  # (n, WIDTH) whitened velocity before the impulses


@kernel
def blocks_of(rows, tangents, velocity, boundary, slip, friction, mine, label):
    """The blocks of the contacts `mine`, whose two tangent rows must touch the bodies of the normal row, two at most.

    `label` is scratch, -1 for each of their bodies before and after.
    """
    k, d = len(mine), velocity.shape[1]
    body = np.full((k, 2), -1, np.int64)
    val, base = np.zeros((k, 2, 3, WIDTH)), np.empty((k, 3))
    mu, unit = np.empty(k), np.zeros((k, 2))
    members, count = np.empty(2 * k, np.int64), 0
    for p in range(k):
        i = mine[p]
        start, one, two = rows.ptr[i], tangents.ptr[2 * i], tangents.ptr[2 * i + 1]
        for side in range(rows.ptr[i + 1] - start):
            b = rows.body[start + side]
            if label[b] < 0:
                label[b] = count
                members[count] = b
                count += 1
            body[p, side] = label[b]
            for c in range(d):
                val[p, side, 0, c] = rows.val[start + side, c]
                val[p, side, 1, c] = tangents.val[one + side, c]
                val[p, side, 2, c] = tangents.val[two + side, c]
        base[p, 0], base[p, 1], base[p, 2] = boundary[i], slip[2 * i], slip[2 * i + 1]
        unit[p, 0], unit[p, 1] = rows.diag[i], 0.5 * (tangents.diag[2 * i] + tangents.diag[2 * i + 1])
        mu[p] = friction[i] if unit[p, 1] > 0.0 else 0.0
    x = np.zeros((count, WIDTH))
    for b in range(count):
        for c in range(d):
            x[b, c] = velocity[members[b], c]
        label[members[b]] = -1
    return Blocks(body, val, base, mu, unit, x)


@kernel
def moved(blocks, z, x):
    """`x = v + G^T z`, in place of x."""
    for b in range(len(x)):
        for c in range(WIDTH):
            x[b, c] = blocks.velocity[b, c]
    for p in range(len(z)):
        for side in range(2):
            b = blocks.body[p, side]
            if b >= 0:
                for c in range(WIDTH):
                    x[b, c] += (
                        blocks.val[p, side, 0, c] * z[p, 0]
                        + blocks.val[p, side, 1, c] * z[p, 1]
                        + blocks.val[p, side, 2, c] * z[p, 2]
                    )


@kernel
def speeds_at(blocks, x, u):
    """`u = G x + w`, in place of u; returns the largest |G x|."""
    fastest = 0.0
    for p in range(len(u)):
        for s in range(3):
            total = 0.0
            for side in range(2):
                b = blocks.body[p, side]
                if b >= 0:
                    for c in range(WIDTH):
                        total += blocks.val[p, side, s, c] * x[b, c]
            u[p, s] = total + blocks.base[p, s]
            fastest = max(fastest, abs(total))
    return fastest


@kernel
def distance(blocks, z, u):
    """Largest distance of z to its projected step, as a speed."""
    worst = 0.0
    for p in range(len(z)):
        worst = max(worst, abs(min(u[p, 0], blocks.unit[p, 0] * z[p, 0])))
        if blocks.friction[p] > 0.0:
            r, bound = blocks.unit[p, 1], blocks.friction[p] * z[p, 0]
            a, b = z[p, 1] - u[p, 1] / r, z[p, 2] - u[p, 2] / r
            size = np.sqrt(a * a + b * b)
            share = bound / size if size > bound else 1.0
            worst = max(worst, r * np.sqrt((z[p, 1] - share * a) ** 2 + (z[p, 2] - share * b) ** 2))
    return worst
