"""Contact of a sphere with a convex shape, in closed form: one per pair."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..world import SPHERE
from .contact_set import Contact, feature_code, put
from .point_distance import feature_distance, nearest
from .poses import point_local, to_world
from .support import roundness

FAR = 0.1  # gap, in radii, above which a sphere that touches in this step counts as fast
CLOSE = 1e-3  # gap, in radii, up to which a fast sphere is advanced
ROUNDS = 32  # largest number of iterations


@kernel
def sphere_pair(cores, fa, fb, pose, after, ka, kb, margin, base, found, n):
    """Writes the contact of two parts of which one is a sphere, if there is one; returns the next free row.

    Poses after the step are `after` rows farther down. The center of the sphere is followed in the frame of the other
    shape, so that neither its own rotation nor a common motion matters.
    """
    second = cores.table[fb, 0] == SPHERE
    shape, ball = (fa, fb) if second else (fb, fa)
    kf, kb = (ka, kb) if second else (kb, ka)
    r = cores.table[ball, 1]
    reach = r + roundness(cores, shape)
    p = point_local(pose, kf, pose[kb, 0], pose[kb, 1], pose[kb, 2])
    q = point_local(pose, kf + after, pose[kb + after, 0], pose[kb + after, 1], pose[kb + after, 2])
    dx, dy, dz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    # First the end of the step, which decides whether there is a contact; then the start; then, if the sphere is fast,
    # conservative advancement to the touch; then the end again, if the contact there is only grazing.
    x, y, z = q
    time, predicted, normal, code, i, j = 1.0, 0.0, (0.0, 0.0, 1.0), 0, 0, 0
    for look in range(ROUNDS):
        distance, normal, code, i, j = nearest(cores, shape, x, y, z)
        gap = distance - reach
        if look == 0:
            if gap > margin:
                return n
            time = 0.0
        elif gap > (FAR if look == 1 else CLOSE) * r and time < 1.0 and look < ROUNDS - 2:
            time = min(time + gap / length, 1.0) if length > gap else 1.0
        else:
            predicted = feature_distance(cores, shape, code, i, j, q[0], q[1], q[2], normal) - reach
            if predicted <= margin or time == 1.0:
                break
            time = 1.0
        x, y, z = p[0] + time * dx, p[1] + time * dy, p[2] + time * dz
    gap = feature_distance(cores, shape, code, i, j, p[0], p[1], p[2], normal) - reach
    nx, ny, nz = to_world(pose, kf, normal[0], normal[1], normal[2])
    h = r + 0.5 * gap
    x, y, z = pose[kb, 0] - h * nx, pose[kb, 1] - h * ny, pose[kb, 2] - h * nz
    side = 1.0 if second else -1.0
    outward = Vec3(side * nx, side * ny, side * nz)
    put(found, n, 0, 0, Contact(feature_code(base, 0, 0, 0), gap, predicted, outward, Vec3(x, y, z)))
    return n + 1
