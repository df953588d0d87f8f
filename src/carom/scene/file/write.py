"""A Scene as TOML text, with one table per group of bodies: `parse_toml(scene_to_toml(s))` is s again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ...errors import ProblemError
from ...files import write_text
from ..fields import fields_of, plain
from ..model import Bodies, Material, Scene
from ..motion import KINDS, Motion
from ..shapes import UNTURNED


def save_scene(scene: Scene, path: str | Path, overwrite: bool = False) -> None:
    """Writes the whole file or nothing."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise ProblemError(str(path), repr(path.suffix), "a file name that ends in .toml")
    if path.exists() and not overwrite:
        raise ProblemError(str(path), "a file that exists", "a new name, or overwrite=True")
    if not path.absolute().parent.is_dir():
        raise ProblemError(str(path), "no such folder", "a folder that exists")
    text = scene_to_toml(scene, path.parent)
    write_text(path, text)


def starter_text(name: str, file: str, dimension: int = 2) -> str:
    """The commented scene that `carom new` writes, with the given name; `file` is shown in its comments."""
    text = Path(__file__).with_name(f"starter_{dimension}d.toml").read_text(encoding="utf-8")
    safe = name.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("FILE.toml", file).replace('name = "NAME"', f'name = "{safe}"', 1)


def scene_to_toml(scene: Scene, folder: str | Path = ".") -> str:
    """The text of a scene file for `folder`. A force or a motion by a Python function is refused."""
    return tomli_w.dumps(scene_document(scene, folder))


def scene_document(scene: Scene, folder: str | Path = ".") -> dict[str, Any]:
    """The tables of a scene file for `folder`."""
    if scene.force is not None:
        raise ProblemError("force", "a Python function", "None: a scene file cannot hold a function")
    tables = {f"materials.{name}": vars(m) for name, m in scene.materials.items()}
    for path, values in (tables | {f"pairs[{a}, {b}]": dict(v) for (a, b), v in scene.pairs.items()}).items():
        if callable(values.get("restitution")):
            raise ProblemError(
                f"{path}.restitution", "a Python function", "a number or a table: a file cannot hold one"
            )
    d = scene.dimension
    head = {name: value for name, value in _table(scene, d).items() if value not in ("", {})}
    if d == 3:
        head["dimension"] = 3
        if not np.any(scene.gravity):
            del head["gravity"]  # which may have two components
    if "parameters" in head:
        head["parameters"] = _recordable(scene.parameters)
    document: dict[str, Any] = {
        "scene": head,
        "materials": {
            name: _table(m, d) for name, m in scene.materials.items() if m != Material() or name != "default"
        },
        "pairs": [
            {"between": list(names), **{key: plain(value) for key, value in values.items()}}
            for names, values in scene.pairs.items()
        ],
        "bodies": [_bodies(group, d, f"bodies[{i}]", Path(folder)) for i, group in enumerate(scene.bodies)],
        "boundaries": [
            {"kind": b.kind, **_moving(_table(b, d), b.motion, d, f"boundaries[{i}].motion")}
            for i, b in enumerate(scene.boundaries)
        ],
        "periodic": None if scene.periodic is None else _table(scene.periodic, d),
        "joints": [{"kind": j.kind, **_joint(_table(j, d))} for j in scene.joints],
        "sources": [_table(s, d) for s in scene.sources],
        "sinks": [_table(s, d) for s in scene.sinks],
        "symmetries": [_table(s, d) for s in scene.symmetries],
    }
    return {key: value for key, value in document.items() if value}


def _table(owner: Any, dimension: int) -> dict[str, Any]:
    """The declared fields of an object that have a value in this dimension."""
    fields = {name: field for name, field in fields_of(type(owner)).items() if field.only in (None, dimension)}
    values = {name: getattr(owner, name) for name in fields if name != "motion"}
    return {name: plain(value) for name, value in values.items() if value is not None}


def _joint(table: dict[str, Any]) -> dict[str, Any]:
    """The table of a joint without an empty name."""
    return {key: value for key, value in table.items() if key != "name" or value}


def _bodies(group: Bodies, dimension: int, path: str, folder: Path) -> dict[str, Any]:
    """The fields of a group that differ from their defaults, and the keys of its shape."""
    table: dict[str, Any] = {"name": group.name} if group.name else {}
    table |= {"shape": group.shape.kind, **group.shape.to_file(folder)}
    for name, field in fields_of(Bodies).items():
        value = getattr(group, name)
        if name in ("name", "motion") or value is None or field.only not in (None, dimension):
            continue
        if name == "velocity" or (name == "spin" and dimension == 3):
            value = np.broadcast_to(value, (group.count, dimension) if np.ndim(value) == 2 else (dimension,))
        if field.check.dtype is not None:
            value = np.asarray(value, dtype=np.float64)
            default = UNTURNED if name == "orientation" else 0.0
            if not np.any(value != default) and name not in ("position", "mass", "inertia"):
                continue
        elif value == field.default:
            continue
        table[name] = plain(value)
    return _moving(table, group.motion, dimension, f"{path}.motion")


def _moving(table: dict[str, Any], motion: Motion | None, dimension: int, path: str) -> dict[str, Any]:
    """The table with its motion, unless that is the default."""
    if motion is None or (motion.kind == "fixed" and path.startswith("boundaries")):
        return table
    if not motion.storable:
        raise ProblemError(path, "a Python function", "a motion that a file can hold: " + ", ".join(KINDS))
    fixed = motion.kind == "fixed"
    return {**table, "motion": "fixed" if fixed else {"kind": motion.kind, **_table(motion, dimension)}}


def _recordable(value: Any) -> Any:
    """Parameters are only a record: what TOML cannot express becomes text."""
    value = plain(value)
    if isinstance(value, dict):
        return {str(k): _recordable(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_recordable(item) for item in value if item is not None]
    return value if isinstance(value, (bool, int, float, str)) else str(value)
