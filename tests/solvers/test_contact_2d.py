"""Frictional contact in 2D: against all guesses of who is apart, sticks or slips, and against the law by its words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.solvers import contact_newton
from carom.solvers.contact import solve_contact
from carom.solvers.rows import FRICTION, rows_from_csr

SEEDS = st.integers(0, 2**32 - 1)
APART, STICK, UP, DOWN = range(4)


def entries_of(matrix, used):
    """Sparse rows with an entry for each body that the contact touches, for normals and tangents alike."""
    blocks = matrix.reshape(*used.shape, -1)[used]
    return np.concatenate([[0], used.sum(axis=1).cumsum()]), np.nonzero(used)[1], blocks


def solve(normals, tangents, x, w, slip, mu, start=None, tolerance=1e-10, absolute=0.0):
    """(lam, beta, residual, iterations) of plain matrices over bodies of three components, or of one.

    Tolerance and residual are relative to the fastest speed before, unless a speed `absolute` is the tolerance.
    """
    m, n = normals.shape
    d = 3 if n % 3 == 0 else 1
    used = (np.abs(normals) + np.abs(tangents)).reshape(m, n // d, d).any(axis=2)
    top = max(np.abs(normals @ x + w).max(), np.abs(tangents @ x + slip).max())
    z = np.zeros((m, 2)) if start is None else np.stack(start, axis=1)
    rows = rows_from_csr(*entries_of(normals, used), used.shape[1], entries_of(tangents, used), 1)
    rows.base[:] = np.stack([w, slip], axis=1)
    rows.bound[:, FRICTION] = mu
    answer = solve_contact(rows, np.arange(m), x.reshape(-1, d).copy(), z, absolute or tolerance * top)
    return z[:, 0].copy(), z[:, 1].copy(), answer.residual / top if top > 0.0 else answer.residual, answer.iterations


def violation(normals, tangents, x, w, slip, mu, lam, beta):
    """How far impulses are from the law, as a speed over the fastest: by its words, not by projections."""
    after = x + normals.T @ lam + tangents.T @ beta
    un, ut = normals @ after + w, tangents @ after + slip
    top = max(np.abs(normals @ x + w).max(), np.abs(tangents @ x + slip).max())
    assert (lam >= 0.0).all()
    assert (np.abs(beta) <= mu * lam * (1 + 1e-12)).all()
    strength = np.einsum("ij,ij->i", normals, normals) * lam
    worst = max(np.maximum(-un, 0.0).max(), np.minimum(np.abs(un), strength).max())  # no approach; no push while apart
    for i in range(len(lam)):
        room = mu[i] * lam[i] - np.abs(beta[i])
        if mu[i] == 0.0:
            continue
        power = (tangents[i] @ tangents[i]) * room
        worst = max(worst, min(abs(ut[i]), power))  # slip only at the bound
        if ut[i] * beta[i] > 0.0:  # friction opposes slip
            worst = max(worst, min(abs(ut[i]), (tangents[i] @ tangents[i]) * abs(beta[i])))
    return worst / top


def by_enumeration(normals, tangents, x, w, slip, mu):
    """Every consistent guess: a list of (lam, beta). For a few contacts only."""
    m = len(w)
    rows = np.vstack([normals, tangents])
    big, free = rows @ rows.T, np.concatenate([normals @ x + w, tangents @ x + slip])
    found = []
    for states in itertools.product(range(4), repeat=m):
        a, b = np.eye(2 * m), np.zeros(2 * m)
        for i, s in enumerate(states):
            if s == APART:
                continue
            a[i], b[i] = big[i], -free[i]
            if s == STICK:
                a[m + i], b[m + i] = big[m + i], -free[m + i]
            else:
                a[m + i, i] = -mu[i] if s == UP else mu[i]
        try:
            z = np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            continue
        u = big @ z + free
        scale, tiny = np.abs(free).max(), 1e-9
        good = True
        for i, s in enumerate(states):
            if s == APART:
                good &= u[i] >= -tiny * scale
                continue
            good &= z[i] >= -tiny and abs(z[m + i]) <= mu[i] * z[i] + tiny
            if s == UP:
                good &= u[m + i] <= tiny * scale
            if s == DOWN:
                good &= u[m + i] >= -tiny * scale
        if good:
            found.append((z[:m], z[m:]))
    return found


def problem(seed, m, friction):
    """Random contacts of a few bodies with three components each; some share bodies."""
    rng = np.random.default_rng(seed)
    n = 3 * int(rng.integers(m, m + 3))
    normals, tangents = rng.normal(size=(m, n)), rng.normal(size=(m, n))
    off = rng.random((m, n // 3)) < 0.4
    off[:, 0] &= ~off.all(axis=1)
    normals[np.repeat(off, 3, axis=1)] = tangents[np.repeat(off, 3, axis=1)] = 0.0
    x = rng.normal(size=n)
    return normals, tangents, x, rng.normal(size=m) * 0.3, rng.normal(size=m) * 0.3, friction * rng.uniform(0.2, 1.0, m)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@given(seed=SEEDS, m=st.integers(1, 3))
def test_one_of_the_consistent_guesses(friction, seed, m):
    """The velocity after is that of some guess that the law allows; with little friction there is only one."""
    given = problem(seed, m, friction)
    possible = by_enumeration(*given)
    lam, beta, residual, _ = solve(*given)
    assert possible and residual < 1e-9
    normals, tangents, x = given[:3]
    after = x + normals.T @ lam + tangents.T @ beta
    distance = min(np.abs(after - (x + normals.T @ a + tangents.T @ b)).max() for a, b in possible)
    assert distance < 1e-6 * np.abs(x).max()


def test_strong_friction():
    """Friction 1 on oblique rows, where slip presses or lifts: nearly all are solved, to one of the answers."""
    solved = 0
    for seed in range(150):
        given = problem(seed, 1 + seed % 3, 1.0)
        lam, beta, residual, _ = solve(*given)
        if residual < 1e-9:
            solved += 1
            normals, tangents, x = given[:3]
            after = x + normals.T @ lam + tangents.T @ beta
            known = [x + normals.T @ a + tangents.T @ b for a, b in by_enumeration(*given)]
            assert min(np.abs(after - k).max() for k in known) < 1e-6 * np.abs(x).max()
    assert solved >= 148


@given(seed=SEEDS, m=st.integers(1, 12), friction=st.sampled_from([0.0, 0.1, 0.4]))
def test_residual_is_a_certificate(seed, m, friction):
    """What it reports bounds how far the answer is from the law, solved or not."""
    given = problem(seed, m, friction)
    lam, beta, residual, _ = solve(*given)
    assert violation(*given, lam, beta) <= 2.0 * residual + 1e-12


def test_most_are_solved():
    """The residual could hide failures: nineteen in twenty random problems of ten contacts are solved tightly."""
    solved = sum(solve(*problem(seed, 10, 0.4))[2] < 1e-9 for seed in range(100))
    assert solved >= 95


@given(seed=SEEDS, m=st.integers(1, 8))
def test_start_does_not_change_the_velocity(seed, m):
    """Little friction: the answer is one, from nothing, from itself and from rubbish."""
    given = problem(seed, m, 0.1)
    normals, tangents, x = given[:3]
    rng = np.random.default_rng(seed)

    def after(start):
        lam, beta, residual, systems = solve(*given, start)
        assert residual < 1e-9
        return x + normals.T @ lam + tangents.T @ beta, systems, (lam, beta)

    cold, _, answer = after(None)
    warm, systems, _ = after(answer)
    lam = rng.random(m)
    other, _, _ = after((lam, given[5] * lam * rng.uniform(-1.0, 1.0, m)))
    assert systems == 0  # what is solved already costs nothing
    np.testing.assert_array_equal(warm, cold)
    np.testing.assert_allclose(other, cold, atol=1e-7 * np.abs(x).max())


def test_block_on_a_plane_by_hand():
    """One contact, mass 1: it stops falling; sticks if |push| <= mu N, else slips with the rest."""
    normals, tangents = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    for push, slips in ((0.2, False), (0.6, True)):
        x = np.array([push, -1.0])
        lam, beta, residual, _ = solve(normals, tangents, x, np.zeros(1), np.zeros(1), np.array([0.5]))
        assert residual < 1e-10
        np.testing.assert_allclose(lam, [1.0], atol=1e-10)
        np.testing.assert_allclose(beta, [-0.5 if slips else -push], atol=1e-10)


def test_nothing_to_do():
    """Separating contacts get nothing, and rubbish from a warm start is removed."""
    normals, tangents = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    lam, beta, residual, _ = solve(
        normals, tangents, np.array([0.3, 1.0]), np.zeros(1), np.zeros(1), np.ones(1), (np.ones(1), np.ones(1))
    )
    assert (lam[0], beta[0], residual) == (0.0, 0.0, 0.0)
    lam, beta, *_ = solve(
        normals, tangents, np.zeros(2), np.zeros(1), np.zeros(1), np.ones(1), (np.ones(1), np.ones(1))
    )
    assert (lam[0], beta[0]) == (0.0, 0.0)


def test_redundant_contacts_hold_together():
    """Five feet under one block: the impulses are not unique, their sum and the velocity are."""
    feet = np.linspace(-1.0, 1.0, 5)
    normals = np.stack([np.zeros(5), np.ones(5), feet], axis=1)
    tangents = np.stack([np.ones(5), np.zeros(5), np.full(5, 0.5)], axis=1)
    x = np.array([0.1, -1.0, 0.0])
    lam, beta, residual, _ = solve(normals, tangents, x, np.zeros(5), np.zeros(5), np.full(5, 0.6))
    assert residual < 1e-10
    assert lam.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(x + normals.T @ lam + tangents.T @ beta, 0.0, atol=1e-9)


def test_a_coefficient_that_makes_the_system_singular_does_not_raise():
    """Slip that pushes itself into the wall: mu W_nt = W_nn (1 + shift) exactly, for the first shift that is used."""
    shift = contact_newton.FIRST_PROXIMAL
    for tangent in (np.array([[-1.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 1.0]])):
        normals = np.array([[1.0, 0.0, 0.0]])
        x, mu = np.array([-1.0, 0.0, -3.0]), np.array([1.0 + shift])
        lam, beta, residual, _ = solve(normals, tangent, x, np.zeros(1), np.zeros(1), mu)
        assert np.isfinite([lam[0], beta[0], residual]).all()


def stack(count, lean=0.0):
    """A stack of unit boxes with two contacts on each level: rows of (vx, vy, spin), falling at speed 1."""
    normals, tangents = np.zeros((2 * count, 3 * count)), np.zeros((2 * count, 3 * count))
    for level in range(count):
        for side, x in enumerate((-0.5, 0.5)):
            row, up = 2 * level + side, slice(3 * level, 3 * level + 3)
            normals[row, up], tangents[row, up] = [0.0, 1.0, x], [1.0, 0.0, 0.5]
            if level:
                down = slice(3 * level - 3, 3 * level)
                normals[row, down], tangents[row, down] = [0.0, -1.0, -x - lean], [-1.0, 0.0, 0.5]
    x = np.tile([0.0, -1.0, 0.0], count)
    return normals, tangents, x, np.zeros(2 * count), np.zeros(2 * count), np.full(2 * count, 0.5)


@pytest.mark.parametrize("count", [1, 4, 20])
def test_stack_stops(count):
    """Everything stops; the lowest contacts carry all of it."""
    given = stack(count)
    lam, beta, residual, _ = solve(*given, tolerance=1e-10)
    assert residual < 1e-9
    np.testing.assert_allclose(given[2] + given[0].T @ lam + given[1].T @ beta, 0.0, atol=1e-7)
    assert lam[:2].sum() == pytest.approx(count, rel=1e-6)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_high_stack_obeys_the_law(tolerance):
    """A stack of 80 boxes, 160 contacts: sweeps, then Newton steps."""
    given = stack(80)
    lam, beta, residual, _ = solve(*given, tolerance=tolerance)
    assert residual <= tolerance
    assert violation(*given, lam, beta) <= 2.0 * tolerance


def test_islands_do_not_feel_each_other():
    """Two problems side by side: the same bits as each alone."""
    one, two = problem(1, 3, 0.4), problem(2, 2, 0.4)

    def side_by_side(a, b):
        out = np.zeros((len(a) + len(b), a.shape[1] + b.shape[1]))
        out[: len(a), : a.shape[1]], out[len(a) :, a.shape[1] :] = a, b
        return out

    both = [side_by_side(one[k], two[k]) if k < 2 else np.concatenate([one[k], two[k]]) for k in range(6)]
    lam, beta, *_ = solve(*both, absolute=1e-10)
    for own, part in ((one, slice(0, 3)), (two, slice(3, 5))):
        alone = solve(*own, absolute=1e-10)
        np.testing.assert_array_equal(lam[part], alone[0])
        np.testing.assert_array_equal(beta[part], alone[1])


@given(seed=SEEDS)
def test_energy_falls_as_far_as_the_law_says(seed):
    """Boundaries at rest: contact forces do no positive work, so |x+| <= |x|."""
    normals, tangents, x, w, slip, mu = problem(seed, 4, 0.3)
    lam, beta, residual, _ = solve(normals, tangents, x, 0.0 * w, 0.0 * slip, mu)
    if residual < 1e-9:
        after = x + normals.T @ lam + tangents.T @ beta
        assert after @ after <= x @ x * (1.0 + 1e-7)
