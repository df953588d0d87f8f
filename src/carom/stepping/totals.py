"""Energies and momenta of the bodies of a world."""

from __future__ import annotations

import numpy as np

from ..errors import ProblemError
from ..geometry import rotations
from ..kernels import kernel
from ..solvers.rows import Floats
from ..world import State, World


def kinetic_energies(world: World, velocity: Floats) -> Floats:
    """Kinetic energy (n,) of each body for generalized velocities (n, d)."""
    dim = world.dimension
    out = 0.5 * world.mass * (velocity[:, :dim] ** 2).sum(axis=1)
    if world.turns:
        out += 0.5 * (world.inertia.reshape(len(velocity), -1) * velocity[:, dim:] ** 2).sum(axis=1)
    return np.asarray(out)


def totals(world: World, state: State) -> Floats:
    """Kinetic energy, potential energy, momentum and angular momentum about the origin, summed over the free bodies.

    The shape is (5,) in 2D and (8,) in 3D. The zero of the potential energy of gravity is at the origin; the
    potential of a force is added where the scene has one.
    """
    out = _totals(world, state)
    if world.potential is not None:
        energy = np.asarray(world.potential(state.time, state.position), dtype=np.float64)
        if energy.shape != world.mass.shape or not np.isfinite(energy).all():
            got = "numbers that are not finite" if energy.shape == world.mass.shape else f"shape {energy.shape}"
            raise ProblemError("potential", got, f"one finite energy for each of {world.count} bodies")
        out[1] += energy[world.free].sum()
    return out


def _totals(world: World, state: State) -> Floats:
    position, velocity = state.position, state.velocity
    if world.dimension == 2:
        return np.asarray(totals_2d(world.mass, world.inertia, world.free, world.gravity, position, velocity))
    spin = np.zeros((len(position), 3))
    if world.turns:
        spin = rotations.turned(state.orientation, world.inertia * velocity[:, 3:])
    return np.asarray(_totals_3d(world.mass, world.inertia, world.free, world.gravity, position, velocity, spin))


@kernel
def totals_2d(mass, inertia, free, gravity, position, velocity):
    """The five sums of `totals` in 2D.

    Blocks of 128 bodies are summed, then the blocks: the rounding of a plain sum over a million bodies would look like
    a drift of the energy.
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


@kernel
def _totals_3d(mass, inertia, free, gravity, position, velocity, turning):
    """The eight sums of `totals` in 3D, in blocks as in 2D; `turning` (n, 3) is I w in the world frame."""
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
