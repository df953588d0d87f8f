"""The options `--format` and `-o` of commands that draw figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ProblemError

ALL = "png,svg,pdf"  # the same as carom.draw.style.FORMATS, whose import would load Matplotlib for every command
Formats = Annotated[
    str,
    typer.Option("--format", metavar="NAMES", help="Any of png, svg, pdf, separated by commas."),
]


def formats_of(text: str) -> tuple[str, ...]:
    """The formats that `--format` names, each once."""
    known = ALL.split(",")
    names = [name.strip().lower().lstrip(".") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ProblemError.unknown("format", name, known)
    if not names:
        raise ProblemError("--format", text, "any of png, svg, pdf, separated by commas")
    return tuple(dict.fromkeys(names))


def names_a_figure(path: Path) -> bool:
    """Whether `-o` names one figure and not a folder."""
    return not path.is_dir() and path.suffix.lower().lstrip(".") in ALL.split(",")


def check_folder(path: Path) -> None:
    """Checks `-o` of commands that name their files themselves."""
    if names_a_figure(path) or (path.exists() and not path.is_dir()):
        raise ProblemError("--output", str(path), "a folder, or a name for a new one; --format names the formats")
