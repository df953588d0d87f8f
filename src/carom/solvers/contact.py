"""Frictional contact: impulses of contacts with the true Coulomb cone, rolling and torsional friction, 2D and 3D.

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each contact and each of its groups of friction rows (`blocks.py`), with `u = G (v + G^T z) + base`. Islands are
solved one by one. An island whose warm start is good enough costs one residual. Small islands get a few plain sweeps,
then Newton steps (`contact_newton.py`); large ones accelerated sweeps (`contact_sweeps.py`), and Newton steps where
the sweeps stall and a factorization is affordable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .blocks import Blocks
from .contact_newton import island_of, newton
from .contact_pack import (
    BOUND,
    NORMAL,
    WEIGHT,
    Layout,
    distance,
    group_count,
    group_rows,
    grouped,
    layout_of,
    measure,
    push_all,
    speeds_of,
    weigh,
    weight_columns,
    without_work,
)
from .contact_sweeps import advance, first_state, pack, restart, room, slabs, sweeps, swept
from .linalg.contact_lu import multiplications, pattern_of
from .rows import Floats, Ints
from .threads import on_threads, thread_count
from .thresholds import (
    NEWTON_ISLAND_WORK,
    NEWTON_SYSTEM_WORK,
    NEWTON_SYSTEMS,
    SMALL_ISLAND_CONTACTS,
    THREADED_SWEEPS_CONTACTS,
)

SWEEPS = 1000  # bound on the sweeps over a large island
PLAIN_SWEEPS = 10  # sweeps over a small island before Newton steps
FINE = 1e-2  # tolerance of small islands, as a share of the one asked for, while it costs next to nothing:
FINE_WORK = 3e5  # multiplications on such islands in one call, after which the others get the tolerance asked for
ATTEMPTS = 4  # Newton solves of an island, each ten times finer: removing their work may raise the residual
SLABS = 8  # slabs of a large island
STRIDE = 4  # contacts that follow each other in a sweep were this far apart: the processor overlaps their visits
TARGET = 1.0  # change of a speed in a sweep, as a share of the tolerance, at which the residual is verified
SINGLE = 1e-5  # tolerance, relative to the speeds that impulses cause, from which single precision is enough


class Answer(NamedTuple):
    """Velocity after the impulses, and how good they are."""

    velocity: Floats  # (n, d) whitened
    residual: float  # largest distance of an impulse to its projected step, as a speed (m/s)
    iterations: int  # sweeps and linear systems over all islands


def solve_contact(blocks: Blocks, chosen: Ints, velocity: Floats, impulse: Floats, tolerance: float) -> Answer:
    """Impulses of the contacts `chosen` (k,), in place of `impulse` (m, r), which is also the warm start.

    `velocity` (n, d) is whitened and not modified. `tolerance` is a speed: the residual aimed for. The residual
    reached may be larger. Impulses do no work on any island, `sum z . u <= 0` up to rounding, whatever the tolerance.
    """
    lay = layout_of(blocks)
    tolerance = float(tolerance)
    order, ptr, weight, x, residuals, todo = _start(lay, blocks, chosen, velocity, impulse, tolerance)
    worst, iterations = residuals.max(initial=0.0), 0
    if len(todo):
        worst, iterations, large = _small(
            lay, blocks, weight, order, ptr, todo, velocity, impulse, x, residuals, tolerance
        )
        for s in large:
            mine = order[ptr[s] : ptr[s + 1]]
            residual, count = _large(lay, blocks, weight, mine, velocity, impulse, x, tolerance)
            worst, iterations = max(worst, residual), iterations + count
    return Answer(x, float(worst), int(iterations))


@kernel
def _start(lay, blocks, chosen, velocity, impulse, tolerance):
    """Islands, weights, the velocity after the warm start, the residual of each island, and islands to solve."""
    n = len(velocity)
    order, ptr, island = grouped(blocks.body, chosen, n)
    weight = np.empty((len(impulse), weight_columns(lay)))
    x = velocity.copy()
    push_all(lay, blocks, chosen, impulse, x)
    count = len(ptr) - 1
    residuals, works = np.zeros(count), np.zeros(count)
    u = np.empty(len(lay.rows))
    for j in range(len(chosen)):
        i, s = chosen[j], island[j]
        weigh(lay, blocks.val[i], blocks.bound[i], weight[i])
        speeds_of(lay, blocks, x, i, u)
        for row in range(len(lay.rows)):
            works[s] += impulse[i, row] * u[row]
        residuals[s] = max(residuals[s], distance(lay, weight[i], impulse[i], u))
    todo = np.empty(count, np.int64)
    used = 0
    for s in range(count):
        fine = FINE if ptr[s + 1] - ptr[s] <= SMALL_ISLAND_CONTACTS else 1.0
        if residuals[s] > fine * tolerance or works[s] > 0.0:
            todo[used] = s
            used += 1
    return order, ptr, weight, x, residuals, todo[:used]


@kernel
def _small(lay, blocks, weight, order, ptr, todo, velocity, impulse, x, residuals, tolerance):
    """Solves the islands `todo` that are small; returns the residual of all but the large ones, iterations, large ones."""
    label = np.full(len(velocity), -1, np.int64)
    large, used, iterations, spent = np.empty(len(todo), np.int64), 0, 0, 0.0
    for s in todo:
        mine = order[ptr[s] : ptr[s + 1]]
        if len(mine) > SMALL_ISLAND_CONTACTS and len(lay.sides) == 2:
            large[used] = s
            used += 1
            residuals[s] = 0.0
            continue
        enough = tolerance * (FINE if spent < FINE_WORK else 1.0)
        if residuals[s] <= enough and len(mine) > 1:
            enough = residuals[s]  # only its work has to be removed
        residuals[s], count, work = _island(
            lay, blocks, weight, mine, velocity, impulse, x, label, enough, NEWTON_SYSTEM_WORK, NEWTON_ISLAND_WORK
        )
        iterations += count
        spent += work
    return residuals.max() if len(residuals) else 0.0, iterations, large[:used]


@kernel
def _island(lay, blocks, weight, contacts, velocity, impulse, x, label, tolerance, system_work, most_work):
    """Solves one island by plain sweeps and Newton steps, in place of its impulses and velocities x.

    Newton steps are taken where a system costs at most `system_work` multiplications, and about `most_work` together.
    Returns the residual, the number of sweeps and systems, and the work.
    """
    island, own, members, v, z = island_of(lay, blocks, weight, contacts, velocity, impulse, label)
    y = v.copy()
    push_all(lay, island, np.arange(len(z)), z, y)
    count, change, spent = 0, np.inf, 0.0
    while count < PLAIN_SWEEPS and change > 0.3 * tolerance:
        change = _plain_sweep(lay, island, own, z, y)
        count += 1
        spent += 2.0 * island.val.size
    residual, target = _settled(lay, island, own, v, z, y), tolerance
    if residual > tolerance and len(members):
        pattern = pattern_of(island.body, len(members))
        cost = multiplications(lay.axes, pattern) + 4.0 * island.val.size * len(lay.axes)
        if cost <= system_work:
            for _ in range(ATTEMPTS):
                most = min(NEWTON_SYSTEMS, (most_work - spent) / cost)
                _, more = newton(lay, island, own, pattern, v, z, target, most)
                count += more
                spent += more * cost
                residual = _settled(lay, island, own, v, z, y)
                if residual <= tolerance or most <= 1.0:
                    break
                target *= 0.1
    for p in range(len(z)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in range(len(members)):
        for c in range(len(lay.axes)):
            x[members[b], c] = y[b, c]
    return residual, count, spent


@kernel
def _settled(lay, island, weight, v, z, y):
    """Removes the work of the impulses z, writes the velocities after them to y, and returns the residual."""
    contacts = np.arange(len(z))
    y[:] = v
    push_all(lay, island, contacts, z, y)
    residual, work = measure(lay, island, weight, contacts, z, y)
    if without_work(lay, weight, contacts, z, y, v, np.arange(len(v)), work):
        residual, work = measure(lay, island, weight, contacts, z, y)
    return residual


@kernel
def _plain_sweep(lay, island, weight, z, x):
    """One Gauss-Seidel sweep, for any number of bodies per contact; returns the largest change of a speed."""
    worst = 0.0
    for p in range(len(z)):
        w = weight[p, NORMAL]
        if w > 0.0:
            new = max(z[p, 0] - _row_speed(lay, island, x, p, 0) * w, 0.0)
            worst = max(worst, abs(new - z[p, 0]) / w)
            _push_row(lay, island, x, p, 0, new - z[p, 0])
            z[p, 0] = new
        for g in range(group_count(lay)):
            first, last = group_rows(lay, g)
            w, bound = weight[p, WEIGHT + 2 * g], weight[p, BOUND + 2 * g] * max(z[p, 0], 0.0)
            if w == 0.0:
                continue
            one = z[p, first] - _row_speed(lay, island, x, p, first) * w
            two = z[p, last - 1] - _row_speed(lay, island, x, p, last - 1) * w if last - first == 2 else 0.0
            size = np.sqrt(one * one + two * two)
            share = bound / size if size > bound else 1.0
            worst = max(worst, abs(share * one - z[p, first]) / w)
            _push_row(lay, island, x, p, first, share * one - z[p, first])
            z[p, first] = share * one
            if last - first == 2:
                worst = max(worst, abs(share * two - z[p, last - 1]) / w)
                _push_row(lay, island, x, p, last - 1, share * two - z[p, last - 1])
                z[p, last - 1] = share * two
    return worst


@kernel
def _row_speed(lay, island, x, p, s):
    total = island.base[p, s]
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                total += island.val[p, side, s, c] * x[b, c]
    return total


@kernel
def _push_row(lay, island, x, p, s, impulse):
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                x[b, c] += island.val[p, side, s, c] * impulse


def _large(
    lay: Layout,
    blocks: Blocks,
    weight: Floats,
    mine: Ints,
    velocity: Floats,
    impulse: Floats,
    x: Floats,
    tolerance: float,
) -> tuple[float, int]:
    """Solves one large island by sweeps, in place of its impulses and velocities x; returns residual and sweeps."""
    contacts, body, members, cuts = _arranged(blocks.body, mine, len(velocity))
    n, k, count = len(members), len(contacts), len(cuts) - 1
    scale = _scale(weight, contacts, impulse, velocity, members)
    dtype = np.float32 if tolerance > SINGLE * scale else np.float64
    records = room(lay, k, n + 2 * count, dtype)
    on_threads(_packs, [(lay, blocks, weight, contacts, body, n, cuts, part, records) for part in _dealt(count)])
    zeros, units = (dtype(0.0),) * len(lay.axes), (dtype(1e-30), dtype(1.0))
    done, target, residual, state = 0, TARGET * tolerance, np.inf, first_state()
    while done < SWEEPS:
        on_threads(_restarts, [(lay, blocks, contacts, impulse, x, cuts, part, records) for part in _dealt(count)])
        records.x[:], records.last_x[:] = 0.0, 0.0
        if thread_count() == 1 or count == 1:
            done += sweeps(lay, zeros, units, records, cuts, state, tolerance, target, SWEEPS - done)
        else:
            done += _threaded_sweeps(lay, zeros, units, records, cuts, state, tolerance, target, SWEEPS - done)
        residual = _finish(lay, blocks, weight, mine, contacts, members, velocity, records.z, impulse, x)
        if residual <= tolerance:
            break
        target *= 0.7
    return residual, done


def _dealt(count: int, parity: int = 0, step: int = 1) -> list[Ints]:
    """Slabs parity, parity + step, ... distributed over the threads."""
    return [part for part in np.array_split(np.arange(parity, count, step), thread_count()) if len(part)]


@kernel
def _packs(lay, blocks, weight, contacts, body, n, cuts, part, records):
    for s in part:
        pack(lay, blocks, weight, contacts, body, n + 2 * s, cuts[s], cuts[s + 1], records)
    return 0.0


@kernel
def _restarts(lay, blocks, contacts, impulse, x, cuts, part, records):
    for s in part:
        restart(lay, blocks, contacts, impulse, x, cuts[s], cuts[s + 1], records)
    return 0.0


def _threaded_sweeps(lay, zeros, units, records, cuts, state, busy, target, most):
    """What `contact_sweeps.sweeps` does, with the slabs of one parity at the same time."""
    count = len(cuts) - 1
    reports = np.zeros((count, 3))
    phases = [
        [(lay, zeros, units, records, cuts, part, state, busy, reports) for part in _dealt(count, parity, 2)]
        for parity in range(2)
    ]
    for done in range(most):
        for pieces in phases:
            on_threads(swept, pieces)
        if advance(records, reports, state, target):
            return done + 1
    return most


@kernel
def _arranged(body, mine, n):
    """Contacts in the order of the sweep, their bodies within the island, those bodies, and slab pointers."""
    label, members, count = np.full(n, -1, np.int64), np.empty(n, np.int64), 0
    own = np.full((len(mine), 2), n, np.int64)
    for p in range(len(mine)):
        for side in range(2):
            b = body[mine[p], side]
            if b >= 0:
                if label[b] < 0:
                    label[b] = count
                    members[count] = b
                    count += 1
                own[p, side] = label[b]
    for p in range(len(mine)):
        for side in range(2):
            own[p, side] = min(own[p, side], count)
    if len(mine) >= THREADED_SWEEPS_CONTACTS:
        order, cuts = slabs(own, count, SLABS)
    else:
        order, cuts = np.arange(len(mine)), np.array([0, len(mine)])
    strided = np.empty_like(order)
    for s in range(len(cuts) - 1):
        at = cuts[s]
        for offset in range(STRIDE):
            for p in range(cuts[s] + offset, cuts[s + 1], STRIDE):
                strided[at] = order[p]
                at += 1
    return mine[strided], own[strided], members[:count].copy(), cuts


@kernel
def _scale(weight, contacts, impulse, velocity, members):
    """Order of magnitude of the speeds that impulses cause."""
    top = 0.0
    for i in contacts:
        if weight[i, NORMAL] > 0.0:
            top = max(top, abs(impulse[i, 0]) / weight[i, NORMAL])
    return top


@kernel
def _finish(lay, blocks, weight, mine, contacts, members, velocity, z, impulse, x):
    """Impulses, velocities and residual of an island in double precision; impulses do no work."""
    for p in range(len(contacts)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in members:
        for c in range(len(lay.axes)):
            x[b, c] = velocity[b, c]
    push_all(lay, blocks, mine, impulse, x)
    residual, work = measure(lay, blocks, weight, mine, impulse, x)
    if without_work(lay, weight, mine, impulse, x, velocity, members, work):
        residual, work = measure(lay, blocks, weight, mine, impulse, x)
    return residual
