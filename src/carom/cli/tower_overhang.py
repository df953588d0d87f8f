"""`carom tower overhang N`: a stack of N bricks that reaches as far as could be found, proved to stand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ..errors import ProblemError
from .arguments import number_option, whole_number
from .console import as_json, out, remarks
from .tower_source import check_picture, headline

Tell = Callable[[int, int, float], None]


def overhang(
    n: int = typer.Argument(..., parser=whole_number, metavar="N", help="How many bricks."),
    seconds: float | None = number_option("--seconds", "TIME", "How long to search at most."),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="TOWER.toml", help="Write the tower here."),
    picture: Path | None = typer.Option(
        None, "--draw", metavar="PICTURE", help="Draw it with its forces: .png, .svg or .pdf."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write over a file that exists."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
    json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Search for a stack of N bricks with the largest overhang that can be proved stable."""
    _check_files(output, picture, overwrite)
    from ..towers.overhang import largest_overhang
    from .compiling import compile_notice

    began = time.perf_counter()
    with compile_notice(), _telling(f"overhang of {n}", quiet) as tell:
        found = largest_overhang(n, seconds=seconds, progress=tell)
    if output is not None:
        found.tower.save(output, overwrite=overwrite)
    if picture is not None:
        found.tower.draw(picture, what="forces")
    facts = _facts(found, n, time.perf_counter() - began)
    if json:
        print(as_json(facts))
    elif not quiet:
        _show(found, facts)
        for path in (output, picture):
            if path is not None:
                remarks().print(f"wrote {path}", markup=False, soft_wrap=True)


def _check_files(output: Path | None, picture: Path | None, overwrite: bool) -> None:
    check_picture(picture, "--draw")
    if output is None:
        return
    if output.suffix.lower() != ".toml":
        raise ProblemError("--output", str(output), "a name that ends in .toml")
    if not output.absolute().parent.is_dir():
        raise ProblemError("--output", str(output), "a name in a folder that exists")
    if output.is_dir() or (output.exists() and not overwrite):
        raise ProblemError("--output", str(output), "a name that is not taken, or --overwrite")


def _facts(found: Any, n: int, seconds: float) -> dict[str, Any]:
    from .tower_source import facts_of

    facts = facts_of(found.tower)
    return {
        **facts,
        "n": n,
        "overhang": float(found.overhang),
        "exact_overhang": str(found.overhang),
        "harmonic": sum(0.5 / k for k in range(1, n + 1)),
        "proof": "exact" if found.proof.exact else "certificate",
        "certificate": found.proof.certificate,
        "evaluations": found.evaluations,
        "seconds": seconds,
    }


def _show(found: Any, facts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    console = out()
    console.print(headline(facts))
    how = "verified in fractions" if facts["proof"] == "exact" else f"certificate {facts['certificate']:.1e}"
    console.print(f"overhang [bold]{facts['overhang']:.6f}[/] brick lengths, [bold green]stable[/], {how}")
    console.print(f"[dim]the harmonic stack reaches {facts['harmonic']:.6f}[/]")
    console.print(f"[dim]{facts['evaluations']:,} towers examined in {facts['seconds']:.1f} s[/]")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("brick", "left end", "right end", "bottom"):
        table.add_column(title, justify="right")
    for i, brick in enumerate(found.tower.bricks):
        if not brick.fixed:
            x, y = brick.corners.T
            table.add_row(str(i), f"{x.min():.6f}", f"{x.max():.6f}", f"{y.min():.4f}")
    console.print(table)


@contextmanager
def _telling(title: str, quiet: bool) -> Iterator[Tell | None]:
    """A bar with the best overhang so far, in a terminal."""
    if quiet or not remarks().is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("[bold]{task.description}"), BarColumn(), TextColumn("best {task.fields[best]:.5f}"))
    with Progress(*columns, console=remarks(), transient=True) as bar:
        task = bar.add_task(title, total=1.0, best=0.0)

        def tell(done: int, total: int, best: float) -> None:
            bar.update(task, completed=done / max(total, 1), best=best)

        yield tell
