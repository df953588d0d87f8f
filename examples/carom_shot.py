"""A three-cushion carom shot, found by gradient descent through its impacts.

The cue ball has to strike the red ball, then three cushions, and then the yellow ball. The derivative of where the cue
ball is at a given time with respect to its velocity goes through all four impacts, each at its own time. Newton's
method with it would do as well; descent needs the gradient alone, which one run backwards gives.

    python examples/carom_shot.py [shot.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import carom
from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene

RADIUS, WIDTH, DEPTH = 0.0307, 2.84, 1.42  # of a match table, in meters
CUE, RED, YELLOW = (0.6, 0.5), (1.7, 0.9), (2.5, 1.08)
MEETING = 3.15  # the time at which the cue ball is to be at the yellow one, which is left out while aiming
START = 2.0 * np.array([np.cos(np.radians(22.0)), np.sin(np.radians(22.0))])


def table(velocity, *others) -> Scene:
    """The table with the cue ball at a velocity; cloth and spin are left out."""
    places = [CUE, *others]
    moving = [[float(v) for v in velocity]] + [[0.0, 0.0]] * len(others)
    cushions = boundaries.Container((0.0, 0.0), (WIDTH, DEPTH))
    materials = {"default": Material(restitution=0.95)}
    balls = Bodies(shapes.Disc(RADIUS), places, moving)
    return Scene("carom", [balls], [cushions], materials=materials, step=0.05, duration=MEETING)


def miss(velocity) -> tuple[float, np.ndarray]:
    """Squared distance from the yellow ball at the meeting time, and its gradient."""
    run = carom.sensitivity(table(velocity, RED))
    off = run.derivative("bodies.0.velocity").position[0, 0] - YELLOW
    slope = run.vjp("bodies.0.velocity", position=[2.0 * off, [0.0, 0.0]])
    return float(off @ off), slope["bodies.0.velocity"][0]


def aimed() -> tuple[np.ndarray, list[float]]:
    """The velocity of the shot, and the distances of all tries."""
    tries: list[float] = []

    def told(velocity):
        value, slope = miss(velocity)
        tries.append(float(np.sqrt(value)))
        return value, slope

    found = minimize(told, START, jac=True, method="BFGS", options={"gtol": 1e-9})
    return found.x, tries


def strikes(velocity) -> list[str]:
    """What the cue ball strikes, in order, with the yellow ball on the table."""
    run = carom.sensitivity(table(velocity, RED, YELLOW), duration=3.3)
    times = [[time for time, body, *_ in run.path if body == b] for b in range(3)]
    names = []
    for time in times[0]:
        names.append("red" if time in times[1] else "yellow" if time in times[2] else "cushion")
    return names


def main(picture: str | None = None) -> None:
    velocity, tries = aimed()
    angle = np.degrees(np.arctan2(velocity[1], velocity[0]))
    print(f"start: 22 degrees, 2 m/s, {tries[0]:.3f} m beside the yellow ball")
    print(f"found: {angle:.4f} degrees, {np.linalg.norm(velocity):.4f} m/s, {tries[-1]:.1e} m, {len(tries)} runs")
    print("the cue ball strikes:", ", ".join(strikes(velocity)))
    if picture is not None:
        figure(Path(picture), velocity)


def check() -> None:
    velocity, tries = aimed()
    assert tries[0] > 0.1 > 1e-5 > tries[-1]
    assert strikes(velocity)[:5] == ["red", "cushion", "cushion", "cushion", "yellow"]


def figure(path: Path, velocity) -> None:
    """The paths of the first and of the last try."""
    from carom.draw.style import BLUE, GRAY, ORANGE, save, sheet
    from carom.draw.style import RED as RED_COLOR

    times = np.linspace(0.0, MEETING, 600)
    with sheet(6.0, 3.2) as drawn:
        at = drawn.subplots()
        for speed, color, name in ((START, GRAY, "start"), (velocity, BLUE, "found")):
            frames = carom.sensitivity(table(speed, RED)).derivative("bodies.0.velocity", times)
            at.plot(*frames.position[:, 0].T, color=color, label=f"cue ball, {name}", lw=1.6 if color == BLUE else 0.9)
            if color == BLUE:
                at.plot(*frames.position[:, 1].T, color=RED_COLOR, lw=0.8, label="red ball")
        for place, color in ((CUE, "white"), (RED, RED_COLOR), (YELLOW, ORANGE)):
            at.add_patch(_disc(place, color))
        at.set(xlim=(0, WIDTH), ylim=(0, DEPTH), aspect="equal", xlabel="x (m)", ylabel="y (m)")
        at.grid(False)
        at.spines[:].set_visible(True)
        at.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3)
        save(drawn, path, 150)


def _disc(place, color):
    from matplotlib.patches import Circle

    return Circle(place, RADIUS, facecolor=color, edgecolor="black", linewidth=0.8, zorder=3)


if __name__ == "__main__":
    main(*sys.argv[1:2])
