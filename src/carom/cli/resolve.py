"""`carom resolve FILE` solves one impact problem under one law."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from ..files import write_text
from ..shown import counted
from .arguments import LAW_HELP, complete_law, law_named, law_with_options, settings_options
from .arguments import number as number_
from .console import WIDE, as_json, out, remarks
from .tables import add_numbers, number, print_cut, ruled_table, vector, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..problem.problem import ImpactProblem
    from ..problem.solution import ImpactSolution
    from ..solvers.rows import Ints


FAILED = 1  # exit code


@settings_options(("restitution_model", "friction_model"), after="friction")
def resolve(
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="Problem, .json (`carom new cradle.json` writes one) or .npz; - reads JSON from stdin.",
    ),
    law: str = typer.Option("gr", "--law", "-l", metavar="NAME", help=LAW_HELP, autocompletion=complete_law),
    option: list[str] = typer.Option([], "--option", metavar="KEY=VALUE", help="Option of the law; may be repeated."),
    restitution: float | None = typer.Option(
        None,
        "--restitution",
        parser=number_,
        metavar="0..1",
        help="Coefficient for all contacts, in place of those in the file.",
    ),
    friction: float | None = typer.Option(
        None,
        "--friction",
        parser=number_,
        metavar="MU",
        help="Coefficient for all contacts, in place of those in the file.",
    ),
    as_json_: bool = typer.Option(False, "--json", help="Print the solution as JSON."),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="FILE", help="Write the JSON to FILE."),
    rows: int = typer.Option(
        20, "--rows", min=1, metavar="N", help="Maximum number of bodies and contacts that are printed."
    ),
    **models: str | None,
) -> None:
    """Solve the impact problem in FILE: velocities, impulses, separation speeds, and an audit of the solution.

    Exit code 1 if the audit fails.
    """
    if output is not None and output.suffix != ".json":
        raise ProblemError("--output", str(output), "a name that ends in .json")
    if output is not None and not output.parent.is_dir():
        raise ProblemError("--output", str(output), "a name in a folder that exists")
    problem = _changed(_read(file), restitution, friction)
    solution = _solve(problem, law, option, **models)
    text = as_json(solution.to_dict())
    if output is not None:
        write_text(output, text + "\n")
    if as_json_:
        print(text)
    else:
        _show(out(), solution, rows)
        if output is not None:
            remarks().print(f"wrote {output}")
    if not solution.audit().passed:
        raise typer.Exit(FAILED)


def _read(file: Path) -> ImpactProblem:
    from ..problem.files import from_dict
    from ..problem.problem import ImpactProblem

    if str(file) != "-":
        return ImpactProblem.load(file)
    try:
        data = json.load(sys.stdin)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ProblemError("stdin", str(error), "valid JSON") from None
    if not isinstance(data, dict):
        raise ProblemError("stdin", f"a JSON {type(data).__name__}", "a JSON object")
    return from_dict(data, "stdin")


def _changed(problem: ImpactProblem, restitution: float | None, friction: float | None) -> ImpactProblem:
    changes = {"restitution": restitution, "friction": friction}
    return problem.with_(**{key: value for key, value in changes.items() if value is not None})


def _solve(
    problem: ImpactProblem,
    law: str,
    pairs: list[str],
    restitution_model: str | None,
    friction_model: str | None,
) -> ImpactSolution:
    from ..resolve.impulses import solve_impact
    from .compiling import compile_notice

    chosen = law_with_options(law_named(law), pairs, "--option")
    with compile_notice():
        return solve_impact(problem, chosen, restitution_model=restitution_model, friction_model=friction_model)


# ---- tables


def _show(console: Console, solution: ImpactSolution, limit: int) -> None:
    """Prints a solution; lists longer than `limit` are cut with a note."""
    from rich.markup import escape

    p = solution.problem
    n, d = p.block
    status = solution.status if solution.status == "resolved" else f"[yellow]{solution.status}[/]"
    console.print(
        f"[bold]{escape(p.name)}[/]: {counted(n, 'body', 'bodies')} of {counted(d, 'component')}, "
        f"{counted(p.contact_count, 'contact')}"
    )
    console.print(
        f"law [bold cyan]{solution.law}[/], {status} after {counted(solution.iterations, 'iteration')}, "
        f"residual {solution.residual:.1e}"
    )
    for message in solution.messages:
        console.print(f"[yellow]note:[/] {escape(message)}")
    print_cut(console, _bodies(solution, limit, console.width >= WIDE), n, limit, "body", "bodies")
    print_cut(console, _contacts(solution, limit), p.contact_count, limit, "contact")
    console.print(_audit(solution))


def _bodies(solution: ImpactSolution, limit: int, wide: bool) -> Table:
    p = solution.problem
    before, after = p.block_velocity[:limit], solution.velocity.reshape(p.block)[:limit]
    d = p.block[1]
    table = ruled_table("[bold]velocity[/]", "body")
    if d == 1 or (wide and d <= 3):
        names = [""] if d == 1 else [f" {k}" for k in ("xyz"[:d] if d == 2 else "123"[:d])]
        add_numbers(table, *(when + name for when in ("before", "after") for name in names))
        for b in range(len(before)):
            table.add_row(str(b), *map(number, before[b]), *map(number, after[b]))
        return table
    add_numbers(table, "before", "after")
    for b in range(len(before)):
        table.add_row(str(b), vector(before[b]), vector(after[b]))
    return table


def _contacts(solution: ImpactSolution, limit: int) -> Table:
    p = solution.problem
    before, after = p.separation_speed(), solution.separation_speed
    table = ruled_table("[bold]contacts[/]", "contact")
    table.add_column("bodies", justify="center")
    add_numbers(table, "speed before", "speed after", "impulse")
    slide = solution.friction_impulse
    if slide is not None:
        table.add_column("friction impulse", justify="right")
    for k in range(min(limit, p.contact_count)):
        touched = p.rows.body[p.rows.ptr[k] : p.rows.ptr[k + 1]]
        row = [str(k), _names(touched), number(before[k]), number(after[k]), number(solution.impulse[k])]
        table.add_row(*row, *([] if slide is None else [vector(slide[k])]))
    return table


def _audit(solution: ImpactSolution) -> Table:
    table = ruled_table("[bold]audit[/]")
    table.add_column("measured")
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("bound")
    table.add_column("")
    for m in solution.audit().measures:
        value = number(m.value, 6) if m.unit == "J" else f"{m.value:.2e}"
        table.add_row(m.name, value, m.unit, m.bound, verdict(m.passed) if m.bound else "")
    return table


def _names(touched: Ints) -> str:
    listed = [str(int(b)) for b in touched]
    if len(listed) <= 2:
        return " - ".join([*listed, "world"][:2])
    return ", ".join(listed[:4]) + (" ..." if listed[4:] else "")
