"""A sub-stepped step in one kernel, with the kernels that the stages of `substepped.py` call, in the same order.

The law is that of `resolve/coupled.py`. The kernel gives a step up where that does not suffice, or where sub-steps do
not keep their bound on energy; the step is then made by the stepper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contact.contact_set import GAP, PREDICTED, WIDTH
from ..contact.motion import FAR_MOTION
from ..geometry.rotations import matrices
from ..kernels import kernel
from ..laws.law import FRONT_CONTACTS, IMPULSE_WORK, PASS_WORK
from ..problem.assemble import Motion, assembled, coefficients_of, whiten
from ..resolve.coupled import DONE, Asked, coupled_impulses
from ..solvers.contact_island import Layout
from ..solvers.rows import Floats, Ints, fastest_speeds, pushed, pushed_along
from ..solvers.substeps import Bodies, Records, Substeps, substep_number
from .closing_contacts import approach, involved, keep_near, moved_unseen, predict
from .impact_stage import Approach, change_velocity, displace, struck_bodies
from .integrator import fall_2d, fall_3d, rotate_all
from .relaxation import (
    Axes,
    prepare,
    put_bodies,
    put_displacements,
    relax,
    relaxed_motion_2d,
    relaxed_motion_3d,
    scale_impulses,
)
from .resting import keep, match, put_keys
from .stepper import speeds_and_energy
from .touch import Flight, put_touching

# Whether a step has kept bodies apart: it has; it has, except perhaps for some bodies; it may not have.
NO_DOUBT, SOME_DOUBT, DOUBT = 0, 1, 2


class Limits(NamedTuple):
    """Numbers of a sub-stepped run that stay constant."""

    rounds: int  # largest number of applications of the law per step
    exact: bool  # whether the law gets whole islands and is solved to rounding
    tolerance: float  # of the law, relative to the speed to which that of the run is relative
    work: float  # of the law per step, in multiplications, above which the step is given up
    substeps: int
    push: float  # overlap that is pushed out per step
    soft: float  # overlap above which contacts stiffen
    lift: float  # bound on the work of pushing overlap out, relative to kinetic energy and `weight`
    gain: float  # bound on the energy beyond that work, in the same units
    weight: float  # energy that lifts all bodies by a length scale
    noted: float  # overlap above which a step is looked at


class Relaxed(NamedTuple):
    """What a sub-stepped step needs besides what every quiet step does: limits, the law, and scratch for n bodies."""

    axes: Axes
    layout: Layout  # of the friction solve of an impact
    limits: Limits
    asked: Asked
    body: Ints  # (m, 2), and the three below, for at most m contacts
    data: Floats
    impulse: Floats
    speeds: Floats
    motion: Floats  # those of `Bodies`
    before: Floats
    pull: Floats


class Course(NamedTuple):
    """The motion of n bodies from the start of a step as impacts have changed it. Kernels write into the arrays."""

    orientation: Floats  # (n, 1 or 4)
    velocity: Floats  # (n, d)
    shift: Floats  # (n, d) displacement of the start
    time: Floats  # (n,) of the last impact


class Applied(NamedTuple):
    """What the applications of the law in a step have done."""

    solved: bool  # whether the kernel has solved them
    struck: bool | np.bool_  # whether they have changed anything
    contacts: int
    iterations: int
    rounds: int
    residual: float  # a speed
    scale: float  # speed to which the tolerance is relative
    table: Floats  # contacts of all applications, as they were then
    impulse: Floats  # (k, 5 + t) of these; normal speeds before and after, energy lost, time


class Outcome(NamedTuple):
    """A sub-stepped step."""

    made: bool  # whether the kernel has made it
    doubt: int  # whether it is known that it has kept bodies apart: one of those below
    overlap: float  # at the start
    deepest: float  # overlap at the end
    moved: float  # largest displacement
    residual: float  # of all stages, relative
    table: Floats  # contacts near the start
    chosen: Ints  # (k,) contacts that were relaxed
    total: Floats  # (m, D) their impulses
    key: Ints  # of the warm start of the next step
    kept: Floats
    unseen: np.ndarray  # (n,) bodies that may overlap others more than `deepest`
    law: Applied


@kernel
def relaxed_step(relaxed, fixed, table, bounds, moments, warm_start):
    """Makes one step: writes into `moments[1]`, which has the end of free motion. Arguments as in `quiet.py`."""
    numbers, limits, (before, after) = fixed.numbers, relaxed.limits, moments
    count, overlap = keep_near(table, bounds[1], numbers.margin)
    table, overlap, n = table[:count], max(0.0, overlap), len(fixed.radius)  # and not -0.0
    law = Applied(True, False, 0, 0, 0, 0.0, numbers.gained, np.empty((0, WIDTH)), np.empty((0, 1)))
    free, chosen, total = (after.position.copy(), after.orientation.copy()), np.empty(0, np.int64), np.empty((0, 1))
    made, deepest, left, key, kept = True, overlap, 0.0, warm_start.key, warm_start.impulse
    if count:
        records, bodies = _records(relaxed, count)
        restitution = _prepare(relaxed.axes, fixed, table, before, records, bodies)
        course = Course(before.orientation.copy(), before.velocity.copy(), np.zeros_like(before.velocity), np.zeros(n))
        law = _impacts(relaxed, fixed, table, (bounds[0], restitution), (records, bodies), (before, course))
        made = law.solved and law.residual <= numbers.tolerance * law.scale
        if made:
            if law.struck:
                _move(fixed, before.position, course, after)
            keys = np.empty(count, np.int64)
            put_keys(table, numbers.bodies, numbers.boundaries, keys)
            scratch = (records, bodies, law.struck)
            made, deepest, left = _relax(relaxed, fixed, (table, keys, warm_start), scratch, course, overlap)
        if made:
            deepest = max(deepest, overlap)
            _put_end(fixed.masses, bodies, numbers.h, (before.position, course), after)
            total, chosen = records.total, np.flatnonzero(records.total[:, 0])
            key, kept = keep(table, keys, records.impulse, chosen, len(relaxed.axes.linear))
            left = left / law.scale if law.scale > 0.0 else 0.0
    doubt, moved, unseen = _doubt(fixed, limits.noted, bounds[1], (before, free, after), (overlap, deepest))
    residual = max(left, law.residual / law.scale if law.residual > 0.0 else 0.0)
    return Outcome(made, doubt, overlap, deepest, moved, residual, table, chosen, total, key, kept, unseen, law)


@kernel(inline="always")
def _records(relaxed, count):
    """Records for a number of contacts, and bodies; sums of impulses are a new array, for the report."""
    body, data, impulse = relaxed.body, relaxed.data, relaxed.impulse
    if count > len(body):
        body, data = np.empty((count, 2), np.int64), np.empty((count, data.shape[1]))
        impulse = np.empty((count, impulse.shape[1]))
    total = np.empty((count, impulse.shape[1]))
    records = Records(body[:count], data[:count], impulse[:count], total)
    return records, Bodies(relaxed.motion, relaxed.before, relaxed.pull, np.empty(0))


@kernel
def _prepare(axes, fixed, table, start, records, bodies):
    """`Substepped._prepare`: records of the contacts, bodies before the first sub-step, and restitutions (m,)."""
    restitution, friction, _ = coefficients_of(table, fixed.surfaces)
    turn = matrices(start.orientation) if len(axes.linear) == 3 else np.empty((0, 3, 3))
    root = fixed.masses.root
    placed = Motion(start.position, start.velocity, turn, root, fixed.center, fixed.boundary_velocity)
    none = np.empty((0, root.shape[1]))
    prepare(axes, table, placed, fixed.masses, none, friction, fixed.numbers.h, (records, bodies))
    return restitution


# ---- impacts


@kernel
def _impacts(relaxed, fixed, table, of_contacts, scratch, motion):
    """`Substepped._impacts`. Writes the motion after impacts; `of_contacts` are resting speeds and restitutions."""
    (slow, restitution), (records, bodies), (before, course) = of_contacts, scratch, motion
    numbers, limits, axes, m = fixed.numbers, relaxed.limits, relaxed.axes, len(table)
    lengths, taken, known = (numbers.margin, numbers.touch, numbers.wait), np.zeros(m, np.bool_), table
    speed = relaxed.speeds[:m] if m <= len(relaxed.speeds) else np.empty((m, 2))
    out, work = Applied(True, False, 0, 0, 0, 0.0, numbers.gained, np.empty((0, WIDTH)), np.empty((0, 1))), 0.0
    for number in range(limits.rounds):
        left = limits.tolerance * out.scale if number else 0.0
        top, energy = approach(
            axes.linear, axes.angular, records, bodies, known, (slow, restitution, left), lengths, speed
        )
        out = _joined(out, Applied(True, False, 0, 0, 0, 0.0, max(out.scale, top), out.table[:0], out.impulse[:0]))
        if energy == 0.0:
            break
        chosen = involved(records.body, known, speed, numbers.touch, m if limits.exact else 0, taken)
        new = _round(relaxed, fixed, known[chosen], speed[chosen], (before.position, course, out.struck), out)
        out, work = _joined(out, new), work + new.iterations * (PASS_WORK + IMPULSE_WORK * min(m, FRONT_CONTACTS))
        if work > limits.work:
            out = _joined(out, Applied(False, False, 0, 0, 0, 0.0, out.scale, out.table[:0], out.impulse[:0]))
        if not new.struck or not out.solved:
            break
        earlier = bodies.motion.copy() if number + 1 < limits.rounds else bodies.motion
        put_displacements(axes.linear, course.velocity, course.shift, fixed.masses, bodies)
        if number + 1 < limits.rounds:
            known = known.copy()
            predict(axes.linear, axes.angular, records, bodies, numbers.h, earlier, known)
    return out


@kernel
def _joined(a, b):
    """What two applications of the law have done."""
    table, impulse = a.table, a.impulse
    if len(b.table):
        table = np.concatenate((a.table, b.table)) if len(a.table) else b.table
        impulse = np.concatenate((a.impulse, b.impulse)) if len(a.table) else b.impulse
    return Applied(
        a.solved and b.solved, a.struck or b.struck, a.contacts + b.contacts, a.iterations + b.iterations,
        a.rounds + b.rounds, max(a.residual, b.residual), max(a.scale, b.scale), table, impulse,
    )  # fmt: skip


@kernel
def _round(relaxed, fixed, part, speed, motion, so_far):
    """`Substepped._round`: one application of the law to the contacts `part`, with speeds (k, 2). Writes the course."""
    (position, course, again), axes, m = motion, relaxed.axes.linear, len(part)
    masses, numbers, start = fixed.masses, fixed.numbers, (position, course.orientation, course.velocity)
    moving = (*start, masses, fixed.center, fixed.boundary_velocity)
    rows, e, x, bodies, everyone = assembled(axes, part, moving, fixed.surfaces)
    pull = fixed.pull if everyone else fixed.pull[bodies]
    state = _approach(masses, rows, part, speed, (x, bodies), course, again)
    flight = Flight(
        *start, masses, bodies, fixed.radius, fixed.is_round, fixed.boundary, fixed.center, fixed.boundary_velocity,
        numbers.h, np.ones(len(fixed.is_round), np.bool_),
    )  # fmt: skip
    struck = struck_bodies(rows, state, flight, part, e, np.arange(m), pull, numbers.margin)
    touched = part
    if len(struck.contacts):
        touched = part.copy()
        put_touching(axes, flight, state, struck, rows, part, touched)
    scale, z = so_far.scale, np.zeros((m, rows.tangents + 5))
    if so_far.rounds == 0:
        scale = max(scale, fastest_speeds(rows, struck.velocity)[1])
    out, tangent, given = np.empty((3, m)), np.empty((m, rows.tangents)), (struck.velocity, e, np.empty(0))
    tolerance = relaxed.limits.tolerance * scale
    progress, found, _ = coupled_impulses(relaxed.layout, rows, given, relaxed.asked, tolerance, out, tangent)
    if progress < DONE:
        return Applied(False, False, 0, 0, 0, 0.0, scale, part[:0], z[:0])
    normal, changed = out[2], np.any(out[2])
    if changed:
        for i in range(m):
            z[i, 0] = normal[i]
            for row in range(rows.tangents):
                z[i, 1 + row] = tangent[i, row]
        after = pushed_along(rows, tangent, pushed(rows, normal, struck.velocity))
        about = speeds_and_energy(rows, struck.velocity, after, normal, tangent)
        for i in range(m):
            for row in range(3):
                z[i, rows.tangents + 1 + row] = about[row, i]
            for side in range(2):
                if rows.body[i, side] >= 0:
                    z[i, -1] = max(z[i, -1], struck.time[rows.body[i, side]])
        change_velocity(rows, state, flight, struck, after, part, np.empty(0), pull)
        _put_course(masses.root, state, bodies, course)
    return Applied(True, changed, m, found[0] + found[2], 1, found[4], scale, touched, z)


@kernel
def _approach(masses, rows, part, speed, bodies, course, again):
    """The gaps and speeds before an application of the law; `again` if impacts have displaced the start."""
    (x, numbers), (n, d) = bodies, bodies[0].shape
    shift, time, turn = np.zeros((n, d)), np.zeros(n), np.empty((n if d == 6 else 0, 4))
    for b in range(n):
        number = numbers[b] if len(numbers) else b
        time[b] = course.time[number]
        whiten(course.shift, masses.root, number, shift[b])
        for c in range(turn.shape[1] if d == 6 else 0):
            turn[b, c] = course.orientation[number, c]
    gap, predicted, m = part[:, GAP].copy(), part[:, PREDICTED].copy(), len(part)
    if again:
        displace(rows, shift, gap)
    speeds_, limit = speed[:, 0].copy(), speed[:, 1].copy()
    return Approach(
        x.copy(), shift, turn, time, speeds_, limit, gap, predicted, np.zeros(m, np.bool_), np.zeros((m, 2))
    )  # fmt: skip


@kernel
def _put_course(root, state, bodies, course):
    """Writes velocities, displacements, times and orientations after an application of the law."""
    n, d = state.velocity.shape
    for b in range(n):
        number = bodies[b] if len(bodies) else b
        course.time[number] = state.time[b]
        for c in range(d):
            if root[number, c] > 0.0:
                course.velocity[number, c] = state.velocity[b, c] * root[number, c]
                course.shift[number, c] = state.shift[b, c] * root[number, c]
        for c in range(4 if len(state.orientation) else 0):
            course.orientation[number, c] = state.orientation[b, c]


@kernel
def _move(fixed, position, course, after):
    """Writes free motion from the displaced start, at the velocities after impacts, into `after`."""
    dim, d, masses = position.shape[1], course.velocity.shape[1], fixed.masses
    after.orientation[:] = course.orientation
    after.velocity[:] = course.velocity
    for b in range(len(position)):
        for c in range(dim):
            after.position[b, c] = position[b, c] + course.shift[b, c]
        if dim == 2 and d == 3:
            after.orientation[b, 0] += course.shift[b, 2]
    if d == 6:
        rotate_all(masses, after.orientation, after.velocity, course.shift, True)
        fall_3d(masses, after.position, after.orientation, after.velocity, fixed.numbers.h)
    else:
        fall_2d(masses, after.position, after.orientation, after.velocity, fixed.numbers.h)


# ---- sub-steps


@kernel
def _relax(relaxed, fixed, contacts, scratch, course, overlap):
    """`Substepped._relax`, with pushing and if necessary without: whether they keep the bound on energy, the deepest
    overlap at the end, and the residual, a speed."""
    (records, bodies, struck), numbers, limits, axes = scratch, fixed.numbers, relaxed.limits, relaxed.axes
    (table, keys, warm_start), number = contacts, substep_number(limits.substeps, overlap, numbers.least)
    masses, h, none = fixed.masses, numbers.h, course.shift[:0]
    shift, begin = course.shift if struck else none, np.zeros(len(bodies.motion) if struck else 0)
    for b in range(len(course.time) if struck else 0):
        begin[b] = course.time[b]
    bodies, depth, residual = Bodies(bodies.motion, bodies.before, bodies.pull, begin), 0.0, 0.0
    for attempt in range(2):
        push = limits.push if attempt == 0 else 0.0
        if attempt:
            put_bodies(axes.linear, axes.angular, course.velocity, none, masses, bodies)
            if struck:
                put_displacements(axes.linear, course.velocity, shift, masses, bodies)
        records.impulse[:] = 0.0
        match(warm_start, keys, table, len(axes.linear) - 1, records.impulse)
        plan = Substeps(number, h / number, push / h, limits.soft)
        known, energies = relax(axes, records, bodies, plan, masses, (course.velocity, shift), h)
        (depth, residual, lift), (gain, kinetic, work, square) = known, energies
        gain -= (min(lift, limits.lift * (kinetic + limits.weight))) + limits.gain * (kinetic + limits.weight)
        if gain <= 0.0:
            return True, depth, residual
        gain *= 1.0 + 2.0 * (limits.lift + limits.gain)  # the kinetic energy of the bound falls as well
        root = work * work - 2.0 * square * gain
        # More than all of them cannot be taken back: gain and impulses are then rounding errors.
        if attempt and root >= 0.0 and work > 0.0 and 2.0 * gain <= work + np.sqrt(root):
            part = 2.0 * gain / (work + np.sqrt(root))
            scale_impulses(axes.linear, bodies, records, course.velocity, masses, h, part)
            return True, depth, residual
    return False, depth, residual


@kernel(inline="always")
def _put_end(masses, bodies, h, start, after):
    """Writes the end of the sub-steps for the bodies on which impulses acted."""
    position, course = start
    if len(masses.gravity) == 2:
        begin = (position, course.orientation[:, 0], course.velocity)
        relaxed_motion_2d(masses, bodies, begin, (after.position, after.orientation[:, 0], after.velocity))
    else:
        begin = (position, course.orientation, course.velocity)
        relaxed_motion_3d(masses, bodies, h, begin, (after.position, after.orientation, after.velocity))


@kernel
def _doubt(fixed, noted, searched, states, overlaps):
    """Whether gaps tell that bodies are kept apart, the largest displacement, and which bodies (n,) to test."""
    (before, free, after), (overlap, deepest), least = states, overlaps, fixed.numbers.least
    unseen = np.empty(len(searched), np.bool_)
    lengths = (fixed.numbers.margin, noted, np.sqrt(max(noted - deepest, 0.0) * least))
    start, end = (before.position, before.orientation), (after.position, after.orientation)
    count, moved = moved_unseen(start, free, end, fixed.arm, searched, lengths, unseen)
    seen = moved <= 0.5 * FAR_MOTION * least and deepest <= noted and overlap <= noted
    return (SOME_DOUBT if count else NO_DOUBT) if seen else DOUBT, moved, unseen if count else unseen[:0]
