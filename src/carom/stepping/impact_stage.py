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
from ..solvers.blocks import row_speed
from ..solvers.islands import root_of
from ..solvers.rows import Floats

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
def approach_speeds(blocks, x, table, slow, lengths):
    """Normal speeds (m,), resting speeds (m,), the largest speed, and whether a closing contact approaches fast.

    `table` is that of the contacts. `slow` (n,) are the resting speeds of the bodies; boundaries have none. `lengths`
    are the gap at the end of the step up to which approach and slip count for the largest speed, beside the resting
    speeds, and the gap up to which bodies touch.
    """
    near, touch = lengths
    speed, limit, top, fast = np.empty(len(table)), np.empty(len(table)), 0.0, False
    rows = min(1 + blocks.tangents, blocks.base.shape[1])
    for i in range(len(table)):
        first, second, predicted = int(table[i, FIRST]), int(table[i, SECOND]), table[i, PREDICTED]
        limit[i] = max(slow[first], slow[second] if second >= 0 else 0.0)
        speed[i] = row_speed(blocks, x, i, 0) + blocks.base[i, 0]
        top = max(top, limit[i])
        if predicted <= near:
            top = max(top, -speed[i])
            for row in range(1, rows):
                top = max(top, abs(row_speed(blocks, x, i, row) + blocks.base[i, row]))
        fast = fast or (predicted <= touch and speed[i] < -limit[i])
    return speed, limit, top, fast


@kernel
def fastest_speed(blocks, x):
    """The fastest approach or slip of all contacts."""
    top = 0.0
    rows = min(1 + blocks.tangents, blocks.base.shape[1])
    for i in range(len(blocks.base)):
        top = max(top, -(row_speed(blocks, x, i, 0) + blocks.base[i, 0]))
        for row in range(1, rows):
            top = max(top, abs(row_speed(blocks, x, i, row) + blocks.base[i, row]))
    return top


@kernel
def fast_contacts(blocks, approach, restitution, touch, left):
    """The closing contacts (k,) of the islands in which one approaches fast, ascending. Marks them as taken.

    Approach at most as fast as `left`, the speed that the last application of the law may have left, is not fast. The
    energy of approach of the fast contacts follows, and the part of it that restitution (m,) may give back.
    """
    body, val, predicted, speed, taken = blocks.body, blocks.val, approach.predicted, approach.speed, approach.taken
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
    out = np.empty(len(body) if fast else 0, np.int64)
    if fast == 0:
        return out, energy, returned
    parent, hot = np.arange(n), np.zeros(n, np.bool_)
    for i in range(len(body)):
        a, b = body[i, 0], body[i, 1]
        if (taken[i] or predicted[i] <= touch) and a >= 0 and b >= 0:
            a, b = root_of(parent, a), root_of(parent, b)
            parent[max(a, b)] = min(a, b)
    for i in range(len(body)):
        if predicted[i] <= touch and speed[i] < -max(limit[i], left):
            hot[root_of(parent, max(body[i, 0], body[i, 1]))] = True
    count = 0
    for i in range(len(body)):
        if (taken[i] or predicted[i] <= touch) and hot[root_of(parent, max(body[i, 0], body[i, 1]))]:
            taken[i] = True
            out[count] = i
            count += 1
    return out[:count], energy, returned


@kernel
def impact_velocities(blocks, approach, chosen, pull, falls, h, near):
    """Times (n,) within the step at which each body is struck, and the whitened velocities (n, d) at these times.

    `pull` (n, d) are the whitened accelerations of gravity. Unless bodies fall, impacts take place at the start.
    """
    time = _instants(blocks.body, chosen, approach, h, near) if falls else np.zeros(len(approach.time))
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
    n = len(last)
    island, group = np.arange(n), np.arange(n)
    for i in chosen:
        a, b = body[i, 0], body[i, 1]
        if a >= 0 and b >= 0:
            c, d = root_of(island, a), root_of(island, b)
            island[max(c, d)] = min(c, d)
            if abs(speed[i]) <= limit[i] and gap[i] <= near:
                a, b = root_of(group, a), root_of(group, b)
                group[max(a, b)] = min(a, b)
    carried, first = np.zeros(n, np.bool_), np.full(n, h)
    for i in chosen:
        at = max(body[i, 0], body[i, 1])
        bend = predicted[i] - gap[i] - h * speed[i]
        if abs(speed[i]) <= limit[i]:
            # Free fall of one body alone closes a gap by h limit / 4.
            if gap[i] <= near and bend < -PRESSED * 0.25 * h * limit[i]:
                carried[root_of(group, at)] = True
        elif speed[i] < 0.0 and predicted[i] <= gap[i]:
            time = 0.0
            if gap[i] > 0.0:
                square = speed[i] * speed[i] - 4.0 * bend * gap[i] / (h * h)
                time = min(2.0 * gap[i] / (np.sqrt(max(square, 0.0)) - speed[i]), h)
            s = root_of(island, at)
            first[s] = min(first[s], time)
    out = last.copy()
    for i in chosen:
        for side in range(2):
            b = body[i, side]
            if b >= 0 and not carried[root_of(group, b)]:
                out[b] = max(out[b], first[root_of(island, b)])
    return out


@kernel
def displace(blocks, shift, gap):
    """Adds the effect of the whitened displacement `shift` (n, d) of the start to the gaps, in place."""
    for i in range(len(gap)):
        gap[i] += row_speed(blocks, shift, i, 0)


@kernel
def change_velocity(blocks, approach, before, after, time, h):
    """Changes the whitened velocities by `after - before` (n, d) at the times `time` (n,). Writes into `approach`."""
    body, val = blocks.body, blocks.val
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
