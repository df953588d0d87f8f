"""Overlap of two convex cores: least depth and its direction, by an expanding polytope.

The polytope lies within the difference b - a and grows at the face nearest to the origin until that face is one of
the difference itself. Distances of faces have a sign, so the origin need not lie inside: cores that merely touch are
no special case. All faces that are equally near are finished too, and share the direction: nothing depends on which
one came first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...solvers.rows import Floats, Ints
from .cores import difference

CORNERS = 160
FACES = 2 * CORNERS + 8
DONE = 1e-10  # how much farther than a face the difference may reach, relative to the size of the pair
EQUAL = 1e-9  # faces this close to the nearest (relative to size) are as near
PREVIEW = 0.01  # weight of the separation after the step among directions that are equally good


class Polytope(NamedTuple):
    """Scratch for the growing polytope."""

    corner: Floats  # (CORNERS, 3)
    face: Ints  # (FACES, 3)
    normal: Floats  # (FACES, 3) outward
    offset: Floats  # (FACES,) the face lies in normal . x = offset
    done: NDArray[np.bool_]  # (FACES,) it is a face of the difference
    edge: Ints  # (3 FACES, 2) rim of the hole that a new corner makes


@njit(cache=True, nogil=True, error_model="numpy")
def polytope():
    return Polytope(
        np.empty((CORNERS, 3)),
        np.empty((FACES, 3), np.int64),
        np.empty((FACES, 3)),
        np.empty(FACES),
        np.empty(FACES, np.bool_),
        np.empty((3 * FACES, 2), np.int64),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _add_face(p, n, i, j, k, inside):
    """Adds a face with its normal away from the point `inside`; a face of no area counts as done, and far."""
    c = p.corner
    ax, ay, az = c[i, 0], c[i, 1], c[i, 2]
    bx, by, bz = c[j, 0] - ax, c[j, 1] - ay, c[j, 2] - az
    cx, cy, cz = c[k, 0] - ax, c[k, 1] - ay, c[k, 2] - az
    x, y, z = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    length = np.sqrt(x * x + y * y + z * z)
    p.face[n, 0], p.face[n, 1], p.face[n, 2] = i, j, k
    p.done[n] = False
    if length == 0.0:
        p.normal[n, 0], p.normal[n, 1], p.normal[n, 2] = 0.0, 0.0, 0.0
        p.offset[n], p.done[n] = np.inf, True
        return
    x, y, z = x / length, y / length, z / length
    if x * (inside[0] - ax) + y * (inside[1] - ay) + z * (inside[2] - az) > 0.0:
        x, y, z = -x, -y, -z
        p.face[n, 1], p.face[n, 2] = k, j
    p.normal[n, 0], p.normal[n, 1], p.normal[n, 2] = x, y, z
    p.offset[n] = x * ax + y * ay + z * az


@njit(cache=True, nogil=True, error_model="numpy")
def _farther(cores, fa, fb, pose, ka, kb, x, y, z, corner, row):
    """Of the support points along d and -d the one farther from corner 0 along it; returns by how much."""
    best = -np.inf
    for _ in range(2):
        wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, x, y, z)
        ahead = x * (wx - corner[0, 0]) + y * (wy - corner[0, 1]) + z * (wz - corner[0, 2])
        if ahead > best:
            best = ahead
            corner[row, 0], corner[row, 1], corner[row, 2] = wx, wy, wz
        x, y, z = -x, -y, -z
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _start(cores, fa, fb, pose, ka, kb, p, inside):
    """A tetrahedron within the difference; False if the difference is flat."""
    x, y, z = pose[kb, 0] - pose[ka, 0], pose[kb, 1] - pose[ka, 1], pose[kb, 2] - pose[ka, 2]
    if x * x + y * y + z * z == 0.0:
        x = 1.0
    c = p.corner
    c[0, 0], c[0, 1], c[0, 2] = difference(cores, fa, fb, pose, ka, kb, -x, -y, -z)
    _farther(cores, fa, fb, pose, ka, kb, x, y, z, c, 1)
    ex, ey, ez = c[1, 0] - c[0, 0], c[1, 1] - c[0, 1], c[1, 2] - c[0, 2]
    if abs(ex) <= abs(ey) and abs(ex) <= abs(ez):
        x, y, z = 0.0, ez, -ey
    elif abs(ey) <= abs(ez):
        x, y, z = -ez, 0.0, ex
    else:
        x, y, z = ey, -ex, 0.0
    if _farther(cores, fa, fb, pose, ka, kb, x, y, z, c, 2) <= 0.0:
        return False
    gx, gy, gz = c[2, 0] - c[0, 0], c[2, 1] - c[0, 1], c[2, 2] - c[0, 2]
    x, y, z = ey * gz - ez * gy, ez * gx - ex * gz, ex * gy - ey * gx
    if _farther(cores, fa, fb, pose, ka, kb, x, y, z, c, 3) <= 0.0:
        return False
    for axis in range(3):
        inside[axis] = 0.25 * (c[0, axis] + c[1, axis] + c[2, axis] + c[3, axis])
    for m in range(4):
        _add_face(p, m, 1 if m == 0 else 0, 2 if m < 2 else 1, 3 if m < 3 else 2, inside)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _remove(p, n, i):
    """Fills the place of face i with the last one."""
    for axis in range(3):
        p.face[i, axis] = p.face[n - 1, axis]
        p.normal[i, axis] = p.normal[n - 1, axis]
    p.offset[i], p.done[i] = p.offset[n - 1], p.done[n - 1]
    return n - 1


@njit(cache=True, nogil=True, error_model="numpy")
def _open_up(p, n, x, y, z, tolerance):
    """Removes the faces that a new corner sees; lists the rim of the hole. Returns numbers of faces and of edges."""
    edges, i = 0, 0
    while i < n:
        if p.normal[i, 0] * x + p.normal[i, 1] * y + p.normal[i, 2] * z <= p.offset[i] + tolerance:
            i += 1
            continue
        for e in range(3):
            a, b = p.face[i, e], p.face[i, (e + 1) % 3]
            shared = -1
            for m in range(edges):
                if p.edge[m, 0] == b and p.edge[m, 1] == a:
                    shared = m
                    break
            if shared >= 0:
                edges -= 1
                p.edge[shared, 0], p.edge[shared, 1] = p.edge[edges, 0], p.edge[edges, 1]
            else:
                p.edge[edges, 0], p.edge[edges, 1] = a, b
                edges += 1
        n = _remove(p, n, i)
    return n, edges


@njit(cache=True, nogil=True, error_model="numpy")
def _grow(cores, fa, fb, pose, ka, kb, window, tolerance, p, inside):
    """Expands until every face within `window` of the nearest is done; returns the number of faces."""
    faces, corners = 4, 4
    while True:
        nearest, settled, top = np.inf, np.inf, -1
        for i in range(faces):
            if p.done[i]:
                settled = min(settled, p.offset[i])
            elif p.offset[i] < nearest:
                nearest, top = p.offset[i], i
        if top < 0 or nearest > settled + window:
            return faces
        x, y, z = p.normal[top, 0], p.normal[top, 1], p.normal[top, 2]
        wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, x, y, z)
        if x * wx + y * wy + z * wz - p.offset[top] <= tolerance or corners == CORNERS:
            p.done[top] = True
            continue
        p.corner[corners, 0], p.corner[corners, 1], p.corner[corners, 2] = wx, wy, wz
        # The face that grows is seen for certain; with a smaller tolerance slivers would be left beside it.
        faces, edges = _open_up(p, faces, wx, wy, wz, 0.1 * tolerance)
        if faces + edges > FACES:
            return faces
        for e in range(edges):
            _add_face(p, faces, p.edge[e, 0], p.edge[e, 1], corners, inside)
            faces += 1
        corners += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _score(cores, fa, fb, after, ka, kb, p, i, preview):
    """How good face i is as a separating direction: its separation now, and a little of that after the step."""
    if not preview:
        return -p.offset[i]
    x, y, z = p.normal[i, 0], p.normal[i, 1], p.normal[i, 2]
    wx, wy, wz = difference(cores, fa, fb, after, ka, kb, x, y, z)
    return -p.offset[i] - PREVIEW * (x * wx + y * wy + z * wz)


@njit(cache=True, nogil=True, error_model="numpy")
def overlap(cores, fa, fb, pose, ka, kb, after, preview, move, scale, p):
    """Signed separation of two cores that overlap or touch, and the unit vector from the first to the second.

    The vector is that along which they separate best. Where several are equally good (corner against corner) the one
    that stays best after the step counts, if `preview`, with the poses `after` and a bound `move` of the motion; equals
    in that share it.
    """
    inside = np.empty(3)
    if not _start(cores, fa, fb, pose, ka, kb, p, inside):
        return 0.0, 0.0, 0.0, 1.0
    window = EQUAL * scale + (PREVIEW * move if preview else 0.0)
    faces = _grow(cores, fa, fb, pose, ka, kb, window, DONE * scale, p, inside)
    least = np.inf
    for i in range(faces):
        least = min(least, p.offset[i])
    best, top = -np.inf, 0
    for i in range(faces):
        if p.offset[i] <= least + window:
            score = _score(cores, fa, fb, after, ka, kb, p, i, preview)
            if score > best:
                best, top = score, i
    x = y = z = 0.0
    for i in range(faces):
        if p.offset[i] > least + window:
            continue
        weight = 1.0 - (best - _score(cores, fa, fb, after, ka, kb, p, i, preview)) / (EQUAL * scale)
        if weight <= 0.0:
            continue
        for j in range(i):  # a flat face of several triangles has one vote
            if p.offset[j] <= least + window:
                same = p.normal[i, 0] * p.normal[j, 0] + p.normal[i, 1] * p.normal[j, 1]
                if same + p.normal[i, 2] * p.normal[j, 2] > 1.0 - 1e-12:
                    weight = 0.0
        x -= weight * p.normal[i, 0]
        y -= weight * p.normal[i, 1]
        z -= weight * p.normal[i, 2]
    length = np.sqrt(x * x + y * y + z * z)
    if length < 1e-4:  # equal directions that cancel: every way out is as good
        return -least, -p.normal[top, 0], -p.normal[top, 1], -p.normal[top, 2]
    return -least, x / length, y / length, z / length
