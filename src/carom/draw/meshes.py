"""Triangle meshes of shapes in their own frames: coins for 2D shapes, surfaces of 3D shapes.

The viewer computes normals from vertices that triangles share, so that surfaces that meet at an edge do not share them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.solids import SOLIDS
from ..geometry.surfaces import icosphere
from ..scene.model import Scene
from ..scene.shapes import Compound, Solid
from ..scene.shapes import Mesh as MeshShape
from ..solvers.rows import Floats, Ints
from ..world import BOX, MESH, SPHERE, World
from .primitives import inset

RIM = 0.10  # width of the darker rim of a coin, relative to its half width
STEEP = 3.0  # slope of that rim: light from the front leaves it dark
CHAMFER = 0.045  # of the edges of a box, relative to its smallest half width: they catch the light
SMOOTH_FROM = 400  # number of triangles from which a mesh is shaded as a smooth surface

Piece = tuple[Floats, Ints]  # vertices (k, 3) and triangles (f, 3)


class Mesh(NamedTuple):
    """Vertices (k, 3) and triangles (f, 3), counterclockwise from outside."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


def joined(pieces: list[Piece]) -> Mesh:
    """Several surfaces as one mesh; they share no vertices."""
    starts = np.cumsum([0, *(len(v) for v, _ in pieces[:-1])])
    vertices = np.concatenate([v for v, _ in pieces])
    faces = np.concatenate([f + start for (_, f), start in zip(pieces, starts)])
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))


# ---- 2D


def polygon(corners: Floats, z: float) -> Piece:
    """A convex polygon (k, 2) at height z, facing upward."""
    x, y = corners.T
    if float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) < 0.0:
        corners = corners[::-1]
    k = np.arange(1, len(corners) - 1)
    return _at(corners, z), np.stack([np.zeros_like(k), k, k + 1], axis=1)


def disc(segments: int, mark: bool) -> Mesh:
    """A coin of radius 1 with its face in z = 0; `mark` adds a radius that shows its rotation."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    return coin(np.stack([np.cos(angle), np.sin(angle)], axis=1), 1.0 if mark else None)


def coin(corners: Floats, mark: float | None = None) -> Mesh:
    """A convex polygon (k, 2), counterclockwise, as a coin with a rim; `mark` adds a radius of that length."""
    half = half_width(corners)
    inner = inset(corners, RIM * half)
    drop = STEEP * RIM * half
    face, edge = _at(inner, 0.0), _at(corners, -drop)
    k = np.arange(1, len(corners) - 1)
    fan = np.stack([np.zeros_like(k), k, k + 1], axis=1)
    pieces = [(face, fan), _band(face, edge)]
    if mark is not None:
        pieces.append(_fin((1.0 - RIM) * mark, 0.03 * half))
    return joined(pieces)


def _fin(length: float, half: float) -> Piece:
    """A strip from the middle along x, so steep that it is a dark line from the front."""
    low, high = 0.002 * length, STEEP * 2.0 * half
    points = np.array([[0.0, half, low], [0.0, -half, high], [length, -half, high], [length, half, low]])
    return points, np.array([[0, 1, 2], [0, 2, 3]])


def half_width(corners: Floats) -> float:
    """The smallest distance of the origin from an edge of a convex polygon that contains it."""
    along = np.roll(corners, -1, axis=0) - corners
    cross = corners[:, 0] * along[:, 1] - corners[:, 1] * along[:, 0]
    return float((cross / np.hypot(*along.T)).min())


def _at(points: Floats, z: float) -> Floats:
    return np.concatenate([points, np.full((len(points), 1), z)], axis=1)


def _band(upper: Floats, lower: Floats) -> Piece:
    """The quadrilaterals between two closed lines (k, 3), each with vertices of its own."""
    a, b = upper, np.roll(upper, -1, axis=0)
    c, d = np.roll(lower, -1, axis=0), lower
    vertices = np.stack([a, d, c, b], axis=1).reshape(-1, 3)
    k = 4 * np.arange(len(upper))[:, None]
    return vertices, np.concatenate([k + np.array([0, 1, 2]), k + np.array([0, 2, 3])])


# ---- 3D


def sphere(level: int) -> Mesh:
    """A sphere of radius 1."""
    vertices, faces = icosphere(1.0, level)
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))


def belt() -> Mesh:
    """Two thin rings around the unit sphere, which show the rotation of a ball."""
    angle = 2.0 * np.pi * np.arange(64) / 64
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(64)], axis=1)
    pieces = []
    for axes in ([0, 1, 2], [2, 0, 1]):
        low, high = (ring + np.array([0.0, 0.0, z]) for z in (-0.045, 0.045))
        points = [1.004 * p / np.linalg.norm(p, axis=1, keepdims=True) for p in (high, low)]
        k, after = np.arange(64), (np.arange(64) + 1) % 64
        faces = np.concatenate([np.stack([k, k + 64, after + 64], 1), np.stack([k, after + 64, after], 1)])
        pieces.append((np.concatenate(points)[:, axes], faces))
    return joined(pieces)


def shape_mesh(world: World, scene: Scene, index: int, chamfer: float = CHAMFER) -> Mesh:
    """The surface of shape `index` of a 3D world in the frame of the shape."""
    shapes = world.shapes_3d
    kind, size = shapes.kind[index], shapes.size[index]
    if kind == SPHERE:
        vertices, faces = icosphere(float(size[0]), 3)
        return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))
    if kind == BOX:
        return box(size, chamfer)
    if int(kind) in SOLIDS:
        return joined([SOLIDS[int(kind)].surface(size)])
    found = _scene_surface(world, scene, index) if kind == MESH else None
    return hull(shapes.vertex[shapes.vertex_ptr[index] : shapes.vertex_ptr[index + 1]]) if found is None else found


def body_mesh(world: World, scene: Scene, body: int) -> Mesh:
    """The surface of a body with sharp edges in the frame of the body."""
    shapes, pieces = world.shapes_3d, []
    for part in range(int(shapes.part_ptr[body]), int(shapes.part_ptr[body + 1])):
        mesh = shape_mesh(world, scene, int(shapes.shape[part]), 0.0)
        pieces.append((mesh.vertices @ shapes.turn[part].T + shapes.place[part], mesh.faces.astype(np.int64)))
    return joined(pieces)


def _scene_surface(world: World, scene: Scene, index: int) -> Mesh | None:
    """The triangles of a mesh, from the scene: the tables of the world contain only what contact detection needs."""
    from ..geometry.mass_properties import mass_properties
    from ..scene.parts import load_mesh

    shapes = world.shapes_3d
    for number, group in enumerate(scene.groups):
        first = np.flatnonzero(world.group == number)[:1]
        if not len(first):
            continue
        indices = shapes.shape[shapes.part_ptr[first[0]] : shapes.part_ptr[first[0] + 1]].tolist()
        for own, shape in zip(indices, _leaves(group.shape)):
            if own == index and isinstance(shape, MeshShape):
                found = load_mesh("shape", shape)
                center = mass_properties(found.vertices, found.faces)[1]
                return surface(found.vertices - center, found.faces)
    return None


def _leaves(shape: Any) -> list[Solid]:
    """The shapes of a compound in the order of its parts."""
    if isinstance(shape, Compound):
        return [leaf for part in shape.parts for leaf in _leaves(part.shape)]
    return [shape]


def box(half: Floats, chamfer: float = CHAMFER) -> Mesh:
    """A box with these half edges (3,); `chamfer` is relative to the smallest of them."""
    cut = chamfer * float(half.min())
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    corners = [signs * (half - cut * (np.arange(3) != k)) for k in range(3 if cut else 1)]
    return hull(np.concatenate(corners))


def hull(points: Floats) -> Mesh:
    """The convex hull of points (k, 3), with flat faces."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(points)
    triangles = points[found.simplices]
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inward = (normal * found.equations[:, :3]).sum(axis=1) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return flat(triangles)


def flat(triangles: Floats) -> Mesh:
    """Triangles (f, 3, 3) that share no vertices."""
    vertices = triangles.reshape(-1, 3)
    return Mesh(vertices.astype(np.float32), np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3))


def surface(vertices: Floats, faces: Ints) -> Mesh:
    """A closed surface: smooth from SMOOTH_FROM triangles on, else with flat faces."""
    if len(faces) < SMOOTH_FROM:
        return flat(vertices[faces])
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))
