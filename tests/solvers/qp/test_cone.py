"""The cone problem as the laws call it: right answers, honest residuals, whatever the contacts are like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers import packings, reference

from carom import ImpactProblem
from carom.solvers.qp.cone import solve_cone
from carom.solvers.rows import make_rows, rows_from_csr
from carom.solvers.thresholds import DENSE_QP_CONTACTS, DENSE_WIDE_QP_CONTACTS

SEEDS = st.integers(0, 2**32 - 1)
CERTIFIED = 1e-10


def awkward_matrix(rng, contacts, columns):
    """Random rows made difficult: of low rank, whole-numbered, repeated, or of very different lengths."""
    g = rng.normal(size=(contacts, columns))
    kind = rng.integers(5)
    if kind == 0:
        g = np.round(g) + (np.abs(np.round(g)).sum(axis=1) == 0)[:, None]
    elif kind == 1:
        g = g[rng.integers(0, contacts, contacts)]
    elif kind == 2:
        g = g * 10.0 ** rng.uniform(-2, 2, (contacts, 1))
    elif kind == 3:
        g = np.abs(g)
    return g


def certified(g, c, y, residual):
    """y is never negative, solves the problem, and the residual does not claim more than is true."""
    assert (y >= 0.0).all()
    true = reference.residual(g, c, y)
    assert true <= CERTIFIED
    # Rounding of A y, of which no two computations agree; long rows and large impulses make it grow.
    noise = 1e-15 * len(c) * (np.abs(g) @ (np.abs(g).T @ np.abs(y))).max() / np.abs(c).max()
    assert true <= residual + noise + 1e-15


@settings(max_examples=150)
@given(SEEDS, st.integers(1, 8))
def test_cone_against_all_active_sets(seed, m):
    rng = np.random.default_rng(seed)
    g = awkward_matrix(rng, m, int(rng.integers(1, m + 3)))
    x0 = rng.normal(size=g.shape[1])
    y, residual = solve_cone(packings.rows_from(g), g @ x0)
    certified(g, g @ x0, y, residual)
    expected = reference.by_enumeration(g, g @ x0)
    assert np.abs(g.T @ y - expected).max() <= 1e-8 * np.abs(x0).max()


@settings(max_examples=200)
@given(SEEDS)
def test_small_islands_are_always_certified(seed):
    """Up to the largest island that is solved densely; c in the range of the rows, so that a solution exists."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, DENSE_QP_CONTACTS + 1))
    g = awkward_matrix(rng, m, int(rng.integers(1, m + 4)))
    c = g @ rng.normal(size=g.shape[1])
    y, residual = packings.solve(packings.rows_from(g), c)
    assert residual <= CERTIFIED
    certified(g, c, y, residual)


# Problems that the dense method leaves above 0.2 if one step without progress ends it: whole-numbered, redundant rows.
@pytest.mark.parametrize("seed", [550, 834, 1910, 7204])
def test_a_step_without_progress_is_not_the_end(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(20, DENSE_QP_CONTACTS + 1))
    g = np.round(rng.normal(size=(m, int(rng.integers(3, m)))))
    g += (np.abs(g).sum(axis=1) == 0)[:, None]
    c = g @ rng.normal(size=g.shape[1])
    y, residual = solve_cone(packings.rows_from(g), c)
    certified(g, c, y, residual)


def large_problems():
    rng = np.random.default_rng(1)
    yield "hexagonal", packings.hexagonal(7, rng)
    yield "hexagonal, turning discs", packings.hexagonal(6, rng, spin=True)
    yield "masses 1e4 apart", packings.unequal_discs(40, rng)
    yield "spheres", packings.spheres(30, rng)
    yield "turning spheres", packings.spheres(25, rng, spin=True)


LARGE = dict(large_problems())


@pytest.mark.covering
@pytest.mark.parametrize("name", LARGE)
def test_large_islands_against_nonnegative_least_squares(name):
    problem = LARGE[name]
    rows, c = packings.rows_and_speeds(problem)
    assert len(c) > DENSE_QP_CONTACTS
    g, x0 = packings.dense(rows), problem.contacts.velocity.ravel()
    y, residual = packings.solve(rows, c)
    certified(g, c, y, residual)
    expected = reference.by_nnls(g, x0)
    assert np.abs(g.T @ y - expected).max() <= 1e-8 * np.abs(x0).max()


@pytest.mark.parametrize("contacts", [DENSE_QP_CONTACTS + 1, 120, DENSE_WIDE_QP_CONTACTS, DENSE_WIDE_QP_CONTACTS + 1])
def test_long_rows_against_nonnegative_least_squares(contacts):
    """Contacts of mechanisms move many bodies; here fewer than there are contacts, so that these are redundant."""
    rng, bodies = np.random.default_rng(contacts), contacts // 3
    g, x0 = rng.normal(size=(contacts, bodies)), rng.normal(size=(bodies, 1))
    every = np.arange(contacts + 1) * bodies, np.tile(np.arange(bodies), contacts), g.reshape(-1, 1)
    y, residual = solve_cone(rows_from_csr(*every, bodies), g @ x0[:, 0])
    certified(g, g @ x0[:, 0], y, residual)
    assert np.abs(g.T @ y - reference.by_nnls(g, x0[:, 0])).max() <= 1e-8 * np.abs(x0).max()


@pytest.mark.covering
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("solver", ["piqp", "clarabel"])
def test_large_islands_against_general_solvers(name, solver):
    """The velocity form `min |x - x0|^2, G x >= 0` in an interior-point code of others, to its accuracy."""
    pytest.importorskip(solver)
    problem = LARGE[name]
    rows, c = packings.rows_and_speeds(problem)
    g, x0 = packings.dense(rows), problem.contacts.velocity.ravel()
    y, _ = solve_cone(rows, c)
    expected = getattr(reference, f"by_{solver}")(g, x0)
    assert np.abs(g.T @ y - expected).max() <= 1e-6 * np.abs(x0).max()


def test_every_third_contact_twice():
    rng = np.random.default_rng(6)
    for problem in (packings.unequal_discs(9, rng), packings.hexagonal(6, rng)):
        rows, c = packings.with_duplicates(problem, rng)
        y, residual = packings.solve(rows, c)
        assert residual <= CERTIFIED
        certified(packings.dense(rows), c, y, residual)


@pytest.mark.parametrize("decades", [0.5, 2.0])
def test_a_chain_of_five_thousand_contacts(decades):
    """Islands can be long: errors would pile up along the chain, and masses 1e4 apart make it stiff."""
    rng = np.random.default_rng(7)
    problem = packings.long_chain(5000, rng, decades=decades)
    rows, c = packings.rows_and_speeds(problem)
    y, residual = packings.solve(rows, c)
    g = problem.contacts.matrix()
    assert residual <= CERTIFIED
    assert reference.residual(g, c, y) <= CERTIFIED


def test_one_contact_is_a_closed_form():
    rows = packings.rows_from(np.array([[2.0, 1.0]]))
    for c, expected in [(-5.0, 1.0), (5.0, 0.0)]:
        y, residual = packings.solve(rows, np.array([c]))
        assert y[0] == pytest.approx(expected, abs=1e-15)
        assert residual == 0.0


@pytest.mark.parametrize("side", [2, 7])
def test_nothing_to_do(side):
    """c = 0: no impulse at all, of both the dense and the sparse method."""
    rows, c = packings.rows_and_speeds(packings.hexagonal(side, np.random.default_rng(0)))
    for start in (None, np.ones(len(c))):
        y, residual = packings.solve(rows, 0.0 * c, start)
        assert not y.any()
        assert residual == 0.0


def test_four_corners_share_alike():
    """A flat box has a line of solutions: equal ones for equal corners are the even choice.

    Along that line only the proximal term of 1e-9 decides, so the share is known to 1e-16 / 1e-9; velocities, which
    do not depend on it, are exact.
    """
    rows, c = packings.rows_and_speeds(packings.flat_box())
    assert np.linalg.matrix_rank(packings.dense(rows)) == 3
    y, residual = solve_cone(rows, c)
    # Stopping 2 kg at 1 m/s takes 2 N s, a quarter of it at each corner.
    np.testing.assert_allclose(y, 0.5, rtol=1e-6)
    assert residual <= 1e-14


@pytest.mark.parametrize("tilt", [0.05, 0.2, 1.0])
def test_a_tilting_box_keeps_its_mirror(tilt):
    """Turning about its y axis, the corners at equal x push alike, and those at the faster side push more."""
    rows, c = packings.rows_and_speeds(packings.flat_box([0, 0, -1.0, 0, tilt, 0]))
    y, _ = solve_cone(rows, c)
    np.testing.assert_allclose(y[[0, 2]], y[[1, 3]], rtol=1e-6, atol=1e-9)
    assert (y[0] - y[2]) * (c[2] - c[0]) > 0.0


@pytest.mark.parametrize("copies", [2, 5, 40])
def test_copies_of_a_contact_share_alike(copies):
    """One ball on a floor, the contact given several times over: each copy carries its share, small or large."""
    rows = packings.rows_from(np.full((copies, 1), 2.0))
    y, residual = solve_cone(rows, np.full(copies, -3.0))
    np.testing.assert_allclose(y, 0.75 / copies, rtol=1e-6)
    assert residual <= CERTIFIED


def test_a_symmetric_packing_gets_symmetric_impulses():
    """Seven discs in a hexagon rush to the middle: six spokes alike, six rim contacts alike, twelve in all."""
    angle = np.arange(6) * np.pi / 3
    cells = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    problem = ImpactProblem.from_discs(cells, 0.5, 1.0, -cells)
    rows, c = packings.rows_and_speeds(problem)
    y, _ = solve_cone(rows, c)
    spoke = (rows.body == 0).any(axis=1)
    assert spoke.sum() == 6 and len(c) == 12
    np.testing.assert_allclose(y[spoke], y[spoke][0], atol=1e-6)
    np.testing.assert_allclose(y[~spoke], y[~spoke][0], atol=1e-6)


@pytest.mark.covering
@pytest.mark.parametrize("name", LARGE)
def test_warm_starts_change_nothing(name):
    """A right first guess, a wrong one and a wild one: the same velocities."""
    rng = np.random.default_rng(9)
    rows, c = packings.rows_and_speeds(LARGE[name])
    cold, _ = packings.solve(rows, c)
    g = packings.dense(rows)
    size = np.abs(LARGE[name].contacts.velocity).max()
    wrong = np.where(cold > 0.0, 0.0, 1.0)
    for start in (cold, wrong, rng.normal(size=len(c)), np.zeros(len(c)), 1e6 * rng.random(len(c))):
        before = start.copy()
        y, residual = packings.solve(rows, c, start)
        np.testing.assert_array_equal(start, before)
        assert residual <= CERTIFIED
        assert np.abs(g.T @ (y - cold)).max() <= 1e-9 * size


@settings(max_examples=60)
@given(SEEDS)
def test_warm_starts_of_small_islands(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, DENSE_QP_CONTACTS + 1))
    g = rng.normal(size=(m, int(rng.integers(1, m + 1))))
    c, rows = g @ rng.normal(size=g.shape[1]), packings.rows_from(g)
    cold, _ = packings.solve(rows, c)
    for start in (cold, 10.0 * rng.normal(size=m)):
        y, residual = packings.solve(rows, c, start)
        assert residual <= CERTIFIED
        assert np.abs(g.T @ (y - cold)).max() <= 1e-9 * np.abs(c).max()


@pytest.mark.covering
@pytest.mark.parametrize("name", ["flat box", *LARGE])
def test_the_order_of_contacts_does_not_matter(name):
    problem = packings.flat_box([0.3, 0.1, -1.0, 0.2, -0.4, 0.0]) if name == "flat box" else LARGE[name]
    rng = np.random.default_rng(4)
    rows, c = packings.rows_and_speeds(problem)
    g = packings.dense(rows)
    y, _ = packings.solve(rows, c)
    for _ in range(3):
        order = rng.permutation(len(c))
        other = problem.permuted(order).contacts.rows
        z, _ = packings.solve(other, c[order])
        push = g.T @ y - packings.dense(other).T @ z
        assert np.abs(push).max() <= 1e-10 * np.abs(problem.contacts.velocity).max()


def squeezed(balls, rng=None):
    """Rows of balls in a line between two walls that close in, so that no velocity keeps all contacts apart."""
    g = np.zeros((balls + 1, balls))
    inner = np.arange(balls)
    g[inner, inner] = 1.0
    g[inner + 1, inner] = -1.0
    c = np.zeros(balls + 1) if rng is None else g @ rng.normal(size=balls)
    c[[0, -1]] -= 1.0
    return g, c


@pytest.mark.covering
@pytest.mark.parametrize("balls", [1, 2, 10, 30, 100, 1000])
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_no_solution_is_never_certified(balls, seed):
    """The problem is unbounded below. Impulses then grow until they swallow c, and a residual of the form
    |P(y - g) - y| reads zero: the residual must not be computed that way."""
    g, c = squeezed(balls, None if seed is None else np.random.default_rng(seed))
    y, residual = solve_cone(packings.rows_from(g), c)
    assert np.isfinite(y).all()
    assert residual > 1e-5


def test_islands_are_solved_apart():
    """An island is solved as if the others were not there: the same bits alone and in company."""
    rng = np.random.default_rng(12)
    parts = [packings.unequal_discs(5, rng), packings.hexagonal(5, rng, floor=False), packings.long_chain(3, rng)]
    rows = [p.contacts.rows for p in parts if p.block[1] == 2]
    c = [p.contacts.speeds() for p in parts if p.block[1] == 2]
    shift = np.cumsum([0] + [len(r.touch_ptr) - 1 for r in rows])
    body = [np.where(r.body >= 0, r.body + s, -1) for r, s in zip(rows, shift[:-1], strict=True)]
    parts = [np.concatenate([r[k] for r in rows]) for k in range(1, 4)]
    together = make_rows(np.concatenate(body), *parts, 1, int(shift[-1]))
    y, _ = solve_cone(together, np.concatenate(c))
    alone = np.concatenate([solve_cone(r, u)[0] for r, u in zip(rows, c, strict=True)])
    np.testing.assert_array_equal(y, alone)
