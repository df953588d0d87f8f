"""Time of a QCE pass on random piles from a thousand to a hundred thousand contacts."""

from __future__ import annotations

import numpy as np

from carom.laws.front import initial_front
from carom.laws.qce import one_pass

from .piles import random_pile
from .report import Row, best_time


def run() -> list[Row]:
    """Each size gets as many different piles as make a hundred thousand contacts, one pass each in turn.

    Timing one small pile over and over would flatter it: the processor learns its branches by heart.
    """
    sizes, times = [], []
    for contacts in (1_000, 3_000, 10_000, 30_000, 100_000):
        stream = []
        for seed in range(max(1, 100_000 // contacts)):
            impact = random_pile(contacts, seed=seed).contacts
            front, u = initial_front(impact.rows, impact.velocity, 0.0)
            stream.append((impact.rows, front, u, -u, np.full(impact.count, -1, np.int64)))
        seconds, _ = best_time(lambda work=stream: [one_pass(*one) for one in work], 15)
        seconds /= len(stream)
        m = float(np.mean([len(one[4]) for one in stream]))
        sizes.append(m)
        times.append(seconds)
        print(
            f"{m:7.0f} contacts, {np.mean([len(one[1]) for one in stream]):6.0f} in the first pass: "
            f"{seconds * 1e3:8.3f} ms, {seconds / (m * np.log2(m)) * 1e9:.2f} ns per m log2 m"
        )
    growth = times[-1] / times[0]
    limit = sizes[-1] * np.log(sizes[-1]) / (sizes[0] * np.log(sizes[0]))
    measured = f"time x {growth:.0f} for contacts x {sizes[-1] / sizes[0]:.0f} (m log m: x {limit:.0f})"
    return [Row("QCE pass, 1e3 to 1e5 contacts", "grows no faster than m log m", measured, growth <= limit)]
