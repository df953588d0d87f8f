"""One line a benchmark: what was asked, what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    name: str
    asked: str
    measured: str
    passed: bool | None  # None: skipped

    def __post_init__(self) -> None:
        if self.passed is not None:
            object.__setattr__(self, "passed", bool(self.passed))  # a comparison of NumPy numbers is no bool

    @property
    def verdict(self) -> str:
        return "skipped" if self.passed is None else ("pass" if self.passed else "FAIL")


def table(rows: list[Row]) -> str:
    width = [max(len(getattr(row, key)) for row in rows) for key in ("name", "asked", "measured")]
    lines = [
        f"{row.name:<{width[0]}}  {row.asked:<{width[1]}}  {row.measured:<{width[2]}}  {row.verdict}" for row in rows
    ]
    return "\n".join(lines)


def markdown(rows: list[Row], before: dict[str, str]) -> str:
    """The rows as a table in Markdown; `before` maps names to what an earlier version measured."""
    head = ["benchmark", "asked", *(["before"] if before else []), "measured", "verdict"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        verdict = "**falls short**" if row.passed is False else row.verdict
        earlier = [before.get(row.name, "")] if before else []
        lines.append([row.name, row.asked, *earlier, row.measured, verdict])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def best_time(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest of several runs in seconds, after one to warm up, and the last result."""
    result = work()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result
