"""Restitution and friction of a disc, recovered from a noisy film of its flight.

A spinning disc is thrown on the ground. A camera sees its center 60 times per second, with an error of 3 mm, and misses
some frames. `carom.fit` finds the coefficients, the velocity and the spin with which it was thrown, and says how well
the film determines each of them.

    python examples/recovered_coefficients.py [fit.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import carom
from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene
from carom.sensitivities.fit import Fit

TRUTH = {"restitution": 0.82, "friction": 0.14, "velocity": (0.8, 0.5), "spin": 40.0}
VARY = ["materials.default.restitution", "materials.default.friction", "bodies.0.velocity", "bodies.0.spin"]
NOISE = 0.003


def scene(restitution: float, friction: float, velocity, spin: float) -> Scene:
    """The throw."""
    disc = Bodies(shapes.Disc(0.1), [[0.0, 1.0]], [[float(v) for v in velocity]], spin=float(spin), name="disc")
    ground = boundaries.Plane((0.0, 0.0), (0.0, 1.0))
    materials = {"default": Material(float(restitution), float(friction))}
    return Scene("throw", [disc], [ground], materials=materials, gravity=(0.0, -9.81), duration=1.5)


def film() -> dict[str, np.ndarray]:
    """What the camera sees."""
    rng, times = np.random.default_rng(7), np.arange(0.0, 1.5, 1.0 / 60.0)
    place = carom.sensitivity(scene(**TRUTH)).derivative("scene.gravity", times).position[:, 0]
    place = place + NOISE * rng.normal(size=place.shape)
    place[rng.random(len(times)) < 0.1] = np.nan
    return {"time": times, "body": np.zeros(len(times), int), "x": place[:, 0], "y": place[:, 1]}


def recovered() -> Fit:
    """The fit, from a guess of everything."""
    return carom.fit(scene(0.7, 0.1, (0.9, 0.4), 30.0), film(), VARY)


def truth() -> np.ndarray:
    return np.array([TRUTH["restitution"], TRUTH["friction"], *TRUTH["velocity"], TRUTH["spin"]])


def main(picture: str | None = None) -> None:
    found = recovered()
    for name, value, error, true in zip(found.names, found.estimate, found.standard_error, truth()):
        print(f"{name:<32} {value:9.4f} +- {error:7.4f}   (true: {true:g})")
    print(f"noise {found.noise:.4f}; {found.evaluations} runs; {found.data.count} numbers")
    for warning in found.warnings:
        print("warning:", warning)
    if picture is not None:
        figure(Path(picture), found)


def check() -> None:
    found = recovered()
    assert (np.abs(found.estimate - truth()) < 4.0 * found.standard_error).all()
    assert 0.7 * NOISE < found.noise < 1.3 * NOISE


def figure(path: Path, found: Fit) -> None:
    """The film and the fitted path, and the residuals."""
    from carom.draw.style import BLUE, GRAY, RED, save, styled

    data, times = film(), np.linspace(0.0, 1.48, 500)
    line = found.run.derivative("scene.gravity", times).position[:, 0]
    with styled(2, width=7.2, height=2.6) as (drawn, axes):
        axes[0].plot(*line.T, color=BLUE, label="fit")
        axes[0].plot(data["x"], data["y"], color=RED, marker=".", ls="", ms=3, label="film")
        axes[0].set(xlabel="x (m)", ylabel="y (m)", title="Center of the disc")
        axes[0].legend()
        for k, (name, color) in enumerate((("x", RED), ("y", GRAY))):
            mine = found.data.column == k
            axes[1].plot(found.data.time[mine], 1e3 * found.residual[mine], color=color, marker=".", ls="", label=name)
        axes[1].axhline(0.0, color=GRAY, lw=0.8)
        axes[1].set(xlabel="time (s)", ylabel="measured minus fitted (mm)", title="Residuals")
        axes[1].legend()
        save(drawn, path, 150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
