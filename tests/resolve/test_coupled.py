"""Impacts with coupled friction in one kernel: the bits of the stages one by one, and what is left to these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.solvers.space_piles import bricks, contacts_of, sphere_line

from carom import ImpactProblem, solve_impact
from carom.problem.contacts import Contacts, Impulses
from carom.resolve.coupled import Found, find_impulses
from carom.resolve.impulses import resolve
from carom.resolve.response import Response


def discs(restitution: float) -> Contacts:
    """A triangle of ten touching discs with spin, of which the front one approaches the others obliquely."""
    place = [(np.sqrt(0.75) * row, k - 0.5 * row) for row in range(4) for k in range(row + 1)]
    velocity = np.zeros((10, 3))
    velocity[0], velocity[4] = (3.0, 0.4, 5.0), (-0.5, 0.0, -2.0)
    problem = ImpactProblem.from_discs(place, 0.5, 1.0, velocity, restitution=restitution, friction=0.4)
    return problem.contacts


IMPACTS = {
    "discs": discs,
    "spheres": lambda c: contacts_of(sphere_line(6, kick=1.0), c),
    "bricks": lambda c: contacts_of(bricks(3, 3, 2, kick=0.5), c),
}


def staged(response: Response) -> Response:
    """The same response without the kernel."""
    other = replace(response)
    other.__dict__["asked"] = None
    return other


@pytest.mark.parametrize("impact", IMPACTS)
def test_the_same_bits_as_stage_by_stage(impact):
    """Impulses, iterations and status are the same; the residual up to rounding, which is divided in another order."""
    for law in ("gr", "qce"):
        for model in ("cone", "pyramid"):
            for restitution in (0.0, 0.4, 1.0):
                for share in (0.0, 0.01):
                    contacts, response = IMPACTS[impact](restitution), Response.of(law, friction_model=model)
                    tolerance = share * contacts.fastest()
                    found, expected = (resolve(contacts, r, tolerance) for r in (response, staged(response)))
                    case = (law, model, restitution, share)
                    assert np.array_equal(found.normal, expected.normal), case
                    assert np.array_equal(found.tangent, expected.tangent), case
                    assert (found.iterations, found.status) == (expected.iterations, expected.status), case
                    assert found.residual == pytest.approx(expected.residual, rel=1e-12, abs=1e-300), case


def test_the_kernel_gets_to_the_end_of_most_impacts():
    """Otherwise the test above would compare the stages with themselves."""
    for make in IMPACTS.values():
        contacts = make(0.4)
        found = find_impulses(contacts, Response.of("qce"), 0.01 * contacts.fastest())
        assert isinstance(found, Impulses) and found.normal.any() and found.tangent.any()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("model", ["cone", "pyramid"])
def test_the_search_for_the_share_of_restitution_has_the_bits_of_single_solves(dim, model, monkeypatch):
    """Tilted blocks strike the ground with spin: restitution 1 and friction together would raise the energy of some."""
    rng, stepped_back = np.random.default_rng(7), 0
    for _ in range(24):
        count = 3
        place = np.arange(3.0 * count).reshape(count, 3)[:, :dim] * 3.0
        velocity = rng.normal(size=(count, 3 if dim == 2 else 6))
        velocity[:, dim - 1] = -1.0
        arms = rng.normal(size=(count, dim))
        arms[:, -1] = -0.3
        normal = np.eye(dim)[-1]
        inertia = np.full(count, 0.1) if dim == 2 else np.tile(np.diag([0.05, 0.1, 0.12]), (count, 1, 1))
        problem = ImpactProblem.from_contacts(
            place, np.ones(count), inertia, velocity, [(-1, k) for k in range(count)], place + arms,
            np.tile(normal, (count, 1)), friction=0.6, restitution=1.0,
        )  # fmt: skip
        found = solve_impact(problem, "gr", friction_model=model)
        with monkeypatch.context() as changed:
            changed.setattr("carom.resolve.impulses.without_gain", lambda *given: None)
            expected = solve_impact(problem, "gr", friction_model=model)
        assert np.array_equal(found.velocity, expected.velocity)
        assert (found.iterations, found.messages) == (expected.iterations, expected.messages)
        stepped_back += any("would raise the kinetic energy" in message for message in found.messages)
    assert stepped_back > 2


def test_different_restitutions_are_left_to_the_stages():
    contacts = discs(0.4)
    mixed = contacts.with_restitution(np.linspace(0.1, 0.9, contacts.count))
    assert find_impulses(mixed, Response.of("gr"), 0.0) is None
    assert resolve(mixed, Response.of("gr")).normal.any()


def test_other_laws_and_models_are_left_to_the_stages():
    for law, restitution, friction in (
        ("lcp", None, "cone"),
        ("gr", "qce_lcp", "cone"),
        ("gr", None, "coulomb_fixed_direction"),
    ):
        assert Response.of(law, restitution, friction).asked is None


def test_what_was_found_is_kept_where_restitution_would_raise_the_energy():
    """Elastic spheres that slide fast: friction would do work at the target speeds, which the stages reduce."""
    raised, response = 0, Response.of("gr")
    for seed in range(10):
        contacts = contacts_of(sphere_line(5, mu=0.9, kick=3.0, seed=seed), 1.0)
        found = find_impulses(contacts, response, 0.0)
        raised += isinstance(found, Found) and found.joint is not None
        one, two = resolve(contacts, response), resolve(contacts, staged(response))
        assert np.array_equal(one.normal, two.normal) and one.messages == two.messages
        after = contacts.after(one.normal, one.tangent)
        assert (after**2).sum() <= (contacts.velocity**2).sum() * (1.0 + 1e-10)
    assert raised > 0
