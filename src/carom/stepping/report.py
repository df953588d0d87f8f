"""The report of a step: its row in the table of steps, and its impulses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError
from ..geometry import rotations
from ..kernels import kernel
from ..solvers.rows import Floats, Ints
from ..world import State, World

PHASES = ("detect", "assemble", "impact", "rest", "move")  # phases of a step whose time is measured
STATUSES = ("resolved", "finished_inelastically", "infeasible", "not_converged")  # of an impact, with codes 0 to 3

# Names of columns of the table of steps, and the shape of one friction impulse (a number or a vector), by dimension.
MOMENTUM = {2: ("momentum_x", "momentum_y"), 3: ("momentum_x", "momentum_y", "momentum_z")}
ANGULAR_MOMENTUM = {2: ("angular_momentum",), 3: tuple(f"angular_momentum_{axis}" for axis in "xyz")}

FRICTION_SHAPE: dict[int, tuple[int, ...]] = {2: (), 3: (3,)}


def step_table(dimension: int) -> np.dtype:
    """The type of a row in the table of steps. Energies and momenta are those at the end of the step."""
    return np.dtype(
        [
            ("step", np.int64),
            ("time", np.float64),
            ("contacts", np.int64),  # that the law treated
            ("resting", np.int64),  # that the resting solver treated
            ("iterations", np.int64),  # of the law
            ("residual", np.float64),  # largest of all stages, relative to the speed to which the tolerance is relative
            ("status", np.int8),  # index into STATUSES
            ("rounds", np.int32),  # applications of the law, or impacts of the time-of-impact step
            ("overlap", np.float64),  # deepest overlap of the contacts found at the start of the step; a length
            ("kinetic", np.float64),
            ("potential", np.float64),
            *((name, np.float64) for name in (*MOMENTUM[dimension], *ANGULAR_MOMENTUM[dimension])),
            *((f"seconds_{phase}", np.float64) for phase in PHASES),
            ("substeps", np.int32),  # into which the step was cut to keep bodies apart; 1 if it was not
        ]
    )


STEP = step_table(2)


@dataclass(frozen=True, eq=False)
class ContactImpulses:
    """m impulses of one step, each acting on `second` along its normal and with opposite sign on `first`.

    `second` is a body, or -1 - k for boundary k. Normals are unit vectors from first to second, in the world frame.
    """

    first: Ints  # (m,)
    second: Ints  # (m,)
    point: Floats  # (m, D)
    normal: Floats  # (m, D)
    normal_impulse: Floats  # (m,)
    tangent_impulse: Floats  # (m,) along the normal rotated by 90 degrees counterclockwise; in 3D a vector (m, 3)


# ---- energies and momenta


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
