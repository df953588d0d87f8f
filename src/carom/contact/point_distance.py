"""Signed distance of a point from a shape, negative inside: for spheres against convex shapes, and for mesh points.

`nearest` and `feature_distance` also tell the nearest feature, and measure the distance from that feature alone.
`distance` takes shapes of any kind. All are in the frame of the shape.
"""

from __future__ import annotations

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, CONE, CYLINDER, HULL, SPHERE
from ..kernels import kernel
from .grid_distance import grid_normal, grid_value
from .support import FACES, FACES_END, LOW, rims


@kernel
def _corner(x, y, z):
    """Distance from a right-angled corner, given the signed distances from its faces; negative inside."""
    top = max(x, y, z)
    if top <= 0.0:
        return top
    x, y, z = max(x, 0.0), max(y, 0.0), max(z, 0.0)
    return np.sqrt(x * x + y * y + z * z)


@kernel
def _point(x, y, z, n):
    """Distance from the origin, negative if the point lies against n."""
    distance = np.sqrt(x * x + y * y + z * z)
    return -distance if x * n[0] + y * n[1] + z * n[2] < 0.0 else distance


@kernel
def _unit(x, y, z, ux, uy, uz):
    """(x, y, z) normalized, or (ux, uy, uz) if it is zero."""
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return ux, uy, uz
    return x / length, y / length, z / length


@kernel
def _nearest_on_box(a, b, c, x, y, z):
    ex, ey, ez = abs(x) - a, abs(y) - b, abs(z) - c
    sx, sy, sz = (1.0 if x >= 0.0 else -1.0), (1.0 if y >= 0.0 else -1.0), (1.0 if z >= 0.0 else -1.0)
    top = max(ex, ey, ez)
    if top <= 0.0:  # inside: the nearest face, or all that are equally near
        i, j, k = ex == top, ey == top, ez == top
        n = _unit(sx * i, sy * j, sz * k, 0.0, 0.0, 1.0)
    else:
        i, j, k = ex > 0.0, ey > 0.0, ez > 0.0
        n = _unit(sx * max(ex, 0.0), sy * max(ey, 0.0), sz * max(ez, 0.0), 0.0, 0.0, 1.0)
    code = (i * (1 if x >= 0.0 else 2)) + 3 * (j * (1 if y >= 0.0 else 2)) + 9 * (k * (1 if z >= 0.0 else 2))
    return _corner(ex, ey, ez), n, code, 0, 0


@kernel
def _box_feature(a, b, c, code, x, y, z):
    i, j, k = code % 3, (code // 3) % 3, code // 9
    ex = (x if i == 1 else -x) - a if i > 0 else -np.inf
    ey = (y if j == 1 else -y) - b if j > 0 else -np.inf
    ez = (z if k == 1 else -z) - c if k > 0 else -np.inf
    return _corner(ex, ey, ez)


@kernel
def _nearest_on_capsule(half, x, y, z):
    end = z > half or z < -half
    rest = z - half if z > half else (z + half if end else 0.0)
    n = _unit(x, y, rest, 1.0, 0.0, 0.0)
    return np.sqrt(x * x + y * y + rest * rest), n, (1 if z > half else (2 if end else 0)), 0, 0


@kernel
def _nearest_on_cylinder(r, half, x, y, z):
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


_SIDE, _BASE, _TOP, _LOWER_RIM, _UPPER_RIM = 0, 1, 2, 3, 4  # features of a cone


@kernel
def _cone_code(ends, r, z):
    """The feature of a cone that is nearest to a point at distance r from the axis and height z.

    Also the distance from the side, negative inside, and the unit normal (outward, z) of the side.
    """
    top, high, bottom, low = ends
    slant = np.sqrt((high - low) ** 2 + (bottom - top) ** 2)
    nr, nz = (high - low) / slant, (bottom - top) / slant
    side, along = (r - bottom) * nr + (z - low) * nz, (z - low) * nr - (r - bottom) * nz
    if side <= 0.0 and low <= z <= high:
        if side >= z - high and side >= low - z:
            return _SIDE, side, nr, nz
        return (_TOP if z - high >= low - z else _BASE), side, nr, nz
    if z < low and r <= bottom:
        return _BASE, side, nr, nz
    if z > high and r <= top:
        return _TOP, side, nr, nz
    return (_LOWER_RIM if along <= 0.0 else (_UPPER_RIM if along >= slant else _SIDE)), side, nr, nz


@kernel
def _nearest_on_cone(ends, x, y, z):
    across = np.sqrt(x * x + y * y)
    ux, uy = (x / across, y / across) if across > 0.0 else (1.0, 0.0)
    code, side, nr, nz = _cone_code(ends, across, z)
    if code == _SIDE:
        return side, (nr * ux, nr * uy, nz), code, 0, 0
    if code == _TOP:
        return z - ends[1], (0.0, 0.0, 1.0), code, 0, 0
    if code == _BASE:
        return ends[3] - z, (0.0, 0.0, -1.0), code, 0, 0
    radius, height = (ends[0], ends[1]) if code == _UPPER_RIM else (ends[2], ends[3])
    out, up = across - radius, z - height
    return np.sqrt(out * out + up * up), _unit(out * ux, out * uy, up, nr * ux, nr * uy, nz), code, 0, 0


@kernel
def _cone_feature(ends, code, x, y, z, n):
    if code == _TOP:
        return z - ends[1]
    if code == _BASE:
        return ends[3] - z
    across = np.sqrt(x * x + y * y)
    if x * n[0] + y * n[1] < 0.0:
        across = -across
    if code == _SIDE:
        nr = np.sqrt(n[0] * n[0] + n[1] * n[1])
        return (across - ends[2]) * nr + (z - ends[3]) * n[2]
    radius, height = (ends[0], ends[1]) if code == _UPPER_RIM else (ends[2], ends[3])
    return _point(across - radius, 0.0, z - height, (np.sqrt(n[0] * n[0] + n[1] * n[1]), 0.0, n[2]))


@kernel
def _on_face(cores, low, face, x, y, z):
    """Squared distance of a point above a face from it, and the feature: (1, face), (2, i, j) edge, (3, i) vertex."""
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
def _nearest_on_hull(cores, shape, x, y, z):
    low, f0, f1 = int(cores.table[shape, LOW]), int(cores.table[shape, FACES]), int(cores.table[shape, FACES_END])
    plane = cores.face
    top, face = -np.inf, f0
    for j in range(f0, f1):
        height = plane[j, 0] * x + plane[j, 1] * y + plane[j, 2] * z - plane[j, 3]
        if height > top:
            top, face = height, j
    square, code, i, j = top * top, 1, face, 0
    if top > 0.0:
        square, code, i, j = _on_face(cores, low, face, x, y, z)
        if code != 1:  # beside the face of largest height: the nearest of all faces that the point is above
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
def nearest(cores, shape, x, y, z):
    """Signed distance of a point from the core of a convex shape, its gradient, and the nearest feature.

    The feature is three numbers for `feature_distance`. The radius of a sphere or capsule is not subtracted.
    """
    table = cores.table
    kind, a, b, c = table[shape, 0], table[shape, 1], table[shape, 2], table[shape, 3]
    if kind == SPHERE:
        n = _unit(x, y, z, 0.0, 0.0, 1.0)
        return np.sqrt(x * x + y * y + z * z), n, 0, 0, 0
    if kind == BOX:
        return _nearest_on_box(a, b, c, x, y, z)
    if kind == CAPSULE:
        return _nearest_on_capsule(b, x, y, z)
    if kind == CYLINDER:
        return _nearest_on_cylinder(a, b, x, y, z)
    if kind == CONE:
        return _nearest_on_cone(rims(kind, a, b, c), x, y, z)
    return _nearest_on_hull(cores, shape, x, y, z)


@kernel
def feature_distance(cores, shape, code, i, j, x, y, z, n):
    """Signed distance of a point from a feature that `nearest` returned, with its gradient n."""
    table = cores.table
    kind, a, b, c = table[shape, 0], table[shape, 1], table[shape, 2], table[shape, 3]
    if kind == SPHERE:
        return _point(x, y, z, n)
    if kind == BOX:
        return _box_feature(a, b, c, code, x, y, z)
    if kind == CAPSULE:
        return _point(x, y, 0.0 if code == 0 else (z - b if code == 1 else z + b), n)
    if kind == CYLINDER:
        return _cylinder_feature(a, b, code, x, y, z, n)
    if kind == CONE:
        return _cone_feature(rims(kind, a, b, c), code, x, y, z, n)
    return _hull_feature(cores, code, i, j, x, y, z, n)


# ---- shapes of any kind

_FAR = 1e300


@kernel
def _from(x, y, z, less):
    """Distance from the origin minus a radius, and its direction; z at the origin itself."""
    length = np.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return -less, 0.0, 0.0, 1.0
    return length - less, x / length, y / length, z / length


@kernel
def _box_distance(a, b, c, x, y, z):
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
def _cylinder_distance(radius, half, x, y, z):
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
    """Height of a point over the plane of face f."""
    return normal[f, 0] * x + normal[f, 1] * y + normal[f, 2] * z - offset[f]


@kernel
def _over_face(shapes, shape, face, x, y, z):
    """Whether a point lies over a face, within the planes through its edges."""
    first = shapes.vertex_ptr[shape]
    nx, ny, nz = shapes.face_normal[face, 0], shapes.face_normal[face, 1], shapes.face_normal[face, 2]
    begin, end = shapes.loop_ptr[face], shapes.loop_ptr[face + 1]
    for s in range(begin, end):
        a = first + shapes.loop[s]
        b = first + shapes.loop[s + 1 if s + 1 < end else begin]
        ux = shapes.vertex[b, 0] - shapes.vertex[a, 0]
        uy = shapes.vertex[b, 1] - shapes.vertex[a, 1]
        uz = shapes.vertex[b, 2] - shapes.vertex[a, 2]
        px, py, pz = x - shapes.vertex[a, 0], y - shapes.vertex[a, 1], z - shapes.vertex[a, 2]
        cx, cy, cz = uy * pz - uz * py, uz * px - ux * pz, ux * py - uy * px
        if cx * nx + cy * ny + cz * nz < 0.0:
            return False
    return True


@kernel
def _hull_distance(shapes, shape, x, y, z, most):
    """Signed distance and normal of a hull: inside from the nearest face, outside from the nearest face or edge."""
    highest, best = -_FAR, 0
    for f in range(shapes.face_ptr[shape], shapes.face_ptr[shape + 1]):
        height = _height(shapes.face_normal, shapes.face_offset, f, x, y, z)
        if height > highest:
            highest, best = height, f
    # The planes give a lower bound of the distance.
    if highest <= 0.0 or highest > most or _over_face(shapes, shape, best, x, y, z):
        return highest, shapes.face_normal[best, 0], shapes.face_normal[best, 1], shapes.face_normal[best, 2]
    first = shapes.vertex_ptr[shape]
    least, rx, ry, rz = _FAR, 0.0, 0.0, 1.0
    for e in range(shapes.edge_ptr[shape], shapes.edge_ptr[shape + 1]):
        a, b = first + shapes.edge[e, 0], first + shapes.edge[e, 1]
        ux = shapes.vertex[b, 0] - shapes.vertex[a, 0]
        uy = shapes.vertex[b, 1] - shapes.vertex[a, 1]
        uz = shapes.vertex[b, 2] - shapes.vertex[a, 2]
        px, py, pz = x - shapes.vertex[a, 0], y - shapes.vertex[a, 1], z - shapes.vertex[a, 2]
        t = (px * ux + py * uy + pz * uz) / (ux * ux + uy * uy + uz * uz)
        t = min(max(t, 0.0), 1.0)
        px, py, pz = px - t * ux, py - t * uy, pz - t * uz
        square = px * px + py * py + pz * pz
        if square < least:
            least, rx, ry, rz = square, px, py, pz
    for f in range(shapes.face_ptr[shape], shapes.face_ptr[shape + 1]):
        height = _height(shapes.face_normal, shapes.face_offset, f, x, y, z)
        if height > 0.0 and height * height < least and _over_face(shapes, shape, f, x, y, z):
            rx, ry, rz = (
                height * shapes.face_normal[f, 0],
                height * shapes.face_normal[f, 1],
                height * shapes.face_normal[f, 2],
            )
            least = height * height
    return _from(rx, ry, rz, 0.0)


@kernel
def sized_distance(kind, a, b, c, x, y, z):
    """`distance` for the shapes that three sizes describe. It takes no arrays, whose references Numba would count."""
    if kind == SPHERE:
        return _from(x, y, z, a)
    if kind == CAPSULE:
        return _from(x, y, z - min(max(z, -b), b), a)
    if kind == BOX:
        return _box_distance(a, b, c, x, y, z)
    if kind == CONE:
        d, n, _, _, _ = _nearest_on_cone(rims(kind, a, b, c), x, y, z)
        return d, n[0], n[1], n[2]
    return _cylinder_distance(a, b, x, y, z)


@kernel
def distance(shapes, shape, x, y, z, most):
    """Signed distance of a point and the outward unit normal there. Beyond `most` it may be a lower bound."""
    kind, g = shapes.kind[shape], shapes.grid[shape]
    if kind == HULL:
        return _hull_distance(shapes, shape, x, y, z, most)
    if g < 0:
        return sized_distance(kind, shapes.size[shape, 0], shapes.size[shape, 1], shapes.size[shape, 2], x, y, z)
    d = grid_value(shapes, g, x, y, z)
    if d > most:
        return d, 0.0, 0.0, 1.0
    nx, ny, nz = grid_normal(shapes, g, x, y, z)
    return d, nx, ny, nz
