"""`carom audit --engine NAME` measures what physics engines make of the catalogue's scenes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..analysis.desiderata import ORDER
from ..engines.conformance import Conformance, EngineFinding, EngineReport
from ..engines.process import runner_of
from .console import as_json, out, remarks


def audit_engines(specs: Sequence[str], python: str | None, json: bool) -> None:
    """Prints one row per engine, its settings, and the scenes of its worst values; with `json` all of it as JSON."""
    runners = [runner_of(spec, python) for spec in specs]  # a missing engine is refused before any work
    reports = []
    for runner in runners:
        with remarks().status(f"{runner.title} ..."):
            reports.append(Conformance(runner).report())
        runner.close()
    if json:
        print(as_json({"engines": [report.to_dict() for report in reports]}))
    else:
        _show(out(), reports)


def _show(console: Console, reports: Sequence[EngineReport]) -> None:
    table = Table(header_style="bold", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("engine", no_wrap=True)
    for name in ORDER:
        table.add_column(name, justify="right", no_wrap=True)
    for report in reports:
        table.add_row(report.title, *(_cell(report.finding(name)) for name in ORDER))
    console.print(table)
    bound = reports[0].finding("KIN").bound
    console.print(
        f"[dim]✓ pass, ✗ fail, n/a not measured. Numbers are the worst measured, relative; the bound is {bound:g} "
        "(WAV 0.25). BRK is the slowest separation of a contact that must open.[/]"
    )
    for report in reports:
        console.print(Text(f"\n{report.title}: {report.scenes} scenes, {report.settings}"))
        for found in report.findings:
            if not found.passed:
                count = f"{found.failing} of {found.scenes} scenes fail" if found.desideratum != "WAV" else "fails"
                text = f"  {found.desideratum} {count}, the worst {_short(found.worst)}: {found.where}"
                console.print(Text(text, style="yellow"))
        for reason in dict.fromkeys(report.left_out.values()):
            names = ", ".join(name for name, why in report.left_out.items() if why == reason)
            console.print(Text(f"  left out, {reason}: {names}", style="dim"))


def _cell(found: EngineFinding) -> Text:
    if not found.scenes:
        return Text("n/a", style="dim")
    if found.passed:
        return Text(f"✓ {_short(found.worst)}", style="green")
    return Text(f"✗ {_short(found.worst)}", style="bold red")


def _short(value: float) -> str:
    """Two digits from 0.01 to 100, else one digit and an exponent, so that a row fits into 80 columns."""
    if value == 0:
        return "0"
    return f"{value:.2g}" if 0.01 <= abs(value) < 100 else f"{value:.0e}"
