"""`carom events RUN.h5` lists impacts and periods of resting contact of a run, and writes them as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from ..shown import counted
from .arguments import JSON, RUN, whole_number
from .console import WIDE, as_json, out, remarks
from .tables import plain_table

if TYPE_CHECKING:
    from ..trajectory.events import Events

LISTED = 20  # events that are printed unless --limit says otherwise


def events(
    file: Path = RUN,
    where: str | None = typer.Option(
        None, "--where", metavar="CONDITION", help="Condition on columns, such as \"impulse > 0.1 and kind == 'rest'\"."
    ),
    csv: Path | None = typer.Option(None, "--csv", metavar="FILE", help="Write the events as CSV."),
    parquet: Path | None = typer.Option(None, "--parquet", metavar="FILE", help="Write the events as Parquet."),
    limit: int = typer.Option(LISTED, "--limit", parser=whole_number, metavar="N", help="Events to print."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace existing files."),
    json: bool = JSON,
) -> None:
    """List every impact and every period of resting contact of a run: when, where, between which bodies, and with which
    impulse. Columns are explained in docs/events.md.
    """
    from ..trajectory import Trajectory

    if limit < 0:
        raise ProblemError("--limit", limit, "a number from 0 up")
    for path in (csv, parquet):
        if path is not None:
            _check_target(path, overwrite)
    with Trajectory(file) as run:
        found = run.events
        if found is None:
            raise ProblemError("file", str(file), "a run with events: it was recorded with --events none, or long ago")
        chosen = found if where is None else found.where(where)
        rest, unlisted = len(found), run.unlisted_events.total if run.unlisted_events is not None else 0
    written = _write(chosen, csv, parquet)
    if json:
        facts = {"file": str(file), "events": rest, "selected": len(chosen), "unlisted": unlisted}
        print(as_json({**facts, "written": [str(p) for p in written], "rows": _records(chosen, limit)}))
        return
    _show(chosen, limit, rest, unlisted)
    if written:
        remarks().print(f"wrote {', '.join(map(str, written))}", markup=False, soft_wrap=True)


def _check_target(path: Path, overwrite: bool) -> None:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ProblemError("output", str(path), "a file in a folder that exists")
    if path.exists() and not overwrite:
        raise ProblemError("output", str(path), "a file that does not exist yet, or --overwrite")


def _write(chosen: Events, csv: Path | None, parquet: Path | None) -> list[Path]:
    """Writes the tables that were asked for; files are complete or do not exist."""
    from ..files import atomic_path

    if csv is not None:
        from ..exporting.tables import write_events_csv

        with atomic_path(csv) as part:
            write_events_csv(chosen, part)
    if parquet is not None:
        table = chosen.to_arrow()
        from pyarrow import parquet as writer

        with atomic_path(parquet) as part:
            writer.write_table(table, part)
    return [path for path in (csv, parquet) if path is not None]


def _records(chosen: Events, limit: int) -> list[dict[str, Any]]:
    columns = {name: values[:limit].tolist() for name, values in chosen.columns().items()}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _show(chosen: Events, limit: int, count: int, unlisted: int) -> None:
    from ..stepping.events import NO_BODY

    table = plain_table()
    names = ["time", "first", "second", "approach", "separation", "impulse", "duration", "kind"]
    console = out()
    if console.width >= WIDE:
        names = ["step", *names, "energy", "status"]
    for name in names:
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    for row in _records(chosen, limit):
        table.add_row(*("" if row[name] == NO_BODY else _text(row[name]) for name in names))
    console.print(table)
    left = f", {len(chosen) - limit:,} not shown" if len(chosen) > limit else ""
    console.print(f"{counted(len(chosen), 'event')} of {count:,}{left}", markup=False)
    if unlisted:
        text = f"{unlisted:,} weaker events were summed to stay within the budget; --events all lists them"
        console.print(text, markup=False, style="yellow")


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
