"""Checked values of a scene file. Each type says what it expects in its own words, and in JSON schema."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ...settings import STEPPERS
from ...solvers.rows import Floats
from ..model import INTEGRATORS

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


def one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise wrong(f"one of {', '.join(names)}{suggestion(value, names)}", value)
        return value

    return check


def _dimension(value: Any) -> int:
    if type(value) is not int or value not in (2, 3):
        raise wrong("2 or 3", value)
    return value


def numbers(expected: str, fits: Callable[[float], bool]) -> Callable[[Any], float | Floats]:
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


NUMBER = {"type": "number"}
ABOVE = {"type": "number", "exclusiveMinimum": 0}


def or_list(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


Number = Annotated[float, PlainValidator(_number("a finite number", lambda v: True)), WithJsonSchema(NUMBER)]
Positive = Annotated[float, PlainValidator(_number("a number above 0", is_positive)), WithJsonSchema(ABOVE)]
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
Dimension = Annotated[int, PlainValidator(_dimension), WithJsonSchema({"enum": [2, 3]})]
Text = Annotated[str, PlainValidator(_of_type(str, "text in quotes")), WithJsonSchema({"type": "string"})]
Numbers = Annotated[
    float | Floats,
    PlainValidator(numbers("a finite number", lambda v: True)),
    WithJsonSchema(or_list(NUMBER)),
]
Positives = Annotated[
    float | Floats,
    PlainValidator(numbers("a number above 0", is_positive)),
    WithJsonSchema(or_list(ABOVE)),
]
_MIXED = ("refuse", "blend")
StepperName = Annotated[
    str, PlainValidator(lambda value: one_of(*STEPPERS)(value)), WithJsonSchema({"enum": list(STEPPERS)})
]
MixedName = Annotated[str, PlainValidator(one_of(*_MIXED)), WithJsonSchema({"enum": list(_MIXED)})]
_VELOCITIES = ("normal", "uniform", "direction")
VelocityName = Annotated[str, PlainValidator(one_of(*_VELOCITIES)), WithJsonSchema({"enum": list(_VELOCITIES)})]
IntegratorName = Annotated[str, PlainValidator(one_of(*INTEGRATORS)), WithJsonSchema({"enum": list(INTEGRATORS)})]
