"""Nearest points of polyhedra: optimality measured independently, redundant rows, warm starts, equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.solvers.rows import Floats, Rows, rows_from_csr
from carom.towers.projection import Projection


def rows_of(matrix: Floats, d: int) -> Rows:
    """Rows over bodies of d components, from a dense matrix."""
    m, n = matrix.shape[0], matrix.shape[1] // d
    blocks = matrix.reshape(m, n, d)
    ptr, body, val = [0], [], []
    for i in range(m):
        for b in range(n):
            if blocks[i, b].any():
                body.append(b)
                val.append(blocks[i, b])
        ptr.append(len(body))
    return rows_from_csr(np.array(ptr), np.array(body), np.array(val), n)


def random_problem(seed: int, bodies: int, rows: int, repeat: bool) -> tuple[Floats, Floats, Floats]:
    """A feasible one: G x >= b holds at some x, with a third of the rows tight there."""
    random = np.random.default_rng(seed)
    g = np.zeros((rows, 3 * bodies))
    for i in range(rows):
        for b in random.choice(bodies, 2, replace=False):
            g[i, 3 * b : 3 * b + 3] = random.normal(size=3)
    if repeat:  # the same rows again, and sums of two: as redundant as flat faces are
        g = np.vstack([g, g[: rows // 2], g[: rows // 2] + g[rows // 2 : 2 * (rows // 2)]])
    inside = random.normal(size=g.shape[1])
    slack = np.where(random.random(len(g)) < 0.3, 0.0, random.random(len(g)))
    return g, g @ inside - slack, random.normal(size=g.shape[1])


def violation(g: Floats, b: Floats, free: Floats, x: Floats, y: Floats, equations: int = 0) -> float:
    """Largest violation of the conditions of optimality, each formed from the matrix itself."""
    gap = g @ x - b
    loose = slice(0, len(b) - equations)
    return max(
        np.abs(x - free - g.T @ y).max(),
        -gap[loose].min(initial=0.0),
        -y[loose].min(initial=0.0),
        np.abs(y[loose] * gap[loose]).max(initial=0.0),
        np.abs(gap[len(b) - equations :]).max(initial=0.0),
    )


@given(st.integers(0, 10**6), st.integers(3, 12), st.booleans())
def test_optimal_whatever_is_redundant(seed, bodies, repeat):
    g, b, free = random_problem(seed, bodies, 4 * bodies, repeat)
    x, y, residual = Projection(rows_of(g, 3), 0).solve(free.reshape(-1, 3), b)
    # Multipliers of random redundant rows reach some hundreds; 1e-9 is rounding of such sums.
    assert violation(g, b, free, x.ravel(), y) <= 1e-9 * max(1.0, np.abs(y).max())
    assert residual <= 1e-10


@given(st.integers(0, 10**6))
def test_equations_twice_over(seed):
    """Bars that say the same thing twice, as overbraced frameworks do."""
    g, b, free = random_problem(seed, 6, 10, False)
    random = np.random.default_rng(seed)
    e = np.zeros((4, 18))
    for i in range(4):
        e[i, 3 * i : 3 * i + 6] = random.normal(size=6)
    e = np.vstack([e, e[:2], e[2:3] - e[3:4]])
    inside = np.linalg.lstsq(g, b + 1.0, rcond=None)[0]
    whole, bound = np.vstack([g, e]), np.concatenate([g @ inside - random.random(10), e @ inside])
    x, y, _ = Projection(rows_of(whole, 3), 7).solve(free.reshape(-1, 3), bound)
    assert violation(whole, bound, free, x.ravel(), y, 7) <= 1e-9 * max(1.0, np.abs(y).max())


def test_a_warm_start_changes_the_work_and_not_the_answer():
    g, b, free = random_problem(3, 30, 120, True)
    cold = Projection(rows_of(g, 3), 0)
    x, y, _ = cold.solve(free.reshape(-1, 3), b)
    warm = Projection(rows_of(g, 3), 0)
    again, _, _ = warm.solve(free.reshape(-1, 3), b + 1e-9, y)
    assert np.abs(again - x).max() <= 1e-6  # the problem moved by 1e-9
    fresh, _, _ = Projection(rows_of(g, 3), 0).solve(free.reshape(-1, 3), b + 1e-9)
    np.testing.assert_allclose(again, fresh, rtol=0, atol=1e-12)
    # Multipliers of another problem are no help: here they cost 16 factorizations, those of the last problem one.
    bad = Projection(rows_of(g, 3), 0)
    bad.solve(free.reshape(-1, 3), b + 1e-9, np.random.default_rng(0).random(len(b)) * 100.0)
    assert warm.factorisations <= 5 < bad.factorisations


def test_a_bad_start_does_no_harm():
    g, b, free = random_problem(4, 20, 80, True)
    solver = Projection(rows_of(g, 3), 0)
    x = solver.solve(free.reshape(-1, 3), b)[0]
    other = solver.solve(free.reshape(-1, 3), b, np.random.default_rng(0).random(len(b)) * 100.0)[0]
    assert np.abs(other - x).max() <= 1e-9


def test_nothing_to_do():
    g, b, _ = random_problem(5, 4, 8, False)
    free = np.linalg.lstsq(g, b + 1.0, rcond=None)[0]
    far = g @ free - 1.0
    x, y, residual = Projection(rows_of(g, 3), 0).solve(free.reshape(-1, 3), far)
    assert np.array_equal(x.ravel(), free) and not y.any() and residual == 0.0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(scale):
    g, b, free = random_problem(6, 8, 30, True)
    x = Projection(rows_of(g, 3), 0).solve(free.reshape(-1, 3), b)[0]
    scaled = Projection(rows_of(g, 3), 0).solve(scale * free.reshape(-1, 3), scale * b)[0]
    assert np.allclose(scaled, scale * x, rtol=0.0, atol=1e-10 * scale * np.abs(x).max())
