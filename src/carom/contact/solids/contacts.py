"""From the places where two features meet to contacts: points, gaps, and gaps after the motion."""

from __future__ import annotations

import numpy as np
from numba import njit

from .found import name, put
from .poses import moved, swung

# What the normal of a contact follows when the bodies move.
MEAN, PLANE_A, PLANE_B, CROSS, LINE_A, LINE_B, POINT = 0, 1, 2, 3, 4, 5, 6
ALIGNED = 1.0 - 1e-6  # cosine above which a face is square to the normal
STEEP = 0.3  # a face that the normal meets at a smaller cosine has no say


@njit(cache=True, nogil=True, error_model="numpy")
def _turned_normal(motion, a, b, n, round_a, round_b):
    """The normal after the motion, if nothing else tells: it turns with the bodies, but not with a round one."""
    if round_a and round_b:
        return n
    ax, ay, az = swung(motion, b if round_a else a, n[0], n[1], n[2])
    bx, by, bz = swung(motion, a if round_b else b, n[0], n[1], n[2])
    x, y, z = ax + bx, ay + by, az + bz
    scale = 1.0 / np.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@njit(cache=True, nogil=True, error_model="numpy")
def _gap_after(motion, ma, mb, mode, n, e, g, ca, cb, a, b, rim_a, rim_b):
    """Gap of a contact after motions (rows ma and mb) of the two bodies.

    ca and cb are points of the two cores: round parts are carried by their cores, so rolling opens no gap. e and g are
    the normals of the faces (PLANE_A: e, PLANE_B: g) or the directions of the edges (CROSS: both, LINE_A: e, LINE_B: g)
    that meet.
    """
    ax, ay, az = moved(motion, ma, ca[0], ca[1], ca[2])
    bx, by, bz = moved(motion, mb, cb[0], cb[1], cb[2])
    dx, dy, dz = bx - ax, by - ay, bz - az
    ex, ey, ez = swung(motion, ma, e[0], e[1], e[2])
    gx, gy, gz = swung(motion, mb, g[0], g[1], g[2])
    scale = 1.0
    if mode == PLANE_A:
        nx, ny, nz = ex, ey, ez
        scale = e[0] * n[0] + e[1] * n[1] + e[2] * n[2]
    elif mode == PLANE_B:
        nx, ny, nz = -gx, -gy, -gz
        scale = -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2])
    else:
        nx, ny, nz = _turned_normal(motion, ma, mb, n, rim_a or a.number[0] > 0.0, rim_b or b.number[0] > 0.0)
        x, y, z = nx, ny, nz
        if mode == CROSS:
            x, y, z = ey * gz - ez * gy, ez * gx - ex * gz, ex * gy - ey * gx
        elif mode != MEAN:
            x, y, z = dx, dy, dz
            if mode != POINT:
                if mode == LINE_B:
                    ex, ey, ez = gx, gy, gz
                along = (ex * x + ey * y + ez * z) / (ex * ex + ey * ey + ez * ez)
                x, y, z = x - along * ex, y - along * ey, z - along * ez
        length = np.sqrt(x * x + y * y + z * z)
        if length > 0.0:
            if x * nx + y * ny + z * nz < 0.0:
                length = -length
            nx, ny, nz = x / length, y / length, z / length
    gap = (nx * dx + ny * dy + nz * dz) / scale - a.number[0] - b.number[0]
    if rim_a:
        ux, uy, uz = swung(motion, ma, a.axis[0], a.axis[1], a.axis[2])
        c = nx * ux + ny * uy + nz * uz
        gap -= a.number[1] * np.sqrt(max(0.0, 1.0 - c * c))
    if rim_b:
        ux, uy, uz = swung(motion, mb, b.axis[0], b.axis[1], b.axis[2])
        c = nx * ux + ny * uy + nz * uz
        gap -= b.number[1] * np.sqrt(max(0.0, 1.0 - c * c))
    return gap


@njit(cache=True, nogil=True, error_model="numpy")
def _on_edge(f, i, j, t):
    """A point of the edge from i to j, and the direction of the edge."""
    x, y, z = f.at[i, 0], f.at[i, 1], f.at[i, 2]
    ex, ey, ez = f.at[j, 0] - x, f.at[j, 1] - y, f.at[j, 2] - z
    return (x + t * ex, y + t * ey, z + t * ez), (ex, ey, ez)


@njit(cache=True, nogil=True, error_model="numpy")
def _onto(f, n, p):
    """The point of the plane of a face that lies along n from p, and whether the plane is not too steep for that."""
    fx, fy, fz = f.face[0], f.face[1], f.face[2]
    cosine = fx * n[0] + fy * n[1] + fz * n[2]
    t = fx * (f.at[0, 0] - p[0]) + fy * (f.at[0, 1] - p[1]) + fz * (f.at[0, 2] - p[2])
    if abs(cosine) > STEEP:
        t /= cosine
    return (p[0] + t * n[0], p[1] + t * n[1], p[2] + t * n[2]), abs(cosine) > STEEP


@njit(cache=True, nogil=True, error_model="numpy")
def _follows(a, na, b, nb, n, corner_a, corner_b):
    """What the normal follows where corners or edges of both meet."""
    of_a = na >= 3 and a.face[0] * n[0] + a.face[1] * n[1] + a.face[2] * n[2] > ALIGNED
    of_b = nb >= 3 and -(b.face[0] * n[0] + b.face[1] * n[1] + b.face[2] * n[2]) > ALIGNED
    if of_a or of_b:
        return MEAN if of_a and of_b else (PLANE_A if of_a else PLANE_B)
    if not corner_a and not corner_b:
        return CROSS
    if na >= 3 or nb >= 3:
        return MEAN
    if corner_a and corner_b:
        return POINT
    return LINE_B if corner_a else LINE_A


@njit(cache=True, nogil=True, error_model="numpy")
def _is_round(n, mode, e, g, ca, cb, radii):
    """Whether the distance of cores (points, or a point and a line) is that of the contact: then it can be measured.

    Cores of sharp features are measured along the normal instead, and so are the middles of rims.
    """
    x, y, z = cb[0] - ca[0], cb[1] - ca[1], cb[2] - ca[2]
    if mode != POINT:
        ex, ey, ez = e if mode == LINE_A else g
        along = (ex * x + ey * y + ez * z) / (ex * ex + ey * ey + ez * ez)
        x, y, z = x - along * ex, y - along * ey, z - along * ez
    ahead = n[0] * x + n[1] * y + n[2] * z
    return radii > 0.0 and ahead > 0.25 * radii and ahead > (1.0 - 1e-6) * np.sqrt(x * x + y * y + z * z)


@njit(cache=True, nogil=True, error_model="numpy")
def _core(f, p, rim):
    """The point that moves with the body, for a point of a feature: a rim's lies on the axis."""
    rho = f.number[1] if rim else 0.0
    return p[0] - rho * f.out[0], p[1] - rho * f.out[1], p[2] - rho * f.out[2]


@njit(cache=True, nogil=True, error_model="numpy")
def _name(a, b, index, k, base):
    """A contact is named after the corner that it has, of a rather than of b, else after both edges."""
    i, i2, j, j2 = index[k, 0], index[k, 1], index[k, 2], index[k, 3]
    if i >= 0 and i == i2:
        return name(base, 0, a.code[i], 0)
    if j >= 0 and j == j2:
        return name(base, 1, b.code[j], 0)
    p, q, r, s = a.code[i], a.code[i2], b.code[j], b.code[j2]
    return name(base, 2, min(p, q) * 4096 + max(p, q), min(r, s) * 4096 + max(r, s))


@njit(cache=True, nogil=True, error_model="numpy")
def _half_way(motion, ma, mb, p, h, n):
    """Middle of the two surface points p - h n and p + h n after motions of the two bodies."""
    ax, ay, az = moved(motion, ma, p[0] - h * n[0], p[1] - h * n[1], p[2] - h * n[2])
    bx, by, bz = moved(motion, mb, p[0] + h * n[0], p[1] + h * n[1], p[2] + h * n[2])
    return 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)


@njit(cache=True, nogil=True, error_model="numpy")
def put_contacts(a, na, b, nb, n, places, count, motion, rows, margin, base, found, at):
    """Writes the contacts with a predicted gap up to `margin` from row `at` on.

    rows: the motions of both bodies to the end of the step, and those back to its start, -1 if this is it. Returns the
    next free row, and the least predicted gap.
    """
    least = np.inf
    for k in range(count):
        i, i2, j, j2 = places.index[k, 0], places.index[k, 1], places.index[k, 2], places.index[k, 3]
        pa, e = _on_edge(a, max(i, 0), max(i2, 0), places.along[k, 0])
        pb, g = _on_edge(b, max(j, 0), max(j2, 0), places.along[k, 1])
        rim_a, rim_b = i >= 0 and (i == i2 or na == 2) and a.rim[i], j >= 0 and (j == j2 or nb == 2) and b.rim[j]
        good = True
        if i < 0:
            pa, good = _onto(a, n, pb)
            mode = PLANE_A
        elif j < 0:
            pb, good = _onto(b, n, pa)
            mode = PLANE_B
        else:
            mode = _follows(a, na, b, nb, n, i == i2, j == j2)
        if not good:
            mode = MEAN
        if mode == PLANE_A:
            e = a.face[0], a.face[1], a.face[2]
        elif mode == PLANE_B:
            g = b.face[0], b.face[1], b.face[2]
        ra, rb = a.number[0], b.number[0]
        ca, cb = _core(a, pa, rim_a), _core(b, pb, rim_b)
        radii = ra + rb + (a.number[1] if rim_a else 0.0) + (b.number[1] if rim_b else 0.0)
        if mode >= LINE_A and not _is_round(n, mode, e, g, ca, cb, radii):
            mode = MEAN
        gap = n[0] * (pb[0] - pa[0]) + n[1] * (pb[1] - pa[1]) + n[2] * (pb[2] - pa[2]) - ra - rb
        lift = 0.5 * (ra - rb)
        point = (
            0.5 * (pa[0] + pb[0]) + lift * n[0],
            0.5 * (pa[1] + pb[1]) + lift * n[1],
            0.5 * (pa[2] + pb[2]) + lift * n[2],
        )
        here, predicted = gap, gap
        for back in range(2 if rows[2] >= 0 else 1):
            ma, mb = (rows[2], rows[3]) if back == 1 else (rows[0], rows[1])
            moved_gap = _gap_after(motion, ma, mb, mode, n, e, g, ca, cb, a, b, rim_a, rim_b)
            if back == 0:
                predicted = moved_gap
                least = min(least, predicted)
                if predicted > margin:
                    break
            else:
                point = _half_way(motion, ma, mb, point, 0.5 * here, n)
                gap = moved_gap
        if predicted <= margin:
            put(found, at, _name(a, b, places.index, k, base), n[0], n[1], n[2], point[0], point[1], point[2], gap,
                predicted)  # fmt: skip
            at += 1
    return at, least
