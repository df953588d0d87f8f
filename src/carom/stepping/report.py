"""The report of a step: its row in the table of steps, and its impulses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats, Ints

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
