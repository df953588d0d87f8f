"""Contacts of triangle meshes with boundaries: sample points against planes, tubes and shells, exact for each point."""

from __future__ import annotations

import numpy as np
from numba import njit

from ...world import FLAT, MESH, TUBE
from .patches import candidate_room, reduce
from .poses import placed_parts, to_world

_AWAY = 0.5
_NAMES = 1 << 20


@njit(cache=True, nogil=True)
def _wall(barriers, w, x, y, z):
    """Distance of a point from a boundary, positive in the room of the bodies, and the unit direction to it."""
    p, n = barriers.point[w], barriers.axis[w]
    x, y, z = x - p[0], y - p[1], z - p[2]
    along = x * n[0] + y * n[1] + z * n[2]
    if barriers.kind[w] == FLAT:
        return along, -n[0], -n[1], -n[2]
    if barriers.kind[w] == TUBE:
        x, y, z = x - along * n[0], y - along * n[1], z - along * n[2]
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:  # the middle: no direction is better
        return barriers.radius[w], 0.0, 0.0, 1.0
    return barriers.radius[w] - length, x / length, y / length, z / length


@njit(cache=True, nogil=True)
def _gather(solids, pose0, pose1, k, form, barriers0, barriers1, w, margin, c):
    """Candidates among the sample points of part k."""
    begin, end = solids.vertex_ptr[form], solids.vertex_ptr[form + 1]
    n = 0
    for s in range(begin, end):
        x, y, z = solids.vertex[s]
        px, py, pz = to_world(pose1, k, x, y, z)
        later = _wall(barriers1, w, pose1[k, 0] + px, pose1[k, 1] + py, pose1[k, 2] + pz)[0]
        if later > margin:
            continue
        px, py, pz = to_world(pose0, k, x, y, z)
        px, py, pz = pose0[k, 0] + px, pose0[k, 1] + py, pose0[k, 2] + pz
        gap, nx, ny, nz = _wall(barriers0, w, px, py, pz)
        ox, oy, oz = solids.vertex_normal[s]
        ox, oy, oz = to_world(pose0, k, ox, oy, oz)
        if ox * nx + oy * ny + oz * nz < -_AWAY:
            continue
        c.index[n], c.gap[n], c.predicted[n] = s - begin, gap, later
        c.normal[n, 0], c.normal[n, 1], c.normal[n, 2] = nx, ny, nz
        c.place[n, 0], c.place[n, 1], c.place[n, 2] = px, py, pz
        n += 1
    c.count[0] = n


@njit(cache=True, nogil=True)
def mesh_barriers(solids, poses, chosen, barriers0, barriers1, margin):
    """Contacts of mesh parts of the chosen rows with boundaries: (body, wall, feature, normal, point, gap, predicted).

    `body` is a row of `poses`. Normals point from the body to the boundary. Other parts are passed over.
    """
    placed = placed_parts(solids, poses, chosen)
    most = 1
    for f in range(len(solids.kind)):
        if solids.kind[f] == MESH:
            most = max(most, solids.vertex_ptr[f + 1] - solids.vertex_ptr[f])
    c = candidate_room(most)
    numbers, names, n = np.empty((64, 8)), np.empty((64, 3), np.int64), 0
    for r in range(len(poses.owner)):
        for k in range(placed.ptr[r], placed.ptr[r + 1]):
            form = solids.form[placed.part[k]]
            if solids.kind[form] != MESH:
                continue
            reach, p = solids.reach[form] + margin, placed.pose1[k]
            for w in range(len(barriers1.kind)):
                if _wall(barriers1, w, p[0], p[1], p[2])[0] > reach:
                    continue
                _gather(solids, placed.pose0, placed.pose1, k, form, barriers0, barriers1, w, margin, c)
                reduce(c, solids.edge, solids.edge_ptr[form], solids.edge_ptr[form + 1], 1e-9 * reach, True)
                for i in range(c.count[0]):
                    if not c.keep[i]:
                        continue
                    if n == len(numbers):
                        numbers = np.concatenate((numbers, np.empty_like(numbers)))
                        names = np.concatenate((names, np.empty_like(names)))
                    for axis in range(3):
                        numbers[n, axis] = c.normal[i, axis]
                        numbers[n, 3 + axis] = c.place[i, axis] + 0.5 * c.gap[i] * c.normal[i, axis]
                    numbers[n, 6], numbers[n, 7] = c.gap[i], c.predicted[i]
                    names[n, 0], names[n, 1] = r, w
                    names[n, 2] = (7919 * (k - placed.ptr[r]) + c.index[i]) % _NAMES
                    n += 1
    return (
        names[:n, 0].copy(),
        names[:n, 1].copy(),
        names[:n, 2].copy(),
        numbers[:n, 0:3].copy(),
        numbers[:n, 3:6].copy(),
        numbers[:n, 6].copy(),
        numbers[:n, 7].copy(),
    )
