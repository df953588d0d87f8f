"""Worlds whose bodies appear and vanish: an engine whose steps are made with the bodies that are present.

Between two steps sinks, sources and the user's program change which bodies are present. A step is then one of the
stepper for the world of these bodies, and its states and reports are given in the numbers of all bodies. No stepper
knows of absent bodies, so that they cost nothing; a change costs a new stepper and a new list of candidate pairs, about
as much as a step. Resting contacts that remain keep their warm start. What sources and sinks do follows from the state,
the number of the step and the impacts of the step before, so that a resumed run has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contact.contact_set import ContactSet
from .contact.detector import find_contacts
from .errors import ProblemError
from .scene.chance import random_orientations
from .scene.changes import Sink, Source
from .scene.model import Scene
from .solvers.rows import Floats, Ints
from .stepping.events import APPEARANCE, ENERGY, NO_ROWS, REMOVAL, change_rows
from .stepping.report import NO_WARM_START, Clock, RestLog, StepReport, Stretch, WarmStart
from .stepping.resting import FEATURE_BITS
from .stepping.stepper import Stepper
from .world import State, World

TRIES = 8  # places per step that are tried for a body which is to appear
MOST_APPEARANCES = 256  # of a source per step
START_TRIES = 200  # places that are tried before a run, to see whether a source has room between the walls


@dataclass(frozen=True, eq=False)
class Change:
    """Bodies that are to be made absent, and bodies that are to appear, as a callback returns it.

    `remove` and `add` are numbers of bodies. Bodies that appear have a `position` (k, D), a `velocity` (k, D) or with
    spins (k, d), and an `orientation`, angles (k,) or quaternions (k, 4). What is None is as declared. They must not
    overlap others.
    """

    remove: Sequence[int] = ()
    add: Sequence[int] = ()
    position: Any = None
    velocity: Any = None
    orientation: Any = None


class ChangingEngine:
    """Advances a world whose bodies appear and vanish. `make` makes the stepper of a world."""

    def __init__(self, scene: Scene, world: World, make: Callable[[World], Stepper]) -> None:
        self.world, self._make = world, make
        self.stepper = make(world)
        self.bodies = np.arange(world.count)  # of the world of the stepper
        self.active_set, self.response, self.h = self.stepper.active_set, self.stepper.response, self.stepper.h
        held = np.zeros(world.count, np.bool_) if world.joints is None else world.joints.holds(world.count)
        self.mobile = np.asarray(world.free) & ~held  # which bodies may appear and vanish
        names = [group.name for group in scene.bodies]
        self.sources = [(s, np.flatnonzero(world.group == names.index(s.bodies))) for s in scene.sources]
        self.sinks = [(s, self._mask([names.index(name) for name in s.bodies])) for s in scene.sinks]
        self.pending = NO_ROWS  # rows of events of changes that the program has made since the last step
        self.struck = np.zeros(world.count)  # largest impulse of an impact of each body in the last step
        self.first = np.repeat([int(g.present) for g in scene.groups], [g.count for g in scene.groups])

    def _mask(self, groups: list[int]) -> NDArray[np.bool_]:
        return self.mobile & np.isin(self.world.group, groups) if groups else self.mobile

    # ---- engine

    def start(self, state: State) -> StepReport:
        """The report on a state before the first step."""
        self.use(state)
        return self.stepper.start(state.of(self.bodies)) if len(self.bodies) else self._nothing(state)

    def stretch(self, state: State, most: int) -> Stretch:
        """Changes the world, then makes the next step; up to `most` steps where only the program changes it."""
        rows, self.pending = self.pending, NO_ROWS
        if self.sources or self.sinks:
            most = 1
            state, changed = self._changed(state)
            rows = np.concatenate([rows, changed])
        self.use(state)
        if not len(self.bodies):
            end = replace(state, time=(state.step + 1) * self.h, step=state.step + 1)
            report = self._nothing(end)
            return Stretch((end,), (report.row,), report, changes=rows)
        made = self.stepper.stretch(state.of(self.bodies), most)
        if len(self.bodies) < self.world.count:
            made = self._in_all_numbers(made)
        if any(sink.impulse is not None for sink, _ in self.sinks):
            self.struck = _largest_impulses(made.report, self.world.count)
        states = tuple(state.with_part(self.bodies, part) for part in made.states)
        return made._replace(states=states, changes=rows)

    def use(self, state: State) -> None:
        """Makes the stepper of the bodies that are present, unless it is there."""
        bodies = np.flatnonzero(state.present)
        if np.array_equal(bodies, self.bodies):
            return
        old, before, self.bodies = self.stepper, self.bodies, bodies
        if not len(bodies):  # no stepper has steps without bodies
            old.warm_start = None if old.warm_start is None else NO_WARM_START
            return
        whole = len(bodies) == self.world.count
        self.stepper = self._make(self.world if whole else self.world.of(bodies, state))
        self.stepper.explained = old.explained
        if old.warm_start is not None:
            walls = len(self.world.boundaries.kind)
            self.stepper.warm_start = _renumbered(old.warm_start, before, bodies, walls)

    def _nothing(self, state: State) -> StepReport:
        """The report of a step without bodies."""
        report = StepReport(self.world.dimension, 0.0, Clock(self.world), [])
        report.finish(self.world.of(self.bodies, state), state)
        return report

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays besides the state on which the next step depends."""
        own = {"pending_changes": self.pending} if len(self.pending) else {}
        struck = {"struck": self.struck} if self.struck.any() else {}
        return self.stepper.memory() | own | struck

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the arrays of a checkpoint; `use` comes before."""
        self.stepper.remember(memory)
        for name, like in (("pending_changes", self.pending), ("struck", self.struck)):
            given = memory.get(name, like)
            shape = (len(given), *like.shape[1:]) if name == "pending_changes" else like.shape
            if given.shape != shape or given.dtype != np.float64 or not np.isfinite(given).all():
                raise ProblemError(f"checkpoint.{name}", f"{given.dtype} of shape {given.shape}", f"numbers of {shape}")
        self.pending = memory.get("pending_changes", self.pending).copy()
        self.struck = memory.get("struck", self.struck).copy()

    # ---- changes

    def change(self, state: State, wanted: Change) -> State:
        """The state after a change that the program wants; its events belong to the next step."""
        if not isinstance(wanted, Change):
            raise ProblemError("change", type(wanted).__name__, "a carom.Change")
        gone, new = self._numbers("remove", wanted.remove, state, True), self._numbers("add", wanted.add, state, False)
        removed, rows = self._without(state, gone)
        arrays = self._placed(removed, new, wanted)
        if len(new) and not self._clear(removed, new, *arrays[:2]).all():
            text = "bodies that appear where they overlap nothing"
            raise ProblemError("add", np.asarray(wanted.add).tolist(), text)
        state, more = self._with(removed, new, *arrays)
        self.pending = np.concatenate([self.pending, rows, more])
        self.use(state)  # a checkpoint holds the memory of the stepper of this state
        return state

    def _numbers(self, name: str, given: Any, state: State, present: bool) -> Ints:
        """Numbers of free bodies without joints that are present, or of such that are absent."""
        bodies = np.atleast_1d(np.asarray(given))
        whole = bodies.dtype.kind in "iu" or not bodies.size
        what = "present" if present else "absent"
        wanted = f"numbers of free bodies without joints that are {what}, each once"
        if not whole or bodies.ndim != 1 or len(np.unique(bodies)) < len(bodies):
            raise ProblemError(name, given, wanted)
        bodies = bodies.astype(np.int64)
        bad = (bodies < 0) | (bodies >= self.world.count)
        if not bad.any():
            bad = ~self.mobile[bodies] | (state.present[bodies] != present)
        if bad.any():
            raise ProblemError(name, int(bodies[np.argmax(bad)]), wanted)
        return bodies

    def _placed(self, state: State, bodies: Ints, wanted: Change) -> tuple[Floats, Floats, Floats]:
        """Positions, orientations and velocities of bodies that appear: given, or as declared."""
        world, dim = self.world, self.world.dimension
        position, turn = (
            world.home[bodies, :dim].copy(),
            world.home[bodies, dim:].reshape(-1, *state.orientation.shape[1:]),
        )
        velocity = self._launch(bodies)
        for name, target in (("position", position), ("orientation", turn), ("velocity", velocity)):
            given = getattr(wanted, name)
            if given is None:
                continue
            try:
                numbers = np.asarray(given, np.float64)
                target = target[:, :dim] if name == "velocity" and numbers.shape[-1:] == (dim,) else target
                target[...] = numbers
            except (TypeError, ValueError):
                raise ProblemError(name, given, f"numbers of shape {target.shape}") from None
            if not np.isfinite(target).all():
                raise ProblemError(name, given, "finite numbers")
        return position, turn, velocity

    def _launch(self, bodies: Ints) -> Floats:
        """The declared velocities of bodies."""
        launch = self.world.launch
        return np.zeros((len(bodies), self.world.block)) if launch is None else launch[bodies].copy()

    def _without(self, state: State, bodies: Ints) -> tuple[State, Floats]:
        """The state without some bodies, and the rows of these events."""
        if not len(bodies):
            return state, NO_ROWS
        rows = change_rows(self.world, state, bodies, REMOVAL)
        life, velocity = np.array(state.life), state.velocity.copy()
        life[bodies], velocity[bodies] = -life[bodies], 0.0
        self._explain(rows)
        return replace(state, velocity=velocity, life=life), rows

    def _with(
        self, state: State, bodies: Ints, position: Floats, orientation: Floats, velocity: Floats
    ) -> tuple[State, Floats]:
        """The state with more bodies, and the rows of these events."""
        if not len(bodies):
            return state, NO_ROWS
        part = State(state.time, state.step, position, orientation, velocity)
        life = np.array(state.life)
        life[bodies] = 1 - life[bodies]
        state = replace(state.with_part(bodies, part), life=life)
        rows = change_rows(self.world, state, bodies, APPEARANCE)
        self._explain(rows)
        return state, rows

    def _explain(self, rows: Floats) -> None:
        """Adds the energy of changes to what explains the energy of a run (`Stepper.watch`)."""
        if self.stepper.explained is not None:
            first, scale = self.stepper.explained
            self.stepper.explained = first - float(rows[:, ENERGY].sum()), scale + float(np.abs(rows[:, ENERGY]).sum())

    # ---- sources and sinks

    def _changed(self, state: State) -> tuple[State, Floats]:
        """The state after sinks and sources, and the rows of their events."""
        rows: list[Floats] = []
        for sink, members in self.sinks:
            if sink.acts(state.time):
                state, made = self._without(state, self._in_sink(sink, members, state))
                rows.append(made)
        for number, (source, pool) in enumerate(self.sources):
            if source.acts(state.time):
                state, emitted = self._emitted(number, source, pool, state)
                rows += emitted
        return state, np.concatenate([NO_ROWS, *rows])

    def _in_sink(self, sink: Sink, members: NDArray[np.bool_], state: State) -> Ints:
        """The bodies that a sink removes."""
        inside = np.ones(self.world.count, np.bool_)
        if sink.lower is not None:
            inside &= (state.position >= sink.lower).all(axis=1)
        if sink.upper is not None:
            inside &= (state.position <= sink.upper).all(axis=1)
        chosen = members & state.present & (inside != sink.outside)
        if sink.impulse is not None:
            chosen &= (self.struck >= sink.impulse) & (self.struck > 0.0)
        return np.flatnonzero(chosen)

    def _emitted(self, number: int, source: Source, pool: Ints, state: State) -> tuple[State, list[Floats]]:
        """The state after what a source makes appear; bodies without room wait."""
        assert state.life is not None
        life, rows = state.life[pool], list[Floats]()
        made = int((np.abs(life) - self.first[pool]).sum())
        absent = pool[life <= 0]
        owed = int(min(source.due(state.time) - made, len(absent), MOST_APPEARANCES))
        if owed <= 0:
            return state, rows
        fewest = np.argsort(np.abs(state.life[absent]), kind="stable")  # bodies that were there least often come first
        waiting = absent[fewest][:owed]
        chance = np.random.default_rng([source.seed, number, state.step])
        for _ in range(TRIES):
            arrays = self._drawn(source, waiting, state, chance)
            clear = self._clear(state, waiting, *arrays[:2])
            state, new = self._with(state, waiting[clear], *(a[clear] for a in arrays))
            rows.append(new)
            waiting = waiting[~clear]
            if not len(waiting):
                break
        return state, rows

    def _drawn(
        self, source: Source, bodies: Ints, state: State, chance: np.random.Generator
    ) -> tuple[Floats, Floats, Floats]:
        """Random places, orientations and velocities of bodies of a source."""
        dim, (lower, upper) = self.world.dimension, np.array([source.lower, source.upper], np.float64)
        position = lower + (upper - lower) * chance.random((len(bodies), dim))
        turn = self.world.home[bodies, dim:].reshape(-1, *state.orientation.shape[1:]).copy()
        if source.turned:
            turn = 2.0 * np.pi * chance.random(len(bodies)) if dim == 2 else random_orientations(len(bodies), chance)
        velocity = self._launch(bodies)
        if source.velocity is not None:
            velocity[:, :dim] = source.velocity
        return position, turn, velocity

    def check_sources(self, state: State) -> None:
        """Refuses a source without room between boundaries and bodies that are not free."""
        fixed = replace(state, life=np.where(self.world.free, 0, 1).astype(np.int32))
        for number, (source, pool) in enumerate(self.sources):
            chance, body = np.random.default_rng([source.seed, number]), pool[:1]
            drawn = (self._drawn(source, body, state, chance)[:2] for _ in range(START_TRIES))
            if not any(self._clear(fixed, body, *arrays).all() for arrays in drawn):
                box = f"the box from {source.lower} to {source.upper}, inside a wall"
                wanted = (
                    f"a box with room for bodies of the group {source.bodies!r} between boundaries and fixed bodies"
                )
                raise ProblemError(f"sources[{number}]", box, wanted)

    # ---- room

    def _clear(self, state: State, bodies: Ints, position: Floats, orientation: Floats) -> NDArray[np.bool_]:
        """Which of the bodies overlap nothing if they appear at these places, one after the other."""
        clear = self._clear_of_balls(state, bodies, position)
        if not clear.any():
            return clear
        chosen, none = bodies[clear], np.zeros((int(clear.sum()), self.world.block))
        whole = state.with_part(chosen, State(state.time, state.step, position[clear], orientation[clear], none))
        life = np.zeros(self.world.count, np.int32)
        life[self._near(state, chosen, position[clear])] = life[chosen] = 1
        whole = replace(whole, life=life)
        found = find_contacts(self.world, whole, whole, 0.0)
        order = np.full(self.world.count, -1)  # bodies that are present come before all that appear
        order[chosen] = np.arange(len(chosen))
        first, second = (numbers[found.gap < 0.0] for numbers in (found.first, found.second))
        other = np.where(second >= 0, order[second], -1)
        refused = np.maximum(order[first], other)
        keep = np.ones(len(chosen), np.bool_)
        keep[refused[refused >= 0]] = False
        clear[clear] = keep
        return clear

    def _clear_of_balls(self, state: State, bodies: Ints, position: Floats) -> NDArray[np.bool_]:
        """Whether balls overlap no ball that is present: a test without a search, for sources without room."""
        world, clear = self.world, np.ones(len(bodies), np.bool_)
        balls = self._near(state, bodies, position)
        balls = balls[world.shapes.round[balls]]
        if world.periodic is not None or not len(balls):
            return clear
        for k in np.flatnonzero(world.shapes.round[bodies]):
            apart = ((state.position[balls] - position[k]) ** 2).sum(axis=1)
            clear[k] = (apart >= (world.shapes.radius[balls] + world.shapes.radius[bodies[k]]) ** 2).all()
        return clear

    def _near(self, state: State, bodies: Ints, position: Floats) -> Ints:
        """Bodies that are present within reach of places of others; in periodic worlds all."""
        present = np.flatnonzero(state.present)
        if self.world.periodic is not None:
            return present
        reach = self.world.shapes.radius[present][:, None] + float(self.world.shapes.radius[bodies].max())
        place = state.position[present]
        near = (place >= position.min(axis=0) - reach) & (place <= position.max(axis=0) + reach)
        return present[near.all(axis=1)]

    # ---- numbers of all bodies

    def _in_all_numbers(self, made: Stretch) -> Stretch:
        """Report and rest of steps in the numbers of all bodies."""
        report, resting = made.report, made.resting
        tables = {id(stage.found): stage.found for stage in report.stages}  # stages share tables
        named = {key: found.renumbered(self.bodies) for key, found in tables.items()}
        report.stages = [stage._replace(found=named[id(stage.found)], keys=None) for stage in report.stages]
        report.corrections = [(time, self._spread(change)) for time, change in report.corrections]
        if resting is not None:
            slowed = resting.slowed.copy()
            slowed[:, 1] = self.bodies[slowed[:, 1].astype(np.int64)]
            resting = RestLog(ContactSet(resting.rest, self.world.dimension).renumbered(self.bodies).table, slowed)
        return made._replace(report=report, resting=resting)

    def _spread(self, change: Floats) -> Floats:
        out = np.zeros((self.world.count, change.shape[1]))
        out[self.bodies] = change
        return out


def _renumbered(warm: WarmStart, before: Ints, after: Ints, walls: int) -> WarmStart:
    """The warm start of the contacts whose bodies are still present, in their new numbers."""
    if not len(warm.key):
        return warm
    pair, feature = warm.key >> FEATURE_BITS, warm.key & ((1 << FEATURE_BITS) - 1)
    old, new = len(before) + walls, len(after) + walls
    number = np.full(max(int(before.max(initial=-1)), int(after.max(initial=-1))) + 1, -1)
    number[after] = np.arange(len(after))
    first, second = number[before[pair // old]], pair % old - walls
    second = np.where(second >= 0, number[before[np.maximum(second, 0)]], second)
    kept = (first >= 0) & ((second >= 0) | (pair % old < walls))
    key = ((first * new + second + walls) << FEATURE_BITS) ^ feature
    return WarmStart(key[kept], warm.impulse[kept])


def _largest_impulses(report: Any, count: int) -> Floats:
    """The largest impulse of an impact of each body in a step."""
    out = np.zeros(count)
    for stage in report.stages if isinstance(report, StepReport) else ():
        if stage.duration is None:
            size, found = np.linalg.norm(stage.all_rows(), axis=1), stage.contacts
            np.maximum.at(out, found.first, size)
            np.maximum.at(out, np.maximum(found.second, 0), np.where(found.second >= 0, size, 0.0))
    return out
