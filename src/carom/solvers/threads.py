"""Independent pieces of work on several threads. Kernels release the GIL, and pieces write to disjoint memory.

Numba's own parallel loops were tried: they double the compile time of the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="carom")


def thread_count() -> int:
    """Number of threads in use, set by `numba.set_num_threads` or the environment variable NUMBA_NUM_THREADS."""
    return int(numba.get_num_threads())


def most_threads() -> int:
    """Maximum number of threads: all processors, or the environment variable NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)


def on_threads(work: Callable[..., float], pieces: Sequence[tuple[Any, ...]]) -> float:
    """The largest value of `work(*piece)` over all pieces, in parallel if there are several."""
    if len(pieces) == 1 or thread_count() == 1:
        return max(work(*piece) for piece in pieces)
    return max(_pool(thread_count()).map(lambda piece: work(*piece), pieces))
