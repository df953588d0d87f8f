"""Contact of a disc and a convex polygon: the face or the corner nearest to the center of the disc."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel
def nearest(at, normal, lo, hi, x, y):
    """Signed distance of a point from the polygon with corners lo:hi, negative inside, and what is nearest.

    Returns (distance, feature, nx, ny): n is the unit normal from the polygon to the point; feature is 2 k for the
    face from corner k on, 2 k + 1 for corner k. The face whose plane is farthest below the point is the nearest
    one, or ends in the nearest corner. A point within has its nearest face.
    """
    top, best = lo, -np.inf
    for k in range(lo, hi):
        height = normal[k, 0] * (x - at[k, 0]) + normal[k, 1] * (y - at[k, 1])
        if height > best:
            best, top = height, k
    face = (best, 2 * (top - lo), normal[top, 0], normal[top, 1])
    if best <= 0.0:
        return face
    after = top + 1 if top + 1 < hi else lo
    tx, ty = -normal[top, 1], normal[top, 0]
    if tx * (x - at[top, 0]) + ty * (y - at[top, 1]) < 0.0:
        corner = top
    elif tx * (x - at[after, 0]) + ty * (y - at[after, 1]) > 0.0:
        corner = after
    else:
        return face
    dx, dy = x - at[corner, 0], y - at[corner, 1]
    distance = np.sqrt(dx * dx + dy * dy)
    return distance, 2 * (corner - lo) + 1, dx / distance, dy / distance


@kernel
def polygon_disc(corners, row, center0, center1, radius, sign, margin, found, n):
    """Contact of polygon `row` with a disc, written to `found` at n; returns the new n.

    `sign` is 1 if the normal is to point from the polygon to the disc, -1 for the other way. Normal, point and gap
    are those at the start, the predicted gap is the exact one: it decides whether there is a contact.
    """
    lo, hi = corners.ptr[row], corners.ptr[row + 1]
    predicted = nearest(corners.at1, corners.normal1, lo, hi, center1[0], center1[1])[0] - radius
    if predicted > margin:
        return n
    distance, feature, nx, ny = nearest(corners.at0, corners.normal0, lo, hi, center0[0], center0[1])
    gap = distance - radius
    back = radius + 0.5 * gap  # from the center of the disc to midway between the surfaces
    found.feature[n] = feature
    found.normal[n, 0], found.normal[n, 1] = sign * nx, sign * ny
    found.point[n, 0], found.point[n, 1] = center0[0] - back * nx, center0[1] - back * ny
    found.gap[n] = gap
    found.predicted[n] = predicted
    return n + 1
