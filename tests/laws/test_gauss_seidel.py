"""Pairwise propagation: known answers, the three orders, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue, laws, solve_impact


@pytest.mark.parametrize("order", ["index", "random", "worst"])
@pytest.mark.parametrize(("before", "after"), [([1, 0, 0, 0, 0], [0, 0, 0, 0, 1]), ([1, 1, 0, 0, 0], [0, 0, 0, 1, 1])])
def test_cradles(order, before, after):
    """Equal masses exchange velocities at each reflection, so that every order gives the same answer."""
    solution = solve_impact(ImpactProblem.chain([1] * 5, before), laws.make("gauss_seidel", order=order))
    np.testing.assert_allclose(solution.velocity, after, atol=1e-15)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_newtons_restitution_at_one_contact(e):
    problem = ImpactProblem.chain([1.0, 3.0], [2.0, -1.0], restitution=e)
    solution = solve_impact(problem, "gauss_seidel", restitution_model="newton")
    np.testing.assert_allclose(solution.separation_speed, [3.0 * e], atol=1e-14)


def test_gauss_seidel_breaks_bernoullis_symmetry():
    """The first of the two struck discs takes more; the other order gives the mirror image of that."""
    problem = catalogue.entry("bernoulli").problem
    v = carom.solve_impact(problem, "gauss_seidel").velocity
    w = carom.solve_impact(problem.permuted([1, 0, 2]), "gauss_seidel").velocity
    assert np.abs(v[1] * [1, -1] - v[2]).max() > 0.1
    np.testing.assert_allclose(problem.symmetries[0].image(w), v, atol=1e-12)


def test_the_worst_contact_first():
    """v = (1, 0, -3): the right contact approaches faster. Reflected first, it sends the middle ball to the left."""
    chain = ImpactProblem.chain([1, 2, 1], [1, 0, -3])
    by_index, by_speed = (solve_impact(chain, laws.make("gauss_seidel", order=o)).velocity for o in ("index", "worst"))
    assert np.abs(by_index - by_speed).max() > 0.1
    mirrored = ImpactProblem.chain([1, 2, 1], [3, 0, -1])
    image = -solve_impact(mirrored, laws.make("gauss_seidel", order="worst")).velocity[::-1]
    np.testing.assert_allclose(image, by_speed, atol=1e-14)


def test_a_seed_fixes_the_random_order():
    problem = catalogue.entry("disc_cluster_9").problem
    answers = [solve_impact(problem, laws.make("gauss_seidel", order="random", seed=s)).velocity for s in (1, 1, 2)]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


def test_an_unknown_order_is_refused():
    with pytest.raises(carom.ProblemError, match="order"):
        laws.make("gauss_seidel", order="backward")


def test_the_bound_ends_it_inelastically():
    """A cradle of five needs four reflections. Two leave the shock in the middle."""
    problem = catalogue.entry("cradle_5_1").problem
    solution = solve_impact(problem, laws.make("gauss_seidel", max_iterations=2))
    assert solution.status == "finished_inelastically"
    assert solution.iterations == 2
    assert "gauss_seidel reached its bound" in solution.messages[0]
    assert solution.separation_speed.min() >= -1e-12
    assert solution.kinetic_energy < 0.9 * problem.kinetic_energy
