"""Contacts of the steps of a run: candidate pairs that last for several steps, then one kernel per family of shapes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..solvers.rows import Floats, Ints
from ..solvers.threads import on_threads, thread_count
from ..world import MESH, State, World
from .boundaries import boundaries_at, boundary_table
from .contact_set import PERIODIC_WIDTH, WIDTH, ContactSet
from .motion import moves_far, relative_displacements
from .pairs import DIVERGED, FAR, FIRST, IMAGE, KEPT, NONE, SECOND, SPARE, Pairs, periods_of, slides
from .rounds import boundary_hits, put_bounded, put_rounds, round_contacts, round_hits

PIECE = 10_000  # candidate pairs of discs or spheres per task of a thread
SOLID_PIECE = 1_000  # other candidate pairs per task, which take longer


class Detector:
    """Finds the contacts of a world, step after step.

    It keeps candidate pairs from step to step. What it finds does not depend on the steps before.
    """

    def __init__(self, world: World) -> None:
        self.world, self.pairs = world, Pairs(world)
        self.moving = world.moving_boundaries
        table = boundary_table(world.boundaries)
        self.bounds, self.tables = (world.boundaries, world.boundaries), (table, table)
        self.all_round, self.some_round = bool(world.shapes.round.all()), bool(world.shapes.round.any())
        self.meshes = world.dimension == 3 and bool((world.shapes.kind == MESH).any())
        self.margin, self.margins = 0.0, np.zeros(world.count)
        self.found = np.empty((256, WIDTH))  # scratch
        self.round_ones, self.other_ones = world.free & world.shapes.round, world.free & ~world.shapes.round
        self.hits = np.empty(0, np.int64)
        self.wide = WIDTH if world.periodic is None else PERIODIC_WIDTH
        periodic = world.periodic
        self.shear = (0, 0) if periodic is None else (periodic.slide_axis, periodic.sheared_axis)

    def find(self, before: State, after: State, margin: float | Floats) -> ContactSet:
        """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

        The margin is one length, or one for each body (n,), of which the larger one counts for a pair. In 3D contacts
        of pairs that pass through each other in between are found too. Normals are unit vectors from the first body to
        the second, in the frame of the world; gaps are lengths, negative for overlap.
        """
        if self.world.dimension == 2:
            return self.at_ends(before, after, margin)
        moved = relative_displacements(self.pairs, before, after)
        if not moves_far(self.pairs, moved):
            return self.at_ends(before, after, margin)
        from .swept import with_swept  # late: few steps need these kernels

        found = self.at_ends(before, after, margin, moved.center)
        return with_swept(self.pairs, moved, before, after, found)

    def at_ends(self, before: State, after: State, margin: float | Floats, way: Floats | None = None) -> ContactSet:
        """The contacts of `find` without those of pairs that are apart in both states.

        With the displacements `way` of all bodies the candidate pairs include those that met within the step.
        """
        margins = self._margins(margin)
        self.update_pairs(before, after, margins, way)
        return self._contacts(before, after, margins)

    def touching(self, state: State, margin: float) -> ContactSet:
        """The contacts of one state with a gap of at most `margin`, at the end of a step with a larger margin."""
        self.update_pairs(state, state)
        return self._contacts(state, state, self._margins(margin))

    def update_pairs(
        self, before: State, after: State, margins: Floats | None = None, way: Floats | None = None
    ) -> None:
        """Makes the candidate pairs complete for a step (`Pairs.check`), by default with the margins of the last list.

        A list with smaller margins would not serve the next step.
        """
        margins = self.pairs.margins / SPARE if margins is None else margins
        state = self.pairs.check(after, margins, way)
        if state == DIVERGED:
            _diverged(after)
        if state != KEPT:
            self.pairs.make(before, after, margins, way)
            if len(self.pairs.table) > len(self.hits):
                self.hits = np.empty(2 * len(self.pairs.table), np.int64)

    def _contacts(self, before: State, after: State, margins: Floats) -> ContactSet:
        if self.moving:
            self.bounds = boundaries_at(self.world, before.time, after.time - before.time)
            self.tables = boundary_table(self.bounds[0]), boundary_table(self.bounds[1])
        tables = [self._rounds(before, after, margins)] if self.some_round else []
        if not self.all_round:
            tables += self._others(before, after, margins)
        return ContactSet(tables[0] if len(tables) == 1 else np.concatenate(tables), self.world.dimension)

    def of_boundaries(self, state: State, chosen: np.ndarray) -> ContactSet:
        """The contacts of the bodies marked in `chosen` (n,) with boundaries, where they overlap in one state."""
        part, pairs = copy(self), copy(self.pairs)
        pairs.table, pairs.rounds, part.pairs = self.pairs.table[:0], 0, pairs
        part.round_ones, part.other_ones = self.round_ones & chosen, self.other_ones & chosen
        return part._contacts(state, state, self._margins(0.0))

    def _margins(self, margin: float | Floats) -> Floats:
        """The margin of each body."""
        if isinstance(margin, np.ndarray):
            return margin
        if margin != self.margin:
            self.margin, self.margins = margin, np.full(self.world.count, margin)
        return self.margins

    # ---- discs and spheres

    def _rounds(self, before: State, after: State, margins: Floats) -> Floats:
        """Table of the contacts of discs and spheres with each other and with boundaries."""
        pairs = self.pairs
        count = pairs.rounds
        slid = slides(self.world.periodic, before.time, after.time)
        table = pairs.table if count == len(pairs.table) else pairs.table[:count]
        arguments = (before.position, after.position, pairs.radius, self.round_ones, *self.tables, margins)
        if count > PIECE and thread_count() > 1:
            return self._in_pieces(table, arguments, slid)
        out: Floats = round_contacts(
            pairs.axes, table, *arguments, pairs.length, self.shear, slid, self.hits, self.wide
        )
        return out

    def _in_pieces(self, table: np.ndarray, arguments: tuple[Any, ...], slid: tuple[float, ...]) -> Floats:
        """The table of `round_contacts` by several threads, with the same bits."""
        before, after, radius, chosen, table0, table1, margins = arguments
        pairs, shear, hits = self.pairs, self.shear, self.hits
        axes, length = pairs.axes, pairs.length
        edges = _edges(len(table), PIECE)
        counts, bounded = {}, []

        def search(low: int, high: int) -> float:
            if low < 0:
                bounded.extend(boundary_hits(axes, before, after, radius, chosen, table0, table1, margins))
            else:
                counts[low] = round_hits(axes, table, low, high, after, radius, margins, length, shear, slid[1], hits)
            return 0.0

        on_threads(search, [*edges, (-1, -1)])
        starts = np.cumsum([0, *(counts[low] for low, _ in edges)])
        out = np.empty((int(starts[-1]) + len(bounded[1]), self.wide))

        def fill(low: int, at: int) -> float:
            if low < 0:
                put_bounded(axes, *bounded, before, after, radius, table0, table1, out, at)
            else:
                put_rounds(
                    axes, table, hits, low, low + counts[low], before, after, radius, length, shear, slid, out, at
                )
            return 0.0

        on_threads(fill, [*((low, int(at)) for (low, _), at in zip(edges, starts)), (-1, int(starts[-1]))])
        return out

    # ---- other shapes

    def _others(self, before: State, after: State, margins: Floats) -> list[Floats]:
        """Tables of the contacts of all other shapes."""
        pairs, arguments = self.pairs, (before.position, before.orientation, after.position, after.orientation)
        table = pairs.table[pairs.rounds :] if pairs.rounds else pairs.table
        slid = slides(self.world.periodic, before.time, after.time)
        rest = (self.other_ones, *self.tables, margins, pairs.length, self.shear, slid, self.wide)
        if self.world.dimension == 2:
            from .polygon_world import polygon_contacts

            out = polygon_contacts(self.world.shapes, table, *arguments, *rest)
        else:
            from .convex_world import solid_contacts  # late: 2D worlds and spheres need none of these kernels

            if len(table) > SOLID_PIECE and thread_count() > 1:
                out = self._solids_in_pieces(table, arguments, rest)
            else:
                out, self.found = solid_contacts(self.world.shapes_3d, table, *arguments, *rest, self.found)
        return [out, self._meshes(before, after, margins)] if self.meshes else [out]

    def _solids_in_pieces(self, table: np.ndarray, arguments: tuple[Any, ...], rest: tuple[Any, ...]) -> Floats:
        """The table of `solid_contacts` by several threads, with the same bits."""
        from .convex import Bodies, row_pairs
        from .convex_boundaries import put_bounded_solids
        from .convex_world import place_rows, put_bounded, put_pairs

        chosen, wall0, wall1, margins, length, shear, slid, wide = rest
        placed, rows = place_rows(self.world.shapes_3d, table, *arguments, chosen, length, shear, slid)
        bodies = Bodies(self.world.shapes_3d, placed, margins)
        edges = _edges(len(table), SOLID_PIECE)
        found: dict[int, Any] = {}

        def search(low: int, high: int) -> float:
            scratch = np.empty((256 if low < 0 else 4 * (high - low), WIDTH))
            if low < 0:
                found[low] = put_bounded_solids(bodies, len(chosen), chosen, wall0, wall1, scratch)
            else:
                found[low] = row_pairs(bodies, rows[low:high], scratch)
            return 0.0

        on_threads(search, [*edges, (-1, -1)])
        starts = np.cumsum([0, *(sum(int(end[-1]) for end in found[low][1::2] if len(end)) for low, _ in edges)])
        out = np.empty((int(starts[-1]) + found[-1][1], wide))

        def fill(low: int, at: int) -> float:
            if low < 0:
                put_bounded(*found[low], out, at)
            else:
                put_pairs(table[low : low + len(found[low][1])], *found[low], length, shear, slid, out, at)
            return 0.0

        on_threads(fill, [*((low, int(at)) for (low, _), at in zip(edges, starts)), (-1, int(starts[-1]))])
        return out

    def _meshes(self, before: State, after: State, margins: Floats) -> Floats:
        """Table of the contacts of pairs with a mesh, and of meshes with boundaries."""
        from .mesh_boundaries import mesh_boundaries
        from .meshes import mesh_pairs
        from .poses import Poses

        table = self.pairs.table[self.pairs.rounds :]
        first, second = table[:, FIRST].astype(np.int64), table[:, SECOND].astype(np.int64)
        owner, shift, slid, drift = self._rows(table, second, before, after)
        shapes, turn0, turn1 = self.world.shapes_3d, matrices(before.orientation), matrices(after.orientation)
        poses = Poses(owner, before.position[owner] + shift, turn0[owner], after.position[owner] + slid, turn1[owner])
        pair, feature, *rest = mesh_pairs(first, second, shapes, poses, margins[owner])
        row = second[pair]
        image = None if self.world.periodic is None else (shift[row], drift[row])
        found = ContactSet.of_columns((first[pair], owner[row], feature), rest[:2], rest[2:], image)
        if len(self.bounds[0].kind):
            poses = Poses(np.arange(self.world.count), before.position, turn0, after.position, turn1)
            body, boundary, feature, *rest = mesh_boundaries(shapes, poses, self.other_ones, *self.bounds, margins)
            found = found.joined(ContactSet.of_columns((body, -1 - boundary, feature), rest[:2], rest[2:]))
        return found.table

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


def _edges(count: int, piece: int) -> list[tuple[int, int]]:
    """Ranges of about `piece` pairs, but not many more than there are threads."""
    pieces = min(-(-count // piece), 8 * thread_count())
    return [(count * k // pieces, count * (k + 1) // pieces) for k in range(pieces)]


def _diverged(state: State) -> None:
    """Ends a run whose positions have diverged."""
    body = int(np.argmax(np.nan_to_num(np.abs(state.position), nan=np.inf).max(axis=1)))
    wanted = f"less than {FAR:g} radii from the origin: the law has blown up, or the step is far too long"
    raise ProblemError(f"position of body {body} at time {state.time:g}", state.position[body], wanted)


def find_contacts(world: World, before: State, after: State, margin: float = 0.0) -> ContactSet:
    """All contacts whose gap in the state `after` is at most `margin`, with their geometry in the state `before`.

    Runs use a `Detector`, which is faster. Pairs that are apart in both states have no contacts.
    """
    return Detector(world).at_ends(before, after, margin)
