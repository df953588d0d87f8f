"""Box2D (Python package Box2D) as an engine of the conformance suite."""

from __future__ import annotations

from typing import Any

import Box2D

SPEED = 100.0  # unit of speed: Box2D treats approaches slower than 1 length unit per second as inelastic
LONG, THICK = 100.0, 5.0  # half sizes of the box that stands for a plane


class Box2DEngine:
    """Restitution of two fixtures is the larger one. Shapes have a skin of 0.01 length units in which contacts act."""

    title = f"Box2D {Box2D.__version__}"
    dimension = 2
    step_size, iterations = 1e-4, 1000

    def __init__(self) -> None:
        self.settings = (
            f"step {self.step_size:g}, {self.iterations} velocity iterations, 10 position iterations, no sleeping, "
            f"no warm starting, restitution c, speeds times {SPEED:g}"
        )

    def start(self, restitution: float) -> None:
        self.world = Box2D.b2World(gravity=(0.0, 0.0), doSleep=False, warmStarting=False)
        self.material = {"friction": 0.0, "restitution": restitution}
        self.bodies: list[Any] = []

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        body = self._add(position, velocity)
        if len(size) == 1:
            body.CreateCircleFixture(radius=size[0], density=mass / (3.141592653589793 * size[0] ** 2), **self.material)
        else:
            body.CreatePolygonFixture(box=tuple(size), density=mass / (4.0 * size[0] * size[1]), **self.material)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        body = self._add(position, velocity)
        for center, half in parts:
            box, density = (*half, tuple(center), 0.0), mass / (4.0 * half[0] * half[1] * len(parts))
            body.CreatePolygonFixture(box=box, density=density, **self.material)
        body.linearVelocity = [SPEED * v for v in velocity[:2]]  # fixtures that move the center of mass change it

    def _add(self, position: list[float], velocity: list[float]) -> Any:
        body = self.world.CreateDynamicBody(
            position=position,
            linearVelocity=[SPEED * v for v in velocity[:2]],
            angularVelocity=SPEED * velocity[2],
            allowSleep=False,
        )
        self.bodies.append(body)
        return body

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        x, y = normal
        body = self.world.CreateKinematicBody(linearVelocity=(SPEED * speed * x, SPEED * speed * y))
        along = [(-y * LONG, x * LONG), (y * LONG, -x * LONG)]
        ends = [(point[0] + a - d * x, point[1] + b - d * y) for d in (0.0, 2 * THICK) for a, b in along]
        body.CreatePolygonFixture(vertices=[ends[0], ends[1], ends[3], ends[2]], density=0.0, **self.material)

    def step(self) -> None:
        self.world.Step(self.step_size / SPEED, self.iterations, 10)

    def velocities(self) -> Any:
        found = ((*body.linearVelocity, body.angularVelocity) for body in self.bodies)
        return [[v / SPEED for v in velocity] for velocity in found]
