"""Spread of the solutions of one problem between laws: a simultaneous impact has no unique solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..laws import Law
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats


@dataclass(frozen=True, eq=False)
class Spread:
    """Solutions of one problem under several laws.

    `speeds` (laws, contacts) are separation speeds after the impact; `velocities` is (laws, bodies, components).
    """

    laws: tuple[str, ...]
    speeds: Floats
    velocities: Floats
    status: tuple[str, ...]

    @property
    def by_contact(self) -> Floats:
        """(m,) largest minus smallest separation speed of each contact."""
        return np.ptp(self.speeds, axis=0)

    @property
    def by_body(self) -> Floats:
        """(n,) largest distance between the velocities of two laws for each body."""
        pairs = self.velocities[:, None] - self.velocities[None]
        return np.linalg.norm(pairs, axis=3).max(axis=(0, 1))

    @property
    def order(self) -> list[int]:
        """Contacts in order of decreasing spread."""
        return [int(i) for i in np.argsort(-self.by_contact, kind="stable")]

    def extremes(self, contact: int) -> tuple[str, str]:
        """The laws with the slowest and the fastest separation of a contact."""
        column = self.speeds[:, contact]
        return self.laws[int(column.argmin())], self.laws[int(column.argmax())]

    def to_csv(self) -> str:
        """One line per contact: its spread, and its separation speed under each law."""
        lines = [",".join(["contact", "spread", "min", "max", *self.laws])]
        for i in self.order:
            speeds = self.speeds[:, i]
            cells = [float(self.by_contact[i]), float(speeds.min()), float(speeds.max()), *speeds.tolist()]
            lines.append(",".join([str(i), *map(repr, cells)]))
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        contacts = [
            {
                "contact": i,
                "spread": float(self.by_contact[i]),
                "min": float(self.speeds[:, i].min()),
                "max": float(self.speeds[:, i].max()),
                "separation_speed": dict(zip(self.laws, self.speeds[:, i].tolist(), strict=True)),
            }
            for i in self.order
        ]
        bodies = [
            {"body": b, "spread": float(s), "velocity": dict(zip(self.laws, v.tolist(), strict=True))}
            for b, (s, v) in enumerate(zip(self.by_body, self.velocities.swapaxes(0, 1), strict=True))
        ]
        return {
            "contacts": contacts,
            "bodies": bodies,
            "status": dict(zip(self.laws, self.status, strict=True)),
        }


def spread_of(problem: ImpactProblem, laws: Sequence[tuple[str, Law]]) -> Spread:
    """The spread of the solutions of a problem under the given (name, law) pairs."""
    solutions: list[ImpactSolution] = [solve_impact(problem, law) for _, law in laws]
    return Spread(
        laws=tuple(name for name, _ in laws),
        speeds=np.array([s.separation_speed for s in solutions]),
        velocities=np.array([s.velocity.reshape(problem.block) for s in solutions]),
        status=tuple(s.status for s in solutions),
    )
