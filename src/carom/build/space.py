"""Worlds of space."""

from __future__ import annotations

import numpy as np

from .. import rotations
from ..errors import ProblemError
from ..scene.boundaries import Boundary, Container, Plane, Shell, Tube
from ..scene.model import Scene
from ..scene.motion import Motion
from ..scene.shapes import Solid, Sphere, unit
from ..solids.tables import make_solids
from ..solvers.rows import Floats, Ints
from ..world import INSIDE, PLANE, TUBE, Boundaries, State, World
from .common import gravity_of, motions_of, tables
from .group import Group


def build_space(scene: Scene) -> tuple[World, State]:
    """The world of a scene of space, and its state at time 0."""
    names, restitution, friction = tables(scene)
    groups = [_Group(scene, k, names) for k in range(len(scene.bodies))]
    walls, boundary_material, boundary_motions = _barriers(scene, names)
    solids, properties = make_solids([(g.path, g.shape, g.count) for g in groups])
    for g, p in zip(groups, properties):
        g.weigh(p.volume, p.gyration)
        g.check_moments()
        g.turn(p.frame)
    position, velocity = np.concatenate([g.position for g in groups]), np.concatenate([g.velocity for g in groups])
    orientation, spin = np.concatenate([g.orientation for g in groups]), np.concatenate([g.spin for g in groups])
    mass, inertia = np.concatenate([g.mass for g in groups]), np.concatenate([g.inertia for g in groups])
    free = np.concatenate([np.full(g.count, g.free) for g in groups])
    turns = np.concatenate([np.full(g.count, g.rotates) for g in groups])
    turning = _anything_turns(scene, groups, friction)
    root = np.zeros((len(mass), 6 if turning else 3))
    root[free, :3] = 1.0 / np.sqrt(mass[free])[:, None]
    if turning:
        root[free & turns, 3:] = 1.0 / np.sqrt(inertia[free & turns])
        velocity = np.column_stack([velocity, spin])
    heavy = free if free.any() else np.ones_like(free)
    world = World(
        name=scene.name,
        mass=mass,
        inertia=inertia,
        free=free,
        inverse_sqrt_mass=root,
        shapes=solids,
        material=np.concatenate([np.full(g.count, g.material) for g in groups]),
        boundary_material=boundary_material,
        restitution=restitution,
        friction=friction,
        boundaries=walls,
        boundary_motions=boundary_motions,
        motions=motions_of(groups),
        home=np.column_stack([position, orientation]),
        gravity=gravity_of(scene, 3),
        force=scene.force,
        periodic=scene.periodic,
        material_names=names,
        group=np.repeat(np.arange(len(groups)), [g.count for g in groups]),
        length_scale=float(solids.inner[heavy].min()),
        integrator=scene.integrator,
    )
    state = State(0.0, 0, np.ascontiguousarray(position), orientation, np.ascontiguousarray(velocity))
    for body, motion in world.motions:
        state.position[body], state.orientation[body] = world.posed(body, motion, 0.0)
    return world, state


class _Group(Group):
    """One group of bodies of space."""

    shape: Solid

    def __init__(self, scene: Scene, index: int, names: list[str]) -> None:
        super().__init__(scene, index, names, 3)
        given, n = self.given, self.count
        if not isinstance(given.shape, Solid):
            wanted = "a shape of space, as the others: Sphere, Box, Capsule, Cylinder, Hull, Mesh or Compound"
            raise ProblemError(f"{self.path}.shape", type(given.shape).__name__, wanted)
        if np.any(np.asarray(given.angle) != 0.0):
            raise ProblemError(f"{self.path}.angle", given.angle, "0: bodies of space have an orientation")
        self.shape = given.shape
        if np.ndim(given.spin) == 0 and np.any(np.asarray(given.spin) != 0.0):
            raise ProblemError(f"{self.path}.spin", given.spin, "three numbers: in space a spin is a vector")
        if np.shape(given.orientation)[-1:] != (4,):
            raise ProblemError(f"{self.path}.orientation", given.orientation, "quaternions (w, x, y, z)")
        orientation = self._spread(given.orientation, "orientation", (n, 4))
        bad = np.flatnonzero(~(np.abs(orientation).max(axis=1) > 0.0))
        if len(bad):
            raise ProblemError(
                f"{self.path}.orientation", orientation[bad[0]].tolist(), "a quaternion that is not zero"
            )
        self.orientation = unit(orientation)

    def check_moments(self) -> None:
        """No body has a moment of inertia above the sum of the two others."""
        largest = self.inertia.max(axis=1)
        bad = np.flatnonzero(largest > (self.inertia.sum(axis=1) - largest) * (1.0 + 1e-9))
        if len(bad):
            wanted = "three moments about the principal axes, none above the sum of the two others"
            raise ProblemError(f"{self.path}.inertia", self.inertia[bad[0]].tolist(), wanted)

    def turn(self, frame: Floats) -> None:
        """To the principal axes: `frame` is the turn from them to the solid's own."""
        if tuple(frame) != (1.0, 0.0, 0.0, 0.0):
            self.orientation = rotations.product(self.orientation, np.tile(frame, (self.count, 1)))
        self.spin = rotations.turned_back(self.orientation, self.spin)

    @property
    def round(self) -> bool:
        return isinstance(self.shape, Sphere)


def _anything_turns(scene: Scene, groups: list[_Group], friction: Floats) -> bool:
    """Spheres without friction never change their spin: then three components of velocity are enough."""
    if any(g.spin.any() for g in groups):
        return True
    if any(g.motion is not None and g.motion.kind != "fixed" for g in groups):
        return True
    if scene.force is not None and any(g.free and g.rotates for g in groups):
        return True
    return any(g.free and g.rotates and (not g.round or friction.any()) for g in groups)


def _barriers(scene: Scene, names: list[str]) -> tuple[Boundaries, Ints, list[Motion]]:
    rows: list[tuple[int, Floats, Floats, float, Floats]] = []
    material, motions = [], []
    for index, given in enumerate(scene.boundaries):
        path = f"boundaries[{index}]"
        if not isinstance(given, Boundary):
            raise ProblemError(path, type(given).__name__, "a boundary, such as Plane or Container")
        if given.material not in names:
            raise ProblemError.unknown(f"material (of {path})", given.material, names)
        if not isinstance(given.motion, Motion):
            raise ProblemError(f"{path}.motion", given.motion, "a Motion; FIXED for one that stands")
        given.motion.check(f"{path}.motion", 3)
        about = given.motion.about
        if isinstance(given, Container) and about is None:
            about = tuple(0.5 * (np.array(given.lower) + np.array(given.upper)))
        whole = given.in_dimension(3, path)
        for wall in whole.planes() if isinstance(whole, Container) else (whole,):
            rows.append(_row(wall, about))
            material.append(names.index(given.material))
            motions.append(given.motion)
    w = len(rows)
    barriers = Boundaries(
        np.array([r[0] for r in rows], np.int8),
        np.array([r[1] for r in rows], np.float64).reshape(w, 3),
        np.array([r[2] for r in rows], np.float64).reshape(w, 3),
        np.array([r[3] for r in rows], np.float64),
        np.array([r[4] for r in rows], np.float64).reshape(w, 3),
        np.zeros((w, 6)),
    )
    return barriers, np.array(material, np.int64), motions


def _row(wall: object, about: tuple[float, ...] | None) -> tuple[int, Floats, Floats, float, Floats]:
    """Kind, point, axis, radius and center of turning of one boundary."""
    assert isinstance(wall, Boundary)
    place = np.array(wall.center if isinstance(wall, Shell) else wall.point, dtype=np.float64)  # type: ignore[attr-defined]
    center = place if about is None else np.asarray(about, dtype=np.float64)
    if isinstance(wall, Shell):
        return INSIDE, place, np.zeros(3), float(wall.radius), center
    if isinstance(wall, Tube):
        axis = np.array(wall.axis, dtype=np.float64)
        return TUBE, place, axis / np.linalg.norm(axis), float(wall.radius), center
    assert isinstance(wall, Plane)
    normal = np.array(wall.normal, dtype=np.float64)
    return PLANE, place, normal / np.linalg.norm(normal), 0.0, center
