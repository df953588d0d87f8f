"""Contacts with all rows of a contact side by side in memory: the input of the frictional contact solver.

A contact has r rows over the bodies that it touches. Row 0 is the normal, rows 1 to t are the tangents (t = 1 in 2D, 2
in 3D), and where a material has rolling or torsional friction they are followed by t rows of rolling and, in 3D, one
row of spinning about the normal. Without friction there is only the normal row. Rows are whitened (`rows.py`).

A contact whose normal row is zero keeps its normal impulse: that is friction within given bounds.

Speeds are `u = G x + base` (m, r), impulses `z` (m, r), velocities after them `x + G^T z`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .rows import Floats, Ints, Rows

FRICTION, ROLLING, TORSION = 0, 1, 2  # columns of `Blocks.bound`


class Blocks(NamedTuple):
    """m contacts, each of which touches at most w of n bodies with d velocity components."""

    body: Ints  # (m, w) bodies; -1 for none
    val: Floats  # (m, w, r, d) whitened rows; zero where the body is -1
    base: Floats  # (m, r) speeds that no impulse changes: of boundaries and scripted bodies
    bound: Floats  # (m, 3) friction impulses over the normal impulse: sliding (mu), rolling and torsional (lengths)
    tangents: int = 0  # t; 0 means 2 where r = 6 or where r = 3 and d is not 3 (3D), else 1


def blocks_of(
    rows: Rows, tangents: Rows | None, boundary: Floats, slip: Floats | None, friction: Floats | None
) -> Blocks:
    """Blocks of normal rows (m) and tangent rows (m * t, contact by contact).

    `boundary` (m,) and `slip` (m * t,) are the speeds that no impulse changes, `friction` (m,) the coefficients mu.
    """
    m = len(boundary)
    bound = np.zeros((m, 3))
    if tangents is None or slip is None or friction is None:
        body, val = _blocks(rows, rows, 0, _width(rows, rows, 0))
        return Blocks(body, val, boundary.reshape(m, 1).copy(), bound, 1)
    t = len(slip) // max(m, 1)
    bound[:, FRICTION] = friction
    base = np.concatenate([boundary[:, None], slip.reshape(m, t)], axis=1)
    body, val = _blocks(rows, tangents, t, _width(rows, tangents, t))
    return Blocks(body, val, base, bound, t)


@kernel
def _width(rows, tangents, t):
    """The most bodies that the rows of one contact touch, at least 2. Tangents may touch other bodies than normals."""
    width = 2
    for i in range(len(rows.ptr) - 1):
        count = rows.ptr[i + 1] - rows.ptr[i]
        for e in range(tangents.ptr[i * t], tangents.ptr[(i + 1) * t]):
            new = True
            for f in range(rows.ptr[i], rows.ptr[i + 1]):
                new = new and rows.body[f] != tangents.body[e]
            for f in range(tangents.ptr[i * t], e):
                new = new and tangents.body[f] != tangents.body[e]
            if new:
                count += 1
        width = max(width, count)
    return width


@kernel
def _blocks(rows, tangents, t, w):
    m, d = len(rows.ptr) - 1, rows.val.shape[1]
    body, val = np.full((m, w), -1, np.int64), np.zeros((m, w, 1 + t, d))
    for i in range(m):
        start = rows.ptr[i]
        for side in range(rows.ptr[i + 1] - start):
            body[i, side] = rows.body[start + side]
            val[i, side, 0] = rows.val[start + side]
        for s in range(t):
            for e in range(tangents.ptr[i * t + s], tangents.ptr[i * t + s + 1]):
                side = 0
                while body[i, side] != tangents.body[e] and body[i, side] >= 0:
                    side += 1
                body[i, side] = tangents.body[e]
                val[i, side, 1 + s] = tangents.val[e]
    return body, val


@kernel(inline="always")  # a call would pass all arrays of the tuple by value, which costs more than the work
def row_speed(blocks, x, i, row):
    """Speed of one row of contact i at the velocity x, without that of boundaries."""
    total = 0.0
    for side in range(blocks.body.shape[1]):
        b = blocks.body[i, side]
        if b >= 0:
            for c in range(x.shape[1]):
                total += blocks.val[i, side, row, c] * x[b, c]
    return total


@kernel
def normal_speeds(blocks, x):
    """Separation speeds (m,) at the velocity x."""
    u = np.empty(len(blocks.body))
    for i in range(len(u)):
        u[i] = row_speed(blocks, x, i, 0) + blocks.base[i, 0]
    return u
