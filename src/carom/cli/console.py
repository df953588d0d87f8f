"""Output of the commands: tables go to stdout, remarks and progress to stderr."""

from __future__ import annotations

import functools
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


def as_json(data: Any) -> str:
    """Strict JSON: numbers that are not finite become null."""
    return json_text(data, indent=1)
