"""Independent pieces of work on several threads. Kernels release the GIL, and pieces write to disjoint memory.

Numba's own parallel loops were tried: they double the compile time of the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba

from .thresholds import THREADED_QP_CONTACTS


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="carom")


def thread_count() -> int:
    """Number of threads in use, set by `numba.set_num_threads` or the environment variable NUMBA_NUM_THREADS."""
    return int(numba.get_num_threads())


def most_threads() -> int:
    """Maximum number of threads: all processors, or the environment variable NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)


def beside(count: int, one: Callable[[], Any], two: Callable[[], Any]) -> tuple[Any, Any]:
    """The values of two independent functions that work on `count` contacts, at the same time if they are many.

    The second one runs in the pool, the first one here, so that both may use `on_threads`.
    """
    if thread_count() == 1 or count < THREADED_QP_CONTACTS:
        return one(), two()
    later = _pool(thread_count()).submit(two)
    return one(), later.result()


def on_threads(work: Callable[..., float], pieces: Sequence[tuple[Any, ...]]) -> float:
    """The largest value of `work(*piece)` over all pieces, in parallel if there are several.

    Each thread, this one included, takes the next piece when it has done one. A thread that has not started when no
    piece is left is not waited for: on a busy machine it may take longer to start than this one needs for all pieces.
    """
    if len(pieces) == 1 or thread_count() == 1:
        return max(work(*piece) for piece in pieces)
    queue = iter(pieces)

    def share() -> float:
        return max((work(*piece) for piece in queue), default=-math.inf)

    others = [_pool(thread_count()).submit(share) for _ in range(min(thread_count(), len(pieces)) - 1)]
    worst = share()
    return max([worst, *(other.result() for other in others if not other.cancel())])
