"""What pydantic found wrong, as one ProblemError in the words of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ...errors import ProblemError
from ..barriers import KINDS as BARRIERS
from ..boundaries import KINDS as WALLS
from ..motion import KINDS as MOTIONS
from .generators import GENERATORS
from .text import line_of
from .values import MISSING, suggestion

TABLES = ("pairs", "bodies", "generators", "boundaries", "symmetries")
KINDS = {
    2: {"generators": GENERATORS, "boundaries": list(WALLS)},
    3: {"generators": [name for name in GENERATORS if name not in ("rack", "ring")], "boundaries": list(BARRIERS)},
}


def refused(document: Mapping[str, Any], found: ValidationError, dimension: int = 2) -> ProblemError:
    """The first error, with the number of others."""
    errors = found.errors(include_url=False)
    made = [_one(document, error, dimension) for error in errors]
    first = made[0]
    if len(made) > 1:
        first.args = (f"{first} (and {len(made) - 1} more)",)
    return first


def at_line(error: ProblemError, text: str, name: str) -> ProblemError:
    """The same error with the file and the line of its field at the end."""
    line = line_of(text, error.field)
    where = f"{name}, line {line}" if line is not None else name
    return ProblemError(error.field, error.value, error.expected, f"{error} [{where}]")


def field_path(steps: Sequence[str | int]) -> str:
    """`('bodies', 2, 'radius')` -> `bodies[2].radius`."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.lstrip(".")


def shown(value: Any) -> Any:
    """Text in quotes, so that a space or nothing at all can be seen."""
    return repr(value) if isinstance(value, str) else value


def _one(document: Mapping[str, Any], error: Any, dimension: int) -> ProblemError:
    kind, context = error["type"], error.get("ctx", {})
    steps = [*_steps(document, error["loc"], kind == "missing"), *context.get("within", ())]
    path = field_path(steps)
    if kind == "carom":
        return ProblemError(path, shown(context["got"]), context["expected"])
    if kind == "carom_key":
        known = ", ".join(context["known"])
        message = f"{path}: no such field{context['hint']} (known: {known})"
        return ProblemError(path, shown(context["got"]), f"one of {known}", message)
    if kind == "missing":
        return ProblemError(path, MISSING, "this field, which is needed here")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _tag(path, error, context, dimension)
    if kind == "list_type":
        expected = f"an array of tables: write [[{path}]]" if path in TABLES else "a list"
        return ProblemError(path, shown(error["input"]), expected)
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return ProblemError(path, shown(error["input"]), "a table")
    if kind in ("too_short", "too_long"):
        count = context.get("min_length", context.get("max_length"))
        return ProblemError(path, error["input"], f"a list of {count}" if count != 1 else "a list that is not empty")
    message = error["msg"]
    return ProblemError(path, shown(error["input"]), message[:1].lower() + message[1:])


def _tag(path: str, error: Any, context: Mapping[str, Any], dimension: int) -> ProblemError:
    """An unknown `kind`, or a word in the place of a table."""
    value = error["input"]
    names = [
        name for name in re.findall(r"'(\w+)'", context.get("expected_tags", "")) if name not in ("word", "numbers")
    ]
    if isinstance(value, Mapping):
        got = value.get("kind", MISSING)
        names = _kinds(path, dimension) or names
        return ProblemError(f"{path}.kind", shown(got), f"one of {', '.join(names)}{suggestion(got, names)}")
    expected = '"free", "fixed", or a table with kind = ' + ", ".join(names)
    return ProblemError(path, shown(value), expected + suggestion(value, ["free", "fixed"]))


def _kinds(path: str, dimension: int) -> list[str]:
    """The kinds that a table may be of; pydantic lists those of all dimensions, and none where kind is missing."""
    return list(MOTIONS) if path.endswith("motion") else KINDS[dimension].get(path.split("[")[0], [])


def _steps(document: Mapping[str, Any], location: Sequence[str | int], is_missing: bool) -> list[str | int]:
    """The location without the tags of unions, which pydantic puts between real keys."""
    steps: list[str | int] = []
    here: Any = document
    for k, step in enumerate(location):
        if isinstance(here, Mapping) and step in here:
            here = here[str(step)]
        elif isinstance(here, list) and isinstance(step, int):
            here = here[step]
        elif not (is_missing and k == len(location) - 1):
            continue
        steps.append(step)
    return steps
