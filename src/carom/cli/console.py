"""Output of the commands: tables go to stdout, remarks and progress to stderr."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ..errors import has_controls, printable
from ..files import json_text

WIDE = 100  # columns from which tables are printed side by side


class SafeConsole(Console):
    """A console that prints control characters of texts as escapes such as `\\x1b`.

    Readers of files refuse them; this also covers what reaches the output another way, such as the name of a file.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            raw = not segment.control and has_controls(segment.text)
            yield Segment(printable(segment.text), segment.style) if raw else segment


def out() -> Console:
    """Standard output. A new console for each command, because a test or a pipe may have replaced the stream."""
    return SafeConsole(highlight=False)


@functools.cache
def remarks() -> Console:
    """Standard error. One console for all, so that lines and progress bars do not overwrite each other."""
    return SafeConsole(stderr=True, highlight=False)


def tick(yes: bool) -> str:
    """A mark that differs in shape as well as in color."""
    return "[green]✓[/]" if yes else "[dim]·[/]"


def verdict(passed: bool) -> str:
    """`pass` or `FAIL`, colored."""
    return "[green]pass[/]" if passed else "[bold red]FAIL[/]"


def number(value: float, digits: int = 4) -> str:
    """A short fixed-point number, with an exponent if it is very small or large; negative zero prints as zero."""
    if not math.isfinite(value):
        return str(value)
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        rounded = f"{value:.{max(digits - 2, 1)}e}"
        return f"{0:.{digits}f}" if abs(value) < 1e-12 else rounded
    return f"{value + 0.0:.{digits}f}"  # + 0.0 removes the sign of a negative zero


def as_json(data: Any) -> str:
    """Strict JSON: numbers that are not finite become null."""
    return json_text(data, indent=1)
