"""Mass matrices `M = L L^T`, and the whitened coordinates `x = L^T v` in which they are the identity."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints, Rows, make_rows


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

    def whiten_rows(self, ptr: Ints, body: Ints, val: Floats) -> Rows:
        """Rows `L^-1 J^T`, in the same block pattern."""
        return make_rows(ptr, body, val / self._root[body], len(self.values))

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

    def whiten_rows(self, ptr: Ints, body: Ints, val: Floats) -> Rows:
        white = np.linalg.solve(self._root[body], val[..., None])[..., 0]
        return make_rows(ptr, body, white, len(self.values))

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

    def whiten_rows(self, ptr: Ints, body: Ints, val: Floats) -> Rows:
        n = self.matrix.shape[0]
        jacobian = sp.csr_matrix((val[:, 0], body, ptr), shape=(len(ptr) - 1, n))
        white = sp.csr_matrix(jacobian @ self._inverse_root.T)
        white.eliminate_zeros()
        white.sort_indices()
        return make_rows(white.indptr, white.indices, white.data[:, None], n)

    def arrays(self) -> dict[str, Floats]:
        coo = self.matrix.tocoo()
        return {
            "mass_row": coo.row.astype(np.int64),
            "mass_column": coo.col.astype(np.int64),
            "mass_value": coo.data,
        }


Mass = DiagonalMass | BlockMass | GeneralMass
