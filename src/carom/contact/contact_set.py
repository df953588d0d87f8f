"""The contacts of one step: bodies, points, normals and gaps; and the tables in which kernels collect them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats, Ints


@dataclass(frozen=True, eq=False)
class ContactSet:
    """m contacts. Normals are unit vectors from first to second, at the start of the step, in the frame of the world.

    `second` is a body, or -1 - k for boundary k. Gaps are lengths, negative for overlap: `gap` at the start of the
    step, `predicted` after free flight. `feature_id` distinguishes the contacts of a pair, and stays the same from step
    to step: (first, second, feature_id) identifies a contact.
    """

    first: Ints  # (m,) body
    second: Ints  # (m,) body or boundary
    feature_id: Ints  # (m,)
    normal: Floats  # (m, D)
    point: Floats  # (m, D) midway between the surfaces, in the frame of first
    gap: Floats  # (m,)
    predicted: Floats  # (m,)
    offset: Floats | None = None  # (m, D) displacement from second to its periodic image
    drift: Floats | None = None  # (m, D) velocity of that image relative to second

    @classmethod
    def empty(cls, dimension: int) -> ContactSet:
        """No contacts."""
        none, vectors, lengths = np.empty(0, np.int64), np.empty((0, dimension)), np.empty(0)
        return cls(none, none, none, vectors, vectors, lengths, lengths)

    @property
    def count(self) -> int:
        return len(self.first)

    def larger(self, values: Floats) -> Floats:
        """(m,) The larger one of the values (n,) of the two bodies of each contact; boundaries count as 0."""
        second = np.where(self.second >= 0, values[np.maximum(self.second, 0)], 0.0)
        return np.maximum(values[self.first], second)

    def joined(self, other: ContactSet) -> ContactSet:
        """The contacts of both sets; a contact without a periodic image gets an offset and a drift of zero."""
        columns = []
        for name in self.__dataclass_fields__:
            one, two = getattr(self, name), getattr(other, name)
            if one is not None or two is not None:
                one, two = (np.zeros(s.normal.shape) if c is None else c for s, c in ((self, one), (other, two)))
                columns.append(np.concatenate([one, two]))
        return ContactSet(*columns)

    def take(self, chosen: Ints | NDArray[np.bool_]) -> ContactSet:
        """The contacts that `chosen` selects, by number or by mask."""
        columns: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            column = getattr(self, name)
            columns[name] = None if column is None else column[chosen]
        return ContactSet(**columns)


Columns = tuple[Ints, Ints, Ints, Floats, Floats, Floats, Floats]  # the first seven fields of a ContactSet


def joined(parts: list[Columns]) -> Columns:
    """Several lists of contacts as one."""
    full = [columns for columns in parts if len(columns[0])] or parts[:1]
    return full[0] if len(full) == 1 else tuple(np.concatenate(c) for c in zip(*full))  # type: ignore[return-value]


# ---- tables of contacts for kernels in 3D

NAMES = 0xFFFFF  # feature_id has 20 bits


# Columns of the table: normal, point, then these. It is one array, because Numba counts references for every array that
# it passes on.
POINT, GAP, PREDICTED, FEATURE, COLUMNS = 3, 6, 7, 8, 9


@kernel
def room(count):
    """A table for up to `count` contacts; kernels fill it from the front and return how many rows are in use."""
    return np.empty((count, COLUMNS))


@kernel
def put(found, n, feature, nx, ny, nz, x, y, z, gap, predicted):
    """Writes contact n."""
    found[n, 0], found[n, 1], found[n, 2] = nx, ny, nz
    found[n, 3], found[n, 4], found[n, 5] = x, y, z
    found[n, GAP], found[n, PREDICTED], found[n, FEATURE] = gap, predicted, feature


@kernel
def roomier(table, n, count):
    """A table with the same first n rows, and room for `count` more."""
    more = np.empty((2 * (n + count), table.shape[1]))
    for i in range(n):
        for j in range(table.shape[1]):
            more[i, j] = table[i, j]
    return more


@kernel
def columns(found, n):
    """(feature, normal, point, gap, predicted) of the first n contacts."""
    feature, normal, point = np.empty(n, np.int64), np.empty((n, 3)), np.empty((n, 3))
    gap, predicted = np.empty(n), np.empty(n)
    for i in range(n):
        feature[i], gap[i], predicted[i] = int(found[i, FEATURE]), found[i, GAP], found[i, PREDICTED]
        for j in range(3):
            normal[i, j], point[i, j] = found[i, j], found[i, POINT + j]
    return feature, normal, point, gap, predicted


@kernel
def name(base, kind, i, j):
    """The feature_id of a contact: a hash of the pair of parts (`base`), the kind of contact, and two codes."""
    h = ((base * 4 + kind) * 8191 + i) * 131071 + j
    h = (h ^ (h >> 17)) * 0x9E3779B1
    h = (h ^ (h >> 13)) * 0x85EBCA6B
    return (h ^ (h >> 16)) & NAMES
