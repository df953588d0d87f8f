"""Impacts to a tolerance: approach and slip that are left are within it, the residual is honest, energy never rises."""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.test_gr import hexagonal_impact
from tests.solvers.space_piles import bricks, contacts_of, sphere_line

from carom import friction as frictions
from carom import solve_impact
from carom.resolve.impulses import resolve
from carom.resolve.response import Response
from carom.solvers.thresholds import DENSE_QP_CONTACTS

ROUNDING = 1e-9  # of a residual, which is a difference of speeds that are larger by less than 1e6


def pile(restitution, seed=0):
    """Bricks in one island that is too large for dense methods."""
    contacts = contacts_of(bricks(layers=5, across=2, deep=2, kick=0.5, seed=seed), restitution)
    assert contacts.count > 2 * DENSE_QP_CONTACTS
    return contacts


def slip_left(contacts, result, model):
    """Distance of friction impulses to their projected gradient step: slip speed that friction could still stop."""
    x = contacts.after(result.normal, result.tangent)
    bound = contacts.friction * result.normal
    speed, beta = contacts.tangent_speeds(x), result.tangent
    first = contacts.tangent_speeds()
    if model == "coulomb_fixed_direction":
        direction = -first / np.linalg.norm(first, axis=1)[:, None]
        stiff = along(contacts, direction)
        z, u = (beta * direction).sum(axis=1), (speed * direction).sum(axis=1)
        return (np.abs(np.clip(z - u / stiff, 0.0, bound) - z) * stiff).max()
    # With an entry of the tangential block as the stiffness: not larger than its eigenvalue, nor is then the distance.
    stiff = contacts.tangent_diag.max(axis=1)[:, None]
    moved = beta - speed / stiff
    if model.startswith("pyramid"):
        return (np.abs(np.clip(moved, -bound[:, None], bound[:, None]) - beta) * stiff).max()
    size = np.linalg.norm(moved, axis=1)[:, None]
    inside = moved * np.minimum(1.0, bound[:, None] / np.maximum(size, 1e-300))
    return (np.linalg.norm(inside - beta, axis=1)[:, None] * stiff).max()


def along(contacts, direction):
    """Squared length of the tangent rows, combined along one direction per contact."""
    matrix, t = contacts.tangent_matrix().toarray(), direction.shape[1]
    combined = np.einsum("kt,ktn->kn", direction, matrix.reshape(-1, t, matrix.shape[1]))
    return (combined**2).sum(axis=1)


# A single pass of friction leaves the approach that it causes.
@pytest.mark.covering
@pytest.mark.parametrize("model", [name for name, model in frictions.MODELS.items() if model.repeats])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("share", [1e-1, 1e-3])
def test_what_is_left_is_within_the_tolerance(model, restitution, share):
    """Approach and slip after the impact, from impulses and velocities alone, against tolerance and residual."""
    for law in ("gr", "qce", "lcp"):
        for seed in range(2):
            contacts = pile(restitution, seed)
            tolerance = share * contacts.fastest()
            result = resolve(contacts, Response.for_run(law, None, model, tolerance=share), tolerance)
            after = contacts.after(result.normal, result.tangent)
            reached = max(result.residual * contacts.fastest(), tolerance)
            assert result.residual <= share * (1 + ROUNDING)
            assert -contacts.speeds(after).min() <= reached * (1 + ROUNDING)
            assert slip_left(contacts, result, model) <= reached * (1 + ROUNDING)
            bound = contacts.friction * result.normal
            order = np.inf if model.startswith("pyramid") else 2
            size = np.linalg.norm(result.tangent, ord=order, axis=1)
            assert (size <= bound * (1 + 1e-12)).all()
            assert (after**2).sum() <= (contacts.velocity**2).sum() * (1 + 1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("share", [1e-1, 1e-2, 1e-4])
def test_elastic_energy_is_conserved_to_any_tolerance(law, share):
    """A coarse cone problem still gives a reflection."""
    contacts = hexagonal_impact(9).contacts.with_restitution(1.0)
    assert contacts.count > DENSE_QP_CONTACTS
    result = resolve(contacts, Response.of(law), share * contacts.approach())
    before, after = (contacts.velocity**2).sum(), (contacts.after(result.normal) ** 2).sum()
    assert after == pytest.approx(before, rel=1e-12)
    assert -contacts.speeds(contacts.after(result.normal)).min() <= share * contacts.approach() * (1 + ROUNDING)


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("restitution", [0.3, 0.9])
def test_complementary_restitution_adds_no_energy(law, restitution):
    """Under qce_lcp, whose equations alone do not bound the energy of a coarse answer."""
    for share in (1e-1, 1e-2, 1e-4):
        contacts = pile(restitution).without_friction()
        result = resolve(contacts, Response.of(law, "qce_lcp"), share * contacts.approach())
        before, after = (contacts.velocity**2).sum(), (contacts.after(result.normal) ** 2).sum()
        assert after <= before * (1 + 1e-12)
        assert (result.normal >= 0.0).all()


@pytest.mark.parametrize("law", ["gr", "qce"])
def test_a_finer_tolerance_is_closer_to_the_exact_answer(law):
    contacts = pile(0.5)
    exact = resolve(contacts, Response.of(law))
    x = contacts.after(exact.normal, exact.tangent)
    coarse, fine = (resolve(contacts, Response.of(law), share * contacts.fastest()) for share in (1e-1, 1e-7))
    error = [np.abs(contacts.after(r.normal, r.tangent) - x).max() for r in (coarse, fine)]
    assert error[1] < 0.5 * error[0]
    assert fine.residual <= 1e-7 * (1 + ROUNDING) < coarse.residual


def test_slow_contacts_are_left_alone():
    """One sphere of a row is hit hard from above, the others fall ten thousand times slower: they get no impulse."""
    line = sphere_line(30)
    line.velocity[12, 2] = -1e3
    contacts = contacts_of(line, 0.5)
    result = resolve(contacts, Response.of("qce"), 1e-2 * contacts.approach())
    assert np.flatnonzero(result.normal).tolist() == [12]
    exact = resolve(contacts, Response.of("qce"))
    assert np.count_nonzero(exact.normal) == 30
    assert result.normal[12] == pytest.approx(exact.normal[12], rel=1e-12)


@pytest.mark.parametrize("law", ["gr", "qce"])
def test_single_impacts_are_exact(law):
    """`solve_impact` has no tolerance: its residual is that of rounding, where a coarse answer has a larger one."""
    problem = hexagonal_impact(9).with_(restitution=0.5)
    exact = solve_impact(problem, law)
    assert exact.certified and exact.residual <= 1e-10
    same = resolve(problem.contacts, Response.of(law))
    np.testing.assert_array_equal(exact.impulse, same.normal)
    coarse = resolve(problem.contacts, Response.of(law), 1e-2 * problem.contacts.approach())
    assert np.abs(coarse.normal - same.normal).max() > 1e-6 * same.normal.max()


def test_the_scale_of_residuals_is_approach_or_slip():
    """The residual of friction is not relative to what is left of the slip, which may be tiny."""
    contacts = pile(0.0)
    still = contacts.without_friction()
    assert still.fastest() == still.approach() == contacts.approach()
    slip = np.linalg.norm(contacts.tangent_speeds(), axis=1).max()
    assert contacts.fastest() == pytest.approx(max(contacts.approach(), slip), rel=1e-14)
