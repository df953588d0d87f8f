"""Contacts of two convex forms: a common normal, then the features that face each other along it.

The normal is that of the shortest distance of the cores, or of the least overlap; for two boxes that of the best
separating axis. It is found at the start of the step, or, for bodies so fast that they are still far apart there, when
they come close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ...solvers.rows import Floats
from ...world import CAPSULE, CUBOID, CYLINDER
from ..clipping import PARALLEL, PLACE, meet
from .boxes import ROWS, box_normal
from .contacts import put_contacts
from .cores import KIND, REACH, difference, roundness
from .epa import Polytope, overlap, polytope
from .features import FACE, Features, facing, new_features
from .gjk import shifted_separation
from .poses import midway
from .segments import segments

FAR = 0.1  # gaps above this part of the smaller body's half width are closed in one step only by fast bodies
CLOSE = 0.02  # and this is close to touching, in the same unit
BAND = 0.2  # widest band of corners that count as one feature, in the same unit
SQUARE = 1.0 - 5e-5  # cosine above which a normal may be that of a face, inexactly (0.01 rad)
WORSE = 1e-9  # separation, relative to the size of the pair, that the exact normal may cost
ROUNDS = 32
APART = 6  # looks at cores moved apart
LIFT = 1e-4  # by this much, relative to the size of the pair: more than a coarse overlap is wrong, else little
SETTLED = (
    1e-12  # one minus the cosine between directions that count as the same (1e-6 rad, as good as a distance gives)
)


class Work(NamedTuple):
    """Scratch for one pair at a time."""

    simplex: Floats  # (8, 3)
    polytope: Polytope
    axes: Floats  # (ROWS, 15)
    features: Features
    places: Floats  # (m, PLACE)
    motion: Floats  # (3, 2, 12)


@kernel
def new_work(most):
    """Scratch for forms whose features have up to `most` points."""
    places, motion = np.empty((4 * most, PLACE)), np.empty((3, 2, 12))
    return Work(np.empty((8, 3)), polytope(), np.empty((ROWS, 15)), new_features(most), places, motion)


@kernel
def _comes_after(pose, ka, kb):
    """Whether pose ka is behind pose kb in an order of places."""
    for i in range(12):
        if pose[ka, i] != pose[kb, i]:
            return pose[ka, i] > pose[kb, i]
    return False


@kernel
def core_separation(cores, fa, fb, pose, ka, kb, limit, after, preview, move, scale, simplex, hull):
    """Signed separation of the cores, and the unit vector along which they separate best, from a to b.

    The direction that an expanding polytope gives for cylinders is coarse. Moved apart along it, the cores have a
    shortest distance, whose direction is better; where both are the same nothing separates the cores better nearby.
    """
    if cores.shape[fa, KIND] == CAPSULE and cores.shape[fb, KIND] == CAPSULE:
        return segments(cores, fa, fb, pose, ka, kb)
    # Which one is the first decides about rounding. That must not depend on the numbers of the bodies.
    sign = 1.0
    if _comes_after(pose, ka, kb):
        fa, fb, ka, kb, sign = fb, fa, kb, ka, -1.0
    best, sx, sy, sz = 0.0, 0.0, 0.0, 0.0
    shift = (0.0, 0.0, 0.0)
    for look in range(APART):
        d, x, y, z = shifted_separation(cores, fa, fb, pose, ka, kb, shift, limit, scale, simplex)
        if look == 0:
            if d > 0.0:
                return d, sign * x, sign * y, sign * z
            best, sx, sy, sz = overlap(cores, fa, fb, pose, ka, kb, after, preview, move, scale, hull)
            if cores.shape[fa, KIND] != CYLINDER and cores.shape[fb, KIND] != CYLINDER:
                break
            limit = np.inf
        elif d > 0.0:
            wx, wy, wz = difference(cores, fa, fb, pose, ka, kb, -x, -y, -z)
            found, turn = x * wx + y * wy + z * wz, x * sx + y * sy + z * sz
            if found > best or look == 1:
                best, sx, sy, sz = found, x, y, z
            if turn > 1.0 - SETTLED:
                break
        lift = LIFT * scale - best
        shift = (lift * sx, lift * sy, lift * sz)
    return best, sign * sx, sign * sy, sign * sz


@kernel
def _snapped(f, na, nb, n):
    """The exact normal of the features that meet, if the one that the search found is it up to rounding."""
    d, p = f.data, f.point
    x = y = z = 0.0
    for w in range(2):
        sign = -1.0 if w else 1.0
        ax, ay, az = sign * d[w, FACE], sign * d[w, FACE + 1], sign * d[w, FACE + 2]
        if (nb if w else na) >= 3 and ax * n[0] + ay * n[1] + az * n[2] > SQUARE:
            x, y, z = x + ax, y + ay, z + az
    if na == 2 and nb == 2:
        ax, ay, az = p[0, 1, 0] - p[0, 0, 0], p[0, 1, 1] - p[0, 0, 1], p[0, 1, 2] - p[0, 0, 2]
        bx, by, bz = p[1, 1, 0] - p[1, 0, 0], p[1, 1, 1] - p[1, 0, 1], p[1, 1, 2] - p[1, 0, 2]
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


@kernel
def _facing_features(cores, fa, fb, pose, ka, kb, n, least, exact, band, f):
    """The numbers of points of the features that face each other, and the normal, made exact if it is not.

    A face or a pair of edges gives it if it separates the cores as well, by `least`.
    """
    na = nb = 0
    for again in range(2):
        for w in range(2):
            sign = -1.0 if w else 1.0
            k, form = (kb, fb) if w else (ka, fa)
            count = facing(cores, form, pose, k, sign * n[0], sign * n[1], sign * n[2], band, f, w)
            if w == 0:
                na = count
            else:
                nb = count
        if exact or again == 1:
            break
        m = _snapped(f, na, nb, n)
        if m[0] == n[0] and m[1] == n[1] and m[2] == n[2]:
            break
        x, y, z = difference(cores, fa, fb, pose, ka, kb, -m[0], -m[1], -m[2])
        if m[0] * x + m[1] * y + m[2] * z < least:
            break
        n = m
    return na, nb, n


@kernel
def convex_pair(cores, fa, fb, pose, after, pose1, ka, kb, time, move, inner, margin, base, work, found, n):
    """Contacts of two convex forms, from row n of `found` on; returns the next free row.

    Their poses are rows ka and kb of `pose`, and `after` rows farther down those at the end of the step, which are also
    the rows of pose1. `time` is when two boxes touch, and their axes are already in `work`. `move` bounds the relative
    motion of the bodies, `inner` is the smaller one's half width.
    """
    reach_a, reach_b = cores.shape[fa, REACH], cores.shape[fb, REACH]
    size, scale = min(reach_a, reach_b), reach_a + reach_b
    boxes = cores.shape[fa, KIND] == CUBOID and cores.shape[fb, KIND] == CUBOID
    radii = roundness(cores, fa) + roundness(cores, fb)
    limit, rounds, d = margin, 0, 0.0
    ended = False  # the features of the end of the step were asked
    while True:
        pa, pb = ka, kb
        if time > 0.0:
            pa, pb = 2 * after, 2 * after + 1
            midway(pose, ka, ka + after, time, pa)
            midway(pose, kb, kb + after, time, pb)
        if boxes:
            normal = box_normal(work.axes, pose, pa, pb, size)
        else:
            rest = margin + (1.0 - time) * move
            d, x, y, z = core_separation(
                cores, fa, fb, pose, pa, pb, rest + radii, pose1, time == 0.0, move, scale, work.simplex, work.polytope
            )
            gap, normal = d - radii, (x, y, z)
            if gap > rest:
                return n
            # Fast bodies: steps that cannot miss the first touch.
            if gap > (CLOSE * inner if time > 0.0 else FAR * inner + margin) and time < 1.0 and rounds < ROUNDS:
                time = min(time + gap / move, 1.0)
                rounds += 1
                continue
        band = min(margin + move, BAND * inner)
        na, nb, normal = _facing_features(
            cores, fa, fb, pose, pa, pb, normal, d - WORSE * scale, boxes, band, work.features
        )
        count = meet(work.features, na, nb, normal, size, work.places)
        rows = (pa, pb, ka, kb)
        to, least = put_contacts(
            work.features, na, nb, normal, work.places, count, pose, rows, after, work.motion, limit, base, found, n
        )
        if to > n or ended:
            return to
        # What the features foretell is good to second order in the motion. Where that leaves open whether the bodies
        # will touch, the end of the step decides; of boxes it is known that they will.
        if not boxes and (time == 1.0 or least > margin + move * min(1.0, move / inner)):
            return n
        ended = time == 1.0 or not boxes
        if time == 1.0:
            limit = least + 1e-9 * size
        time = 1.0
