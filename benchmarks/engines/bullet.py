"""PyBullet with maximal coordinates and otherwise its default parameters."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pybullet


class World:
    """A scene in PyBullet. Coefficients of two bodies are multiplied, so each has the square root of the scene's."""

    version = version("pybullet")

    def __init__(self, scene: dict[str, np.ndarray]) -> None:
        pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*map(float, scene["gravity"]))
        pybullet.setTimeStep(float(scene["step"]))
        self.friction, self.restitution = float(scene["friction"]) ** 0.5, float(scene["restitution"]) ** 0.5
        for point, normal in zip(scene["plane_point"], scene["plane_normal"]):
            wall = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=list(map(float, normal)))
            self._add(0.0, wall, point, np.array([1.0, 0.0, 0.0, 0.0]))
        size = [float(s) for s in scene["size"]]
        if len(size) == 1:
            shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=size[0])
        else:
            shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.5 * s for s in size])
        start = zip(scene["position"], scene["orientation"])
        self.bodies = [self._add(float(scene["mass"]), shape, place, turn) for place, turn in start]
        for body, velocity in zip(self.bodies, scene["velocity"]):
            pybullet.resetBaseVelocity(body, linearVelocity=list(map(float, velocity)))

    def _add(self, mass: float, shape: int, place: np.ndarray, turn: np.ndarray) -> int:
        body = pybullet.createMultiBody(
            mass,
            shape,
            basePosition=list(map(float, place)),
            baseOrientation=list(map(float, np.roll(turn, -1))),
            useMaximalCoordinates=True,
        )
        pybullet.changeDynamics(
            body,
            -1,
            lateralFriction=self.friction,
            restitution=self.restitution,
            linearDamping=0,
            angularDamping=0,
        )
        return int(body)

    def step(self) -> None:
        pybullet.stepSimulation()

    def poses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        poses = [pybullet.getBasePositionAndOrientation(body) for body in self.bodies]
        velocity = np.array([pybullet.getBaseVelocity(body)[0] for body in self.bodies])
        return np.array([p for p, _ in poses]), np.roll([q for _, q in poses], 1, axis=1), velocity
