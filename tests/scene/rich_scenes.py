"""Scenes, documents and files that several tests share."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from carom.scene import (
    FIXED,
    Bodies,
    Box,
    Capsule,
    Compound,
    Container,
    Cylinder,
    Disc,
    Drum,
    Hull,
    Material,
    Mesh,
    Moving,
    Part,
    Periodic,
    Plane,
    Polygon,
    Rectangle,
    Rotating,
    Scene,
    Segment,
    Shell,
    Sphere,
    Table,
    Tube,
    Vibrating,
)
from carom.scene.store import agrees, pack
from carom.scene.symmetry import Symmetry, turn

# Vertices and outward faces of the corner of a cube.
TETRAHEDRON = (
    np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
JUNK = [10**400, -0.0, math.nan, -math.inf, -1, 0, 2.5, True, "", "x", "\0", [], [1], [[1, 2], 3], {}, {"kind": "x"}]
JUNK += [datetime.date(2000, 1, 1), [1, 2, 3], [[0, 0, 0], [0, 0, 0]]]


def obj_file(path: Path, stretch: float = 1.0) -> None:
    """The tetrahedron as a file."""
    vertices, faces = TETRAHEDRON
    lines = [f"v {stretch * x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()), ""]))


def leaves(node: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place of a document where another value could stand."""
    if path:
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key))


def same(a: Scene, b: Scene) -> bool:
    """Equal in everything that can be stored, bit for bit."""
    return agrees(a, *pack(b))


WORLD = ("mass", "inertia", "inverse_sqrt_mass", "restitution", "friction", "home")
EVERYTHING = """
[scene]
gravity = [0, 1, -10]
integrator = "split"
[[bodies]]
name = "balls"
shape = "sphere"
radius = [1, 2]
position = [[0, 0, 0], [5, 0, 0]]
velocity = [1, 2, 3]
spin = [[0, 0, 1], [0, 2, 0]]
mass = 3
inertia = [[1, 1, 2], [1, 2, 2]]
[[bodies]]
shape = "box"
size = [1, 2, 3]
orientation = [0.5, 0.5, 0.5, 0.5]
position = [0, 9, 0]
motion = {kind = "rotating", speed = 2, about = [1, 1, 0], axis = [0, 1, 0]}
[[bodies]]
shape = "capsule"
radius = 0.5
length = 2
rotation = {axis = [1, 0, 0], degrees = 90}
position = [0, 0, 9]
motion = {kind = "moving", velocity = [0, 0, 1], spin = 2, axis = [1, 0, 0]}
[[bodies]]
shape = "cylinder"
radius = 0.5
length = 2
position = [[9, 0, 9], [9, 3, 9]]
rotation = {axis = [0, 0, 2], degrees = [0, 180]}
inertia = [1, 2, 3]
[[bodies]]
shape = "hull"
vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
position = [9, 9, 9]
motion = "fixed"
[[bodies]]
shape = "compound"
position = [-9, 0, 0]
[[bodies.parts]]
shape = "sphere"
radius = 1
position = [1, 0, 0]
density = 2
[[bodies.parts]]
shape = "compound"
orientation = [0, 0, 0, 1]
parts = [{shape = "box", size = [1, 1, 1]}]
[[boundaries]]
kind = "plane"
point = [0, 0, -20]
motion = {kind = "vibrating", amplitude = 1, frequency = 2}
[[boundaries]]
kind = "container"
lower = [-50, -50, -50]
upper = [50, 50, 50]
open_top = true
[[boundaries]]
kind = "tube"
radius = 60
axis = [0, 1, 0]
motion = {kind = "table", times = [0, 1], x = [0, 0], y = [0, 0], z = [0, 1], turn = [0, 2], axis = [0, 1, 0]}
[[boundaries]]
kind = "shell"
radius = 70
center = [1, 0, 0]
[periodic]
z = [-60, 60]
[[symmetries]]
matrix = [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]
"""


def rich_2d() -> Scene:
    random = np.random.default_rng(3)
    return Scene(
        'rich "quoted" ü',
        [
            Bodies(
                Disc(random.uniform(0.1, 0.2, 40)), random.normal(size=(40, 2)), velocity=random.normal(size=(40, 2))
            ),
            Bodies(Rectangle(1, 2), [[3.0, 1.0]], mass=2, inertia=0.1, angle=0.3, motion=Moving((1.0, 0.0), 0.5)),
            Bodies(Polygon([(0, 0), (1, 0), (0, 1)]), np.array([1.0, 2.0]), name="wedge", motion=FIXED, material="b"),
        ],
        boundaries=[
            Plane((0.0, -9.0), (0.1, 1.0), motion=Vibrating(0.1, 3.0, (1.0, 1.0), 0.2)),
            Container((-50.0, -50.0), (50.0, 50.0), material="b"),
            Drum(99.0, inside=True, motion=Rotating(1.0)),
            Segment((0.0, 20.0), (1.0, 20.0), motion=Table((0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.5))),
        ],
        periodic=Periodic(x=(-50.0, 50.0), y=(-50.0, 50.0), shear_rate=0.1, sheared="x"),
        materials={"default": Material(0.9), "b": Material(0.5, 0.1, 3.0)},
        pairs={("default", "b"): {"restitution": 0.3, "friction": 0.7}},
        gravity=(0.0, -9.81),
        step=1.0 / 3.0,
        restitution_model="energetic",
        symmetries=(Symmetry(((1.0, 0.0), (0.0, -1.0)), name="mirror"),),
        parameters={"rows": 3, "law": "gr"},
    )


def rich_3d() -> Scene:
    random = np.random.default_rng(3)
    q = random.normal(size=(20, 4))
    knot = Compound(
        (
            Part(Sphere(0.25), (1.0, 0.0, 0.0), density=2.0),
            Part(Compound((Part(Capsule(0.1, 0.5)), Part(Hull(TETRAHEDRON[0])))), orientation=(0.8, 0.0, 0.6, 0.0)),
        )
    )
    places = 20.0 * random.normal(size=(20, 3))
    return Scene(
        'rich "quoted" ü',
        [
            Bodies(Sphere(random.uniform(0.1, 0.2, 20)), places, random.normal(size=(20, 3)), spin=(0.0, 1.0, 2.0)),
            Bodies(Box((1.0, 2.0, 3.0)), places + 1.0, orientation=q, spin=random.normal(size=(20, 3))),
            Bodies(
                Cylinder(0.5, 1.5), [[3.0, 1.0, 0.0]], mass=2, inertia=(0.1, 0.2, 0.25), motion=Moving((1.0, 0.0, 0.0))
            ),
            Bodies(knot, np.array([1.0, 2.0, 3.0]), name="knot", orientation=(0.5, 0.5, 0.5, 0.5)),
            Bodies(Mesh(vertices=TETRAHEDRON[0], faces=TETRAHEDRON[1], scale=3.0, spacing=0.2), [9.0, 9.0, 9.0]),
            Bodies(Box((1.0, 1.0, 1.0)), np.zeros((2, 3)), motion=Rotating(1.0, axis=(1.0, 1.0, 0.0)), material="b"),
        ],
        boundaries=[
            Plane((0.0, 0.0, -90.0), (0.1, 0.0, 1.0), motion=Vibrating(0.1, 3.0, (1.0, 1.0, 0.0), 0.2)),
            Container((-99.0,) * 3, (99.0,) * 3, True, "b"),
            Tube(120.0, (0.0, 1.0, 0.0), (1.0, 0.0, 1.0), motion=Rotating(1.0, axis=(1.0, 0.0, 1.0))),
            Shell(200.0, motion=Table((0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.5), (0.0, 2.0), (0.0, 1.0, 0.0))),
        ],
        periodic=Periodic(x=(-95.0, 95.0), z=(-95.0, 95.0), shear_rate=0.5, sheared="z"),
        materials={"default": Material(0.9), "b": Material(0.5, 0.1, 3.0)},
        pairs={("default", "b"): {"restitution": 0.3}},
        gravity=(0.0, 0.5, -9.81),
        integrator="split",
        symmetries=(turn(3, axis=(1.0, 1.0, 1.0)), Symmetry(-np.eye(3), name="point")),
    )
