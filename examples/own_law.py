"""A law of your own: one frozen dataclass, one method, one line to register it.

The law here reflects the fastest approach as if it were alone, and again, until nothing approaches. It is meant
for reading, with dense matrices; Carom's own laws do the same on sparse rows in compiled code.

    python examples/own_law.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import carom
from carom.laws import finish_inelastically
from carom.problem.contacts import Contacts, Impulses


@dataclass(frozen=True)
class FastestFirst(carom.laws.Law):
    """Repeats `lam_i += -2 u_i / A_ii` for the contact i of the fastest approach, `u = G x`."""

    name: ClassVar[str] = "fastest_first"
    title: ClassVar[str] = "reflect the fastest approach"
    paper: ClassVar[carom.laws.Paper] = carom.laws.Paper("example", "An example of the documentation.")
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "KIN", "MOM", "ONE", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic",)

    tolerance: float = 1e-12  # options are fields: carom.laws.make("fastest_first", tolerance=1e-9)
    max_reflections: int = 10_000

    def impulses(self, contacts: Contacts) -> Impulses:
        delassus = contacts.delassus().toarray()
        lam = np.zeros(contacts.count)
        for count in range(self.max_reflections):
            u = contacts.speeds() + delassus @ lam
            worst = int(u.argmin())
            if u[worst] >= -self.tolerance:
                return Impulses(normal=lam, iterations=count)
            lam[worst] -= 2 * u[worst] / delassus[worst, worst]
        reason = f"reached its bound of {self.max_reflections} reflections"
        return finish_inelastically(contacts, lam, contacts.after(lam), self.max_reflections, reason)


def answer() -> carom.ImpactSolution:
    """The answer of the new law to four unequal balls."""
    carom.laws.register("fastest_first", FastestFirst)
    problem = carom.ImpactProblem.chain(masses=[1, 2, 1, 3], velocities=[1, 0, 0, -1])
    return carom.solve_impact(problem, law="fastest_first")


def main() -> None:
    solution = answer()
    print(f"after {solution.iterations} reflections: {solution.velocity}")
    print(solution.audit())


def check() -> None:
    """The law keeps what it claims on the whole catalogue, and is the library's worst-first Gauss-Seidel."""
    carom.testing.check_law(FastestFirst, examples=20)
    solution = answer()
    assert solution.audit().passed
    library = carom.solve_impact(solution.problem, carom.laws.make("gauss_seidel", order="worst"))
    np.testing.assert_allclose(solution.velocity, library.velocity, atol=1e-9)


if __name__ == "__main__":
    main()
