"""Free flight: Verlet, exact for uniform gravity; angles turn at constant spin, exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from ..contact.images import wrapped
from ..errors import ProblemError
from ..scene.boundaries import Periodic
from ..solvers.rows import Floats
from ..world import State, World


def fly(world: World, state: State, step: float) -> State:
    """The state a time `step` later if nothing touches: `q += h v + h^2 a / 2`, `v += h (a0 + a1) / 2`."""
    accelerate = accelerations(world, state)
    if accelerate is None:
        q, angle, v = _fly_uniform(state.position, state.angle, state.velocity, world.gravity, world.free, step)
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
    try:
        force = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError("force", given, f"forces of shape ({n}, 2) or ({n}, {d})") from None
    if force.shape not in ((n, 2), (n, d)) or not np.isfinite(force).all():
        raise ProblemError(
            "force", f"an array of shape {force.shape}", f"finite forces of shape ({n}, 2) or ({n}, {d})"
        )
    out = np.zeros((n, d))
    out[:, : force.shape[1]] = force * world.root[:, : force.shape[1]] ** 2
    out[world.free, :2] += world.gravity
    return out


def prescribed(world: World, state: State, step: float) -> State:
    """The state with the velocities that bodies on a motion have during the step from here."""
    if not world.motions:
        return state
    velocity = state.velocity.copy()
    for body, motion in world.motions:
        place0, turn0 = world.posed(body, motion, state.time)
        place1, turn1 = world.posed(body, motion, state.time + step)
        velocity[body, :2] = (place1 - place0) / step
        if velocity.shape[1] == 3:
            velocity[body, 2] = (turn1 - turn0) / step
    return replace(state, velocity=velocity)


def landed(world: World, state: State, time: float, number: int) -> State:
    """The state at the end of a step: its time and number, periodic sides wrapped."""
    position, velocity = state.position, state.velocity
    if world.periodic is not None:
        position, velocity = wrapped(world.periodic, position, velocity, time)
    return State(time, number, position, state.angle, velocity)


def _place_scripted(world: World, state: State) -> State:
    """Puts bodies on a motion exactly where it wants them."""
    for body, motion in world.motions:
        place, state.angle[body] = world.posed(body, motion, state.time)
        state.position[body] = (
            place if world.periodic is None else _nearest(world.periodic, place, state.position[body])
        )
    return state


def _nearest(periodic: Periodic, place: Floats, flown: Floats) -> Floats:
    """The image of `place` that is nearest to where the body has flown; sheared images slide, so they keep flying."""
    if periodic.shear_rate != 0.0:
        return flown
    out = place.copy()
    for axis, side in enumerate((periodic.x, periodic.y)):
        if side is not None:
            length = side[1] - side[0]
            out[:, axis] -= length * np.round((place[:, axis] - flown[:, axis]) / length)
    return out


def _fly_in_field(world: World, state: State, a0: Floats, h: float) -> State:
    position = state.position + h * state.velocity[:, :2] + 0.5 * h * h * a0[:, :2]
    angle = state.angle
    if a0.shape[1] == 3:
        angle = angle + h * state.velocity[:, 2] + 0.5 * h * h * a0[:, 2]
    guess = State(state.time + h, state.step, position, angle, state.velocity + h * a0)
    a1 = accelerations(world, guess)
    return replace(guess, velocity=state.velocity + 0.5 * h * (a0 + (a0 if a1 is None else a1)))


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def totals(mass, inertia, free, gravity, position, velocity):
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
    return total[0], total[1], total[2], total[3], total[4]
