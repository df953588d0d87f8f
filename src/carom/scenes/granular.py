"""Grains: the granular Maxwell's demon, a granular wave, and a packing of spheres."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..scene.boundaries import Container, Plane, Segment
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table, Vibrating
from ..scene.shapes import Disc, Sphere
from . import checks
from .drum import grid

SHAKE_POINTS = 33


@checks.recorded
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
    """Two grids of side x side balls of radius 1 beside a partition, in a container with a vibrating bottom.

    Impacts dissipate energy (restitution below 1), so the fuller half is the calmer one: more balls cross the partition
    into it than out of it, until nearly all are on one side. The side depends on the seed of the initial velocities.
    width: of one half, wall: height of the partition, in radii. frequency: cycles per unit of time.
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


@checks.recorded
def granular_wave_2d(
    *,
    columns: int = 60,
    rows: int = 20,
    loose: float = 0.1,
    lift: float = 2.0,
    seed: int = 0,
    restitution: float = 0.3,
    friction: float = 0.2,
) -> Scene:
    """Layers of grains of radius 1, `loose` apart, in a container that is lifted by `lift` radii and lowered again.

    Each layer moves when the layer below reaches it, so a front runs up the pile, faster than the ground by about the
    factor (distance of layers) / (gap between them). Radii vary by 5 percent. The run ends while the grains fly: to see
    them settle, run it longer with the stepper drift_safe. After Zhang 2015, fig. 8.
    """
    columns, rows = checks.whole("columns", columns, 2), checks.whole("rows", rows, 2)
    loose, lift = checks.at_least("loose", loose, 0.0), checks.positive("lift", lift)
    chance = np.random.default_rng(checks.whole("seed", seed, 0))
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
        materials={
            "default": Material(
                checks.between("restitution", restitution, 0.0, 1.0), checks.at_least("friction", friction, 0.0)
            )
        },
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


@checks.recorded
def sphere_packing(
    *, count: int = 540, restitution: float = 0.3, friction: float = 0.3, side: float = 12.0, seed: int = 0
) -> Scene:
    """Spheres of diameter 1 fall into a container and come to rest (Tang 2014, s. 7.4).

    They start on a loose lattice, with random velocities from `seed` that break its symmetry.
    """
    count, side = checks.whole("count", count, 1), checks.at_least("side", side, 2.0)
    across = int(side / 1.2)
    k = np.arange(count)
    pitch = side / across
    place = np.stack([k % across, k // across % across, k // across**2], axis=1) * np.array([pitch, pitch, 1.2])
    place += np.array([0.5 * pitch - 0.5 * side, 0.5 * pitch - 0.5 * side, 1.0])
    chance = np.random.default_rng(checks.whole("seed", seed, 0))
    velocity = chance.uniform(-1.0, 1.0, (count, 3))
    top = float(place[:, 2].max()) + side
    friction = checks.at_least("friction", friction, 0.0)
    return Scene(
        name="sphere_packing",
        bodies=[Bodies(Sphere(0.5), place, velocity, mass=1.0, name="spheres")],
        boundaries=[Container((-0.5 * side, -0.5 * side, 0.0), (0.5 * side, 0.5 * side, top), open_top=True)],
        materials={"default": Material(checks.between("restitution", restitution, 0.0, 1.0), friction)},
        gravity=(0.0, 0.0, -9.81),
        step=1.0 / 600.0,
        duration=4.0,
        stepper="drift_safe",
        law="qce",
        description=f"{count} spheres fall into a container and come to rest.",
    )
