"""Search for large stacks by way of loaded ones, in which point loads stand for the bricks that are counterweights.

After Paterson and Zwick (2009), section 4. A stack of n bricks has a core that decides the overhang, and many bricks
that only press on it. *Core.* A few bricks carry loads of any size, of n - k in total for k bricks, which the
optimization distributes. The best cores of a smaller total weight are tried with a larger one, and with one more brick
in every possible position: seven bricks and loads reach as far as the best stack found of 20. *Counterweights.* Bricks
take the place of the loads one by one, the largest load first, each with its center where the load is; the rest stays
a load, so that all further bricks are accounted for, and few stacks have to be tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from .overhang_model import FEASIBLE, LOAD, Balance, Structure, merit, polish, with_forces
from .overhang_stacks import NEAR_PAIR, Found, Start, everything, grown, joined

FIRST_WEIGHT, FIRST_CORE = 6, 3  # bricks: the smallest weight, and the cores that are all tried with it
WEIGHT_STEP = 2  # bricks between two weights
ALIKE = 3  # largest number of cores with equal overhang that are kept
TRIED = 0.6  # part of the extended cores that is optimized, those with the most promising forces
SAME_OVERHANG = 1e-6  # in brick lengths: closer overhangs are equal, and the smaller core is preferred
LEAST_LOAD = 0.05  # in weights of a brick: smaller loads are left to the other ones
AS_GOOD = 1e-5  # in brick lengths: largest loss by a brick for a load
ENOUGH = 2  # number of continuations of a stack without a loss, after which no others are tried
FILLINGS = 4  # number of stacks that are completed with bricks side by side


@dataclass
class LoadedSearch:
    """One pass for `bricks` bricks, with the best `width` cores of each weight."""

    bricks: int
    width: int
    seed: int = 0
    deadline: float = float("inf")  # of time.monotonic
    tell: Callable[[float], None] = lambda part: None
    evaluations: int = field(default=0, init=False)
    history: list[tuple[int, float]] = field(default_factory=list, init=False)  # (size, overhang) of a completed stack
    interrupted: bool = field(default=False, init=False)  # by Ctrl-C

    def run(self) -> list[Found]:
        """Stacks of all the bricks without loads, the one with the largest overhang first; none if time was up."""
        try:
            stacks = self._completed(self._cores()[:1])
        except KeyboardInterrupt:
            self.interrupted = True
            return []
        if stacks:
            self.history.append((self.bricks, stacks[0].overhang))
        return stacks

    def _cores(self) -> list[Found]:
        """The loaded stacks with the largest overhang for the whole weight."""
        weights = [*range(FIRST_WEIGHT, self.bricks, WEIGHT_STEP), self.bricks]
        starts = everything(FIRST_CORE, np.random.default_rng(self.seed))
        best = self._chosen([found for start in starts if (found := self._solved(start, weights[0])) is not None])
        for k, weight in enumerate(weights):
            if monotonic() > self.deadline:
                return []
            self.tell(0.5 * (k / len(weights)) ** 2)
            extended = [start for core in best for start in grown(core) if start[0].bricks < weight]
            extended.sort(key=lambda start: -self._promise(start, weight))
            tried = [(core.structure, core.x) for core in best] + extended[: math.ceil(TRIED * len(extended))]
            best = self._chosen([found for start in tried if (found := self._solved(start, weight)) is not None])
        return best

    def _completed(self, stacks: list[Found]) -> list[Found]:
        """The stacks with bricks in place of all loads."""
        first = stacks[0].structure.bricks if stacks else self.bricks
        for size in range(first, self.bricks):
            if monotonic() > self.deadline:
                return []
            self.tell(0.5 + 0.5 * (size - first) / (self.bricks - first))
            found: dict[Structure, Found] = {}
            for stack in stacks:
                self._continued(stack, found)
            stacks = sorted(found.values(), key=lambda s: -s.overhang)[:FILLINGS]
            if not stacks:
                break
        return stacks

    def _continued(self, stack: Found, found: dict[Structure, Found]) -> None:
        """Adds the stacks with a brick in place of one of the loads, until ENOUGH lose nothing."""
        good = 0
        for start in self._with_counterweight(stack):
            larger = self._solved(start, self.bricks)
            if larger is None:
                continue
            known = found.get(larger.structure)
            if known is None or known.overhang < larger.overhang:
                found[larger.structure] = larger
                good += larger.overhang > stack.overhang - AS_GOOD
            if good >= ENOUGH:
                return

    def _with_counterweight(self, stack: Found) -> list[Start]:
        """One more brick for each load, on a level of its own on top or at the left end of a level; largest first."""
        structure, rows = stack.structure, stack.rows
        problem = self._problem((structure, stack.x), self.bricks)
        _, force, moment = problem.split(with_forces(problem, stack.x))
        level = [h for h, bricks in enumerate(structure.levels) for _ in bricks]
        found = []
        for pair, (upper, lower) in enumerate(problem.who):
            if upper != LOAD or force[pair] < LEAST_LOAD:
                continue
            h, x = level[lower] + 1, float(moment[pair] / force[pair]) - 0.5
            if h == len(rows):
                larger = [*rows, [x]]
            else:
                larger = [*rows[:h], [min(x, rows[h][0] - 1.0), *rows[h]], *rows[h + 1 :]]
            counts = tuple(len(row) for row in larger)
            found.append((float(force[pair]), (Structure(counts, structure.goal), joined(larger))))
        return [start for _, start in sorted(found, key=lambda pair: -pair[0])]

    def _chosen(self, stacks: list[Found]) -> list[Found]:
        """The best stacks, small cores first where overhangs are equal, at most ALIKE of these."""
        chosen: list[Found] = []
        best: dict[Structure, Found] = {}
        for stack in stacks:
            known = best.get(stack.structure)
            if known is None or known.overhang < stack.overhang:
                best[stack.structure] = stack
        digits = round(-math.log10(SAME_OVERHANG)) - 1
        for stack in sorted(best.values(), key=lambda s: (-round(s.overhang, digits), s.structure.bricks)):
            alike = sum(abs(other.overhang - stack.overhang) < SAME_OVERHANG for other in chosen)
            if alike < min(ALIKE, max(1, self.width // 2)) and len(chosen) < self.width:
                chosen.append(stack)
        return chosen

    def _problem(self, start: Start, weight: int) -> Balance:
        structure, x = start
        return Balance(structure, structure.pairs(x, NEAR_PAIR), loads=float(weight - structure.bricks))

    def _promise(self, start: Start, weight: int) -> float:
        problem = self._problem(start, weight)
        return merit(problem, with_forces(problem, start[1]))

    def _solved(self, start: Start, weight: int) -> Found | None:
        """The loaded stack with the largest overhang of this structure, from these positions."""
        self.evaluations += 1
        problem = self._problem(start, weight)
        end = polish(problem, with_forces(problem, start[1]))
        return None if end.broken > FEASIBLE else Found(start[0], end.z[: start[0].bricks], end.overhang)
