"""Contacts of two convex forms: a common normal, then the features that face each other along it.

The normal is that of the shortest distance of the cores, or of the least overlap; for two boxes that of the best
separating axis. It is found at the start of the step, or, for bodies so fast that they are still far apart there, when
they come close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...solvers.rows import Floats
from ...world import CAPSULE, CUBOID
from .boxes import Axes, box_normal, box_scores, new_axes
from .contacts import put_contacts
from .cores import roundness
from .epa import Polytope, overlap, polytope
from .features import Feature, facing, new_feature
from .gjk import separation
from .meeting import PARALLEL, Places, meet, new_places
from .poses import midway
from .segments import segments

FAR = 0.1  # gaps above this part of the smaller body's half width are closed in one step only by fast bodies
CLOSE = 0.02  # and this is close to touching, in the same unit
BAND = 0.2  # widest band of corners that count as one feature, in the same unit
SQUARE = 1.0 - 5e-9  # cosine above which a normal is that of a face, up to rounding (1e-4 rad)
ROUNDS = 32


class Work(NamedTuple):
    """Scratch for one pair at a time."""

    simplex: Floats  # (8, 3)
    polytope: Polytope
    axes: Axes
    a: Feature
    b: Feature
    places: Places


@njit(cache=True, nogil=True, error_model="numpy")
def new_work(most):
    return Work(
        np.empty((8, 3)), polytope(), new_axes(), new_feature(most), new_feature(most), new_places(4 * most)
    )


@njit(cache=True, nogil=True, error_model="numpy")
def core_separation(cores, fa, fb, pose, ka, kb, limit, after, preview, move, scale, work):
    """Signed separation of the cores, and the unit vector along which they separate best, from a to b."""
    if cores.kind[fa] == CAPSULE and cores.kind[fb] == CAPSULE:
        return segments(cores.size, fa, fb, pose, ka, kb)
    d, x, y, z = separation(cores, fa, fb, pose, ka, kb, limit, scale, work.simplex)
    if d > 0.0:
        return d, x, y, z
    return overlap(cores, fa, fb, pose, ka, kb, after, preview, move, scale, work.polytope)


@njit(cache=True, nogil=True, error_model="numpy")
def _snapped(a, na, b, nb, n):
    """The exact normal of the features that meet, if the one that the search found is it up to rounding."""
    ax, ay, az, bx, by, bz = a.face[0], a.face[1], a.face[2], -b.face[0], -b.face[1], -b.face[2]
    of_a = na >= 3 and ax * n[0] + ay * n[1] + az * n[2] > SQUARE
    of_b = nb >= 3 and bx * n[0] + by * n[1] + bz * n[2] > SQUARE
    x = y = z = 0.0
    if of_a:
        x, y, z = ax, ay, az
    if of_b:
        x, y, z = x + bx, y + by, z + bz
    if na == 2 and nb == 2:
        ax, ay, az = a.at[1, 0] - a.at[0, 0], a.at[1, 1] - a.at[0, 1], a.at[1, 2] - a.at[0, 2]
        bx, by, bz = b.at[1, 0] - b.at[0, 0], b.at[1, 1] - b.at[0, 1], b.at[1, 2] - b.at[0, 2]
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        along = x * n[0] + y * n[1] + z * n[2]
        cross = x * x + y * y + z * z
        square = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)
        if cross <= PARALLEL**2 * square or abs(along) <= SQUARE * np.sqrt(cross):
            return n
        if along < 0.0:
            x, y, z = -x, -y, -z
    length = np.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length) if length > 0.0 else n


@njit(cache=True, nogil=True, error_model="numpy")
def _features(cores, forms, pose, ka, kb, n, exact, band, work):
    """The features that face each other, the numbers of their points, and the normal, made exact if it is not."""
    na = nb = 0
    for again in range(2):
        for side in range(2):
            sign, f = (1.0, work.a) if side == 0 else (-1.0, work.b)
            k, form = (ka, forms[0]) if side == 0 else (kb, forms[1])
            count = facing(cores, form, pose, k, sign * n[0], sign * n[1], sign * n[2], band, f)
            if side == 0:
                na = count
            else:
                nb = count
        if exact or again == 1:
            break
        m = _snapped(work.a, na, work.b, nb, n)
        if m[0] == n[0] and m[1] == n[1] and m[2] == n[2]:
            break
        n = m
    return na, nb, n


@njit(cache=True, nogil=True, error_model="numpy")
def _placed_at(solids, poses, placed, pair, time):
    """Rows of the poses of both parts at a time of the step, and of the motions from there: on, on, back, back."""
    if time == 0.0:
        return pair[2], pair[3], (pair[0], pair[1], -1, -1)
    row = on = back = other = on_other = back_other = 0
    for side in range(2):
        row, on, back = midway(solids, poses, placed, pair[side], pair[2 + side], side, time)
        if side == 0:
            other, on_other, back_other = row, on, back
    return other, row, (on_other, on, back_other, back)


@njit(cache=True, nogil=True, error_model="numpy")
def convex_pair(solids, poses, placed, cores, pair, forms, move, inner, margin, base, work, found, n):
    """Contacts of two convex forms, from row n of `found` on; returns the next free row.

    pair: rows of the bodies in `poses`, and of the parts in `placed`. `move` bounds the relative motion of the bodies,
    `inner` is the smaller one's half width.
    """
    fa, fb = forms
    reach_a, reach_b = solids.reach[fa], solids.reach[fb]
    size, scale = min(reach_a, reach_b), reach_a + reach_b
    boxes = cores.kind[fa] == CUBOID and cores.kind[fb] == CUBOID
    radii = roundness(cores, fa) + roundness(cores, fb)
    band, limit = min(margin + move, BAND * inner), margin
    time, gap, rounds = 0.0, 0.0, 0
    if boxes:
        after, gap, time = box_scores(
            cores.size, fa, fb, placed.pose0, placed.pose1, pair[2], pair[3], margin, work.axes
        )
        if after > margin:
            return n
        if gap <= FAR * inner:
            time = 0.0
    ended = False  # the features of the end of the step were asked
    while True:
        pa, pb, rows = _placed_at(solids, poses, placed, pair, time)
        if boxes:
            normal = box_normal(work.axes, placed.pose0, pa, pb, size)
        else:
            rest = margin + (1.0 - time) * move
            d, x, y, z = core_separation(
                cores, fa, fb, placed.pose0, pa, pb, rest + radii, placed.pose1, time == 0.0, move, scale, work
            )
            gap, normal = d - radii, (x, y, z)
            if gap > rest:
                return n
            # Fast bodies: steps that cannot miss the first touch.
            if gap > (FAR if time == 0.0 else CLOSE) * inner and time < 1.0 and rounds < ROUNDS:
                if time > 0.0 or gap > FAR * inner + margin:
                    time = min(time + gap / move, 1.0)
                    rounds += 1
                    continue
        na, nb, normal = _features(cores, forms, placed.pose0, pa, pb, normal, boxes, band, work)
        count = meet(work.a, na, work.b, nb, normal, size, work.places)
        to, least = put_contacts(
            work.a, na, work.b, nb, normal, work.places, count, placed.motion, rows, limit, base, found, n
        )
        if to > n or ended:
            return to
        # What the features foretell is good to second order in the motion. Where that leaves open whether the bodies
        # will touch, the end of the step decides; of boxes it is known that they will.
        if boxes:
            limit = least + 1e-9 * size
        elif time == 1.0 or least > margin + move * min(1.0, move / inner):
            return n
        else:
            time = 1.0
        ended = True
