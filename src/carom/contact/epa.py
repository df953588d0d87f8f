"""Overlap of two convex cores: least depth and its direction, by the expanding polytope algorithm (EPA).

The polytope lies inside the Minkowski difference b - a and grows at the face nearest to the origin, until that face is
a face of the difference. Distances of faces have a sign, so that the origin need not lie inside: cores that only touch
are no special case. All faces that are equally near are completed too, and share the direction, so that the result does
not depend on their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Pose, Vec3, cross, dot, norm, put_row, row3
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from .parts import Part, difference, is_curved

POLYTOPE_VERTICES = 160  # largest number
POLYTOPE_FACES = 2 * POLYTOPE_VERTICES + 8
FLAT_TOLERANCE = 1e-10  # on the distance of a face of the difference, relative to the size of the pair
CURVED_TOLERANCE = 1e-5  # for curved cores, whose differences have no faces; the caller refines the direction
EQUAL_FACES = 1e-9  # faces this close to the nearest (relative to size) are equally near
FACE_PREVIEW = 0.01  # weight of the separation after the step: decides among directions that are equal before it

# Columns of Polytope.face: three vertices, outward normal, offset, and whether it is a face of the difference.
NORMAL, OFFSET, SETTLED, FACE_COLUMNS = 3, 6, 7, 8


class Polytope(NamedTuple):
    """Scratch arrays for the polytope."""

    corner: Floats  # (POLYTOPE_VERTICES + 1, 3) vertices; the last row is a point inside
    face: Floats  # (POLYTOPE_FACES, FACE_COLUMNS)
    edge: Ints  # (3 POLYTOPE_FACES, 2) boundary of the hole that a new vertex opens


class Preview(NamedTuple):
    """Poses of the two parts after the step, and a bound on their relative motion; negative if there is no preview."""

    first: Pose
    second: Pose
    move: float


@kernel
def polytope():
    """New scratch arrays."""
    return Polytope(
        np.empty((POLYTOPE_VERTICES + 1, 3)),
        np.empty((POLYTOPE_FACES, FACE_COLUMNS)),
        np.empty((3 * POLYTOPE_FACES, 2), np.int64),
    )


@kernel(inline="always")
def _normal(face, i):
    return Vec3(face[i, NORMAL], face[i, NORMAL + 1], face[i, NORMAL + 2])


@lean
def _add_face(p, n, i, j, k):
    """Writes face n with its normal away from the point inside; a face without area counts as settled and far."""
    a, f = row3(p.corner, i), p.face
    normal = cross(row3(p.corner, j) - a, row3(p.corner, k) - a)
    length = norm(normal)
    scale = 1.0 / length if length > 0.0 else 0.0
    if dot(normal, row3(p.corner, POLYTOPE_VERTICES) - a) > 0.0:
        scale = -scale
        j, k = k, j
    normal = scale * normal
    f[n, 0], f[n, 1], f[n, 2] = i, j, k
    f[n, NORMAL], f[n, NORMAL + 1], f[n, NORMAL + 2] = normal
    f[n, OFFSET] = dot(normal, a) if length > 0.0 else np.inf
    f[n, SETTLED] = 0.0 if length > 0.0 else 1.0


@lean
def _put_farther(a, b, d, corner, row):
    """Writes the support point along d or -d that is farther from vertex 0 along it; returns this distance."""
    best = -np.inf
    for _ in range(2):
        w = difference(a, b, d)
        ahead = dot(d, w - row3(corner, 0))
        if ahead > best:
            best = ahead
            put_row(corner, row, w)
        d = -d
    return best


@lean
def _start(a, b, p):
    """Initial tetrahedron inside the difference; returns False if the difference is flat."""
    d = b.pose.position - a.pose.position
    if dot(d, d) == 0.0:
        d = Vec3(1.0, d.y, d.z)
    c = p.corner
    put_row(c, 0, difference(a, b, -d))
    _put_farther(a, b, d, c, 1)
    e = row3(c, 1) - row3(c, 0)
    if abs(e.x) <= abs(e.y) and abs(e.x) <= abs(e.z):
        d = Vec3(0.0, e.z, -e.y)
    elif abs(e.y) <= abs(e.z):
        d = Vec3(-e.z, 0.0, e.x)
    else:
        d = Vec3(e.y, -e.x, 0.0)
    if _put_farther(a, b, d, c, 2) <= 0.0:
        return False
    if _put_farther(a, b, cross(e, row3(c, 2) - row3(c, 0)), c, 3) <= 0.0:
        return False
    put_row(c, POLYTOPE_VERTICES, 0.25 * (row3(c, 0) + row3(c, 1) + row3(c, 2) + row3(c, 3)))
    for m in range(4):
        _add_face(p, m, 1 if m == 0 else 0, 2 if m < 2 else 1, 3 if m < 3 else 2)
    return True


@lean
def _open_up(p, n, w, tolerance):
    """Removes the faces visible from a new vertex, lists the edges of the hole; returns numbers of faces and edges."""
    edges, i, f = 0, 0, p.face
    while i < n:
        if dot(_normal(f, i), w) <= f[i, OFFSET] + tolerance:
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
        for column in range(FACE_COLUMNS):  # the last face replaces it
            f[i, column] = f[n, column]
    return n, edges


@lean
def _grow(a, b, window, tolerance, p):
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
        normal = _normal(f, top)
        w = difference(a, b, normal)
        if dot(normal, w) - nearest <= tolerance or corners == POLYTOPE_VERTICES:
            f[top, SETTLED] = 1.0
            continue
        put_row(p.corner, corners, w)
        # The face that grows is visible in any case; a smaller tolerance for the others would leave slivers.
        faces, edges = _open_up(p, faces, w, 0.1 * tolerance)
        if faces + edges > POLYTOPE_FACES:
            return faces
        for e in range(edges):
            _add_face(p, faces, p.edge[e, 0], p.edge[e, 1], corners)
            faces += 1
        corners += 1


@lean
def _score_faces(a, b, preview, face, limit):
    """Writes the score of each row of `face` as a separating direction to SETTLED; returns the best one.

    The score is the separation, plus FACE_PREVIEW times that after the step; it is -inf beyond `limit`, and for all but
    one of coplanar triangles.
    """
    top, after_a, after_b = 0, Part(a.core, preview.first), Part(b.core, preview.second)
    for i in range(len(face)):
        face[i, SETTLED] = -np.inf
        if face[i, OFFSET] > limit:
            continue
        normal, score = _normal(face, i), -face[i, OFFSET]
        for j in range(i):
            if face[j, SETTLED] > -np.inf and dot(normal, _normal(face, j)) > 1.0 - 1e-12:
                score = -np.inf
        if preview.move >= 0.0 and score > -np.inf:
            score -= FACE_PREVIEW * dot(normal, difference(after_a, after_b, normal))
        face[i, SETTLED] = score
        if score > face[top, SETTLED]:
            top = i
    return top


@lean
def overlap(a, b, preview, p):
    """Signed separation of two cores that overlap or touch, and the unit vector from the first to the second.

    The cores separate best along this vector. Where several vectors are equal (vertex against vertex), the one that is
    best after the step is chosen, if there is a preview. If these are equal too, the mean is returned.
    """
    if not _start(a, b, p):
        return 0.0, Vec3(0.0, 0.0, 1.0)
    scale, curved = a.core.reach + b.core.reach, is_curved(a.core) or is_curved(b.core)
    window = 0.0 if curved else EQUAL_FACES * scale + FACE_PREVIEW * max(preview.move, 0.0)
    face = p.face[: _grow(a, b, window, (CURVED_TOLERANCE if curved else FLAT_TOLERANCE) * scale, p)]
    least = np.inf
    for i in range(len(face)):
        least = min(least, face[i, OFFSET])
    top = _score_faces(a, b, preview, face, least + window)
    mean = Vec3(0.0, 0.0, 0.0)
    for i in range(len(face)):
        weight = 1.0 - (face[top, SETTLED] - face[i, SETTLED]) / (EQUAL_FACES * scale)
        if weight > 0.0:
            mean = mean - weight * _normal(face, i)
    length = norm(mean)
    if length < 1e-4:  # equal directions that cancel: any of them is as good
        return -least, -_normal(face, top)
    return -least, mean / length


@kernel
def overlap_now(a, b, p):
    """`overlap` without a preview."""
    return overlap(a, b, Preview(a.pose, b.pose, -1.0), p)
