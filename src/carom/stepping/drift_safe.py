"""The drift-safe step: the law resolves impacts, an inelastic frictional solve holds resting contacts.

Stepping with impacts alone sinks where bodies rest, because gravity acts after the impulses. Here a contact that
approaches more slowly than gravity alone would make it in two steps is at rest: it receives the impulse that keeps
`gap >= 0` at the end of the step, with Coulomb friction and without restitution.

The step never adds energy. With `p` the impulses of the resting solve, `v1 = v + h g + p` and `q1 = q + h v1`, the
energy changes by `p . v1 - |p - h g|^2 / 2` (mass 1, uniform gravity g); friction opposes slip, and `u1 <= 0` wherever
a normal impulse acts, because no gap requires a speed of separation. Where a whole island slides or rolls on closed
contacts, positions move at the mean of the old and the new velocity, which is of second order.

Remaining overlap (from rounding, curvature, or the initial state) is then removed by `push_out`, at the expense of
energy that the step has dissipated or still has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import ContactSet
from ..geometry import rotations
from ..impact.assemble import Assembly
from ..impact.contacts import Impulses
from ..impact.response import Response
from ..solvers.islands import island_labels
from ..solvers.rows import Floats
from ..solvers.thresholds import FEW_ROUNDS_CONTACTS
from ..world import State, World
from .integrator import accelerations, freely_rotated, prescribed
from .push_out import push_out
from .resting import RestingSolver
from .stepper import Stepper, velocity_after

Mask = NDArray[np.bool_]

# Lengths relative to the length scale of the world.
MARGIN = 1e-2  # gap up to which contacts take part in the resting solve
REACH = 0.5  # upper bound on the gap up to which contacts are found that impulses on other contacts may close;
# a contact that would overlap more deeply than this is stopped in any case, because push_out could not undo it
# Numbers of iterations.
ROUNDS = 8  # applications of the law per step: impacts may cause further impacts; the rest wait for the next step
ROUNDS_OF_LARGE_STEPS = 3  # the same for steps with more than FEW_ROUNDS_CONTACTS contacts
RESTING_SOLVES = 4  # solves per step, each with the contacts that the previous answer would close
# Speeds relative to the resting speed.
STEADY = 1e-5  # up to this a contact counts as closed, and friction as doing no work


class Ahead(NamedTuple):
    """The free motion of an interval, and the contacts that it may close."""

    end: State
    found: ContactSet
    impact: Assembly | None  # of the contacts found; None if there are none


class Held(NamedTuple):
    """The answer of the resting solve."""

    found: ContactSet
    impact: Assembly
    impulses: Impulses
    velocity: Floats  # (n, d) of all bodies after the impulses


class DriftSafe(Stepper):
    """Resolves impacts until none is left, then holds resting contacts, then moves the bodies."""

    name: ClassVar[str] = "drift_safe"
    title: ClassVar[str] = "impacts through the law, resting contact without drift"
    guarantee: ClassVar[str] = "never adds energy; bodies at rest do not sink"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.margin = MARGIN * world.length_scale
        self.reach = REACH * world.length_scale
        self.resting_solver: RestingSolver = RestingSolver(world)

    def step(self, state: State) -> State:
        self.clear()
        start = prescribed(self.world, state, self.h)
        slow = self.resting_speed(start)
        start, ahead = self.resolve_impacts(start, slow, self.h)
        end = self.hold_resting(start, ahead, slow, self.h)
        return self.finish(end, state.step + 1)

    def resting_speed(self, state: State) -> Floats:
        """Speeds (n,) that the bodies gain in two steps of free fall; slower approach is resting contact."""
        pull = accelerations(self.world, state)
        size = np.linalg.norm(self.world.gravity if pull is None else pull[:, : self.world.dimension], axis=-1)
        speed = np.maximum(2.0 * self.h * size, self.noise(state))
        return np.broadcast_to(speed, (self.world.count,))

    # ---- impacts

    def resolve_impacts(self, start: State, slow: Floats, h: float) -> tuple[State, Ahead]:
        """Applies the law to the contacts that close within the time h, repeatedly while its answer closes others.

        Returns the state at the start with the new velocities, and the free motion from there. Positions stay the same
        in all rounds, so contacts are found once; changes of velocity change the gaps at the end in proportion. A
        contact that took part once takes part in all later rounds: otherwise two neighbors could push a body back and
        forth between them.
        """
        travel = self._travel(start, h)
        ahead = self._look_ahead(start, travel, h)
        found, impact = ahead.found, ahead.impact
        self.note_overlap(found)
        if impact is None:
            return start, ahead
        before, limit = impact.contacts.speeds(), found.larger(slow)
        chosen = np.zeros(found.count, np.bool_)
        changed = False
        for _ in range(ROUNDS if found.count <= FEW_ROUNDS_CONTACTS else ROUNDS_OF_LARGE_STEPS):
            speed = impact.contacts.speeds(impact.whitened(start.velocity)) if changed else before
            closing = found.predicted + h * (speed - before) <= self.touch
            if not (closing & (speed < -limit)).any():
                break
            self.rounds += 1
            changed = True
            chosen |= closing
            if chosen.all():
                start = self.collide(start, found, impact.moving(start.velocity), float(slow.max()))
            else:
                some = found.take(chosen)
                start = self.collide(start, some, self.assemble(start, some, h), float(slow.max()))
        if changed:
            ahead = self._look_ahead(start, np.maximum(travel, self._travel(start, h)), h)
        return start, ahead

    def _look_ahead(self, start: State, travel: Floats, h: float) -> Ahead:
        """Free motion for the time h, with the contacts that it closes and those that reversed velocities would close.

        The latter would open, but impulses at other contacts may close them.
        """
        end = self.move(start, h)
        found = self.find(start, end, self.margin + min(2.0 * float(travel.max()), self.reach))
        near = (found.gap <= self.margin + found.larger(travel)) | (found.predicted <= self.margin)
        if not near.all():
            found = found.take(near)
        return Ahead(end, found, self.assemble(start, found, h) if found.count else None)

    def _travel(self, state: State, h: float) -> Floats:
        """Upper bounds (n,) on the displacement of any point of each body within the time h."""
        world, v, dim = self.world, state.velocity, self.world.dimension
        speed = np.sqrt((v[:, :dim] ** 2).sum(axis=1))
        if world.turns:
            spin = np.sqrt((v[:, dim:] ** 2).sum(axis=1))
            speed = speed + np.where(world.shapes.round, 0.0, spin * world.shapes.radius)
        return np.asarray(h * speed)

    # ---- resting contact

    def hold_resting(self, start: State, ahead: Ahead, slow: Floats, h: float) -> State:
        """The state after the time h with resting contacts held; other bodies keep their free motion."""
        ahead = self._without_impacts(start, ahead, slow, h)
        end, found, impact = ahead
        if impact is None:
            return end
        held = self._resting_solve(start, ahead, h)
        if held is not None:
            self.resting = held.found.count
            self.rest_residual = held.impulses.residual
            self.pushes.append((held.found, held.impulses))
            end = self._moved(start, end, held, self._steady(start, held, slow), h)
        return self.timed("rest", push_out, start, end, found, impact)

    def _without_impacts(self, start: State, ahead: Ahead, slow: Floats, h: float) -> Ahead:
        """The contacts without those that must wait for the law in the next step.

        These approach fast, because they do not close in this step or the rounds have ended. If they were stopped here
        they would lose their restitution; where that is zero nothing is lost. Contacts that would overlap too deeply
        to be pushed out do not wait.
        """
        found, impact = ahead.found, ahead.impact
        if impact is None:
            return ahead
        fast = impact.contacts.speeds() < -found.larger(slow)
        shallow = found.predicted > -self.reach
        waiting = fast & (impact.contacts.restitution > 0.0) & shallow
        if waiting.all():
            return Ahead(ahead.end, found, None)
        if not waiting.any():
            return ahead
        found = found.take(~waiting)
        return Ahead(ahead.end, found, self.assemble(start, found, h))

    def _resting_solve(self, start: State, ahead: Ahead, h: float) -> Held | None:
        """Holds the contacts that free motion would close, and then those that the answer itself would close."""
        end, found, impact = ahead
        assert impact is not None
        # `slack` is the speed of approach that just closes a gap. It follows from the gap at the predicted position, so
        # that rotation is taken into account.
        falling = self._falling(start, end, h)
        mean = impact.contacts.speeds(impact.whitened(0.5 * (start.velocity + falling)))
        slack = np.maximum(found.predicted / h - mean, 0.0)
        chosen = found.predicted <= self.margin
        answer = None
        for _ in range(RESTING_SOLVES):
            if not chosen.any():
                break
            some, part, room = found, impact, slack
            if not chosen.all():
                some, room = found.take(chosen), slack[chosen]
                part = self.assemble(start, some, h)
            part = part.moving(falling)
            impulses = self.timed("rest", self.resting_solver, part.contacts, some, room)
            velocity = falling
            if impulses is not None:
                velocity = velocity_after(part, impulses, falling)
                answer = Held(some, part, impulses, velocity)
            closed = ~chosen & (impact.contacts.speeds(impact.whitened(velocity)) + slack < -self.touch / h)
            if not closed.any():
                break
            chosen |= closed
        return answer

    def _falling(self, start: State, end: State, h: float) -> Floats:
        """Velocities (n, d) at the end if no contact acted, with the force at the start."""
        pull = accelerations(self.world, start)
        if pull is not None:
            return start.velocity + h * pull
        # In 3D free rotation changes spins. It follows the impulses, which act on the spin at the start of the step.
        dim = self.world.dimension
        return np.column_stack([end.velocity[:, :dim], start.velocity[:, dim:]])

    def _steady(self, start: State, held: Held, slow: Floats) -> Mask:
        """Bodies (n,) whose whole island slides or rolls on closed contacts, which may move at the mean velocity.

        The energy then changes by `p . (v0 + v1) / 2` for impulses p, so contacts must be closed before and after, and
        friction must do no work.
        """
        limit = held.found.larger(slow)
        impact, impulses, contacts = held.impact, held.impulses, held.impact.contacts
        x0, x1 = impact.whitened(start.velocity), impact.whitened(held.velocity)
        u0 = contacts.speeds(x0)
        work = impulses.normal * (u0 + contacts.speeds(x1))
        if impulses.tangent is not None:
            slips = contacts.tangent_speeds(x0) + contacts.tangent_speeds(x1)
            work += (impulses.tangent * slips).sum(axis=1)
        loose = (impulses.normal > 0.0) & ((np.abs(u0) > STEADY * limit) | (work > STEADY * limit * impulses.normal))
        rows = contacts.rows
        label = island_labels(rows)
        good = np.ones(len(label), np.bool_)
        good[np.unique(label[loose])] = False
        bodies = rows.body if impact.bodies is None else impact.bodies[rows.body]
        out = np.zeros(self.world.count, np.bool_)
        out[bodies] = np.repeat(good[label], np.diff(rows.ptr))
        return out

    def _moved(self, start: State, end: State, held: Held, steady: Mask, h: float) -> State:
        """Bodies that impulses hold move at their new velocity, steady ones at the mean; the others move freely."""
        mean = held.velocity
        if steady.any():
            mean = np.where(steady[:, None], 0.5 * (start.velocity + held.velocity), held.velocity)
        position = start.position + h * mean[:, : self.world.dimension]
        orientation, velocity = self._rotated(start, mean, held.velocity, h)
        mine = self._pushed_bodies(held)

        def chosen(held: Floats, free: Floats) -> Floats:
            return np.where(mine.reshape(-1, *(1,) * (free.ndim - 1)), held, free)

        return replace(
            end,
            position=chosen(position, end.position),
            orientation=chosen(orientation, end.orientation),
            velocity=chosen(velocity, end.velocity),
        )

    def _rotated(self, start: State, mean: Floats, velocity: Floats, h: float) -> tuple[Floats, Floats]:
        """Orientations after rotation at the mean spin, and velocities with the spins in the rotated body frames."""
        world, dim = self.world, self.world.dimension
        orientation, spin = freely_rotated(world, start.orientation, mean[:, dim:], h)
        if mean is not velocity:
            other, spin = freely_rotated(world, start.orientation, velocity[:, dim:], h)
            # The new spin belongs to the frame `other`, but the body has the orientation after the mean spin: the spin
            # must stay the same vector of the world. For equal moments this leaves the energy unchanged.
            inertia = world.inertia.reshape(world.count, -1)
            even = (inertia == inertia[:, :1]).all(axis=1, keepdims=True)
            same = rotations.spin_to_body(orientation, rotations.spin_to_world(other, spin))
            spin = np.where(even, same, spin)
        return orientation, np.column_stack([velocity[:, :dim], spin])

    def _pushed_bodies(self, held: Held) -> Mask:
        """Free bodies (n,) on which a normal impulse acts."""
        out = np.zeros(self.world.count, np.bool_)
        active = held.impulses.normal > 0.0
        out[held.found.first[active]] = True
        second = held.found.second[active]
        out[second[second >= 0]] = True
        return out & self.world.free
