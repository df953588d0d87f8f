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
  cannot pass through each other. Round obstacles and segments are compared with the circle of radius w in a body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..scene.model import Scene
from ..solvers.rows import Floats, Ints
from ..world import INSIDE, OUTSIDE, PLANE, SEGMENT, TUBE, State, World
from .boundaries import boundaries_at, boundary_of, boundary_table, gap_on_the_way, passes
from .contact_set import FEATURE, GAP, ContactSet
from .detector import Detector, find_contacts, place
from .motion import FAR_MOTION, Motions, displacements, meeting_pairs, pair_motions
from .one_sided import ONE_SIDED
from .pairs import COLUMNS, FIRST, IMAGE, NO_IMAGE, SECOND, sides_in_step

# Relative to the half width of the smaller body.
NOTED_OVERLAP = 0.04  # largest overlap of a step that is not cut
NOTICED_OVERLAP = 0.01  # overlap at the start above which slow bodies are tested too
FAST_DISPLACEMENT = 0.015  # smallest displacement for which a body is tested
CROSSING_DEPTH = 0.5  # depth that only pairs that cross reach
INITIAL_OVERLAP = 1e-4  # largest one relative to the smaller body: regular packings often overlap by rounding
KIND_NAMES = {  # of boundaries in 2D and 3D
    PLANE: ("plane", "plane"),
    INSIDE: ("drum", "shell"),
    OUTSIDE: ("drum, outside", "sphere"),
    SEGMENT: ("segment", "segment"),
    TUBE: ("tube", "tube"),
}


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
        self.obstacles = np.flatnonzero((world.boundaries.kind == SEGMENT) | (world.boundaries.kind == OUTSIDE))

    def violation(self, before: State, after: State, overlap: float) -> Violation | None:
        """What the step from `before` to `after` has not kept apart.

        `overlap` is the deepest one that is known, at its start or at its end. Slow bodies are tested if it is large: a
        way that is short for a body may be long for a thinner one that it meets.
        """
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

    def overlap_of(self, state: State, found: ContactSet) -> float:
        """The deepest overlap of the pairs of contacts, a length: that of their shapes, not along their normals.

        Pairs are measured whose contacts are at least half as deep as the result. In periodic worlds, where a contact
        does not tell the image, all candidate pairs are measured.
        """
        if self.world.periodic is not None:
            deepest = self.overlap(state, 0.0)
            return 0.0 if deepest is None else deepest.overlap
        table = found.table if self.world.joints is None else found.table[found.table[:, FEATURE] < ONE_SIDED]
        gap, bounded = table[:, GAP], table[:, SECOND] < 0
        result = max(0.0, -float(gap[bounded].min(initial=0.0)))
        pairs, limit = ~bounded, 0.5 * float(gap.min(initial=0.0))
        for _ in range(2):
            if limit == 0.0:
                break
            result = max(result, self._deepest(state, table[pairs & (gap <= limit)]))
            if result >= -limit:
                break
            limit = -0.5 * result or -np.finfo(float).tiny
        return result

    def _deepest(self, state: State, contacts: Floats) -> float:
        """The deepest overlap of the pairs of a table of contacts."""
        if not len(contacts):
            return 0.0
        from .advancement import gaps  # late: few steps need these kernels

        n, table = self.world.count, np.zeros((len(contacts), COLUMNS), np.int32)
        table[:, FIRST], table[:, SECOND], table[:, IMAGE] = contacts[:, 0], contacts[:, 1], NO_IMAGE
        table = table[np.r_[True, (table[1:] != table[:-1]).any(axis=1)]]  # contacts of a pair follow each other
        place, turn = state.position, state.orientation.reshape(n, -1)
        sides, is_round = sides_in_step(None, state.time, state.time), self.world.shapes.round
        motions = pair_motions(is_round, table, sides, place, place, turn, turn, 0.0)[0]
        return max(0.0, -float(gaps(self.world.shapes, motions, np.zeros(len(table))).min(initial=0.0)))

    def displacement(self, before: State, after: State) -> Floats:
        """Displacements (n,) of the bodies, relative to their half width."""
        return np.asarray(displacements(self.world, before, after).total / self.inner)

    def _meeting(self, before: State, after: State, rotation: Floats, overlap: float) -> Motions | None:
        """The motions of the candidate pairs that `meeting_pairs` selects; None if there are none."""
        pairs, n = self.detector.pairs, self.world.count
        places, sides = (before.position, after.position), sides_in_step(self.world.periodic, before.time, after.time)
        numbers = meeting_pairs(pairs.list.table, sides, *places, rotation, pairs.radius, self.inner, overlap)
        if not len(numbers):
            return None
        turns = (before.orientation.reshape(n, -1), after.orientation.reshape(n, -1))
        step, is_round = after.time - before.time, self.world.shapes.round
        return pair_motions(is_round, pairs.list.table[numbers], sides, *places, *turns, step)[0]

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
            half = self._half_widths(motions)
            gap = gaps(self.world.shapes, motions, -least * half)
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
        if len(self.obstacles):
            tables = (boundary_table(b) for b in boundaries_at(self.world, before.time, after.time - before.time))
            ways = (before.position, after.position)
            i, w = _through_obstacle(*tables, self.obstacles, *ways, self.inner, self.world.free)
            if i >= 0:
                return Violation(int(i), int(-1 - w), 0.0, np.inf)
        return None


@kernel
def _through_obstacle(table0, table1, obstacles, p, q, inner, free):
    """A free body whose center passes through a segment, or which was deep in its end or in a round obstacle within the
    step; and the number of that boundary. Both are -1 if no body did."""
    for w in obstacles:
        before, after = boundary_of(table0, w), boundary_of(table1, w)
        for i in range(len(p)):
            start, end = place(p, i), place(q, i)
            deep = gap_on_the_way(before, after, start, end) < (1.0 - CROSSING_DEPTH) * inner[i]
            if free[i] and (deep or (before.kind == SEGMENT and passes(before, after, start, end))):
                return i, w
    return -1, -1


# ---- the initial state: bodies must not overlap, leave their container, or lie beyond periodic sides


def check_start(scene: Scene, world: World, state: State) -> None:
    """Raises a ProblemError if bodies overlap each other or extend out of their container at time 0."""
    if world.periodic is not None:
        _check_periodic(world, state)
    found = find_contacts(world, state, state, 0.0)
    other = np.where(found.second >= 0, _half_size(world, np.maximum(found.second, 0)), np.inf)
    size = np.minimum(_half_size(world, found.first), other)
    deep = np.flatnonzero(found.gap < -INITIAL_OVERLAP * size)
    if not len(deep):
        return
    k = deep[np.argmin(found.gap[deep] / size[deep])]
    a, b, depth = int(found.first[k]), int(found.second[k]), float(-found.gap[k])
    more = f" (and {len(deep) - 1} more contacts)" if len(deep) > 1 else ""
    segment = b < 0 and world.boundaries.kind[-1 - b] == SEGMENT
    if b >= 0:
        raise ProblemError(
            f"bodies: {_who(scene, world, a)} and {_who(scene, world, b)}",
            f"an overlap of {depth:.3g} at the start{more}",
            f"at most {INITIAL_OVERLAP:g} of the smaller one's half width",
        )
    raise ProblemError(
        f"bodies: {_who(scene, world, a)}",
        f"{depth:.3g} {'across' if segment else 'outside'} boundary {-1 - b} ({_kind(world, -1 - b)}){more}",
        "a place clear of it" if segment else "a place inside its container",
    )


def _check_periodic(world: World, state: State) -> None:
    assert world.periodic is not None
    for axis, name in enumerate("xyz"[: world.dimension]):
        side = getattr(world.periodic, name)
        if side is None:
            continue
        q, widest = state.position[:, axis], int(np.argmax(world.shapes.radius))
        if 2.0 * world.shapes.radius[widest] > side[1] - side[0]:
            wide = f"a width of {2.0 * world.shapes.radius[widest]:g}"
            raise ProblemError(_path(world, widest), wide, f"less than the periodic length {side[1] - side[0]:g}")
        bad = np.flatnonzero((q < side[0]) | (q > side[1]))
        if len(bad):
            raise ProblemError(
                f"position of body {bad[0]}", float(q[bad[0]]), f"{name} within the periodic sides {side}"
            )


def _half_size(world: World, body: Ints) -> Floats:
    """Length (k,) that overlap of bodies is compared with: in 3D half of the smallest width.

    In 2D it is the radius of a disc, and for a polygon half of the radius of the circle around it.
    """
    if world.dimension == 3:
        return np.asarray(world.shapes.inner[body])
    return np.where(world.shapes.round[body], 1.0, 0.5) * world.shapes.radius[body]


def _path(world: World, body: int) -> str:
    group = int(world.group[body])
    return f"bodies[{group}][{body - int(np.searchsorted(world.group, group))}]"


def _who(scene: Scene, world: World, body: int) -> str:
    group = int(world.group[body])
    name = scene.groups[group].name
    inside = body - int(np.searchsorted(world.group, group))
    return f"body {body} (" + (f"{name!r}" if name else f"bodies[{group}]") + f", number {inside})"


def _kind(world: World, boundary: int) -> str:
    return KIND_NAMES[int(world.boundaries.kind[boundary])][world.dimension - 2]
