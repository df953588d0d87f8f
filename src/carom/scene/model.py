"""A scene: bodies in groups, boundaries, materials, and how it wants to be run. Plain data, arrays included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .boundaries import Boundary, Periodic, Vector
from .motion import Motion
from .solids import UNTURNED, Quaternion, Solid, Vector3

FREE = None  # the motion of a body that moves as it is pushed
INTEGRATORS = ("dmv", "split")
Force = Callable[[float, Floats, Floats], Floats]  # (time, position, velocity) -> force on each body


@dataclass(frozen=True)
class Disc:
    """Discs. `radius` is one number, or one for each body."""

    kind: ClassVar[str] = "disc"
    radius: float | Floats


@dataclass(frozen=True)
class Rectangle:
    """Boxes of the plane, centerd on their mass."""

    kind: ClassVar[str] = "box"
    width: float
    height: float


@dataclass(frozen=True)
class Polygon:
    """A convex polygon, corners anticlockwise. It is moved so that its center of mass is the origin."""

    kind: ClassVar[str] = "polygon"
    vertices: Sequence[Vector]


Shape = Disc | Rectangle | Polygon | Solid


@dataclass(frozen=True)
class Material:
    """What two surfaces do to each other: see `Scene.pairs` for exceptions.

    Two different materials without an entry in `pairs` meet with the smaller restitution and the geometric mean of
    their frictions.
    """

    restitution: float = 1.0  # 0..1
    friction: float = 0.0  # not negative
    density: float = 1.0  # mass / area, in space mass / volume, for bodies without a mass of their own


@dataclass(frozen=True, eq=False)
class Bodies:
    """A group of bodies that share a shape, a material and a kind of motion.

    Arrays have one row for each body; a single row or number serves all. `mass` None means density times area (in
    space volume), `inertia` None that of a homogeneous body. `motion` FREE (None) means that impulses move it.
    Bodies of the plane have an `angle`, those of space an `orientation`; the spin of the latter is in the frame of
    the world, their inertia three moments about the principal axes.
    """

    shape: Shape
    position: Floats  # (n, D)
    velocity: Floats | Vector | Vector3 | float = 0.0  # (n, D)
    angle: Floats | float = 0.0  # (n,) radians, anticlockwise
    spin: Floats | Vector3 | float = 0.0  # (n,) or (n, 3) radians / time
    mass: Floats | float | None = None
    inertia: Floats | float | None = None  # (n,) or (n, 3)
    material: str = "default"
    motion: Motion | None = FREE
    rotates: bool = True
    name: str = ""
    orientation: Floats | Quaternion = UNTURNED  # (n, 4) quaternions (w, x, y, z), made of unit length

    @property
    def count(self) -> int:
        """Number of bodies; 0 for places that are no array, which the build refuses with their path."""
        try:
            places = np.asarray(self.position, dtype=np.float64)
        except (TypeError, ValueError):
            return 0
        return 1 if places.ndim == 1 and len(places) else len(places)


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a run needs. `step`, `duration`, `law` and so on are defaults that a run may override."""

    name: str
    bodies: Sequence[Bodies]
    boundaries: Sequence[Boundary] = ()
    periodic: Periodic | None = None
    materials: Mapping[str, Material] = field(default_factory=lambda: {"default": Material()})
    pairs: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)  # restitution, friction
    gravity: Vector | Vector3 = (0.0, 0.0)  # in space three numbers
    force: Force | None = None
    step: float = 0.01
    duration: float = 10.0
    frame_rate: float = 50.0  # frames a time unit
    stepper: str = "drift_safe"
    integrator: str = "dmv"  # of rotation in space: "dmv" (Discrete Moser-Veselov) or "split"
    law: str = "gr"
    restitution_model: str | None = None
    friction_model: str | None = None
    # Materials that differ in restitution have no exact meaning under laws that need one value on each island:
    # "refuse" says so before the run, "blend" takes the mean, weighted by the energy of approach.
    mixed_restitution: str = "refuse"
    description: str = ""
    symmetries: Sequence[Any] = ()  # analysis.symmetry_error understands them
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what made it, for the record

    def with_(self, **changes: Any) -> Scene:
        """The same scene with some fields changed."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise ProblemError.unknown("scene field", sorted(unknown)[0], self.__dataclass_fields__)
        return replace(self, **changes)

    @property
    def dimension(self) -> int:
        """3 if any body is a solid of space, else 2."""
        return 3 if any(isinstance(getattr(group, "shape", None), Solid) for group in self.bodies) else 2

    @property
    def count(self) -> int:
        """Number of bodies."""
        return sum(group.count for group in self.bodies if isinstance(group, Bodies))
