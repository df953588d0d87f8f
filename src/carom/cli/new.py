"""`carom new FILE`: a scene, an impact problem or a sweep to start from; `carom new --schema`: a JSON schema."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import ProblemError
from ..files import json_text, write_text
from .console import remarks

# Newton's cradle, as a file of an impact problem.
PROBLEM = """{
  "chain": {"name": %s, "masses": [1, 1, 1, 1, 1], "velocities": [1, 0, 0, 0, 0], "restitution": 1.0}
}
"""

PLAN = """# A sweep: all combinations of the values below, one row of a table for each.
[sweep]
scene = "pool_break"                # `carom scenes` lists them; or a scene file
law = ["gr", "qce", "gauss_seidel"]
measure = ["symmetry_error", "max_speed"]  # `carom sweep measures` lists them

[parameters]                        # `carom scenes pool_break` lists them
rows = [3, 4, 5]

[settings]
duration = 2.0
"""


def new(
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Name of the new file: .toml makes a scene, .json an impact problem."
    ),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON schema of scene files instead."),
    in_3d: bool = typer.Option(False, "--3d", help="Write a 3D scene instead of a 2D one."),
    plan: bool = typer.Option(False, "--sweep", help="Write the plan of a sweep instead of a scene."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file."),
) -> None:
    """Write a file to start from: a commented scene, an impact problem, or the plan of a sweep."""
    if schema:
        from ..scene.file import schema_text

        if file is None:
            print(schema_text())
            return
        raise ProblemError("FILE", str(file), "no file with --schema, which prints: carom new --schema > scene.json")
    if file is None:
        raise ProblemError("FILE", "nothing", "a file name that ends in .toml or .json, or --schema")
    if file.suffix not in (".toml", ".json"):
        raise ProblemError("FILE", str(file), "a name that ends in .toml (a scene) or .json (an impact problem)")
    if file.suffix == ".json" and (in_3d or plan):
        option = "--3d" if in_3d else "--sweep"
        raise ProblemError("FILE", f"{file} with {option}", "a name that ends in .toml: the new problem is a chain")
    if in_3d and plan:
        raise ProblemError("--3d", "with --sweep", "one of them: a plan names its scene")
    if not file.absolute().parent.is_dir():
        raise ProblemError("FILE", str(file), "a name in a folder that exists")
    if file.is_dir():
        raise ProblemError("FILE", f"{file}, a folder", "a file name")
    if file.exists() and not overwrite:
        raise ProblemError("FILE", str(file), "a file that does not exist yet, or --overwrite")
    if file.suffix == ".json":
        text, steps = PROBLEM % json_text(file.stem), (f"resolve {file}", f"audit {file}")
    elif plan:
        text, steps = PLAN, (f"sweep {file} -o results", "sweep plot results")
    else:
        from ..scene.file import starter_text

        text = starter_text(file.stem, file.name, 3 if in_3d else 2).rstrip("\n") + "\n"
        steps = f"validate {file}", f"run {file}"
    write_text(file, text)
    following = ", ".join(f"carom {command}" for command in steps)
    remarks().print(f"wrote {file}; next: {following}", soft_wrap=True, markup=False)
