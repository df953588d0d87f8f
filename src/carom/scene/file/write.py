"""A Scene as TOML text. Bodies are written out, one table for each group: `parse_toml(scene_to_toml(s))` is s again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from ...errors import ProblemError
from ...files import write_text
from ..boundaries import Boundary
from ..model import Bodies, Disc, Material, Polygon, Rectangle, Scene
from ..motion import KINDS, Motion
from ..solids import UNTURNED, Capsule, Compound, Cuboid, Cylinder, Hull, Mesh, Part, Sphere
from ..symmetry import Symmetry

SETTINGS = ("name", "description", "step", "duration", "frame_rate", "stepper", "law", "mixed_restitution")
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
    text = scene_to_toml(scene, path.parent)
    write_text(path, text)


def scene_to_toml(scene: Scene, folder: str | Path = ".") -> str:
    """The text of a scene file for `folder`. A force or a motion by a Python function is refused."""
    if scene.force is not None:
        raise ProblemError("force", "a Python function", "None: a scene file cannot hold a function")
    head = {name: _plain(getattr(scene, name)) for name in SETTINGS if getattr(scene, name) != ""}
    in_space = scene.dimension == 3
    if in_space:
        head |= {"dimension": 3, "integrator": scene.integrator}
    if np.any(scene.gravity) or not in_space:
        head["gravity"] = _plain(scene.gravity)
    head |= {name: getattr(scene, name) for name in MODELS if getattr(scene, name) is not None}
    if scene.parameters:
        head["parameters"] = {str(k): _recordable(v) for k, v in scene.parameters.items() if v is not None}
    document: dict[str, Any] = {"scene": head}
    document["materials"] = {
        name: _fields(m) for name, m in scene.materials.items() if m != Material() or name != "default"
    }
    document["pairs"] = [{"between": list(names), **values} for names, values in scene.pairs.items()]
    to = _Tables(in_space, Path(folder))
    document["bodies"] = [to.bodies(group, f"bodies[{i}]") for i, group in enumerate(scene.bodies)]
    document["boundaries"] = [to.boundary(b, f"boundaries[{i}]") for i, b in enumerate(scene.boundaries)]
    if scene.periodic is not None:
        document["periodic"] = _fields(scene.periodic)
    document["symmetries"] = [_symmetry(s) for s in scene.symmetries if isinstance(s, Symmetry)]
    return tomli_w.dumps({key: value for key, value in document.items() if value})


@dataclasses.dataclass(frozen=True)
class _Tables:
    """Tables of bodies and boundaries."""

    in_space: bool
    folder: Path

    def bodies(self, group: Bodies, path: str) -> dict[str, Any]:
        table: dict[str, Any] = {"name": group.name} if group.name else {}
        table |= self.shape(group.shape)
        table["position"] = _plain(np.asarray(group.position, dtype=np.float64))
        if np.any(group.velocity):
            table["velocity"] = _plain(np.broadcast_to(group.velocity, self._rows(group, group.velocity)))
        if self.in_space:
            table |= _turned(group.orientation)
            if np.any(group.spin):
                table["spin"] = _plain(np.broadcast_to(group.spin, self._rows(group, group.spin)))
        else:
            turns = {name: np.asarray(getattr(group, name), dtype=np.float64) for name in ("angle", "spin")}
            table |= {name: _plain(value) for name, value in turns.items() if value.any()}
        for field in ("mass", "inertia"):
            value = getattr(group, field)
            if value is not None:
                table[field] = _plain(np.asarray(value, dtype=np.float64))
        if group.material != "default":
            table["material"] = group.material
        if not group.rotates:
            table["rotates"] = False
        if group.motion is not None:
            table["motion"] = self.motion(group.motion, f"{path}.motion")
        return table

    def _rows(self, group: Bodies, value: Any) -> tuple[int, ...]:
        """The shape in which a file takes vectors: one for all, or one for each body."""
        axes = 3 if self.in_space else 2
        return (group.count, axes) if np.ndim(value) == 2 else (axes,)

    def shape(self, shape: Any) -> dict[str, Any]:
        name = {"shape": shape.kind}
        if isinstance(shape, (Disc, Sphere)):
            return {**name, "radius": _plain(np.asarray(shape.radius, dtype=np.float64))}
        if isinstance(shape, Rectangle):
            return {**name, "size": [float(shape.width), float(shape.height)]}
        if isinstance(shape, Cuboid):
            return {**name, "size": [float(v) for v in shape.size]}
        if isinstance(shape, (Capsule, Cylinder)):
            return {**name, "radius": float(shape.radius), "length": float(shape.length)}
        if isinstance(shape, Mesh):
            return {**name, **self.mesh(shape)}
        if isinstance(shape, Compound):
            return {**name, "parts": [self.part(part) for part in shape.parts]}
        assert isinstance(shape, (Polygon, Hull))
        return {**name, "vertices": _plain(np.asarray(shape.vertices, dtype=np.float64))}

    def mesh(self, mesh: Mesh) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if mesh.path is not None:
            table["path"] = self.seen_from_folder(mesh.path)
        else:
            table["vertices"] = _plain(np.asarray(mesh.vertices, dtype=np.float64))
            table["faces"] = _plain(np.asarray(mesh.faces, dtype=np.int64))
        if mesh.scale != 1.0:
            table["scale"] = float(mesh.scale)
        if mesh.spacing is not None:
            table["cell"] = float(mesh.spacing)
        if not mesh.repair:
            table["repair"] = False
        return table

    def seen_from_folder(self, path: str) -> str:
        """Relative to the folder of the scene file if the mesh lies within it, else from the root."""
        file, folder = Path(path).absolute(), self.folder.absolute()
        return (file.relative_to(folder) if file.is_relative_to(folder) else file).as_posix()

    def part(self, part: Part) -> dict[str, Any]:
        table: dict[str, Any] = self.shape(part.shape)
        table["position"] = [float(v) for v in part.position]
        table |= _turned(part.orientation)
        return table if part.density == 1.0 else {**table, "density": float(part.density)}

    def boundary(self, boundary: Boundary, path: str) -> dict[str, Any]:
        table = {"kind": boundary.kind, **_fields(boundary, but=("motion",))}
        if boundary.motion.kind != "fixed":
            table["motion"] = self.motion(boundary.motion, f"{path}.motion")
        return table

    def motion(self, motion: Motion, path: str) -> Any:
        if KINDS.get(motion.kind) is not type(motion) or not motion.storable:
            raise ProblemError(path, "a Python function", "a motion that a file can hold: " + ", ".join(KINDS))
        if motion.kind == "fixed":
            return "fixed"
        return {"kind": motion.kind, **_fields(motion, but=() if self.in_space else ("axis", "z"))}


def _turned(orientation: Any) -> dict[str, Any]:
    """The key for quaternions that are not the unit one."""
    q = np.asarray(orientation, dtype=np.float64)
    return {"orientation": _plain(q)} if np.any(q != UNTURNED) else {}


def _symmetry(symmetry: Symmetry) -> dict[str, Any]:
    return {"name": symmetry.name, "center": _plain(symmetry.center), "matrix": _plain(symmetry.matrix)}


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
