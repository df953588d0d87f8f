"""Bodies that a single contact holds for a whole step: a kernel writes their piece of the tape.

A step at rest is a map of the state at its start to that at its end, without any impact in between. Most steps of
bodies at rest are of this kind, so that the start and the end of a hold are one event here. All others are in `holds`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
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
from .search import find_contact
from .single import contact_numbers, contact_places
from .tape import Tape

CLOSED = 1e-5  # normal speed, relative to the speed of rest, up to which a contact counts as closed, as in `resting`
NUMBERS = 12  # position, rotation and velocities of an actor


class Rule(NamedTuple):
    """How a stepper holds bodies for a whole step."""

    begin: float
    end: float
    closes: bool  # whether open gaps are closed until the end
    slow: float  # speed of rest; 0 where bodies always move at their new velocities
    length: float  # scale of the scene


class Motion(NamedTuple):
    """Bodies before and after the end of a hold."""

    actor: Ints  # (k,)
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
def held_steps(layout, cast, vector, given, alone, rule):
    """The tape of the contacts `given` that are marked in `alone` (m,), each of which holds its bodies for a step.

    Also returns the motion of the bodies, and the number of contacts that were found; the tape is of no use unless
    that is all of them. Actors of `cast` get their numbers at the end.
    """
    m, planar, wide = len(alone), layout.dimension == 2, LENGTH
    tall = 12 if planar else 24
    ptr = (np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64))
    body, flight, fell = np.empty(2 * m, np.int64), np.empty(2 * m), np.empty(2 * m, np.bool_)
    all_ins, all_outs = np.empty(wide * m, np.int64), np.empty(tall * m, np.int64)
    all_slopes = np.empty(tall * wide * m)
    motion = Motion(np.empty(2 * m, np.int64), np.empty((2 * m, NUMBERS)), np.empty((2 * m, NUMBERS)))
    values, ends, work = np.empty(HELD_ENDS), np.empty(HELD_ENDS, np.complex128), np.empty(LENGTH)
    moved, beside = np.empty(LENGTH, np.complex128), np.empty(LENGTH, np.complex128)
    outs, time, e, bodies = np.empty(24, np.int64), rule.end - rule.begin, 0, 0
    for i in range(m):
        if not alone[i]:
            continue
        pair = (given.pair[i, 0], given.pair[i, 1])
        found = find_contact(cast, pair, given.hint[i], rule.length, (rule.begin, rule.end), False)
        if found.ball_feature < 0:
            break
        who = (found.ball, found.other, found.ball_feature, found.other_feature)
        z, kind = contact_numbers(layout, cast, who, rule.begin, vector), layout.kind[who[3]]
        z[RESTITUTION] = 0.0
        free = (bool(layout.free[who[0]]), bool(layout.free[who[1]]))
        closing = closing_speed(z, kind, free, time, work) if rule.closes else 0.0
        mode = slides(falling(z, free, time), kind, planar, max(closing, 0.0))
        closes, share = closing > 0.0, 0.0
        push = hold(z.copy(), (kind, mode, free, time, closes, False, 0.0), 0.0, values, work)
        if rule.slow > 0.0:
            share = share_of_one(z, kind, free, values, push, rule.slow)
            hold(z.copy(), (kind, mode, free, time, closes, False, share), 0.0, values, work)
        ins, where = contact_places(layout, who)
        count = 0
        for side in range(2):
            actor = who[side]
            if not free[side]:
                continue
            body[bodies], flight[bodies], fell[bodies] = actor, rule.begin - cast.since[actor], cast.falls[actor]
            motion.actor[bodies] = actor
            for k in range(12):
                motion.begun[bodies, k] = values[12 * side + k]
                if not planar or k % 6 in (0, 1, 5):
                    outs[count], all_outs[ptr[2][e] + count], count = 12 * side + k, BODY * actor + k, count + 1
            bodies += 1
        _at_end(values, time, share)
        at = bodies
        for side in range(1, -1, -1):
            if free[side]:
                at -= 1
                cast.since[who[side]], cast.falls[who[side]] = rule.end, True
                for k in range(12):
                    motion.ended[at, k] = cast.actors[who[side], k] = values[12 * side + k]
        low, first = ptr[1][e], ptr[3][e]
        for j in range(len(ins)):
            all_ins[low + j] = where[j]
            for k in range(LENGTH):
                moved[k] = z[k]
            moved[ins[j]] = complex(z[ins[j]], STEP)
            hold(moved, (kind, mode, free, time, closes, False, share), complex(0.0, 0.0), ends, beside)
            _at_end(ends, time, share)
            for k in range(count):
                all_slopes[first + k * len(ins) + j] = ends[outs[k]].imag / STEP
        e += 1
        ptr[0][e], ptr[1][e], ptr[2][e] = bodies, low + len(ins), ptr[2][e - 1] + count
        ptr[3][e] = first + count * len(ins)
    tape = Tape(
        np.full(e, rule.end), ptr[0][: e + 1], body[:bodies], flight[:bodies], fell[:bodies],
        np.ones(bodies, np.bool_), ptr[1][: e + 1], all_ins[: ptr[1][e]].copy(), ptr[2][: e + 1],
        all_outs[: ptr[2][e]], ptr[3][: e + 1], all_slopes[: ptr[3][e]].copy(), layout.gravity_start,
    )  # fmt: skip
    return tape, Motion(motion.actor[:bodies], motion.begun[:bodies], motion.ended[:bodies]), e
