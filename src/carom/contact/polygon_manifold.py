"""Contact manifold of two convex polygons: one normal, and the ends of the interval in which they face each other.

The normal comes from the separating axes, and the ends of the interval from the two edges that face each other along
it. Both rules are independent of the order of bodies and vertices, so that exchanged or mirrored polygons have
exchanged or mirrored contacts, and it does not matter which of two parallel edges rounding makes the better axis. The
usual choice of a reference and an incident edge does not have this property.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec2, Vec3, dot, norm, row2
from ..kernels import kernel, lean
from ..solvers.rows import Floats
from .contact_set import Contact, put

AXIS_BIAS = 1e-10  # axes whose score is this close to the best (relative to size) share the normal
AXIS_PREVIEW = 0.01  # weight of the predicted separation in the score: decides among axes that are equal at the touch
SAME_POINT = 1e-9  # points closer than this (relative to size) are one point
ALIGNED_VERTICES = 1e-6  # of vertices closer than this (relative to size) that of `first` gives the feature_id
MOST_VERTICES = 65536  # larger than the number of vertices of any polygon


class Outline(NamedTuple):
    """A polygon at both ends of a step: vertices low:high, counterclockwise.

    `normal` k is the outward unit normal of the edge from vertex k to the next one. Two vertices are a segment.
    """

    low: int
    high: int
    at0: Floats  # (k, 2) vertices of many polygons, at the start of the step
    normal0: Floats
    at1: Floats  # after free flight
    normal1: Floats


class Facing(NamedTuple):
    """The edges of two polygons that face each other along the normal from the first to the second one.

    Seen along the normal, the edge of the first one runs from right to left, that of the second one from left to
    right. An edge of zero length is a vertex.
    """

    a_from: int
    a_to: int
    b_from: int
    b_to: int
    normal: Vec2


@kernel(inline="always")
def next_vertex(outline, k):
    return k + 1 if k + 1 < outline.high else outline.low


@kernel(inline="always")
def previous_vertex(outline, k):
    return k - 1 if k > outline.low else outline.high - 1


# ---- separating axes


@lean
def _separations_of(at, normal, a, b, limit, out, start):
    """Writes the separation along each edge normal of a from b to `out`; stops at the first one above `limit`."""
    top = -np.inf
    for k in range(a.low, a.high):
        n, origin, least = row2(normal, k), row2(at, k), np.inf
        for j in range(b.low, b.high):
            least = min(least, dot(n, row2(at, j) - origin))
        out[start + k - a.low] = least
        top = max(top, least)
        if top > limit:
            return top
    return top


@kernel(inline="always")
def _separations(at, normal, a, b, limit, out):
    """Writes the separations along the edge normals of both polygons; returns the largest, or one above `limit`."""
    top = _separations_of(at, normal, a, b, limit, out, 0)
    if top > limit:
        return top
    return max(top, _separations_of(at, normal, b, a, limit, out, a.high - a.low))


@kernel(inline="always")
def _touch_time(before, after, count):
    """Time of first touch as a fraction of the step: when the last separating axis closes."""
    time = 0.0
    for k in range(count):
        if before[k] > 0.0:
            time = max(time, 1.0 if after[k] >= 0.0 else before[k] / (before[k] - after[k]))
    return time


@lean
def _axis_sum(outline, score, start, best, bias):
    """Weighted sum of the normals of one polygon whose score is within `bias` of the best."""
    total = Vec2(0.0, 0.0)
    for k in range(outline.low, outline.high):
        weight = 1.0 - (best - score[start + k - outline.low]) / bias
        if weight > 0.0:
            total = total + weight * row2(outline.normal0, k)
    return total


@lean
def _contact_normal(a, b, before, after, time, bias):
    """Unit normal from a to b: the axis of largest separation when the polygons touch.

    For bodies that are apart at the start this is the axis that closes last, the normal of the edge that is hit; for
    bodies that touch or overlap it is the axis of least overlap at the start. Where vertex meets vertex two axes are
    equal, and the one that stays open longer is chosen: a brick that slides down beside its neighbor must not be lifted
    by it. If these are equal too, they share the normal. Overwrites `before` with the scores.
    """
    count_a, count_b = a.high - a.low, b.high - b.low
    best, top = -np.inf, 0
    for k in range(count_a + count_b):
        before[k] += time * (after[k] - before[k]) + AXIS_PREVIEW * after[k]
        if before[k] > best:
            best, top = before[k], k
    axis = _axis_sum(a, before, 0, best, bias) - _axis_sum(b, before, count_a, best, bias)
    length = norm(axis)
    if length > 1e-4:
        return axis / length
    # Equal axes that cancel: one polygon is centered inside the other, and any of the axes is as good.
    if top < count_a:
        return row2(a.normal0, a.low + top)
    return -row2(b.normal0, b.low + top - count_a)


# ---- the interval in which two edges face each other


@lean
def _facing(outline, n):
    """The edge (its two vertices) that faces along n, or one vertex twice if its two edges do so equally.

    Also a vertex if the edge is tilted by more than 60 degrees: only its end is close then.
    """
    at, normal, top, best = outline.at0, outline.normal0, outline.low, -np.inf
    for k in range(outline.low, outline.high):
        cosine = dot(n, row2(normal, k))
        if cosine > best:
            best, top = cosine, k
    after, before = next_vertex(outline, top), previous_vertex(outline, top)
    rival = max(dot(n, row2(normal, after)), dot(n, row2(normal, before)))
    if best > 1.0 - 1e-6 or (best > 0.5 and rival < best - 1e-9):
        return top, after
    corner = after if dot(n, row2(at, after) - row2(at, top)) > 0.0 else top
    return corner, corner


@kernel(inline="always")
def _along(outline, k, tangent, time):
    """Coordinate of vertex k along the tangent at a given time of the step."""
    start = row2(outline.at0, k)
    if time == 0.0:
        return dot(tangent, start)
    return dot(tangent, start) + time * dot(tangent, row2(outline.at1, k) - start)


@lean
def _vertex_on_edge(a, b, facing, vertex, of_first, feature):
    """The contact of a vertex of one polygon with the edge of the other one that faces it.

    The gap is measured along the normal. The predicted gap is the distance from the line of the edge after the step.
    """
    n, side, edge = facing.normal, 1.0 if of_first else -1.0, facing.b_from if of_first else facing.a_from
    cosine = -side * dot(n, row2(a.normal0, edge))
    p = row2(a.at0, vertex)
    gap = dot(row2(a.normal0, edge), p - row2(a.at0, edge)) / cosine
    predicted = dot(row2(a.normal1, edge), row2(a.at1, vertex) - row2(a.at1, edge)) / cosine
    return planar_contact(feature, gap, predicted, n, p + (0.5 * side * gap) * n)


@kernel(inline="always")
def planar_contact(feature, gap, predicted, normal, point):
    """A contact in the plane."""
    return Contact(feature, gap, predicted, Vec3(normal.x, normal.y, 0.0), Vec3(point.x, point.y, 0.0))


@lean
def _interval_end(a, b, facing, ends, lead, size):
    """The contact at one end of the interval, `ends`: vertex of a and vertex of b; that of a is inside by `lead`.

    feature_id encodes the vertex that ends the interval and the edge of the other polygon, so that it stays the same
    if the better axis changes from one polygon to the other. Where the vertices coincide along the interval it is
    always that of first, because rounding alone would decide.
    """
    feature = _feature(a, b, facing, ends, lead >= -ALIGNED_VERTICES * size)
    return _vertex_on_edge(a, b, facing, ends[0] if lead >= 0.0 else ends[1], lead >= 0.0, feature)


@kernel(inline="always")
def _feature(a, b, facing, ends, of_first):
    """feature_id of a vertex of a and an edge of b (even), or of a vertex of b and an edge of a (odd)."""
    if of_first:
        return ((ends[0] - a.low) * MOST_VERTICES + (facing.b_from - b.low)) * 2
    return ((facing.a_from - a.low) * MOST_VERTICES + (ends[1] - b.low)) * 2 + 1


@lean
def _interval(a, b, facing, time, size):
    """The one or two contacts at the ends of the interval in which two edges face each other, and their number.

    Which vertices end the interval is decided at the time of touch, since a fast polygon may start the step beside the
    other.
    """
    n, a_from, a_to, b_from, b_to = facing.normal, facing.a_from, facing.a_to, facing.b_from, facing.b_to
    tangent = Vec2(-n.y, n.x)
    a_low, a_high = _along(a, a_from, tangent, time), _along(a, a_to, tangent, time)
    b_low, b_high = _along(b, b_to, tangent, time), _along(b, b_from, tangent, time)
    low, high = a_low - b_low, b_high - a_high
    if (a_from == a_to and b_from != b_to and min(low, high) > 0.0) or (
        b_from == b_to and a_from != a_to and max(low, high) < 0.0
    ):
        one = _interval_end(a, b, facing, (a_from, b_from), low, size)
        return one, one, 1
    if min(a_high, b_high) - max(a_low, b_low) <= SAME_POINT * size:
        ends = (a_to, b_to) if abs(a_high - b_low) <= abs(a_low - b_high) else (a_from, b_from)
        p, q = row2(a.at0, ends[0]), row2(b.at0, ends[1])
        predicted = dot(n, row2(b.at1, ends[1]) - row2(a.at1, ends[0]))
        one = planar_contact(_feature(a, b, facing, ends, True), dot(n, q - p), predicted, n, 0.5 * (p + q))
        return one, one, 1
    one = _interval_end(a, b, facing, (a_from, b_to), low, size)
    two = _interval_end(a, b, facing, (a_to, b_from), high, size)
    return one, two, 2


@lean
def polygon_polygon(a, b, size, margin, passed, scratch, table, n):
    """Writes the contacts of two outlines of the same arrays to a table from row n; returns the next free row.

    There are contacts if and only if the largest separation along an edge normal is at most `margin` after the step, or
    if the caller knows that one polygon has `passed` through the other. Then points with a predicted gap up to `margin`
    count, and at least the deepest one. `scratch` (2, k) is for the separations along all edge normals; `size` is the
    radius of the smaller body.
    """
    limit = np.inf if passed else margin
    before, after = scratch[0], scratch[1]
    if _separations(a.at1, a.normal1, a, b, limit, after) > limit:
        return n
    _separations(a.at0, a.normal0, a, b, np.inf, before)
    time = _touch_time(before, after, a.high - a.low + b.high - b.low)
    normal = _contact_normal(a, b, before, after, time, AXIS_BIAS * size)
    a_from, a_to = _facing(a, normal)
    b_from, b_to = _facing(b, -normal)
    one, two, count = _interval(a, b, Facing(a_from, a_to, b_from, b_to, normal), time, size)
    limit = max(margin, min(one.predicted, two.predicted) + SAME_POINT * size)
    if count == 1 or one.predicted <= limit:
        put(table, n, 0, 0, one)
        n += 1
    if count == 2 and two.predicted <= limit:
        put(table, n, 0, 0, two)
        n += 1
    return n
