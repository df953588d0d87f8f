"""Narrow phase for convex polygons of the plane: exact contacts of candidate pairs and of walls.

A pair has contacts if and only if it overlaps (up to a margin) after free flight. Their geometry is that of the start
of the step, where impulses act. The parts: `polygon_manifold` for two polygons, `polygon_disc` for a disc and a
polygon, `polygon_walls` for boundaries, `polygon_gaps` for distances of single bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import DISC
from .polygon_corners import most_corners, placed_corners, room
from .polygon_disc import polygon_disc
from .polygon_gaps import half_width, polygon_gap, wall_gap
from .polygon_manifold import polygon_polygon
from .polygon_walls import polygon_walls

__all__ = ["Poses", "half_width", "polygon_gap", "polygon_pairs", "polygon_walls", "wall_gap"]


class Poses(NamedTuple):
    """Where all bodies are, and after them their periodic copies: 0 at the start of the step, 1 after free flight."""

    owner: Ints  # (rows,) the body whose shape a row has
    position0: Floats  # (rows, 2)
    angle0: Floats  # (rows,)
    position1: Floats  # (rows, 2)
    angle1: Floats  # (rows,)


@kernel
def _apart(poses, a, b, reach):
    x = poses.position1[b, 0] - poses.position1[a, 0]
    y = poses.position1[b, 1] - poses.position1[a, 1]
    return reach < 0.0 or x * x + y * y > reach * reach


@kernel
def polygon_pairs(first, second, shapes, poses, margin):
    """Contacts of candidate pairs of rows of `poses`: (pair, feature, normal, point, gap, predicted).

    Each pair has at least one polygon; pairs of two discs are passed over. Normals are unit vectors from first to
    second at the start of the step, points lie midway between the surfaces. Pairs come in the order given. Two
    polygons have up to two contacts, at the ends of the stretch along which they face each other; `feature` names the
    corner that ends it and the edge it lies on. A disc and a polygon have one; its `feature` is 2 k for face k,
    2 k + 1 for corner k. A contact's predicted gap is at most `margin`, unless the pair has this one only.
    """
    corners = placed_corners(shapes, poses, 0)
    found = room(2 * len(first))
    pair = np.empty(2 * len(first), np.int64)
    most = most_corners(corners)
    before, after = np.empty(2 * most), np.empty(2 * most)
    n = 0
    for k in range(len(first)):
        a, b, begin = first[k], second[k], n
        radius_a, radius_b = shapes.radius[poses.owner[a]], shapes.radius[poses.owner[b]]
        if _apart(poses, a, b, radius_a + radius_b + margin):
            continue
        disc_a, disc_b = shapes.kind[poses.owner[a]] == DISC, shapes.kind[poses.owner[b]] == DISC
        if not disc_a and not disc_b:
            n = polygon_polygon(corners, a, b, min(radius_a, radius_b), margin, False, before, after, found, n)
        elif not disc_a:
            n = polygon_disc(corners, a, poses.position0[b], poses.position1[b], radius_b, 1.0, margin, found, n)
        elif not disc_b:
            n = polygon_disc(corners, b, poses.position0[a], poses.position1[a], radius_a, -1.0, margin, found, n)
        for i in range(begin, n):
            pair[i] = k
    return (
        pair[:n].copy(),
        found.feature[:n].copy(),
        found.normal[:n].copy(),
        found.point[:n].copy(),
        found.gap[:n].copy(),
        found.predicted[:n].copy(),
    )
