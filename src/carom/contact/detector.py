"""Contacts of the steps of a run: candidate pairs that last for several steps, then one kernel per family of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..solvers.rows import Floats, Ints
from ..solvers.threads import on_threads, thread_count
from ..world import MESH, Boundaries, State, World
from .boundaries import boundaries_at, boundary_table
from .contact_set import COLUMNS, Columns, ContactSet, joined
from .pairs import DIVERGED, FAR, FIRST, IMAGE, KEPT, NONE, SECOND, Pairs, periods_of, slides
from .rounds import (
    boundary_hits,
    column_count,
    columns_of,
    put_bounded,
    put_rounds,
    round_contacts,
    round_hits,
)

PIECE = 40_000  # candidate pairs per task of a thread


class Detector:
    """Finds the contacts of a world, step after step.

    It keeps candidate pairs from step to step. What it finds does not depend on the steps before.
    """

    def __init__(self, world: World) -> None:
        self.world, self.pairs = world, Pairs(world)
        self.moving = any(motion.kind != "fixed" for motion in world.boundary_motions)
        table = boundary_table(world.boundaries)
        self.bounds, self.tables = (world.boundaries, world.boundaries), (table, table)
        self.all_round, self.some_round = bool(world.shapes.round.all()), bool(world.shapes.round.any())
        self.meshes = world.dimension == 3 and bool((world.shapes.kind == MESH).any())
        self.solids: Any = None
        self.margin, self.margins = 0.0, np.zeros(world.count)
        self.found = np.empty((256, COLUMNS))  # scratch
        self.round_ones, self.other_ones = world.free & world.shapes.round, world.free & ~world.shapes.round
        self.hits = np.empty(0, np.int64)
        self.wide = column_count(world.dimension, world.periodic is not None)
        periodic = world.periodic
        self.shear = (0, 0) if periodic is None else (periodic.slide_axis, periodic.sheared_axis)

    def find(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

        The margin is one length, or one for each body (n,), of which the larger one counts for a pair. In 3D contacts
        of pairs that pass through each other in between are found too. Normals are unit vectors from the first body to
        the second, in the frame of the world; gaps are lengths, negative for overlap.
        """
        found = self.at_ends(before, after, margin)
        if self.world.dimension == 2:
            return found
        from .swept import with_swept  # late: 2D worlds need none of its kernels

        return with_swept(self.world, before, after, found)

    def at_ends(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """The contacts of `find` without those of pairs that are apart in both states."""
        margins = self._margins(margin)
        state = self.pairs.check(after, margins)
        if state == DIVERGED:
            _diverged(self.world, after)
        if state != KEPT:
            self.pairs.make(before, after, margins)
            if len(self.pairs.table) > len(self.hits):
                self.hits = np.empty(2 * len(self.pairs.table), np.int64)
        if self.moving:
            self.bounds = boundaries_at(self.world, before.time, after.time - before.time)
            self.tables = boundary_table(self.bounds[0]), boundary_table(self.bounds[1])
        found = self._rounds(before, after, margins) if self.some_round or self.world.dimension == 2 else []
        return ContactSet(*(found if self.all_round else self._with_others(found, before, after, margins)))

    def _margins(self, margin: float | Floats) -> Floats:
        """The margin of each body."""
        if isinstance(margin, np.ndarray):
            return margin
        if margin != self.margin:
            self.margin, self.margins = margin, np.full(self.world.count, margin)
        return self.margins

    # ---- discs and spheres

    def _rounds(self, before: State, after: State, margins: Floats) -> list[np.ndarray]:
        """Columns of the contacts of discs and spheres with each other and with boundaries."""
        pairs = self.pairs
        count = pairs.rounds
        slid = slides(self.world.periodic, before.time, after.time)
        table = pairs.table if count == len(pairs.table) else pairs.table[:count]
        arguments = (before.position, after.position, pairs.radius, self.round_ones, *self.tables, margins)
        if count > PIECE and thread_count() > 1:
            buffer = self._in_pieces(table, arguments, slid)
        else:
            buffer = round_contacts(pairs.axes, table, *arguments, pairs.length, self.shear, slid, self.hits, self.wide)
        return columns_of(buffer, self.world.dimension, self.world.periodic is not None)

    def _in_pieces(self, table: np.ndarray, arguments: tuple[Any, ...], slid: tuple[float, ...]) -> Floats:
        """The buffer of `round_contacts` by several threads, with the same bits."""
        before, after, radius, chosen, table0, table1, margins = arguments
        pairs, shear, hits = self.pairs, self.shear, self.hits
        axes, length = pairs.axes, pairs.length
        pieces = min(-(-len(table) // PIECE), 8 * thread_count())
        edges = [(len(table) * k // pieces, len(table) * (k + 1) // pieces) for k in range(pieces)]
        counts, bounded = {}, []

        def search(low: int, high: int) -> float:
            if low < 0:
                bounded.extend(boundary_hits(axes, before, after, radius, chosen, table0, table1, margins))
            else:
                counts[low] = round_hits(axes, table, low, high, after, radius, margins, length, shear, slid[1], hits)
            return 0.0

        on_threads(search, [*edges, (-1, -1)])
        starts = np.cumsum([0, *(counts[low] for low, _ in edges)])
        total = int(starts[-1]) + len(bounded[1])
        buffer = np.empty(self.wide * total)

        def fill(low: int, at: int) -> float:
            if low < 0:
                put_bounded(axes, *bounded, before, after, radius, table0, table1, buffer, total, at)
            else:
                put_rounds(
                    axes, table, hits, low, low + counts[low], before, after, radius, length, shear, slid, buffer,
                    total, at,
                )  # fmt: skip
            return 0.0

        on_threads(fill, [*((low, int(at)) for (low, _), at in zip(edges, starts)), (-1, int(starts[-1]))])
        return buffer

    # ---- other shapes

    def _with_others(self, found: list[np.ndarray], before: State, after: State, margins: Floats) -> list[np.ndarray]:
        """The columns `found`, and those of all other shapes."""
        if self.world.dimension == 2:
            return self._joined(found, self._by_rows(polygons, before, after, margins))
        others = self._solids(before, after, margins)
        found = others if not self.some_round else [np.concatenate(c) for c in zip(found, others)]
        return self._joined(found, self._by_rows(meshes, before, after, margins)) if self.meshes else found

    def _solids(self, before: State, after: State, margins: Floats) -> list[np.ndarray]:
        """Columns of the contacts of convex solids with each other and with boundaries."""
        from .convex_world import solid_contacts
        from .solids import solids_of  # late: 2D worlds and spheres need none of these kernels

        pairs = self.pairs
        if self.solids is None:
            self.solids = solids_of(self.world.shapes_3d)
        buffer, self.found = solid_contacts(
            self.solids,
            pairs.table[pairs.rounds :] if pairs.rounds else pairs.table,
            before.position,
            before.orientation,
            after.position,
            after.orientation,
            self.other_ones,
            *self.tables,
            margins,
            pairs.length,
            self.shear,
            slides(self.world.periodic, before.time, after.time),
            self.wide,
            self.found,
        )
        return columns_of(buffer, 3, self.world.periodic is not None)

    def _joined(self, found: list[np.ndarray], others: list[np.ndarray]) -> list[np.ndarray]:
        return [np.concatenate(columns) for columns in zip(found, others)]

    def _by_rows(self, family: Family, before: State, after: State, margins: Floats) -> list[np.ndarray]:
        """Columns of the contacts of a family of shapes whose kernels take rows: bodies and periodic images."""
        table = self.pairs.table[self.pairs.rounds :]
        first, second = table[:, FIRST].astype(np.int64), table[:, SECOND].astype(np.int64)
        owner, shift, slid, drift = self._rows(table, second, before, after)
        widest = float(margins.max(initial=0.0))
        found = joined(
            family(
                self.world, before, after, (owner, shift, slid), (first, second), self.other_ones, self.bounds, widest
            )
        )
        if len(margins) and widest > margins.min():  # these kernels know one margin only
            other = np.where(found[1] >= 0, margins[owner[np.maximum(found[1], 0)]], 0.0)
            near = np.flatnonzero(found[6] <= np.maximum(margins[found[0]], other))
            found = tuple(column[near] for column in found)  # type: ignore[assignment]
        a, b, *columns = found
        inside = b >= 0
        row = np.where(inside, b, 0)
        out = [a, np.where(inside, owner[row], b), *columns]
        if self.world.periodic is not None:
            out += [np.where(inside[:, None], shift[row], 0.0), np.where(inside[:, None], drift[row], 0.0)]
        return out

    def _rows(
        self, table: np.ndarray, second: Ints, before: State, after: State
    ) -> tuple[Ints, Floats, Floats, Floats]:
        """Bodies, then one row for each pair with a periodic image, whose number replaces the one in `second`.

        Returns the body of each row, its shifts at the start and at the end of the step, and its relative velocity.
        """
        n, dim = self.world.count, self.world.dimension
        imaged = np.flatnonzero(table[:, IMAGE] != NONE)
        owner = np.concatenate([np.arange(n), second[imaged]])
        second[imaged] = n + np.arange(len(imaged))
        shift, drift = np.zeros((len(owner), dim)), np.zeros((len(owner), dim))
        turns = periods_of(table[imaged, IMAGE], dim)
        shift[n:] = turns * self.pairs.length
        slid = shift.copy()
        start, end, speed = slides(self.world.periodic, before.time, after.time)
        if speed != 0.0:
            along, across = self.shear
            drift[n:, along] = turns[:, across] * speed
            shift[n:, along] += turns[:, across] * start
            slid[n:, along] += turns[:, across] * end
        return owner, shift, slid, drift


def _diverged(world: World, state: State) -> None:
    """Ends a run whose positions have diverged."""
    far = float(np.abs(state.position).max(initial=0.0))
    wanted = f"less than {FAR:g} radii from the origin: the law has blown up, or the step is far too long"
    raise ProblemError(f"positions at time {state.time:g}", far, wanted)


Rows = tuple[Ints, Floats, Floats]  # body of each row, and shifts of its image at the start and at the end of the step
Family = Callable[
    [World, State, State, Rows, tuple[Ints, Ints], np.ndarray, tuple[Boundaries, Boundaries], float], list[Columns]
]


def polygons(
    world: World,
    before: State,
    after: State,
    rows: Rows,
    pairs: tuple[Ints, Ints],
    chosen: np.ndarray,
    bounds: tuple[Boundaries, Boundaries],
    margin: float,
) -> list[Columns]:
    """Contacts of pairs with a polygon, and of polygons with boundaries."""
    from .polygon_boundaries import polygon_boundaries
    from .polygons import Poses, polygon_pairs

    owner, shift, slid = rows
    poses = Poses(
        owner,
        before.position[owner] + shift,
        before.orientation[owner],
        after.position[owner] + slid,
        after.orientation[owner],
    )
    pair, *columns = polygon_pairs(*pairs, world.shapes, poses, margin)
    found: list[Columns] = [(pairs[0][pair], pairs[1][pair], *columns)]
    if len(bounds[0].kind):
        poses = Poses(np.arange(world.count), before.position, before.orientation, after.position, after.orientation)
        body, boundary, *columns = polygon_boundaries(world.shapes, poses, chosen, *bounds, margin)
        found.append((body, -1 - boundary, *columns))
    return found


def meshes(
    world: World,
    before: State,
    after: State,
    rows: Rows,
    pairs: tuple[Ints, Ints],
    chosen: np.ndarray,
    bounds: tuple[Boundaries, Boundaries],
    margin: float,
) -> list[Columns]:
    """Contacts of pairs with a mesh, and of meshes with boundaries."""
    from .mesh_boundaries import mesh_boundaries
    from .meshes import mesh_pairs
    from .poses import Poses

    owner, shift, slid = rows
    turn0, turn1 = matrices(before.orientation), matrices(after.orientation)
    poses = Poses(owner, before.position[owner] + shift, turn0[owner], after.position[owner] + slid, turn1[owner])
    pair, *columns = mesh_pairs(*pairs, world.shapes_3d, poses, margin)
    found: list[Columns] = [(pairs[0][pair], pairs[1][pair], *columns)]  # type: ignore[list-item]
    if len(bounds[0].kind):
        poses = Poses(np.arange(world.count), before.position, turn0, after.position, turn1)
        body, boundary, *columns = mesh_boundaries(world.shapes_3d, poses, chosen, *bounds, margin)
        found.append((body, -1 - boundary, *columns))  # type: ignore[arg-type]
    return found
