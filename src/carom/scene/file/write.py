"""A Scene as TOML text. Bodies are written out, one table for each group: `parse_toml(scene_to_toml(s))` is s again."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ...errors import ProblemError
from ..boundaries import Boundary
from ..model import Bodies, Disc, Material, Polygon, Rectangle, Scene
from ..motion import KINDS, Motion
from ..symmetry import Symmetry

SETTINGS = ("name", "description", "gravity", "step", "duration", "frame_rate", "stepper", "law", "mixed_restitution")
MODELS = ("restitution_model", "friction_model")


def save_scene(scene: Scene, path: str | Path, overwrite: bool = False) -> None:
    """Writes the whole file or nothing."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise ProblemError(str(path), repr(path.suffix), "a file name that ends in .toml")
    if path.exists() and not overwrite:
        raise ProblemError(str(path), "a file that exists", "a new name, or overwrite=True")
    if not path.absolute().parent.is_dir():
        raise ProblemError(str(path), "no such folder", "a folder that exists")
    text = scene_to_toml(scene)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def scene_to_toml(scene: Scene) -> str:
    """The text of a scene file. A force or a motion by a Python function is refused."""
    if scene.force is not None:
        raise ProblemError("force", "a Python function", "None: a scene file cannot hold a function")
    head = {name: _plain(getattr(scene, name)) for name in SETTINGS if getattr(scene, name) != ""}
    head |= {name: getattr(scene, name) for name in MODELS if getattr(scene, name) is not None}
    if scene.parameters:
        head["parameters"] = {str(k): _recordable(v) for k, v in scene.parameters.items() if v is not None}
    document: dict[str, Any] = {"scene": head}
    document["materials"] = {
        name: _fields(m) for name, m in scene.materials.items() if m != Material() or name != "default"
    }
    document["pairs"] = [{"between": list(names), **values} for names, values in scene.pairs.items()]
    document["bodies"] = [_bodies(group, f"bodies[{i}]") for i, group in enumerate(scene.bodies)]
    document["boundaries"] = [_boundary(b, f"boundaries[{i}]") for i, b in enumerate(scene.boundaries)]
    if scene.periodic is not None:
        document["periodic"] = _fields(scene.periodic)
    document["symmetries"] = [_symmetry(s) for s in scene.symmetries if isinstance(s, Symmetry)]
    return tomli_w.dumps({key: value for key, value in document.items() if value})


def _bodies(group: Bodies, path: str) -> dict[str, Any]:
    table: dict[str, Any] = {"name": group.name} if group.name else {}
    table |= _shape(group)
    table["position"] = _plain(np.asarray(group.position, dtype=np.float64))
    if np.any(group.velocity):
        table["velocity"] = _plain(np.asarray(group.velocity, dtype=np.float64))
    for field, rest in (("angle", 0.0), ("spin", 0.0), ("mass", None), ("inertia", None)):
        value = getattr(group, field)
        if value is not None and (rest is None or np.any(np.asarray(value) != rest)):
            table[field] = _plain(np.asarray(value, dtype=np.float64))
    if group.material != "default":
        table["material"] = group.material
    if not group.rotates:
        table["rotates"] = False
    if group.motion is not None:
        table["motion"] = _motion(group.motion, f"{path}.motion")
    return table


def _shape(group: Bodies) -> dict[str, Any]:
    shape = group.shape
    if isinstance(shape, Disc):
        return {"shape": "disc", "radius": _plain(np.asarray(shape.radius, dtype=np.float64))}
    if isinstance(shape, Rectangle):
        return {"shape": "box", "size": [float(shape.width), float(shape.height)]}
    assert isinstance(shape, Polygon)
    return {"shape": "polygon", "vertices": _plain(np.asarray(shape.vertices, dtype=np.float64))}


def _boundary(boundary: Boundary, path: str) -> dict[str, Any]:
    table = {"kind": boundary.kind, **_fields(boundary, but=("motion",))}
    if boundary.motion.kind != "fixed":
        table["motion"] = _motion(boundary.motion, f"{path}.motion")
    return table


def _symmetry(symmetry: Symmetry) -> dict[str, Any]:
    return {"name": symmetry.name, "center": _plain(symmetry.centre), "matrix": _plain(symmetry.matrix)}


def _motion(motion: Motion, path: str) -> Any:
    if KINDS.get(motion.kind) is not type(motion) or not motion.storable:
        raise ProblemError(path, "a Python function", "a motion that a file can hold: " + ", ".join(KINDS))
    return "fixed" if motion.kind == "fixed" else {"kind": motion.kind, **_fields(motion)}


def _fields(owner: Any, but: tuple[str, ...] = ()) -> dict[str, Any]:
    values = {f.name: getattr(owner, f.name) for f in dataclasses.fields(owner) if f.name not in but}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Lists and Python numbers, which is what TOML writers take."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _recordable(value: Any) -> Any:
    """Parameters are a record only: whatever TOML has no word for becomes text."""
    value = _plain(value)
    if isinstance(value, dict):
        return {str(k): _recordable(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_recordable(item) for item in value if item is not None]
    return value if isinstance(value, (bool, int, float, str)) else str(value)
