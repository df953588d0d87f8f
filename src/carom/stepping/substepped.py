"""The sub-stepped step: the law resolves impacts, sub-steps of sweeps relax what is left."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..geometry.rotations import matrices
from ..problem.assemble import NO_TURN, coefficients
from ..problem.contact_rows import Motion
from ..resolve.response import Response
from ..solvers.rows import Floats
from ..solvers.substeps import Bodies, Records, Substeps, make_substeps
from ..world import State, World
from .drift_safe import SEARCHES, Ahead, DriftSafe
from .integrator import accelerations, displaced, prescribed
from .relaxation import (
    AXES,
    approach,
    energy_gain,
    involved,
    make_bodies,
    make_records,
    predict,
    put_bodies,
    put_displacements,
    put_records,
    relaxed_motion_2d,
    relaxed_motion_3d,
)
from .report import StepReport
from .resting import Held, kept, match, put_keys

SUBSTEPS = 4  # per step
PUSH = 0.03  # largest push-out per step, relative to the length scale of the world
HOPS = 0  # contacts between an impact and the farthest body whose contacts the law is given, ...
WHOLE_ISLAND = 300  # ... as long as these are not fewer than that many


class Substepped(DriftSafe):
    """Resolves impacts, then relaxes all contacts in sub-steps."""

    name: ClassVar[str] = "substepped"
    title: ClassVar[str] = "impacts through the law, all other contact relaxed in sub-steps"
    guarantee: ClassVar[str] = "bounded energy and overlap at a low cost; bodies do not pass through each other"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.axes = AXES[world.dimension]
        self.gained: list[float] = []

    def advance(self, state: State, h: float, report: StepReport) -> State:
        start = prescribed(self.world, state, h)
        slow, searched = self.bounds(start, h)
        end = self.move(start, h, report)
        found, overlap = self._near(start, end, searched, report)
        report.overlap = max(report.overlap, overlap)
        if not found.count:
            return end
        ahead = Ahead(start, end, h, slow, searched, found, None, overlap)
        records, bodies = self._prepared(start, found, h)
        report.clock.lap("assemble")
        ahead = self._impacts(ahead, records, bodies, report)
        return self._relaxed(ahead, records, bodies, report)

    def _prepared(self, start: State, found: ContactSet, h: float) -> tuple[Records, Bodies]:
        """The records of the contacts, and the bodies before the first sub-step."""
        world = self.world
        records, bodies = make_records(world.dimension, found.count), make_bodies(world.dimension, world.count)
        given = None if world.force is None else accelerations(world, start)
        put_bodies(*self.axes, start.velocity, self.none if given is None else given, world.masses, bodies)
        sides = boundaries_at(world, start.time, h)[0] if world.moving_boundaries else world.boundaries
        turn = matrices(start.orientation) if world.dimension == 3 else NO_TURN
        placed = Motion(start.position, start.velocity, turn, world.inverse_sqrt_mass, sides.center, sides.velocity)
        put_records(*self.axes, found.table, placed, world.free, coefficients(world, found)[1], records)
        return records, bodies

    def _impacts(self, ahead: Ahead, records: Records, bodies: Bodies, report: StepReport) -> Ahead:
        """Applies the law to the contacts that impact and those around them, while there are any."""
        start, found, world = ahead.start, ahead.found, self.world
        speeds = np.empty((2, found.count))
        shift: Floats | None = None
        time: Floats | None = None
        for _ in range(SEARCHES):
            lengths = (self.margin, self.touch)
            top, count = approach(*self.axes, records, bodies, found.table, ahead.slow, lengths, speeds)
            report.scale = max(report.scale, top)
            if not count:
                break
            chosen = involved(records.body, found.predicted, speeds, self.touch, HOPS, WHOLE_ISLAND, world.count)
            part = found.take(chosen)
            impact = self.assemble(start, part, ahead.h, report)
            some = ahead._replace(found=part, impact=impact, speeds=speeds[:, chosen], shift=shift, time=time)
            answer = self._rounds(some, impact, report)
            if answer is None:
                break
            shift = np.zeros_like(start.velocity) if shift is None else shift
            time = np.zeros(world.count) if time is None else time
            velocity = impact.unwhitened(answer.velocity, start.velocity)
            shift, time[impact.taking_part] = impact.unwhitened(answer.shift, shift), answer.time
            start = State(start.time, start.step, start.position, start.orientation, velocity)
            before = bodies.motion.copy()
            put_displacements(self.axes.linear, velocity, shift, world.masses, bodies)
            found = ContactSet(found.table.copy(), world.dimension)
            predict(*self.axes, records, bodies, ahead.h, before, found.table)
            ahead = ahead._replace(start=start, found=found, shift=shift, time=time)
        if shift is not None:
            end = self.move(displaced(world, start, shift), ahead.h, report)
            ahead = ahead._replace(end=end)
        return ahead._replace(speeds=speeds)

    def _relaxed(self, ahead: Ahead, records: Records, bodies: Bodies, report: StepReport) -> State:
        """The state after the sub-steps."""
        world, found, h, start = self.world, ahead.found, ahead.h, ahead.start
        keys = np.empty(found.count, np.int64)
        put_keys(found.table, *self.counts, keys)
        first = np.zeros((found.count, world.dimension))
        match(report.warm_start, keys, found.table, world.dimension - 1, first)
        count = SUBSTEPS
        records.impulse[:, : world.dimension] = first * (h / (count * self.h))
        if ahead.time is not None:
            begin = np.append(ahead.time, 0.0)
            records.impulse[(begin[records.body] > 0.0).any(axis=1)] = 0.0
            bodies = bodies._replace(begin=begin)
        plan = Substeps(count, h / count, PUSH * world.length_scale / h)
        make_substeps(*self.axes, records, bodies, plan)
        gain = energy_gain(self.axes.linear, world.masses, bodies, start.velocity, self.none if ahead.shift is None else ahead.shift)
        self.gained.append(gain)
        end = ahead.end
        out = (end.position.copy(), end.orientation.copy(), end.velocity.copy())
        begin = (start.position, start.orientation, start.velocity)
        if world.dimension == 2:
            relaxed_motion_2d(world.masses, bodies, begin, out)
        else:
            relaxed_motion_3d(world.masses, bodies, h, begin, out)
        D = world.dimension
        chosen = np.flatnonzero(records.impulse[:, D] > 0.0)
        report.note_rest(found, chosen, np.ascontiguousarray(records.impulse[:, D:]), 0.0)
        last = records.impulse[:, :D] * (count * self.h / h)
        report.warm_start = kept(found, keys, Held(chosen, None, last, None, 0.0, 0))
        report.clock.lap("rest")
        return State(end.time, end.step, *out)
