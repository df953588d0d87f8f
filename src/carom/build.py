"""From a scene to its world and first state, with every check that can be made before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .build_joints import make_joints
from .checks import array, scalar
from .contact.containment import check_start
from .errors import ProblemError
from .geometry import rotations
from .geometry.polygons import half_width
from .scene.boundaries import Boundary, Drum, Periodic, Plane, Segment, Shell, Tube
from .scene.changes import Sink, Source
from .scene.model import COEFFICIENTS, INTEGRATORS, Bodies, Material, Scene, SpeedCurve, curve_of, forces_of
from .scene.motion import Motion
from .scene.parts import make_shapes
from .scene.shapes import KINDS, UNTURNED, Disc, Figure, Solid, Sphere, unit
from .settings import tolerance_number
from .solvers.rows import Floats, Ints
from .world import (
    DISC,
    INSIDE,
    OUTSIDE,
    PLANE,
    POLYGON,
    SEGMENT,
    TUBE,
    Boundaries,
    Shapes,
    Shapes2D,
    State,
    World,
)

_AXES = {2: "(x, y)", 3: "(x, y, z)"}
_NUMBERS = {2: "two finite numbers (gx, gy)", 3: "three finite numbers (gx, gy, gz)"}
_MOMENT_ROUNDING = 1e-9  # relative excess of one moment of inertia over the sum of the two others that is rounding


def build(scene: Scene, check_overlap: bool = True) -> tuple[World, State]:
    """The world of a scene, and its state at time 0.

    Raises ProblemError for a scene that cannot be run; `check_overlap` includes bodies that overlap at the start.
    """
    if not isinstance(scene, Scene):
        raise ProblemError(
            "scene", type(scene).__name__, "a Scene, as carom.scenes, carom.load_scene or carom.Scene make"
        )
    if not scene.bodies:
        raise ProblemError("bodies", "none", "at least one body")
    _check_settings(scene)
    world, state = _build(scene)
    if check_overlap:
        check_start(scene, world, state)
    return world, state


def _lives(scene: Scene) -> NDArray[np.int32] | None:
    """The lives of all bodies at the start; None if none appears or vanishes. Checks what sources and sinks name."""
    if not scene.changes:
        return None
    names, used = [group.name for group in scene.bodies], set()
    for i, source in enumerate(scene.sources):
        path = f"sources[{i}]"
        if not isinstance(source, Source):
            raise ProblemError(path, type(source).__name__, "a Source")
        _check_named(f"{path}.bodies", source.bodies, scene, names)
        if source.bodies in used:
            raise ProblemError(f"{path}.bodies", source.bodies, "a group without another source")
        used.add(source.bodies)
        _check_vectors(path, scene, lower=source.lower, upper=source.upper, velocity=source.velocity)
    for i, sink in enumerate(scene.sinks):
        path = f"sinks[{i}]"
        if not isinstance(sink, Sink):
            raise ProblemError(path, type(sink).__name__, "a Sink")
        for name in sink.bodies:
            _check_named(f"{path}.bodies", name, scene, names)
        _check_vectors(path, scene, lower=sink.lower, upper=sink.upper)
    groups = scene.groups
    for i, group in enumerate(groups):
        if not group.present and group.motion is not None:
            raise ProblemError(f"bodies[{i}].present", False, "true: bodies that are not free do not appear or vanish")
    life = np.repeat([int(group.present) for group in groups], [group.count for group in groups])
    return np.asarray(life, np.int32)


def _check_named(path: str, name: str, scene: Scene, names: list[str]) -> None:
    """Refuses the name of a group that does not exist, or whose bodies are not free."""
    if name not in names:
        raise ProblemError.unknown(path, name, [n for n in names if n])
    if names.count(name) > 1:
        raise ProblemError(path, name, "a name that one group has")
    if scene.bodies[names.index(name)].motion is not None:
        raise ProblemError(path, name, "a group of free bodies: others do not appear or vanish")


def _check_vectors(path: str, scene: Scene, **vectors: Any) -> None:
    for name, vector in vectors.items():
        if vector is not None and len(vector) != scene.dimension:
            raise ProblemError(
                f"{path}.{name}", vector, f"{scene.dimension} numbers: the bodies are {scene.dimension}D"
            )


def _build(scene: Scene) -> tuple[World, State]:
    dim = scene.dimension
    names = list(scene.materials)
    pairs = _pair_coefficients(scene, names)
    rubs = any(pairs[name].any() for name in COEFFICIENTS if name != "restitution")
    groups = [_Checked(scene, given, k, names) for k, given in enumerate(scene.groups)]
    boundaries, boundary_material, boundary_motions = _boundaries(scene, names)
    shapes = _shapes_2d(groups) if dim == 2 else _shapes_3d(groups)
    position, velocity = np.concatenate([g.position for g in groups]), np.concatenate([g.velocity for g in groups])
    orientation, spin = np.concatenate([g.orientation for g in groups]), np.concatenate([g.spin for g in groups])
    mass, inertia = np.concatenate([g.mass for g in groups]), np.concatenate([g.inertia for g in groups])
    free = np.concatenate([np.full(g.count, g.free) for g in groups])
    turns = np.concatenate([np.full(g.count, g.rotates) for g in groups])
    turning = _anything_turns(scene, groups, rubs)
    root = np.zeros((len(mass), rotations.velocity_components(dim) if turning else dim))
    root[free, :dim] = 1.0 / np.sqrt(mass[free])[:, None]
    if turning:
        root[free & turns, dim:] = 1.0 / np.sqrt(inertia.reshape(len(mass), -1)[free & turns])
        velocity = np.column_stack([velocity, spin])
    measured = free if free.any() else np.ones_like(free)
    world = World(
        name=scene.name,
        mass=mass,
        inertia=inertia,
        free=free,
        inverse_sqrt_mass=root,
        shapes=shapes,
        material=np.concatenate([np.full(g.count, g.material) for g in groups]),
        boundary_material=boundary_material,
        restitution=pairs["restitution"],
        restitution_curves=_restitution_curves(scene, names),
        friction=pairs["friction"],
        rolling_friction=pairs["rolling_friction"] if pairs["rolling_friction"].any() else None,
        torsional_friction=pairs["torsional_friction"] if pairs["torsional_friction"].any() else None,
        boundaries=boundaries,
        boundary_motions=boundary_motions,
        motions=_motions(groups),
        home=np.column_stack([position, orientation]),
        gravity=_gravity(scene),
        force=forces_of(scene, mass, scene.step),
        potential=scene.potential,
        periodic=scene.periodic,
        material_names=names,
        group=np.repeat(np.arange(len(groups)), [g.count for g in groups]),
        length_scale=float(shapes.inner[measured].min()),
        integrator=scene.integrator,
    )
    life = _lives(scene)
    if life is not None:
        world = replace(world, launch=np.ascontiguousarray(velocity))
        velocity = np.where((life > 0)[:, None], velocity, 0.0)
    state = State(0.0, 0, np.ascontiguousarray(position), orientation, np.ascontiguousarray(velocity), life)
    for body, motion in world.motions:
        state.position[body], state.orientation[body] = world.posed(body, motion, 0.0)
    if scene.joints:
        world = replace(world, joints=make_joints(scene, world, state))
        _check_jointed_stay(scene, world)
    return world, state


def _check_jointed_stay(scene: Scene, world: World) -> None:
    """Refuses groups that appear or vanish, and have joints."""
    assert world.joints is not None
    jointed = set(world.group[world.joints.holds(world.count)].tolist())
    names = {group.name: i for i, group in enumerate(scene.bodies)}
    wanted = "a group without joints: bodies that have joints do not appear or vanish"
    for i in sorted(jointed):
        if not scene.groups[i].present:
            raise ProblemError(f"bodies[{i}].present", False, "true: bodies that have joints do not appear or vanish")
    for i, source in enumerate(scene.sources):
        if names[source.bodies] in jointed:
            raise ProblemError(f"sources[{i}].bodies", source.bodies, wanted)
    for i, sink in enumerate(scene.sinks):
        for name in sink.bodies:
            if names[name] in jointed:
                raise ProblemError(f"sinks[{i}].bodies", name, wanted)


def _anything_turns(scene: Scene, groups: Sequence[_Checked], rubs: bool) -> bool:
    """Whether spins can change: discs and spheres never do if nothing `rubs`, and need no components for spin."""
    if any(g.spin.any() for g in groups) or scene.joints:
        return True
    if any(g.motion is not None and g.motion.kind != "fixed" for g in groups):
        return True
    if scene.force is not None and any(g.free and g.rotates for g in groups):
        return True
    return any(g.free and g.rotates and (not g.round or rubs) for g in groups)


def _motions(groups: Sequence[_Checked]) -> list[tuple[Ints, Motion]]:
    """The bodies that follow a motion, with it."""
    out, at = [], 0
    for g in groups:
        if g.motion is not None and g.motion.kind != "fixed":
            out.append((np.arange(at, at + g.count), g.motion))
        at += g.count
    return out


# ---- settings and materials


def _check_settings(scene: Scene) -> None:
    for name in ("step", "duration", "frame_rate"):
        scalar(name, getattr(scene, name), 0.0, above=True)
    if scene.force is not None and not callable(scene.force):
        raise ProblemError("force", scene.force, "a function of (time, position, velocity)")
    if scene.potential is not None and (not callable(scene.potential) or scene.force is None):
        wanted = "a function of (time, position) beside a force"
        raise ProblemError("potential", "without force" if callable(scene.potential) else scene.potential, wanted)
    for name in ("linear_drag", "quadratic_drag", "sliding_deceleration"):
        scalar(name, getattr(scene, name), 0.0)
    if scene.sliding_deceleration and scene.dimension == 3:
        raise ProblemError("sliding_deceleration", scene.sliding_deceleration, "0: the bodies of this scene are 3D")
    if scene.periodic is not None and not isinstance(scene.periodic, Periodic):
        raise ProblemError("periodic", f"a {type(scene.periodic).__name__}", "a Periodic")
    if scene.periodic is not None and scene.dimension == 2 and (scene.periodic.z or scene.periodic.sheared == "z"):
        raise ProblemError("periodic.z", scene.periodic.z, "none: the bodies of this scene are 2D")
    if scene.integrator not in INTEGRATORS:
        raise ProblemError.unknown("integrator", scene.integrator, INTEGRATORS)
    if scene.tolerance is not None:
        tolerance_number("tolerance", scene.tolerance)


def _gravity(scene: Scene) -> Floats:
    """Gravity (D,) as checked numbers; (0, 0), the default, means none in 3D as well."""
    dim = scene.dimension
    given = array("gravity", scene.gravity, (None,), _NUMBERS[dim])
    if given.shape == (2,) and not given.any():
        return np.zeros(dim)
    return array("gravity", given, (dim,), _NUMBERS[dim])


def _pair_coefficients(scene: Scene, names: list[str]) -> dict[str, Floats]:
    """COEFFICIENTS of all pairs of the k materials, by name: each (k, k) and symmetric."""
    for name, m in scene.materials.items():
        if not isinstance(m, Material):
            raise ProblemError(f"materials.{name}", m, "a Material")
        scalar(f"materials.{name}.density", m.density, 0.0, above=True)
    out = {}
    for key in COEFFICIENTS:
        own = [_coefficient(scene, f"materials.{name}", key, getattr(m, key)) for name, m in scene.materials.items()]
        values = np.array(own)
        out[key] = np.minimum(values[:, None], values) if key == "restitution" else np.sqrt(values[:, None] * values)
    for pair, given in scene.pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ProblemError("pairs", pair, "two names of materials")
        for name in pair:
            if name not in names:
                raise ProblemError.unknown("material (of pairs)", name, names)
        path, i, j = f"pairs[{pair[0]}, {pair[1]}]", names.index(pair[0]), names.index(pair[1])
        for key, value in given.items():
            if key not in COEFFICIENTS:
                raise ProblemError.unknown(f"field (of {path})", key, COEFFICIENTS)
            out[key][i, j] = out[key][j, i] = _coefficient(scene, path, key, value)
    return out


def _lowest(path: str, value: Any) -> Any:
    """The smallest coefficient of a table over speed, 0 of a function; other values as they are."""
    if callable(value):
        return 0.0
    if not isinstance(value, (tuple, list)):
        return value
    curve_of(path, value)
    return min(row[1] for row in value)


def _restitution_curves(scene: Scene, names: list[str]) -> dict[tuple[int, int], SpeedCurve]:
    """Functions of the speed of approach, for the pairs (i, j) of materials, i <= j, that have one."""
    own: dict[str, tuple[str, Any]] = {
        n: (f"materials.{n}.restitution", m.restitution) for n, m in scene.materials.items()
    }
    given = {
        frozenset(pair): (f"pairs[{pair[0]}, {pair[1]}].restitution", values["restitution"])
        for pair, values in scene.pairs.items()
        if "restitution" in values
    }
    out = {}
    for i, a in enumerate(names):
        for j in range(i, len(names)):
            both = given.get(frozenset((a, names[j])))
            meets = [both] if both is not None else [own[a], own[names[j]]]
            if any(callable(value) or np.ndim(value) for _, value in meets):
                out[i, j] = SpeedCurve([curve_of(path, value) for path, value in meets])
    return out


def _coefficient(scene: Scene, path: str, key: str, value: Any) -> float:
    """One of COEFFICIENTS, checked."""
    value = _lowest(f"{path}.{key}", value) if key == "restitution" else value
    number = scalar(f"{path}.{key}", value, 0.0, 1.0 if key == "restitution" else None)
    if key == "torsional_friction" and number and scene.dimension == 2:
        raise ProblemError(f"{path}.{key}", value, "0: bodies in 2D do not spin about a normal")
    return number


# ---- bodies


class _Checked:
    """The n bodies of one group as checked arrays."""

    mass: Floats  # (n,)
    inertia: Floats  # (n,), in 3D (n, 3) about the principal axes

    def __init__(self, scene: Scene, given: Bodies, index: int, names: list[str]) -> None:
        dim = scene.dimension
        if not isinstance(given, Bodies):
            raise ProblemError(f"bodies[{index}]", type(given).__name__, "a carom.scene.Bodies")
        self.path = f"bodies[{index}]" + (f" ({given.name})" if given.name else "")
        self.given, self.dimension = given, dim
        self.position = self._places(given.position)
        n = self.count = len(self.position)
        if dim == 3:
            self._check_3d()
        self.velocity = self.spread(given.velocity, "velocity", (n, dim))
        self.spin = self.spread(given.spin, "spin", (n, *rotations.SPIN_SHAPE[dim]))
        if given.material not in names:
            raise ProblemError.unknown(f"material (of {self.path})", given.material, names)
        self.material = names.index(given.material)
        self.density = scene.materials[given.material].density
        self.motion, self.free = given.motion, given.motion is None
        if given.motion is not None and not isinstance(given.motion, Motion):
            raise ProblemError(f"{self.path}.motion", given.motion, "a Motion, or None for a free body")
        if given.motion is not None:  # the motion alone says how they move
            given.motion.check(f"{self.path}.motion", dim)
            self.velocity, self.spin = np.zeros_like(self.velocity), np.zeros_like(self.spin)
        self.rotates = bool(given.rotates)
        self.orientation = self._angles() if dim == 2 else self._quaternions()

    @property
    def round(self) -> bool:
        """Whether the bodies are discs or spheres."""
        return isinstance(self.given.shape, Disc | Sphere)

    def _check_3d(self) -> None:
        given = self.given
        if not isinstance(given.shape, Solid):
            raise ProblemError(
                f"{self.path}.shape", type(given.shape).__name__, f"a 3D shape, like the other bodies: {_known(3)}"
            )
        if np.any(np.asarray(given.angle) != 0.0):
            raise ProblemError(f"{self.path}.angle", given.angle, "0: bodies in 3D have an orientation")
        if np.ndim(given.spin) == 0 and np.any(np.asarray(given.spin) != 0.0):
            raise ProblemError(f"{self.path}.spin", given.spin, "three numbers: in 3D a spin is a vector")

    def _angles(self) -> Floats:
        given = self.given
        if tuple(np.ravel(given.orientation)) != UNTURNED:
            raise ProblemError(f"{self.path}.orientation", given.orientation, "none: bodies in 2D have an angle")
        return self.spread(given.angle, "angle", (self.count,))

    def _quaternions(self) -> Floats:
        given, path = self.given.orientation, f"{self.path}.orientation"
        if np.shape(given)[-1:] != (4,):
            raise ProblemError(path, given, "quaternions (w, x, y, z)")
        orientation = self.spread(given, "orientation", (self.count, 4))
        bad = np.flatnonzero(~(np.abs(orientation).max(axis=1) > 0.0))
        if len(bad):
            raise ProblemError(path, orientation[bad[0]].tolist(), "a quaternion that is not zero")
        # Copies of one row keep the order of the broadcast in memory, for which kernels would be compiled again.
        return unit(np.ascontiguousarray(orientation))

    def weigh(self, size: Floats, gyration: Floats) -> None:
        """Mass and inertia: given, or of homogeneous bodies of this area or volume and these moments over mass."""
        given = self.given
        self.mass = self.positive(given.mass, "mass") if given.mass is not None else self.density * size
        if given.inertia is not None:
            self.inertia = self.positive(given.inertia, "inertia", gyration.shape)
        else:
            self.inertia = gyration * (self.mass if gyration.ndim == 1 else self.mass[:, None])
        for name, value in (("mass", self.mass), ("inertia", self.inertia)):
            bad = np.argwhere(~((value > 0.0) & np.isfinite(value)))
            if len(bad):
                raise ProblemError(f"{self.path}.{name}", float(value[tuple(bad[0])]), "a finite number above 0")

    def check_moments(self) -> None:
        """Refuses moments of inertia (n, 3) of which one is above the sum of the two others."""
        largest = self.inertia.max(axis=1)
        bad = np.flatnonzero(largest > (self.inertia.sum(axis=1) - largest) * (1.0 + _MOMENT_ROUNDING))
        if len(bad):
            wanted = "three moments about the principal axes, none above the sum of the two others"
            raise ProblemError(f"{self.path}.inertia", self.inertia[bad[0]].tolist(), wanted)

    def turn(self, frame: Floats) -> None:
        """Refers orientation and spin to the principal axes; `frame` turns them to the axes of the declaration."""
        if tuple(frame) != UNTURNED:
            self.orientation = rotations.product(self.orientation, np.tile(frame, (self.count, 1)))
        self.spin = rotations.turned_back(self.orientation, self.spin)

    def _places(self, value: Any) -> Floats:
        axes = _AXES[self.dimension]
        wanted = f"places {axes}, one for each body"
        try:
            places = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.position", value, wanted) from None
        many = places[None] if places.ndim == 1 else places
        places = array(f"{self.path}.position", many, (None, self.dimension), wanted)
        if not len(places):
            raise ProblemError(f"{self.path}.position", "none", f"at least one place {axes}")
        return np.ascontiguousarray(places)

    def spread(self, value: Any, name: str, shape: tuple[int, ...]) -> Floats:
        """Finite numbers, broadcast to one row per body."""
        try:
            numbers = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
        except (TypeError, ValueError):
            raise ProblemError(f"{self.path}.{name}", value, f"numbers that fit the shape {shape}") from None
        bad = np.argwhere(~np.isfinite(numbers))
        if len(bad):
            where = f"[{bad[0][0]}]" if numbers.shape[0] > 1 else ""
            raise ProblemError(f"{self.path}.{name}{where}", numbers[tuple(bad[0])], "a finite number")
        return numbers

    def positive(self, value: Any, name: str, shape: tuple[int, ...] | None = None) -> Floats:
        """Numbers above 0, broadcast to one row per body."""
        numbers = self.spread(value, name, (self.count,) if shape is None else shape)
        bad = np.argwhere(~(numbers > 0.0))
        if len(bad):
            where = f"[{bad[0][0]}]" if np.ndim(value) else ""
            raise ProblemError(f"{self.path}.{name}{where}", float(numbers[tuple(bad[0])]), "a number above 0")
        return numbers


def _shapes_2d(groups: Sequence[_Checked]) -> Shapes:
    """The shape table of discs and polygons. Sets the mass of the groups."""
    radius, inner, corners = [], [], []
    for g in groups:
        shape, n = g.given.shape, g.count
        if isinstance(shape, Disc):
            r = g.positive(shape.radius, "radius")
            g.weigh(np.pi * r**2, 0.5 * r**2)
            radius.append(r)
            inner.append(r)
            corners.append(np.zeros((0, 2)))
            continue
        if not isinstance(shape, Figure):
            raise ProblemError(f"{g.path}.shape", type(shape).__name__, _known(2))
        vertices, area, moment = shape.outline(g.path)
        g.weigh(np.full(n, area), np.full(n, moment / area))
        radius.append(np.full(n, float(np.hypot(*vertices.T).max())))
        inner.append(np.full(n, float(half_width(vertices))))
        corners.append(vertices)
    counts = [np.repeat(len(vertices), g.count) for vertices, g in zip(corners, groups)]
    is_round = np.concatenate([np.full(g.count, g.round) for g in groups])
    return Shapes2D(
        kind=np.where(is_round, DISC, POLYGON).astype(np.int8),
        radius=np.concatenate(radius),
        vertex_ptr=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        vertex=np.concatenate([np.tile(vertices, (g.count, 1)) for vertices, g in zip(corners, groups)]),
        round=is_round,
        inner=np.concatenate(inner),
    )


def _known(dimension: int) -> str:
    """The names of all shapes of a dimension, for messages."""
    *names, last = (shape.__name__ for shape in KINDS.values() if shape.dimension == dimension)
    return f"{', '.join(names)} or {last}"


def _shapes_3d(groups: Sequence[_Checked]) -> Shapes:
    """The shape table of solids. Sets the mass of the groups, and turns them to their principal axes."""
    declared = [(g.path, g.given.shape, g.count) for g in groups if isinstance(g.given.shape, Solid)]
    shapes, properties = make_shapes(declared)
    for g, p in zip(groups, properties):
        if getattr(g.given.shape, "axes", None) is not None and g.given.inertia is None:
            raise ProblemError(f"{g.path}.inertia", None, "three moments: the shape has axes of its own")
        g.weigh(p.volume, p.gyration)
        g.check_moments()
        g.turn(p.frame)
    return shapes


# ---- boundaries


class _Row(NamedTuple):
    """One row of Boundaries; `center` is the point about which it rotates, unless its motion gives another one."""

    kind: int
    point: Floats
    axis: Floats
    radius: float
    center: Floats


def _boundaries(scene: Scene, names: list[str]) -> tuple[Boundaries, Ints, list[Motion]]:
    """The boundaries at time 0, their materials and motions."""
    dim = scene.dimension
    rows: list[_Row] = []
    material, motions = [], []
    for index, given in enumerate(scene.boundaries):
        path = f"boundaries[{index}]"
        if not isinstance(given, Boundary):
            raise ProblemError(path, type(given).__name__, "a boundary, such as Plane or Container")
        if given.material not in names:
            raise ProblemError.unknown(f"material (of {path})", given.material, names)
        if not isinstance(given.motion, Motion):
            raise ProblemError(f"{path}.motion", given.motion, "a Motion; FIXED for a boundary at rest")
        given.motion.check(f"{path}.motion", dim)
        given.in_dimension(dim, path)
        about = given.motion.about if given.motion.about is not None else given.pivot(dim)
        for side in given.sides(dim):
            row = _row(side)
            rows.append(row if about is None else row._replace(center=np.asarray(about, dtype=np.float64)))
            material.append(names.index(given.material))
            motions.append(given.motion)
    w = len(rows)
    point, axis, center = (
        np.array([getattr(row, name) for row in rows], dtype=np.float64).reshape(w, dim)
        for name in ("point", "axis", "center")
    )
    kind, radius = np.array([row.kind for row in rows], np.int8), np.array([row.radius for row in rows], np.float64)
    boundaries = Boundaries(kind, point, axis, radius, center, np.zeros((w, rotations.velocity_components(dim))))
    return boundaries, np.array(material, np.int64), motions


def _row(boundary: Boundary) -> _Row:
    """The row of a boundary that is one primitive. A new kind of boundary needs a case here."""
    if isinstance(boundary, Plane):
        point, normal = np.asarray(boundary.point, dtype=np.float64), np.array(boundary.normal, dtype=np.float64)
        length = np.hypot(*normal) if len(normal) == 2 else np.linalg.norm(normal)  # hypot keeps the bits of 2D runs
        return _Row(PLANE, point, normal / length, 0.0, point)
    if isinstance(boundary, Drum | Shell):
        center = np.asarray(boundary.center, dtype=np.float64)
        outside = isinstance(boundary, Drum) and not boundary.inside
        return _Row(OUTSIDE if outside else INSIDE, center, np.zeros_like(center), boundary.radius, center)
    if isinstance(boundary, Segment):
        start, end = np.array(boundary.start, dtype=np.float64), np.array(boundary.end, dtype=np.float64)
        return _Row(SEGMENT, start, end, 0.0, 0.5 * (start + end))
    assert isinstance(boundary, Tube)
    point, axis = np.asarray(boundary.point, dtype=np.float64), np.array(boundary.axis, dtype=np.float64)
    return _Row(TUBE, point, axis / np.linalg.norm(axis), boundary.radius, point)
