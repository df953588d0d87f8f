"""pymunk (Chipmunk) as an engine of the conformance suite."""

from __future__ import annotations

from typing import Any

import pymunk

START_OVERLAP = 1e-9  # of touching bodies: Chipmunk sees contacts that overlap
LONG, THICK = 100.0, 5.0  # half length and half thickness of the segment that stands for a plane


class Pymunk:
    """Elasticities of two shapes are multiplied, so each has the square root."""

    title = f"pymunk {pymunk.version}"
    dimension = 2
    step_size, iterations = 1e-4, 1000

    def __init__(self) -> None:
        self.settings = (
            f"step {self.step_size:g}, {self.iterations} iterations, collision_slop 0, collision_bias 1, "
            f"elasticity sqrt(c) per shape, overlap {START_OVERLAP:g}"
        )

    def start(self, restitution: float) -> None:
        self.space = pymunk.Space()
        self.space.iterations = self.iterations
        self.space.collision_slop, self.space.collision_bias = 0.0, 1.0
        self.elasticity = restitution**0.5
        self.bodies: list[Any] = []

    def add_body(self, mass: float, size: list[float], position: list[float], velocity: list[float]) -> None:
        body = pymunk.Body(mass, 1.0)
        if len(size) == 1:
            body.moment = pymunk.moment_for_circle(mass, 0.0, size[0])
            shape: Any = pymunk.Circle(body, size[0] + START_OVERLAP)
        else:
            width, height = (2.0 * half for half in size)
            body.moment = pymunk.moment_for_box(mass, (width, height))
            shape = pymunk.Poly.create_box(body, (width + 2 * START_OVERLAP, height + 2 * START_OVERLAP))
        self._add(body, [shape], position, velocity)

    def add_parts(self, mass: float, parts: list[Any], position: list[float], velocity: list[float]) -> None:
        body = pymunk.Body(mass, 1.0)
        shapes, squares = [], 0.0
        for center, half in parts:
            right, up = half[0] + START_OVERLAP, half[1] + START_OVERLAP
            moved = pymunk.Transform.translation(*center)
            shapes.append(pymunk.Poly(body, [(-right, -up), (right, -up), (right, up), (-right, up)], moved))
            squares += (half[0] ** 2 + half[1] ** 2) / 3.0 + center[0] ** 2 + center[1] ** 2
        body.moment = mass * squares / len(parts)
        self._add(body, shapes, position, velocity)

    def _add(self, body: Any, shapes: list[Any], position: list[float], velocity: list[float]) -> None:
        body.position, body.velocity, body.angular_velocity = tuple(position), tuple(velocity[:2]), velocity[2]
        for shape in shapes:
            shape.elasticity = self.elasticity
        self.space.add(body, *shapes)
        self.bodies.append(body)

    def add_plane(self, point: list[float], normal: list[float], speed: float) -> None:
        body = pymunk.Body(body_type=pymunk.Body.KINEMATIC)
        outward = pymunk.Vec2d(*normal)
        body.position, body.velocity = pymunk.Vec2d(*point) - THICK * outward, speed * outward
        along = LONG * outward.perpendicular()
        segment = pymunk.Segment(body, -along, along, THICK)
        segment.elasticity = self.elasticity
        self.space.add(body, segment)

    def step(self) -> None:
        self.space.step(self.step_size)

    def velocities(self) -> Any:
        return [(*body.velocity, body.angular_velocity) for body in self.bodies]
