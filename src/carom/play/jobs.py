"""Background jobs, carried out one at a time, with progress and a way to stop them."""

from __future__ import annotations

import itertools
import queue
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import ProblemError

RESULTS_KEPT = 6  # finished jobs whose results are kept
WAITING = 4  # jobs that may wait for the running one
LIMIT = 300.0  # seconds per job, compiling included
ABANDONED = 90.0  # seconds without a question about a job after which its page is gone; hidden pages ask rarely

Work = Callable[[Callable[[str, float], None]], dict[str, Any]]


class Stopped(Exception):
    """Raised inside a job that was stopped."""


@dataclass
class Job:
    """One job. `state` is waiting, running, done, failed or stopped."""

    number: int
    work: Work
    state: str = "waiting"
    text: str = "waiting for another run"
    share: float = 0.0
    result: dict[str, Any] | None = None
    error: str = ""
    asked_to_stop: threading.Event = field(default_factory=threading.Event)
    deadline: float = 0.0
    asked: float = field(default_factory=time.monotonic)  # when its state was last asked for

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "stopped")

    @property
    def unwanted(self) -> bool:
        """Whether the job was stopped, or the page that started it is gone."""
        return self.asked_to_stop.is_set() or time.monotonic() - self.asked > ABANDONED

    def to_dict(self) -> dict[str, Any]:
        told = {"id": self.number, "state": self.state, "text": self.text, "share": self.share}
        return {**told, "error": self.error} if self.error else told

    def tell(self, text: str, share: float) -> None:
        """Reports progress from inside the work; raises if the job was stopped or exceeds LIMIT."""
        self.text, self.share = text, share
        if self.unwanted:
            raise Stopped
        if time.monotonic() > self.deadline:
            expected = "fewer bodies, a shorter duration or a larger step"
            raise ProblemError("run", f"{LIMIT:.0f} seconds of computing", expected, _too_long(expected))

    def carry_out(self) -> None:
        """Does the work and stores its result or error."""
        if self.unwanted:
            self.state, self.text = "stopped", "stopped before it began"
            return
        self.state, self.deadline = "running", time.monotonic() + LIMIT
        try:
            self.result = self.work(self.tell)
            self.text, self.share, self.state = "done", 1.0, "done"
        except Stopped:
            self.text, self.state = "stopped", "stopped"
        except ProblemError as refusal:
            self.error, self.text, self.state = str(refusal), "refused", "failed"
        except Exception as fault:
            traceback.print_exc()
            self.error, self.text, self.state = f"{type(fault).__name__}: {fault}", "an error in Carom", "failed"


def _too_long(expected: str) -> str:
    return f"the run took more than {LIMIT:.0f} seconds and was stopped: try {expected}"


class Jobs:
    """The queue and its worker, a daemon thread, which does not keep the process alive."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._queue: queue.Queue[Job | None] = queue.Queue()  # None ends the thread
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="carom play runs", daemon=True)
        self._thread.start()

    def add(self, work: Work) -> Job:
        """Puts a job in the queue; ProblemError if too many are waiting."""
        with self._lock:
            if sum(not job.over for job in self._jobs.values()) > WAITING:
                raise ProblemError("run", "too many at once", f"at most {WAITING} that wait; stop one of them")
            job = Job(next(self._numbers), work)
            self._jobs[job.number] = job
            old = [number for number, j in self._jobs.items() if j.over]
            for number in old[: max(0, len(old) - RESULTS_KEPT)]:
                del self._jobs[number]
        self._queue.put(job)
        return job

    def job(self, number: int) -> Job:
        """The job of that number, waiting, running or kept."""
        with self._lock:
            if number not in self._jobs:
                raise ProblemError("run", number, "the number of a run that this server still keeps")
            self._jobs[number].asked = time.monotonic()
            return self._jobs[number]

    def stop(self, number: int) -> Job:
        """Asks a job to stop, which it does after its current step."""
        job = self.job(number)
        job.asked_to_stop.set()
        return job

    def close(self) -> None:
        """Asks all jobs to stop, without waiting for them."""
        with self._lock:
            for job in self._jobs.values():
                job.asked_to_stop.set()
        self._queue.put(None)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job.carry_out()
