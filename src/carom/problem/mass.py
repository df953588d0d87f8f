"""Mass matrices `M = L L^T`, the whitened coordinates `x = L^T v` in which they are the identity, and Jacobian rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..late import sparse as sp
from ..solvers.rows import Floats, Ints
from . import checks


class DiagonalMass:
    """One positive number for each velocity component: `values` has shape (n, d)."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        self._root = np.sqrt(values)

    def times(self, v: Floats) -> Floats:
        """`M v` for v of shape (n, d)."""
        return self.values * v

    def solve(self, p: Floats) -> Floats:
        """`M^-1 p`."""
        return p / self.values

    def whiten(self, v: Floats) -> Floats:
        """`x = L^T v`, so that `|x|^2 / 2` is the kinetic energy."""
        return self._root * v

    def whiten_rows(self, rows: PhysicalRows) -> PhysicalRows:
        """Rows `L^-1 J^T`, in the same block pattern."""
        return PhysicalRows(rows.ptr, rows.body, rows.val / self._root[rows.body])

    def arrays(self) -> dict[str, Floats]:
        return {"mass": self.values}


class BlockMass:
    """One symmetric positive definite (d, d) block for each body: `values` has shape (n, d, d)."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        try:
            self._root = np.linalg.cholesky(values)
        except np.linalg.LinAlgError:
            raise ProblemError("mass", values, "symmetric positive definite blocks") from None

    def times(self, v: Floats) -> Floats:
        return np.einsum("nij,nj->ni", self.values, v)

    def solve(self, p: Floats) -> Floats:
        return np.asarray(np.linalg.solve(self.values, p[..., None])[..., 0], dtype=np.float64)

    def whiten(self, v: Floats) -> Floats:
        return np.einsum("nji,nj->ni", self._root, v)

    def whiten_rows(self, rows: PhysicalRows) -> PhysicalRows:
        white = np.linalg.solve(self._root[rows.body], rows.val[..., None])[..., 0]
        return PhysicalRows(rows.ptr, rows.body, white)

    def arrays(self) -> dict[str, Floats]:
        return {"mass": self.values}


class GeneralMass:
    """Any symmetric positive definite matrix over N components, factored by connected parts.

    In whitened coordinates every component counts as a body of one component, so a row may touch many of them.
    """

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.matrix = sp.csr_matrix(matrix)
        from scipy.sparse.csgraph import connected_components  # slow to import

        count, label = connected_components(self.matrix, directed=False)
        order = np.argsort(label, kind="stable")
        starts = np.searchsorted(label[order], np.arange(count + 1))
        self._parts = [order[a:b] for a, b in pairwise(starts)]
        self._roots = []
        for part in self._parts:
            dense = self.matrix[part][:, part].toarray()
            try:
                self._roots.append(np.linalg.cholesky(dense))
            except np.linalg.LinAlgError:
                low = float(np.linalg.eigvalsh(dense)[0])
                raise ProblemError(
                    "mass",
                    f"a matrix with the eigenvalue {low:.3g}",
                    "a symmetric positive definite matrix",
                ) from None

    @cached_property
    def _whitener(self) -> sp.csr_matrix:
        """`L^T`, block diagonal, in the order of the components."""
        return self._assemble([root.T for root in self._roots])

    @cached_property
    def _inverse_root(self) -> sp.csr_matrix:
        """`L^-1`."""
        from scipy.linalg import solve_triangular  # slow to import

        inverse = [solve_triangular(root, np.eye(len(root)), lower=True) for root in self._roots]
        return self._assemble(inverse)

    def _assemble(self, blocks: list[Floats]) -> sp.csr_matrix:
        if not blocks:
            return sp.csr_matrix(self.matrix.shape)
        row = np.concatenate([np.repeat(p, len(p)) for p in self._parts])
        col = np.concatenate([np.tile(p, len(p)) for p in self._parts])
        value = np.concatenate([b.ravel() for b in blocks])
        return sp.csr_matrix((value, (row, col)), shape=self.matrix.shape)

    def times(self, v: Floats) -> Floats:
        return np.asarray(self.matrix @ v.ravel()).reshape(v.shape)

    def solve(self, p: Floats) -> Floats:
        from scipy.linalg import cho_solve  # slow to import

        out = np.empty(p.size)
        for part, root in zip(self._parts, self._roots, strict=True):
            out[part] = cho_solve((root, True), p.ravel()[part], check_finite=False)
        return out.reshape(p.shape)

    def whiten(self, v: Floats) -> Floats:
        return np.asarray(self._whitener @ v.ravel()).reshape(v.shape)

    def whiten_rows(self, rows: PhysicalRows) -> PhysicalRows:
        shape = (len(rows.ptr) - 1, self.matrix.shape[0])
        jacobian = sp.csr_matrix((rows.val[:, 0], rows.body, rows.ptr), shape=shape)
        white = sp.csr_matrix(jacobian @ self._inverse_root.T)
        white.eliminate_zeros()
        white.sort_indices()
        return PhysicalRows(white.indptr, white.indices, white.data[:, None])

    def arrays(self) -> dict[str, Floats]:
        coo = self.matrix.tocoo()
        return {
            "mass_row": coo.row.astype(np.int64),
            "mass_column": coo.col.astype(np.int64),
            "mass_value": coo.data,
        }


Mass = DiagonalMass | BlockMass | GeneralMass


# ---- Jacobian rows in the coordinates of the user, before whitening


@dataclass(frozen=True, eq=False)
class PhysicalRows:
    """Jacobian rows in the coordinates of the user, with one d-vector for each body that a row touches.

    The arrays are read-only, and factors are copied: writable ones are another type to Numba, which would compile the
    products again.
    """

    ptr: Ints  # (m + 1,) row i owns entries ptr[i]:ptr[i+1]
    body: Ints  # (nnz,) body of each entry
    val: Floats  # (nnz, d)

    def times(self, v: Floats) -> Floats:
        """`J v` for v of shape (n, d), or of any shape with as many numbers."""
        v = np.array(v, dtype=np.float64, order="C").reshape(-1, self.val.shape[1])
        return np.asarray(_times(self.ptr, self.body, self.val, v))

    def transpose_times(self, y: Floats, n: int) -> Floats:
        """`J^T y`, of shape (n, d)."""
        return _transpose_times(self.ptr, self.body, self.val, np.array(y), n)


def rows_from_matrix(matrix: sp.csr_matrix) -> PhysicalRows:
    """The rows of a general system, in which every body has one component."""
    return PhysicalRows(
        checks.frozen(matrix.indptr.astype(np.int64)),
        checks.frozen(matrix.indices.astype(np.int64)),
        checks.frozen(np.asarray(matrix.data, dtype=float)[:, None]),
    )


def rows_from_pairs(pair: Ints, rows: Floats) -> PhysicalRows:
    """Rows (m, 2, d) of contacts between two bodies (m, 2); the world, -1, has no entry."""
    arrays = _entries(np.ascontiguousarray(pair), np.ascontiguousarray(rows))
    for array in arrays:
        array.setflags(write=False)
    return PhysicalRows(*arrays)


def take_rows(rows: PhysicalRows, order: Ints) -> PhysicalRows:
    """Some of the rows, in the given order."""
    width = np.diff(rows.ptr)[order]
    ptr = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    entry = np.arange(ptr[-1]) - np.repeat(ptr[:-1] - rows.ptr[order], width)
    return PhysicalRows(checks.frozen(ptr), checks.frozen(rows.body[entry]), checks.frozen(rows.val[entry]))


@kernel
def _entries(pair, rows):
    """The entries of `PhysicalRows` for rows of pairs."""
    m, d, count = len(pair), rows.shape[2], (pair >= 0).sum()
    ptr, body, val, e = np.zeros(m + 1, np.int64), np.empty(count, np.int64), np.empty((count, d)), 0
    for i in range(m):
        for side in range(2):
            if pair[i, side] >= 0:
                body[e] = pair[i, side]
                for c in range(d):
                    val[e, c] = rows[i, side, c]
                e += 1
        ptr[i + 1] = e
    return ptr, body, val


@kernel
def _times(ptr, body, val, v):
    """`J v`."""
    out = np.zeros(len(ptr) - 1)
    for i in range(len(out)):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(val.shape[1]):
                out[i] += val[e, k] * v[body[e], k]
    return out


@kernel
def _transpose_times(ptr, body, val, y, n):
    """`J^T y`, of shape (n, d)."""
    out = np.zeros((n, val.shape[1]))
    for i in range(len(ptr) - 1):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(val.shape[1]):
                out[body[e], k] += val[e, k] * y[i]
    return out
