"""Plots of energy and momentum over time as SVG with a cursor, for the panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ...solvers.rows import Floats
from ...trajectory import Trajectory
from ..colors import ticks
from ..style import BLUE, GREEN, ORANGE, RED

WIDTH, HEIGHT = 340, 136  # pixels
LEFT, RIGHT, TOP, BOTTOM = 50, 12, 26, 24  # margins
LETTER = 6.1  # width of a letter
POINTS = 300  # largest number of points of a line
COLORS = (BLUE, RED, GREEN, ORANGE)
INK, FAINT = "#3b4250", "#dfe3e9"


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity over time."""

    label: str
    color: str
    time: Floats
    value: Floats
    dashed: bool = False


class Plot:
    """Lines over one time axis. Everything but the cursor is drawn once."""

    def __init__(self, title: str, lines: Sequence[Line], end: float) -> None:
        self._lines = [line for line in lines if len(line.time)]
        self._start, self._end = min((float(line.time[0]) for line in self._lines), default=0.0), end
        self._low, self._high = _limits(self._lines)
        self._frame = self._axes(title) + "".join(self._drawn(line) for line in self._lines)

    def svg(self, time: float) -> str:
        """The plot with the cursor at a time and dots at the values there."""
        x = self._x(min(max(time, self._start), self._end))
        marks = [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{INK}" stroke-width="1"/>']
        for line in self._lines:
            value = float(np.interp(time, line.time, line.value))
            marks.append(f'<circle cx="{x:.1f}" cy="{self._y(value):.1f}" r="2.8" fill="{line.color}" stroke="white"/>')
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" xmlns="http://www.w3.org/2000/svg" '
            f'font-family="system-ui, sans-serif" font-size="10.5">{self._frame}{"".join(marks)}</svg>'
        )

    def _x(self, time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (time - self._start) / ((self._end - self._start) or 1.0)

    def _y(self, value: float) -> float:
        share = (value - self._low) / ((self._high - self._low) or 1.0)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(share, -0.02), 1.02)

    def _axes(self, title: str) -> str:
        out = [f'<text x="2" y="12" fill="{INK}" font-weight="600">{escape(title)}</text>']
        at = float(WIDTH - RIGHT)
        for line in reversed(self._lines):
            at -= LETTER * len(line.label)
            look = f'stroke="{line.color}" stroke-width="2"' + (' stroke-dasharray="4 2.5"' if line.dashed else "")
            out.append(f'<text x="{at:.0f}" y="12" fill="{INK}">{escape(line.label)}</text>')
            out.append(f'<line x1="{at - 17:.0f}" x2="{at - 4:.0f}" y1="8.5" y2="8.5" {look}/>')
            at -= 25
        for value in ticks(self._low, self._high, 3):
            y = self._y(value)
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{FAINT}"/>')
            out.append(f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end" fill="{INK}">{_short(value)}</text>')
        for time in ticks(self._start, self._end, 4):
            x = self._x(time)
            if x > WIDTH - RIGHT - 38:  # the label of the axis is there
                continue
            out.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle" fill="{INK}">{_short(time)}</text>')
        out.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end" fill="{INK}">time</text>')
        return "".join(out)

    def _drawn(self, line: Line) -> str:
        time, value = _thinned(line.time, line.value)
        points = " ".join(f"{self._x(t):.1f},{self._y(v):.1f}" for t, v in zip(time, value))
        dash = ' stroke-dasharray="5 3"' if line.dashed else ""
        return (
            f'<polyline points="{points}" fill="none" stroke="{line.color}" stroke-width="1.6" '
            f'stroke-linejoin="round"{dash}/>'
        )


def energy_plot(runs: Sequence[Trajectory], end: float) -> Plot:
    """Kinetic, potential and total energy of one run, or the total energies of two."""
    heavy = any(np.ptp(run.potential) > 0.0 for run in runs)
    if len(runs) > 1:
        lines = [
            Line(_law(run, runs), COLORS[k], run.time, run.kinetic + run.potential, k > 0) for k, run in enumerate(runs)
        ]
        return Plot("Energy, total" if heavy else "Energy, kinetic", lines, end)
    run = runs[0]
    lines = [Line("kinetic", COLORS[1], run.time, run.kinetic)]
    if heavy:
        total = Line("total", COLORS[0], run.time, run.kinetic + run.potential)
        lines = [Line("potential", COLORS[2], run.time, run.potential), total, *lines]
    return Plot("Energy", lines, end)


def momentum_plot(runs: Sequence[Trajectory], end: float) -> Plot:
    """The components of the momentum of one run, or the magnitudes of the momenta of two."""
    lines = []
    for k, run in enumerate(runs):
        p = run.momentum
        if len(runs) == 1:
            lines += [Line(f"{'xyz'[i]}", COLORS[i], run.time, p[:, i]) for i in range(p.shape[1])]
        else:
            lines.append(Line(_law(run, runs), COLORS[k], run.time, np.linalg.norm(p, axis=1), k > 0))
    return Plot("Momentum" if len(runs) == 1 else "Momentum, magnitude", lines, end)


def _law(run: Trajectory, runs: Sequence[Trajectory]) -> str:
    """The label of a run: its law, or its position if both have the same law."""
    if len({other.law for other in runs}) == len(runs):
        return run.law
    return "left" if run is runs[0] else "right"


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    values = [line.value[np.isfinite(line.value)] for line in lines]
    low = min((float(v.min()) for v in values if len(v)), default=0.0)
    high = max((float(v.max()) for v in values if len(v)), default=1.0)
    low, high = min(low, 0.0), max(high, 0.0)  # the axis includes zero
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        return low - 1.0, high + 1.0
    edge = 0.06 * (high - low)
    return low - (edge if low < 0.0 else 0.0), high + (edge if high > 0.0 else 0.0)


def _thinned(time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """At most POINTS points; the minimum and maximum of each interval are kept, so that no peak is lost."""
    value = np.nan_to_num(value)
    if len(time) <= POINTS:
        return time, value
    parts = np.array_split(np.arange(len(time)), POINTS // 2)
    keep = sorted({0, len(time) - 1} | {int(p[f(value[p])]) for p in parts for f in (np.argmin, np.argmax)})
    return time[keep], value[keep]


def _short(value: float) -> str:
    return "0" if abs(value) < 1e-300 else f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")
