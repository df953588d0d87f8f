"""The bodies of a run on the page: one instanced mesh per shape; each frame sends poses and colors only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...solvers.rows import Floats, Ints
from ...trajectory import Trajectory
from ...world import Shapes3D
from .. import meshes
from ..drawables import COLUMNS, UNTURNED, Drawable, drawables_2d, drawables_3d
from ..meshes import Mesh
from ..raycast.visible import enclosing, placed_parts
from . import tone
from .layout import Layout
from .look import lamp_of
from .picking import first_hit
from .runs import Frame

Bytes = NDArray[np.uint8]

# Numbers of bodies that select how they are drawn.
POINTS = 4_000  # more round bodies than this are drawn as points, which are fast without a graphics processor
LAYERED = 40_000  # up to this number, points have a dark edge: larger points behind them
MARKED = 3_000  # up to this number, rotation is shown
SHADOWS = {2: 0, 3: 4_000}  # up to this number, bodies cast shadows
SHADING = {2: "flat", 3: "gradient"}  # of points
BELTED = 120  # up to this number, balls have rings that show their rotation
PIECE = 40_000  # instances of one node; above 50,000 viser rebuilds a search tree in every frame

EDGE = {2: 0.80, 3: 0.55}  # shade of the dark edge; in 2D a darker one would flicker around discs of a few pixels
INNER, LIFT = 0.80, 0.30  # radius of the bright part, and its distance toward the lamp, relative to the radius
CLASSES = 12  # number of different sizes of points
FAINT, GLASS = 0.35, 0.3  # opacity of all bodies while contacts are shown, and of bodies that enclose others
BELT = np.array([[96, 102, 112]], np.uint8)


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one mesh, or points: the body of each, and its pose in the frame of that body."""

    mesh: Mesh | None  # None for points
    body: Ints  # (k,)
    scale: Floats | None = None  # (k,) factors, None for 1
    place: Floats | None = None  # (k, 3) in the frame of the body, None for its origin
    turn: Floats | None = None  # (k, 4) quaternions, None for no rotation
    turns: bool = True  # whether its orientation is visible
    glass: bool = False
    belt: bool = False  # drawn in one dark color
    shade: float = 1.0  # of points: a factor of their colors
    lift: float = 0.0  # of points: their distance toward the lamp, relative to their radius

    def pieces(self) -> Iterator[Batch]:
        for start in range(0, len(self.body), PIECE):
            cut = slice(start, start + PIECE)
            scale, place, turn = (None if c is None else c[cut] for c in (self.scale, self.place, self.turn))
            yield replace(self, body=self.body[cut], scale=scale, place=place, turn=turn)


# ---- batches


def batches_of(run: Trajectory) -> list[Batch]:
    """All shapes of a run in batches."""
    return [piece for batch in _BATCHES[run.dimension](run) for piece in batch.pieces()]


def _batches_2d(run: Trajectory) -> Iterator[Batch]:
    turns = run.count <= MARKED and _turns(run)
    for found in drawables_2d(*(run.geometry[name] for name in COLUMNS)):
        if found.corners is not None:
            yield Batch(meshes.coin(found.corners), found.body)
            continue
        assert found.radius is not None
        count = len(found.body)
        if count > POINTS:
            yield from _points(found.body, found.radius, 2)
        else:
            segments = 72 if count <= 500 else 40 if count <= 4_000 else 20
            yield Batch(meshes.disc(segments, turns), found.body, found.radius, turns=turns)


def _turns(run: Trajectory) -> bool:
    """Whether bodies of the run rotate: its frames contain spins."""
    return bool(np.ndim(run.spins) and not isinstance(run.spins, np.ndarray))


def _points(bodies: Ints, radius: Floats, dimension: int) -> Iterator[Batch]:
    """Round bodies as points, in classes of about equal radius: a dark point and a smaller bright one in front."""
    sizes = np.unique(radius)
    if len(sizes) > CLASSES:
        sizes = np.quantile(radius, (np.arange(CLASSES) + 0.5) / CLASSES)
    nearest = np.abs(radius[:, None] - sizes).argmin(axis=1)
    layers: tuple[tuple[float, float, float], ...] = ((1.0, EDGE[dimension], 0.0), (INNER, 1.0, LIFT))
    if len(bodies) > LAYERED:
        layers = ((1.0, 1.0, 0.0),)
    for k, size in enumerate(sizes):
        chosen = bodies[nearest == k]
        for part, shade, lift in layers:
            yield Batch(None, chosen, np.full(len(chosen), part * size), turns=False, shade=shade, lift=lift)


def _batches_3d(run: Trajectory) -> Iterator[Batch]:
    shapes: Shapes3D = run.world.shapes_3d
    glass = np.zeros(run.count, bool)
    if run.count <= MARKED:
        state = run.frame(0)
        glass[enclosing(shapes, state, placed_parts(shapes, state))] = True
    for hollow in (False, True):
        for found in drawables_3d(shapes, glass == hollow):
            if found.radius is not None:
                yield from _balls(run, found, hollow)
            else:
                mesh = meshes.shape_mesh(run.world, run.scene, found.shape)
                yield Batch(mesh, found.body, None, *_within(found), True, hollow)


_BATCHES = {2: _batches_2d, 3: _batches_3d}


def _balls(run: Trajectory, found: Drawable, glass: bool) -> Iterator[Batch]:
    radius, count = found.radius, len(found.body)
    assert radius is not None
    place, turn = _within(found)
    if count > POINTS and place is None:
        yield from _points(found.body, radius, 3)
        return
    level = 4 if count <= 60 else 3 if count <= 800 else 2 if count <= 6_000 else 1
    yield Batch(meshes.sphere(level), found.body, radius, place, turn, False, glass)
    if count <= BELTED and place is None and not glass and run.world.turns:
        yield Batch(meshes.belt(), found.body, radius, turns=True, belt=True)


def _within(found: Drawable) -> tuple[Floats | None, Floats | None]:
    """Positions and rotations of parts in their bodies; None where all are zero."""
    at = found.place if found.place.any() else None
    return at, found.turn if (found.turn != UNTURNED).any() else None


# ---- scene nodes


class Bodies:
    """The scene nodes of the bodies of one run."""

    def __init__(self, server: Any, name: str, run: Trajectory, layout: Layout, number: int) -> None:
        self._server, self._layout, self._number = server, layout, number
        self._lamp = lamp_of(layout)
        self._batches = batches_of(run)
        self._shadow = run.count <= SHADOWS[run.dimension]
        self._names = [f"{name}/bodies{k}" for k in range(len(self._batches))]
        self._handles: list[Any] = []
        self._pose: tuple[Floats, Floats] | None = None  # positions on the page and orientations that are shown
        self._present: np.ndarray | None = None  # (n,) which bodies are there; None for all
        self._faint = False

    def show(self, frame: Frame, colors: Bytes) -> None:
        """Moves and colors all bodies. `colors` (n, 3): sRGB bytes, one per body."""
        position = self._layout.placed(frame.position, self._number)
        self._pose, self._present = (position, frame.orientation), frame.present
        if not self._handles:
            self._handles = [None] * len(self._batches)
        for k, batch in enumerate(self._batches):
            if batch.mesh is None:
                self._show_points(k, batch, position, colors)
            else:
                self._show_meshes(k, batch, position, frame.orientation, colors)

    def _show_points(self, k: int, batch: Batch, position: Floats, colors: Bytes) -> None:
        assert batch.scale is not None
        size = float(self._layout.scale * batch.scale[0])
        bodies = batch.body if self._present is None else batch.body[self._present[batch.body]]
        place = (position[bodies] + batch.lift * size * self._lamp).astype(np.float32)
        paint = colors[bodies]
        if batch.shade != 1.0:
            paint = (batch.shade * paint).astype(np.uint8)
        if self._handles[k] is not None:
            self._handles[k].points, self._handles[k].colors = place, paint
            return
        self._handles[k] = self._server.scene.add_point_cloud(
            self._names[k],
            place,
            paint,
            point_size=size,
            point_shape="circle",
            point_shading="flat" if batch.lift else SHADING[self._layout.box.dimension],
            precision="float32",
        )

    def _show_meshes(self, k: int, batch: Batch, position: Floats, orientation: Floats, colors: Bytes) -> None:
        place, turn = _posed(batch, position, orientation, self._layout.scale)
        paint = tone.lit(BELT if batch.belt else colors[batch.body])
        handle = self._handles[k]
        if handle is None:
            self._handles[k] = self._added(self._names[k], batch, place, turn, paint)
            return
        handle.batched_positions = place
        if turn is not None:
            handle.batched_wxyzs = turn
        if not batch.belt:
            handle.batched_colors = paint
        if self._present is not None:
            handle.batched_scales = self._sizes(batch).astype(np.float32)

    def _sizes(self, batch: Batch) -> Floats:
        """Scales (k,) of the instances on the page; 0 for bodies that are absent."""
        own = np.ones(len(batch.body)) if batch.scale is None else batch.scale
        return self._layout.scale * (own if self._present is None else own * self._present[batch.body])

    def hit(self, ray: Floats) -> tuple[float, int]:
        """Distance and number of the first body that a ray (2, 3) meets; infinity and -1 if it meets none."""
        best = (np.inf, -1)
        for batch in self._batches if self._pose is not None else ():
            assert self._pose is not None
            place, turn = _posed(batch, *self._pose, self._layout.scale)
            size = self._sizes(batch)
            if not size.any():
                continue
            distance, number = first_hit(batch.mesh, place, turn, size, ray)
            if distance < best[0]:
                best = (distance, int(batch.body[number]))
        return best

    def faint(self, yes: bool) -> None:
        """Makes all bodies transparent, so that contacts between them are visible."""
        if yes != self._faint:
            self._faint = yes
            for batch, handle in zip(self._batches, self._handles):
                if batch.mesh is not None:
                    handle.opacity = FAINT if yes else GLASS if batch.glass else None

    def _added(self, name: str, batch: Batch, place: Floats, turn: Floats | None, paint: Bytes) -> Any:
        assert batch.mesh is not None
        count = len(batch.body)
        return self._server.scene.add_batched_meshes_simple(
            name,
            *batch.mesh,
            np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (count, 1)) if turn is None else turn,
            place,
            batched_scales=self._sizes(batch).astype(np.float32),
            batched_colors=paint[0] if batch.belt else paint,
            lod="off",
            opacity=GLASS if batch.glass else None,
            cast_shadow=self._shadow and not batch.belt and not batch.glass,
            receive_shadow=False,  # soft shadows leave spots on the bodies that cast them
        )


def _posed(batch: Batch, position: Floats, orientation: Floats, scale: float) -> tuple[Floats, Floats | None]:
    """Positions (k, 3) and quaternions (k, 4) of the instances on the page; None if rotation is not visible."""
    place = position[batch.body]
    if batch.place is None and not batch.turns:
        return place.astype(np.float32), None
    turn = np.ascontiguousarray(_quaternions(orientation[batch.body]))
    if batch.place is not None:
        place = place + scale * rotations.turned(turn, np.ascontiguousarray(batch.place))
    if batch.turn is not None:
        turn = rotations.product(turn, np.ascontiguousarray(batch.turn))
    return place.astype(np.float32), turn.astype(np.float32)


def _quaternions(orientation: Floats) -> Floats:
    """Quaternions (n, 4) from quaternions or from angles about z."""
    if orientation.ndim == 2:
        return orientation
    half = 0.5 * orientation
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)
