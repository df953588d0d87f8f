"""Newton's cradle under every law, one ball and two arriving: what `carom demo` shows."""

from __future__ import annotations

from dataclasses import dataclass

from ..laws import Law, every
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact

BALLS = 5
ARRIVING = (1, 2)

# Largest deviation from the exchange (as many balls leave as arrive, the others rest), relative to the arriving speed,
# that counts as the observed outcome. Balls with Hertz contact, which are close to real ones, deviate by 0.21 with two
# arriving.
NEAR = 0.25


@dataclass(frozen=True, eq=False)
class Outcome:
    """The solution of one law for one cradle."""

    arriving: int
    solution: ImpactSolution

    @property
    def velocities(self) -> list[float]:
        return [float(v) for v in self.solution.velocity]

    @property
    def energy_kept(self) -> float:
        """Kinetic energy after the impact relative to that before."""
        return self.solution.kinetic_energy / self.solution.problem.kinetic_energy

    @property
    def deviation(self) -> float:
        """Largest difference from the exchange, in units of the arriving speed."""
        ideal = exchange(self.arriving)
        return max(abs(v - w) for v, w in zip(self.velocities, ideal))

    @property
    def as_observed(self) -> bool:
        return self.deviation <= NEAR


@dataclass(frozen=True, eq=False)
class Row:
    """The solutions of one law for all cradles."""

    name: str
    law: Law
    outcomes: tuple[Outcome, ...]


def arriving_speeds(count: int) -> list[float]:
    """Velocities before the impact: the first `count` balls arrive at speed 1, the others rest."""
    return [1.0] * count + [0.0] * (BALLS - count)


def exchange(count: int) -> list[float]:
    """The observed velocities after the impact: as many balls leave on the other side."""
    return arriving_speeds(count)[::-1]


def cradles() -> list[Row]:
    """Solves every cradle under every registered law."""
    problems = {k: ImpactProblem.chain([1.0] * BALLS, arriving_speeds(k), name=f"{k} in") for k in ARRIVING}
    return [
        Row(name, law, tuple(Outcome(k, solve_impact(p, law)) for k, p in problems.items())) for name, law in every()
    ]
