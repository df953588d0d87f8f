"""Compliant impact: springs at all contacts, integrated in a pseudo-time while the bodies do not move.

Contact i carries a spring of compression `D_i >= 0` and force `f_i = k_i D_i^eta`. With impulses P,

    dP_i/ds = k_i D_i^eta,     dD_i/ds = -r_i u_i,     u = G (x + G^T P) + w,

and r_i = 1 while the spring is loaded (u_i < 0), `1 / e_i^2` while it is unloaded (u_i > 0), so that it
returns `e_i^2` of the energy that it stored. A spring that is relaxed and does not approach is open (r_i = 0);
positions do not change, so it is loaded again from zero when its contact approaches again. The integration ends when
all springs are open.

The right-hand side is smooth except for these changes of r. They are located, and steps end on them; between them
an eighth-order Runge-Kutta pair (Dormand and Prince, Hairer's DOP853) controls the step length. The work per step is
proportional to the number of entries of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..solvers.islands import all_islands
from ..solvers.rows import Floats, Ints, counting_sort, speed, speeds
from .dormand_prince import E3 as _E3
from .dormand_prince import E5 as _E5
from .dormand_prince import STAGES as _STAGES
from .dormand_prince import A as _A
from .dormand_prince import B as _B

OPEN_SPEED = 1e-12  # approach below this share of the fastest of the island counts as none
_RELAXED_SHARE = 1e-12  # compression below this share of the one that would store the whole energy counts as none
# Work of all trial steps, in contacts and eighths of entries of rows: less than a second for up to 30 contacts. A step
# of a run may take a fifth of it: it is one of many, and a body that is clamped takes all of it in every step.
STEPS_WORK, RUN_STEPS_WORK = 1e6, 2e5
COUPLED_SHARE = 3.0  # multiplications with A over those with entries of G up to which speeds are `u0 + A p`
_LOCATING_STEPS = 60  # bound on the trial steps for locating one change of r


class Springs(NamedTuple):
    """An island in units where the fastest approach is 1, and its springs: what stays constant in the integration."""

    rows: tuple[Ints, Ints, Floats, Floats]  # ptr, body, val, diag: row i has the entries ptr[i]:ptr[i+1]
    coupled: tuple[NDArray[np.uint32], Floats]  # see `_coupled`
    velocity: Floats  # (bodies, d) x, before the impact
    boundary: Floats  # (m,) w, velocity of boundaries along the normals
    start: Floats  # (m,) u0, separation speeds before the impact
    stiffness: Floats  # (m,) k
    exponent: float  # eta
    release: Floats  # (m,) 1 / e^2
    unit: Floats  # (2, m) scales of impulses and compressions
    speed_floor: float  # speeds below it count as none


class Scratch(NamedTuple):
    """Arrays of the integration."""

    rate: Floats  # (m,) r, 0 for open springs
    slope: Floats  # (stages, 2, m) rates at the stages of a step
    stage: Floats  # (2, m)
    velocity: Floats  # (bodies, d)
    speed: Floats  # (m,) u
    flat: Floats  # (stages, 2 m) the same memory as `slope`
    sums: Floats  # (3, 2 m) sums over the stages


@kernel(inline="always")
def default_bound(m, cost, budget):
    """Trial steps allowed for an island of m contacts. `cost` is the work of a step, `budget` that of all steps.

    Clusters need about 40 m and cradles 80 m. Light balls between heavy ones need most: 13,000 m for a mass ratio of
    1e4.
    """
    return max(min(30_000 + 12_000 * m, int(budget / cost)), 200 * m)


@kernel
def integrate_islands(rows, velocity, stiffness, eta, restitution, tolerance, max_steps, work):
    """Integrates every island to its end. `work` bounds the trial steps for 30 contacts, and in proportion for more.

    Returns impulses (m,), trial steps, the largest error estimate of an island relative to its impact, and the number
    of islands that were cut off after `max_steps`, or after `default_bound` if that is 0.
    """
    m, n = len(rows.body), len(velocity)
    impulse, boundary = np.zeros(m), rows.base[:, 0].copy()
    found, local = all_islands(rows.body, n), np.empty(n, np.int64)
    order, ptr = found.order, found.ptr
    floor = OPEN_SPEED * _fastest(rows, found.chosen, velocity)
    steps, cut, worst, budget = 0, 0, 0.0, work * max(1.0, m / 30.0)
    for s in range(len(ptr) - 1):
        members = order[ptr[s] : ptr[s + 1]]
        fastest = _fastest(rows, members, velocity)
        if fastest <= floor:
            continue
        g, x = _extract(rows, members, velocity, local)
        k = stiffness[members] / np.max(stiffness[members] * g[3])
        release = 1.0 / restitution[members] ** 2
        cost = len(members) + g[2].size / 8.0
        bound = max_steps if max_steps > 0 else default_bound(len(members), cost, budget)
        unit = np.empty((2, len(members)))
        before = speeds(rows, velocity)[members] / fastest
        given = (x / fastest, boundary[members] / fastest, before)
        springs = Springs(g, _coupled(g, len(x)), *given, k, eta, release, unit, 0.0)
        p, taken, error, done = _integrate(springs, tolerance, bound)
        for j in range(len(members)):
            impulse[members[j]] = p[j] * fastest
        steps += taken
        budget -= min(budget, taken * cost)
        worst = max(worst, error)
        cut += 0 if done else 1
    return impulse, steps, worst, cut


@kernel(inline="always")
def _fastest(rows, members, x):
    """Largest approach speed among the members."""
    out = 0.0
    for i in members:
        out = max(out, -speed(rows, i, x))
    return out


@kernel(inline="always")
def _extract(rows, members, velocity, local):
    """(ptr, body, val, diag) of the island, with its bodies numbered from 0, and their velocities."""
    entries, w, d = 0, rows.body.shape[1], rows.val.shape[3]
    for i in members:
        for side in range(w):
            if rows.body[i, side] >= 0:
                entries += 1
                local[rows.body[i, side]] = -1
    ptr, body = np.zeros(len(members) + 1, np.int64), np.empty(entries, np.int64)
    val, x = np.empty((entries, d)), np.empty((entries, d))
    bodies, at = 0, 0
    for j in range(len(members)):
        for side in range(w):
            b = rows.body[members[j], side]
            if b < 0:
                continue
            if local[b] < 0:
                local[b] = bodies
                for c in range(d):
                    x[bodies, c] = velocity[b, c]
                bodies += 1
            body[at] = local[b]
            for c in range(d):
                val[at, c] = rows.val[members[j], side, 0, c]
            at += 1
        ptr[j + 1] = at
    return (ptr, body, val, rows.diag[members]), x[:bodies].copy()


@kernel(inline="always")
def _coupled(rows, bodies):
    """The Delassus matrix `A = G G^T`, column k of all rows side by side: contacts (most, m) and values (most, m).

    Rows have as many columns as the longest one; without an entry it is the contact itself times 0. No columns if they
    would take more multiplications than G and G^T: a body with many contacts.
    """
    ptr, body, val, _ = rows
    m, most, d = len(ptr) - 1, 0, val.shape[1]
    order, start = counting_sort(body, bodies)
    for i in range(m):
        entries = 0
        for e in range(ptr[i], ptr[i + 1]):
            entries += start[body[e] + 1] - start[body[e]]
        most = max(most, entries - (ptr[i + 1] - ptr[i]) + 1)
    if most * m > COUPLED_SHARE * len(body) * d:
        most = 0
    contact, value, owner = np.empty((most, m), np.uint32), np.zeros((most, m)), np.empty(len(body), np.int64)
    for i in range(m):
        owner[ptr[i] : ptr[i + 1]] = i
        contact[:, i] = i
    for i in range(m if most > 0 else 0):
        k = 1  # column 0 is the diagonal
        for e in range(ptr[i], ptr[i + 1]):
            for t in range(start[body[e]], start[body[e] + 1]):
                f, total = order[t], 0.0
                for c in range(d):
                    total += val[e, c] * val[f, c]
                if owner[f] == i:
                    value[0, i] += total
                else:
                    contact[k, i], value[k, i] = owner[f], total
                    k += 1
    return contact, value


@lean
def _separation(springs, p, x, u):
    """`u = u0 + A p`, or `u = G (x0 + G^T p) + w` where contacts are coupled to many, with x as scratch."""
    ptr, body, val, _ = springs.rows
    contact, value = springs.coupled
    x0, w, d = springs.velocity, springs.boundary, val.shape[1]
    if len(contact) > 0:
        for i in range(len(w)):
            u[i] = springs.start[i]
        for k in range(len(contact)):
            for i in range(len(w)):
                u[i] += value[k, i] * p[contact[k, i]]
        return
    for b in range(len(x0)):  # loops here and below: array assignments take seconds to compile
        for c in range(d):
            x[b, c] = x0[b, c]
    for i in range(len(w)):
        if p[i] != 0.0:
            for e in range(ptr[i], ptr[i + 1]):
                for c in range(d):
                    x[body[e], c] += val[e, c] * p[i]
    for i in range(len(w)):
        total = w[i]
        for e in range(ptr[i], ptr[i + 1]):
            for c in range(d):
                total += val[e, c] * x[body[e], c]
        u[i] = total


@lean
def _rates(springs, y, scratch, out):
    """(dP/ds, dD/ds) at y = (P, D)."""
    k, eta, r, u = springs.stiffness, springs.exponent, scratch.rate, scratch.speed
    _separation(springs, y[0], scratch.velocity, u)
    for i in range(len(u)):
        depth = y[1, i] if r[i] != 0.0 and y[1, i] > 0.0 else 0.0
        out[0, i] = k[i] * depth * np.sqrt(depth)
        out[1, i] = -r[i] * u[i]
    if eta != 1.5:
        for i in range(len(u)):
            depth = y[1, i] if r[i] != 0.0 and y[1, i] > 0.0 else 0.0
            out[0, i] = k[i] * (depth if eta == 1.0 else depth**eta)


@lean
def _combined(weight, stages, slope, out):
    """`out = sum_j weight[j] slope[j]` (2 m,) over the stages, with the contacts in the innermost loop, for SIMD."""
    for i in range(len(out)):
        out[i] = weight[0] * slope[0, i]
    for j in range(1, stages):
        if weight[j] != 0.0:
            for i in range(len(out)):
                out[i] += weight[j] * slope[j, i]


@lean
def _step(springs, y, h, scratch, out):
    """One step of length h from y to `out`; slope[0] holds the rates at y. Returns the relative error estimate.

    Errors of impulses are taken in the energy norm `sqrt(A_ii) dP`, those of compressions relative to the
    compression that would store the whole energy: `unit` holds both scales.
    """
    slope, stage, unit, m = scratch.slope, scratch.stage, springs.unit, len(scratch.speed)
    total, high, low = scratch.sums[0], scratch.sums[1], scratch.sums[2]
    for s in range(1, _STAGES):
        _combined(_A[s], s, scratch.flat, total)
        for q in range(2):
            for i in range(m):
                stage[q, i] = y[q, i] + h * total[q * m + i]
        _rates(springs, stage, scratch, slope[s])
    five, three = 0.0, 0.0
    _combined(_B, _STAGES, scratch.flat, total)
    _combined(_E5, _STAGES, scratch.flat, high)
    _combined(_E3, _STAGES, scratch.flat, low)
    for q in range(2):
        for i in range(m):
            out[q, i] = y[q, i] + h * total[q * m + i]
            five += (high[q * m + i] / unit[q, i]) ** 2
            three += (low[q * m + i] / unit[q, i]) ** 2
    _separation(springs, out[0], scratch.velocity, scratch.speed)
    if five == 0.0 and three == 0.0:
        return 0.0
    return abs(h) * five / np.sqrt(five + 0.01 * three)


@lean
def _passed(springs, y, scratch, out):
    """How far each contact is past its next change of r, in units of the tolerance; returns the largest."""
    u, r, release, depth_unit = scratch.speed, scratch.rate, springs.release, springs.unit[1]
    speed_floor = springs.speed_floor
    most = -np.inf
    for i in range(len(u)):
        if r[i] == 0.0:
            out[i] = -u[i] / speed_floor - 1.0
        else:
            out[i] = -y[1, i] / (_RELAXED_SHARE * depth_unit[i])
            if release[i] != 1.0 and y[1, i] > 0.0:
                out[i] = (u[i] if r[i] == 1.0 else -u[i]) / speed_floor
        most = max(most, out[i])
    return most


@kernel(inline="always")
def _switch(springs, y, scratch):
    """Sets r from the state; True if any spring is loaded."""
    u, r, release, depth_unit = scratch.speed, scratch.rate, springs.release, springs.unit[1]
    speed_floor = springs.speed_floor
    loaded = False
    for i in range(len(u)):
        if r[i] == 0.0:
            if u[i] < -speed_floor:
                r[i] = 1.0
        elif y[1, i] <= _RELAXED_SHARE * depth_unit[i]:
            y[1, i] = max(y[1, i], 0.0)
            if u[i] >= -speed_floor:
                y[1, i] = 0.0
                r[i] = 0.0
            else:
                r[i] = 1.0
        elif u[i] != 0.0:
            r[i] = 1.0 if u[i] < 0.0 else release[i]
        loaded = loaded or r[i] != 0.0
    return loaded


@kernel(inline="always")
def _with_scales(springs, energy):
    """The same springs with the scales of impulses and compressions for an energy; writes `unit`."""
    diag, k, eta, x0 = springs.rows[3], springs.stiffness, springs.exponent, springs.velocity
    for i in range(len(k)):
        springs.unit[0, i] = np.sqrt(energy / diag[i])
        springs.unit[1, i] = (0.5 * (eta + 1.0) * energy / k[i]) ** (1.0 / (eta + 1.0))
    w = springs.boundary
    noise = 64.0 * np.finfo(np.float64).eps * (np.max(np.abs(w)) + np.sqrt(np.max(diag) * np.max(x0 * x0)))
    given = (x0, w, springs.start)
    return Springs(springs.rows, springs.coupled, *given, k, eta, springs.release, springs.unit, max(OPEN_SPEED, noise))


@kernel(inline="always")
def first_pace(tolerance):
    """Step length, and step length and error of the step before: those of the first step."""
    return 1e-3, 0.0, tolerance


@kernel
def advance(springs, y, pace, tolerance, scratch, new, after, bound):
    """Tries steps from y until one of them is accurate, and ends it on the first change of r, in `new`.

    Returns the trial steps, the length of the step (0 if `bound` trials were not enough), its error estimate and the
    pace of the next step. `scratch` holds the stages of the step.
    """
    h, last_h, last_guess = pace  # last_h is 0 after a change of r
    trials = 0
    _rates(springs, y, scratch, scratch.slope[0])
    while trials < bound:
        guess = _step(springs, y, h, scratch, new)
        trials += 1
        if not guess <= tolerance:
            h *= max(0.2, 0.9 * (tolerance / guess) ** 0.125)
            continue
        factor = 0.9 * (tolerance / max(guess, 1e-300)) ** 0.125
        if last_h > 0.0 and guess > 0.0:
            # Where step lengths fall from step to step, as towards the end of a compression, D^1.5 at D = 0, the next
            # one falls likewise (Gustafsson's predictive control): without this every other step would be rejected.
            factor = min(factor, factor * (h / last_h) * (last_guess / guess) ** 0.125)
        grown = h * min(5.0, max(factor, 0.1))
        if _passed(springs, new, scratch, after) > 1.0:
            more, length = _locate(springs, y, h, scratch, new, after)
            # After a change of r the solution has a kink: the previous step length would be rejected.
            return trials + more, length, guess, (min(grown, 0.01), 0.0, max(guess, 1e-300))
        return trials, h, guess, (grown, h, max(guess, 1e-300))
    return trials, 0.0, 0.0, (h, last_h, last_guess)


@kernel
def _integrate(springs, tolerance, bound):
    """Integrates an island. Returns P, trial steps, error estimate, finished."""
    m = len(springs.boundary)
    y, new, after = np.zeros((2, m)), np.zeros((2, m)), np.zeros(m)
    x, u = springs.velocity.copy(), np.zeros(m)
    slope = np.zeros((_STAGES, 2, m))
    flat, sums = slope.reshape((_STAGES, 2 * m)), np.zeros((3, 2 * m))
    scratch = Scratch(np.zeros(m), slope, np.zeros((2, m)), x, u, flat, sums)
    _separation(springs, y[0], x, u)
    start = u.copy()
    # Twice the energy that the approaching contacts would absorb one by one.
    energy = np.sum(np.minimum(u, 0.0) ** 2 / springs.rows[3])
    springs = _with_scales(springs, energy)
    loaded = _switch(springs, y, scratch)
    pace, steps, error = first_pace(tolerance), 0, 0.0
    while loaded and steps < bound:
        trials, length, guess, pace = advance(springs, y, pace, tolerance, scratch, new, after, bound - steps)
        steps += trials
        if length > 0.0:
            y, new = new, y
            error += guess
            loaded = _switch(springs, y, scratch)
    p = np.maximum(y[0], 0.0)
    # A heavy body that drives light ones transfers far more energy than its contacts absorb one by one.
    stake = max(energy, np.sum(p * np.abs(start)))
    error *= np.sqrt(energy / stake)
    if not loaded and np.all(springs.release == 1.0):
        _separation(springs, p, x, u)
        error = max(error, abs(np.sum(p * (start + u))) / stake)
    return p, steps, error, not loaded


@kernel
def _locate(springs, y, h, scratch, new, after):
    """Shortens a step until the first change of r that it passed lies just before its end.

    Regula falsi with Illinois' halving on every contact that passed its change; the earliest of them counts.
    `after` holds what `_passed` found at the end of the whole step. Returns the trial steps and the length.
    """
    m = len(after)
    before, here = np.empty(m), np.empty(m)
    _separation(springs, y[0], scratch.velocity, scratch.speed)
    _passed(springs, y, scratch, before)
    low, high, side, steps = 0.0, h, 0, 0
    while steps < _LOCATING_STEPS and high - low > 1e-15 * h:
        part = 1.0
        for i in range(m):
            if after[i] > 1.0 and before[i] < 0.5:
                part = min(part, (0.5 - before[i]) / (after[i] - before[i]))
        if part == 1.0 or part <= 1e-14 or steps % 8 == 7:
            part = 0.5
        middle = low + part * (high - low)
        _step(springs, y, middle, scratch, new)
        steps += 1
        most = _passed(springs, new, scratch, here)
        if 0.0 < most <= 1.0:
            return steps, middle
        if most > 1.0:
            high = middle
            after, here = here, after
            if side == 1:
                before = 0.5 * before + 0.25
            side = 1
        else:
            low = middle
            before, here = here, before
            if side == -1:
                after = 0.5 * after + 0.25
            side = -1
    _step(springs, y, high, scratch, new)
    return steps + 1, high
