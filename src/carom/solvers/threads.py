"""Independent pieces of work on several threads. Kernels release the GIL, and pieces write to disjoint memory.

Numba's own parallel loops were tried: they double the compile time of the loops. A thread that has done its work waits
for the next in a loop for a moment (`THREAD_LINGER`), then it sleeps.

Where another program uses the processors, a second thread does not help: it waits for a processor, and the first one
waits for it. The number of threads is therefore chosen from the processors that are free (`free_processors`), unless
the caller has set it by `limited`. Results are bitwise identical for any number.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from time import perf_counter, sleep
from typing import Any

import numba
import numpy as np

from ..kernels import kernel
from ..kernels.atomic import load
from .processors import free_processors
from .thresholds import THREADED_QP_CONTACTS

THREAD_LINGER = 5e-4  # seconds for which a thread waits in a loop for its next work before it sleeps
THREAD_SPINS = 200_000  # turns of a waiting loop, about 0.1 ms, before the GIL is taken to look at the clock
THREAD_NAP = 5e-5  # seconds for which a thread sleeps that waits for one without a processor

_by_caller = threading.local()  # `number`: the number of threads set by `limited` in this thread


def thread_count() -> int:
    """Number of threads in use: that of `limited`, or as many as there are free processors.

    At most that of `numba.set_num_threads`, which is at first the environment variable NUMBA_NUM_THREADS.
    """
    most = int(numba.get_num_threads())
    if most == 1 or getattr(_by_caller, "number", None) is not None:
        return most
    return min(most, free_processors())


def most_threads() -> int:
    """Maximum number of threads: all processors, or the environment variable NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)


@contextmanager
def limited(count: int) -> Iterator[None]:
    """`count` threads for what this thread does in the block, also on a busy machine; other threads keep their own."""
    before, of_caller = int(numba.get_num_threads()), getattr(_by_caller, "number", None)
    numba.set_num_threads(count)
    _by_caller.number = count
    try:
        yield
    finally:
        numba.set_num_threads(before)
        _by_caller.number = of_caller


@kernel
def _changed(flag, value, spins):
    """Waits until flag[0] differs from `value`; False if it did not within `spins` turns."""
    turns = 0
    while load(flag, 0) == value and turns < spins:
        turns += 1
    return turns < spins


class _Job:
    """A function that another thread calls, and its outcome."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work, self.done = work, np.zeros(1, np.int64)
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self.work()
        except BaseException as error:  # handed to the thread that waits
            self.error = error
        self.done[0] = 1

    def wait(self) -> Any:
        while not _changed(self.done, 0, THREAD_SPINS):
            sleep(THREAD_NAP)
        if self.error is not None:
            raise self.error
        return self.value


class _Worker:
    """One thread of a pool, which takes jobs in order and then lingers."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="carom")
        self.jobs: deque[_Job] = deque()
        self.given = np.zeros(1, np.int64)
        self.lock, self.running = threading.Lock(), False

    def give(self, work: Callable[[], Any]) -> _Job:
        job = _Job(work)
        with self.lock:
            self.jobs.append(job)
            self.given[0] += 1
            start, self.running = not self.running, True
        if start:
            self.pool.submit(self._serve)
        return job

    def withdraw(self, job: _Job) -> bool:
        """Takes back a job that has not started; False if it has."""
        with self.lock:
            if job not in self.jobs:
                return False
            self.jobs.remove(job)
            return True

    def _serve(self) -> None:
        while True:
            with self.lock:
                job, seen = self.jobs.popleft() if self.jobs else None, int(self.given[0])
            if job is not None:
                job.run()
                continue
            until = perf_counter() + THREAD_LINGER
            while not _changed(self.given, seen, THREAD_SPINS) and perf_counter() < until:
                pass
            with self.lock:
                if not self.jobs and self.given[0] == seen:
                    self.running = False
                    return


@cache
def _workers() -> list[_Worker]:
    return [_Worker() for _ in range(most_threads() - 1)]


def together(share: Callable[[], Any], threads: int) -> list[Any]:
    """Calls `share` on `threads` threads, this one included, and returns the values of those that took part.

    A thread that has not started when this one has returned is not waited for: on a busy machine it may take longer
    to start than this one needs for all the work.
    """
    given = [(worker, worker.give(share)) for worker in _workers()[: threads - 1]]
    values = [share()]
    return values + [job.wait() for worker, job in given if not worker.withdraw(job)]


def beside(count: int, one: Callable[[], Any], two: Callable[[], Any]) -> tuple[Any, Any]:
    """The values of two independent functions that work on `count` contacts, at the same time if they are many.

    The second one runs on another thread, the first one here, so that both may use `on_threads`.
    """
    if thread_count() == 1 or count < THREADED_QP_CONTACTS:
        return one(), two()
    worker = _workers()[0]
    later = worker.give(two)
    value = one()
    return value, two() if worker.withdraw(later) else later.wait()


def on_threads(work: Callable[..., float], pieces: Sequence[tuple[Any, ...]]) -> float:
    """The largest value of `work(*piece)` over all pieces, in parallel if there are several.

    Each thread takes the next piece when it has done one.
    """
    threads = min(thread_count(), len(pieces)) if len(pieces) > 1 else 1  # a new count takes 60 us
    if threads == 1:
        return max(work(*piece) for piece in pieces)
    queue = iter(pieces)

    def share() -> float:
        return max((work(*piece) for piece in queue), default=-math.inf)

    return max(together(share, threads))
