"""`carom sweep PLAN.toml -o DIR` runs all combinations of a plan; `carom sweep plot DIR` draws its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from ..errors import ProblemError
from ..shown import counted
from .arguments import ALL, Formats, formats_of, names_a_figure, whole_number
from .console import as_json, out, remarks

if TYPE_CHECKING:
    from ..sweeps import Progress, Results

SHOWN = 5  # failed runs whose errors are printed


class _RunByDefault(TyperGroup):
    """`carom sweep plan.toml` stands for `carom sweep run plan.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


sweep = typer.Typer(
    name="sweep",
    cls=_RunByDefault,
    help="Many runs over parameters, laws, settings and seeds: `carom sweep plan.toml -o DIR`.",
    no_args_is_help=True,
)


@sweep.command(epilog="Example: carom sweep run plan.toml -o results")
def run(
    plan: Path = typer.Argument(..., metavar="PLAN.toml", help="What to vary and to measure; see docs/sweeps.md."),
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="DIR", help="Folder of the table; the same command again continues a sweep."
    ),
    workers: int | None = typer.Option(
        None, "--workers", parser=whole_number, metavar="N", help="Processes; default: one per processor. 0: none."
    ),
    scheduler: str | None = typer.Option(
        None, "--scheduler", metavar="ADDRESS", help="A Dask scheduler, such as tcp://10.0.0.1:8786, and its workers."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print neither progress nor summary."),
    json: bool = typer.Option(False, "--json", help="Print the rows as JSON."),
) -> None:
    """Run every combination that is not done yet, and write one table. `run` may be left out."""
    from ..sweeps import read_plan
    from ..sweeps import sweep as all_runs
    from .progress import clock, compile_notice_beside_bar, display

    chosen = read_plan(plan)
    last: list[Progress] = []
    try:
        with display(plan.stem, quiet) as show, compile_notice_beside_bar():

            def tell(p: Progress) -> None:
                last[:] = [p]
                show(p.done / p.runs, _numbers(p), "" if p.left is None else f"{clock(p.left)} left")

            found = all_runs(chosen, out=output, workers=workers, scheduler=scheduler, progress=tell)
    except KeyboardInterrupt:
        if last:
            remarks().print(f"stopped: {last[-1].done:,} of {last[-1].runs:,} runs are done and in the table")
            remarks().print("the same command computes the others", markup=False)
        raise
    if json:
        print(as_json(found.rows), flush=True)
    elif not quiet:
        _show(found, last[-1].seconds if last else 0.0)


def _show(found: Results, seconds: float) -> None:
    from ..sweeps.store import TABLE
    from .tables import duration_text, show_pairs

    failed = found.failed
    spent = sum(row["seconds"] or 0.0 for row in found.rows)
    state = f"{counted(len(found.done), 'run')} done"
    if failed:
        state += f", [bold red]{len(failed):,} failed[/]"
    rows = [("runs", state), ("varied", ", ".join(found.varied) or "seeds only")]
    rows.append(("took", f"{duration_text(seconds)}; the runs themselves {duration_text(spent)}"))
    console = out()
    show_pairs(console, [*rows, ("table", str(found.path / TABLE) if found.path else "")])
    for row in failed[:SHOWN]:
        console.print(f"run {row['id']}: {row['error']}", markup=False, soft_wrap=True)
    if len(failed) > SHOWN:
        console.print(f"and {len(failed) - SHOWN:,} more: column `error` of the table", markup=False)
    remarks().print(f"next: carom sweep plot {found.path}", markup=False, soft_wrap=True)


def _numbers(p: Progress) -> str:
    failed = f", {p.failed:,} failed" if p.failed else ""
    who = f"{p.workers} workers" if p.workers > 1 else "1 worker"
    return f"{p.done:,} of {p.runs:,} runs{failed} ({who})"


@sweep.command(epilog="Example: carom sweep plot results")
def plot(
    folder: Path = typer.Argument(..., metavar="DIR", help="The folder of a sweep, finished or not."),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="DIR|FILE", help="Folder of the figures, or one figure; default: DIR."
    ),
    measure: str | None = typer.Option(None, "--measure", metavar="NAME", help="A measurement; default: all of them."),
    axes: str | None = typer.Option(None, "--axes", metavar="X[,Y]", help="Columns of the axes; default: all varied."),
    where: list[str] = typer.Option([], "--where", metavar="COLUMN=VALUE", help="Only these runs; may be repeated."),
    formats: Formats = ALL,
) -> None:
    """Draw the table: curves over one parameter, heat maps or phase diagrams over two."""
    from ..draw.style import written_as
    from ..sweeps import load
    from ..sweeps.figures import draw_sweep
    from .arguments import typed

    found = load(folder)
    chosen = typed(where, {name: found[name][0] for name in found.columns}, "--where", "column of the table")
    target, name, endings = folder if output is None else output, None, formats_of(formats)
    if output is not None and names_a_figure(output):
        if measure is None and len(found.measured) > 1:
            raise ProblemError("--output", str(output), "a folder for several figures, or --measure NAME")
        target, name, endings = output.parent, output.stem, formats_of(output.suffix)
    elif target.exists() and not target.is_dir():
        raise ProblemError("--output", str(target), "a folder, or a name that ends in .png, .svg or .pdf")
    target.mkdir(parents=True, exist_ok=True)
    with written_as(endings):
        paths = draw_sweep(found, target, measure, axes.split(",") if axes else None, chosen, name)
    for path in paths:
        out().print(str(path), markup=False, soft_wrap=True)


@sweep.command(epilog="Example: carom sweep measures")
def measures() -> None:
    """List the measurements that a plan can name."""
    from ..sweeps import MEASURES

    width = max(map(len, MEASURES))
    for name, measure in MEASURES.items():
        out().print(f"[bold cyan]{name:<{width}}[/]  {measure.line}", soft_wrap=True)
