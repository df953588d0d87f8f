"""An outcome set over two velocity components: what a figure of it, or a panel of a page, draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .outcomes import OutcomeSet

LETTERS = {1: ("",), 2: ("x", "y"), 3: ("x", "y", "spin"), 6: ("x", "y", "z", "spin x", "spin y", "spin z")}
CURVE, CLOUD, AREA = "curve", "cloud", "area"


@dataclass(frozen=True, eq=False)
class Plane:
    """The projection of an outcome set."""

    components: tuple[int, int]
    labels: tuple[str, str]
    kind: str  # CURVE: points along it; CLOUD: outcomes; AREA: its outline
    points: Floats  # (k, 2)
    corners: Floats  # (k, 2)
    orders: Floats  # (k, 2)


def plane_of(found: OutcomeSet, components: Sequence[int] | None = None) -> Plane:
    """The projection on two velocity components, by default those over which the outcomes spread most."""
    size = found.problem.velocity.size
    chosen = _widest(found) if components is None else [int(c) for c in components]
    if len(chosen) != 2 or not all(0 <= c < size for c in chosen):
        raise ProblemError("components", components, f"two numbers of velocity components from 0 to {size - 1}")
    points = np.concatenate([found.corners, found.samples])
    if found.elastic and found.dimension == 1:
        kind, drawn = CURVE, points[_along(points)][:, chosen]
    elif found.elastic:
        kind, drawn = CLOUD, points[:, chosen]
    else:
        kind, drawn = AREA, _hull(points[:, chosen])
    labels = (_label(found, chosen[0]), _label(found, chosen[1]))
    return Plane((chosen[0], chosen[1]), labels, kind, drawn, found.corners[:, chosen], found.orders[:, chosen])


def _widest(found: OutcomeSet) -> list[int]:
    """The two velocity components over which the outcomes spread most."""
    points = np.concatenate([found.corners, found.orders, found.samples, *(v[None] for v in found.laws.values())])
    spread = np.ptp(points, axis=0) if len(points) else np.zeros(found.problem.velocity.size)
    order = np.argsort(-spread, kind="stable")
    return [int(order[0]), int(order[1 if len(order) > 1 else 0])]


def _label(found: OutcomeSet, component: int) -> str:
    """For an axis: the body, and the direction where there are several."""
    d = found.problem.block[1]
    if d == 1 and found.problem.positions is None:
        return f"velocity component {component} after impact"
    letters = LETTERS.get(d, tuple(str(k) for k in range(d)))
    if d == 3 and found.problem.positions is not None and found.problem.positions.shape[1] == 3:
        letters = ("x", "y", "z")
    what = letters[component % d]
    return f"velocity of body {component // d}{', ' + what if what else ''} after impact"


def _along(points: Floats) -> np.ndarray:
    """The order of points of a curve: along its longest direction."""
    if len(points) == 0:
        return np.zeros(0, np.int64)
    middle = points.mean(axis=0)
    _, _, turned = np.linalg.svd(points - middle, full_matrices=False)
    return np.argsort((points - middle) @ turned[0], kind="stable")


def _hull(points: Floats) -> Floats:
    """The convex hull of points in the plane, or the two ends of a segment."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import

    if len(points) == 0:
        return points
    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        order = np.lexsort((points[:, 1], points[:, 0]))
        return points[[order[0], order[-1], order[0]]]
