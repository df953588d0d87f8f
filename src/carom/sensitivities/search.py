"""The features that meet in a contact of a run, and the exact time at which they do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .contact_map import BALL, BODY, FEATURE, GRAVITY, LENGTH, OF_BALL, OF_OTHER, A, B, V, geometry, relative_velocity

SAMPLES = 48  # times at which the contact of the stepper is looked for, between the last impact and the end of its step
NEWTON_STEPS = 60
SAME_TIME = 4e-16  # relative change of the time at which Newton's method has converged


class Cast(NamedTuple):
    """The actors of a run at some instant, for kernels."""

    actors: Floats  # (actors, 14) each at its own time
    since: Floats  # (actors,) that time
    falls: np.ndarray  # (actors,) whether gravity moves an actor: free ones that no contact holds
    ptr: Ints  # features of the actors
    kind: Ints
    feature: Floats  # (f, 7)
    gravity: Floats  # (3,)


class Found(NamedTuple):
    """The features of a contact."""

    ball: int  # actor
    other: int  # actor
    ball_feature: int
    other_feature: int
    time: float
    miss: float  # distance from the contact that was looked for, a length


@kernel
def put_actor(cast, actor, time, z, at):
    """Writes the numbers of an actor, flown to a time, into z from the place `at`."""
    t, q = time - cast.since[actor], cast.actors[actor]
    for k in range(BODY):
        z[at + k] = q[k]
    for k in range(6):
        z[at + k] += t * q[V + k]
    if cast.falls[actor]:
        for k in range(3):
            z[at + k] += 0.5 * t * t * cast.gravity[k]
            z[at + V + k] += t * cast.gravity[k]


@kernel
def put_contact(cast, who, time, z):
    """Writes all numbers of the contact `who` (ball, other, their features) at a time, but its coefficients."""
    put_actor(cast, who[0], time, z, A)
    put_actor(cast, who[1], time, z, B)
    for k in range(FEATURE):
        z[OF_BALL + k] = cast.feature[who[2], k]
        z[OF_OTHER + k] = cast.feature[who[3], k]
    for k in range(3):
        z[GRAVITY + k] = cast.gravity[k]


@kernel
def approach(z, kind):
    """The gap of a contact and its rate."""
    gap, nx, ny, nz, px, py, pz = geometry(z, kind)
    vx, vy, vz = relative_velocity(z, px, py, pz)
    return gap, nx * vx + ny * vy + nz * vz


@kernel
def _miss(cast, who, time, hint, length, timed, z):
    """How far a contact at a time is from the contact of the stepper: `hint` (6,), normal from the ball and point."""
    put_contact(cast, who, time, z)
    gap, nx, ny, nz, px, py, pz = geometry(z, cast.kind[who[3]])
    out = abs(gap) if timed else 0.0
    out += np.sqrt((px - hint[3]) ** 2 + (py - hint[4]) ** 2 + (pz - hint[5]) ** 2)
    return out + length * np.sqrt((nx - hint[0]) ** 2 + (ny - hint[1]) ** 2 + (nz - hint[2]) ** 2)


@kernel
def find_contact(cast, pair, hint, length, span, timed):
    """The features of the actors `pair` whose contact is nearest to that of the stepper, and its time.

    `hint` (6,) are normal, from the first to the second, and point. The time is in `span`; if `timed` the gap is zero
    then, otherwise it is the start of the span. `length` weighs normals against points.
    """
    z, own = np.zeros(LENGTH), np.empty(6)
    best, best_time, chosen = np.inf, span[0], (pair[0], pair[1], -1, -1)
    samples = SAMPLES if timed else 1
    for turn in range(2):
        ball, other = pair[turn], pair[1 - turn]
        for k in range(6):
            own[k] = -hint[k] if turn == 1 and k < 3 else hint[k]
        for f in range(cast.ptr[ball], cast.ptr[ball + 1]):
            if cast.kind[f] != BALL:
                continue
            for g in range(cast.ptr[other], cast.ptr[other + 1]):
                if turn == 1 and cast.kind[g] == BALL:
                    continue  # seen in the first turn
                for s in range(samples):
                    time = span[0] + s * (span[1] - span[0]) / max(samples - 1, 1)
                    miss = _miss(cast, (ball, other, f, g), time, own, length, timed, z)
                    if miss < best:
                        best, best_time, chosen = miss, time, (ball, other, f, g)
    if timed and chosen[2] >= 0:
        for k in range(6):
            own[k] = -hint[k] if chosen[0] != pair[0] and k < 3 else hint[k]
        time = touching_time(cast, chosen, best_time, span)
        miss = _miss(cast, chosen, time, own, length, timed, z)
        if miss <= best:  # contacts that touch already do not close
            best, best_time = miss, time
    return Found(chosen[0], chosen[1], chosen[2], chosen[3], best_time, best)


@kernel
def touching_time(cast, who, guess, span):
    """The time at which the gap of a contact closes, by Newton's method from a guess; not before the span."""
    z, time = np.zeros(LENGTH), guess
    kind = cast.kind[who[3]]
    for _ in range(NEWTON_STEPS):
        put_contact(cast, who, time, z)
        gap, rate = approach(z, kind)
        if rate >= 0.0:  # the closest approach is behind: the gap closes earlier
            time = 0.5 * (time + span[0])
            continue
        new = max(time - gap / rate, span[0])
        small = abs(new - time) <= SAME_TIME * max(abs(new), abs(span[1] - span[0]))
        time = new
        if small:
            break
    return time
