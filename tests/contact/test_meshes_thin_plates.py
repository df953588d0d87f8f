"""Two thin plates that close like a book: no vertex passes into the other plate unseen, and they stop each other."""

from __future__ import annotations

import numpy as np
import pytest

from carom import stepping
from carom.build import build
from carom.contact.detector import Detector, find_contacts
from carom.geometry.rotations import matrices
from carom.resolve.response import Response
from carom.scene import Bodies, Material, Scene
from carom.scene.shapes import Box
from carom.stepping.integrator import free_motion

SIZE = np.array([1.0, 0.7, 0.02])  # of a card; its thickness is the last
THICK = float(SIZE[2])
STEP = 0.01


def book(angle, rate, shift=0.0):
    """Two plates that meet at a spine along y at an angle, which closes at `rate`; one is shifted along the spine."""
    place, turn, velocity, spin = [], [], [], []
    for side in (-1.0, 1.0):
        a = 0.5 * np.pi - 0.5 * side * angle  # direction of the plate in the x-z plane
        along, out = np.array([np.cos(a), 0.0, np.sin(a)]), side * np.array([np.sin(a), 0.0, -np.cos(a)])
        center = 0.5 * SIZE[0] * along + 0.5005 * THICK * out + [0.0, 0.5 * side * shift, 0.0]
        spin.append([0.0, -0.5 * side * rate, 0.0])
        place.append(center)
        velocity.append(np.cross(spin[-1], center))
        turn.append([np.cos(0.5 * a), 0.0, -np.sin(0.5 * a), 0.0])
    plates = Bodies(
        Box(tuple(SIZE)), np.array(place), np.array(velocity), orientation=np.array(turn), spin=np.array(spin), mass=1.0
    )
    return Scene(
        name="book",
        bodies=[plates],
        materials={"default": Material(0.0, 0.3)},
        gravity=(0.0, 0.0, 0.0),
        step=STEP,
        stepper="drift_safe",
    )


CORNERS = 0.5 * SIZE * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def passed(before, after, owner, other):
    """Vertices of a plate that go through the near face of the other: (place before, depth below that face after)."""
    heights = []
    for state in (before, after):
        turn = matrices(state.orientation)
        corners = state.position[owner] + CORNERS @ turn[owner].T
        heights.append((corners - state.position[other]) @ turn[other])
    start, end = heights
    side = np.sign(start[:, 2].mean())
    within = [(np.abs(at[:, :2]) < 0.5 * SIZE[:2] - 1e-3).all(axis=1) for at in heights]
    depth = 0.5 * THICK - side * end[:, 2]
    hits = within[0] & within[1] & (depth > 1e-6) & (side * start[:, 2] > 0.5 * THICK)
    place = before.position[owner] + CORNERS @ matrices(before.orientation)[owner].T
    return [(place[k], depth[k]) for k in np.flatnonzero(hits)]


@pytest.mark.covering
@pytest.mark.parametrize("angle", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("rate", [2.0, 10.0, 30.0, 60.0])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_every_vertex_that_would_pass_has_a_contact(angle, rate, shift):
    """Where it is along the spine, and at least as deep as it is below the face of the other plate after free flight.

    Plates rotate by up to 0.3 rad each. Gaps are measured along the normal at the start, which differs from that of a
    face by up to the angle.
    """
    world, before = build(book(angle, rate, shift))
    after = free_motion(world, before, STEP)
    found = Detector(world).find(before, after, 1e-4)
    vertices = [*passed(before, after, 0, 1), *passed(before, after, 1, 0)]
    if angle + 0.01 < rate * STEP and shift > 0.0:
        assert vertices
    for place, depth in vertices:
        beside = np.abs(found.point[:, 1] - place[1]) < 1e-3
        assert found.predicted[beside].min() <= -np.cos(angle) * depth


@pytest.mark.covering
@pytest.mark.parametrize("rate", [2.0, 10.0, 30.0])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_plates_stop_each_other(rate, shift):
    """Measured: an overlap of up to 0.014 thicknesses, at 0.3 rad per step; 1.9 without far edges in the manifold."""
    scene = book(0.8, rate, shift)
    world, state = build(scene)
    engine = stepping.make(scene.stepper, world, Response.for_run(scene.law), STEP)
    for _ in range(int(1.2 / (rate * STEP)) + 20):
        state, _ = engine.step(state)
        assert find_contacts(world, state, state).gap.min(initial=0.0) > -0.1 * THICK


def separation(place, turn):
    """The largest separation of two plates over their fifteen axes, negative for overlap."""
    half, apart = 0.5 * SIZE, place[1] - place[0]
    axes = [*turn[0].T, *turn[1].T, *(np.cross(a, b) for a in turn[0].T for b in turn[1].T)]
    best = -np.inf
    for axis in axes:
        length = np.linalg.norm(axis)
        if length > 1e-3:
            n = axis / length
            best = max(best, abs(n @ apart) - np.abs(turn[0].T @ n) @ half - np.abs(turn[1].T @ n) @ half)
    return best


def test_nearly_parallel_plates_have_their_true_gap():
    """Plates that cross at small angles overlap by up to a tenth of a thickness: the deepest contact has that depth.

    It is often a crossing of two edges near a corner, at an angle to the faces that is too small to prefer the edges.
    The normal of a face is then used, which may cost CLEARER = 0.01 of the half thickness.
    """
    rng, tried = np.random.default_rng(5), 0
    while tried < 200:
        angle = rng.normal(size=3) * [0.01, 0.01, 1.0]
        half_turn = 0.5 * np.linalg.norm(angle)
        turns = np.array([[1.0, 0.0, 0.0, 0.0], [np.cos(half_turn), *np.sin(half_turn) * angle / (2.0 * half_turn)]])
        place = np.array([[0.0, 0.0, 0.0], [*rng.uniform(-0.8, 0.8, 2), rng.uniform(0.01, 0.03)]])
        best = separation(place, matrices(turns))
        if not -0.1 * THICK < best < -0.02 * THICK:
            continue
        tried += 1
        world, state = build(Scene("pair", [Bodies(Box(tuple(SIZE)), place, orientation=turns)]), check_overlap=False)
        found = find_contacts(world, state, state, 0.0)
        assert found.count, (place, turns)
        assert found.gap.min() == pytest.approx(best, abs=0.02 * 0.5 * THICK), (place, turns)
