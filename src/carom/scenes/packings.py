"""Packings of spheres, cubes and crosses, and the slope that is left when a gate is lifted (Tang 2014, s. 7.4, 7.5);
pebbles that gather in a hollow."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from ..scene.boundaries import Container, HeightField
from ..scene.chance import random_orientations
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import Table
from ..scene.shapes import UNTURNED, Box, Compound, Ellipsoid, Part, Solid, Sphere
from .granular import lattice
from .parameters import Count, NotNegative, Positive, Restitution, Seed, at_least, between, choice, declared, whole

# Extents of the bodies of Tang 2014, fig. 10 (m): diameter, edge, and length of the three bars of a cross. Their
# volumes are nearly equal.
SIZES = {"spheres": 3.0, "cubes": 2.4, "crosses": 3.78}
Side = Annotated[float, at_least(2.0)]  # of a square bottom, in sizes of a body


def cross(length: float) -> Compound:
    """Three square bars of a length and a third of it as width that cross at right angles: seven equal cubes."""
    c = length / 3.0
    cube = Box((c, c, c))
    arms = [tuple(sign * c * float(k == axis) for k in range(3)) for axis in range(3) for sign in (-1.0, 1.0)]
    return Compound([Part(cube), *(Part(cube, (x, y, z)) for x, y, z in arms)])


def body(kind: str, size: float) -> Solid:
    """The shape of a body of a packing: "spheres", "cubes" or "crosses"."""
    if kind == "spheres":
        return Sphere(0.5 * size)
    return Box((size, size, size)) if kind == "cubes" else cross(size)


@declared
def sphere_packing(
    *,
    count: Count = 540,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.3,
    side: Side = 12.0,
    diameter: Positive = 1.0,
    seed: Seed = 0,
) -> Scene:
    """Spheres fall into a container and come to rest (Tang 2014, s. 7.4: 540 and 1,080, diameter 3).

    They start on a loose lattice, with random velocities from `seed` that break its symmetry. side: edge length of the
    bottom in diameters.
    """
    return _packing("spheres", count, restitution, friction, side, diameter, seed)


@declared
def cube_packing(
    *,
    count: Count = 325,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.3,
    side: Side = 10.0,
    edge: Positive = 2.4,
    seed: Seed = 0,
) -> Scene:
    """Cubes with random orientations fall into a container and come to rest (Tang 2014, s. 7.5)."""
    return _packing("cubes", count, restitution, friction, side, edge, seed)


@declared
def cross_packing(
    *,
    count: Count = 325,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.3,
    side: Side = 8.0,
    length: Positive = 3.78,
    seed: Seed = 0,
) -> Scene:
    """Crosses of three bars with random orientations fall into a container and come to rest (Tang 2014, s. 7.5)."""
    return _packing("crosses", count, restitution, friction, side, length, seed)


def _packing(kind: str, count: int, restitution: float, friction: float, side: float, size: float, seed: int) -> Scene:
    chance = np.random.default_rng(seed)
    # Bodies that rotate need room for their largest extent.
    place = size * lattice(count, side, {"spheres": 1.2, "cubes": 1.75, "crosses": 1.12}[kind])
    place[:, 2] += 0.5 * size
    velocity = chance.uniform(-1.0, 1.0, (count, 3))
    half, top = 0.5 * side * size, float(place[:, 2].max()) + side * size
    turns = UNTURNED if kind == "spheres" else random_orientations(count, chance)
    return Scene(
        name=f"{kind[:-2] if kind == 'crosses' else kind[:-1]}_packing",
        bodies=[Bodies(body(kind, size), place, velocity, mass=1.0, name=kind, orientation=turns)],
        boundaries=[Container((-half, -half, 0.0), (half, half, top), open_top=True)],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -9.81),
        step=1.0 / 600.0,
        duration=4.0,
        stepper="drift_safe",
        law="qce",
        description=f"{count} {kind} fall into a container and come to rest.",
    )


@declared
def repose(
    *,
    shape: Annotated[str, choice(SIZES)] = "spheres",
    count: Annotated[int, whole(4)] = 80,
    restitution: Restitution = 0.3,
    friction: NotNegative = 0.4,
    rolling: NotNegative = 0.02,
    width: float | None = None,
    settle: Positive = 4.0,
    flow: Positive = 12.0,
    seed: Seed = 0,
) -> Scene:
    """A pile settles behind a gate in one half of a container; at the time `settle` the gate is lifted.

    The slope that is left shows the angle of repose (Tang 2014, s. 7.5). shape: "spheres" (540 in the paper), "cubes"
    or "crosses" (325), of the sizes of the paper. The container is twice as long as wide. The gate has no friction.
    rolling: coefficient of rolling friction of spheres in diameters; the paper has none, and spheres then roll for
    ever. width: of the container in sizes of a body. By default the lattice at the start is about as high as wide, and
    the pile of cubes or crosses, which start apart, is flat. flow: time after the gate was lifted.
    """
    size = SIZES[shape]
    chance = np.random.default_rng(seed)
    room = {"spheres": 1.05, "cubes": 1.75, "crosses": 1.12}[shape]
    wide = room * np.ceil(count ** (1.0 / 3.0)) if width is None else at_least(room)("width", width)
    place = size * lattice(count, wide, room)
    place[:, 2] += 0.5 * size
    half, top = 0.5 * wide * size, float(place[:, 2].max()) + size
    thick = 0.5 * size
    lift = Table([0.0, settle, settle + 0.2], [0.0] * 3, [0.0] * 3, z=[0.0, 0.0, top])
    gate = Bodies(
        Box((thick, 2.0 * half, top)),
        np.array([[half + 0.5 * thick, 0.0, 0.5 * top]]),
        motion=lift,
        material="gate",
        name="gate",
    )
    material = Material(restitution, friction)
    if shape == "spheres":
        material = replace(material, rolling_friction=rolling * size)
    turns = UNTURNED if shape == "spheres" else random_orientations(count, chance)
    pile = Bodies(
        body(shape, size),
        place,
        chance.uniform(-0.5, 0.5, (count, 3)),
        mass=1.0,
        name=shape,
        orientation=turns,
    )
    return Scene(
        name="repose",
        bodies=[pile, gate],
        boundaries=[Container((-half, -half, 0.0), (3.0 * half + thick, half, top), open_top=True)],
        materials={"default": material, "gate": Material(restitution, 0.0)},
        gravity=(0.0, 0.0, -9.81),
        step=1.0 / 600.0,
        duration=settle + flow,
        frame_rate=20.0,
        stepper="drift_safe",
        law="qce",
        description=f"{count} {shape} behind a gate that is lifted.",
    )


@declared
def pebbles(
    *,
    count: Annotated[int, whole(3)] = 48,
    restitution: Restitution = 0.2,
    friction: NotNegative = 0.5,
    hills: Annotated[float, between(0.0, 0.5)] = 0.12,
    seed: Seed = 0,
) -> Scene:
    """Ellipsoids of three kinds fall on uneven ground, roll into its hollow and come to rest on their flat sides.

    The ground is a height field of 41 x 41 heights: a bowl with hills of the height `hills`. Orientations and
    velocities at the start are random, from `seed`.
    """
    chance = np.random.default_rng(seed)
    spacing, nodes = 0.2, 41
    x = spacing * (np.arange(nodes) - nodes // 2)
    bowl = 0.07 * (x[:, None] ** 2 + x[None, :] ** 2)
    uneven = hills * np.sin(2.1 * x + 0.7)[:, None] * np.cos(1.8 * x - 0.4)[None, :]
    ground = HeightField((bowl + uneven).tolist(), spacing, (float(x[0]), float(x[0]), 0.0), depth=0.8)
    place = lattice(count, 4.0, 1.0) + np.array([0.0, 0.0, 1.2])
    turns, speeds = random_orientations(count, chance), chance.uniform(-0.5, 0.5, (count, 3))
    kinds = {"flat": (0.42, 0.34, 0.16), "long": (0.46, 0.22, 0.2), "round": (0.32, 0.28, 0.24)}
    bodies = [
        Bodies(Ellipsoid(size), place[k::3], speeds[k::3], orientation=turns[k::3], name=name)
        for k, (name, size) in enumerate(kinds.items())
    ]
    return Scene(
        name="pebbles",
        bodies=bodies,
        boundaries=[ground],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -9.81),
        step=1.0 / 300.0,
        duration=4.0,
        frame_rate=25.0,
        stepper="drift_safe",
        law="gr",
        description=f"{count} ellipsoids fall on uneven ground and roll into its hollow.",
    )
