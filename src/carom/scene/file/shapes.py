"""Shapes and turns in a scene file: a name, and beside it the keys that belong to it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from ...solvers.rows import Floats
from .tables import FileTable
from .values import GIVEN, MISSING, Flag, Numbers, Positive, Text, wrong
from .vectors import SHAPES, Axis, Corners, Faces, Point, Quaternions, ShapeName, Size, axes

NEEDED = {
    "disc": {"radius": "a number above 0"},
    "box": {"size": "[width, height]"},
    "polygon": {"vertices": "at least three corners [x, y]"},
    "sphere": {"radius": "a number above 0"},
    "cuboid": {"size": "three edge lengths [x, y, z]"},
    "capsule": {"radius": "a number above 0", "length": "a number above 0"},
    "cylinder": {"radius": "a number above 0", "length": "a number above 0"},
    "hull": {"vertices": "at least four points [x, y, z]"},
    "mesh": {},
    "compound": {"parts": "at least one part {shape = ..., position = ...}"},
}
OF_MESHES = ("path", "vertices", "faces", "scale", "cell", "repair")
_EIGHTHS = np.array([1.0, np.sqrt(0.5), 0.0, -np.sqrt(0.5), -1.0, -np.sqrt(0.5), 0.0, np.sqrt(0.5)])  # cosines
OWNED = {shape: (*needed, *(OF_MESHES if shape == "mesh" else ())) for shape, needed in NEEDED.items()}


class RotationTable(FileTable):
    """A turn about an axis by the right-hand rule; one for all, or one for each body."""

    axis: Axis
    degrees: Numbers

    def quaternions(self) -> Floats:
        """(4,), or (n, 4) where `degrees` is a list. Multiples of 90 degrees turn exactly."""
        half = 0.5 * np.asarray(self.degrees, dtype=np.float64)
        steps = np.round(half / 45.0)
        is_exact = half == 45.0 * steps
        k = np.where(is_exact, steps, 0.0).astype(np.int64)
        cosine = np.where(is_exact, _EIGHTHS[k % 8], np.cos(np.radians(half)))
        sine = np.where(is_exact, _EIGHTHS[(k - 2) % 8], np.sin(np.radians(half)))
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        return np.concatenate([cosine[..., None], sine[..., None] * axis], axis=-1)


class TurnFields(FileTable):
    """How a body or a part is turned: a quaternion, or an axis and an angle."""

    space_keys: ClassVar[tuple[str, ...]] = ("orientation", "rotation")

    orientation: Quaternions | None = Field(None, description="[w, x, y, z], made of unit length; in space alone")
    rotation: RotationTable | None = Field(None, description="{axis = [x, y, z], degrees = ...}; in space alone")

    @model_validator(mode="after")
    def _one_turn(self) -> TurnFields:
        if self.orientation is not None and self.rotation is not None:
            raise wrong("either orientation or rotation, not both", GIVEN, ("rotation",))
        return self

    def quaternions(self) -> Floats | None:
        """Quaternions, (4,) or (n, 4); None for what is not turned."""
        return self.orientation if self.rotation is None else self.rotation.quaternions()


class ShapeFields(FileTable):
    """A shape and its sizes."""

    space_keys: ClassVar[tuple[str, ...]] = ("length", "path", "faces", "scale", "cell", "repair", "parts")

    shape: ShapeName | None = Field(None, description='"disc", in space "sphere", if not given')
    radius: Any = None
    size: Size | None = Field(None, description="[width, height] of boxes, [x, y, z] of cuboids")
    length: Positive | None = Field(None, description="of capsules, between the centers of their ends; of cylinders")
    vertices: Corners | None = Field(None, description="of a convex polygon, in order; of a hull or a mesh")
    path: Text | None = Field(None, description="of a mesh: OBJ, STL, PLY or glTF, seen from the scene file")
    faces: Faces | None = Field(None, description="of a mesh with vertices: triangles [i, j, k], counted from 0")
    scale: Positive | None = Field(None, description="of a mesh")
    cell: Positive | None = Field(None, description="of a mesh: width of a cell of its signed distance grid")
    repair: Flag | None = Field(None, description="of a mesh: merge equal vertices, turn faces; true if not given")
    parts: list[PartTable] | None = Field(None, description="of a compound")

    def shape_name(self, dimension: int) -> str:
        return self.shape or SHAPES[dimension][0]

    def check_shape(self, dimension: int) -> None:
        """Every key that the shape needs, and none of another's."""
        shape = self.shape_name(dimension)
        for key, expected in NEEDED[shape].items():
            if getattr(self, key) is None:
                raise wrong(f"{expected}, because shape is {shape!r}", MISSING, (key,))
        for key in dict.fromkeys(key for keys in OWNED.values() for key in keys):
            if getattr(self, key) is not None and key not in OWNED[shape]:
                owners = [repr(name) for name in SHAPES[dimension] if key in OWNED[name]]
                others = " or ".join(filter(None, [", ".join(owners[:-1]), owners[-1]]))
                raise wrong(f"nothing: that belongs to shape {others}, and shape is {shape!r}", GIVEN, (key,))
        if shape in ("capsule", "cylinder") and not isinstance(self.radius, float):
            raise wrong(f"one number above 0: the {shape}s of a table are all alike", GIVEN, ("radius",))
        if shape == "mesh":
            self._check_mesh()
        if shape == "compound" and not self.parts:
            raise wrong(NEEDED[shape]["parts"], [], ("parts",))

    def _check_mesh(self) -> None:
        if self.path is not None:
            for key in ("vertices", "faces"):
                if getattr(self, key) is not None:
                    raise wrong("nothing: path says where the mesh is", GIVEN, (key,))
            return
        for key in ("vertices", "faces"):
            if getattr(self, key) is None:
                where = "path" if self.vertices is None and self.faces is None else key
                raise wrong("the path of a mesh file, or vertices and faces", MISSING, (where,))
        assert self.faces is not None
        assert self.vertices is not None
        bad = np.argwhere(self.faces >= len(self.vertices))
        if len(bad):
            i, k = (int(v) for v in bad[0])
            raise wrong(f"a vertex number from 0 to {len(self.vertices) - 1}", int(self.faces[i, k]), ("faces", i, k))


class PartTable(ShapeFields, TurnFields):
    """One part of a compound: where its center of mass is, how it is turned."""

    space_keys: ClassVar[tuple[str, ...]] = ()
    radius: Positive | None = None
    position: Point = (0.0, 0.0, 0.0)
    density: Positive = Field(1.0, description="relative to that of the material")

    @model_validator(mode="after")
    def _its_shape(self, info: ValidationInfo) -> PartTable:
        self.check_shape(axes(info))
        turned = self.quaternions()
        if turned is not None and turned.ndim != 1:
            raise wrong("one turn: a part is one", GIVEN, ("orientation" if self.rotation is None else "rotation",))
        return self


ShapeFields.model_rebuild()
