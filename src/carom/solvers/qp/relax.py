"""The box QP to a coarse tolerance, with work only for the contacts that move.

Contacts wait in a queue. Each gets the impulse that is exact while all others stay, which can only lower the energy;
if that changed a speed by more than the tolerance, its neighbors join the queue. In a large pile most contacts are
almost at rest, and few are ever processed.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..rows import push, speed

VISITS = 200  # average number of times that a contact is processed, at most


@kernel
def relax(rows, c, low, high, y, tolerance, visits):
    """Solves the box QP in place of y, starting from its values; returns the residual, a speed.

    A contact is processed at most `visits` times on average.
    """
    m, n = len(c), len(rows.touch_ptr) - 1
    x = np.zeros((n, rows.val.shape[1]))
    queue, waits = np.empty(m, np.int64), np.ones(m, np.bool_)
    for i in range(m):
        queue[i] = i
        if y[i] != 0.0:
            push(rows, i, y[i], x)
    head, size, left = 0, m, visits * m
    while size > 0 and left > 0:
        i = queue[head]
        head = head + 1 if head + 1 < m else 0
        size -= 1
        left -= 1
        waits[i] = False
        new = min(max(y[i] - (c[i] + speed(rows, i, x)) / rows.diag[i], low[i]), high[i])
        change = new - y[i]
        if abs(change) * rows.diag[i] <= tolerance:
            continue
        y[i] = new
        push(rows, i, change, x)
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            b = rows.body[e]
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                j = rows.touch[t]
                if not waits[j] and j != i:
                    waits[j] = True
                    tail = head + size
                    queue[tail if tail < m else tail - m] = j
                    size += 1
    if size == 0:
        return tolerance
    worst = 0.0
    for i in range(m):
        new = min(max(y[i] - (c[i] + speed(rows, i, x)) / rows.diag[i], low[i]), high[i])
        worst = max(worst, abs(new - y[i]) * rows.diag[i])
    return worst
