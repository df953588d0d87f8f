"""Figure of an outcome set: its projection on two velocities, with the answers of the laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analysis.outcomes import OutcomeSet
from ..errors import ProblemError
from ..solvers.rows import Floats
from .style import BLACK, COLUMN, GRAY, PALE, law_style, sheet

LETTERS = {1: ("",), 2: ("x", "y"), 3: ("x", "y", "spin"), 6: ("x", "y", "z", "spin x", "spin y", "spin z")}
SAME = 5e-3  # answers closer than this share of the axes are drawn as one marker with all names


def widest(found: OutcomeSet) -> tuple[int, int]:
    """The two velocity components over which the outcomes spread most."""
    points = np.concatenate([found.corners, found.orders, found.samples, *(v[None] for v in found.laws.values())])
    spread = np.ptp(points, axis=0) if len(points) else np.zeros(found.problem.velocity.size)
    order = np.argsort(-spread, kind="stable")
    return (int(order[0]), int(order[1 if len(order) > 1 else 0]))


def component_name(found: OutcomeSet, component: int) -> str:
    """For the label of an axis: the body, and the direction where there are several."""
    d = found.problem.block[1]
    if d == 1 and found.problem.positions is None:
        return f"velocity component {component} after impact"
    letters = LETTERS.get(d, tuple(str(k) for k in range(d)))
    if d == 3 and found.problem.positions is not None and found.problem.positions.shape[1] == 3:
        letters = ("x", "y", "z")
    what = letters[component % d]
    return f"velocity of body {component // d}{', ' + what if what else ''} after impact"


def outcome_figure(found: OutcomeSet, components: Sequence[int] | None = None) -> Figure:
    """The outcome set over two velocity components, by default those over which it spreads most."""
    size = found.problem.velocity.size
    chosen = widest(found) if components is None else tuple(int(c) for c in components)
    if len(chosen) != 2 or not all(0 <= c < size for c in chosen):
        raise ProblemError("components", components, f"two numbers of velocity components from 0 to {size - 1}")
    a, b = chosen
    with sheet(1.6 * COLUMN, 1.1 * COLUMN) as figure:
        axes = figure.subplots()
        _draw_set(axes, found, a, b)
        if len(found.orders):
            label = "orders of pairwise impacts" if found.all_orders else "orders of pairwise impacts, sampled"
            look: dict[str, Any] = {"linestyle": "", "marker": "o", "color": GRAY, "markersize": 3}
            axes.plot(found.orders[:, a], found.orders[:, b], **look, label=label, zorder=3)
        _draw_laws(axes, found, a, b)
        axes.set(xlabel=component_name(found, a), ylabel=component_name(found, b))
        title = f"{found.problem.name}: size of the outcome set {found.size:.2f}"
        figure.suptitle(title, fontsize=9.5, x=0.01, ha="left")
        axes.margins(0.08)
        figure.legend(loc="outside right center", handlelength=1.4)
    return figure


def _draw_set(axes: Axes, found: OutcomeSet, a: int, b: int) -> None:
    """The set itself: a curve, a cloud of outcomes, or an area."""
    points = np.concatenate([found.corners, found.samples])
    if len(points) == 0:
        return
    if found.elastic and found.dimension == 1:
        line = points[_along(found, points)]
        wide: dict[str, Any] = {"color": PALE, "linewidth": 7, "solid_capstyle": "round"}
        axes.plot(line[:, a], line[:, b], **wide, label="allowed, energy conserved", zorder=1)
    elif found.elastic:
        dots: dict[str, Any] = {"linestyle": "", "marker": ".", "color": PALE, "markersize": 3}
        axes.plot(points[:, a], points[:, b], **dots, label="allowed, energy conserved", zorder=1)
    else:
        area = _hull(points[:, [a, b]])
        axes.fill(area[:, 0], area[:, 1], color=PALE, linewidth=0.8, label="allowed, energy may be lost", zorder=1)
    if len(found.corners):
        look: dict[str, Any] = {"linestyle": "", "marker": "|", "color": BLACK, "markersize": 7}
        axes.plot(found.corners[:, a], found.corners[:, b], **look, label="corners of the set", zorder=2)


def _along(found: OutcomeSet, points: Floats) -> Any:
    """The order of points of a curve: by their angle around its center."""
    middle = points.mean(axis=0)
    _, _, turned = np.linalg.svd(points - middle, full_matrices=False)
    return np.argsort((points - middle) @ turned[0], kind="stable")


def _hull(points: Floats) -> Floats:
    """The convex hull of points in the plane, or the two ends of a segment."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        order = np.lexsort((points[:, 1], points[:, 0]))
        return points[[order[0], order[-1], order[0]]]


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
