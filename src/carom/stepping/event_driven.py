"""Event-driven steps of discs and spheres: from impact to impact in one compiled loop (`events_loop.py`).

Predicted impacts are queued over cells (Lubachevsky, "How to simulate billiards and similar systems", J. Comput. Phys.
94, 1991): each ball has one coming event and a path of its own, so that an impact concerns two balls and their
neighbors, and not the world. The queue is made at the start of every step from the state alone, so that a resumed run
has the same bits.

Contacts that touch at the instant of an impact are one impact for the law, as in `resolve`: the loop ends there, and
continues after it. It also ends where bodies come to rest under gravity, or after the bound on impacts: the rest of the
step is then left to the stepper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at, boundary_table
from ..contact.cells import cache_lines, cell_order, make_cells
from ..contact.contact_set import FIRST, PERIODIC_WIDTH, SECOND, WIDTH, ContactSet, deepest_overlap
from ..contact.event_queue import empty_queue, grown_queue, has_room
from ..contact.flight import IMPACT, OWNER, PLACE, RADIUS, TRAIT, VELOCITY, WALL, Flight, Span
from ..contact.images import periods_of
from ..contact.time_of_impact_2d import APPROACH_NOISE
from ..geometry.vectors import Vec3
from ..problem.assemble import Assembly, assemble, used_restitutions
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from ..world import DISC, PLANE, SEGMENT, SPHERE, TUBE, Boundaries, State, World
from .events_loop import (
    BOUND,
    CLUSTER,
    END,
    FULL,
    begin_events,
    cluster_at,
    predict_again,
    put_balls,
    put_state,
    run_events,
    turn_to,
)
from .integrator import placed_by_motions, prescribed
from .report import StageImpulses, StepReport
from .single_impact import FASTEST, IMPACTS, NOW, Matter, Record

if TYPE_CHECKING:
    from .stepper import Stepper

SHORT_HOP = 0.1  # a bounce of less than twice this fraction of a step is rest, ...
SHORT_HOP_ELASTIC = 0.01  # ... or of this one, where no contact dissipates energy
LAW_REPEATS = 8  # applications of the law to one impact
LEFT_APPROACH = 1e-9  # approach, relative to the fastest before the impact, that may be left after it
EVENTS_PER_BUCKET = 32.0  # whose rows are loaded into the cache together; the heap of so many stays small
FEWEST_BUCKETS, BUCKETS_PER_BODY = 16, 2
QUEUE_ENTRIES, ENTRIES_PER_BODY = 1024, 2
IMPACTS_IN_RECORD = 1 << 13  # after which the record, which fits into the cache, becomes a stage of the report

# Laws whose answer for one contact is that of `events_loop`; `tests/stepping/test_event_driven.py` compares them.
# Impacts under other laws are all left to `resolve`.
CLOSED_FORM_LAWS = frozenset({"lcp", "gauss_seidel", "jacobi", "gr", "qce", "lzb", "etm", "sqm", "smm"})
CLOSED_FORM_FRICTION = frozenset({"cone", "coulomb_fixed_direction"})


def is_event_driven(world: World, response: Response) -> bool:
    """Whether the steps of a world can be made here: free discs or spheres under gravity alone, without joints.

    Sheared periodic sides, rolling friction and restitution that depends on the speed are not treated.
    """
    round_kind = DISC if world.dimension == 2 else SPHERE
    special = world.force is not None or bool(world.restitution_curves) or world.joints is not None
    rolling = world.rolling_friction is not None or world.torsional_friction is not None
    sheared = world.periodic is not None and world.periodic.shear_rate != 0.0
    balls = bool((world.shapes.kind == round_kind).all()) and bool(world.masses.even.all())
    return balls and not (special or rolling or sheared or response.law.name == "none" or world.count == 0)


class EventDriven:
    """The events of a step of balls; see `TimeOfImpact`."""

    flight: Flight
    matter: Matter
    record: Record
    around: NDArray[np.int32]  # (2, n)

    def __init__(self, stepper: Stepper) -> None:
        world, response = stepper.world, stepper.response
        self.stepper, self.world = stepper, world
        self.hop = SHORT_HOP_ELASTIC if bool((used_restitutions(world) == 1.0).all()) else SHORT_HOP
        self.radius = np.ascontiguousarray(world.shapes.radius, np.float64)
        root = world.inverse_sqrt_mass
        inertia = root[:, -1] ** 2 if world.turns else np.zeros(world.count)
        self.traits, self.trait = np.stack([root[:, 0] ** 2, inertia, world.material], axis=1), np.arange(world.count)
        if (self.traits == self.traits[0]).all():  # a table that stays in the cache
            self.traits, self.trait = self.traits[:1].copy(), np.zeros(world.count, np.int64)
        self.rough = not world.frictionless
        model = response.friction_model
        plain = not self.rough or (model is not None and model.name in CLOSED_FORM_FRICTION)
        self.closed_form = response.law.name in CLOSED_FORM_LAWS and plain
        self.gravity = Vec3(*_in_space(world.gravity[None])[0].tolist())
        self.width = WIDTH if world.periodic is None else PERIODIC_WIDTH

    # ---- a step

    def advance(self, state: State, h: float, bound: int, report: StepReport) -> tuple[State, float]:
        """The state after the events of the time h and 0, or an earlier one and the time that is left.

        It ends early at rest, after `bound` impacts, or when the step has done the work that it may do.
        """
        start = prescribed(self.world, state, h)
        self.start, self.h, self.report = start, h, report
        self.boundaries = boundaries_at(self.world, start.time, h)[0]
        spent = report.clock.work > self.stepper.most_work
        if spent or _turns_corners(self.boundaries, self.world.dimension) or not self._take_off():
            return state, h
        report.clock.lap("detect")
        first, answer = report.rounds, FULL
        while answer == FULL or (answer == CLUSTER and self._resolve()):
            if report.clock.work > self.stepper.most_work:
                break
            if not has_room(self.flight.queue, 2):
                self.flight = self.flight._replace(queue=grown_queue(self.flight.queue))
            answer = run_events(self.flight, self.matter, self.record, self.around, bound + first - report.rounds)
            report.clock.lap("impact")
            self._flush()
        report.rounds += answer == BOUND
        time = h if answer == END else float(self.record.number[NOW])
        return self._state(time), h - time

    def _take_off(self) -> bool:
        """Makes the flight of all bodies, the record and the queue; False if the cells do not fit."""
        world, start, n = self.world, self.start, self.world.count
        position = _in_space(start.position)
        period, low = _in_space(periods_of(world.periodic, world.dimension)[None])[0], np.zeros(3)
        if world.periodic is not None:
            low[: world.dimension] = [0.0 if s is None else s[0] for s in world.periodic.sides[: world.dimension]]
            turns = np.divide(position - low, period, out=np.zeros_like(position), where=period > 0.0)
            position = position - period * np.floor(turns)
        cells = make_cells(position, 2.0 * float(self.radius.max()), low, period)
        if cells is None:
            return False
        order = cell_order(cells, position)
        path, event = cache_lines(n), cells.ball.view(np.float64)
        event[:, IMPACT], event[:, WALL] = np.inf, np.inf
        cells.ball[:, OWNER], cells.ball[:, TRAIT] = order, self.trait[order]
        path[:, PLACE : PLACE + 3], path[:, RADIUS] = position[order], self.radius[order]
        path[:, VELOCITY : VELOCITY + 3] = _in_space(start.velocity[:, : world.dimension])[order]
        speed = np.abs(path[:, VELOCITY : VELOCITY + 3]).sum() + 0.5 * self.h * n * sum(abs(g) for g in self.gravity)
        walls = 2.0 * self.h * float(speed) / min(cells.size[: world.dimension])  # as many cells may be crossed
        buckets = int(min(max(walls / EVENTS_PER_BUCKET, FEWEST_BUCKETS), BUCKETS_PER_BODY * n + FEWEST_BUCKETS))
        queue = empty_queue(buckets, ENTRIES_PER_BODY * n + QUEUE_ENTRIES, self.h)
        span = Span(self.h, self.stepper.touch, self.hop * self.h, self.gravity, bool(world.free.all()))
        drift = _in_space(self.boundaries.velocity[:, : world.dimension])
        self.flight = Flight(
            path, world.free[order], event, cells.ball, cells, queue, boundary_table(self.boundaries), drift, span,
            np.empty((2, 6)),
        )  # fmt: skip
        self.scratch: tuple[Floats, Floats, Floats] | None = None  # a state for impacts of several contacts
        self.place = np.empty(n, np.int64)  # of each body in the flight
        self.place[order] = np.arange(n)
        self.matter = self._matter()
        m = min(IMPACTS_IN_RECORD, 64 + 4 * n)
        arrays = np.empty((m, self.width)), np.empty(m), np.zeros((m, 2)), np.empty(m), np.empty((3, m))
        self.record = Record(*arrays, np.zeros(3, np.int64), np.zeros(2))
        self.around = np.empty((2, n), np.int32)
        begin_events(self.flight, self.around)
        return True

    def _matter(self) -> Matter:
        world, start, surfaces = self.world, self.start, self.world.surfaces
        n, dim = world.count, world.dimension
        turn = start.orientation.reshape(n, -1).copy()
        spin = start.velocity[:, dim:].copy() if world.turns else np.zeros((n, 1 if dim == 2 else 3))
        rotation = self.boundaries.velocity[:, dim:]
        boundary_spin = np.zeros((len(rotation), 3))
        boundary_spin[:, 3 - rotation.shape[1] :] = rotation
        return Matter(
            self.traits, surfaces.boundary_material,
            surfaces.restitution, surfaces.friction[0], _in_space(self.boundaries.center), boundary_spin,
            turn, spin, np.zeros(n), self.closed_form,
        )  # fmt: skip

    def _flush(self) -> None:
        """Adds the impacts of the record to the report."""
        record, report = self.record, self.report
        m = int(record.counter[IMPACTS])
        record.counter[IMPACTS] = 0
        if m == 0:
            return
        report.scale = max(report.scale, float(record.number[FASTEST]))
        tangent = record.tangent[:m, : self.world.dimension - 1].copy() if self.rough else None
        found = ContactSet(record.table[:m].copy(), self.world.dimension)
        report.overlap = max(report.overlap, deepest_overlap(found.table))
        time, speeds = self.start.time + record.time[:m], record.speeds[:, :m].copy()
        stage = StageImpulses(found, None, record.normal[:m].copy(), tangent, time, None, speeds, in_sequence=True)
        report.stages.append(stage)
        report.contacts += m
        report.iterations += m
        report.rounds += m

    def _state(self, time: float) -> State:
        """All bodies at a time of the step."""
        world, start = self.world, self.start
        position, velocity = np.empty_like(start.position), start.velocity.copy()
        put_state(self.flight, time, position, velocity)
        turn = start.orientation
        if world.turns:
            turn_to(self.matter, np.arange(world.count), time)
            velocity[:, world.dimension :] = self.matter.spin
            turn = self.matter.turn.reshape(start.orientation.shape).copy()
        end = State(start.time + time, start.step, position, turn, velocity)
        if not world.motions:
            return end
        return placed_by_motions(world, replace(end, orientation=turn.copy()))

    # ---- impacts of several contacts

    def _resolve(self) -> bool:
        """Applies the law to all contacts that touch now; False if bodies then rest, or still approach."""
        world, report = self.world, self.report
        table, balls = cluster_at(self.flight, self.record, self.around, self.width)
        found = ContactSet(table[np.lexsort((table[:, SECOND], table[:, FIRST]))], world.dimension)
        bodies = self.flight.mark[balls, OWNER].astype(np.int64)
        state = self._state_of(found)
        report.clock.lap("detect")
        shift = (state.time - self.start.time) * self.boundaries.velocity[:, : world.dimension]
        impact = assemble(world, state, found, self.boundaries._replace(center=self.boundaries.center + shift))
        report.clock.lap("assemble")
        u = impact.contacts.speeds()
        noise = APPROACH_NOISE * float(np.abs(state.velocity[bodies]).max(initial=0.0))
        noise = max(noise, -LEFT_APPROACH * float(u.min()))
        hop, report.rounds = self._hop_speeds(state, impact, u), report.rounds + 1
        report.overlap = max(report.overlap, deepest_overlap(found.table))
        for _ in range(LAW_REPEATS):
            if not (u < -np.maximum(noise, hop)).any():
                break
            state = self.stepper.collide(state, found, impact, report)
            impact = impact.moving(state.velocity)
            u = impact.contacts.speeds()
        self._continue(balls, bodies, state.velocity)
        return not ((u < -noise) | (np.abs(u) <= hop) & (hop > 0.0)).any()

    def _state_of(self, found: ContactSet) -> State:
        """A state in which the bodies of some contacts are where they are now; all others are not to be used."""
        time, start, dim = float(self.record.number[NOW]), self.start, self.world.dimension
        if self.scratch is None:
            self.scratch = start.position.copy(), start.orientation.copy(), start.velocity.copy()
        position, orientation, velocity = self.scratch
        bodies = np.unique(np.concatenate([found.first, found.second[found.second >= 0]]))
        now = np.empty((len(bodies), 2, 3))
        put_balls(self.flight, self.place[bodies], time, now)
        position[bodies], velocity[bodies, :dim] = now[:, 0, :dim], now[:, 1, :dim]
        if self.world.turns:
            turn_to(self.matter, bodies, time)
            velocity[bodies, dim:] = self.matter.spin[bodies]
            orientation[bodies] = self.matter.turn[bodies].reshape(orientation[bodies].shape)
        return State(start.time + time, start.step, position, orientation, velocity)

    def _hop_speeds(self, state: State, impact: Assembly, u: Floats) -> Floats:
        """Speeds (m,) up to which a contact that gravity closes counts neither as separating nor as closing."""
        if not self.world.gravity.any():
            return np.zeros(len(u))
        falling = state.velocity.copy()
        falling[self.world.free, : self.world.dimension] += self.world.gravity
        return np.maximum(self.hop * self.h * (u - impact.contacts.speeds(impact.whitened(falling))), 0.0)

    def _continue(self, balls: Ints, bodies: Ints, velocity: Floats) -> None:
        """Gives balls of the flight the velocities of their bodies, and predicts their next events."""
        dim, flight, time = self.world.dimension, self.flight, float(self.record.number[NOW])
        flight.path[balls, VELOCITY : VELOCITY + dim] = velocity[bodies, :dim]
        if self.world.turns:
            self.matter.spin[bodies] = velocity[bodies, dim:]
        while not has_room(self.flight.queue, len(balls) + 2):
            self.flight = self.flight._replace(queue=grown_queue(self.flight.queue))
        predict_again(self.flight, self.around, balls, time)
        self.report.clock.lap("detect")


def _in_space(vectors: Floats) -> Floats:
    """Vectors (m, D) with zeros as third components in 2D."""
    out = np.zeros((len(vectors), 3))
    out[:, : vectors.shape[1]] = vectors
    return out


def _turns_corners(boundaries: Boundaries, dimension: int) -> bool:
    """Whether a boundary rotates in such a way that its surface moves."""
    spin, arm = boundaries.velocity[:, dimension:], boundaries.point - boundaries.center
    if not spin.any():
        return False
    turns, off = spin.any(axis=1), arm.any(axis=1)
    if dimension == 3:
        tube = boundaries.kind == TUBE
        along = np.abs(np.cross(spin, boundaries.axis)).max(axis=1) <= 1e-12 * np.abs(spin).max()
        off = np.where(tube, ~along | (np.abs(np.cross(arm, boundaries.axis)).max(axis=1) > 0.0), off)
    flat = (boundaries.kind == PLANE) | (boundaries.kind == SEGMENT)
    return bool((turns & (flat | off)).any())
