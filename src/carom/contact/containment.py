"""Whether a step has kept bodies apart: no pair overlaps by more than a few percent, none has passed through another.

A step resolves contacts with the geometry of its start and with impulses that act at one time; bodies that move far, or
that meet several others within a step, may nevertheless end inside or beyond each other. This test looks at
the motion that the step has made. Let the displacement of a body be the bound of `motion.py` on that of any of its
points, and w its half width; for pairs the smaller w counts.

* Overlap: bodies that are displaced by more than FAST_DISPLACEMENT w, or all if the overlap at the start was more than
  NOTICED_OVERLAP w, must not overlap others by more than NOTED_OVERLAP w at the end. The other pairs cannot:
  NOTICED_OVERLAP + 2 FAST_DISPLACEMENT <= NOTED_OVERLAP.
* Crossing: pairs that are displaced by more than FAR_MOTION w relative to each other must not be deeper than
  CROSSING_DEPTH w in each other at any time, if they move straight and rotate steadily from start to end. Slower pairs
  cannot pass through each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel
from ..solvers.rows import Floats
from ..world import SEGMENT, State, World
from .boundaries import boundaries_at, boundary_of, boundary_table, passes
from .detector import Detector
from .images import sides_in_step
from .motion import FAR_MOTION, Motions, displacements, meeting_pairs, pair_motions

# Relative to the half width of the smaller body.
NOTED_OVERLAP = 0.04  # largest overlap of a step that is not cut
NOTICED_OVERLAP = 0.01  # overlap at the start from which on slow bodies are tested
FAST_DISPLACEMENT = 0.015  # smallest displacement for which a body is tested
CROSSING_DEPTH = 0.5  # depth that only pairs that cross reach


class Violation(NamedTuple):
    """A pair that a step has not kept apart; `second` is a body, or -1 - k for boundary k."""

    first: int
    second: int
    overlap: float  # a length; 0 for a pair that has passed through each other
    share: float  # overlap relative to the half width of the smaller body; infinite for a crossing


class Containment:
    """Tests the steps of a world."""

    def __init__(self, world: World, detector: Detector) -> None:
        self.world, self.detector = world, detector
        self.inner = np.ascontiguousarray(world.shapes.inner)
        self.least = float(self.inner.min(initial=np.inf))
        self.segments = np.flatnonzero(world.boundaries.kind == SEGMENT)

    def violation(self, before: State, after: State, overlap: float) -> Violation | None:
        """What the step from `before` to `after` has not kept apart; `overlap` is the deepest one at its start."""
        moved = displacements(self.world, before, after)
        share = moved.total / self.inner
        most = float(share.max(initial=0.0))
        chosen = share > FAST_DISPLACEMENT
        if overlap > NOTICED_OVERLAP * self.least:
            chosen[:] = True
        elif most <= FAST_DISPLACEMENT:
            return None
        swept = most > 0.5 * FAR_MOTION or moved.largest > 0.5 * FAR_MOTION * self.least
        self.detector.update_pairs(before, after, paths=moved.center if swept else None)
        crossing = self._crossing(before, after, moved.rotation) if swept else None
        return self._overlapping(after, chosen) if crossing is None else crossing

    def overlap(self, state: State, least: float = NOTED_OVERLAP) -> Violation | None:
        """The deepest overlap of a state, relative to the half width, if it is larger than `least`."""
        self.detector.update_pairs(state, state)
        return self._overlapping(state, np.ones(self.world.count, np.bool_), least)

    def displacement(self, before: State, after: State) -> Floats:
        """Displacements (n,) of the bodies, relative to their half width."""
        return np.asarray(displacements(self.world, before, after).total / self.inner)

    def _meeting(self, before: State, after: State, rotation: Floats, overlap: float) -> Motions | None:
        """The motions of the candidate pairs that `meeting_pairs` selects; None if there are none."""
        pairs, n = self.detector.pairs, self.world.count
        places, sides = (before.position, after.position), sides_in_step(self.world.periodic, before.time, after.time)
        numbers = meeting_pairs(pairs.table, sides, *places, rotation, pairs.radius, self.inner, overlap)
        if not len(numbers):
            return None
        turns = (before.orientation.reshape(n, -1), after.orientation.reshape(n, -1))
        step, is_round = after.time - before.time, self.world.shapes.round
        return pair_motions(is_round, pairs.table[numbers], sides, *places, *turns, step)[0]

    def _half_widths(self, motions: Motions) -> Floats:
        """The half width (m,) of the thinner body of each pair."""
        return np.minimum(*self.inner[motions.owner.reshape(2, -1)])

    def _overlapping(self, state: State, chosen: np.ndarray, least: float = NOTED_OVERLAP) -> Violation | None:
        """The deepest overlap, relative to the half width, of the chosen bodies, if it is larger than `least`."""
        motions = self._meeting(state, state, np.where(chosen, np.inf, 0.0), least)  # bodies at rest: only chosen ones
        first, second, gap, half = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0)
        if motions is not None:
            from .advancement import gaps  # late: few steps need these kernels

            first, second = motions.owner.reshape(2, -1)
            gap, half = gaps(self.world.shapes, motions), self._half_widths(motions)
        if len(self.world.boundaries.kind):
            found = self.detector.of_boundaries(state, chosen)
            first, second = np.concatenate([first, found.first]), np.concatenate([second, found.second])
            gap, half = np.concatenate([gap, found.gap]), np.concatenate([half, self.inner[found.first]])
        if not len(gap):
            return None
        share = -gap / half
        k = int(np.argmax(share))
        if share[k] <= least:
            return None
        return Violation(int(first[k]), int(second[k]), -float(gap[k]), float(share[k]))

    def _crossing(self, before: State, after: State, rotation: Floats) -> Violation | None:
        """A pair that has passed through each other."""
        motions = self._meeting(before, after, rotation, 0.5 * CROSSING_DEPTH)
        if motions is not None:
            from .advancement import first_crossing  # late: few steps need these kernels

            k = first_crossing(self.world.shapes, motions, CROSSING_DEPTH * self._half_widths(motions))
            if k >= 0:
                first, second = motions.owner.reshape(2, -1)[:, k]
                return Violation(int(first), int(second), 0.0, np.inf)
        if len(self.segments):
            tables = (boundary_table(b) for b in boundaries_at(self.world, before.time, after.time - before.time))
            i, w = _through_segment(*tables, self.segments, before.position, after.position, self.world.free)
            if i >= 0:
                return Violation(int(i), int(-1 - w), 0.0, np.inf)
        return None


@kernel
def _through_segment(table0, table1, segments, p, q, free):
    """A free body whose center passes through a segment, and the number of that; -1 if there is none."""
    for w in segments:
        segment0, segment1 = boundary_of(table0, w), boundary_of(table1, w)
        for i in range(len(p)):
            start, end = Vec3(p[i, 0], p[i, 1], 0.0), Vec3(q[i, 0], q[i, 1], 0.0)
            if free[i] and passes(segment0, segment1, start, end):
                return i, w
    return -1, -1
