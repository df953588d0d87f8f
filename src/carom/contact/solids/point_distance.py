"""Signed distance of a point to a solid of any kind, in the frame of its form: negative inside."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ...world import CAPSULE, CUBOID, HULL, SPHERE
from .grid_distance import grid_normal, grid_value

_FAR = 1e300


@kernel
def _from(x, y, z, less):
    """Distance to the origin less a radius, and its direction; at the origin itself z."""
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return -less, 0.0, 0.0, 1.0
    return length - less, x / length, y / length, z / length


@kernel
def _cuboid(a, b, c, x, y, z):
    ex, ey, ez = abs(x) - a, abs(y) - b, abs(z) - c
    sx, sy, sz = (1.0 if x >= 0.0 else -1.0), (1.0 if y >= 0.0 else -1.0), (1.0 if z >= 0.0 else -1.0)
    if ex <= 0.0 and ey <= 0.0 and ez <= 0.0:
        if ex >= ey and ex >= ez:
            return ex, sx, 0.0, 0.0
        if ey >= ez:
            return ey, 0.0, sy, 0.0
        return ez, 0.0, 0.0, sz
    ex, ey, ez = max(ex, 0.0), max(ey, 0.0), max(ez, 0.0)
    return _from(sx * ex, sy * ey, sz * ez, 0.0)


@kernel
def _cylinder(radius, half, x, y, z):
    across = np.sqrt(x * x + y * y)
    ux, uy = (x / across, y / across) if across > 0.0 else (1.0, 0.0)
    out, up = across - radius, abs(z) - half
    sign = 1.0 if z >= 0.0 else -1.0
    if out <= 0.0 and up <= 0.0:
        if out >= up:
            return out, ux, uy, 0.0
        return up, 0.0, 0.0, sign
    out, up = max(out, 0.0), max(up, 0.0)
    return _from(ux * out, uy * out, sign * up, 0.0)


@kernel
def _height(normal, offset, f, x, y, z):
    """Of a point over the plane of a face. Single numbers: a view of the table's row would cost more than the sum."""
    return normal[f, 0] * x + normal[f, 1] * y + normal[f, 2] * z - offset[f]


@kernel
def _over_face(solids, form, face, x, y, z):
    """Does a point lie over a face, within the planes through its edges?"""
    first = solids.vertex_ptr[form]
    nx, ny, nz = solids.face_normal[face, 0], solids.face_normal[face, 1], solids.face_normal[face, 2]
    begin, end = solids.loop_ptr[face], solids.loop_ptr[face + 1]
    for s in range(begin, end):
        a = first + solids.loop[s]
        b = first + solids.loop[s + 1 if s + 1 < end else begin]
        ux = solids.vertex[b, 0] - solids.vertex[a, 0]
        uy = solids.vertex[b, 1] - solids.vertex[a, 1]
        uz = solids.vertex[b, 2] - solids.vertex[a, 2]
        px, py, pz = x - solids.vertex[a, 0], y - solids.vertex[a, 1], z - solids.vertex[a, 2]
        cx, cy, cz = uy * pz - uz * py, uz * px - ux * pz, ux * py - uy * px
        if cx * nx + cy * ny + cz * nz < 0.0:
            return False
    return True


@kernel
def _hull(solids, form, x, y, z, most):
    """Inside: the nearest face. Outside: the face that the point lies over, or else the nearest edge."""
    highest, best = -_FAR, 0
    for f in range(solids.face_ptr[form], solids.face_ptr[form + 1]):
        height = _height(solids.face_normal, solids.face_offset, f, x, y, z)
        if height > highest:
            highest, best = height, f
    # The planes bound the distance from below: what is too far by them needs no more.
    if highest <= 0.0 or highest > most or _over_face(solids, form, best, x, y, z):
        return highest, solids.face_normal[best, 0], solids.face_normal[best, 1], solids.face_normal[best, 2]
    first = solids.vertex_ptr[form]
    least, rx, ry, rz = _FAR, 0.0, 0.0, 1.0
    for e in range(solids.edge_ptr[form], solids.edge_ptr[form + 1]):
        a, b = first + solids.edge[e, 0], first + solids.edge[e, 1]
        ux = solids.vertex[b, 0] - solids.vertex[a, 0]
        uy = solids.vertex[b, 1] - solids.vertex[a, 1]
        uz = solids.vertex[b, 2] - solids.vertex[a, 2]
        px, py, pz = x - solids.vertex[a, 0], y - solids.vertex[a, 1], z - solids.vertex[a, 2]
        t = (px * ux + py * uy + pz * uz) / (ux * ux + uy * uy + uz * uz)
        t = min(max(t, 0.0), 1.0)
        px, py, pz = px - t * ux, py - t * uy, pz - t * uz
        square = px * px + py * py + pz * pz
        if square < least:
            least, rx, ry, rz = square, px, py, pz
    for f in range(solids.face_ptr[form], solids.face_ptr[form + 1]):
        height = _height(solids.face_normal, solids.face_offset, f, x, y, z)
        if height > 0.0 and height * height < least and _over_face(solids, form, f, x, y, z):
            rx, ry, rz = (
                height * solids.face_normal[f, 0],
                height * solids.face_normal[f, 1],
                height * solids.face_normal[f, 2],
            )
            least = height * height
    return _from(rx, ry, rz, 0.0)


@kernel
def simple(kind, a, b, c, x, y, z):
    """`distance` for the forms that three sizes describe. No tables, whose references Numba would count."""
    if kind == SPHERE:
        return _from(x, y, z, a)
    if kind == CAPSULE:
        return _from(x, y, z - min(max(z, -b), b), a)
    if kind == CUBOID:
        return _cuboid(a, b, c, x, y, z)
    return _cylinder(a, b, x, y, z)


@kernel
def distance(solids, form, x, y, z, most):
    """Signed distance of a point and the outward unit normal there. Beyond `most` a lower bound is good enough."""
    kind, g = solids.kind[form], solids.grid[form]
    if kind == HULL:
        return _hull(solids, form, x, y, z, most)
    if g < 0:
        return simple(kind, solids.size[form, 0], solids.size[form, 1], solids.size[form, 2], x, y, z)
    d = grid_value(solids, g, x, y, z)
    if d > most:
        return d, 0.0, 0.0, 1.0
    nx, ny, nz = grid_normal(solids, g, x, y, z)
    return d, nx, ny, nz
