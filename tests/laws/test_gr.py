"""Generalized reflections: known answers, one iteration as the cone problem of its violators, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ImpactProblem, catalogue, laws, solve_impact
from carom.laws.gr import GR, GUESSED_WORK, reflections
from carom.solvers.qp.cone import solve_cone
from carom.solvers.rows import taken
from carom.solvers.thresholds import DENSE_QP_CONTACTS


def test_scisim_bernoulli_to_its_four_digits():
    entry = catalogue.entry("bernoulli_scisim")
    expected = [[-0.4076, 0], [1.2038, 0.6840], [1.2038, -0.6840]]
    np.testing.assert_allclose(carom.solve_impact(entry.problem, "gr").velocity, expected, atol=5e-5)


def test_gr_jumps_where_the_middle_ball_is_just_touched():
    """Continuous in va for va > 0, with another limit than its value at 0: Zhang 2015, fig. 4."""
    chains = [carom.ImpactProblem.chain([1, 1, 1], [va, 0, -1]) for va in (0.0, 1e-6)]
    at, near = (carom.solve_impact(chain, "gr").velocity for chain in chains)
    np.testing.assert_allclose(at, [-1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(near, [-2 / 3, -2 / 3, 1 / 3], atol=1e-5)


def hexagonal_impact(layers: int) -> ImpactProblem:
    """A hexagonal packing of discs that falls on the line below its lowest row, all contacts at once."""
    cells = [(i + 0.5 * (j % 2), 0.5 + j * np.sqrt(0.75)) for j in range(layers) for i in range(layers)]
    rng = np.random.default_rng(layers)
    velocity = np.column_stack([0.1 * rng.normal(size=len(cells)), -1.0 - rng.random(len(cells))])
    return ImpactProblem.from_discs(cells, 0.5, 1.0, velocity, planes=[((0.0, 0.0), (0.0, 1.0))])


@pytest.mark.parametrize("layers", [2, 6])
@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_an_iteration_solves_the_cone_problem_of_the_violators(layers, restitution):
    """Small islands inside the kernel and large ones outside it take the same steps as the algorithm in the paper.

    Restitution inside the iteration, as printed, takes more of them than the elastic law. Contacts differ in it.
    """
    contacts = hexagonal_impact(layers).contacts
    stretch = 1.0 + restitution * np.linspace(0.8 if restitution < 1.0 else 1.0, 1.0, contacts.count)
    assert (contacts.count > DENSE_QP_CONTACTS) == (layers == 6)
    tol = 1e-10 * contacts.approach()
    x, lam, count = contacts.velocity, np.zeros(contacts.count), 0
    while len(violators := np.flatnonzero(contacts.speeds(x) < -tol)):
        lam[violators] += solve_cone(taken(contacts.rows, violators), (stretch * contacts.speeds(x))[violators])[0]
        x, count = contacts.after(lam), count + 1
    _, got, end = reflections(contacts.rows, contacts.velocity, stretch, tol, 10_000)
    assert (end.iterations, end.violators) == (count, 0)
    assert end.worst <= 1e-10
    np.testing.assert_allclose(got, x, atol=1e-8)


def test_the_bound_ends_it_inelastically():
    """A cradle of five needs four iterations. Two leave the shock in the middle."""
    problem = catalogue.entry("cradle_5_1").problem
    solution = solve_impact(problem, laws.make("gr", max_iterations=2))
    assert solution.status == "finished_inelastically"
    assert solution.iterations == 2
    assert "gr reached its bound" in solution.messages[0]
    assert solution.separation_speed.min() >= -1e-12
    assert solution.kinetic_energy < 0.9 * problem.kinetic_energy


def test_the_bound_on_work_ends_it_inelastically():
    """Redundant contacts that clamp eight components: two fronts reflect each other in every iteration, and each of
    their cone problems takes thousands of guesses. The bound on iterations alone allowed 24 CPU s."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(44, 8)) * 10.0 ** rng.uniform(-3.0, 0.0, 8)
    problem = ImpactProblem.from_matrices(np.ones(8), np.vstack([rows, -rows]), rng.normal(size=8))
    contacts = problem.contacts
    _, _, end = reflections(contacts.rows, contacts.velocity, np.full(88, 2.0), 1e-10 * contacts.approach(), 2000)
    assert end.violators and not end.infeasible and end.iterations < 2000
    assert end.work < 2.0 * GUESSED_WORK * contacts.count
    solution = solve_impact(problem, "gr")
    assert solution.status == "finished_inelastically"
    assert solution.separation_speed.min() >= -1e-8 * contacts.approach()


def test_boundaries_that_close_in_are_infeasible():
    """A ball between two walls that approach each other: no velocity satisfies both contacts."""
    problem = ImpactProblem.from_matrices([1.0], [[1.0], [-1.0]], [0.0], boundary_speed=[-1.0, -1.0])
    solution = solve_impact(problem, GR())
    assert solution.status == "infeasible"
    assert solution.residual > 1e-6


def test_an_impact_does_not_depend_on_those_before_it():
    """Work space is kept from impact to impact: the same bits after larger and smaller ones, of any dimension."""
    rng = np.random.default_rng(3)
    chain = ImpactProblem.chain([1.0, 3.0, 2.0, 1.0], rng.normal(size=4))
    root = rng.normal(size=(9, 9))
    robot = ImpactProblem.from_matrices(root @ root.T + np.eye(9), rng.normal(size=(6, 9)), rng.normal(size=9))
    problems = [chain, hexagonal_impact(5), robot, hexagonal_impact(12)]
    first = [solve_impact(problem, "gr").velocity.tobytes() for problem in problems]
    again = [solve_impact(problem, "gr").velocity.tobytes() for problem in reversed(problems)]
    assert first == again[::-1]
