"""The table at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, facts: dict[str, Any]) -> None:
    """Prints what `analysis.run_statistics.run_summary` found."""
    show_pairs(console, _rows(facts))


def show_pairs(console: Console, rows: list[tuple[str, str]]) -> None:
    """A name and what it is, line by line."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    console.print(table)


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from rich.markup import escape

    s = facts["settings"]
    walls = facts["boundaries"]
    contents = f"{facts['bodies']:,} {'body' if facts['bodies'] == 1 else 'bodies'}"
    contents += f", {walls} {'boundary' if walls == 1 else 'boundaries'}" if walls else ""
    rows = [
        ("scene", f"[cyan]{escape(facts['scene'])}[/]: {contents}"),
        ("law", law_text(s)),
        ("time", f"{facts['time']:g} in {facts['step']:,} steps of {s['step']:g}, {s['stepper']}{_turning(facts)}"),
        ("took", took_text(facts)),
        ("contacts", _counted(facts, "contacts") + _resting(facts)),
        ("iterations", _counted(facts, "iterations") + _residual(facts)),
        ("impacts", outcomes_text(facts["statuses"])),
        ("energy", f"drift {_tiny(facts['energy_drift'])}  [dim]of the largest kinetic energy[/]"),
        ("momentum", _momentum(facts, "momentum")),
        ("angular", _momentum(facts, "angular_momentum")),
        ("overlap", f"{_tiny(facts['overlap_in_features'])}  [dim]of the smallest radius or half width[/]"),
    ]
    if facts["file"] is not None:
        size = f"{size_text(facts['bytes'])}, {facts['frames']:,} frames"
        rows.append(("file", f"{escape(facts['file'])}  [dim]{size}[/]"))
    rows.append(("state hash", f"[dim]{facts['state_hash']}[/]"))
    return rows


def law_text(settings: dict[str, Any]) -> str:
    """Law, models, and options in their short form."""
    from rich.markup import escape

    models = [f"{k} {settings[f'{k}_model']}" for k in ("restitution", "friction") if settings[f"{k}_model"]]
    options = " ".join(f"{key}={_plain(value)}" for key, value in settings["law_options"].items())
    text = ", ".join([f"[cyan]{settings['law']}[/]", *models])
    return f"{text}  [dim]{escape(options)}[/]" if options else text


def took_text(facts: dict[str, Any]) -> str:
    """Wall time and the share of each phase; what is left is start-up, recording, and the loop itself.

    Kernels compile inside the phase that needs them first.
    """
    seconds = dict(facts["seconds"])
    wall = facts["wall_seconds"]
    if wall is None:
        wall = sum(seconds.values())
    else:
        seconds["other"] = max(0.0, wall - sum(seconds.values()))
    shares = [f"{name} {100 * value / wall:.0f} %" for name, value in seconds.items() if wall and value >= 0.005 * wall]
    since = f" since step {facts['resumed_at']:,}" if facts["resumed_at"] else ""
    rate = f", {facts['steps'] / wall:,.0f} steps/s" if wall else ""
    compiling = facts.get("compile_seconds", 0.0)
    first = f" ({compiling:.1f} s of it compiling kernels, only this time)" if compiling else ""
    return f"{duration_text(wall)}{first}{since}{rate}  [dim]{', '.join(shares)}[/]"


def outcomes_text(statuses: dict[str, int]) -> str:
    """Steps by the worst outcome of their impacts."""
    styles = {"resolved": "green", "infeasible": "bold red"}
    parts = [
        f"{count:,} {'step' if count == 1 else 'steps'} [{styles.get(name, 'yellow')}]{name.replace('_', ' ')}[/]"
        for name, count in statuses.items()
        if count
    ]
    return ", ".join(parts) or "none"


def duration_text(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.2f} s"
    from .run_progress import clock

    return clock(seconds)


def size_text(count: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def _counted(facts: dict[str, Any], name: str) -> str:
    found = facts[name]
    return "no step" if found is None else f"{found['mean']:,.2f} a step, at most {found['max']:,}"


def _turning(facts: dict[str, Any]) -> str:
    return f", rotations by {facts['integrator']}" if facts.get("integrator") else ""


def _resting(facts: dict[str, Any]) -> str:
    found = facts["resting"]
    return f"; resting {found['mean']:,.2f}, at most {found['max']:,}" if found and found["max"] else ""


def _residual(facts: dict[str, Any]) -> str:
    found = facts["residual"]
    return f"; worst residual {_tiny(found['max'])}" if found else ""


def _momentum(facts: dict[str, Any], name: str) -> str:
    value, why = facts[f"{name}_drift"], facts[f"{name}_why"]
    return f"[dim]not conserved here: {why}[/]" if value is None else f"drift {_tiny(value)}  [dim]{why}[/]"


def _tiny(value: float) -> str:
    return "0" if value == 0.0 else f"{value:.1e}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
