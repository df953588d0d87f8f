"""Overlap in violent motion: the collapse of a house of cards, and of piles of spheres and boxes."""

from __future__ import annotations

import numpy as np

from carom.scene import Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Box, Sphere
from carom.scenes import card_house

from .overlap import box_overlap, scene_overlap
from .race import Ours, described
from .report import Row
from .settling import settling

MEASURED_EVERY = 5  # steps between two measurements of the overlap of piles; that of cards is measured in every step


def spreading(shape: Sphere | Box, count: int) -> Scene:
    """The settling scene without its sides: a column that falls apart on the ground."""
    scene = settling(shape, count)
    return scene.with_(boundaries=[Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))])


def pile_overlap(shape: Sphere | Box, count: int, steps: int) -> tuple[float, str]:
    """Deepest overlap of a column that falls apart, in diameters or edges, and the residuals of the run."""
    scene = spreading(shape, count)
    plain, ours, deepest = described(scene), Ours(scene), 0.0
    for _ in range(steps // MEASURED_EVERY):
        ours.steps(MEASURED_EVERY)
        position, turn, _ = ours.pose()
        deepest = max(deepest, scene_overlap(plain, position, turn))
    return deepest, ours.accuracy()


def card_overlap(seconds: float) -> tuple[float, str]:
    """Deepest overlap of two cards, in thicknesses, while two balls destroy the house."""
    scene = card_house(rest=0.1)
    ours, deepest = Ours(scene), 0.0
    cards, size = scene.bodies[0].count, np.array(scene.bodies[0].shape.size)
    for _ in range(round(seconds / scene.step)):
        ours.step()
        position, turn, _ = ours.pose()
        deepest = max(deepest, box_overlap(position[:cards], turn[:cards], size))
    return deepest / size.min(), ours.accuracy()


def run(quick: bool = False) -> list[Row]:
    """Cards, spheres and boxes; overlaps are measured by plain geometry, not by the contact detection under test."""
    rows = []
    deepest, note = card_overlap(0.3 if quick else 3.0)
    print(f"  cards: {note}", flush=True)
    rows.append(Row("card house collapses, overlap of cards", "<= 0.1 thickness", f"{deepest:.3f}", deepest <= 0.1))
    for shape, count in ((Sphere(0.5), 1000), (Box((0.8, 0.8, 0.8)), 300)):
        count, steps = (50, 40) if quick else (count, 360)
        kind = "spheres" if isinstance(shape, Sphere) else "boxes"
        deepest, note = pile_overlap(shape, count, steps)
        print(f"  {kind}: {note}", flush=True)
        rows.append(Row(f"{count:,} {kind} collapse, deepest overlap", "<= 1%", f"{deepest:.2%}", deepest <= 0.01))
    return rows
