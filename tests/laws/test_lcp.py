"""The Newton-law LCP: known answers, what it does to resting contacts, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue, laws, solve_impact

THREE_BALLS = {
    0.0: (-2 / 3, -2 / 3, 1 / 3),
    0.25: (-0.75, -0.5, 0.5),
    0.5: (-5 / 6, -1 / 3, 2 / 3),
    0.75: (-11 / 12, -1 / 6, 5 / 6),
    1.0: (-1, 0, 1),
}


@pytest.mark.parametrize("va", THREE_BALLS)
def test_three_balls(va):
    velocity = solve_impact(ImpactProblem.chain([1, 1, 1], [va, 0, -1]), "lcp").velocity
    np.testing.assert_allclose(velocity, THREE_BALLS[va], atol=1e-12)


@pytest.mark.parametrize(
    ("masses", "before", "after", "accuracy"),
    [
        ([1] * 5, [1, 0, 0, 0, 0], [-0.6, 0.4, 0.4, 0.4, 0.4], 1e-12),
        ([1] * 5, [1, 1, 0, 0, 0], [-0.2, -0.2, 0.8, 0.8, 0.8], 1e-12),
        ([1, 2, 1, 3], [1, 0, 0, -1], [-11 / 7, -4 / 7, -4 / 7, 3 / 7], 1e-12),
    ],
)
def test_chains(masses, before, after, accuracy):
    np.testing.assert_allclose(solve_impact(ImpactProblem.chain(masses, before), "lcp").velocity, after, atol=accuracy)


def test_lcp_leaves_the_cradle_stuck():
    """Resting contacts stay at rest: the struck balls move on as one body."""
    solution = carom.solve_impact(catalogue.entry("cradle_5_1").problem, "lcp")
    assert np.abs(solution.separation_speed[1:]).max() <= 1e-12
    assert (solution.impulse[1:] > 0).all()


def test_a_contact_that_separates_may_approach_afterwards_and_is_solved_again():
    """u+ >= -u- allows the last contact of this chain to approach; one more solve reflects it."""
    problem = ImpactProblem.chain([1.0, 1.0, 0.1], [1.0, 0.0, 0.5])
    once = solve_impact(problem, laws.make("lcp", max_iterations=1))
    solution = solve_impact(problem, "lcp")
    assert once.status == "finished_inelastically" and "lcp reached its bound of 1 solves" in once.messages[0]
    assert solution.status == "resolved" and solution.iterations > 1
    assert solution.separation_speed.min() >= -1e-10
    assert solution.kinetic_energy == pytest.approx(problem.kinetic_energy, rel=1e-12)
