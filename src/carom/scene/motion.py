"""Motions of bodies and boundaries that nothing can push: fixed, vibrating, rotating, moving, table, scripted.

A motion gives the displacement from where the scene put its owner: `pose(t) = (dx, dy, turn)`, lengths and radians.
In a step from t to t + h its owner moves at `(pose(t + h) - pose(t)) / h`, so that it is where it should be at the
end of every step, exactly, whatever the size of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError

Pose = tuple[float, float, float]


class Motion:
    """Base of all motions. `about` is the point round which it turns; None means the owner's own place."""

    kind: ClassVar[str]
    about: tuple[float, float] | None = None

    def pose(self, time: float) -> Pose:
        raise NotImplementedError(f"{type(self).__name__} must define pose(time)")

    @property
    def storable(self) -> bool:
        """Whether the motion can be written to a file and read again."""
        return True


@dataclass(frozen=True)
class Fixed(Motion):
    """Stays where it is."""

    kind: ClassVar[str] = "fixed"

    def pose(self, time: float) -> Pose:
        return 0.0, 0.0, 0.0


FIXED = Fixed()


@dataclass(frozen=True)
class Vibrating(Motion):
    """`amplitude * sin(2 pi frequency t + phase) - amplitude * sin(phase)` along `direction` (made a unit vector)."""

    kind: ClassVar[str] = "vibrating"
    amplitude: float
    frequency: float  # 1 / time
    direction: tuple[float, float] = (0.0, 1.0)
    phase: float = 0.0  # radians

    def __post_init__(self) -> None:
        finite(self, "amplitude", "frequency", "phase")
        if not np.hypot(*self.direction) > 0.0:
            raise ProblemError("motion.direction", self.direction, "a direction that is not zero")

    def pose(self, time: float) -> Pose:
        s = self.amplitude * (np.sin(2.0 * np.pi * self.frequency * time + self.phase) - np.sin(self.phase))
        s /= np.hypot(*self.direction)
        return float(s * self.direction[0]), float(s * self.direction[1]), 0.0


@dataclass(frozen=True)
class Rotating(Motion):
    """Turns at `speed` radians a time unit, about `about` or about its own place."""

    kind: ClassVar[str] = "rotating"
    speed: float
    about: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        finite(self, "speed")

    def pose(self, time: float) -> Pose:
        return 0.0, 0.0, self.speed * time


@dataclass(frozen=True)
class Moving(Motion):
    """Moves at a constant velocity, and turns at a constant rate."""

    kind: ClassVar[str] = "moving"
    velocity: tuple[float, float]
    spin: float = 0.0

    def __post_init__(self) -> None:
        finite(self, "velocity", "spin")

    def pose(self, time: float) -> Pose:
        return self.velocity[0] * time, self.velocity[1] * time, self.spin * time


@dataclass(frozen=True)
class Table(Motion):
    """Straight lines between the given times; before the first and after the last it stands still."""

    kind: ClassVar[str] = "table"
    times: Sequence[float]
    x: Sequence[float]
    y: Sequence[float]
    turn: Sequence[float] = ()

    def __post_init__(self) -> None:
        if len(self.times) < 2 or not (np.diff(self.times) > 0.0).all():
            raise ProblemError("motion.times", self.times, "at least two times in rising order")
        for name in ("x", "y", "turn"):
            if len(getattr(self, name)) != len(self.times) and not (name == "turn" and not len(self.turn)):
                raise ProblemError(
                    f"motion.{name}", getattr(self, name), f"{len(self.times)} values, one for each time"
                )
        finite(self, "times", "x", "y", "turn")

    def pose(self, time: float) -> Pose:
        turn = float(np.interp(time, self.times, self.turn)) if len(self.turn) else 0.0
        return float(np.interp(time, self.times, self.x)), float(np.interp(time, self.times, self.y)), turn


@dataclass(frozen=True)
class Scripted(Motion):
    """A Python function of time that returns (dx, dy) or (dx, dy, turn). It cannot be written to a file."""

    kind: ClassVar[str] = "scripted"
    function: Callable[[float], Sequence[float]]

    def pose(self, time: float) -> Pose:
        values = [float(v) for v in self.function(time)]
        if len(values) not in (2, 3) or not np.isfinite(values).all():
            raise ProblemError("motion.function", values, f"(dx, dy) or (dx, dy, turn), finite, at time {time:g}")
        return values[0], values[1], values[2] if len(values) == 3 else 0.0

    @property
    def storable(self) -> bool:
        return False


KINDS: dict[str, type[Motion]] = {c.kind: c for c in (Fixed, Vibrating, Rotating, Moving, Table)}


def finite(owner: Motion, *names: str) -> None:
    for name in names:
        if not np.isfinite(np.asarray(getattr(owner, name), dtype=np.float64)).all():
            raise ProblemError(f"motion.{name}", getattr(owner, name), "finite numbers")
