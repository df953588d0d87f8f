"""`carom laws` lists every registered law with its paper, claims and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from .arguments import JSON, complete_law, law_named
from .console import as_json, out
from .tables import plain_table, setting, show_pairs, tick

if TYPE_CHECKING:
    from rich.table import Table

    from ..laws import Law

ONE_TABLE = 112  # columns from which claims and options are in one table


def laws(
    name: str | None = typer.Argument(
        None, metavar="NAME", help="A law to describe, or FILE.py:CLASS.", autocompletion=complete_law
    ),
    json: bool = JSON,
) -> None:
    """List the impact laws, or describe one: paper, claims, restitution models, options and cost."""
    from rich.padding import Padding

    from ..laws import DESIDERATA, every

    if name is not None:
        law = law_named(name)
        if json:
            print(as_json({law.name: _plain(law)}))
        else:
            _describe(law)
        return
    known = list(every())
    if json:
        print(as_json({name: _plain(law) for name, law in known}))
        return
    console = out()
    wide = console.width >= ONE_TABLE
    console.print(_claims(known, list(DESIDERATA), with_options=wide))
    if not wide:
        console.print(_options(known))
    for key, meaning in DESIDERATA.items():
        console.print(Padding(f"[bold]{key}[/] {meaning}", (0, 0, 0, 1)))
    console.print(
        "\nThe default law is [bold]gr[/]. A tick is a claim of the law; [bold]carom audit[/] measures "
        "it. The first restitution model is the default. Options are given by "
        "[bold]carom resolve FILE --law NAME --option key=value[/]"
    )


def _describe(law: Law) -> None:
    """One law in full."""
    from rich.markup import escape

    from ..laws import DESIDERATA

    friction = "of its own" if law.own_friction else "by a friction model"
    rows = [
        ("law", f"[bold cyan]{law.name}[/]: {escape(law.title)}"),
        *((("claims" if k == 0 else ""), f"{key}  [dim]{DESIDERATA[key]}[/]") for k, key in enumerate(_claimed(law))),
        *((("not" if k == 0 else ""), f"{key}  [dim]{DESIDERATA[key]}[/]") for k, key in enumerate(_unclaimed(law))),
        ("restitution", ", ".join(law.restitution_models) + "  [dim]the first is the default[/]"),
        ("friction", friction),
        ("options", escape(", ".join(option_text(law))) or "none"),
        ("cost", escape(law.cost) or "not stated"),
        ("paper", escape(law.paper.text)),
    ]
    show_pairs(out(), rows)


def _claimed(law: Law) -> list[str]:
    from ..laws import DESIDERATA

    return [key for key in DESIDERATA if key in law.claims]


def _unclaimed(law: Law) -> list[str]:
    from ..laws import DESIDERATA

    return [key for key in DESIDERATA if key not in law.claims]


def option_text(law: Law) -> list[str]:
    """`key=default` of every option."""
    return [f"{key}={setting(value)}" for key, value in law.options().items()]


def _claims(known: list[tuple[str, Law]], desiderata: list[str], with_options: bool) -> Table:
    table = plain_table()
    table.add_column("law", style="bold cyan", no_wrap=True)
    table.add_column("paper", no_wrap=True)
    for key in desiderata:
        table.add_column(key, justify="center", no_wrap=True)
    if with_options:
        table.add_column("restitution")
        table.add_column("options", style="dim", min_width=22)
    for name, law in known:
        row = [name, law.paper.key, *(tick(key in law.claims) for key in desiderata)]
        if with_options:
            row += [", ".join(law.restitution_models), ", ".join(option_text(law)) or "none"]
        table.add_row(*row)
    return table


def _options(known: list[tuple[str, Law]]) -> Table:
    table = plain_table()
    table.add_column("law", style="bold cyan", no_wrap=True)
    table.add_column("restitution", max_width=24)
    table.add_column("options", style="dim")
    for name, law in known:
        table.add_row(name, ", ".join(law.restitution_models), ", ".join(option_text(law)) or "none")
    return table


def _plain(law: Law) -> dict[str, Any]:
    return {
        "title": law.title,
        "paper": law.paper.text,
        "bibtex": law.paper.citation(),
        "cost": law.cost,
        "claims": sorted(law.claims),
        "restitution_models": list(law.restitution_models),
        "own_friction": law.own_friction,
        "options": {key: value if _is_plain(value) else str(value) for key, value in law.options().items()},
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
