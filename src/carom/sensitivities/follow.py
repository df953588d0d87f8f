"""A run followed impact by impact: from the contacts that the stepper reports to exact times and linear maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..derivatives.kinks import AT_KINK
from ..errors import ProblemError
from ..solvers.rows import Floats
from ..stepping.report import Stretch
from ..stepwise import Simulation
from ..world import State
from .contact_map import BODY, FEATURE, FRICTION, LENGTH, A, B, V, geometry_map
from .held_steps import (
    PUSHED,
    RESTARTED,
    SAME_END,
    STRAYED,
    Motion,
    Rule,
    Steps,
    alone_contacts,
    held_steps,
    strayed,
)
from .holds import Holding, Start, ended, held_several, held_single
from .impacts import SAME_INSTANT, Several, Struck
from .model import PLACED, RECORD, Model, placing
from .search import Cast, Found, approach, find_contact, put_actor
from .single import Given, Singles, contact_numbers, contact_places, event_of, followed_singles, one_single, tape_of
from .stages import Contact, Stage, Step, islands, rest_step, resting_contacts
from .tape import Event, Tape

TIMED = ("time_of_impact", "drift_safe")  # steppers that resolve an impact when its gap closes
FOLLOWED = (*TIMED, "synchronous")
MISSED = 1e-4  # distance of a contact from that of the stepper, in length scales, up to which it is the same one
SLOW = 1e-3  # approach of contacts at rest, in speeds that gravity adds in a step; the shortest hops have ten times it
UNMOVED = 1e-10  # motion in a step, in length scales and speeds that gravity adds, up to which bodies are unmoved
TOUCHING = 1e-9  # gap, in length scales, up to which two bodies touch at the start of a run


NO_STATES, NO_CONTACTS = np.empty((0, 0, 0)), np.empty(0, bool)

Passed = tuple[float, int, Floats, bool]  # time, body, its numbers (12,) after an event, whether it falls then


def passed(path: list[Passed | Motion]) -> Iterator[Passed]:
    """The bodies after each event, one by one."""
    for one in path:
        if not isinstance(one, Motion):
            yield one
            continue
        for actor, begin, end, first, last in zip(*one):
            yield float(begin), int(actor), first, False
            yield float(end), int(actor), last, True


class Placing(NamedTuple):
    """An actor that follows a motion, in one step."""

    actor: int
    time: float  # start of the step


class Unmoved(NamedTuple):
    """The hold of several contacts in a step, which is that of the next ones while the numbers stay the same."""

    numbers: Floats  # (m, LENGTH) of the contacts at its start
    time: float
    slow: float
    event: Event
    held: Holding


@dataclass(eq=False)
class Follower:
    """The state of a run that is followed, and what is known about its impacts."""

    sim: Simulation
    model: Model
    placings: list[Placing] = field(default_factory=list)
    kinks: list[tuple[float, str]] = field(default_factory=list)
    impacts: int = 0
    path: list[Passed | Motion] = field(default_factory=list)  # bodies after each event of the steps followed
    held: list[Holding] = field(default_factory=list)  # in the step that is followed

    def __post_init__(self) -> None:
        m = self.model
        self.timed = self.sim.stepper in TIMED
        self.vector = m.numbers.copy()
        actors = self.vector[: BODY * m.actors].reshape(-1, BODY)
        feature = self.vector[m.feature_start : m.restitution_start].reshape(-1, FEATURE)
        gravity = self.vector[m.gravity_start : m.record_start]
        self.cast = Cast(actors, np.zeros(m.actors), m.free.copy(), m.features.ptr, m.features.kind, feature, gravity)
        self.scratch = np.zeros(BODY)
        self.unmoved: dict[tuple[tuple[int, ...], ...], Unmoved] = {}
        self.still = self._still()  # changes of the numbers of a contact that are none
        self.placed = np.full(m.actors, -1.0)  # start of the step in which an actor was placed
        self.slot = np.zeros(m.actors, int)  # number of its last placing
        self.step = self.sim.time_step
        in_line = self.sim.stepper == "time_of_impact" and m.dimension == 2
        gained = self.step * float(np.linalg.norm(gravity))
        self.rule = Rule(not in_line, 0.0 if in_line else 2.0 * gained, self.sim.world.length_scale, gained)
        self.begun = self.sim.state.time
        self.struck_at = np.full(m.actors, -np.inf)  # time of the last impact of each actor
        self.released_at = np.full(m.actors, -np.inf)  # time of the last contact that ended a hold of each actor

    def _still(self) -> Floats:
        """Changes (LENGTH,) of the numbers of a contact up to which its bodies have not moved: rounding errors."""
        length, speed = self.sim.world.length_scale, self.sim.time_step * float(np.linalg.norm(self.cast.gravity))
        out = np.zeros(LENGTH)  # masses, coefficients and gravity do not change
        for at in (A, B):
            out[at : at + 3], out[at + 3 : at + V] = length, 1.0
            out[at + V : at + V + 3], out[at + V + 3 : at + 2 * V] = speed, speed / length
        return UNMOVED * out

    # ---- one step

    def followed(self, step: Step) -> list[Event | Tape]:
        """The events of a step, in the order of their times."""
        events: list[Event | Tape] = []
        held: list[Event | Tape] = []
        if step.start <= self.begun + 1.5 * self.step and not self.kinks:  # fixed steps find a contact at rest later
            self._note_start(step)
        for stage in step.stages:
            self._end_holds(stage, step, events)
            if stage.duration is not None:
                held += self._hold(stage, step, events)
                continue
            count, at = len(stage.given.normal), 0
            while at < count:
                last = count
                if stage.in_sequence:
                    at = self._follow_singles(stage.given, at, step, events)
                    last = min(at + 1, count)
                if at < last:
                    events += self._together(stage.contacts(at, last), step, float(stage.time[at]))
                at = last
        self._end_holds(None, step, events)
        return [*sorted(events, key=lambda e: e.time if isinstance(e, Event) else e.time[0]), *held]

    def _note_start(self, step: Step) -> None:
        """The kink of bodies that touch at the start of the run and do not approach: a change may part them.

        Without the times of impacts it is one for bodies that approach, too: their impact may be a step later.
        """
        cast, length, begun = self.cast, self.sim.world.length_scale, self.begun
        slow = SLOW * self.step * float(np.linalg.norm(cast.gravity))
        for c in (c for stage in step.stages for c in stage.contacts(0, len(stage.time))):
            for actor in c.pair:
                if self.model.follows[actor]:
                    self._put(actor, begun)
            found = Found(*find_contact(cast, c.pair, c.hint, length, (begun, begun), False))
            if found.ball_feature < 0 or any(cast.since[a] > begun for a in c.pair if self.model.free[a]):
                continue
            z = contact_numbers(self.model.layout, cast, found[:4], begun, self.vector)
            gap, rate = approach(z, cast.kind[found.other_feature])
            if abs(gap) <= TOUCHING * length and (abs(rate) <= slow or (rate < 0.0 and not self.timed)):
                self.kinks.append((begun, "a contact touches at the start of the run"))
                return

    def _together(self, contacts: list[Contact], step: Step, time: float) -> list[Event]:
        """The events of contacts that the law was given together, at a time of the stepper."""
        events: list[Event] = []
        struck = [self._struck(island, step, time) for island in islands(contacts, self.model)]
        for one, beside in sorted(struck, key=lambda s: s[0].time):
            events += self._place(one, step)
            events.append(self._resolve(one))
            self.impacts += 1
            self._note_beside(one, beside)
        return events

    def _follow_singles(self, given: Given, first: int, step: Step, events: list[Event | Tape]) -> int:
        """Adds the events of contacts from `first` on that have a closed form, and returns the next one."""
        near, span = (self.sim.world.length_scale, MISSED), (step.start, step.end)
        at, found = followed_singles(self.model.layout, self.cast, self.vector, given, first, span, near, self.timed)
        if at == len(given.normal) and len(step.stages) == 1 and not events and not self.held:  # nothing else happens
            events.append(Tape(*tape_of(found, at, self.model.gravity_start)))
        else:
            events += [event_of(found, i) for i in range(first, at)]
        for i in range(first, at):
            self._note_path(found, i)
        self.impacts += at - first
        return int(at)

    def _note_path(self, found: Singles, i: int) -> None:
        """Adds the bodies after event i to the path."""
        for side in range(2):
            actor = int(found.actors[i, side])
            if self.model.free[actor]:
                self.struck_at[actor] = found.time[i]
                self.path.append((float(found.time[i]), actor, found.values[i, 12 * side : 12 * side + 12], True))

    def _struck(self, island: list[Contact], step: Step, given: float) -> tuple[Struck, list[Contact]]:
        """The contacts of an island at their time, which contacts at rest do not set; and those that took no part."""
        cast, length = self.cast, self.sim.world.length_scale
        for contact in island:
            for actor in contact.pair:
                if self.model.follows[actor]:
                    self._put(actor, step.start)
        largest = max(abs(c.normal) for c in island)
        pushed = [c for c in island if abs(c.normal) > PUSHED * largest]
        beside = [c for c in island if abs(c.normal) <= PUSHED * largest] if len(pushed) == 1 else []
        island = pushed if len(pushed) == 1 else island
        pairs, timed = [], self.timed and not self._rests(island, given)
        for c in island:
            since = max((cast.since[a] for a in c.pair if self.model.free[a]), default=step.start)
            span = (max(since, step.start), step.end) if timed or not self.timed else (max(since, given), step.end)
            got = find_contact(cast, c.pair, c.hint, length, span, timed)
            away = got.ball_feature < 0 or not got.miss <= MISSED * max(length, abs(c.hint).max())
            if away and abs(c.normal) <= PUSHED * largest:  # the law was given a contact that does not touch yet
                continue
            pairs.append((c, Found(*got)))
            if away:
                raise ProblemError(
                    f"impact at time {got.time:g}",
                    f"a contact that is {got.miss:.1g} from that of the stepper",
                    "a run whose impacts can be found again; try a shorter time step",
                )
        island, found = [c for c, _ in pairs], [f for _, f in pairs]
        time = self._time(found) if timed else max(f.time for f in found)
        sign = np.array([1.0 if f.ball == c.pair[0] else -1.0 for c, f in pairs])
        impulse = sign[:, None] * np.array([c.impulse for c in island])
        return Struck(time, found, np.array([c.normal for c in island]), impulse, timed), beside

    def _note_beside(self, struck: Struck, beside: list[Contact]) -> None:
        """The kink of contacts that touch, and at rest get no impulse: friction of the impact may press them or not."""
        cast, length, time = self.cast, self.sim.world.length_scale, struck.time
        slow = SLOW * self.step * float(np.linalg.norm(cast.gravity))
        if (
            not beside
            or not contact_numbers(self.model.layout, cast, struck.contacts[0][:4], time, self.vector)[FRICTION]
        ):
            return
        for c in beside:
            found = Found(*find_contact(cast, c.pair, c.hint, length, (time, time), False))
            if found.ball_feature < 0:
                continue
            z = contact_numbers(self.model.layout, cast, found[:4], time, self.vector)
            gap, rate = approach(z, cast.kind[found.other_feature])
            if abs(gap) <= TOUCHING * length and abs(rate) <= slow:
                self.kinks.append((time, "a contact at rest is about to push"))
                return

    def _rests(self, island: list[Contact], time: float) -> bool:
        """Whether all contacts of an island touch and do not approach at a time."""
        slow, length = SLOW * self.step * float(np.linalg.norm(self.cast.gravity)), self.sim.world.length_scale
        for c in island:
            if slow == 0.0 or any(self.cast.since[a] > time for a in c.pair if self.model.free[a]):
                return False
            found = Found(*find_contact(self.cast, c.pair, c.hint, length, (time, time), False))
            if found.ball_feature < 0:
                return False
            z = contact_numbers(self.model.layout, self.cast, found[:4], time, self.vector)
            gap, rate = approach(z, self.cast.kind[found.other_feature])
            if abs(gap) > MISSED * length or abs(rate) > slow:
                return False
        return True

    def _time(self, found: list[Found]) -> float:
        """The time at which the contact that approaches fastest closes; others may touch already."""
        if len(found) == 1:
            return found[0].time
        rates = []
        for contact in found:
            z = contact_numbers(self.model.layout, self.cast, contact[:4], contact.time, self.vector)
            rates.append(approach(z, self.cast.kind[contact.other_feature])[1])
        return found[int(np.argmin(rates))].time

    def _place(self, struck: Struck, step: Step) -> list[Event]:
        """Events that place the actors of an impact which follow a motion."""
        events, none = [], np.empty(0)
        for actor in {actor for contact in struck.contacts for actor in contact[:2] if self.model.follows[actor]}:
            if self.placed[actor] != step.start:
                self.placed[actor], self.slot[actor] = step.start, len(self.placings)
                self.placings.append(Placing(actor, step.start))
            ins = self.model.size + PLACED * self.slot[actor] + np.arange(PLACED)
            fly = np.eye(PLACED)  # prescribed actors move straight within a step
            fly[:6, 6:] = (struck.time - step.start) * np.eye(6)
            events.append(Event(struck.time, none.astype(int), none, ins, BODY * actor + np.arange(PLACED), fly))
        return events

    def _put(self, actor: int, start: float) -> None:
        if self.cast.since[actor] != start or self.placed[actor] != start:  # not yet in this step
            self.cast.actors[actor, :12] = placing(self.sim.world, actor, start, self.step)
            self.cast.since[actor] = start

    def _resolve(self, struck: Struck) -> Event:
        """The event of an impact; bodies get their numbers after it."""
        if len(struck.contacts) == 1:
            who, given = struck.contacts[0][:4], (struck.time, struck.impulse[0], struck.timed)
            closed, found = one_single(self.model.layout, self.cast, self.vector, who, *given)
            if closed:
                for side in range(2):
                    if self.model.free[who[side]]:
                        self.cast.actors[who[side], :12] = found.values[0, 12 * side : 12 * side + 12]
                        self.cast.since[who[side]] = struck.time
                self._note_path(found, 0)
                return event_of(found, 0)
        several = Several(self.model, self.cast, struck, self.vector, self.sim.engine.response)
        event, velocity, other = several.event()
        for k, actor in enumerate(several.bodies):
            self.struck_at[actor] = struck.time
            self._set(int(actor), struck.time, np.concatenate([several.state[k, :6], velocity[k]]))
        self._note(several, other)
        return event

    def _set(self, actor: int, time: float, numbers: Floats, falls: bool = True) -> None:
        self.cast.actors[actor, :12], self.cast.since[actor], self.cast.falls[actor] = numbers, time, falls
        self.path.append((time, actor, numbers, falls))

    def _note(self, several: Several, other: float) -> None:
        """Kinks of an impact of several contacts."""
        time, lin = several.struck.time, several.linearization
        if other > SAME_INSTANT:
            self.kinks.append((time, f"{len(several.struck.contacts)} contacts touch at the same time"))
        for kink in lin.kinks(several.names):
            if kink.distance <= AT_KINK * lin.run.margins.scale:
                self.kinks.append((time, f"a contact {kink.reason}"))
                break

    # ---- contacts that are held

    def _hold(self, stage: Stage, step: Step, events: list[Event | Tape]) -> list[Tape]:
        """Adds the starts of all holds of a stage, and returns the tape of those that last for the whole step."""
        assert stage.duration is not None
        time, in_line, speed = float(stage.time[0]), not self.rule.closes, self.rule.slow
        alone, pushed = self._alone(stage, step)
        tapes = []
        if alone.any():
            one = Steps(np.array([0, len(alone)]), np.array([time, step.end]), NO_STATES, NO_STATES)
            tape, _, good = self._held_steps(stage.given, alone, one)
            if not good:
                raise _lost(step)
            tapes.append(tape)
        pushed &= ~alone
        if not pushed.any():
            return tapes
        every = stage.contacts(0, len(stage.time))
        contacts = [c for c, pushes in zip(every, pushed) if pushes]
        until = {c.pair: float(t) for c, t in zip(every, stage.time + stage.duration)}
        end = step.end if stage.released else self._on_step_end(float((stage.time + stage.duration).max()), step)
        for island in islands(contacts, self.model):
            bodies = {a for c in island for a in c.pair if self.model.free[a]}
            begin = max([time, *(float(self.cast.since[a]) for a in bodies)])
            same, early = SAME_END * self.step, begin > step.start + SAME_END * self.step
            struck = [a for a in bodies if early and abs(self.struck_at[a] - begin) <= same]
            if begin > time + same and len(struck) < len(bodies):
                raise ProblemError(
                    f"step until time {step.end:g}", "bodies that are held from different times on",
                    "a run whose impacts and resting contacts can be followed; try a shorter time step",
                )  # fmt: skip
            found = []
            for c in island:
                for actor in c.pair:
                    if self.model.follows[actor]:
                        self._put(actor, step.start)
                found.append(
                    Found(*find_contact(self.cast, c.pair, c.hint, self.sim.world.length_scale, (begin, end), False))
                )
            if any(f.ball_feature < 0 for f in found):
                raise _lost(step)
            sign = np.array([1.0 if f.ball == c.pair[0] else -1.0 for c, f in zip(island, found)])
            impulse = sign[:, None] * np.array([c.impulse for c in island])
            given = Struck(begin, found, np.array([c.normal for c in island]), impulse, False)
            events += self._place(given, step)
            clock = struck or [a for a in bodies if early and abs(self.released_at[a] - begin) <= same]
            touches = in_line and early and not clock
            if not in_line and (end < step.end - same or (early and not struck)):
                raise ProblemError(
                    f"step until time {step.end:g}",
                    "resting contacts beside an impact of other bodies",
                    "drift_safe, or a run that ends before, for derivatives of a run in 3D",
                )
            slow = 0.0 if begin > time + same else speed
            start = Start(begin, end, clock[0] if clock else -1, touches, not in_line, slow)
            if len(found) == 1:
                event, held = held_single(self.model, self.cast, given, self.vector, start)
            else:
                event, held = self._held_several(given, start)
            events.append(event)
            self.held.append(held._replace(until=min(self._on_step_end(until[island[0].pair], step), end)))
            for k, actor in enumerate(held.bodies):
                q = np.zeros(2 * V)
                put_actor(self.cast, actor, begin, self.scratch, 0)
                q[:V], q[V:] = self.scratch[:V], held.moves[k]
                self._set(int(actor), begin, q, False)
        return tapes

    def _held_several(self, struck: Struck, start: Start) -> tuple[Event, Holding]:
        """The hold of several contacts; that of an earlier step if the bodies have not moved since then."""
        whole = start.clock < 0 and not start.touches
        who, time = tuple(contact[:4] for contact in struck.contacts), start.end - start.begin
        z = np.array([contact_numbers(self.model.layout, self.cast, c, start.begin, self.vector) for c in who])
        kept = self.unmoved.get(who) if whole else None
        same = kept is not None and abs(kept.time - time) <= SAME_END * self.step and kept.slow == start.slow
        if kept is not None and same and (np.abs(kept.numbers - z) <= self.still).all():
            bodies = kept.held.bodies
            flights, falls = start.begin - self.cast.since[bodies], tuple(bool(f) for f in self.cast.falls[bodies])
            held = kept.held._replace(begin=start.begin, end=start.end, until=start.end)
            return kept.event._replace(time=start.begin, flights=flights, fell=falls), held
        event, held = held_several(self.model, self.cast, struck, self.vector, start)
        if whole:
            self.unmoved[who] = Unmoved(z, time, start.slow, event, held)
        return event, held

    def _alone(self, stage: Stage, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """Which contacts (m,) of a stage are the only ones of their bodies and hold these for the whole step.

        Also returns which of them push.
        """
        assert stage.duration is not None
        same, m = SAME_END * self.step, len(stage.time)
        alone, pushed = alone_contacts(self.model.layout, self.cast.since, stage.given, (0, m), step.start + same)
        whole = (stage.time <= step.start + same) & (abs(stage.time + stage.duration - step.end) <= same)
        return alone & whole, pushed

    def _held_steps(self, given: Given, alone: np.ndarray, steps: Steps) -> tuple[Tape, int, bool]:
        """The tape of contacts that hold their bodies by themselves for whole steps; see `held_steps`."""
        tape, motion, done, good = held_steps(self.model.layout, self.cast, self.vector, given, alone, steps, self.rule)
        self.path.append(Motion(*motion))
        return Tape(*tape), int(done), bool(good)

    def followed_quiet(self, start: float, made: Stretch) -> list[Event | Tape]:
        """The events of several steps in which contacts hold bodies, and nothing else happens."""
        given, ptr = resting_contacts(made, self.model)
        time = np.array([start, *(state.time for state in made.states)])
        states = [np.stack([getattr(state, name) for state in made.states]) for name in ("position", "velocity")]
        out: list[Event | Tape] = []
        k, count = 0, len(made.states)
        while k < count:
            rest = given.part(int(ptr[k]), int(ptr[-1]))
            steps = Steps(ptr[k:] - ptr[k], time[k:], states[0][k:], states[1][k:])
            tape, done, good = self._held_steps(rest, NO_CONTACTS, steps)
            out, k = [*out, tape], k + done
            if done and ptr[k] > ptr[k - 1]:
                out += self.compare(made.states[k - 1])
            if good and done:
                continue
            step = rest_step(given.part(int(ptr[k]), int(ptr[k + 1])), time[k], time[k + 1])
            if not good:
                raise _lost(step)
            out += [*self.followed(step), *self.compare(made.states[k])]
            k += 1
        return out

    def _on_step_end(self, time: float, step: Step) -> float:
        """A time, or the end of the step if only rounding of start plus duration is between them."""
        return step.end if abs(time - step.end) <= SAME_END * self.step else time

    def _end_holds(self, stage: Stage | None, step: Step, events: list[Event | Tape]) -> None:
        """Adds the ends of all holds until the time of a stage, or until the end of the step."""
        time = step.end if stage is None or not len(stage.time) else float(stage.time.min())
        for held in sorted(self.held, key=lambda h: h.until):
            early = held.until < held.end - SAME_END * self.step
            if held.until > time + SAME_END * self.step:
                continue
            # Impacts of other bodies may be at the same time up to rounding, and in earlier stages.
            now = early and stage is not None and held.until >= time - SAME_END * self.step
            if now and stage is not None and not np.isin(stage.given.pair, held.bodies).any():
                continue
            self.held = [other for other in self.held if other is not held]
            shift = None
            if early:
                partner = self._released_with(held, stage)
                if partner >= 0:  # another body has been released by the same contact: the time is that of its record
                    held = held._replace(until=float(self.released_at[partner]))
                    shift = np.array([self.model.record_start + RECORD * partner]), np.ones(1)
                else:
                    shift = self._releasing(held, stage, step, events)
                self.released_at[held.bodies] = held.until
            event, velocity = ended(self.model, self.cast, held, shift)
            events.append(event)
            for k, actor in enumerate(held.bodies):
                put_actor(self.cast, actor, held.until, self.scratch, 0)
                self._set(int(actor), held.until, np.concatenate([self.scratch[:V], velocity[k]]))

    def _released_with(self, held: Holding, stage: Stage | None) -> int:
        """A body that touches those of a hold and has just been released; -1 if there is none."""
        for a, b in [] if stage is None else stage.given.pair:
            for own, other in ((a, b), (b, a)):
                near = abs(self.released_at[other] - held.until) <= SAME_END * self.step
                if own in held.bodies and other not in held.bodies and near:
                    return int(other)
        return -1

    def _releasing(
        self, held: Holding, stage: Stage | None, step: Step, events: list[Event | Tape]
    ) -> tuple[np.ndarray, Floats]:
        """The derivatives of the time of the impact that ends a hold, and the numbers to which they belong.

        Adds events that bring the other actors of that impact to its time.
        """
        first, fastest, time = None, 0.0, held.until
        for c in [] if stage is None else stage.contacts(0, len(stage.time)):
            if not any(a in held.bodies for a in c.pair):
                continue
            for actor in c.pair:
                if self.model.follows[actor]:
                    self._put(actor, step.start)
            found = Found(*find_contact(self.cast, c.pair, c.hint, self.sim.world.length_scale, (time, time), False))
            z = contact_numbers(self.model.layout, self.cast, found[:4], time, self.vector)
            rate = approach(z, self.cast.kind[found.other_feature])[1]
            if rate < fastest:
                first, fastest, numbers = found, rate, z
        if first is None:
            raise ProblemError(f"impact at time {time:g}", "an impact that is not found again", "a shorter time step")
        inside, where = contact_places(self.model.layout, first[:4])
        slopes, none = np.empty((7, len(inside))), np.empty(0)
        geometry_map(numbers, int(self.cast.kind[first.other_feature]), inside, slopes)
        events += self._place(Struck(time, [first], np.zeros(1), np.zeros((1, 3)), False), step)
        others = np.array([a for a in first[:2] if self.model.free[a] and a not in held.bodies], dtype=np.int64)
        falls = tuple(bool(falls) for falls in self.cast.falls[others])
        flights = time - self.cast.since[others]
        events.append(Event(time, others, flights, none.astype(int), none.astype(int), none, falls, falls))
        for actor in others:
            put_actor(self.cast, actor, time, self.scratch, 0)
            self._set(int(actor), time, self.scratch[: 2 * V].copy(), bool(self.cast.falls[actor]))
        return where, -slopes[0] / fastest

    # ---- the state at some time

    def state_at(self, time: float) -> tuple[Floats, Floats]:
        """Positions and rotations (actors, 6), velocities (actors, 6) at a time not before the last impact."""
        t = (time - self.cast.since)[:, None]
        q, v = self.cast.actors[:, :6] + t * self.cast.actors[:, V : V + 6], self.cast.actors[:, V : V + 6].copy()
        falls = self.cast.falls
        q[falls, :3] += 0.5 * t[falls] ** 2 * self.cast.gravity
        v[falls, :3] += t[falls] * self.cast.gravity
        return q, v

    def compare(self, state: State) -> list[Event]:
        """Compares with the state of the stepper, and goes on from that where rounding has grown."""
        off = strayed(self.cast, self.model.free, state.time, state.position, state.velocity, self.rule)
        if not off <= STRAYED:
            raise ProblemError(
                f"step until time {state.time:g}",
                f"a state that differs by {off:.1e} when its impacts are followed",
                "free flight and impacts alone, for derivatives of a run",
            )
        if off <= RESTARTED:
            return []
        (q, v), dim = self.state_at(state.time), self.model.dimension
        bodies, none = np.flatnonzero(self.model.free), np.empty(0)
        flights = state.time - self.cast.since[bodies]
        event = Event(state.time, bodies, flights, none.astype(int), none.astype(int), none)
        q[bodies, :dim], v[bodies, :dim] = state.position[bodies], state.velocity[bodies, :dim]
        for body in bodies:
            self._set(int(body), state.time, np.concatenate([q[body], v[body]]))
        return [event]


def _lost(step: Step) -> ProblemError:
    return ProblemError(f"step until time {step.end:g}", "a resting contact that is lost", "a shorter time step")
