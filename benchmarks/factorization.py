"""The block Cholesky factorization of large islands beside CHOLMOD, on the same matrices, CPU time of one thread."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from carom import ImpactProblem
from carom.problem.contacts import as_matrix
from carom.solvers.linalg.factor import analyze, factorise, new_factor, solve_factored
from carom.solvers.rows import Rows

from .engines.cholmod import cholmod_seconds
from .report import Row

REPEATS = 3
LARGEST_ERROR = 1e-13  # backward error |H x - b| / (|H| |x|) of a solution: a stable factorization leaves rounding


def hexagonal(side: int) -> Rows:
    """Equal discs in the densest packing on a floor, `side` in each direction."""
    cells = np.array([(i + 0.5 * (j % 2), 0.5 + j * np.sqrt(0.75)) for j in range(side) for i in range(side)])
    floor = [([0.0, 0.0], [0.0, 1.0])]
    return ImpactProblem.from_discs(cells, 0.5, 1.0, np.zeros((side * side, 2)), planes=floor).contacts.rows


def cubic(cells: int) -> Rows:
    """Spheres in the densest packing, 4 cells^3, with rows over all six components, as those of boxes and grains."""
    corner = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]])
    cube = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    places = np.sqrt(2.0) * (cube + corner).reshape(-1, 3)
    # Contact distances that differ in the last digits.
    rows = ImpactProblem.from_spheres(places, 0.5 * (1 + 1e-12), 1.0, np.zeros((len(places), 6))).contacts.rows
    rows.val[:] = np.random.default_rng(5).normal(size=rows.val.shape)
    return rows


def matrix_of(rows: Rows, weight: np.ndarray) -> Any:
    """`I + G^T D G` over all components, sparse."""
    g = as_matrix(rows)
    return sp.identity(g.shape[1]) + g.T @ sp.diags(weight) @ g


def measured(rows: Rows, weight: np.ndarray, matrix: Any) -> tuple[float, float, float]:
    """CPU seconds of analysis and factorization, and the backward error of a solution."""
    k, n, d = len(rows.body), len(rows.touch_ptr) - 1, rows.val.shape[3]
    best = [np.inf, np.inf]
    for _ in range(REPEATS + 1):  # the first compiles
        start = process_time()
        island = analyze(rows, np.arange(k), np.ones(k), np.empty(n, np.int64))
        middle = process_time()
        factor = new_factor(island)
        factorise(island, weight, factor)
        best = [min(best[0], middle - start), min(best[1], process_time() - middle)]
    number = np.empty(n, np.int64)
    number[island.body] = rows.body[rows.body >= 0]
    right = np.random.default_rng(1).normal(size=(n, d))
    x = right[number]
    solve_factored(island, factor, x)
    answer = np.empty((n, d))
    answer[number] = x
    error = np.abs(matrix @ answer.ravel() - right.ravel()).max()
    return best[0], best[1], float(error / (abs(matrix).sum(axis=1).max() * np.abs(answer).max()))


def compare(name: str, rows: Rows) -> Row:
    weight = 1e3 * np.random.default_rng(2).uniform(0.5, 2.0, len(rows.body))
    matrix = matrix_of(rows, weight)
    analysis, factor, error = measured(rows, weight, matrix)
    mine = f"{analysis:.3f} + {factor:.3f} s, error {error:.0e}"
    other = cholmod_seconds(matrix)
    asked = "at most CHOLMOD's time"
    if isinstance(other, str):
        return Row(name, asked, f"{mine}; {other}", None if error <= LARGEST_ERROR else False)
    ratio = (analysis + factor) / sum(other)
    measured_ = f"{mine}; CHOLMOD {other[0]:.3f} + {other[1]:.3f} s: {ratio:.2f} of its time"
    return Row(name, asked, measured_, ratio <= 1.0 and error <= LARGEST_ERROR)


def run(quick: bool = False) -> list[Row]:
    discs, spheres = (60, 3) if quick else (316, 7)
    return [
        compare(f"analysis and factorization, {discs**2:,} discs", hexagonal(discs)),
        compare(f"analysis and factorization, {4 * spheres**3:,} bodies of space", cubic(spheres)),
    ]
