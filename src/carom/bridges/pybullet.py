"""Carom inside PyBullet: free rigid bodies in 3D."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..impact.problem import ImpactProblem
from ..laws import Law
from ..solvers.rows import Floats
from . import Bridge, Restitution, missing

try:
    import pybullet
except ImportError as absent:
    raise missing("pybullet") from absent

MASS, FRICTION, INERTIA, RESTITUTION = 0, 1, 2, 5  # fields of getDynamicsInfo


class PybulletBridge(Bridge):
    """Impacts of a PyBullet client. Restitution and friction None are products of the bodies' own, as in Bullet.

    Bullet reports contacts up to its contact breaking threshold, 0.02 units of length: let no body move farther in one
    step. Bodies of mass 0 are boundaries. Bodies with joints that move are refused.
    """

    def __init__(
        self,
        client: int = 0,
        law: str | Law = "gr",
        restitution: Restitution = None,
        touch: float = 1e-6,
        threshold: float = 1e-6,
    ) -> None:
        super().__init__(law, restitution, touch, threshold)
        self.client = client
        self.bodies: list[int] = []

    @property
    def time_step(self) -> float:
        return float(pybullet.getPhysicsEngineParameters(physicsClientId=self.client)["fixedTimeStep"])

    def detect(self) -> tuple[ImpactProblem, Floats] | None:
        client = self.client
        pybullet.performCollisionDetection(physicsClientId=client)
        present = [pybullet.getBodyUniqueId(k, physicsClientId=client) for k in range(pybullet.getNumBodies(client))]
        info = {body: pybullet.getDynamicsInfo(body, -1, physicsClientId=client) for body in present}
        self.bodies = [body for body in present if info[body][MASS] > 0]
        number = {body: k for k, body in enumerate(self.bodies)}
        contacts = [c for c in pybullet.getContactPoints(physicsClientId=client) if c[1] in number or c[2] in number]
        if not contacts:
            return None
        pairs = [(c[1], c[2]) for c in contacts]
        normals = -np.array([c[7] for c in contacts])  # Bullet's point from the second body to the first
        points = 0.5 * (np.array([c[5] for c in contacts]) + np.array([c[6] for c in contacts]))
        fixed = {body: self._velocity(body) for pair in pairs for body in pair if body not in number}
        problem = ImpactProblem.from_contacts(
            [pybullet.getBasePositionAndOrientation(body, physicsClientId=client)[0] for body in self.bodies],
            [info[body][MASS] for body in self.bodies],
            [self._inertia(body, info[body]) for body in self.bodies],
            [self._velocity(body)[0] for body in self.bodies],
            [[number.get(body, -1) for body in pair] for pair in pairs],
            points,
            normals,
            boundary_speed=[_boundary_speed(fixed, *contact) for contact in zip(pairs, points, normals, strict=True)],
            restitution=[min(info[a][RESTITUTION] * info[b][RESTITUTION], 1.0) for a, b in pairs],
            friction=[info[a][FRICTION] * info[b][FRICTION] for a, b in pairs],
            name="PyBullet",
        )
        return problem, np.array([c[8] for c in contacts])

    def _velocity(self, body: int) -> tuple[Floats, Floats]:
        """Linear and angular velocity (6,) in world axes, and the center of mass (3,)."""
        linear, angular = pybullet.getBaseVelocity(body, physicsClientId=self.client)
        place, _ = pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client)
        return np.array([*linear, *angular]), np.array(place)

    def _inertia(self, body: int, info: Any) -> Floats:
        """The tensor (3, 3) about the center of mass in world axes."""
        if pybullet.getNumJoints(body, physicsClientId=self.client):
            raise ProblemError(f"body {body}", "a body with joints", "bodies of one link; MuJoCo's bridge takes joints")
        _, turn = pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client)
        axes = np.reshape(pybullet.getMatrixFromQuaternion(turn), (3, 3))
        return axes @ np.diag(info[INERTIA]) @ axes.T

    def write(self, velocity: Floats) -> None:
        for body, v in zip(self.bodies, velocity.tolist(), strict=True):
            pybullet.resetBaseVelocity(body, v[:3], v[3:], physicsClientId=self.client)

    def advance(self) -> None:
        pybullet.stepSimulation(physicsClientId=self.client)


def _boundary_speed(
    fixed: dict[int, tuple[Floats, Floats]], pair: tuple[int, int], point: Floats, normal: Floats
) -> float:
    """Part of the separation speed that bodies of mass 0 contribute by their own motion."""
    total = 0.0
    for body, sign in zip(pair, (-1.0, 1.0), strict=True):
        if body in fixed:
            v, center = fixed[body]
            total += sign * float(normal @ (v[:3] + np.cross(v[3:], point - center)))
    return total
