"""Convex polygons in 2D: checks, mass properties and width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats

STRAIGHT = 1e-6  # sine of the smallest turn at a vertex: contact detection cannot distinguish two edges with less


def polygon_moments(vertices: Floats) -> tuple[float, Floats, float]:
    """Area, centroid (2,) and second moment of area about the centroid of a simple polygon, counterclockwise."""
    x, y = vertices[:, 0], vertices[:, 1]
    x1, y1 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y1 - x1 * y
    area = 0.5 * cross.sum()
    center = np.array([((x + x1) * cross).sum(), ((y + y1) * cross).sum()]) / (6.0 * area)
    about_origin = ((x * x + x * x1 + x1 * x1 + y * y + y * y1 + y1 * y1) * cross).sum() / 12.0
    return float(area), center, float(about_origin - area * (center @ center))


def convex_polygon(vertices: Sequence[Sequence[float]], field: str) -> Floats:
    """The vertices (k, 2) of a strictly convex polygon, counterclockwise, about its center of mass.

    Raises a ProblemError for `field` otherwise. Vertices given clockwise are reversed.
    """
    try:
        corners = np.array(vertices, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(field, vertices, "corners (x, y)") from None
    if corners.ndim != 2 or corners.shape[1:] != (2,) or len(corners) < 3 or not np.isfinite(corners).all():
        raise ProblemError(field, vertices, "at least three corners (x, y), finite")
    turns = _turns(corners)
    if (turns < 0.0).all():
        corners = corners[::-1].copy()
        turns = _turns(corners)
    if not (turns > STRAIGHT).all() or not np.isclose(_winding(corners), 2.0 * np.pi):
        raise ProblemError(field, vertices, "a strictly convex polygon: its corners in order, none on a straight line")
    return np.ascontiguousarray(corners - polygon_moments(corners)[1])


def _turns(corners: Floats) -> Floats:
    """Sine of the turn at each vertex, positive to the left."""
    edge = np.roll(corners, -1, axis=0) - corners
    after = np.roll(edge, -1, axis=0)
    length = np.hypot(*edge.T) * np.hypot(*after.T)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((edge[:, 0] * after[:, 1] - edge[:, 1] * after[:, 0]) / length)


def _winding(corners: Floats) -> float:
    edge = np.roll(corners, -1, axis=0) - corners
    heading = np.arctan2(edge[:, 1], edge[:, 0])
    turn = np.diff(np.concatenate([heading, heading[:1]]))
    return float(((turn + np.pi) % (2.0 * np.pi) - np.pi).sum())


def half_width(vertices: Floats) -> float:
    """Half of the least width of a convex polygon, counterclockwise. The narrowest strip lies along an edge."""
    edge = np.roll(vertices, -1, axis=0) - vertices
    arm = vertices[None] - vertices[:, None]  # from the start of each edge to each vertex
    height = edge[:, :1] * arm[:, :, 1] - edge[:, 1:] * arm[:, :, 0]
    width = height.max(axis=1) / np.sqrt(edge[:, 0] * edge[:, 0] + edge[:, 1] * edge[:, 1])
    return 0.5 * float(width.min())
