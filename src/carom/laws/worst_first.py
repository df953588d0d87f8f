"""A heap of violators that yields the contact with the fastest approach first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..solvers.rows import Floats
from .contact_points import normal_speed
from .heap import heap_add, heap_pop


class Heap(NamedTuple):
    """At least one entry for each violator, with a key that is not above its speed."""

    keys: Floats
    items: NDArray[np.int32]
    queued: Floats  # (m,) lowest key of each contact, infinity for none
    rest: Floats  # (m,) approach speed that counts as none


@kernel
def worst_first(points, x, rest):
    """The heap of all violators, u < -rest (m,), and its size."""
    m = len(points.rows.body)
    heap = Heap(np.empty(2 * m + 64), np.empty(2 * m + 64, np.int32), np.full(m, np.inf), rest)
    size = 0
    for i in range(m):
        u = normal_speed(points, i, x)
        if u < -rest[i]:
            size = heap_add(heap.keys, heap.items, size, u, i)
            heap.queued[i] = u
    return heap, size


@kernel
def with_room(heap, size):
    """The heap with more room."""
    keys, items = np.empty(2 * len(heap.keys)), np.empty(2 * len(heap.keys), np.int32)
    keys[:size], items[:size] = heap.keys[:size], heap.items[:size]
    return Heap(keys, items, heap.queued, heap.rest)


@lean(inline="always")
def most_entries(points, i):
    """A bound on the entries that `requeue` adds after an impulse of contact i."""
    rows, count = points.rows, 1
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b >= 0:
            count += rows.touch_ptr[b + 1] - rows.touch_ptr[b]
    return count


@lean(inline="always")
def requeue(points, i, x, heap, size):
    """Queues the violators among the contacts of the bodies that contact i has just pushed; returns the new size.

    A contact whose speed has risen keeps its entry, which is corrected when it is removed.
    """
    rows, rest, queued = points.rows, heap.rest, heap.queued
    for side in range(rows.body.shape[1]):
        b = rows.body[i, side]
        if b < 0:
            continue
        for k in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
            j = rows.touch[k]
            u = normal_speed(points, j, x)
            if u < -rest[j] and u < queued[j]:
                size = heap_add(heap.keys, heap.items, size, u, j)
                queued[j] = u
    return size


@lean(inline="always")
def next_worst(points, x, heap, size):
    """Removes the contact that approaches fastest; returns it, its speed and the new size. It is -1 if none is left."""
    keys, items, queued, rest = heap
    while size > 0:
        key, i, size = heap_pop(keys, items, size)
        if key != queued[i]:
            continue  # a later entry with a lower key has been processed
        queued[i] = np.inf
        u = normal_speed(points, i, x)
        if u == key:
            return i, u, size
        if u < -rest[i]:
            size = heap_add(keys, items, size, u, i)
            queued[i] = u
    return -1, 0.0, size
