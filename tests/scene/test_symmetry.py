"""Symmetries of scenes: exact maps, and the partner of each body."""

from __future__ import annotations

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.scene.symmetry import Symmetry, mirror, turn


def test_mirrors_along_the_axes_are_exact():
    """No sine of a right angle: rounding there would break bitwise symmetry."""
    assert mirror((0.0, 1.0)).matrix == ((-1.0, 0.0), (0.0, 1.0))
    assert mirror((3.0, 0.0)).matrix == ((1.0, 0.0), (0.0, -1.0))
    assert mirror((1.0, 1.0)).matrix == ((0.0, 1.0), (1.0, 0.0))
    assert turn(4).matrix == ((0.0, -1.0), (1.0, 0.0))


def test_images_of_places_velocities_and_spins():
    s = mirror((0.0, 1.0), point=(2.0, 0.0))
    np.testing.assert_array_equal(s.image([[3.0, 5.0]]), [[1.0, 5.0]])
    np.testing.assert_array_equal(s.image_of_velocity([[1.0, 2.0]]), [[-1.0, 2.0]])  # the centre does not matter
    np.testing.assert_array_equal(s.image_of_velocity([[1.0, 2.0, 7.0]]), [[-1.0, 2.0, -7.0]])
    np.testing.assert_array_equal(turn(2).image_of_velocity([[1.0, 2.0, 7.0]]), [[-1.0, -2.0, 7.0]])


@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_partners_under_a_turn(parts):
    angle = 2.0 * np.pi * np.arange(12) / 12
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_array_equal(turn(parts).permutation(ring), (np.arange(12) + 12 // parts) % 12)


def test_positions_without_that_symmetry_are_refused():
    x = np.array([[-1.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    with pytest.raises(ProblemError, match="body 2 has no partner"):
        mirror().permutation(x)
    with pytest.raises(ProblemError, match="no partner"):  # two bodies claim the same one
        mirror().permutation(np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1e-9]]))


@pytest.mark.parametrize("matrix", [((1.0, 0.0),), ((1.0, 0.0), (0.0, 2.0)), ((np.nan, 0.0), (0.0, 1.0))])
def test_only_orthogonal_maps(matrix):
    with pytest.raises(ProblemError, match="orthogonal"):
        Symmetry(matrix)


def test_lists_and_tuples_are_one():
    assert Symmetry([[1, 0], [0, -1]], [0, 0]) == Symmetry(((1.0, 0.0), (0.0, -1.0)), (0.0, 0.0))
