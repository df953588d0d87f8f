"""Time of impact of a pair in 2D, by conservative advancement with bounds that are exact to second order in time.

Every body and every boundary has an outline that moves on a parabola and rotates. A pair of features, such as a vertex
and a rotating face, has a separation `f`. From its value, speed and acceleration and a bound K on its third derivative

    f(t + s) >= f + f' s + f'' s^2 / 2 - K s^3 / 6,

so the features do not touch before the first root of the right side. Steps of that length never pass a touch, and
converge as Newton's method does. For two discs with the same acceleration, a disc and a plane, or a disc in a drum
without gravity the bound is the separation itself, and the first step ends at the touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..geometry.vectors import Vec2, cross, dot, norm, perpendicular, row2
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints
from .roots import first_root

ROUND, POLYGONAL, HALF_PLANE, HOLE = 0, 1, 2, 3
MOST_ADVANCES_2D = 80  # of the advancement; then the pair gets an impact where it is, and continues from there
VERTEX_BITS = 31  # vertices of a polygon that have a feature bit of their own; the others share the last one
BOUND_SPANS = 16  # lengths of time that are tried for the cubic bound, each a quarter of the one before
APPROACH_NOISE = 1e-12  # speed of approach, relative to the speeds of the pair, that is rounding error


class Outlines(NamedTuple):
    """Outlines of all bodies, followed by those of all N - n boundaries.

    Vertices are relative to the point about which an outline rotates. The vertex of a half-plane is its normal, its
    radius the distance of the line from that point. A circle may have one vertex, which is its center.
    """

    kind: np.ndarray  # (N,) ROUND, POLYGONAL, HALF_PLANE, HOLE
    radius: Floats  # (N,)
    bound: Floats  # (N,) radius of the bounding circle
    ptr: Ints  # (N + 1,) outline i has the vertices ptr[i]:ptr[i + 1]
    vertex: Floats  # (k, 2)


class Paths(NamedTuple):
    """Motion of all outlines until their next impact, `q = place + s (velocity + s acceleration / 2)`, `s = t - since`.

    Times are relative to the start of the step. Components are x, y, angle.
    """

    place: Floats  # (N, 3)
    velocity: Floats  # (N, 3)
    acceleration: Floats  # (N, 3)
    since: Floats  # (N,) time at which the path begins


class Pair(NamedTuple):
    """Two outlines. The second one is at its place plus `shift + t drift`, where its periodic image is."""

    first: int
    second: int
    shift: Vec2
    drift: Vec2


class Span(NamedTuple):
    """Constants of a step."""

    step: float
    hop: float  # a contact that separates for less than twice this time is at rest
    touch: float  # gap up to which bodies touch
    near: float  # gap up to which impacts are timed


class Kinematics(NamedTuple):
    """An outline at a time."""

    position: Vec2
    velocity: Vec2
    acceleration: Vec2
    turn: Vec2  # cosine and sine of its angle; (1, 0) for an outline without vertices
    spin: float
    twist: float  # angular acceleration


class MovingPoint(NamedTuple):
    """A point of an outline at a time."""

    position: Vec2
    velocity: Vec2
    acceleration: Vec2
    jerk: float  # bound on the rest of the step


class Search(NamedTuple):
    """What the bounds on separations take into account."""

    rest: float  # time until the end of the step
    slack: float  # added to the gap
    near: float  # gap below which an approach slower than `noise` counts as none
    noise: float
    ignored: int  # features whose bit is set are skipped


class Bound(NamedTuple):
    """The separation of two features."""

    gap: float  # to first order
    speed: float
    acceleration: float
    free: float  # time for which they do not touch
    feature: int


@lean
def kinematics(outlines, paths, i, t):
    """Outline i at a time."""
    s = t - paths.since[i]
    v, a = row2(paths.velocity, i), row2(paths.acceleration, i)
    spin, twist, turn = paths.velocity[i, 2], paths.acceleration[i, 2], Vec2(1.0, 0.0)
    if outlines.ptr[i + 1] > outlines.ptr[i]:
        angle = paths.place[i, 2] + s * (spin + 0.5 * s * twist)
        if angle != 0.0:
            turn = Vec2(np.cos(angle), np.sin(angle))
    return Kinematics(row2(paths.place, i) + s * (v + 0.5 * s * a), v + s * a, a, turn, spin + s * twist, twist)


@lean
def advance(paths, bodies, time):
    """Advances the beginning of the paths of some bodies to `time`. Writes `paths`."""
    for i in bodies:
        s = time - paths.since[i]
        if s == 0.0:
            continue
        for k in range(3):
            # The mean velocity is formed first: where it is zero by symmetry, the displacement is exactly zero.
            paths.place[i, k] += s * (paths.velocity[i, k] + 0.5 * s * paths.acceleration[i, k])
            paths.velocity[i, k] += s * paths.acceleration[i, k]
        paths.since[i] = time


@kernel(inline="always")
def rotated(a, turn):
    """A vector, rotated by an angle whose cosine and sine are given."""
    return Vec2(turn.x * a.x - turn.y * a.y, turn.y * a.x + turn.x * a.y)


@kernel
def _point(at, arm, rest):
    """The point of an outline with the place `arm` in its frame."""
    if arm.x == 0.0 and arm.y == 0.0:
        return MovingPoint(at.position, at.velocity, at.acceleration, 0.0)
    e = rotated(arm, at.turn)
    fast, twist = abs(at.spin) + abs(at.twist) * rest, abs(at.twist)
    jerk = norm(arm) * fast * (fast * fast + 3.0 * twist)
    velocity = at.velocity + at.spin * perpendicular(e)
    acceleration = at.acceleration - at.spin * at.spin * e + at.twist * perpendicular(e)
    return MovingPoint(at.position + e, velocity, acceleration, jerk)


@kernel
def _bound(c, b, k, j0, j1, search):
    """The separation with value c, speed b, acceleration k, and a third derivative of at least `-(j0 + j1 s)` after s.

    For s <= d the cubic term is bounded by `(j0 + j1 d) d / 3 * s^2 / 2`; long spans d are tried first.
    """
    gap, speed, rest = max(c, 0.0), b, search.rest
    if gap <= search.near and -search.noise <= b < 0.0:
        speed = 0.0
    if j0 == 0.0 and j1 == 0.0:
        return Bound(c, b, k, min(first_root(gap, speed, k), rest), 0)
    best, d = 0.0, rest
    for _ in range(BOUND_SPANS):
        best = max(best, min(first_root(gap, speed, k - (j0 + j1 * d) * d / 3.0), d))
        d *= 0.25
        if d <= best:
            break
    return Bound(c, b, k, best, 0)


@kernel
def _circle(p, q, radius, sign, search):
    """Separation `sign (|q - p|^2 - radius^2) / (2 radius)` of two points."""
    d, v, a = q.position - p.position, q.velocity - p.velocity, q.acceleration - p.acceleration
    jerk, rest = p.jerk + q.jerk, search.rest
    square, apart, pull = dot(v, v), norm(d), norm(a)
    c = sign * 0.5 * (apart - radius) * (apart + radius) / radius + search.slack
    b = sign * dot(d, v) / radius
    k = sign * (square + d.x * a.x + d.y * a.y) / radius
    if jerk == 0.0:
        j0 = max(0.0, -sign * 3.0 * dot(v, a) / radius)
        j1 = 3.0 * pull * pull / radius if sign < 0.0 else 0.0
    else:
        speed, most = np.sqrt(square), pull + jerk * rest
        j0 = (3.0 * speed * pull + apart * jerk) / radius
        j1 = (3.0 * (speed * jerk + most * (pull + jerk * rest)) + (speed + most * rest) * jerk) / radius
    return _bound(c, b, k, j0, j1, search)


@kernel
def _side(at, n, height, q, search):
    """Separation `n . (q - place) - height` of a point from a line that rotates with an outline."""
    d, v, a = q.position - at.position, q.velocity - at.velocity, q.acceleration - at.acceleration
    w, alpha, rest = at.spin, at.twist, search.rest
    c, b, k = dot(n, d) - height + search.slack, dot(n, v), dot(n, a)
    j0, j1 = q.jerk, 0.0
    if w != 0.0 or alpha != 0.0:
        b += w * cross(n, d)
        k += 2.0 * w * cross(n, v) - w * w * dot(n, d) + alpha * cross(n, d)
        fast, twist = abs(w) + abs(alpha) * rest, abs(alpha)
        pull, speed = norm(a), norm(v)
        most = pull + q.jerk * rest
        first, second = 3.0 * (fast * fast + twist), fast * (fast * fast + 3.0 * twist)
        j0 += 3.0 * fast * pull + first * speed + second * norm(d)
        j1 = 3.0 * fast * q.jerk + first * most + second * (speed + most * rest)
    return _bound(c, b, k, j0, j1, search)


@kernel
def _nothing():
    """The bound where no features can touch."""
    return Bound(np.inf, 0.0, 0.0, np.inf, 0)


@kernel
def _sooner(one, found, feature, search):
    """Of two features that can both touch, the one that may touch first; ignored features cannot touch."""
    if (search.ignored >> feature) & 1:
        return one
    if found.free < one.free or (found.free == one.free and found.gap < one.gap):
        return Bound(found.gap, found.speed, found.acceleration, found.free, feature)
    return one


@kernel(inline="always")
def _vertex_bit(k):
    """The feature bit of vertex k."""
    return min(k, VERTEX_BITS - 1)


@kernel(inline="always")
def _edge(outlines, i, k):
    """Vertex k, the unit vector along the edge to the next vertex, and its length, in the frame of the outline."""
    after = k + 1 if k + 1 < outlines.ptr[i + 1] else outlines.ptr[i]
    a = row2(outlines.vertex, k)
    e = row2(outlines.vertex, after) - a
    length = norm(e)
    return a, e / length, length


@lean
def _disc_on_edges(outlines, i, at, q, radius, search):
    """A disc with center q and a polygon: it touches at a vertex, or at a face while its center is above that face."""
    best = _nothing()
    for k in range(outlines.ptr[i], outlines.ptr[i + 1]):
        bit = _vertex_bit(k - outlines.ptr[i])
        a, e, length = _edge(outlines, i, k)
        best = _sooner(best, _circle(_point(at, a, search.rest), q, radius, 1.0, search), bit, search)
        along, height = dot(e, a), cross(a, e)
        t = rotated(e, at.turn)
        n = Vec2(t.y, -t.x)
        face = _side(at, n, height + radius, q, search)
        # A disc beside the face, or behind it, cannot touch the face: the bound that holds longest counts.
        bar = Search(search.rest, 0.0, search.near, search.noise, search.ignored)
        for beside in (
            _side(at, -t, -along, q, bar),
            _side(at, t, along + length, q, bar),
            _side(at, -n, -height, q, bar),
        ):
            if beside.gap > 0.0 and (beside.free > face.free or face.gap < 0.0):
                face = beside
        best = _sooner(best, face, VERTEX_BITS + bit, search)
    return best


@lean
def _separating_face(outlines, i, at, j, other, best, bits, search):
    """The face of polygon i that separates it from polygon j for the longest time, if longer than `best`."""
    for k in range(outlines.ptr[i], outlines.ptr[i + 1]):
        a, e, _ = _edge(outlines, i, k)
        n = rotated(Vec2(e.y, -e.x), at.turn)
        least, worst = np.inf, _nothing()
        for m in range(outlines.ptr[j], outlines.ptr[j + 1]):
            bit = bits + _vertex_bit(m - outlines.ptr[j])
            if (search.ignored >> bit) & 1:
                continue
            found = _side(at, n, cross(a, e), _point(other, row2(outlines.vertex, m), search.rest), search)
            least = min(least, found.gap)
            worst = _sooner(worst, found, bit, search)
        if least < -search.near:  # this axis does not separate them any more
            worst = Bound(least, worst.speed, worst.acceleration, -1.0, worst.feature)
        if worst.free > best.free or (worst.free == best.free and least > best.gap):
            best = worst
    return best


@lean
def _against_boundary(outlines, i, at, j, boundary, round_body, search):
    """A body and a half-plane, or the inside of a circle: all its vertices, or its bounding circle."""
    radius = outlines.bound[i] if round_body else 0.0
    best, begin = _nothing(), outlines.ptr[i]
    mark = row2(outlines.vertex, outlines.ptr[j])
    center, n = _point(boundary, mark, search.rest), rotated(mark, boundary.turn)
    for k in range(1 if round_body else outlines.ptr[i + 1] - begin):
        q = _point(at, Vec2(0.0, 0.0) if round_body else row2(outlines.vertex, begin + k), search.rest)
        if outlines.kind[j] == HALF_PLANE:
            found = _side(boundary, n, outlines.radius[j] + radius, q, search)
        else:
            found = _circle(center, q, outlines.radius[j] - radius, -1.0, search)
        best = _sooner(best, found, _vertex_bit(k), search)
    return best


@kernel(inline="always")
def _center(outlines, i):
    """Center of a round outline, in its own frame."""
    k = outlines.ptr[i]
    return row2(outlines.vertex, k) if outlines.kind[i] == ROUND and outlines.ptr[i + 1] > k else Vec2(0.0, 0.0)


@lean
def _rounded(outlines, i, at, j, other, edges, search):
    """As `separation`, for the bounding circle of the first outline, and that of the second unless `edges` is set."""
    if outlines.kind[j] >= HALF_PLANE:
        return _against_boundary(outlines, i, at, j, other, True, search)
    p = _point(at, Vec2(0.0, 0.0), search.rest)
    if edges:
        return _disc_on_edges(outlines, j, other, p, outlines.bound[i], search)
    q = _point(other, _center(outlines, j), search.rest)
    radius = outlines.bound[i] + (outlines.radius[j] if outlines.kind[j] == ROUND else outlines.bound[j])
    return _sooner(_nothing(), _circle(p, q, radius, 1.0, search), 0, search)


@lean
def separation(outlines, paths, pair, t, touch, search):
    """The bound on the separation of a pair at a time, with the features that may touch first."""
    i, j = pair.first, pair.second
    at, o = kinematics(outlines, paths, i, t), kinematics(outlines, paths, j, t)
    place = o.position + pair.shift + t * pair.drift
    other = Kinematics(place, o.velocity + pair.drift, o.acceleration, o.turn, o.spin, o.twist)
    edges, edges_j = outlines.kind[i] == POLYGONAL, outlines.kind[j] == POLYGONAL
    if edges or edges_j:
        # While the bounding circles are apart, rotation does not matter, and the bound is nearly exact.
        circles = Search(search.rest, search.slack, search.near, search.noise, 0)
        apart = _rounded(outlines, i, at, j, other, False, circles)
        if apart.gap - search.slack > touch:
            return apart
    if not edges:
        return _rounded(outlines, i, at, j, other, edges_j, search)
    if edges_j:
        best = Bound(-np.inf, 0.0, 0.0, -2.0, 0)
        best = _separating_face(outlines, i, at, j, other, best, 0, search)
        best = _separating_face(outlines, j, other, i, at, best, VERTEX_BITS, search)
        return Bound(best.gap, best.speed, best.acceleration, max(best.free, 0.0), best.feature)
    if outlines.kind[j] != ROUND:
        return _against_boundary(outlines, i, at, j, other, False, search)
    q = _point(other, _center(outlines, j), search.rest)
    return _disc_on_edges(outlines, i, at, q, outlines.radius[j], search)


@kernel(inline="always")
def gap_at(outlines, paths, pair, t, touch):
    """The gap of a pair at a time, to first order."""
    return separation(outlines, paths, pair, t, touch, Search(0.0, 0.0, 0.0, 0.0, 0)).gap


@kernel(inline="always")
def _noise(outlines, paths, pair):
    """Speed of approach of a pair that is rounding error."""
    total = abs(pair.drift.x) + abs(pair.drift.y)
    for i in (pair.first, pair.second):
        v = paths.velocity[i]
        total += abs(v[0]) + abs(v[1])
        if outlines.kind[i] == POLYGONAL:
            total += abs(v[2]) * outlines.bound[i]
    return APPROACH_NOISE * total


@lean
def time_of_impact(outlines, paths, pair, start, span, settled):
    """Time of the first impact of a pair between `start` and the end of the step; infinite if there is none.

    A pair that touches at the start (gap below `span.touch`) and approaches has its impact there; so has a pair that
    rests, which separates for no longer than twice the time `span.hop`. If `settled`, an impact has just been resolved
    there, and such features are ignored: all that touch, also those that overlap less than the deepest one. Overlap may
    stay but must not become deeper.
    """
    t, slack, ignored, noise = start, 0.0, 0, _noise(outlines, paths, pair)
    near, touch, end = span.near, span.touch, span.step
    f = separation(outlines, paths, pair, t, touch, Search(end - t, slack, near, noise, ignored))
    while f.gap - slack <= touch:
        slack = max(slack, slack - f.gap)
        lying = f.speed < -noise or (f.acceleration < 0.0 and f.speed <= max(noise, -f.acceleration * span.hop))
        if lying and not settled:
            return start
        if not lying and slack == 0.0:
            break
        if lying:
            ignored |= 1 << f.feature
        f = separation(outlines, paths, pair, t, touch, Search(end - t, slack, near, noise, ignored))
        if not lying:
            break
    for _ in range(MOST_ADVANCES_2D):
        if f.free >= end - t:
            return np.inf
        if f.gap <= near and f.speed < -noise:
            return t + f.free
        if f.gap <= near and t > start and f.speed <= noise and f.acceleration < 0.0:
            return t
        t += f.free
        f = separation(outlines, paths, pair, t, touch, Search(end - t, slack, near, noise, ignored))
    return t
