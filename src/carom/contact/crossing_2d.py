"""Pairs of a 2D world that pass through each other within a step, by conservative advancement.

Bodies move straight from their pose at the start of the step to that at its end, and rotate steadily. Let n separate
two convex bodies by `gap`, negative where they overlap. Along n they approach within the time t of the step by at most
`t (n . (w_first - w_second) + |s_first| r_first + |s_second| r_second)` (w: displacement, s: angle, r: radius, which
does not count for discs). They cannot be deeper than `depth` in each other before this exceeds `gap + depth`.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..world import DISC
from .polygons import nearest_on_polygon, set_normals

MOST_ITERATIONS = 120  # of the advancement; then the pair counts as crossing, and the step is cut
CLOSE = 0.02  # distance from the depth, relative to it, at which it counts as reached


@kernel
def crosses_2d(shapes, a, b, start, end, depth, at, normal):
    """Whether bodies a and b are deeper than `depth` in each other at any time between two poses of both.

    `start` and `end` are (x, y, angle) of the first and of the second body. at (k, 2) and normal (k, 2) are scratch.
    """
    first, second = start[:3], start[3:]
    vx, vy = (end[3] - second[0]) - (end[0] - first[0]), (end[4] - second[1]) - (end[1] - first[1])
    turning = 0.0
    if shapes.kind[a] != DISC:
        turning += abs(end[2] - first[2]) * shapes.radius[a]
    if shapes.kind[b] != DISC:
        turning += abs(end[5] - second[2]) * shapes.radius[b]
    t = 0.0
    for _ in range(MOST_ITERATIONS):
        middle = _put(shapes, a, start, end, 0, t, at, normal, 0)
        last = _put(shapes, b, start, end, 3, t, at, normal, middle)
        xa, ya = first[0] + t * (end[0] - first[0]), first[1] + t * (end[1] - first[1])
        xb, yb = second[0] + t * (end[3] - second[0]), second[1] + t * (end[4] - second[1])
        gap, nx, ny = _gap(at, normal, middle, last, xa, ya, shapes.radius[a], xb, yb, shapes.radius[b])
        bound = turning - (vx * nx + vy * ny)
        if gap + depth <= CLOSE * depth:
            return True
        if bound <= 0.0 or gap + depth > bound * (1.0 - t):
            return False
        t += (gap + depth) / bound
    return True


@kernel
def _put(shapes, body, start, end, offset, t, at, normal, row):
    """Writes vertices and normals of a polygon at a time of the step from `row` on; returns the next free row."""
    x = start[offset] + t * (end[offset] - start[offset])
    y = start[offset + 1] + t * (end[offset + 1] - start[offset + 1])
    angle = start[offset + 2] + t * (end[offset + 2] - start[offset + 2])
    c, s, k = np.cos(angle), np.sin(angle), row
    for v in range(shapes.vertex_ptr[body], shapes.vertex_ptr[body + 1]):
        at[k, 0] = x + c * shapes.vertex[v, 0] - s * shapes.vertex[v, 1]
        at[k, 1] = y + s * shapes.vertex[v, 0] + c * shapes.vertex[v, 1]
        k += 1
    if k > row:
        set_normals(at, normal, row, k)
    return k


@kernel
def _gap(at, normal, middle, last, xa, ya, ra, xb, yb, rb):
    """Separation along the best axis, and that axis, a unit vector from the first to the second.

    The first has vertices 0:middle, the second middle:last; a disc has none, but a center and a radius.
    """
    if middle == 0 and last == 0:
        x, y = xb - xa, yb - ya
        apart = np.sqrt(x * x + y * y)
        return (apart - ra - rb, x / apart, y / apart) if apart > 0.0 else (-ra - rb, 1.0, 0.0)
    if last == middle:
        gap, _, nx, ny = nearest_on_polygon(at, normal, 0, middle, xb, yb)
        return gap - rb, nx, ny
    if middle == 0:
        gap, _, nx, ny = nearest_on_polygon(at, normal, 0, last, xa, ya)
        return gap - ra, -nx, -ny
    best, bx, by = _axis(at, normal, 0, middle, middle, last)
    other, ox, oy = _axis(at, normal, middle, last, 0, middle)
    return (best, bx, by) if best >= other else (other, -ox, -oy)


@kernel
def _axis(at, normal, low, high, other_low, other_high):
    """The largest separation along the edge normals of one polygon, and that normal."""
    best, top = -np.inf, low
    for k in range(low, high):
        least = np.inf
        for j in range(other_low, other_high):
            least = min(least, normal[k, 0] * (at[j, 0] - at[k, 0]) + normal[k, 1] * (at[j, 1] - at[k, 1]))
        if least > best:
            best, top = least, k
    return best, normal[top, 0], normal[top, 1]


@kernel
def crossing_pairs_2d(shapes, rows, moves, depth):
    """The first of the pairs of bodies `rows` (m, 2) that cross deeper than `depth` (m,), or -1.

    `moves` (m, 12) holds x, y, angle of the first and of the second body at the start, then at the end of the step.
    """
    most = 2
    for body in range(len(shapes.kind)):
        most = max(most, shapes.vertex_ptr[body + 1] - shapes.vertex_ptr[body])
    at, normal = np.empty((2 * most, 2)), np.empty((2 * most, 2))
    for k in range(len(rows)):
        if crosses_2d(shapes, rows[k, 0], rows[k, 1], moves[k, :6], moves[k, 6:], depth[k], at, normal):
            return k
    return -1
