"""A chain of elastic balls with Hertz contact as an ODE: the reference for compliant laws.

It shares no code with the impact laws: balls move, gaps open and close, and forces act where balls overlap.
Ball k at x_k with mass m_k; overlap of neighbors q_i = x_i - x_{i+1}, all zero at the start;

    m_k dv_k/dt = f_{k-1} - f_k,     f_i = k_i max(q_i, 0)^eta,     dq_i/dt = v_i - v_{i+1}.

The result in the limit of stiff balls does not depend on the common stiffness, so it is set to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ..errors import ProblemError
from ..solvers.rows import Floats

LONGEST = 1e6  # in units of the duration of one contact; free flight costs nothing, so this is generous


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
        if time > LONGEST:
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
