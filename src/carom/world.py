"""World: the arrays that stay constant during a run. State: position, orientation and velocity at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .geometry import rotations
from .geometry.shapes import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    DISC,
    HULL,
    MESH,
    POLYGON,
    SPHERE,
    Shapes,
    Shapes2D,
    Shapes3D,
)
from .mechanism import Mechanisms
from .scene.boundaries import Periodic
from .scene.model import INTEGRATORS, Force, Potential, SpeedCurve
from .scene.motion import Motion
from .solvers.rows import Floats, Ints

__all__ = [
    "BOX",
    "CAPSULE",
    "CONE",
    "CYLINDER",
    "DISC",
    "HULL",
    "INSIDE",
    "MESH",
    "OUTSIDE",
    "PLANE",
    "POLYGON",
    "SEGMENT",
    "SPHERE",
    "TUBE",
    "Boundaries",
    "Shapes",
    "Shapes2D",
    "Shapes3D",
    "State",
    "World",
]

# Kinds of boundaries: half-plane or half-space, inside and outside of a circle or sphere, segment (2D), inside of an
# infinite cylinder (3D).
PLANE, INSIDE, OUTSIDE, SEGMENT, TUBE = 0, 1, 2, 3, 4


class Boundaries(NamedTuple):
    """Boundaries at one instant, for kernels; D is 2 or 3."""

    kind: NDArray[np.int8]  # (w,) PLANE, INSIDE, OUTSIDE, SEGMENT, TUBE
    point: Floats  # (w, D) a point of the plane, the center, the start of the segment, a point of the axis
    axis: Floats  # (w, D) unit normal toward the bodies; unused; end of the segment; unit direction of the axis
    radius: Floats  # (w,) of circle, sphere and tube
    center: Floats  # (w, D) point about which its motion rotates it
    velocity: Floats  # (w, 3) or (w, 6) velocity of the center and angular velocity in the step, in the world's frame


@dataclass(frozen=True, eq=False)
class State:
    """What varies during a run, for n bodies in D dimensions.

    A velocity has d components: the linear velocity (D) in the frame of the world and, if any body can rotate, the
    angular velocity: one number in 2D (counterclockwise), three in 3D, in the frame of the body, whose axes are the
    principal axes of inertia, so that the mass matrix is diagonal.
    """

    time: float
    step: int  # number of steps since time 0
    position: Floats  # (n, D) of the centers of mass
    orientation: Floats  # (n,) angles, or (n, 4) unit quaternions (w, x, y, z) from the body's frame to the world's
    velocity: Floats  # (n, d)
    # (n,) where bodies appear and vanish: k > 0 for a body that is present for the k-th time, -k for one that is absent
    # after k times. None where all are present all the time.
    life: NDArray[np.int32] | None = None

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n,) whether each body is present."""
        return np.ones(len(self.position), np.bool_) if self.life is None else self.life > 0

    def of(self, bodies: Ints) -> State:
        """The state of some bodies."""
        position, orientation, velocity = (a[bodies] for a in (self.position, self.orientation, self.velocity))
        return State(self.time, self.step, position, orientation, velocity)

    def with_part(self, bodies: Ints, part: State) -> State:
        """This state at the time of `part`, the state of some bodies, with these as they are there."""
        arrays = {name: getattr(self, name).copy() for name in ("position", "orientation", "velocity")}
        for name, array in arrays.items():
            array[bodies] = getattr(part, name)
        return replace(self, time=part.time, step=part.step, **arrays)


class Masses(NamedTuple):
    """How n bodies resist and fall, for kernels."""

    mass: Floats  # (n,)
    inertia: Floats  # (n, 1), in 3D (n, 3)
    root: Floats  # (n, d) inverse square root of the mass
    free: NDArray[np.bool_]  # (n,)
    even: NDArray[np.bool_]  # (n,) whether the moments of inertia are equal
    gravity: Floats  # (D,)
    scheme: int  # of rotation in 3D, an index into INTEGRATORS


class Surfaces(NamedTuple):
    """Materials of n bodies and w boundaries, and the coefficients of pairs of k materials, for kernels."""

    material: Ints  # (n,)
    boundary_material: Ints  # (w,)
    restitution: Floats  # (k, k)
    friction: Floats  # (3, k, k) sliding, and lengths of rolling and torsional friction
    smooth_rows: int  # rows per contact where no contact has friction
    rough_rows: int  # rows per contact where one has


@dataclass(frozen=True, eq=False)
class World:
    """What stays constant during a run, for n bodies, w boundaries and k materials.

    Bodies that are not free have infinite mass: their `inverse_sqrt_mass` is zero.
    """

    name: str
    mass: Floats  # (n,)
    inertia: Floats  # (n,), in 3D (n, 3) about the principal axes
    free: NDArray[np.bool_]  # (n,) moved by impulses
    inverse_sqrt_mass: Floats  # (n, d) 1 / sqrt(mass) for each component of velocity; 0 where it cannot change
    shapes: Shapes  # Shapes2D or Shapes3D
    material: Ints  # (n,) index into material_names
    boundary_material: Ints  # (w,)
    restitution: Floats  # (k, k) coefficients of pairs of materials
    friction: Floats  # (k, k)
    boundaries: Boundaries  # at time 0
    boundary_motions: Sequence[Motion]
    motions: Sequence[tuple[Ints, Motion]]  # bodies that follow a motion
    home: Floats  # (n, 3) position and angle at time 0, to which motions refer; in 3D (n, 7) with a quaternion
    gravity: Floats  # (D,)
    force: Force | None = None  # that of the scene with drag; None if gravity alone acts
    potential: Potential | None = None  # of the force
    periodic: Periodic | None = None
    material_names: Sequence[str] = ()
    group: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # (n,) index into scene.groups
    length_scale: float = 1.0  # smallest radius or half width of a free body: overlap is measured relative to it
    integrator: str = "dmv"  # of rigid-body rotation in 3D
    # (k, k) lengths: bounds of torque impulses at resting contacts over the normal impulse, against rolling and, in 3D,
    # against spinning about the normal. None if all are zero.
    rolling_friction: Floats | None = None
    torsional_friction: Floats | None = None
    # For pairs of materials (i, j), i <= j, whose restitution depends on the speed of approach; `restitution` then has
    # the smallest value of a table, 0 for a function.
    restitution_curves: Mapping[tuple[int, int], SpeedCurve] = field(default_factory=dict)
    joints: Mechanisms | None = None
    launch: Floats | None = None  # (n, d) declared velocities, where bodies appear during a run

    def of(self, bodies: Ints, state: State) -> World:
        """The world of some bodies, in ascending order; `state` has the others, for forces that depend on all."""
        number = np.full(self.count, -1)
        number[bodies] = np.arange(len(bodies))
        motions = [(number[b[number[b] >= 0]], motion) for b, motion in self.motions]
        force, potential = self.force, self.potential
        if force is not None or potential is not None:
            force, potential = _forces_on(self, bodies, state)
        rows: dict[str, Any] = {name: np.ascontiguousarray(getattr(self, name)[bodies]) for name in _ROWS}
        rows |= {"shapes": self.shapes.of(bodies), "motions": motions, "force": force, "potential": potential}
        return replace(self, joints=None if self.joints is None else self.joints.of(number), **rows)

    @cached_property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.mass)

    @cached_property
    def dimension(self) -> int:
        """D, 2 or 3."""
        return len(self.gravity)

    @cached_property
    def block(self) -> int:
        """Components of velocity per body: D if nothing rotates, else 3 in 2D and 6 in 3D."""
        return self.inverse_sqrt_mass.shape[1]

    @cached_property
    def has_meshes(self) -> bool:
        """Whether a body is a mesh that is not convex."""
        return self.dimension == 3 and bool((self.shapes.kind == MESH).any())

    @cached_property
    def turns(self) -> bool:
        """Whether velocities include angular velocities."""
        return self.block > self.dimension

    @cached_property
    def masses(self) -> Masses:
        """The masses for kernels."""
        inertia = self.inertia.reshape(self.count, -1)
        even, scheme = (inertia == inertia[:, :1]).all(axis=1), INTEGRATORS.index(self.integrator)
        return Masses(self.mass, inertia, self.inverse_sqrt_mass, self.free, even, self.gravity, scheme)

    @cached_property
    def surfaces(self) -> Surfaces:
        """The coefficients of all pairs of materials for kernels."""
        tables = (self.friction, self.rolling_friction, self.torsional_friction)
        friction = np.stack([np.zeros_like(self.friction) if table is None else table for table in tables])
        rolls = self.rolling_friction is not None or self.torsional_friction is not None
        rows = (3 * (self.dimension - 1),) * 2 if rolls else (1, self.dimension)
        material, other = self.material.astype(np.int64), self.boundary_material.astype(np.int64)
        return Surfaces(material, other, self.restitution, friction, *rows)

    @property
    def steady(self) -> bool:
        """Whether nothing depends on time: no force, no motion of bodies or boundaries."""
        still = all(motion.kind == "fixed" for _, motion in self.motions)
        return self.force is None and still and not self.moving_boundaries

    @cached_property
    def moving_boundaries(self) -> bool:
        """Whether any boundary moves."""
        return any(motion.kind != "fixed" for motion in self.boundary_motions)

    @property
    def shapes_2d(self) -> Shapes2D:
        """The shapes of a 2D world."""
        assert isinstance(self.shapes, Shapes2D)
        return self.shapes

    @property
    def shapes_3d(self) -> Shapes3D:
        """The shapes of a 3D world."""
        assert isinstance(self.shapes, Shapes3D)
        return self.shapes

    @cached_property
    def frictionless(self) -> bool:
        """Whether all coefficients of friction, rolling and torsional friction are zero."""
        return not self.friction.any() and self.rolling_friction is None and self.torsional_friction is None

    def posed(self, body: Ints, motion: Motion, time: float) -> tuple[Floats, Floats]:
        """Positions (m, D) and orientations that a motion gives its m bodies at a time."""
        dim = self.dimension
        pose = np.tile(np.array(motion.pose(time, dim)), (len(body), 1))
        place, start = self.home[body, :dim], self.home[body, dim:]
        about = place if motion.about is None else np.asarray(motion.about, dtype=np.float64)
        turn = rotations.orientation_of(pose[:, dim:])
        orientation = rotations.composed(turn, start.reshape(turn.shape))
        return about + rotations.rotated(turn, place - about) + pose[:, :dim], orientation


_ROWS = ("mass", "inertia", "free", "inverse_sqrt_mass", "material", "home", "group")  # arrays with one row per body


def _forces_on(world: World, bodies: Ints, state: State) -> tuple[Force | None, Potential | None]:
    """Force and potential of some bodies, by functions that expect all of them."""

    def force(time: float, position: Floats, velocity: Floats) -> Floats:
        whole = state.with_part(bodies, State(time, 0, position, state.orientation[bodies], velocity))
        assert world.force is not None
        return np.asarray(world.force(time, whole.position, whole.velocity))[bodies]

    def potential(time: float, position: Floats) -> Floats:
        place = state.position.copy()
        place[bodies] = position
        assert world.potential is not None
        return np.asarray(world.potential(time, place))[bodies]

    return None if world.force is None else force, None if world.potential is None else potential
