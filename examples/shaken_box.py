"""A scene of your own, in Python: discs and boxes in a container whose floor shakes, with friction and a side wind.

python examples/shaken_box.py
"""

from __future__ import annotations

import numpy as np

import carom
from carom.scene import Bodies, Disc, Material, Plane, Rectangle, Scene, Segment, Vibrating


def wind(time: float, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """A force on each body, here along x and switched off after one time unit."""
    force = np.zeros((len(position), 2))
    force[:, 0] = 0.5 if time < 1.0 else 0.0
    return force


def scene() -> Scene:
    x, y = np.meshgrid(np.arange(4) * 1.5 - 2.25, np.arange(3) * 1.5 + 1.0)
    places = np.column_stack([x.ravel(), y.ravel()])
    return Scene(
        name="shaken box",
        bodies=[
            Bodies(Disc(0.5), places[:8], material="rubber", name="balls"),
            Bodies(Rectangle(1.0, 0.6), places[8:], angle=0.3, material="rubber", name="bricks"),
        ],
        boundaries=[
            Plane((0.0, 0.0), (0.0, 1.0), "rubber", Vibrating(amplitude=0.1, frequency=2.0)),
            Segment((-4.0, -1.0), (-4.0, 12.0), "rubber"),
            Segment((4.0, -1.0), (4.0, 12.0), "rubber"),
        ],
        materials={"rubber": Material(restitution=0.5, friction=0.4)},
        gravity=(0.0, -9.81),
        force=wind,
        step=0.005,
    )


def run() -> carom.Trajectory:
    return carom.simulate(scene(), law="qce", duration=3.0)


def main() -> None:
    result = run()
    print(result)
    print(f"highest body at the end: {result.positions[-1][:, 1].max():.3f}")


def check() -> None:
    """Nobody leaves the container, and what a body overlaps is a small part of it."""
    result = run()
    places = result.positions[:]
    assert np.abs(places[:, :, 0]).max() < 4.0
    assert places[:, :, 1].min() > -0.1 + 0.3 - 0.01  # floor at its lowest, half a brick lying flat
    assert result.steps["overlap"].max() < 0.05 * 0.3


if __name__ == "__main__":
    main()
