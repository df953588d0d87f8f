"""From what was asked of a picture or film to what is drawn: `carom.render`, and the command of that name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ProblemError
from ..kernels import prepare
from ..laws import Law
from ..scene.model import Scene
from ..scenes.views import View, view_of
from ..settings import FLAG, LIST, NAME, NUMBER, keywords_of, settings_of
from ..trajectory import Trajectory
from .camera import camera_option_2d, camera_option_3d
from .colors import MAPS, quantity
from .encoding import check_film
from .films import Look, Made, Span, checked_path, is_film, write_film, write_still
from .marks import traced_points
from .settings import PictureSettings
from .timeline import Timeline

if TYPE_CHECKING:
    from typing_extensions import Unpack

PICTURE = settings_of(PictureSettings)
FPS = {".mp4": 30.0, ".gif": 25.0}
USUAL_SIZE = "1920x1080"
SIZE = {(2, ".gif"): "800x450", (3, ".gif"): "800x450", (3, ".mp4"): "1280x720"}  # ray casting is slow
LONG, SHORT, PROPOSED = 120.0, 1.5, 20.0  # seconds of a film beyond which another speed is proposed, and its duration
FASTEST = 240.0  # pictures per second
REST = 1.0  # seconds of rest that stay at the end of a film
STILL_FRAMES = 60  # frames of a scene that is run for a still: as many as the scale of the colors examines
TRAIL_FRAMES = 2000  # the same for a still with trails

KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    NUMBER: ("a number", lambda v: v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool))),
    NAME: ("text", lambda v: v is None or isinstance(v, str)),
    FLAG: ("true or false", lambda v: isinstance(v, bool)),
    LIST: ("a list of texts", lambda v: isinstance(v, list | tuple) and all(isinstance(item, str) for item in v)),
}
Tell = Callable[[int, int], None]


@keywords_of(PictureSettings)
def render(
    source: Trajectory | Scene,
    output: str | os.PathLike[str],
    *,
    law: str | Law | None = None,
    overwrite: bool = False,
    progress: Tell | None = None,
    remark: Callable[[str], None] | None = None,
    **told: Unpack[PictureSettings],
) -> Made:
    """Draws a run as a film (.mp4, .gif) or a still (.png, .svg, .pdf); a scene is run in memory first, under `law`.

    `progress(done, all)` is called after each picture of a film. `remark` is called with sentences about the result,
    such as that a film is very long. Other keywords are the options of `carom render`.
    """
    order = Order(output, told, overwrite)
    if isinstance(source, Trajectory):
        if law is not None:
            raise ProblemError("law", law, "nothing: this is a run already; a law is for scenes")
        return order.draw(source, progress, remark)
    if not isinstance(source, Scene):
        raise ProblemError("source", source, "a trajectory or a scene")
    from ..simulation import completed, simulate

    with completed(simulate(source, law, **order.run_settings(source))) as run:
        return order.draw(run, progress, remark)


@dataclass(frozen=True)
class Order:
    """A picture or film that was asked for. Bad settings are refused when it is made, before any work."""

    output: str | os.PathLike[str]
    told: PictureSettings
    overwrite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "told", {name: setting.default for name, setting in PICTURE.items()} | self.told)
        checked_path(self.output, self.overwrite)
        told = self.told
        for name, value in told.items():
            _check_kind(PICTURE[name].flag or f"--{name}", value, PICTURE[name].kind)
        if told["color"] is not None:
            quantity(told["color"])
        if told["color_map"] not in MAPS:
            raise ProblemError.unknown("color map", told["color_map"], MAPS)
        if self.film and told["at"] is not None:
            wanted = "nothing: a film is not of one instant; use --from and --to, or -o picture.png"
            raise ProblemError("--at", told["at"], wanted)
        of_films = {"--from": told["start"], "--to": told["stop"], "--fps": told["fps"], "--speed": told["speed"]}
        for name, value in of_films.items():
            if value is not None and not self.film:
                raise ProblemError(name, value, "nothing: it is for films (.mp4, .gif); a picture has --at")
            if value is not None and name in ("--fps", "--speed") and not 1e-6 <= value <= 1e6:
                raise ProblemError(name, value, "a number above 0")
        if told["fps"] is not None and told["fps"] > FASTEST:
            raise ProblemError("--fps", told["fps"], f"at most {FASTEST:g} pictures per second")
        if told["sound"] and self.target.suffix.lower() != ".mp4":
            raise ProblemError("--sound", str(self.target), "a film that ends in .mp4")

    @property
    def target(self) -> Path:
        """The file to write."""
        return Path(self.output)

    @property
    def film(self) -> bool:
        return is_film(self.target)

    def run_settings(self, scene: Scene) -> dict[str, Any]:
        """What `simulate` is told for this picture or film of a scene: a still needs few frames, or those of all
        steps for smooth trails.
        """
        view, until = view_of(scene), self.told["stop"] if self.film else self.told["at"]
        look = self._look(scene.dimension, scene.count, view)
        if until is None:
            until = scene.duration if self.film or view.at is None else view.at
        elif not 0.0 <= until < math.inf:
            raise ProblemError("--to" if self.film else "--at", until, "a finite number from 0 up")
        until, rate = max(until, scene.step), scene.frame_rate
        if not self.film:
            rate = min(1.0 / scene.step, TRAIL_FRAMES / until) if look.trails else min(rate, STILL_FRAMES / until)
        return {"duration": until, "frame_rate": rate, "impulses": look.impulses}

    def draw(self, run: Trajectory, progress: Tell | None, remark: Callable[[str], None] | None) -> Made:
        """Writes the file."""
        say, view = remark or _unsaid, view_of(run.scene)
        look = self._look(run.dimension, run.count, view)
        if not len(run):
            raise ProblemError("trajectory", str(run.path), "a run with frames", f"{run.path}: there is no frame in it")
        if not run.finished:
            state = "is still running" if run.running else "was stopped"
            say(f"{run.path}: the run {state}; it is shown up to t = {run.time[-1]:g}")
        line = Timeline(run)
        if self.film:
            span = self._span(run, line, look)
            span = span if self.told["stop"] is not None else _without_rest(line, span, say)
            _propose_speed(span, say)
        prepare([f"draw/{run.dimension}d"])
        if self.film:
            return write_film(run, self.target, span, look, progress, self.told["sound"])
        if self.told["at"] is not None:
            instant = line.check("--at", self.told["at"])
        else:
            instant = line.stop if view.at is None else min(view.at, line.stop)
        return write_still(run, self.target, instant, look)

    def _look(self, dimension: int, count: int, view: View) -> Look:
        """The look of a run of `count` bodies; what was not asked for is that of the scene's view."""
        told = self.told
        asked = (*(["all"] if told["trails"] else []), *told["trail"])
        shown = (told["color"] or view.color, told["color_map"], told["camera"] or view.camera, asked or view.trails)
        look = Look(self._size(dimension), *shown, told["impulses"], told["caption"], told["title"])
        if dimension == 2:
            camera_option_2d(look.camera, count)
        else:
            camera_option_3d(look.camera)
        traced_points(look.trails, np.ones(count, bool), dimension)
        return look

    def _size(self, dimension: int) -> tuple[int, int]:
        text = self.told["size"] or SIZE.get((dimension, self.target.suffix.lower()), USUAL_SIZE)
        wide, _, tall = text.lower().replace("×", "x").partition("x")
        if not (wide.strip().isdigit() and tall.strip().isdigit()):
            raise ProblemError("--size", text, f"WIDTHxHEIGHT in pixels, such as {USUAL_SIZE}")
        return int(wide), int(tall)

    def _span(self, run: Trajectory, line: Timeline, look: Look) -> Span:
        start, stop, fps, speed = (self.told[name] for name in ("start", "stop", "fps", "speed"))
        rate = FPS[self.target.suffix.lower()] if fps is None else fps
        check_film(self.target, look.size, rate)
        first = line.start if start is None else line.check("--from", start)
        last = line.stop if stop is None else line.check("--to", stop)
        if not last > first:
            if start is None and stop is None:
                wanted = "a run of more than one frame: of this one, make a picture with -o picture.png"
                raise ProblemError("trajectory", str(run.path), wanted)
            raise ProblemError("--to", last, f"a time after --from = {first:g}")
        return Span(first, last, 1.0 if speed is None else speed, rate)


def _check_kind(flag: str, value: Any, kind: str) -> None:
    """Refuses values of another type, which only programs can give."""
    expected, fits = KINDS[kind]
    if not fits(value):
        raise ProblemError(flag, value, expected)


def _unsaid(remark: str) -> None:
    """Nobody asked for remarks."""


def _without_rest(line: Timeline, span: Span, say: Callable[[str], None]) -> Span:
    """The span without the time at its end in which nothing moves, but with REST seconds of it."""
    end = max(line.last_motion(), span.start) + REST * span.speed
    if span.stop - end < REST * span.speed:
        return span
    cut = (span.stop - end) / span.speed
    say(f"nothing moves in the last {cut:.3g} s of the film, which are cut; --to {span.stop:g} keeps them")
    return replace(span, stop=end)


def _propose_speed(span: Span, say: Callable[[str], None]) -> None:
    """Proposes another speed for a film that is very long or very short."""
    seconds = (span.stop - span.start) / span.speed
    if not SHORT <= seconds <= LONG:
        better = float(f"{(span.stop - span.start) / PROPOSED:.1g}")
        say(f"the film will run for {seconds:,.3g} s; --speed {better:g} makes it about {PROPOSED:g} s")
