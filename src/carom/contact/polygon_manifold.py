"""Contact manifold of two convex polygons: one normal, and the ends of the interval in which they face each other.

The normal comes from the separating axes, and the ends of the interval from the two edges that face each other along
it. Both rules are independent of the order of bodies and vertices, so that exchanged or mirrored polygons have
exchanged or mirrored contacts, and it does not matter which of two parallel edges rounding makes the better axis. The
usual choice of a reference and an incident edge does not have this property.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel

BIAS = 1e-10  # axes whose score is this close to the best (relative to size) share the normal
PREVIEW = 0.01  # weight of the predicted separation in the score: decides among axes that are equal at the touch
SAME = 1e-9  # points closer than this (relative to size) are one point
ALIGNED = 1e-6  # of vertices closer than this (relative to size) that of `first` gives the feature_id
CODES = 65536  # larger than the number of vertices of any polygon


@kernel
def _faces_of(at, normal, lo, hi, other_lo, other_hi, limit, out, start):
    """Writes the separation along each edge normal of one polygon to `out`; stops at the first one above `limit`."""
    top = -np.inf
    for k in range(lo, hi):
        nx, ny, ox, oy = normal[k, 0], normal[k, 1], at[k, 0], at[k, 1]
        least = np.inf
        for j in range(other_lo, other_hi):
            least = min(least, nx * (at[j, 0] - ox) + ny * (at[j, 1] - oy))
        out[start + k - lo] = least
        top = max(top, least)
        if top > limit:
            return top
    return top


@kernel
def _separations(at, normal, span, limit, out):
    """Writes the separations along the edge normals of both polygons; returns the largest, or one above `limit`."""
    a, a_end, b, b_end = span
    top = _faces_of(at, normal, a, a_end, b, b_end, limit, out, 0)
    if top > limit:
        return top
    return max(top, _faces_of(at, normal, b, b_end, a, a_end, limit, out, a_end - a))


@kernel
def _touch_time(before, after, count):
    """Time of first touch as a fraction of the step: when the last separating axis closes."""
    time = 0.0
    for k in range(count):
        if before[k] > 0.0:
            time = max(time, 1.0 if after[k] >= 0.0 else before[k] / (before[k] - after[k]))
    return time


@kernel
def _axis_sum(normal, lo, hi, score, start, best, bias):
    """Weighted sum of the normals of one polygon whose score is within `bias` of the best."""
    x = y = 0.0
    for k in range(lo, hi):
        weight = 1.0 - (best - score[start + k - lo]) / bias
        if weight > 0.0:
            x += weight * normal[k, 0]
            y += weight * normal[k, 1]
    return x, y


@kernel
def _contact_normal(normal, span, before, after, time, bias):
    """Unit normal from first to second: the axis of largest separation when the polygons touch.

    For bodies that are apart at the start this is the axis that closes last, the normal of the edge that is hit; for
    bodies that touch or overlap it is the axis of least overlap at the start. Where vertex meets vertex two axes are
    equal, and the one that stays open longer is chosen: a brick that slides down beside its neighbor must not be lifted
    by it. If these are equal too, they share the normal. Overwrites `before` with the scores.
    """
    a, a_end, b, b_end = span
    count = a_end - a + b_end - b
    best, top = -np.inf, 0
    for k in range(count):
        before[k] += time * (after[k] - before[k]) + PREVIEW * after[k]
        if before[k] > best:
            best, top = before[k], k
    ax, ay = _axis_sum(normal, a, a_end, before, 0, best, bias)
    bx, by = _axis_sum(normal, b, b_end, before, a_end - a, best, bias)
    x, y = ax - bx, ay - by
    length = np.sqrt(x * x + y * y)
    if length > 1e-4:
        return x / length, y / length
    # Equal axes that cancel: one polygon is centered inside the other, and any of the axes is as good.
    if top < a_end - a:
        return normal[a + top, 0], normal[a + top, 1]
    k = b + top - (a_end - a)
    return -normal[k, 0], -normal[k, 1]


@kernel
def _facing(at, normal, lo, hi, nx, ny):
    """The edge (its two vertices) that faces along n, or one vertex twice if its two edges do so equally.

    Also a vertex if the edge is tilted by more than 60 degrees: only its end is close then.
    """
    top, best = lo, -np.inf
    for k in range(lo, hi):
        cosine = nx * normal[k, 0] + ny * normal[k, 1]
        if cosine > best:
            best, top = cosine, k
    after = top + 1 if top + 1 < hi else lo
    before = top - 1 if top > lo else hi - 1
    rival = max(
        nx * normal[after, 0] + ny * normal[after, 1],
        nx * normal[before, 0] + ny * normal[before, 1],
    )
    if best > 1.0 - 1e-6 or (best > 0.5 and rival < best - 1e-9):
        return top, after
    ahead = nx * (at[after, 0] - at[top, 0]) + ny * (at[after, 1] - at[top, 1])
    if ahead > 0.0:
        return after, after
    return top, top


@kernel
def _along(corners, k, tx, ty, time):
    """Coordinate of vertex k along t at a given time of the step."""
    x0, y0 = corners.at0[k, 0], corners.at0[k, 1]
    start = tx * x0 + ty * y0
    if time == 0.0:
        return start
    return start + time * (tx * (corners.at1[k, 0] - x0) + ty * (corners.at1[k, 1] - y0))


@kernel
def _height(at, normal, corner, edge):
    """Signed distance of a vertex from the line of an edge of the other polygon, positive outside."""
    return normal[edge, 0] * (at[corner, 0] - at[edge, 0]) + normal[edge, 1] * (at[corner, 1] - at[edge, 1])


@kernel
def _corner_edge(corners, corner, edge, nx, ny, side, found, n):
    """Writes the contact of a vertex with an edge of the other polygon; `side` is 1 for a vertex of first, else -1.

    The gap is measured along the normal. The predicted gap is the distance from the line of the edge after the step.
    """
    cosine = -side * (nx * corners.normal0[edge, 0] + ny * corners.normal0[edge, 1])
    gap = _height(corners.at0, corners.normal0, corner, edge) / cosine
    found.gap[n] = gap
    found.predicted[n] = _height(corners.at1, corners.normal1, corner, edge) / cosine
    found.normal[n, 0], found.normal[n, 1] = nx, ny
    found.point[n, 0] = corners.at0[corner, 0] + 0.5 * side * gap * nx
    found.point[n, 1] = corners.at0[corner, 1] + 0.5 * side * gap * ny


@kernel
def _corner_corner(corners, a, b, nx, ny, found, n):
    """Writes the contact of vertex a of first with vertex b of second."""
    at0, at1 = corners.at0, corners.at1
    found.gap[n] = nx * (at0[b, 0] - at0[a, 0]) + ny * (at0[b, 1] - at0[a, 1])
    found.predicted[n] = nx * (at1[b, 0] - at1[a, 0]) + ny * (at1[b, 1] - at1[a, 1])
    found.normal[n, 0], found.normal[n, 1] = nx, ny
    found.point[n, 0], found.point[n, 1] = 0.5 * (at0[a, 0] + at0[b, 0]), 0.5 * (at0[a, 1] + at0[b, 1])


@kernel
def _end(corners, edges, origins, a, b, lead, nx, ny, size, found, n):
    """Writes the contact at one end of the interval, vertex a of first or b of second; a is farther inside by `lead`.

    feature_id encodes the vertex that ends the interval and the edge of the other polygon, so that it stays the same
    if the better axis changes from one polygon to the other. Where the vertices coincide along the interval it is
    always that of first, because rounding alone would decide.
    """
    if lead >= 0.0:
        _corner_edge(corners, a, edges[2], nx, ny, 1.0, found, n)
    else:
        _corner_edge(corners, b, edges[0], nx, ny, -1.0, found, n)
    found.feature[n] = _name(edges, origins, a, b, lead >= -ALIGNED * size)


@kernel
def _stretch(corners, edges, origins, nx, ny, time, size, found, n):
    """Writes the one or two contacts at the ends of the common interval of two edges; returns their number.

    Seen along n, edge a runs to the left and edge b to the right; an edge of zero length is a vertex. Which vertices
    end the interval is decided at the time of touch, since a fast polygon may start the step beside the other.
    """
    a, a_next, b, b_next = edges
    tx, ty = -ny, nx
    a_low, a_high = _along(corners, a, tx, ty, time), _along(corners, a_next, tx, ty, time)
    b_low, b_high = _along(corners, b_next, tx, ty, time), _along(corners, b, tx, ty, time)
    low, high = a_low - b_low, b_high - a_high
    if a == a_next and b != b_next and min(low, high) > 0.0:
        _end(corners, edges, origins, a, b, low, nx, ny, size, found, n)
        return 1
    if b == b_next and a != a_next and max(low, high) < 0.0:
        _end(corners, edges, origins, a, b, low, nx, ny, size, found, n)
        return 1
    if min(a_high, b_high) - max(a_low, b_low) <= SAME * size:
        if abs(a_high - b_low) <= abs(a_low - b_high):
            a, b = a_next, b_next
        _corner_corner(corners, a, b, nx, ny, found, n)
        found.feature[n] = _name(edges, origins, a, b, True)
        return 1
    _end(corners, edges, origins, a, b_next, low, nx, ny, size, found, n)
    _end(corners, edges, origins, a_next, b, high, nx, ny, size, found, n + 1)
    return 2


@kernel
def _name(edges, origins, a, b, of_first):
    """feature_id of vertex a of first and an edge of second (even), or of vertex b of second and one of first (odd)."""
    if of_first:
        return ((a - origins[0]) * CODES + (edges[2] - origins[1])) * 2
    return ((edges[0] - origins[0]) * CODES + (b - origins[1])) * 2 + 1


@kernel
def _copy(found, source, target):
    found.feature[target] = found.feature[source]
    for k in range(2):
        found.normal[target, k] = found.normal[source, k]
        found.point[target, k] = found.point[source, k]
    found.gap[target] = found.gap[source]
    found.predicted[target] = found.predicted[source]


@kernel
def polygon_polygon(corners, first, second, size, margin, passed, before, after, found, n):
    """Writes the contacts of rows `first` and `second` of `corners` to `found` from row n; returns the next free row.

    There are contacts if and only if the largest separation along an edge normal is at most `margin` after the step, or
    if the caller knows that one polygon has `passed` through the other. Then points with a predicted gap up to `margin`
    count, and at least the deepest one. `before` and `after` are scratch arrays for the separations along all edge
    normals; `size` is the radius of the smaller body.
    """
    a, a_end = corners.ptr[first], corners.ptr[first + 1]
    b, b_end = corners.ptr[second], corners.ptr[second + 1]
    span = (a, a_end, b, b_end)
    limit = np.inf if passed else margin
    if _separations(corners.at1, corners.normal1, span, limit, after) > limit:
        return n
    _separations(corners.at0, corners.normal0, span, np.inf, before)
    time = _touch_time(before, after, a_end - a + b_end - b)
    nx, ny = _contact_normal(corners.normal0, span, before, after, time, BIAS * size)
    a_from, a_to = _facing(corners.at0, corners.normal0, a, a_end, nx, ny)
    b_from, b_to = _facing(corners.at0, corners.normal0, b, b_end, -nx, -ny)
    count = _stretch(corners, (a_from, a_to, b_from, b_to), (a, b), nx, ny, time, size, found, n)
    if count == 1:
        return n + 1
    limit = max(margin, min(found.predicted[n], found.predicted[n + 1]) + SAME * size)
    if found.predicted[n] > limit:
        _copy(found, n + 1, n)
        return n + 1
    return n + 1 if found.predicted[n + 1] > limit else n + 2
