"""Overlap of two convex cores: least depth and its direction, by the expanding polytope algorithm (EPA).

The polytope lies inside the Minkowski difference b - a and grows at the face nearest to the origin, until that face is
a face of the difference. Distances of faces have a sign, so that the origin need not lie inside: cores that only touch
are no special case. All faces that are equally near are completed too, and share the direction, so that the result does
not depend on their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .support import difference, is_curved

CORNERS = 160  # largest number of vertices of the polytope
FACES = 2 * CORNERS + 8
DONE = 1e-10  # tolerance on the distance of a face of the difference, relative to the size of the pair
CURVED = 1e-5  # the same for curved cores, whose differences have no faces; the caller refines the direction
EQUAL = 1e-9  # faces this close to the nearest (relative to size) are equally near
PREVIEW = 0.01  # weight of the separation after the step: decides among directions that are equal before it


# Columns of Polytope.face: three vertices, outward normal, offset, and whether it is a face of the difference.
NORMAL, OFFSET, SETTLED, COLUMNS = 3, 6, 7, 8


class Polytope(NamedTuple):
    """Scratch arrays for the polytope."""

    corner: Floats  # (CORNERS + 1, 3) vertices; the last row is a point inside
    face: Floats  # (FACES, COLUMNS)
    edge: Ints  # (3 FACES, 2) boundary of the hole that a new vertex opens


@kernel
def polytope():
    """New scratch arrays."""
    return Polytope(np.empty((CORNERS + 1, 3)), np.empty((FACES, COLUMNS)), np.empty((3 * FACES, 2), np.int64))


@kernel
def _add_face(p, n, i, j, k):
    """Adds a face with its normal away from the point inside; a face without area counts as settled and far."""
    c, f = p.corner, p.face
    ax, ay, az = c[i, 0], c[i, 1], c[i, 2]
    bx, by, bz = c[j, 0] - ax, c[j, 1] - ay, c[j, 2] - az
    cx, cy, cz = c[k, 0] - ax, c[k, 1] - ay, c[k, 2] - az
    x, y, z = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    length = np.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length if length > 0.0 else 0.0
    if x * (c[CORNERS, 0] - ax) + y * (c[CORNERS, 1] - ay) + z * (c[CORNERS, 2] - az) > 0.0:
        scale = -scale
        j, k = k, j
    x, y, z = scale * x, scale * y, scale * z
    f[n, 0], f[n, 1], f[n, 2], f[n, 3], f[n, 4], f[n, 5] = i, j, k, x, y, z
    f[n, OFFSET] = x * ax + y * ay + z * az if length > 0.0 else np.inf
    f[n, SETTLED] = 0.0 if length > 0.0 else 1.0


@kernel
def _farther(cores, fa, fb, pose, ka, kb, x, y, z, corner, row):
    """Writes the support point along d or -d that is farther from vertex 0 along it; returns this distance."""
    best = -np.inf
    for _ in range(2):
        wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, x, y, z)
        ahead = x * (wx - corner[0, 0]) + y * (wy - corner[0, 1]) + z * (wz - corner[0, 2])
        if ahead > best:
            best = ahead
            corner[row, 0], corner[row, 1], corner[row, 2] = wx, wy, wz
        x, y, z = -x, -y, -z
    return best


@kernel
def _start(cores, fa, fb, pose, ka, kb, p):
    """Initial tetrahedron inside the difference; returns False if the difference is flat."""
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
        c[CORNERS, axis] = 0.25 * (c[0, axis] + c[1, axis] + c[2, axis] + c[3, axis])
    for m in range(4):
        _add_face(p, m, 1 if m == 0 else 0, 2 if m < 2 else 1, 3 if m < 3 else 2)
    return True


@kernel
def _open_up(p, n, x, y, z, tolerance):
    """Removes the faces visible from a new vertex, lists the edges of the hole; returns numbers of faces and edges."""
    edges, i, f = 0, 0, p.face
    while i < n:
        if f[i, 3] * x + f[i, 4] * y + f[i, 5] * z <= f[i, OFFSET] + tolerance:
            i += 1
            continue
        for e in range(3):
            a, b = int(f[i, e]), int(f[i, (e + 1) % 3])
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
        n -= 1
        for column in range(COLUMNS):  # the last face replaces it
            f[i, column] = f[n, column]
    return n, edges


@kernel
def _grow(cores, fa, fb, pose, ka, kb, window, tolerance, p):
    """Expands until every face within `window` of the nearest is settled; returns the number of faces."""
    faces, corners, f = 4, 4, p.face
    while True:
        nearest, settled, top = np.inf, np.inf, -1
        for i in range(faces):
            if f[i, SETTLED] > 0.0:
                settled = min(settled, f[i, OFFSET])
            elif f[i, OFFSET] < nearest:
                nearest, top = f[i, OFFSET], i
        if top < 0 or nearest > settled + window:
            return faces
        x, y, z = f[top, 3], f[top, 4], f[top, 5]
        wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, x, y, z)
        if x * wx + y * wy + z * wz - nearest <= tolerance or corners == CORNERS:
            f[top, SETTLED] = 1.0
            continue
        p.corner[corners, 0], p.corner[corners, 1], p.corner[corners, 2] = wx, wy, wz
        # The face that grows is visible in any case; a smaller tolerance for the others would leave slivers.
        faces, edges = _open_up(p, faces, wx, wy, wz, 0.1 * tolerance)
        if faces + edges > FACES:
            return faces
        for e in range(edges):
            _add_face(p, faces, p.edge[e, 0], p.edge[e, 1], corners)
            faces += 1
        corners += 1


@kernel
def _score_faces(cores, fa, fb, after, ka, kb, p, faces, limit, preview):
    """Writes the score of each face as a separating direction to SETTLED; returns the best face.

    The score is the separation, plus PREVIEW times that after the step; it is -inf beyond `limit`, and for all but one
    of coplanar triangles.
    """
    f, top = p.face, 0
    for i in range(faces):
        f[i, SETTLED] = -np.inf
        if f[i, OFFSET] > limit:
            continue
        x, y, z, score = f[i, 3], f[i, 4], f[i, 5], -f[i, OFFSET]
        for j in range(i):
            if f[j, SETTLED] > -np.inf and x * f[j, 3] + y * f[j, 4] + z * f[j, 5] > 1.0 - 1e-12:
                score = -np.inf
        if preview and score > -np.inf:
            wx, wy, wz = difference(cores, fa, fb, after, ka, kb, x, y, z)
            score -= PREVIEW * (x * wx + y * wy + z * wz)
        f[i, SETTLED] = score
        if score > f[top, SETTLED]:
            top = i
    return top


@kernel
def overlap(cores, fa, fb, pose, ka, kb, after, preview, move, scale, p):
    """Signed separation of two cores that overlap or touch, and the unit vector from the first to the second.

    The cores separate best along this vector. Where several vectors are equal (vertex against vertex), the one that is
    best after the step is chosen, if `preview`: `after` are the poses then, in the same rows, and `move` bounds the
    motion. If these are equal too, the mean is returned.
    """
    if not _start(cores, fa, fb, pose, ka, kb, p):
        return 0.0, 0.0, 0.0, 1.0
    curved = is_curved(cores, fa) or is_curved(cores, fb)
    window = 0.0 if curved else EQUAL * scale + (PREVIEW * move if preview else 0.0)
    faces = _grow(cores, fa, fb, pose, ka, kb, window, (CURVED if curved else DONE) * scale, p)
    f, least = p.face, np.inf
    for i in range(faces):
        least = min(least, f[i, OFFSET])
    top = _score_faces(cores, fa, fb, after, ka, kb, p, faces, least + window, preview)
    x = y = z = 0.0
    for i in range(faces):
        weight = 1.0 - (f[top, SETTLED] - f[i, SETTLED]) / (EQUAL * scale)
        if weight > 0.0:
            x, y, z = x - weight * f[i, 3], y - weight * f[i, 4], z - weight * f[i, 5]
    length = np.sqrt(x * x + y * y + z * z)
    if length < 1e-4:  # equal directions that cancel: any of them is as good
        x, y, z, length = -f[top, 3], -f[top, 4], -f[top, 5], 1.0
    return -least, x / length, y / length, z / length
