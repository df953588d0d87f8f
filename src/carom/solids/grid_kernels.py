"""Kernels behind the signed distance grid: nearest triangles by a tree of boxes, and crossings of lines."""
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel
def _to_segment(ax, ay, az, bx, by, bz):
    """Squared distance of the origin to the segment a - b."""
    ux, uy, uz = bx - ax, by - ay, bz - az
    length = ux * ux + uy * uy + uz * uz
    t = -(ax * ux + ay * uy + az * uz)
    t = 0.0 if t <= 0.0 or length == 0.0 else min(t / length, 1.0)
    x, y, z = ax + t * ux, ay + t * uy, az + t * uz
    return x * x + y * y + z * z


@kernel
def _to_triangle(t, px, py, pz):
    """Squared distance of a point to the triangle t (3, 3): its plane if the foot lies within, else its edges."""
    ax, ay, az = t[0, 0] - px, t[0, 1] - py, t[0, 2] - pz
    bx, by, bz = t[1, 0] - px, t[1, 1] - py, t[1, 2] - pz
    cx, cy, cz = t[2, 0] - px, t[2, 1] - py, t[2, 2] - pz
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    square = nx * nx + ny * ny + nz * nz
    # Barycentric weights of the foot, times the square: n . (b x c), n . (c x a), n . (a x b).
    one = nx * (by * cz - bz * cy) + ny * (bz * cx - bx * cz) + nz * (bx * cy - by * cx)
    two = nx * (cy * az - cz * ay) + ny * (cz * ax - cx * az) + nz * (cx * ay - cy * ax)
    three = square - one - two
    if square > 0.0 and one >= 0.0 and two >= 0.0 and three >= 0.0:
        height = ax * nx + ay * ny + az * nz
        return height * height / square
    best = _to_segment(ax, ay, az, bx, by, bz)
    best = min(best, _to_segment(bx, by, bz, cx, cy, cz))
    return min(best, _to_segment(cx, cy, cz, ax, ay, az))


@kernel
def _to_box(low, high, node, px, py, pz):
    x = max(low[node, 0] - px, 0.0, px - high[node, 0])
    y = max(low[node, 1] - py, 0.0, py - high[node, 1])
    z = max(low[node, 2] - pz, 0.0, pz - high[node, 2])
    return x * x + y * y + z * z


@kernel
def _nearest(corners, order, low, high, child, begin, end, px, py, pz, bound, stack, far):
    """Squared distance of a point to the nearest triangle, if it is below `bound`."""
    best, top = bound, 1
    stack[0], far[0] = 0, 0.0
    while top:
        top -= 1
        node = stack[top]
        if far[top] > best:
            continue
        if child[node] < 0:
            for s in range(begin[node], end[node]):
                best = min(best, _to_triangle(corners[order[s]], px, py, pz))
            continue
        one, two = child[node], child[node] + 1
        d_one, d_two = _to_box(low, high, one, px, py, pz), _to_box(low, high, two, px, py, pz)
        if d_one < d_two:
            one, two, d_one, d_two = two, one, d_two, d_one
        stack[top], far[top], stack[top + 1], far[top + 1] = one, d_one, two, d_two  # the nearer one comes next
        top += 2
    return best


@kernel
def node_distances(corners, order, low, high, child, begin, end, origin, spacing, count):
    """Distance of every node of the grid to the surface."""
    out = np.empty((count[0], count[1], count[2]))
    stack, far = np.empty(128, np.int64), np.empty(128)
    for i in range(count[0]):
        for j in range(count[1]):
            for k in range(count[2]):
                # A neighbor bounds the distance: the function grows by at most the step.
                bound = np.inf
                if k:
                    bound = out[i, j, k - 1]
                elif j:
                    bound = out[i, j - 1, k]
                elif i:
                    bound = out[i - 1, j, k]
                bound = (bound + spacing) ** 2 * (1.0 + 1e-9)
                x, y, z = origin[0] + spacing * i, origin[1] + spacing * j, origin[2] + spacing * k
                out[i, j, k] = np.sqrt(
                    _nearest(corners, order, low, high, child, begin, end, x, y, z, bound, stack, far)
                )
    return out


@kernel
def _side(vertices, a, b, y, z):
    """On which side of the edge a - b, seen along x, the line (y, z) passes: 1, -1, or 0 for an edge along x.

    Both triangles of an edge get exactly opposite answers, and a line through an edge or corner is taken as moved a
    little, the same for all: no line slips through between two triangles.
    """
    if a > b:
        return -_side_ordered(vertices, b, a, y, z)
    return _side_ordered(vertices, a, b, y, z)


@kernel
def _side_ordered(vertices, a, b, y, z):
    uy, uz = vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    cross = uy * (z - vertices[a, 2]) - uz * (y - vertices[a, 1])
    if cross != 0.0:
        return 1 if cross > 0.0 else -1
    if uz != 0.0:
        return 1 if uz < 0.0 else -1
    if uy != 0.0:
        return 1 if uy > 0.0 else -1
    return 0


@kernel
def crossings_of_lines(vertices, faces, origin, spacing, count):
    """Winding number of every node: triangles that the line along x crosses beyond it, facing +x less facing -x."""
    steps = np.zeros((count[0], count[1], count[2]), np.int32)
    for f in range(len(faces)):
        a, b, c = faces[f]
        first, last = np.empty(2, np.int64), np.empty(2, np.int64)
        for k in range(2):
            lowest = min(vertices[a, k + 1], vertices[b, k + 1], vertices[c, k + 1])
            highest = max(vertices[a, k + 1], vertices[b, k + 1], vertices[c, k + 1])
            first[k] = max(int(np.floor((lowest - origin[k + 1]) / spacing)), 0)
            last[k] = min(int(np.ceil((highest - origin[k + 1]) / spacing)), count[k + 1] - 1)
        for j in range(first[0], last[0] + 1):
            y = origin[1] + spacing * j
            for k in range(first[1], last[1] + 1):
                z = origin[2] + spacing * k
                side = _side(vertices, a, b, y, z)
                if side == 0 or _side(vertices, b, c, y, z) != side or _side(vertices, c, a, y, z) != side:
                    continue
                # Nodes before the crossing see it.
                x = _crossing(vertices, a, b, c, y, z)
                node = min(int(np.ceil((x - origin[0]) / spacing)) - 1, count[0] - 1)
                if node >= 0:
                    steps[node, j, k] += side
    for i in range(count[0] - 2, -1, -1):
        steps[i] += steps[i + 1]
    return steps


@kernel
def _crossing(vertices, a, b, c, y, z):
    """Where the line (y, z) along x meets the plane of a triangle, kept within the triangle's range."""
    uy, uz = vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    vy, vz = vertices[c, 1] - vertices[a, 1], vertices[c, 2] - vertices[a, 2]
    py, pz = y - vertices[a, 1], z - vertices[a, 2]
    area = uy * vz - uz * vy
    lowest = min(vertices[a, 0], vertices[b, 0], vertices[c, 0])
    highest = max(vertices[a, 0], vertices[b, 0], vertices[c, 0])
    if area == 0.0:
        return lowest
    s, t = (py * vz - pz * vy) / area, (uy * pz - uz * py) / area
    x = vertices[a, 0] + s * (vertices[b, 0] - vertices[a, 0]) + t * (vertices[c, 0] - vertices[a, 0])
    return min(max(x, lowest), highest)
