"""The `carom` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from .. import __version__
from .audit import audit
from .demo import demo
from .doctor import doctor
from .errors import run
from .laws import laws
from .resolve import resolve
from .study import study

app = typer.Typer(
    name="carom",
    help="Simultaneous impact of rigid bodies: one problem, every impact law, certified solutions.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"carom {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command()(laws)
app.command()(resolve)
app.command()(audit)
app.command()(study)
app.command()(doctor)
app.command()(demo)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the installed script."""
    sys.exit(run(app, arguments))
