"""Kinks: problems without a derivative are recognized, and the distance to them is that of the decision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.derivatives.differences import random_impact

from carom import ImpactProblem, solve_impact


def at_kink(rng) -> tuple[ImpactProblem, int]:
    """A random problem in which one contact neither approaches nor separates, and others do."""
    while True:
        problem = random_impact(rng, False, 20)
        contact = int(rng.integers(problem.contact_count))
        row = np.zeros(problem.contact_count)
        row[contact] = 1.0
        push = problem.mass.solve(problem.rows.transpose_times(row, problem.block[0]))
        change = -problem.separation_speed()[contact] / float(problem.rows.times(push)[contact])
        velocity = problem.block_velocity + change * push
        problem = problem.with_(velocity=velocity.reshape(problem.velocity.shape), restitution=1.0)
        if (problem.separation_speed() < -0.1).any():
            return problem, contact


def one_sided(problem: ImpactProblem, contact: int, law: str, h: float = 1e-6) -> float:
    """Difference of the derivatives from both sides, with respect to the boundary speed of a contact."""
    unit = np.eye(problem.contact_count)[contact]
    ends = [solve_impact(problem.with_(boundary_speed=s * h * unit), law).velocity for s in (1.0, 0.0, -1.0)]
    return float(np.abs((ends[0] - ends[1]) / h - (ends[1] - ends[2]) / h).max())


def recognized(law: str, seed: int, wanted: int) -> None:
    """Problems whose one-sided derivatives differ by more than 1e-3 (their error is 1e-6) are said to be at a kink."""
    seen, smooth = 0, 0
    for k in range(20 * wanted):
        problem, contact = at_kink(np.random.default_rng([seed, k]))
        solution = solve_impact(problem, law)
        if solution.status != "resolved":
            continue
        found = solution.derivative(("velocity", "boundary_speed"))
        if one_sided(problem, contact, law) < 1e-3:
            smooth += found.smooth
            continue
        assert not found.smooth
        assert contact in {c for kink in found.kinks if kink.distance < 1e-8 for c in kink.contacts}
        seen += 1
        if seen == wanted:
            return
    raise AssertionError(f"only {seen} problems at a kink")


# Under lzb a contact that begins to be compressed gets an impulse of higher order: there is a derivative.
@pytest.mark.parametrize("law", ["gr", "sqm", "gauss_seidel", "jacobi", "qce", "smm"])
def test_kinks_are_recognized(law):
    recognized(law, 11, 8)


@pytest.mark.long
@pytest.mark.parametrize("law", ["gr", "sqm", "gauss_seidel", "jacobi", "qce", "smm"])
def test_two_hundred_kinks_are_recognized(law):
    recognized(law, 13, 200)


def test_under_lzb_a_contact_that_starts_to_take_part_is_no_kink():
    chain = ImpactProblem.chain([1.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    assert one_sided(chain, 1, "gr") > 0.1
    # Both sides differ by the step to the power 0.4, the exponent of Hertz's springs in impulse: less and less.
    assert one_sided(chain, 1, "lzb", 1e-8) < 0.2 * one_sided(chain, 1, "lzb", 1e-6) < 1e-3
    assert solve_impact(chain, "lzb").derivative().smooth
    assert not solve_impact(chain, "gr").derivative().smooth


def test_one_ball_and_a_wall():
    """Two balls: the kink is where they do not approach, and its distance is the speed of approach."""
    for speed in (0.5, 1e-3, 1e-6):
        found = solve_impact(ImpactProblem.chain([1.0, 2.0], [speed, 0.0]), "gr").derivative()
        assert found.smooth
        assert found.kink_distance == pytest.approx(speed)
    still = solve_impact(ImpactProblem.chain([1.0, 2.0], [0.0, 0.0]), "gr").derivative()
    assert not still.smooth
    assert still.kinks[0].contacts == (0,)
    assert "approach" in still.kinks[0].reason


def test_the_cradle_is_at_a_kink_and_a_shifted_one_is_not():
    cradle = ImpactProblem.chain(np.ones(4), [1.0, 0.0, 0.0, 0.0])
    found = solve_impact(cradle, "gr").derivative()
    assert not found.smooth
    # Contacts 1 and 2 rest before the impact, and contact 0 rests after it.
    assert {kink.contacts for kink in found.kinks if kink.distance < 1e-9} == {(0,), (1,), (2,)}
    apart = cradle.with_(velocity=[1.0, 0.0, 0.1, 0.2])
    assert solve_impact(apart, "gr").derivative().kink_distance == pytest.approx(0.1)


def test_dependent_contacts_are_a_kink_of_geometry_alone():
    """A box on four corners: velocity and mass have derivatives, a single point that moves makes it tilt."""
    corners = np.array([[x, y, 0.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    box = ImpactProblem.from_contacts(
        [[0.0, 0.0, 1.0]],
        1.0,
        [np.eye(3)],
        [[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]],
        [[-1, 0]] * 4,
        corners,
        [[0, 0, 1.0]] * 4,
    )
    solution = solve_impact(box, "gr")
    assert solution.derivative("velocity").smooth
    assert solution.derivative("masses").smooth
    assert not solution.derivative("points").smooth
    assert not solution.derivative("boundary_speed").smooth
    expected = np.diag([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    assert np.allclose(solution.derivative()["velocity"].reshape(6, 6), expected, atol=1e-12)


def test_sticking_and_sliding_meet_in_a_kink():
    """A ball that hits the floor with slip v sticks below mu (1 + e) u (1 + 1 / c) and slides above it."""

    def landing(slip: float):
        problem = ImpactProblem.from_discs(
            [[0.0, 1.0]],
            1.0,
            1.0,
            [[slip, -1.0, 0.0]],
            planes=[([0.0, 0.0], [0.0, 1.0])],
            restitution=0.5,
            friction=0.2,
        )
        return solve_impact(problem, "gr").derivative()

    limit = 0.2 * 1.5 * 3.0  # inertia of a disc: K_tt = 1 + 2
    assert landing(limit).kink_distance < 1e-9
    assert landing(limit - 0.1).kink_distance == pytest.approx(0.1)
    assert landing(limit + 0.1).kink_distance == pytest.approx(0.1)
    sticks, slides = landing(limit - 0.1)["velocity"][0, 0, 0, 0], landing(limit + 0.1)["velocity"][0, 0, 0, 0]
    assert sticks == pytest.approx(2.0 / 3.0)  # a disc that rolls keeps 1 / (1 + 1/2) of its speed
    assert slides == pytest.approx(1.0)


def test_etm_is_at_a_kink_of_masses_where_contacts_are_at_right_angles():
    """A last increment is a whole one by construction until a mass lets another contact disturb it."""
    problem = random_impact(np.random.default_rng([2, 966]), True, 6).with_(friction=0.0)
    solution = solve_impact(problem, "etm")
    change = np.zeros(problem.mass.values.shape)
    change[1, 1] = 1e-7
    ends = [
        solve_impact(replace(problem, mass=type(problem.mass)(problem.mass.values + sign * change)), "etm").velocity
        for sign in (1.0, -1.0)
    ]
    one, other = (ends[0] - solution.velocity) / 1e-7, (solution.velocity - ends[1]) / 1e-7
    assert np.abs(one - other).max() > 1e-3
    assert not solution.derivative("mass").smooth
    assert solution.derivative("velocity").smooth
