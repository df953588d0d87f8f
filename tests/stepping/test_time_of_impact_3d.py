"""The time-of-impact step in 3D: impacts at their exact times, nothing tunnels, piles still rest."""

from __future__ import annotations

import numpy as np
import pytest

from carom.build import build
from carom.contact.detector import find_contacts
from carom.resolve.response import Response
from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Container, Plane
from carom.scene.shapes import Box, Sphere
from carom.stepping.time_of_impact import TimeOfImpact

STILL = (0.0, 0.0, 0.0)


def engine_of(bodies, boundaries=(), *, step, gravity=STILL, restitution=1.0, friction=0.0, law="gr"):
    materials = {"default": Material(restitution, friction)}
    scene = Scene("s", bodies, boundaries, gravity=gravity, step=step, materials=materials)
    world, state = build(scene)
    response = Response.for_run(law, scene.restitution_model, scene.friction_model)
    return TimeOfImpact(world, response, step), state


def ball(place, velocity=STILL, radius=0.1, **more):
    return Bodies(Sphere(radius), np.array([place], dtype=float), velocity=np.array([velocity], dtype=float), **more)


def test_a_bouncing_ball_by_closed_form():
    """Elastic, from 0.9 above rest: after 11 bounces the parabola is met to 1e-7, with steps of an eighth of a hop."""
    step, g, height = 0.05, 9.81, 0.9
    engine, state = engine_of([ball((0, 0, 1.0), (0.3, 0, 0))], [Plane()], step=step, gravity=(0, 0, -g))
    half = np.sqrt(2.0 * height / g)
    for _ in range(100):
        state, _ = engine.step(state)
        phase = (state.time + half) % (2.0 * half) - half
        # Each impact is timed to a gap of 1e-9 radii: a time of 1e-10 / 4, which adds up over the bounces.
        np.testing.assert_allclose(state.position[0], [0.3 * state.time, 0.0, 1.0 - 0.5 * g * phase**2], atol=1e-7)
    assert state.time > 10.0 * half


def test_balls_in_a_row_by_events():
    """Equal elastic balls on a line exchange velocities: places are those of free motion, sorted."""
    x, v = np.array([0.0, 1.0, 1.7, 3.1, 4.0]), np.array([7.0, -3.0, 2.0, 0.0, -9.0])
    bodies = [ball((a, 0, 0), (b, 0, 0)) for a, b in zip(x, v)]
    engine, state = engine_of(bodies, step=0.13)
    impacts = 0
    for _ in range(10):
        state, report = engine.step(state)
        impacts += report.rounds
        flown = np.sort(x - 0.2 * np.arange(5) + v * state.time) + 0.2 * np.arange(5)
        np.testing.assert_allclose(state.position[:, 0], flown, atol=1e-8)
    assert impacts == 8  # pairs that cross: 0 with all, 1 with 4, 2 with 3 and 4, 3 with 4
    np.testing.assert_array_equal(state.position[:, 1:], 0.0)


@pytest.mark.parametrize("speed", [30.0, 1e3, 1e5])
def test_a_ball_between_thin_plates(speed):
    """It stays between two plates of 0.01, whatever its speed, and comes as far as straight flights folded back."""
    plate = Bodies(Box((2.0, 2.0, 0.01)), np.array([(0, 0, 0.0), (0, 0, 1.0)]), mass=1e9)
    engine, state = engine_of([plate, ball((0.0, 0.0, 0.4), (0, 0, speed))], step=0.01 * 30.0 / speed * 7.0)
    room = 1.0 - 0.01 - 0.2
    for _ in range(4):
        state, _ = engine.step(state)
        z = (0.4 - 0.105 + speed * state.time) % (2.0 * room)
        assert state.position[2, 2] == pytest.approx(0.105 + min(z, 2.0 * room - z), abs=1e-5)
    assert abs(state.velocity[2, 2]) == pytest.approx(speed, rel=1e-6)


def test_a_gas_keeps_energy_and_stays_apart():
    """Elastic spheres that cross several radii a step, in a container: energy to rounding, no overlap at any step."""
    rng = np.random.default_rng(1)
    place = np.stack(np.unravel_index(np.arange(18), (3, 3, 2)), axis=1) * 0.5 + 0.3
    velocity = rng.normal(size=(18, 3)) * 4.0
    bodies = [Bodies(Sphere(0.1), place, velocity=velocity)]
    engine, state = engine_of(bodies, [Container((0, 0, 0), (1.6, 1.6, 1.2))], step=0.05)
    energy, impacts = (velocity**2).sum(), 0
    for _ in range(20):
        state, report = engine.step(state)
        impacts += report.rounds
        assert (state.velocity[:, :3] ** 2).sum() == pytest.approx(energy, rel=1e-12)
        found = find_contacts(engine.world, state, state, 0.0)
        assert found.count == 0 or found.gap.min() > -1e-9
    assert impacts > 60


def test_a_box_falls_and_comes_to_rest():
    """Restitution 0.3 and friction: it bounces, then lies still, and overlaps by less than 1e-3 of its half width."""
    box = Bodies(Box((0.2, 0.2, 0.2)), np.array([(0.0, 0.0, 0.4)]), velocity=np.array([(0.2, 0.0, 0.0)]))
    engine, state = engine_of(
        [box], [Plane()], step=0.01, gravity=(0, 0, -9.81), restitution=0.3, friction=0.5, law="qce"
    )
    for _ in range(150):
        state, report = engine.step(state)
        assert report.overlap < 1e-3 * 0.1
    np.testing.assert_allclose(state.velocity, 0.0, atol=1e-9)
    assert state.position[0, 2] == pytest.approx(0.1, abs=1e-4)


def test_a_step_with_too_many_impacts_ends():
    """A ball that rattles in a slot as wide as itself, 1e5 times a step: the rest of the step is a drift-safe one."""
    slot = [Plane(), Plane((0, 0, 0.2 + 1e-6), (0, 0, -1.0))]
    engine, state = engine_of([ball((0, 0, 0.1 + 5e-7), (0, 0, 1.0))], slot, step=0.1)
    state, report = engine.step(state)
    assert report.rounds >= 204
    assert abs(state.position[0, 2] - 0.1) < 0.01
    assert state.time == pytest.approx(0.1)
