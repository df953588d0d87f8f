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

from ..kernels import kernel
from ..solvers.rows import Floats, Ints

ROUND, POLYGONAL, HALF_PLANE, HOLE = 0, 1, 2, 3
MOST_ITERATIONS = 80  # of the advancement; then the pair gets an impact where it is, and continues from there
MANY_CORNERS = 31  # vertices of a polygon that have a feature bit of their own; the others share the last one
SPANS = 16  # lengths of time that are tried for the cubic bound, each a quarter of the one before
NOISE = 1e-12  # speed of approach, relative to the speeds of the pair, up to which an approach is rounding error


class Outlines(NamedTuple):
    """Outlines of all bodies, followed by those of all N - n boundaries.

    Vertices are relative to the point about which an outline rotates. The vertex of a half-plane is its normal, its
    radius the distance of the line from that point. A circle may have one vertex, which is its center.
    """

    kind: np.ndarray  # (N,) ROUND, POLYGONAL, HALF_PLANE, HOLE
    radius: Floats  # (N,)
    bound: Floats  # (N,) radius of the bounding circle
    ptr: Ints  # (N + 1,) outline i has the vertices ptr[i]:ptr[i + 1]
    corner: Floats  # (k, 2) vertices


class Paths(NamedTuple):
    """Motion of all outlines until their next impact, `q = place + s (velocity + s acceleration / 2)`, `s = t - since`.

    Times are relative to the start of the step. Components are x, y, angle.
    """

    place: Floats  # (N, 3)
    velocity: Floats  # (N, 3)
    acceleration: Floats  # (N, 3)
    since: Floats  # (N,) time at which the path begins


@kernel
def pose(paths, i, t):
    """Position, velocity and acceleration (x, y, angle each) of an outline at a time."""
    s = t - paths.since[i]
    q, v, a = paths.place[i], paths.velocity[i], paths.acceleration[i]
    return (
        q[0] + s * (v[0] + 0.5 * s * a[0]),
        q[1] + s * (v[1] + 0.5 * s * a[1]),
        q[2] + s * (v[2] + 0.5 * s * a[2]),
        v[0] + s * a[0],
        v[1] + s * a[1],
        v[2] + s * a[2],
        a[0],
        a[1],
        a[2],
    )


@kernel
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


@kernel
def _point(at, rx, ry, rest):
    """Position, velocity and acceleration of a point of an outline, and a bound on its jerk over the time `rest`."""
    x, y, angle, vx, vy, w, ax, ay, alpha = at
    if rx == 0.0 and ry == 0.0:
        return x, y, vx, vy, ax, ay, 0.0
    c, s = np.cos(angle), np.sin(angle)
    ex, ey = c * rx - s * ry, s * rx + c * ry
    fast, twist = abs(w) + abs(alpha) * rest, abs(alpha)
    jerk = np.sqrt(rx * rx + ry * ry) * fast * (fast * fast + 3.0 * twist)
    return x + ex, y + ey, vx - w * ey, vy + w * ex, ax - w * w * ex - alpha * ey, ay - w * w * ey + alpha * ex, jerk


@kernel
def _root(c, b, k):
    """The first s >= 0 with `c + b s + k s^2 / 2 <= 0`, for c >= 0; infinite if there is none."""
    square = b * b - 2.0 * k * c
    if square < 0.0:
        return np.inf
    if b < 0.0:
        return 2.0 * c / (np.sqrt(square) - b)
    return (b + np.sqrt(square)) / -k if k < 0.0 else np.inf


@kernel
def _free_time(c, b, k, j0, j1, rest, near, noise):
    """Time for which `c + b s + k s^2 / 2 - (j0 + j1 d) s^3 / 6` (for s up to d) stays above 0, at most `rest`.

    For s <= d the cubic term is bounded by `(j0 + j1 d) d / 3 * s^2 / 2`; long spans d are tried first.
    """
    c = max(c, 0.0)
    if c <= near and -noise <= b < 0.0:
        b = 0.0
    if j0 == 0.0 and j1 == 0.0:
        return min(_root(c, b, k), rest)
    best, d = 0.0, rest
    for _ in range(SPANS):
        s = min(_root(c, b, k - (j0 + j1 * d) * d / 3.0), d)
        best = max(best, s)
        d *= 0.25
        if d <= best:
            break
    return best


@kernel
def _circle(p, q, reach, sign, slack, rest, near, noise):
    """Separation `sign (|q - p|^2 - reach^2) / (2 reach)`: value, speed, acceleration, time above 0."""
    x, y, vx, vy, ax, ay = q[0] - p[0], q[1] - p[1], q[2] - p[2], q[3] - p[3], q[4] - p[4], q[5] - p[5]
    jerk = p[6] + q[6]
    square, inner = vx * vx + vy * vy, vx * ax + vy * ay
    apart = np.sqrt(x * x + y * y)
    c = sign * 0.5 * (apart - reach) * (apart + reach) / reach + slack
    b = sign * (x * vx + y * vy) / reach
    k = sign * (square + x * ax + y * ay) / reach
    pull = np.sqrt(ax * ax + ay * ay)
    if jerk == 0.0:
        j0 = max(0.0, -sign * 3.0 * inner / reach)
        j1 = 3.0 * pull * pull / reach if sign < 0.0 else 0.0
    else:
        speed, most = np.sqrt(square), pull + jerk * rest
        j0 = (3.0 * speed * pull + apart * jerk) / reach
        j1 = (3.0 * (speed * jerk + most * (pull + jerk * rest)) + (speed + most * rest) * jerk) / reach
    return c, b, k, _free_time(c, b, k, j0, j1, rest, near, noise)


@kernel
def _side(at, nx, ny, height, q, slack, rest, near, noise):
    """Separation `n . (q - place) - height` of a point from a line that rotates with an outline; returns as _circle."""
    x, y, vx, vy = q[0] - at[0], q[1] - at[1], q[2] - at[3], q[3] - at[4]
    ax, ay, w, alpha = q[4] - at[6], q[5] - at[7], at[5], at[8]
    c = nx * x + ny * y - height + slack
    b = nx * vx + ny * vy
    k = nx * ax + ny * ay
    j0 = q[6]
    j1 = 0.0
    if w != 0.0 or alpha != 0.0:
        b += w * (nx * y - ny * x)
        k += 2.0 * w * (nx * vy - ny * vx) - w * w * (nx * x + ny * y) + alpha * (nx * y - ny * x)
        fast, twist = abs(w) + abs(alpha) * rest, abs(alpha)
        pull, speed = np.sqrt(ax * ax + ay * ay), np.sqrt(vx * vx + vy * vy)
        most = pull + q[6] * rest
        first, second = 3.0 * (fast * fast + twist), fast * (fast * fast + 3.0 * twist)
        j0 += 3.0 * fast * pull + first * speed + second * np.sqrt(x * x + y * y)
        j1 = 3.0 * fast * q[6] + first * most + second * (speed + most * rest)
    return c, b, k, _free_time(c, b, k, j0, j1, rest, near, noise)


@kernel
def _sooner(one, found, feature, ignored):
    """Of two features that can both touch, the one that may touch first; `ignored` features cannot touch."""
    if (ignored >> feature) & 1:
        return one
    if found[3] < one[3] or (found[3] == one[3] and found[0] < one[0]):
        return found[0], found[1], found[2], found[3], feature
    return one


@kernel
def _name(k):
    """The feature bit of vertex k."""
    return min(k, MANY_CORNERS - 1)


@kernel
def _edge(outlines, i, k):
    """Vertex k, the unit vector along the edge to the next vertex, and its length, in the frame of the outline."""
    after = k + 1 if k + 1 < outlines.ptr[i + 1] else outlines.ptr[i]
    x, y = outlines.corner[k, 0], outlines.corner[k, 1]
    ex, ey = outlines.corner[after, 0] - x, outlines.corner[after, 1] - y
    length = np.sqrt(ex * ex + ey * ey)
    return x, y, ex / length, ey / length, length


@kernel
def _disc_on_edges(outlines, i, at, q, radius, slack, rest, near, noise, ignored):
    """A disc with center q and a polygon: it touches at a vertex, or at a face while its center is above that face."""
    best = (np.inf, 0.0, 0.0, np.inf, 0)
    c, s = np.cos(at[2]), np.sin(at[2])
    for k in range(outlines.ptr[i], outlines.ptr[i + 1]):
        name = _name(k - outlines.ptr[i])
        x, y, ex, ey, length = _edge(outlines, i, k)
        corner = _circle(_point(at, x, y, rest), q, radius, 1.0, slack, rest, near, noise)
        best = _sooner(best, corner, name, ignored)
        along, height = ex * x + ey * y, ey * x - ex * y
        tx, ty = c * ex - s * ey, s * ex + c * ey
        nx, ny = ty, -tx
        face = _side(at, nx, ny, height + radius, q, slack, rest, near, noise)
        # A disc beside the face, or behind it, cannot touch the face: the bound that holds longest counts.
        for bar in (
            _side(at, -tx, -ty, -along, q, 0.0, rest, near, noise),
            _side(at, tx, ty, along + length, q, 0.0, rest, near, noise),
            _side(at, -nx, -ny, -height, q, 0.0, rest, near, noise),
        ):
            if bar[0] > 0.0 and (bar[3] > face[3] or face[0] < 0.0):
                face = bar
        best = _sooner(best, face, MANY_CORNERS + name, ignored)
    return best


@kernel
def _axes(outlines, i, at, j, other, best, names, slack, rest, near, noise, ignored):
    """The face of polygon i that separates it from polygon j for the longest time, if longer than `best`."""
    c, s = np.cos(at[2]), np.sin(at[2])
    for k in range(outlines.ptr[i], outlines.ptr[i + 1]):
        x, y, ex, ey, _ = _edge(outlines, i, k)
        nx, ny = c * ey + s * ex, s * ey - c * ex
        least, worst = np.inf, (np.inf, 0.0, 0.0, np.inf, 0)
        for m in range(outlines.ptr[j], outlines.ptr[j + 1]):
            name = names + _name(m - outlines.ptr[j])
            if (ignored >> name) & 1:
                continue
            q = _point(other, outlines.corner[m, 0], outlines.corner[m, 1], rest)
            found = _side(at, nx, ny, ey * x - ex * y, q, slack, rest, near, noise)
            least = min(least, found[0])
            worst = _sooner(worst, found, name, ignored)
        if least < -near:  # this axis does not separate them any more
            worst = (least, worst[1], worst[2], -1.0, worst[4])
        if worst[3] > best[3] or (worst[3] == best[3] and least > best[0]):
            best = worst
    return best


@kernel
def _against_boundary(outlines, i, at, j, boundary, round_body, slack, rest, near, noise, ignored):
    """A body and a half-plane, or the inside of a circle: all its vertices, or its bounding circle."""
    radius = outlines.bound[i] if round_body else 0.0
    best = (np.inf, 0.0, 0.0, np.inf, 0)
    mark = outlines.corner[outlines.ptr[j]]
    c, s = np.cos(boundary[2]), np.sin(boundary[2])
    middle = _point(boundary, mark[0], mark[1], rest)
    nx, ny = c * mark[0] - s * mark[1], s * mark[0] + c * mark[1]
    for k in range(1 if round_body else outlines.ptr[i + 1] - outlines.ptr[i]):
        x = y = 0.0
        if not round_body:
            x, y = outlines.corner[outlines.ptr[i] + k, 0], outlines.corner[outlines.ptr[i] + k, 1]
        q = _point(at, x, y, rest)
        if outlines.kind[j] == HALF_PLANE:
            found = _side(boundary, nx, ny, outlines.radius[j] + radius, q, slack, rest, near, noise)
        else:
            found = _circle(middle, q, outlines.radius[j] - radius, -1.0, slack, rest, near, noise)
        best = _sooner(best, found, _name(k), ignored)
    return best


@kernel
def _middle(outlines, i):
    """Center of a round outline, in its own frame."""
    k = outlines.ptr[i]
    if outlines.kind[i] == ROUND and outlines.ptr[i + 1] > k:
        return outlines.corner[k, 0], outlines.corner[k, 1]
    return 0.0, 0.0


@kernel
def _rounded(outlines, i, at, j, other, edges, slack, rest, near, noise, ignored):
    """As `separation`, for the bounding circle of the first outline, and that of the second unless `edges` is set."""
    if outlines.kind[j] >= HALF_PLANE:
        return _against_boundary(outlines, i, at, j, other, True, slack, rest, near, noise, ignored)
    p = _point(at, 0.0, 0.0, rest)
    if edges:
        return _disc_on_edges(outlines, j, other, p, outlines.bound[i], slack, rest, near, noise, ignored)
    x, y = _middle(outlines, j)
    reach = outlines.bound[i] + (outlines.radius[j] if outlines.kind[j] == ROUND else outlines.bound[j])
    found = _circle(p, _point(other, x, y, rest), reach, 1.0, slack, rest, near, noise)
    return _sooner((np.inf, 0.0, 0.0, np.inf, 0), found, 0, ignored)


@kernel
def separation(outlines, paths, pair, t, rest, slack, touch, near, noise, ignored):
    """Gap (to first order), its speed and acceleration, a time for which the pair does not touch, and the feature.

    `pair` is (first, second, shift x, shift y, drift x, drift y): second is at its place plus `shift + t drift`.
    `slack` is added to the gap. Below a gap of `near` an approach slower than `noise` counts as none. Features whose
    bit is set in `ignored` are skipped.
    """
    i, j = pair[0], pair[1]
    at, o = pose(paths, i, t), pose(paths, j, t)
    x, y = o[0] + pair[2] + t * pair[4], o[1] + pair[3] + t * pair[5]
    other = (x, y, o[2], o[3] + pair[4], o[4] + pair[5], o[5], o[6], o[7], o[8])
    edges, edges_j = outlines.kind[i] == POLYGONAL, outlines.kind[j] == POLYGONAL
    if edges or edges_j:
        # While the bounding circles are apart, rotation does not matter, and the bound is nearly exact.
        apart = _rounded(outlines, i, at, j, other, False, slack, rest, near, noise, 0)
        if apart[0] > touch:
            return apart
    if not edges:
        return _rounded(outlines, i, at, j, other, edges_j, slack, rest, near, noise, ignored)
    if edges_j:
        best = (-np.inf, 0.0, 0.0, -2.0, 0)
        best = _axes(outlines, i, at, j, other, best, 0, slack, rest, near, noise, ignored)
        best = _axes(outlines, j, other, i, at, best, MANY_CORNERS, slack, rest, near, noise, ignored)
        return best[0], best[1], best[2], max(best[3], 0.0), best[4]
    if outlines.kind[j] != ROUND:
        return _against_boundary(outlines, i, at, j, other, False, slack, rest, near, noise, ignored)
    x, y = _middle(outlines, j)
    q = _point(other, x, y, rest)
    return _disc_on_edges(outlines, i, at, q, outlines.radius[j], slack, rest, near, noise, ignored)


@kernel
def _noise(outlines, paths, pair):
    """Speed of approach of a pair that is rounding error."""
    total = abs(pair[4]) + abs(pair[5])
    for i in (pair[0], pair[1]):
        v = paths.velocity[i]
        total += abs(v[0]) + abs(v[1])
        if outlines.kind[i] == POLYGONAL:
            total += abs(v[2]) * outlines.bound[i]
    return NOISE * total


@kernel
def time_of_impact(outlines, paths, pair, start, end, hop, touch, near, settled):
    """Time of the first impact of a pair between start and end; infinite if there is none.

    A pair that touches at the start (gap below `touch`) and approaches has its impact there; so has a pair that rests,
    which separates for no longer than twice the time `hop`. If `settled`, an impact has just been resolved there, and
    such features are ignored. Overlap may stay but must not become deeper.
    """
    t, slack, ignored, noise = start, 0.0, 0, _noise(outlines, paths, pair)
    c, b, k, free, feature = separation(outlines, paths, pair, t, end - t, slack, touch, near, noise, ignored)
    while c <= touch:
        slack = max(slack, -c)
        lying = b < -noise or (k < 0.0 and b <= max(noise, -k * hop))
        if lying and not settled:
            return start
        if not lying and slack == 0.0:
            break
        if lying:
            ignored |= 1 << feature
        c, b, k, free, feature = separation(outlines, paths, pair, t, end - t, slack, touch, near, noise, ignored)
        if not lying:
            break
    for _ in range(MOST_ITERATIONS):
        if free >= end - t:
            return np.inf
        if c <= near and b < -noise:
            return t + free
        if c <= near and t > start and b <= noise and k < 0.0:
            return t
        t += free
        c, b, k, free, feature = separation(outlines, paths, pair, t, end - t, slack, touch, near, noise, ignored)
    return t
