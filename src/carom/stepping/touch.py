"""The geometry of contacts at the time of an impact: where struck bodies are within a step, and where they touch.

Contacts are found with the normals of the start of a step, but an impact takes place when a gap closes. Bodies have
moved by then, and impulses along the old normals would change the angular momentum of a pair by `d x p`, with d the
displacement of the second body relative to the first one and p the impulse. Here the contacts of an impact get the
geometry of its time. Free bodies fall alike, so the motion of two of them relative to each other is straight.

* Two balls: the line of their centers, and the instant at which they touch is the root of a quadratic.
* A ball and a boundary: the normal of the boundary at the center of the ball, the instant by Newton's method.
* Other shapes: the normal of the start (of a vertex against a curved boundary: the one where the vertex is), at a point
  midway between where either body carries the contact point; for a ball it lies on the normal through its center. Both
  bodies receive the impulse at this one point, so that angular momentum is conserved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.boundaries import KIND, boundary_of, point_gap
from ..contact.contact_set import DRIFT, FIRST, NORMAL, OFFSET, POINT, SECOND, WIDTH, vector
from ..geometry.rotations import matrix_of, matrix_value
from ..geometry.vectors import Vec3, cross, dot, norm, to_local, to_world
from ..kernels import kernel, lean
from ..problem.assemble import Motion, put_rows
from ..solvers.rows import Floats, Ints
from ..world import OUTSIDE, PLANE, SEGMENT, Masses

NEWTON_ITERATIONS = 8  # for the time at which a gap closes; the error is squared by each
SETTLED_TIME = 1e-14  # fraction of a step: a smaller change of that time is rounding


class Flight(NamedTuple):
    """What the free motion of the N bodies of a world in a step starts from, for kernels."""

    position: Floats  # (N, D)
    orientation: Floats  # (N, 1), in 3D (N, 4)
    velocity: Floats  # (N, d)
    masses: Masses
    bodies: Ints  # (n,) numbers of the bodies that take part in contacts; empty for all
    radius: Floats  # (N,)
    is_round: np.ndarray  # (N,)
    boundaries: Floats  # table of the boundaries at the start
    center: Floats  # (w, D) of these
    boundary_velocity: Floats  # (w, 3 or 6)
    h: float
    timed: np.ndarray  # (N,) bodies whose impacts take place within the step: no joint or force bends their paths


# ---- where bodies are


class Path(NamedTuple):
    """Free motion of the center of a body: at time t of a step `start + root (shift + t velocity) + t^2 / 2 gravity`.

    The product is taken for each component. A body that impulses do not move has root 1 and neither shift nor gravity.
    """

    start: Vec3
    root: Vec3
    shift: Vec3
    velocity: Vec3
    gravity: Vec3


@lean
def _path_component(flight, velocity, shift, b, j, c):
    """The numbers of a `Path` along axis c; j is the number of body b among those that take part, -1 for none."""
    if c >= flight.position.shape[1]:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    start, root = flight.position[b, c], flight.masses.root[b, c]
    if j < 0 or root == 0.0:
        return start, 1.0, 0.0, flight.velocity[b, c], 0.0
    return start, root, shift[j, c], velocity[j, c], flight.masses.gravity[c]


@lean
def _path_of(flight, velocity, shift, b, j):
    """The path of a body, with the whitened `velocity` and `shift` of those that take part."""
    x = _path_component(flight, velocity, shift, b, j, 0)
    y = _path_component(flight, velocity, shift, b, j, 1)
    z = _path_component(flight, velocity, shift, b, j, 2)
    start, root, move = Vec3(x[0], y[0], z[0]), Vec3(x[1], y[1], z[1]), Vec3(x[2], y[2], z[2])
    return Path(start, root, move, Vec3(x[3], y[3], z[3]), Vec3(x[4], y[4], z[4]))


@lean
def _place_at(path, t):
    """The center of a body at a time of the step."""
    half, moved = 0.5 * t * t, path.shift + t * path.velocity
    scaled = Vec3(path.root.x * moved.x, path.root.y * moved.y, path.root.z * moved.z)
    return path.start + (scaled + half * path.gravity)


@lean
def _velocity_at(path, t):
    """The velocity of the center of a body at a time of the step."""
    root, v = path.root, path.velocity
    return Vec3(root.x * v.x, root.y * v.y, root.z * v.z) + t * path.gravity


# ---- when contacts close


class Course(NamedTuple):
    """Who meets in a contact: bodies of the world, and their numbers among those that take part, -1 for none."""

    first: int
    second: int
    one: int
    other: int


@lean(inline="always")
def course_of(table, body, i):
    """Who meets in contact i."""
    return Course(int(table[i, FIRST]), int(table[i, SECOND]), body[i, 0], body[i, 1])


@kernel(inline="always")
def is_timed(flight, who):
    """Whether the impact of a contact may take place within the step: the paths of its bodies are known."""
    return flight.timed[who.first] and (who.second < 0 or flight.timed[who.second])


@kernel(inline="always")
def is_ball_contact(flight, who):
    """Whether a contact is one of balls, or of a ball and a boundary."""
    return flight.is_round[who.first] and (who.second < 0 or flight.is_round[who.second])


class Meeting(NamedTuple):
    """The motion of the balls of a contact, of a ball and a boundary if `boundary` is not -1."""

    first: Path
    second: Path  # that of the first one for a boundary
    radius: float  # of the first ball
    other: float  # of the second one, 0 for a boundary
    offset: Vec3  # of the periodic image of the second ball
    drift: Vec3  # velocity of that image
    normal: Vec3  # where the geometry has none
    boundary: int


@lean
def meeting_of(flight, velocity, shift, table, i, who):
    """The motion of the balls of contact i, with the whitened `velocity` and `shift` of bodies that take part."""
    first = _path_of(flight, velocity, shift, who.first, who.one)
    normal, none, r = vector(table, i, NORMAL), Vec3(0.0, 0.0, 0.0), flight.radius[who.first]
    if who.second < 0:
        return Meeting(first, first, r, 0.0, none, none, normal, -1 - who.second)
    second, other = _path_of(flight, velocity, shift, who.second, who.other), flight.radius[who.second]
    if table.shape[1] > WIDTH:
        return Meeting(first, second, r, other, vector(table, i, OFFSET), vector(table, i, DRIFT), normal, -1)
    return Meeting(first, second, r, other, none, none, normal, -1)


@lean
def _apart(meeting, t):
    """The vector from the center of the first ball to that of the second one, or of its periodic image."""
    return _place_at(meeting.second, t) + meeting.offset + t * meeting.drift - _place_at(meeting.first, t)


@lean
def boundary_gap(flight, k, p, t):
    """Distance of a point from boundary k at a time of the step, and the unit normal from the point to it.

    The boundary moves steadily: at time t the point is where it was in the frame of the boundary at the start.
    """
    boundary, moving = boundary_of(flight.boundaries, k), flight.boundary_velocity[k]
    spin = Vec3(0.0, 0.0, moving[2]) if len(moving) == 3 else Vec3(moving[3], moving[4], moving[5])
    velocity = Vec3(moving[0], moving[1], moving[2] if len(moving) == 6 else 0.0)
    if dot(spin, spin) == 0.0:
        return point_gap(boundary, p - t * velocity)
    center = Vec3(flight.center[k, 0], flight.center[k, 1], flight.center[k, 2] if len(moving) == 6 else 0.0)
    gap, normal = point_gap(boundary, center + _rotated(p - center - t * velocity, -t * spin))
    return gap, _rotated(normal, t * spin)


@kernel
def _rotated(a, turn):
    """A vector, rotated by a rotation vector: Rodrigues' formula."""
    angle = norm(turn)
    if angle == 0.0:
        return a
    axis = turn / angle
    c, s = np.cos(angle), np.sin(angle)
    return c * a + s * cross(axis, a) + ((1.0 - c) * dot(axis, a)) * axis


@lean
def _boundary_velocity(flight, k, p, t):
    """The velocity of the point of boundary k that is at p at a time."""
    moving = flight.boundary_velocity[k]
    if len(moving) == 3:
        arm = p - Vec3(flight.center[k, 0], flight.center[k, 1], 0.0) - t * Vec3(moving[0], moving[1], 0.0)
        return Vec3(moving[0], moving[1], 0.0) + cross(Vec3(0.0, 0.0, moving[2]), arm)
    velocity = Vec3(moving[0], moving[1], moving[2])
    arm = p - Vec3(flight.center[k, 0], flight.center[k, 1], flight.center[k, 2]) - t * velocity
    return velocity + cross(Vec3(moving[3], moving[4], moving[5]), arm)


@lean
def _gap_of_balls(meeting, t):
    """The gap of two balls at a time of the step, and its rate of change."""
    d = _apart(meeting, t)
    w = _velocity_at(meeting.second, t) - _velocity_at(meeting.first, t) + meeting.drift
    distance = norm(d)
    normal = d / distance if distance > 0.0 else meeting.normal
    return distance - meeting.radius - meeting.other, dot(normal, w)


@lean
def _gap_of_boundary(flight, meeting, t):
    """The same of a ball and a boundary."""
    p = _place_at(meeting.first, t)
    gap, normal = boundary_gap(flight, meeting.boundary, p, t)
    if dot(normal, normal) == 0.0:
        normal = meeting.normal
    w = _boundary_velocity(flight, meeting.boundary, p, t) - _velocity_at(meeting.first, t)
    return gap - meeting.radius, dot(normal, w)


@lean
def ball_closing(flight, meeting, who, last, guess):
    """The time from `last` on at which a contact of balls closes, at most h; h if it does not close.

    Two balls that fall alike touch at the root of a quadratic. Otherwise it is the start of Newton's method, for
    boundaries `guess` is. A contact that overlaps at the time `last` closes when it is as deep again.
    """
    h, t, wall = flight.h, guess, meeting.boundary >= 0
    level = min((_gap_of_boundary(flight, meeting, last) if wall else _gap_of_balls(meeting, last))[0], 0.0)
    if not wall:
        d = _apart(meeting, last)
        w = (_apart(meeting, h) - d) / max(h - last, SETTLED_TIME * h)  # mean velocity
        reach = meeting.radius + meeting.other
        along, outside, square = dot(d, w), dot(d, d) - reach * reach, dot(w, w)
        root = along * along - square * max(outside, 0.0)
        if who.one >= 0 and who.other >= 0:
            return min(last + max(outside, 0.0) / (np.sqrt(root) - along), h) if along < 0.0 <= root else h
        if outside > 0.0 and along < 0.0 <= root:
            t = min(last + outside / (np.sqrt(root) - along), h)
    for _ in range(NEWTON_ITERATIONS):
        gap, rate = _gap_of_boundary(flight, meeting, t) if wall else _gap_of_balls(meeting, t)
        if rate >= 0.0:  # beyond the deepest overlap, or an overlap that opens
            passing = wall and t > last and level == 0.0 and rounds(flight, meeting.boundary)
            if not passing or _gap_of_boundary(flight, meeting, last)[1] >= 0.0:
                break
            t = last  # the gap of an obstacle is convex: from here on Newton's method does not pass its first root
            continue
        change = min(max(t - (gap - level) / rate, last), h) - t
        t += change
        if abs(change) <= SETTLED_TIME * h:
            break
    return t


@lean(inline="always")
def rounds(flight, k):
    """Whether bodies may pass boundary k, an obstacle or a segment, on the outside."""
    return flight.boundaries[k, KIND] in (OUTSIDE, SEGMENT)


@lean(inline="always")
def may_be_wrong(table, boundaries, approach, i):
    """Whether the predicted gap of contact i that its row gives may be wrong for balls, in a way that matters.

    It is exact for planes, and for two balls the smallest one that is possible: then balls that approach fast may miss
    each other nevertheless.
    """
    second = int(table[i, SECOND])
    if second >= 0:
        return approach.predicted[i] <= 0.0 and approach.speed[i] < -approach.limit[i]
    return boundaries[-1 - second, KIND] != PLANE


@lean
def ball_gap_ahead(flight, meeting, last):
    """The predicted gap of a contact of balls: at the end of free motion, or the deepest overlap of two balls that pass
    through each other on the way from the time `last` on."""
    h = flight.h
    if meeting.boundary >= 0:
        return _gap_of_boundary(flight, meeting, h)[0]
    gap, d = _gap_of_balls(meeting, h)[0], _apart(meeting, last)
    w = _apart(meeting, h) - d
    square, along = dot(w, w), dot(d, w)
    if along >= 0.0 or -along >= square:  # nearest at one of the ends
        return gap
    nearest = norm(d - (along / square) * w) - meeting.radius - meeting.other
    return min(gap, nearest) if nearest < 0.0 else gap


# ---- contacts at the time of an impact


class Struck(NamedTuple):
    """The n bodies that take part in contacts, at the times at which an impact strikes them."""

    time: Floats  # (n,) within the step
    position: Floats  # (n, D)
    velocity: Floats  # (n, d) whitened
    orientation: Floats  # (n, 4); in 2D, and of bodies that do not rotate, empty
    contacts: Ints  # (k,) whose geometry is not that of the start of the step, ascending


class Touching(NamedTuple):
    """k contacts at the time of an impact, and the bodies of each: those of contact j have the rows 2 j and 2 j + 1."""

    table: Floats  # (k, width) with the numbers of rows in place of bodies
    gap: Floats  # (k,)
    body: Ints  # (k, 2) bodies that impulses move; -1 for others
    position: Floats  # (2 k, D)
    velocity: Floats  # (2 k, d)
    turn: Floats  # (2 k, 3, 3); not used in 2D
    root: Floats  # (2 k, d)
    center: Floats  # (k, D) of the boundaries that are touched; contact j touches boundary j
    boundary_velocity: Floats  # (k, 3 or 6)


@kernel
def put_touching(axes, flight, approach, struck, rows, start, table):
    """Replaces contacts in `table`, and their rows, by those at the times at which their bodies are struck.

    They are `struck.contacts` (k,), whose gaps then are returned, and the numbers of their rows before: entries, base
    speeds and diagonal. `start` is the table of the contacts at the start of the step, `axes` that of `put_rows`.
    """
    k, dim, d = len(struck.contacts), len(axes), flight.velocity.shape[1]
    at = Touching(
        np.empty((k, start.shape[1])), np.empty(k), np.empty((k, 2), np.int64), np.empty((2 * k, dim)),
        np.empty((2 * k, d)), np.empty((2 * k, 3, 3)), np.empty((2 * k, d)), np.zeros((k, dim)),
        np.zeros((k, flight.boundary_velocity.shape[1])),
    )  # fmt: skip
    _put_touching(flight, approach, struck, start, rows.body, at)
    r = rows.base.shape[1]
    val, base, diag = np.zeros((k, 2, r, d)), np.zeros((k, r)), np.empty(k)
    motion = Motion(at.position, at.velocity, at.turn, at.root, at.center, at.boundary_velocity)
    put_rows(axes, at.table, motion, at.body, val, base)
    _exchange_rows(rows, table, struck, at.table, (val, base, diag), approach.row_time)
    return at.gap, (val, base, diag)


@lean
def _put_touching(flight, approach, struck, table, body, out):
    """Fills a `Touching`."""
    chosen, dim, time = struck.contacts, flight.position.shape[1], struck.time
    radius, is_round = flight.radius, flight.is_round
    out_table, out_gap, out_body, width = out.table, out.gap, out.body, table.shape[1]
    for j in range(len(chosen)):
        i, latest = chosen[j], 0.0
        who = course_of(table, body, i)
        for number in (who.one, who.other):
            if number >= 0:
                latest = max(latest, time[number])
        for c in range(width):
            out_table[j, c] = table[i, c]
        first, second = _place(flight, struck, who.first, who.one, latest), Vec3(0.0, 0.0, 0.0)
        if who.second >= 0:
            second = _place(flight, struck, who.second, who.other, latest)
        if who.second >= 0 and is_round[who.first] and is_round[who.second] and width == WIDTH:
            apart, r = norm(second - first), radius[who.first]
            gap, normal = apart - r - radius[who.second], vector(table, i, NORMAL)
            if apart > 0.0:
                normal = (second - first) / apart
            point = first + (r + 0.5 * gap) * normal
        else:
            gap, normal, point = _geometry(flight, approach, struck, table, i, who, (first, second, latest))
        out_table[j, FIRST], out_table[j, SECOND] = 2.0 * j, 2.0 * j + 1.0 if who.second >= 0 else -1.0 - j
        out_gap[j], out_body[j, 0], out_body[j, 1] = gap, who.one, who.other
        for c in range(3):
            out_table[j, NORMAL + c], out_table[j, POINT + c] = normal[c], point[c]
            if width > WIDTH:
                out_table[j, OFFSET + c] += latest * table[i, DRIFT + c]
        for c in range(dim):
            out.position[2 * j, c], out.position[2 * j + 1, c] = first[c], second[c]
        if who.second < 0:
            _put_boundary(flight, -1 - who.second, latest, out, j)
    _put_bodies(flight, struck, table, body, out)


@lean
def _put_boundary(flight, k, latest, out, j):
    """Writes where boundary k is at a time, and how it moves, for contact j."""
    moving = flight.boundary_velocity[k]
    for c in range(len(moving)):
        out.boundary_velocity[j, c] = moving[c]
    for c in range(out.center.shape[1]):
        out.center[j, c] = flight.center[k, c] + latest * moving[c]


@lean
def _put_bodies(flight, struck, table, body, out):
    """Writes how the bodies of the contacts resist, their frames, and velocities, which fixed ones keep."""
    chosen = struck.contacts
    velocity, root, out_velocity, out_root, turn = flight.velocity, flight.masses.root, out.velocity, out.root, out.turn
    even, orientation, now, d = flight.masses.even, flight.orientation, struck.orientation, flight.velocity.shape[1]
    for j in range(len(chosen)):
        for side in range(2):
            b, number, row = int(table[chosen[j], FIRST + side]), body[chosen[j], side], 2 * j + side
            if b < 0:
                continue
            for c in range(d):
                out_velocity[row, c], out_root[row, c] = velocity[b, c], root[b, c]
            if flight.position.shape[1] == 3:
                if number >= 0 and len(now) and not even[b]:
                    matrix_of(now[number], turn[row])
                else:  # spins of bodies with equal moments stay in one frame
                    matrix_of(orientation[b], turn[row])


@lean(inline="always")
def _place(flight, struck, b, j, latest):
    """The center of a body when it is struck; if impulses do not move it, at the time of the other one."""
    q, v = flight.position, flight.velocity
    if j >= 0:
        place = struck.position
        return Vec3(place[j, 0], place[j, 1], place[j, 2] if q.shape[1] == 3 else 0.0)
    z = q[b, 2] + latest * v[b, 2] if q.shape[1] == 3 else 0.0
    return Vec3(q[b, 0] + latest * v[b, 0], q[b, 1] + latest * v[b, 1], z)


@lean
def _geometry(flight, approach, struck, table, i, who, at):
    """Gap, normal and point of contact i at the times at which its bodies are struck, where their centers are `at`."""
    a, b, latest = at
    normal, old = vector(table, i, NORMAL), vector(table, i, POINT)
    gap, speed = approach.gap[i], approach.speed[i]
    part = latest / flight.h
    gap = gap + latest * speed + part * part * (approach.predicted[i] - gap - flight.h * speed)
    if who.second < 0:
        k, r = -1 - who.second, flight.radius[who.first]
        if not flight.is_round[who.first]:
            point = a + _carried(flight, approach, struck, who.first, who.one, latest, old)
            found = boundary_gap(flight, k, point, latest)[1]
            bent = flight.boundaries[k, KIND] != SEGMENT and dot(found, found) > 0.0
            return gap, found if bent else normal, point
        distance, found = boundary_gap(flight, k, a, latest)
        gap = distance - r
        normal = found if dot(found, found) > 0.0 else normal
        return gap, normal, a + (r + 0.5 * gap) * normal
    offset, image = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    if table.shape[1] > WIDTH:
        offset = vector(table, i, OFFSET)
        image = offset + latest * vector(table, i, DRIFT)
    b = b + image
    if flight.is_round[who.first] and flight.is_round[who.second]:
        apart = norm(b - a)
        gap = apart - flight.radius[who.first] - flight.radius[who.second]
        normal = (b - a) / apart if apart > 0.0 else normal
    if flight.is_round[who.first]:
        return gap, normal, a + (flight.radius[who.first] + 0.5 * gap) * normal
    if flight.is_round[who.second]:
        return gap, normal, b - (flight.radius[who.second] + 0.5 * gap) * normal
    one = a + _carried(flight, approach, struck, who.first, who.one, latest, old)
    other = b + _carried(flight, approach, struck, who.second, who.other, latest, old - offset)
    return gap, normal, 0.5 * (one + other)


@lean
def _carried(flight, approach, struck, b, j, latest, point):
    """The arm, when body b is struck, of its point that is at `point` at the start."""
    dim, t = flight.position.shape[1], struck.time[j] if j >= 0 else latest
    z = flight.position[b, 2] if dim == 3 else 0.0
    arm = point - Vec3(flight.position[b, 0], flight.position[b, 1], z)
    if flight.is_round[b] or flight.velocity.shape[1] == dim:
        return arm
    if dim == 2:
        angle = t * flight.velocity[b, 2]
        if j >= 0 and flight.masses.root[b, 2] > 0.0:
            angle = flight.masses.root[b, 2] * (approach.shift[j, 2] + t * approach.velocity[j, 2])
        return _rotated(arm, Vec3(0.0, 0.0, angle))
    turn = matrix_value(flight.orientation[b])
    if j < 0:
        spin = Vec3(flight.velocity[b, 3], flight.velocity[b, 4], flight.velocity[b, 5])
        return _rotated(arm, t * to_world(turn, spin))
    return to_world(matrix_value(struck.orientation[j]), to_local(turn, arm))


@lean
def _exchange_rows(rows, table, struck, at, replaced, row_time):
    """Replaces contacts in a table, and their rows, and the times at which these have their bodies (m, 2).

    `at` is the table of the contacts when their bodies are struck. `replaced` are the entries of their rows then, the
    speeds that no impulse changes, and room for the diagonal; they become what they were before.
    """
    (val, base, diag), chosen, time = replaced, struck.contacts, struck.time
    all_val, all_base, body = rows.val, rows.base, rows.body
    for j in range(len(chosen)):
        i, square = chosen[j], 0.0
        for c in range(NORMAL, table.shape[1]):
            table[i, c] = at[j, c]
        for row in range(base.shape[1]):
            all_base[i, row], base[j, row] = base[j, row], all_base[i, row]
        for side in range(2):
            if body[i, side] < 0:
                continue
            row_time[i, side] = time[body[i, side]]
            for row in range(val.shape[2]):
                for c in range(val.shape[3]):
                    all_val[i, side, row, c], val[j, side, row, c] = val[j, side, row, c], all_val[i, side, row, c]
            for c in range(val.shape[3]):
                square += all_val[i, side, 0, c] * all_val[i, side, 0, c]
        diag[j], rows.diag[i] = rows.diag[i], square
