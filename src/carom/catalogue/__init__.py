"""The catalogue: impact problems with known answers and known symmetries, on which every law is audited."""

from __future__ import annotations

from functools import cache

from ..errors import ProblemError
from .entry import Entry, is_degenerate, mirror, rotation, spatial_symmetry
from .problems_1d import entries_1d
from .problems_2d import entries_2d
from .problems_3d import entries_3d
from .problems_faces import entries_faces


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry, those on a line first."""
    return (*entries_1d(), *entries_2d(), *entries_3d(), *entries_faces())


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
