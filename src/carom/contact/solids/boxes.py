"""Normal of two boxes from their fifteen separating axes, before and after free flight.

For boxes that are apart at the start it is the axis that closes last, which is the face or pair of edges that is truly
hit; for boxes that touch or overlap it is that of least overlap at the start. Among equals the one that stays open
longer counts, and axes that are equal in that too share the normal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats

EQUAL = 1e-10  # axes this close to the best one (relative to size) count as equally good
PREVIEW = 0.01  # weight of the predicted separation among axes that are equally good when the boxes touch
PARALLEL = 1e-6  # squared sine below which two edges have no common normal
FLAT = 0.99995  # an edge axis this close to a face normal (cosine, 0.01 rad) leaves the contact to the face


class Axes(NamedTuple):
    """Scratch: the axes are 3 face normals of a, 3 of b, then edge i of a with edge j of b at 6 + 3 i + j."""

    centre: Floats  # (2, 15) distance of the centres along each axis, before and after
    reach: Floats  # (2, 15) half widths of both boxes along it
    score: Floats  # (15,)
    r: Floats  # (3, 3) axes of b in the frame of a
    s: Floats  # (3, 3) their absolute values
    t: Floats  # (3,) centre of b in the frame of a


@njit(cache=True, nogil=True, error_model="numpy")
def new_axes():
    return Axes(
        np.empty((2, 15)), np.empty((2, 15)), np.empty(15), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _measure(size, fa, fb, pose, ka, kb, limit, axes, when):
    """Fills row `when`; returns the largest separation. Above `limit` the rest is left out."""
    p, q, r, s, t = pose[ka], pose[kb], axes.r, axes.s, axes.t
    centre, reach = axes.centre[when], axes.reach[when]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    top = -np.inf
    for i in range(3):
        t[i] = p[3 + i] * x + p[6 + i] * y + p[9 + i] * z
        wide = size[fa, i]
        for j in range(3):
            r[i, j] = p[3 + i] * q[3 + j] + p[6 + i] * q[6 + j] + p[9 + i] * q[9 + j]
            s[i, j] = abs(r[i, j])
            wide += size[fb, j] * s[i, j]
        centre[i], reach[i] = t[i], wide
        top = max(top, abs(t[i]) - wide)
    if top > limit:
        return top
    for j in range(3):
        centre[3 + j] = q[3 + j] * x + q[6 + j] * y + q[9 + j] * z
        reach[3 + j] = size[fb, j] + size[fa, 0] * s[0, j] + size[fa, 1] * s[1, j] + size[fa, 2] * s[2, j]
        top = max(top, abs(centre[3 + j]) - reach[3 + j])
    if top > limit:
        return top
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            k = 6 + 3 * i + j
            square = 1.0 - r[i, j] * r[i, j]
            if square < PARALLEL:
                centre[k], reach[k] = 0.0, np.inf
                continue
            scale = 1.0 / np.sqrt(square)
            centre[k] = scale * (t[i2] * r[i1, j] - t[i1] * r[i2, j])
            reach[k] = scale * (
                size[fa, i1] * s[i2, j] + size[fa, i2] * s[i1, j] + size[fb, j1] * s[i, j2] + size[fb, j2] * s[i, j1]
            )
            top = max(top, abs(centre[k]) - reach[k])
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def box_scores(size, fa, fb, pose0, pose1, ka, kb, margin, axes):
    """Separations after and before, and when the boxes touch (0 to 1), with the score of each axis at that time.

    If the separation after is above `margin` nothing else is computed.
    """
    after = _measure(size, fa, fb, pose1, ka, kb, margin, axes, 1)
    if after > margin:
        return after, 0.0, 0.0
    before = _measure(size, fa, fb, pose0, ka, kb, np.inf, axes, 0)
    time = 0.0
    for k in range(15):
        start = abs(axes.centre[0, k]) - axes.reach[0, k]
        if start > 0.0:
            end = (axes.centre[1, k] if axes.centre[0, k] >= 0.0 else -axes.centre[1, k]) - axes.reach[1, k]
            time = max(time, 1.0 if end >= 0.0 else start / (start - end))
    for k in range(15):
        start = abs(axes.centre[0, k]) - axes.reach[0, k]
        end = (axes.centre[1, k] if axes.centre[0, k] >= 0.0 else -axes.centre[1, k]) - axes.reach[1, k]
        if start == -np.inf or end == -np.inf:
            axes.score[k] = -np.inf
        else:
            axes.score[k] = start + time * (end - start) + PREVIEW * end
    return after, before, time


@njit(cache=True, nogil=True, error_model="numpy")
def _axis(pose, ka, kb, k, sign):
    """Axis k in the world, times `sign`."""
    if k < 3:
        return sign * pose[ka, 3 + k], sign * pose[ka, 6 + k], sign * pose[ka, 9 + k]
    if k < 6:
        return sign * pose[kb, k], sign * pose[kb, 3 + k], sign * pose[kb, 6 + k]
    i, j = (k - 6) // 3, (k - 6) % 3
    ax, ay, az = pose[ka, 3 + i], pose[ka, 6 + i], pose[ka, 9 + i]
    bx, by, bz = pose[kb, 3 + j], pose[kb, 6 + j], pose[kb, 9 + j]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    scale = sign / np.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@njit(cache=True, nogil=True, error_model="numpy")
def _near_face(pose, ka, kb, x, y, z):
    """Whether a direction is almost a face normal of either box."""
    for k in range(6):
        fx, fy, fz = _axis(pose, ka, kb, k, 1.0)
        if abs(fx * x + fy * y + fz * z) > FLAT:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def box_normal(axes, pose, ka, kb, size):
    """Unit normal from a to b: the best axis by score, with the frames of rows ka and kb of `pose`."""
    score, centre, bias = axes.score, axes.centre[0], EQUAL * size
    best, top = -np.inf, 0
    for k in range(6):
        if score[k] > best:
            best, top = score[k], k
    low, high = 0, 6
    edge_best = best + bias
    for k in range(6, 15):
        if score[k] > edge_best:
            x, y, z = _axis(pose, ka, kb, k, 1.0)
            if not _near_face(pose, ka, kb, x, y, z):
                edge_best, top, low, high = score[k], k, 6, 15
    if low == 6:
        best = edge_best
    x = y = z = 0.0
    for k in range(low, high):
        weight = 1.0 - (best - score[k]) / bias
        if weight > 0.0:
            ax, ay, az = _axis(pose, ka, kb, k, 1.0 if centre[k] >= 0.0 else -1.0)
            if low == 6 and _near_face(pose, ka, kb, ax, ay, az):
                continue
            x, y, z = x + weight * ax, y + weight * ay, z + weight * az
    length = np.sqrt(x * x + y * y + z * z)
    if length < 1e-4:  # equal axes that cancel: every way out is as good
        return _axis(pose, ka, kb, top, 1.0 if centre[top] >= 0.0 else -1.0)
    return x / length, y / length, z / length
