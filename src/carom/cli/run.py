"""`carom run SCENE|FILE` records a run in one file; `--resume RUN.h5` continues one, `--from RUN.h5` branches off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from ..shown import counted
from .arguments import (
    INTEGRATOR,
    LAW_HELP,
    SET,
    complete_law,
    complete_scene,
    number_option,
    settings_options,
    told,
)
from .console import as_json, out, remarks
from .tables import (
    contents_text,
    events_text,
    law_text,
    outcomes_text,
    show_pairs,
    size_text,
    small_text,
    tolerance_text,
    took_text,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ..trajectory import Trajectory


@dataclass(frozen=True)
class Display:
    """What a run shows: the viewer beside it, progress and table unless quiet, JSON in place of the table."""

    view: bool
    quiet: bool
    json: bool


@dataclass(frozen=True)
class Start:
    """A state of another run: its file and time, None for the end."""

    file: Path
    at: float | None


BEFORE, AFTER = ("duration", "step", "stepper", "tolerance", "active_set"), ("frame_rate", "impulses", "events")
MODELS = ("restitution_model", "friction_model")
OF_RESUMED = ("duration", "threads", "seconds")  # settings that a resumed run takes


@settings_options(("threads", "seconds"), after="at")
@settings_options((*AFTER, *MODELS), after="integrator")
@settings_options(BEFORE, after="parameter")
def run(
    source: str | None = typer.Argument(
        None,
        metavar="SCENE|FILE",
        help="A scene of the library (`carom scenes`), a .toml file, an .xml of SCISim, or a .urdf.",
        autocompletion=complete_scene,
    ),
    law: str | None = typer.Option(None, "--law", "-l", metavar="NAME", help=LAW_HELP, autocompletion=complete_law),
    law_option: list[str] = typer.Option(
        [], "--law-option", metavar="KEY=VALUE", help="Option of the law; may be repeated."
    ),
    parameter: list[str] = SET,
    integrator: str | None = INTEGRATOR,
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="RUN.h5", help="Default: SCENE-LAW.h5, with a number if that file exists."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file."),
    resume: Path | None = typer.Option(
        None, "--resume", metavar="RUN.h5", help="Continue an unfinished run; with --duration also past its end."
    ),
    source_run: Path | None = typer.Option(
        None, "--from", metavar="RUN.h5", help="Start a new run from a state of this one, with --law, --set and so on."
    ),
    at: float | None = number_option("--at", "TIME", "Time of that state; the nearest frame counts. Default: the end."),
    view: bool = typer.Option(False, "--view", help="Show the run in the browser while it is computed."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print neither progress nor table."),
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
    **settings: Any,
) -> None:
    """Run a scene under a law and record it in one file. Defaults are those of the scene."""
    settings = told(settings)
    display = Display(view, quiet, json)
    if resume is not None:
        given: dict[str, Any] = {
            "SCENE": source,
            "--law": law,
            "--law-option": law_option,
            "--set": parameter,
            "--integrator": integrator,
            "--output": output,
            "--from": source_run,
        }
        fixed = {name: value for name, value in settings.items() if name not in OF_RESUMED}
        given |= {f"--{name.replace('_', '-')}": value for name, value in fixed.items()} | {"--overwrite": overwrite}
        _resume(resume, [name for name, value in given.items() if value], settings, display)
        return
    if source_run is not None:
        if source is not None or integrator is not None:
            raise ProblemError("--from", source or "--integrator as well", "the file alone, which contains its scene")
        settings["overwrite"] = overwrite
        _branch(Start(source_run, at), law, law_option, parameter, output, settings, display)
        return
    if at is not None:
        raise ProblemError("--at", at, "--from RUN.h5 as well")
    if source is None:
        raise ProblemError("SCENE|FILE", "nothing", "a scene (`carom scenes` lists them), a file, or --resume RUN.h5")
    from .source import default_output, law_of, load, with_integrator

    scene = with_integrator(load(source, parameter), integrator)
    chosen = law_of(law, law_option, scene)
    path = default_output(scene.name, chosen.name, overwrite) if output is None else output
    _check_suffix(path)

    def work(tell: Any) -> Trajectory:
        from ..simulation import simulate

        return simulate(scene, chosen, output=path, overwrite=overwrite, progress=tell, **settings)

    _carry_out(work, f"{scene.name}, {chosen.name}", path, display)


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".h5", ".hdf5"):
        raise ProblemError("--output", str(path), "a name that ends in .h5")


def _branch(
    start: Start,
    law: str | None,
    law_option: list[str],
    parameter: list[str],
    output: Path | None,
    settings: dict[str, Any],
    display: Display,
) -> None:
    """A new run from a state of another one; `settings` are arguments of `simulate`."""
    from ..resuming import branch, branch_state
    from ..scenes import SCENES
    from ..trajectory import Trajectory
    from .arguments import typed
    from .source import default_output, law_of

    with Trajectory(start.file) as old:
        state, name = branch_state(old, start.at), old.name
        chosen = law_of(law or old.law, law_option, old.scene) if law or law_option else None
        known = SCENES[name].parameters if name in SCENES else {}
        changed = typed(parameter, known, "--set", f"parameter of scene {name!r}")
        used = chosen.name if chosen is not None else old.law
    path = default_output(name, used, settings["overwrite"]) if output is None else output
    _check_suffix(path)
    remarks().print(f"starts from {start.file} at time {state.time:.9g}, step {state.step:,}", markup=False)

    def work(tell: Any) -> Trajectory:
        return branch(start.file, start.at, path, law=chosen, parameters=changed, progress=tell, **settings)

    _carry_out(work, f"{name}, {used}", path, display)


def _resume(path: Path, given: list[str], settings: dict[str, Any], display: Display) -> None:
    """Continues the run of a file; `given` names the options that --resume excludes."""
    if given:
        wanted = "the file, and --duration to extend it: its other settings cannot change"
        raise ProblemError("--resume", f"{', '.join(given)} as well", wanted)
    from ..resuming import resume
    from ..trajectory import Trajectory

    with Trajectory(path) as before:
        title, after = f"{before.name}, {before.law}", before.last.step

    def work(tell: Any) -> Trajectory:
        return resume(path, progress=tell, **{name: settings[name] for name in OF_RESUMED})

    _carry_out(work, title, path, display, after)


def _carry_out(work: Callable[[Any], Trajectory], title: str, path: Path, display: Display, after: int = 0) -> None:
    """Computes the run with progress and viewer, and prints its summary.

    `work` is called with the progress function; `after` is the step at which a resumed run starts.
    """
    from ..analysis.checks import check_run
    from .check import checks_as_dict, show_verdict
    from .view import live_view

    with live_view(path, display.view) as viewer:
        beside = None if viewer is None else viewer.beside
        with computed(work, title, path, display.quiet, after, beside) as (trajectory, facts):
            checks = check_run(trajectory) if display.json or not display.quiet else []
        if display.json:
            print(as_json(facts | checks_as_dict(checks)), flush=True)
        elif not display.quiet:
            _show(out(), facts)
            show_verdict(out(), checks)
            say_what_is_next(path)
        if viewer is not None:
            viewer.wait()


@contextmanager
def computed(
    work: Callable[[Any], Trajectory],
    title: str,
    path: Path,
    quiet: bool,
    after: int = 0,
    beside: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[Trajectory, dict[str, Any]]]:
    """The trajectory of some work and its summary; says how to continue a run that Ctrl-C or the clock has stopped.

    `beside` makes the progress function serve a viewer as well.
    """
    from ..analysis.statistics import run_summary
    from .progress import compile_notice_beside_bar, interrupts_as_such, telling

    began, existed = time.perf_counter(), path.exists()
    try:
        with interrupts_as_such(), telling(title, quiet) as tell, compile_notice_beside_bar() as compiled:
            done = work(tell if beside is None else beside(tell))
    except KeyboardInterrupt:
        _say_how_to_continue(path, existed and not after)
        raise
    if not done.finished:
        _say_how_to_continue(path, False)
    with done as trajectory:
        facts = run_summary(trajectory, time.perf_counter() - began, after)
        yield trajectory, facts | {"compile_seconds": compiled.seconds}


def say_what_is_next(path: Path) -> None:
    """The commands that take the run."""
    hint = f"next: carom view {path}, carom render {path} -o film.mp4, carom plot {path}"
    remarks().print(hint, markup=False, soft_wrap=True)


def _say_how_to_continue(path: Path, older: bool) -> None:
    """After Ctrl-C: where the run stopped. `older` tells that a file of this name existed before the run."""
    from ..trajectory import Trajectory

    if not path.exists():
        remarks().print("stopped before the first step; no file was written")
        return
    with Trajectory(path) as run:
        s, last = run.settings, run.last
        finished = run.finished
    if finished:
        remarks().print(f"{path}: {'still the older file' if older else 'the run is finished'}", markup=False)
        return
    remarks().print(
        f"stopped at time {last.time:g} of {s.duration:g}, step {last.step:,} of {s.steps:,}; everything is saved"
    )
    remarks().print(f"to continue:  carom run --resume {path}", markup=False, soft_wrap=True)


# ---- the table at the end


def _show(console: Console, facts: dict[str, Any]) -> None:
    """Prints the facts of `analysis.statistics.run_summary`."""
    from rich.markup import escape

    s = facts["settings"]
    contents = contents_text(counted(facts["bodies"], "body", "bodies"), facts["boundaries"])
    rotations = f", rotations by {facts['integrator']}" if facts.get("integrator") else ""
    rows = [
        ("scene", f"[cyan]{escape(facts['scene'])}[/]: {contents}"),
        ("law", law_text(s)),
        ("time", f"{facts['time']:g} in {facts['step']:,} steps of {s['step']:g}, {escape(s['stepper'])}{rotations}"),
        ("took", took_text(facts)),
        ("contacts", _counted(facts, "contacts") + _resting(facts)),
        ("iterations", _counted(facts, "iterations")),
        ("tolerance", tolerance_text(s["tolerance"], facts)),
        ("impacts", outcomes_text(facts["statuses"])),
        ("energy", _energy(facts)),
        ("momentum", _momentum(facts, "momentum")),
        ("angular", _momentum(facts, "angular_momentum")),
        ("overlap", _overlap(facts)),
    ]
    if facts["cut"]:
        rows.append(("cut", f"{counted(facts['cut'], 'step')}, into at most {facts['substeps']['max']:,} sub-steps"))
    if facts["recorded_impulses"]:
        rows.append(("impulses", f"recorded {facts['recorded_impulses']}"))
    rows.append(("events", events_text(facts["events"])))
    if facts["file"] is not None:
        size = f"{size_text(facts['bytes'])}, {facts['frames']:,} frames"
        rows.append(("file", f"{escape(facts['file'])}  [dim]{size}[/]"))
    show_pairs(console, [*rows, ("state hash", f"[dim]{facts['state_hash']}[/]")])


def _counted(facts: dict[str, Any], name: str) -> str:
    found = facts[name]
    return "no step" if found is None else f"{found['mean']:,.2f} per step, at most {found['max']:,}"


def _resting(facts: dict[str, Any]) -> str:
    found = facts["resting"]
    return f"; resting {found['mean']:,.2f}, at most {found['max']:,}" if found and found["max"] else ""


def _overlap(facts: dict[str, Any]) -> str:
    share = facts["overlap_in_features"]
    escaped = "; bodies are inside each other or have left their container: use drift_safe" if share > 1.0 else ""
    return f"{small_text(share)}  [dim]of the smallest radius or half width{escaped}[/]"


def _energy(facts: dict[str, Any]) -> str:
    """The drift where energy must be kept, else its change from start to end and the reason; relative to the scale."""
    why = facts["energy_why"]
    if facts["energy_drift"] is not None:
        return f"drift {small_text(facts['energy_drift'])}  [dim]of the largest kinetic energy; {why}[/]"
    rise = "" if facts["energy_rise"] is None else f", largest rise {small_text(facts['energy_rise'])}"
    return f"change {facts['energy_change']:+.2g}{rise}  [dim]of the largest kinetic energy; {why}[/]"


def _momentum(facts: dict[str, Any], name: str) -> str:
    value, why = facts[f"{name}_drift"], facts[f"{name}_why"]
    return f"[dim]not conserved here: {why}[/]" if value is None else f"drift {small_text(value)}  [dim]{why}[/]"
