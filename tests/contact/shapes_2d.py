"""Shapes, poses and boundaries for tests of contact in 2D, and slow but simple calculations to compare with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from carom.contact.boundaries import boundary_table
from carom.contact.contact_set import ContactSet
from carom.contact.polygons import Poses
from carom.geometry.polygons import convex_polygon, half_width
from carom.world import DISC, POLYGON, Boundaries, Shapes2D


def rectangle(width: float, height: float) -> np.ndarray:
    x, y = 0.5 * width, 0.5 * height
    return np.array([[-x, -y], [x, -y], [x, y], [-x, y]])


SQUARE = rectangle(1.0, 1.0)


def make_shapes(*bodies) -> Shapes2D:
    """A number is the radius of a disc, an array the corners of a polygon."""
    discs = [np.ndim(b) == 0 for b in bodies]
    corners = [np.zeros((0, 2)) if disc else np.asarray(b, float) for b, disc in zip(bodies, discs)]
    radius = np.array([float(b) if disc else np.hypot(*c.T).max() for b, c, disc in zip(bodies, corners, discs)])
    return Shapes2D(
        np.where(discs, DISC, POLYGON).astype(np.int8),
        radius,
        np.concatenate([[0], np.cumsum([len(c) for c in corners])]).astype(np.int64),
        np.concatenate(corners),
        np.array(discs, bool),
        np.array([r if disc else half_width(c) for r, c, disc in zip(radius, corners, discs)]),
    )


def make_poses(start, end=None, owner=None) -> Poses:
    """Rows (x, y, angle) at the start and at the end of the step; at rest if there is no end."""
    start = np.array(start, dtype=float).reshape(-1, 3)
    end = start if end is None else np.array(end, dtype=float).reshape(-1, 3)
    owner = np.arange(len(start)) if owner is None else np.array(owner, dtype=np.int64)
    return Poses(owner, start[:, :2].copy(), start[:, 2].copy(), end[:, :2].copy(), end[:, 2].copy())


def rows_of(table) -> list[dict]:
    """The contacts of a table as dictionaries."""
    found = ContactSet(table, 2)
    names = ("first", "second", "feature", "normal", "point", "gap", "predicted")
    columns = (found.first, found.second, found.feature_id, found.normal, found.point, found.gap, found.predicted)
    return [dict(zip(names, row)) for row in zip(*columns)]


def make_walls(*walls) -> np.ndarray:
    """A table of boundaries. Each wall is (kind, a, b, radius)."""
    w = len(walls)
    made = Boundaries(
        np.array([wall[0] for wall in walls], np.int8),
        np.array([wall[1] for wall in walls], float).reshape(w, 2),
        np.array([wall[2] for wall in walls], float).reshape(w, 2),
        np.array([wall[3] for wall in walls], float),
        np.zeros((w, 2)),
        np.zeros((w, 3)),
    )
    return boundary_table(made)


def placed(vertices, x, y, angle) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return vertices @ np.array([[c, s], [-s, c]]) + (x, y)


def hull_distance(p, q) -> float:
    """Distance of two convex hulls: least |P^T a - Q^T b| with a, b >= 0 that sum to one, by least squares.

    The sums are rows of weight w; what they are missed by changes the distance by about 1 / w^2.
    """
    w = 1e5
    top = np.hstack([p.T, -q.T])
    sums = w * np.vstack([np.r_[np.ones(len(p)), np.zeros(len(q))], np.r_[np.zeros(len(p)), np.ones(len(q))]])
    weights, _ = nnls(np.vstack([top, sums]), np.r_[0.0, 0.0, w, w])
    a, b = weights[: len(p)], weights[len(p) :]
    return float(np.hypot(*(p.T @ a / a.sum() - q.T @ b / b.sum())))


def hulls_meet(p, q) -> bool:
    """Whether two convex hulls have a point in common, by a linear program."""
    equal = np.vstack(
        [
            np.hstack([p.T, -q.T]),
            np.r_[np.ones(len(p)), np.zeros(len(q))],
            np.r_[np.zeros(len(p)), np.ones(len(q))],
        ]
    )
    return linprog(np.zeros(len(p) + len(q)), A_eq=equal, b_eq=np.r_[0.0, 0.0, 1.0, 1.0]).status == 0


def regular(n: int, radius: float = 1.0) -> np.ndarray:
    angle = 2.0 * np.pi * np.arange(n) / n
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@st.composite
def polygons(draw):
    """Convex polygons of 3 to 8 corners on an ellipse, none too sharp to measure."""
    n = draw(st.integers(3, 8))
    spacing = np.array([draw(st.floats(0.5, 1.5)) for _ in range(n)])
    angle = 2.0 * np.pi * np.cumsum(spacing) / spacing.sum()
    stretch = draw(st.floats(0.3, 1.5))
    return convex_polygon(np.stack([np.cos(angle), stretch * np.sin(angle)], axis=1), "vertices")


places = st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-3.2, 3.2))
moves = st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
