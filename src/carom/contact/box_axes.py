"""Two boxes: their fifteen separating axes before and after free flight, and the normal that follows from them.

For boxes that are apart at the start the normal is the axis that closes last, which belongs to the face or pair of
edges that is hit; for boxes that touch or overlap it is the axis of least overlap at the start. Among equal axes the
one that stays open longer is chosen; if these are equal too, they share the normal.

Axes 0 to 2 are the face normals of the first box a, 3 to 5 those of the second box b, and 6 + 3 i + j is perpendicular
to edge i of a and edge j of b. Directions are in the frame of a: R has the axes of b as columns, c is the center of b,
g and h are the half edges of a and b, S = |R|. Centers are apart by t, and half widths add up to w:

    faces of a: t = c, w = g + S h;    faces of b: t = R^T c, w = h + S^T g;
    edges: t_j = c_2 R_1j - c_1 R_2j, w_j = g_1 S_2j + g_2 S_1j + (h_j1 S_ij2 + h_j2 S_ij1), both over |a_i x b_j|,

where 1 and 2 are the axes of a after i, and j1 and j2 those of b after j. Along an axis the boxes are |t| - w apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Mat3, Vec3, norm, to_local, to_world
from ..kernels import kernel, lean
from ..solvers.rows import Floats
from .parts import relative_pose

EQUAL_AXES = 1e-10  # axes whose score is this close to the best (relative to size) are equal
AXIS_PREVIEW = 0.01  # weight of the predicted separation in the score: decides among axes that are equal at the touch
PARALLEL_EDGES = 1e-6  # squared sine of the angle below which two edges are parallel
FACE_COSINE = 0.99995  # cosine (0.01 rad) above which an edge axis counts as a face normal, ...
CLEARER_EDGE = 0.01  # ... unless it separates the boxes by more beyond the face, in half widths of the smaller body
BEFORE, AFTER = 0, 1  # rows of BoxAxes


class BoxAxes(NamedTuple):
    """Scratch arrays for the separating axes of one pair of boxes, before and after the step."""

    center: Floats  # (2, 15) distance t of the centers along each axis
    width: Floats  # (2, 15) sum w of the half widths along it
    score: Floats  # (15,)


@kernel(inline="always")
def box_axes():
    """New scratch arrays."""
    return BoxAxes(np.empty((2, 15)), np.empty((2, 15)), np.empty(15))


@kernel(inline="always")
def _abs(a):
    return Vec3(abs(a.x), abs(a.y), abs(a.z))


@kernel(inline="always")
def _next(a):
    """The components in cyclic order from the second on."""
    return Vec3(a.y, a.z, a.x)


@kernel(inline="always")
def _edge_axes(c, g, r, s, h):
    """Numerators t and w and squares |a x b|^2 of the axes of edge x of a with the edges of b."""
    t = c.z * r.y - c.y * r.z
    w = g.y * s.z + g.z * s.y
    return t, w + Vec3(
        h.y * s.x.z + h.z * s.x.y, h.z * s.x.x + h.x * s.x.z, h.x * s.x.y + h.y * s.x.x
    ), Vec3(1.0 - r.x.x * r.x.x, 1.0 - r.x.y * r.x.y, 1.0 - r.x.z * r.x.z)  # fmt: skip


@kernel(inline="always")
def _over_length(t, w, square):
    """t and w over the length of an axis; infinitely wide if the two edges are parallel."""
    if square < PARALLEL_EDGES:
        return 0.0, np.inf
    scale = 1.0 / np.sqrt(square)
    return scale * t, scale * w


@kernel
def _along(b, g, h, k):
    """t and w of axis k for a box with half edges h at pose b in the frame of the other, with half edges g."""
    c, r = b.position, b.turn
    s = Mat3(_abs(r.x), _abs(r.y), _abs(r.z))
    if k < 3:
        return c[k], g[k] + to_world(s, h)[k]
    if k < 6:
        return to_local(r, c)[k - 3], h[k - 3] + to_local(s, g)[k - 3]
    for _ in range((k - 6) // 3):
        c, g, r, s = _next(c), _next(g), Mat3(r.y, r.z, r.x), Mat3(s.y, s.z, s.x)
    t, w, square = _edge_axes(c, g, r, s, h)
    j = (k - 6) % 3
    return _over_length(t[j], w[j], square[j])


@kernel(inline="always")
def _put(axes, when, k, t, w, top):
    """Writes axis k; returns (separation, axis) of the best so far, before which it was `top`."""
    axes.center[when, k], axes.width[when, k] = t, w
    return (abs(t) - w, k) if abs(t) - w > top[0] else top


@lean
def _measure(b, g, h, limit, trial, axes, when):
    """Writes center and width of the axes before or after the step; returns the largest separation, and its axis.

    It stops where a separation is above `limit`; axis `trial` comes first.
    """
    t, w = _along(b, g, h, trial)
    if abs(t) - w > limit:
        return abs(t) - w, trial
    c, r, top = b.position, b.turn, (-np.inf, 0)
    s = Mat3(_abs(r.x), _abs(r.y), _abs(r.z))
    wide = g + to_world(s, h)
    top = _put(axes, when, 0, c.x, wide.x, top)
    top = _put(axes, when, 1, c.y, wide.y, top)
    top = _put(axes, when, 2, c.z, wide.z, top)
    if top[0] > limit:
        return top
    d, wide = to_local(r, c), h + to_local(s, g)
    top = _put(axes, when, 3, d.x, wide.x, top)
    top = _put(axes, when, 4, d.y, wide.y, top)
    top = _put(axes, when, 5, d.z, wide.z, top)
    for k in range(6, 15, 3):
        if top[0] > limit:
            return top
        d, wide, square = _edge_axes(c, g, r, s, h)
        t, w = _over_length(d.x, wide.x, square.x)
        top = _put(axes, when, k, t, w, top)
        t, w = _over_length(d.y, wide.y, square.y)
        top = _put(axes, when, k + 1, t, w, top)
        t, w = _over_length(d.z, wide.z, square.z)
        top = _put(axes, when, k + 2, t, w, top)
        c, g, r, s = _next(c), _next(g), Mat3(r.y, r.z, r.x), Mat3(s.y, s.z, s.x)
    return top


@kernel(inline="always")
def box_gap(a, g, b, h, limit, axes):
    """Gap of boxes with half edges g and h at poses a and b: exact up to `limit` <= 0, else a separation above it."""
    return _measure(relative_pose(b, a), g, h, limit, 0, axes, BEFORE)[0]


@kernel(inline="always")
def _ends(axes, k):
    """Separation along axis k before and after the step, with the direction in which b lies before it."""
    t0, t1 = axes.center[BEFORE, k], axes.center[AFTER, k]
    return abs(t0) - axes.width[BEFORE, k], (t1 if t0 >= 0.0 else -t1) - axes.width[AFTER, k]


@kernel(inline="always")
def box_separation(end, g, h, margin, trial, axes):
    """Largest separation of two boxes after the step and its axis; b, with half edges h, is then at the pose `end`.

    If it is above `margin`, other axes may be better: axis `trial` is looked at first, as it may suffice.
    """
    return _measure(end, g, h, margin, trial, axes, AFTER)


@lean
def box_touch(start, g, h, margin, axes):
    """Separation of two boxes before the step and the time (0 to 1) of their touch, after `box_separation`.

    Writes the scores of all axes.
    """
    first, _ = _measure(start, g, h, np.inf, 0, axes, BEFORE)
    time = 0.0
    for k in range(15):
        before, after = _ends(axes, k)
        if before > margin:  # an axis within the margin counts as closed, so that rounding does not matter
            time = max(time, min((before - margin) / (before - after), 1.0) if before > after else 1.0)
    for k in range(15):
        before, after = _ends(axes, k)
        if before == -np.inf or after == -np.inf:
            axes.score[k] = -np.inf
        else:
            axes.score[k] = before + time * (after - before) + AXIS_PREVIEW * after
    return first, time


@kernel
def _axis(r, k, sign):
    """The unit vector of axis k times `sign`; r has the axes of b as columns."""
    if k < 3:
        return Vec3(sign if k == 0 else 0.0, sign if k == 1 else 0.0, sign if k == 2 else 0.0)
    j = k % 3
    b = Vec3(r.x[j], r.y[j], r.z[j])
    if k < 6:
        return sign * b
    i = (k - 6) // 3
    n = Vec3(0.0, -b.z, b.y) if i == 0 else (Vec3(b.z, 0.0, -b.x) if i == 1 else Vec3(-b.y, b.x, 0.0))
    return (sign / norm(n)) * n


@kernel(inline="always")
def _is_near_face(r, n):
    """Whether a direction is nearly a face normal of one of the boxes."""
    d = to_local(r, n)
    return max(abs(n.x), abs(n.y), abs(n.z), abs(d.x), abs(d.y), abs(d.z)) > FACE_COSINE


@lean
def box_normal(axes, r, size, inner):
    """Unit normal from a to b in the frame of a: the best axis by score; r has the axes of b as columns.

    `size` is the size of the smaller box, `inner` the half width of the smaller body.
    """
    score, bias = axes.score, EQUAL_AXES * size
    best, top = -np.inf, 0
    for k in range(6):
        if score[k] > best:
            best, top = score[k], k
    low, high = 0, 6
    edge_best, clear = best + bias, best + CLEARER_EDGE * inner
    for k in range(6, 15):
        if score[k] > edge_best and (score[k] > clear or not _is_near_face(r, _axis(r, k, 1.0))):
            edge_best, top, low, high = score[k], k, 6, 15
    if low == 6:
        best = edge_best
    n = Vec3(0.0, 0.0, 0.0)
    for k in range(low, high):
        # Axes that are equal up to rounding must have equal weights.
        weight = min(1.0, 2.0 - 2.0 * (best - score[k]) / bias)
        if weight > 0.0:
            axis = _axis(r, k, 1.0 if axes.center[BEFORE, k] >= 0.0 else -1.0)
            if low == 6 and score[k] <= clear and _is_near_face(r, axis):
                continue
            n = n + weight * axis
    length = norm(n)
    if length < 1e-4:  # equal axes that cancel: any of them is as good
        return _axis(r, top, 1.0 if axes.center[BEFORE, top] >= 0.0 else -1.0)
    return n / length
