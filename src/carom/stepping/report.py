"""What a step tells about itself, and the impulses that it gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers.rows import Floats, Ints

PHASES = ("detect", "assemble", "impact", "rest", "move")  # where the time of a step goes
STATUSES = ("resolved", "finished_inelastically", "infeasible")  # code 0, 1, 2

MOMENTA = {  # columns, by the number of axes
    2: ("momentum_x", "momentum_y", "angular_momentum"),
    3: (*(f"momentum_{axis}" for axis in "xyz"), *(f"angular_momentum_{axis}" for axis in "xyz")),
}


def step_table(dimension: int) -> np.dtype:
    """One row of the table of steps. Energies and momenta are those at the end of the step."""
    return np.dtype(
        [
            ("step", np.int64),
            ("time", np.float64),
            ("contacts", np.int64),  # that the law saw
            ("resting", np.int64),  # that the resting solve saw
            ("iterations", np.int64),
            ("residual", np.float64),  # of the law
            ("rest_residual", np.float64),  # of the resting solve, relative speed
            ("status", np.int8),
            ("rounds", np.int16),  # sub-steps or repeats of the impact stage
            ("overlap", np.float64),  # deepest, of the contacts found at the start of the step; a length
            ("kinetic", np.float64),
            ("potential", np.float64),
            *((name, np.float64) for name in MOMENTA[dimension]),
            *((f"seconds_{phase}", np.float64) for phase in PHASES),
        ]
    )


STEP = step_table(2)


@dataclass(frozen=True, eq=False)
class ContactImpulses:
    """The impulses of one step. `second` is a body, or -1 - k for boundary k; normals point from first to second."""

    first: Ints
    second: Ints
    point: Floats  # (m, D)
    normal: Floats  # (m, D)
    normal_impulse: Floats  # (m,)
    tangent_impulse: Floats  # (m,) along the normal turned by 90 degrees anticlockwise; in space (m, 3), a vector
