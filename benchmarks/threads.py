"""One thread against two: the same bits, and what it saves."""

from __future__ import annotations

import numba
import numpy as np

from carom.laws.gr import reflections

from .cone_data import DATA, TOLERANCE, load
from .piles import cluster_field
from .report import Row, best_time


def run() -> list[Row]:
    available = numba.config.NUMBA_NUM_THREADS
    if available < 2:
        return [Row("GR on 2 threads", "the same bits", "one core only", None)]
    cases = {"20,000 contacts in small clusters": cluster_field(1500, 20).contacts}
    for path in sorted(DATA.glob("*jammed.npz")):
        cases[path.stem] = load(path)
    rows = []
    for name, contacts in cases.items():
        answers, times = [], []
        for count in (1, 2):
            numba.set_num_threads(count)
            seconds, answer = best_time(
                lambda c=contacts: reflections(c.rows, c.velocity, c.boundary_speed, TOLERANCE, 100000), 7
            )
            answers.append(answer[1])
            times.append(seconds)
        same = bool(np.array_equal(answers[0], answers[1]))
        print(f"{name}: {times[0] * 1e3:.1f} ms on one thread, {times[1] * 1e3:.1f} ms on two")
        rows.append(Row(f"GR on 2 threads, {name}", "the same bits", f"{same}, {times[0] / times[1]:.2f} x", same))
    return rows
