"""The table of pairs that may meet within a step in 2D, with their times of impact.

The path of each body to the end of the step has a bounding circle; pairs whose circles overlap are kept in a table. An
impact changes the paths of few bodies, and only their pairs are computed again.
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
from .time_of_impact_2d import HALF_PLANE, HOLE, POLYGONAL, ROUND, Outlines, Paths, separation, time_of_impact

FEW = 100  # number of bodies up to which all pairs are compared; with more, the broad phase is used
ROWS = 64  # initial number of rows of the table


class Table(NamedTuple):
    """m pairs that may meet. `first` is -1 in rows that are not in use."""

    first: Ints  # (m,) a body
    second: Ints  # (m,) a body, or n + k for boundary k
    shift: Floats  # (m, 2) of the periodic image of second, at the start of the step
    drift: Floats  # (m, 2) velocity of that image minus that of second
    when: Floats  # (m,) time of impact from the start of the step; infinite if there is none


class Span(NamedTuple):
    """Constants of a step."""

    step: float
    hop: float  # a contact that separates for less than twice this time is at rest
    touch: float  # gap up to which bodies touch
    near: float  # gap up to which impacts are timed
    period: Floats  # (2,) lengths of the periodic sides, 0 where there are none
    sheared: int  # axis whose images slide
    offset: float  # their displacement at the start of the step
    slide: float  # their speed


def outlines_of(world: World) -> Outlines:
    """The outlines of all bodies and boundaries; `place_boundaries` sets the vertices of boundaries."""
    shapes, boundaries, n = world.shapes_2d, world.boundaries, world.count
    kinds = {PLANE: HALF_PLANE, INSIDE: HOLE, SEGMENT: POLYGONAL}
    boundary_kind = np.array([kinds.get(int(k), ROUND) for k in boundaries.kind], np.int8)
    corners = np.where(boundaries.kind == SEGMENT, 2, 1)
    ptr = np.concatenate([shapes.vertex_ptr, shapes.vertex_ptr[-1] + np.cumsum(corners)])
    corner = np.zeros((ptr[-1], 2))
    corner[: ptr[n]] = shapes.vertex
    radius = np.concatenate([np.where(shapes.kind == DISC, shapes.radius, 0.0), boundaries.radius])
    kind = np.concatenate([np.where(shapes.kind == DISC, ROUND, POLYGONAL).astype(np.int8), boundary_kind])
    return Outlines(kind, radius, np.concatenate([shapes.radius, np.full(len(boundaries.kind), np.inf)]), ptr, corner)


def place_boundaries(outlines: Outlines, paths: Paths, boundaries: Boundaries) -> None:
    """Sets outlines and paths of the boundaries for a step; each moves at its velocity about its center."""
    n = len(outlines.kind) - len(boundaries.kind)
    arm = boundaries.point - boundaries.center
    plane, segment = boundaries.kind == PLANE, boundaries.kind == SEGMENT
    begin = outlines.ptr[n:-1]
    outlines.corner[begin] = np.where(plane[:, None], boundaries.axis, arm)
    outlines.corner[begin[segment] + 1] = (boundaries.axis - boundaries.center)[segment]
    outlines.radius[n:] = np.where(
        plane, (arm * boundaries.axis).sum(axis=1), np.where(segment, 0.0, boundaries.radius)
    )
    far = np.maximum(np.hypot(*arm.T), np.where(segment, np.hypot(*(boundaries.axis - boundaries.center).T), 0.0))
    outlines.bound[n:] = np.where(outlines.kind[n:] >= HALF_PLANE, np.inf, far + boundaries.radius)
    paths.place[n:, :2], paths.place[n:, 2] = boundaries.center, 0.0
    paths.velocity[n:] = boundaries.velocity
    paths.acceleration[n:] = 0.0
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
    outlines: Outlines,
    paths: Paths,
    free: np.ndarray,
    met: np.ndarray,
    span: Span,
    periodic: Periodic | None,
    time: float,
) -> tuple[Table, Floats]:
    """The table of all pairs, and the bounding circles (n, 3) of the paths of all bodies: x, y, radius."""
    n = len(free)
    circles = np.empty((n, 3))
    everyone = np.arange(n)
    table = _empty_table(ROWS)
    narrow = periodic is not None and _widest(outlines, paths, span, circles) > span.period[span.period > 0.0].min()
    if n <= FEW or narrow:
        return refreshed(outlines, paths, free, met, span, table, circles, everyone, True), circles
    table = refreshed(outlines, paths, free, met, span, table, circles, everyone, False)
    a, b, shift, drift = _near(circles, free, span, periodic, time)
    return _added(outlines, paths, met, span, table, a, b, shift, drift), circles


def _widest(outlines: Outlines, paths: Paths, span: Span, circles: Floats) -> float:
    """A length of periodic sides from which on two bodies can meet in only one of their images within a step."""
    _bound_paths(outlines, paths, np.arange(len(circles)), span, circles)
    return 8.0 * float(circles[:, 2].max()) + 2.0 * abs(span.slide) * span.step


def _near(
    circles: Floats, free: np.ndarray, span: Span, periodic: Periodic | None, time: float
) -> tuple[Ints, Ints, Floats, Floats]:
    """Pairs of bodies whose bounding circles overlap, by the broad phase, with the shifts of their periodic images."""
    place, radius = np.ascontiguousarray(circles[:, :2]), circles[:, 2].copy()
    if periodic is None:
        a, b = neighbors(place, radius, free, 0.0)
        return a, b, np.zeros((len(a), 2)), np.zeros((len(a), 2))
    half = 0.5 * span.step
    images = make_images(periodic, place, radius, abs(span.slide) * half, time + half, 0.0)
    own = images.owner
    place = place[own] + images.shift
    radius = radius[own] + np.abs(images.drift).sum(axis=1) * half
    a, b = neighbors(place, radius, free[own], 0.0)
    once = counts_once(images, a, b)
    a, b = a[once], b[once]
    drift = images.drift[b] - images.drift[a]
    shift = images.shift[b] - images.shift[a] - half * drift
    a, b = own[a], own[b]
    swap = a > b
    sign = np.where(swap, -1.0, 1.0)[:, None]
    return np.where(swap, b, a), np.where(swap, a, b), sign * shift, sign * drift


@kernel
def _bound_paths(outlines, paths, bodies, span, circles):
    """Bounding circles of the paths of bodies to the end of the step: chord, curvature and size. Writes `circles`."""
    for i in bodies:
        s = span.step - paths.since[i]
        reach = 0.0
        bulge = 0.0
        for k in range(2):
            move = s * (paths.velocity[i, k] + 0.5 * s * paths.acceleration[i, k])
            circles[i, k] = paths.place[i, k] + 0.5 * move
            reach += move * move
            bulge += paths.acceleration[i, k] ** 2
        circles[i, 2] = outlines.bound[i] + 0.5 * np.sqrt(reach) + 0.125 * s * s * np.sqrt(bulge) + span.touch


@kernel
def _empty_table(rows):
    return Table(
        np.full(rows, -1, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((rows, 2)),
        np.zeros((rows, 2)),
        np.full(rows, np.inf),
    )


@kernel
def _unused_row(table, used):
    """The table, enlarged if it is full, and its first unused row from `used` on."""
    while used < len(table.first) and table.first[used] >= 0:
        used += 1
    if used < len(table.first):
        return table, used
    m = len(table.first)
    bigger = _empty_table(2 * m)
    bigger.first[:m], bigger.second[:m], bigger.when[:m] = table.first, table.second, table.when
    bigger.shift[:m], bigger.drift[:m] = table.shift, table.drift
    return bigger, m


@kernel
def _pair(table, k):
    """Row k as a pair of `time_of_impact_2d.separation`."""
    return (
        table.first[k],
        table.second[k],
        table.shift[k, 0],
        table.shift[k, 1],
        table.drift[k, 0],
        table.drift[k, 1],
    )


@kernel
def _put(outlines, paths, met, span, table, used, pair):
    """Adds a pair with its time of impact; returns the table and the row after it."""
    table, k = _unused_row(table, used)
    i, j = pair[0], pair[1]
    table.first[k], table.second[k] = i, j
    table.shift[k, 0], table.shift[k, 1], table.drift[k, 0], table.drift[k, 1] = pair[2], pair[3], pair[4], pair[5]
    start = max(paths.since[i], paths.since[j])
    # If they touch at `start`, they took part in the impact at which the later of the two paths begins.
    settled = (met[i] and paths.since[i] == start) or (j < len(met) and met[j] and paths.since[j] == start)
    table.when[k] = time_of_impact(outlines, paths, pair, start, span.step, span.hop, span.touch, span.near, settled)
    return table, k + 1


@kernel
def _added(outlines, paths, met, span, table, first, second, shift, drift):
    """The table with more pairs."""
    used = 0
    for m in range(len(first)):
        pair = (first[m], second[m], shift[m, 0], shift[m, 1], drift[m, 0], drift[m, 1])
        table, used = _put(outlines, paths, met, span, table, used, pair)
    return table


@kernel
def _copies(low, length):
    """First and last number of periods that bring the distance low[0] between -low[1] and low[1]."""
    if length == 0.0:
        return 0, 0
    return int(np.ceil((-low[1] - low[0]) / length)), int(np.floor((low[1] - low[0]) / length))


@kernel
def _pairs_of(outlines, paths, met, span, table, used, circles, i, j):
    """Adds the pair of bodies i < j once for each periodic image of j whose bounding circle overlaps that of i."""
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
                table, used = _put(outlines, paths, met, span, table, used, pair)
    return table, used


@kernel
def _boundary_in_reach(outlines, paths, span, circle, i, boundary):
    """Whether the bounding circle of the path of body i reaches a boundary, which may move and rotate."""
    s = span.step - paths.since[i]
    t = paths.since[i] + 0.5 * s
    v = paths.velocity[boundary]
    x, y = paths.place[boundary, 0] + t * v[0], paths.place[boundary, 1] + t * v[1]
    dx, dy = circle[0] - x, circle[1] - y
    far = np.sqrt(dx * dx + dy * dy)
    reach = circle[2] + 0.5 * s * (np.sqrt(v[0] * v[0] + v[1] * v[1]) + abs(v[2]) * (far + circle[2]))
    c, sn = np.cos(t * v[2]), np.sin(t * v[2])
    dx, dy = c * dx + sn * dy, c * dy - sn * dx
    k = outlines.ptr[boundary]
    mx, my = outlines.corner[k, 0], outlines.corner[k, 1]
    if outlines.kind[boundary] == HALF_PLANE:
        return mx * dx + my * dy - outlines.radius[boundary] <= reach
    if outlines.kind[boundary] == POLYGONAL:
        ex, ey = outlines.corner[k + 1, 0] - mx, outlines.corner[k + 1, 1] - my
        part = ((dx - mx) * ex + (dy - my) * ey) / (ex * ex + ey * ey)
        part = min(max(part, 0.0), 1.0)
        mx, my = mx + part * ex, my + part * ey
    apart = np.sqrt((dx - mx) ** 2 + (dy - my) ** 2)
    if outlines.kind[boundary] == HOLE:
        return outlines.radius[boundary] - apart <= reach
    return apart - outlines.radius[boundary] <= reach


@kernel
def refreshed(outlines, paths, free, met, span, table, circles, changed, with_bodies):
    """The table with the pairs of the bodies `changed` computed again; those with other bodies if `with_bodies`."""
    n = len(free)
    mark = np.zeros(n, np.bool_)
    mark[changed] = True
    for k in range(len(table.first)):
        if table.first[k] >= 0 and (mark[table.first[k]] or (table.second[k] < n and mark[table.second[k]])):
            table.first[k] = -1
            table.when[k] = np.inf
    _bound_paths(outlines, paths, changed, span, circles)
    used = 0
    for i in changed:
        for boundary in range(n, len(outlines.kind)):
            if free[i] and _boundary_in_reach(outlines, paths, span, circles[i], i, boundary):
                table, used = _put(outlines, paths, met, span, table, used, (i, boundary, 0.0, 0.0, 0.0, 0.0))
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
            table, used = _pairs_of(outlines, paths, met, span, table, used, circles, min(i, j), max(i, j))
    return table


@kernel
def simultaneous(outlines, paths, free, span, table, time, later):
    """The rows with an impact at `time`, or up to `later` after it, and all rows that touch them then.

    Contact extends through free bodies: an impact at one end of a row of balls is an impact of the whole row.
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
            gap = separation(outlines, paths, _pair(table, k), time, 0.0, 0.0, span.touch, 0.0, 0.0, 0)[0]
            chosen[k] = 1 if gap <= span.touch else 2
            if chosen[k] == 1 and _mark(free, mark, i, j):
                fresh = True
    return np.flatnonzero(chosen == 1)


@kernel
def _mark(free, mark, i, j):
    """Marks the free bodies among i and j; returns whether one of them was not marked before."""
    fresh = False
    for body in (i, j):
        if body < len(free) and free[body] and not mark[body]:
            mark[body] = True
            fresh = True
    return fresh
