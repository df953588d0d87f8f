"""`carom plot run.h5`: figures of a run as PNG, SVG and PDF, with the plotted numbers as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..errors import ProblemError
from .arguments import ALL, RUN, Formats, formats_of, names_a_figure, number_option
from .console import out

if TYPE_CHECKING:
    from ..draw.figures import Angle
    from ..trajectory import Trajectory

WHAT = (
    *("overview", "solver", "state", "moments", "energy", "momentum", "speed", "contacts", "sides", "spread"),
    *("symmetry", "overlap", "iterations", "residual", "phases"),
)


def plot(
    file: Path = RUN,
    output: Path = typer.Option(
        Path("."), "-o", "--output", metavar="DIR|FILE", help="Folder for the files; NAME.pdf or similar: one figure."
    ),
    what: str = typer.Option("overview", "--what", metavar="NAMES", help=f"Any of {', '.join(WHAT)}; or all."),
    time: float | None = number_option("--time", "TIME", "Time of the state; default: the last frame."),
    line: float | None = number_option(
        "--line", "X", "Position of the line between the sides; default: the scene's vertical boundary, or 0."
    ),
    azimuth: float | None = number_option(
        "--azimuth", "DEGREES", "Direction of the camera about the upward axis, from x to y; for 3D runs."
    ),
    elevation: float | None = number_option(
        "--elevation", "DEGREES", "Angle of the camera above the horizon; for 3D runs."
    ),
    colors: str = typer.Option("speed", "--colors", metavar="NAME", help="speed or group; for 3D runs."),
    formats: Formats = ALL,
) -> None:
    """Draw a run: an overview, or what --what names; `solver` tells how well it was computed. Numbers go to a CSV."""
    from ..trajectory import Trajectory

    names = _names(what)
    target = _target(output, formats, names)
    with Trajectory(file) as run:
        names = _possible(run, names, what == "all")
        index = _frame(run, time)
        angle = _angle(run, azimuth, elevation, colors)
        target.folder.mkdir(parents=True, exist_ok=True)
        for path in _draw(run, names, index, line, angle, target):
            out().print(str(path), markup=False, soft_wrap=True)


class Target(NamedTuple):
    """Folder, formats and name of the figures; by default they are named after the run and the quantity."""

    folder: Path
    formats: tuple[str, ...]
    name: str | None = None


def _target(output: Path, formats: str, names: list[str]) -> Target:
    if not names_a_figure(output):
        if output.exists() and not output.is_dir():
            raise ProblemError("--output", str(output), "a folder, or a name for a new one, or one in .png, .svg, .pdf")
        return Target(output, formats_of(formats))
    if formats != ALL:
        raise ProblemError("--format", formats, f"nothing beside a file name: {output.name} names the format")
    if len(names) > 1:
        raise ProblemError("--output", str(output), f"a folder for {len(names)} plots, or one name in --what")
    return Target(output.parent, formats_of(output.suffix), output.stem)


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
    """The plots that the run allows. A scene without symmetry has no symmetry error: `all` leaves it out."""
    if "symmetry" in names and not run.scene.symmetries:
        if not everything:
            raise ProblemError("--what", "symmetry", f"another plot: scene {run.name!r} declares no symmetry")
        names.remove("symmetry")
    return names


def _frame(run: Trajectory, time: float | None) -> int:
    """The index of the frame nearest to a time."""
    import numpy as np

    if time is None:
        return len(run) - 1
    if not run.time[0] <= time <= run.time[-1] + 1e-9:
        raise ProblemError("--time", time, f"a time from {run.time[0]:g} to {run.time[-1]:g}")
    return int(np.argmin(np.abs(run.time - time)))


def _angle(run: Trajectory, azimuth: float | None, elevation: float | None, colors: str) -> Angle:
    """The camera angle and colors; they are for 3D runs."""
    given = {"--azimuth": azimuth, "--elevation": elevation, "--colors": None if colors == "speed" else colors}
    for name, value in given.items():
        if run.dimension == 2 and value is not None:
            raise ProblemError(name, value, "nothing: it is for 3D runs")
    if colors not in ("speed", "group"):
        raise ProblemError("--colors", colors, "speed or group")
    if elevation is not None and not -90.0 <= elevation <= 90.0:
        raise ProblemError("--elevation", elevation, "degrees from -90 to 90")
    if azimuth is not None and not abs(azimuth) <= 360.0:
        raise ProblemError("--azimuth", azimuth, "degrees from -360 to 360")
    from ..draw.figures import Angle

    usual = Angle.of(run.scene)
    return Angle(
        usual.azimuth if azimuth is None else azimuth,
        usual.elevation if elevation is None else elevation,
        colors == "group",
    )


def _draw(run: Trajectory, names: list[str], index: int, line: float | None, angle: Angle, to: Target) -> list[Path]:
    from ..draw.run_figures import draw_frame, draw_moments, draw_one, draw_overview, draw_solver
    from ..draw.style import written_as
    from .compiling import compile_notice

    stem = run.path.stem if run.path is not None else run.name
    paths: list[Path] = []
    with compile_notice(), written_as(to.formats):
        for name in names:
            called = to.name or f"{stem}-{name}"
            if name == "overview":
                paths += draw_overview(run, to.folder, called, angle)
            elif name == "solver":
                paths += draw_solver(run, to.folder, called)
            elif name == "state":
                paths += draw_frame(run, index, to.folder, called, angle)
            elif name == "moments":
                paths += draw_moments(run, to.folder, called, angle)
            else:
                paths += draw_one(run, name, to.folder, called, line)
    return paths
