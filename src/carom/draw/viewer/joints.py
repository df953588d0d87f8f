"""Rods, ropes, springs and axes of a frame on the page, as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from ...trajectory import Trajectory
from ..joints import drawn_joints
from .layout import Layout

COLOR = (60, 30, 20)
WIDTH = 2.5  # pixels
LIFT = {2: 0.7, 3: 0.0}  # distance toward the viewer, in median radii: in 2D lines are in front of the bodies


class JointLines:
    """The scene node of the joints of one run; none for runs without joints."""

    def __init__(self, server: Any, name: str, run: Trajectory, layout: Layout, number: int) -> None:
        self._server, self._name, self._layout, self._number = server, f"{name}/joints", layout, number
        self._lift = LIFT[run.dimension] * float(np.median(run.geometry["radius"])) * layout.scale
        self._node: Any = None
        self._count = 0
        try:
            self._jointed = run.world.joints is not None
        except ProblemError:  # the scene contains a Python function, which a file does not store
            self._jointed = False

    def show(self, run: Trajectory, index: int) -> None:
        """The lines of a frame."""
        if not self._jointed:
            return
        lines = self._segments(run, index)
        if self._node is not None and len(lines) == self._count:
            self._node.points = lines
            return
        if self._node is not None:  # a rope has become slack or taut: another number of pieces
            self._node.remove()
        self._count = len(lines)
        self._node = None
        if len(lines):
            self._node = self._server.scene.add_line_segments(
                self._name, lines, COLOR, thickness=WIDTH, thickness_units="screen"
            )

    def _segments(self, run: Trajectory, index: int) -> Floats:
        """Ends (k, 2, 3) of all straight pieces."""
        found = drawn_joints(run.world, run.frame(index)).lines
        pieces = [np.stack([line[:-1], line[1:]], axis=1) for line in found]
        ends = np.concatenate([np.zeros((0, 2, run.dimension)), *pieces])
        placed = self._layout.placed(ends.reshape(-1, run.dimension), self._number, self._lift)
        return placed.reshape(-1, 2, 3).astype(np.float32)
