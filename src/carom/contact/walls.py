"""Discs against boundaries."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT


@kernel
def disc_gap(kind, a, b, big, x, y, r):
    """Signed gap of a disc to one boundary, and the unit normal from the disc to the boundary."""
    if kind == PLANE:
        return (x - a[0]) * b[0] + (y - a[1]) * b[1] - r, -b[0], -b[1]
    px, py = a[0], a[1]
    if kind == SEGMENT:
        ex, ey = b[0] - a[0], b[1] - a[1]
        along = ((x - a[0]) * ex + (y - a[1]) * ey) / (ex * ex + ey * ey)
        along = min(max(along, 0.0), 1.0)
        px, py = a[0] + along * ex, a[1] + along * ey
    dx, dy = x - px, y - py
    apart = np.sqrt(dx * dx + dy * dy)
    if kind == INSIDE:
        if apart > 0.0:
            return big - apart - r, dx / apart, dy / apart
        return big - r, 1.0, 0.0
    if apart > 0.0:
        nx, ny = -dx / apart, -dy / apart
    elif kind == SEGMENT:
        length = np.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2)
        nx, ny = -(b[1] - a[1]) / length, (b[0] - a[0]) / length
    else:
        nx, ny = 1.0, 0.0
    if kind == OUTSIDE:
        return apart - big - r, nx, ny
    return apart - r, nx, ny


@kernel
def crosses(a0, b0, a1, b1, x0, y0, x1, y1):
    """Whether a point that moves from (x0, y0) to (x1, y1) passes through a segment that moves from a0 b0 to a1 b1."""
    side0 = (b0[0] - a0[0]) * (y0 - a0[1]) - (b0[1] - a0[1]) * (x0 - a0[0])
    side1 = (b1[0] - a1[0]) * (y1 - a1[1]) - (b1[1] - a1[1]) * (x1 - a1[0])
    if (side0 > 0.0) == (side1 > 0.0):
        return False
    part = side0 / (side0 - side1)
    x, y = x0 + part * (x1 - x0), y0 + part * (y1 - y0)
    ax, ay = a0[0] + part * (a1[0] - a0[0]), a0[1] + part * (a1[1] - a0[1])
    bx, by = b0[0] + part * (b1[0] - b0[0]), b0[1] + part * (b1[1] - b0[1])
    ex, ey = bx - ax, by - ay
    along = ((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey)
    return 0.0 <= along <= 1.0


@kernel
def disc_walls(before, after, radius, chosen, walls0, walls1, margin):
    """Contacts of the discs marked in `chosen`: (body, wall, normal to the wall, gap before, gap after)."""
    n, w = len(radius), len(walls0.kind)
    room = 64
    body, wall = np.empty(room, np.int64), np.empty(room, np.int64)
    normal, gap, predicted = np.empty((room, 2)), np.empty(room), np.empty(room)
    m = 0
    for k in range(w):
        kind = walls0.kind[k]
        a0, b0, a1, b1 = walls0.point[k], walls0.axis[k], walls1.point[k], walls1.axis[k]
        near = 0.0
        if kind == INSIDE:
            near = max(walls1.radius[k] - margin, 0.0)
        for i in range(n):
            if not chosen[i]:
                continue
            x, y, r = after[i, 0], after[i, 1], radius[i]
            if kind == INSIDE:  # most discs of a drum are far from its wall: no root for them
                reach = near - r
                if reach > 0.0 and (x - a1[0]) ** 2 + (y - a1[1]) ** 2 < reach * reach:
                    continue
            g1, _, _ = disc_gap(kind, a1, b1, walls1.radius[k], x, y, r)
            if kind == SEGMENT and crosses(a0, b0, a1, b1, before[i, 0], before[i, 1], x, y):
                g1 = -g1 - 2.0 * r
            if g1 > margin:
                continue
            if m == room:
                room *= 2
                body, wall = _longer(body, m), _longer(wall, m)
                gap, predicted = _longer(gap, m), _longer(predicted, m)
                wider = np.empty((room, 2))
                wider[:m] = normal[:m]
                normal = wider
            g0, nx, ny = disc_gap(kind, a0, b0, walls0.radius[k], before[i, 0], before[i, 1], r)
            body[m], wall[m], gap[m], predicted[m] = i, k, g0, g1
            normal[m, 0], normal[m, 1] = nx, ny
            m += 1
    return body[:m], wall[:m], normal[:m], gap[:m], predicted[:m]


@kernel
def _longer(array, used):
    bigger = np.empty(2 * len(array), array.dtype)
    bigger[:used] = array[:used]
    return bigger
