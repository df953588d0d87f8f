"""Volumes, centers of mass and moments of inertia against closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from carom.geometry.mass_properties import mass_properties, principal_axes, winding_number
from carom.geometry.rotations import quaternion_of
from carom.geometry.surfaces import icosphere, joined, revolved, torus
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Part, Sphere

CUBE = np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])


def properties(shape, count=1):
    return make_shapes([("bodies[0]", shape, count)])[1][0]


def full_inertia(found):
    """Inertia tensor over mass in the solid's own frame, from principal moments and frame."""
    w, x, y, z = found.frame
    turn = Rotation.from_quat([x, y, z, w]).as_matrix()
    return turn @ np.diag(found.gyration[0]) @ turn.T


def test_tetrahedron():
    """Corners at the origin and 1 along each axis: volume 1/6, center 1/4, moments 3/40 and products 1/80 about it."""
    found = properties(Hull(np.vstack([np.zeros(3), np.eye(3)])))
    assert found.volume[0] == pytest.approx(1.0 / 6.0, rel=1e-14)
    assert found.origin == pytest.approx(np.full(3, 0.25), rel=1e-14)
    expected = np.full((3, 3), 1.0 / 80.0) + np.eye(3) * (3.0 / 40.0 - 1.0 / 80.0)
    assert np.abs(full_inertia(found) - expected).max() < 1e-15


@pytest.mark.parametrize("shape", [Box((1.0, 2.0, 3.0)), Hull(CUBE), Hull(CUBE + 1e3)], ids=["box", "hull", "far"])
def test_box_by_two_ways(shape):
    found = properties(shape)
    assert found.volume[0] == pytest.approx(6.0, rel=1e-12)
    assert found.gyration[0] == pytest.approx(np.array([13.0, 10.0, 5.0]) / 12.0, rel=1e-9)
    assert found.inner[0] == pytest.approx(0.5, rel=1e-9)
    assert found.radius[0] == pytest.approx(np.sqrt(3.5), rel=1e-9)
    assert found.frame.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_an_ellipsoid_agrees_with_integrals_and_a_fine_mesh():
    """Slices across z are ellipses with the half axes a s and b s, s^2 = 1 - z^2 / c^2; polynomials are exact."""
    a, b, c = 0.7, 1.1, 0.4
    z, weight = np.polynomial.legendre.leggauss(8)
    square = 1.0 - z * z
    area, height = np.pi * a * b * square, c * z
    volume = c * (weight @ area)
    xx, yy, zz = (c * (weight @ (area * v)) / volume for v in (0.25 * a * a * square, 0.25 * b * b * square, height**2))
    found = properties(Ellipsoid((a, b, c)))
    assert found.volume[0] == pytest.approx(volume, rel=1e-14)
    assert full_inertia(found) == pytest.approx(np.diag([yy + zz, xx + zz, xx + yy]), abs=1e-14)
    assert found.inner[0] == 0.4 and found.radius[0] == 1.1
    vertices, faces = icosphere(1.0, 5)
    size, _, inertia = mass_properties(vertices * [a, b, c], faces)
    assert size == pytest.approx(volume, rel=2e-3)  # triangles within the surface
    assert inertia == pytest.approx(full_inertia(found), rel=2e-3, abs=1e-9)


def test_round_forms_agree_with_integrals():
    """Moments of a solid of revolution, integrated along its axis: slices of radius r(z)."""
    radius, length = 0.7, 1.9
    z, weight = np.polynomial.legendre.leggauss(60)
    for shape, ends in ((Cylinder(radius, length), 0.0), (Capsule(radius, length), radius)):
        volume = along = across = 0.0
        for low, high in (
            (-length / 2 - ends, -length / 2),
            (-length / 2, length / 2),
            (length / 2, length / 2 + ends),
        ):
            at = low + (z + 1.0) * (high - low) / 2.0
            beyond = np.maximum(np.abs(at) - length / 2, 0.0)
            r2 = radius**2 - beyond**2
            w = weight * (high - low) / 2.0
            volume += np.pi * (w * r2).sum()
            along += np.pi / 2.0 * (w * r2**2).sum()
            across += np.pi * (w * (r2**2 / 4.0 + r2 * at**2)).sum()
        found = properties(shape)
        assert found.volume[0] == pytest.approx(volume, rel=1e-12)
        assert found.gyration[0] == pytest.approx([across / volume, across / volume, along / volume], rel=1e-12)


@pytest.mark.parametrize("top", [0.0, 0.4, 1.1])
def test_cone_against_slices_and_against_a_fine_mesh(top):
    """Its closed forms are the integrals over slices, exact by Gauss's rule, and the limit of polyhedra inside it."""
    radius, length = 0.7, 1.9
    found = properties(Cone(radius, length, top))
    z, weight = np.polynomial.legendre.leggauss(8)
    at, w = 0.5 * length * (z + 1.0), 0.5 * length * weight
    r2 = (radius + (top - radius) * at / length) ** 2
    volume, center = np.pi * (w * r2).sum(), (w * r2 * at).sum() / (w * r2).sum()
    along = np.pi / 2.0 * (w * r2**2).sum() / volume
    across = np.pi * (w * (r2**2 / 4.0 + r2 * (at - center) ** 2)).sum() / volume
    assert found.volume[0] == pytest.approx(volume, rel=1e-12)
    assert found.gyration[0] == pytest.approx([across, across, along], rel=1e-12)
    corners = np.array([(0.0, length - center), (top, length - center), (radius, -center), (0.0, -center)])
    assert found.radius[0] == pytest.approx(np.hypot(*corners.T).max(), rel=1e-12)
    mesh = joined([revolved(np.array(line), 1000) for line in pairwise(corners)])
    about, middle, inertia = mass_properties(*mesh)
    assert about == pytest.approx(volume, rel=1e-5) and np.abs(middle).max() < 1e-12
    assert full_inertia(found) == pytest.approx(inertia, rel=2e-5, abs=1e-12)
    # Half of the smallest width over directions in a plane through the axis.
    t = np.linspace(0.0, np.pi, 20001)
    points = np.concatenate([corners, corners * [-1.0, 1.0]])
    widths = np.ptp(points @ np.stack([np.cos(t), np.sin(t)]), axis=0)
    assert found.inner[0] == pytest.approx(0.5 * widths.min(), rel=1e-3)


def test_meshes_of_sphere_and_torus_converge_at_second_order():
    ball = [abs(mass_properties(*icosphere(2.0, level))[0] / (32.0 / 3.0 * np.pi) - 1.0) for level in (2, 3, 4)]
    assert all(3.8 < one / two < 4.2 for one, two in pairwise(ball))
    errors = []
    for n in (16, 32, 64):
        volume, center, inertia = mass_properties(*torus(2.0, 0.5, n, 2 * n))
        assert np.abs(center).max() < 1e-14
        exact = np.diag([2.0 + 5.0 / 32.0, 2.0 + 5.0 / 32.0, 4.0 + 3.0 / 16.0])
        assert volume < 2.0 * np.pi**2 * 2.0 * 0.25  # a tube with flat sides lies within the round one
        errors.append(np.abs(inertia - exact).max())
    assert all(3.8 < one / two < 4.2 for one, two in pairwise(errors))


@given(st.integers(0, 2**32 - 1))
def test_turned_and_moved_solids_have_the_same_moments(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(12, 3))
    turn = Rotation.random(random_state=seed % 1000).as_matrix()
    shift = random.normal(size=3)
    one, two = properties(Hull(points)), properties(Hull(points @ turn.T + shift))
    assert two.volume[0] == pytest.approx(one.volume[0], rel=1e-10)
    assert two.origin == pytest.approx(turn @ one.origin + shift, abs=1e-10)
    assert full_inertia(two) == pytest.approx(turn @ full_inertia(one) @ turn.T, abs=1e-10)
    assert two.inner[0] == pytest.approx(one.inner[0], rel=1e-8)


def test_axes_that_are_principal_stay():
    """A cube, a symmetric top and a turned symmetric top: no turn, no turn, and one that leaves equal moments alone."""
    for moments in ([1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [1.0, 3.0, 2.0]):
        found, axes = principal_axes(np.diag(moments) + 1e-15)
        assert (axes == np.eye(3)).all()
        assert found == pytest.approx(moments)
    turn = Rotation.from_euler("x", 0.3).as_matrix()
    found, axes = principal_axes(turn @ np.diag([2.0, 2.0, 1.0]) @ turn.T)
    assert found == pytest.approx([2.0, 2.0, 1.0])
    assert np.abs(axes - turn).max() < 1e-12  # x stays where it was
    assert quaternion_of(axes) == pytest.approx([np.cos(0.15), np.sin(0.15), 0.0, 0.0], abs=1e-12)


@given(st.integers(0, 10_000))
def test_principal_frame_diagonalises(seed):
    random = np.random.default_rng(seed)
    turn = Rotation.random(random_state=seed).as_matrix()
    values = random.uniform(1.0, 2.0, 3)
    if seed % 3 == 0:
        values[1] = values[0]
    inertia = turn @ np.diag(values) @ turn.T
    moments, axes = principal_axes(0.5 * (inertia + inertia.T))
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(axes.T @ inertia @ axes - np.diag(moments)).max() < 1e-11
    assert (np.diag(axes) >= -1e-12).sum() >= 2
    w, x, y, z = quaternion_of(axes)
    assert np.abs(Rotation.from_quat([x, y, z, w]).as_matrix() - axes).max() < 1e-12


def test_compound_of_two_halves_is_the_whole():
    halves = Compound([Part(Box((1.0, 2.0, 1.5)), (0.0, 0.0, z)) for z in (0.25, 1.75)])
    whole, found = properties(Box((1.0, 2.0, 3.0))), properties(halves)
    assert found.volume[0] == pytest.approx(whole.volume[0], rel=1e-14)
    assert found.gyration[0] == pytest.approx(whole.gyration[0], rel=1e-14)
    assert found.origin == pytest.approx([0.0, 0.0, 1.0])
    assert found.radius[0] == pytest.approx(whole.radius[0])


def test_nested_compounds_flatten_and_densities_multiply():
    inner = Compound([Part(Sphere(0.5), (1.0, 0.0, 0.0), density=3.0), Part(Sphere(0.5), (-1.0, 0.0, 0.0))])
    shape = Compound([Part(inner, (0.0, 0.0, 2.0), density=2.0), Part(Box((1.0, 1.0, 1.0)))])
    solids, (found,) = make_shapes([("bodies[0]", shape, 2)])
    ball = np.pi / 6.0
    assert found.volume == pytest.approx(np.full(2, 8.0 * ball + 1.0))
    # The pair of balls has its center a quarter of their distance toward the heavy one: that is what lies at z = 2.
    heavy, light = np.array([0.5, 0.0, 2.0]), np.array([-1.5, 0.0, 2.0])
    assert found.origin == pytest.approx((6.0 * ball * heavy + 2.0 * ball * light) / (8.0 * ball + 1.0))
    assert solids.part_ptr.tolist() == [0, 3, 6]
    assert len(solids.kind) == 2  # equal balls share a form


def test_winding_number():
    vertices, faces = torus(2.0, 0.5)
    assert winding_number(vertices, faces, np.array([2.0, 0.0, 0.0])) == pytest.approx(1.0, abs=1e-12)
    assert winding_number(vertices, faces, np.zeros(3)) == pytest.approx(0.0, abs=1e-12)
    assert winding_number(vertices, faces[:, ::-1], np.array([2.0, 0.0, 0.0])) == pytest.approx(-1.0, abs=1e-12)
