"""Symmetries of scenes: exact maps, and the partner of each body."""

from __future__ import annotations

import numpy as np
import pytest

from carom.errors import ProblemError
from carom.scene.symmetry import Symmetry, mirror, mirror_plane, turn


def test_mirrors_along_the_axes_are_exact():
    """No sine of a right angle: rounding there would break bitwise symmetry."""
    assert mirror((0.0, 1.0)).matrix == ((-1.0, 0.0), (0.0, 1.0))
    assert mirror((3.0, 0.0)).matrix == ((1.0, 0.0), (0.0, -1.0))
    assert mirror((1.0, 1.0)).matrix == ((0.0, 1.0), (1.0, 0.0))
    assert turn(4).matrix == ((0.0, -1.0), (1.0, 0.0))


def test_images_of_places_velocities_and_spins():
    s = mirror((0.0, 1.0), point=(2.0, 0.0))
    np.testing.assert_array_equal(s.image([[3.0, 5.0]]), [[1.0, 5.0]])
    np.testing.assert_array_equal(s.image_of_velocity([[1.0, 2.0]]), [[-1.0, 2.0]])  # the center does not matter
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


# -- space -----------------------------------------------------------------------------------------------------


def test_maps_of_space_are_exact_where_they_can_be():
    assert mirror_plane((0.0, 0.0, 2.0)).matrix == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0))
    assert mirror_plane((1.0, -1.0, 0.0)).matrix == ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert turn(4, axis=(0.0, 0.0, 3.0)).matrix == ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert turn(3, axis=(1.0, 1.0, 1.0)).matrix == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def test_handedness_of_space():
    assert mirror_plane().handedness == -1.0 and turn(5, axis=(1.0, 2.0, 3.0)).handedness == 1.0
    assert Symmetry(-np.eye(3)).handedness == -1.0  # the point reflection turns right hands into left ones


@pytest.mark.parametrize(
    "s",
    [mirror_plane((1.0, 2.0, -0.5), (1.0, 0.0, 3.0)), turn(5, (1.0, 1.0, 0.0), (0.3, -1.0, 2.0)), Symmetry(-np.eye(3))],
)
def test_spins_are_axial_vectors(s):
    """The velocity of a point of the image is the image of the velocity of the point: v + w x r in both."""
    random = np.random.default_rng(4)
    r, v, w = random.normal(size=(3, 3))
    image = s.image_of_velocity(np.concatenate([v, w]))
    point = s.image_of_velocity(v + np.cross(w, r))
    arm = s.image(r) - s.image(np.zeros(3))
    np.testing.assert_allclose(image[:3] + np.cross(image[3:], arm), point, atol=1e-14)


def test_partners_in_a_cube():
    corners = np.array(np.meshgrid([2.0, 4.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, -1).T
    for s in (mirror_plane(point=(3.0, 0.0, 0.0)), turn(3, (3.0, 0.0, 0.0), (1.0, 1.0, 1.0))):
        p = s.permutation(corners)
        np.testing.assert_array_equal(s.image(corners), corners[p])
        assert sorted(p) == list(range(8))
    with pytest.raises(ProblemError, match="no partner"):
        mirror_plane().permutation(corners)
    with pytest.raises(ProblemError, match="3 components"):
        mirror().permutation(corners)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Symmetry(np.diag([1.0, 1.0, 2.0])), "orthogonal"),
        (lambda: Symmetry(np.eye(4)), "orthogonal"),
        (lambda: Symmetry("mirror"), "orthogonal"),
        (lambda: Symmetry(np.eye(3), (0.0, 0.0)), "three finite numbers"),
        (lambda: mirror_plane((0.0, 0.0, 0.0)), "not zero"),
        (lambda: mirror_plane((0.0, 1.0)), "not zero"),
        (lambda: turn(3, axis=(0.0, 0.0, 0.0)), "not zero"),
        (lambda: turn(1, axis=(0.0, 0.0, 1.0)), "whole number"),
    ],
)
def test_what_is_no_map_of_space(make, word):
    with pytest.raises(ProblemError, match=word):
        make()
