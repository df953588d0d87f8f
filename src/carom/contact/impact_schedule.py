"""The impacts of a step in 2D: paths of the bodies, the times of their coming impacts, and the contacts at an impact.

The path of each body to the end of the step has a bounding circle; pairs whose circles overlap are scheduled with their
times of impact. An impact changes the paths of few bodies, and only their pairs are computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.rotations import rotated as rotated_vectors
from ..geometry.vectors import Vec2, Vec3, dot, norm, put_row, row2
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from ..world import DISC, INSIDE, PLANE, SEGMENT, Boundaries, State, World
from .boundaries import boundary_of, boundary_table, point_gap
from .broad_phase import fits, neighbors
from .contact_set import (
    DRIFT,
    FIRST,
    OFFSET,
    PERIODIC_WIDTH,
    SECOND,
    TOUCH_FLIGHT,
    TOUCH_MARGIN,
    WIDTH,
    Contact,
    ContactSet,
    put,
)
from .images import counts_once, make_images, periods_of
from .pairs import Sides, sides_in_step
from .polygons import Poses, polygon_boundaries, polygon_pairs
from .time_of_impact_2d import (
    HALF_PLANE,
    HOLE,
    POLYGONAL,
    ROUND,
    Outlines,
    Pair,
    Paths,
    Span,
    advance,
    gap_at,
    kinematics,
    rotated,
    time_of_impact,
)  # fmt: skip

FEW_BODIES = 100  # number of bodies up to which all pairs are compared; with more, the broad phase is used
MANY_CHANGED = 32  # smallest number of bodies in one impact for which all pairs are computed again
INITIAL_PAIRS = 64  # rows of a new table of pairs
SAME_IMPACT_TIME = 1e-12  # impacts within this fraction of a step are simultaneous


class Course(NamedTuple):
    """What the impacts of a step depend on."""

    outlines: Outlines
    paths: Paths
    free: np.ndarray  # (n,)
    met: np.ndarray  # (n,) bodies that took part in an impact of this step
    circles: Floats  # (n, 3) bounding circles of the paths to the end of the step: x, y, radius
    span: Span
    sides: Sides


class ScheduledPairs(NamedTuple):
    """m pairs that may meet. `first` is -1 in rows that are not in use."""

    first: Ints  # (m,) a body
    second: Ints  # (m,) a body, or n + k for boundary k
    shift: Floats  # (m, 2) of the periodic image of second, at the start of the step
    drift: Floats  # (m, 2) velocity of that image minus that of second
    time: Floats  # (m,) of impact from the start of the step; infinite if there is none


class ImpactSchedule:
    """Paths of all bodies from impact to impact within a step, and the pairs with their coming impacts.

    Times are relative to the start of the step. `touch` is the gap up to which bodies touch, `near` the gap up to which
    impacts are timed; a contact that separates for less than twice the time `hop` is at rest.
    """

    def __init__(self, world: World, touch: float, near: float) -> None:
        n, w = world.count, len(world.boundaries.kind)
        self.world, self.touch, self.near = world, touch, near
        self.paths = Paths(np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros(n + w))
        self.outlines = outlines_of(world)
        self.met, self.circles, self.bodies = np.zeros(n, np.bool_), np.empty((n, 3)), np.arange(n)
        self.pairs: ScheduledPairs = empty_pairs(INITIAL_PAIRS)
        self.boundaries = world.boundaries
        place_boundaries(self.outlines, self.paths, self.boundaries)
        self.course: Course
        self.moved: tuple[float, Boundaries, Boundaries] | None = None  # time, boundaries of the step, and these then

    def boundaries_at(self, time: float) -> Boundaries:
        """The boundaries at a time of the step. They are kept until another time: an impact asks three times."""
        if self.moved is None or self.moved[0] != time or self.moved[1] is not self.boundaries:
            self.moved = time, self.boundaries, moved_boundaries(self.boundaries, time)
        return self.moved[2]

    def begin(self, start: State, boundaries: Boundaries, acceleration: Floats, step: float, hop: float) -> None:
        """Starts a step: free motion from the state `start` with accelerations (n, 3) for the time `step`."""
        n, d = start.velocity.shape
        if boundaries is not self.boundaries:
            place_boundaries(self.outlines, self.paths, boundaries)
        self.start, self.boundaries, self.step = start, boundaries, step
        self.paths.place[:n, :2], self.paths.place[:n, 2] = start.position, start.orientation
        self.paths.velocity[:n, :d] = start.velocity
        self.paths.since[:n] = 0.0
        self.paths.acceleration[:n] = acceleration
        self.met[:] = False
        span, sides = Span(step, hop, self.touch, self.near), sides_in_step(self.world.periodic, start.time, start.time)
        self.course = Course(self.outlines, self.paths, self.world.free, self.met, self.circles, span, sides)
        self._compute_all()

    def next_time(self) -> float:
        """Time of the next impact; infinite if there is none."""
        return float(self.pairs.time.min())

    def impact_at(self, time: float, hold: Ints) -> tuple[Ints, Ints]:
        """Numbers of the pairs that take part in the impact at `time`, and the free bodies that take part.

        Bodies with the same number 0 <= hold < n in `hold` (n,) take part together; that of others is -1.
        """
        rows, mark = simultaneous(self.course, self.pairs, time, SAME_IMPACT_TIME * self.step, hold)
        return rows, np.flatnonzero(mark)

    def advance(self, bodies: Ints, time: float) -> None:
        """Lets the paths of some bodies begin at `time`, where they are then."""
        advance(self.paths, bodies, time)

    def state(self, start: State, time: float) -> State:
        """Positions and velocities at the beginnings of the paths: those at `time` for bodies advanced to it."""
        n, d = start.velocity.shape
        p = self.paths
        position, velocity = np.ascontiguousarray(p.place[:n, :2]), np.ascontiguousarray(p.velocity[:n, :d])
        return State(self.start.time + time, start.step, position, p.place[:n, 2].copy(), velocity)

    def update(self, bodies: Ints) -> None:
        """Computes the coming impacts of bodies whose paths have changed."""
        if self.world.force is not None or (len(bodies) > MANY_CHANGED and self.world.count > FEW_BODIES):
            self._compute_all()
        else:
            self.pairs = updated(self.course, self.pairs, bodies)

    def _compute_all(self) -> None:
        if len(self.bodies) <= FEW_BODIES:
            self.pairs = updated(self.course, self.pairs, self.bodies)
        else:
            bound_paths(self.course, self.bodies)
            self.pairs = scheduled(self.course, self.pairs, self.bodies, *self._neighbors())

    def _neighbors(self) -> tuple[Ints, Ints]:
        """Bodies first < second whose bounding circles, or those of periodic images, overlap; each pair once."""
        place, radius = np.ascontiguousarray(self.circles[:, :2]), self.circles[:, 2].copy()
        periodic, sides, half = self.world.periodic, self.course.sides, 0.5 * self.step
        length = periods_of(periodic, 2)
        if periodic is None or (sides.speed == 0.0 and fits(length, radius, 0.0)):
            return neighbors(place, radius, self.world.free, 0.0, length)
        radius += abs(sides.speed) * half
        images = make_images(periodic, place, radius, 0.0, self.start.time + half)
        own = images.owner
        a, b = neighbors(place[own] + images.shift, radius[own], self.world.free[own], 0.0)
        once = counts_once(images, a, b)
        pair = np.unique(np.sort(np.stack([own[a[once]], own[b[once]]], axis=1), axis=1), axis=0)
        return pair[:, 0].copy(), pair[:, 1].copy()

    # ---- contacts

    def contacts(self, rows: Ints, time: float) -> ContactSet:
        """The contacts of some pairs at `time`."""
        world, pairs = self.world, self.pairs
        rows = rows[np.lexsort((pairs.second[rows], pairs.first[rows]))]
        first, second = pairs.first[rows], pairs.second[rows]
        bounded = second >= world.count
        now = self.boundaries_at(time)
        disc = np.concatenate([world.shapes_2d.kind == DISC, np.ones(len(now.kind), np.bool_)])
        plain = disc[first] & disc[second]
        width = WIDTH if world.periodic is None else PERIODIC_WIDTH
        tables = [_disc_contacts(self.course, boundary_table(now), pairs, rows[plain], time, width)]
        if not plain.all():
            later = time + self._short_time(np.concatenate([first[~plain], second[~plain & ~bounded]]))
            chosen, bodies = rows[~plain & ~bounded], np.unique(first[~plain & bounded])
            if len(chosen):
                tables.append(self._polygon_pairs(chosen, time, later))
            if len(bodies):
                tables.append(self._polygon_boundaries(bodies, now, time, later))
        found = ContactSet(tables[0], 2)
        for table in tables[1:]:
            found = found.joined(ContactSet(table, 2))
        return found

    def _short_time(self, bodies: Ints) -> float:
        """A time, at most a step, in which no point of the bodies moves farther than TOUCH_FLIGHT `touch`."""
        v = self.paths.velocity[bodies]
        fastest = float((np.hypot(v[:, 0], v[:, 1]) + np.abs(v[:, 2]) * self.world.shapes.radius[bodies]).max())
        return min(TOUCH_FLIGHT * self.touch / fastest, self.step) if fastest > 0.0 else 0.0

    def _poses(self, bodies: Ints, *times: float) -> Poses:
        """The poses of bodies at two times."""
        p, columns = self.paths, []
        for time in times:
            s = (time - p.since[bodies])[:, None]
            place = p.place[bodies] + s * (p.velocity[bodies] + 0.5 * s * p.acceleration[bodies])
            columns += [np.ascontiguousarray(place[:, :2]), place[:, 2].copy()]
        return Poses(bodies, *columns)

    def _polygon_pairs(self, rows: Ints, time: float, later: float) -> Floats:
        """Contacts of pairs with a polygon. Each pair has its own poses, the second one at its periodic image."""
        m, pairs = len(rows), self.pairs
        first, second, drift = pairs.first[rows], pairs.second[rows], pairs.drift[rows]
        shift = pairs.shift[rows] + time * drift
        poses = self._poses(np.concatenate([first, second]), time, later)
        poses.position0[m:] += shift
        poses.position1[m:] += shift + (later - time) * drift
        both = np.stack([np.arange(m), np.arange(m, 2 * m)], axis=1).astype(np.int32)  # as in a list of pairs
        found = polygon_pairs(self.world.shapes_2d, poses, both, TOUCH_MARGIN * self.touch)
        pair = found[:, FIRST].astype(np.int64)
        table = np.zeros((len(found), WIDTH if self.world.periodic is None else PERIODIC_WIDTH))
        table[:, :WIDTH] = found
        table[:, FIRST], table[:, SECOND] = first[pair], second[pair]
        if self.world.periodic is not None:
            table[:, OFFSET : OFFSET + 2], table[:, DRIFT : DRIFT + 2] = shift[pair], drift[pair]
        return table

    def _polygon_boundaries(self, bodies: Ints, now: Boundaries, time: float, later: float) -> Floats:
        """Contacts of polygons with boundaries, which are at `now` at the time of the impact."""
        tables = boundary_table(now), boundary_table(moved_boundaries(self.boundaries, later))
        poses = self._poses(bodies, time, later)
        world, margin = self.world, TOUCH_MARGIN * self.touch
        table: Floats = polygon_boundaries(world.shapes_2d, poses, world.free, *tables, margin)
        table[:, FIRST] = bodies[table[:, FIRST].astype(np.int64)]
        return table


@kernel
def _disc_contacts(course, boundaries, pairs, rows, time, width):
    """The contacts of some pairs of discs, or of discs with boundaries, at a time."""
    n, out = len(course.free), np.zeros((len(rows), width))
    for m in range(len(rows)):
        pair = _pair(pairs, rows[m])
        i, j = pair.first, pair.second
        r, p = course.outlines.radius[i], kinematics(course.outlines, course.paths, i, time).position
        shift, second = pair.shift + time * pair.drift, j if j < n else n - 1 - j  # boundary k is -1 - k
        if j >= n:
            distance, toward = point_gap(boundary_of(boundaries, j - n), Vec3(p.x, p.y, 0.0))
            gap, normal = distance - r, Vec2(toward.x, toward.y)
        else:
            apart = kinematics(course.outlines, course.paths, j, time).position + shift - p
            distance = norm(apart)
            gap = distance - r - course.outlines.radius[j]
            normal = apart / distance if distance > 0.0 else Vec2(0.0, 0.0)
        if normal.x == 0.0 and normal.y == 0.0:  # the centers coincide
            normal = Vec2(1.0, 0.0)
        point = p + (r + 0.5 * gap) * normal
        put(out, m, i, second, Contact(0, gap, gap, Vec3(normal.x, normal.y, 0.0), Vec3(point.x, point.y, 0.0)))
        if width > WIDTH:
            for d in range(2):
                out[m, OFFSET + d], out[m, DRIFT + d] = shift[d], pair.drift[d]
    return out


# ---- outlines and boundaries


def outlines_of(world: World) -> Outlines:
    """The outlines of all bodies and boundaries; `place_boundaries` sets the vertices of boundaries."""
    shapes, boundaries, n = world.shapes_2d, world.boundaries, world.count
    kinds = {PLANE: HALF_PLANE, INSIDE: HOLE, SEGMENT: POLYGONAL}
    boundary_kind = np.array([kinds.get(int(k), ROUND) for k in boundaries.kind], np.int8)
    ends = np.where(boundaries.kind == SEGMENT, 2, 1)
    ptr = np.concatenate([shapes.vertex_ptr, shapes.vertex_ptr[-1] + np.cumsum(ends)])
    vertex = np.zeros((ptr[-1], 2))
    vertex[: ptr[n]] = shapes.vertex
    radius = np.concatenate([np.where(shapes.kind == DISC, shapes.radius, 0.0), boundaries.radius])
    kind = np.concatenate([np.where(shapes.kind == DISC, ROUND, POLYGONAL).astype(np.int8), boundary_kind])
    return Outlines(kind, radius, np.concatenate([shapes.radius, np.full(len(boundaries.kind), np.inf)]), ptr, vertex)


def place_boundaries(outlines: Outlines, paths: Paths, boundaries: Boundaries) -> None:
    """Sets outlines and paths of the boundaries for a step; each moves at its velocity about its center."""
    n = len(outlines.kind) - len(boundaries.kind)
    arm, end = boundaries.point - boundaries.center, boundaries.axis - boundaries.center
    plane, segment = boundaries.kind == PLANE, boundaries.kind == SEGMENT
    begin, height = outlines.ptr[n:-1], (arm * boundaries.axis).sum(axis=1)
    outlines.vertex[begin] = np.where(plane[:, None], boundaries.axis, arm)
    outlines.vertex[begin[segment] + 1] = end[segment]
    outlines.radius[n:] = np.where(plane, height, np.where(segment, 0.0, boundaries.radius))
    far = np.maximum(np.hypot(*arm.T), np.where(segment, np.hypot(*end.T), 0.0))
    outlines.bound[n:] = np.where(outlines.kind[n:] >= HALF_PLANE, np.inf, far + boundaries.radius)
    paths.place[n:, :2], paths.place[n:, 2] = boundaries.center, 0.0
    paths.velocity[n:] = boundaries.velocity
    paths.acceleration[n:] = 0.0
    paths.since[n:] = 0.0


def moved_boundaries(boundaries: Boundaries, time: float) -> Boundaries:
    """The boundaries after moving at their velocities for a time."""
    if not boundaries.velocity.any():
        return boundaries
    angle, home = time * boundaries.velocity[:, 2], boundaries.center
    center = home + time * boundaries.velocity[:, :2]
    point = center + rotated_vectors(angle, boundaries.point - home)
    end = center + rotated_vectors(angle, boundaries.axis - home)
    plane, segment = ((boundaries.kind == kind)[:, None] for kind in (PLANE, SEGMENT))
    axis = np.where(plane, rotated_vectors(angle, boundaries.axis), boundaries.axis)
    return boundaries._replace(point=point, axis=np.where(segment, end, axis), center=center)


# ---- scheduled pairs


@kernel
def empty_pairs(rows):
    """A table without pairs."""
    none, vectors = np.full(rows, -1, np.int64), np.zeros((rows, 2))
    return ScheduledPairs(none, np.zeros(rows, np.int64), vectors, np.zeros((rows, 2)), np.full(rows, np.inf))


@kernel(inline="always")
def _unused_row(pairs, row):
    """The first unused row from a row on; the number of rows if there is none."""
    while row < len(pairs.first) and pairs.first[row] >= 0:
        row += 1
    return row


@kernel
def _grown(pairs):
    """The pairs in a table of twice the length."""
    m = len(pairs.first)
    grown = empty_pairs(2 * m)
    grown.first[:m], grown.second[:m], grown.time[:m] = pairs.first, pairs.second, pairs.time
    grown.shift[:m], grown.drift[:m] = pairs.shift, pairs.drift
    return grown


@kernel(inline="always")
def _pair(pairs, k):
    return Pair(pairs.first[k], pairs.second[k], row2(pairs.shift, k), row2(pairs.drift, k))


@lean
def _schedule(course, pairs, k, pair):
    """Writes a pair with the time of its next impact to row k."""
    i, j, since, met = pair.first, pair.second, course.paths.since, course.met
    start = max(since[i], since[j])
    # If they touch at `start`, they took part in the impact at which the later of the two paths begins.
    settled = (met[i] and since[i] == start) or (j < len(met) and met[j] and since[j] == start)
    pairs.first[k], pairs.second[k] = i, j
    put_row(pairs.shift, k, pair.shift)
    put_row(pairs.drift, k, pair.drift)
    pairs.time[k] = time_of_impact(course.outlines, course.paths, pair, start, course.span, settled)


@kernel(inline="always")
def _with_pair(course, pairs, row, pair):
    """The pairs with one more, and the row after it."""
    k = _unused_row(pairs, row)
    if k == len(pairs.first):
        pairs = _grown(pairs)
    _schedule(course, pairs, k, pair)
    return pairs, k + 1


@kernel(inline="always")
def _periods(distance, limit, length):
    """First and last number of periods that bring a distance between -limit and limit."""
    if length == 0.0:
        return 0, 0
    return int(np.ceil((-limit - distance) / length)), int(np.floor((limit - distance) / length))


@lean
def _put_images(course, i, j, images):
    """Finds the periodic images of body j whose bounding circles overlap that of body i, and returns their number.

    Writes their shifts and drifts to `images` (k, 4), as far as there is room.
    """
    circles, sides, half = course.circles, course.sides, 0.5 * course.span.step
    across, count = sides.sheared_axis, 0
    along = 1 - across
    limit = circles[i, 2] + circles[j, 2]
    d, e = circles[j, across] - circles[i, across], circles[j, along] - circles[i, along]
    low, high = _periods(d, limit, sides.length[across])
    for m in range(low, high + 1):
        beyond, slid, drift = m * sides.length[across], m * sides.start, m * sides.speed
        place, wide = e + slid + half * drift, limit + half * abs(drift)
        if abs(d + beyond) > wide:
            continue
        left, right = _periods(place, wide, sides.length[along])
        for k in range(left, right + 1):
            apart = Vec2(place + k * sides.length[along], d + beyond)
            if dot(apart, apart) > wide * wide:
                continue
            if count < len(images):
                images[count, along], images[count, across] = slid + k * sides.length[along], beyond
                images[count, 2 + along], images[count, 2 + across] = drift, 0.0
            count += 1
    return count


@lean
def bound_paths(course, bodies):
    """Bounding circles of the paths of bodies to the end of the step: chord, curvature and size. Writes them."""
    paths, circles = course.paths, course.circles
    for i in bodies:
        s, v, a = course.span.step - paths.since[i], row2(paths.velocity, i), row2(paths.acceleration, i)
        chord = s * (v + 0.5 * s * a)
        put_row(circles, i, row2(paths.place, i) + 0.5 * chord)
        circles[i, 2] = course.outlines.bound[i] + 0.5 * norm(chord) + 0.125 * s * s * norm(a) + course.span.touch


@lean
def _meets_boundary(course, i, boundary):
    """Whether the bounding circle of the path of body i meets a boundary, which may move and rotate."""
    outlines, paths, radius = course.outlines, course.paths, course.circles[i, 2]
    s = course.span.step - paths.since[i]
    t = paths.since[i] + 0.5 * s
    v, w = row2(paths.velocity, boundary), paths.velocity[boundary, 2]
    d = row2(course.circles, i) - (row2(paths.place, boundary) + t * v)
    limit = radius + 0.5 * s * (norm(v) + abs(w) * (norm(d) + radius))
    d = rotated(d, Vec2(np.cos(t * w), -np.sin(t * w)))
    k, size = outlines.ptr[boundary], outlines.radius[boundary]
    mark = row2(outlines.vertex, k)
    if outlines.kind[boundary] == HALF_PLANE:
        return dot(mark, d) - size <= limit
    if outlines.kind[boundary] == POLYGONAL:
        e = row2(outlines.vertex, k + 1) - mark
        mark = mark + min(max(dot(d - mark, e) / dot(e, e), 0.0), 1.0) * e
    apart = norm(d - mark)
    return (size - apart if outlines.kind[boundary] == HOLE else apart - size) <= limit


@lean
def _partners(course, changed, mark, first, second):
    """Pairs of a changed body, marked in `mark` (n,), with any other one whose circle may overlap: their number.

    Writes first < second, as far as there is room.
    """
    circles, length, free, count = course.circles, course.sides.length, course.free, 0
    for i in changed:
        for j in range(len(free)):
            if j == i or (mark[j] and j < i) or not (free[i] or free[j]):
                continue
            limit = circles[i, 2] + circles[j, 2]
            if length[0] == 0.0 and abs(circles[i, 0] - circles[j, 0]) > limit:
                continue
            if length[1] == 0.0 and abs(circles[i, 1] - circles[j, 1]) > limit:
                continue
            if count < len(first):
                first[count], second[count] = min(i, j), max(i, j)
            count += 1
    return count


@kernel
def _marked(n, bodies):
    """Mask (n,) of some bodies."""
    mark = np.zeros(n, np.bool_)
    for i in bodies:
        mark[i] = True
    return mark


@kernel
def updated(course, pairs, changed):
    """The pairs with those of the bodies `changed` computed again, by comparing these with all bodies."""
    bound_paths(course, changed)
    mark = _marked(len(course.free), changed)
    first, second = np.empty(INITIAL_PAIRS, np.int64), np.empty(INITIAL_PAIRS, np.int64)
    count = _partners(course, changed, mark, first, second)
    if count > INITIAL_PAIRS:
        first, second = np.empty(count, np.int64), np.empty(count, np.int64)
        _partners(course, changed, mark, first, second)
    return scheduled(course, pairs, changed, first[:count], second[:count])


@kernel(inline="always")
def _drop(pairs, mark):
    """Removes the pairs of the bodies that are marked."""
    for k in range(len(pairs.first)):
        i, j = pairs.first[k], pairs.second[k]
        if i >= 0 and (mark[i] or (j < len(mark) and mark[j])):
            pairs.first[k] = -1
            pairs.time[k] = np.inf


@kernel
def scheduled(course, pairs, changed, first, second):
    """The pairs with those of the bodies `changed` replaced by those with boundaries and the pairs first < second."""
    _drop(pairs, _marked(len(course.free), changed))
    n, row, none, images = len(course.free), 0, Vec2(0.0, 0.0), np.empty((4, 4))
    for i in changed:
        for boundary in range(n, len(course.outlines.kind)):
            if course.free[i] and _meets_boundary(course, i, boundary):
                pairs, row = _with_pair(course, pairs, row, Pair(i, boundary, none, none))
    for k in range(len(first)):
        i, j = first[k], second[k]
        count = _put_images(course, i, j, images)
        if count > len(images):
            images = np.empty((count, 4))
            _put_images(course, i, j, images)
        for m in range(count):
            pair = Pair(i, j, row2(images, m), Vec2(images[m, 2], images[m, 3]))
            pairs, row = _with_pair(course, pairs, row, pair)
    return pairs


@kernel
def simultaneous(course, pairs, time, later, hold):
    """Numbers of the pairs with an impact at `time`, or up to `later` after it, and of all that touch them then.

    Contact extends through free bodies: an impact at one end of a row of balls is an impact of the whole row. It also
    extends to all bodies with the same number in `hold`, unless that is -1. Returns also the mask (n,) of the free
    bodies that take part.
    """
    n, m = len(course.free), len(pairs.first)
    mark = np.zeros(n, np.bool_)
    chosen = np.zeros(m, np.int8)  # 1 if taken, 2 if not in touch
    for k in range(m):
        if pairs.time[k] <= time + later:
            chosen[k] = 1
            _mark(course.free, mark, pairs.first[k], pairs.second[k])
    fresh = True
    while fresh:
        fresh = False
        for k in range(m):
            i, j = pairs.first[k], pairs.second[k]
            if chosen[k] != 0 or i < 0 or not (mark[i] or (j < n and mark[j])):
                continue
            gap = gap_at(course.outlines, course.paths, _pair(pairs, k), time, course.span.touch)
            chosen[k] = 1 if gap <= course.span.touch else 2
            if chosen[k] == 1 and _mark(course.free, mark, i, j):
                fresh = True
        fresh = _mark_held(hold, mark) or fresh
    return np.flatnonzero(chosen == 1), mark


@kernel(inline="always")
def _mark_held(hold, mark):
    """Marks all bodies that are held with a marked one; returns whether one of them was not marked before."""
    n, fresh = len(hold), False
    struck = np.zeros(n, np.bool_)
    for b in range(n):
        if mark[b] and hold[b] >= 0:
            struck[hold[b]] = True
    for b in range(n):
        if hold[b] >= 0 and struck[hold[b]] and not mark[b]:
            mark[b], fresh = True, True
    return fresh


@kernel(inline="always")
def _mark(free, mark, i, j):
    """Marks the free bodies among i and j; returns whether one of them was not marked before."""
    fresh = False
    for body in (i, j):
        if body < len(free) and free[body] and not mark[body]:
            mark[body] = True
            fresh = True
    return fresh
