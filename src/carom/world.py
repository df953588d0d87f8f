"""World: what stays the same during a run (masses, shapes, materials). State: what changes (place, velocity)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .geometry import rotations
from .geometry.shapes import (
    BOX,
    CAPSULE,
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
from .scene.boundaries import Periodic
from .scene.model import Force
from .scene.motion import Motion
from .solvers.rows import Floats, Ints

__all__ = [
    "BOX",
    "CAPSULE",
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
    center: Floats  # (w, D) about which it turns
    velocity: Floats  # (w, 3) or (w, 6) of that center, and its angular velocity in the world frame, during the step


@dataclass(frozen=True, eq=False)
class State:
    """All that changes, in a world with D axes.

    Velocities are in the frame of the world. If any body turns, its spin follows: in the plane one number, in space
    three, about the body's own axes, which are its principal ones, so that the mass matrix stays diagonal.
    """

    time: float
    step: int
    position: Floats  # (n, D) of the centers of mass
    orientation: Floats  # (n,) angles, or (n, 4) unit quaternions (w, x, y, z) from the body's frame to the world's
    velocity: Floats  # (n, d)


@dataclass(frozen=True, eq=False)
class World:
    """All that stays. A body that nothing can push has infinite mass: `inverse_sqrt_mass` zero."""

    name: str
    mass: Floats  # (n,)
    inertia: Floats  # (n,), in space (n, 3) about the principal axes
    free: NDArray[np.bool_]  # (n,) moved by impulses
    inverse_sqrt_mass: Floats  # (n, d) 1 / sqrt(mass) for each component of velocity; 0 where it cannot change
    shapes: Shapes  # Shapes2D or Shapes3D
    material: Ints  # (n,)
    boundary_material: Ints  # (w,)
    restitution: Floats  # (k, k) for two materials
    friction: Floats  # (k, k)
    boundaries: Boundaries  # at time 0
    boundary_motions: Sequence[Motion]
    motions: Sequence[tuple[Ints, Motion]]  # bodies that follow a motion
    home: Floats  # (n, 3) place and angle at time 0, from which motions count; in space (n, 7)
    gravity: Floats  # (D,)
    force: Force | None = None
    periodic: Periodic | None = None
    material_names: Sequence[str] = ()
    group: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # (n,) index into scene.bodies
    length_scale: float = 1.0  # smallest radius, or half width, of a free body: overlap is measured in it
    integrator: str = "dmv"  # of rotation in space

    @property
    def count(self) -> int:
        return len(self.mass)

    @property
    def dimension(self) -> int:
        return len(self.gravity)

    @property
    def block(self) -> int:
        """Components of velocity of each body: D if nothing turns, else 3 in the plane and 6 in space."""
        return self.inverse_sqrt_mass.shape[1]

    @property
    def turns(self) -> bool:
        """Whether velocities have a spin."""
        return self.block > self.dimension

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

    @property
    def all_discs(self) -> bool:
        """Whether a 2D world has no polygons."""
        return not len(self.shapes.vertex)

    @property
    def frictionless(self) -> bool:
        return not self.friction.any()

    def posed(self, body: Ints, motion: Motion, time: float) -> tuple[Floats, Floats]:
        """Places and orientations that a motion gives its bodies at a time."""
        dim = self.dimension
        pose = np.array(motion.pose(time, dim))
        place = self.home[body, :dim]
        about = place if motion.about is None else np.asarray(motion.about, dtype=np.float64)
        arm = place - about
        if dim == 2:
            cos, sin = np.cos(pose[2]), np.sin(pose[2])
            arm = np.stack([cos * arm[:, 0] - sin * arm[:, 1], sin * arm[:, 0] + cos * arm[:, 1]], axis=1)
            return about + arm + pose[:2], self.home[body, 2] + pose[2]
        turn = np.repeat(rotations.of_vector(pose[None, 3:]), len(body), axis=0)
        arm = rotations.turned(turn, np.ascontiguousarray(arm))
        return about + arm + pose[:3], rotations.product(turn, np.ascontiguousarray(self.home[body, 3:]))
