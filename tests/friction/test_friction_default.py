"""Friction by default is Coulomb's law after the impact, also where nothing slips before it."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.kernels import families
from carom.play.impacts import impact_answer
from carom.resolve.response import DEFAULT_FRICTION, Response

FIXED = "coulomb_fixed_direction"


def rack(friction, rows=4):
    """A disc strikes a rack of touching discs at its tip, without spin: no contact slips before the impact."""
    places = [[-1.0, 0.0]] + [[row * np.sqrt(0.75), k - row / 2] for row in range(rows) for k in range(row + 1)]
    velocity = np.zeros((len(places), 3))
    velocity[0, 0] = 1.0
    return carom.ImpactProblem.from_discs(places, 0.5, 1.0, velocity, friction=friction)


def cube_on_an_edge(tilt, speed=2.0):
    """The section of a unit cube of mass 1 (inertia 1/6) that falls on its lower edge, `tilt` beside its center."""
    arm = np.sqrt(0.5) * np.array([np.sin(tilt), -np.cos(tilt)])
    rows, tangents = np.zeros((1, 2, 3)), np.zeros((1, 1, 2, 3))
    rows[0, 1], tangents[0, 0, 1] = [0.0, 1.0, arm[0]], [1.0, 0.0, -arm[1]]
    return carom.ImpactProblem.from_blocks(
        [[1.0, 1.0, 1.0 / 6.0]], [[-1, 0]], rows, [[0.0, -speed, 0.0]], tangents=tangents, friction=0.5, restitution=0.5
    )


def test_every_place_has_the_same_default():
    assert DEFAULT_FRICTION == families.DEFAULT_FRICTION == "cone"
    assert Response.of("gr").friction_name == Response.for_run("qce").friction_name == "cone"
    assert Response.of("etm").friction_name == "own"


def test_friction_acts_in_a_rack():
    """The impact makes discs slip that did not slip before; the fixed direction does not see that."""
    smooth = carom.solve_impact(rack(0.0), "gr").velocity
    rough = carom.solve_impact(rack(1.0), "gr")
    assert rough.status == "resolved" and np.abs(rough.velocity - smooth).max() > 0.1
    np.testing.assert_allclose(carom.solve_impact(rack(1.0), "gr", friction_model=FIXED).velocity, smooth, atol=1e-12)


@pytest.mark.parametrize("tilt", [0.1, 0.2, 0.3])
def test_a_cube_that_lands_on_an_edge_sticks(tilt):
    """With s, c = sin, cos of the tilt, A = [[1 + 3 s^2, 3 s c], [3 s c, 1 + 3 c^2]] for normal and tangent, det A = 4.

    The edge leaves at e v and does not slip: lam = (1 + e) v (1 + 3 c^2) / 4, and |beta| = (1 + e) v 3 s c / 4 is less
    than mu lam. Without friction, which is what the fixed direction gives, lam = (1 + e) v / (1 + 3 s^2).
    """
    speed, s, c = 2.0, np.sin(tilt), np.cos(tilt)
    assert 3 * s * c < 0.5 * (1 + 3 * c * c)
    problem = cube_on_an_edge(tilt, speed)
    solution, fixed = carom.solve_impact(problem, "gr"), carom.solve_impact(problem, "gr", friction_model=FIXED)
    assert solution.velocity[0, 1] == pytest.approx(1.5 * speed * (1 + 3 * c * c) / 4 - speed, abs=1e-10)
    assert fixed.velocity[0, 1] == pytest.approx(1.5 * speed / (1 + 3 * s * s) - speed, abs=1e-10)
    assert solution.velocity[0, 1] > fixed.velocity[0, 1] + 0.01


def test_the_audit_has_a_verdict_on_coulombs_law():
    """Pass for Coulomb's law; fail for a model that leaves a slip without friction, with the size of that slip."""
    problem = cube_on_an_edge(0.3)
    verdict = {}
    for model in ("cone", "pyramid", FIXED):
        audit = carom.solve_impact(problem, "gr", friction_model=model).audit()
        verdict[model] = next(m for m in audit.measures if m.name == "Coulomb residual")
        assert audit.passed == verdict[model].passed
    assert verdict["cone"].passed and verdict["pyramid"].passed
    assert not verdict[FIXED].passed and verdict[FIXED].value > 0.1
    assert all(m.bound for m in verdict.values())


@pytest.mark.parametrize("lesson", ["rack", "bernoulli"])
def test_the_slider_of_the_play_page_acts(lesson):
    """From no friction to much: velocities change, and discs turn."""

    def velocity(friction):
        data = impact_answer({"scene": lesson, "laws": ["gr"], "parameters": {"friction": friction}})
        return np.array(data["results"][0]["velocity"])

    little, much = velocity(0.01), velocity(0.5)
    assert np.abs(velocity(0.0)[:, :2] - much[:, :2]).max() > 0.01
    assert np.abs(much[:, 2]).max() > np.abs(little[:, 2]).max() > 1e-3


@pytest.mark.parametrize(("model", "speed"), [(None, 0.96), ("pyramid", 0.96), ("coulomb_fixed_direction", 0.50)])
def test_a_cube_on_its_edge_sticks_by_default(model, speed):
    """Tilted by 0.5 rad, falling at 2.34 without slip: the fixed direction has none, and leaves it frictionless.

    With lever arms a and b of the edge, sticking gives (1/2 - 9/4 a^2) of the speed, no friction 3/2 / (1 + 6 a^2) - 1.
    """
    turn = np.array([[np.cos(0.5), 0.0, np.sin(0.5)], [0.0, 1.0, 0.0], [-np.sin(0.5), 0.0, np.cos(0.5)]])
    edge = np.array([[0.5, -0.5, -0.5], [0.5, 0.5, -0.5]]) @ turn.T
    problem = carom.ImpactProblem.from_contacts(
        masses=[1.0], inertias=[np.eye(3) / 6.0], positions=[[0.0] * 3], velocities=[[0.0, 0.0, -2.34, 0.0, 0.0, 0.0]],
        bodies=[[-1, 0]] * 2, points=edge, normals=[[0.0, 0.0, 1.0]] * 2, restitution=0.5, friction=0.5,
    )  # fmt: skip
    after = carom.solve_impact(problem, "gr", friction_model=model).velocity.ravel()[2]
    a = edge[0, 0]
    exact = 0.5 - 2.25 * a**2 if speed > 0.9 else 1.5 / (1.0 + 6.0 * a**2) - 1.0
    assert after == pytest.approx(2.34 * exact, rel=1e-9) and round(after, 2) == speed
