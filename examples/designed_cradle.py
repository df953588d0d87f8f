"""Masses of a cradle, designed for an outcome: the last ball is to leave as fast as possible.

A ball of mass 8 strikes a row of balls with small gaps, the last of which has mass 1. Which masses between them pass on
the most speed? The gradient of the speed of the last ball with respect to all masses climbs to the answer that Huygens
gave for this problem: each mass is the geometric mean of its neighbors.

    python examples/designed_cradle.py [cradle.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import carom
from carom.scene import shapes
from carom.scene.model import Bodies, Material, Scene

BALLS, FIRST, LAST, END = 5, 8.0, 1.0, 2.0
RESTITUTION = 0.95


def cradle(masses) -> Scene:
    """A row of balls with gaps of a hundredth of a radius, struck by the first at speed 1."""
    places = [[2.01 * k, 0.0] for k in range(BALLS)]
    moving = [[1.0, 0.0]] + [[0.0, 0.0]] * (BALLS - 1)
    balls = Bodies(shapes.Disc(1.0), places, moving, mass=[float(m) for m in masses])
    return Scene("cradle", [balls], materials={"default": Material(RESTITUTION)}, step=0.05, duration=END)


def slowness(between) -> tuple[float, np.ndarray]:
    """Minus the speed of the last ball, and its gradient with respect to logarithms of the masses between."""
    masses = np.array([FIRST, *np.exp(between), LAST])
    run = carom.sensitivity(cradle(masses))
    weights = np.zeros((BALLS, 2))
    weights[-1, 0] = -1.0
    speed = run.derivative("scene.gravity").velocity[0, -1, 0]
    slope = run.vjp("bodies.0.mass", velocity=weights)["bodies.0.mass"]
    return -float(speed), slope[1:-1] * masses[1:-1]


def designed() -> np.ndarray:
    """The masses of all balls."""
    found = minimize(slowness, np.zeros(BALLS - 2), jac=True, method="BFGS", options={"gtol": 1e-9})
    return np.array([FIRST, *np.exp(found.x), LAST])


def main(picture: str | None = None) -> None:
    masses = designed()
    print("equal masses between: last ball at", f"{-slowness(np.zeros(BALLS - 2))[0]:.4f}")
    print("designed masses:     ", np.round(masses, 6))
    print("geometric sequence:  ", np.round(FIRST ** (1.0 - np.arange(BALLS) / (BALLS - 1)), 6))
    print("last ball at          ", f"{-slowness(np.log(masses[1:-1]))[0]:.4f}")
    if picture is not None:
        figure(Path(picture), masses)


def check() -> None:
    """The geometric sequence, and the speed `(1 + e)^4 / prod (1 + m'/m)` of its four impacts."""
    wanted = FIRST ** (1.0 - np.arange(BALLS) / (BALLS - 1))
    masses = designed()
    np.testing.assert_allclose(masses, wanted, rtol=1e-6)
    ratio = wanted[1] / wanted[0]
    np.testing.assert_allclose(-slowness(np.log(masses[1:-1]))[0], ((1 + RESTITUTION) / (1 + ratio)) ** 4, rtol=1e-12)


def figure(path: Path, masses) -> None:
    """Masses and final velocities of equal and of designed balls."""
    from carom.draw.style import BLUE, GRAY, save, styled

    with styled(2, width=6.0, height=2.4) as (drawn, axes):
        for row, color, name in ((np.array([FIRST, 1, 1, 1, LAST]), GRAY, "equal"), (masses, BLUE, "designed")):
            speed = carom.sensitivity(cradle(row)).derivative("scene.gravity").velocity[0, :, 0]
            shift = -0.18 if color == GRAY else 0.18
            axes[0].bar(np.arange(BALLS) + shift, row, 0.36, color=color, label=name)
            axes[1].bar(np.arange(BALLS) + shift, speed, 0.36, color=color)
        axes[0].set(xlabel="ball", ylabel="mass", title="Masses")
        axes[1].set(xlabel="ball", ylabel="velocity", title="Velocities after all impacts")
        axes[0].legend()
        save(drawn, path, 150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
