"""Solids that a few sizes describe: surface, support function and mass properties agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

from carom.geometry.mass_properties import mass_properties
from carom.geometry.solids import SOLIDS, support, surface
from carom.scene.parts import make_shapes
from carom.scene.shapes import Hull
from carom.world import HULL

SIZES = {"radius": 0.5, "length": 1.25, "size": np.array([1.0, 0.75, 0.5]), "half_axes": np.array([0.6, 0.5, 0.4])}
FINE = (
    0.02  # relative error of a surface of 48 segments around: 1 - cos(pi / 48) is 0.002, and volumes lose thrice that
)


def solid(kind):
    make = SOLIDS[kind].make
    return make(
        **{name: SIZES[name] for name in SIZES if name in make.__code__.co_varnames[: make.__code__.co_argcount]}
    )


@pytest.mark.parametrize("kind", SOLIDS)
def test_surface_encloses_the_volume_and_has_the_moments(kind):
    shape = solid(kind)
    volume, center, inertia = mass_properties(*SOLIDS[kind].surface(shape.size))
    assert volume == pytest.approx(shape.volume, rel=FINE)  # positive: triangles face outward
    np.testing.assert_allclose(center, 0.0, atol=1e-12)
    np.testing.assert_allclose(inertia, shape.inertia, rtol=FINE, atol=1e-12)


@pytest.mark.parametrize("kind", SOLIDS)
def test_support_is_the_farthest_point_of_the_surface(kind):
    shape = solid(kind)
    vertices, _ = SOLIDS[kind].surface(shape.size)
    directions = np.random.default_rng(1).normal(size=(50, 3))
    for d in directions / np.linalg.norm(directions, axis=1)[:, None]:
        far = (vertices @ d).max()
        assert far - 1e-12 <= support(shape, d) <= far + 0.01 * shape.reach
    assert np.linalg.norm(vertices, axis=1).max() == pytest.approx(shape.reach, rel=1e-12)


def test_surface_of_a_hull_of_a_table():
    points = np.random.default_rng(2).normal(size=(12, 3))
    shapes, [properties] = make_shapes([("hull", Hull(points), 1)])
    number = int(np.flatnonzero(shapes.kind == HULL)[0])
    volume, _, _ = mass_properties(*surface(shapes, number))
    assert volume == pytest.approx(properties.volume[0], rel=1e-12)
