"""Narrow phase of convex polygons: contacts of candidate pairs of two polygons, or of a disc and a polygon.

A pair has contacts if and only if it overlaps (up to a margin) after free flight. Their geometry is that of the start
of the step, where impulses act. Two polygons are handled by `polygon_manifold`, boundaries by `polygon_boundaries`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import DISC, SEGMENT
from .polygon_manifold import polygon_polygon


class Poses(NamedTuple):
    """Poses of all bodies, then of their periodic images: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 2)
    angle0: Floats  # (rows,)
    position1: Floats  # (rows, 2)
    angle1: Floats  # (rows,)


@kernel
def _apart(poses, a, b, reach):
    x = poses.position1[b, 0] - poses.position1[a, 0]
    y = poses.position1[b, 1] - poses.position1[a, 1]
    return reach < 0.0 or x * x + y * y > reach * reach


@kernel
def polygon_pairs(first, second, shapes, poses, margin):
    """Contacts of candidate pairs of rows of `poses`: (pair, feature_id, normal, point, gap, predicted).

    Pairs of two discs are skipped. Normals are unit vectors from first to second at the start of the step, and points
    lie midway between the surfaces. Contacts are in the order of the pairs. Two polygons have up to two contacts, at
    the ends of the interval in which they face each other; feature_id encodes the vertex at that end and the edge of
    the other polygon. A disc and a polygon have one contact, with feature_id 2 k for edge k and 2 k + 1 for vertex k.
    The predicted gap of a contact is at most `margin`, unless it is the only one of its pair.
    """
    corners = placed_corners(shapes, poses, 0)
    found = room(2 * len(first))
    pair = np.empty(2 * len(first), np.int64)
    most = most_corners(corners)
    before, after = np.empty(2 * most), np.empty(2 * most)
    n = 0
    for k in range(len(first)):
        a, b, begin = first[k], second[k], n
        radius_a, radius_b = shapes.radius[poses.owner[a]], shapes.radius[poses.owner[b]]
        if _apart(poses, a, b, radius_a + radius_b + margin):
            continue
        disc_a, disc_b = shapes.kind[poses.owner[a]] == DISC, shapes.kind[poses.owner[b]] == DISC
        if not disc_a and not disc_b:
            n = polygon_polygon(corners, a, b, min(radius_a, radius_b), margin, False, before, after, found, n)
        elif not disc_a:
            n = polygon_disc(corners, a, poses.position0[b], poses.position1[b], radius_b, 1.0, margin, found, n)
        elif not disc_b:
            n = polygon_disc(corners, b, poses.position0[a], poses.position1[a], radius_a, -1.0, margin, found, n)
        for i in range(begin, n):
            pair[i] = k
    return (
        pair[:n].copy(),
        found.feature[:n].copy(),
        found.normal[:n].copy(),
        found.point[:n].copy(),
        found.gap[:n].copy(),
        found.predicted[:n].copy(),
    )


# ---- polygons in the world, and tables of contacts


class Corners(NamedTuple):
    """Vertices of polygons in the frame of the world: 0 at the start of the step, 1 after free flight.

    Row r owns vertices ptr[r]:ptr[r+1], counterclockwise; a disc owns none. `normal` k is the outward unit normal of
    the edge from vertex k to the next one of its polygon.
    """

    ptr: Ints  # (rows + 1,)
    at0: Floats  # (k, 2)
    at1: Floats  # (k, 2)
    normal0: Floats  # (k, 2)
    normal1: Floats  # (k, 2)


class Found(NamedTuple):
    """A table of contacts; kernels fill it from the front and return the number of rows in use."""

    feature: Ints
    normal: Floats  # (m, 2)
    point: Floats  # (m, 2)
    gap: Floats
    predicted: Floats


@kernel
def room(count):
    """An empty table for up to `count` contacts."""
    return Found(
        np.empty(count, np.int64), np.empty((count, 2)), np.empty((count, 2)), np.empty(count), np.empty(count)
    )


@kernel
def most_corners(corners):
    """The largest number of vertices of one polygon."""
    most = 0
    for r in range(len(corners.ptr) - 1):
        most = max(most, corners.ptr[r + 1] - corners.ptr[r])
    return most


@kernel
def placed_corners(shapes, poses, extra):
    """Vertices of all rows of `poses`, followed by `extra` rows of two vertices each that the caller fills."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + extra + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + shapes.vertex_ptr[body + 1] - shapes.vertex_ptr[body]
    for r in range(rows, rows + extra):
        ptr[r + 1] = ptr[r] + 2
    total = ptr[-1]
    corners = Corners(ptr, np.empty((total, 2)), np.empty((total, 2)), np.empty((total, 2)), np.empty((total, 2)))
    for r in range(rows):
        start = shapes.vertex_ptr[poses.owner[r]]
        if ptr[r + 1] > ptr[r]:
            _place(shapes.vertex, start, ptr[r], ptr[r + 1], poses.position0[r], poses.angle0[r], corners.at0)
            _place(shapes.vertex, start, ptr[r], ptr[r + 1], poses.position1[r], poses.angle1[r], corners.at1)
            set_normals(corners.at0, corners.normal0, ptr[r], ptr[r + 1])
            set_normals(corners.at1, corners.normal1, ptr[r], ptr[r + 1])
    return corners


@kernel
def _place(vertex, start, lo, hi, position, angle, at):
    """Writes the vertices of one body, rotated by `angle`, with its center of mass at `position`."""
    c, s = np.cos(angle), np.sin(angle)
    for k in range(lo, hi):
        x, y = vertex[start + k - lo, 0], vertex[start + k - lo, 1]
        at[k, 0] = position[0] + (c * x - s * y)
        at[k, 1] = position[1] + (s * x + c * y)


@kernel
def set_normals(at, normal, lo, hi):
    """Writes the outward unit normals of the edges of vertices lo:hi; two vertices are the two sides of a segment."""
    for k in range(lo, hi):
        after = k + 1 if k + 1 < hi else lo
        x, y = at[after, 0] - at[k, 0], at[after, 1] - at[k, 1]
        length = np.sqrt(x * x + y * y)
        normal[k, 0] = y / length
        normal[k, 1] = -x / length


@kernel
def place_segments(corners, rows, boundaries0, boundaries1):
    """Writes the ends of all SEGMENT boundaries to the extra rows, which begin at `rows`."""
    r = rows
    for w in range(len(boundaries0.kind)):
        if boundaries0.kind[w] == SEGMENT:
            k = corners.ptr[r]
            for axis in range(2):
                corners.at0[k, axis], corners.at0[k + 1, axis] = boundaries0.point[w, axis], boundaries0.axis[w, axis]
                corners.at1[k, axis], corners.at1[k + 1, axis] = boundaries1.point[w, axis], boundaries1.axis[w, axis]
            set_normals(corners.at0, corners.normal0, k, k + 2)
            set_normals(corners.at1, corners.normal1, k, k + 2)
            r += 1


# ---- disc and polygon


@kernel
def nearest_on_polygon(at, normal, lo, hi, x, y):
    """Signed distance from the polygon with vertices lo:hi to a point, negative inside, and the nearest feature.

    Returns (distance, feature, nx, ny): n is the unit normal from the polygon to the point; feature is 2 k for the edge
    from vertex k, 2 k + 1 for vertex k. The edge whose line is farthest below the point is the nearest one, or ends in
    the nearest vertex. For a point inside, the nearest edge is returned.
    """
    top, best = lo, -np.inf
    for k in range(lo, hi):
        height = normal[k, 0] * (x - at[k, 0]) + normal[k, 1] * (y - at[k, 1])
        if height > best:
            best, top = height, k
    face = (best, 2 * (top - lo), normal[top, 0], normal[top, 1])
    if best <= 0.0:
        return face
    after = top + 1 if top + 1 < hi else lo
    tx, ty = -normal[top, 1], normal[top, 0]
    if tx * (x - at[top, 0]) + ty * (y - at[top, 1]) < 0.0:
        corner = top
    elif tx * (x - at[after, 0]) + ty * (y - at[after, 1]) > 0.0:
        corner = after
    else:
        return face
    dx, dy = x - at[corner, 0], y - at[corner, 1]
    distance = np.sqrt(dx * dx + dy * dy)
    return distance, 2 * (corner - lo) + 1, dx / distance, dy / distance


@kernel
def polygon_disc(corners, row, center0, center1, radius, sign, margin, found, n):
    """Writes the contact of polygon `row` with a disc to row n of `found`, if there is one; returns the next free row.

    `sign` is 1 if the normal points from the polygon to the disc, -1 for the opposite direction. Normal, point and gap
    are those at the start; the predicted gap is exact and decides whether there is a contact.
    """
    lo, hi = corners.ptr[row], corners.ptr[row + 1]
    predicted = nearest_on_polygon(corners.at1, corners.normal1, lo, hi, center1[0], center1[1])[0] - radius
    if predicted > margin:
        return n
    distance, feature, nx, ny = nearest_on_polygon(corners.at0, corners.normal0, lo, hi, center0[0], center0[1])
    gap = distance - radius
    back = radius + 0.5 * gap  # from the center of the disc to midway between the surfaces
    found.feature[n] = feature
    found.normal[n, 0], found.normal[n, 1] = sign * nx, sign * ny
    found.point[n, 0], found.point[n, 1] = center0[0] - back * nx, center0[1] - back * ny
    found.gap[n] = gap
    found.predicted[n] = predicted
    return n + 1
