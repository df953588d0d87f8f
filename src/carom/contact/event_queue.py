"""Queue of the coming events of a step: buckets of equal length in time, and a heap of the current bucket.

Each body has one coming event. An event beyond the end of the step is not queued. A bucket is a list of entries, in no
order, until its time comes; then they enter a small heap. Insertion takes a constant time, and the heap stays in the
cache for any number of bodies (Paul, "A complexity O(1) priority queue for event driven molecular dynamics
simulations", J. Comput. Phys. 221, 2007). Entries are not removed when the event of a body changes: an entry whose time
is not that of the body's event is skipped when its bucket comes. (Buckets of blocks of 14 bodies in a cache line, in
place of linked entries, took 1.2 times as long with 300,000 discs.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import lean
from ..kernels.prefetch import prefetch
from ..solvers.rows import Floats, Ints

# Counters of a queue.
UNUSED, HEAPED, BUCKET = 0, 1, 2
BODY, AFTER = 2, 3  # columns of `EventQueue.link`


class EventQueue(NamedTuple):
    """p entries in b buckets."""

    head: NDArray[np.int32]  # (b,) first entry of each bucket; -1 if there is none
    time: Floats  # (p, 2) in column 0 the time of each entry, from the start of the step
    link: NDArray[np.int32]  # (p, 4) the same array: in columns BODY and AFTER the body, and the next entry of the same
    # bucket, or of the list of unused ones
    heap_time: Floats  # (p,)
    heap_body: NDArray[np.int32]  # (p,)
    counter: Ints  # (3,) first unused entry, number of entries in the heap, current bucket
    rate: float  # buckets per unit of time


def empty_queue(buckets: int, entries: int, duration: float) -> EventQueue:
    """A queue for the times from 0 to `duration`."""
    times = np.empty((entries, 2))
    link = times.view(np.int32)
    link[:, AFTER] = np.arange(1, entries + 1, dtype=np.int32)
    link[-1, AFTER] = -1
    heap_times, heap_bodies = np.empty(entries), np.empty(entries, np.int32)
    head = np.full(buckets, -1, np.int32)
    counter = np.zeros(3, np.int64)
    return EventQueue(head, times, link, heap_times, heap_bodies, counter, buckets / duration)


def grown_queue(queue: EventQueue) -> EventQueue:
    """The same queue with room for twice as many entries."""
    p = len(queue.time)
    columns = (queue.time, queue.heap_time, queue.heap_body)
    time, heap_time, heap_body = (np.concatenate([column, np.empty_like(column)]) for column in columns)
    link, counter = time.view(np.int32), queue.counter.copy()
    link[p:, AFTER] = np.arange(p + 1, 2 * p + 1, dtype=np.int32)
    link[-1, AFTER] = counter[UNUSED]
    counter[UNUSED] = p
    return EventQueue(queue.head, time, link, heap_time, heap_body, counter, queue.rate)


@lean
def has_room(queue, count):
    """Whether `count` more entries fit."""
    entry = queue.counter[UNUSED]
    for _ in range(count):
        if entry < 0:
            return False
        entry = queue.link[entry, AFTER]
    return queue.counter[HEAPED] + count <= len(queue.heap_time)


@lean
def push(queue, time, body):
    """Adds an entry. `has_room` must hold."""
    bucket = min(int(time * queue.rate), len(queue.head) - 1)
    if bucket <= queue.counter[BUCKET]:
        _push_to_heap(queue, time, body)
        return
    entry = queue.counter[UNUSED]
    queue.counter[UNUSED] = queue.link[entry, AFTER]
    queue.time[entry, 0], queue.link[entry, BODY], queue.link[entry, AFTER] = time, body, queue.head[bucket]
    queue.head[bucket] = entry


@lean
def pop(queue, event):
    """The body with the earliest event of the current bucket; -1 if there is none.

    Columns 0 and 1 of `event` (n, k) have the times of the next events of the bodies, of which the earlier one counts.
    """
    while queue.counter[HEAPED] > 0:
        time, body = queue.heap_time[0], queue.heap_body[0]
        _drop_first(queue)
        if min(event[body, 0], event[body, 1]) == time:
            return body
    return -1


@lean
def next_bucket(queue, event):
    """Moves the entries of the next bucket that has any to the heap, which is empty; False if there is none."""
    bucket = queue.counter[BUCKET] + 1
    while bucket < len(queue.head) and queue.head[bucket] < 0:
        bucket += 1
    queue.counter[BUCKET] = bucket
    if bucket >= len(queue.head):
        return False
    entry = queue.head[bucket]
    queue.head[bucket] = -1
    coming = entry
    while coming >= 0:
        prefetch(event, queue.link[coming, BODY])
        coming = queue.link[coming, AFTER]
    while entry >= 0:
        following, time, body = queue.link[entry, AFTER], queue.time[entry, 0], queue.link[entry, BODY]
        if min(event[body, 0], event[body, 1]) == time:
            _push_to_heap(queue, time, body)
        queue.link[entry, AFTER] = queue.counter[UNUSED]
        queue.counter[UNUSED] = entry
        entry = following
    return True


@lean
def _push_to_heap(queue, time, body):
    at = queue.counter[HEAPED]
    queue.counter[HEAPED] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if not _earlier(time, body, queue.heap_time[parent], queue.heap_body[parent]):
            break
        queue.heap_time[at], queue.heap_body[at] = queue.heap_time[parent], queue.heap_body[parent]
        at = parent
    queue.heap_time[at], queue.heap_body[at] = time, body


@lean
def _drop_first(queue):
    count = queue.counter[HEAPED] - 1
    queue.counter[HEAPED] = count
    time, body, at = queue.heap_time[count], queue.heap_body[count], 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        other = child + 1
        if other < count and _earlier(
            queue.heap_time[other], queue.heap_body[other], queue.heap_time[child], queue.heap_body[child]
        ):
            child = other
        if not _earlier(queue.heap_time[child], queue.heap_body[child], time, body):
            break
        queue.heap_time[at], queue.heap_body[at] = queue.heap_time[child], queue.heap_body[child]
        at = child
    queue.heap_time[at], queue.heap_body[at] = time, body


@lean(inline="always")
def _earlier(time, body, other_time, other):
    """Whether one event comes before another; of equal times the body with the smaller number is first."""
    return time < other_time or (time == other_time and body < other)
