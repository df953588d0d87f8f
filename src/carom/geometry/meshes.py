"""Triangle meshes: files, checks, the spacing of distance grid and sample points, and the shape that results."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..files import read_file
from ..hdf5.structure import check_structure
from ..solvers.rows import Floats, Ints
from .distance_grid import distance_grid
from .hulls import hull
from .mass_properties import mass_properties
from .sample_points import sample_points
from .shapes import MESH, Shape, kept

SUFFIXES = (".obj", ".stl", ".ply", ".gltf", ".glb")
_CELLS = 64  # grid cells along the longest side, unless the scene gives a spacing
_THIN_CELLS = 4  # grid cells along the shortest side, at least
_SAMPLE_CELLS = 2.0  # distance between sample points, in grid cells
_MAX_NODES = 20_000_000  # of one grid: 160 MB
_MAX_SAMPLES = 1 << 18  # names of contacts have 20 bits
_HULL_VERTICES = 100  # of a convex mesh that becomes a hull, whose support function visits all of them
_CONVEX = 1e-6  # of the volume: dents that are smaller, like those by rounding, are filled


@dataclass(frozen=True, eq=False)
class Surface:
    """A closed triangle surface, counterclockwise seen from outside."""

    vertices: Floats  # (k, 3)
    faces: Ints  # (f, 3)
    spacing: float  # of the signed distance grid
    sample_spacing: float
    key: str  # equal for equal surfaces


def check_mesh_file(field: str, name: str) -> Path:
    """The path of a mesh file that exists and has a known suffix; `field` is the path in messages."""
    file = Path(name)
    if file.suffix.lower() not in SUFFIXES:
        raise ProblemError(field, name, "a file of triangles: " + ", ".join(SUFFIXES))
    if not file.is_file():
        raise ProblemError(field, name, "an existing file")
    return file


def read_mesh(field: str, name: str) -> tuple[Floats, Ints]:
    """Vertices (k, 3) and triangles (f, 3) of a file, neither scaled nor repaired. Vertices need not be finite."""
    file = check_mesh_file(field, name)
    content = read_file(file, "mesh")
    import trimesh  # takes half a second to import, which scenes without mesh files save

    kind = file.suffix.lower()[1:]
    resolver = _Beside(file.parent) if kind == "gltf" else None  # others need no second file
    try:
        # process=False: trimesh would silently drop vertices and faces that are not finite or repeated.
        loaded: Any = trimesh.load(
            io.BytesIO(content), file_type=kind, force="mesh", process=False, resolver=resolver, skip_materials=True
        )
        points, faces = np.array(loaded.vertices, dtype=np.float64), np.array(loaded.faces, dtype=np.int64)
    except ImportError:  # of the package that would guess the encoding
        raise ProblemError(field, f"{file.name}, which is not text", "a readable mesh file") from None
    except Exception as error:  # every format raises its own errors
        raise ProblemError(field, f"{file.name} ({error})", "a readable mesh file") from None
    if points.ndim != 2 or faces.ndim != 2 or points.shape[1:] != (3,) or faces.shape[1:] != (3,) or not len(faces):
        raise ProblemError(field, f"{file.name}, which has no triangles", "a file of triangles")
    check_faces(field, f"{file.name}: ", faces, len(points))
    return points, faces


class _Beside:
    """Gives trimesh the files that a glTF file names, from its own folder alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> bytes:
        if Path(name).name != name:
            raise ValueError(f"the file {name!r} does not lie beside it")
        return read_file(self.folder / name, "mesh")


def read_scisim_mesh(file: Path) -> tuple[Floats, Ints, float, Floats, Floats]:
    """Vertices, faces, volume, center of mass (3,) and principal axes (3, 3) of an HDF5 mesh file of SCISim.

    Its vertices are given about the center of mass, along the principal axes. Raises ValueError with what is wanted.
    """
    import h5py

    content = read_file(file, "mesh")
    try:
        check_structure(lambda at, count: content[at : at + count], 0, len(content))
        with h5py.File(io.BytesIO(content), "r") as data:
            vertices = _columns(data["mesh/vertices"]).astype(np.float64)
            faces = _columns(data["mesh/faces"]).astype(np.int64)
            volume = float(np.asarray(data["moments/volume"]).reshape(()))
            center = np.asarray(data["moments/x"], dtype=np.float64).reshape(3)
            matrix = np.asarray(data["moments/R"], dtype=np.float64).reshape(3, 3)
    except Exception as reason:  # h5py raises errors of many kinds on damaged bytes
        raise ValueError(f"a mesh file of SCISim ({reason})") from None
    if not 0.0 < volume < np.inf:
        raise ValueError(f"a mesh of a volume above 0, not {volume:g}")
    if not (np.isfinite(vertices).all() and np.isfinite(center).all() and np.isfinite(matrix).all()):
        raise ValueError("a mesh file of finite numbers")
    if not (np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-6 and np.linalg.det(matrix) > 0.0):
        raise ValueError("a mesh file whose moments/R is a rotation")
    return vertices, faces, volume, center, matrix


def _columns(dataset: Any) -> NDArray[Any]:
    """One row per vertex or face; SCISim writes one column for each."""
    array = np.asarray(dataset)
    if array.ndim != 2 or 3 not in array.shape:
        raise ValueError(f"an array of shape {array.shape}")
    return np.ascontiguousarray(array.T if array.shape[0] == 3 else array)


def check_faces(field: str, name: str, faces: Ints, count: int) -> None:
    """Refuses triangles that name vertices beyond the `count` that there are."""
    bad = ((faces < 0) | (faces >= count)).any(axis=1)
    if bad.any():
        k = int(np.argmax(bad))
        value = f"{name}triangle {k} of vertices {tuple(map(int, faces[k]))}"
        raise ProblemError(field, value, f"vertex numbers from 0 to {count - 1}")


def spaced_surface(path: str, vertices: Floats, faces: Ints, spacing: float | None) -> Surface:
    """A closed surface with the spacings of its grid and sample points: as given, or from its bounding box."""
    grid, sample = _spacings(f"{path}.spacing", spacing, np.ptp(vertices, axis=0))
    key = hashlib.sha256(vertices.tobytes() + faces.tobytes() + np.array([grid, sample]).tobytes())
    return Surface(vertices, faces, grid, sample, key.hexdigest())


def mesh_shape(path: str, surface: Surface) -> Shape:
    """The shape of a surface: mass properties, distance grid and sample points. The last few are kept in memory."""
    return kept("mesh", surface.key, lambda: _computed(path, surface))


def convex_shape(path: str, surface: Surface) -> Shape | None:
    """The surface as a hull, if it is convex and has few vertices: contacts are then exact, and faster to find."""
    if len(surface.vertices) > _HULL_VERTICES:
        return None
    found = hull(path, surface.vertices)
    volume = mass_properties(surface.vertices, surface.faces)[0]
    return found if abs(found.volume - volume) <= _CONVEX * found.volume else None


def outline_shape(surface: Surface) -> Shape:
    """The shape of a surface without grid and sample points: for mass properties and extents, not for contact."""
    volume, center, inertia = mass_properties(surface.vertices, surface.faces)
    vertices = surface.vertices - center
    reach = float(np.linalg.norm(vertices, axis=1).max())
    return Shape(MESH, (0.0, 0.0, 0.0), reach, 0.0, volume, inertia, center, vertices)


def _computed(path: str, surface: Surface) -> Shape:
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
    if len(points) > _MAX_SAMPLES:
        raise ProblemError(
            f"{path}.spacing", surface.spacing, f"larger: {len(points)} sample points are over {_MAX_SAMPLES}"
        )
    return Shape(
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


def _spacings(path: str, given: float | None, sides: Floats) -> tuple[float, float]:
    """Spacings of grid and sample points; `sides` (3,) are those of the bounding box."""
    longest, shortest = float(sides.max()), float(sides.min())
    if given is None:
        spacing = min(longest / _CELLS, shortest / _THIN_CELLS)
        spacing = max(spacing, float(np.prod(sides) / _MAX_NODES * 2.0) ** (1.0 / 3.0))
        return spacing, longest / _CELLS * _SAMPLE_CELLS
    spacing = given
    if spacing > 0.25 * longest:
        raise ProblemError(path, given, f"at most {0.25 * longest:.4g}, a quarter of the longest side")
    if np.prod(sides / spacing + 5.0) > _MAX_NODES:
        least = float(np.prod(sides) / _MAX_NODES) ** (1.0 / 3.0)
        raise ProblemError(path, given, f"at least about {least:.2g}: the grid would have over {_MAX_NODES} nodes")
    return spacing, spacing * _SAMPLE_CELLS
