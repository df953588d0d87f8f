"""Discs in a drum: the scenes of Smith 2012, section 9 and Table 2."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Drum
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Disc
from ..scene.symmetry import mirror
from .parameters import Count, Positive, Restitution, Seed, Several, at_least, declared

Spacing = Annotated[float, at_least(2.0)]  # in radii


@declared
def splash(*, side: Several = 15, gravity: Positive = 10.0, restitution: Restitution = 1.0) -> Scene:
    """A grid of touching balls falls into a drum. Under gr it scatters like a splash; lcp keeps it together.

    `side` x `side` balls of radius 1; the drum has radius 2.5 side, and the grid starts at its center.
    """
    radius = 2.5 * side
    # The lower corners of the grid hit the drum first. The run ends when the grid would be back at its start.
    fall = np.sqrt((radius - 1.0) ** 2 - (side - 1.0) ** 2) - (side - 1.0)
    back = 2.0 * np.sqrt(2.0 * fall / gravity)
    return Scene(
        name="splash",
        tolerance="exact",  # a loose answer of 420 contacts at once would break the symmetry that it shows
        bodies=[Bodies(Disc(1.0), grid(side, side, 2.0), mass=1.0, rotates=False, name="grid")],
        boundaries=[Drum(radius)],
        materials={"default": Material(restitution)},
        gravity=(0.0, -gravity),
        step=0.01,
        duration=float(np.ceil(10.0 * back)) / 10.0,
        stepper="synchronous",
        description=f"A grid of {side} x {side} touching balls falls into a drum.",
        symmetries=[mirror((0.0, 1.0))],
    )


@declared
def energy_drum(*, side: Count = 9, spacing: Spacing = 3.0, seed: Seed = 0) -> Scene:
    """A gas of side x side balls in a drum, without gravity: energy must be conserved (Smith 2012, section 9).

    spacing: of the initial grid, in radii. Velocity components are normally distributed with unit standard deviation.
    """
    chance = np.random.default_rng(seed)
    position = grid(side, side, spacing)
    return Scene(
        name="energy_drum",
        bodies=[Bodies(Disc(1.0), position, chance.normal(size=position.shape), mass=1.0, rotates=False, name="gas")],
        boundaries=[Drum(float(np.ceil(spacing * side / np.sqrt(2.0))) + 1.0)],
        step=0.01,
        duration=1000.0,
        frame_rate=1.0,
        stepper="synchronous",
        description=f"{side * side} balls with random velocities in a drum, for a long time.",
    )


@declared
def butterfly(*, radius: Positive = 4.0, speed: Positive = 1.0) -> Scene:
    """Four touching balls in a drum, the top one moving up: their paths draw a butterfly (Smith 2012, fig. 7)."""
    arm = float(np.sqrt(2.0))
    if radius < arm + 1.0:
        raise ProblemError("radius", radius, "at least 1 + sqrt 2, so that the balls fit")
    position = np.array([[0.0, arm], [-arm, 0.0], [0.0, -arm], [arm, 0.0]])
    velocity = np.array([[0.0, speed], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    return Scene(
        name="butterfly",
        bodies=[Bodies(Disc(1.0), position, velocity, mass=1.0, rotates=False, name="balls")],
        boundaries=[Drum(radius)],
        step=0.1,
        duration=150.0,
        frame_rate=10.0,
        stepper="synchronous",
        description="Four balls in a drum whose paths stay mirror-symmetric under laws that keep symmetry.",
        symmetries=[mirror((0.0, 1.0))],
    )


@declared
def drop(*, side: Several = 101, gravity: Positive = 10.0, restitution: Restitution = 1.0) -> Scene:
    """A touching grid of side x side discs of radius 1 falls from rest in a drum (Smith 2012, Table 2).

    Sides 101, 317 and 1001 are the drops of 10K, 100K and 1M discs.
    """
    return Scene(
        name="drop",
        bodies=[Bodies(Disc(1.0), grid(side, side, 2.0), mass=1.0, rotates=False, name="discs")],
        boundaries=[Drum(drum_radius(side, 2.0))],
        materials={"default": Material(restitution)},
        gravity=(0.0, -gravity),
        step=0.01,
        duration=5.0,
        frame_rate=20.0,
        stepper="synchronous",
        description=f"A touching grid of {side * side:,} discs falls in a drum.",
        symmetries=[mirror((0.0, 1.0))],
    )


@declared
def gas(*, side: Several = 101, spacing: Spacing = 2.0, seed: Seed = 0) -> Scene:
    """side x side discs of radius 1 with unit speeds in random directions, in a drum without gravity.

    spacing: of the initial grid; 2 means touching. Discs cover 2 / spacing^2 of the drum for any
    side. Sides 101, 317 and 1001 are the gases of Smith 2012, Table 2.
    """
    heading = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, side * side)
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
    )


def grid(columns: int, rows: int, spacing: float) -> np.ndarray:
    """Points of a grid about the origin, row by row from below; opposite points have bitwise opposite coordinates."""
    x = spacing * (2 * np.arange(columns) - (columns - 1)) / 2
    y = spacing * (2 * np.arange(rows) - (rows - 1)) / 2
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])


def drum_radius(side: int, spacing: float) -> float:
    """The smallest whole number that is at least the half diagonal of `side` cells: a grid of discs then fits.

    For touching discs of radius 1 (spacing 2) that is 143 for side 101, 449 for 317 and 1416 for 1001.
    """
    return float(np.ceil(side * spacing / np.sqrt(2.0)))
