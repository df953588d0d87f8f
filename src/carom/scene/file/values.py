"""Checked values of a scene file. Each type says what it expects in its own words, and in JSON schema."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ...solvers.rows import Floats
from ..model import STEPPERS

Path = tuple[str | int, ...]


# Beyond these the fourth power of a radius, which is in the inertia, would leave the range of a float64.
SMALLEST, LARGEST = 1e-50, 1e50


def wrong(expected: str, got: Any, within: Path = ()) -> PydanticCustomError:
    """The error of all checks. `within` leads from the value that is checked to the part of it that is wrong."""
    if isinstance(got, (int, float)) and got != 0 and math.inf > abs(got) and not SMALLEST <= abs(got) <= LARGEST:
        expected += f", no smaller than {SMALLEST:g} and no larger than {LARGEST:g}"
    return PydanticCustomError("carom", "refused", {"expected": expected, "got": got, "within": within})


def unknown_key(key: str, got: Any, known: Sequence[str]) -> PydanticCustomError:
    """`radus: no such field; did you mean 'radius'?`"""
    return PydanticCustomError(
        "carom_key", "refused", {"hint": suggestion(key, known), "known": list(known), "got": got, "within": (key,)}
    )


class _Word:
    """A remark in place of a value, printed without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


MISSING, GIVEN = _Word("nothing"), _Word("a value")


def suggestion(name: Any, known: Sequence[str]) -> str:
    """`; did you mean 'radius'?` or nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def is_number(value: Any) -> bool:
    """A finite number. TOML has nan, inf and true, none of which is one here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def is_positive(value: float) -> bool:
    return value >= SMALLEST


def _number(expected: str, fits: Callable[[float], bool]) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if not (is_number(value) and fits(value)):
            raise wrong(expected, value)
        return float(value)

    return check


def _whole(low: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise wrong(f"a whole number of at least {low}", value)
        return value

    return check


def _of_type(kind: type, expected: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise wrong(expected, value)
        return value

    return check


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise wrong(f"one of {', '.join(names)}{suggestion(value, names)}", value)
        return value

    return check


def _point(value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2 or not all(map(is_number, value)):
        raise wrong("two numbers [x, y]", value)
    return float(value[0]), float(value[1])


def _direction(value: Any) -> tuple[float, float]:
    x, y = _point(value)
    if x == 0.0 and y == 0.0:
        raise wrong("a direction [x, y] that is not zero", value)
    return x, y


def _interval(value: Any) -> tuple[float, float]:
    low, high = _point(value)
    if not low < high:
        raise wrong("[low, high] with low below high", value)
    return low, high


def _size(value: Any) -> tuple[float, float]:
    width, height = _point(value)
    if not (is_positive(width) and is_positive(height)):
        raise wrong("[width, height], both above 0", value)
    return width, height


def _spacing(value: Any) -> tuple[float, float]:
    """One number for both axes, or one for each."""
    pair = [value, value] if is_number(value) else value
    if not isinstance(pair, list) or len(pair) != 2 or not all(is_number(v) and is_positive(v) for v in pair):
        raise wrong("a number above 0, or two of them [x, y]", value)
    return float(pair[0]), float(pair[1])


def _numbers(expected: str, fits: Callable[[float], bool]) -> Callable[[Any], float | Floats]:
    """A number, or a list with one for each body."""

    def check(value: Any) -> float | Floats:
        if not isinstance(value, list):
            if not (is_number(value) and fits(value)):
                raise wrong(expected, value)
            return float(value)
        for i, v in enumerate(value):
            if not (is_number(v) and fits(v)):
                raise wrong(expected, v, (i,))
        if not value:
            raise wrong(f"{expected}, or a list of them", value)
        return np.array(value, dtype=np.float64)

    return check


def _points(value: Any) -> Floats:
    """A point, (2,), or a list of points, (n, 2)."""
    if not isinstance(value, list) or not value:
        raise wrong("a point [x, y], or a list of points", value)
    if not isinstance(value[0], list):
        return np.array(_point(value))
    for i, v in enumerate(value):
        if not (isinstance(v, list) and len(v) == 2 and is_number(v[0]) and is_number(v[1])):
            raise wrong("two numbers [x, y]", v, (i,))
    return np.array(value, dtype=np.float64)


def _corners(value: Any) -> list[tuple[float, float]]:
    points = _points(value)
    if points.ndim != 2 or len(points) < 3:
        raise wrong("at least three corners [x, y]", value)
    return [(float(x), float(y)) for x, y in points]


_NUMBER = {"type": "number"}
_ABOVE = {"type": "number", "exclusiveMinimum": 0}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}


def _or_list(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


Number = Annotated[float, PlainValidator(_number("a finite number", lambda v: True)), WithJsonSchema(_NUMBER)]
Positive = Annotated[float, PlainValidator(_number("a number above 0", is_positive)), WithJsonSchema(_ABOVE)]
NotNegative = Annotated[
    float,
    PlainValidator(_number("a number of at least 0", lambda v: v >= 0.0)),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
Share = Annotated[
    float,
    PlainValidator(_number("a number from 0 to 1", lambda v: 0.0 <= v <= 1.0)),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Count = Annotated[int, PlainValidator(_whole(1)), WithJsonSchema({"type": "integer", "minimum": 1})]
Seed = Annotated[int, PlainValidator(_whole(0)), WithJsonSchema({"type": "integer", "minimum": 0})]
Flag = Annotated[bool, PlainValidator(_of_type(bool, "true or false")), WithJsonSchema({"type": "boolean"})]
Text = Annotated[str, PlainValidator(_of_type(str, "text in quotes")), WithJsonSchema({"type": "string"})]
Point = Annotated[tuple[float, float], PlainValidator(_point), WithJsonSchema(_PAIR)]
Direction = Annotated[tuple[float, float], PlainValidator(_direction), WithJsonSchema(_PAIR)]
Interval = Annotated[tuple[float, float], PlainValidator(_interval), WithJsonSchema(_PAIR)]
Size = Annotated[tuple[float, float], PlainValidator(_size), WithJsonSchema({**_PAIR, "items": _ABOVE})]
Spacing = Annotated[
    tuple[float, float], PlainValidator(_spacing), WithJsonSchema({"anyOf": [_ABOVE, {**_PAIR, "items": _ABOVE}]})
]
Numbers = Annotated[
    float | Floats,
    PlainValidator(_numbers("a finite number", lambda v: True)),
    WithJsonSchema(_or_list(_NUMBER)),
]
Positives = Annotated[
    float | Floats,
    PlainValidator(_numbers("a number above 0", is_positive)),
    WithJsonSchema(_or_list(_ABOVE)),
]
Points = Annotated[Floats, PlainValidator(_points), WithJsonSchema(_or_list(_PAIR))]
Corners = Annotated[
    list[tuple[float, float]],
    PlainValidator(_corners),
    WithJsonSchema({"type": "array", "items": _PAIR, "minItems": 3}),
]

_SHAPES, _MIXED = ("disc", "box", "polygon"), ("refuse", "blend")
ShapeName = Annotated[str, PlainValidator(_one_of(*_SHAPES)), WithJsonSchema({"enum": list(_SHAPES)})]
StepperName = Annotated[str, PlainValidator(_one_of(*STEPPERS)), WithJsonSchema({"enum": list(STEPPERS)})]
MixedName = Annotated[str, PlainValidator(_one_of(*_MIXED)), WithJsonSchema({"enum": list(_MIXED)})]
_VELOCITIES = ("normal", "uniform", "direction")
VelocityName = Annotated[str, PlainValidator(_one_of(*_VELOCITIES)), WithJsonSchema({"enum": list(_VELOCITIES)})]
AxisName = Annotated[str, PlainValidator(_one_of("x", "y")), WithJsonSchema({"enum": ["x", "y"]})]
