"""Frictional contact of mechanisms on the motions that contacts can cause.

A contact of a mechanism moves all its bodies, so that its rows are long and dense, while its contacts act on few
motions: as many as there are rows, or as joints allow. For each island `G^T = Q R` gives an orthonormal basis Q of
these motions; in `y = Q^T x` the rows are those of R^T, and the other motions keep their velocity. A chain of 50 links
with 16 contacts has 32 such motions instead of 150 components of velocity.

The factors are those of the modified Gram-Schmidt method, the longest remaining row first, each orthogonalized twice.
LAPACK's QR was used before: its threads wait for each other where the machine has other work, which took up to 80 ms
for what takes one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .islands import all_islands
from .rows import LOOSE_SUMS, Floats, Ints, Rows

REDUCED_RANK = 1e-13  # length of a remaining row, relative to the longest row, below which it adds no motion
REDUCED_TANGENTS = 2  # of rows over single components, also in 2D, where the second one is zero


class Motions(NamedTuple):
    """Orthonormal bases of the motions that contacts cause, one per island; island s has `count[s]` motions."""

    members: Ints  # bodies of all islands
    member_ptr: Ints  # (islands + 1,)
    basis: Floats  # entries of the bases: one motion after the other, d components for each body
    basis_ptr: Ints  # (islands + 1,)
    first: Ints  # (islands + 1,) number of the first motion of each island


class Single(NamedTuple):
    """k contacts over single components, and their impulses, as kernels for many bodies per contact take them."""

    body: Ints  # (k, width)
    val: Floats  # (k, width, R, 1)
    base: Floats  # (k, R)


def row_places(blocks: Rows) -> tuple[Ints, int]:
    """The place of each row among rows with two tangents, and the number of these: 3, or 6 with rolling friction."""
    r, t = blocks.val.shape[2], max(blocks.tangents, 1)
    place = [0, *range(1, t + 1), *range(1 + REDUCED_TANGENTS, 1 + REDUCED_TANGENTS + t), 1 + 2 * REDUCED_TANGENTS][:r]
    return np.array(place, np.int64), 1 + REDUCED_TANGENTS if r <= 1 + t else 2 + 2 * REDUCED_TANGENTS


@kernel
def with_places(values, chosen, place, count):
    """The values (k, count) of the chosen contacts, with column s at the place `place[s]`; others are zero."""
    out = np.zeros((len(chosen), count))
    for p in range(len(chosen)):
        for s in range(len(place)):
            out[p, place[s]] = values[chosen[p], s]
    return out


@kernel
def single_components(body, val, base, chosen, place, count):
    """The chosen contacts as a `Single`: each component of a body is a body of its own."""
    k, (_, w, r, d) = len(chosen), val.shape
    flat, rows = np.full((k, w * d), -1, np.int64), np.zeros((k, w * d, count, 1))
    for p in range(k):
        for side in range(w):
            b = body[chosen[p], side]
            for c in range(d if b >= 0 else 0):
                flat[p, side * d + c] = b * d + c
                for s in range(r):
                    rows[p, side * d + c, place[s], 0] = val[chosen[p], side, s, c]
    return Single(flat, rows, with_places(base, chosen, place, count))


@kernel
def reduced(body, val, base, chosen, place, count, velocity):
    """The chosen contacts over the motions that they cause: a `Single`, the velocities (motions, 1), the `Motions`."""
    (_, w, r, d), k, n = val.shape, len(chosen), len(velocity)
    touched = np.empty((k, w), np.int64)
    for p in range(k):
        touched[p] = body[chosen[p]]
    _, order, ptr, _ = all_islands(touched, n)
    islands, label = len(ptr) - 1, np.full(n, -1, np.int64)
    motions = _room(touched, order, ptr, (r, d), label)
    short = np.zeros((k, r, max(3, np.diff(motions.first).max() if islands else 3)))
    start, used, entries, widest = np.empty((motions.first[islands], 1)), 0, 0, 3
    for s in range(islands):
        mine, members = order[ptr[s] : ptr[s + 1]], motions.members[motions.member_ptr[s] : motions.member_ptr[s + 1]]
        for e in range(len(members)):
            label[members[e]] = e
        rows, size = np.zeros((len(mine) * r, len(members) * d)), len(members) * d
        for q in range(len(mine)):
            for side in range(w):
                b = touched[mine[q], side]
                for row in range(r if b >= 0 else 0):
                    for c in range(d):
                        rows[q * r + row, label[b] * d + c] = val[chosen[mine[q]], side, row, c]
        basis = motions.basis[entries : entries + min(rows.shape) * size].reshape(min(rows.shape), size)
        coordinates = np.zeros((len(rows), min(rows.shape)))
        rank = _orthonormal(rows, basis, coordinates)
        for q in range(len(mine)):
            for row in range(r):
                short[mine[q], row, :rank] = coordinates[q * r + row, :rank]
        for j in range(rank):
            total = 0.0
            for e in range(len(members)):
                for c in range(d):
                    total += basis[j, e * d + c] * velocity[members[e], c]
            start[used + j, 0] = total
        motions.first[s], motions.basis_ptr[s] = used, entries
        used += rank
        entries += rank * size
        widest = max(widest, rank)
    motions.first[islands], motions.basis_ptr[islands] = used, entries
    own, rows4 = np.full((k, widest), -1, np.int64), np.zeros((k, widest, count, 1))
    for s in range(islands):
        for p in order[ptr[s] : ptr[s + 1]]:
            for j in range(motions.first[s + 1] - motions.first[s]):
                own[p, j] = motions.first[s] + j
                for row in range(r):
                    rows4[p, j, place[row], 0] = short[p, row, j]
    return Single(own, rows4, with_places(base, chosen, place, count)), start[:used].copy(), motions


@kernel
def _room(touched, order, ptr, size, label):
    """`Motions` with the bodies of each island, and room for as many motions as it can have.

    `label` is scratch, -1 for each body before and after.
    """
    (r, d), islands = size, len(ptr) - 1
    members, member_ptr = np.empty(min(touched.size, len(label)), np.int64), np.zeros(islands + 1, np.int64)
    basis_ptr, first = np.zeros(islands + 1, np.int64), np.zeros(islands + 1, np.int64)
    used = 0
    for s in range(islands):
        for p in order[ptr[s] : ptr[s + 1]]:
            for b in touched[p]:
                if b >= 0 and label[b] < 0:
                    label[b] = members[used] = b
                    used += 1
        member_ptr[s + 1] = used
        wide = (used - member_ptr[s]) * d
        most = min((ptr[s + 1] - ptr[s]) * r, wide)
        first[s + 1], basis_ptr[s + 1] = first[s] + most, basis_ptr[s] + most * wide
    for e in range(used):
        label[members[e]] = -1
    return Motions(members[:used], member_ptr, np.empty(basis_ptr[islands]), basis_ptr, first)


@kernel(fastmath=LOOSE_SUMS)
def _orthonormal(rows, basis, coordinates):
    """Writes an orthonormal basis (rank, N) of the span of rows (M, N), and the rows in it (M, rank); returns the rank.

    The rows are overwritten.
    """
    count, size = rows.shape
    square, longest, rank = np.empty(count), 0.0, 0
    for i in range(count):
        square[i] = _product(rows[i], rows[i])
        longest = max(longest, square[i])
    while rank < len(basis):
        best = 0
        for i in range(count):
            if square[i] > square[best]:
                best = i
        if not square[best] > REDUCED_RANK * REDUCED_RANK * longest:
            break
        q = basis[rank]
        q[:] = rows[best]
        for j in range(rank):  # once more: rounding of the first time is magnified where little of a row is left
            _subtract(q, basis[j], _product(q, basis[j]))
        length = np.sqrt(_product(q, q))
        if not length > REDUCED_RANK * np.sqrt(longest):
            square[best] = 0.0
            continue
        for c in range(size):
            q[c] /= length
        for i in range(count):
            if square[i] > 0.0:
                along = _product(rows[i], q)
                coordinates[i, rank] = along
                _subtract(rows[i], q, along)
                square[i] = _product(rows[i], rows[i])
        square[best] = 0.0
        rank += 1
    return rank


@kernel(fastmath=LOOSE_SUMS)
def _product(a, b):
    total = 0.0
    for c in range(len(a)):
        total += a[c] * b[c]
    return total


@kernel(fastmath=LOOSE_SUMS)
def _subtract(a, b, factor):
    for c in range(len(a)):
        a[c] -= factor * b[c]


@kernel
def expanded(motions, start, after, velocity):
    """The velocities (n, d) of all bodies, from those of the motions (motions, 1) after the impulses."""
    out, d = velocity.copy(), velocity.shape[1]
    for s in range(len(motions.first) - 1):
        first, count = motions.member_ptr[s], motions.member_ptr[s + 1] - motions.member_ptr[s]
        at = motions.basis_ptr[s]
        for j in range(motions.first[s], motions.first[s + 1]):
            change = after[j, 0] - start[j, 0]
            for e in range(count):
                for c in range(d):
                    out[motions.members[first + e], c] += motions.basis[at + e * d + c] * change
            at += count * d
    return out
