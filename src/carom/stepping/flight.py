"""Free flight: Verlet, exact for uniform gravity; angles turn at constant spin, exactly.

In space a free body turns by Discrete Moser-Veselov steps (`rotation`), which keep its energy and angular momentum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.images import wrapped
from ..errors import ProblemError
from ..geometry import rotations
from ..kernels import kernel
from ..scene.boundaries import Periodic
from ..scene.model import INTEGRATORS
from ..solvers.rows import Floats
from ..world import State, World
from .rotation import turn_by, turn_free


def fly(world: World, state: State, step: float) -> State:
    """The state a time `step` later if nothing touches: `q += h v + h^2 a / 2`, `v += h (a0 + a1) / 2`."""
    accelerate = accelerations(world, state)
    if world.dimension == 3:
        after = _fly_in_space(world, state, accelerate, step)
    elif accelerate is None:
        q, angle, v = _fly_uniform(state.position, state.orientation, state.velocity, world.gravity, world.free, step)
        after = State(state.time + step, state.step, q, angle, v)
    else:
        after = _fly_in_field(world, state, accelerate, step)
    return _place_scripted(world, after)


def accelerations(world: World, state: State) -> Floats | None:
    """Acceleration of every body, (n, d); None if it is gravity alone."""
    if world.force is None:
        return None
    given = world.force(state.time, state.position, state.velocity)
    n, d = state.velocity.shape
    dim = world.dimension
    wanted = f"finite forces of shape ({n}, {dim}) or ({n}, {d})"
    try:
        force = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError("force", given, wanted) from None
    if force.shape not in ((n, dim), (n, d)) or not np.isfinite(force).all():
        raise ProblemError("force", f"an array of shape {force.shape}", wanted)
    out = np.zeros((n, d))
    out[:, : force.shape[1]] = force * world.inverse_sqrt_mass[:, : force.shape[1]] ** 2
    out[world.free, :dim] += world.gravity
    return out


def prescribed(world: World, state: State, step: float) -> State:
    """The state with the velocities that bodies on a motion have during the step from here."""
    if not world.motions:
        return state
    velocity, dim = state.velocity.copy(), world.dimension
    for body, motion in world.motions:
        place0, turn0 = world.posed(body, motion, state.time)
        place1, turn1 = world.posed(body, motion, state.time + step)
        velocity[body, :dim] = (place1 - place0) / step
        if world.turns and dim == 2:
            velocity[body, 2] = (turn1 - turn0) / step
        elif world.turns:
            velocity[body, 3:] = rotations.turned_back(turn0, rotations.vector_between(turn0, turn1) / step)
    return replace(state, velocity=velocity)


def landed(world: World, state: State, time: float, number: int) -> State:
    """The state at the end of a step: its time and number, periodic sides wrapped."""
    position, velocity = state.position, state.velocity
    if world.periodic is not None:
        position, velocity = wrapped(world.periodic, position, velocity, time)
    return State(time, number, position, state.orientation, velocity)


def _place_scripted(world: World, state: State) -> State:
    """Puts bodies on a motion exactly where it wants them."""
    for body, motion in world.motions:
        place, state.orientation[body] = world.posed(body, motion, state.time)
        state.position[body] = (
            place if world.periodic is None else _nearest(world.periodic, place, state.position[body])
        )
    return state


def _nearest(periodic: Periodic, place: Floats, flown: Floats) -> Floats:
    """The image of `place` that is nearest to where the body has flown; sheared images slide, so they keep flying."""
    if periodic.shear_rate != 0.0:
        return flown
    out = place.copy()
    for axis, name in enumerate("xyz"[: place.shape[1]]):
        side = getattr(periodic, name)
        if side is not None:
            length = side[1] - side[0]
            out[:, axis] -= length * np.round((place[:, axis] - flown[:, axis]) / length)
    return out


def turned_by(world: World, orientation: Floats, velocity: Floats, step: float) -> Floats:
    """Orientations after turning at the constant spins of `velocity` (n, d) for a time."""
    if not world.turns:
        return orientation
    if world.dimension == 2:
        return orientation + step * velocity[:, 2]
    return turn_by(orientation, np.ascontiguousarray(velocity[:, 3:]), step)


def turn_freely(world: World, state: State, step: float, spin: Floats | None = None) -> tuple[Floats, Floats]:
    """Orientations (n, 4) and spins (n, 3) a time `step` later, of bodies of space on which no torque acts."""
    spin = np.ascontiguousarray(state.velocity[:, 3:]) if spin is None else spin
    scheme = INTEGRATORS.index(world.integrator)
    return turn_free(state.orientation, spin, world.inertia, world.free, step, scheme)


def _fly_in_space(world: World, state: State, pull: Floats | None, h: float) -> State:
    """As in the plane; torques act in two halves, before and after the free turn."""
    if pull is None:
        q, v = _fly_uniform_in_space(state.position, state.velocity, world.gravity, world.free, h)
    else:
        q = state.position + h * (state.velocity[:, :3] + 0.5 * h * pull[:, :3])
        v = state.velocity + h * pull
        v[:, 3:] = state.velocity[:, 3:] + 0.5 * h * pull[:, 3:]
    orientation = state.orientation.copy()
    if world.turns:
        orientation, v[:, 3:] = turn_freely(world, state, h, np.ascontiguousarray(v[:, 3:]))
    after = State(state.time + h, state.step, q, orientation, v)
    if pull is not None:
        later = accelerations(world, after)
        assert later is not None
        v[:, :3] = state.velocity[:, :3] + 0.5 * h * (pull + later)[:, :3]
        v[:, 3:] += 0.5 * h * later[:, 3:]
    return after


@kernel
def _fly_uniform_in_space(position, velocity, gravity, free, h):
    n = len(position)
    q, v = np.empty((n, 3)), velocity.copy()
    for i in range(n):
        for k in range(3):
            a = gravity[k] if free[i] else 0.0
            q[i, k] = position[i, k] + h * (velocity[i, k] + 0.5 * h * a)
            v[i, k] += h * a
    return q, v


def _fly_in_field(world: World, state: State, a0: Floats, h: float) -> State:
    position = state.position + h * state.velocity[:, :2] + 0.5 * h * h * a0[:, :2]
    angle = state.orientation
    if a0.shape[1] == 3:
        angle = angle + h * state.velocity[:, 2] + 0.5 * h * h * a0[:, 2]
    guess = State(state.time + h, state.step, position, angle, state.velocity + h * a0)
    a1 = accelerations(world, guess)
    return replace(guess, velocity=state.velocity + 0.5 * h * (a0 + (a0 if a1 is None else a1)))


@kernel
def _fly_uniform(position, angle, velocity, gravity, free, h):
    n, d = velocity.shape
    q, turned, v = np.empty((n, 2)), angle.copy(), np.empty((n, d))
    for i in range(n):
        for k in range(2):
            a = gravity[k] if free[i] else 0.0
            # The mean velocity first: where it is zero by symmetry, so is the step, without rounding.
            q[i, k] = position[i, k] + h * (velocity[i, k] + 0.5 * h * a)
            v[i, k] = velocity[i, k] + h * a
        if d == 3:
            turned[i] += h * velocity[i, 2]
            v[i, 2] = velocity[i, 2]
    return q, turned, v


def totals(world: World, state: State) -> Floats:
    """Kinetic and potential energy, momentum and angular momentum about the origin, of the free bodies."""
    if world.dimension == 2:
        return plane_totals(world.mass, world.inertia, world.free, world.gravity, state.position, state.velocity)
    position, velocity = state.position, state.velocity
    spin = np.zeros((len(position), 3))
    if world.turns:
        spin = rotations.turned(state.orientation, world.inertia * velocity[:, 3:])
    return space_totals(world.mass, world.inertia, world.free, world.gravity, position, velocity, spin)


@kernel
def space_totals(mass, inertia, free, gravity, position, velocity, turning):
    """As `plane_totals`: energies, three momenta, three angular ones; `turning` = I w in the frame of the world."""
    n, d = velocity.shape
    total, block = np.zeros(8), np.zeros(8)
    for i in range(n):
        if free[i]:
            m, v, q = mass[i], velocity[i], position[i]
            block[0] += 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            block[1] -= m * (gravity[0] * q[0] + gravity[1] * q[1] + gravity[2] * q[2])
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                block[2 + k] += m * v[k]
                block[5 + k] += m * (q[a] * v[b] - q[b] * v[a]) + turning[i, k]
                if d == 6:
                    block[0] += 0.5 * inertia[i, k] * v[3 + k] * v[3 + k]
        if i % 128 == 127 or i == n - 1:
            total += block
            block[:] = 0.0
    return total


@kernel
def plane_totals(mass, inertia, free, gravity, position, velocity):
    """Kinetic and potential energy, momentum and angular momentum about the origin, of the free bodies.

    Sums of blocks of 128, then of the blocks: a plain sum over a million bodies would show its own rounding as drift.
    """
    n, d = velocity.shape
    total, block = np.zeros(5), np.zeros(5)
    for i in range(n):
        if free[i]:
            x, y, vx, vy = position[i, 0], position[i, 1], velocity[i, 0], velocity[i, 1]
            block[0] += 0.5 * mass[i] * (vx * vx + vy * vy)
            block[1] -= mass[i] * (gravity[0] * x + gravity[1] * y)
            block[2] += mass[i] * vx
            block[3] += mass[i] * vy
            block[4] += mass[i] * (x * vy - y * vx)
            if d == 3:
                block[0] += 0.5 * inertia[i] * velocity[i, 2] * velocity[i, 2]
                block[4] += inertia[i] * velocity[i, 2]
        if i % 128 == 127 or i == n - 1:
            for k in range(5):
                total[k] += block[k]
                block[k] = 0.0
    return total
