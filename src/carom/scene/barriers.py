"""Boundaries of space: plane, container, tube, shell. They push and are not pushed.

Anything else that stands or moves by script (a box, a mesh) is a group of bodies with a motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import ProblemError
from .boundaries import Boundary
from .motion import FIXED, Motion
from .numbers import array, scalar
from .solids import Vector3


class Barrier(Boundary):
    """Base of the boundaries of space."""


@dataclass(frozen=True)
class Plane(Barrier):
    """Bodies stay on the side to which `normal` points. The normal is made a unit vector."""

    kind: ClassVar[str] = "plane"
    point: Vector3 = (0.0, 0.0, 0.0)
    normal: Vector3 = (0.0, 0.0, 1.0)
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        _vector("point", self.point)
        _direction("normal", self.normal)


@dataclass(frozen=True)
class Container(Barrier):
    """Six walls; bodies stay inside. `open_top` leaves out the one at the upper z."""

    kind: ClassVar[str] = "container"
    lower: Vector3
    upper: Vector3
    open_top: bool = False
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        low, high = _vector("lower", self.lower), _vector("upper", self.upper)
        if not all(a < b for a, b in zip(low, high)):
            raise ProblemError("boundary.upper", self.upper, f"all components above lower = {self.lower}")

    def walls(self) -> tuple[Plane, ...]:
        """At the lower x, y, z, then at the upper ones."""
        out = []
        for point, sign in ((self.lower, 1.0), (self.upper, -1.0)):
            for axis in range(3):
                if self.open_top and axis == 2 and sign < 0.0:
                    continue
                normal = [0.0, 0.0, 0.0]
                normal[axis] = sign
                out.append(Plane(point, (normal[0], normal[1], normal[2]), self.material, self.motion))
        return tuple(out)


@dataclass(frozen=True)
class Tube(Barrier):
    """The inside of an endless round cylinder; with a Rotating motion round its axis, a drum."""

    kind: ClassVar[str] = "tube"
    radius: float
    point: Vector3 = (0.0, 0.0, 0.0)
    axis: Vector3 = (0.0, 0.0, 1.0)
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        scalar("boundary.radius", self.radius, 0.0, above=True)
        _vector("point", self.point)
        _direction("axis", self.axis)


@dataclass(frozen=True)
class Shell(Barrier):
    """The inside of a sphere."""

    kind: ClassVar[str] = "shell"
    radius: float
    center: Vector3 = (0.0, 0.0, 0.0)
    material: str = "default"
    motion: Motion = FIXED

    def __post_init__(self) -> None:
        scalar("boundary.radius", self.radius, 0.0, above=True)
        _vector("center", self.center)


KINDS: dict[str, type[Barrier]] = {c.kind: c for c in (Plane, Container, Tube, Shell)}


def _vector(name: str, value: Vector3) -> tuple[float, ...]:
    return tuple(array(f"boundary.{name}", value, (3,), "three finite numbers (x, y, z)"))


def _direction(name: str, value: Vector3) -> None:
    if not any(_vector(name, value)):
        raise ProblemError(f"boundary.{name}", value, "a direction that is not zero")
