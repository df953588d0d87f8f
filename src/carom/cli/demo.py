"""`carom demo` shows Newton's cradle under every law and a pool break under three, as tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import out, remarks
from .tables import add_numbers, number, plain_table, tick

SIDE_BY_SIDE = 116  # columns from which both cradles fit side by side

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..analysis.cradles import Row

BREAK_LAWS = ("gr", "qce", "gauss_seidel")


def demo(
    output: Path = typer.Option(Path("out"), "-o", "--output", metavar="DIR", help="Folder of the figures."),
) -> None:
    """Show Newton's cradle under every law and a pool break under three: print tables, write figures to DIR."""
    from ..analysis.cradles import cradles
    from ..kernels import prepare
    from .compiling import compile_notice

    output.mkdir(parents=True, exist_ok=True)
    with compile_notice():
        prepare(["demo"], instead_of=["laws", "2d"])
        rows = cradles()
    show(out(), rows)
    from ..draw.cradle_figure import draw

    path = draw(rows, output / "newtons_cradle.png")
    remarks().print(f"picture: {path}\n")
    break_a_rack(output)


def break_a_rack(output: Path) -> None:
    """A break of 56 balls for 10 units of time: laws without an order of contacts keep its symmetry."""
    from ..scenes import pool_break
    from .compare import run_all
    from .compare import show as show_runs

    scene = pool_break(rows=10)
    numbers, rule, paths = run_all(scene, BREAK_LAWS, {}, output, keep=False, quiet=False)
    show_runs(scene, numbers, rule)
    remarks().print(f"picture: {paths[0]}")


def show(console: Console, rows: list[Row]) -> None:
    """Prints one table, or one per cradle if the terminal is narrow."""
    from ..analysis.cradles import ARRIVING, BALLS

    console.print(f"[bold]Newton's cradle[/]: {BALLS} equal balls that touch, velocities after impact\n")
    groups = [tuple(range(len(ARRIVING)))] if console.width >= SIDE_BY_SIDE else [(k,) for k in range(len(ARRIVING))]
    for group in groups:
        console.print(_table(rows, group))
    right = [row.name for row in rows if all(o.as_observed for o in row.outcomes)]
    console.print("✓  as many balls leave as arrive, within a quarter of the speed")
    console.print(f"   for one and for two: [bold cyan]{', '.join(right) or 'no law'}[/]")
    console.print("   energy: kinetic energy after the impact in percent of that before\n")


def _table(rows: list[Row], group: tuple[int, ...]) -> Table:
    from ..analysis.cradles import ARRIVING, BALLS

    table = plain_table()
    table.add_column("law", style="bold cyan", no_wrap=True)
    for k in group:
        table.add_column(f"{ARRIVING[k]} in: v1", justify="right", no_wrap=True)
        add_numbers(table, *(f"v{ball + 1}" for ball in range(1, BALLS)), "energy")
        table.add_column("", no_wrap=True)
    for row in rows:
        cells = []
        for k in group:
            o = row.outcomes[k]
            cells += [_speed(v) for v in o.velocities]
            cells += [f"{100 * o.energy_kept:.1f}", tick(o.as_observed)]
        table.add_row(row.name, *cells)
    return table


def _speed(v: float) -> str:
    text = number(0.0 if abs(v) < 5e-4 else v, 3)
    return f"[dim]{text}[/]" if abs(v) < 5e-4 else text
