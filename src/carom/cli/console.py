"""Where text goes: tables to stdout, remarks and progress to stderr."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

from rich.console import Console

WIDE = 100  # columns from which tables stand side by side


def out() -> Console:
    """Standard output. Made anew for each command, because a test or a pipe may have replaced the stream."""
    return Console(highlight=False)


@functools.cache
def remarks() -> Console:
    """Standard error. One console for all, so that a line and a progress bar do not draw over each other."""
    return Console(stderr=True, highlight=False)


def tick(yes: bool) -> str:
    """A mark that differs in shape and not only in color."""
    return "[green]✓[/]" if yes else "[dim]·[/]"


def verdict(passed: bool) -> str:
    return "[green]pass[/]" if passed else "[bold red]FAIL[/]"


def number(value: float, digits: int = 4) -> str:
    """A short fixed-point number without the noise of a negative zero; exponents where they are needed."""
    if not math.isfinite(value):
        return str(value)
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        rounded = f"{value:.{max(digits - 2, 1)}e}"
        return f"{0:.{digits}f}" if abs(value) < 1e-12 else rounded
    return f"{value + 0.0:.{digits}f}"  # + 0.0 takes the sign off a negative zero


def as_json(data: Any) -> str:
    """Strict JSON: what is not finite becomes null."""
    return json.dumps(_finite(data), indent=1, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if hasattr(data, "item") and not isinstance(data, (str, bytes)):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data
