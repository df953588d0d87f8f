"""Narrow phase of convex polygons: contacts with polygons, with discs, and with boundaries.

A pair has contacts if and only if it overlaps (up to a margin) after free flight. Their geometry is that of the start
of the step, where impulses act. Normals are unit vectors from first to second, points lie midway between the surfaces,
and contacts are in the order of the pairs, then of the boundaries.

Two polygons have up to two contacts, at the ends of the interval in which they face each other (`polygon_manifold`);
feature_id encodes the vertex at that end and the edge of the other polygon. A disc and a polygon have one contact, with
feature_id 2 k for edge k and 2 k + 1 for vertex k. Planes and insides of circles have vertex k as feature_id; a plane
has at most two contacts, the ends of the lowest edge. The outside of a circle is a disc, a segment is a polygon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec2, Vec3, dot, norm, put_row, row2
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT
from .boundaries import AXIS, KIND, POINT, boundary_of, passes, point_gap
from .contact_set import FIRST, PREDICTED, SECOND, Contact, contact_table, put, set_bodies, with_room
from .pairs import image_rows, rows_to_bodies
from .polygon_manifold import SAME_POINT, Outline, next_vertex, planar_contact, polygon_polygon, previous_vertex


class Poses(NamedTuple):
    """Poses of all bodies, then of their periodic images: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 2)
    angle0: Floats  # (rows,)
    position1: Floats  # (rows, 2)
    angle1: Floats  # (rows,)


class Placed(NamedTuple):
    """Discs, polygons and boundaries in the frame of the world: 0 at the start of the step, 1 after free flight.

    The first rows are those of the poses, then there is one for each boundary. Row r has the vertices ptr[r]:ptr[r+1],
    counterclockwise; discs, and boundaries that are not segments, have none. `normal` k is the outward unit normal of
    the edge from vertex k to the next one.
    """

    ptr: Ints  # (rows + boundaries + 1,)
    radius: Floats  # (rows,) of the disc, or of the circle around the polygon
    center0: Floats  # (rows, 2)
    center1: Floats  # (rows, 2)
    at0: Floats  # (k, 2)
    normal0: Floats  # (k, 2)
    at1: Floats  # (k, 2)
    normal1: Floats  # (k, 2)
    scratch: Floats  # (2, edges of two polygons)


@kernel
def polygon_pairs(shapes, poses, pairs, margin):
    """Table of the contacts of candidate pairs (p, 2 or more) of rows of `poses`; pairs of two discs are skipped.

    The predicted gap of a contact is at most `margin`, unless it is the only one of its pair.
    """
    none = np.empty((0, 8))
    placed = _placed(shapes, poses, none, none)
    table = contact_table(2 * len(pairs))
    return table[: _put_pairs(placed, pairs, margin, table)]


@kernel
def polygon_boundaries(shapes, poses, chosen, boundary0, boundary1, margin):
    """Table of the contacts of rows of `poses`, of bodies that `chosen` marks, with tables of boundaries."""
    placed = _placed(shapes, poses, boundary0, boundary1)
    marked = np.empty(len(poses.owner), np.bool_)
    for r in range(len(marked)):
        marked[r] = chosen[poses.owner[r]]
    table, n = _with_boundaries(placed, marked, boundary0, boundary1, margin, contact_table(64), 0)
    return table[:n]


@kernel
def polygon_contacts(shapes, pairs, ends, chosen):
    """Table of the contacts of candidate pairs of bodies, and of `chosen` bodies with boundaries."""
    rows = image_rows(pairs, ends.position0, ends.position1, ends.sides)
    angle0, angle1 = ends.orientation0[:, 0][rows.owner], ends.orientation1[:, 0][rows.owner]
    poses = Poses(rows.owner, rows.position0, angle0, rows.position1, angle1)
    placed = _placed(shapes, poses, ends.boundary0, ends.boundary1)
    margins = ends.margins
    widest = margins.max() if len(margins) else 0.0  # the narrow phase has one margin for all pairs
    table = np.empty((2 * len(pairs), ends.width))
    n = _put_pairs(placed, rows.pairs, widest, table)
    table, n = _with_boundaries(placed, chosen, ends.boundary0, ends.boundary1, widest, table, n)
    m = 0
    for i in range(n):
        a, row = int(table[i, FIRST]), int(table[i, SECOND])
        b = rows.owner[row] if row >= 0 else row
        if table[i, PREDICTED] <= (max(margins[a], margins[b]) if row >= 0 else margins[a]):
            for k in range(table.shape[1]):
                table[m, k] = table[i, k]
            m += 1
    rows_to_bodies(table[:m], rows, ends.sides)
    return table[:m]


# ---- polygons in the world


@kernel
def _placed(shapes, poses, boundary0, boundary1):
    """All rows of `poses`, and the boundaries, in the frame of the world."""
    rows, segments = len(poses.owner), len(boundary0)
    ptr, radius, most = np.zeros(rows + segments + 1, np.int64), np.empty(rows), 2
    for r in range(rows):
        body = poses.owner[r]
        count, radius[r] = shapes.vertex_ptr[body + 1] - shapes.vertex_ptr[body], shapes.radius[body]
        ptr[r + 1], most = ptr[r] + count, max(most, count)
    for w in range(segments):
        ptr[rows + w + 1] = ptr[rows + w] + (2 if boundary0[w, KIND] == SEGMENT else 0)
    k = ptr[-1]
    at0, normal0, at1, normal1 = np.empty((k, 2)), np.empty((k, 2)), np.empty((k, 2)), np.empty((k, 2))
    for r in range(rows):
        if ptr[r + 1] > ptr[r]:
            vertex = shapes.vertex[shapes.vertex_ptr[poses.owner[r]] :]
            _place(vertex, row2(poses.position0, r), poses.angle0[r], at0[ptr[r] : ptr[r + 1]])
            _place(vertex, row2(poses.position1, r), poses.angle1[r], at1[ptr[r] : ptr[r + 1]])
    for w in range(segments):
        if boundary0[w, KIND] == SEGMENT:
            k = ptr[rows + w]
            for axis in range(2):
                at0[k, axis], at0[k + 1, axis] = boundary0[w, POINT + axis], boundary0[w, AXIS + axis]
                at1[k, axis], at1[k + 1, axis] = boundary1[w, POINT + axis], boundary1[w, AXIS + axis]
    for r in range(rows + segments):
        set_normals(at0, normal0, ptr[r], ptr[r + 1])
        set_normals(at1, normal1, ptr[r], ptr[r + 1])
    scratch = np.empty((2, 2 * most))
    return Placed(ptr, radius, poses.position0, poses.position1, at0, normal0, at1, normal1, scratch)


@kernel(inline="always")
def _place(vertex, position, angle, at):
    """Writes the vertices of one body, rotated by `angle`, with its center of mass at `position`."""
    c, s = np.cos(angle), np.sin(angle)
    for k in range(len(at)):
        x, y = vertex[k, 0], vertex[k, 1]
        put_row(at, k, position + Vec2(c * x - s * y, s * x + c * y))


@kernel
def set_normals(at, normal, low, high):
    """Writes the outward unit normals of the edges of vertices low:high; two are the two sides of a segment."""
    for k in range(low, high):
        e = row2(at, k + 1 if k + 1 < high else low) - row2(at, k)
        put_row(normal, k, Vec2(e.y, -e.x) / norm(e))


@kernel(inline="always")
def _outline(placed, r):
    return Outline(placed.ptr[r], placed.ptr[r + 1], placed.at0, placed.normal0, placed.at1, placed.normal1)


# ---- pairs


@lean
def _put_pairs(placed, pairs, margin, table):
    """Writes the contacts of candidate pairs of rows, which have room; returns their number."""
    n, radius = 0, placed.radius
    for k in range(len(pairs)):
        i, j, begin = pairs[k, FIRST], pairs[k, SECOND], n
        limit, apart = radius[i] + radius[j] + margin, row2(placed.center1, j) - row2(placed.center1, i)
        if limit < 0.0 or dot(apart, apart) > limit * limit:
            continue
        a, b = _outline(placed, i), _outline(placed, j)
        if a.high > a.low and b.high > b.low:
            n = polygon_polygon(a, b, min(radius[i], radius[j]), margin, False, placed.scratch, table, n)
        elif a.high > a.low:
            n = _polygon_disc(a, _centers(placed, j), radius[j], 1.0, margin, table, n)
        elif b.high > b.low:
            n = _polygon_disc(b, _centers(placed, i), radius[i], -1.0, margin, table, n)
        set_bodies(table, begin, n, i, j)
    return n


@kernel(inline="always")
def _centers(placed, r):
    """The center of a row at the start of the step, and after free flight."""
    return row2(placed.center0, r), row2(placed.center1, r)


@lean
def nearest_on_polygon(at, normal, low, high, p):
    """Signed distance from the polygon with vertices low:high to a point, negative inside, and the nearest feature.

    Returns (distance, feature, unit normal from the polygon to the point). The feature is 2 k for the edge from vertex
    k, 2 k + 1 for vertex k. The edge whose line is farthest below the point is the nearest one, or ends in the nearest
    vertex. For a point inside, the nearest edge is returned.
    """
    top, best = low, -np.inf
    for k in range(low, high):
        height = dot(row2(normal, k), p - row2(at, k))
        if height > best:
            best, top = height, k
    n, after = row2(normal, top), top + 1 if top + 1 < high else low
    tangent = Vec2(-n.y, n.x)
    corner = -1
    if best > 0.0 and dot(tangent, p - row2(at, top)) < 0.0:
        corner = top
    elif best > 0.0 and dot(tangent, p - row2(at, after)) > 0.0:
        corner = after
    if corner < 0:
        return best, 2 * (top - low), n
    e = p - row2(at, corner)
    return norm(e), 2 * (corner - low) + 1, e / norm(e)


@lean
def _polygon_disc(outline, center, radius, sign, margin, table, n):
    """Writes the contact of a polygon with a disc to row n, if there is one; returns the next free row.

    `center` holds those at the start and after free flight; `sign` is 1 if the normal points from the polygon to the
    disc, -1 for the opposite direction. Normal, point and gap are those at the start; the predicted gap is exact and
    decides whether there is a contact.
    """
    low, high = outline.low, outline.high
    predicted = nearest_on_polygon(outline.at1, outline.normal1, low, high, center[1])[0] - radius
    if predicted > margin:
        return n
    distance, feature, normal = nearest_on_polygon(outline.at0, outline.normal0, low, high, center[0])
    gap = distance - radius
    point = center[0] - (radius + 0.5 * gap) * normal  # midway between the surfaces
    put(table, n, 0, 0, planar_contact(feature, gap, predicted, sign * normal, point))
    return n + 1


# ---- boundaries


@kernel
def _with_boundaries(placed, chosen, table0, table1, margin, table, n):
    """The first n contacts of a table, and those of the polygons that `chosen` marks, the first rows, with boundaries.

    Returns the table, or a larger one, and the number of contacts.
    """
    most = placed.scratch.shape[1] // 2  # contacts of one polygon with the inside of a circle
    near, through = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.bool_)
    for w in range(len(table0)):
        boundary = boundary_of(table0, w), boundary_of(table1, w)
        count = _near_rows(placed, chosen, boundary, margin, near, through)
        table = with_room(table, n, most * count)
        for k in range(count):
            begin, row = n, len(placed.radius) + w
            n = _put_bounded(placed, (near[k], row), through[k], boundary, margin, table, n)
            set_bodies(table, begin, n, near[k], -1 - w)
    return table, n


@lean
def _near_rows(placed, chosen, boundary, margin, near, through):
    """Lists polygons whose bounding circle is within the margin of a boundary after the step; returns their number.

    A polygon whose center passes `through` a segment counts too.
    """
    count, segment = 0, boundary[0].kind == SEGMENT
    for r in range(len(chosen)):
        if not chosen[r] or placed.ptr[r + 1] == placed.ptr[r]:
            continue
        p = Vec3(placed.center0[r, 0], placed.center0[r, 1], 0.0)
        q = Vec3(placed.center1[r, 0], placed.center1[r, 1], 0.0)
        passed = segment and passes(boundary[0], boundary[1], p, q)
        if passed or point_gap(boundary[1], q)[0] - placed.radius[r] <= margin:
            near[count], through[count] = r, passed
            count += 1
    return count


@lean
def _put_bounded(placed, rows, passed, boundary, margin, table, n):
    """Writes the contacts of a polygon with a boundary, both rows of `placed`; returns the next free row."""
    outline, kind, size = _outline(placed, rows[0]), boundary[0].kind, placed.radius[rows[0]]
    if kind == PLANE:
        return _put_on_plane(outline, boundary, size, margin, table, n)
    if kind == INSIDE:
        for k in range(outline.low, outline.high):
            n = _put_vertex(outline, k, boundary, margin, table, n)
        return n
    if kind == OUTSIDE:
        a, b = boundary[0].point, boundary[1].point
        center = Vec2(a.x, a.y), Vec2(b.x, b.y)
        return _polygon_disc(outline, center, boundary[0].radius, 1.0, margin, table, n)
    return polygon_polygon(outline, _outline(placed, rows[1]), size, margin, passed, placed.scratch, table, n)


@kernel(inline="always")
def _vertex(at, k):
    return Vec3(at[k, 0], at[k, 1], 0.0)


@lean
def _put_vertex(outline, k, boundary, margin, table, n):
    """Writes the contact of vertex k with a plane or the inside of a circle, if its predicted gap is in the margin."""
    predicted, later = point_gap(boundary[1], _vertex(outline.at1, k))
    if predicted > margin:
        return n
    p = _vertex(outline.at0, k)
    gap, normal = point_gap(boundary[0], p)
    if dot(normal, normal) == 0.0:  # it starts at the center: the direction of its motion is the normal
        normal = later
    put(table, n, 0, 0, Contact(k - outline.low, gap, predicted, normal, p + (0.5 * gap) * normal))
    return n + 1


@lean
def _put_on_plane(outline, boundary, size, margin, table, n):
    """Writes contacts of the deepest vertex after the step, and of the deeper one of its two neighbors."""
    deepest, least = outline.low, np.inf
    for k in range(outline.low, outline.high):
        height = point_gap(boundary[1], _vertex(outline.at1, k))[0]
        if height < least:
            least, deepest = height, k
    after, before = next_vertex(outline, deepest), previous_vertex(outline, deepest)
    lead = point_gap(boundary[1], _vertex(outline.at1, before))[0]
    lead -= point_gap(boundary[1], _vertex(outline.at1, after))[0]
    n = _put_vertex(outline, deepest, boundary, margin, table, n)
    # Of two neighbors at equal height (a box on its vertex) neither counts, for symmetry.
    if abs(lead) > SAME_POINT * size:
        n = _put_vertex(outline, after if lead > 0.0 else before, boundary, margin, table, n)
    return n
