"""One run on the page: its bodies, boundaries, contacts and title."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from ..colors import QUANTITIES, Coloring
from ..world3d import container_tops
from .bodies import Bodies
from .boundaries import BoundaryMesh, BoundaryNodes, meshes_2d, meshes_3d
from .contacts import ContactMarks
from .joints import JointLines
from .layout import Layout, boundaries_of
from .runs import Frames


class Stage:
    """The scene nodes of run `number`. Only one thread may use it."""

    def __init__(self, server: Any, frames: Frames, layout: Layout, number: int, title: str | None) -> None:
        self.frames = frames
        self.shown = -1  # index of the frame on the page
        name, run = f"/run{number}", frames.run
        self._bodies = Bodies(server, name, run, layout, number)
        self._boundaries = BoundaryNodes(server, name, boundary_meshes(frames, layout, number), layout, number)
        self._marks = ContactMarks(server, name, run, layout, number)
        self._joints = JointLines(server, name, run, layout, number)
        self.coloring = Coloring.of(run, "body")
        self.dots = self.arrows = self.flashes = False
        self._dotted = False
        if title is not None:
            server.scene.add_label(
                f"{name}/title", title, position=layout.title(number), anchor="bottom-center", font_screen_scale=1.25
            )

    def paint_by(self, quantity: str, limits: tuple[float, float] | None) -> None:
        """Selects the quantity that colors show; `limits` None means those of the run."""
        self.coloring = Coloring(self.frames.run, QUANTITIES[quantity], limits=limits)
        self.shown = -1

    def hit(self, ray: Floats) -> tuple[float, int]:
        """Distance and number of the first body that a ray (2, 3) of the page meets."""
        return self._bodies.hit(ray)

    def show(self, time: float) -> bool:
        """Shows the frame at a time; returns whether the page changed."""
        index = self.frames.index_at(time)
        if index == self.shown:
            return False
        frame = self.frames.at(index)
        self._bodies.show(frame, self._colors(frame.number))
        self._boundaries.show(frame.boundaries)
        self._joints.show(self.frames.run, frame.number)
        self._show_marks(frame.number)
        self.shown = index
        return True

    def _colors(self, index: int) -> Any:
        if self.coloring.run is not self.frames.run:  # the file has grown and was opened again
            old = self.coloring
            self.coloring = Coloring(self.frames.run, old.quantity, old.map, old.limits)
        return self.coloring.rgb(index)

    def _show_marks(self, index: int) -> None:
        run = self.frames.run
        self._bodies.faint(run.dimension == 3 and (self.dots or self.arrows))
        if self.dots or self._dotted:
            self._marks.show_dots(run, index if self.dots else None)
            self._dotted = self.dots
        self._marks.show_flashes(run, index if self.flashes else None)
        self._marks.show_arrows(run, index if self.arrows else None)


def boundary_meshes(frames: Frames, layout: Layout, number: int) -> list[BoundaryMesh]:
    """The boundaries of a run at time 0. A ground without other planes is drawn once for all runs."""
    run = frames.run
    moving = not isinstance(run.boundary_poses, np.ndarray)
    if run.dimension == 2:
        try:
            periodic = run.world.periodic
        except ProblemError:  # the scene contains a Python function, which a file does not store
            periodic = None
        return meshes_2d(boundaries_of(frames), layout.box, moving, periodic)
    ground = layout.ground if number == 0 else None
    return meshes_3d(boundaries_of(frames), layout.box, container_tops(run.scene, 0.0), moving, ground)
