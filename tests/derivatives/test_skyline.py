"""Factors of `K = G G^T` against a dense pseudoinverse, with rows that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from carom.derivatives import implicit
from carom.derivatives.tape import System


def system(rng, islands: int, contacts: int) -> tuple[System, np.ndarray]:
    """Rows of some islands, and the rows that depend on others: in each island one is a sum of two others."""
    blocks, dependent = [], []
    for _ in range(islands):
        rows = rng.normal(size=(contacts, 2 * contacts)) * (rng.random((contacts, 2 * contacts)) < 0.4)
        rows[np.arange(contacts), np.arange(contacts)] += 2.0
        rows[-1] = rows[0] + rows[1]
        dependent += [len(blocks) * contacts + k for k in (0, 1, contacts - 1)]
        blocks.append(rows)
    dense = sparse.csr_matrix(sparse.block_diag(blocks))
    m = dense.shape[0]
    return System(dense, np.zeros(m), np.zeros(dense.shape[1]), np.ones(m), np.zeros(m)), np.array(dependent)


@pytest.mark.parametrize("large", [False, True])
def test_solutions_of_least_norm(monkeypatch, large):
    if large:  # as if the factor were too large
        monkeypatch.setattr(implicit, "LARGEST_SKYLINE_WORK", -1.0)
    rng = np.random.default_rng(5)
    whole, dependent = system(rng, 4, 9)
    chosen = np.setdiff1d(np.arange(36), [3, 14])  # of rows, some
    gram = implicit.Gram(whole.part(chosen))
    k = (whole.rows[chosen] @ whole.rows[chosen].T).toarray()
    right = k @ rng.normal(size=(len(chosen), 3))  # in the range of K
    # Condition numbers are about 1e3, so that eight digits are left for certain.
    np.testing.assert_allclose(k @ gram.solve(right), right, atol=1e-8)
    if not large:  # refinement of a shifted factor leaves rounding errors along null vectors, which move nothing
        np.testing.assert_allclose(gram.solve(right), np.linalg.pinv(k, rcond=1e-10) @ right, atol=1e-8)
        assert set(chosen[gram.redundant]) == set(dependent)
        np.testing.assert_allclose(gram.solve(right[:, 0]), gram.solve(right)[:, 0])


def test_independent_rows_have_no_null_vectors():
    whole, _ = system(np.random.default_rng(6), 3, 7)
    kept = np.setdiff1d(np.arange(21), [6, 13, 20])
    assert len(implicit.Gram(whole.part(kept)).redundant) == 0
