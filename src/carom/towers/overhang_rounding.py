"""From the floats of a search to a stack in fractions that stands.

At its largest overhang a stack stands at the very limit, and rounding would make it fall. It is pulled in by a hair,
then rounded to decimals, then proved; if that fails, by a larger hair. Bricks that touch, and bricks half a brick
apart (the two upper ones of three, each with its middle on an end of the lower one), are rounded together: there a
stack has no room at all, at any overhang, and only their differences keep it up.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from ..solvers.rows import Floats
from .overhang_ascent import FEASIBLE, polish, with_forces
from .overhang_levels import TABLE, Balance, Structure
from .overhang_proof import GRIP, HALF, TIGHT, ExactRows, StackProof, balance

HAIRS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)  # brick lengths of overhang given away; floats could not check less than 1e-6
ROOM = 100.0  # hairs that a brick may move on the way in
PULLS = 3  # linear programs; each leaves an error of the square of the step before
GRAIN = 1e-3  # of a hair: the decimals to round to
SHORT, CLOSE = 1000, 1e-10  # denominators of simple fractions, and how close a float must be to count as one
CARRIES = 1e-7  # weights of a brick: a pair with less can do without
GRIPPED = 1.01 * float(GRIP)  # rounding takes none of the grip away
TOGETHER = 1e-8  # brick lengths: differences this close to 1/2 or 1 are meant to be exactly that


def proved(structure: Structure, x: Floats) -> StackProof | None:
    """The proof at the first hair at which there is one, or None."""
    problem, x = _gripping(structure, x)
    for hair in HAIRS:
        pulled = _pulled_in(problem, x, hair) if hair else x
        proof = balance(_rounded(structure, pulled, hair))
        if proof is not None:
            return proof
    return None


def _gripping(structure: Structure, x: Floats) -> tuple[Balance, Floats]:
    """The furthest stack in which all that carries overlaps by a GRIP; the best ones often hang on a corner."""
    problem = Balance(structure, structure.pairs(x, TOGETHER))
    force = problem.split(with_forces(problem, x))[1]
    overlap = [1.0 if i == TABLE else 1.0 - abs(x[j] - x[i]) for j, i in problem.who]
    pairs = [p for p, f, o in zip(problem.who, force, overlap) if f > CARRIES or o > GRIPPED]
    problem = Balance(structure, pairs, GRIPPED)
    end = polish(problem, with_forces(problem, x))
    return problem, end.z[: structure.bricks] if end.broken < FEASIBLE else x


def _pulled_in(problem: Balance, x: Floats, hair: float) -> Floats:
    """Positions with the overhang less by `hair` and, for that, all the room that the forces can get (each a hair)."""
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
    """The step within these bounds after which the linearized inequalities have the most room, up to a hair each."""
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
    """Fractions near x: decimals of GRAIN hairs, or simple fractions without a hair; joined bricks keep together."""
    exact: dict[int, Fraction] = {}
    for brick in range(structure.bricks):
        if brick not in exact:
            exact[brick] = _number(x[brick], hair)
            _carry(structure, x, brick, exact)
    return [[exact[b] for b in level] for level in structure.levels]


def _carry(structure: Structure, x: Floats, first: int, exact: dict[int, Fraction]) -> None:
    """Rounds all bricks that hang together with this one."""
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
