"""Tables of [[bodies]] and [[generators]], with the keys of their shapes, and the groups of bodies that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...errors import ProblemError
from ...files import FACTOR, limit
from ...geometry.polygons import convex_polygon
from ...geometry.rotations import product
from ...solvers.rows import Floats
from .. import generators as layout
from ..checks import FLAG, POSITIVES, Check, Remark, Schema, Where, refuse
from ..fields import Field, Fields, KindOf, construct, fields_of, properties, read_fields, summary
from ..model import Bodies
from ..shapes import (
    KINDS,
    ROTATION,
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
from .generators import GENERATORS, RADIUS, Chance, ChoiceRadius, Copies, Generator, NormalRadius, Pool, UniformRadius

MOST_BODIES = 4_000_000  # in all tables of a file: a typing error should not ask for more memory than there is
EXTRA = {**ROTATION, "template": Field(FLAG, False, "not part of the scene, only of its copies")}
PER_BODY = {2: {"velocity": 2}, 3: {"velocity": 2, "spin": 2, "inertia": 2}}  # axes of a list; 1 for all other fields


@dataclass(frozen=True, eq=False)
class Group:
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

    def read(self, value: Any, where: Where) -> Group:
        shape, values = read_with_shape(value, self.fields, where, POSITIVES)
        values["position"] = np.atleast_2d(values["position"])
        return _group(shape, values, len(values["position"]), where)

    def schema(self) -> Schema:
        return {"$ref": "#/$defs/Bodies"}


class GeneratorOf(KindOf):
    """A table of [[generators]]."""

    def made(self, owner: type, data: Mapping[str, Any], where: Where) -> Group | Copies:
        if owner is Copies:
            return construct(Copies, read_fields(data, fields_of(Copies), where))
        own = fields_of(owner)
        shape, values = read_with_shape(data, {**own, **generated_fields()}, where, RADIUS)
        generator: Generator = construct(owner, {key: values.pop(key) for key in own if key in values})
        values["position"] = np.zeros((0, where.dimension or 2))
        return _group(shape, values, generator.count, where, generator)


def generated_fields() -> dict[str, Field]:
    """The fields of bodies that a generator has."""
    return {key: field for key, field in BodiesOf.fields.items() if key != "position"}


GENERATOR = GeneratorOf({**GENERATORS, "copies": Copies})


def _group(shape: Shape, values: dict[str, Any], count: int, where: Where, generator: Generator | None = None) -> Group:
    template = values.pop("template", False)
    values = with_orientation(values, count)
    radius = {"radius": shape.radius} if isinstance(shape, (Disc, Sphere)) else {}
    for key, value in {**radius, **values}.items():
        axes = PER_BODY[where.dimension or 2].get(key, 1)
        if key not in ("position", "orientation") and np.ndim(value) == axes and len(value) != count:
            raise refuse(one_or(count), Remark(f"{len(value)} entries"), key)
    return Group(Bodies(shape=shape, **values), template, generator)


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


def placed(group: Group, path: str, where: Where) -> Bodies:
    """The bodies of a table; a generator draws radii, rotations, places and velocities, each from its own stream."""
    bodies, generator = group.bodies, group.generator
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
        drawn = layout.random_orientations(count, chance("angle"))
        turned = product(drawn, np.array(np.broadcast_to(turned, (count, 4))))
    position = generator.places(_reach(shape, angle, turned, count, path), where, path)
    if generator.jitter > 0.0:
        position = layout.jittered(position, generator.jitter, chance("jitter"))
    velocity, extra = bodies.velocity, generator.random_velocity
    if extra is not None:
        drawn = layout.random_velocities(
            count, extra.kind, extra.speed, extra.no_drift, chance("velocity"), position.shape[1]
        )
        velocity = velocity + drawn
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


def _reach(shape: Shape, angle: Any, turned: Floats, count: int, path: str) -> layout.Reach:
    """Extents of the bodies of a table; those of bounding spheres where their orientations differ."""
    if not isinstance(shape, Solid):
        return _outline(shape, angle, count)
    from ..parts import extent_of  # loads the 3D geometry, which other scenes do not need

    alike = np.unique(turned.reshape(-1, 4), axis=0)
    return extent_of(path, shape, count, alike[0] if len(alike) == 1 else None)


def _outline(shape: Shape, angle: float | Floats, count: int) -> layout.Outline:
    """Extents of 2D bodies; those of their bounding circles where their angles differ."""
    if isinstance(shape, Disc):
        return layout.Outline(np.array(np.broadcast_to(np.asarray(shape.radius, dtype=np.float64), (count,))))
    assert isinstance(shape, Figure)
    corners = shape.outline("bodies").vertices
    circle = np.full(count, np.hypot(*corners.T).max())
    turns = np.unique(angle)
    if len(turns) > 1:
        return layout.Outline(circle)
    c, s = np.cos(turns[0]), np.sin(turns[0])
    return layout.Outline(circle, corners @ np.array([[c, s], [-s, c]]))
