"""Independent pieces of work on several threads. Kernels release the GIL; pieces write to disjoint places.

Numba's own parallel loops were tried: they double the compile time of what they contain.
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
    """Threads in use: `numba.set_num_threads` or the variable NUMBA_NUM_THREADS set it."""
    return int(numba.get_num_threads())


def most_threads() -> int:
    """As many as Numba was started with: all processors, or the variable NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)


def on_threads(work: Callable[..., float], pieces: Sequence[tuple[Any, ...]]) -> float:
    """The largest value of `work(*piece)` over all pieces, in parallel if there are several."""
    if len(pieces) == 1 or thread_count() == 1:
        return max(work(*piece) for piece in pieces)
    return max(_pool(thread_count()).map(lambda piece: work(*piece), pieces))
