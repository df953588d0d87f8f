"""The impact stage of a step: which contacts an impact involves, when it takes place, and what it changes.

Contacts are found once per step. Impulses change speeds, and with them the gaps at the end of the step, in proportion.

An impact does not take place at the start of a step but when a gap closes. Until then gravity accelerates the bodies,
and a ball that is reflected too early keeps the potential energy of its remaining fall instead of losing the share that
restitution dissipates. Therefore an island of bodies in free fall is resolved with its velocities at the time t at
which its first fast contact closes. A change dv of velocity at t is the same as one at the start with a displacement of
`-t dv`, rotation included: free motion from there passes through the impact. Free motion conserves energy and the law
adds none, so the step adds none. Bodies that rest on others keep their velocity of the start, because contact forces
balance gravity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import FIRST, PREDICTED, SECOND
from ..kernels import kernel
from ..solvers.islands import body_islands, islands
from ..solvers.rows import Floats, row_speed

PRESSED = 0.05  # acceleration of a gap, relative to that of free fall, from which a slow contact carries its bodies


class Approach(NamedTuple):
    """Gaps and speeds of all contacts of a step while impacts change the velocities. Kernels write into the arrays."""

    velocity: Floats  # (n, d) whitened, at the start of the step
    shift: Floats  # (n, d) whitened displacement of the start
    time: Floats  # (n,) of the last impact within the step
    speed: Floats  # (m,) normal speeds
    limit: Floats  # (m,) slower approach is resting contact
    gap: Floats  # (m,) at the start
    predicted: Floats  # (m,) at the end
    # Contacts that took part once take part again: otherwise two neighbors could push a body back and forth.
    taken: NDArray[np.bool_]  # (m,)


@kernel
def approach_speeds(rows, x, table, slow, lengths):
    """Normal speeds and resting speeds (2, m), the largest speed, and whether a closing contact approaches fast.

    `table` is that of the contacts. `slow` (n,) are the resting speeds of the bodies; boundaries have none. `lengths`
    are the gap at the end of the step up to which approach and slip count for the largest speed, beside the resting
    speeds, and the gap up to which bodies touch.
    """
    near, touch = lengths
    out, top, fast = np.empty((2, len(table))), 0.0, False
    speed, limit = out
    last = min(1 + rows.tangents, rows.base.shape[1])
    for i in range(len(table)):
        first, second, predicted = int(table[i, FIRST]), int(table[i, SECOND]), table[i, PREDICTED]
        limit[i] = max(slow[first], slow[second] if second >= 0 else 0.0)
        speed[i] = row_speed(rows, x, i, 0) + rows.base[i, 0]
        top = max(top, limit[i])
        if predicted <= near:
            top = max(top, -speed[i])
            for row in range(1, last):
                top = max(top, abs(row_speed(rows, x, i, row) + rows.base[i, row]))
        fast = fast or (predicted <= touch and speed[i] < -limit[i])
    return out, top, fast


@kernel
def fast_contacts(rows, approach, restitution, touch, left):
    """The closing contacts (k,) of the islands in which one approaches fast, ascending. Marks them as taken.

    Approach at most as fast as `left`, the speed that the last application of the law may have left, is not fast. The
    energy of approach of the fast contacts follows, and the part of it that restitution (m,) may give back.
    """
    body, val, predicted, speed, taken = rows.body, rows.val, approach.predicted, approach.speed, approach.taken
    limit, n = approach.limit, len(approach.velocity)
    fast, energy, returned = 0, 0.0, 0.0
    for i in range(len(body)):
        if predicted[i] <= touch and speed[i] < -max(limit[i], left):
            fast += 1
            size = 0.0
            for side in range(2):
                for c in range(val.shape[3]):
                    size += val[i, side, 0, c] ** 2
            energy += 0.5 * speed[i] ** 2 / size
            returned += 0.5 * (restitution[i] * speed[i]) ** 2 / size
    out, count = np.empty(len(body) if fast else 0, np.int64), 0
    if fast == 0:
        return out, energy, returned
    near = np.flatnonzero(taken | (predicted <= touch))
    found = islands(body, near, np.empty(n, np.int64), np.empty(n, np.int64))
    hot = np.zeros(len(found.ptr) - 1, np.bool_)
    for j in range(len(near)):
        i = near[j]
        if predicted[i] <= touch and speed[i] < -max(limit[i], left):
            hot[found.label[j]] = True
    for j in range(len(near)):
        if hot[found.label[j]]:
            taken[near[j]] = True
            out[count] = near[j]
            count += 1
    return out[:count], energy, returned


@kernel
def impact_velocities(rows, approach, chosen, pull, falls, h, near):
    """Times (n,) within the step at which each body is struck, and the whitened velocities (n, d) at these times.

    `pull` (n, d) are the whitened accelerations of gravity. Unless bodies fall, impacts take place at the start.
    """
    time = _instants(rows.body, chosen, approach, h, near) if falls else np.zeros(len(approach.time))
    velocity = np.empty_like(approach.velocity)
    for b in range(len(velocity)):
        for c in range(velocity.shape[1]):
            velocity[b, c] = approach.velocity[b, c] + time[b] * pull[b, c]
    return time, velocity


@kernel
def _instants(body, chosen, approach, h, near):
    """For each island the time at which the first fast contact closes, not before the last impact of a body.

    It is 0 for bodies that rest on something.
    """
    gap, predicted, speed, limit, last = (
        approach.gap,
        approach.predicted,
        approach.speed,
        approach.limit,
        approach.time,
    )
    n, slow = len(last), np.empty(len(chosen), np.int64)
    found, count = islands(body, chosen, np.empty(n, np.int64), np.empty(n, np.int64)), 0
    first = np.full(len(found.ptr) - 1, h)
    for j in range(len(chosen)):
        i = chosen[j]
        if abs(speed[i]) <= limit[i]:
            if gap[i] <= near:
                slow[count] = i
                count += 1
        elif speed[i] < 0.0 and predicted[i] <= gap[i]:
            time = 0.0
            if gap[i] > 0.0:
                bend = predicted[i] - gap[i] - h * speed[i]
                square = speed[i] * speed[i] - 4.0 * bend * gap[i] / (h * h)
                time = min(2.0 * gap[i] / (np.sqrt(max(square, 0.0)) - speed[i]), h)
            first[found.label[j]] = min(first[found.label[j]], time)
    resting = islands(body, slow[:count], np.empty(n, np.int64), np.empty(n, np.int64))
    carried, group = np.zeros(len(resting.ptr) - 1, np.bool_), body_islands(body, resting, n)
    for j in range(count):
        i = slow[j]
        # Free fall of one body alone closes a gap by h limit / 4.
        if predicted[i] - gap[i] - h * speed[i] < -PRESSED * 0.25 * h * limit[i]:
            carried[resting.label[j]] = True
    out = last.copy()
    for j in range(len(chosen)):
        for side in range(2):
            b = body[chosen[j], side]
            if b >= 0 and not (group[b] >= 0 and carried[group[b]]):
                out[b] = max(out[b], first[found.label[j]])
    return out


@kernel
def displace(rows, shift, gap):
    """Adds the effect of the whitened displacement `shift` (n, d) of the start to the gaps, in place."""
    for i in range(len(gap)):
        gap[i] += row_speed(rows, shift, i, 0)


@kernel
def change_velocity(rows, approach, before, after, time, h):
    """Changes the whitened velocities by `after - before` (n, d) at the times `time` (n,). Writes into `approach`."""
    body, val = rows.body, rows.val
    velocity, shift, speed, gap, predicted = (
        approach.velocity,
        approach.shift,
        approach.speed,
        approach.gap,
        approach.predicted,
    )
    struck = np.zeros(len(after), np.bool_)
    change = after - before
    for b in range(len(change)):
        for c in range(change.shape[1]):
            struck[b] |= change[b, c] != 0.0
            velocity[b, c] += change[b, c]
            shift[b, c] -= time[b] * change[b, c]
        if struck[b]:
            approach.time[b] = max(approach.time[b], time[b])
    for i in range(len(speed)):
        faster = closer = 0.0
        for side in range(2):
            b = body[i, side]
            if b >= 0 and struck[b]:
                u = 0.0
                for c in range(change.shape[1]):
                    u += val[i, side, 0, c] * change[b, c]
                faster += u
                closer -= time[b] * u
        speed[i] += faster
        gap[i] += closer
        predicted[i] += h * faster + closer
