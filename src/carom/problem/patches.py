"""Contact patches: the share of the touching faces that each contact point stands for.

A face that touches another one is a continuum, which contacts sample. Contacts of the same two bodies with the same
normal sample one patch: the convex hull of their points. A point stands for the part of it that is nearer to it than to
any other point (its Voronoi cell), as for the trapezoidal rule on a regular grid. The shares of a patch sum to 1, so
that two bodies are coupled as strongly by one point as by a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..solvers.rows import Floats, Ints

SAME_POINT = 1e-9  # of the extent of a patch: closer points are one, and share its part
SAME_NORMAL = 1e-6  # 1 - cosine of the angle up to which normals belong to one patch, about 0.08 degrees


def patch_shares(pairs: Ints, points: Floats, normals: Floats) -> Floats:
    """Shares (m,) of the patches, for bodies (m, 2), contact points (m, D) and unit normals (m, D)."""
    out = np.ones(len(pairs))
    for members in _patches(pairs, normals):
        normal = normals[members[0]]
        arms = points[members] - points[members].mean(axis=0)
        out[members] = _shares(arms - np.outer(arms @ normal, normal))
    return out


def _patches(pairs: Ints, normals: Floats) -> Iterator[Ints]:
    """The contacts of each patch that has more than one."""
    _, label, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    label = label.ravel()
    for pair in np.flatnonzero(count > 1):
        left = np.flatnonzero(label == pair)
        while len(left):
            same = normals[left] @ normals[left[0]] > 1.0 - SAME_NORMAL
            if same.sum() > 1:
                yield left[same]
            left = left[~same]


def _shares(places: Floats) -> Floats:
    """Shares (k,) of points (k, D) that lie in a plane through the origin: by area, by length if they are collinear."""
    extent = float(np.abs(places).max())
    if extent == 0.0:
        return np.full(len(places), 1.0 / len(places))
    _, length, axes = np.linalg.svd(places, full_matrices=False)
    flat = places @ axes[: 2 if len(length) > 1 and length[1] > SAME_POINT * length[0] else 1].T
    kept, copy = np.zeros(0, np.int64), np.empty(len(flat), np.int64)
    for k, place in enumerate(flat):
        off = np.abs(flat[kept] - place).max(axis=1, initial=0.0) if len(kept) else np.zeros(0)
        near = np.flatnonzero(off <= SAME_POINT * extent)
        copy[k] = near[0] if len(near) else len(kept)
        kept = kept if len(near) else np.append(kept, k)
    cells = _lengths(flat[kept, 0]) if flat.shape[1] == 1 else _areas(flat[kept])
    return (cells / cells.sum() / np.bincount(copy))[copy]


def _lengths(x: Floats) -> Floats:
    """Half of the distance between the neighbors of each point on a line; the ends have one neighbor."""
    order = np.argsort(x)
    half = 0.5 * np.diff(x[order])
    out = np.empty(len(x))
    out[order] = np.append(half, 0.0) + np.append(0.0, half)
    return out


def _areas(places: Floats) -> Floats:
    """Areas of the Voronoi cells (k,) of points in the plane (k, 2), within their convex hull."""
    from scipy.spatial import ConvexHull  # slow to import

    hull = places[ConvexHull(places).vertices]
    out = np.empty(len(places))
    for k, place in enumerate(places):
        cell, distance = hull, np.linalg.norm(places - place, axis=1)
        for other in np.argsort(distance)[1:]:
            if distance[other] > 2.0 * np.linalg.norm(cell - place, axis=1).max():
                break  # it and all that follow are too far away to cut anything off
            middle = 0.5 * (place + places[other])
            cell = _cut(cell, places[other] - place, float(middle @ (places[other] - place)))
        x, y = cell.T
        out[k] = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return out


def _cut(polygon: Floats, normal: Floats, offset: float) -> Floats:
    """The part of a convex polygon (k, 2) with `normal . x <= offset`."""
    over = polygon @ normal - offset
    found = []
    for k in range(len(polygon)):
        last = k - 1
        if (over[k] > 0.0) != (over[last] > 0.0):
            t = over[last] / (over[last] - over[k])
            found.append(polygon[last] + t * (polygon[k] - polygon[last]))
        if over[k] <= 0.0:
            found.append(polygon[k])
    return np.array(found)
