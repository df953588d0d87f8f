"""Impacts of one contact, by their closed form: a kernel follows any number of them, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .contact_map import (
    BALL,
    BODY,
    ENDS,
    FEATURE,
    FRICTION,
    GRAVITY,
    HOLLOW,
    INVERSE_MASS,
    LENGTH,
    OF_BALL,
    OF_OTHER,
    RADIUS,
    RESTITUTION,
    SHIFT,
    A,
    B,
    V,
    linear_map,
    slides,
)
from .model import RECORD
from .search import find_contact, put_contact
from .tape import Event, Tape

OUTS = ENDS + 1  # numbers of two free bodies that an impact changes: each has the record of its time
CLOSED_FORM = 1e-6  # relative difference from the impulse of the stepper up to which the closed form is that of the law


class Given(NamedTuple):
    """Contacts as the stepper reports them."""

    pair: Ints  # (m, 2) actors
    hint: Floats  # (m, 6) normal and point
    normal: Floats  # (m,) impulse
    impulse: Floats  # (m, 3) all of it, on the second actor

    def part(self, first: int, last: int) -> Given:
        """Some of the contacts."""
        which = slice(first, last)
        return Given(self.pair[which], self.hint[which], self.normal[which], self.impulse[which])


class Singles(NamedTuple):
    """Events of single contacts; of each row the first `counts` numbers are used."""

    time: Floats  # (m,)
    bodies: Ints  # (m, 2) free bodies
    flights: Floats  # (m, 2)
    ins: Ints  # (m, LENGTH)
    outs: Ints  # (m, OUTS)
    slopes: Floats  # (m, OUTS * LENGTH)
    values: Floats  # (m, ENDS) numbers of both actors after the impact
    counts: Ints  # (m, 3) of bodies, ins, outs
    actors: Ints  # (m, 2) ball and other


@kernel
def contact_places(layout, who):
    """Numbers of z on which the contact `who` (ball, other, their features) depends, and their places in the vector."""
    inside, vector, n, dim = np.empty(LENGTH, np.int64), np.empty(LENGTH, np.int64), 0, layout.dimension
    for side in range(2):
        actor, f = who[side], who[2 + side]
        at, feature = (A, OF_BALL) if side == 0 else (B, OF_OTHER)
        for k in range(BODY):
            moves = dim == 3 or k % 6 in (0, 1, 5)
            # What neither is free nor follows a motion never has a velocity.
            moves = moves and (k < V or layout.free[actor] or layout.follows[actor])
            if (k < INVERSE_MASS and moves) or (k >= INVERSE_MASS and layout.free[actor]):
                inside[n], vector[n], n = at + k, BODY * actor + k, n + 1
        round_ = layout.kind[f] == BALL or layout.kind[f] == HOLLOW
        centered = layout.kind[f] == BALL and layout.ptr[actor + 1] - layout.ptr[actor] == 1
        for k in range(FEATURE):
            used = round_ if k == RADIUS else k % 3 < dim and not (round_ if k >= 3 else centered)
            if used:
                inside[n], vector[n], n = feature + k, layout.feature_start + FEATURE * f + k, n + 1
    pair = layout.material[who[0]] * layout.materials + layout.material[who[1]]
    inside[n], vector[n], n = RESTITUTION, layout.restitution_start + pair, n + 1
    inside[n], vector[n], n = FRICTION, layout.friction_start + pair, n + 1
    for k in range(dim):
        inside[n], vector[n], n = GRAVITY + k, layout.gravity_start + k, n + 1
    return inside[:n], vector[:n]


@kernel
def contact_numbers(layout, cast, who, time, vector):
    """All numbers z of a contact at a time."""
    z = np.zeros(LENGTH)
    put_contact(cast, who, time, z)
    pair = layout.material[who[0]] * layout.materials + layout.material[who[1]]
    z[RESTITUTION], z[FRICTION] = vector[layout.restitution_start + pair], vector[layout.friction_start + pair]
    return z


@kernel
def _put_event(layout, cast, who, time, vector, impulse, timed, i, out):
    """Writes event i of the contact `who` at a time; False if the law answers otherwise. `impulse` is on the other."""
    z, kind = contact_numbers(layout, cast, who, time, vector), layout.kind[who[3]]
    ins, where = contact_places(layout, who)
    outs, n, bodies = np.empty(OUTS, np.int64), 0, 0
    for side in range(2):
        if layout.free[who[side]]:
            out.bodies[i, bodies], out.flights[i, bodies] = who[side], time - cast.since[who[side]]
            bodies += 1
            for k in range(12):
                if layout.dimension == 3 or k % 6 in (0, 1, 5):
                    outs[n], out.outs[i, n], n = 12 * side + k, BODY * who[side] + k, n + 1
            outs[n], out.outs[i, n], n = SHIFT, layout.record_start + RECORD * who[side], n + 1
    mode = slides(z, kind, layout.dimension == 2, 0.0)
    free = (bool(layout.free[who[0]]), bool(layout.free[who[1]]))
    slopes = out.slopes[i, : n * len(ins)].reshape(n, len(ins))
    normal, jx, jy, jz = linear_map(z, (kind, mode, free, timed), ins, outs[:n], out.values[i], slopes)
    off = max(abs(jx - impulse[0]), abs(jy - impulse[1]), abs(jz - impulse[2]))
    out.ins[i, : len(ins)] = where
    out.time[i], out.actors[i, 0], out.actors[i, 1] = time, who[0], who[1]
    out.counts[i, 0], out.counts[i, 1], out.counts[i, 2] = bodies, len(ins), n
    return off <= CLOSED_FORM * max(abs(normal), abs(impulse[0]), abs(impulse[1]), abs(impulse[2]))


@kernel
def new_singles(m):
    """Room for m events."""
    whole, numbers = np.empty((m, OUTS * LENGTH)), np.empty((m, ENDS))
    ints = np.empty((m, LENGTH), np.int64), np.empty((m, OUTS), np.int64), np.empty((m, 3), np.int64)
    two = np.empty((m, 2), np.int64), np.empty((m, 2)), np.empty((m, 2), np.int64)
    return Singles(np.empty(m), two[0], two[1], ints[0], ints[1], whole, numbers, ints[2], two[2])


@kernel
def followed_singles(layout, cast, vector, given, first, span, near, timed):
    """Events of the contacts `given` from `first` on, one after the other, and the number of the next one.

    It ends before a contact that has no closed form, that is not found within `near` (a length scale, and the largest
    miss in units of it), or that has an actor which follows a motion. Actors of `cast` get their numbers after it.
    """
    out, sign = new_singles(len(given.normal)), np.empty(3)
    for i in range(first, len(given.normal)):
        a, b = given.pair[i]
        if given.normal[i] == 0.0 or layout.follows[a] or layout.follows[b]:
            return i, out
        since = span[0]
        for actor in (a, b):
            if layout.free[actor]:
                since = max(since, cast.since[actor])
        found = find_contact(cast, (a, b), given.hint[i], near[0], (since, span[1]), timed)
        if found.ball_feature < 0 or not found.miss <= near[1] * max(near[0], np.abs(given.hint[i]).max()):
            return i, out
        for k in range(3):
            sign[k] = given.impulse[i, k] if found.ball == a else -given.impulse[i, k]
        who = (found.ball, found.other, found.ball_feature, found.other_feature)
        time = found.time if timed else span[0]
        if not _put_event(layout, cast, who, time, vector, sign, timed, i, out):
            return i, out
        for side in range(2):
            if layout.free[who[side]]:
                cast.since[who[side]] = time
                for k in range(12):
                    cast.actors[who[side], k] = out.values[i, 12 * side + k]
    return len(given.normal), out


@kernel
def one_single(layout, cast, vector, who, time, impulse, timed):
    """The event of the contact `who` at a known time, and whether the law answers by the closed form."""
    out = new_singles(1)
    return _put_event(layout, cast, who, time, vector, impulse, timed, 0, out), out


@kernel
def tape_of(found, last, gravity):
    """The tape of the first `last` events."""
    bodies, ins, outs, slopes = 0, 0, 0, 0
    for i in range(last):
        bodies, ins, outs = bodies + found.counts[i, 0], ins + found.counts[i, 1], outs + found.counts[i, 2]
        slopes += found.counts[i, 1] * found.counts[i, 2]
    tape = Tape(
        found.time[:last].copy(), np.zeros(last + 1, np.int64), np.empty(bodies, np.int64), np.empty(bodies),
        np.ones(bodies, np.bool_), np.ones(bodies, np.bool_), np.zeros(last + 1, np.int64), np.empty(ins, np.int64),
        np.zeros(last + 1, np.int64), np.empty(outs, np.int64), np.zeros(last + 1, np.int64), np.empty(slopes), gravity,
    )  # fmt: skip
    for i in range(last):
        bodies, ins, outs = found.counts[i]
        at = tape.body_ptr[i], tape.in_ptr[i], tape.out_ptr[i], tape.slope_ptr[i]
        for k in range(bodies):
            tape.body[at[0] + k], tape.flight[at[0] + k] = found.bodies[i, k], found.flights[i, k]
        for k in range(ins):
            tape.ins[at[1] + k] = found.ins[i, k]
        for k in range(outs):
            tape.outs[at[2] + k] = found.outs[i, k]
        for k in range(ins * outs):
            tape.slopes[at[3] + k] = found.slopes[i, k]
        tape.body_ptr[i + 1], tape.in_ptr[i + 1] = at[0] + bodies, at[1] + ins
        tape.out_ptr[i + 1], tape.slope_ptr[i + 1] = at[2] + outs, at[3] + ins * outs
    return tape


def event_of(found: Singles, i: int) -> Event:
    """Event i."""
    bodies, ins, outs = found.counts[i]
    slopes = found.slopes[i, : ins * outs].reshape(outs, ins)
    return Event(
        float(found.time[i]), found.bodies[i, :bodies], found.flights[i, :bodies], found.ins[i, :ins],
        found.outs[i, :outs], slopes,
    )  # fmt: skip
