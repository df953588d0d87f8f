"""The contacts of one step, as geometry: who touches whom, where, and how deep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..solvers.rows import Floats, Ints


@dataclass(frozen=True, eq=False)
class ContactSet:
    """m contacts. Normals are unit vectors from first to second, at the start of the step.

    `second` is a body, or -1 - k for boundary k. Gaps are lengths, negative for overlap: `gap` at the start of the
    step, `predicted` after free flight. `feature` tells several contacts of a pair apart, and stays the same from
    step to step: (first, second, feature) is a contact's lasting name.
    """

    first: Ints
    second: Ints
    feature: Ints
    normal: Floats  # (m, D)
    point: Floats  # (m, D) midway between the surfaces, in the frame of first
    gap: Floats  # (m,)
    predicted: Floats  # (m,)
    offset: Floats | None = None  # (m, D) added to the place of second: its periodic image
    drift: Floats | None = None  # (m, D) velocity of that image beyond that of second

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
        """Some of the contacts."""
        return ContactSet(
            self.first[chosen],
            self.second[chosen],
            self.feature[chosen],
            self.normal[chosen],
            self.point[chosen],
            self.gap[chosen],
            self.predicted[chosen],
            None if self.offset is None else self.offset[chosen],
            None if self.drift is None else self.drift[chosen],
        )
