"""What solve_impact costs on a problem with three contacts."""

from __future__ import annotations

import carom

from .report import Row, best_time


def run() -> list[Row]:
    problem = carom.ImpactProblem.chain([1, 1, 1, 1], [1, 0, 0, -0.5])
    rows = []
    for law in carom.laws.names():
        batch = 20 if law in ("lzb", "etm", "smm") else 500
        seconds, _ = best_time(lambda n=law, k=batch: [carom.solve_impact(problem, n) for _ in range(k)], 3)
        print(f"{law:<13} {seconds / batch * 1e6:8.1f} us")
        if law in ("gr", "qce", "lcp", "gauss_seidel"):
            each = seconds / batch * 1e6
            rows.append(Row(f"solve_impact, 3 contacts, {law}", "< 200 us warm", f"{each:.0f} us", each < 200.0))
    return rows
