"""A heap of violators that yields the contact with the fastest approach first."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.heap import heap_pop, heap_push
from .contact_points import normal_speed


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
