"""SCISim's mesh files: HDF5 with the vertices about the center of mass, along the principal axes."""

from __future__ import annotations

from pathlib import Path

from ..geometry.meshes import read_scisim_mesh
from ..geometry.rotations import quaternion_of
from ..solvers.rows import Floats
from .scisim_xml import Node
from .shapes import Mesh


def mesh_of(node: Node, folder: Path) -> tuple[Mesh, float, Floats, Floats]:
    """The mesh of a geometry, its volume, and the frame of its vertices: center (3,), quaternion (1, 4)."""
    try:
        vertices, faces, volume, center, matrix = read_scisim_mesh(_found(node, folder))
    except ValueError as reason:
        raise node.error("filename", node.attributes["filename"], str(reason)) from None
    return Mesh(vertices=vertices, faces=faces), volume, center, quaternion_of(matrix)[None]


def _found(node: Node, folder: Path) -> Path:
    """SCISim's scenes name meshes from where it was started: the scene's folder, or one above it."""
    name = Path(node.text("filename"))
    for start in (folder, *folder.absolute().parents):
        if (start / name).is_file():
            return start / name
    if (folder / name.name).is_file():
        return folder / name.name
    raise node.error("filename", str(name), "a file that exists, from the scene's folder or one above it")
