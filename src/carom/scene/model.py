"""A scene: bodies in groups, boundaries, materials, and the settings of its runs. Plain data and arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..settings import RUN_SETTINGS, STEPPERS
from ..shown import Shown, counted
from ..solvers.rows import Floats
from .boundaries import Boundary, Periodic, Vector
from .changes import Sink, Source
from .checks import (
    FLAG,
    INERTIAS,
    NOT_NEGATIVE,
    NUMBERS,
    POINT,
    POINTS,
    POSITIVE,
    POSITIVES,
    QUATERNIONS,
    RECORD,
    RESTITUTION,
    SPINS,
    TEXT,
    Choice,
    Refused,
    Where,
)
from .fields import ONLY_2D, ONLY_3D, plain
from .joints import Joint
from .motion import MOTION_OR_FREE, Motion
from .shapes import UNTURNED, Quaternion, Shape
from .symmetry import Symmetry

FREE = None  # the motion of a body that impulses move
INTEGRATORS = ("dmv", "split")
COEFFICIENTS = ("restitution", "friction", "rolling_friction", "torsional_friction")  # of materials and their pairs
ROLLING_ABOUT = "a length: largest torque against rolling over the normal force, at rest"
TORSIONAL_ABOUT = "a length: largest torque against spinning about the normal over the normal force, at rest"
RESTITUTION_ABOUT = "0 to 1; or [[speed, coefficient], ...] over the speed of approach"
Table = tuple[tuple[float, float], ...]
Restitution = float | Table | Callable[[Floats], Floats]  # a function of speeds of approach (k,) gives coefficients
Force = Callable[[float, Floats, Floats], Floats]  # (time, position, velocity) -> force on each body
Potential = Callable[[float, Floats], Floats]  # (time, position) -> potential energy of each body
CLOTH_ABOUT = "constant deceleration of every body, as on the cloth of a table that is seen from above"


@dataclass(frozen=True)
class Material:
    """Coefficients of a surface, and a density.

    Two different materials without an entry in `Scene.pairs` meet with the smaller restitution and the geometric means
    of their coefficients of friction, rolling friction and torsional friction.

    `restitution` is a number, a table of speeds of approach and coefficients, linear between its rows and constant
    beyond them, or a function of speeds of approach. It is evaluated for each contact before its impact.

    Rolling and torsional friction are lengths. A resting contact with normal impulse p resists rolling with a torque
    impulse of at most `rolling_friction` times p, about an axis in the tangent plane, and spinning about its normal
    with at most `torsional_friction` times p. Impacts, which the law resolves, have neither.
    """

    restitution: Annotated[Restitution, RESTITUTION, RESTITUTION_ABOUT] = 1.0
    friction: Annotated[float, NOT_NEGATIVE] = 0.0
    density: Annotated[float, POSITIVE, "mass / area, in 3D mass / volume, of bodies without a mass of their own"] = 1.0
    rolling_friction: Annotated[float, NOT_NEGATIVE, ROLLING_ABOUT] = 0.0
    torsional_friction: Annotated[float, NOT_NEGATIVE, TORSIONAL_ABOUT, ONLY_3D] = 0.0


@dataclass(frozen=True, eq=False)
class Bodies:
    """A group of bodies that share a shape, a material and a motion.

    Arrays have one row per body; a single row or number serves all. `mass` None means density times area (in 3D
    volume), `inertia` None that of a homogeneous body. `motion` FREE (None) means that impulses move the bodies. Bodies
    in 2D have an `angle`, bodies in 3D an `orientation`. In 3D the spin is in the frame of the world, and the inertia
    consists of three moments about the principal axes.
    """

    shape: Shape
    position: Annotated[Floats, POINTS, "one point, or one per body"]  # (n, D)
    velocity: Annotated[Floats | Vector | float, POINTS] = 0.0  # (n, D)
    angle: Annotated[Floats | float, NUMBERS, "radians, counterclockwise", ONLY_2D] = 0.0  # (n,)
    spin: Annotated[Floats | Vector | float, SPINS, "radians per unit of time; in 3D about the axes of the world"] = 0.0
    mass: Annotated[Floats | float | None, POSITIVES, "density times area or volume by default"] = None
    inertia: Annotated[Floats | float | None, INERTIAS, "homogeneous by default; in 3D three moments"] = None
    material: Annotated[str, TEXT] = "default"
    motion: Annotated[Motion | None, MOTION_OR_FREE, '"free", "fixed" or a table {kind = ...}'] = FREE
    rotates: Annotated[bool, FLAG] = True
    name: Annotated[str, TEXT] = ""
    orientation: Annotated[Floats | Quaternion, QUATERNIONS, "[w, x, y, z], normalized", ONLY_3D] = UNTURNED  # (n, 4)
    present: Annotated[bool, FLAG, "whether the bodies are there at the start"] = True

    @property
    def count(self) -> int:
        """Number of bodies; 0 if the positions are no array, which the build refuses with their path."""
        try:
            places = np.asarray(self.position, dtype=np.float64)
        except (TypeError, ValueError):
            return 0
        return 1 if places.ndim == 1 and len(places) else len(places)


@dataclass(frozen=True, eq=False)
class Scene(Shown):
    """Everything that a run needs. `step`, `duration`, `law` and so on are defaults that a run may override.

    The declared fields are the keys of the table [scene] of a scene file.
    """

    name: Annotated[str, TEXT]
    bodies: Sequence[Bodies]
    boundaries: Sequence[Boundary] = ()
    periodic: Periodic | None = None
    materials: Mapping[str, Material] = field(default_factory=lambda: {"default": Material()})
    pairs: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # COEFFICIENTS
    gravity: Annotated[Vector, POINT, "acceleration; none by default"] = (0.0, 0.0)  # in 3D three components
    force: Force | None = None
    potential: Potential | None = None  # of the force: (time, position) -> energy of each body
    linear_drag: Annotated[float, NOT_NEGATIVE, "force against the velocity over the speed"] = 0.0
    quadratic_drag: Annotated[float, NOT_NEGATIVE, "force against the velocity over the square of the speed"] = 0.0
    sliding_deceleration: Annotated[float, NOT_NEGATIVE, CLOTH_ABOUT, ONLY_2D] = 0.0
    step: Annotated[float, RUN_SETTINGS["step"]] = 0.01
    duration: Annotated[float, RUN_SETTINGS["duration"]] = 10.0
    frame_rate: Annotated[float, RUN_SETTINGS["frame_rate"]] = 50.0
    stepper: Annotated[str, Choice(STEPPERS)] = "drift_safe"
    integrator: Annotated[str, Choice(INTEGRATORS), "of rotation: Discrete Moser-Veselov or split", ONLY_3D] = "dmv"
    law: Annotated[str, RUN_SETTINGS["law"]] = "gr"
    restitution_model: Annotated[str | None, RUN_SETTINGS["restitution_model"]] = None
    friction_model: Annotated[str | None, RUN_SETTINGS["friction_model"]] = None
    tolerance: Annotated[float | str | None, RUN_SETTINGS["tolerance"]] = None  # None: the default of the library
    active_set: Annotated[str | None, RUN_SETTINGS["active_set"]] = None  # None: the default of the stepper
    description: Annotated[str, TEXT] = ""
    joints: Sequence[Joint] = ()
    sources: Sequence[Source] = ()
    sinks: Sequence[Sink] = ()
    symmetries: Sequence[Symmetry] = ()  # of the initial state; analysis.symmetry_error measures them
    parameters: Annotated[Mapping[str, Any], RECORD, "a record of how the scene was made; not read by Carom"] = field(
        default_factory=dict
    )

    def __repr__(self) -> str:
        what = f"{self.dimension}D, {counted(self.count, 'body', 'bodies')}, law {self.law}, stepper {self.stepper}"
        return f"<Scene {self.name}: {what}, step {self.step:g}, duration {self.duration:g}>"

    def with_(self, **changes: Any) -> Scene:
        """The same scene with some fields changed."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise ProblemError.unknown("scene field", sorted(unknown)[0], self.__dataclass_fields__)
        return replace(self, **changes)

    @property
    def groups(self) -> Sequence[Bodies]:
        """The groups of bodies of its world: the declared ones, and the boundaries that are represented by a solid."""
        out = list(self.bodies)
        for boundary in self.boundaries:
            found = boundary.solid(self.dimension) if isinstance(boundary, Boundary) else None
            if found is not None:
                shape, place = found[0], np.array([found[1]])
                name = boundary.kind.replace("_", " ")
                out.append(Bodies(shape, place, material=boundary.material, motion=boundary.motion, name=name))
        return out

    @property
    def changes(self) -> bool:
        """Whether bodies appear or vanish during its runs, without being asked to from Python."""
        absent = any(not getattr(group, "present", True) for group in self.bodies)
        return absent or bool(self.sources) or bool(self.sinks)

    @property
    def dimension(self) -> int:
        """3 if any body has a 3D shape, else 2."""
        return max((getattr(getattr(group, "shape", None), "dimension", 2) for group in self.bodies), default=2)

    @property
    def rotation_integrator(self) -> str | None:
        """The integrator of rotations; None in 2D, where spins are constant between impacts."""
        return self.integrator if self.dimension == 3 else None

    @property
    def count(self) -> int:
        """Number of bodies."""
        return sum(group.count for group in self.bodies if isinstance(group, Bodies))


# ---- forces


@dataclass(frozen=True, eq=False)
class Forces:
    """`F = f(t, q, v) - linear v - quadratic |v| v - m cloth v / |v|` on each body, with f the function of the user.

    Drag and cloth act on the velocity of the center of mass. In a time step h the cloth removes `cloth h` of the speed;
    a speed below that is halved in every step, instead of changing its sign.
    """

    mass: Floats  # (n,)
    given: Force | None
    linear: float
    quadratic: float
    cloth: float
    step: float

    def __call__(self, time: float, position: Floats, velocity: Floats) -> Any:
        n, dim = position.shape
        given = np.zeros((n, dim)) if self.given is None else self.given(time, position, velocity)
        if np.shape(given) not in ((n, dim), velocity.shape):
            return given  # which the integrator refuses
        force, v = np.array(given, dtype=np.float64), velocity[:, :dim]
        speed = np.linalg.norm(v, axis=1)
        over = np.maximum(speed, self.cloth * self.step)
        slide = np.divide(self.cloth * self.mass, over, out=np.zeros(n), where=over > 0.0)
        force[:, :dim] -= (self.linear + self.quadratic * speed + slide)[:, None] * v
        return force


def forces_of(scene: Scene, mass: Floats, step: float) -> Force | None:
    """The forces of a scene, or None if gravity alone acts. `step` is the time step."""
    resistance = scene.linear_drag, scene.quadratic_drag, scene.sliding_deceleration
    return Forces(mass, scene.force, *resistance, step) if any(resistance) else scene.force


# ---- restitution that depends on the speed of approach


_WANTED = "coefficients from 0 to 1, one for each speed of approach"


class Curve(NamedTuple):
    """A coefficient of restitution as a function of speeds of approach (k,), and its path for messages."""

    path: str
    function: Callable[[Floats], Any]

    def at(self, speed: Floats) -> Floats:
        """The coefficients (k,), or a ProblemError that names the first one that is none."""
        values = np.asarray(self.function(speed), dtype=np.float64)
        if values.shape not in ((), speed.shape):
            raise ProblemError(self.path, f"shape {values.shape} for {len(speed)} speeds", _WANTED)
        values = np.broadcast_to(values, speed.shape)
        bad = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if len(bad):
            raise ProblemError(self.path, f"{values[bad[0]]} at speed {speed[bad[0]]:g}", _WANTED)
        return values


class SpeedCurve(NamedTuple):
    """The smallest of the coefficients of one or two materials."""

    curves: Sequence[Curve]

    def at(self, speed: Floats) -> Floats:
        """The coefficients (k,) at speeds of approach (k,)."""
        return np.min([curve.at(speed) for curve in self.curves], axis=0)


def curve_of(path: str, value: Any) -> Curve:
    """The curve of a number, of a table [[speed, coefficient], ...] or of a function, which is called once."""
    if callable(value):
        curve = Curve(path, value)
        curve.at(np.array([0.0, 1.0]))
        return curve
    try:
        checked = RESTITUTION.read(plain(value), Where())
    except Refused as wrong:
        raise ProblemError(path, wrong.faults[0].got, wrong.faults[0].expected) from None
    speeds, values = np.array(checked).T if isinstance(checked, tuple) else (np.zeros(1), np.array([checked]))
    return Curve(path, lambda speed: np.interp(speed, speeds, values))
