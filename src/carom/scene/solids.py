"""Shapes of bodies in space. Plain data; `carom.solids` turns them into what contact detection reads.

A solid's own frame is the one that its sizes, vertices or parts are given in, moved so that the center of mass is the
origin. `Bodies.position` is where the center of mass is, `Bodies.orientation` turns the solid's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..solvers.rows import Floats, Ints

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # (w, x, y, z)
UNTURNED: Quaternion = (1.0, 0.0, 0.0, 0.0)


class Solid:
    """Base of the shapes of space."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Sphere(Solid):
    """Spheres. `radius` is one number, or one for each body."""

    kind: ClassVar[str] = "sphere"
    radius: float | Floats


@dataclass(frozen=True)
class Cuboid(Solid):
    """Boxes of space, `size` their three edge lengths."""

    kind: ClassVar[str] = "cuboid"
    size: Vector3


@dataclass(frozen=True)
class Capsule(Solid):
    """A segment of `length` along z, rounded with `radius`: the whole is `length + 2 radius` long."""

    kind: ClassVar[str] = "capsule"
    radius: float
    length: float


@dataclass(frozen=True)
class Cylinder(Solid):
    """A round cylinder, its axis along z."""

    kind: ClassVar[str] = "cylinder"
    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Hull(Solid):
    """The convex hull of points."""

    kind: ClassVar[str] = "hull"
    vertices: Floats | Sequence[Vector3]  # (k, 3)


@dataclass(frozen=True, eq=False)
class Mesh(Solid):
    """A closed triangle mesh, convex or not: from a file (OBJ, STL, PLY, glTF), or from vertices and faces.

    `spacing` is the width of a cell of its signed distance grid and the distance of its sample points; None means a
    64th of its longest side. `repair` allows what changes no surface: merging equal vertices, turning faces.
    """

    kind: ClassVar[str] = "mesh"
    path: str | None = None
    vertices: Floats | None = None  # (k, 3)
    faces: Ints | None = None  # (f, 3)
    scale: float = 1.0
    spacing: float | None = None
    repair: bool = True


@dataclass(frozen=True, eq=False)
class Part:
    """One shape of a compound: where its own frame is."""

    shape: Solid
    position: Vector3 = (0.0, 0.0, 0.0)
    orientation: Quaternion = UNTURNED
    density: float = 1.0  # relative to that of the material


@dataclass(frozen=True, eq=False)
class Compound(Solid):
    """Several shapes that move as one body. Where parts overlap their mass counts twice."""

    kind: ClassVar[str] = "compound"
    parts: Sequence[Part] = ()


KINDS: dict[str, type[Solid]] = {c.kind: c for c in (Sphere, Cuboid, Capsule, Cylinder, Hull, Mesh, Compound)}


def unit(quaternion: Floats) -> Floats:
    """Quaternions (..., 4) made of unit length."""
    q = np.asarray(quaternion, dtype=np.float64)
    q = q / np.abs(q).max(axis=-1, keepdims=True)  # squares of tiny numbers would vanish
    return q / np.sqrt((q * q).sum(axis=-1, keepdims=True))
