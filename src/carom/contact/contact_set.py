"""The table of contacts that every narrow phase writes, and `ContactSet`: the contacts of one step around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry.vectors import Vec3
from ..kernels import kernel, lean
from ..solvers.rows import Floats, Ints

# Columns of the table, a row of float64 per contact; in 2D the third components are zero. Integers are exact.
FIRST, SECOND, FEATURE, GAP, PREDICTED, NORMAL, POINT, WIDTH = 0, 1, 2, 3, 4, 5, 8, 11
OFFSET, DRIFT, PERIODIC_WIDTH = 11, 14, 17  # two more vectors in periodic worlds

FEATURE_MASK = 0xFFFFF  # a feature id in 3D has 20 bits

# Contacts that touch at one instant are detected over a short motion of TOUCH_FLIGHT touching distances, which tells
# approaching vertices from rising ones. They count up to a gap of TOUCH_MARGIN touching distances, which such a motion
# cannot open.
TOUCH_FLIGHT, TOUCH_MARGIN = 10.0, 25.0


class Contact(NamedTuple):
    """The geometry of one contact of a pair, as a value for kernels; see `ContactSet` for what the numbers mean."""

    feature: int
    gap: float
    predicted: float
    normal: Vec3
    point: Vec3


@dataclass(frozen=True, eq=False)
class ContactSet:
    """m contacts. Normals are unit vectors from first to second, at the start of the step, in the frame of the world.

    `second` is a body, or -1 - k for boundary k. Gaps are lengths, negative for overlap: `gap` at the start of the
    step, `predicted` after free flight. `feature_id` distinguishes the contacts of a pair, and stays the same from step
    to step: (first, second, feature_id) identifies a contact.
    """

    table: Floats  # (m, WIDTH or PERIODIC_WIDTH)
    dimension: int

    @classmethod
    def empty(cls, dimension: int) -> ContactSet:
        """No contacts."""
        return cls(np.empty((0, WIDTH)), dimension)

    def renumbered(self, bodies: Ints) -> ContactSet:
        """The same contacts of bodies whose numbers are those of `bodies` (n,)."""
        table = self.table.copy()
        if len(table):
            second = np.where(self.second >= 0, bodies[np.maximum(self.second, 0)], self.second)
            table[:, FIRST], table[:, SECOND] = bodies[self.first], second
        return ContactSet(table, self.dimension)

    @property
    def count(self) -> int:
        return len(self.table)

    @cached_property
    def first(self) -> Ints:
        """(m,) Body."""
        return self.table[:, FIRST].astype(np.int64)

    @cached_property
    def second(self) -> Ints:
        """(m,) Body or boundary."""
        return self.table[:, SECOND].astype(np.int64)

    @cached_property
    def feature_id(self) -> Ints:
        """(m,) See above."""
        return self.table[:, FEATURE].astype(np.int64)

    @cached_property
    def gap(self) -> Floats:
        """(m,) At the start of the step."""
        return self.table[:, GAP].copy()

    @cached_property
    def predicted(self) -> Floats:
        """(m,) Gap after free flight."""
        return self.table[:, PREDICTED].copy()

    @cached_property
    def normal(self) -> Floats:
        """(m, D) From first to second."""
        return self._vectors(NORMAL)

    @cached_property
    def point(self) -> Floats:
        """(m, D) Midway between the surfaces, in the frame of first."""
        return self._vectors(POINT)

    @cached_property
    def offset(self) -> Floats | None:
        """(m, D) Displacement from second to its periodic image; None in worlds without."""
        return self._vectors(OFFSET) if self.table.shape[1] > WIDTH else None

    @cached_property
    def drift(self) -> Floats | None:
        """(m, D) Velocity of that image relative to second."""
        return self._vectors(DRIFT) if self.table.shape[1] > WIDTH else None

    def _vectors(self, column: int) -> Floats:
        return self.table[:, column : column + self.dimension].copy()

    def larger(self, values: Floats) -> Floats:
        """(m,) The larger one of the values (n,) of the two bodies of each contact; boundaries count as 0."""
        second = np.where(self.second >= 0, values[np.maximum(self.second, 0)], 0.0)
        return np.maximum(values[self.first], second)

    def joined(self, other: ContactSet) -> ContactSet:
        """The contacts of both sets; a contact without a periodic image gets an offset and a drift of zero."""
        width = max(self.table.shape[1], other.table.shape[1])
        table = np.zeros((self.count + other.count, width))
        table[: self.count, : self.table.shape[1]] = self.table
        table[self.count :, : other.table.shape[1]] = other.table
        return ContactSet(table, self.dimension)

    def take(self, chosen: Ints | NDArray[np.bool_]) -> ContactSet:
        """The contacts that `chosen` selects, by number or by mask."""
        return ContactSet(self.table[chosen], self.dimension)

    def with_predicted(self, predicted: Floats) -> ContactSet:
        """The same contacts with other predicted gaps (m,)."""
        table = self.table.copy()
        table[:, PREDICTED] = predicted
        return ContactSet(table, self.dimension)


# ---- tables in kernels: filled from the front, the number of rows in use is returned


@kernel(inline="always")
def contact_table(count):
    """A table for up to `count` contacts, without columns of periodic images."""
    return np.empty((count, WIDTH))


@lean
def deepest_overlap(table):
    """The deepest overlap of a table of contacts, a length that is not negative."""
    least = 0.0
    for i in range(len(table)):
        least = min(least, table[i, GAP])
    return -least


@kernel(inline="always")
def vector(table, n, column):
    """The vector of contact n from a column on."""
    return Vec3(table[n, column], table[n, column + 1], table[n, column + 2])


@kernel
def with_room(table, n, count):
    """A table with the same first n rows and room for `count` more: the same one, or one twice as long."""
    if n + count <= len(table):
        return table
    grown = np.empty((2 * (n + count), table.shape[1]))
    for i in range(n):
        for j in range(table.shape[1]):
            grown[i, j] = table[i, j]
    return grown


@kernel(inline="always")
def put(table, n, first, second, contact):
    """Writes contact n. A narrow phase that does not know the bodies of its pair leaves them to `set_bodies`."""
    table[n, FIRST], table[n, SECOND], table[n, FEATURE] = first, second, contact.feature
    table[n, GAP], table[n, PREDICTED] = contact.gap, contact.predicted
    for k in range(3):
        table[n, NORMAL + k] = contact.normal[k]
        table[n, POINT + k] = contact.point[k]
    for k in range(WIDTH, table.shape[1]):
        table[n, k] = 0.0


@lean
def contact_at(table, n):
    """Contact n of a table, as a value."""
    return Contact(
        int(table[n, FEATURE]), table[n, GAP], table[n, PREDICTED], vector(table, n, NORMAL), vector(table, n, POINT)
    )


@kernel(inline="always")
def set_bodies(table, begin, end, first, second):
    """Writes the bodies of the contacts begin to end."""
    for n in range(begin, end):
        table[n, FIRST], table[n, SECOND] = first, second


@kernel(inline="always")
def feature_code(base, kind, i, j):
    """The feature id of a contact in 3D: a hash of the pair of parts (`base`), the kind of contact, and two codes."""
    h = ((base * 4 + kind) * 8191 + i) * 131071 + j
    h = (h ^ (h >> 17)) * 0x9E3779B1
    h = (h ^ (h >> 13)) * 0x85EBCA6B
    return (h ^ (h >> 16)) & FEATURE_MASK
