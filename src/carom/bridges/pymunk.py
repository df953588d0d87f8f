"""Carom inside pymunk (Chipmunk): rigid bodies in 2D."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import ProblemError
from ..kernels import kernel, lean
from ..laws import Law
from ..problem.checks import finite, frozen, positive
from ..problem.joints import Joints
from ..problem.mass import DiagonalMass, rows_from_pairs
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
    pymunk.batch.BodyFields.BODY_ID
    | pymunk.batch.BodyFields.POSITION
    | pymunk.batch.BodyFields.ANGLE
    | pymunk.batch.BodyFields.VELOCITY
    | pymunk.batch.BodyFields.ANGULAR_VELOCITY
)
AXIS_ROUNDING = 1e-9  # distances along axes that differ by less, relative to the size of two shapes, are equal
X, Y, ANGLE, VX, VY, SPIN = range(6)  # columns of the state of a body, in the order of pymunk.batch
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


def outlines(space: Any, place: dict[int, int]) -> Outlines:
    """The shapes of a space, and the pairs that collide: of two bodies, of which one moves, and not filtered out.

    `place` has the places of bodies in the state by their numbers.
    """
    apart = {frozenset((c.a, c.b)) for c in space.constraints if not c.collide_bodies}
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
        and frozenset((first.body, second.body)) not in apart
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

    `flat` are the states of all bodies, `numbers` are `touch` and `threshold` of `Bridge` and the time step.
    """
    touch, threshold, h = numbers
    slowest = slowest_impact(threshold, np.hypot(gravity[0], gravity[1]), h)
    frame, points = _placed(outlines, flat, h)
    for p in range(len(outlines.pair)):
        i, j = outlines.pair[p, 0], outlines.pair[p, 1]
        if _lead(frame, i, j, touch) >= 0.0 and _approach_of(outlines, points, i, j, frame, touch, h) > slowest:
            return True
    return False


@kernel
def near_pairs(outlines, flat, numbers):
    """Pairs (p, 2) of shapes that may touch within a time, bounds (p,) on their approach, and the distances (p,) that
    they may cover."""
    touch, _, h = numbers
    frame, points = _placed(outlines, flat, h)
    pairs, used = outlines.pair, 0
    chosen, speed, reach = np.empty(len(pairs), np.int64), np.empty(len(pairs)), np.empty(len(pairs))
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        if _lead(frame, i, j, touch) >= 0.0:
            chosen[used], speed[used] = p, _approach_of(outlines, points, i, j, frame, touch, h)
            reach[used] = touch + frame[i, 10] + frame[j, 10]
            used += 1
    return pairs[chosen[:used]], speed[:used], reach[:used]


@kernel
def _placed(outlines, flat, h):
    """For each shape (s, 11) its center, velocity there, spin, how far from there it reaches in a step, and how far its
    points move; and all vertices (v, 2). The first four columns are the frame."""
    state, count = flat.reshape(-1, 6), len(outlines.body)
    frame, points = np.empty((count, 11)), np.empty_like(outlines.vertex)
    for s in range(count):
        b = outlines.body[s]
        own, out = state[b] if b >= 0 else outlines.fixed, frame[s]
        cos, sin = (np.cos(own[ANGLE]), np.sin(own[ANGLE])) if own[ANGLE] != 0.0 else (1.0, 0.0)
        cx, cy = outlines.center[s, 0], outlines.center[s, 1]
        ax, ay = cx - outlines.gravity_center[s, 0], cy - outlines.gravity_center[s, 1]
        out[0], out[1], out[2], out[3] = own[X], own[Y], cos, sin
        out[4], out[5] = own[X] + cos * cx - sin * cy, own[Y] + sin * cx + cos * cy
        out[6], out[7] = own[VX] - own[SPIN] * (sin * ax + cos * ay), own[VY] + own[SPIN] * (cos * ax - sin * ay)
        out[8] = own[SPIN]
        out[10] = h * (abs(out[6]) + abs(out[7]) + abs(out[8]) * outlines.reach[s])
        out[9] = outlines.reach[s] + outlines.radius[s] + out[10]
        for k in range(outlines.ptr[s], outlines.ptr[s + 1]):
            x, y = outlines.vertex[k, 0], outlines.vertex[k, 1]
            points[k, 0], points[k, 1] = own[X] + cos * x - sin * y, own[Y] + sin * x + cos * y
    return frame, points


@kernel(inline="always")
def _lead(frame, i, j, touch):
    """Squared distance at which circles about shapes i and j meet within the step, less that of their centers."""
    dx, dy = frame[j, 4] - frame[i, 4], frame[j, 5] - frame[i, 5]
    lead = frame[i, 9] + frame[j, 9] + touch
    return lead * lead - dx * dx - dy * dy


@lean
def _approach_of(outlines, points, i, j, frame, touch, h):
    """A bound on the approach of shapes i and j that may touch within the step; 0 if an axis keeps them apart.

    Axes are the normals of edges; for circles the directions from all vertices as well. The one with the largest
    distance is the normal of the contact, unless two vertices are nearest to each other.
    """
    a, b, reach = frame[i], frame[j], outlines.reach
    vx, vy = b[6] - a[6], b[7] - a[7]
    turning = abs(a[8]) * reach[i] + abs(b[8]) * reach[j]
    if reach[i] == 0.0 and reach[j] == 0.0 and a[4] == b[4] and a[5] == b[5]:
        return np.inf
    rounding, best, approach = outlines.radius[i] + outlines.radius[j], -np.inf, 0.0
    for side in range(2):
        s, o, sign = (i, j, 1.0) if side == 0 else (j, i, -1.0)
        first, last = outlines.ptr[s], outlines.ptr[s + 1]
        center, count = outlines.ptr[o], last - first
        round_other = outlines.ptr[o + 1] - center == 1
        for k in range(first, last + count if round_other else last):
            if k < last:  # an edge
                e = k + 1 if k + 1 < last else first
                nx, ny = points[e, 1] - points[k, 1], points[k, 0] - points[e, 0]
            else:
                nx, ny = points[center, 0] - points[k - count, 0], points[center, 1] - points[k - count, 1]
            length = np.sqrt(nx * nx + ny * ny)
            if length == 0.0:
                continue
            nx, ny = nx / length, ny / length
            gap = _least(points, center, outlines.ptr[o + 1], nx, ny) + _least(points, first, last, -nx, -ny) - rounding
            speed = -sign * (vx * nx + vy * ny)
            if gap - h * max(speed + turning, 0.0) > touch:
                return 0.0
            if gap > best:
                best, approach = gap, speed
    if reach[i] > 0.0 and reach[j] > 0.0:
        along = _approach_of_edges(outlines, points, i, j, frame, touch, h, best + rounding)
        return along if along >= 0.0 else np.sqrt(vx * vx + vy * vy) + turning
    return approach + turning


@lean
def _approach_of_edges(outlines, points, i, j, frame, touch, h, best):
    """The fastest approach of vertices of polygons i and j that may close within the step, along the contact's normal.

    It is that of an edge with the largest distance `best` of the polygons without their rounding. Contacts lie at
    vertices, at which the other polygon is beside them. -1 where two vertices are nearest to each other.
    """
    lead, rounding = touch + frame[i, 10] + frame[j, 10], outlines.radius[i] + outlines.radius[j]
    equal, fastest = AXIS_ROUNDING * (outlines.reach[i] + outlines.reach[j]), 0.0
    slack = abs(frame[i, 8] - frame[j, 8]) * equal  # to shift a contact along the normal does not change its approach
    for side in range(2):
        s, o = (i, j) if side == 0 else (j, i)
        first, last, low, high = outlines.ptr[s], outlines.ptr[s + 1], outlines.ptr[o], outlines.ptr[o + 1]
        for k in range(first, last):
            e = k + 1 if k + 1 < last else first
            tx, ty = points[e, 0] - points[k, 0], points[e, 1] - points[k, 1]
            length = np.sqrt(tx * tx + ty * ty)
            if length == 0.0:
                continue
            tx, ty = tx / length, ty / length
            nx, ny, plane = ty, -tx, points[k, 0] * ty - points[k, 1] * tx
            gap = _least(points, low, high, nx, ny) - plane
            if gap < best - equal:
                continue
            begin, end = np.inf, -np.inf
            for x in range(low, high):
                if points[x, 0] * nx + points[x, 1] * ny - plane <= gap + equal:
                    place = (points[x, 0] - points[k, 0]) * tx + (points[x, 1] - points[k, 1]) * ty
                    begin, end = min(begin, place), max(end, place)
            if gap > -equal and (begin > length or end < 0.0):
                return -1.0
            for mine in range(2):
                a, b, c, d = (low, high, first, last) if mine == 0 else (first, last, low, high)
                begin, end = _least(points, c, d, tx, ty) - lead, -_least(points, c, d, -tx, -ty) + lead
                for x in range(a, b):
                    px, py = points[x, 0], points[x, 1]
                    place, depth = px * tx + py * ty, px * nx + py * ny
                    apart = (depth - plane if mine == 0 else plane + gap - depth) - rounding
                    speed = _closing(frame, s, o, px, py, nx, ny) + slack
                    if begin <= place <= end and apart - h * max(speed, 0.0) <= touch:
                        fastest = max(fastest, speed)
    return fastest


@kernel(inline="always")
def _closing(frame, s, o, x, y, nx, ny):
    """Speed at which shape o approaches shape s at a point, against a normal that points from s to o."""
    vx = frame[o, 6] - frame[o, 8] * (y - frame[o, 5]) - frame[s, 6] + frame[s, 8] * (y - frame[s, 5])
    vy = frame[o, 7] + frame[o, 8] * (x - frame[o, 4]) - frame[s, 7] - frame[s, 8] * (x - frame[s, 4])
    return -(vx * nx + vy * ny)


@lean
def _least(points, first, last, nx, ny):
    """The least coordinate of points along a direction."""
    least = np.inf
    for k in range(first, last):
        least = min(least, points[k, 0] * nx + points[k, 1] * ny)
    return least
