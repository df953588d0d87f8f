"""`carom reproduce KEY` makes a figure or table of the papers again and writes a report with both values."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .console import out, remarks
from .figure_formats import ALL as ALL_FORMATS
from .figure_formats import Formats, check_folder, formats_of

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..reproduce import Entry, Evidence

LIST, ALL = "list", "all"


def reproduce(
    key: str = typer.Argument(LIST, help="A figure or table, the name of a paper, `all`, or `list`.", metavar="KEY"),
    scale: str = typer.Option("small", "--scale", help="small: minutes. paper: the published size, resumable."),
    output: Path = typer.Option(Path("evidence"), "-o", "--output", metavar="DIR", help="Folder of the report."),
    record: bool = typer.Option(False, "--record", help="Store the trajectories also at the small scale."),
    formats: Formats = ALL_FORMATS,
) -> None:
    """Make figures and tables of the papers again and write a report: their values, ours, and the ratio.

    Results that are in DIR already are not computed again: the same command continues an interrupted one.
    """
    from ..reproduce import ENTRIES, SCALES

    if key == LIST:
        _list(ENTRIES)
        return
    chosen = [entry for entry in ENTRIES.values() if key in (ALL, entry.key, entry.key.split("-")[0])]
    if not chosen:
        raise ProblemError.unknown("entry", key, [*ENTRIES, ALL, LIST])
    if scale not in SCALES:
        raise ProblemError.unknown("scale", scale, SCALES)
    check_folder(output)
    endings = formats_of(formats)
    from ..draw.style import written_as
    from ..reproduce.report import write_report

    _announce(chosen, scale)
    with written_as(endings):
        found = _run(chosen, scale, output, record)
    if len(found) == 1:
        _show(*next(iter(found.items())))
    out().print("report:")
    for path in write_report(output, found, scale, datetime.date.today().isoformat()):
        out().print(f"  {path}", markup=False, soft_wrap=True)


def _list(entries: dict[str, Entry]) -> None:
    console = out()
    width = max(map(len, entries))
    for key, entry in entries.items():
        console.print(f"[bold cyan]{key:<{width}}[/]  {entry.title}", soft_wrap=True, highlight=False)
    console.print("\nMake one with [bold]carom reproduce KEY -o DIR[/], all with [bold]carom reproduce all[/]")


def _announce(chosen: list[Entry], scale: str) -> None:
    """Says how long it will take, from the measured time of each entry."""
    seconds = sum(entry.seconds[scale == "paper"] for entry in chosen)
    count = f"{len(chosen)} entries" if len(chosen) > 1 else chosen[0].key
    remarks().print(f"{count}, scale {scale}: about {_duration(seconds)} on two cores")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _run(chosen: list[Entry], scale: str, output: Path, record: bool) -> dict[str, Evidence]:
    """Makes the entries in order, with a progress bar on stderr and a line for each that is done."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from .progress import compile_notice_beside_bar

    console = remarks()
    found: dict[str, Evidence] = {}
    bar = Bar(TextColumn("{task.description:<44}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True)
    with bar, compile_notice_beside_bar():
        for entry in chosen:
            began = time.perf_counter()
            found[entry.key] = _one(entry, scale, output, record, bar)
            console.print(f"{entry.key}: {time.perf_counter() - began:.0f} s", highlight=False)
    return found


def _one(entry: Entry, scale: str, output: Path, record: bool, bar: Progress) -> Evidence:
    from ..reproduce import run

    task = bar.add_task(entry.key, total=1.0)

    def tell(part: float, what: str) -> None:
        bar.update(task, completed=part, description=f"{entry.key}: {what}"[:44])

    try:
        return run(entry.key, output, scale, tell, record)
    finally:
        bar.remove_task(task)


def _show(key: str, evidence: Evidence) -> None:
    from rich import box
    from rich.table import Table

    from ..reproduce.report import COLUMNS, cells

    console = out()
    table = Table(box=box.SIMPLE_HEAD, title=key, title_justify="left", pad_edge=False)
    texts = [cells(row) for row in evidence.rows]
    used = [k for k in range(len(COLUMNS)) if any(row[k] for row in texts)]
    for k in used:
        table.add_column(COLUMNS[k], justify="right" if COLUMNS[k] in ("paper", "ours", "ratio") else "left")
    for row in texts:
        table.add_row(*(row[k] for k in used))
    console.print(table)
    for finding in evidence.findings:
        console.print(f"- {finding}", markup=False, soft_wrap=True)
