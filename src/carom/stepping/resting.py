"""The resting solve: inelastic contact with Coulomb friction, warm-started with the impulses of the last step; and the
motion of the bodies that it holds.

Contacts are recognized by their bodies and feature. In 3D friction is kept as a vector of the world, because the
tangents of a contact may change abruptly from one step to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_set import FEATURE, FIRST, NORMAL, PREDICTED, SECOND, ContactSet, vector
from ..geometry.rotations import matrix_value
from ..geometry.vectors import Vec3, dot, to_local, to_world
from ..kernels import kernel, lean
from ..problem.assemble import tangents_of
from ..solvers.contact import Accuracy, solve_contact
from ..solvers.islands import anchored, body_islands, islands
from ..solvers.rows import FRICTION, Floats, Ints, Rows, row_speed
from ..world import State, World
from .report import NO_WARM_START, WarmStart
from .rotation import rotate_body, rotate_by

FEATURE_BITS = 20  # bits of a feature in the key of a contact
LEAST_TIME = 1e-3  # fraction of a step: the shortest time for which a contact is held
AT_REST = 1e-9  # change of velocity, relative to that by gravity, up to which everything is at rest
STEADY_SPEED = 1e-5  # relative to the resting speed, up to which a contact counts as closed and friction as at rest

FREE_SHARE = -1.0  # in place of the share of a body: it moves freely
NO_BODIES, NO_TIMES, NO_ORIENTATIONS = np.empty(0, np.int64), np.empty(0), np.empty((0, 4))


class Interval(NamedTuple):
    """The interval of time of a resting solve, for kernels: n of N bodies and m contacts take part."""

    velocity: Floats  # (n, d) whitened, at the start; spins of bodies with unequal moments when they are held
    speed: Floats  # (m,) normal speeds at the start
    limit: Floats  # (m,) resting speeds
    bodies: Ints  # (n,) numbers of the bodies that take part; empty for all
    shift: Floats  # (N, d) displacement of the start by impacts within the interval; empty without impacts
    time: Floats  # (N,) of the last impact of each body, from which on it is held; empty without impacts
    orientation: Floats  # (n, 4) of bodies with unequal moments at that time; empty without impacts
    h: float


class RestingProblem(NamedTuple):
    """What a resting solve starts from."""

    falling: Floats  # (n, d) whitened velocities at the end if no contact acted
    base: Floats  # (m, r) speeds that no impulse changes, those at which gaps just close included
    start: Floats  # (m, r) warm start
    closing: NDArray[np.bool_]  # (m,) contacts that free motion closes
    keys: Ints  # (m,) one number per contact that identifies it from step to step

    @classmethod
    def empty(cls, rows: Rows, shape: tuple[int, ...]) -> RestingProblem:
        """A problem for `state_problem` to fill, for velocities of a shape."""
        m, start = len(rows.base), np.zeros(rows.base.shape)
        return cls(np.empty(shape), rows.base.copy(), start, np.empty(m, np.bool_), np.empty(m, np.int64))


class Held(NamedTuple):
    """The answer of a resting solve."""

    chosen: Ints  # (k,) contacts that took part
    free: Floats  # (n, d) whitened velocity before the impulses
    impulse: Floats  # (m, r) of all contacts; zero for those that took no part
    velocity: Floats  # (n, d) whitened velocity after the impulses
    residual: float  # a speed
    iterations: int
    work: float  # of the solver, in multiplications


def solve_resting(
    rows: Rows, problem: RestingProblem, chosen: NDArray[np.bool_], start: Floats, accuracy: Accuracy
) -> Held | None:
    """Impulses of the contacts marked in `chosen` (m,) such that no contact closes; None if no impulse is needed.

    `start` (m, r) is the first guess.
    """
    some, impulse = np.empty(len(chosen), np.int64), np.zeros(start.shape)
    count, closes = begin_resting(rows, problem, chosen, start, some, impulse)
    if not closes:
        return None
    some, held = some[:count], Rows(rows.body, rows.val, problem.base, *rows[3:])
    answer = solve_contact(held, some, problem.falling, impulse, accuracy)
    return Held(some, problem.falling, impulse, answer.velocity, answer.residual, answer.iterations, answer.work)


@lean
def begin_resting(rows, problem, chosen, start, some, impulse):
    """The number of contacts that are chosen, and whether one of them closes. Writes them and their first impulses."""
    count, closes = 0, False
    for i in range(len(chosen)):
        if chosen[i]:
            some[count] = i
            count += 1
            for row in range(start.shape[1]):
                impulse[i, row] = start[i, row]
            closes = closes or row_speed(rows, problem.falling, i, 0) + problem.base[i, 0] < 0.0
    return count, closes


@kernel
def state_problem(rows, interval, table, restitution, pull, warm_start, limits, problem):
    """Fills a `RestingProblem` for a table of contacts with coefficients of restitution (m,).

    Returns the number of contacts that free motion closes. Bodies gain `h pull`, of the whitened accelerations `pull`
    (N, d); if these are empty `problem.falling` is given. `limits` are the overlap of an impact that may wait for the
    next step, the gap at the end up to which a contact takes part, and those of `put_keys`.
    """
    wait, margin, bodies, boundaries = limits
    count = _put_closing(rows, interval, table, restitution, pull, wait, margin, problem)
    put_keys(table, bodies, boundaries, problem.keys)
    match(warm_start, problem.keys, table, rows.tangents, problem.start)
    return count


@lean
def _put_closing(rows, interval, table, restitution, pull, wait, margin, problem):
    """The speeds of a `RestingProblem`, and which contacts free motion closes; returns their number."""
    for j in range(len(problem.falling) if len(pull) else 0):
        b = _number(interval.bodies, j)
        for c in range(pull.shape[1]):
            problem.falling[j, c] = interval.velocity[j, c] + interval.h * pull[b, c]
    count = 0
    for i in range(len(table)):
        waits, predicted = wait if restitution[i] > 0.0 else 0.0, table[i, PREDICTED]
        if restitution[i] == 1.0 and predicted > 0.0 and rows.bound[i, FRICTION] == 0.0:
            waits = np.inf  # without dissipation, also after an impact: rest would take the energy of its next one
        problem.base[i, 0] += _closing_speed(rows, interval, problem.falling, predicted, waits, i)
        problem.closing[i] = predicted <= margin
        count += int(problem.closing[i])
    return count


@kernel(inline="always")
def _number(bodies, j):
    """The number in the world of body j of those that take part."""
    return bodies[j] if len(bodies) else j


@lean
def _closing_speed(rows, interval, falling, predicted, wait, i):
    """The speed of approach of contact i that just closes its gap, from the gap at the end of free motion.

    `falling` (n, d) are whitened velocities at the end of that motion. Since the gap is the one at the predicted
    positions, rotation is taken into account. A contact faster than its resting speed is left to the law in the next
    step if free motion opens it or closes it by at most `wait`; any contact if `wait` is infinite.
    """
    begin, h = 0.0, interval.h
    if len(interval.time):
        for side in range(2):
            if rows.body[i, side] >= 0:
                begin = max(begin, interval.time[_number(interval.bodies, rows.body[i, side])])
    left = max(h - begin, LEAST_TIME * h)
    first, last = interval.speed[i], row_speed(rows, falling, i, 0) + rows.base[i, 0]
    if (first < -interval.limit[i] and predicted > -wait) or wait == np.inf:
        # A held contact closes at its new velocity, a free one at its mean velocity.
        return max(predicted, 0.0) / left + max(-last, 0.0)
    return max(predicted / left - 0.5 * (first + (last - first) * begin / h + last), 0.0)


@lean
def closed_by(rows, base, x, chosen, least):
    """Marks contacts that the velocity x closes faster than `least`; returns how many were not marked before."""
    count = 0
    for i in range(len(chosen)):
        if not chosen[i] and row_speed(rows, x, i, 0) + base[i, 0] < -least:
            chosen[i] = True
            count += 1
    return count


# ---- warm start


@lean
def put_keys(table, bodies, boundaries, keys):
    """Writes a number per contact (m,) that identifies it, for `bodies` bodies and boundaries together."""
    for i in range(len(keys)):
        pair = int(table[i, FIRST]) * bodies + int(table[i, SECOND]) + boundaries
        keys[i] = (pair << FEATURE_BITS) ^ (int(table[i, FEATURE]) & ((1 << FEATURE_BITS) - 1))


@kernel(inline="always")
def _slot(table, keys, key):
    """The slot of a key in an open hash table of positions in `keys`, or the empty one (-1) where it belongs."""
    mask = len(table) - 1
    at = (key * 0x9E3779B97F4A7C1 >> 20) & mask
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & mask
    return at


@kernel
def match(warm_start, keys, table, tangents, impulse):
    """Writes the impulses (m, r) of the contacts that occur in a `WarmStart`."""
    old, kept = warm_start
    size = 16
    while size < 2 * len(old):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for j in range(len(old)):
        at = _slot(slots, old, old[j])
        if slots[at] < 0:
            slots[at] = j
    rows = impulse.shape[1]
    for i in range(len(keys) if len(old) else 0):
        j = slots[_slot(slots, old, keys[i])]
        if j < 0:
            continue
        impulse[i, 0] = kept[j, 0]
        if tangents == 1:
            for row in range(1, min(rows, kept.shape[1])):
                impulse[i, row] = kept[j, row]
        elif rows > 1 and kept.shape[1] > 1:
            s, t = tangents_of(vector(table, i, NORMAL))
            for k in range(rows // 3):
                friction = vector(kept, j, 1 + 3 * k)
                impulse[i, 1 + 2 * k], impulse[i, 2 + 2 * k] = dot(s, friction), dot(t, friction)
            if rows == 6:
                impulse[i, 5] = kept[j, 7]


def kept(found: ContactSet, keys: Ints, held: Held | None) -> WarmStart:
    """The warm start of the next resting solve."""
    if held is None:
        return NO_WARM_START
    return WarmStart(*keep(found.table, keys, held.impulse, held.chosen, found.dimension))


@kernel
def keep(table, keys, impulse, chosen, dimension):
    """The `WarmStart` of the contacts `chosen`, in which friction is a vector of the world in 3D."""
    k, rows = len(chosen), impulse.shape[1]
    width = rows if dimension == 2 else 1 + 3 * (rows // 3) + rows // 6
    out = WarmStart(np.empty(k, np.int64), np.empty((k, width)))
    for j in range(len(chosen)):
        i = chosen[j]
        out.key[j], out.impulse[j, 0] = keys[i], impulse[i, 0]
        if width == rows:
            for row in range(1, rows):
                out.impulse[j, row] = impulse[i, row]
            continue
        s, t = tangents_of(vector(table, i, NORMAL))
        for k in range(rows // 3):
            friction = impulse[i, 1 + 2 * k] * s + impulse[i, 2 + 2 * k] * t
            for c in range(3):
                out.impulse[j, 1 + 3 * k + c] = friction[c]
        if rows == 6:
            out.impulse[j, 7] = impulse[i, 5]
    return out.key, out.impulse


# ---- motion of held bodies


def held_motion(world: World, start: State, end: State, rows: Rows, held: Held, interval: Interval) -> State:
    """The state `end` of free motion with other poses and velocities for the bodies that a resting solve holds.

    They move at their new velocity, steady ones at or near the mean of the old and the new one. Bodies with an impact
    in the interval are held from its time on. Islands that touch nothing fixed fall as free bodies do.
    """
    shape, flat = end.orientation.shape, (world.count, -1)  # angles as a column: one type of orientations
    begin = (start.position, start.orientation.reshape(flat), start.velocity)
    out = (end.position.copy(), end.orientation.reshape(flat).copy(), end.velocity.copy())
    masses = world.masses
    if world.force is not None or world.joints is not None:  # bodies in flight are not on parabolas
        masses = masses._replace(gravity=np.zeros(world.dimension))
    (held_3d if world.block == 6 else held_2d)(rows, held, interval, masses, begin, out)
    return State(end.time, end.step, out[0], out[1].reshape(shape), out[2])


@kernel
def pushed_bodies(rows, held):
    """Bodies (n,) on which a normal impulse acts."""
    out = np.zeros(len(held.velocity), np.bool_)
    for i in held.chosen:
        if held.impulse[i, 0] > 0.0:
            for side in range(rows.body.shape[1]):
                if rows.body[i, side] >= 0:
                    out[rows.body[i, side]] = True
    return out


@kernel
def _pushing_islands(rows, held):
    """The islands of the contacts that push."""
    n, pushing, count = len(held.velocity), np.empty(len(held.chosen), np.int64), 0
    for i in held.chosen:
        if held.impulse[i, 0] > 0.0:
            pushing[count] = i
            count += 1
    return islands(rows.body, pushing[:count], np.empty(n, np.int64), np.empty(n, np.int64))


@kernel
def hold_together(rows, held, interval, row_time, timed):
    """Lets all bodies of an island in free flight be held from the last impact of any of them on: writes their times.

    Returns whether rows of contacts that push there have a body at another time; `row_time` (m, 2) are these times. An
    impulse that acted on one body of a contact before it acts on the other would move their center of mass, and one
    that acts on bodies where they are not would change their angular momentum. Islands that touch something fixed do
    not keep their momentum. Those with a body that is not `timed` (N,) are held at the start, as their impacts are.
    """
    n, found, outdated = len(held.velocity), _pushing_islands(rows, held), False
    fixed, island, last = anchored(rows.body, found), body_islands(rows.body, found, n), np.zeros(len(found.ptr) - 1)
    for j in range(n):
        if island[j] >= 0:
            last[island[j]] = max(last[island[j]], interval.time[_number(interval.bodies, j)])
            fixed[island[j]] = fixed[island[j]] or not timed[_number(interval.bodies, j)]
    for j in range(n):
        if island[j] >= 0 and not fixed[island[j]]:
            interval.time[_number(interval.bodies, j)] = last[island[j]]
    for j in range(len(found.chosen)):
        i, s = found.chosen[j], found.label[j]
        if not fixed[s]:
            outdated = outdated or row_time[i, 0] != last[s] or row_time[i, 1] != last[s]
    return outdated


@kernel
def body_shares(rows, held, interval):
    """How the n bodies that take part move: FREE_SHARE without a normal impulse, else at `v1 + share (v0 - v1) / 2`."""
    pushed = pushed_bodies(rows, held)
    out = _steady_shares(rows, held, interval, pushed)
    for j in range(len(out)):
        if not pushed[j]:
            out[j] = FREE_SHARE
    return out


@kernel
def _steady_shares(rows, held, interval, pushed):
    """Shares (n,) of bodies whose whole island slides or rolls on closed contacts, which move near the mean velocity.

    Contacts must be closed before and after, and friction must do no work. A share s changes the energy by
    `s e1 + (1 - s) e0`, with `e1 = p . (v0 + v1) / 2` for impulses p, at the mean velocity, and
    `e0 = p . v1 - |v1 - v0|^2 / 2`, which is not positive, at the new one. On curved contacts `p . v0` is positive by
    the curvature of the way, and so may be e1: the share is the largest one with which the energy does not rise.
    """
    chosen, impulse, before, after = held.chosen, held.impulse, interval.velocity, held.velocity
    n = len(before)
    out, change, fall = np.zeros(n), 0.0, 0.0
    for b in range(n):
        for c in range(before.shape[1]):
            change = max(change, abs(after[b, c] - before[b, c]))
            fall = max(fall, abs(held.free[b, c] - before[b, c]))
    if change <= AT_REST * fall:  # the mean velocity is the new one
        return out
    found = islands(rows.body, chosen, np.empty(n, np.int64), np.empty(n, np.int64))
    bad, energy = np.zeros(len(found.ptr) - 1, np.bool_), np.zeros((len(found.ptr) - 1, 2))  # e0 and e1
    for j in range(len(chosen)):
        i = chosen[j]
        if impulse[i, 0] > 0.0 and abs(interval.speed[i]) > STEADY_SPEED * interval.limit[i]:
            bad[found.label[j]] = True
    for j in range(len(chosen)):
        i, s = chosen[j], found.label[j]
        if impulse[i, 0] > 0.0 and not bad[s]:
            work = 0.0
            for row in range(impulse.shape[1]):
                new = row_speed(rows, after, i, row) + rows.base[i, row]
                mean = row_speed(rows, before, i, row) + rows.base[i, row] + new
                energy[s, 0] += impulse[i, row] * new
                work += impulse[i, row] * mean
            energy[s, 1] += 0.5 * work
            bad[s] = work > STEADY_SPEED * interval.limit[i] * impulse[i, 0]
    island = body_islands(rows.body, found, n)
    for b in range(n):
        s = island[b]
        if s >= 0 and pushed[b]:  # others fall freely, which changes no energy
            for c in range(before.shape[1]):
                energy[s, 0] -= 0.5 * (after[b, c] - before[b, c]) ** 2
            bad[s] = bad[s] or (len(interval.time) > 0 and interval.time[_number(interval.bodies, b)] != 0.0)
    for b in range(n):
        s = island[b]
        if s >= 0 and not bad[s]:
            e0, e1 = min(energy[s, 0], 0.0), energy[s, 1]
            out[b] = 1.0 if e1 <= 0.0 else -e0 / (e1 - e0)
    return out


@kernel
def _falls(rows, held, interval, masses, shares):
    """Factors (n,) of gravity by which bodies of islands in free flight must move less than at their new velocities.

    The center of mass of such an island is on its parabola then, as if its bodies did not push each other; all bodies
    of the island move together, so that no gap changes. The energy changes by `p . v1 - |p|^2 / 2` for impulses p.
    """
    n, h, out = len(shares), interval.h, np.zeros(len(shares))
    found = _pushing_islands(rows, held)
    fixed = anchored(rows.body, found)
    if fixed.all():
        return out
    island, sums = body_islands(rows.body, found, n), np.zeros((len(fixed), 2))
    for j in range(n):
        if island[j] >= 0 and not fixed[island[j]]:
            b = _number(interval.bodies, j)
            left = h - interval.time[b] if len(interval.time) else h
            sums[island[j], 0] += masses.mass[b] * 0.5 * (1.0 - shares[j]) * left * left
            sums[island[j], 1] += masses.mass[b]
    for j in range(n):
        if island[j] >= 0 and not fixed[island[j]]:
            out[j] = sums[island[j], 0] / sums[island[j], 1]
    return out


@kernel(inline="always")
def _new_velocity(masses, held, velocity, j, b, c):
    """Component c of the velocity of body b, which is number j of those that take part, after the impulses."""
    root = masses.root[b, c]
    return held.velocity[j, c] * root if root > 0.0 else velocity[b, c]


@kernel(inline="always")
def _impact_shift(interval, masses, old, new, b, c):
    """Displacement of the start of body b from which motion at its new velocity passes through its last impact."""
    if len(interval.time) == 0 or interval.time[b] <= 0.0:
        return 0.0
    time = interval.time[b]
    fall = 0.5 * time * time * masses.gravity[c] if c < len(masses.gravity) else 0.0
    return interval.shift[b, c] + time * (old - new) + fall


@kernel
def held_2d(rows, held, interval, masses, start, out):
    """Writes the poses and velocities of held bodies in 2D, or of bodies that do not rotate; angles are (n, 1)."""
    shares, h = body_shares(rows, held, interval), interval.h
    falls = _falls(rows, held, interval, masses, shares)
    position0, turn0, velocity0 = start
    position, turn, velocity = out
    dim, d = position.shape[1], velocity.shape[1]
    for j in range(len(shares)):
        if shares[j] == FREE_SHARE:
            continue
        b = _number(interval.bodies, j)
        for c in range(d):
            old, new = velocity0[b, c], _new_velocity(masses, held, velocity, j, b, c)
            shift = _impact_shift(interval, masses, old, new, b, c)
            mean = new + 0.5 * shares[j] * (old - new)
            velocity[b, c] = new
            if c < dim:
                position[b, c] = position0[b, c] + shift + h * mean
                if falls[j] > 0.0:
                    position[b, c] -= falls[j] * masses.gravity[c]
            else:
                turn[b, 0] = turn0[b, 0] + shift + h * mean


@kernel
def held_3d(rows, held, interval, masses, start, out):
    """Writes the poses and velocities of held bodies in 3D.

    The new spin of a steady body belongs to the frame after rotation at that spin, but the body has the orientation
    after another spin: the spin must stay the same vector of the world. For equal moments this leaves the energy
    unchanged.
    """
    scratch, shares = (np.empty(6), np.empty(4), np.empty(3)), body_shares(rows, held, interval)
    falls = _falls(rows, held, interval, masses, shares)
    _put_held_3d((shares, falls), held, interval, masses, start, out, scratch)


@lean
def _put_held_3d(ways, held, interval, masses, start, out, scratch):
    """As `held_3d`; `ways` are shares and falls, `scratch` a motion (6,), a quaternion and a vector."""
    shares, falls = ways
    (position0, turn0, velocity0), (position, turn, velocity), h = start, out, interval.h
    shift, other, spin = scratch
    for j in range(len(shares)):
        if shares[j] == FREE_SHARE:
            continue
        b, half = _number(interval.bodies, j), 0.5 * shares[j]
        q, v, old, inertia = turn[b], velocity[b], velocity0[b], masses.inertia[b]
        for c in range(4):
            q[c] = turn0[b, c]
        for c in range(6):
            new = _new_velocity(masses, held, velocity, j, b, c)
            v[c], shift[c] = new, _impact_shift(interval, masses, old[c], new, b, c)
            if c < 3:
                position[b, c] = position0[b, c] + h * (new + half * (old[c] - new))
                if falls[j] > 0.0:
                    position[b, c] -= falls[j] * masses.gravity[c]
        left = h
        if len(interval.time) and interval.time[b] > 0.0:
            for c in range(3):
                position[b, c] += shift[c]
            if masses.even[b] or len(interval.orientation) == 0:
                rotate_by(q, v[3:], shift[3:], masses.even[b])
            else:
                left = h - interval.time[b]
                for c in range(4):
                    q[c] = interval.orientation[j, c]
        if half == 0.0:
            if left > 0.0:  # an impact at the end of the step leaves no time
                rotate_body(q, v[3:], inertia, True, left, masses.scheme)
            continue
        for c in range(4):
            other[c] = q[c]
        for c in range(3):
            spin[c] = v[3 + c] + half * (old[3 + c] - v[3 + c])
        rotate_body(q, spin, inertia, True, h, masses.scheme)
        rotate_body(other, v[3:], inertia, True, h, masses.scheme)
        if masses.even[b]:
            same = to_local(matrix_value(q), to_world(matrix_value(other), Vec3(v[3], v[4], v[5])))
            for c in range(3):
                v[3 + c] = same[c]
