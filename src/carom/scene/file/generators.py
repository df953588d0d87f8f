"""[[generators]] of a scene file: many bodies by one table. `scene/generators.py` computes where they go."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from .bodies import BodyFields
from .shapes import TurnFields
from .tables import FileTable
from .values import (
    GIVEN,
    MISSING,
    Count,
    Flag,
    NotNegative,
    Number,
    Numbers,
    Positive,
    Seed,
    Text,
    VelocityName,
    wrong,
)
from .vectors import Direction, Point, Points, Spacing


class RandomVelocity(FileTable):
    """Added to `velocity`. normal: each component has standard deviation `speed`; uniform: each lies within
    +-speed; direction: exactly `speed`, any direction."""

    kind: VelocityName = "normal"
    speed: NotNegative
    no_drift: Flag = Field(False, description="take the mean off, so that the bodies do not move as a whole")


class GeneratorFields(BodyFields):
    """What all generators have besides the fields of bodies."""

    plane_keys: ClassVar[tuple[str, ...]] = (*BodyFields.plane_keys, "random_angle")
    space_keys: ClassVar[tuple[str, ...]] = (*BodyFields.space_keys, "random_orientation")

    jitter: NotNegative = Field(0.0, description="each body is moved by up to this far, in any direction")
    random_velocity: RandomVelocity | None = None
    random_angle: Flag = Field(False, description="each body is turned by any angle; in the plane")
    random_orientation: Flag = Field(False, description="each body is turned any way round; in space")
    seed: Seed = 0


class GridFields(GeneratorFields):
    """Rows and columns, in space in layers."""

    space_keys: ClassVar[tuple[str, ...]] = (*GeneratorFields.space_keys, "layers")

    rows: Count = Field(description="along y")
    columns: Count = Field(description="along x")
    layers: Count = Field(1, description="along z; in space alone")
    center: Point | None = Field(None, description="of the whole; the origin if neither this nor corner is given")
    corner: Point | None = Field(None, description="place of the first body: lowest x, y and z")

    @model_validator(mode="after")
    def _one_place(self) -> GridFields:
        if self.center is not None and self.corner is not None:
            raise wrong("either center or corner, not both", list(self.corner), ("corner",))
        return self

    @property
    def count(self) -> int:
        return self.rows * self.columns * self.layers


class Grid(GridFields):
    """A rectangular grid. The spacing is that of bodies which touch, unless it is given."""

    kind: Literal["grid"]
    spacing: Spacing | None = None


class HexGrid(GridFields):
    """As close as circles can lie: every other row is moved by half a spacing. In space hexagonal close packing."""

    kind: Literal["hex_grid"]
    spacing: Positive | None = None


class Round(FileTable):
    """A circular region, in space a ball."""

    radius: Positive
    center: Point | None = Field(None, description="the origin if not given")


class RandomPour(GeneratorFields):
    """Anywhere in a region, without overlap: a box from `lower` to `upper`, or a `circle`, in space a `ball`."""

    plane_keys: ClassVar[tuple[str, ...]] = (*GeneratorFields.plane_keys, "circle")
    space_keys: ClassVar[tuple[str, ...]] = (*GeneratorFields.space_keys, "ball")

    kind: Literal["random_pour"]
    count: Count
    lower: Point | None = None
    upper: Point | None = None
    circle: Round | None = None
    ball: Round | None = None
    gap: NotNegative = Field(0.0, description="least distance between two bodies")

    @property
    def circle_or_ball(self) -> Round | None:
        return self.circle or self.ball

    @model_validator(mode="after")
    def _one_region(self) -> RandomPour:
        if self.circle_or_ball is not None:
            if self.lower is not None or self.upper is not None:
                name = "circle" if self.circle else "ball"
                raise wrong(f"either lower and upper, or {name}, not both", GIVEN, (name,))
            return self
        for field in ("lower", "upper"):
            if getattr(self, field) is None:
                raise wrong("a corner of the region; or give circle, in space ball", MISSING, (field,))
        assert self.lower is not None
        assert self.upper is not None
        if not all(low < high for low, high in zip(self.lower, self.upper)):
            raise wrong(f"all components above lower = {list(self.lower)}", list(self.upper), ("upper",))
        return self


class Chain(GeneratorFields):
    """A straight line of bodies; neighbors touch, or leave a gap."""

    kind: Literal["chain"]
    count: Count
    start: Point | None = Field(None, description="place of the first body; the origin if not given")
    direction: Direction | None = Field(None, description="along x if not given")
    gap: NotNegative = 0.0


class Rack(GeneratorFields):
    """A triangle of bodies, 1 in the first row, `rows` in the last, which lies furthest along `direction`."""

    only_axes = 2
    instead = "grid, hex_grid, random_pour, chain, copies"

    kind: Literal["rack"]
    rows: Count
    apex: Point = Field((0.0, 0.0), description="place of the body in the first row")
    direction: Direction = (1.0, 0.0)
    spacing: Positive | None = None

    @property
    def count(self) -> int:
        return self.rows * (self.rows + 1) // 2


class Ring(GeneratorFields):
    """`number` bodies on a circle; or `rings` full circles of 6, 12, 18 ... round one in the middle."""

    only_axes = 2
    instead = "grid, hex_grid, random_pour, chain, copies"

    kind: Literal["ring"]
    number: Count | None = None
    rings: Count | None = None
    center: Point = (0.0, 0.0)
    ring_radius: NotNegative | None = Field(None, description="of the circle; neighbors touch if not given")
    spacing: Positive | None = Field(None, description="of neighbors on the circle, or from ring to ring")
    start_angle: Number = Field(0.0, description="where on the circle the first body lies, radians")

    @model_validator(mode="after")
    def _one_kind(self) -> Ring:
        if (self.number is None) == (self.rings is None):
            raise wrong("either number or rings", MISSING if self.number is None else self.rings, ("rings",))
        if self.ring_radius is not None and (self.rings is not None or self.spacing is not None):
            raise wrong("nothing where rings or spacing is given", self.ring_radius, ("ring_radius",))
        return self

    @property
    def count(self) -> int:
        if self.number is not None:
            return self.number
        assert self.rings is not None
        return 1 + 3 * self.rings * (self.rings + 1)


class Copies(TurnFields):
    """Copies of another group, moved: by a list of `offsets`, or on a grid of rows and columns, in space of layers."""

    plane_keys: ClassVar[tuple[str, ...]] = ("turn",)
    space_keys: ClassVar[tuple[str, ...]] = (*TurnFields.space_keys, "layers")

    kind: Literal["copies"]
    of: Text = Field(description="name of a group in [[bodies]] or [[generators]]")
    name: Text = ""
    offsets: Points | None = None
    rows: Count = 1
    columns: Count = 1
    layers: Count = 1
    spacing: Spacing | None = None
    start: Point | None = Field(None, description="offset of the first copy of a grid; none if not given")
    turn: Numbers = Field(0.0, description="radians, about the mean place of the group; one, or one for each copy")
    velocity: Points | None = Field(None, description="added to that of the group; one, or one for each copy")
    template: Flag = False

    @property
    def count(self) -> int:
        if self.offsets is None:
            return self.rows * self.columns * self.layers
        return 1 if self.offsets.ndim == 1 else len(self.offsets)

    @model_validator(mode="after")
    def _one_layout(self) -> Copies:
        grid = self.rows * self.columns * self.layers > 1 or self.spacing is not None
        if self.offsets is not None and grid:
            raise wrong("either offsets, or rows, columns and spacing", MISSING, ("offsets",))
        if self.offsets is None and self.spacing is None:
            raise wrong("a list of offsets, or spacing with rows and columns", MISSING, ("offsets",))
        return self


PlacedTable = Grid | HexGrid | RandomPour | Chain | Rack | Ring
GeneratorTable = Annotated[
    Grid | HexGrid | RandomPour | Chain | Rack | Ring | Copies,
    Field(discriminator="kind"),
]
GENERATORS = ["grid", "hex_grid", "random_pour", "chain", "rack", "ring", "copies"]
