"""Contact normal of two boxes from their fifteen separating axes, before and after free flight.

For boxes that are apart at the start it is the axis that closes last, which belongs to the face or pair of edges that
is hit; for boxes that touch or overlap it is the axis of least overlap at the start. Among equal axes the one that
stays open longer is chosen; if these are equal too, they share the normal.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel

EQUAL = 1e-10  # axes whose score is this close to the best (relative to size) are equal
PREVIEW = 0.01  # weight of the predicted separation in the score: decides among axes that are equal at the touch
PARALLEL = 1e-6  # squared sine of the angle below which two edges are parallel
FLAT = 0.99995  # cosine (0.01 rad) above which an edge axis counts as a face normal


# Rows of the table of axes, which has 15 columns: 3 face normals of a, 3 of b, then edge i of a with edge j of b at
# 6 + 3 i + j. CENTER: distance of the centers along each axis; REACH: sum of the half widths along it; both before the
# step, and in the next row after it. SCORE. TURN: axes of b in the frame of a, then the center of b. SIZES: absolute
# values of TURN.
CENTER, REACH, SCORE, TURN, SIZES, ROWS = 0, 2, 4, 5, 6, 7


@kernel
def _measure(table, fa, fb, pose, ka, kb, limit, axes, when):
    """Fills rows CENTER and REACH before (`when` 0) or after (1) the step; returns the largest separation."""
    c, w, r, s = CENTER + when, REACH + when, TURN, SIZES
    x, y, z = pose[kb, 0] - pose[ka, 0], pose[kb, 1] - pose[ka, 1], pose[kb, 2] - pose[ka, 2]
    top = -np.inf
    for i in range(3):
        ax, ay, az = pose[ka, 3 + i], pose[ka, 6 + i], pose[ka, 9 + i]
        wide, t = table[fa, 1 + i], ax * x + ay * y + az * z
        for j in range(3):
            cosine = ax * pose[kb, 3 + j] + ay * pose[kb, 6 + j] + az * pose[kb, 9 + j]
            axes[r, 3 * i + j], axes[s, 3 * i + j] = cosine, abs(cosine)
            wide += table[fb, 1 + j] * abs(cosine)
        axes[c, i], axes[w, i], axes[r, 9 + i] = t, wide, t
        top = max(top, abs(t) - wide)
    if top > limit:
        return top
    a0, a1, a2 = table[fa, 1], table[fa, 2], table[fa, 3]
    for j in range(3):
        t = pose[kb, 3 + j] * x + pose[kb, 6 + j] * y + pose[kb, 9 + j] * z
        wide = table[fb, 1 + j] + a0 * axes[s, j] + a1 * axes[s, 3 + j] + a2 * axes[s, 6 + j]
        axes[c, 3 + j], axes[w, 3 + j] = t, wide
        top = max(top, abs(t) - wide)
    if top > limit:
        return top
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        h1, h2, t1, t2 = table[fa, 1 + i1], table[fa, 1 + i2], axes[r, 9 + i1], axes[r, 9 + i2]
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            k = 6 + 3 * i + j
            square = 1.0 - axes[r, 3 * i + j] ** 2
            if square < PARALLEL:
                axes[c, k], axes[w, k] = 0.0, np.inf
                continue
            scale = 1.0 / np.sqrt(square)
            t = scale * (t2 * axes[r, 3 * i1 + j] - t1 * axes[r, 3 * i2 + j])
            wide = h1 * axes[s, 3 * i2 + j] + h2 * axes[s, 3 * i1 + j]
            wide += table[fb, 1 + j1] * axes[s, 3 * i + j2] + table[fb, 1 + j2] * axes[s, 3 * i + j1]
            wide *= scale
            axes[c, k], axes[w, k] = t, wide
            top = max(top, abs(t) - wide)
    return top


@kernel
def _ends(axes, k):
    """Separation along axis k before and after the step, with the direction in which b lies before it."""
    t0, t1 = axes[CENTER, k], axes[CENTER + 1, k]
    return abs(t0) - axes[REACH, k], (t1 if t0 >= 0.0 else -t1) - axes[REACH + 1, k]


@kernel
def box_scores(table, fa, fb, pose, ka, kb, after, margin, axes):
    """Separations after and before the step, and the time of touch (0 to 1); writes the scores of all axes then.

    Poses after the step are `after` rows farther down. If the separation then is above `margin`, nothing else is
    computed.
    """
    last = _measure(table, fa, fb, pose, ka + after, kb + after, margin, axes, 1)
    if last > margin:
        return last, 0.0, 0.0
    first = _measure(table, fa, fb, pose, ka, kb, np.inf, axes, 0)
    time = 0.0
    for k in range(15):
        start, end = _ends(axes, k)
        if start > margin:  # an axis within the margin counts as closed, so that rounding does not matter
            time = max(time, min((start - margin) / (start - end), 1.0) if start > end else 1.0)
    for k in range(15):
        start, end = _ends(axes, k)
        if start == -np.inf or end == -np.inf:
            axes[SCORE, k] = -np.inf
        else:
            axes[SCORE, k] = start + time * (end - start) + PREVIEW * end
    return last, first, time


@kernel
def _axis(pose, ka, kb, k, sign):
    """Axis k in the frame of the world, times `sign`."""
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


@kernel
def _near_face(pose, ka, kb, x, y, z):
    """Whether a direction is nearly a face normal of one of the boxes."""
    for k in range(6):
        fx, fy, fz = _axis(pose, ka, kb, k, 1.0)
        if abs(fx * x + fy * y + fz * z) > FLAT:
            return True
    return False


@kernel
def box_normal(axes, pose, ka, kb, size):
    """Unit normal from a to b: the best axis by score, with the frames of rows ka and kb of `pose`."""
    bias = EQUAL * size
    best, top = -np.inf, 0
    for k in range(6):
        if axes[SCORE, k] > best:
            best, top = axes[SCORE, k], k
    low, high = 0, 6
    edge_best = best + bias
    for k in range(6, 15):
        if axes[SCORE, k] > edge_best:
            x, y, z = _axis(pose, ka, kb, k, 1.0)
            if not _near_face(pose, ka, kb, x, y, z):
                edge_best, top, low, high = axes[SCORE, k], k, 6, 15
    if low == 6:
        best = edge_best
    x = y = z = 0.0
    for k in range(low, high):
        # Axes that are equal up to rounding must have equal weights.
        weight = min(1.0, 2.0 - 2.0 * (best - axes[SCORE, k]) / bias)
        if weight > 0.0:
            ax, ay, az = _axis(pose, ka, kb, k, 1.0 if axes[CENTER, k] >= 0.0 else -1.0)
            if low == 6 and _near_face(pose, ka, kb, ax, ay, az):
                continue
            x, y, z = x + weight * ax, y + weight * ay, z + weight * az
    length = np.sqrt(x * x + y * y + z * z)
    if length < 1e-4:  # equal axes that cancel: any of them is as good
        return _axis(pose, ka, kb, top, 1.0 if axes[CENTER, top] >= 0.0 else -1.0)
    return x / length, y / length, z / length
