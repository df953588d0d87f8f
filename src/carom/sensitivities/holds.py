"""Contacts that are held: from the impulses of a resting solve to the linear map of the bodies that it holds.

A hold lasts from the start of a step, or from an impact within it, to its end; then its bodies move straight. With the
impulses p of the contacts that push, bodies that had the velocity v0 get `v1 = v0 + T g + p` at the end of the time T,
and move at `v1 + share (v0 - v1) / 2` until then (`stepping.resting`). The impulses are those of an inelastic impact at
the velocity `v0 + T g`, so that the active set of a cone problem is differentiated here as well. In 2D under
`time_of_impact` an impact ends the hold of its bodies: they have the part of the change of velocity that is due then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from .active_set import (
    CLOSED,
    LARGEST_ACTIVE_SET,
    island_rows,
    share_of,
    solved,
)
from .contact_map import (
    BEFORE,
    BODY,
    GRAVITY,
    HELD_ENDS,
    LENGTH,
    RESTITUTION,
    SHIFT,
    A,
    B,
    V,
    closing_map,
    closing_speed,
    held_map,
    slides,
)
from .held_slopes import geometry_slopes, held_slopes
from .held_steps import along_rows, falling, island_of, share_of_one
from .impacts import Several, Struck
from .model import RECORD, Model
from .search import Cast, approach
from .single import contact_numbers, contact_places
from .tape import Event


class Holding(NamedTuple):
    """An island of bodies that contacts hold."""

    bodies: Ints  # (k,) free bodies
    begin: float
    end: float  # of the time T
    until: float  # earlier than the end if an impact releases the bodies
    before: Floats  # (k, 6) velocities at the start
    moves: Floats  # (k, 6) those at which the bodies move
    share: float

    @property
    def after(self) -> Floats:
        """Velocities (k, 6) at the end."""
        return (self.moves - 0.5 * self.share * self.before) / (1.0 - 0.5 * self.share)


class Start(NamedTuple):
    """When a hold begins, and what its time depends on."""

    begin: float
    end: float
    clock: int  # body whose last impact sets the time of the start; -1 if that does not depend on anything
    touches: bool  # whether the hold begins when a gap closes, without an impact
    closes: bool  # whether open gaps are closed until the end
    slow: float  # speed of rest; 0 where bodies always move at their new velocities


def held_single(model: Model, cast: Cast, struck: Struck, vector: Floats, start: Start) -> tuple[Event, Holding]:
    """The event at the start of a hold by one contact."""
    who, layout, time = struck.contacts[0][:4], model.layout, start.end - start.begin
    z, kind = contact_numbers(layout, cast, who, start.begin, vector), int(cast.kind[who[3]])
    z[RESTITUTION] = 0.0
    free = (bool(model.free[who[0]]), bool(model.free[who[1]]))
    closing = closing_speed(z, kind, free, time, z.copy()) if start.closes else 0.0
    mode = slides(falling(z, free, time), kind, model.dimension == 2, max(closing, 0.0))
    inside, where = contact_places(layout, who)
    planar = [0, 1, 5] if model.dimension == 2 else list(range(6))
    bodies, ins, outs, places = [], [*where], [], []
    for side in range(2):
        if not free[side]:
            continue
        bodies.append(who[side])
        for k in (*planar, *(6 + c for c in planar)):
            outs.append(12 * side + k)
            places.append(BODY * who[side] + k)
        record = model.record_start + RECORD * who[side]
        outs += [SHIFT, *(BEFORE + 6 * side + k for k in planar)]
        places += [record, *(record + 1 + k for k in planar)]
    values, slopes = np.empty(HELD_ENDS), np.empty((len(outs), len(inside) + 1))

    def made(share: float) -> tuple[float, float, float, float]:
        how = (kind, mode, free, time, closing > 0.0, start.touches, share)
        return held_map(z, how, inside, np.array(outs), values, slopes)

    push = made(0.0)
    share = 0.0
    if start.slow:
        share = share_of_one(z, kind, free, values, push, start.slow)
        if share:
            made(share)
    if start.clock >= 0:
        ins.append(model.record_start + RECORD * start.clock)
    else:
        slopes = slopes[:, :-1]
    actors = np.array(bodies)
    moves = np.array([values[12 * s + 6 : 12 * s + 12] for s in range(2) if free[s]])
    before = np.array([values[BEFORE + 6 * s : BEFORE + 6 * s + 6] for s in range(2) if free[s]])
    event = Event(
        start.begin, actors, start.begin - cast.since[actors], np.array(ins), np.array(places), slopes,
        tuple(bool(f) for f in cast.falls[actors]), (False,) * len(actors),
    )  # fmt: skip
    return event, Holding(actors, start.begin, start.end, start.end, before, moves, share)


def share_of_law(rate: Floats, push: Floats, old: Floats, new: Floats, gained: float, slow: float) -> float:
    """The share of the mean velocity of an island: see `stepping.resting`.

    `rate` (m,) are normal speeds at the start, `push` (m,) normal impulses, `old` and `new` (m,) powers of the impulses
    at the old and the new velocity; `gained` is half the square of the change of velocity, in units of energy.
    """
    if (np.abs(rate) > CLOSED * slow).any() or (old + new > CLOSED * slow * push).any():
        return 0.0
    e0, e1 = min(float(new.sum()) - gained, 0.0), 0.5 * float((old + new).sum())
    return 1.0 if e1 <= 0.0 else -e0 / (e1 - e0)


class Hold(NamedTuple):
    """How a hold begins, for kernels; see `Start`."""

    begin: float
    end: float
    clock: int  # place of the time of the start; -1 if that does not depend on anything
    touches: bool
    closes: bool
    slow: float


@kernel
def held_island(layout, cast, vector, who, impulse, start):
    """The event at the start of a hold by contacts `who` (m, 4), on the active set of the stepper's impulses (m, 3).

    Returns whether there is an answer on that; numbers before and after the event, and the slopes; the bodies, their
    velocities before and during the hold, and the share of the mean velocity.
    """
    m, time, dim = len(who), start.end - start.begin, layout.dimension
    z = np.empty((m, LENGTH))
    for c in range(m):
        z[c] = contact_numbers(layout, cast, (who[c, 0], who[c, 1], who[c, 2], who[c, 3]), start.begin, vector)
        z[c, RESTITUTION] = 0.0
    island, places, bodies = island_of(layout, z, who, time, 1 if start.clock >= 0 else 0)
    closing, shift, clock = np.zeros(m), np.zeros(island.wide), start.clock >= 0 or start.touches
    for c in range(m if start.closes else 0):
        free = (island.pair[c, 0] >= 0, island.pair[c, 1] >= 0)
        closing[c] = max(closing_speed(z[c], island.kind[c], free, time, np.empty(12)), 0.0)
    rows = island_rows(island, closing)
    active, good = solved(island, rows, along_rows(rows, impulse))
    ins = np.empty(island.wide, np.int64)
    for j in range(island.wide):
        ins[j] = places[j] if j < len(places) else start.clock
    if start.clock >= 0:
        shift[-1] = 1.0
    elif start.touches:  # the contact that approaches fastest sets the time
        fastest, first, slopes = np.inf, 0, np.zeros((7, LENGTH))
        for c in range(m):
            rate = approach(z[c], island.kind[c])[1]
            if rate < fastest:
                fastest, first = rate, c
        inside, count = island.inside[first], island.used[first]
        geometry_slopes(z[first], island.kind[first], inside, count, slopes, np.empty(LENGTH, np.complex128))
        for j in range(count):
            shift[island.column[first, j]] = -slopes[0, inside[j]] / fastest
    share = share_of(island, rows, active, start.slow) if good and start.slow > 0.0 else 0.0
    half, per_body = 0.5 * share, 3 * (3 if dim == 2 else 6) + 1
    outs, found = np.empty(per_body * len(bodies), np.int64), np.empty((per_body * len(bodies), island.wide))
    moves = active.velocity + half * (rows.before - active.velocity)
    if not good:
        return False, ins, outs, found, bodies, rows.before, moves, share
    pose, old, new = held_slopes(island, rows, active, shift, clock)
    for b in range(len(bodies)):
        at, block = per_body * b, (per_body - 1) // 3
        record = layout.record_start + RECORD * bodies[b]
        outs[at + 2 * block] = record
        found[at + 2 * block] = shift
        for i in range(block):
            k = (0, 1, 5)[i] if dim == 2 else i
            outs[at + i], outs[at + block + i] = BODY * bodies[b] + k, BODY * bodies[b] + V + k
            outs[at + 2 * block + 1 + i] = record + 1 + k
            for j in range(island.wide):
                before = old[b, k, j] + (z[0, GRAVITY + k] * shift[j] if k < 3 else 0.0)
                found[at + i, j] = pose[b, k, j] + (rows.before[b, k] - moves[b, k]) * shift[j]
                found[at + block + i, j] = new[b, k, j] + half * (before - new[b, k, j])
                found[at + 2 * block + 1 + i, j] = before
    return True, ins, outs, found, bodies, rows.before, moves, share


def held_several(model: Model, cast: Cast, struck: Struck, vector: Floats, start: Start) -> tuple[Event, Holding]:
    """The event at the start of a hold by several contacts: on the active set of the stepper, or by the law."""
    clock = model.record_start + RECORD * start.clock if start.clock >= 0 else -1
    hold = Hold(start.begin, start.end, clock, start.touches, start.closes, float(start.slow))
    if struck.impulse.shape[0] * model.dimension <= LARGEST_ACTIVE_SET:
        who = np.array([contact[:4] for contact in struck.contacts])
        good, ins, outs, slopes, bodies, before, moves, share = held_island(
            model.layout, cast, vector, who, struck.impulse, hold
        )
        if good:
            flights, fell = start.begin - cast.since[bodies], tuple(bool(falls) for falls in cast.falls[bodies])
            event = Event(start.begin, bodies, flights, ins, outs, slopes, fell, (False,) * len(bodies))
            return event, Holding(bodies, start.begin, start.end, start.end, before, moves, share)
    return HeldSeveral(model, cast, struck, vector, start).held()


class HeldSeveral(Several):
    """A hold by several contacts, through the replay of the law."""

    def __init__(self, model: Model, cast: Cast, struck: Struck, vector: Floats, start: Start) -> None:
        self.start = start
        super().__init__(model, cast, struck, vector, Response.of("gr", friction_model="cone"))

    def _begin(self) -> None:
        self.old, self.time = self.z.copy(), self.start.end - self.start.begin
        self.closings = [np.zeros(len(inside)) for inside in self.inside]
        for k, contact in enumerate(self.struck.contacts):
            free = (bool(self.model.free[contact.ball]), bool(self.model.free[contact.other]))
            if self.start.closes:
                kind = int(self.model.features.kind[contact.other_feature])
                self.closing[k] = closing_map(self.old[k], kind, free, self.time, self.inside[k], self.closings[k])
                if self.closing[k] <= 0.0:
                    self.closing[k], self.closings[k][:] = 0.0, 0.0
            self.z[k] = falling(self.z[k], free, self.time)
            self.z[k, RESTITUTION] = 0.0
        if self.start.clock >= 0:
            self.ins = np.append(self.ins, self.model.record_start + RECORD * self.start.clock)

    def _answer(self, response: Response) -> None:
        """Velocities (n, 6) and impulses (m, 1 + t)."""
        n, c = len(self.bodies), self.model.components
        self.solution = self._solved(response)
        self.velocity, self.push = np.zeros((n, 6)), np.zeros(self.speed.shape)
        self.velocity[:, c], self.push[:, 0] = self.solution.velocity, self.solution.impulse
        if self.solution.friction_impulse is not None:
            self.push[:, 1:] = self.solution.friction_impulse

    def _shift(self, zs: Floats) -> tuple[Floats, float]:
        out = np.zeros(len(self.ins))
        if self.start.clock >= 0:
            out[-1] = 1.0
        elif self.start.touches:
            kinds = self.model.features.kind
            rates = [approach(z, kinds[c.other_feature])[1] for z, c in zip(self.old, self.struck.contacts)]
            k = int(np.argmin(rates))
            out = -self._geometry(zs)[k, 0] / rates[k]
        return out, 0.0

    def held(self) -> tuple[Event, Holding]:
        """The event at its start."""
        c, g, n, zs = self.model.components, self.z[0, GRAVITY : GRAVITY + 3], len(self.bodies), self._numbers()
        shift, _ = self._shift(zs)
        moved = zs.copy()
        moved[:, RESTITUTION] = 0.0
        for side, at in enumerate((A, B)):
            free = (self.pair[:, side] >= 0)[:, None, None]
            moved[:, at : at + 6] += self.old[:, at + V : at + V + 6, None] * shift
            moved[:, at + V : at + V + 3] += np.where(free, self.time * zs[:, GRAVITY : GRAVITY + 3], 0.0)
        closing = np.zeros((len(self.z), len(self.ins)))
        for k, (rates, columns) in enumerate(zip(self.closings, self.columns)):
            closing[k, columns] = rates
        after = self._after(zs, moved, closing)
        before, new_velocity = self.state[:, V : V + 6].copy(), self.velocity
        before[:, :3] -= self.time * g
        share = self._share(before, new_velocity) if self.start.slow else 0.0
        q, old = self._of_bodies(zs, 0), self._of_bodies(zs, V)
        old[:, :3] += g[:, None] * shift
        moves = new_velocity + 0.5 * share * (before - new_velocity)
        velocity = after + 0.5 * share * (old - after)
        outs, slopes = [], []
        for b, actor in enumerate(self.bodies):
            record = self.model.record_start + RECORD * int(actor)
            outs += [*(BODY * actor + c), *(BODY * actor + V + c), record, *(record + 1 + c)]
            position = q[b] + np.outer(before[b] - moves[b], shift)
            slopes += [*position[c], *velocity[b][c], shift, *old[b][c]]
        fell = tuple(bool(falls) for falls in self.falls[self.bodies])
        event = Event(
            self.start.begin, self.bodies, self.start.begin - self.since[self.bodies], self.ins, np.array(outs),
            np.array(slopes), fell, (False,) * n,
        )  # fmt: skip
        return event, Holding(self.bodies, self.start.begin, self.start.end, self.start.end, before, moves, share)

    def _share(self, before: Floats, after: Floats) -> float:
        """The share of the mean velocity at which the bodies move."""
        push, speeds = self.push, []
        for velocity in (before, after):
            own = np.where(self.pair[:, :, None] >= 0, velocity[self.pair], 0.0)
            speeds.append(np.einsum("mrsc,msc->mr", self.rows, own) + self.speed)
            speeds[-1][:, 0] += self.closing
        pushed = push[:, 0] > 0.0
        old, new = ((push * speed).sum(axis=1)[pushed] for speed in speeds)
        gained = 0.5 * float((self.mass * (after - before) ** 2).sum())
        return share_of_law(
            (speeds[0][:, 0] - self.closing)[pushed], push[pushed, 0], old, new, gained, self.start.slow
        )


def ended(model: Model, cast: Cast, held: Holding, shift: tuple[Ints, Floats] | None) -> tuple[Event, Floats]:
    """The event at the end of a hold, and the velocities (k, 6) of its bodies after it.

    `shift` are numbers of the vector and the derivatives of the time of the impact that releases the bodies with
    respect to them; None at the end of the step.
    """
    c, share, k = model.components, held.share, len(held.bodies)
    time, record = held.until, model.record_start + RECORD * held.bodies
    moves = (BODY * held.bodies[:, None] + V + c).ravel()
    places = (BODY * held.bodies[:, None] + c).ravel()
    before = (record[:, None] + 1 + c).ravel()
    wide = len(c) * k
    if shift is None:
        new = held.after
        rest = 1.0 / (1.0 - 0.5 * share)
        ins, outs = np.concatenate([moves, before]), moves
        slopes = np.hstack([rest * np.eye(wide), -0.5 * share * rest * np.eye(wide)])
    else:
        numbers, gradient = shift
        part, long = (time - held.begin) / (held.end - held.begin), held.end - held.begin
        new = held.before + part * (held.moves - held.before)
        clocks = record[:1]
        ins = np.unique(np.concatenate([numbers, moves, before, places, clocks]))
        at = {int(v): j for j, v in enumerate(ins)}

        def columns(which: Ints) -> list[int]:
            return [at[int(v)] for v in which]

        ds, dpart = np.zeros(len(ins)), np.zeros(len(ins))
        ds[columns(numbers)] = gradient
        dpart += ds / long
        dpart[columns(clocks)] -= (held.end - time) / long**2
        slopes = np.zeros((2 * wide + k, len(ins)))
        slopes[np.arange(wide), columns(places)] = 1.0
        slopes[:wide] += np.outer((held.moves - new)[:, c].ravel(), ds)
        slopes[wide + np.arange(wide), columns(moves)] = part
        slopes[wide + np.arange(wide), columns(before)] = 1.0 - part
        slopes[wide : 2 * wide] += np.outer((held.moves - held.before)[:, c].ravel(), dpart)
        pull = np.zeros((k, 6))
        pull[:, :3] = cast.gravity
        slopes[wide : 2 * wide] -= np.outer(pull[:, c].ravel(), ds)
        slopes[2 * wide :] = ds  # the record of the time, from which on other contacts may hold the bodies
        outs = np.concatenate([places, moves, record])
    flights = time - cast.since[held.bodies]
    return Event(time, held.bodies, flights, ins, outs, slopes, (False,) * k), new
