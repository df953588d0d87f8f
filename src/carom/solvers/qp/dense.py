"""Exact active-set solution of small cone problems.

`min 1/2 y^T A y + c^T y` with `y >= 0`, A positive semidefinite and often singular. Block principal pivoting
(Portugal, Judice, Vicente 1994): guess which contacts are free, solve for them, move every misplaced one, with
Murty's single pivots as the safeguard that makes it finite.

Where contacts are redundant the problem is solved by a short sequence of proximal steps, with `A + eps I` about the
present answer. Each is strictly convex and has one solution, whatever the order of contacts; the sequence converges to
an exact solution of the singular problem that distributes impulses as evenly as the contacts allow.

With `reassoc` the compiler may add up scalar products in several partial sums, which vector instructions need.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel, lean

WEAK_PROXIMAL = 1e-9  # eps, for matrices scaled to a unit diagonal; ...
STRONG_PROXIMAL = 1e-6  # ... where the iteration does not end with it: guesses cycle on many redundant contacts
PROXIMAL_STEPS = 10  # bound on the steps with each of both
DENSE_TARGET = 1e-14  # residual at which the iteration ends, for gradients of size one
GRADIENT_SLACK = 1e-15  # gradients below this are rounding errors, for gradients of size one
SINGULAR_PIVOT = 1e-7  # pivots below this share of the diagonal need the proximal term
DENSE_VECTORS = 7  # rows of work space behind the factor


@lean(fastmath={"reassoc"})
def inside_solution(a, given, k, factor):
    """The minimum over all y if it is in the cone, which is the most frequent case.

    `given` holds the rows c and y; y is written. Returns the largest |gradient|, or -1 if the contacts are redundant,
    the minimum lies outside, or rounding errors are too large.
    """
    if k == 2:
        return _inside_pair(a, given)
    size = 0.0
    for q in range(k):
        size = max(size, abs(given[0, q]))
        for r in range(q):
            s = a[q, r]
            for t in range(r):
                s -= factor[q, t] * factor[r, t]
            factor[q, r] = s * factor[r, r]
        s = a[q, q]
        for t in range(q):
            s -= factor[q, t] * factor[q, t]
        if s < SINGULAR_PIVOT * a[q, q]:
            return -1.0
        factor[q, q] = 1.0 / np.sqrt(s)
        s = -given[0, q]
        for t in range(q):
            s -= factor[q, t] * given[1, t]
        given[1, q] = s * factor[q, q]
    for q in range(k - 1, -1, -1):
        s = given[1, q]
        for t in range(q + 1, k):
            s -= factor[t, q] * given[1, t]
        s *= factor[q, q]
        if s < 0.0:
            return -1.0
        given[1, q] = s
    worst = 0.0
    for q in range(k):
        s = given[0, q]
        for t in range(k):
            s += a[q, t] * given[1, t]
        worst = max(worst, abs(s))
    return worst if worst <= 1e-14 * size else -1.0


@lean(inline="always")
def _inside_pair(a, given):
    """`inside_solution` of two contacts, by Cramer's rule: the most frequent island after the single contact."""
    p, q, r = a[0, 0], a[1, 0], a[1, 1]
    c, d = given[0, 0], given[0, 1]
    determinant = p * r - q * q
    if determinant < SINGULAR_PIVOT * p * r:
        return -1.0
    y, z = (q * d - r * c) / determinant, (q * c - p * d) / determinant
    if y < 0.0 or z < 0.0:
        return -1.0
    given[1, 0], given[1, 1] = y, z
    worst = max(abs(c + p * y + q * z), abs(d + q * y + r * z))
    return worst if worst <= 1e-14 * max(abs(c), abs(d)) else -1.0


@lean
def solve_dense_in(a, given, warm, k, work, index):
    """Solves the cone problem in place of y, in given work space; returns the residual in units of speed, and the
    number of guesses, each of which takes a factorization.

    `given` holds the rows c and y. `a` must have a positive diagonal and is overwritten; only the first k entries of
    everything are used. With `warm`, y is the first guess of which contacts are free, and its values are the first
    proximal center.
    """
    c, y = given[0], given[1]
    scale, g0, z, best_z = work[k], work[k + 1], work[k + 2], work[k + 3]
    size = 0.0
    for i in range(k):
        scale[i] = 1.0 / np.sqrt(a[i, i])
        size = max(size, abs(c[i]) * scale[i])
    if size == 0.0:
        for i in range(k):
            y[i] = 0.0
        return 0.0, 0
    # Scaled to a unit diagonal and a gradient of size one, so that every number below is of order one.
    for i in range(k):
        for j in range(k):
            a[i, j] *= scale[i] * scale[j]
        g0[i] = c[i] * scale[i] / size
    eps, best, guesses = 0.0, np.inf, 0
    _first_guess(y, warm, size, work, index, k)
    for step in range(2 * PROXIMAL_STEPS):
        if step == PROXIMAL_STEPS:
            eps = STRONG_PROXIMAL
            _first_guess(y, warm, size, work, index, k)
        residual, tried = _settle(a, k, eps, work, index)
        guesses += tried
        if residual < 0.0:
            # Redundant contacts: start over with the proximal term.
            eps, best = max(eps, WEAK_PROXIMAL), np.inf
            _first_guess(y, warm, size, work, index, k)
            continue
        better = residual < 0.25 * best
        if residual < best:
            best = residual
            for i in range(k):
                best_z[i] = z[i]
        # A step can end at a poor guess and the next one can still be exact, so that a small improvement is no reason
        # to stop before the residual is close to rounding.
        if best <= DENSE_TARGET or (not better and best <= 100 * DENSE_TARGET):
            break
    for i in range(k):
        y[i] = max(best_z[i] * scale[i] * size, 0.0)
    worst = 0.0
    for i in range(k):
        total = g0[i]
        for j in range(k):
            total += a[i, j] * best_z[j]
        worst = max(worst, abs(min(total, best_z[i])) * size / scale[i])
    return worst, guesses


@lean(inline="always")
def _first_guess(y, warm, size, work, index, k):
    """z and where each contact is: 0 at zero, 1 free."""
    scale, g0, z, place = work[k], work[k + 1], work[k + 2], index[1]
    for i in range(k):
        z[i] = max(y[i] / (scale[i] * size) if warm else 0.0, 0.0)
        place[i] = 0 if z[i] <= 0.0 and (warm or g0[i] >= 0.0) else 1


@lean(fastmath={"reassoc"})
def _settle(b, k, eps, work, index):
    """One (proximal) step about z, in place of z; returns its residual, or -1 at a singular pivot, and the guesses."""
    g0, z = work[k + 1], work[k + 2]
    center, rhs, g = work[k + 4], work[k + 5], work[k + 6]
    free, place = index[0], index[1]
    for i in range(k):
        center[i] = z[i]
    fewest, patience = k + 1, 5
    for tried in range(1, 51 + 10 * k):
        p = 0
        for i in range(k):
            z[i] = 0.0 if place[i] == 0 else center[i]
            if place[i] == 1:
                free[p] = i
                p += 1
        # Solve for the change from the center, so that the proximal term leaves only rounding errors.
        for q in range(p):
            i = free[q]
            total = g0[i]
            for j in range(k):
                total += b[i, j] * z[j]
            rhs[q] = -total
        if not _cholesky_solve(b, free, p, eps, work, rhs):
            return -1.0, tried
        for q in range(p):
            z[free[q]] += rhs[q]
        wrong, last, residual = 0, -1, 0.0
        for i in range(k):
            g[i] = g0[i]
            for j in range(k):
                g[i] += b[i, j] * z[j]
            residual = max(residual, abs(min(g[i], z[i])))
            if belongs(z[i], g[i], place[i]) != place[i]:
                wrong += 1
                last = i
        if wrong == 0:
            return residual, tried
        if wrong < fewest:
            fewest, patience = wrong, 5
        else:
            patience -= 1
        if patience >= 0:
            for i in range(k):
                place[i] = belongs(z[i], g[i], place[i])
        else:
            place[last] = belongs(z[last], g[last], place[last])
    residual = 0.0
    for i in range(k):
        z[i] = max(z[i], 0.0)
    for i in range(k):
        total = g0[i]
        for j in range(k):
            total += b[i, j] * z[j]
        residual = max(residual, abs(min(total, z[i])))
    return residual, 50 + 10 * k


@kernel(inline="always")
def belongs(z, g, place):
    """The set to which a contact belongs: 0 at zero, 1 free."""
    if place == 1:
        return 0 if z < 0.0 else 1
    return 1 if g < -GRADIENT_SLACK else 0


@lean(fastmath={"reassoc"})
def _cholesky_solve(b, free, p, eps, factor, rhs):
    """Solves `(b_FF + eps I) t = rhs` in place of rhs; false if a pivot is too small for eps = 0."""
    for q in range(p):
        for r in range(q):
            s = b[free[q], free[r]]
            for t in range(r):
                s -= factor[q, t] * factor[r, t]
            factor[q, r] = s * factor[r, r]
        s = b[free[q], free[q]] + eps
        for t in range(q):
            s -= factor[q, t] * factor[q, t]
        if eps == 0.0 and s < SINGULAR_PIVOT:
            return False
        factor[q, q] = 1.0 / np.sqrt(max(s, 0.1 * WEAK_PROXIMAL))  # the diagonal is kept inverted
    for q in range(p):
        s = rhs[q]
        for t in range(q):
            s -= factor[q, t] * rhs[t]
        rhs[q] = s * factor[q, q]
    for q in range(p - 1, -1, -1):
        s = rhs[q]
        for t in range(q + 1, p):
            s -= factor[t, q] * rhs[t]
        rhs[q] = s * factor[q, q]
    return True
