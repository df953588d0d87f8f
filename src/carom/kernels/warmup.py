"""Compiles many kernels in parallel processes, callees before callers.

This process compiles too; the others are started with its own path of modules and are sent one entry of the manifest
at a time. The machine code reaches the process that needs it through the cache on disk.
"""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from . import _clock
from .files import cache_folder, prune
from .manifest import FAILED, Entry, Manifest, load
from .nested import nested
from .notice import QUIET_VARIABLE, notice
from .signatures import decode

MOST_PROCESSES = 8  # the longest chain of calls limits what more would gain
SECONDS_PER_PROCESS = 4.0  # of compiling: with less, starting a process costs more than it saves
# Objects of finished compilations that a process keeps before it looks for those that only refer to each other, about
# 600 MB: to look after each kernel takes a twelfth of the time of compiling, and most processes end before.
MOST_GARBAGE = 6_000_000

_WORKER = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from carom.kernels.warmup import work; work()"


@dataclass
class WarmUp:
    """What a warm-up did."""

    kernels: int = 0  # that were missing
    processes: int = 0
    skipped: list[str] = field(default_factory=list)  # entries that cannot be compiled, with the reason


def warm_up(families: Iterable[str], processes: int | None = None) -> WarmUp:
    """Compiles the kernels of some families that are not in the cache; with `processes` None, as many as cores."""
    manifest, folder = load(), cache_folder()
    if folder is None:
        return WarmUp()  # other processes could not hand over their work
    missing = [i for i in manifest.select(families) if manifest.entries[i].is_missing()]
    if not missing:
        return WarmUp()
    queue = _Queue(manifest, missing)
    count = _process_count(queue.seconds) if processes is None else min(processes, len(missing))
    notice().begin(len(missing))
    with _clock:
        _compile_all(queue, count)
    prune(folder)
    return WarmUp(len(missing), count, queue.skipped)


def _process_count(seconds: float) -> int:
    """Number of processes for this many seconds of work; 1 inside a pool of processes, which uses all cores."""
    if multiprocessing.parent_process() is not None or not sys.executable:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, int(seconds / SECONDS_PER_PROCESS)))


class _Queue:
    """Entries to compile. An entry is ready when its callees are compiled; the longest chain of callers goes first."""

    def __init__(self, manifest: Manifest, missing: list[int]) -> None:
        self.entries, self.todo = manifest.entries, set(missing)
        self.unfinished, self.total = set(missing), len(missing)
        self.seconds = sum(manifest.entries[i].seconds for i in missing)
        self.skipped: list[str] = []
        self.changed = threading.Condition()
        self.urgency = {i: self.entries[i].seconds for i in missing}
        for i in reversed(missing):  # callers stand after callees
            for needed in self.entries[i].needs:
                if needed in self.urgency:
                    self.urgency[needed] = max(self.urgency[needed], self.entries[needed].seconds + self.urgency[i])

    def take(self) -> int | None:
        """An entry that is ready, after waiting for one if necessary; None if all are compiled."""
        with self.changed:
            while self.unfinished:
                ready = [i for i in self.todo if self.unfinished.isdisjoint(self.entries[i].needs)]
                if ready:
                    chosen = max(ready, key=lambda i: (self.urgency[i], -i))
                    self.todo.remove(chosen)
                    return chosen
                self.changed.wait()
            return None

    def finish(self, number: int, problem: str) -> None:
        with self.changed:
            self.unfinished.discard(number)
            if problem:
                self.skipped.append(problem)
            notice().advance(self.total - len(self.unfinished), self.total)
            self.changed.notify_all()

    def give_back(self, number: int) -> None:
        """The process that compiled it has died."""
        with self.changed:
            self.todo.add(number)
            self.changed.notify_all()


def _compile_all(queue: _Queue, count: int) -> None:
    workers: list[subprocess.Popen[str]] = []
    with contextlib.suppress(OSError):  # where no process can be started, this one compiles all
        workers.extend(_start() for _ in range(count - 1))
    threads = [threading.Thread(target=_serve, args=(worker, queue), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        while (number := queue.take()) is not None:
            queue.finish(number, compile_entry(queue.entries[number]))
    finally:
        for worker in workers:
            worker.kill()  # all is compiled, or this process was interrupted
            worker.wait()


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WORKER, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, QUIET_VARIABLE: "1"},
    )


def _serve(worker: subprocess.Popen[str], queue: _Queue) -> None:
    """Hands entries to a process until all are compiled or it dies."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    while (number := queue.take()) is not None:
        try:
            entry = queue.entries[number]
            print(json.dumps([entry.kernel, entry.types, 0.0, [], entry.nested]), file=worker.stdin, flush=True)
            answer = worker.stdout.readline()
        except (OSError, ValueError):
            answer = ""
        if not answer:
            queue.give_back(number)
            return
        queue.finish(number, json.loads(answer))


def work() -> None:
    """The loop of a started process: one line in, an entry; one line out, the problem or an empty text."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever is printed on import must not be taken for an answer
    gc.disable()
    for line in sys.stdin:
        print(json.dumps(compile_entry(Entry(*json.loads(line)))), file=answers, flush=True)


def compile_entry(entry: Entry) -> str:
    """Compiles one entry. Returns the problem if it cannot be compiled, which the cache remembers."""
    path = entry.path()
    problem = ""
    if gc.get_count()[0] > MOST_GARBAGE:  # counted even where Python does not collect it by itself
        gc.collect()
    try:
        with nested(entry.nested):
            entry.dispatcher().compile(tuple(decode(item) for item in entry.types))
    except Exception as error:  # a stale entry fails in any of Numba's ways
        lines = str(error).strip().splitlines()
        problem = f"{entry.kernel}: {type(error).__name__}: {lines[0] if lines else ''}"
    if path is not None and not path.exists():
        with contextlib.suppress(OSError):
            path.with_suffix(FAILED).touch()
    return problem


if __name__ == "__main__":  # needs few packages: the Makefile calls it while other packages are installed
    gc.disable()
    warm_up(sys.argv[1:] or load().families)
    gc.freeze()  # nothing is collected at the end
