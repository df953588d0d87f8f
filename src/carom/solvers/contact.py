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
from .contact_sweeps import everywhere, locally, pack, restart, room, slabs
from .linalg.contact_lu import multiplications, pattern_of
from .rows import Floats, Ints
from .threads import on_threads, thread_count
from .thresholds import (
    NEWTON_ISLAND_WORK,
    NEWTON_SYSTEM_WORK,
    NEWTON_SYSTEMS,
    SMALL_ISLAND_CONTACTS,
    THREADED_SWEEPS_CONTACTS,
    TINY_ISLAND_CONTACTS,
)

SWEEPS = 1000  # bound on the sweeps over a large island
PLAIN_SWEEPS = 10  # sweeps over a small island before Newton steps
FINE = 1e-3  # tolerance of islands of up to TINY_ISLAND_CONTACTS contacts: it costs next to nothing
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
        fine = FINE if ptr[s + 1] - ptr[s] <= TINY_ISLAND_CONTACTS else 1.0
        if residuals[s] > fine * tolerance or works[s] > 0.0:
            todo[used] = s
            used += 1
    return order, ptr, weight, x, residuals, todo[:used]


@kernel
def _small(lay, blocks, weight, order, ptr, todo, velocity, impulse, x, residuals, tolerance):
    """Solves the islands `todo` that are small; returns the residual of all but the large ones, iterations, large ones.
    """
    label = np.full(len(velocity), -1, np.int64)
    large, used, iterations = np.empty(len(todo), np.int64), 0, 0
    for s in todo:
        k = ptr[s + 1] - ptr[s]
        if k > SMALL_ISLAND_CONTACTS and len(lay.sides) == 2:
            large[used] = s
            used += 1
            residuals[s] = 0.0
            continue
        mine = order[ptr[s] : ptr[s + 1]]
        enough = FINE * tolerance if k <= TINY_ISLAND_CONTACTS else tolerance
        residuals[s], count = _island(lay, blocks, weight, mine, velocity, impulse, x, label, enough)
        iterations += count
    worst = 0.0
    for s in range(len(residuals)):
        worst = max(worst, residuals[s])
    return worst, iterations, large[:used]


@kernel
def _island(lay, blocks, weight, contacts, velocity, impulse, x, label, tolerance):
    """Solves one island by plain sweeps and Newton steps, in place of its impulses and velocities x."""
    island, own, members, v, z = island_of(lay, blocks, weight, contacts, velocity, impulse, label)
    mine, everybody = np.arange(len(z)), np.arange(len(members))
    y = v.copy()
    push_all(lay, island, mine, z, y)
    count, change = 0, np.inf
    while count < PLAIN_SWEEPS and change > 0.3 * tolerance:
        change = _plain_sweep(lay, island, own, z, y)
        count += 1
    residual, work = measure(lay, island, own, mine, z, y)
    if residual > tolerance and len(members):
        pattern = pattern_of(island.body, len(members))
        cost = multiplications(lay.axes, pattern)
        if cost <= NEWTON_SYSTEM_WORK:
            most = min(NEWTON_SYSTEMS, NEWTON_ISLAND_WORK / cost)
            residual, more = newton(lay, island, own, pattern, v, z, tolerance, most)
            count += more
    y[:] = v
    push_all(lay, island, mine, z, y)
    residual, work = measure(lay, island, own, mine, z, y)
    if without_work(lay, own, mine, z, y, v, everybody, work):
        residual, work = measure(lay, island, own, mine, z, y)
    for p in range(len(z)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in everybody:
        for c in range(len(lay.axes)):
            x[members[b], c] = y[b, c]
    return residual, count


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
    lay: Layout, blocks: Blocks, weight: Floats, mine: Ints, velocity: Floats, impulse: Floats, x: Floats, tolerance: float
) -> tuple[float, int]:
    """Solves one large island by sweeps, in place of its impulses and velocities x; returns residual and sweeps."""
    contacts, body, members, cuts = _arranged(blocks.body, mine, len(velocity))
    n, k, count = len(members), len(contacts), len(cuts) - 1
    scale = _scale(weight, contacts, impulse, velocity, members)
    dtype = np.float32 if tolerance > SINGLE * scale else np.float64
    records = room(lay, k, n + 2 * count, dtype)
    for s in range(count):
        pack(lay, blocks, weight, contacts, body, n + 2 * s, cuts[s], cuts[s + 1], records)
    zeros, units = (dtype(0.0),) * len(lay.axes), (dtype(1e-30), dtype(1.0))
    everything, bodies = np.arange(k), np.arange(n)
    sweeps, target, residual = 0, TARGET * tolerance, np.inf
    while sweeps < SWEEPS:
        restart(lay, blocks, contacts, impulse, x, 0, k, records)
        records.x[:], records.last_x[:] = 0.0, 0.0
        if sweeps == 0:
            sweeps += everywhere(lay, zeros, units, records, everything, bodies, cuts, tolerance, SWEEPS)
        sweeps += locally(lay, zeros, units, records, everything, n, target, SWEEPS - sweeps)
        residual = _finish(lay, blocks, weight, contacts, members, velocity, records.z, impulse, x)
        if residual <= tolerance:
            break
        target *= 0.7
    return residual, sweeps


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
def _finish(lay, blocks, weight, contacts, members, velocity, z, impulse, x):
    """Impulses, velocities and residual of an island in double precision; impulses do no work."""
    for p in range(len(contacts)):
        for s in range(len(lay.rows)):
            impulse[contacts[p], s] = z[p, s]
    for b in members:
        for c in range(len(lay.axes)):
            x[b, c] = velocity[b, c]
    push_all(lay, blocks, contacts, impulse, x)
    residual, work = measure(lay, blocks, weight, contacts, impulse, x)
    if without_work(lay, weight, contacts, impulse, x, velocity, members, work):
        residual, work = measure(lay, blocks, weight, contacts, impulse, x)
    return residual
