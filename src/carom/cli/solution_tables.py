"""One solution as tables: bodies, contacts, audit."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ..impact.solution import ImpactSolution
from ..solvers.rows import Floats, Ints
from .console import WIDE, number, verdict


def show(console: Console, solution: ImpactSolution, limit: int) -> None:
    """Everything that `carom resolve` prints; lists longer than `limit` are cut with a note."""
    p = solution.problem
    n, d = p.block
    status = solution.status if solution.status == "resolved" else f"[yellow]{solution.status}[/]"
    console.print(
        f"[bold]{p.name}[/]: {_count(n, 'body', 'bodies')} of {_count(d, 'component')}, "
        f"{_count(p.contact_count, 'contact')}"
    )
    console.print(
        f"law [bold cyan]{solution.law}[/], {status} after {_count(solution.iterations, 'iteration')}, "
        f"residual {solution.residual:.1e}"
    )
    for message in solution.messages:
        console.print(f"[yellow]note:[/] {message}")
    _print(console, _bodies(solution, limit, console.width >= WIDE), n, limit, "bodies")
    _print(console, _contacts(solution, limit), p.contact_count, limit, "contacts")
    console.print(_audit(solution))


def _print(console: Console, table: Table, total: int, limit: int, what: str) -> None:
    console.print(table)
    if total > limit:
        console.print(f"  ... and {total - limit} more {what}: --rows {total} prints all, --json has all digits\n")


def _bodies(solution: ImpactSolution, limit: int, wide: bool) -> Table:
    p = solution.problem
    before, after = p.block_velocity[:limit], solution.velocity.reshape(p.block)[:limit]
    d = p.block[1]
    table = _table("velocity")
    table.add_column("body", justify="right")
    if d == 1 or (wide and d <= 3):
        names = [""] if d == 1 else [f" {k}" for k in ("xyz"[:d] if d == 2 else "123"[:d])]
        for when in ("before", "after"):
            for name in names:
                table.add_column(when + name, justify="right")
        for b in range(len(before)):
            table.add_row(str(b), *map(number, before[b]), *map(number, after[b]))
        return table
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for b in range(len(before)):
        table.add_row(str(b), _vector(before[b]), _vector(after[b]))
    return table


def _contacts(solution: ImpactSolution, limit: int) -> Table:
    p = solution.problem
    before, after = p.separation_speed(), solution.separation_speed
    table = _table("contacts")
    table.add_column("contact", justify="right")
    table.add_column("bodies", justify="center")
    for title in ("speed before", "speed after", "impulse"):
        table.add_column(title, justify="right")
    slide = solution.friction_impulse
    if slide is not None:
        table.add_column("friction impulse", justify="right")
    for k in range(min(limit, p.contact_count)):
        touched = p.rows.body[p.rows.ptr[k] : p.rows.ptr[k + 1]]
        row = [str(k), _names(touched), number(before[k]), number(after[k]), number(solution.impulse[k])]
        table.add_row(*row, *([] if slide is None else [_vector(slide[k])]))
    return table


def _audit(solution: ImpactSolution) -> Table:
    table = _table("audit")
    table.add_column("measured")
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("bound")
    table.add_column("")
    for m in solution.audit().measures:
        value = number(m.value, 6) if m.unit == "J" else f"{m.value:.2e}"
        table.add_row(m.name, value, m.unit, m.bound, verdict(m.passed) if m.bound else "")
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def _vector(values: Floats) -> str:
    return "(" + ", ".join(number(float(v)) for v in np.ravel(values)) + ")"


def _names(touched: Ints) -> str:
    listed = [str(int(b)) for b in touched]
    if len(listed) <= 2:
        return " - ".join([*listed, "world"][:2])
    return ", ".join(listed[:4]) + (" ..." if listed[4:] else "")


def _count(k: int, one: str, many: str | None = None) -> str:
    return f"{k} {one if k == 1 else many or one + 's'}"
