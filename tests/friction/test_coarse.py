"""Coarse answers of large impacts: what matters is resolved, what is slow is left alone, energy never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.space_piles import bricks, sphere_line

from carom import laws
from carom.errors import ProblemError
from carom.friction import FixedDirection
from carom.impact.contacts import Contacts
from carom.solve import resolve
from carom.solvers.qp.box import solve_bounds
from carom.solvers.qp.relax import relax

SEEDS = st.integers(0, 2**32 - 1)


def contacts_of(pile, restitution):
    c = np.full(pile.count, restitution)
    return Contacts(pile.rows, pile.velocity, pile.boundary, c, pile.friction, pile.tangents, pile.slip)


@pytest.fixture
def always(monkeypatch):
    """Small problems count as large ones."""
    monkeypatch.setattr("carom.friction.coarse.MANY", 1)


@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_fast_contacts_are_resolved_and_energy_falls(always, law, restitution):
    """Nothing approaches faster than a tenth of the fastest approach before; friction is within its bound."""
    for seed in range(3):
        contacts = contacts_of(bricks(layers=3, across=2, deep=2, kick=0.5, seed=seed), restitution)
        result = resolve(contacts, laws.make(law), None, FixedDirection(coarse=0.1))
        after = contacts.after(result.normal, result.tangent)
        assert contacts.speeds(after).min() >= 0.1 * contacts.speeds().min()
        assert (after**2).sum() <= (contacts.velocity**2).sum() * (1 + 1e-12)
        bound = contacts.friction * result.normal
        assert (np.linalg.norm(result.tangent, axis=1) <= bound * (1 + 1e-12)).all()
        assert 0.0 < result.certificate < 1.0


def test_slow_contacts_are_left_alone(always):
    """One sphere of a row is hit hard from above, the others fall ten thousand times slower: they get no impulse."""
    pile = sphere_line(30)
    pile.velocity[12, 2] = -1e3
    contacts = contacts_of(pile, 0.5)
    result = resolve(contacts, laws.make("qce"), None, FixedDirection(coarse=1e-2))
    assert np.flatnonzero(result.normal).tolist() == [12]
    exact = resolve(contacts, laws.make("qce"), None, FixedDirection())
    assert np.count_nonzero(exact.normal) == 30
    assert result.normal[12] == pytest.approx(exact.normal[12], rel=1e-12)


def test_problems_that_are_not_large_are_exact():
    contacts = contacts_of(bricks(layers=2, kick=0.5), 0.5)
    one = resolve(contacts, laws.make("qce"), None, FixedDirection(coarse=0.3))
    two = resolve(contacts, laws.make("qce"), None, FixedDirection())
    np.testing.assert_array_equal(one.normal, two.normal)
    np.testing.assert_array_equal(one.tangent, two.tangent)


@pytest.mark.parametrize("value", [-0.1, 1.0, np.nan, "much", True])
def test_a_part_is_a_number_below_one(value):
    with pytest.raises(ProblemError, match="coarse"):
        FixedDirection(coarse=value)


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
