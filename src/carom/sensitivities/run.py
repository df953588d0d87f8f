"""Derivatives of a whole run with respect to the numbers of its scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import scalar
from ..errors import ProblemError
from ..kernels import prepare
from ..laws import Law, make
from ..scene.file import load_scene
from ..scene.model import Scene
from ..settings import step_count
from ..shown import counted
from ..solvers.rows import Floats
from ..stepwise import Simulation
from ..trajectory.reader import Trajectory
from ..world import State
from .contact_map import BODY, V
from .follow import FOLLOWED, Follower, Passed, Placing, passed
from .held_steps import SAME_END, Motion
from .model import PLACED, Model, model_of, placing
from .parameters import Parameters, names_of
from .stages import reported
from .tape import Event, Tape, fly_all, fly_back, play, play_back, taped

SEGMENT_NUMBERS = 150_000  # numbers after which a tape ends and a checkpoint is made: 512 impacts of two discs
FIRST_GUESS = 300  # numbers that a body adds to a tape in a step in which it is held
MOST_STEPS = 64  # quiet steps that are made and followed together
KEPT_SEGMENTS = 64  # tapes that are kept, 80 MB; those of longer runs are made again from their checkpoints
BIAS = (
    "the derivative of fixed steps as they are made: an impact takes place at the start of its step, whenever the gap "
    "closes, so the derivative lacks the change of its time, and does not converge to that of the motion"
)


@dataclass(eq=False)
class Segment:
    """Some steps of a run: where they begin, and if they are kept their tape and the bodies after each event."""

    state: State
    memory: dict[str, np.ndarray]
    actors: Floats
    since: Floats
    steps: int
    placed: tuple[Floats, np.ndarray, int]
    tape: Tape | None
    path: list[Passed | Motion]


@dataclass(frozen=True, eq=False)
class Frames:
    """Values and derivatives at some times.

    `position` (times, n, D), `rotation` (times, n) or in 3D (times, n, 3), `velocity` (times, n, D) and `spin` are
    values. `by[name]` has their derivatives by parameter, each with the shape of the value followed by that of the
    parameter. In 3D rotations are vectors in the frame of the world, of which only the derivatives have a meaning, and
    spins are in the frame of the world. Bodies that follow a motion move straight within a step, as in the run.
    """

    time: Floats
    position: Floats
    velocity: Floats
    spin: Floats
    by: Mapping[str, Frames]
    rotation: Floats

    def __getitem__(self, name: str) -> Frames:
        if name not in self.by:
            raise ProblemError.unknown("parameter", name, self.by)
        return self.by[name]


class Sensitivity:
    """A run and its derivatives: see `carom.sensitivity`."""

    def __init__(
        self, sim: Simulation, parameters: Parameters, steps: int, tell: Callable[[float], None] | None = None
    ) -> None:
        if sim.stepper not in FOLLOWED:
            raise ProblemError("stepper", sim.stepper, f"a stepper with derivatives: {', '.join(FOLLOWED)}")
        self.sim, self.parameters = sim, parameters
        self.model: Model = model_of(sim.world, sim.state)
        self.follower = Follower(sim, self.model)
        self.warnings: tuple[str, ...] = (BIAS,) if sim.stepper == "synchronous" else ()
        self.segments: list[Segment] = []
        self._per_step = 1.0 + FIRST_GUESS * np.count_nonzero(self.model.free)  # numbers of a tape
        start = sim.state
        while sim.state.step < steps:
            self.segments.append(self._segment(steps, SEGMENT_NUMBERS))
            if len(self.segments) > KEPT_SEGMENTS:
                old = self.segments[-KEPT_SEGMENTS - 1]
                old.tape, old.path = None, []
            if tell is not None:
                tell(sim.state.step / steps)
        self.start, self.state = start, sim.state
        self.impacts, self.placings = self.follower.impacts, self.follower.placings
        self.kinks = tuple(self.follower.kinks)
        self.last = self.follower.cast.since.copy()  # times of the last impacts

    def __repr__(self) -> str:
        what = f"{counted(self.impacts, 'impact')} until t = {self.state.time:g}, stepper {self.sim.stepper}"
        return f"<Sensitivity of {self.sim.scene.name}: {what}{'' if self.smooth else ', at a kink'}>"

    @property
    def smooth(self) -> bool:
        """Whether the run has a derivative with respect to all numbers: no two contacts touch at the same time."""
        return not self.kinks

    @property
    def path(self) -> list[Passed]:
        """Time, body and its numbers (12,) after each event of the run."""
        return [one for k in range(len(self.segments)) for one in passed(self._made(k).path)]

    @property
    def _slack(self) -> float:
        """By how much an event may be later than a frame that has the state after it: ends of steps are rounded."""
        return SAME_END * self.sim.time_step

    # ---- the run, segment by segment

    def _segment(self, steps: int, room: float) -> Segment:
        """Makes the next steps, and their tape, until it has `room` numbers."""
        sim, follower = self.sim, self.follower
        begin, memory, count = sim.state, sim.engine.memory(), len(follower.placings)
        before = (begin, memory, follower.cast.actors.copy(), follower.cast.since.copy())
        placed = (follower.placed.copy(), follower.slot.copy(), count)
        events: list[Event | Tape] = []
        numbers, follower.path = 0, []
        while sim.state.step < steps and numbers < room:
            start = sim.state
            made = sim.engine.stretch(start, self._most(steps, room - numbers))
            end, report = made.states[-1], made.report
            sim._state, sim._report = end, report
            new: list[Event | Tape] = []
            if len(made.states) > 1:
                new = follower.followed_quiet(start.time, made)
            elif getattr(report, "stages", None) or getattr(report, "resting", 0):
                new = follower.followed(reported(report, start.time, end.time, self.model.bodies))
                new += follower.compare(end)
            added = sum(event.slopes.size for event in new)
            self._per_step = max(1.0, added / len(made.states))
            numbers, events = numbers + added, events + new
        tape = taped(events, self.model.gravity_start)
        return Segment(*before, sim.state.step - begin.step, placed, tape, follower.path)

    def _most(self, steps: int, room: float) -> int:
        """How many quiet steps may come next: those of the first two are followed one by one (`_note_start`)."""
        at_start = self.sim.state.time <= self.follower.begun + 1.5 * self.sim.time_step
        return 1 if at_start else int(max(1.0, min(MOST_STEPS, steps - self.sim.state.step, room / self._per_step)))

    def _made(self, k: int) -> Segment:
        """A segment with its tape, made again from its checkpoint if that was not kept."""
        segment = self.segments[k]
        if segment.tape is not None:
            return segment
        sim, follower = self.sim, self.follower
        sim._state = segment.state
        sim.engine.remember(segment.memory)
        follower.cast.actors[:], follower.cast.since[:] = segment.actors, segment.since
        follower.placed, follower.slot = segment.placed[0].copy(), segment.placed[1].copy()
        kept = follower.placings, follower.impacts, follower.kinks
        follower.placings, follower.kinks = kept[0][: segment.placed[2]], []
        made = self._segment(segment.state.step + segment.steps, np.inf)
        follower.placings, follower.impacts, follower.kinks = kept
        sim._state = self.state
        return made

    # ---- derivatives

    def derivative(self, wrt: str | Iterable[str], times: Any = None) -> Frames:
        """State and derivatives at the end of the run, or at each of some times, in forward mode."""
        names, at = names_of(wrt), self._times(times)
        placings = self.placings + self._driven(at)
        slopes = [self.parameters.slopes(name, self.model, placings) for name in names]
        shapes = [self.parameters.value(name).shape for name in names]
        values, tangents = self._forward(np.concatenate(slopes, axis=1), at)
        by, first = {}, 0
        for name, slope, shape in zip(names, slopes, shapes):
            count = slope.shape[1]
            part = tangents[..., first : first + count]
            by[name] = _frames(at, part.reshape(*part.shape[:-1], *shape), {}, self.model.dimension)
            first += count
        return _frames(at, values, by, self.model.dimension)

    def jvp(self, changes: Mapping[str, Any]) -> Frames:
        """Changes of the final state for changes of parameters, to first order."""
        at = self._times(None)
        placings = self.placings + self._driven(at)
        total = np.zeros((self.model.size + PLACED * len(placings), 1))
        for name, change in changes.items():
            value = self.parameters.value(name)
            given = np.asarray(change, dtype=np.float64)
            if given.shape != value.shape:
                raise ProblemError(name, f"a change of shape {given.shape}", f"shape {value.shape}")
            total[:, 0] += self.parameters.slopes(name, self.model, placings) @ given.ravel()
        return _frames(at, self._forward(total, at)[1][..., 0], {}, self.model.dimension)

    def vjp(self, wrt: str | Iterable[str], position: Any = None, velocity: Any = None) -> dict[str, Floats]:
        """Derivatives of `sum position * x + sum velocity * v` of the final state, in reverse mode.

        `position` and `velocity` are weights (n, D) of positions and linear velocities; None for zero.
        """
        names, n, dim = names_of(wrt), self.model.bodies, self.model.dimension
        driven = self._driven(self._times(None))
        bar = np.zeros((self.model.size + PLACED * (len(self.placings) + len(driven)), 1))
        for field, given, at in (("position", position, 0), ("velocity", velocity, V)):
            if given is None:
                continue
            weights = np.asarray(given, dtype=np.float64)
            if weights.shape != (n, dim) or not np.isfinite(weights).all():
                raise ProblemError(field, f"weights of shape {weights.shape}", f"finite numbers of shape {(n, dim)}")
            for k in range(dim):
                bar[BODY * np.arange(n) + at + k, 0] = weights[:, k]
        self._backward(bar)
        placings = self.placings + driven
        return {name: self.parameters.adjoint(name, self.model, placings, bar[:, 0]) for name in names}

    def _driven(self, at: Floats) -> list[Placing]:
        """Placings of all bodies that follow a motion, at the starts of the steps of some times, body by body."""
        h, start = self.sim.time_step, self.start.time
        steps = np.clip(np.floor((at - start) / h + 1e-9), 0, max(self.state.step - self.start.step - 1, 0))
        follows = np.flatnonzero(self.model.follows[: self.model.bodies])
        return [Placing(int(body), float(start + k * h)) for body in follows for k in steps]

    def _times(self, times: Any) -> Floats:
        if times is None:
            return np.array([self.state.time])
        at = np.asarray(times, dtype=np.float64).ravel()
        last = self.state.time * (1.0 + 1e-12)
        if not len(at) or not np.isfinite(at).all() or at.min() < self.start.time or at.max() > last:
            raise ProblemError("times", times, f"times from {self.start.time:g} to {self.state.time:g}")
        return at

    def _forward(self, tangents: Floats, at: Floats) -> tuple[Floats, Floats]:
        """Values (times, n, 12) and their tangents (times, n, 12, directions)."""
        n, free, gravity = self.model.bodies, self.model.free, self.model.gravity_start
        tangents, since, falls = np.ascontiguousarray(tangents), np.zeros(self.model.actors), free.copy()
        out, order, done = np.zeros((len(at), n, 12, tangents.shape[1])), np.argsort(at, kind="stable"), 0
        values = np.empty((len(at), n, 12))
        for k in range(len(self.segments)):
            segment, event = self._made(k), 0
            end = self.segments[k + 1].state.time if k + 1 < len(self.segments) else np.inf
            tape, mine = segment.tape, order[done:][at[order[done:]] < end]
            assert tape is not None
            values[mine] = self._values(segment, at[mine])
            while done < len(at) and at[order[done]] < end:
                time = at[order[done]]
                stop = int(np.searchsorted(tape.time, time + self._slack, side="right"))
                play(tape, tangents, since, falls, event, stop)
                event, moved = stop, tangents.copy()
                fly_all(moved, free, since, falls, time, gravity)
                out[order[done]] = moved[: BODY * n].reshape(n, BODY, -1)[:, :12]
                done += 1
            play(tape, tangents, since, falls, event, len(tape.time))
        out[:, ~free[:n]] = 0.0
        first = self.model.size + PLACED * len(self.placings)
        for k, place in enumerate(self._driven(at)):
            pose = placing(self.sim.world, place.actor, place.time, self.sim.time_step)
            slope = tangents[first + PLACED * k : first + PLACED * (k + 1)]
            for numbers, given in ((values, pose), (out, slope)):
                numbers[k % len(at), place.actor] = given
                numbers[k % len(at), place.actor, :6] += (at[k % len(at)] - place.time) * given[6:]
        return values, out

    def _backward(self, bar: Floats) -> None:
        """Adjoints of the numbers at the start from those of the end, in place."""
        first = self.model.size + PLACED * len(self.placings)
        for k, place in enumerate(self._driven(self._times(None))):
            own, given = slice(BODY * place.actor, BODY * place.actor + PLACED), first + PLACED * k
            bar[given : given + PLACED] = bar[own]
            bar[given + 6 : given + PLACED] += (self.state.time - place.time) * bar[own][:6]
            bar[own] = 0.0
        for body in np.flatnonzero(self.model.free):
            fly_back(bar, body, self.state.time - self.last[body], True, self.model.gravity_start)
        for k in range(len(self.segments) - 1, -1, -1):
            play_back(self._made(k).tape, bar)

    def _values(self, segment: Segment, at: Floats) -> Floats:
        """Positions, rotations and velocities (times, n, 12) of all bodies at times of a segment."""
        n, model = self.model.bodies, self.model
        known = [[(float(segment.since[body]), segment.actors[body, :12], bool(model.free[body]))] for body in range(n)]
        for time, body, numbers, falls in passed(segment.path):  # events of one body are in the order of their times
            known[body].append((time, numbers, falls))
        gravity, out = model.numbers[model.gravity_start : model.record_start], np.empty((len(at), n, 12))
        for body in range(n):
            times, numbers, falling = (np.array(column) for column in zip(*known[body]))
            which = np.maximum(np.searchsorted(times, at + self._slack, side="right") - 1, 0)
            t = (at - times[which])[:, None]
            out[:, body] = numbers[which]
            out[:, body, :6] += t * out[:, body, V : V + 6]
            pull = falling[which][:, None] * gravity
            out[:, body, :3] += 0.5 * t * t * pull
            out[:, body, V : V + 3] += t * pull
        return out


def _frames(at: Floats, numbers: Floats, by: Mapping[str, Frames], dimension: int) -> Frames:
    """Numbers (times, n, 12, ...) by their meaning."""
    planar = dimension == 2
    turn = numbers[:, :, 5] if planar else numbers[:, :, 3:6]
    spin = numbers[:, :, 11] if planar else numbers[:, :, 9:12]
    return Frames(at, numbers[:, :, :dimension], numbers[:, :, V : V + dimension], spin, by, turn)


def sensitivity(
    scene: Scene | Trajectory | str | PathLike[str],
    law: str | Law | None = None,
    duration: float | None = None,
    *,
    step: float | None = None,
    stepper: str | None = None,
    restitution_model: str | None = None,
    friction_model: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Sensitivity:
    """Runs a scene, and returns the run with its derivatives with respect to the numbers of the scene.

    >>> run = carom.sensitivity("scene.toml", stepper="time_of_impact")
    >>> run.derivative(["materials.default.restitution", "bodies.0.velocity"])
    >>> run.vjp(["bodies.0.velocity"], position=weights)

    Arguments are those of `carom.simulate`; the stepper is `time_of_impact` unless another one is given, for which the
    derivatives are exact. A trajectory is run again with its own settings, where no others are given. Impacts are
    solved exactly. `progress` is called with the part of the run that is done.
    """
    models = {"restitution_model": restitution_model, "friction_model": friction_model}
    given: dict[str, Any] = {"step": step, "stepper": stepper, **models}
    if isinstance(scene, Trajectory):
        own, made, folder = scene.settings, scene.scene, None
        given = {name: getattr(own, name) if value is None else value for name, value in given.items()}
        law = make(own.law, **dict(own.law_options)) if law is None else law
        wanted = own.duration
    else:
        made, folder = _scene(scene), None if isinstance(scene, Scene) else Path(fspath(scene)).parent
        given["stepper"], wanted = stepper or "time_of_impact", made.duration
    prepare(["derivatives"])
    sim = Simulation(made, law, tolerance="exact", **given)
    length = scalar("duration", wanted if duration is None else duration, 0.0)
    steps = step_count("duration", length, sim.time_step)
    return Sensitivity(sim, Parameters(made, sim.time_step, folder), steps, progress)


def _scene(scene: Scene | str | PathLike[str]) -> Scene:
    return scene if isinstance(scene, Scene) else load_scene(Path(scene))
