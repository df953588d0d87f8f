"""`carom tower new FILE.toml [NAME]`: a tower file to start from."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import ProblemError
from ..files import write_text
from .console import remarks

STARTER = """\
# A tower of bricks without friction. (x, y) is a brick's center, the ground is y = 0.
# Numbers are taken as doubles; text such as "1/6" is exact.
[tower]
name = "{name}"
mass_model = "uniform"  # or "corners": all mass in the corners
gravity = 9.81

[[brick]]
name = "table"
x = -2
y = 0.5
width = 4
height = 1
fixed = true  # nothing moves it

[[brick]]
x = "-1/4"
y = 1.125
width = 1
height = 0.25

[[brick]]
x = "1/4"
y = 1.375
width = 1
height = 0.25
angle = 0  # radians, anticlockwise

[[brick]]  # any convex polygon
corners = [[-0.5, 1.25], [-0.3, 1.25], [-0.4, 1.5]]
density = 2

# A hinge between two bricks, or between a brick and the ground:
# [[pin]]
# bricks = [1, "ground"]
# at = [0, 1]

# Instead of bricks, [tower] may name a maker: kind = "wall" (rows, columns, brick, gap, bond), "stack" (offsets,
# brick), "harmonic" (n, brick, table) or "diamond" (n, brick, gap).
"""


def new(
    file: Path = typer.Argument(..., metavar="FILE.toml", help="Where the tower goes."),
    source: str | None = typer.Argument(None, metavar="NAME", help="A tower that `carom tower list` shows."),
    force: bool = typer.Option(False, "--force", help="Write over a file that exists."),
) -> None:
    """Write a tower file to start from: a commented one, or a tower that has a name."""
    if file.suffix.lower() != ".toml":
        raise ProblemError("FILE", str(file), "a name that ends in .toml")
    if file.is_dir():
        raise ProblemError("FILE", f"{file}, a folder", "a file name")
    if not file.absolute().parent.is_dir():
        raise ProblemError("FILE", str(file), "a name in a folder that exists")
    if file.exists() and not force:
        raise ProblemError("FILE", str(file), "a name that is not taken, or --force")
    if source is not None:
        from ..towers.files import tower_to_toml
        from .tower_source import tower_from

        text = tower_to_toml(tower_from(source))
    else:
        import json

        text = STARTER.replace('"{name}"', json.dumps(file.stem))
    write_text(file, text.rstrip("\n") + "\n")
    remarks().print(f"wrote {file}; next: carom tower check {file}", soft_wrap=True, markup=False)
