"""Stills and films of runs, made without a display. `carom render` is the command.

write_still(run, Path("run.png"), 1.0, Look())
write_film(run, Path("run.mp4"), Span(0.0, 5.0), Look())
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at
from ..errors import ProblemError
from ..files import atomic_path, check_folder_of, make_folder_of
from ..trajectory import Trajectory
from ..world import State
from . import marks
from .camera import Camera, camera_option_2d, camera_option_3d
from .caption import caption_of, picture_area, plate
from .colors import Bytes, Coloring, Floats
from .encoding import check_film, film
from .framing import (
    SAMPLES_2D,
    SAMPLES_3D,
    TRAIL_SAMPLES,
    MovingWindow,
    Window,
    fitted,
    following,
    shot,
    window_on,
    zooming,
)
from .primitives import Image, Page, mapped
from .raster import painted
from .raycast import Kept, Picture, RayLook, render
from .sound import film_sound, write_wav
from .timeline import Timeline, film_times
from .world2d import View2D, world_shapes

STILLS = (".png", ".svg", ".pdf")
FILMS = (".mp4", ".gif")
SMALLEST, LARGEST = 64, 7680  # pixels of width and height
TAIL = 1.5  # seconds of a film that a trail lasts
SAMPLES = 12  # pictures from which a GIF takes its palette
LINE, EDGE = 2.0, 1.3  # widths of boundary lines and outlines, in pixels of a page of height 1080
THIN_LINE, THIN_EDGE = 1.0, 0.8  # and at least, in pixels
SMALL = 5.0  # radius in such pixels below which bodies have no outline


@dataclass(frozen=True)
class Look:
    """Options of stills and films. `size` is width and height in pixels."""

    size: tuple[int, int] = (1920, 1080)
    color: str | None = None  # one of colors.QUANTITIES; None: colors.usual_quantity
    map: str = "soft"  # one of colors.MAPS
    camera: str = "fit"
    trails: tuple[str, ...] = ()  # points whose paths are drawn, as in marks.traced_points
    impulses: bool = False
    caption: bool = True
    title: str | None = None  # default: the name of the scene

    def __post_init__(self) -> None:
        wide, tall = self.size
        if not (SMALLEST <= wide <= LARGEST and SMALLEST <= tall <= LARGEST):
            raise ProblemError("--size", f"{wide}x{tall}", f"WIDTHxHEIGHT, from {SMALLEST} to {LARGEST} pixels each")


@dataclass(frozen=True)
class Span:
    """The part of a run that a film shows; `speed` is in units of time per second of the film."""

    start: float
    stop: float
    speed: float = 1.0
    fps: float = 30.0

    @property
    def still(self) -> bool:
        return not self.stop > self.start


@dataclass(frozen=True)
class Made:
    """A film or still that was written."""

    path: Path
    size: tuple[int, int]
    pictures: int
    seconds: float  # duration of the film; 0 for a still
    outside: int  # largest number of free bodies outside a picture


def checked_path(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """The file name, checked before any work."""
    target = Path(path)
    if target.suffix.lower() not in (*STILLS, *FILMS):
        wanted = f"a film ({', '.join(FILMS)}) or a picture ({', '.join(STILLS)})"
        raise ProblemError("--output", str(target), f"a name that ends as {wanted}")
    if target.is_dir():
        raise ProblemError("--output", str(target), "a file name; this is a folder")
    check_folder_of("--output", target)
    if target.exists() and not overwrite:
        raise ProblemError("--output", str(target), "a new name, or --overwrite: this file exists")
    return target


def is_film(path: Path) -> bool:
    return path.suffix.lower() in FILMS


def write_still(run: Trajectory, path: Path, time: float, look: Look) -> Made:
    """Writes one instant as PNG, SVG or PDF. In the latter two, 2D bodies are vector shapes."""
    studio = Studio(run, look, Span(time, time))
    page = studio.sketch(time)()
    kind = path.suffix.lower().removeprefix(".")
    make_folder_of("--output", path)
    with atomic_path(path) as part:
        if kind == "png":
            import PIL.Image

            PIL.Image.fromarray(painted(page)).save(part, optimize=True)
        else:
            from . import vector

            vector.write(page, part, kind)
    return Made(path, look.size, 1, 0.0, studio.outside)


def write_film(
    run: Trajectory,
    path: Path,
    span: Span,
    look: Look,
    progress: Callable[[int, int], None] | None = None,
    sound: bool = False,
) -> Made:
    """Writes a film from `span.start` to `span.stop`. `progress(done, all)` is called after each picture.

    With `sound` its impacts are heard.
    """
    check_film(path, look.size, span.fps)
    times = film_times(span.start, span.stop, span.fps, span.speed)
    heard = film_sound(run, span, len(times)) if sound else None
    studio = Studio(run, look, span)
    make_folder_of("--output", path)

    def samples() -> list[Bytes]:
        chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
        return list(_pictures(studio, times[chosen].tolist()))

    with _as_wav(heard) as wav, film(path, look.size, span.fps, samples, wav) as out:
        for done, picture in enumerate(_pictures(studio, times.tolist()), start=1):
            out.add(picture)
            if progress is not None:
                progress(done, len(times))
    return Made(path, look.size, len(times), len(times) / span.fps, studio.outside)


@contextmanager
def _as_wav(samples: Floats | None) -> Iterator[Path | None]:
    """A WAV file with the samples, removed when the block ends; None without samples."""
    if samples is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="carom-sound-") as folder:
        path = Path(folder) / "film.wav"
        write_wav(path, samples)
        yield path


def _pictures(studio: Studio, times: list[float]) -> Iterator[Bytes]:
    """The pictures in order. This thread reads the file; one thread per core makes and paints the pages."""
    workers = os.cpu_count() or 1
    waiting: deque[Future[Bytes]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for time in times:
                waiting.append(pool.submit(lambda make: painted(make()), studio.sketch(time)))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@dataclass(frozen=True, eq=False)
class Instant:
    """What was read from the file about one instant."""

    time: float
    state: State
    colors: Bytes  # (n, 3)
    tracks: marks.Tracks | None  # of trails
    traced: Bytes  # (m, 3) colors of the bodies with trails


class Studio:
    """Makes the pages of a run with one look.

    `sketch(time)` reads the file and must be called by one thread. The function that it returns makes the page, which
    takes most of the time, and may be called by any thread.
    """

    def __init__(self, run: Trajectory, look: Look, span: Span) -> None:
        self.run, self.look, self.span = run, look, span
        self.timeline = Timeline(run)
        alone = self.timeline.nearest(span.start) if span.still else None
        self.coloring = Coloring.of(run, look.color, look.map, alone)
        self._traced = marks.traced_points(look.trails, run.world.free, run.dimension)
        # A still with trails shows where they began.
        shown = Span(self.timeline.start, span.stop, span.speed) if look.trails and span.still else span
        self._scenery = (Scenery2D if run.dimension == 2 else Scenery3D)(self.timeline, look, shown)
        frames = range(self.timeline.nearest(span.start), self.timeline.nearest(span.stop) + 1)
        self._impulses = marks.Impulses(run, frames) if look.impulses else None
        self._caption = caption_of(run, self.coloring, look.title) if look.caption else None
        _ = self.coloring.range  # reads the whole run, which must not happen in another thread
        self._colors: tuple[int, Bytes] | None = None
        self._outside = [0]  # one number per picture

    @property
    def outside(self) -> int:
        """The largest number of free bodies whose center was outside a picture."""
        return max(self._outside)

    def picture(self, time: float) -> Bytes:
        """The picture at one instant, (height, width, 3) sRGB bytes."""
        return painted(self.sketch(time)())

    def sketch(self, time: float) -> Callable[[], Page]:
        """Reads everything about one instant; the function that it returns makes the page."""
        moment = self.timeline.at(time)
        colors, page = self._rgb(moment.frame), Page(*self.look.size)
        tail, traced = self._tail_start(time), self._traced
        trails = self.look.trails and time > tail
        tracks = self.timeline.tracks(tail, time, self._points(), traced) if trails else None
        instant = Instant(time, moment.state, colors, tracks, colors[traced.body])
        pushes = [] if self._impulses is None else self._impulses.read(self._pushing(time))

        def make() -> Page:
            project = self._scenery.add(page, instant)
            if self._impulses is not None:
                page.add(*self._impulses.arrows(pushes, project, page.height))
            shown = self.run.world.free & moment.state.present
            outside = self._count_outside(page, project(moment.state.position[shown]))
            if self._caption is not None:
                page.add(*plate(page, self._scenery.highest(moment.state, project)))
                page.add(*self._caption.primitives(page, time, outside))
            return page

        return make

    def _count_outside(self, page: Page, pixels: Floats) -> int:
        """Counts the bodies whose center is not on the page; NaN is behind the camera."""
        x, y = pixels.T
        inside = (x >= 0.0) & (x <= page.width) & (y >= self._scenery.top) & (y <= page.height)
        self._outside.append(int((~inside).sum()))
        return self._outside[-1]

    def _rgb(self, frame: int) -> Bytes:
        """The colors of a frame. The last ones are kept, because a slow film shows each frame several times."""
        if self._colors is None or self._colors[0] != frame:
            self._colors = frame, self.coloring.rgb(frame)
        return self._colors[1]

    def _tail_start(self, time: float) -> float:
        """The start of trails: in a still the start of the run, in a film TAIL seconds ago."""
        return self.timeline.start if self.span.still else max(self.span.start, time - TAIL * self.span.speed)

    def _points(self) -> int:
        most = max(marks.LONG_POINTS, marks.PIECES // max(1, len(self._traced.body)))
        return most if self.span.still else marks.POINTS

    def _pushing(self, time: float) -> list[tuple[int, float]]:
        if self.span.still:
            return [(self.timeline.nearest(time), 1.0)]
        before = time - self.span.speed / self.span.fps
        return marks.lingering(self.timeline, time, before, marks.LINGER, self.span.speed)


class Scenery2D:
    """Bodies and boundaries as primitives in a window, which may move; the caption lies over it."""

    top = 0  # the first row of pixels of the picture

    def __init__(self, timeline: Timeline, look: Look, span: Span) -> None:
        self._world = timeline.run.world
        self._radius = float(np.median(self._world.shapes.radius))
        self._window = self._window_of(timeline, look, span)

    def _window_of(self, timeline: Timeline, look: Look, span: Span) -> Window | MovingWindow:
        area = picture_area(Page(*look.size), look.caption)
        asked = camera_option_2d(look.camera, self._world.count)
        if asked.follow:
            return following(timeline, area, asked.body)
        if asked.center is not None:
            return window_on(area, asked.center, asked.width, asked.width * area.height / area.width)
        if asked.zoom:
            return zooming(timeline, area, span.start, span.stop)
        samples = TRAIL_SAMPLES if look.trails else SAMPLES_2D
        return fitted(timeline, area, span.start, span.stop, asked.everything, samples)

    def add(self, page: Page, instant: Instant) -> marks.Project:
        """Adds the primitives of one instant to a page; returns the map from points of the run to pixels."""
        world, state = self._world, instant.state
        window = self._window.at(instant.time) if isinstance(self._window, MovingWindow) else self._window
        low, high = window.places(np.array([[0.0, page.height], [page.width, 0.0]]))
        unit = page.height / 1080.0
        line, edge = max(THIN_LINE, LINE * unit), max(THIN_EDGE, EDGE * unit)
        view = View2D(low, high, window.scale, line, edge, SMALL * unit)
        width = marks.trail_width(self._radius * window.scale, page.height)
        trails = marks.trails(instant.tracks, instant.traced, lambda places: places, width, window.scale)
        boundaries = boundaries_at(world, state.time, 1e-6)[0]
        fill = instant.colors if instant.tracks is None else marks.paler(instant.colors)
        shapes = world_shapes(world, state, boundaries, fill, view)
        page.add(*(mapped(shape, window) for shape in (*shapes, *trails)))
        return window.pixels

    def highest(self, state: State, project: marks.Project) -> float:
        """The top of all bodies in pixels; infinite if the picture lies below the caption."""
        top = state.position + np.stack([np.zeros(self._world.count), self._world.shapes.radius], axis=1)
        return float(project(top[state.present])[:, 1].min(initial=np.inf))


class Scenery3D:
    """A picture by the ray caster, below the caption."""

    def __init__(self, timeline: Timeline, look: Look, span: Span) -> None:
        self._run = timeline.run
        self._radius = float(np.median(self._run.world.shapes.radius))
        area = picture_area(Page(*look.size), look.caption)
        self.top = round(area.top)
        aspect = look.size[0] / round(area.height)
        samples = TRAIL_SAMPLES if look.trails else SAMPLES_3D
        asked = camera_option_3d(look.camera)
        self._kept = Kept()
        self._shot = shot(timeline, asked, aspect, (span.start, span.stop), span.speed, samples)

    def add(self, page: Page, instant: Instant) -> marks.Project:
        world, camera = self._run.world, self._shot.at(instant.time)
        look = RayLook(rows=page.height - self.top)
        picture = render(world, instant.state, instant.colors / 255.0, camera, look, self._run.scene, self._kept)
        view = PageView(picture, camera, self.top)
        width = marks.trail_width(self._radius * view.scale_at(self._shot.target), page.height)
        page.add(Image(view.picture.pixels, self.top))
        page.add(*marks.trails(instant.tracks, instant.traced, view.project_visible, width))
        return view.project

    def highest(self, state: State, project: marks.Project) -> float:
        return np.inf


@dataclass(frozen=True, eq=False)
class PageView:
    """A 3D picture on a page, from row `top` on, and the map from points to its pixels."""

    picture: Picture
    camera: Camera
    top: int

    def scale_at(self, place: Floats) -> float:
        """Pixels per length unit across the view at the depth of a point."""
        depth = float((place - self.camera.eye) @ self.camera.forward)
        return self.picture.depth.shape[0] / (2.0 * self.camera.field * depth) if depth > 0.0 else 0.0

    def project(self, places: Floats) -> Floats:
        """Points (..., 3) as pixels (..., 2) of the page; NaN behind the camera."""
        return self._projected(places)[0].reshape(*places.shape[:-1], 2)

    def project_visible(self, places: Floats) -> Floats:
        """The same; points that bodies hide are NaN as well."""
        out, depth = self._projected(places)
        seen: NDArray[np.float32] = self.picture.depth
        finite = np.nan_to_num(out, nan=-1.0)
        j = np.clip(finite[:, 0].astype(int), 0, seen.shape[1] - 1)
        i = np.clip((finite[:, 1] - self.top).astype(int), 0, seen.shape[0] - 1)
        out[depth > 1.002 * seen[i, j]] = np.nan
        return out.reshape(*places.shape[:-1], 2)

    def _projected(self, places: Floats) -> tuple[Floats, Floats]:
        rows, columns = self.picture.depth.shape
        x, y, depth = self.camera.project(places.reshape(-1, 3)).T
        out = np.stack([columns * x, self.top + rows * y], axis=1)
        out[~(depth > 0.0)] = np.nan
        return out, depth
