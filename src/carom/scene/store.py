"""A scene as plain data and arrays, for files that hold it beside other data: `unpack(*pack(scene))`.

Numbers, text and short arrays go into `meta`, which JSON holds without loss; long arrays into `arrays`, bit for bit. An
object of a scene is stored as the name of its class and its fields. A mesh from a file is stored with its vertices and
faces, and read again without the file. A Python function cannot be stored; its path is listed in `meta["not_stored"]`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError, check_texts
from ..geometry.meshes import read_mesh
from . import boundaries, changes, joints, motion, shapes
from .boundaries import Periodic
from .fields import fields_of
from .model import Bodies, Material, Scene
from .motion import Motion
from .shapes import Mesh, Part
from .symmetry import Symmetry

Arrays = dict[str, NDArray[Any]]

FORMAT = 4  # 4: restitution that depends on speed, drag and potential of a scene
JOINTED_FORMAT = 5  # of scenes with joints; others are stored as before
CHANGING_FORMAT = 6  # of scenes whose bodies appear and vanish
# Fields of a scene that the formats before do not have, by format.
LEFT_OUT = {
    FORMAT: {"pairs", "joints", "sources", "sinks"},
    JOINTED_FORMAT: {"pairs", "sources", "sinks"},
    CHANGING_FORMAT: {"pairs"},
}
INLINE = 16  # arrays of up to this many numbers stand in meta: JSON keeps the bits of a float64
CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        *(Bodies, Material, Part, Periodic, Symmetry),
        *(*shapes.KINDS.values(), *boundaries.KINDS.values(), *motion.KINDS.values()),
        *joints.KINDS.values(),
        *(changes.Source, changes.Sink),
    )
}
ABSENT = object()


def pack(scene: Scene) -> tuple[dict[str, Any], Arrays]:
    """`(meta, arrays)`: meta is made of dicts, lists, text and numbers only; arrays are named by their path."""
    to = _Writer()
    form = CHANGING_FORMAT if scene.changes else JOINTED_FORMAT if scene.joints else FORMAT
    left_out = LEFT_OUT[form]
    meta = {f.name: to.any(getattr(scene, f.name), f.name) for f in dataclasses.fields(Scene) if f.name not in left_out}
    meta["pairs"] = [
        {"between": list(names), "coefficients": to.any(dict(v), "pairs")} for names, v in scene.pairs.items()
    ]
    return {"format": form, **meta, "not_stored": to.not_stored}, to.arrays


def unpack(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], scene: Scene | None = None) -> Scene:
    """The scene again. What could not be stored is left out, or, if `scene` is given, taken from it.

    `scene` must then agree in everything that was stored. Without it a motion that could not be stored is refused,
    because its owner would not move; a force that could not be stored becomes None.
    """
    if meta.get("format") not in tuple(LEFT_OUT):
        raise ProblemError("scene.format", meta.get("format"), f"{FORMAT}: the format of this version of Carom")
    if scene is not None:
        if not agrees(scene, meta, arrays):
            raise ProblemError("scene", repr(scene.name), f"the scene that was stored, {meta['name']!r}, unchanged")
        return scene
    check_texts("scene", meta)
    read = _Reader(arrays)
    left_out = LEFT_OUT[meta["format"]]
    names = [f.name for f in dataclasses.fields(Scene) if f.name not in left_out]
    values = {name: read.any(meta[name], name) for name in names}
    pairs = {(p["between"][0], p["between"][1]): read.any(p["coefficients"], "pairs") for p in meta["pairs"]}
    made = Scene(**{name: value for name, value in values.items() if value is not ABSENT}, pairs=pairs)
    _check_objects(made)
    return made


def _check_objects(scene: Scene) -> None:
    """Refuses lists of a stored scene that hold something else; the build checks the values of the objects."""
    kinds: dict[str, type] = {"bodies": Bodies, "boundaries": boundaries.Boundary, "joints": joints.Joint}
    kinds |= {"sources": changes.Source, "sinks": changes.Sink, "symmetries": Symmetry}
    for name, kind in kinds.items():
        found = getattr(scene, name)
        if not isinstance(found, tuple):
            raise ProblemError(f"scene.{name}", found, "a list")
        for i, item in enumerate(found):
            if not isinstance(item, kind):
                raise ProblemError(f"scene.{name}[{i}]", item, f"an object of the class {kind.__name__}")
    for name in ("materials", "parameters"):
        if not isinstance(getattr(scene, name), dict):
            raise ProblemError(f"scene.{name}", getattr(scene, name), "a table")
    for name, material in scene.materials.items():
        if not isinstance(material, Material):
            raise ProblemError(f"scene.materials.{name}", material, "an object of the class Material")
    if scene.periodic is not None and not isinstance(scene.periodic, Periodic):
        raise ProblemError("scene.periodic", scene.periodic, "an object of the class Periodic")
    for i, symmetry in enumerate(scene.symmetries):
        if symmetry.dimension != scene.dimension:
            raise ProblemError(f"scene.symmetries[{i}]", f"{symmetry.dimension}D", f"a symmetry in {scene.dimension}D")


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
        """Plain data for any value of a scene; functions and objects of other libraries are noted as not stored."""
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
        if CLASSES.get(type(value).__name__) is type(value):
            return {"object": type(value).__name__, "fields": self.fields(value, path)}
        self.not_stored.append(path)
        return {"absent": True}

    def array(self, value: NDArray[Any], path: str) -> Any:
        if value.dtype == np.float64 and value.size <= INLINE and np.isfinite(value).all():
            return {"values": value.ravel().tolist(), "shape": list(value.shape)}
        self.arrays[path] = np.ascontiguousarray(value)
        return {"array": path}

    def fields(self, value: Any, path: str) -> dict[str, Any]:
        """The fields of an object; numbers that may be many are stored as arrays, however they are given."""
        if isinstance(value, Mesh) and value.path is not None:
            vertices, faces = read_mesh(f"{path}.path", value.path)
            value = dataclasses.replace(value, path=None, vertices=vertices, faces=faces)
        declared, out = fields_of(type(value)), {}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if field.name == "present" and item is True:
                continue  # files of scenes that do not change stay as they were
            dtype = declared[field.name].check.dtype if field.name in declared else None
            if dtype is not None and item is not None:
                item = np.asarray(item, dtype=dtype)
                item = item.item() if item.ndim == 0 else item
            out[field.name] = self.any(item, f"{path}.{field.name}")
        return out


class _Reader:
    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def any(self, value: Any, path: str) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = [self.any(item, f"{path}[{i}]") for i, item in enumerate(value)]
            return tuple(item for item in items if item is not ABSENT)
        if not isinstance(value, Mapping):
            return value
        if "array" in value:
            if value["array"] not in self.arrays:
                raise ProblemError(f"scene.{value['array']}", "nothing", "an array that is stored with the scene")
            return np.array(self.arrays[value["array"]])
        if "values" in value:
            return np.array(value["values"], dtype=np.float64).reshape(value["shape"])
        if "absent" in value:
            return ABSENT
        if "object" in value:
            return self.object(value["object"], value["fields"], path)
        read = {key: self.any(item, f"{path}.{key}") for key, item in value["map"].items()}
        if path == "pairs" and ABSENT in read.values():
            self.refuse("pairs")
        return {key: item for key, item in read.items() if item is not ABSENT}

    def refuse(self, path: str) -> None:
        """Raises the error for a function without which the scene would be another one."""
        wanted = "the scene itself to be passed again"
        raise ProblemError(path, "a Python function, which no file can hold", wanted)

    def object(self, name: str, fields: Mapping[str, Any], path: str) -> Any:
        """An object of a class of scenes; a stored file cannot name any other class."""
        if name not in CLASSES:
            raise ProblemError("scene.object", name, "a class of scenes of this version of Carom")
        values = {key: self.any(item, f"{path}.{key}") for key, item in fields.items()}
        for key in ("motion", "restitution"):
            if values.get(key) is ABSENT:
                self.refuse(f"{path}.{key}")
        made = CLASSES[name](**values)
        return motion.FIXED if isinstance(made, Motion) and made == motion.FIXED else made
