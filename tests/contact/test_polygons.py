"""Contacts of polygons with polygons and discs: exact cases, symmetries, and independent distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carom.contact.polygons import polygon_pairs
from carom.geometry.polygons import half_width

from .gaps_2d import polygon_gap
from .shapes_2d import (
    SQUARE,
    hull_distance,
    hulls_meet,
    make_poses,
    make_shapes,
    moves,
    placed,
    places,
    polygons,
    rectangle,
    regular,
    rows_of,
)

ROUND = 1e-12  # some ten roundings of numbers near 1, times the number of operations


def contacts(bodies, start, end=None, margin=0.0, first=0, second=1):
    """Contacts of one pair as a list of dictionaries."""
    pairs = np.array([[first, second]])
    return rows_of(polygon_pairs(make_shapes(*bodies), make_poses(start, end), pairs, float(margin)))


def table(found, flip=1.0, mirror=1.0):
    """Contacts as rows (normal, point, gap, predicted) in an order of their own."""
    rows = [
        (*(c["normal"] * (flip * mirror, flip)), *(c["point"] * (mirror, 1.0)), c["gap"], c["predicted"]) for c in found
    ]
    rows.sort(key=lambda row: (round(row[2], 6), round(row[3], 6)))
    return np.array(rows).reshape(-1, 6)


def gap_of(bodies, poses):
    (x, y, angle), (u, v, other) = poses
    return polygon_gap(make_shapes(*bodies), 0, (x, y), angle, 1, (u, v), other)


def apart(a, b):
    """Leaves out polygons about one center: with several ways out that are equally short, none is the right one."""
    assume(np.hypot(b[0] - a[0], b[1] - a[1]) > 0.4)


def sunk(pose, depth):
    return (pose[0], pose[1] - depth, pose[2])


# Exact cases


def test_flat_box_on_box_touches_at_the_ends_of_the_common_stretch():
    """Upper box shifted by a quarter: it rests from its own left corner to the right corner of the lower one."""
    found = contacts([SQUARE, SQUARE], [(0, 0, 0), (0.25, 1.0, 0)], [(0, 0, 0), (0.25, 0.999, 0)])
    assert len(found) == 2
    np.testing.assert_allclose(table(found)[:, :4], [[0, 1, -0.25, 0.5], [0, 1, 0.5, 0.5]], rtol=0, atol=0)
    np.testing.assert_allclose([c["gap"] for c in found], 0.0, atol=0)
    np.testing.assert_allclose([c["predicted"] for c in found], -0.001, atol=ROUND)


@pytest.mark.parametrize("tilt", [0.0, 1e-9, -1e-9, 1e-15, -1e-15])
def test_parallel_faces_have_two_contacts_whatever_rounding_says(tilt):
    """Aligned boxes: neither the number, nor the names, nor the places of the contacts may depend on the tilt."""
    start, end = [(0, 0, 0), (0, 1.0 - 1e-9, tilt)], [(0, 0, 0), (0, 0.999, tilt)]
    found = contacts([SQUARE, SQUARE], start, end)
    level = contacts([SQUARE, SQUARE], [(0, 0, 0), (0, 1.0 - 1e-9, 0)], [(0, 0, 0), (0, 0.999, 0)])
    np.testing.assert_allclose(table(found), table(level), atol=2e-9)
    assert sorted(c["feature"] for c in found) == sorted(c["feature"] for c in level)


def test_long_box_on_short_one_touches_at_the_corners_of_the_short_one():
    found = contacts([rectangle(1, 1), rectangle(4, 2)], [(0, 0, 0), (0.7, 1.5, 0)], [(0, 0, 0), (0.7, 1.4, 0)])
    np.testing.assert_allclose(table(found)[:, :4], [[0, 1, -0.5, 0.5], [0, 1, 0.5, 0.5]], atol=ROUND)


@pytest.mark.parametrize("tilt", [np.pi / 4, 0.6, 0.9])
def test_corner_on_face(tilt):
    lowest = np.array(placed(SQUARE, 0, 0, tilt))[:, 1].min()
    height = 0.5 - lowest
    found = contacts(
        [rectangle(6, 1), SQUARE], [(0, 0, 0), (0.2, height, tilt)], [(0, 0, 0), (0.2, height - 0.01, tilt)]
    )
    assert len(found) == 1
    corner = placed(SQUARE, 0.2, height, tilt)
    np.testing.assert_allclose(found[0]["point"], corner[np.argmin(corner[:, 1])], atol=ROUND)
    np.testing.assert_allclose(found[0]["normal"], (0, 1), atol=ROUND)
    assert abs(found[0]["gap"]) < ROUND
    assert abs(found[0]["predicted"] + 0.01) < ROUND


def test_corner_has_one_name_on_either_side_of_its_balance():
    """A box that rocks over its corner faces with one edge, then with the other; the contact keeps its name."""
    names = set()
    for tilt in (np.pi / 4 - 1e-3, np.pi / 4 - 1e-12, np.pi / 4, np.pi / 4 + 1e-12, np.pi / 4 + 1e-3):
        pose = (0.2, 0.5 + np.sqrt(0.5), tilt)
        names.add(contacts([rectangle(6, 1), SQUARE], [(0, 0, 0), pose], [(0, 0, 0), sunk(pose, 0.01)])[0]["feature"])
    assert len(names) == 1


@pytest.mark.parametrize("turn", [0.0, 0.3, 1.0, -2.0])
def test_equal_corners_meet_along_the_diagonal(turn):
    """Nothing but rounding tells the two faces apart, so the normal favors neither."""
    c, s = np.cos(turn), np.sin(turn)
    diagonal = np.array([c - s, s + c])
    start, end = [(0, 0, turn), (*(1.01 * diagonal), turn)], [(0, 0, turn), (*(0.9 * diagonal), turn)]
    found = contacts([SQUARE, SQUARE], start, end)
    assert len(found) == 1
    np.testing.assert_allclose(found[0]["normal"], diagonal / np.sqrt(2), atol=1e-5)  # rounding / BIAS
    np.testing.assert_allclose(found[0]["point"], 0.505 * diagonal, atol=ROUND)
    assert found[0]["gap"] == pytest.approx(0.01 * np.sqrt(2), abs=1e-9)


@pytest.mark.parametrize("tilt", [-1e-12, 0.0, 1e-12])
def test_corner_whose_edges_face_down_equally_is_a_corner(tilt):
    """A box falls on its corner so fast that both neighbors would end in the floor: neither is preferred."""
    pose = (0.0, 0.5 + np.sqrt(0.5), np.pi / 4 + tilt)
    found = contacts([rectangle(6, 4), SQUARE], [(0, -1.5, 0), pose], [(0, -1.5, 0), sunk(pose, 1.0)])
    assert len(found) == 1
    np.testing.assert_allclose(found[0]["point"], (0.0, 0.5), atol=1e-11)


def test_box_that_sinks_beside_its_diagonal_neighbor_is_not_lifted_by_it():
    """Two columns that touch: the box in row 2 of one and that in row 1 of the other share a corner only."""
    for fall in (1e-3, 1e-7):
        found = contacts([SQUARE, SQUARE], [(0, 0, 0), (1, 1, 0)], [(0, 0, 0), (1, 1 - fall, 0)])
        assert len(found) == 1
        np.testing.assert_allclose(found[0]["normal"], (1, 0), atol=ROUND)
        assert found[0]["gap"] == 0.0 and abs(found[0]["predicted"]) < ROUND


def test_fast_box_hits_the_face_that_closes_last():
    """It starts farther off along x than along y, but is over the other box long before it comes down on it."""
    found = contacts([SQUARE, SQUARE], [(0, 0, 0), (-1.4, 1.3, 0)], [(0, 0, 0), (0.2, 0.9, 0)])
    np.testing.assert_allclose([c["normal"] for c in found], [(0, 1)] * 2, atol=ROUND)
    assert [c["gap"] for c in found] == pytest.approx([0.3, 0.3])
    slow = contacts([SQUARE, SQUARE], [(0, 0, 0), (-1.4, 1.05, 0)], [(0, 0, 0), (-0.9, 0.8, 0)])
    np.testing.assert_allclose([c["normal"] for c in slow], [(-1, 0)] * len(slow), atol=ROUND)


@pytest.mark.parametrize(("stretch", "count"), [(0.0, 1), (1e-10, 1), (1e-3, 2), (0.1, 2)])
def test_coincident_points_are_one(stretch, count):
    """Box beside box, higher up: they face each other along `stretch`."""
    start, end = (1.0, 1.0 - stretch, 0), (0.99, 1.0 - stretch, 0)
    assert len(contacts([SQUARE, SQUARE], [(0, 0, 0), start], [(0, 0, 0), end], margin=0.01)) == count


def test_sliding_box_does_not_stumble_over_a_seam():
    """It slides at x = 0 from one level box to the next and has sunk by 1e-6: the seam must not stop it."""
    found = contacts([SQUARE, SQUARE], [(0, 0, 0), (-1.005, 1.0 - 1e-6, 0)], [(0, 0, 0), (-0.995, 1.0 - 1e-6, 0)])
    np.testing.assert_allclose([c["normal"] for c in found], [(0, 1)] * len(found), atol=ROUND)
    assert found


def test_boxes_of_one_place_still_have_a_unit_normal():
    for contact in contacts([SQUARE, SQUARE], [(0, 0, 0), (0, 0, 0)]):
        assert np.hypot(*contact["normal"]) == pytest.approx(1.0)
        assert contact["gap"] == pytest.approx(-1.0)


def test_rows_of_copies_have_the_shape_of_their_owner():
    """Body 1 stands far off, its copy on top of body 0."""
    shapes = make_shapes(SQUARE, rectangle(2, 1))
    poses = make_poses([(0, 0, 0), (9, 1, 0), (0, 1, 0)], [(0, 0, 0), (9, 0.9, 0), (0, 0.9, 0)], owner=[0, 1, 1])
    found = rows_of(polygon_pairs(shapes, poses, np.array([[0, 1], [0, 2]]), 0.0))
    assert [c["second"] for c in found] == [2, 2]
    np.testing.assert_allclose([c["normal"] for c in found], [(0, 1)] * 2)
    np.testing.assert_allclose(sorted(c["point"][0] for c in found), [-0.5, 0.5])


def test_no_pairs_no_contacts():
    assert not len(polygon_pairs(make_shapes(SQUARE), make_poses([(0, 0, 0)]), np.empty((0, 2), np.int64), 0.0))


# Discs


@pytest.mark.parametrize(
    ("place", "normal", "gap", "feature"),
    [
        ((0.1, 0.9), (0, 1), -0.1, 4),  # face from corner 2
        ((-0.8, -0.2), (-1, 0), -0.2, 6),
        ((0.8, 0.9), (0.6, 0.8), 0.0, 5),  # corner 2 by 3-4-5
        ((0.8, -0.9), (0.6, -0.8), 0.0, 3),
        ((0.1, 0.4), (0, 1), -0.6, 4),  # center within the box
        ((-0.45, 0.1), (-1, 0), -0.55, 6),
        ((0.5, 0.5), None, -0.5, None),  # center on the corner: face or corner, but a contact
    ],
)
def test_disc_against_box(place, normal, gap, feature):
    found = contacts([SQUARE, 0.5], [(0, 0, 0), (*place, 0)], margin=1e-9)
    assert len(found) == 1
    contact = found[0]
    assert contact["gap"] == pytest.approx(gap, abs=ROUND)
    assert contact["predicted"] == pytest.approx(gap, abs=ROUND)
    assert np.hypot(*contact["normal"]) == pytest.approx(1.0, abs=ROUND)
    if normal is not None:
        np.testing.assert_allclose(contact["normal"], normal, atol=ROUND)
        assert contact["feature"] == feature
        surface = np.array(place) - 0.5 * np.array(normal)  # of the disc; the other surface is a gap farther
        np.testing.assert_allclose(contact["point"], surface - 0.5 * gap * np.array(normal), atol=ROUND)


def test_rolling_does_not_change_the_predicted_gap_of_a_disc():
    still = contacts([SQUARE, 0.5], [(0, 0, 0), (0, 1.01, 0)], [(0, 0, 0), (0.1, 0.99, 0)])
    turns = contacts([SQUARE, 0.5], [(0, 0, 0), (0, 1.01, 0)], [(0, 0, 0), (0.1, 0.99, 2.0)])
    assert still[0]["predicted"] == turns[0]["predicted"] == pytest.approx(-0.01)


@given(polygons(), st.floats(0.1, 1.0), places, places, moves, st.floats(0.0, 0.3))
def test_disc_and_polygon_in_either_order(shape, radius, a, b, move, margin):
    end = [tuple(np.add(a, move)), b]
    one = contacts([shape, radius], [a, b], end, margin)
    two = contacts([radius, shape], [b, a], end[::-1], margin)
    np.testing.assert_array_equal(table(one), table(two, flip=-1.0))
    assert [c["feature"] for c in one] == [c["feature"] for c in two]
    exact = gap_of([shape, radius], end)
    assume(abs(exact - margin) > 1e-9)
    assert len(one) == (exact <= margin)
    if one:
        assert one[0]["predicted"] == pytest.approx(exact, abs=ROUND)
        assert one[0]["gap"] == pytest.approx(gap_of([shape, radius], [a, b]), abs=ROUND)


# Properties of two polygons


@given(polygons(), polygons(), places, places, moves, st.floats(0.0, 0.2))
def test_contacts_if_and_only_if_the_predicted_polygons_meet(p, q, a, b, move, margin):
    end = [a, tuple(np.add(b, move))]
    ends = placed(p, *end[0]), placed(q, *end[1])
    separation = gap_of([p, q], end)
    assume(abs(separation) > 1e-6)
    assert bool(contacts([p, q], [a, b], end)) == hulls_meet(*ends)
    if separation > 0.0:
        assert separation == pytest.approx(hull_distance(*ends), abs=1e-6)  # the reference is good to 1e-8 or so
    if separation < margin:  # the distance is never less than the largest separation along a normal
        assert contacts([p, q], [a, b], end, margin)
    # Apart along some normal by more than the margin: no contact, even where the start overlaps.
    assert not contacts([p, q], [a, b], [(9.0, 9.0, 0.0), b], margin)


@given(polygons(), polygons(), places, places, moves)
def test_normals_are_unit_vectors_that_point_from_first_to_second(p, q, a, b, move):
    """Along the normal the second polygon leaves the first, by exactly the depth, if the bodies overlap at rest."""
    for contact in contacts([p, q], [a, b], [a, tuple(np.add(b, move))]):
        assert np.hypot(*contact["normal"]) == pytest.approx(1.0, abs=ROUND)
    apart(a, b)
    depth = -gap_of([p, q], [a, b])
    assume(depth > 1e-6)
    found = contacts([p, q], [a, b])
    assert min(c["gap"] for c in found) == pytest.approx(-depth, abs=2e-9)  # merged points: 1e-9
    for share in (0.5, 1.0, 2.0):
        x, y = b[:2] + share * depth * found[0]["normal"]
        left = gap_of([p, q], [a, (x, y, b[2])])
        assert left <= (share - 1.0) * depth + 1e-9 and (share > 1.0 or left == pytest.approx((share - 1.0) * depth))


@given(polygons(), polygons(), places, places, moves, st.floats(0.0, 0.2))
def test_swapped_polygons_have_the_same_contacts(p, q, a, b, move, margin):
    apart(a, b)
    end = [a, tuple(np.add(b, move))]
    one = contacts([p, q], [a, b], end, margin)
    two = contacts([p, q], [a, b], end, margin, first=1, second=0)
    np.testing.assert_allclose(table(one), table(two, flip=-1.0), atol=ROUND)


@given(polygons(), polygons(), places, places, moves, st.floats(0.0, 0.2), st.integers(0, 7))
def test_mirrored_polygons_have_mirrored_contacts(p, q, a, b, move, margin, turn):
    """Corners of the image run the other way round and begin elsewhere."""

    def image(shape):
        return np.roll((shape * (-1.0, 1.0))[::-1], turn, axis=0)

    def reflected(pose):
        return (-pose[0], pose[1], -pose[2])

    apart(a, b)
    start, end = [a, b], [a, tuple(np.add(b, move))]
    one = contacts([p, q], start, end, margin)
    two = contacts([image(p), image(q)], [reflected(x) for x in start], [reflected(x) for x in end], margin)
    np.testing.assert_allclose(table(one), table(two, mirror=-1.0), atol=1e-9)


@given(polygons(), polygons(), places, places, moves, moves)
def test_gaps_are_those_of_a_corner_and_a_face(p, q, a, b, move, other):
    """The name tells which corner and which face. Its gap is the distance from the face, before and after the step."""
    start, end = [a, b], [tuple(np.add(a, move)), tuple(np.add(b, other))]
    found = contacts([p, q], start, end)
    for contact in found:
        code, of_second = divmod(contact["feature"], 2)
        at = divmod(code, 65536)
        owner = 0 if of_second else 1  # of the face
        heights, faces = [], []
        for pose in (start, end):
            corners = [placed(p, *pose[0]), placed(q, *pose[1])]
            face, corner = corners[owner], corners[1 - owner][at[1 - owner]]
            along = face[(at[owner] + 1) % len(face)] - face[at[owner]]
            faces.append(np.array([along[1], -along[0]]) / np.hypot(*along))
            heights.append(faces[-1] @ (corner - face[at[owner]]))
        cosine = faces[0] @ contact["normal"] * (1 if of_second else -1)
        # A single contact may be one of two corners, which has no face; corners within 1e-6 share a name.
        if len(found) == 2 or cosine > 1.0 - 1e-12:
            assert contact["gap"] * cosine == pytest.approx(heights[0], abs=2e-6)
            assert contact["predicted"] * cosine == pytest.approx(heights[1], abs=2e-6)


@given(polygons(), polygons(), places, places, moves, st.floats(0.0, 0.2))
def test_predicted_gaps_keep_to_the_margin_or_there_is_one_contact(p, q, a, b, move, margin):
    found = contacts([p, q], [a, b], [a, tuple(np.add(b, move))], margin)
    over = [c for c in found if c["predicted"] > margin]
    assert not over or len(found) == 1 or np.ptp([c["predicted"] for c in found]) < 1e-8


@given(st.integers(3, 8), st.integers(3, 8), st.floats(0.1, 0.9), st.floats(-0.2, 0.2))
def test_names_last_through_small_motion(n, m, offset, tilt):
    """A polygon lies on another or stands on it with a corner, and shivers by 1e-9: nobody changes his name."""
    lower, upper = rectangle(3.0, 1.0), regular(m)
    pose = np.array([offset - 0.5, 0.0, tilt + np.pi / n])
    pose[1] = 0.5 - placed(upper, *pose)[:, 1].min()
    rng = np.random.default_rng(n * m)
    seen = set()
    for _ in range(5):
        start = pose + rng.uniform(-1e-9, 1e-9, 3)
        found = contacts([lower, upper], [(0, 0, 0), start], [(0, 0, 0), sunk(start, 1e-6)])
        names = tuple(sorted(c["feature"] for c in found))
        assert len(set(names)) == len(names) > 0
        seen.add(names)
    assert len(seen) == 1


# Distances and widths


@given(polygons(), polygons(), places, places)
def test_gap_is_symmetric_and_continuous(p, q, a, b):
    gap = gap_of([p, q], [a, b])
    assert gap == pytest.approx(gap_of([q, p], [b, a]), abs=ROUND)
    near = [a, (b[0] + 1e-7, b[1], b[2] + 1e-7)]
    assert abs(gap_of([p, q], near) - gap) < 5e-7  # no point of q moves by more than 1e-7 (1 + 2)


@given(polygons(), st.floats(0.1, 1.0), places, places)
def test_gap_of_disc_and_polygon_is_a_distance(shape, radius, a, b):
    gap = gap_of([shape, radius], [a, b])
    assert gap == pytest.approx(gap_of([radius, shape], [b, a]), abs=ROUND)
    corners = placed(shape, *a)
    if gap > -radius + 1e-6:
        assert gap == pytest.approx(hull_distance(corners, np.array([b[:2]])) - radius, abs=1e-6)
    else:
        edges = np.roll(corners, -1, axis=0) - corners
        away = np.array(b[:2]) - corners
        inward = (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]) / np.hypot(*edges.T)
        assert gap == pytest.approx(-inward.min() - radius, abs=1e-6)


def test_gap_of_two_discs():
    assert gap_of([1.0, 2.0], [(0, 0, 0), (3, 4, 1)]) == 2.0


@given(polygons())
def test_half_width_is_the_least_over_all_directions(shape):
    angle = np.linspace(0.0, np.pi, 4001)
    width = np.ptp(shape @ np.stack([np.cos(angle), np.sin(angle)]), axis=0).min()
    # A direction is missed by up to half a spacing of 8e-4, and with it up to 2 * 4e-4 of width.
    assert width - 8e-4 <= 2.0 * half_width(shape) <= width + ROUND


def test_half_width_of_a_plank():
    assert half_width(rectangle(7.0, 0.5)) == pytest.approx(0.25)
    assert half_width(regular(3)) == pytest.approx(0.75)
