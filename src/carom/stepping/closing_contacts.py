"""Which contacts of a sub-stepped step impact, from their records (`relaxation.py`), and what impacts change."""

from __future__ import annotations

import numpy as np

from ..contact.contact_set import FIRST, GAP, PREDICTED, SECOND
from ..kernels import kernel, lean
from ..solvers.substeps import layout
from .impact_stage import ELASTIC_REST


@lean
def approach(axes, spins, records, bodies, table, limits, lengths, speeds):
    """Writes normal speeds and resting speeds (m, 2). Returns the largest speed, and the energy of the impacts.

    An impact is a contact that closes in the step and approaches faster than its resting speed. `limits` are those
    speeds of the bodies (n,) and coefficients of restitution (m,). `lengths` are the gap at the end of the step up to
    which speeds count for the largest, that up to which bodies touch, and the overlap of a fast contact that may wait
    for the law in the next step, because the step does not close it: relaxation must not stop it. Approach up to the
    last of the `limits`, the speed that the law may have left, is not fast.
    """
    (near, touch, wait), (slow, restitution, left) = lengths, limits
    d, a, motion, body, data = len(axes), len(spins), bodies.motion, records.body, records.data
    arms, mass, base, gap_at, _, friction = layout(axes, spins)
    top, energy = 0.0, 0.0
    for i in range(len(body)):
        first, second = int(table[i, FIRST]), int(table[i, SECOND])
        limit = max(slow[first], slow[second] if second >= 0 else 0.0, left)
        top = max(top, limit)
        if restitution[i] == 1.0 and data[i, friction] == 0.0:
            limit = max(ELASTIC_REST * limit, left)
        for row in range(d):
            u = data[i, base + row]
            for c in range(d):
                u += data[i, row * d + c] * (motion[body[i, 1], c] - motion[body[i, 0], c])
            for c in range(a):
                u += data[i, arms + 2 * row * a + c] * motion[body[i, 0], d + c]
                u += data[i, arms + (2 * row + 1) * a + c] * motion[body[i, 1], d + c]
            if row == 0:
                speeds[i, 0], speeds[i, 1], data[i, gap_at] = u, limit, table[i, GAP]
                if u < -limit and table[i, PREDICTED] <= touch:
                    energy += 0.5 * data[i, mass] * u * u
                elif u < -limit and restitution[i] > 0.0:
                    data[i, gap_at] += wait
            if table[i, PREDICTED] > near:
                break
            top = max(top, -u if row == 0 else abs(u))
    return top, energy


@lean
def put_bends(axes, spins, records, bodies, h, table):
    """Writes by how much each gap at the end of free motion is larger than its displacement along the normal tells."""
    d, a, motion, pull = len(axes), len(spins), bodies.motion, bodies.pull
    body, data = records.body, records.data
    arms, _, base, gap_at, bend, _ = layout(axes, spins)
    for i in range(len(body)):
        first, second, u = body[i, 0], body[i, 1], data[i, base]
        for c in range(d):
            u += data[i, c] * (motion[second, c] - motion[first, c] + 0.5 * h * (pull[second, c] - pull[first, c]))
        for c in range(a):
            u += data[i, arms + c] * (motion[first, d + c] + 0.5 * h * pull[first, d + c])
            u += data[i, arms + a + c] * (motion[second, d + c] + 0.5 * h * pull[second, d + c])
        data[i, bend] = table[i, PREDICTED] - data[i, gap_at] - h * u


@lean
def keep_near(table, searched, margin):
    """Moves the contacts that free motion closes, or that reversed velocities would close, to the front of a table.

    Returns their number and their deepest overlap. `searched` (n,) are gaps up to which contacts are searched.
    """
    count, least = 0, 0.0
    for i in range(len(table)):
        first, second, gap = int(table[i, FIRST]), int(table[i, SECOND]), table[i, GAP]
        if gap > max(searched[first], searched[second] if second >= 0 else 0.0) and table[i, PREDICTED] > margin:
            continue
        for k in range(table.shape[1] if count < i else 0):
            table[count, k] = table[i, k]
        count, least = count + 1, min(least, gap)
    return count, -least


@kernel
def involved(body, table, speeds, touch, enough, taken):
    """The closing contacts (k,), ascending, that the law is given. Marks them in `taken` (m,).

    These are the closing contacts of the bodies of impacts, those that were taken before, and others that these are
    connected to by closing contacts, nearest first, as long as there are fewer than `enough`.
    """
    n = body.max()
    marked, out, count, last = np.zeros(n + 1, np.bool_), np.empty(len(body), np.int64), 0, -1
    for i in range(len(body)):
        if taken[i] or (table[i, PREDICTED] <= touch and speeds[i, 0] < -speeds[i, 1]):
            marked[body[i, 0]] = marked[body[i, 1]] = True
    while count > last:
        last, count = count, 0
        for i in range(len(body)):
            close = taken[i] or table[i, PREDICTED] <= touch
            if close and ((marked[body[i, 0]] and body[i, 0] < n) or (marked[body[i, 1]] and body[i, 1] < n)):
                out[count] = i
                count += 1
        if count >= enough:
            break
        for j in range(count):
            marked[body[out[j], 0]] = marked[body[out[j], 1]] = True
    for j in range(count):
        taken[out[j]] = True
    return out[:count]


@lean
def predict(axes, spins, records, bodies, h, before, table):
    """Adds to the predicted gaps of a table what the velocities and displacements of impacts have changed.

    `before` (n + 1, 2 (D + A) + 2) are the motions before these.
    """
    d, a, motion, body, data = len(axes), len(spins), bodies.motion, records.body, records.data
    arms, moved = layout(axes, spins)[0], len(axes) + len(spins) + 2
    for i in range(len(body)):
        first, second, closer = body[i, 0], body[i, 1], 0.0
        for c in range(d):
            for side in range(2):
                b, sign = (first, -1.0) if side == 0 else (second, 1.0)
                change = h * (motion[b, c] - before[b, c]) + motion[b, moved + c] - before[b, moved + c]
                closer += sign * data[i, c] * change
        for c in range(a):
            for side in range(2):
                b, e = (first, data[i, arms + c]) if side == 0 else (second, data[i, arms + a + c])
                change = h * (motion[b, d + c] - before[b, d + c])
                closer += e * (change + motion[b, moved + d + c] - before[b, moved + d + c])
        table[i, PREDICTED] += closer


@lean
def moved_unseen(start, free, end, arm, searched, lengths, out):
    """Marks the bodies about which the gaps of contacts do not tell enough; returns how many, and the largest motion.

    `start`, `free` and `end` are positions and orientations (n, 1 or 4) at the start of the step, after free motion and
    at its end; `searched` (n,) gaps up to which contacts are known. `lengths` are the gap after free motion up to which
    all of them are known, the overlap that does not matter, and the displacement up to which gaps are known.

    A gap that is not known is larger than that of the search after free motion; or it is larger at the start, and free
    motion does not close it. Each of two bodies may use up half of such a gap, by its displacement, or by how far it
    ends from its free motion.
    """
    closed, overlap, known = lengths
    count, largest = 0, 0.0
    for b in range(len(searched)):
        whole, change = 0.0, 0.0
        for c in range(start[0].shape[1]):
            whole += (end[0][b, c] - start[0][b, c]) ** 2
            change += (end[0][b, c] - free[0][b, c]) ** 2
        whole = np.sqrt(whole) + arm[b] * _chord(start[1], end[1], b)
        change = np.sqrt(change) + arm[b] * _chord(free[1], end[1], b)
        half = 0.5 * (searched[b] + overlap)
        out[b] = whole > known or change > half or (change > 0.5 * (closed + overlap) and whole > half)
        count, largest = count + int(out[b]), max(largest, whole)
    return count, largest


@kernel(inline="always")
def _chord(before, after, b):
    """Bound on the displacement, at distance 1 from its axis, by the rotation from one orientation to another.

    Unit quaternions p and q that are apart by |q - p| = 2 sin(angle / 4) make a chord 2 sin(angle / 2) <= 2 |q - p|.
    """
    if before.shape[1] == 1:
        return abs(after[b, 0] - before[b, 0])
    near = far = 0.0
    for k in range(4):
        near += (after[b, k] - before[b, k]) ** 2
        far += (after[b, k] + before[b, k]) ** 2  # -p is the same rotation as p
    return 2.0 * np.sqrt(min(near, far))
