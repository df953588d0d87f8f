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
from .broad_phase import counting_sort
from .conservative_advancement import NEVER, Moves, rotation_vectors, touch_times, turned_at
from .contact_set import ContactSet
from .pairs import FIRST, IMAGE, NONE, SECOND, Pairs, periods_of, slides
from .poses import Poses
from .rounds import image_shift

Mask = NDArray[np.bool_]
Geometry = tuple[Ints, Ints, Floats, Floats, Floats]  # pair, feature, normal, point, gap

SHARE = 0.5  # pairs with a relative displacement up to this fraction of the smaller `inner` are not tested
TOLERANCE = 1e-3  # gap, relative to the smaller `inner`, at which bodies touch
SAME = 1e-6  # touches within this fraction of a step are simultaneous
ARC = 2.23  # angle of a rotation up to pi, relative to the distance of the unit quaternions: 4 arcsin(d / 2) <= ARC d
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


def with_swept(world: World, before: State, after: State, found: ContactSet, pairs: Pairs | None = None) -> ContactSet:
    """The contacts `found` of a step, and those of the bodies that would pass through each other."""
    crossings = swept_pairs(world, before, after, found.first, found.second, pairs)
    if crossings is None:
        return found
    return found.joined(contacts_at_touch(world, before, crossings))


def ways(pairs: Pairs, before: State, after: State) -> tuple[Floats, bool]:
    """Upper bounds (n,) on displacements of centers, for `pairs`, and whether some body is fast enough for a test."""
    world, limit = pairs.world, 0.5 * SHARE * pairs.least
    shapes, slide = world.shapes_3d, 0.0
    if world.periodic is not None:
        slide = abs(slides(world.periodic, before.time, after.time)[2]) * (after.time - before.time)
    way, fast = _ways(
        before.position, after.position, before.orientation, after.orientation, shapes.round, shapes.radius,
        pairs.shared, slide, limit,
    )  # fmt: skip
    return way, fast


@kernel
def _ways(p, q, before, after, sphere, radius, shared, slide, limit):
    """Displacements (n,) of the centers relative to their mean plus `slide`; whether any point moves beyond `limit`."""
    n, common = len(p), np.zeros(3)
    if shared:
        for i in range(n):
            for d in range(3):
                common[d] += (q[i, d] - p[i, d]) / n
    out, most = np.empty(n), 0.0
    for i in range(n):
        square, arc = 0.0, 0.0
        for d in range(3):
            e = q[i, d] - p[i, d] - common[d]
            square += e * e
        if not sphere[i]:
            near = far = 0.0
            for k in range(4):
                near += (after[i, k] - before[i, k]) ** 2
                far += (after[i, k] + before[i, k]) ** 2
            arc = ARC * np.sqrt(min(near, far)) * radius[i]
        out[i] = np.sqrt(square) + slide
        most = max(most, out[i] + arc)
    return out, most > limit


def swept_pairs(
    world: World,
    before: State,
    after: State,
    found_first: Ints,
    found_second: Ints,
    pairs: Pairs | None = None,
) -> Crossings | None:
    """Pairs that touch between `before` and `after`, except those already found; None if there are none.

    Only the first touches of a body count, because its motion after an impact is tested again. `pairs` are candidates
    that include all whose bounding spheres meet within the step.
    """
    shapes, n = world.shapes_3d, world.count
    if pairs is None:
        pairs = Pairs(world)
        way, fast = ways(pairs, before, after)
        if not fast or n < 2:
            return None
        pairs.make(before, after, np.zeros(n), way)
    slid = slides(world.periodic, before.time, after.time)
    shear = (0, 0) if world.periodic is None else (world.periodic.slide_axis, world.periodic.sheared_axis)
    hits = _meeting(
        pairs.table,
        before.position,
        after.position,
        before.orientation,
        after.orientation,
        shapes.round,
        shapes.radius,
        shapes.inner,
        pairs.length,
        shear,
        slid,
    )
    table = pairs.table[hits]
    table = table[_unknown(table, found_first, found_second, n)]
    if not len(table):
        return None
    moves, drift = _rows(world, before, after, table, pairs.length, shear, slid)
    m = len(table)
    a, b = np.arange(m), np.arange(m, 2 * m)
    tolerance = TOLERANCE * np.minimum(shapes.inner[moves.owner[a]], shapes.inner[moves.owner[b]])
    time = touch_times(shapes, moves, a, b, tolerance)
    hit = np.flatnonzero(time < NEVER)
    if not len(hit):
        return None
    hit = hit[np.argsort(time[hit], kind="stable")]
    hit = hit[_first_of_both(moves.owner[a[hit]], moves.owner[b[hit]], time[hit], world.free)]
    return Crossings(moves, a[hit], b[hit], time[hit], tolerance[hit], drift[hit])


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
        out[i] = np.sqrt(x * x + y * y + z * z) + _arc(before, after, sphere, radius, i)
    return out


def _rows(
    world: World,
    before: State,
    after: State,
    table: np.ndarray,
    length: Floats,
    shear: tuple[int, int],
    slid: tuple[float, float, float],
) -> tuple[Moves, Floats]:
    """The motions of the first bodies of all pairs, then of the second ones or their images, and the drift of these."""
    m, step = len(table), after.time - before.time
    own = np.concatenate([table[:, FIRST], table[:, SECOND]]).astype(np.int64)
    turns = periods_of(table[:, IMAGE].astype(np.int64), 3)
    shift, drift = turns * length, np.zeros((m, 3))
    if slid[2] != 0.0:
        shift[:, shear[0]] += turns[:, shear[1]] * slid[0]
        drift[:, shear[0]] = turns[:, shear[1]] * slid[2]
    place, way = before.position[own], after.position[own] - before.position[own]
    place[m:] += shift
    way[m:] += step * drift
    odd = np.flatnonzero(~world.shapes_3d.round[own])
    turn, spin = np.tile(np.eye(3), (2 * m, 1, 1)), np.zeros((2 * m, 3))  # spheres do not rotate
    turn[odd] = matrices(before.orientation[own[odd]])
    spin[odd] = rotation_vectors(before.orientation[own[odd]], after.orientation[own[odd]])
    return Moves(own, place, way, turn, spin), drift


@kernel
def _meeting(table, p, q, before, after, sphere, radius, inner, length, shear, slid):
    """Numbers of the pairs with a large relative displacement whose bounding spheres meet within the step."""
    hits, m = np.empty(len(table), np.int64), 0
    for k in range(len(table)):
        i, j, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        square, along, fast = 0.0, 0.0, 0.0
        for c in range(3):
            d, e = p[j, c] - p[i, c], q[j, c] - q[i, c]
            if image != NONE:
                d += image_shift(image, c, length, shear[0], shear[1], slid[0])
                e += image_shift(image, c, length, shear[0], shear[1], slid[1])
            v = e - d
            square += d * d
            along += d * v
            fast += v * v
        share, arc = SHARE * min(inner[i], inner[j]), 0.0
        if fast <= share * share:
            arc = _arc(before, after, sphere, radius, i) + _arc(before, after, sphere, radius, j)
            if np.sqrt(fast) + arc <= share:
                continue
        t = min(max(-along / fast, 0.0), 1.0) if fast > 0.0 else 0.0
        reach = (radius[i] + radius[j]) * (1.0 + 1e-9)
        if square + t * (2.0 * along + t * fast) <= reach * reach:
            hits[m] = k
            m += 1
    return hits[:m]


@kernel
def _arc(before, after, sphere, radius, i):
    """Arc of rotation of the outermost points of body i; 0 for a sphere."""
    if sphere[i]:
        return 0.0
    cosine = 0.0
    for k in range(4):
        cosine += before[i, k] * after[i, k]
    return 2.0 * np.arccos(min(abs(cosine), 1.0)) * radius[i]


@kernel
def _unknown(table, first, second, n):
    """Mask of the pairs in `table` that are not among the pairs of bodies (first, second), in either order."""
    low = np.empty(len(first), np.int64)
    for k in range(len(first)):
        low[k] = first[k] if second[k] < 0 else min(first[k], second[k])
    order, start = counting_sort(low, n)
    out = np.ones(len(table), np.bool_)
    for k in range(len(table)):
        i, j = min(table[k, FIRST], table[k, SECOND]), max(table[k, FIRST], table[k, SECOND])
        for e in order[start[i] : start[i + 1]]:
            out[k] &= max(first[e], second[e]) != j
    return out


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
    return ContactSet.of_columns(
        (own[i], own[j], feature),
        (normal, place - 0.5 * apart),
        (gap - t * rate, np.minimum(gap, 0.0) + (1.0 - t) * rate),
        (offset - apart, c.drift[pair]),
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
