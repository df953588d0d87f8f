"""Contacts of pairs that pass through each other within a step: the swept test of 3D worlds.

Such pairs are apart at the start of the step and after free motion, but not in between. Let L be the relative
displacement of two bodies in a step: the displacement of their centers relative to each other plus, for each body that
is not a single sphere, the angle of its rotation times its radius. Let w be the smaller `inner` of the two bodies, half
of a smallest width. Guarantees:

* L <= w / 2: the pair is not tested. Bodies that are apart at both ends of the step overlap by no more than
  L / 2 <= w / 4 in between: they may graze undetected, but do not cross.
* L > w / 2, at any speed: if the bodies overlap by more than 1e-3 w (for meshes: by more than a cell of the distance
  grid) at any time, the pair gets contacts. Within the step bodies are taken to move straight and to rotate steadily by
  less than half a turn: under gravity g the true path differs by up to g h^2 / 8, and a body that rotates by more than
  half a turn per step is taken to rotate the short way round.

The contacts have the geometry of the time of touching: normal n, and arms of both bodies. This normal separates the
bodies from the start of the step on. For convex bodies that do not rotate, with relative velocity v, touching at time
t, the distance along n at the start is `-t v . n`, which is positive since they approach. After an impact with
`v' . n >= 0` they stay at least as far apart, so an impact at the start of the step with this normal prevents the
crossing, however oblique the pass. The normal of the nearest points at the start would prevent it too, but a glancing
pass would become a head-on impact. Rotating bodies satisfy this to first order; the rest is detected in the next round
or step.

For correct arms the second body is placed, in these contacts, where it will be relative to the first one at the time
of touching: `offset` of the ContactSet is the displacement to there, as for a periodic image. This is done for pairs
with a sphere, because an impulse along the normal must not spin a sphere; the angular momentum of the pair then changes
by the impulse times the displacement. All other pairs receive their impulses at one point, midway, and conserve angular
momentum. The stepper `time_of_impact` has neither error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import matrices
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import MESH, State, World
from .broad_phase import neighbors
from .conservative_advancement import NEVER, Moves, rotation_vectors, touch_times, turned_at
from .contact_set import ContactSet
from .detector import Detector
from .images import Images, counts_once, make_images
from .poses import Poses

Mask = NDArray[np.bool_]
Geometry = tuple[Ints, Ints, Floats, Floats, Floats]  # pair, feature, normal, point, gap

SHARE = 0.5  # pairs with a relative displacement up to this fraction of the smaller `inner` are not tested
TOLERANCE = 1e-3  # gap, relative to the smaller `inner`, at which bodies touch
SAME = 1e-6  # touches within this fraction of a step are simultaneous
FEW = 64  # number of fast bodies up to which each is compared with all others; with more, the broad phase is used
# The narrow phase at the time of touching compares poses after a further motion of FLIGHT tolerances, to see which
# vertices approach; it reports gaps up to MARGIN tolerances, which such a motion cannot open.
FLIGHT = 10.0
MARGIN = 25.0
MESH_TOLERANCE = 0.1  # tolerance of meshes, relative to the cell of their distance grid


class Crossings(NamedTuple):
    """m pairs of rows of `moves` that touch within the step; rows are bodies, or periodic images of them."""

    moves: Moves
    first: Ints  # (m,)
    second: Ints  # (m,)
    time: Floats  # (m,) of touching, as a fraction of the step
    tolerance: Floats  # (m,) gap at which they touch
    drift: Floats  # (m, 3) velocity of the image of second relative to that of first, minus that of the bodies


def all_contacts(world: World, before: State, after: State, margin: float) -> ContactSet:
    """Contacts with a gap of at most `margin` in `after`, and those of pairs that pass through each other."""
    return Detector(world).find(before, after, margin)


def with_swept(world: World, before: State, after: State, found: ContactSet) -> ContactSet:
    """The contacts `found` of a step, and those of the bodies that would pass through each other."""
    crossings = swept_pairs(world, before, after, found.first, found.second)
    if crossings is None:
        return found
    return found.joined(contacts_at_touch(world, before, crossings))


def swept_pairs(world: World, before: State, after: State, found_first: Ints, found_second: Ints) -> Crossings | None:
    """Pairs that touch between `before` and `after`, except those already found; None if there are none.

    Only the first touches of a body count, because its motion after an impact is tested again. If all bodies are slow
    the cost is one pass over the bodies.
    """
    shapes, n = world.shapes_3d, world.count
    if n < 2:
        return None
    travel = travels(
        before.position, after.position, before.orientation, after.orientation, shapes.round, shapes.radius
    )
    least = float(shapes.inner.min())
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
    tolerance = TOLERANCE * np.minimum(shapes.inner[moves.owner[a]], shapes.inner[moves.owner[b]])
    time = touch_times(shapes, moves, a, b, tolerance)
    hit = np.flatnonzero(time < NEVER)
    if not len(hit):
        return None
    hit = hit[np.argsort(time[hit], kind="stable")]
    hit = hit[_first_of_both(moves.owner[a[hit]], moves.owner[b[hit]], time[hit], world.free)]
    a, b = a[hit], b[hit]
    return Crossings(moves, a, b, time[hit], tolerance[hit], drift[b] - drift[a])


@kernel
def _first_of_both(first, second, time, free):
    """Mask of the touches, given in the order of their times, before which neither body has touched another.

    After its first touch a free body leaves its path, so later touches on that path do not count.
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
def travels(p, q, before, after, sphere, radius):
    """Upper bounds (n,) on the displacement of any point of a body: displacement of the center plus arc of rotation."""
    out = np.empty(len(p))
    for i in range(len(p)):
        x, y, z = q[i, 0] - p[i, 0], q[i, 1] - p[i, 1], q[i, 2] - p[i, 2]
        out[i] = np.sqrt(x * x + y * y + z * z)
        if not sphere[i]:
            cosine = 0.0
            for k in range(4):
                cosine += before[i, k] * after[i, k]
            out[i] += 2.0 * np.arccos(min(abs(cosine), 1.0)) * radius[i]
    return out


def _slide(world: World) -> float:
    """Speed of the images across a Lees-Edwards side."""
    if world.periodic is None or world.periodic.shear_rate == 0.0:
        return 0.0
    side = world.periodic.sides[world.periodic.sheared_axis]
    return 0.0 if side is None else abs(world.periodic.shear_rate) * (side[1] - side[0])


def _rows(
    world: World, before: State, after: State, travel: Floats, slide: float
) -> tuple[Moves, Images | None, Floats]:
    """The motion of all bodies and their periodic images, the images, and their velocity minus that of their bodies."""
    shapes, n = world.shapes_3d, world.count
    way = after.position - before.position
    odd = np.flatnonzero(~shapes.round)
    turn, spin = np.zeros((n, 3, 3)), np.zeros((n, 3))  # not used for spheres
    turn[odd] = matrices(before.orientation[odd])
    spin[odd] = rotation_vectors(before.orientation[odd], after.orientation[odd])
    if world.periodic is None:
        return Moves(np.arange(n), before.position, way, turn, spin), None, np.zeros((n, 3))
    step = after.time - before.time
    # Images are made once for the whole step, at its middle, with a margin for the images that slide.
    middle, radius = before.position + 0.5 * way, shapes.radius + 0.5 * travel
    images = make_images(world.periodic, middle, radius, slide, before.time + 0.5 * step, 0.0)
    own, drift = images.owner, images.drift
    position = before.position[own] + images.shift - 0.5 * step * drift
    return Moves(own, position, way[own] + step * drift, turn[own], spin[own]), images, drift


def _candidates(world: World, moves: Moves, least: float) -> tuple[Ints, Ints]:
    """Pairs of rows, at least one free, with a large relative displacement whose bounding spheres meet in the step."""
    shapes, own = world.shapes_3d, moves.owner
    radius, inner, free = shapes.radius[own], shapes.inner[own], world.free[own]
    sweep = np.sqrt((moves.way**2).sum(axis=1))
    arc = np.sqrt((moves.spin**2).sum(axis=1)) * radius
    # If the relative displacement exceeds a length, one of the two displacements exceeds half of it.
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
    """Whether one of two rows is free, their relative displacement is large, and their bounding spheres meet."""
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
    """Number of pairs of the rows `quick` with all others. Writes them to `first` and `second` while there is room."""
    m = 0
    for i in quick:
        x, vx, r = place[i, 0], way[i, 0], radius[i] * (1.0 + 1e-9)
        for j in range(len(fast)):
            # The test along x is cheap and rejects most pairs.
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
    """One number per pair of bodies, independent of their order; -1 for a body and a boundary."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.where(low < 0, -1, low * n + high)


# ---- contacts at the time of touching


def contacts_at_touch(world: World, before: State, crossings: Crossings) -> ContactSet:
    """Contacts of pairs that touch within the step, with the geometry of the time of touching (see the module text).

    `gap` and `predicted` are the gaps at the start and the end of the step if the speed of approach at the time of
    touching is constant.
    """
    c, own = crossings, crossings.moves.owner
    pair, feature, normal, point, gap = _geometry(world, c)
    i, j, t = c.first[pair], c.second[pair], c.time[pair, None]
    way = c.moves.way[j] - c.moves.way[i]
    arm_i = point - c.moves.position[i] - t * c.moves.way[i]
    arm_j = point - c.moves.position[j] - t * c.moves.way[j]
    speed = way + np.cross(c.moves.spin[j], arm_j) - np.cross(c.moves.spin[i], arm_i)
    rate, t = (speed * normal).sum(axis=1), t[:, 0]
    here = before.position[own[i]]
    place, offset = here + arm_i, here + arm_i - arm_j - before.position[own[j]]
    # Impulses at two different points would change the angular momentum of the pair, so they act midway. Spheres keep
    # their own arms, because an impulse along the normal must not spin them.
    image = c.moves.position[j] - before.position[own[j]] - (c.moves.position[i] - here)
    apart = offset - image
    apart[world.shapes_3d.round[own[i]] | world.shapes_3d.round[own[j]]] = 0.0
    return ContactSet(
        own[i],
        own[j],
        feature,
        normal,
        place - 0.5 * apart,
        gap - t * rate,
        np.minimum(gap, 0.0) + (1.0 - t) * rate,
        offset - apart,
        c.drift[pair],
    )


def _geometry(world: World, c: Crossings) -> Geometry:
    """Contacts at the time of touching."""
    shapes, own = world.shapes_3d, c.moves.owner
    spheres = shapes.round[own[c.first]] & shapes.round[own[c.second]]
    parts = [_of_spheres(world, c, np.flatnonzero(spheres))]
    # Pairs are grouped by size, because the narrow phase has one margin for all pairs.
    size = np.floor(np.log2(c.tolerance)).astype(np.int64)
    for one in np.unique(size[~spheres]):
        parts.append(_of_shapes(world, c, np.flatnonzero(~spheres & (size == one))))
    return tuple(np.concatenate(columns) for columns in zip(*parts))  # type: ignore[return-value]


def _of_spheres(world: World, c: Crossings, pair: Ints) -> Geometry:
    i, j, t = c.first[pair], c.second[pair], c.time[pair, None]
    here = c.moves.position[i] + t * c.moves.way[i]
    apart = c.moves.position[j] + t * c.moves.way[j] - here
    distance = np.sqrt((apart**2).sum(axis=1))
    radius = world.shapes_3d.radius[c.moves.owner]
    apart[distance == 0.0, 0] = 1.0
    normal = apart / np.where(distance > 0.0, distance, 1.0)[:, None]
    gap = distance - radius[i] - radius[j]
    return pair, np.zeros(len(pair), np.int64), normal, here + (radius[i] + 0.5 * gap)[:, None] * normal, gap


def _of_shapes(world: World, c: Crossings, pair: Ints) -> Geometry:
    """The narrow phase at the time of touching, where each pair has two rows of its own."""
    from .convex import convex_pairs
    from .meshes import mesh_pairs  # late: few steps need these kernels, which take a while to load

    shapes, m = world.shapes_3d, len(pair)
    rows = np.concatenate([c.first[pair], c.second[pair]])
    time = np.concatenate([c.time[pair], c.time[pair]])
    near = float(c.tolerance[pair].max())
    kernels = [convex_pairs]
    if (shapes.kind == MESH).any():
        kernels.append(mesh_pairs)
        near = max(near, MESH_TOLERANCE * _widest_cell(world, c, rows))
    poses = _poses(world, c, rows, time, FLIGHT * near)
    first = np.arange(m)
    parts = []
    for detect in kernels:
        which, feature, normal, point, gap, _ = detect(first, first + m, shapes, poses, MARGIN * near)
        parts.append((pair[which], feature, normal, point, gap))
    return tuple(np.concatenate(columns) for columns in zip(*parts))  # type: ignore[return-value]


def _widest_cell(world: World, c: Crossings, rows: Ints) -> float:
    """The widest cell of the distance grids of the bodies of some rows; 0 if none is a mesh."""
    shapes, widest = world.shapes_3d, 0.0
    for body in np.unique(c.moves.owner[rows]):
        grid = shapes.grid[shapes.shape[shapes.part_ptr[body] : shapes.part_ptr[body + 1]]]
        widest = max(widest, float(shapes.grid_spacing[grid[grid >= 0]].max(initial=0.0)))
    return widest


def _poses(world: World, c: Crossings, rows: Ints, time: Floats, flight: float) -> Poses:
    """Poses of rows at their times, and after a further displacement of about `flight`."""
    m, own = c.moves, c.moves.owner[rows]
    arc = np.sqrt((m.spin[rows] ** 2).sum(axis=1)) * world.shapes_3d.radius[own]
    fast = np.sqrt((m.way[rows] ** 2).sum(axis=1)) + arc
    half = len(rows) // 2
    pace = np.maximum(fast[:half], fast[half:])
    later = time + np.tile(np.where(pace > 0.0, flight / np.where(pace > 0.0, pace, 1.0), 0.0), 2)
    turn0, turn1 = np.empty((len(rows), 3, 3)), np.empty((len(rows), 3, 3))
    _turn_all(m, rows, time, turn0)
    _turn_all(m, rows, later, turn1)
    place, way = m.position[rows], m.way[rows]
    return Poses(own, place + time[:, None] * way, turn0, place + later[:, None] * way, turn1)


@kernel
def _turn_all(moves, rows, time, out):
    """Rotation matrices of rows at their times. Writes `out`."""
    for k in range(len(rows)):
        turned_at(moves, rows[k], time[k], out[k])
