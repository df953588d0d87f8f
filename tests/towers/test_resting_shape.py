"""Resting shape: heights of least energy, with the forces that prove it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ProblemError
from carom.towers import Brick, Tower


def balanced(tower: Tower) -> None:
    """Forces of the contacts hold each free brick, force and torque: with closed gaps this proves least energy."""
    shape = tower.resting_shape()
    assert shape.certificate <= 1e-9
    up, torque = -tower.gravity * tower.mass * tower.free, np.zeros(tower.count)
    for i, j, x, f in zip(shape.upper, shape.lower, shape.at, shape.force):
        for brick, sign in ((i, 1.0), (j, -1.0)):
            if brick >= 0 and tower.free[brick]:
                up[brick] += sign * f
                torque[brick] += sign * f * (x - tower.center[brick, 0])
    total = tower.gravity * tower.mass.sum()
    assert np.abs(up).max() <= 1e-8 * total and np.abs(torque).max() <= 1e-8 * total * np.ptp(tower.center[:, 0] + 1)


def no_overlap(tower: Tower) -> float:
    """Deepest overlap of two bricks that were above each other, or of a brick with the ground."""
    shape = tower.resting_shape()
    deepest = max(0.0, -float(shape.heights[tower.free].min()))
    for i in range(tower.count):
        for j in range(tower.count):
            low, high = max(shape.left[i], shape.left[j]), min(shape.right[i], shape.right[j])
            if high - low < 1e-6 or tower.corners[j][:, 1].max() > tower.corners[i][:, 1].min() + 1e-9:
                continue
            for x in (low, high):
                upper = np.interp(x, (shape.left[i], shape.right[i]), shape.heights[i])
                lower = np.interp(x, (shape.left[j], shape.right[j]), shape.heights[j]) + shape.thickness[j]
                deepest = max(deepest, lower - upper)
    return deepest


@pytest.mark.parametrize("tower", [Tower.diamond(4), Tower.wall(5, 5), Tower.harmonic(5), Tower.stack([0, "1/2"])])
def test_a_tower_that_stands_rests_as_it_is(tower):
    shape = tower.resting_shape()
    assert shape.drop == pytest.approx(0.0, abs=1e-9 * shape.energy_before)
    bottom = np.array([c[:, 1].min() for c in tower.corners])
    assert shape.heights == pytest.approx(np.stack([bottom, bottom], axis=1), abs=1e-7)
    balanced(tower)


def test_brick_tips_over_an_edge_to_the_ground():
    """Center 1/10 beyond the edge of a table of height 1: it turns about the edge until its right end is on the ground.

    The edge, 4/10 from its left end, stays at height 1; the line through it and (6/10, 0) reaches 5/3 on the left.
    """
    table = Brick.rectangle(-2, "1/2", 4, 1, fixed=True)
    tower = Tower((table, Brick.rectangle("1/10", "5/4", 1, "1/2")), gravity=1.0)
    shape = tower.resting_shape()
    assert shape.heights[1] == pytest.approx([1.0 + 2.0 / 3.0, 0.0], abs=1e-9)
    assert shape.drop == pytest.approx(0.5 * (1.0 - 5.0 / 6.0), abs=1e-9)
    assert shape.heights[0] == pytest.approx([0.0, 0.0])
    assert sorted(zip(shape.lower.tolist(), np.round(shape.at, 9).tolist())) == [(-1, 0.6), (0, 0.0)]
    assert dict(zip(shape.lower.tolist(), shape.force)) == pytest.approx({0: 0.5 * 5 / 6, -1: 0.5 / 6})
    balanced(tower)


def test_diamond_of_five_sinks_and_stays_symmetric():
    tower = Tower.diamond(5)
    shape = tower.resting_shape()
    assert shape.drop > 0.0
    balanced(tower)
    assert no_overlap(tower) <= 1e-8
    place = {tuple(np.round(c, 6) + 0.0): i for i, c in enumerate(tower.center)}
    for (x, y), i in place.items():
        assert shape.heights[i] == pytest.approx(shape.heights[place[-x + 0.0, y]][::-1], abs=1e-7)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.lists(st.integers(0, 10), min_size=3, max_size=3)), min_size=1, max_size=4)
)
def test_energy_falls_iff_the_tower_does(rows):
    """Bricks along the axes push straight up only: the tower stands iff this LP cannot lower it.

    A brick that leans on its neighbor's side could break the rule, so rows keep a gap.
    """
    bricks, below = [], [Fraction(0)]
    for level, (count, gaps) in enumerate(rows):
        places = [below[0] + Fraction(gaps[0] - 5, 4)]
        for k in range(1, count):
            places.append(places[-1] + 3 + Fraction(1 + gaps[k], 8))
        places = [x for x in places if level == 0 or any(abs(x - u) < 3 for u in below)]
        bricks += [Brick.rectangle(x, Fraction(2 * level + 1, 2), 3, 1) for x in places]
        below = places
    tower = Tower(tuple(bricks))
    shape = tower.resting_shape()
    assert shape.certificate <= 1e-9 and no_overlap(tower) <= 1e-8
    assert tower.stability().stable is bool(shape.drop <= 1e-9 * shape.energy_before)
    balanced(tower)


def test_balanced_bricks_do_not_tilt_needlessly():
    """A brick with its center right over the edge could tilt at no cost: it stays."""
    table = Brick.rectangle(-2, "1/2", 4, 1, fixed=True)
    shape = Tower((table, Brick.rectangle(0, "5/4", 1, "1/2"))).resting_shape()
    assert shape.heights[1] == pytest.approx([1.0, 1.0], abs=1e-9)


def test_polygons_follow_the_heights():
    shape = Tower.diamond(5).resting_shape()
    assert len(shape.polygons) == 25
    for polygon, (low, high), t in zip(shape.polygons, shape.heights, shape.thickness):
        x, y = polygon.T
        area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        assert area == pytest.approx(3.0)  # anticlockwise, and shearing keeps the area
        assert polygon[0, 1] == low and polygon[1, 1] == high and polygon[2, 1] == pytest.approx(high + t)
    assert "tilt" in shape.summary()


def test_scale_and_gravity_only_scale_the_answer():
    base = Tower.diamond(5, gravity=1.0).resting_shape()
    small = Tower.diamond(5, (3e-3, 1e-3), gravity=1e5).resting_shape()
    assert small.heights == pytest.approx(1e-3 * base.heights, abs=1e-10)
    assert small.drop == pytest.approx(1e-9 * 1e5 * base.drop, rel=1e-7)


def test_other_shapes_and_pins_are_refused():
    with pytest.raises(ProblemError, match="axis-aligned rectangle"):
        Tower.from_bricks([{"corners": [(0, 0), (2, 0), (1, 1)]}]).resting_shape()
    with pytest.raises(ProblemError, match="pins"):
        Tower.from_bricks([(0, 0.5, 1, 1)], pins=[(0, -1, (0.0, 0.5))]).resting_shape()
