"""The cone problem over all rows: a front door to `solve_box` for callers outside the kernels."""

from __future__ import annotations

import numpy as np

from .box import solve_box
from .rows import Floats, Rows


def solve_cone(rows: Rows, c: Floats, start: Floats | None = None) -> tuple[Floats, float]:
    """`argmin_{y >= 0} 1/2 y^T A y + c^T y` and its certificate."""
    m = len(c)
    return solve_bounds(rows, c, np.zeros(m), np.full(m, np.inf), start)


def solve_bounds(
    rows: Rows, c: Floats, low: Floats, high: Floats, start: Floats | None = None
) -> tuple[Floats, float]:
    """`argmin 1/2 y^T A y + c^T y` over `low <= y <= high`, and its certificate. `start` warms it."""
    n, d = len(rows.touch_ptr) - 1, rows.val.shape[1]
    y = np.zeros(len(c)) if start is None else np.array(start, dtype=np.float64)
    certificate = solve_box(
        rows,
        np.arange(len(c)),
        np.ascontiguousarray(c, dtype=np.float64),
        np.ascontiguousarray(low, dtype=np.float64),
        np.ascontiguousarray(high, dtype=np.float64),
        y,
        start is not None,
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros((n, d)),
    )
    return y, float(certificate)
