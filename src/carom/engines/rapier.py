"""Rapier (Python package rapier3d) as an engine of the conformance suite."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import rapier3d


class Rapier:
    """Coefficients of two colliders are averaged, so each has that of the scene."""

    title = f"Rapier {version('rapier3d')}"
    dimension = 3
    step_size, iterations = 1e-4, 4

    def __init__(self) -> None:
        self.settings = f"step {self.step_size:g}, {self.iterations} solver iterations, friction 0, restitution c"

    def start(self, restitution: float) -> None:
        self.world = rapier3d.PhysicsWorld(gravity=(0.0, 0.0, 0.0))
        self.world.set_num_threads(1)
        self.world.integration_parameters.dt = self.step_size
        self.world.integration_parameters.num_solver_iterations = self.iterations
        self.restitution = restitution
        self.handles: list[Any] = []

    def _material(self, collider: Any) -> Any:
        return collider.friction(0.0).restitution(self.restitution)

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        shape = rapier3d.Collider.ball(size[0]) if len(size) == 1 else rapier3d.Collider.cuboid(*size)
        self._add([shape.mass(mass)], position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        own = mass / len(parts)
        boxes = [rapier3d.Collider.cuboid(*half).translation(tuple(center)).mass(own) for center, half in parts]
        self._add(boxes, position, velocity)

    def _add(self, shapes: list[Any], position: list[float], velocity: list[float]) -> None:
        body = rapier3d.RigidBody.dynamic().translation(tuple(position)).can_sleep(False)
        body = body.linvel(tuple(velocity[:3])).angvel(tuple(velocity[3:]))
        self.handles.append(self.world.add_body(body, [self._material(shape) for shape in shapes]))

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        wall = self._material(rapier3d.Collider.halfspace(tuple(normal)))
        moving = tuple(speed * n for n in normal)
        body = rapier3d.RigidBody.kinematic_velocity_based().translation(tuple(point)).linvel(moving)
        self.world.add_body(body, [wall])

    def step(self) -> None:
        self.world.step()

    def velocities(self) -> Any:
        bodies = [self.world.rigid_bodies[handle] for handle in self.handles]
        return [(*body.linvel.to_tuple(), *body.angvel.to_tuple()) for body in bodies]
