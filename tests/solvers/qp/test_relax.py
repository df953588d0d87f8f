"""Relaxation of a cone problem: exact in the limit, within its tolerance, honest if stopped, energy never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.solvers.space_piles import bricks, contacts_of, sphere_line

from carom.solvers.qp.cone import solve_cone
from carom.solvers.qp.relax import relax

SEEDS = st.integers(0, 2**32 - 1)


def relaxed(contacts, c, tolerance, visits, conserve=False):
    """Impulses of all contacts from a start at zero, and the residual."""
    m, local = contacts.count, np.empty(len(contacts.velocity), np.int64)
    problem = np.stack([c, np.zeros(m)])
    residual = relax(contacts.rows, np.arange(m), problem, local, tolerance, visits, conserve)
    return problem[1], residual


@given(seed=SEEDS)
def test_relaxing_on_and_on_is_exact(seed):
    """The same velocities as the exact methods; impulses of redundant contacts may differ."""
    contacts = contacts_of(sphere_line(6, kick=1.0, seed=seed), 0.0)
    exact, _ = solve_cone(contacts.rows, contacts.speeds())
    y, residual = relaxed(contacts, contacts.speeds(), 1e-13, 10_000)
    assert residual <= 2e-13  # the bound, and rounding of speeds of size one
    assert (y >= 0.0).all()
    np.testing.assert_allclose(contacts.after(y), contacts.after(exact), atol=1e-9)


@pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-6])
def test_the_residual_is_within_the_tolerance(share):
    """Recomputed from impulses and velocities alone; and less energy than before."""
    contacts = contacts_of(bricks(layers=3, across=2, deep=2, kick=0.5), 0.0)
    tolerance = share * contacts.approach()
    y, residual = relaxed(contacts, contacts.speeds(), tolerance, 10_000)
    assert residual <= tolerance * (1 + 1e-9)
    u = contacts.speeds(contacts.after(y))
    assert residual == pytest.approx(np.abs(np.minimum(u, y * contacts.rows.diag)).max(), rel=1e-6, abs=1e-14)
    assert (contacts.after(y) ** 2).sum() < (contacts.velocity**2).sum()


@given(seed=SEEDS, tolerance=st.sampled_from([0.5, 1e-1, 1e-2, 1e-4]))
def test_a_coarse_reflection_conserves_energy(seed, tolerance):
    """With c = 2 u the velocity is reflected along some direction, whatever the tolerance."""
    contacts = contacts_of(bricks(layers=2, across=2, deep=2, kick=1.0, seed=seed), 1.0)
    fast = tolerance * contacts.approach()
    y, _ = relaxed(contacts, 2.0 * contacts.speeds(), fast, 10_000, conserve=True)
    assert y.any() and (y >= 0.0).all()
    before, after = (contacts.velocity**2).sum(), (contacts.after(y) ** 2).sum()
    assert after == pytest.approx(before, rel=1e-12)


def test_a_bound_on_visits_is_told():
    """Stopped early, the residual is infinite, and the energy has fallen."""
    contacts = contacts_of(bricks(layers=4), 0.0)
    y, residual = relaxed(contacts, contacts.speeds(), 1e-12, 3)
    assert residual == np.inf
    assert (contacts.after(y) ** 2).sum() < (contacts.velocity**2).sum()
