"""Shapes of bodies in 2D and 3D: plain data from which the build makes the tables of contact detection.

The frame of a shape is the one in which its sizes, vertices or parts are given, moved so that the center of mass is the
origin. `Bodies.position` is the center of mass; `Bodies.angle` (2D) or `Bodies.orientation` (3D) rotates the frame.

A scene file has the fields of a shape as keys beside `shape = "kind"`. A class whose keys differ from its fields
overrides `file_fields`, `from_file` and `to_file`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..checks import scalar
from ..errors import ProblemError
from ..geometry.polygons import convex_polygon, polygon_moments
from ..solvers.rows import Floats, Ints
from .checks import (
    AXIS,
    FLAG,
    GIVEN,
    NOT_NEGATIVE,
    NOTHING,
    NUMBERS,
    POINT,
    POSITIVE,
    POSITIVES,
    QUATERNIONS,
    TEXT,
    TRIANGLES,
    VERTICES,
    Check,
    ListOf,
    Number,
    Remark,
    Schema,
    VectorOf,
    Where,
    refuse,
    suggestion,
)
from .fields import (
    ONLY_3D,
    Field,
    Fields,
    TableOf,
    check_fields,
    construct,
    fields_of,
    plain,
    read_fields,
    reference,
)

# All that `carom.scene` passes on; the order is alphabetical.
__all__ = [
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "Cylinder",
    "Disc",
    "Ellipse",
    "Ellipsoid",
    "Hull",
    "Mesh",
    "Part",
    "Polygon",
    "Rectangle",
    "Sphere",
]

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # (w, x, y, z)
UNTURNED: Quaternion = (1.0, 0.0, 0.0, 0.0)


class Shape:
    """Base of all shapes."""

    kind: ClassVar[str]
    dimension: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Refuses bad sizes where they are written; vertices, parts and triangles are checked when a world is built."""
        if not is_dataclass(getattr(self, "radius", None)):  # radii by chance, of a scene file
            check_fields(self, self.kind, (Number, VectorOf))

    @classmethod
    def file_fields(cls) -> dict[str, Field]:
        """Keys of the shape in scene files."""
        return fields_of(cls)

    @classmethod
    def from_file(cls, values: Mapping[str, Any], folder: Path) -> Shape:
        """The shape with checked values of its keys; mesh files are sought from `folder`."""
        return cls(**values)

    def to_file(self, folder: Path) -> dict[str, Any]:
        """The keys of the shape for a scene file in `folder`."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: plain(np.asarray(value, dtype=np.float64)) for name, value in values.items()}


class Solid(Shape):
    """Base of the 3D shapes."""

    dimension: ClassVar[int] = 3


class Outline(NamedTuple):
    """What the contact kernels know of a 2D shape other than a disc, and what its mass follows from."""

    vertices: Floats  # (k, 2) of a strictly convex polygon, counterclockwise, about the center of mass
    area: float
    moment: float  # second moment of area about the center of mass


class Figure(Shape):
    """Base of the 2D shapes other than discs."""

    def outline(self, path: str) -> Outline:
        """The outline; `path` begins the fields that errors name."""
        raise NotImplementedError


@dataclass(frozen=True)
class Disc(Shape):
    """Discs. `radius` is one number, or one per body."""

    kind: ClassVar[str] = "disc"
    radius: Annotated[float | Floats, POSITIVES]


@dataclass(frozen=True)
class Rectangle(Figure):
    """Rectangles, in scene files `size = [width, height]`."""

    kind: ClassVar[str] = "rectangle"
    width: float
    height: float

    @classmethod
    def file_fields(cls) -> dict[str, Field]:
        return {"size": Field(VectorOf(2, "[width, height], both above 0", positive=True))}

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            scalar(f"{self.kind}.{name}", getattr(self, name), 0.0, above=True)

    @classmethod
    def from_file(cls, values: Mapping[str, Any], folder: Path) -> Rectangle:
        return cls(*values["size"])

    def to_file(self, folder: Path) -> dict[str, Any]:
        return {"size": [float(self.width), float(self.height)]}

    def outline(self, path: str) -> Outline:
        w, h = (scalar(f"{path}.{name}", getattr(self, name), 0.0, above=True) for name in ("width", "height"))
        corners = 0.5 * np.array([[-w, -h], [w, -h], [w, h], [-w, h]])
        return Outline(corners, w * h, w * h * (w * w + h * h) / 12.0)


@dataclass(frozen=True)
class Polygon(Figure):
    """A convex polygon, vertices counterclockwise. It is moved so that its center of mass is the origin."""

    kind: ClassVar[str] = "polygon"
    vertices: Annotated[Sequence[tuple[float, float]], VERTICES]  # (k, 2)

    def outline(self, path: str) -> Outline:
        corners = convex_polygon(self.vertices, f"{path}.vertices")
        area, _, moment = polygon_moments(corners)
        return Outline(corners, area, moment)


@dataclass(frozen=True)
class Ellipse(Figure):
    """An ellipse with half axes along x and y.

    For contacts it is a polygon with the area of the ellipse: a regular polygon, stretched along both axes, whose
    number of vertices is the least multiple of four such that no point of it is farther from the ellipse than
    `tolerance` times the larger half axis. Mass and moment of inertia are those of the ellipse.
    """

    kind: ClassVar[str] = "ellipse"
    half_axes: Annotated[tuple[float, float], VectorOf(2, "two half axes [x, y], both above 0", positive=True)]
    tolerance: Annotated[float, Number(1e-5, 0.1), "distance of the outline from the ellipse"] = 1e-3

    def outline(self, path: str) -> Outline:
        (a, b), count = self.half_axes, 8
        while _ellipse_error(count) > self.tolerance:
            count += 4
        # Vertices lie halfway between the axes: a resting ellipse lies on an edge.
        angle = 2.0 * np.pi * (np.arange(count) + 0.5) / count
        vertices = _polygon_radius(count) * np.stack([a * np.cos(angle), b * np.sin(angle)], axis=1)
        return Outline(vertices, np.pi * a * b, 0.25 * np.pi * a * b * (a * a + b * b))


def _polygon_radius(count: int) -> float:
    """Distance of the vertices of a regular polygon with the area of the unit circle from its center."""
    return float(np.sqrt(np.pi / count / (np.sin(np.pi / count) * np.cos(np.pi / count))))


def _ellipse_error(count: int) -> float:
    """Largest distance of that polygon from the unit circle, outside at a vertex or inside at the middle of an edge."""
    radius = _polygon_radius(count)
    return max(radius - 1.0, 1.0 - radius * float(np.cos(np.pi / count)))


@dataclass(frozen=True)
class Sphere(Solid):
    """Spheres. `radius` is one number, or one per body."""

    kind: ClassVar[str] = "sphere"
    radius: Annotated[float | Floats, POSITIVES]


@dataclass(frozen=True)
class Box(Solid):
    """Rectangular boxes; `size` has the three edge lengths."""

    kind: ClassVar[str] = "box"
    size: Annotated[Vector3, VectorOf(3, "three edge lengths [x, y, z], all above 0", positive=True)]


@dataclass(frozen=True)
class Capsule(Solid):
    """A segment of `length` along z, rounded with `radius`: the whole is `length + 2 radius` long."""

    kind: ClassVar[str] = "capsule"
    radius: Annotated[float, POSITIVE]
    length: Annotated[float, POSITIVE, "between the centers of the two ends"]


@dataclass(frozen=True)
class Cylinder(Solid):
    """A circular cylinder, its axis along z."""

    kind: ClassVar[str] = "cylinder"
    radius: Annotated[float, POSITIVE]
    length: Annotated[float, POSITIVE]


@dataclass(frozen=True)
class Cone(Solid):
    """A circular cone along z, cut off parallel to its base if `top_radius` is not 0. The base is at the lower z.

    Its center of mass, the origin of its frame, is a quarter of `length` above the base, or higher if it is cut off:
    length (R^2 + 2 R r + 3 r^2) / (4 (R^2 + R r + r^2)) with R the radius of the base and r that of the top.
    """

    kind: ClassVar[str] = "cone"
    radius: Annotated[float, POSITIVE]
    length: Annotated[float, POSITIVE]
    top_radius: Annotated[float, NOT_NEGATIVE, "radius of the flat top; 0 for a tip"] = 0.0


@dataclass(frozen=True)
class Ellipsoid(Solid):
    """An ellipsoid with half axes along x, y and z."""

    kind: ClassVar[str] = "ellipsoid"
    half_axes: Annotated[Vector3, VectorOf(3, "three half axes [x, y, z], all above 0", positive=True)]


@dataclass(frozen=True, eq=False)
class Hull(Solid):
    """The convex hull of points."""

    kind: ClassVar[str] = "hull"
    vertices: Annotated[Floats | Sequence[Vector3], VERTICES]  # (k, 3)


@dataclass(frozen=True, eq=False)
class Mesh(Solid):
    """A closed triangle mesh, convex or not: from a file (OBJ, STL, PLY, glTF), or from vertices and faces.

    `spacing` (in scene files `cell`) is the width of a cell of its signed distance grid and the distance of its sample
    points; None means a 64th of its longest side. `repair` allows repairs that change no surface: merging equal
    vertices, reorienting faces.
    """

    kind: ClassVar[str] = "mesh"
    path: Annotated[str | None, TEXT, "OBJ, STL, PLY or glTF file, relative to the scene file"] = None
    vertices: Annotated[Floats | None, VERTICES] = None  # (k, 3)
    faces: Annotated[Ints | None, TRIANGLES, "triangles [i, j, k] of vertices, counted from 0"] = None  # (f, 3)
    scale: Annotated[float, POSITIVE] = 1.0
    spacing: Annotated[float | None, POSITIVE, "width of a cell of the signed distance grid"] = None
    repair: Annotated[bool, FLAG, "merge equal vertices, reorient faces"] = True

    @classmethod
    def file_fields(cls) -> dict[str, Field]:
        # A generator has a key `spacing` of its own.
        return {"cell" if name == "spacing" else name: field for name, field in fields_of(cls).items()}

    @classmethod
    def from_file(cls, values: Mapping[str, Any], folder: Path) -> Mesh:
        """Of a mesh file only the existence is checked here; the build reads it."""
        given = {"spacing" if key == "cell" else key: value for key, value in values.items()}
        if "path" in given:
            for key in ("vertices", "faces"):
                if key in given:
                    raise refuse("nothing: path names the mesh", GIVEN, key)
            from ..geometry.meshes import check_mesh_file  # with its kernels, which other scenes do not need

            try:
                file = str(folder / given["path"])
                check_mesh_file("path", file)
            except ProblemError as wrong:
                raise refuse(wrong.expected, wrong.value, "path") from None
            except (OSError, ValueError):  # a zero byte, or a name beyond the limits of the system
                raise refuse("the path of a file", given["path"], "path") from None
            return cls(**{**given, "path": file})
        for key in ("vertices", "faces"):
            if key not in given:
                where = "path" if "vertices" not in given and "faces" not in given else key
                raise refuse("the path of a mesh file, or vertices and faces", NOTHING, where)
        bad = np.argwhere(given["faces"] >= len(given["vertices"]))
        if len(bad):
            i, k = (int(v) for v in bad[0])
            last = len(given["vertices"]) - 1
            raise refuse(f"a vertex number from 0 to {last}", int(given["faces"][i, k]), "faces", i, k)
        return cls(**given)

    def to_file(self, folder: Path) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if self.path is not None:  # relative to the folder of the scene file if the mesh lies within it
            file, start = Path(self.path).absolute(), folder.absolute()
            table["path"] = (file.relative_to(start) if file.is_relative_to(start) else file).as_posix()
        else:
            table["vertices"] = plain(np.asarray(self.vertices, dtype=np.float64))
            table["faces"] = plain(np.asarray(self.faces, dtype=np.int64))
        if self.scale != 1.0:
            table["scale"] = float(self.scale)
        if self.spacing is not None:
            table["cell"] = float(self.spacing)
        return table if self.repair else {**table, "repair": False}


@dataclass(frozen=True, eq=False)
class Part:
    """One shape of a compound, and the pose of its frame in the frame of the compound."""

    shape: Solid
    position: Annotated[Vector3, POINT] = (0.0, 0.0, 0.0)
    orientation: Annotated[Quaternion, QUATERNIONS, "[w, x, y, z], normalized"] = UNTURNED
    density: Annotated[float, POSITIVE, "relative to that of the material"] = 1.0


class PartOf(Check):
    """A part of a compound in a scene file: its pose, and the keys of its shape."""

    in_python = False

    def read(self, value: Any, where: Where) -> Part:
        shape, values = read_with_shape(value, {**fields_of(Part), **ROTATION}, where, POSITIVE)
        values = with_orientation(values, 0)
        values["orientation"] = tuple(float(v) for v in values.get("orientation", UNTURNED))
        return construct(Part, {"shape": shape, **values})

    def schema(self) -> Schema:
        return reference(Part)


@dataclass(frozen=True, eq=False)
class Compound(Solid):
    """Several shapes that move as one body. Where parts overlap their mass counts twice.

    `center` and `axes` are for bodies whose mass is not spread over their parts, such as links of robots: the center of
    mass, and the principal axes to which the moments `Bodies.inertia` belong. By default they are those of the parts.
    """

    kind: ClassVar[str] = "compound"
    parts: Annotated[Sequence[Part], ListOf(PartOf(), 1, text="at least one part {shape = ..., position = ...}")]
    center: Annotated[Vector3 | None, POINT, "center of mass; that of the parts by default"] = None
    axes: Annotated[Quaternion | None, QUATERNIONS, "[w, x, y, z] of the axes of `inertia`"] = None

    def to_file(self, folder: Path) -> dict[str, Any]:
        table: dict[str, Any] = {"parts": [_part_to_file(part, folder) for part in self.parts]}
        given = {"center": self.center, "axes": self.axes}
        return table | {name: [float(v) for v in value] for name, value in given.items() if value is not None}


def _part_to_file(part: Part, folder: Path) -> dict[str, Any]:
    table = {"shape": part.shape.kind, **part.shape.to_file(folder), "position": [float(v) for v in part.position]}
    if tuple(part.orientation) != UNTURNED:
        table["orientation"] = [float(v) for v in part.orientation]
    return table if part.density == 1.0 else {**table, "density": float(part.density)}


KINDS: dict[str, type[Shape]] = {
    c.kind: c
    for c in (
        *(Disc, Rectangle, Polygon, Ellipse),
        *(Sphere, Box, Capsule, Cylinder, Cone, Ellipsoid, Hull, Mesh, Compound),
    )
}


# ---- shapes and rotations in scene files


@dataclass(frozen=True)
class Rotation:
    """A rotation about an axis by the right-hand rule; one angle for all bodies, or one per body."""

    axis: Annotated[tuple[float, ...], AXIS]
    degrees: Annotated[float | Floats, NUMBERS]

    def quaternions(self) -> Floats:
        """Quaternions (4,), or (n, 4) if `degrees` is a list. Multiples of 90 degrees are exact."""
        half = 0.5 * np.asarray(self.degrees, dtype=np.float64)
        steps = np.round(half / 45.0)
        is_exact = half == 45.0 * steps
        k = np.where(is_exact, steps, 0.0).astype(np.int64)
        cosine = np.where(is_exact, _COSINES[k % 8], np.cos(np.radians(half)))
        sine = np.where(is_exact, _COSINES[(k - 2) % 8], np.sin(np.radians(half)))
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        return np.concatenate([cosine[..., None], sine[..., None] * axis], axis=-1)


_COSINES = np.array([1.0, np.sqrt(0.5), 0.0, -np.sqrt(0.5), -1.0, -np.sqrt(0.5), 0.0, np.sqrt(0.5)])  # of k pi / 4
ROTATION = {"rotation": Field(TableOf(Rotation), None, "{axis = [x, y, z], degrees = ...}", ONLY_3D)}


def with_orientation(values: Mapping[str, Any], count: int) -> dict[str, Any]:
    """The values of a table with its `rotation` as an orientation: one, or one for each of `count` bodies."""
    out = dict(values)
    name: tuple[str, ...] = ("orientation",)
    if "rotation" in out:
        if "orientation" in out:
            raise refuse("either orientation or rotation, not both", GIVEN, "rotation")
        out["orientation"], name = out.pop("rotation").quaternions(), ("rotation", "degrees")
    found = out.get("orientation")
    if found is not None and found.ndim == 2 and len(found) != count:
        raise refuse(one_or(count), Remark(f"{len(found)} entries"), *name)
    return out


@dataclass(frozen=True)
class Foreign(Check):
    """A key that belongs to other shapes than that of the table."""

    kind: str
    owners: tuple[str, ...]

    def read(self, value: Any, where: Where) -> Any:
        suited = [repr(kind) for kind in self.owners if KINDS[kind].dimension == where.dimension]
        owners = " or ".join(filter(None, [", ".join(suited[:-1]), suited[-1]]))
        raise refuse(f"nothing: that belongs to shape {owners}, and shape is {self.kind!r}", GIVEN)


def read_with_shape(data: Any, own: Fields, where: Where, radius: Check) -> tuple[Shape, dict[str, Any]]:
    """The shape of a table that has the keys of a shape beside its `own`; `radius` checks radii that may be many."""
    if not isinstance(data, Mapping):
        raise refuse("a table", data)
    kinds = [kind for kind, shape in KINDS.items() if shape.dimension == where.dimension]
    kind = data.get("shape", kinds[0])
    if not isinstance(kind, str) or kind not in kinds:
        other = _COUNTERPARTS.get(kind) if isinstance(kind, str) else None
        hint = f"; did you mean {other!r}?" if other in kinds else suggestion(kind, kinds)
        raise refuse(f"one of {', '.join(kinds)}{hint}", kind, "shape")
    fields: dict[str, Field] = {"shape": Field(TEXT, kind)}
    for key, field in KINDS[kind].file_fields().items():
        check = radius if field.check is POSITIVES else field.check
        fields[key] = replace(field, check=check, because=f", because shape is {kind!r}")
    for key, field in shape_fields().items():
        fields.setdefault(key, replace(field, check=Foreign(kind, _owners(key))))
    values = read_fields(data, {**fields, **own}, where)
    keys = KINDS[kind].file_fields()
    shape = KINDS[kind].from_file({key: values[key] for key in keys if key in values}, where.folder)
    return shape, {key: value for key, value in values.items() if key in own}


@functools.cache
def shape_fields() -> dict[str, Field]:
    """The keys of all shapes, none of them needed."""
    out: dict[str, Field] = {}
    for key in dict.fromkeys(key for shape in KINDS.values() for key in shape.file_fields()):
        shapes = [KINDS[kind] for kind in _owners(key)]
        first = shapes[0].file_fields()[key]
        only = shapes[0].dimension if len({shape.dimension for shape in shapes}) == 1 else None
        about = f"of {', '.join(_owners(key))}" + (f": {first.about}" if first.about else "")
        out[key] = replace(first, default=None, about=about, only=only)
    return out


@functools.cache
def _owners(key: str) -> tuple[str, ...]:
    return tuple(kind for kind, shape in KINDS.items() if key in shape.file_fields())


_COUNTERPARTS = {"disc": "sphere", "rectangle": "box", "polygon": "hull", "ellipse": "ellipsoid"}  # of 2D shapes in 3D
_COUNTERPARTS |= {solid: flat for flat, solid in _COUNTERPARTS.items()}


def one_or(count: int) -> str:
    """What is expected of a value that may be a list."""
    return f"one, or {count}: one for each body" if count else "one: a part is one shape"


def unit(quaternion: Floats) -> Floats:
    """Quaternions (..., 4), normalized."""
    q = np.asarray(quaternion, dtype=np.float64)
    q = q / np.abs(q).max(axis=-1, keepdims=True)  # squares of tiny numbers would vanish
    return q / np.sqrt((q * q).sum(axis=-1, keepdims=True))
