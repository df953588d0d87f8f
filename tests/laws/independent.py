"""The laws once more, on dense matrices and with nothing of Carom's solvers: what the kernels are held against.

All functions take the Delassus matrix A = J M^-1 J^T and the separation speeds u before impact, and return the
normal impulses. They are slow and plain on purpose.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import nnls

TOLERANCE = 1e-10  # of the fastest approach: below it a contact does not count as approaching


def delassus(problem):
    """A and u of a problem, from its dense Jacobian and mass matrix."""
    n, d = problem.block
    size = n * d
    mass = np.stack([problem.mass.times(e.reshape(n, d)).ravel() for e in np.eye(size)], axis=1)
    rows = np.stack([problem.rows.times(e.reshape(n, d)) for e in np.eye(size)], axis=1)
    inverse = np.linalg.inv(mass)
    return rows @ inverse @ rows.T, problem.separation_speed(), inverse @ rows.T


def velocity_after(problem, impulses):
    """v + M^-1 J^T lam in the problem's shape."""
    spread = delassus(problem)[2]
    return problem.velocity + (spread @ impulses).reshape(problem.velocity.shape)


def cone_by_enumeration(A, c):
    """argmin 1/2 y A y + c y over y >= 0, by trying every active set. A basic solution always exists."""
    m = len(c)
    scale = np.abs(c).max()
    for size in range(m + 1):
        for active in itertools.combinations(range(m), size):
            k = list(active)
            y = np.zeros(m)
            if k:
                block = A[np.ix_(k, k)]
                if np.linalg.cond(block) > 1e12:
                    continue
                y[k] = np.linalg.solve(block, -c[k])
            slack = A @ y + c
            if y.min(initial=0.0) >= -1e-12 * scale / A.diagonal().min() and slack.min() >= -1e-11 * scale:
                return y
    raise AssertionError("no active set solves the cone problem")


def cone_by_nnls(A, c):
    """The same by non-negative least squares in a square root of A: |R y - z|^2 with R^T R = A, R^T z = -c.

    Needs c in the range of A, true for c = A x + u with u = J v. A round of refinement on the active set that
    was found takes the answer to full accuracy.
    """
    values, vectors = np.linalg.eigh(A)
    keep = values > 1e-12 * values[-1]
    root = np.sqrt(values[keep])
    R = root[:, None] * vectors[:, keep].T
    z = -(vectors[:, keep].T @ c) / root
    y, _ = nnls(R, z, maxiter=1000 * len(c))
    k = np.flatnonzero(y > 0)
    y[k] = np.linalg.lstsq(A[np.ix_(k, k)], -c[k], rcond=1e-12)[0]
    return y


def cone(A, c):
    return cone_by_enumeration(A, c) if len(c) <= 8 else cone_by_nnls(A, c)


def lcp(A, u):
    """Newton's law over all contacts: c = 2 u, again while a contact that used to separate now approaches."""
    tol = -TOLERANCE * u.min()
    lam = np.zeros(len(u))
    for _ in range(300):
        now = A @ lam + u
        if now.min() >= -tol:
            return lam
        lam += cone(A, 2 * now)
    raise AssertionError("the LCP stayed infeasible")


def inelastic(A, u):
    return cone(A, u)


def gr(A, u):
    """Generalized reflections: the cone problem over the violators, until there are none."""
    tol = -TOLERANCE * u.min()
    lam = np.zeros(len(u))
    for _ in range(100_000):
        now = A @ lam + u
        v = np.flatnonzero(now < -tol)
        if len(v) == 0:
            return lam
        lam[v] += cone(A[np.ix_(v, v)], 2 * now[v])
    raise AssertionError("generalized reflections did not end")


def gauss_seidel(A, u):
    """Sweeps in index order; each violator is reflected as if it were alone."""
    tol = -TOLERANCE * u.min()
    lam, now = np.zeros(len(u)), u.copy()
    for _ in range(1_000_000):
        calm = True
        for i in range(len(u)):
            if now[i] < -tol:
                push = -2 * now[i] / A[i, i]
                lam[i] += push
                now = now + A[:, i] * push
                calm = False
        if calm:
            return lam
    raise AssertionError("reflections did not end")


def jacobi(A, u):
    """All violators reflected at once, each as if it were alone."""
    tol = -TOLERANCE * u.min()
    lam = np.zeros(len(u))
    for _ in range(1_000_000):
        now = A @ lam + u
        if now.min() >= -tol:
            return lam
        lam += np.where(now < -tol, -2 * now / A.diagonal(), 0.0)
    raise AssertionError("reflections did not end")


def qce(A, u):
    """Quadratic contact energy by direct simulation of a pass: each event recomputes every parabola."""
    tol = -TOLERANCE * u.min()
    lam = np.zeros(len(u))
    for _ in range(10_000):
        now = A @ lam + u
        if now.min() >= -tol:
            return lam
        lam += _qce_pass(A, now, tol)
    raise AssertionError("passes did not end")


def _qce_pass(A, u, tol):
    """Impulses P_i = s F_i grow together; contact i stops when the energy -F_i int_0^s u_i ds is used up."""
    growth = np.where(u < -tol, -u, 0.0)
    active = growth > 0
    P, work = np.zeros(len(u)), np.zeros(len(u))
    none_left = 1e-13 * np.abs(u).max() ** 2 / A.diagonal().min()  # two contacts may end at one instant
    while active.any():
        speed = u + A @ P
        slope = A @ np.where(active, growth, 0.0)
        ends = {}
        for i in np.flatnonzero(active):
            # work_i(t) = work + speed t + slope t^2 / 2 rises through zero at the end of this contact.
            ends[i] = 0.0 if work[i] >= -none_left and speed[i] > 0 else _rise(0.5 * slope[i], speed[i], work[i])
        first = min(ends, key=lambda i: ends[i])
        t = ends[first]
        assert np.isfinite(t), "a contact that never gives its energy back"
        work += np.where(active, speed * t + 0.5 * slope * t * t, 0.0)
        P += np.where(active, growth * t, 0.0)
        work[first] = 0.0
        active[first] = False
    return P


def _rise(a, b, c):
    """The smallest t > 0 at which a t^2 + b t + c passes zero upwards."""
    roots = np.roots([a, b, c]) if a != 0 else np.array([-c / b])
    real = roots[np.abs(roots.imag) < 1e-12 * (1 + np.abs(roots.real))].real
    rising = [t for t in real if t > 1e-14 and 2 * a * t + b > 0]
    return min(rising, default=np.inf)


LAWS = {"lcp": lcp, "gr": gr, "gauss_seidel": gauss_seidel, "jacobi": jacobi, "qce": qce}
