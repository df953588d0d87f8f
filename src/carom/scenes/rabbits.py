"""Meshes that meet: rabbits in a box, in a pot, in piles and under pawns, and dolls that open."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..errors import ProblemError
from ..geometry import figures
from ..geometry.mass_properties import mass_properties
from ..geometry.meshes import read_mesh
from ..scene.boundaries import Container, Plane
from ..scene.chance import random_orientations
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Compound, Mesh, Part
from ..scene.symmetry import Symmetry
from ..solvers.rows import Floats
from .parameters import Count, NotNegative, Positive, Restitution, Seed, Text, Vector, at_least, declared, whole

TURN = Symmetry(((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0), "turn by 1/2")
GRAVITY = 9.81
GRID = 3  # cells of the distance grid per cell of the mesh: gaps are exact to a fraction of a grid cell
Detail = Annotated[int, whole(16)]  # points along the outline of a rabbit, and around it


def rabbit_mesh(height: float, detail: int, mesh: str = "") -> Mesh:
    """The rabbit of `geometry.figures`, or the mesh of a file, whose longest side is scaled to `height`."""
    spacing = height / (GRID * detail)
    if mesh:
        side = float(np.ptp(read_mesh("mesh", mesh)[0], axis=0).max())
        if not (np.isfinite(side) and side > 0.0):
            raise ProblemError("mesh", f"{mesh}, whose longest side is {side:g}", "a mesh with finite vertices")
        return Mesh(path=mesh, scale=height / side, spacing=spacing)
    vertices, faces = figures.rabbit(height, detail)
    return Mesh(vertices=vertices, faces=faces, spacing=spacing)


def turned_mesh(profile: Floats, segments: int = 48, spacing: float | None = None) -> Mesh:
    """The mesh of a solid of revolution."""
    vertices, faces = figures.turned(profile, segments)
    return Mesh(vertices=vertices, faces=faces, spacing=spacing)


@declared
def two_rabbits_box(
    *, room: Annotated[float, at_least(2.5)] = 3.0, spin: Vector = (0.4, 0.3, 0.5), detail: Detail = 24, mesh: Text = ""
) -> Scene:
    """Two elastic rabbits of height 1 fall in a closed box, each the image of the other under half a turn about z.

    After Smith 2012, fig. 8 (bottom). room: edge length of the box. spin: of the first rabbit. detail: grid cells along
    the height of a rabbit. mesh: a file of triangles in place of the rabbit, such as bunny.obj; its longest side is
    scaled to 1.
    """
    turns = np.array(spin)
    shape = rabbit_mesh(1.0, detail, mesh)
    place = np.array([[0.25 * room, 0.0, 0.5 * room], [-0.25 * room, 0.0, 0.5 * room]])
    turn = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])  # half a turn about z
    half = 0.5 * room
    return Scene(
        name="two_rabbits_box",
        bodies=[
            Bodies(
                shape,
                place,
                np.array([[-0.8, 0.3, 0.0], [0.8, -0.3, 0.0]]),
                spin=np.array([turns, turns * (-1.0, -1.0, 1.0)]),
                mass=1.0,
                orientation=turn,
                name="rabbits",
            )
        ],
        boundaries=[Container((-half, -half, 0.0), (half, half, room))],
        materials={"default": Material(1.0)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.01,
        duration=100.0,
        frame_rate=25.0,
        stepper="synchronous",
        description="Two rabbits in a box, each the image of the other under half a turn.",
        symmetries=[TURN],
    )


@declared
def rabbits_in_pot(
    *,
    restitution: Restitution = 0.8,
    friction: NotNegative = 0.5,
    duration: Positive = 100.0,
    detail: Detail = 24,
    mesh: Text = "",
) -> Scene:
    """Two rabbits tumble in a floating pot with a lid, without gravity (Smith 2012, section 10.3).

    The system is closed. Its linear momentum is zero and its angular momentum is not; both must be conserved. The paper
    runs 1,000 units of time. Bodies that have come to rest on each other then creep into each other, by a third of the
    smallest half width: the synchronous stepper has no correction of positions.
    """
    wall, radius, height = 0.15, 1.5, 2.6
    pot = figures.pot_profile(radius, height, wall)
    lid = figures.lid_profile(radius, wall, radius - 1.2 * wall)
    center = [mass_properties(*figures.turned(profile))[1] for profile in (pot, lid)]
    parts = [
        Part(turned_mesh(pot, spacing=0.35 * wall), (0.0, 0.0, float(center[0][2]))),
        Part(turned_mesh(lid, spacing=0.35 * wall), (0.0, 0.0, height + float(center[1][2]))),
    ]
    vessel = Bodies(Compound(parts), np.zeros((1, 3)), (0.0, 0.0, 0.0), spin=(0.2, -0.1, 0.3), mass=4.0, name="pot")
    rabbits = Bodies(
        rabbit_mesh(1.0, detail, mesh),
        np.array([[0.62, 0.0, 0.1], [-0.62, 0.0, -0.1]]),
        np.array([[0.3, 0.5, -0.2], [-0.3, -0.5, 0.2]]),
        spin=np.array([[0.5, 0.2, -0.4], [0.1, -0.6, 0.3]]),
        mass=1.0,
        name="rabbits",
    )
    return Scene(
        name="rabbits_in_pot",
        bodies=[vessel, rabbits],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, 0.0),
        step=0.01,
        duration=duration,
        frame_rate=5.0,
        stepper="synchronous",
        description="Two rabbits tumble in a floating pot.",
    )


@declared
def rabbit_pile(
    *,
    count: Count = 27,
    restitution: Restitution = 0.5,
    friction: NotNegative = 0.0,
    seed: Seed = 0,
    detail: Detail = 16,
    mesh: Text = "",
) -> Scene:
    """Rabbits of height 1 with random orientations fall into a container (Smith 2012, section 10.4, with 1,000)."""
    across = max(2, int(np.ceil((count / 2.0) ** (1.0 / 3.0))))
    chance = np.random.default_rng(seed)
    place, turn = _scattered(count, across, 1.45, 0.9, chance)
    half = 0.5 * 1.45 * across
    top = float(place[:, 2].max()) + 2.0
    return Scene(
        name="rabbit_pile",
        bodies=[
            Bodies(
                rabbit_mesh(1.0, detail, mesh),
                place,
                chance.uniform(-0.5, 0.5, (count, 3)),
                mass=1.0,
                orientation=turn,
                name="rabbits",
            )
        ],
        boundaries=[Container((-half, -half, 0.0), (half, half, top))],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.005,
        duration=5.0,
        frame_rate=25.0,
        description=f"{count} rabbits fall into a container.",
    )


@declared
def rabbits_and_pawns(
    *,
    rabbits: Count = 16,
    pawns: Count = 4,
    restitution: Restitution = 0.2,
    friction: NotNegative = 0.2,
    seed: Seed = 0,
    detail: Detail = 16,
    mesh: Text = "",
) -> Scene:
    """Rabbits fall on the ground and are hit by pawns that fall after them (Zhang 2015, fig. 10: 144 and 16).

    Both have height 1. The pawns start above the rabbits and move downwards at a speed of 2.
    """
    chance = np.random.default_rng(seed)
    across = max(2, int(np.ceil((rabbits / 2.0) ** (1.0 / 3.0))))
    low, low_turn = _scattered(rabbits, across, 1.45, 0.9, chance)
    high, high_turn = _scattered(pawns, max(1, across - 1), 1.45, float(low[:, 2].max()) + 2.5, chance)
    return Scene(
        name="rabbits_and_pawns",
        bodies=[
            Bodies(rabbit_mesh(1.0, detail, mesh), low, mass=1.0, orientation=low_turn, name="rabbits"),
            Bodies(
                turned_mesh(figures.pawn_profile(), 32, 1.0 / max(detail, 24)),
                high,
                (0.0, 0.0, -2.0),
                mass=1.0,
                orientation=high_turn,
                name="pawns",
            ),
        ],
        boundaries=[Plane()],
        materials={"default": Material(restitution, friction)},
        gravity=(0.0, 0.0, -GRAVITY),
        step=0.005,
        tolerance=5e-4,
        duration=8.0,
        frame_rate=25.0,
        law="qce",
        description=f"{rabbits} rabbits fall on the ground and are hit by {pawns} pawns.",
    )


@declared
def dolls(
    *, count: Count = 3, restitution: Restitution = 0.8, height: Positive = 1.0, cells: Annotated[int, whole(64)] = 64
) -> Scene:
    """Nested dolls, each of two half shells with the next doll standing inside, fall on a table (Smith 2012, fig. 2).

    Under lcp they bounce as one body. Under laws with break-away the dolls open. cells: grid cells across a
    doll; with fewer the rims overlap by more than rounding.
    """
    bodies, bottom, shrink, wall = [], height, 0.74, 0.12
    for k in range(count):
        size = shrink**k
        for name, profile in zip(("lower", "upper"), figures.doll_profiles(size, wall)):
            center = mass_properties(*figures.turned(profile))[1]
            place = np.array([[0.0, 0.0, bottom + 1.3 * size + float(center[2])]])
            shape = turned_mesh(profile, spacing=2.0 * size / cells)
            bodies.append(Bodies(shape, place, name=f"{name} half {k}"))
        bottom += wall * size
    return Scene(
        name="dolls",
        bodies=bodies,
        boundaries=[Plane()],
        materials={"default": Material(restitution)},
        gravity=(0.0, 0.0, -10.0),
        step=0.002,
        duration=1.5,
        frame_rate=50.0,
        stepper="synchronous",
        description=f"{count} nested dolls fall on a table.",
    )


def _scattered(count: int, across: int, pitch: float, low: float, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Positions (n, 3) on a square lattice of `across` columns from height `low` upwards, and random orientations."""
    k = np.arange(count)
    place = pitch * np.stack([k % across, k // across % across, k // across**2], axis=1).astype(np.float64)
    place[:, :2] -= 0.5 * pitch * (across - 1)
    place[:, 2] += low
    return place, random_orientations(count, chance)
