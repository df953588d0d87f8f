"""Sweeps over large islands, in slabs that several threads sweep at the same time.

A contact shares bodies only with contacts of its own slab and of the two beside it, so the even slabs of a sweep are
independent of each other, and so are the odd ones. The result does not depend on the number of threads.
"""

from __future__ import annotations

from time import sleep

import numpy as np

from ..kernels import kernel
from ..kernels.atomic import add, exchange, load
from .blocks import Blocks
from .contact_pack import Layout
from .contact_records import arranged, finish, pack, restart, room, scale_of
from .contact_sweeps import BOLDNESS, advance, extrapolate, first_state, paced, sweep
from .rows import Floats, Ints
from .threads import SPINS, on_threads, thread_count, together

SWEEPS = 400  # bound on the sweeps over an island
EXACT_SWEEPS = 40  # the same, for a tolerance that sweeps hardly reach
SLABS = 8  # slabs of a large island
TARGET = 1.0  # change of a speed in a sweep, as a share of the tolerance, at which the residual is verified
SINGLE = 1e-5  # tolerance, relative to the speeds that impulses cause, from which single precision is enough
PHASE, DONE, STOPPED = 0, 8, 16  # entries of the clock of threads, each on a cache line of its own


def relax(
    lay: Layout,
    blocks: Blocks,
    weight: Floats,
    mine: Ints,
    velocity: Floats,
    impulse: Floats,
    x: Floats,
    tolerance: float,
) -> tuple[float, int]:
    """Sweeps over one large island, on threads, in place of its impulses and velocities x; returns residual, sweeps."""
    label = np.full(len(velocity), -1, np.int64)
    contacts, body, members, cuts = arranged(blocks.body, mine, label, SLABS)
    n, k, count = len(members), len(contacts), cuts.shape[1] - 1
    dtype = np.float32 if tolerance > SINGLE * scale_of(lay, blocks, weight, mine, impulse, x) else np.float64
    records = room(lay, k, n + 2 * count, dtype)
    on_threads(_packs, [(lay, blocks, weight, contacts, body, n, cuts, part, records) for part in _dealt(count)])
    given = (lay, blocks, weight, mine, contacts, members, cuts, velocity, impulse, x, tolerance, records)
    return _relaxed(*given, EXACT_SWEEPS if dtype is np.float64 else SWEEPS)


def _relaxed(lay, blocks, weight, mine, contacts, members, cuts, velocity, impulse, x, tolerance, records, most):
    """At most `most` sweeps over a large island, in place of impulses and velocities x; returns residual, sweeps."""
    dtype, count = records.x.dtype.type, cuts.shape[1] - 1
    zeros, units = (dtype(0.0),) * len(lay.axes), (dtype(1e-30), dtype(1.0))
    done, target, residual, state = 0, TARGET * tolerance, np.inf, first_state()
    run = sweeps if thread_count() == 1 or count == 1 else _threaded_sweeps
    while done < most and residual > tolerance:
        on_threads(_restarts, [(lay, blocks, contacts, impulse, x, cuts, part, records) for part in _dealt(count)])
        records.x[:], records.last_x[:] = 0.0, 0.0
        done += run(lay, zeros, units, records, cuts, state, tolerance, target, most - done)
        residual = finish(lay, blocks, weight, mine, contacts, members, velocity, records.z, impulse, x)
        target *= 0.7
    return residual, done


def _dealt(count: int, parity: int = 0, step: int = 1) -> list[Ints]:
    """Slabs parity, parity + step, ... distributed over the threads."""
    return [part for part in np.array_split(np.arange(parity, count, step), thread_count()) if len(part)]


@kernel
def _packs(lay, blocks, weight, contacts, body, n, cuts, part, records):
    for s in part:
        pack(lay, blocks, weight, contacts, body, n + 2 * s, cuts[0, s], cuts[0, s + 1], records)
    return 0.0


@kernel
def _restarts(lay, blocks, contacts, impulse, x, cuts, part, records):
    for s in part:
        restart(lay, blocks, contacts, impulse, x, cuts[0, s], cuts[0, s + 1], records)
    return 0.0


@kernel
def _shared_sweeps(lay, zeros, units, records, cuts, state, busy, target, most, reports, clock, taken, me, threads):
    """The share of thread `me` in what `sweeps` does; False if it waits for another thread that does not run.

    A sweep has three phases: its even slabs, its odd slabs, and the extrapolation of the velocities. In each, a thread
    takes slabs of its own and then those of others, which may have started late or not at all. Which thread does what
    has no influence on the result. `taken` (2 slabs,) counts how often each slab was swept, then extrapolated.
    """
    count = cuts.shape[1] - 1
    evens = (count + 1) // 2
    while True:
        phase = load(clock, PHASE)
        if load(clock, STOPPED) > 0:
            return True
        number, part = phase // 3, phase % 3
        ends = 2 * number * count + (evens if part == 0 else part * count)
        for k in range(count):
            slab = (k + me * count // threads) % count
            at = slab + count * (part == 2)
            if (part < 2 and slab % 2 != part) or load(taken, at) != number:
                continue
            if not exchange(taken, at, number, number + 1):
                continue
            if part < 2:
                sweep(
                    lay, zeros, units, records, cuts[0, slab], cuts[0, slab + 1], state[BOLDNESS], busy, reports[slab]
                )
            else:
                extrapolate(records, state[BOLDNESS], cuts[1, slab], cuts[1, slab + 1])
            if add(clock, DONE, 1) + 1 == ends:
                if part == 1 and (paced(reports, state, target) or number + 1 == most):
                    add(clock, STOPPED, number + 1)
                add(clock, PHASE, 1)
        turns = 0
        while load(clock, PHASE) == phase:
            turns += 1
            if turns == SPINS:
                return False


def _threaded_sweeps(lay, zeros, units, records, cuts, state, busy, target, most):
    """What `sweeps` does, with the slabs of one parity at the same time."""
    count, threads = cuts.shape[1] - 1, thread_count()
    clock, taken, reports = np.zeros(24, np.int64), np.zeros(2 * count, np.int64), np.zeros((count, 8))
    given = (lay, zeros, units, records, cuts, state, busy, target, most, reports, clock, taken)
    numbers = iter(range(threads))

    def share() -> None:
        me = next(numbers)
        while not _shared_sweeps(*given, me, threads):
            sleep(0.0)  # lets the other thread run

    together(share, threads)
    return int(clock[STOPPED])


@kernel
def sweeps(lay, zeros, units, records, cuts, state, busy, target, most):
    """Sweeps until no speed changes by more than `target`, `most` at most; returns their number.

    Slabs are swept in the order in which threads would sweep them: even ones, then odd ones.
    """
    count = cuts.shape[1] - 1
    reports = np.zeros((count, 3))
    for done in range(most):
        for parity in range(2):
            for s in range(parity, count, 2):
                sweep(lay, zeros, units, records, cuts[0, s], cuts[0, s + 1], state[BOLDNESS], busy, reports[s])
        if advance(records, reports, state, target):
            return done + 1
    return most
