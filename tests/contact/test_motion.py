"""Poses within a step, and bounds on displacements: against samples of the paths of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.build import build
from carom.contact.motion import Motions, displacement_at, displacements, motion_of, pose_at
from carom.geometry.rotations import matrices, of_vector, product, vector_between
from carom.scene import Bodies, Scene
from carom.scene.shapes import Box, Disc, Rectangle, Sphere
from carom.stepping.integrator import free_motion

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.floats(0.0, 3.1))
def test_motions_lead_from_one_orientation_to_the_other(seed, angle):
    rng = np.random.default_rng(seed)
    axis, q = rng.normal(size=(1, 3)), rng.normal(size=(1, 4))
    vector = angle * axis / np.linalg.norm(axis)
    q /= np.linalg.norm(q)
    after = product(of_vector(vector), q)
    found = np.array([vector_between(q[0], rng.choice([-1.0, 1.0]) * after[0])])
    np.testing.assert_allclose(found, vector, atol=1e-12)
    motions = Motions(np.array([0]), np.zeros((1, 3)), np.ones((1, 3)), matrices(q), found)
    for time, turn in ((0.0, matrices(q)), (1.0, matrices(after))):
        pose = pose_at(motion_of(motions, 0), time)
        np.testing.assert_allclose(pose.turn, turn[0], atol=1e-12)
        assert pose.position == (time, time, time)


@given(SEEDS, st.sampled_from([2, 3]), st.floats(0.0, 3.1))
def test_no_point_of_a_body_leaves_the_bound_on_its_displacement(seed, dim, angle):
    """Corners of a box against the bound; discs and spheres do not count their rotation."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.2, 2.0, dim)
    shape, ball = (Rectangle(*size), Disc(1.0)) if dim == 2 else (Box(tuple(size)), Sphere(1.0))
    velocity, axis = rng.normal(size=dim), rng.normal(size=3)
    spin = angle if dim == 2 else angle * axis / np.linalg.norm(axis)
    places = np.array([np.zeros(dim), np.full(dim, 9.0)])
    groups = [Bodies(s, p[None], velocity, spin=spin) for s, p in zip((shape, ball), places)]
    world, start = build(Scene("s", groups, gravity=(0.0,) * dim))
    radius, way = world.shapes.radius[0], np.linalg.norm(velocity)
    # Free rotation of a box is not steady: its end orientation is replaced by that of a steady one.
    end = free_motion(world, start, 1.0)
    if dim == 3:
        end.orientation[:] = product(of_vector(np.tile(spin, (2, 1))), start.orientation)
    moved = displacements(world, start, end)
    assert moved.center == pytest.approx([way, way], rel=1e-12)
    assert moved.rotation == pytest.approx([angle * radius, 0.0], rel=1e-9, abs=1e-12)
    assert moved.largest == pytest.approx(way + angle * radius, rel=1e-9)
    arm = np.where(world.shapes.round, 0.0, world.shapes.radius)
    bound = [displacement_at(start.velocity, i, arm, dim, 1.0) for i in range(2)]
    assert bound == pytest.approx(moved.total, rel=1e-9)
    relative = displacements(world, start, end, relative=True)  # both bodies move alike
    assert relative.center == pytest.approx([0.0, 0.0], abs=1e-12)
    corners = 0.5 * size * (2.0 * np.indices((2,) * dim).reshape(dim, -1).T - 1.0)
    if dim == 2:
        c, s = np.cos(angle), np.sin(angle)
        rotated = corners @ np.array([[c, -s], [s, c]]).T
    else:
        rotated = corners @ matrices(of_vector(spin[None]))[0].T
    actual = np.linalg.norm(rotated + velocity - corners, axis=1)
    assert actual.max() <= moved.largest * (1.0 + 1e-12)
