"""What solve_impact costs on a problem with three contacts, alone and in a batch, as CPU time."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

import carom

from .report import Row

LAWS = ("gr", "qce", "lcp")  # with a limit of their own
PROBLEMS = 1000  # of a batch


def _each(work: Callable[[], object], count: int) -> float:
    """The least CPU time of five repeats, in microseconds per problem."""
    times = []
    for _ in range(6):  # the first one compiles
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times[1:]) / count * 1e6


def run() -> list[Row]:
    problem = carom.ImpactProblem.chain([1, 1, 1, 1], [1, 0, 0, -0.5])
    rng = np.random.default_rng(3)
    many = [carom.ImpactProblem.chain(rng.uniform(0.5, 2.0, 4), rng.normal(size=4)) for _ in range(PROBLEMS)]
    rows = []
    for law in carom.laws.names():
        count = 20 if law in ("lzb", "etm", "smm") else 500
        each = _each(lambda n=law, k=count: [carom.solve_impact(problem, n) for _ in range(k)], count)
        print(f"{law:<13} {each:8.1f} us")
        if law in (*LAWS, "gauss_seidel"):
            limit = 80.0 if law in LAWS else 200.0
            rows.append(Row(f"solve_impact, 3 contacts, {law}", f"< {limit:g} us warm", f"{each:.0f} us", each < limit))
        if law in LAWS:
            each = _each(lambda n=law: carom.solve_impacts(many, n), PROBLEMS)
            name = f"solve_impacts, {PROBLEMS:,} problems of 3 contacts, {law}"
            rows.append(Row(name, "< 20 us each", f"{each:.1f} us", each < 20.0))
    return rows
