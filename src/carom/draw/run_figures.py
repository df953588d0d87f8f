"""Figures of a run, for `carom plot`: an overview, the bodies in some frames, or one quantity over time.

Each is written as PNG, SVG and PDF, with the plotted numbers as CSV.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, FigureBase, SubFigure

from ..analysis.run_panels import Panel, overview, panel, solver_overview
from ..shown import counted
from ..stepping.report import PHASES
from ..trajectory import Trajectory
from .camera import Camera
from .figures import Angle, Frame, View, color_map, draw_state, frame_of, speed_scale, tallness
from .style import COLUMN, CYCLE, DASHES, GRAY, TIME, WIDE, X, Y, sheet, styled, write

SMALLEST = 1e-17  # lower end of logarithmic axes, below all rounding errors; zeros are left out
MANY = 200  # number of contacts from which their axis is logarithmic, so that quiet steps stay visible beside impacts
FLAT = 0.5  # height over width below which a picture is placed above the curves, not beside them
LETTER = 0.07  # inches: width of a letter in the bar of computing times
PLAIN = Angle()
# Names of columns by dimension
ORIENTATION = {2: ("angle (radians)",), 3: ("qw", "qx", "qy", "qz")}
SPIN = {2: ("spin",), 3: ("spin_x", "spin_y", "spin_z")}


def draw_overview(run: Trajectory, out: Path, called: str, angle: Angle = PLAIN) -> tuple[Path, ...]:
    """The last frame, and what happens in the run: energy, momentum, contacts, speed.

    A 3D run is shown at three instants, because bodies hide each other.
    """
    panels, view = overview(run), View.of(run)
    if run.dimension == 3:
        return _draw_tall_overview(run, [View.of(run, k) for k in moments_of(run, 3)], panels, out, called, angle)
    frame = frame_of([view])
    if tallness(frame) < FLAT:
        return _draw_tall_overview(run, [view], panels, out, called, angle)
    with sheet(WIDE, 4.1) as figure:
        left, right = split(figure, 1, 2, width_ratios=[1.0, 1.45])
        _draw_state(left, left.subplots(), view, frame)
        for axes, p in zip(right.subplots(2, 2).flat, panels):
            draw_panel(axes, p)
        _title(figure, run)
        return write(figure, out, called, long_table(panels))


def draw_solver(run: Trajectory, out: Path, called: str) -> tuple[Path, ...]:
    """How well the run was computed: drifts, overlap, iterations, residual, and the computing time of each phase."""
    panels = solver_overview(run)
    with sheet(WIDE, 4.2) as figure:
        above, below = split(figure, 2, 1, height_ratios=[1, 0.15])
        for axes, p in zip(above.subplots(2, 2).flat, panels):
            draw_panel(axes, p)
        _draw_shares(below.subplots(), run)
        _title(figure, run)
        return write(figure, out, called, solver_table(run, panels))


def _draw_tall_overview(
    run: Trajectory, views: Sequence[View], panels: list[Panel], out: Path, called: str, angle: Angle
) -> tuple[Path, ...]:
    """The overview with pictures across the figure and the curves below them."""
    frame = frame_of(views, angle)
    height = WIDE / len(views) * max(tallness(frame), 0.12) + 0.95
    with sheet(WIDE, height + 3.2) as figure:
        above, below = split(figure, 2, 1, height_ratios=[height, 3.2])
        above.suptitle(" ", fontsize=2)  # room below the title of the figure
        _draw_moments(above, views, frame, 500, by_group=angle.by_group)
        for axes, p in zip(below.subplots(2, 2).flat, panels):
            draw_panel(axes, p)
        _title(figure, run)
        return write(figure, out, called, long_table(panels))


def draw_moments(run: Trajectory, out: Path, called: str, angle: Angle = PLAIN, count: int = 4) -> tuple[Path, ...]:
    """Several frames side by side, at equal intervals from start to end; the CSV lists the bodies of each."""
    chosen = moments_of(run, count)
    views = [View.of(run, k) for k in chosen]
    frame = frame_of(views, angle)
    columns = 2 if len(views) > 1 and tallness(frame) < 0.8 else len(views)
    rows = -(-len(views) // columns)
    with sheet(WIDE, rows * (WIDE / columns * float(np.clip(tallness(frame), 0.2, 2.0)) + 0.35) + 0.9) as figure:
        _draw_moments(figure, views, frame, 1440 // columns, rows, angle.by_group)
        _title(figure, run)
        tables = [{TIME: np.full(run.count, view.state.time), **_columns(run, view)} for view in views]
        joined = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        return write(figure, out, called, joined)


def moments_of(run: Trajectory, count: int) -> list[int]:
    """Indices of at most `count` frames at equal intervals from the first to the last."""
    return sorted({round(k) for k in np.linspace(0, len(run) - 1, count)})


def _draw_moments(
    figure: FigureBase, views: Sequence[View], frame: Frame, width: int, rows: int = 1, by_group: bool = False
) -> None:
    # All frames have the scale of the fastest one: a start from rest has no scale of its own.
    scale = max((speed_scale([view]) for view in views), key=lambda s: float(s.vmax or 0.0))
    panels = list(figure.subplots(rows, -(-len(views) // rows), squeeze=False, sharex=True, sharey=True).flat)
    for axes, view in zip(panels, views):
        draw_state(axes, view, scale, frame, width, by_group)
        axes.set_title(f"time {view.state.time:.4g}", fontsize=8.5)
        name_axes(axes, frame)
        if isinstance(frame, Camera):  # the grid is the same for all: it is named once, with room to the right
            axes.set_xlabel(axes.get_xlabel() if axes is panels[0] else "", loc="left")
    for axes in panels[len(views) :]:
        axes.set_axis_off()
    if not by_group:
        color_bar(figure, panels, scale, frame, aspect=70)


def draw_one(run: Trajectory, name: str, out: Path, called: str, x: float | None = None) -> tuple[Path, ...]:
    """One quantity over time; `energy` together with its drift. `x` is the dividing line of `sides`."""
    names = ["energy", "drift"] if name == "energy" else [name]
    panels = [panel(run, n, x) for n in names]
    with styled(len(panels), width=WIDE if len(panels) > 1 else COLUMN, height=2.6) as (figure, axes):
        for a, p in zip(axes, panels):
            draw_panel(a, p)
        _title(figure, run)
        return write(figure, out, called, long_table(panels))


def draw_frame(run: Trajectory, index: int, out: Path, called: str, angle: Angle = PLAIN) -> tuple[Path, ...]:
    """The bodies of one frame; the CSV has one row per body."""
    view = View.of(run, index)
    frame = frame_of([view], angle)
    tall = COLUMN * float(np.clip(tallness(frame), 0.2, 1.6)) + (0.8 if angle.by_group else 1.25)
    with styled(1, width=COLUMN, height=tall) as (figure, axes):
        _draw_state(figure, axes[0], view, frame, angle.by_group)
        _title(figure, run)
        return write(figure, out, called, _columns(run, view))


def _columns(run: Trajectory, view: View) -> dict[str, Any]:
    """One row per body: position, orientation, velocity, spin (in 3D about the principal axes), radius."""
    s, dim = view.state, run.dimension
    axes = "xyz"[:dim]
    columns: dict[str, Any] = {"body": np.arange(run.count)}
    columns |= {f"{axis} (length units)": s.position[:, k] for k, axis in enumerate(axes)}
    columns |= zip(ORIENTATION[dim], s.orientation.reshape(run.count, -1).T)
    columns |= {f"v{axis} (length / time)": s.velocity[:, k] for k, axis in enumerate(axes)}
    if view.world.turns:
        columns |= {f"{name} (radians / time)": s.velocity[:, dim + k] for k, name in enumerate(SPIN[dim])}
    return {**columns, "radius (length units)": run.geometry["radius"]}


def split(figure: FigureBase, rows: int, columns: int, **ratios: Any) -> list[SubFigure]:
    """Parts of a figure with independent layouts."""
    return list(np.asarray(figure.subfigures(rows, columns, **ratios), dtype=object).ravel())


def _draw_state(figure: FigureBase, axes: Axes, view: View, frame: Frame, by_group: bool = False) -> None:
    scale = speed_scale([view])
    draw_state(axes, view, scale, frame, 1000, by_group)
    axes.set_title(f"Bodies at time {view.state.time:g}", fontsize=8.5)
    name_axes(axes, frame)
    if not by_group:
        color_bar(figure, [axes], scale, frame)


def name_axes(axes: Axes, frame: Frame) -> None:
    """Labels the axes of 2D pictures at the edge of the figure; 3D pictures state their own scale."""
    if isinstance(frame, tuple):
        axes.set_xlabel(X, fontsize=7.5)
        axes.set_ylabel(Y, fontsize=7.5)
        axes.label_outer()


def color_bar(figure: FigureBase, axes: Sequence[Axes], scale: Normalize, frame: Frame, aspect: float = 40) -> None:
    """The color bar of speeds below the bodies."""
    bar = figure.colorbar(
        ScalarMappable(scale, color_map()),
        ax=list(axes),
        location="bottom",
        shrink=0.7,
        extend="max",
        aspect=aspect,
        pad=0.03,
    )
    bar.set_label("speed (length / time units)", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def _draw_shares(axes: Axes, run: Trajectory) -> None:
    """One bar with the share of each phase in the computing time."""
    seconds = seconds_of(run)
    total, left = sum(seconds.values()) or 1.0, 0.0
    for k, (phase, value) in enumerate(seconds.items()):
        share = value / total
        axes.barh(0, share, left=left, color=CYCLE[k], height=0.8, edgecolor="white", linewidth=0.8)
        texts = [f"{phase} {100 * share:.0f} %", phase]
        fitting = [text for text in texts if share * WIDE > LETTER * len(text)]
        if fitting:
            look: dict[str, Any] = {
                "ha": "center",
                "va": "center",
                "fontsize": 7,
                "color": "white" if k < 3 else "black",
            }
            axes.text(left + share / 2, 0, fitting[0], **look)
        left += share
    axes.set(xlim=(0, 1), ylim=(-0.45, 0.45))
    axes.set_title(f"Computing time by phase, {total:.3g} s in total", fontsize=8.5)
    axes.set_axis_off()


def seconds_of(run: Trajectory) -> dict[str, float]:
    """The computing time of each phase, in seconds."""
    return {phase: float(run.steps[f"seconds_{phase}"].sum()) for phase in PHASES}


def _title(figure: Figure, run: Trajectory) -> None:
    s = run.settings
    bodies = counted(run.count, "body", "bodies")
    narrow = figure.get_figwidth() < WIDE
    text = f"{run.name}, law {run.law}" + ("\n" if narrow else ", ") + f"{bodies}, {s.stepper} steps of {s.step:g}"
    figure.suptitle(text, fontsize=8.5 if narrow else 9.5, x=0.01, ha="left")


def draw_panel(axes: Axes, p: Panel) -> None:
    """Draws the curves of a panel over time, with a legend if there are several."""
    if p.style == "stacked":
        axes.stackplot(p.curves[0].time, *(c.value for c in p.curves), colors=CYCLE, labels=[c.name for c in p.curves])
    elif p.style == "dots":
        _draw_dots(axes, p)
    else:
        for k, c in enumerate(p.curves):
            value = np.where(c.value > 0.0, c.value, np.nan) if p.log else c.value
            axes.plot(c.time, value, color=CYCLE[k], linestyle=DASHES[k % len(DASHES)], label=c.name, linewidth=1.2)
            if c.high is not None and (c.high > c.value).any():
                axes.fill_between(c.time, c.value, c.high, color=CYCLE[k], alpha=0.22, linewidth=0)
    _set_range(axes, p)
    if p.bound is not None:
        axes.axhline(p.bound, color=GRAY, linewidth=0.9, linestyle=(0, (1.4, 1)))
        look: dict[str, Any] = {"fontsize": 7, "color": GRAY, "ha": "right", "va": "top"}
        place: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (0, -2),
            "textcoords": "offset points",
        }
        axes.annotate(f"bound {p.bound:g}", (1.0, p.bound), **place, **look)
    if len(p.curves) > 1:
        box: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "borderpad": 0.2}
        axes.legend(fontsize=7, handlelength=1.8, loc="best", labelspacing=0.3, **box)
    axes.set_title(p.title, fontsize=8.5)
    axes.set_xlabel(TIME, fontsize=7.5)
    axes.set_ylabel(p.unit, fontsize=7.5)
    axes.tick_params(labelsize=7)
    axes.set_xlim(_span(p))


def _draw_dots(axes: Axes, p: Panel) -> None:
    """Draws positive values as dots: most steps have no overlap, and lines down to zero would hide the rest."""
    for k, c in enumerate(p.curves):
        there = c.value > 0.0
        look: dict[str, Any] = {"marker": "." if k == 0 else "o", "markersize": 3 if k == 0 else 2.8, "linestyle": ""}
        look |= {"markerfacecolor": CYCLE[k] if k == 0 else "none", "markeredgewidth": 0.6, "zorder": 3 - 0.1 * k}
        axes.plot(c.time[there], c.value[there], color=CYCLE[k], label=c.name, **look)


def _set_range(axes: Axes, p: Panel) -> None:
    top = max(float(np.abs(c.value if c.high is None else c.high).max(initial=0.0)) for c in p.curves)
    if p.log:
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST, max(10.0 * top, 10.0 * (p.bound or 0.0), 1e-14))
        axes.minorticks_off()
        if top < 10.0 * SMALLEST:
            said = "exactly 0" if top == 0.0 else f"below {10.0 * SMALLEST:g}"
            axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color=GRAY, fontsize=8)
    elif p.name == "sides":
        axes.set_ylim(0.0, 1.0)
    elif p.name == "contacts" and top > MANY:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(0.0, 3.0 * top)
    elif p.name in ("contacts", "iterations", "phases", "spread", "speed"):
        axes.set_ylim(0.0, 1.08 * top or 1.0)
    elif p.least and top < p.least:
        axes.set_ylim(-0.05 * p.least, p.least)


def _span(p: Panel) -> tuple[float, float]:
    last = max(float(c.time[-1]) for c in p.curves)
    return 0.0, last if last > 0.0 else 1.0


def long_table(panels: Sequence[Panel]) -> dict[str, list[object]]:
    """One row per plotted number; `largest` is given where `value` is the mean over an interval."""
    out: dict[str, list[object]] = {"panel": [], "curve": [], TIME: [], "value": [], "largest": [], "unit": []}
    for p in panels:
        for c in p.curves:
            out["panel"] += [p.name] * len(c.time)
            out["curve"] += [c.name] * len(c.time)
            out[TIME] += c.time.tolist()
            out["value"] += c.value.tolist()
            out["largest"] += ["" if c.high is None else v for v in (c.value if c.high is None else c.high).tolist()]
            out["unit"] += [p.unit.replace("\n", " ")] * len(c.time)
    return out


def solver_table(run: Trajectory, panels: Sequence[Panel]) -> dict[str, list[object]]:
    """The curves, and the computing time of the phases."""
    rows = [["computing", phase, "", value, "", "seconds"] for phase, value in seconds_of(run).items()]
    return {name: [*cells, *more] for (name, cells), more in zip(long_table(panels).items(), zip(*rows))}
