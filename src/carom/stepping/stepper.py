"""What all steppers share: the world, the law, the clock for each phase, and the row that a step reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.find import find_contacts
from ..impact.assemble import Assembly, assemble
from ..impact.contacts import Impulses
from ..impact.resolve import resolve
from ..impact.response import Response
from ..impact.space_rows import along_tangents
from ..solvers.rows import Floats
from ..world import State, World
from .flight import totals
from .report import PHASES, STATUSES, ContactImpulses
from .resting import Resting

TOUCH = 1e-9  # gaps below this part of the smallest body count as touching
NOISE = 1e-12  # approach below this part of the fastest body is rounding: touching bodies that move together


class Stepper:
    """Base of the steppers. `step` takes a state to the next; `row` and `impulses` tell about the last step."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, world: World, response: Response, step: float) -> None:
        self.world, self.response, self.h = world, response, step
        self.touch = TOUCH * world.length_scale
        self.resting_solve: Resting | None = None  # of steppers that have one
        self.row: tuple[Any, ...] = ()
        self.pushes: list[tuple[ContactSet, Impulses]] = []
        self.contacts = self.resting = self.iterations = self.status = self.rounds = 0
        self.residual = self.rest_residual = self.overlap = 0.0
        self.seconds: dict[str, float] = {}
        self._clear()

    def step(self, state: State) -> State:
        raise NotImplementedError(f"{type(self).__name__} must define step(state)")

    def memory(self) -> dict[str, np.ndarray]:
        """What the next step needs besides the state: goes into checkpoints."""
        return {} if self.resting_solve is None else self.resting_solve.memory()

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Takes up a memory from a checkpoint."""
        if self.resting_solve is not None:
            self.resting_solve.remember(memory)

    # -- the stages that steppers are made of ---------------------------------------------------------------------

    def find(self, before: State, after: State, margin: float) -> ContactSet:
        return self._timed("detect", self._detected, before, after, margin)

    def _detected(self, before: State, after: State, margin: float) -> ContactSet:
        found = find_contacts(self.world, before, after, margin)
        if self.world.dimension == 2:
            return found
        from ..contact.solids.swept import with_swept

        return with_swept(self.world, before, after, found)

    def assemble(self, state: State, found: ContactSet) -> Assembly:
        walls = boundaries_at(self.world, state.time, self.h)[0]
        return self._timed("assemble", assemble, self.world, state, found, walls)

    def collide(self, state: State, found: ContactSet, impact: Assembly, slow: float = 0.0) -> State:
        """The state with the velocities after impact under the law; `slow` approach may be left in large impacts."""
        result = self._timed("impact", resolve, impact.contacts, self.response, slow)
        self.contacts += found.count
        self.iterations += result.iterations
        self.residual = max(self.residual, result.residual)
        self.status = max(self.status, STATUSES.index(result.status))
        self.pushes.append((found, result))
        return replace(state, velocity=pushed(impact, result, state.velocity))

    def noise(self, state: State) -> float:
        """Approach speeds that are rounding."""
        return NOISE * float(np.abs(state.velocity[:, : self.world.dimension]).max(initial=0.0))

    # -- the report ------------------------------------------------------------------------------------------------

    def _clear(self) -> None:
        self.contacts = self.resting = self.iterations = self.status = self.rounds = 0
        self.residual = self.rest_residual = self.overlap = 0.0
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.pushes.clear()

    def saw(self, found: ContactSet) -> None:
        if found.count:
            self.overlap = max(self.overlap, -float(found.gap.min()))

    def _timed(self, phase: str, function: Callable[..., Any], *arguments: Any) -> Any:
        start = perf_counter()
        out = function(*arguments)
        self.seconds[phase] += perf_counter() - start
        return out

    def report(self, state: State) -> None:
        sums = totals(self.world, state)
        self.row = (
            state.step,
            state.time,
            self.contacts,
            self.resting,
            self.iterations,
            self.residual,
            self.rest_residual,
            self.status,
            self.rounds,
            self.overlap,
            *sums,
            *self.seconds.values(),
        )

    def impulses(self) -> ContactImpulses:
        """All impulses of the last step, those of zero left out."""
        dim, parts = self.world.dimension, []
        for found, result in self.pushes:
            tangent = np.zeros((found.count, dim - 1)) if result.tangent is None else result.tangent
            kept = (result.normal != 0.0) | tangent.any(axis=1)
            normal, tangent = found.normal[kept], np.ascontiguousarray(tangent[kept])
            rubbed = tangent[:, 0] if dim == 2 else along_tangents(normal, tangent)
            parts.append(
                (found.first[kept], found.second[kept], found.point[kept], normal, result.normal[kept], rubbed)
            )
        if not parts:
            none, vectors = np.empty(0, np.int64), np.empty((0, dim))
            parts = [(none, none, vectors, vectors, np.empty(0), np.empty(0) if dim == 2 else vectors)]
        return ContactImpulses(*(np.concatenate(columns) for columns in zip(*parts)))


def pushed(impact: Assembly, result: Impulses, velocity: Floats) -> Floats:
    """The velocities of all bodies after the impulses."""
    return impact.unwhitened(impact.contacts.after(result.normal, result.tangent), velocity)
