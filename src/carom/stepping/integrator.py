"""Integration of free motion over a time step: velocity Verlet, which is exact for uniform gravity.

In 2D bodies rotate at constant spin. In 3D they rotate as `rotation` describes, by Discrete Moser-Veselov steps, which
conserve energy and angular momentum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.images import wrapped
from ..errors import ProblemError
from ..geometry import rotations
from ..kernels import kernel, lean
from ..scene.boundaries import Periodic
from ..scene.model import INTEGRATORS
from ..solvers.rows import Floats
from ..world import State, World
from .jointed import with_joints
from .rotation import rotate_body, rotate_by, rotate_free


def free_motion(world: World, state: State, step: float, turning: bool = True) -> State:
    """The state after a time `step` without contact: `q += h v + h^2 a / 2`, `v += h (a0 + a1) / 2`.

    Scripted bodies are placed where their motion prescribes; joints hold. Without `turning`, bodies in 3D under gravity
    alone keep their orientation.
    """
    free = unjointed_motion(world, state, step, turning)
    return free if world.joints is None else with_joints(world, state, free, step)


def unjointed_motion(world: World, state: State, step: float, turning: bool = True) -> State:
    """What `free_motion` does without joints."""
    acceleration = None if world.force is None else accelerations(world, state)
    if acceleration is None:
        after = _under_gravity(world, state, step, turning)
    else:
        after = _UNDER_FORCE[world.dimension](world, state, acceleration, step)
    return placed_by_motions(world, after) if world.motions else after


def accelerations(world: World, state: State) -> Floats | None:
    """Accelerations (n, d) of all bodies under gravity and the world's force; None if gravity alone acts."""
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
    """The state with the velocities of scripted bodies in the coming step: displacement divided by time."""
    if not world.motions:
        return state
    velocity, dim = state.velocity.copy(), world.dimension
    for body, motion in world.motions:
        place0, turn0 = world.posed(body, motion, state.time)
        place1, turn1 = world.posed(body, motion, state.time + step)
        velocity[body, :dim] = (place1 - place0) / step
        if world.turns:
            spin = rotations.rotation_between(turn0, turn1) / step
            velocity[body, dim:] = rotations.spin_to_body(turn0, spin)
    return replace(state, velocity=velocity)


def end_of_step(world: World, state: State, time: float, number: int) -> State:
    """The state with its time and step number, and with positions wrapped into the periodic sides."""
    position, velocity = state.position, state.velocity
    if world.periodic is not None:
        position, velocity = wrapped(world.periodic, position, velocity, time)
    return State(time, number, position, state.orientation, velocity)


def displaced(world: World, state: State, shift: Floats, with_spins: bool = True) -> State:
    """The state after a displacement (n, d), rotation included.

    Spins of bodies with equal moments of inertia keep their direction in the world; without `with_spins` all spins stay
    constant in the frames of the bodies.
    """
    dim = world.dimension
    position, orientation, velocity = state.position + shift[:, :dim], state.orientation, state.velocity
    if world.block == 6:
        orientation, velocity = orientation.copy(), velocity.copy()
        rotate_all(world.masses, orientation, velocity, shift, with_spins)
    elif world.turns:
        orientation = orientation + shift[:, 2]
    return State(state.time, state.step, position, orientation, velocity)


@lean
def rotate_all(masses, orientation, velocity, shift, with_spins):
    """Rotates the bodies by shift[:, 3:], in place."""
    for b in range(len(shift)):
        rotate_by(orientation[b], velocity[b, 3:], shift[b, 3:], with_spins and masses.even[b])


def _under_gravity(world: World, state: State, h: float, turning: bool) -> State:
    position, velocity = state.position.copy(), state.velocity.copy()
    if world.block == 6 and not turning:
        _fall_straight(world.masses, position, velocity, h)
        turn = state.orientation.copy() if world.motions else state.orientation
        return State(state.time + h, state.step, position, turn, velocity)
    turn = state.orientation.copy()
    fall, turns = (fall_3d if world.block == 6 else fall_2d), turn.reshape(len(turn), -1)
    fall(world.masses, position, turns, velocity, h)
    return State(state.time + h, state.step, position, turn, velocity)


@kernel(inline="always")
def _fall(position, velocity, acceleration, h):
    """One component of position and velocity after a time at a constant acceleration."""
    # The mean velocity is formed first: where it is zero by symmetry, the displacement is exactly zero.
    return position + h * (velocity + 0.5 * h * acceleration), velocity + h * acceleration


@lean
def fall_2d(masses, q, turn, v, h):
    """Moves bodies for a time in 2D, or bodies that do not rotate. Writes positions, orientations and velocities."""
    n, dim = q.shape
    for i in range(n):
        if v.shape[1] > dim:
            turn[i, 0] += h * v[i, dim]
        for k in range(dim):
            q[i, k], v[i, k] = _fall(q[i, k], v[i, k], masses.gravity[k] if masses.free[i] else 0.0, h)


@lean
def _fall_straight(masses, q, v, h):
    """What `fall_3d` does to positions and linear velocities."""
    for i in range(len(q)):
        for k in range(3):
            q[i, k], v[i, k] = _fall(q[i, k], v[i, k], masses.gravity[k] if masses.free[i] else 0.0, h)


@lean
def fall_3d(masses, q, turn, v, h):
    """Moves bodies for a time in 3D. Writes positions, orientations and velocities."""
    for i in range(len(q)):
        for k in range(3):
            q[i, k], v[i, k] = _fall(q[i, k], v[i, k], masses.gravity[k] if masses.free[i] else 0.0, h)
        if h != 0.0:
            rotate_body(turn[i], v[i, 3:], masses.inertia[i], masses.free[i], h, masses.scheme)


def _under_force_2d(world: World, state: State, a0: Floats, h: float) -> State:
    position = state.position + h * state.velocity[:, :2] + 0.5 * h * h * a0[:, :2]
    angle = state.orientation.copy()
    if world.turns:
        angle = angle + h * state.velocity[:, 2] + 0.5 * h * h * a0[:, 2]
    guess = State(state.time + h, state.step, position, angle, state.velocity + h * a0)
    a1 = accelerations(world, guess)
    assert a1 is not None
    return replace(guess, velocity=state.velocity + 0.5 * h * (a0 + a1))


def _under_force_3d(world: World, state: State, a0: Floats, h: float) -> State:
    """Torques act in two halves, before and after the free rotation."""
    q = state.position + h * (state.velocity[:, :3] + 0.5 * h * a0[:, :3])
    v = state.velocity + h * a0
    v[:, 3:] = state.velocity[:, 3:] + 0.5 * h * a0[:, 3:]
    orientation = state.orientation.copy()
    if world.turns:
        spin, scheme = np.ascontiguousarray(v[:, 3:]), INTEGRATORS.index(world.integrator)
        orientation, v[:, 3:] = rotate_free(orientation, spin, world.inertia, world.free, h, scheme)
    after = State(state.time + h, state.step, q, orientation, v)
    a1 = accelerations(world, after)
    assert a1 is not None
    v[:, :3] = state.velocity[:, :3] + 0.5 * h * (a0 + a1)[:, :3]
    v[:, 3:] += 0.5 * h * a1[:, 3:]
    return after


_UNDER_FORCE = {2: _under_force_2d, 3: _under_force_3d}


def placed_by_motions(world: World, state: State) -> State:
    """Places scripted bodies exactly where their motion prescribes. Writes into the arrays of `state`."""
    for body, motion in world.motions:
        place, state.orientation[body] = world.posed(body, motion, state.time)
        state.position[body] = (
            place if world.periodic is None else _nearest_image(world.periodic, place, state.position[body])
        )
    return state


def _nearest_image(periodic: Periodic, place: Floats, moved: Floats) -> Floats:
    """The periodic image of `place` nearest to `moved`; with sheared sides, whose images slide, `moved` itself."""
    if periodic.shear_rate != 0.0:
        return moved
    out = place.copy()
    for axis, name in enumerate("xyz"[: place.shape[1]]):
        side = getattr(periodic, name)
        if side is not None:
            length = side[1] - side[0]
            out[:, axis] -= length * np.round((place[:, axis] - moved[:, axis]) / length)
    return out
