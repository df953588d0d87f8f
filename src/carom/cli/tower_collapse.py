"""`carom tower collapse FILE|NAME`: how a tower comes down, into one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ProblemError
from .console import as_json, out, remarks
from .run_arguments import number_option, whole_number
from .tower_source import MASS_MODEL, SOURCE, facts_of, headline, tower_from

if TYPE_CHECKING:
    from ..towers import Tower
    from ..trajectory import Trajectory

STEPS, STEP = 1000, 0.01


def collapse(
    source: str = SOURCE,
    steps: int | None = typer.Option(
        None, "--steps", parser=whole_number, metavar="N", help=f"How many; default {STEPS:,}."
    ),
    step: float | None = number_option("--step", "TIME", f"Length of a time step; default {STEP}."),
    method: str = typer.Option("position", "--method", metavar="NAME", help="position or acceleration."),
    lengths: str | None = typer.Option(
        None, "--lengths", metavar="NAME", help="How bars keep their length: original, previous or penalty."
    ),
    coordinates: str | None = typer.Option(
        None, "--coordinates", metavar="NAME", help="reduced (three a brick) or framework (bars and joints)."
    ),
    mass_model: str | None = MASS_MODEL,
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="RUN.h5", help="Default: TOWER-collapse.h5, with a number if that is taken."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write over a file that exists."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Let a tower come down, by Gauss' principle of least constraint. Writes a run like `carom run`."""
    tower = tower_from(source, mass_model)
    from .run_source import default_output

    path = default_output(tower.name, "collapse", overwrite) if output is None else output
    if path.suffix not in (".h5", ".hdf5"):
        raise ProblemError("--output", str(path), "a name that ends in .h5")
    options: dict[str, Any] = {"lengths": lengths, "coordinates": coordinates}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"steps": STEPS if steps is None else steps, "step": STEP if step is None else step, "method": method}
    _carry_out(tower, options, path, overwrite, quiet, json)


def _carry_out(tower: Tower, options: dict[str, Any], path: Path, overwrite: bool, quiet: bool, json: bool) -> None:
    """The run with its progress, and the table."""
    from ..analysis.run_statistics import run_summary
    from .run import compile_notice_beside_bar, interrupts_as_such
    from .run_progress import telling

    began = time.perf_counter()
    title = f"{tower.name}, {options['method']}"
    with interrupts_as_such(), telling(title, quiet) as tell, compile_notice_beside_bar() as compiled:
        done: Trajectory = tower.collapse(output=path, progress=tell, overwrite=overwrite, **options)
    with done as trajectory:
        facts = run_summary(trajectory, time.perf_counter() - began)
    facts |= {"compile_seconds": compiled.seconds, "tower": facts_of(tower)}
    if json:
        print(as_json(facts))
    elif not quiet:
        from .run_table import show

        out().print(headline(facts["tower"]))
        show(out(), facts)
        remarks().print(f"next: carom plot {path}, carom info {path}", markup=False, soft_wrap=True)
