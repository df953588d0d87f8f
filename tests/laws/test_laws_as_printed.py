"""Algorithms as printed in the papers, which Carom's defaults improve on: each shows what the paper shows of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.friction import rough

from carom import ImpactProblem, laws, solve_impact
from carom.testing import random_problem

COLLAPSE = 7 - 4 * np.sqrt(3)  # 0.0718: tan^2(pi / 12), three balls on a line


@pytest.mark.covering
@pytest.mark.parametrize(("law", "model"), [("gr", "newton"), ("qce", "stronge")])
@pytest.mark.parametrize("e", [0.03, 0.07, 0.08, 0.5])
def test_restitution_inside_the_iteration_collapses(law, model, e):
    """GR with epsilon = 1 + c_r (Smith 2012, fig. 4), QCE with Stronge restitution (Zhang 2015, section 4).

    Three balls collapse below 7 - 4 sqrt(3); the default models of the same laws do not.
    """
    problem = ImpactProblem.chain([1, 1, 1], [1, 0, 0], restitution=e)
    printed, default = solve_impact(problem, law, restitution_model=model), solve_impact(problem, law)
    assert any("inelastic collapse" in message for message in printed.messages) == (e < COLLAPSE)
    assert not default.messages
    assert default.iterations <= 3


@pytest.mark.parametrize(("law", "model"), [("gr", "newton"), ("lcp", "newton"), ("qce", "stronge")])
def test_restitution_inside_tends_to_the_elastic_law(law, model):
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), ("chain", "discs")[seed % 2])
        elastic = solve_impact(problem, law)
        close = solve_impact(problem.with_(restitution=1 - 1e-9), law, restitution_model=model)
        np.testing.assert_allclose(close.velocity, elastic.velocity, atol=1e-5 * np.abs(problem.velocity).max())
        lossy = solve_impact(problem.with_(restitution=0.5), law, restitution_model=model)
        assert lossy.kinetic_energy <= problem.kinetic_energy * (1 + 1e-10)
        assert lossy.separation_speed.min() >= -1e-9 * np.abs(problem.separation_speed()).max()


def test_one_newton_law_lcp_leaves_contacts_that_approach():
    """Smith 2012, eq. 3: `u+ >= -u` lets a contact that separates before the impact approach after it."""
    once, left = laws.make("lcp", repeat=False), 0
    for seed in range(40):
        problem = random_problem(np.random.default_rng(seed), "discs")
        u, s = problem.separation_speed(), solve_impact(problem, once)
        gap = s.separation_speed + u
        stiff = problem.contacts.rows.diag
        assert s.iterations == 1
        assert np.abs(np.minimum(stiff * s.impulse, gap)).max() <= 1e-9 * np.abs(u).max()
        left += s.separation_speed.min() < -1e-3
        assert solve_impact(problem, "lcp").separation_speed.min() >= -1e-9 * np.abs(u).max()
    assert left > 2


def test_a_single_friction_pass_leaves_contacts_that_approach():
    """Smith 2012, algorithm 4: friction after the law, once."""
    left = 0
    for seed in range(40):
        problem = rough.sample("matrices", seed, friction=1.0)
        s = solve_impact(problem, "gr", friction_model="coulomb_single_pass")
        bare = solve_impact(problem.with_(friction=0.0), "gr")
        np.testing.assert_array_equal(s.impulse, bare.impulse)
        assert s.contact_work <= 1e-10 * problem.kinetic_energy
        approaching = s.separation_speed.min() < -1e-9 * problem.contacts.fastest()
        assert (s.status == "not_converged") == approaching
        left += approaching
    assert left > 2


@pytest.mark.parametrize("kind", ["discs", "spheres"])
def test_friction_of_smm(kind):
    """Tang 2014, eqs. 87 to 108: friction of a system is mu lam against the slip before it, or stops that slip."""
    for seed in range(10):
        problem = rough.sample(kind, seed, friction=0.2).with_(restitution=0.6)
        s = solve_impact(problem, "smm")
        assert s.friction_model == "own"
        assert s.residual <= 1e-9
        assert s.separation_speed.min() >= -1e-9 * np.abs(problem.separation_speed()).max()
    for slip, friction in ((2.0, -0.3), (1.0, -1.0 / 3.5)):  # it slides; it would reverse, and sticks instead
        one = ImpactProblem.from_matrices(
            [1, 1, 0.4], [[0, 1.0, 0]], [slip, -1.0, 0.0], friction=0.2, tangents=[[1.0, 0, 1.0]]
        )
        s = solve_impact(one.with_(restitution=0.5), "smm")
        np.testing.assert_allclose(s.impulse, 1.5)
        np.testing.assert_allclose(s.friction_impulse, friction)
