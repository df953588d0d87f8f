"""Candidate pairs that are kept from step to step, a Verlet list, and the periodic images of their bodies.

A body gets a slack when the list is made. The list is complete, for margins up to those it was made for, as long as no
body has moved farther than its slack from where it was then. A displacement that all bodies share does not count.

The list selects pairs, it does not decide about contact: pairs are in the order of their bodies, and are tested again
in every step, so that contacts and their order do not depend on when the list was made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec3
from ..kernels import kernel, lean
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints
from ..world import State, World
from .broad_phase import fits, neighbors
from .contact_set import DRIFT, OFFSET, WIDTH
from .images import counts_once, make_images, periods_of

# Slack of a body. A larger one makes the list last longer, but a step tests more pairs.
LEAST_SLACK = 0.04  # in radii: bodies nearly at rest
LIST_STEPS = 8.0  # number of steps that a list should last; if bodies are too fast, a half or a quarter of it
LEAST_LIST_STEPS = 2.0  # number of steps below which no body gets a slack: the list is then made in every step
LARGEST_SLACK = 0.4  # in radii, but for a few: cells of the broad phase are as wide as the largest body with its slack
# In small worlds a step tests few pairs anyway, and a list costs more than them: slacks are larger by a factor.
SMALL_WORLD, SMALL_WORLD_SLACK = 200, 4.0  # bodies; factor of LIST_STEPS, LEAST_SLACK and LARGEST_SLACK
FAST_FRACTION = 0.005  # of the bodies, which may exceed it
FAST_SLACK = 1.2  # least slack of these in radii: they are in a size class of their own, with larger cells
MARGIN_RESERVE = 1.25  # margin of a list relative to that of its first step: margins vary from step to step
LARGEST_COORDINATE = 1e12  # in units of the largest radius
LARGEST_CELL = 1e18  # largest coordinate in units of the smallest radius: numbers of grid cells are 64-bit integers

# Columns of a list of pairs (int32): bodies, periodic image of the second, separating axis of the last step (boxes).
FIRST, SECOND, IMAGE, AXIS, COLUMNS = 0, 1, 2, 3, 4
# The code of an image is the number of periods along each axis, plus 8, as digits of base CODE_BASE.
CODE_BASE, NO_IMAGE = 16, 8 * (1 + 16 + 256)  # NO_IMAGE: the body itself
LIST_KEPT, LIST_STALE, LIST_DIVERGED = 0, 1, 2  # what `check` returns


class VerletList(NamedTuple):
    """The pairs of a list and what it was made for, for n bodies."""

    table: np.ndarray  # (p, COLUMNS) pairs of two round bodies first
    place: Floats  # (n, D)
    slack: Floats  # (n,)
    margins: Floats  # (n,)
    paths: Floats  # (n,) lengths of paths within the step
    length: Floats  # (D,) periods


class Pairs:
    """The candidate pairs of a world. `table` (p, COLUMNS) has pairs of two round bodies first, `balls` of them."""

    def __init__(self, world: World) -> None:
        n, dim = world.count, world.dimension
        self.world = world
        self.axes = tuple(range(dim))
        self.no_paths = np.zeros(n)
        self.length = periods_of(world.periodic, dim)
        none = np.empty((0, COLUMNS), np.int32)
        # No list yet: nothing is within a negative slack.
        self.list = VerletList(none, np.empty((n, dim)), np.full(n, -1.0), np.zeros(n), self.no_paths, self.length)
        self.balls = 0
        self.shared = bool(world.free.all())  # a displacement of all bodies leaves pairs as they are
        self.radius = np.ascontiguousarray(world.shapes.radius)
        self.least = float(world.shapes.inner.min(initial=np.inf))  # half width of the thinnest body
        largest, smallest = float(self.radius.max(initial=0.0)), float(self.radius.min(initial=np.inf))
        self.farthest = min(LARGEST_COORDINATE * largest, LARGEST_CELL * smallest)

    def check(self, after: State, margins: Floats, paths: Floats | None = None) -> int:
        """LIST_KEPT if the list is complete for a state, LIST_STALE if not, LIST_DIVERGED if bodies are too far away.

        It must have all pairs up to the larger one of the `margins` (n,) of both apart, and, if `paths` (n,) is given,
        all up to the sum of both apart: these are displacements in the step, within which they may have met.
        """
        paths = self.no_paths if paths is None else paths
        return int(check(self.axes, self.list, after.position, margins, paths, self.shared, self.farthest))

    def make(self, before: State, after: State, margins: Floats, paths: Floats | None = None) -> None:
        """Makes the list for the state `after`; see `check`."""
        world, place = self.world, after.position.copy()
        margins = MARGIN_RESERVE * margins
        paths = self.no_paths if paths is None else MARGIN_RESERVE * paths
        least = float(margins.min(initial=np.inf)) if world.count else 0.0
        slack = slacks(before.position, place, self.radius, self.shared)
        radius = self.radius + slack + (margins - least) + paths
        if world.periodic is None or (world.periodic.shear_rate == 0.0 and fits(self.length, radius, least)):
            a, b = neighbors(place, radius, world.free, least, self.length)
            owner, image = np.arange(world.count), nearest_images(place, self.length, a, b)
        else:
            images = make_images(world.periodic, place, radius, least, after.time)
            owner = images.owner
            a, b = neighbors(place[owner] + images.shift, radius[owner], world.free[owner], least)
            once = counts_once(images, a, b)
            a, b = a[once], b[once]
            scale = CODE_BASE ** np.arange(world.dimension)
            image = NO_IMAGE + (images.periods[b] - images.periods[a]) @ scale
            if world.periodic.shear_rate != 0.0:
                slack.fill(-1.0)  # images slide: the list serves for one step
        table, self.balls = ordered(world.count, a, b, owner, image, world.shapes.round)
        if world.joints is not None and len(world.joints.apart):
            code = np.minimum(table[:, FIRST], table[:, SECOND]).astype(np.int64) * world.count
            touching = ~np.isin(code + np.maximum(table[:, FIRST], table[:, SECOND]), world.joints.apart)
            self.balls = int(touching[: self.balls].sum())
            table = table[touching]
        self.list = VerletList(table, place, slack, margins, paths, self.length)


# ---- kernels


@kernel
def check(axes, made, after, margins, paths, shared, farthest):
    """Whether no body has moved since the list was `made` by more than its slack: see Pairs.check.

    `axes` is a tuple whose length, the dimension, is known at compile time: every step comes here.

    The amounts by which its margin and path exceed those of the list are part of it. For a body that has crossed a
    periodic side, the place and the images in the list are changed accordingly.
    """
    place, slack, length, common = made.place, made.slack, made.length, np.zeros(3)
    old_margins, old_paths, n = made.margins, made.paths, len(made.place)
    crossed = False
    for i in range(n):
        for d in range(len(axes)):
            if not abs(after[i, d]) < farthest:
                return LIST_DIVERGED
            if length[d] > 0.0 and abs(after[i, d] - place[i, d]) > 0.5 * length[d]:
                crossed = True
    if n > 0 and slack.max() <= 0.0:
        return LIST_STALE  # it was made for one step
    if crossed:
        _cross(made, after)
    if shared:
        for i in range(n):
            for d in range(len(axes)):
                common[d] += (after[i, d] - place[i, d]) / n
    for i in range(n):
        most = slack[i] - max(margins[i] - old_margins[i], 0.0) - max(paths[i] - old_paths[i], 0.0)
        square = 0.0
        for d in range(len(axes)):
            moved = after[i, d] - place[i, d] - common[d]
            square += moved * moved
        if most < 0.0 or square > most * most:
            return LIST_STALE
    return LIST_KEPT


@kernel
def _cross(made, after):
    """Shifts the places by the periods by which bodies have been wrapped, and the images of their pairs."""
    place, length, table = made.place, made.length, made.table
    turns = np.zeros((len(place), 3), np.int64)
    for i in range(len(place)):
        for d in range(len(length)):
            if length[d] > 0.0:
                turns[i, d] = int(np.rint((after[i, d] - place[i, d]) / length[d]))
                place[i, d] += turns[i, d] * length[d]
    for k in range(len(table)):
        a, b, scale = table[k, FIRST], table[k, SECOND], 1
        for d in range(len(length)):
            table[k, IMAGE] += scale * (turns[a, d] - turns[b, d])
            scale *= CODE_BASE


@kernel
def slacks(before, after, radius, shared):
    """The slack of each body, from its displacement in one step relative to the mean one; 0 if no list would last."""
    n, common = len(radius), np.zeros(3)
    if shared:
        for i in range(n):
            for d in range(after.shape[1]):
                common[d] += (after[i, d] - before[i, d]) / n
    path = np.empty(n)
    for i in range(n):
        square = 0.0
        for d in range(after.shape[1]):
            e = after[i, d] - before[i, d] - common[d]
            square += e * e
        path[i] = np.sqrt(square)
    # A body that is slow now may be hit by others: it is given at least the mean.
    mean = path.sum() / max(n, 1)
    for i in range(n):
        path[i] = max(path[i], mean)
    more = SMALL_WORLD_SLACK if n <= SMALL_WORLD else 1.0
    steps, largest = more * LIST_STEPS, more * LARGEST_SLACK
    while steps >= LEAST_LIST_STEPS:
        fast = 0
        for i in range(n):
            fast += int(steps * path[i] > largest * radius[i])
        if fast <= FAST_FRACTION * n:
            break
        steps *= 0.5
    for i in range(n):
        slack = steps * path[i]
        if slack > largest * radius[i]:
            slack = max(slack, FAST_SLACK * radius[i])
        path[i] = max(more * LEAST_SLACK * radius[i], slack) if steps >= LEAST_LIST_STEPS else 0.0
    return path


@kernel
def nearest_images(place, period, a, b):
    """The code (m,) of the image of body b of each pair that is nearest to body a."""
    out = np.full(len(a), NO_IMAGE)
    for k in range(len(out) if period.max() > 0.0 else 0):
        scale, i, j = 1, np.uint64(a[k]), np.uint64(b[k])
        for d in range(len(period)):
            if period[d] > 0.0:
                out[k] -= scale * int(np.rint((place[j, d] - place[i, d]) / period[d]))
            scale *= CODE_BASE
    return out


@kernel
def ordered(n, a, b, owner, image, is_round):
    """The table of pairs of rows a and b, by bodies, and the number of pairs of round bodies, which come first.

    Rows are bodies, then images of bodies `owner`. `image` (m,) is the code of the image of the second body relative to
    that of the first.
    """
    m, codes, every = len(a), CODE_BASE**3, is_round.all()
    first, key, start = np.empty(m, np.uint32), np.empty(m, np.int64), np.zeros(2 * n + 1, np.int64)
    for k in range(m):
        i, j = owner[np.uint64(a[k])], owner[np.uint64(b[k])]
        first[k] = min(i, j) + (0 if every or (is_round[i] and is_round[j]) else n)
        key[k] = max(i, j) * codes + (image[k] if i < j else 2 * NO_IMAGE - image[k])  # digits change their signs
        start[first[k] + np.uint64(1)] += 1
    for i in range(2 * n):
        start[i + 1] += start[i]
    by_first, fill = np.empty(m, np.int64), start[:-1].copy()
    for k in range(m):
        by_first[np.uint64(fill[first[k]])] = key[k]
        fill[first[k]] += 1
    table = np.empty((m, COLUMNS), np.int32)
    for i in range(n if every else 2 * n):
        if start[i + 1] - start[i] > 1:
            _sort(by_first, start[i], start[i + 1])
        for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
            table[k, FIRST], table[k, SECOND] = i if i < n else i - n, by_first[k] // codes
            table[k, IMAGE], table[k, AXIS] = by_first[k] % codes, 0
    return table, start[n]


@lean
def _sort(key, begin, end):
    """Sorts a range of keys in place: insertion among keys that are ever nearer (Shell 1959), mostly fewer than ten."""
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(begin + gap, end):
            one, at = key[k], k
            while at >= begin + gap and key[at - gap] > one:
                key[at] = key[at - gap]
                at -= gap
            key[at] = one
        gap //= 3


# ---- periodic images of pairs


class Sides(NamedTuple):
    """The periodic sides of a world in a step."""

    length: Vec3  # periods; 0 for axes without
    slide_axis: int  # 0 or 1: axis along which images across the sheared side slide
    sheared_axis: int
    start: float  # by how much they have slid at the start of the step, up to whole periods
    end: float  # and at its end
    speed: float


NO_SIDES = Sides(Vec3(0.0, 0.0, 0.0), 0, 0, 0.0, 0.0, 0.0)


def sides_in_step(periodic: Periodic | None, before: float, after: float) -> Sides:
    """The periodic sides in a step between two times."""
    if periodic is None:
        return NO_SIDES
    length = periods_of(periodic, 3)
    slide, sheared = periodic.slide_axis, periodic.sheared_axis
    speed, period = periodic.shear_rate * float(length[sheared]), float(length[slide])
    whole = math.floor(speed * after / period) * period if speed != 0.0 else 0.0
    return Sides(Vec3(*map(float, length)), slide, sheared, speed * before - whole, speed * after - whole, speed)


@kernel(inline="always")
def periods(image, axis):
    """Number of periods along an axis by which an image is shifted."""
    return ((image >> (4 * axis)) & (CODE_BASE - 1)) - 8


@kernel(inline="always")
def image_offset(sides, image, slide):
    """Displacement from a body to its image, where images across the sheared side have slid by `slide`."""
    x, y, z = periods(image, 0) * sides.length.x, periods(image, 1) * sides.length.y, periods(image, 2) * sides.length.z
    if slide != 0.0:
        along = periods(image, sides.sheared_axis) * slide
        x, y = (x + along, y) if sides.slide_axis == 0 else (x, y + along)
    return Vec3(x, y, z)


@kernel(inline="always")
def image_drift(sides, image):
    """Velocity of an image relative to its body."""
    drift = periods(image, sides.sheared_axis) * sides.speed if sides.speed != 0.0 else 0.0
    return Vec3(drift, 0.0, 0.0) if sides.slide_axis == 0 else Vec3(0.0, drift, 0.0)


@kernel(inline="always")
def put_image(table, n, sides, image):
    """Writes offset and drift of contact n, whose second body is a periodic image."""
    if table.shape[1] == WIDTH:
        return
    offset, drift = image_offset(sides, image, sides.start), image_drift(sides, image)
    for k in range(3):
        table[n, OFFSET + k], table[n, DRIFT + k] = offset[k], drift[k]


# ---- what the narrow phase gets


class Ends(NamedTuple):
    """Both ends of a step: its start (0) and after free flight (1)."""

    position0: Floats  # (n, D)
    orientation0: Floats  # (n, 1) angles or (n, 4) quaternions
    position1: Floats
    orientation1: Floats
    boundary0: Floats  # tables of boundaries
    boundary1: Floats
    margins: Floats  # (n,) predicted gap up to which there is a contact; the larger one of both bodies counts
    sides: Sides
    width: int  # columns of the table of contacts


class Rows(NamedTuple):
    """All bodies, then one row for each pair with a periodic image: what narrow phases of shapes take as bodies."""

    owner: Ints  # (rows,) body
    image: Ints  # (rows,) its image
    position0: Floats  # (rows, D) at the start of the step
    position1: Floats  # (rows, D) after free flight
    pairs: np.ndarray  # the list of pairs, with rows in place of bodies


@kernel
def image_rows(pairs, before, after, sides):
    """The rows of a list of pairs of bodies with the positions `before` and `after` a step."""
    n, m = len(before), 0
    for k in range(len(pairs)):
        m += int(pairs[k, IMAGE] != NO_IMAGE)
    owner, image = np.empty(n + m, np.int64), np.full(n + m, NO_IMAGE)
    for i in range(n):
        owner[i] = i
    if m == 0:
        return Rows(owner, image, before, after, pairs)
    rows, place0, place1 = pairs.copy(), np.empty((n + m, before.shape[1])), np.empty((n + m, before.shape[1]))
    place0[:n] = before
    place1[:n] = after
    row = n
    for k in range(len(pairs)):
        b, code = pairs[k, SECOND], pairs[k, IMAGE]
        if code != NO_IMAGE:
            owner[row], image[row], rows[k, SECOND] = b, code, row
            shift0, shift1 = image_offset(sides, code, sides.start), image_offset(sides, code, sides.end)
            for d in range(before.shape[1]):
                place0[row, d], place1[row, d] = before[b, d] + shift0[d], after[b, d] + shift1[d]
            row += 1
    return Rows(owner, image, place0, place1, rows)


@lean
def rows_to_bodies(table, rows, sides):
    """Replaces the rows in a table of contacts of rows by their bodies, with the offsets of periodic images."""
    for n in range(len(table)):
        row = int(table[n, SECOND])
        if row >= 0 and rows.image[row] != NO_IMAGE:
            table[n, SECOND] = rows.owner[row]
            put_image(table, n, sides, rows.image[row])
