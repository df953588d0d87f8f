"""Funnels in 2D and 3D: what fits through the outlet leaves, what does not stays, and nothing passes the walls."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.build import build
from carom.geometry.rotations import matrices
from carom.scene import Bodies, Cone, Disc, Funnel, Material, Scene, Sphere
from carom.scene.motion import Rotating, Vibrating
from carom.world import SEGMENT

GRAVITY = 10.0
RADIUS = 0.1
TOP, HEIGHT = 2.0, 1.0


def places(dimension):
    """Five discs in two rows, or nine spheres in two layers, in the upper part of the funnel."""
    if dimension == 2:
        return np.array([(0.25 * k, 0.85) for k in (-1.0, 0.0, 1.0)] + [(0.25 * k, 1.1) for k in (-0.5, 0.5)])
    return np.array([(0.24 * i, 0.24 * j, 0.95) for i in (-1, 0, 1) for j in (-0.5, 0.5)] + [(0.0, 0.0, 1.25)])


def poured(dimension, outlet, shape=None, motion=None, restitution=0.3, friction=0.0, **options):
    """A scene of bodies that fall into a funnel."""
    shape = shape or (Disc(RADIUS) if dimension == 2 else Sphere(RADIUS))
    moving = {} if motion is None else {"motion": motion}
    return Scene(
        "funnel",
        [Bodies(shape, places(dimension))],
        [Funnel(outlet, TOP, HEIGHT, **moving)],
        gravity=(*(0.0,) * (dimension - 1), -GRAVITY),
        materials={"default": Material(restitution, friction)},
        step=0.005,
        **{"duration": 2.0, "frame_rate": 50.0, **options},
    )


def free_states(run):
    """Positions (frames, n, D) of the free bodies."""
    free = run.world.free
    return np.array([position[free] for position in run.positions])


def across(position):
    """Distance from the axis of the funnel."""
    return np.linalg.norm(position[..., :-1], axis=-1)


@pytest.mark.parametrize("dimension", [2, 3])
def test_all_leave_through_a_wide_outlet_and_none_through_the_walls(dimension):
    run = carom.simulate(poured(dimension, outlet=0.7))
    path = free_states(run)
    assert (path[-1, :, -1] < -2.0 * RADIUS).all()
    inside = (path[..., -1] > 0.0) & (path[..., -1] < HEIGHT)
    wall = 0.35 + 0.65 * path[..., -1] / HEIGHT  # in 3D the corners of the panels are 1 % farther out
    assert (across(path)[inside] < 1.01 * wall[inside]).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_none_leaves_through_an_outlet_narrower_than_a_body(dimension):
    run = carom.simulate(poured(dimension, outlet=1.8 * RADIUS))
    assert (free_states(run)[-1, :, -1] > 0.0).all()


def test_discs_with_friction_form_an_arch_that_collapses_without():
    """Two discs over an outlet that is wide enough for one: they touch each other and the walls, of 45 degrees.

    One begins a little higher. Without friction the arch is unstable, and the lower disc falls through.
    """
    lowest = []
    for friction in (0.0, 0.3):
        x, y = RADIUS, RADIUS - 0.125 + np.sqrt(2.0) * RADIUS  # the walls are y = |x| - 0.125
        scene = poured(2, 0.25, friction=friction, restitution=0.0, duration=1.0)
        discs = Bodies(Disc(RADIUS), [(-x, y), (x + 0.01, y + 0.01)])
        run = carom.simulate(scene.with_(bodies=[discs], boundaries=[Funnel(0.25, 2.25, 1.0)]))
        lowest.append(free_states(run)[-1, :, 1].min())
    assert lowest[0] < -RADIUS and lowest[1] > 0.5 * RADIUS


@pytest.mark.parametrize("law", ["gr", "qce"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_energy_never_rises(dimension, law):
    run = carom.simulate(poured(dimension, outlet=0.4, restitution=0.8, friction=0.3, duration=1.0), law=law)
    energy = run.steps["kinetic"] + run.steps["potential"]
    assert np.diff(energy).max() < 1e-9 * np.abs(energy).max()


def test_pouring_in_2d_is_mirror_symmetric_under_gr():
    run = carom.simulate(poured(2, outlet=0.5, restitution=1.0, duration=1.0), law="gr")
    last = free_states(run)[-1]
    mirrored = last * [-1.0, 1.0]
    assert last[[2, 1, 0, 4, 3]] == pytest.approx(mirrored, abs=1e-6)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_vibrating_funnel_shakes_its_content(dimension):
    """Bodies in a closed funnel that vibrates gain energy, and none passes the walls."""
    motion = Vibrating(0.05, 5.0, (1.0, *(0.0,) * (dimension - 1)))
    run = carom.simulate(poured(dimension, outlet=1.8 * RADIUS, motion=motion, duration=2.0))
    path = free_states(run)
    assert (path[..., -1] > 0.0).all()
    assert np.abs(path[-1] - path[-2]).max() > 1e-3  # they still move
    still = free_states(carom.simulate(poured(dimension, outlet=1.8 * RADIUS, duration=2.0)))
    assert np.abs(still[-1] - still[-2]).max() < 1e-3


def test_cones_leave_a_funnel():
    run = carom.simulate(poured(3, 0.8, Cone(0.1, 0.18), duration=1.5))
    assert (free_states(run)[-1, :, -1] < -0.2).all()


def test_panels_touch_the_inscribed_cone():
    """Their inner faces are tangent to the cone through the outlet and the top, and no panel reaches into it."""
    world, state = build(Scene("s", [Bodies(Sphere(0.1), [[0.0, 0.0, 5.0]])], [Funnel(0.5, 2.0, 1.5, (1.0, 2.0, 3.0))]))
    solids = world.shapes_3d
    assert world.count == 2 and not world.free[1] and np.diff(solids.part_ptr)[1] == 24
    turn = matrices(state.orientation)[1]
    for part in range(*solids.part_ptr[1:3]):
        form = solids.shape[part]
        own = solids.vertex[solids.vertex_ptr[form] : solids.vertex_ptr[form + 1]]
        x = (own @ solids.turn[part].T + solids.place[part]) @ turn.T + state.position[1] - [1.0, 2.0, 3.0]
        inside = np.lexsort((np.hypot(x[:, 0], x[:, 1]),))[:2]  # the two nearest corners are at the outlet
        assert x[inside, 2] == pytest.approx(0.0, abs=1e-12)
        assert np.linalg.norm(x[inside].mean(axis=0)[:2]) == pytest.approx(0.25, abs=1e-12)


def test_two_segments_in_2d_turn_about_their_common_center():
    world, _ = build(
        Scene("s", [Bodies(Disc(0.1), [[0.0, 5.0]])], [Funnel(0.5, 2.0, 1.5, (1.0, 2.0), motion=Rotating(1.0))])
    )
    boundaries = world.boundaries
    assert boundaries.kind.tolist() == [SEGMENT, SEGMENT]
    assert boundaries.point.tolist() == [[0.75, 2.0], [1.25, 2.0]]
    assert boundaries.axis.tolist() == [[0.0, 3.5], [2.0, 3.5]]
    assert boundaries.center.tolist() == [[1.0, 2.75]] * 2


def test_a_funnel_that_narrows_upwards_is_refused():
    with pytest.raises(carom.ProblemError, match="top"):
        Funnel(1.0, 0.5, 1.0)
    with pytest.raises(carom.ProblemError, match="point"):
        build(Scene("s", [Bodies(Sphere(0.1), [[0.0, 0.0, 5.0]])], [Funnel(1.0, 2.0, 1.0, (0.0, 0.0))]))
