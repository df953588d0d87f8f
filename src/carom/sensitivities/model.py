"""A world as one vector of numbers, on which its motion depends smoothly: the numbers that are differentiated.

The actors of a world are its bodies, then its boundaries. The vector holds, one after the other,

    14 numbers of each actor     position, rotation, velocity, angular velocity, inverse mass, inverse moment of inertia
    7 numbers of each feature    of discs, spheres, vertices, edges and boundaries (`contact_map`)
    restitution, friction        (k, k) tables of pairs of materials
    gravity                      (3,)
    7 numbers of each actor      time of its last impact, velocity before it was held; only their changes count
    12 numbers of each placing   position and velocity of an actor that follows a motion, in one step
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..contact.boundaries import boundaries_at
from ..errors import ProblemError
from ..geometry import rotations
from ..solvers.rows import Floats, Ints
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, State, World
from .contact_map import BALL, BODY, EDGE, FEATURE, HOLLOW, INVERSE_INERTIA, INVERSE_MASS, PLANE_SIDE, TUBE_SIDE, V

PLACED = 12  # numbers of a placing
RECORD = 7  # numbers of the record of an actor: the time of its last impact, and its velocity before it was held
_SIDES = {PLANE: PLANE_SIDE, INSIDE: HOLLOW, OUTSIDE: BALL, TUBE: TUBE_SIDE}


class Features(NamedTuple):
    """The features of all actors, for kernels."""

    ptr: Ints  # (actors + 1,) actor a owns the features ptr[a]:ptr[a + 1]
    kind: Ints  # (f,)


class Layout(NamedTuple):
    """The actors and features of a model, and the places of its numbers."""

    dimension: int
    free: np.ndarray  # (actors,)
    follows: np.ndarray  # (actors,)
    ptr: Ints  # (actors + 1,)
    kind: Ints  # (f,)
    material: Ints  # (actors,)
    materials: int
    feature_start: int
    restitution_start: int
    friction_start: int
    gravity_start: int
    record_start: int


@dataclass(frozen=True, eq=False)
class Model:
    """What a world looks like to its derivatives; `numbers` and everything below it depend on parameters."""

    dimension: int
    bodies: int
    free: np.ndarray  # (actors,)
    follows: np.ndarray  # (actors,) whether an actor follows a motion
    material: Ints  # (actors,)
    materials: int
    features: Features
    numbers: Floats  # without placings

    @property
    def actors(self) -> int:
        """Number of bodies and boundaries."""
        return len(self.free)

    @cached_property
    def layout(self) -> Layout:
        """Where the numbers are, for kernels."""
        where = (self.feature_start, self.restitution_start, self.friction_start, self.gravity_start, self.record_start)
        own = (self.free, self.follows, self.features.ptr, self.features.kind, self.material)
        return Layout(self.dimension, *own, self.materials, *where)

    @cached_property
    def components(self) -> Ints:
        """The numbers of a position, or of a velocity, that can change."""
        return np.array([0, 1, 5]) if self.dimension == 2 else np.arange(6)

    @cached_property
    def feature_start(self) -> int:
        """Place of the first feature in the vector."""
        return BODY * self.actors

    @cached_property
    def restitution_start(self) -> int:
        """Place of the table of restitution."""
        return self.feature_start + FEATURE * len(self.features.kind)

    @cached_property
    def friction_start(self) -> int:
        """Place of the table of friction."""
        return self.restitution_start + self.materials**2

    @cached_property
    def gravity_start(self) -> int:
        """Place of gravity."""
        return self.friction_start + self.materials**2

    @property
    def record_start(self) -> int:
        """Place of the records of the actors."""
        return self.gravity_start + 3

    @property
    def size(self) -> int:
        """Length of the vector without placings."""
        return self.record_start + RECORD * self.actors


def model_of(world: World, state: State) -> Model:
    """The model of a world; ProblemError for what has no derivatives."""
    refuse(world)
    dim, n, w = world.dimension, world.count, len(world.boundaries.kind)
    actors = np.zeros((n + w, BODY))
    actors[:n, :dim] = state.position
    actors[:n, V : V + dim] = state.velocity[:, :dim]
    if dim == 2:
        actors[:n, 5] = state.orientation
    if world.turns:
        spin = state.velocity[:, dim:]
        actors[:n, V + 3 : V + 6] = rotations.rotated(state.orientation, spin) if dim == 3 else 0.0
        if dim == 2:
            actors[:n, V + 5] = spin[:, 0]
    actors[:n, INVERSE_MASS] = world.inverse_sqrt_mass[:, 0] ** 2
    if world.turns:
        actors[:n, INVERSE_INERTIA] = world.inverse_sqrt_mass[:, dim] ** 2
    actors[n:, :dim] = world.boundaries.center
    features, numbers = _features(world)
    free = np.concatenate([world.free, np.zeros(w, bool)])
    follows = np.zeros(n + w, bool)
    for body, _ in world.motions:
        follows[body] = True
    follows[n:] = [motion.kind != "fixed" for motion in world.boundary_motions]
    gravity = np.zeros(3)
    gravity[:dim] = world.gravity
    material = np.concatenate([world.material, world.boundary_material]).astype(np.int64)
    tables = (world.restitution.ravel(), world.friction.ravel())
    vector = np.concatenate([actors.ravel(), numbers.ravel(), *tables, gravity, np.zeros(RECORD * (n + w))])
    return Model(dim, n, free, follows, material, len(world.restitution), features, vector)


def refuse(world: World) -> None:
    """ProblemError for a world whose runs have no derivatives."""
    wrong = None
    if world.force is not None:
        wrong = "a force or drag", "gravity alone"
    elif world.launch is not None:
        wrong = "bodies that appear and vanish", "bodies that are present all the time"
    elif world.periodic is not None:
        wrong = "periodic sides", "boundaries, or none"
    elif world.restitution_curves:
        wrong = "restitution that depends on speed", "coefficients that are numbers"
    elif world.dimension == 3 and not world.shapes_3d.round.all():
        wrong = "bodies that are not spheres", "spheres in 3D, discs and polygons in 2D"
    elif world.dimension == 3 and any(m.kind in ("rotating", "scripted") for m in world.boundary_motions):
        wrong = "a boundary that rotates", "motions along lines in 3D"
    if wrong is not None:
        raise ProblemError("scene", wrong[0], f"{wrong[1]}, for derivatives of a run")


def _features(world: World) -> tuple[Features, Floats]:
    """The features of bodies and boundaries, and their numbers."""
    dim, kinds, rows, ptr = world.dimension, [], [], [0]
    for i in range(world.count):
        if dim == 3 or world.shapes.round[i]:
            kinds.append(BALL)
            rows.append(_row(radius=world.shapes.radius[i]))
        else:
            shapes = world.shapes_2d
            corners = shapes.vertex[shapes.vertex_ptr[i] : shapes.vertex_ptr[i + 1]]
            for p in corners:
                kinds.append(BALL)
                rows.append(_row(p))
            for p, q in zip(corners, np.roll(corners, -1, axis=0)):
                kinds.append(EDGE)
                rows.append(_row(p, q))
        ptr.append(len(kinds))
    for kind, point, axis, radius, center in zip(*world.boundaries[:5]):
        if kind == SEGMENT:
            p, q = point - center, axis - center
            kinds += [BALL, BALL, EDGE, EDGE]
            rows += [_row(p), _row(q), _row(p, q), _row(q, p)]
        else:
            kinds.append(_SIDES[int(kind)])
            rows.append(_row(point - center, axis, radius))
        ptr.append(len(kinds))
    return Features(np.array(ptr), np.array(kinds)), np.array(rows)


def _row(first: Floats | None = None, second: Floats | None = None, radius: float = 0.0) -> Floats:
    out = np.zeros(FEATURE)
    for at, vector in ((0, first), (3, second)):
        if vector is not None:
            out[at : at + len(vector)] = vector
    out[FEATURE - 1] = radius
    return out


def placing(world: World, actor: int, time: float, step: float) -> Floats:
    """Position and velocity (12,) of an actor that follows a motion, in the step that begins at a time."""
    dim, out = world.dimension, np.zeros(PLACED)
    if actor >= world.count:
        k = actor - world.count
        pose = world.boundary_motions[k].pose(time, dim)
        out[:dim] = world.boundaries.center[k] + np.array(pose[:dim])
        moving = boundaries_at(world, time, step)[0].velocity[k]
        out[6 : 6 + dim] = moving[:dim]
        if dim == 2:
            out[5], out[11] = pose[2], moving[2]
        return out
    body = np.array([actor])
    motion = next(motion for bodies, motion in world.motions if actor in bodies)
    (place, turn), (then, turned) = (world.posed(body, motion, t) for t in (time, time + step))
    out[:dim], out[6 : 6 + dim] = place[0], (then - place)[0] / step
    if dim == 2:
        out[5], out[11] = turn[0], (turned - turn)[0] / step
    return out
