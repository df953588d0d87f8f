"""How many processors this process may use, and how many of them other programs leave free."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from time import perf_counter, process_time

USE_WINDOW = 0.25  # seconds over which the use of processors is measured; the system counts it in hundredths
# Share of a processor that other programs may use while it still counts as free: measurements, editors and the system
# itself take a few percent, and a thread that loses more than this keeps the others waiting.
UNNOTICED_LOAD = 0.4
STAT, QUOTAS = Path("/proc/stat"), (Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"))


def threads_for(allowed: int, others: float) -> int:
    """Number of threads on `allowed` processors of which other programs use `others`, a number with a fraction."""
    return max(1, min(allowed, int(allowed - others + UNNOTICED_LOAD)))


def free_processors() -> int:
    """Number of processors that other programs leave free, at least 1; 1 until it has been measured for the first time.

    On systems that do not tell the use of processors it is the number that this process may use.
    """
    return _use.free()


@cache
def allowed_processors() -> int:
    """Number of processors that this process may use: of its affinity, and of the quota of its container."""
    count = len(_affinity()) or os.cpu_count() or 1
    for path in QUOTAS:
        try:
            count = min(count, quota(path.read_text(), _period(path)))
        except (OSError, ValueError):
            continue
    return count


def quota(text: str, period: str = "") -> int:
    """Whole processors, at least one, of a quota "microseconds period" or "microseconds"; "max" or -1: no limit."""
    share, *rest = text.split()
    if share in ("max", "-1"):
        return sys.maxsize
    return max(1, int(share) // int(rest[0] if rest else period))


def _period(path: Path) -> str:
    """The period of a quota whose file does not have it."""
    other = path.with_name("cpu.cfs_period_us")
    return other.read_text() if path.name.endswith("quota_us") else ""


def _affinity() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def busy_seconds(stat: str, processors: set[int], tick: float) -> float:
    """Seconds for which some processors have worked, from the text of /proc/stat and the seconds of a tick.

    Its columns are user, nice, system, idle, waiting for files, interrupts (2) and stolen by other machines. Programs
    of low priority (nice) are not counted: they leave the processor to others.
    """
    total = 0
    for line in stat.splitlines():
        name, *ticks = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in processors:
            total += sum(map(int, ticks[:3:2] + ticks[5:8]))
    return tick * total


class _Use:
    """The use of processors by other programs, measured at most once per USE_WINDOW."""

    def __init__(self) -> None:
        self.number, self.since, self.busy, self.own = 1, -1.0, 0.0, 0.0

    def free(self) -> int:
        now = perf_counter()
        if self.since >= 0.0 and now - self.since < USE_WINDOW:
            return self.number
        try:
            busy = busy_seconds(STAT.read_text(), _affinity(), 1.0 / os.sysconf("SC_CLK_TCK"))
        except (OSError, ValueError, AttributeError):
            self.number, self.since = allowed_processors(), now
            return self.number
        own = process_time()
        if self.since >= 0.0:
            others = (busy - self.busy - (own - self.own)) / (now - self.since)
            self.number = threads_for(allowed_processors(), max(others, 0.0))
        self.since, self.busy, self.own = now, busy, own
        return self.number


_use = _Use()
