"""A chain of elastic balls with Hertz contact as an ODE: the reference for compliant laws.

It shares no code with the impact laws: balls move, gaps open and close, and forces act where balls overlap.
Ball k at x_k with mass m_k; overlap of neighbors q_i = x_i - x_{i+1}, all zero at the start;

    m_k dv_k/dt = f_{k-1} - f_k,     f_i = k_i max(q_i, 0)^eta,     dq_i/dt = v_i - v_{i+1}.

The result in the limit of stiff balls does not depend on the common stiffness, so it is set to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from ..errors import ProblemError
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats

LATE = 1e-6  # approach, over the fastest before the impact, that may be left: it would close a gap much later
TOUCH_GAP = 1e-9  # overlap that counts as none: its energy is 1e-23 of that of the impact
LONGEST_TIME = 1e6  # in units of the duration of one contact; free flight costs nothing, so this is generous


def hertz_chain(
    masses: Any, velocities: Any, *, eta: float = 1.5, stiffness: Any = 1.0, tolerance: float = 1e-11
) -> Floats:
    """Velocities of touching balls on a line after all have separated, (n,), in the units of `velocities`.

    eta: 3/2 for Hertz contact, 1 for linear springs. stiffness: one number or one for each of n - 1 contacts.
    tolerance: relative error of each step of the integration (Dormand-Prince, order 8).
    """
    m, v = np.asarray(masses, dtype=float).ravel(), np.asarray(velocities, dtype=float).ravel()
    n = len(v)
    if len(m) != n or n < 2 or not (m > 0).all():
        raise ProblemError("masses", masses, f"one positive mass for each of {n} balls, two balls or more")
    k = np.broadcast_to(np.asarray(stiffness, dtype=float), (n - 1,))
    if not (k > 0).all():
        raise ProblemError("stiffness", stiffness, "positive numbers")
    speed = float(np.abs(np.diff(v)).max())
    if speed == 0.0:
        return v.copy()
    mean = float(m @ v / m.sum())
    state = np.concatenate([(v - mean) / speed, np.zeros(n - 1)])
    return mean + speed * _separated(state, m / m.min(), k / k.max(), eta, tolerance)[:n]


def _separated(state: Floats, m: Floats, k: Floats, eta: float, tolerance: float) -> Floats:
    """Integrates interval by interval until no neighbors overlap or approach."""
    n = len(m)
    rates = _rates(m, k, eta)
    stretch, time = 2.0 * n, 0.0
    while (state[n:] > 0.0).any() or (np.diff(state[:n]) < -1e-10).any():
        if time > LONGEST_TIME:
            raise ProblemError("chain", f"still in contact after {time:g} contact times", "balls that separate")
        accuracy: dict[str, Any] = {"rtol": tolerance, "atol": 0.01 * tolerance, "max_step": stretch / 8}
        done = solve_ivp(rates, (0.0, stretch), state, method="DOP853", **accuracy)
        state, time = done.y[:, -1], time + stretch
        stretch *= 1.5
    return state


def _rates(m: Floats, k: Floats, eta: float) -> Callable[[float, Floats], Floats]:
    """The right-hand side for the state (velocities (n,), overlaps (n - 1,))."""
    n = len(m)
    force = np.zeros(n + 1)

    def rates(_: float, y: Floats) -> Floats:
        force[1:-1] = k * np.maximum(y[n:], 0.0) ** eta
        return np.concatenate([-np.diff(force) / m, -np.diff(y[:n])])

    return rates


class HertzImpact(NamedTuple):
    """Velocities after an impact, in the shape of the problem's, and the number of contacts whose gap first opened and
    then narrowed. A law without positions cannot tell such a gap from a closed contact."""

    velocity: Floats
    returning: int


def hertz_impact(problem: ImpactProblem, *, eta: float = 1.5, tolerance: float = 1e-9) -> HertzImpact:
    """Velocities after an elastic impact of any bodies, with equal springs at all contacts, in the limit of stiff ones.

    Displacements are then small against the bodies, so that normals stay, and an overlap changes by -u: with the
    matrix J of the contacts

        M dv/dt = J^T f,     f_i = max(q_i, 0)^eta,     dq/dt = -J v.

    Contacts that open have a gap, and act again once it has closed. Boundaries do not move.
    """
    g = problem.contacts.matrix().toarray()  # J L^-T for M = L L^T; velocities become L^T v
    x = problem.contacts.velocity.ravel()
    speed, (m, n) = float(np.abs(g @ x).max()), g.shape
    if speed == 0.0:
        return HertzImpact(problem.velocity.copy(), 0)

    def rates(_: float, y: Floats) -> Floats:
        return np.concatenate([g.T @ np.maximum(y[n:], 0.0) ** eta, -(g @ y[:n])])

    state = np.concatenate([x / speed, np.zeros(m)])
    stretch, time = 2.0 * np.sqrt(m), 0.0
    returning = np.zeros(m, bool)
    while (state[n:] > TOUCH_GAP).any() or (g @ state[:n] < -LATE).any():
        if time > LONGEST_TIME:
            raise ProblemError("problem", f"still in contact after {time:g} contact times", "bodies that separate")
        done = solve_ivp(rates, (0.0, stretch), state, "DOP853", rtol=tolerance, atol=0.01 * tolerance)
        returning |= ((done.y[n:] < -TOUCH_GAP) & (g @ done.y[:n] < -LATE)).any(axis=1)
        state, time = done.y[:, -1], time + stretch
        stretch *= 1.3
    after = speed * state[:n]
    impulse = np.linalg.lstsq(g.T, after - x, rcond=None)[0]  # any impulses that make this change: v+ is the same
    return HertzImpact(problem.velocity_after(impulse, None), int(returning.sum()))


def hertz_history(
    masses: Any, velocities: Any, time: Any, *, gaps: Any = 0.0, eta: float = 1.5, tolerance: float = 1e-10
) -> tuple[Floats, Floats]:
    """Velocities (t, n) and overlaps (t, n - 1) of the chain at the times (t,), from 0 on, with unit stiffness.

    gaps: between neighbors at the start, one number or n - 1; negative overlaps are gaps.
    """
    m, v, t = (np.asarray(x, dtype=float).ravel() for x in (masses, velocities, time))
    n = len(v)
    state = np.concatenate([v, -np.broadcast_to(np.asarray(gaps, dtype=float), (n - 1,))])
    longest = float(t[-1]) / 100.0
    options: dict[str, Any] = {"rtol": tolerance, "atol": 0.01 * tolerance, "max_step": longest}
    done = solve_ivp(_rates(m, np.ones(n - 1), eta), (0.0, float(t[-1])), state, "DOP853", t, **options)
    return done.y[:n].T, done.y[n:].T
