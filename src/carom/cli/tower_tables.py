"""Tables and data that the commands on towers print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..shown import counted
from ..towers.contacts import GROUND
from ..towers.drawing import carried
from .tables import number, plain_table, print_cut, ruled_table, show_pairs, size_text, took_text

if TYPE_CHECKING:
    from ..towers import Tower
    from ..towers.overhang import Overhang
    from ..towers.stability import Stability

MOVES = 1e-9  # relative to the fastest corner: smaller motions are omitted


def facts_of(tower: Tower) -> dict[str, Any]:
    """What every command reports about its tower."""
    return {
        "tower": tower.name,
        "bricks": tower.count,
        "fixed": int((~tower.free).sum()),
        "contacts": len(tower.contacts.on),
        "pins": len(tower.pins),
        "mass_model": tower.mass_model,
        "gravity": tower.gravity,
        "overhang": tower.overhang(),
    }


def headline(facts: dict[str, Any]) -> str:
    """One line about the tower, as rich markup."""
    parts = [counted(facts["bricks"], "brick") + (f" ({facts['fixed']} fixed)" if facts["fixed"] else "")]
    parts.append(counted(facts["contacts"], "contact"))
    if facts["pins"]:
        parts.append(counted(facts["pins"], "pin"))
    return f"[bold cyan]{escape(facts['tower'])}[/]: {', '.join(parts)}, mass model {facts['mass_model']}"


def show_list(console: Console, lines: dict[str, str]) -> None:
    """The table of named towers, as names with descriptions."""
    table = plain_table()
    table.add_column("tower", style="bold cyan", no_wrap=True)
    table.add_column("description")
    for name, line in lines.items():
        table.add_row(name, line)
    console.print(table)
    console.print("[bold]carom tower check wall-5x5[/] checks one, [bold]carom tower new FILE.toml[/] starts another")


# ---- check


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
    """The weakest spot, and how far the brick with the largest overhang can be shifted out."""
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
    """Right end and height of a brick: of bricks with equal right ends the highest one is chosen."""
    x, y = tower.corners[i].T
    return round(float(x.max()) / tower.size, 6), float(y.max())


def show_check(console: Console, tower: Tower, verdict: Stability, facts: dict[str, Any], limit: int) -> None:
    """The output of `carom tower check`; lists longer than `limit` are truncated with a note."""
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
    table = ruled_table("", "brick", "rests on", "at x", "at y", "force")
    for k in order[:limit]:
        pair = (_brick(tower, int(upper[k])), _brick(tower, int(lower[k])))
        table.add_row(*pair, *(number(float(v)) for v in (*found.point[k], forces[k])))
    print_cut(console, table, len(order), limit, "contact")
    if verdict.pin_forces is not None and len(verdict.pin_forces):
        console.print("[bold]pins[/]: force on the first brick of each")
        pins = ruled_table("", "pin", "bricks", "x", "y")
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
    table = ruled_table("", "brick", "x", "y", "turn")
    for i in order[:limit]:
        table.add_row(_brick(tower, int(i)), *(number(float(v)) for v in motion[i]))
    print_cut(console, table, len(order), limit, "brick")


def _brick(tower: Tower, i: int) -> str:
    if i == GROUND:
        return "ground"
    name = tower.bricks[i].name
    return f"{i} {escape(name)}" if name else str(i)


# ---- collapse


def show_collapse(console: Console, facts: dict[str, Any]) -> None:
    """The output of `carom tower collapse`."""
    console.print(headline(facts["tower"]))
    show_pairs(console, _collapse_rows(facts))


def _collapse_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    s, o = facts["settings"], facts["settings"]["law_options"]
    near, push, solved = facts["contacts"], facts["resting"], facts["iterations"]
    method = s["stepper"].removeprefix("tower_")
    size = f"{size_text(facts['bytes'])}, {facts['frames']:,} frames"
    return [
        ("method", f"{method}, lengths {o['lengths']}, coordinates {o['coordinates']}"),
        ("time", f"{facts['time']:g} in {facts['step']:,} steps of {s['step']:g}"),
        ("took", took_text(facts)),
        ("contacts", f"{near['mean']:,.1f} near per step, at most {near['max']:,}; {push['mean']:,.1f} push"),
        ("programs", f"{solved['mean']:,.2f} per step; worst residual {facts['residual']['max']:.1e}"),
        ("energy", f"{-facts['energy_change']:.2g} lost  [dim]of the largest kinetic energy: impacts are inelastic[/]"),
        ("overlap", f"{facts['overlap_in_features']:.1e}  [dim]of the smallest half width[/]"),
        ("file", f"{escape(facts['file'])}  [dim]{size}[/]"),
        ("state hash", f"[dim]{facts['state_hash']}[/]"),
    ]


# ---- overhang


def overhang_facts(found: Overhang, n: int, seconds: float) -> dict[str, Any]:
    """The result of the search as plain data; lengths are in brick lengths."""
    return {
        **facts_of(found.tower),
        "n": n,
        "overhang": float(found.overhang),
        "exact_overhang": str(found.overhang),
        "harmonic": sum(0.5 / k for k in range(1, n + 1)),
        "proof": "exact" if found.proof.exact else "certificate",
        "certificate": found.proof.certificate,
        "evaluations": found.evaluations,
        "seconds": seconds,
    }


def show_overhang(console: Console, found: Overhang, facts: dict[str, Any]) -> None:
    """The output of `carom tower overhang`."""
    console.print(headline(facts))
    how = "verified in fractions" if facts["proof"] == "exact" else f"certificate {facts['certificate']:.1e}"
    console.print(f"overhang [bold]{facts['overhang']:.6f}[/] brick lengths, [bold green]stable[/], {how}")
    console.print(f"[dim]the harmonic stack has an overhang of {facts['harmonic']:.6f}[/]")
    console.print(f"[dim]{facts['evaluations']:,} stacks examined in {facts['seconds']:.1f} s[/]")
    table = ruled_table("", "brick", "left end", "right end", "bottom")
    for i, brick in enumerate(found.tower.bricks):
        if not brick.fixed:
            x, y = brick.corners.T
            table.add_row(str(i), f"{x.min():.6f}", f"{x.max():.6f}", f"{y.min():.4f}")
    console.print(table)
