"""`carom check RUN.h5` checks energy, momentum, overlap, symmetry and residuals of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..shown import counted
from .arguments import JSON, RUN, number_option
from .console import WIDE, as_json, out
from .tables import add_numbers, plain_table, small_text, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..analysis.checks import Check

FAILED = 1  # exit code


def check(
    file: Path = RUN,
    energy: float | None = number_option("--energy", "BOUND", "Largest drift or rise; default 1e-9."),
    momentum: float | None = number_option("--momentum", "BOUND", "Largest drift; default 1e-9."),
    overlap: float | None = number_option(
        "--overlap", "BOUND", "In units of the smallest radius; default 1e-3, more in fast motion."
    ),
    symmetry: float | None = number_option("--symmetry", "BOUND", "In units of the smallest radius; default 1e-6."),
    json: bool = JSON,
) -> None:
    """Check energy, momentum, overlap and symmetry of a run against bounds, and the residual of every step against the
    tolerance of the run. Exit code 1 if a check fails.
    """
    from ..analysis.checks import all_bounds, check_run
    from ..trajectory import Trajectory
    from .compiling import compile_notice

    given = {"energy": energy, "momentum": momentum, "overlap": overlap, "symmetry": symmetry}
    bounds = {name: bound for name, bound in given.items() if bound is not None}
    with Trajectory(file) as run, compile_notice():
        all_bounds(bounds)  # refuses bad ones
        finished = run.finished
        if not json:  # before the work, which loads kernels
            title = f"{run.name}, law {run.law}, {counted(run.count, 'body', 'bodies')}, "
            title += f"{run.last.step:,} steps to time {run.last.time:g}" + ("" if finished else " (unfinished)")
            out().print(title, markup=False, style="bold")
        checks = check_run(run, bounds)
    found = checks_as_dict(checks)
    if json:
        print(as_json({"file": str(file), "finished": finished, **found}))
    else:
        _show(checks)
    if not found["passed"]:
        raise typer.Exit(FAILED)


def checks_as_dict(checks: list[Check]) -> dict[str, Any]:
    """The checks by name, and whether none of them failed, for JSON."""
    passed = all(c.passed is not False for c in checks)
    return {"passed": passed, "checks": {c.name.replace(" ", "_"): c.as_dict() for c in checks}}


def show_verdict(console: Console, checks: list[Check]) -> None:
    """The last line of `carom check` and of `carom run`."""
    failed = [c.name for c in checks if c.passed is False]
    console.print(f"[bold red]FAIL[/]: {', '.join(failed)}" if failed else "[green]all checks pass[/]")


def _show(checks: list[Check]) -> None:
    console = out()
    if console.width >= WIDE:
        console.print(_table(checks, notes=True))
    else:
        console.print(_table(checks, notes=False))
        for c in checks:
            console.print(f"{c.name}: {c.note}", markup=False, style="dim")
    show_verdict(console, checks)


def _table(checks: list[Check], notes: bool) -> Table:
    from rich.markup import escape

    table = plain_table()
    table.add_column("", style="bold", no_wrap=True)
    add_numbers(table, "largest", "bound")
    table.add_column("verdict", no_wrap=True)
    if notes:
        table.add_column("", style="dim")
    missing = "[dim]–[/]"
    for c in checks:
        value, bound = (small_text(number, missing=missing) for number in (c.value, c.bound))
        row = [c.name, value, bound, missing if c.passed is None else verdict(c.passed)]
        table.add_row(*row, *([escape(c.note)] if notes else []))
    return table
