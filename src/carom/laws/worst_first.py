"""A heap of violators that yields the contact with the fastest approach first."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.heap import heap_pop, heap_push
from .contact_points import Points, normal_speed

# Work that an impulse costs besides looking at the contacts of its bodies, and bound on the work of a law: less than a
# second for up to 30 contacts. Light bodies between heavy ones need most impulses, and long chains.
IMPULSE_WORK, LAW_WORK = 200.0, 5e7


def affordable_impulses(points: Points) -> int:
    """The number of single impulses that a law may apply. It is bounded by their work, in multiplications."""
    m, rows = len(points.boundary), points.rows
    looked_at = float(np.diff(rows.touch_ptr)[rows.body].sum()) / m
    each = (1 + points.t) * (IMPULSE_WORK + 2.0 * looked_at * (len(rows.body) / m) * rows.val.shape[1])
    return int(LAW_WORK * max(1.0 + 18.0 / m**2, (m / 30.0) ** 1.5) / each)


@kernel
def requeue(points, rows, row, x, rest, keys, items, size, queued):
    """Queues the violators among the contacts of the bodies that `row` of `rows` has just pushed.

    The heap holds at least one entry for each violator, with a key that is not above its speed; `queued` is the
    lowest such key. A contact whose speed has risen keeps its entry, which is corrected when it is removed.
    """
    for e in range(rows.ptr[row], rows.ptr[row + 1]):
        b = rows.body[e]
        for k in range(points.rows.touch_ptr[b], points.rows.touch_ptr[b + 1]):
            j = points.rows.touch[k]
            u = normal_speed(points, j, x)
            if u < -rest[j] and u < queued[j]:
                keys, items, size = heap_push(keys, items, size, u, j)
                queued[j] = u
    return keys, items, size


@kernel
def worst_first(points, x, rest):
    """The heap of all violators, u < -rest (m,): keys, items, size, and the lowest key of each contact."""
    m = len(points.boundary)
    keys, items, size = np.empty(m + 16), np.empty(m + 16, np.int64), 0
    queued = np.full(m, np.inf)
    for i in range(m):
        u = normal_speed(points, i, x)
        if u < -rest[i]:
            keys, items, size = heap_push(keys, items, size, u, i)
            queued[i] = u
    return keys, items, size, queued


@kernel
def next_worst(points, x, rest, keys, items, size, queued):
    """Removes the contact that approaches fastest; returns it, its speed and the heap. It is -1 if none is left."""
    while size > 0:
        key, i, size = heap_pop(keys, items, size)
        if key != queued[i]:
            continue  # a later entry with a lower key has been processed
        queued[i] = np.inf
        u = normal_speed(points, i, x)
        if u == key:
            return i, u, keys, items, size
        if u < -rest[i]:
            keys, items, size = heap_push(keys, items, size, u, i)
            queued[i] = u
    return -1, 0.0, keys, items, size
