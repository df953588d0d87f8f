"""Sensors: what acts on a boundary, what flows through a plane, and the stress of balls, measured step by step.

A sensor is fed after every step, with the state, the impulses of the step and its length:

    sensor.add(sim.state, sim.impulses, sim.time_step)

Its series has one value per step; `mean` and `error` are its mean and standard error. Steps before a steady state are
left out by feeding the sensor from then on.
"""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from ..stepping.report import ContactImpulses
from ..world import DISC, SPHERE, State, World

BLOCKS = 10  # into which a series is cut for its standard error: values of neighboring steps are correlated


def mean_and_error(series: Floats) -> tuple[Floats, Floats]:
    """Mean over the steps (k, ...) and its standard error, from the means of BLOCKS blocks (of steps, if fewer)."""
    blocks = np.array([block.mean(axis=0) for block in np.array_split(series, min(BLOCKS, len(series)))])
    spread = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)) if len(blocks) > 1 else np.full(blocks.shape[1:], np.inf)
    return series.mean(axis=0), spread


class Sensor:
    """Base of the sensors: a value per step. A subclass defines `value`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.times: list[float] = []
        self.values: list[Floats] = []

    def value(self, state: State, impulses: ContactImpulses, step: float) -> Floats:
        """The value of a step that has ended in `state`."""
        raise NotImplementedError(f"{type(self).__name__} must define value(state, impulses, step)")

    def add(self, state: State, impulses: ContactImpulses, step: float) -> None:
        """Measures a step that has ended in `state`."""
        self.times.append(state.time)
        self.values.append(np.asarray(self.value(state, impulses, step), dtype=np.float64))

    @property
    def series(self) -> Floats:
        """One value per step, (k, ...)."""
        if not self.values:
            raise ProblemError(type(self).__name__, "no steps", "at least one step: call add after every step")
        return np.array(self.values)

    @property
    def mean(self) -> Floats:
        """Mean over all steps."""
        return mean_and_error(self.series)[0]

    @property
    def error(self) -> Floats:
        """Standard error of the mean."""
        return mean_and_error(self.series)[1]


class BoundaryForce(Sensor):
    """Mean force (D,) on a boundary in each step: the impulses of the bodies on it, over the step."""

    def __init__(self, world: World, boundary: int) -> None:
        super().__init__(world)
        count = len(world.boundaries.kind)
        if not 0 <= boundary < count:
            raise ProblemError("boundary", boundary, f"the number of a boundary of the world, less than {count}")
        self.boundary = boundary

    def value(self, state: State, impulses: ContactImpulses, step: float) -> Floats:
        mine = impulses.second == -1 - self.boundary
        return np.asarray(_vectors(impulses)[mine].sum(axis=0) / step)


class Flow(Sensor):
    """Bodies and mass per unit of time (2,) that pass through a plane along its normal, minus those that return."""

    def __init__(self, world: World, point: Floats, normal: Floats, start: State) -> None:
        super().__init__(world)
        self.point, self.normal = np.asarray(point, np.float64), np.asarray(normal, np.float64)
        if self.point.shape != (world.dimension,) or self.normal.shape != (world.dimension,) or not self.normal.any():
            raise ProblemError("normal", normal, f"a point and a normal of {world.dimension} numbers, not all zero")
        self.beyond, self.life = self._beyond(start), start.life

    def value(self, state: State, impulses: ContactImpulses, step: float) -> Floats:
        before, self.beyond = self.beyond, self._beyond(state)
        passed = self.beyond.astype(np.int64) - before
        if state.life is not None and self.life is not None:
            passed[state.life != self.life] = 0  # bodies that have appeared or vanished did not pass
        self.life = state.life
        return np.array([passed.sum(), passed @ self.world.mass]) / step

    def _beyond(self, state: State) -> np.ndarray:
        return np.asarray((state.position - self.point) @ self.normal > 0.0)


class Stress(Sensor):
    """Stress tensor (D, D) of balls in a volume, positive for pressure: `(sum m v v + sum r p / h) / V`.

    The first sum is over the balls, relative to their mean velocity, the second over the impulses p of the step, with r
    the vector between the centers of the two balls. Contacts with boundaries do not count: V is the whole of a
    periodic box, or a bulk whose walls are far.
    """

    def __init__(self, world: World, volume: float) -> None:
        super().__init__(world)
        if not volume > 0.0:
            raise ProblemError("volume", volume, "a number above 0")
        if not (world.shapes.kind == (DISC if world.dimension == 2 else SPHERE)).all():
            raise ProblemError("world", "bodies that are not round", "discs or spheres")
        self.volume, self.radius = volume, np.asarray(world.shapes.radius)

    def value(self, state: State, impulses: ContactImpulses, step: float) -> Floats:
        mass, v = self.world.mass * state.present, state.velocity[:, : self.world.dimension]
        v = v - mass @ v / mass.sum()
        pair = impulses.second >= 0
        first, second = impulses.first[pair], impulses.second[pair]
        branch = (self.radius[first] + self.radius[second])[:, None] * impulses.normal[pair]
        contact = branch.T @ _vectors(impulses)[pair] / step
        return np.asarray(((mass[:, None] * v).T @ v + contact) / self.volume)

    @property
    def pressure(self) -> tuple[float, float]:
        """Mean of the normal stresses, and its standard error."""
        trace = np.trace(self.series, axis1=1, axis2=2) / self.world.dimension
        mean, error = mean_and_error(trace)
        return float(mean), float(error)


def _vectors(impulses: ContactImpulses) -> Floats:
    """Impulses (m, D) on the second bodies, friction included."""
    n, t = impulses.normal, impulses.tangent_impulse
    along = t[:, None] * np.stack([-n[:, 1], n[:, 0]], axis=1) if n.shape[1] == 2 else t
    return np.asarray(impulses.normal_impulse[:, None] * n + along)
