"""The figure of `carom demo`: one row per law, with each cradle a moment after impact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from ..analysis.cradles import ARRIVING, BALLS, Outcome, Row, arriving_speeds
from ..laws import DESIDERATA
from .style import BLUE, GREEN, RED, save, sheet

# Color-blind readers can tell these apart; arrows and signs repeat each meaning.
FORWARD, BACKWARD, STILL, RIGHT = BLUE, RED, "#C9CED6", GREEN
INK, FAINT, PAPER = "#1B1F27", "#6B7280", "#FFFFFF"

WIDTH, HEIGHT, DOTS = 40 / 3, 7.5, 144  # inches and dots per inch: 1920 x 1080 pixels
LEFT, TOP, BOTTOM = 0.45, 2.1, 0.55
NAME_WIDTH, CRADLE_WIDTH = 1.7, 3.85
LARGEST = 0.36  # largest diameter of a ball, inches
MOMENT = 1.1  # diameters that a ball of speed 1 has moved in the figure
SHORTEST = 0.15  # speed below which an arrow would be shorter than its head


def draw(rows: list[Row], path: Path) -> Path:
    """Writes the PNG and returns its path."""
    with sheet(WIDTH, HEIGHT) as figure:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))  # inches from the upper left corner
        axes.set_axis_off()
        pitch = (HEIGHT - TOP - BOTTOM) / max(len(rows), 1)
        _head(axes)
        for k, row in enumerate(rows):
            _row(axes, row, TOP + (k + 0.5) * pitch, pitch)
        _foot(axes)
        return save(figure, path, dots=DOTS)


def _columns() -> list[float]:
    """The left edge of each cradle."""
    return [LEFT + NAME_WIDTH + k * CRADLE_WIDTH for k in range(len(ARRIVING))]


def _tick_columns() -> list[float]:
    """The center of each column of ticks."""
    start = _columns()[-1] + CRADLE_WIDTH + 0.25
    step = (WIDTH - LEFT - 0.2 - start) / (len(DESIDERATA) - 1)
    return [start + k * step for k in range(len(DESIDERATA))]


def _head(axes: Axes) -> None:
    _text(axes, LEFT, 0.42, "Newton's cradle under every impact law", 25, INK, weight="bold")
    _text(axes, LEFT, 0.82, f"{BALLS} equal balls that touch, restitution 1, a moment after impact", 14, FAINT)
    for x, count in zip(_columns(), ARRIVING):
        _text(axes, x + 0.1, 1.27, f"{count} ball{'s' if count > 1 else ''} in", 15, INK, weight="bold")
        _cradle(axes, x, 1.67, arriving_speeds(count), LARGEST, before=True)
    _text(axes, LEFT, 1.67, "before impact", 13, FAINT, style="italic")
    ticks = _tick_columns()
    _text(axes, ticks[0] - 0.14, 1.27, "what the law claims", 15, INK, weight="bold")
    for x, key in zip(ticks, DESIDERATA):
        _text(axes, x, 1.67, key, 11, INK, ha="center", family="DejaVu Sans Mono")
    axes.plot([LEFT, WIDTH - LEFT], [TOP - 0.08] * 2, color=INK, lw=1.2)


def _row(axes: Axes, row: Row, y: float, pitch: float) -> None:
    _text(axes, LEFT, y - 0.08, row.name, 15, INK, weight="bold")
    _text(axes, LEFT, y + 0.14, row.law.paper.key, 10, FAINT)
    for x, outcome in zip(_columns(), row.outcomes):
        if outcome.as_observed:
            _box(axes, x + 0.02, y - 0.43 * pitch, CRADLE_WIDTH - 0.14, 0.86 * pitch)
        _cradle(axes, x, y, outcome.velocities, min(LARGEST, 0.75 * pitch), before=False)
        _energy(axes, x + CRADLE_WIDTH - 0.22, y, outcome)
    for x, key in zip(_tick_columns(), DESIDERATA):
        if key in row.law.claims:
            _text(axes, x, y, "✓", 16, RIGHT, ha="center", weight="bold")
        else:
            _text(axes, x, y, "–", 12, FAINT, ha="center")


def _cradle(axes: Axes, left: float, y: float, speeds: list[float], size: float, before: bool) -> None:
    """Balls of diameter `size`, each displaced along its velocity: backward before impact, forward after it.

    Balls overlap only if the solution is infeasible.
    """
    start = left + 1.75 * size
    shift = (-0.55 if before else 1.0) * MOMENT
    places = [start + (k + shift * v) * size for k, v in enumerate(speeds)]
    for x, v in zip(places, speeds):
        moving = abs(v) >= 0.005
        color = STILL if not moving else FORWARD if v > 0 else BACKWARD
        layer = 4 if moving else 3
        axes.add_patch(Circle((x, y), 0.48 * size, fc=color, ec=INK, lw=0.8, alpha=0.9, zorder=layer))
        if moving:
            _text(axes, x, y + 0.005, _label(v), 25 * size, PAPER, ha="center", weight="bold", zorder=5)
    if not before:
        _arrow(axes, places[0], y, min(speeds[0], 0.0), size)
        _arrow(axes, places[-1], y, max(speeds[-1], 0.0), size)


def _arrow(axes: Axes, x: float, y: float, v: float, size: float) -> None:
    """An arrow from the edge of an outer ball that leaves; its length is proportional to the speed."""
    if abs(v) < SHORTEST:
        return
    side = 1.0 if v > 0 else -1.0
    tail, head = x + side * 0.54 * size, x + (side * 0.6 + 0.75 * v) * size
    style = f"-|>,head_length={0.2 + 0.3 * min(abs(v), 1.0)},head_width={0.12 + 0.14 * min(abs(v), 1.0)}"
    arrow = FancyArrowPatch((tail, y), (head, y), arrowstyle=style, mutation_scale=13, shrinkA=0, shrinkB=0)
    arrow.set(color=FORWARD if v > 0 else BACKWARD, linewidth=2.2, zorder=6)
    axes.add_patch(arrow)


def _label(v: float) -> str:
    """A speed with two digits, as in ".40" or "1.1"; color and arrow show the direction."""
    return f"{abs(v):.2f}".lstrip("0") if abs(v) < 0.995 else f"{abs(v):.1f}"


def _energy(axes: Axes, x: float, y: float, outcome: Outcome) -> None:
    percent = 100 * outcome.energy_kept
    off = abs(percent - 100) > 0.05
    color, weight = (BACKWARD, "bold") if off else (FAINT, "normal")
    _text(axes, x, y, f"{percent:.0f} %", 12, color, ha="right", weight=weight)


def _foot(axes: Axes) -> None:
    y = HEIGHT - 0.27
    _box(axes, LEFT, y - 0.09, 0.3, 0.18)
    _text(axes, LEFT + 0.4, y, "as many balls leave as arrive, within a quarter of the speed", 12, INK)
    legend = "in the balls: speed, forward blue, backward orange      %: kinetic energy left"
    _text(axes, WIDTH - LEFT, y, legend, 12, FAINT, ha="right")


def _box(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    """A green background for an outcome as observed."""
    shape = "round,pad=0,rounding_size=0.07"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, fc=RIGHT, alpha=0.17, ec="none", zorder=0))


def _text(axes: Axes, x: float, y: float, text: str, size: float, color: str, **style: Any) -> None:
    axes.text(x, y, text, size=size, color=color, va="center", **style)
