"""What a stepper reports on a step, as it is followed: its stages, their contacts, and islands of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.contact_set import WIDTH, ContactSet
from ..errors import ProblemError
from ..problem.assemble import friction_in_world
from ..solvers.rows import Floats, Ints
from ..stepping.report import STATUSES, StageImpulses, StepReport, Stretch
from .model import Model
from .single import Given


class Contact(NamedTuple):
    """A contact as the stepper reports it."""

    pair: tuple[int, int]  # actors
    hint: Floats  # (6,) normal and point
    normal: float
    impulse: Floats  # (3,) on the second actor


class Stage(NamedTuple):
    """Contacts of a stage of a step."""

    given: Given
    in_sequence: bool  # whether each of them is an impact by itself
    time: Floats  # (m,) when they act, or from when on they are held
    duration: Floats | None  # (m,) for which they are held; None for an impact
    released: bool  # whether some are not held until the end

    def contacts(self, first: int, last: int) -> list[Contact]:
        """Some of the contacts."""
        g = self.given
        return [
            Contact((int(g.pair[i, 0]), int(g.pair[i, 1])), g.hint[i], float(g.normal[i]), g.impulse[i])
            for i in range(first, last)
        ]


class Step(NamedTuple):
    """What the stepper reports on one step with impacts."""

    start: float
    end: float
    stages: list[Stage]


def reported(report: StepReport, start: float, end: float, bodies: int) -> Step:
    """The impacts of a step; ProblemError for what has no derivative."""
    if report.status:
        raise ProblemError(f"step until time {end:g}", STATUSES[report.status], "impacts that are resolved")
    return Step(start, end, [_stage(stage, bodies) for stage in report.stages])


def _stage(stage: StageImpulses, bodies: int) -> Stage:
    """A stage; contacts are in the order of the report."""
    m = stage.contacts.count
    time = np.broadcast_to(np.asarray(stage.time, dtype=np.float64), m)
    duration = None if stage.duration is None else np.broadcast_to(np.asarray(stage.duration, dtype=np.float64), m)
    released = stage.duration is not None and np.ndim(stage.duration) > 0
    return Stage(_given(stage, bodies), stage.in_sequence, time, duration, released)


def _given(stage: StageImpulses, bodies: int) -> Given:
    """The contacts of a stage with their impulses."""
    found = stage.contacts
    tangent = None if stage.tangent is None else stage.of_contacts(stage.tangent)
    return _pushed(found, stage.of_contacts(stage.normal), tangent, bodies)


def resting_contacts(made: Stretch, model: Model) -> tuple[Given, Ints]:
    """The contacts that several steps have held, and where those of each step begin (steps + 1,)."""
    assert made.resting is not None
    rest, dim = made.resting.rest, model.dimension
    found, tangent = ContactSet(rest[:, :WIDTH], dim), np.ascontiguousarray(rest[:, WIDTH + 1 : WIDTH + dim])
    given = _pushed(found, rest[:, WIDTH], tangent, model.bodies)
    return given, np.searchsorted(rest[:, -1], np.arange(len(made.states) + 1))


def rest_step(given: Given, start: float, end: float) -> Step:
    """A step whose only stage are contacts that it holds."""
    m = len(given.normal)
    return Step(start, end, [Stage(given, False, np.full(m, start), np.full(m, end - start), False)])


def _pushed(found: ContactSet, push: Floats, tangent: Floats | None, bodies: int) -> Given:
    """Contacts with impulses (m,) along normals and (m, t) along tangents; boundaries are numbered after the bodies."""
    m, dim = found.count, found.dimension
    tangent = np.zeros((m, dim - 1)) if tangent is None else tangent
    friction = friction_in_world(found.normal, tangent)
    hint, impulse = np.zeros((m, 6)), np.zeros((m, 3))
    hint[:, :dim], hint[:, 3 : 3 + dim] = found.normal, found.point
    if dim == 2:
        impulse[:, 0], impulse[:, 1] = -hint[:, 1] * friction, hint[:, 0] * friction
    else:
        impulse[:] = friction
    impulse += push[:, None] * hint[:, :3]
    second = np.where(found.second >= 0, found.second, bodies - 1 - found.second)
    pair = np.stack([found.first, second], axis=1).astype(np.int64)
    return Given(pair, hint, np.array(push, dtype=np.float64), impulse)


def islands(contacts: list[Contact], model: Model) -> list[list[Contact]]:
    """Contacts by islands of free bodies; those without any impulse are left out."""
    if len(contacts) == 1:
        return [contacts] if contacts[0].normal else []
    label = {actor: actor for c in contacts for actor in c.pair if model.free[actor]}

    def root(a: int) -> int:
        while label[a] != a:
            a = label[a]
        return a

    for c in contacts:
        own = [a for a in c.pair if model.free[a]]
        if len(own) == 2:
            label[root(own[1])] = root(own[0])
    groups: dict[int, list[Contact]] = {}
    for c in contacts:
        own = [a for a in c.pair if model.free[a]]
        if own:
            groups.setdefault(root(own[0]), []).append(c)
    return [group for group in groups.values() if any(c.normal for c in group)]
