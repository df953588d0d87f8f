"""Options that several commands about runs share."""

from __future__ import annotations

from typing import Any

import typer

from ..settings import STEPPERS


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def number_option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(None, name, parser=number, metavar=metavar, help=text)


SET = typer.Option([], "--set", metavar="KEY=VALUE", help="Of the scene; may be repeated.")
DURATION = number_option("--duration", "TIME", "How long, in time units.")
STEP = number_option("--step", "TIME", "Length of a time step.")
FRAME_RATE = number_option("--frame-rate", "RATE", "Frames a time unit.")
STEPPER = typer.Option(None, "--stepper", metavar="NAME", help=f"One of {', '.join(STEPPERS)}.")
INTEGRATOR = typer.Option(None, "--integrator", metavar="NAME", help="Of rotations in space: dmv or split.")
THREADS = typer.Option(
    None, "--threads", parser=whole_number, metavar="N", help="At most so many. The bits do not depend on it."
)
RUN = typer.Argument(..., metavar="RUN.h5", help="A trajectory that `carom run` wrote.")
