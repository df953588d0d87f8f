"""`carom audit --engine NAME` measures what physics engines make of the catalogue's scenes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ..analysis.desiderata import ORDER
from ..engines.conformance import Conformance, EngineFinding, EngineReport
from ..engines.process import runner_of
from .console import as_json, out, remarks
from .tables import bare_table, brief


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
    table = bare_table((0, 1, 0, 0))
    table.pad_edge = False
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
                text = f"  {found.desideratum} {count}, the worst {brief(found.worst, 0.01, 100.0)}: {found.where}"
                console.print(Text(text, style="yellow"))
        for reason in dict.fromkeys(report.left_out.values()):
            names = ", ".join(name for name, why in report.left_out.items() if why == reason)
            console.print(Text(f"  left out, {reason}: {names}", style="dim"))


def _cell(found: EngineFinding) -> Text:
    if not found.scenes:
        return Text("n/a", style="dim")
    if found.passed:
        return Text(f"✓ {brief(found.worst, 0.01, 100.0)}", style="green")
    return Text(f"✗ {brief(found.worst, 0.01, 100.0)}", style="bold red")
