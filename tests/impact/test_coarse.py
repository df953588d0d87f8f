"""Coarse answers of large impacts: what matters is resolved, what is slow is left alone, energy never rises."""

from __future__ import annotations

import numpy as np
import pytest
from tests.solvers.space_piles import bricks, contacts_of, sphere_line

from carom.impact.resolve import resolve
from carom.impact.response import Response


@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_fast_contacts_are_resolved_and_energy_falls(law, restitution):
    """Nothing approaches faster than a tenth of the fastest approach before; friction is within its bound."""
    for seed in range(3):
        contacts = contacts_of(bricks(layers=3, across=2, deep=2, kick=0.5, seed=seed), restitution)
        result = resolve(contacts, Response.of(law), 0.1 * contacts.approach())
        after = contacts.after(result.normal, result.tangent)
        assert contacts.speeds(after).min() >= 0.1 * contacts.speeds().min()
        assert (after**2).sum() <= (contacts.velocity**2).sum() * (1 + 1e-12)
        bound = contacts.friction * result.normal
        assert (np.linalg.norm(result.tangent, axis=1) <= bound * (1 + 1e-12)).all()
        assert 0.0 < result.residual < 1.0


def test_slow_contacts_are_left_alone():
    """One sphere of a row is hit hard from above, the others fall ten thousand times slower: they get no impulse."""
    pile = sphere_line(30)
    pile.velocity[12, 2] = -1e3
    contacts = contacts_of(pile, 0.5)
    result = resolve(contacts, Response.of("qce"), 1e-2 * contacts.approach())
    assert np.flatnonzero(result.normal).tolist() == [12]
    exact = resolve(contacts, Response.of("qce"))
    assert np.count_nonzero(exact.normal) == 30
    assert result.normal[12] == pytest.approx(exact.normal[12], rel=1e-12)
