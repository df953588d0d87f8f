"""Two thin plates that close like a book: no vertex passes into the other plate unseen, and they stop each other."""

from __future__ import annotations

import numpy as np
import pytest

from carom import stepping
from carom.build import build
from carom.contact.detector import Detector
from carom.contact.find import find_contacts
from carom.geometry.rotations import matrices
from carom.impact.response import Response
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


@pytest.mark.parametrize("rate", [2.0, 10.0, 30.0])
@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_plates_stop_each_other(rate, shift):
    """Measured: an overlap of up to 0.014 thicknesses, at 0.3 rad per step; 1.9 without far edges in the manifold."""
    scene = book(0.8, rate, shift)
    world, state = build(scene)
    engine = stepping.make(scene.stepper, world, Response.for_run(scene.law), STEP)
    for _ in range(int(1.2 / (rate * STEP)) + 20):
        state = engine.step(state)
        assert find_contacts(world, state, state).gap.min(initial=0.0) > -0.1 * THICK
