"""Pairwise reflection of all violators at once: what it keeps, what it breaks, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue, laws, solve_impact


def test_the_impulses_of_neighbors_add_up():
    """A ball struck from both sides, by masses 1 at speed 1: it gets 2 u / A_ii from each, and rests."""
    solution = solve_impact(ImpactProblem.chain([1, 1, 1], [1, 0, -1]), laws.make("jacobi", max_iterations=1))
    np.testing.assert_allclose(solution.impulse, [1.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(solution.velocity, [0.0, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_newtons_restitution_at_one_contact(e):
    problem = ImpactProblem.chain([1.0, 3.0], [2.0, -1.0], restitution=e)
    solution = solve_impact(problem, "jacobi", restitution_model="newton")
    np.testing.assert_allclose(solution.separation_speed, [3.0 * e], atol=1e-14)


def test_jacobi_stops_dead_in_an_acute_corner():
    """Two walls at 60 degrees: their single reflections add up to rest. All energy is gone."""
    solution = carom.solve_impact(catalogue.entry("acute_corner").problem, "jacobi")
    assert solution.kinetic_energy <= 1e-20


def test_jacobi_makes_energy():
    problem = catalogue.entry("bernoulli").problem
    assert carom.solve_impact(problem, "jacobi").kinetic_energy > 1.05 * problem.kinetic_energy


def test_it_stops_where_energy_grows_without_limit():
    """A hexagonal packing falls on a line: impulses of neighbors add up until the bound on growth, a factor 1e6."""
    cells = [(i + 0.5 * (j % 2), 0.5 + j * np.sqrt(0.75)) for j in range(6) for i in range(6)]
    velocity = np.column_stack([np.zeros(36), -1.0 - np.random.default_rng(6).random(36)])
    problem = ImpactProblem.from_discs(cells, 0.5, 1.0, velocity, planes=[((0.0, 0.0), (0.0, 1.0))])
    solution = solve_impact(problem, "jacobi")
    assert solution.kinetic_energy > 1e3 * problem.kinetic_energy
    assert solution.iterations < 100
    assert solution.status == "finished_inelastically"
    assert "jacobi reached its bound" in solution.messages[0]
    assert solution.separation_speed.min() >= -1e-9 * np.abs(solution.velocity).max()


def test_the_bound_ends_it_inelastically():
    """A cradle of five needs four iterations. Two leave the shock in the middle."""
    problem = catalogue.entry("cradle_5_1").problem
    solution = solve_impact(problem, laws.make("jacobi", max_iterations=2))
    assert solution.status == "finished_inelastically"
    assert solution.iterations == 2
    assert "jacobi reached its bound" in solution.messages[0]
    assert solution.separation_speed.min() >= -1e-12
    assert solution.kinetic_energy < 0.9 * problem.kinetic_energy
