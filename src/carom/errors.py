"""The exception that invalid input raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class ProblemError(ValueError):
    """Invalid input: the name of the field, its value, and what is expected."""

    def __init__(self, field: str, value: Any, expected: str, message: str | None = None) -> None:
        self.field, self.value, self.expected = field, value, expected
        super().__init__(message or f"{field}: got {_short(value)}; expected {expected}")

    @classmethod
    def unknown(cls, kind: str, name: Any, known: Iterable[str]) -> ProblemError:
        """`unknown law 'grr': did you mean 'gr'?`, followed by the list of known names."""
        names = sorted(known)
        close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        listing = ", ".join(names)
        return cls(kind, name, f"one of {listing}", f"unknown {kind} {name!r}: {hint}(known: {listing})")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."
