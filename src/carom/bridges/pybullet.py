"""Carom inside PyBullet: free rigid bodies in 3D."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws import Law
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from . import Bridge, missing

try:
    import pybullet
except ImportError as absent:
    raise missing("pybullet") from absent

MASS, FRICTION, INERTIA, RESTITUTION = 0, 1, 2, 5  # fields of getDynamicsInfo


class PybulletBridge(Bridge):
    """Impacts of a PyBullet client. Restitution and friction None are products of the bodies' own, as in Bullet.

    Bullet's own list of contacts lacks spheres with a gap of even 1e-16, so pairs of near bodies that are not in it are
    asked for their closest points. Bodies of mass 0 are boundaries. Bodies with joints are refused.
    """

    def __init__(self, client: int = 0, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.client = client
        self.bodies: list[int] = []

    @property
    def time_step(self) -> float:
        return float(pybullet.getPhysicsEngineParameters(physicsClientId=self.client)["fixedTimeStep"])

    @property
    def gravity(self) -> Any:
        known = pybullet.getPhysicsEngineParameters(physicsClientId=self.client)
        return [known.get(f"gravityAcceleration{axis}", 0.0) for axis in "XYZ"]

    def detect(self) -> tuple[ImpactProblem, Floats] | None:
        client = self.client
        present = [pybullet.getBodyUniqueId(k, physicsClientId=client) for k in range(pybullet.getNumBodies(client))]
        info = {body: pybullet.getDynamicsInfo(body, -1, physicsClientId=client) for body in present}
        self.bodies = [body for body in present if info[body][MASS] > 0]
        number = {body: k for k, body in enumerate(self.bodies)}
        contacts = self._contacts(present, number)
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

    def _pairs(self, present: list[int], number: dict[int, int]) -> list[tuple[int, int]]:
        """Pairs with a free body whose bounding boxes may meet within a step."""
        boxes = np.array([pybullet.getAABB(body, -1, physicsClientId=self.client) for body in present])
        speeds = [self._velocity(body)[0] for body in self.bodies]
        size = float((boxes[:, 1] - boxes[:, 0])[[body in number for body in present]].max(initial=0.0))
        fastest = max((float(np.linalg.norm(v[:3]) + size * np.linalg.norm(v[3:])) for v in speeds), default=0.0)
        self._reach = self.touch + 2.0 * self.time_step * fastest
        low, high = boxes[:, 0] - self._reach, boxes[:, 1] + self._reach
        near = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
        pairs = ((present[i], present[j]) for i, j in np.argwhere(np.triu(near, 1)))
        return [(a, b) for a, b in pairs if a in number or b in number]

    def _contacts(self, present: list[int], number: dict[int, int]) -> list[Any]:
        """Bullet's manifolds, and closest points of near pairs that have none; for boxes these would lack corners."""
        pybullet.performCollisionDetection(physicsClientId=self.client)
        found = [c for c in pybullet.getContactPoints(physicsClientId=self.client) if c[1] in number or c[2] in number]
        known = {frozenset(contact[1:3]) for contact in found}
        for a, b in self._pairs(present, number):
            if frozenset((a, b)) not in known:
                found += pybullet.getClosestPoints(a, b, self._reach, -1, -1, physicsClientId=self.client)
        return found

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
