"""Clipping of two features that face each other along a common normal: the contact points of a manifold.

Projected along the normal both features are convex polygons, segments or points. The contact points are the corners of
their intersection: corners of one feature within the other, and crossings of edges. Neither feature is the reference,
so the result does not depend on the order of the bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec2, across, cross, dot, norm
from ..kernels import kernel, lean
from .features import FLAT_U, FLAT_V, TAKEN, point_of

SAME_PLACE = 1e-6  # distance across the normal, relative to the size, up to which two points are the same
SAME_RIM_PLACE = 1e-3  # distance, relative to the radius, up to which a crossing and a point of a rim are the same
PARALLEL_SINE = 0.02  # sine of the angle up to which two edges are parallel


class Place(NamedTuple):
    """A point of a feature: at the fraction `along` (0 to 1) of the way from its point i to its point j.

    The same point twice is a corner; -1 is the face above or below the other's corner, or the rim of a cap.
    """

    i: int
    j: int
    along: float


@kernel
def _corner(i):
    return Place(i, i, 0.0)


@kernel(inline="always")
def place_at(places, k, which):
    """The place of contact point k on the first (0) or second (1) feature."""
    c = 3 * which
    return Place(int(places[k, c]), int(places[k, c + 1]), places[k, c + 2])


@lean
def _put(places, n, feature, own, other):
    """Writes contact point n, `own` on a feature and `other` on the other one; returns the number of points.

    Points for which there is no room are left out.
    """
    if n == len(places):
        return n
    a, b = (own, other) if feature.which == 0 else (other, own)
    places[n, 0], places[n, 1], places[n, 2] = a.i, a.j, a.along
    places[n, 3], places[n, 4], places[n, 5] = b.i, b.j, b.along
    return n + 1


@kernel(inline="always")
def _flatten(p, a, origin, u, v):
    """Coordinates of the points of a feature along u and v, relative to the origin. Writes columns of p."""
    for i in range(a.points):
        d = point_of(p, a.which, i) - origin
        p[a.which, i, FLAT_U], p[a.which, i, FLAT_V], p[a.which, i, TAKEN] = dot(u, d), dot(v, d), 0.0


@kernel(inline="always")
def _flat(p, a, i):
    """Coordinates of point i of a feature across the normal."""
    return Vec2(p[a.which, i, FLAT_U], p[a.which, i, FLAT_V])


@kernel(inline="always")
def _edges(count):
    """Number of edges of a feature."""
    return count if count > 2 else count - 1


@kernel(inline="always")
def _next(i, count):
    return i + 1 if i + 1 < count else 0


@lean
def _put_sides(own, other, scratch):
    """Distances of the points of a feature from the edge lines of the other, positive inside. Writes `side`."""
    p, m, side = scratch.point, other.points, scratch.side
    area = 0.0
    for i in range(2, m):
        area += cross(_flat(p, other, i - 1) - _flat(p, other, 0), _flat(p, other, i) - _flat(p, other, 0))
    for j in range(m if m > 2 else 1):
        start = _flat(p, other, j)
        edge = _flat(p, other, _next(j, m)) - start
        length = norm(edge)
        edge = ((1.0 if area >= 0.0 else -1.0) / length if length > 0.0 else 0.0) * edge
        for i in range(own.points):
            side[own.which, i, j] = cross(edge, _flat(p, own, i) - start)


@kernel(inline="always")
def _nearest_on(p, a, at):
    """Fraction (0 to 1) along an edge at which it is nearest to `at` across the normal."""
    edge = _flat(p, a, 1) - _flat(p, a, 0)
    square = dot(edge, edge)
    if square == 0.0:
        return 0.0
    return min(max(dot(at - _flat(p, a, 0), edge) / square, 0.0), 1.0)


@kernel(inline="always")
def _over_cap(point, other, normal):
    """Point, relative to its center, where the normal line through a point meets the cap of a feature."""
    d = point - other.center
    t = dot(other.face, d) / dot(other.face, normal)
    return d - t * normal


@kernel(inline="always")
def _depth_within(own, i, other, normal, scratch):
    """How deep point i of a feature lies within the other feature in the projection along the normal.

    It is negative outside, except that points of an edge have the depth 0.
    """
    p = scratch.point
    if other.points == 1:
        return -np.inf
    if other.cap > 0.0:
        return other.cap - norm(_over_cap(point_of(p, own.which, i), other, normal))
    if other.points == 2:
        at = _flat(p, own, i)
        edge = _flat(p, other, 1) - _flat(p, other, 0)
        return -norm(at - (_flat(p, other, 0) + _nearest_on(p, other, at) * edge))
    depth = np.inf
    for j in range(other.points):
        depth = min(depth, scratch.side[own.which, i, j])
    return depth


@lean
def _on_edge(p, at, other, j, tolerance):
    """Distance across the normal of a point from edge j of a feature, and the nearest place."""
    k = _next(j, other.points)
    d, edge = at - _flat(p, other, j), _flat(p, other, k) - _flat(p, other, j)
    length = norm(edge)
    along = min(max(dot(d, edge) / length, 0.0), length) if length > 0.0 else 0.0
    t = along / length if length > 0.0 else 0.0
    d = d - t * edge
    if along <= tolerance:
        k, t = j, 0.0
    elif length - along <= tolerance:
        j, t = k, 0.0
    return norm(d), Place(j, k, t)


@lean
def _put_corners(own, other, normal, tolerance, scratch, n):
    """Adds the corners of a feature that lie within the other."""
    p, m = scratch.point, other.points
    for i in range(own.points):
        if m == 2 and abs(scratch.side[own.which, i, 0]) > 2.0 * tolerance:  # most corners, before the nearest point
            continue
        depth = _depth_within(own, i, other, normal, scratch)
        if p[own.which, i, TAKEN] > 0.0 or depth < -tolerance:
            continue
        if depth > 2.0 * tolerance and other.cap == 0.0:  # not near the border
            n = _put(scratch.place, n, own, _corner(i), _corner(-1))
            continue
        place, at = _corner(-1), _flat(p, own, i)
        for k in range(m):
            d = at - _flat(p, other, k)
            if abs(d.x) <= tolerance and abs(d.y) <= tolerance:
                place = _corner(k)
                p[other.which, k, TAKEN] = 1.0
        for k in range(_edges(m)):
            # On the border the other's edge counts, not its face: if the normal is not that of the face, the two
            # part ways as the bodies move.
            if place.i < 0 and abs(scratch.side[own.which, i, k]) <= tolerance and other.cap == 0.0:
                _, place = _on_edge(p, at, other, k, tolerance)
        n = _put(scratch.place, n, own, _corner(i), place)
    return n


@lean
def _is_at_rim_point(cap, hit, scratch, n):
    """Whether a point on the rim of a cap coincides with a point of it that is a contact point already."""
    near = (SAME_RIM_PLACE * cap.cap) ** 2
    for k in range(n):
        place = place_at(scratch.place, k, cap.which)
        if place.i >= 0 and place.i == place.j:
            d = point_of(scratch.point, cap.which, place.i) - cap.center - hit
            if dot(d, d) < near:
                return True
    return False


@lean
def _put_rim_crossings(own, cap, normal, tolerance, scratch, n):
    """Adds the crossings of the edges of a feature with the rim of the other's cap.

    The edge is given from outside to inside, which distinguishes its two crossings.
    """
    p = scratch.point
    for i in range(_edges(own.points)):
        j = _next(i, own.points)
        start = _over_cap(point_of(p, own.which, i), cap, normal)
        edge = _over_cap(point_of(p, own.which, j), cap, normal) - start
        # |start + t edge| = radius
        a, b, c = dot(edge, edge), dot(start, edge), dot(start, start) - cap.cap**2
        root = b * b - a * c
        if root <= 0.0 or a == 0.0:
            continue
        for k in range(2):
            t = (-b - np.sqrt(root)) / a if k == 0 else (-b + np.sqrt(root)) / a
            taken = _is_at_rim_point(cap, start + t * edge, scratch, n)
            if min(t, 1.0 - t) * np.sqrt(a) > tolerance and not taken:
                place = Place(i, j, t) if k == 0 else Place(j, i, 1.0 - t)
                n = _put(scratch.place, n, own, place, _corner(-1))
    return n


@lean
def _put_polygons(a, b, normal, tolerance, scratch):
    """All corners of the intersection of two features, at least one of which is a face."""
    _put_sides(a, b, scratch)
    _put_sides(b, a, scratch)
    n = _put_corners(a, b, normal, tolerance, scratch, 0)
    n = _put_corners(b, a, normal, tolerance, scratch, n)
    if (a.cap > 0.0) != (b.cap > 0.0):
        own, cap = (b, a) if a.cap > 0.0 else (a, b)
        return _put_rim_crossings(own, cap, normal, tolerance, scratch, n)
    side = scratch.side
    for i in range(a.points if a.points > 2 else 1):
        i2 = _next(i, a.points)
        for j in range(b.points if b.points > 2 else 1):
            s, s2 = side[0, i, j], side[0, i2, j]
            if min(s, s2) >= -tolerance or max(s, s2) <= tolerance:
                continue
            j2 = _next(j, b.points)
            t, t2 = side[1, j, i], side[1, j2, i]
            if min(t, t2) < -tolerance and max(t, t2) > tolerance:
                n = _put(scratch.place, n, a, Place(i, i2, s / (s - s2)), Place(j, j2, t / (t - t2)))
    return n


@lean
def _put_parallel(a, b, direction, tolerance, scratch):
    """The ends of the common part of two edges along a direction."""
    p, places, u = scratch.point, scratch.place, direction / norm(direction)
    low, high = (0, 1) if dot(u, _flat(p, b, 1)) >= dot(u, _flat(p, b, 0)) else (1, 0)
    a0, a1 = dot(u, _flat(p, a, 0)), dot(u, _flat(p, a, 1))
    b0, b1 = dot(u, _flat(p, b, low)), dot(u, _flat(p, b, high))
    if min(a1, b1) - max(a0, b0) <= tolerance:
        i, j = (1, low) if abs(a1 - b0) <= abs(a0 - b1) else (0, high)
        return _put(places, 0, a, _corner(i), _corner(j))
    n = 0
    for i in range(2):
        j = low if i == 0 else high
        lead = a0 - b0 if i == 0 else b1 - a1  # how much farther in the corner of a is
        on_a, on_b = _corner(i), _corner(j)
        if lead > tolerance:
            on_b = Place(0, 1, _nearest_on(p, b, _flat(p, a, i)))
        elif lead < -tolerance:
            on_a = Place(0, 1, _nearest_on(p, a, _flat(p, b, j)))
        n = _put(places, n, a, on_a, on_b)
    return n


@kernel(inline="always")
def _edge_or_end(p, a, s, tolerance):
    """The place at fraction s of an edge, or its corner if it is that near; the point of a vertex."""
    if a.points == 1:
        return _corner(0)
    length = norm(_flat(p, a, 1) - _flat(p, a, 0))
    if s * length <= tolerance:
        return _corner(0)
    if (1.0 - s) * length <= tolerance:
        return _corner(1)
    return Place(0, 1, s)


@lean
def _put_crossing(a, b, tolerance, scratch):
    """Two features that are edges or points: the crossing of two edges, or the ends of parallel edges' common part."""
    p, s, t = scratch.point, 0.0, 0.0
    if a.points == 2 and b.points == 2:
        e, f = _flat(p, a, 1) - _flat(p, a, 0), _flat(p, b, 1) - _flat(p, b, 0)
        la, lb, turn = norm(e), norm(f), cross(e, f)
        if abs(turn) <= PARALLEL_SINE * la * lb:
            same = 1.0 if dot(e, f) >= 0.0 else -1.0
            return _put_parallel(a, b, e / la + same * f / lb, tolerance, scratch)
        d = _flat(p, b, 0) - _flat(p, a, 0)
        s = min(max(cross(d, f) / turn, 0.0), 1.0)
        t = min(max(cross(d, e) / turn, 0.0), 1.0)
    elif a.points == 2:
        s = _nearest_on(p, a, _flat(p, b, 0))
    elif b.points == 2:
        t = _nearest_on(p, b, _flat(p, a, 0))
    return _put(scratch.place, 0, a, _edge_or_end(p, a, s, tolerance), _edge_or_end(p, b, t, tolerance))


@lean
def _put_beside(a, b, tolerance, scratch):
    """Features that do not overlap in the projection: the nearest points of both, and all others as near."""
    best, n, p = np.inf, 0, scratch.point
    for search in range(2):
        for w in range(2):
            own, other = (b, a) if w else (a, b)
            for i in range(own.points):
                for k in range(other.points if other.points > 2 else 1):
                    distance, place = _on_edge(p, _flat(p, own, i), other, k, tolerance)
                    if search == 0:
                        best = min(best, distance)
                    elif distance <= best + tolerance:
                        n = _put(scratch.place, n, own, _corner(i), place)
                        n = _without_double(scratch.place, n)
    return n


@lean
def _without_double(places, n):
    """The number of contact points without the last, if it repeats another: two corners are found from both sides."""
    last_a, last_b = place_at(places, n - 1, 0), place_at(places, n - 1, 1)
    for k in range(n - 1):
        a, b = place_at(places, k, 0), place_at(places, k, 1)
        if a.i == last_a.i and a.j == last_a.j and b.i == last_b.i and b.j == last_b.j:
            return n - 1
    return n


@lean
def clip(a, b, normal, size, scratch):
    """Number of contact points of two features. Writes them to `scratch`. `size` is that of the smaller shape."""
    tolerance, origin = SAME_PLACE * size, point_of(scratch.point, a.which, 0)
    u = across(normal)
    u = (1.0 / norm(u)) * u
    v = cross(normal, u)
    _flatten(scratch.point, a, origin, u, v)
    _flatten(scratch.point, b, origin, u, v)
    if a.points <= 2 and b.points <= 2:
        return _put_crossing(a, b, tolerance, scratch)
    n = _put_polygons(a, b, normal, tolerance, scratch)
    return n if n > 0 else _put_beside(a, b, tolerance, scratch)
