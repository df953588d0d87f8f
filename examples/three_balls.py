"""Three equal balls, struck from both sides: the answer of a multiple impact is not unique.

A comes from the left at va, C from the right at 1, B rests between them and touches both. Every law below keeps
energy and momentum; they still disagree, because the two conservation laws do not fix three velocities.

    python examples/three_balls.py
"""

from __future__ import annotations

import numpy as np

import carom

SPEEDS = (0.0, 0.25, 0.5, 0.75, 1.0)
LAWS = ("lcp", "gr", "qce")


def velocities(law: str, va: float) -> np.ndarray:
    """Velocities of A, B, C after impact."""
    problem = carom.ImpactProblem.chain(masses=[1, 1, 1], velocities=[va, 0, -1], name="three balls")
    return carom.solve_impact(problem, law=law).velocity


def main() -> None:
    print("  va   " + "".join(f"{law:^27}" for law in LAWS))
    for va in SPEEDS:
        cells = ("  ".join(f"{v + 0.0:7.4f}" for v in np.round(velocities(law, va), 12)) for law in LAWS)
        print(f"{va:5.2f}  " + "".join(f"{cell:^27}" for cell in cells))


def check() -> None:
    """Balls that meet symmetrically part symmetrically under all three; at va = 1/2 GR and QCE differ."""
    for law in LAWS:
        np.testing.assert_allclose(velocities(law, 1.0), [-1, 0, 1], atol=1e-9)
    np.testing.assert_allclose(velocities("gr", 0.5), [-5 / 6, -1 / 3, 2 / 3], atol=1e-9)
    np.testing.assert_allclose(velocities("qce", 0.5), [-1.0458, 0.2125, 1 / 3], atol=1e-4)


if __name__ == "__main__":
    main()
