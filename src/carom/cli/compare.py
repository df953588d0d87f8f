"""`carom compare SCENE --laws gr,lcp`: one scene under several laws, as a table and a figure."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from ..shown import counted
from .arguments import (
    ALL,
    SET,
    Formats,
    check_folder,
    complete_scene,
    formats_of,
    law_names,
    number_option,
    settings_options,
    told,
)
from .console import WIDE, as_json, out, remarks
from .tables import add_numbers, plain_table, small_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ..analysis.comparison import Numbers
    from ..scene.model import Scene

LAWS = "gr,qce,lcp,gauss_seidel,jacobi"


@settings_options(("threads",), after="keep")
@settings_options(("duration", "step", "stepper", "tolerance", "active_set", "frame_rate"), after="parameter")
def compare(
    source: str = typer.Argument(..., metavar="SCENE|FILE", help="As for `carom run`.", autocompletion=complete_scene),
    laws: str = typer.Option(LAWS, "--laws", metavar="NAMES", help="Laws, separated by commas."),
    parameter: list[str] = SET,
    at: float | None = number_option("--at", "TIME", "Time of the pictures; default: that of the scene's view."),
    output: Path = typer.Option(Path("."), "-o", "--output", metavar="DIR", help="Folder for the files."),
    keep: bool = typer.Option(False, "--keep", help="Keep the runs as DIR/SCENE-LAW.h5."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    formats: Formats = ALL,
    **settings: Any,
) -> None:
    """Run a scene under several laws: a table of results, and one figure with its numbers as CSV."""
    from .source import load

    names = law_names(laws)
    scene = load(source, parameter)
    check_folder(output)
    endings = formats_of(formats)
    settings = told(settings)
    from ..draw.style import written_as

    with written_as(endings):
        numbers, rule, paths = run_all(scene, names, settings, output, keep, quiet, at)
    if json:
        print(as_json({"scene": scene.name, "laws": [n.as_dict() for n in numbers], "files": [str(p) for p in paths]}))
        return
    show(scene, numbers, rule)
    for path in paths:
        remarks().print(str(path), markup=False, soft_wrap=True)


def _instant(scene: Scene, duration: float | None, asked: float | None) -> float:
    """The time of the pictures: as asked, else that of the scene's view if the runs reach it, else their end."""
    from ..scenes.views import view_of

    stop = scene.duration if duration is None else duration
    if asked is not None and not 0.0 <= asked <= stop:
        raise ProblemError("--at", asked, f"a time from 0 to {stop:g}, the duration of the runs")
    chosen = view_of(scene).at if asked is None else asked
    return stop if chosen is None else min(chosen, stop)


def run_all(
    scene: Scene,
    laws: Sequence[str],
    settings: dict[str, Any],
    output: Path,
    keep: bool,
    quiet: bool,
    at: float | None = None,
) -> tuple[list[Numbers], tuple[str, str], list[Path]]:
    from ..analysis.checks import energy_rule
    from ..analysis.comparison import compare as compared
    from .progress import compile_notice_beside_bar, interrupts_as_such, telling
    from .source import file_stem

    stem, instant = file_stem(scene.name), _instant(scene, settings.get("duration"), at)
    with ExitStack() as stack:
        stack.enter_context(interrupts_as_such())
        stack.enter_context(compile_notice_beside_bar())
        work = stack.enter_context(tempfile.TemporaryDirectory(prefix="carom-"))
        folder, prefix = (output, f"{stem}-") if keep else (Path(work), "")
        files = {law: folder / f"{prefix}{law}.h5" for law in laws}
        _check_free(list(files.values()))

        def progress(law: str) -> Any:  # called before the run of a law, after every law has accepted the scene
            output.mkdir(parents=True, exist_ok=True)
            return telling(f"{scene.name}, {law}", quiet)

        runs = compared(scene, laws, files, progress=progress, **settings)
        for one in runs:
            stack.enter_context(one.run)
        from ..draw.comparison_figure import draw
        from ..draw.figures import Angle

        paths = draw(runs, output, f"{stem}-compare", instant, Angle.of(scene))
        return [c.numbers for c in runs], energy_rule(runs[0].run), [*paths, *(files.values() if keep else ())]


def _check_free(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise ProblemError("--keep", str(path), "names that are not taken; remove it or choose another --output")


def show(scene: Scene, numbers: Sequence[Numbers], rule: tuple[str, str]) -> None:
    from rich.markup import escape

    console = out()
    console.print(f"[bold]{escape(scene.name)}[/], {counted(scene.count, 'body', 'bodies')}")
    console.print(_table(numbers, console.width >= WIDE))
    must = {"kept": "must be conserved", "never rises": "must not rise", "free": "need not be conserved"}[rule[0]]
    lines = [f"energy: largest change / largest kinetic energy; {must}: {rule[1]}"]
    if numbers[0].symmetry_error is not None:
        lines.append("symmetry: largest error relative to the length scale")
    lines.append("contacts, iters (iterations): mean per step; wall: without compilation")
    lines.append("spread: rms distance from the centroid at the end")
    if any(n.unresolved for n in numbers):
        lines.append("*: some steps were finished inelastically or were infeasible")
    lines += [f"{n.law}: {counted(n.missed, 'step')} missed the tolerance of the run" for n in numbers if n.missed]
    for line in lines:
        console.print(f"[dim]{line}[/]")


def _table(numbers: Sequence[Numbers], wide: bool) -> Table:
    table = plain_table()
    table.add_column("law", style="bold cyan", no_wrap=True)
    columns = {
        "energy": [small_text(n.energy_change_most, 0) for n in numbers],
        "symmetry": [small_text(n.symmetry_error, 0) for n in numbers],
        "momentum": [small_text(n.momentum_drift, 0) for n in numbers],
        "angular": [small_text(n.angular_momentum_drift, 0) for n in numbers],
        "overlap": [small_text(n.overlap, 0) for n in numbers],
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
    add_numbers(table, *shown)
    for k, n in enumerate(numbers):
        mark = "[yellow]*[/]" if n.unresolved else ""
        table.add_row(n.law + mark, *(cells[k] for cells in shown.values()))
    return table
