"""Contact points, impacts and impulses of a frame on the page, as dots, flashes and arrows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...solvers.rows import Floats
from ...stepping.events import IMPACT
from ...stepping.report import ContactImpulses
from ...trajectory import Trajectory
from ..colors import TOUCHING
from ..marks import impulse_vectors
from . import tone
from .layout import SIZE, Layout, in_3d

MOST = 3_000  # largest number of dots, flashes and arrows; the largest impulses are kept
FLASH = (255, 196, 0)
DOT, ARROW = (20, 24, 32), np.array([[196, 44, 44]], np.uint8)
SAMPLES = 40  # frames from which the scale of arrows is taken
QUANTILE = 0.9  # of the impulses of a run, which is the typical impulse
TYPICAL = 1.8  # length of the arrow of the typical impulse, in median radii; lengths grow with the root of impulses
LIFT = {2: 0.6, 3: 0.0}  # distance of marks toward the viewer, in median radii: 2D marks are in front of the bodies
LONGEST = 2.5  # longest arrow, relative to that length
LARGEST = 0.05 * SIZE  # largest radius by which dots and arrows are scaled, so that they do not hide large bodies


def contact_points(run: Trajectory, index: int) -> Floats:
    """Contact points (m, D) of a frame: the recorded ones, or those that contact detection finds."""
    recorded = run.impulses(index)
    if recorded is not None and index > 0:
        return recorded.point
    from ...contact.detector import find_contacts

    state, world = run.frame(index), run.world
    return np.asarray(find_contacts(world, state, state, TOUCHING * world.length_scale).point)


def impact_points(run: Trajectory, index: int) -> Floats:
    """Points (m, D) of the impacts since the frame before, the strongest first."""
    if index == 0 or run.events is None:
        return np.zeros((0, run.dimension))
    kind, step = (np.asarray(run.events[name]) for name in ("kind", "step"))
    found = run.events[(kind == IMPACT) & (step > run.step[index - 1]) & (step <= run.step[index])]
    return np.asarray(found["point"])[np.argsort(-np.linalg.norm(found.impulse, axis=1), kind="stable")]


def typical_impulse(run: Trajectory) -> float:
    """The QUANTILE of the impulses over a sample of the frames; 0 if there are none."""
    sizes = []
    for i in np.unique(np.linspace(0, len(run) - 1, min(SAMPLES, len(run))).round().astype(int)).tolist():
        found = run.impulses(i)
        if found is not None and len(found.normal_impulse):
            sizes.append(np.linalg.norm(impulse_vectors(found), axis=1))
    whole = np.concatenate([np.zeros(0), *sizes])
    whole = whole[whole > 0.0]
    return float(np.quantile(whole, QUANTILE)) if len(whole) else 0.0


class ContactMarks:
    """The scene nodes of the dots, flashes and arrows of one run."""

    def __init__(self, server: Any, name: str, run: Trajectory, layout: Layout, number: int) -> None:
        self._server, self._name, self._layout, self._number = server, name, layout, number
        self._radius = min(layout.scale * float(np.median(run.geometry["radius"])), LARGEST)
        self._typical: float | None = None
        self._clouds: dict[str, Any] = {}  # handles of dots and flashes
        self._arrows: Any = None

    def show_dots(self, run: Trajectory, index: int | None) -> None:
        """The contact points of a frame; None removes them."""
        points = np.zeros((0, run.dimension)) if index is None else contact_points(run, index)
        self._show_cloud("contacts", run, points, {"colors": DOT, "point_size": 0.16 * self._radius})

    def show_flashes(self, run: Trajectory, index: int | None) -> None:
        """The impacts since the frame before; None removes them."""
        points = np.zeros((0, run.dimension)) if index is None else impact_points(run, index)
        look = {"colors": FLASH, "point_size": 0.7 * self._radius, "point_shape": "sparkle"}
        self._show_cloud("impacts", run, points, look)

    def _show_cloud(self, name: str, run: Trajectory, points: Floats, look: dict[str, Any]) -> None:
        place = self._layout.placed(points[:MOST], self._number, self._lift(run)).astype(np.float32)
        if not len(place):
            _remove(self._clouds.pop(name, None))
        elif name in self._clouds:
            self._clouds[name].points = place
        else:
            style = {"point_shape": "circle", "point_shading": "flat", "precision": "float32"} | look
            self._clouds[name] = self._server.scene.add_point_cloud(f"{self._name}/{name}", place, **style)

    def show_arrows(self, run: Trajectory, index: int | None) -> None:
        """The impulses of the step that led to a frame; None removes them."""
        found = None if index is None else run.impulses(index)
        lines = self._lines(run, found) if found is not None else np.zeros((0, 2, 3))
        if not len(lines):
            _remove(self._arrows)
            self._arrows = None
        elif self._arrows is None:
            thick = 0.07 * self._radius
            self._arrows = self._server.scene.add_arrows(
                f"{self._name}/impulses",
                lines,
                tone.lit(ARROW)[0],
                shaft_radius=thick,
                head_radius=2.6 * thick,
                head_length=5.5 * thick,
            )
        else:
            self._arrows.points = lines

    def _lines(self, run: Trajectory, found: ContactImpulses) -> Floats:
        """Tails and tips (m, 2, 3) of at most MOST arrows, the largest impulses first; tails are contact points."""
        if self._typical is None:
            self._typical = typical_impulse(run)
        push = impulse_vectors(found)
        size = np.linalg.norm(push, axis=1)
        shown = np.flatnonzero(size > 1e-3 * (self._typical or 1.0))
        shown = shown[np.argsort(-size[shown], kind="stable")][:MOST]
        length = TYPICAL * self._radius * np.minimum(np.sqrt(size[shown] / (self._typical or 1.0)), LONGEST)
        tail = self._layout.placed(found.point[shown], self._number, self._lift(run))
        way = push[shown] / size[shown, None]
        return np.stack([tail, tail + length[:, None] * in_3d(way)], axis=1).astype(np.float32)

    def _lift(self, run: Trajectory) -> float:
        return LIFT[run.dimension] * self._radius


def _remove(handle: Any) -> None:
    if handle is not None:
        handle.remove()
