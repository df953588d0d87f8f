"""Figures of frames: colors of groups, a common frame for several runs, tops of containers."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import Normalize

import carom
from carom.build import build
from carom.draw.figures import View, draw_state, frame_of, outside, tallness
from carom.draw.style import sheet
from carom.draw.world3d import container_tops
from carom.scene import Bodies, Disc, Scene, Vibrating
from carom.scene.boundaries import Container, Plane
from carom.scene.shapes import Box, Sphere


def solids() -> Scene:
    """Two spheres and a brick above the ground."""
    balls = Bodies(Sphere(0.5), np.array([[-1.0, 0, 2.0], [1.0, 0, 2.0]]), name="balls")
    brick = Bodies(Box((0.4, 0.8, 1.2)), np.array([[0.0, 3.0, 3.0]]), name="brick")
    return Scene("pair", [balls, brick], [Plane()], gravity=(0.0, 0.0, -9.81))


def view(scene: Scene) -> View:
    world, state = build(scene, check_overlap=False)
    return View(world, state, scene)


def test_groups_have_different_colors():
    found = view(solids()).rgb(Normalize(0.0, 1.0), by_group=True)
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_one_camera_for_several_runs_ignores_the_one_that_exploded():
    near, blown = view(solids()), view(solids())
    blown.state.position[0] = (400.0, 0.0, 0.0)
    camera = frame_of([near, near, blown])
    assert outside(near, camera) == 0 and outside(blown, camera) == 1


def test_a_2d_frame_contains_all_bodies_and_the_ground():
    row = Scene("row", [Bodies(Disc(1.0), np.array([[0.0, 1.0], [30.0, 1.0]]))], [Plane()])
    seen = view(row)
    left, right, bottom, top = frame_of([seen])
    assert left < -1.0 and right > 31.0 and bottom < 0.0 and top > 2.0
    assert outside(seen, (left, right, bottom, top)) == 0 and tallness((left, right, bottom, top)) < 1.0


def test_bodies_and_boundaries_of_a_figure_are_shapes():
    row = Scene("row", [Bodies(Disc(1.0), np.array([[0.0, 1.0], [3.0, 1.0]]))], [Plane()])
    seen = view(row)
    with sheet(3.0, 3.0) as figure:
        axes = figure.subplots()
        draw_state(axes, seen, Normalize(0.0, 1.0), frame_of([seen]))
        discs = [c for c in axes.collections if len(c.get_offsets()) == 2]
        assert len(discs) == 1 and np.asarray(discs[0].get_offsets()).tolist() == [[0.0, 1.0], [3.0, 1.0]]
        assert len(axes.collections) >= 3  # the ground, the discs, the line of the ground


def test_open_containers_are_drawn_to_their_top():
    crate = Container((-2, -2, 0), (2, 2, 5), open_top=True, motion=Vibrating(0.5, 0.25))
    tops = container_tops(Scene("crate", [], [crate, Container((0, 0, 0), (1, 1, 1))]), 1.0)
    assert tops.shape == (4, 3) and tops[:, 2] == pytest.approx(5.5)
    assert set(np.abs(tops[:, :2]).ravel()) == {2.0}


def test_moving_boundaries_are_drawn_at_the_time_of_the_frame():
    ground = Plane(motion=Vibrating(1.0, 0.25))
    scene = Scene("shaken", [Bodies(Disc(1.0), np.array([[0.0, 5.0]]))], [ground])
    world, state = build(scene)
    later = View(world, carom.world.State(0.25 * 4, 1, state.position, state.orientation, state.velocity), scene)
    assert not np.allclose(later.boundaries.point, world.boundaries.point)
