"""Frictional contact over many coordinates: friction within given disks, and the full law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carom.solvers.contact import solve_contact
from carom.solvers.rows import Rows

SEEDS = st.integers(0, 2**32 - 1)
TIGHT = 1e-12

# Each number of bodies, rows and components is another set of kernels, whose compilation takes a minute in all.
pytestmark = pytest.mark.long


def solved(rows, tangents, velocity, friction, boundary, slip, z):
    """Solves in place of z (m, 1 + t) for plain matrices; returns the residual, relative to the fastest speed."""
    m, n, t = *rows.shape, len(tangents) // len(rows)
    val = np.concatenate([rows[:, None], tangents.reshape(m, t, n)], axis=1).transpose(0, 2, 1)[..., None]
    bound = np.zeros((m, 3))
    bound[:, 0] = friction
    base = np.concatenate([boundary[:, None], slip.reshape(m, t)], axis=1)
    blocks = Rows(np.tile(np.arange(n), (m, 1)), np.ascontiguousarray(val), base, bound, t)
    top = max(np.abs(rows @ velocity + boundary).max(), np.abs(tangents @ velocity + slip).max())
    return solve_contact(blocks, np.arange(m), velocity[:, None].copy(), z, TIGHT * top).residual / top


def disks(tangents, velocity, slip, bound, *, start=None):
    """Friction impulses (m, t) of plain matrices within given bounds, and the residual: normal rows are zero."""
    m = len(bound)
    z = np.zeros((m, 1 + len(tangents) // m))
    z[:, 0] = bound
    z[:, 1:] = 0.0 if start is None else start
    none = np.zeros((m, tangents.shape[1]))
    residual = solved(none, tangents, velocity, np.ones(m), np.zeros(m), slip, z)
    return z[:, 1:], residual


def disk_violation(tangents, velocity, slip, bound, beta):
    """Optimality, contact by contact: inside the disk no slip is left, on the rim slip and friction oppose."""
    after = (tangents @ (velocity + tangents.T @ beta.ravel()) + slip).reshape(beta.shape)
    fastest = np.abs(tangents @ velocity + slip).max()
    worst = 0.0
    for b, s, radius in zip(beta, after, bound, strict=True):
        assert np.linalg.norm(b) <= radius * (1 + 1e-14)
        if np.linalg.norm(b) < radius * (1 - 1e-9):
            worst = max(worst, np.linalg.norm(s))
        elif radius > 0.0:
            along = s @ b / radius
            worst = max(worst, np.linalg.norm(s - along * b / radius), max(along, 0.0))
    return worst / fastest


@given(SEEDS, st.sampled_from([1, 2]))
def test_least_energy_within_disks(seed, t):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    tangents = rng.normal(size=(m * t, int(rng.integers(t, 2 * m * t + 1))))
    velocity, slip = rng.normal(size=tangents.shape[1]), rng.normal(size=m * t) * (seed % 2)
    bound = rng.uniform(0.0, 1.0, m) * (rng.random(m) < 0.8)
    beta, residual = disks(tangents, velocity, slip, bound)
    # Sweeps converge linearly; nearly dependent rows may leave some, and then the residual tells.
    assert disk_violation(tangents, velocity, slip, bound, beta) <= 1e-9 + 30 * m * residual
    energy = 0.5 * np.sum((velocity + tangents.T @ beta.ravel()) ** 2) + slip @ beta.ravel()
    assert energy <= 0.5 * np.sum(velocity**2) + 1e-12


def test_most_random_problems_converge():
    """The bound above could hide failures behind the residual: nine in ten reach it."""
    reached = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        tangents = rng.normal(size=(12, 18))
        _, residual = disks(tangents, rng.normal(size=18), np.zeros(12), rng.uniform(0, 1, 6))
        reached += residual <= TIGHT
    assert reached >= 45


@pytest.mark.parametrize("radius", [0.5, 0.999, 1.001, 1.3, 1.7, 3.0])
@pytest.mark.parametrize("direction", [(0.6, 0.8), (1e-6, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_one_component_seen_along_two_tangents(direction, radius):
    """A mechanism with one degree of freedom: the response of the two tangents has rank one.

    Friction is along the only direction that moves: as much as stops the slip 1, or as the disk allows.
    """
    tangents = np.array(direction)[:, None] / np.linalg.norm(direction)
    beta, residual = disks(tangents, np.ones(1), np.zeros(2), np.array([radius]))
    np.testing.assert_allclose(beta[0], -min(radius, 1.0) * tangents[:, 0], atol=1e-9)
    assert residual <= TIGHT


def test_a_tangent_that_moves_nothing_gets_nothing():
    beta, _ = disks(np.array([[1.0], [0.0]]), np.ones(1), np.zeros(2), np.array([5.0]))
    np.testing.assert_allclose(beta, [[-1.0, 0.0]], atol=1e-15)


def test_a_start_within_the_disks_does_not_matter():
    rng = np.random.default_rng(3)
    tangents, velocity = rng.normal(size=(10, 14)), rng.normal(size=14)
    bound = rng.uniform(0.2, 0.6, 5)
    cold, _ = disks(tangents, velocity, np.zeros(10), bound)
    start = rng.normal(size=(5, 2))
    start *= 0.9 * bound[:, None] / np.linalg.norm(start, axis=1)[:, None]
    warm, _ = disks(tangents, velocity, np.zeros(10), bound, start=start)
    np.testing.assert_allclose(tangents.T @ warm.ravel(), tangents.T @ cold.ravel(), atol=1e-9)


def coupled(rows, tangents, velocity, friction, *, slip=None):
    """Normal and friction impulses of plain matrices, and the residual."""
    rows, tangents = np.atleast_2d(rows).astype(float), np.atleast_2d(tangents).astype(float)
    m, t = len(rows), len(tangents) // len(rows)
    z = np.zeros((m, 1 + t))
    speeds = np.zeros(m), np.zeros(m * t) if slip is None else slip
    residual = solved(rows, tangents, np.array(velocity, float), np.array(friction, float), *speeds, z)
    return z[:, 0], z[:, 1:], residual


def coulomb_violation(rows, tangents, velocity, friction, normal, tangent):
    """Signorini and Coulomb after impact, over the fastest speed before: see the module that is tested."""
    x = velocity + rows.T @ normal + tangents.T @ tangent.ravel()
    u, s = rows @ x, (tangents @ x).reshape(tangent.shape)
    stiff = (rows**2).sum(axis=1)
    fastest = max(np.abs(rows @ velocity).max(), np.abs(tangents @ velocity).max())
    worst = np.abs(np.minimum(stiff * normal, u)).max()
    for i in range(len(normal)):
        radius = friction[i] * normal[i]
        assert np.linalg.norm(tangent[i]) <= radius + 1e-11 * normal.max()
        if np.linalg.norm(tangent[i]) < radius * (1 - 1e-9):
            worst = max(worst, np.linalg.norm(s[i]))
        elif radius > 1e-9:
            along = s[i] @ tangent[i] / radius
            worst = max(worst, np.linalg.norm(s[i] - along * tangent[i] / radius), max(along, 0.0))
    return worst / fastest


@given(SEEDS, st.sampled_from([1, 2]), st.integers(0, 150).map(lambda percent: 0.01 * percent))
def test_coulombs_law_in_full(seed, t, mu):
    """On bodies that turn, where pushing a contact also makes it slip."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 5))
    rows = rng.normal(size=(m, 3 * m + 3))
    tangents = rng.normal(size=(m * t, 3 * m + 3)) + 0.4 * np.repeat(rows, t, axis=0)
    velocity = rng.normal(size=3 * m + 3) - rows.sum(axis=0) / 3
    friction = np.full(m, mu)
    normal, tangent, residual = coupled(rows, tangents, velocity, friction)
    assume(residual <= TIGHT)  # sweeps need not settle; how often they do is the next test
    assert coulomb_violation(rows, tangents, velocity, friction, normal, tangent) <= 1e-9
    energy = np.sum((velocity + rows.T @ normal + tangents.T @ tangent.ravel()) ** 2)
    assert energy <= np.sum(velocity**2) * (1 + 1e-12)


def test_most_coupled_problems_converge():
    reached = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, tangents = rng.normal(size=(4, 15)), rng.normal(size=(8, 15))
        velocity = rng.normal(size=15) - rows.sum(axis=0) / 3
        reached += coupled(rows, tangents, velocity, [0.4] * 4)[2] <= TIGHT
    assert reached >= 36


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.3, 2.0])
def test_one_contact_of_a_particle(mu):
    """Normal and tangents independent: lam = -u, and friction stops the slip or takes mu lam from it."""
    slip = np.array([0.3, -0.4])
    normal, tangent, _ = coupled([1.0, 0, 0], np.eye(3)[1:], [-1.0, *slip], [mu])
    assert normal[0] == pytest.approx(1.0)
    np.testing.assert_allclose(tangent[0], -slip * min(1.0, mu / 0.5), atol=1e-12)


def test_one_contact_with_a_lever():
    """In the plane with K_nt != 0: sticking solves K p = -u; sliding has p_t = mu p_n against the slip.

    The contact starts without slip: the normal impulse drives it, and friction answers with its full strength.
    """
    rows, tangents = np.array([[1.0, 0.0, 0.6]]), np.array([[0.0, 1.0, 0.5]])
    velocity = np.array([-1.0, 0.0, 0.0])
    basis = np.concatenate([rows, tangents])
    k, u = basis @ basis.T, basis @ velocity
    stick = np.linalg.solve(k, -u)
    limit = abs(stick[1]) / stick[0]
    normal, tangent, _ = coupled(rows, tangents, velocity, [1.1 * limit])
    np.testing.assert_allclose([normal[0], tangent[0, 0]], stick, atol=1e-12)
    mu = 0.5 * limit
    sign = np.sign(stick[1])
    slide = -u[0] / (k[0, 0] + mu * sign * k[0, 1])
    normal, tangent, _ = coupled(rows, tangents, velocity, [mu])
    np.testing.assert_allclose([normal[0], tangent[0, 0]], [slide, mu * sign * slide], atol=1e-12)
    after = basis @ (velocity + basis.T @ [normal[0], tangent[0, 0]])
    assert abs(after[0]) <= 1e-12
    assert after[1] * sign < 0.0, "friction opposes the slip that it could not stop"


def test_a_moving_surface_is_in_the_slip():
    """A belt under a body at rest drags it with mu lam, at most to its own speed."""
    for belt, expected in ((0.2, 0.2), (3.0, 0.5)):
        normal, tangent, _ = coupled([[1.0, 0.0]], [[0.0, 1.0]], [-1.0, 0.0], [0.5], slip=np.array([-belt]))
        assert normal[0] == pytest.approx(1.0)
        assert tangent[0, 0] == pytest.approx(expected)
