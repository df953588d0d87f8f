"""The figure of `carom compare`: one instant of all runs side by side, and their energies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ..analysis.checks import BOUNDS, energy_rule
from ..analysis.comparison import Compared
from ..analysis.run_panels import thinned
from ..shown import counted
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .camera import Camera
from .figures import OUTLIER, Angle, View, draw_state, extent_of, frame_of, outside, speed_scale, tallness
from .framing import united
from .run_figures import SMALLEST, color_bar, name_axes, split
from .style import GRAY, TIME, WIDE, law_style, sheet, write, write_table
from .timeline import Timeline

IN_A_ROW = 3  # panels per row: more would be too small to read


def draw(runs: Sequence[Compared], out: Path, name: str, at: float, angle: Angle) -> tuple[Path, ...]:
    """Writes NAME.png, .svg, .pdf, NAME.csv (the table) and NAME-energy.csv (the curves); returns their paths."""
    views, cut = instants([c.run for c in runs], at)
    scale, box = speed_scale(views), frame_of(views, angle)
    rows = -(-len(runs) // IN_A_ROW)
    columns = -(-len(runs) // rows)
    tall = np.clip(tallness(box), 0.35, 1.6)
    height = rows * (0.35 + WIDE / columns * tall) + 0.15 * any(cut)  # inches; a law that is cut off has two lines
    with sheet(WIDE, height + 0.7 + 2.2) as figure:
        above, below = split(figure, 2, 1, height_ratios=[height + 0.7, 2.2])
        panels = list(above.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
        for axes, c, view, early in zip(panels, runs, views, cut):
            draw_state(axes, view, scale, box, 1440 // columns)
            name_axes(axes, box)
            if isinstance(box, Camera):  # the grid is the same for all: it is named once, with room to the right
                axes.set_xlabel(axes.get_xlabel() if axes is panels[0] else "", loc="left")
            axes.set_title(_title(c, outside(view, box), view.state.time if early else None), fontsize=8)
        for axes in panels[len(runs) :]:
            axes.set_axis_off()
        color_bar(above, panels, scale, box, aspect=70)
        kept = energy_rule(runs[0].run)[0] == "kept"
        curves = [_curve(c, kept) for c in runs]
        _draw_energies(below.subplots(), runs, curves, kept)
        first = runs[0].run
        bodies = counted(first.count, "body", "bodies")
        text = f"{first.name}: {bodies} at time {at:.4g} under {counted(len(runs), 'law')}"
        figure.suptitle(text, fontsize=9.5, x=0.01, ha="left")
        paths = write(figure, out, name, table(runs))
    table_of_curves = {
        "law": [c.numbers.law for c, (time, _) in zip(runs, curves) for _ in time],
        TIME: np.concatenate([time for time, _ in curves]),
        "energy_drift" if kept else "energy_change": np.concatenate([energy for _, energy in curves]),
    }
    return (*paths, write_table(out / f"{name}-energy.csv", table_of_curves))


def instants(runs: Sequence[Trajectory], at: float) -> tuple[list[View], list[bool]]:
    """The views of all runs at one time, and whether a law that explodes was cut off before its bodies are far away.

    Far away means that bodies and initial state together are OUTLIER times larger than under half of the laws.
    """
    lines = [Timeline(run) for run in runs]
    views = [View.of(line.run, line.nearest(min(at, line.stop))) for line in lines]
    sizes = np.array([_size(view, line.run) for view, line in zip(views, lines)])
    kept = sizes <= OUTLIER * np.quantile(sizes, 0.5, method="lower")
    room = float(sizes[kept].max())
    shown = [
        view if keep else _last_within(line.run, room, line.nearest(at)) for view, line, keep in zip(views, lines, kept)
    ]
    return shown, (~kept).tolist()


def _size(view: View, run: Trajectory) -> float:
    """The extent of a view and of the initial state together, a length."""
    return float(united([extent_of(View.of(run, 0)), extent_of(view)]).size.max())


def _last_within(run: Trajectory, room: float, last: int) -> View:
    """The frame before the first one that needs more room."""
    first = next((k for k in range(1, last + 1) if _size(View.of(run, k), run) > room), last)
    return View.of(run, first - 1)


def _title(c: Compared, outside: int, cut: float | None) -> str:
    """Law, how many bodies are outside the panel, and when and why the law is cut off."""
    text = c.numbers.law + (f" ({outside:,} not shown)" if outside else "")
    if cut is None:
        return text
    gain = c.numbers.energy_change_most
    why = f"it gains {float(f'{gain:.2g}'):,g} times its energy" if gain > 1.0 else "its bodies leave the picture"
    return f"{text}, cut off at time {cut:.4g}:\n{why}"


def _curve(c: Compared, kept: bool) -> tuple[Floats, Floats]:
    """Times, and the drift of the energy if it must be conserved, else its change, relative to the kinetic energy."""
    time = c.run.steps["time"]
    return thinned(time, np.abs(c.energy), largest=True) if kept else thinned(time, c.energy)


def table(runs: Sequence[Compared]) -> dict[str, list[object]]:
    """One column per number and one row per law; what cannot be measured is empty."""
    rows = [c.numbers.as_dict() for c in runs]
    return {key: ["" if row[key] is None else row[key] for row in rows] for key in rows[0]}


def _draw_energies(axes: Axes, runs: Sequence[Compared], curves: Sequence[tuple[Floats, Floats]], kept: bool) -> None:
    """Draws the drift of the energy on a logarithmic axis if it must be conserved, else the change of the energy."""
    for c, (time, energy) in zip(runs, curves):
        look = {**law_style(c.numbers.law), "marker": ""}
        value = np.where(energy > 0.0, energy, np.nan) if kept else energy
        axes.plot(time, value, label=c.numbers.law, linewidth=1.3, **look)
    if kept:
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST, max(1e-8, 10.0 * max(c.numbers.energy_change_most for c in runs)))
        axes.axhline(BOUNDS["energy"], color=GRAY, linewidth=0.9, linestyle=(0, (1.4, 1)))
    else:
        middle = float(np.median([np.abs(c.energy).max() for c in runs])) or 1.0
        top = min(2.5 * middle, max(float(c.energy.max()) for c in runs))
        bottom = max(-2.5 * middle, min(float(c.energy.min()) for c in runs))
        room = 0.05 * (top - bottom) or 1.0
        axes.set_ylim(bottom - room, top + room)
    axes.set_title("Energy drift" if kept else "Change of the total energy since the start", fontsize=8.5)
    axes.set_xlabel(TIME, fontsize=7.5)
    axes.set_ylabel("relative to the largest\nkinetic energy", fontsize=7.5)
    axes.tick_params(labelsize=7)
    axes.set_xlim(0.0, max(float(c.run.steps["time"][-1]) for c in runs))
    axes.legend(fontsize=7, handlelength=2.6, loc="center left", bbox_to_anchor=(1.0, 0.5))
