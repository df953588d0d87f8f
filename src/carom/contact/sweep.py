"""Pairs that may meet before a step is over, with the time at which they do.

Each body sweeps a circle round its path to the end of the step; pairs whose circles overlap are kept in a table. An
impact bends the paths of few bodies, and only their pairs are looked up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats, Ints
from ..world import DISC, INSIDE, PLANE, SEGMENT, Boundaries, World
from .broad_phase import neighbors
from .images import counts_once, make_images
from .impact_time import CORNERED, HALF_PLANE, HOLE, ROUND, Paths, Things, first_touch, look

FEW = 100  # bodies up to which all pairs are compared; beyond, the grid finds them


class Table(NamedTuple):
    """Pairs that may meet. `first` is -1 in rows that are not in use."""

    first: Ints
    second: Ints  # a body, or n + k for boundary k
    shift: Floats  # (m, 2) of the periodic image of second, at the start of the step
    drift: Floats  # (m, 2) velocity of that image beyond that of second
    when: Floats  # (m,) time of impact since the start of the step, infinite if there is none


class Span(NamedTuple):
    """What holds for a whole step."""

    step: float
    hop: float  # contacts that leave for less than twice this time are at rest
    touch: float  # gaps below it are contact
    near: float  # gap to which impacts are timed
    period: Floats  # (2,) lengths of the periodic sides, 0 where there are none
    sheared: int  # axis whose image slides
    offset: float  # how far it has slid at the start of the step
    slide: float  # how fast it slides


def things_of(world: World) -> Things:
    """The shapes of all bodies and boundaries; corners of boundaries are filled in by `place_walls`."""
    shapes, walls, n = world.shapes, world.boundaries, world.count
    kinds = {PLANE: HALF_PLANE, INSIDE: HOLE, SEGMENT: CORNERED}
    boundary_kind = np.array([kinds.get(int(k), ROUND) for k in walls.kind], np.int8)
    corners = np.where(walls.kind == SEGMENT, 2, 1)
    ptr = np.concatenate([shapes.vertex_ptr, shapes.vertex_ptr[-1] + np.cumsum(corners)])
    corner = np.zeros((ptr[-1], 2))
    corner[: ptr[n]] = shapes.vertex
    radius = np.concatenate([np.where(shapes.kind == DISC, shapes.radius, 0.0), walls.radius])
    kind = np.concatenate([np.where(shapes.kind == DISC, ROUND, CORNERED).astype(np.int8), boundary_kind])
    return Things(kind, radius, np.concatenate([shapes.radius, np.full(len(walls.kind), np.inf)]), ptr, corner)


def place_walls(things: Things, paths: Paths, walls: Boundaries) -> None:
    """Boundaries where they are at the start of the step, each moving at its velocity about its center."""
    n = len(things.kind) - len(walls.kind)
    arm = walls.point - walls.center
    plane, segment = walls.kind == PLANE, walls.kind == SEGMENT
    begin = things.ptr[n:-1]
    things.corner[begin] = np.where(plane[:, None], walls.axis, arm)
    things.corner[begin[segment] + 1] = (walls.axis - walls.center)[segment]
    things.radius[n:] = np.where(plane, (arm * walls.axis).sum(axis=1), np.where(segment, 0.0, walls.radius))
    far = np.maximum(np.hypot(*arm.T), np.where(segment, np.hypot(*(walls.axis - walls.center).T), 0.0))
    things.bound[n:] = np.where(things.kind[n:] >= HALF_PLANE, np.inf, far + walls.radius)
    paths.place[n:, :2], paths.place[n:, 2] = walls.center, 0.0
    paths.velocity[n:] = walls.velocity
    paths.pull[n:] = 0.0
    paths.since[n:] = 0.0


def span_of(world: World, time: float, step: float, hop: float, touch: float, near: float) -> Span:
    """The constants of a step that begins at `time`."""
    sides = world.periodic
    period = np.zeros(2)
    if sides is None:
        return Span(step, hop, touch, near, period, 1, 0.0, 0.0)
    for axis, side in enumerate((sides.x, sides.y)):
        period[axis] = 0.0 if side is None else side[1] - side[0]
    sheared = 0 if sides.sheared == "x" else 1
    slide = sides.shear_rate * float(period[sheared])
    offset = float(np.fmod(slide * time, period[1 - sheared])) if slide != 0.0 else 0.0
    return Span(step, hop, touch, near, period, sheared, offset, slide)


def all_pairs(
    things: Things, paths: Paths, free: np.ndarray, met: np.ndarray, span: Span, periodic: Periodic | None, time: float
) -> tuple[Table, Floats]:
    """The table of all pairs, and the swept circles (x, y, radius) of all bodies."""
    n = len(free)
    circles = np.empty((n, 3))
    everyone = np.arange(n)
    table = Table(np.full(64, -1), np.zeros(64, np.int64), np.zeros((64, 2)), np.zeros((64, 2)), np.full(64, np.inf))
    narrow = periodic is not None and _widest(things, paths, span, circles) > span.period[span.period > 0.0].min()
    if n <= FEW or narrow:
        return refreshed(things, paths, free, met, span, table, circles, everyone, True), circles
    table = refreshed(things, paths, free, met, span, table, circles, everyone, False)
    a, b, shift, drift = _near(circles, free, span, periodic, time)
    return _added(things, paths, met, span, table, a, b, shift, drift), circles


def _widest(things: Things, paths: Paths, span: Span, circles: Floats) -> float:
    """A length of periodic sides from which on two bodies can meet in no more than one image of a step."""
    sweep(things, paths, np.arange(len(circles)), span, circles)
    return 8.0 * float(circles[:, 2].max()) + 2.0 * abs(span.slide) * span.step


def _near(
    circles: Floats, free: np.ndarray, span: Span, periodic: Periodic | None, time: float
) -> tuple[Ints, Ints, Floats, Floats]:
    """Pairs of bodies whose swept circles overlap, from the grid, with the shifts of their periodic images."""
    place, radius = np.ascontiguousarray(circles[:, :2]), circles[:, 2].copy()
    round_ = np.ones(len(free), np.bool_)
    if periodic is None:
        a, b = neighbors(place, place, radius, round_, free, 0.0)[:2]
        return a, b, np.zeros((len(a), 2)), np.zeros((len(a), 2))
    half = 0.5 * span.step
    images = make_images(periodic, place, radius, abs(span.slide) * half, time + half, 0.0)
    own = images.owner
    place = place[own] + images.shift
    radius = radius[own] + np.abs(images.drift).sum(axis=1) * half
    a, b = neighbors(place, place, radius, round_[own], free[own], 0.0)[:2]
    once = counts_once(images, a, b)
    a, b = a[once], b[once]
    drift = images.drift[b] - images.drift[a]
    shift = images.shift[b] - images.shift[a] - half * drift
    a, b = own[a], own[b]
    swap = a > b
    sign = np.where(swap, -1.0, 1.0)[:, None]
    return np.where(swap, b, a), np.where(swap, a, b), sign * shift, sign * drift


@kernel
def sweep(things, paths, bodies, span, circles):
    """Circles round the paths of the bodies from now to the end of the step: chord, bulge and size."""
    for i in bodies:
        s = span.step - paths.since[i]
        reach = 0.0
        bulge = 0.0
        for k in range(2):
            move = s * (paths.velocity[i, k] + 0.5 * s * paths.pull[i, k])
            circles[i, k] = paths.place[i, k] + 0.5 * move
            reach += move * move
            bulge += paths.pull[i, k] ** 2
        circles[i, 2] = things.bound[i] + 0.5 * np.sqrt(reach) + 0.125 * s * s * np.sqrt(bulge) + span.touch


@kernel
def _row(table, used):
    """A row that is free, from `used` on, and a table that has one."""
    while used < len(table.first) and table.first[used] >= 0:
        used += 1
    if used < len(table.first):
        return table, used
    m = len(table.first)
    bigger = Table(
        np.full(2 * m, -1, np.int64),
        np.zeros(2 * m, np.int64),
        np.zeros((2 * m, 2)),
        np.zeros((2 * m, 2)),
        np.full(2 * m, np.inf),
    )
    bigger.first[:m], bigger.second[:m], bigger.when[:m] = table.first, table.second, table.when
    bigger.shift[:m], bigger.drift[:m] = table.shift, table.drift
    return bigger, m


@kernel
def row_of(table, k):
    return (
        table.first[k],
        table.second[k],
        table.shift[k, 0],
        table.shift[k, 1],
        table.drift[k, 0],
        table.drift[k, 1],
    )


@kernel
def _put(things, paths, met, span, table, used, pair):
    """Adds a pair with the time of its impact."""
    table, k = _row(table, used)
    i, j = pair[0], pair[1]
    table.first[k], table.second[k] = i, j
    table.shift[k, 0], table.shift[k, 1], table.drift[k, 0], table.drift[k, 1] = pair[2], pair[3], pair[4], pair[5]
    start = max(paths.since[i], paths.since[j])
    # If they touch at `start`, they took part in the impact that bent the later of the two paths there.
    settled = (met[i] and paths.since[i] == start) or (j < len(met) and met[j] and paths.since[j] == start)
    table.when[k] = first_touch(things, paths, pair, start, span.step, span.hop, span.touch, span.near, settled)
    return table, k + 1


@kernel
def _added(things, paths, met, span, table, first, second, shift, drift):
    used = 0
    for m in range(len(first)):
        pair = (first[m], second[m], shift[m, 0], shift[m, 1], drift[m, 0], drift[m, 1])
        table, used = _put(things, paths, met, span, table, used, pair)
    return table


@kernel
def _copies(low, length):
    """First and last number of periods that bring a distance between -low[1] and low[1], from low[0]."""
    if length == 0.0:
        return 0, 0
    return int(np.ceil((-low[1] - low[0]) / length)), int(np.floor((low[1] - low[0]) / length))


@kernel
def _pairs_of(things, paths, met, span, table, used, circles, i, j):
    """Adds the pair of bodies i < j, once for each periodic image of j whose circle overlaps that of i."""
    axis = span.sheared
    along = 1 - axis
    reach = circles[i, 2] + circles[j, 2]
    across, beside = circles[j, axis] - circles[i, axis], circles[j, along] - circles[i, along]
    low, high = _copies((across, reach), span.period[axis])
    for m in range(low, high + 1):
        far = across + m * span.period[axis]
        moved, drift = m * span.offset, m * span.slide
        place = beside + moved + 0.5 * span.step * drift
        wide = reach + 0.5 * span.step * abs(drift)
        if abs(far) > wide:
            continue
        left, right = _copies((place, wide), span.period[along])
        for k in range(left, right + 1):
            x = place + k * span.period[along]
            if x * x + far * far <= wide * wide:
                slip = moved + k * span.period[along]
                if axis == 1:
                    pair = (i, j, slip, m * span.period[1], drift, 0.0)
                else:
                    pair = (i, j, m * span.period[0], slip, 0.0, drift)
                table, used = _put(things, paths, met, span, table, used, pair)
    return table, used


@kernel
def _wall_in_reach(things, paths, span, circle, i, wall):
    """Whether the swept circle of body i reaches a boundary, which may move and turn meanwhile."""
    s = span.step - paths.since[i]
    t = paths.since[i] + 0.5 * s
    v = paths.velocity[wall]
    x, y = paths.place[wall, 0] + t * v[0], paths.place[wall, 1] + t * v[1]
    dx, dy = circle[0] - x, circle[1] - y
    far = np.sqrt(dx * dx + dy * dy)
    reach = circle[2] + 0.5 * s * (np.sqrt(v[0] * v[0] + v[1] * v[1]) + abs(v[2]) * (far + circle[2]))
    c, sn = np.cos(t * v[2]), np.sin(t * v[2])
    dx, dy = c * dx + sn * dy, c * dy - sn * dx
    k = things.ptr[wall]
    mx, my = things.corner[k, 0], things.corner[k, 1]
    if things.kind[wall] == HALF_PLANE:
        return mx * dx + my * dy - things.radius[wall] <= reach
    if things.kind[wall] == CORNERED:
        ex, ey = things.corner[k + 1, 0] - mx, things.corner[k + 1, 1] - my
        part = ((dx - mx) * ex + (dy - my) * ey) / (ex * ex + ey * ey)
        part = min(max(part, 0.0), 1.0)
        mx, my = mx + part * ex, my + part * ey
    apart = np.sqrt((dx - mx) ** 2 + (dy - my) ** 2)
    if things.kind[wall] == HOLE:
        return things.radius[wall] - apart <= reach
    return apart - things.radius[wall] <= reach


@kernel
def refreshed(things, paths, free, met, span, table, circles, changed, with_bodies):
    """The table with the pairs of the bodies `changed` looked up anew; their pairs with bodies only if asked."""
    n = len(free)
    mark = np.zeros(n, np.bool_)
    mark[changed] = True
    for k in range(len(table.first)):
        if table.first[k] >= 0 and (mark[table.first[k]] or (table.second[k] < n and mark[table.second[k]])):
            table.first[k] = -1
            table.when[k] = np.inf
    sweep(things, paths, changed, span, circles)
    used = 0
    for i in changed:
        for wall in range(n, len(things.kind)):
            if free[i] and _wall_in_reach(things, paths, span, circles[i], i, wall):
                table, used = _put(things, paths, met, span, table, used, (i, wall, 0.0, 0.0, 0.0, 0.0))
        if not with_bodies:
            continue
        for j in range(n):
            if j == i or (mark[j] and j < i) or not (free[i] or free[j]):
                continue
            reach = circles[i, 2] + circles[j, 2]
            if span.period[0] == 0.0 and abs(circles[i, 0] - circles[j, 0]) > reach:
                continue
            if span.period[1] == 0.0 and abs(circles[i, 1] - circles[j, 1]) > reach:
                continue
            table, used = _pairs_of(things, paths, met, span, table, used, circles, min(i, j), max(i, j))
    return table


@kernel
def together(things, paths, free, span, table, time, later):
    """The rows that have their impact at `time` (or up to `later` after it), and all that touch them then.

    Contact passes on through free bodies: an impact at one end of a row of balls is an impact of the row.
    """
    n, m = len(free), len(table.first)
    mark = np.zeros(n, np.bool_)
    chosen = np.zeros(m, np.int8)  # 1 if taken, 2 if not in touch
    fresh = True
    for k in range(m):
        if table.when[k] <= time + later:
            chosen[k] = 1
            _mark(free, mark, table.first[k], table.second[k])
    while fresh:
        fresh = False
        for k in range(m):
            i, j = table.first[k], table.second[k]
            if chosen[k] != 0 or i < 0 or not (mark[i] or (j < n and mark[j])):
                continue
            gap = look(things, paths, row_of(table, k), time, 0.0, 0.0, span.touch, 0.0, 0.0, 0)[0]
            chosen[k] = 1 if gap <= span.touch else 2
            if chosen[k] == 1 and _mark(free, mark, i, j):
                fresh = True
    return np.flatnonzero(chosen == 1)


@kernel
def _mark(free, mark, i, j):
    fresh = False
    for body in (i, j):
        if body < len(free) and free[body] and not mark[body]:
            mark[body] = True
            fresh = True
    return fresh
