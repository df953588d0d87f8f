"""The mass matrix of bodies with joints: on the motions that joints allow it is the identity.

An impact has an orthonormal basis of these motions for each mechanism, since a law then needs nothing but rows. A run
keeps the coordinates of the bodies instead (`carom/mechanism.py`): there chains are long, and change in every step.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..kernels import kernel, lean
from ..late import sparse as sp
from ..solvers.rows import Floats, Ints, counting_sort
from .joints import RANK_TOLERANCE, ZERO_ROW, Joints
from .mass import BlockMass, DiagonalMass, GeneralMass, PhysicalRows


class JointedMass:
    """The mass matrix on the motions that joints allow, each of which is one component in whitened coordinates."""

    def __init__(self, base: DiagonalMass | BlockMass | GeneralMass, joints: Joints, block: tuple[int, int]) -> None:
        self.base, self._block, self._rows = base, block, joints.rows
        self._mechanisms = _mechanisms(base, joints.rows, block)

    @cached_property
    def _motions(self) -> Motions:
        return _motions(self.base, self._rows, self._block, self._mechanisms)

    @property
    def basis(self) -> sp.csr_matrix:
        """`T`, (N, K): the allowed motions as columns, with `T^T M T = I`."""
        m = self._motions
        rows, columns, values = ([] for _ in range(3))
        for p in range(len(m.start) - 1):
            part, k = m.component[m.start[p] : m.start[p + 1]], m.column[p + 1] - m.column[p]
            rows.append(np.repeat(part, k))
            columns.append(m.column[p] + np.tile(np.arange(k), len(part)))
            values.append(m.value[m.at[p] : m.at[p + 1]])
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csr_matrix(entries, shape=(len(m.component), m.column[-1]))

    def times(self, v: Floats) -> Floats:
        """`M v`."""
        return self.base.times(v)

    def solve(self, p: Floats) -> Floats:
        """The change of velocity that the impulse p causes in the jointed system, `T T^T p`."""
        return _moved(self._motions, _along(self._motions, _flat(p))).reshape(p.shape)

    def whiten(self, v: Floats) -> Floats:
        """`z = T^T M v`, (K, 1)."""
        return np.asarray(_along(self._motions, _flat(self.base.times(v.reshape(self._block)))))[:, None]

    def prescribed(self, v: Floats) -> Floats:
        """`v_b = v - T z`, the part of a velocity that the joints prescribe, in the shape of v."""
        return v - _moved(self._motions, self.whiten(v)[:, 0]).reshape(v.shape)

    def whiten_rows(self, rows: PhysicalRows) -> PhysicalRows:
        """Rows `J T`. What is rounding beside the row itself is left out."""
        least = 1e-15 * np.sqrt(self._free(rows))
        ptr, column, value, _ = _allowed_rows(self._motions, rows.ptr, rows.body, rows.val, least)
        return PhysicalRows(ptr, column, value)

    def check_rows(self, rows: PhysicalRows) -> None:
        """Raises ProblemError if joints leave nothing of a contact row: its impulse would move no body."""
        stuck = np.flatnonzero(self.is_locked(rows))
        if len(stuck):
            wanted = "a contact at which some motion that the joints allow opens or closes a gap"
            raise ProblemError(f"contact {stuck[0]}", "its bodies cannot move along its normal", wanted)

    def is_locked(self, rows: PhysicalRows) -> NDArray[np.bool_]:
        """The contact rows of which joints leave nothing, (m,)."""
        free = self._free(rows)
        left = _allowed_rows(self._motions, rows.ptr, rows.body, rows.val, np.zeros(len(free)))[3]
        return left <= ZERO_ROW**2 * free

    def _free(self, rows: PhysicalRows) -> Floats:
        """The squared lengths `J M^-1 J^T` (m,) of rows without joints."""
        white = self.base.whiten_rows(rows)
        return np.asarray(_squares(np.array(white.ptr, np.int64), np.array(white.val)))

    def joint_impulses(self, momentum: Floats) -> Floats:
        """nu of least norm with `B^T nu = momentum`, (r,), for a momentum (n, d) that only joints can have given."""
        out, flat, rows = np.zeros(len(self._rows.ptr) - 1), _flat(momentum), self._rows
        local = np.empty(len(flat), np.int64)
        for part, held in self._mechanisms:
            if len(held):
                matrix = _dense_rows(rows.ptr, rows.body, rows.val, part[None], held[None], local)[0]
                out[held] = np.linalg.lstsq(matrix.T, flat[part], rcond=RANK_TOLERANCE)[0]
        return out

    def arrays(self) -> dict[str, Floats]:
        return self.base.arrays()


class Motions(NamedTuple):
    """The motions that joints allow, mechanism by mechanism."""

    component: Ints  # (N,) components of the velocity, mechanism by mechanism
    start: Ints  # (p + 1,) mechanism p has component[start[p]:start[p + 1]]
    column: Ints  # (p + 1,) and the motions column[p] to column[p + 1] - 1
    at: Ints  # (p + 1,) whose components, one row after the other, are value[at[p]:at[p + 1]]
    value: Floats
    place: Ints  # (N, 2) mechanism of each component, and its place there


def _motions(
    base: DiagonalMass | BlockMass | GeneralMass,
    rows: PhysicalRows,
    block: tuple[int, int],
    mechanisms: list[tuple[Ints, Ints]],
) -> Motions:
    """The allowed motions, orthonormal in the metric of the mass. Mechanisms of one size are factorized together."""
    groups: dict[tuple[int, int], list[int]] = {}
    for number, (part, held) in enumerate(mechanisms):
        groups.setdefault((len(part), len(held)), []).append(number)
    found: list[Floats] = [np.zeros((0, 0))] * len(mechanisms)
    local = np.empty(block[0] * block[1], np.int64)
    for (_, count), numbers in groups.items():
        parts = np.array([mechanisms[k][0] for k in numbers])
        whole = np.linalg.inv(np.linalg.cholesky(_masses(base, parts, block[1]))).swapaxes(1, 2)
        allowed: Floats | list[Floats] = whole
        if count:
            held = np.array([mechanisms[k][1] for k in numbers])
            allowed = _without(whole, _dense_rows(rows.ptr, rows.body, rows.val, parts, held, local) @ whole)
        for k, one in zip(numbers, allowed, strict=True):
            found[k] = one
    sizes = np.array([motions.shape for motions in found]).reshape(-1, 2)
    start, column, at = (np.concatenate([[0], np.cumsum(n)]) for n in (sizes[:, 0], sizes[:, 1], sizes.prod(axis=1)))
    component, place = np.concatenate([part for part, _ in mechanisms]), np.empty((block[0] * block[1], 2), np.int64)
    place[component, 0] = np.repeat(np.arange(len(found)), sizes[:, 0])
    place[component, 1] = np.arange(len(component)) - np.repeat(start[:-1], sizes[:, 0])
    return Motions(component, start, column, at, np.concatenate([motions.ravel() for motions in found]), place)


def _without(motions: Floats, rows: Floats) -> Floats | list[Floats]:
    """For each mechanism the combinations of its motions (s, s) on which all of its rows (r, s) vanish, orthonormal."""
    _, size, directions = np.linalg.svd(rows)
    rank = (size > RANK_TOLERANCE * size.max(axis=1, initial=0.0)[:, None]).sum(axis=1)
    if (rank == rank[0]).all():
        return motions @ directions[:, rank[0] :].swapaxes(1, 2)
    return [one @ other[k:].T for one, other, k in zip(motions, directions, rank, strict=True)]


def _masses(base: DiagonalMass | BlockMass | GeneralMass, parts: Ints, d: int) -> Floats:
    """Mass matrices (g, s, s) of sets (g, s) of components."""
    if isinstance(base, GeneralMass):
        return np.array([base.matrix[part][:, part].toarray() for part in parts])
    body, own = np.divmod(parts, d)
    if isinstance(base, DiagonalMass):
        return base.values[body, own][:, :, None] * np.eye(parts.shape[1])
    same = body[:, :, None] == body[:, None, :]
    return base.values[body[:, :, None], own[:, :, None], own[:, None, :]] * same


def _mechanisms(
    base: DiagonalMass | BlockMass | GeneralMass, rows: PhysicalRows, block: tuple[int, int]
) -> list[tuple[Ints, Ints]]:
    """Components of the velocity that mass or joints connect, each with its joint rows."""
    size = block[0] * block[1]
    if isinstance(base, GeneralMass):
        matrix = base.matrix.tocoo()
        used = matrix.data != 0.0
        first, second = matrix.row[used].astype(np.int64), matrix.col[used].astype(np.int64)
    else:
        first = second = np.zeros(0, np.int64)
    blocks = base.values if isinstance(base, BlockMass) else np.zeros((0, 1, 1))
    label, owner = _connected(rows.ptr, rows.body, rows.val, size, first, second, blocks)
    order, start = counting_sort(label, int(label.max()) + 1)
    by_owner, begin = counting_sort(owner + 1, len(start))
    return [(order[a:b], by_owner[c:e]) for (a, b), (c, e) in zip(pairwise(start), pairwise(begin[1:]), strict=True)]


def _flat(values: Floats) -> Floats:
    return np.array(values, dtype=np.float64).ravel()


@kernel
def _connected(ptr, body, val, size, first, second, blocks):
    """The mechanism (N,) of each component of the velocity, numbered by their first components, and of each joint row,
    -1 for rows of zeros.

    Components are connected by pairs of entries of the mass matrix, by its blocks (n, d, d), and by joint rows; a zero
    connects nothing.
    """
    parent, d = np.arange(size), val.shape[1]
    for e in range(len(first)):
        _join(parent, first[e], second[e])
    for b in range(len(blocks)):
        for i in range(d):
            for j in range(i):
                if blocks[b, i, j] != 0.0:
                    _join(parent, b * d + i, b * d + j)
    owner = np.full(len(ptr) - 1, -1)
    for r in range(len(owner)):
        for e in range(ptr[r], ptr[r + 1]):
            for c in range(d):
                if val[e, c] != 0.0:
                    if owner[r] < 0:
                        owner[r] = body[e] * d + c
                    _join(parent, owner[r], body[e] * d + c)
    label, count = np.empty(size, np.int64), 0
    for k in range(size):
        root = k
        while parent[root] != root:
            root = parent[root]
        if root == k:  # a parent has a smaller number
            label[k] = count
            count += 1
        else:
            label[k] = label[root]
    for r in range(len(owner)):
        if owner[r] >= 0:
            owner[r] = label[owner[r]]
    return label, owner


@lean
def _join(parent, a, b):
    while parent[a] != a:
        a = parent[a]
    while parent[b] != b:
        b = parent[b]
    parent[max(a, b)] = min(a, b)


@kernel
def _dense_rows(ptr, body, val, parts, held, local):
    """Joint rows (g, r, s) of mechanisms, with the components `parts` (g, s) and rows `held` (g, r).

    `local` (N,) is scratch.
    """
    d, out = val.shape[1], np.zeros((len(parts), held.shape[1], parts.shape[1]))
    for g in range(len(parts)):
        for k in range(parts.shape[1]):
            local[parts[g, k]] = k
        for r in range(held.shape[1]):
            for e in range(ptr[held[g, r]], ptr[held[g, r] + 1]):
                for c in range(d):
                    if val[e, c] != 0.0:
                        out[g, r, local[body[e] * d + c]] += val[e, c]
    return out


@kernel
def _along(motions, p):
    """`T^T p`, (K,)."""
    out = np.zeros(motions.column[-1])
    for m in range(len(motions.start) - 1):
        first, k = motions.column[m], motions.column[m + 1] - motions.column[m]
        for i in range(motions.start[m], motions.start[m + 1]):
            given, at = p[motions.component[i]], motions.at[m] + (i - motions.start[m]) * k
            for c in range(k):
                out[first + c] += motions.value[at + c] * given
    return out


@kernel
def _moved(motions, z):
    """`T z`, (N,)."""
    out = np.zeros(len(motions.component))
    for m in range(len(motions.start) - 1):
        first, k = motions.column[m], motions.column[m + 1] - motions.column[m]
        for i in range(motions.start[m], motions.start[m + 1]):
            at = motions.at[m] + (i - motions.start[m]) * k
            for c in range(k):
                out[motions.component[i]] += motions.value[at + c] * z[first + c]
    return out


@kernel
def _allowed_rows(motions, ptr, body, val, least):
    """Rows `J T`: ptr (m + 1,), columns and values (e, 1) of their entries above `least` (m,), and squared lengths."""
    m, d, wide = len(ptr) - 1, val.shape[1], 0
    for i in range(m):
        for e in range(ptr[i], ptr[i + 1]):
            for c in range(d):
                p = motions.place[body[e] * d + c, 0]
                wide += motions.column[p + 1] - motions.column[p]
    out, column, value, square = np.zeros(m + 1, np.int64), np.empty(wide, np.int64), np.empty((wide, 1)), np.zeros(m)
    row, used, touched = np.zeros(motions.column[-1]), 0, np.empty(len(motions.start), np.int64)
    is_touched = np.zeros(len(motions.start), np.bool_)
    for i in range(m):
        count = 0
        for e in range(ptr[i], ptr[i + 1]):
            for c in range(d):
                if val[e, c] == 0.0:
                    continue
                p, own = motions.place[body[e] * d + c]
                k = motions.column[p + 1] - motions.column[p]
                at = motions.at[p] + own * k
                for q in range(k):
                    row[motions.column[p] + q] += val[e, c] * motions.value[at + q]
                if not is_touched[p]:
                    is_touched[p] = True
                    touched[count] = p
                    count += 1
        for p in np.sort(touched[:count]):
            is_touched[p] = False
            for q in range(motions.column[p], motions.column[p + 1]):
                if abs(row[q]) > least[i]:
                    column[used], value[used, 0] = q, row[q]
                    used += 1
                square[i] += row[q] * row[q]
                row[q] = 0.0
        out[i + 1] = used
    return out, column[:used].copy(), value[:used].copy(), square


@kernel
def _squares(ptr, val):
    """Squared lengths (m,) of rows."""
    out = np.zeros(len(ptr) - 1)
    for i in range(len(out)):
        for e in range(ptr[i], ptr[i + 1]):
            for c in range(val.shape[1]):
                out[i] += val[e, c] * val[e, c]
    return out
