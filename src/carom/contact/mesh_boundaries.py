"""Contacts of triangle meshes with boundaries: sample points against planes, tubes and shells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.shapes import RUN
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import MESH, Boundaries, Shapes3D
from .boundaries import put_row, row_gap
from .mesh_manifold import candidate_room, reduce
from .poses import Poses, placed_parts

_AWAY = 0.5  # cosine: points that face away from a boundary by more are on the far side of their body
_TIE = 1e-9  # of the reach: heights that differ by less are equal
_BAND = 5e-3  # of the reach: points up to this height above the lowest support the body
_NAMES, _PRIME = 1 << 20, 7919  # feature_id has 20 bits; the factor spreads those of several parts


@kernel
def _placed(p, x, y, z):
    """A point of a pose in the frame of the world."""
    return (
        p[0] + (p[3] * x + p[4] * y + p[5] * z),
        p[1] + (p[6] * x + p[7] * y + p[8] * z),
        p[2] + (p[9] * x + p[10] * y + p[11] * z),
    )


@kernel
def _gather(point, outward, begin, end, run, runs, before, after, kind, boundaries, margin, c):
    """Candidates among the sample points begin:end, for poses before and after and the boundary at those times."""
    wall0, wall1 = boundaries[0], boundaries[1]
    n, s = 0, begin - 1
    while s + 1 < end:
        s += 1
        x, y, z = _placed(after, point[s, 0], point[s, 1], point[s, 2])
        later = row_gap(kind, wall1, x, y, z)[0]
        if later > margin:
            if s < runs and (s - begin) % RUN == 0 and later > margin + run:  # the whole run is too far
                s += RUN - 1
            continue
        x, y, z = _placed(before, point[s, 0], point[s, 1], point[s, 2])
        gap, nx, ny, nz = row_gap(kind, wall0, x, y, z)
        ox, oy, oz = _placed(before, outward[s, 0], outward[s, 1], outward[s, 2])
        ox, oy, oz = ox - before[0], oy - before[1], oz - before[2]
        if ox * nx + oy * ny + oz * nz < -_AWAY:
            continue
        c.point[n], c.gap[n], c.predicted[n] = s - begin, gap, later
        c.normal[n, 0], c.normal[n, 1], c.normal[n, 2] = nx, ny, nz
        c.place[n, 0], c.place[n, 1], c.place[n, 2] = x, y, z
        n += 1
    c.used[0] = n


@kernel
def _emit(c, row, boundary, name, numbers, names, n):
    """Writes the chosen candidates; returns the number of rows."""
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        if n < len(numbers):
            for axis in range(3):
                numbers[n, axis] = c.normal[i, axis]
                numbers[n, 3 + axis] = c.place[i, axis] + 0.5 * c.gap[i] * c.normal[i, axis]
            numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
            names[n, 0], names[n, 1], names[n, 2] = row, boundary, (name + c.point[i]) % _NAMES
        n += 1
    return n


@kernel
def _contacts(shapes, placed, rows, boundaries0, boundaries1, margins, c, numbers, names):
    """Writes the contacts to `numbers` (normal, point, gap, predicted) and `names` (row, boundary, feature_id).

    Returns their number; those that do not fit are not written.
    """
    n, boundaries = 0, np.empty((2, 7))
    for r in range(rows):
        margin = margins[r]
        for k in range(placed.ptr[r], placed.ptr[r + 1]):
            shape = shapes.shape[placed.part[k]]
            if shapes.kind[shape] != MESH:
                continue
            begin, end = shapes.vertex_ptr[shape], shapes.vertex_ptr[shape + 1]
            before, after = placed.pose0[k], placed.pose1[k]
            for w in range(len(boundaries1.kind)):
                put_row(boundaries0, w, boundaries[0])
                put_row(boundaries1, w, boundaries[1])
                kind, reach = boundaries1.kind[w], shapes.reach[shape]
                if row_gap(kind, boundaries[1], after[0], after[1], after[2])[0] > reach + margin:
                    continue
                run, runs = shapes.size[shape, 1], begin + int(shapes.size[shape, 2])
                _gather(
                    shapes.vertex,
                    shapes.vertex_normal,
                    begin,
                    end,
                    run,
                    runs,
                    before,
                    after,
                    kind,
                    boundaries,
                    margin,
                    c,
                )
                first, last = shapes.edge_ptr[shape], shapes.edge_ptr[shape + 1]
                reduce(c, shapes.edge, first, last, _TIE * reach, _BAND * reach)
                n = _emit(c, r, w, _PRIME * (k - placed.ptr[r]), numbers, names, n)
    return n


def mesh_boundaries(
    shapes: Shapes3D,
    poses: Poses,
    chosen: NDArray[np.bool_],
    boundaries0: Boundaries,
    boundaries1: Boundaries,
    margin: float | Floats,
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]:
    """Contacts of mesh parts with boundaries: (body, boundary, feature_id, normal, point, gap, predicted).

    `body` is a row of `poses`, of those that `chosen` marks. Normals are unit vectors from the body to the boundary at
    the start of the step, points lie midway between the surfaces, and predicted gaps are at most `margin`: one length,
    or one for each row. feature_id follows from the sample point. Parts that are not meshes are skipped.
    """
    margins = np.full(len(poses.owner), margin)
    placed = placed_parts(shapes, poses, chosen)
    meshes = shapes.kind == MESH
    points, edges = (int(np.diff(ptr)[meshes].max(initial=1)) for ptr in (shapes.vertex_ptr, shapes.edge_ptr))
    work = candidate_room(points, edges)
    n, room = 1, 0
    while n > room:
        room = n + 64
        numbers, names = np.empty((room, 8)), np.empty((room, 3), np.int64)
        n = _contacts(shapes, placed, len(poses.owner), boundaries0, boundaries1, margins, work, numbers, names)
    numbers, names = numbers[:n], names[:n]
    return (
        names[:, 0].copy(),
        names[:, 1].copy(),
        names[:, 2].copy(),
        numbers[:, 0:3].copy(),
        numbers[:, 3:6].copy(),
        numbers[:, 6].copy(),
        numbers[:, 7].copy(),
    )
