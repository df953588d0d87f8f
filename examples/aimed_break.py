"""A break aimed so that one chosen ball ends where it should.

Six balls stand in a triangle with gaps of a few hundredths of a radius, as in any real rack, so the cue ball starts a
sequence of impacts, one after the other. Where the ball at a corner is after half a second depends on all of them.
Descent along the derivatives of the whole break with respect to the velocity of the cue ball and its place sends that
ball through a point that was chosen before.

    python examples/aimed_break.py [break.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import carom
from carom.scene import boundaries, shapes
from carom.scene.model import Bodies, Material, Scene

RADIUS, GAP, END = 0.0286, 0.03, 0.5
CHOSEN = 4  # a ball in the last row
TARGET = np.array([1.2, -0.2])
START = np.array([3.0, 0.0, 0.003])  # velocity of the cue ball, and its place across the table


def rack() -> np.ndarray:
    """Places of the cue ball and of six balls, slightly irregular."""
    rows = [(k, j - 0.5 * k) for k in range(3) for j in range(k + 1)]
    spacing = (2.0 + GAP) * RADIUS
    balls = [(0.6 + 0.5 * np.sqrt(3.0) * spacing * k, spacing * j) for k, j in rows]
    jitter = np.random.default_rng(4).uniform(-0.3, 0.3, (6, 2)) * GAP * RADIUS
    return np.concatenate([[(0.3, 0.0)], np.array(balls) + jitter])


def scene(values) -> Scene:
    """The break for a velocity of the cue ball and its place across the table."""
    vx, vy, across = (float(value) for value in values)
    places, moving = rack(), np.zeros((7, 2))
    places[0, 1], moving[0] = across, (vx, vy)
    table = boundaries.Container((0.0, -0.4), (1.6, 0.4))
    materials = {"default": Material(restitution=0.96)}
    bodies = [Bodies(shapes.Disc(RADIUS), places[:1], moving[:1]), Bodies(shapes.Disc(RADIUS), places[1:], moving[1:])]
    return Scene("break", bodies, [table], materials=materials, step=0.02, duration=END)


def miss(values) -> tuple[np.ndarray, np.ndarray]:
    """Vector from the target to the chosen ball at the end, and its derivatives (2, 3)."""
    run = carom.sensitivity(scene(values))
    frames = run.derivative(["bodies.0.velocity", "bodies.0.position"])
    place, speed = frames["bodies.0.position"].position[0, CHOSEN], frames["bodies.0.velocity"].position[0, CHOSEN]
    return frames.position[0, CHOSEN] - TARGET, np.column_stack([speed.reshape(2, 2), place.reshape(2, 2)[:, 1]])


def aimed() -> tuple[np.ndarray, int]:
    """The break that sends the chosen ball through the target, and the number of runs."""
    # The unit of the place across the table is a tenth of the radius: so much decides which ball is struck how.
    scale = np.array([1.0, 0.2, 0.1 * RADIUS])
    found = least_squares(lambda v: miss(v)[0], START, lambda v: miss(v)[1], x_scale=scale, xtol=1e-14, max_nfev=60)
    return found.x, int(found.nfev)


def main(picture: str | None = None) -> None:
    values, runs = aimed()
    before, after = np.linalg.norm(miss(START)[0]), np.linalg.norm(miss(values)[0])
    impacts = carom.sensitivity(scene(values)).impacts
    print(f"first try: ball {CHOSEN} is {before:.3f} m from the target after {END} s")
    print(f"after {runs} runs of {impacts} impacts: {after:.1e} m")
    print(f"velocity ({values[0]:.4f}, {values[1]:.4f}) m/s, place {1e3 * values[2]:.4f} mm beside the middle")
    if picture is not None:
        figure(Path(picture), values)


def check() -> None:
    values, _ = aimed()
    assert np.linalg.norm(miss(START)[0]) > 0.02
    end = carom.Simulation(scene(values), stepper="time_of_impact", tolerance="exact").run(until=END)
    assert np.linalg.norm(end.position[CHOSEN] - TARGET) < 1e-6


def figure(path: Path, values) -> None:
    """The paths of all balls of the first try and of the last."""
    from matplotlib.patches import Circle

    from carom.draw.style import BLUE, GRAY, PALE, RED, save, sheet

    times = np.linspace(0.0, END, 300)
    with sheet(6.0, 3.6) as drawn:
        at = drawn.subplots()
        for chosen, color, name in ((START, PALE, "first try"), (values, GRAY, "other balls, aimed")):
            frames = carom.sensitivity(scene(chosen)).derivative("bodies.0.velocity", times)
            for ball in range(7):
                aimed_at = ball == CHOSEN and color == GRAY
                label = "chosen ball, aimed" if aimed_at else name if ball == 0 else None
                style = {"color": BLUE, "lw": 2.2} if aimed_at else {"color": color, "lw": 1.3}
                at.plot(*frames.position[:, ball].T, **style, label=label, zorder=3 if aimed_at else 2)
        for ball, place in enumerate(rack()):
            color = BLUE if ball == CHOSEN else "white"
            at.add_patch(Circle(place, RADIUS, facecolor=color, edgecolor="black", linewidth=0.7, zorder=4))
        at.plot(*TARGET, color=RED, marker="+", ms=12, mew=2, linestyle="", label="target", zorder=5)
        at.set(xlim=(0.0, 1.6), ylim=(-0.4, 0.4), aspect="equal", xlabel="x (m)", ylabel="y (m)")
        at.grid(False)
        at.spines[["top", "right"]].set_visible(True)
        drawn.legend(loc="outside upper center", ncols=4)
        save(drawn, path, 150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
