"""The sub-stepped step: the law resolves impacts, sub-steps of sweeps relax what is left."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.containment import OVERLAP, Violation
from ..contact.motion import FAR_MOTION, displacements
from ..geometry.rotations import matrices
from ..problem.assemble import NO_TURN, coefficients
from ..problem.contact_rows import Motion
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from ..solvers.substeps import Bodies, Records, Substeps, make_substeps
from ..world import State, World
from .drift_safe import ROUNDS, Ahead, DriftSafe
from .drift_safe import _approach as first_approach
from .impact_stage import change_velocity, impact_velocities
from .integrator import accelerations, displaced, prescribed
from .relaxation import (
    Scratch,
    approach,
    energy_gain,
    farther,
    involved,
    outcome,
    predict,
    put_bends,
    put_bodies,
    put_displacements,
    put_records,
    relaxed_motion_2d,
    relaxed_motion_3d,
    scale_impulses,
)
from .report import StepReport
from .resting import Held, kept, match, put_keys
from .stepper import FEW_CONTACTS_TOLERANCE

SUBSTEPS = 4  # per step
PUSH = 0.03  # largest push-out per step, relative to the length scale of the world
WHOLE_ISLAND = 100
EXACT_BODIES = 64
MOST_ROUNDS = 1
LARGEST_GAIN = 1e-6
APART = OVERLAP  # of containment
REACH = 1.0
LEAST_ENERGY = 0.1


class Substepped(DriftSafe):
    """Resolves impacts, then relaxes all contacts in sub-steps."""

    name: ClassVar[str] = "substepped"
    title: ClassVar[str] = "impacts through the law, all other contact relaxed in sub-steps"
    guarantee: ClassVar[str] = "bounded energy and overlap at a low cost; bodies do not pass through each other"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.scratch = Scratch(world.dimension, world.count)
        self.axes = self.scratch.axes
        self.exact = world.count <= EXACT_BODIES
        self.gained: list[float] = []
        self.repeats = self.fallbacks = 0
        self.weight = float(world.mass[world.free].sum()) * self.fall * world.length_scale

    def advance(self, state: State, h: float, report: StepReport) -> State:
        start = prescribed(self.world, state, h)
        slow, searched = self.bounds(start, h)
        searched = self.margin + REACH * (searched - self.margin)
        end = self.move(start, h, report)
        found, overlap = self._near(start, end, searched, report)
        report.overlap = max(report.overlap, overlap)
        if not found.count:
            report.apart = True
            return end
        ahead = Ahead(start, end, h, slow, searched, found, None, overlap)
        records, speeds = self.scratch.taken(found.count)
        restitution = self._prepare(start, found, h, records)
        report.clock.lap("assemble")
        ahead = self._impacts(ahead, records, restitution, speeds, report)
        return self._relaxed(ahead, records, report)

    def _prepare(self, start: State, found: ContactSet, h: float, records: Records) -> Floats:
        """The records of the contacts, and the bodies before the first sub-step. Returns restitutions (m,)."""
        world = self.world
        self._place(start, self.none)
        sides = boundaries_at(world, start.time, h)[0] if world.moving_boundaries else world.boundaries
        turn = matrices(start.orientation) if world.dimension == 3 else NO_TURN
        placed = Motion(start.position, start.velocity, turn, world.inverse_sqrt_mass, sides.center, sides.velocity)
        restitution, friction = coefficients(world, found)
        put_records(*self.axes, found.table, placed, world.free, friction, records)
        put_bends(*self.axes, records, self.scratch.bodies, h, found.table)
        return restitution

    def _place(self, start: State, shift: Floats) -> None:
        """The bodies before the first sub-step, with their velocities, accelerations and displacements."""
        world, bodies = self.world, self.scratch.bodies
        given = None if world.force is None else accelerations(world, start)
        put_bodies(*self.axes, start.velocity, self.none if given is None else given, world.masses, bodies)
        if len(shift):
            put_displacements(self.axes.linear, start.velocity, shift, world.masses, bodies)

    def _impacts(
        self, ahead: Ahead, records: Records, restitution: Floats, speeds: Floats, report: StepReport
    ) -> Ahead:
        """Applies the law to the contacts that impact and those around them, repeatedly while its answer closes others.

        What is left is relaxed, or waits for the next step.
        """
        world, found, start, bodies = self.world, ahead.found, ahead.start, self.scratch.bodies
        taken, whole = np.zeros(found.count, np.bool_), 0.0
        lengths = (self.margin, self.touch, self.wait)
        for number in range(ROUNDS if self.exact else MOST_ROUNDS):
            limits = (ahead.slow, restitution, self.allowed(report, 0) if number else 0.0)
            top, energy = approach(*self.axes, records, bodies, found.table, limits, lengths, speeds)
            report.scale = max(report.scale, top)
            whole = max(whole, energy)
            if energy <= (0.0 if number == 0 or self.exact else LEAST_ENERGY * whole):
                break
            chosen = involved(records.body, found.table, speeds, self.touch, found.count + 1 if self.exact else 0, taken)
            ahead, changed = self._round(ahead._replace(start=start, found=found), chosen, speeds, report)
            if not changed:
                break
            assert ahead.shift is not None
            start, before = ahead.start, bodies.motion.copy()
            put_displacements(self.axes.linear, start.velocity, ahead.shift, world.masses, bodies)
            if not self.exact and number + 1 == MOST_ROUNDS:
                break
            found = ContactSet(found.table.copy(), world.dimension)
            predict(*self.axes, records, bodies, ahead.h, before, found.table)
        if ahead.shift is not None:
            ahead = ahead._replace(end=self.move(displaced(world, start, ahead.shift), ahead.h, report))
        return ahead._replace(start=start, found=found)

    def _round(self, ahead: Ahead, chosen: Ints, speeds: Floats, report: StepReport) -> tuple[Ahead, bool]:
        """Applies the law once to the contacts `chosen`, and whether that has changed anything."""
        start, h, part = ahead.start, ahead.h, ahead.found.take(chosen)
        impact = self.assemble(start, part, h, report)
        some = ahead._replace(found=part, impact=impact, speeds=np.ascontiguousarray(speeds[chosen].T))
        approaching, pull, everything = first_approach(some, impact), self.pull[impact.taking_part], np.arange(len(chosen))
        report.rounds += 1
        time, velocity = impact_velocities(impact.rows, approaching, everything, pull, self.falls, h, self.margin)
        contacts = impact.subset(everything, velocity)
        result = self.resolve(contacts, part, None, report)
        if not result.normal.any():  # all approach is within the tolerance
            return ahead, False
        after = contacts.after(result.normal, result.tangent)
        change_velocity(impact.rows, approaching, velocity, after, time, h)
        shift = np.zeros_like(start.velocity) if ahead.shift is None else ahead.shift
        times = np.zeros(self.world.count) if ahead.time is None else ahead.time.copy()
        velocity = impact.unwhitened(approaching.velocity, start.velocity)
        shift, times[impact.taking_part] = impact.unwhitened(approaching.shift, shift), approaching.time
        start = State(start.time, start.step, start.position, start.orientation, velocity)
        return ahead._replace(start=start, shift=shift, time=times), True

    def _relaxed(self, ahead: Ahead, records: Records, report: StepReport) -> State:
        """The state after the sub-steps."""
        world, found, h, bodies = self.world, ahead.found, ahead.h, self.scratch.bodies
        keys = np.empty(found.count, np.int64)
        put_keys(found.table, *self.counts, keys)
        if not self._substeps(ahead, records, keys, PUSH, report) and not self._substeps(ahead, records, keys, 0.0, report):
            report.clock.lap("rest")
            self.fallbacks += 1
            return self.hold_resting(ahead._replace(impact=self.assemble(ahead.start, found, h, report)), report)
        start, end = ahead.start, ahead.end
        out = (end.position.copy(), end.orientation.copy(), end.velocity.copy())
        begin = (start.position, start.orientation, start.velocity)
        if world.dimension == 2:
            relaxed_motion_2d(world.masses, bodies, begin, out)
        else:
            relaxed_motion_3d(world.masses, bodies, h, begin, out)
        chosen = np.flatnonzero(records.total[:, 0])
        report.note_rest(found, chosen, records.total, 0.0)
        report.warm_start = kept(found, keys, Held(chosen, self.none, records.impulse, self.none, 0.0, 0))
        report.clock.lap("rest")
        return State(end.time, end.step, *out)

    def _substeps(self, ahead: Ahead, records: Records, keys: Ints, push: float, report: StepReport) -> bool:
        """Makes the sub-steps; whether they add no energy, if necessary with smaller impulses."""
        world, bodies, h = self.world, self.scratch.bodies, ahead.h
        velocity, shift = ahead.start.velocity, self.none if ahead.shift is None else ahead.shift
        if push == 0.0:  # again
            self._place(ahead.start, shift)
        records.impulse.fill(0.0)
        match(report.warm_start, keys, ahead.found.table, world.dimension - 1, records.impulse)
        if ahead.time is not None:
            bodies = bodies._replace(begin=np.append(ahead.time, 0.0))
        plan = Substeps(SUBSTEPS, h / SUBSTEPS, push * world.length_scale / h)
        make_substeps(*self.axes, records, bodies, plan)
        depth, residual = outcome(*self.axes, records, bodies, plan)
        gain, kinetic, work, square = energy_gain(self.axes.linear, world.masses, bodies, records, velocity, shift, h)
        self.gained.append(gain)
        if gain > LARGEST_GAIN * (kinetic + self.weight):
            self.repeats += 1
            root = work * work - 2.0 * square * gain
            if push > 0.0 or root < 0.0 or work <= 0.0:
                return False
            part = 2.0 * gain / (work + np.sqrt(root))
            scale_impulses(self.axes.linear, bodies, records, velocity, world.masses, h, part)
        report.relaxed = max(report.relaxed, residual / report.scale if report.scale > 0.0 else 0.0)
        report.apart = max(depth, report.overlap) <= APART * self.containment.least
        return True

    def allowed(self, report: StepReport, count: int, found: int = 0) -> float:
        return (min(self.tolerance, FEW_CONTACTS_TOLERANCE) if self.exact else self.tolerance) * report.scale

    def _measure_overlap(self, start: State, report: StepReport) -> None:
        if report.overlap > APART * self.containment.least:
            super()._measure_overlap(start, report)

    def _violation(self, start: State, end: State, report: StepReport) -> tuple[Violation | None, float]:
        if report.apart:
            moved = displacements(self.world, start, end)
            if moved.largest <= 0.5 * FAR_MOTION * self.containment.least:
                far = np.empty(self.world.count, np.bool_)
                _, searched = self.bounds(start, end.time - start.time)
                if not farther(end.velocity, searched, self.arm, self.world.dimension, end.time-start.time, self.margin, far):
                    return None, 0.0
                self.detector.update_pairs(start, end)
                wrong = self.containment._overlapping(end, far)
                if wrong is None:
                    return None, 0.0
        return super()._violation(start, end, report)

    def finish(self, end: State, number: int, report: StepReport) -> tuple[State, StepReport]:
        report.residual = max(report.residual, report.relaxed)
        return super().finish(end, number, report)
