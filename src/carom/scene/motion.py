"""Motions of bodies and boundaries that nothing can push: fixed, vibrating, rotating, moving, table, scripted.

A motion gives the displacement from where the scene put its owner: in the plane `pose(t) = (dx, dy, turn)`, in space
`pose(t, 3) = (dx, dy, dz, rx, ry, rz)`, lengths and radians; (rx, ry, rz) is the axis of the turn times its angle.
In a step from t to t + h its owner moves at `(pose(t + h) - pose(t)) / h`, so that it is where it should be at the
end of every step, exactly, whatever the size of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ProblemError

Pose = tuple[float, ...]
Direction = tuple[float, ...]


class Motion:
    """Base of all motions. `about` is the point round which it turns; None means the owner's own place."""

    kind: ClassVar[str]
    about: Direction | None = None

    def pose(self, time: float, dimension: int = 2) -> Pose:
        raise NotImplementedError(f"{type(self).__name__} must define pose(time, dimension)")

    def check(self, path: str, dimension: int) -> None:
        """Refuses vectors that belong to another dimension."""
        for name in ("about", "direction", "velocity", "axis"):
            value = getattr(self, name, None)
            if value is not None and np.shape(value) != (dimension,) and (name != "axis" or dimension == 3):
                raise ProblemError(f"{path}.{name}", value, f"{dimension} numbers, as the scene has {dimension} axes")

    @property
    def storable(self) -> bool:
        """Whether the motion can be written to a file and read again."""
        return True


@dataclass(frozen=True)
class Fixed(Motion):
    """Stays where it is."""

    kind: ClassVar[str] = "fixed"

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension)


FIXED = Fixed()


@dataclass(frozen=True)
class Vibrating(Motion):
    """`amplitude * sin(2 pi frequency t + phase) - amplitude * sin(phase)` along `direction`, made a unit vector.

    None means upwards: along y in the plane, along z in space.
    """

    kind: ClassVar[str] = "vibrating"
    amplitude: float
    frequency: float  # 1 / time
    direction: Direction | None = None
    phase: float = 0.0  # radians

    def __post_init__(self) -> None:
        finite(self, "amplitude", "frequency", "phase")
        if self.direction is not None and not 0.0 < length(self.direction, "motion.direction") < np.inf:
            raise ProblemError("motion.direction", self.direction, "a direction that is not zero")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        s = self.amplitude * (np.sin(2.0 * np.pi * self.frequency * time + self.phase) - np.sin(self.phase))
        along = self.direction or (*((0.0,) * (dimension - 1)), 1.0)
        s /= length(along, "motion.direction")
        return _pose(dimension, tuple(s * c for c in along))


@dataclass(frozen=True)
class Rotating(Motion):
    """Turns at `speed` radians a time unit, about `about` or about its own place; in space round `axis`."""

    kind: ClassVar[str] = "rotating"
    speed: float
    about: Direction | None = None
    axis: Direction = (0.0, 0.0, 1.0)  # in space alone

    def __post_init__(self) -> None:
        finite(self, "speed")
        if not 0.0 < length(self.axis, "motion.axis") < np.inf:
            raise ProblemError("motion.axis", self.axis, "a direction that is not zero")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension, turn=self.speed * time, axis=self.axis)


@dataclass(frozen=True)
class Moving(Motion):
    """Moves at a constant velocity, and turns at a constant rate; in space round `axis`."""

    kind: ClassVar[str] = "moving"
    velocity: Direction
    spin: float = 0.0
    axis: Direction = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        finite(self, "velocity", "spin")
        if not 0.0 < length(self.axis, "motion.axis") < np.inf:
            raise ProblemError("motion.axis", self.axis, "a direction that is not zero")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        return _pose(dimension, tuple(v * time for v in self.velocity), self.spin * time, self.axis)


@dataclass(frozen=True)
class Table(Motion):
    """Straight lines between the given times; before the first and after the last it stands still."""

    kind: ClassVar[str] = "table"
    times: Sequence[float]
    x: Sequence[float]
    y: Sequence[float]
    turn: Sequence[float] = ()
    z: Sequence[float] = ()  # in space alone
    axis: Direction = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if len(self.times) < 2 or not (np.diff(self.times) > 0.0).all():
            raise ProblemError("motion.times", self.times, "at least two times in rising order")
        for name in ("x", "y", "turn", "z"):
            given = getattr(self, name)
            if len(given) != len(self.times) and not (name in ("turn", "z") and not len(given)):
                raise ProblemError(f"motion.{name}", given, f"{len(self.times)} values, one for each time")
        finite(self, "times", "x", "y", "turn", "z", "axis")

    def pose(self, time: float, dimension: int = 2) -> Pose:
        columns = (self.x, self.y, self.z, self.turn)
        x, y, z, turn = (float(np.interp(time, self.times, c)) if len(c) else 0.0 for c in columns)
        return _pose(dimension, (x, y, z)[:dimension], turn, self.axis)


@dataclass(frozen=True)
class Scripted(Motion):
    """A Python function of time that returns (dx, dy) or (dx, dy, turn), in space (dx, dy, dz) or with (rx, ry, rz).

    It cannot be written to a file.
    """

    kind: ClassVar[str] = "scripted"
    function: Callable[[float], Sequence[float]]

    def pose(self, time: float, dimension: int = 2) -> Pose:
        values = tuple(float(v) for v in self.function(time))
        full = 3 * dimension - 3
        if len(values) not in (dimension, full) or not np.isfinite(values).all():
            wanted = "(dx, dy) or (dx, dy, turn)" if dimension == 2 else "(dx, dy, dz) or (dx, dy, dz, rx, ry, rz)"
            raise ProblemError("motion.function", list(values), f"{wanted}, finite, at time {time:g}")
        return (*values, *((0.0,) * (full - len(values))))

    @property
    def storable(self) -> bool:
        return False


KINDS: dict[str, type[Motion]] = {c.kind: c for c in (Fixed, Vibrating, Rotating, Moving, Table)}


def _pose(dimension: int, shift: Direction = (), turn: float = 0.0, axis: Direction = (0.0, 0.0, 1.0)) -> Pose:
    place = tuple(float(s) for s in shift) or (0.0,) * dimension
    if dimension == 2:
        return (*place, turn)
    size = length(axis, "motion.axis")
    return (*place, *(turn * float(c) / size for c in axis))


def length(vector: Any, field: str) -> float:
    """Length of a vector of the plane or of space."""
    try:
        return float(np.sqrt((np.asarray(vector, dtype=np.float64) ** 2).sum()))
    except (TypeError, ValueError):
        raise ProblemError(field, vector, "a vector") from None


def finite(owner: Motion, *names: str) -> None:
    for name in names:
        if not np.isfinite(np.asarray(getattr(owner, name), dtype=np.float64)).all():
            raise ProblemError(f"motion.{name}", getattr(owner, name), "finite numbers")
