"""`carom new FILE.toml`: a commented scene to start from; `carom new --schema`: the JSON schema for editors."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import ProblemError
from ..files import write_text
from .console import remarks


def new(
    file: Path | None = typer.Argument(None, metavar="FILE.toml", help="Name of the new file."),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON schema of scene files instead."),
    in_3d: bool = typer.Option(False, "--3d", help="Write a 3D scene instead of a 2D one."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing file."),
) -> None:
    """Write a commented scene file to start from."""
    if schema:
        from ..scene.file import schema_text

        if file is None:
            print(schema_text())
            return
        raise ProblemError("FILE", str(file), "no file with --schema, which prints: carom new --schema > scene.json")
    if file is None:
        raise ProblemError("FILE", "nothing", "a file name that ends in .toml, or --schema")
    if file.suffix != ".toml":
        raise ProblemError("FILE", str(file), "a name that ends in .toml")
    if not file.absolute().parent.is_dir():
        raise ProblemError("FILE", str(file), "a name in a folder that exists")
    if file.exists() and not overwrite:
        raise ProblemError("FILE", str(file), "a name that is not taken, or --overwrite")
    if file.is_dir():
        raise ProblemError("FILE", f"{file}, a folder", "a file name")
    from ..scene.file import starter_text

    write_text(file, starter_text(file.stem, file.name, 3 if in_3d else 2).rstrip("\n") + "\n")
    remarks().print(f"wrote {file}; next: carom validate {file}, carom run {file}", soft_wrap=True, markup=False)
