"""Contact of a sphere with a convex shape, in closed form: one per pair."""

from __future__ import annotations

from ..geometry.vectors import Vec3, norm
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
    x, y, z = point_local(pose, kf, pose[kb, 0], pose[kb, 1], pose[kb, 2])
    start = Vec3(x, y, z)
    x, y, z = point_local(pose, kf + after, pose[kb + after, 0], pose[kb + after, 1], pose[kb + after, 2])
    end = Vec3(x, y, z)
    way = end - start
    length = norm(way)
    # First the end of the step, which decides whether there is a contact; then the start; then, if the sphere is fast,
    # conservative advancement to the touch; then the end again, if the contact there is only grazing.
    center, time, predicted = end, 1.0, 0.0
    near = nearest(cores, shape, center)
    for look in range(ROUNDS):
        if look > 0:
            near = nearest(cores, shape, center)
        gap = near.distance - reach
        if look == 0:
            if gap > margin:
                return n
            time = 0.0
        elif gap > (FAR if look == 1 else CLOSE) * r and time < 1.0 and look < ROUNDS - 2:
            time = min(time + gap / length, 1.0) if length > gap else 1.0
        else:
            predicted = feature_distance(cores, shape, near, end) - reach
            if predicted <= margin or time == 1.0:
                break
            time = 1.0
        center = start + time * way
    gap = feature_distance(cores, shape, near, start) - reach
    nx, ny, nz = to_world(pose, kf, near.normal.x, near.normal.y, near.normal.z)
    h = r + 0.5 * gap
    x, y, z = pose[kb, 0] - h * nx, pose[kb, 1] - h * ny, pose[kb, 2] - h * nz
    side = 1.0 if second else -1.0
    outward = Vec3(side * nx, side * ny, side * nz)
    put(found, n, 0, 0, Contact(feature_code(base, 0, 0, 0), gap, predicted, outward, Vec3(x, y, z)))
    return n + 1
