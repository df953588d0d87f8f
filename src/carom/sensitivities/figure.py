"""Figure of a fit: residuals over time, and how they are distributed."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..draw.style import CYCLE, GRAY, MARKERS, TIME, WIDE, sheet
from .fit import Fit
from .follow import Passed

MOST_POINTS = 20_000


def residual_figure(found: Fit) -> Figure:
    """Residuals (measured minus fitted) over time by column; impacts as lines; and their distribution."""
    data = found.data
    with sheet(WIDE, 2.9) as figure:
        over, across = figure.subplots(1, 2, width_ratios=(3, 1), sharey=True)
        for time in _impacts(found.run.path)[:200]:
            over.axvline(time, color=GRAY, linewidth=0.5, linestyle=":", zorder=0)
        every = max(data.count // MOST_POINTS, 1)
        for k, name in enumerate(data.columns):
            mine = np.flatnonzero(data.column == k)[::every]
            style = {"color": CYCLE[k % len(CYCLE)], "marker": MARKERS[k % len(MARKERS)]}
            over.plot(data.time[mine], found.residual[mine], linestyle="", markersize=2.5, label=name, **style)
        over.axhline(0.0, color=GRAY, linewidth=0.8)
        over.set(xlabel=TIME, ylabel="measured minus fitted", title="Residuals; dotted lines are impacts")
        over.legend(ncols=len(data.columns), loc="upper left", borderaxespad=0.1, handletextpad=0.1)
        bins = min(40, max(int(np.sqrt(data.count)), 5))
        across.hist(found.residual, bins=bins, orientation="horizontal", color=GRAY)
        across.set(xlabel="count", title="Distribution")
    return figure


def _impacts(path: list[Passed]) -> list[float]:
    """Times of the impacts on a path, without those at which contacts begin or cease to hold a body."""
    times: set[float] = set()
    held: set[int] = set()
    for time, body, _, falls in path:
        if falls and body not in held:
            times.add(time)
        (held.discard if falls else held.add)(body)
    return sorted(times)
