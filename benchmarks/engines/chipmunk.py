"""pymunk (Chipmunk): discs in 2D."""

from __future__ import annotations

import numpy as np
import pymunk

SLOP = 1e-3  # overlap that is left alone, in diameters; the default, 0.1 length units, is meant for pixels
LONG = 1e3  # half length of the segment that stands for a plane, in diameters
THICK = 5.0  # half thickness of that segment, in diameters


class World:
    """A scene in pymunk. Coefficients of two bodies are multiplied, so each has the square root of the scene's.

    `iterations` of the solver and `substeps` per step of the scene are entries of the scene.
    """

    version = pymunk.version

    def __init__(self, scene: dict[str, np.ndarray]) -> None:
        self.substeps = int(scene["substeps"])
        self.h = float(scene["step"]) / self.substeps
        self.space = pymunk.Space()
        self.space.gravity = tuple(map(float, scene["gravity"]))
        self.space.iterations = int(scene["iterations"])
        diameter = 2.0 * float(scene["size"].max())
        self.space.collision_slop = SLOP * diameter
        self.space.use_spatial_hash(diameter, 10 * len(scene["position"]))
        mu, e = float(scene["friction"]) ** 0.5, float(scene["restitution"]) ** 0.5
        for point, normal in zip(scene["plane_point"], scene["plane_normal"]):
            center, along = point - THICK * diameter * normal, LONG * diameter * np.array([-normal[1], normal[0]])
            ends = [tuple(map(float, center + sign * along)) for sign in (-1.0, 1.0)]
            self._shape(pymunk.Segment(self.space.static_body, *ends, THICK * diameter), mu, e)
        radius = np.broadcast_to(scene["size"], len(scene["position"]))
        mass = float(scene["mass"])
        self.bodies = []
        for r, place, speed in zip(radius, scene["position"], scene["velocity"]):
            body = pymunk.Body(mass, pymunk.moment_for_circle(mass, 0.0, float(r)))
            body.position, body.velocity = tuple(map(float, place)), tuple(map(float, speed))
            self.bodies.append(body)
            self.space.add(body)
            self._shape(pymunk.Circle(body, float(r)), mu, e)

    def _shape(self, shape: pymunk.Shape, friction: float, restitution: float) -> None:
        shape.friction, shape.elasticity = friction, restitution
        self.space.add(shape)

    def step(self) -> None:
        for _ in range(self.substeps):
            self.space.step(self.h)

    def poses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        place = np.array([tuple(body.position) for body in self.bodies])
        return place, np.array([b.angle for b in self.bodies]), np.array([tuple(b.velocity) for b in self.bodies])
