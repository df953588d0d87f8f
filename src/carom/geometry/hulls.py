"""Convex polyhedra: boxes, and convex hulls of points whose coplanar triangles are merged to faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .mass_properties import mass_properties
from .shapes import BOX, HULL, Shape, kept

# Triangles whose vertices lie this close to one plane, relative to the size of the hull, are one face: coordinates in
# single precision are rounded by about as much.
_FLAT = 1e-7
_MANY_EDGES = 300  # with more edges the hull is nearly smooth, and its width is measured across faces only


def box(size: Floats) -> Shape:
    """A box with edge lengths `size` (3,). Bits 0, 1, 2 of a vertex number are set on the positive x, y, z side."""
    half = 0.5 * size
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    corners = np.where(bits == 1, half, -half)
    normals, loops = [], []
    for axis in range(3):
        one, two = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        loop = np.array([0, one, one | two, two], dtype=np.int64)  # counterclockwise seen from the positive side
        for sign in (-1.0, 1.0):
            normals.append(sign * np.eye(3)[axis])
            loops.append(loop[::-1].copy() if sign < 0.0 else loop + (1 << axis))
    squares = size * size
    return Shape(
        kind=BOX,
        size=(float(half[0]), float(half[1]), float(half[2])),
        reach=float(np.linalg.norm(half)),
        inner=float(half.min()),
        volume=float(np.prod(size)),
        inertia=np.diag((squares.sum() - squares) / 12.0),
        vertices=corners,
        vertex_normals=np.zeros((8, 3)),
        face_normals=np.array(normals) + 0.0,  # no negative zeros
        face_offsets=np.repeat(half, 2),
        loops=tuple(loops),
        edges=_edges(loops),
    )


def hull(path: str, vertices: Floats) -> Shape:
    """The convex hull of points (k, 3). `path` names them in messages. The last ones are kept in memory."""
    return kept("hull", vertices.tobytes(), lambda: _computed(path, vertices))


def _computed(path: str, vertices: Floats) -> Shape:
    if len(vertices) < 4:
        raise ProblemError(path, f"{len(vertices)} points", "at least 4 points that do not lie in one plane")
    extent = float(np.ptp(vertices, axis=0).max())
    # Qhull's tolerances suit coordinates near 1; the result must not depend on the unit of length.
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    from scipy.spatial import ConvexHull, QhullError  # slow to import

    try:
        found = ConvexHull((vertices - middle) / extent if extent > 0.0 else vertices)
    except QhullError:
        raise ProblemError(path, "points in one plane: a hull without volume", "points that span a volume") from None
    if found.volume < 1e-12:
        raise ProblemError(path, f"a hull of volume {found.volume * extent**3:.3g}", "points that span a volume")
    keep = np.sort(found.vertices)
    number = np.full(len(vertices), -1, dtype=np.int64)
    number[keep] = np.arange(len(keep))
    triangles = _outward(number[found.simplices], vertices[keep], found.equations[:, :3])
    volume, center, inertia = mass_properties(vertices[keep], triangles)
    corners = vertices[keep] - center
    normals, offsets, loops = _flat_faces(corners, triangles, found.neighbors, found.equations[:, :3], extent)
    edges = _edges(loops)
    reach = float(np.linalg.norm(corners, axis=1).max())
    return Shape(
        kind=HULL,
        size=(0.0, 0.0, 0.0),
        reach=reach,
        inner=0.5 * _width(corners, normals, edges),
        volume=volume,
        inertia=inertia,
        origin=center,
        vertices=corners,
        vertex_normals=np.zeros_like(corners),
        face_normals=normals,
        face_offsets=offsets,
        loops=tuple(loops),
        edges=edges,
    )


def _outward(triangles: Ints, points: Floats, normals: Floats) -> Ints:
    """Triangles with their vertices counterclockwise from outside; those of Qhull have no defined order."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    turned = np.einsum("fi,fi->f", np.cross(b - a, c - a), normals) < 0.0
    out = triangles.astype(np.int64)
    out[turned] = out[turned][:, ::-1]
    return out


def _flat_faces(
    corners: Floats, triangles: Ints, neighbors: Ints, equations: Floats, extent: float
) -> tuple[Floats, Floats, list[Ints]]:
    """Unit normals, offsets and loops of the faces, each a union of neighboring triangles in one plane.

    A face grows from its largest triangle, because the normals of slivers are dominated by rounding.
    """
    spans = np.cross(
        corners[triangles[:, 1]] - corners[triangles[:, 0]], corners[triangles[:, 2]] - corners[triangles[:, 0]]
    )
    area = np.linalg.norm(spans, axis=1)
    face = np.full(len(triangles), -1)
    normals, offsets = [], []
    loops: list[Ints] = []
    for seed in np.argsort(-area, kind="stable"):
        if face[seed] >= 0:
            continue
        normal = equations[seed]
        height = corners @ normal
        near = np.abs(height - height[triangles[seed]].mean()) <= _FLAT * extent
        fits = near[triangles].all(axis=1) & (equations @ normal > 0.0) & (face < 0)
        members, stack = [], [seed]
        fits[seed], face[seed] = False, len(loops)
        while stack:
            t = stack.pop()
            members.append(t)
            for other in neighbors[t]:
                if fits[other]:
                    fits[other], face[other] = False, len(loops)
                    stack.append(other)
        total = spans[members].sum(axis=0)
        normal = total / np.linalg.norm(total)
        loop = _loop(corners, np.unique(triangles[members]), normal)
        normals.append(normal)
        offsets.append(float((corners[loop] @ normal).max()))
        loops.append(loop)
    return np.array(normals), np.array(offsets), loops


def _loop(corners: Floats, chosen: Ints, normal: Floats) -> Ints:
    """Vertices of a convex face in counterclockwise order about its normal, beginning with the first."""
    arm = corners[chosen] - corners[chosen].mean(axis=0)
    u = arm[0] - (arm[0] @ normal) * normal
    v = np.cross(normal, u)
    angle = np.arctan2(arm @ v, arm @ u) % (2.0 * np.pi)
    angle[0] = 0.0
    return chosen[np.argsort(angle, kind="stable")].astype(np.int64)


def _edges(loops: list[Ints]) -> Ints:
    """Pairs of vertices (e, 2) that follow each other on a face, each pair once."""
    pairs = np.concatenate([np.stack([loop, np.roll(loop, -1)], axis=1) for loop in loops])
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


def _width(corners: Floats, normals: Floats, edges: Ints) -> float:
    """Smallest distance of two parallel planes with the hull between them.

    At the minimum a face lies in one plane, or each plane contains an edge, whose cross product is then the normal.
    """
    directions = normals
    if len(edges) <= _MANY_EDGES:
        along = corners[edges[:, 1]] - corners[edges[:, 0]]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        one, two = np.triu_indices(len(along), 1)
        cross = np.cross(along[one], along[two])
        length = np.linalg.norm(cross, axis=1)
        cross = cross[length > 1e-6] / length[length > 1e-6, None]
        directions = np.concatenate([normals, cross])
    best = np.inf
    for begin in range(0, len(directions), 4096):
        heights = corners @ directions[begin : begin + 4096].T
        best = min(best, float(np.ptp(heights, axis=0).min()))
    return best


def fans(loops: Sequence[Ints]) -> Ints:
    """Triangles (f, 3) of convex faces, given by their vertices: a fan about the first vertex of each."""
    return np.concatenate([np.stack([np.full(len(p) - 2, p[0]), p[1:-1], p[2:]], axis=1) for p in loops])
