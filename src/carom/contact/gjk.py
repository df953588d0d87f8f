"""Distance and direction of two convex cores by the algorithm of Gilbert, Johnson and Keerthi (GJK).

The point of the Minkowski difference b - a that is nearest to the origin is the shortest vector from a to b. It is
approximated by simplices of support points; the nearest point of a simplex follows from its Voronoi regions. Capsules,
whose cores are segments, are solved in closed form.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from .support import difference

ROUNDS = 64  # largest number of iterations
NEAR = 1e-12  # tolerance on the squared distance, relative
TOUCH = 1e-10  # distance, relative to the size of the pair, below which the cores touch


@kernel
def _of_segment(s, i, j):
    """Nearest point to the origin of the segment of rows i and j, and which of the two support it (bits 1, 2)."""
    ax, ay, az = s[i, 0], s[i, 1], s[i, 2]
    ex, ey, ez = s[j, 0] - ax, s[j, 1] - ay, s[j, 2] - az
    t, length = -(ax * ex + ay * ey + az * ez), ex * ex + ey * ey + ez * ez
    if t <= 0.0:
        return ax, ay, az, 1
    if t >= length:
        return s[j, 0], s[j, 1], s[j, 2], 2
    t /= length
    return ax + t * ex, ay + t * ey, az + t * ez, 3


@kernel
def _of_triangle(s, i, j, k):
    """Nearest point to the origin of a triangle, and which of its vertices support it (bits 1, 2, 4)."""
    ax, ay, az = s[i, 0], s[i, 1], s[i, 2]
    bx, by, bz = s[j, 0] - ax, s[j, 1] - ay, s[j, 2] - az
    cx, cy, cz = s[k, 0] - ax, s[k, 1] - ay, s[k, 2] - az
    d1, d2 = -(bx * ax + by * ay + bz * az), -(cx * ax + cy * ay + cz * az)
    bb, bc, cc = bx * bx + by * by + bz * bz, bx * cx + by * cy + bz * cz, cx * cx + cy * cy + cz * cz
    if d1 <= 0.0 and d2 <= 0.0:
        return ax, ay, az, 1
    d3, d4 = d1 - bb, d2 - bc
    if d3 >= 0.0 and d4 <= d3:
        return s[j, 0], s[j, 1], s[j, 2], 2
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return ax + t * bx, ay + t * by, az + t * bz, 3
    d5, d6 = d1 - bc, d2 - cc
    if d6 >= 0.0 and d5 <= d6:
        return s[k, 0], s[k, 1], s[k, 2], 4
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return ax + t * cx, ay + t * cy, az + t * cz, 5
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return (
            s[j, 0] + t * (s[k, 0] - s[j, 0]),
            s[j, 1] + t * (s[k, 1] - s[j, 1]),
            s[j, 2] + t * (s[k, 2] - s[j, 2]),
            6,
        )
    # From the plane, since a weighted sum of vertices would cancel close to the origin.
    nx, ny, nz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    t = (nx * ax + ny * ay + nz * az) / (nx * nx + ny * ny + nz * nz)
    return t * nx, t * ny, t * nz, 7


@kernel
def _beyond(s, i, j, k, m):
    """Whether the origin and vertex m lie on different sides of face (i, j, k), or the four points are coplanar."""
    ax, ay, az = s[i, 0], s[i, 1], s[i, 2]
    bx, by, bz = s[j, 0] - ax, s[j, 1] - ay, s[j, 2] - az
    cx, cy, cz = s[k, 0] - ax, s[k, 1] - ay, s[k, 2] - az
    nx, ny, nz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    mx, my, mz = s[m, 0] - ax, s[m, 1] - ay, s[m, 2] - az
    origin, corner = -(nx * ax + ny * ay + nz * az), nx * mx + ny * my + nz * mz
    flat = 1e-24 * (nx * nx + ny * ny + nz * nz) * (mx * mx + my * my + mz * mz)
    return origin * corner < 0.0 or corner * corner <= flat


@kernel
def _keep(s, i, j, k, mask):
    """Moves the rows of (i, j, k) that `mask` names to the front; returns their number."""
    n = 0
    for bit in range(3):
        if (mask >> bit) & 1:
            row = i if bit == 0 else (j if bit == 1 else k)
            for axis in range(3):
                s[4 + n, axis] = s[row, axis]
            n += 1
    for row in range(n):
        for axis in range(3):
            s[row, axis] = s[4 + row, axis]
    return n


@kernel
def _nearest(s, n):
    """Nearest point of the simplex to the origin; keeps the rows that support it. Zero rows: the origin is inside."""
    if n == 1:
        return s[0, 0], s[0, 1], s[0, 2], 1
    if n == 2:
        x, y, z, mask = _of_segment(s, 0, 1)
        return x, y, z, _keep(s, 0, 1, 0, mask)
    if n == 3:
        x, y, z, mask = _of_triangle(s, 0, 1, 2)
        return x, y, z, _keep(s, 0, 1, 2, mask)
    best, kept, face = np.inf, 0, -1
    bx = by = bz = 0.0
    for m in range(4):
        i, j, k = (m + 1) % 4, (m + 2) % 4, (m + 3) % 4
        if _beyond(s, i, j, k, m):
            x, y, z, mask = _of_triangle(s, i, j, k)
            square = x * x + y * y + z * z
            if square < best:
                best, kept, face, bx, by, bz = square, mask, m, x, y, z
    if face < 0:
        return 0.0, 0.0, 0.0, 0
    return bx, by, bz, _keep(s, (face + 1) % 4, (face + 2) % 4, (face + 3) % 4, kept)


@kernel
def shifted_separation(cores, fa, fb, pose, ka, kb, shift, limit, scale, s):
    """Distance of two cores, the second moved by `shift`, and the unit vector from the first to the second.

    The distance is zero if they touch or overlap, and the vector then is undefined. Above `limit` the search may end
    early: the distance is then a lower bound, by which the cores are separated along the vector. s (8, 3) is scratch.
    """
    ox, oy, oz = shift
    x, y, z = pose[kb, 0] - pose[ka, 0] + ox, pose[kb, 1] - pose[ka, 1] + oy, pose[kb, 2] - pose[ka, 2] + oz
    if x * x + y * y + z * z == 0.0:
        x = 1.0
    n, square = 0, np.inf
    touch = (TOUCH * scale) ** 2
    for _ in range(ROUNDS):
        wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, -x, -y, -z)
        wx, wy, wz = wx + ox, wy + oy, wz + oz
        if n > 0:
            ahead = x * wx + y * wy + z * wz
            if ahead > 0.0 and ahead * ahead > limit * limit * square:
                length = np.sqrt(square)
                return ahead / length, x / length, y / length, z / length
            if square - ahead <= NEAR * square:
                break
        s[n, 0], s[n, 1], s[n, 2] = wx, wy, wz
        nx, ny, nz, n = _nearest(s, n + 1)
        shorter = nx * nx + ny * ny + nz * nz
        if n == 0 or shorter <= touch:
            return 0.0, 0.0, 0.0, 0.0
        if shorter >= square:  # rounding: no further simplex is nearer
            break
        x, y, z, square = nx, ny, nz, shorter
    length = np.sqrt(square)
    return length, x / length, y / length, z / length


@kernel
def separation(cores, fa, fb, pose, ka, kb, limit, scale, s):
    """`shifted_separation` without a shift."""
    return shifted_separation(cores, fa, fb, pose, ka, kb, (0.0, 0.0, 0.0), limit, scale, s)


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


@kernel
def segments(cores, fa, fb, pose, ka, kb):
    """Distance of the core segments, and the unit vector from the first to the second."""
    ux, uy, uz = pose[ka, 5], pose[ka, 8], pose[ka, 11]
    vx, vy, vz = pose[kb, 5], pose[kb, 8], pose[kb, 11]
    dx, dy, dz = pose[kb, 0] - pose[ka, 0], pose[kb, 1] - pose[ka, 1], pose[kb, 2] - pose[ka, 2]
    c = ux * vx + uy * vy + uz * vz
    p, q = ux * dx + uy * dy + uz * dz, -(vx * dx + vy * dy + vz * dz)
    s, t = _nearest_on_axes(cores.table[fa, 2], cores.table[fb, 2], c, p, q)
    x, y, z = dx + t * vx - s * ux, dy + t * vy - s * uy, dz + t * vz - s * uz
    distance = np.sqrt(x * x + y * y + z * z)
    if distance > 1e-12 * (cores.table[fa, 1] + cores.table[fb, 1]):
        return distance, x / distance, y / distance, z / distance
    # The segments intersect: perpendicular to both, in the direction of the centers.
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if x * x + y * y + z * z < 1e-12:
        x, y, z = (0.0, -uz, uy) if abs(ux) < 0.6 else (uz, 0.0, -ux)
    length = np.sqrt(x * x + y * y + z * z)
    if x * dx + y * dy + z * dz < 0.0:
        length = -length
    return 0.0, x / length, y / length, z / length
