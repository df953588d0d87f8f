"""Stacks of a search for large overhangs, and the stacks with one more brick to continue from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats
from .overhang_model import Structure

NEAR_PAIR = 0.15  # in brick lengths: pairs further apart carry no force during an ascent
STARTS = 4  # random starts for each structure, while all structures are tried

Rows = list[list[float]]  # left ends of the bricks of each level
Start = tuple[Structure, Floats]


@dataclass(frozen=True, eq=False)
class Found:
    """A stack: left ends x of its bricks, in brick lengths."""

    structure: Structure
    x: Floats
    overhang: float

    @property
    def rows(self) -> Rows:
        """Left ends of the bricks of each level."""
        return [[float(self.x[b]) for b in level] for level in self.structure.levels]


def everything(size: int, rng: np.random.Generator) -> list[Start]:
    """All distributions of `size` bricks among levels, all goals, random positions."""
    starts = []
    for cuts in itertools.product((False, True), repeat=size - 1):
        ends = [0, *(k + 1 for k, cut in enumerate(cuts) if cut), size]
        counts = tuple(b - a for a, b in itertools.pairwise(ends))
        for goal in range(len(counts)):
            structure = Structure(counts, goal)
            starts += [(structure, _leaning(structure, rng)) for _ in range(STARTS)]
    return starts


def _leaning(structure: Structure, rng: np.random.Generator) -> Floats:
    """Levels that lean out increasingly, with gaps between the bricks."""
    x = np.zeros(structure.bricks)
    for height, level in enumerate(structure.levels):
        right = rng.uniform(-0.2, 0.6) + 0.1 * height
        for brick in reversed(level):
            x[brick] = right - 1.0
            right = x[brick] - rng.uniform(0.0, 0.3)
    return x


def grown(stack: Found) -> Iterator[Start]:
    """Stacks with one more brick, with the same brick as goal and with the one a level higher."""
    for rows, goal in _with_one_more(stack.rows, stack.structure):
        for level in range(goal, min(goal + 2, len(rows))):
            yield Structure(tuple(len(row) for row in rows), level), joined(rows)


def _with_one_more(rows: Rows, structure: Structure) -> Iterator[tuple[Rows, int]]:
    """Rows and goal of all stacks with one more brick."""
    goal = structure.goal
    yield _bottomed(rows), goal + 1
    for h, row in enumerate(rows):
        yield [*rows[:h], [row[0] - 1.0, *row], *rows[h + 1 :]], goal
        if h != goal:
            yield [*rows[:h], [*row, row[-1] + 1.0], *rows[h + 1 :]], goal
        for x in dict.fromkeys((row[0], row[-1])):
            yield [*rows[: h + 1], [x], *rows[h + 1 :]], goal + (h < goal)


def bottomed(stack: Found) -> Found:
    """The stack on one more brick, as in the harmonic stack."""
    rows, goal = _bottomed(stack.rows), stack.structure.goal + 1
    return Found(Structure(tuple(len(row) for row in rows), goal), joined(rows), rows[goal][-1] + 1.0)


def _bottomed(rows: Rows) -> Rows:
    out = 0.5 / (sum(len(row) for row in rows) + 1)
    return [[out - 1.0], *([x + out for x in row] for row in rows)]


def joined(rows: Rows) -> Floats:
    """The left ends of all bricks."""
    return np.array([x for row in rows for x in row])
