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

import numpy as np

from ..kernels import kernel
from ..solvers.blocks import Blocks, row_speed
from ..solvers.islands import root_of
from ..solvers.rows import Floats, Ints

PRESSED = 0.05  # acceleration of a gap, relative to that of free fall, from which a slow contact carries its bodies


class Approach:
    """Gaps and speeds of all contacts of a step while impacts change the velocities."""

    def __init__(
        self, blocks: Blocks, velocity: Floats, gap: Floats, predicted: Floats, limit: Floats, near: float
    ) -> None:
        self.blocks = blocks
        self.velocity = velocity  # (n, d) whitened, at the start of the step
        self.shift = np.zeros_like(velocity)  # (n, d) whitened displacement of the start
        self.time = np.zeros(len(velocity))  # (n,) of the last impact within the step
        # Normal speeds (m,), and the largest limit, approach or slip where the gap at the end is at most `near`.
        self.speed, self.fastest = speeds_and_fastest(blocks, velocity, predicted, limit, near)
        self.gap = gap.copy()  # (m,) at the start
        self.predicted = predicted.copy()  # (m,) at the end
        self.limit = limit  # (m,) slower approach is resting contact
        self.changed = False
        self._taken = np.zeros(len(gap), np.bool_)

    def begin(self, shift: Floats, time: Floats) -> None:
        """Continues after earlier impacts of the step: displacement of the start (n, d), whitened, and times (n,)."""
        self.shift, self.time = shift, time
        _displace(self.blocks, shift, self.gap)

    def impact(self, touch: float, restitution: Floats, left: float) -> tuple[Ints, float, float]:
        """The contacts that the next application of the law involves; empty if nothing approaches fast.

        Approach at most as fast as `left`, the speed that the last application may have left, is not fast. A contact
        that took part once takes part again: otherwise two neighbors could push a body back and forth. The energy of
        approach of the fast contacts follows, and the part of it that restitution (m,) may give back.
        """
        n, state = len(self.velocity), (self.predicted, self.speed, np.maximum(self.limit, left))
        return _involved(self.blocks.body, self.blocks.val, *state, restitution, touch, self._taken, n)

    def instants(self, chosen: Ints, h: float, near: float) -> Floats:
        """Times (n,) within the step at which the impact of each body takes place, not before its last one."""
        state = (self.gap, self.predicted, self.speed, self.limit, self.time)
        return _instants(self.blocks.body, chosen, *state, h, near)

    def change(self, change: Floats, time: Floats, h: float) -> None:
        """Changes the velocities by `change` (n, d), whitened, at the times `time` (n,)."""
        self.changed = True
        state = (self.velocity, self.shift, self.time, self.speed, self.gap, self.predicted)
        _change(self.blocks.body, self.blocks.val, change, time, h, *state)


@kernel
def speeds_and_fastest(blocks, x, predicted, limit, near):
    """Normal speeds (m,), and the largest limit, approach or slip where the gap at the end is at most `near`."""
    speed, top = np.empty(len(predicted)), 0.0
    rows = min(1 + blocks.tangents, blocks.base.shape[1])
    for i in range(len(predicted)):
        speed[i] = row_speed(blocks, x, i, 0) + blocks.base[i, 0]
        top = max(top, limit[i])
        if predicted[i] <= near:
            top = max(top, -speed[i])
            for row in range(1, rows):
                top = max(top, abs(row_speed(blocks, x, i, row) + blocks.base[i, row]))
    return speed, top


@kernel
def _involved(body, val, predicted, speed, limit, restitution, touch, taken, n):
    """Closing contacts of the islands in which one approaches fast, ascending. Marks them in `taken`."""
    fast, energy, returned = 0, 0.0, 0.0
    for i in range(len(body)):
        if predicted[i] <= touch and speed[i] < -limit[i]:
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
        if predicted[i] <= touch and speed[i] < -limit[i]:
            hot[root_of(parent, max(body[i, 0], body[i, 1]))] = True
    count = 0
    for i in range(len(body)):
        if (taken[i] or predicted[i] <= touch) and hot[root_of(parent, max(body[i, 0], body[i, 1]))]:
            taken[i] = True
            out[count] = i
            count += 1
    return out[:count], energy, returned


@kernel
def _instants(body, chosen, gap, predicted, speed, limit, last, h, near):
    """For each island the time at which the first fast contact closes; 0 for bodies that rest on something."""
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
def _displace(blocks, shift, gap):
    for i in range(len(gap)):
        gap[i] += row_speed(blocks, shift, i, 0)


@kernel
def _change(body, val, change, time, h, velocity, shift, last, speed, gap, predicted):
    struck = np.zeros(len(change), np.bool_)
    for b in range(len(change)):
        for c in range(change.shape[1]):
            struck[b] |= change[b, c] != 0.0
            velocity[b, c] += change[b, c]
            shift[b, c] -= time[b] * change[b, c]
        if struck[b]:
            last[b] = max(last[b], time[b])
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
