"""The bodies of a run on the page: one instanced mesh for each shape, of which only poses and colors are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import rotations
from ...scene.shapes import Compound, Solid
from ...scene.shapes import Mesh as MeshShape
from ...solvers.rows import Floats, Ints
from ...trajectory import Trajectory
from ...world import BOX, CAPSULE, CYLINDER, DISC, HULL, MESH, SPHERE, Shapes3D
from ..raycast.glass import enclosing
from ..raycast.visible import placed_parts
from . import shape_meshes, tone
from .frames import Frame
from .framing import Layout
from .look import lamp_of
from .shape_meshes import Mesh

Bytes = NDArray[np.uint8]

POINTS = 4_000  # round bodies from which they are drawn as points: smooth without a graphics processor, too
LAYERED = 40_000  # of these, how many have a dark edge: points behind the points
EDGE = {2: 0.80, 3: 0.55}  # its shade; in the plane a dark one would flicker where discs are a few pixels wide
INNER, LIFT = 0.80, 0.30  # size of the bright part, and its distance toward the lamp, in the radius
PIECE = 40_000  # instances of one node; above 50,000 the page keeps a tree of them, and rebuilds it every frame
MARKED = 3_000  # bodies up to which their turning is drawn
SHADOWS = 4_000  # bodies up to which they throw shadows
CLASSES = 12  # sizes of points
BELTED = 120  # balls up to which they wear rings
BELT = np.array([[96, 102, 112]], np.uint8)


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one mesh, or points: which body each belongs to, and where it is within that body."""

    mesh: Mesh | None  # None for points
    body: Ints  # (k,)
    scale: Floats | None = None  # (k,) factors, None for 1
    place: Floats | None = None  # (k, 3) in the body's frame, None for its origin
    turn: Floats | None = None  # (k, 4) quaternions, None for none
    turns: bool = True  # whether its orientation shows
    glass: bool = False
    belt: bool = False  # drawn in one dark color
    shade: float = 1.0  # of points: a factor of their colors
    lift: float = 0.0  # and how far they stand toward the lamp, in their radius

    def pieces(self) -> Iterator[Batch]:
        for start in range(0, len(self.body), PIECE):
            cut = slice(start, start + PIECE)
            scale, place, turn = (None if c is None else c[cut] for c in (self.scale, self.place, self.turn))
            yield replace(self, body=self.body[cut], scale=scale, place=place, turn=turn)


# ---- what there is to draw


def batches_of(run: Trajectory) -> list[Batch]:
    """All shapes of a run, ready to be placed."""
    found = _solids(run) if run.dimension == 3 else _flat_shapes(run)
    return [piece for batch in found for piece in batch.pieces()]


def _flat_shapes(run: Trajectory) -> Iterator[Batch]:
    geometry = run.geometry
    kind, radius, pointer, vertex = (geometry[name] for name in ("kind", "radius", "vertex_ptr", "vertex"))
    turns = run.count <= MARKED and _turns(run)
    discs = np.flatnonzero(kind == DISC)
    if len(discs) > POINTS:
        yield from _points(discs, radius[discs], 2)
    elif len(discs):
        segments = 72 if len(discs) <= 500 else 40 if len(discs) <= 4_000 else 20
        yield Batch(shape_meshes.disc(segments, turns), discs, radius[discs], turns=turns)
    shapes: dict[bytes, list[int]] = {}
    for i in np.flatnonzero(kind != DISC).tolist():
        shapes.setdefault(vertex[pointer[i] : pointer[i + 1]].tobytes(), []).append(i)
    for key, bodies in shapes.items():
        corners = np.frombuffer(key, dtype=vertex.dtype).reshape(-1, 2)
        yield Batch(shape_meshes.coin(corners), np.array(bodies))


def _turns(run: Trajectory) -> bool:
    """Whether anything in the run can turn: frames hold a spin then."""
    return bool(np.ndim(run.spins) and not isinstance(run.spins, np.ndarray))


def _points(bodies: Ints, radius: Floats, dimension: int) -> Iterator[Batch]:
    """Round bodies as points, in classes of about equal radius: a dark one, and a smaller bright one before it."""
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


def _solids(run: Trajectory) -> Iterator[Batch]:
    solids: Shapes3D = run.world.shapes_3d
    body = np.repeat(np.arange(run.count), np.diff(solids.part_ptr))
    glass = np.zeros(run.count, bool)
    if run.count <= MARKED:
        state = run.frame(0)
        glass[enclosing(solids, state, placed_parts(solids, state))] = True
    for hollow in (False, True):
        part = np.flatnonzero(glass[body] == hollow)
        balls = part[solids.kind[solids.shape[part]] == SPHERE]
        if len(balls):
            yield from _balls(run, solids, body, balls, hollow)
        others = part[solids.kind[solids.shape[part]] != SPHERE]
        for form in np.unique(solids.shape[others]).tolist():
            chosen = others[solids.shape[others] == form]
            mesh = _form_mesh(run, solids, form)
            yield Batch(mesh, body[chosen], None, *_within(solids, chosen), True, hollow)


def _balls(run: Trajectory, solids: Shapes3D, body: Ints, part: Ints, glass: bool) -> Iterator[Batch]:
    radius = solids.size[solids.shape[part], 0]
    place, turn = _within(solids, part)
    if len(part) > POINTS and place is None:
        yield from _points(body[part], radius, 3)
        return
    level = 4 if len(part) <= 60 else 3 if len(part) <= 800 else 2 if len(part) <= 6_000 else 1
    yield Batch(shape_meshes.sphere(level), body[part], radius, place, turn, False, glass)
    if len(part) <= BELTED and place is None and not glass and run.world.turns:
        yield Batch(shape_meshes.belt(), body[part], radius, turns=True, belt=True)


def _within(solids: Shapes3D, part: Ints) -> tuple[Floats | None, Floats | None]:
    """Places and turns of parts in their bodies; None where all are at the origin, unturned."""
    place, turn = solids.place[part], solids.turn[part]
    at = None if not place.any() else place
    if np.array_equal(turn, np.broadcast_to(np.eye(3), turn.shape)):
        return at, None
    from ...geometry.rotations import quaternion_of

    return at, np.array([quaternion_of(m) for m in turn])


def _form_mesh(run: Trajectory, solids: Shapes3D, form: int) -> Mesh:
    kind, size = solids.kind[form], solids.size[form]
    if kind == BOX:
        return shape_meshes.cuboid(size)
    if kind == CAPSULE:
        return shape_meshes.capsule(size[0], size[1])
    if kind == CYLINDER:
        return shape_meshes.cylinder(size[0], size[1])
    points = solids.vertex[solids.vertex_ptr[form] : solids.vertex_ptr[form + 1]]
    if kind == MESH:
        return _surface(run, solids, form)
    assert kind == HULL
    return shape_meshes.hull(points)


def _surface(run: Trajectory, solids: Shapes3D, form: int) -> Mesh:
    """The triangles of a mesh form: the scene has them, while the tables only keep what contact needs."""
    from ...geometry.mass_properties import mass_properties
    from ...scene.parts import load_mesh

    for number, group in enumerate(run.scene.bodies):
        first = np.flatnonzero(run.world.group == number)[:1]
        if not len(first):
            continue
        forms = solids.shape[solids.part_ptr[first[0]] : solids.part_ptr[first[0] + 1]].tolist()
        for own, shape in zip(forms, _leaves(group.shape)):
            if own == form and isinstance(shape, MeshShape):
                surface = load_mesh("shape", shape)
                center = mass_properties(surface.vertices, surface.faces)[1]
                return shape_meshes.surface(surface.vertices - center, surface.faces)
    points = solids.vertex[solids.vertex_ptr[form] : solids.vertex_ptr[form + 1]]
    return shape_meshes.hull(points)


def _leaves(shape: Any) -> list[Solid]:
    """The shapes of a compound, in the order of its parts."""
    if isinstance(shape, Compound):
        return [leaf for part in shape.parts for leaf in _leaves(part.shape)]
    return [shape]


# ---- on the page


class Bodies:
    """The nodes of one run's bodies."""

    def __init__(self, server: Any, name: str, run: Trajectory, layout: Layout, number: int) -> None:
        self._server, self._layout, self._number = server, layout, number
        self._lamp = lamp_of(layout)
        self._batches = batches_of(run)
        self._shadow = run.dimension == 3 and run.count <= SHADOWS
        self._names = [f"{name}/bodies{k}" for k in range(len(self._batches))]
        self._handles: list[Any] = []
        self._faint = False

    def show(self, frame: Frame, colors: Bytes) -> None:
        """Moves and paints everything. `colors` (n, 3): sRGB, one for each body."""
        position = self._layout.placed(frame.position, self._number)
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
        place = (position[batch.body] + batch.lift * size * self._lamp).astype(np.float32)
        paint = colors[batch.body]
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
            point_shading="flat" if batch.lift or self._layout.box.dimension == 2 else "gradient",
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

    def faint(self, yes: bool) -> None:
        """Lets one see through all bodies: what lies between them shows."""
        if yes != self._faint:
            self._faint = yes
            for batch, handle in zip(self._batches, self._handles):
                if batch.mesh is not None:
                    handle.opacity = 0.35 if yes else 0.3 if batch.glass else None

    def _added(self, name: str, batch: Batch, place: Floats, turn: Floats | None, paint: Bytes) -> Any:
        assert batch.mesh is not None
        count = len(batch.body)
        scales = np.ones(count) if batch.scale is None else batch.scale
        return self._server.scene.add_batched_meshes_simple(
            name,
            *batch.mesh,
            np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (count, 1)) if turn is None else turn,
            place,
            batched_scales=(self._layout.scale * scales).astype(np.float32),
            batched_colors=paint[0] if batch.belt else paint,
            lod="off",
            opacity=0.3 if batch.glass else None,
            cast_shadow=self._shadow and not batch.belt and not batch.glass,
            receive_shadow=False,  # soft shadows leave spots on what throws them
        )


def _posed(batch: Batch, position: Floats, orientation: Floats, scale: float) -> tuple[Floats, Floats | None]:
    """Places and turns of a batch's instances on the page; None if they do not turn to the eye."""
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
    """(n, 4) from quaternions, or from angles about z."""
    if orientation.ndim == 2:
        return orientation
    half = 0.5 * orientation
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)
