"""Motion of bodies that joints connect: a discrete variational step.

A step is that of RATTLE (Andersen, J. Comput. Phys. 52, 1983) around the free motion of each body: forces and joints
push at the start, `v = v0 + h a0 / 2 + M^-1 B0^T y`, bodies move freely (in 3D by Discrete Moser-Veselov steps), with y
such that the joints hold at the end, `phi(q1) = 0`; forces push again, and the velocity at the end is the nearest one
with `B1 v1 = b`. Joints push with equal and opposite impulses at one point, so momenta are conserved; the step is of
second order, symmetric and symplectic, so that the energy does not drift.

y is found by Newton steps with the matrix of the start, `K = B0 M^-1 B0^T`. Where they do not converge, the step is cut
into two halves, and these again.
"""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..geometry import rotations
from ..kernels import kernel
from ..mechanism import (
    Linearization,
    add_reactions,
    allowed,
    eliminate,
    geometry_of,
    joint_errors,
    joint_speeds,
    linearize,
    prescribed_speeds,
)
from ..solvers.contact import Accuracy, are_solved
from ..solvers.contact_island import CONE, Problem, common_size, layout
from ..solvers.rows import Floats, Rows
from ..world import State, World
from .drives import put_drives, put_springs
from .resting import Held, Interval, RestingProblem, body_shares
from .rotation import rotate_body

JOINT_ITERATIONS = 60  # Newton steps, each of which shortens the error in proportion to the rotation in a step
JOINT_ROUNDING = 16 * 2.0**-53  # error, relative to the coordinates, that is rounding
HELD_JOINT_ERROR = 1e-11  # error, relative to the length scale of the world, that is enough where rounding is larger
MOST_CUTS = 3  # a step is cut into up to 2^3
# A free motion is made of this many steps: the energy of a double pendulum of 1 m then keeps within 1e-5 at h = 1 ms.
JOINT_PARTS = 4
# Near singular configurations of fast loops this is too few: a motion that gains more than LARGEST_GAIN of its kinetic
# energy is made again of FINE_PARTS, and what it gains then is taken from the velocities.
LARGEST_GAIN, FINE_PARTS = 2e-4, 32
REST_ROUNDING = 2e-12  # whitened velocity, or its change in a step, relative to the change by gravity, that is rounding
RESTORING_STEPS = 20  # Newton steps of the correction of positions
SINGULAR_STEPS = 40  # the same where joints are singular and they converge slowly
SINGULAR_ERROR = 1e-9  # error of joints there, in units of the length scale, that is accepted


def turns_of(state: State) -> Floats:
    """Orientations (n, 1) or (n, 4)."""
    return state.orientation.reshape(len(state.position), -1)


def linearized(world: World, state: State) -> Linearization:
    """The joint rows at a state, and their factor."""
    assert world.joints is not None
    return world.joints.at(state.position, state.orientation, world.inverse_sqrt_mass)


def allowed_velocity(world: World, state: State, velocity: Floats) -> Floats:
    """The velocities (n, d) nearest to `velocity` in the mass metric that the joints allow at a state."""
    assert world.joints is not None
    rows, at = world.joints.rows, linearized(world, state)
    base = prescribed_speeds(rows, state.position, turns_of(state), velocity, world.free)
    out: Floats = allowed(rows, at.val, at.lower, base, world.inverse_sqrt_mass, velocity)
    return out


def joint_error(world: World, state: State) -> tuple[float, int]:
    """The largest |phi| of a state, relative to the length scale of the world, and the joint that has it."""
    assert world.joints is not None
    errors = np.abs(joint_errors(world.joints.rows, state.position, turns_of(state)))
    if not len(errors):
        return 0.0, -1
    k = int(errors.argmax())
    return float(errors[k]) / world.length_scale, int(world.joints.owner[k])


def spring_energy(world: World, state: State) -> float:
    """The potential energy of all springs."""
    assert world.joints is not None
    springs = world.joints.springs
    if not len(springs.stiffness):
        return 0.0
    return float(
        put_springs(springs, state.position, turns_of(state), world.inverse_sqrt_mass, np.zeros_like(state.velocity))
    )


def fastest_rate(world: World, state: State) -> float:
    """The largest angular frequency of a mechanism: of rotations, of rods, of springs, and of pendulums.

    The energy of a step of the length h oscillates in proportion to the square of its product with h.
    """
    joints = world.joints
    assert joints is not None
    inside, dim, kept = joints.rows.member, world.dimension, joints.pairs >= 0
    spins = np.linalg.norm(state.velocity[inside, dim:], axis=1)
    ends = joints.ends(state.position, state.orientation)
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    arm = np.where(kept, np.linalg.norm(joints.anchor, axis=2), np.inf).min(axis=1)
    speed = np.where(kept, np.linalg.norm(state.velocity[joints.pairs, :dim], axis=2), 0.0).sum(axis=1)
    reach = np.maximum(np.maximum(length, arm), world.length_scale)
    ease = np.where(kept & world.free[joints.pairs], 1.0 / world.mass[joints.pairs], 0.0).sum(axis=1)
    springs, pairs = joints.springs, joints.springs.body
    soft = np.where((pairs >= 0) & world.free[pairs], 1.0 / world.mass[pairs], 0.0).sum(axis=1)
    squares = [
        spins**2,
        np.where(ease > 0.0, speed / reach, 0.0) ** 2,
        springs.stiffness * soft,
        float(np.linalg.norm(world.gravity)) / reach,
    ]
    return float(np.sqrt(max(float(np.max(part, initial=0.0)) for part in squares)))


# ---- accelerations


def _forces(world: World, state: State) -> Floats:
    """Accelerations (n, d) by gravity, the force of the world, and springs."""
    from .integrator import accelerations  # late: it imports this module

    assert world.joints is not None
    given = accelerations(world, state)
    if given is None:
        given = np.zeros_like(state.velocity)
        given[world.free, : world.dimension] = world.gravity
    if len(world.joints.springs.stiffness):
        put_springs(world.joints.springs, state.position, turns_of(state), world.inverse_sqrt_mass, given)
    return given


def _drives(world: World, state: State, h: float, given: Floats) -> Floats:
    """Accelerations (n, d) by dampers and motors in a time h, in which others, `given` (n, d), act too."""
    joints = world.joints
    assert joints is not None
    out = np.zeros_like(state.velocity)
    if len(joints.springs.damping) or len(joints.motors.speed):
        parts, pose = (joints.rows, joints.springs, joints.motors), (state.position, turns_of(state))
        put_drives(parts, linearized(world, state), pose, world.masses, (state.velocity, given), h, out)
    return out


def fallen(world: World, state: State, h: float) -> Floats:
    """Velocities (n, d) after a time h without contact, as motions that the joints allow at the start."""
    given = _forces(world, state)
    return allowed_velocity(world, state, state.velocity + h * (given + _drives(world, state, h, given)))


# ---- free motion


def with_joints(world: World, start: State, free: State, h: float) -> State:
    """The state after a time h of motion without contact; `free` is that without joints, whose arrays are written.

    Bodies without joints, and scripted ones, keep their motion.
    """
    joints = world.joints
    assert joints is not None
    if h == 0.0 or not len(joints.rows.member):
        return free
    if world.force is not None or world.motions:
        return _in_parts(world, start, h, JOINT_PARTS, 0)
    after = _rattle(world, start, free, h, JOINT_PARTS)
    after = _cut(world, start, h, 1) if after is None else after
    if joints.adds_energy or _gain(world, start, after) <= LARGEST_GAIN:
        return after
    after = _in_parts(world, start, h, FINE_PARTS, 1)
    gain = _gain(world, start, after)
    if gain > LARGEST_GAIN:  # all velocities fall alike, so that joints still hold
        velocity = after.velocity.copy()
        velocity[joints.rows.member] /= np.sqrt(1.0 + gain)
        after = State(after.time, after.step, after.position, after.orientation, velocity)
    return after


def _gain(world: World, before: State, after: State) -> float:
    """The gain of energy of a free motion, relative to the kinetic energy after it."""
    from .report import totals  # late: it imports this module

    first, last = totals(world, before), totals(world, after)
    gain = float(last[0] + last[1] - first[0] - first[1])
    return gain / float(last[0]) if gain > 0.0 and last[0] > 0.0 else 0.0


def _rattle(world: World, start: State, free: State, h: float, count: int) -> State | None:
    """The state after `count` steps of the length h / count; None if joints cannot be held in one of them."""
    joints = world.joints
    assert joints is not None
    given = _forces(world, start)
    numbers = (h, count, HELD_JOINT_ERROR * world.length_scale)
    begin, out = (start.position, turns_of(start), start.velocity), (free.position, turns_of(free))
    parts = (joints.rows, joints.springs, joints.motors)
    held, velocity, val, lower = rattle(parts, linearized(world, start), world.masses, begin, given, numbers, out)
    if not held:
        return None
    velocity = np.where(joints.rows.mechanism[:, None] >= 0, velocity, free.velocity)
    after = State(free.time, free.step, free.position, free.orientation, velocity)
    if world.force is not None:  # the second half of the kick was that of the force at the start
        change = velocity + 0.5 * h * np.where(joints.rows.mechanism[:, None] >= 0, _forces(world, after) - given, 0.0)
        after = State(free.time, free.step, free.position, free.orientation, allowed_velocity(world, after, change))
    joints.keep(free.position, free.orientation, Linearization(val, lower))
    return after


def _in_parts(world: World, start: State, h: float, count: int, cuts: int) -> State:
    """The state after `count` parts of the time h."""
    from .integrator import unjointed_motion  # late: it imports this module

    part, now = h / count, start
    for _ in range(count):
        after = _rattle(world, now, unjointed_motion(world, now, part), part, 1)
        if after is None:
            after = _cut(world, now, part, cuts + 1)
        velocity = np.where(world.free[:, None], after.velocity, start.velocity)  # scripted bodies keep theirs
        now = State(after.time, after.step, after.position, after.orientation, velocity)
    return now


def _cut(world: World, start: State, h: float, cuts: int) -> State:
    """The state after two halves of the time h, in which joints could not be held."""
    return _in_parts(world, start, h, 2, cuts) if cuts <= MOST_CUTS else _nearest(world, start, h)


def _nearest(world: World, start: State, h: float) -> State:
    """The state after a time h at the pose nearest to free motion that joints allow, at the velocity that leads there.

    That is the only way on where joints are singular: motions that they allow at first order, and not at second.
    """
    from .integrator import unjointed_motion  # late: it imports this module

    assert world.joints is not None
    free = unjointed_motion(world, start, h)
    end = restored(world, free, SINGULAR_STEPS)
    error, joint = joint_error(world, end)
    if not error <= SINGULAR_ERROR:
        label, wanted = world.joints.labels[joint], "a shorter time step, or slower bodies"
        text = f"stopped at time {start.time:g}: {label} and its neighbors cannot be held, even in steps of {h:.2g}"
        raise ProblemError(label, f"joints that cannot be held (error {error:.2g})", wanted, f"{text}; try {wanted}")
    velocity, inside, dim = end.velocity.copy(), world.joints.rows.member, world.dimension
    velocity[inside, :dim] = (end.position - start.position)[inside] / h
    spin = rotations.rotation_between(start.orientation, end.orientation) / h
    velocity[inside, dim:] = rotations.spin_to_body(start.orientation, spin)[inside].reshape(len(inside), -1)
    velocity = allowed_velocity(world, end, velocity)
    weight = np.divide(1.0, world.inverse_sqrt_mass**2, out=np.zeros_like(velocity), where=world.inverse_sqrt_mass > 0)
    before, after = ((weight * v**2)[inside].sum() for v in (free.velocity, velocity))
    if after > before:  # nothing gives energy
        velocity[inside] *= np.sqrt(before / after)
    return State(end.time, end.step, end.position, end.orientation, velocity)


@kernel
def rattle(parts, at, masses, start, given, numbers, out):
    """Several steps of RATTLE. Returns whether joints hold, velocities (n, d), and the rows and factor at the end.

    `given` (n, d) are constant accelerations, those of springs at the start included. Writes positions and orientations
    of the bodies of mechanisms.
    """
    (joints, springs, _), (h, count, enough) = parts, numbers
    place0, turn0, velocity, part = start[0].copy(), start[1].copy(), start[2].copy(), h / count
    place, turn = out
    every, still = np.ones(len(joints.row_ptr) - 1, np.bool_), np.zeros_like(velocity)
    pull, now = np.zeros_like(velocity), np.zeros_like(velocity)
    put_springs(springs, place0, turn0, masses.root, pull)
    constant = given - pull
    val, lower = at.val, at.lower
    for _ in range(count):
        here, drive = Linearization(val, lower), np.zeros_like(velocity)
        put_drives(parts, here, (place0, turn0), masses, (velocity, constant + pull), part, drive)
        kicked = velocity + 0.5 * part * (constant + pull + drive)
        after = velocity.copy()
        limits = (part, enough)
        if not move_jointed(
            joints, here, masses, (place0, turn0), (kicked, still), limits, every, (place, turn, after)
        ):
            return False, velocity, val, lower
        now[:] = 0.0
        put_springs(springs, place, turn, masses.root, now)
        pull[:] = now
        for b in joints.member:
            for c in range(after.shape[1]):
                after[b, c] += 0.5 * part * (constant[b, c] + pull[b, c] + drive[b, c])
        val, lower = linearize(joints, place, turn, masses.root)
        base = prescribed_speeds(joints, place, turn, velocity, masses.free)
        velocity = allowed(joints, val, lower, base, masses.root, after)
        place0[:], turn0[:] = place, turn
    return True, velocity, val, lower


def _move(world: World, start: State, end: State, motion: tuple[Floats, Floats], h: float, chosen: np.ndarray) -> bool:
    """Writes poses and velocities of the chosen mechanisms to `end`; whether their joints hold there.

    `motion` are velocities (n, d) at the start, and what is added to them for the displacement alone.
    """
    assert world.joints is not None
    at, enough = linearized(world, start), HELD_JOINT_ERROR * world.length_scale
    begin, out = (start.position, turns_of(start)), (end.position, turns_of(end), end.velocity)
    return bool(move_jointed(world.joints.rows, at, world.masses, begin, motion, (h, enough), chosen, out))


@kernel
def move_jointed(joints, at, masses, start, motion, limits, chosen, out):
    """Moves the chosen mechanisms for a time, with impulses of joints at its start; returns whether their joints hold.

    Writes positions, orientations and velocities. `limits` are the time and the error that is enough.
    """
    (place0, turn0), (velocity, drift), (h, enough) = start, motion, limits
    (place, turn, after), root, dim = out, masses.root, len(masses.gravity)
    y, step, x, d = (
        np.zeros(len(joints.kind)),
        np.zeros(len(joints.kind)),
        np.empty(velocity.shape[1]),
        velocity.shape[1],
    )
    fine = True
    for k in range(len(chosen)):
        if not chosen[k]:
            continue
        first, last = joints.row_ptr[k], joints.row_ptr[k + 1]
        before, held = np.inf, first == last
        for _ in range(JOINT_ITERATIONS):
            size = 0.0
            for e in range(joints.member_ptr[k], joints.member_ptr[k + 1]):
                b = joints.member[e]
                _pushed(joints, at, y, b, x)
                for c in range(d):
                    after[b, c] = velocity[b, c] + root[b, c] * x[c]
                for c in range(dim):
                    place[b, c] = place0[b, c] + h * (after[b, c] + drift[b, c])
                    size = max(size, abs(place[b, c]))
                if dim == 2:
                    turn[b, 0] = turn0[b, 0] + h * (after[b, 2] + drift[b, 2])
                else:
                    for c in range(4):
                        turn[b, c] = turn0[b, c]
                    rotate_body(turn[b], after[b, 3:], masses.inertia[b], True, h, masses.scheme)
            if first == last:
                break
            worst = 0.0
            for i in range(first, last):
                step[i] = geometry_of(joints, i, place, turn)[0]
                worst = max(worst, abs(step[i]))
            if not worst < 1e300:
                break
            if worst <= JOINT_ROUNDING * size or (worst <= enough and worst >= 0.5 * before):
                held = True
                break
            if worst >= 2.0 * before:
                break
            before = worst
            eliminate(joints, at.lower, first, last, step)
            for i in range(first, last):
                y[i] -= step[i] / h
        fine = fine and held
    return fine


@kernel(inline="always")
def _pushed(joints, at, y, b, x):
    """Writes the whitened change of velocity (d,) of body b by the impulses y of its joints."""
    for c in range(len(x)):
        x[c] = 0.0
    for e in range(joints.ptr[b], joints.ptr[b + 1]):
        j = joints.rows[e]
        side = 0 if joints.body[j, 0] == b else 1
        for c in range(len(x)):
            x[c] += at.val[j, side, c] * y[j]


# ---- mechanisms at rest


def still(
    world: World, start: State, contacts: Rows, problem: RestingProblem, interval: Interval, accuracy: Accuracy
) -> tuple[bool, Held | None]:
    """Whether the warm start holds direct contacts at rest, and the answer; None where no impulse is needed.

    Rows on the motions that joints allow are not needed for that: velocities after the impulses follow from one
    elimination. These rows are most of the work of a step in which nothing moves. Velocities that change by rounding
    stay as they are: added up from step to step, the rounding would soon be more than the tolerance. Velocities that
    are rounding themselves become zero.
    """
    assert world.joints is not None
    rows, velocity, z = common_size(contacts._replace(base=problem.base), problem.falling, problem.start)
    if velocity is not problem.falling:
        return False, None
    lay, asked = layout(*rows.val.shape[1:], rows.tangents), accuracy._replace(enough=max(accuracy[:2]))
    parts = (rows.body, rows.val, rows.base, rows.bound, z)
    closes, good, some, impulse, after, residual = still_impulses(
        lay, world.joints.rows, linearized(world, start), parts, problem, interval.velocity, asked
    )
    if not closes or not good:
        return not closes, None
    work = 2.0 * rows.val.size
    return True, Held(some, problem.falling, impulse[:, : problem.start.shape[1]], after, residual, 0, work)


@kernel
def still_impulses(lay, joints, at, parts, problem, before, accuracy):
    """Whether a contact closes, whether the warm start holds all at the velocities `before`, and the parts of `Held`.

    `parts` are bodies, rows, constant speeds and bounds of friction of all contacts, and the warm start (m, r).
    """
    (body, val, base, bound, z), falling = parts, problem.falling
    some, count, closes = np.empty(len(z), np.int64), 0, False
    change, impulse = np.zeros_like(falling), np.zeros_like(z)
    for i in range(len(z)):
        if not problem.closing[i]:
            continue
        some[count] = i
        count += 1
        speed = base[i, 0]
        for side in range(2):
            b = body[i, side]
            for c in range(val.shape[3] if b >= 0 else 0):
                speed += val[i, side, 0, c] * falling[b, c]
                for row in range(z.shape[1]):
                    change[b, c] += val[i, side, row, c] * z[i, row]
        closes = closes or speed < 0.0
    y = joint_speeds(joints, at.val, change, np.zeros(len(joints.kind)))
    eliminate(joints, at.lower, 0, len(y), y)
    add_reactions(joints, at.val, -y, change)
    changed = fall = fastest = 0.0
    for b in range(len(falling)):
        for c in range(falling.shape[1]):
            changed = max(changed, abs(falling[b, c] + change[b, c] - before[b, c]))
            fall = max(fall, abs(falling[b, c] - before[b, c]))
            fastest = max(fastest, abs(before[b, c]))
    if not closes or changed > REST_ROUNDING * fall:
        return closes, False, some[:count], impulse, before, 0.0
    if 0.0 < fastest <= REST_ROUNDING * fall:
        before = np.zeros_like(before)
    of_contacts = Problem(body, val, base, bound, np.zeros(len(z)))
    good, kept, residual = are_solved(lay, of_contacts, some[:count], before, z, CONE, accuracy)
    for p in range(count):
        impulse[some[p]] = kept[p]
    return closes, good, some[:count], impulse, before, residual


# ---- motion of held mechanisms


def held_jointed(world: World, start: State, end: State, rows: Rows, held: Held, interval: Interval) -> State:
    """The state `end` with other poses and velocities for the mechanisms that a resting solve holds.

    Their velocity after the impulses, gravity included, is that at the start of a motion without forces.
    """
    joints = world.joints
    assert joints is not None
    shares = body_shares(rows, held, interval)
    new = np.where(world.inverse_sqrt_mass > 0.0, held.velocity * world.inverse_sqrt_mass, start.velocity)
    chosen, share = chosen_mechanisms(joints.rows, shares)
    if not chosen.any():
        return end
    drift = np.zeros_like(new)
    if world.dimension == 2:
        inside = joints.rows.mechanism >= 0
        part = np.where(inside, share[joints.rows.mechanism], 0.0)
        drift = 0.5 * part[:, None] * (start.velocity - new)
    moved = State(end.time, end.step, end.position.copy(), end.orientation.copy(), end.velocity.copy())
    if not _move(world, start, moved, (new, drift), interval.h, chosen):
        moved = State(end.time, end.step, end.position.copy(), end.orientation.copy(), end.velocity.copy())
        if not _move(world, start, moved, (new, np.zeros_like(new)), interval.h, chosen):
            return restored(world, moved)
    velocity = allowed_velocity(world, moved, moved.velocity)
    return State(end.time, end.step, moved.position, moved.orientation, velocity)


@kernel
def chosen_mechanisms(joints, shares):
    """Which mechanisms have a body that an impulse holds, and the least share of the mean velocity of its bodies."""
    count = len(joints.row_ptr) - 1
    chosen, share = np.zeros(count, np.bool_), np.ones(count)
    for k in range(count):
        for e in range(joints.member_ptr[k], joints.member_ptr[k + 1]):
            own = shares[joints.member[e]]
            if own >= 0.0:
                chosen[k] = True
                share[k] = min(share[k], own)
    return chosen, share


def without_gain(world: World, start: State, free: State, end: State) -> State:
    """The state `end` of a step that has held bodies, without energy that neither its start nor free motion has.

    Bodies are held along rows of the start, while joints and ropes lead them on curves: that may add energy in
    proportion to the square of the time step, in every step. What it adds is taken from the velocities of the bodies
    that were held, all in the same proportion, so that joints and closed contacts still hold.
    """
    from .report import totals  # late: it imports this module

    assert world.joints is not None
    if world.joints.adds_energy or world.motions or world.force is not None:
        return end
    first, flown, last = (float(sum(totals(world, state)[:2])) for state in (start, free, end))
    gain = last - max(first, flown)
    if gain <= 0.0:
        return end
    held = world.free & (end.velocity != free.velocity).any(axis=1)
    root = world.inverse_sqrt_mass[held]
    x = np.divide(end.velocity[held], root, out=np.zeros_like(root), where=root > 0.0)
    kinetic = 0.5 * float((x * x).sum())
    velocity = end.velocity.copy()
    velocity[held] *= np.sqrt(max(1.0 - gain / kinetic, 0.0)) if kinetic > 0.0 else 1.0
    return State(end.time, end.step, end.position, end.orientation, velocity)


# ---- correction of positions


def restored(world: World, state: State, most: int = RESTORING_STEPS) -> State:
    """The state with its bodies at the nearest poses in the mass metric that the joints allow, and its velocities."""
    from .integrator import displaced  # late: it imports this module

    joints = world.joints
    assert joints is not None
    for _ in range(most):
        errors = joint_errors(joints.rows, state.position, turns_of(state))
        size = float(np.abs(state.position[joints.rows.member]).max(initial=0.0))
        if np.abs(errors).max(initial=0.0) <= max(JOINT_ROUNDING * size, 1e-3 * HELD_JOINT_ERROR * world.length_scale):
            break
        at = linearized(world, state)
        base = errors
        shift = allowed(joints.rows, at.val, at.lower, base, world.inverse_sqrt_mass, np.zeros_like(state.velocity))
        state = displaced(world, state, shift, with_spins=False)
    return State(
        state.time, state.step, state.position, state.orientation, allowed_velocity(world, state, state.velocity)
    )
