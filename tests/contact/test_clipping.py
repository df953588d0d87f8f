"""Clipping of two faces: the contact points are the vertices of their intersection, found in another way here."""

from __future__ import annotations

import itertools

import numpy as np

from carom.contact.clipping import clip, place_at
from carom.contact.features import box_feature, new_scratch, plain_depth, point_of
from carom.geometry.vectors import Mat3, Pose, Vec3, norm

NORMAL = Vec3(0.0, 0.0, 1.0)
WHOLE_FACE = plain_depth(10.0)  # so deep that every vertex of the front belongs to the feature
ROUNDING = 1e-9  # of coordinates of order one


def face(size, place, angle, w, scratch):
    """The upper (w = 0) or lower (w = 1) face of a box at a place, rotated about the normal."""
    c, s = np.cos(angle), np.sin(angle)
    pose = Pose(Vec3(*place), Mat3(Vec3(c, -s, 0.0), Vec3(s, c, 0.0), Vec3(0.0, 0.0, 1.0)))
    return box_feature(size, pose, Vec3(0.0, 0.0, 1.0 - 2.0 * w), WHOLE_FACE, scratch.point, w)


def sides(size, place, angle):
    """Half planes `a x <= b` (4, 3) of a face, as rows (a, b)."""
    axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    out = [(*(sign * axis), sign * axis @ place + half) for axis, half in zip(axes, size) for sign in (1.0, -1.0)]
    return np.array(out)


def vertices(planes):
    """The vertices of the intersection of half planes: crossings of two borders that all others contain."""
    found = []
    for i, j in itertools.combinations(range(len(planes)), 2):
        matrix = planes[[i, j], :2]
        if abs(np.linalg.det(matrix)) > ROUNDING:
            point = np.linalg.solve(matrix, planes[[i, j], 2])
            if (planes[:, :2] @ point <= planes[:, 2] + ROUNDING).all():
                found.append(point)
    return np.array(found).reshape(-1, 2)


def clipped(one, two, place, angle):
    """Contact points (n, 2) of two faces across the normal, each a corner of one of them or a crossing of edges."""
    scratch, size = new_scratch(9), min(norm(one), norm(two))
    first, second = face(one, (0.0, 0.0, 0.0), 0.3, 0, scratch), face(two, place, angle, 1, scratch)
    found = []
    for k in range(clip(first, second, NORMAL, size, scratch)):
        at, w = place_at(scratch.place, k, 0), 0
        if at.i < 0:
            at, w = place_at(scratch.place, k, 1), 1
        start, end = (np.array(point_of(scratch.point, w, int(i))) for i in (at.i, at.j))
        found.append((start + at.along * (end - start))[:2])
    return np.array(found).reshape(-1, 2)


def same_points(a, b):
    """Whether two lists of points are equal as sets."""
    near = np.linalg.norm(a[:, None] - b[None], axis=2) < 1e3 * ROUNDING
    return near.any(axis=1).all() and near.any(axis=0).all()


def test_contact_points_are_the_vertices_of_the_intersection():
    chance, counts = np.random.default_rng(4), set()
    for _ in range(300):
        one, two = (Vec3(*chance.uniform(0.2, 1.0, 3)) for _ in range(2))
        place, angle = (*chance.uniform(-1.0, 1.0, 2), one.z + two.z), chance.uniform(0.0, 6.0)
        expected = vertices(np.concatenate([sides(one[:2], (0.0, 0.0), 0.3), sides(two[:2], place[:2], angle)]))
        if len(expected):  # otherwise the faces lie beside each other
            found = clipped(one, two, place, angle)
            assert len(found) == len(expected) and same_points(found, expected)
            counts.add(len(found))
    assert set(range(3, 9)) <= counts  # all numbers of corners that an intersection can have


def test_equal_faces_on_each_other_and_shifted_along_an_edge():
    """Every corner of the intersection lies on a border of both, and is one contact."""
    one = Vec3(0.5, 0.5, 0.5)
    for shift in (0.0, 0.5):
        place = (shift * np.cos(0.3), shift * np.sin(0.3), 1.0)
        expected = vertices(np.concatenate([sides(one[:2], (0.0, 0.0), 0.3), sides(one[:2], place[:2], 0.3)]))
        found = clipped(one, one, place, 0.3)
        assert len(found) == 4 and same_points(found, expected)
