"""Pairwise propagation: one violator after another is reflected as if it were alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel
from ..problem.contacts import Contacts, Impulses
from ..solvers.rows import push, speed
from .heap import heap_pop, heap_push
from .law import SMITH_2012, Law, affordable_impulses, reflected

ORDERS = ("index", "random", "worst")
RANDOM, WORST = 1, 2


@dataclass(frozen=True)
class GaussSeidel(Law):
    """Reflects violators one at a time, `lam = -(1 + e) u / A_ii`, until none is left.

    order: "index" sweeps in the order of contacts, "random" shuffles the contacts for each sweep (with `seed`), "worst"
    reflects the fastest approach next. The answer depends on it: the law is not symmetric.
    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_iterations: bound on the single reflections. 0 means 1000 + 2000 m, or about a second of work for up to 30
    contacts (a fifth of that in a run) if that is less.
    """

    name: ClassVar[str] = "gauss_seidel"
    title: ClassVar[str] = "pairwise propagation (Gauss-Seidel)"
    paper: ClassVar = SMITH_2012
    cost: ClassVar[str] = "one contact at a time, found by a heap; at most 1000 + 2000 m reflections"
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "KIN", "MOM", "ONE", "WAV", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic", "qce_lcp", "newton")
    one_by_one: ClassVar[bool] = True

    order: str = "index"
    seed: int = 0
    tolerance: float = 1e-10
    max_iterations: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ORDERS:
            raise ProblemError.unknown("order", self.order, ORDERS)

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        most = affordable_impulses(contacts.rows, 0, tolerance)
        bound = self.max_iterations or min(1000 + 2000 * contacts.count, most)
        tol = self.approach_left(contacts, tolerance)
        keys = _sweep_keys(contacts.count, self.order, self.seed)
        lam, x, count, left = _reflect(
            contacts.rows, contacts.velocity, contacts.restitution, keys, ORDERS.index(self.order), tol, bound
        )
        return reflected(contacts, lam, x, count, left, tol, self.name)


def _sweep_keys(m: int, order: str, seed: int) -> np.ndarray:
    """The place of each contact in the first sweep, (m,)."""
    if order == "random":
        return np.random.default_rng(seed).permutation(m).astype(np.float64)
    return np.arange(m, dtype=np.float64)


@kernel
def _reflect(rows, velocity, restitution, keys, order, tol, bound):
    """Reflections in the order ORDERS[order]. Returns impulses, velocity, their number, and violators left."""
    m, worst, shuffle = len(rows.body), order == WORST, order == RANDOM
    x = velocity.copy()
    lam = np.zeros(m)
    keys = keys.copy()
    # A heap of the violators of this sweep by key, and a list of those of the next sweep. Only the neighbors of a
    # reflected contact are examined again, so that the work is proportional to the reflections, not to the sweeps.
    heap_key, heap_item = np.empty(max(2 * m, 16)), np.empty(max(2 * m, 16), np.int32)
    next_item = np.empty(m, np.int64)
    size, waiting, count = 0, 0, 0
    queued = np.zeros(m, np.uint8)
    for i in range(m):
        u = speed(rows, i, x)
        if u < -tol:
            heap_key, heap_item, size = heap_push(heap_key, heap_item, size, u if worst else keys[i], i)
            queued[i] = 1
    while count < bound:
        if size == 0:
            if waiting == 0:
                break
            if shuffle:
                keys = _permuted(keys)
            for k in range(waiting):
                i = next_item[k]
                heap_key, heap_item, size = heap_push(heap_key, heap_item, size, keys[i], i)
            waiting = 0
        key, i, size = heap_pop(heap_key, heap_item, size)
        u = speed(rows, i, x)
        if worst:
            if u >= -tol or u != key:
                continue  # an outdated entry: a later one has the present speed
        else:
            queued[i] = 0
            if u >= -tol:
                continue
        impulse = -(1.0 + restitution[i]) * u / rows.diag[i]
        lam[i] += impulse
        push(rows, i, impulse, x)
        count += 1
        for side in range(rows.body.shape[1]):
            b = rows.body[i, side]
            if b < 0:
                continue
            for t in range(rows.touch_ptr[b], rows.touch_ptr[b + 1]):
                j = rows.touch[t]
                if not worst and queued[j]:
                    continue
                uj = speed(rows, j, x)
                if uj >= -tol:
                    continue
                if worst:
                    heap_key, heap_item, size = heap_push(heap_key, heap_item, size, uj, j)
                elif keys[j] > key:
                    heap_key, heap_item, size = heap_push(heap_key, heap_item, size, keys[j], j)
                    queued[j] = 1
                else:
                    next_item[waiting] = j
                    waiting += 1
                    queued[j] = 1
    left = size + waiting if count >= bound else 0
    return lam, x, count, left


@kernel(inline="always")
def _permuted(keys):
    """A shuffle in integer arithmetic, with the same result on every machine."""
    out = keys.copy()
    state = np.uint64(88172645463325252) + np.uint64(keys[0])
    for k in range(len(out) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(k + 1))
        out[k], out[j] = out[j], out[k]
    return out
