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

Remaining overlap (from rounding, curvature, or the initial state) is then removed by `push_out`, at the expense of
energy that the step has dissipated or still has. It uses the contacts of the start of the step. Where bodies that are
not round move so far that a contact may end below the tangent plane in which it was held, the contacts of the end are
found as well, and overlap there that is larger than the tolerance is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import ContactSet
from ..contact.motion import displacements_at
from ..kernels import kernel
from ..problem.assemble import Assembly
from ..resolve.response import Response
from ..solvers.blocks import normal_speeds
from ..solvers.rows import Floats
from ..world import State, World
from .contained import Contained
from .held_motion import displaced, held_motion
from .impact_stage import Approach
from .integrator import accelerations, prescribed
from .push_out import push_out
from .resting import Held, RestingSolver, closed_by, pushed_bodies, slacks, steady_bodies

Mask = NDArray[np.bool_]

# Lengths relative to the length scale of the world.
MARGIN = 1e-2  # gap up to which contacts take part in the resting solve
FINEST = 1e-4  # overlap at the end of a step that is left alone, also if the tolerance is smaller
REACH = 0.5  # upper bound, relative to the radius of a body, on the gap up to which contacts are found that impulses on
# other contacts may close
WAIT = 1e-2  # overlap, if the tolerance is not smaller, of an impact that may wait for the next step
NEIGHBOR = 0.25  # a slow body may be pushed by its neighbors to this share of the fastest speed
# Numbers of iterations.
ROUNDS = 100  # bound on the applications of the law per step; impacts may cause further impacts
SEARCHES = 20  # bound on the searches for contacts per step, where impacts make bodies much faster
SEPARATIONS = 6  # removals of the overlap at the end of a step
RESTING_SOLVES = 4  # solves per step, each with the contacts that the previous answer would close


class Ahead(NamedTuple):
    """The free motion of an interval of time, and the contacts that it may close."""

    end: State
    found: ContactSet
    impact: Assembly | None  # of the contacts found; None if there are none
    # None if the impact stage has not computed them:
    speed: Floats | None = None  # (m,) normal speeds of the contacts
    limit: Floats | None = None  # (m,) slower approach is resting contact
    # None if there were no impacts:
    shift: Floats | None = None  # (n, d) displacement of the start from which free motion passes through the impacts
    time: Floats | None = None  # (n,) of the last impact of each body


class DriftSafe(Contained):
    """Resolves impacts until none is left, then holds resting contacts, then moves the bodies."""

    name: ClassVar[str] = "drift_safe"
    title: ClassVar[str] = "impacts through the law, resting contact without drift"
    guarantee: ClassVar[str] = "never adds energy; bodies at rest do not sink; bodies do not pass through each other"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.margin = MARGIN * world.length_scale
        moves = world.free.copy()  # bodies at rest for ever close no gap, however large they are
        for bodies, _ in world.motions:
            moves[bodies] = True
        self.reach = REACH * np.where(moves, world.shapes.radius, 0.0)
        self.wait = min(WAIT, response.tolerance) * world.length_scale
        self.resting_solver: RestingSolver = RestingSolver(world)
        self.searched = np.empty(0)  # (n,) gap up to which contacts of each body were searched
        inertia, root = world.inertia.reshape(world.count, -1), world.inverse_sqrt_mass
        self._even = (inertia == inertia[:, :1]).all(axis=1)  # (n,) whether the moments of inertia are equal
        self._pull = np.zeros_like(root)  # (n, d) whitened acceleration by gravity
        pulled = root[:, 0] > 0.0
        self._pull[pulled, : world.dimension] = world.gravity / root[pulled, : world.dimension]
        self._falls = world.force is None and bool(world.gravity.any())

    def advance(self, state: State, h: float) -> State:
        start = prescribed(self.world, state, h)
        slow = self.resting_speed(start, h)
        ahead = self.look_ahead(start, h)
        start, ahead = self.resolve_impacts(start, ahead, slow, h)
        return self.hold_resting(start, ahead, slow, h)

    def resting_speed(self, state: State, h: float) -> Floats:
        """Speeds (n,) that the bodies gain in two steps of free fall; slower approach is resting contact."""
        pull = accelerations(self.world, state)
        if pull is None:
            speed = np.full(self.world.count, 2.0 * h * self._fall)
        else:
            speed = 2.0 * h * np.linalg.norm(pull[:, : self.world.dimension], axis=1)
        return np.maximum(speed, self.noise(state))

    def look_ahead(self, start: State, h: float) -> Ahead:
        """Free motion for the time h, with the contacts that it closes and those that reversed velocities would close.

        The latter would open, but impulses at other contacts may close them.
        """
        end = self.move(start, h)
        found = self._near(start, end, start.velocity, h)
        self.note_overlap(found)
        return Ahead(end, found, self.assemble(start, found, h) if found.count else None)

    def _near(self, start: State, end: State, velocity: Floats, h: float) -> ContactSet:
        self.searched = _searched(self._travel(velocity, h), self.margin, self.reach)
        found = self.find(start, end, self.searched)
        near = _near(found.first, found.second, found.gap, found.predicted, self.searched, self.margin)
        return found if len(near) == found.count else found.take(near)

    def _travel(self, velocity: Floats, h: float) -> Floats:
        shapes = self.world.shapes
        return displacements_at(velocity, shapes.round, shapes.radius, self.world.dimension, h)

    # ---- impacts

    def resolve_impacts(self, start: State, ahead: Ahead, slow: Floats, h: float) -> tuple[State, Ahead]:
        """Applies the law to the contacts that close within the time h, repeatedly while its answer closes others.

        Returns the state at the start with the new velocities, and the motion from there.
        """
        for _ in range(SEARCHES):
            if ahead.impact is None:
                break
            approach = self._rounds(ahead, slow, h)
            if not approach.changed:
                ahead = ahead._replace(speed=approach.speed, limit=approach.limit)
                break
            start, ahead, complete = self._after_impacts(start, approach, ahead, h)
            if complete:
                break
        return start, ahead

    def _rounds(self, ahead: Ahead, slow: Floats, h: float) -> Approach:
        """Applies the law until nothing approaches fast, or the energy that restitution could still give back is within
        the tolerance of the energy of approach before; what is left closes without restitution in the resting solve."""
        found, impact = ahead.found, ahead.impact
        assert impact is not None
        limit = _larger(found.first, found.second, slow)
        approach = Approach(impact.blocks, impact.velocity, found.gap, found.predicted, limit, self.margin)
        self.scale = max(self.scale, approach.fastest)
        if ahead.shift is not None and ahead.time is not None:
            approach.begin(impact.whitened(ahead.shift), ahead.time[impact.taking_part])
        energy = 0.0
        for number in range(ROUNDS):
            accepted = self.tolerance * self.scale if number else 0.0
            chosen, whole, left = approach.impact(self.touch, impact.restitution, accepted)
            if not len(chosen) or (number and left <= self.allowed(len(chosen), found.count) / self.scale * energy):
                break
            energy = energy if number else whole
            self.rounds += 1
            time = approach.instants(chosen, h, self.margin) if self._falls else np.zeros(len(approach.velocity))
            velocity = approach.velocity + time[:, None] * self._pull[impact.taking_part]
            contacts = impact.subset(chosen, velocity)
            result = self.resolve(contacts, found, chosen)
            if not result.normal.any():  # all approach is within the tolerance
                break
            after = contacts.after(result.normal, result.tangent)
            approach.change(after - velocity, time, h)
        return approach

    def _after_impacts(self, start: State, approach: Approach, ahead: Ahead, h: float) -> tuple[State, Ahead, bool]:
        """The start with the new velocities, the motion from there, and whether all contacts near it are known."""
        impact, found = ahead.impact, ahead.found.with_predicted(approach.predicted)
        assert impact is not None
        shift = np.zeros_like(start.velocity) if ahead.shift is None else ahead.shift
        time = np.zeros(self.world.count) if ahead.time is None else ahead.time.copy()
        start = replace(start, velocity=impact.unwhitened(approach.velocity, start.velocity))
        shift, time[impact.taking_part] = impact.unwhitened(approach.shift, shift), approach.time
        end = self.move(displaced(self.world, start, shift, self._even), h)
        if not (self._travel(start.velocity, h) > self.searched + self.margin).any():
            impact = replace(impact, velocity=approach.velocity)
            return start, Ahead(end, found, impact, approach.speed, approach.limit, shift, time), True
        # Contacts beyond the reach of the first search may close now.
        found = self._near(start, end, start.velocity, h)
        other = self.assemble(start, found, h) if found.count else None
        return start, Ahead(end, found, other, None, None, shift, time), False

    # ---- resting contact

    def hold_resting(self, start: State, ahead: Ahead, slow: Floats, h: float) -> State:
        """The state after the time h with resting contacts held; other bodies keep their free motion."""
        end, found, impact = ahead.end, ahead.found, ahead.impact
        if impact is None:
            return end
        if ahead.speed is None:
            limit = _larger(found.first, found.second, slow)
            self.scale = max(self.scale, float(limit.max()))
            ahead = ahead._replace(speed=normal_speeds(impact.blocks, impact.velocity), limit=limit)
        held = self.timed("rest", self._resting_solve, start, ahead, h)
        before, force = start, None
        if held is not None:
            self.note_rest(found, held)
            end = self.timed("rest", self._moved, start, ahead, held, h)
            force = held.impulse[:, 0] / h
        if ahead.shift is not None:
            before = replace(start, position=start.position + ahead.shift[:, : self.world.dimension])
        end = self.timed("rest", push_out, before, end, found, impact, self.tolerance, force, self.part)
        return self._separated(before, end, found, impact, h)

    def _separated(self, before: State, end: State, earlier: ContactSet, impact: Assembly, h: float) -> State:
        """The end of the step without the overlap that motion along the tangents of the start has made."""
        if self.detector.all_round:  # their gaps are convex functions of time
            return end
        scale = self.world.length_scale
        allowed = max(self.tolerance, FINEST) * scale
        moved = float(self._travel(end.velocity, h)[impact.taking_part].max(initial=0.0))
        if self.overlap <= allowed and moved * moved <= 2.0 * allowed * scale:  # of a way of that curvature
            return end
        for _ in range(SEPARATIONS):
            found = self.timed("detect", self.detector.touching, end, self.margin)
            if -found.gap.min(initial=0.0) <= allowed:
                break
            last, impact = end, self.assemble(end, found, h)
            end = self.timed("rest", push_out, before, end, found, impact, self.tolerance, None, 1.0, earlier)
            if end is last:  # no energy
                break
        return end

    def _resting_solve(self, start: State, ahead: Ahead, h: float) -> Held | None:
        """Holds the contacts that free motion would close, and then those that the answer itself would close."""
        _, found, impact, speed, limit, _, time = ahead
        assert impact is not None
        time = np.zeros(len(impact.velocity)) if time is None else time[impact.taking_part]
        falling = self._falling(start, impact, h)
        motion = (speed, falling, time, found.predicted)
        slack = slacks(impact.blocks, *motion, impact.restitution, self.wait, limit, h)
        chosen = found.predicted <= self.margin
        guess = self.resting_solver.start(found, impact.blocks.base.shape[1])
        held = None
        for _ in range(RESTING_SOLVES):
            some = np.flatnonzero(chosen)
            aim, enough = self.allowed(len(some)), self.tolerance * self.scale
            answer = self.resting_solver.solve(impact, some, falling, slack, guess, aim, enough)
            if answer is not None:
                held, guess = answer, answer.impulse
            velocity = falling if held is None else held.velocity
            if not closed_by(impact.blocks, velocity, slack, chosen, max(self.touch / h, aim)):
                break
        self.resting_solver.keep(found, held)
        return held

    def _falling(self, start: State, impact: Assembly, h: float) -> Floats:
        """Whitened velocities (n, d) at the end if no contact acted, with the force at the start.

        In 3D free rotation changes spins. It follows the impulses, which act on the spin at the start of the step.
        """
        pull = accelerations(self.world, start)
        if pull is not None:
            return impact.whitened(start.velocity + h * pull)
        return np.asarray(impact.velocity + h * self._pull[impact.taking_part])

    def _moved(self, start: State, ahead: Ahead, held: Held, h: float) -> State:
        """Bodies that impulses hold move at their new velocity, steady ones at the mean; the others move freely.

        Bodies with an impact in this step are held from its time on.
        """
        end, _, impact, speed, limit, shift, time = ahead
        assert impact is not None
        mine = pushed_bodies(impact.blocks.body, held.impulse, held.chosen, len(held.velocity))
        velocities = (impact.velocity, held.free, held.velocity)
        steady = steady_bodies(impact.blocks, held.chosen, held.impulse, *velocities, speed, limit)
        if time is not None:
            steady &= time[impact.taking_part] == 0.0
        masks = of_world(impact, mine), of_world(impact, steady), self._even
        velocity = impact.unwhitened(held.velocity, end.velocity)
        impacts = None if shift is None or time is None else (shift, time)
        return held_motion(self.world, start, end, velocity, masks, impacts, h)


def of_world(impact: Assembly, mask: Mask) -> Mask:
    """A mask of the bodies that take part as one (n,) of all bodies."""
    if impact.bodies is None:
        return mask
    out = np.zeros(impact.world.count, np.bool_)
    out[impact.taking_part] = mask
    return out


@kernel
def _searched(travel, margin, reach):
    """Gaps (n,) up to which contacts of each body are searched."""
    top = 0.0
    for i in range(len(travel)):
        top = max(top, travel[i])
    out = np.empty(len(travel))
    for i in range(len(travel)):
        out[i] = margin + min(2.0 * max(travel[i], NEIGHBOR * top), reach[i])
    return out


@kernel
def _near(first, second, gap, predicted, searched, margin):
    """Contacts that free motion closes, or that reversed velocities would close."""
    out, count = np.empty(len(gap), np.int64), 0
    for i in range(len(gap)):
        reach = max(searched[first[i]], searched[second[i]] if second[i] >= 0 else 0.0)
        if gap[i] <= reach or predicted[i] <= margin:
            out[count] = i
            count += 1
    return out[:count]


@kernel
def _larger(first, second, values):
    """(m,) The larger one of the values (n,) of the two bodies of each contact; boundaries count as 0."""
    out = np.empty(len(first))
    for i in range(len(out)):
        out[i] = max(values[first[i]], values[second[i]] if second[i] >= 0 else 0.0)
    return out
