"""Grains: the granular Maxwell's demon, granular waves, and a layer on a vibrating plate."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Container, Periodic, Plane, Segment
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table, Vibrating
from ..scene.shapes import Disc, Sphere
from .drum import grid
from .parameters import (
    Count,
    NotNegative,
    Positive,
    Restitution,
    Seed,
    Several,
    at_least,
    between,
    choice,
    declared,
    optional,
    positive,
    whole,
)

SHAKE_POINTS = 33


@declared
def maxwells_demon(
    *,
    side: Count = 12,
    width: Positive = 60.0,
    wall: Positive = 20.0,
    amplitude: Positive = 2.0,
    frequency: Positive = 4.0,
    restitution: Restitution = 0.6,
    seed: Seed = 0,
) -> Scene:
    """Two grids of side x side balls of radius 1 beside a partition, in a container with a vibrating bottom.

    Impacts dissipate energy (restitution below 1), so the fuller half is the calmer one. More balls cross the partition
    into it than out of it, until nearly all are on one side. The side depends on the seed of the initial velocities.
    width: of one half, wall: height of the partition, in radii. frequency: cycles per unit of time.
    """
    spacing = 2.1
    if width < spacing * side + 2.0:
        raise ProblemError("width", width, f"at least {spacing * side + 2.0:g}, so that {side} balls fit side by side")
    position, velocity = _halves(side, width, spacing, amplitude, np.random.default_rng(seed))
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
        description=f"{len(position)} balls in a shaken container with a partition gather on one side.",
    )


def _halves(
    side: int, width: float, spacing: float, amplitude: float, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Mirrored grids in the two halves, above the highest position of the bottom, and random velocities."""
    half = grid(side, side, spacing)
    half[:, 1] += 0.5 * spacing * (side - 1) + 1.5 + amplitude
    half[:, 0] += 0.5 * width
    position = np.concatenate([half, half * (-1.0, 1.0)])
    return position, chance.normal(size=position.shape)


@declared
def granular_wave_2d(
    *,
    columns: Several = 60,
    rows: Several = 20,
    loose: NotNegative = 0.1,
    lift: Positive = 2.0,
    seed: Seed = 0,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.2,
) -> Scene:
    """Layers of grains of radius 1, `loose` apart, in a container that is lifted by `lift` radii and lowered again.

    Each layer moves when the layer below reaches it, so a front runs up the pile, faster than the ground by about the
    factor (distance of layers) / (gap between them). Radii vary by 5 percent. The run ends while the grains fly: to see
    them settle, run it longer with the stepper drift_safe. After Zhang 2015, fig. 8.
    """
    chance = np.random.default_rng(seed)
    radius = 1.0 - 0.05 * chance.random(columns * rows)
    apart = 2.0 * (1.0 + 0.5 * loose)
    x = apart * (np.arange(columns)[None, :] + 0.5 * (np.arange(rows)[:, None] % 2) + 0.5)
    y = np.broadcast_to(1.0 + apart * np.sqrt(0.75) * np.arange(rows)[:, None], x.shape)
    width = apart * (columns + 0.5)
    motion = shake(lift, 0.5)
    sides = [((0.0, 0.0), (0.0, 1.0)), ((0.0, 0.0), (1.0, 0.0)), ((width, 0.0), (-1.0, 0.0))]
    return Scene(
        name="granular_wave_2d",
        bodies=[Bodies(Disc(radius), np.column_stack([x.ravel(), y.ravel()]), name="grains")],
        boundaries=[Plane(point, normal, motion=motion) for point, normal in sides],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, -10.0),
        step=0.002,
        duration=0.6,
        frame_rate=100.0,
        stepper="synchronous",
        description=f"{columns * rows} grains in a container that is lifted once; a front runs up through them.",
    )


def shake(lift: float, duration: float) -> Table:
    """The motion up by `lift` and down again within `duration`: one period of (1 - cos) / 2, from time 0."""
    t = np.linspace(0.0, duration, SHAKE_POINTS)
    y = 0.5 * lift * (1.0 - np.cos(2.0 * np.pi * t / duration))
    return Table(t.tolist(), [0.0] * len(t), y.tolist())


@declared
def granular_wave(
    *,
    count: Count = 400,
    side: Annotated[float, at_least(2.0)] = 6.0,
    settle: Positive = 2.5,
    lift: Positive = 0.5,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.2,
    seed: Seed = 0,
) -> Scene:
    """Grains of diameter 1 fall into a container and come to rest; at the time `settle` it is jerked up once.

    It rises by `lift` at a constant speed and sinks again. The jump of its speed sends a shock up through the pile
    (Zhang 2015, fig. 8, with 4,000 grains: count = 4000, side = 14). In the first steps the speed of the grains falls
    with their height. Meanwhile grains move by less than a tenth of a diameter relative to each other, because they are
    rigid and touch. Colors by speed show the shock, and colors by depth the layers. side: edge length of the bottom.
    """
    chance = np.random.default_rng(seed)
    place = lattice(count, side, 1.1)
    place[:, :2] += chance.uniform(-0.04, 0.04, (count, 2))
    times = [0.0, settle, settle + SHAKE_TIME / 3.0, settle + SHAKE_TIME]
    motion = Table(times, [0.0] * 4, [0.0] * 4, z=[0.0, 0.0, lift, 0.0])
    top = float(place[:, 2].max()) + 2.0 + lift
    return Scene(
        name="granular_wave",
        bodies=[Bodies(Sphere(0.5), place, chance.uniform(-0.2, 0.2, (count, 3)), mass=1.0, name="grains")],
        boundaries=[Container((-0.5 * side, -0.5 * side, 0.0), (0.5 * side, 0.5 * side, top), motion=motion)],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -10.0),
        step=0.002,
        duration=settle + 0.6,
        frame_rate=100.0,
        law="qce",
        description=f"{count} grains at rest in a container that is jerked up once.",
    )


SHAKE_TIME = 0.25
# (f*, Gamma) of Bizon and others, Phys. Rev. Lett. 80 (1998): f* = f sqrt(H / g), Gamma = 4 pi^2 f^2 a / g.
PATTERNS = {"squares": (0.27, 3.0), "stripes": (0.44, 3.0), "hexagons": (0.38, 4.0)}


@declared
def vibrated_layer(
    *,
    pattern: Annotated[str, choice(PATTERNS)] = "hexagons",
    width: Annotated[int, whole(4)] = 12,
    length: Annotated[int | None, optional(whole(4))] = None,
    depth: Annotated[float, between(1.0, 1000.0)] = 5.42,
    periods: Positive = 12.0,
    frequency: Annotated[float | None, optional(positive)] = None,
    acceleration: Annotated[float | None, optional(positive)] = None,
    restitution: Restitution = 0.7,
    friction: NotNegative = 0.5,
    seed: Seed = 1,
) -> Scene:
    """Spheres on a vibrating plate with periodic sides (Smith 2012, fig. 12; Zhang 2015, fig. 9).

    pattern: "squares", "stripes" or "hexagons", the published points; `frequency` (f*) and `acceleration` (Gamma), both
    dimensionless, replace those of the pattern. width: of the plate along x in diameters, 100 in the papers (60,000
    spheres) and 50 in the benchmarks (15,000). length: along y, by default the width. depth: of the layer at rest in
    diameters. periods: of the plate. Spheres have a diameter of 0.165 mm; units are meters and seconds.
    """
    length = length or width
    f, gamma = PATTERNS[pattern]
    f, gamma = frequency or f, acceleration or gamma
    g, diameter = 9.81, 1.65e-4
    hertz = f / np.sqrt(depth * diameter / g)
    amplitude = gamma * g / (2.0 * np.pi * hertz) ** 2
    chance = np.random.default_rng(seed)
    # As many spheres as a random packing of that depth contains (volume fraction 0.58).
    count = round(width * length * depth * 0.58 * 6.0 / np.pi)
    place = lattice(count, float(width), 1.02, float(length))
    place += chance.uniform(-0.009, 0.009, place.shape) + np.array([0.5 * width, 0.5 * length, 0.05])
    speed = 0.3 * np.sqrt(g * diameter)
    return Scene(
        name="vibrated_layer",
        bodies=[
            Bodies(
                Sphere(0.5 * diameter),
                diameter * place,
                speed * chance.normal(size=place.shape),
                mass=1.0,
                name="grains",
            )
        ],
        boundaries=[Plane(motion=Vibrating(float(amplitude), float(hertz)))],
        periodic=Periodic(x=(0.0, width * diameter), y=(0.0, length * diameter)),
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -g),
        step=2e-4,
        duration=periods / float(hertz),
        frame_rate=16.0 * float(hertz),
        stepper="synchronous",
        description=f"{count} spheres on a vibrating plate, f* = {f:g}, Gamma = {gamma:g}.",
    )


def lattice(count: int, side: float, pitch: float, length: float | None = None) -> np.ndarray:
    """Positions (n, 3) of `count` bodies of size 1 in layers on a square or rectangle, about `pitch` apart."""
    sides = np.array([side, side if length is None else length])
    across = (sides / pitch).astype(int)
    if across.min() < 1:
        raise ProblemError("side", side, f"at least {pitch:g}, so that a body fits")
    k = np.arange(count)
    step = sides / across
    grid = np.stack([k % across[0], k // across[0] % across[1], k // across.prod()], axis=1)
    return grid * np.array([*step, pitch]) + np.array([*(0.5 * step - 0.5 * sides), 0.5])
