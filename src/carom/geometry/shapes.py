"""Shapes of all bodies of a world as tables for kernels, and the mass properties of bodies in 3D."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..solvers.rows import Floats, Ints
from .mass_properties import principal_axes
from .rotations import quaternion_of

DISC, POLYGON = 0, 1  # kinds of shapes in 2D
SPHERE, BOX, CAPSULE, CYLINDER, HULL, MESH, CONE, ELLIPSOID = range(8)  # and in 3D; files contain these numbers
PLURALS = {
    SPHERE: "spheres",
    BOX: "boxes",
    CAPSULE: "capsules",
    CYLINDER: "cylinders",
    CONE: "cones",
    ELLIPSOID: "ellipsoids",
    HULL: "hulls",
    MESH: "meshes",
}
T = TypeVar("T")
RUN = 16  # sample points of a mesh come in runs of this many points that lie close together


class Shapes2D(NamedTuple):
    """Shapes of all bodies in 2D, for kernels. Vertices are counterclockwise, about the center of mass."""

    kind: NDArray[np.int8]  # (n,) DISC or POLYGON
    radius: Floats  # (n,) of the disc, or of the circle around the polygon
    vertex_ptr: Ints  # (n + 1,) body i owns vertices vertex_ptr[i]:vertex_ptr[i+1]
    vertex: Floats  # (k, 2)
    round: NDArray[np.bool_]  # (n,) whether it is a disc
    inner: Floats  # (n,) radius of a disc, half of the smallest width of a polygon

    def of(self, bodies: Ints) -> Shapes2D:
        """The shapes of some bodies."""
        pointers, vertices = _owned(self.vertex_ptr, bodies)
        own = {name: getattr(self, name)[bodies] for name in ("kind", "radius", "round", "inner")}
        return self._replace(**own, vertex_ptr=pointers, vertex=self.vertex[vertices])


class Shapes3D(NamedTuple):
    """Shapes of all bodies in 3D, for kernels.

    A body owns parts, and a part refers to a shape; equal bodies share shapes. A shape is given in its own frame. A
    part places it in the body's frame, whose origin is the center of mass and whose axes are the principal axes of
    inertia. Sizes of shapes: sphere (r, 0, 0), box half edges, capsule and cylinder (r, half length, 0) along z, cone
    (radius of the base, half length, radius of the top) along z, ellipsoid half axes along x, y, z.
    """

    # bodies
    round: NDArray[np.bool_]  # (n,) one sphere about the center of mass
    radius: Floats  # (n,) of the sphere around the body, about its center of mass
    inner: Floats  # (n,) half of the smallest width: tunneling and overlap are measured relative to it
    part_ptr: Ints  # (n + 1,) body i owns parts part_ptr[i]:part_ptr[i+1]
    # parts
    shape: Ints  # (p,)
    place: Floats  # (p, 3) origin of the shape's frame, in the body's frame
    turn: Floats  # (p, 3, 3) rotation matrix from the shape's frame to the body's
    # shapes
    kind: NDArray[np.int8]  # (f,) SPHERE .. ELLIPSOID
    size: Floats  # (f, 3)
    reach: Floats  # (f,) largest distance from the shape's origin
    vertex_ptr: Ints  # (f + 1,) vertices of boxes and hulls, sample points of meshes
    vertex: Floats  # (k, 3)
    vertex_normal: Floats  # (k, 3) outward, at sample points; zero for vertices
    face_ptr: Ints  # (f + 1,) flat faces of boxes and hulls
    face_normal: Floats  # (faces, 3) outward unit normal
    face_offset: Floats  # (faces,) the face lies in normal . x = offset
    loop_ptr: Ints  # (faces + 1,) vertices of a face: loop[loop_ptr[j]:loop_ptr[j+1]], counterclockwise from outside
    loop: Ints  # vertices, counted from the shape's first
    edge_ptr: Ints  # (f + 1,) edges of boxes and hulls, pairs of neighboring sample points of meshes
    edge: Ints  # (edges, 2) vertices, counted from the shape's first
    grid: Ints  # (f,) its signed distance grid, -1 for none
    # signed distance grids: value[grid_ptr[g] + (i * ny + j) * nz + k] at low + spacing * (i, j, k), negative inside
    grid_ptr: Ints  # (g + 1,)
    grid_count: Ints  # (g, 3) nodes along each axis
    grid_low: Floats  # (g, 3)
    grid_spacing: Floats  # (g,)
    grid_value: Floats  # float64

    def of(self, bodies: Ints) -> Shapes3D:
        """The shapes of some bodies."""
        pointers, parts = _owned(self.part_ptr, bodies)
        own = {name: getattr(self, name)[bodies] for name in ("round", "radius", "inner")}
        return self._replace(
            **own, part_ptr=pointers, shape=self.shape[parts], place=self.place[parts], turn=self.turn[parts]
        )


Shapes = Shapes2D | Shapes3D


class Grid(NamedTuple):
    """Signed distances at the nodes `low + spacing * (i, j, k)`, negative inside."""

    low: Floats  # (3,)
    spacing: float
    value: Floats  # (nx, ny, nz)


def _none(width: int = 3) -> Floats:
    return np.zeros((0, width))


@dataclass(frozen=True, eq=False)
class Shape:
    """One convex solid or mesh in its own frame, whose origin is its center of mass."""

    kind: int  # SPHERE .. ELLIPSOID
    size: tuple[float, float, float]
    reach: float  # largest distance from the origin
    inner: float  # half of the smallest width
    volume: float
    inertia: Floats  # (3, 3) tensor about the origin, for unit mass
    origin: Floats = field(default_factory=lambda: np.zeros(3))  # center of mass, in the coordinates as given
    vertices: Floats = field(default_factory=_none)  # vertices, or sample points of a mesh
    vertex_normals: Floats = field(default_factory=_none)
    face_normals: Floats = field(default_factory=_none)
    face_offsets: Floats = field(default_factory=lambda: np.zeros(0))
    loops: tuple[Ints, ...] = ()  # vertices of each face, counterclockwise from outside
    edges: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    grid: Grid | None = None


# What is kept in memory, by kind. Scenes ask for the center of mass of a hull and for its shape, and are made again.
MOST_KEPT = {"hull": 1024, "mesh": 16, "surface": 16}
_kept: dict[str, dict[Hashable, Any]] = {kind: {} for kind in MOST_KEPT}


def kept(kind: str, key: Hashable, make: Callable[[], T]) -> T:
    """What `make` returns, kept in memory for the last keys: generators, worlds, pictures and files need the same
    shapes one after the other."""
    known = _kept[kind]
    if key not in known:
        known[key] = make()
        if len(known) > MOST_KEPT[kind]:
            del known[next(iter(known))]
    found: T = known[key]
    return found


@dataclass
class ShapeList:
    """The shapes of a world; equal ones are stored once."""

    shapes: list[Shape] = field(default_factory=list)
    number: dict[Hashable, int] = field(default_factory=dict)

    def add(self, key: Hashable, make: Callable[[], Shape]) -> int:
        """The number of the shape with this key, which `make` computes if the list does not have it yet."""
        if key not in self.number:
            shape = make()
            self.number[key] = len(self.shapes)
            self.shapes.append(shape)
        return self.number[key]


@dataclass(frozen=True, eq=False)
class Placed:
    """A shape within a body: `x = place + turn @ (x of the shape)`, and its density relative to the material's."""

    shape: int  # number in a ShapeList
    place: Floats  # (3,)
    turn: Floats  # (3, 3)
    density: float


@dataclass(frozen=True, eq=False)
class Properties:
    """Mass properties of a group of n bodies in 3D.

    Mass is density times `volume`, moments of inertia are mass times `gyration`, about the center of mass and along
    the axes of the body's frame. Where parts of a compound differ in density, `volume` is weighted with theirs.
    """

    volume: Floats  # (n,)
    gyration: Floats  # (n, 3) principal moments of inertia over mass
    frame: Floats  # (4,) quaternion from the body's frame, whose axes are principal, to the frame of the declaration
    origin: Floats  # (3,) center of mass, in the coordinates of the declaration
    inner: Floats  # (n,) half of the smallest width
    radius: Floats  # (n,) of the sphere around the body, about its center of mass


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of n bodies of one shape; spheres of several radii differ in the shape that they refer to."""

    shape: Ints  # (n, parts) numbers in a ShapeList
    place: Floats  # (parts, 3)
    turn: Floats  # (parts, 3, 3)
    round: bool
    properties: Properties


def sphere_group(shape: Ints, radius: Floats) -> Parts:
    """Single spheres: the numbers (n,) of their shapes, and their radii (n,)."""
    volume, gyration = 4.0 / 3.0 * np.pi * radius**3, np.repeat(0.4 * radius[:, None] ** 2, 3, axis=1)
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    properties = Properties(volume, gyration, identity, np.zeros(3), radius.copy(), radius)
    return Parts(shape[:, None], np.zeros((1, 3)), np.eye(3)[None], True, properties)


def equal_group(
    parts: Sequence[Placed], origin: Floats, count: int, shapes: Sequence[Shape], given: Floats | None = None
) -> Parts:
    """`count` equal bodies. The moments of the parts about the common center of mass give the principal frame, unless
    its axes are given as the columns of a rotation matrix (3, 3)."""
    own = [shapes[p.shape] for p in parts]
    weights = np.array([p.density * s.volume for p, s in zip(parts, own)])
    inertia = np.zeros((3, 3))
    for p, s, weight in zip(parts, own, weights / weights.sum()):
        moved = (p.place @ p.place) * np.eye(3) - np.outer(p.place, p.place)
        inertia += weight * (p.turn @ s.inertia @ p.turn.T + moved)
    moments, axes = principal_axes(inertia) if given is None else (np.diag(given.T @ inertia @ given), given)
    place = np.array([axes.T @ p.place for p in parts])
    turn = np.array([axes.T @ p.turn for p in parts])
    properties = Properties(
        volume=np.full(count, weights.sum()),
        gyration=np.tile(moments, (count, 1)),
        frame=quaternion_of(axes),
        origin=origin,
        inner=np.full(count, min(s.inner for s in own)),
        radius=np.full(count, max(part_reach(s, p) for p, s in zip(parts, own))),
    )
    number = np.tile([p.shape for p in parts], (count, 1)).astype(np.int64)
    return Parts(number, place, turn, len(parts) == 1 and own[0].kind == SPHERE, properties)


def part_reach(shape: Shape, placed: Placed) -> float:
    """Largest distance of a placed shape from the body's origin: exact for vertices, a bound for round shapes."""
    if len(shape.vertices) and shape.grid is None:
        return float(np.linalg.norm(placed.place + shape.vertices @ placed.turn.T, axis=1).max())
    return float(np.linalg.norm(placed.place)) + shape.reach


def shape_table(groups: Sequence[Parts], shapes: Sequence[Shape]) -> Shapes3D:
    """The table of all bodies of a 3D world, group by group."""
    parts = [np.full(len(g.shape), g.shape.shape[1], dtype=np.int64) for g in groups]
    loops = [loop for s in shapes for loop in s.loops]
    grids = [s.grid for s in shapes if s.grid is not None]
    has_grid = np.array([s.grid is not None for s in shapes], dtype=bool)
    return Shapes3D(
        round=np.concatenate([np.zeros(0, bool), *(np.full(len(g.shape), g.round) for g in groups)]),
        radius=np.concatenate([np.zeros(0), *(g.properties.radius for g in groups)]),
        inner=np.concatenate([np.zeros(0), *(g.properties.inner for g in groups)]),
        part_ptr=_pointers(np.concatenate([np.zeros(0, np.int64), *parts])),
        shape=np.concatenate([np.zeros(0, np.int64), *(g.shape.reshape(-1) for g in groups)]),
        place=np.concatenate([_none(), *(np.tile(g.place, (len(g.shape), 1)) for g in groups)]),
        turn=np.concatenate([np.zeros((0, 3, 3)), *(np.tile(g.turn, (len(g.shape), 1, 1)) for g in groups)]),
        kind=np.array([s.kind for s in shapes], dtype=np.int8),
        size=np.array([s.size for s in shapes], dtype=np.float64).reshape(-1, 3),
        reach=np.array([s.reach for s in shapes], dtype=np.float64),
        vertex_ptr=_pointers([len(s.vertices) for s in shapes]),
        vertex=np.concatenate([_none(), *(s.vertices for s in shapes)]),
        vertex_normal=np.concatenate([_none(), *(s.vertex_normals for s in shapes)]),
        face_ptr=_pointers([len(s.loops) for s in shapes]),
        face_normal=np.concatenate([_none(), *(s.face_normals for s in shapes)]),
        face_offset=np.concatenate([np.zeros(0), *(s.face_offsets for s in shapes)]),
        loop_ptr=_pointers([len(loop) for loop in loops]),
        loop=np.concatenate([np.zeros(0, np.int64), *loops]),
        edge_ptr=_pointers([len(s.edges) for s in shapes]),
        edge=np.concatenate([np.zeros((0, 2), np.int64), *(s.edges for s in shapes)]),
        grid=np.where(has_grid, np.cumsum(has_grid) - 1, -1).astype(np.int64),
        grid_ptr=_pointers([g.value.size for g in grids]),
        grid_count=np.array([g.value.shape for g in grids], dtype=np.int64).reshape(-1, 3),
        grid_low=np.array([g.low for g in grids], dtype=np.float64).reshape(-1, 3),
        grid_spacing=np.array([g.spacing for g in grids], dtype=np.float64),
        grid_value=np.concatenate([np.zeros(0), *(g.value.reshape(-1) for g in grids)]),
    )


def _pointers(counts: Sequence[int] | Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _owned(pointers: Ints, bodies: Ints) -> tuple[Ints, Ints]:
    """The pointers of some bodies, and the numbers of the rows that they own."""
    first, count = pointers[bodies], np.diff(pointers)[bodies]
    new = _pointers(count)
    return new, np.repeat(first - new[:-1], count) + np.arange(new[-1])
