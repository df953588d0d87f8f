"""Contacts of whole worlds: all kinds of pairs and boundaries at once, with geometry that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.shapes_2d import hull_distance, placed
from tests.stepping.runs import box, clusters, disc

from carom.build import build
from carom.contact.detector import find_contacts
from carom.scene import FIXED, Bodies, Container, Disc, Drum, Moving, Plane, Rectangle, Scene, Segment
from carom.world import DISC, State


def moved(state: State, move, h: float = 0.01) -> State:
    """The state after free flight by `move`."""
    return State(state.time + h, state.step, state.position + move, state.orientation, state.velocity)


def test_two_discs_by_hand():
    """Centers 3, 4 apart, radii 2 and 2.5: gap 0.5 before; the second moves 1 nearer along the line."""
    world, state = build(Scene("s", [disc(1.0, 1.0, radius=2.0), disc(4.0, 5.0, radius=2.5)]))
    found = find_contacts(world, state, moved(state, [[0.0, 0.0], [-0.6, -0.8]]))
    assert (found.first[0], found.second[0], found.count) == (0, 1, 1)
    np.testing.assert_allclose(found.normal, [[0.6, 0.8]], rtol=1e-15)
    np.testing.assert_allclose(found.gap, [0.5], rtol=1e-14)
    np.testing.assert_allclose(found.predicted, [-0.5], rtol=1e-14)
    np.testing.assert_allclose(found.point, [[1.0 + 2.25 * 0.6, 1.0 + 2.25 * 0.8]], rtol=1e-15)  # midway in the gap


def test_normal_is_that_of_the_start_though_found_at_the_end():
    """A disc that flies past the corner of another in one step is hit as it stood before."""
    world, state = build(Scene("s", [disc(0.0, 0.0), disc(3.0, 0.0)]))
    found = find_contacts(world, state, moved(state, [[0.0, 0.0], [-2.0, 1.0]]))
    np.testing.assert_array_equal(found.normal, [[1.0, 0.0]])
    np.testing.assert_allclose(found.predicted, [np.sqrt(2.0) - 2.0], rtol=1e-14)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_margin_decides(margin):
    world, state = build(Scene("s", [disc(0.0, 0.0), disc(2.2, 0.0)], [Plane((0.0, -1.25))]))
    found = find_contacts(world, state, state, margin)
    assert found.count == (3 if margin else 0)
    assert (found.predicted <= margin).all()


def test_boundaries_are_named_from_minus_one_down():
    """A disc near every wall: floor, ceiling, left and right of a box are 0 to 3, then drum and segment."""
    walls = [Container((-1.0, -1.0), (1.0, 1.0)), Drum(1.1), Segment((-1.0, 0.0), (-0.9, 0.0))]
    world, state = build(Scene("s", [disc(0.0, 0.0, radius=0.5)], walls))
    found = find_contacts(world, state, state, 0.7)
    assert list(found.second) == [-1, -2, -3, -4, -5, -6]
    np.testing.assert_allclose(found.gap, [0.5, 0.5, 0.5, 0.5, 0.6, 0.4], rtol=1e-14)
    np.testing.assert_array_equal(found.normal[:4], [[0, -1], [0, 1], [-1, 0], [1, 0]])
    assert found.offset is None and found.drift is None


def test_what_cannot_be_pushed_has_no_contacts_among_itself():
    """Fixed and moving bodies overlap each other and the wall: none of it counts, only what touches the free disc."""
    bodies = [
        disc(0.0, 0.0, motion=FIXED),
        disc(1.0, 0.0, motion=Moving((1.0, 0.0))),
        box(0.5, 0.5, motion=FIXED),
        disc(2.5, 0.0),
    ]
    world, state = build(Scene("s", bodies, [Plane((0.0, -0.8))]), check_overlap=False)
    found = find_contacts(world, state, state)
    assert {tuple(sorted(p)) for p in zip(found.first.tolist(), found.second.tolist())} == {(1, 3), (-1, 3)}


def corners_of(world, state, body):
    shapes = world.shapes
    own = shapes.vertex[shapes.vertex_ptr[body] : shapes.vertex_ptr[body + 1]]
    return placed(own, *state.position[body], state.orientation[body])


@given(clusters(most=7, boundaries=[Plane((0.0, -2.0)), Drum(9.0, (0.0, 3.0))]), st.floats(0.0, 1.0))
def test_mixed_worlds(scene, margin):
    """Discs, boxes and polygons: unit normals, one or two contacts a pair, and none missing, by distance of hulls.

    Gaps of two polygons are taken along their normal: where corner faces corner that is less than their distance.
    """
    world, state = build(scene)
    found = find_contacts(world, state, state, margin)
    np.testing.assert_allclose(np.hypot(*found.normal.T), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found.gap, found.predicted)  # nothing moved
    names = list(zip(found.first.tolist(), found.second.tolist(), found.feature_id.tolist()))
    assert len(set(names)) == len(names)
    pairs = [name[:2] for name in names if name[1] >= 0]
    assert all(a < b for a, b in pairs) and max((pairs.count(p) for p in pairs), default=0) <= 2
    discs = world.shapes.kind == DISC
    for a in range(world.count):
        for b in range(a + 1, world.count):
            distance = distance_of(world, state, a, b)
            if distance < margin - 1e-6:
                assert (a, b) in pairs
            elif distance > (margin if discs[a] or discs[b] else 2.0 * margin) + 1e-6:
                assert (a, b) not in pairs
            if (discs[a] or discs[b]) and (a, b) in pairs:
                assert found.gap[[p[:2] == (a, b) for p in names]] == pytest.approx(distance, abs=2e-6)
    for k in np.flatnonzero(found.second >= 0):
        apart = state.position[found.second[k]] - state.position[found.first[k]]
        assert apart @ found.normal[k] > 0.0  # from first to second: none overlap here


def distance_of(world, state, a, b):
    """Distance of two bodies that do not overlap, from their hulls."""
    hulls, radii = [], 0.0
    for body in (a, b):
        if world.shapes.kind[body] == DISC:
            hulls.append(state.position[body][None])
            radii += world.shapes.radius[body]
        else:
            hulls.append(corners_of(world, state, body))
    return hull_distance(*hulls) - radii


def test_box_on_the_floor_has_its_two_corners():
    world, state = build(Scene("s", [box(0.0, 0.5, 2.0, 1.0)], [Plane()]))
    found = find_contacts(world, state, state, 1e-9)
    assert found.count == 2 and set(found.second) == {-1}
    np.testing.assert_allclose(np.sort(found.point[:, 0]), [-1.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-15)


def test_names_last_while_a_stack_slides():
    """(first, second, feature) stays the same from step to step: warm starts depend on it."""
    group = Bodies(Rectangle(1.0, 1.0), np.array([[0.0, 0.5], [0.1, 1.5], [-0.1, 2.5]]))
    world, state = build(Scene("s", [group], [Plane()]))

    def names(s):
        found = find_contacts(world, s, s, 1e-6)
        return sorted(zip(found.first, found.second, found.feature_id))

    first = names(state)
    assert len(first) == 6
    for shift in (0.3, 1.7):
        assert names(moved(state, [shift, 0.0])) == first


def test_take_keeps_the_columns_together():
    world, state = build(Scene("s", [Bodies(Disc(1.0), np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]))]))
    found = find_contacts(world, state, state, 1e-9)
    chosen = found.take(np.array([1]))
    assert chosen.count == 1
    for name in ("first", "second", "feature_id", "normal", "point", "gap", "predicted"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(found, name)[[1]])


def test_an_empty_world_of_contacts():
    world, state = build(Scene("s", [disc(0.0, 0.0), disc(9.0, 0.0)], [Plane((0.0, -5.0))]))
    found = find_contacts(world, state, state)
    assert found.count == 0 and found.normal.shape == (0, 2) and found.point.shape == (0, 2)
