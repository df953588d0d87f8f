"""Jolt (npm package jolt-physics, WebAssembly) as an engine of the conformance suite, driven through Node.js."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

HALF_WALL = 50.0  # half of the size of the boxes that stand for half-spaces


class Jolt:
    """The larger coefficient of two bodies counts, so each has that of the scene."""

    dimension = 3
    step_size, iterations = 1e-4, 1000

    def __init__(self) -> None:
        program = [str(Path(__file__).with_suffix(".mjs")), str(self.step_size), str(self.iterations)]
        try:
            self.node = subprocess.Popen(
                ["node", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError as absent:
            raise ImportError(f"node: {absent.strerror}") from absent
        first = self._line()
        if not first:
            raise ImportError("npm package jolt-physics in this folder")
        self.title = f"Jolt {json.loads(first)['version']} (WebAssembly)"
        self.settings = (
            f"step {self.step_size:g}, {self.iterations} velocity steps, no warm start, penetration slop 0, "
            "mMinVelocityForRestitution 0, friction 0, restitution c, boxes for planes"
        )

    def _line(self) -> str:
        assert self.node.stdout is not None
        return self.node.stdout.readline()

    def _tell(self, *words: Any) -> None:
        assert self.node.stdin is not None
        self.node.stdin.write(json.dumps(words) + "\n")
        self.node.stdin.flush()

    def start(self, restitution: float) -> None:
        self._tell("start", restitution)

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        self._tell("body", mass, list(size), list(position), list(velocity))

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        self._tell("parts", mass, parts, list(position), list(velocity))

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        """A box whose face with the outward direction z, rotated to the normal, is the plane."""
        center = [p - HALF_WALL * n for p, n in zip(point, normal)]
        x, y, z = normal
        turn = [-y, x, 0.0, 1.0 + z] if z > -0.999999 else [1.0, 0.0, 0.0, 0.0]
        size = sum(q * q for q in turn) ** 0.5
        self._tell("plane", center, [HALF_WALL] * 3, [q / size for q in turn], [speed * n for n in normal])

    def step(self) -> None:
        self._tell("step")
        self._after = json.loads(self._line())

    def velocities(self) -> Any:
        return self._after
