"""Compact records of the contacts of an island, over which sweeps go (`contact_sweeps.py`).

Sweeps compute a correction: the velocity x starts at zero, and the records hold the speeds at the start. Single
precision is therefore enough unless the tolerance is tiny, and takes half the memory, which bounds the speed.
Velocities and residual are computed in double precision afterwards (`finish`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .contact_pack import (
    BOUND,
    LENGTH,
    LOOSE,
    MIXED,
    NORMAL,
    WEIGHT,
    Layout,
    group_count,
    measure,
    push_all,
    slabs,
    speeds_of,
    without_work,
)
from .rows import Floats, Ints
from .thresholds import THREADED_SWEEPS_CONTACTS

STRIDE = 4  # contacts that follow each other in a sweep were this far apart: the processor overlaps their visits
RELAXED = 0.7  # share of a step of the normal impulses: sweeps with whole steps cycle in some piles of discs

# Columns of `Records.data`: inverse stiffness and stiffness of the normal, products of normal and tangents; from GROUP
# on, inverse stiffness, stiffness times length, and bound of each group; then the speeds at the start.
INVERSE, STIFF, PRODUCT, GROUP = 0, 1, 2, 4


class Records(NamedTuple):
    """k contacts in the order of the sweep. A body that a contact lacks is a number from n up; its rows are zero."""

    body: Ints  # (k, 2)
    row: Floats  # (k, 2, r, d)
    data: Floats  # (k, 4 + 3 groups + r)
    z: Floats  # (k, r) impulses
    last: Floats  # (k, r) impulses before the last sweep
    x: Floats  # (bodies, d) change of velocity
    last_x: Floats  # (bodies, d) before the last sweep


def room(lay: Layout, k: int, bodies: int, dtype: type) -> Records:
    """Records for k contacts."""
    r, d = len(lay.rows), len(lay.axes)
    columns = GROUP + 3 * group_count(lay) + r
    return Records(
        np.empty((k, 2), np.int32),
        np.empty((k, 2, r, d), dtype),
        np.empty((k, columns), dtype),
        np.empty((k, r), dtype),
        np.empty((k, r), dtype),
        np.zeros((bodies, d), dtype),
        np.zeros((bodies, d), dtype),
    )


@kernel
def pack(lay, blocks, weight, contacts, body, nobody, first, last, out):
    """Writes rows and weights of contacts first to last to `out`.

    `body` (k, 2) are their bodies within the island, `nobody` is the number of a missing one.
    """
    for p in range(first, last):
        i = contacts[p]
        for side in range(2):
            out.body[p, side] = body[p, side] if blocks.body[i, side] >= 0 else nobody
            for s in range(len(lay.rows)):
                for c in range(len(lay.axes)):
                    out.row[p, side, s, c] = blocks.val[i, side, s, c]
        out.data[p, INVERSE] = RELAXED * weight[i, NORMAL]
        out.data[p, STIFF] = 1.0 / (RELAXED * weight[i, NORMAL]) if weight[i, NORMAL] > 0.0 else 0.0
        for g in range(group_count(lay)):
            at, w = GROUP + 3 * g, weight[i, WEIGHT + 2 * g]
            if g == 0:
                out.data[p, PRODUCT], out.data[p, PRODUCT + 1] = weight[i, MIXED], weight[i, MIXED + 1]
            length = 1.0 if g == 0 else weight[i, LENGTH + g]
            out.data[p, at] = w
            out.data[p, at + 1] = length / w if w > 0.0 else 0.0
            out.data[p, at + 2] = weight[i, BOUND + 2 * g]


@kernel(fastmath=LOOSE)
def restart(lay, blocks, contacts, impulse, x, first, last, out):
    """Writes the impulses and the speeds at velocity x of contacts first to last to `out`."""
    at = out.data.shape[1] - len(lay.rows)
    for p in range(first, last):
        i = contacts[p]
        for s in range(len(lay.rows)):
            u = blocks.base[i, s]
            for side in range(2):
                b = blocks.body[i, side]
                if b >= 0:
                    for c in range(len(lay.axes)):
                        u += blocks.val[i, side, s, c] * x[b, c]
            out.data[p, at + s] = u
            out.z[p, s] = out.last[p, s] = impulse[i, s]


@kernel
def arranged(body, mine, label, wanted):
    """Contacts in the order of the sweep, their bodies within the island, those bodies, and pointers of slabs.

    The pointers (2, slabs + 1) tell where each slab begins in the contacts and in the bodies.

    `label` is scratch, -1 for each body before and after.
    """
    own = np.full((len(mine), 2), -1, np.int64)
    members, count = np.empty(2 * len(mine), np.int64), 0
    for p in range(len(mine)):
        for side in range(2):
            b = body[mine[p], side]
            if b >= 0:
                if label[b] < 0:
                    label[b] = count
                    members[count] = b
                    count += 1
                own[p, side] = label[b]
    for p in range(len(mine)):
        for side in range(2):
            if own[p, side] < 0:
                own[p, side] = count
    for b in members[:count]:
        label[b] = -1
    if wanted > 1 and len(mine) >= THREADED_SWEEPS_CONTACTS:
        order, cuts = slabs(own, count, wanted)
        firsts = _numbered_by_slab(own, members, count, order, cuts)
    else:
        order, cuts, firsts = np.arange(len(mine)), np.array([0, len(mine)]), np.array([0, count])
    strided = np.empty_like(order)
    for s in range(len(cuts) - 1):
        at = cuts[s]
        for offset in range(STRIDE):
            for p in range(cuts[s] + offset, cuts[s + 1], STRIDE):
                strided[at] = order[p]
                at += 1
    return mine[strided], own[strided], members[:count].copy(), np.stack((cuts, firsts))


@kernel
def _numbered_by_slab(own, members, count, order, cuts):
    """Numbers the bodies of an island again, in the order of the slabs, in place; returns where each slab begins.

    Two threads then seldom write to one cache line.
    """
    number, before, found = np.full(count + 1, -1, np.int64), members[:count].copy(), 0
    number[count] = count
    firsts = np.zeros_like(cuts)
    for s in range(len(cuts) - 1):
        for p in order[cuts[s] : cuts[s + 1]]:
            for side in range(2):
                b = own[p, side]
                if number[b] < 0:
                    number[b] = found
                    members[found] = before[b]
                    found += 1
        firsts[s + 1] = found
    for p in range(len(own)):
        for side in range(2):
            own[p, side] = number[own[p, side]]
    return firsts


@kernel
def scale_of(lay, blocks, weight, mine, impulse, x):
    """Order of magnitude of the speeds that impulses cause or have to change."""
    top = 0.0
    u = np.empty(len(lay.rows))
    for i in mine:
        if weight[i, NORMAL] > 0.0:
            speeds_of(lay, blocks, x, i, u)
            top = max(top, abs(impulse[i, 0]) / weight[i, NORMAL], -u[0])
    return top


@kernel
def finish(lay, blocks, weight, mine, contacts, members, velocity, z, impulse, x):
    """Impulses, velocities and residual of an island in double precision; impulses do no work."""
    for p in range(len(contacts)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in members:
        for c in range(len(lay.axes)):
            x[b, c] = velocity[b, c]
    push_all(lay, blocks, mine, impulse, x)
    residual, work = measure(lay, blocks, weight, mine, impulse, x)
    if without_work(lay, weight, mine, impulse, x, velocity, members, work):
        residual, work = measure(lay, blocks, weight, mine, impulse, x)
    return residual
