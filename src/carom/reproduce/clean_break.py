"""The clean break: a rack of 55 balls struck along its axis must stay mirror-symmetric.

After Smith 2012, figure 5. A law that resolves all contacts of an impact at once keeps the symmetry of the rack up to
rounding errors; resolving the contacts one after another, as gauss_seidel does, breaks it at the first impact.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ..analysis.runs import energy_drift, symmetry_error
from ..draw.figures import draw_balls
from ..draw.style import BLACK, GRAY, PALE, TIME, X, Y, law_style, sheet, write, write_table
from ..scenes import pool_break
from ..scenes.balls import RADIUS
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .evidence import Case, Evidence, rows_of

COMPARED = ("gr", "qce", "gauss_seidel")
SYMMETRIC = "symmetric"
CLAIMS = {"gr": SYMMETRIC, "gauss_seidel": "depends on the order"}
KEPT_SYMMETRY = 1e-6  # radii: a mirror error below this is amplified rounding
FLOOR = 1e-17  # radii: where an error of exactly 0 is drawn


def run(case: Case, rows: int = 10, duration: float = 10.0) -> Evidence:
    """Breaks a rack of `rows` rows under each law and writes clean_break.png, .svg, .pdf and two .csv."""
    scene = pool_break(rows=rows)
    runs: dict[str, Trajectory] = {}
    errors: dict[str, Floats] = {}
    numbers: dict[str, float] = {}
    for part, law in case.each(COMPARED):
        runs[law] = part.simulate(law, scene, law, duration, tolerance="exact", frame_rate=20.0)
        errors[law] = symmetry_error(runs[law])
        numbers[f"{law}: mirror error at the end, in radii"] = float(errors[law][-1])
        numbers[f"{law}: relative energy drift"] = float(np.abs(energy_drift(runs[law])).max())
        numbers[f"{law}: balls that moved by a radius"] = float(moved(runs[law]).sum())
    files = _draw(case.out, runs, errors)
    said = {f"{law}: mirror error at the end, in radii": text for law, text in CLAIMS.items()}
    holds = {name: (numbers[name] <= KEPT_SYMMETRY) == (text == SYMMETRIC) for name, text in said.items()}
    return Evidence(rows_of(numbers, said, holds=holds), files, _findings(errors, duration), {"h": scene.step})


def moved(run: Trajectory) -> Any:
    """Mask of the balls that are more than a radius from their initial positions."""
    apart = run.positions[-1] - run.positions[0]
    return np.hypot(apart[:, 0], apart[:, 1]) > RADIUS


def _findings(errors: Mapping[str, Floats], duration: float) -> tuple[str, ...]:
    kept = [f"{law} ({error[-1]:.0e})" for law, error in errors.items() if error.max() <= KEPT_SYMMETRY]
    broken = [f"{law} ({error[-1]:.1f})" for law, error in errors.items() if error.max() > KEPT_SYMMETRY]
    return (
        f"mirror-symmetric to {KEPT_SYMMETRY:g} radii for {duration:g} s under: {', '.join(kept) or 'no law'}",
        f"symmetry is lost (error in radii) under: {', '.join(broken) or 'no law'}",
    )


def _draw(out: Path, runs: Mapping[str, Trajectory], errors: Mapping[str, Floats]) -> tuple[Path, ...]:
    with sheet(height=4.7) as figure:
        grid = figure.add_gridspec(2, 1, height_ratios=(1.2, 1.0))
        top, bottom = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        time = runs[COMPARED[0]].time[-1]
        top.suptitle(f"at time {time:g}; rings are the mirror images of the balls", fontsize=8.5, color=GRAY)
        ends = np.concatenate([run.positions[-1] for run in runs.values()])
        for axes, (law, run) in zip(top.subplots(1, len(runs)), runs.items()):
            _picture(axes, run, ends)
            error = errors[law][-1]
            axes.set_title(f"{law}: off by {error:.1f} radii" if error > 0.1 else f"{law}: off by {error:.0e} radii")
        _errors(bottom.subplots(), runs, errors)
        table = {TIME: runs[COMPARED[0]].time} | {f"{law}_mirror_error (radii)": error for law, error in errors.items()}
        files = write(figure, out, "clean_break", table)
    rows = [(law, k, *place) for law, run in runs.items() for k, place in enumerate(run.positions[-1])]
    columns = dict(zip(("law", "ball", X, Y), zip(*rows)))
    return (*files, write_table(out / "clean_break_positions.csv", columns))


def _picture(axes: Axes, run: Trajectory, ends: Floats) -> None:
    """Draws the balls at the end with their paths, and the mirror images of all of them as rings."""
    (symmetry,) = run.scene.symmetries
    paths, end = run.positions[:], run.positions[-1]
    color = law_style(run.law)["color"]
    axes.axhline(0.0, color=GRAY, linewidth=0.7, linestyle=(0, (6, 3, 1, 3)), zorder=0)
    axes.add_collection(LineCollection(list(paths.transpose(1, 0, 2)), colors=PALE, linewidths=0.6, zorder=1))
    draw_balls(axes, end, RADIUS, facecolors=color, edgecolors="none", zorder=2)
    draw_balls(axes, symmetry.image(end), RADIUS, facecolors="none", edgecolors=BLACK, linewidths=0.4, zorder=3)
    left, right, high = ends[:, 0].min(), ends[:, 0].max(), np.abs(ends[:, 1]).max()
    edge = 4.0 * RADIUS
    axes.set(xlim=(left - edge, right + edge), ylim=(-high - edge, high + edge), aspect="equal")
    axes.set_axis_off()


def _errors(axes: Axes, runs: Mapping[str, Trajectory], errors: Mapping[str, Floats]) -> None:
    time = runs[COMPARED[0]].time
    for law, error in errors.items():
        style = {**law_style(law), "markevery": 20, "markerfacecolor": "white"}
        axes.plot(time, np.maximum(error, FLOOR), **style, label=law)
    axes.axhline(KEPT_SYMMETRY, color=GRAY, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set(yscale="log", xlabel=TIME, ylabel="mirror error / radius", xlim=(0, time[-1]))
    axes.annotate(
        f"bound {KEPT_SYMMETRY:g}",
        (time[-1], KEPT_SYMMETRY),
        (-2, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        color=GRAY,
    )
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.72), ncols=len(runs), handlelength=3.0)
