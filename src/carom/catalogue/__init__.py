"""The catalogue: problems with known answers and known symmetries, on which every law is examined."""

from __future__ import annotations

from functools import cache

from ..errors import ProblemError
from .entry import Entry, is_degenerate, mirror, rotation, spatial_symmetry
from .lines import line_entries
from .plane import plane_entries
from .space import space_entries


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry, those on a line first."""
    return (*line_entries(), *plane_entries(), *space_entries())


def names() -> list[str]:
    """Names of all entries."""
    return [entry.name for entry in entries()]


def entry(name: str) -> Entry:
    """The entry of that name."""
    for candidate in entries():
        if candidate.name == name:
            return candidate
    raise ProblemError.unknown("catalogue problem", name, names())


__all__ = ["Entry", "entries", "entry", "is_degenerate", "mirror", "names", "rotation", "spatial_symmetry"]
