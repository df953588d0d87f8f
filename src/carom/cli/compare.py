"""`carom compare SCENE --laws gr,lcp`: one scene under several laws, as a table and a figure."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from .console import WIDE, as_json, out, remarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ..scene.model import Scene
    from .run_compare import Numbers

LAWS = "gr,qce,lcp,gauss_seidel,jacobi"


def compare(
    source: str = typer.Argument(..., metavar="SCENE|FILE", help="As for `carom run`."),
    laws: str = typer.Option(LAWS, "--laws", metavar="NAMES", help="Laws, separated by commas."),
    parameter: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Of the scene; may be repeated."),
    duration: float | None = typer.Option(None, "--duration", metavar="TIME", help="How long, in time units."),
    step: float | None = typer.Option(None, "--step", metavar="TIME", help="Length of a time step."),
    stepper: str | None = typer.Option(None, "--stepper", metavar="NAME", help="synchronous, drift_safe ..."),
    frame_rate: float | None = typer.Option(None, "--frame-rate", metavar="RATE", help="Frames a time unit."),
    output: Path = typer.Option(Path("."), "-o", "--output", metavar="DIR", help="Where the files go."),
    keep: bool = typer.Option(False, "--keep", help="Keep the runs, as DIR/SCENE-LAW.h5."),
    threads: int | None = typer.Option(None, "--threads", metavar="N", help="At most so many."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Run a scene under several laws: a table side by side, and one figure as PNG, SVG and CSV."""
    from .run_source import load

    names = _law_names(laws)
    scene = load(source, parameter)
    if output.exists() and not output.is_dir():
        raise ProblemError("--output", str(output), "a folder, or a name for a new one")
    settings = {"duration": duration, "step": step, "stepper": stepper, "frame_rate": frame_rate, "threads": threads}
    numbers, paths = _run_all(scene, names, settings, output, keep, quiet)
    if json:
        print(as_json({"scene": scene.name, "laws": [n.as_dict() for n in numbers], "files": [str(p) for p in paths]}))
        return
    _show(scene, numbers)
    for path in paths:
        remarks().print(str(path), markup=False, soft_wrap=True)


def _law_names(text: str) -> list[str]:
    from ..laws import make

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        make(name)
    if not names:
        raise ProblemError("--laws", text, "names of laws, separated by commas")
    if len(set(names)) < len(names):
        raise ProblemError("--laws", text, "each law once")
    return names


def _run_all(
    scene: Scene, laws: Sequence[str], settings: dict[str, Any], output: Path, keep: bool, quiet: bool
) -> tuple[list[Numbers], list[Path]]:
    from .run import compile_notice_beside_bar
    from .run_compare import check_all, compared
    from .run_progress import telling
    from .run_source import file_stem

    stem = file_stem(scene.name)
    with compile_notice_beside_bar() as compiled, tempfile.TemporaryDirectory(prefix="carom-") as work:
        check_all(scene, laws, settings)
        folder, prefix = (output, f"{stem}-") if keep else (Path(work), "")
        if keep:
            _check_free([output / f"{stem}-{law}.h5" for law in laws])
        output.mkdir(parents=True, exist_ok=True)
        files = {law: folder / f"{prefix}{law}.h5" for law in laws}
        with compared(scene, files, settings, lambda law: telling(f"{scene.name}, {law}", quiet), compiled) as runs:
            from .run_compare_figure import draw

            paths = draw(runs, output, f"{stem}-compare")
            return [c.numbers for c in runs], [*paths, *(files.values() if keep else ())]


def _check_free(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise ProblemError("--keep", str(path), "names that are not taken; remove it or choose another --output")


def _show(scene: Scene, numbers: Sequence[Numbers]) -> None:
    console = out()
    console.print(f"[bold]{scene.name}[/], {scene.count:,} {'body' if scene.count == 1 else 'bodies'}")
    console.print(_table(numbers, console.width >= WIDE))
    lines = [
        "energy: largest drift / largest kinetic energy",
        "symmetry: largest error in smallest radii",
        "contacts, iters (iterations): mean of a step",
        "spread: rms distance from the centroid at the end; wall time without compiling",
    ]
    if any(n.unresolved for n in numbers):
        lines.append("*: with steps that finished inelastically, or were infeasible")
    for line in lines:
        console.print(f"[dim]{line}[/]")


def _table(numbers: Sequence[Numbers], wide: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("law", style="bold cyan", no_wrap=True)
    columns = {
        "energy": [_tiny(n.energy_drift) for n in numbers],
        "symmetry": [_tiny(n.symmetry_error) for n in numbers],
        "momentum": [_tiny(n.momentum_drift) for n in numbers],
        "angular": [_tiny(n.angular_momentum_drift) for n in numbers],
        "overlap": [_tiny(n.overlap) for n in numbers],
        "contacts": [f"{n.contacts:,.2f}" for n in numbers],
        "iters": [f"{n.iterations:,.2f}" for n in numbers],
        "wall, s": [f"{n.seconds:,.2f}" for n in numbers],
        "spread": [f"{n.spread:.4g}" for n in numbers],
    }
    shown = {title: cells for title, cells in columns.items() if any(cell != "–" for cell in cells)}
    if not wide:
        shown.pop("overlap")
        if "momentum" in shown:
            shown.pop("angular", None)
    for title in shown:
        table.add_column(title, justify="right", no_wrap=True)
    for k, n in enumerate(numbers):
        mark = "[yellow]*[/]" if n.unresolved else ""
        table.add_row(n.law + mark, *(cells[k] for cells in shown.values()))
    return table


def _tiny(value: float | None) -> str:
    if value is None:
        return "–"
    return "0" if value == 0.0 else f"{value:.0e}"
