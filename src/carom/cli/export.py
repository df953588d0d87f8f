"""`carom export RUN.h5 -o OUT` writes a run for other programs; the ending of OUT chooses the format."""

from __future__ import annotations

from pathlib import Path

import typer

from .arguments import JSON, RUN, number_option, whole_number
from .console import as_json, remarks


def export(
    file: Path = RUN,
    output: Path = typer.Option(
        ..., "-o", "--output", metavar="OUT", help="Ends in .html, .glb, .usdc, .usda, .pvd, .csv or .npz."
    ),
    every: int = typer.Option(1, "--every", parser=whole_number, metavar="N", help="Take each N-th frame."),
    start: float | None = number_option("--from", "TIME", "Time of the first frame."),
    end: float | None = number_option("--to", "TIME", "Time of the last frame."),
    color: str | None = typer.Option(
        None, "--color", metavar="QUANTITY", help="Quantity that colors show; default: that of the viewer."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace existing files."),
    json: bool = JSON,
) -> None:
    """Write a run as a web page that plays it, or for other programs: glTF, USD, ParaView, CSV, NumPy."""
    from ..exporting import export as write
    from .compiling import compile_notice

    with compile_notice():
        written = write(file, output, every=every, start=start, end=end, color=color, overwrite=overwrite)
    if json:
        print(as_json({"file": str(file), "written": [str(path) for path in written]}))
    else:
        remarks().print(f"wrote {', '.join(map(str, written))}", markup=False, soft_wrap=True)
