"""The tape of a run: one linear map for each impact, applied forwards to tangents or transposed and backwards.

Tangents and adjoints are those of the vector of numbers of `model`, (size, directions). Bodies are flown only when
something happens to them: between impacts `dq += t dv + t^2 dg / 2`, `dv += t dg`, without
gravity for bodies that contacts hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from .contact_map import BODY, V


class Event(NamedTuple):
    """An impact, or the placing of an actor: numbers `outs` after it are `slopes` times the numbers `ins` before it."""

    time: float
    bodies: Ints  # (k,) free bodies that are flown to the time of the event
    flights: Floats  # (k,) for how long
    ins: Ints
    outs: Ints
    slopes: Floats  # (outs, ins)
    fell: tuple[bool, ...] = ()  # (k,) whether gravity has moved the bodies in that flight; empty for all
    falls: tuple[bool, ...] = ()  # (k,) whether it does after the event; empty for all


class Tape(NamedTuple):
    """Events one after the other, for kernels."""

    time: Floats
    body_ptr: Ints
    body: Ints
    flight: Floats
    fell: np.ndarray
    falls: np.ndarray
    in_ptr: Ints
    ins: Ints
    out_ptr: Ints
    outs: Ints
    slope_ptr: Ints
    slopes: Floats
    gravity: int  # place of gravity in the vector


def taped(events: Sequence[Event | Tape], gravity: int) -> Tape:
    """Events, and pieces of tape among them, as one tape."""
    pieces: list[Tape] = []
    single: list[Event] = []
    for event in events:
        if isinstance(event, Event):
            single.append(event)
            continue
        pieces += [_of_events(single, gravity)] if single else []
        pieces, single = [*pieces, event], []
    if single or not pieces:
        pieces.append(_of_events(single, gravity))
    if len(pieces) == 1:
        return pieces[0]
    fields: list[np.ndarray] = []
    for columns in zip(*(piece[:-1] for piece in pieces)):
        name = Tape._fields[len(fields)]
        if name.endswith("_ptr"):
            firsts = np.cumsum([0, *(ptr[-1] for ptr in columns[:-1])])
            columns = [np.zeros(1, np.int64), *(ptr[1:] + first for ptr, first in zip(columns, firsts))]
        fields.append(np.concatenate(columns))
    return Tape._make([*fields, gravity])


def _of_events(events: Sequence[Event], gravity: int) -> Tape:
    def joined(parts: list[np.ndarray], kind: type) -> tuple[Ints, np.ndarray]:
        ptr = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
        return ptr, np.concatenate([np.empty(0, kind), *(part.ravel() for part in parts)]).astype(kind)

    body_ptr, body = joined([e.bodies for e in events], np.int64)
    _, flight = joined([e.flights for e in events], np.float64)
    _, fell = joined([np.array(e.fell or (True,) * len(e.bodies)) for e in events], np.bool_)
    _, falls = joined([np.array(e.falls or (True,) * len(e.bodies)) for e in events], np.bool_)
    in_ptr, ins = joined([e.ins for e in events], np.int64)
    out_ptr, outs = joined([e.outs for e in events], np.int64)
    slope_ptr, slopes = joined([e.slopes for e in events], np.float64)
    time = np.array([e.time for e in events], dtype=np.float64)
    return Tape(time, body_ptr, body, flight, fell, falls, in_ptr, ins, out_ptr, outs, slope_ptr, slopes, gravity)


@kernel
def fly(tangents, body, time, falls, gravity):
    """Tangents of a free body after flight for a time, in place; under gravity if it falls."""
    at = BODY * body
    for p in range(tangents.shape[1]):
        for k in range(6):
            tangents[at + k, p] += time * tangents[at + V + k, p]
        for k in range(3 if falls else 0):
            pull = tangents[gravity + k, p]
            tangents[at + k, p] += 0.5 * time * time * pull
            tangents[at + V + k, p] += time * pull


@kernel
def fly_back(adjoints, body, time, falls, gravity):
    """The transposed map of `fly`: adjoints before the flight from those after it, in place."""
    at = BODY * body
    for p in range(adjoints.shape[1]):
        for k in range(3 if falls else 0):
            adjoints[gravity + k, p] += 0.5 * time * time * adjoints[at + k, p] + time * adjoints[at + V + k, p]
        for k in range(6):
            adjoints[at + V + k, p] += time * adjoints[at + k, p]


@kernel
def fly_all(tangents, free, since, falls, time, gravity):
    """Tangents of all free bodies at a time, in place."""
    for body in range(len(free)):
        if free[body]:
            fly(tangents, body, time - since[body], falls[body], gravity)


@kernel
def play(tape, tangents, since, falls, first, last):
    """Tangents after the events first:last of a tape, in place.

    `since` (actors,) are the times of the tangents, `falls` (actors,) whether gravity moves the bodies then.
    """
    most = 1
    for e in range(first, last):
        most = max(most, tape.out_ptr[e + 1] - tape.out_ptr[e])
    new, count = np.empty((most, tangents.shape[1])), tangents.shape[1]
    for e in range(first, last):
        for j in range(tape.body_ptr[e], tape.body_ptr[e + 1]):
            fly(tangents, tape.body[j], tape.flight[j], tape.fell[j], tape.gravity)
            since[tape.body[j]], falls[tape.body[j]] = tape.time[e], tape.falls[j]
        low, wide, at = tape.in_ptr[e], tape.in_ptr[e + 1] - tape.in_ptr[e], tape.slope_ptr[e]
        out, tall = tape.out_ptr[e], tape.out_ptr[e + 1] - tape.out_ptr[e]
        for j in range(tall):
            for p in range(count):
                new[j, p] = 0.0
            for i in range(wide):
                slope = tape.slopes[at + j * wide + i]
                if slope != 0.0:
                    for p in range(count):
                        new[j, p] += slope * tangents[tape.ins[low + i], p]
        for j in range(tall):
            for p in range(count):
                tangents[tape.outs[out + j], p] = new[j, p]


@kernel
def play_back(tape, adjoints):
    """The transposed map of `play` over the whole tape: adjoints before it from those after it, in place."""
    events, count, most = len(tape.time), adjoints.shape[1], 1
    for e in range(events):
        most = max(most, tape.out_ptr[e + 1] - tape.out_ptr[e])
    given = np.empty((most, count))
    for e in range(events - 1, -1, -1):
        low, wide, at = tape.in_ptr[e], tape.in_ptr[e + 1] - tape.in_ptr[e], tape.slope_ptr[e]
        out, tall = tape.out_ptr[e], tape.out_ptr[e + 1] - tape.out_ptr[e]
        for j in range(tall):
            for p in range(count):
                given[j, p] = adjoints[tape.outs[out + j], p]
                adjoints[tape.outs[out + j], p] = 0.0
        for j in range(tall):
            for i in range(wide):
                slope = tape.slopes[at + j * wide + i]
                if slope != 0.0:
                    for p in range(count):
                        adjoints[tape.ins[low + i], p] += slope * given[j, p]
        for j in range(tape.body_ptr[e + 1] - 1, tape.body_ptr[e] - 1, -1):
            fly_back(adjoints, tape.body[j], tape.flight[j], tape.fell[j], tape.gravity)
