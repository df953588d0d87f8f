"""The time-of-impact step: from one impact to the next, each resolved when and where it happens (Tang 2014, s. 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.find import find_contacts
from ..contact.impact_time import NOISE, Paths, advance
from ..contact.sweep import FEW, all_pairs, place_walls, refreshed, span_of, things_of, together
from ..contact.touching import moved_walls, touching
from ..impact.assemble import Assembly, assemble, used_restitutions
from ..impact.contacts import Impulses
from ..solvers.rows import Floats, Ints
from ..solvers.thresholds import ALL_PAIRS_BODIES
from ..world import State
from .drift_safe import MARGIN
from .flight import accelerations, fly, landed, prescribed
from .push_out import SLOP, push_out
from .resting import Resting
from .stepper import Stepper, pushed

SUBSTEPS = 200  # impacts in one step, besides ...
SUBSTEPS_EACH = 4  # ... so many for each body
MOST = 30000  # ... but never more than this
SAME_TIME = 1e-12  # impacts within this part of a step are at one instant
NEAR = 1e-10  # gap to which impacts are timed, in parts of the smallest body
HOP = 0.1  # a hop of less than twice this part of a step is rest, ...
HOP_ELASTIC = 0.01  # ... or of this, where no contact loses energy
REPEATS = 8  # times that the law is applied to one impact
LEFT = 1e-9  # approach below this part of the fastest before the impact may be left


class TimeOfImpact(Stepper):
    """Flies to the earliest impact, resolves all that touches there under the law, and goes on to the end of the step.

    Nothing passes through anything, however fast: bodies, thin walls, corners. All contacts that touch the impact are
    resolved with it, so a cradle or a rack is struck as a whole. Between impacts bodies fly on parabolas; a force
    function is taken as constant from one impact to the next. What moves by script moves straight within a step.

    Hops of less than a fifth of a step (a fiftieth where nothing loses energy) are taken for rest: such contacts are
    held, without restitution and with friction, to the end of the step or the next impact of a body they hold. What
    overlap that leaves, since held bodies move straight, is moved out at the end. It works, but `drift_safe` is the
    stepper for piles: here every small impact on a pile is one of the whole pile.

    After 200 + 4 n impacts in one step the rest of it is a synchronous step, in which fast bodies may overlap;
    `rounds`, the number of impacts of the step, is one above the bound then.
    """

    name: ClassVar[str] = "time_of_impact"
    title: ClassVar[str] = "every impact at its own time (Tang 2014, s. 2)"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        n, w = self.world.count, len(self.world.boundaries.kind)
        self.near = NEAR * self.world.length_scale
        self.bound = min(SUBSTEPS + SUBSTEPS_EACH * n, MOST)
        elastic = bool((used_restitutions(self.world) == 1.0).all())
        self.hop = (HOP_ELASTIC if elastic else HOP) * self.h
        self.resting_solve: Resting = Resting(self.world)
        self.things = things_of(self.world)
        self.paths = Paths(np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros(n + w))
        self.met, self.held = np.zeros(n, np.bool_), np.zeros(n, np.bool_)

    def step(self, state: State) -> State:
        self._clear()
        start = prescribed(self.world, state, self.h)
        end = self._timed("move", fly, self.world, start, self.h)
        self._begin(start)
        self._timed("detect", self._look_up_all)
        while True:
            time = float(self.table.when.min())
            if time > self.h:
                break
            self.rounds += 1
            if self.rounds > self.bound:
                self._finish(start, time)
                break
            self._impact(start, time)
        if self.rounds:
            end = self._timed("move", self._landing, start, end)
        if self.resting and self.overlap > SLOP * self.world.length_scale:
            end = self._timed("rest", self._set_apart, start, end)
        number = state.step + 1
        end = landed(self.world, end, number * self.h, number)
        self.report(end)
        return end

    # -- paths ----------------------------------------------------------------------------------------------------

    def _begin(self, start: State) -> None:
        """All things on their paths from the start of the step."""
        n, d = start.velocity.shape
        self.walls = boundaries_at(self.world, start.time, self.h)[0]
        self.span = span_of(self.world, start.time, self.h, self.hop, self.touch, self.near)
        place_walls(self.things, self.paths, self.walls)
        self.paths.place[:n, :2], self.paths.place[:n, 2] = start.position, start.orientation
        self.paths.velocity[:n, :d] = start.velocity
        self.paths.since[:n] = 0.0
        self.met[:], self.held[:] = False, False
        self.pull = self._pull(start)
        self.pulled = self.world.force is not None or bool(self.world.gravity.any())
        self.paths.pull[:n] = self.pull
        self.started = start.time

    def _pull(self, state: State) -> Floats:
        """Accelerations (x, y, angle) of all bodies, if nothing holds them."""
        out = np.zeros((self.world.count, 3))
        pull = accelerations(self.world, state)
        if pull is None:
            out[self.world.free, :2] = self.world.gravity
        else:
            out[:, : pull.shape[1]] = np.where(self.world.free[:, None], pull, 0.0)
        return out

    def _state(self, start: State, time: float) -> State:
        """Velocities and places as they are on the paths: right for bodies whose path was bent at `time`."""
        n, d = start.velocity.shape
        p = self.paths
        position, velocity = np.ascontiguousarray(p.place[:n, :2]), np.ascontiguousarray(p.velocity[:n, :d])
        return State(self.started + time, start.step, position, p.place[:n, 2].copy(), velocity)

    def _bring(self, start: State, bodies: Ints, time: float) -> State:
        """The bodies' paths begin anew at `time`; in a field of force those of all bodies do."""
        if self.world.force is None:
            advance(self.paths, bodies, time)
            return self._state(start, time)
        n = self.world.count
        p, flown = self.paths, time - self.paths.since[:n]
        before = p.pull[:n].copy()
        advance(self.paths, np.arange(n), time)
        pull = np.where(self.held[:, None], 0.0, self._pull(self._state(start, time)))
        p.velocity[:n] += (0.5 * flown)[:, None] * (pull - before)
        self.pull = self._pull(self._state(start, time))
        p.pull[:n] = np.where(self.held[:, None], 0.0, self.pull)
        return self._state(start, time)

    def _landing(self, start: State, end: State) -> State:
        """Everything at the end of the step; what moves by script is where the script wants it."""
        state = self._bring(start, np.arange(self.world.count), self.h)
        free = self.world.free
        return replace(
            state,
            position=np.where(free[:, None], state.position, end.position),
            orientation=np.where(free, state.orientation, end.orientation),
            velocity=np.where(free[:, None], state.velocity, end.velocity),
        )

    def _set_apart(self, start: State, end: State) -> State:
        """Moves overlap out that lasting contact has left: bodies that are held move straight, where paths bend."""
        found = find_contacts(self.world, end, end, MARGIN * self.world.length_scale)
        if not found.count:
            return end
        impact = assemble(self.world, end, found, boundaries_at(self.world, end.time, self.h)[0])
        return push_out(start, end, found, impact)

    # -- impacts --------------------------------------------------------------------------------------------------

    def _look_up_all(self) -> None:
        w = self.world
        self.table, self.circles = all_pairs(
            self.things, self.paths, w.free, self.met, self.span, w.periodic, self.started
        )

    def _impact(self, start: State, time: float) -> None:
        """Resolves what touches at `time`, and bends the paths of the bodies that take part."""
        rows = self._timed("detect", self._together, time)
        bodies = np.unique(np.concatenate([self.table.first[rows], self.table.second[rows]]))
        bodies = bodies[bodies < self.world.count]
        bodies = bodies[self.world.free[bodies]]
        state = self._timed("move", self._bring, start, bodies, time)
        found = self._timed("detect", touching, self.world, self.paths, self.walls, self.table, rows, time, self.touch)
        self.met[bodies], self.held[bodies] = True, False
        self.paths.pull[bodies] = self.pull[bodies]
        if found.count:
            self.saw(found)
            self._resolve(state, found, bodies, time)
        self._timed("detect", self._look_up, bodies)

    def _together(self, time: float) -> Ints:
        return together(self.things, self.paths, self.world.free, self.span, self.table, time, SAME_TIME * self.h)

    def _resolve(self, state: State, found: ContactSet, bodies: Ints, time: float) -> None:
        """The law, again while its answer leaves something approaching (friction may), then what rests."""
        impact = self._assembled(state, found, time)
        u = impact.contacts.speeds()
        quiet = max(self._quiet(state, bodies), -LEFT * float(u.min()))
        hop = self._least_hops(state, impact, u, time)
        for _ in range(REPEATS):
            if not (u < -np.maximum(quiet, hop)).any():
                break
            before = state.velocity
            state = self.collide(state, found, impact)
            impact = impact.moving(state.velocity)
            u = impact.contacts.speeds()
            if np.array_equal(state.velocity[bodies], before[bodies]):
                break
        self.paths.velocity[bodies, : self.world.block] = state.velocity[bodies]
        if hop.any():
            self._timed("rest", self._rest, state, found, impact, hop, quiet, time)

    def _least_hops(self, state: State, impact: Assembly, u: Floats, time: float) -> Floats:
        """Speeds below which a contact that the pull closes does not count as leaving, or as striking."""
        left = self.h - time
        if not self.pulled or left <= SAME_TIME * self.h:
            return np.zeros(len(u))
        drop = u - impact.contacts.speeds(impact.whitened(self._falling(state, time)))
        return np.maximum(self.hop / left * drop, 0.0)

    def _falling(self, state: State, time: float) -> Floats:
        """Velocities at the end of the step if nothing holds."""
        return state.velocity + (self.h - time) * self.pull[:, : self.world.block]

    def _quiet(self, state: State, bodies: Ints) -> float:
        return NOISE * float(np.abs(state.velocity[bodies]).max(initial=0.0))

    def _assembled(self, state: State, found: ContactSet, time: float) -> Assembly:
        return self._timed("assemble", assemble, self.world, state, found, moved_walls(self.walls, time))

    def _rest(self, state: State, found: ContactSet, impact: Assembly, hop: Floats, quiet: float, time: float) -> None:
        """Holds contacts that hop no longer, from here to the end of the step. `hop`: speed of the least hop."""
        falling = self._falling(state, time)
        u, then = impact.contacts.speeds(), impact.contacts.speeds(impact.whitened(falling))
        if not ((np.abs(u) <= hop) & (then < -quiet)).any():
            return
        lying = np.abs(u) <= max(float(hop.max()), quiet)  # what lies on a body that is held will rest with it
        while True:
            some = found.take(lying)
            after, who, impulses = self._held_still(state, some, falling, time)
            # What the held bodies now close, though it was leaving, is held as well.
            more = ~lying & (u >= 0.0) & (impact.contacts.speeds(impact.whitened(after)) < -quiet)
            if not more.any():
                break
            lying |= more
        if impulses is not None:
            self.resting += some.count
            self.rest_residual = max(self.rest_residual, impulses.residual)
            self.pushes.append((some, impulses))
        self.held[who] = True
        self.paths.pull[who] = 0.0
        self.paths.velocity[who, : self.world.block] = after[who]

    def _held_still(
        self, state: State, found: ContactSet, falling: Floats, time: float
    ) -> tuple[Floats, Ints, Impulses | None]:
        """Velocities at which no contact of `found` closes until the end of the step, and the bodies it takes."""
        impact = self._assembled(state, found, time).moving(falling)
        impulses = self.resting_solve(impact.contacts, found, np.zeros(found.count))
        if impulses is None:
            return state.velocity, np.empty(0, np.int64), None
        active = impulses.normal > 0.0
        who = np.concatenate([found.first[active], found.second[active]])
        who = np.unique(who[who >= 0])
        who = who[self.world.free[who]]
        after = state.velocity.copy()
        after[who] = pushed(impact, impulses, falling)[who]
        return after, who, impulses

    def _look_up(self, bodies: Ints) -> None:
        """The impacts to come of the bodies whose paths were bent."""
        if self.world.force is not None or (len(bodies) > ALL_PAIRS_BODIES and self.world.count > FEW):
            self._look_up_all()
            return
        self.table = refreshed(
            self.things, self.paths, self.world.free, self.met, self.span, self.table, self.circles, bodies, True
        )

    def _finish(self, start: State, time: float) -> None:
        """The rest of a step with too many impacts: a synchronous step."""
        n, d = start.velocity.shape
        everyone = np.arange(n)
        state = self._bring(start, everyone, time)
        s = self.h - time
        move = s * (self.paths.velocity[:n] + 0.5 * s * self.paths.pull[:n])
        after = State(
            start.time + self.h,
            start.step,
            state.position + move[:, :2],
            state.orientation + move[:, 2],
            state.velocity,
        )
        found = self._timed("detect", find_contacts, self.world, state, after, self.touch)
        if not found.count:
            return
        self.saw(found)
        impact = self._assembled(state, found, time)
        if impact.contacts.speeds().min() < -self.noise(state):
            state = self.collide(state, found, impact)
            free = self.world.free
            self.paths.velocity[:n, :d][free] = state.velocity[free]
