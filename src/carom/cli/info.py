"""`carom info RUN.h5` describes a trajectory on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..shown import counted
from .arguments import JSON, RUN
from .console import WIDE, as_json, out
from .tables import (
    add_numbers,
    contents_text,
    events_text,
    law_text,
    number,
    outcomes_text,
    pairs_table,
    rate_text,
    ruled_table,
    size_text,
    tolerance_text,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 12  # columns of the longest bar


def info(file: Path = RUN, json: bool = JSON) -> None:
    """Describe a trajectory: the run, its statistics, the time of each phase, and whether it is finished."""
    from ..analysis.statistics import file_summary
    from ..trajectory import Trajectory

    with Trajectory(file) as run:
        facts = file_summary(run)
    if json:
        print(as_json(facts))
    else:
        _show(out(), facts)


def _show(console: Console, facts: dict[str, Any]) -> None:
    from rich.columns import Columns

    console.print(_run_table(facts))
    tables = [_statistics_table(facts), _seconds_table(facts)]
    if console.width >= WIDE:
        console.print(Columns(tables, padding=(0, 6)))
    else:
        for table in tables:
            console.print(table)
    if not facts["finished"] and not facts["running"]:
        console.print("to continue it:  [bold]carom run --resume[/] ", end="")
        console.print(facts["file"], markup=False, style="bold", soft_wrap=True)


def _run_table(facts: dict[str, Any]) -> Table:
    from rich.markup import escape

    s, energy = facts["settings"], facts["energy"]
    table = pairs_table()
    size = f"{escape(str(facts['file']))}  [dim]{size_text(facts['bytes'])}, Carom {escape(facts['carom_version'])}[/]"
    table.add_row("file", size)
    table.add_row("run", _state(facts))
    table.add_row("scene", f"[cyan]{escape(facts['scene']['name'])}[/]: {_contents(facts['scene'])}")
    table.add_row("law", law_text(s))
    turning = f", rotations by {facts['scene']['integrator']}" if "integrator" in facts["scene"] else ""
    active = f", active set {escape(s['active_set'])}" if s["active_set"] else ""
    table.add_row("stepper", f"{escape(s['stepper'])}, step {s['step']:g}{turning}{active}")
    table.add_row("time", _reached(facts))
    every = "every step" if s["frame_every"] == 1 else f"one every {s['frame_every']} steps"
    table.add_row("frames", f"{facts['frames']:,}, {every}" + (", with impulses" if s["impulses"] else ""))
    if facts["recorded_impulses"]:
        table.add_row("impulses", facts["recorded_impulses"])
    table.add_row("events", events_text(facts["events"]))
    table.add_row("impacts", outcomes_text(facts["statistics"]["statuses"]))
    table.add_row("tolerance", tolerance_text(s["tolerance"], facts["statistics"]))
    table.add_row("energy", f"{_wide(energy['first'])} → {_wide(energy['last'])}  [dim]{_change(energy)}[/]")
    table.add_row("momentum", f"{_vectors(energy, 'momentum')}  [dim]change {energy['momentum_change']:.1e}[/]")
    if isinstance(energy["angular_momentum_first"], list):
        table.add_row("angular", f"{_vectors(energy, 'angular_momentum')}  [dim]about the origin[/]")
    table.add_row("state hash", f"[dim]{facts['state_hash']}[/]")
    return table


def _statistics_table(facts: dict[str, Any]) -> Table:
    statistics = facts["statistics"]
    table = ruled_table("\nper step")
    table.add_column("", style="bold")
    add_numbers(table, "mean", "maximum")
    for name, least in (("contacts", 0), ("resting", 1), ("iterations", 0), ("substeps", 2)):
        if statistics[name] is not None and statistics[name]["max"] >= least:
            table.add_row(name, f"{statistics[name]['mean']:,.2f}", f"{statistics[name]['max']:,}")
    for name in ("residual", "overlap"):
        if statistics[name] is not None:
            table.add_row(name, *(f"{max(0.0, statistics[name][key]):.1e}" for key in ("mean", "max")))
    return table


def _seconds_table(facts: dict[str, Any]) -> Table:
    seconds = facts["seconds"]
    total, most = sum(seconds.values()), max(seconds.values())
    table = ruled_table("\ntime by phase; per step in milliseconds")
    table.add_column("phase", style="bold")
    add_numbers(table, "seconds", "share", "mean", "maximum", "minimum")
    table.add_column("", min_width=BAR)
    for phase, value in seconds.items():
        bar = "█" * round(BAR * value / most) if most else ""
        share = f"{100.0 * value / total:.0f} %" if total else ""
        table.add_row(phase, f"{value:,.3f}", share, *_per_step(facts, phase), f"[cyan]{bar}[/]")
    table.add_row("[dim]total[/]", f"[dim]{total:,.3f}[/]", "", *_per_step(facts, "total"), "")
    return table


def _per_step(facts: dict[str, Any], phase: str) -> list[str]:
    """Mean, maximum and minimum of the time of a phase per step."""
    found = facts["seconds_per_step"].get(phase)
    return ["", "", ""] if found is None else [f"{1e3 * found[key]:,.3f}" for key in ("mean", "max", "min")]


def _contents(scene: dict[str, Any]) -> str:
    from ..analysis.statistics import SHAPES

    singular = {"meshes": "mesh", "boxes": "box"}
    kinds = [counted(scene[name], singular.get(name, name[:-1]), name) for name in SHAPES if scene.get(name)]
    held = f" ({scene['held']:,} held)" if scene["held"] else ""
    listed = ", ".join(kinds[:-1]) + " and " + kinds[-1] if len(kinds) > 1 else "".join(kinds)
    return contents_text(listed + held, scene["boundaries"])


def _vectors(energy: dict[str, Any], name: str) -> str:
    """A vector at the start and at the end."""
    first, last = (", ".join(_wide(v) for v in energy[f"{name}_{end}"]) for end in ("first", "last"))
    return f"({first}) → ({last})"


def _state(facts: dict[str, Any]) -> str:
    if facts["finished"]:
        return "[green]finished[/]"
    steps = facts["settings"]["steps"]
    share = 100.0 * facts["step"] / steps if steps else 100.0
    return f"[yellow]{'still running' if facts['running'] else 'stopped'}[/] at {share:.0f} %"


def _reached(facts: dict[str, Any]) -> str:
    if facts["finished"]:
        text = f"{facts['time']:g} in {facts['step']:,} steps"
    else:
        steps = facts["settings"]["steps"]
        text = f"{facts['time']:g} of {facts['duration']:g}, {facts['step']:,} of {steps:,} steps"
    return text + rate_text(facts["step"], sum(facts["seconds"].values()))


def _change(energy: dict[str, Any]) -> str:
    return f"change {energy['change']:.1e}, at most {energy['largest_change']:.1e}"


def _wide(value: float) -> str:
    return number(value, 6)
