"""`carom render run.h5 -o film.mp4`: films and pictures of a run, without a screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .console import out, remarks
from .run_arguments import RUN, number_option

if TYPE_CHECKING:
    from ..draw.films import Made
    from ..draw.studio import Look, Span
    from ..trajectory import Trajectory

FPS = {".mp4": 30.0, ".gif": 25.0}
USUAL_SIZE = "1920x1080"
SIZE = {(2, ".gif"): "800x450", (3, ".gif"): "800x450", (3, ".mp4"): "1280x720"}  # shades and shadows take their time
LONG, SHORT = 120.0, 1.5  # seconds of a film beyond which another speed is proposed


def render(
    file: Path = RUN,
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="FILE", help="film.mp4, film.gif, picture.png, .svg or .pdf."
    ),
    at: float | None = number_option("--at", "TIME", "Of a picture; default: the end of the run."),
    start: float | None = number_option("--from", "TIME", "Where a film starts."),
    stop: float | None = number_option("--to", "TIME", "Where it ends."),
    fps: float | None = number_option("--fps", "RATE", "Pictures a second; default: 30, for a GIF 25."),
    speed: float | None = number_option("--speed", "FACTOR", "Time units a second of the film; default: 1."),
    size: str | None = typer.Option(
        None,
        "--size",
        metavar="WxH",
        help="Pixels; default: 1920x1080, for films of space 1280x720, for a GIF 800x450.",
    ),
    camera: str = typer.Option(
        "fit",
        "--camera",
        metavar="WHAT",
        help="In the plane: fit, all, zoom, follow, follow:BODY or x,y,width. In space: fit, all, or any of "
        "azimuth=, elevation=, distance=, target=x:y:z, turn= with commas between them.",
    ),
    trails: bool = typer.Option(False, "--trails", help="Draw the ways of the bodies."),
    color: str = typer.Option(
        "speed", "--color", "--color", metavar="NAME", help="speed, body, group, depth, energy or contacts."
    ),
    color_map: str = typer.Option("soft", "--map", metavar="NAME", help="Colors: soft, viridis or cividis."),
    impulses: bool = typer.Option(False, "--impulses", help="Draw contact impulses as arrows, if they were recorded."),
    caption: bool = typer.Option(True, "--caption/--no-caption", help="Scene, law, time and colors above it."),
    title: str | None = typer.Option(None, "--title", metavar="TEXT", help="In place of the scene's name."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write over a file that exists."),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="No progress, no remarks."),
) -> None:
    """Draw a run as a film or a picture. Needs no display."""
    from ..draw.colors import MAPS, quantity
    from ..draw.films import is_film
    from ..draw.output import checked_path
    from ..draw.studio import Look
    from ..trajectory import Trajectory

    target = checked_path(output, overwrite)
    quantity(color)
    if color_map not in MAPS:
        raise ProblemError.unknown("color map", color_map, MAPS)
    film = is_film(target)
    _fitting_options(film, at, {"--from": start, "--to": stop, "--fps": fps, "--speed": speed})
    with Trajectory(file) as run:
        look = Look(_size(run, target, size), color, color_map, camera, trails, impulses, caption, title)
        _check(run, look)
        if film:
            made = _film(run, target, _span(run, target, look, (start, stop), fps, speed), look, quiet)
        else:
            made = _still(run, target, at, look)
        if not quiet:
            _tell(run, made)
    out().print(str(made.path), markup=False, soft_wrap=True)


def _fitting_options(film: bool, at: float | None, of_films: dict[str, float | None]) -> None:
    """Films have no --at, and pictures no --from: an option without effect would be a trap."""
    if film and at is not None:
        raise ProblemError("--at", at, "nothing: a film is not of one instant; use --from and --to, or -o picture.png")
    for name, value in of_films.items():
        if value is not None and not film:
            raise ProblemError(name, value, "nothing: it is for films (.mp4, .gif); a picture has --at")
        if value is not None and name in ("--fps", "--speed") and not 1e-6 <= value <= 1e6:
            raise ProblemError(name, value, "a number above 0")
    rate = of_films["--fps"]
    if rate is not None and rate > 240.0:
        raise ProblemError("--fps", rate, "at most 240 pictures a second")


def _size(run: Trajectory, target: Path, asked: str | None) -> tuple[int, int]:
    text = asked if asked is not None else SIZE.get((run.dimension, target.suffix.lower()), USUAL_SIZE)
    wide, _, tall = text.lower().replace("×", "x").partition("x")
    if not (wide.strip().isdigit() and tall.strip().isdigit()):
        raise ProblemError("--size", text, f"WIDTHxHEIGHT in pixels, such as {USUAL_SIZE}")
    return int(wide), int(tall)


def _check(run: Trajectory, look: Look) -> None:
    """What can be told from the run alone, before anything is computed."""
    from ..draw.camera_option import plane_camera, space_camera

    if not len(run):
        raise ProblemError("trajectory", str(run.path), "a run with frames", f"{run.path}: there is no frame in it")
    if run.dimension == 2:
        plane_camera(look.camera, run.count)
    else:
        space_camera(look.camera)
    if not run.finished:
        state = "still goes on" if run.running else "was stopped"
        text = f"{run.path}: the run {state}; it is shown up to t = {run.time[-1]:g}"
        remarks().print(text, markup=False, soft_wrap=True)


def _span(
    run: Trajectory,
    target: Path,
    look: Look,
    asked: tuple[float | None, float | None],
    fps: float | None,
    speed: float | None,
) -> Span:
    from ..draw.encoding import check_film
    from ..draw.studio import Span
    from ..draw.timeline import Timeline

    rate = FPS[target.suffix.lower()] if fps is None else fps
    check_film(target, look.size, rate)
    line, (start, stop) = Timeline(run), asked
    first = line.start if start is None else line.check("--from", start)
    last = line.stop if stop is None else line.check("--to", stop)
    if not last > first:
        if start is None and stop is None:
            wanted = "a run of more than one frame: of this one, make a picture with -o picture.png"
            raise ProblemError("trajectory", str(run.path), wanted)
        raise ProblemError("--to", last, f"a time after --from = {first:g}")
    return Span(first, last, 1.0 if speed is None else speed, rate)


def _film(run: Trajectory, target: Path, span: Span, look: Look, quiet: bool) -> Made:
    from ..draw.films import write_film
    from .compiling import compile_notice
    from .render_progress import showing

    _propose_speed(run, span, quiet)
    with showing(target.name, quiet) as tell, compile_notice():
        return write_film(run, target, span, look, tell)


def _propose_speed(run: Trajectory, span: Span, quiet: bool) -> None:
    """A film takes as long as the run does, which may be an hour, or the blink of an eye."""
    seconds = (span.stop - span.start) / span.speed
    if quiet or SHORT <= seconds <= LONG:
        return
    better = float(f"{(span.stop - span.start) / 20.0:.1g}")
    text = f"the film will run for {seconds:,.3g} s; --speed {better:g} makes it about 20 s"
    remarks().print(text, markup=False, soft_wrap=True)


def _still(run: Trajectory, target: Path, at: float | None, look: Look) -> Made:
    from ..draw.films import write_still
    from ..draw.timeline import Timeline
    from .compiling import compile_notice

    line = Timeline(run)
    time = line.stop if at is None else line.check("--at", at)
    with compile_notice():
        return write_still(run, target, time, look)


def _tell(run: Trajectory, made: Made) -> None:
    from .run_table import size_text

    size = f"{made.size[0]} x {made.size[1]}, {size_text(made.path.stat().st_size)}"
    if made.seconds:
        size = f"{made.pictures:,} pictures, {made.seconds:.1f} s, {size}"
    remarks().print(f"{run.name}, law {run.law}: {size}", markup=False, soft_wrap=True)
