"""Carom inside pymunk (Chipmunk): rigid bodies in 2D."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..laws import Law
from ..problem.checks import finite, frozen, positive
from ..problem.joints import Joints
from ..problem.mass import DiagonalMass, rows_from_pairs
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..solvers.rows import Floats, Ints
from . import Bridge, missing
from .outlines import ANGLE, VX, X, Y, may_impact, near_pairs, outlines

try:
    import pymunk
    import pymunk.batch
except ImportError as absent:
    raise missing("pymunk") from absent


STATE = (
    pymunk.batch.BodyFields.BODY_ID
    | pymunk.batch.BodyFields.POSITION
    | pymunk.batch.BodyFields.ANGLE
    | pymunk.batch.BodyFields.VELOCITY
    | pymunk.batch.BodyFields.ANGULAR_VELOCITY
)
# What an impact does not change, what it may open, and forces, which give no impulse in an instant.
HOLDING = (pymunk.PivotJoint, pymunk.PinJoint, pymunk.GrooveJoint, pymunk.GearJoint, pymunk.SimpleMotor)
ONE_SIDED = (pymunk.SlideJoint, pymunk.RotaryLimitJoint, pymunk.RatchetJoint)
SPRINGS = (pymunk.DampedSpring, pymunk.DampedRotarySpring)


class PymunkBridge(Bridge):
    """Impacts of a pymunk space. Restitution None takes the product of the elasticities, as pymunk does.

    One kernel on the state of all bodies finds the pairs of shapes that may impact within a step. pymunk finds shapes
    that overlap: it is asked for the contacts of the near pairs of such an island, with the radius of one shape
    enlarged by the distance that both may cover. Static and kinematic bodies are boundaries with their own velocity.

    Constraints take part in the impact. It does not change the speeds of pins, pivots, grooves, gears and motors.
    Slides, ends of grooves, limits of angles and ratchets are one-sided: if they close, they are contacts without
    restitution. Springs, and constraints with a largest force, give no impulse in an instant. Other kinds are refused.

    The bridge knows the shapes and constraints of the first step, and takes them again when some are added or removed;
    after a change of one of them in place call `forget`.
    """

    def __init__(self, space: Any, time_step: float, law: str | Law = "gr", **options: Any) -> None:
        """`options` are those of `Bridge`: restitution, touch, threshold."""
        super().__init__(law, **options)
        self.space, self._time_step = space, time_step
        self.bodies: list[Any] = []  # of the last problem
        self._buffer = pymunk.batch.Buffer()
        self.forget()

    @property
    def time_step(self) -> float:
        return self._time_step

    @property
    def gravity(self) -> Any:
        return self.space.gravity

    def forget(self) -> None:
        """Lets the next step take the shapes of the space again: after a change of one of them in place."""
        self._known: tuple[Any, ...] = ()

    def _state(self) -> Floats:
        """Position, angle, velocity and spin of all bodies, one after the other."""
        space, buffer = self.space, self._buffer
        buffer.clear()
        pymunk.batch.get_space_bodies(space, STATE, buffer)
        known = (bytes(buffer.int_buf()), len(space.shapes), len(space.constraints))
        if known != self._known:
            self._known = known
            order = {int(number): k for k, number in enumerate(np.frombuffer(known[0], np.uintp))}
            self._outlines = outlines(space, order)
            self._shapes = [shape for shape in space.shapes if not shape.sensor]
            self._bodies = sorted(space.bodies, key=lambda body: order[body.id])
            self._order = {body: order[body.id] for body in space.bodies}
            self._gravity_centers = np.zeros((2, len(order)))
            for body, k in self._order.items():
                self._gravity_centers[:, k] = body.center_of_gravity
            self._place = {body: order[body.id] for body in space.bodies if body.body_type == pymunk.Body.DYNAMIC}
            self._movable = np.array([body in self._place for body in self._bodies] + [False])
            self._constraints = [constraint for constraint in space.constraints if acts(constraint)]
            self._one_sided = [c for c in self._constraints if isinstance(c, (*ONE_SIDED, pymunk.GrooveJoint))]
            links = [[self._place.get(body, -1) for body in (c.a, c.b)] for c in self._constraints]
            self._links = np.array(links, np.int64).reshape(-1, 2)
        return np.frombuffer(buffer.float_buf())

    def step(self) -> ImpactSolution | None:
        """Resolves what impacts during the next time step, then lets the engine make that step."""
        state, solution = self._state(), None
        numbers = (self.touch, self.threshold, self._time_step)
        if may_impact(self._outlines, state, self.space.gravity, numbers):
            solution = self._answered(self._found(state, self._time_step))
        self.advance()
        return solution

    def detect(self, horizon: float) -> ImpactProblem | None:
        return self._found(self._state(), horizon)

    def _found(self, state: Floats, horizon: float) -> ImpactProblem | None:
        """The impact within a time."""
        numbers = (self.touch, self.threshold, horizon)
        pairs, speed, reach = near_pairs(self._outlines, state, numbers)
        if len(pairs) == 0:
            return None
        # Bounds on approach tell which islands may have an impact: only there pymunk is asked for contacts.
        owners = self._outlines.body[pairs]
        free, nothing = np.where(self._movable[owners], owners, -1), np.zeros(len(pairs))
        near, _ = self.impacting(free, nothing, -speed, horizon, self._links)
        contacts = list(self._contacts(pairs[near], reach[near]))
        if not contacts:
            return None
        place, given = np.array([pair for pair, _ in contacts]), np.array([numbers for _, numbers in contacts])
        rows, given = self._rows_of(state, place, given[:, 3:]), given[:, :3]
        limits = [limit for constraint in self._one_sided for limit in _limits(constraint)]
        if limits:
            place = np.concatenate([place, [[self._order.get(body, -1) for body in limit.pair] for limit in limits]])
            rows = np.concatenate([rows, [limit.rows() for limit in limits]])
            given = np.concatenate([given, [(limit.gap, 0.0, 0.0) for limit in limits]])
        speeds = np.concatenate([state.reshape(-1, 6)[:, VX:], np.zeros((1, 3))])  # the static body is the last one
        moving, bodies = speeds[place].reshape(-1, 1, 6), np.where(self._movable[place], place, -1)
        approach = (rows[:, 0] * moving[:, 0]).sum(axis=1)
        chosen, own = self.impacting(bodies, given[:, 0], approach, horizon, self._links)
        if len(chosen) == 0:
            return None
        self.bodies = [self._bodies[k] for k in own]
        number = np.full(len(self._bodies) + 1, -1)
        number[own] = np.arange(len(own))
        fixed = moving * np.repeat(bodies < 0, 3, axis=1)[:, None]
        boundary = (rows * fixed).sum(axis=2)[chosen]
        velocity = speeds[own]
        mass = finite("mass", [(body.mass, body.mass, body.moment) for body in self.bodies])
        return self.assembled(
            DiagonalMass(positive("mass", mass)),
            number[bodies[chosen]],
            rows[chosen].reshape(-1, 2, 2, 3),
            velocity,
            boundary=boundary,
            friction=given[chosen, 1],
            restitution=given[chosen, 2],
            joints=self._held(number, velocity),
            name="pymunk",
        )

    def _held(self, number: Ints, velocity: Floats) -> Joints | None:
        """The constraints of the bodies with a number, at the speeds that these have."""
        rows, pairs, links = [], [], number[self._links]
        for k in np.flatnonzero((links >= 0).any(axis=1)):
            made = _rows(self._constraints[k])
            rows += made
            pairs += [links[k]] * len(made)
        if not rows:
            return None
        held = rows_from_pairs(np.array(pairs), np.reshape(rows, (-1, 2, 3)))
        return Joints(held, frozen(held.times(velocity)), tuple(f"joints[{k}]" for k in range(len(rows))))

    def _rows_of(self, state: Floats, place: Ints, where: Floats) -> Floats:
        """Normal and tangent rows (m, 2, 6) of contacts of the bodies `place` (m, 2), at points with normals (m, 4)."""
        body = state.reshape(-1, 6)
        cos, sin, (x, y) = np.cos(body[:, ANGLE]), np.sin(body[:, ANGLE]), self._gravity_centers
        center = np.zeros((len(body) + 1, 2))
        center[:-1, 0], center[:-1, 1] = body[:, X] + cos * x - sin * y, body[:, Y] + sin * x + cos * y
        arm, normal = where[:, None, :2] - center[place], where[:, 2:]
        rows = np.empty((len(place), 2, 2, 3))
        for k, direction in enumerate((normal, normal[:, ::-1] * (-1.0, 1.0))):
            rows[:, k, :, :2] = direction[:, None]
            rows[:, k, :, 2] = arm[:, :, 0] * direction[:, None, 1] - arm[:, :, 1] * direction[:, None, 0]
        rows[:, :, 0] *= -1.0
        return rows.reshape(-1, 2, 6)

    def _contacts(self, pairs: Ints, reach: Floats) -> Iterator[tuple[tuple[int, int], tuple[float, ...]]]:
        """The contacts of pairs (p, 2) of shapes that are nearer than the distances (p,).

        Places of two bodies; gap, friction, restitution, a point (2,) and a normal (2,).
        """
        for first in dict.fromkeys(pairs[:, 0].tolist()):
            mine = pairs[:, 0] == first
            shape, grown = self._shapes[first], float(reach[mine].max())
            others = {self._shapes[second] for second in pairs[mine, 1].tolist()}
            radius = shape.radius
            shape.unsafe_set_radius(radius + grown)
            met = self.space.shape_query(shape)
            shape.unsafe_set_radius(radius)
            for other, points in ((info.shape, info.contact_point_set) for info in met if info.shape in others):
                mu, e = shape.friction * other.friction, min(shape.elasticity * other.elasticity, 1.0)
                (nx, ny), pair = points.normal, (self._order.get(shape.body, -1), self._order.get(other.body, -1))
                for point in points.points:
                    (ax, ay), (bx, by) = point.point_a, point.point_b
                    ax, ay = ax - grown * nx, ay - grown * ny
                    gap = (bx - ax) * nx + (by - ay) * ny
                    yield pair, (gap, mu, e, 0.5 * (ax + bx), 0.5 * (ay + by), nx, ny)

    def write(self, velocity: Floats) -> None:
        for body, (vx, vy, spin) in zip(self.bodies, velocity.tolist(), strict=True):
            body.velocity, body.angular_velocity = (vx, vy), spin

    def advance(self) -> None:
        self.space.step(self.time_step)


class Touching(NamedTuple):
    """A limit: two bodies, a point of each, a normal from the first to the second; no points: it stops rotation."""

    pair: tuple[Any, Any]
    points: tuple[Any, Any] | None
    normal: Any
    gap: float

    def rows(self) -> list[list[float]]:
        """Normal row and tangent row over both velocities (6,)."""
        if self.points is None:
            return [[0.0, 0.0, -self.normal, 0.0, 0.0, self.normal], [0.0] * 6]
        x, y = self.normal
        return [_row(self.pair, self.points, (x, y)), _row(self.pair, self.points, (-y, x))]


def _row(pair: tuple[Any, Any], points: tuple[Any, Any], direction: tuple[float, float]) -> list[float]:
    """The relative velocity of two points, second minus first, along a direction: a row over both velocities (6,)."""
    (dx, dy), row = direction, []
    for body, point, sign in zip(pair, points, (-1.0, 1.0), strict=True):
        x, y = point - body.local_to_world(body.center_of_gravity)
        row += [sign * dx, sign * dy, sign * (x * dy - y * dx)]
    return row


# ---- constraints


def acts(constraint: Any) -> bool:
    """Whether a constraint gives impulses in an instant. Refuses kinds that are not known."""
    if not isinstance(constraint, SPRINGS + HOLDING + ONE_SIDED):
        known = ", ".join(kind.__name__ for kind in HOLDING + ONE_SIDED + SPRINGS)
        raise ProblemError("constraint", type(constraint).__name__, f"one of {known}")
    return not isinstance(constraint, SPRINGS) and constraint.max_force == np.inf


def _anchors(constraint: Any) -> tuple[Any, Any]:
    return constraint.a.local_to_world(constraint.anchor_a), constraint.b.local_to_world(constraint.anchor_b)


def _groove(constraint: Any) -> tuple[Any, Any, Any]:
    """The ends of a groove, and the point of the other body that moves in it."""
    ends = (constraint.a.local_to_world(end) for end in (constraint.groove_a, constraint.groove_b))
    return *ends, constraint.b.local_to_world(constraint.anchor_b)


def _rows(constraint: Any) -> list[list[float]]:
    """Rows (6,) whose speeds an impact does not change."""
    pair = (constraint.a, constraint.b)
    if isinstance(constraint, pymunk.PivotJoint):
        return [_row(pair, _anchors(constraint), direction) for direction in ((1.0, 0.0), (0.0, 1.0))]
    if isinstance(constraint, pymunk.PinJoint):
        ends = _anchors(constraint)
        return [_row(pair, ends, (ends[1] - ends[0]).normalized())]
    if isinstance(constraint, pymunk.GrooveJoint):
        low, high, point = _groove(constraint)
        return [_row(pair, (point, point), (high - low).perpendicular_normal())]
    if isinstance(constraint, pymunk.GearJoint):
        return [[0.0, 0.0, -1.0, 0.0, 0.0, constraint.ratio]]
    return [[0.0, 0.0, -1.0, 0.0, 0.0, 1.0]] if isinstance(constraint, pymunk.SimpleMotor) else []


def _limits(constraint: Any) -> list[Touching]:
    """The one-sided parts of a constraint as contacts, whose gaps are distances or angles."""
    pair = (constraint.a, constraint.b)
    turn = constraint.b.angle - constraint.a.angle
    if isinstance(constraint, pymunk.SlideJoint):
        ends = _anchors(constraint)
        length, along = (ends[1] - ends[0]).length, (ends[1] - ends[0]).normalized()
        farthest = Touching(pair, ends, -along, constraint.max - length)
        return [farthest, Touching(pair, ends, along, length - constraint.min)] if constraint.min > 0.0 else [farthest]
    if isinstance(constraint, pymunk.GrooveJoint):
        low, high, point = _groove(constraint)
        along, both = (high - low).normalized(), (point, point)
        return [
            Touching(pair, both, along, (point - low).dot(along)),
            Touching(pair, both, -along, (high - point).dot(along)),
        ]
    if isinstance(constraint, pymunk.RotaryLimitJoint):
        return [Touching(pair, None, 1.0, turn - constraint.min), Touching(pair, None, -1.0, constraint.max - turn)]
    if isinstance(constraint, pymunk.RatchetJoint):
        tooth = constraint.ratchet
        held = np.floor((turn - constraint.phase) / tooth) * tooth + constraint.phase
        return [Touching(pair, None, float(np.sign(tooth)), abs(turn - held))]
    return []
