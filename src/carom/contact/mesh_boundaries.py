"""Contacts of triangle meshes with boundaries: sample points against planes, tubes and shells, exact for each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import MESH, PLANE, TUBE, Boundaries, Shapes3D
from .features import RUN
from .mesh_manifold import candidate_room, reduce
from .poses import Poses, placed_parts

_AWAY = 0.5  # cosine: points that look away from a boundary by more lie on the far side of their body
_TIE = 1e-9  # of the reach: lower than this is no lower
_BAND = 5e-3  # of the reach: what lies no higher than this above the lowest point carries the body with it
_NAMES, _PRIME = 1 << 20, 7919  # names of several parts are spread over their range


@kernel
def _distance(kind, boundary, x, y, z):
    """Distance of a point from a boundary, positive in the room of the bodies, and the unit direction to it."""
    x, y, z = x - boundary[0], y - boundary[1], z - boundary[2]
    along = x * boundary[3] + y * boundary[4] + z * boundary[5]
    if kind == PLANE:
        return along, -boundary[3], -boundary[4], -boundary[5]
    if kind == TUBE:
        x, y, z = x - along * boundary[3], y - along * boundary[4], z - along * boundary[5]
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:  # the middle: no direction is better
        return boundary[6], 0.0, 0.0, 1.0
    return boundary[6] - length, x / length, y / length, z / length


@kernel
def _put_boundary(boundaries, w, out):
    """Point, axis and radius in one row: the loop over points reads single numbers from it."""
    for axis in range(3):
        out[axis], out[3 + axis] = boundaries.point[w, axis], boundaries.axis[w, axis]
    out[6] = boundaries.radius[w]


@kernel
def _placed(p, x, y, z):
    """A point in the world, from a row of poses."""
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
        later = _distance(kind, wall1, x, y, z)[0]
        if later > margin:
            if s < runs and (s - begin) % RUN == 0 and later > margin + run:  # then the whole run is too far
                s += RUN - 1
            continue
        x, y, z = _placed(before, point[s, 0], point[s, 1], point[s, 2])
        gap, nx, ny, nz = _distance(kind, wall0, x, y, z)
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
    """Writes the chosen candidates. Returns the rows in use."""
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
def _contacts(shapes, placed, rows, boundaries0, boundaries1, margin, c, numbers, names):
    """Writes the contacts: numbers (normal, point, gap, predicted), names (row, boundary, feature).

    Returns how many there are. If there is no room for so many, those beyond it are not written.
    """
    n, boundaries = 0, np.empty((2, 7))
    for r in range(rows):
        for k in range(placed.ptr[r], placed.ptr[r + 1]):
            shape = shapes.shape[placed.part[k]]
            if shapes.kind[shape] != MESH:
                continue
            begin, end = shapes.vertex_ptr[shape], shapes.vertex_ptr[shape + 1]
            before, after = placed.pose0[k], placed.pose1[k]
            for w in range(len(boundaries1.kind)):
                _put_boundary(boundaries0, w, boundaries[0])
                _put_boundary(boundaries1, w, boundaries[1])
                kind, reach = boundaries1.kind[w], shapes.reach[shape]
                if _distance(kind, boundaries[1], after[0], after[1], after[2])[0] > reach + margin:
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
    margin: float,
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]:
    """Contacts of mesh parts of the chosen rows with boundaries: (body, boundary, feature, normal, point, gap, predicted).

    `body` is a row of `poses`. Normals are unit vectors from the body to the boundary at the start of the step, points
    lie midway between the surfaces, predicted gaps are at most `margin`. `feature` names the sample point. Parts that
    are no meshes are passed over.
    """
    placed = placed_parts(shapes, poses, chosen)
    meshes = shapes.kind == MESH
    points, edges = (int(np.diff(ptr)[meshes].max(initial=1)) for ptr in (shapes.vertex_ptr, shapes.edge_ptr))
    work = candidate_room(points, edges)
    n, room = 1, 0
    while n > room:
        room = n + 64
        numbers, names = np.empty((room, 8)), np.empty((room, 3), np.int64)
        n = _contacts(shapes, placed, len(poses.owner), boundaries0, boundaries1, margin, work, numbers, names)
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
