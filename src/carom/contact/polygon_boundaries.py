"""Contacts of polygons with boundaries: planes, insides and outsides of circles, segments."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..world import INSIDE, OUTSIDE, PLANE, POLYGON, SEGMENT
from .boundaries import crosses, disc_gap
from .polygon_manifold import SAME, polygon_polygon
from .polygons import most_corners, place_segments, placed_corners, polygon_disc, room


@kernel
def _near(shapes, poses, free, boundaries0, boundaries1, margin, row, boundary, through):
    """Lists pairs of free polygons and boundaries whose bounding circle is within the margin after the step.

    A polygon whose center passes `through` a segment counts too. Returns the number of pairs; those that do not
    fit into the arrays are not written.
    """
    count = 0
    for w in range(len(boundaries1.kind)):
        kind, a0, b0, a1, b1 = (
            boundaries0.kind[w],
            boundaries0.point[w],
            boundaries0.axis[w],
            boundaries1.point[w],
            boundaries1.axis[w],
        )
        for r in range(len(poses.owner)):
            body = poses.owner[r]
            if shapes.kind[body] != POLYGON or not free[body]:
                continue
            x, y = poses.position1[r, 0], poses.position1[r, 1]
            passed = kind == SEGMENT and crosses(a0, b0, a1, b1, poses.position0[r, 0], poses.position0[r, 1], x, y)
            if not passed and disc_gap(kind, a1, b1, boundaries1.radius[w], x, y, shapes.radius[body])[0] > margin:
                continue
            if count < len(row):
                row[count], boundary[count], through[count] = r, w, passed
            count += 1
    return count


@kernel
def _put(corners, k, corner, gap, predicted, nx, ny, found, n):
    found.feature[n] = corner
    found.normal[n, 0], found.normal[n, 1] = nx, ny
    found.point[n, 0] = corners.at0[k, 0] + 0.5 * gap * nx
    found.point[n, 1] = corners.at0[k, 1] + 0.5 * gap * ny
    found.gap[n] = gap
    found.predicted[n] = predicted
    return n + 1


@kernel
def _corner_plane(corners, lo, k, boundaries0, boundaries1, w, margin, found, n):
    """Writes the contact of vertex k with plane w, if its predicted gap is within the margin."""
    predicted = _height(corners.at1, k, boundaries1, w)
    if predicted > margin:
        return n
    gap = _height(corners.at0, k, boundaries0, w)
    return _put(corners, k, k - lo, gap, predicted, -boundaries0.axis[w, 0], -boundaries0.axis[w, 1], found, n)


@kernel
def _height(at, k, boundaries, w):
    return (at[k, 0] - boundaries.point[w, 0]) * boundaries.axis[w, 0] + (
        at[k, 1] - boundaries.point[w, 1]
    ) * boundaries.axis[w, 1]


@kernel
def _plane(corners, row, boundaries0, boundaries1, w, size, margin, found, n):
    """Contacts of the deepest vertex after the step, and of the deeper one of its two neighbors."""
    lo, hi = corners.ptr[row], corners.ptr[row + 1]
    deepest, least = lo, np.inf
    for k in range(lo, hi):
        height = _height(corners.at1, k, boundaries1, w)
        if height < least:
            least, deepest = height, k
    after = deepest + 1 if deepest + 1 < hi else lo
    before = deepest - 1 if deepest > lo else hi - 1
    lead = _height(corners.at1, before, boundaries1, w) - _height(corners.at1, after, boundaries1, w)
    n = _corner_plane(corners, lo, deepest, boundaries0, boundaries1, w, margin, found, n)
    # Of two neighbors at equal height (a box on its vertex) neither counts, for symmetry.
    if abs(lead) > SAME * size:
        n = _corner_plane(corners, lo, after if lead > 0.0 else before, boundaries0, boundaries1, w, margin, found, n)
    return n


@kernel
def _inside(corners, row, boundaries0, boundaries1, w, margin, found, n):
    """Contacts of all vertices that are outside the circle after the step."""
    lo, hi = corners.ptr[row], corners.ptr[row + 1]
    for k in range(lo, hi):
        x, y = corners.at1[k, 0] - boundaries1.point[w, 0], corners.at1[k, 1] - boundaries1.point[w, 1]
        predicted = boundaries1.radius[w] - np.sqrt(x * x + y * y)
        if predicted > margin:
            continue
        ox, oy = corners.at0[k, 0] - boundaries0.point[w, 0], corners.at0[k, 1] - boundaries0.point[w, 1]
        distance = np.sqrt(ox * ox + oy * oy)
        gap = boundaries0.radius[w] - distance
        if distance == 0.0:  # it starts at the center: the direction of its motion is the normal
            ox, oy, distance = x, y, np.sqrt(x * x + y * y)
        n = _put(corners, k, k - lo, gap, predicted, ox / distance, oy / distance, found, n)
    return n


@kernel
def polygon_boundaries(shapes, poses, free, boundaries0, boundaries1, margin):
    """Contacts of free polygons with boundaries: (row, boundary, feature_id, normal, point, gap, predicted).

    `free` has one entry per body. boundaries0 and boundaries1 are the boundaries at the start and at the end of the
    step. Normals point from the body into the boundary, at the start. feature_id is the vertex for planes and insides
    of circles, edge or vertex (2 k, 2 k + 1) for outsides, and a code of vertices and edges of both for segments. A
    plane has at most two contacts, the ends of the lowest edge.
    """
    rows, kinds = len(poses.owner), boundaries0.kind
    segment_row = np.empty(len(kinds), np.int64)
    segments = 0
    for w in range(len(kinds)):
        segment_row[w] = rows + segments
        segments += kinds[w] == SEGMENT
    corners = placed_corners(shapes, poses, segments)
    place_segments(corners, rows, boundaries0, boundaries1)
    none = np.empty(0, np.int64)
    near = _near(shapes, poses, free, boundaries0, boundaries1, margin, none, none, np.empty(0, np.bool_))
    row, boundary, through = np.empty(near, np.int64), np.empty(near, np.int64), np.empty(near, np.bool_)
    _near(shapes, poses, free, boundaries0, boundaries1, margin, row, boundary, through)
    most = max(2, most_corners(corners))
    found = room(most * near)
    body, which = np.empty(most * near, np.int64), np.empty(most * near, np.int64)
    before, after = np.empty(2 * most), np.empty(2 * most)
    n = 0
    for k in range(near):
        r, w, begin = row[k], boundary[k], n
        size = shapes.radius[poses.owner[r]]
        if kinds[w] == PLANE:
            n = _plane(corners, r, boundaries0, boundaries1, w, size, margin, found, n)
        elif kinds[w] == INSIDE:
            n = _inside(corners, r, boundaries0, boundaries1, w, margin, found, n)
        elif kinds[w] == OUTSIDE:
            n = polygon_disc(
                corners, r, boundaries0.point[w], boundaries1.point[w], boundaries0.radius[w], 1.0, margin, found, n
            )
        else:
            n = polygon_polygon(corners, r, segment_row[w], size, margin, through[k], before, after, found, n)
        for i in range(begin, n):
            body[i], which[i] = r, w
    return (
        body[:n].copy(),
        which[:n].copy(),
        found.feature[:n].copy(),
        found.normal[:n].copy(),
        found.point[:n].copy(),
        found.gap[:n].copy(),
        found.predicted[:n].copy(),
    )
