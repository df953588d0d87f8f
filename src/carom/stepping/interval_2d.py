"""The motion from impact to impact within a step in 2D: bodies follow parabolas that impacts change one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet, deepest_overlap
from ..contact.containment import NOTED_OVERLAP, Violation
from ..contact.impact_schedule import SAME_IMPACT_TIME, ImpactSchedule
from ..contact.time_of_impact_2d import APPROACH_NOISE
from ..problem.assemble import Assembly, assemble, used_restitutions
from ..solvers.contact import Accuracy
from ..solvers.islands import body_islands, islands
from ..solvers.rows import Floats, Ints
from ..world import State
from .drift_safe import DriftSafe
from .event_driven import LAW_REPEATS, LEFT_APPROACH, SHORT_HOP, SHORT_HOP_ELASTIC
from .integrator import accelerations, prescribed
from .position_correction import OVERLAP_SLOP, without_overlap
from .report import StageImpulses, StepReport
from .resting import Held, RestingProblem, kept, match, pushed_bodies, put_keys, solve_resting
from .stepper import DEEPEST_OVERLAP, fastest_speed

MOST_IMPACTS = 30_000  # per step, for any number of bodies
TIMED_GAP = 1e-10  # gap, relative to the length scale, up to which impacts are timed


class Interval2D:
    """The paths of all bodies within a step.

    Resting contacts are held: their bodies move straight, at velocities at which no held contact closes, until the end
    of the step or their next impact. The overlap that results is removed at the end of the step.
    """

    most_impacts: float = MOST_IMPACTS

    def __init__(self, stepper: DriftSafe) -> None:
        self.stepper, self.world, self.h = stepper, stepper.world, stepper.h  # the length of the interval
        elastic = bool((used_restitutions(self.world) == 1.0).all())
        self.hop = SHORT_HOP_ELASTIC if elastic else SHORT_HOP
        self.schedule = ImpactSchedule(self.world, stepper.touch, TIMED_GAP * self.world.length_scale)
        self.paths = self.schedule.paths
        # A body of the island with which a body is held; -1 for bodies that are not held.
        self.hold = np.full(self.world.count, -1)
        self.held_since = np.zeros(self.world.count)  # time within the step from which on a held body is held, ...
        self.velocity_before = np.zeros((self.world.count, 3))  # ... and its velocity then
        self.rest: State | None = None  # the end of the step, if its last part was a drift-safe step
        self.deepest: Violation | None = None  # deepest overlap at an impact, if it is more than one that may stay

    def begin(self, state: State, h: float, report: StepReport) -> None:
        self.h, self.report = h, report
        self.start = prescribed(self.world, state, self.h)
        self.free_end = self.stepper.move(self.start, self.h, report)
        self.boundaries = boundaries_at(self.world, self.start.time, self.h)[0]
        self.pull = self._accelerations(self.start)
        self.pulled = self.world.force is not None or bool(self.world.gravity.any())
        self.hold[:], self.moved, self.rest, self.deepest = -1, False, None, None
        # Stages of the report in which bodies were held, and the parts (n,) of their impulses that have acted.
        self.holds: list[tuple[int, Floats]] = []
        self.schedule.begin(self.start, self.boundaries, self.pull, h, self.hop * h)
        report.clock.lap("detect")

    def next_impact(self) -> bool:
        self.time = self.schedule.next_time()
        self.moved |= self.time <= self.h
        return self.time <= self.h

    def resolve(self) -> None:
        """Resolves the impact at `time`, and changes the paths of the bodies that take part."""
        schedule, time, clock = self.schedule, self.time, self.report.clock
        rows, bodies = schedule.impact_at(time, self.hold)
        clock.lap("detect")
        state = self._advance(bodies, time)
        clock.lap("move")
        held = bodies[self.hold[bodies] >= 0]
        if len(held):
            self._release(held)
            state = schedule.state(self.start, time)
        found = schedule.contacts(rows, time)
        clock.lap("detect")
        schedule.met[bodies], self.hold[bodies] = True, -1
        self.paths.acceleration[bodies] = self.pull[bodies]
        if found.count:
            self._note_overlap(found)
            self._collide(state, found, bodies)
        schedule.update(bodies)
        clock.lap("detect")

    def finish(self) -> None:
        """The impacts of the rest of the step are resolved together, as in the synchronous step.

        That would let held bodies rise without falling. If there are any, they get the velocities that are due by now,
        and the rest of the step is a drift-safe step.
        """
        n, d = self.start.velocity.shape
        state = self._advance(np.arange(n), self.time)
        s = self.h - self.time
        held = np.flatnonzero(self.hold >= 0)
        if len(held):
            self._release(held)
            state, rounds = self.schedule.state(self.start, self.time), self.report.rounds
            self.rest = DriftSafe.advance(self.stepper, state, s, self.report)
            self.report.rounds = rounds  # the rounds of the drift-safe step are not counted
            return
        move = s * (self.paths.velocity[:n] + 0.5 * s * self.paths.acceleration[:n])
        after = State(
            self.start.time + self.h,
            self.start.step,
            state.position + move[:, :2],
            state.orientation + move[:, 2],
            state.velocity,
        )
        found = self.stepper.find(state, after, self.stepper.touch, self.report)
        if not found.count:
            return
        self._note_overlap(found)
        impact = self._assembled(state, found)
        if impact.contacts.speeds().min() < -self.stepper.noise(state):
            state = self.stepper.collide(state, found, impact, self.report)
            free = self.world.free
            self.paths.velocity[:n, :d][free] = state.velocity[free]

    def end(self) -> State:
        """All bodies at the end of their paths, scripted ones where their motion prescribes; overlap is removed."""
        self._settle_rest()
        if self.rest is not None:
            return self.rest
        end = self.free_end
        if self.moved:
            end = self._end_of_paths()
            self.report.clock.lap("move")
        if self.report.resting and self.report.overlap > OVERLAP_SLOP * self.world.length_scale:
            end = self._without_overlap(end)
            self.report.clock.lap("rest")
        return end

    # ---- paths

    def _accelerations(self, state: State) -> Floats:
        """Accelerations (n, 3) of all bodies without contact: x, y, angle."""
        out = np.zeros((self.world.count, 3))
        given = accelerations(self.world, state)
        if given is None:
            out[self.world.free, :2] = self.world.gravity
        else:
            out[:, : given.shape[1]] = np.where(self.world.free[:, None], given, 0.0)
        return out

    def _advance(self, bodies: Ints, time: float) -> State:
        """Lets the paths of some bodies begin at `time`; under a force function those of all bodies."""
        schedule, n = self.schedule, self.world.count
        if self.world.force is None:
            schedule.advance(bodies, time)
            return schedule.state(self.start, time)
        elapsed = time - self.paths.since[:n]
        before = self.paths.acceleration[:n].copy()
        schedule.advance(np.arange(n), time)
        held = (self.hold >= 0)[:, None]
        pull = np.where(held, 0.0, self._accelerations(schedule.state(self.start, time)))
        self.paths.velocity[:n] += (0.5 * elapsed)[:, None] * (pull - before)
        self.pull = self._accelerations(schedule.state(self.start, time))
        self.paths.acceleration[:n] = np.where(held, 0.0, self.pull)
        return schedule.state(self.start, time)

    def _release(self, bodies: Ints) -> None:
        """Gives held bodies that meet others at `time` the part of their change of velocity that is due by then.

        They move at the velocity of the end of the step. Kept from an earlier time on, it would include gravity for a
        part of the step that has not passed, and the energy would rise. With a linear change, impulses p per time and
        the acceleration a over the held time T the energy of a unit mass changes in the time t by
        `t (p . v1 - |a|^2 (T - t / 2))`. The first term is not positive when summed over all bodies that impulses
        connect, which therefore are released together: one body may push another, and released alone it would take
        its loss back while the other keeps its gain.
        """
        since, before = self.held_since[bodies], self.velocity_before[bodies]
        part = np.clip((self.time - since) / np.maximum(self.h - since, np.finfo(float).tiny), 0.0, 1.0)
        self.paths.velocity[bodies] = before + part[:, None] * (self.paths.velocity[bodies] - before)
        since = self.start.time + since
        for number, share in self.holds:
            mine = since == self.report.stages[number].time
            share[bodies[mine]] = part[mine]

    def _settle_rest(self) -> None:
        """Reduces the impulses that held released bodies to the part of them that has acted."""
        for number, share in self.holds:
            if (share == 1.0).all():
                continue
            stage = self.report.stages[number]
            found, part = stage.contacts, np.ones(stage.contacts.count)
            for body in (found.first, found.second):  # the free bodies of a contact have the same part
                part = np.where(body >= 0, np.minimum(part, share[np.maximum(body, 0)]), part)
            tangent = None if stage.tangent is None else part[:, None] * stage.of_contacts(stage.tangent)
            self.report.stages[number] = StageImpulses(
                found,
                None,
                part * stage.of_contacts(stage.normal),
                tangent,
                stage.time,
                part * np.asarray(stage.duration),
            )

    def _end_of_paths(self) -> State:
        state = self._advance(np.arange(self.world.count), self.h)
        free, end = self.world.free, self.free_end
        return replace(
            state,
            position=np.where(free[:, None], state.position, end.position),
            orientation=np.where(free, state.orientation, end.orientation),
            velocity=np.where(free[:, None], state.velocity, end.velocity),
        )

    def _without_overlap(self, end: State) -> State:
        """Removes the overlap that results because held bodies move straight where their contacts curve."""
        found = self.stepper.detector.find(end, end, self.stepper.margin)
        if not found.count:
            return end
        impact = assemble(self.world, end, found, boundaries_at(self.world, end.time, self.h)[0])
        # Bodies that have exchanged energy in the step share what it has dissipated, wherever they are at its end.
        apart, work = without_overlap(self.start, end, found, impact, earlier=self.report.treated_contacts())
        self.report.note_correction(self.world, end, apart)
        self.report.clock.count(work)
        return apart

    # ---- impacts

    def _note_overlap(self, found: ContactSet) -> None:
        """Notes the deepest overlap, and the largest one relative to the half width of the thinner body of its pair."""
        deepest = deepest_overlap(found.table)
        self.report.overlap = max(self.report.overlap, deepest)
        if deepest <= NOTED_OVERLAP * self.stepper.containment.least:
            return
        inner = self.world.shapes.inner
        half = np.minimum(inner[found.first], np.where(found.second >= 0, inner[found.second], np.inf))
        worst = int(np.argmax(-found.gap / half))
        share = min(float(-found.gap[worst] / half[worst]), DEEPEST_OVERLAP)  # removed at the end: no run ends by it
        if share > (NOTED_OVERLAP if self.deepest is None else self.deepest.share):
            pair = int(found.first[worst]), int(found.second[worst])
            self.deepest = Violation(*pair, float(-found.gap[worst]), share)

    def _assembled(self, state: State, found: ContactSet) -> Assembly:
        impact = assemble(self.world, state, found, self.schedule.boundaries_at(self.time))
        self.report.clock.lap("assemble")
        return impact

    def _collide(self, state: State, found: ContactSet, bodies: Ints) -> None:
        """Applies the law, repeatedly while its answer leaves an approach (with friction it may), then holds rest."""
        impact = self._assembled(state, found)
        u = impact.contacts.speeds()
        noise = APPROACH_NOISE * float(np.abs(state.velocity[bodies]).max(initial=0.0))
        noise = max(noise, -LEFT_APPROACH * float(u.min()))
        hop = self._hop_speeds(state, impact, u)
        for _ in range(LAW_REPEATS):
            if not (u < -np.maximum(noise, hop)).any():
                break
            before = state.velocity
            state = self.stepper.collide(state, found, impact, self.report)
            impact = impact.moving(state.velocity)
            u = impact.contacts.speeds()
            if np.array_equal(state.velocity[bodies], before[bodies]):
                break
        self.paths.velocity[bodies, : self.world.block] = state.velocity[bodies]
        if hop.any():
            self._hold(state, found, impact, hop, noise)
            self.report.clock.lap("rest")

    def _hop_speeds(self, state: State, impact: Assembly, u: Floats) -> Floats:
        """Speeds (m,) up to which a contact that gravity or a force closes counts neither as separating nor closing."""
        left = self.h - self.time
        if not self.pulled or left <= SAME_IMPACT_TIME * self.h:
            return np.zeros(len(u))
        drop = u - impact.contacts.speeds(impact.whitened(self._falling(state)))
        return np.maximum(self.hop * self.h / left * drop, 0.0)

    def _falling(self, state: State) -> Floats:
        """Velocities (n, d) at the end of the step if no contact acted."""
        return state.velocity + (self.h - self.time) * self.pull[:, : self.world.block]

    def _hold(self, state: State, found: ContactSet, impact: Assembly, hop: Floats, noise: float) -> None:
        """Holds contacts at rest from here to the end of the step. `hop` (m,) is the speed of the smallest bounce."""
        falling = self._falling(state)
        u, then = impact.contacts.speeds(), impact.contacts.speeds(impact.whitened(falling))
        if not ((np.abs(u) <= hop) & (then < -noise)).any():
            return
        lying = np.abs(u) <= max(float(hop.max()), noise)  # contacts on a held body will rest with it
        while True:
            some = found.take(lying)
            after, who, hold, held = self._held_still(state, some, falling)
            # Contacts that were separating, but which the held bodies now close, are held as well.
            more = ~lying & (u >= 0.0) & (impact.contacts.speeds(impact.whitened(after)) < -noise)
            if not more.any():
                break
            lying |= more
        if held is not None:
            self.holds.append((len(self.report.stages), np.ones(self.world.count)))
            left = self.h - self.time
            self.report.note_rest(some, held.chosen, held.impulse, held.residual, state.time, left)
        self.hold[who], self.held_since[who] = hold, self.time
        self.velocity_before[who] = self.paths.velocity[who]
        self.paths.acceleration[who] = 0.0
        self.paths.velocity[who, : self.world.block] = after[who]

    def _held_still(self, state: State, found: ContactSet, falling: Floats) -> tuple[Floats, Ints, Ints, Held | None]:
        """Velocities (n, d) at which no contact closes until the end of the step, the bodies held, a body of the island
        with which each of these is held, and the answer."""
        s, report = self.stepper, self.report
        impact = self._assembled(state, found).moving(falling)
        report.scale = max(report.scale, fastest_speed(impact.rows, impact.velocity))
        problem = RestingProblem.empty(impact.rows, impact.velocity.shape)._replace(falling=impact.velocity)
        put_keys(found.table, *s.counts, problem.keys)
        match(report.warm_start, problem.keys, found.table, impact.rows.tangents, problem.start)
        accuracy = Accuracy(s.allowed(report, found.count), s.tolerance * report.scale)
        held = solve_resting(impact.rows, problem, np.ones(found.count, np.bool_), problem.start, accuracy)
        report.warm_start = kept(found, problem.keys, held)
        if held is None:
            return state.velocity, np.empty(0, np.int64), np.empty(0, np.int64), None
        who = np.flatnonzero(pushed_bodies(impact.rows, held))
        n, body = len(held.velocity), impact.rows.body
        pushing = islands(body, np.flatnonzero(held.impulse[:, 0] > 0.0), np.empty(n, np.int64), np.empty(n, np.int64))
        _, first, island = np.unique(body_islands(body, pushing, n)[who], return_index=True, return_inverse=True)
        who = who if impact.bodies is None else impact.bodies[who]
        after = state.velocity.copy()
        after[who] = impact.unwhitened(held.velocity, falling)[who]
        return after, who, who[first][island], held
