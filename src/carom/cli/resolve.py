"""`carom resolve FILE`: one problem under one law."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from ..files import write_text
from .console import as_json, out, remarks

if TYPE_CHECKING:
    from ..impact.problem import ImpactProblem
    from ..impact.solution import ImpactSolution


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def resolve(
    file: Path = typer.Argument(..., metavar="FILE", help="Problem as .json or .npz; - reads JSON from stdin."),
    law: str = typer.Option("gr", "--law", "-l", help="Impact law; `carom laws` lists them."),
    option: list[str] = typer.Option([], "--option", metavar="KEY=VALUE", help="Of the law; may be repeated."),
    restitution: float | None = typer.Option(
        None,
        "--restitution",
        parser=_number,
        metavar="0..1",
        help="One coefficient for all contacts, instead of the file's.",
    ),
    friction: float | None = typer.Option(
        None,
        "--friction",
        parser=_number,
        metavar="MU",
        help="One coefficient for all contacts, instead of the file's.",
    ),
    restitution_model: str | None = typer.Option(
        None,
        "--restitution-model",
        metavar="NAME",
        help="What the coefficient means; default: the law's first.",
    ),
    friction_model: str | None = typer.Option(
        None, "--friction-model", metavar="NAME", help="How friction is resolved; default: the library's."
    ),
    as_json_: bool = typer.Option(False, "--json", help="Print the solution as JSON."),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="FILE", help="Write the JSON here."),
    rows: int = typer.Option(20, "--rows", min=1, help="Longest list of bodies or contacts that is printed."),
) -> None:
    """Resolve the impact in FILE: velocities, impulses, separation speeds, and what the answer keeps."""
    if output is not None and output.suffix != ".json":
        raise ProblemError("--output", str(output), "a name that ends in .json")
    if output is not None and not output.parent.is_dir():
        raise ProblemError("--output", str(output), "a name in a folder that exists")
    problem = _changed(_read(file), restitution, friction)
    solution = _solve(problem, law, option, restitution_model, friction_model)
    text = as_json(solution.to_dict())
    if output is not None:
        write_text(output, text + "\n")
    if as_json_:
        print(text)
        return
    from .solution_tables import show

    show(out(), solution, rows)
    if output is not None:
        remarks().print(f"wrote {output}")


def _read(file: Path) -> ImpactProblem:
    from ..impact.files import from_dict
    from ..impact.problem import ImpactProblem

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
    from ..impact.resolve import solve_impact
    from ..laws import make
    from .compiling import compile_notice
    from .options import law_options

    chosen = make(law, **law_options(pairs, make(law).options(), law))
    with compile_notice():
        return solve_impact(problem, chosen, restitution_model=restitution_model, friction_model=friction_model)
