"""[[generators]] of a scene file: tables that place many bodies. `scene/generators.py` computes the places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import ProblemError
from ...solvers.rows import Floats
from .. import generators as layout
from ..checks import (
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
    POSITIVES,
    QUATERNIONS,
    SEED,
    SPACING,
    TEXT,
    Choice,
    ListOf,
    Schema,
    Where,
    or_list,
)
from ..fields import ONLY_2D, ONLY_3D, KindOf, TableOf
from ..pour import Region, random_pour
from ..shapes import Rotation

Vector = tuple[float, ...]


class Chance:
    """Random numbers of one generator. Each use has its own stream: jitter does not change the velocities."""

    USES = ("radius", "place", "jitter", "velocity", "angle")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.USES.index(use)])


# ---- random radii


@dataclass(frozen=True)
class UniformRadius:
    """Radii distributed evenly between two bounds."""

    low: Annotated[float, POSITIVE]
    high: Annotated[float, POSITIVE]

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ProblemError("radius.high", self.high, f"at least low = {self.low:g}")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        return random.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class NormalRadius:
    """Normally distributed radii; those outside [low, high] are drawn again."""

    mean: Annotated[float, POSITIVE]
    deviation: Annotated[float, NOT_NEGATIVE]
    low: Annotated[float | None, POSITIVE, "mean / 2 by default"] = None
    high: Annotated[float | None, POSITIVE, "3 mean / 2 by default"] = None

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low or 0.5 * self.mean, self.high or 1.5 * self.mean

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not low <= self.mean <= high:
            raise ProblemError("radius.mean", self.mean, f"a number from low = {low:g} to high = {high:g}")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        low, high = self.bounds
        drawn = random.normal(self.mean, self.deviation, count)
        for _ in range(100):
            outside = np.flatnonzero((drawn < low) | (drawn > high))
            if not len(outside):
                return drawn
            drawn[outside] = random.normal(self.mean, self.deviation, len(outside))
        return np.clip(drawn, low, high)  # bounds too narrow for the draws to meet


@dataclass(frozen=True)
class ChoiceRadius:
    """One of several radii, with equal probability or by weight."""

    values: Annotated[Vector, ListOf(POSITIVE, 1, text="a list that is not empty")]
    weights: Annotated[Vector | None, ListOf(POSITIVE)] = None

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise ProblemError("radius.weights", self.weights, f"{len(self.values)} numbers, one for each value")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        return random.choice(np.array(self.values), size=count, p=weights / weights.sum())


RADIUS_KINDS = {"uniform": UniformRadius, "normal": NormalRadius, "choice": ChoiceRadius}


class RadiusOf(KindOf):
    """Radii of generated bodies: a number, a list, or a table of a distribution."""

    text = "a number above 0"

    def read(self, value: Any, where: Where) -> Any:
        return super().read(value, where) if isinstance(value, Mapping) else POSITIVES.read(value, where)

    def schema(self) -> Schema:
        return {"anyOf": [*or_list(POSITIVE.schema())["anyOf"], *super().schema()["anyOf"]]}


RADIUS = RadiusOf(RADIUS_KINDS, "uniform")


# ---- generators


@dataclass(frozen=True)
class RandomVelocity:
    """A random velocity, added to `velocity`.

    normal: each component has the standard deviation `speed`; uniform: each lies within +-speed; direction: of length
    `speed`, in a random direction.
    """

    speed: Annotated[float, NOT_NEGATIVE]
    kind: Annotated[str, Choice(("normal", "uniform", "direction"))] = "normal"
    no_drift: Annotated[bool, FLAG, "subtract the mean, so that the bodies do not move as a whole"] = False


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

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
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

    def _rest(self, where: Where) -> tuple[Vector | None, Vector | None, int | None]:
        return self.center, self.corner, self.layers if where.dimension == 3 else None


@dataclass(frozen=True, kw_only=True)
class Grid(_Lattice):
    """A rectangular grid. By default the bodies touch."""

    kind: ClassVar[str] = "grid"
    spacing: Annotated[Vector | None, SPACING] = None

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        return layout.grid(self.rows, self.columns, self.spacing or size.extent, *self._rest(where))


@dataclass(frozen=True, kw_only=True)
class HexGrid(_Lattice):
    """A hexagonal grid: every other row is moved by half a spacing. In 3D hexagonal close packing."""

    kind: ClassVar[str] = "hex_grid"
    spacing: Annotated[float | None, POSITIVE] = None

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        return layout.hex_grid(self.rows, self.columns, self.spacing or size.diameter, *self._rest(where))


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

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        region = self.circle or self.ball
        if region is not None:
            room = Region(region.center or origin(where), radius=region.radius)
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

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        return np.tile(np.array(self.point or origin(where), np.float64), (self.count, 1))


@dataclass(frozen=True, kw_only=True)
class Chain(Generator):
    """A straight line of bodies; neighbors touch, or leave a gap."""

    kind: ClassVar[str] = "chain"
    count: Annotated[int, COUNT]
    start: Annotated[Vector | None, POINT, "place of the first body; the origin by default"] = None
    direction: Annotated[Vector | None, DIRECTION, "along x by default"] = None
    gap: Annotated[float, NOT_NEGATIVE] = 0.0

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        start = origin(where)
        return layout.chain(size, self.start or start, self.direction or (1.0, *start[1:]), self.gap)


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

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        return layout.rack(self.rows, self.spacing or size.diameter, self.apex, self.direction)


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

    def places(self, size: layout.Reach, where: Where, path: str) -> Floats:
        spacing = self.spacing or size.diameter
        if self.rings is not None:
            return layout.rings(self.rings, self.center, spacing, self.start_angle)
        radius = layout.ring_radius(self.count, spacing) if self.ring_radius is None else self.ring_radius
        return layout.ring(self.count, self.center, radius, self.start_angle)


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

    def quaternions(self) -> Floats | None:
        """Rotations of the copies, (4,) or (k, 4); None for none."""
        return self.orientation if self.rotation is None else self.rotation.quaternions()


def origin(where: Where) -> Vector:
    """The origin of the scene."""
    return (0.0,) * (where.dimension or 2)


GENERATORS = {c.kind: c for c in (Grid, HexGrid, RandomPour, Chain, Rack, Ring, Pool)}
