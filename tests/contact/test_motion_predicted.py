"""Gaps after free flight: exact for the features that meet, not fooled by rolling, and there for fast bodies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carom.scene.parts import make_shapes
from carom.scene.shapes import Box, Capsule, Cylinder, Sphere

from .convex_cases import PAIRS, contacts_of, gap_of, is_curved, moving, pair_at, rotation, still
from .test_convex import body

SEEDS = st.integers(0, 2**32 - 1)
MOTION = 1e-3


@pytest.mark.parametrize("pair", PAIRS)
def test_predicted_gap_is_that_of_the_moved_bodies(pair):
    """The least predicted gap is the true one, up to the square of the motion over a radius of curvature.

    For the features that meet it is exact; what is left are rims that meet edges, and other features taking over.
    """
    worst, exact = 0.0, 0
    for seed in range(40):
        a, b = pair_at(*pair, 0.005, seed)
        ways = np.random.default_rng(seed).normal(size=(4, 3))
        ways *= MOTION / np.linalg.norm(ways, axis=1)[:, None]
        c, d = moving(a, ways[0], ways[1]), moving(b, ways[2], ways[3])
        ends = (still(x.number, x.position_after, x.turn_after) for x in (c, d))
        error = abs(contacts_of(c, d, 0.05).predicted.min() - gap_of(*ends))
        worst, exact = max(worst, error), exact + (error < 1e-10)
    # Places differ by up to 4 motions; radii of curvature are 0.3 and more, but smaller toward the tip of a cone.
    assert worst <= (120.0 if "cone" in pair else 60.0) * MOTION**2
    assert exact >= (5 if pair == ("cone", "cone") else 8 if is_curved(pair) else 36)


BALLS, _ = make_shapes([
    ("floor", Box((20.0, 20.0, 1.0)), 1), ("sphere", Sphere(0.5), 1), ("capsule", Capsule(0.5, 1.0), 1),
    ("cylinder", Cylinder(0.5, 1.0), 1),
])  # fmt: skip
LYING = rotation((np.pi / 2, 0.0, 0.0))


@pytest.mark.covering
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("angle", [1e-3, 0.1, 0.5])
def test_rolling_opens_no_gap(number, angle):
    """A round body that rolls by half a radian in a step still touches: its predicted gap is zero."""
    roller = moving(body(BALLS, number, (0, 0, 1.0), LYING), (0.5 * angle, 0.0, 0.0), (0.0, angle, 0.0))
    found = contacts_of(body(BALLS, 0, (0, 0, 0)), roller, 0.01, BALLS)
    assert len(found.gap) == (1 if number == 1 else 2)
    assert found.predicted == pytest.approx(0.0, abs=1e-12)


def test_a_rolling_coin_opens_no_gap():
    """A tilted cylinder that spins about its axis, and so rolls along its rim."""
    turn = rotation((0.4, 0.0, 0.0))
    height = 0.5 + 0.5 * np.cos(0.4) + 0.5 * np.sin(0.4)
    axis = turn @ np.array([0.0, 0.0, 1.0])
    coin = moving(body(BALLS, 3, (0, 0, height), turn), spin=0.3 * axis)
    found = contacts_of(body(BALLS, 0, (0, 0, 0)), coin, 0.01, BALLS)
    assert found.predicted == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_rolling_over_an_edge(number):
    """Rolled about a box's edge by an angle: the core goes round the edge, and the gap stays zero to second order."""
    floor = body(BALLS, 0, (-10.0, 0.0, 0.0))  # its edge is at x = 0, z = 0.5
    for angle in (0.05, 0.1):
        start, end = (np.array([np.sin(t), 0.0, np.cos(t)]) * 0.5 + (0.0, 0.0, 0.5) for t in (0.5, 0.5 + angle))
        roller = moving(body(BALLS, number, start, LYING), end - start, (0.0, 2.0 * angle, 0.0))
        found = contacts_of(floor, roller, 0.01, BALLS)
        assert len(found.gap) == (1 if number == 1 else 2)
        assert found.predicted == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_fast_body_hits_the_face_that_it_meets(number):
    """From beyond the edge of a plate, far above, into its face in one step: the normal is that of the face."""
    plate, _ = make_shapes([("plate", Box((2.0, 2.0, 0.2)), 1), ("a", Sphere(0.2), 1), ("b", Box((0.4,) * 3), 1),
                            ("c", Cylinder(0.2, 0.4), 1)])  # fmt: skip
    flyer = moving(body(plate, number, (1.6, 0.0, 2.0)), (-1.2, 0.0, -1.8))
    found = contacts_of(body(plate, 0, (0, 0, 0)), flyer, 0.01, plate)
    assert len(found.gap)
    assert found.normal == pytest.approx(np.tile([0.0, 0.0, 1.0], (len(found.gap), 1)), abs=1e-6)
    assert found.gap == pytest.approx(2.0 - 0.1 - 0.2, abs=1e-6)
    assert found.predicted == pytest.approx(0.2 - 0.3, abs=1e-6)


@given(SEEDS, st.sampled_from(PAIRS))
def test_what_overlaps_after_the_step_has_contacts(seed, pair):
    """However far apart bodies start, and however they turn on the way."""
    a, b = pair_at(*pair, -0.05, seed)
    rng = np.random.default_rng(seed)
    starts = []
    for x, side in ((a, 1.0), (b, -1.0)):  # the same places as ends of long flights
        turn = rotation(0.3 * rng.normal(size=3)) @ x.turn
        starts.append(x._replace(position=x.position - side * 1.5 * rng.random(3), turn=turn))
    found = contacts_of(*starts, 0.01)
    assert len(found.gap)
    assert (found.predicted <= 0.011).all()
    assert np.isfinite(found.normal).all() and np.isfinite(found.gap).all()


@given(SEEDS, st.sampled_from(PAIRS), st.floats(0.05, 0.5))
def test_what_stays_apart_has_none(seed, pair, gap):
    a, b = pair_at(*pair, gap, seed)
    size = 0.1 * gap
    rng = np.random.default_rng(seed)
    a, b = (moving(x, size * rng.uniform(-0.5, 0.5, 3), size * rng.uniform(-0.5, 0.5, 3)) for x in (a, b))
    assert not len(contacts_of(a, b, 0.01).gap)
