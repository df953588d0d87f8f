"""How far shapes of space reach from their centers of mass: for bodies that are to touch, or to keep apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ..errors import ProblemError
from ..rotations import product, turned, turned_back
from ..solvers.rows import Floats, Ints
from .mesh_file import read_mesh
from .shapes import Box, Capsule, Compound, Cylinder, Hull, Mesh, Solid, Sphere, unit

AXES = np.eye(3)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A shape about its center of mass: `support(d)` is its largest `d . x`, `radius` the largest |x|."""

    shape: Solid
    corners: Floats | None  # (k, 3) of hulls and meshes
    volume: float
    radius: float

    def support(self, d: Floats) -> float:
        shape = self.shape
        if self.corners is not None:
            return float((self.corners @ d).max())
        if isinstance(shape, Box):
            return float(0.5 * np.abs(d) @ np.asarray(shape.size))
        if isinstance(shape, Capsule):
            return shape.radius + 0.5 * shape.length * abs(float(d[2]))
        if isinstance(shape, Cylinder):
            return shape.radius * float(np.hypot(d[0], d[1])) + 0.5 * shape.length * abs(float(d[2]))
        return self.radius


@dataclass(frozen=True, eq=False)
class _Placed:
    piece: _Piece
    place: Floats  # (3,)
    turn: Floats  # (1, 4)

    def support(self, d: Floats) -> float:
        return float(self.place @ d) + self.piece.support(turned_back(self.turn, d[None])[0])


class SolidReach:
    """Reach of bodies of space, all turned by the same `orientation`; None means that each has its own."""

    def __init__(self, path: str, shape: Solid, count: int, orientation: Floats | None) -> None:
        self.round = isinstance(shape, Sphere)
        self.pieces: list[_Placed] = []
        self.radius: Floats
        if isinstance(shape, Sphere):
            self.radius = np.array(np.broadcast_to(np.asarray(shape.radius, dtype=np.float64), (count,)))
            return
        self.pieces, _ = _pieces(path, shape)
        far = max(float(np.linalg.norm(p.place)) + p.piece.radius for p in self.pieces)
        self.radius = np.full(count, far)
        self.orientation = None if orientation is None else unit(orientation)[None]

    def reach(self, direction: Floats) -> Floats:
        if self.round or self.orientation is None:
            return self.radius
        own = turned_back(self.orientation, np.ascontiguousarray(direction)[None])[0]
        return np.full(len(self.radius), max(p.support(own) for p in self.pieces))

    @property
    def extent(self) -> tuple[float, ...]:
        if self.round or self.orientation is None:
            return (self.diameter,) * 3
        return tuple(float((self.reach(axis) + self.reach(-axis))[0]) for axis in AXES)

    @property
    def diameter(self) -> float:
        return 2.0 * float(self.radius.max())


def _pieces(path: str, shape: Solid) -> tuple[list[_Placed], float]:
    """The pieces of a shape about its center of mass, and its mass for density 1."""
    if not isinstance(shape, Compound):
        piece = _piece(path, shape)
        return [_Placed(piece, np.zeros(3), np.array([[1.0, 0.0, 0.0, 0.0]]))], piece.volume
    placed: list[_Placed] = []
    weights: list[float] = []
    places: list[Floats] = []
    for k, part in enumerate(shape.parts):
        inner, mass = _pieces(f"{path}.parts[{k}]", part.shape)
        place, turn = np.asarray(part.position, dtype=np.float64), unit(np.asarray(part.orientation))[None]
        weights.append(mass * part.density)
        places.append(place)
        placed += [_moved(p, place, turn) for p in inner]
    center = np.average(places, axis=0, weights=weights)
    return [_Placed(p.piece, p.place - center, p.turn) for p in placed], float(sum(weights))


def _moved(p: _Placed, place: Floats, turn: Floats) -> _Placed:
    return _Placed(p.piece, place + turned(turn, p.place[None])[0], product(turn, p.turn))


def _piece(path: str, shape: Solid) -> _Piece:
    if isinstance(shape, Sphere):
        r = float(shape.radius)
        return _Piece(shape, None, 4.0 / 3.0 * np.pi * r**3, r)
    if isinstance(shape, Box):
        return _Piece(shape, None, float(np.prod(shape.size)), 0.5 * float(np.linalg.norm(shape.size)))
    if isinstance(shape, (Capsule, Cylinder)):
        r, length = shape.radius, shape.length
        if isinstance(shape, Capsule):
            return _Piece(shape, None, np.pi * r * r * (length + 4.0 / 3.0 * r), 0.5 * length + r)
        return _Piece(shape, None, np.pi * r * r * length, float(np.hypot(r, 0.5 * length)))
    if isinstance(shape, Hull):
        points = np.asarray(shape.vertices, dtype=np.float64)
        return _polyhedron(shape, points, _hull_faces(f"{path}.vertices", points))
    assert isinstance(shape, Mesh)
    if shape.path is not None:
        points, faces = read_mesh(f"{path}.path", shape.path)
    else:
        points, faces = np.asarray(shape.vertices, dtype=np.float64), np.asarray(shape.faces, dtype=np.int64)
    if not np.isfinite(points).all():
        raise ProblemError(f"{path}.path", shape.path, "a mesh with finite coordinates")
    return _polyhedron(shape, shape.scale * points, faces)


def _hull_faces(path: str, points: Floats) -> Ints:
    """Triangles of the hull, anticlockwise from outside."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        raise ProblemError(path, "points in one plane: a hull without volume", "points that span a volume") from None
    faces = hull.simplices.astype(np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return faces


def _polyhedron(shape: Solid, points: Floats, faces: Ints) -> _Piece:
    """About the center of mass of what the triangles enclose; the mean of the points if that is nothing."""
    used = points[np.unique(faces)]
    middle = used.mean(axis=0)
    a, b, c = (points[faces[:, k]] - middle for k in range(3))
    six = np.einsum("fi,fi->f", a, np.cross(b, c))
    volume = float(six.sum() / 6.0)
    if volume != 0.0:
        middle = middle + six @ (a + b + c) / (24.0 * volume)
    corners = used - middle
    return _Piece(shape, corners, abs(volume), float(np.linalg.norm(corners, axis=1).max()))
