"""Intersections of rays with shapes other than meshes, in the frame of each shape.

Every function returns the first time at which a ray enters a shape, which is infinite for a miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...contact.parts import Rims, rims
from ...geometry.shapes import BOX, CAPSULE, CONE, ELLIPSOID, SPHERE
from ...geometry.vectors import Vec3, dot, norm, row3
from ...kernels import kernel, lean
from ...solvers.rows import Floats


class Ray(NamedTuple):
    """The points `origin + t way`, t > 0; `way` need not have unit length."""

    origin: Vec3
    way: Vec3


class Hit(NamedTuple):
    """Where a ray enters a shape."""

    time: float  # t > 0, infinite for a miss
    normal: Vec3  # outward unit normal
    face: int  # index of the smooth face


MISS = Hit(np.inf, Vec3(0.0, 0.0, 1.0), 0)


@kernel(inline="always")
def at(ray: Ray, t: float) -> Vec3:
    """The point of a ray at time t."""
    return ray.origin + t * ray.way


@kernel
def sphere(ray: Ray, r: float) -> Hit:
    o, d = ray.origin, ray.way
    a, b = dot(d, d), dot(o, d)
    disc = b * b - a * (dot(o, o) - r * r)
    if disc < 0.0:
        return MISS
    t = (-b - np.sqrt(disc)) / a
    if t <= 0.0:
        return MISS
    return Hit(t, at(ray, t) / r, 0)


@kernel
def ellipsoid(ray: Ray, half: Vec3) -> Hit:
    """The unit sphere in coordinates that are divided by the half axes."""
    o, d = ray.origin, ray.way
    hit = sphere(
        Ray(Vec3(o.x / half.x, o.y / half.y, o.z / half.z), Vec3(d.x / half.x, d.y / half.y, d.z / half.z)), 1.0
    )
    if hit.time == np.inf:
        return MISS
    n = Vec3(hit.normal.x / half.x, hit.normal.y / half.y, hit.normal.z / half.z)
    return Hit(hit.time, n / norm(n), 0)


@kernel
def cylinder(ray: Ray, r: float, half: float) -> Hit:
    """Faces: 0 side, 1 top, 2 bottom."""
    o, d = ray.origin, ray.way
    enter, leave = -np.inf, np.inf
    face = 1 if d.z < 0.0 else 2
    if d.z != 0.0:
        one, two = (-half - o.z) / d.z, (half - o.z) / d.z
        enter, leave = min(one, two), max(one, two)
    elif abs(o.z) > half:
        return MISS
    a = d.x * d.x + d.y * d.y
    if a > 0.0:
        b = o.x * d.x + o.y * d.y
        disc = b * b - a * (o.x * o.x + o.y * o.y - r * r)
        if disc < 0.0:
            return MISS
        root = np.sqrt(disc)
        if (-b - root) / a > enter:
            enter, face = (-b - root) / a, 0
        leave = min(leave, (-b + root) / a)
    elif o.x * o.x + o.y * o.y > r * r:
        return MISS
    if enter > leave or enter <= 0.0:
        return MISS
    if face == 0:
        p = at(ray, enter)
        return Hit(enter, Vec3(p.x / r, p.y / r, 0.0), 0)
    return Hit(enter, Vec3(0.0, 0.0, 1.0 if face == 1 else -1.0), face)


@kernel
def capsule(ray: Ray, r: float, half: float) -> Hit:
    """The nearest intersection with the cylindrical side and the two spheres at its ends."""
    o, d = ray.origin, ray.way
    best = MISS
    a, b = d.x * d.x + d.y * d.y, o.x * d.x + o.y * d.y
    disc = b * b - a * (o.x * o.x + o.y * o.y - r * r)
    if a > 0.0 and disc >= 0.0:
        t = (-b - np.sqrt(disc)) / a
        p = at(ray, t)
        if t > 0.0 and abs(p.z) <= half:
            best = Hit(t, Vec3(p.x / r, p.y / r, 0.0), 0)
    for end in (-half, half):
        hit = sphere(Ray(Vec3(o.x, o.y, o.z - end), d), r)
        if hit.time < best.time and (o.z + hit.time * d.z) * end >= half * half:
            best = hit
    return best


@kernel
def cone(ray: Ray, ends: Rims) -> Hit:
    """A cone with these rims. Faces: 0 side, 1 top, 2 bottom."""
    o, d = ray.origin, ray.way
    top, high, bottom, low = ends
    enter, leave = -np.inf, np.inf
    if d.z != 0.0:
        one, two = (low - o.z) / d.z, (high - o.z) / d.z
        enter, leave = min(one, two), max(one, two)
    elif o.z > high or o.z < low:
        return MISS
    # Inside of the side: x^2 + y^2 <= r^2 with r = start + slope t, along the ray a t^2 + 2 b t + c <= 0.
    grow = (top - bottom) / (high - low)
    start, slope = bottom + grow * (o.z - low), grow * d.z
    a, b, c = (
        d.x * d.x + d.y * d.y - slope * slope,
        o.x * d.x + o.y * d.y - start * slope,
        o.x * o.x + o.y * o.y - start * start,
    )
    if enter > -np.inf and (a * enter + 2.0 * b) * enter + c <= 0.0:
        if enter <= 0.0:
            return MISS
        return Hit(enter, Vec3(0.0, 0.0, 1.0 if d.z < 0.0 else -1.0), 1 if d.z < 0.0 else 2)
    disc = b * b - a * c
    if disc < 0.0:
        return MISS
    # The ray enters where the polynomial falls: that root is c / (sqrt(disc) - b), or with the opposite signs.
    root = np.sqrt(disc)
    if b <= 0.0:
        t = c / (root - b) if root - b > 0.0 else np.inf
    elif a != 0.0:
        t = -(b + root) / a
    else:
        return MISS
    if not enter <= t <= leave or t <= 0.0:
        return MISS
    x, y = o.x + t * d.x, o.y + t * d.y
    across, length = np.sqrt(x * x + y * y), np.sqrt(1.0 + grow * grow)
    if across == 0.0:
        return Hit(t, Vec3(0.0, 0.0, -np.sign(d.z)), 0)
    return Hit(t, Vec3(x / (across * length), y / (across * length), -grow / length), 0)


@kernel
def box(ray: Ray, half: Vec3) -> Hit:
    """Faces: 2 k and 2 k + 1 at the negative and at the positive end of axis k."""
    enter, leave, axis = -np.inf, np.inf, 0
    for k in range(3):
        o, d, h = ray.origin[k], ray.way[k], half[k]
        if d == 0.0:
            if abs(o) > h:
                return MISS
            continue
        one, two = (-h - o) / d, (h - o) / d
        if min(one, two) > enter:
            enter, axis = min(one, two), k
        leave = min(leave, max(one, two))
    if enter > leave or enter <= 0.0:
        return MISS
    face = 2 * axis if ray.way[axis] > 0.0 else 2 * axis + 1
    out = -np.sign(ray.way[axis])
    return Hit(enter, Vec3(out if axis == 0 else 0.0, out if axis == 1 else 0.0, out if axis == 2 else 0.0), face)


@kernel
def sized(kind: int, size: Vec3, ray: Ray) -> Hit:
    """The intersection with a shape that three sizes describe."""
    if kind == SPHERE:
        return sphere(ray, size.x)
    if kind == BOX:
        return box(ray, size)
    if kind == CAPSULE:
        return capsule(ray, size.x, size.y)
    if kind == CONE:
        return cone(ray, rims(kind, size))
    if kind == ELLIPSOID:
        return ellipsoid(ray, size)
    return cylinder(ray, size.x, size.y)


@lean
def hull(ray: Ray, normals: Floats, offsets: Floats, lo: int, hi: int) -> Hit:
    """The intersection of the half-spaces normal . x <= offset of faces lo..hi."""
    enter, leave, face = -np.inf, np.inf, lo
    for j in range(lo, hi):
        normal = row3(normals, j)
        speed, apart = dot(normal, ray.way), offsets[j] - dot(normal, ray.origin)
        if speed < 0.0:
            if apart / speed > enter:
                enter, face = apart / speed, j
        elif speed > 0.0:
            leave = min(leave, apart / speed)
        elif apart < 0.0:
            return MISS
        if enter > leave:
            return MISS
    if enter <= 0.0:
        return MISS
    return Hit(enter, row3(normals, face), face - lo)
