"""Boundaries of 2D and 3D scenes: plane, container, drum, segment, tube, shell, funnel, height field; periodic sides.

Boundaries push bodies and are not pushed. The number of components of their vectors is the dimension of the scene.
Other static or scripted geometry (a box, a mesh) is a group of bodies with a motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .checks import AXIS, DIRECTION, FLAG, INTERVAL, NUMBER, POINT, POSITIVE, TEXT, Choice, VectorOf, Where, Whole
from .fields import ONLY_3D, KindOf, check_fields, fields_of, plain
from .heights import HEIGHTS
from .motion import FIXED, MOTION, Motion
from .shapes import Compound, Hull, Mesh, Part

# All that `carom.scene` passes on.
__all__ = ["Container", "Drum", "Funnel", "HeightField", "Periodic", "Plane", "Segment", "Shell", "Tube"]

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

    def sides(self, dimension: int) -> Sequence[Boundary]:
        """The simple boundaries of which it consists, for a scene of this dimension."""
        return (self.in_dimension(dimension),)

    def solid(self, dimension: int) -> tuple[Compound, Vector] | None:
        """A compound that nothing can push, and where its center of mass is, if the boundary is represented by it."""
        return None

    def pivot(self, dimension: int) -> Vector | None:
        """The point about which a motion without `about` rotates all of its sides; None: each about its own point."""
        return None


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

    def pivot(self, dimension: int) -> Vector:
        return tuple(0.5 * (a + b) for a, b in zip(self.lower, self.upper))

    def sides(self, dimension: int) -> tuple[Plane, ...]:
        """In 2D: bottom, top, left, right. In 3D: the sides at the lower x, y, z, then at the upper ones."""
        d = dimension
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


@dataclass(frozen=True)
class Funnel(Boundary):
    """A hopper with an open outlet at the bottom and an open top; upwards is along y in 2D, along z in 3D.

    In 2D it consists of two segments. In 3D it is a ring of flat panels, convex solids outside of the inner
    surface, which together are one body that nothing can push; circles of the diameters `outlet` and `top` just fit
    into its ends. That body comes after the declared ones in the arrays of a run. A rotation without `about` is about
    the center of mass of the panels.
    """

    kind: ClassVar[str] = "funnel"
    outlet: Annotated[float, POSITIVE, "width of the opening at the bottom, in 3D its diameter"]
    top: Annotated[float, POSITIVE, "width of the opening at the top, in 3D its diameter"]
    height: Annotated[float, POSITIVE]
    point: Annotated[Vector | None, POINT, "center of the outlet, the origin by default"] = None
    panels: Annotated[int, Whole(3), "number of flat panels", ONLY_3D] = 24
    thickness: Annotated[float | None, POSITIVE, "of the panels, a 20th of top by default", ONLY_3D] = None
    material: Material = "default"
    motion: Moves = FIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.top >= self.outlet:
            raise ProblemError("boundary.top", self.top, f"at least outlet = {self.outlet:g}")

    def in_dimension(self, dimension: int, path: str = "boundary") -> Funnel:
        super().in_dimension(dimension, path)
        thickness = 0.05 * self.top if self.thickness is None else self.thickness
        return replace(self, point=(0.0,) * dimension if self.point is None else self.point, thickness=thickness)

    def pivot(self, dimension: int) -> Vector | None:
        if dimension == 3:
            return None
        x, y = self.in_dimension(2).point or (0.0, 0.0)
        return x, y + 0.5 * self.height

    def sides(self, dimension: int) -> tuple[Segment, ...]:
        """In 2D: left and right, both from the outlet to the top. In 3D none."""
        if dimension == 3:
            return ()
        x, y = self.in_dimension(2).point or (0.0, 0.0)
        ends = [((x + 0.5 * s * self.outlet, y), (x + 0.5 * s * self.top, y + self.height)) for s in (-1.0, 1.0)]
        return tuple(Segment(start, end, self.material, self.motion) for start, end in ends)

    def solid(self, dimension: int) -> tuple[Compound, Vector] | None:
        """In 3D the ring of panels, which meet each other in planes through the axis."""
        if dimension == 2:
            return None
        from ..geometry.hulls import hull  # other scenes do not need it

        given = self.in_dimension(3)
        point, thick = given.point or (0.0, 0.0, 0.0), given.thickness or 0.0
        ends = np.array([[0.5 * self.outlet, 0.0], [0.5 * self.top, self.height]])  # (distance from the axis, z)
        rise = ends[1] - ends[0]
        outward = np.array([rise[1], -rise[0]]) / np.hypot(*rise)
        wide = np.tan(np.pi / self.panels)  # half of the width of a panel over its distance from the axis
        profile = np.concatenate([ends, ends + thick * outward])
        panel = Hull(np.array([[r, s * r * wide, z] for r, z in profile for s in (-1.0, 1.0)]))
        center = hull("boundary", np.asarray(panel.vertices)).origin
        parts = []
        for angle in 2.0 * np.pi * np.arange(self.panels) / self.panels:
            place = (float(center[0] * np.cos(angle)), float(center[0] * np.sin(angle)), float(center[2]))
            parts.append(Part(panel, place, (float(np.cos(0.5 * angle)), 0.0, 0.0, float(np.sin(0.5 * angle)))))
        return Compound(parts), (point[0], point[1], point[2] + float(center[2]))


STRAIGHT_CHAIN = 1e-12  # change of slope up to which two segments are one: a disc would notice the end of a segment
MOST_FIELD_NODES = 5_000_000  # of the signed distance grid of a height field: 40 MB


@dataclass(frozen=True)
class HeightField(Boundary):
    """Ground given by heights at equal distances along x, in 3D along x and y; upwards is along y in 2D, z in 3D.

    In 2D it is a chain of segments, which push on both sides. In 3D it is a solid that nothing can push: under each
    cell of four heights two triangles, down to `depth` below the lowest height. Its contacts come from a signed
    distance grid with cells of the width `cell`: exact within flat parts, rounded within a cell of an edge. That body
    comes after the declared ones in the arrays of a run. A rotation without `about` is about its center of mass, in 2D
    about the middle of the chain.
    """

    kind: ClassVar[str] = "height_field"
    heights: Annotated[Any, HEIGHTS, "along x; in 3D heights[i][j] at the place i along x and j along y"]
    spacing: Annotated[float, POSITIVE, "distance between neighboring heights"]
    point: Annotated[Vector | None, POINT, "place of the first height if that is 0, the origin by default"] = None
    depth: Annotated[float | None, POSITIVE, "below the lowest height, four times spacing by default", ONLY_3D] = None
    cell: Annotated[float | None, POSITIVE, "of the distance grid, half of spacing by default", ONLY_3D] = None
    material: Material = "default"
    motion: Moves = FIXED

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "heights", HEIGHTS.read(plain(self.heights), Where()))  # numbers, whatever was given
        heights = np.array(self.heights)
        if heights.ndim == 1:
            return
        cell, depth = self._sizes()
        if cell > 0.5 * depth:
            raise ProblemError("boundary.cell", cell, f"at most half of depth = {depth:g}")
        sides = (*(self.spacing * (n - 1) for n in heights.shape), float(np.ptp(heights)) + depth)
        nodes = float(np.prod([side / cell + 5.0 for side in sides]))
        if nodes > MOST_FIELD_NODES:
            least = 1.1 * cell * (nodes / MOST_FIELD_NODES) ** (1.0 / 3.0)
            wanted = f"at least about {least:.2g}, for a distance grid of at most {MOST_FIELD_NODES:,} nodes"
            raise ProblemError("boundary.cell", cell, wanted)

    def _sizes(self) -> tuple[float, float]:
        """Cell and depth in 3D, with their defaults."""
        cell = 0.5 * self.spacing if self.cell is None else self.cell
        return cell, 4.0 * self.spacing if self.depth is None else self.depth

    def in_dimension(self, dimension: int, path: str = "boundary") -> HeightField:
        super().in_dimension(dimension, path)
        if np.ndim(self.heights) != dimension - 1:
            wanted = f"{HEIGHTS.words(Where(dimension))}: the scene is {dimension}D"
            raise ProblemError(f"{path}.heights", "a list of lists" if dimension == 2 else "a single list", wanted)
        return replace(self, point=(0.0,) * dimension if self.point is None else self.point)

    def pivot(self, dimension: int) -> Vector | None:
        if dimension == 3:
            return None
        chain = self._chain()
        return (float(0.5 * (chain[0, 0] + chain[-1, 0])), float(chain[:, 1].mean()))

    def _chain(self) -> Floats:
        """In 2D the places (n, 2) of the heights."""
        x, y = self.in_dimension(2).point or (0.0, 0.0)
        heights = np.array(self.heights)
        return np.stack([x + self.spacing * np.arange(len(heights)), y + heights], axis=1)

    def sides(self, dimension: int) -> tuple[Segment, ...]:
        """In 2D the segments between neighbors, along x; those that continue straight are one. In 3D none."""
        if dimension == 3:
            return ()
        chain, bends = self._chain(), np.abs(np.diff(self.heights, 2)) > STRAIGHT_CHAIN * self.spacing
        ends = [(float(x), float(y)) for x, y in chain[np.concatenate([[True], bends, [True]])]]
        return tuple(Segment(a, b, self.material, self.motion) for a, b in pairwise(ends))

    def solid(self, dimension: int) -> tuple[Compound, Vector] | None:
        """In 3D the ground under the heights as a mesh."""
        if dimension == 2:
            return None
        from ..geometry.mass_properties import mass_properties  # other scenes do not need them
        from ..geometry.surfaces import height_field

        x, y, z = self.in_dimension(3).point or (0.0, 0.0, 0.0)
        heights, (cell, depth) = np.array(self.heights), self._sizes()
        vertices, faces = height_field(heights, self.spacing, float(heights.min()) - depth)
        center = mass_properties(vertices, faces)[1]
        ground = Part(Mesh(vertices=vertices, faces=faces, spacing=cell, repair=False))
        return Compound([ground]), (x + float(center[0]), y + float(center[1]), z + float(center[2]))


KINDS: dict[str, type[Boundary]] = {
    c.kind: c for c in (Plane, Container, Drum, Segment, Tube, Shell, Funnel, HeightField)
}
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
