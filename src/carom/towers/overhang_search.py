"""Which levels: every choice of them for few bricks, then the best stacks grown brick by brick.

Up to ALL_UP_TO bricks every way to share them among levels is tried, with every level as the one that reaches out,
from several random starts. From there on each of the best stacks gets one brick more in every place where there is
room for one: at either end of a level, or as a new level. A brick pushed in at the bottom, 1 / 2n out, always works
where the stack stands on one brick, so a larger stack reaches further than the one that it comes from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np

from ..solvers.rows import Floats
from .overhang_ascent import FEASIBLE, climb, merit, polish, with_forces
from .overhang_levels import Balance, Structure

ALL_UP_TO = 5
STARTS = 4  # random starts for each structure, as long as all structures are tried
CLIMBS = 8  # linear programs before SLSQP, if SLSQP alone fails
NEAR = 0.15  # pairs further apart than this carry nothing for the length of an ascent
SAME = 1e-6  # overhangs closer than this are alike: the counterweights only lie elsewhere
TRIED = 0.75  # of the grown stacks: those that stand best as they are (with 0.5, 20 bricks reach less far)
WORK = 2.5  # power of the size with which the time for a size grows
ALIKE = 3  # stacks of one overhang that are grown further

Rows = list[list[float]]  # left ends of the bricks of each level
Start = tuple[Structure, Floats]
Progress = Callable[[float, float], None]  # part done, best overhang


@dataclass(frozen=True, eq=False)
class Found:
    """A stack: left ends x, in bricks."""

    structure: Structure
    x: Floats
    overhang: float

    @property
    def rows(self) -> Rows:
        return [[float(self.x[b]) for b in level] for level in self.structure.levels]


class Attempt(NamedTuple):
    """A stack to start from, with the forces that suit it best."""

    structure: Structure
    problem: Balance
    z: Floats
    merit: float


@dataclass
class Search:
    """One pass from few bricks to all of them, with the best `width` stacks of each size."""

    bricks: int
    width: int
    seed: int = 0
    deadline: float = float("inf")  # of time.monotonic, shared among the sizes; without time left a brick goes below
    progress: Progress | None = None
    evaluations: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)  # size, best overhang of it

    def run(self) -> list[Found]:
        """Stacks with all the bricks, the furthest first."""
        size = min(self.bricks, ALL_UP_TO)
        found = self._best(size, everything(size, np.random.default_rng(self.seed)))
        self.history.append((size, found[0].overhang))
        while size < self.bricks:
            size += 1
            larger = self._best(size, [start for stack in found for start in grown(stack)])
            found = _choice([*larger, bottomed(found[0])], self.width)
            self.history.append((size, found[0].overhang))
        return found

    def _best(self, size: int, starts: list[Start]) -> list[Found]:
        attempts = [self._attempt(*start) for start in starts]
        if size > ALL_UP_TO:
            attempts.sort(key=lambda attempt: -attempt.merit)
            attempts = attempts[: math.ceil(TRIED * len(attempts))]
            if self.deadline < float("inf"):  # what the time is too short for should be a fair sample
                attempts = [attempts[k] for k in np.random.default_rng(self.seed).permutation(len(attempts))]
        best: dict[Structure, Found] = {}
        until = self._until(size)
        for k, attempt in enumerate(attempts):
            if monotonic() > until:
                break
            self._tell(size, k / len(attempts))
            stack = self._ascend(attempt)
            known = best.get(attempt.structure)
            if stack is not None and (known is None or stack.overhang > known.overhang):
                best[attempt.structure] = stack
        return _choice(best.values(), self.width)

    def _until(self, size: int) -> float:
        """The share of this size in the time that is left; the first size gets all the time that it needs."""
        if size <= ALL_UP_TO or self.deadline == float("inf"):
            return float("inf")
        ahead = sum(k**WORK for k in range(size, self.bricks + 1))
        return monotonic() + max(0.0, self.deadline - monotonic()) * size**WORK / ahead

    def _attempt(self, structure: Structure, x: Floats) -> Attempt:
        problem = Balance(structure, structure.pairs(x, NEAR))
        z = with_forces(problem, x)
        return Attempt(structure, problem, z, merit(problem, z))

    def _ascend(self, attempt: Attempt) -> Found | None:
        """The furthest stack of this structure from these positions."""
        self.evaluations += 1
        structure, problem, z, _ = attempt
        end = polish(problem, z)
        if end.broken > FEASIBLE and structure.bricks <= ALL_UP_TO:
            # Poor starts need it; for grown stacks it costs as much as two more stacks and finds less.
            end = polish(problem, climb(problem, z, CLIMBS).z)
        return None if end.broken > FEASIBLE else Found(structure, end.z[: structure.bricks], end.overhang)

    def _tell(self, size: int, part: float) -> None:
        if self.progress is not None:
            done = ((size - 1 + part) / self.bricks) ** (WORK + 1)
            self.progress(done, self.history[-1][1] if self.history else 0.0)


def _choice(stacks: Iterable[Found], width: int) -> list[Found]:
    """The furthest ones, at most ALIKE of the same overhang, and not more than half of all."""
    chosen: list[Found] = []
    most = min(ALIKE, max(1, width // 2))
    for stack in sorted(stacks, key=lambda s: -s.overhang):
        alike = sum(abs(other.overhang - stack.overhang) < SAME for other in chosen)
        if alike < most and len(chosen) < width:
            chosen.append(stack)
    return chosen


def everything(size: int, rng: np.random.Generator) -> list[Start]:
    """All ways to share `size` bricks among levels, all goals, random positions."""
    starts = []
    for cuts in itertools.product((False, True), repeat=size - 1):
        ends = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), size]
        counts = tuple(b - a for a, b in itertools.pairwise(ends))
        for goal in range(len(counts)):
            structure = Structure(counts, goal)
            starts += [(structure, _leaning(structure, rng)) for _ in range(STARTS)]
    return starts


def _leaning(structure: Structure, rng: np.random.Generator) -> Floats:
    """Levels that lean out a little more each, with gaps between the bricks."""
    x = np.zeros(structure.bricks)
    for height, level in enumerate(structure.levels):
        right = rng.uniform(-0.2, 0.6) + 0.1 * height
        for brick in reversed(level):
            x[brick] = right - 1.0
            right = x[brick] - rng.uniform(0.0, 0.3)
    return x


def grown(stack: Found) -> Iterator[Start]:
    """Stacks with one brick more, with the same brick as goal and with the one a level higher."""
    for rows, goal in _with_one_more(stack.rows, stack.structure):
        for level in range(goal, min(goal + 2, len(rows))):
            yield Structure(tuple(len(row) for row in rows), level), _joined(rows)


def _with_one_more(rows: Rows, structure: Structure) -> Iterator[tuple[Rows, int]]:
    goal = structure.goal
    yield _bottomed(rows), goal + 1
    for h, row in enumerate(rows):
        yield [*rows[:h], [row[0] - 1.0, *row], *rows[h + 1 :]], goal
        if h != goal:
            yield [*rows[:h], [*row, row[-1] + 1.0], *rows[h + 1 :]], goal
        for x in dict.fromkeys((row[0], row[-1])):
            yield [*rows[: h + 1], [x], *rows[h + 1 :]], goal + (h < goal)


def bottomed(stack: Found) -> Found:
    """The stack on one brick more, as in the harmonic stack."""
    rows, goal = _bottomed(stack.rows), stack.structure.goal + 1
    return Found(Structure(tuple(len(row) for row in rows), goal), _joined(rows), rows[goal][-1] + 1.0)


def _bottomed(rows: Rows) -> Rows:
    out = 0.5 / (sum(len(row) for row in rows) + 1)
    return [[out - 1.0], *([x + out for x in row] for row in rows)]


def _joined(rows: Rows) -> Floats:
    return np.array([x for row in rows for x in row])
