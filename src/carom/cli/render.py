"""`carom render RUN.h5|SCENE -o film.mp4`: films and stills of a run or a scene, without a display."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..draw.settings import PictureSettings
from ..errors import ProblemError
from ..settings import settings_of
from .arguments import LAW_HELP, SET, settings_options
from .console import out, remarks
from .progress import EVERY, WINDOW, clock
from .source import FILES, law_of, load

if TYPE_CHECKING:
    from ..draw.films import Look, Made, Span
    from ..scenes.views import View
    from ..trajectory import Trajectory

PICTURE = settings_of(PictureSettings)
FPS = {".mp4": 30.0, ".gif": 25.0}
USUAL_SIZE = "1920x1080"
SIZE = {(2, ".gif"): "800x450", (3, ".gif"): "800x450", (3, ".mp4"): "1280x720"}  # ray casting is slow
LONG, SHORT, PROPOSED = 120.0, 1.5, 20.0  # seconds of a film beyond which another speed is proposed, and its duration
FASTEST = 240.0  # pictures per second
REST = 1.0  # seconds of rest that stay at the end of a film
STILL_FRAMES = 60  # frames of a scene that is run for a still: as many as the scale of the colors examines
TRAIL_FRAMES = 2000  # the same for a still with trails

Tell = Callable[[int, int], None]


@settings_options(tuple(PICTURE), after="output", declared=PICTURE)
def render(
    source: str = typer.Argument(
        ..., metavar="RUN.h5|SCENE|FILE", help="A trajectory, or a scene that is run first: a name or a file."
    ),
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="FILE", help="film.mp4, film.gif, picture.png, .svg or .pdf."
    ),
    law: str | None = typer.Option(
        None, "--law", "-l", metavar="NAME", help=f"Of a scene that is run first. {LAW_HELP}"
    ),
    parameter: list[str] = SET,
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file."),
    quiet: bool = typer.Option(False, "-q", "--quiet", help="No progress and no remarks."),
    **told: Any,
) -> None:
    """Draw a run as a film or a still. Needs no display."""
    from ..draw.colors import MAPS, quantity
    from ..draw.films import Look, checked_path, is_film
    from ..scenes.views import view_of

    target, color, sound = checked_path(output, overwrite), told["color"], told["sound"]
    if color is not None:
        quantity(color)
    if told["color_map"] not in MAPS:
        raise ProblemError.unknown("color map", told["color_map"], MAPS)
    film, at, start, stop = is_film(target), told["at"], told["start"], told["stop"]
    _check_options(film, at, {PICTURE[n].flag or f"--{n}": told[n] for n in ("start", "stop", "fps", "speed")})
    if sound and target.suffix.lower() != ".mp4":
        raise ProblemError("--sound", str(target), "a film that ends in .mp4")
    asked = (*(["all"] if told["trails"] else []), *told["trail"])

    def look_of(dimension: int, view: View) -> Look:
        pixels = _size(dimension, target, told["size"])
        shown = (color or view.color, told["color_map"], told["camera"] or view.camera, asked or view.trails)
        return Look(pixels, *shown, told["impulses"], told["caption"], told["title"])

    with _opened(Wanted(source, law, parameter, stop if film else at, film, quiet), look_of) as run:
        view = view_of(run.scene)
        look = look_of(run.dimension, view)
        _check_look(look, run.dimension, run.count)
        _check_run(run)
        if film:
            span = _span(run, target, look, (start, stop), told["fps"], told["speed"])
            span = span if stop is not None else _without_rest(run, span, quiet)
            made = _film(run, target, span, look, quiet, sound)
        else:
            made = _still(run, target, _instant(run, at, view.at), look)
        if not quiet:
            _report(run, made)
    out().print(str(made.path), markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Wanted:
    """The run to draw: a file, or a scene that is run first, up to the time that the picture or film needs."""

    source: str
    law: str | None
    parameters: list[str]
    until: float | None  # value of --at or --to
    film: bool
    quiet: bool


def _opened(wanted: Wanted, look_of: Callable[[int, View], Look]) -> Trajectory:
    """The trajectory of the file, or of the scene."""
    from ..trajectory import Trajectory

    path = Path(wanted.source)
    if path.suffix.lower() in (".h5", ".hdf5") or (path.is_file() and path.suffix.lower() not in FILES):
        for name, value in (("--law", wanted.law), ("--set", ", ".join(wanted.parameters))):
            if value:
                raise ProblemError(name, value, f"nothing: {wanted.source} is a run already; this is for scenes")
        return Trajectory(path)
    return _run(wanted, look_of)


def _run(wanted: Wanted, look_of: Callable[[int, View], Look]) -> Trajectory:
    """Runs the scene in memory. A still needs few frames, or those of all steps for smooth trails."""
    from ..scenes.views import view_of
    from ..simulation import completed, simulate
    from .progress import compile_notice_beside_bar, interrupts_as_such, telling

    scene = load(wanted.source, wanted.parameters)
    law, view = law_of(wanted.law, [], scene), view_of(scene)
    look, until = look_of(scene.dimension, view), wanted.until
    _check_look(look, scene.dimension, scene.count)
    if until is None:
        until = scene.duration if wanted.film or view.at is None else view.at
    elif not 0.0 <= until < math.inf:
        raise ProblemError("--to" if wanted.film else "--at", until, "a finite number from 0 up")
    until, rate = max(until, scene.step), scene.frame_rate
    if not wanted.film:
        rate = min(1.0 / scene.step, TRAIL_FRAMES / until) if look.trails else min(rate, STILL_FRAMES / until)
    settings: dict[str, Any] = {"duration": until, "frame_rate": rate, "impulses": look.impulses}
    title = f"{scene.name}, {law.name}"
    with interrupts_as_such(), telling(title, wanted.quiet) as tell, compile_notice_beside_bar():
        return completed(simulate(scene, law, progress=tell, **settings))


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


def _size(dimension: int, target: Path, asked: str | None) -> tuple[int, int]:
    text = asked if asked is not None else SIZE.get((dimension, target.suffix.lower()), USUAL_SIZE)
    wide, _, tall = text.lower().replace("×", "x").partition("x")
    if not (wide.strip().isdigit() and tall.strip().isdigit()):
        raise ProblemError("--size", text, f"WIDTHxHEIGHT in pixels, such as {USUAL_SIZE}")
    return int(wide), int(tall)


def _check_look(look: Look, dimension: int, count: int) -> None:
    """Checks camera and trails before anything is computed."""
    import numpy as np

    from ..draw.camera import camera_option_2d, camera_option_3d
    from ..draw.marks import traced_points

    if dimension == 2:
        camera_option_2d(look.camera, count)
    else:
        camera_option_3d(look.camera)
    traced_points(look.trails, np.ones(count, bool), dimension)


def _check_run(run: Trajectory) -> None:
    """Checks that there is something to draw, and remarks on a run that is not finished."""
    if not len(run):
        raise ProblemError("trajectory", str(run.path), "a run with frames", f"{run.path}: there is no frame in it")
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


def _without_rest(run: Trajectory, span: Span, quiet: bool) -> Span:
    """The span without the time at its end in which nothing moves, but with REST seconds of it."""
    from ..draw.timeline import Timeline

    end = max(Timeline(run).last_motion(), span.start) + REST * span.speed
    if span.stop - end < REST * span.speed:
        return span
    if not quiet:
        cut = (span.stop - end) / span.speed
        text = f"nothing moves in the last {cut:.3g} s of the film, which are cut; --to {span.stop:g} keeps them"
        remarks().print(text, markup=False, soft_wrap=True)
    return replace(span, stop=end)


def _film(run: Trajectory, target: Path, span: Span, look: Look, quiet: bool, sound: bool) -> Made:
    from ..draw.films import write_film
    from ..kernels import prepare
    from .compiling import compile_notice

    _propose_speed(span, quiet)
    with film_progress(target.name, quiet) as tell, compile_notice():
        prepare([f"draw/{run.dimension}d"])
        return write_film(run, target, span, look, tell, sound)


def _propose_speed(span: Span, quiet: bool) -> None:
    """Proposes another speed for a film that is very long or very short."""
    seconds = (span.stop - span.start) / span.speed
    if quiet or SHORT <= seconds <= LONG:
        return
    better = float(f"{(span.stop - span.start) / PROPOSED:.1g}")
    text = f"the film will run for {seconds:,.3g} s; --speed {better:g} makes it about {PROPOSED:g} s"
    remarks().print(text, markup=False, soft_wrap=True)


def _instant(run: Trajectory, asked: float | None, usual: float | None) -> float:
    """The instant of a still: as asked, else the usual one of the scene, else the end of the run."""
    from ..draw.timeline import Timeline

    line = Timeline(run)
    if asked is not None:
        return line.check("--at", asked)
    return line.stop if usual is None else min(usual, line.stop)


def _still(run: Trajectory, target: Path, instant: float, look: Look) -> Made:
    from ..draw.films import write_still
    from ..kernels import prepare
    from .compiling import compile_notice

    with compile_notice():
        prepare([f"draw/{run.dimension}d"])
        return write_still(run, target, instant, look)


def _report(run: Trajectory, made: Made) -> None:
    from .tables import count_text, size_text

    size = f"{made.size[0]} x {made.size[1]}, {size_text(made.path.stat().st_size)}"
    if made.seconds:
        size = f"{made.pictures:,} pictures, {made.seconds:.1f} s, {size}"
    remarks().print(f"{run.name}, law {run.law}: {size}", markup=False, soft_wrap=True)
    if made.outside:
        text = (
            f"{made.outside:,} of {count_text(run.count, 'body', 'bodies')} outside the picture; --camera all shows all"
        )
        remarks().print(text, markup=False, soft_wrap=True)


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
