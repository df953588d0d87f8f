"""Normals, gaps and turning terms of near contacts: corner k and the edge from i to j, or the ground."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel


@kernel
def edge_geometry(near, corners):
    """Unit normal out of the edge (m, 2), place along it (0 at i, 1 at j) and gap of each contact."""
    m = len(near)
    normal, place, gap = np.empty((m, 2)), np.zeros(m), np.empty(m)
    for c in range(m):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i < 0:
            normal[c, 0], normal[c, 1], gap[c] = 0.0, 1.0, corners[k, 1]
            continue
        ex, ey = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
        dx, dy = corners[k, 0] - corners[i, 0], corners[k, 1] - corners[i, 1]
        length = np.hypot(ex, ey)
        normal[c, 0], normal[c, 1] = ey / length, -ex / length
        place[c] = (dx * ex + dy * ey) / (length * length)
        gap[c] = (dx * ey - dy * ex) / length
    return normal, place, gap


@kernel
def true_gaps(near, corners):
    """The gap of each contact for corners anywhere: distance of corner k from the line of its edge."""
    gap = np.empty(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i < 0:
            gap[c] = corners[k, 1]
            continue
        ex, ey = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
        dx, dy = corners[k, 0] - corners[i, 0], corners[k, 1] - corners[i, 1]
        gap[c] = (dx * ey - dy * ex) / np.hypot(ex, ey)
    return gap


@kernel
def fixed_gaps(near, normal, place, corners):
    """`n . (p_k - (1 - alpha) p_i - alpha p_j)` with normal and alpha as they are given: linear in the corners."""
    gap = np.empty(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        gap[c] = normal[c, 0] * corners[k, 0] + normal[c, 1] * corners[k, 1]
        if i >= 0:
            for t in range(2):
                gap[c] -= normal[c, t] * ((1.0 - place[c]) * corners[i, t] + place[c] * corners[j, t])
    return gap


@kernel
def turning(near, corners, moved):
    """Right-hand side of (S2) and (S'): `-2 A(m_i, m_j, m_k) / |p_j - p_i|` for motions m, A the doubled signed area.

    A is taken with the sign that is positive outside the brick. The paper prints (S') with a further factor of the
    step; A is of second degree in its arguments, so with differences of positions in it nothing is left over.
    """
    out = np.zeros(len(near))
    for c in range(len(near)):
        k, i, j = near[c, 1], near[c, 3], near[c, 4]
        if i >= 0:
            ex, ey = moved[j, 0] - moved[i, 0], moved[j, 1] - moved[i, 1]
            dx, dy = moved[k, 0] - moved[i, 0], moved[k, 1] - moved[i, 1]
            length = np.hypot(corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1])
            out[c] = -2.0 * (dx * ey - dy * ex) / length
    return out
