"""Corners of polygons brought into the world once a step, and buffers for the contacts found among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import SEGMENT


class Corners(NamedTuple):
    """Polygons in the world: 0 at the start of the step, 1 after free flight.

    Row r owns corners ptr[r]:ptr[r+1], anticlockwise; a disc owns none. `normal` k is the outward unit normal of the
    edge from corner k to the next one of its polygon.
    """

    ptr: Ints  # (rows + 1,)
    at0: Floats  # (k, 2)
    at1: Floats  # (k, 2)
    normal0: Floats  # (k, 2)
    normal1: Floats  # (k, 2)


class Found(NamedTuple):
    """Room for contacts; kernels fill it from the front and return how many rows are in use."""

    feature: Ints
    normal: Floats  # (m, 2)
    point: Floats  # (m, 2)
    gap: Floats
    predicted: Floats


@kernel
def room(count):
    """Empty buffers for up to `count` contacts."""
    return Found(
        np.empty(count, np.int64), np.empty((count, 2)), np.empty((count, 2)), np.empty(count), np.empty(count)
    )


@kernel
def most_corners(corners):
    """The largest number of corners of one polygon."""
    most = 0
    for r in range(len(corners.ptr) - 1):
        most = max(most, corners.ptr[r + 1] - corners.ptr[r])
    return most


@kernel
def placed_corners(shapes, poses, extra):
    """Corners of all rows of `poses`, followed by `extra` rows of two corners each that the caller fills."""
    rows = len(poses.owner)
    ptr = np.zeros(rows + extra + 1, np.int64)
    for r in range(rows):
        body = poses.owner[r]
        ptr[r + 1] = ptr[r] + shapes.vertex_ptr[body + 1] - shapes.vertex_ptr[body]
    for r in range(rows, rows + extra):
        ptr[r + 1] = ptr[r] + 2
    total = ptr[-1]
    corners = Corners(ptr, np.empty((total, 2)), np.empty((total, 2)), np.empty((total, 2)), np.empty((total, 2)))
    for r in range(rows):
        start = shapes.vertex_ptr[poses.owner[r]]
        if ptr[r + 1] > ptr[r]:
            _place(shapes.vertex, start, ptr[r], ptr[r + 1], poses.position0[r], poses.angle0[r], corners.at0)
            _place(shapes.vertex, start, ptr[r], ptr[r + 1], poses.position1[r], poses.angle1[r], corners.at1)
            set_normals(corners.at0, corners.normal0, ptr[r], ptr[r + 1])
            set_normals(corners.at1, corners.normal1, ptr[r], ptr[r + 1])
    return corners


@kernel
def _place(vertex, start, lo, hi, position, angle, at):
    """Turns the corners of one body by `angle` and moves its center of mass to `position`."""
    c, s = np.cos(angle), np.sin(angle)
    for k in range(lo, hi):
        x, y = vertex[start + k - lo, 0], vertex[start + k - lo, 1]
        at[k, 0] = position[0] + (c * x - s * y)
        at[k, 1] = position[1] + (s * x + c * y)


@kernel
def set_normals(at, normal, lo, hi):
    """Outward unit normals of the edges of corners lo:hi. For two corners, those of both sides of a segment."""
    for k in range(lo, hi):
        after = k + 1 if k + 1 < hi else lo
        x, y = at[after, 0] - at[k, 0], at[after, 1] - at[k, 1]
        length = np.sqrt(x * x + y * y)
        normal[k, 0] = y / length
        normal[k, 1] = -x / length


@kernel
def place_segments(corners, rows, walls0, walls1):
    """Writes the ends of all SEGMENT walls into the extra rows, which begin at `rows`."""
    r = rows
    for w in range(len(walls0.kind)):
        if walls0.kind[w] == SEGMENT:
            k = corners.ptr[r]
            for axis in range(2):
                corners.at0[k, axis], corners.at0[k + 1, axis] = walls0.point[w, axis], walls0.axis[w, axis]
                corners.at1[k, axis], corners.at1[k + 1, axis] = walls1.point[w, axis], walls1.axis[w, axis]
            set_normals(corners.at0, corners.normal0, k, k + 2)
            set_normals(corners.at1, corners.normal1, k, k + 2)
            r += 1
