"""Distance and direction of two convex cores by the algorithm of Gilbert, Johnson and Keerthi (GJK).

The point of the Minkowski difference b - a that is nearest to the origin is the shortest vector from a to b. It is
approximated by simplices of support points; the nearest point of a simplex follows from its Voronoi regions. Capsules,
whose cores are segments, are solved in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3, cross, dot, norm
from ..kernels import kernel, lean
from .parts import difference

GJK_ITERATIONS = 64  # largest number
SEARCH_TOLERANCE = 1e-12  # tolerance on the squared distance, relative
CORE_TOUCH = 1e-10  # distance, relative to the size of the pair, below which the cores touch


class Simplex(NamedTuple):
    """Up to four points of the Minkowski difference, of which the first `used` ones count."""

    used: int
    a: Vec3
    b: Vec3
    c: Vec3
    d: Vec3


@kernel
def _nearest_on_segment(a, b):
    """Nearest point to the origin of a segment, and which of its ends support it (bits 1, 2)."""
    e = b - a
    t, square = -dot(a, e), dot(e, e)
    if t <= 0.0:
        return a, 1
    if t >= square:
        return b, 2
    t /= square
    return a + t * e, 3


@kernel
def _nearest_on_triangle(p, q, r):
    """Nearest point to the origin of a triangle, and which of its vertices support it (bits 1, 2, 4)."""
    b, c = q - p, r - p
    d1, d2 = -dot(b, p), -dot(c, p)
    bb, bc, cc = dot(b, b), dot(b, c), dot(c, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return p, 1
    d3, d4 = d1 - bb, d2 - bc
    if d3 >= 0.0 and d4 <= d3:
        return q, 2
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return p + (d1 / (d1 - d3)) * b, 3
    d5, d6 = d1 - bc, d2 - cc
    if d6 >= 0.0 and d5 <= d6:
        return r, 4
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return p + (d2 / (d2 - d6)) * c, 5
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        return q + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (r - q), 6
    # From the plane, since a weighted sum of vertices would cancel close to the origin.
    n = cross(b, c)
    return (dot(n, p) / dot(n, n)) * n, 7


@kernel
def _is_beyond(a, b, c, d):
    """Whether the origin and point d lie on different sides of the triangle (a, b, c), or all four are coplanar."""
    n, m = cross(b - a, c - a), d - a
    origin, corner = -dot(n, a), dot(n, m)
    flat = 1e-24 * dot(n, n) * dot(m, m)
    return origin * corner < 0.0 or corner * corner <= flat


@kernel
def _of_points(p, q, r, mask):
    """The simplex of those of three points that `mask` names (bits 1, 2, 4)."""
    first = p if mask & 1 else (q if mask & 2 else r)
    second = q if mask & 1 and mask & 2 else r
    return Simplex((mask & 1) + ((mask >> 1) & 1) + ((mask >> 2) & 1), first, second, r, r)


@kernel
def _nearest(s):
    """Nearest point of a simplex to the origin, and the simplex that supports it, empty if the origin is inside."""
    if s.used == 1:
        return s.a, s
    if s.used == 2:
        point, mask = _nearest_on_segment(s.a, s.b)
        return point, _of_points(s.a, s.b, s.b, mask)
    if s.used == 3:
        point, mask = _nearest_on_triangle(s.a, s.b, s.c)
        return point, _of_points(s.a, s.b, s.c, mask)
    least, nearest, kept = np.inf, Vec3(0.0, 0.0, 0.0), Simplex(0, s.a, s.b, s.c, s.d)
    a, b, c, d = s.a, s.b, s.c, s.d
    for _ in range(4):
        if _is_beyond(b, c, d, a):
            point, mask = _nearest_on_triangle(b, c, d)
            square = dot(point, point)
            if square < least:
                least, nearest, kept = square, point, _of_points(b, c, d, mask)
        a, b, c, d = b, c, d, a
    return nearest, kept


@kernel
def _with_point(s, w):
    """The simplex with one more point."""
    n = s.used
    return Simplex(
        n + 1, w if n == 0 else s.a, w if n == 1 else s.b, w if n == 2 else s.c, w if n == 3 else s.d
    )  # fmt: skip


@lean
def shifted_separation(a, b, shift, limit):
    """Distance of two cores, the second moved by `shift`, and the unit vector from the first to the second.

    The distance is zero if they touch or overlap, and the vector then is undefined. Above `limit` the search may end
    early: the distance is then a lower bound, by which the cores are separated along the vector.
    """
    v = b.pose.position - a.pose.position + shift
    if dot(v, v) == 0.0:
        v = Vec3(1.0, v.y, v.z)
    simplex, square = Simplex(0, v, v, v, v), np.inf
    touch = (CORE_TOUCH * (a.core.reach + b.core.reach)) ** 2
    for _ in range(GJK_ITERATIONS):
        w = difference(a, b, -v) + shift
        if simplex.used > 0:
            ahead = dot(v, w)
            if ahead > 0.0 and ahead * ahead > limit * limit * square:
                length = np.sqrt(square)
                return ahead / length, v / length
            if square - ahead <= SEARCH_TOLERANCE * square:
                break
        nearest, simplex = _nearest(_with_point(simplex, w))
        shorter = dot(nearest, nearest)
        if simplex.used == 0 or shorter <= touch:
            return 0.0, Vec3(0.0, 0.0, 0.0)
        if shorter >= square:  # rounding: no further simplex is nearer
            break
        v, square = nearest, shorter
    length = np.sqrt(square)
    return length, v / length


@kernel
def separation(a, b, limit):
    """`shifted_separation` without a shift."""
    return shifted_separation(a, b, Vec3(0.0, 0.0, 0.0), limit)


# ---- core segments of two capsules


@kernel
def _nearest_on_axes(ha, hb, c, p, q):
    """Coordinates of the nearest points on two segments of half lengths ha, hb.

    c is the cosine of their angle, p the center of b along a, and q the center of a along b.
    """
    sine = 1.0 - c * c
    s = 0.0
    if sine > 1e-12:
        s = min(max((p + c * q) / sine, -ha), ha)
    else:  # parallel: the middle of the interval that they share, which does not depend on their order
        low, high = max(-ha, p - hb), min(ha, p + hb)
        s = min(max(0.5 * (low + high), -ha), ha)
    t = c * s + q
    if abs(t) > hb:
        t = min(max(t, -hb), hb)
        s = min(max(c * t + p, -ha), ha)
    return s, t


@lean
def segment_separation(a, b):
    """Distance of the core segments of two capsules, and the unit vector from the first to the second."""
    u = Vec3(a.pose.turn.x.z, a.pose.turn.y.z, a.pose.turn.z.z)
    v = Vec3(b.pose.turn.x.z, b.pose.turn.y.z, b.pose.turn.z.z)
    d = b.pose.position - a.pose.position
    s, t = _nearest_on_axes(a.core.size.y, b.core.size.y, dot(u, v), dot(u, d), -dot(v, d))
    n = d + t * v - s * u
    distance = norm(n)
    if distance > 1e-12 * (a.core.radius + b.core.radius):
        return distance, n / distance
    # The segments intersect: perpendicular to both, in the direction of the centers.
    n = cross(u, v)
    if dot(n, n) < 1e-12:
        n = Vec3(0.0, -u.z, u.y) if abs(u.x) < 0.6 else Vec3(u.z, 0.0, -u.x)
    length = norm(n)
    return 0.0, n / (-length if dot(n, d) < 0.0 else length)
