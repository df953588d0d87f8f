"""Contacts of two features that face each other along a common normal.

Seen along the normal both are convex polygons, segments or points. Contacts are the corners of what they have in
common: corners of one within the other, and crossings of edges. Neither is the reference, so swapped bodies have
swapped contacts, and nothing is chosen among equals.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .found import CROSS, LINE_A, LINE_B, MEAN, PLANE_A, PLANE_B, POINT, gap_after, name, put

SAME = 1e-6  # points closer than this (relative to size) across the normal are one
ALIGNED = 1.0 - 1e-6  # cosine above which a face is square to the normal
PARALLEL = 0.02  # sine below which two edges lie along each other
STEEP = 0.3  # a face that the normal meets at a smaller cosine has no say


@njit(cache=True, nogil=True)
def _core(patch, x, y, z, rim):
    """The point that moves with the body, for a point of the patch: a rim's lies on the axis."""
    if not rim:
        return x, y, z
    rho = patch.number[1]
    return x - rho * patch.out[0], y - rho * patch.out[1], z - rho * patch.out[2]


@njit(cache=True, nogil=True)
def _straight(n, e, d):
    """Whether the vector d, less its part along e, is parallel to n."""
    square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
    x, y, z = d
    if square > 0.0:
        along = (e[0] * x + e[1] * y + e[2] * z) / square
        x, y, z = x - along * e[0], y - along * e[1], z - along * e[2]
    ahead = n[0] * x + n[1] * y + n[2] * z
    return ahead > (1.0 - 1e-6) * np.sqrt(x * x + y * y + z * z), ahead


@njit(cache=True, nogil=True)
def _contact(hand, a, b, mode, e, g, pa, rim_a, pb, rim_b, label, found, n):
    """Writes the contact of two points of the cores; returns its predicted gap.

    `hand` is what all contacts of a pair share: (motion, rows of the motions on and back, normal).
    """
    motion, on_a, on_b, back_a, back_b, normal = hand
    ra, rb = a.number[0], b.number[0]
    ca = _core(a, pa[0], pa[1], pa[2], rim_a)
    cb = _core(b, pb[0], pb[1], pb[2], rim_b)
    rho_a, rho_b = (a.number[1] if rim_a else 0.0), (b.number[1] if rim_b else 0.0)
    if mode >= LINE_A:
        # Distances of lines and points are those of the round cores; sharp ones are measured along the normal.
        line = e if mode == LINE_A else (g if mode == LINE_B else (0.0, 0.0, 0.0))
        straight, ahead = _straight(normal, line, (cb[0] - ca[0], cb[1] - ca[1], cb[2] - ca[2]))
        if not straight or ahead <= 0.25 * (ra + rb + rho_a + rho_b) or ra + rb + rho_a + rho_b == 0.0:
            mode = MEAN
    ends = (
        ra + rb,
        rho_a,
        (a.axis[0], a.axis[1], a.axis[2]),
        rho_b,
        (b.axis[0], b.axis[1], b.axis[2]),
        rim_a or ra > 0.0,
        rim_b or rb > 0.0,
    )
    predicted = gap_after(motion, on_a, on_b, mode, normal, e, g, ca, cb, ends)
    nx, ny, nz = normal
    gap = nx * (pb[0] - pa[0]) + ny * (pb[1] - pa[1]) + nz * (pb[2] - pa[2]) - ra - rb
    x, y, z = 0.5 * (pa[0] + pb[0]), 0.5 * (pa[1] + pb[1]), 0.5 * (pa[2] + pb[2])
    lift = 0.5 * (ra - rb)
    x, y, z = x + lift * nx, y + lift * ny, z + lift * nz
    if back_a >= 0:
        x, y, z, gap = _brought_back(hand, mode, e, g, ca, cb, ends, (x, y, z), gap)
    put(found, n, label, nx, ny, nz, x, y, z, gap, predicted)
    return predicted


@njit(cache=True, nogil=True)
def _brought_back(hand, mode, e, g, ca, cb, ends, point, gap):
    """Point and gap at the start of the step, of a contact that was found on the way."""
    motion, _, _, back_a, back_b, n = hand
    before = gap_after(motion, back_a, back_b, mode, n, e, g, ca, cb, ends)
    h = 0.5 * gap
    x, y, z = point
    ma, mb = motion[back_a], motion[back_b]
    ax, ay, az = x - h * n[0] - ma[0], y - h * n[1] - ma[1], z - h * n[2] - ma[2]
    bx, by, bz = x + h * n[0] - mb[0], y + h * n[1] - mb[1], z + h * n[2] - mb[2]
    x = ma[12] + (ma[3] * ax + ma[4] * ay + ma[5] * az) + mb[12] + (mb[3] * bx + mb[4] * by + mb[5] * bz)
    y = ma[13] + (ma[6] * ax + ma[7] * ay + ma[8] * az) + mb[13] + (mb[6] * bx + mb[7] * by + mb[8] * bz)
    z = ma[14] + (ma[9] * ax + ma[10] * ay + ma[11] * az) + mb[14] + (mb[9] * bx + mb[10] * by + mb[11] * bz)
    return 0.5 * x, 0.5 * y, 0.5 * z, before


@njit(cache=True, nogil=True)
def _point(patch, i):
    return patch.at[i, 0], patch.at[i, 1], patch.at[i, 2]


@njit(cache=True, nogil=True)
def _face(patch):
    return patch.face[0], patch.face[1], patch.face[2]


@njit(cache=True, nogil=True)
def _direction(patch, i, j):
    return patch.at[j, 0] - patch.at[i, 0], patch.at[j, 1] - patch.at[i, 1], patch.at[j, 2] - patch.at[i, 2]


@njit(cache=True, nogil=True)
def _along(patch, i, j, t):
    """A point of the edge from i to j."""
    x, y, z = _point(patch, i)
    ex, ey, ez = _direction(patch, i, j)
    return x + t * ex, y + t * ey, z + t * ez


@njit(cache=True, nogil=True)
def _onto(patch, n, p):
    """The point of the patch's plane above or below p, along n; None of the plane's say if it is too steep."""
    fx, fy, fz = _face(patch)
    cosine = fx * n[0] + fy * n[1] + fz * n[2]
    t = fx * (patch.at[0, 0] - p[0]) + fy * (patch.at[0, 1] - p[1]) + fz * (patch.at[0, 2] - p[2])
    t /= cosine
    return (p[0] + t * n[0], p[1] + t * n[1], p[2] + t * n[2]), abs(cosine) > STEEP


@njit(cache=True, nogil=True)
def _edge_code(patch, i, j):
    a, b = patch.code[i], patch.code[j]
    return min(a, b) * 4096 + max(a, b)


@njit(cache=True, nogil=True)
def _nearest_on(patch, u, v):
    """Where on the segment of two points, seen along the normal, the point (u, v) is nearest: 0 to 1."""
    f = patch.flat
    eu, ev = f[1, 0] - f[0, 0], f[1, 1] - f[0, 1]
    square = eu * eu + ev * ev
    if square == 0.0:
        return 0.0
    return min(max(((u - f[0, 0]) * eu + (v - f[0, 1]) * ev) / square, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _corner_of_a(hand, a, i, b, nb, label, found, n):
    """Corner i of a against the whole feature of b."""
    normal = hand[5]
    pa, zero = _point(a, i), (0.0, 0.0, 0.0)
    if nb >= 3:
        pb, good = _onto(b, normal, pa)
        if good:
            return _contact(hand, a, b, PLANE_B, zero, _face(b), pa, a.rim[i], pb, False, label, found, n)
    if nb == 2:
        t = _nearest_on(b, a.flat[i, 0], a.flat[i, 1])
        mode = LINE_B if 0.0 < t < 1.0 else POINT
        pb, g = _along(b, 0, 1, t), _direction(b, 0, 1)
        return _contact(hand, a, b, mode, zero, g, pa, a.rim[i], pb, b.rim[0], label, found, n)
    return _contact(hand, a, b, POINT, zero, zero, pa, a.rim[i], _point(b, 0), b.rim[0], label, found, n)


@njit(cache=True, nogil=True)
def _corner_of_b(hand, a, na, b, j, label, found, n):
    """The whole feature of a against corner j of b."""
    normal = hand[5]
    pb, zero = _point(b, j), (0.0, 0.0, 0.0)
    if na >= 3:
        pa, good = _onto(a, normal, pb)
        if good:
            return _contact(hand, a, b, PLANE_A, _face(a), zero, pa, False, pb, b.rim[j], label, found, n)
    if na == 2:
        t = _nearest_on(a, b.flat[j, 0], b.flat[j, 1])
        mode = LINE_A if 0.0 < t < 1.0 else POINT
        pa, e = _along(a, 0, 1, t), _direction(a, 0, 1)
        return _contact(hand, a, b, mode, e, zero, pa, a.rim[0], pb, b.rim[j], label, found, n)
    return _contact(hand, a, b, POINT, zero, zero, _point(a, 0), a.rim[0], pb, b.rim[j], label, found, n)


@njit(cache=True, nogil=True)
def _two_corners(hand, a, na, i, b, nb, j, label, found, n):
    """Corner i of a above corner j of b."""
    mode, e, g = _common(hand[5], a, na, b, nb)
    return _contact(hand, a, b, mode, e, g, _point(a, i), a.rim[i], _point(b, j), b.rim[j], label, found, n)


@njit(cache=True, nogil=True)
def _common(n, a, na, b, nb):
    """What the normal of a meeting of corners or crossing edges follows: the faces that are square to it."""
    e, g = _face(a), _face(b)
    of_a = na >= 3 and e[0] * n[0] + e[1] * n[1] + e[2] * n[2] > ALIGNED
    of_b = nb >= 3 and -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2]) > ALIGNED
    if of_a and not of_b:
        return PLANE_A, e, g
    if of_b and not of_a:
        return PLANE_B, e, g
    return MEAN, e, g


@njit(cache=True, nogil=True)
def _crossing(hand, a, na, i, i2, b, nb, j, j2, s, t, base, found, n):
    """Edges of both, at fractions s and t of their lengths."""
    mode, e, g = _common(hand[5], a, na, b, nb)
    flat_a = na >= 3 and a.face[0] * hand[5][0] + a.face[1] * hand[5][1] + a.face[2] * hand[5][2] > ALIGNED
    if mode == MEAN and not flat_a:
        e, g = _direction(a, i, i2), _direction(b, j, j2)
        mode = CROSS
    rim_a, rim_b = na == 2 and a.rim[0], nb == 2 and b.rim[0]
    label = name(base, 2, _edge_code(a, i, i2), _edge_code(b, j, j2))
    return _contact(hand, a, b, mode, e, g, _along(a, i, i2, s), rim_a, _along(b, j, j2, t), rim_b, label, found, n)


@njit(cache=True, nogil=True)
def _flatten(patch, count, t, b, origin):
    """Coordinates across the normal; returns 1 or -1, the sense in which the corners go round."""
    for i in range(count):
        x, y, z = patch.at[i, 0] - origin[0], patch.at[i, 1] - origin[1], patch.at[i, 2] - origin[2]
        patch.flat[i, 0] = t[0] * x + t[1] * y + t[2] * z
        patch.flat[i, 1] = b[0] * x + b[1] * y + b[2] * z
        patch.taken[i] = False
    area = 0.0
    for i in range(2, count):
        f = patch.flat
        area += (f[i - 1, 0] - f[0, 0]) * (f[i, 1] - f[0, 1]) - (f[i - 1, 1] - f[0, 1]) * (f[i, 0] - f[0, 0])
    return 1.0 if area >= 0.0 else -1.0


@njit(cache=True, nogil=True)
def _sides(one, n, other, m, sense):
    """Distances of the points of `one` from the lines of the edges of `other`, positive inside."""
    f = other.flat
    for j in range(m if m > 2 else 1):
        j2 = j + 1 if j + 1 < m else 0
        eu, ev = f[j2, 0] - f[j, 0], f[j2, 1] - f[j, 1]
        length = np.sqrt(eu * eu + ev * ev)
        scale = sense / length if length > 0.0 else 0.0
        for i in range(n):
            one.side[i, j] = scale * (eu * (one.flat[i, 1] - f[j, 1]) - ev * (one.flat[i, 0] - f[j, 0]))


@njit(cache=True, nogil=True)
def _within(one, i, other, m, tolerance):
    """Whether point i lies within the other feature, seen along the normal."""
    if m == 2:
        if abs(one.side[i, 0]) > tolerance:
            return False
        u, v, f = one.flat[i, 0], one.flat[i, 1], other.flat
        t = _nearest_on(other, u, v)
        du, dv = u - (f[0, 0] + t * (f[1, 0] - f[0, 0])), v - (f[0, 1] + t * (f[1, 1] - f[0, 1]))
        return du * du + dv * dv <= tolerance * tolerance
    for j in range(m):
        if one.side[i, j] < -tolerance:
            return False
    return True


@njit(cache=True, nogil=True)
def _same(a, i, b, j, tolerance):
    return abs(a.flat[i, 0] - b.flat[j, 0]) <= tolerance and abs(a.flat[i, 1] - b.flat[j, 1]) <= tolerance


@njit(cache=True, nogil=True)
def _opposite(p, q, tolerance):
    return (p > tolerance and q < -tolerance) or (p < -tolerance and q > tolerance)


@njit(cache=True, nogil=True)
def _polygons(hand, a, na, sense_a, b, nb, sense_b, tolerance, margin, base, found, n):
    """Two features of which at least one is a face: all corners of what they have in common."""
    _sides(a, na, b, nb, sense_b)
    _sides(b, nb, a, na, sense_a)
    least, met = np.inf, 0
    for i in range(na):
        if not _within(a, i, b, nb, tolerance):
            continue
        twin = -1
        for j in range(nb):
            if _same(a, i, b, j, tolerance):
                twin = j
        label = name(base, 0, a.code[i], 0)
        if twin >= 0:
            b.taken[twin] = True
            predicted = _two_corners(hand, a, na, i, b, nb, twin, label, found, n)
        else:
            predicted = _corner_of_a(hand, a, i, b, nb, label, found, n)
        least, met = min(least, predicted), met + 1
        n += predicted <= margin
    for j in range(nb):
        if b.taken[j] or not _within(b, j, a, na, tolerance):
            continue
        predicted = _corner_of_b(hand, a, na, b, j, name(base, 1, b.code[j], 0), found, n)
        least, met = min(least, predicted), met + 1
        n += predicted <= margin
    for i in range(na if na > 2 else 1):
        i2 = i + 1 if i + 1 < na else 0
        for j in range(nb if nb > 2 else 1):
            j2 = j + 1 if j + 1 < nb else 0
            p, q, r, s = a.side[i, j], a.side[i2, j], b.side[j, i], b.side[j2, i]
            if _opposite(p, q, tolerance) and _opposite(r, s, tolerance):
                predicted = _crossing(hand, a, na, i, i2, b, nb, j, j2, p / (p - q), r / (r - s), base, found, n)
                least, met = min(least, predicted), met + 1
                n += predicted <= margin
    return n, least, met


@njit(cache=True, nogil=True)
def _edges(hand, a, b, tolerance, margin, base, found, n):
    """Two edges: the ends of their common stretch if they are parallel, else where they cross."""
    fa, fb = a.flat, b.flat
    au, av, bu, bv = fa[1, 0] - fa[0, 0], fa[1, 1] - fa[0, 1], fb[1, 0] - fb[0, 0], fb[1, 1] - fb[0, 1]
    la, lb = np.sqrt(au * au + av * av), np.sqrt(bu * bu + bv * bv)
    turn = au * bv - av * bu
    if abs(turn) > PARALLEL * la * lb:
        du, dv = fb[0, 0] - fa[0, 0], fb[0, 1] - fa[0, 1]
        s = min(max((du * bv - dv * bu) / turn, 0.0), 1.0)
        t = min(max((du * av - dv * au) / turn, 0.0), 1.0)
        if 0.0 < s < 1.0 and 0.0 < t < 1.0:
            predicted = _crossing(hand, a, 2, 0, 1, b, 2, 0, 1, s, t, base, found, n)
        elif 0.0 < t < 1.0:
            i = 0 if s == 0.0 else 1
            predicted = _corner_of_a(hand, a, i, b, 2, name(base, 0, a.code[i], 0), found, n)
        else:
            j = 0 if t == 0.0 else 1
            predicted = _corner_of_b(hand, a, 2, b, j, name(base, 1, b.code[j], 0), found, n)
        return n + (predicted <= margin), predicted
    same = 1.0 if au * bu + av * bv >= 0.0 else -1.0
    u, v = au / la + same * bu / lb, av / la + same * bv / lb
    length = np.sqrt(u * u + v * v)
    u, v = u / length, v / length
    a0, a1 = u * fa[0, 0] + v * fa[0, 1], u * fa[1, 0] + v * fa[1, 1]
    first, last = (0, 1) if same > 0.0 else (1, 0)
    b0, b1 = u * fb[first, 0] + v * fb[first, 1], u * fb[last, 0] + v * fb[last, 1]
    if min(a1, b1) - max(a0, b0) <= tolerance:
        i, j = (1, first) if abs(a1 - b0) <= abs(a0 - b1) else (0, last)
        predicted = _two_corners(hand, a, 2, i, b, 2, j, name(base, 0, a.code[i], 0), found, n)
        return n + (predicted <= margin), predicted
    least = np.inf
    for end in range(2):
        i, j = (0, first) if end == 0 else (1, last)
        lead = a0 - b0 if end == 0 else b1 - a1  # how much farther in the corner of a is
        if abs(lead) <= tolerance:
            predicted = _two_corners(hand, a, 2, i, b, 2, j, name(base, 0, a.code[i], 0), found, n)
        elif lead > 0.0:
            predicted = _corner_of_a(hand, a, i, b, 2, name(base, 0, a.code[i], 0), found, n)
        else:
            predicted = _corner_of_b(hand, a, 2, b, j, name(base, 1, b.code[j], 0), found, n)
        least = min(least, predicted)
        n += predicted <= margin
    return n, least


@njit(cache=True, nogil=True)
def _beside(hand, a, na, b, nb, tolerance, margin, base, found, n):
    """Features that do not overlap, seen along the normal: the nearest corners of both, and all as near."""
    best = np.inf
    for i in range(na):
        for j in range(nb):
            u, v = a.flat[i, 0] - b.flat[j, 0], a.flat[i, 1] - b.flat[j, 1]
            best = min(best, np.sqrt(u * u + v * v))
    least = np.inf
    for i in range(na):
        for j in range(nb):
            u, v = a.flat[i, 0] - b.flat[j, 0], a.flat[i, 1] - b.flat[j, 1]
            if np.sqrt(u * u + v * v) <= best + tolerance:
                label = name(base, 3, a.code[i], b.code[j])
                predicted = _two_corners(hand, a, na, i, b, nb, j, label, found, n)
                least = min(least, predicted)
                n += predicted <= margin
                if n == len(found.gap):
                    return n - 1, least
    return n, least


@njit(cache=True, nogil=True)
def meet(hand, a, na, b, nb, size, margin, base, found, n):
    """Contacts of two patches with a predicted gap up to `margin`, from row n of `found` on.

    Returns the new n and the least predicted gap of all that were looked at. `base` is the part of the name that the
    pair of forms gives, `size` a length of the smaller form.
    """
    normal = hand[5]
    tolerance = SAME * size
    x, y, z = normal
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        t = (0.0, z, -y)
    elif abs(y) <= abs(z):
        t = (-z, 0.0, x)
    else:
        t = (y, -x, 0.0)
    length = np.sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])
    t = (t[0] / length, t[1] / length, t[2] / length)
    c = (y * t[2] - z * t[1], z * t[0] - x * t[2], x * t[1] - y * t[0])
    origin = _point(a, 0)
    sense_a, sense_b = _flatten(a, na, t, c, origin), _flatten(b, nb, t, c, origin)
    if na == 1:
        predicted = _corner_of_a(hand, a, 0, b, nb, name(base, 0, a.code[0], 0), found, n)
        return n + (predicted <= margin), predicted
    if nb == 1:
        predicted = _corner_of_b(hand, a, na, b, 0, name(base, 1, b.code[0], 0), found, n)
        return n + (predicted <= margin), predicted
    if na == 2 and nb == 2:
        return _edges(hand, a, b, tolerance, margin, base, found, n)
    n, least, met = _polygons(hand, a, na, sense_a, b, nb, sense_b, tolerance, margin, base, found, n)
    if met == 0:
        return _beside(hand, a, na, b, nb, tolerance, margin, base, found, n)
    return n, least
