"""The loop over the events of a step of balls: the next event, its impact, and new predictions.

A single contact is resolved in closed form (`single_impact.py`). Balls that touch others at that instant are another
matter: the loop ends, and leaves their impact to `resolve`.
"""

from __future__ import annotations

import numpy as np

from ..contact.boundaries import point_gap
from ..contact.cells import fetch_around, fetch_cells, put_around, put_in_cell
from ..contact.contact_set import with_room
from ..contact.event_queue import HEAPED, has_room, next_bucket, pop
from ..contact.flight import (
    CELL_WALL,
    IMPACT,
    OWNER,
    PARTNER,
    WALL,
    ball_at,
    begin_path,
    boundary_at,
    cross_wall,
    image_shift,
    is_stale,
    predict,
)
from ..geometry.vectors import dot
from ..kernels import kernel, lean
from ..kernels.prefetch import prefetch
from .single_impact import FIRST_BALL, IMPACTS, NOW, SECOND_BALL, meeting_of, put_meeting, spin_at, strike

# Why the loop has ended.
END, FULL, CLUSTER, REST, BOUND = 0, 1, 2, 3, 4

LARGE_FLIGHT = (
    8_000  # balls, whose rows fill a second cache of 1 MB; measured: 0.96 of the time with 10,000, 1.02 with 4,000
)


# ---- the loop


@lean
def begin_events(flight, around):
    """Sorts the balls into their cells and predicts all first events."""
    for i in range(len(flight.path) - 1, -1, -1):
        put_in_cell(flight.cells, i)
    for i in range(len(flight.path)):
        predict(flight, i, around[0], put_around(flight.cells, i, -1, 0, around[0]), 0.0)


@lean
def run_events(flight, matter, record, around, bound):
    """Events until the end of the step, or until one that the loop leaves to the caller; returns which."""
    event, mark, cells = flight.event, flight.mark, flight.cells
    while True:
        if record.counter[IMPACTS] >= len(record.normal) or not has_room(flight.queue, 2):
            return FULL
        i = pop(flight.queue, event)
        if i < 0:
            if not next_bucket(flight.queue, event):
                return END
            if len(event) >= LARGE_FLIGHT:
                _fetch_bucket(flight)
            continue
        time = min(event[i, IMPACT], event[i, WALL])
        record.number[NOW] = time
        if event[i, WALL] <= event[i, IMPACT]:
            cross_wall(flight, i, around[0], time)
        elif is_stale(flight, i):
            predict(flight, i, around[0], put_around(cells, i, -1, 0, around[0]), time)
        else:
            if bound <= 0:
                return BOUND
            bound -= 1
            answer = _impact(flight, matter, record, around, i, mark[i, PARTNER], time)
            if answer != END:
                return answer


@lean
def _fetch_bucket(flight):
    """Loads what the events of the current bucket will need into the cache: many rows at a time, and not one by one.

    Each loop loads what the next one reads, so that no row is waited for.
    """
    queue, mark, cells = flight.queue, flight.mark, flight.cells
    for k in range(queue.counter[HEAPED]):
        i = queue.heap_body[k]
        partner = mark[i, PARTNER]
        prefetch(flight.path, i)
        if partner >= 0:
            prefetch(flight.path, partner)
            prefetch(mark, partner)
        fetch_cells(cells, i, *_next_wall(flight, i))
    for k in range(queue.counter[HEAPED]):
        i = queue.heap_body[k]
        fetch_around(cells, flight.path, i, *_next_wall(flight, i))


@lean(inline="always")
def _next_wall(flight, i):
    """Axis and side of the wall that ball i crosses next; axis -1 if its next event is another one."""
    if flight.event[i, WALL] > flight.event[i, IMPACT]:
        return -1, 0
    wall = flight.mark[i, CELL_WALL]
    return wall // 2, 1 if wall % 2 else -1


@lean
def _impact(flight, matter, record, around, i, j, time):
    """The impact of ball i with ball j, or boundary -1 - j: END if it is complete, else what the caller has to do."""
    cells, mark = flight.cells, flight.mark
    if j >= 0 and mark[j, OWNER] < mark[i, OWNER]:
        i, j = j, i
    begin_path(flight, i, ball_at(flight, i, time), time)
    near_i, near_j = put_around(cells, i, -1, 0, around[0]), 0
    alone = not flight.free[i] or not _touches_others(flight, i, j, around[0], near_i, time)
    if j >= 0:
        begin_path(flight, j, ball_at(flight, j, time), time)
        near_j = put_around(cells, j, -1, 0, around[1])
        alone = alone and (not flight.free[j] or not _touches_others(flight, j, i, around[1], near_j, time))
    record.counter[FIRST_BALL], record.counter[SECOND_BALL] = i, j
    if not (alone and matter.closed_form):
        return CLUSTER
    meeting = meeting_of(flight, i, j, time)
    closing, answer = meeting.closing, END
    limit = max(closing.noise, -closing.acceleration * flight.span.hop)
    if closing.acceleration < 0.0 and closing.speed >= -limit:
        return REST
    if closing.speed < -closing.noise:
        after = strike(flight, matter, record, i, j, meeting, time)
        if closing.acceleration < 0.0 and after <= limit:
            answer = REST
    if j >= 0:
        predict(flight, j, around[1], near_j, time)
    predict(flight, i, around[0], near_i, time)
    return answer


@lean
def _touches_others(flight, i, j, around, count, time):
    """Whether ball i touches a ball of `around` besides j, or a boundary besides -1 - j."""
    ball, touch = ball_at(flight, i, time), flight.span.touch
    for k in range(count):
        other = around[k]
        if other != j and _touch(flight, ball, ball_at(flight, other, time)):
            return True
    for k in range(len(flight.boundary)):
        if -1 - k != j and point_gap(boundary_at(flight, k, time), ball.place)[0] - ball.radius <= touch:
            return True
    return False


@lean(inline="always")
def _touch(flight, ball, other):
    """Whether two balls touch."""
    d, reach = other.place - ball.place, ball.radius + other.radius + flight.span.touch
    d = d + image_shift(flight.cells, d)
    return dot(d, d) <= reach * reach


# ---- impacts of several contacts


@kernel
def cluster_at(flight, record, around, width):
    """All contacts that touch at the time reached and are connected through free balls to the impact of the record.

    Returns their table, ordered as they were found, and the balls that take part, whose paths begin now.
    """
    time, touch = record.number[NOW], flight.span.touch
    seed, struck = record.counter[FIRST_BALL], record.counter[SECOND_BALL]
    state = np.zeros(len(flight.path), np.int8)  # 1 if found, 2 if its contacts are in the table
    balls, count, done, table, m = np.empty(16, np.int64), 0, 0, np.empty((16, width)), 0
    for i in (seed, struck):
        if i >= 0 and flight.free[i]:
            balls[count], state[i] = i, 1
            count += 1
    while done < count:
        i = balls[done]
        done, state[i] = done + 1, 2
        here = ball_at(flight, i, time)
        if i not in (seed, struck):  # their paths have begun
            begin_path(flight, i, here, time)
        near = put_around(flight.cells, i, -1, 0, around[0])
        balls, table = _with_places(balls, count, near), with_room(table, m, near + len(flight.boundary))
        for k in range(near):
            j = around[0, k]
            meant = (i == seed and j == struck) or (i == struck and j == seed)
            if state[j] == 2 or not (meant or _touch(flight, here, ball_at(flight, j, time))):
                continue
            first, second = (i, j) if flight.mark[i, OWNER] < flight.mark[j, OWNER] else (j, i)
            put_meeting(flight, table, m, first, second, meeting_of(flight, first, second, time))
            m += 1
            if state[j] == 0 and flight.free[j]:
                balls[count], state[j] = j, 1
                count += 1
        for k in range(len(flight.boundary)):
            distance = point_gap(boundary_at(flight, k, time), here.place)[0] - here.radius
            if distance <= touch or (i == seed and struck == -1 - k):
                put_meeting(flight, table, m, i, -1 - k, meeting_of(flight, i, -1 - k, time))
                m += 1
    return table[:m], balls[:count]


@kernel
def _with_places(balls, used, count):
    """The list, or a longer one with the same first entries, that has room for `count` more."""
    if used + count <= len(balls):
        return balls
    grown = np.empty(2 * (used + count), np.int64)
    grown[:used] = balls[:used]
    return grown


@lean
def turn_to(matter, bodies, time):
    """Turns bodies to their orientations at a time."""
    for b in bodies:
        spin_at(matter, b, time)


@lean
def predict_again(flight, around, balls, time):
    """Predicts the next events of balls whose paths have changed: `cluster_at` has let them begin."""
    for i in balls:
        predict(flight, i, around[0], put_around(flight.cells, i, -1, 0, around[0]), time)


@lean
def put_state(flight, time, position, velocity):
    """Writes places and velocities of all bodies at a time, in the order of the world."""
    dim = position.shape[1]
    for i in range(len(flight.path)):
        ball, body = ball_at(flight, i, time), flight.mark[i, OWNER]
        for k in range(dim):
            position[body, k], velocity[body, k] = ball.place[k], ball.velocity[k]


@lean
def put_balls(flight, balls, time, out):
    """Writes places and velocities of some balls at a time to `out` (m, 2, 3)."""
    for m in range(len(balls)):
        ball = ball_at(flight, balls[m], time)
        for k in range(3):
            out[m, 0, k], out[m, 1, k] = ball.place[k], ball.velocity[k]
