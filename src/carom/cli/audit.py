"""`carom audit [FILE]` measures which desiderata each law satisfies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import ProblemError
from ..shown import counted
from .arguments import law_names
from .console import as_json, out, remarks
from .tables import bare_table, brief, number

if TYPE_CHECKING:
    from ..analysis.audit import AuditReport, AuditRow
    from ..analysis.spread import Spread


def audit(
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="An impact problem, .json or .npz. Default: the catalogue."
    ),
    laws: str | None = typer.Option(None, "--laws", metavar="A,B", help="Names of laws; default: all."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
    csv: bool = typer.Option(False, "--csv", help="Print CSV with one line per law and desideratum."),
    rows: int = typer.Option(
        20, "--rows", min=1, metavar="N", help="Maximum number of contacts that are printed for FILE."
    ),
    engine: list[str] = typer.Option(
        [], "--engine", metavar="NAME|FILE.py:CLASS", help="Measure a physics engine instead of laws; may be repeated."
    ),
    python: str | None = typer.Option(
        None, "--python", metavar="PATH", help="The Python of another environment, in which the engines are installed."
    ),
) -> None:
    """Measure the desiderata of each law, on the catalogue or on FILE, there with the spread between laws.

    With --engine: measure what physics engines make of the catalogue's scenes. carom audit --engine pymunk
    """
    if json and csv:
        raise ProblemError("--json --csv", "both", "one of the two")
    if engine:
        if file is not None or laws is not None or csv:
            raise ProblemError("--engine", engine[0], "no FILE, --laws or --csv beside it")
        from .audit_engines import audit_engines

        audit_engines(engine, python, json)
        return
    if python is not None:
        raise ProblemError("--python", python, "an engine, --engine NAME, beside it")
    from ..analysis.audit import PROBLEM_DESIDERATA, chosen_laws
    from ..analysis.audit import audit as measured
    from ..analysis.desiderata import ORDER
    from ..problem.problem import ImpactProblem
    from .compiling import compile_notice
    from .progress import display

    names = None if laws is None else law_names(laws)
    count = len(chosen_laws(names))
    problem = None if file is None else ImpactProblem.load(file)
    steps = count * len(ORDER if problem is None else PROBLEM_DESIDERATA)
    with compile_notice(), display("audit", quiet=not remarks().is_terminal) as show_progress:
        done = 0

        def callback(law: str, desideratum: str) -> None:
            nonlocal done
            show_progress(done / steps, f"{law} {desideratum}", f"{done} of {steps}")
            done += 1

        report = measured(problem, names, callback)
    if json:
        print(as_json(report.to_dict()))
    elif csv:
        print(_csv(report), end="")
    else:
        show(out(), report, rows)


def _csv(report: AuditReport) -> str:
    text = report.to_csv()
    if report.spread is not None:
        text += "\n" + report.spread.to_csv()
    return text


def show(console: Console, report: AuditReport, rows: int = 20) -> None:
    """Prints the table, the comparison with claims and papers, and the spread if there is one."""
    if len(report.problems) > 1:
        _show_catalogue(console, report)
    else:
        _show_problem(console, report, rows)


def _show_catalogue(console: Console, report: AuditReport) -> None:
    console.print(f"[bold]{_laws(report)} on {len(report.problems)} catalogue problems[/]")
    console.print(_table(report))
    console.print(
        "[dim]✓ pass, ✗ fail, ! contrary to the claim of the law. Numbers are the worst measured: BRK the slowest "
        "separation of a contact that must open, WAV the largest deviation or jump, the others relative "
        "violations.[/]"
    )
    for line in report.comparison():
        console.print(Text(line, style="yellow" if ":" in line else "green"))


def _show_problem(console: Console, report: AuditReport, rows: int) -> None:
    if report.rows:
        console.print(f"[bold]{_laws(report)} on {report.problems[0]!r}[/]")
        console.print(_table(report))
        console.print(
            "[dim]✓ pass, ✗ fail, ! fails although the law claims it. Numbers are relative violations, the "
            "worst of\nrestitution as given and at 0, 0.5 and 0.8.[/]"
        )
    for reason in dict.fromkeys(reason for _, reason in report.refusals):
        who = ", ".join(law for law, why in report.refusals if why == reason)
        console.print(Text(f"refused by {who}: {reason}", style="yellow"))
    if report.spread is not None:
        console.print()
        left_out = [law for law in report.laws if law not in report.spread.laws]
        _show_spread(console, report.spread, rows)
        if left_out:
            console.print(f"[dim]not in the spread, because bodies still approach: {', '.join(left_out)}[/]")


def _laws(report: AuditReport) -> str:
    return counted(len(report.laws), "law")


def _table(report: AuditReport) -> Table:
    table = bare_table()
    table.add_column("law", no_wrap=True)
    for name in report.desiderata:
        table.add_column(name, justify="right", no_wrap=True)
    for law in report.laws:
        cells = (report.cell(law, name) for name in report.desiderata)
        table.add_row(law, *(_cell(cell, whole=len(report.problems) > 1) for cell in cells))
    return table


def _cell(row: AuditRow, whole: bool) -> Text:
    """A pass without a claim is marked for the whole catalogue, but not for a single problem."""
    mark = "✓" if row.passed else "✗"
    surprise = "!" if (row.claimed and not row.passed) or (whole and not row.agrees_with_claim) else ""
    style = "green" if row.passed else "bold red"
    return Text(f"{mark}{surprise} {brief(row.worst)}", style=style)


def _show_spread(console: Console, spread: Spread, rows: int) -> None:
    by_contact, by_body = spread.by_contact, spread.by_body
    console.print("[bold]Spread[/]: separation speed after the impact per contact, the largest spread first")
    table = bare_table()
    wide = console.width >= 34 + 9 * len(spread.laws)
    table.add_column("contact", justify="right")
    table.add_column("spread", justify="right", style="bold")
    for name in ("min", "max"):
        table.add_column(name, justify="right")
    for law in spread.laws if wide else ("slowest", "fastest"):
        table.add_column(_heading(law), justify="right", no_wrap=True)
    for i in spread.order[:rows]:
        speeds = spread.speeds[:, i]
        rest = [number(u, 3) for u in speeds] if wide else list(spread.extremes(i))
        table.add_row(str(i), *(number(x, 3) for x in (by_contact[i], speeds.min(), speeds.max())), *rest)
    console.print(table)
    if len(by_contact) > rows:
        console.print(f"[dim]{len(by_contact) - rows} more contacts; --rows shows more, --json all[/]")
    worst = int(by_body.argmax())
    console.print(
        f"bodies: velocities differ by up to {number(by_body[worst], 4)} (body {worst}), "
        f"by {number(float(by_body.mean()), 4)} on average over {len(by_body)} bodies"
    )
    for law, status in zip(spread.laws, spread.status, strict=True):
        if status != "resolved":
            console.print(Text(f"{law}: {status}", style="yellow"))


def _heading(law: str) -> str:
    """Breaks long names at the underscore, so that many laws fit side by side."""
    return law.replace("_", "_\n") if len(law) > 8 else law
