"""Tables of bodies and generators -> groups of bodies, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...shapes import convex_polygon
from ...solvers.rows import Floats
from .. import generators as layout
from ..model import Bodies, Disc, Polygon, Rectangle, Shape
from ..pour import Region, random_pour
from .bodies import BodiesTable, BodyFields, ChoiceRadius, NormalRadius, UniformRadius
from .generators import Chain, GeneratorFields, Grid, HexGrid, PlacedTable, Rack, RandomPour, Ring
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
class _Maker:
    """One table on its way to a group."""

    table: BodyFields
    path: str
    count: int
    chance: Chance

    def each(self, field: str) -> Any:
        """A field that may hold a list: with as many entries as there are bodies."""
        value = getattr(self.table, field)
        length = np.shape(value)[0] if np.ndim(value) == (2 if field == "velocity" else 1) else None
        if length not in (None, self.count):
            raise ProblemError(f"{self.path}.{field}", f"{length} entries", f"one, or {self.count}: one for each body")
        return value

    def shape(self) -> Shape:
        table = self.table
        if table.size is not None:
            return Rectangle(*table.size)
        if table.vertices is not None:
            convex_polygon(table.vertices, f"{self.path}.vertices")
            return Polygon(table.vertices)
        if isinstance(table.radius, (UniformRadius, NormalRadius, ChoiceRadius)):
            return Disc(radii(table.radius, self.count, self.chance("radius")))
        return Disc(self.each("radius"))

    def group(self, shape: Shape, position: Floats, velocity: Any, angle: Any) -> Bodies:
        return Bodies(
            shape=shape,
            position=position,
            velocity=velocity,
            angle=angle,
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


def explicit(table: BodiesTable, path: str) -> Bodies:
    """The group of a [[bodies]] table."""
    position = np.atleast_2d(table.position)
    make = _Maker(table, path, len(position), Chance(0))
    return make.group(make.shape(), position, make.each("velocity"), make.each("angle"))


def generated(table: PlacedTable, path: str) -> Bodies:
    """The group of a [[generators]] table."""
    count = affordable(table.count, path)
    make = _Maker(table, path, count, Chance(table.seed))
    shape, angle = make.shape(), make.each("angle")
    if table.random_angle:
        angle = angle + 2.0 * np.pi * make.chance("angle").random(count)
    position = _places(table, outline(shape, angle, count), path, make.chance)
    if table.jitter > 0.0:
        position = layout.jittered(position, table.jitter, make.chance("jitter"))
    return make.group(shape, position, _velocity(table, make), angle)


def _velocity(table: GeneratorFields, make: _Maker) -> Floats:
    velocity: Floats = make.each("velocity")
    extra = table.random_velocity
    if extra is None:
        return velocity
    drawn = layout.random_velocities(make.count, extra.kind, extra.speed, extra.no_drift, make.chance("velocity"))
    return velocity + drawn


def outline(shape: Shape, angle: float | Floats, count: int) -> layout.Outline:
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


def _places(table: PlacedTable, size: layout.Outline, path: str, chance: Chance) -> Floats:
    if isinstance(table, Grid):
        return layout.grid(table.rows, table.columns, table.spacing or size.extent, table.center, table.corner)
    if isinstance(table, HexGrid):
        return layout.hex_grid(table.rows, table.columns, table.spacing or size.diameter, table.center, table.corner)
    if isinstance(table, Chain):
        return layout.chain(size, table.start, table.direction, table.gap)
    if isinstance(table, Rack):
        return layout.rack(table.rows, table.spacing or size.diameter, table.apex, table.direction)
    if isinstance(table, Ring):
        return _ring(table, size)
    return random_pour(size.radius, _region(table), table.gap, chance("place"), path)


def _ring(table: Ring, size: layout.Outline) -> Floats:
    spacing = table.spacing or size.diameter
    if table.rings is not None:
        return layout.rings(table.rings, table.center, spacing, table.start_angle)
    radius = layout.ring_radius(table.count, spacing) if table.ring_radius is None else table.ring_radius
    return layout.ring(table.count, table.center, radius, table.start_angle)


def _region(table: RandomPour) -> Region:
    if table.circle is not None:
        return Region(table.circle.center, radius=table.circle.radius)
    assert table.lower is not None
    assert table.upper is not None
    return Region(table.lower, table.upper)
