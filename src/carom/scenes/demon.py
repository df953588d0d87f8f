"""The granular Maxwell's demon: balls in a shaken box gather on one side (Smith 2012, fig. 11)."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Plane, Segment
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Vibrating
from ..scene.shapes import Disc
from . import checks
from .drum import grid


def maxwells_demon(
    *,
    side: int = 12,
    width: float = 60.0,
    wall: float = 20.0,
    amplitude: float = 2.0,
    frequency: float = 4.0,
    restitution: float = 0.6,
    seed: int = 0,
) -> Scene:
    """Two grids of side x side balls of radius 1 beside a wall of half the height of the box, on a shaking floor.

    Collisions take energy (restitution below 1), so the fuller half is the calmer one: more balls come over the wall
    than go back, until nearly all are on one side. Which side is a matter of the seed, that is of the velocities that
    the balls begin with. Lengths in radii: width of one half, height of the wall; frequency in shakes a time unit.
    """
    side, width = checks.whole("side", side, 1), checks.positive("width", width)
    wall, amplitude = checks.positive("wall", wall), checks.positive("amplitude", amplitude)
    frequency = checks.positive("frequency", frequency)
    restitution = checks.between("restitution", restitution, 0.0, 1.0)
    spacing = 2.1
    if width < spacing * side + 2.0:
        raise ProblemError("width", width, f"at least {spacing * side + 2.0:g}, so that {side} balls fit side by side")
    position, velocity = _halves(side, width, spacing, amplitude, np.random.default_rng(checks.whole("seed", seed, 0)))
    height = max(2.0 * wall, float(position[:, 1].max()) + 2.0)
    return Scene(
        name="maxwells_demon",
        bodies=[Bodies(Disc(1.0), position, velocity, mass=1.0, rotates=False, name="balls")],
        boundaries=[
            Plane((0.0, 0.0), (0.0, 1.0), motion=Vibrating(amplitude, frequency)),
            Plane((0.0, height), (0.0, -1.0)),
            Plane((-width, 0.0), (1.0, 0.0)),
            Plane((width, 0.0), (-1.0, 0.0)),
            Segment((0.0, -2.0 * amplitude - 2.0), (0.0, wall)),
        ],
        materials={"default": Material(restitution)},
        gravity=(0.0, -10.0),
        step=0.005,
        duration=80.0,
        frame_rate=5.0,
        stepper="synchronous",
        description=f"{len(position)} balls in a shaken box with a wall of half its height gather on one side.",
        parameters={
            "side": side,
            "width": width,
            "wall": wall,
            "amplitude": amplitude,
            "frequency": frequency,
            "restitution": restitution,
            "seed": seed,
        },
    )


def _halves(
    side: int, width: float, spacing: float, amplitude: float, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Mirrored grids in the two halves, above the highest place of the floor, and random velocities."""
    half = grid(side, side, spacing)
    half[:, 1] += 0.5 * spacing * (side - 1) + 1.5 + amplitude
    half[:, 0] += 0.5 * width
    position = np.concatenate([half, half * (-1.0, 1.0)])
    return position, chance.normal(size=position.shape)
