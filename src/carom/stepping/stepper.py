"""The base class of steppers: shared stages of a step, the time of each phase, and the report of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.detector import Detector
from ..kernels import kernel
from ..problem.assemble import Assembly, assemble
from ..problem.contact_rows import friction_in_world
from ..problem.contacts import NOT_CONVERGED, RESOLVED, Contacts, Impulses, worse
from ..resolve.impulses import resolve
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from ..solvers.thresholds import EXACT_CONTACTS, EXACT_IMPACT_CONTACTS
from ..world import State, World
from .impact_stage import speeds_and_fastest
from .integrator import end_of_step, free_motion
from .report import PHASES, STATUSES, ContactImpulses, totals
from .resting import Held, RestingSolver

TOUCH = 1e-9  # gap, relative to the length scale of the world, up to which bodies count as touching
FEW_CONTACTS_TOLERANCE = 1e-12  # for stages with few contacts: it costs little, and bodies at rest lose no energy
NOISE = 1e-12  # approach, relative to the fastest body, that is rounding: touching bodies that move together


class Pushes(NamedTuple):
    """Impulses of one stage of a step."""

    found: ContactSet
    chosen: Ints | None  # (k,) contacts of `found` on which they act; None for all
    normal: Floats  # (k,)
    tangent: Floats | None  # (k, t) along the tangents; None without friction

    @property
    def contacts(self) -> ContactSet:
        """The contacts on which they act."""
        return self.found if self.chosen is None else self.found.take(self.chosen)


class Stepper:
    """Base of the steppers. A subclass defines `name`, `title`, `guarantee` and `step`.

    `step(state)` returns the state after the time step `h`. Afterwards `row` holds the row of the table of steps and
    `impulses()` returns the impulses of the step.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # one line for lists
    guarantee: ClassVar[str] = ""  # what it conserves or prevents, one line for lists

    # The report of the last step; `report.step_table` describes the columns.
    contacts: int
    resting: int
    iterations: int
    residual: float  # relative to `scale`
    status: int
    rounds: int
    substeps: int
    overlap: float
    seconds: dict[str, float]  # by phase
    scale: float  # speed to which the tolerance of the step is relative; see `Response.tolerance`
    _pushed: list[Pushes | tuple[ContactSet, Held]]  # impulses in the order in which they were computed

    def __init__(self, world: World, response: Response, step: float) -> None:
        self.world, self.response, self.h = world, response, step
        self.tolerance = response.tolerance
        self._fall = float(np.linalg.norm(world.gravity))
        self.touch = TOUCH * world.length_scale
        self.detector = Detector(world)
        self.resting_solver: RestingSolver | None = None  # of steppers that hold resting contacts
        self.row: tuple[Any, ...] = ()
        self.clear()

    def step(self, state: State) -> State:
        """The state one time step later."""
        raise NotImplementedError(f"{type(self).__name__} must define step(state)")

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays besides the state on which the next step depends; they are stored in checkpoints."""
        return {} if self.resting_solver is None else self.resting_solver.memory()

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the arrays of a checkpoint."""
        if self.resting_solver is not None:
            self.resting_solver.remember(memory)

    # ---- stages of a step

    def move(self, state: State, step: float) -> State:
        """The state after free motion for a time."""
        return self.timed("move", free_motion, self.world, state, step)

    def find(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """Contacts with a gap of at most `margin` in `after`; in 3D also of pairs that pass through each other."""
        return self.timed("detect", self.detector.find, before, after, margin)

    def assemble(self, state: State, found: ContactSet, step: float) -> Assembly:
        """The impact of the contacts `found`; boundaries move at their mean velocity in the coming time `step`."""
        boundaries = boundaries_at(self.world, state.time, step)[0]
        return self.timed("assemble", assemble, self.world, state, found, boundaries)

    def collide(self, state: State, found: ContactSet, impact: Assembly) -> State:
        """The state with the velocities after the impact of all contacts under the law."""
        self.note_fastest(impact)
        result = self.resolve(impact.contacts, found)
        return replace(state, velocity=velocity_after(impact, result, state.velocity))

    def resolve(self, contacts: Contacts, found: ContactSet, chosen: Ints | None = None) -> Impulses:
        """The impulses of an impact under the law; `contacts` are the contacts `chosen` of `found`, or all of them."""
        fastest = contacts.fastest()
        if not self._pushed:  # bodies fall until the time of the first impact
            self.scale = max(self.scale, fastest)
        result = self.timed("impact", resolve, contacts, self.response, self.allowed(contacts.count, found.count))
        self.contacts += contacts.count
        self.iterations += result.iterations
        self.note_residual(result.residual * fastest)
        status = result.status
        if status == NOT_CONVERGED and result.residual * fastest <= self.tolerance * self.scale:
            status = RESOLVED  # a later impact of the step, slower than the first, to which the tolerance is relative
        self.status = STATUSES.index(worse(STATUSES[self.status], status))
        self._pushed.append(Pushes(found, chosen, result.normal, result.tangent))
        return result

    def allowed(self, count: int, found: int = 0) -> float:
        """The speed of approach or slip that a stage with `count` of the `found` contacts of the step may leave.

        Stages with few contacts are solved almost to rounding, in steps without impacts also larger ones.
        """
        few = EXACT_CONTACTS if self.rounds == 0 else EXACT_IMPACT_CONTACTS
        exact = count <= few and found <= EXACT_CONTACTS
        return (min(self.tolerance, FEW_CONTACTS_TOLERANCE) if exact else self.tolerance) * self.scale

    def noise(self, state: State) -> float:
        """Speed of approach up to which an approach is rounding error."""
        return NOISE * float(_fastest_component(state.velocity, self.world.dimension))

    def finish(self, end: State, number: int) -> State:
        """The state at the end of step `number`; updates the report."""
        end = end_of_step(self.world, end, number * self.h, number)
        self.report(end)
        return end

    # ---- report

    def clear(self) -> None:
        """Resets the report at the start of a step."""
        self.contacts = self.resting = self.iterations = self.status = self.rounds = 0
        self.residual = self.overlap = 0.0
        self.substeps = 1
        self.scale = 2.0 * self.h * self._fall
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._pushed = []

    def note_overlap(self, found: ContactSet) -> None:
        """Records the deepest overlap of the contacts."""
        if found.count:
            self.overlap = max(self.overlap, -float(found.gap.min()))

    def note_fastest(self, impact: Assembly) -> None:
        """Makes the tolerance relative to at least the fastest approach or slip of the contacts."""
        none = np.zeros(len(impact.restitution))
        self.scale = max(self.scale, speeds_and_fastest(impact.blocks, impact.velocity, none, none, 0.0)[1])

    def note_residual(self, speed: float) -> None:
        """Records the residual of a stage, an absolute speed."""
        if speed > 0.0:
            self.residual = max(self.residual, speed / self.scale if self.scale > 0.0 else np.inf)

    def note_rest(self, found: ContactSet, held: Held) -> None:
        """Records the answer of a resting solve."""
        self.resting += len(held.chosen)
        self.note_residual(held.residual)
        self._pushed.append((found, held))

    def timed(self, phase: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function and adds its time to a phase of the step."""
        start = perf_counter()
        out = function(*arguments)
        self.seconds[phase] += perf_counter() - start
        return out

    def report(self, state: State) -> None:
        """Sets `row`, the row of the table of steps (`report.step_table`), for a step that ends in `state`."""
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
            *totals(self.world, state),
            *self.seconds.values(),
            self.substeps,
        )

    def impulses(self) -> ContactImpulses:
        """All nonzero impulses of the last step."""
        parts, dim = [], self.world.dimension
        for push in self.pushes or [Pushes(ContactSet.empty(dim), None, np.empty(0), None)]:
            found = push.contacts
            tangent = np.zeros((found.count, dim - 1)) if push.tangent is None else push.tangent
            kept = (push.normal != 0.0) | tangent.any(axis=1)
            normal = found.normal[kept]
            friction = friction_in_world(normal, tangent[kept])
            parts.append(
                (found.first[kept], found.second[kept], found.point[kept], normal, push.normal[kept], friction)
            )
        return ContactImpulses(*(np.concatenate(columns) for columns in zip(*parts)))

    @property
    def pushes(self) -> list[Pushes]:
        """The impulses of the stages of the last step."""
        t = self.world.dimension - 1
        return [push if isinstance(push, Pushes) else _of_rest(*push, t) for push in self._pushed]

    def treated_contacts(self) -> ContactSet:
        """The contacts that the law or the resting solver treated in the last step, ordered by bodies and feature.

        A contact that was treated several times occurs once, with the geometry of the last time.
        """
        found = ContactSet.empty(self.world.dimension)
        for push in self.pushes:
            found = found.joined(push.contacts)
        names = np.stack([found.first, found.second, found.feature_id])[:, ::-1]
        last = np.unique(names, axis=1, return_index=True)[1]
        return found.take(found.count - 1 - last)


@kernel
def _fastest_component(velocity, dimension):
    top = 0.0
    for i in range(len(velocity)):
        for k in range(dimension):
            top = max(top, abs(velocity[i, k]))
    return top


def _of_rest(found: ContactSet, held: Held, t: int) -> Pushes:
    """The impulses of a resting solve, with t tangents."""
    tangent = held.impulse[held.chosen, 1 : 1 + t] if held.impulse.shape[1] > 1 else None
    return Pushes(found, held.chosen, held.impulse[held.chosen, 0], tangent)


def velocity_after(impact: Assembly, result: Impulses, velocity: Floats) -> Floats:
    """Velocities (n, d) of all bodies after the impulses."""
    return impact.unwhitened(impact.contacts.after(result.normal, result.tangent), velocity)
