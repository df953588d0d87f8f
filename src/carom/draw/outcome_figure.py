"""Figure of an outcome set: its projection on two velocities, with the answers of the laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analysis.outcome_plane import AREA, CURVE, Plane, plane_of
from ..analysis.outcomes import OutcomeSet
from .style import BLACK, COLUMN, GRAY, PALE, law_style, sheet

SAME = 5e-3  # answers closer than this share of the axes are drawn as one marker with all names


def outcome_figure(found: OutcomeSet, components: Sequence[int] | None = None) -> Figure:
    """The outcome set over two velocity components, by default those over which it spreads most."""
    plane = plane_of(found, components)
    with sheet(1.6 * COLUMN, 1.1 * COLUMN) as figure:
        axes = figure.subplots()
        _draw_set(axes, plane)
        if len(plane.orders):
            label = "orders of pairwise impacts" if found.all_orders else "orders of pairwise impacts, sampled"
            look: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GRAY, "markersize": 3}
            axes.plot(plane.orders[:, 0], plane.orders[:, 1], **look, label=label, zorder=3)
        _draw_laws(axes, found, *plane.components)
        axes.set(xlabel=plane.labels[0], ylabel=plane.labels[1])
        title = f"{found.problem.name}: size of the outcome set {found.size:.2f}"
        figure.suptitle(title, fontsize=9.5, x=0.01, ha="left")
        axes.margins(0.08)
        figure.legend(loc="outside right center", handlelength=1.4)
    return figure


def _draw_set(axes: Axes, plane: Plane) -> None:
    """The set itself: a curve, a cloud of outcomes, or an area."""
    if len(plane.points) == 0:
        return
    x, y = plane.points.T
    if plane.kind == CURVE:
        wide: dict[str, Any] = {"color": PALE, "linewidth": 7, "solid_capstyle": "round"}
        axes.plot(x, y, **wide, label="allowed, energy conserved", zorder=1)
    elif plane.kind == AREA:
        axes.fill(x, y, color=PALE, linewidth=0.8, label="allowed, energy may be lost", zorder=1)
    else:
        dots: dict[str, Any] = {"linestyle": "", "marker": ".", "color": PALE, "markersize": 3}
        axes.plot(x, y, **dots, label="allowed, energy conserved", zorder=1)
    if len(plane.corners):
        look: dict[str, Any] = {"linestyle": "", "marker": "|", "color": BLACK, "markersize": 7}
        axes.plot(*plane.corners.T, **look, label="corners of the set", zorder=2)


def _draw_laws(axes: Axes, found: OutcomeSet, a: int, b: int) -> None:
    """One marker for laws that agree; hollow where an answer breaks a condition of the set."""
    everything = np.array([[v[a], v[b]] for v in found.laws.values()]).reshape(-1, 2)
    everything = np.concatenate([everything, found.samples[:, [a, b]]])
    reach = max(float(np.ptp(everything, axis=0).max(initial=0.0)), np.finfo(float).tiny)
    waiting = dict(found.laws)
    while waiting:
        first = next(iter(waiting))
        at = waiting[first]
        group = [
            name
            for name, v in waiting.items()
            if np.abs(v - at).max() < SAME * reach and found.broken[name] == found.broken[first]
        ]
        look = {**law_style(first), "linestyle": "", "markersize": 6, "zorder": 4}
        outside = found.broken[first]
        look |= {"markerfacecolor": "none"} if outside else {"markeredgecolor": "white", "markeredgewidth": 0.6}
        note = f" (breaks {' and '.join(outside)})" if outside else ""
        axes.plot(at[a], at[b], **look, label=", ".join(group) + note)
        waiting = {name: v for name, v in waiting.items() if name not in group}
