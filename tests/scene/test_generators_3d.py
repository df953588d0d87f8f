"""Generators in 3D: numbers, distances and regions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, cKDTree
from scipy.spatial.distance import pdist
from tests.scene.rich_scenes import TETRAHEDRON

from carom import ProblemError
from carom.geometry.rotations import matrices
from carom.scene.chance import RandomVelocity, jittered, random_orientations
from carom.scene.checks import Where
from carom.scene.file import parse_toml
from carom.scene.generators import Chain, Grid, HexGrid
from carom.scene.parts import extent_of, make_shapes
from carom.scene.pour import Region, random_pour
from carom.scene.shapes import Box, Capsule, Compound, Cone, Cylinder, Ellipsoid, Hull, Mesh, Part, Sphere

ROUND = 1e-12  # of a spacing: places are sums of a few products of numbers of size up to 1e3
BALLS = "shape = 'sphere'\nradius = 0.35\n"


def group(text: str):
    (only,) = parse_toml("[[generators]]\n" + text).bodies
    return only


def closest(points: np.ndarray) -> float:
    return float(cKDTree(points).query(points, k=2)[0][:, 1].min())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("kind = 'grid'\nrows = 4\ncolumns = 3\nlayers = 5", 60),
        ("kind = 'hex_grid'\nrows = 4\ncolumns = 3\nlayers = 5", 60),
        ("kind = 'chain'\ncount = 9\ndirection = [1, 2, 3]", 9),
    ],
)
def test_spheres_touch_unless_a_spacing_is_given(text, count):
    points = np.asarray(group(BALLS + text).position)
    assert points.shape == (count, 3)
    assert closest(points) == pytest.approx(0.7, abs=0.7 * ROUND)


def places(generator, radius=0.5):
    size = extent_of("s", Sphere(radius), generator.count, None)
    return generator.places(size, Where(3), "generators[0]")


def test_grid_goes_along_x_first_then_y_then_z():
    points = places(Grid(rows=2, columns=3, layers=2, spacing=(1.0, 10.0, 100.0), corner=(5.0, 5.0, 5.0))) - 5.0
    np.testing.assert_array_equal(points[:4], [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 10, 0]])
    np.testing.assert_array_equal(points[6], [0, 0, 100])
    center = (5, 6, 7)
    for generator in (
        Grid(rows=3, columns=4, layers=2, spacing=(1.0, 2.0, 3.0), center=center),
        HexGrid(rows=4, columns=3, layers=3, spacing=1.0, center=center),
    ):
        points = places(generator)
        np.testing.assert_allclose(0.5 * (points.min(axis=0) + points.max(axis=0)), (5, 6, 7), atol=ROUND)


def test_close_packing_has_twelve_neighbors():
    """And six next ones at sqrt(2) diameters, which tell it and its cubic twin from looser packings."""
    points = places(HexGrid(rows=7, columns=7, layers=7))
    middle = points[np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1))]
    distance = np.linalg.norm(points - middle, axis=1)
    assert (np.abs(distance - 1.0) < 1e-9).sum() == 12
    assert (np.abs(distance - np.sqrt(2.0)) < 1e-9).sum() == 6
    assert not ((distance > 1e-9) & (distance < 1.0 - 1e-9)).any()


def test_turned_boxes_touch():
    """Turned by a quarter about y, a box has its height along x."""
    size = "shape = 'box'\nsize = [1, 2, 3]\nrotation = {axis = [0, 1, 0], degrees = 90}\n"
    row = group(size + "kind = 'chain'\ncount = 3")
    np.testing.assert_allclose(np.asarray(row.position)[:, 0], [0, 3, 6], atol=1e-12)
    block = np.asarray(group(size + "kind = 'grid'\nrows = 2\ncolumns = 2\nlayers = 2").position)
    np.testing.assert_allclose(np.ptp(block, axis=0), [3, 2, 1], atol=1e-12)


def solids():
    parts = (
        Part(Sphere(0.3), (1.0, 0.0, 0.0), density=3.0),
        Part(Box((1.0, 0.2, 0.4)), orientation=(0.8, 0, 0, 0.6)),
    )
    return {
        "box": Box((1.0, 2.0, 3.0)),
        "capsule": Capsule(0.5, 2.0),
        "cylinder": Cylinder(0.5, 2.0),
        "cone": Cone(0.5, 2.0),
        "ellipsoid": Ellipsoid((0.5, 1.0, 1.5)),
        "hull": Hull(TETRAHEDRON[0] + 5.0),
        "mesh": Mesh(vertices=TETRAHEDRON[0], faces=TETRAHEDRON[1], scale=2.0, spacing=0.2),
        "compound": Compound(parts),
        "nested": Compound((Part(Compound(parts), (0.0, 1.0, 0.0), (0.5, 0.5, 0.5, 0.5)), Part(Capsule(0.2, 1.0)))),
    }


def surface(shape) -> np.ndarray:
    """Points on a shape, in its own frame, about its center of mass: an independent and rougher account of it."""
    n = 40
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, n), np.linspace(-1, 1, n))
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    ball = np.concatenate([np.sqrt(1 - height**2)[..., None] * ring[..., :2], height[..., None]], axis=-1).reshape(
        -1, 3
    )
    if isinstance(shape, Sphere):
        return shape.radius * ball
    if isinstance(shape, Box):
        corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return corners * shape.size
    if isinstance(shape, Capsule):
        return np.concatenate([shape.radius * ball + (0, 0, s * shape.length / 2) for s in (-1, 1)])
    if isinstance(shape, Cylinder):
        return (shape.radius * ring + 0.5 * shape.length * height[..., None] * (0, 0, 1)).reshape(-1, 3)
    if isinstance(shape, Cone):  # without its top cut off: the center of mass is a quarter up
        part = 0.5 * (1.0 - height[..., None])
        return (shape.radius * part * ring + shape.length * (0.75 - part) * (0, 0, 1)).reshape(-1, 3)
    if isinstance(shape, Ellipsoid):
        return ball * shape.half_axes
    if isinstance(shape, Hull):
        points = np.asarray(shape.vertices)
        return points - points.mean(axis=0)  # of a tetrahedron
    if isinstance(shape, Mesh):
        points = shape.scale * shape.vertices
        return points - points.mean(axis=0)
    clouds = [surface(p.shape) @ matrices(np.array([p.orientation], float))[0].T + p.position for p in shape.parts]
    weights = [p.density * make_shapes([("p", p.shape, 1)])[1][0].volume[0] for p in shape.parts]
    return np.concatenate(clouds) - np.average([p.position for p in shape.parts], axis=0, weights=weights)


@pytest.mark.parametrize("name", solids())
def test_reach_is_that_of_the_surface(name):
    """Against points all over the surface: the reach is theirs, up to the distance between these points."""
    shape, q = solids()[name], np.array([0.3, -0.2, 0.9, 0.1])
    reach = extent_of("s", shape, 2, q)
    points = surface(shape) @ matrices(q[None] / np.linalg.norm(q))[0].T
    size = np.ptp(points, axis=0).max()
    for d in np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3)) / np.sqrt(3.0)]):
        assert reach.reach(d)[0] == pytest.approx((points @ d).max(), abs=5e-3 * size)
    far = np.linalg.norm(points, axis=1).max()
    assert far - 1e-12 <= reach.radius[0] <= 1.5 * far  # for compounds a bound
    np.testing.assert_allclose(reach.extent, np.ptp(points, axis=0), atol=1e-2 * size)


def test_spheres_round_bodies_that_are_turned_by_chance():
    boxes = group(
        "kind = 'grid'\nrows = 3\ncolumns = 3\nlayers = 3\nshape = 'box'\nsize = [2, 3, 6]\nrandom_orientation = true"
    )
    assert closest(np.asarray(boxes.position)) == pytest.approx(7.0)
    np.testing.assert_allclose(np.linalg.norm(boxes.orientation, axis=1), 1.0, rtol=1e-15)


# -- chance ----------------------------------------------------------------------------------------------------


@given(
    n=st.integers(1, 150),
    share=st.floats(0.05, 0.5),
    ratio=st.floats(1.0, 3.0),
    ball=st.booleans(),
    gap=st.sampled_from([0.0, 0.05]),
    seed=st.integers(0, 1000),
)
def test_poured_spheres_neither_overlap_nor_stick_out(n, share, ratio, ball, gap, seed):
    radius = np.random.default_rng(seed).uniform(0.1, 0.1 * ratio, n)
    volume = 4.0 / 3.0 * np.pi * ((radius + 0.5 * gap) ** 3).sum() / share
    side = np.cbrt(volume)
    outer = np.cbrt(0.75 * volume / np.pi)
    region = Region((3.0, -2.0, 1.0), radius=outer) if ball else Region((0.0,) * 3, (side, 2.0 * side, 0.5 * side))
    try:
        points = random_pour(radius, region, gap, np.random.default_rng(seed), "g")
    except ProblemError:
        # Few bodies in a small region may truly not fit, although their volumes would: what lies along the walls is
        # a large part of it.
        assert share > 0.15
        return
    assert points.shape == (n, 3)
    if n > 1:
        i, j = np.triu_indices(n, 1)
        assert (pdist(points) - radius[i] - radius[j] - gap).min() >= -1e-12
    if ball:
        assert (np.linalg.norm(points - region.lower, axis=1) + radius).max() <= region.radius * (1 + 1e-12)
    else:
        assert (points - radius[:, None]).min() >= -1e-12
        assert ((points + radius[:, None]) <= np.array(region.upper) * (1 + 1e-12)).all()


def test_many_spheres_fill_half_of_a_box():
    """Beyond the 0.38 at which darts jam: pushing finds the rest."""
    n = 3000
    side = np.cbrt(n * 4.0 / 3.0 * np.pi / 0.5)
    points = random_pour(np.ones(n), Region((0.0,) * 3, (side,) * 3), 0.0, np.random.default_rng(1), "g")
    assert closest(points) >= 2.0 - 1e-12


@pytest.mark.parametrize("ball", [False, True])
def test_pour_fills_the_region_evenly(ball):
    """Counts in 8 equal parts: chi-square of Poisson counts would be 8; excluded volume makes it smaller."""
    region = Region((0.0,) * 3, radius=5.0) if ball else Region((-5.0,) * 3, (5.0,) * 3)
    points = random_pour(np.full(4000, 0.02), region, 0.0, np.random.default_rng(0), "g")
    cells = np.bincount(((points > 0.0) * (1, 2, 4)).sum(axis=1), minlength=8)
    assert ((cells - 500.0) ** 2 / 500.0).sum() < 26.1  # 0.1 % of Poisson counts lie above
    if ball:
        inner = (np.linalg.norm(points, axis=1) < 4.98 * np.cbrt(0.5)).mean()
        assert abs(inner - 0.5) < 0.025  # three standard deviations


@pytest.mark.parametrize(("kind", "mean_square"), [("normal", 12.0), ("uniform", 4.0), ("direction", 4.0)])
def test_random_velocities(kind, mean_square):
    """speed 2: 3 s^2, 3 s^2 / 3 and s^2 are the mean squares, a third of it along each axis."""
    v = RandomVelocity(2.0, kind).draw(20000, 3, np.random.default_rng(1))
    np.testing.assert_allclose((v**2).mean(axis=0), mean_square / 3.0, rtol=0.05)
    still = RandomVelocity(2.0, kind, no_drift=True).draw(100, 3, np.random.default_rng(1))
    np.testing.assert_allclose(still.mean(axis=0), 0.0, atol=1e-14)


def test_jitter_stays_within_reach_and_is_even():
    moved = jittered(np.zeros((20000, 3)), 2.0, np.random.default_rng(0))
    far = np.linalg.norm(moved, axis=1)
    assert far.max() <= 2.0
    assert abs((far < 2.0 * np.cbrt(0.5)).mean() - 0.5) < 0.015  # half the volume, four standard deviations
    np.testing.assert_allclose(moved.mean(axis=0), 0.0, atol=0.03)


def test_random_orientations_carry_an_axis_anywhere():
    """Archimedes: the height of the end of a turned axis is even between -1 and 1, of variance 1/3."""
    axis = matrices(random_orientations(20000, np.random.default_rng(2)))[:, :, 0]
    np.testing.assert_allclose(axis.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose((axis**2).mean(axis=0), 1.0 / 3.0, atol=0.01)


# -- copies ----------------------------------------------------------------------------------------------------


def test_copies_are_moved_turned_and_pushed():
    scene = parse_toml(
        """
        [[bodies]]
        name = "pair"
        shape = "box"
        size = [1, 2, 3]
        position = [[1, 0, 0], [3, 0, 0]]
        velocity = [[1, 0, 0], [0, 0, 0]]
        spin = [1, 0, 0]
        mass = [1, 2]
        inertia = [[1, 2, 2.5], [2, 3, 4]]
        [[generators]]
        kind = "copies"
        of = "pair"
        offsets = [[0, 0, 10], [0, 0, 20]]
        rotation = {axis = [0, 0, 1], degrees = [0, 90]}
        velocity = [0, 0, 1]
        """
    )
    pair, copies = scene.bodies
    assert pair.count == 2 and copies.count == 4
    np.testing.assert_allclose(copies.position, [[1, 0, 10], [3, 0, 10], [2, -1, 20], [2, 1, 20]], atol=1e-12)
    np.testing.assert_allclose(copies.velocity, [[1, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(copies.spin, [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_array_equal(copies.mass, [1, 2, 1, 2])
    np.testing.assert_array_equal(copies.inertia[2:], [[1, 2, 2.5], [2, 3, 4]])
    np.testing.assert_allclose(matrices(copies.orientation)[2], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_copies_on_a_grid_of_layers():
    scene = parse_toml(
        """
        [[bodies]]
        name = "ball"
        shape = "sphere"
        radius = [1, 0.5]
        position = [[0, 0, 0], [1.5, 0, 0]]
        template = true
        [[generators]]
        kind = "copies"
        of = "ball"
        rows = 2
        columns = 3
        layers = 4
        spacing = [4, 5, 6]
        """
    )
    (copies,) = scene.bodies
    assert copies.count == 48 and len(copies.shape.radius) == 48
    np.testing.assert_allclose(np.ptp(copies.position, axis=0), [8 + 1.5, 5, 18])


def test_a_chain_of_different_spheres_touches_everywhere():
    radius = np.array([0.5, 1.0, 0.25, 2.0])
    points = places(Chain(count=4, start=(1.0, 1.0, 1.0), direction=(0.0, 3.0, -4.0)), radius)
    np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), radius[:-1] + radius[1:], rtol=1e-14)


def test_hulls_of_a_grid_are_apart_by_their_own_width():
    """The corner of a cube is one wide along each axis, wherever its center of mass is."""
    text = "kind = 'grid'\nrows = 2\ncolumns = 2\nlayers = 2\nshape = 'hull'\nvertices = "
    hulls = group(text + str((TETRAHEDRON[0] - 7.0).tolist()))
    assert closest(np.asarray(hulls.position)) == pytest.approx(1.0, rel=1e-12)
    assert ConvexHull(np.asarray(hulls.position)).volume == pytest.approx(1.0, rel=1e-12)
