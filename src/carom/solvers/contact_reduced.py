"""Frictional contact of mechanisms on the motions that contacts can cause.

A contact of a mechanism moves all its bodies, so that its rows are long and dense, while its contacts act on few
motions: as many as there are rows, or as joints allow. For each island `G^T = Q R` with column pivoting gives an
orthonormal basis Q of these motions; in `y = Q^T x` the rows are those of R^T, and the other motions keep their
velocity. A chain of 50 links with 16 contacts has 32 such motions instead of 150 components of velocity.
"""

from __future__ import annotations

import numpy as np

from .islands import all_islands
from .rows import Floats, Ints, Rows, make_rows

RANK = 1e-13  # diagonal entry of R, relative to the largest, below which a row adds no motion


class Reduced:
    """The contacts `chosen` (k,) of rows over bodies with several components, as rows over single motions."""

    def __init__(self, blocks: Rows, chosen: Ints, velocity: Floats) -> None:
        self.velocity = velocity
        body, val = blocks.body[chosen], blocks.val[chosen]
        k, _, r, _ = val.shape
        _, order, ptr, _ = all_islands(body, len(velocity))
        self.bases: list[tuple[Ints, Floats, int]] = []  # bodies, Q, first motion
        entries, count = [], 0
        for s in range(len(ptr) - 1):
            mine = order[ptr[s] : ptr[s + 1]]
            members, rows = _dense(body[mine], val[mine])
            basis, short = _basis(rows.reshape(len(mine) * r, -1))
            entries.append((mine, count, short.reshape(len(mine), r, -1)))
            self.bases.append((members, basis, count))
            count += basis.shape[1]
        width = max([3, *(short.shape[2] for _, _, short in entries)])
        new_body, new_val = np.full((k, width), -1, np.int64), np.zeros((k, width, r, 1))
        for mine, first, short in entries:
            rank = short.shape[2]
            new_body[mine, :rank] = first + np.arange(rank)
            new_val[mine, :rank, :, 0] = short.transpose(0, 2, 1)
        self.rows = make_rows(new_body, new_val, blocks.base[chosen], blocks.bound[chosen], blocks.tangents, count)
        self.start = np.empty((count, 1))
        for members, basis, first in self.bases:
            self.start[first : first + basis.shape[1], 0] = velocity[members].ravel() @ basis

    def expanded(self, after: Floats) -> Floats:
        """The velocities (n, d) of all bodies, from those of the motions after the impulses."""
        out = self.velocity.copy()
        for members, basis, first in self.bases:
            change = (after - self.start)[first : first + basis.shape[1], 0]
            out[members] += (basis @ change).reshape(len(members), -1)
        return out


def _dense(body: Ints, val: Floats) -> tuple[Ints, Floats]:
    """The bodies (n,) of contacts (k, w), ascending, and their rows (k, r, n, d)."""
    members = np.unique(body[body >= 0])
    out = np.zeros((len(body), val.shape[2], len(members), val.shape[3]))
    contact, side = np.nonzero(body >= 0)
    out[contact, :, np.searchsorted(members, body[contact, side])] = val[contact, side]
    return members, out


def _basis(rows: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis (N, rank) of the span of rows (m, N), and the rows in it (m, rank)."""
    from scipy.linalg import qr  # slow to import

    q, upper, order = qr(rows.T, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diagonal(upper))
    rank = int((size > RANK * size.max(initial=0.0)).sum())
    short = np.empty((len(rows), rank))
    short[order] = upper[:rank].T
    return np.ascontiguousarray(q[:, :rank]), short
