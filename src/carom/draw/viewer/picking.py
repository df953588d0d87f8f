"""Bodies that are clicked: the first body along a ray, and what the page tells about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ProblemError
from ...geometry import rotations
from ...shown import counted
from ...solvers.rows import Floats, Ints
from ...trajectory import Trajectory
from ..colors import TOUCHING, speed
from ..meshes import Mesh
from .layout import Layout

LISTED = 6  # contacts that are named; the others are counted


def first_hit(mesh: Mesh | None, place: Floats, turn: Floats | None, size: Floats, ray: Floats) -> tuple[float, int]:
    """Distance and number of the first instance that a ray meets; infinity and -1 if it meets none.

    Instances (k) have positions, quaternions, None for no rotation, and sizes; without a mesh they are balls. The ray
    (2, 3) is its start and its direction, a unit vector.
    """
    start, way = ray
    arm = place - start
    along = arm @ way
    off = (arm**2).sum(axis=1) - along**2
    reach = size * (1.0 if mesh is None else float(np.linalg.norm(mesh.vertices, axis=1).max()))
    best = (np.inf, -1)
    for i in np.flatnonzero(off <= reach**2).tolist():
        if mesh is None:
            found = float(along[i] - np.sqrt(size[i] ** 2 - off[i]))
        else:
            back = np.array([1.0, 0.0, 0.0, 0.0]) if turn is None else turn[i] * [1.0, -1.0, -1.0, -1.0]
            own = rotations.turned(np.tile(back, (2, 1)), np.stack([-arm[i], way]).astype(np.float64)) / size[i]
            found = _first_triangle(mesh.vertices[mesh.faces].astype(np.float64), own[0], own[1])
        if 0.0 < found < best[0]:
            best = (found, i)
    return best


def _first_triangle(corners: Floats, start: Floats, way: Floats) -> float:
    """The smallest t > 0 at which start + t way lies in a triangle (f, 3, 3), by Moeller and Trumbore."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, two)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1.0 / (one * across).sum(axis=1)
        arm = start - corners[:, 0]
        u = factor * (arm * across).sum(axis=1)
        turned = np.cross(arm, one)
        v = factor * (turned @ way)
        t = factor * (turned * two).sum(axis=1)
        inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)
    return float(t[inside].min(initial=np.inf))


def facts_of(run: Trajectory, frame: int, body: int) -> list[str]:
    """Speed and contacts of a body in a frame, each as a few words."""
    out = [f"speed {speed(run, frame)[body]:.3g}"]
    try:
        partners = _partners(run, frame, body)
    except ProblemError:  # the scene contains a Python function, which a file does not store
        return out
    if not len(partners):
        return [*out, "no contacts"]
    names = [f"body {k}" if k >= 0 else f"boundary {-1 - k}" for k in np.unique(partners)[::-1].tolist()]
    more = [f"{len(names) - LISTED} more"] if len(names) > LISTED else []
    count = counted(len(partners), "contact")
    return [*out, f"{count} with {', '.join(names[:LISTED] + more)}"]


def _partners(run: Trajectory, frame: int, body: int) -> Ints:
    """The other body of each contact of a body, or -1 - k for boundary k."""
    from ...contact.detector import find_contacts

    state, world = run.frame(frame), run.world
    found = find_contacts(world, state, state, TOUCHING * world.length_scale)
    return np.concatenate([found.second[found.first == body], found.first[found.second == body]])


class Tag:
    """The label on the page beside the body that is chosen."""

    def __init__(self, server: Any, layout: Layout) -> None:
        self._server, self._layout = server, layout
        self._handle: Any = None

    def show(self, run: Trajectory, frame: int, body: int, number: int, text: str) -> None:
        """Puts the text above a body of run `number`."""
        up = self._layout.box.up
        place = self._layout.placed(run.positions[frame][[body]], number)[0]
        place = place + self._layout.scale * float(run.geometry["radius"][body]) * up
        self.hide()
        self._handle = self._server.scene.add_label(
            "/chosen", text, position=place, anchor="bottom-center", depth_test=False
        )

    def hide(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
