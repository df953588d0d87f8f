"""The manifold of two boxes is that of the general clipping, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from carom.contact.box_manifold import _clip_quads, new_quads
from carom.contact.clipping import SAME_PLACE, clip
from carom.contact.features import box_feature, new_scratch, plain_depth
from carom.geometry.vectors import Mat3, Pose, Vec3, norm

NORMAL = Vec3(0.0, 0.0, 1.0)
WHOLE_FACE = plain_depth(10.0)  # so deep that every vertex of the front belongs to the feature


def face(size, place, angle, w, scratch):
    """The upper (w = 0) or lower (w = 1) face of a box at a place, rotated about the normal."""
    c, s = np.cos(angle), np.sin(angle)
    pose = Pose(Vec3(*place), Mat3(Vec3(c, -s, 0.0), Vec3(s, c, 0.0), Vec3(0.0, 0.0, 1.0)))
    return box_feature(size, pose, Vec3(0.0, 0.0, 1.0 - 2.0 * w), WHOLE_FACE, scratch.point, w)


def clipped(one, two, place, angle):
    """Contact points of two faces by the clipping of quadrilaterals, and by the general one."""
    scratch, size = new_scratch(9), min(norm(one), norm(two))
    first, second = face(one, (0.0, 0.0, 0.0), 0.3, 0, scratch), face(two, place, angle, 1, scratch)
    n = _clip_quads(NORMAL, SAME_PLACE * size, scratch.point, new_quads(), scratch.place)
    quads = scratch.place[:n].copy()
    return quads, scratch.place[: clip(first, second, NORMAL, size, scratch)].copy()


def test_faces_have_the_points_of_the_general_clipping():
    chance, counts = np.random.default_rng(4), []
    for _ in range(300):
        one, two = (Vec3(*chance.uniform(0.2, 1.0, 3)) for _ in range(2))
        place = (*chance.uniform(-1.0, 1.0, 2), one.z + two.z)
        quads, general = clipped(one, two, place, chance.uniform(0.0, 6.0))
        counts.append(len(quads))
        if len(quads):  # otherwise the faces lie beside each other
            assert np.array_equal(quads, general)
    assert set(range(3, 9)) <= set(counts)  # all numbers of corners that an intersection can have


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_corners_on_a_border_are_left_to_the_general_clipping(shift):
    """Equal faces on each other, and shifted along an edge: every corner of the intersection lies on a border."""
    one = Vec3(0.5, 0.5, 0.5)
    place = (shift * np.cos(0.3), shift * np.sin(0.3), 1.0)
    quads, general = clipped(one, one, place, 0.3)
    assert len(quads) == 0 and len(general) == 4
