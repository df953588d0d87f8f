"""The factorisation of H = I + G^T D G in blocks, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from tests.solvers import packings

from carom import ImpactProblem
from carom.solvers.linalg.factor import analyze, combine, factorise, gradient, new_factor, solve_factored
from carom.solvers.rows import rows_from_csr


def random_rows(bodies, contacts, d, rng):
    """Rows of one or two bodies each, with random entries: nothing but the pattern is special."""
    body, val, ptr = [], [], [0]
    for _ in range(contacts):
        pair = rng.choice(bodies, int(rng.integers(1, 3)), replace=False)
        body += pair.tolist()
        val += rng.normal(size=(len(pair), d)).tolist()
        ptr.append(len(body))
    return rows_from_csr(np.array(ptr), np.array(body), np.array(val).reshape(-1, d), bodies)


def matrix_of(island):
    """G of an island, dense, with its bodies in order of elimination."""
    k, d = len(island.ptr) - 1, island.val.shape[1]
    g = np.zeros((k, island.bodies, d))
    for i in range(k):
        for e in range(island.ptr[i], island.ptr[i + 1]):
            g[i, island.body[e]] += island.val[e]
    return g.reshape(k, -1)


def factored(rows, weight, scale=None):
    k = len(rows.body)
    island = analyze(
        rows, np.arange(k), np.ones(k) if scale is None else scale, np.empty(len(rows.touch_ptr) - 1, np.int64)
    )
    factor = new_factor(island)
    factorise(island, weight, factor)
    return island, factor


def backward_error(rows, weight, rng):
    """|H x - b| / (|H| |x| + |b|) of one solve: a stable factorisation keeps it at round-off."""
    island, factor = factored(rows, weight)
    g = matrix_of(island)
    h = np.eye(g.shape[1]) + g.T @ (weight[:, None] * g)
    b = rng.normal(size=(island.bodies, rows.val.shape[3]))
    x = b.copy()
    solve_factored(island, factor, x)
    error = np.abs(h @ x.ravel() - b.ravel()).max()
    expected = np.linalg.solve(h, b.ravel())
    return error / (np.abs(h).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()), x.ravel() - expected, expected


@pytest.mark.covering
@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("top", [0.0, 1.0, 1e3])
def test_solves_as_dense_algebra_does(d, top):
    for seed in range(8):
        rng = np.random.default_rng([d, seed])
        bodies = int(rng.integers(2, 25))
        contacts = int(rng.integers(bodies, 4 * bodies))
        rows = random_rows(bodies, contacts, d, rng)
        _, difference, expected = backward_error(rows, top * rng.random(contacts), rng)
        # The condition number is at most 1 + top |G|^2, some 1e5 here.
        assert np.abs(difference).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_stays_stable_over_nine_powers_of_ten(d):
    """D as the active set has it: 0 for contacts at a bound, 1e9 for free ones, and anything between."""
    for seed in range(8):
        rng = np.random.default_rng([d, seed, 1])
        bodies = int(rng.integers(2, 25))
        contacts = int(rng.integers(bodies, 4 * bodies))
        rows = random_rows(bodies, contacts, d, rng)
        weight = np.where(rng.random(contacts) < 0.3, 0.0, 10.0 ** rng.uniform(-9, 9, contacts))
        weight[0] = 1e9
        error, _, _ = backward_error(rows, weight, rng)
        assert error <= 1e-13


def pairs_rows(pairs, bodies, d, rng):
    """Rows of two bodies each, with random entries."""
    pairs = np.asarray(pairs)
    return rows_from_csr(2 * np.arange(len(pairs) + 1), pairs.ravel(), rng.normal(size=(pairs.size, d)), bodies)


def wheel(n):
    """A ring of n bodies around a hub."""
    return [(k, (k + 1) % n) for k in range(n)] + [(k, n) for k in range(n)]


STRUCTURES = {
    "chain": [(k, k + 1) for k in range(120)],
    "star": [(0, k) for k in range(1, 90)],
    "wheel": wheel(80),
    "grid": [(12 * i + j, 12 * i + j + s) for i in range(12) for j in range(11) for s in (1, 12) if i < 11],
    "clique": [(a, b) for a in range(45) for b in range(a)],
    "two islands": [(k, k + 1) for k in range(30)] + [(40 + a, 40 + b) for a in range(20) for b in range(a)],
}


@pytest.mark.covering
@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_structure(structure, d):
    """Long and short supernodes, trees with many children, fronts wider than a block and higher than a chunk."""
    rng = np.random.default_rng([d, 7])
    pairs = STRUCTURES[structure]
    rows = pairs_rows(pairs, 1 + max(max(pair) for pair in pairs), d, rng)
    weight = np.where(rng.random(len(pairs)) < 0.2, 0.0, 10.0 ** rng.uniform(-3, 6, len(pairs)))
    error, _, _ = backward_error(rows, weight, rng)
    assert error <= 1e-13  # rounding errors of some hundred operations per entry, as in the other tests


def test_redundant_contacts_of_a_packing():
    """A = G G^T is singular here; H is not. All contacts free, as in the first step of the active set."""
    rng = np.random.default_rng(0)
    rows, u = packings.rows_and_speeds(packings.hexagonal(7, rng))
    g = packings.dense(rows)
    assert np.linalg.matrix_rank(g) < len(g), "the packing is meant to be redundant"
    error, _, _ = backward_error(rows, np.full(len(u), 1e9), rng)
    assert error <= 1e-13


def test_rows_that_touch_many_components():
    """A full mass matrix couples every component: rows of more than two entries."""
    rng = np.random.default_rng(4)
    root = rng.normal(size=(9, 9))
    problem = ImpactProblem.from_matrices(root @ root.T + np.eye(9), rng.normal(size=(14, 9)), rng.normal(size=9))
    rows = problem.contacts.rows
    assert (rows.body >= 0).sum(axis=1).max() > 2
    _, difference, expected = backward_error(rows, rng.random(14), rng)
    assert np.abs(difference).max() <= 1e-12 * np.abs(expected).max()


def test_products_with_the_rows():
    """combine is G^T z and gradient is G x + g0, with the rows scaled and the bodies renumbered."""
    rng = np.random.default_rng(8)
    rows = random_rows(10, 30, 3, rng)
    scale = rng.uniform(0.5, 2.0, 30)
    island, _ = factored(rows, np.zeros(30), scale)
    g = matrix_of(island)
    # Renumbering is a permutation of bodies: the products of rows with each other stay what they were.
    plain = packings.dense(rows) * scale[:, None]
    np.testing.assert_allclose(g @ g.T, plain @ plain.T, atol=1e-12)
    z, x, g0 = rng.normal(size=30), rng.normal(size=(island.bodies, 3)), rng.normal(size=30)
    np.testing.assert_allclose(combine(island, z).ravel(), g.T @ z, atol=1e-12)
    out = np.empty(30)
    gradient(island, x, g0, out)
    np.testing.assert_allclose(out, g @ x.ravel() + g0, atol=1e-12)
