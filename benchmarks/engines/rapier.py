"""Rapier (Python package rapier3d) with its default parameters, one thread, and bodies that never sleep."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import rapier3d


class World:
    """A scene in Rapier. Coefficients are averaged over the two bodies, so each has that of the scene."""

    version = version("rapier3d")

    def __init__(self, scene: dict[str, np.ndarray]) -> None:
        self.world = rapier3d.PhysicsWorld(gravity=tuple(map(float, scene["gravity"])))
        self.world.set_num_threads(1)
        self.world.integration_parameters.dt = float(scene["step"])
        if "iterations" in scene:
            self.world.integration_parameters.num_solver_iterations = int(scene["iterations"])
        for point, normal in zip(scene["plane_point"], scene["plane_normal"]):
            wall = rapier3d.Collider.halfspace(tuple(map(float, normal)))
            self.world.add_collider(self._material(wall.translation(tuple(map(float, point))), scene))
        self.handles = [self._add(scene, k) for k in range(len(scene["position"]))]

    def _material(self, collider: Any, scene: dict[str, np.ndarray]) -> Any:
        return collider.friction(float(scene["friction"])).restitution(float(scene["restitution"]))

    def _add(self, scene: dict[str, np.ndarray], k: int) -> Any:
        place = tuple(map(float, scene["position"][k]))
        turn = rapier3d.Rotation3.from_quaternion(*map(float, scene["orientation"][k]))
        body = rapier3d.RigidBody.dynamic().position(rapier3d.Isometry3(place, turn))
        body = body.linvel(tuple(map(float, scene["velocity"][k]))).can_sleep(False)
        size = [float(s) for s in scene["size"]]
        made = rapier3d.Collider
        shape = made.ball(size[0]) if len(size) == 1 else made.cuboid(*(0.5 * s for s in size))
        return self.world.add_body(body, [self._material(shape.mass(float(scene["mass"])), scene)])

    def step(self) -> None:
        self.world.step()

    def poses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        bodies = [self.world.rigid_bodies[handle] for handle in self.handles]
        turns = [body.rotation for body in bodies]
        place = np.array([body.translation.to_tuple() for body in bodies])
        return place, np.array([(q.w, q.i, q.j, q.k) for q in turns]), np.array([b.linvel.to_tuple() for b in bodies])
