"""Contacts with all rows of a contact side by side in memory: the input of the frictional contact solver.

A contact has r rows over the bodies that it touches. Row 0 is the normal, rows 1 to t are the tangents (t = 1 in 2D, 2
in 3D), and where a material has rolling or torsional friction they are followed by t rows of rolling and, in 3D, one
row of spinning about the normal. Without friction there is only the normal row. Rows are whitened (`rows.py`).

Speeds are `u = G x + base` (m, r), impulses `z` (m, r), velocities after them `x + G^T z`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .rows import Floats, Ints

FRICTION, ROLLING, TORSION = 0, 1, 2  # columns of `Blocks.bound`


class Blocks(NamedTuple):
    """m contacts, each of which touches at most w of n bodies with d velocity components."""

    body: Ints  # (m, w) bodies; -1 for none
    val: Floats  # (m, w, r, d) whitened rows; zero where the body is -1
    base: Floats  # (m, r) speeds that no impulse changes: of boundaries and scripted bodies
    bound: Floats  # (m, 3) friction impulses over the normal impulse: sliding (mu), rolling and torsional (lengths)
    tangents: int  # t, tangent rows per contact; 0 without friction


@kernel
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
