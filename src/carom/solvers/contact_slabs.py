"""Sweeps over large islands, in slabs that several threads sweep at the same time.

A contact shares bodies only with contacts of its own slab and of the two beside it, so the even slabs of a sweep are
independent of each other, and so are the odd ones. The result does not depend on the number of threads.
"""

from __future__ import annotations

from time import sleep

import numpy as np

from ..kernels import kernel
from ..kernels.atomic import add, exchange, load
from .contact_island import Island, Layout, part_of
from .contact_sweeps import (
    EXACT_SWEEPS,
    MOST_SWEEPS,
    SHARE,
    SINGLE_TOLERANCE,
    VERIFIED_CHANGE,
    Records,
    accept,
    extrapolate,
    first_state,
    paced,
    records_of,
    relax,
    start,
    sweep,
)
from .rows import Floats, Ints
from .threads import THREAD_NAP, THREAD_SPINS, thread_count, together
from .thresholds import THREADED_SWEEPS_CONTACTS

ISLAND_SLABS = 8  # slabs of a large island
SWEEP_STRIDE = 4  # contacts that follow each other in a sweep were this far apart: the processor overlaps their updates
PHASE, DONE, STOPPED = 0, 8, 16  # entries of the clock of threads, each on a cache line of its own


def relax_large(
    lay: Layout, whole: Island, mine: Ints, scale: float, tolerance: float
) -> tuple[float, int, Island, Ints]:
    """Sweeps over the contacts `mine` of a large island, on threads.

    `scale` is the order of magnitude of the speeds. A tolerance that single precision does not reach gets a few sweeps
    as a start for other methods. Returns the residual, the number of sweeps, and the island with its contacts, in the
    order of sweeps.
    """
    label = np.full(len(whole.x), -1, np.int64)
    island, mine, cuts = _slabbed(lay, whole, mine, label)
    most = MOST_SWEEPS if tolerance > SINGLE_TOLERANCE * scale else EXACT_SWEEPS
    tolerance = max(tolerance, SINGLE_TOLERANCE * scale)
    if thread_count() == 1 or cuts.shape[1] == 2:
        return *relax(lay, island, cuts, tolerance, most), island, mine
    records, state = records_of(lay, island, cuts), first_state()
    done, target, residual = 0, VERIFIED_CHANGE * tolerance, np.inf
    while done < most and residual > tolerance:
        start(lay, island, records)
        done += _threaded_sweeps(lay, records, cuts, state, (tolerance, target, most - done))
        residual = accept(lay, island, records)
        target *= 0.7
    return residual, done, island, mine


def _threaded_sweeps(lay: Layout, records: Records, cuts: Ints, state: Floats, limits: tuple[float, float, int]) -> int:
    """What `contact_sweeps._sweeps` does, with the slabs of one parity at the same time."""
    count, threads = cuts.shape[1] - 1, thread_count()
    clock, taken, reports = np.zeros(24, np.int64), np.zeros(2 * count, np.int64), np.zeros((count, 8))
    numbers = iter(range(threads))

    def share() -> None:
        me = (next(numbers), threads)
        while not _shared_sweeps(lay, records, cuts, state, limits, (reports, clock, taken), me):
            sleep(THREAD_NAP)  # lets the other thread run

    together(share, threads)
    return int(clock[STOPPED])


@kernel
def _shared_sweeps(lay, records, cuts, state, limits, shared, me):
    """The share of thread me[0] of me[1] in the sweeps; False if it waits for another thread that does not run.

    A sweep has three phases: its even slabs, its odd slabs, and the extrapolation of the velocities. In each, a thread
    takes slabs of its own and then those of others, which may have started late or not at all. Which thread does what
    has no influence on the result. `limits` are those of the sweeps: change of a busy contact, change at the end, and
    number of sweeps. `shared` are the reports of the slabs, the clock, and a count (2 slabs,) of how often each slab
    was swept, then extrapolated.
    """
    busy, target, most = limits
    reports, clock, taken = shared
    count = cuts.shape[1] - 1
    evens = (count + 1) // 2
    while True:
        phase = load(clock, PHASE)
        if load(clock, STOPPED) > 0:
            return True
        number, part = phase // 3, phase % 3
        ends = 2 * number * count + (evens if part == 0 else part * count)
        for k in range(count):
            slab = (k + me[0] * count // me[1]) % count
            at = slab + count if part == 2 else slab
            if (part < 2 and slab % 2 != part) or load(taken, at) != number:
                continue
            if not exchange(taken, at, number, number + 1):
                continue
            if part < 2:
                sweep(lay, records, cuts[0, slab], cuts[0, slab + 1], state[SHARE], busy, reports[slab])
            else:
                extrapolate(records, state[SHARE], cuts[1, slab], cuts[1, slab + 1])
            if add(clock, DONE, 1) + 1 == ends:
                if part == 1 and (paced(reports, state, target) or number + 1 == most):
                    add(clock, STOPPED, number + 1)
                add(clock, PHASE, 1)
        turns = 0
        while load(clock, PHASE) == phase:
            turns += 1
            if turns == THREAD_SPINS:
                return False


# ---- order of the contacts


@kernel
def strided(order, cuts):
    """The contacts of each slab in another order: those that follow each other were SWEEP_STRIDE places apart."""
    out = np.empty_like(order)
    for s in range(len(cuts) - 1):
        at = cuts[s]
        for offset in range(SWEEP_STRIDE):
            for p in range(cuts[s] + offset, cuts[s + 1], SWEEP_STRIDE):
                out[at] = order[p]
                at += 1
    return out


@kernel
def _slabbed(lay, whole, mine, label):
    """The contacts `mine` of `whole` in the order of a sweep: the island, its contacts, and the cuts of slabs.

    The cuts (2, slabs + 1) tell where each slab begins in contacts and in bodies. Bodies are numbered in the order of
    the slabs: two threads then seldom write to one cache line.
    """
    order, begin = np.arange(len(mine)), np.array([0, len(mine)])
    if len(mine) >= THREADED_SWEEPS_CONTACTS:
        island = part_of(lay, whole, mine, label)
        order, begin = slabs(island.body, len(island.x), ISLAND_SLABS)
    mine = mine[strided(order, begin)]
    island = part_of(lay, whole, mine, label)
    cuts, top = np.zeros((2, len(begin)), np.int64), -1
    for s in range(len(begin) - 1):
        for p in range(begin[s], begin[s + 1]):
            top = max(top, island.body[p, 0], island.body[p, 1])
        cuts[0, s + 1], cuts[1, s + 1] = begin[s + 1], top + 1
    return island, mine, cuts


@kernel
def slabs(body, n, wanted):
    """Order of contacts by slab, and slab pointers, for at most `wanted` slabs of a connected island.

    `body` (k, 2) are the bodies of the contacts among n; -1 for none.
    """
    k = len(body)
    ptr, touch = _touching(body, n)
    level, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = _levels(body, ptr, touch, max(body[0, 0], body[0, 1]), level, queue)
    count = _levels(body, ptr, touch, queue[count - 1], level, queue)
    depth = level[queue[count - 1]] + 1
    first, share = np.empty(k, np.int64), np.zeros(depth, np.int64)
    for p in range(k):
        a, b = body[p, 0], body[p, 1]
        first[p] = min(level[a] if a >= 0 else depth, level[b] if b >= 0 else depth)
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


@kernel(inline="always")
def _touching(body, n):
    """Contacts of each body: pointers and contacts."""
    ptr = np.zeros(n + 1, np.int64)
    for b in body.ravel():
        if b >= 0:
            ptr[b + 1] += 1
    for b in range(n):
        ptr[b + 1] += ptr[b]
    fill, touch = ptr.copy(), np.empty(ptr[n], np.int64)
    for p in range(len(body)):
        for b in body[p]:
            if b >= 0:
                touch[fill[b]] = p
                fill[b] += 1
    return ptr, touch


@kernel(inline="always")
def _levels(body, ptr, touch, first, level, queue):
    """Writes distances from body `first` to `level` and bodies in that order to `queue`; returns their number."""
    level[:] = -1
    level[first] = 0
    queue[0] = first
    head, count = 0, 1
    while head < count:
        b = queue[head]
        head += 1
        for e in range(ptr[b], ptr[b + 1]):
            for other in body[touch[e]]:
                if other >= 0 and level[other] < 0:
                    level[other] = level[b] + 1
                    queue[count] = other
                    count += 1
    return count
