"""The impact stage of a step: which contacts an impact involves, when it takes place, and what it changes.

Contacts are found once per step. Impulses change speeds, and with them the gaps at the end of the step, in proportion.

An impact does not take place at the start of a step but when a gap closes. Until then gravity accelerates the bodies,
and a ball that is reflected too early keeps the potential energy of its remaining fall instead of losing the share that
restitution dissipates. Therefore an island of bodies in free fall is resolved with its velocities and its geometry
(`touch.py`) at the time t at which its first fast contact closes; contacts that close later in the step take part as
they are then, and again when they close if they still approach. A change dv of velocity at t is the same as one at the
start with a displacement of `-t dv`: free motion from there passes through the impact. The rotation of bodies with
unequal moments of inertia is traced back by the integrator itself, which is reversible and conserves energy and angular
momentum. Free motion conserves energy and the law adds none, so the step adds none. Bodies that rest on others keep
their velocity of the start, because contact forces balance gravity.

Slow approach is resting contact, whose energy is lost. That would damp elastic bodies: a disc that strikes a drum at a
glancing angle approaches it slowly. Contacts without any dissipation are therefore impacts down to bounces that last
a small fraction of a step, and their speed is that at which they close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import FIRST, GAP, PREDICTED, SECOND
from ..kernels import kernel, lean
from ..solvers.islands import anchored, body_islands, islands
from ..solvers.rows import FRICTION, Floats, row_speed
from .rotation import rotate_body, rotate_body_steadily
from .touch import (
    Struck,
    ball_closing,
    ball_gap_ahead,
    course_of,
    is_ball_contact,
    is_timed,
    may_be_wrong,
    meeting_of,
    put_touching,
)

# Acceleration of a gap, relative to that of free fall, from which a slow contact carries its bodies.
PRESSED_SHARE = 0.05
# Resting speed of contacts without dissipation, relative to that of others, which bodies gain in two steps of free
# fall: a bounce at this speed lasts a fiftieth of a step, as in the time-of-impact step.
ELASTIC_REST = 0.005


class Approach(NamedTuple):
    """Gaps and speeds of all contacts of a step while impacts change the velocities. Kernels write into the arrays."""

    velocity: Floats  # (n, d) whitened, at the start of the step
    shift: Floats  # (n, d) whitened displacement of the start
    orientation: Floats  # (n, 4) at the start, of bodies with unequal moments; empty in 2D and without rotation
    time: Floats  # (n,) of the last impact within the step
    speed: Floats  # (m,) normal speeds
    limit: Floats  # (m,) slower approach is resting contact
    gap: Floats  # (m,) at the start
    predicted: Floats  # (m,) at the end
    # Contacts that took part once take part again: otherwise two neighbors could push a body back and forth.
    taken: NDArray[np.bool_]  # (m,)
    row_time: Floats  # (m, 2) time of the step at which the rows have the two bodies


@kernel(inline="always")
def _is_elastic(rows, restitution, i):
    """Whether an impact at contact i dissipates nothing."""
    return restitution[i] == 1.0 and rows.bound[i, FRICTION] == 0.0


@kernel
def _closing(gap, speed, predicted, last, h):
    """The time from `last` on at which a gap closes, and the speed of approach then.

    The gap is taken as a parabola in time, given by gap and speed at the start and the gap at the end of the step.
    """
    bend = (predicted - gap - h * speed) / (h * h)
    gap, speed = gap + last * (speed + last * bend), speed + 2.0 * last * bend
    if gap <= 0.0 and speed < 0.0:
        return last, -speed
    root = np.sqrt(max(speed * speed - 4.0 * bend * max(gap, 0.0), 0.0))
    if speed < 0.0:
        return min(last + 2.0 * gap / (root - speed), h), root
    return (min(last - 0.5 * (speed + root) / bend, h) if bend < 0.0 else h), root


@kernel
def approach_speeds(rows, x, table, restitution, slow, lengths, h):
    """Normal speeds and resting speeds (2, m), the largest speed, and whether a closing contact approaches fast.

    `table` is that of the contacts. `slow` (n,) are the resting speeds of the bodies; boundaries have none. `lengths`
    are the gap at the end of the step up to which approach and slip count for the largest speed, beside the resting
    speeds, and the gap up to which bodies touch.
    """
    near, touch = lengths
    out, top, fast = np.empty((2, len(table))), 0.0, False
    speed, limit = out
    last = min(1 + rows.tangents, rows.base.shape[1])
    for i in range(len(table)):
        first, second, predicted = int(table[i, FIRST]), int(table[i, SECOND]), table[i, PREDICTED]
        limit[i] = max(slow[first], slow[second] if second >= 0 else 0.0)
        speed[i] = row_speed(rows, x, i, 0) + rows.base[i, 0]
        top = max(top, limit[i])
        if predicted <= near:
            top = max(top, -speed[i])
            for row in range(1, last):
                top = max(top, abs(row_speed(rows, x, i, row) + rows.base[i, row]))
        arrival = -speed[i]
        if _is_elastic(rows, restitution, i):
            limit[i] *= ELASTIC_REST
            if predicted <= touch:
                arrival = _closing(table[i, GAP], speed[i], predicted, 0.0, h)[1]
        fast = fast or (predicted <= touch and arrival > limit[i])
    return out, top, fast


@kernel(inline="always")
def _last_impact(body, approach, i):
    """The time of the last impact of the bodies of contact i."""
    out = 0.0
    for side in range(2):
        if body[i, side] >= 0:
            out = max(out, approach.time[body[i, side]])
    return out


@lean
def _approach_of(rows, approach, restitution, i, h):
    """The speed at which contact i approaches: that at the start, of contacts without dissipation that of closing."""
    speed = approach.speed[i]
    if _is_elastic(rows, restitution, i):
        last = _last_impact(rows.body, approach, i)
        return _closing(approach.gap[i], speed, approach.predicted[i], last, h)[1]
    return -speed


@kernel
def fast_contacts(rows, approach, restitution, h, touch, left):
    """The closing contacts (k,) of the islands in which one approaches fast, ascending. Marks them as taken.

    Approach at most as fast as `left`, the speed that the last application of the law may have left, is not fast; its
    second number is for contacts without dissipation. The energy of approach of the fast contacts follows, and the part
    of it that restitution (m,) may give back.
    """
    body, val, predicted, taken = rows.body, rows.val, approach.predicted, approach.taken
    limit, n = approach.limit, len(approach.velocity)
    fast, energy, returned = np.zeros(len(body), np.bool_), 0.0, 0.0
    for i in range(len(body)):
        if predicted[i] > touch:
            continue
        speed, least = -approach.speed[i], left[0]
        if _is_elastic(rows, restitution, i):
            speed, least = _approach_of(rows, approach, restitution, i, h), left[1]
        if speed > max(limit[i], least):
            fast[i] = True
            size = 0.0
            for side in range(val.shape[1]):
                for c in range(val.shape[3]):
                    size += val[i, side, 0, c] ** 2
            energy += 0.5 * speed**2 / size
            returned += 0.5 * (restitution[i] * speed) ** 2 / size
    any_fast = fast.any()
    out, count = np.empty(len(body) if any_fast else 0, np.int64), 0
    if not any_fast:
        return out, energy, returned
    near = np.flatnonzero(taken | (predicted <= touch))
    found = islands(body, near, np.empty(n, np.int64), np.empty(n, np.int64))
    hot = np.zeros(len(found.ptr) - 1, np.bool_)
    for j in range(len(near)):
        if fast[near[j]]:
            hot[found.label[j]] = True
    for j in range(len(near)):
        if hot[found.label[j]]:
            taken[near[j]] = True
            out[count] = near[j]
            count += 1
    return out[:count], energy, returned


# ---- the time of an impact


@kernel
def strike(axes, rows, approach, flight, start, table, impact, pull):
    """The bodies when an impact strikes them (`Struck`), and the geometry of its contacts then.

    `start` is the table of the contacts at the start of the step, `table` the one that earlier impacts of the step have
    left, `impact` what `struck_bodies` needs. Follow: the table with the contacts `Struck.contacts` replaced, which is
    the one given if there are none; their gaps (k,); the numbers of their rows before, as `put_touching` returns them.
    One kernel: the call from Python of one with that many arrays takes as long as the geometry of sixty contacts.
    """
    restitution, chosen, near = impact
    struck = struck_bodies(rows, approach, flight, start, restitution, chosen, pull, near)
    if len(struck.contacts):
        table = table.copy()
    gap, before = put_touching(axes, flight, approach, struck, rows, start, table)
    return struck, table, gap, before


@kernel
def struck_bodies(rows, approach, flight, table, restitution, chosen, pull, near):
    """The bodies at the times at which the impact of the contacts `chosen` strikes them (`Struck`).

    `pull` (n, d) are the whitened accelerations of gravity, `near` is the gap up to which slow contacts carry their
    bodies.
    """
    time = _instants(rows, approach, flight, table, restitution, chosen, near)
    later = _later_contacts(rows.body, time, chosen, flight, table)
    return _bodies_at(rows, approach, flight, table, pull, (time, chosen, later))


@kernel
def contact_times(body, time, chosen):
    """The times (k,) at which the contacts `chosen` are struck, from those of their bodies (n,)."""
    out = np.zeros(len(chosen))
    for j in range(len(chosen)):
        for side in range(2):
            b = body[chosen[j], side]
            if b >= 0:
                out[j] = max(out[j], time[b])
    return out


@kernel
def held_bodies(axes, rows, approach, flight, start, table, pull):
    """The whitened velocities (n, d), spins of the last impact of each body, from which on it is held; orientations.

    The orientations (n, 4) at that time follow, in 2D none. Replaces contacts in `table`, and their rows, which have a
    body at another time. Other arguments are those of `put_touching`.
    """
    contacts = _outdated_contacts(rows, approach, flight, start)
    at = _bodies_at(rows, approach, flight, start, pull, (approach.time, contacts, contacts))
    if len(at.orientation):  # also of bodies that only contacts of later searches hold
        _put_all_orientations(approach, flight, at, np.empty((2, 3)))
    if len(contacts):
        put_touching(axes, flight, approach, at, rows, start, table)
    velocity = approach.velocity.copy()
    for b in range(len(velocity) if len(at.orientation) else 0):
        for c in range(3, 6):
            velocity[b, c] = at.velocity[b, c]
    return velocity, at.orientation


@kernel
def _bodies_at(rows, approach, flight, table, pull, when):
    """The bodies that take part at given times (n,), with orientations of those of the contacts `turning`."""
    (time, turning, contacts), (n, d) = when, approach.velocity.shape
    velocity, place = np.empty_like(approach.velocity), np.empty((n, flight.position.shape[1]))
    for b in range(n):
        for c in range(d):
            velocity[b, c] = approach.velocity[b, c] + time[b] * pull[b, c]
    out = Struck(time, place, velocity, np.empty_like(approach.orientation), contacts)
    _put_places(flight, approach, out)
    if len(out.orientation):
        _put_orientations(rows.body, approach, flight, table, turning, out, (np.zeros(n, np.bool_), np.empty((2, 3))))
    return out


@kernel
def _later_contacts(body, time, chosen, flight, table):
    """Those of the contacts `chosen` whose geometry is not that of the start, ascending.

    They have a body whose time (n,) is later; if there are any, also contacts of bodies that are not round: their
    predicted gaps include the curvature of a rotation that an impact at the start changes. Contacts of bodies whose
    impacts are not timed keep the geometry of the start, of which the rows on the motions that joints allow are made.
    """
    out = np.empty(len(chosen), np.int64)
    return out[: _put_later_contacts(body, time, chosen, flight, table, out)]


@lean
def _put_later_contacts(body, time, chosen, flight, table, out):
    """Writes them; returns their number."""
    count, any_later = 0, False
    for i in chosen:
        who = course_of(table, body, i)
        if not is_timed(flight, who):
            continue
        later = (who.one >= 0 and time[who.one] > 0.0) or (who.other >= 0 and time[who.other] > 0.0)
        any_later = any_later or later
        if later or not is_ball_contact(flight, who):
            out[count] = i
            count += 1
    return count if any_later else 0


@lean
def _put_orientations(body, approach, flight, table, chosen, struck, scratch):
    """Writes the orientations of the bodies of the contacts `chosen`; `scratch` are flags (n,) and vectors (2, 3)."""
    done, vectors = scratch
    orientation, now, is_round, even = approach.orientation, struck.orientation, flight.is_round, flight.masses.even
    for i in chosen:
        for side in range(2):
            b, number = body[i, side], int(table[i, FIRST + side])
            if b < 0 or done[b]:
                continue
            done[b] = True
            for c in range(4):
                now[b, c] = orientation[b, c]
            if struck.time[b] > 0.0 and not (is_round[number] and even[number]):
                _rotate(approach, flight, struck, number, b, vectors)


@lean
def _put_all_orientations(approach, flight, struck, vectors):
    """Writes the orientations of all bodies that take part."""
    bodies, is_round, even = flight.bodies, flight.is_round, flight.masses.even
    for b in range(len(struck.time)):
        number = bodies[b] if len(bodies) else b
        for c in range(4):
            struck.orientation[b, c] = approach.orientation[b, c]
        if struck.time[b] > 0.0 and not (is_round[number] and even[number]):
            _rotate(approach, flight, struck, number, b, vectors)


@lean
def _put_places(flight, approach, struck):
    """Writes where the bodies that take part are when they are struck."""
    position, bodies, root, gravity = flight.position, flight.bodies, flight.masses.root, flight.masses.gravity
    velocity, shift, time, place = approach.velocity, approach.shift, struck.time, struck.position
    for b in range(len(time)):
        number, t = bodies[b] if len(bodies) else b, time[b]
        for c in range(place.shape[1]):
            moved = root[number, c] * (shift[b, c] + t * velocity[b, c])
            place[b, c] = position[number, c] + (moved + 0.5 * t * t * gravity[c])


@lean
def _rotate(approach, flight, struck, number, b, scratch):
    """Rotates a body to when it is struck, and writes the spin of unequal moments then; `number` in the world."""
    masses, q, time = flight.masses, struck.orientation[b], struck.time[b]
    spin, turn, root = scratch[0], scratch[1], masses.root[number]
    for c in range(3):
        spin[c], turn[c] = approach.velocity[b, 3 + c] * root[3 + c], approach.shift[b, 3 + c] * root[3 + c]
    if masses.even[number]:
        rotate_body_steadily(q, spin, time)
        rotate_body_steadily(q, turn, 1.0)
        return
    rotate_body(q, spin, masses.inertia[number], True, time, masses.scheme)
    for c in range(3):
        struck.velocity[b, 3 + c] = spin[c] / root[3 + c] if root[3 + c] > 0.0 else 0.0


@kernel
def _outdated_contacts(rows, approach, flight, table):
    """The contacts (k,) whose rows do not have a body at its last impact, ascending; without those of balls at rest on
    something fixed, and of balls that are struck at different times."""
    out = np.empty(len(table), np.int64)
    return out[: _put_outdated_contacts(rows, approach, flight, table, out)]


@lean
def _put_outdated_contacts(rows, approach, flight, table, out):
    """Writes them; returns their number."""
    count = 0
    for i in range(len(table)):
        who, outdated = course_of(table, rows.body, i), False
        if not is_timed(flight, who):
            continue
        if is_ball_contact(flight, who) and (
            who.one < 0 or who.other < 0 or approach.time[who.one] != approach.time[who.other]
        ):
            continue
        for side in range(2):
            b = rows.body[i, side]
            outdated = outdated or (b >= 0 and approach.row_time[i, side] != approach.time[b])
        if outdated:
            out[count] = i
            count += 1
    return count


@kernel
def _instants(rows, approach, flight, table, restitution, chosen, near):
    """For each island the time at which the first fast contact closes, not before the last impact of a body.

    It is 0 for bodies that rest on something fixed, and for islands with a body whose impacts are not timed. Bodies
    that were struck later in the step keep their later time: one time for all of them gained energy in a pile.
    """
    body, h = rows.body, flight.h
    gap, predicted, speed, limit = approach.gap, approach.predicted, approach.speed, approach.limit
    n, slow = len(approach.time), np.empty(len(chosen), np.int64)
    found = islands(body, chosen, np.empty(n, np.int64), np.empty(n, np.int64))
    first = np.full(len(found.ptr) - 1, h)
    count = _put_closing(rows, approach, flight, table, restitution, chosen, near, (found.label, first, slow))
    for j in range(len(chosen)):
        if not is_timed(flight, course_of(table, body, chosen[j])):
            first[found.label[j]] = 0.0
    resting = islands(body, slow[:count], np.empty(n, np.int64), np.empty(n, np.int64))
    carried, group = np.zeros(len(resting.ptr) - 1, np.bool_), body_islands(body, resting, n)
    lying = anchored(body, resting)
    for j in range(count):
        i = slow[j]
        # Free fall of one body alone closes a gap by h limit / 4. In flight rotation does so, too.
        if lying[resting.label[j]] and predicted[i] - gap[i] - h * speed[i] < -PRESSED_SHARE * 0.25 * h * limit[i]:
            carried[resting.label[j]] = True
    out = approach.time.copy()
    for j in range(len(chosen)):
        for side in range(2):
            b = body[chosen[j], side]
            if b >= 0 and not (group[b] >= 0 and carried[group[b]]):
                out[b] = max(out[b], first[found.label[j]])
    return out


@lean
def _put_closing(rows, approach, flight, table, restitution, chosen, near, out):
    """Writes the time at which the first fast contact of each island closes; returns the number of slow contacts.

    `out` are the islands of the contacts `chosen` (k,), their times, and room for the numbers of slow contacts.
    """
    (label, first, slow), body, h, count = out, rows.body, flight.h, 0
    gap, predicted, speed, limit = approach.gap, approach.predicted, approach.speed, approach.limit
    for j in range(len(chosen)):
        i = chosen[j]
        fast = speed[i] < -limit[i] and predicted[i] <= gap[i]
        if not fast and _is_elastic(rows, restitution, i) and predicted[i] <= 0.0:
            fast = _approach_of(rows, approach, restitution, i, h) > limit[i]
        if fast:
            last = _last_impact(body, approach, i)
            time = _closing(gap[i], speed[i], predicted[i], last, h)[0]
            who = course_of(table, body, i)
            if is_ball_contact(flight, who):
                meeting = meeting_of(flight, approach.velocity, approach.shift, table, i, who)
                time = ball_closing(flight, meeting, who, last, time)
            first[label[j]] = min(first[label[j]], time)
        elif abs(speed[i]) <= limit[i] and gap[i] <= near:
            slow[count] = i
            count += 1
    return count


# ---- what it changes


@lean
def displace(rows, shift, gap):
    """Adds the effect of the whitened displacement `shift` (n, d) of the start to the gaps, in place."""
    for i in range(len(gap)):
        gap[i] += row_speed(rows, shift, i, 0)


@kernel
def change_velocity(rows, approach, flight, struck, after, table, gap, pull):
    """Changes the whitened velocities to `after` (n, d) at the times at which bodies are struck.

    Writes into `approach`: velocities and displacements of the start that lead there, and what they change at each
    contact. Those of `struck.contacts` have the gaps `gap` (k,) at these times. `pull` (n, d) are the whitened
    accelerations of gravity.
    """
    changed, moved = np.zeros(len(after), np.bool_), np.zeros(len(table), np.bool_)
    change = after - struck.velocity
    _change_bodies(approach, flight, struck, after, (changed, change, np.empty(3)))
    _change_contacts(rows, approach, struck, flight.h, (changed, change, moved))
    _at_touch(rows, approach, struck, after, gap, pull, flight.h, moved)
    _predict_balls(rows.body, approach, flight, table, moved)


@lean
def _change_bodies(approach, flight, struck, after, scratch):
    """Changes velocities and places of bodies at the start, such that free motion passes through their impacts.

    `scratch` are flags (n,) of changed bodies, which are written, changes of velocity (n, d) at the impacts, which
    become those at the start, and a vector.
    """
    (changed, change, spin), bodies, even = scratch, flight.bodies, flight.masses.even
    velocity, shift, last, d = approach.velocity, approach.shift, approach.time, after.shape[1]
    for b in range(len(change)):
        t, number = struck.time[b], bodies[b] if len(bodies) else b
        for c in range(d):
            changed[b] |= change[b, c] != 0.0
        if not changed[b]:
            continue
        last[b] = max(last[b], t)
        traced = d == 6 and t > 0.0 and not even[number]
        for c in range(3 if traced else d):
            velocity[b, c] += change[b, c]
            shift[b, c] -= t * change[b, c]
        if traced:
            _trace_back(approach, flight, struck, after, change, (number, b), spin)


@lean
def _change_contacts(rows, approach, struck, h, changes):
    """Adds what changes of velocity change at each contact. `changes` are those of `_change_bodies`, and flags (m,) of
    the contacts that they concern, which are written."""
    (changed, change, moved), body, val, time = changes, rows.body, rows.val, struck.time
    speed, gap, predicted = approach.speed, approach.gap, approach.predicted
    for i in range(len(body)):
        faster = closer = 0.0
        for side in range(body.shape[1]):
            b = body[i, side]
            if b >= 0 and changed[b]:
                moved[i], u = True, 0.0
                for c in range(change.shape[1]):
                    u += val[i, side, 0, c] * change[b, c]
                faster += u
                closer -= time[b] * u
        speed[i] += faster
        gap[i] += closer
        predicted[i] += h * faster + closer


@lean
def _predict_balls(body, approach, flight, table, moved):
    """Corrects the predicted gaps of balls where those that rows give may be wrong, of the contacts `moved`."""
    for i in range(len(moved)):
        if moved[i] and may_be_wrong(table, flight.boundaries, approach, i):
            who = course_of(table, body, i)
            if is_ball_contact(flight, who) and is_timed(flight, who):
                meeting = meeting_of(flight, approach.velocity, approach.shift, table, i, who)
                approach.predicted[i] = ball_gap_ahead(flight, meeting, _last_impact(body, approach, i))


@lean
def _trace_back(approach, flight, struck, after, change, who, spin):
    """Rotates a body with unequal moments from its impact back to the start. Writes orientation, spin and its change.

    `who` is the number of the body in the world, and of those that take part.
    """
    (number, b), masses, time = who, flight.masses, struck.time[who[1]]
    q, root = approach.orientation[b], masses.root[number]
    for c in range(4):
        q[c] = struck.orientation[b, c]
    for c in range(3):
        spin[c] = after[b, 3 + c] * root[3 + c]
    rotate_body(q, spin, masses.inertia[number], True, -time, masses.scheme)
    for c in range(3):
        old = approach.velocity[b, 3 + c]
        approach.velocity[b, 3 + c] = spin[c] / root[3 + c] if root[3 + c] > 0.0 else 0.0
        change[b, 3 + c] = approach.velocity[b, 3 + c] - old


@lean
def _at_touch(rows, approach, struck, after, gap, pull, h, moved):
    """Sets gaps and speeds of the contacts `struck.contacts` from their rows, which are those of the impact."""
    body, val, time = rows.body, rows.val, struck.time
    for j in range(len(gap)):
        i, latest = struck.contacts[j], 0.0
        for side in range(2):
            if body[i, side] >= 0:
                latest = max(latest, time[body[i, side]])
        base = rows.base[i, 0]
        speed, begin, end = base, gap[j] - latest * base, gap[j] + (h - latest) * base
        for side in range(2):
            b = body[i, side]
            if b < 0:
                continue
            u = fall = 0.0
            for c in range(after.shape[1]):
                u += val[i, side, 0, c] * after[b, c]
                fall += val[i, side, 0, c] * pull[b, c]
            t, left = time[b], h - time[b]
            speed += u - t * fall
            begin -= t * (u - 0.5 * t * fall)
            end += left * (u + 0.5 * left * fall)
        approach.speed[i], approach.gap[i], approach.predicted[i] = speed, begin, end
        moved[i] = True
