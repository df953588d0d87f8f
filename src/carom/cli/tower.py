"""`carom tower ...`: bricks without friction. One file a command."""

from __future__ import annotations

import typer

from .tower_check import check
from .tower_collapse import collapse
from .tower_draw import draw
from .tower_list import list_
from .tower_new import new
from .tower_overhang import overhang

tower = typer.Typer(
    name="tower",
    help="Towers of bricks without friction: do they stand, how do they begin to fall, how do they come down.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@tower.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name, command in (
    ("list", list_),
    ("check", check),
    ("draw", draw),
    ("collapse", collapse),
    ("overhang", overhang),
    ("new", new),
):
    tower.command(name)(command)
