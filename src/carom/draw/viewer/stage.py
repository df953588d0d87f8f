"""One run on the page: its bodies, boundaries, contacts and name, at one time and in one kind of colors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError
from ..colors import QUANTITIES, Coloring
from ..containers import container_tops
from .bodies import Bodies
from .contact_marks import ContactMarks
from .flat_walls import flat_walls
from .frames import Frames
from .framing import Layout
from .room_walls import barriers_of, room_walls
from .wall import Boundaries, Wall


class Stage:
    """The nodes of run `number`. Only one thread may show things."""

    def __init__(self, server: Any, frames: Frames, layout: Layout, number: int, title: str | None) -> None:
        self.frames = frames
        self.shown = -1  # the frame that is on the page
        name, run = f"/run{number}", frames.run
        self._bodies = Bodies(server, name, run, layout, number)
        self._walls = Boundaries(server, name, walls_of(frames, layout, number), layout, number)
        self._marks = ContactMarks(server, name, run, layout, number)
        self.coloring = Coloring.of(run, "body")
        self.dots = self.arrows = False
        self._dotted = False
        if title is not None:
            server.scene.add_label(
                f"{name}/title", title, position=layout.title(number), anchor="bottom-center", font_screen_scale=1.25
            )

    def paint_by(self, quantity: str, limits: tuple[float, float] | None) -> None:
        """Chooses what colors tell; `limits` None means the run's own."""
        self.coloring = Coloring(self.frames.run, QUANTITIES[quantity], limits=limits)
        self.shown = -1

    def show(self, time: float) -> bool:
        """Brings the page to a time; whether that changed anything."""
        index = self.frames.index_at(time)
        if index == self.shown:
            return False
        frame = self.frames.at(index)
        self._bodies.show(frame, self._colors(frame.number))
        self._walls.show(frame.walls)
        self._show_marks(frame.number)
        self.shown = index
        return True

    def _colors(self, index: int) -> Any:
        if self.coloring.run is not self.frames.run:  # the file has grown, and was opened again
            old = self.coloring
            self.coloring = Coloring(self.frames.run, old.quantity, old.map, old.limits)
        return self.coloring.rgb(index)

    def _show_marks(self, index: int) -> None:
        run = self.frames.run
        self._bodies.faint(run.dimension == 3 and (self.dots or self.arrows))
        if self.dots or self._dotted:
            self._marks.show_dots(run, index if self.dots else None)
            self._dotted = self.dots
        self._marks.show_arrows(run, index if self.arrows else None)


def walls_of(frames: Frames, layout: Layout, number: int) -> list[Wall]:
    """The boundaries of a run, where they are at time 0. A floor without walls is drawn once for all runs."""
    run = frames.run
    moving = not isinstance(run.boundary_poses, np.ndarray)
    if run.dimension == 2:
        try:
            periodic = run.world.periodic
        except ProblemError:  # the scene holds a Python function, which no file keeps
            periodic = None
        return flat_walls(run.geometry, layout.box, moving, periodic)
    ground = layout.ground if number == 0 else None
    return room_walls(barriers_of(run.geometry), layout.box, container_tops(run.scene, 0.0), moving, ground)
