"""The exception that invalid input raises."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

LONGEST_VALUE = 500  # characters of a message
# C0 and C1 controls except line ends and tabs; line separators, directions of writing; halves of surrogate pairs.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class StopRun(Exception):
    """Raised by a callback of a run to end it after the current step; the text is the reason.

    What was recorded is kept, and the run is returned with `finished` False.
    """


class ProblemError(ValueError):
    """Invalid input: the name of the field, its value, and what is expected.

    The message is one line of at most LONGEST_VALUE characters without control characters, whatever the input was.
    """

    def __init__(self, field: str, value: Any, expected: str, message: str | None = None) -> None:
        self.field, self.value, self.expected = field, value, expected
        super().__init__(_one_line(message or f"{_short(field, 200)}: got {_short(value)}; expected {expected}"))

    @classmethod
    def unknown(cls, kind: str, name: Any, known: Iterable[str]) -> ProblemError:
        """`unknown law 'grr': did you mean 'gr'?`, followed by the list of known names."""
        names = sorted(known)
        close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f": did you mean {close[0]!r}?" if close else ""
        listing = ", ".join(names)
        return cls(kind, name, f"one of {listing}", f"unknown {kind} {name!r}{hint} (known: {listing})")


def has_controls(text: str) -> bool:
    """Whether a text has control characters other than line ends and tabs: printed, they could change the terminal."""
    return _CONTROL.search(text) is not None


def check_texts(field: str, data: Any) -> None:
    """Refuses control characters in the texts and keys of plain data (dicts and lists) that was read from a file.

    All readers of files call it, so that nothing that a file holds can change the terminal or forge a line of output.
    """
    waiting = [(field, data)]
    while waiting:  # no recursion: a file may be nested deeply
        path, value = waiting.pop()
        if isinstance(value, str) and has_controls(value):
            raise ProblemError(path, value, "text without control characters")
        if isinstance(value, dict):
            waiting += [(f"{path}: a key", key) for key in value]
            waiting += [(f"{path}.{key}", item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{path}[{i}]", item) for i, item in enumerate(value) if isinstance(item, str | dict | list)]


def printable(text: str) -> str:
    """The text with escapes such as `\\x1b` in place of control characters."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def _one_line(text: str) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 84]} ... {text[-79:]}"


def _short(value: Any, longest: int = 120) -> str:
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # integers of more than 4,300 digits, deeply nested lists
        text = f"a very long {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 3] + "..."
