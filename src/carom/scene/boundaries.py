"""Boundaries of 2D and 3D scenes: plane, container, drum, segment, tube, shell; and periodic sides.

Boundaries push bodies and are not pushed. The number of components of their vectors is the dimension of the scene.
Other static or scripted geometry (a box, a mesh) is a group of bodies with a motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

from ..errors import ProblemError
from .checks import AXIS, DIRECTION, FLAG, INTERVAL, NUMBER, POINT, POSITIVE, TEXT, Choice, VectorOf
from .fields import ONLY_3D, KindOf, check_fields, fields_of
from .motion import FIXED, MOTION, Motion

Vector = tuple[float, ...]
Material = Annotated[str, TEXT]
Moves = Annotated[Motion, MOTION]
B = TypeVar("B", bound="Boundary")


class Boundary:
    """Base of the boundaries that bodies can hit."""

    kind: ClassVar[str]
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    material: str
    motion: Motion

    def __post_init__(self) -> None:
        check_fields(self, "boundary")

    def in_dimension(self: B, dimension: int, path: str = "boundary") -> B:
        """The boundary with its default vectors filled in for a scene of this dimension; others are refused."""
        if dimension not in self.dimensions:
            known = [c.__name__ for c in KINDS.values() if dimension in c.dimensions]
            raise ProblemError(path, type(self).__name__, f"{', '.join(known)}: the bodies are {dimension}D")
        for name, field in fields_of(type(self)).items():
            value = getattr(self, name)
            if isinstance(field.check, VectorOf) and value is not None and len(value) != dimension:
                wanted = f"{dimension} numbers, as the bodies of this {type(self).__name__} are {dimension}D"
                raise ProblemError(f"{path}.{name}", value, wanted)
        return self


@dataclass(frozen=True)
class Plane(Boundary):
    """A plane, in 2D a line; bodies stay on the side to which `normal` points. The normal is normalized.

    By default the plane goes through the origin and its normal points upwards: along y in 2D, along z in 3D.
    """

    kind: ClassVar[str] = "plane"
    point: Annotated[Vector | None, POINT, "the origin by default"] = None
    normal: Annotated[Vector | None, DIRECTION, "upwards by default"] = None
    material: Material = "default"
    motion: Moves = FIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.point is not None and self.normal is not None and len(self.point) != len(self.normal):
            raise ProblemError("boundary.normal", self.normal, f"{len(self.point)} numbers, as point has")

    def in_dimension(self, dimension: int, path: str = "boundary") -> Plane:
        super().in_dimension(dimension, path)
        origin = (0.0,) * dimension
        point = origin if self.point is None else self.point
        return replace(self, point=point, normal=(*origin[1:], 1.0) if self.normal is None else self.normal)


@dataclass(frozen=True)
class Container(Boundary):
    """The inside of a box with edges along the axes: four sides in 2D, six in 3D."""

    kind: ClassVar[str] = "container"
    lower: Annotated[Vector, POINT]
    upper: Annotated[Vector, POINT]
    open_top: Annotated[bool, FLAG, "leaves out the side at the upper y, in 3D at the upper z"] = False
    material: Material = "default"
    motion: Moves = FIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.lower) != len(self.upper) or not all(a < b for a, b in zip(self.lower, self.upper)):
            raise ProblemError("boundary.upper", self.upper, f"all components above lower = {self.lower}")

    def planes(self) -> tuple[Plane, ...]:
        """The sides. In 2D: bottom, top, left, right. In 3D: those at the lower x, y, z, then at the upper ones."""
        d = len(self.lower)
        order = (
            [(1, 1.0), (1, -1.0), (0, 1.0), (0, -1.0)] if d == 2 else [(k, s) for s in (1.0, -1.0) for k in range(3)]
        )
        sides = []
        for axis, sign in order:
            if self.open_top and (axis, sign) == (d - 1, -1.0):
                continue
            normal = tuple(sign if k == axis else 0.0 for k in range(d))
            sides.append(Plane(self.lower if sign > 0.0 else self.upper, normal, self.material, self.motion))
        return tuple(sides)


@dataclass(frozen=True)
class Drum(Boundary):
    """A circle, 2D only; bodies stay inside, or outside."""

    kind: ClassVar[str] = "drum"
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    radius: Annotated[float, POSITIVE]
    center: Annotated[Vector, VectorOf(2)] = (0.0, 0.0)
    inside: Annotated[bool, FLAG] = True
    material: Material = "default"
    motion: Moves = FIXED


@dataclass(frozen=True)
class Segment(Boundary):
    """A line between two points, 2D only; both of its sides push."""

    kind: ClassVar[str] = "segment"
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    start: Annotated[Vector, VectorOf(2)]
    end: Annotated[Vector, VectorOf(2)]
    material: Material = "default"
    motion: Moves = FIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if tuple(self.start) == tuple(self.end):
            raise ProblemError("boundary.end", self.end, "another point than start")


@dataclass(frozen=True)
class Tube(Boundary):
    """The inside of an infinite circular cylinder, 3D only."""

    kind: ClassVar[str] = "tube"
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    radius: Annotated[float, POSITIVE]
    point: Annotated[Vector, VectorOf(3)] = (0.0, 0.0, 0.0)
    axis: Annotated[Vector, AXIS] = (0.0, 0.0, 1.0)
    material: Material = "default"
    motion: Moves = FIXED


@dataclass(frozen=True)
class Shell(Boundary):
    """The inside of a sphere, 3D only."""

    kind: ClassVar[str] = "shell"
    dimensions: ClassVar[tuple[int, ...]] = (3,)
    radius: Annotated[float, POSITIVE]
    center: Annotated[Vector, VectorOf(3)] = (0.0, 0.0, 0.0)
    material: Material = "default"
    motion: Moves = FIXED


KINDS: dict[str, type[Boundary]] = {c.kind: c for c in (Plane, Container, Drum, Segment, Tube, Shell)}
BOUNDARY = KindOf(KINDS)


@dataclass(frozen=True)
class Periodic:
    """Periodic sides: what leaves at one side enters at the opposite one.

    x, y, z: (low, high) of the periodic axes. A shear rate makes the sides of the axis `sheared` Lees-Edwards sides:
    for "y" the image above moves at `shear_rate * (y_high - y_low)` along x, likewise for "z"; for "x" the image to
    the right moves along y. The sheared axis and the axis of that motion must then be periodic.
    """

    kind: ClassVar[str] = "periodic"
    x: Annotated[Vector | None, INTERVAL, "[low, high]"] = None
    y: Annotated[Vector | None, INTERVAL, "[low, high]"] = None
    shear_rate: Annotated[float, NUMBER, "speed of the image over the distance of the sides"] = 0.0
    sheared: Annotated[str, Choice(("x", "y", "z")), "the axis whose sides are sheared"] = "y"
    z: Annotated[Vector | None, INTERVAL, "[low, high]", ONLY_3D] = None

    def __post_init__(self) -> None:
        check_fields(self, "periodic")
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
