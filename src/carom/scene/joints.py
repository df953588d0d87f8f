"""Joints of 2D and 3D scenes: pin, hinge, ball, slider, weld, rod, rope and spring.

A joint connects two bodies, or a body and the world. Points and axes are those at the start, in the frame of the world;
each is fixed to the bodies from then on. A body is named by its number among all bodies, counted from 0, by the name of
a group with one body, or as `name[k]`; "world" is the frame of the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from ..errors import ProblemError
from .checks import (
    DIRECTION,
    FLAG,
    FRACTION,
    INTERVAL,
    NOT_NEGATIVE,
    NUMBER,
    POINT,
    POSITIVE,
    TEXT,
    Check,
    ListOf,
    Schema,
    VectorOf,
    Where,
    refuse,
)
from .fields import KindOf, check_fields, fields_of, plain

# All that `carom.scene` passes on.
__all__ = ["BallJoint", "Hinge", "Pin", "Rod", "Rope", "Slider", "Spring", "Weld"]

Vector = tuple[float, ...]
WORLD = "world"
COLLIDE_ABOUT = "whether the two bodies may touch each other"
LIMITS_ABOUT = "[lower, upper] {} relative to the start; none by default"
MOTOR_ABOUT = "that a motor holds, of the second body relative to the first; no motor by default"


@dataclass(frozen=True)
class _Body(Check):
    """The number or the name of a body."""

    text = 'the number of a body, counted from 0, the name of a group, "name[k]", or "world"'

    def read(self, value: Any, where: Where) -> int | str:
        if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, int) and value < 0):
            raise refuse(self.text, value)
        return value

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}


BODIES = ListOf(_Body(), 2, 2, "a list of two bodies")
ENDS = ListOf(POINT, 2, 2, "a list of two points, one on each body")
Between = Annotated[tuple[int | str, int | str], BODIES, 'numbers or names; "world" for the frame of the world']
Point = Annotated[Vector, POINT, "where the joint is at the start"]
Ends = Annotated[tuple[Vector, Vector], ENDS, "a point of each body at the start"]
Axis = Annotated[Vector, DIRECTION, "normalized"]
Collide = Annotated[bool, FLAG, COLLIDE_ABOUT]
Bounce = Annotated[float, FRACTION, "of its limits"]


class Joint:
    """Base of the joints."""

    kind: ClassVar[str]
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    bodies: tuple[int | str, int | str]
    collide: bool
    name: str

    def __post_init__(self) -> None:
        check_fields(self, "joint")
        if self.bodies[0] == self.bodies[1]:
            raise ProblemError("joint.bodies", self.bodies, "two different bodies")
        limits, motor = getattr(self, "limits", None), getattr(self, "speed", None)
        if limits is not None and not limits[0] <= 0.0 <= limits[1]:
            raise ProblemError("joint.limits", limits, "[lower, upper] with lower <= 0 <= upper, 0 being the start")
        if motor is not None and self._largest is None:
            raise ProblemError(f"joint.{self._drive}", None, "the largest one that the motor has")
        if motor is None and self._largest is not None:
            wanted = f"the speed that a motor holds with this {self._drive}; 0 for a brake"
            raise ProblemError("joint.speed", None, wanted)

    _drive: ClassVar[str] = "torque"

    @property
    def _largest(self) -> float | None:
        return getattr(self, self._drive, None)

    def in_dimension(self, dimension: int, path: str) -> None:
        """Refuses a joint whose kind or vectors do not fit a scene of this dimension."""
        if dimension not in self.dimensions:
            known = [c.__name__ for c in KINDS.values() if dimension in c.dimensions]
            raise ProblemError(path, type(self).__name__, f"{', '.join(known)}: the bodies are {dimension}D")
        for name, field in fields_of(type(self)).items():
            value = getattr(self, name)
            vectors = value if name == "ends" else (value,)
            for vector in vectors if isinstance(field.check, VectorOf) or name == "ends" else ():
                if vector is not None and name != "limits" and len(vector) != dimension:
                    raise ProblemError(f"{path}.{name}", vector, f"{dimension} numbers: the bodies are {dimension}D")


@dataclass(frozen=True)
class Pin(Joint):
    """Two bodies share a point, about which they rotate; 2D."""

    kind: ClassVar[str] = "pin"
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    bodies: Between
    point: Point
    limits: Annotated[Vector | None, INTERVAL, LIMITS_ABOUT.format("angles")] = None
    restitution: Bounce = 0.0
    speed: Annotated[float | None, NUMBER, f"angular speed {MOTOR_ABOUT}"] = None
    torque: Annotated[float | None, NOT_NEGATIVE, "largest torque of the motor"] = None
    collide: Collide = False
    name: Annotated[str, TEXT] = ""


@dataclass(frozen=True)
class Hinge(Joint):
    """Two bodies share a line, the axis, about which they rotate; 3D."""

    kind: ClassVar[str] = "hinge"
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    bodies: Between
    point: Point
    axis: Axis
    limits: Annotated[Vector | None, INTERVAL, LIMITS_ABOUT.format("angles within -3.1 to 3.1")] = None
    restitution: Bounce = 0.0
    speed: Annotated[float | None, NUMBER, f"angular speed {MOTOR_ABOUT}"] = None
    torque: Annotated[float | None, NOT_NEGATIVE, "largest torque of the motor"] = None
    collide: Collide = False
    name: Annotated[str, TEXT] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limits is not None and max(map(abs, self.limits)) > 3.1:
            raise ProblemError("joint.limits", self.limits, "angles from -3.1 to 3.1")


@dataclass(frozen=True)
class BallJoint(Joint):
    """Two bodies share a point, about which they rotate in all directions; 3D."""

    kind: ClassVar[str] = "ball"
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    bodies: Between
    point: Point
    collide: Collide = False
    name: Annotated[str, TEXT] = ""


@dataclass(frozen=True)
class Slider(Joint):
    """Two bodies move along an axis only, without relative rotation."""

    kind: ClassVar[str] = "slider"
    bodies: Between
    point: Point
    axis: Axis
    limits: Annotated[Vector | None, INTERVAL, LIMITS_ABOUT.format("displacements")] = None
    restitution: Bounce = 0.0
    speed: Annotated[float | None, NUMBER, f"speed {MOTOR_ABOUT}"] = None
    force: Annotated[float | None, NOT_NEGATIVE, "largest force of the motor"] = None
    collide: Collide = False
    name: Annotated[str, TEXT] = ""
    _drive: ClassVar[str] = "force"


@dataclass(frozen=True)
class Weld(Joint):
    """Two bodies move as one."""

    kind: ClassVar[str] = "weld"
    bodies: Between
    point: Point
    collide: Collide = False
    name: Annotated[str, TEXT] = ""


@dataclass(frozen=True)
class Rod(Joint):
    """Two points, one of each body, keep the distance that they have at the start."""

    kind: ClassVar[str] = "rod"
    bodies: Between
    ends: Ends
    collide: Collide = True
    name: Annotated[str, TEXT] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if plain(self.ends[0]) == plain(self.ends[1]):
            raise ProblemError("joint.ends", self.ends, "two different points: a rod has a length")


@dataclass(frozen=True)
class Rope(Joint):
    """Two points, one of each body, are at most a length apart; a rope that becomes taut is a contact of the law."""

    kind: ClassVar[str] = "rope"
    bodies: Between
    ends: Ends
    length: Annotated[float | None, POSITIVE, "the distance at the start by default"] = None
    restitution: Annotated[float, FRACTION, "of a rope that becomes taut"] = 0.0
    collide: Collide = True
    name: Annotated[str, TEXT] = ""


@dataclass(frozen=True)
class Spring(Joint):
    """A force along the line of two points, one of each body: stiffness times stretch, damping times its rate."""

    kind: ClassVar[str] = "spring"
    bodies: Between
    ends: Ends
    stiffness: Annotated[float, NOT_NEGATIVE, "force over stretch"]
    damping: Annotated[float, NOT_NEGATIVE, "force over the rate of stretch"] = 0.0
    length: Annotated[float | None, NOT_NEGATIVE, "at rest; the distance at the start by default"] = None
    collide: Collide = True
    name: Annotated[str, TEXT] = ""


KINDS: dict[str, type[Joint]] = {c.kind: c for c in (Pin, Hinge, BallJoint, Slider, Weld, Rod, Rope, Spring)}
JOINT = KindOf(KINDS)
