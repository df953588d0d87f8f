"""Contacts of convex solids with planes, tubes and shells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.contact.boundaries import boundary_table
from carom.contact.contact_set import ContactSet
from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Cylinder, Sphere
from carom.world import INSIDE, PLANE, TUBE, Boundaries

from .convex_cases import KINDS, TABLES, convex_boundaries, moving, poses_of, random_turn, rotation, still
from .gaps_3d import boundary_gap
from .test_convex import body

SEEDS = st.integers(0, 2**32 - 1)
SOLIDS, _ = make_shapes([
    ("cube", Box((1.0, 1.0, 1.0)), 1), ("sphere", Sphere(0.5), 1), ("capsule", Capsule(0.3, 1.0), 1),
    ("cylinder", Cylinder(0.5, 1.0), 1),
])  # fmt: skip
LYING = rotation((np.pi / 2, 0.0, 0.0))


def barrier(kind, radius=1.0, point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0)):
    return boundary_table(Boundaries(
        np.array([kind], np.int8), np.array([point]), np.array([axis]), np.array([radius]), np.zeros((1, 3)),
        np.zeros((1, 6)),
    ))  # fmt: skip


def contacts(bodies, before, after=None, margin=0.01, tables=SOLIDS):
    count = len(tables.round)
    table = convex_boundaries(
        tables, poses_of(bodies), np.ones(count, bool), before, before if after is None else after, margin
    )
    found = ContactSet(table, 3)
    assert (found.second == -1).all()
    return found.first, found.feature_id, found.normal, found.point, found.gap, found.predicted


def test_box_on_a_plane_has_its_four_corners():
    _, feature, normal, point, gap, predicted = contacts([body(SOLIDS, 0, (1, 2, 0.5))], barrier(PLANE))
    assert sorted(map(tuple, point.tolist())) == [(0.5, 1.5, 0), (0.5, 2.5, 0), (1.5, 1.5, 0), (1.5, 2.5, 0)]
    assert normal == pytest.approx(np.tile([0.0, 0.0, -1.0], (4, 1)))
    assert len(set(feature.tolist())) == 4
    assert not gap.any() and not predicted.any()


def test_a_box_with_all_corners_near_has_eight():
    """Every corner whose predicted gap is at most the margin, and no other."""
    _, _, _, _, gap, _ = contacts([body(SOLIDS, 0, (0, 0, 0.5))], barrier(PLANE), margin=1.0)
    assert sorted(gap.tolist()) == pytest.approx([0.0] * 4 + [1.0] * 4)


def test_standing_and_lying_cylinder():
    _, feature, _, point, gap, _ = contacts([body(SOLIDS, 3, (1, 0, 0.5))], barrier(PLANE))
    assert len(set(feature.tolist())) == 8
    assert point.mean(axis=0) == pytest.approx([1.0, 0.0, 0.0], abs=1e-15)
    assert gap == pytest.approx(0.0, abs=1e-15)
    _, _, _, point, _, _ = contacts([body(SOLIDS, 3, (1, 0, 0.5), LYING)], barrier(PLANE))
    assert sorted(map(tuple, np.round(point, 12).tolist())) == [(1.0, -0.5, 0.0), (1.0, 0.5, 0.0)]


def test_capsule_on_a_plane():
    _, _, _, point, _, _ = contacts([body(SOLIDS, 2, (0, 0, 0.3), LYING)], barrier(PLANE))
    assert sorted(map(tuple, np.round(point, 12).tolist())) == [(0.0, -0.5, 0.0), (0.0, 0.5, 0.0)]
    _, _, _, point, gap, _ = contacts([body(SOLIDS, 2, (0, 0, 0.8))], barrier(PLANE))
    assert gap == pytest.approx([0.0], abs=1e-15)


@pytest.mark.covering
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("kind", [PLANE, TUBE])
def test_rolling_opens_no_gap(number, kind):
    """Rolling along a plane, or round the inside of a tube of radius 3, by half a radian."""
    radius, angle = (0.3 if number == 2 else 0.5), 0.5
    if kind == PLANE:
        start, end, wall = np.array([0.0, 0.0, radius]), np.array([radius * angle, 0.0, radius]), barrier(PLANE)
    else:
        wall = barrier(TUBE, 3.0, axis=(0.0, 1.0, 0.0))
        start, end = ((3.0 - radius) * np.array([np.sin(t), 0.0, -np.cos(t)]) for t in (0.0, 0.1))
    roller = moving(body(SOLIDS, number, start, LYING), end - start, (0.0, angle, 0.0))
    _, _, _, _, gap, predicted = contacts([roller], wall)
    assert len(gap) == (1 if number == 1 else 2)
    assert predicted == pytest.approx(0.0, abs=1e-9)


@given(SEEDS, st.sampled_from([PLANE, TUBE, INSIDE]), st.sampled_from(KINDS))
def test_least_gap_is_that_of_the_body(seed, kind, name):
    """At the end of the step the nearest contact has the gap of the body; and nothing is missed or invented."""
    rng = np.random.default_rng(seed)
    number, wall = KINDS.index(name), barrier(kind, 1.2)
    place = np.array([0.0, 0.0, 0.5]) * rng.random() + 0.4 * rng.random(3)
    before = still(number, place, random_turn(rng))
    moved = moving(before, 0.01 * rng.normal(size=3), 0.02 * rng.normal(size=3))
    true = boundary_gap(TABLES, number, moved.position_after, moved.turn_after, wall, 0)
    row, _, normal, point, gap, predicted = contacts([moved], wall, margin=0.05, tables=TABLES)
    assert bool(len(row)) == (true <= 0.05)
    if len(row):
        assert predicted.min() == pytest.approx(true, abs=1e-9)
        assert np.linalg.norm(normal, axis=1) == pytest.approx(1.0)
        if kind == PLANE:
            assert point[:, 2] == pytest.approx(0.5 * gap, abs=1e-12)


def test_moving_wall_comes_to_the_body():
    """A floor that rises by 0.2 in the step meets a sphere and a box 0.1 above it."""
    bodies = [body(SOLIDS, 1, (0, 0, 0.6)), body(SOLIDS, 0, (3, 0, 0.6))]
    row, _, _, _, gap, predicted = contacts(bodies, barrier(PLANE), barrier(PLANE, point=(0.0, 0.0, 0.2)))
    assert row.tolist() == [0, 1, 1, 1, 1]
    assert gap == pytest.approx(0.1) and predicted == pytest.approx(-0.1)


def test_bodies_that_are_not_chosen_take_no_part():
    bodies = [body(SOLIDS, 1, (0, 0, 0.5)), body(SOLIDS, 0, (3, 0, 0.5))]
    chosen = np.array([True, False, False, False])
    table = convex_boundaries(SOLIDS, poses_of(bodies), chosen, barrier(PLANE), barrier(PLANE), 0.01)
    assert ContactSet(table, 3).first.tolist() == [1, 1, 1, 1]


def test_sphere_in_the_middle_of_a_shell_goes_where_it_flies():
    flyer = moving(body(SOLIDS, 1, (0, 0, 0)), (0.0, 0.7, 0.0))
    _, _, normal, _, gap, predicted = contacts([flyer], barrier(INSIDE))
    assert normal == pytest.approx(np.array([[0.0, 1.0, 0.0]]))
    assert gap == pytest.approx([0.5]) and predicted == pytest.approx([-0.2])
