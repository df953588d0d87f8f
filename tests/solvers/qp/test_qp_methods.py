"""Each method of the cone problem, forced onto the same islands by calling its kernel.

The driver picks a method by the island's size and falls back from one to the next; here none can hide behind
another.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.solvers import packings, reference

from carom.solvers.linalg.factor import analyze, new_factor
from carom.solvers.qp.dense import DENSE_VECTORS, solve_dense_in
from carom.solvers.qp.gradient_projection import projected_gradients
from carom.solvers.qp.interior import interior_point
from carom.solvers.qp.sparse import active_set, residual_of, solve_sparse


def islands():
    rng = np.random.default_rng(21)
    yield "flat box", packings.flat_box([0.3, 0.1, -1.0, 0.2, -0.4, 0.0])
    yield "discs", packings.unequal_discs(8, rng, decades=0.5)
    yield "masses 1e4 apart", packings.unequal_discs(20, rng)
    yield "hexagonal", packings.hexagonal(6, rng)
    yield "turning discs", packings.hexagonal(5, rng, spin=True)
    yield "spheres", packings.spheres(20, rng)
    yield "turning spheres", packings.spheres(15, rng, spin=True)
    yield "chain", packings.long_chain(60, rng)


ISLANDS = dict(islands())


class Scaled:
    """An island as the sparse kernels see it: rows of unit length, a gradient of size one."""

    def __init__(self, rows, c):
        k, n = len(c), len(rows.touch_ptr) - 1
        scale = 1.0 / np.sqrt(rows.diag)
        size = np.abs(c * scale).max()
        self.unit = scale * size
        self.island = analyze(rows, np.arange(k), scale, np.empty(n, np.int64))
        self.g0 = c * scale / size
        self.factor = new_factor(self.island)
        self.problem = (self.island, self.g0)


def dense(rows, c):
    g = packings.dense(rows)
    k = len(c)
    given, work, index = np.stack([c, 0.0 * c]), np.empty((k + DENSE_VECTORS, k)), np.empty((2, k), np.int64)
    return given[1], solve_dense_in(g @ g.T, given, False, k, work, index)[0] / np.abs(c).max()


def sparse(rows, c):
    y = np.zeros(len(c))
    local = np.empty(len(rows.touch_ptr) - 1, np.int64)
    return y, solve_sparse(rows, np.arange(len(c)), c, y, False, local)


def gradients(rows, c):
    s = Scaled(rows, c)
    z = np.zeros(len(c))
    residual = projected_gradients(*s.problem, z, 100_000)
    return s.unit * z, residual


def interior(rows, c):
    """The interior point and the polish on the active set that it found."""
    s = Scaled(rows, c)
    state = np.ones(len(c), np.int8)
    z = interior_point(*s.problem, state, s.factor)
    residual = active_set(*s.problem, z, state, s.factor)
    return s.unit * z, residual


METHODS = {"dense": dense, "sparse": sparse, "interior": interior, "gradients": gradients}


@pytest.mark.covering
@pytest.mark.parametrize("name", ISLANDS)
@pytest.mark.parametrize("method", METHODS)
def test_method(method, name):
    problem = ISLANDS[name]
    rows, c = packings.rows_and_speeds(problem)
    y, residual = METHODS[method](rows, c)
    g, x0 = packings.dense(rows), problem.contacts.velocity.ravel()
    assert residual <= 1e-11
    assert reference.residual(g, c, np.maximum(y, 0.0)) <= 1e-10
    expected = reference.by_nnls(g, x0)
    assert np.abs(g.T @ y - expected).max() <= 1e-8 * np.abs(x0).max()


@pytest.mark.covering
@pytest.mark.parametrize("name", ISLANDS)
def test_interior_points_come_close_by_themselves(name):
    """Before the polish: inside the cone, and near enough to read off which contacts are free."""
    rows, c = packings.rows_and_speeds(ISLANDS[name])
    s = Scaled(rows, c)
    z = interior_point(*s.problem, np.ones(len(c), np.int8), s.factor)
    assert (z >= 0.0).all()
    assert residual_of(*s.problem, z) <= 1e-4


@pytest.mark.parametrize("name", ISLANDS)
def test_the_active_set_alone_is_honest(name):
    """From the solution it stays there; from a cold start it may give up, but then says so."""
    rows, c = packings.rows_and_speeds(ISLANDS[name])
    s = Scaled(rows, c)
    y, _ = sparse(rows, c)
    for z in (y / s.unit, np.zeros(len(c))):
        start = z.copy()
        state = np.where(z > 0.0, 1, 0).astype(np.int8) if z.any() else np.ones(len(c), np.int8)
        claimed = active_set(*s.problem, z, state, s.factor)
        assert claimed == pytest.approx(residual_of(*s.problem, z), abs=1e-14)
        assert claimed <= residual_of(*s.problem, start) + 1e-14
        if start.any():
            assert claimed <= 1e-12


def test_projected_gradients_stop_at_their_limit_and_say_so():
    rows, c = packings.rows_and_speeds(ISLANDS["chain"])
    s = Scaled(rows, c)
    few, many = np.zeros(len(c)), np.zeros(len(c))
    rough = projected_gradients(*s.problem, few, 3)
    fine = projected_gradients(*s.problem, many, 100_000)
    assert rough > 1e-4 > 1e-12 > fine
    assert rough == pytest.approx(residual_of(*s.problem, few), rel=1e-12)


def test_methods_agree_in_three_dimensions_where_factors_fill():
    """Some 900 contacts of spheres: direct and iterative methods share no step, and agree."""
    rng = np.random.default_rng(2)
    problem = packings.spheres(260, rng)
    rows, c = packings.rows_and_speeds(problem)
    g = problem.contacts.matrix()
    answers = {name: METHODS[name](rows, c) for name in ("sparse", "interior", "gradients")}
    first = g.T @ answers["sparse"][0]
    for y, residual in answers.values():
        assert residual <= 1e-12
        assert np.abs(g.T @ y - first).max() <= 1e-10 * np.abs(problem.contacts.velocity).max()


def test_pivoting_ends_on_many_redundant_contacts():
    """36 contacts of two meshes and a pot, of rank 11: with a weak proximal term guesses cycle, and residuals are 2."""
    data = np.load(Path(__file__).with_name("redundant_contacts.npz"))
    g, c = data["rows"], data["speeds"]
    k = len(c)
    given = np.stack([c, np.zeros(k)])
    work, index = np.empty((k + DENSE_VECTORS, k)), np.empty((2, k), np.int64)
    assert solve_dense_in(g @ g.T, given, False, k, work, index)[0] <= 1e-12 * np.abs(c).max()
    y, speeds = given[1], g @ (g.T @ given[1]) + c
    assert y.min() >= 0.0 and speeds.min() >= -1e-12 * np.abs(c).max() and abs(y @ speeds) <= 1e-12 * y.sum()
