"""From a stack to one of the same structure that reaches further: linear programs in a trust region, then SLSQP.

A linear program moves all bricks by at most `reach`, with the products F x linearized; broken inequalities cost
PENALTY each. It finds the right corner of the constraints from poor starts, but creeps where the best stack is no
corner (four bricks: it has a sqrt(2)). Sequential quadratic programming goes on from there. The other way round,
it gets stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize

from ..solvers.rows import Floats
from .overhang_levels import Balance

PENALTY = 3.0  # overhang that a unit of broken inequality costs
FEASIBLE = 1e-7  # broken at most by this: good enough to go on with; what is handed out is proved with fractions
FIRST_REACH, LAST_REACH, MOST_REACH = 0.1, 1e-5, 0.5
MOST_STEPS = 40  # of SLSQP: three in four that end well do so within 30, and the others are no better
GAIN = 1e-7  # overhang: a promise below this ends the ascent


class Ascent(NamedTuple):
    """z = (x, F, M), its overhang, how far constraints are broken, and the number of programs solved."""

    z: Floats
    overhang: float
    broken: float
    programs: int


def with_forces(problem: Balance, x: Floats) -> Floats:
    """z with the forces that break the least at these positions."""
    n, m, rows = problem.bricks, problem.pairs, problem.rows
    z = np.concatenate([x, np.zeros(2 * m)])
    ends = problem.jacobian(z)[:, n:]  # `within` is linear in F and M
    found = linprog(
        np.repeat([0.0, 1.0], [2 * m, rows]),
        A_ub=np.hstack([-ends, -np.eye(rows)]),
        b_ub=np.zeros(rows),
        A_eq=np.hstack([problem.balance[:, n:], np.zeros((2 * n, rows))]),
        b_eq=problem.load - problem.balance[:, :n] @ x,
        bounds=[(0, None)] * m + [(None, None)] * m + [(0, None)] * rows,
        method="highs",
    )
    if found.x is not None:
        z[n:] = found.x[: 2 * m]
    return z


def climb(problem: Balance, z: Floats, most: int, reach: float = FIRST_REACH) -> Ascent:
    """At most `most` linear programs, each with bricks moved by at most `reach`, which adapts."""
    height, solved = merit(problem, z), 0
    while solved < most and reach > LAST_REACH:
        step, promise = _linear_step(problem, z, reach)
        solved += 1
        if step is None or promise < GAIN:
            break
        gain = merit(problem, z + step) - height
        if gain > 0.0:
            z, height = z + step, height + gain
        if gain < 0.25 * promise:
            reach *= 0.25 if gain < 0.0 else 0.5
        elif gain > 0.75 * promise:
            reach = min(2.0 * reach, MOST_REACH)
    return Ascent(z, float(z[problem.goal] + 1.0), problem.broken(z), solved)


def polish(problem: Balance, z: Floats) -> Ascent:
    """SLSQP on the problem as it stands."""
    down = np.zeros(problem.size)
    down[problem.goal] = -1.0
    balance, apart = problem.balance, problem.apart
    rules = [
        {"type": "eq", "fun": lambda v: balance @ v - problem.load, "jac": lambda v: balance},
        {"type": "ineq", "fun": problem.within, "jac": problem.jacobian},
    ]
    if len(apart):
        rules.append({"type": "ineq", "fun": lambda v: apart @ v - problem.spaces, "jac": lambda v: apart})
    n, m = problem.bricks, problem.pairs
    bounds = [(None, None)] * n + [(0.0, None)] * m + [(None, None)] * m
    options = {"maxiter": MOST_STEPS, "ftol": 1e-11}
    found = minimize(
        lambda v: -v[problem.goal], z, jac=lambda v: down, bounds=bounds, constraints=rules, options=options
    )
    return Ascent(found.x, float(found.x[problem.goal] + 1.0), problem.broken(found.x), int(found.nit))


def merit(problem: Balance, z: Floats) -> float:
    """Left end of the goal less the price of all broken inequalities."""
    return float(z[problem.goal] - PENALTY * np.maximum(0.0, -problem.within(z)).sum())


def _linear_step(problem: Balance, z: Floats, reach: float) -> tuple[Floats | None, float]:
    """The best step of the linearized problem and the gain in merit that it promises."""
    n, m, rows, size = problem.bricks, problem.pairs, problem.rows, problem.size
    cost = np.repeat([0.0, PENALTY], [size, rows])
    cost[problem.goal] = -1.0
    ends = np.hstack([-problem.jacobian(z), -np.eye(rows)])
    apart = np.hstack([-problem.apart, np.zeros((len(problem.apart), rows))])
    low = np.concatenate([np.full(n, -reach), -problem.split(z)[1], np.full(m, -np.inf), np.zeros(rows)])
    high = np.concatenate([np.full(n, reach), np.full(2 * m + rows, np.inf)])
    found = linprog(
        cost,
        A_ub=np.vstack([ends, apart]),
        b_ub=np.concatenate([problem.within(z), problem.apart @ z - problem.spaces]),
        A_eq=np.hstack([problem.balance, np.zeros((2 * n, rows))]),
        b_eq=problem.load - problem.balance @ z,
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    if found.x is None:
        return None, 0.0
    broken_now = PENALTY * np.maximum(0.0, -problem.within(z)).sum()
    return found.x[:size], float(-found.fun + broken_now)
