"""Sensors against closed forms: a bouncing ball, bodies that fall through a plane, one impact of a pair."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.analysis.sensors import BoundaryForce, Flow, Stress, mean_and_error
from carom.errors import ProblemError
from carom.scene.boundaries import Plane
from carom.scene.model import Bodies, Material, Scene
from carom.scene.shapes import Disc, Rectangle, Sphere


def test_the_mean_force_on_a_floor_is_the_weight():
    """An elastic ball over whole periods of its bounce."""
    fall = np.sqrt(2.0 * 1.0 / 10.0)
    ball = Bodies(Sphere(0.5), np.array([[0.0, 0.0, 1.5]]), mass=3.0)
    scene = Scene("ball", [ball], [Plane()], gravity=(0.0, 0.0, -10.0), materials={"default": Material(1.0)})
    sim = carom.Simulation(scene, stepper="time_of_impact", step=fall / 5.0)
    sensor = BoundaryForce(sim.world, 0)
    for _ in range(10 * 6):
        sim.step()
        sensor.add(sim.state, sim.impulses, sim.time_step)
    assert sensor.mean == pytest.approx([0.0, 0.0, -30.0], rel=1e-9)
    assert sensor.series.shape == (60, 3) and sensor.error[2] < 20.0
    with pytest.raises(ProblemError, match="boundary: got 1"):
        BoundaryForce(sim.world, 1)


def test_flow_counts_bodies_and_mass_and_those_that_return():
    rain = Bodies(Disc(0.1), np.array([[float(k), 1.0 + k] for k in range(4)]), (0.0, -2.0), mass=0.5)
    sim = carom.Simulation(Scene("rain", [rain], []), stepper="time_of_impact", step=0.25)
    sensor = Flow(sim.world, (0.0, 0.0), (0.0, -1.0), sim.state)
    back = Flow(sim.world, (0.0, 0.0), (0.0, 1.0), sim.state)
    for _ in range(5):  # until 1.25: those from 1 and 2 have passed
        sim.step()
        for one in (sensor, back):
            one.add(sim.state, sim.impulses, sim.time_step)
    assert sensor.mean * 1.25 == pytest.approx([2.0, 1.0]) and back.mean == pytest.approx(-sensor.mean)


def test_the_stress_of_one_impact_by_hand():
    pair = Bodies(Disc(0.5), np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), mass=2.0)
    sim = carom.Simulation(Scene("pair", [pair], []), stepper="time_of_impact", step=1.0)
    sensor = Stress(sim.world, 8.0)
    sim.step()
    sensor.add(sim.state, sim.impulses, 1.0)
    # Kinetic part 2 * 2 * 1, and an impulse of 4 over a distance of 1.
    assert sensor.mean == pytest.approx(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert sensor.pressure[0] == pytest.approx(0.5)
    box = Bodies(Rectangle(1.0, 1.0), np.array([[0.0, 0.0]]))
    with pytest.raises(ProblemError, match="discs or spheres"):
        Stress(carom.Simulation(Scene("box", [box], [])).world, 1.0)
    with pytest.raises(ProblemError, match="at least one step"):
        _ = Stress(sim.world, 1.0).mean


def test_the_standard_error_of_independent_numbers():
    numbers = np.random.default_rng(0).normal(size=20_000)
    mean, error = mean_and_error(numbers)
    assert error == pytest.approx(20_000**-0.5, rel=0.7) and abs(mean) < 4.0 * error
