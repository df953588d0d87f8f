"""Jacobian rows in the coordinates of the user, before whitening."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..solvers.rows import Floats, Ints, rows_times, rows_transpose_times
from . import checks


@dataclass(frozen=True, eq=False)
class PhysicalRows:
    """Jacobian rows in the coordinates of the user, with one d-vector for each body that a row touches."""

    ptr: Ints  # (m + 1,) row i owns entries ptr[i]:ptr[i+1]
    body: Ints  # (nnz,) body of each entry
    val: Floats  # (nnz, d)

    def times(self, v: Floats) -> Floats:
        """`J v` for v of shape (n, d), or of any shape with as many numbers."""
        v = np.ascontiguousarray(v, dtype=np.float64).reshape(-1, self.val.shape[1])
        return np.asarray(rows_times(self.ptr, self.body, self.val, v))

    def transpose_times(self, y: Floats, n: int) -> Floats:
        """`J^T y`, of shape (n, d)."""
        return rows_transpose_times(self.ptr, self.body, self.val, y, n)


def rows_from_matrix(matrix: sp.csr_matrix) -> PhysicalRows:
    """The rows of a general system, in which every body has one component."""
    return PhysicalRows(
        checks.frozen(matrix.indptr.astype(np.int64)),
        checks.frozen(matrix.indices.astype(np.int64)),
        checks.frozen(np.asarray(matrix.data, dtype=float)[:, None]),
    )


def rows_from_pairs(pair: Ints, rows: Floats) -> PhysicalRows:
    """Rows (m, 2, d) of contacts between two bodies (m, 2); the world, -1, has no entry."""
    inside = pair >= 0
    ptr = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
    return PhysicalRows(checks.frozen(ptr), checks.frozen(pair[inside]), checks.frozen(rows[inside]))


def take_rows(rows: PhysicalRows, order: Ints) -> PhysicalRows:
    """Some of the rows, in the given order."""
    width = np.diff(rows.ptr)[order]
    ptr = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    entry = np.arange(ptr[-1]) - np.repeat(ptr[:-1] - rows.ptr[order], width)
    return PhysicalRows(ptr, rows.body[entry], rows.val[entry])
