"""Triangles of a mesh file, as they stand there: OBJ, STL, PLY, glTF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints

SUFFIXES = (".obj", ".stl", ".ply", ".gltf", ".glb")


def check_mesh_file(field: str, name: str) -> Path:
    """The file, if there is one of a kind that can be read; `field` is the path in messages."""
    file = Path(name)
    if file.suffix.lower() not in SUFFIXES:
        raise ProblemError(field, name, "a file of triangles: " + ", ".join(SUFFIXES))
    if not file.is_file():
        raise ProblemError(field, name, "an existing file")
    return file


def read_mesh(field: str, name: str) -> tuple[Floats, Ints]:
    """Vertices (k, 3) and triangles (f, 3) of a file, unscaled and unmended. Vertices need not be finite."""
    file = check_mesh_file(field, name)
    import trimesh  # half a second, which scenes without mesh files need not wait for

    try:
        # process=False: trimesh would drop vertices and faces that are not finite or repeated without a word.
        loaded: Any = trimesh.load(str(file), force="mesh", process=False)
        points, faces = np.array(loaded.vertices, dtype=np.float64), np.array(loaded.faces, dtype=np.int64)
    except Exception as error:  # every format has its own
        raise ProblemError(field, f"{name} ({type(error).__name__}: {error})", "a readable mesh file") from None
    if faces.ndim != 2 or not len(faces):
        raise ProblemError(field, f"{name}, which has no triangles", "a file of triangles")
    return points, faces
