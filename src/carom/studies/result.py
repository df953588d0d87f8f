"""What a study returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[float, str], None]  # part done (0 to 1) and what is under way


@dataclass(frozen=True)
class StudyResult:
    """Files written, numbers to quote, and what was found in words."""

    name: str
    files: tuple[Path, ...]
    numbers: dict[str, float]
    findings: tuple[str, ...] = ()


def silent(part: float, what: str) -> None:
    """Progress that is not shown."""
