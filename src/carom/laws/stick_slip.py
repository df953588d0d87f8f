"""The impulse at one contact with Coulomb friction: sticking or sliding (Tang 2014, eqs. 50-61, 74-76).

`k` is the row of the contact in the collision table (`contact_points.py`), (s1, s2) its slip before the impulse, and du
the change of its normal speed. Sliding friction never does positive work here. It is one impulse for a finite change of
the normal speed, and a slip that coupled inertia reverses within that change would otherwise be driven on by it.
"""

from __future__ import annotations

import numpy as np

from ..kernels import kernel, lean
from .contact_points import I11, I12, I22, N1, N2, NN, SCHUR, T11, T12, T22

# Below this share of K_nn the normal response of a sliding contact counts as jammed (Painleve).
SLIDING_FLOOR = 1e-3
# Below this share of K_nn the normal row lies in the span of the tangents, and the contact cannot stick.
STICKING_FLOOR = 1e-9


@lean
def stick(k, s1, s2, du):
    """The impulse that changes the normal speed by du and stops the slip (eq. 50).

    Returns (pn, p1, p2); pn is negative, and so outside every friction cone, where no such impulse exists.
    """
    if k[SCHUR] <= STICKING_FLOOR * k[NN]:
        return -1.0, 0.0, 0.0
    pn = (du + sticking_offset(k, s1, s2)) / k[SCHUR]
    r1, r2 = -(s1 + k[N1] * pn), -(s2 + k[N2] * pn)
    return pn, k[I11] * r1 + k[I12] * r2, k[I12] * r1 + k[I22] * r2


@kernel(inline="always")
def sticking_offset(k, s1, s2):
    """`K_nt K_tt^+ s`: the normal impulse of sticking is `(du + offset) / schur`."""
    return k[N1] * (k[I11] * s1 + k[I12] * s2) + k[N2] * (k[I12] * s1 + k[I22] * s2)


@kernel(inline="always")
def tangential_work(k, s1, s2, pn, p1, p2):
    """Work of the tangential impulse, `p_t . (s + s+) / 2` (eqs. 17, 19)."""
    half1 = s1 + 0.5 * (k[N1] * pn + k[T11] * p1 + k[T12] * p2)
    half2 = s2 + 0.5 * (k[N2] * pn + k[T12] * p1 + k[T22] * p2)
    return p1 * half1 + p2 * half2


@lean
def slide(k, mu, s1, s2, du):
    """Sliding friction per unit of normal impulse, (f1, f2), while the normal speed changes by du (eq. 54).

    The direction opposes the slip; from rest it is that of the sticking impulse, against the slip to come.
    The size is mu, or the largest share of it that does not reverse the slip and leaves the effective
    `n^T K (n + mu q)` at SLIDING_FLOOR of K_nn or more. So friction never does positive work, and a jammed contact
    (where full friction would make the normal impulse pull the bodies together) slides with less friction.
    """
    size = np.sqrt(s1 * s1 + s2 * s2)
    if size > 1e-12 * du:
        q1, q2 = -s1 / size, -s2 / size
    else:
        size = 0.0
        _, q1, q2 = stick(k, 0.0, 0.0, du)
        length = np.sqrt(q1 * q1 + q2 * q2)
        if length == 0.0:
            return 0.0, 0.0
        q1, q2 = q1 / length, q2 / length
    cross = k[N1] * q1 + k[N2] * q2
    along = k[T11] * q1 * q1 + 2.0 * k[T12] * q1 * q2 + k[T22] * q2 * q2
    share = mu
    # Slip along q afterwards: -size + pn (cross + f along), pn = du / (K_nn + f cross). Not above 0 means
    # f (du along - size cross) <= size K_nn - du cross.
    slope, room = du * along - size * cross, size * k[NN] - du * cross
    if share * slope > room:
        share = max(room / slope, 0.0) if slope > 0.0 else 0.0
    if k[NN] + share * cross < SLIDING_FLOOR * k[NN]:
        share = (SLIDING_FLOOR - 1.0) * k[NN] / cross
    return share * q1, share * q2
