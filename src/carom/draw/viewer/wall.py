"""One boundary on the page: a mesh that stands still or follows the boundary's motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...geometry import rotations
from ...solvers.rows import Floats
from . import tone
from .framing import Layout
from .shape_meshes import Mesh

Color = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Wall:
    """A mesh in the run's lengths about `center`, the point about which boundary `number` turns; -1 for none."""

    number: int
    mesh: Mesh
    color: Color
    center: Floats  # (3,)
    opacity: float | None = None
    shaded: bool = False  # receives shadows


class Boundaries:
    """The nodes of one run's boundaries."""

    def __init__(self, server: Any, name: str, walls: Sequence[Wall], layout: Layout, number: int) -> None:
        self._layout, self._number, self._walls = layout, number, list(walls)
        self._poses: Floats | float = 0.0
        # One instance each: instances take colors that can be told exactly.
        self._handles = [
            server.scene.add_batched_meshes_simple(
                f"{name}/wall{k}",
                (layout.scale * w.mesh.vertices).astype(np.float32),
                w.mesh.faces,
                np.array([[1.0, 0.0, 0.0, 0.0]]),
                layout.placed(w.center[None], number),
                batched_colors=tone.lit(np.array([w.color], np.uint8)),
                opacity=w.opacity,
                lod="off",
                cast_shadow=False,
                receive_shadow=w.shaded,
            )
            for k, w in enumerate(self._walls)
        ]

    def show(self, poses: Floats) -> None:
        """Moves the boundaries by their poses (w, 3), in space (w, 6)."""
        if np.array_equal(poses, np.broadcast_to(self._poses, poses.shape)):
            return
        self._poses = poses
        shift, turn = _displacements(poses)
        for wall, handle in zip(self._walls, self._handles):
            if wall.number >= 0:
                place = wall.center + shift[wall.number]
                handle.batched_positions = self._layout.placed(place[None], self._number)
                handle.batched_wxyzs = turn[wall.number][None]


def _displacements(poses: Floats) -> tuple[Floats, Floats]:
    """Shifts (w, 3) and quaternions (w, 4)."""
    if poses.shape[1] == 6:
        return poses[:, :3], rotations.of_vector(np.ascontiguousarray(poses[:, 3:]))
    zero = np.zeros(len(poses))
    half = 0.5 * poses[:, 2]
    return np.column_stack([poses[:, :2], zero]), np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)
