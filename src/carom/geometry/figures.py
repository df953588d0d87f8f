"""Meshes of everyday figures: rabbit, pawn, bowl, pot and lid, dolls that open, tracks for balls.

Each is a closed surface (vertices (k, 3), faces (f, 3)) with faces counterclockwise seen from outside, centered on the
z axis. Solids of revolution are turned from a profile, so that their volume is known in closed form (`turned_volume`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints

Surface = tuple[Floats, Ints]

# ---- solids of revolution


def turned(profile: Floats, segments: int = 48) -> Surface:
    """The solid of revolution about z of a polygon (n, 2) of points (distance from z, z).

    The polygon runs counterclockwise in the (r, z) plane. It begins and ends on the axis, or it is closed and does not
    touch the axis.
    """
    points = _profile(profile)
    if segments < 3:
        raise ProblemError("segments", segments, "a whole number from 3 up")
    angle = 2.0 * np.pi * np.arange(segments) / segments
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vertices, rings = [], []
    count = 0
    for r, z in points:
        ring = circle[:1] * 0.0 if r == 0.0 else r * circle
        vertices.append(np.column_stack([ring, np.full(len(ring), z)]))
        rings.append(np.full(segments, count) if r == 0.0 else count + np.arange(segments))
        count += len(ring)
    if points[0, 0] > 0.0:
        rings.append(rings[0])
    faces = []
    for low, high in pairwise(rings):
        a, b, c, d = low, np.roll(low, -1), np.roll(high, -1), high
        faces.append(np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1).reshape(-1, 3))
    joined = np.concatenate(faces)
    flat = (joined[:, 0] == joined[:, 1]) | (joined[:, 1] == joined[:, 2]) | (joined[:, 2] == joined[:, 0])
    return np.concatenate(vertices), joined[~flat].astype(np.int64)


def turned_volume(profile: Floats, segments: int | None = None) -> float:
    """The volume of `turned`; without `segments` that of the exact solid of revolution (a sum of cone frustums)."""
    points = _profile(profile)
    if points[0, 0] > 0.0:
        points = np.concatenate([points, points[:1]])
    r, z = points.T
    area = np.pi if segments is None else 0.5 * segments * np.sin(2.0 * np.pi / segments)
    return float(area / 3.0 * ((r[:-1] ** 2 + r[:-1] * r[1:] + r[1:] ** 2) * np.diff(z)).sum())


def _profile(profile: Floats) -> Floats:
    points = np.asarray(profile, dtype=np.float64)
    on_axis = points[:, 0] == 0.0
    if (points[:, 0] < 0.0).any() or on_axis[1:-1].any() or on_axis[0] != on_axis[-1]:
        raise ProblemError("profile", points.tolist(), "points (r, z) with r > 0, or r = 0 at both ends only")
    return points


def arc(center: tuple[float, float], radius: float, start: float, end: float, count: int) -> Floats:
    """Points (count, 2) on a circle in the (r, z) plane, from angle `start` to `end` in degrees."""
    angle = np.radians(np.linspace(start, end, count))
    points = np.array(center) + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points[np.abs(points) < 1e-12 * radius] = 0.0
    return points


def pawn_profile(height: float = 1.0) -> Floats:
    """The profile of a chess pawn that stands on z = 0."""
    head = arc((0.0, 0.84), 0.16, -60.0, 90.0, 11)
    body = [(0.0, 0.0), (0.27, 0.0), (0.3, 0.03), (0.3, 0.08), (0.25, 0.13), (0.24, 0.17), (0.15, 0.3), (0.11, 0.45)]
    collar = [(0.1, 0.62), (0.19, 0.645), (0.19, 0.675), (0.09, 0.69)]
    return height * np.concatenate([body, collar, head])


def pot_profile(radius: float = 1.0, height: float = 1.2, thickness: float = 0.1) -> Floats:
    """The profile of a pot: a cylinder with a flat bottom at z = 0, open at the top."""
    _thin("thickness", thickness, min(radius, height))
    inner = radius - thickness
    return np.array(
        [(0.0, 0.0), (radius, 0.0), (radius, height), (inner, height), (inner, thickness), (0.0, thickness)]
    )


def lid_profile(radius: float = 1.0, thickness: float = 0.1, rim: float = 0.9) -> Floats:
    """The profile of a flat lid with a plug of radius `rim` below it and a knob above it; its rim lies on z = 0."""
    _thin("thickness", thickness, radius)
    if not 0.0 < rim < radius:
        raise ProblemError("rim", rim, f"above 0 and below the radius {radius:g}")
    knob = 2.0 * thickness
    return np.array(
        [
            (0.0, -thickness),
            (rim, -thickness),
            (rim, 0.0),
            (radius, 0.0),
            (radius, thickness),
            (0.5 * knob, thickness),
            (knob, 1.5 * thickness + 0.5 * knob),
            (0.5 * knob, thickness + 1.5 * knob),
            (0.0, thickness + 1.5 * knob),
        ]
    )


def doll_profiles(size: float = 1.0, thickness: float = 0.12) -> tuple[Floats, Floats]:
    """The profiles of the two half shells of a hollow doll that opens at z = 0: lower and upper.

    size: outer radius of the belly. The doll stands on a flat foot at z = -1.3 `size` and is 3.2 `size` high.
    thickness: of the walls, relative to `size`.
    """
    if not 0.0 < thickness <= 0.15:
        raise ProblemError("thickness", thickness, "above 0 and at most 0.15 of the size")
    t, half = thickness, 0.5 * thickness
    foot = [(0.0, -1.3), (0.7, -1.3), (0.85, -1.1), (0.97, -0.6), (1.0, 0.0)]
    hollow = [(1.0 - t, 0.0), (0.97 - t, -0.6), (0.85 - t, -1.1 + half), (0.7 - half, -1.3 + t), (0.0, -1.3 + t)]
    inside, outside = arc((0.0, 1.3), 0.62 - t, 90.0, -10.0, 9), arc((0.0, 1.3), 0.62, -10.0, 90.0, 9)
    neck = [(0.6 - t, 1.15), (0.75 - t, 0.95 - half), (0.93 - t, 0.5), (1.0 - t, 0.0)]
    shoulder = [(1.0, 0.0), (0.93, 0.5), (0.75, 0.95), (0.6, 1.15)]
    return size * np.array([*foot, *hollow]), size * np.concatenate([inside, neck, shoulder, outside])


def _thin(name: str, value: float, limit: float) -> None:
    if not 0.0 < value < limit:
        raise ProblemError(name, value, f"above 0 and below {limit:g}")


# ---- implicit surfaces


_AWAY = 1e-2  # least distance of a node from the surface, in cells


def level_set(
    function: Callable[[Floats], Floats], low: Sequence[float], high: Sequence[float], cell: float
) -> Surface:
    """The surface where a function of points (k, 3) is zero; it must be positive on the sides of the box.

    Each cubic cell is divided into five tetrahedra, alternately in two ways, so that faces match and the surface is
    closed (marching tetrahedra). With an even number of cells across x = 0 a mirror-symmetric function gives a
    mirror-symmetric mesh. Vertices lie where linear interpolation along edges of the tetrahedra is zero.
    """
    middle, wide = 0.5 * (np.array(low) + high), np.array(high) - low
    cells = 2 * np.maximum(np.ceil(0.5 * wide / cell).astype(np.int64), 1)
    nodes = cells + 1
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in nodes), indexing="ij"), axis=-1).reshape(-1, 3)
    # Symmetric positions: node k and its mirror image have opposite coordinates exactly.
    points = middle + cell * (grid - 0.5 * cells)
    value = function(points)
    if not (value[((grid == 0) | (grid == cells)).any(axis=1)] > 0.0).all():
        raise ProblemError("low", list(low), "a box that contains the whole surface")
    # Nodes on the surface would give triangles without area.
    value = np.where(np.abs(value) < _AWAY * cell, np.where(value < 0.0, -_AWAY, _AWAY) * cell, value)
    tetrahedra = _tetrahedra(cells, nodes)
    inside = value[tetrahedra] < 0.0
    tetrahedra = tetrahedra[inside.any(axis=1) & ~inside.all(axis=1)]
    return _cut(points, value, tetrahedra)


_CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
# Corners of the central tetrahedra of the two divisions: their edges are one diagonal of each face, or the other.
_EVEN, _ODD = (0, 3, 5, 6), (7, 4, 2, 1)


def _tetrahedra(cells: Ints, nodes: Ints) -> Ints:
    """Node numbers (k, 4) of the tetrahedra of all cells, positively oriented."""
    stride = np.array([nodes[1] * nodes[2], nodes[2], 1])
    corner = _CORNERS @ stride
    cell = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1).reshape(-1, 3)
    base, odd = cell @ stride, cell.sum(axis=1) % 2 == 1
    out = []
    for center, which in ((_EVEN, ~odd), (_ODD, odd)):
        parts: list[tuple[int, ...]] = [center]
        for apex in set(range(8)) - set(center):
            parts.append((apex, *(c for c in center if np.abs(_CORNERS[c] - _CORNERS[apex]).sum() == 1)))
        for part in parts:
            a, b, c, d = _CORNERS[list(part)]
            order = (
                list(part) if np.linalg.det(np.array([b - a, c - a, d - a])) > 0.0 else [part[i] for i in (0, 1, 3, 2)]
            )
            out.append(base[which][:, None] + corner[order])
    return np.concatenate(out)


def _cut(points: Floats, value: Floats, tetrahedra: Ints) -> Surface:
    """The triangles in which positively oriented tetrahedra are cut, facing the positive side."""
    inside = value[tetrahedra] < 0.0
    count = inside.sum(axis=1)
    triangles = []
    for corner in range(4):
        # The others in an order such that the tetrahedron (corner, others) is positively oriented.
        a, b, c = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))[corner]
        alone = (count == 1) & inside[:, corner]
        t = tetrahedra[alone]
        triangles.append(_edges(t, (corner, a), (corner, b), (corner, c)))
        alone = (count == 3) & ~inside[:, corner]
        t = tetrahedra[alone]
        triangles.append(_edges(t, (corner, a), (corner, c), (corner, b)))
    for first, second, third, fourth in (
        (0, 1, 2, 3),
        (0, 2, 3, 1),
        (0, 3, 1, 2),
        (2, 3, 0, 1),
        (3, 1, 0, 2),
        (1, 2, 0, 3),
    ):
        both = (count == 2) & inside[:, first] & inside[:, second]
        t = tetrahedra[both]
        quad = ((first, third), (second, third), (second, fourth), (first, fourth))
        triangles.append(_edges(t, quad[0], quad[2], quad[1]))
        triangles.append(_edges(t, quad[0], quad[3], quad[2]))
    edges = np.concatenate(triangles).reshape(-1, 2)
    pairs, number = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    a, b = pairs.T
    share = value[a] / (value[a] - value[b])
    vertices = points[a] + share[:, None] * (points[b] - points[a])
    return vertices, number.reshape(-1, 3).astype(np.int64)


def _edges(tetrahedra: Ints, *edges: tuple[int, int]) -> Ints:
    """Edges (k, 3, 2) of triangles, as pairs of node numbers."""
    return np.stack([tetrahedra[:, list(edge)] for edge in edges], axis=1)


# Ellipsoids of the rabbit, which looks along -y: center, radii, tilt about x in degrees, and whether there is a mirror
# image at -x.
_RABBIT = (
    ((0.0, 0.12, 0.36), (0.27, 0.36, 0.33), 0.0, False),  # body
    ((0.0, -0.08, 0.42), (0.2, 0.22, 0.3), 20.0, False),  # breast
    ((0.0, -0.24, 0.72), (0.16, 0.2, 0.165), 15.0, False),  # head
    ((0.0, -0.39, 0.68), (0.09, 0.1, 0.08), 0.0, False),  # muzzle
    ((0.085, -0.14, 1.0), (0.055, 0.05, 0.24), -14.0, True),  # ears
    ((0.2, 0.18, 0.24), (0.13, 0.23, 0.22), 0.0, True),  # haunches
    ((0.17, -0.04, 0.07), (0.075, 0.2, 0.07), 0.0, True),  # hind feet
    ((0.1, -0.24, 0.14), (0.07, 0.09, 0.14), 0.0, True),  # fore paws
    ((0.0, 0.5, 0.3), (0.1, 0.1, 0.1), 0.0, False),  # tail
)
_BLEND = 0.03  # length over which two ellipsoids merge, for height 1.24


def rabbit(height: float = 1.0, detail: int = 40) -> Surface:
    """A sitting rabbit of blended ellipsoids that looks along -y, symmetric about x = 0; its feet are at z = 0.

    detail: cells of the grid along the height.
    """
    if not (np.isfinite(height) and height > 0.0):
        raise ProblemError("height", height, "a finite number above 0")
    if detail < 16:
        raise ProblemError("detail", detail, "a whole number from 16 up: the ears would vanish")
    vertices, faces = level_set(_rabbit_distance, (-0.5, -0.6, -0.1), (0.5, 0.7, 1.4), 1.24 / detail)
    vertices = _symmetric(vertices)
    vertices[:, 2] -= vertices[:, 2].min()
    return vertices * (height / float(vertices[:, 2].max())), faces


def _rabbit_distance(points: Floats) -> Floats:
    """About the signed distance from the rabbit: the smooth minimum over its ellipsoids."""
    total = np.zeros(len(points))
    for center, radii, tilt, mirrored in _RABBIT:
        cos, sin = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
        for side in (1.0, -1.0) if mirrored else (1.0,):
            x, y, z = (points - np.array(center) * (side, 1.0, 1.0)).T
            scaled = np.stack([x, cos * y + sin * z, cos * z - sin * y], axis=1) / np.array(radii)
            distance = (np.linalg.norm(scaled, axis=1) - 1.0) * min(radii)
            total += np.exp(-np.minimum(distance, 1.0) / _BLEND)
    return -_BLEND * np.log(total)


def _symmetric(vertices: Floats) -> Floats:
    """Vertices whose mirror images at -x differ by rounding, with exact mirror images."""
    order = np.lexsort(np.round(vertices * (1.0, 1.0, 1.0), 9).T[::-1])
    image = np.lexsort(np.round(vertices * (-1.0, 1.0, 1.0), 9).T[::-1])
    out = vertices.copy()
    out[order] = 0.5 * (vertices[order] + vertices[image] * (-1.0, 1.0, 1.0))
    return out


# ---- tracks


def trough(curve: Floats, depth: float, thickness: float) -> list[Floats]:
    """Convex pieces, each the hull of its points (8, 3), of a V-shaped track for balls along an open curve (n, 3).

    The curve is the bottom of the V, whose two sides rise at 45 degrees to the height `depth` above it; `thickness` is
    that of the sides. Cross sections are vertical. There are two pieces per segment of the curve, first the left one,
    and they meet without gaps.
    """
    points = np.asarray(curve, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise ProblemError("curve", points.shape, "at least two points (n, 3)")
    for name, value in (("depth", depth), ("thickness", thickness)):
        if not (np.isfinite(value) and value > 0.0):
            raise ProblemError(name, value, "a finite number above 0")
    along = np.diff(points[:, :2], axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # At a corner the section bisects the angle and is wider by 1 / cos, so that sides are parallel to the curve.
    mean = np.concatenate([along[:1], along[1:] + along[:-1], along[-1:]])
    mean[1:-1] /= 0.5 * (mean[1:-1] ** 2).sum(axis=1, keepdims=True)
    left = np.column_stack([-mean[:, 1], mean[:, 0], np.zeros(len(points))])
    low, out = np.sqrt(2.0) * thickness, np.sqrt(0.5) * thickness
    section = np.array([(0.0, 0.0), (depth, depth), (depth + out, depth - out), (0.0, -low)])
    pieces = []
    for k in range(len(points) - 1):
        for side in (1.0, -1.0):
            ends = [points[i] + np.outer(side * section[:, 0], left[i]) for i in (k, k + 1)]
            pieces.append(np.concatenate(ends) + np.tile(np.outer(section[:, 1], (0.0, 0.0, 1.0)), (2, 1)))
    return pieces


def spiral(radii: tuple[float, float], angles: tuple[float, float], drop: float, count: int = 72) -> Floats:
    """Points (n, 3) of a spiral about z that descends at a constant slope by `drop` to z = 0.

    radii: at the start and at the end, linear in the angle. angles: the same in degrees, counterclockwise from x.
    count: points per turn.
    """
    if not min(radii) > 0.0:
        raise ProblemError("radii", radii, "two numbers above 0")
    steps = max(int(np.ceil(count * abs(angles[1] - angles[0]) / 360.0)), 2)
    angle, radius = np.radians(np.linspace(*angles, steps + 1)), np.linspace(*radii, steps + 1)
    flat = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(flat, axis=0), axis=1))])
    return np.column_stack([flat, drop * (1.0 - way / way[-1])])
