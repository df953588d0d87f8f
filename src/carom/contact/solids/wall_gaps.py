"""Gaps of points and of the rims of cylinders to the boundaries of space."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ...world import INSIDE, PLANE
from .poses import point_world

LEVEL = 1e-4  # a rim whose gap varies by less (relative to its radius) has no foremost point
NEWTON = 8
SAMPLES = 24


@kernel
def point_gap(barriers, w, x, y, z):
    """Gap of a point to boundary w, and the unit normal from the point to the boundary; zero where there is none."""
    kind = barriers.kind[w]
    x, y, z = x - barriers.point[w, 0], y - barriers.point[w, 1], z - barriers.point[w, 2]
    ux, uy, uz = barriers.axis[w, 0], barriers.axis[w, 1], barriers.axis[w, 2]
    along = x * ux + y * uy + z * uz
    if kind == PLANE:
        return along, -ux, -uy, -uz
    if kind != INSIDE:
        x, y, z = x - along * ux, y - along * uy, z - along * uz
    distance = np.sqrt(x * x + y * y + z * z)
    if distance == 0.0:
        return barriers.radius[w], 0.0, 0.0, 0.0
    return barriers.radius[w] - distance, x / distance, y / distance, z / distance


@kernel
def rim_wave(barriers, w, pose, k, radius, height):
    """How near the boundary a rim is, by its angle t: a cos t + b sin t + c cos 2t + d sin 2t, in lengths.

    For planes and shells c = d = 0. The rim lies at `height` on the axis of pose k.
    """
    ax, ay, az = pose[k, 3], pose[k, 6], pose[k, 9]
    bx, by, bz = pose[k, 4], pose[k, 7], pose[k, 10]
    ux, uy, uz = barriers.axis[w, 0], barriers.axis[w, 1], barriers.axis[w, 2]
    kind = barriers.kind[w]
    au, bu = ax * ux + ay * uy + az * uz, bx * ux + by * uy + bz * uz
    if kind == PLANE:
        return -radius * au, -radius * bu, 0.0, 0.0
    x, y, z = point_world(pose, k, 0.0, 0.0, height)
    x, y, z = x - barriers.point[w, 0], y - barriers.point[w, 1], z - barriers.point[w, 2]
    r = radius / barriers.radius[w]
    a, b = ax * x + ay * y + az * z, bx * x + by * y + bz * z
    if kind == INSIDE:
        return r * a, r * b, 0.0, 0.0
    along = x * ux + y * uy + z * uz
    square = r * radius
    return r * (a - along * au), r * (b - along * bu), 0.25 * square * (bu * bu - au * au), -0.5 * square * au * bu


@kernel
def summit(wave, t):
    """The angle of the maximum of a wave that is nearest uphill from t."""
    a, b, c, d = wave
    if c == 0.0 and d == 0.0:
        return np.arctan2(b, a)
    for _ in range(NEWTON):
        c1, s1, c2, s2 = np.cos(t), np.sin(t), np.cos(2.0 * t), np.sin(2.0 * t)
        slope = -a * s1 + b * c1 - 2.0 * c * s2 + 2.0 * d * c2
        bend = -a * c1 - b * s1 - 4.0 * c * c2 - 4.0 * d * s2
        step = -slope / bend if bend < 0.0 else (0.2 if slope > 0.0 else -0.2)
        t += min(max(step, -0.3), 0.3)
    return t


@kernel
def _height(wave, t):
    return wave[0] * np.cos(t) + wave[1] * np.sin(t) + wave[2] * np.cos(2.0 * t) + wave[3] * np.sin(2.0 * t)


@kernel
def summits(wave, out):
    """Angles of the maxima of a wave, at most two, to `out`; returns how many."""
    a, b, c, d = wave
    if c == 0.0 and d == 0.0:
        out[0] = np.arctan2(b, a)
        return 1
    n = 0
    step = 2.0 * np.pi / SAMPLES
    for i in range(SAMPLES):
        before, here, after = _height(wave, (i - 1) * step), _height(wave, i * step), _height(wave, (i + 1) * step)
        # Of two equal samples on both sides of a maximum the first stands for it.
        if here > before and here >= after and n < 2:
            out[n] = summit(wave, i * step)
            n += 1
    return n
