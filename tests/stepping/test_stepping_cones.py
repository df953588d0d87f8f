"""Cones on the ground: standing, falling flat on their base, and rolling about their tip."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.geometry.rotations import matrices, of_vector
from carom.scene import Bodies, Box, Cone, Material, Plane, Scene
from carom.scene.motion import FIXED

GRAVITY = 10.0
SHAPES = [Cone(0.5, 1.2), Cone(0.5, 0.8, 0.3), Cone(0.3, 0.8, 0.5)]
NAMES = ["cone", "frustum", "inverted frustum"]


def base_height(cone):
    """Height of the center of mass over the base: the centroid of the slices."""
    r, t = cone.radius, cone.top_radius
    return cone.length * (r * r + 2.0 * r * t + 3.0 * t * t) / (4.0 * (r * r + r * t + t * t))


def ran(bodies, duration, material, step=0.005, **options):
    ground = Plane() if len(bodies) == 1 else Plane((0.0, 0.0, -5.0))
    scene = Scene(
        "cone",
        bodies,
        [ground],
        gravity=(0.0, 0.0, -GRAVITY),
        materials={"default": material},
        step=step,
        duration=duration,
    )
    return carom.simulate(scene, **options)


@pytest.mark.covering
@pytest.mark.parametrize("on_a_box", [False, True], ids=["ground", "box"])
@pytest.mark.parametrize("cone", SHAPES, ids=NAMES)
def test_a_cone_stands_on_its_base(cone, on_a_box):
    bodies = [Bodies(cone, [[0.1, -0.2, base_height(cone)]])]
    if on_a_box:
        bodies.append(Bodies(Box((4.0, 4.0, 1.0)), [[0.0, 0.0, -0.5]], motion=FIXED))
    run = ran(bodies, 0.5, Material(0.3, 0.5), stepper="drift_safe")
    assert run.last.position[0] == pytest.approx([0.1, -0.2, base_height(cone)], abs=1e-7)
    assert matrices(run.last.orientation[:1])[0] == pytest.approx(np.eye(3), abs=1e-7)
    assert np.abs(run.last.velocity[0]).max() < 1e-6


@pytest.mark.covering
@pytest.mark.parametrize("restitution", [0.5, 1.0])
@pytest.mark.parametrize("cone", SHAPES, ids=NAMES)
def test_a_cone_that_falls_flat_on_its_base_bounces_straight_up(cone, restitution):
    """Its eight contacts share the impulse equally under gr: the upward speed is the downward one times restitution."""
    drop = 0.2
    fall = np.sqrt(2.0 * drop / GRAVITY)
    start = Bodies(cone, [[0.0, 0.0, base_height(cone) + drop]])
    run = ran([start], fall + 0.05, Material(restitution, 0.4), step=0.001, law="gr", stepper="synchronous")
    speed = restitution * GRAVITY * fall - GRAVITY * 0.05
    assert run.last.velocity[0, 2] == pytest.approx(speed, abs=0.03)  # the impact is up to a step late
    assert np.abs(run.last.velocity[0, [0, 1, 3, 4, 5]]).max() < 1e-10
    assert np.abs(run.last.position[0, :2]).max() < 1e-10


@pytest.mark.parametrize("on_a_box", [False, True], ids=["ground", "box"])
def test_a_cone_on_its_side_rolls_about_its_tip(on_a_box):
    """Rolling without slipping, the tip stays and the axis turns about the vertical at a constant rate W.

    The cone turns about the line of contact at the angular speed W cot a, with a half of its opening angle: the
    center of mass, 3/4 of the length from the tip, then moves at W 3/4 length cos a.
    """
    cone, rate = Cone(0.4, 1.0), 1.0
    a = np.arctan2(cone.radius, cone.length)
    arm, slope = 0.75 * cone.length, np.array([np.cos(a), 0.0, np.sin(a)])
    roller = Bodies(
        cone,
        [arm * slope],
        orientation=of_vector(np.array([[0.0, -(0.5 * np.pi + a), 0.0]]))[0],
        velocity=(0.0, rate * arm * np.cos(a), 0.0),
        spin=(-rate / np.tan(a), 0.0, 0.0),
    )
    bodies = [roller]
    if on_a_box:
        bodies.append(Bodies(Box((4.0, 4.0, 1.0)), [[0.0, 0.0, -0.5]], motion=FIXED))
    time = 0.5 * np.pi / rate
    run = ran(bodies, time, Material(0.0, 1.0), step=0.002, stepper="drift_safe")
    last = run.last
    tip = last.position[0] + matrices(last.orientation[:1])[0] @ [0.0, 0.0, arm]
    assert np.abs(tip).max() < 5e-3
    angle = np.arctan2(last.position[0, 1], last.position[0, 0])
    assert angle == pytest.approx(rate * last.time, rel=0.02)
    assert np.linalg.norm(last.velocity[0, :3]) == pytest.approx(rate * arm * np.cos(a), rel=0.02)
