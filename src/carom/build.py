"""From a scene to a world and its first state, with every check that can be made before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .contact.polygons import half_width
from .contact.start import check_start
from .errors import ProblemError
from .scene.boundaries import KINDS as BOUNDARY_KINDS
from .scene.boundaries import Box, Drum, HalfPlane, Periodic, Segment
from .scene.model import Bodies, Disc, Material, Polygon, Rectangle, Scene
from .scene.motion import Motion
from .scene.numbers import array, scalar
from .shapes import convex_polygon, polygon_moments
from .solvers.rows import Floats, Ints
from .world import DISC, INSIDE, OUTSIDE, PLANE, POLYGON, SEGMENT, Shapes, State, Walls, World


def build(scene: Scene, check_overlap: bool = True) -> tuple[World, State]:
    """The world of a scene, and its state at time 0. Raises ProblemError for what cannot be run."""
    if not isinstance(scene, Scene):
        raise ProblemError(
            "scene", type(scene).__name__, "a Scene, as carom.scenes, carom.load_scene or carom.Scene make"
        )
    if not scene.bodies:
        raise ProblemError("bodies", "none", "at least one body")
    _check_settings(scene)
    names, restitution, friction = _tables(scene)
    groups = [_Group(scene, k, names) for k in range(len(scene.bodies))]
    turning = _anything_turns(scene, groups, friction)
    walls, wall_material, wall_motions = _walls(scene, names)
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
        root=root,
        shapes=_shapes(groups),
        material=np.concatenate([np.full(g.count, g.material) for g in groups]),
        wall_material=wall_material,
        restitution=restitution,
        friction=friction,
        walls=walls,
        wall_motions=wall_motions,
        motions=_motions(groups),
        home=np.column_stack([position, angle]),
        gravity=np.array(scene.gravity, dtype=np.float64),
        force=scene.force,
        periodic=scene.periodic,
        material_names=names,
        group=np.repeat(np.arange(len(groups)), [g.count for g in groups]),
        feature=min((g.feature for g in groups if g.free), default=min(g.feature for g in groups)),
    )
    state = State(0.0, 0, np.ascontiguousarray(position), angle, np.ascontiguousarray(velocity))
    for body, motion in world.motions:
        state.position[body], state.angle[body] = world.posed(body, motion, 0.0)
    if check_overlap:
        check_start(scene, world, state)
    return world, state


class _Group:
    """One group of bodies as checked arrays."""

    def __init__(self, scene: Scene, index: int, names: list[str]) -> None:
        given = scene.bodies[index]
        if not isinstance(given, Bodies):
            raise ProblemError(f"bodies[{index}]", type(given).__name__, "a carom.scene.Bodies")
        self.path = f"bodies[{index}]" + (f" ({given.name})" if given.name else "")
        self.position = self._places(given.position)
        n = self.count = len(self.position)
        self.velocity = self._spread(given.velocity, "velocity", (n, 2))
        self.angle, self.spin = self._spread(given.angle, "angle", (n,)), self._spread(given.spin, "spin", (n,))
        if given.material not in names:
            raise ProblemError.unknown(f"material (of {self.path})", given.material, names)
        self.material = names.index(given.material)
        self.motion, self.free = given.motion, given.motion is None
        if given.motion is not None and not isinstance(given.motion, Motion):
            raise ProblemError(f"{self.path}.motion", given.motion, "a Motion, or None for a free body")
        if given.motion is not None:  # it alone says how they move
            self.velocity, self.spin = np.zeros((n, 2)), np.zeros(n)
        self.rotates = bool(given.rotates)
        self.kind, self.radius, self.vertices, area, gyration = self._shape(given)
        density = scene.materials[given.material].density
        self.mass = self._positive(given.mass, "mass") if given.mass is not None else density * area
        self.inertia = self._positive(given.inertia, "inertia") if given.inertia is not None else self.mass * gyration
        for name, value in (("mass", self.mass), ("inertia", self.inertia)):
            bad = np.flatnonzero(~((value > 0.0) & np.isfinite(value)))
            if len(bad):
                raise ProblemError(f"{self.path}.{name}", float(value[bad[0]]), "a finite number above 0")
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

    def _places(self, value: Any) -> Floats:
        wanted = "places (x, y), one for each body"
        try:
            places = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.position", value, wanted) from None
        places = array(f"{self.path}.position", places[None] if places.ndim == 1 else places, (None, 2), wanted)
        if not len(places):
            raise ProblemError(f"{self.path}.position", "none", "at least one place (x, y)")
        return np.ascontiguousarray(places)

    def _spread(self, value: Any, name: str, shape: tuple[int, ...]) -> Floats:
        try:
            array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.{name}", value, f"numbers that fit the shape {shape}") from None
        self._finite(array, name)
        return array

    def _finite(self, array: Floats, name: str) -> None:
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            where = f"[{bad[0][0]}]" if array.shape[0] > 1 else ""
            raise ProblemError(f"{self.path}.{name}{where}", array[tuple(bad[0])], "a finite number")

    def _positive(self, value: Any, name: str) -> Floats:
        array = self._spread(value, name, (self.count,))
        bad = np.flatnonzero(~(array > 0.0))
        if len(bad):
            where = f"[{bad[0]}]" if np.ndim(value) else ""
            raise ProblemError(f"{self.path}.{name}{where}", float(array[bad[0]]), "a number above 0")
        return array


def _check_settings(scene: Scene) -> None:
    array("gravity", scene.gravity, (2,), "two finite numbers (gx, gy)")
    for name in ("step", "duration", "frame_rate"):
        scalar(name, getattr(scene, name), 0.0, above=True)
    if scene.force is not None and not callable(scene.force):
        raise ProblemError("force", scene.force, "a function of (time, position, velocity)")
    if scene.periodic is not None and not isinstance(scene.periodic, Periodic):
        raise ProblemError("periodic", f"a {type(scene.periodic).__name__}", "a Periodic")
    if scene.mixed_restitution not in ("refuse", "blend"):
        raise ProblemError("mixed_restitution", scene.mixed_restitution, "refuse or blend")


def _tables(scene: Scene) -> tuple[list[str], Floats, Floats]:
    """Names of the materials, and their pair tables of restitution and friction."""
    names = list(scene.materials)
    for name, m in scene.materials.items():
        if not isinstance(m, Material):
            raise ProblemError(f"materials.{name}", m, "a Material")
        scalar(f"materials.{name}.restitution", m.restitution, 0.0, 1.0)
        scalar(f"materials.{name}.friction", m.friction, 0.0)
        scalar(f"materials.{name}.density", m.density, 0.0, above=True)
    e = np.array([m.restitution for m in scene.materials.values()])
    mu = np.array([m.friction for m in scene.materials.values()])
    restitution, friction = np.minimum(e[:, None], e), np.sqrt(mu[:, None] * mu)
    for pair, values in scene.pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ProblemError("pairs", pair, "two names of materials")
        for name in pair:
            if name not in names:
                raise ProblemError.unknown("material (of pairs)", name, names)
        path, i, j = f"pairs[{pair[0]}, {pair[1]}]", names.index(pair[0]), names.index(pair[1])
        for name in values:
            if name not in ("restitution", "friction"):
                raise ProblemError.unknown(f"field (of {path})", name, ("restitution", "friction"))
        restitution[i, j] = scalar(f"{path}.restitution", values.get("restitution", restitution[i, j]), 0.0, 1.0)
        friction[i, j] = scalar(f"{path}.friction", values.get("friction", friction[i, j]), 0.0)
        restitution[j, i], friction[j, i] = restitution[i, j], friction[i, j]
    return names, restitution, friction


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


def _motions(groups: list[_Group]) -> list[tuple[Ints, Motion]]:
    out, at = [], 0
    for g in groups:
        if g.motion is not None and g.motion.kind != "fixed":
            out.append((np.arange(at, at + g.count), g.motion))
        at += g.count
    return out


def _walls(scene: Scene, names: list[str]) -> tuple[Walls, Ints, list[Motion]]:
    kind, a, b, radius, centre, material, motions = [], [], [], [], [], [], []
    for index, given in enumerate(scene.boundaries):
        if not isinstance(given, tuple(BOUNDARY_KINDS.values())):
            raise ProblemError(f"boundaries[{index}]", type(given).__name__, "HalfPlane, Box, Drum or Segment")
        if given.material not in names:
            raise ProblemError.unknown(f"material (of boundaries[{index}])", given.material, names)
        if not isinstance(given.motion, Motion):
            raise ProblemError(f"boundaries[{index}].motion", given.motion, "a Motion; FIXED for one that stands")
        place = given.motion.about
        if isinstance(given, Box) and place is None:
            place = tuple(0.5 * (np.array(given.lower) + np.array(given.upper)))
        for wall in given.walls() if isinstance(given, Box) else (given,):
            if isinstance(wall, HalfPlane):
                row = (PLANE, wall.point, np.array(wall.normal) / np.hypot(*wall.normal), 0.0, wall.point)
            elif isinstance(wall, Drum):
                row = (INSIDE if wall.inside else OUTSIDE, wall.center, (0.0, 0.0), wall.radius, wall.center)
            elif isinstance(wall, Segment):
                row = (SEGMENT, wall.start, wall.end, 0.0, 0.5 * (np.array(wall.start) + np.array(wall.end)))
            kind.append(row[0])
            a.append(row[1])
            b.append(row[2])
            radius.append(row[3])
            centre.append(row[4] if place is None else place)
            material.append(names.index(given.material))
            motions.append(given.motion)
    w = len(kind)
    vectors = [np.array(rows, dtype=np.float64).reshape(w, 2) for rows in (a, b, centre)]
    walls = Walls(
        np.array(kind, np.int8), vectors[0], vectors[1], np.array(radius, np.float64), vectors[2], np.zeros((w, 3))
    )
    return walls, np.array(material, np.int64), motions
