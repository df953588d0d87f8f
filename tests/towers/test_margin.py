"""Margins: loads and shifts with limits that follow from the lever, and the weakest spot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom import ProblemError
from carom.towers import Brick, Tower
from carom.towers.contacts import contact_rows, weights
from carom.towers.margin import meeting_distance

WEIGHT = 9.81 / 4  # of the standard brick, 1 x 1/4


def gap_wall() -> Tower:
    """A beam on two feet, with room between the feet."""
    return Tower.from_bricks([(-2, 0.5, 1, 1), (2, 0.5, 1, 1), (0, 1.5, 6, 1)])


def test_load_beyond_the_edge_of_a_brick():
    """A force at 1/4 beyond the edge against the weight at 1/2 inside it: twice the weight."""
    one = Tower.stack([0])
    found = one.margin(load=(0, (0, -WEIGHT), (0.75, 0.25)))
    assert found.value == pytest.approx(2.0, rel=1e-9) and found.limit == "falls"
    left = contact_rows(one).T @ found.forces + weights(one)
    assert left == pytest.approx([0.0, 2.0 * WEIGHT, 2.0 * WEIGHT * 0.75], abs=1e-8)  # against the load
    assert found.motion[0, 2] < 0.0  # it tips to the right


@pytest.mark.parametrize(
    ("force", "expected"),
    [((0, -1), math.inf), ((0, 1), WEIGHT), ((1, 0), 0.0), ((-1, -1), 0.0)],
)
def test_loads_on_the_center_of_a_brick(force, expected):
    """Pressing never topples, lifting does at its weight, and without friction any push sideways moves it."""
    found = Tower.stack([0]).margin(load=(0, force))
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.limit == ("none" if math.isinf(expected) else "falls")


def test_load_on_a_fixed_brick_has_no_limit():
    assert Tower.harmonic(2).margin(load=("table", (0, -1))).value == math.inf


@given(st.integers(-40, 40), st.integers(1, 39))
def test_load_factor_is_where_the_verdict_changes(offset, place):
    """The factor agrees with the stability of a tower in which a brick of that weight stands for the load."""
    base = Tower.stack([0, Fraction(offset, 100)])
    x = Fraction(offset, 100) + Fraction(place, 80)
    factor = base.margin(load=(1, (0, -WEIGHT), (float(x), 0.5))).value
    for share, stands in ((1 - 1e-6, True), (1 + 1e-6, False)):
        if factor == 0.0 or math.isinf(factor):
            continue
        ball = Brick.polygon([(x, "1/2"), (x + 1, 1), (x - 1, 1)])  # it stands on its tip: a force at one point
        ball = Brick.polygon(ball.exact, density=Fraction(factor * share / 4) / ball.area)
        center = ball.properties("uniform").center
        assert center[0] == x
        assert base.with_(bricks=(*base.bricks, ball)).stability().stable is stands


def test_shift_of_the_top_of_two():
    """Its center may go to the edge below, at 1/2, and to the other one, at -1/2."""
    two = Tower.stack([0, "1/5"])
    right, left = two.margin(shift=1), two.margin(shift=1, direction=(-2, 0))
    assert right.value == pytest.approx(0.3, abs=1e-9) and left.value == pytest.approx(0.7, abs=1e-9)
    assert right.limit == left.limit == "falls"
    assert right.motion[1, 2] < 0.0 < left.motion[1, 2]
    assert right.forces.sum() == pytest.approx(3 * WEIGHT, rel=1e-9)


@pytest.mark.long
def test_shift_of_a_marginal_stack_is_none():
    found = Tower.harmonic(4).margin(shift=-1)
    assert found.value == 0.0 and found.limit == "falls"
    back = Tower.harmonic(4).margin(shift=-1, direction=(-1, 0))
    assert back.value > 0.5


def test_shift_until_bricks_meet():
    found = gap_wall().margin(shift=0, direction=(1, 0))
    assert found.value == pytest.approx(2.5, abs=1e-9)  # then the foot's left end has come to the beam's center, x = 0
    assert found.limit == "falls"
    blocked = Tower.from_bricks([(0, 0.5, 1, 1), ("27/20", 0.5, 1, 1)]).margin(shift=0)
    assert blocked.limit == "hits" and blocked.value == pytest.approx(0.35, rel=1e-12) and blocked.hit == (0, 1)
    assert "meets brick 1" in blocked.summary()
    into_ground = Tower.from_bricks([(0, 0.5, 1, 1), (0, 1.5, 1, 1)]).margin(shift=[0, 1], direction=(1, -1))
    assert into_ground.limit == "hits" and into_ground.value == 0.0 and into_ground.hit == (0, -1)


def test_shift_without_end():
    assert Tower.stack([0, 0]).margin(shift=[0, 1]).value == math.inf


def test_lifting_a_brick_leaves_it_in_the_air():
    found = Tower.stack([0, 0]).margin(shift=1, direction=(0, 1))
    assert found.value == 0.0 and found.limit == "falls"


def test_meeting_distance_of_squares():
    square = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])

    def at(x, y):
        return square + np.array([x, y])

    right, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert meeting_distance(square, at(3.0, 0.5), right, 1e-9) == pytest.approx(2.0)
    assert meeting_distance(square, at(3.0, 1.0), right, 1e-9) == math.inf  # it slides past, face on face
    assert meeting_distance(square, at(3.0, 0.0), up, 1e-9) == math.inf
    assert meeting_distance(square, at(-3.0, 0.0), right, 1e-9) == math.inf
    assert meeting_distance(square, at(1.0, 0.0), right, 1e-9) == 0.0
    slanting = np.array([1.0, 1.0]) / math.sqrt(2.0)
    assert meeting_distance(square, at(3.0, 2.5), slanting, 1e-9) == pytest.approx(2.0 * math.sqrt(2.0))


def test_weakest_spot_of_two():
    """The top's center is 0.3 inside the edge and its end 0.2 beyond: 0.3 / 0.2 of its weight on the end."""
    found = Tower.stack([0, "1/5"]).margin()
    assert found.kind == "weakest" and found.bricks == (1,)
    assert found.value == pytest.approx(1.5, rel=1e-9)
    assert found.point == pytest.approx((0.7, 0.5))


def test_weakest_spot_of_a_diamond_is_an_end_of_the_middle_row():
    found = Tower.diamond(4).margin()
    row = Tower.diamond(4).center[found.bricks[0]]
    assert abs(row[0]) == pytest.approx(4.5) and row[1] == pytest.approx(3.5)
    assert found.value == pytest.approx(1.0 / 11.0, rel=1e-8)
    values = [Tower.diamond(n).margin().value for n in (2, 3, 4)]
    assert values == sorted(values, reverse=True)


def test_weakest_point_is_an_end():
    """1/s is convex along a brick: no point between the ends is weaker."""
    two = Tower.stack([0, "1/5"])
    factors = [two.margin(load=(1, (0, -WEIGHT), (x, 0.5))).value for x in np.linspace(-0.3, 0.7, 11)]
    assert min(factors) == pytest.approx(two.margin().value, rel=1e-9)


def test_towers_that_cannot_fall_or_fall_already():
    assert Tower.stack([0]).margin().value == math.inf
    assert "no additional weight" in Tower.stack([0]).margin().summary()
    for options in ({}, {"shift": 1}, {"load": (1, (0, -1))}):
        found = Tower.diamond(5).margin(**options)
        assert found.value == 0.0 and "the tower falls" in found.summary() and found.motion is not None


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"load": (7, (0, -1))}, "brick"),
        ({"load": ("roof", (0, -1))}, "roof"),
        ({"load": (0, (0, 0))}, "zero"),
        ({"load": (0, (0, math.nan))}, "finite"),
        ({"load": (0,)}, "load"),
        ({"load": 3}, "load"),
        ({"load": (0, (0, -1), "here")}, "load point"),
        ({"shift": 9}, "brick"),
        ({"shift": []}, "shift"),
        ({"shift": 0, "direction": (0, 0)}, "direction"),
        ({"shift": 0, "direction": "right"}, "direction"),
        ({"shift": 0, "load": (0, (0, -1))}, "one of the two"),
    ],
)
def test_bad_questions_get_one_clear_message(options, word):
    with pytest.raises(ProblemError, match=word):
        Tower.stack([0, 0]).margin(**options)


def test_weakest_spot_needs_gravity():
    with pytest.raises(ProblemError, match="gravity"):
        Tower.stack([0, 0], gravity=0.0).margin()
