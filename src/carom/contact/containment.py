"""Whether a step has kept bodies apart: no pair overlaps by more than a few percent, none has passed through another.

A step resolves contacts with the geometry of its start and with impulses that act at one time; bodies that move far, or
that meet several others within a step, may nevertheless end inside or beyond each other. This test looks at
the motion that the step has made. Let the travel of a body be the displacement of its center plus, if it is not round,
the angle of its rotation times its radius, and w its half width; for pairs the smaller w counts.

* Overlap: bodies that travel more than FAST w, or all if the overlap at the start was more than NOTICED w, must not
  overlap others by more than OVERLAP w at the end. The other pairs cannot: NOTICED + 2 FAST <= OVERLAP.
* Crossing: pairs that travel more than SHARE w relative to each other must not be deeper than DEPTH w in each other at
  any time, if they move straight and rotate steadily from start to end. Slower pairs cannot pass through each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import SEGMENT, State, World
from .boundaries import boundaries_at, boundary_table, passes
from .detector import Detector
from .pairs import FIRST, IMAGE, NONE, SECOND, Pairs, slides
from .rounds import image_shift

if TYPE_CHECKING:
    from .conservative_advancement import Moves

# Relative to the half width of the smaller body.
OVERLAP = 0.04  # largest overlap of a step that is not cut
NOTICED = 0.01  # overlap at the start from which on slow bodies are tested
FAST = 0.015  # travel from which on a body is tested
SHARE = 0.5  # travel of a pair from which on it may cross
DEPTH = 0.5  # depth that only pairs that cross reach


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
        self.arm = np.where(world.shapes.round, 0.0, world.shapes.radius)
        self.least = float(self.inner.min(initial=np.inf))
        self.segments = np.flatnonzero(world.boundaries.kind == SEGMENT)
        self.shear = (0, 0)
        if world.periodic is not None:
            self.shear = (world.periodic.slide_axis, world.periodic.sheared_axis)

    def violation(self, before: State, after: State, overlap: float) -> Violation | None:
        """What the step from `before` to `after` has not kept apart; `overlap` is the deepest one at its start."""
        way, travel = _travels(before.position, after.position, *self._turned(before, after), self.arm)
        share = travel / self.inner
        most = float(share.max(initial=0.0))
        chosen = share > FAST
        if overlap > NOTICED * self.least:
            chosen[:] = True
        elif most <= FAST:
            return None
        swept = most > 0.5 * SHARE or bool(travel.max(initial=0.0) > 0.5 * SHARE * self.least)
        pairs = self._pairs(before, after, way if swept else None)
        crossing = self._crossing(pairs, before, after, travel) if swept else None
        return self._overlapping(pairs, after, chosen) if crossing is None else crossing

    def overlap(self, state: State, least: float = OVERLAP) -> Violation | None:
        """The deepest overlap of a state, relative to the half width, if it is larger than `least`."""
        return self._overlapping(self._pairs(state, state, None), state, np.ones(self.world.count, np.bool_), least)

    def travel(self, before: State, after: State) -> Floats:
        """Travel (n,) of the bodies, relative to their half width."""
        travel = _travels(before.position, after.position, *self._turned(before, after), self.arm)[1]
        return np.asarray(travel / self.inner)

    def _turned(self, before: State, after: State) -> tuple[Floats, Floats]:
        """Orientations (n, 4) or (n, 1)."""
        wide = before.orientation.reshape(self.world.count, -1)
        return wide, after.orientation.reshape(wide.shape)

    def _pairs(self, before: State, after: State, way: Floats | None) -> Pairs:
        """The candidate pairs, of all that touch at the end; with displacements `way` also of those that met before."""
        self.detector.update_pairs(before, after, way=way)
        return self.detector.pairs

    def _overlapping(self, pairs: Pairs, after: State, chosen: np.ndarray, least: float = OVERLAP) -> Violation | None:
        """The deepest overlap, relative to the half width, of the chosen bodies, if it is larger than `least`."""
        slid = slides(self.world.periodic, after.time, after.time)[1]
        numbers, places = _near(
            pairs.axes, pairs.table, after.position, chosen, pairs.radius, self.inner, least, pairs.length,
            self.shear, slid,
        )  # fmt: skip
        first, second, gap = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        if len(numbers):
            rows = pairs.table[numbers][:, [FIRST, SECOND]].astype(np.int64)
            first, second = rows.T
            gap = (self._gaps_2d if self.world.dimension == 2 else self._gaps_3d)(rows, places, after)
        if len(self.world.boundaries.kind):
            found = self.detector.of_boundaries(after, chosen)
            first, second = np.concatenate([first, found.first]), np.concatenate([second, found.second])
            gap = np.concatenate([gap, found.gap])
        if not len(gap):
            return None
        other = np.where(second >= 0, self.inner[np.maximum(second, 0)], np.inf)
        share = -gap / np.minimum(self.inner[first], other)
        k = int(np.argmax(share))
        if share[k] <= least:
            return None
        return Violation(int(first[k]), int(second[k]), -float(gap[k]), float(share[k]))

    def _gaps_2d(self, rows: Ints, places: Floats, state: State) -> Floats:
        from .crossing_2d import gaps_2d  # late: few steps need these kernels

        poses = np.empty((len(rows), 6))
        for side in range(2):
            poses[:, 3 * side : 3 * side + 2] = places[:, side]
            poses[:, 3 * side + 2] = state.orientation[rows[:, side]]
        return np.asarray(gaps_2d(self.world.shapes_2d, rows, poses))

    def _gaps_3d(self, rows: Ints, places: Floats, state: State) -> Floats:
        from .conservative_advancement import gaps_of_pairs

        return gaps_of_pairs(self.world.shapes_3d, rows, places, state.orientation)

    def _crossing(self, pairs: Pairs, before: State, after: State, travel: Floats) -> Violation | None:
        """A pair that has passed through each other."""
        slid = slides(self.world.periodic, before.time, after.time)
        numbers, moves = _meeting(
            pairs.axes, pairs.table, before.position, after.position, travel, pairs.radius, self.inner, pairs.length,
            self.shear, slid,
        )  # fmt: skip
        if len(numbers):
            rows = pairs.table[numbers][:, [FIRST, SECOND]].astype(np.int64)
            depth = DEPTH * np.minimum(self.inner[rows[:, 0]], self.inner[rows[:, 1]])
            find = self._crossing_2d if self.world.dimension == 2 else self._crossing_3d
            k = find(rows, moves, before, after, depth)
            if k >= 0:
                return Violation(int(rows[k, 0]), int(rows[k, 1]), 0.0, np.inf)
        if len(self.segments):
            tables = (boundary_table(b) for b in boundaries_at(self.world, before.time, after.time - before.time))
            i, w = _through_segment(*tables, self.segments, before.position, after.position, self.world.free)
            if i >= 0:
                return Violation(int(i), int(-1 - w), 0.0, np.inf)
        return None

    def _crossing_2d(self, rows: Ints, moves: Floats, before: State, after: State, depth: Floats) -> int:
        from .crossing_2d import crossing_pairs_2d  # late: few steps need these kernels

        poses = np.empty((len(rows), 12))
        for side in range(2):
            body = rows[:, side]
            poses[:, 3 * side : 3 * side + 2], poses[:, 3 * side + 2] = moves[:, side, 0], before.orientation[body]
            poses[:, 3 * side + 6 : 3 * side + 8], poses[:, 3 * side + 8] = moves[:, side, 1], after.orientation[body]
        return int(crossing_pairs_2d(self.world.shapes_2d, rows, poses, depth))

    def _crossing_3d(self, rows: Ints, moves: Floats, before: State, after: State, depth: Floats) -> int:
        from .conservative_advancement import first_crossing

        m, motion = len(rows), self._moves(rows, moves, before, after)
        return first_crossing(self.world.shapes_3d, motion, np.arange(m), np.arange(m, 2 * m), depth)

    def _moves(self, rows: Ints, moves: Floats, before: State, after: State) -> Moves:
        """The motions of the first bodies of all pairs, then of the second ones; `moves` (m, 2, 2, 3) are places."""
        from ..geometry.rotations import matrices
        from .conservative_advancement import Moves, rotation_vectors

        m, own = len(rows), rows.T.reshape(-1)
        place, end = np.concatenate([moves[:, 0], moves[:, 1]]).transpose(1, 0, 2)
        turn, spin = np.tile(np.eye(3), (2 * m, 1, 1)), np.zeros((2 * m, 3))  # spheres do not rotate
        odd = np.flatnonzero(~self.world.shapes.round[own])
        turn[odd] = matrices(before.orientation[own[odd]])
        spin[odd] = rotation_vectors(before.orientation[own[odd]], after.orientation[own[odd]])
        place = np.ascontiguousarray(place)
        return Moves(own, place, end - place, turn, spin)


@kernel
def _travels(p, q, before, after, arm):
    """Displacements (n,) of the centers, and travels (n,): with the arc of rotation about the center."""
    n, wide = before.shape
    way, travel = np.empty(n), np.empty(n)
    for i in range(n):
        square, arc = 0.0, 0.0
        for d in range(p.shape[1]):
            square += (q[i, d] - p[i, d]) ** 2
        if arm[i] > 0.0 and wide == 1:
            arc = abs(after[i, 0] - before[i, 0])
        elif arm[i] > 0.0:
            near = far = 0.0
            for k in range(wide):
                near += (after[i, k] - before[i, k]) ** 2
                far += (after[i, k] + before[i, k]) ** 2
            arc = 4.0 * np.arcsin(min(0.5 * np.sqrt(min(near, far)), 1.0))
        way[i] = np.sqrt(square)
        travel[i] = way[i] + arc * arm[i]
    return way, travel


@kernel
def _near(axes, table, p, chosen, radius, inner, share, length, shear, slid):
    """Pairs with a chosen body whose bounding spheres overlap by `share` of the smaller half width.

    Returns their numbers (m,) and the places (m, 2, D) of both bodies, the second one at its periodic image.
    """
    dim = len(axes)
    out, places, m = np.empty(len(table), np.int64), np.empty((64, 2, dim)), 0
    for k in range(len(table)):
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        if not (chosen[a] or chosen[b]):
            continue
        if m == len(places):
            more = np.empty((2 * m, 2, dim))
            more[:m] = places
            places = more
        square, reach = 0.0, radius[a] + radius[b] - share * min(inner[a], inner[b])
        for d in range(dim):
            places[m, 0, d], places[m, 1, d] = p[a, d], p[b, d]
            if image != NONE:
                places[m, 1, d] += image_shift(image, d, length, shear[0], shear[1], slid)
            e = places[m, 1, d] - places[m, 0, d]
            square += e * e
        if square < reach * reach:
            out[m] = k
            m += 1
    return out[:m].copy(), places[:m]


@kernel
def _meeting(axes, table, p, q, travel, radius, inner, length, shear, slid):
    """Pairs that travel far relative to each other and whose bounding spheres meet within the step.

    Returns their numbers (m,) and the places (m, 2, 2, D) of both bodies at the start and at the end, the second one at
    its periodic image.
    """
    dim = len(axes)
    out, moves, m = np.empty(len(table), np.int64), np.empty((64, 2, 2, dim)), 0
    for k in range(len(table)):
        a, b, image = table[k, FIRST], table[k, SECOND], table[k, IMAGE]
        if travel[a] + travel[b] <= SHARE * min(inner[a], inner[b]):
            continue
        if m == len(moves):
            more = np.empty((2 * m, 2, 2, dim))
            more[:m] = moves
            moves = more
        square = along = fast = 0.0
        for d in range(dim):
            shift0 = shift1 = 0.0
            if image != NONE:
                shift0 = image_shift(image, d, length, shear[0], shear[1], slid[0])
                shift1 = image_shift(image, d, length, shear[0], shear[1], slid[1])
            moves[m, 0, 0, d], moves[m, 0, 1, d] = p[a, d], q[a, d]
            moves[m, 1, 0, d], moves[m, 1, 1, d] = p[b, d] + shift0, q[b, d] + shift1
            e = moves[m, 1, 0, d] - p[a, d]
            v = moves[m, 1, 1, d] - q[a, d] - e
            square += e * e
            along += e * v
            fast += v * v
        t = min(max(-along / fast, 0.0), 1.0) if fast > 0.0 else 0.0
        reach = radius[a] + radius[b] - 0.5 * DEPTH * min(inner[a], inner[b])
        if square + t * (2.0 * along + t * fast) < reach * reach:
            out[m] = k
            m += 1
    return out[:m].copy(), moves[:m]


@kernel
def _through_segment(table0, table1, segments, p, q, free):
    """A free body whose center passes through a segment, and the number of that; -1 if there is none."""
    for w in segments:
        for i in range(len(p)):
            if free[i] and passes(table0, table1, w, p[i, 0], p[i, 1], q[i, 0], q[i, 1]):
                return i, w
    return -1, -1
