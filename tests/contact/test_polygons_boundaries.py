"""Contacts of polygons with planes, drums and segments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carom.contact.contact_set import ContactSet
from carom.contact.polygons import polygon_boundaries
from carom.world import INSIDE, OUTSIDE, PLANE, SEGMENT

from .gaps_2d import boundary_gap
from .shapes_2d import (
    SQUARE,
    hull_distance,
    make_poses,
    make_shapes,
    make_walls,
    moves,
    placed,
    places,
    polygons,
    rectangle,
    regular,
    rows_of,
)

ROUND = 1e-12
FLOOR = (PLANE, (0.0, 0.0), (0.0, 1.0), 0.0)
DRUM = (INSIDE, (0.0, 0.0), (0.0, 0.0), 2.0)
PILLAR = (OUTSIDE, (0.0, 0.0), (0.0, 0.0), 1.0)
FENCE = (SEGMENT, (-1.0, 0.0), (1.0, 0.0), 0.0)


def contacts(shape, wall, start, end=None, margin=0.0, wall_after=None):
    walls = make_walls(wall), make_walls(wall if wall_after is None else wall_after)
    poses = make_poses([start], None if end is None else [end])
    return rows_of(polygon_boundaries(make_shapes(shape), poses, np.ones(1, bool), *walls, float(margin)))


def gap_of(shape, wall, pose):
    kind, a, b, radius = wall
    return boundary_gap(make_shapes(shape), 0, pose[:2], pose[2], kind, a, b, radius)


def by_place(found, name):
    return np.array([c[name] for c in sorted(found, key=lambda c: tuple(np.round(c["point"], 6)))])


# Planes


def test_flat_box_stands_on_its_two_lower_corners():
    found = contacts(SQUARE, FLOOR, (0.3, 0.52, 0), (0.3, 0.49, 0))
    assert [c["feature"] for c in found] == [0, 1]
    np.testing.assert_allclose(by_place(found, "point"), [(-0.2, 0.01), (0.8, 0.01)], atol=ROUND)
    np.testing.assert_allclose(by_place(found, "normal"), [(0, -1)] * 2)
    np.testing.assert_allclose(by_place(found, "gap"), 0.02, atol=ROUND)
    np.testing.assert_allclose(by_place(found, "predicted"), -0.01, atol=ROUND)


def test_box_that_is_all_below_keeps_its_lower_edge():
    assert [c["feature"] for c in contacts(SQUARE, FLOOR, (0, -3, 0))] == [0, 1]
    assert [c["feature"] for c in contacts(SQUARE, FLOOR, (0, -3, np.pi))] == [2, 3]


@pytest.mark.parametrize("slope", [0.1, 0.7, 2.0, -2.5])
def test_box_on_a_tilted_plane(slope):
    """The level case, turned about the origin."""
    c, s = np.cos(slope), np.sin(slope)
    turn = np.array([[c, -s], [s, c]])
    plane = (PLANE, tuple(turn @ (3.0, 0.0)), (-s, c), 0.0)
    start, end = turn @ (0.3, 0.52), turn @ (0.3, 0.49)
    found = contacts(SQUARE, plane, (*start, slope), (*end, slope))
    assert sorted(c["feature"] for c in found) == [0, 1]
    for contact in found:
        expected = (-0.2, 0.01) if contact["feature"] == 0 else (0.8, 0.01)
        np.testing.assert_allclose(contact["point"], turn @ expected, atol=ROUND)
        np.testing.assert_allclose(contact["normal"], (s, -c), atol=ROUND)
        assert contact["predicted"] == pytest.approx(-0.01, abs=ROUND)


def test_box_on_its_corner_has_one_contact_and_its_neighbors_equal_rights():
    pose = (0.0, np.sqrt(0.5), np.pi / 4)
    assert [c["feature"] for c in contacts(SQUARE, FLOOR, pose, margin=1e-9)] == [0]
    assert [c["feature"] for c in contacts(SQUARE, FLOOR, (0, -3, np.pi / 4))] == [0]
    tilted = (0.0, 0.5, np.pi / 4 - 0.1)
    assert sorted(c["feature"] for c in contacts(SQUARE, FLOOR, tilted, margin=1.0)) == [0, 1]


def test_moving_floor_counts_where_it_will_be():
    risen = (PLANE, (0.0, 0.1), (0.0, 1.0), 0.0)
    found = contacts(SQUARE, FLOOR, (0, 0.55, 0), wall_after=risen)
    assert [c["gap"] for c in found] == pytest.approx([0.05] * 2)
    assert [c["predicted"] for c in found] == pytest.approx([-0.05] * 2)
    assert not contacts(SQUARE, risen, (0, 0.55, 0), wall_after=FLOOR)


def test_fixed_bodies_and_discs_are_left_out():
    shapes = make_shapes(SQUARE, 0.5, SQUARE)
    poses = make_poses([(0, 0, 0)] * 3)
    walls = make_walls(FLOOR)
    table = polygon_boundaries(shapes, poses, np.array([False, True, True]), walls, walls, 0.0)
    assert set(ContactSet(table, 2).first) == {2}


def test_rows_and_walls_are_told_apart():
    """Two boxes in the corner of two planes: each names its own wall."""
    shapes = make_shapes(SQUARE, SQUARE)
    poses = make_poses([(0.5, 5.0, 0), (5.0, 0.5, 0)])
    walls = make_walls(FLOOR, (PLANE, (0.0, 0.0), (1.0, 0.0), 0.0))
    found = ContactSet(polygon_boundaries(shapes, poses, np.ones(2, bool), walls, walls, 1e-6), 2)
    assert sorted(zip(found.first, -1 - found.second)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
    np.testing.assert_allclose(found.normal[found.first == 0], [(-1, 0)] * 2)


# Circles


def test_box_in_a_drum_touches_with_its_lower_corners():
    height = -np.sqrt(4.0 - 0.25) + 0.5
    found = contacts(SQUARE, DRUM, (0, height, 0), (0, height - 0.01, 0))
    assert [c["feature"] for c in found] == [0, 1]
    for contact, x in zip(found, (-0.5, 0.5)):
        corner = np.array([x, height - 0.5])
        np.testing.assert_allclose(contact["normal"], corner / 2.0, atol=ROUND)
        np.testing.assert_allclose(contact["point"], corner, atol=ROUND)
        assert contact["gap"] == pytest.approx(0.0, abs=ROUND)
        assert contact["predicted"] == pytest.approx(2.0 - np.hypot(x, height - 0.51), abs=ROUND)


def test_polygon_too_large_for_its_drum_touches_with_every_corner():
    assert [c["feature"] for c in contacts(regular(7, 2.5), DRUM, (0, 0, 0.1))] == list(range(7))


def test_pillar_touches_the_face_or_the_corner():
    found = contacts(SQUARE, PILLAR, (0.2, 1.6, 0), (0.2, 1.45, 0))
    assert len(found) == 1
    np.testing.assert_allclose(found[0]["normal"], (0, -1), atol=ROUND)
    np.testing.assert_allclose(found[0]["point"], (0.0, 1.05), atol=ROUND)
    assert found[0]["gap"] == pytest.approx(0.1) and found[0]["predicted"] == pytest.approx(-0.05)
    found = contacts(SQUARE, PILLAR, (1.1, 1.3, 0), margin=1e-9)
    np.testing.assert_allclose(found[0]["normal"], (-0.6, -0.8), atol=ROUND)
    assert found[0]["feature"] == 1  # corner 0


# Segments


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_box_on_either_side_of_a_segment(side):
    found = contacts(SQUARE, FENCE, (0.8, 0.52 * side, 0), (0.8, 0.49 * side, 0))
    np.testing.assert_allclose(by_place(found, "normal"), [(0, -side)] * 2, atol=ROUND)
    np.testing.assert_allclose(by_place(found, "point"), [(0.3, 0.01 * side), (1.0, 0.01 * side)], atol=ROUND)
    np.testing.assert_allclose(by_place(found, "gap"), 0.02, atol=ROUND)
    np.testing.assert_allclose(by_place(found, "predicted"), -0.01, atol=ROUND)
    assert len({c["feature"] for c in found}) == 2


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_box_against_the_end_of_a_segment(side):
    found = contacts(SQUARE, FENCE, (1.51 * side, 0.2, 0), (1.48 * side, 0.2, 0))
    assert len(found) == 1
    np.testing.assert_allclose(found[0]["normal"], (-side, 0), atol=ROUND)
    np.testing.assert_allclose(found[0]["point"], (1.005 * side, 0), atol=ROUND)
    assert found[0]["gap"] == pytest.approx(0.01) and found[0]["predicted"] == pytest.approx(-0.02)


@pytest.mark.parametrize("end", [0.3, -0.3, -0.7, -8.0])
def test_box_is_held_by_a_segment_however_far_it_would_fly(end):
    """Half through, all through, far beyond: the normal is that of the side from which it comes."""
    found = contacts(SQUARE, FENCE, (0.1, 0.6, 0), (0.1, end, 0))
    assert len(found) == 2
    np.testing.assert_allclose(by_place(found, "normal"), [(0, -1)] * 2, atol=ROUND)
    np.testing.assert_allclose(by_place(found, "gap"), 0.1, atol=ROUND)
    np.testing.assert_allclose(by_place(found, "predicted"), end - 0.5, atol=ROUND)


def test_box_that_flies_past_the_end_of_a_segment_is_free():
    assert not contacts(SQUARE, FENCE, (1.7, 0.6, 0), (1.7, -8.0, 0))


# Against independent calculations

WALLS = [FLOOR, DRUM, PILLAR, FENCE]


@given(polygons(), st.sampled_from(WALLS), places, moves, st.floats(0.0, 0.2))
def test_contacts_if_and_only_if_the_predicted_gap_says_so(shape, wall, start, move, margin):
    end = tuple(np.add(start, move))
    exact = gap_of(shape, wall, end)
    found = contacts(shape, wall, start, end, margin)
    assume(abs(exact - margin) > 1e-9 and (wall is not FENCE or start[1] * end[1] > 0.0))
    if wall is not FENCE or exact <= 0.0:  # corner to end of a segment is farther than along any normal
        assert bool(found) == (exact <= margin)
    for contact in found:
        assert np.hypot(*contact["normal"]) == pytest.approx(1.0, abs=ROUND)
        assert wall is FENCE or contact["predicted"] <= margin
    if found and wall is not FENCE:
        assert min(c["predicted"] for c in found) == pytest.approx(exact, abs=ROUND)


@given(polygons(), places)
def test_wall_gaps_are_distances(shape, pose):
    corners = placed(shape, *pose)
    away = np.hypot(*corners.T)
    assert gap_of(shape, FLOOR, pose) == pytest.approx(corners[:, 1].min(), abs=ROUND)
    assert gap_of(shape, DRUM, pose) == pytest.approx(2.0 - away.max(), abs=ROUND)
    pillar, fence = gap_of(shape, PILLAR, pose), gap_of(shape, FENCE, pose)
    if pillar > -1.0 + 1e-6:
        assert pillar == pytest.approx(hull_distance(corners, np.zeros((1, 2))) - 1.0, abs=1e-6)
    distance = hull_distance(corners, np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert max(fence, 0.0) == pytest.approx(distance, abs=1e-6)


def test_wall_gaps_of_discs():
    pose = (1.5, 0.2, 0.0)
    assert gap_of(0.25, FLOOR, pose) == pytest.approx(-0.05)
    assert gap_of(0.25, DRUM, pose) == pytest.approx(1.75 - np.hypot(1.5, 0.2))
    assert gap_of(0.25, PILLAR, pose) == pytest.approx(np.hypot(1.5, 0.2) - 1.25)
    assert gap_of(0.25, FENCE, pose) == pytest.approx(np.hypot(0.5, 0.2) - 0.25)


@given(polygons(), st.sampled_from(WALLS), places, moves, st.floats(0.0, 0.2))
def test_mirrored_polygons_have_mirrored_contacts(shape, wall, start, move, margin):
    """All four walls are their own mirror image; corners of the image run the other way round."""
    end = tuple(np.add(start, move))
    image = (shape * (-1.0, 1.0))[::-1]
    one = contacts(shape, wall, start, end, margin)
    two = contacts(image, wall, (-start[0], start[1], -start[2]), (-end[0], end[1], -end[2]), margin)

    def rows(found, sign):
        return sorted(
            (round(sign * c["point"][0], 9), round(c["point"][1], 9), sign * c["normal"][0], c["gap"], c["predicted"])
            for c in found
        )

    np.testing.assert_allclose(rows(one, 1.0), rows(two, -1.0), atol=2e-9)


@given(st.floats(-0.6, 0.6), st.floats(-1e-3, 1e-3))
def test_plank_on_a_segment_has_two_contacts(x, tilt):
    """Longer than the segment, about level: the ends of the segment carry it."""
    plank = rectangle(4.0, 0.2)
    found = contacts(plank, FENCE, (x, 0.1, tilt), (x, 0.09, tilt), margin=0.01)
    np.testing.assert_allclose(by_place(found, "point")[:, 0], [-1.0, 1.0], atol=2e-3)
