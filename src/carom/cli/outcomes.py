"""`carom outcomes FILE` shows which velocities mechanics allows after an impact, and where the laws lie among them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .arguments import check_figure
from .console import as_json, out, remarks
from .resolve import _read

if TYPE_CHECKING:
    from ..analysis.outcomes import OutcomeSet


def outcomes(
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="Problem, .json (`carom new cradle.json` writes one) or .npz; - reads JSON from stdin.",
    ),
    laws: str = typer.Option("", "--laws", metavar="NAMES", help="Laws to place in the set, separated by commas."),
    samples: int = typer.Option(
        2000, "--samples", min=0, metavar="N", help="Random sequences of impulses that fill the set."
    ),
    seed: int = typer.Option(0, "--seed", min=0, metavar="N", help="Seed of the random sequences."),
    components: str = typer.Option(
        "", "--components", metavar="A,B", help="Two velocity components of the figure, by number."
    ),
    as_json_: bool = typer.Option(False, "--json", help="Print the set as JSON."),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="FILE", help="Draw the figure: png, svg, pdf."),
) -> None:
    """Show the velocities that energy, momentum, one-sidedness and feasibility allow after the impact in FILE.

    The size of the set, from 0 to 1, says how much of the answer mechanics leaves to the choice of a law.
    """
    check_figure("--output", output)
    chosen = _components(components)
    problem = _read(file)
    from ..analysis.outcomes import outcomes as outcome_set
    from .compiling import compile_notice

    names = [name.strip() for name in laws.split(",") if name.strip()] or None
    with compile_notice():
        found = outcome_set(problem, laws=names, samples=samples, seed=seed)
    if output is not None:
        from ..draw.outcome_figure import outcome_figure
        from ..draw.style import save

        save(outcome_figure(found, chosen), output)
    if as_json_:
        print(as_json(found.to_dict()))
        return
    _show(found)
    if output is not None:
        remarks().print(f"wrote {output}")


def _components(text: str) -> tuple[int, ...] | None:
    if not text:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ProblemError("--components", text, "two numbers separated by a comma, such as 0,2") from None


def _show(found: OutcomeSet) -> None:
    """Prints the size of the set and the place of each law."""
    console, p = out(), found.problem
    kind = "energy is conserved" if found.elastic else "energy may be lost"
    console.print(f"{p.name}: {p.contact_count} contacts; {kind}")
    console.print(f"size {found.size:.4f} (0: mechanics determines the answer, 1: opposite answers are allowed)")
    known = "all" if found.all_orders else "sampled"
    console.print(f"{len(found.orders)} outcomes of pairwise impacts ({known} orders), {len(found.corners)} corners")
    for name in found.laws:
        broken = found.broken[name]
        console.print(f"  {name:<13} {'inside' if not broken else 'outside: breaks ' + ' and '.join(broken)}")
