"""Contacts of pairs of convex solids: what holds for every two kinds, and the manifolds of boxes and cylinders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.geometry.rotations import matrices
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Compound, Cylinder, Part, Sphere

from .convex_cases import (
    PAIRS,
    SHAPES,
    Body,
    contacts_of,
    gap_of,
    is_curved,
    moving,
    pair_at,
    random_turn,
    rotation,
    still,
)

SEEDS = st.integers(0, 2**32 - 1)
MARGIN = 0.02
NEAR = st.floats(-0.02, 0.015)
WITH_SPECK, _ = make_shapes([*((name, shape, 1) for name, shape in SHAPES.items()), ("speck", Sphere(1e-9), 1)])


@given(SEEDS, st.sampled_from(PAIRS), NEAR)
def test_unit_normals_from_first_to_second_and_the_true_gap(seed, pair, gap):
    a, b = pair_at(*pair, gap, seed)
    found = contacts_of(a, b, MARGIN)
    assert len(found.gap)
    assert np.linalg.norm(found.normal, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (found.normal @ (b.position - a.position) > 0.0).all()
    assert found.predicted == pytest.approx(found.gap, abs=1e-9)  # nothing moves
    # The nearest contact has the gap of the bodies. Two boxes are measured along a separating axis, which is not the
    # shortest way where corners meet: then the gap is a little smaller.
    assert found.gap.min() == pytest.approx(gap, abs=1e-2 if pair == ("box", "box") else 2e-5)
    assert len(set(found.feature.tolist())) == len(found.feature)
    assert ((found.feature >= 0) & (found.feature < 2**20)).all()


@given(SEEDS, st.sampled_from(PAIRS), NEAR)
def test_points_lie_midway_between_the_surfaces(seed, pair, gap):
    """Half a gap along the normal from each point there is a surface: a tiny ball there just touches both bodies."""
    a, b = pair_at(*pair, gap, seed)
    found = contacts_of(a, b, MARGIN)
    k = int(np.argmin(found.gap))
    for body, side in ((a, -0.5), (b, 0.5)):
        place = found.point[k] + side * found.gap[k] * found.normal[k]
        loose = 1e-2 if pair == ("box", "box") else 5e-4
        assert abs(gap_of(body, still(len(SHAPES), place), WITH_SPECK)) < loose


@given(SEEDS, st.sampled_from(PAIRS), NEAR, st.floats(0.0, 0.05))
def test_swapped_bodies_have_the_same_contacts_mirrored(seed, pair, gap, speed):
    a, b = pair_at(*pair, gap, seed)
    rng = np.random.default_rng(seed)
    a, b = (moving(x, speed * rng.normal(size=3), speed * rng.normal(size=3)) for x in (a, b))
    one, two = contacts_of(a, b, MARGIN), contacts_of(b, a, MARGIN)
    assert len(one.gap) == len(two.gap)
    for p, q in ((one.point, two.point), (one.normal, -two.normal), (one.gap, two.gap), (one.predicted, two.predicted)):
        assert p == pytest.approx(q, abs=1e-9)


@given(SEEDS, st.sampled_from(PAIRS), NEAR)
def test_a_common_rigid_motion_changes_nothing(seed, pair, gap):
    """Contacts of bodies seen from another frame; and a common motion during the step closes no gap."""
    a, b = pair_at(*pair, gap, seed)
    rng = np.random.default_rng(seed)
    turn, shift = random_turn(rng), rng.normal(size=3)
    one = contacts_of(a, b, MARGIN)
    c, d = (still(x.number, turn @ x.position + shift, turn @ x.turn) for x in (a, b))
    two = contacts_of(c, d, MARGIN)
    # Directions between curved surfaces are good to 1e-6 or so, and decide a cylinder's rim points.
    tolerance = 1e-4 if is_curved(pair) else 1e-6
    assert len(one.gap) == len(two.gap)
    back = (two.point - shift) @ turn
    order = np.lexsort(np.round(back, 5).T)
    mine = np.lexsort(np.round(one.point, 5).T)
    assert back[order] == pytest.approx(one.point[mine], abs=tolerance)
    assert (two.normal @ turn)[order] == pytest.approx(one.normal[mine], abs=tolerance)
    turn, shift = rotation(0.03 * rng.normal(size=3)), 0.1 * shift
    a, b = (Body(x.number, x.position, x.turn, turn @ x.position + shift, turn @ x.turn) for x in (a, b))
    three = contacts_of(a, b, MARGIN)
    if len(three.gap) == len(one.gap):  # the band of corners depends on the motion: further ones may come in
        assert three.predicted == pytest.approx(one.gap, abs=tolerance)


@given(SEEDS, st.sampled_from(PAIRS), NEAR)
def test_a_small_shift_changes_gaps_by_as_much(seed, pair, gap):
    """Continuity: a shift by 1e-7 changes the least gap by that much at most."""
    a, b = pair_at(*pair, gap, seed)
    shift = 1e-7 * np.random.default_rng(seed).normal(size=3)
    c = still(b.number, b.position + shift, b.turn)
    one, two = contacts_of(a, b, MARGIN).gap.min(), contacts_of(a, c, MARGIN).gap.min()
    assert abs(one - two) <= 2.0 * np.linalg.norm(shift) + (1e-6 if is_curved(pair) else 1e-9)


def cubes(*shapes):
    tables, _ = make_shapes([(f"{i}", shape, 1) for i, shape in enumerate(shapes)])
    return tables


def body(tables, number, position, turn=None):
    """A body whose form, not its principal frame, is turned as told."""
    turn = np.eye(3) if turn is None else turn
    return still(number, position, turn @ tables.turn[tables.part_ptr[number]].T)


UNIT = cubes(Box((1.0, 1.0, 1.0)), Box((1.0, 1.0, 1.0)), Box((2.0, 2.0, 1.0)))
SQUARE = [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]


def touching(found, height=0.5):
    """Places across the vertical of contacts that all point up, sorted."""
    assert found.normal == pytest.approx(np.tile([0.0, 0.0, 1.0], (len(found.gap), 1)), abs=1e-9)
    assert found.point[:, 2] == pytest.approx(height, abs=1e-9)
    return np.array(sorted(map(tuple, np.round(found.point[:, :2], 6).tolist())))


def test_aligned_boxes_touch_at_four_corners():
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, (0, 0, 1.0)), 0.01, UNIT)
    assert touching(found) == pytest.approx(np.array(sorted(SQUARE)))


def test_small_box_on_a_large_one_touches_at_its_own_corners():
    found = contacts_of(body(UNIT, 2, (0, 0, 0)), body(UNIT, 1, (0.2, 0.3, 1.0)), 0.01, UNIT)
    assert touching(found) == pytest.approx(np.array(sorted(SQUARE)) + np.array([0.2, 0.3]))


def test_overhang_ends_at_the_edge():
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, (0.7, 0.0, 1.0)), 0.01, UNIT)
    assert touching(found) == pytest.approx(np.array([(0.2, -0.5), (0.2, 0.5), (0.5, -0.5), (0.5, 0.5)]))


def test_box_turned_by_45_degrees_touches_at_an_octagon():
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, (0, 0, 1.0), rotation((0, 0, np.pi / 4))), 0.01, UNIT)
    a = np.sqrt(0.5) - 0.5
    octagon = [(s * 0.5, t * a) for s in (-1, 1) for t in (-1, 1)] + [
        (s * a, t * 0.5) for s in (-1, 1) for t in (-1, 1)
    ]
    assert touching(found) == pytest.approx(np.array(sorted(octagon)), abs=1e-6)


def test_crossed_edges_touch_at_one_point():
    """Edges up and down, square to each other: a normal that is no face's."""
    low = body(UNIT, 0, (0, 0, 0), rotation((np.pi / 4, 0, 0)))
    high = body(UNIT, 1, (0, 0, np.sqrt(2.0) + 0.004), rotation((0, np.pi / 4, 0)))
    found = contacts_of(low, high, 0.01, UNIT)
    assert found.gap == pytest.approx([0.004], abs=1e-12)
    assert touching(found, np.sqrt(0.5) + 0.002) == pytest.approx(np.zeros((1, 2)))


@pytest.mark.parametrize("tilt", [1e-12, 1e-9, 1e-6, 1e-3])
def test_a_tilt_does_not_lose_corners(tilt):
    """A box that is a little tilted, and turned, touches at all eight corners of the common octagon."""
    turn = rotation((tilt, 0.7 * tilt, 0.0)) @ rotation((0, 0, np.pi / 4))
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, (0, 0, 1.0), turn), 0.01, UNIT)
    assert len(found.gap) == 8
    assert np.abs(found.gap).max() <= 1.5 * tilt + 1e-12
    assert found.normal[:, 2] == pytest.approx(1.0, abs=1e-4)


@given(SEEDS)
def test_contacts_follow_the_symmetry_of_a_cube(seed):
    """Turned by any of its own 24 rotations a cube is the same, and so are its contacts."""
    rng = np.random.default_rng(seed)
    turn = random_turn(rng)
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    low, high = 0.5, 2.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        far = gap_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, middle * way, turn), UNIT) > 0.003
        low, high = (low, middle) if far else (middle, high)
    first = body(UNIT, 0, (0, 0, 0))
    one = contacts_of(first, body(UNIT, 1, high * way, turn), 0.01, UNIT)
    quarter = [rotation(np.pi / 2 * axis) for axis in np.eye(3)]
    own = quarter[rng.integers(3)] @ quarter[rng.integers(3)] @ quarter[rng.integers(3)]
    two = contacts_of(first, body(UNIT, 1, high * way, turn @ own), 0.01, UNIT)
    assert two.point == pytest.approx(one.point, abs=1e-9)
    assert two.normal == pytest.approx(one.normal, abs=1e-9)


def test_cubes_edge_to_edge_share_the_normal():
    """Diagonal neighbors of a block of cubes: two axes are equally good, and neither is chosen."""
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), body(UNIT, 1, (1.0, 1.0, 0.0)), 0.01, UNIT)
    assert found.normal == pytest.approx(np.tile([np.sqrt(0.5), np.sqrt(0.5), 0.0], (2, 1)), abs=1e-12)
    assert sorted(found.point[:, 2]) == pytest.approx([-0.5, 0.5])


def test_a_box_that_slides_down_beside_another_is_not_lifted():
    """Edge above edge: the axis that stays open longer is that of the sides."""
    second = moving(body(UNIT, 1, (1.0, 0.0, 1.0)), (1e-6, 0.0, -1e-3))
    found = contacts_of(body(UNIT, 0, (0, 0, 0)), second, 0.01, UNIT)
    assert found.normal == pytest.approx(np.tile([1.0, 0.0, 0.0], (len(found.gap), 1)), abs=1e-9)


BARS = cubes(Box((0.1, 0.25, 0.886)), Box((0.1, 0.25, 0.974)))


def test_crossed_bars_that_are_nearly_parallel_touch_where_their_edges_cross():
    """A bar slides sideways off another one. The axis of the edges is within 0.01 rad of a face normal, which is
    several millimeters over the length of the bars; along it they are apart. A face replaces an edge only where both
    agree to 1e-3 of the size, here 5e-4; along the faces alone the bars would overlap by 4e-3."""
    turns = matrices(np.array([(0.771768, 0.029747, 0.634177, -0.036190), (0.770194, 0.001146, 0.637808, 0.000330)]))
    first, second = body(BARS, 0, (-0.618066, -0.234213, -0.014465), turns[0]), body(BARS, 1, (0, 0, 0), turns[1])
    found = contacts_of(first, second, 1e-3, BARS)
    assert found.gap.min() > -5e-4
    assert (np.abs(found.normal[:, 2]) > 0.9).all()


ROUND = cubes(Box((4.0, 4.0, 1.0)), Cylinder(0.5, 1.0), Cylinder(0.5, 1.0), Capsule(0.5, 1.0), Capsule(0.5, 1.0))
LYING = rotation((np.pi / 2, 0.0, 0.0))


def test_cylinder_standing_on_a_box():
    found = contacts_of(body(ROUND, 0, (0, 0, 0)), body(ROUND, 1, (0.3, 0.2, 1.0)), 0.01, ROUND)
    touching(found)
    assert len(found.gap) == 8
    assert found.point.mean(axis=0) == pytest.approx([0.3, 0.2, 0.5])
    assert np.linalg.norm(found.point[:, :2] - (0.3, 0.2), axis=1) == pytest.approx(0.5)


@pytest.mark.parametrize("number", [1, 3])
def test_lying_cylinder_or_capsule_touches_at_both_ends_of_a_line(number):
    found = contacts_of(body(ROUND, 0, (0, 0, 0)), body(ROUND, number, (0.3, 0.2, 1.0), LYING), 0.01, ROUND)
    assert touching(found) == pytest.approx(np.array([(0.3, -0.3), (0.3, 0.7)]))


@pytest.mark.parametrize("number", [1, 3])
def test_parallel_cylinders_or_capsules_touch_at_both_ends_of_the_common_stretch(number):
    first, second = body(ROUND, number, (0, 0, 0), LYING), body(ROUND, number + 1, (0.0, 0.4, 1.002), LYING)
    found = contacts_of(first, second, 0.01, ROUND)
    assert touching(found, 0.501) == pytest.approx(np.array([(0.0, -0.1), (0.0, 0.5)]))
    assert found.gap == pytest.approx([0.002, 0.002], abs=1e-12)


def test_cylinder_on_cylinder_coaxial():
    found = contacts_of(body(ROUND, 1, (0, 0, 0)), body(ROUND, 2, (0, 0, 1.0)), 0.01, ROUND)
    touching(found)
    assert len(found.gap) == 8
    turned = contacts_of(body(ROUND, 1, (0, 0, 0)), body(ROUND, 2, (0, 0, 1.0), rotation((0, 0, 0.2))), 0.01, ROUND)
    assert turned.point.mean(axis=0) == pytest.approx([0.0, 0.0, 0.5], abs=1e-12)


def test_tilted_cylinder_touches_at_its_lowest_point():
    """A coin on its edge: the rim's lowest point, whatever way the coin is turned about its axis."""
    for spin in (0.0, 0.1, 0.4):
        turn = rotation((0.4, 0.0, 0.0)) @ rotation((0.0, 0.0, spin))
        height = 0.5 + 0.5 * np.cos(0.4) + 0.5 * np.sin(0.4)
        found = contacts_of(body(ROUND, 0, (0, 0, 0)), body(ROUND, 1, (0, 0, height), turn), 0.01, ROUND)
        assert found.gap == pytest.approx([0.0], abs=1e-12)
        assert touching(found) == pytest.approx(np.array([(0.0, 0.5 * np.sin(0.4) - 0.5 * np.cos(0.4))]), abs=1e-6)


def test_compound_has_contacts_of_each_part():
    legs = [Part(Box((0.2, 0.2, 1.0)), (x, y, 0.0)) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    table = Compound([*legs, Part(Box((2.2, 2.2, 0.2)), (0.0, 0.0, 0.6))])
    tables, properties = make_shapes([("floor", Box((9.0, 9.0, 1.0)), 1), ("table", table, 1)])
    rise = properties[1].origin[2]  # the legs end at -0.5 of the frame that the parts are given in
    w, x, y, z = properties[1].frame
    q = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    floor = body(tables, 0, (0, 0, 0))
    found = contacts_of(floor, still(1, (0, 0, 1.0 + rise), q), 0.01, tables)
    touching(found)
    assert len(found.gap) == 16
    assert len(set(found.feature.tolist())) == 16
