"""Triangle meshes of single shapes, about their own origin: coins for shapes of the plane, solids of space.

The page computes normals by itself, from corners that triangles share: surfaces that meet at an edge have their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry.surfaces import icosphere
from ...solvers.rows import Floats, Ints

RIM = 0.10  # width of a coin's darker rim, in its half width
STEEP = 3.0  # slope of that rim: light from the front leaves it dark
CHAMFER = 0.045  # of a box's edges, in its smallest half width
SMOOTH_FROM = 400  # triangles from which a mesh is taken for a round surface


class Mesh(NamedTuple):
    """Corners (k, 3) and triangles (f, 3), anticlockwise from outside."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]


def joined(pieces: list[tuple[Floats, Ints]]) -> Mesh:
    """Several surfaces as one mesh; they share no corners."""
    starts = np.cumsum([0, *(len(v) for v, _ in pieces[:-1])])
    vertices = np.concatenate([v for v, _ in pieces])
    faces = np.concatenate([f + start for (_, f), start in zip(pieces, starts)])
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))


# ---- the plane


def disc(segments: int, mark: bool) -> Mesh:
    """A coin of radius 1, its face in z = 0; `mark` draws a radius, so that its turning shows."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    return coin(np.stack([np.cos(angle), np.sin(angle)], axis=1), 1.0 if mark else None)


def coin(corners: Floats, mark: float | None = None) -> Mesh:
    """A convex polygon (k, 2), anticlockwise, as a coin with a rim; `mark` draws a radius of that length."""
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


def _fin(length: float, half: float) -> tuple[Floats, Ints]:
    """A strip from the middle along x, so steep that it looks like a dark line from the front."""
    low, high = 0.002 * length, STEEP * 2.0 * half
    points = np.array([[0.0, half, low], [0.0, -half, high], [length, -half, high], [length, half, low]])
    return points, np.array([[0, 1, 2], [0, 2, 3]])


def half_width(corners: Floats) -> float:
    """The least distance of the origin from an edge of a convex polygon round it."""
    along = np.roll(corners, -1, axis=0) - corners
    cross = corners[:, 0] * along[:, 1] - corners[:, 1] * along[:, 0]
    return float((cross / np.hypot(*along.T)).min())


def inset(corners: Floats, by: float) -> Floats:
    """A convex polygon, anticlockwise, with every edge moved inwards."""
    along = np.roll(corners, -1, axis=0) - corners
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
    before = np.roll(normal, 1, axis=0)
    return corners + by * (normal + before) / (1.0 + (normal * before).sum(axis=1))[:, None]


def _at(points: Floats, z: float) -> Floats:
    return np.concatenate([points, np.full((len(points), 1), z)], axis=1)


def _band(upper: Floats, lower: Floats) -> tuple[Floats, Ints]:
    """The quadrilaterals between two closed lines (k, 3), each with its own corners."""
    a, b = upper, np.roll(upper, -1, axis=0)
    c, d = np.roll(lower, -1, axis=0), lower
    vertices = np.stack([a, d, c, b], axis=1).reshape(-1, 3)
    k = 4 * np.arange(len(upper))[:, None]
    return vertices, np.concatenate([k + np.array([0, 1, 2]), k + np.array([0, 2, 3])])


# ---- space


def sphere(level: int) -> Mesh:
    """Of radius 1."""
    vertices, faces = icosphere(1.0, level)
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))


def belt() -> Mesh:
    """Two thin rings round the unit sphere: what makes a turning ball look like one."""
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


def cuboid(half: Floats) -> Mesh:
    """A box of these half edges, its edges a little cut off so that they catch the light."""
    cut = CHAMFER * float(half.min())
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    corners = [signs * (half - cut * (np.arange(3) != k)) for k in range(3)]
    return hull(np.concatenate(corners))


def hull(points: Floats) -> Mesh:
    """The convex hull of points, with flat faces."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(points)
    triangles = points[found.simplices]
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inward = (normal * found.equations[:, :3]).sum(axis=1) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return flat(triangles)


def flat(triangles: Floats) -> Mesh:
    """Triangles (f, 3, 3) that share no corners."""
    vertices = triangles.reshape(-1, 3)
    return Mesh(vertices.astype(np.float32), np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3))


def surface(vertices: Floats, faces: Ints) -> Mesh:
    """A closed surface: round if it has many triangles, with flat faces if it has few."""
    if len(faces) < SMOOTH_FROM:
        return flat(vertices[faces])
    return Mesh(vertices.astype(np.float32), faces.astype(np.uint32))


def cylinder(radius: float, half: float) -> Mesh:
    """About z, with flat ends."""
    line = np.array([[radius, half], [radius, -half]])
    ends = [np.array([[0.0, half], [radius, half]]), np.array([[radius, -half], [0.0, -half]])]
    return joined([revolved(line), *(revolved(end) for end in ends)])


def capsule(radius: float, half: float) -> Mesh:
    """About z, its straight part of length 2 half."""
    angle = np.linspace(0.5 * np.pi, 0.0, 9)
    top = np.stack([radius * np.cos(angle), half + radius * np.sin(angle)], axis=1)
    return joined([revolved(np.concatenate([top, (top * [1.0, -1.0])[::-1]]))])


def revolved(profile: Floats, segments: int = 48) -> tuple[Floats, Ints]:
    """A line of points (distance from z, z), from top to bottom, turned about z: smooth along and around."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    r, z = profile[:, :1], profile[:, 1:]
    points = np.stack([r * np.cos(angle), r * np.sin(angle), np.broadcast_to(z, (len(profile), segments))], axis=2)
    i, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(segments), indexing="ij")
    a, b = i * segments + j, i * segments + (j + 1) % segments
    c, d = a + segments, b + segments
    faces = np.concatenate([np.stack([a, c, d], axis=2).reshape(-1, 3), np.stack([a, d, b], axis=2).reshape(-1, 3)])
    return points.reshape(-1, 3), faces
