"""One place that knows a run and how it is to look, and makes the picture of any instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..trajectory import Trajectory
from ..world import State
from . import marks
from . import picture2d as plane
from . import picture3d as space
from .camera_option import plane_camera, space_camera
from .caption import caption_of, picture_area, plate
from .colors import Bytes, Coloring
from .framing import Moving, Window, fitted, following, window_on, zooming
from .layers import Page
from .raster import painted
from .timeline import Timeline

SMALLEST, LARGEST = 64, 7680
TAIL = 1.5  # seconds of a film that a trail lasts


@dataclass(frozen=True)
class Look:
    """How pictures look; what none of these says is the same for all."""

    size: tuple[int, int] = (1920, 1080)
    color: str = "speed"
    map: str = "soft"
    camera: str = "fit"
    trails: bool = False
    impulses: bool = False
    caption: bool = True
    title: str | None = None  # None: the scene's name

    def __post_init__(self) -> None:
        wide, tall = self.size
        if not (SMALLEST <= wide <= LARGEST and SMALLEST <= tall <= LARGEST):
            raise ProblemError("--size", f"{wide}x{tall}", f"WIDTHxHEIGHT, from {SMALLEST} to {LARGEST} pixels each")


@dataclass(frozen=True)
class Span:
    """The part of a run that is shown, and how fast: `speed` time units a second."""

    start: float
    stop: float
    speed: float = 1.0
    fps: float = 30.0

    @property
    def still(self) -> bool:
        return not self.stop > self.start


class Studio:
    """Makes pictures of a run.

    `sketch(time)` reads the file, and belongs to one thread; what it returns makes the page, takes most of the time,
    and may be called in any thread.
    """

    def __init__(self, run: Trajectory, look: Look, span: Span) -> None:
        self.run, self.look, self.span = run, look, span
        self.coloring = Coloring.of(run, look.color, look.map)
        self.timeline = Timeline(run)
        sheet = Page(*look.size)
        self._area = picture_area(sheet, look.caption)
        self._window = self._plane_window() if run.dimension == 2 else self._space_shot()
        frames = range(self.timeline.nearest(span.start), self.timeline.nearest(span.stop) + 1)
        self._impulses = marks.Impulses(run, frames) if look.impulses else None
        self._caption = caption_of(run, self.coloring, look.title) if look.caption else None
        _ = self.coloring.range  # samples the whole run, here and not in a thread
        self._free, self._radius = run.world.free, float(np.median(run.world.shapes.radius))
        self._colors: tuple[int, Bytes] | None = None

    def _plane_window(self) -> Window | Moving:
        asked = plane_camera(self.look.camera, self.run.count)
        if asked.follow:
            return following(self.timeline, self._area, asked.body)
        if asked.center is not None:
            tall = asked.width * self._area.height / self._area.width
            return window_on(self._area, asked.center, asked.width, tall)
        start, stop = self.span.start, self.span.stop
        if asked.zoom:
            return zooming(self.timeline, self._area, start, stop)
        return fitted(self.timeline, self._area, start, stop, asked.everything)

    def _space_shot(self) -> space.Shot:
        asked, span = space_camera(self.look.camera), self.span
        aspect = self.look.size[0] / round(self._area.height)
        return space.shot(self.timeline, asked, aspect, span.start, span.stop, span.speed)

    def picture(self, time: float) -> Bytes:
        """(height, width, 3)"""
        return painted(self.sketch(time)())

    def sketch(self, time: float) -> Callable[[], Page]:
        """Reads everything about an instant; what it returns makes the page."""
        moment = self.timeline.at(time)
        colors, page = self._rgb(moment.frame), Page(*self.look.size)
        words = [] if self._caption is None else self._caption.layers(page, time)
        tail = self._tail(time)
        tracks = self.timeline.tracks(tail, time, self._points()) if self.look.trails and time > tail else None
        pushes = [] if self._impulses is None else self._impulses.read(self._pushing(time))

        def make() -> Page:
            if isinstance(self._window, space.Shot):
                camera = self._window.at(time)
                view = space.View.of(self.run.world, self.run.scene, moment.state, colors, camera, page, self._area)
                width = marks.trail_width(self._radius * view.scale_at(self._window.target), page.height)
                page.add(view.picture, *marks.trails(tracks, self._free, colors, view.project_seen, width))
                project = view.project
            else:
                window = self._window.at(time) if isinstance(self._window, Moving) else self._window
                project, width = window.pixels, marks.trail_width(self._radius * window.scale, page.height)
                trails = marks.trails(tracks, self._free, colors, project, width)
                plane.add_world(page, self.run.world, moment.state, colors, window, trails)
            if self._impulses is not None:
                page.add(*self._impulses.arrows(pushes, project, page.height))
            if words:
                page.add(*plate(page, self._highest(moment.state, project)), *words)
            return page

        return make

    def _highest(self, state: State, project: marks.Project) -> float:
        """The top of all bodies of the plane, in pixels; space is drawn below the caption."""
        if self.run.dimension == 3:
            return np.inf
        top = state.position + np.stack([np.zeros(self.run.count), self.run.world.shapes.radius], axis=1)
        return float(project(top)[:, 1].min())

    def _rgb(self, frame: int) -> Bytes:
        """Colors of a frame; the last ones are kept, because a slow film shows each frame several times."""
        if self._colors is None or self._colors[0] != frame:
            self._colors = frame, self.coloring.rgb(frame)
        return self._colors[1]

    def _tail(self, time: float) -> float:
        """When trails start: in a film some time ago, in a still at the start of the run."""
        return self.timeline.start if self.span.still else max(self.span.start, time - TAIL * self.span.speed)

    def _points(self) -> int:
        return marks.LONG_POINTS if self.span.still else marks.POINTS

    def _pushing(self, time: float) -> list[tuple[int, float]]:
        if self.span.still:
            return [(self.timeline.nearest(time), 1.0)]
        before = time - self.span.speed / self.span.fps
        return marks.lingering(self.timeline, time, before, marks.LINGER, self.span.speed)
