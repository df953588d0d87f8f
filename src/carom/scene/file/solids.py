"""The solid that the keys of a table mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import ProblemError
from ...geometry.meshes import check_mesh_file
from ..solids import UNTURNED, Capsule, Compound, Cuboid, Cylinder, Hull, Mesh, Part, Solid, Sphere
from .shapes import PartTable, ShapeFields


def solid(table: ShapeFields, path: str, folder: Path) -> Solid:
    """The shape of a table whose keys are checked. Mesh files are looked for from `folder`."""
    kind = table.shape_name(3)
    if kind == "sphere":
        return Sphere(table.radius)
    if kind == "cuboid":
        assert table.size is not None
        return Cuboid((table.size[0], table.size[1], table.size[2]))
    if kind in ("capsule", "cylinder"):
        assert table.length is not None
        return (Capsule if kind == "capsule" else Cylinder)(table.radius, table.length)
    if kind == "hull":
        assert table.vertices is not None
        return Hull(table.vertices)
    if kind == "compound":
        assert table.parts is not None
        return Compound(tuple(_part(p, f"{path}.parts[{i}]", folder) for i, p in enumerate(table.parts)))
    return _mesh(table, path, folder)


def _part(table: PartTable, path: str, folder: Path) -> Part:
    turned = table.quaternions()
    w, x, y, z = UNTURNED if turned is None else (float(v) for v in turned)
    place = (table.position[0], table.position[1], table.position[2])
    return Part(solid(table, path, folder), place, (w, x, y, z), table.density)


def _mesh(table: ShapeFields, path: str, folder: Path) -> Mesh:
    """Only that the file is there is checked here; the build reads it, and says what is wrong with it."""
    given = {"scale": table.scale, "spacing": table.cell, "repair": table.repair}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if table.path is None:
        return Mesh(vertices=table.vertices, faces=table.faces, **options)
    try:
        file = str(folder / table.path)
        check_mesh_file(f"{path}.path", file)
    except (OSError, ValueError) as reason:  # a zero byte, or a name beyond what the system allows
        if isinstance(reason, ProblemError):
            raise
        raise ProblemError(f"{path}.path", repr(table.path), "the path of a file") from None
    return Mesh(path=file, **options)
