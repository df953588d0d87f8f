"""Carom itself as an engine of the conformance suite: the control, which must pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import __version__
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.motion import FIXED, Moving
from ..scene.shapes import Box, Compound, Part, Shape, Sphere
from ..stepwise import Simulation


class Carom:
    """A run in time, step by step, of the same scenes that other engines get."""

    title = f"Carom {__version__}"
    dimension = 3
    step_size, law = 1e-4, "qce"

    def __init__(self) -> None:
        self.settings = f"step {self.step_size:g}, law {self.law}, stepper drift_safe, tolerance exact"

    def start(self, restitution: float) -> None:
        self.restitution = restitution
        self.bodies: list[Bodies] = []
        self.planes: list[Plane] = []
        self.simulation: Simulation | None = None

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        shape = Sphere(size[0]) if len(size) == 1 else Box((2 * size[0], 2 * size[1], 2 * size[2]))
        self._add(mass, shape, position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        boxes = [Part(Box((2 * half[0], 2 * half[1], 2 * half[2])), tuple(center)) for center, half in parts]
        self._add(mass, Compound(boxes), position, velocity)

    def _add(self, mass: float, shape: Shape, position: list[float], velocity: list[float]) -> None:
        self.bodies.append(
            Bodies(shape, np.array([position]), np.array([velocity[:3]]), spin=np.array([velocity[3:]]), mass=mass)
        )

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        motion = Moving(tuple(speed * n for n in normal)) if speed else FIXED
        self.planes.append(Plane(tuple(point), tuple(normal), motion=motion))

    def step(self) -> None:
        if self.simulation is None:
            material = Material(restitution=self.restitution)
            scene = Scene(
                "conformance", self.bodies, self.planes, materials={"default": material}, gravity=(0.0, 0.0, 0.0)
            )
            self.simulation = Simulation(scene, self.law, step=self.step_size, tolerance="exact")
        self.simulation.step()

    def velocities(self) -> Any:
        assert self.simulation is not None
        velocity = self.simulation.state.velocity  # spins in the frames of the bodies, which have hardly turned
        return np.pad(velocity, ((0, 0), (0, 6 - velocity.shape[1])))  # spheres without friction have none
