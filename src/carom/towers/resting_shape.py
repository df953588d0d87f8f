"""Resting shape of bricks that cannot slide (section 9 of the paper): least potential energy by linear programming.

Each brick keeps its interval along x and may sink and tilt by small angles: its underside is a straight line through
the heights of its left and right end, and its top is one thickness above. Of two bricks above each other the underside
of the upper one must stay above the top of the lower one over their common interval; by linearity it suffices to demand
this at both ends of that interval. The ground is y = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .balance import TIGHT, System, decide, imbalance, make_system
from .contacts import CONTACT_TOLERANCE, GROUND, masses, weights
from .stability import reach

if TYPE_CHECKING:
    from .tower import Tower

CARRIES = 1e-9  # relative to the total weight: smaller forces are omitted
CLOSED = 1e-8  # relative to the height of the tower: smaller gaps are contacts
SPARE = 1e-12  # relative to the mean change of height: loss of energy allowed in the second linear program


@dataclass(frozen=True, eq=False)
class RestingShape:
    """Heights of least potential energy, and the forces that support the bricks there."""

    heights: Floats  # (n, 2) underside of each brick at its left and right end
    left: Floats  # (n,) x of the left end
    right: Floats  # (n,) x of the right end
    thickness: Floats  # (n,)
    energy_before: float  # potential energy of the free bricks above the ground, as given
    energy: float  # at rest
    upper: Ints  # (k,) upper bricks of the contacts that carry a load
    lower: Ints  # (k,) lower bricks, or GROUND
    at: Floats  # (k,) x coordinates
    force: Floats  # (k,) upward force on the upper brick
    certificate: float  # relative imbalance of forces or overlap, whichever is larger

    @property
    def drop(self) -> float:
        """Potential energy released, >= 0; it is 0 if the tower rests as it stands."""
        return self.energy_before - self.energy

    @property
    def polygons(self) -> list[Floats]:
        """(4, 2) corners of each brick, counterclockwise; a tilted brick is sheared, with upright ends."""
        out = []
        for (low, high), x, u, t in zip(self.heights, self.left, self.right, self.thickness):
            out.append(np.array([(x, low), (u, high), (u, high + t), (x, low + t)]))
        return out

    def summary(self) -> str:
        """A description of a few lines."""
        tilt = np.abs(self.heights[:, 1] - self.heights[:, 0]) > 1e-7 * self.thickness
        return (
            f"potential energy {self.energy_before:.6g} -> {self.energy:.6g}, {self.drop:.6g} less\n"
            f"{int(tilt.sum())} of {len(tilt)} bricks tilt, {len(self.force)} contacts carry"
        )


def resting_shape(tower: Tower) -> RestingShape:
    """min sum of weight times height, with the bricks above each other as they are. Only for axis-aligned rectangles.

    If bricks can tilt without a change of energy, the solution with the least sum of displacements of the ends is
    taken. The proof is a set of forces in the closed contacts that balance all weights.
    """
    box = _boxes(tower)
    if tower.pins:
        raise ProblemError(
            "pins", f"{len(tower.pins)} pins", "a tower without pins: bricks sink and tilt independently"
        )
    above = _above(tower, box)
    size = float(np.max(box.top))
    lowest = _lowest(tower, box, above)
    closed = np.flatnonzero(above.rows @ lowest - above.least <= CLOSED * size)
    heights = _snapped(tower, above.rows[closed], above.least[closed], lowest).reshape(-1, 2)
    gaps = above.rows @ heights.ravel() - above.least
    system = _vertical_system(tower, above.upper[closed], above.lower[closed], above.at[closed])
    held = decide(system, weights(tower))
    balance = imbalance(system, system.reduced(weights(tower)), held.forces, held.pin_forces)
    carry = held.forces > CARRIES * float(np.abs(weights(tower)).sum())
    energy = tower.gravity * tower.mass * tower.free
    half = 0.5 * box.thickness
    return RestingShape(
        heights,
        box.left,
        box.right,
        box.thickness,
        float(energy @ (box.bottom + half)),
        float(energy @ (heights.mean(axis=1) + half)),
        above.upper[closed][carry],
        above.lower[closed][carry],
        above.at[closed][carry],
        held.forces[carry],
        max(balance, -float(gaps.min(initial=0.0)) / size),
    )


class _Boxes(NamedTuple):
    left: Floats
    right: Floats
    bottom: Floats
    top: Floats

    @property
    def thickness(self) -> Floats:
        return self.top - self.bottom


class _Above(NamedTuple):
    """rows . heights >= least: the underside of `upper` at x = `at` lies on or above the top of `lower`."""

    rows: sparse.csr_array  # (k, 2n)
    least: Floats
    upper: Ints
    lower: Ints
    at: Floats


def _boxes(tower: Tower) -> _Boxes:
    low = np.array([c.min(axis=0) for c in tower.corners])
    high = np.array([c.max(axis=0) for c in tower.corners])
    for i, corners in enumerate(tower.corners):
        off = np.minimum(np.abs(corners - low[i]), np.abs(corners - high[i])).max()
        if len(corners) != 4 or off > CONTACT_TOLERANCE * tower.size:
            raise ProblemError(f"bricks[{i}]", "another shape", "an axis-aligned rectangle, as resting shapes need")
    return _Boxes(low[:, 0], high[:, 0], low[:, 1], high[:, 1])


def _above(tower: Tower, box: _Boxes) -> _Above:
    """Both ends of the common interval of any two bricks above each other, and of each brick with the ground."""
    close = CONTACT_TOLERANCE * tower.size
    found: list[tuple[int, int, float]] = []
    for i in np.flatnonzero(tower.free).tolist():
        found += [(i, GROUND, float(box.left[i])), (i, GROUND, float(box.right[i]))]
    for i in range(tower.count):
        start, end = np.maximum(box.left, box.left[i]), np.minimum(box.right, box.right[i])
        below = (end - start > 10.0 * close) & (box.top <= box.bottom[i] + close) & (tower.free | tower.free[i])
        for j in np.flatnonzero(below).tolist():
            found += [(i, j, float(start[j])), (i, j, float(end[j]))]
    upper = np.array([f[0] for f in found], dtype=np.int64)
    lower = np.array([f[1] for f in found], dtype=np.int64)
    at = np.array([f[2] for f in found])
    on = lower != GROUND
    k = np.arange(len(found))
    rows = _height_at(box, k, upper, at, len(found)) - _height_at(box, k[on], lower[on], at[on], len(found))
    return _Above(rows, np.where(on, box.thickness[lower], 0.0), upper, lower, at)


def _height_at(box: _Boxes, rows: Ints, bricks: Ints, at: Floats, count: int) -> sparse.csr_array:
    """Rows that evaluate the underside of `bricks` at x = `at` from the heights of all ends."""
    share = (at - box.left[bricks]) / (box.right[bricks] - box.left[bricks])
    values = np.concatenate([1.0 - share, share])
    columns = np.concatenate([2 * bricks, 2 * bricks + 1])
    return sparse.csr_array((values, (np.tile(rows, 2), columns)), shape=(count, 2 * len(box.left)))


def _lowest(tower: Tower, box: _Boxes, above: _Above) -> Floats:
    """(2n,) heights of least energy; among those, the ones with the least sum of changes."""
    before = np.repeat(box.bottom, 2)
    size = float(np.max(box.top))
    share = tower.mass * tower.free
    cost = np.repeat(share / max(float(share.sum()), 1e-300), 2) / 2.0
    ends = np.repeat(tower.free, 2)
    # The unknowns are changes of height, relative to the height of the tower.
    rows, least = above.rows, (above.least - above.rows @ before) / size
    limits = np.stack([np.where(ends, -2.0, 0.0), np.where(ends, 2.0, 0.0)], axis=1)
    lowest = linprog(cost, A_ub=-rows, b_ub=-least, bounds=limits, method="highs", options=TIGHT)
    if lowest.x is None:
        raise RuntimeError(f"HiGHS found no answer: {lowest.message}")
    n = len(before)
    one = sparse.eye_array(n)
    both = sparse.vstack(
        [
            sparse.hstack([-rows, sparse.csr_array(rows.shape)]),
            sparse.hstack([one, -one]),
            sparse.hstack([-one, -one]),
            sparse.csr_array(np.append(cost, np.zeros(n))[None, :]),
        ],
        format="csr",
    )
    right = np.concatenate([-least, np.zeros(2 * n), [float(lowest.fun) + SPARE]])
    wide = np.concatenate([limits, np.tile([0.0, 4.0], (n, 1))])
    least_moved = linprog(
        np.append(np.zeros(n), np.ones(n)), A_ub=both, b_ub=right, bounds=wide, method="highs", options=TIGHT
    )
    change = lowest.x if least_moved.x is None else least_moved.x[:n]
    return before + size * change


def _snapped(tower: Tower, closed: sparse.csr_array, least: Floats, heights: Floats) -> Floats:
    """The heights with closed contacts closed up to rounding, not only up to the tolerance of the linear program."""
    free = np.flatnonzero(np.repeat(tower.free, 2))
    if not len(free):
        return heights
    rows = closed[:, free]
    factor = splu(sparse.csc_array(rows.T @ rows + 1e-9 * sparse.eye_array(len(free))))
    out = heights.copy()
    for _ in range(4):
        out[free] -= factor.solve(rows.T @ (closed @ out - least))
    return out


def _vertical_system(tower: Tower, upper: Ints, lower: Ints, at: Floats) -> System:
    """Contacts with vertical normals at x = `at`, as rows over rigid motions."""
    rows, columns, values = [], [], []
    for k, (i, j, x) in enumerate(zip(upper.tolist(), lower.tolist(), at.tolist())):
        for brick, sign in ((i, 1.0), (j, -1.0)):
            if brick != GROUND and tower.free[brick]:
                rows += [k, k]
                columns += [3 * brick + 1, 3 * brick + 2]
                values += [sign, sign * (x - tower.center[brick][0])]
    shape = (len(upper), 3 * tower.count)
    return make_system(
        sparse.csr_array((values, (rows, columns)), shape=shape),
        sparse.csr_array((0, shape[1])),
        masses(tower),
        reach(tower),
    )
