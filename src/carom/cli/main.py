"""The `carom` command."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

import typer

from .. import __version__
from .audit import audit
from .check import check
from .cite import cite
from .compare import compare
from .demo import demo
from .doctor import doctor
from .errors import run as run_app
from .events import events
from .export import export
from .fit import fit
from .info import info
from .laws import laws
from .new import new
from .outcomes import outcomes
from .play import play
from .plot import plot
from .render import render
from .reproduce import reproduce
from .resolve import resolve
from .run import run
from .scenes import scenes
from .sweep import sweep
from .tower import tower
from .validate import validate
from .view import view
from .warmup import warmup

app = typer.Typer(
    name="carom",
    help="Simultaneous impact of rigid bodies: one problem, every impact law, certified solutions.",
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
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# The last line of the help of each command; a test runs their arguments through the parser.
EXAMPLES = {
    "scenes": "carom scenes pool_break",
    "run": "carom run newtons_cradle --law qce -o cradle.h5",
    "info": "carom info cradle.h5",
    "check": "carom check cradle.h5 --energy 1e-10",
    "events": 'carom events cradle.h5 --where "impulse > 0.1"',
    "plot": "carom plot cradle.h5 --what energy",
    "view": "carom view cradle.h5",
    "render": "carom render cradle.h5 -o cradle.mp4",
    "export": "carom export cradle.h5 -o cradle.html --every 2",
    "compare": "carom compare pool_break --laws gr,lcp",
    "fit": "carom fit mine.toml data.csv --vary materials.default.restitution",
    "new": "carom new mine.toml",
    "validate": "carom validate mine.toml",
    "laws": "carom laws qce",
    "resolve": "carom resolve cradle.json --law gr",
    "audit": "carom audit --laws gr,qce",
    "outcomes": "carom outcomes cradle.json -o outcomes.svg",
    "cite": "carom cite qce",
    "play": "carom play",
    "reproduce": "carom reproduce list",
    "demo": "carom demo",
    "doctor": "carom doctor",
    "warmup": "carom warmup",
}
_IMPACT, _WORLDS, _TOWERS, _MORE = "One impact", "Whole runs", "Towers", "More"
for panel, commands in (
    (_WORLDS, (scenes, run, info, check, events, plot, view, render, export, compare, fit, new, validate)),
    (_IMPACT, (laws, resolve, outcomes, audit, cite)),
    (_MORE, (play, reproduce, demo, doctor, warmup)),
):
    for command in commands:
        example = EXAMPLES.get(command.__name__)
        # The list of commands keeps the line breaks of a docstring, which then stand beside those of the terminal.
        first = " ".join((command.__doc__ or "").split("\n\n")[0].split())
        epilog = None if example is None else f"Example: {example}"
        app.command(rich_help_panel=panel, epilog=epilog, short_help=first)(command)
app.add_typer(sweep, rich_help_panel=_WORLDS)
app.add_typer(tower, rich_help_panel=_TOWERS)


# Modules and compiled kernels of a run are 300,000 objects that stay: to look for unused ones among them, every 700
# objects as Python does by itself, takes a tenth of the time of a short command.
OBJECTS_BEFORE_COLLECTION = 1_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the installed script."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    # gc.freeze before the end would save the last search for unused objects. But files in memory that are part of a
    # cycle would stay open, and HDF5 would close them when there is no Python any more: a segmentation fault.
    sys.exit(run_app(app, arguments))
