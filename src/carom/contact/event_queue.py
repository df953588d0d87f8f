"""Queue of the coming events of a step: windows of buckets of equal length in time, and a heap of the current bucket.

Each body has one coming event. An event beyond the end of the step is not queued. Entries of later windows are appended
to blocks in the order in which they come. When its window comes they enter the buckets of the window, and when its
bucket comes the heap. Insertion takes a constant time, and buckets and heap stay in the cache for any number of bodies:
what does not is written and read block by block (Paul, "A complexity O(1) priority queue for event driven molecular
dynamics simulations", J. Comput. Phys. 221, 2007, has one level of buckets; with a million discs a third of the
additional time was for lists that led from one cache miss to the next). Entries are not removed when the event of a
body changes: an entry whose time is not that of the body's event is skipped when its bucket comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import lean
from ..kernels.prefetch import prefetch
from ..solvers.rows import Floats, Ints

# Counters of a queue: first unused entry and block of the lists, entries and blocks that were ever used, entries in the
# queue, entries in the heap, current bucket, current window.
UNUSED, UNUSED_BLOCK, TAKEN, TAKEN_BLOCKS, QUEUED, HEAPED, BUCKET, WINDOW = range(8)
BODY, AFTER = 2, 3  # columns of `EventQueue.link`
WINDOW_BUCKETS = 128  # their 4,000 entries fill a tenth of a second cache; so do the last lines of a thousand windows
BLOCK_ENTRIES = 64


class EventQueue(NamedTuple):
    """p entries in b buckets of w windows."""

    head: NDArray[np.int32]  # (WINDOW_BUCKETS,) first entry of each bucket of the current window; -1 if there is none
    time: Floats  # (p, 2) in column 0 the time of each entry of the window, from the start of the step
    link: NDArray[np.int32]  # (p, 4) the same array: in columns BODY and AFTER the body, and the next entry of the same
    # bucket, or of the list of unused ones
    last: NDArray[np.int32]  # (w, 2) last block of each window, -1 if there is none, and the number of its entries
    later_time: Floats  # (q BLOCK_ENTRIES, 2) as `time`, for entries of later windows
    later_link: NDArray[np.int32]  # (q BLOCK_ENTRIES, 4) the same array: in column BODY the body
    before: NDArray[np.int32]  # (q,) the block before each block of a window, or the next unused one
    heap_time: Floats  # (p,)
    heap_body: NDArray[np.int32]  # (p,)
    counter: Ints  # (8,)
    buckets: int
    rate: float  # buckets per unit of time


def empty_queue(buckets: int, entries: int, duration: float) -> EventQueue:
    """A queue for the times from 0 to `duration`."""
    windows = -(-buckets // WINDOW_BUCKETS)
    blocks = entries // BLOCK_ENTRIES + windows  # of each window one block may not be full
    times, later = np.empty((entries, 2)), np.empty((blocks * BLOCK_ENTRIES, 2))
    last, counter = np.zeros((windows, 2), np.int32), np.zeros(8, np.int64)
    last[:, 0], counter[[UNUSED, UNUSED_BLOCK]] = -1, -1
    heap = np.empty(entries), np.empty(entries, np.int32)
    before, head = np.empty(blocks, np.int32), np.full(WINDOW_BUCKETS, -1, np.int32)
    return EventQueue(
        head, times, times.view(np.int32), last, later, later.view(np.int32), before, *heap, counter, buckets,
        buckets / duration,
    )  # fmt: skip


def grown_queue(queue: EventQueue) -> EventQueue:
    """The same queue with room for twice as many entries."""
    time, later, before, heap_time, heap_body = (
        np.concatenate([array, np.empty_like(array)])
        for array in (queue.time, queue.later_time, queue.before, queue.heap_time, queue.heap_body)
    )
    return EventQueue(
        queue.head, time, time.view(np.int32), queue.last, later, later.view(np.int32), before, heap_time, heap_body,
        queue.counter, queue.buckets, queue.rate,
    )  # fmt: skip


@lean
def has_room(queue, count):
    """Whether `count` more entries fit."""
    return queue.counter[QUEUED] + count <= len(queue.time)


@lean
def push(queue, time, body):
    """Adds an entry. `has_room` must hold."""
    counter, bucket = queue.counter, min(int(time * queue.rate), queue.buckets - 1)
    counter[QUEUED] += 1
    if bucket <= counter[BUCKET]:
        _push_to_heap(queue, time, body)
        return
    window = bucket // WINDOW_BUCKETS
    if window == counter[WINDOW]:
        _push_to_bucket(queue, time, body, bucket % WINDOW_BUCKETS)
        return
    block, used = queue.last[window]
    if block < 0 or used == BLOCK_ENTRIES:
        block, used = _block(queue, block), 0
        queue.last[window, 0] = block
    entry = block * BLOCK_ENTRIES + used
    queue.later_time[entry, 0], queue.later_link[entry, BODY] = time, body
    queue.last[window, 1] = used + 1


@lean
def _block(queue, before):
    """An unused block, which comes after another one."""
    counter, block = queue.counter, queue.counter[UNUSED_BLOCK]
    if block >= 0:
        counter[UNUSED_BLOCK] = queue.before[block]
    else:
        block = counter[TAKEN_BLOCKS]
        counter[TAKEN_BLOCKS] = block + 1
    queue.before[block] = before
    return block


@lean
def _push_to_bucket(queue, time, body, bucket):
    """Adds an entry to a bucket of the current window."""
    counter, entry = queue.counter, queue.counter[UNUSED]
    if entry >= 0:
        counter[UNUSED] = queue.link[entry, AFTER]
    else:
        entry = counter[TAKEN]
        counter[TAKEN] = entry + 1
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
        queue.counter[QUEUED] -= 1
        if min(event[body, 0], event[body, 1]) == time:
            return body
    return -1


@lean
def next_bucket(queue, event):
    """Moves the entries of the next bucket that has any to the heap, which is empty; False if there is none."""
    counter = queue.counter
    while True:
        counter[BUCKET] += 1
        if counter[BUCKET] >= queue.buckets:
            return False
        if counter[BUCKET] // WINDOW_BUCKETS != counter[WINDOW]:
            counter[WINDOW] += 1
            _open_window(queue)
        if queue.head[counter[BUCKET] % WINDOW_BUCKETS] >= 0:
            break
    first = queue.head[counter[BUCKET] % WINDOW_BUCKETS]
    queue.head[counter[BUCKET] % WINDOW_BUCKETS] = -1
    entry = first
    while entry >= 0:
        prefetch(event, queue.link[entry, BODY])
        entry = queue.link[entry, AFTER]
    entry = first
    while entry >= 0:
        following, time, body = queue.link[entry, AFTER], queue.time[entry, 0], queue.link[entry, BODY]
        if min(event[body, 0], event[body, 1]) == time:
            _push_to_heap(queue, time, body)
        else:
            counter[QUEUED] -= 1
        queue.link[entry, AFTER] = counter[UNUSED]
        counter[UNUSED] = entry
        entry = following
    return True


@lean
def _open_window(queue):
    """Moves the entries of the current window to its buckets."""
    counter = queue.counter
    block, used = queue.last[counter[WINDOW]]
    while block >= 0:
        for entry in range(block * BLOCK_ENTRIES, block * BLOCK_ENTRIES + used):
            time = queue.later_time[entry, 0]
            bucket = min(int(time * queue.rate), queue.buckets - 1)
            _push_to_bucket(queue, time, queue.later_link[entry, BODY], bucket % WINDOW_BUCKETS)
        before = queue.before[block]
        queue.before[block] = counter[UNUSED_BLOCK]
        counter[UNUSED_BLOCK] = block
        block, used = before, BLOCK_ENTRIES


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
