"""Parts of bodies in 3D: from the shapes that a scene declares to geometry, with every check of their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import array, scalar
from ..errors import ProblemError
from ..geometry.hulls import hull
from ..geometry.meshes import Surface, check_faces, convex_shape, mesh_shape, outline_shape, read_mesh, spaced_surface
from ..geometry.shapes import (
    Placed,
    Properties,
    Shape,
    ShapeList,
    Shapes3D,
    equal_group,
    kept,
    shape_table,
    sphere_group,
)
from ..geometry.solids import SOLID_NAMES, Extent, make_solid, sphere
from ..solvers.rows import Floats, Ints
from .checks import Check, Number, VectorOf
from .fields import fields_of
from .shapes import Compound, Hull, Mesh, Part, Solid, Sphere, unit


def make_shapes(groups: Sequence[tuple[str, Solid, int]]) -> tuple[Shapes3D, list[Properties]]:
    """The shape table of a world, and the mass properties of each group: (path for messages, shape, bodies)."""
    shapes = ShapeList()
    made = []
    for path, declared, count in groups:
        path = f"{path}.shape"
        if isinstance(declared, Sphere) and np.ndim(declared.radius) > 0:
            radius = _radii(path, declared, count)
            sizes, which = np.unique(radius, return_inverse=True)
            number = np.array([_sphere(float(r), shapes) for r in sizes], dtype=np.int64)
            made.append(sphere_group(number[which.reshape(-1)], radius))
        else:
            parts, origin = placed_shapes(path, declared, shapes)
            axes = declared.axes if isinstance(declared, Compound) else None
            given = None if axes is None else rotation(f"{path}.axes", np.ravel(axes))
            made.append(equal_group(parts, origin, count, shapes.shapes, given))
    return shape_table(made, shapes.shapes), [group.properties for group in made]


def extent_of(path: str, declared: Solid, count: int, orientation: Floats | None) -> Extent:
    """The extent of `count` bodies of a shape, all turned by `orientation` (4,); None means that each has its own."""
    if isinstance(declared, Sphere):
        radius = np.array(np.broadcast_to(np.asarray(declared.radius, dtype=np.float64), (count,)))
        return Extent([], radius, None, is_round=True)
    shapes = ShapeList()
    parts, _ = placed_shapes(path, declared, shapes, for_contact=False)
    placed = [(shapes.shapes[p.shape], p) for p in parts]
    far = max(float(np.linalg.norm(p.place)) + shape.reach for shape, p in placed)
    turn = None if orientation is None else unit(orientation)
    return Extent(placed, np.full(count, far), turn, is_round=False)


def placed_shapes(
    path: str, declared: Solid, shapes: ShapeList, for_contact: bool = True
) -> tuple[list[Placed], Floats]:
    """The parts of a shape about its center of mass, and that center in the coordinates as given.

    Nested compounds become one list. If not `for_contact`, meshes get no distance grid and no sample points.
    """
    if not isinstance(declared, Compound):
        number = _shape(path, declared, shapes, for_contact)
        return [Placed(number, np.zeros(3), np.eye(3), 1.0)], shapes.shapes[number].origin
    parts = list(declared.parts)
    if not parts:
        raise ProblemError(f"{path}.parts", "no parts", "at least one part")
    found = [p for k, part in enumerate(parts) for p in _of_part(f"{path}.parts[{k}]", part, shapes, for_contact)]
    weights = np.array([p.density * shapes.shapes[p.shape].volume for p in found])
    center = weights @ np.array([p.place for p in found]) / weights.sum()
    center[np.abs(center) <= 1e-15 * max(shapes.shapes[p.shape].reach for p in found)] = 0.0
    if declared.center is not None:
        center = array(f"{path}.center", declared.center, (3,), "three finite numbers (x, y, z)")
    return [Placed(p.shape, p.place - center, p.turn, p.density) for p in found], center


def _of_part(path: str, part: Part, shapes: ShapeList, for_contact: bool) -> Iterator[Placed]:
    position = array(f"{path}.position", part.position, (3,), "three finite numbers (x, y, z)")
    turn = rotation(f"{path}.orientation", part.orientation)
    density = scalar(f"{path}.density", part.density, 0.0, above=True)
    inside, _ = placed_shapes(f"{path}.shape", part.shape, shapes, for_contact)
    for p in inside:
        yield Placed(p.shape, position + turn @ p.place, turn @ p.turn, density * p.density)


def _shape(path: str, declared: Solid, shapes: ShapeList, for_contact: bool) -> int:
    """The number of a shape that is not a compound and has one size."""
    if isinstance(declared, Hull):
        points = array(f"{path}.vertices", declared.vertices, (None, 3), "points (k, 3)")
        return shapes.add((declared.kind, points.tobytes()), lambda: hull(f"{path}.vertices", points))
    if isinstance(declared, Mesh):
        surface = load_mesh(path, declared)
        sampled = declared.spacing is not None
        return shapes.add((declared.kind, surface.key, sampled), lambda: _mesh(path, surface, sampled, for_contact))
    if getattr(declared, "kind", None) not in SOLID_NAMES:
        raise ProblemError(path, type(declared).__name__, "a 3D shape, such as Sphere or Box")
    own = fields_of(type(declared))
    sizes = {name: _size(f"{path}.{name}", getattr(declared, name), field.check) for name, field in own.items()}
    if isinstance(declared, Sphere):
        return _sphere(float(sizes["radius"]), shapes)
    key = (declared.kind, *(np.asarray(size).tobytes() for size in sizes.values()))
    return shapes.add(key, lambda: make_solid(declared.kind, **sizes))


def _mesh(path: str, surface: Surface, sampled: bool, for_contact: bool) -> Shape:
    """A mesh; a hull in its place, if it is convex and no spacing asks for sample points."""
    convex = None if sampled else convex_shape(path, surface)
    if convex is not None:
        return convex
    return mesh_shape(path, surface) if for_contact else outline_shape(surface)


def _sphere(radius: float, shapes: ShapeList) -> int:
    return shapes.add(("sphere", radius), lambda: sphere(radius))


def _size(path: str, value: Any, check: Check) -> float | Floats:
    """A length above 0 (or from 0 up, if its check says so), or three of them."""
    if isinstance(check, Number):
        return scalar(path, value, 0.0, above=check.above)
    assert isinstance(check, VectorOf)
    size = array(path, value, (3,), check.text)
    if not (size > 0.0).all():
        raise ProblemError(path, value, check.text)
    return size


def _radii(path: str, declared: Sphere, count: int) -> Floats:
    wanted = f"one radius, or {count} of them: one for each body"
    radius = array(f"{path}.radius", declared.radius, (count,), wanted)
    if not (radius > 0.0).all():
        k = int(np.argmin(radius > 0.0))
        raise ProblemError(f"{path}.radius[{k}]", float(radius[k]), "a number above 0")
    return radius


def load_mesh(path: str, declared: Mesh) -> Surface:
    """The surface of a mesh, from its file or arrays, or a ProblemError that says what is wrong with it."""
    from ..geometry.mesh_repair import closed_surface  # it imports scipy.sparse, which takes a while

    scale = scalar(f"{path}.scale", declared.scale, 0.0, above=True)
    if declared.path is not None:
        if declared.vertices is not None or declared.faces is not None:
            raise ProblemError(f"{path}.path", declared.path, "either a file, or vertices and faces")
        where, name = f"{path}.path", f"{Path(declared.path).name}: "
        points, triangles = read_mesh(where, declared.path)
    else:
        where, name = path, ""
        points, triangles = _mesh_arrays(path, declared)
    if not np.isfinite(points).all():
        k = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise ProblemError(where, f"{name}vertex {k} at {tuple(map(float, points[k]))}", "finite coordinates")
    # Files repeat a vertex for each face that has another normal or texture there: merging is part of reading.
    merge = declared.repair or declared.path is not None
    points = points * scale
    vertices, faces = kept(
        "surface",
        (points.tobytes(), triangles.tobytes(), merge, declared.repair),
        lambda: closed_surface(where, name, points, triangles, merge, declared.repair),
    )
    spacing = None if declared.spacing is None else scalar(f"{path}.spacing", declared.spacing, 0.0, above=True)
    return spaced_surface(path, vertices, faces, spacing)


def _mesh_arrays(path: str, declared: Mesh) -> tuple[Floats, Ints]:
    if declared.vertices is None or declared.faces is None:
        missing = "vertices" if declared.vertices is None else "faces"
        raise ProblemError(f"{path}.{missing}", None, "a path to a file, or vertices (k, 3) and faces (f, 3)")
    points = array(f"{path}.vertices", declared.vertices, (None, 3), "points (k, 3)")
    numbers = array(f"{path}.faces", declared.faces, (None, 3), "triangles (f, 3) of vertex numbers")
    if not len(numbers):
        raise ProblemError(f"{path}.faces", "no triangles", "triangles (f, 3) of vertex numbers")
    faces = numbers.astype(np.int64)
    if (faces != numbers).any():
        raise ProblemError(f"{path}.faces", "fractions", "triangles (f, 3) of whole vertex numbers")
    check_faces(f"{path}.faces", "", faces, len(points))
    return points, faces


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
