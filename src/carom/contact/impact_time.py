"""When two things first touch: bounds on the gap that are exact to second order in time, applied until none is left.

Every thing (a body, or a boundary) flies on a parabola and turns. A pair of features, such as a corner and a face that
turns, has a separation `f`, and from its value, speed and acceleration now and a bound K on its third derivative

    f(t + s) >= f + f' s + f'' s^2 / 2 - K s^3 / 6,

so there is no touch before the first root of the right side. Steps of that length never pass a touch, and converge
as Newton's method does. Two discs under the same pull, a disc and a plane, a disc in a drum without gravity: there the
bound is the separation itself, and the first step ends at the touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints

ROUND, CORNERED, HALF_PLANE, HOLE = 0, 1, 2, 3
LOOKS = 80  # bounds applied in a row; after so many the pair asks for a sub-step, and goes on from there
MANY_CORNERS = 31  # corners of a polygon that have names of their own
NOISE = 1e-12  # approach below this part of the speeds of a pair is rounding


class Things(NamedTuple):
    """Shapes of all bodies, then of all boundaries. Corners are about the point round which a thing turns.

    A half-plane has its normal for a corner, and its height above that point for a radius. A circle may have one
    corner: its middle.
    """

    kind: np.ndarray  # (N,) ROUND, CORNERED, HALF_PLANE, HOLE
    radius: Floats  # (N,)
    bound: Floats  # (N,) of the circle round all of it
    ptr: Ints  # (N + 1,)
    corner: Floats  # (k, 2)


class Paths(NamedTuple):
    """How all things move until the next impact: `q(t) = place + s (velocity + s pull / 2)`, `s = t - since`.

    Times count from the start of the step. Components are x, y, angle.
    """

    place: Floats  # (N, 3)
    velocity: Floats  # (N, 3)
    pull: Floats  # (N, 3)
    since: Floats  # (N,)


@kernel
def pose(paths, i, t):
    """Place, velocity and acceleration (x, y, angle each) of a thing at a time."""
    s = t - paths.since[i]
    q, v, a = paths.place[i], paths.velocity[i], paths.pull[i]
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
    """Begins the paths of bodies anew at `time`."""
    for i in bodies:
        s = time - paths.since[i]
        if s == 0.0:
            continue
        for k in range(3):
            # The mean velocity first: where it is zero by symmetry, so is the step, without rounding.
            paths.place[i, k] += s * (paths.velocity[i, k] + 0.5 * s * paths.pull[i, k])
            paths.velocity[i, k] += s * paths.pull[i, k]
        paths.since[i] = time


@kernel
def _point(at, rx, ry, rest):
    """Place, velocity, acceleration of a point of a thing, and a bound on its jerk over the time `rest`."""
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
    """The first s >= 0 with `c + b s + k s^2 / 2 <= 0`, for c not below 0; infinite if there is none."""
    square = b * b - 2.0 * k * c
    if square < 0.0:
        return np.inf
    if b < 0.0:
        return 2.0 * c / (np.sqrt(square) - b)
    return (b + np.sqrt(square)) / -k if k < 0.0 else np.inf


@kernel
def _free_time(c, b, k, j0, j1, rest, near, quiet):
    """How long `c + b s + k s^2 / 2 - (j0 + j1 d) s^3 / 6` (for s up to d) stays above 0, at most `rest`.

    The cubic term is at least that of a parabola bent by `(j0 + j1 d) d / 3`: spans d are tried from long to short.
    """
    c = max(c, 0.0)
    if c <= near and -quiet <= b < 0.0:
        b = 0.0
    if j0 == 0.0 and j1 == 0.0:
        return min(_root(c, b, k), rest)
    best, d = 0.0, rest
    for _ in range(16):
        s = min(_root(c, b, k - (j0 + j1 * d) * d / 3.0), d)
        best = max(best, s)
        d *= 0.25
        if d <= best:
            break
    return best


@kernel
def _circle(p, q, reach, sign, slack, rest, near, quiet):
    """Separation `sign (|q - p|^2 - reach^2) / (2 reach)`: its value, speed, acceleration, and the time it lasts."""
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
    return c, b, k, _free_time(c, b, k, j0, j1, rest, near, quiet)


@kernel
def _side(at, nx, ny, height, q, slack, rest, near, quiet):
    """Separation `n . (q - place) - height` of a point from a line that turns with a thing; as _circle."""
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
    return c, b, k, _free_time(c, b, k, j0, j1, rest, near, quiet)


@kernel
def _sooner(one, found, feature, asleep):
    """Of two features that can both touch, the one that may touch first; those `asleep` cannot."""
    if (asleep >> feature) & 1:
        return one
    if found[3] < one[3] or (found[3] == one[3] and found[0] < one[0]):
        return found[0], found[1], found[2], found[3], feature
    return one


@kernel
def _name(k):
    """The bit of corner k; all corners beyond a number share one."""
    return min(k, MANY_CORNERS - 1)


@kernel
def _edge(things, i, k):
    """Corner k, the next one, the unit vector along and the length of the edge between, in the frame of the thing."""
    after = k + 1 if k + 1 < things.ptr[i + 1] else things.ptr[i]
    x, y = things.corner[k, 0], things.corner[k, 1]
    ex, ey = things.corner[after, 0] - x, things.corner[after, 1] - y
    length = np.sqrt(ex * ex + ey * ey)
    return x, y, ex / length, ey / length, length


@kernel
def _disc_on_edges(things, i, at, q, radius, slack, rest, near, quiet, asleep):
    """A disc with middle q and a polygon: it touches at a corner, or at a face while its middle is above it."""
    best = (np.inf, 0.0, 0.0, np.inf, 0)
    c, s = np.cos(at[2]), np.sin(at[2])
    for k in range(things.ptr[i], things.ptr[i + 1]):
        name = _name(k - things.ptr[i])
        x, y, ex, ey, length = _edge(things, i, k)
        corner = _circle(_point(at, x, y, rest), q, radius, 1.0, slack, rest, near, quiet)
        best = _sooner(best, corner, name, asleep)
        along, height = ex * x + ey * y, ey * x - ex * y
        tx, ty = c * ex - s * ey, s * ex + c * ey
        nx, ny = ty, -tx
        face = _side(at, nx, ny, height + radius, q, slack, rest, near, quiet)
        # Beside the face, or behind it, it cannot touch the face: the bound that lasts longest counts.
        for bar in (
            _side(at, -tx, -ty, -along, q, 0.0, rest, near, quiet),
            _side(at, tx, ty, along + length, q, 0.0, rest, near, quiet),
            _side(at, -nx, -ny, -height, q, 0.0, rest, near, quiet),
        ):
            if bar[0] > 0.0 and (bar[3] > face[3] or face[0] < 0.0):
                face = bar
        best = _sooner(best, face, MANY_CORNERS + name, asleep)
    return best


@kernel
def _axes(things, i, at, j, other, best, names, slack, rest, near, quiet, asleep):
    """The face of polygon i that keeps it apart from polygon j the longest, if it beats `best`."""
    c, s = np.cos(at[2]), np.sin(at[2])
    for k in range(things.ptr[i], things.ptr[i + 1]):
        x, y, ex, ey, _ = _edge(things, i, k)
        nx, ny = c * ey + s * ex, s * ey - c * ex
        least, worst = np.inf, (np.inf, 0.0, 0.0, np.inf, 0)
        for m in range(things.ptr[j], things.ptr[j + 1]):
            name = names + _name(m - things.ptr[j])
            if (asleep >> name) & 1:
                continue
            q = _point(other, things.corner[m, 0], things.corner[m, 1], rest)
            found = _side(at, nx, ny, ey * x - ex * y, q, slack, rest, near, quiet)
            least = min(least, found[0])
            worst = _sooner(worst, found, name, asleep)
        if least < -near:  # no longer apart along this axis
            worst = (least, worst[1], worst[2], -1.0, worst[4])
        if worst[3] > best[3] or (worst[3] == best[3] and least > best[0]):
            best = worst
    return best


@kernel
def _against_wall(things, i, at, j, wall, round_body, slack, rest, near, quiet, asleep):
    """A body and a half-plane, or the inside of a circle: all its corners, or the circle round it."""
    radius = things.bound[i] if round_body else 0.0
    best = (np.inf, 0.0, 0.0, np.inf, 0)
    mark = things.corner[things.ptr[j]]
    c, s = np.cos(wall[2]), np.sin(wall[2])
    middle = _point(wall, mark[0], mark[1], rest)
    nx, ny = c * mark[0] - s * mark[1], s * mark[0] + c * mark[1]
    for k in range(1 if round_body else things.ptr[i + 1] - things.ptr[i]):
        x = y = 0.0
        if not round_body:
            x, y = things.corner[things.ptr[i] + k, 0], things.corner[things.ptr[i] + k, 1]
        q = _point(at, x, y, rest)
        if things.kind[j] == HALF_PLANE:
            found = _side(wall, nx, ny, things.radius[j] + radius, q, slack, rest, near, quiet)
        else:
            found = _circle(middle, q, things.radius[j] - radius, -1.0, slack, rest, near, quiet)
        best = _sooner(best, found, _name(k), asleep)
    return best


@kernel
def _middle(things, i):
    """Middle of a round thing, in its own frame."""
    k = things.ptr[i]
    if things.kind[i] == ROUND and things.ptr[i + 1] > k:
        return things.corner[k, 0], things.corner[k, 1]
    return 0.0, 0.0


@kernel
def _rounded(things, i, at, j, other, edges, slack, rest, near, quiet, asleep):
    """As `look`, for the circle round the first thing, and the circle round the second unless its `edges` count."""
    if things.kind[j] >= HALF_PLANE:
        return _against_wall(things, i, at, j, other, True, slack, rest, near, quiet, asleep)
    p = _point(at, 0.0, 0.0, rest)
    if edges:
        return _disc_on_edges(things, j, other, p, things.bound[i], slack, rest, near, quiet, asleep)
    x, y = _middle(things, j)
    reach = things.bound[i] + (things.radius[j] if things.kind[j] == ROUND else things.bound[j])
    found = _circle(p, _point(other, x, y, rest), reach, 1.0, slack, rest, near, quiet)
    return _sooner((np.inf, 0.0, 0.0, np.inf, 0), found, 0, asleep)


@kernel
def look(things, paths, pair, t, rest, slack, touch, near, quiet, asleep):
    """Gap (to first order), its speed and acceleration, a time during which the pair surely does not touch; feature.

    `pair` is (first, second, shift x, shift y, drift x, drift y): second stands at its place plus `shift + t drift`.
    `slack` is added to the gap. Below `near` an approach slower than `quiet` counts as none. Features whose bit is
    set in `asleep` are passed over.
    """
    i, j = pair[0], pair[1]
    at, o = pose(paths, i, t), pose(paths, j, t)
    x, y = o[0] + pair[2] + t * pair[4], o[1] + pair[3] + t * pair[5]
    other = (x, y, o[2], o[3] + pair[4], o[4] + pair[5], o[5], o[6], o[7], o[8])
    edges, edges_j = things.kind[i] == CORNERED, things.kind[j] == CORNERED
    if edges or edges_j:
        # While the circles round them are apart, turning does not matter, and the bound is nearly exact.
        apart = _rounded(things, i, at, j, other, False, slack, rest, near, quiet, 0)
        if apart[0] > touch:
            return apart
    if not edges:
        return _rounded(things, i, at, j, other, edges_j, slack, rest, near, quiet, asleep)
    if edges_j:
        best = (-np.inf, 0.0, 0.0, -2.0, 0)
        best = _axes(things, i, at, j, other, best, 0, slack, rest, near, quiet, asleep)
        best = _axes(things, j, other, i, at, best, MANY_CORNERS, slack, rest, near, quiet, asleep)
        return best[0], best[1], best[2], max(best[3], 0.0), best[4]
    if things.kind[j] != ROUND:
        return _against_wall(things, i, at, j, other, False, slack, rest, near, quiet, asleep)
    x, y = _middle(things, j)
    q = _point(other, x, y, rest)
    return _disc_on_edges(things, i, at, q, things.radius[j], slack, rest, near, quiet, asleep)


@kernel
def _quiet(things, paths, pair):
    total = abs(pair[4]) + abs(pair[5])
    for i in (pair[0], pair[1]):
        v = paths.velocity[i]
        total += abs(v[0]) + abs(v[1])
        if things.kind[i] == CORNERED:
            total += abs(v[2]) * things.bound[i]
    return NOISE * total


@kernel
def first_touch(things, paths, pair, start, end, hop, touch, near, settled):
    """The time of the first impact of a pair between start and end; infinite if there is none.

    A pair that touches at the start (gap below `touch`) and approaches has its impact there; so has one that neither
    approaches nor leaves for longer than twice the time `hop`, because it rests. `settled` says that an impact has just
    been resolved there: then features that do so are left alone. Overlap is kept as it is, and not deepened.
    """
    t, slack, asleep, quiet = start, 0.0, 0, _quiet(things, paths, pair)
    c, b, k, free, feature = look(things, paths, pair, t, end - t, slack, touch, near, quiet, asleep)
    while c <= touch:
        slack = max(slack, -c)
        lying = b < -quiet or (k < 0.0 and b <= max(quiet, -k * hop))
        if lying and not settled:
            return start
        if not lying and slack == 0.0:
            break
        if lying:
            asleep |= 1 << feature
        c, b, k, free, feature = look(things, paths, pair, t, end - t, slack, touch, near, quiet, asleep)
        if not lying:
            break
    for _ in range(LOOKS):
        if free >= end - t:
            return np.inf
        if c <= near and b < -quiet:
            return t + free
        if c <= near and t > start and b <= quiet and k < 0.0:
            return t
        t += free
        c, b, k, free, feature = look(things, paths, pair, t, end - t, slack, touch, near, quiet, asleep)
    return t
