"""Tells the user that kernels are being compiled: one line on stderr, which front ends may replace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .files import cache_folder

QUIET_VARIABLE = "CAROM_QUIET"


class Notice:
    """The notice of Python programs: one line per process."""

    def __init__(self) -> None:
        self.told = False

    def begin(self, kernels: int = 0) -> None:
        """Called when compilation starts; `kernels` is the number of kernels, 0 if it is unknown."""
        if not self.told and not os.environ.get(QUIET_VARIABLE):
            print(f"carom: {announcement(kernels)}", file=sys.stderr, flush=True)
        self.told = True

    def advance(self, done: int, kernels: int) -> None:
        """`done` of `kernels` are compiled."""


def announcement(kernels: int) -> str:
    """The sentence that announces compilation."""
    folder = cache_folder()
    kept = f"once; kept in {short(folder)}" if folder else "no folder to keep them is writable: set CAROM_CACHE_DIR"
    from .shipped import unsuitable

    reason = f"; {unsuitable()}" if unsuitable() else ""
    return f"compiling {f'{kernels} ' if kernels > 1 else ''}kernels ({kept}{reason})"


def short(path: Path) -> str:
    """A path below the current folder or the home folder in its short form."""
    for base, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return sign + str(path.relative_to(base))
    return str(path)


_notices = [Notice()]


def notice() -> Notice:
    """The notice in use."""
    return _notices[-1]


class using:
    """Uses another notice inside a `with` block."""

    def __init__(self, other: Notice) -> None:
        self.other = other

    def __enter__(self) -> None:
        _notices.append(self.other)

    def __exit__(self, *_: object) -> None:
        _notices.remove(self.other)
