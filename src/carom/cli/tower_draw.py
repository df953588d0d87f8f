"""`carom tower draw FILE|NAME -o picture.svg`: forces, the onset of collapse, the resting shape."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import ProblemError
from .arguments import number_option
from .console import out
from .tower_source import MASS_MODEL, SOURCE, check_picture, tower_from


def draw(
    source: str = SOURCE,
    output: Path = typer.Option(..., "-o", "--output", metavar="PICTURE", help="A name in .png, .svg or .pdf."),
    what: str | None = typer.Option(
        None,
        "--what",
        metavar="NAME",
        help="forces, velocities, certificate, resting or plain. Default: forces if it stands, velocities if not.",
    ),
    mass_model: str | None = MASS_MODEL,
    numbers: bool = typer.Option(False, "--numbers", help="Write the number of each brick into it."),
    caption: bool = typer.Option(False, "--caption", help="A line with the verdict below."),
    width: float | None = number_option("--width", "INCHES", "Of the picture; default 3.5, one column of a paper."),
) -> None:
    """Draw a tower for print: contact forces, or how it begins to fall."""
    check_picture(output, "--output")
    from ..towers.drawing import COLUMN, WHAT

    if what is not None and what not in WHAT:
        raise ProblemError.unknown("picture", what, WHAT)
    tower = tower_from(source, mass_model)
    from .compiling import compile_notice

    with compile_notice():
        chosen = what or ("forces" if tower.stability().stable else "velocities")
        inches = COLUMN if width is None else width
        tower.draw(output, what=chosen, numbers=numbers, caption=caption, width=inches)
    out().print(str(output), markup=False, soft_wrap=True)
