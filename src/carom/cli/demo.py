"""`carom demo` shows Newton's cradle under every law and a pool break under three, as tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import number, out, remarks, tick
from .tables import plain_table

SIDE_BY_SIDE = 116  # columns from which both cradles fit side by side

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..laws import Law
    from ..problem.solution import ImpactSolution

BALLS = 5
BREAK_LAWS = ("gr", "qce", "gauss_seidel")
ARRIVING = (1, 2)

# Largest deviation from the exchange (as many balls leave as arrive, the others rest), relative to the arriving speed,
# that counts as the observed outcome. Balls with Hertz contact, which are close to real ones, deviate by 0.21 with two
# arriving.
NEAR = 0.25


@dataclass(frozen=True, eq=False)
class Outcome:
    """The solution of one law for one cradle."""

    arriving: int
    solution: ImpactSolution

    @property
    def velocities(self) -> list[float]:
        return [float(v) for v in self.solution.velocity]

    @property
    def energy_kept(self) -> float:
        """Kinetic energy after the impact relative to that before."""
        return self.solution.kinetic_energy / self.solution.problem.kinetic_energy

    @property
    def deviation(self) -> float:
        """Largest difference from the exchange, in units of the arriving speed."""
        ideal = exchange(self.arriving)
        return max(abs(v - w) for v, w in zip(self.velocities, ideal))

    @property
    def as_observed(self) -> bool:
        return self.deviation <= NEAR


@dataclass(frozen=True, eq=False)
class Row:
    """The solutions of one law for all cradles."""

    name: str
    law: Law
    outcomes: tuple[Outcome, ...]


def demo(
    output: Path = typer.Option(Path("out"), "-o", "--output", metavar="DIR", help="Folder of the figures."),
) -> None:
    """Show Newton's cradle under every law and a pool break under three: print tables, write figures to DIR."""
    from ..kernels import prepare
    from .compiling import compile_notice

    output.mkdir(parents=True, exist_ok=True)
    with compile_notice():
        prepare(["demo"], instead_of=["laws", "2d"])
        rows = cradle_rows()
    show(out(), rows)
    from .demo_figure import draw

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


def arriving_speeds(count: int) -> list[float]:
    """Velocities before the impact: the first `count` balls arrive at speed 1, the others rest."""
    return [1.0] * count + [0.0] * (BALLS - count)


def exchange(count: int) -> list[float]:
    """The observed velocities after the impact: as many balls leave on the other side."""
    return arriving_speeds(count)[::-1]


def cradle_rows() -> list[Row]:
    """Solves every cradle under every registered law."""
    from ..laws import every
    from ..problem.problem import ImpactProblem
    from ..resolve.impulses import solve_impact

    problems = {k: ImpactProblem.chain([1.0] * BALLS, arriving_speeds(k), name=f"{k} in") for k in ARRIVING}
    return [
        Row(name, law, tuple(Outcome(k, solve_impact(p, law)) for k, p in problems.items())) for name, law in every()
    ]


def show(console: Console, rows: list[Row]) -> None:
    """Prints one table, or one per cradle if the terminal is narrow."""
    console.print(f"[bold]Newton's cradle[/]: {BALLS} equal balls that touch, velocities after impact\n")
    groups = [tuple(range(len(ARRIVING)))] if console.width >= SIDE_BY_SIDE else [(k,) for k in range(len(ARRIVING))]
    for group in groups:
        console.print(_table(rows, group))
    right = [row.name for row in rows if all(o.as_observed for o in row.outcomes)]
    console.print("✓  as many balls leave as arrive, within a quarter of the speed")
    console.print(f"   for one and for two: [bold cyan]{', '.join(right) or 'no law'}[/]")
    console.print("   energy: kinetic energy after the impact in percent of that before\n")


def _table(rows: list[Row], group: tuple[int, ...]) -> Table:
    table = plain_table()
    table.add_column("law", style="bold cyan", no_wrap=True)
    for k in group:
        table.add_column(f"{ARRIVING[k]} in: v1", justify="right", no_wrap=True)
        for ball in range(1, BALLS):
            table.add_column(f"v{ball + 1}", justify="right", no_wrap=True)
        table.add_column("energy", justify="right", no_wrap=True)
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
