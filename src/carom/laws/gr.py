"""Generalized reflections: simultaneous impulses among the violators, propagation between iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel, lean
from ..problem.batch import part, put
from ..problem.contacts import Contacts, Impulses
from ..solvers.qp.cone import cone, solve_chosen, work_of
from ..solvers.qp.dense import DENSE_VECTORS, inside_solution, solve_dense_in
from ..solvers.rows import Floats, Ints, Rows, push, speeds
from ..solvers.thresholds import DENSE_QP_CONTACTS
from .inelastic import FEASIBLE_RESIDUAL, finish_inelastically, without_solution
from .law import SMITH_2012, Law, reflected

ELASTIC_STRETCH = 2.0  # 1 + c_r of the elastic law, which the restitution models interpolate
# Bound on the multiplications of guesses in small islands, per contact: a third of a second for 100 contacts. Clamped
# fronts of redundant contacts reflect each other and do not end. Of 5,400 random problems of 12 to 110 contacts none
# that ended by itself took more than 6e6.
GUESSED_WORK = 1e7
SETTLED_RESIDUAL = 1e-9  # residual of an iteration up to which its contacts are known to separate
# With more than one violator in SCANNED_PER_VIOLATOR contacts, all contacts are scanned: in the order of memory that is
# faster than to look up the contacts of the moved bodies. The others have not changed their speed.
SCANNED_PER_VIOLATOR = 24


@dataclass(frozen=True)
class GR(Law):
    """Repeats until nothing approaches: V = {u < -tol}; `lam_V = argmin_{y>=0} 1/2 y^T A y + (1 + c_r) u^T y`; apply.

    Each iteration reflects the velocity in the cone of the violators (Smith 2012, alg. 2), with c_r = 1. Under the
    restitution model newton c_r is the coefficient of each contact, as printed in the paper. Then the iterations can
    collapse inelastically, which is the point of its fig. 4.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the iterations; 0 means 1000 + 100 sqrt(m).
    """

    name: ClassVar[str] = "gr"
    title: ClassVar[str] = "generalized reflections"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = "one cone problem over the violators per iteration; at most 1000 + 100 sqrt(m) iterations"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "newton")

    tolerance: float = 1e-10
    max_iterations: int = 0

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        bound = self.max_iterations or 1000 + int(100 * np.sqrt(contacts.count))
        fastest = contacts.approach()
        tol = self.approach_left(contacts, tolerance)
        few = contacts.count <= DENSE_QP_CONTACTS
        solve = few_reflections if few else reflections
        lam, x, end = solve(contacts.rows, contacts.velocity, 1.0 + contacts.restitution, tol, bound)
        count, residual = end.iterations, end.worst / fastest if fastest > 0.0 else 0.0
        if end.infeasible:
            return without_solution(contacts, lam, count, residual)
        if end.violators:
            reason = (
                f"gr reached its bound of {f'{bound} iterations' if count >= bound else f'work in {count} iterations'}"
            )
            return finish_inelastically(contacts, lam, x, count, reason, residual)
        return replace(reflected(contacts, lam, x, count, 0, tol, self.name), residual=residual)


class _Progress(NamedTuple):
    """Where the iteration stands."""

    violators: int
    large: int  # of these: in islands that are too large for the dense method, whose cone problem is to be solved
    iterations: int
    size: float  # largest |c| of the cone problem of this iteration
    residual: float  # of what has been solved of it, a speed
    worst: float  # largest residual of all iterations
    work: float  # multiplications of guesses, of all iterations
    infeasible: bool  # the cone problem has no solution


def reflections(
    rows: Rows, velocity: Floats, stretch: Floats, tol: float, bound: int
) -> tuple[Floats, Floats, _Progress]:
    """The GR loop: impulses, velocity, and where it has ended.

    `stretch` is 1 + c_r of each contact (Smith 2012, eq. 8 with epsilon = 1 + c_r). Violators are left at the bound on
    the iterations, at that on their work, and if a cone problem has no solution.

    `_iterate` runs the loop as long as all islands are small, and returns for each cone problem with a large one,
    which is solved here. Its methods take most of the compile time; they are compiled when the first one appears.
    """
    front, k = first_violators(rows, velocity, stretch, tol)
    at, dense, y, work = _Progress(k, 0, 0, 0.0, 0.0, 0.0, 0.0, False), dense_space(), np.zeros(0), None
    elastic = bool((stretch == ELASTIC_STRETCH).all())
    while True:
        at = _iterate(rows, front, dense, tol, bound, at, y)
        if at.large == 0 or at.infeasible:
            return front.lam, front.x, at
        work, problem = work or work_of(rows), cone(front.rate[: at.large])
        residual = solve_chosen(rows, front.large[: at.large].astype(np.int64), problem, work, tol, elastic)
        y, at = problem.y, at._replace(residual=max(at.residual, residual))


@kernel
def _iterate(rows, front, dense, tol, bound, at, y):
    """Iterations until nothing approaches, a bound is reached, or an island is too large for the dense method.

    y are the impulses of the violators in large islands, if there are some. A reflected contact separates at least c_r
    times as fast as it approached, so it is no violator in the next iteration, provided that the cone problem was
    solved. A cone problem without a solution ends the loop.
    """
    k, large, count, size, residual, worst = at.violators, at.large, at.iterations, at.size, at.residual, at.worst
    work, most = at.work, GUESSED_WORK * len(rows.body)
    while k > 0 and count < bound and work <= most:
        if large > 0:
            push_large(rows, front, large, y)
            large = 0
        else:
            large, size, residual, guessed = reflect_small(rows, front, count % 2, k, dense)
            work += guessed
            if large > 0:
                return _Progress(k, large, count, size, residual, worst, work, False)
        worst = max(worst, residual)
        if residual > max(FEASIBLE_RESIDUAL * size, tol):
            return _Progress(k, 0, count, size, residual, worst, work, True)
        settled = residual <= min(SETTLED_RESIDUAL * size, tol)
        k = next_violators(rows, front, count % 2, k, tol, count + 1, settled)
        count += 1
    return _Progress(k, 0, count, size, residual, worst, work, False)


@kernel
def few_reflections(rows, velocity, stretch, tol, bound):
    """`reflections` of at most DENSE_QP_CONTACTS contacts, none of whose islands is large, in one kernel."""
    front, number = first_violators(rows, velocity, stretch, tol)
    at = _Progress(number, 0, 0, 0.0, 0.0, 0.0, 0.0, False)
    return front.lam, front.x, _iterate(rows, front, dense_space(), tol, bound, at, front.rate)


@kernel
def reflect_each(batch, first, last, share, bound, answer):
    """`few_reflections` of problems first..last-1 of a batch, without those that are perfectly inelastic."""
    for k in range(first, last):
        if batch.restitution[k] > 0.0:
            rows, velocity, _ = part(batch, k)
            fastest = max(-speeds(rows, velocity).min(), 0.0)
            most = bound if bound > 0 else 1000 + int(100 * np.sqrt(len(rows.body)))
            elastic = np.full(len(rows.body), ELASTIC_STRETCH)
            lam, _, end = few_reflections(rows, velocity, elastic, share * fastest, most)
            residual = np.inf if end.violators else end.worst / fastest if fastest > 0.0 else 0.0
            put(answer, batch, k, lam, end.iterations, residual)


# ---- the violators of one iteration after another, and their reflection in small islands


class Front(NamedTuple):
    """Where the iteration stands, with m contacts among n bodies. Small numbers: memory is what the loop waits for."""

    x: Floats  # (n, d) whitened velocity
    lam: Floats  # (m,) impulses
    front: NDArray[np.uint32]  # (2, m) the violators of this iteration and of the next
    u: Floats  # (2, m) their speeds
    load: NDArray[np.uint32]  # (n, 2) number of these violators at each body
    candidate: NDArray[np.uint32]  # (m + 1,) contacts that may be violators in the next iteration
    stamp: NDArray[np.uint32]  # (m,) 1 + iteration in which a contact was last a candidate
    chosen: NDArray[np.uint32]  # (m,) 1 + place in the front of a violator that waits for its island, else 0
    member: NDArray[np.uint32]  # (m,) places in the front of the violators that share a body with others
    island: NDArray[np.uint32]  # (m,) places in the front of the violators of one island
    large: NDArray[np.uint32]  # (m,) violators in islands that are too large for the dense method
    rate: Floats  # (m,) c of their cone problem
    stretch: Floats  # (m,) 1 + restitution: c of a violator per speed


class Dense(NamedTuple):
    """Work space for the cone problem of a small island: see `qp/dense.py`."""

    a: Floats
    given: Floats
    work: Floats
    places: Ints


@kernel(inline="always")
def dense_space():
    """Uninitialized work space for islands of up to DENSE_QP_CONTACTS contacts."""
    k = DENSE_QP_CONTACTS
    return Dense(np.empty((k, k)), np.empty((2, k)), np.empty((k + DENSE_VECTORS, k)), np.empty((2, k), np.int64))


@kernel
def first_violators(rows, velocity, stretch, tol):
    """The front before the first iteration, and the number of violators, which are in front[0]."""
    m, n = len(rows.body), len(velocity)
    at = Front(
        velocity.copy(), np.zeros(m), np.empty((2, m), np.uint32), np.empty((2, m)), np.zeros((n, 2), np.uint32),
        np.arange(m + 1).astype(np.uint32), np.zeros(m, np.uint32), np.zeros(m, np.uint32), np.empty(m, np.uint32),
        np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m), stretch,
    )  # fmt: skip
    return at, _examine(rows, at, m, tol, 0)


@lean
def _examine(rows, at, number, tol, side):
    """The violators among the first `number` candidates, into front[side]; returns how many there are."""
    body, val, base, x, load, candidate = rows.body, rows.val, rows.base, at.x, at.load, at.candidate
    front, u = at.front[side], at.u[side]
    w, d, found = body.shape[1], x.shape[1], 0
    for j in range(number):
        i = candidate[j]
        s = base[i, 0]
        if w == 2 and d == 2:  # unrolled for discs: a loop over two components costs more than its body
            a, b = body[i, 0], body[i, 1]
            if a >= 0 and b >= 0:
                one = val[i, 0, 0, 0] * x[a, 0] + val[i, 0, 0, 1] * x[a, 1]
                s += one + val[i, 1, 0, 0] * x[b, 0] + val[i, 1, 0, 1] * x[b, 1]
            elif a >= 0:
                s += val[i, 0, 0, 0] * x[a, 0] + val[i, 0, 0, 1] * x[a, 1]
            elif b >= 0:
                s += val[i, 1, 0, 0] * x[b, 0] + val[i, 1, 0, 1] * x[b, 1]
        else:
            for e in range(w):
                b = body[i, e]
                if b >= 0:
                    for c in range(d):
                        s += val[i, e, 0, c] * x[b, c]
        front[found], u[found] = i, s  # without a branch, which would be mispredicted at most violators
        found += int(s < -tol)
    for j in range(found):
        for e in range(w):
            b = body[front[j], e]
            if b >= 0:
                load[b, side] += 1
    return found


@lean(inline="always")
def _push(rows, at, i, y):
    """Adds the impulse y of contact i to the velocity and to lam."""
    at.lam[i] += y
    push(rows, i, y, at.x)


@lean(inline="always")
def _product(rows, i, j):
    """Normal row i times normal row j."""
    total, body, val = 0.0, rows.body, rows.val
    w, d = body.shape[1], val.shape[3]
    for e in range(w):
        for f in range(w):
            if body[i, e] == body[j, f] and body[i, e] >= 0:
                if d == 2:
                    total += val[i, e, 0, 0] * val[j, f, 0, 0] + val[i, e, 0, 1] * val[j, f, 0, 1]
                else:
                    for c in range(d):
                        total += val[i, e, 0, c] * val[j, f, 0, c]
    return total


@lean(inline="always")
def _most(load, body, i, side):
    """The largest number of violators at a body of contact i."""
    most = 0
    for e in range(body.shape[1]):
        if body[i, e] >= 0:
            most = max(most, load[body[i, e], side])
    return most


@lean
def push_large(rows, at, number, impulse):
    """Adds the impulses of the first contacts of `large`."""
    for j in range(number):
        _push(rows, at, at.large[j], impulse[j])


@lean
def reflect_small(rows, at, side, count, dense):
    """Reflects the violators of all islands of at most DENSE_QP_CONTACTS contacts; c = stretch u in their cone problem.

    Returns the number of violators in larger islands, which are put into `large`, the largest |c| of all, the largest
    residual of the islands that were solved, a speed, and the multiplications of those whose answer had to be guessed.
    """
    front, u, chosen, stretch = at.front[side], at.u[side], at.chosen, at.stretch
    joined, large, size, worst, work = 0, 0, 0.0, 0.0, 0.0
    for j in range(count):
        i = front[j]
        c = stretch[i] * u[j]
        size = max(size, -c)
        if _most(at.load, rows.body, i, side) > 1:
            at.member[joined] = j
            chosen[i] = j + 1
            joined += 1
        else:
            _push(rows, at, i, -c / rows.diag[i])
    for s in range(joined):
        j = at.member[s]
        if chosen[front[j]] == 0:  # it belongs to an island that is done
            continue
        k = _gather(rows, at, side, j)
        if k <= DENSE_QP_CONTACTS:
            residual, guesses = _reflect_island(rows, at, front, u, k, dense)
            worst = max(worst, residual)
            work += guesses * float(k) ** 3 / 6.0
        else:
            for q in range(k):
                i = front[at.island[q]]
                at.large[large], at.rate[large] = i, stretch[i] * u[at.island[q]]
                large += 1
    return large, size, worst, work


@lean(inline="always")
def _gather(rows, at, side, j):
    """The violators of the island of front[side, j], as places in the front, into `island`; returns their number."""
    front, load, chosen, island = at.front[side], at.load, at.chosen, at.island
    island[0], number, done = j, 1, 0
    chosen[front[j]] = 0
    while done < number:
        i = front[island[done]]
        done += 1
        for e in range(rows.body.shape[1]):
            b = rows.body[i, e]
            if b < 0 or load[b, side] <= 1:  # no other violator, or its violators are in the island already
                continue
            load[b, side] = 1
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                q = rows.touch[t]
                if chosen[q] != 0:
                    island[number] = chosen[q] - 1
                    number += 1
                    chosen[q] = 0
    return number


@lean(inline="always")
def _reflect_island(rows, at, front, u, k, dense):
    """Solves the cone problem of the first k entries of `island`, applies its impulses: residual and guesses."""
    island, a, given = at.island, dense.a, dense.given
    for r in range(k):
        i = front[island[r]]
        given[0, r], given[1, r] = at.stretch[i] * u[island[r]], 0.0
        a[r, r] = rows.diag[i]
        for c in range(r):
            total = _product(rows, i, front[island[c]])
            a[r, c], a[c, r] = total, total
    residual, guesses = inside_solution(a, given, k, dense.work), 0
    if residual < 0.0:
        for r in range(k):
            given[1, r] = 0.0
        residual, guesses = solve_dense_in(a, given, False, k, dense.work, dense.places)
    for r in range(k):
        if given[1, r] != 0.0:
            _push(rows, at, front[island[r]], given[1, r])
    return residual, guesses


@lean
def next_violators(rows, at, side, count, tol, generation, settled):
    """The violators after an iteration, into the other side; returns their number.

    Only contacts of bodies that have moved can have become violators. With `settled` the last violators are known to
    separate.
    """
    body, load, stamp, candidate, front = rows.body, at.load, at.stamp, at.candidate, at.front[side]
    m, w = body.shape
    number = 0
    if settled:
        for j in range(count):
            stamp[front[j]] = generation
    if SCANNED_PER_VIOLATOR * count > m:
        for j in range(count):
            for e in range(w):
                if body[front[j], e] >= 0:
                    load[body[front[j], e], side] = 0
        for i in range(m):
            candidate[number] = i
            number += int(stamp[i] != generation)
    else:
        for j in range(count):
            for e in range(w):
                b = body[front[j], e]
                if b < 0 or load[b, side] == 0:  # no body, or one whose contacts are candidates already
                    continue
                load[b, side] = 0
                for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                    q = rows.touch[t]
                    candidate[number] = q
                    number += int(stamp[q] != generation)
                    stamp[q] = generation
    return _examine(rows, at, number, tol, 1 - side)
