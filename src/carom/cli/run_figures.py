"""Figures of a run: an overview, or one quantity each. PNG, SVG, and the plotted numbers as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, FigureBase, SubFigure

from ..analysis.run_panels import Panel, overview, panel
from ..pictures import Camera
from ..plotting import CYCLE, GREY, WIDE, sheet, styled, write
from ..stepping.report import PHASES
from ..trajectory import Trajectory
from .run_picture import Angle, Frame, View, colour_map, draw_state, frame_of, speed_scale, tallness

SMALLEST = 1e-17  # where logarithmic axes end: below all rounding; zeros are left out
MANY = 200  # contacts from which their axis is logarithmic, so that iterations are seen beside them
TIME = "time (time units)"
PLAIN = Angle()


def draw_overview(run: Trajectory, out: Path, stem: str, angle: Angle = PLAIN) -> tuple[Path, ...]:
    """The last frame, the curves that tell most about this run, and where the time went, on one sheet.

    Of space there are three moments above the curves: in the plane one picture holds all, in space bodies hide bodies.
    """
    panels = overview(run)
    if run.dimension == 3:
        return _draw_space_overview(run, panels, out, stem, angle)
    with sheet(WIDE, 4.6) as figure:
        above, below = split(figure, 2, 1, height_ratios=[1, 0.13])
        left, right = split(above, 1, 2, width_ratios=[1.0, 1.45])
        view = View.of(run)
        _draw_state(left, left.subplots(), view, frame_of([view]))
        for axes, p in zip(right.subplots(2, 2).flat, panels):
            draw_panel(axes, p)
        _draw_shares(below.subplots(), run)
        _title(figure, run)
        return write(figure, out, f"{stem}-overview", long_table(panels))


def _draw_space_overview(run: Trajectory, panels: list[Panel], out: Path, stem: str, angle: Angle) -> tuple[Path, ...]:
    views = [View.of(run, k) for k in moments_of(run, 3)]
    frame = frame_of(views, angle)
    height = WIDE / len(views) * tallness(frame) + 0.95
    with sheet(WIDE, height + 3.7) as figure:
        above, below, shares = split(figure, 3, 1, height_ratios=[height, 3.2, 0.5])
        _draw_moments(above, views, frame, 500, by_group=angle.by_group)
        for axes, p in zip(below.subplots(2, 2).flat, panels):
            draw_panel(axes, p)
        _draw_shares(shares.subplots(), run)
        _title(figure, run)
        return write(figure, out, f"{stem}-overview", long_table(panels))


def draw_moments(run: Trajectory, out: Path, stem: str, angle: Angle = PLAIN, count: int = 4) -> tuple[Path, ...]:
    """Several frames side by side, evenly from the start to the end; the CSV has the bodies of each."""
    chosen = moments_of(run, count)
    views = [View.of(run, k) for k in chosen]
    frame = frame_of(views, angle)
    columns = 2 if len(views) > 1 and tallness(frame) < 0.8 else len(views)
    rows = -(-len(views) // columns)
    with sheet(WIDE, rows * (WIDE / columns * float(np.clip(tallness(frame), 0.2, 2.0)) + 0.35) + 0.9) as figure:
        _draw_moments(figure, views, frame, 1440 // columns, rows, angle.by_group)
        _title(figure, run)
        tables = [{"time": np.full(run.count, view.state.time), **_columns(run, view)} for view in views]
        joined = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        return write(figure, out, f"{stem}-moments", joined)


def moments_of(run: Trajectory, count: int) -> list[int]:
    """Numbers of frames, evenly from the first to the last; fewer if there are not as many."""
    return sorted({round(k) for k in np.linspace(0, len(run) - 1, count)})


def _draw_moments(
    figure: FigureBase, views: Sequence[View], frame: Frame, width: int, rows: int = 1, by_group: bool = False
) -> None:
    # One scale for all, that of the fastest moment: a start from rest would have no colours of its own.
    scale = max((speed_scale([view]) for view in views), key=lambda s: float(s.vmax or 0.0))
    panels = list(figure.subplots(rows, -(-len(views) // rows), squeeze=False, sharex=True, sharey=True).flat)
    for axes, view in zip(panels, views):
        draw_state(axes, view, scale, frame, width, by_group)
        axes.set_title(f"time {view.state.time:.4g}", fontsize=8.5)
        if axes is not panels[0] and isinstance(frame, Camera):
            axes.set_xlabel("")  # the same squares for all
    for axes in panels[len(views) :]:
        axes.set_axis_off()
    if not by_group:
        colour_bar(figure, panels, scale, frame, aspect=70)


def draw_one(run: Trajectory, name: str, out: Path, stem: str, x: float | None = None) -> tuple[Path, ...]:
    """One quantity. `energy` has its drift beside it."""
    names = ["energy", "drift"] if name == "energy" else [name]
    panels = [panel(run, n, x) for n in names]
    with styled(len(panels), width=WIDE if len(panels) > 1 else 4.6) as (figure, axes):
        for a, p in zip(axes, panels):
            draw_panel(a, p)
        _title(figure, run)
        return write(figure, out, f"{stem}-{name}", long_table(panels))


def draw_frame(run: Trajectory, index: int, out: Path, stem: str, angle: Angle = PLAIN) -> tuple[Path, ...]:
    """The bodies of one frame; the CSV has a row for each."""
    view = View.of(run, index)
    frame = frame_of([view], angle)
    tall = 5.0 if run.dimension == 2 else 5.0 * tallness(frame) + (0.7 if angle.by_group else 1.1)
    with styled(1, width=5.0, height=tall) as (figure, axes):
        _draw_state(figure, axes[0], view, frame, angle.by_group)
        _title(figure, run)
        return write(figure, out, f"{stem}-state", _columns(run, view))


def _columns(run: Trajectory, view: View) -> dict[str, Any]:
    """A row for each body: place, orientation, velocity, spin (in space about the body's own axes), radius."""
    s, dim = view.state, run.dimension
    axes = "xyz"[:dim]
    columns = {"body": np.arange(run.count)} | {axis: s.position[:, k] for k, axis in enumerate(axes)}
    if dim == 2:
        columns["angle"] = s.orientation
    else:
        columns |= {f"q{part}": s.orientation[:, k] for k, part in enumerate("wxyz")}
    columns |= {f"v{axis}": s.velocity[:, k] for k, axis in enumerate(axes)}
    if view.world.turns:
        names = ["spin"] if dim == 2 else [f"spin_{axis}" for axis in "xyz"]
        columns |= {name: s.velocity[:, dim + k] for k, name in enumerate(names)}
    return {**columns, "radius": run.geometry["radius"]}


def split(figure: FigureBase, rows: int, columns: int, **ratios: Any) -> list[SubFigure]:
    """Parts of a figure that are laid out apart from each other."""
    return list(np.asarray(figure.subfigures(rows, columns, **ratios), dtype=object).ravel())


def _draw_state(figure: FigureBase, axes: Axes, view: View, frame: Frame, by_group: bool = False) -> None:
    scale = speed_scale([view])
    draw_state(axes, view, scale, frame, 1000, by_group)
    axes.set_title(f"Bodies at time {view.state.time:g}", fontsize=8.5)
    if isinstance(frame, tuple):
        axes.set_xlabel("length units", fontsize=7.5)
    if not by_group:
        colour_bar(figure, [axes], scale, frame)


def colour_bar(figure: FigureBase, axes: Sequence[Axes], scale: Normalize, frame: Frame, aspect: float = 40) -> None:
    """The speeds that the colours mean, below the bodies."""
    bar = figure.colorbar(
        ScalarMappable(scale, colour_map(frame)),
        ax=list(axes),
        location="bottom",
        shrink=0.7,
        extend="max",
        aspect=aspect,
        pad=0.03,
    )
    bar.set_label("speed (length / time)", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def _draw_shares(axes: Axes, run: Trajectory) -> None:
    """One bar: what part of the computing time each phase took."""
    seconds = {phase: float(run.steps[f"seconds_{phase}"].sum()) for phase in PHASES}
    total, left = sum(seconds.values()) or 1.0, 0.0
    for k, (phase, value) in enumerate(seconds.items()):
        share = value / total
        axes.barh(0, share, left=left, color=CYCLE[k], height=0.8, edgecolor="white", linewidth=0.8)
        if share > 0.08:
            look: dict[str, Any] = {
                "ha": "center",
                "va": "center",
                "fontsize": 7,
                "color": "white" if k < 3 else "black",
            }
            axes.text(left + share / 2, 0, f"{phase} {100 * share:.0f} %", **look)
        left += share
    axes.set(xlim=(0, 1), ylim=(-0.45, 0.45))
    axes.set_title(f"Where {total:.3g} s of computing went", fontsize=8.5)
    axes.set_axis_off()


def _title(figure: Figure, run: Trajectory) -> None:
    s = run.settings
    bodies = f"{run.count:,} {'body' if run.count == 1 else 'bodies'}"
    text = f"{run.name}, law {run.law}, {bodies}, {s.stepper} steps of {s.step:g}"
    figure.suptitle(text, fontsize=9.5, x=0.01, ha="left")


def draw_panel(axes: Axes, p: Panel) -> None:
    """Curves over time, with a legend where there are several."""
    if p.style == "stacked":
        axes.stackplot(p.curves[0].time, *(c.value for c in p.curves), colors=CYCLE, labels=[c.name for c in p.curves])
    elif p.style == "dots":
        _draw_dots(axes, p)
    else:
        for k, c in enumerate(p.curves):
            value = np.where(c.value > 0.0, c.value, np.nan) if p.log else c.value
            axes.plot(c.time, value, color=CYCLE[k], label=c.name, linewidth=1.2)
            if c.high is not None and (c.high > c.value).any():
                axes.fill_between(c.time, c.value, c.high, color=CYCLE[k], alpha=0.22, linewidth=0)
    _set_range(axes, p)
    if p.bound is not None:
        axes.axhline(p.bound, color=GREY, linewidth=0.9, linestyle=(0, (1.4, 1)))
        look: dict[str, Any] = {"fontsize": 7, "color": GREY, "ha": "right", "va": "top"}
        place: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (0, -2),
            "textcoords": "offset points",
        }
        axes.annotate(f"bound {p.bound:g}", (1.0, p.bound), **place, **look)
    if len(p.curves) > 1:
        axes.legend(fontsize=7, handlelength=1.8, loc="best", labelspacing=0.3)
    axes.set_title(p.title, fontsize=8.5)
    axes.set_xlabel(TIME, fontsize=7.5)
    axes.set_ylabel(p.unit, fontsize=7.5)
    axes.tick_params(labelsize=7)
    axes.set_xlim(_span(p))


def _draw_dots(axes: Axes, p: Panel) -> None:
    """Only what is above zero: most steps have no overlap, and lines down to zero would hide the rest."""
    for k, c in enumerate(p.curves):
        there = c.value > 0.0
        look: dict[str, Any] = {"marker": "." if k == 0 else "o", "markersize": 3 if k == 0 else 2.6, "linestyle": ""}
        face = CYCLE[k] if k == 0 else "none"
        axes.plot(c.time[there], c.value[there], color=CYCLE[k], label=c.name, markerfacecolor=face, **look)


def _set_range(axes: Axes, p: Panel) -> None:
    top = max(float(np.abs(c.value if c.high is None else c.high).max(initial=0.0)) for c in p.curves)
    if p.log:
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST, max(10.0 * top, 10.0 * (p.bound or 0.0), 1e-14))
        axes.minorticks_off()
        if not any((c.value > 0.0).any() for c in p.curves):
            axes.text(0.5, 0.5, "exactly 0", transform=axes.transAxes, ha="center", color=GREY, fontsize=8)
    elif p.name == "sides":
        axes.set_ylim(0.0, 1.0)
    elif p.name == "contacts" and top > MANY:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(0.0, 3.0 * top)
    elif p.name in ("contacts", "phases", "spread"):
        axes.set_ylim(0.0, 1.08 * top or 1.0)
    elif p.least and top < p.least:
        axes.set_ylim(-0.05 * p.least, p.least)


def _span(p: Panel) -> tuple[float, float]:
    last = max(float(c.time[-1]) for c in p.curves)
    return 0.0, last if last > 0.0 else 1.0


def long_table(panels: Sequence[Panel]) -> dict[str, list[object]]:
    """One row for each plotted number; `largest` where `value` is the mean of a stretch."""
    out: dict[str, list[object]] = {"panel": [], "curve": [], "time": [], "value": [], "largest": []}
    for p in panels:
        for c in p.curves:
            out["panel"] += [p.name] * len(c.time)
            out["curve"] += [c.name] * len(c.time)
            out["time"] += c.time.tolist()
            out["value"] += c.value.tolist()
            out["largest"] += ["" if c.high is None else v for v in (c.value if c.high is None else c.high).tolist()]
    return out
