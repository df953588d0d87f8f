"""Points that stand for a solid against a mesh, and the maps between the frames of two solids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import CAPSULE, CUBOID, CYLINDER, MESH, SPHERE
from .grid_distance import grid_near

RUN = 16  # sample points of a mesh come in runs of so many that lie together (see carom.solids.sample_points)
SPOTS = 65  # most points of a capsule's core, or of a cylinder
RIM = 16  # points on each rim of a cylinder
_UPRIGHT = 1e-4  # sine of the tilt below which a rim has no foremost point
_TURNS = 3  # looks at the other's normal, each from the foremost point of the one before
_NOWHERE = 1e100  # place of points that do not count


class Spots(NamedTuple):
    """Points of a form that has no table of them: core of a capsule or sphere, rims and side of a cylinder.

    Points on the side of a cylinder are no material points: while it rolls, they stay where it is nearest.
    """

    place: Floats  # (k, 3) at the start of the step
    later: Floats  # (k, 3) at its end
    normal: Floats  # (k, 3) outward
    link: Ints  # (k, 2) neighbors


@kernel
def put_spots(solids, form, spacing, spots):
    """Fills the points and neighbors of a round form. Returns (points, links, radius)."""
    kind = solids.kind[form]
    if kind == SPHERE:
        spots.place[0] = 0.0
        return 1, 0, solids.size[form, 0]
    if kind == CAPSULE:
        half = solids.size[form, 1]
        count = min(int(np.ceil(2.0 * half / spacing)) + 1, SPOTS)
        for k in range(count):
            spots.place[k, 0], spots.place[k, 1] = 0.0, 0.0
            spots.place[k, 2] = half * ((2 * k - (count - 1)) / (count - 1))
            if k:
                spots.link[k - 1, 0], spots.link[k - 1, 1] = k - 1, k
        return count, count - 1, solids.size[form, 0]
    radius, half = solids.size[form, 0], solids.size[form, 1]
    for k in range(2 * RIM):
        angle = 2.0 * np.pi * (k % RIM) / RIM
        _put_rim(spots.place, spots.normal, k, radius, half if k < RIM else -half, np.cos(angle), np.sin(angle), half)
        spots.later[k] = spots.place[k]
        spots.link[k, 0], spots.link[k, 1] = k, k + 1 if (k + 1) % RIM else k + 1 - RIM
    count = min(int(np.ceil(2.0 * half / spacing)) + 1, SPOTS - 2 * RIM)
    for k in range(count - 1):
        spots.link[2 * RIM + k, 0], spots.link[2 * RIM + k, 1] = 2 * RIM + k, 2 * RIM + k + 1
    return 2 * RIM + count, 2 * RIM + count - 1, 0.0


@kernel
def _put_rim(place, normal, k, radius, z, ux, uy, half):
    """A point of a cylinder's surface in the direction u. At a rim its outward direction is midway between both."""
    place[k, 0], place[k, 1], place[k, 2] = radius * ux, radius * uy, z
    up = 1.0 if z >= half else (-1.0 if z <= -half else 0.0)
    length = np.sqrt(1.0 + up * up)
    normal[k, 0], normal[k, 1], normal[k, 2] = ux / length, uy / length, up / length


@kernel
def put_front(solids, form, count, g, m, margin, fixed, place, normal):
    """Sets the points from 2 RIM on where circles about a cylinder's axis are nearest to the mesh with grid g.

    m maps the cylinder's frame to the mesh's. A rim that lies flat has no such point. One that does not has no use for
    the `fixed` points round it: they come down as the cylinder rolls, but never lower than its side.
    """
    radius, half = solids.size[form, 0], solids.size[form, 1]
    for k in range(2 * RIM, count):
        z = half * ((2 * (k - 2 * RIM) - (count - 2 * RIM - 1)) / (count - 2 * RIM - 1))
        ux, uy, across = 0.0, 0.0, 0.0
        for _ in range(_TURNS):
            x, y, w = mapped(m, radius * ux, radius * uy, z)
            _, nx, ny, nz = grid_near(solids, g, x, y, w, False)
            x, y = m[0] * nx + m[3] * ny + m[6] * nz, m[1] * nx + m[4] * ny + m[7] * nz
            across = np.sqrt(x * x + y * y)
            if across < _UPRIGHT:
                break
            ux, uy = -x / across, -y / across
        _put_rim(place, normal, k, radius if across >= _UPRIGHT else _NOWHERE, z, ux, uy, half)
        if across < _UPRIGHT:
            place[k, 2] = _NOWHERE
        if 2.0 * radius * across > margin and (k == 2 * RIM or k == count - 1):
            first = RIM if k == 2 * RIM else 0
            for i in range(first, first + RIM):
                if place[i, 0] * ux + place[i, 1] * uy > 0.5 * radius:
                    fixed[i, 2] = _NOWHERE


@kernel
def relative(pose, k, other, out):
    """The map from the frame of pose k to that of pose `other`: out[:9] a matrix, out[9:] a shift."""
    p, q = pose[k], pose[other]
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = q[3 + i] * p[3 + j] + q[6 + i] * p[6 + j] + q[9 + i] * p[9 + j]
        out[9 + i] = q[3 + i] * dx + q[6 + i] * dy + q[9 + i] * dz


@kernel
def mapped(m, x, y, z):
    return (
        m[0] * x + m[1] * y + m[2] * z + m[9],
        m[3] * x + m[4] * y + m[5] * z + m[10],
        m[6] * x + m[7] * y + m[8] * z + m[11],
    )


@kernel
def outward_of(point, outward, s, m):
    """A point's own outward direction in the frame that m leads to: away from the middle, for corners."""
    x, y, z = outward[s, 0], outward[s, 1], outward[s, 2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        x, y, z = point[s, 0], point[s, 1], point[s, 2]
        length = np.sqrt(x * x + y * y + z * z)
        x, y, z = x / length, y / length, z / length
    x, y, z = mapped(m, x, y, z)
    return x - m[9], y - m[10], z - m[11]


@kernel
def put_box(solids, form, more, out):
    """The box round a form in its own frame, and `more` on all sides: low corner, high corner."""
    kind, g = solids.kind[form], solids.grid[form]
    for axis in range(3):
        low, high = -solids.reach[form], solids.reach[form]
        if kind == CUBOID:
            low, high = -solids.size[form, axis], solids.size[form, axis]
        elif kind == CYLINDER:
            high = solids.size[form, 1 if axis == 2 else 0]
            low = -high
        elif kind == MESH:
            low = solids.grid_low[g, axis]
            high = low + solids.grid_spacing[g] * (solids.grid_count[g, axis] - 1)
        out[axis], out[3 + axis] = low - more, high + more
