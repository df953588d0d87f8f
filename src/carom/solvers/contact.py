"""Frictional contact: impulses of contacts with the true Coulomb cone, rolling and torsional friction, 2D and 3D.

    0 <= z_0 perp u_0 >= 0,   |z_g| <= b_g z_0,   z_g against u_g where |z_g| = b_g z_0

for each contact and each of its groups of friction rows (`blocks.py`), with `u = G (v + G^T z) + base`. Islands are
solved one by one. An island whose warm start is good enough costs one residual. Small islands get a few plain sweeps,
then Newton steps (`contact_newton.py`); large ones accelerated sweeps (`contact_sweeps.py`, on threads
`contact_slabs.py`), and Newton steps where the sweeps stall and a factorization is affordable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .blocks import Blocks
from .contact_newton import island_of, newton
from .contact_pack import (
    BOUND,
    LOOSE,
    NORMAL,
    WEIGHT,
    Layout,
    common_size,
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
from .contact_records import scale_of
from .contact_slabs import SINGLE, SWEEPS, relax
from .contact_sweeps import relax_alone
from .linalg.contact_lu import multiplications, pattern_of
from .rows import Floats, Ints
from .thresholds import (
    EASY_ISLAND_WORK,
    LARGE_ISLAND_WORK,
    LARGE_SYSTEM_WORK,
    NEWTON_ISLAND_WORK,
    NEWTON_SYSTEM_WORK,
    NEWTON_SYSTEMS,
    SMALL_ISLAND_CONTACTS,
    THREADED_SWEEPS_CONTACTS,
    TINY_ISLAND_CONTACTS,
)

PLAIN_SWEEPS = 10  # sweeps over a small island before Newton steps
# Small islands are solved to a share of the tolerance while it costs next to nothing: to FINE where the warm start is
# worse than the tolerance, by sweeps to ROUGH where it is better. Without these, what is left of forces would
# accelerate bodies from step to step.
FINE, ROUGH = 1e-2, 1e-1
FINE_WORK = 2e5  # multiplications on such islands in one call, after which the others get the tolerance asked for
NO_WORK = 1e-12  # work, relative to that of each normal impulse against its own effect, that is rounding
UNITS = (np.float32(1e-30), np.float32(1.0))  # see `contact_sweeps.sweep`
ATTEMPTS = 4  # Newton solves of an island, each ten times finer: removing their work may raise the residual


class Answer(NamedTuple):
    """Velocity after the impulses, and how good they are."""

    velocity: Floats  # (n, d) whitened
    residual: float  # largest distance of an impulse to its projected step, as a speed (m/s)
    iterations: int  # sweeps and linear systems over all islands


def solve_contact(
    blocks: Blocks,
    chosen: Ints,
    velocity: Floats,
    impulse: Floats,
    tolerance: float,
    enough: float = 0.0,
    fine: float = FINE_WORK,
) -> Answer:
    """Impulses of the contacts `chosen` (k,), in place of `impulse` (m, r), which is also the warm start.

    `velocity` (n, d) is whitened and not modified. `tolerance` is a speed: the residual aimed for. The residual
    reached may be larger; with `enough` > `tolerance` the latter is given up where it costs much, as soon as the
    residual is at most `enough`. `fine` is the work that may be spent on small islands to solve them better than asked
    for. Impulses do no work on any island, `sum z . u <= 0` up to rounding, whatever the
    tolerance.
    """
    shape = velocity.shape
    blocks, velocity = common_size(blocks, velocity)
    lay, zeros = layout_of(blocks)
    tolerance, enough = float(tolerance), max(float(tolerance), float(enough))
    rough, most = (ROUGH, NEWTON_ISLAND_WORK) if enough == tolerance else (1.0, EASY_ISLAND_WORK)
    accuracy = (tolerance, enough, rough if fine > 0.0 else 1.0, most, float(fine))
    x, residuals, iterations, left, order, ptr, weight = _solve(
        lay, zeros, UNITS, blocks, chosen, velocity, impulse, accuracy
    )
    for s in left:
        mine = order[ptr[s] : ptr[s + 1]]
        residuals[s], count = _large(lay, blocks, weight, mine, velocity, impulse, x, enough)
        iterations += count
    if x.shape != shape:
        x = x.reshape(shape) if x.size == shape[0] * shape[1] else x[:, : shape[1]].copy()
    return Answer(x, float(residuals.max(initial=0.0)), int(iterations))


@kernel
def _solve(lay, zeros, units, blocks, chosen, velocity, impulse, accuracy):
    """Solves all islands except those that are left: velocity, residuals, iterations, islands left, and their data."""
    tolerance, _, rough, _, _ = accuracy
    order, ptr, weight, x, residuals, tops, todo = _start(lay, blocks, chosen, velocity, impulse, tolerance, rough)
    iterations, left = 0, todo
    if len(todo):
        iterations, left = _in_turn(
            lay, zeros, units, blocks, weight, order, ptr, todo, velocity, impulse, x, residuals, tops, accuracy
        )
    return x, residuals, iterations, left, order, ptr, weight


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
    """Solves one large island by sweeps, then by Newton steps; returns its residual and the number of both."""
    residual, count = relax(lay, blocks, weight, mine, velocity, impulse, x, tolerance)
    if residual > tolerance:
        label = np.full(len(velocity), -1, np.int64)
        most = (LARGE_SYSTEM_WORK, LARGE_ISLAND_WORK)
        residual, more, _ = _island(lay, blocks, weight, mine, velocity, impulse, x, label, tolerance, 0, most)
        count += more
    return residual, count


@kernel(fastmath=LOOSE, slp=True)
def _start(lay, blocks, chosen, velocity, impulse, tolerance, rough):
    """Islands, weights, the velocity after the warm start, for each island its residual and the order of magnitude of
    the speeds that impulses cause or have to change, and the islands to solve."""
    n = len(velocity)
    order, ptr, island = grouped(blocks.body, chosen, n)
    weight = np.empty((len(impulse), weight_columns(lay)))
    x = velocity.copy()
    push_all(lay, blocks, chosen, impulse, x)
    count = len(ptr) - 1
    residuals, works, sizes, tops = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    u = np.empty(len(lay.rows))
    for j in range(len(chosen)):
        i, s = chosen[j], island[j]
        weigh(lay, blocks, i, weight)
        speeds_of(lay, blocks, x, i, u)
        for row in range(len(lay.rows)):
            works[s] += impulse[i, row] * u[row]
        if weight[i, NORMAL] > 0.0:
            sizes[s] += impulse[i, 0] ** 2 / weight[i, NORMAL]
            tops[s] = max(tops[s], abs(impulse[i, 0]) / weight[i, NORMAL], -u[0])
        residuals[s] = max(residuals[s], distance(lay, weight[i], impulse[i], u))
    todo = np.empty(count, np.int64)
    used = 0
    for s in range(count):
        enough = rough if ptr[s + 1] - ptr[s] <= SMALL_ISLAND_CONTACTS else 1.0
        if residuals[s] > enough * tolerance or works[s] > NO_WORK * sizes[s]:
            todo[used] = s
            used += 1
    return order, ptr, weight, x, residuals, tops, todo[:used]


@kernel
def _in_turn(
    lay,
    zeros,
    units,
    blocks,
    weight,
    order,
    ptr,
    todo,
    velocity,
    impulse,
    x,
    residuals,
    tops,
    accuracy,
):
    """Solves the islands `todo` except large ones; returns the iterations, and the islands that are left."""
    tolerance, enough, _, most_work, fine_work = accuracy
    label = np.full(len(velocity), -1, np.int64)
    left, used, iterations, spent = np.empty(len(todo), np.int64), 0, 0, 0.0
    for s in todo:
        mine = order[ptr[s] : ptr[s + 1]]
        k = len(mine)
        loose = tolerance > SINGLE * tops[s]
        fine = loose and spent < fine_work and k <= SMALL_ISLAND_CONTACTS
        if residuals[s] <= tolerance * (ROUGH if fine else 1.0):
            residuals[s] = _unloaded(lay, blocks, weight, mine, velocity, impulse, x, label)
            if residuals[s] <= tolerance:
                continue
        # Sweeps in order would break the symmetry of redundant contacts; Newton steps keep it.
        plain = PLAIN_SWEEPS if k == 1 or (loose and not fine) else 0
        if fine:
            most = (fine_work, fine_work - spent)
            aim, first = (ROUGH, PLAIN_SWEEPS) if residuals[s] <= tolerance else (FINE, plain)
            residuals[s], count, work = _island(
                lay, blocks, weight, mine, velocity, impulse, x, label, aim * tolerance, first, most
            )
            iterations += count
            spent += work
            if residuals[s] <= tolerance:
                continue
        if k <= TINY_ISLAND_CONTACTS or len(lay.sides) > 2 or (k <= SMALL_ISLAND_CONTACTS and not loose):
            most = (NEWTON_SYSTEM_WORK, most_work)
            residuals[s], count, work = _island(
                lay, blocks, weight, mine, velocity, impulse, x, label, tolerance, plain, most
            )
            iterations += count
        elif k < THREADED_SWEEPS_CONTACTS and loose:
            residuals[s], count = relax_alone(
                lay, zeros, units, blocks, weight, mine, velocity, impulse, x, label, tolerance, SWEEPS
            )
            iterations += count
        if residuals[s] > enough and len(lay.sides) == 2:
            left[used] = s
            used += 1
    return iterations, left[:used]


@kernel
def _unloaded(lay, blocks, weight, mine, velocity, impulse, x, label):
    """Removes the work of the impulses of an island, and returns its residual.

    `label` is scratch, -1 for each body before and after.
    """
    members, count = np.empty(len(mine) * len(lay.sides), np.int64), 0
    for i in mine:
        for side in range(len(lay.sides)):
            b = blocks.body[i, side]
            if b >= 0 and label[b] < 0:
                label[b] = 0
                members[count] = b
                count += 1
    for b in members[:count]:
        label[b] = -1
    residual, work = measure(lay, blocks, weight, mine, impulse, x)
    if without_work(lay, weight, mine, impulse, x, velocity, members[:count], work):
        residual, work = measure(lay, blocks, weight, mine, impulse, x)
    return residual


@kernel
def _island(lay, blocks, weight, contacts, velocity, impulse, x, label, tolerance, plain, most):
    """Solves one island by plain sweeps and Newton steps, in place of its impulses and velocities x.

    At most `plain` sweeps come first. Newton steps are taken where a system costs at most `most[0]` multiplications,
    about `most[1]` together. Returns the residual, the number of sweeps and systems, and the work.
    """
    island, own, members, v, z = island_of(lay, blocks, weight, contacts, velocity, impulse, label)
    y = v.copy()
    push_all(lay, island, np.arange(len(z)), z, y)
    count, change, spent = 0, np.inf, 0.0
    # Sweeps depend on the order of the contacts. Where Coulomb's law allows several answers they break the symmetry of
    # the problem, so that exact answers of several contacts begin with Newton steps.
    loose = len(z) == 1 or tolerance > SINGLE * scale_of(lay, blocks, weight, contacts, impulse, x)
    while loose and count < plain and change > 0.3 * tolerance:
        change = _plain_sweep(lay, island, own, z, y)
        count += 1
        spent += 2.0 * island.val.size
    residual, target = _settled(lay, island, own, v, z, y), tolerance
    if residual > tolerance and len(members):
        pattern = pattern_of(island.body, len(members))
        cost = multiplications(lay.axes, pattern) + 4.0 * island.val.size * len(lay.axes)
        if cost <= most[0]:
            for _ in range(ATTEMPTS):
                systems = min(NEWTON_SYSTEMS, (most[1] - spent) / cost)
                if systems < 1.0:
                    break
                _, more = newton(lay, island, own, pattern, v, z, target, systems)
                count += more
                spent += more * cost
                residual = _settled(lay, island, own, v, z, y)
                if residual <= tolerance:
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


@kernel(inline="always")
def _row_speed(lay, island, x, p, s):
    total = island.base[p, s]
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                total += island.val[p, side, s, c] * x[b, c]
    return total


@kernel(inline="always")
def _push_row(lay, island, x, p, s, impulse):
    for side in range(len(lay.sides)):
        b = island.body[p, side]
        if b >= 0:
            for c in range(len(lay.axes)):
                x[b, c] += island.val[p, side, s, c] * impulse
