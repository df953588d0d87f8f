"""Relaxation of a box QP: exact in the limit, honest when it stops early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.space_piles import bricks, contacts_of, sphere_line

from carom.solvers.qp.box import solve_bounds
from carom.solvers.qp.relax import relax

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, bounded=st.booleans())
@settings(max_examples=20, deadline=None)
def test_relaxing_on_and_on_is_exact(seed, bounded):
    """The same velocities as the exact box problem; impulses of redundant contacts may differ."""
    pile = sphere_line(6, kick=1.0, seed=seed)
    contacts = contacts_of(pile, 0.0)
    m = contacts.count
    high = np.random.default_rng(seed).random(m) * 0.3 if bounded else np.full(m, np.inf)
    exact, _ = solve_bounds(contacts.rows, contacts.speeds(), np.zeros(m), high)
    y = np.zeros(m)
    residual = relax(contacts.rows, contacts.speeds(), np.zeros(m), high, y, 1e-13, 10_000)
    assert residual <= 1e-13
    assert ((y >= 0.0) & (y <= high)).all()
    np.testing.assert_allclose(contacts.after(y), contacts.after(exact), atol=1e-9)


def test_a_bound_on_visits_is_told():
    """Stopped early, the residual is what is left, not the tolerance."""
    contacts = contacts_of(bricks(layers=4), 0.0)
    m = contacts.count
    y = np.zeros(m)
    residual = relax(contacts.rows, contacts.speeds(), np.zeros(m), np.full(m, np.inf), y, 1e-12, 3)
    u = contacts.speeds(contacts.after(y))
    wrong = np.abs(np.minimum(u, y * contacts.rows.diag)).max()
    assert residual == pytest.approx(wrong, rel=1e-9)
    assert residual > 1e-6
