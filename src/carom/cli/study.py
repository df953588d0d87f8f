"""`carom study NAME` reproduces a figure of the literature and writes it, with its numbers as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import number, out, remarks
from .figure_formats import ALL, Formats, check_folder, formats_of

if TYPE_CHECKING:
    from ..studies import StudyResult

LIST = "list"


def study(
    name: str = typer.Argument(LIST, help="A study, or `list` to list all of them.", show_default=True),
    output: Path = typer.Option(Path("."), "-o", "--output", metavar="DIR", help="Folder of the files."),
    formats: Formats = ALL,
) -> None:
    """Reproduce a figure of the literature: write it, with its numbers as CSV, and print the main numbers."""
    from ..errors import ProblemError
    from ..studies import STUDIES

    if name == LIST:
        _list(STUDIES)
        return
    if name not in STUDIES:
        raise ProblemError.unknown("study", name, [*STUDIES, LIST])
    check_folder(output)
    endings = formats_of(formats)
    from ..draw.style import written_as

    with written_as(endings):
        result = _run(name, output)
    _show(result)


def _list(studies: dict[str, str]) -> None:
    console = out()
    width = max(map(len, studies))
    for name, text in studies.items():
        console.print(f"[bold cyan]{name:<{width}}[/]  {text}", soft_wrap=True)
    console.print("\nRun one with [bold]carom study NAME -o DIR[/]")


def _run(name: str, output: Path) -> StudyResult:
    """Runs the study with a progress bar on stderr."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from ..studies import run
    from .progress import compile_notice_beside_bar

    bar = Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=remarks(),
        transient=True,
    )
    with bar, compile_notice_beside_bar():
        task = bar.add_task(name, total=1.0)

        def tell(part: float, what: str) -> None:
            bar.update(task, completed=part, description=f"{name}: {what}"[:28])

        return run(name, output, tell)


def _show(result: StudyResult) -> None:
    from rich import box
    from rich.table import Table

    console = out()
    table = Table(box=box.SIMPLE_HEAD, title=f"study {result.name}", title_justify="left", pad_edge=False)
    table.add_column("measured")
    table.add_column("value", justify="right", no_wrap=True)
    for label, value in result.numbers.items():
        # Small numbers keep their exponent: some studies are about 1e-14 in contrast to 0.
        table.add_row(label, f"{value:.1e}" if 0.0 < abs(value) < 1e-3 else number(value))
    console.print(table)
    for finding in result.findings:
        console.print(f"- {finding}", markup=False, soft_wrap=True)
    console.print("files:")
    for path in result.files:
        console.print(f"  {path}", markup=False, soft_wrap=True)
