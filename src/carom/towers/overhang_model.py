"""Stacks of bricks in levels as a smooth optimization problem, and its solution.

All lengths are in brick lengths, all forces in weights of a brick. A brick is [x, x + 1]; bricks of a level do not
overlap. A pair (upper brick j, lower brick i) of neighboring levels carries a force F >= 0 with moment M about x = 0,
which acts within the overlap of the two:

    F x_i <= M <= F (x_i + 1),     F x_j <= M <= F (x_j + 1).

Bricks without overlap therefore carry no force. For the table, x <= 0, the first condition is M <= 0. Each brick is in
equilibrium: sum F below - sum F above = 1, sum M below - sum M above = x + 1/2. Only the products F x are nonlinear,
and neither the pairs in contact nor the order of the bricks has to be chosen in advance. The objective is the right end
x + 1 of the last brick of level `goal`.

The solution starts with linear programs in a trust region and continues with SLSQP. A linear program moves all bricks
by at most `reach`, with the products F x linearized; each violated inequality costs PENALTY per unit. It finds the
right vertex of the constraints from poor starts, but converges slowly if the best stack is no vertex (for four bricks
it contains a sqrt(2)). Sequential quadratic programming converges from there; in the reverse order it gets stuck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize

from ..solvers.rows import Floats

TABLE = -1  # the number of the table where bricks are numbered
LOAD = -2  # the number of a load as the upper part of a pair
PENALTY = 3.0  # in brick lengths of overhang per unit of violation
FEASIBLE = 1e-7  # largest violation of a feasible stack; results are proved in fractions later
FIRST_REACH, LAST_REACH, MOST_REACH = 0.1, 1e-5, 0.5  # in brick lengths: radius of the trust region
MOST_STEPS = 40  # of SLSQP: of the successful runs three in four need less than 30, and the others are no better
GAIN = 1e-7  # in brick lengths: a smaller predicted gain ends the ascent


@dataclass(frozen=True)
class Structure:
    """Number of bricks in each level from the table up, and the level whose last brick overhangs."""

    counts: tuple[int, ...]
    goal: int

    @property
    def bricks(self) -> int:
        """Number of bricks."""
        return sum(self.counts)

    @cached_property
    def levels(self) -> list[range]:
        """Numbers of the bricks in each level, from left to right."""
        ends = np.cumsum((0, *self.counts)).tolist()
        return [range(a, b) for a, b in pairwise(ends)]

    def pairs(self, x: Floats, reach: float) -> list[tuple[int, int]]:
        """(upper, lower) bricks whose distance at positions x is at most `reach`."""
        found = [(j, TABLE) for j in self.levels[0]]
        for low, high in zip(self.levels, self.levels[1:]):
            found += [(j, i) for j in high for i in low if abs(x[j] - x[i]) < 1.0 + reach]
        return found

    @property
    def goal_brick(self) -> int:
        """Number of the brick that overhangs."""
        return self.levels[self.goal][-1]


class Balance:
    """The equations and inequalities of a structure over z = (x of each brick, F of each pair, M of each pair).

    `balance @ z == load`, `apart @ z >= spaces`, and `within(z) >= 0`: sign (M - F (x_k + end)), one row for each end
    of each of the two bricks of a pair. Omitted pairs carry no force. With a `grip` all pairs overlap by at least that.

    `loads`: total weight of point loads, which the solution distributes. One may lie on the first brick of each level,
    left of the level above, and one on each brick of the highest level. They are pairs (LOAD, brick).
    """

    def __init__(
        self, structure: Structure, pairs: Sequence[tuple[int, int]], grip: float = 0.0, loads: float = 0.0
    ) -> None:
        self.structure, self.loads = structure, loads
        self.who = (*pairs, *((LOAD, brick) for brick in _loaded(structure) if loads > 0.0))
        self.bricks, self.pairs = structure.bricks, len(self.who)
        self.size = self.bricks + 2 * self.pairs
        self.goal = structure.goal_brick
        self.balance, self.load = self._balance()
        self.apart, self.spaces = self._apart(grip)
        above = {low[0]: high[0] for low, high in pairwise(structure.levels)}
        rows = [row for p, pair in enumerate(self.who) for row in _ends(p, *pair, above)]
        self.pair, self.brick = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
        self.end, self.sign = (np.array([row[k] for row in rows], dtype=float) for k in (2, 3))
        self.rows = len(rows)
        self._moves = np.flatnonzero(self.brick != TABLE)  # rows of bricks, not of the table

    def within(self, z: Floats) -> Floats:
        """(rows,) values of the inequalities of the pairs."""
        force, moment = self.split(z)[1:]
        return self.sign * (moment[self.pair] - force[self.pair] * self._places(z))

    def jacobian(self, z: Floats) -> Floats:
        """(rows, size) derivative of `within`. Dense, because sparse matrices do not pay for such small problems."""
        out, rows, n = np.zeros((self.rows, self.size)), np.arange(self.rows), self.bricks
        force = self.split(z)[1][self.pair]
        out[rows, n + self.pairs + self.pair] = self.sign
        out[rows, n + self.pair] = -self.sign * self._places(z)
        out[self._moves, self.brick[self._moves]] = -(self.sign * force)[self._moves]
        return out

    def split(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """x, F and M."""
        n, m = self.bricks, self.pairs
        return z[:n], z[n : n + m], z[n + m :]

    def broken(self, z: Floats) -> float:
        """The largest violation of any equation or inequality."""
        worst = [np.abs(self.balance @ z - self.load).max(), -self.within(z).min(), -self.split(z)[1].min(), 0.0]
        if len(self.apart):
            worst.append((self.spaces - self.apart @ z).max())
        return float(max(worst))

    def _places(self, z: Floats) -> Floats:
        return np.where(self.brick == TABLE, 0.0, z[self.brick]) + self.end

    def _balance(self) -> tuple[Floats, Floats]:
        n, m = self.bricks, self.pairs
        out = np.zeros((2 * n + (self.loads > 0.0), self.size))
        for p, (upper, lower) in enumerate(self.who):
            for brick, sign in ((upper, 1.0), (lower, -1.0)):
                if brick >= 0:
                    out[brick, n + p] = out[n + brick, n + m + p] = sign
            if upper == LOAD:
                out[2 * n, n + p] = 1.0
        for brick in range(n):
            out[n + brick, brick] = -1.0
        weights = np.repeat([1.0, 0.5], n)
        return out, np.append(weights, self.loads) if self.loads > 0.0 else weights

    def _apart(self, grip: float) -> tuple[Floats, Floats]:
        """x_b - x_a >= space: 1 for neighbors in a level, grip - 1 both ways for a pair that overlaps by the grip."""
        rules = [(a, b, 1.0) for level in self.structure.levels for a, b in pairwise(level)]
        if grip > 0.0:
            rules += [(a, b, grip - 1.0) for pair in self.who if min(pair) >= 0 for a, b in (pair, pair[::-1])]
        out = np.zeros((len(rules), self.size))
        for row, (a, b, _) in enumerate(rules):
            out[row, a], out[row, b] = -1.0, 1.0
        return out, np.array([space for _, _, space in rules])


def _loaded(structure: Structure) -> list[int]:
    """The bricks on which a load may lie."""
    return [*(level[0] for level in structure.levels[:-1]), *structure.levels[-1]]


def _ends(pair: int, upper: int, lower: int, above: Mapping[int, int]) -> list[tuple[int, int, float, float]]:
    """(pair, brick, end, sign) of the inequalities of a pair; the table has only a right end.

    `above`: of the first brick of each level the first one of the next level, which limits a load to the right.
    """
    if upper == LOAD:
        on = [(pair, lower, 0.0, 1.0), (pair, lower, 1.0, -1.0)]
        return [*on, (pair, above[lower], 0.0, -1.0)] if lower in above else on
    high = [(pair, upper, 0.0, 1.0), (pair, upper, 1.0, -1.0)]
    if lower == TABLE:
        return [*high, (pair, TABLE, 0.0, -1.0)]
    return [*high, (pair, lower, 0.0, 1.0), (pair, lower, 1.0, -1.0)]


class Ascent(NamedTuple):
    """z = (x, F, M), its overhang, the largest violation, and the number of programs solved."""

    z: Floats
    overhang: float
    broken: float
    programs: int


def with_forces(problem: Balance, x: Floats) -> Floats:
    """z with the forces that violate the constraints least at these positions."""
    n, m, rows = problem.bricks, problem.pairs, problem.rows
    z = np.concatenate([x, np.zeros(2 * m)])
    ends = problem.jacobian(z)[:, n:]  # `within` is linear in F and M
    found = linprog(
        np.repeat([0.0, 1.0], [2 * m, rows]),
        A_ub=np.hstack([-ends, -np.eye(rows)]),
        b_ub=np.zeros(rows),
        A_eq=np.hstack([problem.balance[:, n:], np.zeros((len(problem.load), rows))]),
        b_eq=problem.load - problem.balance[:, :n] @ x,
        bounds=[(0, None)] * m + [(None, None)] * m + [(0, None)] * rows,
        method="highs",
    )
    if found.x is not None:
        z[n:] = found.x[: 2 * m]
    return z


def climb(problem: Balance, z: Floats, most: int, reach: float = FIRST_REACH) -> Ascent:
    """Solves at most `most` linear programs, each with bricks moved by at most `reach`, which adapts."""
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
    """Solves the problem by SLSQP, with forces and moments in units of the whole weight.

    In weights of a brick the forces at the bottom are as large as their number, positions are about 1, and SLSQP takes
    three to five times as many steps; most stacks of 20 bricks then do not converge within MOST_STEPS.
    """
    n, m, weight = problem.bricks, problem.pairs, problem.bricks + problem.loads
    units = np.repeat([1.0, weight], [n, 2 * m])
    start = z / units
    down = np.zeros(problem.size)
    down[problem.goal] = -1.0
    balance, load, apart = problem.balance * units / weight, problem.load / weight, problem.apart * units
    rules = [
        {"type": "eq", "fun": lambda v: balance @ v - load, "jac": lambda v: balance},
        {
            "type": "ineq",
            "fun": lambda v: problem.within(v * units) / weight,
            "jac": lambda v: problem.jacobian(v * units) * (units / weight),
        },
    ]
    if len(apart):
        rules.append({"type": "ineq", "fun": lambda v: apart @ v - problem.spaces, "jac": lambda v: apart})
    bounds = [(None, None)] * n + [(0.0, None)] * m + [(None, None)] * m
    options = {"maxiter": MOST_STEPS, "ftol": 1e-11}
    found = minimize(
        lambda v: -v[problem.goal], start, jac=lambda v: down, bounds=bounds, constraints=rules, options=options
    )
    end = found.x * units
    return Ascent(end, float(end[problem.goal] + 1.0), problem.broken(end), int(found.nit))


def merit(problem: Balance, z: Floats) -> float:
    """Left end of the goal brick minus the penalty of all violated inequalities."""
    return float(z[problem.goal] - PENALTY * np.maximum(0.0, -problem.within(z)).sum())


def _linear_step(problem: Balance, z: Floats, reach: float) -> tuple[Floats | None, float]:
    """The best step of the linearized problem and the predicted gain in merit."""
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
        A_eq=np.hstack([problem.balance, np.zeros((len(problem.load), rows))]),
        b_eq=problem.load - problem.balance @ z,
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    if found.x is None:
        return None, 0.0
    broken_now = PENALTY * np.maximum(0.0, -problem.within(z)).sum()
    return found.x[:size], float(-found.fun + broken_now)
