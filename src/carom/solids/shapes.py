"""From the shapes of a scene to forms, with every check of their numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..scene.numbers import array, scalar
from ..scene.shapes import Box, Capsule, Compound, Cylinder, Hull, Mesh, Part, Solid, Sphere, unit
from ..solvers.rows import Floats
from . import hulls, round_forms
from .form import Form


@dataclass
class Forms:
    """The forms of a world; equal shapes share one."""

    made: list[Form] = field(default_factory=list)
    number: dict[Hashable, int] = field(default_factory=dict)

    def of(self, path: str, shape: Solid) -> int:
        """The number of the form of a shape that is no compound and has one size."""
        if isinstance(shape, Sphere):
            return self.sphere(scalar(f"{path}.radius", shape.radius, 0.0, above=True))
        if isinstance(shape, Box):
            size = array(f"{path}.size", shape.size, (3,), "three edge lengths above 0")
            if not (size > 0.0).all():
                raise ProblemError(f"{path}.size", shape.size, "three edge lengths above 0")
            return self._kept((shape.kind, size.tobytes()), lambda: hulls.cuboid(size))
        if isinstance(shape, (Capsule, Cylinder)):
            make = round_forms.capsule if isinstance(shape, Capsule) else round_forms.cylinder
            radius = scalar(f"{path}.radius", shape.radius, 0.0, above=True)
            length = scalar(f"{path}.length", shape.length, 0.0, above=True)
            return self._kept((shape.kind, radius, length), lambda: make(radius, length))
        if isinstance(shape, Hull):
            points = array(f"{path}.vertices", shape.vertices, (None, 3), "points (k, 3)")
            return self._kept((shape.kind, points.tobytes()), lambda: hulls.hull(f"{path}.vertices", points))
        if isinstance(shape, Mesh):
            from .meshes import load_mesh, mesh_form  # the only shape that reads files

            surface = load_mesh(path, shape)
            return self._kept((shape.kind, surface.key), lambda: mesh_form(path, surface))
        raise ProblemError(path, type(shape).__name__, "a shape of space, such as Sphere or Box")

    def sphere(self, radius: float) -> int:
        return self._kept(("sphere", radius), lambda: round_forms.sphere(radius))

    def _kept(self, key: Hashable, make: Any) -> int:
        if key not in self.number:
            form = make()
            self.number[key] = len(self.made)
            self.made.append(form)
        return self.number[key]


@dataclass(frozen=True, eq=False)
class Placed:
    """A form within a body: `x = place + turn @ (x of the form)`, and its density relative to the material's."""

    form: int
    place: Floats  # (3,)
    turn: Floats  # (3, 3)
    density: float


def placed_forms(path: str, shape: Solid, forms: Forms) -> tuple[list[Placed], Floats]:
    """The forms of a shape about its center of mass, and that center in the coordinates as given. Compounds flatten."""
    if not isinstance(shape, Compound):
        number = forms.of(path, shape)
        return [Placed(number, np.zeros(3), np.eye(3), 1.0)], forms.made[number].origin
    parts = list(shape.parts)
    if not parts:
        raise ProblemError(f"{path}.parts", "no parts", "at least one part")
    found = [placed for k, part in enumerate(parts) for placed in _of_part(f"{path}.parts[{k}]", part, forms)]
    weights = np.array([p.density * forms.made[p.form].volume for p in found])
    center = weights @ np.array([p.place for p in found]) / weights.sum()
    center[np.abs(center) <= 1e-15 * max(forms.made[p.form].reach for p in found)] = 0.0
    return [Placed(p.form, p.place - center, p.turn, p.density) for p in found], center


def _of_part(path: str, part: Part, forms: Forms) -> Iterator[Placed]:
    position = array(f"{path}.position", part.position, (3,), "three finite numbers (x, y, z)")
    turn = rotation(f"{path}.orientation", part.orientation)
    density = scalar(f"{path}.density", part.density, 0.0, above=True)
    inside, _ = placed_forms(f"{path}.shape", part.shape, forms)
    for p in inside:
        yield Placed(p.form, position + turn @ p.place, turn @ p.turn, density * p.density)


def rotation(path: str, quaternion: Any) -> Floats:
    """The rotation matrix (3, 3) of a quaternion (w, x, y, z) of any length but zero."""
    q = array(path, quaternion, (4,), "a quaternion (w, x, y, z)")
    if not (q * q).sum() > 0.0:
        raise ProblemError(path, quaternion, "a quaternion (w, x, y, z) that is not zero")
    w, x, y, z = unit(q)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
