"""Clipping of two features that face each other along a common normal: the contact points of a manifold.

Projected along the normal both features are convex polygons, segments or points. The contact points are the corners of
their intersection: corners of one feature within the other, and crossings of edges. Neither feature is the reference,
so the result does not depend on the order of the bodies.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .features import CAP, CENTER, FACE, TAKEN
from .features import FLAT_U as U
from .features import FLAT_V as V

SAME = 1e-6  # distance across the normal, relative to the size, up to which two points are the same
BESIDE = 1e-3  # distance, relative to the radius, up to which a crossing and a point of a rim are the same
PARALLEL = 0.02  # sine of the angle up to which two edges are parallel


# Columns of the table of places: two points of feature a and the fraction along the edge between them (0 to 1), and the
# same for b. The same point twice is a corner; -1 is the face above or below the other's corner, or the rim of a cap.
A0, A1, A_ALONG, B0, B1, B_ALONG, PLACE = 0, 1, 2, 3, 4, 5, 6


@kernel
def _put(places, n, i, i2, s, j, j2, t):
    """Writes place n, if there is room, and returns the number of places."""
    if n == len(places):
        return n
    places[n, A0], places[n, A1], places[n, A_ALONG] = i, i2, s
    places[n, B0], places[n, B1], places[n, B_ALONG] = j, j2, t
    return n + 1


@kernel
def _across(n):
    """Two unit vectors orthogonal to n."""
    x, y, z = n
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        tx, ty, tz = 0.0, z, -y
    elif abs(y) <= abs(z):
        tx, ty, tz = -z, 0.0, x
    else:
        tx, ty, tz = y, -x, 0.0
    scale = 1.0 / np.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = scale * tx, scale * ty, scale * tz
    return tx, ty, tz, y * tz - z * ty, z * tx - x * tz, x * ty - y * tx


@kernel
def _flatten(p, na, nb, normal):
    """Coordinates of all points across the normal, relative to the first point of a. Writes columns U and V of p."""
    tx, ty, tz, cx, cy, cz = _across(normal)
    for w in range(2):
        for i in range(nb if w else na):
            x, y, z = p[w, i, 0] - p[0, 0, 0], p[w, i, 1] - p[0, 0, 1], p[w, i, 2] - p[0, 0, 2]
            p[w, i, U] = tx * x + ty * y + tz * z
            p[w, i, V] = cx * x + cy * y + cz * z
            p[w, i, TAKEN] = 0.0


@kernel
def _sides(p, side, na, nb):
    """Distances of the points of each feature from the edge lines of the other, positive inside. Writes `side`."""
    for w in range(2):
        n, m, o = (nb, na, 0) if w else (na, nb, 1)
        area = 0.0
        for i in range(2, m):
            u, v = p[o, i, U] - p[o, 0, U], p[o, i, V] - p[o, 0, V]
            area += (p[o, i - 1, U] - p[o, 0, U]) * v - (p[o, i - 1, V] - p[o, 0, V]) * u
        for j in range(m if m > 2 else 1):
            j2 = j + 1 if j + 1 < m else 0
            u, v = p[o, j, U], p[o, j, V]
            eu, ev = p[o, j2, U] - u, p[o, j2, V] - v
            length = np.sqrt(eu * eu + ev * ev)
            scale = (1.0 if area >= 0.0 else -1.0) / length if length > 0.0 else 0.0
            eu, ev = scale * eu, scale * ev
            for i in range(n):
                side[w, i, j] = eu * (p[w, i, V] - v) - ev * (p[w, i, U] - u)


@kernel
def _nearest_on(p, w, u, v):
    """Fraction (0 to 1) along the segment of feature w at which it is nearest to (u, v) across the normal."""
    eu, ev = p[w, 1, U] - p[w, 0, U], p[w, 1, V] - p[w, 0, V]
    square = eu * eu + ev * ev
    if square == 0.0:
        return 0.0
    return min(max(((u - p[w, 0, U]) * eu + (v - p[w, 0, V]) * ev) / square, 0.0), 1.0)


@kernel
def _over_cap(p, data, w, i, normal):
    """Point, relative to its center, where the normal line through point i of feature w meets the other's cap."""
    o = 1 - w
    fx, fy, fz = data[o, FACE], data[o, FACE + 1], data[o, FACE + 2]
    x, y, z = p[w, i, 0] - data[o, CENTER], p[w, i, 1] - data[o, CENTER + 1], p[w, i, 2] - data[o, CENTER + 2]
    t = (fx * x + fy * y + fz * z) / (fx * normal[0] + fy * normal[1] + fz * normal[2])
    return x - t * normal[0], y - t * normal[1], z - t * normal[2]


@kernel
def _within(p, side, data, w, i, m, normal, tolerance):
    """Whether point i of feature w lies within the other feature, of m points, in the projection along the normal."""
    if m == 1:
        return False
    if data[1 - w, CAP] > 0.0:
        x, y, z = _over_cap(p, data, w, i, normal)
        return x * x + y * y + z * z <= (data[1 - w, CAP] + tolerance) ** 2
    if m == 2:
        o, u, v = 1 - w, p[w, i, U], p[w, i, V]
        t = _nearest_on(p, o, u, v)
        u -= p[o, 0, U] + t * (p[o, 1, U] - p[o, 0, U])
        v -= p[o, 0, V] + t * (p[o, 1, V] - p[o, 0, V])
        return u * u + v * v <= tolerance * tolerance
    outside = False
    for j in range(m):
        outside |= side[w, i, j] < -tolerance
    return not outside


@kernel
def _on_side(p, w, i, o, j, j2, tolerance):
    """Distance across the normal of point i of feature w from edge (j, j2) of feature o, and the nearest place."""
    u, v = p[w, i, U] - p[o, j, U], p[w, i, V] - p[o, j, V]
    eu, ev = p[o, j2, U] - p[o, j, U], p[o, j2, V] - p[o, j, V]
    length = np.sqrt(eu * eu + ev * ev)
    along = min(max((u * eu + v * ev) / length, 0.0), length) if length > 0.0 else 0.0
    t = along / length if length > 0.0 else 0.0
    u, v = u - t * eu, v - t * ev
    if along <= tolerance:
        j2, t = j, 0.0
    elif length - along <= tolerance:
        j, t = j2, 0.0
    return np.sqrt(u * u + v * v), j, j2, t


@kernel
def _corners(p, side, data, na, nb, normal, tolerance, places):
    """Corners of either feature that lie within the other."""
    n = 0
    for w in range(2):
        count, m, o = (nb, na, 0) if w else (na, nb, 1)
        for i in range(count):
            if p[w, i, TAKEN] > 0.0 or not _within(p, side, data, w, i, m, normal, tolerance):
                continue
            j = j2 = -1
            t = 0.0
            for k in range(m):
                if abs(p[w, i, U] - p[o, k, U]) <= tolerance and abs(p[w, i, V] - p[o, k, V]) <= tolerance:
                    j = j2 = k
                    p[o, k, TAKEN] = 1.0
            for k in range(m if m > 2 else m - 1):
                # On the border the other's edge counts, not its face: if the normal is not that of the face, the two
                # part ways as the bodies move.
                if j < 0 and abs(side[w, i, k]) <= tolerance and data[o, CAP] == 0.0:
                    _, j, j2, t = _on_side(p, w, i, o, k, k + 1 if k + 1 < m else 0, tolerance)
            if w == 0:
                n = _put(places, n, i, i, 0.0, j, j2, t)
            else:
                n = _put(places, n, j, j2, t, i, i, 0.0)
    return n


@kernel
def _at_rim_point(p, data, w, hit, places, n):
    """Whether a point on the rim of the cap of feature w coincides with a point of it that is a place already."""
    near = (BESIDE * data[w, CAP]) ** 2
    for k in range(n):
        i = int(places[k, B0 if w else A0])
        if i >= 0 and places[k, B0 if w else A0] == places[k, B1 if w else A1]:
            x = p[w, i, 0] - data[w, CENTER] - hit[0]
            y = p[w, i, 1] - data[w, CENTER + 1] - hit[1]
            z = p[w, i, 2] - data[w, CENTER + 2] - hit[2]
            if x * x + y * y + z * z < near:
                return True
    return False


@kernel
def _round_crossings(p, data, w, m, normal, tolerance, places, n):
    """Adds the crossings of the edges of feature w, of m points, with the rim of the other's cap.

    The edge is given from outside to inside, which distinguishes its two crossings.
    """
    for i in range(m if m > 2 else m - 1):
        i2 = i + 1 if i + 1 < m else 0
        x, y, z = _over_cap(p, data, w, i, normal)
        ex, ey, ez = _over_cap(p, data, w, i2, normal)
        ex, ey, ez = ex - x, ey - y, ez - z
        a, b = ex * ex + ey * ey + ez * ez, x * ex + y * ey + z * ez
        c = x * x + y * y + z * z - data[1 - w, CAP] ** 2
        root = b * b - a * c
        if root <= 0.0 or a == 0.0:
            continue
        for k in range(2):
            t = (-b - np.sqrt(root)) / a if k == 0 else (-b + np.sqrt(root)) / a
            hit = (x + t * ex, y + t * ey, z + t * ez)
            if min(t, 1.0 - t) * np.sqrt(a) > tolerance and not _at_rim_point(p, data, 1 - w, hit, places, n):
                j, j2, s = (i, i2, t) if k == 0 else (i2, i, 1.0 - t)
                n = _put(places, n, -1, -1, 0.0, j, j2, s) if w else _put(places, n, j, j2, s, -1, -1, 0.0)
    return n


@kernel
def _polygons(p, side, data, na, nb, normal, tolerance, places):
    """All corners of the intersection of two features, at least one of which is a face."""
    _sides(p, side, na, nb)
    n = _corners(p, side, data, na, nb, normal, tolerance, places)
    if (data[0, CAP] > 0.0) != (data[1, CAP] > 0.0):
        w = 1 if data[0, CAP] > 0.0 else 0
        return _round_crossings(p, data, w, nb if w else na, normal, tolerance, places, n)
    for i in range(na if na > 2 else 1):
        i2 = i + 1 if i + 1 < na else 0
        for j in range(nb if nb > 2 else 1):
            a, a2 = side[0, i, j], side[0, i2, j]
            if min(a, a2) >= -tolerance or max(a, a2) <= tolerance:
                continue
            j2 = j + 1 if j + 1 < nb else 0
            b, b2 = side[1, j, i], side[1, j2, i]
            if min(b, b2) < -tolerance and max(b, b2) > tolerance:
                n = _put(places, n, i, i2, a / (a - a2), j, j2, b / (b - b2))
    return n


@kernel
def _parallel(p, u, v, same, tolerance, places):
    """The ends of the common part of two edges along (u, v)."""
    length = np.sqrt(u * u + v * v)
    u, v = u / length, v / length
    low, high = (0, 1) if same > 0.0 else (1, 0)
    a0, a1 = u * p[0, 0, U] + v * p[0, 0, V], u * p[0, 1, U] + v * p[0, 1, V]
    b0, b1 = u * p[1, low, U] + v * p[1, low, V], u * p[1, high, U] + v * p[1, high, V]
    if min(a1, b1) - max(a0, b0) <= tolerance:
        i, j = (1, low) if abs(a1 - b0) <= abs(a0 - b1) else (0, high)
        return _put(places, 0, i, i, 0.0, j, j, 0.0)
    n = 0
    for i in range(2):
        j = low if i == 0 else high
        lead = a0 - b0 if i == 0 else b1 - a1  # how much farther in the corner of a is
        i0, i2, s, j0, j2, t = i, i, 0.0, j, j, 0.0
        if lead > tolerance:
            j0, j2, t = 0, 1, _nearest_on(p, 1, p[0, i, U], p[0, i, V])
        elif lead < -tolerance:
            i0, i2, s = 0, 1, _nearest_on(p, 0, p[1, j, U], p[1, j, V])
        n = _put(places, n, i0, i2, s, j0, j2, t)
    return n


@kernel
def _edge_or_end(p, w, s, tolerance):
    """The edge of feature w at fraction s of its length, or its corner if it is that near."""
    length = np.sqrt((p[w, 1, U] - p[w, 0, U]) ** 2 + (p[w, 1, V] - p[w, 0, V]) ** 2)
    if s * length <= tolerance:
        return 0, 0, 0.0
    if (1.0 - s) * length <= tolerance:
        return 1, 1, 0.0
    return 0, 1, s


@kernel
def _crossing(p, na, nb, tolerance, places):
    """Two features that are edges or points: the crossing of two edges, or the ends of parallel edges' common part."""
    s = t = 0.0
    if na == 2 and nb == 2:
        au, av = p[0, 1, U] - p[0, 0, U], p[0, 1, V] - p[0, 0, V]
        bu, bv = p[1, 1, U] - p[1, 0, U], p[1, 1, V] - p[1, 0, V]
        la, lb, turn = np.sqrt(au * au + av * av), np.sqrt(bu * bu + bv * bv), au * bv - av * bu
        if abs(turn) <= PARALLEL * la * lb:
            same = 1.0 if au * bu + av * bv >= 0.0 else -1.0
            return _parallel(p, au / la + same * bu / lb, av / la + same * bv / lb, same, tolerance, places)
        du, dv = p[1, 0, U] - p[0, 0, U], p[1, 0, V] - p[0, 0, V]
        s = min(max((du * bv - dv * bu) / turn, 0.0), 1.0)
        t = min(max((du * av - dv * au) / turn, 0.0), 1.0)
    elif na == 2:
        s = _nearest_on(p, 0, p[1, 0, U], p[1, 0, V])
    elif nb == 2:
        t = _nearest_on(p, 1, p[0, 0, U], p[0, 0, V])
    i, i2, s = _edge_or_end(p, 0, s, tolerance) if na == 2 else (0, 0, 0.0)
    j, j2, t = _edge_or_end(p, 1, t, tolerance) if nb == 2 else (0, 0, 0.0)
    return _put(places, 0, i, i2, s, j, j2, t)


@kernel
def _beside(p, na, nb, tolerance, places):
    """Features that do not overlap in the projection: the nearest points of both, and all others as near."""
    best, n = np.inf, 0
    for search in range(2):
        for w in range(2):
            count, m, o = (nb, na, 0) if w else (na, nb, 1)
            for i in range(count):
                for k in range(m if m > 2 else 1):
                    distance, j, j2, t = _on_side(p, w, i, o, k, k + 1 if k + 1 < m else 0, tolerance)
                    if search == 0:
                        best = min(best, distance)
                    elif distance <= best + tolerance:
                        n = _put(places, n, j, j2, t, i, i, 0.0) if w else _put(places, n, i, i, 0.0, j, j2, t)
                        for other in range(n - 1):  # two corners are found from both sides
                            if _same_place(places, other, n - 1):
                                n -= 1
                                break
    return n


@kernel
def _same_place(places, k, m):
    return (
        places[k, A0] == places[m, A0]
        and places[k, A1] == places[m, A1]
        and places[k, B0] == places[m, B0]
        and places[k, B1] == places[m, B1]
    )


@kernel
def clip(features, na, nb, normal, size, places):
    """Number of contact points of two features of na and nb points. Writes them to `places`.

    `size` is the size of the smaller shape.
    """
    tolerance, p = SAME * size, features.point
    _flatten(p, na, nb, normal)
    if na <= 2 and nb <= 2:
        return _crossing(p, na, nb, tolerance, places)
    n = _polygons(p, features.side, features.data, na, nb, normal, tolerance, places)
    return n if n > 0 else _beside(p, na, nb, tolerance, places)
