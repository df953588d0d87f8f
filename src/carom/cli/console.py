"""Output of the commands: tables go to stdout, remarks and progress to stderr."""

from __future__ import annotations

import functools
import math
from typing import Any

from rich.console import Console

from ..files import json_text

WIDE = 100  # columns from which tables are printed side by side


def out() -> Console:
    """Standard output. A new console for each command, because a test or a pipe may have replaced the stream."""
    return Console(highlight=False)


@functools.cache
def remarks() -> Console:
    """Standard error. One console for all, so that lines and progress bars do not overwrite each other."""
    return Console(stderr=True, highlight=False)


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
