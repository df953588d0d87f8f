"""Kinks: where a decision of a law is about to change, and there is no derivative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats, Ints

AT_KINK = 1e-9  # distance, relative to the fastest speed at any contact, up to which a problem is at a kink
LISTED = 8  # kinks that one decision lists at most

GEOMETRY = frozenset({"rows", "tangents", "points", "normals"})
MASSES = frozenset({"mass", "masses", "inertias"})
PRESCRIBED = GEOMETRY | {"boundary_speed", "tangent_speed"}  # what can make dependent contacts contradict each other


@dataclass(frozen=True)
class Kink:
    """A decision of the law that a small change may turn.

    `distance` is the margin by which it was made, as a speed. It is the speed of approach, of separation beyond the
    target or of slip, or that which the impulse of the contact causes at the contact itself.
    """

    contacts: tuple[int, ...]
    distance: float
    reason: str
    fields: frozenset[str] | None = None  # parameters for which it is a kink; None: all

    def concerns(self, wrt: tuple[str, ...]) -> bool:
        """Whether it is a kink of the derivative with respect to these parameters."""
        return self.fields is None or bool(self.fields & set(wrt))


class Margins:
    """The decisions of a replay that were made by the smallest margins."""

    def __init__(self, scale: float) -> None:
        self.scale = max(scale, np.finfo(float).tiny)
        self.found: list[Kink] = []

    def note(self, contacts: Ints, distances: Floats, reason: str, fields: frozenset[str] | None = None) -> None:
        """Keeps the nearest of some decisions, and all that are at a kink."""
        if len(contacts) == 0:
            return
        distances = np.abs(distances)
        nearest = int(distances.argmin())
        if distances[nearest] > AT_KINK * self.scale:
            self._add(contacts, distances, nearest, reason, fields)
            return
        for k in np.flatnonzero(distances <= AT_KINK * self.scale)[:LISTED]:
            self._add(contacts, distances, k, reason, fields)

    def _add(self, contacts: Ints, distances: Floats, k: int, reason: str, fields: frozenset[str] | None) -> None:
        self.found.append(Kink((int(contacts[k]),), float(distances[k]), reason, fields))

    def of(self, wrt: tuple[str, ...]) -> tuple[Kink, ...]:
        """The kinks of some parameters, nearest first; each decision of a contact once."""
        nearest: dict[tuple[tuple[int, ...], str], Kink] = {}
        for kink in self.found:
            key = (kink.contacts, kink.reason)
            if kink.concerns(wrt) and (key not in nearest or kink.distance < nearest[key].distance):
                nearest[key] = kink
        return tuple(sorted(nearest.values(), key=lambda kink: (kink.distance, kink.contacts)))
