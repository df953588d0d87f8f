"""Cone problems `min 1/2 |G^T y|^2 + c^T y`, `y >= 0`, solved with nothing of Carom's.

With c = G x0 this is `min 1/2 |x0 + G^T y|^2`: the velocity `x0 + G^T y` is unique although y often is not, so
velocities are what is compared.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls


def residual(matrix, c, y):
    """How far y is from a solution: the speed that a step of each contact alone would change, over max |c|.

    This is max |min(A_ii y_i, (A y + c)_i)| / max |c|.
    """
    matrix = sp.csr_matrix(matrix)
    stiff = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    gradient = matrix @ (matrix.T @ y) + c
    step = np.maximum(y - gradient / stiff, 0.0) - y
    return float(np.abs(step * stiff).max() / np.abs(c).max())


def by_enumeration(matrix, c):
    """G^T y by trying every set of free contacts: the one that satisfies the conditions."""
    a, m, size = matrix @ matrix.T, len(c), np.abs(c).max()
    for choice in itertools.product((False, True), repeat=m):
        free, y = np.array(choice), np.zeros(m)
        if free.any():
            y[free] = np.linalg.lstsq(a[np.ix_(free, free)], -c[free], rcond=1e-11)[0]
        g = a @ y + c
        right = (y >= -1e-10) & (g >= -1e-10 * size)
        right &= ~free | (np.abs(g) <= 1e-10 * size)
        if right.all():
            return matrix.T @ y
    raise AssertionError(f"none of the sets of {m} contacts is a solution")


def by_nnls(matrix, x0):
    """G^T y with c = G x0: Lawson and Hanson."""
    y, _ = nnls(matrix.T, -x0, maxiter=100 * len(matrix))
    return matrix.T @ y


def by_piqp(matrix, x0):
    """G^T y from the velocity: `min 1/2 |x - x0|^2` with `G x >= 0`."""
    import piqp

    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-13
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-13
    m, n = matrix.shape
    solver.setup(
        P=sp.identity(n, format="csc"),
        c=-x0,
        G=sp.csc_matrix(-matrix),
        h_l=np.full(m, -np.inf),
        h_u=np.zeros(m),
    )
    solver.solve()
    return np.asarray(solver.result.x) - x0


def by_clarabel(matrix, x0):
    """The same with Clarabel: `-G x + s = 0`, s >= 0."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    m, n = matrix.shape
    solver = clarabel.DefaultSolver(
        sp.identity(n, format="csc"), -x0, sp.csc_matrix(-matrix), np.zeros(m), [clarabel.NonnegativeConeT(m)], settings
    )
    return np.asarray(solver.solve().x) - x0
