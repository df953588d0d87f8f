"""Rolling and torsional friction against closed forms, for a disc and a sphere of radius r on a plane.

With J = k m r^2 (k = 1/2 for the disc, 2/5 for the sphere), the coefficient c and the normal force N = m g cos(angle):
rolling without slip has `m a = m g sin(angle) + F` and `J a / r = -F r - c N`, and therefore the acceleration
`a = g (sin(angle) - c / r cos(angle)) / (1 + k)`; at rest the torque balances `m g r sin(angle)` up to `c N`; a spin w
about the normal has `J w' = -c N`. Steps are exact for constant accelerations, so bounds are those of the contact
solver at tolerance "exact": 1e-10 of the fastest speed in each step, times the number of steps that may add it up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.solvers import test_contact

import carom
from carom import scenes
from carom.analysis.checks import check_run
from carom.errors import ProblemError
from carom.geometry.rotations import turned
from carom.scene import Bodies, Disc, Material, Plane, Rectangle, Scene, Sphere

G, RADIUS, SPEED, STEP = 10.0, 0.5, 3.0, 1e-3
K = {2: 0.5, 3: 0.4}  # moment of inertia over m r^2
# Contacts with friction torques have kernels of their own, which take long to compile. Scenes of the library have those
# of space; those of the plane run uncompiled in `test_in_the_plane`.
DIMENSIONS = pytest.mark.parametrize("dimension", [pytest.param(2, marks=pytest.mark.long), 3])


def rolling(dimension, c, speed=SPEED, angle=0.0, **more) -> Scene:
    """The body rolls without slip from the start."""
    if dimension == 2:
        return scenes.rolling_disc(mu=0.5, angle=angle, speed=speed, spin=-speed / RADIUS, rolling=c, step=STEP, **more)
    spin = (0.0, speed / RADIUS, 0.0)
    return scenes.rolling_sphere(mu=0.5, angle=angle, speed=speed, spin=spin, rolling=c, step=STEP, **more)


def run_of(scene, duration=1.0):
    """The run to rounding errors, which must pass its own checks: energy, overlap, residuals."""
    run = carom.simulate(scene, duration=duration, frame_rate=100.0, tolerance="exact")
    assert all(c.passed is not False for c in check_run(run)), [c for c in check_run(run) if c.passed is False]
    return run


def along(run, angle=0.0):
    """Velocities and places of body 0 down the slope, at every frame."""
    a = np.radians(angle)
    down = np.array([np.cos(a), -np.sin(a)]) if run.dimension == 2 else np.array([np.cos(a), 0.0, -np.sin(a)])
    return run.velocities[:][:, 0] @ down, (run.positions[:][:, 0] - run.positions[0, 0]) @ down


def world_spins(run):
    q, spin = np.asarray(run.orientations)[:, 0], np.asarray(run.spins)[:, 0]
    return turned(np.ascontiguousarray(q), np.ascontiguousarray(spin))


@pytest.mark.covering
@DIMENSIONS
@pytest.mark.parametrize("c", [0.001, 0.02, 0.1])
def test_rolling_on_the_level_slows_down_uniformly(dimension, c):
    slows_down_uniformly(dimension, c)


def slows_down_uniformly(dimension, c, duration=1.0):
    run = run_of(rolling(dimension, c), duration)
    rate = c * G / (RADIUS * (1.0 + K[dimension]))
    v, x = along(run)
    np.testing.assert_allclose(v, SPEED - rate * run.time, atol=1e-7)
    np.testing.assert_allclose(x, SPEED * run.time - 0.5 * rate * run.time**2, atol=1e-7)
    spin = -np.asarray(run.spins)[:, 0] if dimension == 2 else world_spins(run)[:, 1]
    np.testing.assert_allclose(spin, v / RADIUS, atol=1e-7)  # it still rolls without slip


@DIMENSIONS
def test_it_stops_and_stays(dimension):
    """It ends after v / a at the distance v^2 / 2a; the step in which it stops moves it by at most v h too far."""
    c, speed = 0.1, 1.0
    rate = c * G / (RADIUS * (1.0 + K[dimension]))
    run = run_of(rolling(dimension, c, speed))
    v, x = along(run)
    assert speed / rate < 0.8
    rest = run.time > speed / rate + STEP
    assert np.abs(v[rest]).max() <= 1e-9 and np.ptp(x[rest]) <= 1e-9
    assert x[-1] == pytest.approx(0.5 * speed**2 / rate, abs=rate * STEP**2)


@DIMENSIONS
@pytest.mark.parametrize("angle", [4.0, 20.0])
def test_rolling_starts_where_the_slope_is_steep_enough(dimension, angle):
    """Up to tan(angle) = c / r it stays at rest, beyond that it rolls with the acceleration of the closed form."""
    slope = np.radians(angle)
    limit = RADIUS * np.tan(slope)
    held = run_of(rolling(dimension, 1.001 * limit, 0.0, angle), 0.5)
    v, x = along(held, angle)
    assert np.abs(v).max() <= 1e-9 and np.abs(x).max() <= 1e-9
    for c in (0.999 * limit, 0.5 * limit):
        run = run_of(rolling(dimension, c, 0.0, angle), 0.5)
        rate = G * (np.sin(slope) - c / RADIUS * np.cos(slope)) / (1.0 + K[dimension])
        np.testing.assert_allclose(along(run, angle)[0], rate * run.time, atol=1e-7)


def test_a_sphere_rolls_straight_in_any_direction():
    """The bound is a disk: a pyramid would slow the oblique path down more, and turn it."""
    c, course = 0.05, np.radians(30.0)
    scene = rolling(3, c)
    (ball,) = scene.bodies
    way = np.array([np.cos(course), np.sin(course), 0.0])
    axis = np.array([-np.sin(course), np.cos(course), 0.0])
    ball = Bodies(ball.shape, ball.position, SPEED * way, spin=SPEED / RADIUS * axis)
    run = run_of(scene.with_(bodies=[ball]))
    rate = c * G / (RADIUS * (1.0 + K[3]))
    np.testing.assert_allclose(run.velocities[:][:, 0], (SPEED - rate * run.time)[:, None] * way, atol=1e-7)


def test_a_spin_about_the_vertical_ends_by_torsional_friction():
    """After w J / (c m g), with J = 2/5 m r^2; rolling friction does not act on it."""
    c, spin = 0.04, 5.0
    stop = spin * 0.4 * RADIUS**2 / (c * G)
    for rolling_too in (0.0, 0.03):
        scene = scenes.rolling_sphere(speed=0.0, spin=(0.0, 0.0, spin), rolling=rolling_too, torsional=c, step=STEP)
        run = run_of(scene, 2.0)
        assert stop < 1.5
        w = world_spins(run)
        np.testing.assert_allclose(w[:, 2], spin * np.clip(1.0 - run.time / stop, 0.0, None), atol=1e-7)
        assert np.abs(w[:, :2]).max() <= 1e-9 and np.abs(run.velocities[:]).max() <= 1e-9


def test_without_coefficients_neither_motion_ends():
    run = run_of(scenes.rolling_sphere(speed=SPEED, spin=(0.0, SPEED / RADIUS, 7.0), step=STEP))
    np.testing.assert_allclose(run.velocities[-1, 0], [SPEED, 0.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(world_spins(run)[-1], [0.0, SPEED / RADIUS, 7.0], atol=1e-7)


@pytest.mark.long
def test_the_torque_acts_on_both_bodies():
    torque_acts_on_both_bodies()


def torque_acts_on_both_bodies(duration=0.5):
    """A disc rolls on a plank that slides freely: friction and rolling friction are internal, momentum is conserved.

    With plank mass M, `m a = F`, `M A = -F`, no slip `a - A = r w'` and `J w' = -F r - c N` give
    `a - A = -(c g / r) / (k + 1 / (1 + m / M))`.
    """
    c, m, plank = 0.05, 1.0, 3.0
    disc = Bodies(Disc(RADIUS), [0.0, 0.2 + RADIUS], (1.0, 0.0), spin=-1.0 / RADIUS, mass=m, material="disc")
    board = Bodies(Rectangle(8.0, 0.2), [0.0, 0.1], mass=plank, material="plank")
    materials = {"disc": Material(0.0, 0.8, rolling_friction=c), "plank": Material(0.0, 0.8, rolling_friction=c)}
    ice = {"ice": Material(0.0, 0.0)}
    scene = Scene(
        "plank", [disc, board], [Plane(material="ice")], materials=materials | ice, gravity=(0.0, -G), step=STEP
    )
    run = run_of(scene, duration)
    assert np.abs(run.momentum[:, 0] - m).max() <= 1e-13 * m * 500  # one rounding error per step
    rate = c * G / RADIUS / (0.5 + 1.0 / (1.0 + m / plank))
    relative = run.velocities[:][:, 0, 0] - run.velocities[:][:, 1, 0]
    np.testing.assert_allclose(relative, 1.0 - rate * run.time, atol=1e-6)


def in_the_plane():
    test_contact.compare_residuals(2, True, 1e-5, range(2))
    test_contact.test_rolling_friction_stops_a_sphere_that_rolls_slowly(2)
    slows_down_uniformly(2, 0.1, 0.05)
    torque_acts_on_both_bodies(0.02)


def test_in_the_plane():
    """The contact solver, and a disc on the ground and on a plank, with kernels that are not compiled."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", "from tests.scenes.test_scenes_rolling import in_the_plane; in_the_plane()"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def heap(dimension, c) -> Scene:
    """Grains of radius 0.1 in a loose column that falls apart; `c` in radii."""
    r, base = 0.1, (4,) if dimension == 2 else (3, 3)
    rows = 10 if dimension == 2 else 6
    places = 2.6 * r * np.array([(*place, k) for k in range(rows) for place in np.ndindex(*base)], dtype=float)
    places[:, :-1] -= places[:, :-1].mean(axis=0)
    places += r * np.random.default_rng(1).uniform(-0.25, 0.25, places.shape)
    places[:, -1] += 1.3 * r
    shape = Disc(r) if dimension == 2 else Sphere(r)
    torsional = {} if dimension == 2 else {"torsional_friction": c * r}
    material = Material(0.0, 0.5, rolling_friction=c * r, **torsional)
    gravity = (0.0,) * (dimension - 1) + (-G,)
    return Scene(
        "heap", [Bodies(shape, places)], [Plane()], materials={"default": material}, gravity=gravity, step=5e-3
    )


@pytest.mark.long
@DIMENSIONS
def test_grains_with_rolling_friction_pile_up(dimension):
    """Grains that roll for ever leave no heap; with rolling friction they come to rest in a steeper one.

    Steepness is the mean height over the rms distance. It was at least 3 times larger in every run measured; how
    one collapse ends is chance, so that the two coefficients are not compared with each other.
    """
    steepness, kinetic = [], []
    for c in (0.0, 0.1, 0.3):
        run = carom.simulate(heap(dimension, c), duration=7.0)
        place = np.asarray(run.positions[-1])
        steepness.append(place[:, -1].mean() / np.sqrt((place[:, :-1] ** 2).sum(axis=1).mean()))
        kinetic.append(run.kinetic[-1] / run.kinetic.max())
    assert min(steepness[1:]) >= 2.0 * steepness[0], steepness
    assert kinetic[0] > 1e-2 and max(kinetic[1:]) < 1e-6, kinetic  # one still rolls, the others have come to rest


def test_a_stepper_without_resting_contact_is_refused():
    with pytest.raises(ProblemError, match=r"stepper.*synchronous.*resting solve"):
        carom.simulate(rolling(2, 0.1), stepper="synchronous")
