"""Many bodies: the drop and the gas of Smith 2012, Table 2, in any size, and a stack of boxes."""

from __future__ import annotations

import numpy as np

from ..scene.boundaries import Drum, Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc, Rectangle
from ..scene.symmetry import mirror
from . import checks
from .drum import grid


def drum_radius(side: int, spacing: float) -> float:
    """The smallest whole number that is at least the half diagonal of `side` cells: a grid of discs then fits.

    For touching discs of radius 1 (spacing 2) that is 143 for side 101, 449 for 317 and 1416 for 1001.
    """
    return float(np.ceil(side * spacing / np.sqrt(2.0)))


def drop(*, side: int = 101, gravity: float = 10.0, restitution: float = 1.0) -> Scene:
    """A touching grid of side x side discs of radius 1 falls from rest in a drum (Smith 2012, Table 2).

    Sides 101, 317 and 1001 are the drops of 10K, 100K and 1M discs.
    """
    side, gravity = checks.whole("side", side, 2), checks.positive("gravity", gravity)
    return Scene(
        name="drop",
        bodies=[Bodies(Disc(1.0), grid(side, side, 2.0), mass=1.0, rotates=False, name="discs")],
        boundaries=[Drum(drum_radius(side, 2.0))],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0))},
        gravity=(0.0, -gravity),
        step=0.01,
        duration=5.0,
        frame_rate=20.0,
        stepper="synchronous",
        description=f"A touching grid of {side * side:,} discs falls in a drum.",
        symmetries=[mirror((0.0, 1.0))],
        parameters={"side": side, "gravity": gravity, "restitution": restitution},
    )


def gas(*, side: int = 101, spacing: float = 2.0, seed: int = 0) -> Scene:
    """side x side discs of radius 1 with unit speeds in random directions, in a drum without gravity.

    spacing: of the grid from which they start; 2 means touching. Discs cover 2 / spacing^2 of the drum whatever the
    side. Sides 101, 317 and 1001 are the gases of Smith 2012, Table 2.
    """
    side, spacing = checks.whole("side", side, 2), checks.at_least("spacing", spacing, 2.0)
    heading = np.random.default_rng(checks.whole("seed", seed, 0)).uniform(0.0, 2.0 * np.pi, side * side)
    velocity = np.column_stack([np.cos(heading), np.sin(heading)])
    return Scene(
        name="gas",
        bodies=[Bodies(Disc(1.0), grid(side, side, spacing), velocity, mass=1.0, rotates=False, name="discs")],
        boundaries=[Drum(drum_radius(side, spacing))],
        step=0.01,
        duration=5.0,
        frame_rate=20.0,
        stepper="synchronous",
        description=f"A gas of {side * side:,} discs with unit speeds in a drum.",
        parameters={"side": side, "spacing": spacing, "seed": seed},
    )


def box_stack(*, boxes: int = 10, width: float = 1.0, height: float = 1.0, friction: float = 0.5) -> Scene:
    """A tower of boxes on the floor that must stand still."""
    boxes, friction = checks.whole("boxes", boxes, 1), checks.at_least("friction", friction, 0.0)
    width, height = checks.positive("width", width), checks.positive("height", height)
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
        description=f"A tower of {boxes} boxes at rest on the floor.",
        symmetries=[mirror((0.0, 1.0))],
        parameters={"boxes": boxes, "width": width, "height": height, "friction": friction},
    )
