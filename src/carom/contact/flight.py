"""Free flight of balls within a step, and the time at which each of them meets another ball, a boundary or a cell wall.

Discs and spheres alike: in 2D the third components are zero. Each ball has a path of its own, a parabola that begins at
its last impact. Two balls that fall alike move straight relative to each other, and meet at the root of a quadratic;
so do a ball and a plane. A ball that falls meets what does not fall, and is curved, at a root of a polynomial of fourth
degree, which is bracketed by the roots of its derivatives. Boundaries and scripted balls move straight within a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3, dot, norm, row3
from ..kernels import lean
from ..solvers.rows import Floats
from ..world import INSIDE, PLANE, SEGMENT, TUBE
from .boundaries import Boundary, boundary_of, point_gap
from .cells import CELL, Cells, put_around, put_in_cell, take_from_cell
from .event_queue import EventQueue, push
from .roots import first_root, time_to_distance
from .time_of_impact_2d import APPROACH_NOISE

# Columns of `Flight.path`: place and velocity at the time SINCE, and the radius. A row is one cache line. What else
# belongs to a ball is another one: `event` and `mark` are two views of one array.
PLACE, VELOCITY, SINCE, RADIUS = 0, 3, 6, 7
# Columns of `Flight.event`: times of the next impact and of the next cell wall, and when the path of the partner of
# that impact began. The earlier event is that of the ball. (To keep the second impact as well, for the case that the
# path of the partner of the first changes, saves 5 percent of the predictions.)
IMPACT, WALL, PARTNER_SINCE = 0, 1, 3
# Columns of `Flight.mark`, the first of which hold the times: partner of the next impact (a ball, -1 - k for boundary
# k, NO_PARTNER), next cell wall: 2 axis + (0 low, 1 high); then those of `cells.py`; the number of the body, and its
# row of `Matter.trait`.
PARTNER, CELL_WALL, OWNER, TRAIT = 4, 5, 13, 14
NO_PARTNER = -(2**31)


class Span(NamedTuple):
    """Constants of a step."""

    duration: float
    touch: float  # gap up to which bodies touch
    hop: float  # a contact that gravity closes and that separates for less than twice this time is at rest
    gravity: Vec3
    all_free: bool  # whether all balls are free


class Flight(NamedTuple):
    """n balls, ordered by the cells in which they are at the start of the step, and w boundaries."""

    path: Floats  # (n, 8)
    free: np.ndarray  # (n,) whether gravity and impulses act
    event: Floats  # (n, 8)
    mark: np.ndarray  # (n, BALL); `cells.ball` is the same array
    cells: Cells
    queue: EventQueue
    boundary: Floats  # (w, ENTRIES) at the start of the step
    drift: Floats  # (w, 3) velocities of the boundaries
    span: Span
    knots: Floats  # (2, 6) scratch of `first_root_of_quartic`


class Ball(NamedTuple):
    """A ball at a time."""

    place: Vec3
    velocity: Vec3
    radius: float
    free: float  # 1 if gravity acts, 0 if not


@lean(inline="always")
def ball_at(flight, i, time):
    """Ball i at a time."""
    p = flight.path[i]
    s, free = time - p[SINCE], 1.0 if flight.span.all_free or flight.free[i] else 0.0
    a = free * flight.span.gravity
    v = Vec3(p[VELOCITY], p[VELOCITY + 1], p[VELOCITY + 2])
    # The mean velocity is formed first: where it is zero by symmetry, the displacement is exactly zero.
    return Ball(Vec3(p[0], p[1], p[2]) + s * (v + 0.5 * s * a), v + s * a, p[RADIUS], free)


@lean
def begin_path(flight, i, ball, time):
    """Lets the path of ball i begin at a time.

    It begins later by a rounding error if the path before began at that time too: no two paths of a ball have the same
    beginning, by which predictions tell whether the path of a partner has changed (`is_stale`).
    """
    p = flight.path[i]
    for k in range(3):
        p[PLACE + k], p[VELOCITY + k] = ball.place[k], ball.velocity[k]
    p[SINCE] = time if time > p[SINCE] else np.nextafter(p[SINCE], np.inf)


@lean(inline="always")
def _shift(d, period):
    """Shift along one axis to the nearest periodic image of a ball that is d away; both balls are within the sides."""
    if 2.0 * d > period:
        return -period if period > 0.0 else 0.0
    return period if -2.0 * d > period else 0.0


@lean(inline="always")
def image_shift(cells, d):
    """Shift to the periodic image of a ball that is nearest to another one, d away."""
    p = cells.period
    return Vec3(_shift(d.x, p.x), _shift(d.y, p.y), _shift(d.z, p.z))


@lean(inline="always")
def boundary_at(flight, k, time):
    """Boundary k at a time."""
    b, v = boundary_of(flight.boundary, k), flight.drift[k]
    moved = time * Vec3(v[0], v[1], v[2])
    return Boundary(b.kind, b.point + moved, b.axis + moved if b.kind == SEGMENT else b.axis, b.radius)


# ---- predictions


class Closing(NamedTuple):
    """How the gap of a contact changes, if no impulse acts."""

    speed: float  # negative if it closes
    acceleration: float  # curvature of the surfaces and gravity; negative if it closes
    noise: float  # speed that is rounding error


@lean(inline="always")
def is_lying(closing, hop):
    """Whether a contact that touches closes, or separates for no longer than twice the time `hop`."""
    limit = max(closing.noise, -closing.acceleration * hop)
    return closing.speed < -closing.noise or (closing.acceleration < 0.0 and closing.speed <= limit)


@lean(inline="always")
def speed_noise(v, w):
    """Speed of approach of two velocities that is rounding error."""
    return APPROACH_NOISE * (abs(v.x) + abs(v.y) + abs(v.z) + abs(w.x) + abs(w.y) + abs(w.z))


@lean
def closing_balls(ball, other, d, gravity):
    """How the gap of two balls changes; d is the vector between their centers."""
    apart, v = norm(d), other.velocity - ball.velocity
    n = d / apart if apart > 0.0 else Vec3(1.0, 0.0, 0.0)
    speed = dot(n, v)
    bend = (dot(v, v) - speed * speed) / apart if apart > 0.0 else 0.0
    fall = (other.free - ball.free) * dot(n, gravity)
    # Balls that fall alike separate by their curvature, and no acceleration closes them.
    return Closing(speed, fall + bend if fall != 0.0 else 0.0, speed_noise(ball.velocity, other.velocity))


@lean
def closing_boundary(boundary, w, ball, normal, gravity):
    """How the gap of a ball and a boundary that moves at the velocity w changes; `normal` points to the boundary."""
    v, u = ball.velocity - w, boundary.axis
    speed, kind = -dot(normal, v), boundary.kind
    acceleration = -ball.free * dot(normal, gravity)
    if kind in (INSIDE, TUBE):
        along = dot(v, u) if kind == TUBE else 0.0
        bend = (dot(v, v) - speed * speed - along * along) / max(boundary.radius - ball.radius, 1e-300)
        acceleration -= bend
    return Closing(speed, acceleration, speed_noise(ball.velocity, w))


@lean
def _curved_meeting(ball, other, d, span, end, knots):
    """Time until two balls meet of which one falls; infinite if not before `end`."""
    v, a, r = other.velocity - ball.velocity, (other.free - ball.free) * span.gravity, ball.radius + other.radius
    apart = norm(d)
    if apart - r <= span.touch and apart > 0.0:
        closing = closing_balls(ball, other, d, span.gravity)
        if is_lying(closing, span.hop):
            return 0.0
        v = v - min(closing.speed, 0.0) * (d / apart)  # an approach that is rounding error
    return time_to_distance(d, v, a, r, 1.0, end, knots)


@lean
def _meet_balls(flight, i, ball, around, count, time):
    """Predicts the next impact of ball i with the balls `around`, and writes it if it is the earliest known."""
    span, best, partner = flight.span, flight.event[i, IMPACT], NO_PARTNER
    for k in range(count):
        j = around[k]
        other = ball_at(flight, j, time)
        d, v = other.place - ball.place, other.velocity - ball.velocity
        d = d + image_shift(flight.cells, d)
        when = np.inf
        if other.free != ball.free:
            when = time + _curved_meeting(ball, other, d, span, span.duration - time, flight.knots)
        elif other.free > 0.0:
            b = dot(d, v)
            if b >= 0.0:
                continue
            r = ball.radius + other.radius
            c = dot(d, d) - r * r
            inside = b * b - dot(v, v) * c
            if inside >= 0.0 and (c > 2.0 * r * span.touch or b < -r * speed_noise(ball.velocity, other.velocity)):
                when = time + max(c, 0.0) / (np.sqrt(inside) - b)
        if when < best:
            best, partner = when, j
    if partner != NO_PARTNER:
        flight.event[i, IMPACT], flight.mark[i, PARTNER] = best, partner
        flight.event[i, PARTNER_SINCE] = flight.path[partner, SINCE]


@lean
def is_stale(flight, i):
    """Whether the path of the partner of the next impact of ball i has changed since it was predicted."""
    partner = flight.mark[i, PARTNER]
    return partner >= 0 and flight.path[partner, SINCE] != flight.event[i, PARTNER_SINCE]


@lean
def _time_to_segment(e, along, v, a, r, touch, end, knots):
    """Time until a ball at `e` from the start of a segment meets its ends, or its sides, which it crosses inward."""
    length = norm(along)
    t = along / length
    n = Vec3(-t.y, t.x, 0.0)
    best = min(time_to_distance(e, v, a, r, 1.0, end, knots), time_to_distance(e - along, v, a, r, 1.0, end, knots))
    c, b, k = dot(n, e), dot(n, v), dot(n, a)
    for side in (1.0, -1.0):
        above, s = side * c - r, 0.0
        if above < -touch:  # it crosses this line outward before it can cross it inward
            s = first_root(-above, -side * b, -side * k)
            if s >= end:
                continue
            above = 0.0
        s += first_root(max(above, 0.0), side * (b + s * k), side * k)
        if s < best and 0.0 <= dot(t, e + s * (v + 0.5 * s * a)) <= length:
            best = s
    return best


@lean
def _time_to_boundary(boundary, w, ball, span, end, knots):
    """Time until a ball meets a boundary that moves at the velocity w."""
    distance, normal = point_gap(boundary, ball.place)
    v, a, r, kind = ball.velocity - w, ball.free * span.gravity, ball.radius, boundary.kind
    if distance - r <= span.touch:
        closing = closing_boundary(boundary, w, ball, normal, span.gravity)
        if is_lying(closing, span.hop):
            return 0.0
        v = v + min(closing.speed, 0.0) * normal  # an approach that is rounding error
    e = ball.place - boundary.point
    if kind == PLANE:
        return first_root(max(distance - r, 0.0), dot(boundary.axis, v), dot(boundary.axis, a))
    if kind == SEGMENT:
        return _time_to_segment(e, boundary.axis - boundary.point, v, a, r, span.touch, end, knots)
    if kind == TUBE:
        u = boundary.axis
        e, v, a = e - dot(e, u) * u, v - dot(v, u) * u, a - dot(a, u) * u
    if kind in (INSIDE, TUBE):
        return time_to_distance(e, v, a, boundary.radius - r, -1.0, end, knots)
    return time_to_distance(e, v, a, boundary.radius + r, 1.0, end, knots)


@lean
def _meet_boundaries(flight, i, ball, time):
    """Predicts the next impact of ball i with the boundaries, and writes it if it is the earliest known."""
    span, left = flight.span, flight.span.duration - time
    for k in range(len(flight.boundary)):
        when = time + _time_to_boundary(
            boundary_at(flight, k, time), row3(flight.drift, k), ball, span, left, flight.knots
        )
        if when < flight.event[i, IMPACT]:
            flight.event[i, IMPACT], flight.mark[i, PARTNER] = when, -1 - k


@lean
def _cross(flight, i, ball, time):
    """Predicts when ball i leaves its cell."""
    cells, gravity, best, wall = flight.cells, flight.span.gravity, np.inf, 0
    for axis in range(3):
        place, v, a = cells.ball[i, CELL + axis], ball.velocity[axis], ball.free * gravity[axis]
        low = ball.place[axis] - (cells.low[axis] + place * cells.size[axis])
        if cells.counts[axis] == 1 and cells.period[axis] == 0.0:
            continue
        if (v < 0.0 or a < 0.0) and (place > 0 or cells.period[axis] > 0.0):
            s = max(low, 0.0) / -v if a == 0.0 else first_root(max(low, 0.0), v, a)
            if s < best:
                best, wall = s, 2 * axis
        if (v > 0.0 or a > 0.0) and (place < cells.counts[axis] - 1 or cells.period[axis] > 0.0):
            high = max(cells.size[axis] - low, 0.0)
            s = high / v if a == 0.0 else first_root(high, -v, -a)
            if s < best:
                best, wall = s, 2 * axis + 1
    flight.event[i, WALL], flight.mark[i, CELL_WALL] = time + best, wall


@lean
def _schedule(flight, i):
    """Queues the earlier one of the two coming events of ball i, if it is in the step."""
    due = min(flight.event[i, IMPACT], flight.event[i, WALL])
    if due <= flight.span.duration:
        push(flight.queue, due, i)


@lean
def predict(flight, i, around, count, time):
    """Predicts and queues the next event of ball i after a change of its path; `around` has the balls around it."""
    ball = ball_at(flight, i, time)
    flight.event[i, IMPACT], flight.mark[i, PARTNER] = np.inf, NO_PARTNER
    _meet_balls(flight, i, ball, around, count, time)
    if ball.free > 0.0:
        _meet_boundaries(flight, i, ball, time)
    _cross(flight, i, ball, time)
    _schedule(flight, i)


@lean
def cross_wall(flight, i, around, time):
    """Moves ball i to the next cell, and predicts its impacts with the balls around that cell that are new to it."""
    cells, wall = flight.cells, flight.mark[i, CELL_WALL]
    axis, side = wall // 2, 1 if wall % 2 else -1
    take_from_cell(cells, i)
    cells.ball[i, CELL + axis] += side
    if not 0 <= cells.ball[i, CELL + axis] < cells.counts[axis]:  # across a periodic side
        cells.ball[i, CELL + axis] -= side * cells.counts[axis]
        flight.path[i, PLACE + axis] -= side * cells.period[axis]
    put_in_cell(cells, i)
    ball = ball_at(flight, i, time)
    _meet_balls(flight, i, ball, around, put_around(cells, i, axis, side, around), time)
    _cross(flight, i, ball, time)
    _schedule(flight, i)
