"""Figures of a run: an overview, or one quantity each. PNG, SVG, and the plotted numbers as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from ..analysis.run_panels import Panel, overview, panel
from ..studies.plotting import CYCLE, DASHES, GREY, WIDE, styled, write
from ..trajectory import Trajectory
from .run_picture import COLOURS, View, draw_state, limits, speed_scale

SMALLEST = 1e-18  # on logarithmic axes zeros stand here, below all rounding
TIME = "time (time units)"


def draw_overview(run: Trajectory, out: Path, stem: str) -> tuple[Path, ...]:
    """The last frame, and the curves that tell most about this run, on one sheet."""
    panels = overview(run)
    with styled(3, 2, height=4.8) as (figure, axes):
        _draw_last(figure, axes[0], run, -1)
        for a, p in zip(axes[1:], panels):
            draw_panel(a, p)
        _title(figure, run)
        return write(figure, out, f"{stem}-overview", long_table(panels))


def draw_one(run: Trajectory, name: str, out: Path, stem: str, x: float | None = None) -> tuple[Path, ...]:
    """One quantity. `energy` has its drift beside it."""
    names = ["energy", "drift"] if name == "energy" else [name]
    panels = [panel(run, n, x) for n in names]
    with styled(len(panels), width=WIDE if len(panels) > 1 else 4.6) as (figure, axes):
        for a, p in zip(axes, panels):
            draw_panel(a, p)
        _title(figure, run)
        return write(figure, out, f"{stem}-{name}", long_table(panels))


def draw_frame(run: Trajectory, index: int, out: Path, stem: str) -> tuple[Path, ...]:
    """The bodies of one frame; the CSV has a row for each."""
    with styled(1, width=5.0, height=4.4) as (figure, axes):
        _draw_last(figure, axes[0], run, index)
        _title(figure, run)
        s = run.frame(index)
        columns = {"body": np.arange(run.count), "x": s.position[:, 0], "y": s.position[:, 1], "angle": s.angle}
        columns |= {"vx": s.velocity[:, 0], "vy": s.velocity[:, 1]}
        if s.velocity.shape[1] == 3:
            columns["spin"] = s.velocity[:, 2]
        return write(figure, out, f"{stem}-state", {**columns, "radius": run.geometry["radius"]})


def _draw_last(figure: Figure, axes: Axes, run: Trajectory, index: int) -> None:
    view = View.of(run, index)
    scale = speed_scale([view])
    draw_state(axes, view, scale, limits([view]))
    axes.set_title(f"Bodies at time {view.state.time:g}")
    axes.set_xlabel("length units")
    colour_bar(figure, [axes], scale)


def colour_bar(figure: Figure, axes: Sequence[Axes], scale: matplotlib.colors.Normalize) -> None:
    bar = figure.colorbar(ScalarMappable(scale, COLOURS), ax=list(axes), shrink=0.8, extend="max", aspect=30, pad=0.02)
    bar.set_label("speed (length / time)", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]


def _title(figure: Figure, run: Trajectory) -> None:
    s = run.settings
    bodies = f"{run.count:,} {'body' if run.count == 1 else 'bodies'}"
    text = f"{run.name}, law {run.law}, {bodies}, {s.stepper} steps of {s.step:g}"
    figure.suptitle(text, fontsize=9.5, x=0.01, ha="left")


def draw_panel(axes: Axes, p: Panel) -> None:
    """Curves over time, with a legend where there are several."""
    if p.stacked:
        axes.stackplot(p.curves[0].time, *(c.value for c in p.curves), colors=CYCLE, labels=[c.name for c in p.curves])
    else:
        for k, c in enumerate(p.curves):
            value = np.maximum(c.value, SMALLEST) if p.log else c.value
            axes.plot(c.time, value, color=CYCLE[k], linestyle=DASHES[k], label=c.name, clip_on=not p.log)
    if p.log:
        axes.set_yscale("log")
        top = max([float(c.value.max(initial=0.0)) for c in p.curves] + [p.bound or 0.0])
        axes.set_ylim(SMALLEST, max(10.0 * top, 1e-14))
    elif p.name == "sides":
        axes.set_ylim(0.0, 1.0)
    elif p.name in ("contacts", "phases", "spread"):
        axes.set_ylim(bottom=0.0)
    if p.bound is not None:
        axes.axhline(p.bound, color=GREY, linewidth=0.9, linestyle=(0, (1.4, 1)))
        axes.annotate(f"bound {p.bound:g}", (1.0, p.bound), xycoords=("axes fraction", "data"), fontsize=7, color=GREY,
                      xytext=(0, 2), textcoords="offset points", ha="right")  # fmt: skip
    if len(p.curves) > 1:
        axes.legend(fontsize=7, handlelength=2.4, loc="best")
    axes.set_title(p.title, fontsize=8.5)
    axes.set(xlabel=TIME, ylabel=p.unit, xlim=_span(p))


def _span(p: Panel) -> tuple[float, float]:
    last = max(float(c.time[-1]) for c in p.curves)
    return 0.0, last if last > 0.0 else 1.0


def long_table(panels: Sequence[Panel]) -> dict[str, list[object]]:
    """One row for each plotted number: panel, curve, time, value."""
    out: dict[str, list[object]] = {"panel": [], "curve": [], "time": [], "value": []}
    for p in panels:
        for c in p.curves:
            out["panel"] += [p.name] * len(c.time)
            out["curve"] += [c.name] * len(c.time)
            out["time"] += c.time.tolist()
            out["value"] += c.value.tolist()
    return out
