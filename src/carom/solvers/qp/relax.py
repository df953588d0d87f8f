"""The box problem `min 1/2 y^T A y + c^T y`, `low <= y <= high`, to a coarse tolerance, with work for what moves only.

Contacts wait in a queue. Each gets the impulse that is exact while all others stay, which can only lower the energy;
if that changed a speed by more than the tolerance, its neighbors join the queue. Where most contacts of a large pile
are all but at rest, few are ever touched.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..rows import push, speed


@kernel
def relax(rows, c, low, high, y, tolerance, visits):
    """In place of y, from its values, at most `visits` times the number of contacts; returns the residual, a speed."""
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
