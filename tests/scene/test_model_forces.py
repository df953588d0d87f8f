"""Forces besides gravity: drag and the cloth of a table against closed forms, and the potential of a force."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stepping.runs import disc

from carom.build import build
from carom.errors import ProblemError
from carom.scene import Scene
from carom.scene.file import parse_toml, scene_to_toml
from carom.simulation import simulate


def one(**more) -> Scene:
    """A disc of mass 2 that moves at the velocity (3, 4)."""
    return Scene("s", [disc(0.0, 0.0, 3.0, 4.0, mass=2.0)], step=0.001, duration=1.0, **more)


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
def test_linear_and_quadratic_drag(stepper):
    """`v = v0 exp(-c t / m)` and `v = v0 / (1 + k |v0| t / m)`; Verlet is of second order, 1e-6 at this step."""
    run = simulate(one(linear_drag=0.8, stepper=stepper), "gr", 1.0)
    np.testing.assert_allclose(run.velocities[-1][0], np.array([3.0, 4.0]) * np.exp(-0.4), rtol=2e-6)
    distance = np.array([3.0, 4.0]) * 2.0 / 0.8 * (1 - np.exp(-0.4))
    np.testing.assert_allclose(run.positions[-1][0], distance, rtol=2e-6)
    run = simulate(one(quadratic_drag=0.8, stepper=stepper), "gr", 1.0)
    np.testing.assert_allclose(run.velocities[-1][0], np.array([3.0, 4.0]) / 3.0, rtol=1e-5)


def test_cloth_stops_a_ball_at_rest():
    """Constant deceleration: distance `v^2 / (2 a)`, then rest. The last speeds halve in each step."""
    run = simulate(one(sliding_deceleration=10.0), "gr", 1.0)
    np.testing.assert_allclose(run.positions[-1][0], np.array([0.6, 0.8]) * 25.0 / 20.0, atol=2e-5)
    assert np.abs(run.velocities[-1]).max() <= 1e-12
    speed = np.linalg.norm(run.velocities[:, 0], axis=1)
    early = run.time < 0.45
    np.testing.assert_allclose(speed[early], 5.0 - 10.0 * run.time[early], atol=1e-9)


def test_drag_in_a_file():
    s = one(linear_drag=0.1, quadratic_drag=0.2, sliding_deceleration=0.3)
    again = parse_toml(scene_to_toml(s))
    assert (again.linear_drag, again.quadratic_drag, again.sliding_deceleration) == (0.1, 0.2, 0.3)
    np.testing.assert_array_equal(simulate(again, "gr", 0.05).velocities[-1], simulate(s, "gr", 0.05).velocities[-1])


def test_the_step_of_the_run_counts_for_the_cloth():
    """A coarser step than that of the scene must not reverse the velocity."""
    run = simulate(one(sliding_deceleration=100.0), "gr", 1.0, step=0.05)
    assert (run.velocities[:, 0] >= -1e-12).all()


def test_energy_with_the_potential_of_a_force():
    """A spring to the origin: kinetic energy alone oscillates, the sum is kept to the second order of the step."""
    spring = {"force": lambda t, q, v: -50.0 * q, "potential": lambda t, q: 25.0 * (q**2).sum(axis=1)}
    run = simulate(one(**spring), "gr", 1.0)
    assert np.ptp(run.steps["kinetic"]) > 10.0
    assert np.ptp(run.energy) <= 1e-3 * run.energy[0]
    bare = simulate(one(force=spring["force"]), "gr", 1.0)
    assert np.ptp(bare.energy) > 10.0


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"linear_drag": -1.0}, "linear_drag", "0"),
        ({"quadratic_drag": np.nan}, "quadratic_drag", "number"),
        ({"sliding_deceleration": "slow"}, "sliding_deceleration", "number"),
        ({"potential": lambda t, q: q[:, 0]}, "potential", "beside a force"),
        ({"potential": 3.0, "force": lambda t, q, v: 0 * q}, "potential", "function"),
    ],
)
def test_bad_forces(more, field, words):
    with pytest.raises(ProblemError) as refused:
        build(one(**more))
    assert refused.value.field == field
    assert words in str(refused.value)


def test_a_potential_of_the_wrong_shape():
    with pytest.raises(ProblemError, match="potential: got shape"):
        simulate(one(force=lambda t, q, v: 0 * q, potential=lambda t, q: q), "gr", 0.1)
