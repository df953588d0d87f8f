"""Tables of [[bodies]] and [[generators]], with the keys of their shapes, and the bodies that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import ProblemError
from ...files import FACTOR, limit
from ...geometry.polygons import convex_polygon
from ...geometry.rotations import matrices, product
from ...solvers.rows import Floats
from ..chance import RADIUS, Chance, ChoiceRadius, NormalRadius, UniformRadius, jittered, random_orientations
from ..checks import FLAG, POSITIVES, Check, Remark, Schema, Where, refuse
from ..fields import Field, Fields, KindOf, construct, fields_of, properties, read_fields, summary
from ..generators import GENERATORS, Copies, Generator, Outline, Pool
from ..model import Bodies
from ..shapes import (
    KINDS,
    ROTATION,
    UNTURNED,
    Disc,
    Figure,
    Polygon,
    Shape,
    Solid,
    Sphere,
    one_or,
    read_with_shape,
    shape_fields,
    with_orientation,
)

if TYPE_CHECKING:
    from ..generators import Reach

MOST_BODIES = 4_000_000  # in all tables of a file: a typing error should not ask for more memory than there is
EXTRA = {**ROTATION, "template": Field(FLAG, False, "not part of the scene, only of its copies")}
PER_BODY = {2: {"velocity": 2}, 3: {"velocity": 2, "spin": 2, "inertia": 2}}  # axes of a list; 1 for all other fields
DEEPEST_COPIES = 20  # copies of copies


@dataclass(frozen=True, eq=False)
class Table:
    """A checked table: its bodies, which a generator has yet to place."""

    bodies: Bodies
    template: bool
    generator: Generator | None = None

    @property
    def name(self) -> str:
        return self.bodies.name


def affordable(count: int, path: str) -> None:
    """Raises ProblemError if there would be more than `MOST_BODIES` bodies."""
    if count > limit(MOST_BODIES):
        got = f"{count:.3g} bodies" if count < 1e300 else "infinitely many bodies"
        most = f"at most {limit(MOST_BODIES):,} bodies, or {FACTOR}=10 in the environment"
        raise ProblemError(path, got, most)


class BodiesOf(Check):
    """A table of [[bodies]]: one body, or one for each point in `position`."""

    fields: ClassVar[Fields] = {**fields_of(Bodies), **EXTRA}

    def read(self, value: Any, where: Where) -> Table:
        shape, values = read_with_shape(value, self.fields, where, POSITIVES)
        values["position"] = np.atleast_2d(values["position"])
        return _table(shape, values, len(values["position"]), where)

    def schema(self) -> Schema:
        return {"$ref": "#/$defs/Bodies"}


class GeneratorOf(KindOf):
    """A table of [[generators]]."""

    def made(self, owner: type, data: Mapping[str, Any], where: Where) -> Table | Copies:
        if owner is Copies:
            return construct(Copies, read_fields(data, fields_of(Copies), where))
        own = fields_of(owner)
        shape, values = read_with_shape(data, {**own, **generated_fields()}, where, RADIUS)
        generator: Generator = construct(owner, {key: values.pop(key) for key in own if key in values})
        values["position"] = np.zeros((0, where.dimension or 2))
        return _table(shape, values, generator.count, where, generator)


def generated_fields() -> dict[str, Field]:
    """The fields of bodies that a generator has."""
    return {key: field for key, field in BodiesOf.fields.items() if key != "position"}


GENERATOR = GeneratorOf({**GENERATORS, "copies": Copies})


def _table(shape: Shape, values: dict[str, Any], count: int, where: Where, generator: Generator | None = None) -> Table:
    template = values.pop("template", False)
    values = with_orientation(values, count)
    radius = {"radius": shape.radius} if isinstance(shape, (Disc, Sphere)) else {}
    for key, value in {**radius, **values}.items():
        axes = PER_BODY[where.dimension or 2].get(key, 1)
        if key not in ("position", "orientation") and np.ndim(value) == axes and len(value) != count:
            raise refuse(one_or(count), Remark(f"{len(value)} entries"), key)
    return Table(Bodies(shape=shape, **values), template, generator)


def schema_tables() -> dict[str, Schema]:
    """Definitions of the tables that have the keys of a shape."""
    shape = {"shape": {"enum": list(KINDS)}}
    keys = shape_fields()
    out = {"Bodies": {"description": summary(Bodies), **properties({**keys, **BodiesOf.fields}, **shape)}}
    radii = {"radius": replace(keys["radius"], check=RADIUS)}
    for kind, owner in GENERATORS.items():
        fields = {**keys, **radii, **generated_fields(), **fields_of(owner)}
        out[owner.__name__] = {"description": summary(owner), **properties(fields, kind={"const": kind}, **shape)}
    return out


# ---- placing generated bodies


def placed(table: Table, path: str, where: Where) -> Bodies:
    """The bodies of a table; a generator draws radii, rotations, places and velocities, each from its own stream."""
    bodies, generator = table.bodies, table.generator
    if generator is None:
        return replace(bodies, shape=_convex(bodies.shape, path))
    count, chance = generator.count, Chance(generator.seed)
    affordable(count, path)
    shape, angle, turned = bodies.shape, bodies.angle, np.asarray(bodies.orientation, dtype=np.float64)
    if isinstance(shape, (Disc, Sphere)) and isinstance(shape.radius, (UniformRadius, NormalRadius, ChoiceRadius)):
        shape = type(shape)(shape.radius.draw(count, chance("radius")))
    shape = _convex(shape, path)
    if generator.random_angle:
        angle = angle + 2.0 * np.pi * chance("angle").random(count)
    if generator.random_orientation:
        drawn = random_orientations(count, chance("angle"))
        turned = product(drawn, np.array(np.broadcast_to(turned, (count, 4))))
    position = generator.places(_reach(shape, angle, turned, count, path), where, path)
    if generator.jitter > 0.0:
        position = jittered(position, generator.jitter, chance("jitter"))
    velocity, extra = bodies.velocity, generator.random_velocity
    if extra is not None:
        velocity = velocity + extra.draw(count, position.shape[1], chance("velocity"))
    present = bodies.present and not isinstance(generator, Pool)
    made: dict[str, Any] = {"position": position, "velocity": velocity, "angle": angle, "orientation": turned}
    return replace(bodies, shape=shape, present=present, **made)


def _convex(shape: Shape, path: str) -> Shape:
    """A polygon as a list of vertices that were checked to be convex; other shapes as they are."""
    if not isinstance(shape, Polygon):
        return shape
    vertices = [(float(x), float(y)) for x, y in shape.vertices]
    convex_polygon(vertices, f"{path}.vertices")
    return Polygon(vertices)


def _reach(shape: Shape, angle: Any, turned: Floats, count: int, path: str) -> Reach:
    """Extents of the bodies of a table; those of bounding spheres where their orientations differ."""
    if not isinstance(shape, Solid):
        return _outline(shape, angle, count)
    from ..parts import extent_of  # loads the 3D geometry, which other scenes do not need

    alike = np.unique(turned.reshape(-1, 4), axis=0)
    return extent_of(path, shape, count, alike[0] if len(alike) == 1 else None)


def _outline(shape: Shape, angle: float | Floats, count: int) -> Outline:
    """Extents of 2D bodies; those of their bounding circles where their angles differ."""
    if isinstance(shape, Disc):
        return Outline(np.array(np.broadcast_to(np.asarray(shape.radius, dtype=np.float64), (count,))))
    assert isinstance(shape, Figure)
    corners = shape.outline("bodies").vertices
    circle = np.full(count, np.hypot(*corners.T).max())
    turns = np.unique(angle)
    if len(turns) > 1:
        return Outline(circle)
    c, s = np.cos(turns[0]), np.sin(turns[0])
    return Outline(circle, corners @ np.array([[c, s], [-s, c]]))


# ---- all tables of a file


class Tables:
    """All tables of a file, by their path. Each is placed once, on demand.

    `kind = "copies"` names another table, which may itself be copies, but not of the first.
    """

    def __init__(self, tables: Mapping[str, Table | Copies], where: Where) -> None:
        self.where = where
        self.tables = tables
        self.done: dict[str, list[Bodies]] = {}
        self.total = 0  # bodies of all tables so far, templates included

    def all(self) -> list[Bodies]:
        """Every group except the templates. A nameless generated group is named after its table, for messages."""
        out: list[Bodies] = []
        for path, table in self.tables.items():
            made = self.of(path, ())
            if not table.template:
                out += [
                    g if g.name or path == f"bodies[{len(out) + k}]" else replace(g, name=path)
                    for k, g in enumerate(made)
                ]
        return out

    def of(self, path: str, asked_by: tuple[str, ...]) -> list[Bodies]:
        """The groups of one table; `asked_by` are the copies that lead to it."""
        if path not in self.done:
            table = self.tables[path]
            if isinstance(table, Copies):
                self.done[path] = self._copies(table, path, (*asked_by, path))
            else:
                self.done[path] = [placed(table, path, self.where)]
            self.total += sum(group.count for group in self.done[path])
            affordable(self.total, path)
        return self.done[path]

    def _copies(self, table: Copies, path: str, chain: tuple[str, ...]) -> list[Bodies]:
        source = self._named(table.of, path)
        if source in chain:
            names = [self.tables[p].name or p for p in (*chain[chain.index(source) :], source)]
            raise ProblemError(
                f"{path}.of", repr(table.of), f"a group that does not lead back to itself: {' -> '.join(names)}"
            )
        if len(chain) > DEEPEST_COPIES:
            raise ProblemError(f"{path}.of", repr(table.of), f"copies of copies at most {DEEPEST_COPIES} deep")
        return _copied(self.of(source, chain), table, path, self.where)

    def _named(self, name: str, path: str) -> str:
        found = [p for p, table in self.tables.items() if table.name and table.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise ProblemError(f"{path}.of", repr(name), f"a name that one group has; {' and '.join(found)} have it")
        names = sorted({t.name for t in self.tables.values() if t.name})
        if not names:
            raise ProblemError(f"{path}.of", repr(name), "the name of a group; no group has one")
        message = str(ProblemError.unknown("group", name, names))
        raise ProblemError(f"{path}.of", repr(name), f"one of {', '.join(names)}", f"{path}.of: {message}")


def _copied(groups: Sequence[Bodies], table: Copies, path: str, where: Where) -> list[Bodies]:
    count, dimension = table.count, where.dimension or 2
    affordable(count * sum(group.count for group in groups), path)
    turned = table.quaternions()
    name = "orientation" if table.rotation is None else "rotation.degrees"
    for field, value, single in (("turn", table.turn, 0), ("velocity", table.velocity, 1), (name, turned, 1)):
        if value is not None and np.ndim(value) > single and len(np.asarray(value)) != count:
            raise ProblemError(f"{path}.{field}", f"{len(np.asarray(value))} entries", f"one, or {count}: one per copy")
    if dimension == 2:
        turn = np.array(np.broadcast_to(np.asarray(table.turn, dtype=np.float64), (count,)))
        is_turned = bool(turn.any())
    else:
        turn = np.array(np.broadcast_to(np.array(UNTURNED) if turned is None else turned, (count, 4)))
        is_turned = turned is not None
    velocity = np.broadcast_to(0.0 if table.velocity is None else table.velocity, (count, dimension))
    middle = np.concatenate([np.atleast_2d(g.position) for g in groups]).mean(axis=0)
    for group in groups:
        moves = group.motion is not None and group.motion.kind != "fixed"
        if moves and group.motion is not None and (is_turned or group.motion.about is not None):
            raise ProblemError(f"{path}.of", repr(table.of), "bodies that are free or fixed, or moved but not rotated")
    made = _Copier(table.places(where), turn, velocity, middle, table.name)
    return [made.copy(group) for group in groups]


@dataclass(frozen=True, eq=False)
class _Copier:
    """The transformation to k copies: rotated about `middle`, displaced, with a velocity added."""

    offsets: Floats  # (k, D)
    turn: Floats  # (k,) radians, or in 3D (k, 4) quaternions
    velocity: Floats  # (k, D)
    middle: Floats  # (D,)
    name: str

    def copy(self, group: Bodies) -> Bodies:
        """All copies of one group as one group: copy after copy, each in the order of the original."""
        (k, d), n = self.offsets.shape, group.count
        place = self._rotated(np.atleast_2d(group.position) - self.middle) + self.middle + self.offsets[:, None, :]
        own = np.array(np.broadcast_to(group.velocity, (n, d)))
        speed = self._rotated(own) + self.velocity[:, None, :]
        changes = self._rotations_2d(group) if d == 2 else self._rotations_3d(group)
        if np.ndim(mass := np.asarray(group.mass)) == 1:
            changes["mass"] = np.tile(mass, k)
        return replace(
            group,
            shape=self._shape(group),
            position=np.ascontiguousarray(place.reshape(-1, d)),
            velocity=np.ascontiguousarray(speed.reshape(-1, d)),
            name=self.name,
            **changes,
        )

    def _rotated(self, vectors: Floats) -> Floats:
        """(n, D) -> (k, n, D)"""
        if self.turn.ndim == 1:
            c, s = np.cos(self.turn), np.sin(self.turn)
            rotation = np.stack([c, -s, s, c], axis=-1).reshape(-1, 1, 2, 2)
        else:
            rotation = matrices(self.turn)[:, None]
        return np.asarray((rotation @ vectors[None, :, :, None])[..., 0])

    def _shape(self, group: Bodies) -> Shape:
        shape = group.shape
        if isinstance(shape, (Disc, Sphere)) and np.ndim(shape.radius):
            return type(shape)(np.tile(shape.radius, len(self.offsets)))
        return shape

    def _rotations_2d(self, group: Bodies) -> dict[str, Any]:
        k = len(self.offsets)
        angle = np.broadcast_to(group.angle, (group.count,)) + self.turn[:, None]
        lists = {f: np.tile(v, k) for f in ("spin", "inertia") if np.ndim(v := getattr(group, f))}
        return {"angle": np.ascontiguousarray(angle.reshape(-1)), **lists}

    def _rotations_3d(self, group: Bodies) -> dict[str, Any]:
        k, n = len(self.offsets), group.count
        own = np.tile(np.broadcast_to(np.asarray(group.orientation, dtype=np.float64), (n, 4)), (k, 1))
        out: dict[str, Any] = {"orientation": product(np.repeat(self.turn, n, axis=0), own)}
        if np.any(group.spin):  # a vector of the world, rotated with the rest
            spin = np.array(np.broadcast_to(np.asarray(group.spin, dtype=np.float64), (n, 3)))
            out["spin"] = np.ascontiguousarray(self._rotated(spin).reshape(-1, 3))
        inertia = np.asarray(group.inertia)
        if inertia.ndim == 2:
            out["inertia"] = np.tile(inertia, (k, 1))
        return out
