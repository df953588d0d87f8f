"""`carom run SCENE|FILE`: a whole run into one file; `carom run --resume run.h5` goes on with one that was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from .console import as_json, out, remarks
from .run_arguments import DURATION, FRAME_RATE, INTEGRATOR, SET, STEP, STEPPER, THREADS

if TYPE_CHECKING:
    from ..scene.model import Scene
    from ..trajectory import Trajectory
    from .compiling import Compilation


def run(
    source: str | None = typer.Argument(
        None, metavar="SCENE|FILE", help="A scene that `carom scenes` lists, or a .toml file, or an .xml of SCISim."
    ),
    law: str | None = typer.Option(None, "--law", "-l", help="Impact law; `carom laws` lists them."),
    law_option: list[str] = typer.Option([], "--law-option", metavar="KEY=VALUE", help="Of the law; may be repeated."),
    parameter: list[str] = SET,
    duration: float | None = DURATION,
    step: float | None = STEP,
    stepper: str | None = STEPPER,
    integrator: str | None = INTEGRATOR,
    frame_rate: float | None = FRAME_RATE,
    impulses: bool = typer.Option(False, "--impulses", help="Record the impulses of each frame's step."),
    restitution_model: str | None = typer.Option(
        None, "--restitution-model", metavar="NAME", help="What the coefficient means."
    ),
    friction_model: str | None = typer.Option(
        None, "--friction-model", metavar="NAME", help="How friction is resolved."
    ),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="RUN.h5", help="Default: SCENE-LAW.h5, with a number if that is taken."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write over a file that exists."),
    resume: Path | None = typer.Option(None, "--resume", metavar="RUN.h5", help="Go on with a run that was stopped."),
    threads: int | None = THREADS,
    view: bool = typer.Option(False, "--view", help="Show the run in the browser while it goes on."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Run a scene under a law, into one file. What is left out is the scene's own."""
    settings = {
        "duration": duration,
        "step": step,
        "stepper": stepper,
        "frame_rate": frame_rate,
        "restitution_model": restitution_model,
        "friction_model": friction_model,
        "impulses": impulses,
    }
    if resume is not None:
        given: dict[str, Any] = {
            "SCENE": source,
            "--law": law,
            "--law-option": law_option,
            "--set": parameter,
            "--integrator": integrator,
            "--output": output,
        }
        given |= {f"--{name.replace('_', '-')}": value for name, value in settings.items()} | {"--overwrite": overwrite}
        _go_on(resume, [name for name, value in given.items() if value], threads, view, quiet, json)
        return
    if source is None:
        raise ProblemError("SCENE|FILE", "nothing", "a scene (`carom scenes` lists them), a file, or --resume RUN.h5")
    from .run_source import load, with_integrator

    scene = with_integrator(load(source, parameter), integrator)
    _start(scene, law, law_option, settings, output, overwrite, threads, view, quiet, json)


def _start(
    scene: Scene,
    law: str | None,
    law_options: list[str],
    settings: dict[str, Any],
    output: Path | None,
    overwrite: bool,
    threads: int | None,
    view: bool,
    quiet: bool,
    json: bool,
) -> None:
    from ..simulation import simulate
    from .run_source import default_output, law_of

    chosen = law_of(law, law_options, scene)
    path = default_output(scene.name, chosen.name, overwrite) if output is None else output
    if path.suffix not in (".h5", ".hdf5"):
        raise ProblemError("--output", str(path), "a name that ends in .h5")

    def work(tell: Any) -> Trajectory:
        return simulate(scene, chosen, output=path, threads=threads, overwrite=overwrite, progress=tell, **settings)

    _carry_out(work, f"{scene.name}, {chosen.name}", path, view, quiet, json)


def _go_on(path: Path, given: list[str], threads: int | None, view: bool, quiet: bool, json: bool) -> None:
    if given:
        raise ProblemError("--resume", f"{', '.join(given)} as well", "the file alone: its settings cannot change")
    from ..simulation import resume
    from ..trajectory import Trajectory

    with Trajectory(path) as before:
        title, after = f"{before.name}, {before.law}", before.last.step

    def work(tell: Any) -> Trajectory:
        return resume(path, threads=threads, progress=tell)

    _carry_out(work, title, path, view, quiet, json, after)


def _carry_out(
    work: Callable[[Any], Trajectory], title: str, path: Path, view: bool, quiet: bool, json: bool, after: int = 0
) -> None:
    """The run with its progress and perhaps its viewer, and the table or what to do after Ctrl-C."""
    from ..analysis.run_statistics import run_summary
    from .run_progress import telling
    from .run_view import live_view

    with live_view(path, view) as viewer:
        began, existed = time.perf_counter(), path.exists()
        try:
            with interrupts_as_such(), telling(title, quiet) as tell, compile_notice_beside_bar() as compiled:
                done = work(tell if viewer is None else viewer.beside(tell))
        except KeyboardInterrupt:
            _say_how_to_go_on(path, existed and not after)
            raise
        with done as trajectory:
            facts = run_summary(trajectory, time.perf_counter() - began, after)
        facts["compile_seconds"] = compiled.seconds
        _tell_result(facts, path, quiet, json)
        if viewer is not None:
            viewer.wait()


def _tell_result(facts: dict[str, Any], path: Path, quiet: bool, json: bool) -> None:
    from .run_table import show

    if json:
        print(as_json(facts), flush=True)
    elif not quiet:
        show(out(), facts)
        remarks().print(f"next: carom check {path}, carom plot {path}", markup=False, soft_wrap=True)


@contextmanager
def interrupts_as_such() -> Iterator[None]:
    """Ctrl-C while a compiled kernel runs reaches Python as a SystemError with the interrupt inside."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def compile_notice_beside_bar() -> AbstractContextManager[Compilation]:
    """The notice, plain: a spinner and the bar would draw over each other."""
    from rich.console import Console

    from .compiling import compile_notice

    return compile_notice(Console(stderr=True, force_terminal=False, highlight=False))


def _say_how_to_go_on(path: Path, older: bool) -> None:
    """After Ctrl-C: where the run stopped. `older` says that a file was there before, which may still be that one."""
    from ..trajectory import Trajectory

    if not path.exists():
        remarks().print("stopped before the first step: there is no file")
        return
    with Trajectory(path) as run:
        s, last = run.settings, run.last
        finished = run.finished
    if finished:
        remarks().print(f"{path}: {'still the file from before' if older else 'the run is finished'}", markup=False)
        return
    remarks().print(f"stopped at time {last.time:g} of {s.duration:g}, step {last.step:,} of {s.steps:,}; all is kept")
    remarks().print(f"to go on:  carom run --resume {path}", markup=False, soft_wrap=True)
