"""`carom check run.h5`: did the run keep what it must keep?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import as_json, out, verdict
from .run_arguments import RUN, number_option

if TYPE_CHECKING:
    from rich.table import Table

    from ..analysis.run_checks import Check

FAILED = 1
WIDE = 100  # columns from which the reason stands in a column of its own


def check(
    file: Path = RUN,
    energy: float | None = number_option("--energy", "BOUND", "Drift, or rise; default 1e-9."),
    momentum: float | None = number_option("--momentum", "BOUND", "Drift; default 1e-9."),
    overlap: float | None = number_option(
        "--overlap", "BOUND", "In smallest radii; default 1e-3, or the way of a synchronous step."
    ),
    symmetry: float | None = number_option("--symmetry", "BOUND", "In smallest radii; default 1e-6."),
    json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Check a run: energy, momentum, overlap and symmetry against bounds. Exit code 1 if one fails."""
    from ..analysis.run_checks import check_run
    from ..trajectory import Trajectory
    from .compiling import compile_notice

    given = {"energy": energy, "momentum": momentum, "overlap": overlap, "symmetry": symmetry}
    bounds = {name: bound for name, bound in given.items() if bound is not None}
    with Trajectory(file) as run, compile_notice():
        checks = check_run(run, bounds)
        title = f"{run.name}, law {run.law}, {run.count:,} {'body' if run.count == 1 else 'bodies'}, "
        title += f"{run.last.step:,} steps to time {run.last.time:g}"
        finished = run.finished
    failed = [c.name for c in checks if c.passed is False]
    if json:
        found = {c.name.replace(" ", "_"): c.as_dict() for c in checks}
        print(as_json({"file": str(file), "finished": finished, "passed": not failed, "checks": found}))
    else:
        _show(checks, title + ("" if finished else " (stopped there)"))
    if failed:
        raise typer.Exit(FAILED)


def _show(checks: list[Check], title: str) -> None:
    console = out()
    console.print(title, markup=False, style="bold")
    if console.width >= WIDE:
        console.print(_table(checks, notes=True))
    else:
        console.print(_table(checks, notes=False))
        for c in checks:
            console.print(f"[dim]{c.name}: {c.note}[/]")
    failed = [c.name for c in checks if c.passed is False]
    console.print(f"[bold red]FAIL[/]: {', '.join(failed)}" if failed else "[green]all that was checked holds[/]")


def _table(checks: list[Check], notes: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("largest", justify="right", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if notes:
        table.add_column("", style="dim")
    for c in checks:
        row = [c.name, _number(c.value), _number(c.bound), "[dim]–[/]" if c.passed is None else verdict(c.passed)]
        table.add_row(*row, *([c.note] if notes else []))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "[dim]–[/]"
    return "0" if value == 0.0 else f"{value:.1e}"
