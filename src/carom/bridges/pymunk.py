"""Carom inside pymunk (Chipmunk): rigid bodies in 2D."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..laws import Law
from ..problem.joints import Joints, joints_between
from ..problem.problem import ImpactProblem
from ..solvers.rows import Floats
from . import Bridge, missing

try:
    import pymunk
except ImportError as absent:
    raise missing("pymunk") from absent


SPRINGS = (pymunk.DampedSpring, pymunk.DampedRotarySpring)  # forces, which give no impulse in an instant


class PymunkBridge(Bridge):
    """Impacts of a pymunk space. Restitution None takes the product of the elasticities, as pymunk does.

    pymunk finds shapes that overlap. To find them a step earlier, each moving shape is queried with its radius enlarged
    by the distance that the fastest body covers. Static and kinematic bodies are boundaries with their own velocity.
    Pivot joints and pin joints are joints of the impact, which does not change their speeds; springs
    give no impulse. Other constraints are refused.
    """

    def __init__(self, space: Any, time_step: float, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.space, self._time_step = space, time_step
        self.bodies: list[Any] = []

    @property
    def time_step(self) -> float:
        return self._time_step

    def detect(self) -> tuple[ImpactProblem, Floats] | None:
        self.bodies = [body for body in self.space.bodies if body.body_type == pymunk.Body.DYNAMIC]
        number = {body: k for k, body in enumerate(self.bodies)}
        found = list(self._contacts(number))
        if not found:
            return None
        pairs, points, normals, gaps, bounds, mu, e = (
            np.array(column, dtype=float) for column in zip(*found, strict=True)
        )
        places = [tuple(body.local_to_world(body.center_of_gravity)) for body in self.bodies]
        velocities = np.array([(*body.velocity, body.angular_velocity) for body in self.bodies])
        if self.at_rest(
            gaps, _approach(pairs.astype(np.int64), points, normals, np.array(places), velocities) + bounds
        ):
            return None
        problem = ImpactProblem.from_contacts(
            places,
            [body.mass for body in self.bodies],
            [body.moment for body in self.bodies],
            velocities,
            pairs,
            points,
            normals,
            boundary_speed=bounds,
            restitution=e,
            friction=mu,
            joints=self._joints(number, np.array(places), velocities),
            name="pymunk",
        )
        return problem, gaps

    def _joints(self, number: dict[Any, int], places: Floats, velocities: Floats) -> Joints | None:
        """The constraints that prescribe a velocity, at the speeds that they have."""
        tables: list[dict[str, Any]] = []
        for constraint in self.space.constraints:
            pair = [number.get(body, -1) for body in (constraint.a, constraint.b)]
            if isinstance(constraint, SPRINGS) or pair == [-1, -1]:
                continue
            if isinstance(constraint, pymunk.PivotJoint):
                point = constraint.a.local_to_world(constraint.anchor_a)
                tables.append({"kind": "pin", "bodies": pair, "point": tuple(point)})
            elif isinstance(constraint, pymunk.PinJoint):
                ends = [
                    tuple(body.local_to_world(anchor))
                    for body, anchor in ((constraint.a, constraint.anchor_a), (constraint.b, constraint.anchor_b))
                ]
                tables.append({"kind": "rod", "bodies": pair, "ends": ends})
            else:
                kind = type(constraint).__name__
                raise ProblemError("constraint", kind, "PivotJoint, PinJoint, DampedSpring or DampedRotarySpring")
        return joints_between(tables, places, 3).holding(velocities) if tables else None

    def _contacts(self, number: dict[Any, int]) -> Iterator[tuple[Any, ...]]:
        """(bodies, point, normal, gap, boundary speed, friction, restitution) of each contact of a moving body."""
        reach = self.touch + 2.0 * self.time_step * max((_speed(body) for body in self.bodies), default=0.0)
        for body, first in number.items():
            for shape in body.shapes:
                radius = shape.radius
                shape.unsafe_set_radius(radius + reach)
                met = self.space.shape_query(shape)
                shape.unsafe_set_radius(radius)
                for other, points in ((info.shape, info.contact_point_set) for info in met):
                    second = number.get(other.body, -1)
                    if 0 <= second <= first or shape.sensor or other.sensor:
                        continue
                    for point in points.points:
                        near = point.point_a - reach * points.normal
                        gap = (point.point_b - near).dot(points.normal)
                        place = 0.5 * (near + point.point_b)
                        moved = other.body.velocity_at_world_point(place).dot(points.normal) if second < 0 else 0.0
                        mu, e = shape.friction * other.friction, shape.elasticity * other.elasticity
                        yield (first, second), tuple(place), tuple(points.normal), gap, moved, mu, min(e, 1.0)

    def write(self, velocity: Floats) -> None:
        for body, (vx, vy, spin) in zip(self.bodies, velocity.tolist(), strict=True):
            body.velocity, body.angular_velocity = (vx, vy), spin

    def advance(self) -> None:
        self.space.step(self.time_step)


def _approach(pairs: Any, points: Floats, normals: Floats, places: Floats, velocities: Floats) -> Floats:
    """Normal speeds (m,) of contacts without those of boundaries."""
    speed = np.zeros(len(pairs))
    for side, sign in ((0, -1.0), (1, 1.0)):
        moved, body = pairs[:, side] >= 0, pairs[:, side]
        arm = points - places[body]
        own = velocities[body, :2] + velocities[body, 2:] * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
        speed += np.where(moved, sign * (own * normals).sum(axis=1), 0.0)
    return speed


def _speed(body: Any) -> float:
    """Largest speed of any point of a body."""
    boxes = [shape.bb for shape in body.shapes]
    corners = [pymunk.Vec2d(x, y) for box in boxes for x in (box.left, box.right) for y in (box.bottom, box.top)]
    arm = max((abs(body.position - corner) for corner in corners), default=0.0)
    return float(abs(body.velocity) + abs(body.angular_velocity) * arm)
