"""Sample points of a mesh: its vertices, and points on edges and faces that are longer than the spacing.

Along sharp edges they are twice as dense. The choice is deterministic: equal edges and faces get equal points. Pairs of
neighbors define the connected sets of points from which a contact manifold is computed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..solvers.rows import Floats, Ints
from .shapes import RUN

_NEAR = 1.6  # points of a face within this many spacings are neighbors; rows and columns are at most 1.12 apart
_SHARP = 2.0 * np.cos(np.pi / 8.0)  # an edge is sharp from 45 degrees on: length of the sum of its two unit normals
_LEAST = 1e-9  # relative excess of an edge over a whole number of spacings that is rounding


def sample_points(vertices: Floats, faces: Ints, spacing: float) -> tuple[Floats, Floats, Ints, tuple[float, int]]:
    """Points (s, 3), outward unit normals (s, 3), neighbors (e, 2), and (reach of a run, points in runs).

    Points come in runs of RUN points that lie close together: none is farther from the first of its run than the reach,
    so that a test of the first point can exclude the whole run. A few points that belong to no run follow.
    """
    normals, corner_normals = face_and_vertex_normals(vertices, faces)
    pairs = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    edges, which = np.unique(pairs, axis=0, return_inverse=True)
    of_face = which.reshape(-1, 3)  # the edges opposite to its vertices 2, 0, 1
    edge_normals = np.zeros((len(edges), 3))
    np.add.at(edge_normals, of_face.reshape(-1), np.repeat(normals, 3, axis=0))
    start, along = vertices[edges[:, 0]], vertices[edges[:, 1]] - vertices[edges[:, 0]]
    # Where sharp edges cross, the error is of the order of the spacing; on smooth surfaces it is of second order.
    widths = np.where(np.linalg.norm(edge_normals, axis=1) < _SHARP, 0.5 * spacing, spacing)
    pieces = np.ceil(np.linalg.norm(along, axis=1) / widths - _LEAST).astype(np.int64)
    owner, step = _counted(np.maximum(pieces - 1, 0))
    on_edges = start[owner] + along[owner] * ((step + 1) / pieces[owner])[:, None]
    first = len(vertices) + np.concatenate([[0], np.cumsum(np.maximum(pieces - 1, 0))])
    points, out = [vertices, on_edges], [corner_normals, edge_normals[owner]]
    links = [edges[pieces <= 1]]
    count = len(vertices) + len(on_edges)
    border, tall = np.concatenate([vertices, on_edges]), _have_rows(vertices[faces], spacing)
    for f in np.flatnonzero((pieces[of_face] > 1).any(axis=1)):
        inside = _rows(vertices[faces[f]], spacing) if tall[f] else np.zeros((0, 3))
        rim = np.concatenate([faces[f], *(np.arange(first[e], first[e + 1]) for e in of_face[f])])
        number = np.concatenate([rim, count + np.arange(len(inside))])
        links.append(number[_close(np.concatenate([border[rim], inside]), _NEAR * spacing)])
        points.append(inside)
        out.append(np.tile(normals[f], (len(inside), 1)))
        count += len(inside)
    place, outward, neighbors = np.concatenate(points), np.concatenate(out), np.concatenate(links)
    length = np.linalg.norm(outward, axis=1, keepdims=True)
    order, runs = in_runs(place)
    number = np.empty(len(place), dtype=np.int64)
    number[order] = np.arange(len(place))
    neighbors = np.unique(np.sort(number[neighbors], axis=1), axis=0).astype(np.int64)
    return place[order], (outward / np.where(length > 0.0, length, 1.0))[order], neighbors, runs


def in_runs(points: Floats) -> tuple[Ints, tuple[float, int]]:
    """An order of the points in runs of RUN, the most central one first, and (reach of a run, points in runs).

    Halving along the longest side leaves some runs that extend between two sides of the mesh. Their points are
    distributed again, up to three times; points that remain do not belong to a run.
    """
    left, done = np.arange(len(points)), []
    reach = 0.0
    for _ in range(4):
        runs = _halved(points, left).reshape(-1, RUN)
        odd = np.setdiff1d(left, runs)
        if not len(runs):
            break
        apart = np.linalg.norm(points[runs][:, :, None] - points[runs][:, None], axis=3).max(axis=2)
        first, size = np.argmin(apart, axis=1), apart.min(axis=1)
        limit = reach or 1.5 * float(np.median(size))
        good = size <= limit
        for run, k in zip(runs[good], first[good]):
            done.append(np.concatenate([run[k : k + 1], np.delete(run, k)]))
        reach = limit
        left = np.concatenate([runs[~good].reshape(-1), odd])
    return np.concatenate([*done, left]).astype(np.int64), (reach, RUN * len(done))


def _halved(points: Floats, chosen: Ints) -> Ints:
    """Points ordered so that each RUN of them lies close together; fewer than RUN are left out."""
    order = chosen.copy()
    todo = [(0, len(order))]
    while todo:
        begin, end = todo.pop()
        if end - begin > RUN:
            piece = order[begin:end]
            axis = int(np.argmax(np.ptp(points[piece], axis=0)))
            order[begin:end] = piece[np.argsort(points[piece, axis], kind="stable")]
            half = begin + (end - begin + RUN) // (2 * RUN) * RUN  # all runs but the last are full
            todo += [(begin, half), (half, end)]
    return order[: len(order) // RUN * RUN]


def face_and_vertex_normals(vertices: Floats, faces: Ints) -> tuple[Floats, Floats]:
    """Unit normals of faces (f, 3), and of vertices (k, 3): means over faces, weighted with their angle there.

    These weights do not depend on how a flat face is divided into triangles.
    """
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    total = np.zeros_like(vertices)
    for k in range(3):
        one, two = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        cross = np.linalg.norm(np.cross(one, two), axis=1)
        angle = np.arctan2(cross, np.einsum("fi,fi->f", one, two))
        np.add.at(total, faces[:, k], angle[:, None] * normals)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return normals, total / np.where(length > 0.0, length, 1.0)


def _counted(counts: Ints) -> tuple[Ints, Ints]:
    """Owner and running number of each item: for counts (2, 0, 3) owners 0 0 2 2 2 and numbers 0 1 0 1 2."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def _have_rows(corners: Floats, spacing: float) -> NDArray[np.bool_]:
    """Which triangles (f, 3, 3) are so high above their longest edge that `_rows` may find points within them."""
    longest = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2).max(axis=1)
    spans = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.linalg.norm(spans, axis=1) / longest > spacing * (1.0 - _LEAST)


def _rows(corners: Floats, spacing: float) -> Floats:
    """Points within a triangle, in rows along its longest edge."""
    lengths = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    # Of equal edges the first is taken, so that the choice does not depend on rounding.
    k = int(np.argmax(lengths >= lengths.max() * (1.0 - 1e-9)))
    a, b, c = corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]
    height = np.linalg.norm(np.cross(b - a, c - a)) / lengths[k]
    rows = int(np.ceil(height / spacing - _LEAST))
    out = []
    for row in range(1, rows):
        up = row / rows
        left, right = a + up * (c - a), b + up * (c - b)
        cells = int(np.ceil(lengths[k] * (1.0 - up) / spacing - _LEAST))
        out.append(left + (right - left) * (np.arange(1, cells) / cells)[:, None])
    return np.concatenate([np.zeros((0, 3)), *out])


def _close(points: Floats, radius: float) -> Ints:
    """Pairs of points within a radius."""
    if len(points) > 64:
        from scipy.spatial import cKDTree  # slow to import

        return cKDTree(points).query_pairs(radius, output_type="ndarray")
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    one, two = np.nonzero(np.triu(distance <= radius, 1))
    return np.stack([one, two], axis=1)
