"""Quiet steps of small worlds: many steps in one call of a kernel.

A step is quiet if the law has nothing to do in it: bodies fly freely, and contacts do not approach, or are held by the
resting solve. Most steps of small worlds are, and calling the stages of such a step one by one from Python takes longer
than their work. `_steps` makes the stages of `synchronous.py` and `drift_safe.py` with the kernels that these
call, in the same order, so that results have the same bits. It ends before the first step that is not quiet: a contact
approaches fast, the list of candidate pairs is no longer complete, bodies overlap or may pass through each other, an
island is large, or the solver misses its tolerance. That step is left to the stepper.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.advancement import put_gaps_3d
from ..contact.boundaries import boundary_table
from ..contact.contact_set import FIRST, GAP, SECOND, WIDTH, ContactSet, deepest_overlap, with_room
from ..contact.containment import FAST_DISPLACEMENT, NOTED_OVERLAP, NOTICED_OVERLAP
from ..contact.convex_bodies import solid_contacts
from ..contact.detector import ball_contacts
from ..contact.motion import FAR_MOTION, displacement_bounds, meeting_pairs, pair_motions
from ..contact.pairs import COLUMNS, LIST_KEPT, NO_IMAGE, NO_SIDES, Ends, check
from ..contact.polygons import polygon_contacts
from ..kernels import kernel
from ..problem.assemble import assembled
from ..solvers.contact import FINE_WORK, Accuracy, solve_small_islands
from ..solvers.contact_island import CONE, Problem, layout, padded
from ..solvers.rows import Floats, Ints, speeds
from ..solvers.thresholds import EXACT_CONTACTS
from ..world import Masses, State, Surfaces
from .drift_safe import FINEST_OVERLAP, MOST_APPLICATIONS, DriftSafe, farthest, near_contacts, put_bounds
from .impact_stage import approach_speeds
from .integrator import fall_2d, fall_3d, rotate_all
from .position_correction import (
    CONTACT_WORK,
    LOOSE_OVERLAP,
    NEAR_GAP,
    OVERLAP_SLOP,
    SHARE_OF_TOLERANCE,
    empty_plan,
    make_plan,
    move_within_energy,
)
from .relaxed_step import NO_DOUBT, SOME_DOUBT, Limits, Relaxed, relaxed_step
from .report import NO_WARM_START, RestLog, StageImpulses, StepReport, Stretch, WarmStart, totals_2d, totals_3d
from .resting import (
    Held,
    Interval,
    RestingProblem,
    begin_resting,
    closed_by,
    held_2d,
    held_3d,
    keep,
    state_problem,
)
from .stepper import APPROACH_NOISE, FEW_CONTACTS_TOLERANCE, MEASURED_OVERLAP, Stepper, fastest_component
from .substepped import LARGEST_GAIN, LARGEST_LIFT, PUSHED_OVERLAP, SOFT_OVERLAP, Substepped
from .synchronous import Synchronous

MOST_BODIES = 200  # of a world whose quiet steps are made here: in larger ones Python takes a small share of a step
# The same of a world whose sub-stepped steps are made here; in larger ones threads search contacts.
MOST_RELAXED_BODIES = 2000

SAFE_OVERLAP = 0.5 * NOTED_OVERLAP  # of balls, relative to the smallest radius: far from where a step must be cut
LONGEST_PAUSE = 31  # steps after which a world whose steps were not quiet is tried again

NO_SHAPES: Any = ()  # in place of shapes other than balls

REST_WIDTH = WIDTH + 4  # columns of `RestLog.rest`

# Columns of the table of quiet steps; the sums of `report.totals` follow.
CONTACTS, RESTING, ITERATIONS, RESIDUAL, APPLICATIONS, OVERLAP, SUMS = 0, 1, 2, 3, 4, 5, 6
NO_LIST = -1  # instead of a number of steps: the list of pairs is not complete for the next one


class Numbers(NamedTuple):
    """Numbers that stay constant during a run; see `Stepper` and `DriftSafe`."""

    h: float
    touch: float
    margin: float
    wait: float
    gained: float  # speed that bodies gain in two steps of free fall
    tolerance: float
    deep: float  # overlap above which a step is not quiet
    curved: float  # the same where motion along tangents may make more
    slop: float  # overlap up to which it is not removed
    length_scale: float
    least: float  # half width of the thinnest body
    farthest: float  # coordinate
    shared: bool  # whether a displacement of all bodies leaves pairs as they are
    all_round: bool
    holds: bool  # whether contacts are held by a resting solve
    has_balls: bool
    bodies: int  # bodies and boundaries together, from which keys of contacts are made
    boundaries: int
    halves: bool  # whether contacts are searched up to half of that gap, as in sub-stepped steps


class Fixed(NamedTuple):
    """What stays constant during a run, for n bodies."""

    masses: Masses
    surfaces: Surfaces
    radius: Floats  # (n,)
    is_round: NDArray[np.bool_]  # (n,)
    inner: Floats  # (n,) half widths
    arm: Floats  # (n,) at which rotation moves a surface
    reach: Floats  # (n,) bound on the gap up to which contacts are searched
    margins: Floats  # (n,) that gap, without a resting solve
    pull: Floats  # (n, d) whitened acceleration by gravity
    balls: NDArray[np.bool_]  # (n,) free discs or spheres
    others: NDArray[np.bool_]  # (n,) other free bodies
    boundary: Floats  # table of boundaries
    center: Floats  # (w, D) of boundaries
    boundary_velocity: Floats  # (w, 3 or 6)
    numbers: Numbers


class Packed(NamedTuple):
    """The same in fewer arrays: each one that Python hands to a kernel, and each tuple of them, takes time."""

    lengths: Floats  # (6, n) radius, inner, arm, reach, margins; mass
    marks: NDArray[np.bool_]  # (5, n) is_round, balls, others; free, even
    inertia: Floats
    vectors: Floats  # (2, n, d) pull; root
    gravity: Floats
    material: Ints
    boundary_material: Ints
    coefficients: Floats  # (4, k, k) restitution, friction
    boundary: Floats
    center: Floats
    boundary_velocity: Floats
    numbers: Floats  # those of `Numbers`, rows per contact of `Surfaces`, scheme of `Masses`


class QuietSteps:
    """Makes the quiet steps of a stepper. `count` is their number so far."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.count = stepper, 0
        self.pause = self.paused = 0  # steps to leave to the stepper, and how many that were the last time
        world, shapes, walls = stepper.world, stepper.world.shapes, stepper.world.boundaries
        n, none, dim = world.count, np.zeros(world.count), world.dimension
        detector = stepper.detector
        made = (quiet_balls, relaxed_balls)
        if not shapes.round.all():
            made = (quiet_polygons, relaxed_polygons) if dim == 2 else (quiet_solids, relaxed_solids)
        self.make, self.shapes = made[isinstance(stepper, Substepped)], NO_SHAPES if shapes.round.all() else shapes
        masses, surfaces, root = stepper.masses, stepper.surfaces, world.inverse_sqrt_mass
        arm, reach, pull = none, none, root  # without a resting solve they are not read
        if isinstance(stepper, DriftSafe):
            arm, reach, pull = stepper.arm, stepper.reach, stepper.pull
        marks = (shapes.round, detector.balls, detector.others, world.free, masses.even)
        numbers = (*_numbers(stepper), surfaces.smooth_rows, surfaces.rough_rows, masses.scheme)
        self.packed = Packed(
            np.stack([shapes.radius, shapes.inner, arm, reach, np.full(n, stepper.touch), world.mass]),
            np.stack(marks), masses.inertia, np.stack([pull, root]), world.gravity, surfaces.material,
            surfaces.boundary_material, np.concatenate([surfaces.restitution[None], surfaces.friction]),
            boundary_table(walls), walls.center, walls.velocity, np.array(numbers, np.float64),
        )  # fmt: skip
        self.axes, block = tuple(range(dim)), 3 if dim == 2 else 6
        rolls = world.rolling_friction is not None or world.torsional_friction is not None
        # Without a layout Numba prunes the branch of the resting solve, whose kernels take long to compile.
        self.layout = (
            layout(2, 3 * (dim - 1) if rolls else dim, block, dim - 1) if isinstance(stepper, DriftSafe) else None
        )
        self.limits = _limits(stepper) if isinstance(stepper, Substepped) else None

    @property
    def relaxed(self) -> Relaxed | None:
        """What sub-stepped steps need besides; None for other steppers."""
        if self.limits is None:
            return None
        assert isinstance(self.stepper, Substepped)
        scratch, asked = self.stepper.scratch, self.stepper.response.asked
        assert self.layout is not None
        assert asked is not None  # see `quiet_steps`
        of_contacts = (scratch.body, scratch.data, scratch.impulse, scratch.speeds)
        return Relaxed(scratch.axes, self.layout, self.limits, asked, *of_contacts, *scratch.bodies[:3])

    def steps(self, state: State, most: int) -> Stretch | None:
        """At most so many quiet steps; None if the next step is not quiet, or was not tried.

        After a step that is not quiet the next one is tried again, and later after pauses that double.
        """
        if self.pause:
            self.pause -= 1
            return None
        if self.limits is not None:
            return self._relaxed_steps(state, 1)  # the report has the impacts of one step
        began = perf_counter()
        made, stage, motion, out = self._made(state, most)
        self.count += max(made, 0)
        self.paused = 0 if made > 0 else min(2 * self.paused + 1, LONGEST_PAUSE)
        self.pause = self.paused if made <= 0 else int(made < most)
        return self._stretch(state, made, stage, motion, out, perf_counter() - began) if made > 0 else None

    def _made(self, state: State, most: int) -> tuple[int, list[Any], tuple[Floats, ...], Floats]:
        """Calls the kernel: the number of steps, what the last one has made, all states, and the table of steps."""
        stepper, n = self.stepper, len(state.position)
        turn = state.orientation.reshape(n, -1)
        start = (state.position, turn, state.velocity)
        motion = tuple([np.empty((most + 1, *array.shape)) for array in start])
        for array, first in zip(motion, start):
            array[0] = first
        out, detector = np.empty((most, SUMS + (5 if len(self.axes) == 2 else 8))), stepper.detector
        lists = (detector.pairs.list, detector.pairs.balls, detector.hits)
        warm_start = stepper.warm_start or NO_WARM_START
        given = (self.packed, self.shapes, lists, warm_start, motion, out)
        made, *stage = self.make(self.axes, self.layout if self.limits is None else self.relaxed, *given)
        return made, stage, motion, out

    def _relaxed_steps(self, state: State, most: int) -> Stretch | None:
        """Sub-stepped steps. A list of pairs that is not complete is made again here."""
        began, stepper, shape = perf_counter(), self.stepper, state.orientation.shape
        assert isinstance(stepper, Substepped)
        made, stage, motion, out = self._made(state, most)
        if made == NO_LIST:
            after = State(state.time + stepper.h, state.step, motion[0][1], motion[1][1].reshape(shape), motion[2][1])
            stepper.detector.update_pairs(state, after, stepper.bounds(state, stepper.h)[1])
            made, stage, motion, out = self._made(state, most)
        if made <= 0:
            return None
        stepper.scratch.taken(len(stage[0]))  # makes room for as many contacts in the next call
        stretch = self._stretch(state, made, stage, motion, out, perf_counter() - began)
        doubt, deepest, moved, unseen = stage[-1][:4]
        if doubt:  # of the one step that was made
            report = stretch.report
            report.deepest, report.moved, report.unseen = deepest, moved, unseen
            stepper._measure_overlap(state, report)
            if stepper._violation(state, stretch.states[0], report)[0] is not None:
                return None
            row = stretch.rows[0]
            stretch = stretch._replace(rows=[(*row[:8], report.overlap, *row[9:])])
            report.row = stretch.rows[0]
        stepper.warm_start, self.count = stretch.report.warm_start, self.count + made
        return stretch

    def _stretch(
        self, start: State, made: int, stage: list[Any], motion: tuple[Floats, ...], out: Floats, seconds: float
    ) -> Stretch:
        """The states and rows of the steps, and the report of the last one. Each has its share of the `seconds`."""
        stepper, h, shape = self.stepper, self.stepper.h, start.orientation.shape
        states, rows, number, times = [], [], start.step, (0.0, 0.0, 0.0, 0.0, seconds / made)
        for k, (contacts, resting, iterations, residual, rounds, overlap, *sums) in enumerate(out[:made].tolist(), 1):
            number += 1
            states.append(State(number * h, number, motion[0][k], motion[1][k].reshape(shape), motion[2][k]))
            counts = (int(contacts), int(resting), int(iterations), residual, 0, int(rounds))  # status: resolved
            rows.append((number, number * h, *counts, overlap, *sums, *times, 1))
        report = stepper.begin()
        report.row = rows[-1]
        if stepper.warm_start is not None:
            self._note(report, stage)
        return Stretch(states, rows, report, RestLog(*stage[-1]) if self.limits is None else None)

    def _note(self, report: StepReport, stage: list[Any]) -> None:
        """Adds the impulses of the last step to its report."""
        table, chosen, impulse, key, push, last = stage
        dim, row, begin = len(self.axes), report.row, (report.row[0] - 1) * self.stepper.h
        report.warm_start, report.near = WarmStart(key, push), ContactSet(table, dim)
        if self.limits is None:
            self.stepper.warm_start = report.warm_start
        elif len(last[4]):
            struck, strike = last[4:]
            speeds, time = strike[:, -4:-1].T.copy(), strike[:, -1] + begin
            given = (strike[:, 0], strike[:, 1:-4], time, None, speeds)
            report.stages.append(StageImpulses(ContactSet(struck, dim), None, *given))
        if len(chosen):
            report.note_rest(ContactSet(table, dim), chosen, impulse, 0.0, begin, self.stepper.h)
        report.residual, report.overlap = row[5], row[8]


def _limits(stepper: Substepped) -> Limits:
    """The limits of sub-stepped steps."""
    exact, scale, least = stepper.exact, stepper.world.length_scale, stepper.containment.least
    tolerance = min(stepper.tolerance, FEW_CONTACTS_TOLERANCE) if exact else stepper.tolerance
    rounds, lengths = MOST_APPLICATIONS if exact else 1, (PUSHED_OVERLAP * scale, SOFT_OVERLAP * scale)
    energies = (LARGEST_LIFT, LARGEST_GAIN, stepper.weight)
    work = (tolerance, float(stepper.most_work), stepper.substeps)
    return Limits(rounds, exact, *work, *lengths, *energies, NOTED_OVERLAP * least)


def _numbers(stepper: Stepper) -> Numbers:
    """The numbers of a stepper, in the order in which `_unpacked` reads them."""
    world, pairs, h, fall = stepper.world, stepper.detector.pairs, stepper.h, 2.0 * stepper.h * stepper.fall
    margin, wait, keys, scale = 0.0, 0.0, (0, 0), world.length_scale
    if isinstance(stepper, DriftSafe):
        margin, wait, keys = stepper.margin, stepper.wait, stepper.counts
    measured = world.dimension == 3 and not world.shapes.round.all()  # by `quiet_solids`, where it is large
    deep = (NOTICED_OVERLAP if measured else MEASURED_OVERLAP) * pairs.least
    overlaps = (deep, max(stepper.tolerance, FINEST_OVERLAP) * scale, OVERLAP_SLOP * scale, scale)
    kinds = (bool(world.shapes.round.all()), isinstance(stepper, DriftSafe), stepper.detector.has_balls)
    return Numbers(
        h, stepper.touch, margin, wait, fall, stepper.tolerance, *overlaps, pairs.least, pairs.farthest, pairs.shared,
        *kinds, *keys, isinstance(stepper, Substepped),
    )  # fmt: skip


def quiet_steps(stepper: Stepper) -> QuietSteps | None:
    """The quiet steps of a stepper; None if it or its world has stages that are not made here."""
    world = stepper.world
    most = MOST_RELAXED_BODIES if type(stepper) is Substepped else MOST_BODIES
    if type(stepper) not in (Synchronous, DriftSafe, Substepped) or not 0 < world.count <= most:
        return None
    moved = world.motions or world.moving_boundaries or world.force is not None or world.periodic is not None
    if world.joints is not None:
        return None
    if moved or world.potential is not None or world.has_meshes:
        return None
    if "KIN" not in stepper.response.law.claims or stepper.active_set == "swept":
        return None
    if isinstance(stepper, DriftSafe) and (world.restitution_curves or not stepper.keeps_apart):
        return None
    if isinstance(stepper, Substepped):
        rolls = world.rolling_friction is not None or world.torsional_friction is not None
        if rolls or stepper.response.asked is None or getattr(stepper.response.law, "patch_weights", False):
            return None
    return QuietSteps(stepper)


class Moment(NamedTuple):
    """The arrays of a state, with orientations (n, 1 or 4)."""

    position: Floats
    orientation: Floats
    velocity: Floats


class Stage(NamedTuple):
    """What a step has made of its contacts: those that are held with their impulses, and the warm start it leaves."""

    quiet: bool
    table: Floats  # of the contacts; see `ContactSet`
    chosen: Ints  # (k,) contacts that are held
    impulse: Floats  # (m, r) of all contacts
    warm_start: WarmStart
    slowed: Floats  # (q, 4) bodies that the removal of overlap has slowed, and the changes of their momenta


@kernel
def _stage(quiet, warm_start):
    """The stage of a step without held contacts."""
    return Stage(
        quiet, np.empty((0, WIDTH)), np.empty(0, np.int64), np.empty((0, 1)), warm_start, np.empty((0, 4))
    )  # fmt: skip


class Log(NamedTuple):
    """What all steps so far have held (`events.RestLog`), in arrays of which the first rows are in use."""

    rest: Floats  # columns of the table of contacts, three impulses, the number of the step
    slowed: Floats  # number of the step, and the columns of `Stage.slowed`
    used: int
    slowed_used: int


@kernel(inline="always")
def _empty_log():
    return Log(np.empty((0, REST_WIDTH)), np.empty((0, 5)), 0, 0)


@kernel
def _logged(log, stage, k):
    """The log with the stage of step k."""
    rest = with_room(log.rest, log.used, len(stage.chosen))
    slowed = with_room(log.slowed, log.slowed_used, len(stage.slowed))
    used, tangents = log.used, min(stage.impulse.shape[1], 3)
    for i in stage.chosen:
        row = rest[used]
        for c in range(WIDTH):
            row[c] = stage.table[i, c]
        for c in range(3):
            row[WIDTH + c] = stage.impulse[i, c] if c < tangents else 0.0
        row[WIDTH + 3] = k
        used += 1
    for j in range(len(stage.slowed)):
        slowed[log.slowed_used + j, 0] = k
        for c in range(4):
            slowed[log.slowed_used + j, 1 + c] = stage.slowed[j, c]
    return Log(rest, slowed, used, log.slowed_used + len(stage.slowed))


# The kernels that follow are alike but for the narrow phase and the test that bodies are apart, which `_steps` and
# `_substepped` are handed as kernels. Stages of every step are inlined: each call hands over all arrays of `Fixed`, and
# with calls a step of two bodies took a tenth longer. Free flight and the resting solve are calls: inlined they were a
# third of the compile time, and the step took as long.
#
# `lay` is the layout of the resting solve, None without one. `lists` are the list of pairs, the number of pairs of
# balls in it, and scratch of the length of the list. `motion` are positions (k + 1, n, D), orientations
# (k + 1, n, 1 or 4) and velocities (k + 1, n, d); the first of each is the start.


@kernel
def quiet_balls(axes, lay, packed, shapes, lists, warm_start, motion, out):
    """Steps of a world of discs or of spheres."""
    return _steps(_balls, _balls_apart, axes, lay, packed, shapes, lists, (warm_start, motion, out))


@kernel
def quiet_polygons(axes, lay, packed, shapes, lists, warm_start, motion, out):
    """Steps of a 2D world with polygons."""
    return _steps(_polygons, _polygons_apart, axes, lay, packed, shapes, lists, (warm_start, motion, out))


@kernel
def quiet_solids(axes, lay, packed, shapes, lists, warm_start, motion, out):
    """Steps of a 3D world with other convex shapes than spheres."""
    return _steps(_solids, _solids_apart, axes, lay, packed, shapes, lists, (warm_start, motion, out))


@kernel
def relaxed_balls(axes, relaxed, packed, shapes, lists, warm_start, motion, out):
    """A sub-stepped step of a world of discs or of spheres."""
    return _substepped(_balls, _balls_seen_apart, axes, relaxed, packed, shapes, lists, (warm_start, motion, out))


@kernel
def relaxed_polygons(axes, relaxed, packed, shapes, lists, warm_start, motion, out):
    """A sub-stepped step of a 2D world with polygons."""
    return _substepped(_polygons, _unknown, axes, relaxed, packed, shapes, lists, (warm_start, motion, out))


@kernel
def relaxed_solids(axes, relaxed, packed, shapes, lists, warm_start, motion, out):
    """A sub-stepped step of a 3D world with other convex shapes than spheres."""
    return _substepped(_solids, _solids_seen_apart, axes, relaxed, packed, shapes, lists, (warm_start, motion, out))


@kernel(inline="always")
def _steps(find, apart, axes, lay, packed, shapes, lists, given):
    """Makes at most as many steps as `out` has rows, which it writes. Returns their number, what the last one has made
    (table, contacts, impulses), the logs of all, and keys and impulses of the warm start."""
    (warm_start, motion, out), fixed, made = given, _unpacked(packed), 0
    stage, log = _stage(True, warm_start), _empty_log()
    while made < len(out):
        before, after = _moment(motion, made), _moment(motion, made + 1)
        near, listed, bounds = _fly(axes, fixed, lists[0], before, after)
        if not (near and listed):
            break
        table = find(shapes, fixed, lists, before, after, bounds[1])
        new = _made_of(axes, lay, fixed, table, bounds, (before, after), stage.warm_start, out[made])
        if not new.quiet or not apart(axes, shapes, fixed, lists, new.table, (before, after), out[made]):
            break
        stage, log = new, _logged(log, new, made)
        made += 1
    kept = stage.warm_start
    held = (log.rest[: log.used], log.slowed[: log.slowed_used])
    return made, stage.table, stage.chosen, stage.impulse, kept.key, kept.impulse, held


@kernel(inline="always")
def _substepped(find, seen_apart, axes, relaxed, packed, shapes, lists, given):
    """Makes one step, whose row it writes. Returns 1, 0 if the step must be left to the stepper, or NO_LIST; and the
    step (`relaxed_step.py`): its table, contacts, impulses, keys and impulses of the warm start, doubt, lengths, bodies
    to test, and what was struck."""
    (warm_start, motion, out), fixed, made = given, _unpacked(packed), 0
    before, after = _moment(motion, 0), _moment(motion, 1)
    near, listed, bounds = _fly(axes, fixed, lists[0], before, after)
    table = np.empty((0, WIDTH))
    if near and listed:
        table = find(shapes, fixed, lists, before, after, bounds[1])
    step = _relax(relaxed, fixed, table, bounds, (before, after), warm_start, out[0])
    doubt = step.doubt
    if step.made and doubt == SOME_DOUBT and seen_apart(axes, shapes, fixed, lists, after, step.unseen):
        doubt = NO_DOUBT
    made = NO_LIST if near and not listed else int(near and step.made)
    last = (doubt, step.deepest, step.moved, step.unseen, step.law.table, step.law.impulse)
    return made, step.table, step.chosen, step.total, step.key, step.kept, last


@kernel
def _balls(shapes, fixed, lists, before, after, margins):
    """The contacts of a step of balls."""
    ends = _ends(fixed, before, after, margins)
    return ball_contacts(lists[0].table, 0, len(lists[0].table), ends, fixed.radius, fixed.balls, lists[2])


@kernel
def _polygons(shapes, fixed, lists, before, after, margins):
    """The contacts of a step of polygons and discs."""
    ends = _ends(fixed, before, after, margins)
    return _with_balls(polygon_contacts(shapes, lists[0].table[lists[1] :], ends, fixed.others), fixed, lists, ends)


@kernel
def _solids(shapes, fixed, lists, before, after, margins):
    """The contacts of a step of convex shapes and spheres."""
    ends = _ends(fixed, before, after, margins)
    return _with_balls(solid_contacts(shapes, lists[0].table[lists[1] :], ends, fixed.others), fixed, lists, ends)


@kernel
def _with_balls(table, fixed, lists, ends):
    """The contacts of balls with each other and with boundaries, and those of `table` after them."""
    if not fixed.numbers.has_balls:
        return table
    balls = ball_contacts(lists[0].table, 0, lists[1], ends, fixed.radius, fixed.balls, lists[2])
    return np.concatenate((balls, table))


@kernel
def _unpacked(packed):
    """What is packed, as `Fixed`; numbers are in the order of `Numbers`, and three more."""
    x, marks, lengths, c = packed.numbers, packed.marks, packed.lengths, packed.coefficients
    pull, root = packed.vectors[0], packed.vectors[1]
    masses = Masses(lengths[5], packed.inertia, root, marks[3], marks[4], packed.gravity, int(x[21]))
    surfaces = Surfaces(packed.material, packed.boundary_material, c[0], c[1:], int(x[19]), int(x[20]))
    sizes = (x[12] != 0.0, x[13] != 0.0, x[14] != 0.0, x[15] != 0.0, int(x[16]), int(x[17]), x[18] != 0.0)
    numbers = Numbers(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], *sizes)
    bodies = (lengths[0], marks[0], lengths[1], lengths[2], lengths[3], lengths[4], pull, marks[1], marks[2])
    return Fixed(masses, surfaces, *bodies, packed.boundary, packed.center, packed.boundary_velocity, numbers)


@kernel(inline="always")
def _moment(motion, k):
    """The state with number k."""
    return Moment(motion[0][k], motion[1][k], motion[2][k])


@kernel(inline="always")
def _ends(fixed, before, after, margins):
    """What the narrow phase gets of a step."""
    return Ends(
        before.position, before.orientation, after.position, after.orientation, fixed.boundary, fixed.boundary,
        margins, NO_SIDES, WIDTH,
    )  # fmt: skip


@kernel
def _fly(axes, fixed, made, before, after):
    """Moves the bodies freely; whether they do not move far, whether all pairs that may touch are in the list, and the
    bounds of `put_bounds`."""
    numbers, bounds = fixed.numbers, np.zeros((3, len(fixed.radius)))
    after.position[:] = before.position
    after.orientation[:] = before.orientation
    after.velocity[:] = before.velocity
    if len(axes) == 2:  # a constant of the kernel: in 2D the kernels of rotations in 3D are not compiled
        fall_2d(fixed.masses, after.position, after.orientation, after.velocity, numbers.h)
    elif after.velocity.shape[1] == 6:
        fall_3d(fixed.masses, after.position, after.orientation, after.velocity, numbers.h)
    else:
        fall_2d(fixed.masses, after.position, after.orientation, after.velocity, numbers.h)
    bounds[1] = fixed.margins
    if numbers.holds:
        gained = np.full(1, numbers.gained)
        put_bounds(before.velocity, gained, fixed.arm, fixed.reach, len(axes), numbers.h, numbers.margin, bounds)
    for b in range(len(fixed.radius) if numbers.halves else 0):
        bounds[1, b] = 0.5 * (bounds[1, b] + numbers.margin)
    near = True
    if len(axes) == 3 or numbers.halves:
        _, _, moved = _displacements(fixed, before, after, numbers.shared)
        near = moved <= 0.5 * FAR_MOTION * numbers.least
    kept = check(axes, made, after.position, bounds[1], bounds[2], numbers.shared, numbers.farthest) == LIST_KEPT
    return near, kept, bounds


@kernel(inline="always")
def _displacements(fixed, before, after, relative):
    """Bounds on displacements, as `displacement_bounds`."""
    return displacement_bounds(
        before.position, after.position, before.orientation, after.orientation, fixed.is_round, fixed.radius, relative
    )


@kernel
def _relax(relaxed, fixed, table, bounds, moments, warm_start, row):
    """A sub-stepped step. Writes its end, and the row of the step."""
    step = relaxed_step(relaxed, fixed, table, bounds, moments, warm_start)
    law = step.law
    row[CONTACTS], row[RESTING], row[ITERATIONS] = law.contacts, len(step.chosen), law.iterations
    row[RESIDUAL], row[APPLICATIONS], row[OVERLAP] = step.residual, law.rounds, step.overlap
    _put_totals(fixed.masses, moments[1], row[SUMS:])
    return step


@kernel(inline="always")
def _made_of(axes, lay, fixed, table, bounds, moments, warm_start, row):
    """The stage of a step that finds the contacts `table`. Writes the row of the step."""
    row[:SUMS] = 0.0
    if lay is None:
        stage = _stage(not len(table) or _opens(axes, fixed, table, moments[0], row), warm_start)
    elif len(table):
        stage = _hold(axes, lay, fixed, table, bounds, moments, warm_start, row)
    else:
        stage = _stage(True, warm_start)
    _put_totals(fixed.masses, moments[1], row[SUMS:])
    return stage


@kernel(inline="always")
def _opens(axes, fixed, table, start, row):
    """Whether no contact approaches, but for rounding. Writes the overlap."""
    row[OVERLAP] = deepest_overlap(table)
    rows, _, x, _, _ = _rows(axes, fixed, table, start)
    return speeds(rows, x).min() >= -APPROACH_NOISE * fastest_component(start.velocity, len(axes))


@kernel(inline="always")
def _apart(fixed, before, after, free):
    """Whether bodies have moved so little that a contained step has kept them apart (`containment.py`).

    If they have moved `free`, without contacts, none touch at the end.
    """
    if not fixed.numbers.holds:
        return True
    center, rotation, largest = _displacements(fixed, before, after, False)
    most = 0.0
    for b in range(len(center)):
        most = max(most, (center[b] + rotation[b]) / fixed.inner[b])
    if most > 0.5 * FAR_MOTION or largest > 0.5 * FAR_MOTION * fixed.numbers.least:
        return False
    return free or most <= FAST_DISPLACEMENT


# Tests that a step has kept bodies apart; they have the same arguments.


@kernel
def _balls_apart(axes, shapes, fixed, lists, table, moments, row):
    """Balls may also have moved farther, if they hardly overlap at the end."""
    before, after = moments
    if _apart(fixed, before, after, False):
        return True
    return _apart(fixed, before, after, True) and _balls_seen_apart(axes, shapes, fixed, lists, after, fixed.balls)


@kernel
def _polygons_apart(axes, shapes, fixed, lists, table, moments, row):
    return _apart(fixed, moments[0], moments[1], len(table) == 0)


@kernel
def _solids_apart(axes, shapes, fixed, lists, table, moments, row):
    """Overlap that contacts show is measured, and written to the row of the step."""
    if row[OVERLAP] > MEASURED_OVERLAP * fixed.numbers.least:
        row[OVERLAP] = _measured_overlap(shapes, fixed, table, moments[0])
    return row[OVERLAP] <= fixed.numbers.deep and _apart(fixed, moments[0], moments[1], len(table) == 0)


# Tests that bodies are apart in a state; they have the same arguments.


@kernel
def _unknown(axes, shapes, fixed, lists, after, unseen):
    return False


@kernel
def _balls_seen_apart(axes, shapes, fixed, lists, after, unseen):
    """Whether balls hardly overlap in a state for which the list of pairs is complete."""
    made, numbers, none = lists[0], fixed.numbers, np.zeros(len(fixed.radius))
    if check(axes, made, after.position, none, none, numbers.shared, numbers.farthest) != LIST_KEPT:
        return False
    return deepest_overlap(_balls(shapes, fixed, lists, after, after, none)) <= SAFE_OVERLAP * numbers.least


@kernel
def _solids_seen_apart(axes, shapes, fixed, lists, after, unseen):
    """Whether no body of `unseen` (n,) overlaps another or a boundary by much, as `Containment._overlapping`."""
    made, numbers, none, place = lists[0], fixed.numbers, np.zeros(len(fixed.radius)), after.position
    if check(axes, made, place, none, none, numbers.shared, numbers.farthest) != LIST_KEPT:
        return False
    chosen = np.where(unseen, np.inf, 0.0)  # bodies at rest: only chosen ones
    pairs = meeting_pairs(made.table, NO_SIDES, place, place, chosen, fixed.radius, fixed.inner, NOTED_OVERLAP)
    turn, m, limit = after.orientation, len(pairs), np.empty(len(pairs))
    motions = pair_motions(fixed.is_round, made.table[pairs], NO_SIDES, place, place, turn, turn, 0.0)[0]
    for k in range(m):
        limit[k] = -NOTED_OVERLAP * min(fixed.inner[motions.owner[k]], fixed.inner[motions.owner[m + k]])
    gap = np.empty(m)
    put_gaps_3d(shapes, motions, np.arange(m), limit, gap)
    ends, deep = _ends(fixed, after, after, none), False
    for k in range(m):
        deep = deep or gap[k] < limit[k]
    bounded = solid_contacts(shapes, made.table[:0], ends, fixed.others & unseen)
    if numbers.has_balls:
        balls = ball_contacts(made.table, 0, 0, ends, fixed.radius, fixed.balls & unseen, lists[2])
        bounded = np.concatenate((balls, bounded))
    return not deep and deepest_overlap(bounded) <= NOTED_OVERLAP * numbers.least


@kernel
def _measured_overlap(shapes, fixed, table, start):
    """The deepest overlap of the pairs of a table of contacts, a length, as `Containment.overlap_of`."""
    deepest, result, limit = 0.0, 0.0, 0.0
    for i in range(len(table)):
        deepest = min(deepest, table[i, GAP])
        if table[i, SECOND] < 0.0:
            result = max(result, -table[i, GAP])
    limit = 0.5 * deepest
    for _ in range(2):
        pairs, m = np.zeros((len(table), COLUMNS), np.int32), 0
        for i in range(len(table) if limit < 0.0 else 0):
            a, b = np.int32(table[i, FIRST]), np.int32(table[i, SECOND])
            # Contacts of a pair follow each other.
            if b >= 0 and table[i, GAP] <= limit and (m == 0 or a != pairs[m - 1, 0] or b != pairs[m - 1, 1]):
                pairs[m, 0], pairs[m, 1], pairs[m, 2] = a, b, NO_IMAGE
                m += 1
        if m:
            place, turn, gap = start.position, start.orientation, np.empty(m)
            motions = pair_motions(fixed.is_round, pairs[:m], NO_SIDES, place, place, turn, turn, 0.0)[0]
            put_gaps_3d(shapes, motions, np.arange(m), np.zeros(m), gap)
            result = max(result, -gap.min())
        if result >= -limit:
            break
        limit = -0.5 * result
    return result


@kernel(inline="always")
def _rows(axes, fixed, table, start):
    """The rows of a table of contacts, as `assembled`."""
    moving = (start.position, start.orientation, start.velocity, fixed.masses, fixed.center, fixed.boundary_velocity)
    return assembled(axes, table, moving, fixed.surfaces)


@kernel
def _hold(axes, lay, fixed, table, bounds, moments, warm_start, row):
    """The stage of the resting solve. Writes the poses of held bodies, and the row of the step."""
    numbers, h, (before, after), near = fixed.numbers, fixed.numbers.h, moments, np.empty(len(table), np.int64)
    m, overlap = near_contacts(table, bounds[1], numbers.margin, near)
    row[OVERLAP] = max(0.0, overlap)  # and not -0.0
    if not m or row[OVERLAP] > numbers.deep:
        return _stage(m == 0, warm_start)
    table = table[near[:m]] if m < len(table) else table
    rows, restitution, x, bodies, _ = _rows(axes, fixed, table, before)
    speed, top, fast = approach_speeds(rows, x, table, restitution, bounds[0], (numbers.margin, numbers.touch), h)
    if fast:
        return _stage(False, warm_start)
    interval = Interval(x, speed[0], speed[1], bodies, np.empty((0, x.shape[1])), np.empty(0), np.empty((0, 4)), h)
    problem = RestingProblem(
        np.empty_like(x), rows.base.copy(), np.zeros_like(rows.base), np.empty(m, np.bool_), np.empty(m, np.int64)
    )
    limits = (numbers.wait, numbers.margin, numbers.bodies, numbers.boundaries)
    state_problem(rows, interval, table, restitution, fixed.pull, warm_start, limits, problem)
    some, impulse, scale = np.empty(m, np.int64), np.zeros_like(rows.base), max(numbers.gained, top)
    count, closes = begin_resting(rows, problem, problem.closing, problem.start, some, impulse)
    few = count <= EXACT_CONTACTS
    tolerance = (min(numbers.tolerance, FEW_CONTACTS_TOLERANCE) if few else numbers.tolerance) * scale
    accuracy = Accuracy(tolerance, max(tolerance, numbers.tolerance * scale), FINE_WORK, 0, np.inf)
    velocity, residual, solved, some = problem.falling, 0.0, True, some[:count]
    if closes:
        given = Problem(rows.body, rows.val, problem.base, rows.bound, np.zeros(m))
        velocity, residual, solved = _solved(lay, rows, given, some, velocity, impulse, accuracy)
    least = max(numbers.touch / h, tolerance)
    if not solved or closed_by(rows, problem.base, velocity, problem.closing, least) > 0:
        return _stage(False, warm_start)
    key, push, force = some[:0], np.empty((0, 1)), np.zeros(m)
    if closes:
        held = Held(some, problem.falling, impulse, velocity, residual, 0, 0.0)
        _move_held(rows, held, interval, fixed.masses, moments)
        row[RESTING], row[RESIDUAL] = count, residual / scale if residual > 0.0 else 0.0
        key, push = keep(table, problem.keys, impulse, some, len(axes))
        for i in range(m):
            force[i] = impulse[i, 0] / h
    quiet, slowed = row[RESIDUAL] <= numbers.tolerance, np.empty((0, 4))
    if quiet and row[OVERLAP] > numbers.slop:
        moved = after.velocity.copy()
        quiet = _remove_overlap(lay, fixed, table, rows, bodies, (force, restitution), moments, row[OVERLAP])
        slowed = _slowed(fixed.masses, moved, after.velocity, len(axes))
    if quiet and not numbers.all_round:
        moved = farthest(after.velocity, fixed.arm, len(axes), h, bodies)
        allowed = numbers.curved
        quiet = row[OVERLAP] <= allowed and moved * moved <= 2.0 * allowed * numbers.length_scale
    return Stage(quiet, table, some if closes else some[:0], impulse, WarmStart(key, push), slowed)


@kernel
def _slowed(masses, before, after, dim):
    """The rows of `Stage.slowed` for velocities (n, d) before and after the removal of overlap."""
    out, count = np.zeros((len(before), 4)), 0
    for b in range(len(before)):
        changed = False
        for c in range(dim if masses.free[b] else 0):
            out[count, 1 + c] = masses.mass[b] * (after[b, c] - before[b, c])
            changed = changed or out[count, 1 + c] != 0.0
        if changed:
            out[count, 0] = b
            count += 1
    return out[:count]


@kernel(inline="always")
def _solved(lay, rows, given, some, velocity, impulse, accuracy):
    """Velocities after the impulses, which are written, the residual, and whether no large island is left."""
    touching, val, base, z = (rows.touch_ptr, rows.touch), given.val, given.base, impulse
    d, padding = val.shape[3], val.shape[2] != len(lay.rows) or val.shape[3] != len(lay.axes)
    if padding:
        val, base, velocity, z = padded(lay, val, base, velocity, impulse)
    whole = Problem(given.body, val, base, given.bound, given.given)
    x, residual, _, left, _ = solve_small_islands(lay, whole, touching, some, velocity, z, CONE, accuracy)
    if padding:
        x = x[:, :d].copy()
        for i in range(len(impulse)):
            for row in range(impulse.shape[1]):
                impulse[i, row] = z[i, row]
    return x, residual, len(left) == 0


@kernel
def _remove_overlap(lay, fixed, table, rows, bodies, contacts, moments, deepest):
    """Removes overlap as `without_overlap` does; False if a large island is left, or one in free flight."""
    masses, (before, after), (m, n) = fixed.masses, moments, (len(table), len(fixed.radius))
    many, scale, dim = m > EXACT_CONTACTS, fixed.numbers.length_scale, len(masses.gravity)
    slop = (max(OVERLAP_SLOP, SHARE_OF_TOLERANCE * fixed.numbers.tolerance) if many else OVERLAP_SLOP) * scale
    if deepest <= slop:
        return True
    plan = empty_plan(m, n, rows.base.shape[1])
    motion = (before.position, before.velocity, after.position, after.velocity)
    lengths = (slop, NEAR_GAP * deepest, 1.0, LOOSE_OVERLAP * scale)
    count, error = make_plan(table, np.empty((0, WIDTH)), contacts, masses, motion, lengths, plan)
    if not count:
        return True
    if plan.loose.any():
        return False
    apart = Problem(rows.body, rows.val, plan.base, np.zeros_like(rows.bound), np.zeros(m))
    still, none = np.zeros((len(rows.touch_ptr) - 1, after.velocity.shape[1])), np.zeros_like(rows.base)
    accuracy = Accuracy(error, error, 0.0, 0, CONTACT_WORK * count)
    x, _, solved = _solved(lay, rows, apart, plan.near[:count], still, none, accuracy)
    move = np.zeros_like(after.velocity)
    move_within_energy(x, bodies, plan, masses, move, after.velocity)
    for b in range(n):
        for c in range(dim):
            after.position[b, c] += move[b, c]
        if dim == 2 and move.shape[1] == 3:
            after.orientation[b, 0] += move[b, 2]
    if move.shape[1] == 6:
        rotate_all(masses, after.orientation, after.velocity, move, False)
    return solved


@kernel(inline="always")
def _move_held(rows, held, interval, masses, moments):
    """Writes the poses and velocities of held bodies, as `held_motion`."""
    before, after = moments
    start, end = (
        (before.position, before.orientation, before.velocity),
        (after.position, after.orientation, after.velocity),
    )
    if after.velocity.shape[1] == 6:
        held_3d(rows, held, interval, masses, start, end)
    else:
        held_2d(rows, held, interval, masses, start, end)


@kernel(inline="always")
def _put_totals(masses, state, out):
    """Writes the sums of `report.totals`."""
    if len(masses.gravity) == 2:
        out[:] = totals_2d(masses.mass, masses.inertia, masses.free, masses.gravity, state.position, state.velocity)
    else:
        out[:] = totals_3d(
            masses.mass, masses.inertia, masses.free, masses.gravity, state.position, state.orientation, state.velocity
        )
