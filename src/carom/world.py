"""World: what stays the same during a run (masses, shapes, materials). State: what changes (place, velocity)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import rotations
from .scene.boundaries import Periodic
from .scene.model import Force
from .scene.motion import Motion
from .solvers.rows import Floats, Ints

DISC, POLYGON = 0, 1
# Kinds of boundaries: half-plane or half-space, inside and outside of a circle or sphere, segment (2D), inside of an
# endless cylinder (3D).
PLANE, INSIDE, OUTSIDE, SEGMENT, TUBE = 0, 1, 2, 3, 4
SPHERE, CUBOID, CAPSULE, CYLINDER, HULL, MESH = 0, 1, 2, 3, 4, 5


class Shapes(NamedTuple):
    """Shapes of all bodies, for kernels. Corners are anticlockwise, about the center of mass."""

    kind: NDArray[np.int8]  # (n,) DISC or POLYGON
    radius: Floats  # (n,) of the disc, or of the circle round the polygon
    vertex_ptr: Ints  # (n + 1,) body i owns vertices vertex_ptr[i]:vertex_ptr[i+1]
    vertex: Floats  # (k, 2)


class Solids(NamedTuple):
    """Shapes of all bodies of space, for kernels.

    A body owns parts, a part shows a form; equal bodies share forms. Frames: a form is given in its own frame, a part
    places it in the body's frame, whose origin is the center of mass and whose axes are the principal axes of inertia.
    Sizes of forms: sphere (r, 0, 0), cuboid half edges, capsule and cylinder (r, half length, 0) along z.
    """

    # bodies
    ball: NDArray[np.bool_]  # (n,) one sphere about the center of mass
    radius: Floats  # (n,) of the sphere round the body, about its center of mass
    inner: Floats  # (n,) half of the smallest width: tunnelling and overlap are measured in it
    part_ptr: Ints  # (n + 1,) body i owns parts part_ptr[i]:part_ptr[i+1]
    # parts
    form: Ints  # (p,)
    place: Floats  # (p, 3) origin of the form's frame, in the body's
    turn: Floats  # (p, 3, 3) rotation matrix, from the form's frame to the body's
    # forms
    kind: NDArray[np.int8]  # (f,) SPHERE .. MESH
    size: Floats  # (f, 3)
    reach: Floats  # (f,) largest distance from the form's origin
    vertex_ptr: Ints  # (f + 1,) corners of cuboids and hulls, sample points of meshes
    vertex: Floats  # (k, 3)
    vertex_normal: Floats  # (k, 3) outward, of sample points; zero for corners
    face_ptr: Ints  # (f + 1,) flat faces of cuboids and hulls
    face_normal: Floats  # (faces, 3) outward unit normal
    face_offset: Floats  # (faces,) the face lies in normal . x = offset
    loop_ptr: Ints  # (faces + 1,) corners of a face: loop[loop_ptr[j]:loop_ptr[j+1]], anticlockwise from outside
    loop: Ints  # vertices, counted from the form's first
    edge_ptr: Ints  # (f + 1,) edges of cuboids and hulls
    edge: Ints  # (edges, 2) vertices, counted from the form's first
    grid: Ints  # (f,) its signed distance grid, -1 for none
    # signed distance grids: value[grid_ptr[g] + (i * ny + j) * nz + k] at low + spacing * (i, j, k), negative inside
    grid_ptr: Ints  # (g + 1,)
    grid_count: Ints  # (g, 3) nodes along each axis
    grid_low: Floats  # (g, 3)
    grid_spacing: Floats  # (g,)
    grid_value: Floats  # float64


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
    shapes: Any  # Shapes, in space Solids
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
    def solids(self) -> Solids:
        """The shapes of a world of space."""
        assert isinstance(self.shapes, Solids)
        return self.shapes

    @property
    def simple(self) -> NDArray[np.bool_]:
        """(n,) discs, and spheres: the broad phase tests them on the spot."""
        return self.shapes.ball if self.dimension == 3 else self.shapes.kind == DISC

    @property
    def all_discs(self) -> bool:
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
