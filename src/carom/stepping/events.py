"""Events: every impact of every step, and every period of resting contact with the integral of its impulse.

An impact is one row per contact and application of the law. Resting contact is summed from step to step, and becomes
one row per contact and period of rest: a period ends when the contact has not been held for more than REST_PAUSE steps.
Removal of overlap that takes its energy from the motion of an island slows its bodies: these changes of momentum are
rows of the kind "correction", one per body and period. A body that appears brings momentum, and one that vanishes takes
it away: rows of the kinds "appearance" and "removal". Together with gravity, the rows explain the momentum of every
body.

Kernels keep events as rows of float64 numbers; `as_events` makes the table that users see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import FIRST, GAP, NORMAL, POINT, SECOND, WIDTH, ContactSet, vector
from ..geometry.vectors import Vec3
from ..kernels import kernel, lean
from ..problem.assemble import tangents_of
from ..solvers.rows import Floats, Ints
from ..world import State, World
from .report import FRICTION_SHAPE, ContactImpulses, RestLog, StageImpulses, StepReport, Stretch
from .resting import FEATURE_BITS, _slot, put_keys

KINDS = ("impact", "rest", "correction", "appearance", "removal")
IMPACT, REST, CORRECTION, APPEARANCE, REMOVAL = range(5)
SUMMED_KINDS = 3  # the first kinds, of which weak events are summed where the budget does not allow to list them
NO_BODY = -(2**31)  # `second` of the kinds from correction on: the momentum goes to no other body
REST_PAUSE = 3  # steps without an impulse after which a period of rest has ended; held contacts of a pile come and go
REST_SWEEP = 32  # steps between two searches for periods that have ended

# Columns of a row of numbers; in 2D the third components of vectors are zero.
(TIME, STEP, BODY, OTHER, KIND, STATUS, GAP_THEN, APPROACH, SEPARATION, ENERGY, DURATION, PLACE) = range(12)
DIRECTION, IMPULSE, EMITTED, COLUMNS = PLACE + 3, PLACE + 6, PLACE + 9, PLACE + 10

# Columns of an open period of rest.
BEGIN, LAST, HELD, GAP_FIRST, AT, PUSH, RUB, REST_COLUMNS = 0, 1, 2, 3, 4, 7, 10, 13

NO_CHOICE, NO_ROWS = np.empty(0, np.int64), np.empty((0, COLUMNS))


def event_table(dimension: int) -> np.dtype[Any]:
    """The type of a row in the table of events.

    `second` is a body, -1 - k for boundary k, or NO_BODY. Impulses act on `second`, and with opposite sign on `first`,
    along the unit normal from first to second. The tangential impulse is a number along the normal rotated by 90
    degrees counterclockwise, in 3D a vector.
    """
    return np.dtype(
        [
            ("time", np.float64),  # of the impact within its step; the beginning of a period of rest
            ("step", np.int64),  # that ends after the impact, or the last one of the period
            ("first", np.int64),
            ("second", np.int64),
            ("point", np.float64, (dimension,)),
            ("normal", np.float64, (dimension,)),
            ("gap", np.float64),  # when the impact takes place or the period begins; a length
            ("approach", np.float64),  # normal speed before the impact, positive if the bodies approach
            ("separation", np.float64),  # normal speed after it, positive if they separate
            ("normal_impulse", np.float64),
            ("tangent_impulse", np.float64, FRICTION_SHAPE[dimension]),
            # Kinetic energy that the impact has lost at this contact; kinetic and potential energy of a body that
            # vanishes, and minus that of one that appears.
            ("energy", np.float64),
            ("duration", np.float64),  # time for which resting contact was held; 0 for impacts
            ("kind", np.int8),  # index into KINDS
            ("status", np.int8),  # of the law; index into `report.STATUSES`
        ]
    )


def as_events(rows: Floats, dimension: int) -> NDArray[Any]:
    """The table of events from rows of numbers."""
    out = np.empty(len(rows), event_table(dimension))
    columns = {"time": TIME, "step": STEP, "first": BODY, "second": OTHER, "gap": GAP_THEN, "approach": APPROACH}
    columns |= {"separation": SEPARATION, "energy": ENERGY, "duration": DURATION, "kind": KIND, "status": STATUS}
    for name, column in columns.items():
        out[name] = rows[:, column]
    normal, impulse = rows[:, DIRECTION : DIRECTION + dimension], rows[:, IMPULSE : IMPULSE + dimension]
    out["point"], out["normal"] = rows[:, PLACE : PLACE + dimension], normal
    out["normal_impulse"], out["tangent_impulse"] = split_impulse(normal, impulse)
    return out


def split_impulse(normal: Floats, impulse: Floats) -> tuple[Floats, Floats]:
    """The normal and the tangential part of impulses (m, D)."""
    along = np.einsum("ij,ij->i", normal, impulse)
    if normal.shape[1] == 2:
        return along, normal[:, 0] * impulse[:, 1] - normal[:, 1] * impulse[:, 0]
    return along, impulse - along[:, None] * normal


def impulse_of(events: NDArray[Any]) -> Floats:
    """The impulses (m, D) that act on `second`."""
    normal, tangent = events["normal"], events["tangent_impulse"]
    if tangent.ndim == 1:
        tangent = tangent[:, None] * np.stack([-normal[:, 1], normal[:, 0]], axis=1)
    return np.asarray(events["normal_impulse"][:, None] * normal + tangent)


def momentum_of(events: NDArray[Any], count: int) -> Floats:
    """The momentum (count, D) that events give to each body."""
    impulse = impulse_of(events)
    out = np.zeros((count, impulse.shape[1]))
    for k in range(out.shape[1]):
        out[:, k] -= np.bincount(events["first"], impulse[:, k], count)
        pushed = events["second"] >= 0
        out[:, k] += np.bincount(events["second"][pushed], impulse[pushed, k], count)
    return out


class Book(NamedTuple):
    """Open periods of rest, and an open hash table of their keys."""

    key: Ints  # (c,)
    sums: Floats  # (c, REST_COLUMNS)
    slots: Ints  # (s,) positions, -1 for none; s is a power of 2


class EventLog:
    """Collects the events of a run. The first `filled` of `rows` are those that have ended and were not taken yet."""

    def __init__(self, world: World, step: float) -> None:
        walls = len(world.boundaries.kind)
        self.dimension, self.h, self.counts = world.dimension, step, (world.count + walls, walls)
        self.mass = world.mass
        self.used = 0
        self.book = _book(64)
        # Keys of the contacts of the last stage of rest, in their order, and positions in the book; room for the next.
        self.trails, self.known = [np.empty((64, 2), np.int64) for _ in range(2)], 0
        self.rows, self.filled = np.empty((64, COLUMNS)), 0

    # ---- steps

    def add(self, stretch: Stretch) -> None:
        """Adds the events of one or more steps."""
        number = stretch.states[-1].step
        if stretch.changes is not None and len(stretch.changes):
            self._append(stretch.changes)
        if stretch.resting is not None:
            self._add_quiet(stretch.resting, stretch.states[0].step)
        elif isinstance(stretch.report, StepReport):
            self._add_step(stretch.report, number)
        else:  # of another engine
            found = _as_stage(stretch.report.impulses(), self.dimension, (number - 1) * self.h, self.h)
            self._add_rest(found, number)
        if number % REST_SWEEP == 0:
            self.sweep(number)

    def _add_step(self, report: StepReport, number: int) -> None:
        impulses = _impact_impulses(report)
        self._make_place(sum(len(impulse) for _, impulse in impulses))
        self.filled = _put_stages(impulses, number, report.dimension, self.rows, self.filled)
        for stage in report.stages:
            if stage.duration is not None:
                self._add_rest(stage, number)
        for time, change in report.corrections:
            self._add_slowed(change, number, time, self.h)

    def _add_quiet(self, log: RestLog, first: int) -> None:
        """Adds the rest of quiet steps, of which the first one has the number `first`."""
        k = len(log.rest)
        if k:
            keys, steps = np.empty(k, np.int64), log.rest[:, WIDTH + 3] + first
            table, impulse = log.rest[:, :WIDTH].copy(), log.rest[:, WIDTH : WIDTH + 3].copy()
            put_keys(table, *self.counts, keys)
            self._accumulate((keys, table, NO_CHOICE, impulse), (steps - 1.0) * self.h, np.full(1, self.h), steps)
        for entry in log.slowed:
            change = np.zeros((len(self.mass), self.dimension))
            number = first + int(entry[0])
            change[int(entry[1])] = entry[2 : 2 + self.dimension]
            self._add_slowed(change, number, (number - 1) * self.h, self.h)

    def _add_rest(self, stage: StageImpulses, number: int) -> None:
        table, impulse = stage.found.table, stage.all_rows()
        if len(impulse):
            keys = stage.keys
            if keys is None:
                keys = np.empty(len(table), np.int64)
                put_keys(table, *self.counts, keys)
            contacts = (keys, table, NO_CHOICE if stage.chosen is None else stage.chosen, impulse)
            self.known = self._accumulate(contacts, stage.time, stage.duration, np.full(1, float(number)))
            self.trails.reverse()

    def _add_slowed(self, change: Floats, number: int, time: float, duration: float) -> None:
        """Adds corrections: changes (n, D) of the momenta of bodies."""
        bodies = np.flatnonzero(change.any(axis=1))
        table, impulse = np.zeros((len(bodies), POINT + 3)), np.zeros((len(bodies), 3))
        size = np.linalg.norm(change[bodies], axis=1)
        table[:, NORMAL : NORMAL + self.dimension] = -change[bodies] / size[:, None]
        impulse[:, 0] = size
        self._accumulate((-1 - bodies, table, NO_CHOICE, impulse), time, duration, np.full(1, float(number)))

    def _accumulate(self, contacts: tuple[Ints, Floats, Ints, Floats], time: Any, duration: Any, step: Floats) -> int:
        """Adds the impulses of contacts, as `accumulate` gets them; returns the number of entries of the new trail.

        Times, durations and steps are one for all, or (k,).
        """
        count = len(contacts[3])
        self._make_room(count)
        self._make_place(count)
        when = (np.atleast_1d(np.asarray(time, np.float64)), np.atleast_1d(np.asarray(duration, np.float64)), step)
        about, trail = (self.dimension, self.counts), (*self.trails, self.known)
        self.used, self.filled, known = accumulate(
            self.book, self.used, contacts, when, about, trail, self.rows, self.filled
        )
        return int(known)

    def _append(self, rows: Floats) -> None:
        self._make_place(len(rows))
        self.rows[self.filled : self.filled + len(rows)] = rows
        self.filled += len(rows)

    def _make_place(self, count: int) -> None:
        """Makes place for `count` more rows."""
        if self.filled + count > len(self.rows):
            old, self.rows = self.rows, np.empty((2 * (self.filled + count), COLUMNS))
            self.rows[: self.filled] = old[: self.filled]

    def _make_room(self, count: int) -> None:
        """Makes room for `count` more periods of rest, and for as many contacts of a stage."""
        if count > len(self.trails[1]):
            self.trails[1] = np.empty((2 * count, 2), np.int64)
        if self.used + count > len(self.book.key):
            size = 64
            while size < 2 * (self.used + count):
                size *= 2
            old, self.book = self.book, _book(size)
            self.book.key[: self.used], self.book.sums[: self.used] = old.key[: self.used], old.sums[: self.used]
            rehash(self.book, self.used)

    # ---- ends of periods

    def sweep(self, number: int, everything: bool = False) -> None:
        """Ends the periods of rest that are over after step `number`, or all."""
        last = float(number + 1 if everything else number - REST_PAUSE)
        if self.used:
            self.used, ended = swept(self.book, self.used, last, number, self.counts, self.dimension)
            self._append(ended)
            self.known = 0  # positions have changed

    def taken(self) -> Floats:
        """The rows of the events that have ended, which are then no longer here: valid until more are added."""
        rows, self.filled = self.rows[: self.filled], 0
        return rows

    # ---- checkpoints

    def memory(self) -> dict[str, np.ndarray]:
        """The open periods of rest."""
        return {"events_key": self.book.key[: self.used].copy(), "events_sums": self.book.sums[: self.used].copy()}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the open periods of a checkpoint."""
        key, sums = memory["events_key"], memory["events_sums"]
        self.used = self.known = 0
        self._make_room(len(key))
        self.used = len(key)
        self.book.key[: self.used], self.book.sums[: self.used] = key, sums
        rehash(self.book, self.used)


def _book(size: int) -> Book:
    return Book(np.empty(size, np.int64), np.empty((size, REST_COLUMNS)), np.full(2 * size, -1, np.int64))


def change_rows(world: World, state: State, bodies: Ints, kind: int) -> Floats:
    """The rows of bodies that appear in a state, or vanish from it, before its next step."""
    dim, out = world.dimension, np.zeros((len(bodies), COLUMNS))
    out[:, TIME], out[:, STEP], out[:, EMITTED] = state.time, state.step + 1, state.step + 1
    out[:, BODY], out[:, OTHER], out[:, KIND] = bodies, NO_BODY, kind
    mass, velocity, place = world.mass[bodies], state.velocity[bodies], state.position[bodies]
    sign = 1.0 if kind == REMOVAL else -1.0  # an impulse acts on `first` with opposite sign
    impulse = sign * mass[:, None] * velocity[:, :dim]
    size = np.linalg.norm(impulse, axis=1)
    moving = size > 0.0
    out[moving, DIRECTION : DIRECTION + dim] = impulse[moving] / size[moving, None]
    out[:, IMPULSE : IMPULSE + dim], out[:, PLACE : PLACE + dim] = impulse, place
    turning = 0.5 * (world.masses.inertia[bodies] * velocity[:, dim:] ** 2).sum(axis=1) if world.turns else 0.0
    energy = 0.5 * mass * (velocity[:, :dim] ** 2).sum(axis=1) + turning - mass * (place @ world.gravity)
    out[:, ENERGY] = sign * energy
    return out


def impact_rows(report: StepReport, number: int) -> Floats:
    """The rows of the impacts of step `number`."""
    impulses = _impact_impulses(report)
    out = np.empty((sum(len(impulse) for _, impulse in impulses), COLUMNS))
    return out[: _put_stages(impulses, number, report.dimension, out, 0)]


def _impact_impulses(report: StepReport) -> list[tuple[StageImpulses, Floats]]:
    """The stages of impacts, and their impulses (k, 3)."""
    return [(stage, stage.all_rows()) for stage in report.stages if stage.duration is None]


def _put_stages(
    impulses: list[tuple[StageImpulses, Floats]], number: int, dimension: int, out: Floats, used: int
) -> int:
    """Writes the rows of the impacts of step `number` from row `used` on; returns the next row."""
    for stage, impulse in impulses:
        chosen = NO_CHOICE if stage.chosen is None else stage.chosen
        speeds = np.zeros((3, len(impulse))) if stage.speeds is None else stage.speeds
        time = np.atleast_1d(np.asarray(stage.time, np.float64))
        contacts, about = (stage.found.table, chosen, impulse, speeds, time), (number, stage.status)
        used = put_impacts(contacts, about, dimension, out, used)
    return int(used)


def step_events(report: StepReport, number: int) -> NDArray[Any]:
    """The events of one step: its impacts, and the rest of all contacts that it holds."""
    parts = [as_events(impact_rows(report, number), report.dimension)]
    for stage in report.stages:
        if stage.duration is not None:
            held = as_events(
                impact_rows(replace(report, stages=[stage._replace(duration=None)]), number), report.dimension
            )
            held["kind"], held["duration"] = REST, np.max(stage.duration)
            parts.append(held)
    return np.concatenate(parts)


def _as_stage(given: ContactImpulses, dimension: int, time: float, duration: float) -> StageImpulses:
    """The impulses of another engine as a stage of resting contact. Their order tells contacts of a pair apart."""
    m, d = given.point.shape
    table = np.zeros((m, POINT + 3))
    table[:, FIRST], table[:, SECOND] = given.first, given.second
    seen: dict[tuple[int, int], int] = {}
    for i, pair in enumerate(zip(given.first.tolist(), given.second.tolist())):
        table[i, 2] = seen[pair] = seen.get(pair, -1) + 1
    table[:, NORMAL : NORMAL + d], table[:, POINT : POINT + d] = given.normal, given.point
    tangent = given.tangent_impulse[:, None] if given.tangent_impulse.ndim == 1 else None
    return StageImpulses(ContactSet(table, dimension), None, given.normal_impulse, tangent, time, duration)


# ---- kernels


@kernel(inline="always")
def _friction(table, i, impulse, dim):
    """The tangential impulse of contact i as a vector, from its impulses (3,) along normal and tangents."""
    n = vector(table, i, NORMAL)
    if dim == 2:
        return impulse[1] * Vec3(-n.y, n.x, 0.0)
    s, t = tangents_of(n)
    return impulse[1] * s + impulse[2] * t


@lean
def put_impacts(contacts, about, dim, out, used):
    """Writes the rows of the impacts of contacts with an impulse from row `used` on; returns the next row.

    `contacts` are a table, the contacts `chosen` (k,) in it (empty for all), impulses (k, 3) along normal and tangents,
    normal speeds before and after and energies (3, k), and times (k,) or (1,); `about` the number of the step and the
    status.
    """
    table, chosen, impulse, speeds, time = contacts
    for j in range(len(impulse)):
        i, push = chosen[j] if len(chosen) else j, impulse[j, 0]
        if push == 0.0 and impulse[j, 1] == 0.0 and impulse[j, 2] == 0.0:
            continue
        rub, row = _friction(table, i, impulse[j], dim), out[used]
        row[TIME], row[STEP] = time[j] if len(time) > 1 else time[0], about[0]
        row[BODY], row[OTHER] = table[i, FIRST], table[i, SECOND]
        row[KIND], row[STATUS], row[GAP_THEN], row[DURATION] = 0.0, about[1], table[i, GAP], 0.0
        row[APPROACH], row[SEPARATION], row[ENERGY] = 0.0 - speeds[0, j], speeds[1, j], speeds[2, j]
        row[EMITTED] = about[0]
        for c in range(3):
            row[PLACE + c], row[DIRECTION + c] = table[i, POINT + c], table[i, NORMAL + c]
            row[IMPULSE + c] = push * table[i, NORMAL + c] + rub[c]
        used += 1
    return used


@lean
def accumulate(book, used, contacts, when, about, trail, out, ended):
    """Adds the impulses of contacts at rest to the open periods. Writes the rows of periods that had ended from row
    `ended` on. Returns the number of open periods, the next row, and the number of entries of the new trail.

    `contacts` are keys (m,), a table, the contacts `chosen` (k,) of it (empty for all) and impulses (k, 3); `when` are
    times, durations and numbers of the steps, (k,) or (1,). `about` are the dimension and the counts of `put_keys`.
    `trail` are keys and positions of the contacts of the stage before in their order, room for the new ones, and the
    number of the former. Contacts come in much the same order in each step, mostly that of their keys: the trail is
    followed, and only contacts that it does not have are looked up in the hash table.
    """
    (keys, table, chosen, impulse), (times, durations, step), (dim, counts) = contacts, when, about
    (key, sums, slots), (last, now, known), at, new, before = book, trail, 0, 0, 0
    for n in range(len(impulse)):
        i, push = chosen[n] if len(chosen) else n, impulse[n, 0]
        if push == 0.0 and impulse[n, 1] == 0.0 and impulse[n, 2] == 0.0:
            continue
        number, time = step[n] if len(step) > 1 else step[0], times[n] if len(times) > 1 else times[0]
        own = keys[i]
        if new > 0 and own < before:  # an ascending part of the list of contacts has ended: so must that of the trail
            while 0 < at < known and last[at, 0] > last[at - 1, 0]:
                at += 1
        while at + 1 < known and last[at, 0] < own and last[at + 1, 0] > last[at, 0]:
            at += 1
        before = own
        if at < known and last[at, 0] == own:
            j = last[at, 1]
            at += 1
        else:
            slot = _slot(slots, key, own)
            j = slots[slot]
            if j < 0:
                j = slots[slot] = used
                key[j] = own
                used += 1
                _open(sums[j], table, i, time)
        now[new, 0], now[new, 1] = own, j
        new += 1
        row = sums[j]
        if number - row[LAST] > REST_PAUSE and row[HELD] > 0.0:
            _put_period(own, row, float(number), counts, dim, out[ended])
            ended += 1
            _open(row, table, i, time)
        rub = _friction(table, i, impulse[n], dim)
        row[LAST] = number
        row[HELD] += durations[n] if len(durations) > 1 else durations[0]
        for c in range(3):
            row[PUSH + c] += push * table[i, NORMAL + c]
            row[RUB + c] += rub[c]
    return used, ended, new


@lean
def _open(row, table, i, time):
    """Begins a period of rest."""
    for c in range(REST_COLUMNS):
        row[c] = 0.0
    row[BEGIN], row[GAP_FIRST] = time, table[i, GAP]
    for c in range(3):
        row[AT + c] = table[i, POINT + c]


@lean
def _put_period(key, row, number, counts, dim, out):
    """Writes the row of a period of rest that has ended, noticed at step `number`."""
    for c in range(COLUMNS):
        out[c] = 0.0
    bodies, boundaries = counts
    pair = key >> FEATURE_BITS
    out[BODY], out[OTHER] = pair // bodies, pair % bodies - boundaries
    out[KIND] = REST
    if key < 0:
        out[BODY], out[OTHER], out[KIND] = -1 - key, NO_BODY, CORRECTION
    out[TIME], out[STEP], out[DURATION], out[GAP_THEN] = row[BEGIN], row[LAST], row[HELD], row[GAP_FIRST]
    out[EMITTED], size = number, 0.0
    for c in range(3):
        out[PLACE + c], out[IMPULSE + c] = row[AT + c], row[PUSH + c] + row[RUB + c]
        size += row[PUSH + c] ** 2
    for c in range(3):
        out[DIRECTION + c] = row[PUSH + c] / np.sqrt(size) if size > 0.0 else 0.0


@kernel
def squares(rows):
    """The squares (m,) of the impulses of rows."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        x, y, z = rows[i, IMPULSE], rows[i, IMPULSE + 1], rows[i, IMPULSE + 2]
        out[i] = x * x + y * y + z * z
    return out


@kernel
def strongest(rows, size, least, room, momentum):
    """The numbers of the `room` strongest rows, and what the others sum to: counts by kind, energy, largest size.

    `size` (m,) are squares of impulses, `least` the smallest of the strongest. Adds the momentum (n, D) of the others.
    """
    kept, count, ties = np.empty(room, np.int64), 0, room
    counts, energy, largest = np.zeros(3, np.int64), 0.0, 0.0
    for i in range(len(rows)):
        ties -= int(size[i] > least)
    for i in range(len(rows)):
        if size[i] > least or (size[i] == least and ties > 0):
            ties -= int(size[i] == least)
            kept[count] = i
            count += 1
            continue
        row = rows[i]
        first, second = int(row[BODY]), int(row[OTHER])
        counts[int(row[KIND])] += 1
        energy += row[ENERGY]
        largest = max(largest, size[i])
        for c in range(momentum.shape[1]):
            momentum[first, c] -= row[IMPULSE + c]
            if second >= 0:
                momentum[second, c] += row[IMPULSE + c]
    return kept[:count], counts, energy, np.sqrt(largest)


@kernel
def swept(book, used, last, number, counts, dim):
    """Removes the periods whose last step is before `last`; returns how many are left, and the rows of the others."""
    key, sums, _ = book
    out, ended, left = np.empty((used, COLUMNS)), 0, 0
    for j in range(used):
        if sums[j, LAST] < last:
            _put_period(key[j], sums[j], float(number), counts, dim, out[ended])
            ended += 1
            continue
        key[left] = key[j]
        for c in range(REST_COLUMNS if left < j else 0):
            sums[left, c] = sums[j, c]
        left += 1
    if ended:
        rehash(book, left)
    return left, out[:ended]


@lean
def rehash(book, used):
    """Writes the hash table of the first `used` periods."""
    key, _, slots = book
    for at in range(len(slots)):
        slots[at] = -1
    for j in range(used):
        slots[_slot(slots, key, key[j])] = j
