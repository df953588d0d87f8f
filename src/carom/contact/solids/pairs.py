"""Contacts of candidate pairs of bodies of space: all pairs of their convex parts."""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ...world import CUBOID, MESH, SPHERE
from .boxes import box_scores
from .convex import FAR, convex_pair, new_work
from .cores import cores_of
from .features import most_points
from .found import columns, room, roomier
from .poses import needed_rows, placed_parts
from .spheres import sphere_form


@kernel
def _apart(at, a, b, reach):
    """Whether two points (rows of `at`) are farther apart than `reach`."""
    x, y, z = at[b, 0] - at[a, 0], at[b, 1] - at[a, 1], at[b, 2] - at[a, 2]
    return reach < 0.0 or x * x + y * y + z * z > reach * reach


@kernel
def _moves(poses, placed, a, b, radius_a, radius_b):
    """A bound on how far two bodies can move toward each other in the step."""
    square = 0.0
    for i in range(3):
        shift = (poses.position1[b, i] - poses.position0[b, i]) - (poses.position1[a, i] - poses.position0[a, i])
        square += shift * shift
    return np.sqrt(square) + placed.chord[a] * radius_a + placed.chord[b] * radius_b


@kernel
def solid_pairs(first, second, solids, poses, margin):
    """Contacts of candidate pairs of rows of `poses`: (pair, feature, normal, point, gap, predicted).

    Normals are unit vectors from first to second, points lie midway between the surfaces, both at the start of the
    step. Pairs come in the order given. Contacts have a predicted gap up to `margin`; the corners of what the two
    features that face each other have in common each give one. Pairs of parts with a mesh are passed over; two
    single spheres are a pair like any other. `feature` is below 2^20.
    """
    cores = cores_of(solids)
    placed = placed_parts(solids, poses, needed_rows(len(poses.owner), first, second))
    most = 4 * most_points(solids)
    work = new_work(most // 4)
    found = room(4 * len(first) + most)
    end = np.empty(len(first), np.int64)  # of the contacts of each pair
    n, after, pose = 0, len(placed.part), placed.pose
    for k in range(len(first)):
        a, b = first[k], second[k]
        end[k] = n
        body_a, body_b = poses.owner[a], poses.owner[b]
        radius_a, radius_b = solids.radius[body_a], solids.radius[body_b]
        if _apart(poses.position1, a, b, radius_a + radius_b + margin):
            continue
        inner = min(solids.inner[body_a], solids.inner[body_b])
        move = _moves(poses, placed, a, b, radius_a, radius_b)
        for ka in range(placed.ptr[a], placed.ptr[a + 1]):
            fa = solids.form[placed.part[ka]]
            for kb in range(placed.ptr[b], placed.ptr[b + 1]):
                fb = solids.form[placed.part[kb]]
                kind_a, kind_b = solids.kind[fa], solids.kind[fb]
                if kind_a == MESH or kind_b == MESH:
                    continue
                if _apart(pose, ka + after, kb + after, solids.reach[fa] + solids.reach[fb] + margin):
                    continue
                if n + most > len(found):
                    found = roomier(found, n, most)
                base = (ka - placed.ptr[a]) * 4099 + kb - placed.ptr[b]
                if kind_a == SPHERE or kind_b == SPHERE:
                    n = sphere_form(cores, fa, fb, pose, after, ka, kb, margin, base, found, n)
                    continue
                time = 0.0
                if kind_a == CUBOID and kind_b == CUBOID:
                    last, gap, time = box_scores(cores.shape, fa, fb, pose, ka, kb, after, margin, work.axes)
                    if last > margin:
                        continue
                    if gap <= FAR * inner:
                        time = 0.0
                n = convex_pair(
                    cores, fa, fb, pose, after, placed.pose1, ka, kb, time, move, inner, margin, base, work, found, n
                )
        end[k] = n
    pair_of = np.empty(n, np.int64)
    begin = 0
    for k in range(len(first)):
        pair_of[begin : end[k]] = k
        begin = end[k]
    feature, normal, point, gap, predicted = columns(found, n)
    return pair_of, feature, normal, point, gap, predicted
