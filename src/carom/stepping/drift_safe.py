"""The drift-safe step: the law resolves impacts, an inelastic frictional solve holds resting contacts.

Stepping with impacts alone sinks where bodies rest, because gravity acts after the impulses. Here a contact that
approaches more slowly than gravity alone would make it in two steps is at rest: it receives the impulse that keeps
`gap >= 0` at the end of the step, with Coulomb friction and without restitution.

The step never adds energy. With `p` the impulses of the resting solve, `v1 = v + h g + p` and `q1 = q + h v1`, the
energy changes by `p . v1 - |p - h g|^2 / 2` (mass 1, uniform gravity g); friction opposes slip, and `u1 <= 0` wherever
a normal impulse acts, because no gap requires a speed of separation. Where a whole island slides or rolls on closed
contacts, positions move at the mean of the old and the new velocity, which is of second order.

Impacts are placed at the time within the step at which their gaps close (`impact_stage.py`). Contacts are found and
assembled once per step; all stages work on these rows.

Remaining overlap (from rounding, curvature, or the initial state) is then removed (`position_correction.py`), at the
expense of energy that the step has dissipated or still has. That uses the contacts of the start of the step. Where
bodies that are not round move so far that a contact may end below the tangent plane in which it was held, the contacts
of the end are found as well, and overlap there that is larger than the tolerance is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from ..contact.boundaries import boundary_table
from ..contact.contact_set import FIRST, GAP, PREDICTED, SECOND, WIDTH, ContactSet, deepest_overlap
from ..contact.motion import displacement_at
from ..kernels import lean
from ..problem.assemble import Assembly
from ..resolve.response import Response
from ..solvers.contact import Accuracy
from ..solvers.rows import FRICTION, Floats, Ints
from ..world import State, World
from .impact_stage import (
    Approach,
    approach_speeds,
    change_velocity,
    contact_times,
    displace,
    fast_contacts,
    held_bodies,
    strike,
)
from .integrator import accelerations, displaced, prescribed
from .jointed import fallen, held_jointed, still, without_gain
from .position_correction import OVERLAP_SLOP, without_overlap
from .report import NO_WARM_START, StepReport, WarmStart
from .resting import (
    NO_BODIES,
    NO_ORIENTATIONS,
    NO_TIMES,
    Held,
    Interval,
    RestingProblem,
    closed_by,
    held_motion,
    hold_together,
    kept,
    solve_resting,
    state_problem,
)
from .stepper import APPROACH_NOISE, Contained
from .touch import Flight, Struck

# Lengths relative to the length scale of the world.
RESTING_MARGIN = 1e-2  # gap up to which contacts take part in the resting solve
FINEST_OVERLAP = 1e-4  # overlap at the end of a step that is left alone, also if the tolerance is smaller
# Bound, relative to the radius of a body, on the gap of contacts that impulses on other contacts may close.
SEARCHED_GAP = 0.5
WAITING_OVERLAP = 1e-2  # overlap, if the tolerance is not smaller, of an impact that may wait for the next step
NEIGHBOR_SPEED = 0.25  # a slow body may be pushed by its neighbors to this share of the fastest speed
# Numbers of iterations.
MOST_APPLICATIONS = 100  # bound on the applications of the law per step; impacts may cause further impacts
MOST_SEARCHES = 20  # bound on the searches for contacts per step, where impacts make bodies much faster
MOST_SEPARATIONS = 6  # removals of the overlap at the end of a step
COMMON_TIMES = 3  # repetitions of these solves after which bodies that hold each other in flight do so from one time on
RESTING_SOLVES = 4  # solves per step, each with the contacts that the previous answer would close


class Impacts(NamedTuple):
    """What the impacts of an interval leave to the resting solve."""

    found: ContactSet  # contacts as they are at the start
    approach: Approach
    flight: Flight


class Ahead(NamedTuple):
    """The free motion of an interval of time, and the contacts that it may close."""

    start: State
    end: State
    h: float
    slow: Floats  # (n,) resting speeds of the bodies: slower approach is resting contact
    searched: Floats  # (n,) gap up to which contacts of each body were searched
    found: ContactSet
    impact: Assembly | None  # of the contacts found; None if there are none
    overlap: float  # deepest one of the contacts found
    speeds: Floats | None = None  # (2, m) normal and resting speeds; None if the impact stage has not computed them
    # None if there were no impacts:
    shift: Floats | None = None  # (n, d) displacement of the start from which free motion passes through the impacts
    time: Floats | None = None  # (n,) of the last impact of each body
    impacts: Impacts | None = None  # also None where the contacts were found after the impacts


class Rest(NamedTuple):
    """A step at whose end all velocities are zero and all poses are those of its start."""

    start: State
    h: float
    warm_start: WarmStart  # at the start and at the end
    ahead: Ahead
    held: Held
    scale: float  # the largest speed


class DriftSafe(Contained):
    """Resolves impacts until none is left, then holds resting contacts, then moves the bodies."""

    name: ClassVar[str] = "drift_safe"
    title: ClassVar[str] = "impacts through the law, resting contact without drift"
    guarantee: ClassVar[str] = "never adds energy; bodies at rest do not sink; bodies do not pass through each other"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.margin = RESTING_MARGIN * world.length_scale
        moves = world.free.copy()  # bodies at rest for ever close no gap, however large they are
        for bodies, _ in world.motions:
            moves[bodies] = True
        self.reach = SEARCHED_GAP * np.where(moves, world.shapes.radius, 0.0)
        self.wait = min(WAITING_OVERLAP, response.tolerance) * world.length_scale
        self.warm_start = NO_WARM_START
        self.rest: Rest | None = None  # the last step, if it may be repeated
        self.counts = (world.count + len(world.boundaries.kind), len(world.boundaries.kind))
        self.arm = np.where(world.shapes.round, 0.0, world.shapes.radius)  # (n,) at which rotation moves a surface
        root = world.inverse_sqrt_mass
        self.pull = np.zeros_like(root)  # (n, d) whitened acceleration by gravity
        pulled = root[:, 0] > 0.0
        self.pull[pulled, : world.dimension] = world.gravity / root[pulled, : world.dimension]
        self.all_round = bool(world.shapes.round.all())
        # (n,) Whether impacts of a body take place within the step: its path is a parabola.
        self.timed = np.full(world.count, world.force is None)
        if world.joints is not None:
            self.timed &= ~(world.joints.holds(world.count) & world.free)
        # Whether mechanisms at rest are found before rows on the motions that joints allow are made. These rows show
        # contacts that cannot open, which matter where something drives them together.
        self.direct = world.joints is not None and world.steady and not len(world.joints.motors.speed)
        self.coordinates = tuple(range(world.dimension))
        self.boundaries = boundary_table(world.boundaries)  # at the start, if they move
        self.none = np.empty((0, world.block))  # in place of velocities that are not given

    def advance(self, state: State, h: float, report: StepReport) -> State:
        start = prescribed(self.world, state, h)
        if self.rest is not None and self._repeats(self.rest, start, h, report):
            return self._at_rest(self.rest, start, report)
        slow, searched = self.bounds(start, h)
        ahead = self.look_ahead(start, h, slow, searched, report)
        ahead = self.resolve_impacts(ahead, report)
        return self.hold_resting(ahead, report)

    def bounds(self, state: State, h: float) -> tuple[Floats, Floats]:
        """Resting speeds (n,), and gaps (n,) up to which contacts of each body are searched.

        Bodies gain the resting speed in two steps of free fall; slower approach is resting contact.
        """
        gained = np.array([2.0 * h * self.fall])
        if self.world.force is not None:
            pull = accelerations(self.world, state)
            assert pull is not None
            gained = 2.0 * h * np.linalg.norm(pull[:, : self.world.dimension], axis=1)
        slow, searched = out = np.empty((2, self.world.count))
        put_bounds(state.velocity, gained, self.arm, self.reach, self.world.dimension, h, self.margin, out)
        return slow, searched

    def look_ahead(self, start: State, h: float, slow: Floats, searched: Floats, report: StepReport) -> Ahead:
        """Free motion for the time h, with the contacts that it closes and those that reversed velocities would close.

        The latter would open, but impulses at other contacts may close them.
        """
        end = self.move(start, h, report)
        found, overlap = self._near(start, end, searched, report)
        report.overlap, report.near = max(report.overlap, overlap), found
        impact = self._assembled(start, found, h, report) if len(found.table) else None
        return Ahead(start, end, h, slow, searched, found, impact, overlap)

    def _assembled(self, start: State, found: ContactSet, h: float, report: StepReport) -> Assembly:
        """The impact of the contacts `found`; direct where that may be enough."""
        return (self.assemble_contacts if self.direct else self.assemble)(start, found, h, report)

    def _near(self, start: State, end: State, searched: Floats, report: StepReport) -> tuple[ContactSet, float]:
        """The contacts that free motion closes, or that reversed velocities would close, and their deepest overlap."""
        found, _ = self.detector.closing(start, end, searched)
        report.clock.lap("detect")
        near = np.empty(len(found.table), np.int64)
        count, overlap = near_contacts(found.table, searched, self.margin, near)
        return (found if count == len(near) else found.take(near[:count])), overlap

    # ---- impacts

    def resolve_impacts(self, ahead: Ahead, report: StepReport) -> Ahead:
        """Applies the law to the contacts that close within the time h, repeatedly while its answer closes others.

        Returns the motion from the start with the new velocities.
        """
        for _ in range(MOST_SEARCHES):
            if ahead.impact is None:
                break
            impact = ahead.impact
            speeds, top, fast = self._approach_speeds(ahead, impact)
            report.scale = max(report.scale, top)
            ahead = ahead._replace(speeds=speeds)
            if not fast:
                break
            if impact.direct:
                impact = self.through_joints(impact, ahead.start, ahead.found, ahead.h, report)
                ahead = ahead._replace(impact=impact)
            found, impacts = self._rounds(ahead, impact, report)
            if impacts is None:
                break
            ahead, complete = self._after_impacts(ahead._replace(found=found), impact, impacts, report)
            if complete:
                break
        return ahead

    def _approach_speeds(self, ahead: Ahead, impact: Assembly) -> tuple[Floats, float, bool]:
        """Normal and resting speeds of the contacts found, the largest speed, and whether one of them is an impact."""
        lengths, table = (self.margin, self.touch), ahead.found.table
        speeds, top, fast = approach_speeds(
            impact.rows, impact.velocity, table, impact.restitution, ahead.slow, lengths, ahead.h
        )
        return speeds, top, fast

    def _rounds(self, ahead: Ahead, impact: Assembly, report: StepReport) -> tuple[ContactSet, Impacts | None]:
        """Applies the law until nothing approaches fast, or the energy that restitution could still give back is within
        the tolerance of the energy of approach before; what is left closes without restitution in the resting solve.

        Returns the contacts, those that took part with the geometry of their impact, and the motion after it; None if
        the law changes nothing.
        """
        found, changed, energy = ahead.found, False, 0.0
        approach, flight, pull = _approach(ahead, impact), self._flight(ahead, impact), self.pull[impact.taking_part]
        rows, e, table = impact.rows, impact.restitution, ahead.found.table
        none, chosen, m = (0.0, 0.0), NO_BODIES, len(found.table)
        for number in range(MOST_APPLICATIONS):
            # What the last application of the law may have left; contacts without dissipation must not lose more.
            left = (self.tolerance * report.scale, self.allowed(report, len(chosen), m)) if number else none
            chosen, whole, returned = fast_contacts(rows, approach, e, ahead.h, self.touch, left)
            if not len(chosen):
                break
            if number and returned <= self.allowed(report, len(chosen), m) / report.scale * energy:
                break
            energy = energy if number else whole
            report.rounds += 1
            found, struck, gap, before = self._strike(found, impact, approach, flight, chosen, table)
            contacts = impact.subset(chosen, struck.velocity)
            time = ahead.start.time + contact_times(rows.body, struck.time, chosen)
            result, after = self.resolve(contacts, found, chosen, time, report)
            if not result.normal.any():  # all approach is within the tolerance
                if not changed and len(struck.contacts) and not self._elastic(impact):
                    again = struck.contacts  # rest begins at the start
                    rows.val[again, :2], rows.base[again], rows.diag[again] = before
                    impact.__dict__.pop("contacts", None)
                break
            change_velocity(rows, approach, flight, struck, after, table, gap, pull)
            changed = True
        return found, Impacts(ahead.found, approach, flight) if changed else None

    def _flight(self, ahead: Ahead, impact: Assembly) -> Flight:
        """The free motion of all bodies, to find them at the time of an impact."""
        start, world = ahead.start, self.world
        walls = impact.boundaries
        table = boundary_table(walls) if world.moving_boundaries else self.boundaries
        bodies = NO_BODIES if impact.bodies is None else impact.bodies
        turn, shapes = start.orientation.reshape(world.count, -1), world.shapes
        state = (start.position, turn, start.velocity, world.masses, bodies, shapes.radius, shapes.round)
        return Flight(*state, table, walls.center, walls.velocity, ahead.h, self.timed)

    def _strike(
        self, found: ContactSet, impact: Assembly, approach: Approach, flight: Flight, chosen: Ints, start: Floats
    ) -> tuple[ContactSet, Struck, Floats, tuple[Floats, Floats, Floats]]:
        """The contacts `found` with those of an impact as they are at its time, and the bodies that it strikes.

        Replaces the rows of these contacts: a copy of all rows per round would cost more than the law. Their gaps (k,)
        and the numbers of their rows before follow. `start` is the table of the contacts as they are at the start.
        """
        pull, how = self.pull[impact.taking_part], (impact.restitution, chosen, self.margin)
        struck, table, gap, before = strike(
            self.coordinates, impact.rows, approach, flight, start, found.table, how, pull
        )
        if len(gap):
            found = ContactSet(table, found.dimension)
            impact.__dict__.pop("contacts", None)  # it has cached what depends on the rows
        return found, struck, gap, before

    def _after_impacts(
        self, ahead: Ahead, impact: Assembly, impacts: Impacts, report: StepReport
    ) -> tuple[Ahead, bool]:
        """The motion from the start with the new velocities, and whether all contacts near it are known."""
        old, h, approach = ahead.start, ahead.h, impacts.approach
        shift = np.zeros_like(old.velocity) if ahead.shift is None else ahead.shift
        time = np.zeros(self.world.count) if ahead.time is None else ahead.time.copy()
        velocity = impact.unwhitened(approach.velocity, old.velocity)
        start = State(old.time, old.step, old.position, old.orientation, velocity)
        shift, time[impact.taking_part] = impact.unwhitened(approach.shift, shift), approach.time
        if len(approach.orientation):
            orientation = old.orientation.copy()
            orientation[impact.taking_part] = approach.orientation
            start = replace(start, orientation=orientation)
        end = self.move(displaced(self.world, start, shift), h, report)
        ahead = ahead._replace(start=start, end=end, shift=shift, time=time)
        if not _farther(velocity, self.arm, self.world.dimension, h, ahead.searched, self.margin):
            found = ahead.found.with_predicted(approach.predicted)
            impact = replace(impact, velocity=approach.velocity)
            return ahead._replace(found=found, impact=impact, impacts=impacts), True
        # Contacts beyond the reach of the first search may close now.
        _, searched = self.bounds(start, h)
        found, overlap = self._near(start, end, searched, report)
        other = self._assembled(start, found, h, report) if found.count else None
        return ahead._replace(
            searched=searched, found=found, impact=other, overlap=overlap, speeds=None, impacts=None
        ), False

    # ---- resting contact

    def hold_resting(self, ahead: Ahead, report: StepReport) -> State:
        """The state after the time h with resting contacts held; other bodies keep their free motion."""
        if ahead.impact is None:
            return ahead.end
        start, end, impact, warm_start = ahead.start, ahead.end, ahead.impact, report.warm_start
        answer = self._still(ahead, impact, report) if impact.direct else None
        if impact.direct and answer is None:
            impact = self.through_joints(impact, start, ahead.found, ahead.h, report)
        elif answer is not None and (last := answer[2]) is not None and not last.velocity.any():  # all bodies stay
            return self._at_rest(self._rest(ahead, last, warm_start, report), start, report)
        found, interval, held = self._hold(ahead, impact, report) if answer is None else answer
        force = None
        if held is not None:
            report.note_rest(found, held.chosen, held.impulse, held.residual, start.time, ahead.h)
            end = held_motion(self.world, start, end, impact.rows, held, interval)
            if self.world.joints is not None:
                end = held_jointed(self.world, start, end, impact.rows, held, interval)
            force = held.impulse[:, 0] / ahead.h
        if ahead.shift is not None:
            position = start.position + ahead.shift[:, : self.world.dimension]
            start = State(start.time, start.step, position, start.orientation, start.velocity)
        if ahead.overlap > OVERLAP_SLOP * self.world.length_scale:
            moved = end
            end, work = without_overlap(start, moved, found, impact, self.tolerance, force, report.part)
            report.note_correction(self.world, moved, end)
            report.clock.count(work)
        report.clock.lap("rest")
        end = self._separated(start, end, found, impact, ahead.h, report)
        if self.world.joints is None:
            return end
        slowed = without_gain(self.world, start, ahead.end, end)
        report.note_correction(self.world, end, slowed)
        return slowed

    def _still(
        self, ahead: Ahead, impact: Assembly, report: StepReport
    ) -> tuple[ContactSet, Interval, Held | None] | None:
        """As `_hold` for mechanisms that the warm start holds at rest, or that need no impulse; None for others."""
        if ahead.time is not None or ahead.speeds is None or ahead.overlap > OVERLAP_SLOP * self.world.length_scale:
            return None
        found, rows, interval = ahead.found, impact.rows, self._interval(ahead, impact)
        problem, count = self._resting_problem(ahead.start, found, impact, interval, report)
        accuracy = Accuracy(self.allowed(report, count), self.tolerance * report.scale)
        good, held = still(self.world, ahead.start, rows, problem, interval, accuracy)
        velocity, least = problem.falling if held is None else held.velocity, max(self.touch / ahead.h, accuracy[0])
        if not good or closed_by(rows, problem.base, velocity, problem.closing, least):
            return None
        if held is not None:
            report.clock.count(held.work)
        report.warm_start = kept(found, problem.keys, held)
        return found, interval, held

    def _rest(self, ahead: Ahead, held: Held, warm_start: WarmStart, report: StepReport) -> Rest:
        """A step in which all bodies stay. It is kept where the next one is the same: if it began at rest as well, with
        the warm start `warm_start` that it leaves."""
        start, kept = ahead.start, report.warm_start
        if start.velocity.any():
            start = State(start.time, start.step, start.position, start.orientation, np.zeros_like(start.velocity))
            return Rest(start, ahead.h, kept, ahead, held, report.scale)
        same = all(np.array_equal(old, new) for old, new in zip(warm_start, kept, strict=True))
        rest = Rest(start, ahead.h, warm_start if same else kept, ahead, held, report.scale)
        self.rest = rest if same else None
        return rest

    def _repeats(self, rest: Rest, start: State, h: float, report: StepReport) -> bool:
        """Whether a step is the one before again, from the very same arrays: its result is the same, bit for bit."""
        same = start.velocity is rest.start.velocity and start.position is rest.start.position
        same = same and start.orientation is rest.start.orientation and report.warm_start is rest.warm_start
        return same and h == rest.h and not (report.struck or report.pushed or start.velocity.any())

    def _at_rest(self, rest: Rest, start: State, report: StepReport) -> State:
        """The end of a step at rest."""
        ahead, held = rest.ahead, rest.held
        report.overlap, report.near = max(report.overlap, ahead.overlap), ahead.found
        report.scale, report.warm_start = max(report.scale, rest.scale), rest.warm_start
        report.note_rest(ahead.found, held.chosen, held.impulse, held.residual, start.time, ahead.h)
        report.clock.lap("rest")
        return State(start.time + ahead.h, start.step, rest.start.position, rest.start.orientation, rest.start.velocity)

    def _hold(self, ahead: Ahead, impact: Assembly, report: StepReport) -> tuple[ContactSet, Interval, Held | None]:
        """The contacts, the interval and the answer of the resting solve; its warm start goes into the report."""
        if ahead.speeds is None:  # the impact stage has not computed them
            speeds, *_ = self._approach_speeds(ahead, impact)
            report.scale = max(report.scale, float(speeds[1].max()))
            ahead = ahead._replace(speeds=speeds)
        found, interval, impacts, warm = ahead.found, self._interval(ahead, impact), None, report.warm_start
        if ahead.time is not None and not self._elastic(impact):
            impacts = ahead.impacts or Impacts(found, _approach(ahead, impact), self._flight(ahead, impact))
        if impacts is not None and not self.all_round:
            found, interval = self._since_impacts(impacts, impact, interval, found)
        held, report.warm_start = self._resting_solve(ahead.start, found, impact, interval, report)
        for _ in range(COMMON_TIMES):
            if impacts is None or held is None or not interval.time.any():
                break
            if not hold_together(impact.rows, held, interval, impacts.approach.row_time, self.timed):
                break
            found, interval = self._since_impacts(impacts, impact, interval, found)
            report.warm_start = warm
            held, report.warm_start = self._resting_solve(ahead.start, found, impact, interval, report)
        return found, interval, held

    def _interval(self, ahead: Ahead, impact: Assembly) -> Interval:
        """The interval of the resting solve, with bodies where they are at the start."""
        assert ahead.speeds is not None
        bodies = NO_BODIES if impact.bodies is None else impact.bodies
        shift = self.none if ahead.shift is None else ahead.shift
        time = NO_TIMES if ahead.time is None else ahead.time
        speed, limit = ahead.speeds
        return Interval(impact.velocity, speed, limit, bodies, shift, time, NO_ORIENTATIONS, ahead.h)

    def _elastic(self, impact: Assembly) -> bool:
        """Whether no contact dissipates energy: what the law leaves is not rest, and rows of another time would hold
        some contacts that only seem to close."""
        return bool((impact.restitution == 1.0).all()) and not impact.rows.bound[:, FRICTION].any()

    def _since_impacts(
        self, impacts: Impacts, impact: Assembly, interval: Interval, found: ContactSet
    ) -> tuple[ContactSet, Interval]:
        """The contacts `found` and the interval with bodies at the times from which on they are held, those of their
        last impacts.

        Impulses on bodies where they are not at that time would change angular momentum; so would those that meet the
        spin of another time, which changes in free rotation unless moments of inertia are equal.
        """
        bodies = impact.taking_part
        approach = impacts.approach._replace(time=interval.time[bodies])
        found, pull = ContactSet(found.table.copy(), found.dimension), self.pull[bodies]
        velocity, orientation = held_bodies(
            self.coordinates, impact.rows, approach, impacts.flight, impacts.found.table, found.table, pull
        )
        return found, interval._replace(velocity=velocity, orientation=orientation)

    def _resting_solve(
        self, start: State, found: ContactSet, impact: Assembly, interval: Interval, report: StepReport
    ) -> tuple[Held | None, WarmStart]:
        """Holds the contacts that free motion would close, and then those that the answer itself would close.

        In 3D free rotation changes spins. It follows the impulses, which act on the spin at the start of the step.
        """
        rows, h = impact.rows, interval.h
        problem, count = self._resting_problem(start, found, impact, interval, report)
        chosen, guess, held = problem.closing, problem.start, None
        for _ in range(RESTING_SOLVES):
            accuracy = Accuracy(self.allowed(report, count), self.tolerance * report.scale)
            answer = solve_resting(rows, problem, chosen, guess, accuracy)
            if answer is not None:
                held, guess = answer, answer.impulse
                report.clock.count(answer.work)
            velocity, least = problem.falling if held is None else held.velocity, max(self.touch / h, accuracy[0])
            more = closed_by(rows, problem.base, velocity, chosen, least)
            if not more:
                break
            count += more
        return held, kept(found, problem.keys, held)

    def _resting_problem(
        self, start: State, found: ContactSet, impact: Assembly, interval: Interval, report: StepReport
    ) -> tuple[RestingProblem, int]:
        """What a resting solve starts from, and the number of contacts that free motion closes."""
        rows, h, pull = impact.rows, interval.h, self.pull
        problem = RestingProblem.empty(rows, impact.velocity.shape)
        if self.world.joints is not None:
            problem, pull = problem._replace(falling=impact.whitened(fallen(self.world, start, h))), self.none
        elif (given := accelerations(self.world, start)) is not None:
            falling = impact.whitened(start.velocity + h * given)
            problem, pull = problem._replace(falling=falling), self.none
        limits, of_contacts = (self.wait, self.margin, *self.counts), (found.table, impact.restitution)
        count = int(state_problem(rows, interval, *of_contacts, pull, report.warm_start, limits, problem))
        return problem, count

    # ---- remaining overlap

    def _separated(
        self, before: State, end: State, earlier: ContactSet, impact: Assembly, h: float, report: StepReport
    ) -> State:
        """The end of the step without the overlap that motion along the tangents of the start has made.

        Gaps of balls are convex functions of time, but impacts at several times of a step may leave them overlapping.
        """
        scale = self.world.length_scale
        allowed = max(self.tolerance, FINEST_OVERLAP) * scale
        if self.all_round:
            if float(earlier.table[:, PREDICTED].min(initial=0.0)) >= -allowed:
                return end
        elif report.overlap <= allowed:
            bodies = NO_BODIES if impact.bodies is None else impact.bodies
            moved = farthest(end.velocity, self.arm, self.world.dimension, h, bodies)
            if moved * moved <= 2.0 * allowed * scale:  # of a way of that curvature
                return end
        for _ in range(MOST_SEPARATIONS):
            found = self.detector.touching(end, self.margin)
            report.clock.lap("detect")
            if deepest_overlap(found.table) <= allowed:
                break
            last, impact = end, self.assemble(end, found, h, report)
            end, work = without_overlap(before, end, found, impact, self.tolerance, None, 1.0, earlier)
            report.note_correction(self.world, last, end)
            report.clock.count(work)
            report.clock.lap("rest")
            if end is last:  # no energy
                break
            # Bodies that this removal has parted have exchanged energy: what one has lost is not there to be spent.
            # Contacts of an impact schedule have columns for images; islands need bodies alone.
            tables = [earlier.table[:, :WIDTH], found.table[:, :WIDTH]]
            earlier = ContactSet(np.concatenate(tables), found.dimension)
        return end


def _approach(ahead: Ahead, impact: Assembly) -> Approach:
    """The gaps and speeds before the first application of the law; arrays are copies."""
    found, shift, time = ahead.found, np.zeros_like(impact.velocity), np.zeros(len(impact.velocity))
    gap, taken = found.gap.copy(), np.zeros(found.count, np.bool_)
    if ahead.shift is not None and ahead.time is not None:  # after earlier impacts of the step
        shift, time = impact.whitened(ahead.shift), ahead.time[impact.taking_part].copy()
        displace(impact.rows, shift, gap)
    assert ahead.speeds is not None
    speed, limit = ahead.speeds
    orientation = np.empty((0, 4))
    if impact.world.block == 6:
        orientation = ahead.start.orientation[impact.taking_part].copy()
    velocity, predicted = impact.velocity.copy(), found.predicted.copy()
    return Approach(velocity, shift, orientation, time, speed, limit, gap, predicted, taken, np.zeros((found.count, 2)))


# ---- bounds on the displacement of bodies


@lean
def put_bounds(velocity, gained, arm, reach, dimension, h, margin, out):
    """Writes the bounds of `DriftSafe.bounds`; `gained` (n,) or (1,) are speeds gained in two steps of free fall."""
    n, slow, searched = len(velocity), out[0], out[1]
    fastest = top = 0.0
    for i in range(n):
        for k in range(dimension):
            fastest = max(fastest, abs(velocity[i, k]))
        searched[i] = displacement_at(velocity, i, arm, dimension, h)
        top = max(top, searched[i])
    for i in range(n):
        slow[i] = max(gained[i] if len(gained) == n else gained[0], APPROACH_NOISE * fastest)
        searched[i] = margin + min(2.0 * max(searched[i], NEIGHBOR_SPEED * top), reach[i])


@lean
def farthest(velocity, arm, dimension, h, bodies):
    """The largest displacement of any point of the bodies, of all if `bodies` is empty."""
    top = 0.0
    for j in range(len(bodies) if len(bodies) else len(velocity)):
        top = max(top, displacement_at(velocity, bodies[j] if len(bodies) else j, arm, dimension, h))
    return top


@lean
def _farther(velocity, arm, dimension, h, searched, margin):
    """Whether a body may move farther than its contacts were searched."""
    farther = False
    for i in range(len(velocity)):
        farther = farther or displacement_at(velocity, i, arm, dimension, h) > searched[i] + margin
    return farther


@lean
def near_contacts(table, searched, margin, out):
    """The number of contacts that free motion closes, or that reversed velocities would close; their deepest overlap.

    Writes their numbers.
    """
    count, least = 0, 0.0
    for i in range(len(table)):
        first, second, gap = int(table[i, FIRST]), int(table[i, SECOND]), table[i, GAP]
        if gap <= max(searched[first], searched[second] if second >= 0 else 0.0) or table[i, PREDICTED] <= margin:
            out[count] = i
            count += 1
            least = min(least, gap)
    return count, -least
