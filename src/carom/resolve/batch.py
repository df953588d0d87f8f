"""Batches of impact problems: one kernel loops over the problems whose answer takes nothing but a law.

These are problems with few contacts, a diagonal mass matrix and one coefficient of restitution, without friction. The
kernels of the law and of the cone problem are those of a single impact, so the answers have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..kernels import kernel
from ..laws import GR, LCP, QCE, Law
from ..laws.gr import reflect_each
from ..laws.lcp import cone_each, stop_each
from ..laws.qce import pass_each
from ..problem.batch import Answer, Batch, joined, no_answer, part
from ..problem.contacts import RESOLVED
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.rows import Floats, speeds
from ..solvers.threads import on_threads, thread_count
from ..solvers.thresholds import THREADED_PROBLEMS
from .response import Response
from .verify import ENERGY_GAIN, RESOLVED_RESIDUAL, gain_of

# The loops of laws over the problems of a batch. A subclass may define other impulses, and has none.
LOOPS: dict[type[Law], Callable[..., None]] = {GR: reflect_each, LCP: cone_each, QCE: pass_each}


def solve_batch(problems: list[ImpactProblem], response: Response) -> list[ImpactSolution | None]:
    """The solutions of problems; None for those that need more than the loop of a law over problems."""
    found: list[ImpactSolution | None] = [None] * len(problems)
    law: Any = response.law
    if type(law) not in LOOPS or law.tolerance > type(law).tolerance or not getattr(law, "repeat", True):
        return found
    groups: dict[tuple[int, int], list[int]] = {}
    for number, problem in enumerate(problems):
        pieces = problem.pieces
        if pieces is not None and (response.restitution_model == "energetic" or pieces.restitution[0] == 1.0):
            groups.setdefault((pieces.body.shape[1], pieces.white.shape[1]), []).append(number)
    for numbers in groups.values():
        chosen = [problems[number] for number in numbers]
        batch = joined([problem.pieces for problem in chosen])  # type: ignore[misc]
        for number, solution in zip(numbers, _solutions(chosen, batch, response), strict=True):
            found[number] = solution
    return found


def _solutions(problems: list[ImpactProblem], batch: Batch, response: Response) -> list[ImpactSolution | None]:
    law: Any = response.law
    elastic, stopped, velocity = no_answer(batch), no_answer(batch), np.empty_like(batch.velocity)
    count = len(problems)
    parts = 4 * thread_count() if count >= THREADED_PROBLEMS and thread_count() > 1 else 1
    cuts = [count * piece // parts for piece in range(parts + 1)]
    on_threads(partial(_solve_range, law, batch, elastic, stopped, velocity), list(pairwise(cuts)))
    for array in (elastic.normal, velocity):
        array.setflags(write=False)
    contact, body = batch.contact.tolist(), batch.bodies.tolist()
    residual, iterations = elastic.residual.tolist(), elastic.iterations.tolist()
    found: list[ImpactSolution | None] = []
    for k, problem in enumerate(problems):
        if residual[k] > RESOLVED_RESIDUAL:
            found.append(None)
            continue
        after = velocity[body[k] : body[k + 1]].reshape(problem.velocity.shape)
        normal = elastic.normal[contact[k] : contact[k + 1]]
        numbers = (iterations[k], RESOLVED, residual[k])
        found.append(ImpactSolution(problem, law.name, after, normal, None, *numbers, response=response))
    return found


def _solve_range(
    law: Any, batch: Batch, elastic: Answer, stopped: Answer, velocity: Floats, first: int, last: int
) -> float:
    """Problems first..last-1: the elastic answer of the law, the inelastic one, and what is between them."""
    LOOPS[type(law)](batch, first, last, law.tolerance, law.max_iterations, elastic)
    if (batch.restitution[first:last] < 1.0).any():
        stop_each(batch, first, last, stopped)
    _verify_each(batch, first, last, elastic, stopped, velocity)
    return 0.0


@kernel
def _verify_each(batch, first, last, elastic, stopped, velocity):
    """Energetic restitution in problems first..last-1, into `elastic`, and their velocity after the impact.

    The residual becomes the one that `verified` would state, or infinite where an answer is not plainly right.
    """
    for k in range(first, last):
        rows, white, _ = part(batch, k)
        a, b, c = batch.contact[k], batch.contact[k + 1], batch.restitution[k]
        normal, residual = elastic.normal[a:b], elastic.residual[k]
        if c < 1.0:
            for i in range(a, b):
                mixed = (1.0 - c) * stopped.normal[i] + c * elastic.normal[i]
                elastic.normal[i] = mixed if c > 0.0 else stopped.normal[i]  # the sum would lose the sign of a zero
            residual = max(residual, stopped.residual[k])
            if c == 0.0:
                elastic.iterations[k] = stopped.iterations[k]
        after = velocity[batch.bodies[k] : batch.bodies[k + 1]]
        left, fastest = _moved(batch, k, rows, normal, after), -speeds(rows, white).min()
        gain = gain_of(rows, white, normal, np.zeros((b - a, 0)))
        if c == 1.0:
            residual = max(residual, -gain)
        if fastest > 0.0:
            residual = max(residual, left / fastest)
        finite = np.all(np.isfinite(normal)) and np.all(np.isfinite(after)) and np.isfinite(gain)
        elastic.residual[k] = residual if finite and gain <= ENERGY_GAIN else np.inf


@kernel(inline="always")
def _moved(batch, k, rows, normal, after):
    """Writes the velocity `v + M^-1 J^T lam` of problem k to `after`; returns the fastest approach at it.

    For the inelastic law that is the largest residual of its complementarity, which includes the approach.
    """
    w, d, start = rows.body.shape[1], after.shape[1], batch.entry[k]
    after[:] = 0.0
    e = start
    for i in range(len(normal)):
        for side in range(w):
            if rows.body[i, side] >= 0:
                for q in range(d):
                    after[rows.body[i, side], q] += batch.jacobian[e, q] * normal[i]
                e += 1
    for b in range(len(after)):
        for q in range(d):
            body = batch.bodies[k] + b
            after[b, q] = batch.velocity[body, q] + after[b, q] / batch.mass[body, q]
    e, left = start, -np.inf
    for i in range(len(normal)):
        u = 0.0
        for side in range(w):
            if rows.body[i, side] >= 0:
                for q in range(d):
                    u += batch.jacobian[e, q] * after[rows.body[i, side], q]
                e += 1
        u += rows.base[i, 0]
        left = max(left, -u)
        if batch.restitution[k] == 0.0:
            left = max(left, min(rows.diag[i] * normal[i], u))
    return left
