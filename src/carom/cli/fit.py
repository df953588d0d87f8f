"""`carom fit SCENE DATA --vary NAMES` estimates parameters of a scene from measured motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import ProblemError
from .arguments import check_figure
from .console import as_json, out, remarks
from .tables import add_numbers, bare_table

if TYPE_CHECKING:
    from ..sensitivities.fit import Fit


def fit(
    scene: Path = typer.Argument(..., metavar="SCENE", help="Scene file, .toml; its values are the start of the fit."),
    data: Path = typer.Argument(
        ..., metavar="DATA", help="Measured motion, .csv or .parquet: time, body, x, y (z, angle, vx, vy, vz, spin)."
    ),
    vary: str = typer.Option(
        ..., "--vary", metavar="NAMES", help="Parameters, such as materials.default.restitution, separated by commas."
    ),
    law: str | None = typer.Option(None, "--law", metavar="NAME", help="Impact law; that of the scene by default."),
    stepper: str = typer.Option("time_of_impact", "--stepper", metavar="NAME", help="Stepper of the runs."),
    step: float | None = typer.Option(None, "--step", metavar="TIME", help="Time step; that of the scene by default."),
    sigma: float | None = typer.Option(
        None, "--sigma", metavar="NUMBER", help="Standard deviation of the noise; estimated by default."
    ),
    output: Path | None = typer.Option(None, "-o", "--output", metavar="FILE", help="Write the fitted scene, .toml."),
    plot: Path | None = typer.Option(None, "--plot", metavar="FILE", help="Draw the residuals: png, svg, pdf."),
    as_json_: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Estimate parameters of SCENE from the measured motion in DATA by least squares.

    Prints estimates, standard errors, intervals of 95 percent and correlations, and warns where the data do not
    determine a parameter.
    """
    check_figure("--plot", plot)
    if output is not None and (output.suffix.lower() != ".toml" or not output.parent.is_dir()):
        raise ProblemError("--output", str(output), "a name in a folder that exists, which ends in .toml")
    names = [name.strip() for name in vary.split(",") if name.strip()]
    from ..sensitivities.fit import fit as fitted
    from .compiling import compile_notice

    with compile_notice():
        found = fitted(scene, data, names, law=law, step=step, stepper=stepper, sigma=sigma)
    if output is not None:
        from ..scene.file import save_scene

        save_scene(found.scene, output)
    if plot is not None:
        from ..draw.style import save
        from ..sensitivities.figure import residual_figure

        save(residual_figure(found), plot)
    if as_json_:
        print(as_json(found.to_dict()))
        return
    _show(found)
    for path in (output, plot):
        if path is not None:
            remarks().print(f"wrote {path}")


def _show(found: Fit) -> None:
    """Prints the estimates and their correlations."""
    table = bare_table()
    table.pad_edge = False
    table.add_column("parameter", no_wrap=True)
    add_numbers(table, "estimate", "standard error", "95 percent interval")
    for name, value, error, (low, high) in zip(found.names, found.estimate, found.standard_error, found.interval):
        table.add_row(name, f"{value:.8g}", f"{error:.2g}", f"{low:.6g} to {high:.6g}")
    console = out()
    console.print(table)
    counts = f"{found.data.count:,} numbers, {found.evaluations} runs, {found.run.impacts} impacts"
    console.print(f"{counts}; standard deviation of the residuals {found.noise:.3g}")
    pairs = [(i, j) for i in range(len(found.names)) for j in range(i)]
    if pairs:
        i, j = max(pairs, key=lambda p: abs(found.correlation[p]))
        console.print(f"largest correlation {found.correlation[i, j]:.3f}: {found.names[j]}, {found.names[i]}")
    for warning in found.warnings:
        remarks().print(f"warning: {warning}")
