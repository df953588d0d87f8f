"""The base of all tables of a scene file, and the tables of motions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from ..motion import FIXED, Motion, Moving, Rotating, Table, Vibrating
from .values import Direction, Number, Point, unknown_key


class FileTable(BaseModel):
    """A table that has no other keys than its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                raise unknown_key(key, data[key], list(cls.model_fields))
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
    direction: Direction = (0.0, 1.0)
    phase: Number = Field(0.0, description="radians")

    def motion(self) -> Motion:
        return Vibrating(self.amplitude, self.frequency, self.direction, self.phase)


class RotatingTable(FileTable):
    """Turns at `speed` radians a time unit, about `about` or about its own place."""

    kind: Literal["rotating"]
    speed: Number
    about: Point | None = None

    def motion(self) -> Motion:
        return Rotating(self.speed, self.about)


class MovingTable(FileTable):
    """Moves at a constant velocity and turns at a constant rate."""

    kind: Literal["moving"]
    velocity: Point
    spin: Number = 0.0

    def motion(self) -> Motion:
        return Moving(self.velocity, self.spin)


class TableTable(FileTable):
    """Straight lines between displacements at given times."""

    kind: Literal["table"]
    times: list[Number]
    x: list[Number]
    y: list[Number]
    turn: list[Number] = Field(default_factory=list)

    def motion(self) -> Motion:
        return Table(tuple(self.times), tuple(self.x), tuple(self.y), tuple(self.turn))


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
