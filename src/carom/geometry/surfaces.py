"""Triangulated surfaces: sphere, torus, trefoil knot, tubes along closed curves, surfaces of revolution.

A surface is (vertices (k, 3), faces (f, 3)), with faces counterclockwise seen from outside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints


def icosphere(radius: float, level: int = 3) -> tuple[Floats, Ints]:
    """A sphere of 20 * 4**level triangles, all vertices on it."""
    _check_positive("icosphere.radius", radius)
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    signs = [(s, t) for s in (-1.0, 1.0) for t in (-golden, golden)]
    vertices = np.array([p for s, t in signs for p in ((0.0, s, t), (s, t, 0.0), (t, 0.0, s))])
    # The 20 faces are the triples of vertices at distance 2 from each other.
    near = np.abs(np.linalg.norm(vertices[:, None] - vertices[None], axis=2) - 2.0) < 0.1
    faces = np.array(
        [(i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]]
    )
    inward = np.linalg.det(vertices[faces]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(level):
        vertices, faces = _quartered(vertices, faces)
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces.astype(np.int64)


def _quartered(vertices: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Each triangle divided into four at the midpoints of its edges."""
    pairs = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    edges, which = np.unique(pairs, axis=0, return_inverse=True)
    middle = (len(vertices) + which.reshape(-1)).reshape(-1, 3)
    a, b, c = faces.T
    ab, bc, ca = middle.T
    cut = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return np.concatenate([vertices, vertices[edges].mean(axis=1)]), cut


def torus(radius: float, tube: float, around: int = 24, along: int = 48) -> tuple[Floats, Ints]:
    """A torus about z: the circle of `radius` swept by a circle of radius `tube`."""
    check_tube("torus", radius, tube, around, along)
    angle = 2.0 * np.pi * np.arange(along) / along
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros(along)], axis=1)
    return swept(radius * out, out, np.tile([0.0, 0.0, 1.0], (along, 1)), tube, around)


def check_tube(name: str, radius: float, tube: float, around: int, along: int) -> None:
    """Refuses sizes that give no closed tube."""
    _check_positive(f"{name}.radius", radius)
    _check_positive(f"{name}.tube", tube)
    if not tube < radius:
        raise ProblemError(f"{name}.tube", tube, f"less than the radius {radius:g}")
    for field, value in (("around", around), ("along", along)):
        if int(value) != value or value < 3:
            raise ProblemError(f"{name}.{field}", value, "a whole number from 3 up")


def swept(curve: Floats, one: Floats, two: Floats, tube: float, around: int) -> tuple[Floats, Ints]:
    """The tube around a closed curve (n, 3). The unit vectors one, two and the tangent are a left-handed frame.

    Left-handed: `one x two` points against the curve, as for a circle about z with one outward and two up.
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    cos, sin = np.cos(angle)[None, :, None], np.sin(angle)[None, :, None]
    rings = curve[:, None] + tube * (cos * one[:, None] + sin * two[:, None])
    n = len(curve)
    i, j = np.meshgrid(np.arange(n), np.arange(around), indexing="ij")
    a, b = i * around + j, (i + 1) % n * around + j
    c, d = (i + 1) % n * around + (j + 1) % around, i * around + (j + 1) % around
    faces = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    return rings.reshape(-1, 3), faces.astype(np.int64)


def trefoil(radius: float = 1.0, tube: float = 0.2, around: int = 16, along: int = 96) -> tuple[Floats, Ints]:
    """The trefoil knot `(2 + cos 3t) (cos 2t, sin 2t), sin 3t`, scaled to `radius`, swept by a circle of radius `tube`.

    `radius` is the largest distance of the center line from the z axis. A third of the knot is computed and turned by
    120 and 240 degrees, so that the mesh is three-fold symmetric up to the rounding of those two turns.
    """
    check_tube("trefoil", radius, tube, around, along)
    if along % 3:
        raise ProblemError("trefoil.along", along, "a multiple of 3")
    t = 2.0 * np.pi * np.arange(along // 3) / along
    scale = radius / 3.0
    wide = 2.0 + np.cos(3.0 * t)
    curve = scale * np.stack([wide * np.cos(2.0 * t), wide * np.sin(2.0 * t), np.sin(3.0 * t)], axis=1)
    # The curve lies on a torus, whose normal is perpendicular to it and periodic.
    normal = np.stack([np.cos(3 * t) * np.cos(2 * t), np.cos(3 * t) * np.sin(2 * t), np.sin(3 * t)], axis=1)
    tangent = np.stack(
        [
            -3.0 * np.sin(3.0 * t) * np.cos(2.0 * t) - 2.0 * wide * np.sin(2.0 * t),
            -3.0 * np.sin(3.0 * t) * np.sin(2.0 * t) + 2.0 * wide * np.cos(2.0 * t),
            3.0 * np.cos(3.0 * t),
        ],
        axis=1,
    )
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    thirds = [_turned(k, curve, normal, np.cross(normal, tangent)) for k in range(3)]
    curve, one, two = (np.concatenate(columns) for columns in zip(*thirds))
    gap = _clearance(curve)
    if 2.0 * tube >= gap:
        raise ProblemError("trefoil.tube", tube, f"less than {0.5 * gap:.4g}, where strands of the knot touch")
    return swept(curve, one, two, tube, around)


def _turned(thirds: int, *columns: Floats) -> tuple[Floats, ...]:
    """Vectors (n, 3) rotated about z by 240 degrees `thirds` times: the next third of the curve."""
    cos, sin = ((1.0, 0.0), (-0.5, -0.5 * np.sqrt(3.0)), (-0.5, 0.5 * np.sqrt(3.0)))[thirds]
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return tuple(column @ turn.T for column in columns)


def _clearance(curve: Floats) -> float:
    """Smallest distance of two strands: of points at least an eighth of the knot apart along the curve."""
    n = len(curve)
    apart = np.abs(np.arange(n)[:, None] - np.arange(n)[None])
    distance = np.linalg.norm(curve[:, None] - curve[None], axis=2)
    return float(distance[np.minimum(apart, n - apart) >= n / 8].min())


def revolved(profile: Floats, segments: int = 48) -> tuple[Floats, Ints]:
    """The surface of revolution about z of a profile (n, 2) of points (distance from z, z), from top to bottom."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    r, z = profile[:, :1], profile[:, 1:]
    points = np.stack([r * np.cos(angle), r * np.sin(angle), np.broadcast_to(z, (len(profile), segments))], axis=2)
    i, j = np.meshgrid(np.arange(len(profile) - 1), np.arange(segments), indexing="ij")
    a, b = i * segments + j, i * segments + (j + 1) % segments
    c, d = a + segments, b + segments
    faces = np.concatenate([np.stack([a, c, d], axis=2).reshape(-1, 3), np.stack([a, d, b], axis=2).reshape(-1, 3)])
    return points.reshape(-1, 3), faces


def joined(surfaces: Sequence[tuple[Floats, Ints]]) -> tuple[Floats, Ints]:
    """Several surfaces as one. They share no vertices, so that their edges stay sharp when normals are interpolated."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in surfaces[:-1])])
    faces = [faces + start for (_, faces), start in zip(surfaces, starts)]
    return np.concatenate([vertices for vertices, _ in surfaces]), np.concatenate(faces)


def _check_positive(field: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise ProblemError(field, value, "a finite number above 0")


def height_field(heights: Floats, spacing: float, bottom: float) -> tuple[Floats, Ints]:
    """Closed surface of the solid under heights (nx, ny) at (i, j) times `spacing`, down to z = `bottom`.

    A cell of four heights is two triangles; the diagonal between them is the one whose ends differ less in height, so
    that a mirrored field has the mirrored surface.
    """
    nx, ny = heights.shape
    i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    top = np.stack([spacing * i, spacing * j, heights], axis=-1).reshape(-1, 3)
    vertices = np.concatenate([top, top * [1.0, 1.0, 0.0] + [0.0, 0.0, bottom]])
    number = (i * ny + j)[:-1, :-1].reshape(-1)
    a, b, c, d = number, number + ny, number + ny + 1, number + 1  # counterclockwise from above
    along = np.abs(top[a, 2] - top[c, 2]) <= np.abs(top[b, 2] - top[d, 2])  # the diagonal from a to c
    upper = np.concatenate(
        [
            np.where(along[:, None], np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1)),
            np.where(along[:, None], np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1)),
        ]
    )
    rim = np.concatenate(
        [np.arange(nx) * ny, (nx - 1) * ny + np.arange(1, ny), np.arange(nx - 2, -1, -1) * ny + ny - 1,
         np.arange(ny - 2, 0, -1)]
    )  # fmt: skip
    after, below = np.roll(rim, -1), nx * ny
    sides = [np.stack([rim, rim + below, after + below], axis=1), np.stack([rim, after + below, after], axis=1)]
    return vertices, np.concatenate([upper, upper[:, ::-1] + below, *sides])
