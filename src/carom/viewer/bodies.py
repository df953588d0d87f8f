"""The bodies of a run on the page: one instanced mesh for each shape, of which only poses and colours are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rotations
from ..pictures.glass import enclosing
from ..pictures.raster import placed_parts
from ..scene.solids import Compound, Solid
from ..scene.solids import Mesh as MeshShape
from ..solvers.rows import Floats, Ints
from ..trajectory import Trajectory
from ..world import CAPSULE, CUBOID, CYLINDER, DISC, HULL, MESH, SPHERE, Solids
from . import shape_meshes, tone
from .frames import Frame
from .framing import Layout
from .shape_meshes import Mesh

POINTS = 20_000  # round bodies from which they are drawn as points: no mesh, no shadow, a third of the bytes
PIECE = 40_000  # instances of one node; above 50,000 the page keeps a tree of them, and rebuilds it every frame
MARKED = 3_000  # bodies up to which their turning is drawn
SHADOWS = 4_000  # bodies up to which they throw shadows
CLASSES = 12  # sizes of points
BELT = (96, 102, 112)


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
    belt: bool = False  # drawn in one dark colour

    def pieces(self) -> Iterator[Batch]:
        for start in range(0, len(self.body), PIECE):
            cut = slice(start, start + PIECE)
            columns = [None if c is None else c[cut] for c in (self.scale, self.place, self.turn)]
            yield Batch(self.mesh, self.body[cut], *columns, self.turns, self.glass, self.belt)


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
        yield from _points(discs, radius[discs])
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


def _points(bodies: Ints, radius: Floats) -> Iterator[Batch]:
    """Round bodies as points, in classes of about equal radius."""
    sizes = np.unique(radius)
    if len(sizes) > CLASSES:
        sizes = np.quantile(radius, (np.arange(CLASSES) + 0.5) / CLASSES)
    nearest = np.abs(radius[:, None] - sizes).argmin(axis=1)
    for k, size in enumerate(sizes):
        chosen = bodies[nearest == k]
        yield Batch(None, chosen, np.full(len(chosen), size), turns=False)


def _solids(run: Trajectory) -> Iterator[Batch]:
    solids: Solids = run.world.solids
    body = np.repeat(np.arange(run.count), np.diff(solids.part_ptr))
    glass = np.zeros(run.count, bool)
    if run.count <= MARKED:
        state = run.frame(0)
        glass[enclosing(solids, state, placed_parts(solids, state))] = True
    for hollow in (False, True):
        part = np.flatnonzero(glass[body] == hollow)
        balls = part[solids.kind[solids.form[part]] == SPHERE]
        if len(balls):
            yield from _balls(run, solids, body, balls, hollow)
        others = part[solids.kind[solids.form[part]] != SPHERE]
        for form in np.unique(solids.form[others]).tolist():
            chosen = others[solids.form[others] == form]
            mesh = _form_mesh(run, solids, form)
            yield Batch(mesh, body[chosen], None, *_within(solids, chosen), True, hollow)


def _balls(run: Trajectory, solids: Solids, body: Ints, part: Ints, glass: bool) -> Iterator[Batch]:
    radius = solids.size[solids.form[part], 0]
    place, turn = _within(solids, part)
    if len(part) > POINTS and place is None:
        yield from _points(body[part], radius)
        return
    level = 4 if len(part) <= 60 else 3 if len(part) <= 800 else 2 if len(part) <= 6_000 else 1
    yield Batch(shape_meshes.sphere(level), body[part], radius, place, turn, False, glass)
    if len(part) <= MARKED and place is None and not glass and run.world.turns:
        yield Batch(shape_meshes.belt(), body[part], radius, turns=True, belt=True)


def _within(solids: Solids, part: Ints) -> tuple[Floats | None, Floats | None]:
    """Places and turns of parts in their bodies; None where all are at the origin, unturned."""
    place, turn = solids.place[part], solids.turn[part]
    at = None if not place.any() else place
    if np.array_equal(turn, np.broadcast_to(np.eye(3), turn.shape)):
        return at, None
    from ..solids.principal import quaternion_of

    return at, np.array([quaternion_of(m) for m in turn])


def _form_mesh(run: Trajectory, solids: Solids, form: int) -> Mesh:
    kind, size = solids.kind[form], solids.size[form]
    if kind == CUBOID:
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


def _surface(run: Trajectory, solids: Solids, form: int) -> Mesh:
    """The triangles of a mesh form: the scene has them, while the tables only keep what contact needs."""
    from ..solids.meshes import load_mesh, mesh_form

    for number, group in enumerate(run.scene.bodies):
        first = np.flatnonzero(run.world.group == number)[:1]
        if not len(first):
            continue
        forms = solids.form[solids.part_ptr[first[0]] : solids.part_ptr[first[0] + 1]].tolist()
        for own, shape in zip(forms, _leaves(group.shape)):
            if own == form and isinstance(shape, MeshShape):
                surface = load_mesh("shape", shape)
                return shape_meshes.surface(surface.vertices - mesh_form("shape", surface).origin, surface.faces)
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
        self._flat = run.dimension == 2
        self._batches = batches_of(run)
        self._shadow = not self._flat and run.count <= SHADOWS
        self._names = [f"{name}/bodies{k}" for k in range(len(self._batches))]
        self._handles: list[Any] = []
        self._faint = False

    def show(self, frame: Frame, colours: NDArray[np.uint8]) -> None:
        """Moves and paints everything. `colours` (n, 3): sRGB, one for each body."""
        position = self._layout.placed(frame.position, self._number).astype(np.float32)
        turn = _quaternions(frame.orientation)
        paint = tone.lit(colours)
        if not self._handles:
            self._handles = [
                self._add(name, b, *_posed(b, position, turn, self._layout.scale), paint, colours)
                for name, b in zip(self._names, self._batches)
            ]
            return
        for batch, handle in zip(self._batches, self._handles):
            place, own = _posed(batch, position, turn, self._layout.scale)
            if batch.mesh is None:
                handle.points, handle.colors = place, colours[batch.body]
                continue
            handle.batched_positions = place
            if batch.turns:
                handle.batched_wxyzs = own
            if not batch.belt:
                handle.batched_colors = paint[batch.body]

    def faint(self, yes: bool) -> None:
        """Lets one see through all bodies: what lies between them shows."""
        if yes != self._faint:
            self._faint = yes
            for batch, handle in zip(self._batches, self._handles):
                if batch.mesh is not None:
                    handle.opacity = 0.35 if yes else 0.3 if batch.glass else None

    def _add(
        self, name: str, batch: Batch, place: Floats, turn: Floats, paint: NDArray[np.uint8], raw: NDArray[np.uint8]
    ) -> Any:
        scene = self._server.scene
        if batch.mesh is None:
            assert batch.scale is not None
            return scene.add_point_cloud(
                name,
                place,
                raw[batch.body],
                point_size=float(self._layout.scale * batch.scale[0]),
                point_shape="circle",
                point_shading="flat" if self._flat else "gradient",
                precision="float32",
            )
        scales = np.ones(len(batch.body)) if batch.scale is None else batch.scale
        belt = tone.lit(np.array([BELT], np.uint8))[0]
        return scene.add_batched_meshes_simple(
            name,
            *batch.mesh,
            turn if batch.turns else np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (len(batch.body), 1)),
            place,
            batched_scales=(self._layout.scale * scales).astype(np.float32),
            batched_colors=belt if batch.belt else paint[batch.body],
            lod="off",
            opacity=0.3 if batch.glass else None,
            cast_shadow=self._shadow and not batch.belt and not batch.glass,
            receive_shadow=self._shadow,
        )


def _quaternions(orientation: Floats) -> Floats:
    """(n, 4) from quaternions, or from angles about z."""
    if orientation.ndim == 2:
        return orientation
    half = 0.5 * orientation
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)


def _posed(batch: Batch, position: Floats, turn: Floats, scale: float) -> tuple[Floats, Floats]:
    """Places and turns of a batch's instances on the page."""
    place = position[batch.body]
    if batch.place is None and not batch.turns:
        return place, turn[:0]
    own = np.ascontiguousarray(turn[batch.body])
    if batch.place is not None:
        place = place + scale * rotations.turned(own, np.ascontiguousarray(batch.place))
    if batch.turn is not None:
        own = rotations.product(own, np.ascontiguousarray(batch.turn))
    return place.astype(np.float32), own.astype(np.float32)
