"""Checks of the values of a scene: each says what it expects in words and in JSON schema.

Scene files and constructors in Python use the same checks; see `fields.py` for how a class declares them.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..errors import ProblemError
from ..settings import EXACT, LARGEST_TOLERANCE, TOLERANCE_WORDS, Setting, tolerance_number
from ..solvers.rows import Floats, Ints

# Beyond these limits the fourth power of a radius, which enters the inertia, would leave the range of a float64.
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-50, 1e50
AXES = {2: "[x, y]", 3: "[x, y, z]", None: "[x, y] or [x, y, z]"}
POINTS_OF = {2: "at least three vertices [x, y]", 3: "at least four points [x, y, z]"}  # of a polygon and of a solid
COUNTS = {2: "two numbers [x, y]", 3: "three numbers [x, y, z]", None: "two numbers [x, y] or three numbers [x, y, z]"}

Schema = dict[str, Any]
Rows2 = tuple[tuple[float, float], ...]


class Remark:
    """Text in place of a value, printed without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


NOTHING, GIVEN = Remark("nothing"), Remark("a value")


class Fault(NamedTuple):
    """One refused value. `steps` lead to it from the value that was checked; `message` follows its path, if given."""

    steps: tuple[str | int, ...]
    got: Any
    expected: str
    message: str = ""

    def problem(self) -> ProblemError:
        """The fault as an error with the path of its field."""
        path = ""
        for step in self.steps:
            path += f"[{step}]" if isinstance(step, int) else f".{step}"
        path = path.lstrip(".")
        got = repr(self.got) if isinstance(self.got, str) else self.got  # quotes make an empty text visible
        return ProblemError(path, got, self.expected, f"{path}: {self.message}" if self.message else None)


class Refused(Exception):
    """Raised by checks; holds all faults that were found."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(faults[0].expected)
        self.faults = list(faults)

    def under(self, *steps: str | int) -> list[Fault]:
        """The faults as seen from `steps` further up."""
        return [fault._replace(steps=(*steps, *fault.steps)) for fault in self.faults]


def refuse(expected: str, got: Any, *steps: str | int) -> Refused:
    """The exception for one bad value."""
    if (
        isinstance(got, (int, float))
        and got != 0
        and math.inf > abs(got)
        and not SMALLEST_NUMBER <= abs(got) <= LARGEST_NUMBER
    ):
        expected += f", no smaller than {SMALLEST_NUMBER:g} and no larger than {LARGEST_NUMBER:g}"
    return Refused([Fault(steps, got, expected)])


def suggestion(name: Any, known: Sequence[str]) -> str:
    """`; did you mean 'radius'?` or an empty text."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


@dataclass(frozen=True)
class Where:
    """What checks need to know of the scene: its dimension, None if unknown, and the folder that paths start from."""

    dimension: int | None = None
    folder: Path = Path()

    @property
    def origin(self) -> tuple[float, ...]:
        """The origin of the scene."""
        return (0.0,) * (self.dimension or 2)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number. TOML also has nan, inf and true."""
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER
    )


class Check:
    """One kind of value: `read` returns the checked value or raises `Refused`."""

    in_python = True  # whether the value is also checked when the owner is constructed in Python
    dtype: type | None = None  # of the array as which the value is stored, if it may be one
    text = "a table"  # what is expected

    def words(self, where: Where) -> str:
        """What is expected in a scene of this dimension."""
        return self.text

    def read(self, value: Any, where: Where) -> Any:
        """The checked value, converted to tuples and arrays of floats."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """The JSON schema of the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Check):
    """A finite number from `low` (or above 0) to `high`; `many` also allows a list with one number per body."""

    low: float | None = None
    high: float | None = None
    above: bool = False
    many: bool = False

    def words(self, where: Where) -> str:
        if self.low is None:
            return "a finite number"
        if self.above:
            return f"a number above {self.low:g}"
        low = self.low
        return f"a number of at least {low:g}" if self.high is None else f"a number from {low:g} to {self.high:g}"

    def fits(self, value: Any) -> bool:
        if not is_number(value) or (self.high is not None and value > self.high):
            return False
        return self.low is None or value >= (SMALLEST_NUMBER if self.above else self.low)

    def read(self, value: Any, where: Where) -> float | Floats:
        if not (self.many and isinstance(value, list)):
            if not self.fits(value):
                note = ", the same for all bodies" if isinstance(value, list) else ""
                raise refuse(self.words(where) + note, value)
            return float(value)
        for i, v in enumerate(value):
            if not self.fits(v):
                raise refuse(self.words(where), v, i)
        if not value:
            raise refuse(f"{self.words(where)}, or a list of them", value)
        return np.array(value, dtype=np.float64)

    def schema(self) -> Schema:
        low = {} if self.low is None else {"exclusiveMinimum" if self.above else "minimum": self.low}
        one = {"type": "number", **low, **({} if self.high is None else {"maximum": self.high})}
        return or_list(one) if self.many else one

    @property
    def dtype(self) -> type | None:  # type: ignore[override]
        return np.float64 if self.many else None


class Restitution(Check):
    """A coefficient from 0 to 1, or a table [[speed, coefficient], ...] over the speed of approach; a function in
    Python."""

    text = "a number from 0 to 1, or a table [[speed, coefficient], ...] with rising speeds"

    def read(self, value: Any, where: Where) -> float | Rows2 | Callable[[Floats], Floats]:
        if callable(value):
            return value
        if not isinstance(value, list):
            if not FRACTION.fits(value):
                raise refuse(self.text, value)
            return float(value)
        for i, row in enumerate(value):
            if not (isinstance(row, list) and len(row) == 2 and NOT_NEGATIVE.fits(row[0]) and FRACTION.fits(row[1])):
                raise refuse("[speed, coefficient] with a speed of at least 0 and a coefficient from 0 to 1", row, i)
            if i and row[0] <= value[i - 1][0]:
                raise refuse(f"a speed above {value[i - 1][0]:g}, that of the row before", row[0], i, 0)
        if not value:
            raise refuse(self.text, value)
        return tuple((float(a), float(b)) for a, b in value)

    def schema(self) -> Schema:
        return {"anyOf": [FRACTION.schema(), {"type": "array", "items": _array(2, 2), "minItems": 1}]}


class Tolerance(Check):
    """The tolerance of a run: a number, or "exact"."""

    def words(self, where: Where) -> str:
        return TOLERANCE_WORDS

    def read(self, value: Any, where: Where) -> float | str:
        try:
            number = tolerance_number("", value)
        except ProblemError:
            raise Refused([Fault((), value, self.words(where))]) from None
        return value if isinstance(value, str) else number

    def schema(self) -> Schema:
        number = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_TOLERANCE}
        return {"anyOf": [number, {"const": EXACT}]}


@dataclass(frozen=True)
class Whole(Check):
    """A whole number of at least `low`."""

    low: int

    def words(self, where: Where) -> str:
        return f"a whole number of at least {self.low}"

    def read(self, value: Any, where: Where) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < self.low:
            raise refuse(self.words(where), value)
        return value

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low}


@dataclass(frozen=True)
class OfType(Check):
    """A text or a flag."""

    kind: type
    name: str  # of the type, in JSON schema
    text: str
    in_python = False

    def read(self, value: Any, where: Where) -> Any:
        if not isinstance(value, self.kind):
            raise refuse(self.text, value)
        return value

    def schema(self) -> Schema:
        return {"type": self.name}


@dataclass(frozen=True)
class Choice(Check):
    """One of several names (or numbers); letters of axes end at the dimension of the scene."""

    names: Sequence[Any]
    in_python = False

    def words(self, where: Where) -> str:
        known = [str(name) for name in self._known(where)]
        return f"one of {', '.join(known)}" if len(known) > 2 else " or ".join(known)

    def _known(self, where: Where) -> Sequence[Any]:
        return self.names[: where.dimension] if self.names == ("x", "y", "z") else self.names

    def read(self, value: Any, where: Where) -> Any:
        known = self._known(where)
        if not any(type(value) is type(name) and value == name for name in known):
            hint = suggestion(value, known) if isinstance(known[0], str) else ""
            raise refuse(self.words(where) + hint, value)
        return value

    def schema(self) -> Schema:
        return {"enum": list(self.names)}


# ---- vectors


@dataclass(frozen=True)
class VectorOf(Check):
    """A vector; `count` is its number of components, None that of the scene's axes."""

    count: int | None = None
    text: str = ""  # what is expected; by default the number and names of the components
    nonzero: bool = False
    positive: bool = False

    def words(self, where: Where) -> str:
        d = self.count or where.dimension
        return self.text or (f"a direction {AXES[d]} that is not zero" if self.nonzero else COUNTS[d])

    def read(self, value: Any, where: Where) -> tuple[float, ...]:
        d = self.count or where.dimension
        good = isinstance(value, list) and len(value) in ((2, 3) if d is None else (d,)) and all(map(is_number, value))
        if not good or (self.positive and min(value) < SMALLEST_NUMBER):
            raise refuse(self.text or COUNTS[d], value)
        if self.nonzero and not max(map(abs, value)) >= SMALLEST_NUMBER:
            raise refuse(self.words(where), value)
        return tuple(float(v) for v in value)

    def schema(self) -> Schema:
        item = {"type": "number", "exclusiveMinimum": 0} if self.positive else {"type": "number"}
        return _array(self.count or 2, self.count or 3, item)


class Interval(VectorOf):
    """`[low, high]`."""

    def read(self, value: Any, where: Where) -> tuple[float, ...]:
        low, high = super().read(value, where)
        if not low < high:
            raise refuse("[low, high] with low below high", value)
        return low, high


class Spacing(VectorOf):
    """A positive number for all axes, or one for each."""

    def read(self, value: Any, where: Where) -> tuple[float, ...]:
        each = [value] * (where.dimension or 2) if is_number(value) else value
        try:
            return super().read(each, where)
        except Refused:
            raise refuse(f"a number above 0, or {COUNTS[where.dimension]}, all above 0", value) from None

    def schema(self) -> Schema:
        return {"anyOf": [POSITIVE.schema(), super().schema()]}


@dataclass(frozen=True)
class Rows(Check):
    """A vector, (D,), or a list of vectors, (n, D): one for all bodies, or one per body."""

    count: int | None = None
    text: str = ""
    nonzero: bool = False
    least: int = 0  # number of vectors if a single one is not allowed; in 3D one more
    dtype = np.float64

    def words(self, where: Where) -> str:
        if self.least:
            return POINTS_OF[where.dimension or 3]
        return self.text or COUNTS[self.count or where.dimension]

    def read(self, value: Any, where: Where) -> Floats:
        d, expected = self.count or where.dimension, self.text or COUNTS[self.count or where.dimension]
        if not isinstance(value, list) or not value:
            raise refuse(f"{expected}, or a list of them", value)
        if not isinstance(value[0], list):
            rows = np.array(VectorOf(d, expected).read(value, where))
        else:
            for i, v in enumerate(value):
                if not (isinstance(v, list) and len(v) == d and all(map(is_number, v))):
                    raise refuse(expected, v, i)
            rows = np.array(value, dtype=np.float64)
        if self.least and (rows.ndim != 2 or len(rows) < self.least + (d or 2) - 2):
            raise refuse(self.words(where), value)
        if self.nonzero and not np.atleast_2d(rows).any(axis=1).all():
            bad = int(np.flatnonzero(~np.atleast_2d(rows).any(axis=1))[0])
            got = np.atleast_2d(rows)[bad].tolist()
            raise refuse(f"{expected} that is not zero", got, *((bad,) if rows.ndim == 2 else ()))
        return rows

    def schema(self) -> Schema:
        one = _array(self.count or 2, self.count or 3)
        return {"type": "array", "items": one, "minItems": self.least} if self.least else or_list(one)


@dataclass(frozen=True)
class PerBody(Check):
    """A number per body in 2D; in 3D three components per body, or, if they are positive, one number for all."""

    flat: Number
    rows: Rows
    dtype = np.float64

    def _form(self, where: Where) -> Number | Rows:
        return self.flat if where.dimension == 2 else self.rows

    def words(self, where: Where) -> str:
        return self._form(where).words(where)

    def read(self, value: Any, where: Where) -> float | Floats:
        if self._form(where) is self.flat or (self.flat.above and not isinstance(value, list)):
            return self.flat.read(value, where)
        found = self.rows.read(value, where)
        bad = np.argwhere(found < SMALLEST_NUMBER) if self.flat.above else np.zeros((0, 1))
        if len(bad):
            raise refuse(self.flat.words(where), float(found[tuple(bad[0])]), *(int(k) for k in bad[0]))
        return found

    def schema(self) -> Schema:
        return {"anyOf": [*self.flat.schema()["anyOf"], *self.rows.schema()["anyOf"]]}


class Triangles(Check):
    """Triangles `[[i, j, k], ...]` of vertex numbers."""

    dtype = np.int64
    text = "triangles [[i, j, k], ...] of vertex numbers"

    def read(self, value: Any, where: Where) -> Ints:
        if not isinstance(value, list) or not value:
            raise refuse(self.text, value)
        for i, face in enumerate(value):
            whole = isinstance(face, list) and len(face) == 3 and all(type(v) is int and 0 <= v < 2**62 for v in face)
            if not whole:
                raise refuse("three vertex numbers [i, j, k], counted from 0", face, i)
        return np.array(value, dtype=np.int64)

    def schema(self) -> Schema:
        return {"type": "array", "items": _array(3, 3, {"type": "integer"})}


@dataclass(frozen=True)
class ListOf(Check):
    """A list of at least `low` and at most `high` values."""

    item: Check
    low: int = 0
    high: int | None = None
    text: str = "a list"

    def read(self, value: Any, where: Where) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < self.low or (self.high is not None and len(value) > self.high):
            raise refuse(self.text, value)
        out, faults = [], []
        for i, v in enumerate(value):
            try:
                out.append(self.item.read(v, where))
            except Refused as wrong:
                faults += wrong.under(i)
        if faults:
            raise Refused(faults)
        return tuple(out)

    def schema(self) -> Schema:
        high = {} if self.high is None else {"maxItems": self.high}
        return {"type": "array", "items": self.item.schema(), **({"minItems": self.low} if self.low else {}), **high}


def or_list(item: Schema) -> Schema:
    """The schema of a value or a list of such values."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def _array(low: int, high: int, items: Schema | None = None) -> Schema:
    return {"type": "array", "items": items or {"type": "number"}, "minItems": low, "maxItems": high}


NUMBER, NUMBERS = Number(), Number(many=True)
POSITIVE, POSITIVES = Number(0, above=True), Number(0, above=True, many=True)
NOT_NEGATIVE, FRACTION = Number(0), Number(0, 1)
COUNT, SEED = Whole(1), Whole(0)
FLAG, TEXT = OfType(bool, "boolean", "true or false"), OfType(str, "string", "text in quotes")
RECORD = OfType(dict, "object", "a table")
POINT, DIRECTION, AXIS = VectorOf(), VectorOf(nonzero=True), VectorOf(3, nonzero=True)
INTERVAL, SPACING = Interval(2, "[low, high]"), Spacing(positive=True)
POINTS, VERTICES = Rows(), Rows(least=3)
QUATERNIONS = Rows(4, "a quaternion [w, x, y, z]", nonzero=True)
SPINS = PerBody(NUMBERS, Rows(3, "three numbers [x, y, z], along the axes of the world"))
INERTIAS = PerBody(POSITIVES, Rows(3, "three moments of inertia, about the principal axes"))
TRIANGLES, TOLERANCE, RESTITUTION = Triangles(), Tolerance(), Restitution()


def check_of(setting: Setting) -> Check:
    """The check of a setting of a run that scene files have."""
    if setting.names:
        return Choice(setting.names)
    return {settings.NUMBER: POSITIVE, settings.NAME: TEXT, settings.TOLERANCE: TOLERANCE}[setting.kind]
