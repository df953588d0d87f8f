"""Tables of bodies and generators -> groups of bodies, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...geometry.polygons import convex_polygon
from ...geometry.rotations import product
from ...solvers.rows import Floats
from .. import generators as layout
from ..model import Bodies, Disc, Polygon, Rectangle, Shape
from ..parts import extent_of
from ..pour import Region, random_pour
from ..solids import UNTURNED, Solid, Sphere
from .bodies import BodiesTable, BodyFields, ChoiceRadius, NormalRadius, UniformRadius
from .generators import Chain, GeneratorFields, Grid, HexGrid, PlacedTable, Rack, RandomPour, Ring
from .solids import solid
from .tables import motion_of

MOST = 100_000_000  # bodies in one group


class Chance:
    """Random numbers of one generator. Each use has a stream of its own: jitter does not change the velocities."""

    USES = ("radius", "place", "jitter", "velocity", "angle")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.USES.index(use)])


@dataclass(frozen=True)
class Place:
    """Where tables come from: the scene's number of axes, and the folder that paths of meshes start at."""

    dimension: int
    folder: Path

    @property
    def origin(self) -> tuple[float, ...]:
        return (0.0,) * self.dimension

    @property
    def right(self) -> tuple[float, ...]:
        return (1.0, *self.origin[1:])


@dataclass(frozen=True)
class _Maker:
    """One table on its way to a group."""

    table: BodyFields
    path: str
    count: int
    chance: Chance
    where: Place

    def each(self, field: str) -> Any:
        """A field that may hold a list: with as many entries as there are bodies."""
        vectors = ("velocity",) if self.where.dimension == 2 else ("velocity", "spin", "inertia")
        return self.checked(field, getattr(self.table, field), 2 if field in vectors else 1)

    def checked(self, field: str, value: Any, many: int) -> Any:
        """`many` is the number of axes of a list."""
        length = len(value) if np.ndim(value) == many else None
        if length not in (None, self.count):
            raise ProblemError(f"{self.path}.{field}", f"{length} entries", f"one, or {self.count}: one for each body")
        return value

    @property
    def velocity(self) -> Any:
        return 0.0 if self.table.velocity is None else self.each("velocity")

    @property
    def orientation(self) -> Any:
        """Quaternions (4,) or (n, 4)."""
        turned = self.table.quaternions()
        name = "orientation" if self.table.rotation is None else "rotation.degrees"
        return np.array(UNTURNED) if turned is None else self.checked(name, turned, 2)

    def shape(self) -> Shape:
        table = self.table
        kind = table.shape_name(self.where.dimension)
        if kind in ("disc", "sphere"):
            made: type[Disc | Sphere] = Disc if kind == "disc" else Sphere
            if isinstance(table.radius, (UniformRadius, NormalRadius, ChoiceRadius)):
                return made(radii(table.radius, self.count, self.chance("radius")))
            return made(self.each("radius"))
        if kind == "box":
            assert table.size is not None
            return Rectangle(table.size[0], table.size[1])
        if kind == "polygon":
            assert table.vertices is not None
            corners = [(float(x), float(y)) for x, y in table.vertices]
            convex_polygon(corners, f"{self.path}.vertices")
            return Polygon(corners)
        return solid(table, self.path, self.where.folder)

    def group(self, shape: Shape, position: Floats, velocity: Any, angle: Any, orientation: Any = UNTURNED) -> Bodies:
        return Bodies(
            shape=shape,
            position=position,
            velocity=velocity,
            angle=angle,
            orientation=orientation,
            spin=self.each("spin"),
            mass=self.each("mass"),
            inertia=self.each("inertia"),
            material=self.table.material,
            motion=motion_of(self.table.motion),
            rotates=self.table.rotates,
            name=self.table.name,
        )


def affordable(count: int, path: str) -> int:
    """A slip of the finger should not ask for more memory than there is."""
    if count > MOST:
        raise ProblemError(
            path, f"{count:.3g} bodies" if count < 1e300 else "endless bodies", f"at most {MOST:,} bodies"
        )
    return count


def explicit(table: BodiesTable, path: str, where: Place) -> Bodies:
    """The group of a [[bodies]] table."""
    position = np.atleast_2d(table.position)
    make = _Maker(table, path, len(position), Chance(0), where)
    return make.group(make.shape(), position, make.velocity, make.each("angle"), make.orientation)


def generated(table: PlacedTable, path: str, where: Place) -> Bodies:
    """The group of a [[generators]] table."""
    count = affordable(table.count, path)
    make = _Maker(table, path, count, Chance(table.seed), where)
    shape, angle, turned = make.shape(), make.each("angle"), make.orientation
    if table.random_angle:
        angle = angle + 2.0 * np.pi * make.chance("angle").random(count)
    if table.random_orientation:
        drawn = layout.random_orientations(count, make.chance("angle"))
        turned = product(drawn, np.array(np.broadcast_to(turned, (count, 4))))
    size: layout.Reach
    if isinstance(shape, Solid):
        alike = np.unique(turned.reshape(-1, 4), axis=0)
        size = extent_of(path, shape, count, alike[0] if len(alike) == 1 else None)
    else:
        size = outline(shape, angle, count)
    position = _places(table, size, path, make)
    if table.jitter > 0.0:
        position = layout.jittered(position, table.jitter, make.chance("jitter"))
    return make.group(shape, position, _velocity(table, make), angle, turned)


def _velocity(table: GeneratorFields, make: _Maker) -> Any:
    velocity, extra = make.velocity, table.random_velocity
    if extra is None:
        return velocity
    chance, d = make.chance("velocity"), make.where.dimension
    return velocity + layout.random_velocities(make.count, extra.kind, extra.speed, extra.no_drift, chance, d)


def outline(shape: Disc | Rectangle | Polygon, angle: float | Floats, count: int) -> layout.Outline:
    """How far the bodies reach; circles round them where they are turned by different angles."""
    if isinstance(shape, Disc):
        return layout.Outline(np.array(np.broadcast_to(np.asarray(shape.radius, dtype=np.float64), (count,))))
    if isinstance(shape, Rectangle):
        corners = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (shape.width, shape.height)
    else:
        corners = convex_polygon(shape.vertices, "vertices")
    circle = np.full(count, np.hypot(*corners.T).max())
    turns = np.unique(angle)
    if len(turns) > 1:
        return layout.Outline(circle)
    c, s = np.cos(turns[0]), np.sin(turns[0])
    return layout.Outline(circle, corners @ np.array([[c, s], [-s, c]]))


def radii(table: UniformRadius | NormalRadius | ChoiceRadius, count: int, random: np.random.Generator) -> Floats:
    """Radii by chance, (count,)."""
    if isinstance(table, UniformRadius):
        return random.uniform(table.low, table.high, count)
    if isinstance(table, ChoiceRadius):
        weights = np.ones(len(table.values)) if table.weights is None else np.array(table.weights)
        return random.choice(np.array(table.values), size=count, p=weights / weights.sum())
    low, high = table.bounds
    drawn = random.normal(table.mean, table.deviation, count)
    for _ in range(100):
        outside = np.flatnonzero((drawn < low) | (drawn > high))
        if not len(outside):
            return drawn
        drawn[outside] = random.normal(table.mean, table.deviation, len(outside))
    return np.clip(drawn, low, high)  # bounds so narrow that chance does not meet them


def _places(table: PlacedTable, size: layout.Reach, path: str, make: _Maker) -> Floats:
    where = make.where
    if isinstance(table, (Grid, HexGrid)):
        layers = table.layers if where.dimension == 3 else None
        rest = (table.center, table.corner, layers)
        if isinstance(table, Grid):
            return layout.grid(table.rows, table.columns, table.spacing or size.extent, *rest)
        return layout.hex_grid(table.rows, table.columns, table.spacing or size.diameter, *rest)
    if isinstance(table, Chain):
        return layout.chain(size, table.start or where.origin, table.direction or where.right, table.gap)
    if isinstance(table, Rack):
        return layout.rack(table.rows, table.spacing or size.diameter, _pair(table.apex), _pair(table.direction))
    if isinstance(table, Ring):
        return _ring(table, size)
    return random_pour(size.radius, _region(table, where), table.gap, make.chance("place"), path)


def _pair(point: tuple[float, ...]) -> tuple[float, float]:
    return point[0], point[1]


def _ring(table: Ring, size: layout.Reach) -> Floats:
    spacing, center = table.spacing or size.diameter, _pair(table.center)
    if table.rings is not None:
        return layout.rings(table.rings, center, spacing, table.start_angle)
    radius = layout.ring_radius(table.count, spacing) if table.ring_radius is None else table.ring_radius
    return layout.ring(table.count, center, radius, table.start_angle)


def _region(table: RandomPour, where: Place) -> Region:
    if table.circle_or_ball is not None:
        return Region(table.circle_or_ball.center or where.origin, radius=table.circle_or_ball.radius)
    assert table.lower is not None
    assert table.upper is not None
    return Region(table.lower, table.upper)
