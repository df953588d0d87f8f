"""Motions of bodies and boundaries that nothing can push: fixed, vibrating, rotating, moving, table, scripted.

A motion gives the displacement of its owner from its place in the scene: `pose(t) = (dx, dy, turn)` in 2D and
`pose(t, 3) = (dx, dy, dz, rx, ry, rz)` in 3D, in units of length and radians; (rx, ry, rz) is the axis of rotation
times the angle. In a step from t to t + h the owner moves at `(pose(t + h) - pose(t)) / h`, so that at the end of
every step it is exactly at its prescribed pose, for any step size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..errors import ProblemError
from .checks import AXIS, DIRECTION, NUMBER, POINT, ListOf, Schema, Where, refuse, suggestion
from .fields import ONLY_3D, KindOf, check_fields

Pose = tuple[float, ...]
Vector = tuple[float, ...]
POSES = {2: "(dx, dy) or (dx, dy, turn)", 3: "(dx, dy, dz) or (dx, dy, dz, rx, ry, rz)"}  # that scripts may return
Column = Annotated[Sequence[float], ListOf(NUMBER)]


class Motion:
    """Base of all motions. `about` is the center of rotation; None means the owner's own place."""

    kind: ClassVar[str]
    about: Vector | None = None

    def __post_init__(self) -> None:
        check_fields(self, "motion")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        """The displacement at a time: 3 numbers in 2D, 6 in 3D."""
        raise NotImplementedError(f"{type(self).__name__} must define pose(time, dimension)")

    def check(self, path: str, dimension: int) -> None:
        """Raises ProblemError if a vector has another number of components than the scene has axes."""
        for name in ("about", "direction", "velocity"):
            value = getattr(self, name, None)
            if value is not None and np.shape(value) != (dimension,):
                raise ProblemError(f"{path}.{name}", value, f"{dimension} numbers, as the scene has {dimension} axes")

    @property
    def storable(self) -> bool:
        """Whether the motion can be written to a file and read again."""
        return KINDS.get(self.kind) is type(self)


@dataclass(frozen=True)
class Fixed(Motion):
    """The owner does not move."""

    kind: ClassVar[str] = "fixed"

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension)


FIXED = Fixed()


@dataclass(frozen=True)
class Vibrating(Motion):
    """`amplitude * (sin(2 pi frequency t + phase) - sin(phase))` along `direction`, which is normalized.

    The direction None means upwards: along y in 2D, along z in 3D.
    """

    kind: ClassVar[str] = "vibrating"
    amplitude: Annotated[float, NUMBER]
    frequency: Annotated[float, NUMBER, "cycles per unit of time"]
    direction: Annotated[Vector | None, DIRECTION, "upwards by default"] = None
    phase: Annotated[float, NUMBER, "radians"] = 0.0

    def pose(self, time: float, dimension: int = 2) -> Pose:
        s = self.amplitude * (np.sin(2.0 * np.pi * self.frequency * time + self.phase) - np.sin(self.phase))
        along = self.direction or (*((0.0,) * (dimension - 1)), 1.0)
        s /= _length(along)
        return _pose(dimension, tuple(s * c for c in along))


@dataclass(frozen=True)
class Rotating(Motion):
    """Rotation at `speed` radians per unit of time about `about` or the owner's own place; in 3D about `axis`."""

    kind: ClassVar[str] = "rotating"
    speed: Annotated[float, NUMBER]
    about: Annotated[Vector | None, POINT] = None
    axis: Annotated[Vector, AXIS, ONLY_3D] = (0.0, 0.0, 1.0)

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension, turn=self.speed * time, axis=self.axis)


@dataclass(frozen=True)
class Moving(Motion):
    """Translation at a constant velocity and rotation at `spin` radians per unit of time; in 3D about `axis`."""

    kind: ClassVar[str] = "moving"
    velocity: Annotated[Vector, POINT]
    spin: Annotated[float, NUMBER] = 0.0
    axis: Annotated[Vector, AXIS, ONLY_3D] = (0.0, 0.0, 1.0)

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension, tuple(v * time for v in self.velocity), self.spin * time, self.axis)


@dataclass(frozen=True)
class Table(Motion):
    """Linear interpolation between displacements at given times, constant before the first and after the last.

    In 3D the rotation by `turn` radians is about `axis`.
    """

    kind: ClassVar[str] = "table"
    times: Column
    x: Column
    y: Column
    turn: Column = ()
    z: Annotated[Sequence[float], ListOf(NUMBER), ONLY_3D] = ()
    axis: Annotated[Vector, AXIS, ONLY_3D] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.times) < 2 or not (np.diff(self.times) > 0.0).all():
            raise ProblemError("motion.times", self.times, "at least two times in rising order")
        for name in ("x", "y", "turn", "z"):
            given = getattr(self, name)
            if len(given) != len(self.times) and not (name in ("turn", "z") and not len(given)):
                raise ProblemError(f"motion.{name}", given, f"{len(self.times)} values, one for each time")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        columns = (self.x, self.y, self.z, self.turn)
        x, y, z, turn = (float(np.interp(time, self.times, c)) if len(c) else 0.0 for c in columns)
        return _pose(dimension, (x, y, z)[:dimension], turn, self.axis)


@dataclass(frozen=True)
class Scripted(Motion):
    """A Python function of time that returns (dx, dy) or (dx, dy, turn); in 3D (dx, dy, dz), or with (rx, ry, rz).

    It cannot be written to a file.
    """

    kind: ClassVar[str] = "scripted"
    function: Callable[[float], Sequence[float]]

    def pose(self, time: float, dimension: int = 2) -> Pose:
        values = tuple(float(v) for v in self.function(time))
        full = 3 * dimension - 3
        if len(values) not in (dimension, full) or not np.isfinite(values).all():
            raise ProblemError("motion.function", list(values), f"{POSES[dimension]}, finite, at time {time:g}")
        return (*values, *((0.0,) * (full - len(values))))


KINDS: dict[str, type[Motion]] = {c.kind: c for c in (Fixed, Vibrating, Rotating, Moving, Table)}  # in files


class MotionOf(KindOf):
    """A motion in a scene file: a table, or the words "fixed" and, for bodies, "free" (None)."""

    def read(self, value: Any, where: Where) -> Motion | None:
        if isinstance(value, Mapping):
            made: Motion = super().read(value, where)
            return FIXED if made == FIXED else made
        words = ["free", "fixed"] if self.default == "free" else ["fixed"]
        if value not in words:
            if value == "free":
                raise refuse('"fixed" or a table: nothing pushes a boundary', value)
            named = ", ".join(f'"{word}"' for word in words)
            raise refuse(f"{named}, or a table with kind = {', '.join(KINDS)}{suggestion(value, words)}", value)
        return FIXED if value == "fixed" else None

    def schema(self) -> Schema:
        words = ["free", "fixed"] if self.default == "free" else ["fixed"]
        return {"anyOf": [{"enum": words}, *super().schema()["anyOf"]]}


MOTION, MOTION_OR_FREE = MotionOf(KINDS), MotionOf(KINDS, "free")


def _pose(dimension: int, shift: Vector = (), turn: float = 0.0, axis: Vector = (0.0, 0.0, 1.0)) -> Pose:
    place = tuple(float(s) for s in shift) or (0.0,) * dimension
    if dimension == 2:
        return (*place, turn)
    size = _length(axis)
    return (*place, *(turn * float(c) / size for c in axis))


def _length(vector: Vector) -> float:
    return float(np.sqrt((np.asarray(vector, dtype=np.float64) ** 2).sum()))
