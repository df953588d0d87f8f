"""[[generators]] of a scene file: many bodies by one table. `scene/generators.py` computes where they go."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from .bodies import BodyFields
from .tables import FileTable
from .values import (
    MISSING,
    Count,
    Direction,
    Flag,
    NotNegative,
    Number,
    Numbers,
    Point,
    Points,
    Positive,
    Seed,
    Spacing,
    Text,
    VelocityName,
    wrong,
)


class RandomVelocity(FileTable):
    """Added to `velocity`. normal: each component has standard deviation `speed`; uniform: each lies within
    +-speed; direction: exactly `speed`, any direction."""

    kind: VelocityName = "normal"
    speed: NotNegative
    no_drift: Flag = Field(False, description="take the mean off, so that the bodies do not move as a whole")


class GeneratorFields(BodyFields):
    """What all generators have besides the fields of bodies."""

    jitter: NotNegative = Field(0.0, description="each body is moved by up to this far, in any direction")
    random_velocity: RandomVelocity | None = None
    random_angle: Flag = Field(False, description="each body is turned by any angle")
    seed: Seed = 0


class Grid(GeneratorFields):
    """Rows and columns. The spacing is that of bodies which touch, unless it is given."""

    kind: Literal["grid"]
    rows: Count
    columns: Count
    spacing: Spacing | None = None
    center: Point | None = Field(None, description="of the whole; [0, 0] if neither this nor corner is given")
    corner: Point | None = Field(None, description="place of the lower left body")

    @model_validator(mode="after")
    def _one_place(self) -> Grid:
        if self.center is not None and self.corner is not None:
            raise wrong("either center or corner, not both", list(self.corner), ("corner",))
        return self

    @property
    def count(self) -> int:
        return self.rows * self.columns


class HexGrid(GeneratorFields):
    """Rows in which every other one is moved by half a spacing, as close as circles can lie."""

    kind: Literal["hex_grid"]
    rows: Count
    columns: Count
    spacing: Positive | None = None
    center: Point | None = Field(None, description="of the whole; [0, 0] if neither this nor corner is given")
    corner: Point | None = Field(None, description="place of the lower left body")

    @model_validator(mode="after")
    def _one_place(self) -> HexGrid:
        if self.center is not None and self.corner is not None:
            raise wrong("either center or corner, not both", list(self.corner), ("corner",))
        return self

    @property
    def count(self) -> int:
        return self.rows * self.columns


class Circle(FileTable):
    """A circular region."""

    radius: Positive
    center: Point = (0.0, 0.0)


class RandomPour(GeneratorFields):
    """Anywhere in a region, without overlap: a box from `lower` to `upper`, or a `circle`."""

    kind: Literal["random_pour"]
    count: Count
    lower: Point | None = None
    upper: Point | None = None
    circle: Circle | None = None
    gap: NotNegative = Field(0.0, description="least distance between two bodies")

    @model_validator(mode="after")
    def _one_region(self) -> RandomPour:
        if self.circle is not None:
            if self.lower is not None or self.upper is not None:
                raise wrong("either lower and upper, or circle, not both", MISSING, ("circle",))
            return self
        for field in ("lower", "upper"):
            if getattr(self, field) is None:
                raise wrong("a corner [x, y] of the region; or give circle = {center, radius}", MISSING, (field,))
        assert self.lower is not None
        assert self.upper is not None
        if not (self.lower[0] < self.upper[0] and self.lower[1] < self.upper[1]):
            raise wrong(f"both components above lower = {list(self.lower)}", list(self.upper), ("upper",))
        return self


class Chain(GeneratorFields):
    """A straight line of bodies; neighbours touch, or leave a gap."""

    kind: Literal["chain"]
    count: Count
    start: Point = Field((0.0, 0.0), description="place of the first body")
    direction: Direction = (1.0, 0.0)
    gap: NotNegative = 0.0


class Rack(GeneratorFields):
    """A triangle of bodies, 1 in the first row, `rows` in the last, which lies furthest along `direction`."""

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

    kind: Literal["ring"]
    number: Count | None = None
    rings: Count | None = None
    center: Point = (0.0, 0.0)
    ring_radius: NotNegative | None = Field(None, description="of the circle; neighbours touch if not given")
    spacing: Positive | None = Field(None, description="of neighbours on the circle, or from ring to ring")
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


class Copies(FileTable):
    """Copies of another group, moved: by a list of `offsets`, or on a grid of rows and columns."""

    kind: Literal["copies"]
    of: Text = Field(description="name of a group in [[bodies]] or [[generators]]")
    name: Text = ""
    offsets: Points | None = None
    rows: Count = 1
    columns: Count = 1
    spacing: Spacing | None = None
    start: Point = Field((0.0, 0.0), description="offset of the first copy of a grid")
    turn: Numbers = Field(0.0, description="radians, about the mean place of the group; one, or one for each copy")
    velocity: Points = Field(
        default_factory=lambda: np.zeros(2), description="added to that of the group; one, or one for each copy"
    )
    template: Flag = False

    @model_validator(mode="after")
    def _one_layout(self) -> Copies:
        grid = self.rows * self.columns > 1 or self.spacing is not None
        if self.offsets is not None and grid:
            raise wrong("either offsets, or rows, columns and spacing", MISSING, ("offsets",))
        if self.offsets is None and self.spacing is None:
            raise wrong("offsets = [[x, y], ...], or spacing with rows and columns", MISSING, ("offsets",))
        return self


PlacedTable = Grid | HexGrid | RandomPour | Chain | Rack | Ring
GeneratorTable = Annotated[
    Grid | HexGrid | RandomPour | Chain | Rack | Ring | Copies,
    Field(discriminator="kind"),
]
GENERATORS = ["grid", "hex_grid", "random_pour", "chain", "rack", "ring", "copies"]
