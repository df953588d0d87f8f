"""`carom tower check FILE|NAME`: does it stand, with the proof."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import ProblemError
from .console import as_json, out, remarks
from .tower_source import MASS_MODEL, SOURCE, check_picture, facts_of, tower_from

EXPECTED = ("stable", "unstable")


def check(
    source: str = SOURCE,
    exact: bool = typer.Option(False, "--exact", help="Verify the verdict in fractions (small towers)."),
    mass_model: str | None = MASS_MODEL,
    margin: bool = typer.Option(False, "--margin", help="Also how far a load or a shift may go."),
    expect: str | None = typer.Option(
        None, "--expect", metavar="VERDICT", help="stable or unstable; exit code 1 if it is not."
    ),
    picture: Path | None = typer.Option(
        None, "-o", "--output", metavar="PICTURE", help="Draw the forces, or the onset of collapse: .png, .svg, .pdf."
    ),
    rows: int = typer.Option(20, "--rows", min=1, help="Longest list of contacts or bricks that is printed."),
    json: bool = typer.Option(False, "--json", help="Print the verdict as JSON."),
) -> None:
    """Check whether a tower stands: contact forces that hold it, or a motion that proves it cannot."""
    if expect is not None and expect not in EXPECTED:
        raise ProblemError("--expect", expect, "stable or unstable")
    check_picture(picture, "--output")
    tower = tower_from(source, mass_model)
    from .compiling import compile_notice
    from .tower_tables import margin_facts, show_check, verdict_facts

    with compile_notice():
        verdict = tower.stability(exact=exact)
        facts = {**facts_of(tower), **verdict_facts(tower, verdict)}
        if margin:
            with remarks().status("looking for the weakest spot"):
                facts["margin"] = margin_facts(tower) if verdict.stable else None
        if picture is not None:
            tower.draw(picture, what="forces" if verdict.stable else "velocities", caption=True)
    if json:
        print(as_json(facts))
    else:
        show_check(out(), tower, verdict, facts, rows)
        if picture is not None:
            remarks().print(f"wrote {picture}", markup=False, soft_wrap=True)
        else:
            remarks().print(_next(source, verdict.stable), markup=False, soft_wrap=True)
    if expect is not None and verdict.stable != (expect == "stable"):
        raise typer.Exit(1)


def _next(source: str, stands: bool) -> str:
    if stands:
        return f"next: carom tower draw {source} -o forces.png"
    return f"next: carom tower draw {source} -o onset.png, carom tower collapse {source}"
