"""The report of a step: counters, residual, times and impulses; its row in the table of steps; energies and momenta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..contact.contact_set import ContactSet
from ..errors import ProblemError
from ..geometry.rotations import matrix_value
from ..geometry.vectors import Vec3, to_world
from ..kernels import kernel, lean
from ..problem.assemble import friction_in_world
from ..problem.contacts import NOT_CONVERGED, RESOLVED, Impulses, worse
from ..solvers.rows import Floats, Ints
from ..world import State, World

PHASES = ("detect", "assemble", "impact", "rest", "move")  # phases of a step whose time is measured
STATUSES = ("resolved", "finished_inelastically", "infeasible", "not_converged")  # of an impact, with codes 0 to 3

# Work of a stage besides the iterations of the law, in multiplications, and that of a search for contacts in stages.
STAGE_WORK, STAGE_WORK_PER_BODY, SEARCH_STAGES = 800.0, 400.0, {2: 1.0, 3: 5.0}
MESH_SEARCH = 3.0  # factor of a search in worlds with meshes
SEARCH_AT_ENDS = 0.5  # work of a search for contacts at the end of a motion alone, relative to one that is swept
SOLVER_WORK = 0.05  # of a multiplication in loops of the contact solver: the others include what is around them

# Names of columns of the table of steps, and the shape of one friction impulse (a number or a vector), by dimension.
MOMENTUM = {2: ("momentum_x", "momentum_y"), 3: ("momentum_x", "momentum_y", "momentum_z")}
ANGULAR_MOMENTUM = {2: ("angular_momentum",), 3: tuple(f"angular_momentum_{axis}" for axis in "xyz")}

FRICTION_SHAPE: dict[int, tuple[int, ...]] = {2: (), 3: (3,)}


def step_table(dimension: int) -> np.dtype:
    """The type of a row in the table of steps. Energies and momenta are those at the end of the step."""
    return np.dtype(
        [
            ("step", np.int64),
            ("time", np.float64),
            ("contacts", np.int64),  # that the law treated
            ("resting", np.int64),  # that the resting solver treated
            ("iterations", np.int64),  # of the law
            ("residual", np.float64),  # largest of all stages, relative to the speed to which the tolerance is relative
            ("status", np.int8),  # index into STATUSES
            ("rounds", np.int32),  # applications of the law, or impacts of the time-of-impact step
            ("overlap", np.float64),  # deepest overlap of the contacts found at the start of the step; a length
            ("kinetic", np.float64),
            ("potential", np.float64),
            *((name, np.float64) for name in (*MOMENTUM[dimension], *ANGULAR_MOMENTUM[dimension])),
            *((f"seconds_{phase}", np.float64) for phase in PHASES),
            ("substeps", np.int32),  # into which the step was cut to keep bodies apart; 1 if it was not
        ]
    )


STEP = step_table(2)


@dataclass(frozen=True, eq=False)
class ContactImpulses:
    """m impulses of one step, each acting on `second` along its normal and with opposite sign on `first`.

    `second` is a body, or -1 - k for boundary k. Normals are unit vectors from first to second, in the world frame.
    """

    first: Ints  # (m,)
    second: Ints  # (m,)
    point: Floats  # (m, D)
    normal: Floats  # (m, D)
    normal_impulse: Floats  # (m,)
    tangent_impulse: Floats  # (m,) along the normal rotated by 90 degrees counterclockwise; in 3D a vector (m, 3)


class StageImpulses(NamedTuple):
    """Impulses of one stage of a step, for the contacts `chosen` of `found`, or for each contact of `found`."""

    found: ContactSet
    chosen: Ints | None  # (k,) contacts on which they act; None for all
    normal: Floats  # (k,), or (m,) for all contacts found
    tangent: Floats | None  # (k, t) or (m, t) along the tangents; None without friction
    time: float | Floats = 0.0  # when they act, or from when on contacts are held; one for all, or (k,)
    duration: float | Floats | None = None  # for which contacts are held; None for an impact
    speeds: Floats | None = None  # (3, k) normal speeds before and after an impact, and the energy lost
    status: int = 0  # of the law; index into STATUSES
    in_sequence: bool = False  # whether each contact is an impact by itself, one after the other
    keys: Ints | None = None  # (m,) of the contacts found (`resting.put_keys`), if they are known

    @property
    def contacts(self) -> ContactSet:
        """The contacts on which they act."""
        return self.found if self.chosen is None else self.found.take(self.chosen)

    def of_contacts(self, values: Floats) -> Floats:
        """Those of the `values` that belong to the contacts on which the impulses act."""
        return values if self.chosen is None or len(values) == len(self.chosen) else values[self.chosen]

    def all_rows(self) -> Floats:
        """(k, 3) impulses along the normal and two tangents; zero where there are none."""
        normal = self.of_contacts(self.normal)
        out = np.zeros((len(normal), 3))
        out[:, 0] = normal
        if self.tangent is not None:
            out[:, 1 : 1 + self.tangent.shape[1]] = self.of_contacts(self.tangent)
        return out


class WarmStart(NamedTuple):
    """Impulses of the resting contacts of the last step, from which the next resting solve starts (`resting.py`)."""

    key: Ints  # (k,) of the contacts
    impulse: Floats  # (k, q)


NO_WARM_START = WarmStart(np.empty(0, np.int64), np.empty((0, 1)))
LARGEST_WARM_START = 1e100  # impulse: the squares of larger ones, which no run has, are beyond the range of a float64


def check_warm_start(kept: WarmStart, world: World) -> None:
    """Raises ProblemError unless the arrays can be the warm start of a step of the world."""
    key, impulse = kept
    rolls = world.rolling_friction is not None or world.torsional_friction is not None
    needed = 1 if world.dimension == 2 else 8 if rolls else 4  # columns of 3D friction, as `resting.keep` writes them
    good = key.dtype == np.int64 and key.ndim == 1 and impulse.dtype == np.float64 and impulse.ndim == 2
    good = good and len(key) == len(impulse) and (impulse.shape[1] == 1 or impulse.shape[1] >= needed)
    if not (good and bool((np.abs(impulse) <= LARGEST_WARM_START).all())):
        found = f"{impulse.dtype} of shape {impulse.shape} for keys {key.dtype} of shape {key.shape}"
        raise ProblemError("checkpoint.rest_impulse", found, "finite impulses, one row for each contact at rest")


class Clock:
    """Seconds of a step by phase, and its work, which is counted and the same on every machine.

    All time since the last call of `lap` belongs to the phase that has just ended.
    """

    __slots__ = ("last", "search", "seconds", "stage", "work")

    def __init__(self, world: World) -> None:
        self.stage = STAGE_WORK + STAGE_WORK_PER_BODY * world.count
        self.search = SEARCH_STAGES[world.dimension] * self.stage
        if world.has_meshes:
            self.search *= MESH_SEARCH
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.last = perf_counter()
        self.work = 0.0  # in multiplications

    def lap(self, phase: str, searches: float = 1.0) -> None:
        """Ends a phase, in which so many searches for contacts were made."""
        now = perf_counter()
        self.seconds[phase] += now - self.last
        self.last = now
        self.work += searches * self.search if phase == "detect" else self.stage

    def count(self, multiplications: float) -> None:
        """Adds the work of the contact solver."""
        self.work += SOLVER_WORK * multiplications


class RestLog(NamedTuple):
    """The contacts at rest in several steps, and the bodies that removals of overlap have slowed.

    Steps are numbered from 0.
    """

    rest: Floats  # (k, WIDTH + 4) columns of the table of contacts, impulses along normal and tangents, the step
    slowed: Floats  # (q, 5) the step, the body, and the change of its momentum, a vector


class Stretch(NamedTuple):
    """One or more steps in a row: states, rows of the table of steps, and the report of the last step."""

    states: Sequence[State]
    rows: Sequence[tuple[Any, ...]]
    report: Any  # a StepReport, or that of another engine
    resting: RestLog | None = None  # contacts at rest in all steps, where the report has those of the last step only
    changes: Floats | None = None  # rows of events: bodies that appeared or vanished before the steps


@dataclass(slots=True, eq=False)
class StepReport:
    """What a step, or one of its sub-steps, has done. Its stages add to it; `combined` joins those of two sub-steps."""

    dimension: int
    scale: float  # speed to which tolerance and residual are relative; see `Response.tolerance`
    clock: Clock  # of the whole step, sub-steps that were repeated included
    stages: list[StageImpulses]  # in the order in which they were computed
    warm_start: WarmStart = NO_WARM_START  # of the next resting solve
    contacts: int = 0  # that the law treated
    resting: int = 0  # that the resting solver treated
    iterations: int = 0  # of the law
    residual: float = 0.0  # largest of all stages, relative to `scale`
    status: int = 0  # index into STATUSES
    rounds: int = 0  # applications of the law, or impacts of the time-of-impact step
    substeps: int = 1
    overlap: float = 0.0  # deepest one at the start; a length
    near: ContactSet | None = None  # contacts at the start, if the overlap of their shapes is to be measured
    part: float = 1.0  # length of a sub-step relative to the step
    # Of the sub-steps before this one:
    struck: bool = False  # whether the law was applied
    pushed: bool = False  # whether any impulse was computed
    relaxed: float = 0.0  # residual of a stage that is not held to the tolerance, relative to `scale`
    deepest: float = np.inf  # overlap at the end, as far as the stages know it; a length
    moved: float = np.inf  # largest displacement of any body, if `unseen` is known
    unseen: np.ndarray | None = None  # (n,) bodies that may overlap others more than `deepest`
    # Times at which removals of overlap have slowed bodies, and the changes (n, D) of their momenta.
    corrections: list[tuple[float, Floats]] = field(default_factory=list)
    row: tuple[Any, ...] = ()  # of the table of steps, once the step is finished

    def following(self, part: float) -> StepReport:
        """The report of the next sub-step, in which nothing has happened yet."""
        report = StepReport(self.dimension, self.scale, self.clock, [], self.warm_start, part=part)
        report.struck, report.pushed = self.struck or self.rounds > 0, self.pushed or bool(self.stages)
        return report

    # ---- stages

    def note_residual(self, speed: float) -> None:
        """Records the residual of a stage, an absolute speed."""
        if speed > 0.0:
            self.residual = max(self.residual, speed / self.scale if self.scale > 0.0 else np.inf)

    def note_impact(self, stage: StageImpulses, result: Impulses, fastest: float, tolerance: float) -> None:
        """Records the answer of the law; `fastest` is the speed to which its residual is relative."""
        residual, status = result.residual * fastest, result.status
        if status == NOT_CONVERGED and residual <= tolerance * self.scale:
            status = RESOLVED  # a later impact of the step, slower than the first, to which the tolerance is relative
        self.contacts += len(result.normal)
        self.iterations += result.iterations
        self.note_residual(residual)
        if status != RESOLVED:
            self.note_status(status)
        self.stages.append(stage)

    def note_status(self, status: str) -> None:
        """Records the status of a stage, of which the step reports the worst."""
        if status != RESOLVED:
            self.status = STATUSES.index(worse(STATUSES[self.status], status))

    def note_rest(
        self,
        found: ContactSet,
        chosen: Ints,
        impulse: Floats,
        residual: float,
        time: float,
        duration: float,
        keys: Ints | None = None,
    ) -> None:
        """Records the answer of a resting solve: impulses (m, r), the residual, a speed, and the time of holding."""
        if len(impulse) > len(chosen):
            impulse = impulse.take(chosen, axis=0)
        self.resting += len(chosen)
        self.note_residual(residual)
        tangent = impulse[:, 1 : self.dimension] if impulse.shape[1] > 1 else None
        self.stages.append(StageImpulses(found, chosen, impulse[:, 0], tangent, time, duration, keys=keys))

    def note_correction(self, world: World, before: State, after: State) -> None:
        """Records what a removal of overlap has taken from the momenta of bodies."""
        if after is not before:
            dim = self.dimension
            change = (after.velocity[:, :dim] - before.velocity[:, :dim]) * (world.mass * world.free)[:, None]
            if change.any():
                self.corrections.append((before.time, change))

    # ---- results

    def finish(self, world: World, state: State) -> None:
        """Sets `row` for a step that ends in `state`."""
        sums = totals(world, state)
        self.clock.lap("move")
        self.row = (
            state.step,
            state.time,
            self.contacts,
            self.resting,
            self.iterations,
            self.residual,
            self.status,
            self.rounds,
            self.overlap,
            *sums,
            *self.clock.seconds.values(),
            self.substeps,
        )

    def impulses(self) -> ContactImpulses:
        """All nonzero impulses of the step."""
        parts, dim = [], self.dimension
        for stage in self.stages or [StageImpulses(ContactSet.empty(dim), None, np.empty(0), None)]:
            found, push = stage.contacts, stage.of_contacts(stage.normal)
            tangent = np.zeros((found.count, dim - 1)) if stage.tangent is None else stage.of_contacts(stage.tangent)
            kept = (push != 0.0) | tangent.any(axis=1)
            normal = found.normal[kept]
            friction = friction_in_world(normal, tangent[kept])
            parts.append((found.first[kept], found.second[kept], found.point[kept], normal, push[kept], friction))
        return ContactImpulses(*(np.concatenate(columns) for columns in zip(*parts)))

    def treated_contacts(self) -> ContactSet:
        """The contacts that the law or the resting solver treated in the step, ordered by bodies and feature.

        A contact that was treated several times occurs once, with the geometry of the last time.
        """
        found = ContactSet.empty(self.dimension)
        for stage in self.stages:
            found = found.joined(stage.contacts)
        names = np.stack([found.first, found.second, found.feature_id])[:, ::-1]
        last = np.unique(names, axis=1, return_index=True)[1]
        return found.take(found.count - 1 - last)


def combined(first: StepReport, second: StepReport) -> StepReport:
    """The report of two sub-steps, of which `second` follows `first`: counts add up, errors are the worst of both."""
    if first.substeps == 0 and not first.stages:
        return second
    return StepReport(
        first.dimension,
        second.scale,
        first.clock,
        first.stages + second.stages,
        second.warm_start,
        first.contacts + second.contacts,
        first.resting + second.resting,
        first.iterations + second.iterations,
        max(first.residual, second.residual),
        STATUSES.index(worse(STATUSES[first.status], STATUSES[second.status])),
        first.rounds + second.rounds,
        first.substeps + second.substeps,
        max(first.overlap, second.overlap),
        relaxed=max(first.relaxed, second.relaxed),
        corrections=first.corrections + second.corrections,
    )


# ---- energies and momenta


def totals(world: World, state: State) -> Floats:
    """Kinetic energy, potential energy, momentum and angular momentum about the origin, summed over the free bodies.

    The shape is (5,) in 2D and (8,) in 3D. The zero of the potential energy of gravity is at the origin; the
    potential of a force is added where the scene has one.
    """
    if not world.count:  # all bodies are absent
        return np.zeros(5 if world.dimension == 2 else 8)
    inertia, position, velocity = world.masses.inertia, state.position, state.velocity
    masses = (world.mass, inertia, world.free, world.gravity)
    if world.dimension == 2:
        out = totals_2d(*masses, position, velocity)
    else:
        out = totals_3d(*masses, position, state.orientation, velocity)
    if world.potential is not None:
        energy = np.asarray(world.potential(state.time, state.position), dtype=np.float64)
        if energy.shape != world.mass.shape or not np.isfinite(energy).all():
            got = "numbers that are not finite" if energy.shape == world.mass.shape else f"shape {energy.shape}"
            raise ProblemError("potential", got, f"one finite energy for each of {world.count} bodies")
        out[1] += energy[world.free].sum()
    if world.joints is not None:
        from .jointed import spring_energy  # late: few worlds have joints

        out[1] += spring_energy(world, state)
    return out


@kernel
def totals_2d(mass, inertia, free, gravity, position, velocity):
    """The five sums of `totals` in 2D, for moments of inertia (n, 1).

    Blocks of 128 bodies are summed, then the blocks: the rounding of a plain sum over a million bodies would look like
    a drift of the energy.
    """
    n, d = velocity.shape
    total, block = np.zeros(5), np.zeros(5)
    for i in range(n):
        if free[i]:
            x, y, vx, vy = position[i, 0], position[i, 1], velocity[i, 0], velocity[i, 1]
            block[0] += 0.5 * mass[i] * (vx * vx + vy * vy)
            block[1] -= mass[i] * (gravity[0] * x + gravity[1] * y)
            block[2] += mass[i] * vx
            block[3] += mass[i] * vy
            block[4] += mass[i] * (x * vy - y * vx)
            if d == 3:
                block[0] += 0.5 * inertia[i, 0] * velocity[i, 2] * velocity[i, 2]
                block[4] += inertia[i, 0] * velocity[i, 2]
        if i % 128 == 127 or i == n - 1:
            for k in range(5):
                total[k] += block[k]
                block[k] = 0.0
    return total


@kernel
def totals_3d(mass, inertia, free, gravity, position, orientation, velocity):
    """The eight sums of `totals` in 3D."""
    total = np.zeros(8)
    _add_totals_3d(mass, inertia, free, gravity, position, orientation, velocity, total, np.zeros(8))
    return total


@lean
def _add_totals_3d(mass, inertia, free, gravity, position, orientation, velocity, total, block):
    """Adds the sums to `total`, in blocks as in 2D; `block` is scratch, both are zero before."""
    n, d = velocity.shape
    for i in range(n):
        if free[i]:
            m, v, q, spin = mass[i], velocity[i], position[i], Vec3(0.0, 0.0, 0.0)
            if d == 6:  # I w in the frame of the world
                own = Vec3(inertia[i, 0] * v[3], inertia[i, 1] * v[4], inertia[i, 2] * v[5])
                spin = to_world(matrix_value(orientation[i]), own)
            block[0] += 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            block[1] -= m * (gravity[0] * q[0] + gravity[1] * q[1] + gravity[2] * q[2])
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                block[2 + k] += m * v[k]
                block[5 + k] += m * (q[a] * v[b] - q[b] * v[a]) + spin[k]
                if d == 6:
                    block[0] += 0.5 * inertia[i, k] * v[3 + k] * v[3 + k]
        if i % 128 == 127 or i == n - 1:
            for k in range(8):
                total[k] += block[k]
                block[k] = 0.0
