"""Symmetries of an impact problem: verifying them, and the deviation of a solution from them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..errors import ProblemError
from ..impact.problem import ImpactProblem, Symmetry
from ..solvers.rows import Floats


def as_matrix(problem: ImpactProblem, symmetry: Symmetry) -> sp.csr_matrix:
    """The map v -> T v on all n*d velocity components."""
    n, d = problem.block
    bodies = np.asarray(symmetry.bodies)
    if bodies.ndim != 1 or sorted(bodies.tolist()) != list(range(n)):
        raise ProblemError("symmetry", bodies, f"a permutation of the {n} bodies")
    matrix = np.asarray(symmetry.matrix, dtype=float)
    if matrix.shape not in ((d, d), (n, d, d)):
        raise ProblemError("symmetry", f"a matrix of shape {matrix.shape}", f"shape ({d}, {d}) or ({n}, {d}, {d})")
    blocks = np.broadcast_to(matrix, (n, d, d))
    inner = np.arange(d)
    row = np.broadcast_to((bodies[:, None] * d + inner)[:, :, None], (n, d, d))
    col = np.broadcast_to((np.arange(n)[:, None] * d + inner)[:, None, :], (n, d, d))
    return sp.csr_matrix((blocks.ravel(), (row.ravel(), col.ravel())), shape=(n * d, n * d))


def defect(problem: ImpactProblem, symmetry: Symmetry) -> float:
    """Relative deviation of the problem itself from the symmetry; 0 for an exact one.

    A symmetry T preserves the velocity (T v = v), the mass (T^T M T = M), and maps contacts onto contacts: for
    every row J_i there is a row J_j with J_j T = J_i and the same boundary speed, restitution and friction.
    """
    t = as_matrix(problem, symmetry)
    n, d = problem.block
    v = problem.velocity.ravel()
    worst = float(np.abs(t @ v - v).max()) / max(float(np.abs(v).max()), np.finfo(float).tiny)
    # A few fixed vectors test T^T M T = M without forming the mass matrix.
    probe = np.random.default_rng(0).normal(size=(3, n * d))
    for x in probe:
        before = problem.mass.times(x.reshape(n, d)).ravel()
        mapped = t.T @ problem.mass.times((t @ x).reshape(n, d)).ravel()
        worst = max(worst, float(np.abs(mapped - before).max() / np.abs(before).max()))
    rows = _rows(problem)
    images = (rows @ t).toarray()
    labels = np.stack([problem.boundary_speed, problem.restitution, problem.friction], axis=1)
    here = np.hstack([rows.toarray(), labels])
    there = np.hstack([images, labels])
    scale = np.abs(rows.data).max()
    for row in here:
        worst = max(worst, float(np.abs(there - row).max(axis=1).min()) / scale)
    return worst


def _rows(problem: ImpactProblem) -> sp.csr_matrix:
    n, d = problem.block
    rows = problem.rows
    columns = (rows.body[:, None] * d + np.arange(d)).ravel()
    return sp.csr_matrix((rows.val.ravel(), columns, rows.ptr * d), shape=(problem.contact_count, n * d))


def image_error(problem: ImpactProblem, velocity: Floats) -> tuple[float, str]:
    """Largest difference between velocities and their symmetric image, relative to the largest speed.

    Returns the error and the name of the symmetry with the largest error; (0, "") for a problem without symmetries.
    """
    v = velocity.reshape(problem.block)
    speed = top_speed(problem, velocity)
    worst, name = 0.0, ""
    for symmetry in problem.symmetries:
        error = float(np.abs(symmetry.image(v) - v).max()) / speed
        if not error < worst:  # NaN counts as worst
            worst, name = error, symmetry.name
    return worst, name


def top_speed(problem: ImpactProblem, velocity: Floats) -> float:
    """The largest velocity component before or after impact, boundaries included."""
    parts = (problem.velocity, velocity, problem.boundary_speed)
    return max(*(float(np.abs(part).max()) for part in parts), np.finfo(float).tiny)
