"""Contacts of triangle meshes with boundaries: sample points against planes, tubes and shells, exact for each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import MESH, PLANE, TUBE, Boundaries, Solids
from .mesh_points import RUN
from .patches import candidate_room, reduce
from .poses import Poses, placed_parts

_AWAY = 0.5  # cosine: points that look away from a boundary by more lie on the far side of their body
_TIE = 1e-9  # of the reach: lower than this is no lower
_BAND = 5e-3  # of the reach: what lies no higher than this above the lowest point carries the body with it
_NAMES, _PRIME = 1 << 20, 7919  # names of several parts are spread over their range


@kernel
def _wall(kind, wall, x, y, z):
    """Distance of a point from a boundary, positive in the room of the bodies, and the unit direction to it."""
    x, y, z = x - wall[0], y - wall[1], z - wall[2]
    along = x * wall[3] + y * wall[4] + z * wall[5]
    if kind == PLANE:
        return along, -wall[3], -wall[4], -wall[5]
    if kind == TUBE:
        x, y, z = x - along * wall[3], y - along * wall[4], z - along * wall[5]
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:  # the middle: no direction is better
        return wall[6], 0.0, 0.0, 1.0
    return wall[6] - length, x / length, y / length, z / length


@kernel
def _put_wall(barriers, w, out):
    """Point, axis and radius in one row: the loop over points reads single numbers from it."""
    for axis in range(3):
        out[axis], out[3 + axis] = barriers.point[w, axis], barriers.axis[w, axis]
    out[6] = barriers.radius[w]


@kernel
def _placed(p, x, y, z):
    """A point in the world, from a row of poses."""
    return (
        p[0] + (p[3] * x + p[4] * y + p[5] * z),
        p[1] + (p[6] * x + p[7] * y + p[8] * z),
        p[2] + (p[9] * x + p[10] * y + p[11] * z),
    )


@kernel
def _gather(point, outward, begin, end, run, runs, before, after, kind, walls, margin, c):
    """Candidates among the sample points begin:end, for poses before and after and the boundary at those times."""
    wall0, wall1 = walls[0], walls[1]
    n, s = 0, begin - 1
    while s + 1 < end:
        s += 1
        x, y, z = _placed(after, point[s, 0], point[s, 1], point[s, 2])
        later = _wall(kind, wall1, x, y, z)[0]
        if later > margin:
            if s < runs and (s - begin) % RUN == 0 and later > margin + run:  # then the whole run is too far
                s += RUN - 1
            continue
        x, y, z = _placed(before, point[s, 0], point[s, 1], point[s, 2])
        gap, nx, ny, nz = _wall(kind, wall0, x, y, z)
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
def _emit(c, row, wall, name, numbers, names, n):
    """Writes the chosen candidates. Returns the rows in use."""
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        if n < len(numbers):
            for axis in range(3):
                numbers[n, axis] = c.normal[i, axis]
                numbers[n, 3 + axis] = c.place[i, axis] + 0.5 * c.gap[i] * c.normal[i, axis]
            numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
            names[n, 0], names[n, 1], names[n, 2] = row, wall, (name + c.point[i]) % _NAMES
        n += 1
    return n


@kernel
def _contacts(solids, placed, rows, barriers0, barriers1, margin, c, numbers, names):
    """Writes the contacts: numbers (normal, point, gap, predicted), names (row, wall, feature).

    Returns how many there are. If there is no room for so many, those beyond it are not written.
    """
    n, walls = 0, np.empty((2, 7))
    for r in range(rows):
        for k in range(placed.ptr[r], placed.ptr[r + 1]):
            form = solids.form[placed.part[k]]
            if solids.kind[form] != MESH:
                continue
            begin, end = solids.vertex_ptr[form], solids.vertex_ptr[form + 1]
            before, after = placed.pose0[k], placed.pose1[k]
            for w in range(len(barriers1.kind)):
                _put_wall(barriers0, w, walls[0])
                _put_wall(barriers1, w, walls[1])
                kind, reach = barriers1.kind[w], solids.reach[form]
                if _wall(kind, walls[1], after[0], after[1], after[2])[0] > reach + margin:
                    continue
                run, runs = solids.size[form, 1], begin + int(solids.size[form, 2])
                _gather(
                    solids.vertex,
                    solids.vertex_normal,
                    begin,
                    end,
                    run,
                    runs,
                    before,
                    after,
                    kind,
                    walls,
                    margin,
                    c,
                )
                first, last = solids.edge_ptr[form], solids.edge_ptr[form + 1]
                reduce(c, solids.edge, first, last, _TIE * reach, _BAND * reach)
                n = _emit(c, r, w, _PRIME * (k - placed.ptr[r]), numbers, names, n)
    return n


def mesh_barriers(
    solids: Solids, poses: Poses, chosen: NDArray[np.bool_], barriers0: Boundaries, barriers1: Boundaries, margin: float
) -> tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]:
    """Contacts of mesh parts of the chosen rows with boundaries: (body, wall, feature, normal, point, gap, predicted).

    `body` is a row of `poses`. Normals are unit vectors from the body to the boundary at the start of the step, points
    lie midway between the surfaces, predicted gaps are at most `margin`. `feature` names the sample point. Parts that
    are no meshes are passed over.
    """
    placed = placed_parts(solids, poses, chosen)
    meshes = solids.kind == MESH
    points, edges = (int(np.diff(ptr)[meshes].max(initial=1)) for ptr in (solids.vertex_ptr, solids.edge_ptr))
    work = candidate_room(points, edges)
    n, room = 1, 0
    while n > room:
        room = n + 64
        numbers, names = np.empty((room, 8)), np.empty((room, 3), np.int64)
        n = _contacts(solids, placed, len(poses.owner), barriers0, barriers1, margin, work, numbers, names)
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
