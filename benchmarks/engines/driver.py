"""Runs one engine inside its own environment: `python -m benchmarks.engines.driver ENGINE SCENE.npz POSES.npz`.

Needs NumPy and the engine, nothing of Carom. Each line on standard input is a number of steps to make; the answer is a
line of JSON with the CPU seconds of each step, and the poses at its end are written to POSES.npz.
"""

from __future__ import annotations

import importlib
import json
import sys
from time import process_time
from typing import Any, Protocol

import numpy as np


class Engine(Protocol):
    """A scene inside an engine."""

    version: str

    def step(self) -> None:
        """Advances the scene by one time step."""

    def poses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions (n, D), orientations (n, 4) as (w, x, y, z) or (n,) angles, and linear velocities (n, D)."""


def timed(step: Any, count: int) -> list[float]:
    """CPU seconds of each of `count` calls, of all threads of this process."""
    seconds = []
    for _ in range(count):
        start = process_time()
        step()
        seconds.append(process_time() - start)
    return seconds


def main(name: str, scene_file: str, pose_file: str) -> None:
    """Answers requests until standard input ends."""
    with np.load(scene_file) as data:
        scene = {key: data[key] for key in data.files}
    engine: Engine = importlib.import_module(f"benchmarks.engines.{name}").World(scene)
    print(json.dumps({"version": engine.version}), flush=True)
    for line in sys.stdin:
        seconds = timed(engine.step, int(line))
        position, orientation, velocity = engine.poses()
        np.savez(pose_file, position=position, orientation=orientation, velocity=velocity)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
