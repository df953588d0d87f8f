"""Contacts of an island cut into slabs that may be swept side by side.

Bodies are put into levels by their distance, in contacts, from a body at one end of the island. A contact joins
bodies of one level or of two that follow each other. Whole levels make a slab, and a contact belongs to the lower slab
of its bodies: it moves bodies of that slab and the next, so that all even slabs may be swept at the same time, then
all odd ones. The cut depends on the contacts alone, and so do all the bits of the answer, whatever the threads.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel
def slabs(pair, bodies, wanted):
    """Order of contacts by slab, and slab pointers, at most `wanted` slabs; `pair` (k, 2) is `bodies` for the world.

    The island must be connected.
    """
    k = len(pair)
    ptr, touch = _touching(pair, bodies)
    level, queue = np.full(bodies, -1, np.int64), np.empty(bodies, np.int64)
    start = pair[0, 0] if pair[0, 0] < bodies else pair[0, 1]
    count = _levels(pair, ptr, touch, bodies, start, level, queue)
    count = _levels(pair, ptr, touch, bodies, queue[count - 1], level, queue)
    depth = level[queue[count - 1]] + 1
    first, share = np.empty(k, np.int64), np.zeros(depth, np.int64)
    for p in range(k):
        a, b = pair[p, 0], pair[p, 1]
        first[p] = min(level[a] if a < bodies else depth, level[b] if b < bodies else depth)
        share[first[p]] += 1
    slab, cuts, seen = np.empty(depth, np.int64), 0, 0
    for step in range(depth):
        if step > 0 and cuts < wanted - 1 and seen * wanted >= k * (cuts + 1):
            cuts += 1
        slab[step] = cuts
        seen += share[step]
    begin = np.zeros(cuts + 2, np.int64)
    for p in range(k):
        begin[slab[first[p]] + 1] += 1
    for s in range(cuts + 1):
        begin[s + 1] += begin[s]
    fill, order = begin.copy(), np.empty(k, np.int64)
    for p in range(k):
        s = slab[first[p]]
        order[fill[s]] = p
        fill[s] += 1
    return order, begin


@kernel
def _touching(pair, bodies):
    """Contacts of each body, by pointers."""
    ptr = np.zeros(bodies + 1, np.int64)
    for p in range(len(pair)):
        for side in range(2):
            if pair[p, side] < bodies:
                ptr[pair[p, side] + 1] += 1
    for b in range(bodies):
        ptr[b + 1] += ptr[b]
    fill, touch = ptr.copy(), np.empty(ptr[bodies], np.int64)
    for p in range(len(pair)):
        for side in range(2):
            b = pair[p, side]
            if b < bodies:
                touch[fill[b]] = p
                fill[b] += 1
    return ptr, touch


@kernel
def _levels(pair, ptr, touch, bodies, start, level, queue):
    """Distances from `start` into `level`, bodies in that order into `queue`; returns how many there are."""
    for b in range(bodies):
        level[b] = -1
    level[start] = 0
    queue[0] = start
    head, count = 0, 1
    while head < count:
        b = queue[head]
        head += 1
        for e in range(ptr[b], ptr[b + 1]):
            for side in range(2):
                other = pair[touch[e], side]
                if other < bodies and level[other] < 0:
                    level[other] = level[b] + 1
                    queue[count] = other
                    count += 1
    return count
