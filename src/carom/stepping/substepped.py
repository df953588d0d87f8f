"""The sub-stepped step: the law resolves impacts, sub-steps of two sweeps each relax all other contact.

Contacts are found once per step. Those that impact (they close within the step and approach faster than their resting
speed, see `drift_safe.py`) go to the law, with the closing contacts around them, as one simultaneous problem at the
time at which the first of them closes. Then all contacts are relaxed in sub-steps (`solvers/substeps.py`), which start
from the impulses of the last step. Nothing is solved to a tolerance there: the residual is measured and reported.

Small worlds are treated exactly: the law gets whole islands, is solved to rounding and is applied until nothing
impacts. In larger worlds it is applied once per step, to the impacts and to the closing contacts of their bodies; what
it leaves, or makes, is relaxed or impacts in the next step.

The energy of every step is measured. Sub-steps that add more than the work of pushing overlap out (at most
LARGEST_LIFT) and LARGEST_GAIN are repeated without pushing, then with smaller impulses; where that does not suffice,
the step of `drift_safe` takes their place, which never adds energy.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.containment import NOTED_OVERLAP, Violation
from ..contact.detector import NO_MARKED_BODIES
from ..contact.motion import FAR_MOTION
from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..problem.assemble import NO_TURN, Motion, coefficients
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from ..solvers.substeps import Records, Substeps, substep_number
from ..world import State, World
from .closing_contacts import approach, involved, keep_near, moved_unseen, predict
from .drift_safe import MOST_APPLICATIONS, Ahead, DriftSafe, _approach
from .impact_stage import change_velocity, contact_times
from .integrator import accelerations, displaced, prescribed
from .relaxation import (
    Scratch,
    prepare,
    put_bodies,
    put_displacements,
    relax,
    relaxed_motion_2d,
    relaxed_motion_3d,
    scale_impulses,
)
from .report import StepReport
from .resting import Held, kept, match, put_keys
from .stepper import FEW_CONTACTS_TOLERANCE

MOST_SUBSTEPS = 64  # per step; more would cost as much as shorter steps, which are more accurate
PUSHED_OVERLAP = 0.03  # largest overlap that is pushed out per step, relative to the length scale of the world
SOFT_OVERLAP = 0.01  # overlap, in the same units, above which contacts stiffen: heavy bodies sink less into light ones
EXACT_BODIES = 64  # worlds of at most this many bodies are treated exactly: a rack of 56 balls, a card house
# Energy per step, relative to the kinetic energy plus that of lifting all bodies by a length scale.
LARGEST_LIFT = 1e-4  # for the work of pushing overlap out
LARGEST_GAIN = 1e-6  # beyond that work

NO_GAPS = np.empty(0)


class Substepped(DriftSafe):
    """Resolves impacts, then relaxes all contacts in `substeps` sub-steps; a subclass may set another number."""

    name: ClassVar[str] = "substepped"
    title: ClassVar[str] = "impacts through the law, all other contact relaxed in sub-steps"
    guarantee: ClassVar[str] = "energy and overlap within stated bounds at a low cost; bodies do not pass each other"
    substeps: ClassVar[int] = 4

    def __init__(self, world: World, response: Response, step: float) -> None:
        count = self.substeps
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_SUBSTEPS:
            raise ProblemError("substeps", count, f"a whole number from 1 to {MOST_SUBSTEPS}")
        if world.joints is not None:
            raise ProblemError("stepper", self.name, "drift_safe, synchronous or time_of_impact: the scene has joints")
        super().__init__(world, response, step)
        self.exact = world.count <= EXACT_BODIES
        self.scratch = Scratch(world.dimension, world.count)
        self.axes = self.scratch.axes
        self.weight = float(world.mass[world.free].sum()) * self.fall * world.length_scale

    def advance(self, state: State, h: float, report: StepReport) -> State:
        start = prescribed(self.world, state, h)
        slow, searched = self.bounds(start, h)
        end = self.move(start, h, report)
        found, overlap, passing = self._closing(start, end, searched, report)
        report.overlap = report.deepest = max(report.overlap, overlap)
        report.near = found
        last = end
        if passing and self.exact:  # the normals of the start do not hold for the rest of the step
            ahead = Ahead(start, end, h, slow, searched, found, self.assemble(start, found, h, report), overlap)
            last = self.hold_resting(self.resolve_impacts(ahead, report), report)
            report.deepest = np.inf
        elif found.count:
            records, speeds = self.scratch.taken(found.count)
            restitution = self._prepare(start, found, h, records)
            report.clock.lap("assemble")
            ahead = Ahead(start, end, h, slow, searched, found, None, overlap)
            ahead = self._impacts(ahead, records, restitution, speeds, report)
            if passing:  # as above: these contacts are left to the law
                known = found.count - passing
                body, data, impulse, total = records
                records = Records(body[:known], data[:known], impulse[:known], total[:known])
                ahead = ahead._replace(found=ContactSet(found.table[:known], found.dimension))
            last = self._relaxed(ahead, records, report)
        self._note_unseen((start, end, last), searched, report)
        return last

    def bounds(self, state: State, h: float) -> tuple[Floats, Floats]:
        """As for every drift-safe step, with half of the gap to search: each of two bodies that meet moves half of it.

        Bodies that move farther are tested (`_note_unseen`).
        """
        slow, searched = super().bounds(state, h)
        return slow, 0.5 * (searched + self.margin)

    def _near(self, start: State, end: State, searched: Floats, report: StepReport) -> tuple[ContactSet, float]:
        return self._closing(start, end, searched, report)[:2]

    def _closing(self, start: State, end: State, searched: Floats, report: StepReport) -> tuple[ContactSet, float, int]:
        """As for every drift-safe step; and the number of contacts, the last ones, of pairs that pass or graze."""
        found, passing = self.detector.closing(start, end, searched)
        report.clock.lap("detect")
        count, overlap = keep_near(found.table, searched, self.margin)
        return ContactSet(found.table[:count], found.dimension), overlap, passing

    def _prepare(self, start: State, found: ContactSet, h: float, records: Records) -> Floats:
        """Fills the records of the contacts, and the bodies before the first sub-step; returns restitutions (m,)."""
        world = self.world
        sides = boundaries_at(world, start.time, h)[0] if world.moving_boundaries else world.boundaries
        turn = matrices(start.orientation) if world.dimension == 3 else NO_TURN
        placed = Motion(start.position, start.velocity, turn, world.inverse_sqrt_mass, sides.center, sides.velocity)
        restitution, friction = coefficients(world, found)
        filled = (records, self.scratch.bodies)
        prepare(self.axes, found.table, placed, world.masses, self._given(start), friction, h, filled)
        return restitution

    def _given(self, start: State) -> Floats:
        """Accelerations (n, d) of the bodies; (0, d) under gravity alone."""
        given = None if self.world.force is None else accelerations(self.world, start)
        return self.none if given is None else given

    def _place(self, start: State, shift: Floats) -> None:
        """Fills velocities, accelerations and displacements of the bodies before the first sub-step."""
        world, bodies = self.world, self.scratch.bodies
        put_bodies(*self.axes, start.velocity, self._given(start), world.masses, bodies)
        if len(shift):
            put_displacements(self.axes.linear, start.velocity, shift, world.masses, bodies)

    # ---- impacts

    def allowed(self, report: StepReport, count: int, found: int = 0) -> float:
        return (min(self.tolerance, FEW_CONTACTS_TOLERANCE) if self.exact else self.tolerance) * report.scale

    def _impacts(
        self, ahead: Ahead, records: Records, restitution: Floats, speeds: Floats, report: StepReport
    ) -> Ahead:
        """Applies the law to the contacts that impact and those around them; in small worlds until nothing impacts."""
        bodies, taken, known = self.scratch.bodies, np.zeros(len(restitution), np.bool_), ahead.found
        lengths, rounds = (self.margin, self.touch, self.wait), MOST_APPLICATIONS if self.exact else 1
        for number in range(rounds):
            limits = (ahead.slow, restitution, self.allowed(report, 0) if number else 0.0)
            top, energy = approach(*self.axes, records, bodies, known.table, limits, lengths, speeds)
            report.scale = max(report.scale, top)
            if energy == 0.0:
                break
            enough = known.count if self.exact else 0
            chosen = involved(records.body, known.table, speeds, self.touch, enough, taken)
            ahead, changed = self._round(ahead, known.take(chosen), speeds[chosen], report)
            if not changed:
                break
            assert ahead.shift is not None
            before = bodies.motion.copy() if number + 1 < rounds else self.none
            put_displacements(self.axes.linear, ahead.start.velocity, ahead.shift, self.world.masses, bodies)
            if number + 1 < rounds:
                known = ContactSet(known.table.copy(), known.dimension)
                predict(*self.axes, records, bodies, ahead.h, before, known.table)
        if ahead.shift is not None:
            ahead = ahead._replace(end=self.move(displaced(self.world, ahead.start, ahead.shift), ahead.h, report))
        return ahead

    def _round(self, ahead: Ahead, part: ContactSet, speeds: Floats, report: StepReport) -> tuple[Ahead, bool]:
        """The motion after one application of the law to the contacts `part`, and whether that has changed anything."""
        start, whole = ahead.start, np.arange(part.count)
        impact = self.assemble(start, part, ahead.h, report)
        rows, pull = impact.rows, self.pull[impact.taking_part]
        some = ahead._replace(found=part, speeds=np.ascontiguousarray(speeds.T))
        state, flight, table = _approach(some, impact), self._flight(some, impact), part.table
        report.rounds += 1
        part, struck, *_ = self._strike(part, impact, state, flight, whole, table)
        contacts = impact.subset(whole, struck.velocity)
        time = start.time + contact_times(rows.body, struck.time, whole)
        result, after = self.resolve(contacts, part, None, time, report)
        if not result.normal.any():  # all approach is within the tolerance
            return ahead, False
        change_velocity(rows, state, flight, struck, after, table, NO_GAPS, pull)
        shift = np.zeros_like(start.velocity) if ahead.shift is None else ahead.shift
        times = np.zeros(self.world.count) if ahead.time is None else ahead.time.copy()
        times[impact.taking_part] = state.time
        velocity, orientation = impact.unwhitened(state.velocity, start.velocity), start.orientation
        if len(state.orientation):
            orientation = orientation.copy()
            orientation[impact.taking_part] = state.orientation
        start = State(start.time, start.step, start.position, orientation, velocity)
        return ahead._replace(start=start, shift=impact.unwhitened(state.shift, shift), time=times), True

    # ---- sub-steps

    def _relaxed(self, ahead: Ahead, records: Records, report: StepReport) -> State:
        """The state after the sub-steps. Bodies on which no normal impulse acts keep their free motion."""
        world, found, start, end = self.world, ahead.found, ahead.start, ahead.end
        keys = np.empty(found.count, np.int64)
        put_keys(found.table, *self.counts, keys)
        if not (
            self._relax(ahead, records, keys, PUSHED_OVERLAP, report) or self._relax(ahead, records, keys, 0.0, report)
        ):
            report.deepest = np.inf
            impact = self.assemble(start, found, ahead.h, report)
            return self.hold_resting(ahead._replace(impact=impact), report)
        begin = (start.position, start.orientation, start.velocity)
        out = (end.position.copy(), end.orientation.copy(), end.velocity.copy())
        if world.dimension == 2:
            relaxed_motion_2d(world.masses, self.scratch.bodies, begin, out)
        else:
            relaxed_motion_3d(world.masses, self.scratch.bodies, ahead.h, begin, out)
        chosen = np.flatnonzero(records.total[:, 0])
        report.note_rest(found, chosen, records.total, 0.0, start.time, ahead.h, keys)
        report.warm_start = kept(found, keys, Held(chosen, self.none, records.impulse, self.none, 0.0, 0, 0.0))
        report.clock.lap("rest")
        return State(end.time, end.step, *out)

    def _relax(self, ahead: Ahead, records: Records, keys: Ints, push: float, report: StepReport) -> bool:
        """Makes the sub-steps; whether they keep the bound on energy, without pushing with smaller impulses."""
        world, bodies, h, none = self.world, self.scratch.bodies, ahead.h, self.none
        velocity, shift = ahead.start.velocity, none if ahead.shift is None else ahead.shift
        if push == 0.0:  # for the second time
            self._place(ahead.start, shift)
        records.impulse.fill(0.0)
        match(report.warm_start, keys, ahead.found.table, world.dimension - 1, records.impulse)
        if ahead.time is not None:
            bodies = bodies._replace(begin=np.append(ahead.time, 0.0))
        lengths = (push * world.length_scale / h, SOFT_OVERLAP * world.length_scale)
        number = substep_number(self.substeps, ahead.overlap, self.containment.least)
        plan = Substeps(number, h / number, *lengths)
        known, energies = relax(self.axes, records, bodies, plan, world.masses, (velocity, shift), h)
        (depth, residual, lift), (gain, kinetic, work, square) = known, energies
        gain -= min(lift, LARGEST_LIFT * (kinetic + self.weight)) + LARGEST_GAIN * (kinetic + self.weight)
        if gain > 0.0:
            gain *= 1.0 + 2.0 * (LARGEST_LIFT + LARGEST_GAIN)  # the kinetic energy of the bound falls as well
            # K falls by `part work - part^2 square / 2` if the share `part` of all impulses is taken back.
            root = work * work - 2.0 * square * gain
            if push > 0.0 or root < 0.0 or work <= 0.0:
                return False
            part = 2.0 * gain / (work + np.sqrt(root))
            if part > 1.0:  # more than all of them cannot be taken back: gain and impulses are rounding errors
                return False
            scale_impulses(self.axes.linear, bodies, records, velocity, world.masses, h, part)
        report.relaxed = max(report.relaxed, residual / report.scale if report.scale > 0.0 else 0.0)
        report.deepest = max(depth, report.overlap)
        return True

    # ---- containment and report

    def _measure_overlap(self, start: State, report: StepReport) -> None:
        if report.overlap > NOTED_OVERLAP * self.containment.least:
            super()._measure_overlap(start, report)

    def _note_unseen(self, states: tuple[State, State, State], searched: Floats, report: StepReport) -> None:
        """Notes which bodies may overlap others more than gaps tell; states at the start, after free motion, at last.

        Gaps of the sub-steps are of first order in the motion; d^2 / w bounds the rest for displacements d of bodies of
        half width w.
        """
        n, unseen = self.world.count, np.empty(self.world.count, np.bool_)
        poses = ((state.position, state.orientation.reshape(n, -1)) for state in states)
        least = self.containment.least
        noted = NOTED_OVERLAP * least
        lengths = (self.margin, noted, np.sqrt(max(noted - report.deepest, 0.0) * least))
        count, report.moved = moved_unseen(*poses, self.arm, searched, lengths, unseen)
        report.unseen = unseen if count else NO_MARKED_BODIES

    def _violation(self, start: State, end: State, report: StepReport) -> tuple[Violation | None, float]:
        """As for every contained step; without a test of all pairs where the gaps of the sub-steps tell.

        Bodies about which these do not tell enough are tested in any case.
        """
        least, unseen = self.containment.least, report.unseen
        if report.moved <= 0.5 * FAR_MOTION * least and report.deepest <= NOTED_OVERLAP * least:
            assert unseen is not None
            if not len(unseen):
                return None, 0.0
            self.detector.update_pairs(start, end)
            if self.containment._overlapping(end, unseen) is None:
                return None, 0.0
        return super()._violation(start, end, report)

    def finish(self, end: State, number: int, report: StepReport) -> tuple[State, StepReport]:
        report.residual = max(report.residual, report.relaxed)
        return super().finish(end, number, report)
