"""Where a mesh is nearest to a sphere or capsule: from a sample point over the surface to the very place."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from .grid_distance import walk
from .mesh_points import mapped
from .poses import to_world


@kernel
def _foot(solids, form, m, half, s):
    """Point of a mesh nearest to the core of a round part, from sample point s on, and the vector from it to the core.

    m maps the mesh's frame to that of the round part, whose core lies along z up to +-half.
    """
    x, y, z = solids.vertex[s, 0], solids.vertex[s, 1], solids.vertex[s, 2]
    core = min(max(mapped(m, x, y, z)[2], -half), half) - m[11]
    cx = m[6] * core - m[0] * m[9] - m[3] * m[10]
    cy = m[7] * core - m[1] * m[9] - m[4] * m[10]
    cz = m[8] * core - m[2] * m[9] - m[5] * m[10]
    x, y, z = walk(solids, solids.grid[form], cx, cy, cz, x, y, z)
    return x, y, z, cx - x, cy - y, cz - z


@kernel
def refine(solids, placed, k, other, maps, c):
    """Moves the chosen points of mesh part k over its surface to where the round part `other` is nearest."""
    form, target = solids.form[placed.part[k]], solids.form[placed.part[other]]
    radius, half = solids.size[target, 0], solids.size[target, 1]
    for i in range(c.used[0]):
        if not c.keep[i]:
            continue
        s = solids.vertex_ptr[form] + c.point[i]
        for moment in range(2):
            x, y, z, dx, dy, dz = _foot(solids, form, maps[1 - moment], half, s)
            far = np.sqrt(dx * dx + dy * dy + dz * dz)
            n = solids.vertex_normal[s]
            if far == 0.0:
                break
            if n[0] * dx + n[1] * dy + n[2] * dz < 0.0:  # the core lies within the mesh
                far = -far
            if moment == 0:
                c.predicted[i] = far - radius
                continue
            c.gap[i] = far - radius
            nx, ny, nz = to_world(placed.pose0, k, dx / far, dy / far, dz / far)
            x, y, z = to_world(placed.pose0, k, x, y, z)
            p = placed.pose0[k]
            c.normal[i, 0], c.normal[i, 1], c.normal[i, 2] = nx, ny, nz
            c.place[i, 0], c.place[i, 1], c.place[i, 2] = p[0] + x, p[1] + y, p[2] + z
