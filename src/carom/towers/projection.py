"""Projection of a point on a polyhedron, to rounding: `min 1/2 |x - f|^2`, `G x >= b`, some rows `G x = b`.

Without equations the dual is the cone problem of `solvers/qp/cone.py`. This solver is for sequences of problems that
hardly change, such as the steps of a collapsing tower, and for rows that are highly redundant. It works on x: a method
of multipliers, whose piecewise quadratic subproblems

    min_x 1/2 |x - f|^2 + 1/(2 eps) sum_i max(0, b_i - G_i x + eps y_i)^2

are solved by Newton steps with an exact line search. A step costs a factorization of `I + G_A^T G_A / eps` if the set A
of active rows has changed, else two triangular solves. With the multipliers of the last problem as a start, most
problems need one factorization or none. The active-set iteration of `solvers/qp/sparse.py` has no line search: on
towers it ended at 1e-6 to 1e-12 in one step out of twenty, enough to break a mirror symmetry within some hundred steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.linalg.factor import Island, analyze, combine, factorise, gradient, new_factor, solve_factored
from ..solvers.qp.cone import solve_cone
from ..solvers.rows import Floats, Ints, Rows, speeds

# eps, for rows of unit length. A large eps needs more iterations of the outer loop; with a small one many rows become
# active and inactive on the way. Cold starts begin at the first number, warm starts at the second. Smaller values are
# for redundant rows that contradict each other slightly.
COLD_EPS, WARM_EPS, SMALLEST_EPS = 1e-2, 1e-5, 1e-12
SHRINK = 0.1  # factor by which eps is reduced
SLOW = 0.2  # an outer iteration that leaves more than this share of the violation is followed by a smaller eps
TARGET = 1e-15  # violation at which the iteration ends, relative to the largest one at the start
GOOD = 1e-12  # residual above which a warm start is followed by a cold one
ROUNDS, NEWTON_STEPS = 40, 25  # bounds on the outer iterations, and on the Newton steps in each


class Program(NamedTuple):
    """The rows of a problem, scaled to unit length and analyzed, and its present factorization."""

    island: Island
    number: Ints  # (bodies of the island,) number of each body in the rows
    scale: Floats  # (m,) inverse length of each row
    factor: Any
    weight: Floats  # (m,) weights of the present factorization; -1 before the first one


class Projection:
    """The rows of a problem, analyzed once for any number of right-hand sides."""

    def __init__(self, rows: Rows, equations: int) -> None:
        self.rows, self.equations = rows, equations
        self.program = _prepare(rows)
        self.factorisations = 0

    def solve(
        self, free: Floats, bound: Floats, start: Floats | None = None, floor: float = 0.0, scale: float = 0.0
    ) -> tuple[Floats, Floats, float]:
        """x, multipliers y >= 0 (any sign for the last `equations` rows) with x = free + G^T y, and the residual.

        The residual is the largest violation of min(A_ii y_i, G_i x - b_i) = 0 over the largest |G free - b|, or
        over `scale` if that is larger. Violations up to `floor`, the rounding error of b, count as none.
        """
        best, size = (np.inf, np.zeros(0), np.zeros(0)), 0.0
        for attempt in ("warm", "cone", "nothing"):
            # The multipliers of equations have any sign: theirs is no cone problem.
            if (attempt == "warm" and start is None) or (attempt == "cone" and self.equations):
                continue
            guess = start if attempt == "warm" and start is not None else self._guess(free, bound, attempt)
            eps = COLD_EPS if attempt == "nothing" else WARM_EPS
            x, y, error, size, count = _solve(self.program, self.equations, free, bound, guess, floor, eps)
            self.factorisations += count
            if error < best[0]:
                best = error, x, y
            if error <= max(floor, GOOD * size):
                break
        return best[1], best[2], float(best[0] / max(size, scale)) if size else 0.0

    def _guess(self, free: Floats, bound: Floats, attempt: str) -> Floats:
        """Multipliers for a cold start: the solution of the cone problem by `solvers/qp/cone.py`."""
        if attempt == "nothing":
            return np.zeros(len(bound))
        y = solve_cone(self.rows, speeds(self.rows, free) - bound)[0]
        return np.where(np.isfinite(y), y, 0.0)


@kernel
def _prepare(rows):
    """Scales and analyzes the rows."""
    m, bodies = len(rows.body), len(rows.touch_ptr) - 1
    scale = 1.0 / np.sqrt(rows.diag)
    island = analyze(rows, np.arange(m), scale, np.empty(bodies, np.int64))
    number, e = np.empty(island.bodies, np.int64), 0
    for i in range(m):
        for side in range(rows.body.shape[1]):
            if rows.body[i, side] >= 0:
                number[island.body[e]] = rows.body[i, side]
                e += 1
    return Program(island, number, scale, new_factor(island), np.full(m, -1.0))


@kernel
def _solve(program, equations, free, bound, guess, floor, eps):
    """x, y, the largest violation at the end and at the start, and the number of factorizations."""
    island, scale, number = program.island, program.scale, program.number
    m, d = len(bound), free.shape[1]
    x, y, local = free.copy(), guess.copy(), np.empty((island.bodies, d))
    for b in range(island.bodies):
        for t in range(d):
            local[b, t] = free[number[b], t]
    need, size, largest = np.empty(m), 0.0, 0.0
    gradient(island, local, np.zeros(m), need)
    for i in range(m):
        need[i] = bound[i] * scale[i] - need[i]
        wrong = abs(need[i]) if i >= m - equations else need[i]
        size = max(size, wrong)
        largest = max(largest, wrong / scale[i])
    if size <= 0.0:
        y[:] = 0.0
        return x, y, 0.0, 0.0, 0
    for i in range(m):
        need[i] /= size
        y[i] /= scale[i] * size
        if i < m - equations:
            y[i] = max(y[i], 0.0)
    best, count = np.inf, 0
    trial, short = y.copy(), np.empty(m)
    for round_ in range(ROUNDS):
        gradient(island, combine(island, trial), -need, short)
        error = 0.0
        for i in range(m):
            wrong = abs(short[i]) if i >= m - equations else abs(min(trial[i], short[i]))
            error = max(error, wrong * size / scale[i])
            short[i] = -short[i]
        slow = error > SLOW * best
        if error < best:
            best = error
            for i in range(m):  # a loop compiles faster than an assignment of slices
                y[i] = trial[i]
        if best <= max(floor, TARGET * largest) or (slow and eps <= SMALLEST_EPS):
            break
        if round_ > 0 and (slow or eps > 0.1 * COLD_EPS):
            # Redundant rows that contradict each other by d: their multipliers change by d / eps per iteration only.
            eps *= SHRINK
        used, settled = _subproblem(island, short, equations, trial, eps, program.factor, program.weight)
        count += used
        if not settled and eps <= WARM_EPS:
            break  # a bad start: a cold one follows
    change = combine(island, y)
    for b in range(island.bodies):
        for t in range(d):
            x[number[b], t] += change[b, t] * size
    for i in range(m):
        y[i] *= scale[i] * size
    return x, y, best, largest, count


@kernel
def _subproblem(island, short, equations, y, eps, factor, weight):
    """One outer iteration of the method of multipliers, in place of y; returns its factorizations, and if it settled.

    `short` is the violation of each row at x = G^T y. The unknown is the change of x, so that all sums, and their
    rounding errors, are of the size of the remaining error: in terms of x itself, 1e-16 / eps would be left in y.
    """
    m, count, fewest, settled = len(short), 0, len(short) + 1, False
    change, push = np.zeros((island.bodies, island.val.shape[1])), np.empty(m)
    lack, rate, nothing = short.copy(), np.empty(m), np.zeros(m)
    for number in range(NEWTON_STEPS):
        # The first guess of the active rows is that of complementarity, in units of x: with eps in its place small gaps
        # would hide the information in y. It may increase the function; from then on the set is that of the function.
        trust = 1.0 if number == 0 else eps
        changed = False
        for i in range(m):
            active = i >= m - equations or trust * y[i] + lack[i] > 0.0
            push[i] = lack[i] / eps if active else -y[i]
            wanted = 1.0 / eps if active else 0.0
            if weight[i] != wanted:
                changed = True
                weight[i] = wanted
        if changed:
            factorise(island, weight, factor)
            count += 1
        dx = combine(island, push)
        for b in range(dx.shape[0]):
            for t in range(dx.shape[1]):
                dx[b, t] -= change[b, t]
        solve_factored(island, factor, dx)
        gradient(island, dx, nothing, rate)
        flips = _flips(y, lack, rate, weight, eps, m - equations)
        if number == 0 or flips < fewest:
            step, fewest = 1.0, min(fewest, flips)
        else:
            step = _line_search(y, lack, rate, change, dx, eps, m - equations)
        for i in range(m):
            lack[i] -= step * rate[i]
        for b in range(dx.shape[0]):
            for t in range(dx.shape[1]):
                change[b, t] += step * dx[b, t]
        if step == 1.0 and flips == 0:
            settled = True
            break
    for i in range(m):
        y[i] = y[i] + lack[i] / eps
        if i < m - equations:
            y[i] = max(y[i], 0.0)
    return count, settled


@kernel
def _flips(y, lack, rate, weight, eps, inequalities):
    """How many rows a full step adds to or removes from the active set. While it falls, no line search is needed."""
    count = 0
    for i in range(inequalities):
        count += int((weight[i] > 0.0) != (eps * y[i] + lack[i] - rate[i] > 0.0))
    return count


@kernel
def _line_search(y, lack, rate, change, dx, eps, inequalities):
    """The minimum along dx in (0, 1]: the derivative is piecewise linear, with kinks where a row becomes (in)active."""
    slope, bend = 0.0, 0.0
    for b in range(dx.shape[0]):
        for t in range(dx.shape[1]):
            slope += dx[b, t] * change[b, t]
            bend += dx[b, t] * dx[b, t]
    end = slope + bend
    kinks, times, where = 0, np.empty(inequalities), np.empty(inequalities, np.int64)
    for i in range(len(lack)):
        left = eps * y[i] + lack[i]
        now, then = i >= inequalities or left > 0.0, i >= inequalities or left - rate[i] > 0.0
        end += -(lack[i] - rate[i]) * rate[i] / eps if then else y[i] * rate[i]
        if now:
            slope -= lack[i] * rate[i] / eps
            bend += rate[i] * rate[i] / eps
        else:
            slope += y[i] * rate[i]
        if now != then:
            times[kinks], where[kinks] = left / rate[i], i
            kinks += 1
    if kinks == 0 or end <= 0.0:
        return 1.0
    now_at = 0.0
    for p in np.argsort(times[:kinks], kind="mergesort"):
        at, i = times[p], where[p]
        if slope + bend * (at - now_at) >= 0.0:
            break
        # At the kink both forms of the term agree, so only the slope of the derivative changes.
        slope += bend * (at - now_at)
        bend += rate[i] * rate[i] / eps if rate[i] < 0.0 else -rate[i] * rate[i] / eps
        now_at = at
    return min(1.0, max(now_at - slope / bend, now_at)) if bend > 0.0 else 1.0
