"""Where two features that face each other along a common normal meet.

Seen along the normal both are convex polygons, segments or points. They meet at the corners of what they have in
common: corners of one within the other, and crossings of edges. Neither is the reference, so swapped bodies meet at
the same places, and nothing is chosen among equals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats, Ints

SAME = 1e-6  # points closer than this (relative to size) across the normal are one
PARALLEL = 0.02  # sine below which two edges lie along each other


class Places(NamedTuple):
    """Where features meet: for both the edge (two points, twice the same for a corner) and how far along it.

    -1 instead of a point means the face as a whole, above or below the corner of the other.
    """

    index: Ints  # (m, 4) two points of a, two of b
    along: Floats  # (m, 2) 0 to 1


@njit(cache=True, nogil=True, error_model="numpy")
def new_places(count):
    return Places(np.empty((count, 4), np.int64), np.empty((count, 2)))


@njit(cache=True, nogil=True, error_model="numpy")
def _put(places, n, i, i2, s, j, j2, t):
    if n == len(places.along):
        return n
    places.index[n, 0], places.index[n, 1], places.index[n, 2], places.index[n, 3] = i, i2, j, j2
    places.along[n, 0], places.along[n, 1] = s, t
    return n + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _across(n):
    """Two unit vectors across n."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def _flatten(a, na, b, nb, normal):
    """Coordinates across the normal, from the first point of a."""
    tx, ty, tz, cx, cy, cz = _across(normal)
    ox, oy, oz = a.at[0, 0], a.at[0, 1], a.at[0, 2]
    for which in range(2):
        f = a if which == 0 else b
        for i in range(na if which == 0 else nb):
            x, y, z = f.at[i, 0] - ox, f.at[i, 1] - oy, f.at[i, 2] - oz
            f.flat[i, 0] = tx * x + ty * y + tz * z
            f.flat[i, 1] = cx * x + cy * y + cz * z
            f.taken[i] = False


@njit(cache=True, nogil=True, error_model="numpy")
def _sides(a, na, b, nb):
    """Distances of the points of each from the lines of the edges of the other, positive inside."""
    for which in range(2):
        one, n, other, m = (a, na, b, nb) if which == 0 else (b, nb, a, na)
        f, area = other.flat, 0.0
        for i in range(2, m):
            area += (f[i - 1, 0] - f[0, 0]) * (f[i, 1] - f[0, 1]) - (f[i - 1, 1] - f[0, 1]) * (f[i, 0] - f[0, 0])
        for j in range(m if m > 2 else 1):
            j2 = j + 1 if j + 1 < m else 0
            eu, ev = f[j2, 0] - f[j, 0], f[j2, 1] - f[j, 1]
            length = np.sqrt(eu * eu + ev * ev)
            scale = (1.0 if area >= 0.0 else -1.0) / length if length > 0.0 else 0.0
            for i in range(n):
                one.side[i, j] = scale * (eu * (one.flat[i, 1] - f[j, 1]) - ev * (one.flat[i, 0] - f[j, 0]))


@njit(cache=True, nogil=True, error_model="numpy")
def _nearest_on(f, u, v):
    """Where on the segment of the first two points (u, v) is nearest, seen along the normal: 0 to 1."""
    eu, ev = f[1, 0] - f[0, 0], f[1, 1] - f[0, 1]
    square = eu * eu + ev * ev
    if square == 0.0:
        return 0.0
    return min(max(((u - f[0, 0]) * eu + (v - f[0, 1]) * ev) / square, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _within(one, i, other, m, tolerance):
    """Whether point i lies within the other feature, seen along the normal."""
    if m == 2:
        u, v, f = one.flat[i, 0], one.flat[i, 1], other.flat
        t = _nearest_on(f, u, v)
        u, v = u - (f[0, 0] + t * (f[1, 0] - f[0, 0])), v - (f[0, 1] + t * (f[1, 1] - f[0, 1]))
        return u * u + v * v <= tolerance * tolerance
    for j in range(m):
        if one.side[i, j] < -tolerance:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _polygons(a, na, b, nb, tolerance, places):
    """Two features of which at least one is a face: all corners of what they have in common."""
    _sides(a, na, b, nb)
    n = 0
    for i in range(na):
        if _within(a, i, b, nb, tolerance):
            twin = -1
            for j in range(nb):
                if abs(a.flat[i, 0] - b.flat[j, 0]) <= tolerance and abs(a.flat[i, 1] - b.flat[j, 1]) <= tolerance:
                    twin = j
                    b.taken[j] = True
            t = 0.0
            if twin < 0 and nb == 2:
                t = _nearest_on(b.flat, a.flat[i, 0], a.flat[i, 1])
                n = _put(places, n, i, i, 0.0, 0, 1, t)
            else:
                n = _put(places, n, i, i, 0.0, twin, twin, t)
    for j in range(nb):
        if not b.taken[j] and _within(b, j, a, na, tolerance):
            if na == 2:
                n = _put(places, n, 0, 1, _nearest_on(a.flat, b.flat[j, 0], b.flat[j, 1]), j, j, 0.0)
            else:
                n = _put(places, n, -1, -1, 0.0, j, j, 0.0)
    for i in range(na if na > 2 else 1):
        i2 = i + 1 if i + 1 < na else 0
        for j in range(nb if nb > 2 else 1):
            j2 = j + 1 if j + 1 < nb else 0
            p, q, r, s = a.side[i, j], a.side[i2, j], b.side[j, i], b.side[j2, i]
            if min(p, q) < -tolerance and max(p, q) > tolerance and min(r, s) < -tolerance and max(r, s) > tolerance:
                n = _put(places, n, i, i2, p / (p - q), j, j2, r / (r - s))
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _edges(fa, fb, tolerance, places):
    """Two edges: the ends of their common stretch if they are parallel, else where they cross."""
    au, av, bu, bv = fa[1, 0] - fa[0, 0], fa[1, 1] - fa[0, 1], fb[1, 0] - fb[0, 0], fb[1, 1] - fb[0, 1]
    la, lb = np.sqrt(au * au + av * av), np.sqrt(bu * bu + bv * bv)
    turn = au * bv - av * bu
    if abs(turn) > PARALLEL * la * lb:
        du, dv = fb[0, 0] - fa[0, 0], fb[0, 1] - fa[0, 1]
        s = min(max((du * bv - dv * bu) / turn, 0.0), 1.0)
        t = min(max((du * av - dv * au) / turn, 0.0), 1.0)
        inner_a, inner_b = 0.0 < s < 1.0, 0.0 < t < 1.0
        i, i2 = (0, 1) if inner_a else (int(s), int(s))
        j, j2 = (0, 1) if inner_b else (int(t), int(t))
        return _put(places, 0, i, i2, s if inner_a else 0.0, j, j2, t if inner_b else 0.0)
    same = 1.0 if au * bu + av * bv >= 0.0 else -1.0
    u, v = au / la + same * bu / lb, av / la + same * bv / lb
    length = np.sqrt(u * u + v * v)
    u, v = u / length, v / length
    a0, a1 = u * fa[0, 0] + v * fa[0, 1], u * fa[1, 0] + v * fa[1, 1]
    low, high = (0, 1) if same > 0.0 else (1, 0)
    b0, b1 = u * fb[low, 0] + v * fb[low, 1], u * fb[high, 0] + v * fb[high, 1]
    if min(a1, b1) - max(a0, b0) <= tolerance:
        i, j = (1, low) if abs(a1 - b0) <= abs(a0 - b1) else (0, high)
        return _put(places, 0, i, i, 0.0, j, j, 0.0)
    n = 0
    for i in range(2):
        j = low if i == 0 else high
        lead = a0 - b0 if i == 0 else b1 - a1  # how much farther in the corner of a is
        if abs(lead) <= tolerance:
            n = _put(places, n, i, i, 0.0, j, j, 0.0)
        elif lead > 0.0:
            n = _put(places, n, i, i, 0.0, 0, 1, _nearest_on(fb, fa[i, 0], fa[i, 1]))
        else:
            n = _put(places, n, 0, 1, _nearest_on(fa, fb[j, 0], fb[j, 1]), j, j, 0.0)
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _beside(fa, na, fb, nb, tolerance, places):
    """Features that do not overlap, seen along the normal: the nearest corners of both, and all as near."""
    best, n = np.inf, 0
    for search in range(2):
        for i in range(na):
            for j in range(nb):
                u, v = fa[i, 0] - fb[j, 0], fa[i, 1] - fb[j, 1]
                distance = np.sqrt(u * u + v * v)
                if search == 0:
                    best = min(best, distance)
                elif distance <= best + tolerance:
                    n = _put(places, n, i, i, 0.0, j, j, 0.0)
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def meet(a, na, b, nb, normal, size, places):
    """Fills `places` for two features of na and nb points; returns how many. `size` is that of the smaller form."""
    tolerance = SAME * size
    _flatten(a, na, b, nb, normal)
    if na == 1 or nb == 1:
        if na >= 3:
            return _put(places, 0, -1, -1, 0.0, 0, 0, 0.0)
        if nb >= 3:
            return _put(places, 0, 0, 0, 0.0, -1, -1, 0.0)
        s = _nearest_on(a.flat, b.flat[0, 0], b.flat[0, 1]) if na == 2 else 0.0
        t = _nearest_on(b.flat, a.flat[0, 0], a.flat[0, 1]) if nb == 2 else 0.0
        i, i2 = (0, 1) if 0.0 < s < 1.0 else (int(s), int(s))
        j, j2 = (0, 1) if 0.0 < t < 1.0 else (int(t), int(t))
        return _put(places, 0, i, i2, s if i != i2 else 0.0, j, j2, t if j != j2 else 0.0)
    if na == 2 and nb == 2:
        return _edges(a.flat, b.flat, tolerance, places)
    n = _polygons(a, na, b, nb, tolerance, places)
    return n if n > 0 else _beside(a.flat, na, b.flat, nb, tolerance, places)
