"""Measurements of granular matter, on positions whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.analysis import granular
from carom.build import build
from carom.errors import ProblemError
from carom.scene import Bodies, Moving, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Sphere

FLOOR = ((0.0, 50.0), (0.0, 50.0))


def waves(angles, wavelength=12.5):
    """Heights on a grid: a sum of equal plane waves with these directions (degrees)."""
    x = (np.arange(40) + 0.5) * 50.0 / 40
    k = 2.0 * np.pi / wavelength
    out = np.zeros((40, 40))
    for a in np.radians(angles):
        out += np.cos(k * (np.cos(a) * x[:, None] + np.sin(a) * x[None, :]))
    return out


@pytest.mark.parametrize(
    ("kind", "angles"),
    [
        ("stripes", [0.0]),
        ("stripes", [37.0]),
        ("squares", [0.0, 90.0]),
        ("squares", [20.0, 110.0]),
        ("hexagons", [0.0, 60.0, 120.0]),
        ("hexagons", [10.0, 70.0, 130.0]),
    ],
)
def test_pattern_of_plane_waves(kind, angles):
    """With noise of the strength of one wave, whose power is spread over all wave vectors."""
    noise = np.random.default_rng(3).normal(size=(40, 40))
    found = granular.pattern(waves(angles) + noise, FLOOR, flat=0.3)
    assert found.kind == kind
    assert found.wavelength == pytest.approx(12.5, rel=0.08)  # waves that do not fit the floor leak into neighbors
    assert found.contrast == pytest.approx(np.sqrt(0.5 * len(angles)), rel=0.1)


def test_noise_is_flat():
    assert granular.pattern(np.random.default_rng(1).normal(size=(40, 40)), FLOOR, flat=0.5).kind == "flat"


def test_height_map_of_a_wave_of_spheres():
    """Cells with spheres have the height of the highest; cells without have the mean of their neighbors."""
    place = np.array([[0.5, 0.5, 1.0], [0.6, 0.4, 3.0], [1.5, 0.5, 5.0], [0.5, 1.5, 2.0]])
    heights = granular.height_map(place, ((0.0, 2.0), (0.0, 2.0)), cells=2)
    np.testing.assert_allclose(heights, [[3.0, 2.0], [5.0, 3.5]])


@pytest.mark.parametrize("angle", [10.0, 25.0, 40.0])
def test_angle_of_a_wedge(angle):
    """Bodies under a plane. The highest one of a cell is near its upper end and near the plane."""
    place = np.random.default_rng(0).uniform((0, 0, 0.1), (32.0, 16.0, 30.0), (60_000, 3))
    place = place[place[:, 2] < (32.0 - place[:, 0]) * np.tan(np.radians(angle))]
    found = granular.angle_of_repose(place, ((0.0, 32.0), (0.0, 16.0)))
    assert found.mean == pytest.approx(angle, abs=0.5)
    assert len(found.strips) == 8 and found.spread < 1.5


def test_layer_without_a_slope():
    place = np.random.default_rng(0).uniform((0, 0, 0.1), (32.0, 16.0, 3.0), (20_000, 3))
    assert abs(granular.angle_of_repose(place, ((0.0, 32.0), (0.0, 16.0))).mean) < 0.5


def test_front_through_a_column_of_beads():
    """A plate that moves at the speed u from time 0 on, below inelastic beads with gaps g: the bead k is reached after
    (k + 1) g / u, so the front moves at u (d + g) / g."""
    d, g, u = 1.0, 0.1, 1.0
    place = np.column_stack([np.zeros((8, 2)), 0.5 + g + (d + g) * np.arange(8)])
    scene = Scene(
        "column",
        [Bodies(Sphere(0.5), place, mass=1.0)],
        [Plane(motion=Moving((0.0, 0.0, u)))],
        materials={"default": carom.scene.Material(0.0)},
        step=0.002,
        frame_rate=100.0,
        duration=1.2,
    )
    front = granular.wave_front(carom.simulate(scene), 0.0, 0.5 * u, layers=8)
    np.testing.assert_allclose(front.time, g / u * np.arange(1, 9), atol=0.012)  # a frame and a step
    assert front.speed == pytest.approx(u * (d + g) / g, rel=0.15)  # beads are not in the middle of layers


def test_contacts_and_fraction_of_a_cubic_packing():
    """4^3 touching spheres on a plane: 3 neighbors at a corner, the plane below the lowest layer; pi / 6 inside."""
    place = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) + 0.5
    world, state = build(Scene("cubic", [Bodies(Sphere(0.5), place)], [Plane()]))
    numbers = granular.contact_numbers(world, state)
    sides = ((place == 0.5) | (place == 3.5)).sum(axis=1)
    np.testing.assert_array_equal(numbers, 6 - sides + (place[:, 2] == 0.5))
    assert granular.packing_fraction(place, np.pi / 6.0, np.ones(3), 3.0 * np.ones(3)) == pytest.approx(np.pi / 6.0)
    with pytest.raises(ProblemError):
        granular.packing_fraction(place, 1.0, np.ones(3), np.ones(3))
