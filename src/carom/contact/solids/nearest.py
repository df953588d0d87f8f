"""Signed distance of a point from a convex form, and from one feature of it: all that spheres need."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ...world import CAPSULE, CUBOID, CYLINDER, SPHERE
from .cores import FACES, FACES_END, LOW


@kernel
def _corner(x, y, z):
    """Distance outside a corner of right angles, from the distances outside its faces; negative inside."""
    top = max(x, y, z)
    if top <= 0.0:
        return top
    x, y, z = max(x, 0.0), max(y, 0.0), max(z, 0.0)
    return np.sqrt(x * x + y * y + z * z)


@kernel
def _point(x, y, z, n):
    """Distance from the origin, negative beyond it as seen along n."""
    distance = np.sqrt(x * x + y * y + z * z)
    return -distance if x * n[0] + y * n[1] + z * n[2] < 0.0 else distance


@kernel
def _unit(x, y, z, ux, uy, uz):
    """(x, y, z) made of unit length, or (ux, uy, uz) if it has none."""
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return ux, uy, uz
    return x / length, y / length, z / length


@kernel
def _cuboid(a, b, c, x, y, z):
    ex, ey, ez = abs(x) - a, abs(y) - b, abs(z) - c
    sx, sy, sz = (1.0 if x >= 0.0 else -1.0), (1.0 if y >= 0.0 else -1.0), (1.0 if z >= 0.0 else -1.0)
    top = max(ex, ey, ez)
    if top <= 0.0:  # inside: the nearest face, or all that are as near
        i, j, k = ex == top, ey == top, ez == top
        n = _unit(sx * i, sy * j, sz * k, 0.0, 0.0, 1.0)
    else:
        i, j, k = ex > 0.0, ey > 0.0, ez > 0.0
        n = _unit(sx * max(ex, 0.0), sy * max(ey, 0.0), sz * max(ez, 0.0), 0.0, 0.0, 1.0)
    code = (i * (1 if x >= 0.0 else 2)) + 3 * (j * (1 if y >= 0.0 else 2)) + 9 * (k * (1 if z >= 0.0 else 2))
    return _corner(ex, ey, ez), n, code, 0, 0


@kernel
def _cuboid_feature(a, b, c, code, x, y, z):
    i, j, k = code % 3, (code // 3) % 3, code // 9
    ex = (x if i == 1 else -x) - a if i > 0 else -np.inf
    ey = (y if j == 1 else -y) - b if j > 0 else -np.inf
    ez = (z if k == 1 else -z) - c if k > 0 else -np.inf
    return _corner(ex, ey, ez)


@kernel
def _capsule(half, x, y, z):
    end = z > half or z < -half
    rest = z - half if z > half else (z + half if end else 0.0)
    n = _unit(x, y, rest, 1.0, 0.0, 0.0)
    return np.sqrt(x * x + y * y + rest * rest), n, (1 if z > half else (2 if end else 0)), 0, 0


@kernel
def _cylinder(r, half, x, y, z):
    across = np.sqrt(x * x + y * y)
    er, ez, up = across - r, abs(z) - half, 1.0 if z >= 0.0 else -1.0
    ux, uy = (x / across, y / across) if across > 0.0 else (1.0, 0.0)
    top = max(er, ez)
    if top <= 0.0:
        side, cap = er == top, ez == top
        n = _unit(ux * side, uy * side, up * cap, 0.0, 0.0, 1.0)
    else:
        side, cap = er > 0.0, ez > 0.0
        p, q = max(er, 0.0), max(ez, 0.0)
        n = _unit(p * ux, p * uy, q * up, 0.0, 0.0, 1.0)
    code = (1 if side else 0) + (2 * (1 if z >= 0.0 else 2) if cap else 0)
    return _corner(er, ez, -np.inf), n, code, 0, 0


@kernel
def _cylinder_feature(r, half, code, x, y, z, n):
    across = np.sqrt(x * x + y * y)
    if x * n[0] + y * n[1] < 0.0:
        across = -across
    er = across - r if code & 1 else -np.inf
    cap = code >> 1
    ez = (z if cap == 1 else -z) - half if cap > 0 else -np.inf
    return _corner(er, ez, -np.inf)


@kernel
def _on_face(cores, low, face, x, y, z):
    """Squared distance of a point above a face from it, and the feature: (1, face), (2, i, j) edge, (3, i) corner."""
    start, end = cores.loop_ptr[face], cores.loop_ptr[face + 1]
    nx, ny, nz = cores.face[face, 0], cores.face[face, 1], cores.face[face, 2]
    best, code, bi, bj = np.inf, 1, face, 0
    outside = False
    for m in range(start, end):
        i, j = low + cores.loop[m], low + cores.loop[m + 1 if m + 1 < end else start]
        px, py, pz = x - cores.vertex[i, 0], y - cores.vertex[i, 1], z - cores.vertex[i, 2]
        ex, ey, ez = (
            cores.vertex[j, 0] - cores.vertex[i, 0],
            cores.vertex[j, 1] - cores.vertex[i, 1],
            cores.vertex[j, 2] - cores.vertex[i, 2],
        )
        inward = (ny * ez - nz * ey) * px + (nz * ex - nx * ez) * py + (nx * ey - ny * ex) * pz
        if inward >= 0.0:
            continue
        outside = True
        t, length = px * ex + py * ey + pz * ez, ex * ex + ey * ey + ez * ez
        kind = 2 if 0.0 < t < length else 3
        t = min(max(t / length, 0.0), 1.0)
        px, py, pz = px - t * ex, py - t * ey, pz - t * ez
        square = px * px + py * py + pz * pz
        if square < best:
            best, code, bi, bj = square, kind, (j if kind == 3 and t == 1.0 else i), j
    if not outside:
        height = nx * x + ny * y + nz * z - cores.face[face, 3]
        return height * height, 1, face, 0
    return best, code, bi, bj


@kernel
def _from_edge(vertex, i, j, x, y, z):
    """Vector from the line of an edge to a point."""
    ex, ey, ez = vertex[j, 0] - vertex[i, 0], vertex[j, 1] - vertex[i, 1], vertex[j, 2] - vertex[i, 2]
    px, py, pz = x - vertex[i, 0], y - vertex[i, 1], z - vertex[i, 2]
    t = (px * ex + py * ey + pz * ez) / (ex * ex + ey * ey + ez * ez)
    return px - t * ex, py - t * ey, pz - t * ez


@kernel
def _hull(cores, form, x, y, z):
    low, f0, f1 = int(cores.shape[form, LOW]), int(cores.shape[form, FACES]), int(cores.shape[form, FACES_END])
    plane = cores.face
    top, face = -np.inf, f0
    for j in range(f0, f1):
        height = plane[j, 0] * x + plane[j, 1] * y + plane[j, 2] * z - plane[j, 3]
        if height > top:
            top, face = height, j
    square, code, i, j = top * top, 1, face, 0
    if top > 0.0:
        square, code, i, j = _on_face(cores, low, face, x, y, z)
        if code != 1:  # beside the highest face: the nearest of all faces that the point is above
            for m in range(f0, f1):
                height = plane[m, 0] * x + plane[m, 1] * y + plane[m, 2] * z - plane[m, 3]
                if m != face and height > 0.0 and height * height < square:
                    found, kind, p, q = _on_face(cores, low, m, x, y, z)
                    if found < square:
                        square, code, i, j = found, kind, p, q
    fx, fy, fz = plane[face, 0], plane[face, 1], plane[face, 2]
    if code == 1:
        return (top if top <= 0.0 else np.sqrt(square)), (plane[i, 0], plane[i, 1], plane[i, 2]), code, i, j
    if code == 2:
        px, py, pz = _from_edge(cores.vertex, i, j, x, y, z)
    else:
        px, py, pz = x - cores.vertex[i, 0], y - cores.vertex[i, 1], z - cores.vertex[i, 2]
    return np.sqrt(square), _unit(px, py, pz, fx, fy, fz), code, i, j


@kernel
def _hull_feature(cores, code, i, j, x, y, z, n):
    if code == 1:
        return cores.face[i, 0] * x + cores.face[i, 1] * y + cores.face[i, 2] * z - cores.face[i, 3]
    if code == 2:
        px, py, pz = _from_edge(cores.vertex, i, j, x, y, z)
        return _point(px, py, pz, n)
    return _point(x - cores.vertex[i, 0], y - cores.vertex[i, 1], z - cores.vertex[i, 2], n)


@kernel
def nearest(cores, form, x, y, z):
    """Signed distance of a point (in the form's frame) from the core, its gradient, and the feature it is nearest to.

    The feature is three numbers that `feature_distance` understands. A sphere's or capsule's radius is not taken off.
    """
    shape = cores.shape
    kind, a, b, c = shape[form, 0], shape[form, 1], shape[form, 2], shape[form, 3]
    if kind == SPHERE:
        n = _unit(x, y, z, 0.0, 0.0, 1.0)
        return np.sqrt(x * x + y * y + z * z), n, 0, 0, 0
    if kind == CUBOID:
        return _cuboid(a, b, c, x, y, z)
    if kind == CAPSULE:
        return _capsule(b, x, y, z)
    if kind == CYLINDER:
        return _cylinder(a, b, x, y, z)
    return _hull(cores, form, x, y, z)


@kernel
def feature_distance(cores, form, code, i, j, x, y, z, n):
    """Signed distance of a point from a feature that `nearest` named, where the gradient was n."""
    shape = cores.shape
    kind, a, b, c = shape[form, 0], shape[form, 1], shape[form, 2], shape[form, 3]
    if kind == SPHERE:
        return _point(x, y, z, n)
    if kind == CUBOID:
        return _cuboid_feature(a, b, c, code, x, y, z)
    if kind == CAPSULE:
        return _point(x, y, 0.0 if code == 0 else (z - b if code == 1 else z + b), n)
    if kind == CYLINDER:
        return _cylinder_feature(a, b, code, x, y, z, n)
    return _hull_feature(cores, code, i, j, x, y, z, n)
