"""Contacts of pairs that pass through each other within a step: the swept test of 3D worlds.

Such pairs are apart at the start of the step and after free motion, but not in between. Let L be the bound of
`motion.py` on the relative displacement of two bodies in a step, and w the smaller `inner` of the two, half of a
smallest width. Guarantees:

* L <= w / 2: the pair is not tested. Bodies that are apart at both ends of the step overlap by no more than
  L / 2 <= w / 4 in between, balls by no more than `L^2 / (16 w)` (1.6 percent of w): they may graze undetected, but do
  not cross.
* L > w / 2, at any speed: if the bodies overlap by more than 1e-3 w (for meshes: by more than a cell of the distance
  grid) at any time, the pair gets contacts. Within the step bodies are taken to move straight and to rotate steadily by
  less than half a turn: under gravity g the true path differs by up to g h^2 / 8, and a body that rotates by more than
  half a turn per step is taken to rotate the short way round.

The normal n of a contact is that of the time of touching. This normal separates the bodies from the start of the step
on. For convex bodies that do not rotate, with relative velocity v, touching at time t, the
distance along n at the start is `-t v . n`, which is positive since they approach. After an impact with `v' . n >= 0`
they stay at least as far apart, so an impact at the start of the step with this normal prevents the crossing, however
oblique the pass. Rotating bodies satisfy this to first order; the rest is detected in the next round or step.

Impulses that act at the start of the step must conserve angular momentum where the bodies are then, so both bodies
receive them at one point: midway between where either body has its contact point, or, for a sphere and another shape,
on the normal through the center of the sphere, which must not spin. For two spheres both is possible only along the
line of their centers at the start, which is therefore their normal: it separates them too, but a glancing pass becomes
more of a head-on impact, by an angle of first order in the displacement. A gap that changed at a constant rate from
that at the start to the predicted one would close at the time of touching. `drift_safe` and `time_of_impact` do not
have this error: they resolve impacts at the time of touching, with the geometry of that time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3, cross, dot, norm, row3
from ..kernels import kernel
from ..solvers.rows import Floats, Ints, counting_sort
from ..world import MESH, State, World
from .advancement import NO_TOUCH_TIME, touch_times
from .contact_set import (
    DRIFT,
    FEATURE,
    FIRST,
    GAP,
    NORMAL,
    OFFSET,
    PERIODIC_WIDTH,
    POINT,
    SECOND,
    Contact,
    ContactSet,
    contact_table,
    put,
    vector,
)
from .motion import Displacements, Motions, meeting_pairs, motion_of, moves_far, pair_motions, pose_at
from .pairs import FIRST as FIRST_BODY
from .pairs import IMAGE, NO_IMAGE, Pairs, image_offset, put_image, sides_in_step
from .pairs import SECOND as SECOND_BODY
from .parts import Poses

TOUCH_TOLERANCE = 1e-3  # gap, relative to the smaller `inner`, at which bodies touch
MESH_TOLERANCE = 0.1  # tolerance of meshes, relative to the cell of their distance grid
SAME_TIME = 1e-6  # touches within this fraction of a step are simultaneous
# The narrow phase at the time of touching compares poses after a further motion of LOOK_AHEAD_MOTION tolerances, to see
# which vertices approach; it reports gaps up to TOUCH_MARGIN tolerances, which such a motion cannot open.
LOOK_AHEAD_MOTION = 10.0
TOUCH_MARGIN = 25.0


class Crossings(NamedTuple):
    """m pairs that touch within the step; pair k has the rows k and m + k of `motions`."""

    motions: Motions
    time: Floats  # (m,) of touching, as a fraction of the step
    tolerance: Floats  # (m,) gap at which they touch
    drift: Floats  # (m, 3) velocity of the image of the second body relative to that body


def with_swept(
    pairs: Pairs, moved: Displacements, before: State, after: State, found: ContactSet
) -> tuple[ContactSet, int]:
    """The contacts `found` of a step, and those of the bodies that would pass through each other.

    The latter come last; the second value is their number.
    `pairs` are candidates that include all whose bounding spheres meet within the step, `moved` their displacements.
    """
    crossings = swept_pairs(pairs, moved, before, after, found)
    if crossings is None:
        return found, 0
    return _instead(found, contacts_at_touch(pairs.world, before, crossings), pairs.world.count)


def with_all_swept(pairs: Pairs, moved: Displacements, before: State, after: State, found: ContactSet) -> ContactSet:
    """The contacts `found` of a step, and those of all pairs that overlap at any time of it; also in 2D.

    Balls are tested in closed form, however little they move. Their contacts have the geometry of the start; the
    predicted gap is that of the nearest approach. Other pairs are tested as described above, if they move far.
    """
    world, (found, _) = pairs.world, with_passing_balls(pairs, before, after, found)
    if world.dimension == 3:
        return with_swept(pairs, moved, before, after, found)[0] if moves_far(pairs, moved) else found
    if not world.shapes.round.all() and moves_far(pairs, moved):
        found = found.joined(_passing_polygons(pairs, moved, before, after, found))
    return found


def with_passing_balls(pairs: Pairs, before: State, after: State, found: ContactSet) -> tuple[ContactSet, int]:
    """The contacts `found` of a step, and those of balls that overlap within it but not at its end; also in 2D.

    The latter come last; the second value is their number.
    """
    world = pairs.world
    sides = sides_in_step(world.periodic, before.time, after.time)
    shapes, places = world.shapes, (before.position, after.position)
    balls = _passing_balls(_not_closing(pairs, found), sides, *places, shapes.round, shapes.radius)
    return _instead(found, ContactSet(balls, world.dimension), world.count) if len(balls) else (found, 0)


def _not_closing(pairs: Pairs, found: ContactSet) -> Ints:
    """Table of the candidate pairs without those of which a contact closes.

    Contacts in `found` may have a gap at the end of the step, which impulses may close. Such pairs may have passed
    through each other as well.
    """
    table, closing = pairs.list.table, found.predicted <= 0.0
    return table[_unknown(table, found.first[closing], found.second[closing], pairs.world.count)]


def _instead(found: ContactSet, new: ContactSet, count: int) -> tuple[ContactSet, int]:
    """The contacts `new` in place of those of the same pairs of `count` bodies, after all others that were found; and
    their number."""
    stay, between = np.ones(found.count, np.bool_), found.second >= 0
    stay[between] = _unknown(
        np.stack([found.first[between], found.second[between]], axis=1), new.first, new.second, count
    )
    return (found if stay.all() else found.take(stay)).joined(new), new.count


@kernel
def _passing_balls(table, sides, before, after, is_round, radius):
    """Table of the contacts of pairs of balls that are apart after the step, but overlap on the way."""
    out, n, dim = np.empty((len(table), PERIODIC_WIDTH)), 0, before.shape[1]
    for k in range(len(table)):
        i, j, image = table[k, FIRST_BODY], table[k, SECOND_BODY], table[k, IMAGE]
        if not (is_round[i] and is_round[j]):
            continue
        offset0, offset1 = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        if image != NO_IMAGE:
            offset0, offset1 = image_offset(sides, image, sides.start), image_offset(sides, image, sides.end)
        a0, a1 = _place(before, i, dim), _place(after, i, dim)
        e, f = _place(before, j, dim) + offset0 - a0, _place(after, j, dim) + offset1 - a1
        w, reach = f - e, radius[i] + radius[j]
        along, square = dot(e, w), dot(w, w)
        if along >= 0.0 or -along >= square:  # nearest at one of the ends
            continue
        nearest = norm(e - (along / square) * w)
        if nearest > reach:
            continue
        apart = norm(e)
        gap, normal = apart - reach, e / apart
        put(out, n, i, j, Contact(0, gap, nearest - reach, normal, a0 + (radius[i] + 0.5 * gap) * normal))
        if image != NO_IMAGE:
            put_image(out, n, sides, image)
        n += 1
    return out[:n]


@kernel(inline="always")
def _place(position, i, dim):
    """Row i of an array of positions as a vector of space."""
    return Vec3(position[i, 0], position[i, 1], position[i, 2] if dim == 3 else 0.0)


def _passing_polygons(pairs: Pairs, moved: Displacements, before: State, after: State, found: ContactSet) -> ContactSet:
    """Contacts of pairs of a polygon and another body in 2D that pass through each other, as they are at the start."""
    from .advancement import crossing_pairs
    from .polygons import Poses as Poses2D
    from .polygons import polygon_pairs

    world, shapes = pairs.world, pairs.world.shapes_2d
    places, sides = (before.position, after.position), sides_in_step(world.periodic, before.time, after.time)
    numbers = meeting_pairs(pairs.list.table, sides, *places, moved.rotation, pairs.radius, shapes.inner, 0.0)
    table = pairs.list.table[numbers]
    table = table[_unknown(table, found.first, found.second, world.count)]
    turns, step = (before.orientation[:, None], after.orientation[:, None]), after.time - before.time
    motions, drift = pair_motions(shapes.round, table, sides, *places, *turns, step)
    depth = TOUCH_TOLERANCE * np.minimum(*shapes.inner[motions.owner.reshape(2, -1)])
    hit = crossing_pairs(shapes, motions, depth)
    m, k = len(table), len(hit)
    if not k:
        return ContactSet.empty(2)
    rows = np.concatenate([hit, m + hit])
    owner, place, angle = (
        motions.owner[rows],
        motions.position[rows, :2].copy(),
        before.orientation[motions.owner[rows]],
    )
    far = float(np.linalg.norm(place[k:] - place[:k], axis=1).max())
    number = np.stack([np.arange(k), k + np.arange(k)], axis=1)
    at = polygon_pairs(shapes, Poses2D(owner, place, angle, place, angle), number, far)
    out = np.zeros((len(at), PERIODIC_WIDTH))
    out[:, : at.shape[1]] = at
    pair = at[:, FIRST].astype(np.int64)
    out[:, FIRST], out[:, SECOND] = owner[pair], owner[k + pair]
    out[:, OFFSET : OFFSET + 2] = place[k + pair] - before.position[owner[k + pair]]
    out[:, DRIFT : DRIFT + 3] = drift[hit[pair]]
    return ContactSet(out, 2)


def swept_pairs(pairs: Pairs, moved: Displacements, before: State, after: State, found: ContactSet) -> Crossings | None:
    """Pairs that touch between `before` and `after`, except those whose contacts close; None without such pairs.

    Only the first touches of a body count, because its motion after an impact is tested again.
    """
    world, shapes = pairs.world, pairs.world.shapes_3d
    places, sides = (before.position, after.position), sides_in_step(world.periodic, before.time, after.time)
    table = _not_closing(pairs, found)
    table = table[meeting_pairs(table, sides, *places, moved.rotation, pairs.radius, shapes.inner, 0.0)]
    if not len(table):
        return None
    turns, step = (before.orientation, after.orientation), after.time - before.time
    motions, drift = pair_motions(shapes.round, table, sides, *places, *turns, step)
    tolerance = TOUCH_TOLERANCE * np.minimum(*shapes.inner[motions.owner.reshape(2, -1)])
    time = touch_times(shapes, motions, tolerance)
    hit = np.argsort(time, kind="stable")
    hit = hit[_first_of_both(table[hit], time[hit], world.free)]
    if not len(hit):
        return None
    rows = np.concatenate([hit, len(table) + hit])
    return Crossings(Motions(*(column[rows] for column in motions)), time[hit], tolerance[hit], drift[hit])


@kernel
def _first_of_both(table, time, free):
    """Mask of the touches, given in the order of their times, before which neither body has touched another.

    After its first touch a free body leaves its path, so later touches on that path do not count.
    """
    when = np.full(len(free), np.inf)
    out = np.zeros(len(table), np.bool_)
    for k in range(len(table)):
        a, b, latest = table[k, FIRST_BODY], table[k, SECOND_BODY], time[k] - SAME_TIME
        if time[k] < NO_TOUCH_TIME and when[a] >= latest and when[b] >= latest:
            out[k] = True
            for body in (a, b):
                if free[body]:
                    when[body] = min(when[body], time[k])
    return out


@kernel
def _unknown(table, first, second, n):
    """Mask of the pairs in `table` that are not among the pairs of bodies (first, second), in either order."""
    low = np.empty(len(first), np.int64)
    for k in range(len(first)):
        low[k] = first[k] if second[k] < 0 else min(first[k], second[k])
    order, start = counting_sort(low, n)
    out = np.ones(len(table), np.bool_)
    for k in range(len(table)):
        a, b = table[k, FIRST_BODY], table[k, SECOND_BODY]
        for e in order[start[min(a, b)] : start[min(a, b) + 1]]:
            out[k] &= max(first[e], second[e]) != max(a, b)
    return out


# ---- contacts at the time of touching: tables whose first column is the number of the pair


def contacts_at_touch(world: World, before: State, crossings: Crossings) -> ContactSet:
    """Contacts of pairs that touch within the step (see the module text).

    `gap` and `predicted` are the gaps at the start and the end of the step if the speed of approach at the time of
    touching is constant; the gap of two spheres is the one at the start.
    """
    c, shapes = crossings, world.shapes_3d
    a, b = c.motions.owner.reshape(2, -1)
    spheres = shapes.round[a] & shapes.round[b]
    tables = [_sphere_contacts(shapes.radius, c.motions, c.time, np.flatnonzero(spheres))]
    # Pairs are grouped by size, because the narrow phase has one margin for all pairs.
    size = np.floor(np.log2(c.tolerance)).astype(np.int64)
    for one in np.unique(size[~spheres]):
        tables.append(_shape_contacts(world, c, np.flatnonzero(~spheres & (size == one))))
    table = np.concatenate(tables)
    return ContactSet(_at_start(shapes.round, shapes.radius, c, table, before.position), 3)


@kernel
def _at_start(shapes_round, radius, crossings, found, position):
    """The contacts `found` at the time of touching as contacts of the start of the step, see the module text."""
    motions, m = crossings.motions, len(crossings.time)
    table = np.empty((len(found), PERIODIC_WIDTH))
    for n in range(len(found)):
        k = int(found[n, FIRST])
        a, b, t = motion_of(motions, k), motion_of(motions, m + k), crossings.time[k]
        i, j = motions.owner[k], motions.owner[m + k]
        normal, touch, gap = vector(found, n, NORMAL), vector(found, n, POINT), found[n, GAP]
        arm_a = touch - a.position - t * a.displacement
        arm_b = touch - b.position - t * b.displacement
        rate = dot(b.displacement - a.displacement + cross(b.spin, arm_b) - cross(a.spin, arm_a), normal)
        first, predicted = gap - t * rate, min(gap, 0.0) + (1.0 - t) * rate
        point = 0.5 * (a.position + arm_a + b.position + arm_b)
        if shapes_round[i] and shapes_round[j]:
            apart = norm(b.position - a.position)
            normal, first = (b.position - a.position) / apart, apart - radius[i] - radius[j]
            predicted = first - first / t if t > 0.0 else predicted  # it closes at the time t
        if shapes_round[i]:
            point = a.position + (radius[i] + 0.5 * first) * normal
        elif shapes_round[j]:
            point = b.position - (radius[j] + 0.5 * first) * normal
        put(table, n, i, j, Contact(int(found[n, FEATURE]), first, predicted, normal, point))
        image = b.position - row3(position, j)
        for d in range(3):
            table[n, OFFSET + d], table[n, DRIFT + d] = image[d], crossings.drift[k, d]
    return table


@kernel
def _sphere_contacts(radius, motions, time, pairs):
    """Contacts of pairs of spheres."""
    table, m = contact_table(len(pairs)), len(time)
    for n in range(len(pairs)):
        k = pairs[n]
        center = pose_at(motion_of(motions, k), time[k]).position
        apart = pose_at(motion_of(motions, m + k), time[k]).position - center
        r, distance = radius[motions.owner[k]], norm(apart)
        normal = apart / distance if distance > 0.0 else Vec3(1.0, 0.0, 0.0)
        gap = distance - r - radius[motions.owner[m + k]]
        put(table, n, k, k, Contact(0, gap, gap, normal, center + (r + 0.5 * gap) * normal))
    return table


def _shape_contacts(world: World, c: Crossings, pairs: Ints) -> Floats:
    """Contacts of other pairs: the narrow phase at the time of touching, where each pair has two rows of its own."""
    from .convex_bodies import convex_pairs
    from .meshes import mesh_pairs  # late: few steps need these kernels, which take a while to load

    shapes, first = world.shapes_3d, np.arange(len(pairs))
    near, has_meshes = float(c.tolerance[pairs].max()), bool((world.shapes_3d.kind == MESH).any())
    if has_meshes:
        near = max(near, MESH_TOLERANCE * _widest_cell(world, c, pairs))
    poses = _poses(shapes.radius, c.motions, c.time, pairs, LOOK_AHEAD_MOTION * near)
    kernels = (convex_pairs, mesh_pairs) if has_meshes else (convex_pairs,)
    table = np.concatenate([find(first, first + len(pairs), shapes, poses, TOUCH_MARGIN * near) for find in kernels])
    table[:, FIRST] = pairs[table[:, FIRST].astype(np.int64)]
    return table


def _widest_cell(world: World, c: Crossings, pairs: Ints) -> float:
    """The widest cell of the distance grids of the bodies of some pairs; 0 if none is a mesh."""
    shapes, widest = world.shapes_3d, 0.0
    for body in np.unique(c.motions.owner.reshape(2, -1)[:, pairs]):
        grid = shapes.grid[shapes.shape[shapes.part_ptr[body] : shapes.part_ptr[body + 1]]]
        widest = max(widest, float(shapes.grid_spacing[grid[grid >= 0]].max(initial=0.0)))
    return widest


@kernel
def _poses(radius, motions, time, pairs, flight):
    """Poses of the first, then of the second bodies of pairs when they touch, and after a displacement of `flight`."""
    m, count = len(time), len(pairs)
    rows = 2 * count
    out = Poses(
        np.empty(rows, np.int64), np.empty((rows, 3)), np.empty((rows, 3, 3)), np.empty((rows, 3)),
        np.empty((rows, 3, 3)),
    )  # fmt: skip
    for n in range(count):
        fastest, t = 0.0, time[pairs[n]]
        for row in (pairs[n], m + pairs[n]):
            motion = motion_of(motions, row)
            fastest = max(fastest, norm(motion.displacement) + norm(motion.spin) * radius[motions.owner[row]])
        later = t + flight / fastest if fastest > 0.0 else t
        for side in range(2):
            k, row = n + side * count, pairs[n] + side * m
            out.owner[k] = motions.owner[row]
            motion = motion_of(motions, row)
            pose0, pose1 = pose_at(motion, t), pose_at(motion, later)
            for i in range(3):
                out.position0[k, i], out.position1[k, i] = pose0.position[i], pose1.position[i]
                for j in range(3):
                    out.turn0[k, i, j], out.turn1[k, i, j] = pose0.turn[i][j], pose1.turn[i][j]
    return out
