"""Signed distances of single bodies in 2D at given poses: an independent calculation to compare contacts with."""

from __future__ import annotations

import numpy as np

from carom.contact.boundaries import Boundary, point_gap
from carom.geometry.vectors import Vec3
from carom.kernels import kernel
from carom.world import DISC, INSIDE, OUTSIDE, PLANE


@kernel
def _face_gap(vertex, position, angle, other, other_position, other_angle):
    """Largest separation of `other` from the faces of a polygon, and least distance of its corners from the edges.

    Both are lists of corners in the frames of their bodies; `other` may be one point or a segment.
    """
    c, s = np.cos(angle), np.sin(angle)
    px, py = other_position[0] - position[0], other_position[1] - position[1]
    px, py = c * px + s * py, c * py - s * px
    c, s = np.cos(other_angle - angle), np.sin(other_angle - angle)
    top, nearest = -np.inf, np.inf
    for k in range(len(vertex)):
        after = k + 1 if k + 1 < len(vertex) else 0
        ex, ey = vertex[after, 0] - vertex[k, 0], vertex[after, 1] - vertex[k, 1]
        length = np.sqrt(ex * ex + ey * ey)
        ex, ey = ex / length, ey / length
        least = np.inf
        for j in range(len(other)):
            x = px + c * other[j, 0] - s * other[j, 1] - vertex[k, 0]
            y = py + s * other[j, 0] + c * other[j, 1] - vertex[k, 1]
            height, along = ey * x - ex * y, ex * x + ey * y
            beyond = max(0.0, -along, along - length)
            least = min(least, height)
            nearest = min(nearest, height * height + beyond * beyond)
        top = max(top, least)
    return top, np.sqrt(nearest)


@kernel
def _two_polygons(vertex, position, angle, other, other_position, other_angle):
    top_a, near_a = _face_gap(vertex, position, angle, other, other_position, other_angle)
    top_b, near_b = _face_gap(other, other_position, other_angle, vertex, position, angle)
    top = max(top_a, top_b)
    return min(near_a, near_b) if top > 0.0 else top


@kernel
def _polygon_point(vertex, position, angle, point):
    """Signed distance of a point from a polygon, exact on both sides."""
    top, near = _face_gap(vertex, position, angle, np.zeros((1, 2)), point, 0.0)
    return near if top > 0.0 else top


@kernel
def _corners_of(shapes, body):
    return shapes.vertex[shapes.vertex_ptr[body] : shapes.vertex_ptr[body + 1]]


@kernel
def polygon_gap(shapes, first, position, angle, second, other_position, other_angle):
    """Signed distance of two bodies, discs or polygons, at the given poses.

    Apart: the exact distance, corner to corner too. Overlapping: minus the least depth along an edge normal. It is
    continuous in the poses. A position is anything with components 0 and 1.
    """
    if shapes.kind[first] == DISC:
        radius = shapes.radius[first]
        if shapes.kind[second] == DISC:
            apart = np.hypot(other_position[0] - position[0], other_position[1] - position[1])
            return apart - radius - shapes.radius[second]
        return _polygon_point(_corners_of(shapes, second), other_position, other_angle, position) - radius
    vertex = _corners_of(shapes, first)
    if shapes.kind[second] == DISC:
        return _polygon_point(vertex, position, angle, other_position) - shapes.radius[second]
    return _two_polygons(vertex, position, angle, _corners_of(shapes, second), other_position, other_angle)


@kernel
def _center_gap(kind, a, b, radius, x, y):
    """Distance of a point from a wall."""
    wall = Boundary(1.0 * kind, Vec3(a[0], a[1], 0.0), Vec3(b[0], b[1], 0.0), radius)
    return point_gap(wall, Vec3(x, y, 0.0))[0]


@kernel
def boundary_gap(shapes, body, position, angle, kind, a, b, boundary_radius):
    """Signed distance of one body, disc or polygon, and one wall, negative for overlap.

    kind, a, b and boundary_radius are those of one row of `Boundaries` at the instant meant.
    """
    if shapes.kind[body] == DISC:
        return _center_gap(kind, a, b, boundary_radius, position[0], position[1]) - shapes.radius[body]
    vertex = _corners_of(shapes, body)
    if kind == OUTSIDE:
        return _polygon_point(vertex, position, angle, a) - boundary_radius
    if kind in (PLANE, INSIDE):
        c, s = np.cos(angle), np.sin(angle)
        least = np.inf
        for k in range(len(vertex)):
            x = position[0] + (c * vertex[k, 0] - s * vertex[k, 1])
            y = position[1] + (s * vertex[k, 0] + c * vertex[k, 1])
            least = min(least, _center_gap(kind, a, b, boundary_radius, x, y))
        return least
    ends = np.empty((2, 2))
    ends[0, 0], ends[0, 1], ends[1, 0], ends[1, 1] = a[0], a[1], b[0], b[1]
    return _two_polygons(vertex, position, angle, ends, (0.0, 0.0), 0.0)
