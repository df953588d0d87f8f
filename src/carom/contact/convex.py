"""Narrow phase of convex shapes in 3D: a common normal, then the features that face each other along it.

The normal is the direction of the shortest distance of the cores, or of least overlap; for two boxes it is the best
separating axis. It is determined at the start of the step, or, for bodies so fast that they are still far apart then,
when they come close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats
from ..world import BOX, CAPSULE, MESH, SPHERE
from .box_manifold import BAND, MOST, ROWS, box_contacts
from .boxes import TURN, box_normal, box_scores, put_turn
from .clipping import PARALLEL, PLACE, clip
from .contact_set import columns, contact_table, with_room
from .epa import Polytope, overlap, polytope
from .features import FACE, Features, facing, new_features
from .gjk import segments, shifted_separation
from .manifold import put_contacts
from .pairs import AXIS, COLUMNS, FIRST, SECOND
from .poses import midway, needed_rows, placed_parts, to_world
from .solids import solids_of
from .spheres import sphere_pair
from .support import KIND, REACH, difference, is_curved, roundness

FAR = 0.1  # gap, in half widths of the smaller body, above which bodies that touch in this step count as fast
CLOSE = 0.02  # gap, in the same unit, up to which fast bodies are advanced
SQUARE = 1.0 - 5e-5  # cosine (0.01 rad) above which a normal is replaced by the exact one of a face
WORSE = 1e-9  # loss of separation, relative to the size of the pair, that the exact normal may cost
ROUNDS = 32  # largest number of steps of conservative advancement
APART = 6  # largest number of searches with cores moved apart
LIFT = 1e-4  # distance between them, relative to the size of the pair: above the error of a coarse overlap
DONE = -1.0  # in place of a time of touch: all contacts have been written
NOT_DONE = -1  # in place of the end of the contacts of a pair
SETTLED = 1e-12  # one minus the cosine of the angle (1e-6 rad) up to which two directions are equal


class Work(NamedTuple):
    """Scratch arrays for one pair at a time."""

    simplex: Floats  # (8, 3)
    polytope: Polytope
    axes: Floats  # (ROWS, 15)
    features: Features
    places: Floats  # (m, PLACE)
    motion: Floats  # (3, 2, 12)


@kernel
def new_work(most):
    """Scratch arrays for shapes whose features have up to `most` points."""
    places, motion = np.empty((4 * most, PLACE)), np.empty((3, 2, 12))
    return Work(np.empty((8, 3)), polytope(), np.empty((ROWS, 15)), new_features(most), places, motion)


@kernel
def _comes_after(pose, ka, kb):
    """Whether pose ka comes after pose kb in lexicographic order."""
    for i in range(12):
        if pose[ka, i] != pose[kb, i]:
            return pose[ka, i] > pose[kb, i]
    return False


@kernel
def core_separation(cores, fa, fb, pose, ka, kb, limit, after, preview, move, scale, simplex, hull):
    """Signed separation of the cores, and the unit vector along which they separate best, from a to b.

    The direction that the expanding polytope gives for curved cores is coarse. Moved apart along it, the cores have a
    shortest distance, whose direction is better; this is repeated until the direction no longer changes.
    """
    if cores.table[fa, KIND] == CAPSULE and cores.table[fb, KIND] == CAPSULE:
        return segments(cores, fa, fb, pose, ka, kb)
    # Rounding depends on which core is the first. That must not depend on the numbers of the bodies.
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
            if not is_curved(cores, fa) and not is_curved(cores, fb):
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
    """The exact normal of the features that meet, if the given normal equals it up to rounding."""
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
    """Numbers of points of the features that face each other, and the exact normal.

    A face or a pair of edges defines it, if the cores are separated by at least `least` along it.
    """
    na = nb = 0
    for again in range(2):
        for w in range(2):
            sign = -1.0 if w else 1.0
            k, shape = (kb, fb) if w else (ka, fa)
            count = facing(cores, shape, pose, k, sign * n[0], sign * n[1], sign * n[2], band, f, w)
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
    """Writes the contacts of two convex shapes from row n of `found`; returns the next free row.

    Their poses are rows ka and kb of `pose`; those at the end of the step are `after` rows farther down, and also rows
    of pose1. `time` is when two boxes touch, whose axes are already in `work`. `move` bounds the relative motion of the
    bodies, and `inner` is the half width of the smaller one.
    """
    reach_a, reach_b = cores.table[fa, REACH], cores.table[fb, REACH]
    size, scale = min(reach_a, reach_b), reach_a + reach_b
    boxes = cores.table[fa, KIND] == BOX and cores.table[fb, KIND] == BOX
    radii = roundness(cores, fa) + roundness(cores, fb)
    limit, rounds, d = margin, 0, 0.0
    ended = False  # whether the features at the end of the step have been used
    while True:
        pa, pb = ka, kb
        if time > 0.0:
            pa, pb = 2 * after, 2 * after + 1
            midway(pose, ka, ka + after, time, pa)
            midway(pose, kb, kb + after, time, pb)
        if boxes:
            if time > 0.0:
                put_turn(pose, pa, pb, work.axes, TURN)
            x, y, z = box_normal(work.axes, TURN, size, inner)
            normal = to_world(pose, pa, x, y, z)
        else:
            rest = margin + (1.0 - time) * move
            d, x, y, z = core_separation(
                cores, fa, fb, pose, pa, pb, rest + radii, pose1, time == 0.0, move, scale, work.simplex, work.polytope
            )
            gap, normal = d - radii, (x, y, z)
            if gap > rest:
                return n
            # Fast bodies: conservative advancement to the first touch.
            if gap > (CLOSE * inner if time > 0.0 else FAR * inner + margin) and time < 1.0 and rounds < ROUNDS:
                time = min(time + gap / move, 1.0)
                rounds += 1
                continue
        band = min(margin + move, BAND * inner)
        na, nb, normal = _facing_features(
            cores, fa, fb, pose, pa, pb, normal, d - WORSE * scale, boxes, band, work.features
        )
        count = clip(work.features, na, nb, normal, size, work.places)
        rows = (pa, pb, ka, kb)
        to, least = put_contacts(
            work.features, na, nb, normal, work.places, count, pose, rows, after, work.motion, limit, base, found, n
        )
        if to > n or ended:
            return to
        # Gaps predicted from the features have an error of second order in the motion. Where this leaves open whether
        # the bodies touch, the end of the step decides; for boxes it is known that they do.
        if not boxes and (time == 1.0 or least > margin + move * min(1.0, move / inner)):
            return n
        ended = time == 1.0 or not boxes
        if time == 1.0:
            limit = least + 1e-9 * size
        time = 1.0


@kernel
def _apart(at, a, b, reach):
    """Whether two points (rows of `at`) are farther apart than `reach`."""
    x, y, z = at[b, 0] - at[a, 0], at[b, 1] - at[a, 1], at[b, 2] - at[a, 2]
    return reach < 0.0 or x * x + y * y + z * z > reach * reach


@kernel
def _moves(p0, p1, chord, a, b, radius_a, radius_b):
    """An upper bound on the relative displacement of points of two bodies in the step."""
    square = 0.0
    for i in range(3):
        shift = (p1[b, i] - p0[b, i]) - (p1[a, i] - p0[a, i])
        square += shift * shift
    return np.sqrt(square) + chord[a] * radius_a + chord[b] * radius_b


@kernel
def box_pair(table, fa, fb, pose, ka, kb, after, move, inner, margin, trial, base, w, found, n):
    """Writes the contacts of two boxes from row n of `found`; returns the next free row.

    Also returns the time of touch, or DONE; the pair is not done if boxes are far apart at the start, or touch with
    edges or vertices only; and an axis that separates them, if there is one: `trial` is that of an earlier step.
    """
    last, gap, time, axis = box_scores(table, fa, fb, pose, ka, kb, after, margin, trial, w)
    if last > margin:
        return n, DONE, axis
    if gap > FAR * inner and time > 0.0:
        return n, time, axis
    size = min(table[fa, REACH], table[fb, REACH])
    normal = box_normal(w, TURN, size, inner)
    band = min(margin + move, BAND * inner)
    to = box_contacts(table, fa, fb, pose, ka, kb, normal, last, margin, band, size, base, w, found, n)
    return (to, DONE, axis) if to > n else (n, 0.0, axis)


@kernel
def part_pairs(solids, poses, placed, a, b, margin, work, found, n):
    """Writes the contacts of two bodies (rows of `poses`) from row n of `found`, which has room; meshes are skipped.

    Returns the next free row.
    """
    cores, pose, after = solids.cores, placed.pose, len(placed.part)
    body_a, body_b = poses.owner[a], poses.owner[b]
    radius_a, radius_b = solids.body[body_a, 0], solids.body[body_b, 0]
    inner = min(solids.body[body_a, 1], solids.body[body_b, 1])
    move = _moves(poses.position0, poses.position1, placed.chord, a, b, radius_a, radius_b)
    for ka in range(placed.ptr[a], placed.ptr[a + 1]):
        fa = solids.shape[placed.part[ka]]
        for kb in range(placed.ptr[b], placed.ptr[b + 1]):
            fb = solids.shape[placed.part[kb]]
            kind_a, kind_b = cores.table[fa, KIND], cores.table[fb, KIND]
            if kind_a == MESH or kind_b == MESH:
                continue
            if _apart(pose, ka + after, kb + after, cores.table[fa, REACH] + cores.table[fb, REACH] + margin):
                continue
            base = (ka - placed.ptr[a]) * 4099 + kb - placed.ptr[b]
            if kind_a == SPHERE or kind_b == SPHERE:
                n = sphere_pair(cores, fa, fb, pose, after, ka, kb, margin, base, found, n)
                continue
            time = 0.0
            if kind_a == BOX and kind_b == BOX:
                n, time, _ = box_pair(
                    cores.table, fa, fb, pose, ka, kb, after, move, inner, margin, 0, base, work.axes, found, n
                )
                if time == DONE:
                    continue
            n = convex_pair(
                cores, fa, fb, pose, after, placed.pose1, ka, kb, time, move, inner, margin, base, work, found, n
            )
    return n


@kernel
def _single_boxes(
    table, begin, high, ctable, shape, owner, body, p0, p1, chord, ptr, part, pose, margins, w, found, n, end
):
    """Writes the contacts of the pairs of two single boxes from pair `begin` on, while there is room in `found`.

    Returns the first pair that is not done, and the next free row. `end` receives the end of the contacts of each pair,
    or NOT_DONE for pairs that need the general method.
    """
    after, low = len(part), high - len(end)
    for k in range(begin, high):
        a, b = table[k, FIRST], table[k, SECOND]
        i, j = owner[a], owner[b]
        end[k - low] = n
        margin = max(margins[i], margins[j])
        if _apart(p1, a, b, body[i, 0] + body[j, 0] + margin):
            continue
        end[k - low] = NOT_DONE
        if ptr[a + 1] != ptr[a] + 1 or ptr[b + 1] != ptr[b] + 1:
            continue
        fa, fb = shape[part[ptr[a]]], shape[part[ptr[b]]]
        if ctable[fa, KIND] != BOX or ctable[fb, KIND] != BOX:
            continue
        if n + MOST > len(found):
            return k, n
        inner, move = min(body[i, 1], body[j, 1]), _moves(p0, p1, chord, a, b, body[i, 0], body[j, 0])
        n, time, table[k, AXIS] = box_pair(
            ctable, fa, fb, pose, ptr[a], ptr[b], after, move, inner, margin, table[k, AXIS], 0, w, found, n
        )
        if time == DONE:
            end[k - low] = n
    return high, n


@kernel
def row_pairs(solids, poses, placed, table, low, high, margins, found):
    """Contacts of the candidate pairs low to high of a table of rows; a pair has the larger margin of both bodies.

    Returns two tables of contacts, of which the first is `found` or a larger one, and for each of them the ends of the
    contacts of each pair; a pair with contacts in the second table has none in the first.
    """
    end, w = np.empty(high - low, np.int64), np.empty((ROWS, 15))
    k, n = low, 0
    while k < high:  # growing the table inside the loop over pairs would make that slower
        found = with_room(found, n, MOST)
        k, n = _single_boxes(
            table, k, high, solids.cores.table, solids.shape, poses.owner, solids.body, poses.position0,
            poses.position1, placed.chord, placed.ptr, placed.part, placed.pose, margins, w, found, n, end,
        )  # fmt: skip
    left = 0
    for k in range(high - low):
        left += end[k] == NOT_DONE
    if left == 0:
        return found, end, found, np.zeros(0, np.int64)
    most = most_contacts(solids)
    others, ends, work = contact_table(4 * left + most), np.empty(high - low, np.int64), new_work(solids.most[0])
    n = last = 0
    for k in range(high - low):
        if end[k] == NOT_DONE:
            end[k] = last
            others = with_room(others, n, most)
            a, b = table[low + k, FIRST], table[low + k, SECOND]
            margin = max(margins[poses.owner[a]], margins[poses.owner[b]])
            n = part_pairs(solids, poses, placed, a, b, margin, work, others, n)
        last, ends[k] = end[k], n
    return found, end, others, ends


@kernel
def most_contacts(solids):
    """The largest number of contacts of two bodies."""
    return 4 * solids.most[0] * solids.most[1] ** 2


@kernel
def convex_pairs(first, second, shapes, poses, margin):
    """Contacts of candidate pairs of rows of `poses`: (pair, feature_id, normal, point, gap, predicted).

    Normals are unit vectors from first to second, and points lie midway between the surfaces, both at the start of the
    step. Contacts are in the order of the pairs, and have a predicted gap up to `margin`; each vertex of the
    intersection of the two features that face each other is one. Pairs of parts with a mesh are skipped. feature_id is
    below 2^20.
    """
    solids, margins = solids_of(shapes), np.full(len(shapes.radius), margin)
    placed = placed_parts(solids, poses, needed_rows(len(poses.owner), first, second))
    table = np.zeros((len(first), COLUMNS), np.int32)
    table[:, FIRST] = first
    table[:, SECOND] = second
    found, end, others, ends = row_pairs(
        solids, poses, placed, table, 0, len(first), margins, contact_table(4 * len(first))
    )
    pair_of, merged, n = in_order(found, end, others, ends)
    feature, normal, point, gap, predicted = columns(merged, n)
    return pair_of, feature, normal, point, gap, predicted


@kernel
def in_order(found, end, others, ends):
    """What `row_pairs` returned as (pair of each contact, contacts, their number), in the order of the pairs."""
    n = (end[-1] if len(end) else 0) + (ends[-1] if len(ends) else 0)
    pair_of, merged = np.empty(n, np.int64), contact_table(n)
    m = i = j = 0
    for k in range(len(end)):
        for which in range(2 if len(ends) else 1):
            source, last = (others, ends[k]) if which else (found, end[k])
            for row in range(j if which else i, last):
                pair_of[m] = k
                for c in range(source.shape[1]):
                    merged[m, c] = source[row, c]
                m += 1
        i = end[k]
        j = ends[k] if len(ends) else 0
    return pair_of, merged, n
