"""Boundaries: half-plane, box, drum, segment, periodic sides. They push and are not pushed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from .motion import FIXED, Motion
from .numbers import array, scalar

Vector = tuple[float, float]


class Boundary:
    """Base of the boundaries that bodies can hit."""

    kind: ClassVar[str]
    material: str
    motion: Motion


@dataclass(frozen=True)
class HalfPlane(Boundary):
    """Bodies stay on the side to which `normal` points. The normal is made a unit vector."""

    kind: ClassVar[str] = "half_plane"
    point: Vector = (0.0, 0.0)
    normal: Vector = (0.0, 1.0)
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        _finite(self, "point", "normal")
        if not np.hypot(*self.normal) > 0.0:
            raise ProblemError("boundary.normal", self.normal, "a direction that is not zero")


@dataclass(frozen=True)
class Box(Boundary):
    """Four walls; bodies stay inside."""

    kind: ClassVar[str] = "box"
    lower: Vector
    upper: Vector
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        _finite(self, "lower", "upper")
        if not (self.lower[0] < self.upper[0] and self.lower[1] < self.upper[1]):
            raise ProblemError("boundary.upper", self.upper, f"both components above lower = {self.lower}")

    def walls(self) -> tuple[HalfPlane, ...]:
        """Floor, ceiling, left and right."""
        return tuple(
            HalfPlane(point, normal, self.material, self.motion)
            for point, normal in (
                (self.lower, (0.0, 1.0)),
                (self.upper, (0.0, -1.0)),
                (self.lower, (1.0, 0.0)),
                (self.upper, (-1.0, 0.0)),
            )
        )


@dataclass(frozen=True)
class Drum(Boundary):
    """A circle; bodies stay inside, or outside."""

    kind: ClassVar[str] = "drum"
    radius: float
    center: Vector = (0.0, 0.0)
    inside: bool = True
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        _finite(self, "radius", "center")
        if not self.radius > 0.0:
            raise ProblemError("boundary.radius", self.radius, "a number above 0")


@dataclass(frozen=True)
class Segment(Boundary):
    """A thin wall between two points; both sides count."""

    kind: ClassVar[str] = "segment"
    start: Vector
    end: Vector
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        _finite(self, "start", "end")
        if tuple(self.start) == tuple(self.end):
            raise ProblemError("boundary.end", self.end, "another point than start")


@dataclass(frozen=True)
class Periodic:
    """What leaves at one side comes in at the other.

    x, y, z: (low, high) of the sides that are periodic. shear_rate makes the sides of axis `sheared` Lees-Edwards
    ones: for "y" the image above moves at `shear_rate * (y_high - y_low)` along x, for "z" likewise, for "x" the image
    to the right moves along y. The sheared axis and that of the motion must be periodic then.
    """

    kind: ClassVar[str] = "periodic"
    x: Vector | None = None
    y: Vector | None = None
    shear_rate: float = 0.0
    sheared: str = "y"
    z: Vector | None = None

    def __post_init__(self) -> None:
        for name, side in zip("xyz", self.sides):
            if side is None:
                continue
            low, high = array(f"periodic.{name}", side, (2,), "(low, high)")
            if not low < high:
                raise ProblemError(f"periodic.{name}", side, "(low, high) with low below high")
        scalar("periodic.shear_rate", self.shear_rate)
        if self.sheared not in ("x", "y", "z"):
            raise ProblemError("periodic.sheared", self.sheared, "x, y or z")
        needed = sorted({self.sheared_axis, self.slide_axis})
        if self.shear_rate != 0.0 and any(self.sides[axis] is None for axis in needed):
            names = " and ".join("xyz"[axis] for axis in needed)
            raise ProblemError("periodic.shear_rate", self.shear_rate, f"0 unless both {names} are periodic")

    @property
    def sides(self) -> tuple[Vector | None, Vector | None, Vector | None]:
        """(low, high) along x, y and z."""
        return self.x, self.y, self.z

    @property
    def sheared_axis(self) -> int:
        """The axis across which images slide."""
        return "xyz".index(self.sheared)

    @property
    def slide_axis(self) -> int:
        """The axis along which they slide."""
        return 1 if self.sheared == "x" else 0


KINDS: dict[str, type[Boundary]] = {c.kind: c for c in (HalfPlane, Box, Drum, Segment)}


def _finite(owner: Boundary, *names: str) -> None:
    for name in names:
        if name == "radius":
            scalar(f"boundary.{name}", getattr(owner, name))
        else:
            array(f"boundary.{name}", getattr(owner, name), (2,), "two finite numbers (x, y)")
