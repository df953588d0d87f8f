"""Distance of the core segments of two capsules."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel


@kernel
def _nearest(ha, hb, c, p, q):
    """Nearest places on two axes of half lengths ha, hb and cosine c; p, q: center of b along a, of a along b."""
    sine = 1.0 - c * c
    s = 0.0
    if sine > 1e-12:
        s = min(max((p + c * q) / sine, -ha), ha)
    else:  # parallel: the middle of the stretch that they share, for which there is no order
        low, high = max(-ha, p - hb), min(ha, p + hb)
        s = min(max(0.5 * (low + high), -ha), ha)
    t = c * s + q
    if abs(t) > hb:
        t = min(max(t, -hb), hb)
        s = min(max(c * t + p, -ha), ha)
    return s, t


@kernel
def segments(cores, fa, fb, pose, ka, kb):
    """Distance of the segments, and the unit vector from the first to the second."""
    ux, uy, uz = pose[ka, 5], pose[ka, 8], pose[ka, 11]
    vx, vy, vz = pose[kb, 5], pose[kb, 8], pose[kb, 11]
    dx, dy, dz = pose[kb, 0] - pose[ka, 0], pose[kb, 1] - pose[ka, 1], pose[kb, 2] - pose[ka, 2]
    c = ux * vx + uy * vy + uz * vz
    p, q = ux * dx + uy * dy + uz * dz, -(vx * dx + vy * dy + vz * dz)
    s, t = _nearest(cores.shape[fa, 2], cores.shape[fb, 2], c, p, q)
    x, y, z = dx + t * vx - s * ux, dy + t * vy - s * uy, dz + t * vz - s * uz
    distance = np.sqrt(x * x + y * y + z * z)
    if distance > 1e-12 * (cores.shape[fa, 1] + cores.shape[fb, 1]):
        return distance, x / distance, y / distance, z / distance
    # The segments cross: across both, on the side of the centers.
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if x * x + y * y + z * z < 1e-12:
        x, y, z = (0.0, -uz, uy) if abs(ux) < 0.6 else (uz, 0.0, -ux)
    length = np.sqrt(x * x + y * y + z * z)
    if x * dx + y * dy + z * dz < 0.0:
        length = -length
    return 0.0, x / length, y / length, z / length
