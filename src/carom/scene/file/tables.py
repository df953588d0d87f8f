"""The base of all tables of a scene file, and the tables of motions."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, model_validator

from ..motion import FIXED, Motion, Moving, Rotating, Table, Vibrating
from .values import GIVEN, Number, unknown_key, wrong
from .vectors import Axis, Direction, Point, axes

WHERE = {2: "the scene lies in the plane (dimension = 3 makes it one of space)", 3: "the scene lies in space"}
UP: tuple[float, ...] = (0.0, 0.0, 1.0)


class FileTable(BaseModel):
    """A table that has no other keys than its fields.

    Some keys, or the whole table, make sense in the plane or in space alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    plane_keys: ClassVar[tuple[str, ...]] = ()
    space_keys: ClassVar[tuple[str, ...]] = ()
    only_axes: ClassVar[int | None] = None
    instead: ClassVar[str] = ""  # the kinds of the other dimension

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict):
            return data
        d = axes(info)
        if cls.only_axes not in (None, d):
            raise wrong(f"one of {cls.instead}: {WHERE[d]}", data.get("kind"), ("kind",))
        foreign = cls.space_keys if d == 2 else cls.plane_keys
        for key in data:
            if key not in cls.model_fields:
                raise unknown_key(key, data[key], [name for name in cls.model_fields if name not in foreign])
            if key in foreign:
                raise wrong(f"nothing: {WHERE[d]}", GIVEN, (key,))
        return data


class FixedTable(FileTable):
    """Stays where it is."""

    kind: Literal["fixed"]

    def motion(self) -> Motion:
        return FIXED


class VibratingTable(FileTable):
    """`amplitude * sin(2 pi frequency t + phase)` along `direction`, less its value at t = 0."""

    kind: Literal["vibrating"]
    amplitude: Number
    frequency: Number = Field(description="cycles a time unit")
    direction: Direction | None = Field(None, description="upwards if not given")
    phase: Number = Field(0.0, description="radians")

    def motion(self) -> Motion:
        return Vibrating(self.amplitude, self.frequency, self.direction, self.phase)


class RotatingTable(FileTable):
    """Turns at `speed` radians a time unit, about `about` or about its own place; in space round `axis`."""

    space_keys: ClassVar[tuple[str, ...]] = ("axis",)
    kind: Literal["rotating"]
    speed: Number
    about: Point | None = None
    axis: Axis = UP

    def motion(self) -> Motion:
        return Rotating(self.speed, self.about, self.axis)


class MovingTable(FileTable):
    """Moves at a constant velocity and turns at a constant rate; in space round `axis`."""

    space_keys: ClassVar[tuple[str, ...]] = ("axis",)
    kind: Literal["moving"]
    velocity: Point
    spin: Number = 0.0
    axis: Axis = UP

    def motion(self) -> Motion:
        return Moving(self.velocity, self.spin, self.axis)


class TableTable(FileTable):
    """Straight lines between displacements at given times; in space it turns round `axis`."""

    space_keys: ClassVar[tuple[str, ...]] = ("axis", "z")
    kind: Literal["table"]
    times: list[Number]
    x: list[Number]
    y: list[Number]
    turn: list[Number] = Field(default_factory=list)
    z: list[Number] = Field(default_factory=list)
    axis: Axis = UP

    def motion(self) -> Motion:
        times, x, y, turn, z = (tuple(column) for column in (self.times, self.x, self.y, self.turn, self.z))
        return Table(times, x, y, turn, z, self.axis)


def _motion_kind(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("kind")
    return "word" if value in ("free", "fixed") else value


MotionTable = Annotated[
    Annotated[Literal["free", "fixed"], Tag("word")]
    | Annotated[FixedTable, Tag("fixed")]
    | Annotated[VibratingTable, Tag("vibrating")]
    | Annotated[RotatingTable, Tag("rotating")]
    | Annotated[MovingTable, Tag("moving")]
    | Annotated[TableTable, Tag("table")],
    Discriminator(_motion_kind),
]


def motion_of(value: Any) -> Motion | None:
    """The motion that a file's `motion` means; None for a body that is free."""
    if isinstance(value, str):
        return FIXED if value == "fixed" else None
    made: Motion = value.motion()
    return made
