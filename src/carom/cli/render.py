"""`carom render run.h5 -o film.mp4`: films and stills of a run, without a display."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .arguments import RUN, number_option
from .console import out, remarks
from .progress import EVERY, WINDOW, clock

if TYPE_CHECKING:
    from ..draw.films import Look, Made, Span
    from ..trajectory import Trajectory

FPS = {".mp4": 30.0, ".gif": 25.0}
USUAL_SIZE = "1920x1080"
SIZE = {(2, ".gif"): "800x450", (3, ".gif"): "800x450", (3, ".mp4"): "1280x720"}  # ray casting is slow
LONG, SHORT, PROPOSED = 120.0, 1.5, 20.0  # seconds of a film beyond which another speed is proposed, and its duration
FASTEST = 240.0  # pictures per second

Tell = Callable[[int, int], None]


def render(
    file: Path = RUN,
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="FILE", help="film.mp4, film.gif, picture.png, .svg or .pdf."
    ),
    at: float | None = number_option("--at", "TIME", "Time of a still; default: the end of the run."),
    start: float | None = number_option("--from", "TIME", "Start of a film."),
    stop: float | None = number_option("--to", "TIME", "End of a film."),
    fps: float | None = number_option("--fps", "RATE", "Pictures per second; default: 30, for a GIF 25."),
    speed: float | None = number_option("--speed", "FACTOR", "Units of time per second of the film; default: 1."),
    size: str | None = typer.Option(
        None,
        "--size",
        metavar="WxH",
        help="Pixels; default: 1920x1080, for films in 3D 1280x720, for a GIF 800x450.",
    ),
    camera: str = typer.Option(
        "fit",
        "--camera",
        metavar="WHAT",
        help="In 2D: fit, all, zoom, follow, follow:BODY or x,y,width. In 3D: fit, all, or any of "
        "azimuth=, elevation=, distance=, target=x:y:z, turn=, separated by commas.",
    ),
    trails: bool = typer.Option(False, "--trails", help="Draw the paths of the bodies."),
    color: str = typer.Option(
        "speed", "--color", metavar="NAME", help="speed, body, group, depth, energy or contacts."
    ),
    color_map: str = typer.Option("soft", "--map", metavar="NAME", help="Color map: soft, viridis or cividis."),
    impulses: bool = typer.Option(False, "--impulses", help="Draw contact impulses as arrows, if they were recorded."),
    caption: bool = typer.Option(True, "--caption/--no-caption", help="Scene, law, time and legend above the picture."),
    title: str | None = typer.Option(None, "--title", metavar="TEXT", help="Replaces the name of the scene."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Overwrite an existing file."),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="No progress and no remarks."),
) -> None:
    """Draw a run as a film or a still. Needs no display."""
    from ..draw.colors import MAPS, quantity
    from ..draw.films import Look, checked_path, is_film
    from ..trajectory import Trajectory

    target = checked_path(output, overwrite)
    quantity(color)
    if color_map not in MAPS:
        raise ProblemError.unknown("color map", color_map, MAPS)
    film = is_film(target)
    _check_options(film, at, {"--from": start, "--to": stop, "--fps": fps, "--speed": speed})
    with Trajectory(file) as run:
        look = Look(_size(run, target, size), color, color_map, camera, trails, impulses, caption, title)
        _check_run(run, look)
        if film:
            made = _film(run, target, _span(run, target, look, (start, stop), fps, speed), look, quiet)
        else:
            made = _still(run, target, at, look)
        if not quiet:
            _report(run, made)
    out().print(str(made.path), markup=False, soft_wrap=True)


def _check_options(film: bool, at: float | None, of_films: dict[str, float | None]) -> None:
    """Refuses options without effect: --at for a film, the options of films for a still."""
    if film and at is not None:
        raise ProblemError("--at", at, "nothing: a film is not of one instant; use --from and --to, or -o picture.png")
    for name, value in of_films.items():
        if value is not None and not film:
            raise ProblemError(name, value, "nothing: it is for films (.mp4, .gif); a picture has --at")
        if value is not None and name in ("--fps", "--speed") and not 1e-6 <= value <= 1e6:
            raise ProblemError(name, value, "a number above 0")
    rate = of_films["--fps"]
    if rate is not None and rate > FASTEST:
        raise ProblemError("--fps", rate, f"at most {FASTEST:g} pictures per second")


def _size(run: Trajectory, target: Path, asked: str | None) -> tuple[int, int]:
    text = asked if asked is not None else SIZE.get((run.dimension, target.suffix.lower()), USUAL_SIZE)
    wide, _, tall = text.lower().replace("×", "x").partition("x")
    if not (wide.strip().isdigit() and tall.strip().isdigit()):
        raise ProblemError("--size", text, f"WIDTHxHEIGHT in pixels, such as {USUAL_SIZE}")
    return int(wide), int(tall)


def _check_run(run: Trajectory, look: Look) -> None:
    """Checks the run and the camera before anything is computed, and remarks on a run that is not finished."""
    from ..draw.camera import camera_option_2d, camera_option_3d

    if not len(run):
        raise ProblemError("trajectory", str(run.path), "a run with frames", f"{run.path}: there is no frame in it")
    if run.dimension == 2:
        camera_option_2d(look.camera, run.count)
    else:
        camera_option_3d(look.camera)
    if not run.finished:
        state = "is still running" if run.running else "was stopped"
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
    from ..draw.films import Span
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
    from ..kernels import prepare
    from .compiling import compile_notice

    _propose_speed(span, quiet)
    with film_progress(target.name, quiet) as tell, compile_notice():
        prepare([f"draw/{run.dimension}d"])
        return write_film(run, target, span, look, tell)


def _propose_speed(span: Span, quiet: bool) -> None:
    """Proposes another speed for a film that is very long or very short."""
    seconds = (span.stop - span.start) / span.speed
    if quiet or SHORT <= seconds <= LONG:
        return
    better = float(f"{(span.stop - span.start) / PROPOSED:.1g}")
    text = f"the film will run for {seconds:,.3g} s; --speed {better:g} makes it about {PROPOSED:g} s"
    remarks().print(text, markup=False, soft_wrap=True)


def _still(run: Trajectory, target: Path, at: float | None, look: Look) -> Made:
    from ..draw.films import write_still
    from ..draw.timeline import Timeline
    from ..kernels import prepare
    from .compiling import compile_notice

    line = Timeline(run)
    instant = line.stop if at is None else line.check("--at", at)
    with compile_notice():
        prepare([f"draw/{run.dimension}d"])
        return write_still(run, target, instant, look)


def _report(run: Trajectory, made: Made) -> None:
    from .tables import size_text

    size = f"{made.size[0]} x {made.size[1]}, {size_text(made.path.stat().st_size)}"
    if made.seconds:
        size = f"{made.pictures:,} pictures, {made.seconds:.1f} s, {size}"
    remarks().print(f"{run.name}, law {run.law}: {size}", markup=False, soft_wrap=True)


# ---- progress, on stderr: a bar in a terminal, elsewhere a line every EVERY seconds


class Rate:
    """Pictures per second over the last WINDOW seconds, and the seconds that are left.

    It counts from the first picture on: before that, kernels may be compiled.
    """

    def __init__(self) -> None:
        self._past: deque[tuple[float, int]] = deque()

    def update(self, done: int, count: int) -> tuple[float, float]:
        now = time.perf_counter()
        self._past.append((now, done))
        while len(self._past) > 2 and now - self._past[0][0] > WINDOW:
            self._past.popleft()
        since, before = self._past[0]
        rate = (done - before) / max(now - since, 1e-9)
        return rate, (count - done) / rate if rate > 0.0 else float("inf")


@contextmanager
def film_progress(title: str, quiet: bool = False) -> Iterator[Tell | None]:
    """A function for `write_film(progress=...)` that shows the progress while the block runs."""
    if quiet:
        yield None
    elif remarks().is_terminal:
        yield from _bar(title)
    else:
        yield _lines(title)


def _bar(title: str) -> Iterator[Tell]:
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("[dim]{task.fields[numbers]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=remarks(), transient=True, expand=True) as bar:
        task = bar.add_task(escape(title), total=1.0, numbers="preparing", left="")
        pace = Rate()

        def tell(done: int, count: int) -> None:
            rate, left = pace.update(done, count)
            numbers = f"{done:,} of {count:,} pictures, {rate:.1f}/s"
            bar.update(task, completed=done / count, numbers=numbers, left=f"{clock(left)} left")

        yield tell


def _lines(title: str) -> Tell:
    pace = Rate()
    last = time.perf_counter()

    def tell(done: int, count: int) -> None:
        nonlocal last
        rate, left = pace.update(done, count)
        now = time.perf_counter()
        if now - last >= EVERY and done < count:
            last = now
            share = f"{100 * done // count} %, {done:,} of {count:,} pictures, {rate:.1f}/s"
            remarks().print(f"{title}: {share} · {clock(left)} left", markup=False, soft_wrap=True)

    return tell
