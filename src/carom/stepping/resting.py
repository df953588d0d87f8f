"""The resting solve: inelastic contact with Coulomb friction, warm-started with the impulses of the last step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.contact_set import ContactSet
from ..kernels import kernel
from ..problem.assemble import Assembly
from ..problem.contact_rows import tangents_of
from ..solvers.blocks import row_speed
from ..solvers.contact import Accuracy, solve_contact
from ..solvers.islands import root_of
from ..solvers.rows import Floats, Ints
from ..world import World

FEATURE_BITS = 20  # bits of a feature in the key of a contact
LEAST_TIME = 1e-3  # fraction of a step: the shortest time for which a contact is held
AT_REST = 1e-9  # change of velocity, relative to that by gravity, up to which everything is at rest
STEADY = 1e-5  # speed, relative to the resting speed, up to which a contact counts as closed and friction as at rest


class Held(NamedTuple):
    """The answer of a resting solve."""

    chosen: Ints  # (k,) contacts that took part
    free: Floats  # (n, d) whitened velocity before the impulses
    impulse: Floats  # (m, r) of all contacts; zero for those that took no part
    velocity: Floats  # (n, d) whitened velocity after the impulses
    residual: float  # a speed
    iterations: int


class RestingSolver:
    """Solves for the impulses of resting contacts, and keeps them for the warm start of the next solve.

    Contacts are recognized by their bodies and feature. In 3D friction is kept as a vector of the world, because the
    tangents of a contact may change abruptly from one step to the next.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._key, self._impulse = np.empty(0, np.int64), np.empty((0, 1))
        self._found: ContactSet | None = None  # the contacts whose keys were computed last
        self._keys = np.empty(0, np.int64)

    def memory(self) -> dict[str, np.ndarray]:
        """The impulses of the last solve, for a checkpoint."""
        return {"rest_key": self._key, "rest_impulse": self._impulse}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the impulses of a checkpoint."""
        if "rest_key" in memory:
            self._key = np.array(memory["rest_key"], np.int64)
            self._impulse = np.array(memory["rest_impulse"], np.float64)

    def start(self, found: ContactSet, rows: int) -> Floats:
        """The warm start of contacts with r rows: impulses (m, r) of the last solve, zero for new contacts."""
        impulse = np.zeros((found.count, rows))
        if len(self._key):
            _matched(self._key, self._impulse, self.keys(found), found.normal, impulse)
        return impulse

    def solve(
        self,
        impact: Assembly,
        chosen: Ints,
        velocity: Floats,
        slack: Floats,
        start: Floats,
        tolerance: float,
        enough: float = 0.0,
    ) -> Held | None:
        """Impulses of the contacts `chosen` such that `u + slack >= 0`, for speeds slack (m,) >= 0.

        `velocity` (n, d) is whitened, before the impulses; `start` (m, r) is the first guess; `tolerance` and `enough`
        are speeds (`solve_contact`).
        The answer is None if no impulse is needed.
        """
        base, impulse, closes = _begun(impact.blocks, chosen, velocity, slack, start)
        if not closes:
            return None
        blocks = impact.blocks._replace(base=base)
        answer = solve_contact(blocks, chosen, velocity, impulse, Accuracy(tolerance, enough))
        return Held(chosen, velocity, impulse, answer.velocity, answer.residual, answer.iterations)

    def keep(self, found: ContactSet, held: Held | None) -> None:
        """Keeps the impulses for the next step."""
        if held is None:
            self._key = np.empty(0, np.int64)
            return
        self._key, self._impulse = _kept(self.keys(found), found.normal, held.impulse, held.chosen)

    def keys(self, found: ContactSet) -> Ints:
        """One number (m,) per contact that identifies it from step to step."""
        if found is not self._found:
            n, w = self.world.count, len(self.world.boundaries.kind)
            self._found, self._keys = found, _keys(found.first, found.second, found.feature_id, n + w, w)
        return self._keys


@kernel
def _keys(first, second, feature, bodies, boundaries):
    out = np.empty(len(first), np.int64)
    for i in range(len(out)):
        pair = first[i] * bodies + second[i] + boundaries
        out[i] = (pair << FEATURE_BITS) ^ (feature[i] & ((1 << FEATURE_BITS) - 1))
    return out


@kernel
def _begun(blocks, chosen, x, slack, start):
    """Speeds (m, r) that no impulse changes, with the slack; first impulses; whether a contact closes at velocity x."""
    base, impulse, closes = blocks.base.copy(), np.zeros_like(start), False
    for i in range(len(base)):
        base[i, 0] += slack[i]
    for i in chosen:
        for row in range(start.shape[1]):
            impulse[i, row] = start[i, row]
        if not closes:
            closes = row_speed(blocks, x, i, 0) + base[i, 0] < 0.0
    return base, impulse, closes


@kernel
def slacks(blocks, speed, after, time, predicted, restitution, wait, limit, h):
    """Speeds of approach (m,) that just close the gaps, from the gaps at the end of free motion.

    `speed` (m,) are normal speeds at the start of that motion, `after` (n, d) velocities at its end, `time` (n,) is
    when a body is held from on. Since the gaps are those at the predicted positions, rotation is taken into account.
    Contacts faster than `limit` (m,) are left to the law in the next step if free motion opens them or, where there is
    restitution (m,), closes them by at most `wait`.
    """
    out = np.empty(len(predicted))
    for i in range(len(out)):
        begin = 0.0
        for side in range(2):
            if blocks.body[i, side] >= 0:
                begin = max(begin, time[blocks.body[i, side]])
        left = max(h - begin, LEAST_TIME * h)
        first, last = speed[i], row_speed(blocks, after, i, 0) + blocks.base[i, 0]
        if first < -limit[i] and predicted[i] > -(wait if restitution[i] > 0.0 else 0.0):
            # A held contact closes at its new velocity, a free one at its mean velocity.
            out[i] = max(predicted[i], 0.0) / left + max(-last, 0.0)
        else:
            out[i] = max(predicted[i] / left - 0.5 * (first + (last - first) * begin / h + last), 0.0)
    return out


@kernel
def closed_by(blocks, x, slack, chosen, least):
    """Marks contacts that the velocity x closes faster than `least`; returns how many were not marked before."""
    count = 0
    for i in range(len(chosen)):
        if not chosen[i] and row_speed(blocks, x, i, 0) + blocks.base[i, 0] + slack[i] < -least:
            chosen[i] = True
            count += 1
    return count


@kernel
def pushed_bodies(body, impulse, chosen, n):
    """Bodies (n,) on which a normal impulse acts."""
    out = np.zeros(n, np.bool_)
    for i in chosen:
        if impulse[i, 0] > 0.0:
            for side in range(2):
                if body[i, side] >= 0:
                    out[body[i, side]] = True
    return out


@kernel
def steady_bodies(blocks, chosen, impulse, before, free, after, speed, limit):
    """Bodies (n,) whose whole island slides or rolls on closed contacts, which may move at the mean velocity.

    The energy then changes by `p . (v0 + v1) / 2` for impulses p, so contacts must be closed before and after, and
    friction must do no work. `free` is the velocity without impulses, `speed` (m,) are the normal speeds before,
    `limit` (m,) the resting speeds.
    """
    n = len(before)
    out, change, fall = np.zeros(n, np.bool_), 0.0, 0.0
    for b in range(n):
        for c in range(before.shape[1]):
            change = max(change, abs(after[b, c] - before[b, c]))
            fall = max(fall, abs(free[b, c] - before[b, c]))
    if change <= AT_REST * fall:  # the mean velocity is the new one
        return out
    parent, bad, touched = np.arange(n), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for i in chosen:
        a, b = blocks.body[i, 0], blocks.body[i, 1]
        if a >= 0 and b >= 0:
            c, d = root_of(parent, a), root_of(parent, b)
            parent[max(c, d)] = min(c, d)
        touched[max(a, b)] = True
        if min(a, b) >= 0:
            touched[min(a, b)] = True
    for i in chosen:
        if impulse[i, 0] > 0.0 and abs(speed[i]) > STEADY * limit[i]:
            bad[root_of(parent, max(blocks.body[i, 0], blocks.body[i, 1]))] = True
    for i in chosen:
        root = root_of(parent, max(blocks.body[i, 0], blocks.body[i, 1]))
        if impulse[i, 0] > 0.0 and not bad[root]:
            work = 0.0
            for row in range(impulse.shape[1]):
                mean = row_speed(blocks, before, i, row) + row_speed(blocks, after, i, row) + 2.0 * blocks.base[i, row]
                work += impulse[i, row] * mean
            bad[root] = work > STEADY * limit[i] * impulse[i, 0]
    for b in range(n):
        out[b] = touched[b] and not bad[root_of(parent, b)]
    return out


# ---- warm start


@kernel
def _slot(table, keys, key):
    """The slot of a key in an open hash table of positions in `keys`, or the empty one (-1) where it belongs."""
    mask = len(table) - 1
    at = (key * 0x9E3779B97F4A7C1 >> 20) & mask
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at


@kernel
def _matched(old, kept, keys, normal, impulse):
    """Writes the kept impulses of the contacts that occur in `old` to `impulse` (m, r)."""
    size = 16
    while size < 2 * len(old):
        size *= 2
    table = np.full(size, -1, np.int64)
    for j in range(len(old)):
        at = _slot(table, old, old[j])
        if table[at] < 0:
            table[at] = j
    rows = impulse.shape[1]
    for i in range(len(keys)):
        j = table[_slot(table, old, keys[i])]
        if j < 0:
            continue
        impulse[i, 0] = kept[j, 0]
        if normal.shape[1] == 2:
            for row in range(1, min(rows, kept.shape[1])):
                impulse[i, row] = kept[j, row]
        elif rows > 1 and kept.shape[1] > 1:
            sx, sy, sz, tx, ty, tz = tangents_of(normal[i, 0], normal[i, 1], normal[i, 2])
            for k in range(rows // 3):
                a, b, c = kept[j, 1 + 3 * k], kept[j, 2 + 3 * k], kept[j, 3 + 3 * k]
                impulse[i, 1 + 2 * k] = sx * a + sy * b + sz * c
                impulse[i, 2 + 2 * k] = tx * a + ty * b + tz * c
            if rows == 6:
                impulse[i, 5] = kept[j, 7]


@kernel
def _kept(keys, normal, impulse, chosen):
    """Keys (k,) and impulses (k, q) of the contacts `chosen`, with vectors of the world in 3D."""
    rows, flat = impulse.shape[1], normal.shape[1] == 2
    width = rows if flat or rows == 1 else 4 if rows == 3 else 8
    key, kept = np.empty(len(chosen), np.int64), np.empty((len(chosen), width))
    for j in range(len(chosen)):
        i = chosen[j]
        key[j], kept[j, 0] = keys[i], impulse[i, 0]
        if flat:
            for row in range(1, rows):
                kept[j, row] = impulse[i, row]
        elif rows > 1:
            sx, sy, sz, tx, ty, tz = tangents_of(normal[i, 0], normal[i, 1], normal[i, 2])
            for k in range(rows // 3):
                a, b = impulse[i, 1 + 2 * k], impulse[i, 2 + 2 * k]
                kept[j, 1 + 3 * k] = a * sx + b * tx
                kept[j, 2 + 3 * k] = a * sy + b * ty
                kept[j, 3 + 3 * k] = a * sz + b * tz
            if rows == 6:
                kept[j, 7] = impulse[i, 5]
    return key, kept
