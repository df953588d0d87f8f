"""One impact of two balls, or of a ball and a boundary, in closed form, and the record of it.

One contact has the same answer under every law of impact: the normal speed is reversed and multiplied by the
restitution, and friction stops the slip as far as Coulomb's bound allows. The two do not act on each other, because
the normal of a ball passes through its center.
"""

from __future__ import annotations

from typing import NamedTuple

from ..contact.boundaries import point_gap
from ..contact.contact_set import DRIFT, OFFSET, WIDTH, Contact, put
from ..contact.flight import (
    OWNER,
    TRAIT,
    Ball,
    Closing,
    ball_at,
    boundary_at,
    closing_balls,
    closing_boundary,
    image_shift,
)
from ..geometry.rotations import matrix_value
from ..geometry.vectors import Vec3, cross, dot, norm, row3, to_local, to_world
from ..kernels import lean
from ..problem.assemble import tangents_of
from ..solvers.rows import Floats, Ints
from .rotation import rotate_body_steadily

# Counters of a step, and its numbers.
IMPACTS, FIRST_BALL, SECOND_BALL = 0, 1, 2
NOW, FASTEST = 0, 1
INVERSE_MASS, INVERSE_INERTIA, MATERIAL = 0, 1, 2  # columns of `Matter.trait`


class Matter(NamedTuple):
    """What an impact depends on besides the flight, for n bodies in the order of the world, and w boundaries."""

    trait: Floats  # (k, 3) inverse mass, inverse inertia (0 without rotation), material: each triple that bodies have
    boundary_material: Ints  # (w,)
    restitution: Floats  # (k, k)
    friction: Floats  # (k, k)
    center: Floats  # (w, 3) about which boundaries rotate, at the start of the step
    boundary_spin: Floats  # (w, 3)
    turn: Floats  # (n, 1) angles or (n, 4) quaternions, at the times `turned`
    spin: Floats  # (n, 1) or (n, 3), in 3D in the frame of the body
    turned: Floats  # (n,)
    closed_form: bool  # whether the law answers single contacts as `strike` does


class Record(NamedTuple):
    """The impacts of a step, in the order of time, and its counters."""

    table: Floats  # (m, WIDTH or PERIODIC_WIDTH)
    normal: Floats  # (m,) impulses
    tangent: Floats  # (m, 2) impulses along the tangents, the first of them in 2D
    time: Floats  # (m,) from the start of the step
    speeds: Floats  # (3, m) normal speeds before and after, and the energy lost
    counter: Ints  # (3,) impacts in the table, and the two balls, or ball and boundary, of the last impact
    number: Floats  # (2,) the time reached, and the fastest approach


class Meeting(NamedTuple):
    """Two balls that touch, or a ball and a boundary."""

    ball: Ball
    other: Ball  # for a boundary: the velocity of its surface, and a radius of 0
    normal: Vec3  # from the first to the second
    gap: float
    shift: Vec3  # to the periodic image of the second
    closing: Closing


@lean
def meeting_of(flight, i, j, time):
    """The contact of ball i and ball j, or boundary -1 - j, at a time."""
    ball, none = ball_at(flight, i, time), Vec3(0.0, 0.0, 0.0)
    if j < 0:
        boundary, w = boundary_at(flight, -1 - j, time), row3(flight.drift, -1 - j)
        distance, normal = point_gap(boundary, ball.place)
        if normal.x == 0.0 and normal.y == 0.0 and normal.z == 0.0:  # in the middle of a drum
            normal = Vec3(1.0, 0.0, 0.0)
        closing = closing_boundary(boundary, w, ball, normal, flight.span.gravity)
        return Meeting(ball, Ball(none, w, 0.0, 0.0), normal, distance - ball.radius, none, closing)
    other = ball_at(flight, j, time)
    d = other.place - ball.place
    shift = image_shift(flight.cells, d)
    d = d + shift
    apart = norm(d)
    normal = d / apart if apart > 0.0 else Vec3(1.0, 0.0, 0.0)
    closing = closing_balls(ball, other, d, flight.span.gravity)
    return Meeting(ball, other, normal, apart - ball.radius - other.radius, shift, closing)


@lean(inline="always")
def trait_of(flight, matter, i):
    """The row of `Matter.trait` of ball i."""
    return matter.trait[flight.mark[i, TRAIT]]


@lean
def strike(flight, matter, record, i, j, meeting, time):
    """Changes the velocities of ball i and ball j, or ball i at boundary -1 - j, and records it; the speed after."""
    one, two = trait_of(flight, matter, i), trait_of(flight, matter, max(j, 0))
    own, other = int(one[MATERIAL]), int(two[MATERIAL]) if j >= 0 else matter.boundary_material[-1 - j]
    e, mu = matter.restitution[own, other], matter.friction[own, other]
    weight_a, weight_b = one[INVERSE_MASS], two[INVERSE_MASS] if j >= 0 else 0.0
    n, u = meeting.normal, meeting.closing.speed
    # The square of the normal is 1 to rounding, with a bias: the root of a number next to 1 is more often rounded down.
    # Without it the energy of a gas of unit balls grew by 2e-16 of that of a ball in each impact.
    push = -(1.0 + e) * u / ((weight_a + weight_b) * dot(n, n))
    friction, lost = Vec3(0.0, 0.0, 0.0), -0.5 * push * (1.0 - e) * u
    if mu > 0.0:
        friction, work = _friction(flight, matter, i, j, meeting, mu * push, time)
        lost -= work
    impulse = push * n + friction
    _kick(flight, i, -weight_a * impulse)
    if j >= 0:
        _kick(flight, j, weight_b * impulse)
    m = record.counter[IMPACTS]
    record.speeds[0, m], record.speeds[1, m], record.speeds[2, m] = u, -e * u, lost
    _note(flight, matter, record, i, j, meeting, push, friction)
    record.number[FASTEST] = max(record.number[FASTEST], -u)
    return -e * u


@lean(inline="always")
def _kick(flight, i, change):
    """Changes the velocity of ball i, whose path begins now."""
    for k in range(3):
        flight.path[i, 3 + k] += change[k]


@lean
def _friction(flight, matter, i, j, meeting, bound, time):
    """The friction impulse on the second body, which stops the slip or is as large as the bound, and its work.

    Changes the spins.
    """
    a, b, n, none = flight.mark[i, OWNER], flight.mark[j, OWNER] if j >= 0 else j, meeting.normal, Vec3(0.0, 0.0, 0.0)
    r, s = meeting.ball.radius, meeting.other.radius
    spin_a, spin_b = spin_at(matter, a, time), spin_at(matter, b, time) if j >= 0 else none
    one, two = trait_of(flight, matter, i), trait_of(flight, matter, max(j, 0))
    inertia_a, inertia_b = one[INVERSE_INERTIA], two[INVERSE_INERTIA] if j >= 0 else 0.0
    weight = one[INVERSE_MASS] + r * r * inertia_a
    slip = meeting.other.velocity - meeting.ball.velocity - cross(r * spin_a, n)
    if j >= 0:
        weight += two[INVERSE_MASS] + s * s * inertia_b
        slip = slip - cross(s * spin_b, n)
    else:
        moved = time * row3(flight.drift, -1 - j)
        arm = meeting.ball.place + (r + 0.5 * meeting.gap) * n - (row3(matter.center, -1 - j) + moved)
        slip = slip + cross(row3(matter.boundary_spin, -1 - j), arm)
    slip = slip - dot(slip, n) * n
    speed = norm(slip)
    if speed == 0.0 or weight == 0.0:
        return none, 0.0
    friction = -min(1.0 / weight, bound / speed) * slip
    torque = cross(n, friction)
    _set_spin(matter, a, spin_a - r * inertia_a * torque)
    if j >= 0:
        _set_spin(matter, b, spin_b - s * inertia_b * torque)
    return friction, dot(friction, slip) + 0.5 * weight * dot(friction, friction)


@lean
def spin_at(matter, body, time):
    """Angular velocity of a body in the frame of the world, after turning it to a time."""
    elapsed = time - matter.turned[body]
    matter.turned[body] = time
    if matter.turn.shape[1] == 1:
        matter.turn[body, 0] += elapsed * matter.spin[body, 0]
        return Vec3(0.0, 0.0, matter.spin[body, 0])
    rotate_body_steadily(matter.turn[body], matter.spin[body], elapsed)
    return to_world(matrix_value(matter.turn[body]), row3(matter.spin, body))


@lean
def _set_spin(matter, body, spin):
    """Sets the angular velocity of a body, given in the frame of the world."""
    if matter.turn.shape[1] == 1:
        matter.spin[body, 0] = spin.z
        return
    own = to_local(matrix_value(matter.turn[body]), spin)
    for k in range(3):
        matter.spin[body, k] = own[k]


@lean
def _note(flight, matter, record, i, j, meeting, push, friction):
    """Writes an impact at the time reached to the record."""
    m, n = record.counter[IMPACTS], meeting.normal
    record.counter[IMPACTS] = m + 1
    put_meeting(flight, record.table, m, i, j, meeting)
    record.normal[m], record.time[m] = push, record.number[NOW]
    if matter.turn.shape[1] == 1:
        record.tangent[m, 0] = dot(friction, Vec3(-n.y, n.x, 0.0))
    else:
        s, t = tangents_of(n)
        record.tangent[m, 0], record.tangent[m, 1] = dot(friction, s), dot(friction, t)


@lean
def put_meeting(flight, table, m, i, j, meeting):
    """Writes row m of a table of contacts."""
    gap, second = meeting.gap, flight.mark[j, OWNER] if j >= 0 else j
    point = meeting.ball.place + (meeting.ball.radius + 0.5 * gap) * meeting.normal
    put(table, m, flight.mark[i, OWNER], second, Contact(0, gap, gap, meeting.normal, point))
    if table.shape[1] > WIDTH:
        for k in range(3):
            table[m, OFFSET + k], table[m, DRIFT + k] = meeting.shift[k], 0.0
