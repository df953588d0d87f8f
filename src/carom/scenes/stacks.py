"""Structures that must stand: stacks of boxes in 2D and 3D, and a house of cards until two balls hit it."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Box, Rectangle, Sphere
from ..scene.symmetry import mirror, mirror_plane
from ..solvers.rows import Floats
from .parameters import Count, Flag, NotNegative, Positive, Restitution, declared

GRAVITY = 9.81


@declared
def box_stack(
    *, boxes: Count = 10, width: Positive = 1.0, height: Positive = 1.0, friction: NotNegative = 0.5
) -> Scene:
    """A tower of boxes on the ground that must stand still."""
    y = height * (np.arange(boxes) + 0.5)
    return Scene(
        name="box_stack",
        bodies=[Bodies(Rectangle(width, height), np.column_stack([np.zeros(boxes), y]), name="boxes")],
        boundaries=[Plane()],
        materials={"default": Material(restitution=0.0, friction=friction)},
        gravity=(0.0, -10.0),
        step=0.01,
        duration=60.0,
        frame_rate=10.0,
        stepper="drift_safe",
        description=f"A tower of {boxes} boxes at rest on the ground.",
        symmetries=[mirror((0.0, 1.0))],
    )


@declared
def box_tower_3d(*, boxes: Count = 10, friction: NotNegative = 0.5, restitution: Restitution = 0.0) -> Scene:
    """A tower of unit cubes that must stand."""
    place = np.zeros((boxes, 3))
    place[:, 2] = 0.5 + np.arange(boxes)
    return Scene(
        name="box_tower_3d",
        bodies=[Bodies(Box((1.0, 1.0, 1.0)), place, mass=1.0, name="boxes")],
        boundaries=[Plane()],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.01,
        duration=60.0,
        frame_rate=5.0,
        stepper="drift_safe",
        description=f"A tower of {boxes} boxes.",
    )


@declared
def card_house(
    *, stories: Count = 3, width: Count = 4, friction: NotNegative = 0.8, balls: Flag = True, rest: Positive = 10.0
) -> Scene:
    """A house of cards: 24 plates in three stories of 4, 3 and 2 pairs. Two balls hit it at the time `rest`.

    Plates are 1 x 0.7 x 0.02 and lean at 70 degrees; flat ones lie across the ridges (Zhang 2015, Card House).
    """
    if width < stories:
        raise ProblemError("width", width, f"at least stories = {stories}")
    size = (1.0, 0.7, 0.02)
    place, turn, half = card_poses(stories, width, size)
    cards = Bodies(Box(size), place, orientation=turn, name="cards")
    bodies = [cards]
    if balls:
        bodies.append(_balls(rest, half))
    return Scene(
        name="card_house",
        bodies=bodies,
        boundaries=[Plane()],
        materials={"default": Material(0.0, friction)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.002,
        duration=rest + 5.0,
        frame_rate=25.0,
        stepper="drift_safe",
        law="qce",
        description=f"A house of {len(place)} cards" + (", hit by two balls." if balls else "."),
        symmetries=[] if balls else [mirror_plane((0.0, 1.0, 0.0))],
    )


def card_poses(stories: int, width: int, size: tuple[float, float, float]) -> tuple[Floats, Floats, float]:
    """Positions (n, 3) and orientations (n, 4) of cards that lean at 70 degrees, in stories of `width` pairs and fewer.

    The house stands on z = 0 about the origin, its ridges along y. Also returned is half of its width along x.
    """
    length, _, thick = size
    tilt = np.radians(70.0)
    cos, sin = float(np.cos(tilt)), float(np.sin(tilt))
    reach, rise = 0.5 * (length * cos + thick * sin), 0.5 * (length * sin + thick * cos)  # half width, half height
    pitch = length + 0.2 * thick  # of the ridges: two flat plates meet above each, with a small gap between them
    place, turn, floor = [], [], 0.0
    for story in range(stories):
        pairs = width - story
        ridges = (np.arange(pairs) - 0.5 * (pairs - 1)) * pitch
        for x in ridges:
            for side in (-1.0, 1.0):
                place.append((x + side * reach, 0.0, floor + rise))
                turn.append((np.cos(0.5 * tilt), 0.0, side * np.sin(0.5 * tilt), 0.0))
        floor += 2.0 * rise
        for x in 0.5 * (ridges[1:] + ridges[:-1]):
            place.append((x, 0.0, floor + 0.5 * thick))
            turn.append((1.0, 0.0, 0.0, 0.0))
        floor += thick
    return np.array(place), np.array(turn), 0.5 * pitch * (width - 1) + 2.0 * reach


def _balls(rest: float, half: float) -> Bodies:
    """Two balls that roll towards the house from both sides and reach it, `half` from its center, at time `rest`."""
    radius, speed = 0.15, 4.0
    away = half + radius + speed * rest
    start = np.array([[-away, -0.1, radius], [away, 0.1, radius]])
    velocity = np.array([[speed, 0.0, 0.0], [-speed, 0.0, 0.0]])
    spin = np.array([[0.0, speed / radius, 0.0], [0.0, -speed / radius, 0.0]])
    return Bodies(Sphere(radius), start, velocity, spin=spin, mass=0.3, name="balls")
