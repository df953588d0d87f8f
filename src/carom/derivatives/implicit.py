"""Stages that solve equations: the implicit function theorem on the active set of a cone or friction problem.

Impulses y of the rows G of a stage change the velocity x to `x' = x + G^T y`. The differential of their equations is

    P dy + Q d(G x' + base) = sum_j C_j ds_j + B d(G x + base)

with sources s_j (coefficients, target speeds). A cone problem on its active set, `G x' + base = -e (G x + base)`, has
P = 0, Q = I, B = -e and the source e; friction adds rows that stick (Q) or slide (P). With K = G G^T,

    (P + Q K) dy = sum_j C_j ds_j + B d(G x + base) - Q (G dx + G dG^T y + dG x' + dbase).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..late import sparse as sp
from ..solvers.rows import Floats, Ints
from .skyline import factorized, null_vectors, profile, solved
from .tape import Part, Slopes

LARGEST_SKYLINE_WORK = 1e8  # multiplications, about 0.1 s, from which on K is factorized with less fill by SuperLU
DENSE_DEPENDENT = 400  # equations up to which systems with friction are solved by singular values
RANK = 1e-10  # singular values below this share of the largest count as zero
REGULAR = 1e-12  # smallest pivot, relative to the largest, of rows that count as independent
UNIQUE = 1e-7  # difference of two solutions, relative, up to which they are the same: rows are independent
SHIFT = 1e-9  # added to the diagonal of large systems, relative; refinement removes its effect
REFINEMENTS = 30


class Gram:
    """`K = G G^T` of some rows, and least-norm solutions of `K y = b` where rows depend on each other."""

    def __init__(self, part: Part, known: tuple[Floats, Floats] | None = None) -> None:
        """`known` are a right side and a solution of it, which tell dependent rows of large systems."""
        self.redundant = np.zeros(0, np.int64)  # rows with a part in null vectors of `G^T`: dependent contacts
        self._large: Callable[[Floats], Floats] | None = None
        self._null: tuple[Floats, Floats] | None = None  # null vectors N (k, nullity), and the inverse of N^T N
        pairs = part.pairs
        order, place, ptr, work = profile(pairs)
        if work <= LARGEST_SKYLINE_WORK:
            self._factor = factorized(pairs, order, place, ptr)
            if len(self._factor.null):
                null = null_vectors(self._factor)
                # Rows of the unit matrix are among those of N, so that N^T N is regular. Half the work of a QR factor.
                self._null = null, np.linalg.inv(null.T @ null)
                self.redundant = np.flatnonzero((null**2).sum(axis=1) > 1e-9)
            return
        k = len(part.chosen)
        gram = sp.csc_matrix((pairs.value, pairs.other, pairs.ptr), shape=(k, k))  # symmetric
        self._large = _sparse(gram, known)
        if self._large is None:
            self._large, self.redundant = _refined(gram)

    def solve(self, b: Floats) -> Floats:
        """The solution of least norm, for the part of b that has one."""
        if self._large is not None:
            return np.asarray(self._large(b))
        right = np.ascontiguousarray(b.reshape(len(b), -1))
        if self._null is None:
            return np.asarray(solved(self._factor, right)).reshape(b.shape)
        return self._across(solved(self._factor, self._across(right))).reshape(b.shape)

    def _across(self, b: Floats) -> Floats:
        """The part of b across the null vectors; the second time removes what rounding left."""
        assert self._null is not None
        null, inverse = self._null
        for _ in range(2):
            b = b - null @ (inverse @ (null.T @ b))
        return b


def _sparse(gram: sp.csc_matrix, known: tuple[Floats, Floats] | None) -> Callable[[Floats], Floats] | None:
    """Many independent rows; None if they depend on each other, so that solutions are not unique."""
    try:
        factor = _factorized(gram)
    except RuntimeError:  # exactly singular
        return None
    if known is not None:
        right, y = known
        found = factor.solve(right)
        return factor.solve if np.abs(found - y).max() <= UNIQUE * np.abs(y).max() else None
    pivots = np.abs(factor.U.diagonal())
    return factor.solve if pivots.min() > REGULAR * pivots.max() else None


def _refined(matrix: sp.csc_matrix) -> tuple[Callable[[Floats], Floats], Ints]:
    """Many dependent rows: a factor of `K + shift`, with refinement, which stays in the range of K."""
    factor = _factorized(sp.csc_matrix(matrix + SHIFT * matrix.diagonal().max() * sp.identity(matrix.shape[0])))

    def solve(b: Floats) -> Floats:
        y = np.zeros_like(b)
        for _ in range(REFINEMENTS):
            rest = b - matrix @ y
            more = factor.solve(rest)
            y += more
            if np.abs(more).max(initial=0.0) <= 1e-15 * np.abs(y).max(initial=0.0):
                break
        return y

    pivots = np.abs(factor.U.diagonal())
    return solve, np.sort(factor.perm_c[pivots < 10.0 * SHIFT * pivots.max()]).astype(np.int64)


def _factorized(matrix: sp.csc_matrix) -> Any:
    from scipy.sparse.linalg import splu  # slow to import

    options = {"SymmetricMode": True}
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


class General:
    """`P + Q K`, not symmetric, and least-norm solutions of it and of its transpose."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self._large: Any = None
        self.redundant = np.zeros(0, np.int64)
        if matrix.shape[0] > DENSE_DEPENDENT:
            from scipy.sparse.linalg import splu  # slow to import

            try:
                self._large = splu(sp.csc_matrix(matrix))
            except RuntimeError:
                reason = f"{matrix.shape[0]} equations of contacts that depend on each other"
                raise ProblemError("friction", reason, f"at most {DENSE_DEPENDENT} of them for derivatives") from None
            return
        dense = matrix.toarray()
        left, size, right = np.linalg.svd(dense)
        kept = size > RANK * size[0]
        self._inverse = (right[kept].T / size[kept]) @ left[:, kept].T
        if not kept.all():
            self.redundant = np.flatnonzero((np.abs(right[~kept]) > 1e-6).any(axis=0))

    def solve(self, b: Floats) -> Floats:
        return np.asarray(self._inverse @ b if self._large is None else self._large.solve(b))

    def solve_transposed(self, b: Floats) -> Floats:
        return np.asarray(self._inverse.T @ b if self._large is None else self._large.solve(b, trans="T"))


@dataclass(frozen=True, eq=False)
class Solved:
    """The equations of a stage at their solution."""

    part: Part  # rows G
    y: Floats  # (k,) impulses
    before: Floats  # (N,) velocity x
    after: Floats  # (N,) velocity x'
    factor: Any  # of P + Q K
    register: str  # of the velocity
    reflected: Floats | sp.csr_matrix | None = None  # -B, (k, k), or its diagonal (k,)
    sources: tuple[tuple[str, Any], ...] = ()  # name and C of each
    q: sp.csr_matrix | None = None  # Q; the identity if None, and then the factor is symmetric
    impulses: str | None = None  # register to which y is added

    def jvp(self, d: Slopes) -> None:
        dx, part = d.registers[self.register], self.part
        pushed = part.push_tangent(d, self.y)
        gained = dx + pushed
        right = -part.speed_tangent(d, gained, self.after)
        if self.q is not None:
            right = self.q @ right
        if self.reflected is not None:
            right -= _times(self.reflected, part.speed_tangent(d, dx, self.before))
        for name, matrix in self.sources:
            right += matrix @ _source(d, name, matrix.shape[1])
        dy = self.factor.solve(right)
        d.registers[self.register] = gained + part.pushes(dy)
        if self.impulses is not None:
            d.of(self.impulses, part.system.row_count)[part.chosen] += dy

    def vjp(self, bar: Slopes) -> None:
        part = self.part
        out = bar.of(self.register, part.width_all)
        wanted = part.times(out)
        if self.impulses is not None:
            wanted = wanted + bar.of(self.impulses, part.system.row_count)[part.chosen]
        s = self.factor.solve(wanted) if self.q is None else self.factor.solve_transposed(wanted)
        for name, matrix in self.sources:
            _add_source(bar, name, matrix.T @ s)
        explicit = -s if self.q is None else -(self.q.T @ s)
        gained = out + part.speed_adjoint(bar, explicit, self.after)
        part.add_rows(bar, self.y, gained)
        if self.reflected is not None:
            gained = gained + part.speed_adjoint(bar, -_times(self.reflected.T, s), self.before)
        bar.registers[self.register] = gained


def _times(matrix: Any, x: Floats) -> Floats:
    """A matrix, or a diagonal (k,), times x."""
    return np.asarray(matrix[:, None] * x if isinstance(matrix, np.ndarray) else matrix @ x)


def _source(d: Slopes, name: str, size: int) -> Floats:
    if name == "restitution":
        return d.restitution
    return d.friction if name == "friction" else d.of(name, size)


def _add_source(bar: Slopes, name: str, value: Floats) -> None:
    if name == "restitution":
        bar.restitution += value
    elif name == "friction":
        bar.friction += value
    else:
        bar.registers[name] = bar.registers.get(name, 0.0) + value


class Picked:
    """The matrix (k, size) with `values` (k,) in different columns `places`; scipy takes long to make one."""

    def __init__(self, values: Floats, places: Ints, size: int, transposed: bool = False) -> None:
        self.values, self.places, self.size, self.transposed = values, places, size, transposed
        self.shape = (size, len(places)) if transposed else (len(places), size)

    @property
    def T(self) -> Picked:
        return Picked(self.values, self.places, self.size, not self.transposed)

    def __matmul__(self, x: Floats) -> Floats:
        if not self.transposed:
            return np.asarray(self.values[:, None] * x[self.places])
        out = np.zeros((self.size, x.shape[1]))
        out[self.places] = self.values[:, None] * x
        return out
