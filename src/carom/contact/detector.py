"""Contacts of the steps of a run: candidate pairs that last for several steps, then one kernel per family of shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..geometry.vectors import Vec3, dot, norm
from ..kernels import kernel, lean
from ..solvers.rows import Floats
from ..solvers.threads import on_threads, thread_count
from ..world import OUTSIDE, PLANE, SEGMENT, State, World
from .boundaries import boundaries_at, boundary_of, boundary_table, gap_on_the_way, passes, point_gap
from .contact_set import PERIODIC_WIDTH, WIDTH, Contact, ContactSet, put, with_room
from .motion import moves_far, relative_displacements
from .pairs import (
    FIRST,
    IMAGE,
    LARGEST_COORDINATE,
    LIST_DIVERGED,
    LIST_KEPT,
    MARGIN_RESERVE,
    NO_IMAGE,
    NO_SIDES,
    SECOND,
    Ends,
    Pairs,
    image_offset,
    image_rows,
    put_image,
    rows_to_bodies,
    sides_in_step,
)

BALL_PIECE = 10_000  # candidate pairs of discs or spheres per task of a thread
SOLID_PIECE = 1_000  # other candidate pairs per task, which take longer
BOUNDARY_ROOM = 64  # contacts of balls with boundaries for which there is room at first

Mask = np.ndarray  # (n,) marks bodies; empty for none
NO_MARKED_BODIES = np.empty(0, np.bool_)


class Detector:
    """Finds the contacts of a world, step after step.

    It keeps candidate pairs from step to step. What it finds does not depend on the steps before.
    """

    def __init__(self, world: World) -> None:
        self.world, self.pairs = world, Pairs(world)
        self.moving = world.moving_boundaries
        self.boundaries = (boundary_table(world.boundaries),) * 2
        self.margin, self.margins = 0.0, np.zeros(world.count)
        self.width = WIDTH if world.periodic is None else PERIODIC_WIDTH
        self.hits = np.empty(0, np.int64)  # scratch
        balls = world.shapes.round
        self.balls, self.others = world.free & balls, world.free & ~balls
        self.families: list[Callable[[Ends, np.ndarray, Mask], Floats]] = []
        if not balls.all():
            self.families.append(self._polygons if world.dimension == 2 else self._solids)
        if world.has_meshes:
            self.families.append(self._meshes)
        self.has_balls = bool(balls.any())

    def find(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

        The margin is one length, or one for each body (n,), of which the larger one counts for a pair. In 3D contacts
        of pairs that pass through each other in between are found too. Normals are unit vectors from the first body to
        the second, in the frame of the world; gaps are lengths, negative for overlap.
        """
        if self.world.dimension == 2:
            return self.at_ends(before, after, margin)
        return self.closing(before, after, margin)[0]

    def closing(self, before: State, after: State, margin: float | Floats) -> tuple[ContactSet, int]:
        """The contacts of `find`, in 2D also those of fast discs that overlap within the step but not at its end.

        The second value is the number of contacts, the last ones, of pairs that are apart at both ends: they pass
        through each other, or graze.
        """
        moved = relative_displacements(self.pairs, before, after)
        if not moves_far(self.pairs, moved):
            return self.at_ends(before, after, margin), 0
        from .swept import with_passing_balls, with_swept  # late: few steps need these kernels

        ends = self.at_ends(before, after, margin, moved.center)
        if self.world.dimension == 3:
            return with_swept(self.pairs, moved, before, after, ends)
        return with_passing_balls(self.pairs, before, after, ends)

    def along(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """The contacts of all pairs that overlap at any time between two states, and those of `at_ends`.

        Bodies are taken to move straight. Pairs of shapes other than balls are tested if they move far, see `swept`.
        """
        from .swept import with_all_swept  # late: few runs need these kernels

        moved = relative_displacements(self.pairs, before, after)
        found = self.at_ends(before, after, margin, moved.center)
        return with_all_swept(self.pairs, moved, before, after, found)

    def at_ends(self, before: State, after: State, margin: float | Floats, paths: Floats | None = None) -> ContactSet:
        """The contacts of `find` without those of pairs that are apart in both states.

        With the displacements `paths` of all bodies the candidate pairs include those that met within the step.
        """
        margins = self._margins(margin)
        self.update_pairs(before, after, margins, paths)
        return self._contacts(before, after, margins)

    def touching(self, state: State, margin: float) -> ContactSet:
        """The contacts of one state with a gap of at most `margin`, at the end of a step with a larger margin."""
        self.update_pairs(state, state)
        return self._contacts(state, state, self._margins(margin))

    def of_boundaries(self, state: State, chosen: Mask) -> ContactSet:
        """The contacts of the bodies marked in `chosen` (n,) with boundaries, where they overlap in one state."""
        ends, none = self._ends(state, state, self._margins(0.0)), self.pairs.list.table[:0]
        tables = [self._balls(ends, none, self.balls & chosen)] if self.has_balls else []
        return self._joined(tables + [family(ends, none, self.others & chosen) for family in self.families])

    def update_pairs(
        self, before: State, after: State, margins: Floats | None = None, paths: Floats | None = None
    ) -> None:
        """Makes the candidate pairs complete for a step (`Pairs.check`), by default with the margins of the last list.

        A list with smaller margins would not serve the next step.
        """
        margins = self.pairs.list.margins / MARGIN_RESERVE if margins is None else margins
        state = self.pairs.check(after, margins, paths)
        if state == LIST_DIVERGED:
            _diverged(after)
        if state != LIST_KEPT:
            self.pairs.make(before, after, margins, paths)
            if (count := len(self.pairs.list.table)) > len(self.hits):
                self.hits = np.empty(2 * count, np.int64)

    def _margins(self, margin: float | Floats) -> Floats:
        """The margin of each body."""
        if isinstance(margin, np.ndarray):
            return margin
        if margin != self.margin:
            self.margin, self.margins = margin, np.full(self.world.count, margin)
        return self.margins

    def _contacts(self, before: State, after: State, margins: Floats) -> ContactSet:
        ends, table, count = self._ends(before, after, margins), self.pairs.list.table, self.pairs.balls
        tables = [self._balls(ends, table[:count], self.balls)] if self.has_balls else []
        found = self._joined(tables + [family(ends, table[count:], self.others) for family in self.families])
        joints = self.world.joints
        if joints is None or not len(joints.one_sided.kind):
            return found
        from .one_sided import with_one_sided  # late: few worlds need these kernels

        return ContactSet(with_one_sided(found.table, joints.one_sided, ends), found.dimension)

    def _joined(self, tables: list[Floats]) -> ContactSet:
        return ContactSet(tables[0] if len(tables) == 1 else np.concatenate(tables), self.world.dimension)

    def _ends(self, before: State, after: State, margins: Floats) -> Ends:
        """What the narrow phase gets of a step."""
        if self.moving:
            start, end = boundaries_at(self.world, before.time, after.time - before.time)
            self.boundaries = boundary_table(start), boundary_table(end)
        n = self.world.count
        turns = before.orientation.reshape(n, -1), after.orientation.reshape(n, -1)  # one type of `Ends` for 2D and 3D
        periodic, sides = self.world.periodic, NO_SIDES
        if periodic is not None:
            sides = sides_in_step(periodic, before.time, after.time)
        return Ends(
            before.position, turns[0], after.position, turns[1], *self.boundaries, margins,
            sides, self.width,
        )  # fmt: skip

    # ---- families of shapes: tables of the contacts of pairs, and of chosen bodies with boundaries

    def _balls(self, ends: Ends, pairs: np.ndarray, chosen: Mask) -> Floats:
        radius, hits = self.pairs.radius, self.hits

        def find(low: int, high: int, chosen: Mask) -> Floats:
            out: Floats = ball_contacts(pairs, low, high, ends, radius, chosen, hits)
            return out

        return _in_pieces(len(pairs), BALL_PIECE, chosen, find)

    def _polygons(self, ends: Ends, pairs: np.ndarray, chosen: Mask) -> Floats:
        from .polygons import polygon_contacts

        out: Floats = polygon_contacts(self.world.shapes_2d, pairs, ends, chosen)
        return out

    def _solids(self, ends: Ends, pairs: np.ndarray, chosen: Mask) -> Floats:
        from .convex_bodies import place_rows, row_contacts, solid_contacts  # late: few worlds need these kernels

        shapes = self.world.shapes
        if len(pairs) <= SOLID_PIECE or thread_count() == 1:
            whole: Floats = solid_contacts(shapes, pairs, ends, chosen)
            return whole
        rows = place_rows(shapes, pairs, ends, chosen)

        def find(low: int, high: int, chosen: Mask) -> Floats:
            out: Floats = row_contacts(shapes, rows, pairs, low, high, ends, chosen)
            return out

        return _in_pieces(len(pairs), SOLID_PIECE, chosen, find)

    def _meshes(self, ends: Ends, pairs: np.ndarray, chosen: Mask) -> Floats:
        from .meshes import mesh_contacts
        from .parts import Poses

        rows = image_rows(pairs, ends.position0, ends.position1, ends.sides)
        turn0, turn1 = matrices(ends.orientation0), matrices(ends.orientation1)
        poses = Poses(rows.owner, rows.position0, turn0[rows.owner], rows.position1, turn1[rows.owner])
        first, second = rows.pairs[:, FIRST].astype(np.int64), rows.pairs[:, SECOND].astype(np.int64)
        marked = np.zeros(len(rows.owner), np.bool_)
        marked[: len(chosen)] = chosen
        margins, boundaries = ends.margins[rows.owner], (ends.boundary0, ends.boundary1)
        found = mesh_contacts(self.world.shapes_3d, poses, (first, second), marked, boundaries, margins)
        out = np.zeros((len(found), self.width))
        out[:, :WIDTH] = found
        rows_to_bodies(out, rows, ends.sides)
        return out


def _in_pieces(count: int, piece: int, chosen: Mask, find: Callable[[int, int, Mask], Floats]) -> Floats:
    """Table of the contacts of `count` pairs, then of the chosen bodies with boundaries: by threads if it is long.

    `find(low, high, chosen)` makes that of a range of pairs. Results are bitwise identical for any number of threads.
    """
    if count <= piece or thread_count() == 1:
        return find(0, count, chosen)
    pieces = min(-(-count // piece), 8 * thread_count())
    edges = [(count * k // pieces, count * (k + 1) // pieces) for k in range(pieces)]
    tables: dict[tuple[int, int], Floats] = {}

    def one(low: int, high: int) -> float:
        tables[low, high] = find(low, high, NO_MARKED_BODIES if low < high else chosen)
        return 0.0

    edges.append((count, count))  # boundaries
    on_threads(one, edges)
    return np.concatenate([tables[edge] for edge in edges])


def _diverged(state: State) -> None:
    """Ends a run whose positions have diverged."""
    body = int(np.argmax(np.nan_to_num(np.abs(state.position), nan=np.inf).max(axis=1)))
    far = LARGEST_COORDINATE
    wanted = f"less than {far:g} radii from the origin: the law has blown up, or the step is far too long"
    raise ProblemError(f"position of body {body} at time {state.time:g}", state.position[body], wanted)


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

    Runs use a `Detector`, which is faster. Pairs that are apart in both states, and absent bodies, have no contacts.
    """
    if after.life is None:
        return Detector(world).at_ends(before, after, margin)
    bodies = np.flatnonzero(after.present)
    if not len(bodies):
        return ContactSet.empty(world.dimension)
    found = Detector(world.of(bodies, before)).at_ends(before.of(bodies), after.of(bodies), margin)
    return found.renumbered(bodies)


# ---- balls: discs in 2D, spheres in 3D


@kernel(inline="always")
def place(position, i):
    """Row i of an array of positions as a vector of space; the third component is 0 in 2D."""
    return Vec3(position[i, 0], position[i, 1], position[i, 2] if position.shape[1] == 3 else 0.0)


@kernel
def ball_contacts(pairs, low, high, ends, radius, chosen, hits):
    """Table of the contacts of the candidate pairs low to high, then of the `chosen` balls with boundaries.

    `chosen` marks bodies, or is empty. `hits` is scratch, of the length of `pairs`.
    """
    m = _near_pairs(pairs, low, high, ends, radius, hits)
    table = np.empty((m + (BOUNDARY_ROOM if len(chosen) else 0), ends.width))
    _put_pairs(pairs, hits[low : low + m], ends, radius, table)
    return _with_boundaries(ends, radius, chosen, table, m) if len(chosen) else table


@kernel
def _near_pairs(pairs, low, high, ends, radius, hits):
    """Writes the numbers of the pairs low to high whose predicted gap is within the margin to `hits` from `low` on.

    Returns their count.
    """
    after, margins, sides, m = ends.position1, ends.margins, ends.sides, np.uint64(low)
    for k in range(np.uint64(low), np.uint64(high)):  # an index that may be negative costs a test for each array
        a, b, image = np.uint64(pairs[k, FIRST]), np.uint64(pairs[k, SECOND]), pairs[k, IMAGE]
        e = place(after, b) - place(after, a)
        if image != NO_IMAGE:
            e = e + image_offset(sides, image, sides.end)
        limit = radius[a] + radius[b] + max(margins[a], margins[b])
        hits[m] = k
        m += np.uint64(dot(e, e) <= limit * limit)
    return np.int64(m) - low


@kernel
def _put_pairs(pairs, hits, ends, radius, table):
    """Writes the contacts of the pairs `hits`. Where centers coincide the normal is along x."""
    before, after, sides = ends.position0, ends.position1, ends.sides
    for n in range(np.uint64(len(hits))):
        k = np.uint64(hits[n])
        a, b, image = np.uint64(pairs[k, FIRST]), np.uint64(pairs[k, SECOND]), pairs[k, IMAGE]
        center = place(before, a)
        e, f = place(before, b) - center, place(after, b) - place(after, a)
        if image != NO_IMAGE:
            e, f = e + image_offset(sides, image, sides.start), f + image_offset(sides, image, sides.end)
        apart = norm(e)
        gap, predicted = apart - radius[a] - radius[b], norm(f) - radius[a] - radius[b]
        normal = e / apart if apart > 0.0 else Vec3(1.0, 0.0, 0.0)
        put(table, n, a, b, Contact(0, gap, predicted, normal, center + (radius[a] + 0.5 * gap) * normal))
        if image != NO_IMAGE:
            put_image(table, n, sides, image)


@kernel
def _with_boundaries(ends, radius, chosen, table, n):
    """The first n contacts of a table, and those of the chosen balls with boundaries."""
    before, after, margins = ends.position0, ends.position1, ends.margins
    for w in range(len(ends.boundary1)):
        boundary0, boundary1 = boundary_of(ends.boundary0, w), boundary_of(ends.boundary1, w)
        flat, segment = boundary1.kind == PLANE, boundary1.kind == SEGMENT
        for i in range(len(chosen)):
            if not chosen[i]:
                continue
            q, r = place(after, i), radius[i]
            if flat:  # most boundaries, without the call
                predicted = dot(q - boundary1.point, boundary1.axis) - r
            else:
                predicted = point_gap(boundary1, q)[0] - r
            if segment and passes(boundary0, boundary1, place(before, i), q):
                predicted = -predicted - 2.0 * r
            elif segment or boundary1.kind == OUTSIDE:
                nearest = gap_on_the_way(boundary0, boundary1, place(before, i), q) - r
                predicted = nearest if nearest < 0.0 < predicted else predicted
            if predicted <= margins[i]:
                table = with_room(table, n, 1)
                _put_bounded(table, n, (i, w), (boundary0, boundary1), (place(before, i), q), r, predicted)
                n += 1
    return table[:n]


@lean
def _put_bounded(table, n, who, boundary, center, r, predicted):
    """Writes the contact of ball `who[0]` and boundary `who[1]`, both given at the start and after free flight."""
    distance, normal = point_gap(boundary[0], center[0])
    if dot(normal, normal) == 0.0:  # it starts on the axis: the normal after the step is used
        normal = point_gap(boundary[1], center[1])[1]
        if dot(normal, normal) == 0.0:
            normal = Vec3(1.0, 0.0, 0.0)
    gap = distance - r
    put(table, n, who[0], -1 - who[1], Contact(0, gap, predicted, normal, center[0] + (r + 0.5 * gap) * normal))
