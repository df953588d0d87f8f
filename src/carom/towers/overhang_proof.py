"""Proof in fractions that a stack in levels is stable, and rounding of the search result to such a stack.

Lengths are in brick lengths, forces in weights of a brick. With its largest overhang a stack is in limiting
equilibrium, and rounding would make it unstable. Its overhang is therefore reduced by a small amount (HAIRS), the
positions are rounded to decimals, and the result is proved; if that fails, the reduction is increased. Bricks that
touch, and bricks half a brick apart (the two upper ones of three, each with its center on an end of the lower one), are
rounded together: their equilibrium has no tolerance at any overhang and depends on exact differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from ..solvers.rows import Floats
from .exact import solve_near
from .overhang_model import FEASIBLE, TABLE, Balance, Structure, polish, with_forces

ExactRows = list[list[Fraction]]  # left ends of the bricks of each level
Place = tuple[int, int, Fraction]  # upper brick, lower brick, x
HALF = Fraction(1, 2)
GRIP = Fraction(1, 50_000)  # smaller overlaps carry no force, as in `contacts.py`: corner on corner is no support
LEAST_PUSHES = (1e-9, 1e-7, 1e-12)  # larger forces push; the exact equilibrium selects one of these
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # the smallest that HiGHS accepts
ENOUGH = 1e-3  # in weights of a brick: force up to which places are preferred
HAIRS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)  # in brick lengths: reductions of the overhang; floats cannot resolve less
ROOM = 100.0  # in hairs: largest motion of a brick while the overhang is reduced
PULLS = 3  # linear programs; the error of each is the square of the step before
GRAIN = 1e-3  # in hairs: resolution of the rounding
SHORT, CLOSE = 1000, 1e-10  # largest denominator of simple fractions, and their largest distance from the float
CARRIES = 1e-7  # in weights of a brick: pairs with a smaller force are dispensable
GRIPPED = 1.01 * float(GRIP)  # the overlap must suffice after rounding
TOGETHER = 1e-8  # in brick lengths: differences this close to 1/2 or 1 are meant to be exact


@dataclass(frozen=True)
class Push:
    """The upper brick rests on the lower one (-1: the table) at x with this force. Bricks are numbered from 0."""

    upper: int
    lower: int
    x: Fraction
    force: Fraction


@dataclass(frozen=True, eq=False)
class StackProof:
    """Forces >= 0 within the overlaps that balance every brick, all in fractions: the stack is stable.

    `rows` has the left ends of the bricks of each level, from the table up and from left to right, in brick lengths;
    the bricks are numbered in this order.
    """

    rows: tuple[tuple[Fraction, ...], ...]
    pushes: tuple[Push, ...]

    exact: ClassVar[bool] = True
    certificate: ClassVar[float] = 0.0  # the residual of the equilibrium

    @property
    def holds(self) -> bool:
        """Checks the whole proof: bricks do not overlap, forces are admissible, every brick is in equilibrium."""
        x = [value for row in self.rows for value in row]
        level = [h for h, row in enumerate(self.rows) for _ in row]
        apart = all(b - a >= 1 for row in self.rows for a, b in pairwise(row))
        force, moment = [Fraction(-1)] * len(x), [-v - HALF for v in x]
        for push in self.pushes:
            if push.force < 0 or level[push.upper] != (0 if push.lower == TABLE else level[push.lower] + 1):
                return False
            left, right = _overlap(x[push.upper], None if push.lower == TABLE else x[push.lower])
            if not left <= push.x <= right:
                return False
            for brick, sign in ((push.upper, 1), (push.lower, -1)):
                if brick != TABLE:
                    force[brick] += sign * push.force
                    moment[brick] += sign * push.force * push.x
        return apart and not any(force) and not any(moment)


def balance(rows: ExactRows) -> StackProof | None:
    """The proof that this stack is stable, or None if none was found.

    The floating-point forces tell which ends of overlaps push, as many as possible; the rest is exact.
    """
    x = [value for row in rows for value in row]
    places = _places(rows)
    near = _forces(x, places) if places else None
    if near is None:
        return None
    for least in LEAST_PUSHES:
        pushing = [k for k in range(len(places)) if near[k] > least]
        forces = solve_near(*_equations(x, [places[k] for k in pushing]), [float(near[k]) for k in pushing])
        if forces is None or any(f < 0 for f in forces):
            continue
        pushes = tuple(Push(*places[k], force) for k, force in zip(pushing, forces))
        proof = StackProof(tuple(tuple(row) for row in rows), pushes)
        if proof.holds:
            return proof
    return None


def _overlap(upper: Fraction, lower: Fraction | None) -> tuple[Fraction, Fraction]:
    """Ends of the overlap of two bricks; lower = None is the table, x <= 0."""
    if lower is None:
        return upper, min(upper + 1, Fraction(0))
    return max(upper, lower), min(upper, lower) + 1


def _places(rows: ExactRows) -> list[Place]:
    """(upper, lower, x) at both ends of every sufficient overlap."""
    starts = np.cumsum([0, *(len(row) for row in rows)]).tolist()
    found = []
    for h, row in enumerate(rows):
        below = [(TABLE, None)] if h == 0 else [(starts[h - 1] + k, v) for k, v in enumerate(rows[h - 1])]
        for k, upper in enumerate(row):
            for lower, value in below:
                left, right = _overlap(upper, value)
                if right - left >= GRIP:
                    found += [(starts[h] + k, lower, left), (starts[h] + k, lower, right)]
    return found


def _equations(x: Sequence[Fraction], places: Sequence[Place]) -> tuple[list[dict[int, Fraction]], list[Fraction]]:
    """Forces and moments about the center of each brick; the columns are the places."""
    n = len(x)
    equations: list[dict[int, Fraction]] = [{} for _ in range(2 * n)]
    for k, (upper, lower, place) in enumerate(places):
        for brick, sign in ((upper, 1), (lower, -1)):
            if brick != TABLE:
                equations[brick][k] = Fraction(sign)
                equations[n + brick][k] = sign * (place - x[brick] - HALF)
    return equations, [Fraction(1)] * n + [Fraction(0)] * n


def _forces(x: Sequence[Fraction], places: Sequence[Place]) -> Floats | None:
    """Forces at the places in equilibrium, as many > 0 as possible: f = g + h, 0 <= g <= ENOUGH, largest sum of g."""
    m = len(places)
    equations, right = _equations(x, places)
    matrix = np.zeros((len(right), m))
    for row, equation in enumerate(equations):
        for k, value in equation.items():
            matrix[row, k] = float(value)
    found = linprog(
        np.repeat([-1.0, 0.0], m),
        A_eq=np.hstack([matrix, matrix]),
        b_eq=[float(value) for value in right],
        bounds=[(0.0, ENOUGH)] * m + [(0.0, None)] * m,
        method="highs",
        options=TIGHT,
    )
    return None if found.x is None else found.x[:m] + found.x[m:]


def proved(structure: Structure, x: Floats) -> StackProof | None:
    """The proof with the smallest reduction of the overhang that permits one, or None."""
    problem, x = _gripping(structure, x)
    for hair in HAIRS:
        pulled = _pulled_in(problem, x, hair) if hair else x
        proof = balance(_rounded(structure, pulled, hair))
        if proof is not None:
            return proof
    return None


def _gripping(structure: Structure, x: Floats) -> tuple[Balance, Floats]:
    """The furthest stack in which all pairs that carry a force overlap by GRIP; the best ones may rest on a corner."""
    problem = Balance(structure, structure.pairs(x, TOGETHER))
    force = problem.split(with_forces(problem, x))[1]
    overlap = [1.0 if i == TABLE else 1.0 - abs(x[j] - x[i]) for j, i in problem.who]
    pairs = [p for p, f, o in zip(problem.who, force, overlap) if f > CARRIES or o > GRIPPED]
    problem = Balance(structure, pairs, GRIPPED)
    end = polish(problem, with_forces(problem, x))
    return problem, end.z[: structure.bricks] if end.broken < FEASIBLE else x


def _pulled_in(problem: Balance, x: Floats, hair: float) -> Floats:
    """Positions with the overhang reduced by `hair` and the largest slack, up to a hair each, in all inequalities."""
    n, m = problem.bricks, problem.pairs
    z = with_forces(problem, x)
    lowest = np.concatenate([x - ROOM * hair, np.zeros(m), np.full(m, -np.inf)])
    highest = np.concatenate([x + ROOM * hair, np.full(2 * m, np.inf)])
    lowest[problem.goal] = highest[problem.goal] = x[problem.goal] - hair
    for _ in range(PULLS):
        step = _step_inside(problem, z, lowest - z, highest - z, hair)
        if step is None:
            break
        z = z + step
    return z[:n]


def _step_inside(problem: Balance, z: Floats, low: Floats, high: Floats, hair: float) -> Floats | None:
    """The step within these bounds after which the linearized inequalities have the most slack, up to a hair each."""
    rows, size = problem.rows, problem.size
    ends = np.hstack([-problem.jacobian(z), np.eye(rows)])
    apart = np.hstack([-problem.apart, np.zeros((len(problem.apart), rows))])
    found = linprog(
        np.repeat([0.0, -1.0], [size, rows]),
        A_ub=np.vstack([ends, apart]),
        b_ub=np.concatenate([problem.within(z), problem.apart @ z - problem.spaces]),
        A_eq=np.hstack([problem.balance, np.zeros((len(problem.load), rows))]),
        b_eq=problem.load - problem.balance @ z,
        bounds=np.column_stack([np.append(low, np.zeros(rows)), np.append(high, np.full(rows, hair))]),
        method="highs",
        options=TIGHT,
    )
    return None if found.x is None else found.x[:size]


def _rounded(structure: Structure, x: Floats, hair: float) -> ExactRows:
    """Fractions near x: decimals of GRAIN hairs, or simple fractions without a hair; joined bricks stay together."""
    exact: dict[int, Fraction] = {}
    for brick in range(structure.bricks):
        if brick not in exact:
            exact[brick] = _number(x[brick], hair)
            _carry(structure, x, brick, exact)
    return [[exact[b] for b in level] for level in structure.levels]


def _carry(structure: Structure, x: Floats, first: int, exact: dict[int, Fraction]) -> None:
    """Rounds all bricks that are joined to this one."""
    height = {b: h for h, level in enumerate(structure.levels) for b in level}
    ahead = [first]
    while ahead:
        here = ahead.pop()
        for other in range(structure.bricks):
            step = round(2.0 * (x[other] - x[here]))
            apart = abs(height[other] - height[here])
            if other in exact or abs(step) != (2 if apart == 0 else 1) or apart > 1:
                continue
            if abs(x[other] - x[here] - 0.5 * step) < TOGETHER:
                exact[other] = exact[here] + step * HALF
                ahead.append(other)


def _number(value: float, hair: float) -> Fraction:
    if not hair:
        short = Fraction(value).limit_denominator(SHORT)
        return short if abs(float(short) - value) < CLOSE else Fraction(value)
    digits = round(-np.log10(GRAIN * hair))
    return Fraction(round(value * 10**digits), 10**digits)
