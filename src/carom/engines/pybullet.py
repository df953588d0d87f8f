"""PyBullet as an engine of the conformance suite."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pybullet

WALL = 10.0  # half size of the box that stands for a plane: against a plane Bullet finds one corner of a box at a time


class Pybullet:
    """The settings that Bullet's author gives for restitution (bullet3, issue 3094), with more iterations.

    Coefficients of two bodies are multiplied, so each has the square root.
    """

    title = f"PyBullet {version('pybullet')}"
    dimension = 3
    step_size, iterations = 1e-4, 1000
    parameters = {  # noqa: RUF012
        "restitutionVelocityThreshold": 0.0,
        "warmStartingFactor": 0.0,
        "useSplitImpulse": True,
        "contactSlop": 0.0,
        "enableConeFriction": False,
    }

    def __init__(self) -> None:
        named = ", ".join(f"{key} {value:g}" for key, value in self.parameters.items())
        self.settings = (
            f"step {self.step_size:g}, {self.iterations} iterations, maximal coordinates, {named}, "
            "contactProcessingThreshold 0, restitution sqrt(c) per body"
        )
        self.client = pybullet.connect(pybullet.DIRECT)

    def start(self, restitution: float) -> None:
        pybullet.resetSimulation(physicsClientId=self.client)
        pybullet.setTimeStep(self.step_size, physicsClientId=self.client)
        pybullet.setPhysicsEngineParameter(
            numSolverIterations=self.iterations,
            solverResidualThreshold=0.0,
            **self.parameters,
            physicsClientId=self.client,
        )
        self.restitution = restitution**0.5
        self.bodies: list[int] = []

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        client = {"physicsClientId": self.client}
        if len(size) == 1:
            shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=size[0], **client)
        else:
            shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=size, **client)
        self._add_free(mass, shape, position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        # Bullet gives a compound the inertia of its bounding box, which is that of the whole.
        shape = pybullet.createCollisionShapeArray(
            shapeTypes=[pybullet.GEOM_BOX] * len(parts),
            halfExtents=[half for _, half in parts],
            collisionFramePositions=[center for center, _ in parts],
            physicsClientId=self.client,
        )
        self._add_free(mass, shape, position, velocity)

    def _add_free(self, mass: float, shape: int, position: list[float], velocity: list[float]) -> None:
        body = self._add(mass, shape, position)
        pybullet.resetBaseVelocity(body, velocity[:3], velocity[3:], physicsClientId=self.client)
        self.bodies.append(body)

    def _add(self, mass: float, shape: int, position: list[float], orientation: Any = (0, 0, 0, 1)) -> int:
        body = pybullet.createMultiBody(
            mass,
            shape,
            basePosition=position,
            baseOrientation=orientation,
            useMaximalCoordinates=True,
            physicsClientId=self.client,
        )
        pybullet.changeDynamics(
            body,
            -1,
            lateralFriction=0.0,
            restitution=self.restitution,
            linearDamping=0.0,
            angularDamping=0.0,
            contactProcessingThreshold=0.0,
            physicsClientId=self.client,
        )
        return int(body)

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        if speed:
            raise NotImplementedError("a plane that moves: Bullet's static bodies have no velocity")
        half = [WALL] * 3
        shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=self.client)
        center = [p - WALL * n for p, n in zip(point, normal, strict=True)]
        self._add(0.0, shape, center, turn(normal))

    def step(self) -> None:
        pybullet.stepSimulation(physicsClientId=self.client)

    def velocities(self) -> Any:
        found = (pybullet.getBaseVelocity(body, physicsClientId=self.client) for body in self.bodies)
        return [(*linear, *angular) for linear, angular in found]


def turn(normal: list[float]) -> list[float]:
    """The rotation (x, y, z, w) that takes the z axis to a unit normal."""
    w = 1.0 + normal[2]
    if w < 1e-12:
        return [1.0, 0.0, 0.0, 0.0]
    length = (normal[0] ** 2 + normal[1] ** 2 + w * w) ** 0.5
    return [-normal[1] / length, normal[0] / length, 0.0, w / length]
