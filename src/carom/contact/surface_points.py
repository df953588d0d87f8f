"""Points that represent a shape against a mesh or a boundary: a table of points, or points of a core, rims and side.

Spheres and capsules are represented by points of their core and a radius around them. A shape with rims has fixed
points on both rims, and a line of points on its round side. These are not material points: while the body rolls, they
stay where it is nearest to the mesh. A smooth shape has only such points, sought from several directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import CAPSULE, MESH, SPHERE
from ..geometry.vectors import Vec3, dot, norm, put_row, row3, to_local
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from .features import UPRIGHT_SINE
from .grid_distance import grid_distance
from .parts import (
    SPREAD_DIRECTIONS,
    foremost_point,
    has_rims,
    is_rounded,
    is_smooth,
    rims,
    spread_direction,
    world_point,
)

MOST_POINTS = 65  # of a capsule's core, or of a shape with rims
_RIM_POINTS = 16  # points on each rim
_FRONT_ITERATIONS = 3  # for the foremost point of a rim
_MOST_DESCENTS = 8  # for the point of a smooth shape that is nearest to a mesh
_STEADY_COSINE = 1.0 - 1e-14  # cosine above which two directions on that way are equal
_SAME_NEAREST_POINT = 0.02  # distance, relative to the size of a smooth shape, up to which two such points are one
_NO_PLACE = 1e100  # coordinate of points that do not count


class SurfacePoints(NamedTuple):
    """Points begin to end of a table, in the frame of their shape, and pairs of neighbors among them."""

    place: Floats  # (k, 3) at the start of the step
    later: Floats  # (k, 3) at its end
    outward: Floats  # (k, 3) outward unit normal; zero for vertices
    link: Ints  # (links, 2) neighbors, counted from `begin`
    begin: int
    end: int
    link_begin: int
    link_end: int
    runs_end: int  # points up to here come in runs of RUN points
    run_reach: float  # largest distance of a point from the first one of its run
    radius: float  # around the points


@kernel
def point_room():
    """Room for the points of a shape that has no table of them."""
    place, later, outward = np.zeros((MOST_POINTS, 3)), np.zeros((MOST_POINTS, 3)), np.zeros((MOST_POINTS, 3))
    return SurfacePoints(place, later, outward, np.zeros((MOST_POINTS, 2), np.int64), 0, 0, 0, 0, 0, 0.0, 0.0)


@kernel(inline="always")
def surface_points(shapes, shape, spacing, room):
    """The points of a shape: from its table, or written to `room`, where they are about `spacing` apart.

    Those on the side of a shape with rims are left to `put_front`, those of a smooth shape to `put_nearest`.
    """
    kind, size = shapes.kind[shape], row3(shapes.size, shape)
    if is_rounded(kind) or has_rims(kind) or is_smooth(kind):
        if has_rims(kind):
            count, links = _put_rims(rims(kind, size), spacing, room)
        elif not is_rounded(kind):
            count, links = SPREAD_DIRECTIONS, 0
        else:
            count = _put_core(size.y if kind == CAPSULE else 0.0, spacing, room)
            links = count - 1
        radius = size.x if is_rounded(kind) else 0.0
        return SurfacePoints(room.place, room.later, room.outward, room.link, 0, count, 0, links, 0, 0.0, radius)
    begin, end = shapes.vertex_ptr[shape], shapes.vertex_ptr[shape + 1]
    runs, reach = (int(size.z), size.y) if kind == MESH else (0, 0.0)
    return SurfacePoints(
        shapes.vertex,
        shapes.vertex,
        shapes.vertex_normal,
        shapes.edge,
        begin,
        end,
        shapes.edge_ptr[shape],
        shapes.edge_ptr[shape + 1],
        begin + runs,
        reach,
        0.0,
    )


@lean
def _put_core(half, spacing, room):
    """Writes points of the core of a sphere or capsule; returns their number."""
    count = min(int(np.ceil(2.0 * half / spacing)) + 1, MOST_POINTS)
    for k in range(count):
        z = half * ((2 * k - (count - 1)) / (count - 1)) if count > 1 else 0.0
        put_row(room.place, k, Vec3(0.0, 0.0, z))
        put_row(room.later, k, Vec3(0.0, 0.0, z))
        if k:
            room.link[k - 1, 0], room.link[k - 1, 1] = k - 1, k
    return count


@lean
def _put_rims(ends, spacing, room):
    """Writes the points of both rims, and neighbors of all points of a shape with rims; returns their numbers."""
    top, high, bottom, low = ends
    for k in range(2 * _RIM_POINTS):
        angle = 2.0 * np.pi * (k % _RIM_POINTS) / _RIM_POINTS
        radius, z, up = (top, high, 1.0) if k < _RIM_POINTS else (bottom, low, -1.0)
        out = Vec3(np.cos(angle), np.sin(angle), 0.0)
        if radius == 0.0 and k % _RIM_POINTS > 0:  # one point is sufficient
            z = _NO_PLACE
        put_row(room.place, k, Vec3(radius * out.x, radius * out.y, z))
        put_row(room.later, k, row3(room.place, k))
        put_row(room.outward, k, _side_normal(ends, radius, out, up))
        room.link[k, 0], room.link[k, 1] = k, k + 1 if (k + 1) % _RIM_POINTS else k + 1 - _RIM_POINTS
    count = 2 * _RIM_POINTS + min(int(np.ceil((high - low) / spacing)) + 1, MOST_POINTS - 2 * _RIM_POINTS)
    for k in range(2 * _RIM_POINTS, count - 1):
        room.link[k, 0], room.link[k, 1] = k, k + 1
    return count, count - 1


@kernel
def _side_normal(ends, radius, out, up):
    """Outward direction at a point of a round side in direction `out` from the axis.

    At a rim (`up` is 1 or -1, else 0) it is midway between side and cap, at a tip along z.
    """
    top, high, bottom, low = ends
    slope_out, slope_up = high - low, bottom - top
    length = np.sqrt(slope_out * slope_out + slope_up * slope_up)
    across, along = (slope_out / length, slope_up / length + up) if radius > 0.0 else (0.0, up)
    length = np.sqrt(across * across + along * along)
    return Vec3(across * out.x / length, across * out.y / length, along / length)


@lean
def put_front(points, place, ends, grid, at, margin):
    """Writes the points of a round side to `place`: where circles about the axis are nearest to the mesh of a grid.

    `at` maps the frame of the shape to the mesh's. A rim that lies flat has no such point. For any other rim the fixed
    points around it are disabled: they come down as the body rolls, but never below its side.
    """
    top, high, bottom, low = ends
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    first, last = 2 * _RIM_POINTS, points.end - 1
    for k in range(first, points.end):
        part = (2 * (k - first) - (last - first)) / (last - first)
        z, radius = middle + half * part, bottom + 0.5 * (1.0 + part) * (top - bottom)
        up = -1.0 if k == first else (1.0 if k == last else 0.0)
        out, across = Vec3(0.0, 0.0, 0.0), 0.0
        for _ in range(_FRONT_ITERATIONS):
            circle = world_point(at, Vec3(radius * out.x, radius * out.y, z))
            normal = to_local(at.turn, grid_distance(grid, circle, False).normal)
            across = norm(Vec3(normal.x, normal.y, 0.0))
            if across < UPRIGHT_SINE:
                break
            out = Vec3(-normal.x / across, -normal.y / across, 0.0)
        flat = across < UPRIGHT_SINE or radius == 0.0
        put_row(place, k, Vec3(radius * out.x, radius * out.y, _NO_PLACE if flat else z))
        put_row(points.outward, k, _side_normal(ends, radius, out, up))
        if 2.0 * radius * across > margin and k in (first, last):
            start = _RIM_POINTS if k == first else 0
            for i in range(start, start + _RIM_POINTS):
                if place[i, 0] * out.x + place[i, 1] * out.y > 0.5 * radius:
                    points.later[i, 2] = _NO_PLACE


@lean
def put_nearest(points, place, core, grid, at, fresh):
    """Writes the points of a smooth core at which it is nearest to the mesh of a grid to `place`, one for each start.

    Each step goes to the foremost point against the normal of the mesh; the lowest point on the way counts, because
    steps around a sharp ridge do not settle. There are SPREAD_DIRECTIONS starts if `fresh`, else those in
    the outward directions found before. Of points that coincide, the first counts. `at` maps the frame of the shape to
    the mesh's.
    """
    for k in range(points.end):
        d = spread_direction(k) if fresh else row3(points.outward, k)
        best, least, outward = Vec3(0.0, 0.0, _NO_PLACE), np.inf, d
        for _ in range(_MOST_DESCENTS):
            p = foremost_point(core.kind, core.size, core.vertex, d)
            near = grid_distance(grid, world_point(at, p), False)
            if near.distance < least:
                best, least, outward = p, near.distance, d
            inward = to_local(at.turn, near.normal)
            if dot(inward, d) < -_STEADY_COSINE:
                break
            d = -inward
        for i in range(k if fresh else 0):
            if norm(row3(place, i) - best) <= _SAME_NEAREST_POINT * core.reach:
                best = Vec3(0.0, 0.0, _NO_PLACE)
        put_row(place, k, best)
        put_row(points.outward, k, outward)


# ---- points that represent a shape in the swept test against a mesh


@lean
def sample_count(shapes, shape):
    """Number of points that represent a shape in the swept test: sample points, vertices, or a few on axis and rims."""
    kind = shapes.kind[shape]
    if kind == SPHERE:
        return 1
    if kind == CAPSULE:
        return 9
    if has_rims(kind):
        return 17
    if is_smooth(kind):
        return SPREAD_DIRECTIONS + 1
    return shapes.vertex_ptr[shape + 1] - shapes.vertex_ptr[shape]


@lean
def sample_point(shapes, shape, k):
    """Sample point k of a shape, in its own frame, and the radius about it."""
    kind, size = shapes.kind[shape], row3(shapes.size, shape)
    if kind == SPHERE:
        return Vec3(0.0, 0.0, 0.0), size.x
    if kind == CAPSULE:
        return Vec3(0.0, 0.0, size.y * (0.25 * k - 1.0)), size.x
    if has_rims(kind):
        if k == 16:
            return Vec3(0.0, 0.0, 0.0), 0.0
        angle = 0.25 * np.pi * (k % 8)
        top, high, bottom, low = rims(kind, size)
        radius, z = (top, high) if k < 8 else (bottom, low)
        return Vec3(radius * np.cos(angle), radius * np.sin(angle), z), 0.0
    if is_smooth(kind):
        if k == SPREAD_DIRECTIONS:
            return Vec3(0.0, 0.0, 0.0), 0.0
        return foremost_point(kind, size, shapes.vertex, spread_direction(k)), 0.0
    return row3(shapes.vertex, shapes.vertex_ptr[shape] + k), 0.0
