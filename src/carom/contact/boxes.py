"""Two boxes: their fifteen separating axes before and after free flight, and the normal that follows from them.

For boxes that are apart at the start the normal is the axis that closes last, which belongs to the face or pair of
edges that is hit; for boxes that touch or overlap it is the axis of least overlap at the start. Among equal axes the
one that stays open longer is chosen; if these are equal too, they share the normal.

All directions are in the frame of the first box.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel

EQUAL = 1e-10  # axes whose score is this close to the best (relative to size) are equal
PREVIEW = 0.01  # weight of the predicted separation in the score: decides among axes that are equal at the touch
PARALLEL = 1e-6  # squared sine of the angle below which two edges are parallel
FLAT = 0.99995  # cosine (0.01 rad) above which an edge axis counts as a face normal, ...
CLEARER = (
    0.01  # ... unless it separates the boxes by more than this beyond the face, in half widths of the smaller body
)


# Rows of the scratch table of a pair, which has 15 columns. Columns of axes: 3 face normals of a, 3 of b, then edge i
# of a with edge j of b at 6 + 3 i + j. CENTER: distance of the centers along each axis; REACH: sum of the half widths
# along it; TURN: axes of b in the frame of a, row by row, then the center of b; each before the step, and in the next
# row after it. SCORE. SIZES: absolute values of TURN.
CENTER, REACH, TURN, SCORE, SIZES, ROWS = 0, 2, 4, 6, 7, 8


@kernel
def put_turn(pose, ka, kb, w, row):
    """Writes the axes of b in the frame of a, and the center of b, to a row."""
    x, y, z = pose[kb, 0] - pose[ka, 0], pose[kb, 1] - pose[ka, 1], pose[kb, 2] - pose[ka, 2]
    for i in range(3):
        ax, ay, az = pose[ka, 3 + i], pose[ka, 6 + i], pose[ka, 9 + i]
        for j in range(3):
            w[row, 3 * i + j] = ax * pose[kb, 3 + j] + ay * pose[kb, 6 + j] + az * pose[kb, 9 + j]
        w[row, 9 + i] = ax * x + ay * y + az * z


@kernel
def _along(table, fa, fb, w, r, k):
    """Distance of the centers along axis k, and the sum of the half widths along it, from row r and SIZES."""
    s = SIZES
    a0, a1, a2, b0, b1, b2 = table[fa, 1], table[fa, 2], table[fa, 3], table[fb, 1], table[fb, 2], table[fb, 3]
    if k < 3:
        return w[r, 9 + k], table[fa, 1 + k] + b0 * w[s, 3 * k] + b1 * w[s, 3 * k + 1] + b2 * w[s, 3 * k + 2]
    if k < 6:
        j = k - 3
        t = w[r, j] * w[r, 9] + w[r, 3 + j] * w[r, 10] + w[r, 6 + j] * w[r, 11]
        return t, table[fb, 1 + j] + a0 * w[s, j] + a1 * w[s, 3 + j] + a2 * w[s, 6 + j]
    i, j = (k - 6) // 3, (k - 6) % 3
    i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    square = 1.0 - w[r, 3 * i + j] * w[r, 3 * i + j]
    if square < PARALLEL:
        return 0.0, np.inf
    scale = 1.0 / np.sqrt(square)
    t = w[r, 9 + i2] * w[r, 3 * i1 + j] - w[r, 9 + i1] * w[r, 3 * i2 + j]
    wide = table[fa, 1 + i1] * w[s, 3 * i2 + j] + table[fa, 1 + i2] * w[s, 3 * i1 + j]
    wide += table[fb, 1 + j1] * w[s, 3 * i + j2] + table[fb, 1 + j2] * w[s, 3 * i + j1]
    return scale * t, scale * wide


@kernel
def _measure(table, fa, fb, pose, ka, kb, limit, trial, w, when):
    """Fills rows CENTER and REACH before (`when` 0) or after (1) the step.

    Returns the largest separation, and its axis. It stops where a separation is above `limit`; axis `trial` comes
    first.
    """
    r = TURN + when
    put_turn(pose, ka, kb, w, r)
    for k in range(9):
        w[SIZES, k] = abs(w[r, k])
    t, wide = _along(table, fa, fb, w, r, trial)
    if abs(t) - wide > limit:
        return abs(t) - wide, trial
    # The same terms as in `_along`, in loops that are unrolled.
    c, d, s = CENTER + when, REACH + when, SIZES
    a0, a1, a2, b0, b1, b2 = table[fa, 1], table[fa, 2], table[fa, 3], table[fb, 1], table[fb, 2], table[fb, 3]
    top, axis = -np.inf, 0
    for i in range(3):
        t, wide = w[r, 9 + i], table[fa, 1 + i] + b0 * w[s, 3 * i] + b1 * w[s, 3 * i + 1] + b2 * w[s, 3 * i + 2]
        w[c, i], w[d, i] = t, wide
        if abs(t) - wide > top:
            top, axis = abs(t) - wide, i
    if top > limit:
        return top, axis
    for j in range(3):
        t = w[r, j] * w[r, 9] + w[r, 3 + j] * w[r, 10] + w[r, 6 + j] * w[r, 11]
        wide = table[fb, 1 + j] + a0 * w[s, j] + a1 * w[s, 3 + j] + a2 * w[s, 6 + j]
        w[c, 3 + j], w[d, 3 + j] = t, wide
        if abs(t) - wide > top:
            top, axis = abs(t) - wide, 3 + j
    if top > limit:
        return top, axis
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        h1, h2, t1, t2 = table[fa, 1 + i1], table[fa, 1 + i2], w[r, 9 + i1], w[r, 9 + i2]
        for j in range(3):
            j1, j2, k = (j + 1) % 3, (j + 2) % 3, 6 + 3 * i + j
            square = 1.0 - w[r, 3 * i + j] * w[r, 3 * i + j]
            if square < PARALLEL:
                w[c, k], w[d, k] = 0.0, np.inf
                continue
            scale = 1.0 / np.sqrt(square)
            t = scale * (t2 * w[r, 3 * i1 + j] - t1 * w[r, 3 * i2 + j])
            wide = h1 * w[s, 3 * i2 + j] + h2 * w[s, 3 * i1 + j]
            wide += table[fb, 1 + j1] * w[s, 3 * i + j2] + table[fb, 1 + j2] * w[s, 3 * i + j1]
            wide *= scale
            w[c, k], w[d, k] = t, wide
            if abs(t) - wide > top:
                top, axis = abs(t) - wide, k
        if top > limit:
            return top, axis
    return top, axis


@kernel
def box_gap(table, fa, fb, pose, ka, kb, w):
    """The gap of two boxes: exact where they overlap, else some positive separation. `w` is a scratch table."""
    return _measure(table, fa, fb, pose, ka, kb, 0.0, 0, w, 0)[0]


@kernel
def _ends(w, k):
    """Separation along axis k before and after the step, with the direction in which b lies before it."""
    t0, t1 = w[CENTER, k], w[CENTER + 1, k]
    return abs(t0) - w[REACH, k], (t1 if t0 >= 0.0 else -t1) - w[REACH + 1, k]


@kernel
def box_scores(table, fa, fb, pose, ka, kb, after, margin, trial, w):
    """Separations after and before the step, the time of touch (0 to 1), and the axis of the largest separation after.

    Poses after the step are `after` rows farther down. If the separation then is above `margin`, nothing else is
    computed; otherwise the scores of all axes are written. Axis `trial` is looked at first, as it may suffice.
    """
    last, axis = _measure(table, fa, fb, pose, ka + after, kb + after, margin, trial, w, 1)
    if last > margin:
        return last, 0.0, 0.0, axis
    first, _ = _measure(table, fa, fb, pose, ka, kb, np.inf, 0, w, 0)
    time = 0.0
    for k in range(15):
        start, end = _ends(w, k)
        if start > margin:  # an axis within the margin counts as closed, so that rounding does not matter
            time = max(time, min((start - margin) / (start - end), 1.0) if start > end else 1.0)
    for k in range(15):
        start, end = _ends(w, k)
        if start == -np.inf or end == -np.inf:
            w[SCORE, k] = -np.inf
        else:
            w[SCORE, k] = start + time * (end - start) + PREVIEW * end
    return last, first, time, axis


@kernel
def _axis(w, r, k, sign):
    """Axis k times `sign`, with the axes of b in row r."""
    if k < 3:
        return (sign if k == 0 else 0.0), (sign if k == 1 else 0.0), (sign if k == 2 else 0.0)
    if k < 6:
        return sign * w[r, k - 3], sign * w[r, k], sign * w[r, k + 3]
    i, j = (k - 6) // 3, (k - 6) % 3
    bx, by, bz = w[r, j], w[r, 3 + j], w[r, 6 + j]
    if i == 0:
        x, y, z = 0.0, -bz, by
    elif i == 1:
        x, y, z = bz, 0.0, -bx
    else:
        x, y, z = -by, bx, 0.0
    scale = sign / np.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@kernel
def _near_face(w, r, x, y, z):
    """Whether a direction is nearly a face normal of one of the boxes."""
    top = max(abs(x), abs(y), abs(z))
    for j in range(3):
        top = max(top, abs(w[r, j] * x + w[r, 3 + j] * y + w[r, 6 + j] * z))
    return top > FLAT


@kernel
def box_normal(w, r, size, inner):
    """Unit normal from a to b in the frame of a: the best axis by score, with the axes of b in row r."""
    bias = EQUAL * size
    best, top = -np.inf, 0
    for k in range(6):
        if w[SCORE, k] > best:
            best, top = w[SCORE, k], k
    low, high = 0, 6
    edge_best, clear = best + bias, best + CLEARER * inner
    for k in range(6, 15):
        if w[SCORE, k] > edge_best:
            x, y, z = _axis(w, r, k, 1.0)
            if w[SCORE, k] > clear or not _near_face(w, r, x, y, z):
                edge_best, top, low, high = w[SCORE, k], k, 6, 15
    if low == 6:
        best = edge_best
    x = y = z = 0.0
    for k in range(low, high):
        # Axes that are equal up to rounding must have equal weights.
        weight = min(1.0, 2.0 - 2.0 * (best - w[SCORE, k]) / bias)
        if weight > 0.0:
            ax, ay, az = _axis(w, r, k, 1.0 if w[CENTER, k] >= 0.0 else -1.0)
            if low == 6 and w[SCORE, k] <= clear and _near_face(w, r, ax, ay, az):
                continue
            x, y, z = x + weight * ax, y + weight * ay, z + weight * az
    length = np.sqrt(x * x + y * y + z * z)
    if length < 1e-4:  # equal axes that cancel: any of them is as good
        return _axis(w, r, top, 1.0 if w[CENTER, top] >= 0.0 else -1.0)
    return x / length, y / length, z / length
