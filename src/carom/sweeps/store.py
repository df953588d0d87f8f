"""The folder of a sweep: its plan, the journal of finished runs, and the table.

sweep.json is the plan with its fingerprint. runs.jsonl gets one line per run when the run is finished; a line that a
killed process left incomplete is cut off. table.parquet is compiled from these two, with the rows in the order of the
runs, whenever a sweep ends or is interrupted. A sweep that is killed at any moment is continued from the journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ProblemError
from ..files import atomic_path, json_text, write_text
from ..hdf5.journal import fcntl
from .plan import Prepared
from .task import DONE, FAILED, Record

FORMAT, VERSION = "carom sweep", 1
PLAN, JOURNAL, TABLE, RUNS = "sweep.json", "runs.jsonl", "table.parquet", "runs"
TIMED = ("seconds",)  # columns that differ between two sweeps of one plan
LAST = ("status", "error", "seconds", "carom", "numpy", "numba", "python")


@dataclass(frozen=True)
class Results:
    """The table of a sweep: one row per finished run, in the order of the runs."""

    rows: list[dict[str, Any]]
    total: int  # number of runs of the plan
    known: list[str]  # columns that the plan determines
    varied: list[str]  # those of them that differ between runs, without seeds
    path: Path | None = None  # of the folder

    def __repr__(self) -> str:
        failed = f", {len(self.failed):,} failed" if self.failed else ""
        place = "" if self.path is None else f" in {self.path}"
        return f"<Results of a sweep: {len(self):,} of {self.total:,} runs{failed}, {len(self.columns)} columns{place}>"

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return column_names(self.rows)

    @property
    def measured(self) -> list[str]:
        """Names of the measurements."""
        return [name for name in self.columns if name not in self.known and name not in LAST]

    def __getitem__(self, name: str) -> list[Any]:
        """One column."""
        if name not in self.columns:
            raise ProblemError.unknown("column", name, self.columns)
        return [row.get(name) for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of runs that raised an error."""
        return [row for row in self.rows if row["status"] == FAILED]

    @property
    def done(self) -> list[dict[str, Any]]:
        """The rows of runs that have measurements."""
        return [row for row in self.rows if row["status"] == DONE]

    def comparable(self) -> list[dict[str, Any]]:
        """The rows without the columns in TIMED: equal for two sweeps of one plan, bit for bit."""
        return [{name: value for name, value in row.items() if name not in TIMED} for row in self.rows]


def row_of(case: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """The row of a finished run; `case` are the columns that were known before."""
    own = {name: record[name] for name in ("status", "error", "seconds")}
    return {**case, **record["measures"], **own, **record["versions"]}


def column_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """All columns: what is known before the runs, then measurements, then LAST."""
    names = dict.fromkeys(name for row in rows for name in row if name not in LAST)
    return [*names, *(name for name in LAST if rows)]


class Folder:
    """The folder of a sweep that is being computed. One process at a time may have it open."""

    def __init__(self, path: Path, sweep: Prepared) -> None:
        self.path, self._cases = path, sweep.cases
        self._varied = sweep.plan.varied
        self._check(sweep)
        made = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / PLAN).exists():
                write_text(path / PLAN, self._plan_text(sweep))
            self._file = (path / JOURNAL).open("a+b", buffering=0)
        except OSError as wrong:
            if made and path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            raise _unwritable(path, wrong) from None
        try:
            self._lock()
            self.records = self._read()
        except BaseException:
            self._file.close()
            raise

    def _check(self, sweep: Prepared) -> None:
        """Refuses a path that is no folder, a folder of other files, and one of another sweep."""
        if self.path.exists() and not self.path.is_dir():
            raise ProblemError("out", str(self.path), "a folder, or a name for a new one")
        if not (self.path / PLAN).exists():
            if self.path.exists() and any(self.path.iterdir()):
                raise ProblemError("out", str(self.path), "a folder that is new, empty, or of this sweep")
            return
        before = read_plan_file(self.path)
        if before["fingerprint"] != sweep.fingerprint:
            change = _difference(before["plan"], sweep.record)
            wanted = f"another folder: the sweep that it contains has another plan (different: {change})"
            raise ProblemError("out", str(self.path), wanted)

    def _plan_text(self, sweep: Prepared) -> str:
        data = {"format": FORMAT, "version": VERSION, "fingerprint": sweep.fingerprint, "runs": len(sweep.cases)}
        cases = [case.columns() for case in sweep.cases]
        return json_text({**data, "varied": self._varied, "plan": sweep.record, "cases": cases}, indent=1) + "\n"

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProblemError("out", str(self.path), "a folder in which no other sweep is running") from None
        except OSError:  # a network drive without locks
            pass

    def _read(self) -> dict[int, Record]:
        """The finished runs. What follows the last complete line is cut off."""
        records, end = _journal(self.path)
        self._file.truncate(end)
        return records

    def add(self, record: Record) -> None:
        """Stores a finished run. If there is no room, the journal stays as it was."""
        line = (json.dumps(record) + "\n").encode()
        end = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
        except OSError as wrong:
            self._file.truncate(end)
            raise _unwritable(self.path, wrong) from None
        self.records[record["id"]] = record

    def results(self) -> Results:
        """The rows so far."""
        rows = [row_of(self._cases[k].columns(), self.records[k]) for k in sorted(self.records)]
        return Results(rows, len(self._cases), list(self._cases[0].columns()), self._varied, self.path)

    def close(self) -> Results:
        """Writes the table and releases the folder."""
        try:
            found = self.results()
            write_table(self.path / TABLE, found)
        except OSError as wrong:
            raise _unwritable(self.path, wrong) from None
        finally:
            self._file.close()
        return found


def load(path: str | os.PathLike[str]) -> Results:
    """The results in the folder of a sweep, also of one that is not finished or still running."""
    folder = Path(path)
    plan = read_plan_file(folder)
    records, _ = _journal(folder)
    rows = [row_of(plan["cases"][k], records[k]) for k in sorted(records)]
    return Results(rows, plan["runs"], list(plan["cases"][0]), plan["varied"], folder)


def read_plan_file(folder: Path) -> dict[str, Any]:
    """The content of sweep.json."""
    from ..files import read_file

    path = folder / PLAN
    if not path.is_file():
        raise ProblemError("sweep", str(folder), f"the folder of a sweep, with a file {PLAN}")
    try:
        data = json.loads(read_file(path, "sweep"))
        if data["format"] != FORMAT or data["version"] != VERSION:
            raise ValueError
        return dict(data)
    except (ValueError, KeyError, TypeError):
        raise ProblemError("sweep", str(path), f"a file that `carom sweep` wrote, in format {VERSION}") from None


def _journal(folder: Path) -> tuple[dict[int, Record], int]:
    """The records of the journal by number, and the length of its complete lines in bytes."""
    records: dict[int, Record] = {}
    end = 0
    path = folder / JOURNAL
    if not path.exists():
        return records, end
    with path.open("rb") as file:
        for line in file:
            try:
                if not line.endswith(b"\n"):
                    break
                record = json.loads(line)
                records[record["id"]] = record
            except (ValueError, TypeError, KeyError):
                break
            end += len(line)
    return records, end


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The parts of two plans that differ."""
    axes = [{name: json.dumps(values) for name, values in plan.get("axes", [])} for plan in (before, now)]
    found = [name for name in {**axes[0], **axes[1]} if axes[0].get(name) != axes[1].get(name)]
    found += [name for name in now if name != "axes" and json.dumps(before.get(name)) != json.dumps(now[name])]
    return ", ".join(found) or "the order of the parameters"


def _unwritable(path: Path, wrong: OSError) -> ProblemError:
    return ProblemError("out", str(path), f"a folder that can be written ({wrong.strerror or wrong})")


# ---- Parquet


def write_table(path: Path, results: Results) -> None:
    """Writes the table atomically. Columns have one type each; a value that does not suit it becomes text."""
    import pyarrow as pa
    from pyarrow import parquet

    names = results.columns
    columns = {name: _array([row.get(name) for row in results.rows]) for name in names}
    if "error" in columns:
        columns["error"] = columns["error"].cast(pa.string())  # of the same type if no run has failed
    table = pa.table(columns)
    with atomic_path(path) as part:
        parquet.write_table(table, part)


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # such as lists of different things
        return pa.array([None if value is None else json.dumps(value) for value in values])


def check_parquet() -> None:
    """Raises ProblemError unless Parquet files can be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ProblemError("out", "a folder", "the package pyarrow: pip install '.[sweep]' in a clone") from None
