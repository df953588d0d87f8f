"""`carom info run.h5`: what a trajectory holds, on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .console import WIDE, as_json, number, out

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..trajectory import Trajectory

BAR = 24  # columns of the longest bar
SOLIDS = ("spheres", "cuboids", "capsules", "cylinders", "hulls", "meshes", "compounds")  # in the order of their codes
SHAPES = ("discs", "polygons", *SOLIDS)


def info(
    file: Path = typer.Argument(..., metavar="RUN.h5", help="A trajectory that `carom run` wrote."),
    json: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
) -> None:
    """Show what a trajectory holds: the run, its statistics, where the time went, whether it is finished."""
    from ..trajectory import Trajectory

    with Trajectory(file) as run:
        facts = summary(run)
    if json:
        print(as_json(facts))
    else:
        _show(out(), facts)


def summary(run: Trajectory) -> dict[str, Any]:
    """All that `carom info` tells, as plain data."""
    return {
        "file": str(run.path) if run.path is not None else None,
        "bytes": run.path.stat().st_size if run.path is not None else None,
        "carom_version": run.carom_version,
        "scene": {"name": run.name, **_bodies(run)},
        "settings": run.settings.as_dict(),
        "finished": run.finished,
        "running": run.running,
        "time": run.last.time,
        "duration": run.settings.duration,
        "step": run.last.step,
        "frames": len(run),
        "state_hash": run.state_hash,
        "statistics": _statistics(run),
        "energy": _energy(run),
        "seconds": _seconds(run),
    }


def _bodies(run: Trajectory) -> dict[str, Any]:
    free = run.geometry["free"]
    return {
        "bodies": len(free),
        **(_plane_shapes(run) if run.dimension == 2 else _solids(run)),
        "held": int((~free).sum()),
        "boundaries": len(run.geometry["boundary_kind"]),
        **({} if run.dimension == 2 else {"integrator": run.scene.integrator}),
    }


def _plane_shapes(run: Trajectory) -> dict[str, int]:
    from ..world import DISC

    round_ = run.geometry["kind"] == DISC
    return {"discs": int(round_.sum()), "polygons": int((~round_).sum())}


def _solids(run: Trajectory) -> dict[str, int]:
    """Bodies of one part by its kind, and bodies of several."""
    import numpy as np

    geometry = run.geometry
    ptr = geometry["part_ptr"]
    single = np.diff(ptr) == 1
    kind = geometry["kind"][geometry["form"][ptr[:-1][single]]]
    counts = np.bincount(kind, minlength=len(SOLIDS) - 1)
    return dict(zip(SOLIDS, [*(int(c) for c in counts), int((~single).sum())]))


def _statistics(run: Trajectory) -> dict[str, Any]:
    """Over the steps; the first row of the table is the start, which is none."""
    import numpy as np

    from ..stepping.report import STATUSES

    steps = run.steps[1:]
    out: dict[str, Any] = {}
    for name in ("contacts", "resting", "iterations", "rounds", "overlap", "residual"):
        values = steps[name]
        out[name] = {"mean": float(values.mean()), "max": values.max().item()} if len(values) else None
    counts = np.bincount(steps["status"], minlength=len(STATUSES)) if len(steps) else [0] * len(STATUSES)
    return {**out, "statuses": {name: int(count) for name, count in zip(STATUSES, counts)}}


def _energy(run: Trajectory) -> dict[str, Any]:
    """Drift is relative to `energy_scale`; momentum to that of all mass at the speed of that energy."""
    import numpy as np

    from ..analysis.runs import energy_scale, lengths

    steps = run.steps
    total = steps["kinetic"] + steps["potential"]
    largest = energy_scale(run)
    mass = float(run.geometry["mass"][run.geometry["free"]].sum())
    axes = "xyz"[: run.dimension]
    momentum = np.stack([steps[f"momentum_{axis}"] for axis in axes], axis=1)
    change = float(lengths(momentum[-1] - momentum[0]))
    scale = float(np.sqrt(2.0 * mass * largest))
    return {
        "first": float(total[0]),
        "last": float(total[-1]),
        "drift": float(total[-1] - total[0]) / largest if largest else 0.0,
        "largest_drift": float(np.abs(total - total[0]).max()) / largest if largest else 0.0,
        "momentum_first": momentum[0].tolist(),
        "momentum_last": momentum[-1].tolist(),
        "momentum_drift": change / scale if scale else 0.0,
        "angular_momentum_first": _angular_momentum(run, 0),
        "angular_momentum_last": _angular_momentum(run, -1),
    }


def _angular_momentum(run: Trajectory, row: int) -> float | list[float]:
    """About the origin; in space a vector."""
    if run.dimension == 2:
        return float(run.steps["angular_momentum"][row])
    return [float(run.steps[f"angular_momentum_{axis}"][row]) for axis in "xyz"]


def _seconds(run: Trajectory) -> dict[str, float]:
    from ..stepping.report import PHASES

    return {phase: float(run.steps[f"seconds_{phase}"].sum()) for phase in PHASES}


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
        console.print("to go on with it:  [bold]carom run --resume[/] ", end="")
        console.print(facts["file"], markup=False, style="bold", soft_wrap=True)


def _run_table(facts: dict[str, Any]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    s, energy = facts["settings"], facts["energy"]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    size = f"{escape(str(facts['file']))}  [dim]{_size(facts['bytes'])}, Carom {facts['carom_version']}[/]"
    table.add_row("file", size)
    table.add_row("run", _state(facts))
    table.add_row("scene", f"[cyan]{escape(facts['scene']['name'])}[/]: {_contents(facts['scene'])}")
    table.add_row("law", _law(s))
    turning = f", rotations by {facts['scene']['integrator']}" if "integrator" in facts["scene"] else ""
    table.add_row("stepper", f"{s['stepper']}, step {s['step']:g}{turning}")
    table.add_row("time", _reached(facts))
    every = "every step" if s["frame_every"] == 1 else f"one every {s['frame_every']} steps"
    table.add_row("frames", f"{facts['frames']:,}, {every}" + (", with impulses" if s["impulses"] else ""))
    table.add_row("impacts", _outcomes(facts["statistics"]["statuses"]))
    table.add_row("energy", f"{_wide(energy['first'])} → {_wide(energy['last'])}  [dim]{_drift(energy)}[/]")
    table.add_row("momentum", f"{_vectors(energy, 'momentum')}  [dim]change {energy['momentum_drift']:.1e}[/]")
    if isinstance(energy["angular_momentum_first"], list):
        table.add_row("angular", f"{_vectors(energy, 'angular_momentum')}  [dim]about the origin[/]")
    table.add_row("state hash", f"[dim]{facts['state_hash']}[/]")
    return table


def _statistics_table(facts: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    statistics = facts["statistics"]
    table = Table(title="\neach step", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", style="bold")
    table.add_column("mean", justify="right")
    table.add_column("most", justify="right")
    for name in ("contacts", "resting", "iterations"):
        if statistics[name] is not None and (name != "resting" or statistics[name]["max"]):
            table.add_row(name, f"{statistics[name]['mean']:,.2f}", f"{statistics[name]['max']:,}")
    for name in ("residual", "overlap"):
        if statistics[name] is not None:
            table.add_row(name, *(f"{max(0.0, statistics[name][key]):.1e}" for key in ("mean", "max")))
    return table


def _seconds_table(facts: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    seconds = facts["seconds"]
    total, most = sum(seconds.values()), max(seconds.values())
    table = Table(title="\nwhere the time went", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("phase", style="bold")
    table.add_column("seconds", justify="right")
    table.add_column("share", justify="right")
    table.add_column("", min_width=BAR)
    for phase, value in seconds.items():
        bar = "█" * round(BAR * value / most) if most else ""
        share = f"{100.0 * value / total:.0f} %" if total else ""
        table.add_row(phase, f"{value:,.3f}", share, f"[cyan]{bar}[/]")
    table.add_row("[dim]all[/]", f"[dim]{total:,.3f}[/]", "", "")
    return table


def _contents(scene: dict[str, Any]) -> str:
    kinds = [f"{scene[name]:,} {_one(name) if scene[name] == 1 else name}" for name in SHAPES if scene.get(name)]
    held = f" ({scene['held']:,} held)" if scene["held"] else ""
    walls = scene["boundaries"]
    listed = ", ".join(kinds[:-1]) + " and " + kinds[-1] if len(kinds) > 1 else "".join(kinds)
    return listed + held + (f", {walls} {'boundary' if walls == 1 else 'boundaries'}" if walls else "")


def _one(name: str) -> str:
    return "mesh" if name == "meshes" else name[:-1]


def _vectors(energy: dict[str, Any], name: str) -> str:
    """At the start and at the end."""
    first, last = (", ".join(_wide(v) for v in energy[f"{name}_{end}"]) for end in ("first", "last"))
    return f"({first}) → ({last})"


def _law(settings: dict[str, Any]) -> str:
    models = [f"{k} {settings[f'{k}_model']}" for k in ("restitution", "friction") if settings[f"{k}_model"]]
    options = " ".join(f"{key}={value}" for key, value in settings["law_options"].items())
    text = ", ".join([f"[cyan]{settings['law']}[/]", *models])
    return f"{text}  [dim]{options}[/]" if options else text


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
    spent = sum(facts["seconds"].values())
    return text + (f", {facts['step'] / spent:,.0f} a second" if spent else "")


def _outcomes(statuses: dict[str, int]) -> str:
    """Steps by the worst status of their impacts."""
    styles = {"resolved": "green", "infeasible": "bold red"}
    return ", ".join(
        f"{count:,} steps [{styles.get(name, 'yellow')}]{name.replace('_', ' ')}[/]"
        for name, count in statuses.items()
        if count
    )


def _drift(energy: dict[str, Any]) -> str:
    return f"drift {energy['drift']:.1e}, at most {energy['largest_drift']:.1e}"


def _wide(value: float) -> str:
    return number(value, 6)


def _size(count: int | None) -> str:
    if count is None:
        return "in memory"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
