"""`carom tower ...`: the commands on towers of bricks without friction."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from ..files import write_text
from ..settings import CollapseSettings, settings_of
from .arguments import number_option, settings_options, whole_number
from .console import as_json, out, remarks
from .errors import INTERRUPTED

if TYPE_CHECKING:
    from ..towers import Tower
    from ..trajectory import Trajectory

STEPS, STEP = 1000, 0.01  # defaults of `carom tower collapse`
COLLAPSE_OPTIONS = ("lengths", "coordinates", "bracing", "penalty", "edges", "passes")
STARTER = """\
# A tower of bricks without friction. (x, y) is a brick's center, the ground is y = 0.
# Numbers are read as doubles; text such as "1/6" is exact.
[tower]
name = "{name}"
mass_model = "uniform"  # or "corners": the corners carry all mass
gravity = 9.81

[[brick]]
name = "table"
x = -2
y = 0.5
width = 4
height = 1
fixed = true  # it does not move

[[brick]]
x = "-1/4"
y = 1.125
width = 1
height = 0.25

[[brick]]
x = "1/4"
y = 1.375
width = 1
height = 0.25
angle = 0  # radians, counterclockwise

[[brick]]  # any convex polygon
corners = [[-0.5, 1.25], [-0.3, 1.25], [-0.4, 1.5]]
density = 2

# A hinge between two bricks, or between a brick and the ground:
# [[pin]]
# bricks = [1, "ground"]
# at = [0, 1]

# Instead of bricks, [tower] may have a kind: "wall" (rows, columns, brick, gap, bond), "stack" (offsets, brick),
# "harmonic" (n, brick, table) or "diamond" (n, brick, gap).
"""

tower = typer.Typer(
    name="tower",
    help="Towers of bricks without friction: stability, initial collapse, collapse, overhang.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
SOURCE = typer.Argument(..., metavar="FILE|NAME", help="A .toml file, or a name in `carom tower list`.")
MASS_MODEL = typer.Option(
    None, "--mass-model", metavar="NAME", help="uniform (homogeneous bricks) or corners; default: that of the tower."
)
OVERWRITE = typer.Option(False, "--overwrite", help="Replace an existing file.")
QUIET = typer.Option(False, "--quiet", "-q", help="Print no progress and no table.")


@tower.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@tower.command("list", epilog="Example: carom tower list")
def list_(json: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")) -> None:
    """List the named towers."""
    from ..towers.named import NAMED, PATTERNS

    lines = {form.written: form.line for form in PATTERNS} | {name: entry.line for name, entry in NAMED.items()}
    if json:
        print(as_json(lines))
        return
    from .tower_tables import show_list

    show_list(out(), lines)


@tower.command(epilog="Example: carom tower check diamond-5")
def check(
    source: str = SOURCE,
    exact: bool = typer.Option(False, "--exact", help="Verify the verdict in fractions (small towers)."),
    mass_model: str | None = MASS_MODEL,
    margin: bool = typer.Option(False, "--margin", help="Also compute how far a load or a shift can grow."),
    expect: str | None = typer.Option(
        None, "--expect", metavar="VERDICT", help="stable or unstable; exit with code 1 if the verdict differs."
    ),
    picture: Path | None = typer.Option(
        None, "-o", "--output", metavar="PICTURE", help="Draw the forces, or the initial collapse: .png, .svg, .pdf."
    ),
    rows: int = typer.Option(20, "--rows", min=1, metavar="N", help="Maximum number of contacts or bricks to print."),
    json: bool = typer.Option(False, "--json", help="Print the verdict as JSON."),
) -> None:
    """Check whether a tower is stable: contact forces that support it, or a motion that proves it unstable."""
    if expect is not None and expect not in ("stable", "unstable"):
        raise ProblemError("--expect", expect, "stable or unstable")
    _check_picture(picture, "--output")
    checked = tower_from(source, mass_model)
    from .compiling import compile_notice
    from .tower_tables import facts_of, margin_facts, show_check, verdict_facts

    with compile_notice():
        verdict = checked.stability(exact=exact)
        facts = {**facts_of(checked), **verdict_facts(checked, verdict)}
        if margin:
            with remarks().status("searching for the weakest spot"):
                facts["margin"] = margin_facts(checked) if verdict.stable else None
        if picture is not None:
            checked.draw(picture, what="forces" if verdict.stable else "velocities", caption=True)
    if json:
        print(as_json(facts))
    else:
        show_check(out(), checked, verdict, facts, rows)
        hint = f"next: carom tower draw {source} -o forces.png"
        if not verdict.stable:
            hint = f"next: carom tower draw {source} -o collapse.png, carom tower collapse {source}"
        _remark(hint if picture is None else f"wrote {picture}")
    if expect is not None and verdict.stable != (expect == "stable"):
        raise typer.Exit(1)


@tower.command(epilog="Example: carom tower draw arch -o arch.svg")
def draw(
    source: str = SOURCE,
    output: Path = typer.Option(..., "-o", "--output", metavar="PICTURE", help="A file name in .png, .svg or .pdf."),
    what: str | None = typer.Option(
        None,
        "--what",
        metavar="NAME",
        help="forces, velocities, certificate, resting or plain. Default: forces if stable, else velocities.",
    ),
    mass_model: str | None = MASS_MODEL,
    numbers: bool = typer.Option(False, "--numbers", help="Show the number of each brick."),
    caption: bool = typer.Option(False, "--caption", help="Add a line with the verdict."),
    width: float | None = number_option(
        "--width", "INCHES", "Width of the picture; default 3.5, a column of a paper, or 7.2."
    ),
) -> None:
    """Draw a tower for print: contact forces, or the initial collapse."""
    _check_picture(output, "--output")
    from ..towers.drawing import WHAT

    if what is not None and what not in WHAT:
        raise ProblemError.unknown("picture", what, WHAT)
    drawn = tower_from(source, mass_model)
    from .compiling import compile_notice

    with compile_notice():
        chosen = what or ("forces" if drawn.stability().stable else "velocities")
        drawn.draw(output, what=chosen, numbers=numbers, caption=caption, width=width)
    out().print(str(output), markup=False, soft_wrap=True)


@tower.command(epilog="Example: carom tower collapse diamond-5 -o diamond.h5")
@settings_options(COLLAPSE_OPTIONS, after="method", declared=settings_of(CollapseSettings))
def collapse(
    source: str = SOURCE,
    steps: int | None = typer.Option(
        None, "--steps", parser=whole_number, metavar="N", help=f"Number of time steps; default {STEPS:,}."
    ),
    step: float | None = number_option("--step", "TIME", f"Length of a time step; default {STEP}."),
    method: str = typer.Option("position", "--method", metavar="NAME", help="position or acceleration."),
    mass_model: str | None = MASS_MODEL,
    frame_every: int | None = typer.Option(
        None, "--frame-every", parser=whole_number, metavar="N", help="Record every N-th step; default: every step."
    ),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="RUN.h5", help="Default: TOWER-collapse.h5, with a number if that exists."
    ),
    overwrite: bool = OVERWRITE,
    quiet: bool = QUIET,
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
    **told: Any,
) -> None:
    """Simulate the collapse of a tower by Gauss' principle of least constraint. Writes a run like `carom run`."""
    falling = tower_from(source, mass_model)
    from .source import default_output

    path = default_output(falling.name, "collapse", overwrite) if output is None else output
    if path.suffix not in (".h5", ".hdf5"):
        raise ProblemError("--output", str(path), "a name that ends in .h5")
    given = {**told, "frame_every": frame_every}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    penalized = options.get("lengths") == "penalty"
    if "penalty" in options and not penalized:
        raise ProblemError("--penalty", options["penalty"], "--lengths penalty as well: other bars have no weight")
    if "bracing" in options and options.get("coordinates") != "framework" and not penalized:
        wanted = "--coordinates framework as well: reduced coordinates have no bars"
        raise ProblemError("--bracing", options["bracing"], wanted)
    options |= {"steps": STEPS if steps is None else steps, "step": STEP if step is None else step, "method": method}
    from .run import computed, say_what_is_next
    from .tower_tables import facts_of, show_collapse

    def work(tell: Any) -> Trajectory:
        return falling.collapse(output=path, progress=tell, overwrite=overwrite, **options)

    with computed(work, f"{falling.name}, {method}", path, quiet) as (_, facts):
        facts["tower"] = facts_of(falling)
    if json:
        print(as_json(facts))
    elif not quiet:
        show_collapse(out(), facts)
        say_what_is_next(path)


@tower.command(epilog="Example: carom tower overhang 5")
def overhang(
    n: int = typer.Argument(..., parser=whole_number, metavar="N", help="Number of bricks."),
    seconds: float | None = number_option("--seconds", "TIME", "Time limit of the search."),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="TOWER.toml", help="Write the tower to a file."),
    picture: Path | None = typer.Option(
        None, "--draw", metavar="PICTURE", help="Draw the tower with its forces: .png, .svg or .pdf."
    ),
    overwrite: bool = OVERWRITE,
    quiet: bool = QUIET,
    json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Search for a stack of N bricks with the largest overhang that can be proved stable.

    Ctrl-C ends the search with the best stack that it has.
    """
    _check_picture(picture, "--draw")
    if output is not None:
        _check_toml(output, "--output", overwrite)
    from ..towers.overhang import largest_overhang
    from .compiling import compile_notice
    from .progress import display
    from .tower_tables import overhang_facts, show_overhang

    began = time.perf_counter()
    with compile_notice(), display(f"overhang of {n}", quiet) as show:

        def tell(done: int, total: int, best: float) -> None:
            show(done / max(total, 1), f"best {best:.5f}", "")

        found = largest_overhang(n, seconds=seconds, progress=tell)
    if output is not None:
        found.tower.save(output, overwrite=overwrite)
    if picture is not None:
        found.tower.draw(picture, what="forces")
    facts = overhang_facts(found, n, time.perf_counter() - began)
    if json:
        print(as_json(facts))
    elif not quiet:
        show_overhang(out(), found, facts)
        for path in (output, picture):
            if path is not None:
                _remark(f"wrote {path}")
    if not found.finished:
        _remark("interrupted: this is the best stack so far")
        raise typer.Exit(INTERRUPTED)


@tower.command(epilog="Example: carom tower new mine.toml")
def new(
    file: Path = typer.Argument(..., metavar="FILE.toml", help="The file to write."),
    source: str | None = typer.Argument(None, metavar="NAME", help="A tower in `carom tower list`."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Write a tower file as a starting point: a commented example, or a named tower."""
    _check_toml(file, "FILE", overwrite)
    if source is not None:
        from ..towers.files import tower_to_toml

        text = tower_to_toml(tower_from(source))
    else:
        import json

        text = STARTER.replace('"{name}"', json.dumps(file.stem))
    write_text(file, text.rstrip("\n") + "\n")
    _remark(f"wrote {file}; next: carom tower check {file}")


def tower_from(source: str, mass_model: str | None = None) -> Tower:
    """The tower of a FILE|NAME argument."""
    if Path(source).suffix.lower() == ".toml" or "/" in source or Path(source).is_file():
        from ..towers.files import load_tower

        made = load_tower(source)
    else:
        from ..towers.named import named_tower

        made = named_tower(source)
    return made if mass_model is None else made.with_(mass_model=mass_model)


def _check_picture(path: Path | None, option: str) -> None:
    """Rejects an invalid name of a picture before any computation."""
    if path is None:
        return
    from ..towers.drawing import picture_path

    try:
        picture_path(path)
    except ProblemError as error:
        raise ProblemError(option, str(path), error.expected) from None


def _check_toml(path: Path, option: str, overwrite: bool) -> None:
    """Rejects an invalid name of a tower file before any computation."""
    if path.suffix.lower() != ".toml":
        raise ProblemError(option, str(path), "a name that ends in .toml")
    if path.is_dir():
        raise ProblemError(option, f"{path}, a folder", "a file name")
    if not path.absolute().parent.is_dir():
        raise ProblemError(option, str(path), "a name in a folder that exists")
    if path.exists() and not overwrite:
        raise ProblemError(option, str(path), "a file that does not exist yet, or --overwrite")


def _remark(text: str) -> None:
    remarks().print(text, markup=False, soft_wrap=True)
