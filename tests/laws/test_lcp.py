"""The Newton-law LCP: known answers, what it does to resting contacts, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue, laws, solve_impact


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
