"""`carom tower collapse FILE|NAME`: how a tower comes down, into one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from .arguments import number_option, whole_number
from .console import as_json, out, remarks
from .tower_source import MASS_MODEL, SOURCE, facts_of, headline, tower_from

if TYPE_CHECKING:
    from ..towers import Tower

STEPS, STEP = 1000, 0.01


def collapse(
    source: str = SOURCE,
    steps: int | None = typer.Option(
        None, "--steps", parser=whole_number, metavar="N", help=f"How many; default {STEPS:,}."
    ),
    step: float | None = number_option("--step", "TIME", f"Length of a time step; default {STEP}."),
    method: str = typer.Option("position", "--method", metavar="NAME", help="position or acceleration."),
    lengths: str | None = typer.Option(
        None, "--lengths", metavar="NAME", help="How bars keep their length: original, previous or penalty."
    ),
    coordinates: str | None = typer.Option(
        None, "--coordinates", metavar="NAME", help="reduced (three a brick) or framework (bars and joints)."
    ),
    mass_model: str | None = MASS_MODEL,
    frame_every: int | None = typer.Option(
        None, "--frame-every", parser=whole_number, metavar="N", help="Record every N-th step; default: every one."
    ),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="RUN.h5", help="Default: TOWER-collapse.h5, with a number if that is taken."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write over a file that exists."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Let a tower come down, by Gauss' principle of least constraint. Writes a run like `carom run`."""
    tower = tower_from(source, mass_model)
    from .source import default_output

    path = default_output(tower.name, "collapse", overwrite) if output is None else output
    if path.suffix not in (".h5", ".hdf5"):
        raise ProblemError("--output", str(path), "a name that ends in .h5")
    options: dict[str, Any] = {"lengths": lengths, "coordinates": coordinates, "frame_every": frame_every}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"steps": STEPS if steps is None else steps, "step": STEP if step is None else step, "method": method}
    _carry_out(tower, options, path, overwrite, quiet, json)


def _carry_out(tower: Tower, options: dict[str, Any], path: Path, overwrite: bool, quiet: bool, json: bool) -> None:
    """The run with its progress, and the table."""
    from ..analysis.statistics import run_summary
    from .progress import compile_notice_beside_bar, interrupts_as_such, telling

    began, existed = time.perf_counter(), path.exists()
    title = f"{tower.name}, {options['method']}"
    try:
        with interrupts_as_such(), telling(title, quiet) as tell, compile_notice_beside_bar() as compiled:
            done = tower.collapse(output=path, progress=tell, overwrite=overwrite, **options)
    except KeyboardInterrupt:
        _say_what_is_kept(path, existed)
        raise
    with done as trajectory:
        facts = run_summary(trajectory, time.perf_counter() - began)
    facts |= {"compile_seconds": compiled.seconds, "tower": facts_of(tower)}
    if json:
        print(as_json(facts))
    elif not quiet:
        _show(facts)
        hint = f"next: carom view {path}, carom render {path} -o film.mp4, carom plot {path}"
        remarks().print(hint, markup=False, soft_wrap=True)


def _show(facts: dict[str, Any]) -> None:
    from .tables import show_pairs

    console = out()
    console.print(headline(facts["tower"]))
    show_pairs(console, _rows(facts))


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from rich.markup import escape

    from .tables import size_text, took_text

    s, o = facts["settings"], facts["settings"]["law_options"]
    near, push, solved = facts["contacts"], facts["resting"], facts["iterations"]
    method = s["stepper"].removeprefix("tower_")
    size = f"{size_text(facts['bytes'])}, {facts['frames']:,} frames"
    return [
        ("method", f"{method}, lengths {o['lengths']}, coordinates {o['coordinates']}"),
        ("time", f"{facts['time']:g} in {facts['step']:,} steps of {s['step']:g}"),
        ("took", took_text(facts)),
        ("contacts", f"{near['mean']:,.1f} near a step, at most {near['max']:,}; {push['mean']:,.1f} push"),
        ("programs", f"{solved['mean']:,.2f} a step; worst certificate {facts['certificate']['max']:.1e}"),
        ("energy", f"{-facts['energy_change']:.2g} lost  [dim]of the largest kinetic energy: impacts are inelastic[/]"),
        ("overlap", f"{facts['overlap_in_features']:.1e}  [dim]of the smallest half width[/]"),
        ("file", f"{escape(facts['file'])}  [dim]{size}[/]"),
        ("state hash", f"[dim]{facts['state_hash']}[/]"),
    ]


def _say_what_is_kept(path: Path, older: bool) -> None:
    """After Ctrl-C: what the file holds. `older` says that one was there before, which may still be that one."""
    from ..trajectory import Trajectory

    if not path.exists():
        remarks().print("stopped before the first step: there is no file")
        return
    with Trajectory(path) as run:
        last, steps, finished = run.last, run.settings.steps, run.finished
    if finished:
        remarks().print(f"{path}: {'still the file from before' if older else 'the run is finished'}", markup=False)
    else:
        text = f"stopped at step {last.step:,} of {steps:,}; {path} keeps what is done"
        remarks().print(text, markup=False, soft_wrap=True)
