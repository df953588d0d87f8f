"""Contacts of one island with everything a frictional solve reads, side by side in memory.

A contact has three rows (normal, two tangents) over at most two bodies. Impulses are `z` (k, 3), speeds
`u = G x + w` (k, 3), whitened velocities `x = v + G^T z` (bodies, d).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .rows import Floats, Ints


class Blocks(NamedTuple):
    """`k` contacts among `n` bodies that are numbered within the island."""

    body: Ints  # (k, 2) -1 for none
    val: Floats  # (k, 2, 3, d) the rows of both bodies
    base: Floats  # (k, 3) speeds of the boundary: normal, tangents
    friction: Floats  # (k,) zero where no tangent impulse moves anything
    unit: Floats  # (k, 2) speed that a unit impulse makes: normal, mean of the tangents
    velocity: Floats  # (n, d) before


@njit(cache=True, nogil=True)
def blocks_of(rows, tangents, velocity, boundary, slip, friction, mine, label):
    """The contacts `mine`; tangent rows, two for each, must touch the bodies of their normal rows, two at most.

    `label` is -1 for each of their bodies, before and after.
    """
    k, d = len(mine), velocity.shape[1]
    body = np.full((k, 2), -1, np.int64)
    val, base = np.zeros((k, 2, 3, d)), np.empty((k, 3))
    mu, unit = np.empty(k), np.zeros((k, 2))
    members = np.empty(2 * k, np.int64)
    count = 0
    for p in range(k):
        i = mine[p]
        start = rows.ptr[i]
        for side in range(rows.ptr[i + 1] - start):
            b = rows.body[start + side]
            if label[b] < 0:
                label[b] = count
                members[count] = b
                count += 1
            body[p, side] = label[b]
            for c in range(d):
                val[p, side, 0, c] = rows.val[start + side, c]
                val[p, side, 1, c] = tangents.val[tangents.ptr[2 * i] + side, c]
                val[p, side, 2, c] = tangents.val[tangents.ptr[2 * i + 1] + side, c]
        base[p, 0], base[p, 1], base[p, 2] = boundary[i], slip[2 * i], slip[2 * i + 1]
        unit[p, 0] = rows.diag[i]
        unit[p, 1] = 0.5 * (tangents.diag[2 * i] + tangents.diag[2 * i + 1])
        mu[p] = friction[i] if unit[p, 1] > 0.0 else 0.0
    x = np.empty((count, d))
    for b in range(count):
        x[b] = velocity[members[b]]
        label[members[b]] = -1
    return Blocks(body, val, base, mu, unit, x)


@njit(cache=True, nogil=True)
def moved(blocks, z, x):
    """`x = v + G^T z`, in place of x."""
    x[:] = blocks.velocity
    for p in range(len(z)):
        for side in range(2):
            b = blocks.body[p, side]
            if b >= 0:
                for c in range(x.shape[1]):
                    x[b, c] += (
                        blocks.val[p, side, 0, c] * z[p, 0]
                        + blocks.val[p, side, 1, c] * z[p, 1]
                        + blocks.val[p, side, 2, c] * z[p, 2]
                    )


@njit(cache=True, nogil=True)
def speeds_at(blocks, x, u):
    """`u = G x + w`, in place of u."""
    for p in range(len(u)):
        for s in range(3):
            total = blocks.base[p, s]
            for side in range(2):
                b = blocks.body[p, side]
                if b >= 0:
                    for c in range(x.shape[1]):
                        total += blocks.val[p, side, s, c] * x[b, c]
            u[p, s] = total


@njit(cache=True, nogil=True)
def distance(blocks, z, u):
    """Largest distance of z to its projected step, as a speed."""
    worst, total = 0.0, 0.0
    for p in range(len(z)):
        f = abs(min(u[p, 0], blocks.unit[p, 0] * z[p, 0]))
        worst = max(worst, f)
        total += f * f
        mu = blocks.friction[p]
        if mu > 0.0:
            r, bound = blocks.unit[p, 1], mu * max(z[p, 0], 0.0)
            a, b = z[p, 1] - u[p, 1] / r, z[p, 2] - u[p, 2] / r
            size = np.sqrt(a * a + b * b)
            share = bound / size if size > bound else 1.0
            f = r * np.sqrt((z[p, 1] - share * a) ** 2 + (z[p, 2] - share * b) ** 2)
            worst = max(worst, f)
            total += f * f
    return worst
