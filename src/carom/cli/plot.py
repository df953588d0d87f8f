"""`carom plot run.h5`: figures of a run, as PNG, SVG and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .console import out
from .run_arguments import RUN, number_option

if TYPE_CHECKING:
    from ..trajectory import Trajectory

WHAT = ("overview", "state", "energy", "momentum", "symmetry", "overlap", "contacts", "sides", "spread", "phases")


def plot(
    file: Path = RUN,
    output: Path = typer.Option(Path("."), "-o", "--output", metavar="DIR", help="Where the files go."),
    what: str = typer.Option("overview", "--what", metavar="NAMES", help=f"Any of {', '.join(WHAT)}; or all."),
    time: float | None = number_option("--time", "TIME", "Of the state; default: the last frame."),
    line: float | None = number_option(
        "--line", "X", "What divides the sides; default: the scene's upright wall, or 0."
    ),
) -> None:
    """Draw a run: an overview, or single quantities with --what. Writes PNG, SVG and CSV."""
    from ..trajectory import Trajectory

    names = _names(what)
    if output.exists() and not output.is_dir():
        raise ProblemError("--output", str(output), "a folder, or a name for a new one")
    with Trajectory(file) as run:
        names = _possible(run, names, what == "all")
        index = _frame(run, time)
        output.mkdir(parents=True, exist_ok=True)
        for path in _draw(run, names, index, line, output):
            out().print(str(path), markup=False, soft_wrap=True)


def _names(what: str) -> list[str]:
    names = [name.strip() for name in what.split(",") if name.strip()]
    if names == ["all"]:
        return list(WHAT)
    for name in names:
        if name not in WHAT:
            raise ProblemError.unknown("plot", name, [*WHAT, "all"])
    if not names:
        raise ProblemError("--what", what, f"any of {', '.join(WHAT)}; or all")
    return list(dict.fromkeys(names))


def _possible(run: Trajectory, names: list[str], everything: bool) -> list[str]:
    """Without a symmetry there is no symmetry error: refused if asked for by name, left out of `all`."""
    if "symmetry" in names and not run.scene.symmetries:
        if not everything:
            raise ProblemError("--what", "symmetry", f"another plot: scene {run.name!r} is registered with no symmetry")
        names.remove("symmetry")
    return names


def _frame(run: Trajectory, time: float | None) -> int:
    """The frame nearest to a time."""
    import numpy as np

    if time is None:
        return len(run) - 1
    if not run.time[0] <= time <= run.time[-1] + 1e-9:
        raise ProblemError("--time", time, f"a time from {run.time[0]:g} to {run.time[-1]:g}")
    return int(np.argmin(np.abs(run.time - time)))


def _draw(run: Trajectory, names: list[str], index: int, line: float | None, output: Path) -> list[Path]:
    from .compiling import compile_notice
    from .run_figures import draw_frame, draw_one, draw_overview

    stem = run.path.stem if run.path is not None else run.name
    paths: list[Path] = []
    with compile_notice():
        for name in names:
            if name == "overview":
                paths += draw_overview(run, output, stem)
            elif name == "state":
                paths += draw_frame(run, index, output, stem)
            else:
                paths += draw_one(run, name, output, stem, line)
    return paths
