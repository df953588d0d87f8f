"""A scene as plain data and arrays, for files that keep it beside something else: `unpack(*pack(scene))`.

Numbers, text and short arrays go into `meta`, which JSON can hold without loss; long arrays into `arrays`, bit for bit.
A mesh from a file is stored with its vertices and faces, and read again without the file. A Python function cannot be
stored. Its path is listed in `meta["not_stored"]`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..geometry.meshes import read_mesh
from .barriers import KINDS as BARRIERS
from .boundaries import KINDS as WALLS
from .boundaries import Boundary, Periodic
from .model import Bodies, Disc, Material, Polygon, Rectangle, Scene, Shape
from .motion import KINDS as MOTIONS
from .motion import Motion
from .solids import KINDS as SOLIDS
from .solids import Compound, Hull, Mesh, Part, Solid, Sphere

Arrays = dict[str, NDArray[Any]]

FORMAT = 1
INLINE = 16  # arrays of up to this many numbers stand in meta: JSON keeps the bits of a float64
SHAPES: dict[str, type] = {c.kind: c for c in (Disc, Rectangle, Polygon)} | SOLIDS
BOUNDARIES: dict[str, type[Boundary]] = WALLS | BARRIERS
# Of Bodies: a number or an array each.
NUMBERS = ("position", "velocity", "angle", "spin", "mass", "inertia", "orientation")
APART = (
    "bodies",
    "boundaries",
    "periodic",
    "materials",
    "pairs",
    "force",
)  # of Scene: what needs more than _Writer.any
ABSENT = object()


def pack(scene: Scene) -> tuple[dict[str, Any], Arrays]:
    """`(meta, arrays)`: meta is made of dicts, lists, text and numbers only; arrays are named by their path."""
    to = _Writer()
    meta: dict[str, Any] = {"format": FORMAT}
    for field in dataclasses.fields(Scene):
        if field.name not in APART:
            meta[field.name] = to.any(getattr(scene, field.name), field.name)
    if scene.force is not None:
        to.not_stored.append("force")
    meta["bodies"] = [to.bodies(group, f"bodies[{i}]") for i, group in enumerate(scene.bodies)]
    meta["boundaries"] = [to.boundary(b, f"boundaries[{i}]") for i, b in enumerate(scene.boundaries)]
    meta["periodic"] = None if scene.periodic is None else to.fields(scene.periodic, "periodic")
    meta["materials"] = {name: to.fields(m, f"materials.{name}") for name, m in scene.materials.items()}
    meta["pairs"] = [
        {"between": list(names), "coefficients": to.any(dict(v), "pairs")["map"]} for names, v in scene.pairs.items()
    ]
    meta["not_stored"] = to.not_stored
    return meta, to.arrays


def unpack(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], scene: Scene | None = None) -> Scene:
    """The scene again. What could not be stored is left out, or, if `scene` is given, taken from it.

    `scene` must then agree in everything that was stored. Without it a motion that could not be stored is refused,
    because the owner would stand still; a force that could not be stored becomes None.
    """
    if meta.get("format") != FORMAT:
        raise ProblemError("scene.format", meta.get("format"), f"{FORMAT}: the format of this version of Carom")
    if scene is not None:
        if not agrees(scene, meta, arrays):
            raise ProblemError("scene", repr(scene.name), f"the scene that was stored, {meta['name']!r}, unchanged")
        return scene
    read = _Reader(arrays)
    known = {f.name for f in dataclasses.fields(Scene)}
    plain = {key: read.any(value) for key, value in meta.items() if key in known and key not in APART}
    return Scene(
        **{key: value for key, value in plain.items() if value is not ABSENT},
        bodies=tuple(read.bodies(group, f"bodies[{i}]") for i, group in enumerate(meta["bodies"])),
        boundaries=tuple(read.boundary(b, f"boundaries[{i}]") for i, b in enumerate(meta["boundaries"])),
        periodic=None if meta["periodic"] is None else Periodic(**read.any(meta["periodic"])),
        materials={name: Material(**read.any(m)) for name, m in meta["materials"].items()},
        pairs={(p["between"][0], p["between"][1]): dict(p["coefficients"]) for p in meta["pairs"]},
    )


def agrees(scene: Scene, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether `scene` would be stored as exactly this."""
    own, own_arrays = pack(scene)
    return (
        own == dict(meta)
        and own_arrays.keys() == arrays.keys()
        and all(np.array_equal(own_arrays[key], arrays[key]) for key in own_arrays)
    )


class _Writer:
    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self.not_stored: list[str] = []

    def any(self, value: Any, path: str) -> Any:
        """Plain data for whatever a scene may hold; a function, or an object of another library, is noted."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return self.array(value, path)
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"map": {key: self.any(item, f"{path}.{key}") for key, item in value.items()}}
        if isinstance(value, (list, tuple)):
            return [self.any(item, f"{path}[{i}]") for i, item in enumerate(value)]
        if dataclasses.is_dataclass(value) and _is_ours(type(value)):
            kind = f"{type(value).__module__}:{type(value).__qualname__}"
            return {"object": kind, "fields": self.fields(value, path)}
        self.not_stored.append(path)
        return {"absent": True}

    def array(self, value: NDArray[Any], path: str) -> Any:
        if value.dtype == np.float64 and value.size <= INLINE and np.isfinite(value).all():
            return {"values": value.ravel().tolist(), "shape": list(value.shape)}
        self.arrays[path] = np.ascontiguousarray(value)
        return {"array": path}

    def fields(self, value: Any, path: str) -> dict[str, Any]:
        return {f.name: self.any(getattr(value, f.name), f"{path}.{f.name}") for f in dataclasses.fields(value)}

    def bodies(self, group: Bodies, path: str) -> dict[str, Any]:
        numbers = {name: self.number(getattr(group, name), f"{path}.{name}") for name in NUMBERS}
        return {
            "shape": self.shape(group.shape, f"{path}.shape"),
            **numbers,
            "material": group.material,
            "motion": None if group.motion is None else self.motion(group.motion, f"{path}.motion"),
            "rotates": bool(group.rotates),
            "name": group.name,
        }

    def shape(self, shape: Shape, path: str) -> dict[str, Any]:
        kind = {"kind": shape.kind}
        if isinstance(shape, (Disc, Sphere)):
            return {**kind, "radius": self.number(shape.radius, f"{path}.radius")}
        if isinstance(shape, Polygon):
            return {**kind, "vertices": np.asarray(shape.vertices, dtype=np.float64).tolist()}
        if isinstance(shape, Hull):
            return {**kind, "vertices": self.number(shape.vertices, f"{path}.vertices")}
        if isinstance(shape, Mesh):
            return {**kind, **self.mesh(shape, path)}
        if isinstance(shape, Compound):
            parts = [self.part(part, f"{path}.parts[{i}]") for i, part in enumerate(shape.parts)]
            return {**kind, "parts": parts}
        return {**kind, **self.fields(shape, path)}

    def mesh(self, mesh: Mesh, path: str) -> dict[str, Any]:
        """Without the path: the triangles of the file count, also where there is no such file."""
        vertices, faces = mesh.vertices, mesh.faces
        if mesh.path is not None:
            vertices, faces = read_mesh(f"{path}.path", mesh.path)
        return {
            "vertices": self.number(vertices, f"{path}.vertices"),
            "faces": None if faces is None else self.array(np.asarray(faces, dtype=np.int64), f"{path}.faces"),
            **{name: self.any(getattr(mesh, name), f"{path}.{name}") for name in ("scale", "spacing", "repair")},
        }

    def part(self, part: Part, path: str) -> dict[str, Any]:
        numbers = ("position", "orientation", "density")
        return {
            "shape": self.shape(part.shape, f"{path}.shape"),
            **{name: self.number(getattr(part, name), f"{path}.{name}") for name in numbers},
        }

    def number(self, value: Any, path: str) -> Any:
        if value is None:
            return None
        array = np.asarray(value, dtype=np.float64)
        return float(array) if array.ndim == 0 else self.array(array, path)

    def motion(self, motion: Motion, path: str) -> dict[str, Any]:
        if MOTIONS.get(motion.kind) is not type(motion) or not motion.storable:
            self.not_stored.append(path)
            return {"absent": True}
        return {"kind": motion.kind, **self.fields(motion, path)}

    def boundary(self, boundary: Boundary, path: str) -> dict[str, Any]:
        names = [f.name for f in dataclasses.fields(boundary) if f.name != "motion"]  # type: ignore[arg-type]
        stored = {name: self.any(getattr(boundary, name), f"{path}.{name}") for name in names}
        return {"kind": boundary.kind, **stored, "motion": self.motion(boundary.motion, f"{path}.motion")}


class _Reader:
    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def any(self, value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = [self.any(item) for item in value]
            return tuple(item for item in items if item is not ABSENT)
        if not isinstance(value, Mapping):
            return value
        if "array" in value:
            return self.long(value["array"])
        if "values" in value:
            return np.array(value["values"], dtype=np.float64).reshape(value["shape"])
        if "absent" in value:
            return ABSENT
        if "object" in value:
            return _our_class(value["object"])(**self.any(value["fields"]))
        items_of = value.get("map", value)
        read = {key: self.any(item) for key, item in items_of.items()}
        return {key: item for key, item in read.items() if item is not ABSENT}

    def long(self, path: str) -> NDArray[Any]:
        if path not in self.arrays:
            raise ProblemError(f"scene.{path}", "nothing", "an array that is stored with the scene")
        return np.array(self.arrays[path])

    def bodies(self, data: Mapping[str, Any], path: str) -> Bodies:
        made = self.shape(data["shape"])
        motion = None if data["motion"] is None else self.motion(data["motion"], f"{path}.motion")
        present = [name for name in NUMBERS if name in data or name != "orientation"]  # older files have none
        numbers = {name: self.any(data[name]) for name in present}
        rest = {name: data[name] for name in ("material", "rotates", "name")}
        return Bodies(shape=made, motion=motion, **numbers, **rest)

    def shape(self, data: Mapping[str, Any]) -> Any:
        fields = dict(data)
        kind = fields.pop("kind")
        if kind == Compound.kind:
            return Compound(tuple(self.part(part) for part in fields["parts"]))
        return SHAPES[kind](**self.any(fields))

    def part(self, data: Mapping[str, Any]) -> Part:
        shape: Solid = self.shape(data["shape"])
        return Part(shape, *(self.any(data[name]) for name in ("position", "orientation", "density")))

    def motion(self, data: Mapping[str, Any], path: str) -> Motion:
        if "absent" in data:
            raise ProblemError(path, "a Python function, which no file can hold", "the scene itself to be passed again")
        fields = dict(data)
        return MOTIONS[fields.pop("kind")](**self.any(fields))

    def boundary(self, data: Mapping[str, Any], path: str) -> Boundary:
        fields = dict(data)
        kind, motion = fields.pop("kind"), fields.pop("motion")
        return BOUNDARIES[kind](**{**self.any(fields), "motion": self.motion(motion, f"{path}.motion")})


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == __name__.split(".")[0]


def _our_class(name: str) -> Any:
    """The dataclass of this package that `name` means; a stored file cannot name any other object."""
    module, _, kind = name.partition(":")
    if module.split(".")[0] != __name__.split(".")[0]:
        raise ProblemError("scene.object", name, "a class of this package")
    found = getattr(importlib.import_module(module), kind, None)
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        raise ProblemError("scene.object", name, "a dataclass of this version of Carom")
    return found
