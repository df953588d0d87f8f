"""Carom inside pymunk (Chipmunk): rigid bodies in 2D."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel, lean
from ..laws import Law
from ..problem.joints import Joints, joints_between
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.rows import Floats, Ints
from . import Bridge, missing, slowest_impact

try:
    import pymunk
    import pymunk.batch
except ImportError as absent:
    raise missing("pymunk") from absent


STATE = (
    pymunk.batch.BodyFields.POSITION
    | pymunk.batch.BodyFields.ANGLE
    | pymunk.batch.BodyFields.VELOCITY
    | pymunk.batch.BodyFields.ANGULAR_VELOCITY
)
X, Y, ANGLE, VX, VY, SPIN = range(6)  # columns of the state of a body, in the order of pymunk.batch
SPRINGS = (pymunk.DampedSpring, pymunk.DampedRotarySpring)  # forces, which give no impulse in an instant


class PymunkBridge(Bridge):
    """Impacts of a pymunk space. Restitution None takes the product of the elasticities, as pymunk does.

    pymunk finds shapes that overlap. To find them a step earlier, each moving shape is queried with its radius enlarged
    by the distance that the fastest body covers. Static and kinematic bodies are boundaries with their own velocity.
    Pivot joints and pin joints are joints of the impact, which does not change their speeds; springs
    give no impulse. Other constraints are refused.

    Steps in which nothing can impact cost one kernel on the state of all bodies. It knows the shapes of the first step,
    and takes them again when bodies or shapes are added or removed; after other changes of a shape call `forget`.
    """

    def __init__(self, space: Any, time_step: float, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.space, self._time_step = space, time_step
        self.bodies: list[Any] = []
        self._known: tuple[int, int] | None = None
        self._outlines: Outlines | None = None
        self._buffer = pymunk.batch.Buffer()

    @property
    def time_step(self) -> float:
        return self._time_step

    @property
    def gravity(self) -> Any:
        return self.space.gravity

    def forget(self) -> None:
        """Lets the next step take the shapes of the space again: after a change of one of them in place."""
        self._known = None

    def step(self) -> ImpactSolution | None:
        """Resolves what impacts during the next time step, then lets the engine make that step."""
        space, buffer = self.space, self._buffer
        known = (len(space.shapes), len(space.bodies))
        if known != self._known:
            self._known, self._outlines = known, outlines(space)
        buffer.clear()
        pymunk.batch.get_space_bodies(space, STATE, buffer)
        numbers = (self.touch, self.threshold, self._time_step)
        if may_impact(self._outlines, np.frombuffer(buffer.float_buf()), space.gravity, numbers):
            return super().step()
        self.advance()
        return None

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


# ---- steps without impact


class Outlines(NamedTuple):
    """The shapes of a space as vertices, one for a circle, in the frames of their bodies, rounded by radii."""

    body: Ints  # (s,) place of the body of each shape in the state; -1 for the static body of the space
    ptr: Ints  # (s + 1,) first vertex of each shape
    vertex: Floats  # (v, 2)
    center: Floats  # (s, 2) mean of the vertices
    gravity_center: Floats  # (s, 2) that of the body
    radius: Floats  # (s,) of rounding
    reach: Floats  # (s,) farthest vertex from the center
    pair: Ints  # (p, 2) shapes that may touch
    fixed: Floats  # (6,) state of the static body


def outlines(space: Any) -> Outlines:
    """The shapes of a space, and the pairs that collide: of two bodies, of which one moves, and not filtered out."""
    buffer = pymunk.batch.Buffer()
    pymunk.batch.get_space_bodies(space, pymunk.batch.BodyFields.BODY_ID, buffer)
    place = {int(k): i for i, k in enumerate(np.frombuffer(buffer.int_buf(), np.uintp))}
    shapes = [shape for shape in space.shapes if not shape.sensor]
    vertices = [_vertices(shape) for shape in shapes]
    centers = [np.mean(points, axis=0) for points in vertices]
    reach = [np.linalg.norm(points - center, axis=1).max() for points, center in zip(vertices, centers, strict=True)]
    dynamic = [shape.body.body_type == pymunk.Body.DYNAMIC for shape in shapes]
    pairs = [
        (i, j)
        for j, second in enumerate(shapes)
        for i, first in enumerate(shapes[:j])
        if first.body is not second.body
        and (dynamic[i] or dynamic[j])
        and not first.filter.rejects_collision(second.filter)
    ]
    count, static = len(shapes), space.static_body
    return Outlines(
        np.array([place.get(shape.body.id, -1) for shape in shapes], np.int64),
        np.cumsum([0, *map(len, vertices)]),
        np.concatenate([*vertices, np.zeros((0, 2))]),
        np.array(centers).reshape(count, 2),
        np.array([tuple(shape.body.center_of_gravity) for shape in shapes]).reshape(count, 2),
        np.array([shape.radius for shape in shapes], float),
        np.array(reach, float),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.array([*static.position, static.angle, 0.0, 0.0, 0.0]),
    )


def _vertices(shape: Any) -> Floats:
    """The vertices (v, 2) of a shape in the frame of its body: the center of a circle, the ends of a segment."""
    if isinstance(shape, pymunk.Circle):
        return np.array([tuple(shape.offset)])
    points = (shape.a, shape.b) if isinstance(shape, pymunk.Segment) else shape.get_vertices()
    return np.array([tuple(point) for point in points])


@kernel
def may_impact(outlines, flat, gravity, numbers):
    """Whether a pair of shapes may close within the time step at the speed of an impact.

    Circles about the centers of shapes tell which pairs may touch. `flat` are the states of all bodies, `numbers` those
    of `Bridge.closing`.
    """
    touch, threshold, h = numbers
    slowest = slowest_impact(threshold, np.hypot(gravity[0], gravity[1]), h)
    state, count = flat.reshape(-1, 6), len(outlines.body)
    frame = np.empty((count, 10))
    for s in range(count):
        _place(outlines, state, s, h, frame[s])
    for p in range(len(outlines.pair)):
        i, j = outlines.pair[p, 0], outlines.pair[p, 1]
        dx, dy = frame[j, 4] - frame[i, 4], frame[j, 5] - frame[i, 5]
        lead = frame[i, 9] + frame[j, 9] + touch
        if dx * dx + dy * dy <= lead * lead and _approach_of(outlines, i, j, frame[i], frame[j], touch, h) > slowest:
            return True
    return False


@lean
def _place(outlines, state, s, h, out):
    """Writes frame, center, velocity at the center and spin of shape s, and how far from there it reaches in a step."""
    b = outlines.body[s]
    own = state[b] if b >= 0 else outlines.fixed
    cos, sin = (np.cos(own[ANGLE]), np.sin(own[ANGLE])) if own[ANGLE] != 0.0 else (1.0, 0.0)
    cx, cy = outlines.center[s, 0], outlines.center[s, 1]
    ax, ay = cx - outlines.gravity_center[s, 0], cy - outlines.gravity_center[s, 1]
    out[0], out[1], out[2], out[3] = own[X], own[Y], cos, sin
    out[4], out[5] = own[X] + cos * cx - sin * cy, own[Y] + sin * cx + cos * cy
    out[6], out[7] = own[VX] - own[SPIN] * (sin * ax + cos * ay), own[VY] + own[SPIN] * (cos * ax - sin * ay)
    out[8] = own[SPIN]
    out[9] = outlines.reach[s] + outlines.radius[s] + h * (abs(out[6]) + abs(out[7]) + abs(out[8]) * outlines.reach[s])


@lean
def _approach_of(outlines, i, j, a, b, touch, h):
    """A bound on the approach of shapes i and j that may touch within the step: exact for circles, 0 if they do not."""
    vx, vy = b[6] - a[6], b[7] - a[7]
    turning = abs(a[8]) * outlines.reach[i] + abs(b[8]) * outlines.reach[j]
    if outlines.reach[i] > 0.0 or outlines.reach[j] > 0.0:
        return np.sqrt(vx * vx + vy * vy) + turning
    dx, dy = b[4] - a[4], b[5] - a[5]
    distance = np.sqrt(dx * dx + dy * dy)
    if distance == 0.0:
        return np.inf
    speed = (dx * vx + dy * vy) / distance
    return -speed if distance - outlines.radius[i] - outlines.radius[j] + h * speed <= touch else 0.0


# ---- exact search


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
