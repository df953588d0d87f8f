"""The instants of a film, and the state of a run at any instant."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from ..contact.boundaries import boundaries_at
from ..errors import ProblemError
from ..geometry import rotations
from ..solvers.rows import Ints
from ..trajectory import Trajectory
from ..world import State
from .colors import Floats

VISIBLE = 2e-3  # motion relative to the size of a body below which a film shows it at rest
KEPT = 1 << 27  # bytes of frames that are kept in memory
SLACK = 1e-9  # relative to the length of the run: times may lie this far outside it by rounding


@dataclass(frozen=True)
class Moment:
    """A state at some instant, and the index of the recorded frame nearest to it."""

    state: State
    frame: int


@dataclass(frozen=True, eq=False)
class Traced:
    """Points fixed to bodies: `body` (m,), and `offset` (m, D) from the center at the start, along the world's axes."""

    body: Ints
    offset: Floats

    def places(self, state: State, start: State) -> Floats:
        """(m, D) where the points are in a state."""
        center = state.position[self.body]
        if not self.offset.any():
            return center
        if state.orientation.ndim == 1:
            angle = (state.orientation - start.orientation)[self.body]
            (x, y), cos, sin = self.offset.T, np.cos(angle), np.sin(angle)
            return np.asarray(center + np.stack([cos * x - sin * y, sin * x + cos * y], axis=1))
        now, then = (rotations.matrices(np.ascontiguousarray(s.orientation[self.body])) for s in (state, start))
        return np.asarray(center + np.einsum("mij,mkj,mk->mi", now, then, self.offset))


class Timeline:
    """The states of a run at any time. Positions and orientations are interpolated between frames.

    Velocities, colors and impulses are those of the nearest frame. A body that crosses a periodic side between two
    frames is not interpolated: it has the position of the nearest frame.
    """

    def __init__(self, run: Trajectory) -> None:
        self.run = run
        self.times = run.time
        if not len(self.times):
            raise ProblemError("trajectory", str(run.path), "a run with frames", f"{run.path}: there is no frame in it")
        self._kept: OrderedDict[int, State] = OrderedDict()
        self._most = max(4, KEPT // (8 * 8 * max(run.count, 1)))
        self._periods = _periods(run)

    @property
    def start(self) -> float:
        return float(self.times[0])

    @property
    def stop(self) -> float:
        return float(self.times[-1])

    def check(self, name: str, time: float) -> float:
        """The time, if it lies within the run; raises ProblemError otherwise."""
        slack = SLACK * max(abs(self.start), abs(self.stop), 1e-300)
        if not self.start - slack <= time <= self.stop + slack:
            end = "" if self.run.finished else " (the run was stopped there)"
            raise ProblemError(name, time, f"a time from {self.start:g} to {self.stop:g}{end}")
        return min(max(float(time), self.start), self.stop)

    def nearest(self, time: float) -> int:
        """The index of the recorded frame nearest to a time."""
        k = int(np.clip(np.searchsorted(self.times, time), 1, len(self.times) - 1)) if len(self.times) > 1 else 0
        return k - 1 if k and time - self.times[k - 1] <= self.times[k] - time else k

    def frame(self, index: int) -> State:
        """A recorded state, kept in memory for the next call."""
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        self._kept[index] = self.run.frame(index)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[index]

    def at(self, time: float) -> Moment:
        """The state at a time, interpolated."""
        near = self.nearest(time)
        k = int(np.searchsorted(self.times, time, side="right")) - 1
        if k < 0 or k + 1 >= len(self.times):
            return Moment(self.frame(near), near)
        a, b = self.frame(k), self.frame(k + 1)
        share = (time - a.time) / (b.time - a.time) if b.time > a.time else 0.0
        close = self.frame(near)
        jumped = self._jumped(a.position, b.position) | _another_life(a, b)
        position = np.where(jumped[:, None], close.position, (1.0 - share) * a.position + share * b.position)
        orientation = _between(a.orientation, b.orientation, share)
        return Moment(State(time, close.step, position, orientation, close.velocity, close.life), near)

    def last_motion(self) -> float:
        """The time after which nothing visible moves: neither bodies nor scripted boundaries."""
        world, last = self.run.world, self.frame(len(self.times) - 1)
        end = boundaries_at(world, last.time, 1e-6)[0]
        reach = world.shapes.radius
        for k in range(len(self.times) - 2, -1, -1):
            state = self.frame(k)
            moved = np.linalg.norm(state.position - last.position, axis=1) + reach * _turned(
                state.orientation, last.orientation
            )
            walls = boundaries_at(world, state.time, 1e-6)[0]
            still = np.array_equal(walls.point, end.point) and np.array_equal(walls.axis, end.axis)
            if not still or (moved > VISIBLE * reach).any() or _another_life(state, last).any():
                return float(self.times[k + 1])
        return self.start

    def _jumped(self, before: Floats, after: Floats) -> np.ndarray:
        out = np.zeros(len(before), bool)
        for axis, length in self._periods:
            out |= np.abs(after[:, axis] - before[:, axis]) > 0.5 * length
        return out

    def tracks(self, start: float, stop: float, most: int, traced: Traced) -> tuple[Floats, Floats]:
        """Times (k,) and places (k, m, D) of traced points in at most about `most` frames, the last at `stop`.

        A jump across a periodic side, and absence, are marked by NaN.
        """
        first = self.frame(0)
        chosen = np.flatnonzero((self.times >= start) & (self.times < stop))
        chosen = chosen[:: max(1, -(-len(chosen) // most))]
        states = [*(self.frame(int(k)) for k in chosen), self.at(stop).state]
        out = np.stack([traced.places(state, first) for state in states])
        for k in range(1, len(out)):
            other = _another_life(states[k - 1], states[k])[traced.body]
            out[k - 1, self._jumped(out[k - 1], out[k]) | other] = np.nan
        for place, state in zip(out, states):
            place[~state.present[traced.body]] = np.nan
        return np.append(self.times[chosen], stop), out


def _another_life(a: State, b: State) -> np.ndarray:
    """Which bodies appear or vanish from one state to another."""
    return np.zeros(len(a.position), bool) if a.life is None or b.life is None else a.life != b.life


def _periods(run: Trajectory) -> list[tuple[int, float]]:
    periodic = run.world.periodic
    if periodic is None:
        return []
    sides = enumerate(periodic.sides[: run.dimension])
    return [(axis, side[1] - side[0]) for axis, side in sides if side is not None]


def _between(a: Floats, b: Floats, share: float) -> Floats:
    """Interpolated angles (n,), or unit quaternions (n, 4), of which q and -q are the same orientation."""
    if a.ndim == 1:
        return (1.0 - share) * a + share * b
    sign = np.where((a * b).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    mixed = (1.0 - share) * a + share * sign * b
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def _turned(a: Floats, b: Floats) -> Floats:
    """The angle between two orientations of each body, for small angles."""
    if a.ndim == 1:
        return np.abs(a - b)
    sign = np.where((a * b).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    return np.asarray(2.0 * np.linalg.norm(a - sign * b, axis=1))


def film_times(start: float, stop: float, fps: float, speed: float) -> Floats:
    """The instants of a film of `fps` pictures per second and `speed` units of time per second, up to `stop`."""
    count = int(np.floor((stop - start) / speed * fps + 1e-6)) + 1
    return np.asarray(start + np.arange(count) * (speed / fps), dtype=np.float64)
