"""How many threads run on a machine that others use too: the rule, what it reads, and that a busy machine gets one."""

from __future__ import annotations

import pytest

from carom.solvers import processors
from carom.solvers.processors import USE_WINDOW, busy_seconds, quota, threads_for
from carom.solvers.threads import limited, most_threads, thread_count

STAT = """cpu  100 50 30 900 5 1 2 4 0 0
cpu0 60 0 10 400 5 1 2 4 0 0
cpu1 40 50 20 500 0 0 0 0 0 0
cpu10 7 0 0 0 0 0 0 0 0 0
intr 12345
"""


@pytest.mark.parametrize(
    ("allowed", "others", "expected"),
    [
        (1, 0.0, 1),
        (2, 0.0, 2),
        (2, 0.3, 2),  # the system and an editor
        (2, 0.5, 1),
        (2, 1.0, 1),
        (2, 7.0, 1),  # more work than processors
        (8, 0.1, 8),
        (8, 3.0, 5),
        (8, 7.7, 1),
        (16, 1.5, 14),
    ],
)
def test_threads_for_free_processors(allowed, others, expected):
    assert threads_for(allowed, others) == expected


def test_busy_seconds_of_own_processors():
    """User, system, interrupts and stolen time count; idle time, waiting and programs of low priority do not."""
    assert busy_seconds(STAT, {0}, 0.01) == pytest.approx(0.77)
    assert busy_seconds(STAT, {0, 1}, 0.01) == pytest.approx(1.37)


def test_quota_of_a_container():
    assert quota("max 100000") > 1000
    assert quota("150000 100000") == 1  # one and a half processors
    assert quota("400000 100000") == 4
    assert quota("20000 100000") == 1  # at least one
    assert quota("-1", "100000") > 1000
    assert quota("200000", "100000") == 2


class Machine:
    """A clock, the CPU time of this process, and a file in which the system counts that of all."""

    def __init__(self, path, monkeypatch):
        self.path, self.now, self.own, self.ticks = path, 100.0, 5.0, 0
        monkeypatch.setattr(processors, "STAT", path)
        monkeypatch.setattr(processors, "perf_counter", lambda: self.now)
        monkeypatch.setattr(processors, "process_time", lambda: self.own)
        monkeypatch.setattr(processors, "_affinity", lambda: {0, 1})
        monkeypatch.setattr(processors, "allowed_processors", lambda: 2)
        monkeypatch.setattr(processors.os, "sysconf", lambda name: 100)
        self.write()

    def write(self):
        self.path.write_text(f"cpu0 {self.ticks} 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n")

    def passes(self, seconds, own, others):
        """Time passes in which this process and others use so many processors."""
        self.now += seconds
        self.own += own * seconds
        self.ticks += round(100 * (own + others) * seconds)
        self.write()


def test_threads_follow_the_use_of_processors(tmp_path, monkeypatch):
    machine, use = Machine(tmp_path / "stat", monkeypatch), processors._Use()
    assert use.free() == 1  # not measured yet
    machine.passes(0.5 * USE_WINDOW, 1.0, 0.0)
    assert use.free() == 1
    machine.passes(0.6 * USE_WINDOW, 1.0, 0.0)
    assert use.free() == 2
    machine.passes(2 * USE_WINDOW, 2.0, 0.0)
    assert use.free() == 2  # what this process uses itself is not taken by others
    machine.passes(2 * USE_WINDOW, 1.0, 1.0)
    assert use.free() == 1
    machine.passes(2 * USE_WINDOW, 1.0, 0.0)
    assert use.free() == 2


def test_a_number_that_was_asked_for_holds_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr("carom.solvers.threads.free_processors", lambda: 1)
    assert thread_count() == 1
    for count in {1, min(2, most_threads())}:
        with limited(count):
            assert thread_count() == count
    assert thread_count() == 1


def test_a_system_that_does_not_tell(tmp_path, monkeypatch):
    Machine(tmp_path / "stat", monkeypatch)
    monkeypatch.setattr(processors, "STAT", tmp_path / "none")
    assert processors._Use().free() == 2
