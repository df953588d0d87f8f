"""Where the runs of a sweep are computed: in this process, in worker processes, or on a Dask cluster.

Worker processes are started with `python -c` and not by `multiprocessing`: a script needs no `if __name__ ==
"__main__"`, a notebook works, and when a process dies it is known which run it was computing. Each has one thread.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ProblemError
from .task import Record, Task, lost

ATTEMPTS = 3  # times that a run is started before it counts as the reason for which its workers die
CONNECT = 15.0  # seconds within which a scheduler must answer
MOST_WORKERS = 1024  # worker processes
AHEAD = 1000  # tasks that are handed to a cluster before their results are there
Results = Iterator[Record]
_CODE = "from carom.sweeps.workers import serve; serve()"
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ThisProcess:
    """No workers: the runs are computed one after the other where the sweep was started."""

    count = 0

    def start(self) -> None:
        """There is nothing to start."""

    def results(self, tasks: Iterable[Task]) -> Results:
        """The records of all tasks."""
        return (task.run() for task in tasks)

    def close(self) -> None:
        """Nothing is left to close."""


# ---- worker processes


def serve() -> None:
    """The loop of a worker process: tasks come on its standard input, records go to its standard output."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # Ctrl-C in the terminal is for the parent, which then ends its workers
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a user's function prints must not mix with the replies
    tasks = sys.stdin.buffer
    sys.path[:] = pickle.load(tasks)
    _end_with_parent()
    while True:
        try:
            task: Task = pickle.load(tasks)
        except EOFError:
            return
        pickle.dump(task.run(), replies)
        replies.flush()


def _end_with_parent() -> None:
    """Ends this process when the parent is gone, also in the middle of a run whose file the next sweep will write."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            threading.Event().wait(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Processes:
    """Worker processes, each fed by a thread of this process. A task whose worker dies is given to a new one."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._records: queue.SimpleQueue[Record | BaseException] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = threading.Event()

    def start(self) -> None:
        """Starts the workers: they load the library, which takes a second or two, while this process goes on."""
        for _ in range(self.count):
            threading.Thread(target=self._feed, daemon=True).start()

    def results(self, tasks: Iterable[Task]) -> Results:
        """Records in the order in which they are finished."""
        waiting, underway = iter(tasks), 0
        try:
            for task in waiting:
                self._tasks.put(task)
                underway += 1
                while underway >= 2 * self.count:  # one at work and one waiting for each
                    yield self._next()
                    underway -= 1
            while underway:
                yield self._next()
                underway -= 1
        finally:
            self.close()

    def _next(self) -> Record:
        while True:
            try:
                found = self._records.get(timeout=0.5)  # returns to Python, so that Ctrl-C is noticed on every system
            except queue.Empty:
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def close(self) -> None:
        """Ends all workers at once."""
        self._closed.set()
        for _ in range(self.count):
            self._tasks.put(None)
        for process in list(self._running):
            process.kill()
            process.wait()

    def _feed(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        try:
            process = self._start()
            while (task := self._tasks.get()) is not None and not self._closed.is_set():
                for attempt in range(1, ATTEMPTS + 1):
                    process = process or self._start()
                    try:
                        self._records.put(_ask(process, task))
                        break
                    except (EOFError, OSError, pickle.UnpicklingError):
                        code, process = self._ended(process), None
                        if self._closed.is_set():
                            return
                        if attempt == ATTEMPTS:
                            self._records.put(lost(task.id, f"its worker died {ATTEMPTS} times, last with {code}"))
        except BaseException as error:  # such as a task that cannot be pickled
            self._records.put(error)
        finally:
            if process is not None:
                self._ended(process)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
        process = subprocess.Popen(
            [sys.executable, "-c", _CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._running.add(process)
        assert process.stdin is not None
        pickle.dump(sys.path, process.stdin)
        process.stdin.flush()
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        """Ends a process; how it ended."""
        self._running.discard(process)
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass
        try:
            code = process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _ask(process: subprocess.Popen[bytes], task: Task) -> Record:
    assert process.stdin is not None
    assert process.stdout is not None
    data = pickle.dumps(task)
    process.stdin.write(data)
    process.stdin.flush()
    record: Record = pickle.load(process.stdout)
    return record


# ---- Dask


class Cluster:
    """The workers of a Dask cluster. The scheduler gives the runs of a lost worker to another one."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ProblemError(
                "scheduler", address, "the package distributed: pip install '.[sweep]' in a clone"
            ) from None
        try:
            self.client = Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as wrong:
            detail = " ".join(str(wrong).split())
            raise ProblemError(
                "scheduler", address, f"the address of a Dask scheduler that answers ({detail})"
            ) from None
        self.address = address
        self._check_versions()
        self.count = max(1, len(self.client.scheduler_info()["workers"]))

    def _check_versions(self) -> None:
        """Workers with another version of Carom would give other numbers. Those that join later are not asked."""
        from .task import versions

        for worker, found in self.client.run(_worker_version, on_error="return").items():
            if found != versions()["carom"]:
                text = f"{found} on worker {worker}"
                self.close()
                raise ProblemError("scheduler", text, f"Carom {versions()['carom']} on every worker")

    def start(self) -> None:
        """The workers of a cluster are running already."""

    def results(self, tasks: Iterable[Task]) -> Results:
        """Records in the order in which they are finished."""
        from distributed import as_completed

        waiting, futures = iter(tasks), as_completed([], loop=self.client.loop)
        ids: dict[Any, int] = {}

        def submit() -> None:
            task = next(waiting, None)
            if task is not None:
                future = self.client.submit(Task.run, task, key=f"carom-{os.getpid()}-{id(self)}-{task.id}", pure=False)
                ids[future.key] = task.id
                futures.add(future)

        try:
            for _ in range(AHEAD):
                submit()
            for future in futures:
                yield self._record(future, ids.pop(future.key))
                future.release()
                submit()
        finally:
            self.close()

    def _record(self, future: Any, task: int) -> Record:
        if future.status == "finished":
            record: Record = future.result()
            return record
        if future.status in ("cancelled", "lost"):
            raise ProblemError("scheduler", self.address, "a scheduler that stays reachable; start the sweep again")
        error = future.exception()
        return lost(task, f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])

    def close(self) -> None:
        """Cancels what is not done and leaves the cluster, which keeps running."""
        self.client.close(timeout=5)


def _worker_version() -> str:
    from .task import versions

    return versions()["carom"]


Pool = ThisProcess | Processes | Cluster


def workers_for(count: int | None, scheduler: str | None, tasks: int) -> Pool:
    """The workers of a sweep; `count` None stands for one per processor, 0 for this process."""
    if scheduler is not None:
        if count is not None:
            raise ProblemError("workers", count, "nothing beside scheduler: the cluster has its own")
        return Cluster(scheduler)
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = most if count is None else count
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_WORKERS:
        raise ProblemError("workers", count, f"a whole number from 0 (this process) to {MOST_WORKERS:,}")
    return Processes(min(count, tasks)) if count else ThisProcess()
