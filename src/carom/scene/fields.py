"""Declared fields: a class of a scene is a dataclass whose fields carry their checks.

    radius: Annotated[float, POSITIVE, "of the circle"]

A description and `ONLY_2D` or `ONLY_3D` may follow the check. This one declaration serves the checks on construction
(`check_fields`), scene files (`read_fields`, `plain`), their JSON schema (`properties`) and `carom validate`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

from ..errors import ProblemError
from ..settings import Setting
from .checks import GIVEN, NOTHING, Check, Fault, Refused, Schema, Where, check_of, refuse, suggestion

ONLY_2D, ONLY_3D = 2, 3  # in an annotation: the field exists in this dimension only
OTHER_DIMENSION = {2: "the scene is 2D (dimension = 3 makes it 3D)", 3: "the scene is 3D"}
NEEDED = object()  # the default of a field that must be given
T = TypeVar("T")


@dataclass(frozen=True)
class Field:
    """One declared field: its check, its default (NEEDED: it must be given), and its dimension (None: both)."""

    check: Check
    default: Any = NEEDED
    about: str = ""
    only: int | None = None
    because: str = ""  # why the field is needed

    @property
    def needed(self) -> bool:
        return self.default is NEEDED


Fields = Mapping[str, Field]
_FIELDS: dict[type, dict[str, Field]] = {}


def fields_of(owner: type) -> dict[str, Field]:
    """The declared fields of a dataclass: those whose annotation has a check."""
    if owner not in _FIELDS:
        hints, found = get_type_hints(owner, include_extras=True), {}
        for field in dataclasses.fields(owner):
            notes = getattr(hints[field.name], "__metadata__", ())
            notes = [part for note in notes for part in _parts(note)]
            check = next((note for note in notes if isinstance(note, Check)), None)
            if check is None:
                continue
            about = next((note for note in notes if isinstance(note, str)), "")
            only = next((note for note in notes if isinstance(note, int)), None)
            default = field.default if field.default_factory is MISSING else field.default_factory()
            found[field.name] = Field(check, NEEDED if default is MISSING else default, about, only)
        _FIELDS[owner] = found
    return _FIELDS[owner]


def _parts(note: Any) -> tuple[Any, ...]:
    """Check and description of a setting of runs; other notes as they are."""
    return (check_of(note), note.about) if isinstance(note, Setting) else (note,)


def read_fields(data: Any, fields: Fields, where: Where) -> dict[str, Any]:
    """The checked values of a table, for those keys that are given. All faults are reported together."""
    if not isinstance(data, Mapping):
        raise refuse("a table", data)
    known = [key for key, field in fields.items() if field.only in (None, where.dimension)]
    for key, value in data.items():
        if key not in fields:
            message = f"no such field{suggestion(key, known)} (known: {', '.join(known)})"
            raise Refused([Fault((key,), value, f"one of {', '.join(known)}", message)])
        if key not in known:
            raise refuse(f"nothing: {OTHER_DIMENSION[where.dimension or 2]}", GIVEN, key)
    values, faults = {}, []
    for key in known:
        if key not in data:
            if fields[key].needed:
                because = fields[key].because
                expected = fields[key].check.words(where) + because if because else "this field, which is needed here"
                faults.append(Fault((key,), NOTHING, expected))
            continue
        try:
            values[key] = fields[key].check.read(data[key], where)
        except Refused as wrong:
            faults += wrong.under(key)
    if faults:
        raise Refused(faults)
    return values


def construct(owner: type[T], values: Mapping[str, Any]) -> T:
    """`owner(**values)`; what it refuses itself, as `boundary.upper`, is a fault of the field `upper`."""
    try:
        return owner(**values)
    except ProblemError as error:
        steps = error.field.split(".")[1:]
        raise Refused([Fault(tuple(steps), error.value, error.expected)]) from None


def check_fields(owner: Any, name: str, kinds: tuple[type[Check], ...] = (Check,)) -> None:
    """Checks the declared numbers and vectors of an object that was constructed in Python; `name` begins the paths.

    Only fields whose check is one of `kinds` are read.
    """
    for key, field in fields_of(type(owner)).items():
        value = getattr(owner, key, None)
        if not field.check.in_python or not isinstance(field.check, kinds) or (value is None and field.default is None):
            continue
        try:
            field.check.read(plain(value), Where())
        except Refused as wrong:
            fault = wrong.faults[0]
            raise ProblemError(f"{name}.{key}", value, fault.expected) from None


def plain(value: Any) -> Any:
    """Lists and Python numbers, as TOML and JSON have them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def properties(fields: Fields, **more: Schema) -> Schema:
    """The JSON schema of a table with the given fields; `more` are further properties, such as its kind."""
    shown = dict(more)
    for key, field in fields.items():
        extra: Schema = {"description": field.about} if field.about else {}
        if not field.needed and isinstance(field.default, (bool, int, float, str, tuple)):
            extra["default"] = plain(field.default)
        shown[key] = {**field.check.schema(), **extra}
    needed = [*(key for key in more if key == "kind"), *(key for key, field in fields.items() if field.needed)]
    table = {"type": "object", "properties": shown, "additionalProperties": False}
    return {**table, "required": needed} if needed else table


# ---- tables within tables


@dataclass(frozen=True)
class TableOf(Check):
    """A table with the declared fields of a class."""

    owner: type
    in_python = False

    def read(self, value: Any, where: Where) -> Any:
        return construct(self.owner, read_fields(value, fields_of(self.owner), where))

    def schema(self) -> Schema:
        return reference(self.owner)

    def tables(self) -> dict[str, Schema]:
        """The definition of the class, by its name."""
        return {self.owner.__name__: {"description": summary(self.owner), **properties(fields_of(self.owner))}}


@dataclass(frozen=True)
class KindOf(Check):
    """A table whose `kind` selects its class, among those for the dimension of the scene."""

    kinds: Mapping[str, type]
    default: str = ""  # the kind of a table without one
    in_python = False

    def read(self, value: Any, where: Where) -> Any:
        if not isinstance(value, Mapping):
            raise refuse("a table", value)
        got = value.get("kind", self.default or NOTHING)
        suited = [kind for kind, owner in self.kinds.items() if where.dimension in dimensions_of(owner)]
        if not isinstance(got, str) or got not in self.kinds:
            raise refuse(f"one of {', '.join(suited)}{suggestion(got, suited)}", got, "kind")
        if got not in suited:
            raise refuse(f"one of {', '.join(suited)}: {OTHER_DIMENSION[where.dimension or 2]}", got, "kind")
        return self.made(self.kinds[got], {key: v for key, v in value.items() if key != "kind"}, where)

    def made(self, owner: type, data: Mapping[str, Any], where: Where) -> Any:
        """An object of the class `owner` from the other keys of the table."""
        return construct(owner, read_fields(data, fields_of(owner), where))

    def schema(self) -> Schema:
        return {"anyOf": [reference(owner) for owner in self.kinds.values()]}

    def tables(self) -> dict[str, Schema]:
        """Definitions of the classes, by their names."""
        out = {}
        for kind, owner in self.kinds.items():
            table = properties(fields_of(owner), kind={"const": kind})
            if kind == self.default:
                table["required"].remove("kind")
            out[owner.__name__] = {"description": summary(owner), **table}
        return out


def dimensions_of(owner: type) -> tuple[int, ...]:
    """The dimensions of scenes in which a class may be used; both unless it says otherwise."""
    found: tuple[int, ...] = getattr(owner, "dimensions", (2, 3))
    return found


def reference(owner: type) -> Schema:
    """A reference to the definition of a class in the JSON schema."""
    return {"$ref": f"#/$defs/{owner.__name__}"}


def summary(owner: type) -> str:
    """The first line of the docstring of a class."""
    return (owner.__doc__ or "").strip().split("\n")[0]
