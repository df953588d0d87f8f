"""Motion of bodies that impulses displace or hold: what free motion (`integrator.py`) does not cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import matrix_of
from ..kernels import kernel
from ..scene.model import INTEGRATORS
from ..solvers.rows import Floats
from ..world import State, World
from .rotation import rotate_body, rotate_body_steadily

Mask = NDArray[np.bool_]


def displaced(world: World, state: State, shift: Floats, even: Mask) -> State:
    """The state after a displacement (n, d), rotation included.

    Spins of bodies with equal moments of inertia, which are marked in `even` (n,), keep their direction.
    """
    dim = world.dimension
    position = state.position + shift[:, :dim]
    if not world.turns:
        return replace(state, position=position)
    if dim == 2:
        return replace(state, position=position, orientation=state.orientation + shift[:, 2])
    orientation, velocity = state.orientation.copy(), state.velocity.copy()
    _rotated(orientation, velocity, shift, even)
    return replace(state, position=position, orientation=orientation, velocity=velocity)


def held_motion(
    world: World,
    start: State,
    end: State,
    velocity: Floats,
    held: tuple[Mask, Mask, Mask],
    impacts: tuple[Floats, Floats] | None,
    h: float,
) -> State:
    """The state `end` of free motion with other poses and velocities for held bodies.

    `velocity` (n, d) is that at the end, in the frames of the bodies at the start. `held` are masks (n,): bodies that
    are held, those that move at the mean of the old and the new velocity instead of the new one, and those with equal
    moments of inertia. `impacts` are the displacement of the start (n, d) and the times (n,) of impacts within the
    step: bodies are held from there on.
    """
    shift, time = (np.empty((0, velocity.shape[1])), np.empty(0)) if impacts is None else impacts
    position, orientation, v = end.position.copy(), end.orientation.copy(), end.velocity.copy()
    given = (start.velocity, velocity, shift, time, world.gravity, h)
    if world.dimension == 3 and world.turns:
        scheme = INTEGRATORS.index(world.integrator)
        begin = (start.position, start.orientation)
        _held_3d(*held, *begin, *given, world.inertia, scheme, position, orientation, v)
    else:
        angle0, angle = (start.orientation, orientation) if world.turns else (np.empty(0), np.empty(0))
        _held_2d(*held[:2], start.position, angle0, *given, position, angle, v)
    return replace(end, position=position, orientation=orientation, velocity=v)


@kernel
def _rotated(orientation, velocity, shift, even):
    """Rotates the bodies by shift[:, 3:], in place."""
    m = np.empty((3, 3))
    for b in range(len(shift)):
        _rotate(orientation[b], velocity[b, 3:], shift[b, 3:], even[b], m)


@kernel
def _rotate(q, spin, turn, even, m):
    """Rotates one body by `turn` (3,) in its frame, in place of q and spin; m (3, 3) is scratch."""
    if turn[0] == 0.0 and turn[1] == 0.0 and turn[2] == 0.0:
        return
    x = y = z = 0.0
    if even:
        matrix_of(q, m)
        x, y, z = _times(m, spin)
    rotate_body_steadily(q, turn, 1.0)
    if even:
        matrix_of(q, m)
        _put_back(m, x, y, z, spin)


@kernel
def _times(m, w):
    return (
        m[0, 0] * w[0] + m[0, 1] * w[1] + m[0, 2] * w[2],
        m[1, 0] * w[0] + m[1, 1] * w[1] + m[1, 2] * w[2],
        m[2, 0] * w[0] + m[2, 1] * w[1] + m[2, 2] * w[2],
    )


@kernel
def _put_back(m, x, y, z, out):
    """Writes the vector (x, y, z) of the world in the frame of a body with the rotation matrix m to `out`."""
    for k in range(3):
        out[k] = m[0, k] * x + m[1, k] * y + m[2, k] * z


@kernel
def _flown(v0, v1, shift, time, gravity, out):
    """The displacement `out` (d,) of the start from which motion at v1 passes through an impact at `time`."""
    for c in range(len(v1)):
        fall = 0.5 * time * time * gravity[c] if c < len(gravity) else 0.0
        out[c] = shift[c] + time * (v0[c] - v1[c]) + fall


@kernel
def _held_2d(mine, steady, place0, angle0, v0, v1, shift, time, gravity, h, position, angle, velocity):
    """Writes position, angle (empty if nothing rotates) and velocity of the bodies `mine`."""
    dim, d = position.shape[1], v1.shape[1]
    flown = np.zeros(d)
    for b in np.flatnonzero(mine):
        if len(time) and time[b] > 0.0:
            _flown(v0[b], v1[b], shift[b], time[b], gravity, flown)
        else:
            flown[:] = 0.0
        for c in range(d):
            mean = 0.5 * (v0[b, c] + v1[b, c]) if steady[b] else v1[b, c]
            velocity[b, c] = v1[b, c]
            if c < dim:
                position[b, c] = place0[b, c] + flown[c] + h * mean
            elif len(angle):
                angle[b] = angle0[b] + flown[c] + h * mean


@kernel
def _held_3d(
    mine,
    steady,
    even,
    place0,
    turn0,
    v0,
    v1,
    shift,
    time,
    gravity,
    h,
    inertia,
    scheme,
    position,
    orientation,
    velocity,
):
    """Writes position, orientation and velocity of the bodies `mine`.

    The new spin of a steady body belongs to the frame after rotation at that spin, but the body has the orientation
    after the mean spin: the spin must stay the same vector of the world. For equal moments this leaves the energy
    unchanged.
    """
    flown, m = np.empty(6), np.empty((3, 3))
    other, spin = np.empty(4), np.empty(3)
    for b in np.flatnonzero(mine):
        q, w = orientation[b], velocity[b, 3:]
        for c in range(4):
            q[c] = turn0[b, c]
        for c in range(6):
            velocity[b, c] = v1[b, c]
            if c < 3:
                mean = 0.5 * (v0[b, c] + v1[b, c]) if steady[b] else v1[b, c]
                position[b, c] = place0[b, c] + h * mean
        if len(time) and time[b] > 0.0:
            _flown(v0[b], v1[b], shift[b], time[b], gravity, flown)
            for c in range(3):
                position[b, c] += flown[c]
            _rotate(q, w, flown[3:], even[b], m)
        if not steady[b]:
            rotate_body(q, w, inertia[b], True, h, scheme)
            continue
        for c in range(4):
            other[c] = q[c]
        for c in range(3):
            spin[c] = 0.5 * (v0[b, 3 + c] + v1[b, 3 + c])
        rotate_body(q, spin, inertia[b], True, h, scheme)
        rotate_body(other, w, inertia[b], True, h, scheme)
        if even[b]:
            matrix_of(other, m)
            x, y, z = _times(m, w)
            matrix_of(q, m)
            _put_back(m, x, y, z, w)
