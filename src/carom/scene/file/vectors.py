"""Checked vectors of a scene file: their number of components is that of the scene's axes.

The number of axes comes with the context of the validation; see `dimension.py` for how a file says it.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from ...solvers.rows import Floats, Ints
from .values import ABOVE, NUMBER, SMALLEST, is_number, is_positive, numbers, one_of, or_list, suggestion, wrong

NAMES = {2: "[x, y]", 3: "[x, y, z]"}
COUNT = {2: "two", 3: "three"}
SHAPES = {
    2: ("disc", "box", "polygon"),
    3: ("sphere", "cuboid", "capsule", "cylinder", "hull", "mesh", "compound"),
}
OTHER_NAMES = {"disc": "sphere", "box": "cuboid", "polygon": "hull"}  # what a shape of the plane is in space
OTHER_NAMES |= {space: plane for plane, space in OTHER_NAMES.items()}


def axes(info: ValidationInfo) -> int:
    """2 or 3."""
    return int((info.context or {}).get("dimension", 2))


def _vector(value: Any, count: int, expected: str) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != count or not all(map(is_number, value)):
        raise wrong(expected, value)
    return tuple(float(v) for v in value)


def _rows(value: Any, count: int, expected: str, many: str) -> Floats:
    """A vector, (count,), or a list of them, (n, count)."""
    if not isinstance(value, list) or not value:
        raise wrong(f"{expected}, or a list of {many}", value)
    if not isinstance(value[0], list):
        return np.array(_vector(value, count, expected))
    for i, v in enumerate(value):
        if not (isinstance(v, list) and len(v) == count and all(map(is_number, v))):
            raise wrong(expected, v, (i,))
    return np.array(value, dtype=np.float64)


def _point(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    d = axes(info)
    return _vector(value, d, f"{COUNT[d]} numbers {NAMES[d]}")


def _direction(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    point = _point(value, info)
    if not any(point):
        raise wrong(f"a direction {NAMES[axes(info)]} that is not zero", value)
    return point


def _axis(value: Any) -> tuple[float, ...]:
    axis = _vector(value, 3, "three numbers [x, y, z]")
    if not any(axis):
        raise wrong("a direction [x, y, z] that is not zero", value)
    return axis


def _interval(value: Any) -> tuple[float, ...]:
    low, high = _vector(value, 2, "[low, high]")
    if not low < high:
        raise wrong("[low, high] with low below high", value)
    return low, high


def _size(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    expected = "[width, height], both above 0" if axes(info) == 2 else "three edge lengths [x, y, z], all above 0"
    size = _vector(value, axes(info), expected)
    if not all(map(is_positive, size)):
        raise wrong(expected, value)
    return size


def _spacing(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    """One number for all axes, or one for each."""
    d = axes(info)
    each = [value] * d if is_number(value) else value
    expected = f"a number above 0, or {COUNT[d]} of them {NAMES[d]}"
    if not isinstance(each, list) or len(each) != d or not all(is_number(v) and is_positive(v) for v in each):
        raise wrong(expected, value)
    return tuple(float(v) for v in each)


def _points(value: Any, info: ValidationInfo) -> Floats:
    """A point, (D,), or a list of points, (n, D)."""
    d = axes(info)
    if not isinstance(value, list) or not value:
        raise wrong(f"a point {NAMES[d]}, or a list of points", value)
    return _rows(value, d, f"{COUNT[d]} numbers {NAMES[d]}", "points")


def _corners(value: Any, info: ValidationInfo) -> Floats:
    """(k, D): the corners of a polygon, or the points of a hull or mesh."""
    d = axes(info)
    points = _points(value, info)
    expected = "at least three corners [x, y]" if d == 2 else "at least four points [x, y, z]"
    if points.ndim != 2 or len(points) < d + 1:
        raise wrong(expected, value)
    return points


def _spin(value: Any, info: ValidationInfo) -> float | Floats:
    """In the plane a number or one for each body; in space a vector or one for each."""
    if axes(info) == 2:
        return numbers("a finite number", lambda v: True)(value)
    return _rows(value, 3, "three numbers [x, y, z], along the axes of the world", "them")


def _inertia(value: Any, info: ValidationInfo) -> float | Floats:
    """In the plane a number or one for each body; in space three moments or three for each, or one number."""
    above = numbers("a number above 0", is_positive)
    if axes(info) == 2 or not isinstance(value, list):
        return above(value)
    found = _rows(value, 3, "three moments of inertia, about the principal axes", "them")
    bad = np.argwhere(found < SMALLEST)
    if len(bad):
        raise wrong("a number above 0", float(found[tuple(bad[0])]), tuple(int(k) for k in bad[0]))
    return found


def _quaternions(value: Any) -> Floats:
    found = _rows(value, 4, "a quaternion [w, x, y, z]", "them")
    for i, q in enumerate(np.atleast_2d(found)):
        if not q.any():
            raise wrong("a quaternion that is not zero", q.tolist(), (i,) if found.ndim == 2 else ())
    return found


def _faces(value: Any) -> Ints:
    if not isinstance(value, list) or not value:
        raise wrong("triangles [[i, j, k], ...] of vertex numbers", value)
    for i, face in enumerate(value):
        whole = isinstance(face, list) and len(face) == 3 and all(type(v) is int and 0 <= v < 2**62 for v in face)
        if not whole:
            raise wrong("three vertex numbers [i, j, k], counted from 0", face, (i,))
    return np.array(value, dtype=np.int64)


def _shape(value: Any, info: ValidationInfo) -> str:
    known = SHAPES[axes(info)]
    if isinstance(value, str) and value in known:
        return value
    other = OTHER_NAMES.get(value) if isinstance(value, str) else None
    hint = f"; did you mean {other!r}?" if other in known else suggestion(value, known)
    raise wrong(f"one of {', '.join(known)}{hint}", value)


def _sheared(value: Any, info: ValidationInfo) -> str:
    return one_of(*"xyz"[: axes(info)])(value)


def _array(low: int, high: int, items: dict[str, Any] = NUMBER) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": low, "maxItems": high}


_VECTOR = _array(2, 3)
_TRIPLES = or_list(_array(3, 3))
Vector = tuple[float, ...]
Point = Annotated[Vector, PlainValidator(_point), WithJsonSchema(_VECTOR)]
Direction = Annotated[Vector, PlainValidator(_direction), WithJsonSchema(_VECTOR)]
Axis = Annotated[Vector, PlainValidator(_axis), WithJsonSchema(_array(3, 3))]
Interval = Annotated[tuple[float, float], PlainValidator(_interval), WithJsonSchema(_array(2, 2))]
Size = Annotated[Vector, PlainValidator(_size), WithJsonSchema(_array(2, 3, ABOVE))]
Spacing = Annotated[Vector, PlainValidator(_spacing), WithJsonSchema({"anyOf": [ABOVE, _array(2, 3, ABOVE)]})]
Points = Annotated[Floats, PlainValidator(_points), WithJsonSchema(or_list(_VECTOR))]
Corners = Annotated[
    Floats, PlainValidator(_corners), WithJsonSchema({"type": "array", "items": _VECTOR, "minItems": 3})
]
Spins = Annotated[
    float | Floats, PlainValidator(_spin), WithJsonSchema({"anyOf": [*or_list(NUMBER)["anyOf"], *_TRIPLES["anyOf"]]})
]
Inertias = Annotated[
    float | Floats, PlainValidator(_inertia), WithJsonSchema({"anyOf": [*or_list(ABOVE)["anyOf"], *_TRIPLES["anyOf"]]})
]
Quaternions = Annotated[Floats, PlainValidator(_quaternions), WithJsonSchema(or_list(_array(4, 4)))]
Faces = Annotated[
    Ints, PlainValidator(_faces), WithJsonSchema({"type": "array", "items": _array(3, 3, {"type": "integer"})})
]
ShapeName = Annotated[str, PlainValidator(_shape), WithJsonSchema({"enum": [*SHAPES[2], *SHAPES[3]]})]
AxisName = Annotated[str, PlainValidator(_sheared), WithJsonSchema({"enum": ["x", "y", "z"]})]
