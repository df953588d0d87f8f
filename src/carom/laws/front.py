"""The front of an impact: the violators among the contacts whose bodies have just changed velocity."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import speed

# With more than one contact in SCANNED_PER_MOVED moved, all contacts are scanned: in the order of memory that is faster
# than to look up the contacts of the moved bodies. The others have not changed their speed.
SCANNED_PER_MOVED = 24


@kernel
def initial_front(rows, x, tol):
    """Contacts with u < -tol, ascending, and their speeds."""
    m = len(rows.body)
    front, u = np.empty(m, np.int64), np.empty(m)
    k = 0
    for i in range(m):
        s = speed(rows, i, x)
        if s < -tol:
            front[k], u[k] = i, s
            k += 1
    return front[:k], u[:k]


@kernel
def next_front(rows, x, tol, moved, stamp, visited, generation):
    """Violators among the contacts of all bodies that the contacts `moved` touch.

    `stamp` marks contacts and `visited` marks bodies that were examined in this `generation`, so that each is examined
    once. Returns the violators and their speeds.
    """
    m, w = rows.body.shape
    if SCANNED_PER_MOVED * len(moved) > m:
        return initial_front(rows, x, tol)
    front, u = np.empty(m, np.int64), np.empty(m)
    k = 0
    for i in moved:
        for side in range(w):
            b = rows.body[i, side]
            if b < 0 or visited[b] == generation:
                continue
            visited[b] = generation
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                j = rows.touch[t]
                if stamp[j] == generation:
                    continue
                stamp[j] = generation
                s = speed(rows, j, x)
                if s < -tol:
                    front[k], u[k] = j, s
                    k += 1
    return front[:k], u[:k]
