"""SCISim's mesh files: HDF5 with the vertices about the center of mass, along the principal axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.rows import Floats
from .scisim_xml import Node
from .shapes import Mesh


def mesh_of(node: Node, folder: Path) -> tuple[Mesh, float, Floats, Floats]:
    """The mesh of a geometry, its volume, and the frame of its vertices: center (3,), turn (1, 4)."""
    import h5py

    file = _found(node, folder)
    try:
        with h5py.File(file, "r") as data:
            vertices = _columns(data["mesh/vertices"]).astype(np.float64)
            faces = _columns(data["mesh/faces"]).astype(np.int64)
            volume = float(np.asarray(data["moments/volume"]).reshape(()))
            center = np.asarray(data["moments/x"], dtype=np.float64).reshape(3)
            matrix = np.asarray(data["moments/R"], dtype=np.float64).reshape(3, 3)
    except (OSError, KeyError, ValueError, TypeError) as reason:
        raise node.error("filename", node.attributes["filename"], f"a mesh file of SCISim ({reason})") from None
    if not volume > 0.0:
        raise node.error("filename", node.attributes["filename"], f"a mesh of a volume above 0, not {volume:g}")
    if not (np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-6 and np.linalg.det(matrix) > 0.0):
        raise node.error("filename", node.attributes["filename"], "a mesh file whose moments/R is a rotation")
    return Mesh(vertices=vertices, faces=faces), volume, center, _quaternion(matrix)[None]


def _found(node: Node, folder: Path) -> Path:
    """SCISim's scenes name meshes from where it was started: the scene's folder, or one above it."""
    name = Path(node.text("filename"))
    for start in (folder, *folder.absolute().parents):
        if (start / name).is_file():
            return start / name
    if (folder / name.name).is_file():
        return folder / name.name
    raise node.error("filename", str(name), "a file that exists, from the scene's folder or one above it")


def _columns(dataset: Any) -> NDArray[Any]:
    """SCISim writes one column for each vertex or face."""
    array = np.asarray(dataset)
    if array.ndim != 2 or 3 not in array.shape:
        raise ValueError(f"an array of shape {array.shape}")
    return np.ascontiguousarray(array.T if array.shape[0] == 3 else array)


def _quaternion(matrix: Floats) -> Floats:
    """(w, x, y, z) of a rotation matrix: the eigenvector of its symmetric 4 x 4 form (Bar-Itzhack 2000)."""
    m = matrix
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]],
            [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]],
            [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ]
    )
    x, y, z, w = np.linalg.eigh(k)[1][:, -1]
    return np.array([w, x, y, z]) * (1.0 if w >= 0.0 else -1.0)
