"""Intersections of rays with shapes, in the frame of each shape. A ray is `o + t d`; d need not have unit length.

Every function returns (t, nx, ny, nz, face): the first t > 0 at which the ray enters the shape, the outward unit normal
there, and the index of the smooth face that was hit. t is infinite for a miss.
"""

from __future__ import annotations

import numpy as np

from ...contact.support import rims
from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import BOX, CAPSULE, CONE, SPHERE

Hit = tuple[float, float, float, float, int]
MISS: Hit = (np.inf, 0.0, 0.0, 1.0, 0)
STEPS = 256  # largest number of steps through a signed distance grid


@kernel
def sphere(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, r: float) -> Hit:
    a, b = dx * dx + dy * dy + dz * dz, ox * dx + oy * dy + oz * dz
    disc = b * b - a * (ox * ox + oy * oy + oz * oz - r * r)
    if disc < 0.0:
        return MISS
    t = (-b - np.sqrt(disc)) / a
    if t <= 0.0:
        return MISS
    return t, (ox + t * dx) / r, (oy + t * dy) / r, (oz + t * dz) / r, 0


@kernel
def cylinder(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, r: float, half: float) -> Hit:
    """Faces: 0 side, 1 top, 2 bottom."""
    enter, leave = -np.inf, np.inf
    face = 1 if dz < 0.0 else 2
    if dz != 0.0:
        one, two = (-half - oz) / dz, (half - oz) / dz
        enter, leave = min(one, two), max(one, two)
    elif abs(oz) > half:
        return MISS
    a = dx * dx + dy * dy
    if a > 0.0:
        b = ox * dx + oy * dy
        disc = b * b - a * (ox * ox + oy * oy - r * r)
        if disc < 0.0:
            return MISS
        root = np.sqrt(disc)
        if (-b - root) / a > enter:
            enter, face = (-b - root) / a, 0
        leave = min(leave, (-b + root) / a)
    elif ox * ox + oy * oy > r * r:
        return MISS
    if enter > leave or enter <= 0.0:
        return MISS
    if face == 0:
        return enter, (ox + enter * dx) / r, (oy + enter * dy) / r, 0.0, 0
    return enter, 0.0, 0.0, 1.0 if face == 1 else -1.0, face


@kernel
def capsule(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, r: float, half: float) -> Hit:
    """The nearest intersection with the cylindrical side and the two spheres at its ends."""
    best = MISS
    a, b = dx * dx + dy * dy, ox * dx + oy * dy
    disc = b * b - a * (ox * ox + oy * oy - r * r)
    if a > 0.0 and disc >= 0.0:
        t = (-b - np.sqrt(disc)) / a
        if t > 0.0 and abs(oz + t * dz) <= half:
            best = (t, (ox + t * dx) / r, (oy + t * dy) / r, 0.0, 0)
    for end in (-half, half):
        hit = sphere(ox, oy, oz - end, dx, dy, dz, r)
        if hit[0] < best[0] and (oz + hit[0] * dz) * end >= half * half:
            best = hit
    return best


@kernel
def cone(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, ends: tuple[float, ...]) -> Hit:
    """A cone with these rims. Faces: 0 side, 1 top, 2 bottom."""
    top, high, bottom, low = ends
    enter, leave = -np.inf, np.inf
    if dz != 0.0:
        one, two = (low - oz) / dz, (high - oz) / dz
        enter, leave = min(one, two), max(one, two)
    elif oz > high or oz < low:
        return MISS
    # Inside of the side: x^2 + y^2 <= r^2 with r = start + slope t, along the ray a t^2 + 2 b t + c <= 0.
    grow = (top - bottom) / (high - low)
    start, slope = bottom + grow * (oz - low), grow * dz
    a, b, c = dx * dx + dy * dy - slope * slope, ox * dx + oy * dy - start * slope, ox * ox + oy * oy - start * start
    if enter > -np.inf and (a * enter + 2.0 * b) * enter + c <= 0.0:
        if enter <= 0.0:
            return MISS
        return enter, 0.0, 0.0, (1.0 if dz < 0.0 else -1.0), (1 if dz < 0.0 else 2)
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
    x, y = ox + t * dx, oy + t * dy
    across, length = np.sqrt(x * x + y * y), np.sqrt(1.0 + grow * grow)
    if across == 0.0:
        return t, 0.0, 0.0, -np.sign(dz), 0
    return t, x / (across * length), y / (across * length), -grow / length, 0


@kernel
def box(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, hx: float, hy: float, hz: float) -> Hit:
    enter, leave, axis = -np.inf, np.inf, 0
    for k in range(3):
        o, d, h = (ox, dx, hx) if k == 0 else ((oy, dy, hy) if k == 1 else (oz, dz, hz))
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
    if axis == 0:
        return enter, -np.sign(dx), 0.0, 0.0, 0 if dx > 0.0 else 1
    if axis == 1:
        return enter, 0.0, -np.sign(dy), 0.0, 2 if dy > 0.0 else 3
    return enter, 0.0, 0.0, -np.sign(dz), 4 if dz > 0.0 else 5


@kernel
def sized(
    kind: int, a: float, b: float, c: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float
) -> Hit:
    """The intersection with a shape that three sizes describe."""
    if kind == SPHERE:
        return sphere(ox, oy, oz, dx, dy, dz, a)
    if kind == BOX:
        return box(ox, oy, oz, dx, dy, dz, a, b, c)
    if kind == CAPSULE:
        return capsule(ox, oy, oz, dx, dy, dz, a, b)
    if kind == CONE:
        return cone(ox, oy, oz, dx, dy, dz, rims(kind, (a, b, c)))
    return cylinder(ox, oy, oz, dx, dy, dz, a, b)


@kernel
def hull(
    ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, normal: Floats, offset: Floats, lo: int, hi: int
) -> Hit:
    """The intersection of the half-spaces normal . x <= offset of faces lo..hi."""
    enter, leave, face = -np.inf, np.inf, lo
    for j in range(lo, hi):
        speed = normal[j, 0] * dx + normal[j, 1] * dy + normal[j, 2] * dz
        apart = offset[j] - (normal[j, 0] * ox + normal[j, 1] * oy + normal[j, 2] * oz)
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
    return enter, normal[face, 0], normal[face, 1], normal[face, 2], face - lo


@kernel
def distance(x: float, y: float, z: float, low: Floats, spacing: float, count: Ints, value: Floats, at: int) -> float:
    """A signed distance grid, interpolated linearly along each axis; outside the grid the value at its surface."""
    nx, ny, nz = count[0], count[1], count[2]
    u = min(max((x - low[0]) / spacing, 0.0), nx - 1.000001)
    v = min(max((y - low[1]) / spacing, 0.0), ny - 1.000001)
    w = min(max((z - low[2]) / spacing, 0.0), nz - 1.000001)
    i, j, k = int(u), int(v), int(w)
    u, v, w = u - i, v - j, w - k
    base = at + (i * ny + j) * nz + k
    row = ny * nz
    low_side = (1.0 - v) * ((1.0 - w) * value[base] + w * value[base + 1]) + v * (
        (1.0 - w) * value[base + nz] + w * value[base + nz + 1]
    )
    base += row
    high_side = (1.0 - v) * ((1.0 - w) * value[base] + w * value[base + 1]) + v * (
        (1.0 - w) * value[base + nz] + w * value[base + nz + 1]
    )
    return (1.0 - u) * low_side + u * high_side


@kernel
def mesh(
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
    low: Floats,
    spacing: float,
    count: Ints,
    value: Floats,
    at: int,
) -> Hit:
    """The zero level of a signed distance grid, which is the surface that contact detection uses for a mesh.

    Sphere tracing finds the first point inside; bisection then locates the surface.
    """
    hx, hy, hz = (0.5 * spacing * (count[0] - 1), 0.5 * spacing * (count[1] - 1), 0.5 * spacing * (count[2] - 1))
    mx, my, mz = ox - low[0] - hx, oy - low[1] - hy, oz - low[2] - hz
    t = 0.0
    if abs(mx) > hx or abs(my) > hy or abs(mz) > hz:
        t = box(mx, my, mz, dx, dy, dz, hx, hy, hz)[0]
        if not t < np.inf:
            return MISS
    size = np.sqrt(dx * dx + dy * dy + dz * dz)
    last, least = t, 0.1 * spacing
    for step in range(STEPS):
        x, y, z = mx + t * dx, my + t * dy, mz + t * dz
        if step > 0 and (abs(x) > hx or abs(y) > hy or abs(z) > hz):
            return MISS
        d = distance(ox + t * dx, oy + t * dy, oz + t * dz, low, spacing, count, value, at)
        if d < 0.0:
            break
        last = t
        t += max(0.9 * d, least) / size
    else:
        return MISS
    for _ in range(8):
        middle = 0.5 * (last + t)
        if distance(ox + middle * dx, oy + middle * dy, oz + middle * dz, low, spacing, count, value, at) < 0.0:
            t = middle
        else:
            last = middle
    # Differences over a whole cell hide the facets of the grid.
    x, y, z, e = ox + t * dx, oy + t * dy, oz + t * dz, spacing
    nx = distance(x + e, y, z, low, spacing, count, value, at) - distance(x - e, y, z, low, spacing, count, value, at)
    ny = distance(x, y + e, z, low, spacing, count, value, at) - distance(x, y - e, z, low, spacing, count, value, at)
    nz = distance(x, y, z + e, low, spacing, count, value, at) - distance(x, y, z - e, low, spacing, count, value, at)
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    if t <= 0.0 or length == 0.0:
        return MISS
    return t, nx / length, ny / length, nz / length, 0
