"""A flat box lands on all four corners: more contacts than its motion can tell apart.

Four impulses act on three degrees of freedom (fall, and two tilts), so the impulses are not unique, while the
velocity is. No law needs a remedy for that. The box is a mechanical system like any other: a mass matrix and
Jacobian rows.

    python examples/landing_box.py
"""

from __future__ import annotations

import numpy as np

import carom

MASS, LENGTH, WIDTH, DROP_SPEED = 2.0, 0.6, 0.4, 1.5  # kg, m, m, m/s


def landing(spin: float = 0.0, restitution: float = 0.5) -> carom.ImpactProblem:
    """The box with velocity (fall, roll rate, pitch rate); `spin` is the roll rate, in rad/s.

    Row i is the upward speed of corner i at (x, y): v + y * roll - x * pitch.
    """
    inertia = [MASS * WIDTH**2 / 12, MASS * LENGTH**2 / 12]  # of a thin plate
    corners = [(sx * LENGTH / 2, sy * WIDTH / 2) for sx in (-1, 1) for sy in (-1, 1)]
    return carom.ImpactProblem.from_matrices(
        mass=np.diag([MASS, *inertia]),
        jacobian=[[1.0, y, -x] for x, y in corners],
        velocity=[-DROP_SPEED, spin, 0.0],
        restitution=restitution,
        name="landing box",
    )


def main() -> None:
    for spin in (0.0, 3.0):
        solution = carom.solve_impact(landing(spin), law="gr")
        print(f"roll rate {spin} rad/s before, velocity after: {np.round(solution.velocity, 6) + 0.0}")
        print(f"impulses of the four corners: {np.round(solution.impulse, 6) + 0.0}")
        print(solution.audit(), "\n")


def check() -> None:
    """The flat box leaves with half its speed, unturned, and the floor has given it 1.5 m v."""
    flat = carom.solve_impact(landing(), law="gr")
    np.testing.assert_allclose(flat.velocity, [0.5 * DROP_SPEED, 0, 0], atol=1e-9)
    assert abs(flat.impulse.sum() - 1.5 * MASS * DROP_SPEED) < 1e-9
    assert flat.audit().passed
    tilted = carom.solve_impact(landing(3.0), law="gr")
    assert (tilted.separation_speed >= -1e-9).all()
    assert tilted.kinetic_energy < tilted.problem.kinetic_energy


if __name__ == "__main__":
    main()
