"""Outcome sets: closed forms, and every law's answer inside on the catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import carom
from carom import ImpactProblem, ProblemError, catalogue, laws, solve_impact

KEPT = {"KIN", "MOM", "ONE", "FEA"}  # what a law has to claim to be inside


def three_balls(va: float):
    """Ends of the arc: with equal masses momentum and energy are a circle about (p, p, p) / 3, and the order of the
    balls cuts 60 degrees out of it. At its ends two balls have one velocity."""
    mean = (va - 1.0) / 3.0
    step = np.sqrt((va * va + 1.0 - 3.0 * mean**2) / 6.0)
    return np.array([[-step, -step, 2 * step], [-2 * step, step, step]]) + mean


@pytest.mark.parametrize("va", [0.0, 0.25, 0.5, 1.0])
def test_three_balls_are_an_arc_of_sixty_degrees(va):
    found = carom.outcomes(ImpactProblem.chain(np.ones(3), [va, 0.0, -1.0]), samples=300)
    assert found.dimension == 1
    # Corners solve a quadratic: rounding error of its root.
    ends = found.corners[np.argsort(found.corners[:, 2])][::-1]
    assert np.allclose(ends, three_balls(va), atol=1e-12)
    assert found.size == pytest.approx(0.5, abs=1e-12)  # the chord of 60 degrees is the radius
    assert {name for name, broken in found.broken.items() if not broken} >= {"gr", "lcp", "qce", "lzb", "etm", "sqm"}
    middle = found.samples - (va - 1.0) / 3.0
    assert np.allclose((middle**2).sum(axis=1), va * va + 1.0 - (va - 1.0) ** 2 / 3.0, atol=1e-12)
    assert (np.diff(found.samples, axis=1) > -1e-9).all()


def test_one_contact_leaves_nothing_open_and_two_that_are_orthogonal_a_quarter_circle():
    assert carom.outcomes(ImpactProblem.chain([1.0, 2.0], [1.0, 0.0])).size == 0.0
    corner = ImpactProblem.from_discs(
        [[1.0, 1.0]], 1.0, 1.0, [[-1.0, -1.0]], planes=[([0.0, 0.0], [1.0, 0.0]), ([0.0, 0.0], [0.0, 1.0])]
    )
    # Speeds after impact on a circle between the two walls: the chord of 90 degrees over the diameter.
    assert carom.outcomes(corner).size == pytest.approx(np.sqrt(0.5), abs=1e-12)


def feasible(problem, velocity) -> bool:
    """Whether impulses lam >= 0 lead to a velocity: a linear program on the physical rows, which the library's
    test (non-negative least squares on whitened rows) does not use."""
    n = problem.velocity.size
    rows = np.array(
        [problem.rows.transpose_times(unit, problem.block[0]).ravel() for unit in np.eye(problem.contact_count)]
    )
    change = problem.mass.times((velocity - problem.velocity.ravel()).reshape(problem.block)).ravel()
    size = max(np.abs(change).max(), 1e-12)
    slack = np.hstack([rows.T, np.eye(n), -np.eye(n)])
    cost = np.concatenate([np.zeros(problem.contact_count), np.ones(2 * n)])
    answer = linprog(cost, A_eq=slack, b_eq=change / size, bounds=(0, None), method="highs")
    return answer.status == 0 and answer.fun < 1e-6  # the accuracy of the program


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_every_law_is_inside_on_the_catalogue(entry):
    problem = entry.problem
    found = carom.outcomes(problem, samples=5)
    for name, velocity in found.laws.items():
        if not laws.make(name).claims >= KEPT:
            continue
        assert found.broken[name] == (), name
        assert found.contains(velocity)
        assert feasible(problem, velocity), name
        assert problem.separation_speed(velocity).min() >= -1e-8 * np.abs(problem.separation_speed()).max()
    if not entry.degenerate:
        assert "gr" in found.laws


def test_laws_that_break_a_condition_are_outside():
    found = carom.outcomes(ImpactProblem.chain(np.ones(3), [0.5, 0.0, -1.0]), samples=10)
    assert found.broken["jacobi"] == ("energy",)
    cluster = next(entry for entry in catalogue.entries() if entry.name == "disc_cluster_6")
    found = carom.outcomes(cluster.problem, laws=["smm"], samples=10)
    assert found.broken["smm"] == ("momentum and one-sidedness",)
    assert not feasible(cluster.problem, found.laws["smm"])
    assert not found.contains(cluster.problem.velocity)  # nothing has happened: contacts approach


def test_with_losses_the_set_is_the_region_below_the_arc():
    chain = ImpactProblem.chain(np.ones(3), [0.5, 0.0, -1.0], restitution=0.6)
    found = carom.outcomes(chain, samples=200)
    assert not found.elastic
    assert found.dimension == 2
    stuck = np.full(3, -1.0 / 6.0)  # the inelastic answer is a corner
    assert np.abs(found.corners - stuck).max(axis=1).min() < 1e-12
    for name in ("gr", "lcp", "qce", "lzb", "etm", "sqm", "gauss_seidel"):
        assert found.broken[name] == (), name
    assert all(found.contains(v) for v in found.samples[::10])


def test_friction_widens_the_set():
    ball = ImpactProblem.from_discs(
        [[0.0, 1.0]], 1.0, 1.0, [[0.5, -1.0, 0.0]], planes=[([0.0, 0.0], [0.0, 1.0])], restitution=0.5, friction=0.3
    )
    rough = solve_impact(ball, "gr").velocity
    assert carom.outcomes(ball).contains(rough)
    assert not carom.outcomes(ball.with_(friction=0.0)).contains(rough)


def test_the_same_seed_gives_the_same_set():
    chain = ImpactProblem.chain([1, 2, 1, 3], [1, 0, 0, -1])
    one, two, other = (carom.outcomes(chain, samples=30, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.samples, two.samples)
    assert not np.array_equal(one.samples, other.samples)
    assert one.all_orders
    assert np.array_equal(one.orders, other.orders)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": -1}, "samples: got -1"),
        ({"laws": ["grr"]}, "unknown law 'grr'"),
    ],
)
def test_bad_input_gets_one_line(arguments, message):
    with pytest.raises(ProblemError, match=message):
        carom.outcomes(ImpactProblem.chain([1, 1], [1, 0]), **arguments)
    with pytest.raises(ProblemError, match="an ImpactProblem"):
        carom.outcomes([1, 2])
    with pytest.raises(ProblemError, match="3 numbers"):
        carom.outcomes(ImpactProblem.chain([1, 1, 1], [1, 0, 0])).contains([1, 2])
