"""The impacts of a step in 2D: paths of the bodies, the time of the next impact, and the contacts at that time."""

from __future__ import annotations

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import DISC, PLANE, SEGMENT, Boundaries, State, World
from .boundaries import disc_gap
from .contact_set import ContactSet
from .impact_table import FEW, Table, all_pairs, outlines_of, place_boundaries, refreshed, simultaneous, span_of
from .polygon_boundaries import polygon_boundaries
from .polygons import Poses, polygon_pairs
from .time_of_impact_2d import Paths, advance, pose

SAME_TIME = 1e-12  # impacts within this fraction of a step are simultaneous
MANY = 32  # number of bodies in one impact from which on all pairs are computed again
# Contacts of polygons are detected over a short motion of FLIGHT touching distances, which tells approaching vertices
# from rising ones. They count up to a gap of MARGIN touching distances, which such a motion cannot open.
FLIGHT = 10.0
MARGIN = 25.0


class ImpactSchedule:
    """Paths of all bodies from impact to impact within a step, and the table of their coming impacts.

    Times are relative to the start of the step. `touch` is the gap up to which bodies touch, `near` the gap up to which
    impacts are timed; a contact that separates for less than twice the time `hop` is at rest.
    """

    def __init__(self, world: World, touch: float, near: float) -> None:
        n, w = world.count, len(world.boundaries.kind)
        self.world, self.touch, self.near = world, touch, near
        self.outlines = outlines_of(world)
        self.paths = Paths(np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros((n + w, 3)), np.zeros(n + w))
        self.table: Table
        self.circles: Floats  # (n, 3) bounding circles of the paths
        self.met = np.zeros(n, np.bool_)  # bodies that took part in an impact of this step

    def begin(self, start: State, boundaries: Boundaries, acceleration: Floats, step: float, hop: float) -> None:
        """Starts a step: free motion from the state `start` with accelerations (n, 3) for the time `step`."""
        self.step = step
        n, d = start.velocity.shape
        self.started, self.boundaries = start.time, boundaries
        self.span = span_of(self.world, start.time, step, hop, self.touch, self.near)
        place_boundaries(self.outlines, self.paths, boundaries)
        self.paths.place[:n, :2], self.paths.place[:n, 2] = start.position, start.orientation
        self.paths.velocity[:n, :d] = start.velocity
        self.paths.since[:n] = 0.0
        self.paths.acceleration[:n] = acceleration
        self.met[:] = False
        self._compute_all()

    def next_time(self) -> float:
        """Time of the next impact; infinite if there is none."""
        return float(self.table.when.min())

    def impact_at(self, time: float) -> tuple[Ints, Ints]:
        """Rows of the table that take part in the impact at `time`, and the free bodies of these rows."""
        w, t = self.world, self.table
        rows = simultaneous(self.outlines, self.paths, w.free, self.span, t, time, SAME_TIME * self.step)
        bodies = np.unique(np.concatenate([t.first[rows], t.second[rows]]))
        bodies = bodies[bodies < w.count]
        return rows, bodies[w.free[bodies]]

    def advance(self, bodies: Ints, time: float) -> None:
        """Lets the paths of some bodies begin at `time`, where they are then."""
        advance(self.paths, bodies, time)

    def state(self, start: State, time: float) -> State:
        """Positions and velocities at the beginnings of the paths: those at `time` for bodies advanced to it."""
        n, d = start.velocity.shape
        p = self.paths
        position, velocity = np.ascontiguousarray(p.place[:n, :2]), np.ascontiguousarray(p.velocity[:n, :d])
        return State(self.started + time, start.step, position, p.place[:n, 2].copy(), velocity)

    def update(self, bodies: Ints) -> None:
        """Computes the coming impacts of bodies whose paths have changed."""
        if self.world.force is not None or (len(bodies) > MANY and self.world.count > FEW):
            self._compute_all()
            return
        self.table = refreshed(
            self.outlines, self.paths, self.world.free, self.met, self.span, self.table, self.circles, bodies, True
        )

    def _compute_all(self) -> None:
        w = self.world
        self.table, self.circles = all_pairs(
            self.outlines, self.paths, w.free, self.met, self.span, w.periodic, self.started
        )

    def contacts(self, rows: Ints, time: float) -> ContactSet:
        """The contacts of some rows of the table at `time`."""
        world, n = self.world, self.world.count
        rows = rows[np.lexsort((self.table.second[rows], self.table.first[rows]))]
        first, second = self.table.first[rows], self.table.second[rows]
        drift = self.table.drift[rows]
        shift = self.table.shift[rows] + time * drift
        fixed = second >= n  # boundaries
        now = moved_boundaries(self.boundaries, time)
        polygonal = np.zeros(len(rows), np.bool_)
        if not world.all_discs:
            kind = world.shapes_2d.kind
            polygonal = (kind[first] != DISC) | (~fixed & (kind[np.where(fixed, first, second)] != DISC))
        plain = ~polygonal
        normal, point, gap = _round_contacts(
            self.paths, world.shapes.radius, now, first[plain], second[plain], shift[plain], n, time
        )
        who = np.where(fixed, n - 1 - second, second)  # boundary k is -1 - k in a ContactSet
        none = np.zeros(len(gap), np.int64)
        parts = [(first[plain], who[plain], none, normal, point, gap, gap, shift[plain], drift[plain])]
        if polygonal.any():
            pairs, walled = polygonal & ~fixed, np.unique(first[polygonal & fixed])
            later = time + self._short_time(np.concatenate([first[polygonal], second[pairs]]))
            if pairs.any():
                parts.append(self._polygon_pairs(first[pairs], second[pairs], shift[pairs], drift[pairs], time, later))
            if len(walled):
                parts.append(self._polygon_boundaries(walled, now, time, later))
        columns = parts[0] if len(parts) == 1 else tuple(np.concatenate(c) for c in zip(*parts))
        image = None if world.periodic is None else columns[7:]
        return ContactSet.of_columns(columns[:3], columns[3:5], columns[5:7], image)

    def _short_time(self, bodies: Ints) -> float:
        """A time, at most a step, in which no point of the bodies moves farther than FLIGHT touching distances."""
        v = self.paths.velocity[bodies]
        fastest = float((np.hypot(v[:, 0], v[:, 1]) + np.abs(v[:, 2]) * self.world.shapes.radius[bodies]).max())
        return min(FLIGHT * self.touch / fastest, self.step) if fastest > 0.0 else 0.0

    def _places(self, bodies: Ints, time: float) -> Floats:
        p = self.paths
        s = (time - p.since[bodies])[:, None]
        return p.place[bodies] + s * (p.velocity[bodies] + 0.5 * s * p.acceleration[bodies])

    def _poses(self, bodies: Ints, time: float, later: float) -> Poses:
        q, r = self._places(bodies, time), self._places(bodies, later)
        return Poses(
            bodies, np.ascontiguousarray(q[:, :2]), q[:, 2].copy(), np.ascontiguousarray(r[:, :2]), r[:, 2].copy()
        )

    def _polygon_pairs(
        self, first: Ints, second: Ints, shift: Floats, drift: Floats, time: float, later: float
    ) -> tuple:
        """Contacts of pairs with a polygon. Each pair has its own poses, the second one at its periodic image."""
        m = len(first)
        poses = self._poses(np.concatenate([first, second]), time, later)
        poses.position0[m:] += shift
        poses.position1[m:] += shift + (later - time) * drift
        rows = np.arange(m)
        pair, feature, normal, point, gap, predicted = polygon_pairs(
            rows, rows + m, self.world.shapes_2d, poses, MARGIN * self.touch
        )
        return first[pair], second[pair], feature, normal, point, gap, predicted, shift[pair], drift[pair]

    def _polygon_boundaries(self, bodies: Ints, now: Boundaries, time: float, later: float) -> tuple:
        """Contacts of polygons with boundaries, which are at `now` at the time of the impact."""
        after = moved_boundaries(self.boundaries, later)
        row, boundary, feature, normal, point, gap, predicted = polygon_boundaries(
            self.world.shapes_2d, self._poses(bodies, time, later), self.world.free, now, after, MARGIN * self.touch
        )
        none = np.zeros((len(row), 2))
        return bodies[row], -1 - boundary, feature, normal, point, gap, predicted, none, none


def moved_boundaries(boundaries: Boundaries, time: float) -> Boundaries:
    """The boundaries after moving at their velocities for a time."""
    if not boundaries.velocity.any():
        return boundaries
    turn = time * boundaries.velocity[:, 2]
    c, s = np.cos(turn), np.sin(turn)

    def turned(vector: Floats) -> Floats:
        return np.stack([c * vector[:, 0] - s * vector[:, 1], s * vector[:, 0] + c * vector[:, 1]], axis=1)

    center = boundaries.center + time * boundaries.velocity[:, :2]
    segment = (boundaries.kind == SEGMENT)[:, None]
    axis = np.where(segment, center + turned(boundaries.axis - boundaries.center), turned(boundaries.axis))
    axis = np.where(segment | (boundaries.kind == PLANE)[:, None], axis, boundaries.axis)
    point = center + turned(boundaries.point - boundaries.center)
    return boundaries._replace(point=point, axis=axis, center=center)


@kernel
def _round_contacts(paths, radius, boundaries, first, second, shift, n, time):
    """Normals (m, 2), points (m, 2) and gaps (m,) of discs with discs and with boundaries at a time."""
    m = len(first)
    normal, point, gap = np.empty((m, 2)), np.empty((m, 2)), np.empty(m)
    for k in range(m):
        i, j = first[k], second[k]
        at = pose(paths, i, time)
        if j >= n:
            w = j - n
            kind, size = boundaries.kind[w], boundaries.radius[w]
            g, nx, ny = disc_gap(kind, boundaries.point[w], boundaries.axis[w], size, at[0], at[1], radius[i])
        else:
            other = pose(paths, j, time)
            x, y = other[0] + shift[k, 0] - at[0], other[1] + shift[k, 1] - at[1]
            apart = np.sqrt(x * x + y * y)
            g = apart - radius[i] - radius[j]
            nx, ny = (x / apart, y / apart) if apart > 0.0 else (1.0, 0.0)
        normal[k, 0], normal[k, 1], gap[k] = nx, ny, g
        point[k, 0] = at[0] + (radius[i] + 0.5 * g) * nx
        point[k, 1] = at[1] + (radius[i] + 0.5 * g) * ny
    return normal, point, gap
