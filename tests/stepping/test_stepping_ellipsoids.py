"""Ellipsoids on the ground: at rest, rocking, hit off their center, and as spheres."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.geometry.rotations import of_vector
from carom.scene import FIXED, Bodies, Box, Disc, Ellipse, Ellipsoid, Material, Plane, Rectangle, Scene, Sphere

GRAVITY = 10.0


def scene_of(bodies, material, step, duration=1.0, boundaries=(), gravity=GRAVITY):
    down = (0.0, 0.0, -gravity) if bodies[0].shape.dimension == 3 else (0.0, -gravity)
    return Scene("ellipsoids", bodies, boundaries, gravity=down, materials={"default": material}, step=step,
                 duration=duration)  # fmt: skip


def with_ground(bodies, on_a_box):
    """The bodies, and the ground under them: a plane, or a box that nothing can push."""
    if not on_a_box:
        return bodies, [Plane()]
    return [*bodies, Bodies(Box((9.0, 9.0, 1.0)), [[0.0, 0.0, -0.5]], motion=FIXED)], []


@pytest.mark.covering
@pytest.mark.parametrize("on_a_box", [False, True], ids=["ground", "box"])
@pytest.mark.parametrize("half_axes", [(0.6, 0.5, 0.2), (0.2, 0.6, 0.1)])
def test_an_ellipsoid_rests_on_its_shortest_axis(half_axes, on_a_box):
    bodies, boundaries = with_ground([Bodies(Ellipsoid(half_axes), [[0.1, -0.2, half_axes[2]]])], on_a_box)
    run = carom.simulate(scene_of(bodies, Material(0.3, 0.5), 0.005, 0.3, boundaries), stepper="drift_safe")
    assert run.last.position[0] == pytest.approx([0.1, -0.2, half_axes[2]], abs=1e-9)
    assert np.abs(run.last.velocity[0]).max() < 1e-7


def rocking_times(half_axes, on_a_box, tilt=0.02, step=1e-3, duration=2.0):
    """Times at which the tilt of a rocking ellipsoid about y changes its sign, and the largest tilt at the end."""
    a, _, c = half_axes
    height = np.hypot(c * np.cos(tilt), a * np.sin(tilt))
    turned = of_vector(np.array([[0.0, tilt, 0.0]]))[0]
    bodies, boundaries = with_ground([Bodies(Ellipsoid(half_axes), [[0.0, 0.0, height]], orientation=turned)], on_a_box)
    run = carom.Simulation(scene_of(bodies, Material(0.0, 1.0), step, duration, boundaries), stepper="drift_safe")
    tilts = []
    while run.time < duration - 0.5 * step:
        run.step()
        tilts.append(2.0 * run.state.orientation[0, 2] * np.sign(run.state.orientation[0, 0]))
    tilts = np.array(tilts)
    k = np.flatnonzero(tilts[1:] * tilts[:-1] < 0.0)
    return step * (k + 1 + tilts[k] / (tilts[k] - tilts[k + 1])), np.abs(tilts[-400:]).max()


@pytest.mark.covering
@pytest.mark.parametrize("on_a_box", [False, True], ids=["ground", "box"])
@pytest.mark.parametrize("half_axes", [(0.6, 0.2, 0.3), (0.5, 0.5, 0.2)], ids=["prolate", "oblate"])
def test_a_rocking_ellipsoid_has_the_frequency_of_its_curvature(half_axes, on_a_box):
    """Rolling without slipping, tilted by t about y: its center is at sqrt(c^2 cos^2 t + a^2 sin^2 t), which is
    c + (a^2 - c^2) / (2 c) t^2 for small t, and turns about the contact point with the moment c^2 + (a^2 + c^2) / 5
    per mass. So w^2 = g (a^2 - c^2) / c / (c^2 + (a^2 + c^2) / 5). Steps of 1e-3 shift it by the square of w times the
    step, amplitudes of 0.02 by their square: both less than 1e-3. A sphere of radius c would roll away instead."""
    a, _, c = half_axes
    times, last = rocking_times(half_axes, on_a_box)
    expected = np.sqrt(GRAVITY * (a * a - c * c) / c / (c * c + 0.2 * (a * a + c * c)))
    assert np.pi / np.diff(times).mean() == pytest.approx(expected, rel=3e-3)
    assert 0.015 < last <= 0.0201  # it neither gains amplitude nor comes to rest


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_an_impact_off_the_center_starts_the_spin_of_the_lever_arm(restitution):
    """With the arm r from the center to the contact: the impulse p = (1 + e) v / (1 / m + (r x n)^2 / I) upwards
    changes the velocity by p / m and the spin about y by p (r x n) / I."""
    a, c, tilt, speed = 0.5, 0.2, 0.7, 2.0
    turned = of_vector(np.array([[0.0, tilt, 0.0]]))[0]
    along = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])  # upwards in the frame of the body: (n . x', 0, n . z')
    depth = np.hypot(a * along[0], c * along[2])
    local = -np.array([a * a * along[0], 0.0, c * c * along[2]]) / depth
    arm = np.cos(tilt) * local[0] + np.sin(tilt) * local[2]  # x of the contact from the center
    inertia = 0.2 * (a * a + c * c)  # per mass
    impulse = (1.0 + restitution) * speed / (1.0 + arm**2 / inertia)
    start = Bodies(Ellipsoid((a, 0.3, c)), [[0.0, 0.0, depth + 0.005]], velocity=(0.0, 0.0, -speed), orientation=turned)
    run = carom.simulate(
        scene_of([start], Material(restitution, 0.0), 0.01, 0.01, [Plane()], gravity=0.0), stepper="synchronous"
    )
    velocity = run.last.velocity[0]
    assert velocity[:3] == pytest.approx([0.0, 0.0, impulse - speed], abs=1e-10)
    assert abs(velocity[3:]).max() == pytest.approx(abs(impulse * arm / inertia), rel=1e-9)
    before, after = 0.5 * speed**2, 0.5 * velocity[2] ** 2 + 0.5 * inertia * abs(velocity[3:]).max() ** 2
    assert after <= before * (1.0 + 1e-12)
    assert (after == pytest.approx(before)) == (restitution == 1.0)


def test_an_ellipsoid_with_equal_half_axes_is_a_sphere():
    """Two balls that collide off center and with friction, then bounce on the ground: the same motion to 1e-6.

    Directions between ellipsoids are good to about 1e-7, as the normals of their contacts are. Impacts must be resolved
    as they are when they occur: the drift-safe step does so for spheres; other bodies have the normal of its start.
    """
    ends = []
    for shape in (Ellipsoid((0.5, 0.5, 0.5)), Sphere(0.5)):
        position, velocity = [[0.0, 0.0, 0.8], [1.5, 0.3, 1.0]], [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.2]]
        bodies = Bodies(shape, position, velocity=velocity, spin=[[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
        run = carom.simulate(scene_of([bodies], Material(0.5, 0.3), 0.005, 1.0, [Plane()]), stepper="time_of_impact")
        ends.append(np.hstack([run.last.position, run.last.velocity[:, :3]]))
    assert np.abs(ends[0] - ends[1]).max() < 1e-6
    assert np.abs(ends[1][:, :3] - [[0.0, 0.0, 0.8], [1.5, 0.3, 1.0]]).max() > 0.2  # they did move


# ---- ellipses in 2D


def test_an_ellipse_falls_as_a_disc_and_has_the_mass_of_an_ellipse():
    """Mass and moment are exact whatever the outline; with equal half axes they are those of a disc."""
    for tolerance in (1e-4, 1e-2):
        scene = scene_of([Bodies(Ellipse((0.5, 0.2), tolerance), [[0.0, 0.0]])], Material(), 0.01)
        world, _ = carom.build.build(scene)
        assert world.mass[0] == pytest.approx(0.1 * np.pi, rel=1e-14)
        assert world.inertia[0] == pytest.approx(0.1 * np.pi * (0.25 + 0.04) / 4.0, rel=1e-14)
    disc, _ = carom.build.build(scene_of([Bodies(Disc(0.5), [[0.0, 0.0]])], Material(), 0.01))
    same, _ = carom.build.build(scene_of([Bodies(Ellipse((0.5, 0.5)), [[0.0, 0.0]])], Material(), 0.01))
    assert same.mass == pytest.approx(disc.mass) and same.inertia == pytest.approx(disc.inertia)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_the_outline_of_an_ellipse_is_within_its_tolerance(tolerance):
    """Both ways, and not much better than asked: points of the edges against the ellipse, area against area."""
    a, b = 2.0, 0.7
    vertices = Ellipse((a, b), tolerance).outline("bodies[0]").vertices
    t = np.linspace(0.0, 1.0, 50)[:, None, None]
    points = ((1.0 - t) * vertices + t * np.roll(vertices, -1, axis=0)).reshape(-1, 2)
    angle = np.linspace(0.0, 2.0 * np.pi, 40_001)
    curve = np.stack([a * np.cos(angle), b * np.sin(angle)], axis=1)
    off = max(np.hypot(*(curve - p).T).min() for p in points[:: max(len(points) // 500, 1)])
    assert off <= tolerance * a
    assert len(vertices) <= 4 * np.ceil(0.25 * np.pi / np.sqrt(2.0 * tolerance) * 1.2) + 4
    x, y = vertices.T
    assert 0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() == pytest.approx(np.pi * a * b, rel=1e-12)


def test_an_ellipse_hit_off_its_center_turns_as_an_ellipse():
    """The impulse of the lever arm, as for an ellipsoid; the outline is off by 1e-4, and its edges by sqrt(2e-4) rad,
    so that the contact point is off by about that times the radius of curvature."""
    a, b, tilt, speed = 0.5, 0.2, 0.7, 2.0
    depth = np.hypot(a * np.sin(tilt), b * np.cos(tilt))
    local = -np.array([a * a * np.sin(tilt), b * b * np.cos(tilt)]) / depth
    arm = np.cos(tilt) * local[0] - np.sin(tilt) * local[1]
    inertia = 0.25 * (a * a + b * b)
    impulse = speed / (1.0 + arm**2 / inertia)
    start = Bodies(Ellipse((a, b), 1e-4), [[0.0, depth + 0.005]], velocity=(0.0, -speed), angle=tilt)
    run = carom.simulate(
        scene_of([start], Material(0.0, 0.0), 0.01, 0.01, [Plane()], gravity=0.0), stepper="synchronous"
    )
    assert run.last.velocity[0, 1] == pytest.approx(impulse - speed, abs=0.02)
    assert run.last.velocity[0, 2] == pytest.approx(impulse * arm / inertia, abs=0.1)


def test_ellipses_pile_up_without_overlap():
    """Nothing passes through the box under them, and the energy does not rise."""
    bodies = [
        Bodies(Ellipse((0.3, 0.15)), [[0.4 * k, 0.4 + 0.5 * k] for k in range(4)], angle=[0.0, 0.5, 1.0, 1.5]),
        Bodies(Rectangle(6.0, 0.5), [[0.6, -0.25]], motion=FIXED),
    ]
    scene = scene_of(bodies, Material(0.3, 0.4), 0.005, 1.5)
    run = carom.simulate(scene, stepper="drift_safe")
    assert (run.last.position[:4, 1] > 0.14).all()
    assert np.abs(run.last.velocity[:4, :2]).max() < 2.0
