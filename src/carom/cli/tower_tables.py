"""Verdicts about a tower as data and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..towers.drawing import carried
from ..towers.contacts import GROUND
from .console import number
from .tower_source import counted, headline

if TYPE_CHECKING:
    from ..towers import Tower
    from ..towers.stability import Stability

MOVES = 1e-9  # of the fastest corner


def verdict_facts(tower: Tower, verdict: Stability) -> dict[str, Any]:
    """The verdict and its proof, as plain data."""
    found = tower.contacts
    facts: dict[str, Any] = {
        "stable": verdict.stable,
        "proven": verdict.proven,
        "exact": verdict.exact,
        "certificate": verdict.certificate,
        "residual": verdict.residual,
        "messages": list(verdict.messages),
    }
    if verdict.forces is not None:
        facts["forces"] = [
            {"on": int(on), "under": int(under), "point": point.tolist(), "normal": normal.tolist(), "force": float(f)}
            for on, under, point, normal, f in zip(found.on, found.under, found.point, found.normal, verdict.forces)
        ]
        facts["pin_forces"] = [] if verdict.pin_forces is None else verdict.pin_forces.tolist()
    if verdict.motion is not None:
        facts |= {"power": verdict.power, "motion": verdict.motion.tolist()}
    return facts


def margin_facts(tower: Tower) -> dict[str, Any]:
    """The weakest spot, and how far the brick that reaches furthest may still be moved out."""
    found = {"weakest": tower.margin()}
    held = {brick for pin in tower.pins for brick in (pin.first, pin.second)}
    loose = [i for i in np.flatnonzero(tower.free).tolist() if i not in held]
    if loose:
        found["shift"] = tower.margin(shift=max(loose, key=lambda i: _reach(tower, i)))
    names = ("kind", "value", "limit", "bricks", "point", "direction", "hit", "messages")
    return {
        key: {**{name: getattr(one, name) for name in names}, "summary": one.summary()} for key, one in found.items()
    }


def _reach(tower: Tower, i: int) -> tuple[float, float]:
    """How far to the right a brick reaches, and how high it lies: of equal ones the highest counts."""
    x, y = tower.corners[i].T
    return round(float(x.max()) / tower.size, 6), float(y.max())


def show_check(console: Console, tower: Tower, verdict: Stability, facts: dict[str, Any], limit: int) -> None:
    """What `carom tower check` prints; lists longer than `limit` are cut with a note."""
    console.print(headline(facts))
    word = "[bold green]stable[/]" if verdict.stable else "[bold red]unstable[/]"
    how = "verified in fractions" if verdict.exact else f"certificate {verdict.certificate:.1e}"
    reach = f"; overhang {number(facts['overhang'])}" if facts["overhang"] > 0.0 else ""
    console.print(f"{word}, {how}{reach}")
    for message in verdict.messages:
        console.print(f"[yellow]note:[/] {escape(message)}")
    if verdict.forces is not None:
        _forces(console, tower, verdict, limit)
    else:
        _motion(console, tower, verdict, limit)
    for one in (facts.get("margin") or {}).values():
        console.print(f"[bold]margin[/]: {escape('; '.join(one['summary'].splitlines()))}", soft_wrap=True)


def _forces(console: Console, tower: Tower, verdict: Stability, limit: int) -> None:
    found, forces = tower.contacts, np.asarray(verdict.forces)
    carrying = np.flatnonzero(forces > 0.0)
    order = carrying[np.argsort(-forces[carrying], kind="stable")]
    _, upper, lower = carried(tower)
    console.print(f"\n[bold]forces[/]: {len(order)} of {len(forces)} contacts carry, the largest first")
    table = _table("brick", "stands on", "at x", "at y", "force")
    for k in order[:limit]:
        pair = (_brick(tower, int(upper[k])), _brick(tower, int(lower[k])))
        table.add_row(*pair, *(number(float(v)) for v in (*found.point[k], forces[k])))
    _print(console, table, len(order), limit, "contact")
    if verdict.pin_forces is not None and len(verdict.pin_forces):
        console.print("[bold]pins[/]: force on the first brick of each")
        pins = _table("pin", "bricks", "x", "y")
        for k, (pin, (x, y)) in enumerate(zip(tower.pins, verdict.pin_forces)):
            held = f"{_brick(tower, pin.first)}, {_brick(tower, pin.second)}"
            pins.add_row(str(k), held, number(float(x)), number(float(y)))
        console.print(pins)


def _motion(console: Console, tower: Tower, verdict: Stability, limit: int) -> None:
    motion = np.asarray(verdict.motion)
    size = np.abs(motion).max(axis=1)
    order = np.flatnonzero(size > MOVES)
    order = order[np.argsort(-size[order], kind="stable")]
    text = f"{len(order)} of {tower.count} bricks move, no contact closes, gravity does work {number(verdict.power)}"
    console.print(f"\n[bold]proof[/]: {text}\nwhen the fastest corner moves by 1")
    table = _table("brick", "x", "y", "turn")
    for i in order[:limit]:
        table.add_row(_brick(tower, int(i)), *(number(float(v)) for v in motion[i]))
    _print(console, table, len(order), limit, "brick")


def _brick(tower: Tower, i: int) -> str:
    if i == GROUND:
        return "ground"
    name = tower.bricks[i].name
    return f"{i} {escape(name)}" if name else str(i)


def _print(console: Console, table: Table, total: int, limit: int, what: str) -> None:
    console.print(table)
    if total > limit:
        console.print(
            f"  ... and {counted(total - limit, f'more {what}')}: --rows {total} prints all, --json has all digits\n"
        )


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right")
    return table
