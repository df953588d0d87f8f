"""Sliding and rolling against their closed forms, and convergence with the step."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import scenes

G = 10.0  # gravity of the scenes


def slide(t, mu, slope, speed):
    """Distance and speed down the slope of a block thrown at `speed`; it stays where it stops if it can."""
    gain = G * (np.sin(slope) - mu * np.cos(slope))
    stop = -speed / gain if gain < 0.0 else np.inf
    t = np.minimum(t, stop)
    return speed * t + 0.5 * gain * t**2, speed + gain * t


def slide_then_roll(t, mu, speed, radius=0.5):
    """Distance, speed and spin of a disc thrown along the level without spin."""
    start = speed / (3.0 * mu * G)
    sliding = np.minimum(t, start)
    distance = speed * sliding - 0.5 * mu * G * sliding**2 + 2.0 / 3.0 * speed * np.maximum(t - start, 0.0)
    return distance, speed - mu * G * sliding, -2.0 * mu * G / radius * sliding


def down(slope):
    return np.array([np.cos(slope), -np.sin(slope)])


def run_at(scene):
    return carom.simulate(scene, frame_rate=1.0 / scene.step)


@pytest.mark.parametrize(
    ("mu", "angle", "speed"),
    [
        (0.1, 0.0, 1.5),
        pytest.param(0.3, 10.0, 1.0, marks=pytest.mark.long),
        (0.3, 30.0, 0.5),
        pytest.param(0.0, 20.0, 0.0, marks=pytest.mark.long),
    ],
)
def test_block(mu, angle, speed):
    """Speeds agree to the tolerance of the solve; places are of second order, and exact until the step it stops in."""
    h, slope = 1e-3, np.radians(angle)
    run = run_at(scenes.sliding_block(mu=mu, angle=angle, speed=speed, step=h))
    distance, v = slide(run.time, mu, slope, speed)
    np.testing.assert_allclose(run.velocities[:][:, 0] @ down(slope), v, atol=1e-8)
    error = run.positions[:][:, 0] @ down(slope) - distance
    # In the step in which it stops, the mean of the two speeds is off by at most half the change of speed.
    assert np.abs(error).max() <= 0.5 * h * np.abs(np.diff(v)).max() + 1e-9
    np.testing.assert_allclose(run.spins[:], 0.0, atol=1e-8)


def test_disc_converges_with_the_square_of_the_step():
    """Sliding is exact; the error is that of the step in which it begins to roll."""

    def error(h):
        run = run_at(scenes.rolling_disc(mu=0.3, speed=3.0, step=h))
        return np.abs(run.positions[:][:, 0, 0] - slide_then_roll(run.time, 0.3, 3.0)[0]).max()

    errors = np.array([error(h) for h in (4e-3, 2e-3, 1e-3)])
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4.0, rtol=0.05)


@pytest.mark.parametrize(("angle", "slides"), [(16.0, False), (17.5, True)])
def test_block_on_a_slope_starts_at_the_angle_of_friction(angle, slides):
    """mu = 0.3 holds up to 16.70 degrees."""
    run = run_at(scenes.sliding_block(mu=0.3, angle=angle, speed=0.0, step=4e-3))
    moved = np.hypot(*(run.positions[-1][0] - run.positions[0][0]))
    assert moved > 0.1 if slides else moved < 1e-9


def test_disc_slides_then_rolls():
    h, mu, speed = 1e-3, 0.3, 3.0
    run = run_at(scenes.rolling_disc(mu=mu, speed=speed, step=h))
    distance, v, spin = slide_then_roll(run.time, mu, speed)
    np.testing.assert_allclose(
        run.velocities[:][:, 0, 0], v, atol=2 * mu * G * h
    )  # the step in which it begins to roll
    np.testing.assert_allclose(run.spins[:][:, 0], spin, atol=4 * mu * G * h)
    assert np.abs(run.positions[:][:, 0, 0] - distance).max() <= 1e-3
    assert run.velocities[-1][0, 0] == pytest.approx(2.0 / 3.0 * speed, abs=1e-9)
    assert run.spins[-1][0] == pytest.approx(-4.0 / 3.0 * speed, abs=1e-9)  # v / r, to the right


@pytest.mark.parametrize("angle", [10.0, 40.0, 50.0])
def test_disc_down_a_slope(angle):
    """mu = 0.3 lets it roll up to tan = 3 mu, that is 41.99 degrees; beyond, it slides and spins up."""
    mu, slope = 0.3, np.radians(angle)
    run = run_at(scenes.rolling_disc(mu=mu, angle=angle, speed=0.0, step=2e-3))
    rolls = np.tan(slope) <= 3.0 * mu
    gain = 2.0 / 3.0 * G * np.sin(slope) if rolls else G * (np.sin(slope) - mu * np.cos(slope))
    turning = -gain / 0.5 if rolls else -2.0 * mu * G * np.cos(slope) / 0.5
    np.testing.assert_allclose(run.velocities[:][:, 0] @ down(slope), gain * run.time, atol=1e-8)
    np.testing.assert_allclose(run.spins[:][:, 0], turning * run.time, atol=1e-8)


def test_backspin_brings_the_disc_back():
    """Thrown at v with backspin w: it rolls at (2 v - r w) / 3 in the end, here to the left."""
    run = run_at(scenes.rolling_disc(mu=0.3, speed=1.0, spin=10.0, step=2e-3))
    assert run.velocities[-1][0, 0] == pytest.approx((2.0 * 1.0 - 0.5 * 10.0) / 3.0, abs=1e-9)
    assert run.velocities[-1][0, 0] == pytest.approx(-0.5 * run.spins[-1][0], abs=1e-9)
