"""Impacts within a step: at the time at which the gap closes, without adding energy, momentum conserved."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stepping.runs import engine_of, states_of

from carom.scene import Bodies, Box, Disc, Drum, Material, Plane, Rectangle, Scene, Segment, Sphere

G = 9.81
DROP = 2.0


def dropped(dimension, restitution, step, base=(), law="gr", mu=0.5):
    """A ball above a floor, or above bodies that lie on it; the gap to the highest point below is DROP."""
    up = np.eye(dimension)[-1]
    top = max((2.0 * b.position[0, -1] for b in base), default=0.0)
    ball = Bodies(Disc(0.1) if dimension == 2 else Sphere(0.1), ((top + DROP + 0.1) * up)[None], mass=1.0)
    materials = {"default": Material(restitution, mu)}
    return Scene("drop", [ball, *base], [Plane(normal=up)], materials=materials, gravity=-G * up, step=step, law=law)


def apex(scene):
    """Height of the first apex of body 0 above where it bounced, over the height of the drop."""
    engine, state = engine_of(scene)
    start, risen = state.position[0, -1], False
    dim = engine.world.dimension
    for _ in range(int(3.0 / scene.step)):
        state, _ = engine.step(state)
        speed = state.velocity[0, dim - 1]
        if risen and speed <= 0.0:
            return (state.position[0, -1] + 0.5 * speed**2 / G - start) / DROP + 1.0
        risen = risen or speed > 0.0
    raise AssertionError("the ball did not come down again")


@pytest.mark.covering
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("step", [0.01, 0.0037])
def test_the_first_apex_is_that_of_an_exact_impact(dimension, restitution, step):
    """e^2 of the drop. The parabola of free fall is exact, so only rounding is left: some hundred steps of 1e-16."""
    assert apex(dropped(dimension, restitution, step)) == pytest.approx(restitution**2, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("stepper", ["drift_safe", "substepped"])
@pytest.mark.parametrize("step", [0.02, 0.05])
def test_balls_that_graze_leave_along_the_closed_form(dimension, stepper, step):
    """Two balls of radius 0.1 meet with a relative displacement of 1.6 and 4 radii per step, apart at both its ends.

    Both fall alike, so their relative motion is straight, and the line of centers at the touch follows from the offset
    b: its component along it is `sqrt(4 r^2 - b^2)`. A search of contacts at the ends of steps alone lets such balls
    pass through each other by up to a fifth of a diameter, with an error of half of the approach speed.
    """
    rng, radius, speed, e = np.random.default_rng(3), 0.1, 8.0, 0.8
    shape = Disc(radius) if dimension == 2 else Sphere(radius)
    for _ in range(12):
        offset, start = radius * rng.uniform(1.2, 1.97), -1.0 - rng.uniform(0.0, speed * step)
        position, velocity, gravity = np.zeros((2, dimension)), np.zeros((2, dimension)), np.zeros(dimension)
        position[0, 0], position[1, :2], gravity[1] = start, (1.0, offset), -G
        velocity[:, 0] = 0.5 * speed, -0.5 * speed
        material = {"default": Material(restitution=e)}
        scene = Scene(
            "grazing", [Bodies(shape, position, velocity, mass=1.0)], materials=material, gravity=gravity, step=step
        )
        after = states_of(scene, round(0.5 / step), stepper=stepper)[-1].velocity[:, :dimension]
        normal = np.zeros(dimension)
        normal[:2] = np.sqrt(4.0 * radius**2 - offset**2), offset
        normal /= 2.0 * radius
        relative = velocity[1] - velocity[0]
        expected = relative - (1.0 + e) * (relative @ normal) * normal
        np.testing.assert_allclose(after[1] - after[0], expected, atol=1e-13 * speed)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_graze_leaves_the_rest_of_a_large_world_to_the_sub_steps(dimension):
    """100 balls fall onto a floor, and two meet far above with 4 radii per step, as in the test before.

    The law is applied once per step to what impacts: if the graze alone made the whole step one of `drift_safe`, it
    would be applied until nothing impacts, to hundreds of contacts.
    """
    rng, radius, speed, e, step, count = np.random.default_rng(5), 0.1, 8.0, 0.8, 0.05, 100
    shape = Disc(radius) if dimension == 2 else Sphere(radius)
    pile, across = np.zeros((count, dimension)), 10 if dimension == 2 else 4
    k = np.arange(count)
    pile[:, 0] = 0.21 * (k % across) + rng.uniform(-1e-3, 1e-3, count)
    if dimension == 3:
        pile[:, 1] = 0.21 * (k // 4 % 4)
    pile[:, -1] = 0.11 + 0.21 * (k // across ** (dimension - 1))
    pair, velocity, gravity = np.zeros((2, dimension)), np.zeros((2, dimension)), np.zeros(dimension)
    pair[:, -1], pair[0, 0], pair[1, 0], gravity[-1] = 50.0, -1.01, 1.0, -G
    pair[1, -1] += 1.9 * radius
    velocity[:, 0] = 0.5 * speed, -0.5 * speed
    bodies = [Bodies(shape, pair, velocity, mass=1.0), Bodies(shape, pile, mass=1.0)]
    floor = Plane(normal=np.eye(dimension)[-1])
    scene = Scene("pile", bodies, [floor], materials={"default": Material(e)}, gravity=gravity, step=step)
    engine, state = engine_of(scene, stepper="substepped")
    rounds = []
    for _ in range(10):
        state, report = engine.step(state)
        rounds.append(report.rounds / report.substeps)
    normal = np.zeros(dimension)
    normal[0], normal[-1] = np.sqrt(1.0 - 0.95**2), 0.95
    relative = velocity[1] - velocity[0]
    expected = relative - (1.0 + e) * (relative @ normal) * normal
    np.testing.assert_allclose((state.velocity[1] - state.velocity[0])[:dimension], expected, atol=1e-13 * speed)
    assert max(rounds) == 1.0


@pytest.mark.parametrize("stepper", ["drift_safe", "substepped", "time_of_impact"])
@pytest.mark.parametrize("post", [0.0, 0.1])
def test_a_fast_ball_does_not_pass_a_post(stepper, post):
    """A disc of radius 0.1 meets a round obstacle, or the end of a segment, at up to 4 radii per step, apart at both
    ends of the step: it is reflected along the line from the obstacle's center to its own at the touch."""
    rng, radius, speed, step = np.random.default_rng(4), 0.1, 8.0, 0.05
    obstacle = Drum(post, inside=False) if post else Segment((0.0, 0.0), (2.0, 0.0))
    for _ in range(12):
        share, start = rng.uniform(-0.95, 0.95), -1.0 - rng.uniform(0.0, speed * step)
        angle = 0.0 if post else rng.uniform(0.3, 0.5) * np.pi  # below the segment and up past its end
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        share = share if post else abs(share)  # beyond the end, where the segment is a point
        position = start * along + share * (radius + post) * across
        normal = share * across - np.sqrt(1.0 - share**2) * along
        velocity = speed * along
        body = Bodies(Disc(radius), [position], [velocity], mass=1.0)
        scene = Scene("post", [body], [obstacle], materials={"default": Material(1.0)}, gravity=(0.0, 0.0), step=step)
        after = states_of(scene, 8, stepper=stepper)[-1].velocity[0, :2]
        np.testing.assert_allclose(after, velocity - 2.0 * (velocity @ normal) * normal, atol=1e-12 * speed)


def test_the_tolerance_is_relative_to_the_speed_at_the_time_of_impact():
    """A ball hits the floor at sqrt(2 g DROP), not at its slower speed at the start of that step; to rounding."""
    engine, state = engine_of(dropped(2, 0.5, 0.01))
    rounds = 0
    while rounds == 0:
        slower = -state.velocity[0, 1]
        state, report = engine.step(state)
        rounds = report.rounds
    assert report.scale == pytest.approx(np.sqrt(2.0 * G * DROP), rel=1e-12)
    assert slower < 0.9999 * report.scale


@pytest.mark.parametrize("dimension", [2, 3])
def test_on_a_body_that_rests_the_error_is_small(dimension):
    """A ball on a heavy block that lies on the floor: the block is carried, the ball falls. Asked: 0.5 % of the drop.

    The block is a million times heavier, so that its own motion is not seen.
    """
    shape = Rectangle(4.0, 1.0) if dimension == 2 else Box((4.0, 4.0, 1.0))
    block = Bodies(shape, (0.5 * np.eye(dimension)[-1])[None], mass=1e6)
    for step in (0.01, 0.0037):
        assert apex(dropped(dimension, 0.5, step, [block])) == pytest.approx(0.25, abs=5e-3)


@pytest.mark.covering
@pytest.mark.parametrize("law", ["gr", "qce", "lcp"])
@pytest.mark.parametrize("restitution", [0.0, 0.4, 0.9])
def test_energy_never_rises(law, restitution):
    """Discs that fall on each other and on the floor in any order: potential plus kinetic energy falls or stays."""
    chance = np.random.default_rng(int(100 * restitution))
    places = np.stack([1.1 * (np.arange(24) % 6), 1.5 + 1.15 * (np.arange(24) // 6)], axis=1)
    places += chance.uniform(-0.04, 0.04, places.shape)
    group = Bodies(Disc(0.5), places, velocity=chance.normal(size=(24, 2)), mass=1.0)
    scene = Scene(
        "rain", [group], [Plane()], materials={"default": Material(restitution, 0.4)}, gravity=(0.0, -G), step=0.01
    )
    engine, state = engine_of(scene, law=law)
    energies = []
    for _ in range(150):
        state, report = engine.step(state)
        energies.append(report.row[9] + report.row[10])
    assert np.diff(energies).max() <= 1e-12 * energies[0]


def test_a_pair_in_free_fall_keeps_its_center_of_mass():
    """Two balls that meet while they fall: their center follows the parabola of free fall, whenever the impact is."""
    group = Bodies(Sphere(0.5), np.array([[0.0, 0.1, 5.0], [1.4, 0.0, 5.2]]), velocity=[[3.0, 0, 0], [-2.0, 0, 1.0]])
    scene = Scene("pair", [group], materials={"default": Material(0.6, 0.3)}, gravity=(0.0, 0.0, -G), step=0.02)
    states = states_of(scene, 20)
    t = np.array([s.time for s in states])
    center = np.array([s.position.mean(axis=0) for s in states])
    speed = states[0].velocity[:, :3].mean(axis=0)
    expected = center[0] + t[:, None] * speed + 0.5 * (t**2)[:, None] * np.array([0.0, 0.0, -G])
    np.testing.assert_allclose(center, expected, atol=1e-13)
    assert np.abs(states[-1].velocity[0] - states[0].velocity[0])[:2].max() > 1.0  # they did meet


def test_a_ball_of_restitution_zero_lands_on_the_surface():
    """It stops where it touches: no overlap is left of the fall within the step."""
    engine, state = engine_of(dropped(2, 0.0, 0.01))
    for _ in range(100):
        state, _ = engine.step(state)
    assert state.position[0, 1] == pytest.approx(0.1, abs=1e-7)
    assert np.abs(state.velocity).max() <= 1e-10


def test_a_fast_ball_in_a_slot_stays_in_it():
    """It would cross the slot many times in one step; what the rounds do not resolve is held without restitution."""
    ball = Bodies(Disc(0.1), [[0.0, 0.15]], velocity=[[0.0, 60.0]])
    walls = [Plane(), Plane((0.0, 0.3), (0.0, -1.0))]
    engine, state = engine_of(Scene("slot", [ball], walls, step=0.1))
    for _ in range(5):
        state, _ = engine.step(state)
        assert 0.1 - 1e-6 <= state.position[0, 1] <= 0.2 + 1e-6
