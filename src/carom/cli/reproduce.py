"""`carom reproduce KEY` makes a figure or table of the papers again and writes a report with both values."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from .arguments import ALL as ALL_FORMATS
from .arguments import JSON, Formats, check_folder, formats_of
from .console import as_json, out, remarks
from .errors import INTERRUPTED
from .progress import clock, compile_notice_beside_bar, display, interrupts_as_such
from .tables import add_numbers, ruled_table

if TYPE_CHECKING:
    from ..reproduce import Entry, Evidence

LIST, ALL = "list", "all"
PROBE, PROBE_NAME = 1 << 20, ".room.part"  # bytes that must fit into the folder before anything is computed
LINES = 30.0  # seconds between lines about the progress where no bar can be drawn
SETTLED = 0.02  # fraction of the work after which the time that is left follows from the time that has passed


def reproduce(
    key: str = typer.Argument(LIST, help="A figure or table, the name of a paper, `all`, or `list`.", metavar="KEY"),
    scale: str = typer.Option(
        "small", "--scale", metavar="NAME", help="small: minutes. paper: the published size, resumable."
    ),
    output: Path = typer.Option(Path("evidence"), "-o", "--output", metavar="DIR", help="Folder of the report."),
    record: bool = typer.Option(False, "--record", help="Store the trajectories also at the small scale."),
    data: Path | None = typer.Option(
        None, "--data", metavar="DIR", help="Folder of measurements, for entries that compare with some."
    ),
    formats: Formats = ALL_FORMATS,
    json: bool = JSON,
) -> None:
    """Make figures and tables of the papers again and write a report: their values, ours, and the ratio.

    Results that are in DIR already are not computed again: the same command continues an interrupted one. An entry that
    fails does not stop the others; the exit code is then 1.
    """
    from ..reproduce import ENTRIES, SCALES

    if key == LIST:
        _list(ENTRIES, json)
        return
    chosen = [entry for entry in ENTRIES.values() if key in (ALL, entry.key, entry.key.split("-")[0])]
    if not chosen:
        raise ProblemError.unknown("entry", key, [*ENTRIES, ALL, LIST])
    if scale not in SCALES:
        raise ProblemError.unknown("scale", scale, SCALES)
    missing = [entry for entry in chosen if entry.needs and data is None]
    if missing == chosen:
        raise ProblemError("--data", "nothing", f"the folder {missing[0].needs}, which {key} compares with")
    if data is not None and not data.is_dir():
        raise ProblemError("--data", str(data), "a folder of measurements")
    endings = formats_of(formats)
    check_folder(output)
    _check_writable(output)
    from ..draw.style import written_as

    for entry in missing:
        remarks().print(f"{entry.key}: left out, it needs --data with {entry.needs}", markup=False, soft_wrap=True)
    session = _Session([entry for entry in chosen if entry not in missing], scale, output, record, data)
    with written_as(endings):
        stopped = session.run()
    session.say(json)
    if stopped:
        again = f"carom reproduce {key} --scale {scale} -o {output}" + (f" --data {data}" if data else "")
        remarks().print(f"continue with: {again}", markup=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    if session.failed:
        raise typer.Exit(1)


def _check_writable(folder: Path) -> None:
    """Refuses a folder that is read-only or full, before anything is computed."""
    probe = folder / PROBE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(PROBE))
    except OSError as error:
        raise ProblemError("--output", f"{folder} ({error.strerror})", "a folder with room for files") from None
    finally:
        if probe.is_file():
            probe.unlink()


def _list(entries: dict[str, Entry], json: bool) -> None:
    if json:
        keys = ("key", "title", "seconds")
        print(as_json([{name: getattr(entry, name) for name in keys} for entry in entries.values()]))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("key", style="bold cyan", no_wrap=True)
    table.add_column("figure or table")
    add_numbers(table, "small", "paper")
    for entry in entries.values():
        table.add_row(entry.key, entry.title, *map(_duration, entry.seconds))
    console = out()
    console.print(table)
    console.print("\nTimes on two cores; those at the scale of the papers are partly estimated.")
    console.print("Make one with [bold]carom reproduce KEY -o DIR[/], all with [bold]carom reproduce all[/]")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Session:
    """The entries that one command makes, with their progress and their results."""

    def __init__(self, chosen: list[Entry], scale: str, output: Path, record: bool, data: Path | None) -> None:
        from ..reproduce import begun, finished

        for entry in chosen:
            begun(output / entry.key, scale)  # refuses results of another scale before any work
        self.chosen, self.scale, self.output, self.record, self.data = chosen, scale, output, record, data
        self.failed: dict[str, Evidence] = {}
        here = finished(output, scale)
        self.new = [entry for entry in chosen if entry.key not in here]
        self.total = sum(map(self._seconds, self.new)) or 1.0
        self.done, self.began = 0.0, time.perf_counter()
        self.files: tuple[Path, ...] = ()

    def _seconds(self, entry: Entry) -> float:
        return max(entry.seconds[self.scale == "paper"], 0.1)

    def run(self) -> bool:
        """Makes the entries in order and writes the report after each of them; True if Ctrl-C ended it."""
        count = f"{len(self.chosen)} entries" if len(self.chosen) > 1 else self.chosen[0].key
        before = len(self.chosen) - len(self.new)
        known = f", {before} of them done before" if before and len(self.chosen) > 1 else ""
        estimated = ", estimated" if self.scale == "paper" else ""
        remarks().print(f"{count}{known}, scale {self.scale}: about {_duration(self.total)} on two cores{estimated}")
        stopped = False
        with compile_notice_beside_bar():
            try:
                for entry in self.new:
                    self._one(entry)
            except KeyboardInterrupt:
                stopped = True
        self._report()
        return stopped

    def _one(self, entry: Entry) -> None:
        from ..reproduce import Evidence, run

        began = time.perf_counter()
        try:
            with display(entry.key, every=LINES) as show, interrupts_as_such():

                def tell(part: float, what: str) -> None:
                    show(part, what, self._left(part, entry).removeprefix("; "))

                run(entry.key, self.output, self.scale, tell, self.record, self.data)
            text = f"{time.perf_counter() - began:.0f} s"
        except Exception as error:  # whatever is wrong with one entry, the others are independent of it
            text = f"failed: {type(error).__name__}: {error}"
            self.failed[entry.key] = Evidence((), error=text.removeprefix("failed: "))
        self.done += self._seconds(entry)
        remarks().print(f"{entry.key}: {text}{self._left(0.0, entry)}", markup=False, soft_wrap=True)
        self._report()

    def _left(self, part: float, entry: Entry) -> str:
        """What is left of the time of all entries, when a part of this one is done."""
        now = (self.done + part * self._seconds(entry)) / self.total
        if now >= 1.0 or (len(self.new) == 1 and part == 0.0):
            return ""
        passed = time.perf_counter() - self.began
        return f"; {clock(passed / now * (1.0 - now) if now > SETTLED else self.total * (1.0 - now))} left"

    def _report(self) -> None:
        """Writes the report about everything that is in the folder, and about what failed."""
        from ..reproduce import ENTRIES, finished
        from ..reproduce.report import write_report

        found = finished(self.output, self.scale) | self.failed
        self.found = {key: found[key] for key in ENTRIES if key in found}
        self.files = write_report(self.output, self.found, self.scale, datetime.date.today().isoformat())

    def say(self, json: bool) -> None:
        """Prints the rows of a single entry, and the files of the report; with `json` everything."""
        mine = {entry.key: self.found[entry.key] for entry in self.chosen if entry.key in self.found}
        if json:
            entries: dict[str, Any] = {key: evidence.as_dict(self.output) for key, evidence in mine.items()}
            print(as_json({"scale": self.scale, "entries": entries, "report": [str(path) for path in self.files]}))
            return
        if len(self.chosen) == 1 and mine and not self.failed:
            _show(*next(iter(mine.items())))
        out().print("report:")
        for path in self.files:
            out().print(f"  {path}", markup=False, soft_wrap=True)


def _show(key: str, evidence: Evidence) -> None:
    from ..reproduce.report import COLUMNS, cells

    console = out()
    table = ruled_table(key)
    texts = [cells(row) for row in evidence.rows]
    used = [k for k in range(len(COLUMNS)) if any(row[k] for row in texts)]
    for k in used:
        table.add_column(COLUMNS[k], justify="right" if COLUMNS[k] in ("paper", "ours", "ratio") else "left")
    for row in texts:
        table.add_row(*(row[k] for k in used))
    console.print(table)
    for finding in evidence.findings:
        console.print(f"- {finding}", markup=False, soft_wrap=True)
