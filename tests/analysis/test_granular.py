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

ANGLES = {"stripes": (0.0,), "squares": (0.0, 90.0), "hexagons": (0.0, 60.0, 120.0)}


def layer(kind, wavelengths, chance, noise=1.0):
    """A height map of waves of unit strength and noise, and its floor. The wavelength is 10, or eight cells.

    The lattice has any direction and place, so that it does not fit the periodic floor. Disorder means waves of one
    length in 40 random directions.
    """
    side = 10.0 * wavelengths
    n = round(8 * wavelengths)
    x, y = np.meshgrid(*2 * [(np.arange(n) + 0.5) * side / n], indexing="ij")
    angles = np.array(ANGLES.get(kind, chance.uniform(0.0, 360.0, 40))) + chance.uniform(0.0, 360.0)
    x0, y0 = chance.uniform(0.0, 10.0, 2)
    phases = chance.uniform(0.0, 2.0 * np.pi, len(angles)) * (kind == "disordered")
    k = 2.0 * np.pi / 10.0
    map = sum(np.cos(k * (np.cos(a) * (x - x0) + np.sin(a) * (y - y0)) + p) for a, p in zip(np.radians(angles), phases))
    return map / map.std() + noise * chance.normal(size=(n, n)), ((0.0, side), (0.0, side))


@pytest.mark.parametrize("kind", ANGLES)
@pytest.mark.parametrize("wavelengths", [4.0, 4.4, 5.7, 8.0])
def test_pattern_of_plane_waves(kind, wavelengths):
    """With noise of the strength of the waves. Waves that do not fit the floor leak into neighboring wave vectors."""
    chance = np.random.default_rng(3)
    found = [granular.pattern(*layer(kind, wavelengths, chance), flat=0.5) for _ in range(20)]
    assert sum(p.kind == kind for p in found) >= 17  # four wavelengths: one in ten seems disordered
    np.testing.assert_allclose([p.wavelength for p in found], 10.0, rtol=0.1)
    assert np.median([p.contrast for p in found]) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("kind", ["squares", "hexagons"])
def test_a_floor_of_few_wavelengths_does_not_show_lattices(kind):
    """2.4 wavelengths: most neighbors of a peak are beyond the edge, where a rotated lattice does not continue."""
    chance = np.random.default_rng(3)
    seen = [granular.pattern(*layer(kind, 2.4, chance), flat=0.5).kind for _ in range(20)]
    assert seen.count(kind) < 17  # of the same number in a wide container, see above
    assert "flat" not in seen


def test_random_waves_are_disordered():
    chance = np.random.default_rng(4)
    seen = [granular.pattern(*layer("disordered", 6.0, chance), flat=0.5).kind for _ in range(20)]
    assert seen.count("disordered") >= 17


@pytest.mark.parametrize("wavelengths", [2.4, 4.0, 8.0])
def test_grains_alone_are_flat(wavelengths):
    """Heights that differ by a diameter from cell to cell: their power is spread over all wave vectors."""
    chance = np.random.default_rng(1)
    maps = [layer("stripes", wavelengths, chance, noise=0.0) for _ in range(10)]
    for heights, floor in maps:
        assert granular.pattern(chance.normal(size=heights.shape), floor, flat=0.5).kind == "flat"


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
