"""Overlap and crossing after a step, of states that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from carom.build import build
from carom.contact.containment import Containment
from carom.contact.detector import Detector
from carom.scene import FIXED, Bodies, Container, Plane, Scene, Segment
from carom.scene.shapes import Box, Capsule, Disc, Mesh, Rectangle, Sphere

THIN = 0.02
TETRAHEDRON = Mesh(
    vertices=0.6 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    faces=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
    spacing=0.6 / 64.0,
)
SHAPES = {
    "disc": Disc(0.2), "rectangle": Rectangle(0.4, 0.3), "sphere": Sphere(0.2), "box": Box((0.4, 0.3, 0.2)),
    "capsule": Capsule(0.1, 0.4), "mesh": TETRAHEDRON,
}  # fmt: skip


def checker(shape, boundaries=(), plate=True):
    """A body above a plate of thickness THIN and length 2, and the test of its steps."""
    d = shape.dimension
    edges = (2.0,) * (d - 1) + (THIN,)
    groups = [Bodies(shape, np.eye(d)[-1:])]
    if plate:
        groups.append(Bodies(Rectangle(*edges) if d == 2 else Box(edges), np.zeros((1, d)), motion=FIXED))
    world, state = build(Scene("s", groups, list(boundaries), gravity=(0.0,) * d))
    return Containment(world, Detector(world)), state


def moved(state, place, turn=0.0):
    position, orientation = state.position.copy(), state.orientation.copy()
    position[0] = place
    if orientation.ndim == 1:
        orientation[0] += turn
    else:
        orientation[0] = (np.cos(0.5 * turn), np.sin(0.5 * turn), 0.0, 0.0)
    return replace(state, position=position, orientation=orientation)


@pytest.mark.covering
@pytest.mark.parametrize("turn", [0.0, 0.7])
@pytest.mark.parametrize("name", SHAPES)
def test_a_body_that_ends_beyond_a_plate_has_crossed_it(name, turn):
    test, state = checker(SHAPES[name])
    d = SHAPES[name].dimension
    through = test.violation(state, moved(state, -1.5 * np.eye(d)[-1], turn), 0.0)
    assert through is not None and (through.first, through.second) == (0, 1) and through.share == np.inf
    # Beside the plate and above it there is nothing to pass through.
    start = moved(state, 1.5 * np.eye(d)[0] + np.eye(d)[-1])
    assert test.violation(start, moved(state, 1.5 * np.eye(d)[0] - np.eye(d)[-1], turn), 0.0) is None
    assert test.violation(state, moved(state, 0.5 * np.eye(d)[0] + 0.7 * np.eye(d)[-1], turn), 0.0) is None


def test_the_overlap_at_the_end_counts_relative_to_the_thinner_body():
    """The sphere ends 0.0003 and 0.0008 inside a plate whose half width is 0.01: 3 and 8 %, allowed are 4 %."""
    test, state = checker(SHAPES["sphere"])
    top = 0.2 + 0.5 * THIN
    assert test.violation(state, moved(state, (0.0, 0.0, top - 0.0003)), 0.0) is None
    found = test.violation(state, moved(state, (0.0, 0.0, top - 0.0008)), 0.0)
    assert found is not None and found.share == pytest.approx(0.08, rel=1e-6)
    assert found.overlap == pytest.approx(0.0008, rel=1e-6)


@pytest.mark.parametrize("name", ["disc", "rectangle", "sphere", "box", "mesh"])
def test_a_body_outside_its_container_is_noticed_at_any_distance(name):
    d = SHAPES[name].dimension
    test, state = checker(SHAPES[name], [Container((-2.0,) * d, (2.0,) * d)], plate=False)
    for far in (2.5, 200.0):
        found = test.violation(state, moved(state, far * np.eye(d)[0]), 0.0)
        assert found is not None and found.second < 0 and found.overlap > far - 2.0


def test_a_segment_is_crossed_by_a_center_and_not_beside_its_end():
    test, state = checker(SHAPES["rectangle"], [Segment((-1.0, 0.0), (1.0, 0.0))], plate=False)
    found = test.violation(state, moved(state, (0.5, -3.0)), 0.0)
    assert found is not None and found.second == -1
    assert test.violation(moved(state, (1.6, 1.0)), moved(state, (1.6, -3.0)), 0.0) is None


def test_slow_bodies_are_tested_only_if_an_overlap_was_noticed():
    test, state = checker(SHAPES["disc"], [Plane()], plate=False)
    start, end = moved(state, (0.0, 0.1801)), moved(state, (0.0, 0.18))  # 10 % inside the plane
    assert test.violation(start, end, 0.0) is None
    assert test.violation(start, end, 0.02) is not None


def test_an_overlap_does_not_hide_a_crossing():
    """The disc ends beyond the plate and 5 % inside a plane, which shorter steps need not prevent."""
    test, state = checker(SHAPES["disc"], [Plane((0.0, -1.5))])
    found = test.violation(state, moved(state, (0.0, -1.31)), 0.0)
    assert found is not None and found.second == 1 and found.share == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_overlap_of_contacts_is_that_of_all_pairs(seed):
    """Boxes and spheres of one half width: measuring the deepest contacts finds the deepest overlap of any pair."""
    chance = np.random.default_rng(seed)
    place, turn = chance.uniform(-1.2, 1.2, (40, 3)), chance.normal(size=(30, 4))
    turn /= np.linalg.norm(turn, axis=1)[:, None]
    apart = np.stack([np.arange(40.0), np.zeros(40), np.zeros(40)], axis=1)
    groups = [Bodies(Box((0.5, 0.4, 0.3)), apart[:30], orientation=turn), Bodies(Sphere(0.15), apart[30:])]
    world, state = build(Scene("s", groups, [Plane((0.0, 0.0, -1.3))], gravity=(0.0,) * 3))
    state = replace(state, position=place)
    test = Containment(world, Detector(world))
    deepest = test.overlap(state, 0.0)
    found = test.detector.at_ends(state, state, 0.05)
    assert deepest is not None and test.overlap_of(state, found) == pytest.approx(deepest.overlap, rel=1e-12)
    assert test.overlap_of(state, found.take(found.gap > 0.0)) == 0.0
