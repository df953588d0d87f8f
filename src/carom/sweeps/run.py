"""`sweep`: computes the runs of a plan that are not done yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from .. import laws
from ..errors import ProblemError
from ..kernels import prepare
from .plan import Case, Plan, Prepared, prepared
from .store import LAST, RUNS, Folder, Results, check_parquet, row_of
from .task import FAILED, Record, Task
from .workers import Pool, workers_for


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep, passed to `progress` at its start and after every run."""

    done: int  # runs that are done, those of earlier calls included
    runs: int
    failed: int
    seconds: float  # since this call began
    left: float | None  # estimate of the remaining seconds; None before the first run is done
    workers: int


Tell = Callable[[Progress], None]


def sweep(
    scene: Any,
    parameters: Mapping[str, Any] | None = None,
    *,
    law: str | Sequence[str] | None = None,
    law_options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    measure: Any = ("energy_drift",),
    mode: str = "grid",
    samples: int | None = None,
    seed: int = 0,
    out: str | PathLike[str] | None = None,
    keep: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Tell | None = None,
) -> Results:
    """Runs all combinations and returns their measurements: one row per run.

    The arguments up to `seed`, and `keep`, are described in `Plan`; `scene` may also be a `Plan`. Everything is checked
    before the first run. `out` is the folder of the table; the same call again computes only what is missing there.
    Without it the rows are only returned. `workers` is the number of processes, by default one per processor, 0 for
    this process; `scheduler` the address of a Dask scheduler, whose workers are used instead. A run that fails is a
    row with its error. Ctrl-C raises KeyboardInterrupt after the table of the runs that are done has been written.
    """
    plan = scene
    if not isinstance(plan, Plan):
        tables = parameters or {}, law, law_options or {}, settings or {}
        plan = Plan(scene, *tables, seeds, measure, mode, samples, seed, keep)
    if progress is not None and not callable(progress):
        raise ProblemError("progress", progress, "a function of one Progress")
    if plan.keep and out is None:
        raise ProblemError("keep", True, "a folder in `out`")
    made = prepared(plan)
    if out is not None:
        check_parquet()
    if workers != 0 or scheduler is not None:
        _check_functions(made)
    pool = workers_for(workers, scheduler, len(made.cases))
    try:
        folder = None if out is None else Folder(Path(out), made)
        return _Session(made, folder, pool.count, progress).run(pool)
    finally:
        pool.close()


def _check_functions(made: Prepared) -> None:
    """Functions that other processes cannot import are refused."""
    for column in made.columns:
        f = column.function
        if f is not None and (f.__module__ == "__main__" or "<" in getattr(f, "__qualname__", "<")):
            wanted = 'a function of a module that can be imported, or "file.py:function", or workers=0'
            raise ProblemError("measure", column.name, wanted)


class _Session:
    """One attempt to complete a sweep."""

    def __init__(self, made: Prepared, folder: Folder | None, workers: int, tell: Tell | None) -> None:
        self.made, self.folder, self.workers, self.told = made, folder, workers, tell
        self.records: dict[int, Record] = {} if folder is None else folder.records
        self.before = len(self.records)
        self.began = time.perf_counter()

    def run(self, pool: Pool) -> Results:
        try:
            missing = [case for case in self.made.cases if case.id not in self.records]
            if missing:
                # Compiled here once, in parallel; workers find the machine code in the cache. A kernel that is not on
                # the list is compiled by the first worker that needs it: the cache has a lock per kernel.
                pool.start()
                prepare(self.made.families)
                self.began = time.perf_counter()
                self._tell()
                for record in pool.results(self._task(case) for case in missing):
                    self._add(record)
        finally:
            found = self.folder.close() if self.folder is not None else None
        return found if found is not None else self._in_memory()

    def _task(self, case: Case) -> Task:
        source = self.made.source
        known = frozenset([*case.columns(), *LAST])
        file = None
        if self.made.plan.keep and self.folder is not None:
            file = str((self.folder.path / RUNS / f"{case.id:06d}.h5").absolute())
        return Task(
            case.id,
            source.library,
            None if source.library else source.scene(case.parameters),
            case.parameters,
            laws.make(case.law, **case.options),
            case.settings,
            self.made.columns,
            file,
            known,
        )

    def _add(self, record: Record) -> None:
        if self.folder is not None:
            self.folder.add(record)
        else:
            self.records[record["id"]] = record
        self._tell()

    def _tell(self) -> None:
        if self.told is None:
            return
        now, total = len(self.records), len(self.made.cases)
        seconds = time.perf_counter() - self.began
        new = now - self.before
        left = seconds / new * (total - now) if new else None
        failed = sum(record["status"] == FAILED for record in self.records.values())
        self.told(Progress(now, total, failed, seconds, left, self.workers))

    def _in_memory(self) -> Results:
        rows = [row_of(self.made.cases[k].columns(), self.records[k]) for k in sorted(self.records)]
        return Results(rows, len(rows), list(self.made.cases[0].columns()), self.made.plan.varied)
