"""Signed distance of a point from a shape, negative inside, in the frame of the shape.

`distance` and `signed_distance` take shapes of any kind as a `Surface`. For cores of convex shapes, `nearest` also
tells the nearest feature (vertex, edge, face, rim), and `feature_distance` measures the distance from that feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.shapes import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, SPHERE
from ..geometry.vectors import Vec3, cross, dot, norm, row3
from ..kernels import kernel, lean
from .grid_distance import DistanceGrid, SignedDistance, grid_distance, grid_of, grid_value
from .parts import Core, core_of, rims

_FACE, _EDGE, _VERTEX = 1, 2, 3  # features of a hull: face i, edge from vertex i to j, vertex i
SHIFT_ITERATIONS = 60  # of Newton's method for ellipsoids, which needs fewer than ten unless a half axis is tiny
_SIDE, _BASE, _TOP, _LOWER_RIM, _UPPER_RIM = 0, 1, 2, 3, 4  # features of a cone


class Feature(NamedTuple):
    """A vertex, edge or face of a convex shape; the meaning of the numbers depends on the kind of shape."""

    code: int
    i: int
    j: int


class Nearest(NamedTuple):
    """Signed distance of a point from a core, its gradient (outward), and the nearest feature of the core."""

    distance: float
    normal: Vec3
    feature: Feature


class Surface(NamedTuple):
    """The surface of a shape of any kind, which points are measured from."""

    core: Core
    grid: DistanceGrid  # without nodes if the shape is convex


@kernel(inline="always")
def surface_of(shapes, shape):
    """The surface of a shape of a table of shapes."""
    return Surface(core_of(shapes, shape), grid_of(shapes, shape))


@lean
def signed_distance(surface, p, exact):
    """Signed distance and normal of a point. Far outside a mesh it is approximate, unless `exact`."""
    if surface.grid.nx > 0:
        return grid_distance(surface.grid, p, exact)
    near = nearest(surface.core, p)
    return SignedDistance(near.distance - surface.core.radius, near.normal)


@kernel(inline="always")
def distance(surface, p, most):
    """Signed distance of a point. Beyond `most`, and outside the grid of a mesh, it may be a lower bound."""
    if surface.grid.nx > 0:
        return grid_value(surface.grid, p)
    core = surface.core
    if core.kind == HULL:
        bound = _highest_face(core, p)[0]
        if bound > most:
            return bound
    return nearest(core, p).distance - core.radius


# ---- nearest features of convex cores


@lean
def nearest(core, p):
    """Signed distance of a point from the core of a convex shape, its gradient, and the nearest feature.

    The radius of a sphere or capsule is not subtracted.
    """
    kind, size = core.kind, core.size
    if kind == SPHERE:
        return Nearest(norm(p), _unit(p, Vec3(0.0, 0.0, 1.0)), Feature(0, 0, 0))
    if kind == BOX:
        return _nearest_on_box(size, p)
    if kind == CAPSULE:
        return _nearest_on_capsule(size.y, p)
    if kind == CYLINDER:
        return _nearest_on_cylinder(size.x, size.y, p)
    if kind == CONE:
        return _nearest_on_cone(rims(kind, size), p)
    if kind == ELLIPSOID:
        return _nearest_on_ellipsoid(size, p)
    return _nearest_on_hull(core, p)


@lean
def feature_distance(core, near, p):
    """Signed distance of a point from the feature of `near`, which `nearest` returned for another point."""
    kind, size, code = core.kind, core.size, near.feature.code
    if kind == SPHERE:
        return _length_along(p, near.normal)
    if kind == BOX:
        return _box_feature(size, code, p)
    if kind == CAPSULE:
        z = 0.0 if code == 0 else (p.z - size.y if code == 1 else p.z + size.y)
        return _length_along(Vec3(p.x, p.y, z), near.normal)
    if kind == CYLINDER:
        return _cylinder_feature(size.x, size.y, near, p)
    if kind == CONE:
        return _cone_feature(rims(kind, size), near, p)
    if kind == ELLIPSOID:
        return _ellipsoid_feature(size, near, p)
    return _hull_feature(core, near, p)


@kernel(inline="always")
def _corner(x, y, z):
    """Distance from a right-angled corner, given the signed distances from its faces; negative inside."""
    top = max(x, y, z)
    if top <= 0.0:
        return top
    return norm(Vec3(max(x, 0.0), max(y, 0.0), max(z, 0.0)))


@kernel(inline="always")
def _length_along(a, n):
    """The length of a, negative if it points against n."""
    return -norm(a) if dot(a, n) < 0.0 else norm(a)


@kernel(inline="always")
def _unit(a, other):
    """The direction of a, or `other` if a is zero."""
    length = norm(a)
    return other if length == 0.0 else a / length


@kernel(inline="always")
def _outward(x, excess, top):
    """Component along one axis of the direction from the nearest point of a box to a point; if inside, to its face.

    `excess` is how far the coordinate x lies beyond the box, `top` the largest excess of all axes. From inside, the
    direction is to the nearest face, or to the middle of all that are equally near.
    """
    size = max(excess, 0.0) if top > 0.0 else (1.0 if excess == top else 0.0)
    return size if x >= 0.0 else -size


@kernel(inline="always")
def _sign_code(component):
    return 0 if component == 0.0 else (1 if component > 0.0 else 2)


@kernel
def _nearest_on_box(half, p):
    """Code of the feature: 0, 1, 2 for neither, the positive or the negative face of each axis, times 1, 3, 9."""
    x, y, z = abs(p.x) - half.x, abs(p.y) - half.y, abs(p.z) - half.z
    top = max(x, y, z)
    out = Vec3(_outward(p.x, x, top), _outward(p.y, y, top), _outward(p.z, z, top))
    code = _sign_code(out.x) + 3 * _sign_code(out.y) + 9 * _sign_code(out.z)
    return Nearest(_corner(x, y, z), _unit(out, Vec3(0.0, 0.0, 1.0)), Feature(code, 0, 0))


@kernel(inline="always")
def _over(x, half, sign_code):
    """Height of a coordinate over the face at +half or -half that a code tells; -inf for neither."""
    return (x if sign_code == 1 else -x) - half if sign_code > 0 else -np.inf


@kernel
def _box_feature(half, code, p):
    return _corner(_over(p.x, half.x, code % 3), _over(p.y, half.y, (code // 3) % 3), _over(p.z, half.z, code // 9))


@kernel
def _nearest_on_capsule(half, p):
    """Code of the feature: 0 for the segment, 1 and 2 for its upper and lower end."""
    code = 1 if p.z > half else (2 if p.z < -half else 0)
    away = Vec3(p.x, p.y, p.z - half if code == 1 else (p.z + half if code == 2 else 0.0))
    return Nearest(norm(away), _unit(away, Vec3(1.0, 0.0, 0.0)), Feature(code, 0, 0))


@kernel(inline="always")
def _across(p):
    """Distance of a point from the z axis, and the direction (x, y) from there; x on the axis itself."""
    across = np.sqrt(p.x * p.x + p.y * p.y)
    if across == 0.0:
        return across, 1.0, 0.0
    return across, p.x / across, p.y / across


@kernel(inline="always")
def _signed_across(p, n):
    """Distance of a point from the z axis, negative on the side that n points away from."""
    across = _across(p)[0]
    return -across if p.x * n.x + p.y * n.y < 0.0 else across


@kernel
def _nearest_on_cylinder(r, half, p):
    """Code of the feature: 1 for the side, plus 2 and 4 for the upper and lower cap."""
    across, ux, uy = _across(p)
    side, cap = across - r, abs(p.z) - half
    top = max(side, cap)
    out, up = _outward(1.0, side, top), _outward(p.z, cap, top)
    normal = _unit(Vec3(out * ux, out * uy, up), Vec3(0.0, 0.0, 1.0))
    return Nearest(_corner(side, cap, -np.inf), normal, Feature(_sign_code(out) + 2 * _sign_code(up), 0, 0))


@kernel
def _cylinder_feature(r, half, near, p):
    side = _signed_across(p, near.normal) - r if near.feature.code & 1 else -np.inf
    return _corner(side, _over(p.z, half, near.feature.code >> 1), -np.inf)


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
def _nearest_on_cone(ends, p):
    across, ux, uy = _across(p)
    code, side, nr, nz = _cone_code(ends, across, p.z)
    feature, normal = Feature(code, 0, 0), Vec3(nr * ux, nr * uy, nz)
    if code == _SIDE:
        return Nearest(side, normal, feature)
    if code == _TOP:
        return Nearest(p.z - ends[1], Vec3(0.0, 0.0, 1.0), feature)
    if code == _BASE:
        return Nearest(ends[3] - p.z, Vec3(0.0, 0.0, -1.0), feature)
    radius, height = (ends[0], ends[1]) if code == _UPPER_RIM else (ends[2], ends[3])
    out, up = across - radius, p.z - height
    return Nearest(np.sqrt(out * out + up * up), _unit(Vec3(out * ux, out * uy, up), normal), feature)


@kernel
def _cone_feature(ends, near, p):
    code, n = near.feature.code, near.normal
    if code == _TOP:
        return p.z - ends[1]
    if code == _BASE:
        return ends[3] - p.z
    across, nr = _signed_across(p, n), np.sqrt(n.x * n.x + n.y * n.y)
    if code == _SIDE:
        return (across - ends[2]) * nr + (p.z - ends[3]) * n.z
    radius, height = (ends[0], ends[1]) if code == _UPPER_RIM else (ends[2], ends[3])
    return _length_along(Vec3(across - radius, 0.0, p.z - height), Vec3(nr, 0.0, n.z))


@kernel
def _ellipsoid_shift(half, p, least):
    """The shift s of the nearest point x_i = e_i^2 p_i / (s + e_i^2 - least) of an ellipsoid with half axes e.

    `least` is the smallest e_i^2. On the surface F(s) = sum (e_i p_i / (s + e_i^2 - least))^2 is 1; s is its only root
    above 0, or 0 if F(0) < 1 (D. Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid,
    Geometric Tools, 2013). 1 / sqrt(F) increases and is concave, so that Newton's method from the left never passes
    the root; one term of the sum alone gives the start.
    """
    s = 0.0
    for i in range(3):
        s = max(s, half[i] * abs(p[i]) - (half[i] * half[i] - least))
    for _ in range(SHIFT_ITERATIONS):
        value, slope = 0.0, 0.0
        for i in range(3):
            below = s + (half[i] * half[i] - least)
            if p[i] != 0.0 and below > 0.0:
                term = (half[i] * p[i] / below) ** 2
                value, slope = value + term, slope + term / below
        if value <= 1.0:
            break
        longer = s + value * (np.sqrt(value) - 1.0) / slope
        if longer <= s:
            break
        s = longer
    return s


@kernel
def _nearest_on_ellipsoid(half, p):
    """The feature is the whole surface. Where several points are nearest (inside, on an axis), one of them counts."""
    low = 0 if half.x <= half.y and half.x <= half.z else (1 if half.y <= half.z else 2)
    least = half[low] * half[low]
    s, x, y, z, rest = _ellipsoid_shift(half, p, least), 0.0, 0.0, 0.0, 1.0
    for i in range(3):
        below = s + (half[i] * half[i] - least)
        share = half[i] * p[i] / below if below > 0.0 else 0.0  # x_i / e_i
        rest -= share * share
        x, y, z = share if i == 0 else x, share if i == 1 else y, share if i == 2 else z
    if s == 0.0:  # the root is not above 0: the nearest point lies aside of the point, along the shortest axis
        aside = np.sqrt(max(rest, 0.0))
        x, y, z = aside if low == 0 else x, aside if low == 1 else y, aside if low == 2 else z
    foot = Vec3(half.x * x, half.y * y, half.z * z)
    normal = _unit(Vec3(x / half.x, y / half.y, z / half.z), Vec3(0.0, 0.0, 1.0))
    return Nearest(dot(p - foot, normal), normal, Feature(0, 0, 0))


@kernel
def _ellipsoid_feature(half, near, p):
    """Where the point has passed to the other side of the ellipsoid, the height over a tangent plane counts."""
    n, found = near.normal, _nearest_on_ellipsoid(half, p)
    if dot(found.normal, n) > 0.0:
        return found.distance
    return dot(p, n) - norm(Vec3(half.x * n.x, half.y * n.y, half.z * n.z))


@kernel(inline="always")
def _height(core, face, p):
    """Height of a point over the plane of a face."""
    return dot(row3(core.face_normal, face), p) - core.face_offset[face]


@lean
def _highest_face(core, p):
    """The largest height of a point over the planes of a hull, a lower bound of its distance, and that face."""
    top, face = -np.inf, 0
    for j in range(len(core.face_normal)):
        height = _height(core, j, p)
        if height > top:
            top, face = height, j
    return top, face


@lean
def _on_face(core, face, p):
    """Squared distance of a point above a face from it, and the nearest feature."""
    start, end = core.loop_ptr[face], core.loop_ptr[face + 1]
    normal = row3(core.face_normal, face)
    best, feature = np.inf, Feature(_FACE, face, 0)
    for m in range(start, end):
        i, j = core.loop[m], core.loop[m + 1 if m + 1 < end else start]
        away, edge = p - row3(core.vertex, i), row3(core.vertex, j) - row3(core.vertex, i)
        if dot(cross(normal, edge), away) >= 0.0:
            continue
        t, length = dot(away, edge), dot(edge, edge)
        kind = _EDGE if 0.0 < t < length else _VERTEX
        t = min(max(t / length, 0.0), 1.0)
        away = away - t * edge
        square = dot(away, away)
        if square < best:
            best, feature = square, Feature(kind, j if kind == _VERTEX and t == 1.0 else i, j)
    if best == np.inf:  # within the planes through all edges
        return _height(core, face, p) ** 2, feature
    return best, feature


@lean
def _from_feature(core, feature, p):
    """Vector to a point from the line of an edge, or from a vertex."""
    away = p - row3(core.vertex, feature.i)
    if feature.code == _VERTEX:
        return away
    edge = row3(core.vertex, feature.j) - row3(core.vertex, feature.i)
    return away - dot(away, edge) / dot(edge, edge) * edge


@lean
def _nearest_on_hull(core, p):
    top, face = _highest_face(core, p)
    if top <= 0.0:
        return Nearest(top, row3(core.face_normal, face), Feature(_FACE, face, 0))
    square, feature = _on_face(core, face, p)
    if feature.code != _FACE:  # beside the face of largest height: the nearest of all faces that the point is above
        for m in range(len(core.face_normal)):
            height = _height(core, m, p)
            if m != face and height > 0.0 and height * height < square:
                found, other = _on_face(core, m, p)
                if found < square:
                    square, feature = found, other
    if feature.code == _FACE:
        return Nearest(np.sqrt(square), row3(core.face_normal, feature.i), feature)
    normal = _unit(_from_feature(core, feature, p), row3(core.face_normal, face))
    return Nearest(np.sqrt(square), normal, feature)


@lean
def _hull_feature(core, near, p):
    if near.feature.code == _FACE:
        return _height(core, near.feature.i, p)
    return _length_along(_from_feature(core, near.feature, p), near.normal)
