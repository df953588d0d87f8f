"""Quadratic contact energy: known answers, the root that ends a contact, exact energy, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

from carom import ImpactProblem, catalogue, laws, solve_impact
from carom.laws.qce import crossing
from carom.testing import random_problem


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (2.0, -1.0, 0.0, 1.0),  # h^2 - h
        (2.0, -1.0, -2.0, 2.0),  # h^2 - h - 2 = (h - 2) (h + 1)
        (0.0, 1.0, -3.0, 3.0),  # a line
        (-2.0, 3.0, -2.0, 1.0),  # -(h - 1) (h - 2): the nearer root is the upward one
        (1e-20, 1.0, -3.0, 3.0),  # almost a line: the textbook formula divides 0 by 1e-20
        (0.0, -1.0, 0.0, np.inf),  # falls forever
        (-2.0, 1.0, -1.0, np.inf),  # turns round below zero
        (5.0, 1.0, 0.0, 0.0),  # at zero and rising: it ends now
    ],
)
def test_a_contact_ends_at_the_next_upward_zero(a, b, c, expected):
    assert crossing(a, b, c) == pytest.approx(expected, rel=1e-14)


def test_every_pass_keeps_the_energy():
    """To rounding, on random clusters: the larger root instead of the upward one loses 1e-3 there."""
    for k in range(40):
        problem = random_problem(np.random.default_rng([3, k]), "discs")
        solution = solve_impact(problem, "qce")
        assert solution.residual <= 1e-12
        assert solution.kinetic_energy == pytest.approx(problem.kinetic_energy, rel=1e-11)


def test_the_bound_ends_it_inelastically():
    """One pass is one collision in a cradle of five: two leave the shock in the middle."""
    problem = catalogue.entry("cradle_5_1").problem
    solution = solve_impact(problem, laws.make("qce", max_iterations=2))
    assert solution.status == "finished_inelastically"
    assert solution.iterations == 2
    assert "qce reached its bound" in solution.messages[0]
    assert solution.separation_speed.min() >= -1e-12
    assert solution.kinetic_energy < 0.9 * problem.kinetic_energy


@pytest.mark.parametrize("size", [1e-10, 1e-8, 1e-6])
def test_contacts_that_hardly_approach_keep_the_energy(size):
    """A contact with an approach of 1e-8 beside one of 1 loses eight digits; each pass corrects what rounding adds."""
    chance = np.random.default_rng(1)
    for _ in range(40):
        velocity = np.array([1.0, 0, 0, 0, 0]) + np.concatenate([[0.0], np.cumsum(size * chance.normal(size=4))])
        solution = solve_impact(ImpactProblem.chain([1.0] * 5, velocity), "qce")
        assert solution.status == "resolved"
        assert 0.5 * (solution.velocity**2).sum() == pytest.approx(0.5 * (velocity**2).sum(), rel=1e-11)
