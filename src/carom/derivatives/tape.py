"""A tape of small maps: what a law computed, from which tangents run forwards and adjoints backwards.

A replay of a law writes one stage for each thing that the law solved: a cone problem on its active set, a reflection, a
pass. A stage is a smooth map of registers (velocities, impulses, target speeds) and of the parameters of the impact in
whitened coordinates: rows R, prescribed speeds, coefficients of restitution and of friction. It holds its linear map
once, and applies it forwards (`jvp`) or transposed and backwards (`vjp`): there is no second formula.

Arrays of tangents and adjoints have one column for each direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..kernels import kernel
from ..late import sparse as sp
from ..solvers.rows import Floats, Ints


@dataclass(eq=False)
class Slopes:
    """Tangents, or adjoints, of parameters and registers, (size, directions) each."""

    base: Floats  # of the prescribed speeds of all rows
    restitution: Floats
    friction: Floats
    rows: Floats | None  # of the entries of the rows; None where they stay the same, or are not asked for
    registers: dict[str, Floats] = field(default_factory=dict)

    def of(self, name: str, size: int) -> Floats:
        """A register; zero before anything was written to it."""
        if name not in self.registers:
            self.registers[name] = np.zeros((size, self.base.shape[1]))
        return self.registers[name]


class Stage(Protocol):
    """One smooth map of registers and parameters, linearized where it was evaluated."""

    def jvp(self, d: Slopes) -> None:
        """Tangents after the stage from those before it, in place."""

    def vjp(self, bar: Slopes) -> None:
        """Adjoints before the stage from those after it, in place."""


@dataclass(frozen=True, eq=False)
class System:
    """The impact in whitened coordinates with all rows in one matrix: m normal rows, then t tangents per contact."""

    rows: sp.csr_matrix  # (m (1 + t), N)
    base: Floats  # prescribed speeds of the rows
    velocity: Floats  # (N,) before the impact
    restitution: Floats  # (m,)
    friction: Floats  # (m,)

    @property
    def count(self) -> int:
        """Number of contacts m."""
        return len(self.restitution)

    @property
    def row_count(self) -> int:
        """Number of rows; registers of impulses have one place for each, normal rows first."""
        return len(self.base)

    @property
    def tangent_count(self) -> int:
        """Tangent rows of each contact."""
        return self.rows.shape[0] // self.count - 1

    @cached_property
    def normal(self) -> Part:
        """All normal rows."""
        return self.part(np.arange(self.count))

    @cached_property
    def pairs(self) -> Pairs:
        """The entries of `A = G G^T` of all normal rows."""
        every = self.normal
        return Pairs(*pairs_of(every.ptr, every.columns, every.data, every.width_all))

    def part(self, chosen: Ints) -> Part:
        """Some of the rows, by number; normal rows before tangents."""
        return Part(self, chosen)

    def tangents_of(self, contacts: Ints) -> Ints:
        """Numbers of the tangent rows of contacts, (k, t)."""
        t = self.tangent_count
        return np.asarray(self.count + contacts[:, None] * t + np.arange(t))

    def zeros(self, directions: int, rows: bool) -> Slopes:
        """Slopes that are zero."""
        m, columns = self.count, directions
        entries = np.zeros((self.rows.nnz, columns)) if rows else None
        return Slopes(np.zeros((len(self.base), columns)), np.zeros((m, columns)), np.zeros((m, columns)), entries)


class Part:
    """Some rows G of a system, and products with changes of their entries."""

    def __init__(self, system: System, chosen: Ints) -> None:
        whole = system.rows
        self.system, self.chosen, self.width_all = system, chosen, whole.shape[1]
        self.ptr, self.entries, self.columns, self.data = _picked(whole.indptr, whole.indices, whole.data, chosen)
        self.base = system.base[chosen]

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """G."""
        shape = (len(self.chosen), self.width_all)
        return sp.csr_matrix((self.data, self.columns, self.ptr), shape=shape)

    @cached_property
    def row(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.chosen)), np.diff(self.ptr))

    @cached_property
    def pairs(self) -> Pairs:
        """The entries of `A = G G^T`."""
        if self.chosen[-1] < self.system.count:  # normal rows, of which there are many choices
            return Pairs(*picked_pairs(self.system.pairs, self.chosen))
        return Pairs(*pairs_of(self.ptr, self.columns, self.data, self.width_all))

    @cached_property
    def transposed(self) -> sp.csr_matrix:
        """`G^T`."""
        return self.matrix.T

    @cached_property
    def _scatter(self) -> sp.csr_matrix:
        """Sums of entries by column."""
        k = len(self.columns)
        return sp.csr_matrix((np.ones(k), (self.columns, np.arange(k))), shape=(self.matrix.shape[1], k))

    def speeds(self, x: Floats) -> Floats:
        """`G x + base`."""
        return self.times(x[:, None])[:, 0] + self.base

    def times(self, x: Floats) -> Floats:
        """`G x` (k, directions)."""
        return np.asarray(_times(self.ptr, self.columns, self.data, np.ascontiguousarray(x)))

    def pushes(self, y: Floats) -> Floats:
        """`G^T y` (N, directions)."""
        return np.asarray(_pushes(self.ptr, self.columns, self.data, np.ascontiguousarray(y), self.width_all))

    def moved(self, x: Floats, y: Floats) -> Floats:
        """`x + G^T y` for impulses y (k,)."""
        return x + self.pushes(y[:, None])[:, 0]

    def speed_tangent(self, d: Slopes, dx: Floats, x: Floats) -> Floats:
        """`d(G x + base)` (k, directions)."""
        out = self.times(dx) + d.base[self.chosen]
        if d.rows is not None:
            out += np.add.reduceat(d.rows[self.entries] * x[self.columns][:, None], self.ptr[:-1], axis=0)
        return np.asarray(out)

    def speed_adjoint(self, bar: Slopes, u: Floats, x: Floats) -> Floats:
        """Adds the adjoints u of `G x + base` to those of the parameters, and returns that of x."""
        bar.base[self.chosen] += u
        self.add_rows(bar, u, x)
        return self.pushes(u)

    def push_tangent(self, d: Slopes, y: Floats) -> Floats | float:
        """`dG^T y` (N, directions) for impulses y (k,)."""
        if d.rows is None:
            return 0.0
        return np.asarray(self._scatter @ (d.rows[self.entries] * y[self.row][:, None]))

    def add_rows(self, bar: Slopes, a: Floats, b: Floats) -> None:
        """Adds the products `a_i b^T` to the adjoints of the rows; a is (k,) or (k, directions), b likewise (N, ..)."""
        if bar.rows is not None:
            left = a[self.row] if a.ndim == 2 else a[self.row][:, None]
            right = b[self.columns] if b.ndim == 2 else b[self.columns][:, None]
            bar.rows[self.entries] += left * right


class Replay:
    """A stage of many small maps: two kernels carry tangents and adjoints through all of them, in place."""

    system: System
    before: Floats  # (N,) velocity before all of them
    after: Floats  # (N,) velocity after all of them
    register: str
    impulses: str

    @property
    def _tables(self) -> tuple[np.ndarray, ...]:
        """What the kernels read: the rows, and what each map did."""
        raise NotImplementedError

    @property
    def _kernels(self) -> tuple[Callable[..., None], Callable[..., None], Any]:
        """Those of tangents and of adjoints, and their last argument."""
        raise NotImplementedError

    def jvp(self, d: Slopes) -> None:
        dx = d.registers[self.register].copy()
        self._carry(0, self.before, dx, d)
        d.registers[self.register] = dx

    def vjp(self, bar: Slopes) -> None:
        out = bar.of(self.register, self.system.rows.shape[1]).copy()
        self._carry(1, self.after, out, bar)
        bar.registers[self.register] = out

    def _carry(self, way: int, x: Floats, slope: Floats, others: Slopes) -> None:
        push_ = others.of(self.impulses, self.system.row_count)
        rows = np.empty((0, slope.shape[1])) if others.rows is None else others.rows
        slopes = (slope, push_, others.base, others.restitution, rows)
        self._kernels[way](self._tables, x.copy(), slopes, self._kernels[2])


@kernel
def _picked(indptr, indices, values, chosen):
    """Pointers, numbers of the entries, columns and values of some rows."""
    ptr = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        ptr[i + 1] = ptr[i] + indptr[chosen[i] + 1] - indptr[chosen[i]]
    entries, columns, data = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64), np.empty(ptr[-1])
    for i in range(len(chosen)):
        for e in range(ptr[i + 1] - ptr[i]):
            at = indptr[chosen[i]] + e
            entries[ptr[i] + e], columns[ptr[i] + e], data[ptr[i] + e] = at, indices[at], values[at]
    return ptr, entries, columns, data


@kernel
def _times(ptr, columns, data, x):
    out = np.zeros((len(ptr) - 1, x.shape[1]))
    for i in range(len(out)):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += data[e] * x[columns[e], k]
    return out


@kernel
def _pushes(ptr, columns, data, y, n):
    out = np.zeros((n, y.shape[1]))
    for i in range(len(y)):
        for e in range(ptr[i], ptr[i + 1]):
            for k in range(y.shape[1]):
                out[columns[e], k] += data[e] * y[i, k]
    return out


class Pairs(NamedTuple):
    """Rows that share a component of velocity, and their products: the entries of `A = G G^T`."""

    ptr: Ints  # (k + 1,)
    other: Ints
    value: Floats


# `np.append` and its like are compiled into each kernel that calls them, and take longer than the rest of many.


@kernel
def doubled(array):
    """An array of twice the length whose first half is `array` (n,)."""
    out = np.empty(2 * len(array), array.dtype)
    for i in range(len(array)):
        out[i] = array[i]
    return out


@kernel
def doubled_rows(table):
    """A table of twice as many rows, of which the first half is `table` (n, c)."""
    out = np.empty((2 * len(table), table.shape[1]), table.dtype)
    for i in range(len(table)):
        for c in range(table.shape[1]):
            out[i, c] = table[i, c]
    return out


@kernel
def pairs_of(ptr, columns, data, n):
    """The pairs of rows that share a column, and their products."""
    k = len(ptr) - 1
    touch_ptr = np.zeros(n + 1, np.int64)
    for e in range(len(columns)):
        touch_ptr[columns[e] + 1] += 1
    for c in range(n):
        touch_ptr[c + 1] += touch_ptr[c]
    touch, used = np.empty(len(columns), np.int64), touch_ptr.copy()
    for i in range(k):
        for e in range(ptr[i], ptr[i + 1]):
            touch[used[columns[e]]] = i
            used[columns[e]] += 1
    seen, own, pair_ptr = np.full(k, -1, np.int64), np.zeros(n), np.zeros(k + 1, np.int64)
    other, value, count = np.empty(8 * k + 8, np.int64), np.empty(8 * k + 8), 0
    for i in range(k):
        for e in range(ptr[i], ptr[i + 1]):
            own[columns[e]] = data[e]
        for e in range(ptr[i], ptr[i + 1]):
            for t in range(touch_ptr[columns[e]], touch_ptr[columns[e] + 1]):
                j = touch[t]
                if seen[j] == i:
                    continue
                seen[j] = i
                if count == len(other):
                    other, value = doubled(other), doubled(value)
                total = 0.0
                for g in range(ptr[j], ptr[j + 1]):
                    total += own[columns[g]] * data[g]
                other[count], value[count], count = j, total, count + 1
        for e in range(ptr[i], ptr[i + 1]):
            own[columns[e]] = 0.0
        pair_ptr[i + 1] = count
    return Pairs(pair_ptr, other[:count], value[:count])


@kernel
def picked_pairs(pairs, chosen):
    """The pairs among some rows, which get new numbers."""
    new, ptr, count = np.full(len(pairs.ptr) - 1, -1, np.int64), np.zeros(len(chosen) + 1, np.int64), 0
    for i in range(len(chosen)):
        new[chosen[i]] = i
        count += pairs.ptr[chosen[i] + 1] - pairs.ptr[chosen[i]]
    other, value, count = np.empty(count, np.int64), np.empty(count), 0
    for i in range(len(chosen)):
        for q in range(pairs.ptr[chosen[i]], pairs.ptr[chosen[i] + 1]):
            if new[pairs.other[q]] >= 0:
                other[count], value[count], count = new[pairs.other[q]], pairs.value[q], count + 1
        ptr[i + 1] = count
    return Pairs(ptr, other[:count], value[:count])


@dataclass(frozen=True)
class Copied:
    """`register = source`."""

    source: str
    register: str

    def jvp(self, d: Slopes) -> None:
        d.registers[self.register] = d.registers[self.source].copy()

    def vjp(self, bar: Slopes) -> None:
        out = bar.registers.pop(self.register, None)
        if out is not None:
            bar.registers[self.source] = bar.registers.get(self.source, 0.0) + out


@dataclass(frozen=True)
class Cleared:
    """`register = 0`."""

    register: str

    def jvp(self, d: Slopes) -> None:
        d.registers.pop(self.register, None)

    def vjp(self, bar: Slopes) -> None:
        bar.registers.pop(self.register, None)
