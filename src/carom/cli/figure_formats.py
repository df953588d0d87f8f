"""`--format` and `-o` of the commands that draw figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ProblemError

ALL = "png,svg,pdf"  # as carom.draw.style.FORMATS, which would load matplotlib for every command
Formats = Annotated[
    str, typer.Option("--format", metavar="NAMES", help="Of the figures: any of png, svg, pdf, separated by commas.")
]


def formats_of(text: str) -> tuple[str, ...]:
    """The endings that `--format` names, each once."""
    known = ALL.split(",")
    names = [name.strip().lower().lstrip(".") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ProblemError.unknown("format", name, known)
    if not names:
        raise ProblemError("--format", text, "any of png, svg, pdf, separated by commas")
    return tuple(dict.fromkeys(names))


def names_a_figure(path: Path) -> bool:
    """Whether `-o` is the name of one figure and not that of a folder."""
    return not path.is_dir() and path.suffix.lower().lstrip(".") in ALL.split(",")


def check_folder(path: Path) -> None:
    """For commands that name their files themselves."""
    if names_a_figure(path) or (path.exists() and not path.is_dir()):
        raise ProblemError("--output", str(path), "a folder, or a name for a new one; --format names the formats")
