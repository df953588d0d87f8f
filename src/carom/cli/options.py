"""`--option key=value` as the typed option of a law."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import ProblemError


def law_options(pairs: Sequence[str], defaults: dict[str, Any], law: str) -> dict[str, Any]:
    """Values in the type of each default; an unknown key or a value that does not fit is refused."""
    chosen: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ProblemError("--option", pair, "key=value")
        if key not in defaults:
            if not defaults:
                raise ProblemError("--option", pair, f"nothing: law {law!r} has no options")
            raise ProblemError.unknown(f"option of law {law!r}", key, defaults)
        chosen[key] = _typed(key, text.strip(), defaults[key])
    return chosen


def _typed(key: str, text: str, default: Any) -> Any:
    value = _parsed(text)
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ProblemError(f"option {key}", text, "true or false")
    if isinstance(default, int):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value):
            return int(value)
        raise ProblemError(f"option {key}", text, "a whole number")
    if isinstance(default, float) and not isinstance(value, list):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        raise ProblemError(f"option {key}", text, "a number")
    return tuple(value) if isinstance(value, list) else value


def _parsed(text: str) -> Any:
    """Numbers, lists, true, false and null as in JSON; whatever else is text."""
    lowered = {"True": "true", "False": "false", "None": "null"}.get(text, text)
    try:
        value = json.loads(lowered)
    except json.JSONDecodeError:
        return text
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return text
    return text if value != value else value
