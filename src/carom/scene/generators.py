"""[[generators]] of a scene file: tables that place many bodies, and the places (n, D) that they compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .boundaries import Vector as Pair
from .chance import Chance, RandomVelocity
from .checks import (
    COUNT,
    DIRECTION,
    FLAG,
    GIVEN,
    NOT_NEGATIVE,
    NOTHING,
    NUMBER,
    NUMBERS,
    POINT,
    POINTS,
    POSITIVE,
    QUATERNIONS,
    SEED,
    SPACING,
    TEXT,
    Where,
)
from .fields import ONLY_2D, ONLY_3D, TableOf
from .pour import Region, random_pour
from .shapes import Rotation

ROW = np.sqrt(0.75)  # distance of neighboring rows of a hexagonal packing, in spacings
LAYER = np.sqrt(2.0 / 3.0)  # of neighboring layers of a close packing
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Outline:
    """Extents of discs and polygons."""

    radius: Floats  # (n,) of the bounding discs
    corners: Floats | None = None  # (k, 2) of a polygon about its center, rotated as all bodies are

    def reach(self, direction: Floats) -> Floats:
        """Distance from the center to the furthest point along the unit vector `direction`, (n,)."""
        if self.corners is None:
            return self.radius
        return np.full(len(self.radius), (self.corners @ direction).max())

    @property
    def extent(self) -> Pair:
        """Width and height of the largest body."""
        if self.corners is None:
            return self.diameter, self.diameter
        width, height = np.ptp(self.corners, axis=0)
        return float(width), float(height)

    @property
    def diameter(self) -> float:
        """Diameter of the largest bounding circle."""
        return 2.0 * float(self.radius.max())


if TYPE_CHECKING:
    from ..geometry.solids import Extent  # loads the 3D geometry, which other scenes do not need

    Reach = Outline | Extent  # of bodies about their centers of mass, for layouts in which bodies touch


@dataclass(frozen=True, kw_only=True)
class Generator:
    """Base of the generators: the fields that all of them have besides those of bodies."""

    kind: ClassVar[str]
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    jitter: Annotated[float, NOT_NEGATIVE, "each body is moved by up to this far, in a random direction"] = 0.0
    random_velocity: Annotated[RandomVelocity | None, TableOf(RandomVelocity)] = None
    random_angle: Annotated[bool, FLAG, "each body is rotated by a random angle", ONLY_2D] = False
    random_orientation: Annotated[bool, FLAG, "each body has a random orientation", ONLY_3D] = False
    seed: Annotated[int, SEED] = 0
    count: int = 0

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        """Places (count, D) of bodies of the given size; `path` is that of the table, for messages."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class _Lattice(Generator):
    """Rows and columns, in 3D also layers."""

    rows: Annotated[int, COUNT, "along y"]
    columns: Annotated[int, COUNT, "along x"]
    layers: Annotated[int, COUNT, "along z", ONLY_3D] = 1
    center: Annotated[Vector | None, POINT, "of the whole; the origin if neither this nor corner is given"] = None
    corner: Annotated[Vector | None, POINT, "place of the first body: lowest x, y and z"] = None

    def __post_init__(self) -> None:
        if self.center is not None and self.corner is not None:
            raise ProblemError("generator.corner", list(self.corner), "either center or corner, not both")
        object.__setattr__(self, "count", self.rows * self.columns * self.layers)

    def _counts(self, where: Where) -> tuple[int, ...]:
        return (self.columns, self.rows, self.layers)[: where.dimension]

    def _placed(self, points: Floats) -> Floats:
        """Points whose lowest coordinates are 0, moved to `corner` or `center`."""
        if self.corner is not None:
            return points + np.array(self.corner)
        middle = np.zeros(points.shape[1]) if self.center is None else np.array(self.center)
        return points + (middle - 0.5 * points.max(axis=0))


def lattice(counts: Sequence[int], spacing: Vector) -> Floats:
    """A rectangular grid from the origin, row by row from the lower left, in 3D layer by layer from below.

    `counts` are its columns, rows and layers; those beyond the number of spacings are ignored.
    """
    along = [np.arange(count) * step for count, step in zip(counts, spacing)]
    return np.stack(np.meshgrid(*along[::-1], indexing="ij")[::-1], axis=-1).reshape(-1, len(along))


@dataclass(frozen=True, kw_only=True)
class Grid(_Lattice):
    """A rectangular grid. By default the bodies touch."""

    kind: ClassVar[str] = "grid"
    spacing: Annotated[Vector | None, SPACING] = None

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        return self._placed(lattice(self._counts(where), self.spacing or size.extent))


@dataclass(frozen=True, kw_only=True)
class HexGrid(_Lattice):
    """A hexagonal grid: every other row is moved by half a spacing. In 3D hexagonal close packing.

    Rows are `sqrt(3)/2 spacing` apart, layers `sqrt(2/3) spacing`. Every other layer is moved into the hollows of the
    layer below, by half a spacing along x and a third of a row along y.
    """

    kind: ClassVar[str] = "hex_grid"
    spacing: Annotated[float | None, POSITIVE] = None

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        spacing = self.spacing or size.diameter
        points = lattice(self._counts(where), (spacing, ROW * spacing, LAYER * spacing)[: where.dimension])
        number = np.arange(len(points)) // self.columns
        row, layer = number % self.rows, number // self.rows
        points[:, 0] += 0.5 * spacing * ((row + layer) % 2)
        points[:, 1] += ROW / 3.0 * spacing * (layer % 2)
        return self._placed(points)


@dataclass(frozen=True)
class Round:
    """A circular region, in 3D a ball."""

    radius: Annotated[float, POSITIVE]
    center: Annotated[Vector | None, POINT, "the origin by default"] = None


@dataclass(frozen=True, kw_only=True)
class RandomPour(Generator):
    """Random places without overlap in a region: from `lower` to `upper`, or a `circle`, in 3D a `ball`."""

    kind: ClassVar[str] = "random_pour"
    count: Annotated[int, COUNT]
    lower: Annotated[Vector | None, POINT] = None
    upper: Annotated[Vector | None, POINT] = None
    circle: Annotated[Round | None, TableOf(Round), ONLY_2D] = None
    ball: Annotated[Round | None, TableOf(Round), ONLY_3D] = None
    gap: Annotated[float, NOT_NEGATIVE, "least distance between two bodies"] = 0.0

    def __post_init__(self) -> None:
        if self.circle or self.ball:
            if self.lower is not None or self.upper is not None:
                name = "circle" if self.circle else "ball"
                raise ProblemError(f"generator.{name}", GIVEN, f"either lower and upper, or {name}, not both")
            return
        for name in ("lower", "upper"):
            if getattr(self, name) is None:
                raise ProblemError(f"generator.{name}", NOTHING, "a corner of the region; or give circle, in 3D ball")
        assert self.lower is not None
        assert self.upper is not None
        if not all(low < high for low, high in zip(self.lower, self.upper)):
            raise ProblemError("generator.upper", list(self.upper), f"all components above lower = {list(self.lower)}")

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        region = self.circle or self.ball
        if region is not None:
            room = Region(region.center or where.origin, radius=region.radius)
        else:
            assert self.lower is not None
            assert self.upper is not None
            room = Region(self.lower, self.upper)
        return random_pour(size.radius, room, self.gap, Chance(self.seed)("place"), path)


@dataclass(frozen=True, kw_only=True)
class Pool(Generator):
    """Bodies that are absent at the start, for a source or a program to make appear."""

    kind: ClassVar[str] = "pool"
    count: Annotated[int, COUNT]
    point: Annotated[Vector | None, POINT, "where pictures would show them; the origin by default"] = None

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        return np.tile(np.array(self.point or where.origin, np.float64), (self.count, 1))


@dataclass(frozen=True, kw_only=True)
class Chain(Generator):
    """A straight line of bodies; neighbors touch, or leave a gap."""

    kind: ClassVar[str] = "chain"
    count: Annotated[int, COUNT]
    start: Annotated[Vector | None, POINT, "place of the first body; the origin by default"] = None
    direction: Annotated[Vector | None, DIRECTION, "along x by default"] = None
    gap: Annotated[float, NOT_NEGATIVE] = 0.0

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        direction = self.direction or (1.0, *where.origin[1:])
        along = np.array(direction) / np.hypot.reduce(direction)
        front, back = size.reach(along), size.reach(-along)
        distance = np.concatenate([[0.0], np.cumsum(front[:-1] + self.gap + back[1:])])
        return np.array(self.start or where.origin) + distance[:, None] * along


@dataclass(frozen=True, kw_only=True)
class Rack(Generator):
    """A triangle of bodies: 1 in the first row, `rows` in the last, which lies furthest along `direction`."""

    kind: ClassVar[str] = "rack"
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    rows: Annotated[int, COUNT]
    apex: Annotated[Vector, POINT, "place of the body in the first row"] = (0.0, 0.0)
    direction: Annotated[Vector, DIRECTION] = (1.0, 0.0)
    spacing: Annotated[float | None, POSITIVE] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", self.rows * (self.rows + 1) // 2)

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        spacing = self.spacing or size.diameter
        along = np.array(self.direction) / np.hypot(self.direction[0], self.direction[1])
        across = np.array([-along[1], along[0]])
        row = np.repeat(np.arange(self.rows), np.arange(1, self.rows + 1))  # row k, from 0 at the apex, has k + 1
        in_row = np.arange(len(row)) - row * (row + 1) // 2
        x, y = row * ROW * spacing, (in_row - 0.5 * row) * spacing
        return np.array(self.apex) + x[:, None] * along + y[:, None] * across


@dataclass(frozen=True, kw_only=True)
class Ring(Generator):
    """`number` bodies on a circle; or `rings` full circles of 6, 12, 18, ... bodies around one in the middle."""

    kind: ClassVar[str] = "ring"
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    number: Annotated[int | None, COUNT] = None
    rings: Annotated[int | None, COUNT] = None
    center: Annotated[Vector, POINT] = (0.0, 0.0)
    ring_radius: Annotated[float | None, NOT_NEGATIVE, "of the circle; neighbors touch by default"] = None
    spacing: Annotated[float | None, POSITIVE, "of neighbors on the circle, or of the rings"] = None
    start_angle: Annotated[float, NUMBER, "of the first body on the circle, radians"] = 0.0

    def __post_init__(self) -> None:
        if (self.number is None) == (self.rings is None):
            got = NOTHING if self.number is None else self.rings
            raise ProblemError("generator.rings", got, "either number or rings")
        if self.ring_radius is not None and (self.rings is not None or self.spacing is not None):
            raise ProblemError("generator.ring_radius", self.ring_radius, "nothing where rings or spacing is given")
        count = 1 + 3 * self.rings * (self.rings + 1) if self.rings is not None else self.number
        object.__setattr__(self, "count", count)

    def places(self, size: Reach, where: Where, path: str) -> Floats:
        """One body at the center and 6 k on the circle of radius `k spacing`, so that neighbors are at least `spacing`
        apart; or a circle on which they are: its radius is `spacing / (2 sin(pi / count))`, 0 for one body."""
        spacing = self.spacing or size.diameter
        if self.rings is not None:
            circles = [self._circle(6 * k, k * spacing) for k in range(1, self.rings + 1)]
            return np.concatenate([np.array([self.center], dtype=np.float64), *circles])
        touching = spacing / (2.0 * np.sin(np.pi / self.count)) if self.count > 1 else 0.0
        return self._circle(self.count, touching if self.ring_radius is None else self.ring_radius)

    def _circle(self, count: int, radius: float) -> Floats:
        angle = self.start_angle + 2.0 * np.pi * np.arange(count) / count
        return np.array(self.center) + radius * np.column_stack([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Copies of another group, displaced by a list of `offsets`, or on a grid of rows, columns and, in 3D, layers."""

    kind: ClassVar[str] = "copies"
    of: Annotated[str, TEXT, "name of a group in [[bodies]] or [[generators]]"]
    name: Annotated[str, TEXT] = ""
    offsets: Annotated[Floats | None, POINTS] = None
    rows: Annotated[int, COUNT] = 1
    columns: Annotated[int, COUNT] = 1
    layers: Annotated[int, COUNT, ONLY_3D] = 1
    spacing: Annotated[Vector | None, SPACING] = None
    start: Annotated[Vector | None, POINT, "offset of the first copy of a grid; none by default"] = None
    turn: Annotated[
        float | Floats, NUMBERS, "radians, about the mean place of the group; one, or one per copy", ONLY_2D
    ] = 0.0
    orientation: Annotated[Floats | None, QUATERNIONS, "[w, x, y, z], one, or one per copy", ONLY_3D] = None
    rotation: Annotated[Rotation | None, TableOf(Rotation), "{axis = [x, y, z], degrees = ...}", ONLY_3D] = None
    velocity: Annotated[Floats | None, POINTS, "added to that of the group; one, or one per copy"] = None
    template: Annotated[bool, FLAG] = False

    def __post_init__(self) -> None:
        if self.orientation is not None and self.rotation is not None:
            raise ProblemError("copies.rotation", GIVEN, "either orientation or rotation, not both")
        is_grid = self.rows * self.columns * self.layers > 1 or self.spacing is not None
        if self.offsets is not None and is_grid:
            raise ProblemError("copies.offsets", NOTHING, "either offsets, or rows, columns and spacing")
        if self.offsets is None and self.spacing is None:
            raise ProblemError("copies.offsets", NOTHING, "a list of offsets, or spacing with rows and columns")

    @property
    def count(self) -> int:
        """Number of copies."""
        return self.rows * self.columns * self.layers if self.offsets is None else len(np.atleast_2d(self.offsets))

    def places(self, where: Where) -> Floats:
        """Displacements (k, D) of the copies."""
        if self.offsets is not None:
            return np.atleast_2d(self.offsets)
        assert self.spacing is not None
        return lattice((self.columns, self.rows, self.layers), self.spacing) + np.array(self.start or where.origin)

    def quaternions(self) -> Floats | None:
        """Rotations of the copies, (4,) or (k, 4); None for none."""
        return self.orientation if self.rotation is None else self.rotation.quaternions()


GENERATORS = {c.kind: c for c in (Grid, HexGrid, RandomPour, Chain, Rack, Ring, Pool)}
