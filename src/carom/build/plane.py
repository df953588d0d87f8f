"""Worlds of the plane."""

from __future__ import annotations

import numpy as np

from ..contact.polygons import half_width
from ..errors import ProblemError
from ..scene.boundaries import Boundary, Container, Drum, Plane, Segment
from ..scene.model import Bodies, Scene
from ..scene.motion import Motion
from ..scene.numbers import scalar
from ..scene.shapes import UNTURNED, Disc, Polygon, Rectangle
from ..shapes import convex_polygon, polygon_moments
from ..solvers.rows import Floats, Ints
from ..world import DISC, INSIDE, OUTSIDE, PLANE, POLYGON, SEGMENT, Boundaries, Shapes, State, World
from .common import gravity_of, motions_of, tables
from .group import Group


def build_plane(scene: Scene) -> tuple[World, State]:
    """The world of a scene of the plane, and its state at time 0."""
    names, restitution, friction = tables(scene)
    groups = [_Group(scene, k, names) for k in range(len(scene.bodies))]
    turning = _anything_turns(scene, groups, friction)
    walls, boundary_material, boundary_motions = _walls(scene, names)
    position, velocity = np.concatenate([g.position for g in groups]), np.concatenate([g.velocity for g in groups])
    angle, spin = np.concatenate([g.angle for g in groups]), np.concatenate([g.spin for g in groups])
    mass, inertia = np.concatenate([g.mass for g in groups]), np.concatenate([g.inertia for g in groups])
    free = np.concatenate([np.full(g.count, g.free) for g in groups])
    turns = np.concatenate([np.full(g.count, g.rotates) for g in groups])
    root = np.zeros((len(mass), 3 if turning else 2))
    root[free, :2] = 1.0 / np.sqrt(mass[free])[:, None]
    if turning:
        root[free & turns, 2] = 1.0 / np.sqrt(inertia[free & turns])
        velocity = np.column_stack([velocity, spin])
    world = World(
        name=scene.name,
        mass=mass,
        inertia=inertia,
        free=free,
        inverse_sqrt_mass=root,
        shapes=_shapes(groups),
        material=np.concatenate([np.full(g.count, g.material) for g in groups]),
        boundary_material=boundary_material,
        restitution=restitution,
        friction=friction,
        boundaries=walls,
        boundary_motions=boundary_motions,
        motions=motions_of(groups),
        home=np.column_stack([position, angle]),
        gravity=gravity_of(scene, 2),
        force=scene.force,
        periodic=scene.periodic,
        material_names=names,
        group=np.repeat(np.arange(len(groups)), [g.count for g in groups]),
        length_scale=min((g.feature for g in groups if g.free), default=min(g.feature for g in groups)),
    )
    state = State(0.0, 0, np.ascontiguousarray(position), angle, np.ascontiguousarray(velocity))
    for body, motion in world.motions:
        state.position[body], state.orientation[body] = world.posed(body, motion, 0.0)
    return world, state


class _Group(Group):
    """One group of bodies of the plane."""

    def __init__(self, scene: Scene, index: int, names: list[str]) -> None:
        super().__init__(scene, index, names, 2)
        given = self.given
        if tuple(np.ravel(given.orientation)) != UNTURNED:
            raise ProblemError(f"{self.path}.orientation", given.orientation, "none: bodies of the plane have an angle")
        self.angle = self._spread(given.angle, "angle", (self.count,))
        self.kind, self.radius, self.vertices, area, gyration = self._shape(given)
        self.weigh(area, gyration)
        self.feature = float(self.radius.min()) if self.vertices is None else float(half_width(self.vertices))

    def _shape(self, given: Bodies) -> tuple[int, Floats, Floats | None, Floats, Floats]:
        """Kind, radius, corners, area, and inertia over mass."""
        shape, n = given.shape, self.count
        if isinstance(shape, Disc):
            radius = self._positive(shape.radius, "radius")
            return DISC, radius, None, np.pi * radius**2, 0.5 * radius**2
        if isinstance(shape, Rectangle):
            sides = [(f"{self.path}.{name}", getattr(shape, name)) for name in ("width", "height")]
            w, h = (scalar(path, value, 0.0, above=True) for path, value in sides)
            corners = 0.5 * np.array([[-w, -h], [w, -h], [w, h], [-w, h]])
            area, moment = w * h, w * h * (w * w + h * h) / 12.0
        elif isinstance(shape, Polygon):
            corners = convex_polygon(shape.vertices, f"{self.path}.vertices")
            area, _, moment = polygon_moments(corners)
        else:
            raise ProblemError(f"{self.path}.shape", type(shape).__name__, "Disc, Rectangle or Polygon")
        reach = float(np.hypot(*corners.T).max())
        return POLYGON, np.full(n, reach), corners, np.full(n, area), np.full(n, moment / area)


def _anything_turns(scene: Scene, groups: list[_Group], friction: Floats) -> bool:
    """Discs without friction never change their spin: then two components of velocity are enough."""
    if any(g.spin.any() for g in groups):
        return True
    if any(g.motion is not None and g.motion.kind != "fixed" for g in groups):
        return True
    if scene.force is not None and any(g.free and g.rotates for g in groups):
        return True
    return any(g.free and g.rotates and (g.kind == POLYGON or friction.any()) for g in groups)


def _shapes(groups: list[_Group]) -> Shapes:
    corners = [np.repeat(len(g.vertices) if g.vertices is not None else 0, g.count) for g in groups]
    vertex = [np.tile(g.vertices, (g.count, 1)) for g in groups if g.vertices is not None]
    return Shapes(
        kind=np.concatenate([np.full(g.count, g.kind, np.int8) for g in groups]),
        radius=np.concatenate([g.radius for g in groups]),
        vertex_ptr=np.concatenate([[0], np.cumsum(np.concatenate(corners))]).astype(np.int64),
        vertex=np.concatenate(vertex) if vertex else np.zeros((0, 2)),
    )


def _walls(scene: Scene, names: list[str]) -> tuple[Boundaries, Ints, list[Motion]]:
    kind, a, b, radius, center, material, motions = [], [], [], [], [], [], []
    for index, given in enumerate(scene.boundaries):
        if not isinstance(given, Boundary):
            raise ProblemError(f"boundaries[{index}]", type(given).__name__, "a boundary, such as Plane or Drum")
        if given.material not in names:
            raise ProblemError.unknown(f"material (of boundaries[{index}])", given.material, names)
        if not isinstance(given.motion, Motion):
            raise ProblemError(f"boundaries[{index}].motion", given.motion, "a Motion; FIXED for one that stands")
        given.motion.check(f"boundaries[{index}].motion", 2)
        place = given.motion.about
        if isinstance(given, Container) and place is None:
            place = tuple(0.5 * (np.array(given.lower) + np.array(given.upper)))
        whole = given.in_dimension(2, f"boundaries[{index}]")
        for wall in whole.planes() if isinstance(whole, Container) else (whole,):
            if isinstance(wall, Plane):
                assert wall.point is not None
                assert wall.normal is not None
                row = (PLANE, wall.point, np.array(wall.normal) / np.hypot(*wall.normal), 0.0, wall.point)
            elif isinstance(wall, Drum):
                row = (INSIDE if wall.inside else OUTSIDE, wall.center, (0.0, 0.0), wall.radius, wall.center)
            elif isinstance(wall, Segment):
                row = (SEGMENT, wall.start, wall.end, 0.0, 0.5 * (np.array(wall.start) + np.array(wall.end)))
            kind.append(row[0])
            a.append(row[1])
            b.append(row[2])
            radius.append(row[3])
            center.append(row[4] if place is None else place)
            material.append(names.index(given.material))
            motions.append(given.motion)
    w = len(kind)
    vectors = [np.array(rows, dtype=np.float64).reshape(w, 2) for rows in (a, b, center)]
    walls = Boundaries(
        np.array(kind, np.int8), vectors[0], vectors[1], np.array(radius, np.float64), vectors[2], np.zeros((w, 3))
    )
    return walls, np.array(material, np.int64), motions
