"""Triangle meshes: read, checked, repaired where that changes no surface, and made into forms."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..scene.numbers import array, scalar
from ..scene.shapes import Mesh
from ..solvers.rows import Floats, Ints
from ..world import MESH
from .distance_grid import distance_grid
from .form import Form
from .mesh_repair import closed_surface
from .polyhedra import mass_properties
from .sample_points import sample_points

SUFFIXES = (".obj", ".stl", ".ply", ".gltf", ".glb")
_CELLS = 64  # along the longest side, unless the scene gives a spacing
_SAMPLE_CELLS = 2.0  # between sample points
_THIN_CELLS = 4  # at least, along the shortest
_MOST_NODES = 20_000_000
_MOST_SAMPLES = 1 << 18
_MANY = 16  # forms in memory
_made: dict[str, Form] = {}


@dataclass(frozen=True, eq=False)
class Surface:
    """A closed triangle surface, anticlockwise seen from outside."""

    vertices: Floats  # (k, 3)
    faces: Ints  # (f, 3)
    spacing: float  # of the signed distance grid
    sample_spacing: float
    key: str  # equal for equal surfaces


def load_mesh(path: str, shape: Mesh) -> Surface:
    """The surface of a mesh, from its file or arrays, or a ProblemError that says what is wrong with it."""
    scale = scalar(f"{path}.scale", shape.scale, 0.0, above=True)
    if shape.path is not None:
        if shape.vertices is not None or shape.faces is not None:
            raise ProblemError(f"{path}.path", shape.path, "either a file, or vertices and faces")
        where, (points, triangles) = f"{path}.path", _from_file(f"{path}.path", shape.path)
        name = f"{Path(shape.path).name}: "
    else:
        where, (points, triangles) = path, _from_arrays(path, shape)
        name = ""
    if not np.isfinite(points).all():
        k = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise ProblemError(where, f"{name}vertex {k} at {tuple(map(float, points[k]))}", "finite coordinates")
    # Files name a corner once for each face that has another normal or texture there: merging is part of reading.
    merge = shape.repair or shape.path is not None
    vertices, faces = closed_surface(where, name, points * scale, triangles, merge, shape.repair)
    spacing, sample_spacing = _spacings(f"{path}.spacing", shape.spacing, np.ptp(vertices, axis=0))
    key = hashlib.sha256(vertices.tobytes() + faces.tobytes() + np.array([spacing, sample_spacing]).tobytes())
    return Surface(vertices, faces, spacing, sample_spacing, key.hexdigest())


def mesh_form(path: str, surface: Surface) -> Form:
    """Mass properties, distance grid and sample points of a surface, about its center of mass. Kept in memory."""
    if surface.key not in _made:
        _made[surface.key] = _computed(path, surface)
        if len(_made) > _MANY:
            del _made[next(iter(_made))]
    return _made[surface.key]


def _computed(path: str, surface: Surface) -> Form:
    volume, center, inertia = mass_properties(surface.vertices, surface.faces)
    vertices = surface.vertices - center
    grid, overlap = distance_grid(vertices, surface.faces, surface.spacing)
    if overlap is not None:
        at = tuple(float(f"{x:.4g}") for x in overlap + center)
        raise ProblemError(path, f"a surface that crosses itself near {at}", "a mesh whose inside is counted once")
    depth = -float(grid.value.min())
    if depth < 0.5 * surface.spacing:
        raise ProblemError(f"{path}.spacing", surface.spacing, "at most half of the thickness of the mesh")
    points, normals, neighbors, (reach, in_runs) = sample_points(vertices, surface.faces, surface.sample_spacing)
    if len(points) > _MOST_SAMPLES:
        raise ProblemError(
            f"{path}.spacing", surface.spacing, f"larger: {len(points)} sample points are over {_MOST_SAMPLES}"
        )
    return Form(
        kind=MESH,
        size=(surface.sample_spacing, reach, float(in_runs)),
        reach=float(np.linalg.norm(vertices, axis=1).max()),
        inner=depth,
        volume=volume,
        inertia=inertia,
        origin=center,
        vertices=points,
        vertex_normals=normals,
        edges=neighbors,
        grid=grid,
    )


def _from_file(path: str, name: str) -> tuple[Floats, Ints]:
    file = Path(name)
    if file.suffix.lower() not in SUFFIXES:
        raise ProblemError(path, name, "a file of triangles: " + ", ".join(SUFFIXES))
    if not file.is_file():
        raise ProblemError(path, name, "an existing file")
    import trimesh  # half a second, which scenes without mesh files need not wait for

    try:
        # process=False: trimesh would drop vertices and faces that are not finite or repeated without a word.
        loaded: Any = trimesh.load(str(file), force="mesh", process=False)
        points, faces = np.array(loaded.vertices, dtype=np.float64), np.array(loaded.faces, dtype=np.int64)
    except ImportError:  # of the package that would guess the encoding
        raise ProblemError(path, f"{file.name}, which is not text", "a readable mesh file") from None
    except Exception as error:  # every format has its own
        raise ProblemError(path, f"{file.name} ({error})", "a readable mesh file") from None
    if faces.ndim != 2 or not len(faces):
        raise ProblemError(path, f"{file.name}, which has no triangles", "a file of triangles")
    _in_range(path, f"{file.name}: ", faces, len(points))
    return points, faces


def _from_arrays(path: str, shape: Mesh) -> tuple[Floats, Ints]:
    if shape.vertices is None or shape.faces is None:
        missing = "vertices" if shape.vertices is None else "faces"
        raise ProblemError(f"{path}.{missing}", None, "a path to a file, or vertices (k, 3) and faces (f, 3)")
    points = array(f"{path}.vertices", shape.vertices, (None, 3), "points (k, 3)")
    numbers = array(f"{path}.faces", shape.faces, (None, 3), "triangles (f, 3) of vertex numbers")
    if not len(numbers):
        raise ProblemError(f"{path}.faces", "no triangles", "triangles (f, 3) of vertex numbers")
    faces = numbers.astype(np.int64)
    if (faces != numbers).any():
        raise ProblemError(f"{path}.faces", "fractions", "triangles (f, 3) of whole vertex numbers")
    _in_range(f"{path}.faces", "", faces, len(points))
    return points, faces


def _in_range(path: str, name: str, faces: Ints, count: int) -> None:
    bad = ((faces < 0) | (faces >= count)).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        value = f"{name}triangle {k} of vertices {tuple(map(int, faces[k]))}"
        raise ProblemError(path, value, f"vertex numbers from 0 to {count - 1}")


def _spacings(path: str, given: Any, sides: Floats) -> tuple[float, float]:
    """Of grid and sample points: as given, or from the sides of the box round the mesh."""
    longest, shortest = float(sides.max()), float(sides.min())
    if given is None:
        spacing = min(longest / _CELLS, shortest / _THIN_CELLS)
        spacing = max(spacing, float(np.prod(sides) / _MOST_NODES * 2.0) ** (1.0 / 3.0))
        return spacing, longest / _CELLS * _SAMPLE_CELLS
    spacing = scalar(path, given, 0.0, above=True)
    if spacing > 0.25 * longest:
        raise ProblemError(path, given, f"at most {0.25 * longest:.4g}, a quarter of the longest side")
    if np.prod(sides / spacing + 5.0) > _MOST_NODES:
        least = float(np.prod(sides) / _MOST_NODES) ** (1.0 / 3.0)
        raise ProblemError(path, given, f"at least about {least:.2g}: the grid would have over {_MOST_NODES} nodes")
    return spacing, spacing * _SAMPLE_CELLS
