"""The drift-safe step: impacts through the law, lasting contact through an inelastic frictional solve.

Impact-only stepping sinks where bodies rest, because gravity acts after the impulses. Here a contact that approaches
slower than gravity alone would make it in two steps is at rest: it gets the impulse that keeps
`gap >= 0` at the end of the step, with Coulomb friction and no restitution.

It never adds energy. With `p` the impulses of the resting solve, `v1 = v + h g + p` and `q1 = q + h v1`, the energy
changes by `p . v1 - |p - h g|^2 / 2` (mass 1, uniform gravity g); friction opposes slip, and `u1 <= 0` wherever a
normal impulse acts, because no gap asks for a speed of separation. Where a whole island slides or rolls on closed
contacts, places move at the mean of the old and the new velocity, which is of second order.

What overlap there is (rounding, curvature, a start that was tight) is moved out afterwards, and paid for with energy
that the step has lost or still has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import ContactSet
from ..geometry import rotations
from ..impact.assemble import Assembly
from ..impact.contacts import Impulses
from ..solvers.islands import island_labels
from ..solvers.rows import Floats
from ..world import State, World
from .collision import Collision
from .flight import accelerations, fly, landed, prescribed, turn_freely, turned_by
from .push_out import push_out
from .resting import Resting
from .stepper import Stepper, pushed

Mask = NDArray[np.bool_]

MARGIN = 1e-2  # how near, in parts of the smallest body, contacts are taken into the resting solve
STEADY = 1e-5  # speeds below this part of the resting speed count as none
LOOKS = 4  # times that the resting solve takes in contacts which its own answer would close
REACH = 0.5  # how far, in parts of the smallest body, contacts are looked for that impulses on others may close
MANY = 2000  # contacts of a step from which on it has ...
FEW_ROUNDS = 3  # ... fewer rounds
ROUNDS = 8  # impacts may lead to more impacts within a step; after so many rounds they wait for the next one


class DriftSafe(Stepper):
    """Impacts first, in rounds until none is left; then resting contact; then the move."""

    name: ClassVar[str] = "drift_safe"
    title: ClassVar[str] = "impacts through the law, resting contact without drift"

    def __init__(self, world: World, collision: Collision, step: float) -> None:
        super().__init__(world, collision, step)
        self.margin = MARGIN * self.world.length_scale
        self.resting_solve: Resting = Resting(self.world)

    def step(self, state: State) -> State:
        self._clear()
        before = prescribed(self.world, state, self.h)
        slow = self._resting_speed(before)
        start, end, found, impact = self._impacts(before, slow)
        if impact is not None:
            end = self._rest(start, end, found, impact, slow)
        number = state.step + 1
        end = landed(self.world, end, number * self.h, number)
        self.report(end)
        return end

    def _resting_speed(self, state: State) -> Floats:
        """What each body gains in two steps of free fall."""
        pull = accelerations(self.world, state)
        size = np.linalg.norm(self.world.gravity if pull is None else pull[:, : self.world.dimension], axis=-1)
        speed = np.maximum(2.0 * self.h * size, self.noise(state))
        return np.broadcast_to(speed, (self.world.count,))

    def _resting_speeds(self, found: ContactSet, slow: Floats) -> Floats:
        """Approach up to this speed is rest, for each contact: the larger of its two bodies'."""
        return np.maximum(slow[found.first], np.where(found.second >= 0, slow[np.maximum(found.second, 0)], 0.0))

    def _impacts(self, start: State, slow: Floats) -> tuple[State, State, ContactSet, Assembly | None]:
        """The law on all contacts that the step would close, again while its answer closes others.

        Places stay through all rounds, so contacts are found once; what the rounds change in velocities changes the
        gaps at the end of the step in proportion. A contact that took part stays in: left out, two neighbors would
        push a body to and fro between them.
        """
        travel = self._travel(start)
        end, found, impact = self._ahead(start, travel)
        self.saw(found)
        if impact is None:
            return start, end, found, None
        before, limit = impact.contacts.speeds(), self._resting_speeds(found, slow)
        chosen = np.zeros(found.count, np.bool_)
        most = ROUNDS if found.count <= MANY else FEW_ROUNDS
        changed = False
        for _ in range(most):
            speed = impact.contacts.speeds(impact.whitened(start.velocity)) if changed else before
            closing = found.predicted + self.h * (speed - before) <= self.touch
            if not (closing & (speed < -limit)).any():
                break
            self.rounds += 1
            changed = True
            chosen |= closing
            if chosen.all():
                start = self.collide(start, found, impact.moving(start.velocity), float(slow.max()))
            else:
                some = found.take(chosen)
                start = self.collide(start, some, self.assemble(start, some), float(slow.max()))
        if changed:
            end, found, impact = self._ahead(start, np.maximum(travel, self._travel(start)))
        return start, end, found, impact

    def _ahead(self, start: State, travel: Floats) -> tuple[State, ContactSet, Assembly | None]:
        """Free flight, and the contacts that it closes, or that it could if impulses turned their bodies round.

        The latter would open, but impulses on others may close them.
        """
        end = self._timed("move", fly, self.world, start, self.h)
        reach = self.margin + min(2.0 * float(travel.max()), REACH * self.world.length_scale)
        found = self.find(start, end, reach)
        second = np.where(found.second >= 0, travel[np.maximum(found.second, 0)], 0.0)
        near = (found.gap <= self.margin + np.maximum(travel[found.first], second)) | (found.predicted <= self.margin)
        if not near.all():
            found = found.take(near)
        return end, found, self.assemble(start, found) if found.count else None

    def _travel(self, state: State) -> Floats:
        """A bound on the move of any point of each body in the step."""
        world, v, dim = self.world, state.velocity, self.world.dimension
        speed = np.sqrt((v[:, :dim] ** 2).sum(axis=1))
        if world.turns:
            spin = np.sqrt((v[:, dim:] ** 2).sum(axis=1))
            speed = speed + np.where(world.shapes.round, 0.0, spin * world.shapes.radius)
        return np.asarray(self.h * speed)

    def _rest(self, start: State, end: State, found: ContactSet, impact: Assembly, slow: Floats) -> State:
        """Stops what rests, and moves; bodies that nothing holds keep their free flight."""
        # Fast approach is the law's: what does not close in this step, and what the rounds have left, waits for the
        # next one. Stopped here it would lose its restitution; where that is zero, nothing is lost.
        fast = impact.contacts.speeds() < -self._resting_speeds(found, slow)
        # Nor may it wait if it would sink in too deep to be pushed back.
        shallow = found.predicted > -REACH * self.world.length_scale
        waiting = fast & (impact.contacts.restitution > 0.0) & shallow
        if waiting.all():
            return end
        if waiting.any():
            found = found.take(~waiting)
            impact = self.assemble(start, found)
        # Speed of approach that closes no gap: from the true gap at the predicted place, so that turning counts.
        falling = self._falling(start, end)
        mean = impact.contacts.speeds(impact.whitened(0.5 * (start.velocity + falling)))
        slack = np.maximum(found.predicted / self.h - mean, 0.0)
        held = self._hold(start, found, impact, slack, falling)
        if held is None:
            return self._timed("rest", push_out, start, end, found, impact)
        few, part, impulses, velocity = held
        self.resting = few.count
        self.rest_residual = impulses.certificate
        self.pushes.append((few, impulses))
        steady = self._steady(start, velocity, part, impulses, self._resting_speeds(few, slow))
        end = self._moved(start, end, velocity, self._held(few, impulses), steady)
        return self._timed("rest", push_out, start, end, found, impact)

    def _hold(
        self, start: State, found: ContactSet, impact: Assembly, slack: Floats, falling: Floats
    ) -> tuple[ContactSet, Assembly, Impulses, Floats] | None:
        """The resting solve on the contacts that the fall would close, and then on those that its answer would."""
        chosen = found.predicted <= self.margin
        answer = None
        for _ in range(LOOKS):
            if not chosen.any():
                break
            few, part, room = found, impact, slack
            if not chosen.all():
                few, room = found.take(chosen), slack[chosen]
                part = self.assemble(start, few)
            part = part.moving(falling)
            impulses = self._timed("rest", self.resting_solve, part.contacts, few, room)
            velocity = falling
            if impulses is not None:
                velocity = pushed(part, impulses, falling)
                answer = (few, part, impulses, velocity)
            closed = ~chosen & (impact.contacts.speeds(impact.whitened(velocity)) + slack < -self.touch / self.h)
            if not closed.any():
                break
            chosen |= closed
        return answer

    def _moved(self, start: State, end: State, velocity: Floats, held: Mask, steady: Mask) -> State:
        """Held bodies move at their new velocity, or at the mean of old and new; the others fly."""
        mean = velocity
        if steady.any():
            mean = np.where(steady[:, None], 0.5 * (start.velocity + velocity), velocity)
        flown = start.position + self.h * mean[:, : self.world.dimension]
        turned, velocity = self._turned(start, mean, velocity)
        mine = held[:, None]
        return replace(
            end,
            position=np.where(mine, flown, end.position),
            orientation=np.where(held if end.orientation.ndim == 1 else mine, turned, end.orientation),
            velocity=np.where(mine, velocity, end.velocity),
        )

    def _turned(self, start: State, mean: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Orientations after turning at the mean spin; velocities whose spins follow the turning axes of the bodies."""
        world = self.world
        if world.dimension == 2 or not world.turns:
            return turned_by(world, start.orientation, mean, self.h), velocity
        turned, spin = turn_freely(world, start, self.h, np.ascontiguousarray(mean[:, 3:]))
        if mean is not velocity:
            later, spin = turn_freely(world, start, self.h, np.ascontiguousarray(velocity[:, 3:]))
            # Turned at the mean spin: what the world sees of the new one must not turn with the difference. For equal
            # moments that leaves the energy alone.
            even = (world.inertia == world.inertia[:, :1]).all(axis=1)
            spin[even] = rotations.turned_back(turned[even], rotations.turned(later[even], spin[even]))
        return turned, np.column_stack([velocity[:, :3], spin])

    def _steady(self, start: State, velocity: Floats, impact: Assembly, impulses: Impulses, slow: Floats) -> Mask:
        """Bodies whose whole island slides or rolls on closed contacts: the mean velocity is then of second order.

        The energy changes by `p . (v0 + v1) / 2` for impulses p, so contacts must be closed before and after, and
        friction must not do work.
        """
        contacts, x0, x1 = impact.contacts, impact.whitened(start.velocity), impact.whitened(velocity)
        u0 = contacts.speeds(x0)
        work = impulses.normal * (u0 + contacts.speeds(x1))
        if impulses.tangent is not None:
            slips = contacts.tangent_speeds(x0) + contacts.tangent_speeds(x1)
            work += (impulses.tangent * slips).sum(axis=1)
        loose = (impulses.normal > 0.0) & ((np.abs(u0) > STEADY * slow) | (work > STEADY * slow * impulses.normal))
        rows = contacts.rows
        label = island_labels(rows)
        good = np.ones(len(label), np.bool_)
        good[np.unique(label[loose])] = False
        bodies = rows.body if impact.bodies is None else impact.bodies[rows.body]
        out = np.zeros(self.world.count, np.bool_)
        out[bodies] = np.repeat(good[label], np.diff(rows.ptr))
        return out

    def _falling(self, start: State, end: State) -> Floats:
        """Velocities at the end of the step if nothing held: those of free flight, with the pull of its start."""
        pull = accelerations(self.world, start)
        if pull is not None:
            return start.velocity + self.h * pull
        if self.world.dimension == 2 or not self.world.turns:
            return end.velocity
        # In space the free turn comes after the impulses: these act on the spin that the step starts with.
        return np.column_stack([end.velocity[:, :3], start.velocity[:, 3:]])

    def _held(self, found: ContactSet, impulses: Impulses) -> Mask:
        held = np.zeros(self.world.count, np.bool_)
        active = impulses.normal > 0.0
        held[found.first[active]] = True
        second = found.second[active]
        held[second[second >= 0]] = True
        return held & self.world.free
