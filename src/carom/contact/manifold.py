"""Contact manifold of two features: points, gaps and predicted gaps at the places where they meet."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from .clipping import A0, A1, A_ALONG, B0, B1, B_ALONG
from .contact_set import Contact, feature_code, put
from .features import AXIS, CODE, FACE, OUT, RHO, ROUND
from .poses import moved, put_motion, swung

# What determines the normal of a contact after the motion: the mean rotation of both bodies, the face of a or b, two
# edges, the line of an edge of a or b, or two points.
MEAN, PLANE_A, PLANE_B, CROSS, LINE_A, LINE_B, POINT = 0, 1, 2, 3, 4, 5, 6
ALIGNED = 1.0 - 1e-6  # cosine above which a face is perpendicular to the normal
STEEP = 0.3  # cosine below which a face is too steep to project on


@kernel
def _turn(motion, i, w):
    """The rotation of a motion as a vector: axis times angle."""
    x = 0.5 * (motion[i, w, 10] - motion[i, w, 8])
    y = 0.5 * (motion[i, w, 5] - motion[i, w, 9])
    z = 0.5 * (motion[i, w, 6] - motion[i, w, 4])
    sine = np.sqrt(x * x + y * y + z * z)
    trace = motion[i, w, 3] + motion[i, w, 7] + motion[i, w, 11]
    scale = np.arctan2(sine, 0.5 * (trace - 1.0)) / sine if sine > 0.0 else 0.0
    return scale * x, scale * y, scale * z


@kernel
def _rolled_normal(motion, i, n, data):
    """The normal after the motion of two bodies of revolution, each about its own axis.

    It rotates with both, minus the rolling of each about its axis: `turn_a - s_a u_a = turn_b - s_b u_b` in the least
    squares sense, with the smallest s_a and s_b.
    """
    ax, ay, az = _turn(motion, i, 0)
    bx, by, bz = _turn(motion, i, 1)
    ux, uy, uz = data[0, AXIS], data[0, AXIS + 1], data[0, AXIS + 2]
    vx, vy, vz = data[1, AXIS], data[1, AXIS + 1], data[1, AXIS + 2]
    qx, qy, qz = bx - ax, by - ay, bz - az
    c, qu, qv = ux * vx + uy * vy + uz * vz, ux * qx + uy * qy + uz * qz, vx * qx + vy * qy + vz * qz
    wide = 1.0 + 1e-9  # regularization: parallel axes share the rolling equally
    share = 0.5 / (wide * wide - c * c)
    s_a, s_b = share * (c * qv - wide * qu), share * (wide * qv - c * qu)
    x = 0.5 * (ax + bx) - s_a * ux - s_b * vx
    y = 0.5 * (ay + by) - s_a * uy - s_b * vy
    z = 0.5 * (az + bz) - s_a * uz - s_b * vz
    angle = np.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return n
    x, y, z = x / angle, y / angle, z / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    along = (1.0 - cosine) * (x * n[0] + y * n[1] + z * n[2])
    return (
        cosine * n[0] + sine * (y * n[2] - z * n[1]) + along * x,
        cosine * n[1] + sine * (z * n[0] - x * n[2]) + along * y,
        cosine * n[2] + sine * (x * n[1] - y * n[0]) + along * z,
    )


@kernel
def _turned_normal(motion, i, n, round_a, round_b, data):
    """The normal after the motion by default: it rotates with the bodies, but not with a body of revolution."""
    if round_a and round_b:
        return _rolled_normal(motion, i, n, data)
    ax, ay, az = swung(motion, i, 1 if round_a else 0, n[0], n[1], n[2])
    bx, by, bz = swung(motion, i, 0 if round_b else 1, n[0], n[1], n[2])
    x, y, z = ax + bx, ay + by, az + bz
    scale = 1.0 / np.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@kernel
def _edge_normal(motion, i, mode, e, g, d, n):
    """The normal after the motion for edges and points: perpendicular to two edges, or from a line or a point."""
    ex, ey, ez = swung(motion, i, 0, e[0], e[1], e[2])
    gx, gy, gz = swung(motion, i, 1, g[0], g[1], g[2])
    if mode == CROSS:
        x, y, z = ey * gz - ez * gy, ez * gx - ex * gz, ex * gy - ey * gx
    else:
        x, y, z = d
        if mode == LINE_B:
            ex, ey, ez = gx, gy, gz
        if mode != POINT:
            along = (ex * x + ey * y + ez * z) / (ex * ex + ey * ey + ez * ez)
            x, y, z = x - along * ex, y - along * ey, z - along * ez
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return n
    if x * n[0] + y * n[1] + z * n[2] < 0.0:
        length = -length
    return x / length, y / length, z / length


@kernel
def _gap_after(motion, i, mode, n, e, g, ca, cb, data, rho_a, rho_b):
    """Gap of a contact after motion i of both bodies.

    ca and cb are points of the two cores: round parts move with their cores, so that rolling opens no gap. e and g are
    the normals of the faces (PLANE_A: e, PLANE_B: g) or the directions of the edges (CROSS: both, LINE_A: e, LINE_B: g)
    that meet. rho_a and rho_b are the distances of rim points from their axes, 0 for other points.
    """
    ax, ay, az = moved(motion, i, 0, ca[0], ca[1], ca[2])
    bx, by, bz = moved(motion, i, 1, cb[0], cb[1], cb[2])
    dx, dy, dz = bx - ax, by - ay, bz - az
    scale = 1.0
    if mode == PLANE_A:
        x, y, z = swung(motion, i, 0, e[0], e[1], e[2])
        scale = e[0] * n[0] + e[1] * n[1] + e[2] * n[2]
    elif mode == PLANE_B:
        x, y, z = swung(motion, i, 1, -g[0], -g[1], -g[2])
        scale = -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2])
    else:
        x, y, z = _turned_normal(
            motion, i, n, rho_a > 0.0 or data[0, ROUND] > 0.0, rho_b > 0.0 or data[1, ROUND] > 0.0, data
        )
        if mode != MEAN:
            x, y, z = _edge_normal(motion, i, mode, e, g, (dx, dy, dz), (x, y, z))
    gap = (x * dx + y * dy + z * dz) / scale - data[0, ROUND] - data[1, ROUND]
    for w in range(2):
        rho = rho_b if w else rho_a
        if rho > 0.0:
            ux, uy, uz = swung(motion, i, w, data[w, AXIS], data[w, AXIS + 1], data[w, AXIS + 2])
            c = x * ux + y * uy + z * uz
            gap -= rho * np.sqrt(max(0.0, 1.0 - c * c))
    return gap


@kernel
def _on_edge(p, w, i, j, t):
    """A point of the edge from i to j of feature w, and the direction of the edge."""
    x, y, z = p[w, i, 0], p[w, i, 1], p[w, i, 2]
    ex, ey, ez = p[w, j, 0] - x, p[w, j, 1] - y, p[w, j, 2] - z
    return (x + t * ex, y + t * ey, z + t * ez), (ex, ey, ez)


@kernel
def _rho(p, w, i, j, t):
    """Distance from the axis of a rim point, or of a point of the side between the rims; 0 for other points."""
    return p[w, i, RHO] + t * (p[w, j, RHO] - p[w, i, RHO])


@kernel
def _cosine(data, w, n):
    """Cosine of the angle between the normal of face w and n."""
    return data[w, FACE] * n[0] + data[w, FACE + 1] * n[1] + data[w, FACE + 2] * n[2]


@kernel
def _onto(f, w, n, p):
    """The projection of p along n onto the plane of face w, and whether the plane is not too steep for it."""
    x, y, z = f.data[w, FACE], f.data[w, FACE + 1], f.data[w, FACE + 2]
    cosine = x * n[0] + y * n[1] + z * n[2]
    t = x * (f.point[w, 0, 0] - p[0]) + y * (f.point[w, 0, 1] - p[1]) + z * (f.point[w, 0, 2] - p[2])
    if abs(cosine) > STEEP:
        t /= cosine
    return (p[0] + t * n[0], p[1] + t * n[1], p[2] + t * n[2]), abs(cosine) > STEEP


@kernel
def _follows(data, na, nb, n, corner_a, corner_b):
    """What determines the normal after the motion where vertices or edges of both meet."""
    of_a, of_b = na >= 3 and _cosine(data, 0, n) > ALIGNED, nb >= 3 and -_cosine(data, 1, n) > ALIGNED
    if of_a or of_b:
        return MEAN if of_a and of_b else (PLANE_A if of_a else PLANE_B)
    if not corner_a and not corner_b:
        return CROSS
    if corner_a and corner_b:
        return POINT
    return LINE_B if corner_a else LINE_A


@kernel
def _is_measured(n, mode, e, g, ca, cb, radii):
    """Whether the normal is perpendicular to both edges, or the distance of round cores is that of the contact.

    Only then can the gap after the motion be measured between them. Otherwise it is measured along the rotated normal.
    """
    if mode == CROSS:
        x, y, z = e[1] * g[2] - e[2] * g[1], e[2] * g[0] - e[0] * g[2], e[0] * g[1] - e[1] * g[0]
        return abs(n[0] * x + n[1] * y + n[2] * z) > ALIGNED * np.sqrt(x * x + y * y + z * z)
    x, y, z = cb[0] - ca[0], cb[1] - ca[1], cb[2] - ca[2]
    if mode != POINT:
        ex, ey, ez = e if mode == LINE_A else g
        along = (ex * x + ey * y + ez * z) / (ex * ex + ey * ey + ez * ez)
        x, y, z = x - along * ex, y - along * ey, z - along * ez
    ahead = n[0] * x + n[1] * y + n[2] * z
    return radii > 0.0 and ahead > 0.25 * radii and ahead > ALIGNED * np.sqrt(x * x + y * y + z * z)


@kernel
def _core(data, w, p, rho):
    """The point of the core for a point of feature w; for a rim point it lies on the axis."""
    return p[0] - rho * data[w, OUT], p[1] - rho * data[w, OUT + 1], p[2] - rho * data[w, OUT + 2]


@kernel
def _name(p, i, i2, j, j2, base):
    """The feature_id of a contact: from its vertex, of a rather than of b, else from both edges."""
    if i >= 0 and i == i2:
        return feature_code(base, 0, int(p[0, i, CODE]), 0)
    if j >= 0 and j == j2:
        return feature_code(base, 1, int(p[1, j, CODE]), 0)
    if i < 0 or j < 0:  # an edge and the rim of a cap
        w, k, k2 = (1, j, j2) if i < 0 else (0, i, i2)
        return feature_code(base, 3, int(p[w, k, CODE]) * 4096 + int(p[w, k2, CODE]), w)
    a, a2, b, b2 = int(p[0, i, CODE]), int(p[0, i2, CODE]), int(p[1, j, CODE]), int(p[1, j2, CODE])
    return feature_code(base, 2, min(a, a2) * 4096 + max(a, a2), min(b, b2) * 4096 + max(b, b2))


@kernel
def _half_way(motion, i, p, h, n):
    """Midpoint of the surface points p - h n of a and p + h n of b after motion i."""
    ax, ay, az = moved(motion, i, 0, p[0] - h * n[0], p[1] - h * n[1], p[2] - h * n[2])
    bx, by, bz = moved(motion, i, 1, p[0] + h * n[0], p[1] + h * n[1], p[2] + h * n[2])
    return 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)


@kernel
def _put_motions(pose, rows, after, motion):
    """Writes the motions from the poses of the features to the end of the step, to themselves, and to its start."""
    for i in range(3):
        if i != 2 or rows[0] != rows[2]:
            for w in range(2):
                put_motion(pose, rows[w], rows[w] if i == 1 else rows[2 + w] + (after if i == 0 else 0), motion, i, w)


@kernel
def put_contacts(f, na, nb, n, places, count, pose, rows, after, motion, margin, base, found, at):
    """Writes the contacts with a predicted gap up to `margin` from row `at` of `found`.

    `rows` are the two poses of the features, and the two at the start of the step; those at its end are `after` rows
    farther down. Returns the next free row, and the least predicted gap. `motion` is scratch.
    """
    least, data, later = np.inf, f.data, rows[0] != rows[2]
    _put_motions(pose, rows, after, motion)
    for k in range(count):
        i, i2, j, j2 = int(places[k, A0]), int(places[k, A1]), int(places[k, B0]), int(places[k, B1])
        pa, e = _on_edge(f.point, 0, max(i, 0), max(i2, 0), places[k, A_ALONG])
        pb, g = _on_edge(f.point, 1, max(j, 0), max(j2, 0), places[k, B_ALONG])
        rho_a = _rho(f.point, 0, i, i2, places[k, A_ALONG]) if i >= 0 and (i == i2 or na == 2) else 0.0
        rho_b = _rho(f.point, 1, j, j2, places[k, B_ALONG]) if j >= 0 and (j == j2 or nb == 2) else 0.0
        rim_a, rim_b = rho_a > 0.0, rho_b > 0.0
        good = True
        if i < 0:
            pa, good = _onto(f, 0, n, pb)
            mode = PLANE_A
        elif j < 0:
            pb, good = _onto(f, 1, n, pa)
            mode = PLANE_B
        else:
            mode = _follows(data, na, nb, n, i == i2, j == j2)
        square = abs(_cosine(data, 0 if mode == PLANE_A else 1, n)) > ALIGNED
        if not good or (mode <= PLANE_B and (rim_a or rim_b) and not square):
            mode = MEAN
        if mode == PLANE_A:
            e = data[0, FACE], data[0, FACE + 1], data[0, FACE + 2]
        elif mode == PLANE_B:
            g = data[1, FACE], data[1, FACE + 1], data[1, FACE + 2]
        ra, rb = data[0, ROUND], data[1, ROUND]
        ca, cb = _core(data, 0, pa, rho_a), _core(data, 1, pb, rho_b)
        if mode >= CROSS and not _is_measured(n, mode, e, g, ca, cb, ra + rb + rho_a + rho_b):
            mode = MEAN
        gap = n[0] * (pb[0] - pa[0]) + n[1] * (pb[1] - pa[1]) + n[2] * (pb[2] - pa[2]) - ra - rb
        # At the end of the step; then at the features, whose measured gap may differ by rounding; then at the start.
        predicted = there = gap
        for look in range(3):
            if (look == 1 and mode < CROSS and not rim_a and not rim_b) or (look == 2 and not later):
                continue
            there = _gap_after(motion, look, mode, n, e, g, ca, cb, data, rho_a, rho_b)
            if look == 0:
                predicted = there
            elif look == 1:
                predicted += gap - there
        least = min(least, predicted)
        if predicted > margin:
            continue
        lift = 0.5 * (ra - rb)
        x, y, z = (
            0.5 * (pa[0] + pb[0]) + lift * n[0],
            0.5 * (pa[1] + pb[1]) + lift * n[1],
            0.5 * (pa[2] + pb[2]) + lift * n[2],
        )
        if later:
            x, y, z = _half_way(motion, 2, (x, y, z), 0.5 * gap, n)
            gap = there
        feature = _name(f.point, i, i2, j, j2, base)
        put(found, at, 0, 0, Contact(feature, gap, predicted, Vec3(n[0], n[1], n[2]), Vec3(x, y, z)))
        at += 1
    return at, least
