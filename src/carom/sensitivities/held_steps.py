"""Bodies that a single contact holds for a whole step: a kernel writes their piece of the tape.

A step at rest is a map of the state at its start to that at its end, without any impact in between. Most steps of
bodies at rest are of this kind, so that the start and the end of a hold are one event here. All others are in `holds`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .active_set import (
    CLOSED,
    Island,
    island_rows,
    solved,
)
from .contact_map import (
    BEFORE,
    BODY,
    GRAVITY,
    HELD_ENDS,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LENGTH,
    RESTITUTION,
    STEP,
    A,
    B,
    V,
    closing_speed,
    geometry,
    hold,
    relative_velocity,
    slides,
)
from .held_slopes import held_slopes
from .search import find_contact, put_actor
from .single import contact_numbers, contact_places
from .tape import Tape

PUSHED = 1e-9  # normal impulse, relative to the largest of an impact, up to which a contact took no part
STRAYED = 1e-5  # difference of a state from that of the stepper, relative, up to which a run counts as followed
ROUNDED = 1e-9  # error of a velocity from rounding, relative to the speeds of which it is the difference
RESTARTED = 1e-8  # relative difference; if it is larger, a step begins at the state of the stepper
SAME_END = 1e-9  # difference of two times, in steps, up to which a hold ends at the later one
TINY = 1e-300  # speed
NUMBERS = 12  # position, rotation and velocities of an actor


class Rule(NamedTuple):
    """How a stepper holds bodies for whole steps, and how steps are compared with its states."""

    closes: bool  # whether open gaps are closed until the end
    slow: float  # speed of rest; 0 where bodies always move at their new velocities
    length: float  # scale of the scene
    gained: float  # speed that gravity adds in a step


class Steps(NamedTuple):
    """k steps one after the other; the contacts of step i are `ptr[i]:ptr[i + 1]`."""

    ptr: Ints  # (k + 1,)
    time: Floats  # (k + 1,) from time[i] to time[i + 1]
    position: Floats  # (k, n, D) of the stepper at the ends; empty if they are not compared here
    velocity: Floats  # (k, n, d)


class Motion(NamedTuple):
    """Bodies before and after the end of a hold."""

    actor: Ints  # (k,)
    begin: Floats  # (k,) times
    end: Floats  # (k,)
    begun: Floats  # (k, 12) at its start, with the velocities at which they move
    ended: Floats  # (k, 12) at its end


@kernel
def falling(z, free, time):
    """The numbers of a contact with the velocities at the end of free motion."""
    out = z.copy()
    for k in range(3):
        out[A + V + k] += time * z[GRAVITY + k] if free[0] else 0.0
        out[B + V + k] += time * z[GRAVITY + k] if free[1] else 0.0
    return out


@kernel
def share_of_one(z, kind, free, values, push, slow):
    """The share of the mean velocity at which the bodies of one contact move: see `stepping.resting`.

    `values` (37,) are those of a hold without it, and `push` is its impulse (normal part, vector).
    """
    after = z.copy()
    for k in range(6):
        after[A + V + k], after[B + V + k] = values[6 + k], values[18 + k]
    _, nx, ny, nz, px, py, pz = geometry(z, kind)
    ux, uy, uz = relative_velocity(z, px, py, pz)
    _, _, _, _, px, py, pz = geometry(after, kind)
    vx, vy, vz = relative_velocity(after, px, py, pz)
    old, new = push[1] * ux + push[2] * uy + push[3] * uz, push[1] * vx + push[2] * vy + push[3] * vz
    if abs(nx * ux + ny * uy + nz * uz) > CLOSED * slow or old + new > CLOSED * slow * push[0]:
        return 0.0
    gained = 0.0
    for side in range(2):
        body = A if side == 0 else B
        for k in range(6 if free[side] else 0):
            inverse = z[body + (INVERSE_MASS if k < 3 else INVERSE_INERTIA)]
            if inverse > 0.0:
                gained += 0.5 * (after[body + V + k] - z[body + V + k]) ** 2 / inverse
    e0, e1 = min(new - gained, 0.0), 0.5 * (old + new)
    return 1.0 if e1 <= 0.0 else -e0 / (e1 - e0)


@kernel
def _at_end(out, time, share):
    """Positions and velocities at the end of a hold from the numbers of `hold`, in their first 24 places."""
    half = 0.5 * share
    whole = 1.0 / (1.0 - half)
    for at in (0, 12):
        for k in range(6):
            moved = out[at + 6 + k]
            out[at + k] += time * moved
            if share > 0.0:
                out[at + 6 + k] = (moved - half * out[BEFORE + at // 2 + k]) * whole


@kernel
def alone_contacts(layout, since, given, span, start):
    """Which of the contacts `span` (first, last) of a step that begins at `start` hold their bodies by themselves.

    Also returns which of them push. Bodies are held from the start of the step on: no impact came before.
    """
    first, last = span
    alone, pushed = np.zeros(last - first, np.bool_), np.zeros(last - first, np.bool_)
    largest, count = 0.0, np.zeros(len(layout.free), np.int64)
    for i in range(first, last):
        largest = max(largest, given.normal[i])
    for i in range(first, last):
        pushed[i - first] = given.normal[i] > PUSHED * largest
        for side in range(2):
            count[given.pair[i, side]] += pushed[i - first]
    for i in range(first, last):
        moves, single = False, pushed[i - first]
        for side in range(2):
            actor = given.pair[i, side]
            moves = moves or layout.free[actor]
            single = single and not layout.follows[actor]
            if layout.free[actor]:
                single = single and count[actor] == 1 and since[actor] <= start
        alone[i - first] = single and moves
    return alone, pushed


@kernel
def strayed(cast, free, time, position, velocity, rule):
    """The largest difference between the free bodies and a state of the stepper at a time, relative.

    A slow body is not measured by fast ones, or by what gravity adds: these make rounding errors alone.
    """
    n, dim = position.shape
    size, fastest, off, q = rule.length, 0.0, 0.0, np.empty(BODY)
    for i in range(n):
        for k in range(dim):
            size, fastest = max(size, abs(position[i, k])), max(fastest, abs(velocity[i, k]))
    for i in range(n):
        if not free[i]:
            continue
        put_actor(cast, i, time, q, 0)
        speed = 0.0
        for k in range(dim):
            speed = max(speed, abs(velocity[i, k]))
        speed = max(speed + ROUNDED / STRAYED * (rule.gained + fastest), TINY)
        for k in range(dim):
            one = max(abs(q[k] - position[i, k]) / size, abs(q[V + k] - velocity[i, k]) / speed)
            if not one <= off:
                off = one if one == one else np.inf
    return off


@kernel
def island_of(layout, z, who, time, extra):
    """The island of contacts `who` (m, 4) with numbers z (m, LENGTH), the places of all its numbers, and its bodies.

    There is room for `extra` numbers after those of the contacts.
    """
    m, n, wide = len(who), 0, 0
    places, bodies = np.empty(m * LENGTH, np.int64), np.empty(2 * m, np.int64)
    inside, column = np.empty((m, LENGTH), np.int64), np.empty((m, LENGTH), np.int64)
    kind, pair, count = np.empty(m, np.int64), np.full((m, 2), -1), np.empty(m, np.int64)
    for c in range(m):
        own, where = contact_places(layout, (who[c, 0], who[c, 1], who[c, 2], who[c, 3]))
        kind[c], count[c] = layout.kind[who[c, 3]], len(own)
        for j in range(len(own)):
            at = 0
            while at < wide and places[at] != where[j]:
                at += 1
            places[at], inside[c, j], column[c, j] = where[j], own[j], at
            wide = max(wide, at + 1)
        for side in range(2):
            if layout.free[who[c, side]]:
                at = 0
                while at < n and bodies[at] != who[c, side]:
                    at += 1
                bodies[at], pair[c, side] = who[c, side], at
                n = max(n, at + 1)
    island = Island(z, kind, pair, inside, column, count, wide + extra, n, time, layout.dimension == 2)
    return island, places[:wide], bodies[:n]


@kernel
def along_rows(rows, impulse):
    """Impulses (m, 1 + t) along normals and tangents from vectors (m, 3)."""
    out = np.zeros(rows.base.shape)
    for c in range(len(out)):
        for s in range(out.shape[1]):
            for k in range(3):
                out[c, s] += rows.direction[c, s, k] * impulse[c, k]
    return out


@kernel
def _by_numbers(z, kind, how, ins, outs, slopes):
    """The derivatives (outs, ins) of a hold for a step, up to its end, number by number.

    `how` are the mode, flags of free bodies, the time, whether the gap closes, and the share; `slopes` is written.
    """
    mode, free, time, closes, share = how
    moved, beside = np.empty(LENGTH, np.complex128), np.empty(LENGTH, np.complex128)
    ends = np.empty(HELD_ENDS, np.complex128)
    for j in range(len(ins)):
        for k in range(LENGTH):
            moved[k] = z[k]
        moved[ins[j]] = complex(z[ins[j]], STEP)
        hold(moved, (kind, mode, free, time, closes, False, share), complex(0.0, 0.0), ends, beside)
        _at_end(ends, time, share)
        for k in range(len(outs)):
            slopes[k, j] = ends[outs[k]].imag / STEP


@kernel
def _hold_map(layout, who, z, how, push, ins, outs, slopes):
    """The same from the active set of the contact `who` with the impulse `push`; False if that is not its answer."""
    _, free, time, closes, share = how
    chain, impulse = np.empty((1, LENGTH)), np.empty((1, 3))
    chain[0] = z
    impulse[0, 0], impulse[0, 1], impulse[0, 2] = push[1], push[2], push[3]
    island, _, _ = island_of(layout, chain, np.array([[who[0], who[1], who[2], who[3]]]), time, 0)
    closing = np.zeros(1)
    if closes:
        closing[0] = closing_speed(chain[0], island.kind[0], free, time, np.empty(12))
    rows = island_rows(island, closing)
    active, good = solved(island, rows, along_rows(rows, impulse))
    if not good:
        return False
    pose, old, new = held_slopes(island, rows, active, np.empty(0), False)
    half = 0.5 * share
    for k in range(len(outs)):
        body, at = outs[k] // NUMBERS if free[0] else 0, outs[k] % NUMBERS
        for j in range(len(ins)):
            place = at % 6
            moves = new[body, place, j] + half * (old[body, place, j] - new[body, place, j])
            if at < V:
                slopes[k, j] = pose[body, place, j] + time * moves
            elif share > 0.0:
                slopes[k, j] = (moves - half * old[body, place, j]) / (1.0 - half)
            else:
                slopes[k, j] = moves
    return True


@kernel
def _new_tape(m, steps, free):
    """Room for the holds of m contacts, and for the states of some steps with so many free bodies."""
    events, bodies, p = m + steps, 2 * m + steps * free, m + steps + 1
    ptr = (np.zeros(p, np.int64), np.zeros(p, np.int64), np.zeros(p, np.int64), np.zeros(p, np.int64))
    flown = np.empty(bodies, np.int64), np.empty(bodies), np.empty(bodies, np.bool_)
    numbers = np.empty(LENGTH * m, np.int64), np.empty(2 * NUMBERS * m, np.int64)
    tape = Tape(
        np.empty(events), ptr[0], flown[0], flown[1], flown[2], np.ones(bodies, np.bool_), ptr[1], numbers[0], ptr[2],
        numbers[1], ptr[3], np.empty(2 * NUMBERS * LENGTH * m), 0,
    )  # fmt: skip
    where = np.empty((bodies, NUMBERS)), np.empty((bodies, NUMBERS))
    return tape, Motion(np.empty(bodies, np.int64), np.empty(bodies), np.empty(bodies), where[0], where[1])


@kernel
def _put_state(layout, cast, time, position, velocity, e, tape, motion):
    """Writes event e, after which all free bodies are at a state of the stepper."""
    (n, dim), body = position.shape, tape.body_ptr[e]
    for i in range(n):
        if not layout.free[i]:
            continue
        tape.body[body], tape.flight[body], tape.fell[body] = i, time - cast.since[i], cast.falls[i]
        put_actor(cast, i, time, cast.actors[i], 0)
        for k in range(dim):
            cast.actors[i, k], cast.actors[i, V + k] = position[i, k], velocity[i, k]
        cast.since[i], cast.falls[i] = time, True
        motion.actor[body], motion.begin[body], motion.end[body] = i, time, time
        for k in range(NUMBERS):
            motion.begun[body, k] = motion.ended[body, k] = cast.actors[i, k]
        body += 1
    tape.time[e], tape.body_ptr[e + 1] = time, body
    tape.in_ptr[e + 1], tape.out_ptr[e + 1], tape.slope_ptr[e + 1] = tape.in_ptr[e], tape.out_ptr[e], tape.slope_ptr[e]


@kernel
def _put_hold(layout, cast, vector, contact, times, rule, e, tape, motion):
    """Writes event e, the hold of a contact (pair, hint) for a step; False if the contact is not found."""
    begin, end = times
    found = find_contact(cast, (contact[0], contact[1]), contact[2], rule.length, times, False)
    if found.ball_feature < 0:
        return False
    planar, time = layout.dimension == 2, end - begin
    who = (found.ball, found.other, found.ball_feature, found.other_feature)
    z, kind = contact_numbers(layout, cast, who, begin, vector), layout.kind[who[3]]
    z[RESTITUTION] = 0.0
    values, work, outs = np.empty(HELD_ENDS), np.empty(LENGTH), np.empty(2 * NUMBERS, np.int64)
    free = (bool(layout.free[who[0]]), bool(layout.free[who[1]]))
    closing = closing_speed(z, kind, free, time, work) if rule.closes else 0.0
    mode = slides(falling(z, free, time), kind, planar, max(closing, 0.0))
    closes, share = closing > 0.0, 0.0
    push = hold(z.copy(), (kind, mode, free, time, closes, False, 0.0), 0.0, values, work)
    if rule.slow > 0.0:
        share = share_of_one(z, kind, free, values, push, rule.slow)
        hold(z.copy(), (kind, mode, free, time, closes, False, share), 0.0, values, work)
    ins, where = contact_places(layout, who)
    count, body = 0, tape.body_ptr[e]
    for side in range(2):
        actor = who[side]
        if not free[side]:
            continue
        tape.body[body], tape.flight[body], tape.fell[body] = actor, begin - cast.since[actor], cast.falls[actor]
        motion.actor[body], motion.begin[body], motion.end[body] = actor, begin, end
        for k in range(NUMBERS):
            motion.begun[body, k] = values[NUMBERS * side + k]
            if not planar or k % 6 in (0, 1, 5):
                outs[count], tape.outs[tape.out_ptr[e] + count], count = NUMBERS * side + k, BODY * actor + k, count + 1
        body += 1
    _at_end(values, time, share)
    tape.body_ptr[e + 1] = body
    for side in range(1, -1, -1):
        if free[side]:
            body -= 1
            cast.since[who[side]], cast.falls[who[side]] = end, True
            for k in range(NUMBERS):
                motion.ended[body, k] = cast.actors[who[side], k] = values[NUMBERS * side + k]
    for j in range(len(ins)):
        tape.ins[tape.in_ptr[e] + j] = where[j]
    first, size = tape.slope_ptr[e], count * len(ins)
    slopes = tape.slopes[first : first + size].reshape(count, len(ins))
    how = (mode, free, time, closes, share)
    if not _hold_map(layout, who, z, how, push, ins, outs[:count], slopes):
        _by_numbers(z, kind, how, ins, outs[:count], slopes)
    tape.time[e] = end
    tape.in_ptr[e + 1], tape.out_ptr[e + 1] = tape.in_ptr[e] + len(ins), tape.out_ptr[e] + count
    tape.slope_ptr[e + 1] = first + size
    return True


@kernel
def held_steps(layout, cast, vector, given, alone, steps, rule):
    """The tape of contacts `given` that hold their bodies by themselves for whole steps.

    With an empty mask `alone`, steps are followed until the first one that has other contacts as well, or until a
    state differs from that of the stepper; with a mask (m,) one step is, for the contacts in it.
    Also returns the motion of the bodies, the number of steps, and whether all contacts were found; otherwise the tape
    is of no use. Actors of `cast` get their numbers at the end.
    """
    m, every = len(given.normal), len(alone) == 0
    e, done, good, free = 0, 0, True, np.count_nonzero(layout.free)
    tape, motion = _new_tape(m, len(steps.position), free)
    for i in range(len(steps.ptr) - 1):
        first, last, times = steps.ptr[i], steps.ptr[i + 1], (steps.time[i], steps.time[i + 1])
        chosen = alone
        if every:
            start = times[0] + SAME_END * (times[1] - times[0])
            chosen, pushed = alone_contacts(layout, cast.since, given, (first, last), start)
            if (chosen != pushed).any():
                break
        for c in range(first, last):
            if good and chosen[c - first]:
                contact = (given.pair[c, 0], given.pair[c, 1], given.hint[c])
                good = _put_hold(layout, cast, vector, contact, times, rule, e, tape, motion)
                e += good
        if not good:
            break
        done += 1
        if every and last > first:
            off = strayed(cast, layout.free, times[1], steps.position[i], steps.velocity[i], rule)
            if off > STRAYED:
                break
            if off > RESTARTED:
                _put_state(layout, cast, steps.time[i + 1], steps.position[i], steps.velocity[i], e, tape, motion)
                e += 1
    bodies, ins, outs, slopes = tape.body_ptr[e], tape.in_ptr[e], tape.out_ptr[e], tape.slope_ptr[e]
    out = Tape(
        tape.time[:e].copy(), tape.body_ptr[: e + 1].copy(), tape.body[:bodies].copy(), tape.flight[:bodies].copy(),
        tape.fell[:bodies].copy(), tape.falls[:bodies].copy(), tape.in_ptr[: e + 1].copy(), tape.ins[:ins].copy(),
        tape.out_ptr[: e + 1].copy(), tape.outs[:outs].copy(), tape.slope_ptr[: e + 1].copy(),
        tape.slopes[:slopes].copy(), layout.gravity_start,
    )  # fmt: skip
    where = Motion(
        motion.actor[:bodies].copy(), motion.begin[:bodies].copy(), motion.end[:bodies].copy(),
        motion.begun[:bodies].copy(), motion.ended[:bodies].copy(),
    )  # fmt: skip
    return out, where, done, good
