"""Candidate pairs that are kept from step to step: a Verlet list.

A body gets a slack when the list is made. The list is complete, for margins up to those it was made for, as long as no
body has moved farther than its slack from where it was then. A displacement that all bodies share does not count.

The list selects pairs, it does not decide about contact: pairs are in the order of their bodies, and are tested again
in every step, so that contacts and their order do not depend on when the list was made.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels import kernel
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints
from ..world import State, World
from .broad_phase import Axes, counting_sort, fits, neighbors
from .images import counts_once, make_images

# Slack of a body. A larger one makes the list last longer, but a step tests more pairs.
LEAST = 0.04  # in radii: bodies nearly at rest
STEPS = 8.0  # number of steps that a list should last; if bodies are too fast, a half or a quarter of it
LEAST_STEPS = 2.0  # number of steps below which no body gets a slack: the list is then made in every step
MOST = (
    0.4  # in radii, for all but a fraction of the bodies, because cells of the broad phase are as wide as the largest
)
FAST = 0.005  # this fraction
OWN_CLASS = 1.2  # least slack of these in radii: they are in a size class of their own, with larger cells
SPARE = 1.25  # margin of a list relative to that of the step in which it is made: margins vary from step to step
FAR = 1e12  # largest coordinate in units of the largest radius
CELLS = 1e18  # and of the smallest radius: numbers of grid cells, which are 64-bit integers, would overflow beyond it

# Columns of a list of pairs (int32): bodies, periodic image of the second, separating axis of the last step (boxes).
FIRST, SECOND, IMAGE, AXIS, COLUMNS = 0, 1, 2, 3, 4
# An image is the number of periods along each axis by which the second body is shifted, as digits of base BASE.
BASE, NONE = 16, 8 * (1 + 16 + 256)  # NONE: no shift
KEPT, STALE, DIVERGED = 0, 1, 2  # what `check` returns


class Pairs:
    """The candidate pairs of a world. `table` (p, COLUMNS) has pairs of two round bodies first, `rounds` of them."""

    def __init__(self, world: World) -> None:
        n, dim = world.count, world.dimension
        self.world = world
        self.axes: Axes = (0, 1) if dim == 2 else (0, 1, 2)
        self.table = np.empty((0, COLUMNS), np.int32)
        self.rounds = 0
        self.place, self.slack = np.empty((n, dim)), np.full(n, -1.0)  # no list yet: nothing is within the slack
        self.margins, self.ways = np.zeros(n), np.zeros(n)
        self.no_way = np.zeros(n)
        self.length = np.zeros(dim)  # periods; 0 for axes without
        if world.periodic is not None:
            sides = [world.periodic.sides[axis] for axis in range(dim)]
            self.length = np.array([0.0 if side is None else side[1] - side[0] for side in sides])
        self.shared = bool(world.free.all())  # a displacement of all bodies leaves pairs as they are
        self.radius = np.ascontiguousarray(world.shapes.radius)
        self.least = float(world.shapes.inner.min(initial=np.inf))  # half width of the thinnest body
        largest, smallest = float(self.radius.max(initial=0.0)), float(self.radius.min(initial=np.inf))
        self.farthest = min(FAR * largest, CELLS * smallest)

    def check(self, after: State, margins: Floats, way: Floats | None = None) -> int:
        """KEPT if the list is complete for a state, STALE if not, DIVERGED if bodies are not in any sensible place.

        It must have all pairs up to the larger one of the `margins` (n,) of both apart, and, if `way` (n,) is given,
        all up to the sum of their ways apart: these are displacements in the step, within which they may have met.
        """
        return int(
            check(
                self.axes,
                self.place,
                after.position,
                self.slack,
                margins,
                self.margins,
                self.no_way if way is None else way,
                self.ways,
                self.length,
                self.shared,
                self.farthest,
                self.table,
            )
        )

    def make(self, before: State, after: State, margins: Floats, way: Floats | None = None) -> None:
        """Makes the list for the state `after`; see `check`."""
        world = self.world
        self.margins, self.ways = SPARE * margins, self.no_way if way is None else SPARE * way
        least = float(self.margins.min(initial=np.inf)) if world.count else 0.0
        self.place = after.position.copy()
        self.slack = slacks(self.axes, before.position, after.position, self.radius, self.shared)
        radius = self.radius + self.slack + (self.margins - least) + self.ways
        free, is_round, place = world.free, world.shapes.round, self.place
        if world.periodic is None or (world.periodic.shear_rate == 0.0 and fits(self.length, radius, least)):
            a, b = neighbors(place, radius, free, least, self.length)
            owner, turns = np.arange(world.count), nearest_images(self.axes, place, self.length, a, b)
        else:
            step, slid = after.time - before.time, slides(world.periodic, before.time, after.time)[1]
            images = make_images(world.periodic, place, radius, least, before.time, step)
            owner, turns = images.owner, _periods(world.periodic, images.shift_after, images.turns, slid)
            a, b = neighbors(place[owner] + images.shift_after, radius[owner], free[owner], least)
            once = counts_once(images, a, b)
            a, b = a[once], b[once]
            turns = turns[b] - turns[a]
            if world.periodic.shear_rate != 0.0:
                self.slack.fill(-1.0)  # images slide: the list serves for one step
        self.table, self.rounds = ordered(world.count, a, b, owner, turns, is_round)


def _periods(periodic: Periodic, shift: Floats, turns: Ints, slid: float) -> Ints:
    """Numbers of periods (rows, D) in the shifts of images, besides `slid` across a Lees-Edwards side."""
    out, dim = np.zeros(shift.shape, np.int64), shift.shape[1]
    for axis in range(dim):
        side = periodic.sides[axis]
        if side is None:
            continue
        slide = slid * turns[:, periodic.sheared_axis] if axis == periodic.slide_axis else 0.0
        out[:, axis] = np.rint((shift[:, axis] - slide) / (side[1] - side[0]))
    return out


def slides(periodic: Periodic | None, before: float, after: float) -> tuple[float, float, float]:
    """By how much the images across a Lees-Edwards side have slid at two times, up to whole periods, and their speed.

    All are zero if there is no such side.
    """
    across = None if periodic is None else periodic.sides[periodic.sheared_axis]
    along = None if periodic is None else periodic.sides[periodic.slide_axis]
    if periodic is None or across is None or along is None or periodic.shear_rate == 0.0:
        return 0.0, 0.0, 0.0
    speed, period = periodic.shear_rate * (across[1] - across[0]), along[1] - along[0]
    whole = math.floor(speed * after / period) * period
    return speed * before - whole, speed * after - whole, speed


# ---- kernels


@kernel
def check(axes, place, after, slack, margins, old_margins, ways, old_ways, length, shared, farthest, table):
    """Whether no body has moved from `place` to `after` by more than its slack: see Pairs.check.

    The amounts by which its margin and way exceed the old ones, for which the list was made, are part of it.

    For a body that has crossed a periodic side, `place` and the images in the table are changed accordingly.
    """
    n, common = len(place), np.zeros(3)
    crossed = False
    for i in range(n):
        for d in range(len(axes)):
            if not abs(after[i, d]) < farthest:
                return DIVERGED
            if length[d] > 0.0 and abs(after[i, d] - place[i, d]) > 0.5 * length[d]:
                crossed = True
    if crossed:
        _cross(axes, place, after, length, table)
    if shared:
        for i in range(n):
            for d in range(len(axes)):
                common[d] += (after[i, d] - place[i, d]) / n
    for i in range(n):
        square, most = 0.0, slack[i] - max(margins[i] - old_margins[i], 0.0) - max(ways[i] - old_ways[i], 0.0)
        for d in range(len(axes)):
            way = after[i, d] - place[i, d] - common[d]
            square += way * way
        if most < 0.0 or square > most * most:
            return STALE
    return KEPT


@kernel
def _cross(axes, place, after, length, table):
    """Shifts `place` by the periods by which bodies have been wrapped, and the images of their pairs."""
    turns = np.zeros((len(place), 3), np.int64)
    for i in range(len(place)):
        for d in range(len(axes)):
            if length[d] > 0.0:
                turns[i, d] = int(np.rint((after[i, d] - place[i, d]) / length[d]))
                place[i, d] += turns[i, d] * length[d]
    for k in range(len(table)):
        a, b, scale = table[k, FIRST], table[k, SECOND], 1
        for d in range(len(axes)):
            table[k, IMAGE] += scale * (turns[a, d] - turns[b, d])
            scale *= BASE


@kernel
def periods(image, axis):
    """Number of periods along an axis by which an image is shifted."""
    return ((image >> (4 * axis)) & (BASE - 1)) - 8


@kernel
def slacks(axes, before, after, radius, shared):
    """The slack of each body, from its displacement in one step relative to the mean one; 0 if no list would last."""
    n, common = len(radius), np.zeros(3)
    if shared:
        for i in range(n):
            for d in range(len(axes)):
                common[d] += (after[i, d] - before[i, d]) / n
    way = np.empty(n)
    for i in range(n):
        square = 0.0
        for d in range(len(axes)):
            e = after[i, d] - before[i, d] - common[d]
            square += e * e
        way[i] = np.sqrt(square)
    # A body that is slow now may be hit by others: it is given at least the mean.
    mean = way.sum() / max(n, 1)
    for i in range(n):
        way[i] = max(way[i], mean)
    steps = STEPS
    while steps >= LEAST_STEPS:
        fast = 0
        for i in range(n):
            fast += steps * way[i] > MOST * radius[i]
        if fast <= FAST * n:
            break
        steps *= 0.5
    for i in range(n):
        slack = steps * way[i]
        if slack > MOST * radius[i]:
            slack = max(slack, OWN_CLASS * radius[i])
        way[i] = max(LEAST * radius[i], slack) if steps >= LEAST_STEPS else 0.0
    return way


@kernel
def nearest_images(axes, place, period, a, b):
    """Periods (m, D) by which the nearest image of body b of each pair is shifted; empty if there are no periods."""
    out = np.zeros((len(a) if period.max() > 0.0 else 0, len(axes)), np.int64)
    for k in range(len(out)):
        for d in range(len(axes)):
            if period[d] > 0.0:
                out[k, d] = -int(np.rint((place[b[k], d] - place[a[k], d]) / period[d]))
    return out


@kernel
def ordered(n, a, b, owner, turns, is_round):
    """The table of pairs of rows a and b, by bodies, and the number of pairs of round bodies, which come first.

    Rows are bodies, then images of bodies `owner`. `turns` (m, D) are the periods by which the image of the second body
    is shifted relative to that of the first; it is empty if none is.
    """
    m = len(a)
    first, second, image = np.empty(m, np.int64), np.empty(m, np.int64), np.full(m, NONE)
    for k in range(m):
        i, j = owner[a[k]], owner[b[k]]
        sign, scale = 1 if i < j else -1, 1
        first[k], second[k] = min(i, j) + (0 if is_round[i] and is_round[j] else n), max(i, j)
        for d in range(turns.shape[1] if len(turns) else 0):
            image[k] += scale * sign * turns[k, d]
            scale *= BASE
    by_second, _ = counting_sort(second, n)
    by_first, start = counting_sort(first[by_second], 2 * n)
    table = np.empty((m, COLUMNS), np.int32)
    for k in range(m):
        at, old = k, by_second[by_first[k]]
        i, j = first[old] % n, second[old]
        while at > 0 and table[at - 1, FIRST] == i and table[at - 1, SECOND] == j and table[at - 1, IMAGE] > image[old]:
            table[at, IMAGE] = table[at - 1, IMAGE]  # two images of one body
            at -= 1
        table[k, FIRST], table[k, SECOND], table[k, AXIS] = i, j, 0
        table[at, IMAGE] = image[old]
    return table, start[n]


def periods_of(image: Ints, dimension: int) -> Ints:
    """`periods` (m, D) of m images."""
    return np.stack([((image >> (4 * axis)) & (BASE - 1)) - 8 for axis in range(dimension)], axis=1)
