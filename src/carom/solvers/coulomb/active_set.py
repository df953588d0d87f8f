"""Coulomb's law in 2D by active sets: contacts that are apart, stick or slip.

    0 <= lam perp u_n >= 0,   |beta| <= mu lam,   beta against the slip u_t where |beta| = mu lam

Each guess of the active sets is one linear system (a semismooth Newton method on the projections of Alart and Curnier,
Comput. Methods Appl. Mech. Eng. 92, 1991). Resting bodies keep their impulses, so a step of a pile at rest solves no
system. Contacts are mostly redundant, and a guess then has no solution or many: each problem is therefore regularized
by a multiple of the change of the impulses (a proximal term), which vanishes where the iteration ends.

Other methods were tried before: the same guesses with a tiny regularization cycle in three piles of four; alternating
exact normal and friction solves stall at one percent; Gauss-Seidel sweeps need thousands for a stack of ten boxes, and
let it lean.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from ..islands import islands
from ..rows import push, speed
from ..thresholds import ACTIVE_SET_WORK, DENSE_COULOMB_CONTACTS, ROUGH_RESIDUAL, TINY_ISLAND_CONTACTS
from .sweeps import row_product

APART, STICKS, SLIPS_UP, SLIPS_DOWN = 0, 1, 2, 3
FIRST, LEAST, UP, DOWN = 1e-2, 1e-7, 10.0, 0.3  # proximal term: first value, lower bound, factors of change
GUESSES = 6  # bound on the systems for one proximal term
OUTER = 20  # bound on the number of proximal terms
IDLE = 6  # proximal terms without progress after which the iteration ends
SWEEPS = 30  # sweeps after a proximal term that did not settle, and as the last resort


def coulomb_2d(rows, tangents, velocity, boundary, slip, friction, normal, tangent, tolerance, max_sweeps):
    """Solves in place of `normal` and `tangent`, both (m,), from their values; returns (residual, systems).

    Tangent rows must touch the bodies of their normal rows. The residual is the largest distance to the projected step,
    in units of speed, over the fastest speed. Islands of more than DENSE_COULOMB_CONTACTS contacts are relaxed by at
    most `max_sweeps` sweeps.
    """
    m, n = len(normal), len(rows.touch_ptr) - 1
    order, ptr = islands(rows, np.arange(m), np.empty(n, np.int64), np.empty(n, np.int64))
    worst, systems = 0.0, 0
    for s in range(len(ptr) - 1):
        mine = order[ptr[s] : ptr[s + 1]]
        if len(mine) > DENSE_COULOMB_CONTACTS:
            residual, count = _sweeps(
                rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance, max_sweeps
            )
        else:
            residual, count = _island(
                rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance
            )
        worst, systems = max(worst, residual), systems + count
    return worst, systems


@kernel
def _sweeps(rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance, max_sweeps):
    """Gauss-Seidel sweeps (normal impulse, then friction within its bound), for islands too large for dense systems."""
    x = velocity.copy()
    top = 0.0
    for i in mine:
        top = max(top, abs(speed(rows, i, x) + boundary[i]), abs(speed(tangents, i, x) + slip[i]))
    for i in mine:
        push(rows, i, normal[i], x)
        push(tangents, i, tangent[i], x)
    worst, sweeps = np.inf, 0
    while sweeps < max_sweeps and worst > tolerance * top:
        worst = 0.0
        for i in mine:
            new = max(normal[i] - (speed(rows, i, x) + boundary[i]) / rows.diag[i], 0.0)
            change = new - normal[i]
            if change != 0.0:
                worst = max(worst, abs(change) * rows.diag[i])
                push(rows, i, change, x)
                normal[i] = new
            if friction[i] > 0.0 and tangents.diag[i] > 0.0:
                bound = friction[i] * normal[i]
                new = tangent[i] - (speed(tangents, i, x) + slip[i]) / tangents.diag[i]
                change = min(max(new, -bound), bound) - tangent[i]
                if change != 0.0:
                    worst = max(worst, abs(change) * tangents.diag[i])
                    push(tangents, i, change, x)
                    tangent[i] += change
        sweeps += 1
    return (worst / top if top > 0.0 else 0.0), sweeps


@kernel
def _delassus(rows, tangents, mine):
    """The Delassus matrix over (normals, tangents) of the island, (2k, 2k)."""
    k = len(mine)
    w = np.empty((2 * k, 2 * k))
    for p in range(k):
        i = mine[p]
        for q in range(p + 1):
            j = mine[q]
            w[p, q] = w[q, p] = row_product(rows, i, rows, j)
            w[k + p, k + q] = w[k + q, k + p] = row_product(tangents, i, tangents, j)
            w[k + p, q] = w[q, k + p] = row_product(tangents, i, rows, j)
            w[k + q, p] = w[p, k + q] = row_product(tangents, j, rows, i)
    return w


@kernel
def _island(rows, tangents, velocity, boundary, slip, friction, normal, tangent, mine, tolerance):
    k, d = len(mine), rows.val.shape[1]
    w = _delassus(rows, tangents, mine)
    free, z, mu = np.empty(2 * k), np.empty(2 * k), np.empty(k)
    for p in range(k):
        i = mine[p]
        a, b = boundary[i], slip[i]
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            for c in range(d):
                a += rows.val[e, c] * velocity[rows.body[e], c]
                b += tangents.val[e, c] * velocity[rows.body[e], c]
        free[p], free[k + p] = a, b
        mu[p] = friction[i] if w[k + p, k + p] > 0.0 else 0.0
        z[p], z[k + p] = normal[i], tangent[i]
    if k <= TINY_ISLAND_CONTACTS:
        tolerance = 1e-3 * tolerance
    top = np.abs(free).max()
    if top == 0.0:
        for p in range(k):
            normal[mine[p]], tangent[mine[p]] = 0.0, 0.0
        return 0.0, 0
    best, least, systems = z.copy(), _residual(w, free, mu, z) / top, 0
    shift, idle = FIRST, 0
    shifted, target = w.copy(), np.empty(2 * k)
    for _ in range(OUTER):
        if least <= tolerance or idle == IDLE or systems * (2.0 * k) ** 3 > ACTIVE_SET_WORK:
            break
        for r in range(2 * k):
            shifted[r, r] = w[r, r] * (1.0 + shift)
            target[r] = free[r] - shift * w[r, r] * z[r]
        count, settled = _guesses(shifted, target, mu, z)
        systems += count
        residual = _residual(w, free, mu, z) / top
        idle = 0 if residual < 0.5 * least else idle + 1
        if residual < least:
            best[:], least = z, residual
        if settled:
            shift = max(shift * DOWN, LEAST)
        else:  # not settled: return to the best answer, and continue by sweeps
            shift = min(shift * UP, 1.0)
            z[:] = best
            _sweep(w, free, mu, z, SWEEPS)
    if least > ROUGH_RESIDUAL:
        z[:] = best
        _sweep_in_order(w, free, mu, z, SWEEPS)
        residual = _residual(w, free, mu, z) / top
        if residual < least:
            best[:], least = z, residual
    for p in range(k):
        normal[mine[p]], tangent[mine[p]] = best[p], best[k + p]
    return least, systems


@kernel
def _state(w, u, mu, z, p, k):
    """The set to which contact p belongs according to its projected step."""
    lam = z[p] - u[p] / w[p, p]
    if lam <= 0.0:
        return APART
    if mu[p] == 0.0:
        return SLIPS_UP
    beta = z[k + p] - u[k + p] / w[k + p, k + p]
    if beta > mu[p] * lam:
        return SLIPS_UP
    if beta < -mu[p] * lam:
        return SLIPS_DOWN
    return STICKS


@kernel
def _guesses(w, free, mu, z):
    """Newton steps in place of z until the sets repeat; returns the number of systems and whether it settled."""
    k = len(mu)
    state, before = np.empty(k, np.int64), np.full(k, -1, np.int64)
    solved = 0
    settled = False
    for _ in range(GUESSES):
        u = w @ z + free
        for p in range(k):
            state[p] = _state(w, u, mu, z, p, k)
        same = True
        for p in range(k):
            same = same and state[p] == before[p]
        if same:
            settled = True
            break
        before[:] = state
        _solve_guess(w, free, mu, z, state)
        solved += 1
    for p in range(k):  # remove violations of the bounds by rounding
        z[p] = max(z[p], 0.0)
        z[k + p] = min(max(z[k + p], -mu[p] * z[p]), mu[p] * z[p])
    return solved, settled


@kernel
def _solve_guess(w, free, mu, z, state):
    """`u_n = 0` where not apart, `u_t = 0` where it sticks, `beta = +- mu lam` where it slips; in place of z."""
    k = len(mu)
    index = np.empty(2 * k, np.int64)  # unknowns: lam of closed contacts, then beta of sticking ones
    count = 0
    for p in range(k):
        if state[p] != APART:
            index[count] = p
            count += 1
    for p in range(k):
        if state[p] == STICKS:
            index[count] = k + p
            count += 1
    a, right = np.empty((count, count)), np.empty(count)
    for r in range(count):
        i = index[r]
        right[r] = -free[i]
        for c in range(count):
            j = index[c]
            entry = w[i, j]
            if j < k and mu[j] > 0.0:
                if state[j] == SLIPS_UP:
                    entry += mu[j] * w[i, k + j]
                elif state[j] == SLIPS_DOWN:
                    entry -= mu[j] * w[i, k + j]
            a[r, c] = entry
    solution = np.linalg.solve(a, right)
    z[:] = 0.0
    for r in range(count):
        z[index[r]] = solution[r]
    for p in range(k):
        if state[p] == SLIPS_UP:
            z[k + p] = mu[p] * z[p]
        elif state[p] == SLIPS_DOWN:
            z[k + p] = -mu[p] * z[p]


@kernel
def _residual(w, free, mu, z):
    """Largest distance of z to its projected step, as a speed."""
    k = len(mu)
    u = w @ z + free
    worst = 0.0
    for p in range(k):
        lam = max(z[p] - u[p] / w[p, p], 0.0)
        worst = max(worst, abs(z[p] - lam) * w[p, p])
        if mu[p] > 0.0:
            bound = mu[p] * max(z[p], 0.0)
            beta = min(max(z[k + p] - u[k + p] / w[k + p, k + p], -bound), bound)
            worst = max(worst, abs(z[k + p] - beta) * w[k + p, k + p])
    return worst


@kernel
def _sweep(w, free, mu, z, sweeps):
    """Jacobi iterations over all contacts: slower than Gauss-Seidel sweeps, but they preserve mirror symmetry."""
    k = len(mu)
    reach = np.abs(w).sum(axis=1)
    for _ in range(sweeps):
        u = w @ z + free
        for p in range(k):
            z[p] = max(z[p] - u[p] / reach[p], 0.0)
            if mu[p] > 0.0:
                bound = mu[p] * z[p]
                z[k + p] = min(max(z[k + p] - u[k + p] / reach[k + p], -bound), bound)


@kernel
def _sweep_in_order(w, free, mu, z, sweeps):
    """Gauss-Seidel sweeps (normal impulse, then friction within its bound): the last resort."""
    k = len(mu)
    for _ in range(sweeps):
        for p in range(k):
            u = free[p]
            for j in range(2 * k):
                u += w[p, j] * z[j]
            z[p] = max(z[p] - u / w[p, p], 0.0)
            if mu[p] > 0.0:
                u = free[k + p]
                for j in range(2 * k):
                    u += w[k + p, j] * z[j]
                bound = mu[p] * z[p]
                z[k + p] = min(max(z[k + p] - u / w[k + p, k + p], -bound), bound)
