"""Turning of bodies in space for one time step: free rotation by two schemes, and turning at a constant spin.

Orientations are unit quaternions (w, x, y, z) that carry the body's frame to the world's. Spins are in the body's
frame, whose axes are the principal axes of inertia. `docs/rotation.md` has the equations,
the guarantees and the figures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..solvers.rows import Floats
from .moser_veselov import turn_by_moser_veselov
from .turning import quaternion_change, turn_steadily

MOSER_VESELOV, SPLIT = 0, 1


@kernel
def turn_free(
    orientation: Floats, spin: Floats, inertia: Floats, free: NDArray[np.bool_], step: float, scheme: int
) -> tuple[Floats, Floats]:
    """Orientations (n, 4) and spins (n, 3) a time `step` later, without torque: `I w' = I w x w`, `q' = q w / 2`.

    `inertia` (n, 3) holds the principal moments, `spin` radians a time unit. Scheme 0 is Discrete Moser-Veselov, which
    keeps energy and angular momentum; scheme 1 splits the energy by axes, which keeps angular momentum, and the energy
    up to a bounded error of second order. Both are of second order and reversible. Bodies with three equal moments,
    and those that are not free, turn at a constant spin: exact for them, and the bits of the spin stay.
    """
    q, w = orientation.copy(), spin.copy()
    if step == 0.0:
        return q, w
    for i in range(len(q)):
        if w[i, 0] == 0.0 and w[i, 1] == 0.0 and w[i, 2] == 0.0:
            continue
        if not free[i] or (inertia[i, 0] == inertia[i, 1] and inertia[i, 1] == inertia[i, 2]):
            turn_steadily(q[i], w[i], step)
        elif scheme == MOSER_VESELOV:
            turn_by_moser_veselov(q[i], w[i], inertia[i], step)
        else:
            _turn_axis_by_axis(q[i], w[i], inertia[i], step)
    return q, w


@kernel
def turn_by(orientation: Floats, spin: Floats, step: float) -> Floats:
    """Orientations (n, 4) after turning at the constant spins (n, 3) of the body's frame for a time: `q exp(h w / 2)`.

    For bodies that contacts hold: `spin` is the mean that contact impulses have decided. The spin stays as it is in the
    body's frame, so the angular momentum of a body with unequal moments turns with it. That is the work of a torque;
    `turn_free` is for bodies without one.
    """
    q = orientation.copy()
    for i in range(len(q)):
        if spin[i, 0] != 0.0 or spin[i, 1] != 0.0 or spin[i, 2] != 0.0:
            turn_steadily(q[i], spin[i], step)
    return q


@kernel
def gyroscopic(spin: Floats, inertia: Floats, step: float) -> Floats:
    """Spins (n, 3) after a free Discrete Moser-Veselov step, bit for bit those of `turn_free`."""
    w, q = spin.copy(), np.zeros(4)
    if step == 0.0:
        return w
    for i in range(len(w)):
        still = w[i, 0] == 0.0 and w[i, 1] == 0.0 and w[i, 2] == 0.0
        if not (still or (inertia[i, 0] == inertia[i, 1] and inertia[i, 1] == inertia[i, 2])):
            q[:] = 0.0  # the turn is not asked for; starting anew keeps it from growing
            q[0] = 1.0
            turn_by_moser_veselov(q, w[i], inertia[i], step)
    return w


@kernel
def _turn_axis_by_axis(q: Floats, w: Floats, inertia: Floats, h: float) -> None:
    """Strang's splitting of `w . I w / 2` by axes: x for half a step, y for half, z for one, y, x. Writes q and w.

    The flow of one part, `I_1 w_1^2 / 2`, is a turn about axis 1 by h w_1: the momentum (2, 3) turns back by it.
    McLachlan, "Explicit Lie-Poisson integration and the Euler equations", Phys. Rev. Lett. 71 (1993).
    """
    for stage in range(5):
        i = min(stage, 4 - stage)
        j, k = (i + 1) % 3, (i + 2) % 3
        angle = w[i] * (h if stage == 2 else 0.5 * h)
        s, half = np.sin(angle), np.sin(0.5 * angle)
        c = -2.0 * half * half  # cos(angle) - 1, without cancellation
        pj, pk = inertia[j] * w[j], inertia[k] * w[k]
        w[j] += (c * pj + s * pk) / inertia[j]
        w[k] += (c * pk - s * pj) / inertia[k]
        x, y, z = half * (i == 0), half * (i == 1), half * (i == 2)
        fourth = np.sin(0.25 * angle)
        d0, d1, d2, d3 = quaternion_change(q, -2.0 * fourth * fourth, x, y, z)
        q[0], q[1], q[2], q[3] = q[0] + d0, q[1] + d1, q[2] + d2, q[3] + d3
