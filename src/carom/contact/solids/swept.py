"""Pairs that pass through each other on the way: apart before the step and after free flight, but not in between.

What is guaranteed. Let L be how far two bodies move against each other in a step: the way of their centers relative
to each other, and for each that is not a ball the angle of its turn times its radius. Let w be the smaller `inner` of
the two, half of a smallest width.

* L <= w / 2: the pair is not looked at. Apart at both ends of the step, it overlaps by no more than L / 2 <= w / 4 in
  between: it may graze unseen, but nothing is crossed.
* L > w / 2, at any speed: if the bodies come to overlap by more than 1e-3 w (for meshes: than a cell of the distance
  grid) at any moment, the pair gets contacts. Within the step bodies are taken to move straight and to turn steadily by
  less than half a turn: under gravity g the true path differs by up to g h^2 / 8, and a body that spins faster than
  half a turn a step is seen to turn the short way round.

The contacts are those of the moment of touching: see `at_touch`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...geometry.rotations import matrices
from ...kernels import kernel
from ...solvers.rows import Floats, Ints
from ...world import State, World
from ..broad_phase import neighbors
from ..contact_set import ContactSet
from ..images import Images, counts_once, make_images
from .advance import NEVER, Moves, rotation_vectors, touch_times
from .at_touch import Crossings, contacts_at_touch

Mask = NDArray[np.bool_]

SHARE = 0.5  # a pair that moves by less than this part of the smaller `inner` is not looked at
TOLERANCE = 1e-3  # gap, in parts of the smaller `inner`, at which bodies touch
SAME = 1e-6  # touches within this part of a step are at one instant
FEW = 64  # fast bodies up to which each is compared with all others


def with_swept(world: World, before: State, after: State, found: ContactSet) -> ContactSet:
    """The contacts `found` for a step, and those of the bodies that would pass through each other."""
    crossings = swept_pairs(world, before, after, found.first, found.second)
    if crossings is None:
        return found
    return _joined(found, contacts_at_touch(world, before, crossings))


def swept_pairs(world: World, before: State, after: State, found_first: Ints, found_second: Ints) -> Crossings | None:
    """Pairs that touch between `before` and `after`, except those already found; None if there are none.

    Only a body's first touches count: after an impact the step is flown and looked at again. Costs one look at every
    body if all are slow.
    """
    solids, n = world.shapes_3d, world.count
    if n < 2:
        return None
    travel = travels(
        before.position, after.position, before.orientation, after.orientation, solids.round, solids.radius
    )
    least = float(solids.inner.min())
    slide = _slide(world) * (after.time - before.time)
    if 2.0 * float(travel.max()) + slide <= SHARE * least:
        return None
    moves, images, drift = _rows(world, before, after, travel, slide)
    a, b = _candidates(world, moves, least)
    if images is not None:
        kept = counts_once(images, a, b)
        a, b = a[kept], b[kept]
    known = np.isin(_keys(moves.owner[a], moves.owner[b], n), _keys(found_first, found_second, n))
    a, b = a[~known], b[~known]
    tolerance = TOLERANCE * np.minimum(solids.inner[moves.owner[a]], solids.inner[moves.owner[b]])
    time = touch_times(solids, moves, a, b, tolerance)
    hit = np.flatnonzero(time < NEVER)
    if not len(hit):
        return None
    hit = hit[np.argsort(time[hit], kind="stable")]
    hit = hit[_first_of_both(moves.owner[a[hit]], moves.owner[b[hit]], time[hit], world.free)]
    a, b = a[hit], b[hit]
    return Crossings(moves, a, b, time[hit], tolerance[hit], drift[b] - drift[a])


@kernel
def _first_of_both(first, second, time, free):
    """Of touches in the order of their times, those before which neither body has touched another.

    After its first touch a free body moves on otherwise: what lies behind it on the old path is not met at once.
    """
    when = np.full(len(free), np.inf)
    out = np.zeros(len(first), np.bool_)
    for k in range(len(first)):
        a, b, latest = first[k], second[k], time[k] - SAME
        if when[a] >= latest and when[b] >= latest:
            out[k] = True
            for body in (a, b):
                if free[body]:
                    when[body] = min(when[body], time[k])
    return out


@kernel
def travels(p, q, before, after, ball, radius):
    """A bound (n,) on how far any point of a body moves in the step: the way of its center and the arc of its turn."""
    out = np.empty(len(p))
    for i in range(len(p)):
        x, y, z = q[i, 0] - p[i, 0], q[i, 1] - p[i, 1], q[i, 2] - p[i, 2]
        out[i] = np.sqrt(x * x + y * y + z * z)
        if not ball[i]:
            cosine = 0.0
            for k in range(4):
                cosine += before[i, k] * after[i, k]
            out[i] += 2.0 * np.arccos(min(abs(cosine), 1.0)) * radius[i]
    return out


def _slide(world: World) -> float:
    """Speed at which the images across a Lees-Edwards side move."""
    if world.periodic is None or world.periodic.shear_rate == 0.0:
        return 0.0
    side = world.periodic.sides[world.periodic.sheared_axis]
    return 0.0 if side is None else abs(world.periodic.shear_rate) * (side[1] - side[0])


def _rows(
    world: World, before: State, after: State, travel: Floats, slide: float
) -> tuple[Moves, Images | None, Floats]:
    """How all bodies and their periodic images move, the images, and their velocity beyond that of their bodies."""
    solids, n = world.shapes_3d, world.count
    way = after.position - before.position
    odd = np.flatnonzero(~solids.round)
    turn, spin = np.zeros((n, 3, 3)), np.zeros((n, 3))  # of balls they do not matter
    turn[odd] = matrices(before.orientation[odd])
    spin[odd] = rotation_vectors(before.orientation[odd], after.orientation[odd])
    if world.periodic is None:
        return Moves(np.arange(n), before.position, way, turn, spin), None, np.zeros((n, 3))
    step = after.time - before.time
    # Images are made once for the whole step, at its middle; those that slide are within reach of that.
    middle, radius = before.position + 0.5 * way, solids.radius + 0.5 * travel
    images = make_images(world.periodic, middle, radius, slide, before.time + 0.5 * step, 0.0)
    own, drift = images.owner, images.drift
    position = before.position[own] + images.shift - 0.5 * step * drift
    return Moves(own, position, way[own] + step * drift, turn[own], spin[own]), images, drift


def _candidates(world: World, moves: Moves, least: float) -> tuple[Ints, Ints]:
    """Pairs of rows, one of them free, that move against each other and whose bounding spheres meet on the way."""
    solids, own = world.shapes_3d, moves.owner
    radius, inner, free = solids.radius[own], solids.inner[own], world.free[own]
    sweep = np.sqrt((moves.way**2).sum(axis=1))
    arc = np.sqrt((moves.spin**2).sum(axis=1)) * radius
    # Of two that move against each other by more than a length, one moves by more than half of it.
    fast = sweep + arc > 0.5 * SHARE * least
    if int(fast.sum()) <= FEW:
        quick = np.flatnonzero(fast)
        room = 256
        while True:
            a, b = np.empty(room, np.int64), np.empty(room, np.int64)
            m = _meeting_of(quick, fast, moves.position, moves.way, radius, inner, arc, free, a, b)
            if m <= room:
                return a[:m], b[:m]
            room = m
    middle = moves.position + 0.5 * moves.way
    none = np.zeros(len(own), np.bool_)
    *_, a, b = neighbors(middle, middle, radius + 0.5 * sweep, none, fast, 0.0)
    kept = _meeting(a, b, moves.position, moves.way, radius, inner, arc, free)
    return a[kept], b[kept]


@kernel
def _passes(i, j, place, way, radius, inner, arc, free):
    """Whether one of two rows is free, they move enough against each other, and their bounding spheres meet."""
    if not (free[i] or free[j]):
        return False
    square, along, fast = 0.0, 0.0, 0.0
    for k in range(3):
        d, v = place[j, k] - place[i, k], way[j, k] - way[i, k]
        square += d * d
        along += d * v
        fast += v * v
    if np.sqrt(fast) + arc[i] + arc[j] <= SHARE * min(inner[i], inner[j]):
        return False
    t = min(max(-along / fast, 0.0), 1.0) if fast > 0.0 else 0.0
    reach = (radius[i] + radius[j]) * (1.0 + 1e-9)
    return square + t * (2.0 * along + t * fast) <= reach * reach


@kernel
def _meeting(first, second, place, way, radius, inner, arc, free):
    out = np.empty(len(first), np.bool_)
    for k in range(len(first)):
        out[k] = _passes(first[k], second[k], place, way, radius, inner, arc, free)
    return out


@kernel
def _meeting_of(quick, fast, place, way, radius, inner, arc, free, first, second):
    """Pairs of the rows `quick` with all others, written while there is room; how many there are."""
    m = 0
    for i in quick:
        x, vx, r = place[i, 0], way[i, 0], radius[i] * (1.0 + 1e-9)
        for j in range(len(fast)):
            # Along x first: few are left for the full test, whose call costs more than this.
            d, reach = place[j, 0] - x, r + radius[j] * (1.0 + 1e-9)
            e = d + way[j, 0] - vx
            if min(d, e) > reach or max(d, e) < -reach or j == i or (fast[j] and j < i):
                continue
            if _passes(i, j, place, way, radius, inner, arc, free):
                if m < len(first):
                    first[m], second[m] = min(i, j), max(i, j)
                m += 1
    return m


def _keys(first: Ints, second: Ints, n: int) -> Ints:
    """A number for each pair of bodies, whatever their order; boundaries have none that a pair has."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.where(low < 0, -1, low * n + high)


def _joined(one: ContactSet, other: ContactSet) -> ContactSet:
    """Two sets as one; contacts without an image get one that is not shifted."""
    columns = []
    for name in ContactSet.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        columns.append(np.concatenate([np.zeros((one.count, 3)) if a is None else a, b]))
    return ContactSet(*columns)
